# SPDX-License-Identifier: MIT
"""Programs on the chip: libnrt, by default with chips in this process."""

import atexit
import collections
import contextlib
import ctypes
import os
import pathlib
import sys
import threading

import numpy as np

from . import dtypes
from .errors import NkiError
from .target import INSTANCES

__neuron_emu__ = True

# In the source tree nrtpy is a folder of libnrt; installed, it is beside this package.
_TREE = pathlib.Path(__file__).resolve().parents[3] / "libnrt/python"
KEEP = 32
# Bytes of the longest text of nrt_emu_get_last_error()
ERROR_SIZE = 1536
# NRT_EXEC_COMPLETED_WITH_NUM_ERR
NUMERICAL_ERROR = 1003
# What asks libnrt for such errors; the first one is set for the check where neither is.
NUMBERS = ("NEURON_FAIL_ON_NAN", "NEURON_RT_NUMERICAL_ERRORS_VERBOSITY")
# NRT_EMU_INEXACT of an execution
INEXACT = 1
LNC = ("NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE")
# Who uses a program holds it: another mode closes the runtime under all programs.
lock = threading.RLock()
_loaded = collections.OrderedDict()
# Arrays of the last large outputs. Memory of one that the caller has let go of is used again: to
# get new pages from the system takes longer than to fill them.
_outputs = []
KEPT_OUTPUTS = 4
KEPT_BYTES = range(1 << 20, (64 << 20) + 1)
# What getrefcount() says of what only a list has.
_ALONE = (lambda some: sys.getrefcount(some[0]))([object()])
_mode = None
_chips = 0


