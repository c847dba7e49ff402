# SPDX-License-Identifier: MIT
"""Functions of nki.language that make tensors, move them, loop, and ask for the grid."""

import os

import numpy as np

from .. import dtypes, isa, target
from ..builder import value
from ..errors import refuse
from ..isa.constants import hbm_constant, identity
from ..tensor import MemoryRegion, NkiTensor, VirtualRegister, region
from ..trace import EVERY_ENGINE, current

__neuron_emu__ = True
__all__ = [
    "affine_range", "assign", "dynamic_range", "empty_like", "fori_loop", "full", "hbm", "is_hbm",
    "is_on_chip", "is_psum", "is_sbuf", "load", "ndarray", "no_reorder", "num_programs", "ones",
    "private_hbm", "program_id", "program_ndim", "psum", "sbuf", "sequential_range",
    "shared_constant", "shared_hbm", "shared_identity_matrix", "static_range", "store", "tile_size",
    "while_loop", "zeros", "zeros_like"
]

_BEGIN, _END = value("function", "begin_loop"), value("function", "end_loop")
_ADD, _MULTIPLY = value("alu", "add"), value("alu", "multiply")

sbuf, psum = MemoryRegion.sbuf, MemoryRegion.psum
hbm = private_hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm


def is_hbm(buffer):
    """Does it lie in HBM?"""
    return region(buffer) not in (sbuf, psum)


def is_on_chip(buffer):
    """Does it lie in SBUF or PSUM?"""
    return region(buffer) in (sbuf, psum)


def is_psum(buffer):
    """Does it lie in PSUM?"""
    return region(buffer) is psum


def is_sbuf(buffer):
    """Does it lie in SBUF?"""
    return region(buffer) is sbuf


def ndarray(shape, dtype, buffer=sbuf, name="", address=None):
    """A new tensor, whose contents are undefined."""
    return current().ndarray(shape, dtype, buffer, name, address)


