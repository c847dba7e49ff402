# SPDX-License-Identifier: MIT
"""Each function of nki.isa once, and those of its options that change what it computes."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

P, F = 32, 48


def numbers(*shape, seed=0):
    """Random FP32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run(body, *inputs, out=None, dtype=nl.float32, target="trn2", monkeypatch=None):
    """body(y, *tiles) for tiles of the inputs; returns what is in y then."""
    shape = out or inputs[0].shape
    if monkeypatch:
        monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)

    @nki.jit
    def kernel(arrays):
        result = nl.ndarray(shape, dtype, buffer=nl.shared_hbm)
        tiles = [nl.load(a) for a in arrays]
        y = nl.ndarray(shape, dtype)
        body(y, *tiles)
        nl.store(result, y)
        return result

    return kernel(list(inputs))


A, B = numbers(P, F), numbers(P, F, seed=1)
COLUMN = numbers(P, 1, seed=2)
WORDS = np.random.default_rng(3).integers(0, 2**31, (P, F)).astype(np.int32)


BINARY = {nl.add: np.add, nl.subtract: np.subtract, nl.multiply: np.multiply,
          nl.maximum: np.maximum, nl.minimum: np.minimum, nl.equal: np.equal,
          nl.not_equal: np.not_equal, nl.less: np.less, nl.less_equal: np.less_equal,
          nl.greater: np.greater, nl.greater_equal: np.greater_equal,
          nl.logical_and: np.logical_and, nl.logical_or: np.logical_or,
          nl.logical_xor: np.logical_xor}


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_tensor_tensor(op):
    got = run(lambda y, a, b: nisa.tensor_tensor(y, a, b, op), A, B)
    np.testing.assert_array_equal(got, BINARY[op](A, B).astype(np.float32))


