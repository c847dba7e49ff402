# SPDX-License-Identifier: MIT
"""Transfers, and functions that make tensors: types, lists of rows, bounds, places, constants."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, put, rows, tile

TABLE = Table("memory")
A = rows([0.0, 1.0, -1.25, 2.5], [2.0, -0.5, 0.25, -2.0], [1.5, -1.5, 3.0, -7.0])
B = rows([9.0, 8.0, 7.0, 6.0], [5.0, 4.0, 3.0, 2.0], [1.0, 0.0, -1.0, -2.0])
DATA = np.arange(24, dtype=np.float32).reshape(6, 4)


def hbm(array=None, shape=(6, 4), dtype=F32):
    """A tensor in HBM with these numbers, or with sevens."""
    made = nl.full(shape if array is None else array.shape, 7, dtype, buffer=nl.shared_hbm)
    if array is not None:
        nisa.dma_copy(made, tile(array))
    return made


def places(*numbers, dtype=np.uint32):
    """A list of rows."""
    return tile(np.array(numbers, dtype)[:, None])


def row(number):
    """A register with it."""
    return nisa.register_alloc(number)


# --- dma_copy: types ---

for _from, _to, _values, _want in (
        ("float32", "int8", [1.5, 2.5, -3.5, 1000, -1000], [2, 2, -4, 127, -128]),
        ("float32", "uint8", [-1, 0.5, 255.5, 3, 1e9], [0, 0, 255, 3, 255]),
        ("float32", "bfloat16", [1 + 2.0**-8, 1 + 3 * 2.0**-8, -2, np.inf, np.nan],
         [1, 1 + 2.0**-6, -2, np.inf, np.nan]),
        ("float32", "float16", [65504, 65520, 1 + 2.0**-11, -0.0, 2.0**-24],
         [65504, np.inf, 1, -0.0, 2.0**-24]),
        ("float32", "float8_e5m2", [1.125, 1.375, -4, 0, 2.0**-16], [1, 1.5, -4, 0, 2.0**-16]),
        ("int32", "float32", [16777217, -5, 0, 2**31 - 1, 7], [16777216, -5, 0, 2**31, 7]),
        ("int16", "int8", [200, -200, 5, -128, 127], [127, -128, 5, -128, 127])):
    TABLE.case(f"dma_copy of {_from} to {_to}",
               lambda a=_from, b=_to, v=_values: put(
                   (1, 5), b, nisa.dma_copy, tile(np.array([v], a))), rows(_want))
TABLE.case("dma_copy of int32 to int32 keeps all bits",
           lambda: put((1, 2), "int32", nisa.dma_copy,
                       tile(np.array([[2**31 - 1, -2**31]], np.int32))),
           np.array([[2**31 - 1, -2**31]], np.int32))
TABLE.case("dma_copy from HBM to HBM", lambda: _into_hbm(A), A)
TABLE.case("dma_copy of another shape",
           lambda: put((2, 6), F32, nisa.dma_copy, hbm(A)), A.reshape(2, 6))
TABLE.case("dma_copy of a transposed view", lambda: put((4, 3), F32, nisa.dma_copy,
                                                        hbm(A).permute((1, 0))), A.T)
TABLE.case("dma_copy of a negative stride",
           lambda: put((3, 4), F32, nisa.dma_copy, hbm(A)[::-1, ::-1]), A[::-1, ::-1])
TABLE.case("dma_copy of a row for each partition",
           lambda: put((3, 4), F32, nisa.dma_copy, hbm(A).ap([[0, 3], [1, 4]], offset=4)),
           np.tile(A[1], (3, 1)))
TABLE.refused("dma_copy of numbers of elements that differ",
              lambda: put((3, 3), F32, nisa.dma_copy, hbm(A)), "as many elements")


def _into_hbm(array):
    out = hbm(shape=array.shape)
    call(nisa.dma_copy, out, hbm(array))
    return out


# --- dma_copy: who starts it ---

for _mode in ("none", "swdge", "unknown"):
    TABLE.case(f"dma_copy with dge_mode.{_mode}",
               lambda m=_mode: put((3, 4), F32, nisa.dma_copy, hbm(A), dge_mode=nisa.dge_mode[m]),
               A)
for _engine in ("sync", "scalar", "unknown"):
    TABLE.case(f"dma_copy with dge_mode.hwdge on {_engine}",
               lambda e=_engine: put((3, 4), F32, nisa.dma_copy, hbm(A),
                                     dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine[e]), A, 3)
TABLE.refused("dma_copy with dge_mode.hwdge before NeuronCore-v3",
              lambda: put((3, 4), F32, nisa.dma_copy, hbm(A), dge_mode=nisa.dge_mode.hwdge),
              "NeuronCore-v3", until=2)
TABLE.refused("dma_copy on gpsimd",
              lambda: put((3, 4), F32, nisa.dma_copy, hbm(A), dge_mode=nisa.dge_mode.hwdge,
                          engine=nisa.engine.gpsimd), "engine is sync or scalar", 3)
for _priority in range(4):
    TABLE.case(f"dma_copy with the priority {_priority}",
               lambda p=_priority: put((3, 4), F32, nisa.dma_copy, hbm(A), priority=p), A, 4)
TABLE.refused("dma_copy with the priority 4",
              lambda: put((3, 4), F32, nisa.dma_copy, hbm(A), priority=4), "priority is 0 to 3", 4)
TABLE.refused("dma_copy with a priority before NeuronCore-v4",
              lambda: put((3, 4), F32, nisa.dma_copy, hbm(A), priority=1), "NeuronCore-v4",
              until=3)

# --- dma_copy: rows that the run chooses ---


def gathered(index, mode=nisa.oob_mode.error, width=4, offset=None):
    """Rows of DATA over fives."""
    y = nl.full((3, width), 5, F32)
    source = hbm(DATA).ap([[4, 3], [1, width]], offset=offset, vector_offset=places(*index),
                          indirect_dim=0)
    call(nisa.dma_copy, y, source, oob_mode=mode)
    return y


def scattered(index, mode=nisa.oob_mode.error):
    """Rows of A into sevens."""
    out = hbm()
    call(nisa.dma_copy, out.ap([[4, 3], [1, 4]], vector_offset=places(*index), indirect_dim=0),
         tile(A), oob_mode=mode)
    return out


def _spread(index):
    want = np.full((6, 4), 7, np.float32)
    for place, values in zip(index, A):
        if place < 6:
            want[place] = values
    return want


TABLE.case("dma_copy gathers rows, one of them twice", lambda: gathered((5, 0, 5)),
           DATA[[5, 0, 5]])
TABLE.case("dma_copy gathers parts of rows from a column on",
           lambda: gathered((4, 1, 0), width=2, offset=2), DATA[[4, 1, 0], 2:4])
TABLE.case("dma_copy skips a row behind the last one to gather",
           lambda: gathered((5, 6, 0), nisa.oob_mode.skip), np.stack([DATA[5], [5] * 4, DATA[0]]))
TABLE.case("dma_copy scatters rows", lambda: scattered((3, 5, 0)), _spread((3, 5, 0)))
TABLE.case("dma_copy skips a row behind the last one to scatter",
           lambda: scattered((6, 2, 2**31 - 1), nisa.oob_mode.skip), _spread((6, 2, 2**31 - 1)))
TABLE.refused("dma_copy with a row to gather out of bounds", lambda: gathered((5, 6, 0)), "1006")
TABLE.refused("dma_copy with a row to scatter out of bounds", lambda: scattered((0, 1, 6)), "1006")


def moved_to(register, mode, count=2):
    """Rows of DATA from the register's on, over fives."""
    y = nl.full((count, 4), 5, F32)
    source = hbm(DATA).ap([[4, count], [1, 4]], scalar_offset=register(), indirect_dim=0)
    call(nisa.dma_copy, y, source, oob_mode=mode)
    return y


