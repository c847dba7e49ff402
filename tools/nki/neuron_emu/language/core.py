# SPDX-License-Identifier: MIT
"""Functions of nki.language that make tensors, move them, loop, and ask for the grid."""

import operator
import os

import numpy as np

from .. import dtypes, errors, isa, target
from ..builder import value
from ..errors import refuse
from ..isa.constants import hbm_constant, identity
from ..objects import VirtualRegister
from ..tensor import MemoryRegion, NkiTensor, region
from ..trace import EVERY_ENGINE, current

__neuron_emu__ = True
__all__ = [
    "affine_range", "assign", "device_print", "dynamic_range", "empty_like", "fori_loop",
    "full", "hbm", "is_hbm", "is_on_chip", "is_psum", "is_sbuf", "load", "ndarray",
    "no_reorder", "num_programs", "ones", "private_hbm", "program_id", "program_ndim", "psum",
    "sbuf", "sequential_range", "shared_constant", "shared_hbm", "shared_identity_matrix",
    "static_range", "store", "tile_size", "while_loop", "zeros", "zeros_like"
]

_BEGIN, _WHILE, _END, _ALU = (value("function", name) for name in (
    "begin_loop", "begin_while", "end_loop", "reg_alu"))
_ADD, _MULTIPLY, _IS_LT, _IS_NE = (value("alu", name) for name in (
    "add", "multiply", "is_lt", "is_ne"))

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
    isa.dma_copy(tile, src)
    return tile


def store(dst, value):
    """A tensor in HBM = a tile."""
    if not isinstance(value, NkiTensor):
        refuse("nl.store", "the value is a tile", f"a {type(value).__name__}",
               "arrays of the host come in as arguments of the kernel")
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


class Loop:
    """A loop on the device."""

    def __init__(self, function):
        self.trace = current()
        self.function = function
        self.depth = 0
        if self.trace.in_order:
            refuse(function, "a loop on the device is not in a block of nl.no_reorder()",
                   fix="put the block into the loop")

    def copy(self, source):
        """A register with the same number, which stays as it is when the other one changes."""
        result = self.trace.register()
        isa.register_move(result, source)
        return result

    def everywhere(self, source):
        """The same on every engine: each of them decides by itself whether there is a round."""
        result = self.copy(source)
        result.use.engines = EVERY_ENGINE
        return result

    def alu(self, op, result, source, number):
        """result = source op number"""
        trace = self.trace
        result.use.sources.append(source.use)
        record = len(trace.records)
        trace.add(_ALU, 0, (), op, args=(result.number, source.number, 0, number, 0, 0, 0, 0))
        trace.mask(record, result)

    def enter(self):
        """What follows is the body."""
        self.trace.enter_loop(self.function)
        self.depth = len(self.trace.open_loops)

    def begin_while(self, op, register, other=None, number=0):
        """What follows is done while the comparison of registers of every engine holds."""
        self.trace.add(_WHILE, 0, (), op, args=(
            register.number, 0 if other is None else other.number, number, 0, 0, 0, 0, 0))
        self.enter()

    def end(self):
        """The end of it. A loop of its body that is still open was left before its own end."""
        if len(self.trace.open_loops) != self.depth:
            self.trace.refuse_open_loop()
        self.trace.add(_END, 0, ())
        self.trace.leave_loop()


