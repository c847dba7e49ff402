# SPDX-License-Identifier: MIT
"""Functions of nki.isa for the vector and the scalar engine."""

from ..builder import value
from ..dtypes import canonical
from ..errors import refuse
from ..ops import Op, find
from ..tensor import NkiTensor, merge_dims
from ..trace import GPSIMD, NO_ARGS, SCALAR, VECTOR, body, current
from . import common
from .common import (BYPASS, Known, NEGATE, NO_OPERAND, NUMBER, PSUM, REDUCE, REVERSE0, REVERSE1,
                     act, alu, chosen, float_bits, is_bitwise, is_unary, member, needs, packed,
                     same, scalar)
from .enums import engine as engines
from .enums import reduce_cmd as commands
from .wide import wide_args

__neuron_emu__ = True

_F = {name: value("function", name) for name in (
    "activation", "activate2", "acc_read", "acc_load", "tensor_tensor", "tensor_scalar",
    "tensor_scalar_cumulative", "scalar_tensor_tensor", "tensor_tensor_scan", "tensor_reduce",
    "tensor_copy", "tensor_copy_predicated", "fill_predicated", "memset", "reciprocal",
    "exponential", "bn_stats", "bn_aggr", "range_select", "select_reduce", "max8",
    "nc_find_index8", "nc_match_replace8", "nc_stream_shuffle", "quantize_mx")}
_TENSOR_TENSOR = _F["tensor_tensor"]
_TENSOR_SCALAR = _F["tensor_scalar"]
_TENSOR_COPY = _F["tensor_copy"]
_ACTIVATION = _F["activation"]
_INT32 = ("int32", "uint32")
_ONLY_VECTOR = (VECTOR,)
_VECTOR_GPSIMD = (VECTOR, GPSIMD)
_ALL_THREE = (VECTOR, SCALAR, GPSIMD)
_POWER = value("alu", "power")
_maximum = find("maximum")
_equal = find("equal")
# Operands that are in the record itself.
_NUMBERS = frozenset((int, float, type(None)))
_OPERATORS = frozenset((Op, type(None)))
_known_scalars, _known_activations = Known(), Known()
_plain = {}
_NOTHING = body()


def _accumulators(trace, engine, result, function, negate=False):
    """The accumulators to a tile of one element for each partition."""
    if result.size != result.shape[0]:
        refuse(function, "reduce_res has one element for each partition",
               f"shape {result.shape}")
    return trace.add(_F["acc_read"], engine, (packed(result, "reduce_res", function, engine),),
                     flags=NEGATE if negate else 0)


def tensor_tensor(dst, data1, data2, op, engine=engines.unknown, name=None):
    """dst = data1 op data2."""
    trace = current()
    code = alu(op, "tensor_tensor")
    same(dst, data1, "dst", "data1", "tensor_tensor")
    same(data1, data2, "data1", "data2", "tensor_tensor")
    number = VECTOR
    if engine is not engines.unknown:
        number = chosen(engine, VECTOR, "tensor_tensor", _VECTOR_GPSIMD)
    elif code == _POWER or dst.dtype in _INT32 and _is_wide(op, dst, data1, data2):
        number = GPSIMD
    rest = _plain.get(code) or _plain.setdefault(code, body(code))
    return trace.put(_TENSOR_TENSOR, number, 3, rest, 0, (
        packed(dst, "dst", "tensor_tensor", number),
        packed(data1, "data1", "tensor_tensor", number),
        packed(data2, "data2", "tensor_tensor", number)))


