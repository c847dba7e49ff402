# SPDX-License-Identifier: MIT
"""Copies, fills, choices and places on the chip: engines, types, predicates, bounds, ties."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, like, put, rows, tile

TABLE = Table("moves")
NAN, INF = np.nan, np.inf
CMD = nisa.reduce_cmd
A = rows([0.0, 1.0, -1.25, 2.5], [2.0, -0.5, 0.25, -2.0], [1.5, -1.5, 3.0, -7.0])
B = rows([9.0, 8.0, 7.0, 6.0], [5.0, 4.0, 3.0, 2.0], [1.0, 0.0, -1.0, -2.0])
CHOICE = np.array([[1, 0, 0, 255], [0, 0, 0, 0], [7, 1, 128, 1]], np.uint8)
COLUMN = rows([2.0], [0.5], [-4.0])
BIG = np.array([[16777217, -16777217, 2**31 - 1]], np.int32)
LEAST = np.finfo(np.float32).min


def stored_bits(dtype, values, want, since=2):
    """FP32 numbers in a type: the bits by hand, from the layouts of numerics.rst."""
    size = 8 if dtype.startswith("float8") else 16
    TABLE.case(f"tensor_copy to {dtype}: ties, denormals, overflow and NaN",
               lambda: put((1, len(values)), dtype, nisa.tensor_copy, tile(rows(values)),
                           engine=nisa.engine.vector).view(f"uint{size}"),
               np.array([want], f"uint{size}"), since)


stored_bits("bfloat16", [1.0, 1 + 2**-8, 1 + 3 * 2**-8, -0.0, 3.4e38, INF, NAN],
            [0x3f80, 0x3f80, 0x3f82, 0x8000, 0x7f80, 0x7f80, 0x7fc0])
stored_bits("float16", [1.0, 1 + 2**-11, 1 + 3 * 2**-11, 2.0**-24, 2.0**-25, 65520, -INF, NAN],
            [0x3c00, 0x3c00, 0x3c02, 0x0001, 0x0000, 0x7c00, 0xfc00, 0x7e00])
stored_bits("float8_e4m3", [1.0, 1.0625, 1.1875, 240.0, 248.0, -INF, NAN, 2.0**-9, 2.0**-10],
            [0x38, 0x38, 0x3a, 0x77, 0x78, 0xf8, 0x7c, 0x01, 0x00])
stored_bits("float8_e5m2", [1.0, 1.125, 1.375, 57344.0, 61440.0, NAN, 2.0**-16, 2.0**-17],
            [0x3c, 0x3c, 0x3e, 0x7b, 0x7c, 0x7e, 0x01, 0x00])
stored_bits("float8_e4m3fn", [1.0, 1.0625, 448.0, 464.0, 465.0, INF, NAN],
            [0x38, 0x38, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f], 4)
for _engine, _since in (("vector", 2), ("gpsimd", 2), ("scalar", 3), ("unknown", 3)):
    TABLE.case(f"tensor_copy of int32 on {_engine} keeps the bits",
               lambda e=_engine: put(BIG.shape, "int32", nisa.tensor_copy, tile(BIG),
                                     engine=nisa.engine[e]), BIG, _since)
TABLE.case("tensor_copy of int32 to FP32 rounds",
           lambda: put(BIG.shape, F32, nisa.tensor_copy, tile(BIG), engine=nisa.engine.vector),
           rows([16777216, -16777216, 2**31]))
TABLE.case("tensor_copy of int32 to uint8 saturates",
           lambda: put(BIG.shape, "uint8", nisa.tensor_copy, tile(BIG),
                       engine=nisa.engine.vector), np.array([[255, 0, 255]], np.uint8))
TABLE.case("tensor_copy of an 8-bit float to FP32",
           lambda: put((1, 3), F32, nisa.tensor_copy, tile(rows([0.5, -240, 1.75]),
                                                           "float8_e4m3")),
           rows([0.5, -240, 1.75]))
TABLE.case("tensor_copy from PSUM to SBUF on the scalar engine",
           lambda: like(A, nisa.tensor_copy, tile(A, psum=True), engine=nisa.engine.scalar), A, 2)
TABLE.case("tensor_copy to PSUM", lambda: like(A, nisa.tensor_copy, tile(A), psum=True), A)
TABLE.case("tensor_copy of another shape with as many elements",
           lambda: put((3, 2, 2), F32, nisa.tensor_copy, tile(A)), A)
TABLE.case("tensor_copy of a NaN moves its bits",
           lambda: put((1, 2), F32, nisa.tensor_copy,
                       tile(np.array([[0x7fa12345, 0xffc00001]], np.uint32)).view(F32),
                       engine=nisa.engine.vector).view("uint32"),
           np.array([[0x7fa12345, 0xffc00001]], np.uint32))
TABLE.refused("tensor_copy of PSUM on gpsimd",
              lambda: like(A, nisa.tensor_copy, tile(A, psum=True), engine=nisa.engine.gpsimd),
              "PSUM")
TABLE.refused("tensor_copy between numbers of partitions",
              lambda: put((2, 4), F32, nisa.tensor_copy, tile(A)), "as many partitions")

# --- memset ---

for _dtype, _value, _want in (
        ("float32", 0.1, np.float32(0.1)), ("bfloat16", 1 + 3 * 2.0**-8, np.float32(1 + 2**-6)),
        ("float16", -2.5, -2.5), ("float8_e4m3", 240, 240), ("float8_e5m2", -0.25, -0.25),
        ("int32", 2**31 - 1, 2**31 - 1), ("uint32", 2**32 - 1, 2**32 - 1), ("int16", -300, -300),
        ("uint16", 65535, 65535), ("int8", -128, -128), ("uint8", 200, 200)):
    TABLE.case(f"memset of {_dtype}",
               lambda dtype=_dtype, value=_value: put((2, 3), dtype, nisa.memset, value),
               np.full((2, 3), _want))
TABLE.case("memset on the vector engine, of PSUM",
           lambda: put((2, 3), F32, nisa.memset, 7.0, engine=nisa.engine.vector, psum=True),
           np.full((2, 3), 7))
TABLE.case("memset on gpsimd",
           lambda: put((2, 3), F32, nisa.memset, -1.0, engine=nisa.engine.gpsimd),
           np.full((2, 3), -1))
TABLE.case("memset of a packed type with 0",
           lambda: put((32, 2), "float8_e4m3fn_x4", nisa.memset, 0).view("uint32"),
           np.zeros((32, 2), np.uint32), 4)
TABLE.refused("memset of a packed type with another number",
              lambda: put((32, 2), "float8_e5m2_x4", nisa.memset, 1), "filled with 0", 4)
TABLE.refused("memset on the scalar engine",
              lambda: put((2, 3), F32, nisa.memset, 1.0, engine=nisa.engine.scalar),
              "engine is vector or gpsimd")

# --- tensor_copy_predicated: types of the predicate are in test_semantics_tiles.py ---


def predicated(source, choice, dtype=F32, **options):
    """What is not chosen stays B."""
    y = tile(B, dtype)
    call(nisa.tensor_copy_predicated, y, source() if callable(source) else source,
         tile(choice), **options)
    return y


TABLE.case("tensor_copy_predicated in bfloat16",
           lambda: predicated(lambda: tile(A, "bfloat16"), CHOICE, "bfloat16"),
           np.where(CHOICE != 0, A, B))
TABLE.case("tensor_copy_predicated of a number, reversed, in int32",
           lambda: predicated(-5, CHOICE, "int32", reverse_pred=True), np.where(CHOICE, B, -5))
TABLE.case("tensor_copy_predicated with src in PSUM",
           lambda: predicated(lambda: tile(A, psum=True), CHOICE), np.where(CHOICE != 0, A, B))
TABLE.case("tensor_copy_predicated with the predicate in PSUM",
           lambda: _in_psum(), np.where(CHOICE != 0, A, B))
TABLE.refused("tensor_copy_predicated with a predicate of floats",
              lambda: predicated(lambda: tile(A), CHOICE.astype(np.float32)),
              "predicate is uint8, uint16 or uint32")


def _in_psum():
    y = tile(B)
    call(nisa.tensor_copy_predicated, y, tile(A), tile(CHOICE.astype(np.uint32), psum=True))
    return y


# --- select_reduce ---


def selected(on_false, choice=CHOICE, **options):
    """(elements, reduction)"""
    total = nl.ndarray((3, 1), F32)
    made = like(A, nisa.select_reduce, tile(choice), tile(A),
                on_false() if callable(on_false) else on_false, total,
                **{"reduce_cmd": CMD.reset_reduce, **options})
    return made, total


PICKED = np.where(CHOICE != 0, A, -2.5)
TABLE.case("select_reduce with a number", lambda: selected(-2.5), (PICKED, PICKED.max(1)))
TABLE.case("select_reduce with a column", lambda: selected(lambda: tile(COLUMN)),
           (np.where(CHOICE != 0, A, COLUMN), np.where(CHOICE != 0, A, COLUMN).max(1)))
TABLE.case("select_reduce reversed", lambda: selected(-2.5, reverse_pred=True),
           (np.where(CHOICE == 0, A, -2.5), np.where(CHOICE == 0, A, -2.5).max(1)))
for _dtype in ("int8", "int16", "uint16"):
    TABLE.case(f"select_reduce with a predicate of {_dtype}",
               lambda dtype=_dtype: selected(-2.5, CHOICE.astype(dtype)), (PICKED, PICKED.max(1)))
TABLE.case("select_reduce that says reduce_op", lambda: selected(-2.5, reduce_op=nl.maximum),
           (PICKED, PICKED.max(1)))
TABLE.case("select_reduce without a reduction",
           lambda: like(A, nisa.select_reduce, tile(CHOICE), tile(A), 4.0,
                        reduce_cmd=CMD.idle), np.where(CHOICE != 0, A, 4))


def selected_on():
    """The greatest of two tiles; the first one reads nothing out."""
    total, y = nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    call(nisa.select_reduce, y, tile(CHOICE), tile(A), -9.0, reduce_cmd=CMD.reset_reduce)
    call(nisa.select_reduce, y, tile(CHOICE), tile(B), -9.0, total, CMD.reduce)
    return total


TABLE.case("select_reduce that goes on", selected_on,
           np.maximum(np.where(CHOICE != 0, A, -9).max(1), np.where(CHOICE != 0, B, -9).max(1)))

# --- range_select ---

LOW, HIGH = rows([1.0], [0.0], [2.0]), rows([3.0], [4.0], [2.0])
PLACES = np.arange(4)[None]


def ranged(op0, op1, **options):
    """(elements, reduction)"""
    total = nl.ndarray((3, 1), F32)
    made = like(A, nisa.range_select, tile(A), op0, op1, tile(LOW), tile(HIGH),
                reduce_res=total, **options)
    return made, total


def in_range(holds):
    """The same in NumPy."""
    made = np.where(holds, A, LEAST)
    return made, made.max(1)


for _op0, _op1 in (("greater", "less"), ("greater_equal", "less_equal"), ("equal", "less"),
                   ("less", "less_equal"), ("greater_equal", "equal")):
    TABLE.case(f"range_select {_op0} and {_op1}",
               lambda a=_op0, b=_op1: ranged(getattr(nl, a), getattr(nl, b)),
               in_range(getattr(np, _op0)(PLACES, LOW) & getattr(np, _op1)(PLACES, HIGH)), 3)
BETWEEN = (nl.greater_equal, nl.less)
TABLE.case("range_select from another start", lambda: ranged(*BETWEEN, range_start=2),
           in_range((PLACES + 2 >= LOW) & (PLACES + 2 < HIGH)), 3)
TABLE.case("range_select from before 0", lambda: ranged(*BETWEEN, range_start=-2),
           in_range((PLACES - 2 >= LOW) & (PLACES - 2 < HIGH)), 3)
TABLE.case("range_select that says on_false_value and reduce_op",
           lambda: ranged(*BETWEEN, on_false_value=float(LEAST), reduce_op=nl.maximum),
           in_range((PLACES >= LOW) & (PLACES < HIGH)), 3)
TABLE.case("range_select of FP16 becomes -infinity there",
           lambda: put(A.shape, "float16", nisa.range_select, tile(A, "float16"), *BETWEEN,
                       tile(LOW), tile(HIGH)),
           np.where((PLACES >= LOW) & (PLACES < HIGH), A, -INF).astype(np.float16), 3)


def ranged_on(command):
    """A second instruction after one whose greatest element is 9."""
    total, y = nl.ndarray((3, 1), F32), nl.ndarray(A.shape, F32)
    every = (nl.greater_equal, nl.less_equal, tile(rows([0.0], [0.0], [0.0])),
             tile(rows([9.0], [9.0], [9.0])))
    call(nisa.range_select, y, tile(B), *every, CMD.reset_reduce)
    call(nisa.range_select, y, tile(A), *every, command, total)
    return total


TABLE.case("range_select that goes on", lambda: ranged_on(CMD.reduce),
           np.maximum(A.max(1), B.max(1)), 3)
TABLE.case("range_select that begins anew", lambda: ranged_on(CMD.reset_reduce), A.max(1), 3)
TABLE.refused("range_select with another on_false_value",
              lambda: ranged(*BETWEEN, on_false_value=0.0), "least FP32 number", 3)
TABLE.refused("range_select before NeuronCore-v3", lambda: ranged(*BETWEEN), "NeuronCore-v3",
              until=2)

# --- the eight largest ---

LINE = rows([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [-1, -2, -3, -4, -5, -6, -7, -8, -9, -10])
TOP = -np.sort(-LINE, axis=1)[:, :8]
TABLE.case("max8 of exactly eight", lambda: put((2, 8), F32, nisa.max8, tile(LINE[:, :8])),
           -np.sort(-LINE[:, :8], axis=1))
TABLE.case("max8 of three dimensions to FP16",
           lambda: put((2, 8), "float16", nisa.max8, tile(LINE.reshape(2, 5, 2))),
           TOP.astype(np.float16))
TABLE.case("nc_find_index8 as uint16, of what is there and what is not",
           lambda: put((1, 8), "uint16", nisa.nc_find_index8, tile(LINE[:1]),
                       tile(rows([9, 5, 5, 100, 1, 1, 1, 3]))),
           np.array([[5, 4, 8, 0xffff, 1, 3, 0xffff, 0]], np.uint16))
TABLE.case("nc_find_index8 as uint32 of what is not there",
           lambda: put((1, 8), "uint32", nisa.nc_find_index8, tile(LINE[:1]),
                       tile(rows([7, 9, 7, 7, 7, 7, 7, 2]))),
           np.array([[2**32 - 1, 5] + [2**32 - 1] * 5 + [6]], np.uint32))


def replaced():
    """The example of the public page."""
    places = nl.ndarray((1, 8), "uint32")
    made = put((1, 11), F32, nisa.nc_match_replace8, tile(rows([1, 2, 3, 4] + [8] * 7)),
               tile(rows([3] + [8] * 7)), -1.0, dst_idx=places)
    return made, places


TABLE.case("nc_match_replace8 pairs equal values from the last one on", replaced,
           (rows([1, 2, -1, 4] + [-1] * 7), np.array([[2, 10, 9, 8, 7, 6, 5, 4]])))
TABLE.case("nc_match_replace8 of what is not there",
           lambda: put((1, 10), F32, nisa.nc_match_replace8, tile(LINE[:1]),
                       tile(rows([100] * 7 + [9])), 0.5),
           rows([3, 1, 4, 1, 5, 0.5, 2, 6, 5, 3]))

# --- nc_stream_shuffle and nc_transpose ---

DEEP = (np.arange(64 * 2).reshape(64, 2) * 3 % 50).astype(np.float32)
SWAP = [i ^ 1 for i in range(32)]


def shuffled(mask, array=DEEP, dtype=F32):
    """Over a tile of sevens."""
    y = nl.full(array.shape, 7, dtype)
    call(nisa.nc_stream_shuffle, y, tile(array, dtype), mask)
    return y


TABLE.case("nc_stream_shuffle in each 32 partitions alike", lambda: shuffled(SWAP),
           DEEP[np.arange(64) ^ 1])
TABLE.case("nc_stream_shuffle of one partition to all", lambda: shuffled([5] * 32),
           DEEP[np.arange(64) // 32 * 32 + 5])
TABLE.case("nc_stream_shuffle leaves partitions that have 255",
           lambda: shuffled([255 if i % 2 else 31 - i for i in range(32)]),
           np.where(np.arange(64)[:, None] % 2, 7,
                    DEEP[np.arange(64) // 32 * 32 + 31 - np.arange(64) % 32]))
TABLE.case("nc_stream_shuffle of bfloat16", lambda: shuffled(SWAP, dtype="bfloat16"),
           DEEP[np.arange(64) ^ 1])
TABLE.case("nc_stream_shuffle in place", lambda: _in_place(), DEEP[np.arange(64) ^ 1])
TABLE.refused("nc_stream_shuffle with a mask of 31", lambda: shuffled(SWAP[:31]),
              "shuffle_mask has 32 numbers")


def _in_place():
    y = tile(DEEP)
    call(nisa.nc_stream_shuffle, y, y, SWAP)
    return y


WHOLE = np.abs(A * 4)
for _dtype in ("int8", "uint16", "int32", "float16"):
    TABLE.case(f"nc_transpose of {_dtype} on the vector engine",
               lambda dtype=_dtype: put((4, 3), dtype, nisa.nc_transpose, tile(WHOLE, dtype),
                                        engine=nisa.engine.vector), WHOLE.T)
TABLE.case("nc_transpose of two free dimensions",
           lambda: put((4, 3), F32, nisa.nc_transpose, tile(A.reshape(3, 2, 2))), A.T)
TABLE.case("nc_transpose from PSUM to PSUM on the vector engine",
           lambda: put((4, 3), F32, nisa.nc_transpose, tile(A, psum=True),
                       engine=nisa.engine.vector, psum=True), A.T)
TABLE.case("nc_transpose on the tensor engine",
           lambda: put((4, 3), F32, nisa.nc_transpose, tile(A), engine=nisa.engine.tensor,
                       psum=True), A.T)
for _dtype in ("bfloat16", "float16", "int16", "uint16"):
    TABLE.case(f"nc_transpose of {_dtype} on the tensor engine",
               lambda dtype=_dtype: put((4, 3), dtype, nisa.nc_transpose, tile(WHOLE, dtype),
                                        engine=nisa.engine.tensor, psum=True), WHOLE.T)
BITS = np.array([[-1, 0x7fffffff, 5], [-0x80000000, 0x7fc00000, -0x123457]], np.int32)
TABLE.case("nc_transpose of int32 on the tensor engine, bit for bit",
           lambda: put((3, 2), "int32", nisa.nc_transpose, tile(BITS),
                       engine=nisa.engine.tensor, psum=True), BITS.T)
for _dtype in ("float8_e5m2", "int8"):
    TABLE.case(f"nc_transpose of {_dtype} on the tensor engine, as 8 bits",
               lambda dtype=_dtype: put((4, 3), dtype, nisa.nc_transpose,
                                        tile(np.sign(A) * 2, dtype), engine=nisa.engine.tensor,
                                        psum=True), (np.sign(A) * 2).T, 2, 2)
TABLE.case("nc_transpose of two free dimensions of bfloat16 on the tensor engine",
           lambda: put((4, 3), "bfloat16", nisa.nc_transpose,
                       tile(WHOLE.reshape(3, 2, 2), "bfloat16"), engine=nisa.engine.tensor,
                       psum=True), WHOLE.T)
TABLE.case("nc_transpose of NaN and infinities on the tensor engine",
           lambda: put((3, 1), F32, nisa.nc_transpose, tile(rows([NAN, INF, -INF])),
                       engine=nisa.engine.tensor, psum=True), rows([NAN], [INF], [-INF]), 3)
TABLE.refused("nc_transpose of 33 columns on the vector engine",
              lambda: put((33, 2), F32, nisa.nc_transpose, tile(np.ones((2, 33), np.float32)),
                          engine=nisa.engine.vector), "up to 32 x 32")