ERROR, SKIP = nisa.oob_mode.error, nisa.oob_mode.skip
TABLE.case("dma_copy from where a register says", lambda: moved_to(lambda: row(3), ERROR),
           DATA[3:5])
TABLE.case("dma_copy from where a tile of one element says",
           lambda: moved_to(lambda: tile(np.array([[4]], np.int32)), ERROR), DATA[4:6])
TABLE.case("dma_copy skips the rows that a register puts out of bounds",
           lambda: moved_to(lambda: row(5), SKIP), np.stack([DATA[5], [5] * 4]))
TABLE.case("dma_copy skips all rows where a register puts all of them out of bounds",
           lambda: moved_to(lambda: row(100), SKIP), np.full((2, 4), 5))
TABLE.refused("dma_copy from where a register has no row", lambda: moved_to(lambda: row(6), ERROR),
              "1006")

# --- dma_transpose ---

HALF = ((np.arange(16 * 8) * 5) % 97).reshape(16, 8).astype(np.float16)
DEEP = ((np.arange(4 * 4 * 8) * 7) % 101).reshape(4, 4, 8).astype(np.float16)
FOUR = ((np.arange(4 * 2 * 4 * 8) * 3) % 89).reshape(4, 2, 4, 8).astype(np.float16)
for _name, _array, _axes in (("two", HALF, (1, 0)), ("three", DEEP, (2, 1, 0)),
                             ("four", FOUR, (3, 1, 2, 0))):
    _turned = _array.transpose(_axes)
    TABLE.case(f"dma_transpose of {_name} dimensions",
               lambda a=_array, s=_turned.shape: put(s, "float16", nisa.dma_transpose, hbm16(a)),
               _turned)
    TABLE.case(f"dma_transpose of {_name} dimensions with axes",
               lambda a=_array, s=_turned.shape, x=_axes: put(
                   s, "float16", nisa.dma_transpose, tile(a), axes=x), _turned)
