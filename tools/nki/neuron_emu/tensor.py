# SPDX-License-Identifier: MIT
"""Tensors of a kernel and their views.

A view is a shape with strides and an offset, in elements, of some storage. Storage is row-major as
if all of a tile, partitions included, were one array: the row of a partition is storage.row bytes
long, so partition p, element f is at p * row + f. encode() makes an instruction's access pattern
of a view, side() the end of a transfer.
"""

import enum
import functools
import itertools
import math
import numbers
import struct

from . import dtypes
from .dynamic import Dynamic, around, turns
from .errors import NkiValidationError, refuse
from .objects import Compared, DynamicSlice, NKIObject, VirtualRegister

__neuron_emu__ = True

# As struct nb_flat_ap and struct nb_flat_side say.
AP = struct.Struct("<II4H4hBBBBIII")
# The same with its sizes and steps, which free_dims() has packed.
WITH_DIMS = struct.Struct("<II16sBBBBIII")
FREE_DIMS = struct.Struct("<4H4h")
SIDE = struct.Struct("<IiQHH4II4q")
NONE = 0xffffffff
MAX_NUM = 65535
MAX_DIMS = 4


class MemoryRegion(enum.Enum):
    """Where a tensor lies."""
    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    # Values of an Enum are singletons; its own hash is slow.
    __hash__ = object.__hash__


ON_CHIP = (MemoryRegion.sbuf, MemoryRegion.psum)


def region(buffer):
    """A MemoryRegion from what nl.ndarray() takes."""
    if isinstance(buffer, MemoryRegion):
        return buffer
    name = getattr(buffer, "name", buffer)
    if name == "hbm":
        return MemoryRegion.private_hbm
    try:
        return MemoryRegion(name)
    except ValueError:
        refuse("nl.ndarray", "buffer is nl.sbuf, nl.psum, nl.private_hbm or nl.shared_hbm",
               repr(buffer))


class Storage:
    """What views are views of: a tile on the chip, or a tensor in HBM."""

    # What most of them lack is an attribute of the class.
    tile = slot = written = constant = role = address = host = None
    loop = 0

    def __init__(self, memory, trace, name=""):
        self.memory = memory
        self.trace = trace
        self.name = name


