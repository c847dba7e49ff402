# SPDX-License-Identifier: MIT
"""neuronxcc.nki.isa: instructions that return their results.

Each function clips its operands to its mask, makes the tile of its result with the type that
Beta 1 gives it, and has nki.isa write it.
"""

import numpy as np

from .. import dtypes as _dtypes
from .. import isa
from ..errors import refuse
from ..isa import common
from ..isa.enums import dge_mode, engine, oob_mode, reduce_cmd
from ..language import core
from ..ops import ALL, find
from ..target import get_nc_version
from . import index
from .dtypes import name_of, promoted
from .index import Index, Mask
from .language import common_box, fp32, operand, reduced, tile
from .store import note, nothing, produce, tile_shape
from .tensor import PSUM, SBUF, Tensor

__neuron_emu__ = True

tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, unknown_engine = engine.gpsimd, engine.unknown


def _op(op, function):
    return None if op is None else common.operator(op, function)


def _in_sbuf(view):
    """The view, or a copy of what lies in PSUM, where the engine does not read it."""
    if view.buffer is not PSUM:
        return view
    through = core.ndarray(view.shape, view.dtype)
    isa.tensor_copy(through, view)
    return through


class _Call:
    """The operands of an instruction of which `data` has the shape of the result."""

    def __init__(self, function, data, mask, *others):
        self.function = function
        self.shape = tile(data, "data", function).shape
        tiles = [t for t in (data,) + others if isinstance(t, Tensor)]
        same = [t for t in tiles if t.shape == self.shape]
        self.box = common_box(same, self.shape, mask, function)

    def part(self, t):
        """What the instruction gets of an operand: the same box, or its partitions."""
        if not isinstance(t, Tensor):
            return t
        if t.shape == self.shape or t.ndim == len(self.shape) and all(
                n in (1, m) for n, m in zip(t.shape, self.shape)) and t.shape[0] == self.shape[0]:
            return operand(t, self.shape, self.box, self.function)
        if t.shape[0] == 1 or t.shape[0] != self.shape[0]:
            return t.whole(self.function)
        return t.part([self.box[0]] + [(0, n) for n in t.shape[1:]], self.function)

    def result(self, kind, emit, memory=SBUF):
        """A tile of the shape of `data`."""
        return produce(self.shape, kind, self.box, emit, memory)


def _operand0(call, data, value):
    """A column of FP32, a number, or None: bounds and operands of nki.isa."""
    part = call.part(value)
    if isinstance(value, Tensor) and part.size != part.shape[0]:
        refuse(call.function, "an operand is a number or one element for each partition",
               f"a tile of shape {value.shape}")
    if isinstance(value, Tensor) and part.shape[0] == 1 and data.shape[0] != 1:
        from . import language
        part = language.broadcast_to(Tensor.of(part), shape=(call.box[0][1], 1)).whole()
    return part


def activation(op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
               reduce_cmd=reduce_cmd.idle, mask=None, dtype=None, **kwargs):
    """op(data * scale + bias)"""
    function = "nisa.activation"
    call = _Call(function, data, mask)
    op, reduce_op = _op(op, function), _op(reduce_op, function)
    if reduce_res is not None and reduce_cmd is isa.reduce_cmd.idle:
        reduce_cmd = isa.reduce_cmd.reset_reduce

    def emit(dst):
        isa.activation(dst, op, call.part(data), _operand0(call, data, bias),
                       _operand0(call, data, scale), reduce_op,
                       None if reduce_res is None else call.part(reduce_res), reduce_cmd)

    return call.result(name_of(dtype) or data.kind, emit)


def activation_reduce(op, data, *, reduce_op, reduce_res, bias=None, scale=1.0, mask=None,
                      dtype=None, **kwargs):
    """The same with a reduction of the results to reduce_res."""
    return activation(op, data, bias=bias, scale=scale, reduce_op=reduce_op, reduce_res=reduce_res,
                      reduce_cmd=isa.reduce_cmd.reset_reduce, mask=mask, dtype=dtype)


def affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **kwargs):
    """on_true_tile where the index expressions of `pred` say so, else the number."""
    function = "nisa.affine_select"
    pred = Mask.of(pred)
    call = _Call(function, on_true_tile, mask)
    kind = name_of(dtype) or on_true_tile.kind

    def emit(dst):
        data = _in_sbuf(call.part(on_true_tile))
        for term in pred.terms or (Index((), (), 0),):
            offset, steps = index.fitted(term, call.shape)
            offset += sum(s * a for s, (a, _) in zip(steps, call.box))
            isa.affine_select(dst, [[s, n] for s, (_, n) in zip(steps[1:], call.box[1:])],
                              steps[0], data, on_false_value, find("greater_equal"), offset)
            data = dst

    return call.result(kind, emit)


def bn_stats(data, *, mask=None, dtype=None, **kwargs):
    """Count, mean and variance * count of the even, then of the odd elements: [P, 6]."""
    return _rows("nisa.bn_stats", data, 6, mask, dtype, isa.bn_stats)


def bn_aggr(data, *, mask=None, dtype=None, **kwargs):
    """Mean and variance of such triples: [P, 2]."""
    return _rows("nisa.bn_aggr", data, 2, mask, dtype, isa.bn_aggr)


def _rows(function, data, columns, mask, dtype, run):
    box = tile(data, "data", function).box(mask, function)
    shape = (data.shape[0], columns)
    kind = name_of(dtype) or data.kind
    if box is None:
        return nothing(shape, kind)
    part = data.part(box, function)
    return produce(shape, kind, [box[0], (0, columns)], lambda dst: run(dst, part))


def dma_copy(*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error,
             dge_mode=dge_mode.unknown):
    """dst = src, by DMA."""
    function = "nisa.dma_copy"
    for what, tensor in (("dst", dst), ("src", src)):
        if not isinstance(tensor, Tensor):
            refuse(function, f"{what} is a tensor", type(tensor).__name__)
    if dst_rmw_op is not None and _op(dst_rmw_op, function).name != "add":
        refuse(function, "dst_rmw_op is np.add", dst_rmw_op)
    shape = dst.shape
    if src.shape != shape and src.size != dst.size:
        refuse(function, "dst and src have as many elements", f"shapes {dst.shape} and {src.shape}")
    terms = dst.soft + (src.soft if src.shape == shape else ()) + tuple(
        index.fitted(t, shape) for t in Mask.of(mask).terms)
    for box in index.boxes(terms, shape) if terms else [[(0, n) for n in shape]]:
        into = dst.part(box, function)
        out = src.part(box, function) if src.shape == shape else src.whole(function)
        if dst_rmw_op is not None:
            isa.dma_compute(into, [into, out], ALL["add"], oob_mode=oob_mode)
        else:
            isa.dma_copy(into, out, oob_mode=oob_mode, dge_mode=dge_mode)


