# SPDX-License-Identifier: MIT
"""GpSimd and random numbers: patterns, gathers, reductions of partitions, lists."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, like, put, rows, tile

TABLE = Table("gpsimd")
A = rows([0.0, 1.0, -1.25, 2.5], [2.0, -0.5, 0.25, -2.0], [1.5, -1.5, 3.0, -7.0])
P = np.arange(3)[:, None]

# --- iota: what its steps do is in test_semantics_tiles.py ---

for _dtype in ("float32", "float16", "bfloat16", "int16", "uint8"):
    TABLE.case(f"iota as {_dtype}",
               lambda dtype=_dtype: put((3, 4), dtype, nisa.iota, [[2, 4]], 1, 10),
               1 + 10 * P + 2 * np.arange(4))
TABLE.case("iota as int8 saturates",
           lambda: put((1, 3), "int8", nisa.iota, [[100, 3]], offset=-100),
           np.array([[-100, 0, 100]], np.int8))
TABLE.case("iota beyond 24 bits", lambda: put((1, 3), "int32", nisa.iota, [[1, 3]], offset=2**24),
           np.array([[2**24, 2**24 + 1, 2**24 + 2]], np.int32))
TABLE.case("iota of four dimensions",
           lambda: put((1, 24), "int32", nisa.iota, [[1000, 2], [100, 3], [10, 2], [1, 2]]),
           [w * 1000 + z * 100 + y * 10 + x for w in range(2) for z in range(3) for y in range(2)
            for x in range(2)])
TABLE.case("iota of a negative channel_multiplier",
           lambda: put((3, 1), "int32", nisa.iota, [[0, 1]], channel_multiplier=-7), P * -7)
TABLE.refused("iota of a pattern that is too short",
              lambda: put((1, 4), "int32", nisa.iota, [[1, 3]]), "pattern counts the 4 elements")

# --- affine_select ---


def triangle(*args, **options):
    """Of A, a partition against a column."""
    return put((3, 4), F32, nisa.affine_select, [[-1, 4]], 1, tile(A), *args, **options)


TABLE.case("affine_select compares for equality by default", lambda: triangle(9.0),
           np.where(P == np.arange(4), A, 9))
TABLE.case("affine_select moved by an offset",
           lambda: triangle(9.0, cmp_op=nl.greater_equal, offset=-1),
           np.where(P - np.arange(4) - 1 >= 0, A, 9))
TABLE.case("affine_select to FP16 of a large number",
           lambda: put((3, 4), "float16", nisa.affine_select, [[-1, 4]], 1, tile(A), -1e30,
                       cmp_op=nl.less), np.where(P < np.arange(4), A, -np.inf).astype(np.float16))
TABLE.case("affine_select of int32",
           lambda: put((1, 3), "int32", nisa.affine_select, [[1, 3]], 0,
                       tile(np.array([[2**30 + 1, 5, -7]], np.int32)), 3.0, cmp_op=nl.less_equal,
                       offset=-1), np.array([[2**30 + 1, 5, 3]], np.int32))
TABLE.refused("affine_select in PSUM",
              lambda: put((3, 4), F32, nisa.affine_select, [[-1, 4]], 1, tile(A), 0.0, psum=True),
              "PSUM")

# --- tensor_partition_reduce ---

WORDS = np.array([[0x0f, 1, 255], [0x3c, 2, 127], [0xff, 4, 63]], np.uint8)
for _name, _want in (("add", A.sum(0)), ("average", A.astype(np.float64).mean(0)),
                     ("max", A.max(0))):
    TABLE.case(f"tensor_partition_reduce {_name}",
               lambda name=_name: put((1, 4), F32, nisa.tensor_partition_reduce,
                                      getattr(nl, name), tile(A)), _want, bound=1e-6)
for _name, _reduce in (("bitwise_or", np.bitwise_or), ("bitwise_and", np.bitwise_and)):
    TABLE.case(f"tensor_partition_reduce {_name}",
               lambda name=_name: put((1, 3), "uint8", nisa.tensor_partition_reduce,
                                      getattr(nl, name), tile(WORDS)), _reduce.reduce(WORDS, 0))
TABLE.case("tensor_partition_reduce of one partition",
           lambda: put((1, 4), F32, nisa.tensor_partition_reduce, nl.add, tile(A[1:2])), A[1])
TABLE.case("tensor_partition_reduce to int8 saturates",
           lambda: put((1, 2), "int8", nisa.tensor_partition_reduce, nl.add,
                       tile(rows([100, -100], [100, -100]))), np.array([[127, -128]], np.int8))

# --- gathers ---

DATA = (np.arange(32 * 8) * 5 % 97).reshape(32, 8).astype(np.float32)
INDEX = (np.arange(32 * 2) * 3 % 8).reshape(32, 2).astype(np.uint16)


def gathered(each=1, valid=None, data=DATA, index=INDEX):
    """NumPy's: the list of 16 partitions runs down them first."""
    made = []
    for first in range(0, len(data), 16):
        order = index[first:first + 16].T.ravel()[:valid]
        places = (order[:, None] + np.arange(each)).ravel()
        made.append(data[first:first + 16][:, places])
    return np.concatenate(made)


