# SPDX-License-Identifier: MIT
"""The kernel library against NumPy in double precision, with the chip's check of memory, on each
generation."""

import math
import pathlib

import numpy as np
import pytest

import neuron_emu
import neuron_kernels as kernels
import nki
import nki.collectives as ncc
from neuron_emu import dtypes


@pytest.fixture(autouse=True, params=["trn1", "trn2", "trn3"])
def generation(request, monkeypatch):
    """For which NeuronCore the kernels are traced."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", request.param)


def numbers(*shape, seed=0, scale=1.0):
    """Random FP32 numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def checked(kernel, *args, **kwargs):
    """What it returns; a race, or a read of what nobody wrote, fails."""
    return kernel.changed(check=True)(*args, **kwargs)


def close(result, expected, bound):
    """The greatest distance, as a part of the greatest expected size."""
    expected = np.asarray(expected, np.float64)
    assert result.shape == expected.shape
    distance = np.abs(np.asarray(result, np.float64) - expected).max()
    assert distance <= bound * np.abs(expected).max(), distance / np.abs(expected).max()


def wide(*arrays):
    """In double precision."""
    return [array.astype(np.float64) for array in arrays]


def test_every_kernel_is_checked():
    """In one of the tests below, with the chip's check."""
    source = pathlib.Path(__file__).read_text(encoding="utf-8")
    for name in kernels.__all__:
        assert (f"checked(kernels.{name}, " in source or
                f"kernels.{name}.changed(check=True)" in source), name


@pytest.mark.parametrize("m, k, n", [(128, 128, 512), (1, 1, 1), (130, 300, 520), (5, 700, 33)])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(m, k, n, transposed):
    a, b = numbers(*((k, m) if transposed else (m, k))), numbers(k, n, seed=1)
    x, y = wide(a, b)
    close(checked(kernels.matmul, a, b, transpose_a=transposed), (x.T if transposed else x) @ y,
          1e-6)
    dout = numbers(m, n, seed=2)
    change, = wide(dout)
    da, db = checked(kernels.matmul_grad, a, b, dout, transpose_a=transposed)
    close(da, y @ change.T if transposed else change @ y.T, 1e-6)
    close(db, x @ change if transposed else x.T @ change, 1e-6)


def test_a_deep_matmul():
    """Neither operand fits in SBUF as a whole."""
    a, b = numbers(130, 9000), numbers(9000, 20, seed=1)
    close(checked(kernels.matmul, a, b), np.matmul(*wide(a, b)), 1e-6)


def test_matmul_in_bfloat16():
    a, b = (dtypes.from_float32(numbers(200, 200, seed=i), "bfloat16") for i in range(2))
    x, y = (dtypes.to_float32(array, "bfloat16").astype(np.float64) for array in (a, b))
    close(checked(kernels.matmul, a, b, dtype="float32"), x @ y, 1e-6)


def test_batched_matmul():
    a, b = numbers(3, 70, 40), numbers(3, 40, 90, seed=1)
    close(checked(kernels.batched_matmul, a, b), np.matmul(*wide(a, b)), 1e-6)
    dout = numbers(3, 70, 90, seed=2)
    x, y, change = wide(a, b, dout)
    da, db = checked(kernels.batched_matmul_grad, a, b, dout)
    close(da, np.matmul(change, y.transpose(0, 2, 1)), 1e-6)
    close(db, np.matmul(x.transpose(0, 2, 1), change), 1e-6)


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
    weighted = dy.astype(np.float64) * g
    close(dx, (weighted - a / root ** 2 * (weighted * a).mean(1, keepdims=True)) / root, 4e-6)
    close(dgamma, (dy * a / root).sum(0), 4e-6)
    dx, dgamma, dbeta = checked(kernels.layernorm_grad, x, gamma, dy)
    away = weighted - weighted.mean(1, keepdims=True)
    away -= normal * (weighted * normal).mean(1, keepdims=True)
    close(dx, away / np.sqrt(a.var(1, keepdims=True) + 1e-5), 4e-6)
    close(dgamma, (dy * normal).sum(0), 4e-6)
    close(dbeta, dy.astype(np.float64).sum(0), 1e-6)


