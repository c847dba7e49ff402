# SPDX-License-Identifier: MIT
"""The runtime of the process, and what it hands out: memory and loaded models.

A process has at most one runtime. It is made by the first operation that needs it, and lives until
reset() or the end of the process. What it has handed out knows it, and is given back exactly once:
by hand, by reset(), or when Python finds that nothing names it any more.

The child of a fork begins without a runtime: libnrt does, too. Objects of the parent are of no
use there, and the child must not give them back.
"""

import atexit
import ctypes
import dataclasses
import os
import pathlib
import threading
import weakref

from . import libnrt
from .libnrt import LIBNRT, NrtpyError, check

VISIBLE_CORES = "NEURON_RT_VISIBLE_CORES"

# Names of the element types by nrt_dtype_t, and what NumPy calls them: NumPy has no bfloat16 and
# no 8-bit floats, so theirs are bytes without a meaning ("V2", "V1").
DTYPES = {
    0x1: ("uint64", "uint64"),
    0x2: ("int8", "int8"),
    0x3: ("uint8", "uint8"),
    0x4: ("int16", "int16"),
    0x5: ("uint16", "uint16"),
    0x6: ("bfloat16", "V2"),
    0x7: ("float16", "float16"),
    0x8: ("int32", "int32"),
    0x9: ("uint32", "uint32"),
    0xa: ("float32", "float32"),
    0xb: ("float32r", "float32"),
    0xc: ("int64", "int64"),
    0xd: ("float8_e3m4", "V1"),
    0xe: ("float8_e4m3", "V1"),
    0xf: ("float8_e5m2", "V1"),
}


@dataclasses.dataclass(frozen=True)
class TensorMetadata:
    """What a model says of an input or an output: bytes, name of the type, dimensions."""
    size: int
    dtype: str
    shape: list

    def numpy_dtype(self):
        """How NumPy calls the type; bytes without a meaning where it has no name."""
        elements = 1
        for dimension in self.shape:
            elements *= dimension
        return dict(DTYPES.values()).get(self.dtype, f"V{self.size // max(elements, 1)}")


class Resource:
    """Something that libnrt holds for this process, with a name for messages.

    The handle is a place that libnrt writes to, and belongs to the object from the beginning: an
    exception that comes between the call and the next line of Python leaves nothing behind.
    """

    kind = "object"

    def __init__(self, runtime, name):
        self.runtime = runtime
        self.name = name
        self.handle = ctypes.c_void_p()
        runtime.remember(self)

    def pointer(self):
        """The handle for a call; NrtpyError when it is gone."""
        handle = self.handle
        if handle and self.runtime.is_open():
            return handle
        why = "has been freed" if self.runtime.is_open() else "belongs to a runtime that is closed"
        if not self.runtime.is_of_this_process():
            why = "belongs to the process that this one was forked from"
        raise NrtpyError(f"{self.kind} '{self.name}' {why}")

    def release(self):
        """Give it back; False: there was nothing to give back."""
        if not self.runtime.is_of_this_process():
            return False
        with self.runtime.lock:
            handle, self.handle = self.handle, ctypes.c_void_p()
        if not handle:
            return False
        self.give_back(handle)
        return True

    def give_back(self, handle):
        """Tell libnrt."""
        raise NotImplementedError

    def __del__(self):
        # An error in the constructor may have come before the handle.
        if getattr(self, "handle", None):
            self.release()


class NrtTensor(Resource):
    """A piece of a core's memory. Runtime.allocate_tensor() makes it."""

    kind = "tensor"

    def __init__(self, runtime, size, core_id, name):
        super().__init__(runtime, name or "")
        self.size = size
        self.core_id = core_id
        check(LIBNRT.nrt_tensor_allocate(libnrt.PLACEMENT_DEVICE, core_id, size,
                                         libnrt.text(name, "name"), ctypes.byref(self.handle)),
              "Failed to allocate tensor")

    def give_back(self, handle):
        LIBNRT.nrt_tensor_free(ctypes.byref(handle))


