# SPDX-License-Identifier: MIT
"""From traces to a NEFF."""

import contextlib

from . import builder, cache, capacity, dtypes
from .errors import NkiCapacityError, NkiValidationError
from .reuse import without_repeated_loads
from .tensor import MemoryRegion, chip_type

__neuron_emu__ = True


def free_name(name, taken):
    """The name, or a longer one that nobody has."""
    while name in taken:
        name += "_"
    return name


def describe(traces, schedule=False):
    """What the NEFF is made of, as bytes."""
    parts = [f"{traces[0].generation} {len(traces)} {schedule:d}".encode()]
    for trace in traces:
        parts.append(b"in order" if schedule and trace.keeps_order else b"")
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


# What a NEFF has names for; other types are integers of their size there, and tf32 is fp32.
NAMED = (dtypes.FLOATS | dtypes.INTEGERS) - {"float8_e4m3fn", "tfloat32"}


def file_type(dtype):
    """The type that the NEFF names."""
    if dtype in NAMED:
        return chip_type(dtype)
    return chip_type("float32" if dtype == "tfloat32" else f"uint{8 * dtypes.SIZE[dtype]}")


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


def build(name, traces, schedule):
    """The program of the traces."""
    plain = [trace.bytes for trace in traces]
    if schedule:
        shorter = [trace.bytes if trace.keeps_order else without_repeated_loads(trace)
                   for trace in traces]
        if shorter != plain:
            # Tiles that are kept take room, which the kernel may need.
            with contextlib.suppress(NkiCapacityError):
                return program_of(name, traces, shorter, True)
    return program_of(name, traces, plain, schedule)


def program_of(name, traces, data, schedule):
    """The program of these records."""
    program = builder.Program(name, traces[0].generation)
    shared = shared_parts(traces)
    program.of_core(len(traces) - 1)
    for trace, part in zip(traces, data):
        try:
            variables(program, trace.core, trace, shared)
            if not trace.core:
                collectives(program, trace)
            program.run(trace.core, part, trace.tiles, list(trace.files))
        except builder.BuildError as error:
            raise explained(part, error, trace.generation) from None
    try:
        for trace in traces if schedule else ():
            program.schedule(trace.core, trace.keeps_order)
    except builder.BuildError as error:
        raise NkiValidationError(str(error)) from None
    return program


def neff(name, traces, schedule=False):
    """(key, path) of the NEFF, from the cache if it is there."""
    key = cache.key_of([name.encode()] + describe(traces, schedule))
    path = cache.find(key)
    if path is None:
        # Before there is a file: it may take longer than a file is left alone for.
        built = [build(name, traces, schedule)]

        def write(file):
            # A write that has failed is the last thing that a program does.
            program = built.pop() if built else build(name, traces, schedule)
            try:
                program.write(file)
            except builder.BuildError as error:
                raise NkiValidationError(str(error)) from None

        path = cache.add(key, write)
    return key, path


def explained(data, error, generation):
    """The exception for what the builder refuses."""
    text = str(error)
    for memory in ("sbuf", "psum"):
        if f"{memory.upper()} has no room for a tile" in text:
            return NkiCapacityError(
                f"{text}; {capacity.explain(data, error.done, memory, generation)}")
    return NkiValidationError(text)
