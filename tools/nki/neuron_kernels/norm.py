# SPDX-License-Identifier: MIT
"""Normalisations of the rows of a matrix [rows, width]; a row fits a partition of SBUF."""

import nki
import nki.isa as nisa
import nki.language as nl

from .matmul import blocks


def row_for_all(vector, rows):
    """A vector [width] of HBM in each of some partitions, in FP32."""
    width = vector.shape[0]
    tile = nl.ndarray((rows, width), nl.float32)
    nisa.dma_copy(tile, vector.reshape((1, width)).broadcast(0, rows))
    return tile


@nki.jit
def softmax(x):
    """exp(x - max) / sum(exp(x - max)) of each row."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for first, count in blocks(x.shape[0], 128):
        tile = nl.load(x[first:first + count])
        nl.store(out[first:first + count], nl.softmax(tile))
    return out


@nki.jit
def softmax_grad(y, dy):
    """From y = softmax(x) and the gradient of y that of x: y * (dy - sum(y * dy))."""
    out = nl.ndarray(y.shape, y.dtype, buffer=nl.shared_hbm)
    for first, count in blocks(y.shape[0], 128):
        part = slice(first, first + count)
        result, change = nl.load(y[part]), nl.load(dy[part])
        total = nl.sum(nl.multiply(result, change, dtype=nl.float32), 1)
        away = nl.subtract(change, total, dtype=nl.float32)
        nl.store(out[part], nl.multiply(away, result, dtype=y.dtype))
    return out


def moments(tile):
    """[count, 2]: mean and variance of each row."""
    count, width = tile.shape
    parts = blocks(width, 512)
    stats = nl.ndarray((count, 6 * len(parts)), nl.float32)
    for i, (first, size) in enumerate(parts):
        nisa.bn_stats(stats[:, 6 * i:6 * i + 6], tile[:, first:first + size])
    both = nl.ndarray((count, 2), nl.float32)
    nisa.bn_aggr(both, stats)
    return both


def normalised(tile, epsilon):
    """(tile - mean) / sqrt(variance + epsilon) of each row, and 1 / that root."""
    both = moments(tile)
    inverse = nl.ndarray((tile.shape[0], 1), nl.float32)
    nisa.tensor_scalar(inverse, both[:, 1:2], nl.add, float(epsilon))
    nisa.activation(inverse, nl.rsqrt, inverse)
    normal = nl.ndarray(tile.shape, nl.float32)
    nisa.tensor_scalar(normal, tile, nl.subtract, both[:, 0:1], op1=nl.multiply,
                       operand1=inverse)
    return normal, inverse


@nki.jit
def layernorm(x, gamma, beta, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta of each row."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    rows = min(128, x.shape[0])
    scale, shift = row_for_all(gamma, rows), row_for_all(beta, rows)
    for first, count in blocks(x.shape[0], 128):
        normal, _ = normalised(nl.load(x[first:first + count]), epsilon)
        nisa.tensor_tensor(normal, normal, scale[0:count], nl.multiply)
        result = nl.ndarray(normal.shape, x.dtype)
        nisa.tensor_tensor(result, normal, shift[0:count], nl.add)
        nl.store(out[first:first + count], result)
    return out


class Columns:
    """The sums of the columns of tiles: they are added, and then the tensor engine adds the rows.
    """

    def __init__(self, rows, width):
        self.total = nl.zeros((rows, width), nl.float32)

    def add(self, tile):
        """Add the rows of a tile."""
        part = self.total[0:tile.shape[0]]
        nisa.tensor_tensor(part, part, tile, nl.add)

    def store(self, out):
        """The sums, to a vector in HBM."""
        rows, width = self.total.shape
        ones = nl.ones((rows, 1), nl.float32)
        for first, size in blocks(width, 512):
            sums = nl.ndarray((1, size), nl.float32, buffer=nl.psum)
            nisa.nc_matmul(sums, ones, self.total[:, first:first + size])
            nl.store(out.reshape((1, width))[:, first:first + size], sums)


@nki.jit
def layernorm_grad(x, gamma, dy, epsilon=1e-5):
    """The gradients of x, gamma and beta from that of y = layernorm(x, gamma, beta).

    With n the normalised row, r the inverse of its root and w = dy * gamma:
    dx = r * (w - mean(w) - n * mean(w * n)). dgamma and dbeta are sums over the rows.
    """
    rows, width = x.shape
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    dgamma = nl.ndarray((width,), nl.float32, buffer=nl.shared_hbm)
    dbeta = nl.ndarray((width,), nl.float32, buffer=nl.shared_hbm)
    scale = row_for_all(gamma, min(128, rows))
    scales, shifts = (Columns(min(128, rows), width) for _ in range(2))
    for first, count in blocks(rows, 128):
        part = slice(first, first + count)
        change = nl.load(dy[part], nl.float32)
        normal, inverse = normalised(nl.load(x[part]), epsilon)
        weighted = nl.multiply(change, scale[0:count])
        away = nl.multiply(normal, nl.mean(nl.multiply(weighted, normal), 1))
        nisa.scalar_tensor_tensor(away, weighted, nl.subtract, nl.mean(weighted, 1),
                                  nl.subtract, away)
        nl.store(out[part], nl.multiply(away, inverse, dtype=x.dtype))
        scales.add(nl.multiply(change, normal))
        shifts.add(change)
    scales.store(dgamma)
    shifts.store(dbeta)
    return out, dgamma, dbeta


def inverse_rms(tile, epsilon):
    """1 / sqrt(mean(x * x) + epsilon) of each row."""
    count, width = tile.shape
    squares = nl.ndarray(tile.shape, nl.float32)
    total = nl.ndarray((count, 1), nl.float32)
    nisa.activation_reduce(squares, nl.square, tile, nl.add, total)
    nisa.tensor_scalar(total, total, nl.multiply, 1.0 / width, op1=nl.add,
                       operand1=float(epsilon))
    nisa.activation(total, nl.rsqrt, total)
    return total


@nki.jit
def rmsnorm(x, gamma, epsilon=1e-6):
    """x / sqrt(mean(x * x) + epsilon) * gamma of each row."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    scale = row_for_all(gamma, min(128, x.shape[0]))
    for first, count in blocks(x.shape[0], 128):
        tile = nl.load(x[first:first + count])
        inverse = inverse_rms(tile, epsilon)
        result = nl.ndarray(tile.shape, x.dtype)
        nisa.scalar_tensor_tensor(result, tile, nl.multiply, inverse, nl.multiply,
                                  scale[0:count])
        nl.store(out[first:first + count], result)
    return out


@nki.jit
def rmsnorm_grad(x, gamma, dy, epsilon=1e-6):
    """The gradients of x, and of gamma, from that of y = rmsnorm(x, gamma).

    With r the inverse of the root: dx = r * (dy * gamma - x * r^2 * mean(dy * gamma * x)), and
    dgamma is the sum over the rows of dy * x * r.
    """
    rows, width = x.shape
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    dgamma = nl.ndarray((width,), nl.float32, buffer=nl.shared_hbm)
    scale = row_for_all(gamma, min(128, rows))
    scales = Columns(min(128, rows), width)
    for first, count in blocks(rows, 128):
        part = slice(first, first + count)
        tile, change = nl.load(x[part], nl.float32), nl.load(dy[part], nl.float32)
        inverse = inverse_rms(tile, epsilon)
        normal = nl.multiply(tile, inverse)
        weighted = nl.multiply(change, scale[0:count])
        mean = nl.mean(nl.multiply(weighted, normal), 1)
        away = nl.subtract(weighted, nl.multiply(normal, mean))
        nl.store(out[part], nl.multiply(away, inverse, dtype=x.dtype))
        scales.add(nl.multiply(change, normal))
    scales.store(dgamma)
    return out, dgamma