class NrtModel(Resource):
    """A program that is loaded onto a core. Runtime.load_model() makes it."""

    kind = "model"

    def __init__(self, runtime, path, core_id, ranks):
        super().__init__(runtime, str(path))
        self.core_id = core_id
        neff = read_neff(path)
        out = ctypes.byref(self.handle)
        if ranks is None:
            status = LIBNRT.nrt_load(neff, len(neff), core_id, -1, out)
        else:
            status = LIBNRT.nrt_load_collectives(neff, len(neff), core_id, -1, *ranks, out)
        check(status, "Failed to load model")

    def give_back(self, handle):
        # In a runtime that is closed there are no models.
        if self.runtime.is_open():
            LIBNRT.nrt_unload(handle)

    def tensor_info(self):
        """({name: TensorMetadata} of the inputs, the same of the outputs)"""
        array = ctypes.POINTER(libnrt.TensorInfoArray)()
        check(LIBNRT.nrt_get_model_tensor_info(self.pointer(), ctypes.byref(array)),
              "Failed to get the tensors of the model")
        inputs, outputs = {}, {}
        try:
            for info in array.contents.elements():
                found = inputs if info.usage == libnrt.USAGE_INPUT else outputs
                dtype = DTYPES.get(info.dtype, ("unknown", None))[0]
                found[info.name.decode(errors="replace")] = TensorMetadata(
                    info.size, dtype, info.shape[:info.ndim])
        finally:
            LIBNRT.nrt_free_model_tensor_info(array)
        return inputs, outputs


