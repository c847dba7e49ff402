# SPDX-License-Identifier: MIT
"""neuronxcc.nki.compiler: places of tensors that the kernel tells, and hints to a compiler.

The tracer allocates by itself and keeps the order of instructions, so hints change nothing.
"""

import contextlib

from ..errors import refuse
from ..tensor import MemoryRegion
from ..trace import current

__neuron_emu__ = True

BANK_BYTES = 2048


class Placed:
    """A memory, and the function that tells where each block of a tensor lies in it."""

    def __init__(self, memory, place):
        self.memory = memory
        self.place = place


def _modulo(base, tiles, scale, block, function):
    """base + (the number of the block among `tiles`) * scale"""
    tiles = tuple(tiles) or (1,) * len(block)
    if not block:
        return base
    if len(tiles) != len(block):
        refuse(function, f"there is one number of tiles for each of the {len(block)} block "
               "dimensions", tiles)
    number = 0
    for i, n in zip(block, tiles):
        number = number * n + i % n
    return base + number * scale


class _Sbuf:
    """ncc.sbuf"""

    @staticmethod
    def alloc(func):
        """func(idx, pdim_size, fdim_size), called by these names, says (partition, byte)."""
        return Placed(MemoryRegion.sbuf, lambda block, partitions, row: func(
            idx=block, pdim_size=partitions, fdim_size=row))

    @staticmethod
    def mod_alloc(*, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()):
        """Blocks take turns in as many places as there are tiles."""
        return Placed(MemoryRegion.sbuf, lambda block, partitions, row: (
            _modulo(base_partition, num_par_tiles, partitions, block, "sbuf.mod_alloc"),
            _modulo(base_addr, num_free_tiles, row, block, "sbuf.mod_alloc")))

    @staticmethod
    def auto_alloc():
        """The tracer finds a place."""
        return MemoryRegion.sbuf


class _Psum:
    """ncc.psum"""

    @staticmethod
    def alloc(func):
        """func(idx, pdim_size, fdim_size), called by these names, says (bank, partition, byte)."""
        def place(block, partitions, row):
            bank, partition, byte = func(idx=block, pdim_size=partitions, fdim_size=row)
            return partition, bank * BANK_BYTES + byte
        return Placed(MemoryRegion.psum, place)

    @staticmethod
    def mod_alloc(*, base_bank, base_addr=0, base_partition=0, num_bank_tiles=(),
                  num_par_tiles=(), num_free_tiles=()):
        """Blocks take turns in as many banks as there are tiles."""
        return Placed(MemoryRegion.psum, lambda block, partitions, row: (
            _modulo(base_partition, num_par_tiles, partitions, block, "psum.mod_alloc"),
            _modulo(base_bank, num_bank_tiles, 1, block, "psum.mod_alloc") * BANK_BYTES +
            _modulo(base_addr, num_free_tiles, row, block, "psum.mod_alloc")))

    @staticmethod
    def auto_alloc():
        """The tracer finds a place."""
        return MemoryRegion.psum


sbuf, psum = _Sbuf(), _Psum()


def _hint(func=None, **_):
    """A decorator that leaves a kernel as it is."""
    return func if func is not None else _hint


enable_stack_allocator = skip_middle_end_transformations = _hint


def force_auto_alloc(func=None):
    """Refused: places that a kernel tells are kept."""
    refuse("nki.compiler.force_auto_alloc", "places that a kernel tells are kept here",
           fix="use buffer=nl.sbuf and nl.psum")


@contextlib.contextmanager
def no_reorder():
    """Instructions keep their order, also where the scheduler is asked for."""
    current().keeps_order = True
    yield


def multi_buffer(factor=2):
    """A hint for nl.affine_range(directives=...): blocks have tiles of their own anyway."""
    return factor


def allocation_scope():
    """A scope of tensors, which live as long as they are used."""
    return contextlib.nullcontext()
