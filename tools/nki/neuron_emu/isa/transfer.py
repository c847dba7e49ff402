# SPDX-License-Identifier: MIT
"""Transfers: the sides of views, and how they are cut to what a descriptor holds."""

import functools
import struct

from .. import builder, dtypes
from ..builder import value
from ..errors import refuse
from ..tensor import NONE, SIDE, MemoryRegion, chip_type
from ..trace import GPSIMD, SYNC, body
from .registers import known_place

__neuron_emu__ = True

_DMA = value("function", "dma")
_GATHER, _SCATTER, _SKIP, _GENERATE, _ACCUMULATE = (value("flag", name) for name in (
    "gather", "scatter", "skip", "generate", "accumulate"))
COPY, ADD, TRANSPOSE = (value("dma", name) for name in ("copy", "add", "transpose"))
SBUF, PSUM = MemoryRegion.sbuf, MemoryRegion.psum
MAX_DIMS = 4
# Of a descriptor that is made at run time, sources and destination together.
MAX_ELEMENTS = 1 << 18
MAX_SIZE = 0xffffffff
# What a side begins with.
SIDE_HEAD = struct.Struct("<IiQHH")


class End:
    """One end of a transfer: dimensions (count, bytes), the outermost first, of `item` bytes."""

    __slots__ = ("tile", "var", "offset", "partition", "dims", "item", "found")

    def __init__(self, tile, var, offset, partition, dims, item):
        self.found = None
        self.tile = tile
        self.var = var
        self.offset = offset
        self.partition = partition
        self.dims = dims
        self.item = item

    def runs(self):
        """[(size, step), ...] for a descriptor: the first one is the run of bytes."""
        if self.found is not None:
            return self.found
        dims = self.dims
        if dims and dims[-1][1] == self.item:
            result = [(dims[-1][0] * self.item, 1)]
            dims = dims[:-1]
        else:
            result = [(self.item, 1)]
        result += dims[::-1]
        self.found = result
        return result

    def pack(self, runs=None):
        """struct nb_flat_side"""
        runs = self.runs() if runs is None else runs
        n = len(runs)
        runs = runs + [(1, 0)] * (4 - n)
        (n0, s0), (n1, s1), (n2, s2), (n3, s3) = runs
        return SIDE.pack(self.tile, self.var, self.offset, n, self.partition, n0, n1, n2, n3, 0,
                         s0, s1, s2, s3)

    def moved(self, dims, offset):
        """The same with other dimensions, further on."""
        return End(self.tile, self.var, self.offset + offset, self.partition, dims, self.item)


def merged(dims):
    """Neighbouring dimensions, outermost first, as one where they can be."""
    result = []
    for n, step in dims:
        if n == 1:
            continue
        if result and result[-1][1] == step * n:
            result[-1] = (result[-1][0] * n, step)
        else:
            result.append((n, step))
    return result or [(1, 0)]


