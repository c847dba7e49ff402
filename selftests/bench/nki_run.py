#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measure kernels in Python beside numpy, in one process on one processor.

nki_bench.py starts it and makes figures of the samples, which are written as JSON: for each
figure those of ours, and those of the baseline or null.
"""

import argparse
import ctypes
import importlib
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the tensor engine of trn2 in BF16.
PEAK_PER_NS = 2 * 128 * 128 * 2.4
CUBE = 4096
INSTRUCTIONS = 10000
LARGER = 4
MEMORY_PAIRS = 3


def host_class(flags):
    """The class of OpenBLAS's kernels for a processor with these flags, or None: it decides."""
    if {"avx512f", "avx512vl"} <= flags:
        return "SkylakeX"
    if {"avx2", "fma"} <= flags:
        return "Haswell"
    return None


def processor_flags():
    """What /proc/cpuinfo says of the first processor."""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def openblas_of(paths):
    """The library of OpenBLAS among those of the process; another BLAS among them is refused."""
    blas = [path for path in paths if "blas" in os.path.basename(path) or "mkl" in path]
    others = [path for path in blas if "openblas" not in path]
    if others or not blas:
        sys.exit(f"numpy multiplies with {', '.join(others) or 'no library'}, not with OpenBLAS, "
                 "and any kernel is faster than that: run tools/build/deps bench")
    return blas


def check_baseline():
    """numpy has OpenBLAS with one thread; say which kernels."""
    importlib.import_module("numpy")
    lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = sorted({line.split(None, 5)[5] for line in lines if ".so" in line})
    for path in openblas_of(paths):
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_get_corename"):
            library.openblas_get_corename.restype = ctypes.c_char_p
            if library.openblas_get_num_threads() != 1:
                sys.exit(f"{path} has {library.openblas_get_num_threads()} threads, not one")
            print(f"baseline: numpy with OpenBLAS, kernels for "
                  f"{library.openblas_get_corename().decode()}, one thread", file=sys.stderr)
            return
    sys.exit("OpenBLAS does not say what it uses")


def prepare(build, cache):
    """What is read when numpy and the runtime are loaded."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ.pop("OPENBLAS_CORETYPE", None)
    kernels = host_class(processor_flags())
    if kernels:
        os.environ["OPENBLAS_CORETYPE"] = kernels
    for name in [name for name in os.environ if name.startswith(("NKI_", "NEURON_"))]:
        del os.environ[name]
    os.environ.update(XDG_CACHE_HOME=cache, NEURON_RT_BACKEND="embedded",
                      NEURON_EMU_BUILDER=str(build / "tools/builder/libneuron-builder.so.0"))
    # What is loaded already is what the loader finds under that name.
    ctypes.CDLL(str(build / "libnrt/libnrt.so.1"), ctypes.RTLD_GLOBAL)
    sys.path[:1] = [str(ROOT / folder) for folder in ("libnrt/python", "tools/nki")]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Numpy:
    """The baselines. Those of attention and BF16 are in FP32, as numpy has nothing less."""

    def __init__(self, np):
        self.np = np

    def softmax(self, x):
        """Of each row."""
        result = x - x.max(1, keepdims=True)
        self.np.exp(result, out=result)
        result /= result.sum(1, keepdims=True)
        return result

    def layernorm(self, x, gamma, beta):
        """Of each row."""
        result = x - x.mean(1, keepdims=True)
        result /= self.np.sqrt(self.np.mean(result * result, 1, keepdims=True) + 1e-5)
        result *= gamma
        result += beta
        return result

    def attention(self, q, k, v, mask):
        """Of one head; the mask has -inf where a key comes later."""
        scores = q @ k.T
        scores *= q.shape[1] ** -0.5
        scores += mask
        return self.softmax(scores) @ v


def pairs():
    """(figure, kernel, baseline, greatest distance of results) for each that numpy has, too."""
    import numpy as np
    import neuron_kernels as kernels
    from neuron_emu import from_float32
    random = np.random.default_rng(1)

    def numbers(*shape):
        return random.standard_normal(shape, np.float32)

    def rounded(*values):
        return [from_float32(value, "bfloat16") for value in values]

    base = Numpy(np)
    a, b, x = numbers(1024, 1024), numbers(1024, 1024), numbers(4096, 2048)
    gamma, beta = numbers(2048), numbers(2048)
    q, k, v = (numbers(2048, 128) for _ in range(3))
    mask = np.triu(np.full((2048, 2048), -np.inf, np.float32), 1)
    heads = q[None], k[None], v[None]
    narrow_pair, narrow_heads = rounded(a, b), rounded(*heads)

    def product():
        return a @ b

    def attention():
        return base.attention(q, k, v, mask)

    return [
        ("nki_gemm_1024_fp32", lambda: kernels.matmul(a, b), product, 1e-5),
        ("nki_gemm_1024_bf16", lambda: kernels.matmul(*narrow_pair), product, 2e-2),
        ("nki_softmax", lambda: kernels.softmax(x), lambda: base.softmax(x), 1e-5),
        ("nki_layernorm", lambda: kernels.layernorm(x, gamma, beta),
         lambda: base.layernorm(x, gamma, beta), 1e-5),
        ("nki_attention_fp32", lambda: kernels.flash_attention(*heads), attention, 1e-5),
        ("nki_attention_bf16", lambda: kernels.flash_attention(*narrow_heads), attention, 2e-2),
    ]


def check_same(name, got, want, tolerance):
    """Both sides compute the same, or the times say nothing."""
    import numpy as np
    from neuron_emu import to_float32
    got = np.asarray(got if got.dtype == np.float32 else to_float32(got)).reshape(want.shape)
    distance = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
    if not distance <= tolerance:
        sys.exit(f"{name}: the kernel and numpy differ by {distance:g}")


def milliseconds(function):
    """How long a call takes."""
    begin = time.perf_counter()
    function()
    return (time.perf_counter() - begin) * 1e3


def measure_pairs(rounds):
    """Samples of ours and of numpy's, in turns. The first calls compile and are not counted."""
    for name, ours, baseline, tolerance in pairs():
        check_same(name, ours(), baseline(), tolerance)
        ours()
        samples = [(milliseconds(ours), milliseconds(baseline)) for _ in range(rounds)]
        yield name, [one for one, _ in samples], [two for _, two in samples]


