# SPDX-License-Identifier: MIT
"""Tensors of NKI Beta 1 kernels: views of the tracer's tensors that index expressions make.

A tensor has a view whose shape is what the kernel sees. Of a view that reaches beyond what there
is, or that a mask has left holes in, `hard` and `soft` say where it is good: pairs (offset, steps)
that are 0 or more there. What lies outside of `soft` is left out silently, as masks ask for;
outside of `hard` is an error. Tensors on the chip with dimensions before the partition are Blocks
of tiles.
"""

import itertools
import math
import sys

import numpy as np

from .. import isa
from ..dynamic import Dynamic
from ..errors import refuse
from ..objects import DynamicSlice, VirtualRegister
from ..tensor import MemoryRegion, NkiTensor, ON_CHIP
from . import index
from .dtypes import SHOWN, name_of, size_of
from .index import Index, Mask

__neuron_emu__ = True

SBUF, PSUM = MemoryRegion.sbuf, MemoryRegion.psum


class Blocks:
    """A tensor of tiles: the dimensions before the partition count them."""

    __slots__ = ("shape", "count", "dtype", "buffer", "make", "tiles")

    def __init__(self, shape, count, dtype, buffer, make):
        self.shape = shape
        self.count = count
        self.dtype = dtype
        self.buffer = buffer
        self.make = make
        self.tiles = {}

    def tile(self, place):
        """The tile of a block, which is made when it is first used."""
        found = self.tiles.get(place)
        if found is None:
            found = self.tiles[place] = self.make(place)
        return found


class Offset:
    """An element of SBUF that is added to an index expression while the kernel runs."""

    __slots__ = ("tensor", "index")

    def __init__(self, tensor, expression):
        self.tensor = tensor
        self.index = expression

    def __add__(self, other):
        return Offset(self.tensor, self.index + other)

    __radd__ = __add__

    def __sub__(self, other):
        return Offset(self.tensor, self.index - other)


def _shift(terms, maps, ndim):
    """Terms on the dimensions of a view as terms on those of a view of it."""
    result = []
    for offset, steps in terms:
        new = [0] * ndim
        for step, (at, along) in zip(steps, maps):
            offset += step * at
            for d, s in enumerate(along):
                new[d] += step * s
        result.append((offset, tuple(new)))
    return result


def _holds(term, shape):
    """Is it 0 or more everywhere?"""
    offset, steps = term
    return offset + sum(s * (n - 1) for s, n in zip(steps, shape) if s < 0) >= 0


