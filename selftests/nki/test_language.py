# SPDX-License-Identifier: MIT
"""The functions of nki.language, each against NumPy in double precision."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import dtypes, ops
from neuron_emu.errors import NkiValidationError

EXACT = 0.0
# Relative to the result, in FP32: one rounding, and a few of them.
ONCE, FEW = 2.0 ** -23, 2.0 ** -20


def numbers(*shape, seed=0, scale=3.0):
    """Random FP32 numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def compute(function, *arrays):
    """What `function` makes of tiles with the arrays."""

    @nki.jit
    def kernel(*tensors):
        result = function(*(nl.load(tensor) for tensor in tensors))
        out = nl.ndarray(result.shape, result.dtype, buffer=nl.shared_hbm)
        nl.store(out, result)
        return out

    return kernel(*arrays)


def close(result, expected, bound, least=1.0):
    """The distance is at most `bound` of the expected size, or of `least` where that is more."""
    expected = np.asarray(expected, np.float64).reshape(result.shape)
    distance = np.abs(result.astype(np.float64) - expected)
    allowed = bound * np.maximum(np.abs(expected), least)
    assert (distance <= allowed).all(), f"{(distance - allowed).max()} above the bound"


BINARY = {
    "add": (np.add, ONCE), "subtract": (np.subtract, ONCE), "multiply": (np.multiply, ONCE),
    "divide": (np.divide, 4 * ONCE), "maximum": (np.maximum, EXACT),
    "minimum": (np.minimum, EXACT), "fmod": (np.fmod, FEW), "mod": (np.mod, FEW),
    "equal": (np.equal, EXACT), "not_equal": (np.not_equal, EXACT), "less": (np.less, EXACT),
    "less_equal": (np.less_equal, EXACT), "greater": (np.greater, EXACT),
    "greater_equal": (np.greater_equal, EXACT),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    reference, bound = BINARY[name]
    a, b = numbers(128, 96), numbers(128, 96, seed=1) + np.float32(0.1)
    function = getattr(nl, name)
    wide = [x.astype(np.float64) for x in (a, b)]
    close(compute(function, a, b), reference(*wide), bound)
    close(compute(lambda x: function(x, 2.5), a), reference(wide[0], 2.5), bound)
    close(compute(lambda y: function(2.5, y), b), reference(2.5, wide[1]), bound)


UNARY = {
    "abs": (np.abs, EXACT), "square": (np.square, ONCE), "negative": (np.negative, EXACT),
    "sign": (np.sign, EXACT), "copy": (np.array, EXACT), "reciprocal": (np.reciprocal, ONCE),
    "relu": (lambda x: np.maximum(x, 0), EXACT), "exp": (np.exp, ONCE), "tanh": (np.tanh, ONCE),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), ONCE), "arctan": (np.arctan, ONCE),
    "silu": (lambda x: x / (1 + np.exp(-x)), ONCE),
    "softplus": (lambda x: np.log1p(np.exp(x)), ONCE), "floor": (np.floor, EXACT),
    "ceil": (np.ceil, EXACT), "trunc": (np.trunc, EXACT), "sin": (np.sin, 4 * ONCE),
    "cos": (np.cos, 8 * ONCE),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    reference, bound = UNARY[name]
    a = numbers(128, 96)
    close(compute(getattr(nl, name), a), reference(a.astype(np.float64)), bound,
          0.0 if name == "reciprocal" else 1.0)


@pytest.mark.parametrize("name, reference", [
    ("log", np.log), ("sqrt", np.sqrt), ("rsqrt", lambda x: 1 / np.sqrt(x))])
def test_unary_of_positive_numbers(name, reference):
    a = np.abs(numbers(64, 64)) + np.float32(0.1)
    close(compute(getattr(nl, name), a), reference(a.astype(np.float64)), ONCE)


@pytest.mark.parametrize("name", ["gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid",
                                  "gelu_apprx_sigmoid_dx", "silu_dx", "mish", "erf", "erf_dx"])
def test_functions_of_the_scalar_engine(name):
    """The same bits as the instruction; its function is tested with the chip."""
    a = numbers(16, 32)

    def instruction(x):
        nisa.activation(x, getattr(nl, name), x)
        return x
    np.testing.assert_array_equal(compute(getattr(nl, name), a), compute(instruction, a))


