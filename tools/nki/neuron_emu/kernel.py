# SPDX-License-Identifier: MIT
"""nki.jit and nki.simulate: kernels that are called with arrays."""

import collections
import functools
import inspect
import os
import pathlib
import shutil
import warnings

import numpy as np

from . import (arrays, cache, collectives, dtypes, errors, isa, lower, memo, nans, profile, run,
               target)
from .eager import Eager
from .errors import NkiCheckError, NkiError, refuse
from .tensor import MemoryRegion, NkiTensor
from .trace import Trace, enter

__neuron_emu__ = True

MODES = ("auto", "baremetal", "jax", "torchxla", "trace", "simulation")
# What kernels of the Neuron SDK tell its compiler, and what changes nothing here.
WITHOUT_EFFECT = ("additional_compile_opt", "debug_kernel", "experimental_flags",
                  "show_compiler_tb")


class Arguments:
    """The arrays among the arguments of a call, by name, and what else there is."""

    def __init__(self, function, args, kwargs):
        self.arrays = {}
        self.framework = None
        # What there is besides the contents of arrays: a key of the program is made of it.
        self.statics = []
        self.places = []
        self.names = _signature(function).parameters
        bound = _signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        self.bound = bound
        self.template = {}
        for name, value in bound.arguments.items():
            self.template[name] = self._collect(name, value)
        self.statics.append(self.framework)

    def _collect(self, name, value):
        """The value with Placeholders for arrays."""
        if arrays.is_array(value):
            placeholder = Placeholder(name, *arrays.accept(name, value))
            self.framework = self.framework or arrays.framework_of(value)
            self.arrays[name] = value
            self.places.append(placeholder)
            self.statics.append((name, placeholder.shape, placeholder.dtype))
            return placeholder
        if type(value) in (list, tuple):
            self.statics.append((name, type(value), len(value)))
            return type(value)(self._part(name, i, v) for i, v in enumerate(value))
        if type(value) is dict:
            self.statics.append((name, dict, tuple(value)))
            return {k: self._part(name, k, v) for k, v in value.items()}
        self.statics.append((name, value))
        return value

    def _part(self, name, which, value):
        """A part of an argument: its name is that of no other argument."""
        taken = self.names.keys() | self.arrays.keys()
        return self._collect(lower.free_name(f"{name}_{which}", taken), value)


class Placeholder:
    """Where an array was."""

    __slots__ = ("name", "shape", "dtype")

    def __init__(self, name, shape, dtype):
        self.name = name
        self.shape = shape
        self.dtype = dtype


@functools.lru_cache(maxsize=None)
def _signature(function):
    return inspect.signature(function)


class Compiled:
    """A kernel for certain shapes: its NEFF, its tensors, and what it returns."""

    def __init__(self, key, path, tensors, result, generation, lnc, ranks, brings_nan):
        self.key = key
        self.path = path
        self.tensors = tensors
        self.result = result
        self.generation = generation
        self.lnc = lnc
        # How many run together, or None: it has nothing to do with others.
        self.ranks = ranks
        # Has one of its constants a NaN, or what looks like one?
        self.brings_nan = brings_nan

    def makes_nan(self, arguments):
        """If there is a NaN, has the kernel made it? It has not where one may come from outside.
        """
        return not self.brings_nan and not any(
            arrays.has_nan(arguments.arrays[name], dtype)
            for name, _, dtype, role in self.tensors if role in ("input", "inout"))

    def run(self, arguments, check, trace=None):
        """Execute it with arrays; returns what the kernel returns, and the execution."""
        found = [(self, arguments)]
        told = check and nans.may_be_told(found)
        with run.lock:
            program = self._loaded(check, told and self.ranks is None)
            self.write(program, arguments)
            execution = program.execute(trace)
            results = self.read(program)
            if told and self.ranks is not None:
                nans.tell(found, [results], [execution], lambda: [self._again(arguments)])
        return self.finish(results, arguments), execution

    def _loaded(self, check, numbers):
        """It on a core."""
        return run.gang([(self.key, self.path, self.tensors)], self.generation, self.lnc, check, 1,
                        [0], self.ranks, numbers)[0]

    def _again(self, arguments):
        """A second execution, in which libnrt looks for NaNs."""
        program = self._loaded(False, True)
        self.write(program, arguments)
        return program.execute()

    def write(self, program, arguments):
        """The contents of its inputs."""
        for name, _, dtype, role in self.tensors:
            if role == "inout":
                arrays.can_be_written(name, arguments.arrays[name], name in _names(self.result))
            if role in ("input", "inout"):
                program.write(name, arrays.to_numpy(arguments.arrays[name], dtype))

    def read(self, program):
        """The contents of its outputs, by name."""
        return {name: program.read(name, dtype) for name, _, dtype, role in self.tensors
                if role in ("output", "inout")}

    def finish(self, results, arguments):
        """What the kernel returns; arguments that it has written get their values."""
        for name, _, dtype, role in self.tensors:
            if role == "inout":
                arrays.write_back(arguments.arrays[name], results[name], dtype)
        return _unwrap(self.result, results, arguments.framework)


