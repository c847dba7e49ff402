# SPDX-License-Identifier: MIT
"""Functions of nki.isa that move data by DMA."""

import math

from ..builder import value
from ..dynamic import MOST, Dynamic
from ..errors import refuse
from ..ops import find, operator
from ..objects import VirtualRegister
from ..tensor import MemoryRegion, NkiTensor, chip_type
from ..trace import SCALAR, SYNC, current
from . import transfer
from .common import member, needs
from .compute import tensor_tensor
from .enums import dge_mode as modes
from .enums import engine as engines
from .enums import oob_mode as bounds
from .gpsimd import iota
from .registers import known_place, offset_register, register_store

__neuron_emu__ = True

_GENERATE = value("flag", "generate")


def _engine(trace, engine, dge_mode, function):
    """The engine that starts the transfer, or None."""
    if engine is not None:
        engine = member(engine, engines, "engine", function)
    if dge_mode is modes.hwdge:
        needs(trace, 3, f"{function} with dge_mode.hwdge")
    if engine is engines.unknown or engine is None:
        return None
    if engine not in (engines.sync, engines.scalar) or dge_mode is not modes.hwdge:
        refuse(function, "engine is sync or scalar, and goes with dge_mode.hwdge",
               f"{engine.name} with {dge_mode.name}")
    return SYNC if engine is engines.sync else SCALAR


def _priority(trace, priority, function):
    if priority is None:
        return None
    needs(trace, 4, f"{function} with a priority")
    if priority not in (0, 1, 2, 3):
        refuse(function, "priority is 0 to 3", priority)
    return priority


def _tensors(dst, src, function):
    for what, tensor in (("dst", dst), ("src", src)):
        if not isinstance(tensor, NkiTensor):
            refuse(function, f"{what} is a tensor", type(tensor).__name__)
    if dst.size != src.size:
        refuse(function, "dst and src have as many elements",
               f"{dst.size} and {src.size} (shapes {dst.shape} and {src.shape})")


def _is_vector(tensor):
    return tensor.dynamic is not None and tensor.dynamic.vector is not None


def _register(tensor, engine, function):
    """The register with the bytes that the run adds to a side, or 0."""
    if tensor.dynamic is None:
        return None
    return offset_register(tensor, engine, "a side", function)


def dma_copy(dst, src, priority=None, oob_mode=bounds.error, dge_mode=modes.unknown,
             engine=engines.unknown, name=None):
    """dst = src, between HBM and SBUF, with a cast where their types differ."""
    trace = current()
    function = "dma_copy"
    if dst.__class__ is not NkiTensor or src.__class__ is not NkiTensor or (
            dst.shape != src.shape and dst.size != src.size):
        _tensors(dst, src, function)
    if dst.dynamic is None and src.dynamic is None and priority is None and \
            oob_mode is bounds.error and dge_mode is modes.unknown and engine is engines.unknown:
        if dst.storage.role == "input" or dst.storage.role == "constant":
            trace.written(dst.storage)
        return transfer.copy(trace, dst, src)
    dge_mode = member(dge_mode, modes, "dge_mode", function)
    asked = _engine(trace, engine, dge_mode, function) if (
        engine is not engines.unknown or dge_mode is not modes.unknown) else None
    urgent = _priority(trace, priority, function)
    oob_mode = member(oob_mode, bounds, "oob_mode", function)
    if dst.storage.slot is not None:
        trace.written(dst.storage)
    if dst.dynamic is None and src.dynamic is None:
        return transfer.copy(trace, dst, src, asked, urgent)
    if _is_vector(dst) or _is_vector(src):
        if _is_vector(dst) and _is_vector(src):
            refuse(function, "one side is addressed by a vector, not both")
        if asked is not None or urgent is not None or dge_mode in (modes.hwdge, modes.none):
            refuse(function, "GpSimd makes the descriptors of a vector_offset",
                   "engine, priority or dge_mode", "leave these options out")
        return transfer.indexed(trace, dst, src, _is_vector(dst), oob_mode is bounds.skip)
    if oob_mode is bounds.skip:
        return _within(trace, dst, src)
    number = transfer.owner_of(trace, dst, True) if asked is None else asked
    return _dynamic(trace, dst, src, number, urgent, function)


def _dynamic(trace, dst, src, number, urgent, function):
    """Registers say where the sides lie."""
    held = (_register(src, number, function), _register(dst, number, function))
    return transfer.copy(trace, dst, src, number, urgent, 0,
                         tuple(0 if r is None else r.number for r in held))