def test_every_documented_operator_computes():
    instructions_only = {"prelu", "bypass", "average"}
    lacking = {name for name, op in ops.ALL.items() if op.function is None}
    assert lacking == instructions_only


@pytest.mark.parametrize("scale", [1.0, 1e3, 2e4])
def test_turns_are_taken_away(scale):
    a = numbers(128, 64, scale=scale)
    wide = a.astype(np.float64)
    close(compute(nl.sin, a), np.sin(wide), 16 * ONCE)
    close(compute(nl.cos, a), np.cos(wide), 16 * ONCE)
    slope = 1 + np.tan(wide) ** 2
    assert (np.abs(compute(nl.tan, a) - np.tan(wide)) <= 32 * ONCE * slope).all()


@pytest.mark.parametrize("function, reference", [
    (nl.floor, np.floor), (nl.ceil, np.ceil), (nl.trunc, np.trunc)])
def test_whole_numbers_stay(function, reference):
    a = np.array([[0.5, -0.5, 1.5, 2.5, -2.5, 8388607.5, 8388609.0, -16777217.0, 3e9, -3e9,
                   1e30, np.inf, -np.inf, np.nan]], np.float32)
    result = compute(function, a)
    np.testing.assert_array_equal(result, reference(a))


def test_integers_of_32_bits_are_exact():
    a = np.random.default_rng(3).integers(-2 ** 30, 2 ** 30, (128, 16)).astype(np.int32)
    for function, expected in (
            (lambda x: nl.add(x, 3), a + 3), (lambda x: nl.subtract(3, x), 3 - a),
            (lambda x: nl.multiply(x, 5), a * 5), (lambda x: nl.left_shift(x, 3), a << 3),
            (lambda x: nl.bitwise_and(x, 0xff), a & 0xff), (nl.invert, ~a)):
        np.testing.assert_array_equal(compute(function, a), expected)


def test_power():
    a = np.abs(numbers(64, 32)) + np.float32(0.1)
    b = numbers(64, 32, seed=1, scale=1.0)
    for result, expected in (
            (compute(nl.power, a, b), a.astype(np.float64) ** b),
            (compute(lambda x: nl.power(x, 2.0), a), a.astype(np.float64) ** 2),
            (compute(lambda x: nl.power(2.0, x), b), 2.0 ** b.astype(np.float64))):
        close(result, expected, 4 * ONCE)


def test_logical():
    a = (numbers(32, 32) > 0).astype(np.float32)
    b = (numbers(32, 32, seed=1) > 0).astype(np.float32)
    for name in ("logical_and", "logical_or", "logical_xor"):
        np.testing.assert_array_equal(compute(getattr(nl, name), a, b),
                                      getattr(np, name)(a, b).astype(np.float32))
    np.testing.assert_array_equal(compute(nl.logical_not, a), 1 - a)


def test_signed_extremes_need_trn3(monkeypatch):
    a, b = numbers(32, 32), numbers(32, 32, seed=1)
    with pytest.raises(NkiValidationError, match="NeuronCore-v4"):
        compute(nl.abs_max, a, b)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    np.testing.assert_array_equal(compute(nl.abs_max, a, b),
                                  np.where(np.abs(a) > np.abs(b), a, b))
    np.testing.assert_array_equal(compute(nl.abs_min, a, b),
                                  np.where(np.abs(a) < np.abs(b), a, b))


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "mean": np.mean}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [2, (1, 2)])
def test_reductions(name, axis):
    a = numbers(64, 4, 8, scale=1.0)
    wide = a.astype(np.float64)
    function = getattr(nl, name)
    kept = compute(lambda x: function(x, axis, keepdims=True), a)
    expected = REDUCTIONS[name](wide, axis=axis, keepdims=True)
    assert kept.shape == expected.shape
    close(kept, expected, 32 * ONCE)
    gone = compute(lambda x: function(x, axis), a)
    assert gone.shape == ((64, 4) if axis == 2 else (64, 1, 1))
    np.testing.assert_array_equal(gone.ravel(), kept.ravel())


def test_variance_and_all():
    a = numbers(64, 4, 8)
    close(compute(lambda x: nl.var(x, (1, 2)), a),
          np.var(a.astype(np.float64), axis=(1, 2), keepdims=True), FEW)
    b = (np.abs(numbers(64, 32)) > 0.2).astype(np.float32)
    b[::2] = 1.0
    np.testing.assert_array_equal(compute(lambda x: nl.all(x, 1), b).ravel(),
                                  b.all(1).astype(np.float32))