TABLE.case("dma_transpose with dge_mode.hwdge",
           lambda: put((8, 16), "float16", nisa.dma_transpose, hbm16(HALF),
                       dge_mode=nisa.dge_mode.hwdge), HALF.T, 3)
TABLE.case("dma_transpose with a priority",
           lambda: put((8, 16), "float16", nisa.dma_transpose, hbm16(HALF), priority=2), HALF.T, 4)
TABLE.case("dma_transpose of rows of a list", lambda: turned(range(15, -1, -1)), HALF[::-1].T)
TABLE.case("dma_transpose skips rows that are not there",
           lambda: turned([*range(14), 16, 99], nisa.oob_mode.skip),
           np.concatenate([HALF[:14].T, np.full((8, 2), 5)], 1))
TABLE.refused("dma_transpose of another order",
              lambda: put((4, 8, 4), "float16", nisa.dma_transpose, hbm16(DEEP), axes=(0, 2, 1)),
              "axes is (1, 0)")
TABLE.refused("dma_transpose of bytes",
              lambda: put((4, 3), "uint8", nisa.dma_transpose, tile(A.astype(np.uint8))),
              "2 or 4 bytes")


def hbm16(array):
    """In FP16."""
    made = nl.ndarray(array.shape, "float16", buffer=nl.shared_hbm)
    nisa.dma_copy(made, tile(array))
    return made


def turned(index, mode=nisa.oob_mode.error):
    """Rows of HALF as columns."""
    y = nl.full((8, 16), 5, "float16")
    source = hbm16(HALF).ap([[8, 16], [1, 8]], vector_offset=places(*index), indirect_dim=0)
    call(nisa.dma_transpose, y, source, axes=(1, 0), oob_mode=mode)
    return y


# --- dma_compute ---

TABLE.case("dma_compute of three sources",
           lambda: put((3, 4), F32, nisa.dma_compute, [tile(A), hbm(B), tile(A)], nl.add),
           A + B + A)
TABLE.case("dma_compute of three types",
           lambda: put((3, 4), F32, nisa.dma_compute,
                       [tile(A, "bfloat16"), tile(B.astype(np.int16)), tile(A)], nl.add),
           A + B + A)
TABLE.case("dma_compute of a view and of what lies side by side",
           lambda: put((3, 2), F32, nisa.dma_compute, [tile(A)[:, ::2], tile(B)[:, 0:2]], nl.add),
           A[:, ::2] + B[:, :2])
TABLE.case("dma_compute with scales",
           lambda: put((3, 4), F32, nisa.dma_compute, [tile(A), tile(B)], nl.add,
                       scales=[1.0, 1.0]), A + B)
TABLE.case("dma_compute to int8 saturates",
           lambda: put((1, 3), "int8", nisa.dma_compute,
                       [tile(rows([100, -100, 1.5])), tile(rows([100, -100, 1.0]))], nl.add),
           rows([127, -128, 2]))
TABLE.case("dma_compute of FP16 adds in FP32",
           lambda: put((1, 1), F32, nisa.dma_compute,
                       [tile(np.array([[2048]], np.float16)), tile(np.array([[1]], np.float16))],
                       nl.add), rows([2049]))
TABLE.case("dma_compute to rows of a list", lambda: _added((4, 1, 5)),
           lambda: _spread_sum((4, 1, 5)))
TABLE.case("dma_compute to rows of a list, said to be unique, one of them out of bounds",
           lambda: _added((4, 9, 5), unique_indices=True, oob_mode=nisa.oob_mode.skip),
           lambda: _spread_sum((4, 9, 5)))
TABLE.case("dma_compute of rows of a list", lambda: _added_from((5, 0, 2)), B + DATA[[5, 0, 2]])
TABLE.refused("dma_compute with another scale",
              lambda: put((3, 4), F32, nisa.dma_compute, [tile(A), tile(B)], nl.add,
                          scales=[1.0, 2.0]), "scales are 1.0")
TABLE.refused("dma_compute of what is not add",
              lambda: put((3, 4), F32, nisa.dma_compute, [tile(A), tile(B)], nl.maximum),
              "reduce_op is nl.add")
TABLE.refused("dma_compute of indices that may repeat",
              lambda: _added((4, 1, 4), unique_indices=False), "unique_indices is True")


def _added(index, **options):
    out = hbm()
    into = out.ap([[4, 3], [1, 4]], vector_offset=places(*index), indirect_dim=0)
    call(nisa.dma_compute, into, [tile(A), into], nl.add, **options)
    return out


