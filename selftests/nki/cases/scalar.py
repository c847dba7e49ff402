# SPDX-License-Identifier: MIT
"""Instructions of the scalar engine and exponential: functions, scale and bias, accumulators."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, like, put, rows, tile
from .operators import EDGE, POSITIVE, SMOOTH, UNARY

TABLE = Table("scalar")
CMD = nisa.reduce_cmd
A = rows([0.0, 1.0, -1.25, 2.5], [2.0, -0.5, 0.25, -2.0], [1.5, -1.5, 3.0, -7.0])
B = rows([1.0, 1.0, 1.25, -2.5], [4.0, 2.0, 0.25, 0.5], [-2.0, 0.75, 7.0, 5.0])
COLUMN, OTHER = rows([2.0], [0.5], [-4.0]), rows([-1.0], [3.0], [0.25])
WIDE = A.astype(np.float64)
# Functions that the engine has: those of one operand that the language makes of it, too.
FUNCTIONS = sorted(set(UNARY) - {"negative", "floor", "ceil", "trunc", "logical_not", "cos", "tan"})

for _name in FUNCTIONS:
    _reference, _array, _bound = UNARY[_name]
    if _name == "sin":
        _array = SMOOTH / 2
    if _name == "arctan":
        _array = SMOOTH / 4
    TABLE.case(f"activation {_name} with a scale",
               lambda name=_name, array=_array: like(
                   array, nisa.activation, getattr(nl, name), tile(array * np.float32(2)),
                   scale=0.5),
               _reference(_array.astype(np.float64)), bound=_bound)
    # Numbers from which a half can be taken and given back exactly.
    _array = np.where(np.abs(_array) < 1e-3, np.float32(0.125), _array) if _array is POSITIVE \
        else _array
    TABLE.case(f"activate2 {_name} of a sum",
               lambda name=_name, array=_array: like(
                   array, nisa.activate2, getattr(nl, name), tile(array - np.float32(0.5)), 0.5,
                   0.0, nl.add, nl.bypass),
               _reference(_array.astype(np.float64)), 4, bound=max(_bound, 1e-6))

TABLE.case("activation sin is not brought into its range",
           lambda: like(rows([0.0]), nisa.activation, nl.sin, tile(rows([0.0]))), rows([0.0]))
for _name, _want in (("exp", [np.nan, np.inf, 0, 1, 1]), ("relu", [np.nan, np.inf, 0, 0, 0]),
                     ("square", [np.nan, np.inf, np.inf, 0, 0]),
                     ("sigmoid", [np.nan, 1, 0, 0.5, 0.5]), ("tanh", [np.nan, 1, -1, 0, -0.0])):
    TABLE.case(f"activation {_name} of NaN, infinities and zeros",
               lambda name=_name: like(EDGE, nisa.activation, getattr(nl, name), tile(EDGE)),
               rows(_want), bound=1e-6)

# --- scale and bias ---

TABLE.case("activation with a column as scale",
           lambda: like(A, nisa.activation, nl.copy, tile(A), scale=tile(COLUMN)), A * COLUMN)
TABLE.case("activation with a column as bias",
           lambda: like(A, nisa.activation, nl.copy, tile(A), bias=tile(COLUMN)), A + COLUMN)
TABLE.case("activation with a number as bias",
           lambda: like(A, nisa.activation, nl.copy, tile(A), bias=0.75), A + 0.75, 3)
TABLE.case("activation with columns as scale and bias",
           lambda: like(A, nisa.activation, nl.relu, tile(A), bias=tile(OTHER),
                        scale=tile(COLUMN)), np.maximum(A * COLUMN + OTHER, 0))
TABLE.case("activation with a bias in bfloat16",
           lambda: like(A, nisa.activation, nl.copy, tile(A), bias=tile(COLUMN, "bfloat16")),
           A + COLUMN)
TABLE.case("activation with scale and bias in PSUM",
           lambda: like(A, nisa.activation, nl.copy, tile(A), bias=tile(OTHER, psum=True),
                        scale=tile(COLUMN, psum=True)), A * COLUMN + OTHER)
TABLE.case("activation from PSUM to PSUM",
           lambda: like(A, nisa.activation, nl.square, tile(A, psum=True), psum=True), A * A)
TABLE.case("activation of int32 to FP16",
           lambda: put((1, 3), "float16", nisa.activation, nl.square,
                       tile(np.array([[3, -4, 100]], np.int32)), scale=0.5),
           rows([2.25, 4, 2500]).astype(np.float16))
TABLE.case("activation to uint8 rounds ties to even and saturates",
           lambda: put((1, 6), "uint8", nisa.activation, nl.copy,
                       tile(rows([0.5, 1.5, 2.5, -3.0, 300.0, np.nan]))),
           np.array([[0, 2, 2, 0, 255, 0]], np.uint8))
TABLE.refused("activation of an operator that is no function of the engine",
              lambda: like(A, nisa.activation, nl.maximum, tile(A)), "function of the scalar")

# --- its accumulators ---


def activated(**options):
    """Two instructions of which the first one begins anew."""
    first, second = nl.ndarray((3, 1), F32), nl.ndarray((3, 1), F32)
    y = nl.ndarray(A.shape, F32)
    call(nisa.activation, y, nl.square, tile(A), reduce_op=nl.add, reduce_res=first,
         reduce_cmd=CMD.reset_reduce)
    call(nisa.activation, y, nl.copy, tile(B), reduce_op=nl.add, reduce_res=second, **options)
    return first, second


SQUARES = (A * A).sum(1)
TABLE.case("activation reduces on", lambda: activated(reduce_cmd=CMD.reduce),
           (SQUARES, SQUARES + B.sum(1)))
TABLE.case("activation reduces anew", lambda: activated(reduce_cmd=CMD.reset_reduce),
           (SQUARES, B.sum(1)))
TABLE.case("activation leaves the accumulators", lambda: activated(reduce_cmd=CMD.idle),
           (SQUARES, SQUARES))
TABLE.case("activation resets the accumulators only", lambda: activated(reduce_cmd=CMD.reset),
           (SQUARES, np.zeros(3)))


def activated_in_silence():
    """The first one has no reduce_res; the second one reads what both have made."""
    total, y = nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    call(nisa.activation, y, nl.copy, tile(A), reduce_op=nl.add, reduce_cmd=CMD.reset_reduce)
    call(nisa.activation, y, nl.copy, tile(B), reduce_op=nl.add, reduce_res=total,
         reduce_cmd=CMD.reduce)
    return total


TABLE.case("activation without reduce_res keeps the sum inside", activated_in_silence,
           A.sum(1) + B.sum(1))
TABLE.refused("activation with a reduce_cmd and no reduce_op",
              lambda: like(A, nisa.activation, nl.copy, tile(A), reduce_cmd=CMD.reduce),
              "needs a reduce_op")


def activation_reduced(shape=(3, 4), **options):
    """(elements, sum)"""
    total = nl.ndarray((3, 1), F32)
    made = put(shape, F32, nisa.activation_reduce, nl.square, tile(A.reshape(shape)), nl.add,
               total, **options)
    return made, total


TABLE.case("activation_reduce", activation_reduced, (A * A, SQUARES))
TABLE.case("activation_reduce over two dimensions", lambda: activation_reduced((3, 2, 2)),
           (A * A, SQUARES))
TABLE.case("activation_reduce with a column as bias", lambda: activation_reduced(bias=tile(OTHER)),
           ((A + OTHER)**2, ((A + OTHER)**2).sum(1)))
TABLE.case("activation_reduce with a number as scale", lambda: activation_reduced(scale=2.0),
           (4 * A * A, 4 * SQUARES))
TABLE.case("activation_reduce with a column as scale",
           lambda: activation_reduced(scale=tile(COLUMN)),
           ((A * COLUMN)**2, ((A * COLUMN)**2).sum(1)))

# --- activate2 ---

PAIRS = {
    ("multiply", "add"): A * COLUMN + 0.5, ("multiply", "subtract"): A * COLUMN - 0.5,
    ("multiply", "bypass"): A * COLUMN, ("subtract", "bypass"): A - COLUMN,
    ("bypass", "bypass"): A}
for (_op0, _op1), _want in PAIRS.items():
    TABLE.case(f"activate2 {_op0} and {_op1}",
               lambda op0=_op0, op1=_op1: like(A, nisa.activate2, nl.copy, tile(A), tile(COLUMN),
                                               0.5, getattr(nl, op0), getattr(nl, op1)), _want, 4)
TABLE.case("activate2 with reverse0",
           lambda: like(A, nisa.activate2, nl.copy, tile(A), tile(COLUMN), 0.0, nl.subtract,
                        nl.bypass, reverse0=True), COLUMN - A, 4)
TABLE.case("activate2 with reverse1 and a column as imm1",
           lambda: like(A, nisa.activate2, nl.copy, tile(A), 2.0, tile(OTHER), nl.multiply,
                        nl.subtract, reverse1=True), OTHER - A * 2, 4)
TABLE.case("activate2 prelu with a number",
           lambda: like(A, nisa.activate2, nl.prelu, tile(A), 0.0, 0.0, nl.bypass, nl.bypass,
                        relu_param=0.25), np.where(A < 0, A * 0.25, A), 4)
TABLE.case("activate2 prelu with a column",
           lambda: like(A, nisa.activate2, nl.prelu, tile(A), 0.0, 0.0, nl.bypass, nl.bypass,
                        relu_param=tile(COLUMN)), np.where(A < 0, A * COLUMN, A), 4)
for _name, _reduce in (
        ("add", lambda x: x.sum(1)), ("maximum", lambda x: x.max(1)),
        ("minimum", lambda x: x.min(1)), ("abs_max", lambda x: np.abs(x).max(1)),
        ("abs_min", lambda x: np.abs(x).min(1))):
    # Squares, so that a magnitude is the number itself.
    TABLE.case(f"activate2 reduces by {_name}",
               lambda name=_name: _activate2_reduced(getattr(nl, name)), _reduce(A * A), 4)


def _activate2_reduced(op):
    total, y = nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    call(nisa.activate2, y, nl.square, tile(A), 0.0, 0.0, nl.bypass, nl.bypass, reduce_op=op,
         reduce_res=total, reduce_cmd=CMD.reset_reduce)
    return total


def _activate2_on(command):
    first, second, y = nl.ndarray((3, 1), F32), nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    for array, total, cmd in ((A, first, CMD.reset_reduce), (B, second, command)):
        call(nisa.activate2, y, nl.copy, tile(array), 0.0, 0.0, nl.bypass, nl.bypass,
             reduce_op=nl.add, reduce_res=total, reduce_cmd=cmd)
    return first, second


for _command, _want in ((CMD.reduce, A.sum(1) + B.sum(1)), (CMD.idle, A.sum(1)),
                        (CMD.reset, np.zeros(3))):
    TABLE.case(f"activate2 with reduce_cmd={_command.name}",
               lambda command=_command: _activate2_on(command), (A.sum(1), _want), 4)
TABLE.refused("activate2 before NeuronCore-v4",
              lambda: like(A, nisa.activate2, nl.copy, tile(A), 0.0, 0.0, nl.bypass, nl.bypass),
              "NeuronCore-v4", until=3)

# --- exponential, which the vector engine computes ---

TABLE.case("exponential", lambda: like(A, nisa.exponential, tile(A)), np.exp(WIDE), 4, bound=1e-6)
TABLE.case("exponential less a number",
           lambda: like(A, nisa.exponential, tile(A), max_value=2.5), np.exp(WIDE - 2.5), 4,
           bound=1e-6)
TABLE.case("exponential less a column",
           lambda: like(A, nisa.exponential, tile(A), max_value=tile(COLUMN)),
           np.exp(WIDE - COLUMN), 4, bound=1e-6)
TABLE.case("exponential of infinities and NaN",
           lambda: like(EDGE, nisa.exponential, tile(EDGE)), rows([np.nan, np.inf, 0, 1, 1]), 4)
TABLE.case("exponential to bfloat16, from PSUM",
           lambda: put(A.shape, "bfloat16", nisa.exponential, tile(A, psum=True)), np.exp(WIDE), 4,
           bound=2.0**-8)


def exponential_sums(**options):
    """The sum of one, then what the second one with the options makes of it."""
    first, second, y = nl.ndarray((3, 1), F32), nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    call(nisa.exponential, y, tile(A), reduce_res=first, reduce_cmd=CMD.reset_reduce)
    call(nisa.exponential, y, tile(B), reduce_res=second, **options)
    return first, second


_SUM, _LAST = np.exp(WIDE).sum(1), np.exp(B.astype(np.float64)).sum(1)
for _name, _options, _want in (
        ("goes on", {"reduce_cmd": CMD.reduce}, _SUM + _LAST),
        ("begins anew", {"reduce_cmd": CMD.reset_reduce}, _LAST),
        ("from a number", {"reduce_cmd": CMD.load_reduce, "reduce_init": 5.0}, _LAST + 5)):
    TABLE.case(f"exponential that {_name}",
               lambda options=_options: exponential_sums(**options), (_SUM, _want), 4, bound=1e-5)
TABLE.case("exponential from a tile",
           lambda: exponential_sums(reduce_cmd=CMD.load_reduce, reduce_init=tile(COLUMN)),
           (_SUM, _LAST + COLUMN[:, 0]), 4, bound=1e-5)
TABLE.case("exponential that does not accumulate",
           lambda: like(A, nisa.exponential, tile(A), reduce_cmd=CMD.idle), np.exp(WIDE), 4,
           bound=1e-6)
TABLE.refused("exponential before NeuronCore-v4", lambda: like(A, nisa.exponential, tile(A)),
              "NeuronCore-v4", until=3)
