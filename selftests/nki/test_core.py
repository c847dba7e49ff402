# SPDX-License-Identifier: MIT
"""The core of the front end: tracing, views, lifetimes, lowering, errors."""

import re

import numpy as np
import pytest

import neuron_emu
import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import dtypes
from neuron_emu.tensor import NkiTensor, Storage


def numbers(*shape, seed=0):
    """Random FP32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@nki.jit
def add(a, b):
    """a + b of whole tensors of at most 128 rows."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x, y = nl.load(a), nl.load(b)
    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)
    nl.store(out, x)
    return out


def test_add_is_exact():
    a, b = numbers(128, 512), numbers(128, 512, seed=1)
    np.testing.assert_array_equal(add(a, b), a + b)
    assert add.device_ns > 0


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_generations(target, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    seen = []

    @nki.jit
    def kernel(a):
        seen.append(nisa.get_nc_version())
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        nisa.activation(x, nl.square, x)
        nl.store(out, x)
        return out

    a = numbers(16, 16)
    np.testing.assert_array_equal(kernel(a), a * a)
    assert seen == [nisa.nc_version[f"gen{int(target[3]) + 1}"]]


@nki.jit
def matmul(a, b):
    """a^T @ b in tiles."""
    k, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((m, n), nl.float32, buffer=nl.psum)
    for i in nl.affine_range(k // 128):
        x = nl.load(a[i * 128:(i + 1) * 128, :])
        y = nl.load(b[i * 128:(i + 1) * 128, :])
        nisa.nc_matmul(total, x, y)
    result = nl.ndarray((m, n), nl.float32)
    nisa.tensor_copy(result, total)
    nl.store(out, result)
    return out


def test_matmul_accumulates_by_itself():
    a, b = numbers(384, 64), numbers(384, 256, seed=1)
    np.testing.assert_allclose(matmul(a, b), a.T @ b, atol=1e-4)


def test_matmul_after_a_part_was_written():
    @nki.jit
    def kernel(a, b):
        out = nl.ndarray((32, 64), nl.float32, buffer=nl.shared_hbm)
        total = nl.ndarray((32, 64), nl.float32, buffer=nl.psum)
        x, y = nl.load(a), nl.load(b)
        nisa.nc_matmul(total[:, 0:32], x, y[:, 0:32])
        nisa.nc_matmul(total, x, y)
        result = nl.ndarray((32, 64), nl.float32)
        nisa.tensor_copy(result, total)
        nl.store(out, result)
        return out

    a, b = numbers(16, 32), numbers(16, 64, seed=1)
    want = a.T @ b
    want[:, :32] *= 2
    np.testing.assert_allclose(kernel(a, b), want, atol=1e-5)


def view_of(shape):
    """A tensor in HBM and the same elements in NumPy."""
    tensor = NkiTensor(shape, "float32", Storage(nl.shared_hbm, None))
    return tensor, np.arange(np.prod(shape)).reshape(shape)


def elements(view):
    """The numbers of the elements of a view of view_of()."""
    indices = np.indices(view.shape).reshape(len(view.shape), -1)
    return (view.offset + np.array(view.strides) @ indices).reshape(view.shape)


VIEWS = {
    "slice": (lambda t: t[1:3, :, ::2], lambda a: a[1:3, :, ::2]),
    "select": (lambda t: t[1], lambda a: a[1]),
    "negative": (lambda t: t[-1, ..., -2], lambda a: a[-1, ..., -2]),
    "backwards": (lambda t: t[:, ::-1], lambda a: a[:, ::-1]),
    "ds": (lambda t: t[nl.ds(1, 2)], lambda a: a[1:3]),
    "new axis": (lambda t: t[:, None, 1], lambda a: a[:, None, 1]),
    "slice()": (lambda t: t.slice(2, 1, 6, 3), lambda a: a[:, :, 1:6:3]),
    "permute": (lambda t: t.permute((2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "expand": (lambda t: t.expand_dim(1), lambda a: a[:, None]),
    "squeeze": (lambda t: t[:, 0:1].squeeze_dim(1), lambda a: a[:, 0]),
    "broadcast": (lambda t: t[:, 0:1].broadcast(1, 5),
                  lambda a: np.broadcast_to(a[:, 0:1], (4, 5, 8))),
    "reshape": (lambda t: t.reshape((2, 6, 2, 8)), lambda a: a.reshape(2, 6, 2, 8)),
    "reshape of a slice": (lambda t: t[:, 1].reshape((4, 2, 4)),
                           lambda a: a[:, 1].reshape(4, 2, 4)),
    "reshape_dim": (lambda t: t.reshape_dim(2, (2, -1)), lambda a: a.reshape(4, 6, 2, 4)),
    "flatten": (lambda t: t.flatten_dims(0, 1), lambda a: a.reshape(24, 8)),
    "rearrange": (lambda t: t.rearrange(("a", "b", ("h", "w")), ("h", ("a", "b"), "w"), {"h": 2}),
                  lambda a: a.reshape(4, 6, 2, 4).transpose(2, 0, 1, 3).reshape(2, 24, 4)),
    "ap": (lambda t: t.ap([[1, 3], [8, 2]], offset=5), lambda a: np.array([[5, 13], [6, 14],
                                                                         [7, 15]])),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    tensor, array = view_of((4, 6, 8))
    make, expected = VIEWS[name]
    view = make(tensor)
    assert view.shape == expected(array).shape
    np.testing.assert_array_equal(elements(view), expected(array))


def test_indices_of_dots():
    seen = []

    @nki.jit
    def kernel(a):
        x = nl.ndarray((128, 4, 8), a.dtype)
        seen.extend(view.shape for view in (
            x[..., 0], x[0:64, ...], x[..., 1, :], x[:, :, :, ...], x[..., None],
            x[:, None, ..., 2:4], x[:, 1], x[0:2]))
        # As many indices as dimensions, or fewer, with new dimensions on both sides of the dots.
        y = nl.ndarray((4, 8, 2, 2), a.dtype, buffer=nl.private_hbm)
        seen.extend(view.shape for view in (
            y[None, ..., None], y[:, None, ..., None], y[None, ..., 1, None], y[None, ...]))
        with pytest.raises(nki.isa.NkiValidationError, match="an index is an integer"):
            print(x[..., 0, ...])
        return a

    kernel(numbers(128, 4))
    assert seen == [(128, 4), (64, 4, 8), (128, 8), (128, 4, 8), (128, 4, 8, 1), (128, 1, 4, 2),
                    (128, 8), (2, 4, 8), (1, 4, 8, 2, 2, 1), (4, 1, 8, 2, 2, 1),
                    (1, 4, 8, 2, 1), (1, 4, 8, 2, 2)]


def test_a_view_with_another_type():
    tensor, _ = view_of((4, 6))
    assert tensor.view(nl.uint8).shape == (4, 24)
    assert tensor.view(nl.bfloat16)[1, 2].offset == 14
    with pytest.raises(nki.NkiValidationError, match="side by side"):
        tensor.permute((1, 0)).view(nl.uint8)


def test_views_on_the_device():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((8, 4, 6), a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a.reshape((8, 24)))
        y = nl.ndarray((8, 4, 6), a.dtype)
        nisa.tensor_copy(y, x.reshape((8, 6, 4)).permute((0, 2, 1)))
        nl.store(out, y[:, ::-1])
        return out

    a = numbers(8, 6, 4)
    np.testing.assert_array_equal(kernel(a), a.transpose(0, 2, 1)[:, ::-1])


def test_transposition_by_dma():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((64, 96), a.dtype, buffer=nl.shared_hbm)
        x = nl.ndarray((64, 96), a.dtype)
        nisa.dma_transpose(x, a)
        nl.store(out, x)
        return out

    a = numbers(96, 64)
    np.testing.assert_array_equal(kernel(a), a.T)


def test_transposition_by_the_tensor_engine():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((64, 96), a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        turned = nl.ndarray((64, 96), a.dtype, buffer=nl.psum)
        nisa.nc_transpose(turned, x)
        y = nl.ndarray((64, 96), a.dtype)
        nisa.tensor_copy(y, turned)
        nl.store(out, y)
        return out

    a = numbers(96, 64)
    np.testing.assert_array_equal(kernel(a), a.T)


def test_gather_and_scatter():
    @nki.jit
    def kernel(a, rows):
        out = nl.ndarray((16, 8), a.dtype, buffer=nl.shared_hbm)
        index = nl.load(rows)
        x = nl.ndarray((16, 8), a.dtype)
        nisa.dma_copy(x, a.ap([[8, 16], [1, 8]], vector_offset=index, indirect_dim=0))
        nisa.dma_copy(out.ap([[8, 16], [1, 8]], vector_offset=index, indirect_dim=0), x)
        return out

    a = numbers(16, 8)
    rows = np.random.default_rng(2).permutation(16).astype(np.uint32).reshape(16, 1)
    np.testing.assert_array_equal(kernel(a, rows), a)


def test_a_loop_on_the_device():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)

        def body(i):
            x = nl.load(a[:, nl.ds(i, 4)])
            nisa.tensor_scalar(x, x, nl.multiply, 2.0)
            nl.store(out[:, nl.ds(i, 4)], x)

        nl.fori_loop(0, 32, body, step=4)
        return out

    a = numbers(16, 32)
    np.testing.assert_array_equal(kernel(a), a * 2)


def test_a_told_address_keeps_other_tiles_out():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 16, 64), a.dtype, buffer=nl.shared_hbm)
        told = nl.ndarray((16, 64), a.dtype, address=(0, 4096))
        nisa.dma_copy(told, a)
        for i in range(4):
            x = nl.ndarray((16, 40000), nl.uint8)
            nisa.memset(x, i)
            nl.store(out[i], told)
        return out

    a = numbers(16, 64)
    np.testing.assert_array_equal(kernel(a), np.stack([a] * 4))


def test_an_input_that_is_written():
    @nki.jit
    def kernel(a):
        x = nl.load(a)
        nisa.tensor_scalar(x, x, nl.add, 1.0)
        nl.store(a, x)
        return a

    a = numbers(4, 8)
    want = a + 1
    np.testing.assert_array_equal(kernel(a), want)
    np.testing.assert_array_equal(a, want)


def test_bfloat16_arrays():
    """Of the type of ml_dtypes where that can be imported, else of bytes; see test_types.py."""
    values = numbers(8, 32)
    a = neuron_emu.from_float32(values, "bfloat16")
    assert a.dtype.itemsize == 2
    total = neuron_emu.to_float32(add(a, a), "bfloat16")
    rounded = neuron_emu.to_float32(a, "bfloat16")
    np.testing.assert_array_equal(total, rounded * 2)
    assert np.abs(rounded - values).max() <= np.abs(values).max() * 2 ** -8


@pytest.mark.parametrize("name", dtypes.FORMATS)
def test_small_floats_round_trip(name):
    bits = np.arange(256, dtype=np.uint8) if name != "bfloat16" else np.arange(
        0, 65536, 7, dtype=np.uint16)
    values = neuron_emu.to_float32(bits.view(f"V{bits.itemsize}"), name)
    back = neuron_emu.from_float32(values, name).view(bits.dtype)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(back[number], bits[number])


def test_a_tile_of_too_many_partitions():
    @nki.jit
    def kernel(a):
        nl.ndarray((256, 4), nl.float32)

    with pytest.raises(nki.NkiValidationError, match=r"test_core.py:\d+: .*128 partitions.*256"):
        kernel(numbers(4, 4))


def test_the_builder_names_the_line():
    @nki.jit
    def kernel(a):
        x = nl.load(a)
        y = nl.ndarray(x.shape, nl.float32, buffer=nl.psum)
        nisa.tensor_copy(y, x, engine=nisa.engine.gpsimd)

    with pytest.raises(nki.NkiValidationError, match=r"test_core.py:\d+: .*PSUM") as caught:
        kernel(numbers(4, 4))
    line = int(re.search(r"py:(\d+)", str(caught.value)).group(1))
    assert line == kernel.func.__code__.co_firstlineno + 4


def test_tiles_that_do_not_fit():
    @nki.jit
    def kernel(a):
        x = nl.ndarray((128, 40000), nl.float32)
        y = nl.ndarray((128, 40000), nl.float32)
        nisa.tensor_copy(y, x)

    with pytest.raises(nki.NkiCapacityError, match=r"needs 312.5 KiB of 224 KiB.*largest tiles"):
        kernel(numbers(4, 4))


@pytest.mark.parametrize("target, kib", [("trn1", 192), ("trn2", 224), ("trn3", 256)])
def test_a_partition_has_all_of_its_bytes(target, kib):
    """Its last bytes are there for tiles at told places, and those behind it are not."""
    a = numbers(128, 64)

    def body(a, behind):
        assert nl.tile_size.sbuf_fmax_bytes == kib * 1024
        x = nl.ndarray(a.shape, a.dtype, address=(0, kib * 1024 - 256 + behind))
        nisa.dma_copy(x, a)
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, x)
        return out

    kernel = nki.jit(body, platform_target=target)
    np.testing.assert_array_equal(kernel(a, 0), a)
    with pytest.raises(nki.NkiValidationError, match=f"128 partitions of {kib * 1024} bytes"):
        kernel(a, 64)


def test_a_race_free_kernel_under_the_check():
    a, b = numbers(256, 64), numbers(256, 128, seed=1)
    np.testing.assert_allclose(nki.simulate(matmul)(a, b), a.T @ b, atol=1e-4)


def test_bytes_that_nobody_wrote():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        x = nl.ndarray(a.shape, a.dtype)
        nl.store(out, x)
        return out

    with pytest.raises(nki.NkiCheckError):
        nki.simulate(kernel)(numbers(4, 4))


def test_an_output_that_is_partly_written(capfd):
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out[0:2, :], nl.load(a[0:2, :]))
        return out

    kernel(numbers(4, 8))
    with pytest.raises(nki.NkiCheckError):
        nki.simulate(kernel)(numbers(4, 8))
    assert '"output_0", of 128 bytes, has bytes that nobody has written: 64 to 127' in \
        capfd.readouterr().err


def test_programs_of_a_grid_run_one_after_the_other():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        i = nl.program_id(0)
        x = nl.load(a[i * 4:(i + 1) * 4])
        nisa.tensor_scalar(x, x, nl.add, float(i))
        nl.store(out[i * 4:(i + 1) * 4], x)
        return out

    a = numbers(16, 8)
    want = a + np.repeat(np.arange(4), 4)[:, None].astype(np.float32)
    np.testing.assert_array_equal(kernel[4](a), want)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_two_cores_exchange(target, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        me = nl.program_id(0)
        assert nl.num_programs(0) == 2
        x = nl.load(a[me * 8:(me + 1) * 8])
        y = nl.ndarray(x.shape, x.dtype)
        nisa.sendrecv(src=x, dst=y, send_to_rank=1 - me, recv_from_rank=1 - me, pipe_id=0)
        nl.store(out[me * 8:(me + 1) * 8], y)
        return out

    a = numbers(16, 8)
    np.testing.assert_array_equal(kernel[2](a), np.concatenate([a[8:], a[:8]]))


def test_two_cores_share_a_tensor():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((2, 16, 8), a.dtype, buffer=nl.shared_hbm)
        shared = nl.ndarray((16, 8), a.dtype, buffer=nl.shared_hbm)
        me = nl.program_id(0)
        x = nl.load(a[me * 8:(me + 1) * 8])
        nl.store(shared[me * 8:(me + 1) * 8], x)
        nisa.core_barrier(shared, (0, 1))
        whole = nl.load(shared)
        nl.store(out[me], whole)
        return out

    a = numbers(16, 8)
    np.testing.assert_array_equal(nki.simulate(kernel[2])(a), np.stack([a, a]))


def test_two_cores_that_do_not_meet(capfd):
    """A barrier is missing: the check names the instruction of the other core, too."""
    @nki.jit
    def kernel(a):
        out = nl.ndarray((2, 16, 8), a.dtype, buffer=nl.shared_hbm)
        shared = nl.ndarray((16, 8), a.dtype, buffer=nl.shared_hbm)
        me = nl.program_id(0)
        nl.store(shared[me * 8:(me + 1) * 8], nl.load(a[me * 8:(me + 1) * 8]))
        nl.store(out[me], nl.load(shared))
        return out

    with pytest.raises(nki.NkiCheckError):
        nki.simulate(kernel[2])(numbers(16, 8))
    said = capfd.readouterr().err
    found = re.findall(r"check race: (sg0\d) queue .*test_core.py:\d+, (?:reads|writes), in no "
                       r"order with the (?:write|read) of the (sg0\d) queue .*test_core.py:\d+",
                       said)
    assert found and all(me != other for me, other in found), said


def test_values_are_read_in_the_simulator(capsys):
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        count = 0
        while float(x[0, 0]) < 100:
            nisa.tensor_scalar(x, x, nl.multiply, 4.0)
            count += 1
        print(x[0:1, 0:2])
        total = nl.ndarray((1, 2), nl.float32, buffer=nl.psum)
        nisa.tensor_copy(total, x[0:1, 0:2])
        np.testing.assert_array_equal(total, x[0:1, 0:2].numpy())
        register = nisa.register_alloc(7)
        assert int(register) == 7
        nl.store(out, x)
        return out, count

    a = np.full((4, 8), 3, np.float32)
    result, count = nki.simulate(kernel)(a)
    assert count == 3
    np.testing.assert_array_equal(result, a * 64)
    assert "192. 192." in capsys.readouterr().out
    with pytest.raises(TypeError, match="not known while"):
        kernel(a)


COMPARISONS = {"==": lambda x, n: x == n, "!=": lambda x, n: x != n, "<": lambda x, n: x < n,
               "<=": lambda x, n: x <= n, ">": lambda x, n: x > n, ">=": lambda x, n: x >= n}


@pytest.mark.parametrize("what", ["element", "register", "count"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_with_numbers(name, what):
    """They know the value in nki.simulate(); else they are errors, and never just false."""
    compare, found = COMPARISONS[name], []

    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        x = nl.load(a)
        nl.store(out, x)
        if what == "count":
            for i in nl.dynamic_range(2):
                found.append(compare(i, 2))
            return out
        asked = x[0:1, 0:1] if what == "element" else nisa.register_alloc(2)
        found.extend(compare(asked, n) for n in (1, 2, 3.5, np.float32(2)))
        assert asked in [None, asked]
        return out

    a = np.full((4, 8), 2, np.float32)
    with pytest.raises(TypeError, match="not known while"):
        nki.jit(kernel)(a)
    if what != "count":
        found.clear()
        nki.simulate(nki.jit(kernel))(a)
        assert found == [compare(2, n) for n in (1, 2, 3.5, 2)]


def test_arguments_lie_in_hbm():
    seen = []

    @nki.jit
    def kernel(a):
        seen.append(a.buffer)
        return a

    kernel(numbers(4, 4))
    kernel[2](numbers(4, 4))
    assert seen == [nl.hbm, nl.shared_hbm, nl.shared_hbm]


def test_a_changed_helper_is_traced_again():
    def one(x):
        return nl.add(x, 1.0)

    def two(x):
        return nl.add(x, 2.0)

    helper = one

    def called(x):
        return helper(x)

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, called(nl.load(a)))
        return out

    a = numbers(8, 8)
    np.testing.assert_array_equal(kernel(a), a + np.float32(1))

    helper = two
    np.testing.assert_array_equal(kernel(a), a + np.float32(2))
