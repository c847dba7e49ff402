# SPDX-License-Identifier: MIT
"""Registers of the engines. A VirtualRegister has the same number on every engine that uses it."""

from ..builder import value
from ..errors import refuse
from ..objects import VirtualRegister
from ..tensor import SIDE, NONE, MemoryRegion, NkiTensor
from ..trace import current

__neuron_emu__ = True

_SET, _ALU, _LOAD, _STORE, _RANK = (value("function", name) for name in (
    "reg_set", "reg_alu", "reg_load", "reg_store", "reg_rank"))
_MULTIPLY, _ADD = (value("alu", name) for name in ("multiply", "add"))
_NOTHING = (0, 0, 0, 0)


def known_place(tensor, what, function):
    """Refuse a view whose place only the run knows."""
    if tensor.dynamic is not None or tensor.index is not None:
        refuse(function, f"{what} lies at a place that is known while the kernel is traced",
               "a view by a register or an index", "copy it to a tile of its own first, with "
               "nisa.dma_copy from HBM or nisa.tensor_copy from SBUF")


def element_side(tensor, function):
    """A transfer's side of one element."""
    if not isinstance(tensor, NkiTensor) or tensor.size != 1:
        refuse(function, "the tensor has one element",
               f"shape {tensor.shape}" if isinstance(tensor, NkiTensor) else repr(tensor))
    if tensor.buffer is MemoryRegion.psum:
        refuse(function, "the element lies in SBUF or HBM", "psum", "copy it to SBUF first")
    known_place(tensor, "the element", function)
    storage = tensor.storage
    if storage.memory is MemoryRegion.sbuf:
        partition, byte = tensor.place()
        return SIDE.pack(storage.tile, 0, byte, 1, partition, 4, 1, 1, 1, 0, 1, 0, 0, 0)
    return SIDE.pack(NONE, storage.slot + 1, tensor.offset * tensor.itemsize, 1, 0, 4, 1, 1, 1, 0,
                     1, 0, 0, 0)


def _record(trace, function, register, operands=(), op0=0, args=(0, 0, 0, 0)):
    """A record that every engine gets which uses `register`."""
    index = len(trace.records)
    # The instruction that these registers are for comes later.
    held, trace.held = trace.held, []
    handle = trace.add(function, 0, operands, op0, args=(*args, *_NOTHING))
    trace.held = held
    trace.mask(index, register)
    return handle


def register_alloc(x=None):
    """A new register, holding the number x."""
    trace = current()
    register = trace.register()
    if isinstance(x, NkiTensor):
        register_load(register, x)
    elif x is not None:
        register_move(register, x)
    return register


def _destination(register, function):
    if not isinstance(register, VirtualRegister):
        refuse(function, "dst is what nisa.register_alloc() returns", repr(register))
    if register.frozen:
        refuse(function, "the index of nl.dynamic_range() is only read", fix="move it to a "
               "register of its own first")


def register_move(dst, src):
    """dst = src, a number or a register."""
    trace = current()
    _destination(dst, "register_move")
    if isinstance(src, VirtualRegister):
        dst.use.sources.append(src.use)
        return _record(trace, _ALU, dst, (), _ADD, (dst.number, src.number, 0, 0))
    number = int(src)
    if not -2**31 <= number < 2**32:
        refuse("register_move", "src has 32 bits", src)
    number = number - 2**32 if number >= 2**31 else number
    return _record(trace, _SET, dst, args=(dst.number, number, 0, 0))


def register_load(dst, src):
    """dst = an element of SBUF or HBM."""
    trace = current()
    _destination(dst, "register_load")
    side = element_side(src, "register_load")
    if src.itemsize < 4:
        side = element_side(_widened(trace, src), "register_load")
    return _record(trace, _LOAD, dst, (side,), args=(dst.number, 0, 0, 0))


def _widened(trace, src):
    """A tile of 32 bits with a narrower integer: a register takes 4 bytes, and those beside the
    element are others', or nobody's. Of other types the bits are the integer."""
    from .transfer import copy
    if src.dtype not in ("int8", "int16"):
        src = src.view("uint8" if src.itemsize == 1 else "uint16")
    word = trace.ndarray((1, 1), "int32")
    copy(trace, word, src)
    return word


def load_on(register, element, engine):
    """One engine reads an element, because what has written it must be over."""
    register.use.engines |= 1 << engine
    return register_load(register, element)


def register_store(dst, src):
    """An element of SBUF or HBM = src."""
    trace = current()
    if not isinstance(src, VirtualRegister):
        register = trace.register()
        register_move(register, src)
        src = register
    if isinstance(dst, NkiTensor) and dst.itemsize != 4:
        refuse("register_store", "dst has 32 bits", dst.dtype)
    side = element_side(dst, "register_store")
    if not dst.on_chip:
        trace.written(dst.storage)
    src.use.engines |= 1 << SYNC_ENGINE
    return trace.add(_STORE, 1 << SYNC_ENGINE, (side,), args=(src.number, 0, 0, 0, *_NOTHING))


SYNC_ENGINE = value("engine", "sync")


def rank_register():
    """A register with the number of this rank among those that run together."""
    trace = current()
    register = trace.register()
    _record(trace, _RANK, register, args=(register.number, 0, 0, 0))
    return register


def table_register(table, number):
    """A register with one element of a table of 32-bit integers in HBM: `number` is a register."""
    trace = current()
    place, result = trace.register(), trace.register()
    place.use.sources.append(number.use)
    result.use.sources.append(place.use)
    _record(trace, _ALU, place, (), _MULTIPLY, (place.number, number.number, 0, 4))
    _record(trace, _LOAD, result, (element_side(table[0:1], "table"),),
            args=(result.number, place.number, 0, 0))
    return result


def scaled(register, factor, engine, addend=0):
    """A new register: register * factor + addend, for one engine."""
    trace = current()
    result = trace.register()
    result.use.engines |= 1 << engine
    result.use.sources.append(register.use)
    _record(trace, _ALU, result, (), _MULTIPLY, (result.number, register.number, 0, factor))
    if addend:
        _record(trace, _ALU, result, (), _ADD, (result.number, result.number, 0, addend))
    return result


def as_register(scalar, function):
    """The register that `scalar` is, or that its one element is loaded into."""
    if isinstance(scalar, VirtualRegister):
        return scalar
    if isinstance(scalar, NkiTensor):
        register = current().register()
        register_load(register, scalar)
        return register
    refuse(function, "scalar_offset is a register or a tile of one element", repr(scalar))


def offset_register(tensor, engine, what, function):
    """A register with the bytes that the run adds to the place of a view."""
    if tensor.dynamic.vector is not None:
        refuse(function, f"{what} is not addressed by a vector", fix="only transfers are: use "
               "nisa.dma_copy, or .indirect() on NeuronCore-v4")
    trace = current()
    total = None
    for part in (tensor.dynamic, *tensor.dynamic.others):
        register = scaled(as_register(part.scalar, function), part.stride * tensor.itemsize,
                          engine)
        # Its number is free again when nothing holds it: not before the instruction is recorded.
        trace.held.append(register)
        if total is None:
            total = register
        else:
            _record(trace, _ALU, total, (), _ADD, (total.number, total.number, register.number, 0))
    return total
