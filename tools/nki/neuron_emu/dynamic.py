# SPDX-License-Identifier: MIT
"""Places that the run decides, and their bounds."""

__neuron_emu__ = True

# A record has 32 bits for a bound, and so has an index.
MOST = 2**31 - 1


class Dynamic:
    """An offset that the run decides: `scalar` or `vector` times `stride` elements.

    There are `limit` elements of the dimension, and `origin` is where the first of them lies.
    `outer` are the steps to where the dimension is anew, as around() has them. `others` are those
    of more dimensions, which have registers, too; the offsets are added.
    """

    __slots__ = ("scalar", "vector", "stride", "limit", "dim", "others", "origin", "outer")

    def __init__(self, stride, limit, dim, scalar=None, vector=None, origin=0, outer=()):
        self.others = ()
        self.origin = origin
        self.outer = outer
        self.stride = stride
        self.limit = min(limit, MOST)
        self.dim = dim
        self.scalar = scalar
        self.vector = vector

    def inside(self, offset):
        """How far behind the first element of the dimension a view begins at `offset`, of that
        turn of the outer dimensions in which it begins.
        """
        far = offset - self.origin
        for step in self.outer:
            # What begins before all of the tensor is not in a turn.
            if far > 0 or step < 0:
                far %= abs(step)
        return far


def around(shape, strides, extent, but):
    """The steps of dimensions that go around one of so many elements, the widest first. `but`: the
    numbers of its own ones.
    """
    return tuple(sorted((step for i, (n, step) in enumerate(zip(shape, strides))
                         if n > 1 and i not in but and abs(step) >= extent > 0),
                        key=abs, reverse=True))


def turns(shape, strides, dim):
    """(how many elements an index of ap() selects from, the steps of dimensions around them).

    It goes on where the dimension ends and its next turn begins, as the tensor is one array to
    ap().
    """
    count, first = shape[dim], dim
    while first and strides[first - 1] == strides[dim] * count:
        first -= 1
        count *= shape[first]
    return count, around(shape, strides, strides[dim] * count, range(first, dim + 1))