SMALL = (INDEX % 2 * 4).astype(np.uint16)
TABLE.case("local_gather in each 16 partitions",
           lambda: put((32, 32), F32, nisa.local_gather, tile(DATA), tile(INDEX)), gathered())
for _each in (2, 4):
    TABLE.case(f"local_gather of {_each} elements for each index",
               lambda each=_each: put((32, 32 * each), F32, nisa.local_gather, tile(DATA),
                                      tile(SMALL), num_elem_per_idx=each),
               gathered(_each, index=SMALL))
TABLE.case("local_gather of 19 valid indices",
           lambda: put((32, 19), F32, nisa.local_gather, tile(DATA), tile(INDEX),
                       num_valid_indices=19), gathered(valid=19))
TABLE.case("local_gather of uint8",
           lambda: put((32, 32), "uint8", nisa.local_gather, tile(DATA.astype(np.uint8)),
                       tile(INDEX)), gathered())
TABLE.refused("local_gather of 3 elements for each index",
              lambda: put((32, 96), F32, nisa.local_gather, tile(DATA), tile(SMALL),
                          num_elem_per_idx=3), "1, 2, 4, 8, 16, 32 are possible")
PICK = np.array([[3, 0, 3, 1, 2], [0, 0, 0, 0, 3], [1, 2, 1, 2, 1]], np.uint32)
TABLE.case("nc_n_gather with repeated indices",
           lambda: put((3, 5), F32, nisa.nc_n_gather, tile(A), tile(PICK)),
           np.take_along_axis(A, PICK.astype(np.int64), 1))
TABLE.case("nc_n_gather of flattened dimensions",
           lambda: put((3, 5), "bfloat16", nisa.nc_n_gather,
                       tile(A.reshape(3, 2, 2), "bfloat16"), tile(PICK)),
           np.take_along_axis(A, PICK.astype(np.int64), 1))
LONG = (np.arange(600) * 7 % 600).astype(np.uint32)[None]
TABLE.case("nc_n_gather of more than 512 elements",
           lambda: put((1, 600), F32, nisa.nc_n_gather,
                       tile(np.arange(600, dtype=np.float32)[None]), tile(LONG)), LONG)

# --- nonzero_with_count: only partitions 0, 16, 32, ... ---

SPARSE = np.zeros((17, 6), np.float32)
SPARSE[0], SPARSE[1], SPARSE[16] = [0, 1, 0, -2, np.nan, 0], 5, [3, 0, 0, 0, 0, -0.0]


def counted(**options):
    """Over a tile of 77, so that it shows what is not written."""
    y = nl.full((17, 7), 77, "int32")
    call(nisa.nonzero_with_count, y, tile(SPARSE), **options)
    return y


def listed(offset=0, padding=-1):
    """The same by hand."""
    want = np.full((17, 7), 77)
    want[0] = [1 + offset, 3 + offset, 4 + offset] + [padding] * 3 + [3]
    want[16] = [offset] + [padding] * 5 + [1]
    return want


TABLE.case("nonzero_with_count in partitions 0 and 16 alone", counted, listed(), 3)
TABLE.case("nonzero_with_count with an index_offset", lambda: counted(index_offset=100),
           listed(100), 3)