def test_tensor_tensor_of_integers_is_exact():
    got = run(lambda y, a, b: nisa.tensor_tensor(y, a, b, nl.add), WORDS // 2, WORDS // 4,
              dtype=nl.int32)
    np.testing.assert_array_equal(got, WORDS // 2 + WORDS // 4)


def test_tensor_tensor_power():
    got = run(lambda y, a, b: nisa.tensor_tensor(y, a, b, nl.power), np.abs(A), B)
    np.testing.assert_allclose(got, np.abs(A) ** B, rtol=1e-5)


@pytest.mark.parametrize("op,want", [
    (nl.bitwise_and, np.bitwise_and), (nl.bitwise_or, np.bitwise_or),
    (nl.bitwise_xor, np.bitwise_xor), (nl.left_shift, np.left_shift),
    (nl.right_shift, np.right_shift)], ids=lambda x: x.__name__)
def test_tensor_scalar_on_bits(op, want):
    got = run(lambda y, a: nisa.tensor_scalar(y, a, op, 5), WORDS, dtype=nl.int32)
    np.testing.assert_array_equal(got, want(WORDS, 5))


@pytest.mark.parametrize("reverse0", [False, True])
@pytest.mark.parametrize("reverse1", [False, True])
@pytest.mark.parametrize("column", [False, True])
def test_tensor_scalar(reverse0, reverse1, column):
    def body(y, a, c):
        nisa.tensor_scalar(y, a, nl.subtract, c if column else 0.75, reverse0, nl.multiply,
                           c if column else 3.0, reverse1)

    s0, s1 = (COLUMN, COLUMN) if column else (np.float32(0.75), np.float32(3))
    first = s0 - A if reverse0 else A - s0
    np.testing.assert_array_equal(run(body, A, COLUMN, out=A.shape), first * s1)


@pytest.mark.parametrize("op,want", [(nl.abs, np.abs), (nl.square, np.square),
                                     (nl.relu, lambda x: np.maximum(x, 0)),
                                     (nl.reciprocal, lambda x: np.float32(1) / x)],
                         ids=["abs", "square", "relu", "reciprocal"])
def test_tensor_scalar_of_one_operand(op, want, monkeypatch):
    got = run(lambda y, a: nisa.tensor_scalar(y, a, op, None), A, target="trn3",
              monkeypatch=monkeypatch)
    np.testing.assert_array_equal(got, want(A))


def test_scalar_tensor_tensor():
    got = run(lambda y, a, b, c: nisa.scalar_tensor_tensor(y, a, nl.multiply, c, nl.subtract, b,
                                                           reverse1=True), A, B, COLUMN)
    np.testing.assert_array_equal(got, B - A * COLUMN)


@pytest.mark.parametrize("op,want", [(nl.add, np.sum), (nl.maximum, np.max), (nl.minimum, np.min)],
                         ids=["add", "maximum", "minimum"])
def test_tensor_scalar_reduce(op, want):
    def body(y, a):
        x = nl.ndarray(A.shape, nl.float32)
        nisa.tensor_scalar_reduce(x, a, nl.multiply, 2.0, op, y)

    got = run(body, A, out=(P, 1))
    np.testing.assert_allclose(got, want(A * 2, axis=1, keepdims=True), rtol=1e-5, atol=1e-5)


def test_tensor_scalar_reduce_goes_on():
    def body(y, a, b, c):
        x = nl.ndarray(A.shape, nl.float32)
        nisa.tensor_scalar_reduce(x, a, nl.add, 0.0, nl.add, reduce_init=c,
                                  reduce_cmd=nisa.reduce_cmd.load_reduce)
        nisa.tensor_scalar_reduce(x, b, nl.add, 0.0, nl.add, y,
                                  reduce_cmd=nisa.reduce_cmd.reduce, reduce_res_negate=True)

    got = run(body, A, B, COLUMN, out=(P, 1))
    want = -(A.sum(1, keepdims=True) + B.sum(1, keepdims=True) + COLUMN)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_tensor_scalar_cumulative():
    got = run(lambda y, a: nisa.tensor_scalar_cumulative(y, a, nl.multiply, nl.add, 2.0), A)
    np.testing.assert_allclose(got, np.cumsum(A * 2, 1), rtol=1e-4, atol=1e-5)


def test_tensor_tensor_scan():
    got = run(lambda y, a, b: nisa.tensor_tensor_scan(y, a, b, 1.5, nl.multiply, nl.add), A, B)
    want, last = np.empty_like(A), np.full(P, 1.5, np.float32)
    for i in range(F):
        last = A[:, i] * last + B[:, i]
        want[:, i] = last
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis,want", [((2,), 2), ((1, 2), (1, 2)), (-1, 2)])
def test_tensor_reduce(axis, want):
    a = A.reshape(P, 6, 8)
    shape = a.max(want).shape
    shape = shape if len(shape) > 1 else shape + (1,)
    got = run(lambda y, x: nisa.tensor_reduce(y, nl.maximum, x, axis), a, out=shape)
    np.testing.assert_array_equal(got, a.max(want).reshape(shape))


def test_tensor_reduce_negates():
    got = run(lambda y, x: nisa.tensor_reduce(y, nl.minimum, x, 1, negate=True), A, out=(P, 1))
    np.testing.assert_array_equal(got, -A.min(1, keepdims=True))


@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd", "unknown"])
def test_tensor_copy_with_a_cast(engine):
    got = run(lambda y, a: nisa.tensor_copy(y, a, engine=nisa.engine[engine]), A,
              dtype=nl.float16)
    np.testing.assert_array_equal(got, A.astype(np.float16))


def test_tensor_copy_that_names_the_type():
    got = run(lambda y, a: nisa.tensor_copy(y, a, dtype=nl.float16), A, dtype=nl.float16)
    np.testing.assert_array_equal(got, A.astype(np.float16))
    with pytest.raises(nki.NkiValidationError, match="type of dst, float16, not float32"):
        run(lambda y, a: nisa.tensor_copy(y, a, dtype=np.float32), A, dtype=nl.float16)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("number", [False, True])
def test_tensor_copy_predicated(reverse, number):
    mask = (WORDS % 3 == 0).astype(np.uint8)

    def body(y, a, b, m):
        nisa.tensor_copy(y, b)
        nisa.tensor_copy_predicated(y, 7.5 if number else a, m, reverse)

    want = np.where((mask == 0) if reverse else (mask == 1), 7.5 if number else A, B)
    np.testing.assert_array_equal(run(body, A, B, mask), want.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16"])
def test_memset(dtype):
    got = run(lambda y: nisa.memset(y, 11), out=(P, F), dtype=dtype)
    np.testing.assert_array_equal(got, np.full((P, F), 11, dtype))


def test_reciprocal():
    got = run(lambda y, a: nisa.reciprocal(y, a), A)
    np.testing.assert_array_equal(got, np.float32(1) / A)


def test_activation():
    got = run(lambda y, a, c: nisa.activation(y, nl.exp, a, bias=c, scale=0.5), A, COLUMN)
    np.testing.assert_allclose(got, np.exp(A * 0.5 + COLUMN), rtol=1e-5)


def test_activation_reduce():
    def body(y, a):
        x = nl.ndarray(A.shape, nl.float32)
        nisa.activation_reduce(x, nl.square, a, nl.add, y)

    got = run(body, A, out=(P, 1))
    np.testing.assert_allclose(got, (A * A).sum(1, keepdims=True), rtol=1e-5)


def test_activate2(monkeypatch):
    got = run(lambda y, a: nisa.activate2(y, nl.relu, a, 2.0, 0.5, nl.multiply, nl.subtract,
                                          reverse1=True), A, target="trn3",
              monkeypatch=monkeypatch)
    np.testing.assert_array_equal(got, np.maximum(0.5 - A * 2, 0))


def test_exponential(monkeypatch):
    def body(y, a, c):
        x = nl.ndarray(A.shape, nl.float32)
        nisa.exponential(x, a, c, y, nisa.reduce_cmd.reset_reduce)

    got = run(body, A, COLUMN, out=(P, 1), target="trn3", monkeypatch=monkeypatch)
    np.testing.assert_allclose(got, np.exp(A - COLUMN).sum(1, keepdims=True), rtol=1e-5)


def test_bn_stats_and_aggr():
    def body(y, a):
        stats = nl.ndarray((P, 6), nl.float32)
        nisa.bn_stats(stats, a)
        nisa.bn_aggr(y, stats)

    want = np.stack([A.mean(1), A.var(1)], 1)
    np.testing.assert_allclose(run(body, A, out=(P, 2)), want, rtol=1e-4, atol=1e-5)


def test_range_select():
    low, high = np.full((P, 1), 5, np.float32), np.full((P, 1), 20, np.float32)

    def body(y, a, b0, b1):
        nisa.range_select(y, a, nl.greater_equal, nl.less, b0, b1, range_start=2)

    index = np.arange(F) + 2
    want = np.where((index >= 5) & (index < 20), A, np.finfo(np.float32).min)
    np.testing.assert_array_equal(run(body, A, low, high), want)


def test_select_reduce():
    mask = (WORDS % 2).astype(np.uint8)

    def body(y, a, m):
        x = nl.ndarray(A.shape, nl.float32)
        nisa.select_reduce(x, m, a, -5.0, y, nisa.reduce_cmd.reset_reduce, reverse_pred=True)

    want = np.where(mask == 0, A, -5).max(1, keepdims=True)
    np.testing.assert_array_equal(run(body, A, mask, out=(P, 1)), want)


def test_max8_and_its_places():
    got = run(lambda y, a: nisa.max8(y, a), A, out=(P, 8))
    want = -np.sort(-A, 1)[:, :8]
    np.testing.assert_array_equal(got, want)
    places = run(lambda y, a, v: nisa.nc_find_index8(y, a, v), A, want, out=(P, 8),
                 dtype=nl.uint32)
    np.testing.assert_array_equal(places, np.argsort(-A, 1)[:, :8])


def test_match_replace8():
    values = -np.sort(-A, 1)[:, :8]
    got = run(lambda y, a, v: nisa.nc_match_replace8(y, a, v, -9.0), A, values)
    np.testing.assert_array_equal(got, np.where(A >= values[:, 7:8], -9, A))


def test_stream_shuffle():
    mask = [(i * 5 + 3) % 32 for i in range(32)]
    got = run(lambda y, a: nisa.nc_stream_shuffle(y, a, mask), A)
    np.testing.assert_array_equal(got, A[mask])


def test_iota():
    got = run(lambda y: nisa.iota(y, [[10, 6], [1, 8]], offset=3, channel_multiplier=100),
              out=(P, F), dtype=nl.int32)
    i = np.add.outer(np.arange(6) * 10, np.arange(8)).ravel()
    np.testing.assert_array_equal(got, 3 + 100 * np.arange(P)[:, None] + i)


def test_affine_select():
    got = run(lambda y, a: nisa.affine_select(y, [[-1, F]], 1, a, -7.0, nl.greater_equal), A)
    np.testing.assert_array_equal(got, np.where(np.arange(P)[:, None] >= np.arange(F), A, -7))


@pytest.mark.parametrize("op,want", [(nl.add, np.sum), (nl.maximum, np.max), (nl.average, np.mean)],
                         ids=["add", "maximum", "average"])
def test_tensor_partition_reduce(op, want):
    got = run(lambda y, a: nisa.tensor_partition_reduce(y, op, a), A, out=(1, F))
    np.testing.assert_allclose(got, want(A, 0, keepdims=True), rtol=1e-5, atol=1e-6)


def test_local_gather():
    index = np.random.default_rng(4).integers(0, F, (P, 2)).astype(np.uint16)
    got = run(lambda y, a, i: nisa.local_gather(y, a, i), A, index, out=(P, 32))
    for group in range(0, P, 16):
        order = index[group:group + 16].T.ravel()
        np.testing.assert_array_equal(got[group:group + 16], A[group:group + 16, order])


def test_nc_n_gather():
    index = np.random.default_rng(4).integers(0, F, (P, F)).astype(np.uint32)
    got = run(lambda y, a, i: nisa.nc_n_gather(y, a, i), A, index)
    np.testing.assert_array_equal(got, np.take_along_axis(A, index.astype(np.int64), 1))


def test_nonzero_with_count():
    a = (WORDS[:1] % 3 == 0).astype(np.int32)
    got = run(lambda y, x: nisa.nonzero_with_count(y, x, 2, -4), a, out=(1, F + 1),
              dtype=nl.int32)
    places = np.nonzero(a[0])[0] + 2
    want = np.concatenate([places, np.full(F - len(places), -4), [len(places)]])
    np.testing.assert_array_equal(got[0], want)


def test_sequence_bounds():
    ids = np.array([[1, 1, 2, 2, 2, 0, 3, 3]], np.int32)
    got = run(lambda y, x: nisa.sequence_bounds(y, x), ids, out=(1, 2, 8), dtype=nl.int32)
    np.testing.assert_array_equal(got[0], [[0, 0, 2, 2, 2, 8, 6, 6], [2, 2, 5, 5, 5, -1, 8, 8]])


def test_random_numbers_follow_the_seed():
    def body(y, seed):
        nisa.set_rng_seed(seed)
        nisa.rng(y)

    seed = np.array([[7]], np.uint32)
    first = run(body, seed, out=(P, F), dtype=nl.uint32)
    np.testing.assert_array_equal(first, run(body, seed, out=(P, F), dtype=nl.uint32))
    assert len(np.unique(first)) > P * F * 0.9


def test_dropout():
    def body(y, a, seed):
        nisa.set_rng_seed(seed)
        nisa.dropout(y, a, 0.5)

    got = run(body, A, np.array([[7]], np.uint32))
    kept = got != 0
    np.testing.assert_array_equal(got[kept], A[kept])
    assert 0.4 < kept.mean() < 0.6


def test_rand2(monkeypatch):
    got = run(lambda y: nisa.rand2(y, 2.0, 3.0), out=(P, F), target="trn3",
              monkeypatch=monkeypatch)
    assert got.min() >= 2 and got.max() <= 3 and got.std() > 0.2


def test_the_state_of_the_generators(monkeypatch):
    def body(y):
        state = nl.ndarray((P, 6), nl.uint32)
        nisa.memset(state, 3)
        nisa.rand_set_state(state)
        nisa.rand_get_state(y)

    got = run(body, out=(P, 6), dtype=nl.uint32)
    np.testing.assert_array_equal(got, np.full((P, 6), 3))


@pytest.mark.parametrize("engine", ["vector", "tensor"])
def test_nc_transpose(engine):
    a = A[:, :32]

    def body(y, x):
        if engine == "vector":
            nisa.nc_transpose(y, x, engine=nisa.engine.vector)
            return
        turned = nl.ndarray((32, P), nl.float32, buffer=nl.psum)
        nisa.nc_transpose(turned, x)
        nisa.tensor_copy(y, turned)

    np.testing.assert_array_equal(run(body, a, out=(32, P)), a.T)


@pytest.mark.parametrize("accumulate,times", [(None, 2), (False, 1), (True, 2)])
def test_nc_matmul(accumulate, times):
    def body(y, a, b):
        total = nl.ndarray((F, F), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(total, a, b, accumulate=False)
        nisa.nc_matmul(total, a, b, accumulate=accumulate)
        nisa.tensor_copy(y, total)

    np.testing.assert_allclose(run(body, A, B, out=(F, F)), A.T @ B * times, rtol=1e-4, atol=1e-4)


def test_nc_matmul_in_a_part_of_the_array():
    def body(y, a, b):
        total = nl.ndarray((F, F), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(total, a, b, tile_position=(0, 0), tile_size=(32, 128))
        nisa.tensor_copy(y, total)

    np.testing.assert_allclose(run(body, A, B, out=(F, F)), A.T @ B, rtol=1e-4, atol=1e-4)


def test_nc_matmul_mx_of_what_quantize_mx_makes(monkeypatch):
    values = numbers(32, 512, seed=5).astype(np.float16)

    def body(y, a):
        data = nl.ndarray((32, 128), nl.float8_e4m3fn_x4)
        scale = nl.ndarray((32, 128), nl.uint8)
        nisa.quantize_mx(data, a, scale)
        total = nl.ndarray((128, 128), nl.float32, buffer=nl.psum)
        nisa.nc_matmul_mx(total, data, data, scale, scale)
        nisa.tensor_copy(y, total)

    got = run(body, values, out=(128, 128), target="trn3", monkeypatch=monkeypatch)
    x = values.astype(np.float64).reshape(32, 128, 4).transpose(0, 2, 1).reshape(128, 128)
    want = x.T @ x
    assert np.abs(got - want).max() < 0.05 * np.abs(want).max()


def test_topk():
    bits = (numbers(16, 8, seed=6).view(np.uint32) >> 16).astype(np.uint16)

    def body(y, x):
        places = nl.ndarray((16, 5), nl.uint32)
        nisa.topk(y.view(nl.bfloat16), places, x.view(nl.bfloat16), 128)

    got = run(body, bits, out=(16, 5), dtype=nl.uint16)
    values = (got.astype(np.uint32) << 16).view(np.float32)
    every = (bits.astype(np.uint32) << 16).view(np.float32).ravel()
    np.testing.assert_array_equal(values, np.tile(np.sort(every)[-5:], (16, 1)))


@pytest.mark.parametrize("shape,axes", [((32, 48), (1, 0)), ((4, 6, 8), (2, 1, 0)),
                                        ((2, 3, 4, 8), (3, 1, 2, 0))])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dma_transpose(shape, axes, dtype):
    a = numbers(*shape).astype(dtype)
    want = a.transpose(axes)

    @nki.jit
    def kernel(x):
        out = nl.ndarray(want.shape, x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(want.shape, x.dtype)
        nisa.dma_transpose(tile, x, axes=axes)
        nl.store(out, tile)
        return out

    np.testing.assert_array_equal(kernel(a), want)


@pytest.mark.parametrize("rows", [1, 3, 32])
@pytest.mark.parametrize("dims", [(), (3,), (1, 3), (3, 2)])
def test_dma_transpose_of_a_tile(rows, dims):
    """The partitions of the source become the last dimension of the destination."""
    shape = (rows,) + dims + (40,)
    axes = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(shape)]
    a = numbers(*shape).astype(np.float16)

    @nki.jit(check=True)
    def kernel(x):
        tile = nl.load(x)
        turned = nl.ndarray(tuple(shape[n] for n in axes), x.dtype)
        nisa.dma_transpose(turned, tile, axes=axes)
        out = nl.ndarray(turned.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, turned)
        return out

    np.testing.assert_array_equal(kernel(a), a.transpose(axes))


def test_dma_transpose_of_one_row_by_steps():
    """A row whose elements do not lie side by side, as a pattern tells them."""
    a = numbers(4, 24).astype(np.float16)

    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        turned = nl.ndarray((6, 8), x.dtype)
        nisa.memset(turned, 0)
        nisa.dma_transpose(turned.ap([[8, 6], [1, 1], [2, 4], [1, 1]]),
                           tile.ap([[24, 1], [1, 1], [6, 4], [1, 6]]))
        out = nl.ndarray(turned.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, turned)
        return out

    want = np.zeros((6, 8), np.float16)
    want[:, ::2] = a[0].reshape(4, 6).T
    np.testing.assert_array_equal(kernel(a), want)


def test_dma_compute_adds():
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [a, b, a], nl.add)
        return out

    np.testing.assert_array_equal(kernel(A, B), A + B + A)


def test_dma_compute_scatters():
    rows = np.random.default_rng(2).permutation(P).astype(np.uint32).reshape(P, 1)

    @nki.jit
    def kernel(table, a, index):
        place = nl.load(index)
        x = nl.load(a)
        target = table.ap([[F, P], [1, F]], vector_offset=place, indirect_dim=0)
        nisa.dma_compute(target, [x, target], nl.add)
        return table

    table = B.copy()
    want = B.copy()
    want[rows[:, 0]] += A
    np.testing.assert_array_equal(kernel(table, A, rows), want)


def test_dma_copy_leaves_out_rows_out_of_bounds():
    rows = np.array([[0], [99], [2], [100]], np.uint32)

    @nki.jit
    def kernel(a, index):
        out = nl.ndarray((4, F), a.dtype, buffer=nl.shared_hbm)
        place = nl.load(index)
        x = nl.zeros((4, F), a.dtype)
        nisa.dma_copy(x, a.ap([[F, 4], [1, F]], vector_offset=place, indirect_dim=0),
                      oob_mode=nisa.oob_mode.skip)
        nl.store(out, x)
        return out

    want = A[[0, 0, 2, 0]].copy()
    want[[1, 3]] = 0
    np.testing.assert_array_equal(kernel(A, rows), want)


def test_a_list_of_rows_counts_from_the_offset_on():
    """Two tensors in one: a list for the second one, of which some rows are not there."""
    rows = np.array([[0], [3], [2], [7]], np.uint32)

    @nki.jit
    def kernel(a, index):
        place = nl.load(index)
        x = nl.zeros((4, F), a.dtype)
        nisa.dma_copy(x, a.ap([[F, 4], [1, F]], offset=3 * F, vector_offset=place,
                              indirect_dim=0), oob_mode=nisa.oob_mode.skip)
        out = nl.full((6, F), -1.0, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out.ap([[F, 4], [1, F]], offset=3 * F, vector_offset=place,
                             indirect_dim=0), nl.load(a[0:4]), oob_mode=nisa.oob_mode.skip)
        result = nl.ndarray((4, F), a.dtype, buffer=nl.shared_hbm)
        nl.store(result, x)
        return result, out

    a = numbers(6, F)
    come, out = np.zeros((4, F), np.float32), np.full((6, F), -1, np.float32)
    come[[0, 2]] = a[[3, 5]]
    out[[3, 5]] = a[[0, 2]]
    found = kernel(a, rows)
    np.testing.assert_array_equal(found[0], come)
    np.testing.assert_array_equal(found[1], out)


@nki.jit
def cache_update(cache, new, index, oob_mode=nisa.oob_mode.error):
    """A column of each cache[b], at the place that the index says: a list of single elements, from
    which the pattern of a row goes on."""
    batches, width, columns = cache.shape
    place, x = nl.load(index), nl.load(new)
    flat = cache.reshape((cache.size,))
    pattern = [[1, batches], [columns, width], [1, 1]]
    old = nl.zeros((batches, width, 1), cache.dtype)
    nisa.dma_copy(old, flat.ap(pattern, vector_offset=place, indirect_dim=0), oob_mode=oob_mode)
    nisa.dma_copy(flat.ap(pattern, vector_offset=place, indirect_dim=0),
                  x.reshape((batches, width, 1)), oob_mode=oob_mode)
    out = nl.ndarray((batches, width), cache.dtype, buffer=nl.shared_hbm)
    nl.store(out, old.reshape((batches, width)))
    return cache, out


def test_a_row_of_a_list_may_be_a_column():
    """The last column of the last batch ends where the tensor does. One element further on the
    column is not in the tensor, though its first element is."""
    cache, new = numbers(4, 8, 16), numbers(4, 8)
    columns = np.array([3, 0, 9, 15])
    index = (np.arange(4) * 8 * 16 + columns).astype(np.uint32).reshape(4, 1)
    want, old = cache.copy(), cache[np.arange(4), :, columns]
    want[np.arange(4), :, columns] = new
    found = cache_update(cache.copy(), new, index)
    np.testing.assert_array_equal(found[0], want)
    np.testing.assert_array_equal(found[1], old)
    index[3] += 1
    with pytest.raises(Exception, match="NRT_EXEC_OOB"):
        cache_update(cache.copy(), new, index)
    want[3], old[3] = cache[3], 0
    found = cache_update(cache.copy(), new, index, nisa.oob_mode.skip)
    np.testing.assert_array_equal(found[0], want)
    np.testing.assert_array_equal(found[1], old)


@pytest.mark.parametrize("by", ["tile", "register", "slice"])
@pytest.mark.parametrize("first", [-9, -2, 0, 5, 7, 2**31 - 1])
def test_dma_copy_leaves_out_rows_that_a_scalar_moves_out(by, first):
    rows, size = 6, 4

    @nki.jit
    def kernel(a, place):
        # Rows 1 and on of a tensor of which this is a part.
        out = nl.full((rows + 1, F), -1.0, a.dtype, buffer=nl.shared_hbm)
        scalar = nl.load(place)
        back = nl.full((size, F), -2.0, a.dtype)
        if by != "tile":
            scalar = nisa.register_alloc(scalar)
        part = out[1:]
        into = part[nl.ds(scalar, size)] if by == "slice" else part.ap(
            [[F, size], [1, F]], offset=0, scalar_offset=scalar, indirect_dim=0)
        nisa.dma_copy(into, nl.load(a[0:size]), oob_mode=nisa.oob_mode.skip)
        come = out[1:].ap([[F, size], [1, F]], offset=F, scalar_offset=scalar, indirect_dim=0)
        nisa.dma_copy(back, come, oob_mode=1)
        result = nl.ndarray((size, F), a.dtype, buffer=nl.shared_hbm)
        nl.store(result, back)
        return out, result

    out, back = np.full((rows + 1, F), -1, np.float32), np.full((size, F), -2, np.float32)
    for i in range(size):
        if 0 <= first + i < rows:
            out[1 + first + i] = A[i]
    for i in range(size):
        if 0 <= first + i + 1 < rows:
            back[i] = out[1 + first + i + 1]
    found = kernel(A, np.array([[first]], np.int32))
    np.testing.assert_array_equal(found[0], out)
    np.testing.assert_array_equal(found[1], back)


@pytest.mark.parametrize("first", [-2**31, -9, -2, 0, 3, 4, 2**24, 2**26, 2**31 - 1])
def test_dma_copy_leaves_out_a_row_of_which_it_moves_parts(first):
    """The elements of one row lie over the partitions; no number of a row wraps into another."""
    rows, row = 4, 64

    @nki.jit
    def kernel(a, place):
        register = nisa.register_alloc(nl.load(place))
        result = nl.ndarray((8, 2), a.dtype, buffer=nl.shared_hbm)
        come = nl.full((8, 2), -1.0, a.dtype)
        # Of row 1 after the one that the register tells: the elements 3, 4, 9, 10 and so on.
        nisa.dma_copy(come, a.ap([[6, 8], [1, 2]], offset=row + 3, scalar_offset=register,
                                 indirect_dim=0), oob_mode=nisa.oob_mode.skip)
        nl.store(result, come)
        out = nl.full((rows, row), -1.0, a.dtype, buffer=nl.shared_hbm)
        # Column 63, 56 and so on, in the row that the register tells.
        nisa.dma_copy(out.ap([[-7, 8], [1, 1]], offset=63, scalar_offset=register,
                             indirect_dim=0), nl.load(a[0:8, 0:1]), oob_mode=nisa.oob_mode.skip)
        return result, out

    a = numbers(8, row)
    come, out = np.full((8, 2), -1, np.float32), np.full((rows, row), -1, np.float32)
    if 0 <= first + 1 < 8:
        come[:] = a[first + 1, 3:51].reshape(8, 6)[:, :2]
    if 0 <= first < rows:
        out[first, 63:7:-7] = a[:8, 0]
    found = kernel(a, np.array([[first]], np.int32))
    np.testing.assert_array_equal(found[0], come)
    np.testing.assert_array_equal(found[1], out)


@pytest.mark.parametrize("place", [-1, 0, 3, 14, 17, 21, 22, 24, 2**31 - 1])
def test_an_index_of_an_inner_dimension_ends_with_the_tensor(place):
    """As for a cache of blocks whose positions are counted over all of them."""
    blocks, size, width, count = 4, 6, 8, 3

    @nki.jit
    def kernel(cache, rows, where):
        scalar = nl.load(where)
        places = cache.ap([[width, count], [1, width]], scalar_offset=scalar, indirect_dim=1)
        nisa.dma_copy(places, nl.load(rows), oob_mode=nisa.oob_mode.skip)
        back = nl.full((count, width), -2.0, cache.dtype)
        nisa.dma_copy(back, places, oob_mode=nisa.oob_mode.skip)
        # A part of the tensor whose blocks do not lie side by side: each is a tensor.
        part = cache[:, 0:4]
        other = nl.full((1, width), -3.0, cache.dtype)
        nisa.dma_copy(other, part.ap([[width, 1], [1, width]], scalar_offset=scalar,
                                     indirect_dim=1), oob_mode=nisa.oob_mode.skip)
        found = nl.ndarray((count + 1, width), cache.dtype, buffer=nl.shared_hbm)
        nl.store(found[0:count], back)
        nl.store(found[count:], other)
        return cache, found

    cache, rows = numbers(blocks, size, width), A[:count, :width].copy()
    flat = cache.reshape(blocks * size, width).copy()
    there = [i for i in range(count) if 0 <= place + i < len(flat)]
    back = np.full((count, width), -2, np.float32)
    for i in there:
        flat[place + i] = back[i] = rows[i]
    found = kernel(cache, rows, np.array([[place]], np.int32))
    np.testing.assert_array_equal(found[0].reshape(flat.shape), flat)
    np.testing.assert_array_equal(found[1][:count], back)
    np.testing.assert_array_equal(found[1][count],
                                  flat[place] if 0 <= place < 4 else np.full(width, -3))


def test_dma_copy_of_more_than_a_generated_descriptor_holds():
    """Each partition takes 12 rows of a tensor, which no 12 pieces of 128 partitions cut."""
    a = numbers(2, 1536, 1024).astype(np.float16)

    @nki.jit
    def kernel(x, which):
        place = nisa.register_alloc(nl.load(which))
        tile = nl.ndarray((128, 12 * 1024), x.dtype)
        nisa.dma_copy(tile, x.select(0, place))
        out = nl.ndarray((1536, 1024), x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    np.testing.assert_array_equal(kernel(a, np.array([[1]], np.int32)), a[1])


def test_registers():
    @nki.jit
    def kernel(a, index):
        out = nl.ndarray((1, F), a.dtype, buffer=nl.shared_hbm)
        place = nl.load(index)
        register = nisa.register_alloc()
        nisa.register_load(register, place)
        other = nisa.register_alloc(0)
        nisa.register_move(other, register)
        word = nl.ndarray((1, 1), nl.int32)
        nisa.register_store(word, other)
        x = nl.ndarray((1, F), a.dtype)
        nisa.dma_copy(x, a.ap([[F, 1], [1, F]], scalar_offset=word, indirect_dim=0))
        nl.store(out, x)
        return out

    np.testing.assert_array_equal(kernel(A, np.array([[5]], np.int32)), A[5:6])


@pytest.mark.parametrize("target,functions", [
    ("trn2", ("activate2", "exponential", "rand2", "quantize_mx", "nc_matmul_mx")),
    ("trn1", ("range_select", "rand_get_state", "nonzero_with_count"))])
def test_what_older_cores_lack(target, functions, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    for name in functions:
        @nki.jit
        def kernel(a, name=name):
            x = nl.load(a)
            count = getattr(nisa, name).__code__.co_argcount - len(
                getattr(nisa, name).__defaults__ or ())
            getattr(nisa, name)(*[x] * count)

        with pytest.raises(nki.NkiValidationError, match="needs NeuronCore-v"):
            kernel(A)
