# SPDX-License-Identifier: MIT
"""Functions of nki.language that compute each element by itself.

A function makes a new tile in SBUF. Importing this file connects each operator, such as nl.add,
with the function that computes it. Where the chip has no instruction for a function, a sequence
computes it; the page of nki.language in the manual states its error.
"""

import functools
import math

from .. import dtypes, isa
from ..errors import refuse
from ..ops import ALL, BINARY
from ..tensor import MemoryRegion, NkiTensor
from ..trace import current
from .core import ndarray

__neuron_emu__ = True

# From this on all FP32 numbers are integers.
_WHOLE = float(1 << 23)
# A whole turn in three parts, of which the first two have so few bits that products with up to
# 2^14 turns are exact; and the greatest FP32 number that is not above pi.
_TURN = (6.28125, 0.0019350051879882812, 3.019916050561733e-07)
_PI = 3.1415925025939941
# The wider type of two, and what follows from two of equal rank.
_RANK = {"float32": 6, "tfloat32": 5, "bfloat16": 4, "float16": 4, "float8_e5m2": 3,
         "float8_e4m3fn": 3, "float8_e4m3": 3, "uint32": 2, "int32": 2, "uint16": 1, "int16": 1,
         "uint8": 0, "int8": 0, "bool": 0}
_WIDER = {4: "float32", 3: "bfloat16", 2: "int32", 1: "int32", 0: "int16"}


def new(shape, dtype):
    """A tile in SBUF for a result."""
    return ndarray(shape, dtype, MemoryRegion.sbuf)


def wider(a, b):
    """The type of a result of two operands."""
    a, b = dtypes.canonical(a), dtypes.canonical(b)
    if a == b:
        return a
    if _RANK[a] != _RANK[b]:
        return a if _RANK[a] > _RANK[b] else b
    return _WIDER[_RANK[a]]


def tile(x, what, function):
    """It must be a tile."""
    if not isinstance(x, NkiTensor):
        refuse(function, f"{what} is a tile", type(x).__name__)
    if not x.on_chip:
        refuse(function, f"{what} lies in SBUF or PSUM", x.buffer.name,
               "load it with nl.load first")
    return x


def broadcast(x, shape, function):
    """x as a view of `shape`. Partitions are repeated by a transfer, which makes a copy."""
    if x.shape == shape:
        return x
    if len(x.shape) != len(shape) or any(a not in (1, n) for a, n in zip(x.shape, shape)):
        refuse(function, "tiles have the same shape, or one element where they differ",
               f"shapes {x.shape} and {shape}")
    if x.shape[0] != shape[0]:
        source = x
        if x.buffer is MemoryRegion.psum:
            source = new(x.shape, x.dtype)
            isa.tensor_copy(source, x)
        spread = new((shape[0],) + x.shape[1:], x.dtype)
        isa.dma_copy(spread, source._view((shape[0],) + source.shape[1:],
                                          (0,) + source.strides[1:]))
        x = spread
    for dim in range(1, len(shape)):
        if x.shape[dim] != shape[dim]:
            x = x.broadcast(dim, shape[dim])
    return x


def _common_shape(x, y, function):
    """What NumPy makes of two shapes of as many dimensions."""
    if len(x.shape) != len(y.shape):
        refuse(function, "tiles have as many dimensions", f"shapes {x.shape} and {y.shape}",
               "use nl.expand_dims")
    return tuple(b if a == 1 else a for a, b in zip(x.shape, y.shape))


def needs_tile(op, x, number):
    """GpSimd computes it: powers, and integers of 32 bits exactly. It takes no number there."""
    if op.name == "power":
        return True
    exact = x.dtype in ("int32", "uint32") and x.buffer is MemoryRegion.sbuf
    if not exact or op.name not in ("add", "subtract", "multiply"):
        return False
    return number is None or math.isfinite(number) and number == math.trunc(number)


def _filled(shape, dtype, number):
    """A tile of one number."""
    result = new(shape, dtype)
    isa.memset(result, number)
    return result


def binary(op, x, y, dtype=None):
    """x op y of tiles and numbers, of which one is a tile."""
    function = f"nl.{op.name}"
    if not isinstance(x, NkiTensor) and not isinstance(y, NkiTensor):
        refuse(function, "x or y is a tile", f"{x!r} and {y!r}")
    if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
        tile(x, "x", function)
        tile(y, "y", function)
        shape = _common_shape(x, y, function)
        dst = new(shape, dtype or wider(x.dtype, y.dtype))
        column = y.size == shape[0] == y.shape[0] and y.dtype == "float32"
        if x.shape == shape and column and not needs_tile(op, x, None):
            isa.tensor_scalar(dst, x, op, y)
        else:
            isa.tensor_tensor(dst, broadcast(x, shape, function), broadcast(y, shape, function),
                              op)
        return dst
    reverse = not isinstance(x, NkiTensor)
    data, number = (y, x) if reverse else (x, y)
    tile(data, "y" if reverse else "x", function)
    dst = new(data.shape, dtype or data.dtype)
    if not needs_tile(op, data, number):
        isa.tensor_scalar(dst, data, op, number, reverse0=reverse)
        return dst
    other = _filled(data.shape, data.dtype, number)
    isa.tensor_tensor(dst, *((other, data) if reverse else (data, other)), op)
    return dst