class _Count(Loop):
    """A loop whose index goes through a range."""

    def __init__(self, lower, upper, step, function):
        super().__init__(function)
        if isinstance(step, VirtualRegister) or not isinstance(step, (int, np.integer)) or step < 1:
            refuse(function, "step is a positive integer", repr(step))
        self.lower, self.upper = self.bound(lower), self.bound(upper)
        self.step = int(step)
        self.known = not isinstance(self.lower, VirtualRegister) and not isinstance(
            self.upper, VirtualRegister)
        self.count = max(0, -(-(self.upper - self.lower) // self.step)) if self.known else None
        self._check_range()

    def _check_range(self):
        """The index is in a register of 32 bits, also after the last round."""
        if isinstance(self.upper, VirtualRegister):
            last = self.step
        elif self.known:
            last = max(self.count, self.lower + self.count * self.step)
        else:
            last = self.upper - 1 + self.step
        if last >= 2**31:
            refuse(self.function, "the index has 32 bits, also after the last round", last,
                   "take a smaller step or a smaller range")

    def bound(self, bound):
        """A number or a register."""
        if isinstance(bound, VirtualRegister):
            return bound
        if isinstance(bound, NkiTensor):
            refuse(self.function, "a bound is an integer or a register", "a tile",
                   "load it with nisa.register_load")
        try:
            number = operator.index(bound)
        except TypeError:
            refuse(self.function, "a bound is an integer or a register", repr(bound))
        if not -2**31 <= number < 2**31:
            refuse(self.function, "a bound has 32 bits", number)
        return number

    def begin(self):
        """The head of the loop, and the register of its index."""
        return self._begin_known() if self.known else self._begin_unknown()

    def _begin_known(self):
        """The counter goes from count to 1."""
        trace = self.trace
        self.place = trace.register()
        self.place.use.engines = EVERY_ENGINE
        trace.add(_BEGIN, 0, (), args=(self.place.number, self.count, 0, 0, 0, 0, 0, 0))
        self.enter()
        index = trace.register()
        self.alu(_MULTIPLY, index, self.place, -self.step)
        self.alu(_ADD, index, index, self.lower + self.count * self.step)
        return index

    def _begin_unknown(self):
        """A register goes through the range; what the body sees is a copy."""
        self.place = self.everywhere(self.lower)
        self.stop = None
        if isinstance(self.upper, VirtualRegister):
            self.stop = self.everywhere(self.upper)
            self.begin_while(_IS_LT, self.place, self.stop)
        else:
            self.begin_while(_IS_LT, self.place, None, self.upper)
        return self.copy(self.place)

    def end(self):
        """The end of a round."""
        if not self.known:
            self.alu(_ADD, self.place, self.place, self.step)
        super().end()
        self.place = self.stop = None


def fori_loop(lower, upper, body_fun, step=1):
    """body_fun(i) for i from lower to upper - 1, on the device."""
    loop = _Count(lower, upper, step, "nl.fori_loop")
    if loop.count == 0:
        return
    index = loop.begin()
    body_fun(index)
    loop.end()


def dynamic_range(start, stop=None, step=1):
    """The same for a `for` statement: its body is traced once."""
    lower, upper = (0, start) if stop is None else (start, stop)
    errors.deprecated("nl.dynamic_range(): NKI 0.6.0 asks for nl.fori_loop()")
    loop = _Count(lower, upper, step, "nl.dynamic_range")
    if loop.count == 0:
        return
    index = loop.begin()
    index.frozen = True
    yield index
    # After a break this is never reached: the kernel is refused when it has been traced.
    loop.end()


def while_loop(init, body_fun):
    """r = body_fun(r) while the register r is not 0, on the device; the first r is init."""
    function = "nl.while_loop"
    if not isinstance(init, VirtualRegister):
        refuse(function, "init is a register", repr(init), "make one with nisa.register_alloc")
    loop = Loop(function)
    condition = loop.everywhere(init)
    loop.begin_while(_IS_NE, condition)
    following = body_fun(loop.copy(condition))
    if not isinstance(following, VirtualRegister):
        refuse(function, "body_fun returns the register that decides on the next round",
               repr(following))
    isa.register_move(condition, following)
    loop.end()


def device_print(print_prefix, tensor):
    """Print a tensor with a prefix, in nki.simulate(): at once.

    On a device nothing is printed unless a folder is named for it, which this runtime does not
    write.
    """
    if not isinstance(tensor, NkiTensor):
        refuse("nl.device_print", "tensor is a tensor", type(tensor).__name__)
    if not isinstance(print_prefix, str):
        refuse("nl.device_print", "print_prefix is a string", repr(print_prefix))
    if current().eager is not None:
        print(print_prefix, tensor)
    elif os.environ.get("NEURON_RT_DEBUG_OUTPUT_DIR"):
        refuse("nl.device_print", "NEURON_RT_DEBUG_OUTPUT_DIR is not written", None,
               "unset it, or run the kernel by nki.simulate(), which prints")


class no_reorder:
    """Instructions in it keep their order, also where the scheduler is asked for."""

    def __enter__(self):
        current().in_order += 1
        current().keeps_order = True
        return self

    def __exit__(self, *_):
        current().in_order -= 1
        return False


tile_size = target.tile_size
