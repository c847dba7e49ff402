# SPDX-License-Identifier: MIT
"""Instructions of the vector engine that compute: each operator, operand, option and type."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, like, put, rows, tile

TABLE = Table("vector")
NAN, INF = np.nan, np.inf
# Whole numbers and quarters, so that sums and products are exact.
A = rows([0.0, 1.0, -1.25, 2.5, -3.0, 4.0], [2.0, -0.5, 0.25, -2.0, 8.0, 1.0],
         [1.5, -1.5, 3.0, -7.0, 0.0, 6.0])
B = rows([1.0, 1.0, 1.25, -2.5, -3.0, 2.0], [4.0, 2.0, 0.25, 0.5, 3.0, -1.0],
         [-2.0, 0.75, 7.0, 5.0, -4.0, 6.0])
COLUMN = rows([2.0], [0.5], [-4.0])
OTHER = rows([-1.0], [3.0], [0.25])
WORDS = np.array([[0, 1, 0x7f, 0x80, 0xff0f, 0x12345678], [-1, -2**31, 2**31 - 1, 5, 6, 7]],
                 np.int32)
MASKS = np.array([[3], [0x0f]], np.int32)
CMD = nisa.reduce_cmd


def truth(function):
    """1 or 0."""
    return lambda a, b: function(a, b).astype(np.float32)


ARITHMETIC = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "equal": truth(np.equal), "not_equal": truth(np.not_equal),
    "less": truth(np.less), "less_equal": truth(np.less_equal), "greater": truth(np.greater),
    "greater_equal": truth(np.greater_equal),
    "logical_and": lambda a, b: ((a != 0) & (b != 0)).astype(np.float32),
    "logical_or": lambda a, b: ((a != 0) | (b != 0)).astype(np.float32),
    "logical_xor": lambda a, b: ((a != 0) ^ (b != 0)).astype(np.float32),
    "abs_max": lambda a, b: np.where(np.abs(a) > np.abs(b), a, b),
    "abs_min": lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
}
SINCE = {"abs_max": 4, "abs_min": 4}

# --- tensor_tensor ---

for _name, _op in ARITHMETIC.items():
    TABLE.case(f"tensor_tensor {_name}",
               lambda name=_name: like(A, nisa.tensor_tensor, tile(A), tile(B), getattr(nl, name)),
               _op(A, B), SINCE.get(_name, 2))
TABLE.case("tensor_tensor power",
           lambda: like(A, nisa.tensor_tensor, tile(np.abs(A) + 1), tile(B), nl.power),
           (np.abs(A) + 1).astype(np.float64)**B, bound=1e-5)
for _engine in ("vector", "gpsimd"):
    TABLE.case(f"tensor_tensor add on {_engine}, of PSUM or not",
               lambda e=_engine: like(A, nisa.tensor_tensor, tile(A, psum=e == "vector"), tile(B),
                                      nl.add, engine=nisa.engine[e]), A + B)
TABLE.case("tensor_tensor of SBUF and PSUM",
           lambda: like(A, nisa.tensor_tensor, tile(A), tile(B, psum=True), nl.subtract), A - B)
TABLE.case("tensor_tensor to PSUM",
           lambda: like(A, nisa.tensor_tensor, tile(A), tile(B), nl.multiply, psum=True), A * B)
TABLE.case("tensor_tensor of int32 on the vector engine rounds to FP32",
           lambda: put((1, 2), "int32", nisa.tensor_tensor,
                       tile(np.array([[16777217, 3]], np.int32)),
                       tile(np.array([[2, 4]], np.int32)), nl.add, engine=nisa.engine.vector),
           np.array([[16777218, 7]], np.int32))
TABLE.case("tensor_tensor of int32 without an engine is exact",
           lambda: put((1, 2), "int32", nisa.tensor_tensor,
                       tile(np.array([[16777217, 3]], np.int32)),
                       tile(np.array([[2, 4]], np.int32)), nl.add),
           np.array([[16777219, 7]], np.int32))
TABLE.case("tensor_tensor of uint32 without an engine wraps",
           lambda: put((1, 2), "uint32", nisa.tensor_tensor,
                       tile(np.array([[2**32 - 1, 5]], np.uint32)),
                       tile(np.array([[2, 7]], np.uint32)), nl.add),
           np.array([[1, 12]], np.uint32))
for _name, _op, _wants in (("add", nl.add, [1, 0, 3]), ("maximum", nl.maximum, [2, 2**31, 2]),
                           ("multiply", nl.multiply, [2**32 - 2, 0, 2])):
    TABLE.case(f"tensor_tensor of int32 and uint32 without an engine is exact: {_name}",
               lambda op=_op: put((1, 3), "uint32", nisa.tensor_tensor,
                                  tile(np.array([[-1, -2**31, 2]], np.int32)),
                                  tile(np.array([[2, 2**31, 1]], np.uint32)), op),
               np.array([_wants], np.uint32))
TABLE.case("tensor_tensor to int8 saturates",
           lambda: put((1, 4), "int8", nisa.tensor_tensor, tile(rows([100, -100, 1.5, NAN])),
                       tile(rows([100, -100, 1.0, 1.0])), nl.add),
           np.array([[127, -128, 2, 0]], np.int8))
TABLE.case("tensor_tensor of two types",
           lambda: put((1, 3), "float32", nisa.tensor_tensor, tile(rows([1, 2, 3]), "bfloat16"),
                       tile(np.array([[4, 5, 250]], np.uint8)), nl.add), rows([5, 7, 253]))
TABLE.case("tensor_tensor of shapes with as many elements",
           lambda: put((3, 6), F32, nisa.tensor_tensor, tile(A.reshape(3, 2, 3)), tile(B), nl.add),
           A + B)
TABLE.case("tensor_tensor onto its own operand",
           lambda: _onto(lambda y: call(nisa.tensor_tensor, y, y, y, nl.add)), A * 2)
TABLE.refused("tensor_tensor of power on PSUM",
              lambda: like(A, nisa.tensor_tensor, tile(A, psum=True), tile(B), nl.power),
              "GpSimd has no path")
TABLE.refused("tensor_tensor on the scalar engine",
              lambda: like(A, nisa.tensor_tensor, tile(A), tile(B), nl.add,
                           engine=nisa.engine.scalar), "engine is vector or gpsimd")


def _onto(change):
    """A copy of A that is changed in its place."""
    y = tile(A)
    change(y)
    return y


# --- tensor_scalar: operators with a number and a column, in both orders ---

for _name, _op in ARITHMETIC.items():
    TABLE.case(f"tensor_scalar {_name} of a number, reversed",
               lambda name=_name: like(A, nisa.tensor_scalar, tile(A), getattr(nl, name), 1.5,
                                       reverse0=True), _op(np.float32(1.5), A),
               SINCE.get(_name, 2))
    TABLE.case(f"tensor_scalar, then {_name} of a column",
               lambda name=_name: like(A, nisa.tensor_scalar, tile(A), nl.multiply, tile(COLUMN),
                                       op1=getattr(nl, name), operand1=tile(OTHER)),
               _op(A * COLUMN, OTHER), SINCE.get(_name, 2))
for _name, _want, _since in (("abs", np.abs(A), 2), ("square", A * A, 4),
                             ("relu", np.maximum(A, 0), 4)):
    TABLE.case(f"tensor_scalar {_name}",
               lambda name=_name: like(A, nisa.tensor_scalar, tile(A), getattr(nl, name), None),
               _want, _since)
TABLE.case("tensor_scalar rsqrt on gpsimd",
           lambda: like(A, nisa.tensor_scalar, tile(np.abs(A) + 1), nl.rsqrt, 0.0,
                        engine=nisa.engine.gpsimd),
           1 / np.sqrt(np.abs(A).astype(np.float64) + 1), bound=2.0**-22)
TABLE.case("tensor_scalar reciprocal",
           lambda: like(A, nisa.tensor_scalar, tile(np.abs(A) + 1), nl.reciprocal, None),
           1 / (np.abs(A).astype(np.float64) + 1), bound=2.0**-23)
TABLE.case("tensor_scalar reversed twice",
           lambda: like(A, nisa.tensor_scalar, tile(A), nl.subtract, 2.0, True, nl.subtract,
                        tile(COLUMN), True), COLUMN - (2 - A))
TABLE.case("tensor_scalar multiply and add on the scalar engine",
           lambda: like(A, nisa.tensor_scalar, tile(A), nl.multiply, 2.0, op1=nl.add,
                        operand1=tile(COLUMN), engine=nisa.engine.scalar), A * 2 + COLUMN, 3)
TABLE.case("tensor_scalar on the vector engine by name, from PSUM to PSUM",
           lambda: like(A, nisa.tensor_scalar, tile(A, psum=True), nl.add, 1.0,
                        engine=nisa.engine.vector, psum=True), A + 1)
TABLE.refused("tensor_scalar on gpsimd of what is not rsqrt",
              lambda: like(A, nisa.tensor_scalar, tile(A), nl.maximum, 0.5,
                           engine=nisa.engine.gpsimd), "GpSimd has rsqrt alone")
TABLE.refused("tensor_scalar square before NeuronCore-v4",
              lambda: like(A, nisa.tensor_scalar, tile(A), nl.square, None), "NeuronCore-v4",
              until=3)
for _name, _want in (
        ("bitwise_and", WORDS & 0x0f), ("bitwise_or", WORDS | 0x0f),
        ("bitwise_xor", WORDS ^ 0x0f),
        ("left_shift", ((WORDS.astype(np.int64) << 15) & 0xffffffff).astype(np.uint32)),
        ("right_shift", (WORDS.astype(np.int64) & 0xffffffff) >> 15)):
    TABLE.case(f"tensor_scalar {_name} of a number",
               lambda name=_name: put(WORDS.shape, "uint32", nisa.tensor_scalar,
                                      tile(WORDS.view(np.uint32)), getattr(nl, name), 15),
               np.asarray(_want).astype(np.int64) & 0xffffffff)
TABLE.case("tensor_scalar bitwise_and of a column, then left_shift",
           lambda: put(WORDS.shape, "int32", nisa.tensor_scalar, tile(WORDS), nl.bitwise_and,
                       tile(MASKS), op1=nl.left_shift, operand1=2), (WORDS & MASKS) << 2)
TABLE.case("tensor_scalar invert",
           lambda: put(WORDS.shape, "int32", nisa.tensor_scalar, tile(WORDS), nl.invert, None),
           ~WORDS)
TABLE.case("tensor_scalar left_shift of a shift by the data",
           lambda: put((1, 3), "int32", nisa.tensor_scalar,
                       tile(np.array([[0, 3, 8]], np.int32)), nl.left_shift, 5, reverse0=True),
           np.array([[5, 40, 1280]], np.int32))
TABLE.refused("tensor_scalar of bits and arithmetic",
              lambda: put(WORDS.shape, "int32", nisa.tensor_scalar, tile(WORDS), nl.bitwise_and, 1,
                          op1=nl.add, operand1=1.0), "both bitwise or both arithmetic")
TABLE.refused("tensor_scalar with an operand that is no column",
              lambda: like(A, nisa.tensor_scalar, tile(A), nl.add, tile(B)),
              "one element for each partition")

# --- scalar_tensor_tensor ---

for _reverse0 in (False, True):
    for _reverse1 in (False, True):
        _first = (COLUMN - A) if _reverse0 else (A - COLUMN)
        TABLE.case(f"scalar_tensor_tensor reverse0={_reverse0} reverse1={_reverse1}",
                   lambda r0=_reverse0, r1=_reverse1: like(
                       A, nisa.scalar_tensor_tensor, tile(A), nl.subtract, tile(COLUMN),
                       nl.subtract, tile(B), reverse0=r0, reverse1=r1),
                   (B - _first) if _reverse1 else (_first - B))
TABLE.case("scalar_tensor_tensor with a number, from PSUM",
           lambda: like(A, nisa.scalar_tensor_tensor, tile(A, psum=True), nl.multiply, 0.5, nl.add,
                        tile(B)), A * np.float32(0.5) + B)
TABLE.case("scalar_tensor_tensor with operand1 in PSUM",
           lambda: like(A, nisa.scalar_tensor_tensor, tile(A), nl.maximum, 0.0, nl.minimum,
                        tile(B, psum=True)), np.minimum(np.maximum(A, 0), B))
TABLE.case("scalar_tensor_tensor compares, then multiplies",
           lambda: like(A, nisa.scalar_tensor_tensor, tile(A), nl.greater, 0.0, nl.multiply,
                        tile(B)), (A > 0) * B)
TABLE.case("scalar_tensor_tensor with one operand first",
           lambda: like(A, nisa.scalar_tensor_tensor, tile(A), nl.abs, None, nl.add, tile(B)),
           np.abs(A) + B)

# --- tensor_scalar_reduce and its accumulators ---


def reduced(op, reduce_op, **options):
    """(elements, reduction)"""
    total = nl.ndarray((3, 1), F32)
    made = like(A, nisa.tensor_scalar_reduce, tile(A), op, tile(COLUMN), reduce_op,
                reduce_res=total, **options)
    return made, total


for _name, _reduce in (("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum),
                       ("minimum", np.minimum)):
    TABLE.case(f"tensor_scalar_reduce by {_name}",
               lambda name=_name: reduced(nl.add, getattr(nl, name)),
               (A + COLUMN, _reduce.reduce((A + COLUMN).astype(np.float64), 1)))
TABLE.case("tensor_scalar_reduce negated",
           lambda: reduced(nl.multiply, nl.maximum, reduce_res_negate=True),
           (A * COLUMN, -(A * COLUMN).max(1)))
TABLE.case("tensor_scalar_reduce from a number",
           lambda: reduced(nl.add, nl.add, reduce_cmd=CMD.load_reduce, reduce_init=100.0),
           (A + COLUMN, 100 + (A + COLUMN).sum(1)))
TABLE.case("tensor_scalar_reduce from a tile",
           lambda: reduced(nl.add, nl.maximum, reduce_cmd=CMD.load_reduce,
                           reduce_init=tile(rows([-9.0], [50.0], [0.0]))),
           (A + COLUMN, np.maximum((A + COLUMN).max(1), [-9, 50, 0])))


def reduced_on():
    """Two instructions; what the second one reads out negated stays as it was inside."""
    first, second, third = (nl.ndarray((3, 1), F32) for _ in range(3))
    x = nl.ndarray(A.shape, F32)
    call(nisa.tensor_scalar_reduce, x, tile(A), nl.add, 0.0, nl.add, first)
    call(nisa.tensor_scalar_reduce, x, tile(B), nl.add, 0.0, nl.add, second,
         reduce_cmd=CMD.reduce, reduce_res_negate=True)
    call(nisa.tensor_scalar_reduce, x, tile(B), nl.multiply, 0.0, nl.add, third,
         reduce_cmd=CMD.reduce)
    return first, second, third


TABLE.case("tensor_scalar_reduce that goes on", reduced_on,
           (A.sum(1), -(A + B).sum(1), (A + B).sum(1)))
TABLE.case("tensor_scalar_reduce before it is rounded to the type of dst",
           lambda: _narrow_sum(), (np.array([[1, 3]], np.int8), rows([3.5])))
TABLE.refused("tensor_scalar_reduce reversed", lambda: reduced(nl.add, nl.add, reverse0=True),
              "reverse0")
TABLE.refused("tensor_scalar_reduce that loads nothing",
              lambda: reduced(nl.add, nl.add, reduce_cmd=CMD.load_reduce), "load_reduce")


def _narrow_sum():
    total = nl.ndarray((1, 1), F32)
    made = put((1, 2), "int8", nisa.tensor_scalar_reduce, tile(rows([0.75, 2.75])), nl.add, 0.0,
               nl.add, total)
    return made, total


# --- tensor_scalar_cumulative ---

for _name, _accumulate in (("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum),
                           ("minimum", np.minimum)):
    TABLE.case(f"tensor_scalar_cumulative {_name}",
               lambda name=_name: like(A, nisa.tensor_scalar_cumulative, tile(A), nl.add,
                                       getattr(nl, name), 2.0),
               _accumulate.accumulate((A + 2).astype(np.float64), axis=1))
TABLE.case("tensor_scalar_cumulative subtract: the element minus what was before",
           lambda: like(A, nisa.tensor_scalar_cumulative, tile(A), nl.multiply, nl.subtract, 1.0),
           lambda: _alternating(A))
TABLE.case("tensor_scalar_cumulative of a column",
           lambda: like(A, nisa.tensor_scalar_cumulative, tile(A), nl.multiply, nl.add,
                        tile(COLUMN)), np.cumsum(A * COLUMN, axis=1))
TABLE.case("tensor_scalar_cumulative from a number",
           lambda: like(A, nisa.tensor_scalar_cumulative, tile(A), nl.add, nl.add, 0.0, 10.0,
                        reduce_cmd=CMD.load_reduce), 10 + np.cumsum(A, axis=1))
TABLE.case("tensor_scalar_cumulative from a tile",
           lambda: like(A, nisa.tensor_scalar_cumulative, tile(A), nl.add, nl.maximum, 0.0,
                        tile(OTHER), reduce_cmd=CMD.load_reduce),
           np.maximum(OTHER, np.maximum.accumulate(A, axis=1)))


def cumulated_on():
    """The second one goes on from where the first one ended."""
    first = like(A, nisa.tensor_scalar_cumulative, tile(A), nl.add, nl.add, 0.0,
                 reduce_cmd=CMD.reset_reduce)
    second = like(A, nisa.tensor_scalar_cumulative, tile(B), nl.add, nl.add, 0.0,
                  reduce_cmd=CMD.reduce)
    return first, second


TABLE.case("tensor_scalar_cumulative that goes on", cumulated_on,
           (np.cumsum(A, axis=1), A.sum(1, keepdims=True) + np.cumsum(B, axis=1)))


def _alternating(a):
    """reg = op1(element, reg) with op1 = subtract, as the public pseudo code has it."""
    want, last = np.empty_like(a), np.zeros(len(a), np.float32)
    for i in range(a.shape[1]):
        last = a[:, i] - last
        want[:, i] = last
    return want


# --- tensor_tensor_scan: what its operators do is in test_semantics_moves.py ---

def _scanned(op0, op1, initial, dtype=np.float32):
    want, last = np.empty_like(A), np.asarray(initial, np.float32).reshape(-1)
    for i in range(A.shape[1]):
        last = op1(op0(A[:, i], last), B[:, i])
        want[:, i] = last
    return want.astype(dtype)


TABLE.case("tensor_tensor_scan from a column",
           lambda: like(A, nisa.tensor_tensor_scan, tile(A), tile(B), tile(COLUMN), nl.add,
                        nl.maximum), _scanned(np.add, np.maximum, COLUMN))
TABLE.case("tensor_tensor_scan of PSUM to FP16, which the next step does not see",
           lambda: put(A.shape, "float16", nisa.tensor_tensor_scan, tile(A, psum=True), tile(B),
                       2048.0, nl.add, nl.add),
           _scanned(np.add, np.add, np.full(3, 2048), np.float16))
TABLE.case("tensor_tensor_scan, both operators reversed",
           lambda: like(A, nisa.tensor_tensor_scan, tile(A), tile(B), 1.0, nl.subtract,
                        nl.subtract, reverse0=True, reverse1=True),
           _scanned(lambda a, last: last - a, lambda x, b: b - x, np.ones(3)))

# --- tensor_reduce ---

CUBE = ((np.arange(2 * 3 * 4) * 7 % 13) - 6).reshape(2, 3, 4).astype(np.float32)
BITS = (np.arange(2 * 3 * 4) * 41 % 64).reshape(2, 3, 4).astype(np.uint8)


def over(op, data, shape, axis, dtype=F32, **options):
    """A reduction."""
    return put(shape, dtype, nisa.tensor_reduce, getattr(nl, op), tile(data), axis, **options)


TABLE.case("tensor_reduce multiply", lambda: over("multiply", CUBE + 7, (2, 3), 2),
           np.prod(CUBE + 7, 2))
TABLE.case("tensor_reduce axis as an integer from the end",
           lambda: over("add", CUBE, (2, 3), -1), CUBE.sum(2))
TABLE.case("tensor_reduce axis as a list", lambda: over("maximum", CUBE, (2, 1), [1, 2]),
           CUBE.max((1, 2)))
TABLE.case("tensor_reduce keeps dimensions", lambda: over("add", CUBE, (2, 3, 1), (2,),
                                                          keepdims=True), CUBE.sum(2))
TABLE.case("tensor_reduce negated", lambda: over("minimum", CUBE, (2, 3), (2,), negate=True),
           -CUBE.min(2))
for _name, _reduce in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
                       ("bitwise_xor", np.bitwise_xor)):
    TABLE.case(f"tensor_reduce {_name}",
               lambda name=_name: over(name, BITS, (2, 3), 2, "uint8"), _reduce.reduce(BITS, 2))
for _name, _want in (("logical_and", (CUBE != 0).all(2)), ("logical_or", (CUBE != 0).any(2)),
                     ("logical_xor", (CUBE != 0).sum(2) % 2)):
    TABLE.case(f"tensor_reduce {_name}", lambda name=_name: over(name, CUBE, (2, 3), 2), _want)
TABLE.case("tensor_reduce of NaN", lambda: over("maximum", rows([1, NAN, 3], [1, 2, 3]), (2, 1),
                                                1), rows([NAN], [3]))
TABLE.case("tensor_reduce to int8 saturates",
           lambda: over("add", rows([100, 100], [-100, -100]), (2, 1), 1, "int8"),
           np.array([[127], [-128]], np.int8))
TABLE.case("tensor_reduce of uint8 is a sum in FP32",
           lambda: over("add", BITS, (2, 3), 2), BITS.astype(np.float32).sum(2))
TABLE.case("tensor_reduce from PSUM to PSUM",
           lambda: put((3, 1), F32, nisa.tensor_reduce, nl.add, tile(A, psum=True), 1, psum=True),
           A.sum(1))
TABLE.refused("tensor_reduce of partitions", lambda: over("add", CUBE, (2, 3), 0), "axis")
TABLE.refused("tensor_reduce of a dimension in the middle",
              lambda: over("add", CUBE, (2, 4), 1), "axis")

# --- reciprocal and statistics ---

TABLE.case("reciprocal of zeros, infinities and NaN",
           lambda: put((1, 5), F32, nisa.reciprocal, tile(rows([0.0, -0.0, INF, -INF, NAN]))),
           rows([INF, -INF, 0, -0.0, NAN]))
TABLE.case("reciprocal of integers to FP16",
           lambda: put((1, 4), "float16", nisa.reciprocal,
                       tile(np.array([[1, -2, 4, 100]], np.int32))),
           (1 / rows([1, -2, 4, 100])).astype(np.float16))
TABLE.case("reciprocal from PSUM",
           lambda: put((1, 3), F32, nisa.reciprocal, tile(rows([2, 4, -8]), psum=True)),
           rows([0.5, 0.25, -0.125]))
STAT = rows([1, 2, 3, 6, 5], [-4, 0, 4, 0, 0])
TABLE.case("bn_stats of an odd number of elements",
           lambda: put((2, 6), F32, nisa.bn_stats, tile(STAT)),
           rows([3, 3, 8, 2, 4, 8], [3, 0, 32, 2, 0, 0]))
TABLE.case("bn_aggr of one tile's statistics",
           lambda: put((2, 2), F32, nisa.bn_aggr, put((2, 6), F32, nisa.bn_stats, tile(STAT))),
           np.stack([STAT.mean(1), STAT.var(1)], 1), bound=1e-6)
TABLE.case("bn_aggr of counts of several tiles",
           lambda: put((1, 2), F32, nisa.bn_aggr, tile(rows([1, 2, 0, 3, 6, 8, 0, 9, 0]))),
           rows([5, 5]), bound=1e-6)
TABLE.case("bn_stats to bfloat16",
           lambda: put((2, 6), "bfloat16", nisa.bn_stats, tile(STAT)),
           rows([3, 3, 8, 2, 4, 8], [3, 0, 32, 2, 0, 0]))
