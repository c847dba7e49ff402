# SPDX-License-Identifier: MIT
"""neuronxcc.nki: kernels, and what runs and measures them."""

import functools
import os
import pathlib
import shutil

from .. import kernel as _kernel
from .. import target
from ..errors import NkiError
from .tensor import Tensor

__neuron_emu__ = True

MODES = ("auto", "baremetal", "benchmark", "jax", "simulation", "torchxla", "trace")
PERCENTILES = (0, 1, 10, 25, 50, 90, 99, 100)


class Dialect:
    """Between the tracer's tensors and those of Beta 1."""

    @staticmethod
    def argument(tensor):
        """An argument of a kernel."""
        return Tensor.of(tensor)

    @classmethod
    def result(cls, value):
        """What a kernel returns."""
        if isinstance(value, Tensor):
            return value.whole("return")
        if isinstance(value, (list, tuple)):
            return type(value)(cls.result(v) for v in value)
        if isinstance(value, dict):
            return {k: cls.result(v) for k, v in value.items()}
        return value


class Kernel(_kernel.Kernel):
    """A function of NKI Beta 1 that runs on the chip when it is called with arrays."""

    dialect = Dialect


def _as_kernel(func, **options):
    if isinstance(func, _kernel.Kernel):
        return func.changed(**options)
    if isinstance(func, Measured):
        return func.kernel.changed(**options)
    return Kernel(func, **options)


def _simulated_target(platform_target):
    return platform_target or os.environ.get("NEURON_EMU_INSTANCE") or "trn2"


def jit(func=None, mode="auto", *, platform_target=None, **kwargs):
    """Make a kernel of a function.

    "simulation" lets the chip look for errors, "trace" is for functions that kernels call,
    "benchmark" is nki.benchmark. The arrays say which framework calls, so the other modes are one.
    """
    if mode not in MODES:
        raise NkiError(f"nki.jit: mode is one of {', '.join(MODES)}, not {mode!r}")
    if platform_target is not None:
        target.generation_of(platform_target, "platform_target")
    if func is None:
        return functools.partial(jit, mode=mode, platform_target=platform_target, **kwargs)
    if mode == "simulation":
        return _as_kernel(func, simulated=True, platform_target=_simulated_target(platform_target))
    if mode == "benchmark":
        return benchmark(func, **kwargs)
    return _as_kernel(func, platform_target=platform_target)


trace = functools.partial(jit, mode="trace")


def simulate_kernel(kernel, *args, **kwargs):
    """Run a kernel with the check of the chip; its result."""
    kernel = kernel.kernel if isinstance(kernel, Measured) else kernel
    told = getattr(kernel, "platform_target", None)
    return _as_kernel(kernel, simulated=True, platform_target=_simulated_target(told))(
        *args, **kwargs)


class Latency:
    """benchmark_result.nc_latency"""

    def __init__(self, microseconds):
        self.microseconds = microseconds

    def get_latency_percentile(self, percentile):
        """In microseconds. Each run takes the same time on the virtual chip."""
        if percentile not in PERCENTILES:
            raise NkiError(f"get_latency_percentile: one of {PERCENTILES}, not {percentile}")
        return self.microseconds


class Result:
    """benchmark_result"""

    def __init__(self, kernel):
        self.nc_latency = Latency(kernel.device_ns / 1000)


class Measured:
    """A kernel whose calls are measured, or leave files."""

    def __init__(self, kernel, neff=None, folder=None, measured=False):
        functools.update_wrapper(self, kernel.func)
        self.kernel = kernel
        self.neff = neff
        self.folder = folder
        self.measured = measured
        self.benchmark_result = None

    def __getitem__(self, grid):
        found = Measured(self.kernel[grid], self.neff, self.folder, self.measured)
        found.outer = self
        return found

    def __call__(self, *args, **kwargs):
        kernel = self.kernel if self.folder is None else self.kernel.changed(folder=self.folder)
        result = kernel(*args, **kwargs)
        if self.neff is not None:
            shutil.copyfile(kernel.compile(args, kwargs)[0].path, self.neff)
        if self.measured:
            self.benchmark_result = Result(kernel)
            getattr(self, "outer", self).benchmark_result = self.benchmark_result
        return result


def _measured(func, decorate, options, known):
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise NkiError(f"nki.{decorate.__name__}: there is no option {', '.join(unknown)}; it has "
                       f"{', '.join(known)}")
    return functools.partial(decorate, **options) if func is None else None


def benchmark(kernel=None, **kwargs):
    """A kernel with `benchmark_result` after a call: the device time. One run tells it."""
    later = _measured(kernel, benchmark, kwargs, (
        "warmup", "iters", "device_count", "save_neff_name", "save_trace_name",
        "additional_compile_opt"))
    return later or Measured(_as_kernel(kernel), kwargs.get("save_neff_name"),
                             _trace_folder(kwargs), True)


def baremetal(kernel=None, **kwargs):
    """A kernel that is called with arrays of NumPy; it can leave its NEFF in a file."""
    later = _measured(kernel, baremetal, kwargs, (
        "save_neff_name", "save_trace_name", "additional_compile_opt", "artifacts_dir"))
    if later:
        return later
    return Measured(_as_kernel(kernel), kwargs.get("save_neff_name"), _trace_folder(kwargs))


def profile(func=None, **kwargs):
    """A kernel whose calls leave the report and the timeline of neuron-profile in a folder."""
    later = _measured(func, profile, kwargs, (
        "working_directory", "save_neff_name", "save_trace_name", "additional_compile_opt",
        "overwrite", "profile_nth"))
    if later:
        return later
    folder = pathlib.Path(kwargs.get("working_directory") or ".")
    neff = kwargs.get("save_neff_name")
    return Measured(_as_kernel(func), folder / neff if neff else None, folder, True)


def _trace_folder(options):
    """The folder of a trace: files there have the name of the kernel."""
    name = options.get("save_trace_name")
    return None if name is None else pathlib.Path(name).resolve().parent
