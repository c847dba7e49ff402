# SPDX-License-Identifier: MIT
"""Models: load a NEFF, execute it, and measure how long that takes."""

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import statistics
import time

from . import libnrt
from .libnrt import LIBNRT, NrtpyError, check
from .runtime import get_nrtpy_singleton
from .tensor import NrtpyTensor

# What the device tells of each execution (Documentation/libnrt/profile.rst).
DEVICE_EVENT = "nc_exec_running"
# The runtime keeps 1,000,000 events; they are fetched long before.
EXECUTIONS_PER_FETCH = 10_000
NS_PER_MS = 1e6


@dataclasses.dataclass
class BenchmarkResult:
    """What a benchmark has measured; times are in milliseconds."""
    mean_ms: float
    min_ms: float
    max_ms: float
    std_dev_ms: float
    iterations: int
    warmup_iterations: int
    durations_ms: list = dataclasses.field(default_factory=list, repr=False)

    @classmethod
    def of(cls, durations_ms, warmup_iterations):
        """The statistics of some durations."""
        return cls(mean_ms=statistics.fmean(durations_ms), min_ms=min(durations_ms),
                   max_ms=max(durations_ms), std_dev_ms=statistics.pstdev(durations_ms),
                   iterations=len(durations_ms), warmup_iterations=warmup_iterations,
                   durations_ms=durations_ms)


class DeviceTrace:
    """The system trace of libnrt, which tells when the device ran an execution.

    A process can have one such trace at a time.
    """

    def __init__(self, core_id):
        self.core_id = core_id

    def __enter__(self):
        config = ctypes.c_void_p()
        try:
            check(LIBNRT.nrt_sys_trace_config_allocate(ctypes.byref(config)),
                  "Failed to configure a trace")
            self.choose_events(config)
            check(LIBNRT.nrt_sys_trace_start(config), "Failed to start a trace")
        finally:
            if config:
                LIBNRT.nrt_sys_trace_config_free(config)
        return self

    def __exit__(self, *_):
        LIBNRT.nrt_sys_trace_stop()

    def choose_events(self, config):
        """Capture the executions and nothing else."""
        names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_size_t()
        check(LIBNRT.nrt_sys_trace_get_event_types(ctypes.byref(names), ctypes.byref(count)),
              "Failed to configure a trace")
        for name in names[:count.value]:
            LIBNRT.nrt_sys_trace_config_set_capture_enabled_for_event_type(
                config, name, name == DEVICE_EVENT.encode())
        LIBNRT.nrt_sys_trace_free_event_types(names, count)

    def fetch(self):
        """The text of the events of the core since the last call."""
        options, text, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        try:
            check(LIBNRT.nrt_sys_trace_fetch_options_allocate(ctypes.byref(options)),
                  "Failed to fetch the trace")
            LIBNRT.nrt_sys_trace_fetch_options_set_nc_idx(options, self.core_id)
            check(LIBNRT.nrt_sys_trace_fetch_events(ctypes.byref(text), ctypes.byref(size),
                                                    options), "Failed to fetch the trace")
            return ctypes.string_at(text, size.value)
        finally:
            LIBNRT.nrt_sys_trace_buffer_free(text)
            if options:
                LIBNRT.nrt_sys_trace_fetch_options_free(options)

    def durations_ms(self):
        """How long the device ran each execution since the last call."""
        return [(event["nc_end_ns"] - event["nc_start_ns"]) / NS_PER_MS
                for event in json.loads(self.fetch())["trace_events"]
                if event["name"] == DEVICE_EVENT]


@contextlib.contextmanager
def saved_trace(model, path):
    """Write what the device does in the block to a file; after an error there is none."""
    name = os.fsencode(path)
    check(LIBNRT.nrt_profile_start(model.pointer(), name), f"Failed to start the trace {path}")
    try:
        yield
    except BaseException:
        LIBNRT.nrt_profile_stop(name)
        pathlib.Path(path).unlink(missing_ok=True)
        raise
    check(LIBNRT.nrt_profile_stop(name), f"Failed to write the trace {path}")


