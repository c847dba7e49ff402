# SPDX-License-Identifier: MIT
"""The functions of nki.language that compute element by element: each operand, broadcast and type.

Numbers are chosen so that results are exact, or else the bound of the manual's table holds
(Documentation/nki/language.rst). Expectations are NumPy's in double precision.
"""

import numpy as np

import nki.language as nl

from . import Table, call, rows, tile

TABLE = Table("operators")
NAN, INF = np.nan, np.inf
# Quarters, with equal elements, zeros of both signs and both signs of each place.
X = rows([0.0, -0.0, 1.0, -1.25, 2.5, -3.0], [4.0, 4.0, -0.5, 0.25, -2.0, 8.0],
         [1.5, -1.5, 3.0, -7.0, 0.0, 6.0])
Y = rows([1.0, 2.0, 1.0, 1.25, -2.5, -3.0], [-4.0, 4.0, 2.0, 0.25, 0.5, 3.0],
         [-1.5, -2.0, 0.75, 7.0, 5.0, -4.0])
ROW = rows([2.0, -1.0, 1.0, 0.5, 2.5, -3.0])
COLUMN = rows([2.0], [4.0], [-1.5])
IX = np.array([[0, 1, -1, 7, 100, -128], [2**31 - 1, -2**31, 3, 12, 255, 256]], np.int32)
IY = np.array([[3, 1, 2, 0, 5, 4], [1, 2, 31, 3, 8, 6]], np.int32)


def truth(function):
    """What a comparison or a logical operator makes: 1 or 0."""
    return lambda a, b: function(a, b).astype(np.float64)


def logical(function):
    """Of what is not zero."""
    return lambda a, b: function(a != 0, b != 0).astype(np.float64)


FLOATS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "fmod": np.fmod, "mod": np.mod,
    "equal": truth(np.equal), "not_equal": truth(np.not_equal), "less": truth(np.less),
    "less_equal": truth(np.less_equal), "greater": truth(np.greater),
    "greater_equal": truth(np.greater_equal), "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or), "logical_xor": logical(np.logical_xor),
    "abs_max": lambda a, b: np.where(np.abs(a) > np.abs(b), a, b),
    "abs_min": lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
}
BOUND = {"divide": 2.0**-21, "fmod": 2.0**-20, "mod": 2.0**-20, "power": 2.0**-20}
# From which generation on.
SINCE = {"abs_max": 4, "abs_min": 4}


def shifted(function):
    """Of 32 bits, as what they are without sign."""
    return lambda a, b: function(a.astype(np.int64) & 0xffffffff, b).astype(np.uint32).view(
        np.int32)


BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
        "left_shift": shifted(np.left_shift), "right_shift": shifted(np.right_shift)}


def binary(name, what, make, want, **options):
    """A case of a function of two operands."""
    TABLE.case(f"nl.{name} of {what}", make, want, SINCE.get(name, 2), bound=BOUND.get(name, 0.0),
               **options)


def in_half(want):
    """Rounded to FP16 at the end."""
    with np.errstate(all="ignore"):
        return np.asarray(want, np.float32).astype(np.float16)


def of_floats(name, reference):
    """The ways to call one function."""
    function = getattr(nl, name)
    x, y, row, column = (v.astype(np.float64) for v in (X, Y, ROW, COLUMN))
    binary(name, "two tiles", lambda: call(function, tile(X), tile(Y)), reference(x, y))
    binary(name, "a tile and a number", lambda: call(function, tile(X), 1.5), reference(x, 1.5))
    binary(name, "a number and a tile", lambda: call(function, -2.5, tile(Y)), reference(-2.5, y))
    binary(name, "a row for all partitions", lambda: call(function, tile(X), tile(ROW)),
           reference(x, row))
    binary(name, "a column for all elements", lambda: call(function, tile(COLUMN), tile(Y)),
           reference(column, y))
    binary(name, "two tiles, dtype=float16",
           lambda: call(function, tile(X), tile(Y), dtype=nl.float16), in_half(reference(x, y)))


