# SPDX-License-Identifier: MIT
"""Products of matrices of any shape."""

import nki
import nki.isa as nisa
import nki.language as nl

# Of a partition of SBUF, for the tiles of each operand that stay there.
KEPT_BYTES = 80 * 1024


def blocks(n, size):
    """(first, count) of pieces of n that are at most `size` long."""
    return [(i, min(size, n - i)) for i in range(0, n, size)]


def load_stationary(a, k0, ks, m0, ms, transposed):
    """A tile [K, M] of a, which is [M, K], or [K, M] if it is transposed."""
    if transposed:
        return nl.load(a[k0:k0 + ks, m0:m0 + ms])
    return nl.load_transpose2d(a[m0:m0 + ms, k0:k0 + ks])


class Tiles:
    """Tiles of one operand. They stay in SBUF if all that are alive at a time fit."""

    def __init__(self, load, count, row_bytes):
        self.load = load
        self.kept = {} if count * row_bytes <= KEPT_BYTES else None

    def get(self, *where):
        """The tile at a place."""
        if self.kept is None:
            return self.load(*where)
        if where not in self.kept:
            self.kept[where] = self.load(*where)
        return self.kept[where]


def load_moving(b, k0, ks, n0, ns, transposed):
    """A tile [K, N] of b, which is [K, N], or [N, K] if it is transposed."""
    if transposed:
        return nl.load_transpose2d(b[n0:n0 + ns, k0:k0 + ks])
    return nl.load(b[k0:k0 + ks, n0:n0 + ns])


def product(out, a, b, transposed=False, transposed_b=False):
    """out = a @ b in HBM, of which a^T and b^T may be given."""
    m, n = out.shape
    rows, depth = blocks(m, 128), blocks(b.shape[1 if transposed_b else 0], 128)
    left = Tiles(lambda k0, ks, m0, ms: load_stationary(a, k0, ks, m0, ms, transposed),
                 len(depth), m * a.itemsize)
    for n0, ns in blocks(n, 512):
        right = Tiles(lambda k0, ks: load_moving(b, k0, ks, n0, ns, transposed_b), len(depth),
                      ns * b.itemsize)
        for m0, ms in rows:
            total = nl.ndarray((ms, ns), nl.float32, buffer=nl.psum)
            for k0, ks in depth:
                nisa.nc_matmul(total, left.get(k0, ks, m0, ms), right.get(k0, ks))
            result = nl.ndarray((ms, ns), out.dtype)
            nisa.tensor_copy(result, total)
            nl.store(out[m0:m0 + ms, n0:n0 + ns], result)


def product_grad(da, db, a, b, dout, transposed=False):
    """The gradients of a and b from that of a @ b, or of a^T @ b, in HBM."""
    if transposed:
        product(da, b, dout, transposed_b=True)
        product(db, a, dout)
    else:
        product(da, dout, b, transposed_b=True)
        product(db, a, dout, transposed=True)


@nki.jit
def matmul(a, b, transpose_a=False, dtype=None):
    """a [M, K] @ b [K, N]; with transpose_a, a is [K, M]."""
    m = a.shape[1] if transpose_a else a.shape[0]
    out = nl.ndarray((m, b.shape[1]), dtype or a.dtype, buffer=nl.shared_hbm)
    product(out, a, b, transpose_a)
    return out


@nki.jit
def matmul_grad(a, b, dout, transpose_a=False):
    """The gradients of a and b from that of matmul(a, b, transpose_a)."""
    da, db = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for x in (a, b))
    product_grad(da, db, a, b, dout, transpose_a)
    return da, db


@nki.jit
def batched_matmul(a, b, dtype=None):
    """a [B, M, K] @ b [B, K, N]."""
    count, m, _ = a.shape
    out = nl.ndarray((count, m, b.shape[2]), dtype or a.dtype, buffer=nl.shared_hbm)
    for i in range(count):
        product(out[i], a[i], b[i])
    return out


@nki.jit
def batched_matmul_grad(a, b, dout):
    """The gradients of a and b from that of batched_matmul(a, b)."""
    da, db = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for x in (a, b))
    for i in range(a.shape[0]):
        product_grad(da[i], db[i], a[i], b[i], dout[i])
    return da, db