def _is_wide(op, *tiles):
    """Is it arithmetic of 32-bit integers, in SBUF?"""
    return all(tile.dtype in _INT32 for tile in tiles) and not any(
        tile.buffer is PSUM for tile in tiles) and not is_bitwise(op)


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None,
                  reverse1=False, engine=engines.unknown, name=None):
    """dst = (data op0 operand0) op1 operand1."""
    trace = current()
    function = "tensor_scalar"
    same(dst, data, "dst", "data", function)
    flags = (REVERSE0 if reverse0 else 0) | (REVERSE1 if reverse1 else 0)
    key = (op0, operand0 or repr(operand0), flags, op1, operand1 or repr(operand1)) if (
        engine is engines.unknown and operand0.__class__ in _NUMBERS and
        operand1.__class__ in _NUMBERS and op0.__class__ is Op and
        op1.__class__ in _OPERATORS) else None
    number, columns, rest = _known_scalars.get(key) or _known_scalars.keep(
        key, _scalars(op0, operand0, op1, operand1, engine))
    return trace.put(_TENSOR_SCALAR, number, 2 + len(columns), rest, flags, (
        packed(dst, "dst", function, number), packed(data, "data", function, number)) + columns)


def _scalars(op0, operand0, op1, operand1, engine):
    """(engine, packed columns, what else the record has) of tensor_scalar."""
    function = "tensor_scalar"
    code0 = alu(op0, function)
    bitwise = is_bitwise(op0)
    if op1 is not None and is_bitwise(op1) != bitwise:
        refuse(function, "op0 and op1 are both bitwise or both arithmetic operators",
               f"{op0!r} and {op1!r}")
    code1 = BYPASS if op1 is None else alu(op1, function)
    # Only unary operators of GpSimd: rsqrt.
    number = chosen(engine, VECTOR, function, _ALL_THREE)
    k0, n0, column0 = (NO_OPERAND, 0, ()) if is_unary(op0) else scalar(operand0, "operand0",
                                                                      function, number, bitwise)
    k1, n1, column1 = (NO_OPERAND, 0, ()) if op1 is None or is_unary(op1) else scalar(
        operand1, "operand1", function, number, bitwise)
    return number, column0 + column1, body(code0, code1, kinds=(k0, k1, 0), numbers=(n0, n1, 0))


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False,
                         name=None):
    """dst = (data op0 operand0) op1 operand1, of which operand1 is a tile."""
    trace = current()
    function = "scalar_tensor_tensor"
    same(dst, data, "dst", "data", function)
    same(dst, operand1, "dst", "operand1", function)
    k0, n0, column = (NO_OPERAND, 0, ()) if is_unary(op0) else scalar(operand0, "operand0",
                                                                     function, VECTOR)
    flags = (REVERSE0 if reverse0 else 0) | (REVERSE1 if reverse1 else 0)
    return trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(data, "data", function, VECTOR),
        packed(operand1, "operand1", function, VECTOR)) + column,
        alu(op0, function), alu(op1, function), flags=flags, kinds=(k0, 0, 0),
        numbers=(n0, 0, 0))


def tensor_scalar_reduce(dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False,
                         reduce_cmd=commands.reset_reduce, reduce_init=None,
                         reduce_res_negate=False, name=None):
    """dst = data op0 operand0, and a reduction of it along the free dimensions."""
    trace = current()
    function = "tensor_scalar_reduce"
    same(dst, data, "dst", "data", function)
    if reverse0:
        refuse(function, "reverse0 is not supported", True)
    command, start = _command(trace, reduce_cmd, reduce_init, VECTOR, function)
    k0, n0, column = (NO_OPERAND, 0, ()) if is_unary(op0) else scalar(operand0, "operand0",
                                                                     function, VECTOR)
    result = trace.add(_F["tensor_scalar"], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(data, "data", function, VECTOR)) + column,
        alu(op0, function), BYPASS, alu(reduce_op, function), command, kinds=(k0, 0, 0),
        numbers=(n0, 0, start))
    if reduce_res is not None:
        result = _accumulators(trace, VECTOR, reduce_res, function, reduce_res_negate)
    return result


def _command(trace, command, start, engine, function):
    """(how the accumulators begin, bits of a number that they begin with)."""
    command = member(command, commands, "reduce_cmd", function)
    if command is not commands.load_reduce:
        return REDUCE[command], 0
    if isinstance(start, NkiTensor):
        trace.add(_F["acc_load"], engine, (packed(start, "reduce_init", function, engine),))
        return REDUCE[commands.reduce], 0
    if start is None:
        refuse(function, "reduce_cmd=load_reduce needs the number or tile to begin with")
    return REDUCE[command], float_bits(float(start))


