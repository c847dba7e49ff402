# SPDX-License-Identifier: MIT
"""Records of a trace as bytes, read again: which there are, and where they name tiles."""

from .builder import value
from .tensor import AP, SIDE
from .trace import RECORD

__neuron_emu__ = True

DMA = value("function", "dma")
BEGINS = frozenset(value("function", name) for name in ("begin_loop", "begin_while"))
END = value("function", "end_loop")
# Their operands are struct nb_flat_side, those of all others struct nb_flat_ap.
_SIDES = frozenset(value("function", name) for name in ("dma", "reg_load", "reg_store"))
# Of the number of the tile with an index, in struct nb_flat_ap.
_INDEX_TILE = 28


def _operand_size(fields):
    return SIDE.size if fields[0] in _SIDES else AP.size


def end_of(at, fields):
    """The offset behind a record."""
    return at + RECORD.size + fields[2] * _operand_size(fields)


def records(data):
    """(offset, function, arguments) of each record."""
    at = 0
    while at < len(data):
        fields = RECORD.unpack_from(data, at)
        yield at, fields[0], fields
        at = end_of(at, fields)


def operands(at, fields):
    """(offset of its number, which operand it is) of each tile that a record names; of a tile with
    an index -1.
    """
    size = _operand_size(fields)
    for i in range(fields[2]):
        place = at + RECORD.size + i * size
        yield place, i
        if size == AP.size:
            yield place + _INDEX_TILE, -1


def number_at(data, place):
    """The tile that is named there."""
    return int.from_bytes(data[place:place + 4], "little")