def _spread_sum(index):
    want = np.full((6, 4), 7, np.float32)
    for place, values in zip(index, A):
        if place < 6:
            want[place] += values
    return want


def _added_from(index):
    y = tile(B)
    source = hbm(DATA).ap([[4, 3], [1, 4]], vector_offset=places(*index), indirect_dim=0)
    call(nisa.dma_compute, y, [source, y], nl.add)
    return y


# --- functions that make tensors ---

BUFFERS = ("sbuf", "psum", "shared_hbm")
for _buffer in BUFFERS:
    for _name, _number in (("zeros", 0), ("ones", 1)):
        TABLE.case(f"nl.{_name} in {_buffer}",
                   lambda f=_name, b=_buffer: call(getattr(nl, f), (2, 3), F32,
                                                   buffer=getattr(nl, b), name="made"),
                   np.full((2, 3), _number))
    TABLE.case(f"nl.full in {_buffer}",
               lambda b=_buffer: call(nl.full, (2, 3), -2.5, "bfloat16", buffer=getattr(nl, b),
                                      name="made"), np.full((2, 3), -2.5))
    TABLE.case(f"nl.zeros_like in {_buffer} with another type",
               lambda b=_buffer: call(nl.zeros_like, tile(A), dtype="float16",
                                      buffer=getattr(nl, b), name="made"), np.zeros((3, 4)))
TABLE.case("nl.zeros_like lies where the tensor does", lambda: _where(nl.zeros_like), [[1]])
TABLE.case("nl.empty_like lies where the tensor does", lambda: _where(nl.empty_like), [[1]])
TABLE.case("nl.empty_like with another type and place",
           lambda: _typed(call(nl.empty_like, tile(A), dtype="int16", buffer=nl.psum, name="made"),
                          (3, 4), "int16", nl.psum), [[1]])
TABLE.case("nl.ndarray with a name and an address", lambda: _addressed(), (A, B))
TABLE.case("nl.ndarray of one dimension",
           lambda: _typed(call(nl.ndarray, (5,), "uint8", buffer=nl.sbuf), (5, 1), "uint8",
                          nl.sbuf), [[1]])
TABLE.refused("nl.ndarray of 129 partitions", lambda: call(nl.ndarray, (129, 1), F32),
              "at most 128 partitions")


def _typed(made, shape, dtype, buffer):
    """1 if it has them."""
    assert made.shape == shape and made.dtype == dtype and made.buffer is buffer, repr(made)
    return nl.ones((1, 1), F32)


def _where(function):
    x = tile(A, psum=True)
    return _typed(call(function, x), (3, 4), F32, nl.psum)


def _addressed():
    """Two tiles of which the second one's place is that of a half of the first one."""
    both = call(nl.ndarray, (3, 8), F32, buffer=nl.sbuf, name="both", address=(0, 8192))
    half = call(nl.ndarray, (3, 4), F32, buffer=nl.sbuf, name="half", address=(0, 8192 + 16))
    nisa.dma_copy(both[:, 0:4], tile(A))
    nisa.dma_copy(half, tile(B))
    return both[:, 0:4], half


TABLE.case("nl.load with another type",
           lambda: call(nl.load, hbm(rows([1.5, 2.5, -0.5])), dtype="int8"), rows([2, 2, 0]))
TABLE.case("nl.store of a tile in PSUM", lambda: _stored(tile(A, psum=True)), A)
TABLE.case("nl.store with a cast", lambda: _stored(tile(A, "bfloat16")), A)
TABLE.refused("nl.store of a number", lambda: call(nl.store, hbm(A), 1.0), "value is a tile")


def _stored(value):
    out = hbm(shape=(3, 4))
    call(nl.store, out, value)
    return out


for _dtype in ("float32", "float16", "int32", "int16", "int8", "uint32", "uint16", "uint8"):
    TABLE.case(f"nl.shared_constant of {_dtype}",
               lambda d=_dtype: call(nl.shared_constant, np.array([[1, 2, 100]], d)),
               rows([1, 2, 100]))
for _dtype in ("float32", "bfloat16", "uint8"):
    TABLE.case(f"nl.shared_identity_matrix of {_dtype}",
               lambda d=_dtype: call(nl.shared_identity_matrix, 3, dtype=d), np.eye(3))
TABLE.case("nl.shared_identity_matrix of uint8 where nothing is said",
           lambda: _typed(call(nl.shared_identity_matrix, 5), (5, 5), "uint8", nl.sbuf), [[1]])
TABLE.case("nl.shared_identity_matrix to a tile", lambda: _identity(), np.eye(4))


def _identity():
    y = nl.ndarray((4, 4), F32)
    call(nl.shared_identity_matrix, 4, dtype=F32, dst=y)
    return y
