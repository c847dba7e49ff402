# SPDX-License-Identifier: MIT
"""Convolution and pooling of images [channels, height, width] of at most 128 channels."""

import nki
import nki.isa as nisa
import nki.language as nl


def padded(x, pad):
    """The image in SBUF with a border of zeros."""
    channels, height, width = x.shape
    if pad == 0:
        return nl.load(x)
    tile = nl.zeros((channels, height + 2 * pad, width + 2 * pad), x.dtype)
    nisa.dma_copy(tile[:, pad:pad + height, pad:pad + width], x)
    return tile


@nki.jit
def conv2d(x, w, stride=1, pad=0):
    """x [C, H, W] with w [kh, kw, C, D]: D at most 128, and a row of the result at most 512.

    For each place of the window the tensor engine adds a product over the channels; the window is a
    view of the image.
    """
    kh, kw, channels, filters = w.shape
    tile = padded(x, pad)
    height = (tile.shape[1] - kh) // stride + 1
    width = (tile.shape[2] - kw) // stride + 1
    out = nl.ndarray((filters, height, width), x.dtype, buffer=nl.shared_hbm)
    weights = [[nl.load(w[i, j]) for j in range(kw)] for i in range(kh)]
    rows = max(1, 512 // width)
    for y in range(0, height, rows):
        count = min(rows, height - y)
        total = nl.ndarray((filters, count, width), nl.float32, buffer=nl.psum)
        for i in range(kh):
            for j in range(kw):
                top = y * stride + i
                window = tile[:, top:top + (count - 1) * stride + 1:stride,
                              j:j + (width - 1) * stride + 1:stride]
                nisa.nc_matmul(total, weights[i][j], window)
        result = nl.ndarray(total.shape, x.dtype)
        nisa.tensor_copy(result, total)
        nl.store(out[:, y:y + count, :], result)
    return out


def pooled(x, size, op):
    """op over windows of size x size that do not overlap."""
    channels, height, width = x.shape
    out = nl.ndarray((channels, height // size, width // size), x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)[:, 0:height // size * size, 0:width // size * size]
    windows = tile.reshape_dim(2, (width // size, size)).reshape_dim(1, (height // size, size))
    windows = windows.permute((0, 1, 3, 2, 4))
    result = nl.ndarray(out.shape, nl.float32)
    for y in range(height // size):
        nisa.tensor_reduce(result[:, y, :], op, windows[:, y], (2, 3))
    return out, result


@nki.jit
def max_pool2d(x, size):
    """The greatest element of each window."""
    out, result = pooled(x, size, nl.maximum)
    nl.store(out, nl.copy(result, x.dtype))
    return out


@nki.jit
def mean_pool2d(x, size):
    """The mean of each window."""
    out, result = pooled(x, size, nl.add)
    nl.store(out, nl.multiply(result, 1.0 / size ** 2, dtype=x.dtype))
    return out