def full(shape, fill_value, dtype, buffer=sbuf, name=""):
    """A new tensor of one number. In HBM it is a constant."""
    tensor = ndarray(shape, dtype, buffer, name)
    if tensor.on_chip:
        isa.memset(tensor, fill_value)
        return tensor
    row = tensor.shape[-1]
    line = hbm_constant(dtypes.from_float32(np.full((1, row), fill_value), tensor.dtype),
                        tensor.dtype)
    flat = tensor.reshape((tensor.size // row, row))
    isa.dma_copy(flat, line._view((flat.shape[0], row), (0, 1)))
    return tensor


def zeros(shape, dtype, buffer=sbuf, name=""):
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape, dtype, buffer=sbuf, name=""):
    """A new tensor of ones."""
    return full(shape, 1, dtype, buffer, name)


def empty_like(x, dtype=None, buffer=None, name=""):
    """A new tensor of the shape of x."""
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def zeros_like(x, dtype=None, buffer=None, name=""):
    """The same with zeros."""
    return zeros(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def load(src, dtype=None):
    """A new tile in SBUF with the contents of a tensor in HBM."""
    tile = ndarray(src.shape, dtype or src.dtype, sbuf)
    isa.dma_copy(tile if tile.shape == src.shape else tile.reshape(tile.shape), src)
    return tile


def store(dst, value):
    """A tensor in HBM = a tile."""
    if value.buffer is psum:
        copy = ndarray(value.shape, value.dtype, sbuf)
        isa.tensor_copy(copy, value)
        value = copy
    return isa.dma_copy(dst, value)


def assign(view, value):
    """view = value, which is a tensor or a number."""
    if isinstance(value, NkiTensor):
        if view.on_chip and value.on_chip:
            isa.tensor_copy(view, value)
        else:
            isa.dma_copy(view, value)
        return
    isa.memset(view, value)


def program_id(axis=0):
    """The index of this program along an axis of the grid."""
    trace = current()
    if not trace.grid:
        return 0
    if not -len(trace.grid) <= axis < len(trace.grid):
        refuse("nl.program_id", f"axis is one of the {len(trace.grid)} of the grid", axis)
    return trace.program_id[axis]


def num_programs(axes=None):
    """How many programs there are, along an axis or in all."""
    trace = current()
    if axes is None:
        axes = range(len(trace.grid))
    elif isinstance(axes, int):
        axes = (axes,)
    count = 1
    for axis in axes:
        count *= trace.grid[axis] if axis < len(trace.grid) else 1
    return count


def program_ndim():
    """How many axes the grid has."""
    return len(current().grid)


def shared_constant(constant):
    """A tensor in HBM with the contents of an array, or of an .npy file."""
    if isinstance(constant, (str, os.PathLike)):
        constant = np.load(constant)
    array = dtypes.native(np.asarray(constant))
    return hbm_constant(array, dtypes.canonical(array.dtype))


def shared_identity_matrix(n, dtype="uint8", dst=None):
    """The identity matrix in SBUF."""
    dtype = dtypes.canonical(dtype)
    if dst is None:
        return identity(n, dtype)
    isa.tensor_copy(dst, identity(n, dtype))
    return dst


def affine_range(start, stop=None, step=1):
    """Python's range: the loop is unrolled."""
    return range(start) if stop is None else range(start, stop, step)


sequential_range = static_range = affine_range


class _Loop:
    """A loop on the device."""

    def __init__(self, lower, upper, step, function):
        if isinstance(step, VirtualRegister) or not isinstance(step, (int, np.integer)) or step < 1:
            refuse(function, "step is a positive integer", repr(step))
        for bound in (lower, upper):
            if isinstance(bound, (VirtualRegister, NkiTensor)):
                refuse(function, "the bounds of a loop are integers so far", "a register",
                       "unroll the loop with range()")
        self.lower, self.step = int(lower), int(step)
        self.count = max(0, -(-(int(upper) - self.lower) // self.step))

    def begin(self, trace):
        """The head of the loop, and the register of its index."""
        counter = trace.register()
        trace.add(_BEGIN, 0, (), args=(counter.number, self.count, 0, 0, 0, 0, 0, 0))
        trace.loops += 1
        # The counter goes from count to 1.
        index = trace.register()
        counter.use.engines = EVERY_ENGINE
        first = self.lower + self.count * self.step
        for op, source, number in ((_MULTIPLY, counter, -self.step), (_ADD, index, first)):
            record = len(trace.records)
            trace.add(value("function", "reg_alu"), 0, (), op,
                      args=(index.number, source.number, 0, number, 0, 0, 0, 0))
            trace.mask(record, index)
        self.counter = counter
        return index

    def end(self, trace):
        """The end of it."""
        trace.add(_END, 0, ())
        trace.leave_loop()
        self.counter = None


def fori_loop(lower, upper, body_fun, step=1):
    """body_fun(i) for i from lower to upper - 1, on the device."""
    trace = current()
    loop = _Loop(lower, upper, step, "nl.fori_loop")
    if not loop.count:
        return
    index = loop.begin(trace)
    body_fun(index)
    loop.end(trace)


def dynamic_range(start, stop=None, step=1):
    """The same for a `for` statement: its body is traced once."""
    trace = current()
    lower, upper = (0, start) if stop is None else (start, stop)
    loop = _Loop(lower, upper, step, "nl.dynamic_range")
    if not loop.count:
        return
    index = loop.begin(trace)
    yield index
    # After a break this is never reached: the kernel is refused when it has been traced.
    loop.end(trace)


def while_loop(init, body_fun):
    """body_fun(r) while the register is not 0."""
    refuse("nl.while_loop", "loops whose end the run decides are not possible yet",
           fix="use nl.fori_loop with constant bounds")


class no_reorder:
    """Instructions in it keep their order, which all instructions of an engine do here."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


tile_size = target.tile_size