class Attention:
    """In double precision."""

    def __init__(self, q, k, v, causal):
        self.share = q.shape[0] // k.shape[0]
        self.q, = wide(q)
        self.k, self.v = (np.repeat(x, self.share, 0) for x in wide(k, v))
        self.scale = 1 / math.sqrt(q.shape[2])
        scores = np.matmul(self.q, self.k.transpose(0, 2, 1)) * self.scale
        if causal:
            late = np.arange(k.shape[1]) > np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
            scores[:, late] = -np.inf
        self.sums = np.log(np.exp(scores).sum(2))
        self.weights = softmax(scores)
        self.result = np.matmul(self.weights, self.v)

    def _of_key_heads(self, x):
        return x.reshape(-1, self.share, *x.shape[1:]).sum(1)

    def gradients(self, dout):
        """Those of q, k and v."""
        dout, = wide(dout)
        dweights = np.matmul(dout, self.v.transpose(0, 2, 1))
        away = (dout * self.result).sum(2, keepdims=True)
        dscores = self.scale * self.weights * (dweights - away)
        return (np.matmul(dscores, self.k),
                self._of_key_heads(np.matmul(dscores.transpose(0, 2, 1), self.q)),
                self._of_key_heads(np.matmul(self.weights.transpose(0, 2, 1), dout)))


@pytest.mark.parametrize("heads, key_heads, queries, keys, width, causal", [
    (1, 1, 128, 128, 64, True), (2, 1, 200, 200, 32, True), (1, 1, 100, 700, 64, True),
    (1, 1, 60, 600, 128, False), (4, 2, 1, 300, 64, True)])
def test_attention(heads, key_heads, queries, keys, width, causal):
    q, dout = numbers(heads, queries, width), numbers(heads, queries, width, seed=3)
    k, v = numbers(key_heads, keys, width, seed=1), numbers(key_heads, keys, width, seed=2)
    expected = Attention(q, k, v, causal)
    close(checked(kernels.flash_attention, q, k, v, causal=causal), expected.result, 4e-6)
    out, sums = checked(kernels.flash_attention, q, k, v, causal=causal, with_sums=True)
    close(out, expected.result, 4e-6)
    close(sums, expected.sums, 4e-6)
    gradients = checked(kernels.flash_attention_grad, q, k, v, out, sums, dout, causal=causal)
    for found, wanted in zip(gradients, expected.gradients(dout)):
        close(found, wanted, 4e-6)


def test_gradients_of_attention_in_bfloat16():
    q, k, v, dout = (dtypes.from_float32(numbers(2, 150, 64, seed=i), "bfloat16")
                     for i in range(4))
    out, sums = checked(kernels.flash_attention, q, k, v, with_sums=True)
    expected = Attention(*(dtypes.to_float32(x) for x in (q, k, v)), True)
    close(dtypes.to_float32(out), expected.result, 1e-2)
    gradients = checked(kernels.flash_attention_grad, q, k, v, out, sums, dout)
    for found, wanted in zip(gradients, expected.gradients(dtypes.to_float32(dout))):
        close(dtypes.to_float32(found), wanted, 1e-2)


def test_rope():
    x, angle = numbers(2, 200, 64), numbers(200, 32, seed=1)
    cos, sin = np.cos(angle), np.sin(angle)
    low, high = wide(x[..., :32], x[..., 32:])
    expected = np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)
    close(checked(kernels.rope, x, cos, sin), expected, 1e-6)
    # A rotation: the gradient of the result itself is the argument.
    close(checked(kernels.rope_grad, expected.astype(np.float32), cos, sin), x, 1e-6)


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
    dloss = numbers(150, seed=2)
    close(checked(kernels.cross_entropy_grad, logits, labels, dloss), y * dloss[:, None], 2e-6)


def test_topk():
    x = numbers(130, 200)
    values, places = checked(kernels.topk, x, 16)
    order = np.argsort(-x, axis=1)[:, :16]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    dy = numbers(130, 16, seed=1)
    expected = np.zeros_like(x)
    np.put_along_axis(expected, order, dy, 1)
    np.testing.assert_array_equal(checked(kernels.topk_grad, places, dy, 200), expected)


@pytest.mark.parametrize("height, width, stride, pad", [
    (20, 24, 1, 0), (20, 24, 1, 1), (20, 24, 2, 1), (6, 150, 1, 1)])
def test_conv2d(height, width, stride, pad):
    x, w = numbers(16, height, width), numbers(3, 3, 16, 32, seed=1)
    weights, = wide(w)
    a = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3), (1, 2))[:, ::stride, ::stride]
    y = np.einsum("chwij,ijcd->dhw", windows, weights)
    close(checked(kernels.conv2d, x, w, stride=stride, pad=pad), y, 1e-6)
    dy = numbers(*y.shape, seed=2)
    change, = wide(dy)
    expected = np.zeros_like(a)
    for i in range(3):
        for j in range(3):
            expected[:, i:i + (y.shape[1] - 1) * stride + 1:stride,
                     j:j + (y.shape[2] - 1) * stride + 1:stride] += np.einsum(
                         "dhw,cd->chw", change, weights[i, j])
    dx, dw = checked(kernels.conv2d_grad, x, w, dy, stride=stride, pad=pad)
    close(dx, expected[:, pad:pad + height, pad:pad + width], 1e-6)
    close(dw, np.einsum("chwij,dhw->ijcd", windows, change), 1e-6)