def _within(trace, dst, src):
    """A transfer without the rows that a register puts out of bounds.

    A list has the places of the rows, as a vector_offset has, and GpSimd leaves those out that
    are not there.
    """
    function = "dma_copy"
    listed = [side for side in (dst, src) if side.dynamic is not None]
    if len(listed) != 1 or listed[0].on_chip:
        refuse(function, "oob_mode.skip goes with one side by a register, which lies in HBM")
    side = _as_list(trace, listed[0], function)
    if dst.dynamic is not None:
        return transfer.indexed(trace, side, src, True, True)
    return transfer.indexed(trace, dst, side, False, True)


def _as_list(trace, tensor, function):
    """The view with a list of its rows in place of the register that moves them all."""
    tensor = _by_places(tensor)
    dynamic, rows = tensor.dynamic, tensor.shape[0]
    unit = _listed_unit(tensor)
    if unit is None or dynamic.others or rows > 128:
        refuse(function, "oob_mode.skip with scalar_offset moves up to 128 whole rows of the "
               "dimension that the register selects from, or parts of one of them",
               f"shape {tensor.shape} with strides {tensor.strides}, of which a register moves "
               f"{dynamic.stride}")
    first = dynamic.inside(tensor.offset) // unit
    limit, factor = dynamic.limit, dynamic.stride // unit
    step = tensor.strides[0] // unit if rows > 1 else 0
    if max(abs(first), limit * factor) > MOST:
        refuse(function, "oob_mode.skip counts places with 32 bits",
               f"{max(abs(first), limit * factor)} places", "take a part of the tensor")
    scalar = dynamic.scalar
    if isinstance(scalar, VirtualRegister):
        word = trace.ndarray((1, 1), "int32")
        register_store(word, scalar)
        scalar = word
    if not isinstance(scalar, NkiTensor) or scalar.size != 1:
        refuse(function, "scalar_offset is a register or a tile of one element", repr(scalar))
    moved = trace.ndarray((rows, 1), "int32")
    transfer.copy(trace, moved, NkiTensor((rows, 1), scalar.dtype, scalar.storage,
                                          strides=(0, 1), offset=scalar.offset))
    if factor != 1:
        # What is out of bounds stays so: the product must not wrap.
        for op, number in (("minimum", limit), ("maximum", -limit), ("multiply", factor)):
            moved = _with_number(trace, moved, op, number)
        # The last place is that of the last part in the last row.
        limit = (limit - 1) * factor + first % factor + max(0, step * (rows - 1)) + 1
    known, places = (trace.ndarray((rows, 1), "int32") for _ in range(2))
    iota(known, [[0, 1]], offset=first, channel_multiplier=step)
    tensor_tensor(places, known, moved, find("add"))
    return NkiTensor(tensor.shape, tensor.dtype, tensor.storage, strides=tensor.strides,
                     offset=tensor.offset - first * unit,
                     dynamic=Dynamic(unit, limit, 0, vector=places))


def _by_places(tensor):
    """The same elements, with the places that the register selects as rows: each has its bound."""
    first = next((dim for dim, n in enumerate(tensor.shape) if n > 1), 0)
    if not first or tensor.strides[first] % tensor.dynamic.stride:
        return tensor
    return NkiTensor(tensor.shape[first:], tensor.dtype, tensor.storage,
                     strides=tensor.strides[first:], offset=tensor.offset,
                     dynamic=tensor.dynamic)


def _listed_unit(tensor):
    """How many elements apart are the places that a list of its rows counts, or None."""
    dynamic = tensor.dynamic
    step = tensor.strides[0] if tensor.shape[0] > 1 else 0
    if dynamic.outer and abs(step) >= abs(dynamic.outer[-1]):
        return None
    if step % dynamic.stride == 0:
        return dynamic.stride
    first = dynamic.inside(tensor.offset) % dynamic.stride
    reach = [(n - 1) * s for n, s in zip(tensor.shape, tensor.strides)]
    low = first + sum(r for r in reach if r < 0)
    high = first + sum(r for r in reach if r > 0)
    return math.gcd(step, dynamic.stride) if 0 <= low and high < dynamic.stride else None


def _with_number(trace, tile, op, number):
    """All elements of a tile of INT32 with one number: exact, unlike with an immediate."""
    numbers, result = (trace.ndarray(tile.shape, "int32") for _ in range(2))
    iota(numbers, [[0, 1]], offset=number)
    tensor_tensor(result, tile, numbers, find(op))
    return result


