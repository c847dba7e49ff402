# SPDX-License-Identifier: MIT
"""Calls of kernels: names of arguments, options, what is remembered, where they run."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu import lower, run
from neuron_emu.tensor import chip_type
from neuron_kernels import flash_attention


def numbers(*shape, seed=0):
    """Random FP32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def like(a):
    """A tensor for the result."""
    return nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)


@nki.jit
def double(a):
    """2 a."""
    out = like(a)
    nl.store(out, nl.multiply(nl.load(a), 2.0))
    return out


@nki.jit
def large_doubles(a):
    """2 a and 4 a, of which each has 1 MiB."""
    outs = like(a), like(a)
    for first in range(0, a.shape[0], 128):
        x = nl.load(a[first:first + 128])
        for i, out in enumerate(outs):
            nl.store(out[first:first + 128], nl.multiply(x, 2.0 + 2 * i))
    return outs


@pytest.mark.parametrize("hold", [lambda x: x, lambda x: x[3:, ::2].T, memoryview])
def test_memory_of_results_is_used_again_when_nobody_has_them(hold):
    a = numbers(512, 512)
    first, second = (hold(x) for x in large_doubles(a))
    known = [np.array(first), np.array(second)]
    others = large_doubles(a + 1)
    for result, factor in zip(others, (2, 4)):
        np.testing.assert_array_equal(result, (a + 1) * np.float32(factor))
    np.testing.assert_array_equal(first, known[0])
    np.testing.assert_array_equal(second, known[1])
    places = {result.ctypes.data for result in others}
    kept = list(map(id, run._outputs))
    del others, result
    again = large_doubles(a + 2)
    assert {result.ctypes.data for result in again} == places
    assert list(map(id, run._outputs)) == kept
    np.testing.assert_array_equal(again[1], (a + 2) * np.float32(4))
    np.testing.assert_array_equal(first, known[0])


def test_a_result_that_has_changed_is_not_used_again():
    a = numbers(512, 512)
    run.close()
    for change in ({"writeable": False}, {"shape": (256, 1024)}):
        first, _ = large_doubles(a)
        if "shape" in change:
            first.shape = change["shape"]
        else:
            first.flags.writeable = False
        del first
        for result, factor in zip(large_doubles(a), (2, 4)):
            assert result.shape == a.shape and result.flags.writeable
            np.testing.assert_array_equal(result, a * np.float32(factor))


def test_parts_of_arguments_have_names_of_their_own():
    @nki.jit
    def kernel(a, a_0, output_0, tmp_1):
        out = like(a_0)
        x = nl.subtract(nl.load(a[0]), nl.load(a_0))
        nl.store(out, nl.add(x, nl.multiply(nl.load(output_0), nl.load(tmp_1))))
        return out

    a, b, c, d = (numbers(4, 8, seed=i) for i in range(4))
    np.testing.assert_allclose(kernel([a], b, c, d), a - b + c * d, rtol=1e-5, atol=1e-6)


def test_an_argument_called_value():
    @nki.jit
    def kernel(value):
        out = like(value)
        x = nl.load(value)
        assert float(x[0, 0]) == 3.0
        nl.store(out, x)
        return out

    a = np.full((4, 8), 3, np.float32)
    np.testing.assert_array_equal(nki.simulate(kernel)(a), a)


def test_a_result_of_another_type():
    @nki.jit
    def kernel(a):
        out = like(a)
        nl.store(out, nl.load(a))
        return out.view(nl.int32)

    a = numbers(4, 8)
    np.testing.assert_array_equal(kernel(a), a.view(np.int32))


@pytest.mark.parametrize("kind", [">f4", ">i4"])
def test_big_endian_arrays(kind):
    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(a)
        nl.store(out, x)
        nl.store(a, nl.add(x, x))
        return out

    a = np.arange(32).reshape(4, 8).astype(kind)
    before = a.copy()
    np.testing.assert_array_equal(kernel(a), before)
    np.testing.assert_array_equal(a, before * 2)