class TensorSet(Resource):
    """Tensors by name, for executions."""

    kind = "set of tensors"

    def __init__(self, runtime, tensors):
        super().__init__(runtime, ", ".join(tensors))
        check(LIBNRT.nrt_allocate_tensor_set(ctypes.byref(self.handle)),
              "Failed to allocate a set of tensors")
        for name, tensor in tensors.items():
            check(LIBNRT.nrt_add_tensor_to_tensor_set(self.handle, libnrt.text(name, "name"),
                                                      tensor.pointer()),
                  "Failed to add a tensor to a set")

    def give_back(self, handle):
        LIBNRT.nrt_destroy_tensor_set(ctypes.byref(handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


def read_neff(path):
    """The bytes of a file. A file that cannot be read is an error of loading."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise libnrt.failure(libnrt.NRT_FAILURE, f"Failed to load model: {path}: "
                             f"{error.strerror}") from error


def of_kind(value, kind):
    """The NrtTensor or NrtModel that `value` is or holds."""
    for attribute in ("tensor_ref", "model_ref"):
        value = getattr(value, attribute, value)
    if not isinstance(value, kind):
        raise TypeError(f"expected a {kind.kind} of nrtpy, not {type(value).__name__}")
    return value


class Runtime:
    """libnrt, initialised. get_nrtpy_singleton() gives the one of the process."""

    def __init__(self):
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.objects = weakref.WeakSet()
        self.open = False
        check(LIBNRT.nrt_init(libnrt.FRAMEWORK_NO_FW, b"", b""), "Failed to initialize the runtime")
        self.open = True

    def is_of_this_process(self):
        """False in the child of a fork."""
        return self.pid == os.getpid()

    def is_open(self):
        """Can it be used?"""
        return self.open and self.is_of_this_process()

    def remember(self, resource):
        """What must be given back before the runtime is closed."""
        if not self.is_open():
            raise NrtpyError("the runtime is closed")
        with self.lock:
            self.objects.add(resource)

    def close(self):
        """Give everything back. Calls under way in other threads end with NRT_CLOSED."""
        if not self.is_of_this_process():
            return
        with self.lock:
            if not self.open:
                return
            # From here on nobody gets a handle. Models go with nrt_close(), which does not wait
            # for what they run.
            self.open = False
            left = list(self.objects)
        LIBNRT.nrt_close()
        for resource in left:
            resource.release()

    def allocate_tensor(self, size, core_id=0, name=None):
        """Memory of a core, as an NrtTensor."""
        return NrtTensor(self, libnrt.c_size(size, "size"), libnrt.c_int(core_id, "core_id"), name)

    def free_tensor(self, tensor):
        """Free the memory of an NrtpyTensor or NrtTensor now."""
        if not of_kind(tensor, NrtTensor).release():
            raise NrtpyError(f"tensor '{tensor.name}' has been freed already")

    def tensor_write(self, tensor, data, offset=0):
        """Copy what has the buffer protocol (bytes, bytearray, an array) to a tensor."""
        view = memoryview(data)
        if not view.c_contiguous:
            raise ValueError("the data must be contiguous")
        flat = view.cast("B") if view.nbytes else memoryview(b"")
        # ctypes takes bytes, and buffers that may be written.
        if isinstance(data, bytes):
            source = data
        elif flat.readonly:
            source = bytes(flat)
        else:
            source = (ctypes.c_char * len(flat)).from_buffer(flat)
        self.write_memory(tensor, ctypes.cast(source, ctypes.c_void_p), len(flat), offset)

    def tensor_read(self, tensor, offset=0, size=None):
        """The bytes of a tensor."""
        tensor = of_kind(tensor, NrtTensor)
        wanted = tensor.size - offset if size is None else size
        buffer = ctypes.create_string_buffer(libnrt.c_size(wanted, "size"))
        self.read_memory(tensor, buffer, len(buffer), offset)
        return buffer.raw

    def write_memory(self, tensor, address, size, offset=0):
        """Copy memory of this process to a tensor."""
        check(LIBNRT.nrt_tensor_write(of_kind(tensor, NrtTensor).pointer(), address,
                                      libnrt.c_size(offset, "offset"), size),
              "Failed to write tensor")

    def read_memory(self, tensor, address, size, offset=0):
        """Copy a tensor to memory of this process."""
        check(LIBNRT.nrt_tensor_read(of_kind(tensor, NrtTensor).pointer(), address,
                                     libnrt.c_size(offset, "offset"), size),
              "Failed to read tensor")

    def load_model(self, path, core_id=0, ranks=None):
        """Load a NEFF, as an NrtModel; `ranks` is (rank, number of ranks) or None."""
        if ranks is not None:
            ranks = [libnrt.c_uint(number, "rank_id and world_size") for number in ranks]
        return NrtModel(self, path, libnrt.c_int(core_id, "core_id"), ranks)

    def unload_model(self, model):
        """Free an NrtpyModel or NrtModel now."""
        if not of_kind(model, NrtModel).release():
            raise NrtpyError(f"model '{model.name}' has been unloaded already")

    def tensor_set(self, tensors):
        """A set of NrtTensors or NrtpyTensors, by name."""
        return TensorSet(self, {name: of_kind(tensor, NrtTensor)
                                for name, tensor in tensors.items()})

    def execute(self, model, inputs, outputs):
        """Run a model with two sets of tensors and wait for its end."""
        check(LIBNRT.nrt_execute(of_kind(model, NrtModel).pointer(), inputs.pointer(),
                                 outputs.pointer()), "Failed to execute model")


class Singleton:
    """The one runtime, if there is one.

    @lock protects the rest: that one thread makes the runtime, and that it is not closed
    meanwhile.
    """

    def __init__(self):
        self.begin()

    def begin(self):
        """As after the start of the process; the child of a fork begins anew."""
        self.lock = threading.RLock()
        self.runtime = None
        self.configured = False
        self.cores_before = None

    def get(self):
        """The runtime, which is made if there is none."""
        runtime = self.runtime
        if runtime is not None:
            return runtime
        with self.lock:
            if self.runtime is None:
                self.runtime = Runtime()
            return self.runtime

    def configure(self, cores):
        """Choose the cores of the next runtime: a list, or None to change nothing."""
        with self.lock:
            if self.runtime is not None:
                raise NrtpyError("the runtime is active already; call nrtpy.reset() before "
                                 "nrtpy.configure()")
            if cores is None:
                return
            if not self.configured:
                self.configured = True
                self.cores_before = os.environ.get(VISIBLE_CORES)
            os.environ[VISIBLE_CORES] = ",".join(map(str, cores))

    def reset(self):
        """Close the runtime and take back what configure() has set."""
        with self.lock:
            if self.runtime is None:
                return
            runtime, self.runtime = self.runtime, None
            runtime.close()
            if self.configured and self.cores_before is None:
                os.environ.pop(VISIBLE_CORES, None)
            elif self.configured:
                os.environ[VISIBLE_CORES] = self.cores_before
            self.configured = False


SINGLETON = Singleton()
os.register_at_fork(after_in_child=SINGLETON.begin)
# Before Python takes its modules apart.
atexit.register(SINGLETON.reset)


def get_nrtpy_singleton():
    """The runtime of the process; the first call initialises libnrt."""
    return SINGLETON.get()


def core_list(visible_cores):
    """The numbers of `visible_cores` as a list; None when there are none to set."""
    if visible_cores is None:
        return None
    if isinstance(visible_cores, int):
        raise TypeError(f"visible_cores must be an iterable of core IDs such as "
                        f"[{visible_cores}], not an int")
    cores = []
    for core in visible_cores:
        number = libnrt.c_int(core, "a core ID of visible_cores")
        if number < 0:
            raise ValueError(f"core IDs must not be negative, but visible_cores has {number}")
        cores.append(number)
    return cores or None


def configure(visible_cores=None):
    """Choose the cores that the runtime will own; it must not be active yet.

    This only sets NEURON_RT_VISIBLE_CORES; None, and an empty list, leave it as it is. The first
    operation initialises the runtime.
    """
    SINGLETON.configure(core_list(visible_cores))


def reset():
    """Close the runtime, if it is active. All tensors and models become invalid."""
    SINGLETON.reset()