def dma_transpose(dst, src, axes=None, priority=None, dge_mode=modes.unknown,
                  oob_mode=bounds.error, name=None):
    """dst = src with its dimensions reversed, or in the order `axes`."""
    trace = current()
    function = "dma_transpose"
    _tensors(dst, src, function)
    dge_mode = member(dge_mode, modes, "dge_mode", function)
    _engine(trace, engines.unknown, dge_mode, function)
    oob_mode = member(oob_mode, bounds, "oob_mode", function)
    if _is_vector(src) and (priority is not None or dge_mode in (modes.hwdge, modes.none)):
        refuse(function, "GpSimd makes the descriptors of a vector_offset",
               "priority or dge_mode", "leave these options out")
    shape = src.shape
    if axes is None:
        axes = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(len(shape))
    axes = None if axes is None else tuple(axes)
    if axes not in ((1, 0), (2, 1, 0), (3, 1, 2, 0)) or len(axes) != len(shape):
        refuse(function, "axes is (1, 0), (2, 1, 0) or (3, 1, 2, 0), one for each dimension",
               f"{axes} for shape {shape}")
    if src.itemsize not in (2, 4) or dst.dtype != src.dtype:
        refuse(function, "dst and src have one type of 2 or 4 bytes",
               f"{dst.dtype} and {src.dtype}")
    wanted = tuple(shape[a] for a in axes)
    if dst.shape != wanted and dst.size == src.size:
        dst = dst.reshape(wanted) if wanted[0] == dst.shape[0] or not dst.on_chip else dst
    if dst.shape != wanted:
        refuse(function, f"dst has the shape {wanted}", dst.shape)
    if dst.storage.slot is not None:
        trace.written(dst.storage)
    if dst.dynamic is not None or src.dynamic is not None:
        if not _is_vector(src):
            number = transfer.owner_of(trace, dst, True)
            held = (_register(src, number, function), _register(dst, number, function))
            registers = tuple(0 if r is None else r.number for r in held)
            return _transposed(trace, dst, src, axes, _priority(trace, priority, function),
                               registers, number)
        return _gathered_transpose(trace, dst, src, axes, oob_mode)
    return _transposed(trace, dst, src, axes, _priority(trace, priority, function), (0, 0), None)


def _transposed(trace, dst, src, axes, priority, registers, number):
    """Views whose dimensions are in dst's order, moved in pieces that a descriptor transposes."""
    if src.index is not None:
        known_place(src, "src", "dma_transpose")
    flags, most = 0, None
    if trace.loops or registers != (0, 0):
        flags, most = _GENERATE, transfer.MAX_ELEMENTS
    come = transfer.end_of(src, "src", "dma_transpose", False, bool(registers[0]))
    ends = [transfer.end_of(dst, "dst", "dma_transpose", False, bool(registers[1])),
            come.moved([come.dims[a] for a in axes], 0)]
    item = src.itemsize
    number = transfer.owner_of(trace, dst, most is not None) if number is None else number
    return _transpose_parts(trace, ends, item, chip_type(dst.dtype), number, priority, flags,
                            registers, most)


def _transpose_parts(trace, ends, item, dtype, number, priority, flags, registers, most):
    """The first and the last dimension change about; those between are outer ones."""
    (first, to_first), (last, to_last) = ends[0].dims[0], ends[0].dims[-1]
    from_first, from_last = ends[1].dims[0][1], ends[1].dims[-1][1]
    middle = [(n, a, b) for (n, a), (_, b) in zip(ends[0].dims[1:-1], ends[1].dims[1:-1])
              if n != 1]
    if (last != 1 and to_last != item) or (first != 1 and from_first != item):
        # No runs of whole rows: elements one by one.
        handle = None
        ends = [end.moved(transfer.merged(end.dims), 0) for end in ends]
        for part in transfer.pieces(ends, "dma_transpose", most):
            handle = transfer.emit(trace, part, (dtype, dtype), number, transfer.COPY, priority,
                                   flags, registers)
        return handle
    to = transfer.End(ends[0].tile, ends[0].var, ends[0].offset, ends[0].partition, [], item)
    come = transfer.End(ends[1].tile, ends[1].var, ends[1].offset, ends[1].partition, [], item)
    to_runs = [(last * item, 1), (first, to_first)] + [(n, a) for n, a, _ in middle[::-1]]
    from_runs = [(first * item, 1), (last, from_last)] + [(n, b) for n, _, b in middle[::-1]]
    operands = (to.pack(to_runs), come.pack(from_runs))
    return trace.add(value("function", "dma"), number, operands, transfer.TRANSPOSE, dtype,
                     flags=flags, args=(0 if priority is None else priority + 1, 0, *registers,
                                        0, 0, 0, 0), dtype=dtype)