class Tensor:
    """nki.tensor"""

    __slots__ = ("shape", "_dtype", "buffer", "view_", "hard", "soft", "blocks", "prefix",
                 "dynamic", "redo")
    __hash__ = object.__hash__
    # Operators of NumPy's numbers leave tensors to those below.
    __array_ufunc__ = None

    def __init__(self, shape, view, hard=(), soft=(), blocks=None, prefix=(), dynamic=None):
        self.shape = tuple(shape)
        self.view_ = view
        self.blocks = blocks
        self.prefix = prefix
        self._dtype = blocks.dtype if view is None else view.dtype
        self.buffer = blocks.buffer if view is None else view.storage.memory
        self.hard = tuple(t for t in hard if not _holds(t, self.shape))
        self.soft = tuple(t for t in soft if not _holds(t, self.shape))
        self.dynamic = dynamic
        self.redo = None

    @classmethod
    def of(cls, view):
        """A tensor of the tracer."""
        return cls(view.shape, view)

    @classmethod
    def holding(cls, view, shape, box):
        """A tile of `shape` of which only a box exists, which is all of `view`."""
        offset = view.offset - sum(a * s for (a, _), s in zip(box, view.strides))
        terms = []
        for d, (start, size) in enumerate(box):
            unit = [0] * len(shape)
            unit[d] = 1
            terms.append((-start, tuple(unit)))
            unit[d] = -1
            terms.append((start + size - 1, tuple(unit)))
        whole = NkiTensor(tuple(shape), view.dtype, view.storage, strides=view.strides,
                          offset=offset)
        return cls(shape, whole, soft=terms)

    # --- what it is ---

    @property
    def dtype(self):
        """The element type."""
        return SHOWN[self._dtype]

    @property
    def kind(self):
        """The tracer's name of the element type."""
        return self._dtype

    @property
    def itemsize(self):
        """Bytes of an element."""
        return size_of(self._dtype)

    @property
    def ndim(self):
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self):
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def on_chip(self):
        """In SBUF or PSUM."""
        return self.buffer in ON_CHIP

    @property
    def name(self):
        """The name that it was made with."""
        return "" if self.view_ is None else self.view_.name

    def __repr__(self):
        view = self.view_
        if view is not None and view.storage.trace is not None and view.storage.trace.eager:
            return repr(self.whole("print"))
        return f"tensor(shape={self.shape}, dtype={self.dtype}, buffer={self.buffer.name})"

    def __len__(self):
        return self.shape[0]

    def __class_getitem__(cls, shape):
        """An annotation, such as nt.tensor[128, 512]."""
        return cls

    def __array__(self, dtype=None):
        return np.asarray(self.whole("numpy"), dtype)

    def __bool__(self):
        return bool(self.whole("if"))

    def __int__(self):
        return int(self.whole("int"))

    def __float__(self):
        return float(self.whole("float"))

    # --- what an instruction gets ---

    def box(self, mask=None, function="tensor"):
        """[(start, size), ...] of the part that is there and that a mask leaves, or None."""
        terms = list(self.soft)
        if mask is not None:
            terms += [index.fitted(t, self.shape) for t in Mask.of(mask).terms]
        found, skew = index.cut(terms, self.shape) if terms else (
            [(0, n) for n in self.shape], ())
        if skew:
            refuse(function, "the mask leaves a box of the tile", "another shape",
                   "use nisa.affine_select or nl.where")
        return found

    def part(self, box, function="tensor"):
        """The tracer's view of a box."""
        if self.view_ is None:
            refuse(function, "a tile is one block of a tensor",
                   f"shape {self.shape} with {self.blocks.count - len(self.prefix)} block "
                   "dimensions", "loop over the blocks")
        view = self.view_
        for offset, steps in self.hard:
            low = offset + sum(s * (a if s > 0 else a + n - 1) for s, (a, n) in zip(steps, box))
            if low < 0:
                refuse(function, "an index lies in the tensor",
                       f"{-low} beyond its end (shape {self.shape})", "use a mask")
        if self.dynamic is not None:
            return self.dynamic.view(view, box, function)
        if all(a == 0 and n == m for (a, n), m in zip(box, view.shape)):
            return view
        offset = view.offset + sum(a * s for (a, _), s in zip(box, view.strides))
        return NkiTensor(tuple(n for _, n in box), view.dtype, view.storage, strides=view.strides,
                         offset=offset)

    def whole(self, function="tensor"):
        """The tracer's view of what there is of it."""
        if not self.hard and not self.soft and self.dynamic is None and self.view_ is not None:
            return self.view_
        box = self.box(None, function)
        if box is None:
            refuse(function, "a tile has elements", "a tile of which a mask leaves nothing")
        return self.part(box, function)

    # --- views ---

    def __getitem__(self, key):
        if isinstance(key, Mask):
            return self.masked(key)
        if isinstance(key, tuple) and any(isinstance(k, Mask) for k in key):
            rest = tuple(k for k in key if not isinstance(k, Mask))
            result = self[rest]
            for k in key:
                result = result.masked(k) if isinstance(k, Mask) else result
            return result
        key = list(key) if isinstance(key, tuple) else [key]
        key = self._filled(key)
        if self.view_ is None:
            return self._block(key)
        return self._indexed(key)

    def masked(self, mask):
        """The part of it that a mask leaves."""
        result = self._same(self.shape, self.view_)
        terms = [index.fitted(t, self.shape) for t in Mask.of(mask).terms]
        result.soft = self.soft + tuple(t for t in terms if not _holds(t, self.shape))
        return result

    def _same(self, shape, view):
        result = Tensor(shape, view, blocks=self.blocks, prefix=self.prefix, dynamic=self.dynamic)
        if len(shape) == len(self.shape):
            result.hard, result.soft = self.hard, self.soft
        return result

    def _filled(self, key):
        """`...` and what is missing at the end become whole dimensions."""
        given = sum(1 for k in key if k is not None and k is not Ellipsis)
        if given > len(self.shape):
            refuse("tensor[...]", f"the tensor has {len(self.shape)} dimensions",
                   f"{given} indices")
        missing = [slice(None)] * (len(self.shape) - given)
        for i, k in enumerate(key):
            if k is Ellipsis:
                return key[:i] + missing + key[i + 1:]
        return key + missing

    def _block(self, key):
        """Indices of blocks, then those in a tile."""
        left = self.blocks.count - len(self.prefix)
        if all(isinstance(k, slice) and k == slice(None) for k in key):
            return self
        place = list(self.prefix)
        sizes = self.shape[:left]
        while key and len(place) < self.blocks.count:
            number = self._constant(key[0])
            if number is None:
                break
            n = sizes[len(place) - len(self.prefix)]
            if not -n <= number < n:
                refuse("tensor[...]", f"the block dimension has the blocks 0 to {n - 1}", number)
            place.append(number % n)
            key = key[1:]
        if len(place) == self.blocks.count:
            tile = Tensor.of(self.blocks.tile(tuple(place)))
            return tile[tuple(key)]
        if not all(isinstance(k, slice) and k == slice(None) for k in key):
            refuse("tensor[...]", "one block is chosen for each block dimension", repr(key[0]),
                   "loop over the blocks")
        return Tensor(self.shape[len(place) - len(self.prefix):], None, blocks=self.blocks,
                      prefix=tuple(place))

    @staticmethod
    def _constant(k):
        if isinstance(k, Index):
            return k.constant()
        if isinstance(k, DynamicSlice) and k.size == 1:
            return index.as_integer(k.start)
        if isinstance(k, slice) and k.start is not None and k.stop is not None and \
                index.as_integer(k.start) is not None and k.stop - k.start == 1:
            return index.as_integer(k.start)
        return index.as_integer(k)

    def each_block(self):
        """The tiles of a tensor, or the tensor itself."""
        if self.view_ is not None:
            yield self
            return
        left = self.shape[:self.blocks.count - len(self.prefix)]
        for place in itertools.product(*map(range, left)):
            yield Tensor.of(self.blocks.tile(self.prefix + place))

    def _indexed(self, key):
        advanced = [k for k in key if isinstance(k, (Index, Tensor, Offset))]
        grid = None
        if advanced:
            grid = index.broadcast_shapes([_shape_of(k) for k in advanced], "tensor[...]")
        shape, maps, dynamic = [], [], None
        partition_is_number = False
        dim = 0
        for k in key:
            if k is None:
                shape.append(1)
                continue
            n = self.shape[dim]
            if isinstance(k, (Tensor, Offset)):
                if dynamic is not None:
                    refuse("tensor[...]", "one dimension is indexed by a tile", "two")
                dynamic = (k.tensor, k.index, dim) if isinstance(k, Offset) else (k, None, dim)
                expression = k.index if isinstance(k, Offset) else Index((), (), 0)
                maps.append((expression.offset, ("grid", expression)))
            elif isinstance(k, Index):
                maps.append((k.offset, ("grid", k)))
            elif isinstance(k, (slice, DynamicSlice)):
                if isinstance(k, DynamicSlice) and isinstance(k.start, (Tensor, Offset,
                                                                         VirtualRegister)):
                    if dynamic is not None:
                        refuse("tensor[...]", "one dimension is indexed by a tile", "two")
                    start = k.start
                    dynamic = (start.tensor, start.index, dim) if isinstance(start, Offset) else (
                        start, None, dim)
                    start, count, step = 0, int(k.size), 1
                else:
                    start, count, step = self._range(k, n)
                if grid is not None and k != slice(None):
                    refuse("tensor[...]", "index expressions and slices are not mixed", key,
                           "use nl.arange for all dimensions")
                maps.append((start, ("own", len(shape), step)))
                shape.append(count)
            else:
                number = index.as_integer(k)
                if number is None:
                    refuse("tensor[...]", "an index is an integer, a slice, nl.ds(), an index "
                           "expression or a tile", repr(k))
                number = number + n if number < 0 else number
                if dim == 0 and self.on_chip:
                    if grid is None:
                        maps.append((number, ("own", len(shape), 1)))
                        shape.append(1)
                    else:
                        partition_is_number = True
                        maps.append((number, None))
                else:
                    maps.append((number, None))
            dim += 1
        return self._mapped(grid, shape, maps, dynamic, partition_is_number)

    def _range(self, k, n):
        if isinstance(k, DynamicSlice):
            start, size = index.as_integer(k.start), index.as_integer(k.size)
            if start is None or size is None or size < 1:
                refuse("nl.ds", "start and size are integers", (k.start, k.size))
            return start, size, 1
        step = 1 if k.step is None else index.as_integer(k.step)
        start = (0 if k.step is None or step > 0 else n - 1) if k.start is None else (
            index.as_integer(k.start))
        stop = (n if step is None or step > 0 else -n - 1) if k.stop is None else (
            index.as_integer(k.stop))
        if start is None or stop is None or not step:
            refuse("tensor[...]", "a slice has integers", k)
        start = start + n if start < 0 else start
        stop = stop + n if stop < 0 else stop
        count = len(range(start, stop, step))
        if count < 1:
            refuse("tensor[...]", "a slice has elements", f"{start}:{stop}")
        return start, count, step

    def _mapped(self, grid, own, maps, dynamic, partition_is_number):
        """The view that entries for each dimension make."""
        lead = ()
        if grid is not None:
            # Whole dimensions that stand beside index expressions follow those of the grid.
            lead = grid
            if self.on_chip and partition_is_number and (len(grid) < 2 or grid[0] != 1):
                lead = (1,) + grid
        shape = tuple(lead) + tuple(own)
        ndim = len(shape)
        full, hard = [], []
        for dim, (at, entry) in enumerate(maps):
            along = [0] * ndim
            if entry is not None and entry[0] == "grid":
                steps = entry[1].along(len(lead))
                along[:len(lead)] = steps
            elif entry is not None:
                along[len(lead) + entry[1]] = entry[2]
            full.append((at, tuple(along)))
            if dynamic is None or dynamic[2] != dim:
                hard.append((at, tuple(along)))
                hard.append((self.shape[dim] - 1 - at, tuple(-s for s in along)))
        soft = _shift(self.soft, full, ndim)
        hard += _shift(self.hard, full, ndim)
        strides = [0] * ndim
        offset = self.view_.offset
        for (at, along), stride in zip(full, self.view_.strides):
            offset += at * stride
            for d, s in enumerate(along):
                strides[d] += s * stride
        return self._made(shape, strides, offset, hard, soft, dynamic)

    def _made(self, shape, strides, offset, hard, soft, dynamic):
        view = self.view_
        least = 2 if self.on_chip else 1
        while len(shape) < least:
            shape, strides = shape + (1,), list(strides) + [1]
            hard = [(o, s + (0,)) for o, s in hard]
            soft = [(o, s + (0,)) for o, s in soft]
        if self.on_chip:
            strides[0] = view.strides[0] if shape[0] == 1 else strides[0]
            if shape[0] != 1 and strides[0] % (view.storage.row // view.itemsize):
                refuse("tensor[...]", "the first dimension of an index goes along the partitions",
                       f"shape {shape}")
            row = view.storage.row // view.itemsize
            if any(n > 1 and abs(step) >= row for n, step in zip(shape[1:], strides[1:])):
                refuse("tensor[...]", "only the first dimension of an index goes along the "
                       "partitions", f"shape {shape}")
        moved = NkiTensor(tuple(shape), view.dtype, view.storage, strides=tuple(strides),
                          offset=offset)
        found = None if dynamic is None else Indirect(self, *dynamic)
        if found is None and self.dynamic is not None:
            refuse("tensor[...]", "a view with an index tile is used whole", "a part of it")
        return Tensor(shape, moved, hard, soft, dynamic=found)

    def reshape(self, shape):
        """The same elements in another shape."""
        return Tensor.of(self.whole("reshape").reshape(tuple(int(n) for n in shape)))

    def view(self, dtype):
        """The same bytes as elements of another type."""
        return Tensor.of(self.whole("view").view(name_of(dtype)))

    def assert_shape(self, shape):
        """The tensor itself, if it has the shape."""
        if tuple(shape) != self.shape:
            refuse("assert_shape", f"the shape is {tuple(shape)}", self.shape)
        return self

    def astype(self, dtype):
        """A copy of another type."""
        from . import language
        return language.copy(self, dtype=dtype)

    def broadcast_to(self, shape):
        """The tile with dimensions of one element repeated."""
        from . import language
        return language.broadcast_to(self, shape=shape)

    def expand_dims(self, axis):
        """A dimension of one element more."""
        from . import language
        return language.expand_dims(self, axis)

    def __iter__(self):
        refuse("for", "a tile has no rows that a loop of Python goes through", self,
               "loop over nl.affine_range(...)")

    def __setitem__(self, key, value):
        from .store import assign, named
        named(sys.getrefcount(value), value)
        assign(self[key], value)


class Indirect:
    """A dimension that a tile chooses places of, while the kernel runs."""

    __slots__ = ("base", "tile", "index", "dim")

    def __init__(self, base, tile, expression, dim):
        self.base = base
        self.tile = tile
        self.index = expression
        self.dim = dim

    def view(self, view, box, function):
        """The tracer's view: a register for one number, a list for one of each row."""
        base = self.base.view_
        offset = view.offset + sum(a * s for (a, _), s in zip(box, view.strides))
        shape = tuple(n for _, n in box)
        limit = base.shape[self.dim]
        stride = base.strides[self.dim]
        tile = self.tile
        if self.base.on_chip and self.dim == 0:
            refuse(function, "an index tile chooses no partition of a tile on the chip",
                   f"a tile of shape {tile.shape}")
        if isinstance(tile, VirtualRegister) or tile.size == 1:
            dynamic = Dynamic(stride, limit, 0, scalar=self._register(tile))
            return NkiTensor(shape, view.dtype, view.storage, strides=view.strides, offset=offset,
                             dynamic=dynamic)
        if self.base.on_chip:
            refuse(function, "an index of a tile on the chip is one number",
                   f"a tile of shape {tile.shape}")
        if tile.size != tile.shape[0] or len(shape) < 1:
            refuse(function, "an index tile has one number for each partition",
                   f"shape {tile.shape}")
        if view.strides[0] and shape[0] > 1:
            refuse(function, "the partitions choose their places by the index tile alone",
                   "another index that goes along the partitions, too")
        start, count = box[0]
        rows = tile.part([(start, count)] + [(0, 1)] * (tile.ndim - 1), function)
        strides = (stride,) + view.strides[1:]
        return NkiTensor(shape, view.dtype, view.storage, strides=strides, offset=offset,
                         dynamic=Dynamic(stride, limit, 0, vector=rows))

    @staticmethod
    def _register(tile):
        if isinstance(tile, VirtualRegister):
            return tile
        return isa.register_alloc(tile.whole("index"))


def _shape_of(k):
    if isinstance(k, Offset):
        return k.index.shape
    if isinstance(k, Tensor):
        return () if k.size == 1 else k.shape
    return k.shape

