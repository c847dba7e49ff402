# SPDX-License-Identifier: MIT
"""The kernel library against NumPy in double precision, with the chip's check of memory."""

import math

import numpy as np
import pytest

import neuron_kernels as kernels
import nki
from neuron_emu import dtypes


def numbers(*shape, seed=0, scale=1.0):
    """Random FP32 numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def checked(kernel, *args, **kwargs):
    """What it returns; a race, or a read of what nobody wrote, fails."""
    return nki.jit(kernel.func, check=True)(*args, **kwargs)


def close(result, expected, bound):
    """The greatest distance, as a part of the greatest expected size."""
    expected = np.asarray(expected, np.float64)
    assert result.shape == expected.shape
    distance = np.abs(np.asarray(result, np.float64) - expected).max()
    assert distance <= bound * np.abs(expected).max(), distance / np.abs(expected).max()


def wide(*arrays):
    """In double precision."""
    return [array.astype(np.float64) for array in arrays]


@pytest.mark.parametrize("m, k, n", [(128, 128, 512), (1, 1, 1), (130, 300, 520), (5, 700, 33)])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(m, k, n, transposed):
    a, b = numbers(*((k, m) if transposed else (m, k))), numbers(k, n, seed=1)
    x, y = wide(a, b)
    close(checked(kernels.matmul, a, b, transpose_a=transposed), (x.T if transposed else x) @ y,
          1e-6)


def test_matmul_in_bfloat16():
    a, b = (dtypes.from_float32(numbers(200, 200, seed=i), "bfloat16") for i in range(2))
    x, y = (dtypes.to_float32(array, "bfloat16").astype(np.float64) for array in (a, b))
    close(checked(kernels.matmul, a, b, dtype="float32"), x @ y, 1e-6)


def test_batched_matmul():
    a, b = numbers(3, 70, 40), numbers(3, 40, 90, seed=1)
    close(checked(kernels.batched_matmul, a, b), np.matmul(*wide(a, b)), 1e-6)


def softmax(x, axis=-1):
    """In double precision."""
    power = np.exp(x - x.max(axis=axis, keepdims=True))
    return power / power.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("rows, width", [(128, 64), (200, 1000), (1, 3)])
def test_softmax(rows, width):
    x, dy = numbers(rows, width, scale=3), numbers(rows, width, seed=1)
    close(checked(kernels.softmax, x), softmax(*wide(x)), 2e-6)
    y = softmax(*wide(x))
    expected = y * (dy - (y * dy).sum(1, keepdims=True))
    close(checked(kernels.softmax_grad, y.astype(np.float32), dy), expected, 4e-6)


@pytest.mark.parametrize("rows, width", [(130, 64), (64, 1200)])
def test_norms(rows, width):
    x, gamma, beta = numbers(rows, width), numbers(width, seed=1), numbers(width, seed=2)
    a, g, b = wide(x, gamma, beta)
    normal = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    close(checked(kernels.layernorm, x, gamma, beta), normal * g + b, 2e-6)
    root = np.sqrt((a ** 2).mean(1, keepdims=True) + 1e-6)
    close(checked(kernels.rmsnorm, x, gamma), a / root * g, 2e-6)
    dy = numbers(rows, width, seed=3)
    dx, dgamma = checked(kernels.rmsnorm_grad, x, gamma, dy)
    weighted = dy * g
    close(dx, (weighted - a / root ** 2 * (weighted * a).mean(1, keepdims=True)) / root, 4e-6)
    close(dgamma, (dy * a / root).sum(0), 4e-6)


def attention(q, k, v, causal):
    """In double precision."""
    share = q.shape[0] // k.shape[0]
    k, v = (np.repeat(x, share, 0) for x in wide(k, v))
    scores = np.matmul(q.astype(np.float64), k.transpose(0, 2, 1)) / math.sqrt(q.shape[2])
    if causal:
        late = np.arange(k.shape[1]) > np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
        scores[:, late] = -np.inf
    return np.matmul(softmax(scores), v)


@pytest.mark.parametrize("heads, key_heads, queries, keys, width, causal", [
    (1, 1, 128, 128, 64, True), (2, 1, 200, 200, 32, True), (1, 1, 100, 700, 64, True),
    (1, 1, 60, 600, 128, False), (4, 2, 1, 300, 64, True)])
def test_attention(heads, key_heads, queries, keys, width, causal):
    q = numbers(heads, queries, width)
    k, v = numbers(key_heads, keys, width, seed=1), numbers(key_heads, keys, width, seed=2)
    close(checked(kernels.flash_attention, q, k, v, causal=causal), attention(q, k, v, causal),
          4e-6)


def test_rope():
    x, angle = numbers(2, 200, 64), numbers(200, 32, seed=1)
    cos, sin = np.cos(angle), np.sin(angle)
    low, high = wide(x[..., :32], x[..., 32:])
    expected = np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)
    close(checked(kernels.rope, x, cos, sin), expected, 1e-6)


@pytest.mark.parametrize("shape", [(128, 64), (3, 5, 7), (300000,)])
def test_activations(shape):
    x, dy = numbers(*shape, scale=3), numbers(*shape, seed=1)
    a = x.astype(np.float64)
    sigmoid = 1 / (1 + np.exp(-a))
    close(checked(kernels.silu, x), a * sigmoid, 1e-6)
    close(checked(kernels.silu_grad, x, dy), dy * (sigmoid + a * sigmoid * (1 - sigmoid)), 1e-6)


def test_gelu():
    x, dy = numbers(40, 40, scale=3), numbers(40, 40, seed=1)
    a = x.astype(np.float64)
    normal = 0.5 * (1 + np.vectorize(math.erf)(a / math.sqrt(2)))
    close(checked(kernels.gelu, x), a * normal, 1e-6)
    slope = normal + a * np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    close(checked(kernels.gelu_grad, x, dy), dy * slope, 1e-6)


def test_optimisers():
    p, g, m = (numbers(33, 70, seed=i) for i in range(3))
    v = np.abs(numbers(33, 70, seed=3))
    a, b, c, d = wide(p, g, m, v)
    close(checked(kernels.sgd, p, g, 0.1, decay=0.01), a - 0.1 * (b + 0.01 * a), 1e-6)
    new_p, new_m, new_v = checked(kernels.adam, p, g, m, v, 3)
    mean, square = 0.9 * c + 0.1 * b, 0.999 * d + 0.001 * b * b
    close(new_m, mean, 1e-6)
    close(new_v, square, 1e-6)
    change = mean / (1 - 0.9 ** 3) / (np.sqrt(square / (1 - 0.999 ** 3)) + 1e-8)
    close(new_p, a - 1e-3 * change, 1e-6)


def test_embedding():
    table = numbers(500, 96)
    ids = np.random.default_rng(1).integers(0, 500, 200).astype(np.int32)
    np.testing.assert_array_equal(checked(kernels.embedding, table, ids), table[ids])
    dy = numbers(200, 96, seed=2)
    expected = np.zeros((500, 96))
    np.add.at(expected, ids, dy)
    close(checked(kernels.embedding_grad, ids, dy, 500), expected, 1e-6)


def test_cross_entropy():
    logits = numbers(150, 300, scale=3)
    labels = np.random.default_rng(1).integers(0, 300, 150).astype(np.int32)
    a = logits.astype(np.float64)
    y = softmax(a)
    picked = y[np.arange(150), labels]
    close(checked(kernels.cross_entropy, logits, labels), -np.log(picked), 2e-6)
    y[np.arange(150), labels] -= 1
    close(checked(kernels.cross_entropy_grad, logits, labels), y, 2e-6)


def test_topk():
    x = numbers(130, 200)
    values, places = checked(kernels.topk, x, 16)
    order = np.argsort(-x, axis=1)[:, :16]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@pytest.mark.parametrize("stride, pad", [(1, 0), (1, 1), (2, 1)])
def test_conv2d(stride, pad):
    x, w = numbers(16, 20, 24), numbers(3, 3, 16, 32, seed=1)
    a = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2))[:, ::stride, ::stride]
    close(checked(kernels.conv2d, x, w, stride=stride, pad=pad),
          np.einsum("chwij,ijcd->dhw", windows, w.astype(np.float64)), 1e-6)


def test_pooling():
    x = numbers(16, 13, 18)
    windows = x[:, :12, :].reshape(16, 4, 3, 6, 3)
    np.testing.assert_array_equal(checked(kernels.max_pool2d, x, 3), windows.max((2, 4)))
    close(checked(kernels.mean_pool2d, x, 3), windows.astype(np.float64).mean((2, 4)), 1e-6)
