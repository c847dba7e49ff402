# SPDX-License-Identifier: MIT
"""The scheduler, where a kernel asks for it: less time, and the same bits."""

import contextlib
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import from_float32, lower
from neuron_emu.kernel import Arguments, Tracer

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("trn1", "trn2", "trn3")


def naive_matmul(a, b):
    """a^T @ b in three loops, with the loads in the innermost one."""
    depth, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), a.dtype, buffer=nl.shared_hbm)
    for i in range(0, m, 128):
        for j in range(0, n, 512):
            total = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
            for k in range(0, depth, 128):
                left = nl.ndarray((128, 128), a.dtype)
                right = nl.ndarray((128, 512), b.dtype)
                nisa.dma_copy(left, a[k:k + 128, i:i + 128])
                nisa.dma_copy(right, b[k:k + 128, j:j + 512])
                nisa.nc_matmul(total, left, right)
            result = nl.ndarray((128, 512), a.dtype)
            nisa.tensor_copy(result, total)
            nisa.dma_copy(out[i:i + 128, j:j + 512], result)
    return out


def square(n, dtype, seed):
    """A matrix by chance."""
    values = np.random.default_rng(seed).standard_normal((n, n)).astype(np.float32)
    return values if dtype == "float32" else from_float32(values, dtype)


@pytest.mark.parametrize("target", TARGETS)
def test_a_naive_gemm_takes_less_than_half_of_the_time(target):
    a, b = square(1024, "bfloat16", 1), square(1024, "bfloat16", 2)
    plain = nki.jit(naive_matmul, platform_target=target, check=True)
    fast = nki.jit(naive_matmul, platform_target=target, check=True, schedule=True)
    assert plain(a, b).tobytes() == fast(a, b).tobytes()
    assert plain.device_ns >= 2 * fast.device_ns, (plain.device_ns, fast.device_ns)


def repeated(steps):
    """A kernel of loads that repeat each other, of tiles that may change, and of stores."""
    def kernel(a, b):
        out = nl.ndarray((len(steps) * 64, 64), nl.float32, buffer=nl.shared_hbm)
        scratch = nl.ndarray(a.shape, a.dtype, buffer=nl.private_hbm)
        nisa.dma_copy(scratch, a)
        for number, (kind, source, row, other) in enumerate(steps):
            x = nl.ndarray((64, 64), nl.float32)
            y = nl.ndarray((64, 64), nl.float32)
            nisa.dma_copy(x, (a, b, scratch)[source][row:row + 64, :])
            nisa.dma_copy(y[:, :32], b[other:other + 64, :32])
            nisa.dma_copy(y[:, 32:], a[row:row + 64, 32:])
            if kind == 1:
                nisa.tensor_scalar(x, x, nl.multiply, 2.0)
            elif kind == 2:
                nisa.dma_copy(scratch[other:other + 64, :], x)
            elif kind == 3:
                nisa.dma_copy(x[:, 0:8], b[other:other + 64, 8:16])
            elif kind == 4:
                nl.fori_loop(0, 2, lambda _, x=x, y=y: nisa.tensor_tensor(x, x, y, nl.add))
            z = nl.ndarray((64, 64), nl.float32)
            nisa.tensor_tensor(z, x, y, nl.subtract)
            nisa.dma_copy(out[number * 64:number * 64 + 64, :], z)
        return out
    return kernel


@pytest.mark.parametrize("seed", range(12))
def test_repeated_loads_have_the_same_bits(seed):
    random = np.random.default_rng(seed)
    steps = [tuple(int(n) for n in (random.integers(5), random.integers(3),
                                    64 * random.integers(2), 64 * random.integers(2)))
             for _ in range(20)]
    a, b = (random.standard_normal((128, 64)).astype(np.float32) for _ in range(2))
    target = TARGETS[seed % 3]
    plain = nki.jit(repeated(steps), platform_target=target, check=True)
    fast = nki.jit(repeated(steps), platform_target=target, check=True, schedule=True)
    np.testing.assert_array_equal(plain(a, b), fast(a, b))


def test_an_input_that_is_written_is_loaded_again():
    def kernel(a):
        first = nl.load(a)
        nisa.tensor_scalar(first_twice := nl.ndarray(a.shape, a.dtype), first, nl.multiply, 2.0)
        nl.store(a, first_twice)
        again = nl.load(a)
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.tensor_tensor(total := nl.ndarray(a.shape, a.dtype), first, again, nl.add)
        nl.store(out, total)
        return out

    a = np.ones((32, 16), np.float32)
    np.testing.assert_array_equal(nki.jit(kernel, schedule=True)(a), np.full((32, 16), 3.0))
    np.testing.assert_array_equal(a, np.full((32, 16), 2.0))