def long_kernel(count):
    """A kernel of so many instructions and transfers, and its argument."""
    import numpy as np
    import nki
    import nki.isa as nisa
    import nki.language as nl

    def steps(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        for i in range(count // 5):
            part = slice(i % 16 * 128, i % 16 * 128 + 128)
            x, y, z = (nl.ndarray((128, 64), a.dtype) for _ in range(3))
            nisa.dma_copy(x, a[part])
            nisa.tensor_scalar(y, x, nl.multiply, 0.5)
            nisa.activation(z, nl.exp, y)
            nisa.tensor_tensor(y, z, x, nl.add)
            nisa.dma_copy(out[part], y)
        return out

    return nki.jit(steps), np.zeros((2048, 64), np.float32)


def measure_tracing(rounds):
    """From the call to the NEFF of a kernel that is new, and of one that is not."""
    new, known = [], []
    for _ in range(rounds):
        kernel, array = long_kernel(INSTRUCTIONS)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            new.append(milliseconds(lambda: kernel.compile((array,), {})) / 1e3)
            known.append(milliseconds(lambda: kernel.compile((array,), {})))
    yield "nki_trace_10k", new, None
    yield "nki_cached_10k", known, None


def resident():
    """The greatest size of the process so far, in bytes."""
    for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise LookupError("/proc/self/status has no VmHWM")


def bytes_of_instruction(count):
    """What tracing and building add to a process, for each instruction."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        kernel, array = long_kernel(count)
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = resident()
        kernel.compile((array,), {})
        os.write(writing, str((resident() - before) / count).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="ascii") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return float(said)


def measure_memory():
    """That of a program against one that is a part as long."""
    many, few = [], []
    for _ in range(MEMORY_PAIRS):
        many.append(bytes_of_instruction(LARGER * INSTRUCTIONS))
        few.append(bytes_of_instruction(INSTRUCTIONS))
    yield "nki_trace_memory", many, few


def cube_kernel(a, b):
    """a^T @ b. A step adds 128 terms to all banks of PSUM, so the engine has work from the first
    step on; rows of `a` stay until all columns have been multiplied with them.
    """
    import nki.isa as nisa
    import nki.language as nl
    rows, columns = 1024, 512
    out = nl.ndarray((CUBE, CUBE), a.dtype, buffer=nl.shared_hbm)
    for m in range(0, CUBE, rows):
        left = {}
        for n in range(0, CUBE, columns):
            banks = [nl.ndarray((128, columns), nl.float32, buffer=nl.psum)
                     for _ in range(rows // 128)]
            for k in range(0, CUBE, 128):
                if not n:
                    left[k] = nl.load(a[k:k + 128, m:m + rows])
                right = nl.load(b[k:k + 128, n:n + columns])
                for i, bank in enumerate(banks):
                    nisa.nc_matmul(bank, left[k][:, 128 * i:128 * i + 128], right)
            for i, bank in enumerate(banks):
                result = nl.ndarray((128, columns), a.dtype)
                nisa.tensor_copy(result, bank)
                nl.store(out[m + 128 * i:m + 128 * i + 128, n:n + columns], result)
    return out


def measure_cube():
    """How much of the tensor engine's time a whole product uses, in modelled time."""
    import numpy as np
    import nki
    from neuron_emu import from_float32
    ones = from_float32(np.ones((CUBE, CUBE), np.float32), "bfloat16")
    kernel = nki.jit(cube_kernel, platform_target="trn2")
    check_same("nki_gemm_4096_modelled", kernel(ones, ones),
               np.full((CUBE, CUBE), CUBE, np.float32), 0.0)
    yield "nki_gemm_4096_modelled", [100 * 2 * CUBE ** 3 / PEAK_PER_NS / kernel.device_ns], None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path, help="of user space")
    parser.add_argument("--json", required=True, type=pathlib.Path, help="where the samples go")
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        prepare(arguments.build, cache)
        check_baseline()
        samples = list(measure_memory())
        samples += measure_pairs(arguments.rounds)
        samples += measure_tracing(arguments.rounds)
        samples += measure_cube()
    arguments.json.write_text(json.dumps(samples), encoding="utf-8")


if __name__ == "__main__":
    main()