def row_major(shape):
    """The strides of a packed tensor."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def _size(n):
    """What it is as an integer."""
    whole = int(n)
    if isinstance(n, numbers.Real) and n != whole:
        raise ValueError
    return whole


def as_shape(shape, function):
    """A tuple of positive integers."""
    try:
        result = tuple(map(_size, shape if hasattr(shape, "__iter__") else (shape,)))
    except (TypeError, ValueError, OverflowError):
        refuse(function, "a shape is a tuple of integers", repr(shape))
    if not result or min(result) < 1:
        refuse(function, "the sizes of a shape are 1 or more", result)
    return result


class NkiTensor(Compared, NKIObject):
    """A tensor, or a view of one; views share its storage."""

    __slots__ = ("shape", "strides", "offset", "dtype", "storage", "dynamic", "index", "_ap",
                 "_reg")

    def __init__(self, shape, dtype, storage, buffer=MemoryRegion.sbuf, name="", strides=None,
                 offset=0, dynamic=None, index=None):
        self.shape = shape
        self.dtype = dtype
        self.storage = storage
        self.strides = strides if strides is not None else row_major(shape)
        self.offset = offset
        self.dynamic = dynamic
        self.index = index
        self._ap = None
        if storage is None:
            self.storage = Storage(region(buffer), None, name)

    # --- what it is ---

    @property
    def buffer(self):
        """Its MemoryRegion."""
        return self.storage.memory

    @property
    def name(self):
        """The name that it was made with."""
        return self.storage.name

    @property
    def ndim(self):
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self):
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def itemsize(self):
        """Bytes of an element."""
        return dtypes.SIZE[self.dtype]

    @property
    def on_chip(self):
        """In SBUF or PSUM."""
        return self.storage.memory in ON_CHIP

    def __repr__(self):
        text = f"NkiTensor(shape={self.shape}, dtype={self.dtype}, buffer={self.buffer.name})"
        eager = getattr(self.storage.trace, "eager", None)
        return eager.show(self) if eager else text

    def numpy(self):
        """Its values, in nki.simulate()."""
        from . import eager
        return eager.array(self)

    def __array__(self, dtype=None):
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __array_ufunc__(self, function, method, *_, **__):
        """NumPy computes on the host, also in nki.simulate(): the kernel would not have it."""
        from . import language
        name = function.__name__
        here = f"use nl.{name}()" if hasattr(language, name) else "use functions of nl or nki.isa"
        refuse(f"np.{name}", "NumPy's functions do not compute on tensors of a kernel",
               fix=f"{here}; numpy.asarray() gives the values to look at in nki.simulate()")

    def __bool__(self):
        """What `if tensor:` asks of an argument that may be None; one element of a tile has a
        value."""
        if self.size != 1 or not self.on_chip:
            return True
        from . import eager
        return bool(eager.number(self))

    def __int__(self):
        from . import eager
        return int(eager.number(self))

    def __float__(self):
        from . import eager
        return float(eager.number(self))

    def __len__(self):
        return self.shape[0]

    def is_contiguous(self):
        """Do its elements lie side by side (on the chip: in each partition)?"""
        step = 1
        for n, s in list(zip(self.shape, self.strides))[:0 if self.on_chip else None:-1]:
            if n != 1 and s != step:
                return False
            step *= n
        return True

    def get_pattern(self):
        """[[stride, count], ...]"""
        return [[s, n] for n, s in zip(self.shape, self.strides)]

    def is_indirect(self):
        """Does the run decide where it lies?"""
        return self.dynamic is not None or self.index is not None

    # --- views ---

    def _view(self, shape, strides, offset=None, dynamic=None):
        if self.index is not None and (dynamic is not None or shape != self.shape or
                                       offset not in (None, self.offset)):
            refuse("tensor", "a view that .indirect() has made is used whole", f"shape {shape}",
                   "take a part of its index, then call .indirect()")
        return NkiTensor(shape, self.dtype, self.storage, strides=strides,
                         offset=self.offset if offset is None else offset,
                         dynamic=self.dynamic if dynamic is None else dynamic, index=self.index)

    def _dim(self, dim, function):
        n = len(self.shape)
        if not isinstance(dim, int) or not -n <= dim < n:
            refuse(function, f"dim is one of the {n} dimensions", repr(dim))
        return dim % n

    def _not_partition(self, dim, function):
        if dim == 0 and self.storage.memory in ON_CHIP:
            refuse(function, "dimension 0 of a tile is the partition dimension, which stays as "
                   "it is", fix="use another dimension")

    def _not_dynamic(self, dim, function):
        if self.dynamic is not None and any(
                dim == d.dim for d in (self.dynamic, *self.dynamic.others)):
            refuse(function, f"dimension {dim} is addressed indirectly and cannot be selected "
                   "from again")

    def __getitem__(self, key):
        if not isinstance(key, tuple):
            key = (key,)
        shape, strides = self.shape, self.strides
        if len(key) > len(shape):
            return self._with_new_axes(key)
        offset = self.offset
        new_shape, new_strides = [], []
        dynamic = []
        for dim, k in enumerate(key):
            n = shape[dim]
            stride = strides[dim]
            if k.__class__ is slice:
                start, stop, step = k.start, k.stop, k.step
                if start is None and stop is None and step is None:
                    new_shape.append(n)
                    new_strides.append(stride)
                    continue
                if step is None and start.__class__ is int and stop.__class__ is int and \
                        0 <= start < stop <= n:
                    offset += start * stride
                    new_shape.append(stop - start)
                    new_strides.append(stride)
                    continue
                start, count, step = self._bounds(k, n, dim)
                offset += start * stride
                new_shape.append(count)
                new_strides.append(stride * step)
            elif isinstance(k, DynamicSlice):
                if isinstance(k.start, (VirtualRegister, NkiTensor)):
                    dynamic.append(self._dynamic(k.start, dim, stride, n, len(new_shape)))
                else:
                    self._inside(k.start, k.start + k.size, n, dim)
                    offset += k.start * stride
                new_shape.append(k.size)
                new_strides.append(stride)
            elif isinstance(k, (VirtualRegister, NkiTensor)):
                dynamic.append(self._dynamic(k, dim, stride, n, -1))
                if dim == 0 and self.storage.memory in ON_CHIP:
                    new_shape.append(1)
                    new_strides.append(stride)
            elif k is None:
                return self._with_new_axes(key)
            elif k is Ellipsis:
                return self[self._fill(key)]
            else:
                i = k if k.__class__ is int else self._integer(k)
                if i < 0:
                    i += n
                self._inside(i, i + 1, n, dim)
                offset += i * stride
                if dim == 0 and self.storage.memory in ON_CHIP:
                    new_shape.append(1)
                    new_strides.append(stride)
        if len(key) < len(shape):
            new_shape += shape[len(key):]
            new_strides += strides[len(key):]
        if len(new_shape) < 2:
            self._least_dims(new_shape, new_strides)
        if not dynamic:
            return self._view(tuple(new_shape), tuple(new_strides), offset)
        for part in dynamic:
            part.origin = offset
            part.outer = around(new_shape, new_strides, part.stride * part.limit, (part.dim,))
        dynamic[0].others = tuple(dynamic[1:])
        return self._view(tuple(new_shape), tuple(new_strides), offset, dynamic[0])

    def _least_dims(self, shape, strides):
        """A tile keeps two dimensions, a tensor in HBM one."""
        least = 2 if self.storage.memory in ON_CHIP else 1
        missing = [1] * (least - len(shape))
        shape += missing
        strides += missing

    @staticmethod
    def _integer(k):
        try:
            return k.__index__()
        except AttributeError:
            refuse("tensor[...]", "an index is an integer, a slice, nl.ds() or ...", repr(k))

    def _fill(self, key):
        """The first `...` becomes whole dimensions; there is only one."""
        given = sum(1 for k in key if k is not Ellipsis and k is not None)
        missing = (slice(None),) * (len(self.shape) - given)
        at = next(i for i, k in enumerate(key) if k is Ellipsis)
        for k in key[at + 1:]:
            if k is Ellipsis:
                self._integer(k)
        return key[:at] + missing + key[at + 1:]

    def _with_new_axes(self, key):
        if any(k is Ellipsis for k in key):
            return self[self._fill(key)]
        plain = tuple(k for k in key if k is not None)
        if len(plain) > len(self.shape):
            refuse("tensor[...]", f"the tensor has {len(self.shape)} dimensions",
                   f"{len(plain)} indices")
        result = self[plain]
        dim = 0
        for k in key:
            if k is None:
                result = result.expand_dim(dim)
            if k is None or isinstance(k, (slice, DynamicSlice)) or (dim == 0 and self.on_chip):
                dim += 1
        return result

    def _inside(self, start, stop, n, dim):
        if not 0 <= start < stop <= n:
            refuse("tensor[...]", f"dimension {dim} of shape {self.shape} has the elements 0 to "
                   f"{n - 1}", f"{start} to {stop - 1}" if stop > start else f"{start}:{stop}")

    def _bounds(self, k, n, dim):
        step = 1 if k.step is None else k.step
        start = 0 if k.start is None else k.start
        stop = n if k.stop is None else k.stop
        if start.__class__ is not int or stop.__class__ is not int:
            if isinstance(start, VirtualRegister) or isinstance(stop, VirtualRegister):
                refuse("tensor[...]", "a slice has constant bounds", "a register",
                       "use nl.ds(register, size)")
            start, stop = int(start), int(stop)
        if step < 0:
            if k.start is None:
                start = n - 1
            start = start + n if start < 0 else start
            stop = -1 if k.stop is None else (stop + n if stop < 0 else stop)
            count = -(-(start - stop) // -step)
            self._inside(start + (count - 1) * step, start + 1, n, dim)
            return start, count, step
        if start < 0:
            start += n
        if stop < 0:
            stop += n
        if not 0 <= start < stop <= n:
            self._inside(start, stop, n, dim)
        return start, (stop - start + step - 1) // step, step

    def _dynamic(self, start, dim, stride, n, new_dim):
        if self.is_indirect():
            refuse("tensor[...]", "an indirect view cannot be indexed by the run again")
        if dim == 0 and self.on_chip:
            refuse("tensor[...]", "the run cannot decide the partition of a tile")
        return Dynamic(stride, n, new_dim, scalar=start)

    def slice(self, dim, start, end, step=1):
        """Elements `start` to `end` - 1 of a dimension."""
        dim = self._dim(dim, "slice")
        self._not_dynamic(dim, "slice")
        if step < 1:
            refuse("slice", "step is 1 or more", step)
        self._inside(start, end, self.shape[dim], dim)
        return self[(slice(None),) * dim + (slice(start, end, step),)]

    def select(self, dim, index):
        """One element of a dimension, which goes away; the run decides which for a register or
        a tile of one element."""
        dim = self._dim(dim, "select")
        self._not_dynamic(dim, "select")
        self._not_partition(dim, "select")
        key = (slice(None),) * dim + (index,)
        if not isinstance(index, (VirtualRegister, NkiTensor)):
            self._inside(index, index + 1, self.shape[dim], dim)
        return self[key]

    def vector_select(self, dim, vector_offset):
        """Each partition has its own index into dimension 0 of a tensor in HBM."""
        if dim != 0 or self.on_chip or self.is_indirect():
            refuse("vector_select", "it takes dimension 0 of a tensor in HBM that is not indirect")
        count = vector_offset.shape[0]
        dynamic = Dynamic(self.strides[0], self.shape[0], 0, vector=vector_offset)
        return self._view((count,) + self.shape[1:], self.strides, None, dynamic)

    def permute(self, dims):
        """The dimensions in another order."""
        dims = tuple(dims)
        if sorted(dims) != list(range(len(self.shape))):
            refuse("permute", f"dims is a permutation of {tuple(range(len(self.shape)))}", dims)
        if dims[0] != 0 and (self.on_chip or self._vector()):
            self._not_partition(0, "permute")
            refuse("permute", "the indirect dimension stays outermost")
        return self._view(tuple(self.shape[d] for d in dims), tuple(self.strides[d] for d in dims))

    def _vector(self):
        return self.dynamic is not None and self.dynamic.vector is not None

    def broadcast(self, dim, size):
        """A dimension of size 1 repeated."""
        dim = self._dim(dim, "broadcast")
        self._not_partition(dim, "broadcast")
        if self.shape[dim] != 1:
            refuse("broadcast", f"dimension {dim} has the size 1", self.shape[dim])
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = size, 0
        return self._view(tuple(shape), tuple(strides))

    def expand_dim(self, dim):
        """A new dimension of size 1."""
        n = len(self.shape)
        if not -n - 1 <= dim <= n:
            refuse("expand_dim", f"dim is 0 to {n}", dim)
        dim = dim + n + 1 if dim < 0 else dim
        self._not_partition(dim, "expand_dim")
        stride = self.strides[dim] * self.shape[dim] if dim < n else 1
        return self._view(self.shape[:dim] + (1,) + self.shape[dim:],
                          self.strides[:dim] + (stride,) + self.strides[dim:])

    def squeeze_dim(self, dim):
        """A dimension of size 1 goes away."""
        dim = self._dim(dim, "squeeze_dim")
        self._not_partition(dim, "squeeze_dim")
        if self.shape[dim] != 1:
            refuse("squeeze_dim", f"dimension {dim} has the size 1", self.shape[dim])
        return self._view(self.shape[:dim] + self.shape[dim + 1:],
                          self.strides[:dim] + self.strides[dim + 1:])

    def reshape_dim(self, dim, shape):
        """One dimension becomes several."""
        dim = self._dim(dim, "reshape_dim")
        shape = self._infer(tuple(shape), self.shape[dim], "reshape_dim")
        if shape == (self.shape[dim],):
            return self
        self._not_partition(dim, "reshape_dim")
        strides = tuple(self.strides[dim] * s for s in row_major(shape))
        return self._view(self.shape[:dim] + shape + self.shape[dim + 1:],
                          self.strides[:dim] + strides + self.strides[dim + 1:])

    @staticmethod
    def _infer(shape, total, function):
        if shape.count(-1) == 1:
            known = -math.prod(shape)
            if known and total % known == 0:
                shape = tuple(total // known if n == -1 else n for n in shape)
        if math.prod(shape) != total or min(shape, default=1) < 1:
            refuse(function, f"the new sizes hold {total} elements", shape)
        return shape

    def flatten_dims(self, start_dim, end_dim):
        """Dimensions `start_dim` to `end_dim` become one."""
        start, end = self._dim(start_dim, "flatten_dims"), self._dim(end_dim, "flatten_dims")
        if start > end:
            refuse("flatten_dims", "start_dim comes before end_dim", (start_dim, end_dim))
        if start == end:
            return self
        self._not_partition(start, "flatten_dims")
        merged = self._merge(self.shape[start:end + 1], self.strides[start:end + 1])
        if merged is None:
            refuse("flatten_dims", "the dimensions lie side by side in memory",
                   f"shape {self.shape} with strides {self.strides}",
                   "copy it to a tile of its own")
        return self._view(self.shape[:start] + (merged[0],) + self.shape[end + 1:],
                          self.strides[:start] + (merged[1],) + self.strides[end + 1:])

    @staticmethod
    def _merge(shape, strides):
        """(size, stride) of dimensions as one; None: they are not."""
        size, stride = 1, None
        for n, s in zip(reversed(shape), reversed(strides)):
            if n == 1:
                continue
            if stride is None:
                stride = s
            elif s != stride * size:
                return None
            size *= n
        return size, 1 if stride is None else stride

    def reshape(self, *shape):
        """The same elements in the same order in another shape."""
        if len(shape) == 1 and hasattr(shape[0], "__iter__"):
            shape = shape[0]
        shape = self._infer(tuple(shape), self.size, "reshape")
        if shape == self.shape:
            return self
        if shape[0] != self.shape[0] and (self.on_chip or self._vector()):
            refuse("reshape", f"a tile keeps its {self.shape[0]} partitions", shape)
        groups = self._groups(shape)
        if groups is None:
            refuse("reshape", f"shape {self.shape} with strides {self.strides} cannot become "
                   f"{shape} without a copy", fix="copy it to a tensor of its own")
        return self._view(shape, groups)

    def _groups(self, shape):
        """The strides of the view in `shape`; None: there are none."""
        old = [(n, s) for n, s in zip(self.shape, self.strides) if n != 1]
        strides = [0] * len(shape)
        position = len(shape) - 1
        while old:
            n, stride = old.pop()
            # As few old dimensions as make up whole new ones.
            taken = 1
            while True:
                while position >= 0 and shape[position] == 1:
                    strides[position] = stride * taken
                    position -= 1
                if taken == n:
                    break
                if position < 0:
                    return None
                if n % (taken * shape[position]):
                    if not old or old[-1][1] != stride * n:
                        return None
                    n *= old.pop()[0]
                    continue
                strides[position] = stride * taken
                taken *= shape[position]
                position -= 1
        for i in range(position, -1, -1):
            strides[i] = strides[i + 1] * shape[i + 1] if i + 1 < len(shape) else 1
        return tuple(strides)

    def rearrange(self, src_pattern, dst_pattern, fixed_sizes=None):
        """Split, reorder and merge dimensions by names."""
        sizes = dict(fixed_sizes or {})
        if len(src_pattern) != len(self.shape):
            refuse("rearrange", f"src_pattern names {len(self.shape)} dimensions", src_pattern)
        result, names = self, []
        for group, n in zip(src_pattern, self.shape):
            group = group if isinstance(group, (tuple, list)) else (group,)
            shape = tuple(sizes.get(name, -1) for name in group)
            if len(group) > 1:
                shape = self._infer(shape, n, "rearrange")
                result = result.reshape_dim(len(names), shape)
            names += group
        order = [name for group in dst_pattern
                 for name in (group if isinstance(group, (tuple, list)) else (group,))]
        if sorted(order) != sorted(names):
            refuse("rearrange", f"dst_pattern has the names {names}", order)
        result = result.permute(tuple(names.index(name) for name in order))
        dim = 0
        for group in dst_pattern:
            if isinstance(group, (tuple, list)) and len(group) > 1:
                result = result.flatten_dims(dim, dim + len(group) - 1)
            dim += 1
        return result

    def ap(self, pattern, offset=None, scalar_offset=None, vector_offset=None, indirect_dim=0,
           dtype=None):
        """Shape and strides told by hand: [[stride, count], ...]."""
        if self.is_indirect():
            refuse("ap", "an indirect view has its pattern", fix="call .ap() on the tensor itself")
        base = self if dtype is None else self._scaled(dtypes.canonical(dtype))
        shape = tuple(int(n) for _, n in pattern)
        strides = tuple(int(s) for s, _ in pattern)
        if not shape or min(shape) < 1:
            refuse("ap", "pattern has pairs [stride, count] with counts of 1 or more", pattern)
        if scalar_offset is not None and vector_offset is not None:
            refuse("ap", "scalar_offset and vector_offset exclude each other")
        dynamic = None
        if scalar_offset is not None or vector_offset is not None:
            dim = self._dim(indirect_dim, "ap")
            if self.strides[dim] * self.itemsize % base.itemsize:
                refuse("ap", f"the indirect dimension steps by whole elements of {base.dtype}",
                       f"{self.strides[dim]} of {self.dtype}")
            limit, outer = turns(self.shape, base.strides, dim)
            dynamic = Dynamic(base.strides[dim], limit, 0, scalar=scalar_offset,
                              vector=vector_offset, origin=base.offset, outer=outer)
            if vector_offset is not None and dynamic.stride > 0:
                # Its indices count from the offset on.
                first = dynamic.inside(base.offset + (offset or 0)) // dynamic.stride
                if not 0 <= first < limit:
                    refuse("ap", f"offset begins at one of the {limit} elements that "
                           "vector_offset selects from", f"{offset}, which is element {first}")
                dynamic.limit = min(dynamic.limit, limit - first)
            if vector_offset is not None and self.on_chip:
                refuse("ap", "vector_offset goes with a tensor in HBM")
        return NkiTensor(shape, base.dtype, self.storage, strides=strides,
                         offset=base.offset + (offset or 0), dynamic=dynamic, index=None)

    def _scaled(self, dtype):
        """The same bytes as elements of another type; the shape is not looked at."""
        old, new = self.itemsize, dtypes.SIZE[dtype]
        if old == new:
            return NkiTensor(self.shape, dtype, self.storage, strides=self.strides,
                             offset=self.offset, dynamic=self.dynamic, index=self.index)
        if self.offset * old % new:
            refuse("ap", f"the view begins at a whole element of {dtype}",
                   f"{self.offset * old} bytes on")
        strides = tuple(s * old // new for s in self.strides)
        return NkiTensor(self.shape, dtype, self.storage, strides=strides,
                         offset=self.offset * old // new, dynamic=self.dynamic)

    def view(self, dtype):
        """The same bytes as elements of another type; the last dimension grows or shrinks."""
        dtype = dtypes.canonical(dtype)
        old, new = self.itemsize, dtypes.SIZE[dtype]
        if old == new:
            return self._scaled(dtype)
        if self.is_indirect():
            refuse("view", "an indirect view has its type")
        last = self.shape[-1]
        if self.strides[-1] != 1 and last != 1:
            refuse("view", "the elements of the last dimension lie side by side")
        if last * old % new or self.offset * old % new or any(
                s * old % new for n, s in zip(self.shape[:-1], self.strides) if n != 1):
            refuse("view", f"the last dimension holds whole elements of {dtype}",
                   f"{last} of {self.dtype}")
        strides = tuple(s * old // new for s in self.strides[:-1]) + (1,)
        return NkiTensor(self.shape[:-1] + (last * old // new,), dtype, self.storage,
                         strides=strides, offset=self.offset * old // new)

    reinterpret_cast = view

    def indirect(self, index, num_elem=None):
        """Elements where an index in SBUF says; NeuronCore-v4."""
        if index.buffer is not MemoryRegion.sbuf or index.dtype != "uint16":
            refuse("indirect", "the index is a tile of uint16 in SBUF",
                   f"{index.dtype} in {index.buffer.name}")
        if self.is_indirect() or index.is_indirect():
            refuse("indirect", "the tile and its index lie at known places", "a view by a register",
                   "copy it with nisa.tensor_copy first")
        count = index.size if num_elem is None else num_elem
        return NkiTensor((self.shape[0], count), self.dtype, self.storage,
                         strides=(self.strides[0], 1), offset=self.offset, index=index)

    def astype(self, dtype):
        """A copy with another type."""
        from . import language
        return language.copy(self, dtype=dtype)

    def __setitem__(self, key, value):
        from . import language
        language.assign(self[key], value)

    # --- for instructions ---

    def place(self):
        """(partition, byte in it) of the first element of a tile."""
        item = dtypes.SIZE[self.dtype]
        partition, byte = divmod(self.offset * item, self.storage.row)
        return partition, byte

    def dims(self):
        """[(size, step), ...] of the free dimensions, innermost first, as few as there are."""
        return merge_dims(zip(self.shape[:0:-1], self.strides[:0:-1]))

    def encode(self, dims=None, reg=0):
        """struct nb_flat_ap of a tile. `dims`: in place of its own free dimensions."""
        storage = self.storage
        if self.index is not None:
            return self._encode_index()
        item = dtypes.SIZE[self.dtype]
        if dims is None:
            free = free_dims(self.shape, self.strides)
            if free is not None and (self.shape[0] == 1 or self.strides[0] * item == storage.row):
                partition, byte = divmod(self.offset * item, storage.row)
                if 0 <= partition <= 255:
                    return WITH_DIMS.pack(storage.tile, byte, free, partition, self.shape[0],
                                          chip_type(self.dtype), reg, NONE, 0, 0)
            dims = self.dims()
        n = len(dims)
        if n < 4:
            dims = dims + [(1, 1)] * (4 - n)
        elif n > 4:
            refuse("tile", "an instruction has 4 free dimensions at most",
                   f"{n} in a view of shape {self.shape} with strides {self.strides}",
                   "split the instruction, or copy the tile first")
        partition, byte = divmod(self.offset * item, storage.row)
        if self.shape[0] != 1 and self.strides[0] * item != storage.row:
            refuse("tile", "the partitions of a tile follow one another",
                   f"a partition stride of {self.strides[0]} elements in rows of "
                   f"{storage.row // item}")
        (n0, s0), (n1, s1), (n2, s2), (n3, s3) = dims
        try:
            return AP.pack(storage.tile, byte, n0, n1, n2, n3, s0, s1, s2, s3, partition,
                           self.shape[0], chip_type(self.dtype), reg, NONE, 0, 0)
        except struct.error:
            refuse("tile", "an instruction has steps of -32768 to 32767 elements, 65535 elements "
                   "in a dimension and 128 partitions",
                   f"shape {self.shape} with strides {self.strides}")

    def _encode_index(self):
        index = self.index
        partition, byte = self.place()
        index_partition, index_byte = index.place()
        return AP.pack(self.storage.tile, byte, self.shape[1], 1, 1, 1, 0, 0, 0, 0, partition,
                       self.shape[0], chip_type(self.dtype), 0, index.storage.tile,
                       index_byte + (index_partition << 24), 0)


@functools.lru_cache(maxsize=4096)
def free_dims(shape, strides):
    """The free dimensions as an instruction has them; None: it cannot have so many, such long ones
    or such wide steps.
    """
    try:
        dims = merge_dims(zip(shape[:0:-1], strides[:0:-1]))
    except NkiValidationError:
        return None
    if len(dims) > MAX_DIMS or shape[0] > 255:
        return None
    dims += [(1, 1)] * (MAX_DIMS - len(dims))
    try:
        return FREE_DIMS.pack(*(n for n, _ in dims), *(step for _, step in dims))
    except struct.error:
        return None


def merge_dims(dims):
    """Dimensions (size, step), innermost first: neighbours become one where they can."""
    result = []
    size, step = 1, 1
    for n, s in dims:
        if n == 1:
            continue
        if size == 1:
            size, step = n, s
        elif s == step * size and size * n <= MAX_NUM:
            size *= n
        else:
            result.append((size, step))
            size, step = n, s
    result.append((size, step))
    if any(n > MAX_NUM for n, _ in result):
        return list(itertools.chain.from_iterable(_cut(n, s) for n, s in result))
    return result


def _cut(n, s):
    """A dimension that is too long as two."""
    if n <= MAX_NUM:
        return [(n, s)]
    for inner in range(MAX_NUM, 0, -1):
        if n % inner == 0 and n // inner <= MAX_NUM:
            return [(inner, s), (n // inner, s * inner)]
    refuse("tile", f"an instruction has {MAX_NUM} elements in a dimension, or several dimensions "
           "of which the sizes multiply to it", n, "split the instruction")


_chip_types = {}


def chip_type(dtype):
    """The chip's number of a type."""
    value = _chip_types.get(dtype)
    if value is None:
        from . import builder
        value = _chip_types[dtype] = builder.value("dtype", dtypes.CHIP[dtype])
    return value
