# SPDX-License-Identifier: MIT
"""libnrt.so as ctypes sees it, and the exceptions that its statuses become.

Only functions of the public headers are used. ctypes gives up Python's lock while one of them
runs, so other threads go on meanwhile.
"""

import ctypes
import operator
import pathlib

SONAME = "libnrt.so.1"
# From PREFIX/lib/neuron-emu/python/nrtpy/libnrt.py.
INSTALLED = pathlib.Path(__file__).resolve().parents[3] / SONAME

# Values of the public headers.
NRT_SUCCESS = 0
NRT_FAILURE = 1
NRT_INVALID = 2
FRAMEWORK_NO_FW = 1
PLACEMENT_DEVICE = 0
USAGE_INPUT = 0
TENSOR_NAME_MAX = 256

class NrtpyError(RuntimeError):
    """An object or the runtime is not in a state for this; nrtpy itself has noticed."""


class NrtError(RuntimeError):
    """A call of libnrt failed. `status` is the number of its NRT_STATUS."""

    def __init__(self, message, status=NRT_FAILURE):
        # Both are arguments, so that a copy and a pickle of the error have them.
        super().__init__(message, status)
        self.status = status

    def __str__(self):
        return self.args[0]


class TensorInfo(ctypes.Structure):
    """nrt_tensor_info_t"""
    _fields_ = [("name", ctypes.c_char * TENSOR_NAME_MAX),
                ("usage", ctypes.c_int),
                ("size", ctypes.c_size_t),
                ("dtype", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_uint32)),
                ("ndim", ctypes.c_uint32)]


class TensorInfoArray(ctypes.Structure):
    """nrt_tensor_info_array_t; the elements follow."""
    _fields_ = [("tensor_count", ctypes.c_uint64)]

    def elements(self):
        """The elements, which live as long as the array."""
        begin = ctypes.addressof(self) + ctypes.sizeof(self)
        return (TensorInfo * self.tensor_count).from_address(begin)


HANDLE = ctypes.c_void_p
HANDLE_OUT = ctypes.POINTER(ctypes.c_void_p)
STATUS = ctypes.c_int
TEXT = ctypes.c_char_p
SIZE = ctypes.c_size_t

# Result and parameters of each function.
FUNCTIONS = {
    "nrt_get_status_as_str": (TEXT, [STATUS]),
    "nrt_init": (STATUS, [ctypes.c_int, TEXT, TEXT]),
    "nrt_close": (None, []),
    "nrt_load": (STATUS, [TEXT, SIZE, ctypes.c_int32, ctypes.c_int32, HANDLE_OUT]),
    "nrt_load_collectives": (STATUS, [TEXT, SIZE, ctypes.c_int32, ctypes.c_int32,
                                      ctypes.c_uint32, ctypes.c_uint32, HANDLE_OUT]),
    "nrt_unload": (STATUS, [HANDLE]),
    "nrt_get_model_tensor_info": (STATUS,
                                  [HANDLE, ctypes.POINTER(ctypes.POINTER(TensorInfoArray))]),
    "nrt_free_model_tensor_info": (STATUS, [ctypes.POINTER(TensorInfoArray)]),
    "nrt_allocate_tensor_set": (STATUS, [HANDLE_OUT]),
    "nrt_destroy_tensor_set": (None, [HANDLE_OUT]),
    "nrt_add_tensor_to_tensor_set": (STATUS, [HANDLE, TEXT, HANDLE]),
    "nrt_execute": (STATUS, [HANDLE, HANDLE, HANDLE]),
    "nrt_tensor_allocate": (STATUS, [ctypes.c_int, ctypes.c_int, SIZE, TEXT, HANDLE_OUT]),
    "nrt_tensor_free": (None, [HANDLE_OUT]),
    "nrt_tensor_read": (STATUS, [HANDLE, ctypes.c_void_p, SIZE, SIZE]),
    "nrt_tensor_write": (STATUS, [HANDLE, ctypes.c_void_p, SIZE, SIZE]),
    "nrt_profile_start": (STATUS, [HANDLE, TEXT]),
    "nrt_profile_stop": (STATUS, [TEXT]),
    "nrt_sys_trace_config_allocate": (STATUS, [HANDLE_OUT]),
    "nrt_sys_trace_config_free": (None, [HANDLE]),
    "nrt_sys_trace_config_set_capture_enabled_for_event_type": (STATUS,
                                                                [HANDLE, TEXT, ctypes.c_bool]),
    "nrt_sys_trace_get_event_types": (STATUS, [ctypes.POINTER(ctypes.POINTER(TEXT)),
                                               ctypes.POINTER(SIZE)]),
    "nrt_sys_trace_free_event_types": (None, [ctypes.POINTER(TEXT), SIZE]),
    "nrt_sys_trace_start": (STATUS, [HANDLE]),
    "nrt_sys_trace_stop": (STATUS, []),
    "nrt_sys_trace_fetch_options_allocate": (STATUS, [HANDLE_OUT]),
    "nrt_sys_trace_fetch_options_free": (None, [HANDLE]),
    "nrt_sys_trace_fetch_options_set_nc_idx": (None, [HANDLE, ctypes.c_uint64]),
    "nrt_sys_trace_fetch_events": (STATUS, [HANDLE_OUT, ctypes.POINTER(SIZE), HANDLE]),
    "nrt_sys_trace_buffer_free": (None, [ctypes.c_void_p]),
}


def find():
    """The library: what the loader finds, else the one that was installed with this package."""
    try:
        return ctypes.CDLL(SONAME)
    except OSError as error:
        if not INSTALLED.exists():
            raise ImportError(f"{error}; set LD_LIBRARY_PATH to the folder that holds "
                              f"{SONAME}") from error
    return ctypes.CDLL(str(INSTALLED))


def load():
    """The library with the types of its functions."""
    library = find()
    for name, (result, parameters) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise ImportError(f"{SONAME} is too old for nrtpy: it has no {name}()") from error
        function.restype = result
        function.argtypes = parameters
    return library


LIBNRT = load()


def failure(status, what):
    """The exception for a status: `what` failed."""
    name = LIBNRT.nrt_get_status_as_str(status).decode()
    return NrtError(f"NRT Error {name}({status}): {what}", status)


def check(status, what):
    """Raise NrtError unless the status is success."""
    if status != NRT_SUCCESS:
        raise failure(status, what)


def text(string, what):
    """A string for C, or None; `what` names it in an error."""
    if string is None:
        return None
    if not isinstance(string, str):
        raise TypeError(f"{what} must be a str, not {type(string).__name__}")
    if "\0" in string:
        raise ValueError(f"{what} must not contain a zero byte")
    return string.encode()


def whole(number, what, least, most):
    """An integer that fits into a type of C: ctypes would cut it silently."""
    try:
        value = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} must be an int, not {type(number).__name__}") from None
    if not least <= value <= most:
        raise ValueError(f"{what} must be between {least} and {most}, not {value}")
    return value


def c_int(number, what):
    """An integer that fits into an int."""
    return whole(number, what, -2**31, 2**31 - 1)


def c_uint(number, what):
    """An integer that fits into an unsigned int."""
    return whole(number, what, 0, 2**32 - 1)


def c_size(number, what):
    """An integer that fits into a size_t, and is no negative one in disguise."""
    return whole(number, what, 0, 2**63 - 1)
