# SPDX-License-Identifier: MIT
"""Loads that bring what another tile still has, for the scheduler.

A naive loop nest loads the same blocks again and again, and then HBM is what binds it. A tile that
is loaded from inputs that nobody writes, and only read after that, is the same as any other tile
with the same loads. So the first one serves for all, as long as there is room to keep it.
"""

import collections

from .builder import value
from .records import BEGINS, DMA, END, end_of, number_at, operands, records
from .tensor import NONE, SIDE, MemoryRegion
from .trace import ARGS, MEMORY, RECORD, TILE_NEW

__neuron_emu__ = True

# Instructions that write their first operand alone: acc_read brings what they reduce.
_READERS = frozenset(value("function", name) for name in (
    "nc_matmul", "nc_transpose", "activation", "tensor_tensor", "tensor_scalar",
    "scalar_tensor_tensor", "tensor_reduce", "tensor_copy", "reciprocal", "exponential",
    "affine_select", "bn_stats"))
# Of a partition of SBUF, for the tiles that are kept.
_KEPT = 0.5


def places(at, fields):
    """(offset of its number, whether it is only read) of each tile that a record names."""
    reads = fields[0] == DMA or fields[0] in _READERS
    for place, operand in operands(at, fields):
        yield place, reads and operand > 0


class Tile:
    """What happens to a tile. `loads`: keys of its loads, or None: it is no copy of inputs."""

    __slots__ = ("shape", "loads", "first", "last", "is_read")

    def __init__(self, shape):
        self.shape = shape
        self.loads = []
        self.first = self.last = 0
        self.is_read = False


class Finder:
    """Goes through the records of a trace."""

    def __init__(self, trace):
        self.data = trace.bytes
        self.inputs = {s.slot + 1 for s in trace.hbm if s.role in ("input", "constant")}
        self.room = int(value("sbuf", str(trace.generation)) * _KEPT)
        self.tiles = {}
        self.loads = {}

    def _load_key(self, at, fields):
        """What a load into a tile brings, or None: the record is something else."""
        # Function, operands, flags.
        if fields[0] != DMA or fields[2] != 2 or fields[5]:
            return None
        to = at + RECORD.size
        source = to + SIDE.size
        if number_at(self.data, to) not in self.tiles or \
                number_at(self.data, source) != NONE or \
                number_at(self.data, source + 4) not in self.inputs:
            return None
        # All but the place in the source, and the number of the tile.
        return (self.data[at:at + 4] + self.data[at + 10:to] +
                self.data[to + 4:source + SIDE.size])

    def read(self):
        """What happens to each tile."""
        depth = 0
        for at, function, fields in records(self.data):
            if function == TILE_NEW and not depth:
                tile, memory, partitions, row = fields[ARGS:ARGS + 4]
                if memory == MEMORY[MemoryRegion.sbuf]:
                    self.tiles[tile] = Tile((partitions, row))
            depth += (function in BEGINS) - (function == END)
            key = None if depth else self._load_key(at, fields)
            if key is None:
                self._note(at, fields)
                continue
            number = number_at(self.data, at + RECORD.size)
            tile = self.tiles[number]
            if tile.is_read or tile.loads is None:
                tile.loads = None
                continue
            tile.first = tile.first or at
            tile.last = at
            tile.loads.append(key)
            self.loads[at] = number

    def _note(self, at, fields):
        for place, only_read in places(at, fields):
            tile = self.tiles.get(number_at(self.data, place))
            if tile is None:
                continue
            if only_read:
                tile.is_read = True
            else:
                tile.loads = None

    def same(self):
        """{tile: the one that has the same}"""
        kept, total, found = collections.OrderedDict(), 0, {}
        loaded = sorted((tile.first, number) for number, tile in self.tiles.items() if tile.loads)
        for first, number in loaded:
            tile = self.tiles[number]
            key = (tile.shape, tuple(tile.loads))
            other = kept.get(key)
            if other is not None and self.tiles[other].last < first:
                found[number] = other
                kept.move_to_end(key)
                continue
            if other is None:
                total += tile.shape[1]
            kept[key] = number
            kept.move_to_end(key)
            while total > self.room:
                (_, row), _ = kept.popitem(last=False)[0]
                total -= row
        return found


def without_repeated_loads(trace):
    """The records of a trace, where one tile serves for all that are loaded in the same way."""
    finder = Finder(trace)
    finder.read()
    same = finder.same()
    if not same:
        return trace.bytes
    data, parts = bytearray(trace.bytes), []
    for at, function, fields in records(trace.bytes):
        if function == TILE_NEW and fields[ARGS] in same or finder.loads.get(at) in same:
            continue
        for place, _ in operands(at, fields):
            other = same.get(number_at(data, place))
            if other is not None:
                data[place:place + 4] = other.to_bytes(4, "little")
        parts.append(data[at:end_of(at, fields)])
    return b"".join(parts)
