# SPDX-License-Identifier: MIT
"""Instructions of the tensor engine: types, accumulation, parts of the array, MX operands."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, put, rows, tile

TABLE = Table("tensor")
# Small whole numbers, which every type holds, and whose products are exact in FP32.
K, M, N = 32, 6, 10
LEFT = ((np.arange(128 * 32) * 29 % 7) - 3).reshape(128, 32).astype(np.float32)
RIGHT = ((np.arange(128 * 40) * 31 % 5) - 2).reshape(128, 40).astype(np.float32)


def product(k=K, m=M, n=N, first=0):
    """The exact one."""
    return LEFT[first:first + k, :m].T @ RIGHT[first:first + k, :n]


def matmul(left=F32, right=F32, dtype=F32, k=K, **options):
    """One product."""
    return put((M, N), dtype, nisa.nc_matmul, tile(LEFT[:k, :M], left), tile(RIGHT[:k, :N], right),
               psum=True, **options)


for _left, _right, _since in (
        ("float32", "float32", 2), ("bfloat16", "bfloat16", 2), ("float16", "bfloat16", 2),
        ("float8_e4m3", "float8_e5m2", 2), ("float8_e5m2", "bfloat16", 2),
        ("tfloat32", "float32", 2), ("float8_e4m3fn", "float8_e5m2", 4)):
    TABLE.case(f"nc_matmul of {_left} and {_right}",
               lambda a=_left, b=_right: matmul(a, b), product(), _since)
TABLE.case("nc_matmul to bfloat16", lambda: matmul(dtype="bfloat16"), product(), 4, bound=2.0**-8)
TABLE.refused("nc_matmul to bfloat16 before NeuronCore-v4", lambda: matmul(dtype="bfloat16"),
              "dst is float32",
              until=3)
TABLE.refused("nc_matmul of FP32 and bfloat16", lambda: matmul("float32", "bfloat16"),
              "go together only")
TABLE.refused("nc_matmul of both 8-bit formats with 4 bits of exponent",
              lambda: matmul("float8_e4m3", "float8_e4m3fn"), "does not go with", 4)
TABLE.refused("nc_matmul of another contraction",
              lambda: put((M, N), F32, nisa.nc_matmul, tile(LEFT[:8, :M]), tile(RIGHT[:9, :N]),
                          psum=True), "as many partitions")
TABLE.refused("nc_matmul to SBUF",
              lambda: put((M, N), F32, nisa.nc_matmul, tile(LEFT[:8, :M]), tile(RIGHT[:8, :N])),
              "dst lies in psum")


def accumulated(*said):
    """As many products onto one tile."""
    y = nl.ndarray((M, N), F32, buffer=nl.psum)
    for i, accumulate in enumerate(said):
        call(nisa.nc_matmul, y, tile(LEFT[i * 8:i * 8 + 8, :M]), tile(RIGHT[i * 8:i * 8 + 8, :N]),
             accumulate=accumulate)
    return y


EIGHTS = [product(8, first=8 * i) for i in range(3)]
TABLE.case("nc_matmul with accumulate=None adds to what products have written",
           lambda: accumulated(None, None, None), EIGHTS[0] + EIGHTS[1] + EIGHTS[2])
TABLE.case("nc_matmul with accumulate=False begins anew",
           lambda: accumulated(False, True, False), EIGHTS[2])
TABLE.case("nc_matmul with accumulate=True adds", lambda: accumulated(False, True, True),
           EIGHTS[0] + EIGHTS[1] + EIGHTS[2])


def overlapping():
    """accumulate=None on parts of which the second one meets what the first one has written."""
    y = nl.ndarray((M, 2 * N), F32, buffer=nl.psum)
    left = tile(LEFT[:8, :M])
    call(nisa.nc_matmul, y[:, :N], left, tile(RIGHT[:8, :N]))
    call(nisa.nc_matmul, y, left, tile(RIGHT[:8, :2 * N]))
    return y


_BOTH = product(8, n=2 * N)
_BOTH[:, :N] += product(8)
TABLE.case("nc_matmul with accumulate=None adds only where something is", overlapping, _BOTH)
TABLE.case("nc_matmul of a negative stride",
           lambda: put((M, N), F32, nisa.nc_matmul, tile(LEFT[:8, :M]),
                       tile(RIGHT[:8, :N])[:, ::-1], psum=True), product(8)[:, ::-1])

# --- parts of the array ---

for _rows, _row, _since in ((32, 96, 3), (64, 64, 2), (32, 0, 3)):
    TABLE.case(f"nc_matmul in {_rows} rows from row {_row} on",
               lambda n=_rows, first=_row: _in_part(n, first), product(32), _since)
TABLE.case("nc_matmul in all of the array, said so",
           lambda: matmul(tile_position=(0, 0), tile_size=(128, 128)), product())
TABLE.refused("nc_matmul with a place and no size", lambda: matmul(tile_position=(0, 0)),
              "given together")
TABLE.refused("nc_matmul in a part that begins between two",
              lambda: matmul(tile_position=(16, 0), tile_size=(32, 128)), "multiple of them")


def _in_part(count, first):
    """Operands lie in the partitions whose rows they use."""
    left, right = (nl.ndarray((128, n), F32)[first:first + 32] for n in (M, N))
    nisa.dma_copy(left, nl.shared_constant(LEFT[:32, :M]))
    nisa.dma_copy(right, nl.shared_constant(RIGHT[:32, :N]))
    return put((M, N), F32, nisa.nc_matmul, left, right, psum=True, tile_position=(first, 0),
               tile_size=(count, 128))


# --- hints, transpositions, pairs of rows ---

ONES = (RIGHT > 0).astype(np.float32)
TABLE.case("nc_matmul of a moving operand of ones and zeros",
           lambda: put((M, N), F32, nisa.nc_matmul, tile(LEFT[:K, :M]), tile(ONES[:K, :N]),
                       is_moving_onezero=True, psum=True), LEFT[:K, :M].T @ ONES[:K, :N])
TABLE.case("nc_matmul of a stationary operand of ones and zeros",
           lambda: put((M, N), F32, nisa.nc_matmul, tile(ONES[:K, :M]), tile(RIGHT[:K, :N]),
                       is_stationary_onezero=True, psum=True), ONES[:K, :M].T @ RIGHT[:K, :N])
TABLE.case("nc_matmul with is_transpose moves NaN and infinities",
           lambda: put((2, 2), F32, nisa.nc_matmul, tile(rows([np.nan, 1], [np.inf, -2])),
                       tile(np.eye(2, dtype=np.float32)), is_transpose=True, psum=True),
           rows([np.nan, np.inf], [1, -2]), 3)
TABLE.case("nc_matmul with is_transpose of finite numbers",
           lambda: put((M, 8), F32, nisa.nc_matmul, tile(LEFT[:8, :M]),
                       tile(np.eye(8, dtype=np.float32)), is_transpose=True, psum=True),
           LEFT[:8, :M].T)


def paired(left, right):
    """The contraction goes over partitions and the two of the first free dimension."""
    a, b = LEFT[:K, :2 * M].reshape(K, 2, M), RIGHT[:K, :2 * N].reshape(K, 2, N)
    return put((M, N), F32, nisa.nc_matmul, tile(a, left), tile(b, right), psum=True,
               perf_mode=nisa.matmul_perf_mode.double_row)


PAIRED = np.einsum("krm,krn->mn", LEFT[:K, :2 * M].reshape(K, 2, M),
                   RIGHT[:K, :2 * N].reshape(K, 2, N))
TABLE.case("nc_matmul in double rows", lambda: paired("float8_e4m3", "float8_e4m3"), PAIRED, 3)
TABLE.case("nc_matmul in double rows of two formats", lambda: paired("float8_e5m2", "float8_e4m3"),
           PAIRED, 3)
TABLE.case("nc_matmul that says no performance mode",
           lambda: matmul(perf_mode=nisa.matmul_perf_mode.none), product())
TABLE.refused("nc_matmul in double rows before NeuronCore-v3",
              lambda: paired("float8_e4m3", "float8_e4m3"), "NeuronCore-v3", until=2)
TABLE.refused("nc_matmul in double rows of bfloat16", lambda: paired("bfloat16", "bfloat16"),
              "double_row takes", 3)

# --- MX: a group is 8 partitions x 4 elements; X = 2^(floor(log2(max)) - (emax - 1)) ---

GROUPS = np.ones((32, 8), np.float32)
for _i in range(4):
    GROUPS[_i * 8:_i * 8 + 8] = [2.0**_i, -1.0, 0.5, 0.25, 3.0 * 2**_i, 1.0, 0.0, -2.0**_i]
EMAX = {"float8_e4m3fn_x4": 8, "float8_e5m2_x4": 15}


def quantised(dtype, array=GROUPS, source="bfloat16", scale="uint8"):
    """(packed, scales)"""
    made = nl.ndarray((32, array.shape[1] // 4), dtype)
    scales = nl.full((32, array.shape[1] // 4), 0, scale)
    call(nisa.quantize_mx, made, tile(array, source), scales)
    return made, scales


def scales_of(dtype, array=GROUPS):
    """By the formula of the public page; the scales of a quadrant lie in its first partitions."""
    want = []
    for i in range(4):
        group = np.abs(array[i * 8:i * 8 + 8].reshape(8, -1, 4)).max((0, 2))
        want.append([int(np.floor(np.log2(v))) - (EMAX[dtype] - 1) + 127 if v else 0
                     for v in group])
    return np.array(want)


for _dtype in EMAX:
    for _source in ("bfloat16", "float16"):
        TABLE.case(f"quantize_mx of {_source} to {_dtype}: the scales",
                   lambda dtype=_dtype, source=_source: quantised(dtype, source=source)[1][0:4],
                   scales_of(_dtype), 4)
TABLE.case("quantize_mx of zeros has the least scale",
           lambda: quantised("float8_e4m3fn_x4", GROUPS * 0)[1][0:4], np.zeros((4, 2)), 4)
TABLE.case("quantize_mx of scales as float8_e8m0fnu",
           lambda: quantised("float8_e4m3fn_x4", scale="float8_e8m0fnu")[1].view("uint8")[0:4],
           scales_of("float8_e4m3fn_x4"), 4)
TABLE.refused("quantize_mx before NeuronCore-v4",
              lambda: call(nisa.quantize_mx, tile(GROUPS), tile(GROUPS), tile(GROUPS)),
              "NeuronCore-v4", until=3)


def mx_product(accumulates=(None,), dtype="float8_e4m3fn_x4", **options):
    """Of GROUPS with itself: each number is exact in the type."""
    data, scales = quantised(dtype)
    y = nl.ndarray((2, 2), F32, buffer=nl.psum)
    for accumulate in accumulates:
        call(nisa.nc_matmul_mx, y, data, data, scales, scales, accumulate=accumulate, **options)
    return y


MX = np.einsum("pmi,pni->mn", GROUPS.reshape(32, 2, 4), GROUPS.reshape(32, 2, 4))
TABLE.case("nc_matmul_mx", mx_product, MX, 4)
TABLE.case("nc_matmul_mx of the other format", lambda: mx_product(dtype="float8_e5m2_x4"), MX, 4)
TABLE.case("nc_matmul_mx accumulates by itself", lambda: mx_product((None, None)), 2 * MX, 4)
TABLE.case("nc_matmul_mx accumulates when told", lambda: mx_product((False, True)), 2 * MX, 4)
TABLE.case("nc_matmul_mx begins anew when told", lambda: mx_product((False, False)), MX, 4)
TABLE.case("nc_matmul_mx in the first rows of the array",
           lambda: mx_product(tile_position=(0, 0), tile_size=(32, 128)), MX, 4)
