# SPDX-License-Identifier: MIT
"""What the functions of nki.isa share: engines, scalar operands, checks."""

import struct

from ..builder import value
from ..errors import refuse
from ..ops import operator
from ..objects import VirtualRegister
from ..tensor import MemoryRegion, NkiTensor
from ..trace import GPSIMD, SCALAR, SYNC, TENSOR, VECTOR
from .enums import engine, reduce_cmd
from .registers import offset_register

__neuron_emu__ = True

PSUM = MemoryRegion.psum
SBUF = MemoryRegion.sbuf
NO_OPERAND, NUMBER, COLUMN = 0, 1, 2
ENGINES = {engine.tensor: TENSOR, engine.vector: VECTOR, engine.scalar: SCALAR,
           engine.gpsimd: GPSIMD, engine.sync: SYNC}
BITWISE = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
                     "invert"))
UNARY = frozenset(("abs", "square", "relu", "rsqrt", "reciprocal", "invert"))
BYPASS = value("alu", "bypass")
REDUCE = {command: value("reduce", command.name) for command in reduce_cmd}
REVERSE0, REVERSE1, NEGATE = (value("flag", name) for name in ("reverse0", "reverse1", "negate"))
_FLOAT = struct.Struct("<f")
_alu, _act = {}, {}


def alu(op, function):
    """The ALU's number of an operator."""
    try:
        return _alu[op]
    except (KeyError, TypeError):
        pass
    found = operator(op, function)
    if found.alu is None:
        refuse(function, "op is an operator of the ALU", f"nl.{found.name}")
    number = _alu[op] = value("alu", found.alu)
    return number


def act(op, function):
    """The scalar engine's number of a function."""
    try:
        return _act[op]
    except (KeyError, TypeError):
        pass
    found = operator(op, function)
    if found.act is None:
        refuse(function, "op is a function of the scalar engine such as nl.exp",
               f"nl.{found.name}")
    number = _act[op] = value("act", found.act)
    return number


def is_bitwise(op):
    """Does it take integers as bits?"""
    return operator(op, "op").name in BITWISE


def is_unary(op):
    """Does it take the element alone?"""
    return operator(op, "op").name in UNARY


def member(option, kind, what, function):
    """The member of an enumeration that an option is; its value names it, too."""
    if option.__class__ is kind:
        return option
    try:
        return kind(option)
    except ValueError:
        refuse(function, f"{what} is one of " + ", ".join(
            f"nisa.{kind.__name__}.{m.name}" for m in kind), repr(option))


def chosen(asked, default, function, allowed):
    """The engine of an instruction."""
    if asked is engine.unknown or asked is None:
        return default
    number = ENGINES.get(asked)
    if number not in allowed:
        names = [name.name for name, n in ENGINES.items() if n in allowed]
        refuse(function, f"engine is {' or '.join(names)}", getattr(asked, "name", asked))
    return number


def needs(trace, generation, function):
    """Refuse it on older NeuronCores."""
    if trace.generation < generation:
        refuse(function, f"it needs NeuronCore-v{generation} or later",
               f"NeuronCore-v{trace.generation}",
               f"set NEURON_PLATFORM_TARGET_OVERRIDE=trn{generation - 1}")


def tile(tensor, what, function, memory=None):
    """It must be a tile on the chip."""
    if not isinstance(tensor, NkiTensor):
        refuse(function, f"{what} is a tile", type(tensor).__name__)
    place = tensor.storage.memory
    if memory is not None and place is not memory:
        refuse(function, f"{what} lies in {memory.name}", place.name)
    if place is not SBUF and place is not PSUM:
        refuse(function, f"{what} lies in SBUF or PSUM", place.name,
               "load it with nisa.dma_copy first")


def packed(tensor, what, function, engine_number, memory=None, dims=None):
    """The access pattern of a tile."""
    if tensor.__class__ is NkiTensor and dims is None:
        pattern = tensor._ap
        if pattern is not None and (memory is None or tensor.storage.memory is memory):
            return pattern
    tile(tensor, what, function, memory)
    if tensor.dynamic is not None:
        register = offset_register(tensor, engine_number, what, function)
        return tensor.encode(dims, register.number)
    pattern = tensor.encode(dims)
    if dims is None:
        tensor._ap = pattern
    return pattern


class Known(dict):
    """What was made of the options of instructions: their checks are made once."""

    MOST = 4096

    def keep(self, key, found):
        """Remember it, unless the key is None."""
        if key is not None:
            if len(self) >= self.MOST:
                self.clear()
            self[key] = found
        return found


def same(a, b, what_a, what_b, function):
    """As many partitions, and as many elements in each."""
    if a.shape == b.shape:
        return
    if a.shape[0] != b.shape[0]:
        refuse(function, f"{what_a} and {what_b} have as many partitions",
               f"{a.shape[0]} and {b.shape[0]} (shapes {a.shape} and {b.shape})")
    if a.size != b.size:
        refuse(function, f"{what_a} and {what_b} have as many elements in each partition",
               f"{a.size // a.shape[0]} and {b.size // b.shape[0]} "
               f"(shapes {a.shape} and {b.shape})")


def float_bits(number):
    """The bits of a number as FP32."""
    try:
        return int.from_bytes(_FLOAT.pack(number), "little")
    except OverflowError:
        return 0x7f800000 if number > 0 else 0xff800000


def scalar(operand, what, function, engine_number, bitwise=False):
    """(kind, bits, packed columns) of a scalar operand of an engine's instruction."""
    if operand is None:
        return NO_OPERAND, 0, ()
    if isinstance(operand, NkiTensor):
        column = operand
        if operand.size != operand.shape[0]:
            refuse(function, f"{what} is a number or one element for each partition",
                   f"a tile of shape {operand.shape}")
        return COLUMN, 0, (packed(column, what, function, engine_number),)
    if isinstance(operand, VirtualRegister):
        refuse(function, f"{what} is a number or a tile", "a register",
               "store it in a tile with nisa.register_store")
    if bitwise:
        try:
            return NUMBER, int(operand) & 0xffffffff, ()
        except (TypeError, ValueError):
            pass
    try:
        return NUMBER, float_bits(float(operand)), ()
    except (TypeError, ValueError, OverflowError):
        refuse(function, f"{what} is a number or a tile of one element for each partition",
               repr(operand))