class NrtpyModel:
    """A NEFF that is loaded onto a core; it is unloaded when nothing names the object."""

    def __init__(self, model_ref, name, neff_path):
        self.model_ref = model_ref
        self.name = name
        self.neff_path = pathlib.Path(neff_path)
        self.input_tensors_info, self.output_tensors_info = model_ref.tensor_info()

    def __repr__(self):
        return f"NrtpyModel(name={self.name!r}, core_id={self.model_ref.core_id})"

    @classmethod
    def load_from_neff(cls, neff_path, name=None, core_id=0, cc_enabled=False, rank_id=0,
                       world_size=1):
        """Load a NEFF. With cc_enabled it is rank `rank_id` of `world_size` ranks."""
        neff_path = pathlib.Path(neff_path)
        ranks = (rank_id, world_size) if cc_enabled else None
        model = get_nrtpy_singleton().load_model(neff_path, core_id, ranks)
        return cls(model, neff_path.stem if name is None else name, neff_path)

    def __call__(self, inputs, outputs=None, save_trace=False, ntff_name=None):
        """Execute it. Without outputs they are allocated, and returned by name."""
        given = self._allocate_outputs() if outputs is None else outputs
        path = self.neff_path.with_suffix(".ntff") if ntff_name is None else ntff_name
        trace = saved_trace(self.model_ref, path) if save_trace else contextlib.nullcontext()
        with self._sets(inputs, given) as execute, trace:
            execute()
        return given if outputs is None else None

    def benchmark(self, inputs, outputs=None, warmup_iter=5, benchmark_iter=5, mode="device"):
        """Execute it again and again, and tell how long that took.

        Mode "device": the time on the device. Mode "host": until the call has returned.
        """
        if mode not in ("device", "host"):
            raise ValueError(f"mode must be 'device' or 'host', not {mode!r}")
        if benchmark_iter < 1:
            raise ValueError(f"benchmark_iter must be at least 1, not {benchmark_iter}")
        given = self._allocate_outputs() if outputs is None else outputs
        with self._sets(inputs, given) as execute:
            for _ in range(warmup_iter):
                execute()
            measure = self._device_times if mode == "device" else self._host_times
            return BenchmarkResult.of(measure(execute, benchmark_iter), warmup_iter)

    def _device_times(self, execute, iterations):
        durations = []
        with DeviceTrace(self.model_ref.core_id) as trace:
            for left in range(iterations, 0, -EXECUTIONS_PER_FETCH):
                for _ in range(min(left, EXECUTIONS_PER_FETCH)):
                    execute()
                durations += trace.durations_ms()
        if not durations:
            raise NrtpyError(f"the device told nothing of {iterations} executions; the mode "
                             "'host' needs no such events")
        return durations

    @staticmethod
    def _host_times(execute, iterations):
        durations = []
        for _ in range(iterations):
            begin = time.perf_counter_ns()
            execute()
            durations.append((time.perf_counter_ns() - begin) / NS_PER_MS)
        return durations

    def _allocate_outputs(self):
        """A tensor for each output."""
        return {name: NrtpyTensor.allocate(info.shape, info.numpy_dtype(), name,
                                           self.model_ref.core_id)
                for name, info in self.output_tensors_info.items()}

    def _check_names(self, what, given, wanted):
        """What is given must be what the model has."""
        complaints = [f"{what} '{name}' is missing" for name in wanted if name not in given]
        complaints += [f"the model has no {what} '{name}'" for name in given if name not in wanted]
        if complaints:
            raise libnrt.failure(libnrt.NRT_INVALID, f"Failed to execute model: {complaints[0]}; "
                                 f"the {what}s of '{self.name}' are: {', '.join(wanted)}")

    @contextlib.contextmanager
    def _sets(self, inputs, outputs):
        """A function that executes the model with these tensors."""
        self._check_names("input", inputs, self.input_tensors_info)
        self._check_names("output", outputs, self.output_tensors_info)
        runtime = self.model_ref.runtime
        with runtime.tensor_set(inputs) as input_set, runtime.tensor_set(outputs) as output_set:
            yield lambda: runtime.execute(self.model_ref, input_set, output_set)
