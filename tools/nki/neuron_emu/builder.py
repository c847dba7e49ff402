# SPDX-License-Identifier: MIT
"""libneuron-builder.so as ctypes sees it: numbers by name, and programs from records."""

import ctypes
import functools
import os
import pathlib

from .errors import NkiError

__neuron_emu__ = True

SONAME = "libneuron-builder.so.0"
# From PREFIX/lib/neuron-emu/python/neuron_emu/builder.py.
INSTALLED = pathlib.Path(__file__).resolve().parents[3] / SONAME

PROGRAM = ctypes.c_void_p
TEXT = ctypes.c_char_p
UINT = ctypes.c_uint
SHAPE = ctypes.POINTER(ctypes.c_uint32)



class Side(ctypes.Structure):
    """struct nb_side"""
    _fields_ = [("var", ctypes.c_int), ("offset", ctypes.c_uint64), ("ndim", UINT),
                ("size", ctypes.c_uint32 * 4), ("step", ctypes.c_int64 * 4)]


class Collective(ctypes.Structure):
    """struct nb_collective"""
    _fields_ = [("op", TEXT), ("reduce", TEXT), ("dtype", ctypes.c_int), ("input", ctypes.c_int),
                ("output", ctypes.c_int), ("inputs", ctypes.POINTER(Side)),
                ("outputs", ctypes.POINTER(Side)), ("nr_parts", UINT), ("ranks", SHAPE),
                ("group_size", UINT), ("nr_groups", UINT), ("pairs", SHAPE), ("nr_pairs", UINT),
                ("root", UINT),
                ("priority", UINT), ("stream", UINT), ("semaphore", ctypes.c_int),
                ("metadata", ctypes.c_int), ("recv_counts_known", ctypes.c_bool),
                ("has_rdispls", ctypes.c_bool), ("channels", UINT)]


class Schedule(ctypes.Structure):
    """struct nb_schedule_options"""
    _fields_ = [("keep_order", ctypes.c_uint8), ("keep_queues", ctypes.c_uint8),
                ("keep_tiles", ctypes.c_uint8), ("keep_engines", ctypes.c_uint8),
                ("queues", ctypes.c_uint32)]


FUNCTIONS = {
    "nb_new": (PROGRAM, [TEXT]),
    "nb_free": (None, [PROGRAM]),
    "nb_error": (TEXT, [PROGRAM]),
    "nb_second": (PROGRAM, [PROGRAM]),
    "nb_auto": (None, [PROGRAM]),
    "nb_generation": (None, [PROGRAM, UINT]),
    "nb_input": (ctypes.c_int, [PROGRAM, TEXT, ctypes.c_int, UINT, SHAPE]),
    "nb_output": (ctypes.c_int, [PROGRAM, TEXT, ctypes.c_int, UINT, SHAPE]),
    "nb_tmp": (ctypes.c_int, [PROGRAM, TEXT, ctypes.c_uint64]),
    "nb_virtual": (ctypes.c_int, [PROGRAM, TEXT, ctypes.c_uint64, ctypes.c_uint64]),
    "nb_print": (ctypes.c_int, [PROGRAM, TEXT, TEXT, ctypes.c_int, UINT, SHAPE]),
    "nb_file": (ctypes.c_int, [PROGRAM, TEXT, ctypes.c_void_p, ctypes.c_size_t]),
    "nb_collective": (ctypes.c_int, [PROGRAM, TEXT, ctypes.POINTER(Collective)]),
    "nb_schedule": (ctypes.c_int, [PROGRAM, ctypes.POINTER(Schedule)]),
    "nb_sbuf_offset": (ctypes.c_uint64, [UINT, ctypes.c_uint64]),
    "nb_write_fd": (ctypes.c_int, [PROGRAM, ctypes.c_int]),
    "nb_flat_value": (ctypes.c_int, [TEXT, TEXT]),
    "nb_flat_run": (ctypes.c_size_t, [PROGRAM, ctypes.c_void_p, ctypes.c_size_t, UINT,
                                      ctypes.POINTER(TEXT), UINT]),
}


def find():
    """The library: that of NEURON_EMU_BUILDER, what the loader finds, or what is installed here."""
    told = os.environ.get("NEURON_EMU_BUILDER")
    try:
        return ctypes.CDLL(told or SONAME)
    except OSError as error:
        if told or not INSTALLED.exists():
            raise ImportError(f"{error}; set LD_LIBRARY_PATH to the folder that holds "
                              f"{SONAME}") from error
    return ctypes.CDLL(str(INSTALLED))