@pytest.mark.parametrize("axis", [-1, (1, 2)])
def test_softmax(axis):
    a = numbers(64, 4, 8)
    power = np.exp(a.astype(np.float64) - a.max(axis=axis, keepdims=True))
    close(compute(lambda x: nl.softmax(x, axis), a), power / power.sum(axis=axis, keepdims=True),
          FEW)


def test_rms_norm():
    a, w = numbers(128, 64), numbers(1, 64, seed=1)
    wide = a.astype(np.float64)
    expected = wide / np.sqrt((wide ** 2).mean(1, keepdims=True) + 1e-6) * w
    close(compute(lambda x, y: nl.rms_norm(x, y, 1, 64), a, w), expected, FEW)


def test_where():
    a, b = numbers(64, 32), numbers(64, 32, seed=1)
    np.testing.assert_array_equal(
        compute(lambda x, y: nl.where(nl.less(x, y), x, y), a, b), np.where(a < b, a, b))
    np.testing.assert_array_equal(
        compute(lambda x: nl.where(nl.greater(x, 0.0), 1.0, x), a), np.where(a > 0, 1, a))


def test_shapes():
    a, row = numbers(128, 64), numbers(1, 64, seed=1)
    assert compute(lambda x: nl.expand_dims(x, 1), a).shape == (128, 1, 64)
    np.testing.assert_array_equal(
        compute(lambda x: nl.broadcast_to(x, (128, 64)), row), np.broadcast_to(row, (128, 64)))
    np.testing.assert_array_equal(
        compute(lambda x: nl.add(x, nl.broadcast_to(x[:, 0:1], (128, 64))), a), a + a[:, :1])
    with pytest.raises(NkiValidationError, match="same shape"):
        compute(lambda x: nl.add(x, x[:, 0:2]), a)


@pytest.mark.parametrize("rows, columns", [(128, 64), (16, 20)])
def test_transpose(rows, columns):
    a = numbers(rows, columns)
    np.testing.assert_array_equal(compute(nl.transpose, a), a.T)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_transpose_in_bfloat16(target):
    @nki.jit(platform_target=target)
    def kernel(a):
        out = nl.ndarray((64, 100), a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.transpose(nl.load(a)))
        return out

    a = dtypes.from_float32(numbers(100, 64), "bfloat16")
    assert (kernel(a) == a.T).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_load_transposed(dtype):
    a = numbers(96, 64).astype(dtype)

    @nki.jit
    def kernel(tensor):
        tile = nl.load_transpose2d(tensor)
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    np.testing.assert_array_equal(kernel(a), a.T)


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(transposed):
    a, b = numbers(64, 64), numbers(64, 128, seed=1)
    left = a.T if transposed else a
    close(compute(lambda x, y: nl.copy(nl.matmul(x, y, transpose_x=transposed)), a, b),
          left.astype(np.float64) @ b, FEW, 100.0)


def test_gather_flattened():
    a = numbers(128, 64)
    places = np.random.default_rng(2).integers(0, 64, (128, 10)).astype(np.uint32)
    np.testing.assert_array_equal(compute(nl.gather_flattened, a, places),
                                  np.take_along_axis(a, places.astype(np.int64), 1))


def test_random_numbers():
    a = numbers(128, 4)

    def twice(x):
        nl.random_seed(7)
        first = nl.rand((128, 64), nl.float32)
        nl.random_seed(7)
        return nl.subtract(first, nl.rand((128, 64), nl.float32))

    np.testing.assert_array_equal(compute(twice, a), 0)
    some = compute(lambda x: nl.rand((128, 512), nl.float32), a)
    assert some.min() >= 0 and some.max() < 1
    assert abs(some.mean() - 0.5) < 0.01 and len(np.unique(some)) > 60000


def test_dropout():
    a = numbers(128, 512)
    result = compute(lambda x: nl.dropout(x, 0.25), a)
    kept = result != 0
    np.testing.assert_array_equal(result[kept], a[kept])
    assert abs(kept.mean() - 0.75) < 0.02


@pytest.mark.parametrize("function,want", [
    (lambda x: nl.multiply(x, 0.5, dtype="float32"), lambda a: a * 0.5),
    (lambda x: nl.divide(x, 8, dtype="float32"), lambda a: a / 8),
    (lambda x: nl.add(x, 0.25, dtype="float32"), lambda a: a + 0.25),
    (lambda x: nl.subtract(0.75, x, dtype="float32"), lambda a: 0.75 - a),
    (lambda x: nl.multiply(x, 3), lambda a: a * 3),
    (lambda x: nl.add(x, 2.0**24 + 1), lambda a: a + (2**24 + 1))])