def of_bits(name, reference):
    """The same of operators on the bits of integers."""
    function = getattr(nl, name)
    TABLE.case(f"nl.{name} of two tiles", lambda: call(function, tile(IX), tile(IY)),
               reference(IX, IY))
    TABLE.case(f"nl.{name} of a tile and a number", lambda: call(function, tile(IX), 3),
               reference(IX, 3))
    TABLE.case(f"nl.{name} of a row for all partitions",
               lambda: call(function, tile(IX), tile(IY[:1])), reference(IX, IY[:1]))
    TABLE.case(f"nl.{name} of int16",
               lambda: call(function, tile(IY.astype(np.int16)), tile(IY.astype(np.int16))),
               reference(IY, IY).astype(np.int16))
    TABLE.case(f"nl.{name} with dtype=int32",
               lambda: call(function, tile(IX), tile(IY), dtype=nl.int32), reference(IX, IY))


with np.errstate(all="ignore"):
    for _name, _reference in FLOATS.items():
        of_floats(_name, _reference)
for _name, _reference in BITS.items():
    of_bits(_name, _reference)

# --- power: bases above zero, and signs where the exponent is whole ---

BASE, EXPONENT = rows([0.5, 2.0, 3.0, 1.0]), rows([2.0, -1.0, 0.5, 7.0])
binary("power", "two tiles", lambda: call(nl.power, tile(BASE), tile(EXPONENT)),
       BASE.astype(np.float64)**EXPONENT)
binary("power", "a tile and a number", lambda: call(nl.power, tile(-BASE), 3.0),
       (-BASE.astype(np.float64))**3)
binary("power", "a number and a tile", lambda: call(nl.power, 2.0, tile(EXPONENT)),
       2.0**EXPONENT.astype(np.float64))
binary("power", "two tiles, dtype=float16",
       lambda: call(nl.power, tile(BASE), tile(EXPONENT), dtype=nl.float16),
       in_half(BASE.astype(np.float64)**EXPONENT))
binary("power", "zero and one as exponents, also of NaN",
       lambda: call(nl.power, tile(rows([NAN, INF, -2.0, 0.0])), 0.0), rows([1, 1, 1, 1]))

# --- integers, exact beyond 24 bits ---

BIG = np.array([[2**30, -2**30, 2**31 - 1, 16777217]], np.int32)
for _name, _reference in (("add", lambda a, b: a + b), ("subtract", lambda a, b: a - b),
                          ("multiply", lambda a, b: a * b)):
    _wrapped = _reference(BIG.astype(np.int64), 3).astype(np.uint64).astype(np.uint32)
    binary(_name, "int32 beyond 24 bits, which wraps",
           lambda name=_name: call(getattr(nl, name), tile(BIG), tile(np.full_like(BIG, 3))),
           _wrapped.view(np.int32))
for _name, _want in (("maximum", [2**30, 5, 2**31 - 1, 16777217]), ("minimum", [5, -2**30, 5, 5])):
    binary(_name, "int32 beyond 24 bits",
           lambda name=_name: call(getattr(nl, name), tile(BIG), tile(np.full_like(BIG, 5))),
           np.array([_want], np.int32))
for _name, _want in (("equal", [0, 0, 0, 1]), ("less", [0, 1, 0, 0]),
                     ("greater_equal", [1, 0, 1, 1])):
    binary(_name, "int32 that FP32 cannot tell apart",
           lambda name=_name: call(getattr(nl, name), tile(BIG),
                                   tile(np.full_like(BIG, 16777217))),
           np.array([_want], np.int32))

# --- NaN and infinities ---

ODD, EVEN = rows([NAN, INF, -INF, INF, 0.0, NAN]), rows([1.0, INF, INF, -INF, NAN, NAN])
for _name, _want in (
        ("add", [NAN, INF, NAN, NAN, NAN, NAN]), ("subtract", [NAN, NAN, -INF, INF, NAN, NAN]),
        ("multiply", [NAN, INF, -INF, -INF, NAN, NAN]), ("maximum", [NAN, INF, INF, INF, NAN, NAN]),
        ("minimum", [NAN, INF, -INF, -INF, NAN, NAN]), ("equal", [0, 1, 0, 0, 0, 0]),
        ("not_equal", [1, 0, 1, 1, 1, 1]), ("less_equal", [0, 1, 1, 0, 0, 0]),
        ("greater", [0, 0, 0, 1, 0, 0])):
    binary(_name, "NaN and infinities",
           lambda name=_name: call(getattr(nl, name), tile(ODD), tile(EVEN)), rows(_want))