class Execution(ctypes.Structure):
    """nrt_emu_execution_t"""
    _fields_ = [("start_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64),
                ("wall_ns", ctypes.c_uint64), ("instructions", ctypes.c_uint64),
                ("dma_bytes", ctypes.c_uint64), ("flags", ctypes.c_uint32),
                ("reports", ctypes.c_uint32)]

    # What libnrt says of the first NaN, and of the first error that the check has found
    nan = None
    report = None

    @property
    def device_ns(self):
        """Device time from start to end."""
        return self.end_ns - self.start_ns

    @property
    def is_exact(self):
        """Is that time the same on every run and every host?"""
        return not self.flags & INEXACT


def nrtpy():
    """The module, wherever it is."""
    try:
        import nrtpy as module
    except ImportError:
        if not (_TREE / "nrtpy").is_dir():
            raise
        sys.path.append(str(_TREE))
        import nrtpy as module
    return module


def lnc_of_environment():
    """What the variables of libnrt say, or None."""
    for name in LNC:
        text = os.environ.get(name)
        if text and text not in ("1", "2"):
            raise NkiError(f"{name}={text}: it is the number of physical cores of a logical one, "
                           "1 or 2")
        if text:
            return int(text)
    return None


@contextlib.contextmanager
def _environment(changes):
    """Variables for the time of nrt_init(): it reads them, and nobody else should see them."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _backend(check_or_numbers):
    """What the user has chosen, else a device where there is one; embedded where the chip is to
    tell what a device does not.
    """
    told = os.environ.get("NEURON_RT_BACKEND") or "auto"
    if not check_or_numbers:
        return told
    if told == "drm":
        raise NkiError("the check of the chip needs chips in this process: unset "
                       "NEURON_RT_BACKEND=drm, or run without the check")
    return "embedded"


def runtime(generation, lnc, check, chips=1, numbers=False):
    """The runtime for a kernel; one with another mode, or too few chips, is closed first."""
    global _mode, _chips
    module = nrtpy()
    told = lnc_of_environment()
    if told is not None and told != lnc:
        raise NkiError(f"the kernel is launched with LNC {lnc}, but {' or '.join(LNC)} is {told}: "
                       f"launch it as kernel[{told}](...), or unset the variable")
    backend = _backend(check or numbers)
    mode = (os.getpid(), backend, generation, lnc, check, numbers)
    if _mode != mode or chips > _chips:
        close()
        changes = {"NEURON_RT_BACKEND": backend, LNC[0]: str(lnc), "NEURON_EMU_QUIET": "1"}
        if backend != "drm":
            instance = os.environ.get("NEURON_EMU_INSTANCE", "")
            if not instance.startswith(INSTANCES[generation]):
                chip = INSTANCES[generation]
                changes["NEURON_EMU_INSTANCE"] = f"{chip}:{chips}" if chips > 1 else chip
        if check:
            changes["NEURON_EMU_CHECK"] = "memory"
        if numbers:
            changes[NUMBERS[0]] = "TRUE"
        with _environment(changes):
            module.get_nrtpy_singleton()
        _mode, _chips = mode, chips
    return module.get_nrtpy_singleton()


def close():
    """Unload everything and close the runtime."""
    global _mode
    with lock:
        _loaded.clear()
        _outputs.clear()
        if _mode is not None:
            nrtpy().reset()
        _mode = None


atexit.register(close)


def _ended_by_interrupt(execute):
    """What `execute` returns. It runs in a thread while this one waits, because a
    KeyboardInterrupt is not raised during a call of a library; then the runtime is closed, which
    ends what its cores do. Only the main thread is interrupted, so any other one executes by
    itself.
    """
    failed, results = [], []

    def run():
        try:
            results.append(execute())
        except BaseException as error:
            failed.append(error)

    if threading.current_thread() is not threading.main_thread():
        return execute()
    thread = threading.Thread(target=run, name="execution", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        close()
        thread.join()
        raise
    if failed:
        raise failed[0]
    return results[0]


def _output(shape, dtype):
    """An array for an output, which nobody has; the caller holds `lock`."""
    for i in range(len(_outputs)):
        if sys.getrefcount(_outputs[i]) == _ALONE and _outputs[i].shape == shape and \
                _outputs[i].dtype == dtype and _outputs[i].flags.carray:
            return _outputs[i]
    array = np.empty(shape, dtype)
    if array.nbytes in KEPT_BYTES:
        _outputs.append(array)
        del _outputs[:-KEPT_OUTPUTS]
    return array


class Loaded:
    """A NEFF on a core, with tensors for its inputs and outputs.

    `ranks` is (rank, number of ranks) of a NEFF that several ranks run together, or None.
    `numbers`: an execution that made a NaN tells of it, and is no error.
    """

    def __init__(self, neff, tensors, core=0, ranks=None, numbers=False):
        module = nrtpy()
        self.numbers = numbers
        self.runtime = module.get_nrtpy_singleton()
        self.model = self.runtime.load_model(neff, core, ranks)
        self.tensors = {}
        for name, shape, dtype, _ in tensors:
            self.tensors[name] = module.NrtpyTensor.allocate(shape, f"V{dtypes.SIZE[dtype]}", name,
                                                             core)
        roles = {name: role for name, _, _, role in tensors}
        self.inputs = self.runtime.tensor_set(
            {n: t.tensor_ref for n, t in self.tensors.items() if roles[n] == "input"})
        self.outputs = self.runtime.tensor_set(
            {n: t.tensor_ref for n, t in self.tensors.items() if roles[n] != "input"})

    def write(self, name, array):
        """The contents of an input."""
        tensor = self.tensors[name]
        array = np.ascontiguousarray(array)
        self.runtime.write_memory(tensor.tensor_ref, array.ctypes.data, array.nbytes)

    def read(self, name, dtype):
        """The contents of an output."""
        tensor = self.tensors[name]
        array = _output(tensor.shape, dtypes.numpy_dtype(dtype))
        self.runtime.read_memory(tensor.tensor_ref, array.ctypes.data, array.nbytes)
        return array

    def execute(self, trace=None):
        """Run it, and write what it does to the file `trace`; returns an Execution."""
        saved = contextlib.nullcontext()
        if trace is not None:
            saved = sys.modules["nrtpy.model"].saved_trace(self.model, trace)
        try:
            with saved:
                made_nan = _ended_by_interrupt(self._execute)
        except sys.modules["nrtpy.libnrt"].NrtError as error:
            for line in self._told():
                error.add_note(line)
            raise
        execution = self.last()
        told = self._told() if made_nan or execution.reports else []
        execution.nan = told.pop(0) if made_nan and told else None
        execution.report = told[0] if told else None
        return execution

    def _execute(self):
        """Did it make a NaN? It has ended well, and its outputs are there."""
        try:
            self.runtime.execute(self.model, self.inputs, self.outputs)
        except sys.modules["nrtpy.libnrt"].NrtError as error:
            if error.status != NUMERICAL_ERROR or not self.numbers:
                raise
            return True
        return False

    def _told(self):
        """What libnrt says of the last execution, in lines: why it failed, and the first error
        that the check has found. The status is all that nrtpy's exception has.
        """
        text = ctypes.create_string_buffer(ERROR_SIZE)
        library = sys.modules["nrtpy.libnrt"].LIBNRT
        # Another thread may have closed the runtime, and so ended the execution.
        with contextlib.suppress(nrtpy().NrtpyError):
            if library.nrt_emu_get_last_error(self.model.pointer(), text,
                                              ctypes.c_size_t(ERROR_SIZE)) == 0:
                return text.value.decode(errors="replace").splitlines()
        return []

    def unload(self):
        """It leaves the core, also while somebody still refers to it."""
        if self.runtime.is_open():
            self.runtime.unload_model(self.model)

    def last(self):
        """What the device tells of the last execution."""
        library = sys.modules["nrtpy.libnrt"].LIBNRT
        execution = Execution()
        library.nrt_emu_get_last_execution(self.model.pointer(), ctypes.byref(execution),
                                           ctypes.c_size_t(ctypes.sizeof(execution)))
        return execution


def loaded(key, neff, tensors, generation, lnc, check):
    """A program on the chip: the last ones that were used stay there.

    The caller holds `lock` until it has read the results. With the check the chip is a new one:
    what an earlier program has written there is not written for this one.
    """
    return gang([(key, neff, tensors)], generation, lnc, check, 1, [0], None)[0]


def _make_way(wanted):
    """Unload programs whose ranks are other cores. libnrt knows ranks by their numbers: a core that
    is rank 0 of 4 in two ways waits with the wrong others.
    """
    for mode in [mode for mode in _loaded if mode[-1] is not None and mode[-2:] != wanted[-2:]]:
        for program in _loaded.pop(mode):
            program.unload()


def tells_numbers():
    """Does the environment say whether a NaN is an error?"""
    return any(os.environ.get(name) for name in NUMBERS)


def gang(programs, generation, lnc, check, chips, cores, ranks, numbers=False):
    """Programs (key, NEFF, tensors) on cores of several chips, as loaded() has one of them.

    `ranks`: how many run together, each program as one of them; None: it is by itself.
    `numbers`: look for NaNs, unless the environment says something of them; as the check, only on
    chips in this process.
    """
    numbers = numbers and not tells_numbers()
    with lock:
        if check:
            close()
        runtime(generation, lnc, check, chips, numbers)
        mode = (tuple(key for key, _, _ in programs), generation, lnc, check, os.getpid(),
                numbers, tuple(cores), ranks)
        if ranks is not None:
            _make_way(mode)
        found = _loaded.pop(mode, None)
        if found is None:
            found = [Loaded(neff, tensors, core, None if ranks is None else (rank, ranks), numbers)
                     for rank, ((_, neff, tensors), core) in enumerate(zip(programs, cores))]
        _loaded[mode] = found
        while len(_loaded) > KEEP:
            _loaded.popitem(last=False)
        return found


def forget(programs):
    """Programs whose execution has failed are loaded anew the next time."""
    with lock:
        for mode in [mode for mode, found in _loaded.items() if found is programs]:
            del _loaded[mode]