class Returned:
    """A view of an output."""

    __slots__ = ("name", "shape", "strides", "offset", "dtype")

    def __init__(self, tensor):
        self.name = tensor.storage.name
        self.shape = tensor.shape
        self.strides = tensor.strides
        self.offset = tensor.offset
        self.dtype = tensor.dtype


def _names(result):
    """The names of the tensors that a kernel returns."""
    if isinstance(result, Returned):
        return {result.name}
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return set().union(*map(_names, result))
    return set()


def _unwrap(result, found, framework):
    if isinstance(result, Returned):
        array = found[result.name]
        dtype = dtypes.numpy_dtype(result.dtype)
        if (dtype != array.dtype or dtypes.carried(dtype) != dtypes.carried(array.dtype) or
                result.shape != array.shape or result.offset or
                not _packed(result)):
            # Of bits: NumPy has no views with strides of the types of ml_dtypes.
            bits = array.reshape(-1).view(dtypes.bits_dtype(result.dtype))
            item = bits.dtype.itemsize
            array = np.lib.stride_tricks.as_strided(
                bits[result.offset:], result.shape,
                [s * item for s in result.strides]).copy().view(dtype)
        return arrays.from_numpy(array, framework, result.dtype)
    if isinstance(result, (list, tuple)):
        return type(result)(_unwrap(r, found, framework) for r in result)
    if isinstance(result, dict):
        return {k: _unwrap(r, found, framework) for k, r in result.items()}
    return result