# --- the type of a result: the wider one of two operands ---

for _first, _second, _result in (("bfloat16", "float32", "float32"),
                                 ("int32", "float16", "float16"), ("uint8", "int8", None),
                                 ("bfloat16", "float16", "float32")):
    def _typed(first=_first, second=_second, result=_result):
        made = call(nl.add, tile(rows([1, 2, 3]), first), tile(rows([4, 5, 6]), second))
        assert result is None or made.dtype == result, made.dtype
        return made
    binary("add", f"{_first} and {_second}", _typed, rows([5, 7, 9]))


# --- functions of one operand ---

def dgelu(x):
    """The derivative of x times the normal distribution's integral."""
    return cdf(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def error_function(x):
    """The integral of the bell curve, by the middles of 20,000 steps."""
    middles = (np.arange(20000) + 0.5) / 20000
    return np.array([2 / np.sqrt(np.pi) * v * np.exp(-(v * middles)**2).mean() for v in x.ravel()
                     ]).reshape(x.shape)


def cdf(x):
    """The normal distribution's integral."""
    return (1 + error_function(x / np.sqrt(2))) / 2


def sigmoid(x):
    """1 / (1 + exp(-x))"""
    return 1 / (1 + np.exp(-x))


def derivative(function):
    """By a central difference of double precision."""
    return lambda x: (function(x + 1e-5) - function(x - 1e-5)) / 2e-5


def gelu_tanh(x):
    """The published approximation by tanh."""
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


SMOOTH = rows([0.0, 0.25, -0.25, 1.0, -1.0], [2.5, -2.5, 4.0, -4.0, 0.875])
POSITIVE = rows([0.25, 1.0, 2.0, 9.0, 0.0625], [1e-6, 3.0, 1e6, 100.0, 0.5])
UNARY = {
    "abs": (np.abs, X, 0), "square": (np.square, X, 0), "negative": (np.negative, X, 0),
    "sign": (np.sign, X, 0), "copy": (np.array, X, 0), "relu": (lambda x: np.maximum(x, 0), X, 0),
    "floor": (np.floor, X, 0), "ceil": (np.ceil, X, 0), "trunc": (np.trunc, X, 0),
    "logical_not": (lambda x: x == 0, X, 0),
    "reciprocal": (np.reciprocal, POSITIVE, 2**-22), "exp": (np.exp, SMOOTH, 2**-21),
    "log": (np.log, POSITIVE, 2**-21), "sqrt": (np.sqrt, POSITIVE, 2**-22),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE, 2**-21), "tanh": (np.tanh, SMOOTH, 2**-21),
    "sigmoid": (sigmoid, SMOOTH, 2**-21), "gelu": (lambda x: x * cdf(x), SMOOTH, 2**-20),
    "gelu_dx": (dgelu, SMOOTH, 2**-20), "gelu_apprx_tanh": (gelu_tanh, SMOOTH, 2**-20),
    "gelu_apprx_sigmoid": (lambda x: x * sigmoid(1.702 * x), SMOOTH, 2**-20),
    "gelu_apprx_sigmoid_dx": (derivative(lambda x: x * sigmoid(1.702 * x)), SMOOTH, 2**-20),
    "silu": (lambda x: x * sigmoid(x), SMOOTH, 2**-21),
    "silu_dx": (derivative(lambda x: x * sigmoid(x)), SMOOTH, 2**-20),
    "softplus": (lambda x: np.log1p(np.exp(x)), SMOOTH, 2**-21),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), SMOOTH, 2**-20),
    "erf": (error_function, SMOOTH, 2**-20),
    "erf_dx": (lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), SMOOTH, 2**-20),
    "sin": (np.sin, SMOOTH * 3, 2**-19), "cos": (np.cos, SMOOTH * 3, 2**-19),
    "tan": (np.tan, SMOOTH, 2**-16), "arctan": (np.arctan, SMOOTH, 2**-21),
}