def end_of(tensor, what, function, merge=True, moved=False):
    """The end of a transfer that a view is; `moved`: the caller adds what the run decides."""
    if not moved or tensor.index is not None:
        known_place(tensor, what, function)
    storage = tensor.storage
    item = dtypes.SIZE[tensor.dtype]
    if storage.memory is MemoryRegion.psum:
        refuse(function, f"{what} lies in SBUF or HBM", "psum",
               "copy it to SBUF with nisa.tensor_copy first")
    if tensor.offset < 0:
        refuse(function, f"{what} begins in its tensor", f"{-tensor.offset} elements before it")
    dims = [(n, s * item) for n, s in zip(tensor.shape, tensor.strides)]
    if storage.memory is MemoryRegion.sbuf:
        partition, byte = divmod(tensor.offset * item, storage.row)
        step = dims[0][1]
        if dims[0][0] > 1 and step % storage.row:
            refuse(function, f"{what} has whole partitions",
                   f"a partition stride of {tensor.strides[0]} elements")
        dims[0] = (dims[0][0], step // storage.row * builder.PARTITION)
        return End(storage.tile, 0, byte, partition, merged(dims) if merge else dims, item)
    return End(NONE, storage.slot + 1, tensor.offset * item, 0, merged(dims) if merge else dims,
               item)


@functools.lru_cache(maxsize=4096)
def _packed_runs(shape, strides, item, row):
    """(how many, packed as in struct nb_flat_side) of the runs of a view, of a tile with rows of so
    many bytes; None: they do not fit.
    """
    dims = [(n, s * item) for n, s in zip(shape, strides)]
    if row is not None:
        if shape[0] > 1 and dims[0][1] % row:
            return None
        dims[0] = (shape[0], dims[0][1] // row * builder.PARTITION)
    runs = End(NONE, 0, 0, 0, merged(dims), item).runs()
    if len(runs) > MAX_DIMS:
        return None
    try:
        return len(runs), End(NONE, 0, 0, 0, [], item).pack(runs)[SIDE_HEAD.size:]
    except struct.error:
        return None


def _side(tensor):
    """struct nb_flat_side of a view that fits a descriptor as it is; None: it is none."""
    storage = tensor.storage
    memory = storage.memory
    if tensor.dynamic is not None or tensor.index is not None or memory is PSUM or \
            tensor.offset < 0:
        return None
    item = dtypes.SIZE[tensor.dtype]
    row = storage.row if memory is SBUF else None
    packed = _packed_runs(tensor.shape, tensor.strides, item, row)
    if packed is None:
        return None
    count, runs = packed
    if row is None:
        return SIDE_HEAD.pack(NONE, storage.slot + 1, tensor.offset * item, count, 0) + runs
    partition, byte = divmod(tensor.offset * item, row)
    return SIDE_HEAD.pack(storage.tile, 0, byte, count, partition) + runs


@functools.lru_cache(maxsize=1024)
def _plain_body(dst, src, priority):
    """The record of a copy from one type to another, without its head."""
    return body(COPY, chip_type(src), dtype=chip_type(dst),
                args=(0 if priority is None else priority + 1, 0, 0, 0, 0, 0, 0, 0))


def split(end, count):
    """`end` in `count` equal pieces, in order; None: it cannot be done so."""
    dims = end.dims
    n, step = dims[0]
    if n % count == 0:
        piece = merged([(n // count, step)] + dims[1:])
        return [end.moved(piece, i * (n // count) * step) for i in range(count)]
    if count % n == 0 and len(dims) > 1:
        pieces = []
        for i in range(n):
            inner = split(end.moved(dims[1:], i * step), count // n)
            if inner is None:
                return None
            pieces += inner
        return pieces
    return None


def _cut(ends, n, least):
    """Ends in the least number of pieces, at least `least`, that divides n and cuts all of them."""
    for count in range(max(2, least), n + 1):
        if n % count == 0:
            cut = [split(end, count) for end in ends]
            if None not in cut:
                return cut
    return None


def pieces(ends, function, most=None):
    """Ends as lists of ends that each fit a descriptor."""
    if most is None and all(len(end.runs()) <= MAX_DIMS for end in ends):
        return [ends]
    deepest = max(ends, key=lambda end: len(end.runs()))
    if len(deepest.runs()) > MAX_DIMS:
        least = n = deepest.dims[0][0]
    else:
        total = 0
        for end in ends:
            elements = 1
            for n, _ in end.dims:
                elements *= n
            total += elements
        if most is None or total <= most:
            return [ends]
        n = max(end.dims[0][0] for end in ends)
        least = -(-n // max(1, n * most // total))
    cut = _cut(ends, n, least)
    if cut is None:
        refuse(function, "a transfer has 4 dimensions on each side at most",
               f"{[end.dims for end in ends]}", "split it into several transfers")
    result = []
    for some in zip(*cut, strict=True):
        result += pieces(list(some), function, most)
    return result


def owner_of(trace, dst, generated=False):
    """Loads are started by one engine, stores by another: a store that waits must not hold back
    the loads behind it. On NeuronCore-v2 only GpSimd makes descriptors at run time."""
    if dst.storage.slot is not None or (generated and trace.generation < 3):
        return GPSIMD
    return SYNC


def emit(trace, ends, types, engine, op=COPY, priority=None, flags=0, registers=(0, 0), index=None,
         limit=0):
    """The record of a transfer that fits."""
    operands = tuple(end.pack() for end in ends)
    if index is not None:
        operands += (index,)
    return trace.add(_DMA, engine, operands, op, types[1], flags=flags,
                     args=(0 if priority is None else priority + 1, limit, registers[0],
                           registers[1], 0, 0, 0, 0), dtype=types[0])


def copy(trace, dst, src, engine=None, priority=None, flags=0, registers=(0, 0)):
    """dst = src, with a cast where their types differ."""
    if not trace.loops and not flags:
        to, source = _side(dst), _side(src)
        if to is not None and source is not None:
            engine = owner_of(trace, dst) if engine is None else engine
            return trace.put(_DMA, engine, 2,
                             _plain_body(dst.dtype, src.dtype, priority) + to + source)
    ends = [end_of(dst, "dst", "dma_copy", moved=bool(registers[1])),
            end_of(src, "src", "dma_copy", moved=bool(registers[0]))]
    types = (chip_type(dst.dtype), chip_type(src.dtype))
    most = None
    if trace.loops or registers != (0, 0):
        flags |= _GENERATE
        most = MAX_ELEMENTS
    engine = owner_of(trace, dst, most is not None) if engine is None else engine
    handle = None
    for part in pieces(ends, "dma_copy", most):
        handle = emit(trace, part, types, engine, COPY, priority, flags, registers)
    return handle


def compute(trace, dst, sources, engine=None, op=ADD):
    """dst = the sum of the sources, or what `op` makes of them."""
    ends = [end_of(dst, "dst", "dma_compute")]
    ends += [end_of(src, "src", "dma_compute") for src in sources]
    types = (chip_type(dst.dtype), chip_type(sources[0].dtype))
    engine = owner_of(trace, dst, bool(trace.loops)) if engine is None else engine
    handle = None
    flags, most = (_GENERATE, MAX_ELEMENTS) if trace.loops else (0, None)
    for part in pieces(ends, "dma_compute", most):
        handle = emit(trace, part, types, engine, op, None, flags)
    return handle


def indexed(trace, dst, src, scatter, skip, op=COPY, accumulate=False, engine=GPSIMD):
    """Rows of src gathered, or those of dst scattered, by a list of indices in SBUF."""
    function = "dma_copy"
    listed, other = (dst, src) if scatter else (src, dst)
    dynamic = listed.dynamic
    index = dynamic.vector
    if index.buffer is not MemoryRegion.sbuf or index.itemsize != 4:
        refuse(function, "vector_offset is a tile of 32-bit integers in SBUF",
               f"{index.dtype} in {index.buffer.name}")
    rows = listed.shape[0]
    if index.shape[0] != rows or index.size != rows:
        refuse(function, f"vector_offset has one index for each of the {rows} rows",
               f"shape {index.shape}")
    item = listed.itemsize
    row = end_of(listed, "dst" if scatter else "src", function, merge=False, moved=True)
    inner = merged(row.dims[1:])
    step = dynamic.stride * item
    into = end_of(other, "src" if scatter else "dst", function, merge=False)
    at = end_of(index, "vector_offset", function, merge=False)
    flags = _GENERATE | (_SCATTER if scatter else _GATHER) | (_SKIP if skip else 0)
    flags |= _ACCUMULATE if accumulate else 0
    types = (chip_type(dst.dtype), chip_type(src.dtype))
    if other.shape[0] != rows:
        cut = split(into.moved(merged(into.dims), 0), rows)
        if cut is None:
            refuse(function, f"the other side has {rows} rows", f"shape {other.shape}")
    return _indexed_parts(trace, row, inner, step, into, at, rows, flags, types, op,
                          _limit(listed), scatter, engine)


def _limit(listed):
    """What the indices of a listed view are below: the rows that there are, without those last
    ones behind which the pattern of a row does not fit into the tensor any more.
    """
    dynamic = listed.dynamic
    inside = list(zip(listed.shape, listed.strides))[1:]
    if dynamic.stride < 1 or any(stride < 0 for _, stride in inside):
        return dynamic.limit
    last = listed.offset + sum((n - 1) * stride for n, stride in inside)
    left = listed.storage.bytes // listed.itemsize - 1 - last
    # What never fits is refused where the transfer is placed.
    return dynamic.limit if left < 0 else min(dynamic.limit, left // dynamic.stride + 1)


def _with_rows(inner, rows, step, item):
    """The runs of a side whose outermost dimension is the listed one."""
    runs = [(inner[-1][0] * item, 1)] if inner[-1][1] == item else [(item, 1)]
    runs += (inner[:-1] if inner[-1][1] == item else inner)[::-1]
    runs = [run for i, run in enumerate(runs) if i == 0 or run[0] != 1]
    return runs + [(rows, step)]


def _indexed_parts(trace, row, inner, step, into, at, rows, flags, types, op, limit, scatter,
                   engine):
    """As many records as the limit of elements asks for."""
    elements = 1
    for n, _ in inner:
        elements *= n
    sides = 3 if flags & _ACCUMULATE else 2
    each = max(1, min(rows, MAX_ELEMENTS // (sides * elements)))
    other_rows = into.dims[0][0] == rows
    pieces_of = split(into.moved(merged(into.dims), 0), rows) if not other_rows else None
    handle = None
    for first in range(0, rows, each if other_rows else 1):
        count = min(each if other_rows else 1, rows - first)
        listed = End(row.tile, row.var, row.offset, row.partition, [], row.item)
        if other_rows:
            there = into.moved(merged([(count, into.dims[0][1])] + into.dims[1:]),
                               first * into.dims[0][1])
        else:
            there = pieces_of[first]
        ends = [listed.pack(_with_rows(inner, count, step, row.item)), there.pack()]
        if not scatter:
            ends.reverse()
        index = SIDE.pack(at.tile, at.var, at.offset + first * at.dims[0][1], 2, at.partition, 4,
                          count, 1, 1, 0, 1, at.dims[0][1], 0, 0)
        handle = trace.add(_DMA, engine, (*ends, index), op, types[1], flags=flags,
                           args=(0, limit, 0, 0, 0, 0, 0, 0), dtype=types[0])
    return handle