def _packed(result):
    step = 1
    for n, s in zip(reversed(result.shape), reversed(result.strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


class Tracer:
    """Runs the Python of a kernel, once for each program of its grid."""

    def __init__(self, function, arguments, generation, grid, simulated=False, ranks=1,
                 dialect=None):
        self.simulated = simulated
        self.ranks = ranks
        self.dialect = dialect
        self.function = function
        self.arguments = arguments
        self.generation = generation
        self.grid = grid
        count = 1
        for n in grid:
            count *= n
        # Two programs are the two physical cores of a pair; more, and those of trn1, run one
        # after the other.
        self.lnc = 2 if count == 2 and generation > 2 else 1
        self.programs = count

    def trace(self):
        """The traces, of which the first one knows what the kernel returns."""
        old = target.set_generation(self.generation)
        try:
            if self.lnc == 2:
                traces = [Trace(self.generation, core, 2, self.grid, self.ranks) for core in (0, 1)]
                results = [self._program(trace, i) for i, trace in enumerate(traces)]
            else:
                traces = [Trace(self.generation, 0, 1, self.grid, self.ranks)]
                results = [self._program(traces[0], i) for i in range(self.programs)]
            for t in traces:
                collectives.finish(t)
            result = self._outputs(traces, results)
            for trace in traces:
                self._name(trace)
                trace.finish()
        finally:
            target.set_generation(old)
        return traces, result

    def _program(self, trace, index):
        """The kernel as program `index`."""
        trace.begin_program(np.unravel_index(index, self.grid) if self.grid else (0,))
        if self.simulated:
            given = self.arguments.arrays
            trace.eager = Eager(trace, {p.name: arrays.to_numpy(given[p.name], p.dtype)
                                        for p in self.arguments.places})
        before = enter(trace)
        try:
            values = {name: self._argument(trace, value)
                      for name, value in self.arguments.template.items()}
            bound = self.arguments.bound
            call = inspect.BoundArguments(bound.signature, values)
            result = self.function(*call.args, **call.kwargs)
            if self.dialect is not None:
                result = self.dialect.result(result)
            if trace.open_loops:
                trace.refuse_open_loop()
            return self._without_constants(trace, result)
        except Exception as error:
            # Those of these packages name their line themselves.
            if trace.open_loops and not isinstance(error, NkiError):
                function, place = trace.open_loops[-1]
                error.add_note(f"{errors.raised_at(error)}: in the {function} of {place}")
            raise
        finally:
            enter(before)

    def _without_constants(self, trace, result):
        """What the kernel returns; of a constant a copy, because an output begins as zeros."""
        if isinstance(result, (list, tuple)):
            return type(result)(self._without_constants(trace, r) for r in result)
        if isinstance(result, dict):
            return {k: self._without_constants(trace, r) for k, r in result.items()}
        if not isinstance(result, NkiTensor) or result.storage.role != "constant":
            return result
        shape, dtype = result.storage.host
        copy = trace.ndarray(shape, dtype, MemoryRegion.shared_hbm)
        if not trace.core:
            isa.dma_copy(copy, NkiTensor(shape, dtype, result.storage))
        return NkiTensor(result.shape, result.dtype, copy.storage, strides=result.strides,
                         offset=result.offset)

    def _argument(self, trace, value):
        if isinstance(value, Placeholder):
            found = trace.inputs.get(value.name)
            if found is None:
                memory = MemoryRegion.shared_hbm if self.lnc == 2 else MemoryRegion.private_hbm
                found = trace.inputs[value.name] = trace.hbm_tensor(
                    value.shape, value.dtype, memory, value.name, role="input")
            tensor = NkiTensor(found.shape, found.dtype, found.storage)
            return tensor if self.dialect is None else self.dialect.argument(tensor)
        if type(value) in (list, tuple):
            return type(value)(self._argument(trace, v) for v in value)
        if type(value) is dict:
            return {k: self._argument(trace, v) for k, v in value.items()}
        return value

    def _outputs(self, traces, results):
        """Mark what is returned as outputs, with the same names on both cores."""
        descriptions = []
        for trace, result in zip(traces, results[-len(traces):]):
            counter = [0]
            descriptions.append(self._mark(result, counter))
        if len(traces) == 2:
            self._unite(*traces)
        return descriptions[0]

    def _mark(self, result, counter):
        if isinstance(result, NkiTensor):
            storage = result.storage
            if storage.slot is None:
                raise NkiError(f"{self.function.__name__} returns a tensor in "
                               f"{storage.memory.name}: return one in nl.shared_hbm")
            if storage.role == "tmp":
                storage.role = "output"
                storage.name = lower.free_name(f"output_{counter[0]}", self.arguments.arrays)
                counter[0] += 1
            elif storage.role == "input":
                storage.role = "inout"
            arrays.check_result(self.function.__name__, result.dtype,
                                self.arguments.framework)
            return Returned(result)
        if isinstance(result, (list, tuple)):
            return type(result)(self._mark(r, counter) for r in result)
        if isinstance(result, dict):
            return {k: self._mark(r, counter) for k, r in result.items()}
        return result

    @staticmethod
    def _unite(first, second):
        """An input that one core writes is an output of both."""
        roles = {}
        for trace in (first, second):
            for storage in trace.hbm:
                if storage.role in ("input", "inout"):
                    if roles.get(storage.name) != "inout":
                        roles[storage.name] = storage.role
        for trace in (first, second):
            for storage in trace.hbm:
                storage.role = roles.get(storage.name, storage.role)

    def _name(self, trace):
        """Variables have names of their own."""
        for storage in trace.hbm:
            if storage.role not in ("input", "inout", "output"):
                storage.name = lower.free_name(f"{storage.role}_{storage.slot}",
                                               self.arguments.arrays)


class Kernel:
    """A function that runs on the chip when it is called with arrays."""

    # What makes tensors of the function's arguments, and the tracer's tensors of its results.
    dialect = None

    def __init__(self, function, grid=(), simulated=False, check=None, platform_target=None,
                 folder=None, schedule=None):
        functools.update_wrapper(self, function)
        self.func = function
        self.grid = grid
        self.simulated = simulated
        self.check = check
        self.platform_target = platform_target
        self.folder = folder
        self.schedule = schedule
        self._executions = collections.deque(maxlen=1)
        self._profiles = collections.deque(maxlen=1)
        self._compiled = {}

    def __getitem__(self, grid):
        grid = grid if isinstance(grid, tuple) else (grid,)
        if not all(isinstance(n, (int, np.integer)) and n > 0 for n in grid):
            refuse(f"{self.__name__}[grid]", "a grid has a number of programs, from 1 on, in each "
                   "dimension", ", ".join(map(repr, grid)) or "()",
                   f"launch it as {self.__name__}(...) or {self.__name__}[2](...)")
        result = self.changed(grid=tuple(int(n) for n in grid))
        # kernel[4](...) is a call of the kernel: it knows the program and the time.
        result._compiled = self._compiled
        result._executions = self._executions
        result._profiles = self._profiles
        return result

    def changed(self, **what):
        """The same kernel with other options."""
        options = {"grid": self.grid, "simulated": self.simulated, "check": self.check,
                   "platform_target": self.platform_target, "folder": self.folder,
                   "schedule": self.schedule}
        return type(self)(self.func, **{**options, **what})

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return functools.partial(self, instance)

    @property
    def executions(self):
        """What the device tells of the last call, of each rank."""
        return self._executions[-1] if self._executions else []

    @property
    def execution(self):
        """That of the rank that took longest, or None."""
        return max(self.executions, key=lambda execution: execution.device_ns, default=None)

    @property
    def device_ns(self):
        """Device time of the last call in ns."""
        return self.execution.device_ns if self.execution else None

    @property
    def is_exact(self):
        """Are the device times of the last call the same on every run and host? None: no call."""
        return all(e.is_exact for e in self.executions) if self.executions else None

    @property
    def profiles(self):
        """The Profiles of the last call that had any, of each rank."""
        return self._profiles[-1] if self._profiles else []

    @property
    def profile(self):
        """That of the rank that took longest, or None."""
        return max(self.profiles, key=lambda found: found.device_ns, default=None)

    @property
    def is_simulated(self):
        """Does it run as in nki.simulate()?"""
        return self.simulated or os.environ.get("NKI_SIMULATOR") == "1"

    def _refuse_imprecise(self):
        """The chip computes the bits that it computes."""
        if os.environ.get("NKI_PRECISE_FP", "") not in ("", "1"):
            raise NkiError(f"NKI_PRECISE_FP={os.environ['NKI_PRECISE_FP']}: nki.simulate() has the "
                           "bits of the chip, each tile in its own type; unset the variable")

    @property
    def is_checked(self):
        """Does the chip look for errors?"""
        check = self.is_simulated if self.check is None else self.check
        return check or os.environ.get("NEURON_EMU_CHECK") == "memory"

    @property
    def is_scheduled(self):
        """Does the builder change the order, places and queues, so that it takes less time?"""
        if self.schedule is None:
            return os.environ.get("NEURON_EMU_NKI_SCHEDULE") == "1"
        return self.schedule

    def _run(self, compiled, arguments, check):
        """Execute it, with a profile where one is asked for."""
        folder = profile.folder_of(self.folder)
        if folder is None:
            return compiled.run(arguments, check)
        files = profile.Files(folder, self.func)
        files.begin(compiled.path)
        done = compiled.run(arguments, check, files.trace)
        self._profiles.append([files.end()])
        return done

    def _key(self, arguments, generation, ranks):
        """What makes the program, or None where that cannot be told."""
        try:
            return generation, self.grid, ranks, self.is_scheduled, \
                memo.Key().of([arguments.statics, self.func])
        except memo.Unknown:
            return None

    def compile(self, args, kwargs, ranks=1):
        """(Compiled, Arguments) for these arguments; the kernel is one of so many ranks."""
        arguments = Arguments(self.func, args, kwargs)
        simulated = self.is_simulated
        if simulated:
            self._refuse_imprecise()
        generation = target.choose(4 if simulated else 3, self.platform_target)
        key = None if simulated else self._key(arguments, generation, ranks)
        found = None if key is None else self._compiled.get(key)
        if found is None or not cache.is_whole(found.path):
            found = self._trace(arguments, generation, simulated, ranks)
            if key is not None:
                if len(self._compiled) >= 256:
                    self._compiled.clear()
                self._compiled[key] = found
        folder = os.environ.get("NKI_ARTIFACTS_DIR")
        if folder:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found.path, pathlib.Path(folder) / "kernel.neff")
        return found, arguments

    def _trace(self, arguments, generation, simulated, ranks):
        tracer = Tracer(self.func, arguments, generation, self.grid, simulated, ranks,
                        self.dialect)
        traces, result = tracer.trace()
        name = self.func.__name__
        key, path = lower.neff(name, traces, self.is_scheduled)
        tensors = [(s.name, s.host[0], s.host[1], s.role) for s in traces[0].hbm
                   if s.role in ("input", "output", "inout")]
        together = ranks > 1 or traces[0].collectives
        brings_nan = any(trace.integers_as_floats for trace in traces) or any(
            arrays.bytes_have_nan(s.constant, s.host[1]) for trace in traces
            for s in trace.hbm if s.constant is not None)
        return Compiled(key, path, tensors, result, generation, tracer.lnc,
                        ranks if together else None, brings_nan)

    def __call__(self, *args, **kwargs):
        from .trace import is_tracing
        if is_tracing():
            # A kernel that another one calls is a part of it.
            return self.func(*args, **kwargs)
        compiled, arguments = self.compile(args, kwargs)
        result, execution = self._run(compiled, arguments, self.is_checked)
        self.keep([execution])
        return result

    def keep(self, executions, profiles=None):
        """What the device tells of a call; NkiCheckError if its check has found errors. Of a NaN
        it warns.
        """
        self._executions.append(executions)
        if profiles:
            self._profiles.append(profiles)
        for nan in (execution.nan for execution in executions if execution.nan):
            file, line = errors.told_place(nan, self.func)
            warnings.warn_explicit(f"{file}:{line}: {nan}", errors.NkiNanWarning, file, line)
        reports = sum(execution.reports for execution in executions)
        if self.is_checked and reports:
            first = next((e.report for e in executions if e.report), "")
            file, line = errors.told_place(first, self.func)
            raise NkiCheckError(f"{file}:{line}: {self.func.__name__}: the check of the chip has "
                                f"found errors ({reports}; the log has all). The first one: "
                                f"{first}", file, line)


def jit(func=None, *, check=None, platform_target=None, schedule=None, mode="auto", **options):
    """Make a kernel of a function.

    `check` lets the chip look for races and for bytes that nobody wrote. `platform_target` is the
    NeuronCore where NEURON_PLATFORM_TARGET_OVERRIDE names none. `schedule` lets the scheduler
    change the order of instructions, the places of tiles and the queues of transfers, and with
    that the time, but no result; without it NEURON_EMU_NKI_SCHEDULE decides. `mode` is accepted
    for kernels of the Neuron SDK: the arrays say which framework calls, and "simulation" is
    nki.simulate(). A kernel that another one calls may be one of the mode "trace". Options of its
    compiler that change nothing here are accepted, too.
    """
    for name in options:
        if name not in WITHOUT_EFFECT:
            raise TypeError(f"nki.jit: there is no option {name}")
    if mode not in MODES:
        raise NkiError(f"nki.jit: mode is one of {', '.join(MODES)}, not {mode!r}")
    if platform_target is not None:
        target.generation_of(platform_target, "platform_target")
    if func is None:
        return functools.partial(jit, check=check, platform_target=platform_target,
                                 schedule=schedule, mode=mode)
    if not isinstance(func, Kernel):
        return Kernel(func, (), mode == "simulation", check, platform_target,
                      schedule=schedule)
    return func.changed(simulated=func.simulated or mode == "simulation",
                        check=func.check if check is None else check,
                        platform_target=platform_target or func.platform_target,
                        schedule=func.schedule if schedule is None else schedule)


def profiled(kernel, folder):
    """The kernel, whose calls leave a report and a timeline in `folder`.

    Its attribute `profile` is the Profile of the last call.
    """
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel)
    return kernel.changed(folder=folder)


def simulate(kernel, schedule=None):
    """The kernel with the check of the chip, for trn3 where nothing else is said.

    `schedule` is that of nki.jit(): what holds without the scheduler can be tried with it.
    """
    if not isinstance(kernel, Kernel):
        kernel = Kernel(kernel)
    return kernel.changed(simulated=True,
                          schedule=kernel.schedule if schedule is None else schedule)