TABLE.case("nonzero_with_count with a padding_val", lambda: counted(padding_val=-9),
           listed(padding=-9), 3)
TABLE.case("nonzero_with_count of int32 without a zero",
           lambda: put((1, 4), "int32", nisa.nonzero_with_count,
                       tile(np.array([[1, -1, 2**31 - 1]], np.int32))),
           np.array([[0, 1, 2, 3]]), 3)
TABLE.case("nonzero_with_count of zeros alone",
           lambda: put((1, 4), "int32", nisa.nonzero_with_count,
                       tile(np.zeros((1, 3), np.int32))), np.array([[-1, -1, -1, 0]]), 3)
TABLE.refused("nonzero_with_count before NeuronCore-v3", counted, "NeuronCore-v3", until=2)

# --- topk: 16 partitions share a list, which runs down them first ---

SNAKE = ((np.arange(32) * 11 % 32) - 16).astype(np.float32)


def best(n, k):
    """The values ascending, and where they were."""
    values, places = nl.ndarray((16, k), "bfloat16"), nl.ndarray((16, k), "uint32")
    call(nisa.topk, values, places, tile(SNAKE.reshape(2, 16).T, "bfloat16"), n)
    return values, places


def best_of(n, k):
    """The same in NumPy."""
    order = np.argsort(SNAKE[:n], kind="stable")[n - k:]
    return np.tile(SNAKE[order], (16, 1)), np.tile(order, (16, 1))


TABLE.case("topk of all", lambda: best(32, 5), best_of(32, 5))
TABLE.case("topk of a part of the list", lambda: best(19, 3), best_of(19, 3))
TABLE.case("topk of as many as there are", lambda: best(8, 8), best_of(8, 8))

# --- sequence_bounds ---

for _dtype in ("int32", "float32"):
    TABLE.case(f"sequence_bounds of {_dtype}",
               lambda dtype=_dtype: put(
                   (1, 2, 7), dtype, nisa.sequence_bounds,
                   tile(np.array([[0, 3, 3, 0, 0, 5, 2]]).astype(dtype))),
               np.array([[7, 1, 1, 7, 7, 5, 6], [-1, 3, 3, -1, -1, 6, 7]]))
TABLE.case("sequence_bounds of one segment",
           lambda: put((1, 2, 4), "int32", nisa.sequence_bounds,
                       tile(np.full((1, 4), 9, np.int32))), np.array([[0] * 4, [4] * 4]))

# --- random numbers: which they are is not public, so what holds of them is looked at ---


def seeded(number=7):
    """Begin the vector engine's anew."""
    call(nisa.set_rng_seed, tile(np.array([[number]], np.uint32)))


def same_bits(function, *args, dtype="uint32", before=seeded, **options):
    """1 everywhere: the same seed gives the same numbers, the second time in SBUF."""
    made = []
    for changed in (options, {**options, "psum": False}):
        before()
        made.append(put((3, 4), dtype, function, *args, **changed))
    return like(A, nisa.tensor_tensor, made[0], made[1], nl.equal)


def differing(dtype, *args, **options):
    """How many of 64 words are those of the next 64: none by all odds but one in a million."""
    seeded()
    first = put((1, 64), dtype, nisa.rng, *args, **options)
    second = put((1, 64), dtype, nisa.rng, *args, **options)
    equal = put((1, 64), F32, nisa.tensor_tensor, first, second, nl.equal)
    return put((1, 1), F32, nisa.tensor_reduce, nl.add, equal, 1)


TABLE.case("rng repeats itself from a seed on", lambda: same_bits(nisa.rng), np.ones((3, 4)))
TABLE.case("rng goes on", lambda: differing("uint32"), [[0]])
TABLE.case("rng on the vector engine by name",
           lambda: same_bits(nisa.rng, engine=nisa.engine.vector), np.ones((3, 4)))
TABLE.case("rng of uint8 is the lowest byte of the word",
           lambda: _low_byte(), np.ones((3, 4)))
TABLE.case("rng to PSUM has the same bits", lambda: _psum_bits(), np.ones((3, 4)))


def _psum_bits():
    seeded()
    words = put((3, 4), "uint32", nisa.rng)
    seeded()
    return like(A, nisa.tensor_tensor, words, put((3, 4), "uint32", nisa.rng, psum=True), nl.equal)


