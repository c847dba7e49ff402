# SPDX-License-Identifier: MIT
"""From traces to a NEFF."""

import struct

from . import builder, cache, dtypes
from .builder import value
from .errors import NkiCapacityError, NkiValidationError
from .tensor import AP, SIDE, MemoryRegion, chip_type
from .trace import ARGS, MEMORY, PSUM_BYTES, RECORD, TILE_NEW
from . import target

__neuron_emu__ = True

_SIDES = frozenset(value("function", name) for name in ("dma", "reg_load", "reg_store"))
_HEAD = struct.Struct("<HBBIHH")


def free_name(name, taken):
    """The name, or a longer one that nobody has."""
    while name in taken:
        name += "_"
    return name


def describe(traces):
    """What the NEFF is made of, as bytes."""
    parts = [f"{traces[0].generation} {len(traces)}".encode()]
    for trace in traces:
        parts.append("\0".join(trace.files).encode())
        for storage in trace.hbm:
            parts.append(repr((storage.role, storage.name, storage.host, storage.slot,
                               storage.memory.name)).encode())
            parts.append(storage.constant or b"")
        parts.append(repr([collective.key() for collective in trace.collectives]).encode())
        parts.append(trace.bytes)
    return parts


def shared_parts(traces):
    """The tensors that both cores see but nobody outside: {(core, slot): offset}."""
    lists = [[s for s in trace.hbm if s.role == "tmp" and s.memory is MemoryRegion.shared_hbm]
             for trace in traces]
    offsets, offset = {}, 0
    if len(traces) == 1:
        return offsets
    if [s.host for s in lists[0]] != [s.host for s in lists[1]]:
        raise NkiValidationError(
            "both cores make the same tensors in shared_hbm, in the same order: core 0 makes "
            f"{[s.host for s in lists[0]]}, core 1 {[s.host for s in lists[1]]}")
    for pair in zip(*lists):
        for core, storage in enumerate(pair):
            offsets[core, storage.slot] = offset
        offset += (pair[0].bytes + 63) & ~63
    return offsets


def file_type(dtype):
    """The type that the NEFF names: packed elements and scales are integers of their size."""
    if dtype in dtypes.FLOATS or dtype in dtypes.INTEGERS:
        return chip_type(dtype)
    return chip_type(f"uint{8 * dtypes.SIZE[dtype]}")


def variables(program, core, trace, shared):
    """Its tensors in HBM, in the order of their slots."""
    for storage in trace.hbm:
        shape, dtype = storage.host
        name = storage.name
        if storage.role == "input":
            number = program.shaped("nb_input", core, name, file_type(dtype), shape)
        elif storage.role in ("output", "inout"):
            number = program.shaped("nb_output", core, name, file_type(dtype), shape)
        elif storage.role == "constant":
            number = builder.LIBRARY.nb_file(program.of_core(core), name.encode(),
                                             storage.constant, len(storage.constant))
        elif (core, storage.slot) in shared:
            number = builder.LIBRARY.nb_virtual(program.of_core(core), name.encode(),
                                                (storage.bytes + 3) & ~3,
                                                shared[core, storage.slot])
        else:
            number = builder.LIBRARY.nb_tmp(program.of_core(core), name.encode(), storage.bytes)
        program.check()
        if number != storage.slot + 1:
            raise NkiValidationError(f"{name}: variable {number} in place of {storage.slot + 1}")


def collectives(program, trace):
    """Those that the first core of a pair starts."""
    for number, collective in enumerate(trace.collectives):
        program.collective(f"collective {number}", collective)


def build(name, traces):
    """The NEFF."""
    program = builder.Program(name, traces[0].generation)
    shared = shared_parts(traces)
    program.of_core(len(traces) - 1)
    for trace in traces:
        try:
            variables(program, trace.core, trace, shared)
            if not trace.core:
                collectives(program, trace)
            program.run(trace.core, trace.bytes, trace.tiles, list(trace.files))
        except builder.BuildError as error:
            raise explained(trace, error) from None
    try:
        return program.pack()
    except builder.BuildError as error:
        raise NkiValidationError(str(error)) from None


def neff(name, traces):
    """(key, path) of the NEFF, from the cache if it is there."""
    key = cache.key_of([name.encode()] + describe(traces))
    path = cache.find(key)
    if path is None:
        path = cache.add(key, build(name, traces))
    return key, path


def explained(trace, error):
    """The exception for what the builder refuses."""
    text = str(error)
    if "no room for a tile" not in text:
        return NkiValidationError(text)
    return NkiCapacityError(f"{text}; {capacity(trace, error.done)}")


def records(data):
    """(offset, function, arguments) of each record."""
    at = 0
    while at < len(data):
        function, _, count, *_ = _HEAD.unpack_from(data, at)
        yield at, function, RECORD.unpack_from(data, at)
        at += RECORD.size + count * (SIDE.size if function in _SIDES else AP.size)


def _named(data, at, function, count):
    """The tiles that a record names."""
    size, places = (SIDE.size, (0,)) if function in _SIDES else (AP.size, (0, 28))
    for i in range(count):
        for place in places:
            yield int.from_bytes(data[at + RECORD.size + i * size + place:][:4], "little")


def capacity(trace, done):
    """Which tiles are alive at a record that asks for one more."""
    made, last, asked = {}, {}, None
    for at, function, fields in records(trace.bytes):
        if function == TILE_NEW:
            tile, memory, partitions, row = fields[ARGS:ARGS + 4]
            if at == done:
                asked = (memory, row)
            elif at < done:
                made[tile] = (row, partitions, memory, fields[3])
        for tile in _named(trace.bytes, at, function, fields[2]):
            last[tile] = at
    if asked is None:
        return "the tiles that are alive leave no room"
    memory, row = asked
    mine = sorted((entry for tile, entry in made.items()
                   if entry[2] == memory and last.get(tile, 0) >= done), reverse=True)
    name = next(region.name for region, number in MEMORY.items() if number == memory)
    limit = target.tile_size.sbuf_fmax_bytes if name == "sbuf" else PSUM_BYTES
    needed = sum(entry[0] for entry in mine) + row
    largest = ", ".join(f"{size / 1024:g} KiB from line {line}" for size, _, _, line in mine[:3])
    return (f"{name} needs {needed / 1024:g} KiB of {limit / 1024:g} KiB in each partition: "
            f"largest tiles are {largest or 'none'}")
