# SPDX-License-Identifier: MIT
"""Products of matrices in MXFP8: elements of 8 bits that share a scale with 31 others."""

import nki
import nki.isa as nisa
import nki.language as nl

from .matmul import blocks

# The depth of one instruction: 128 partitions, with 4 elements in each place of a tile.
DEPTH = 512


def whole(partitions):
    """As many partitions as quantize_mx takes."""
    return -(-partitions // 32) * 32


def quantised(groups):
    """(elements, scales) of tiles of bfloat16 [depth / 4, columns, 4]."""
    partitions, columns, _ = groups.shape
    elements = nl.ndarray((partitions, columns), nl.float8_e4m3fn_x4)
    scales = nl.ndarray((partitions, columns), nl.uint8)
    nisa.quantize_mx(elements, groups, scales)
    return elements, scales


def stationary(a, m0, ms, k0, ks):
    """Rows of a [M, K]: each fourth column goes to the partitions, one after the other.

    The tensor engine takes an even number of rows, so there may be one of zeros more.
    """
    tile = nl.load(a[m0:m0 + ms, k0:k0 + ks], nl.bfloat16)
    groups = nl.zeros((whole(ks // 4), ms + ms % 2, 4), nl.bfloat16)
    for i in range(4):
        turned = nl.ndarray((ks // 4, ms), nl.bfloat16, buffer=nl.psum)
        nisa.nc_transpose(turned, tile[:, i:ks:4], engine=nisa.engine.tensor)
        nisa.tensor_copy(groups[0:ks // 4, 0:ms, i], turned)
    return quantised(groups)


def moving(b, k0, ks, n0, ns):
    """Columns of b [K, N]: four rows that follow one another are in one partition."""
    rows = nl.zeros((whole(ks // 4), 4, ns), nl.bfloat16)
    source = b[k0:k0 + ks, n0:n0 + ns].reshape_dim(0, (ks // 4, 4))
    nisa.dma_copy(rows[0:ks // 4], source)
    return quantised(rows.permute((0, 2, 1)))


@nki.jit(platform_target="trn3")
def mx_matmul(a, b, dtype="float32"):
    """a [M, K] @ b [K, N], both rounded to MXFP8 (E4M3, scales of 32 elements) first.

    K is a multiple of 4. 32 elements of a row of a, or of a column of b, share a scale. It needs
    NeuronCore-v4.
    """
    (m, k), n = a.shape, b.shape[1]
    if k % 4:
        raise nki.NkiError(f"mx_matmul: the depth is a multiple of 4, not {k}")
    out = nl.ndarray((m, n), dtype, buffer=nl.shared_hbm)
    depth = blocks(k, DEPTH)
    for n0, ns in blocks(n, 512):
        right = [moving(b, k0, ks, n0, ns) for k0, ks in depth]
        for m0, ms in blocks(m, 128):
            total = nl.ndarray((ms + ms % 2, ns), nl.float32, buffer=nl.psum)
            for (k0, ks), (elements, scales) in zip(depth, right):
                left, left_scales = stationary(a, m0, ms, k0, ks)
                nisa.nc_matmul_mx(total, left, elements, left_scales, scales)
            nl.store(out[m0:m0 + ms, n0:n0 + ns], nl.copy(total[0:ms], dtype=dtype))
    return out