def act(op, x, dtype=None):
    """A function of the scalar engine."""
    tile(x, "x", f"nl.{op.name}")
    dst = new(x.shape, dtype or x.dtype)
    isa.activation(dst, op, x)
    return dst


def _instruction(op, x, dtype, emit):
    """A tile of x's shape that an instruction fills."""
    tile(x, "x", f"nl.{op}")
    dst = new(x.shape, dtype or x.dtype)
    emit(dst)
    return dst


def reciprocal(x, dtype=None):
    """1 / x."""
    return _instruction("reciprocal", x, dtype, lambda dst: isa.reciprocal(dst, x))


def copy(x, dtype=None):
    """A copy in SBUF."""
    return _instruction("copy", x, dtype, lambda dst: isa.tensor_copy(dst, x))


def negative(x, dtype=None):
    """-x."""
    return _instruction("negative", x, dtype, lambda dst: isa.tensor_scalar(
        dst, x, ALL["multiply"], -1.0))


def invert(x, dtype=None):
    """The bits of x inverted."""
    return _instruction("invert", x, dtype, lambda dst: isa.tensor_scalar(
        dst, x, ALL["invert"], None))


def logical_not(x, dtype=None):
    """1 where x is 0, and 0 where it is 1."""
    return _instruction("logical_not", x, dtype, lambda dst: isa.tensor_scalar(
        dst, x, ALL["logical_xor"], 1.0))


def relu(x, dtype=None):
    """The greater of x and 0."""
    return act(ALL["relu"], x, dtype)


def divide(x, y, dtype=None):
    """x / y, as x * (1 / y) in FP32."""
    if not isinstance(y, NkiTensor):
        return binary(ALL["multiply"], x, 1.0 / float(y), dtype)
    kind = dtype or (wider(x.dtype, y.dtype) if isinstance(x, NkiTensor) else y.dtype)
    return binary(ALL["multiply"], x, reciprocal(y, "float32"), kind)


def _rounded(x):
    """(x in FP32, its nearest integer in FP32), the second one for |x| < 2^23 only."""
    exact = x if x.dtype == "float32" else copy(x, "float32")
    return exact, copy(copy(exact, "int32"), "float32")


def _unless_whole(x, rounded, dtype):
    """`rounded` where x may have a fraction, else x itself, so infinities and NaN too."""
    small = new(x.shape, "uint32")
    size = act(ALL["abs"], x, "float32")
    isa.tensor_scalar(small, size, ALL["less"], _WHOLE)
    result = copy(x, "float32")
    isa.tensor_copy_predicated(result, rounded, small)
    return result if dtypes.canonical(dtype) == "float32" else copy(result, dtype)


def _nudged(function, x, dtype, compare, change):
    """The nearest integer, changed by 1 where it lies on the wrong side of x."""
    tile(x, "x", function)
    exact, near = _rounded(x)
    wrong = new(x.shape, "float32")
    isa.tensor_tensor(wrong, near, exact, ALL[compare])
    isa.tensor_tensor(near, near, wrong, ALL[change])
    return _unless_whole(exact, near, dtype or x.dtype)


def floor(x, dtype=None):
    """The greatest integer that is not above x."""
    return _nudged("nl.floor", x, dtype, "greater", "subtract")


def ceil(x, dtype=None):
    """The least integer that is not below x."""
    return _nudged("nl.ceil", x, dtype, "less", "add")


def trunc(x, dtype=None):
    """x without its fraction."""
    tile(x, "x", "nl.trunc")
    size = _nudged("nl.trunc", act(ALL["abs"], x, "float32"), "float32", "greater", "subtract")
    sign = act(ALL["sign"], x, "float32")
    return binary(ALL["multiply"], size, sign, dtype or x.dtype)


