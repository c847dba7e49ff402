# SPDX-License-Identifier: MIT
"""Products of matrices of any shape."""

import nki
import nki.isa as nisa
import nki.language as nl

# Of a partition of SBUF, for the tiles of one operand that stay there.
KEPT_BYTES = 64 * 1024


def blocks(n, size):
    """(first, count) of pieces of n that are at most `size` long."""
    return [(i, min(size, n - i)) for i in range(0, n, size)]


def load_stationary(a, k0, ks, m0, ms, transposed):
    """A tile [K, M] of a, which is [M, K], or [K, M] if it is transposed."""
    if transposed:
        return nl.load(a[k0:k0 + ks, m0:m0 + ms])
    return nl.load_transpose2d(a[m0:m0 + ms, k0:k0 + ks])


def product(out, a, b, transposed=False):
    """out = a @ b, or a^T @ b, in HBM. Tiles of a stay in SBUF if all of them fit."""
    m, n = out.shape
    k = b.shape[0]
    rows, depth = blocks(m, 128), blocks(k, 128)
    keep = len(depth) * m * a.itemsize <= KEPT_BYTES
    tiles = {}
    for n0, ns in blocks(n, 512):
        moving = [nl.load(b[k0:k0 + ks, n0:n0 + ns]) for k0, ks in depth]
        for m0, ms in rows:
            total = nl.ndarray((ms, ns), nl.float32, buffer=nl.psum)
            for i, (k0, ks) in enumerate(depth):
                stationary = tiles.get((m0, k0))
                if stationary is None:
                    stationary = load_stationary(a, k0, ks, m0, ms, transposed)
                    if keep:
                        tiles[m0, k0] = stationary
                nisa.nc_matmul(total, stationary, moving[i])
            result = nl.ndarray((ms, ns), out.dtype)
            nisa.tensor_copy(result, total)
            nl.store(out[m0:m0 + ms, n0:n0 + ns], result)


@nki.jit
def matmul(a, b, transpose_a=False, dtype=None):
    """a [M, K] @ b [K, N]; with transpose_a, a is [K, M]. The depth of b, K, is at most 8192."""
    m = a.shape[1] if transpose_a else a.shape[0]
    out = nl.ndarray((m, b.shape[1]), dtype or a.dtype, buffer=nl.shared_hbm)
    product(out, a, b, transpose_a)
    return out


@nki.jit
def batched_matmul(a, b, dtype=None):
    """a [B, M, K] @ b [B, K, N]."""
    count, m, _ = a.shape
    out = nl.ndarray((count, m, b.shape[2]), dtype or a.dtype, buffer=nl.shared_hbm)
    for i in range(count):
        product(out[i], a[i], b[i])
    return out
