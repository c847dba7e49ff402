# SPDX-License-Identifier: MIT
"""Convolution and pooling of images [channels, height, width] of at most 128 channels."""

import nki
import nki.isa as nisa
import nki.language as nl

from .matmul import blocks


def padded(x, pad):
    """The image in SBUF with a border of zeros."""
    channels, height, width = x.shape
    if pad == 0:
        return nl.load(x)
    tile = nl.zeros((channels, height + 2 * pad, width + 2 * pad), x.dtype)
    nisa.dma_copy(tile[:, pad:pad + height, pad:pad + width], x)
    return tile


def size_of(length, window, stride, pad):
    """How many places a window has in a length with a border."""
    return (length + 2 * pad - window) // stride + 1


def window(tile, i, j, top, rows, width, stride):
    """What element (i, j) of the window meets, for some rows of the result from `top` on."""
    first = top * stride + i
    return tile[:, first:first + (rows - 1) * stride + 1:stride,
                j:j + (width - 1) * stride + 1:stride]


@nki.jit
def conv2d(x, w, stride=1, pad=0):
    """x [C, H, W] with w [kh, kw, C, D]: D at most 128, and a row of the result at most 512.

    For each place of the window the tensor engine adds a product over the channels; the window is a
    view of the image.
    """
    kh, kw, channels, filters = w.shape
    tile = padded(x, pad)
    height, width = size_of(x.shape[1], kh, stride, pad), size_of(x.shape[2], kw, stride, pad)
    out = nl.ndarray((filters, height, width), x.dtype, buffer=nl.shared_hbm)
    weights = [[nl.load(w[i, j]) for j in range(kw)] for i in range(kh)]
    rows = max(1, 512 // width)
    for y in range(0, height, rows):
        count = min(rows, height - y)
        total = nl.ndarray((filters, count, width), nl.float32, buffer=nl.psum)
        for i in range(kh):
            for j in range(kw):
                nisa.nc_matmul(total, weights[i][j], window(tile, i, j, y, count, width, stride))
        result = nl.ndarray(total.shape, x.dtype)
        nisa.tensor_copy(result, total)
        nl.store(out[:, y:y + count, :], result)
    return out


def turned(view):
    """The transpose of a view [rows, ...], with its elements in dimension 0."""
    return nl.transpose(nl.copy(view).reshape((view.shape[0], view.size // view.shape[0])))


def pieces(height, width):
    """(row, rows, column, columns) of pieces of an image that have at most 128 elements."""
    if width > 128:
        return [(y, 1, x, n) for y in range(height) for x, n in blocks(width, 128)]
    return [(y, n, 0, width) for y, n in blocks(height, 128 // width)]


def image_grad(w, dy, padded_shape, stride):
    """The gradient of the image with its border: what each element of the window sends back."""
    kh, kw, channels, _ = w.shape
    height, width = dy.shape[1:]
    total = nl.zeros((channels, *padded_shape), nl.float32)
    for i in range(kh):
        for j in range(kw):
            weights = nl.transpose(nl.load(w[i, j]))
            for y, count in blocks(height, max(1, 512 // width)):
                part = nl.ndarray((channels, count, width), nl.float32, buffer=nl.psum)
                nisa.nc_matmul(part, weights, dy[:, y:y + count])
                there = window(total, i, j, y, count, width, stride)
                nisa.tensor_tensor(there, there, part, nl.add)
    return total


@nki.jit
def conv2d_grad(x, w, dy, stride=1, pad=0):
    """The gradients of x and w from that of conv2d(x, w, stride, pad).

    That of w is a product over the places of the window, so both images are transposed first.
    """
    kh, kw, channels, filters = w.shape
    height, width = dy.shape[1:]
    dx = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    dw = nl.ndarray(w.shape, w.dtype, buffer=nl.shared_hbm)
    tile, change = padded(x, pad), nl.load(dy)
    total = image_grad(w, change, tile.shape[1:], stride)
    nl.store(dx, nl.copy(total[:, pad:pad + x.shape[1], pad:pad + x.shape[2]], dtype=x.dtype))
    parts = [(y, n, c, m, turned(change[:, y:y + n, c:c + m]))
             for y, n, c, m in pieces(height, width)]
    for i in range(kh):
        for j in range(kw):
            sums = nl.ndarray((channels, filters), nl.float32, buffer=nl.psum)
            for y, n, c, m, right in parts:
                met = window(tile, i, j + c * stride, y, n, m, stride)
                nisa.nc_matmul(sums, turned(met), right)
            nl.store(dw[i, j], nl.copy(sums, dtype=w.dtype))
    return dx, dw


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


def spread(x_shape, dtype, size, elements):
    """A gradient [channels, height, width] in HBM from a tile for each element of the window; what
    is in no window gets 0."""
    channels, height, width = x_shape
    out = nl.ndarray(x_shape, dtype, buffer=nl.shared_hbm)
    tile = nl.zeros(x_shape, dtype)
    for (i, j), change in elements:
        nisa.tensor_copy(tile[:, i:height // size * size:size, j:width // size * size:size], change)
    nl.store(out, tile)
    return out


@nki.jit
def max_pool2d_grad(x, y, dy, size):
    """The gradient of x from that of y = max_pool2d(x, size); of equal elements the first one has
    it."""
    tile, most, change = nl.load(x), nl.load(y), nl.load(dy, nl.float32)
    height, width = (n * size for n in y.shape[1:])
    left = nl.ones(y.shape, nl.float32)
    elements = []
    for i in range(size):
        for j in range(size):
            chosen = nl.equal(tile[:, i:height:size, j:width:size], most, dtype=nl.float32)
            chosen = nl.multiply(chosen, left)
            left = nl.subtract(left, chosen)
            elements.append(((i, j), nl.multiply(chosen, change)))
    return spread(x.shape, x.dtype, size, elements)


@nki.jit
def mean_pool2d_grad(dy, size, height, width):
    """The gradient of x [channels, height, width] from that of mean_pool2d(x, size)."""
    change = nl.multiply(nl.load(dy), 1.0 / size ** 2, dtype=nl.float32)
    places = [(i, j) for i in range(size) for j in range(size)]
    return spread((dy.shape[0], height, width), dy.dtype, size,
                  [(place, change) for place in places])