def _low_byte():
    seeded()
    words = put((3, 4), "uint32", nisa.rng)
    seeded()
    narrow = put((3, 4), "uint8", nisa.rng)
    low = nl.ndarray((3, 4), "uint32")
    nisa.tensor_scalar(low, words, nl.bitwise_and, 255)
    wide = nl.ndarray((3, 4), "uint32")
    nisa.tensor_copy(wide, narrow, engine=nisa.engine.vector)
    return like(A, nisa.tensor_tensor, low, wide, nl.equal)


def states(engine, count):
    """Set, draw, set again and draw again; then what the states are right after they were set."""
    words = (np.arange(3 * count).reshape(3, count) * 977 + 1).astype(np.uint32)
    draws = []
    for _ in range(2):
        call(nisa.rand_set_state, tile(words), engine=engine)
        draws.append(put((3, 4), "uint32", nisa.rng, engine=engine))
    call(nisa.rand_set_state, tile(words), engine=engine)
    told = put((3, count), "uint32", nisa.rand_get_state, engine=engine)
    return like(A, nisa.tensor_tensor, draws[0], draws[1], nl.equal), told


def words_of(count):
    """What was set."""
    return (np.arange(3 * count).reshape(3, count) * 977 + 1).astype(np.uint32)


TABLE.case("rand_set_state and rand_get_state of gpsimd", lambda: states(nisa.engine.gpsimd, 6),
           (np.ones((3, 4)), words_of(6)), 3)
TABLE.case("rand_set_state and rand_get_state of the vector engine",
           lambda: states(nisa.engine.vector, 24), (np.ones((3, 4)), words_of(24)), 4)
TABLE.refused("rng on gpsimd before NeuronCore-v3",
              lambda: put((3, 4), "uint32", nisa.rng, engine=nisa.engine.gpsimd),
              "NeuronCore-v3", until=2)
TABLE.refused("rand_set_state of the vector engine before NeuronCore-v4",
              lambda: states(nisa.engine.vector, 24), "NeuronCore-v4", 3, 3)


def within(low, high):
    """Least and greatest of 64 numbers are in the range: 1 and 1."""
    made = put((3, 64), F32, nisa.rand2, low(), high())
    least, most = nl.ndarray((3, 1), F32), nl.ndarray((3, 1), F32)
    nisa.tensor_reduce(least, nl.minimum, made, 1)
    nisa.tensor_reduce(most, nl.maximum, made, 1)
    y = nl.ndarray((3, 2), F32)
    nisa.tensor_scalar(y[:, 0:1], least, nl.greater_equal, low())
    nisa.tensor_scalar(y[:, 1:2], most, nl.less_equal, high())
    return y


TABLE.case("rand2 between numbers", lambda: within(lambda: -2.0, lambda: 3.0), np.ones((3, 2)), 4)
TABLE.case("rand2 between columns",
           lambda: within(lambda: tile(rows([0.0], [5.0], [-9.0])),
                          lambda: tile(rows([1.0], [5.5], [9.0]))), np.ones((3, 2)), 4)
TABLE.case("rand2 of int32 rounds", lambda: put((1, 8), "int32", nisa.rand2, 3.75, 4.25),
           np.full((1, 8), 4), 4)
TABLE.case("dropout of nothing", lambda: like(A, nisa.dropout, tile(A), 0.0), A)
TABLE.case("dropout of everything", lambda: like(A, nisa.dropout, tile(A), 1.0), np.zeros((3, 4)))
TABLE.case("dropout with one probability for each partition",
           lambda: like(A, nisa.dropout, tile(A), tile(rows([1.0], [0.0], [1.0]))),
           A * rows([0.0], [1.0], [0.0]))
TABLE.case("dropout of int32 keeps all bits",
           lambda: put((1, 2), "int32", nisa.dropout, tile(np.array([[2**30 + 1, -5]], np.int32)),
                       0.0), np.array([[2**30 + 1, -5]], np.int32))
TABLE.case("dropout repeats itself from a seed on",
           lambda: same_bits(nisa.dropout, tile(A + 20), 0.5, dtype=F32), np.ones((3, 4)))