def dma_transpose(src, *, axes=None, mask=None, dtype=None, dge_mode=dge_mode.unknown, **kwargs):
    """A tile with the dimensions of src reversed, or in the order `axes`."""
    function = "nisa.dma_transpose"
    box = src.box(mask, function)
    axes = axes or {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(src.ndim)
    if axes is None or len(axes) != src.ndim:
        refuse(function, "axes is (1, 0), (2, 1, 0) or (3, 1, 2, 0)", f"{axes} for {src.shape}")
    shape = tuple(src.shape[a] for a in axes)
    kind = name_of(dtype) or src.kind
    if box is None:
        return nothing(shape, kind)
    part = src.part(box, function)

    def emit(dst):
        if dst.dtype == part.dtype:
            isa.dma_transpose(dst, part, tuple(axes), dge_mode=dge_mode)
            return
        turned = core.ndarray(dst.shape, part.dtype)
        isa.dma_transpose(turned, part, tuple(axes), dge_mode=dge_mode)
        isa.tensor_copy(dst, turned)

    result = produce(shape, kind, [box[a] for a in axes], emit)
    # Its rules for where a tile lies are not those of other instructions.
    result.redo = None
    return result


def dropout(data, prob, *, mask=None, dtype=None, **kwargs):
    """data, but 0 with the probability `prob`."""
    call = _Call("nisa.dropout", data, mask)
    kind = name_of(dtype) or data.kind

    def emit(dst):
        part = call.part(data)
        if dst.dtype != part.dtype and part.dtype in _dtypes.INTEGERS:
            refuse("nisa.dropout", "the result of integers has their type", dst.dtype)
        isa.dropout(dst, part, _operand0(call, data, prob))

    return call.result(kind, emit)


def iota(expr, dtype, *, mask=None, **kwargs):
    """A tile of the numbers of an index expression."""
    function = "nisa.iota"
    expr = Index.of(expr)
    if expr is None:
        refuse(function, "expr is an index expression")
    shape, steps = expr.shape, expr.steps
    if len(shape) < 2:
        shape, steps = (1,) * (2 - len(shape)) + shape, (0,) * (2 - len(shape)) + steps
    found, skew = index.cut([index.fitted(t, shape) for t in Mask.of(mask).terms], shape)
    if skew:
        refuse(function, "the mask leaves a box of the tile", "another shape")
    if found is None:
        return nothing(shape, name_of(dtype))

    def emit(dst):
        offset = expr.offset + sum(s * a for s, (a, _) in zip(steps, found))
        isa.iota(dst, [[s, n] for s, (_, n) in zip(steps[1:], found[1:])], offset, steps[0])

    return produce(shape, name_of(dtype), found, emit)


def local_gather(src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None):
    """In each 16 partitions, the elements that the indices name."""
    function = "nisa.local_gather"
    data, places = src_buffer.whole(function), index.whole(function)
    each = num_valid_indices or places.size // (places.shape[0] // 16)
    shape = (data.shape[0], each, num_elem_per_idx) if num_elem_per_idx != 1 else (
        data.shape[0], each)
    result = produce(shape, data.dtype, [(0, n) for n in shape], lambda dst: isa.local_gather(
        dst, data, places, num_elem_per_idx, num_valid_indices))
    result.redo = None
    return result


def max8(*, src, mask=None, dtype=None, **kwargs):
    """The 8 largest numbers of each partition, descending."""
    return _rows("nisa.max8", src, 8, mask, dtype, isa.max8)


def memset(shape, value, dtype, *, mask=None, engine=engine.unknown, **kwargs):
    """A tile of one number."""
    shape = tile_shape(int(n) for n in shape)
    found, skew = index.cut([index.fitted(t, shape) for t in Mask.of(mask).terms], shape)
    if skew:
        refuse("nisa.memset", "the mask leaves a box of the tile", "another shape")
    return produce(shape, name_of(dtype), found, lambda dst: isa.memset(dst, value, engine))


def nc_find_index8(*, data, vals, mask=None, dtype=None, **kwargs):
    """Where the 8 numbers are."""
    function = "nisa.nc_find_index8"
    return _rows(function, data, 8, mask, dtype or np.uint32, lambda dst, part: isa.nc_find_index8(
        dst, part, vals.whole(function)))


def nc_match_replace8(*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **kwargs):
    """data with `imm` in place of the 8 values, whose places go to dst_idx."""
    call = _Call("nisa.nc_match_replace8", data, mask)
    places = None if dst_idx is None else call.part(dst_idx)
    return call.result(name_of(dtype) or data.kind, lambda dst: isa.nc_match_replace8(
        dst, call.part(data), call.part(vals), imm, places))


def nc_matmul(stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, tile_position=(), tile_size=(), mask=None, perf_mode=None,
              **kwargs):
    """stationary^T @ moving, in PSUM."""
    function = "nisa.nc_matmul"
    tile(stationary, "stationary", function)
    tile(moving, "moving", function)
    double = str(getattr(perf_mode, "name", perf_mode)).startswith("double_row")
    box = _product_box(stationary, moving, mask, function)
    free = stationary.shape[2:] if double else stationary.shape[1:]
    columns = moving.shape[2:] if double else moving.shape[1:]
    rows = 1
    for n in free:
        rows *= n
    shape = (rows,) + columns
    kind = "float32"
    if is_transpose and current_generation() > 2:
        kind = stationary.kind
    if box is None:
        return nothing(shape, kind, PSUM)
    left, right = (_in_sbuf(t.part(b, function)) for t, b in zip((stationary, moving), box))
    if is_transpose and left.dtype != right.dtype:
        cast = core.ndarray(right.shape, left.dtype)
        isa.tensor_copy(cast, right)
        right = cast
    options = {"is_stationary_onezero": is_stationary_onezero,
               "is_moving_onezero": is_moving_onezero, "is_transpose": is_transpose,
               "tile_position": tuple(tile_position), "tile_size": tuple(tile_size)}
    if double:
        options["perf_mode"] = isa.matmul_perf_mode.double_row
    kept = [box[0][1]] if len(free) == 1 else [(0, rows)]
    kept += box[1][2:] if double else box[1][1:]
    if double:
        kept[0] = (0, rows)

    def write(dst, accumulate):
        isa.nc_matmul(dst, left, right, accumulate=accumulate, **options)

    return produce(shape, kind, kept, lambda dst: write(dst, False), PSUM,
                   None if is_transpose else write)


def current_generation():
    """That of the kernel."""
    return get_nc_version().value


def _product_box(stationary, moving, mask, function):
    """(box of stationary, box of moving), or None. A mask is on the contraction and on what is
    left of it: dimension 0 the partitions, 1 the free one of stationary, 2 that of moving."""
    terms = Mask.of(mask).terms
    constant = [t for t in terms if t.constant() is not None]
    if any(t.offset < 0 for t in constant):
        return None
    boxes = [t.box(None, function) for t in (stationary, moving)]
    if None in boxes:
        return None
    for term in terms:
        if term in constant:
            continue
        refuse(function, "a mask of a product is a constant, or given to its operands, as in "
               "nl.matmul(x[i < n], y[j < m])", term)
    low = max(boxes[0][0][0], boxes[1][0][0])
    high = min(sum(boxes[0][0]), sum(boxes[1][0]))
    if low >= high:
        return None
    for box in boxes:
        box[0] = (low, high - low)
    return boxes


def nc_stream_shuffle(src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs):
    """Partition i of dst = partition shuffle_mask[i % 32] of the same 32 of src."""
    function = "nisa.nc_stream_shuffle"
    box = dst.box(mask, function)
    if box is None:
        return
    note(dst.part(box, function))
    isa.nc_stream_shuffle(dst.part(box, function), src.whole(function),
                          [int(m) for m in shuffle_mask])


def _transpose_bytes(dst, part):
    """The tensor engine makes numbers of 16 bits of those of 8, with a zero upper half."""
    numbers = core.ndarray(dst.shape, "uint16", PSUM)
    isa.nc_transpose(numbers, part, isa.engine.tensor)
    same = dst.dtype == part.dtype
    into = dst if same else core.ndarray(dst.shape, part.dtype, SBUF)
    isa.tensor_copy(into.view("uint8"), numbers)
    if not same:
        isa.tensor_copy(dst, into)


def nc_transpose(data, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """A tile with partitions and elements exchanged."""
    function = "nisa.nc_transpose"
    box = tile(data, "data", function).box(mask, function)
    free = 1
    for n in data.shape[1:]:
        free *= n
    shape = (free, data.shape[0])
    kind = name_of(dtype) or data.kind
    small = free <= 32 and data.shape[0] <= 32
    on_vector = engine is isa.engine.vector or engine is not isa.engine.tensor and small
    byte = not on_vector and _dtypes.SIZE[data.kind] == 1
    # On NeuronCore-v2 a transposition is a product, and its numbers get the type of data.
    wide = byte and get_nc_version().value > 2
    memory = SBUF if on_vector or wide else PSUM
    if box is None:
        return nothing(shape, kind, memory)
    part = data.part(box, function)
    kept = [box[1] if data.ndim == 2 else (0, free), box[0]]
    part = part if on_vector else _in_sbuf(part)

    def emit(dst):
        if wide:
            _transpose_bytes(dst, part)
            return
        direct = dst.dtype == part.dtype and (on_vector or dst.buffer is PSUM)
        into = dst if direct else core.ndarray(
            dst.shape, part.dtype, SBUF if on_vector else PSUM)
        isa.nc_transpose(into, part, isa.engine.vector if on_vector else isa.engine.tensor)
        if into is not dst:
            isa.tensor_copy(dst, into)

    return produce(shape, kind, kept, emit, memory)


def range_select(*, on_true_tile, comp_op0, comp_op1, bound0, bound1,
                 reduce_cmd=reduce_cmd.idle, reduce_res=None, reduce_op=np.amax, range_start=0,
                 on_false_value=fp32.min, mask=None, dtype=None, **kwargs):
    """on_true_tile where the place in the row is in a range, else the least FP32 number."""
    function = "nisa.range_select"
    call = _Call(function, on_true_tile, mask)
    op0, op1, reduce_op = (_op(op, function) for op in (comp_op0, comp_op1, reduce_op))

    def emit(dst):
        isa.range_select(dst, call.part(on_true_tile), op0, op1, call.part(bound0),
                         call.part(bound1), reduce_cmd,
                         None if reduce_res is None else call.part(reduce_res), reduce_op,
                         range_start, on_false_value)

    return call.result(name_of(dtype) or on_true_tile.kind, emit)


def reciprocal(data, *, dtype=None, mask=None, **kwargs):
    """1 / data"""
    call = _Call("nisa.reciprocal", data, mask)
    return call.result(name_of(dtype) or data.kind, lambda dst: isa.reciprocal(
        dst, call.part(data)))


def scalar_tensor_tensor(*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
                         dtype=None, mask=None, **kwargs):
    """(data op0 operand0) op1 operand1, of which operand1 is a tile."""
    function = "nisa.scalar_tensor_tensor"
    call = _Call(function, data, mask, operand1)
    op0, op1 = _op(op0, function), _op(op1, function)
    return call.result(name_of(dtype) or data.kind, lambda dst: isa.scalar_tensor_tensor(
        dst, call.part(data), op0, _operand0(call, data, operand0), op1, call.part(operand1),
        reverse0, reverse1))


def select_reduce(*, dst, predicate, on_true, on_false, reduce_res=None,
                  reduce_cmd=reduce_cmd.idle, reduce_op=np.amax, reverse_pred=False, mask=None,
                  dtype=None, **kwargs):
    """dst = predicate ? on_true : on_false, and the greatest of it."""
    function = "nisa.select_reduce"
    call = _Call(function, dst, mask, predicate, on_true)
    if call.box is None:
        return
    note(call.part(dst))
    isa.select_reduce(call.part(dst), call.part(predicate), call.part(on_true),
                      _operand0(call, dst, on_false),
                      None if reduce_res is None else call.part(reduce_res), reduce_cmd,
                      _op(reduce_op, function), reverse_pred)


def sequence_bounds(*, segment_ids, dtype=None):
    """Where the segment of each element begins and ends: [1, 2, n]."""
    function = "nisa.sequence_bounds"
    data = segment_ids.whole(function)
    shape = (data.shape[0], 2, data.size // data.shape[0])
    return produce(shape, name_of(dtype) or data.dtype, [(0, n) for n in shape],
                   lambda dst: isa.sequence_bounds(dst, data))


def tensor_copy(src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """A copy of a tile."""
    call = _Call("nisa.tensor_copy", src, mask)
    return call.result(name_of(dtype) or src.kind, lambda dst: isa.tensor_copy(
        dst, call.part(src), engine))


def tensor_copy_dynamic_src(src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """A copy of a part that a number in SBUF chooses."""
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine)


def tensor_copy_dynamic_dst(*, dst, src, mask=None, dtype=None, engine=engine.unknown, **kwargs):
    """A copy to a part that a number in SBUF chooses."""
    function = "nisa.tensor_copy_dynamic_dst"
    box = dst.box(mask, function)
    if box is not None:
        note(dst.part(box, function))
        isa.tensor_copy(dst.part(box, function), src.part(box, function), engine)


def tensor_copy_predicated(*, src, dst, predicate, reverse_pred=False, mask=None, dtype=None,
                           **kwargs):
    """dst = src, a tile or a number, where the predicate is true."""
    function = "nisa.tensor_copy_predicated"
    call = _Call(function, dst, mask, predicate, src)
    if call.box is not None:
        note(call.part(dst))
        isa.tensor_copy_predicated(call.part(dst), call.part(src), call.part(predicate),
                                   reverse_pred)


def tensor_partition_reduce(op, data, *, mask=None, dtype=None, **kwargs):
    """The reduction of data over its partitions: [1, F]."""
    function = "nisa.tensor_partition_reduce"
    box = tile(data, "data", function).box(mask, function)
    shape = (1,) + data.shape[1:]
    kind = name_of(dtype) or data.kind
    if box is None:
        return nothing(shape, kind)
    part, op = data.part(box, function), _op(op, function)
    return produce(shape, kind, [(0, 1)] + box[1:], lambda dst: isa.tensor_partition_reduce(
        dst, op, part))


def tensor_reduce(op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False,
                  **kwargs):
    """The reduction of data over free dimensions."""
    from .language import reduction
    op = _op(op, "nisa.tensor_reduce")

    def run(dst, part, count, kind):
        axes = tuple(range(part.ndim - count, part.ndim))
        isa.tensor_reduce(dst, op, part, axes, negate)

    reduced(data, axis, "nisa.tensor_reduce")
    return reduction("tensor_reduce", data, axis, dtype, mask, keepdims, run)


def tensor_scalar(data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *,
                  dtype=None, mask=None, engine=engine.unknown, **kwargs):
    """(data op0 operand0) op1 operand1"""
    function = "nisa.tensor_scalar"
    call = _Call(function, data, mask)
    op0, op1 = _op(op0, function), _op(op1, function)

    def emit(dst):
        isa.tensor_scalar(dst, call.part(data), op0, _operand0(call, data, operand0), reverse0,
                          op1, _operand0(call, data, operand1), reverse1, engine)

    return call.result(name_of(dtype) or data.kind, emit)


def tensor_scalar_reduce(*, data, op0, operand0, reduce_op, reduce_res, reverse0=False,
                         dtype=None, mask=None, **kwargs):
    """data op0 operand0, and a reduction of it to reduce_res."""
    function = "nisa.tensor_scalar_reduce"
    call = _Call(function, data, mask)
    op0, reduce_op = _op(op0, function), _op(reduce_op, function)
    return call.result(name_of(dtype) or data.kind, lambda dst: isa.tensor_scalar_reduce(
        dst, call.part(data), op0, _operand0(call, data, operand0), reduce_op,
        call.part(reduce_res), reverse0))


def tensor_tensor(data1, data2, op, *, dtype=None, mask=None, engine=engine.unknown, **kwargs):
    """data1 op data2"""
    function = "nisa.tensor_tensor"
    call = _Call(function, data1, mask, data2)
    op = _op(op, function)
    kind = name_of(dtype) or promoted(data1.kind, data2.kind)

    def emit(dst):
        x, y = call.part(data1), call.part(data2)
        if x.shape != y.shape:
            from ..language import elementwise
            y = elementwise.broadcast(y, x.shape, function)
        isa.tensor_tensor(dst, x, y, op, engine)

    return call.result(kind, emit)


def tensor_scalar_cumulative(*, src, dst, op0, op1, imm0, imm1=None,
                             reduce_cmd=reduce_cmd.reset_reduce, mask=None, dtype=None, **kwargs):
    """dst = a running op1 over src op0 imm0; imm1 is what it begins with."""
    function = "nisa.tensor_scalar_cumulative"
    call = _Call(function, dst, mask, src)
    if call.box is None:
        return
    note(call.part(dst))
    isa.tensor_scalar_cumulative(
        call.part(dst), call.part(src), _op(op0, function), _op(op1, function),
        _operand0(call, dst, imm0), None if imm1 is None else _operand0(call, dst, imm1),
        reduce_cmd)


def tensor_tensor_scan(data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *,
                       dtype=None, mask=None, **kwargs):
    """result[i] = (data0[i] op0 result[i - 1]) op1 data1[i], from `initial` on."""
    function = "nisa.tensor_tensor_scan"
    call = _Call(function, data0, mask, data1)
    op0, op1 = _op(op0, function), _op(op1, function)
    kind = name_of(dtype) or promoted(data0.kind, data1.kind)
    return call.result(kind, lambda dst: isa.tensor_tensor_scan(
        dst, call.part(data0), call.part(data1), _operand0(call, data0, initial), op0, op1,
        reverse0, reverse1))