def _less_turns(x, quarter):
    """x, plus a quarter of a turn if wanted, less the nearest number of whole turns."""
    shifted = new(x.shape, "float32")
    isa.tensor_scalar(shifted, x, ALL["multiply"], 1 / (2 * math.pi), op1=ALL["add"],
                      operand1=0.25 if quarter else 0.0)
    turns = copy(copy(shifted, "int32"), "float32")
    rest = copy(x, "float32")
    for part in _TURN:
        isa.scalar_tensor_tensor(rest, turns, ALL["multiply"], -part, ALL["add"], rest)
    if quarter:
        isa.tensor_scalar(rest, rest, ALL["add"], math.pi / 2)
    return rest


def _angle(x, quarter):
    """The same from -pi to pi: the first count of turns may be one off where x is large."""
    rest = _less_turns(_less_turns(x, quarter), False)
    isa.tensor_scalar(rest, rest, ALL["minimum"], _PI, op1=ALL["maximum"], operand1=-_PI)
    return rest


def sin(x, dtype=None):
    """The sine, of x less whole turns."""
    tile(x, "x", "nl.sin")
    dst = new(x.shape, dtype or x.dtype)
    isa.activation(dst, ALL["sin"], _angle(x, False))
    return dst


def cos(x, dtype=None):
    """The cosine, as the sine of x + pi / 2 less whole turns."""
    tile(x, "x", "nl.cos")
    dst = new(x.shape, dtype or x.dtype)
    isa.activation(dst, ALL["sin"], _angle(x, True))
    return dst


def tan(x, dtype=None):
    """The tangent, as sin(x) / cos(x)."""
    tile(x, "x", "nl.tan")
    return divide(sin(x, "float32"), cos(x, "float32"), dtype or x.dtype)


def _operands(x, y, function):
    """Both as FP32 tiles of one shape, and the type of the result."""
    if not isinstance(x, NkiTensor) and not isinstance(y, NkiTensor):
        refuse(function, "x or y is a tile", f"{x!r} and {y!r}")
    like = x if isinstance(x, NkiTensor) else y
    kind = like.dtype
    if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
        kind = wider(x.dtype, y.dtype)
        shape = _common_shape(x, y, function)
    else:
        shape = like.shape
    result = []
    for operand in (x, y):
        if isinstance(operand, NkiTensor):
            view = broadcast(tile(operand, "x", function), shape, function)
            result.append(copy(view, "float32"))
        else:
            result.append(_filled(shape, "float32", float(operand)))
    return result[0], result[1], kind


def _remainder(x, y, quotient):
    """x - quotient * y."""
    return binary(ALL["subtract"], x, binary(ALL["multiply"], quotient, y))


def fmod(x, y, dtype=None):
    """The remainder of x / y, which has the sign of x."""
    a, b, kind = _operands(x, y, "nl.fmod")
    size = act(ALL["abs"], a)
    step = act(ALL["abs"], b)
    rest = _corrected(size, step, _remainder(size, step, floor(divide(size, step))))
    return binary(ALL["multiply"], rest, act(ALL["sign"], a), dtype or kind)


def _corrected(size, step, rest):
    """The quotient may be one too many or too few where it is rounded to an integer."""
    low = binary(ALL["less"], rest, 0.0)
    rest = binary(ALL["add"], rest, binary(ALL["multiply"], low, step))
    high = binary(ALL["greater_equal"], rest, step)
    return binary(ALL["subtract"], rest, binary(ALL["multiply"], high, step))


def mod(x, y, dtype=None):
    """The remainder of x / y, which has the sign of y."""
    a, b, kind = _operands(x, y, "nl.mod")
    rest = fmod(a, b, "float32")
    # Where it is not 0 and its sign is not that of y, y is added.
    product = binary(ALL["multiply"], act(ALL["sign"], rest), act(ALL["sign"], b))
    other = binary(ALL["less"], product, 0.0)
    return binary(ALL["add"], rest, binary(ALL["multiply"], other, b), dtype or kind)


def abs_max(x, y, dtype=None):
    """The operand of the greater size."""
    _needs_v4("nl.abs_max")
    return binary(ALL["abs_max"], x, y, dtype)


def abs_min(x, y, dtype=None):
    """The operand of the lesser size."""
    _needs_v4("nl.abs_min")
    return binary(ALL["abs_min"], x, y, dtype)


def _needs_v4(function):
    if current().generation < 4:
        refuse(function, "it needs NeuronCore-v4 or later",
               f"NeuronCore-v{current().generation}")


def _connect():
    """Each operator with its function: its own one here, or that of its kind."""
    own = {name: value for name, value in globals().items()
           if name in ALL and callable(value) and name != "act"}
    for name, op in ALL.items():
        if name in own:
            op.function = own[name]
        elif op.arity == BINARY and op.alu:
            op.function = functools.partial(binary, op)
        elif op.act and name not in ("prelu", "max", "min", "sum", "prod"):
            op.function = functools.partial(act, op)


_connect()