def test_kept_tiles_make_room_for_those_of_the_kernel():
    """Loads that would be kept leave no room for the kernel's own tile: they are not."""
    def kernel(a):
        out = nl.ndarray((3, 128, 64), nl.float32, buffer=nl.shared_hbm)
        for step in range(3):
            x = nl.load(a)
            nl.store(out[step], x[:, :64])
            large = nl.ndarray((128, 40 * 1024), nl.float32)
            nisa.memset(large, 0)
            nisa.tensor_scalar(large, large, nl.add, 1.0)
        return out

    a = np.random.default_rng(0).standard_normal((128, 20 * 1024)).astype(np.float32)
    got = nki.jit(kernel, platform_target="trn2", schedule=True)(a)
    np.testing.assert_array_equal(got, np.stack([a[:, :64]] * 3))


@pytest.fixture(name="matrices")
def two_matrices():
    """Those of a product."""
    return square(512, "bfloat16", 3), square(512, "bfloat16", 4)


def test_the_variable_decides_where_the_kernel_does_not(matrices, monkeypatch):
    told = nki.jit(naive_matmul, schedule=False)
    kernel = nki.jit(naive_matmul)
    kernel(*matrices)
    plain = kernel.device_ns
    monkeypatch.setenv("NEURON_EMU_NKI_SCHEDULE", "1")
    kernel(*matrices)
    assert kernel.device_ns < plain
    told(*matrices)
    assert told.device_ns == plain


def test_simulate_takes_the_option(matrices):
    kernel = nki.jit(naive_matmul)
    plain, fast = nki.simulate(kernel), nki.simulate(kernel, schedule=True)
    assert plain(*matrices).tobytes() == fast(*matrices).tobytes()
    assert fast.device_ns < plain.device_ns
    assert nki.simulate(nki.jit(naive_matmul, schedule=True)).is_scheduled


def test_instructions_of_no_reorder_stay_in_order():
    def kernel(a, order):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        slow = nl.load(a)
        with nl.no_reorder() if order else contextlib.nullcontext():
            for _ in range(8):
                nisa.activation(slow, nl.exp, slow)
            free = nl.ndarray(a.shape, a.dtype)
            nisa.memset(free, 1.0, engine=nisa.engine.vector)
        nisa.tensor_tensor(slow, slow, free, nl.add)
        nl.store(out, slow)
        return out

    a = np.zeros((128, 64), np.float32)
    traces = [Tracer(kernel, Arguments(kernel, (a, order), {}), 3, ()).trace()[0][0]
              for order in (False, True)]
    assert [trace.keeps_order for trace in traces] == [False, True]
    assert lower.describe([traces[1]], True) != lower.describe([traces[0]], True)


def test_both_cores_of_a_pair_are_scheduled():
    def kernel(a):
        out = nl.ndarray((2, 4, *a.shape), a.dtype, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        for i in range(4):
            x = nl.load(a)
            nisa.tensor_scalar(y := nl.ndarray(a.shape, a.dtype), x, nl.add, float(core))
            nl.store(out[core, i], y)
        return out

    a = np.random.default_rng(0).standard_normal((128, 1024)).astype(np.float32)
    plain, fast = nki.jit(kernel), nki.jit(kernel, schedule=True)
    np.testing.assert_array_equal(plain[2](a), fast[2](a))
    np.testing.assert_array_equal(fast[2](a), np.stack([[a] * 4, [a + np.float32(1)] * 4]))
    assert fast.device_ns < plain.device_ns


def test_the_command_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import numpy as np, nki, nki.language as nl
@nki.jit
def kernel(a):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a))
    return out
kernel(np.zeros((8, 8), np.float32))
print("scheduled", kernel.is_scheduled)
""")
    folders = f"{ROOT / 'tools/nki'}:{ROOT / 'libnrt/python'}"
    library = pathlib.Path(os.environ["NEURON_EMU_BUILDER"]).parents[2] / "libnrt"
    environment = {**os.environ, "PYTHONPATH": folders, "LD_LIBRARY_PATH": str(library)}
    for options, expected in (([], "scheduled False"), (["--schedule"], "scheduled True")):
        done = subprocess.run([sys.executable, "-m", "neuron_emu", *options, script], check=True,
                              capture_output=True, text=True, timeout=120, env=environment)
        assert expected in done.stdout