def test_pooling():
    x, dy = np.round(numbers(16, 13, 18) * 2), numbers(16, 4, 6, seed=1)
    windows = x[:, :12, :].reshape(16, 4, 3, 6, 3)
    y = checked(kernels.max_pool2d, x, 3)
    np.testing.assert_array_equal(y, windows.max((2, 4)))
    close(checked(kernels.mean_pool2d, x, 3), windows.astype(np.float64).mean((2, 4)), 1e-6)
    # The numbers are whole, so that elements are equal; the first one counts.
    flat = windows.transpose(0, 1, 3, 2, 4).reshape(16, 4, 6, 9)
    hot = np.eye(9, dtype=np.float32)[flat.argmax(3)].reshape(16, 4, 6, 3, 3)
    expected = np.zeros_like(x)
    expected[:, :12] = (hot * dy[..., None, None]).transpose(0, 1, 3, 2, 4).reshape(16, 12, 18)
    np.testing.assert_array_equal(checked(kernels.max_pool2d_grad, x, y, dy, 3), expected)
    expected[:, :12] = np.repeat(np.repeat(dy, 3, 1), 3, 2) / 9
    close(checked(kernels.mean_pool2d_grad, dy, 3, 13, 18), expected, 1e-6)


def as_mx(x):
    """x [depth, n] rounded to MXFP8: 32 elements of a column share a power of two, which brings the
    largest one below 256; elements have 3 bits behind the leading one."""
    groups = np.zeros((-(-len(x) // 32) * 32, x.shape[1]))
    groups[:len(x)] = x
    groups = groups.reshape(-1, 32, x.shape[1])
    exponent = np.floor(np.log2(np.abs(groups).max(1, keepdims=True))) - 7
    scaled = groups / 2.0 ** exponent
    step = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(scaled), 2.0 ** -6))) - 3)
    return (np.rint(scaled / step) * step * 2.0 ** exponent).reshape(-1, x.shape[1])[:len(x)]


@pytest.mark.parametrize("generation", ["trn3"], indirect=True)
@pytest.mark.parametrize("m, k, n", [(128, 512, 512), (5, 32, 7), (130, 700, 520), (3, 4, 1)])
def test_mx_matmul(m, k, n):
    a, b = (dtypes.to_float32(dtypes.from_float32(numbers(*shape, seed=i), "bfloat16"))
            for i, shape in enumerate(((m, k), (k, n))))
    result = checked(kernels.mx_matmul, a, b)
    close(result, as_mx(a.T).T @ as_mx(b), 1e-6)
    exact = np.matmul(*wide(a, b))
    size = np.sqrt((wide(a)[0] ** 2).sum(1)[:, None] * (wide(b)[0] ** 2).sum(0))
    assert (np.abs(result - exact) <= 0.13 * size).all()


def test_a_ring_of_products():
    xs = [numbers(40, 200, seed=i) for i in range(4)]
    ws = [numbers(200, 100, seed=10 + i) for i in range(4)]
    kernel = kernels.ring_matmul.changed(check=True)
    whole = np.concatenate(wide(*xs))
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        group = ncc.ReplicaGroup([order])
        results = neuron_emu.run_ranks(kernel, [(x, w, group) for x, w in zip(xs, ws)])
        for result, w in zip(results, wide(*ws)):
            close(result, whole @ w, 1e-6)
    with pytest.raises(nki.NkiError, match="one list"):
        neuron_emu.run_ranks(kernel, [(xs[0], ws[0], ncc.ReplicaGroup([[0], [1]]))] * 2)


def test_gradients_of_a_ring_of_products():
    xs, ws, douts = ([numbers(*shape, seed=seed + i) for i in range(4)]
                     for seed, shape in ((0, (40, 200)), (10, (200, 100)), (20, (160, 100))))
    kernel = kernels.ring_matmul_grad.changed(check=True)
    changes, whole = wide(*douts), np.concatenate(wide(*xs))
    dxs = np.split(sum(change @ w.T for change, w in zip(changes, wide(*ws))), 4)
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        group = ncc.ReplicaGroup([order])
        results = neuron_emu.run_ranks(kernel, [(*args, group) for args in zip(xs, ws, douts)])
        for (dx, dw), expected, change in zip(results, dxs, changes):
            close(dx, expected, 1e-6)
            close(dw, whole.T @ change, 1e-6)


# No gradient: what is a step of an optimiser, and rounding to MXFP8, which moves in steps.
NO_GRADIENT = {"adam", "sgd", "mx_matmul"}


def test_each_kernel_has_its_gradient():
    forward = {name for name in kernels.__all__ if not name.endswith("_grad")}
    assert {name + "_grad" for name in forward - NO_GRADIENT} | forward == set(kernels.__all__)