def test_integers_and_numbers(function, want):
    """A number with a fraction keeps it; whole ones are added exactly."""
    a = np.arange(-8, 24, dtype=np.int32)[None]
    expected = want(a)

    @nki.jit
    def kernel(a):
        result = function(nl.load(a))
        out = nl.ndarray(a.shape, result.dtype, buffer=nl.shared_hbm)
        nl.store(out, result)
        return out

    np.testing.assert_array_equal(kernel(a), expected)


@nki.jit
def printing(a):
    x = nl.load(a)
    nl.device_print("before", x)
    nisa.tensor_scalar(x, x, nl.multiply, 2.0)
    nl.device_print("after", x[0:1])
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, x)
    return out


def test_device_print(capsys, monkeypatch):
    """It prints what the tensor has at that place, in simulation; the kernel runs all the same."""
    a = np.array([[1.5, -3], [64, 128]], np.float32)
    np.testing.assert_array_equal(nki.simulate(printing)(a), a * 2)
    said = capsys.readouterr().out
    before, after = said.split("after")
    assert before.startswith("before") and "1.5" in before and "128" in before
    assert "3." in after and "-6" in after and "128" not in after
    np.testing.assert_array_equal(printing(a), a * 2)
    assert not capsys.readouterr().out
    monkeypatch.setenv("NEURON_RT_DEBUG_OUTPUT_DIR", "/nowhere")
    with pytest.raises(NkiValidationError, match="NEURON_RT_DEBUG_OUTPUT_DIR is not written"):
        nki.jit(printing.func)(a * 1)


def test_where_a_tensor_lies():
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        sums = nl.ndarray((4, 8), nl.float32, buffer=nl.psum)
        answers = [[ask(x) for x in
                    (a.buffer, tile.buffer, sums.buffer, nl.shared_hbm, nl.sbuf)]
                   for ask in (nl.is_hbm, nl.is_sbuf, nl.is_psum, nl.is_on_chip)]
        assert answers == [[True, False, False, True, False], [False, True, False, False, True],
                           [False, False, True, False, False], [False, True, True, False, True]]
        return nl.shared_constant(np.ones((1, 4), np.float32))

    kernel(numbers(4, 8))


def test_tensors_like_others():
    @nki.jit
    def kernel(a):
        tile = nl.load(a)
        zeros = nl.zeros_like(tile)
        ones = nl.ones((4, 8), nl.bfloat16)
        copy = nl.empty_like(tile, dtype=nl.float32)
        nl.assign(copy, nl.add(tile, ones))
        nl.assign(copy[0:1, 0:3], 5.0)
        assert (zeros.dtype, zeros.shape, zeros.buffer) == (tile.dtype, tile.shape, tile.buffer)
        out = nl.ndarray((8, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out[0:4], copy)
        nl.assign(out[4:8], zeros)
        return out

    a = numbers(4, 8)
    want = a + 1
    want[0, :3] = 5
    np.testing.assert_array_equal(kernel(a), np.concatenate([want, np.zeros((4, 8))]))


def test_constants_of_a_kernel(tmp_path):
    table = numbers(8, 8)
    np.save(tmp_path / "table.npy", table)

    @nki.jit
    def kernel():
        one = nl.shared_identity_matrix(8, dtype=nl.float32)
        other = nl.ndarray((8, 8), nl.float32)
        nl.shared_identity_matrix(8, dst=other)
        x = nl.load(nl.shared_constant(str(tmp_path / "table.npy")))
        out = nl.ndarray((8, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.add(one, other), x))
        return out

    np.testing.assert_array_equal(kernel(), 2 * np.eye(8, dtype=np.float32) + table)


def test_the_axes_of_a_grid():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)
        row = nl.program_id(0) * 2 + (nl.program_id(1) if nl.program_ndim() == 2 else 0)
        for _ in nl.sequential_range(1):
            nl.store(out[row:row + 1], nl.multiply(nl.load(a[row:row + 1]), nl.program_ndim()))
        return out

    a = numbers(4, 8)
    np.testing.assert_array_equal(kernel[2, 2](a), 2 * a)
