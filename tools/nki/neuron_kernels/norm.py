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


def column():
    """A number for each partition."""
    return nl.ndarray((128, 1), nl.float32)


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


@nki.jit
def layernorm(x, gamma, beta, epsilon=1e-5):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta of each row."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    rows = min(128, x.shape[0])
    scale, shift = row_for_all(gamma, rows), row_for_all(beta, rows)
    for first, count in blocks(x.shape[0], 128):
        tile = nl.load(x[first:first + count])
        both = moments(tile)
        inverse = nl.ndarray((count, 1), nl.float32)
        nisa.tensor_scalar(inverse, both[:, 1:2], nl.add, float(epsilon))
        nisa.activation(inverse, nl.rsqrt, inverse)
        normal = nl.ndarray(tile.shape, nl.float32)
        nisa.tensor_scalar(normal, tile, nl.subtract, both[:, 0:1], op1=nl.multiply,
                           operand1=inverse)
        nisa.tensor_tensor(normal, normal, scale[0:count], nl.multiply)
        result = nl.ndarray(tile.shape, x.dtype)
        nisa.tensor_tensor(result, normal, shift[0:count], nl.add)
        nl.store(out[first:first + count], result)
    return out


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
    dgamma is the sum over the rows of dy * x * r, which the tensor engine makes.
    """
    rows, width = x.shape
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    dgamma = nl.ndarray((width,), nl.float32, buffer=nl.shared_hbm)
    scale = row_for_all(gamma, min(128, rows))
    ones = nl.ones((128, 1), nl.float32)
    sums = [nl.ndarray((1, size), nl.float32, buffer=nl.psum) for _, size in blocks(width, 512)]
    for first, count in blocks(rows, 128):
        part = slice(first, first + count)
        tile, change = nl.load(x[part], nl.float32), nl.load(dy[part], nl.float32)
        inverse = inverse_rms(tile, epsilon)
        normal = nl.multiply(tile, inverse)
        weighted = nl.multiply(change, scale[0:count])
        mean = nl.mean(nl.multiply(weighted, normal), 1)
        away = nl.subtract(weighted, nl.multiply(normal, mean))
        nl.store(out[part], nl.multiply(away, inverse, dtype=x.dtype))
        products = nl.multiply(change, normal)
        for total, (begin, size) in zip(sums, blocks(width, 512)):
            nisa.nc_matmul(total, ones[0:count], products[:, begin:begin + size])
    for total, (begin, size) in zip(sums, blocks(width, 512)):
        nl.store(dgamma.reshape((1, width))[:, begin:begin + size], total)
    return out, dgamma