def test_results_that_are_bool():
    @nki.jit
    def positive(a):
        out = nl.ndarray(a.shape, nl.bool_, buffer=nl.shared_hbm)
        nl.store(out, nl.greater(nl.load(a), 0.0, dtype=nl.bool_))
        return out

    a = numbers(4, 8)
    result = positive(a)
    assert result.dtype == np.dtype(bool)
    np.testing.assert_array_equal(result, a > 0)


class Factor:
    """A kernel that is a method."""

    def __init__(self, factor):
        self.factor = factor

    @nki.jit
    def scale(self, a):
        """a * factor."""
        out = like(a)
        nl.store(out, nl.multiply(nl.load(a), self.factor))
        return out


FACTORS = [2.0]
ARRAY = np.array([2.0])


def test_changed_values_are_traced_again():
    cell = {"factor": 2.0}

    @nki.jit
    def kernel(a):
        out = like(a)
        factor = FACTORS[0] * cell["factor"] * float(ARRAY[0])
        nl.store(out, nl.multiply(nl.load(a), factor))
        return out

    a = numbers(4, 8)
    for container, key in ((FACTORS, 0), (cell, "factor"), (ARRAY, 0)):
        np.testing.assert_array_equal(kernel(a), a * 8)
        container[key] = 4.0
        np.testing.assert_array_equal(kernel(a), a * 16)
        container[key] = 2.0
    # What was traced before is remembered.
    assert len(kernel._compiled) == 4


def test_changed_attributes_of_self():
    a, factor = numbers(4, 8), Factor(2.0)
    np.testing.assert_array_equal(factor.scale(a), a * 2)
    factor.factor = 4.0
    np.testing.assert_array_equal(factor.scale(a), a * 4)


def test_what_equal_values_tell_apart():
    @nki.jit
    def kernel(a, number, parts=()):
        out = like(a)
        nl.store(out, nl.multiply(nl.load(a), number))
        return out, str(number), parts

    a = np.ones((4, 8), np.float32)
    assert not np.signbit(kernel(a, 0.0)[0]).any()
    assert np.signbit(kernel(a, -0.0)[0]).all()
    assert [kernel(a, 1.0, parts)[2] for parts in ((), [], {}, (1,), (True,), [[]])] == [
        (), [], {}, (1,), (True,), [[]]]
    assert kernel(a, 1.0, (True,))[2][0] is True


def test_what_equal_operands_tell_apart():
    """What is packed of an instruction's options is kept for the next one with the same."""
    operands = [0.0, -0.0, 0, 0.0, 1, 1.0, True]

    @nki.jit
    def kernel(a):
        x, out = nl.load(a), nl.ndarray((2 * len(operands), 4, 8), a.dtype, buffer=nl.shared_hbm)
        for i, operand in enumerate(operands):
            y, z = (nl.ndarray((4, 8), a.dtype) for _ in range(2))
            nisa.tensor_scalar(y, x, nl.multiply, operand)
            nisa.activation(z, nl.copy, x, scale=operand)
            nl.store(out[2 * i], y)
            nl.store(out[2 * i + 1], z)
        return out

    found = kernel(np.ones((4, 8), np.float32))
    np.testing.assert_array_equal(found[:8], np.zeros((8, 4, 8)))
    np.testing.assert_array_equal(found[8:], np.ones((6, 4, 8)))
    assert [np.signbit(part).all() for part in found[:8:2]] == [False, True, False, False]


def test_equal_shapes_and_types_tell_tiles_apart():
    """What is known of a tile is kept for the next one that is asked for in the same way."""
    seen = []

    @nki.jit
    def kernel(a):
        for dtype in (np.float32, "float32", np.dtype("float32"), "bfloat16", "float32"):
            for buffer in (nl.sbuf, nl.psum, nl.sbuf):
                x = nl.ndarray((128, 4), dtype, buffer=buffer)
                seen.append((x.shape, x.dtype, x.buffer is buffer))
        seen.append(nl.ndarray([128, 4], "float32").shape)
        with pytest.raises(nki.isa.NkiValidationError, match="128 partitions"):
            nl.ndarray((129, 4), "float32")
        return a

    kernel(np.ones((4, 8), np.float32))
    assert seen == [((128, 4), dtype, True) for dtype in (
        "float32", "float32", "float32", "bfloat16", "float32") for _ in range(3)] + [(128, 4)]