def tensor_scalar_cumulative(dst, src, op0, op1, imm0, imm1=None,
                             reduce_cmd=commands.reset_reduce, name=None):
    """Running op1 over src op0 imm0: dst holds the value after each element."""
    trace = current()
    function = "tensor_scalar_cumulative"
    same(dst, src, "dst", "src", function)
    command, start = _command(trace, reduce_cmd, imm1, VECTOR, function)
    k0, n0, column = scalar(imm0, "imm0", function, VECTOR)
    return trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(src, "src", function, VECTOR)) + column,
        alu(op0, function), 0, alu(op1, function), command, kinds=(k0, 0, 0),
        numbers=(n0, 0, start))


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False,
                       name=None):
    """dst[i] = (data0[i] op0 dst[i - 1]) op1 data1[i], from `initial` on."""
    trace = current()
    function = "tensor_tensor_scan"
    same(dst, data0, "dst", "data0", function)
    same(dst, data1, "dst", "data1", function)
    k0, n0, column = scalar(initial, "initial", function, VECTOR)
    flags = (REVERSE0 if reverse0 else 0) | (REVERSE1 if reverse1 else 0)
    return trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(data0, "data0", function, VECTOR),
        packed(data1, "data1", function, VECTOR)) + column,
        alu(op0, function), alu(op1, function), flags=flags, kinds=(k0, 0, 0),
        numbers=(n0, 0, 0))


def _axes(axis, ndim, function):
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(sorted(a + ndim if a < 0 else a for a in axes))
    if not axes or axes != tuple(range(ndim - len(axes), ndim)) or axes[0] < 1:
        refuse(function, f"axis names the last free dimensions, up to {ndim - 1}", axis,
               "permute the tile so that the reduced dimensions are the last ones")
    return len(axes)


def tensor_reduce(dst, op, data, axis, negate=False, keepdims=False, name=None):
    """dst = the reduction of data over its last free dimensions."""
    trace = current()
    function = "tensor_reduce"
    count = _axes(axis, len(data.shape), function)
    keep = len(data.shape) - count
    inner = merge_dims(zip(data.shape[:keep - 1:-1], data.strides[:keep - 1:-1]))
    outer = merge_dims(zip(data.shape[keep - 1:0:-1], data.strides[keep - 1:0:-1]))
    kept = dst.size // dst.shape[0]
    wanted = 1
    for n in data.shape[1:keep]:
        wanted *= n
    if dst.shape[0] != data.shape[0] or kept != wanted:
        refuse(function, f"dst has {data.shape[0]} partitions with {wanted} elements each",
               f"shape {dst.shape}")
    if outer == [(1, 1)]:
        outer = []
    return trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR),
        packed(data, "data", function, VECTOR, None, inner + outer)), alu(op, function),
        flags=NEGATE if negate else 0, args=(len(inner), 0, 0, 0, 0, 0, 0, 0))


def tensor_copy(dst, src, engine=engines.unknown, name=None, dtype=None):
    """dst = src. Kernels for NKI before 0.6.0 name the type of dst once more."""
    trace = current()
    same(dst, src, "dst", "src", "tensor_copy")
    if dtype is not None and canonical(dtype) != dst.dtype:
        refuse("tensor_copy", f"dtype is the type of dst, {dst.dtype}", canonical(dtype))
    if engine is engines.unknown:
        number = VECTOR
        # The scalar engine of v2 converts by way of FP32; of later ones it copies bits as well.
        if trace.generation > 2:
            trace.copies += 1
            if trace.copies & 1 and dst.index is None and src.index is None:
                number = SCALAR
    else:
        number = chosen(engine, VECTOR, "tensor_copy", _ALL_THREE)
    return trace.put(_TENSOR_COPY, number, 2, _NOTHING, 0, (
        packed(dst, "dst", "tensor_copy", number), packed(src, "src", "tensor_copy", number)))