def unary(name, reference, array, bound):
    """The function, and what `dtype` makes of its result."""
    function, want = getattr(nl, name), reference(array.astype(np.float64))
    TABLE.case(f"nl.{name}", lambda: call(function, tile(array)), want, bound=bound)
    TABLE.case(f"nl.{name} with dtype=bfloat16",
               lambda: call(function, tile(array), dtype=nl.bfloat16), want, bound=2.0**-8)


for _name, (_reference, _array, _bound) in UNARY.items():
    unary(_name, _reference, _array, _bound)

# What a function makes of special numbers, by the table of numerics.rst.
EDGE = rows([NAN, INF, -INF, 0.0, -0.0])
for _name, _want in (
        ("abs", [NAN, INF, INF, 0, 0]), ("square", [NAN, INF, INF, 0, 0]),
        ("negative", [NAN, -INF, INF, -0.0, 0]), ("relu", [NAN, INF, 0, 0, 0]),
        ("sign", [NAN, 1, -1, 0, -0.0]), ("exp", [NAN, INF, 0, 1, 1]),
        ("log", [NAN, INF, NAN, -INF, -INF]), ("sqrt", [NAN, INF, NAN, 0, -0.0]),
        # The scalar engine adds a bias of 0 first, so -0 becomes +0.
        ("rsqrt", [NAN, 0, NAN, INF, INF]), ("reciprocal", [NAN, 0, -0.0, INF, -INF]),
        ("tanh", [NAN, 1, -1, 0, -0.0]), ("sigmoid", [NAN, 1, 0, 0.5, 0.5]),
        ("softplus", [NAN, INF, 0, np.log(2), np.log(2)]), ("erf", [NAN, 1, -1, 0, 0]),
        ("arctan", [NAN, np.pi / 2, -np.pi / 2, 0, 0]), ("copy", [NAN, INF, -INF, 0, -0.0]),
        ("logical_not", [0, 0, 0, 1, 1]), ("floor", [NAN, INF, -INF, 0, 0]),
        ("ceil", [NAN, INF, -INF, 0, 0]), ("trunc", [NAN, INF, -INF, 0, 0])):
    TABLE.case(f"nl.{_name} of NaN, infinities and zeros",
               lambda name=_name: call(getattr(nl, name), tile(EDGE)), rows(_want), bound=1e-6)

TABLE.case("nl.invert of int32", lambda: call(nl.invert, tile(IX)), ~IX)
TABLE.case("nl.invert of uint8", lambda: call(nl.invert, tile(IY.astype(np.uint8))),
           ~IY.astype(np.uint8))
TABLE.case("nl.invert with dtype=int32", lambda: call(nl.invert, tile(IX), dtype=nl.int32), ~IX)
TABLE.case("nl.sign of NaN in bfloat16",
           lambda: call(nl.sign, tile(EDGE), dtype=nl.bfloat16), rows([NAN, 1, -1, 0, 0]))
TABLE.case("nl.floor of numbers that have no fraction any more",
           lambda: call(nl.floor, tile(rows([8388607.5, -8388607.5, 1e30, -1e30]))),
           rows([8388607, -8388608, 1e30, -1e30]))
TABLE.case("nl.ceil of halves", lambda: call(nl.ceil, tile(rows([0.5, -0.5, 1.5, -1.5]))),
           rows([1, 0, 2, -1]))
TABLE.case("nl.trunc of halves", lambda: call(nl.trunc, tile(rows([0.5, -0.5, 1.5, -1.5]))),
           rows([0, 0, 1, -1]))
TABLE.refused("nl.abs_max before NeuronCore-v4", lambda: call(nl.abs_max, tile(X), tile(Y)),
              "NeuronCore-v4", until=3)
TABLE.refused("nl.abs_min before NeuronCore-v4", lambda: call(nl.abs_min, tile(X), tile(Y)),
              "NeuronCore-v4", until=3)
TABLE.refused("nl.add of shapes that do not go together",
              lambda: call(nl.add, tile(X), tile(X[:, :4])), "same shape")
TABLE.refused("nl.add of two numbers", lambda: call(nl.add, 1.0, 2.0), "tile")