def load():
    """The library with the types of its functions."""
    library = find()
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = parameters
    return library


LIBRARY = load()


@functools.lru_cache(maxsize=None)
def value(kind, name):
    """The number of a function, an operator, a type, an engine, a flag."""
    number = LIBRARY.nb_flat_value(kind.encode(), name.encode())
    if number < 0:
        raise NkiError(f"the builder library has no {kind} {name!r}: it is older than this package")
    return number


# Bytes from a partition of SBUF to the next one, as transfers see it.
PARTITION = LIBRARY.nb_sbuf_offset(1, 0)


class BuildError(NkiError):
    """The builder has refused a record. `done`: bytes of the records before it."""

    def __init__(self, text, done=0, second=False):
        super().__init__(text)
        self.done = done
        self.second = second


class Program:
    """A program of the builder, freed with the object."""

    def __init__(self, name, generation):
        self.pointer = LIBRARY.nb_new(name.encode())
        if not self.pointer:
            raise MemoryError("no memory for a program")
        self.second = None
        LIBRARY.nb_auto(self.pointer)
        LIBRARY.nb_generation(self.pointer, generation)

    def __del__(self):
        if getattr(self, "pointer", None):
            LIBRARY.nb_free(self.pointer)

    def of_core(self, core):
        """The program of a physical core."""
        if core == 0:
            return self.pointer
        if self.second is None:
            self.second = LIBRARY.nb_second(self.pointer)
            LIBRARY.nb_auto(self.second)
        return self.second

    def check(self, done=0):
        """Raise the builder's error if there is one."""
        error = LIBRARY.nb_error(self.pointer)
        second = False
        if not error and self.second:
            error = LIBRARY.nb_error(self.second)
            second = True
        if error:
            raise BuildError(error.decode(errors="replace"), done, second)

    def shaped(self, function, core, name, dtype, shape, *extra):
        """nb_input() and its kind: shapes of more than 8 dimensions lose the outer ones."""
        if len(shape) > 8:
            rest = 1
            for n in shape[7:]:
                rest *= n
            shape = tuple(shape[:7]) + (rest,)
        array = (ctypes.c_uint32 * len(shape))(*shape)
        return getattr(LIBRARY, function)(self.of_core(core), name.encode(), *extra, dtype,
                                          len(shape), array)

    def collective(self, name, asked):
        """A collective that a record starts; its tensors are variables in the order of slots."""
        nr_parts = len(asked.srcs) if len(asked.srcs) > 1 else 0
        inputs, outputs = (
            (Side * nr_parts)(*(Side(var=slot + 1, ndim=1, size=(size,), step=(1,))
                                for slot, size in some[:nr_parts]))
            for some in (asked.srcs, asked.dsts))
        ranks = [rank for group in asked.groups for rank in group]
        pairs = [place for pair in asked.pairs for place in pair]
        LIBRARY.nb_collective(self.pointer, name.encode(), ctypes.byref(Collective(
            op=asked.op.encode(), reduce=asked.reduce.encode() or None, dtype=asked.dtype,
            input=asked.srcs[0][0] + 1, output=asked.dsts[0][0] + 1, inputs=inputs,
            outputs=outputs, nr_parts=nr_parts,
            ranks=(ctypes.c_uint32 * len(ranks))(*ranks), group_size=len(asked.groups[0]),
            nr_groups=len(asked.groups), pairs=(ctypes.c_uint32 * len(pairs))(*pairs),
            nr_pairs=len(asked.pairs), priority=asked.priority, semaphore=-1,
            metadata=asked.metadata + 1, recv_counts_known=asked.recv_counts_known,
            has_rdispls=asked.has_rdispls)))
        self.check()

    def run(self, core, records, tiles, files):
        """Carry out records."""
        names = (TEXT * len(files))(*(name.encode() for name in files))
        # A zero-terminated copy would cost as much as the records: the bytes object is its buffer.
        done = LIBRARY.nb_flat_run(self.of_core(core), records, len(records), tiles, names,
                                   len(files))
        self.check(done)

    def schedule(self, core, keep_order):
        """Let the program of a core take less time; its records are over."""
        LIBRARY.nb_schedule(self.of_core(core), ctypes.byref(Schedule(keep_order=keep_order)))
        self.check()

    def write(self, file):
        """The NEFF to the descriptor of an empty file."""
        error = LIBRARY.nb_write_fd(self.pointer, file)
        if error > 0:
            raise OSError(error, os.strerror(error))
        if error:
            self.check()
            raise BuildError("nb_write_fd() failed")