def tensor_copy_predicated(dst, src, predicate, reverse_pred=False, name=None):
    """dst = src, a tile or a number, where the predicate is true."""
    trace = current()
    function = "tensor_copy_predicated"
    same(dst, predicate, "dst", "predicate", function)
    if predicate.dtype not in ("uint8", "uint16", "uint32", "bool"):
        refuse(function, "predicate is uint8, uint16 or uint32", predicate.dtype)
    flags = REVERSE0 if reverse_pred else 0
    if isinstance(src, NkiTensor):
        same(dst, src, "dst", "src", function)
        return trace.add(_F[function], VECTOR, (
            packed(dst, "dst", function, VECTOR), packed(src, "src", function, VECTOR),
            packed(predicate, "predicate", function, VECTOR)), flags=flags)
    return trace.add(_F["fill_predicated"], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(predicate, "predicate", function, VECTOR)),
        flags=flags, args=wide_args(src, function))


# What a packed type is called for a fill with zeros.
_ZEROS = {"float8_e4m3fn_x4": "uint32", "float8_e5m2_x4": "uint32", "float4_e2m1fn_x4": "uint16",
          "float8_e8m0fnu": "uint8"}


def memset(dst, value, engine=engines.unknown, name=None):
    """All elements = value."""
    trace = current()
    number = chosen(engine, VECTOR if dst.buffer is PSUM else GPSIMD, "memset", _VECTOR_GPSIMD)
    other = _ZEROS.get(dst.dtype)
    if other:
        if value != 0 and dst.dtype != "float8_e8m0fnu":
            refuse("memset", f"a tile of {dst.dtype} is filled with 0", value)
        dst = dst.view(other)
    return trace.add(_F["memset"], number, (packed(dst, "dst", "memset", number),),
                     args=wide_args(value, "memset"))


def reciprocal(dst, data, name=None):
    """dst = 1 / data."""
    same(dst, data, "dst", "data", "reciprocal")
    return current().add(_F["reciprocal"], VECTOR, (
        packed(dst, "dst", "reciprocal", VECTOR), packed(data, "data", "reciprocal", VECTOR)))


def _activation(dst, op, data, bias, scale, reduce_op, reduce_res, command, function):
    trace = current()
    command = member(command, commands, "reduce_cmd", function)
    same(dst, data, "dst", "data", function)
    key = (op, scale or repr(scale), bias or repr(bias), reduce_op, command) if (
        scale.__class__ in _NUMBERS and bias.__class__ in _NUMBERS and op.__class__ is Op and
        reduce_op.__class__ in _OPERATORS) else None
    columns, rest = _known_activations.get(key) or _known_activations.keep(
        key, _activated(op, scale, bias, reduce_op, command, function))
    result = trace.put(_ACTIVATION, SCALAR, 2 + len(columns), rest, 0, (
        packed(dst, "dst", function, SCALAR), packed(data, "data", function, SCALAR)) + columns)
    if reduce_res is not None:
        result = _accumulators(trace, SCALAR, reduce_res, function)
    return result


def _activated(op, scale, bias, reduce_op, command, function):
    """(packed columns, what else the record has) of an activation."""
    k0, n0, column0 = scalar(scale, "scale", function, SCALAR)
    k1, n1, column1 = scalar(0.0 if bias is None else bias, "bias", function, SCALAR)
    if reduce_op is None and command is not commands.idle:
        refuse(function, "reduce_cmd needs a reduce_op", command.name)
    reduce = BYPASS if reduce_op is None or command is commands.idle else alu(reduce_op, function)
    return column0 + column1, body(act(op, function), 0, reduce, REDUCE[command], (k0, k1, 0),
                                   (n0, n1, 0))


def activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None,
               reduce_cmd=commands.idle, name=None):
    """dst = op(data * scale + bias)."""
    return _activation(dst, op, data, bias, scale, reduce_op, reduce_res, reduce_cmd, "activation")


def activation_reduce(dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None):
    """The same with a reduction of the results to reduce_res."""
    return _activation(dst, op, data, bias, scale, reduce_op, reduce_res, commands.reset_reduce,
                       "activation_reduce")


def activate2(dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False,
              reduce_op=None, reduce_res=None, reduce_cmd=commands.idle, name=None):
    """dst = op((data op0 imm0) op1 imm1)."""
    trace = current()
    function = "activate2"
    needs(trace, 4, function)
    same(dst, data, "dst", "data", function)
    code0 = BYPASS if op0 is None else alu(op0, function)
    code1 = BYPASS if op1 is None else alu(op1, function)
    k0, n0, column0 = (NO_OPERAND, 0, ()) if code0 == BYPASS else scalar(
        imm0, "imm0", function, SCALAR)
    k1, n1, column1 = (NO_OPERAND, 0, ()) if code1 == BYPASS else scalar(
        imm1, "imm1", function, SCALAR)
    k2, n2, column2 = scalar(relu_param, "relu_param", function, SCALAR)
    flags = (REVERSE0 if reverse0 else 0) | (REVERSE1 if reverse1 else 0)
    reduce = BYPASS if reduce_op is None or reduce_cmd is commands.idle else alu(reduce_op,
                                                                                function)
    result = trace.add(_F[function], SCALAR, (
        packed(dst, "dst", function, SCALAR), packed(data, "data", function, SCALAR)) +
        column0 + column1 + column2, code0, code1, reduce, REDUCE[reduce_cmd], flags,
        (k0, k1, k2), (n0, n1, n2), (act(op, function), 0, 0, 0, 0, 0, 0, 0))
    if reduce_res is not None:
        result = _accumulators(trace, SCALAR, reduce_res, function)
    return result


def exponential(dst, src, max_value=0.0, reduce_res=None, reduce_cmd=commands.idle,
                reduce_init=0.0, name=None):
    """dst = exp(src - max_value), and the sum of it."""
    trace = current()
    function = "exponential"
    needs(trace, 4, function)
    same(dst, src, "dst", "src", function)
    command, start = _command(trace, reduce_cmd, reduce_init, VECTOR, function)
    k0, n0, column = scalar(max_value, "max_value", function, VECTOR)
    reduce = BYPASS if reduce_cmd is commands.idle else value("alu", "add")
    result = trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(src, "src", function, VECTOR)) + column,
        0, 0, reduce, command, kinds=(k0, 0, 0), numbers=(n0, 0, start))
    if reduce_res is not None:
        result = _accumulators(trace, VECTOR, reduce_res, function)
    return result


def bn_stats(dst, data, name=None):
    """dst [P, 6] = count, mean, variance * count of the even, then of the odd elements."""
    return current().add(_F["bn_stats"], VECTOR, (
        packed(dst, "dst", "bn_stats", VECTOR), packed(data, "data", "bn_stats", VECTOR)))


def bn_aggr(dst, data, name=None):
    """dst [P, 2] = mean and variance of such triples."""
    return current().add(_F["bn_aggr"], VECTOR, (
        packed(dst, "dst", "bn_aggr", VECTOR), packed(data, "data", "bn_aggr", VECTOR)))