def test_options_of_jit():
    with pytest.raises(TypeError, match="chek"):
        nki.jit(chek=True)
    with pytest.raises(nki.NkiError, match="platform_target=trn9"):
        nki.jit(double.func, platform_target="trn9")
    with pytest.raises(nki.NkiError, match="mode is one of"):
        nki.jit(double.func, mode="fast")
    seen = []

    @nki.jit(mode="trace")
    def version():
        return nisa.get_nc_version()

    @nki.jit(platform_target="trn3", mode="torchxla", debug_kernel=True)
    def kernel(a):
        seen.append(version())
        return a

    kernel(numbers(4, 8))
    kernel[1](numbers(4, 8))
    assert seen == [nisa.nc_version.gen4] * 2


def test_an_optional_tensor_is_there():
    """Kernels ask by `if tensor:` for an argument that may be None."""
    @nki.jit
    def kernel(a, b=None):
        assert a and not b and (a.size == 1 or nl.load(a))
        return a

    kernel(numbers(4, 8))
    kernel(numbers(1, 1)[0])


@pytest.mark.parametrize("dtype, same", [
    ("float8_e4m3fn_x4", "uint32"), ("float4_e2m1fn_x4", "uint16"), ("float8_e8m0fnu", "uint8"),
    ("bfloat16", "bfloat16"), ("int16", "int16")])
def test_packed_arguments_are_integers_of_the_neff(dtype, same):
    assert lower.file_type(dtype) == chip_type(same)


