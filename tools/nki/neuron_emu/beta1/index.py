# SPDX-License-Identifier: MIT
"""Index expressions of NKI Beta 1: nl.arange(), nl.mgrid, sums of them, and masks.

All loops are unrolled, so an expression is a number for each place of a grid: an offset and a step
along each dimension. A mask is a list of such expressions, all of which must be 0 or more.
"""

import operator

from ..errors import refuse

__neuron_emu__ = True


def as_integer(value):
    """An int, or None where it is none."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def broadcast_shapes(shapes, what):
    """The shape of a grid that several expressions span."""
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if result[i] != n and 1 not in (result[i], n):
                refuse(what, "index expressions span one grid", f"shapes {shapes}")
            result[i] = max(result[i], n)
    return tuple(result)


class Index:
    """offset + the sum of steps[d] * (place along dimension d)"""

    __slots__ = ("shape", "steps", "offset")
    __hash__ = object.__hash__
    __array_ufunc__ = None

    def __init__(self, shape, steps, offset):
        self.shape = shape
        self.steps = tuple(0 if n == 1 else s for n, s in zip(shape, steps))
        self.offset = offset

    def __repr__(self):
        terms = [str(self.offset)] + [f"{s} * i{d}" for d, s in enumerate(self.steps) if s]
        return " + ".join(terms)

    def constant(self):
        """The number that it is everywhere, or None."""
        return None if any(self.steps) else self.offset

    def along(self, ndim):
        """Its steps on a grid of more dimensions."""
        return (0,) * (ndim - len(self.shape)) + self.steps

    @staticmethod
    def of(value):
        """An expression, or None for what is none."""
        if isinstance(value, Index):
            return value
        number = as_integer(value)
        return None if number is None else Index((), (), number)

    def _sum(self, other, sign):
        other = Index.of(other)
        if other is None:
            return NotImplemented
        shape = broadcast_shapes((self.shape, other.shape), "index")
        steps = [a + sign * b for a, b in zip(self.along(len(shape)), other.along(len(shape)))]
        return Index(shape, steps, self.offset + sign * other.offset)

    def __add__(self, other):
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        return self._sum(other, -1)

    def __rsub__(self, other):
        return (self * -1)._sum(other, 1)

    def __neg__(self):
        return self * -1

    def __mul__(self, factor):
        if isinstance(factor, Index) and factor.constant() is not None:
            factor = factor.offset
        number = as_integer(factor)
        if number is None:
            if isinstance(factor, Index):
                refuse("index", "an index expression is multiplied by integers only", factor)
            return NotImplemented
        return Index(self.shape, [s * number for s in self.steps], self.offset * number)

    __rmul__ = __mul__

    def _divided(self, other, name, function):
        number = as_integer(other)
        if number is None or number <= 0:
            refuse("index", f"{name} of an index expression goes by a positive integer",
                   repr(other))
        if self.constant() is not None:
            return Index(self.shape, self.steps, function(self.offset, number))
        last = self.offset + sum(s * (n - 1) for n, s in zip(self.shape, self.steps) if s > 0)
        first = self.offset + sum(s * (n - 1) for n, s in zip(self.shape, self.steps) if s < 0)
        if first // number == last // number:
            # One quotient for all of them.
            if name == "//":
                return Index(self.shape, (0,) * len(self.shape), first // number)
            return self - first // number * number
        whole = all(s % number == 0 for s in self.steps)
        if whole and name == "//":
            return Index(self.shape, [s // number for s in self.steps], self.offset // number)
        if whole:
            return Index(self.shape, (0,) * len(self.shape), self.offset % number)
        return refuse("index", "an index expression is an affine one", f"({self}) {name} {number}",
                      "split the range into two dimensions of nl.mgrid")

    def __floordiv__(self, other):
        return self._divided(other, "//", operator.floordiv)

    def __mod__(self, other):
        return self._divided(other, "%", operator.mod)

    def __getitem__(self, key):
        """New axes, as NumPy makes them: i[:, None]."""
        key = key if isinstance(key, tuple) else (key,)
        if Ellipsis in key:
            at = key.index(Ellipsis)
            given = sum(1 for k in key if k is not None and k is not Ellipsis)
            key = key[:at] + (slice(None),) * (len(self.shape) - given) + key[at + 1:]
        shape, steps, dims = [], [], list(zip(self.shape, self.steps))
        for k in key:
            if k is None:
                shape.append(1)
                steps.append(0)
            elif isinstance(k, slice) and k == slice(None) and dims:
                n, step = dims.pop(0)
                shape.append(n)
                steps.append(step)
            else:
                refuse("index", "an index expression takes : and None in brackets", repr(k))
        return Index(tuple(shape) + tuple(n for n, _ in dims), steps + [s for _, s in dims],
                     self.offset)

    # --- comparisons make masks ---

    def _mask(self, other, make):
        other = Index.of(other)
        return NotImplemented if other is None else Mask(make(other))

    def __ge__(self, other):
        return self._mask(other, lambda o: [self - o])

    def __gt__(self, other):
        return self._mask(other, lambda o: [self - o - 1])

    def __le__(self, other):
        return self._mask(other, lambda o: [o - self])

    def __lt__(self, other):
        return self._mask(other, lambda o: [o - self - 1])

    def __eq__(self, other):
        return self._mask(other, lambda o: [self - o, o - self])

    def __ne__(self, other):
        if Index.of(other) is None:
            return NotImplemented
        return refuse("mask", "masks are made with <, <=, >, >= and ==", "!=")

    def __bool__(self):
        number = self.constant()
        if number is None:
            refuse("if", "an index expression has many values", self, "use it in a mask")
        return bool(number)


NEVER = Index((), (), -1)


class Mask:
    """Where all of its terms are 0 or more."""

    __slots__ = ("terms",)

    def __init__(self, terms):
        self.terms = tuple(terms)

    @staticmethod
    def of(value):
        """A mask from what the argument `mask` of a function may be."""
        if value is None or value is True:
            return ALWAYS
        if isinstance(value, Mask):
            return value
        if value is False or as_integer(value) is not None:
            return ALWAYS if value else Mask([NEVER])
        try:
            return ALWAYS if bool(value) else Mask([NEVER])
        except TypeError:
            return refuse("mask", "a mask is a comparison of index expressions", repr(value))

    def __and__(self, other):
        return Mask(self.terms + Mask.of(other).terms)

    __rand__ = __and__

    def __or__(self, other):
        return refuse("mask", "masks are combined with & only", "|")

    __ror__ = __or__

    def __invert__(self):
        return refuse("mask", "masks are combined with & only", "~")

    def __bool__(self):
        if all(t.constant() is not None for t in self.terms):
            return all(t.offset >= 0 for t in self.terms)
        return refuse("if", "a mask has a value for each place", "a condition of Python",
                      "join masks with &, or give one to a function as mask=")


ALWAYS = Mask(())


def fitted(term, shape):
    """(offset, steps) of a term on a grid; the partition is the first dimension of both."""
    own, steps = list(term.shape), list(term.steps)
    while len(own) > len(shape) and own[-1] == 1:
        own.pop()
        steps.pop()
    if len(own) > len(shape):
        refuse("mask", f"a mask has the dimensions of its tile, {shape}", f"shape {term.shape}")
    if len(own) < len(shape) and own and own[0] in (1, shape[0]):
        # Written for fewer free dimensions.
        missing = len(shape) - len(own)
        if all(n == 1 for n in own[1:]):
            return term.offset, tuple(steps) + (0,) * missing
    for n, step, m in zip(own, steps, shape[len(shape) - len(own):]):
        if step and n != m:
            refuse("mask", f"a mask has the dimensions of its tile, {shape}",
                   f"shape {term.shape}")
    return term.offset, (0,) * (len(shape) - len(steps)) + tuple(steps)


def cut(terms, shape):
    """(box, skew): [(start, size), ...] of what the terms leave, or None where it is nothing, and
    those terms that depend on several dimensions and cut through the box."""
    low, high = [0] * len(shape), list(shape)
    skew = []
    for offset, steps in terms:
        places = [d for d, s in enumerate(steps) if s]
        if not places:
            if offset < 0:
                return None, ()
        elif len(places) == 1:
            d, step = places[0], steps[places[0]]
            if step > 0:
                low[d] = max(low[d], -(offset // step))
            else:
                high[d] = min(high[d], offset // -step + 1)
        else:
            skew.append((offset, steps))
    if any(a >= b for a, b in zip(low, high)):
        return None, ()
    left = []
    for offset, steps in skew:
        ends = [(s * a, s * (b - 1)) for s, a, b in zip(steps, low, high)]
        if offset + sum(max(e) for e in ends) < 0:
            return None, ()
        if offset + sum(min(e) for e in ends) < 0:
            left.append((offset, steps))
    return [(a, b - a) for a, b in zip(low, high)], left


def boxes(terms, shape):
    """The boxes that together are what the terms leave."""
    box, skew = cut(terms, shape)
    if box is None:
        return []
    if not skew:
        return [box]
    dim = min(d for _, steps in skew for d, s in enumerate(steps) if s)
    result = []
    for i in range(box[dim][0], sum(box[dim])):
        fixed = [(offset + steps[dim] * i, steps[:dim] + (0,) + steps[dim + 1:])
                 for offset, steps in skew]
        inner = [(-start, _unit(d, len(shape), 1)) for d, (start, _) in enumerate(box) if d != dim]
        inner += [(start + size - 1, _unit(d, len(shape), -1))
                  for d, (start, size) in enumerate(box) if d != dim]
        for part in boxes(fixed + inner, shape):
            part = list(part)
            part[dim] = (i, 1)
            result.append(part)
    return result


def _unit(dim, ndim, step):
    return (0,) * dim + (step,) + (0,) * (ndim - dim - 1)


def arange(*args):
    """nl.arange(stop) or nl.arange(start, stop)"""
    numbers = [as_integer(a) for a in args]
    if None in numbers or not 1 <= len(numbers) <= 3:
        refuse("nl.arange", "it takes (stop), (start, stop) or (start, stop, step) of integers",
               args)
    start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (numbers + [1])[:3]
    count = len(range(start, stop, step)) if step else 0
    if count < 1:
        refuse("nl.arange", "there is at least one number", args)
    return Index((count,), (step,), start)


class Grid(tuple):
    """What nl.mgrid gives: an expression for each dimension; p, x, y, z are the first four."""

    __slots__ = ()
    p = property(operator.itemgetter(0))
    x = property(operator.itemgetter(1))
    y = property(operator.itemgetter(2))
    z = property(operator.itemgetter(3))


class Mgrid:
    """nl.mgrid[0:128, 0:512]"""

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        ranges = []
        for k in key:
            if not isinstance(k, slice) or k.stop is None:
                refuse("nl.mgrid", "it takes start:stop for each dimension", repr(k))
            ranges.append(arange(k.start or 0, k.stop, 1 if k.step is None else k.step))
        shape = tuple(r.shape[0] for r in ranges)
        return Grid(Index(shape, _unit(d, len(shape), r.steps[0]), r.offset)
                    for d, r in enumerate(ranges))


mgrid = Mgrid()