def _gathered_transpose(trace, dst, src, axes, oob_mode):
    """Rows that a list names: gathered into a tile first, and transposed from there."""
    trace_tile = trace.hbm_tensor(src.shape, src.dtype, MemoryRegion.private_hbm, "")
    if oob_mode is bounds.skip:
        # What is left out stays as it is in dst. The orders of axes are their own inverses.
        _transposed(trace, trace_tile, dst, axes, None, (0, 0), None)
    index = src.dynamic.vector
    rows = src.shape[0]
    if index.size != rows:
        refuse("dma_transpose", f"vector_offset has one index for each of the {rows} rows",
               f"shape {index.shape}")
    columns = index.size // index.shape[0]
    for column in range(columns):
        count = index.shape[0]
        part = NkiTensor((count,) + src.shape[1:], src.dtype, src.storage, strides=src.strides,
                         offset=src.offset, dynamic=type(src.dynamic)(
                             src.dynamic.stride, src.dynamic.limit, src.dynamic.dim,
                             vector=index[:, column:column + 1]))
        transfer.indexed(trace, trace_tile[column * count:(column + 1) * count], part, False,
                         oob_mode is bounds.skip)
    return _transposed(trace, dst, trace_tile, axes, None, (0, 0), None)


def dma_compute(dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=bounds.error,
                name=None):
    """dst = the sum of up to 16 sources."""
    trace = current()
    function = "dma_compute"
    srcs = list(srcs)
    oob_mode = member(oob_mode, bounds, "oob_mode", function)
    if operator(reduce_op, function).name != "add":
        refuse(function, "reduce_op is nl.add", reduce_op)
    if scales is not None and any(float(s) != 1.0 for s in scales):
        refuse(function, "scales are 1.0", scales)
    if not 1 <= len(srcs) <= 16:
        refuse(function, "there are 1 to 16 sources", len(srcs))
    for src in srcs:
        _tensors(dst, src, function)
    if dst.storage.slot is not None:
        trace.written(dst.storage)
    if not any(_is_vector(t) for t in [dst] + srcs):
        return transfer.compute(trace, dst, _alike(trace, srcs))
    if len(srcs) != 2:
        refuse(function, "with a vector_offset there are exactly 2 sources", len(srcs))
    if not unique_indices:
        refuse(function, "unique_indices is True with a vector_offset", False)
    skip = oob_mode is bounds.skip
    if _is_vector(dst):
        # A read-modify-write of the rows: the source that is the destination is its old value.
        itself = [src for src in srcs if _same_rows(src, dst)]
        if len(itself) != 1:
            refuse(function, "exactly one of the sources is the destination itself, with the same "
                   "vector_offset", f"{len(itself)} of them")
        other = srcs[1] if srcs[0] is itself[0] else srcs[0]
        if _is_vector(other):
            other = _gathered(trace, dst, other, skip)
        return transfer.indexed(trace, dst, other, True, skip, transfer.ADD, True)
    return transfer.compute(trace, dst, _alike(trace, [
        _gathered(trace, dst, src, skip) if _is_vector(src) else src for src in srcs]))


def _alike(trace, srcs):
    """The sources, or copies in HBM: those of a descriptor have one type and one pattern."""
    kinds = {src.dtype for src in srcs}
    patterns = [transfer.end_of(src, "src", "dma_compute").dims for src in srcs]
    if len(kinds) == 1 and all(pattern == patterns[0] for pattern in patterns):
        return srcs
    kind = kinds.pop() if len(kinds) == 1 else "float32"
    copies = []
    for src in srcs:
        copies.append(trace.hbm_tensor(src.shape, kind, MemoryRegion.private_hbm, ""))
        transfer.copy(trace, copies[-1], src)
    return copies


def _same_rows(a, b):
    """Are they the same rows, of the same list?"""
    if not _is_vector(a) or not _is_vector(b):
        return False
    pairs = [(a, b), (a.dynamic.vector, b.dynamic.vector)]
    return a.dynamic.stride == b.dynamic.stride and all(
        x.storage is y.storage and x.offset == y.offset and x.shape == y.shape and
        x.strides == y.strides and x.dtype == y.dtype for x, y in pairs)


def _gathered(trace, dst, src, skip):
    """The rows that a list names, in a tensor of their own."""
    scratch = trace.hbm_tensor(dst.shape, src.dtype, MemoryRegion.private_hbm, "")
    transfer.indexed(trace, scratch, src, False, skip)
    return scratch