REFUSED = {
    "engine of a gather": lambda x, a, r: nisa.dma_copy(
        x, a.ap([[8, 4], [1, 8]], vector_offset=r, indirect_dim=0), engine=nisa.engine.sync,
        dge_mode=nisa.dge_mode.hwdge),
    "no such dge_mode": lambda x, a, r: nisa.dma_copy(x, a, dge_mode="nonsense"),
    "no such oob_mode": lambda x, a, r: nisa.dma_copy(x, a, oob_mode="nonsense"),
    "no such dge_mode of a transposition": lambda x, a, r: nisa.dma_transpose(
        nl.ndarray((8, 4), a.dtype), a, dge_mode="nonsense"),
    "no such reduce_cmd": lambda x, a, r: nisa.activation(x, nl.exp, x, reduce_cmd="nonsense"),
    "no such perf_mode": lambda x, a, r: nisa.nc_matmul(
        nl.ndarray((8, 8), nl.float32, buffer=nl.psum), nl.load(a), nl.load(a),
        perf_mode="nonsense"),
    "no such oob_mode of a sum": lambda x, a, r: nisa.dma_compute(x, [a, a], nl.add,
                                                                  oob_mode="nonsense"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    @nki.jit
    def kernel(a, rows):
        REFUSED[name](nl.ndarray(a.shape, a.dtype), a, nl.load(rows))

    with pytest.raises(nki.NkiValidationError, match=r"test_calls.py:\d+: "):
        kernel(numbers(4, 8), np.zeros((4, 1), np.uint32))


def test_no_such_engine_of_an_exchange():
    @nki.jit
    def kernel(a):
        x = nl.load(a)
        nisa.sendrecv(x, nl.ndarray(a.shape, a.dtype), 1 - nl.program_id(0),
                      1 - nl.program_id(0), 0, dma_engine="nonsense")
        return a

    with pytest.raises(nki.NkiValidationError, match="dma_engine is one of"):
        kernel[2](numbers(4, 8))


@pytest.mark.parametrize("op", ["bitwise_and", np.bitwise_and, nl.bitwise_and])
def test_operators_by_name(op):
    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(a)
        nisa.tensor_scalar(x, x, op, 5)
        nl.store(out, x)
        return out

    a = np.arange(32, dtype=np.int32).reshape(4, 8)
    np.testing.assert_array_equal(kernel(a), a & 5)


def test_the_neff_and_the_time_of_each_call(tmp_path, monkeypatch):
    a = numbers(4, 8)
    double(a)
    monkeypatch.setenv("NKI_ARTIFACTS_DIR", str(tmp_path))
    double(a)
    assert (tmp_path / "kernel.neff").stat().st_size > 0
    kernel = nki.jit(double.func)
    kernel[1](a)
    assert kernel.device_ns > 0


def test_a_time_that_depends_on_the_host_is_told():
    kernel = nki.jit(double.func)
    kernel(numbers(4, 8))
    assert kernel.is_exact
    kernel._executions.append([kernel.execution, run.Execution(flags=run.INEXACT)])
    assert not kernel.is_exact


def test_break_in_a_loop_on_the_device():
    @nki.jit
    def kernel(a):
        for _ in nl.dynamic_range(4):
            break

    with pytest.raises(nki.NkiValidationError, match="nl.dynamic_range: .*break"):
        kernel(numbers(4, 8))


def test_where_kernels_run(monkeypatch):
    monkeypatch.delenv("NEURON_RT_BACKEND")
    assert (run._backend(True), run._backend(False)) == ("embedded", "auto")
    monkeypatch.setenv("NEURON_RT_BACKEND", "drm")
    assert run._backend(False) == "drm"
    with pytest.raises(nki.NkiError, match="check.*NEURON_RT_BACKEND=drm"):
        nki.simulate(double)(numbers(4, 8))


def test_numbers_of_attention():
    q, k = numbers(4, 16, 8), numbers(4, 8, 8)
    with pytest.raises(nki.NkiError, match="16 causal queries.*8"):
        flash_attention(q, k, k)
    with pytest.raises(nki.NkiError, match="4 heads.*3"):
        flash_attention(q, q[:3], q[:3])


def test_threads_whose_kernels_need_other_runtimes():
    a = numbers(64, 256)

    @nki.jit
    def shared(a):
        out = like(a)
        nl.store(out, nl.load(a))
        return out

    def calls(kernel):
        return [kernel(a) for _ in range(5)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(calls, (shared[1], shared[2])))
    for result in results[0] + results[1]:
        np.testing.assert_array_equal(result, a)


def test_a_profile_has_the_lines_of_the_kernel(tmp_path):
    kernel = nki.profile(double, tmp_path)
    a = numbers(128, 512)
    np.testing.assert_array_equal(kernel(a), a * 2)
    found = kernel.profile
    assert found.device_ns == kernel.device_ns
    assert 0 < found.busy["vector"] < 1 and 0 < found.utilisation < 1
    assert found.figures["hbm_read"] == found.figures["hbm_written"] == a.nbytes
    line = double.func.__code__.co_firstlineno + 4
    assert f"test_calls.py:{line}" in found.report
    page = found.page.read_text()
    assert "nl.store(out, nl.multiply(nl.load(a), 2.0))" in page
    assert (tmp_path / "double.txt").read_text() == found.report == repr(found)
    assert double.profile is None and kernel[1].profile is found


def test_a_profile_needs_the_program(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(nki.NkiError, match="neuron-profile is not in PATH"):
        nki.profile(double, tmp_path / "new")(numbers(4, 8))


def environment():
    """Of a script in a process of its own."""
    root = pathlib.Path(__file__).resolve().parents[2]
    path = f"{root / 'tools/nki'}:{root / 'libnrt/python'}"
    library = pathlib.Path(os.environ["NEURON_EMU_BUILDER"]).parents[2] / "libnrt"
    return os.environ | {"PYTHONPATH": path, "LD_LIBRARY_PATH": str(library)}


def test_profiles_of_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy as np, nki, nki.language as nl\n"
                      "@nki.jit\n"
                      "def twice(a):\n"
                      "    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)\n"
                      "    nl.store(out, nl.add(nl.load(a), nl.load(a)))\n"
                      "    return out\n"
                      "twice(np.ones((4, 8), np.float32))\n")
    subprocess.run([sys.executable, "-m", "neuron_emu", "--profile", tmp_path / "out", script],
                   check=True, timeout=120, env=environment())
    assert (tmp_path / "out/twice.html").stat().st_size > 10000


@pytest.mark.parametrize("name", ["NEURON_PLATFORM_TARGET_OVERRIDE", "NEURON_EMU_INSTANCE"])
def test_a_target_that_is_none(monkeypatch, name):
    """The message names the variable that has it."""
    monkeypatch.setenv(name, "trn9")
    with pytest.raises(nki.NkiError, match=f"{name}=trn9: there is no such target"):
        nki.simulate(double)(numbers(4, 8))


@pytest.mark.parametrize("name", run.LNC)
def test_an_lnc_that_is_not_the_kernels(monkeypatch, name):
    a = numbers(4, 8)
    monkeypatch.setenv(name, "2")
    run.close()
    with pytest.raises(nki.NkiError, match=rf"with LNC 1, but .*{name}.* is 2: launch it as "
                       r"kernel\[2\]"):
        double(a)
    np.testing.assert_array_equal(double[2](a), a * 2)
    monkeypatch.setenv(name, "1")
    with pytest.raises(nki.NkiError, match=rf"with LNC 2, but .*{name}.* is 1"):
        double[2](a)
    np.testing.assert_array_equal(double(a), a * 2)


def test_all_kernels_are_simulated(monkeypatch):
    """NKI_SIMULATOR=1: values can be read, for trn3, with the check."""
    seen = []

    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(a)
        seen.append((float(x[1, 2]), nisa.get_nc_version()))
        nl.store(out[0:2, :], x[0:2, :])
        return out

    a = numbers(4, 8)
    with pytest.raises(TypeError, match="not known while a kernel is traced"):
        kernel(a)
    monkeypatch.setenv("NKI_SIMULATOR", "0")
    with pytest.raises(TypeError, match="not known while a kernel is traced"):
        kernel(a)
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    with pytest.raises(nki.NkiCheckError):
        kernel(a)
    assert seen == [(a[1, 2], nisa.nc_version.gen4)]


def test_a_simulation_that_is_not_precise(monkeypatch):
    a = numbers(4, 8)
    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    # It is a variable of the simulator.
    double(a)
    with pytest.raises(nki.NkiError, match="^NKI_PRECISE_FP=0: .*unset the variable$"):
        nki.simulate(double)(a)
    monkeypatch.setenv("NKI_PRECISE_FP", "1")
    np.testing.assert_array_equal(nki.simulate(double)(a), a * 2)


@pytest.mark.parametrize("name", run.LNC)
@pytest.mark.parametrize("value", ["abc", "3"])
def test_an_lnc_that_is_none(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(nki.NkiError, match=f"^{name}={value}: it is the number of physical cores"):
        double(numbers(4, 8))


ENDLESS = """
import os, signal, threading, time
import numpy as np
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def kernel(a, rounds):
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a)
    for _ in nl.dynamic_range(rounds):
        nisa.tensor_scalar(x, x, nl.add, 1.0)
    nl.store(out, x)
    return out

a = np.zeros((128, 8), np.float32)
begin = time.monotonic()
kernel(a, 1)
first = time.monotonic() - begin
ended = []
threading.Timer(1, lambda: (ended.append(time.monotonic()),
                            os.kill(os.getpid(), signal.SIGINT))).start()
try:
    kernel(a, 2_000_000_000)
except KeyboardInterrupt:
    print(time.monotonic() - ended[0], first, kernel(a, 3)[0, 0])
"""


def test_interrupt(tmp_path):
    """Ctrl-C ends a kernel that would run for hours within a second, and the next one runs.

    A busy host takes longer for everything: more than a second counts only where the first call
    of the kernel was quick.
    """
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    done = subprocess.run([sys.executable, "-m", "neuron_emu", script], capture_output=True,
                          text=True, timeout=300, check=True, env=environment())
    took, first, value = map(float, done.stdout.split())
    print(f"ended {took:.3f} s after Ctrl-C; the first call took {first:.3f} s")
    assert value == 3
    assert took < 1 + 10 * first
