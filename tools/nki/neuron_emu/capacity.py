# SPDX-License-Identifier: MIT
"""Which tiles take the room that another one needs."""

from .builder import value
from .records import BEGINS, END, number_at, operands, records
from .trace import ARGS, MEMORY, PSUM_BYTES, RESERVE, TILE_NEW

__neuron_emu__ = True

BANK_BYTES = 2048
BANKS = PSUM_BYTES // BANK_BYTES


class Life:
    """A tile, and the offsets of the records between which it lives; as the builder has it."""

    __slots__ = ("memory", "row", "line", "depth", "first", "last")

    def __init__(self, memory, row, line, depth):
        self.memory = memory
        self.row = row
        self.line = line
        self.depth = depth
        self.first = self.last = None


def lives(data):
    """The tiles of records, with their lives."""
    tiles, loops, open_end = {}, [], set()
    for at, function, fields in records(data):
        if function == TILE_NEW:
            tile, memory, _, row = fields[ARGS:ARGS + 4]
            tiles[tile] = Life(memory, row, fields[3], len(loops))
        for place, _ in operands(at, fields):
            tile = tiles.get(number_at(data, place))
            if tile is None:
                continue
            outside = len(loops) > tile.depth
            if tile.first is None:
                tile.first = loops[tile.depth] if outside else at
            tile.last = at
            if outside:
                open_end.add(tile)
        if function in BEGINS:
            loops.append(at)
        elif function == END:
            loops.pop()
            over = {tile for tile in open_end if tile.depth >= len(loops)}
            for tile in over:
                tile.last = at
            open_end -= over
    return [tile for tile in tiles.values() if tile.first is not None]


def banks(rows):
    """How many banks tiles of PSUM take: one that fits in a bank does not cross its end."""
    count, room = 0, []
    for row in sorted(rows, reverse=True):
        left = [i for i, free in enumerate(room) if free >= row]
        if left:
            room[left[0]] -= row
            continue
        taken = -(-row // BANK_BYTES)
        count += taken
        room.append(taken * BANK_BYTES - row)
    return count


def explain(data, done, memory, generation):
    """What the record at `done` needs of a memory, and the largest tiles that are alive there."""
    number = next(n for region, n in MEMORY.items() if region.name == memory)
    alive = sorted((tile for tile in lives(data)
                    if tile.memory == number and tile.first <= done <= tile.last),
                   key=lambda tile: (-tile.row, tile.line))
    told = [fields[ARGS + 3] for _, function, fields in records(data)
            if function == RESERVE and fields[ARGS + 1] == number]
    rows = [tile.row for tile in alive] + told
    largest = ", ".join(f"{tile.row / 1024:g} KiB from line {tile.line}" for tile in alive[:3])
    if memory == "psum":
        needed, limit = banks(rows), BANKS
        text = f"psum needs {needed} banks of {limit}"
    else:
        needed, limit = sum(rows), value("sbuf", str(generation))
        text = f"sbuf needs {needed / 1024:g} KiB of {limit / 1024:g} KiB in each partition"
    if needed <= limit:
        text += ", but what is free is not in one piece"
    if told:
        text += f", {sum(told) / 1024:g} KiB of it at places that the kernel tells"
    return f"{text}: largest tiles are {largest}"