def range_select(dst, on_true_tile, comp_op0, comp_op1, bound0, bound1,
                 reduce_cmd=commands.reset_reduce, reduce_res=None, reduce_op=_maximum,
                 range_start=0, on_false_value=None, name=None):
    """dst = on_true_tile where the index is in a range, else the least FP32 number."""
    trace = current()
    function = "range_select"
    needs(trace, 3, function)
    same(dst, on_true_tile, "dst", "on_true_tile", function)
    if on_false_value is not None and not float(on_false_value) <= -3.4e38:
        refuse(function, "on_false_value is the least FP32 number", on_false_value)
    k0, n0, column0 = scalar(bound0, "bound0", function, VECTOR)
    k1, n1, column1 = scalar(bound1, "bound1", function, VECTOR)
    command = REDUCE[reduce_cmd]
    reduce = BYPASS if reduce_cmd is commands.idle else alu(reduce_op, function)
    result = trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR),
        packed(on_true_tile, "on_true_tile", function, VECTOR)) + column0 + column1,
        alu(comp_op0, function), alu(comp_op1, function), reduce, command, kinds=(k0, k1, 0),
        numbers=(n0, n1, 0), args=(int(range_start), 0, 0, 0, 0, 0, 0, 0))
    if reduce_res is not None:
        result = _accumulators(trace, VECTOR, reduce_res, function)
    return result


def select_reduce(dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=commands.idle,
                  reduce_op=_maximum, reverse_pred=False, name=None):
    """dst = predicate ? on_true : on_false, and the greatest of it."""
    trace = current()
    function = "select_reduce"
    same(dst, predicate, "dst", "predicate", function)
    same(dst, on_true, "dst", "on_true", function)
    k0, n0, column = scalar(on_false, "on_false", function, VECTOR)
    reduce = BYPASS if reduce_cmd is commands.idle else alu(reduce_op, function)
    result = trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(on_true, "on_true", function, VECTOR),
        packed(predicate, "predicate", function, VECTOR)) + column,
        0, 0, reduce, REDUCE[reduce_cmd], REVERSE0 if reverse_pred else 0, (k0, 0, 0),
        (n0, 0, 0))
    if reduce_res is not None:
        result = _accumulators(trace, VECTOR, reduce_res, function)
    return result


def max8(dst, src, name=None):
    """dst [P, 8] = the largest of each partition, descending."""
    return current().add(_F["max8"], VECTOR, (
        packed(dst, "dst", "max8", VECTOR), packed(src, "src", "max8", VECTOR)))


def nc_find_index8(dst, data, vals, name=None):
    """dst [P, 8] = where the 8 values are."""
    return current().add(_F["nc_find_index8"], VECTOR, (
        packed(dst, "dst", "nc_find_index8", VECTOR),
        packed(data, "data", "nc_find_index8", VECTOR),
        packed(vals, "vals", "nc_find_index8", VECTOR)))


def nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None):
    """dst = data with `imm` in place of the 8 values, whose places go to dst_idx."""
    function = "nc_match_replace8"
    same(dst, data, "dst", "data", function)
    operands = (packed(dst, "dst", function, VECTOR), packed(data, "data", function, VECTOR),
                packed(vals, "vals", function, VECTOR))
    if dst_idx is not None:
        operands += (packed(dst_idx, "dst_idx", function, VECTOR),)
    return current().add(_F[function], VECTOR, operands, kinds=(NUMBER, 0, 0),
                         numbers=(float_bits(float(imm)), 0, 0))


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    """Partition i of dst = partition shuffle_mask[i % 32] of the same 32 of src."""
    function = "nc_stream_shuffle"
    mask = [int(m) for m in shuffle_mask]
    if len(mask) != 32 or any(not (0 <= m < 32 or m == 255) for m in mask):
        refuse(function, "shuffle_mask has 32 numbers from 0 to 31, or 255", shuffle_mask)
    words = tuple(int.from_bytes(bytes(mask[i:i + 4]), "little", signed=True)
                  for i in range(0, 32, 4))
    return current().add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR), packed(src, "src", function, VECTOR)), args=words)


def quantize_mx(dst, src, dst_scale, name=None):
    """dst (packed) and dst_scale = src in MX format."""
    trace = current()
    function = "quantize_mx"
    needs(trace, 4, function)
    return trace.add(_F[function], VECTOR, (
        packed(dst, "dst", function, VECTOR, common.SBUF),
        packed(src, "src", function, VECTOR, common.SBUF),
        packed(dst_scale, "dst_scale", function, VECTOR, common.SBUF)), args=NO_ARGS)
