# SPDX-License-Identifier: MIT
"""What a kernel does, as records of the builder's nb_flat_run().

A Trace belongs to one physical core. Each call of nki.isa adds a record. A tile lives from the
first record that names it to the last one.
"""

import math
import struct
import sys
import threading

from . import builder, dtypes, errors, target
from .builder import value
from .errors import NkiError, NkiValidationError, refuse
from .objects import Compared, VirtualRegister
from .tensor import (AP, MemoryRegion, NONE, NkiTensor, SIDE, Storage, WITH_DIMS, as_shape,
                     chip_type, free_dims, region, row_major)

__neuron_emu__ = True

# As struct nb_flat says.
RECORD = struct.Struct("<HBBIHH4B4B3I8i")
# Its first part is what each record has of its own; the rest is mostly that of others, too.
HEAD = struct.Struct("<HBBIHH")
BODY = struct.Struct("<4B4B3I8i")
# The same up to the number of a tile, and what comes after it.
TILE_HEAD = struct.Struct("<HBBIHH20xi")
TILE_REST = struct.Struct("<7i")
ENGINE_BYTE = 2
# Line and file.
PLACE = slice(4, 10)
# Field of an unpacked record with which its arguments begin; the first of a tile is its number.
ARGS = 17
PACK = RECORD.pack
PACK_HEAD = HEAD.pack
PACK_BODY = BODY.pack
PACK_TILE = TILE_HEAD.pack
NO_ARGS = (0, 0, 0, 0, 0, 0, 0, 0)

for _name, _size in (("record", RECORD.size), ("ap", AP.size), ("side", SIDE.size)):
    if value("sizeof", _name) != _size:
        raise ImportError(f"{builder.SONAME} is not of the same version as this package: its "
                          f"{_name} has {value('sizeof', _name)} bytes, not {_size}")

TENSOR, VECTOR, SCALAR, GPSIMD, SYNC = (value("engine", _name) for _name in (
    "tensor", "vector", "scalar", "gpsimd", "sync"))
EVERY_ENGINE = 31
NR_REGISTERS = 64

TILE_NEW = value("function", "tile_new")
TILE_AT = value("function", "tile_at")
RESERVE = value("function", "reserve")
PAIR = value("function", "pair")
MEMORY = {MemoryRegion.sbuf: value("memory", "sbuf"), MemoryRegion.psum: value("memory", "psum")}
PSUM_BYTES = 16 * 1024

_state = threading.local()


def current():
    """The trace of the kernel that runs in this thread."""
    try:
        trace = _state.trace
    except AttributeError:
        trace = None
    if trace is None:
        raise NkiError("this is only possible in a kernel: call it through @nki.jit or "
                       "nki.simulate()")
    return trace


def is_tracing():
    """Does a kernel run in this thread?"""
    return getattr(_state, "trace", None) is not None


def enter(trace):
    """Make `trace` that of this thread; returns the one before."""
    before = getattr(_state, "trace", None)
    _state.trace = trace
    return before


class NkiInstruction:
    """What functions of nki.isa return."""

    __slots__ = ("handle",)

    def __init__(self, handle):
        self.handle = handle

    def depends_on(self, *producers):
        """The instruction runs after these.

        A kernel is carried out as if in its own order, so what it reads and writes depends on no
        such edge; a producer that comes later is refused.
        """
        for producer in producers:
            if not isinstance(producer, NkiInstruction):
                refuse("depends_on", "producers are what functions of nki.isa have returned",
                       repr(producer))
            if producer.handle >= self.handle:
                refuse("depends_on", "a producer comes before its consumer")
        return self


def body(op0=0, op1=0, op2=0, reduce=0, kinds=(0, 0, 0), numbers=(0, 0, 0), args=NO_ARGS,
         dtype=0):
    """What Trace.put() takes: a record without its head."""
    return PACK_BODY(op0, op1, op2, reduce, *kinds, dtype, *numbers, *args)


class Form:
    """What tiles of the same shape and type in the same memory have in common.

    `rest` is that of the record which makes one, `pattern` that of the access pattern of all of
    it, both behind the number of the tile; without a pattern it has too many dimensions.
    """

    __slots__ = ("shape", "strides", "dtype", "memory", "row", "rest", "pattern")

    def __init__(self, shape, dtype, memory, row):
        self.shape = shape
        self.strides = row_major(shape)
        self.dtype = dtype
        self.memory = memory
        self.row = row
        self.rest = TILE_REST.pack(MEMORY[memory], shape[0], row, 0, 0, 0, 0)
        free = free_dims(shape, self.strides)
        self.pattern = None if free is None else WITH_DIMS.pack(
            0, 0, free, 0, shape[0], chip_type(dtype), 0, NONE, 0, 0)[4:]


class Trace:
    """The records of a kernel on one physical core."""

    def __init__(self, generation, core=0, cores=1, grid=(), ranks=1):
        self.generation = generation
        self.core = core
        self.cores = cores
        self.grid = grid
        self.programs = math.prod(grid)
        self.ranks = ranks
        self.collectives = []
        # What collectives have used by the way: {what it is: [(collectives before it, tensor)]}
        self.scratch = {}
        self.program_id = (core,)
        self.inputs = {}
        self.shared = []
        self.shared_next = 0
        self.bytes = b""
        self.prologue = []
        self.records = []
        self.patches = []
        self.tiles = 0
        self.forms = {}
        self.files = {}
        # Has an instruction integers that pass as floats, and may look like NaNs?
        self.integers_as_floats = False
        self.hbm = []
        self.told = []
        self.constants = {}
        self.free_registers = list(range(NR_REGISTERS - 1, 0, -1))
        self.loops = 0
        self.open_loops = []
        # Those of them that are `while register:`.
        self.whiles = []
        self.in_order = 0
        self.keeps_order = False
        self.late = []
        self.held = []
        self.copies = 0
        self.done = False
        self.eager = None
        self.barriers = 0

    def begin_program(self, program_id):
        """The kernel begins as one of the programs of its grid."""
        self.program_id = tuple(int(n) for n in program_id)
        self.shared_next = 0

    # --- places in the kernel ---

    def where(self):
        """(file, line) of the kernel, as a record has it."""
        frame = sys._getframe(2)
        while "__neuron_emu__" in frame.f_globals:
            frame = frame.f_back
        name = frame.f_code.co_filename
        number = self.files.get(name)
        if number is None:
            number = self.files[name] = len(self.files) + 1
        return number, frame.f_lineno

    # --- records ---

    def add(self, function, engine, operands, op0=0, op1=0, op2=0, reduce=0, flags=0,
            kinds=(0, 0, 0), numbers=(0, 0, 0), args=NO_ARGS, dtype=0):
        """Append a record; `operands` are packed."""
        return self.put(function, engine, len(operands),
                        PACK_BODY(op0, op1, op2, reduce, *kinds, dtype, *numbers, *args), flags,
                        operands)

    def put(self, function, engine, count, rest, flags=0, operands=()):
        """Append a record of which all but the head is packed; `operands` are those of its `count`
        operands that are not in `rest`.
        """
        number, line = self.where()
        records = self.records
        records.append(PACK_HEAD(function, engine, count, line, number, flags) + rest)
        records += operands
        if self.held:
            self.held.clear()
        return NkiInstruction(len(records))

    def mask(self, record, register):
        """The engines of a register record are those that use the register, in the end."""
        self.patches.append((record, register.use))

    # --- tensors ---

    def ndarray(self, shape, dtype, buffer=MemoryRegion.sbuf, name="", address=None):
        """A new tensor."""
        if address is None:
            try:
                form = self.forms.get((shape, dtype, buffer))
            except TypeError:
                form = None
            if form is not None:
                return self.tile(form, name)
        asked = shape, dtype, buffer
        shape = as_shape(shape, "nl.ndarray")
        dtype = dtypes.canonical(dtype)
        memory = region(buffer)
        if memory is MemoryRegion.shared_hbm:
            return self.shared_tensor(shape, dtype, name)
        if memory not in MEMORY:
            return self.hbm_tensor(shape, dtype, memory, name)
        if self.generation < 4 and (dtype in dtypes.PACKED or dtype == "float8_e4m3fn"):
            refuse("nl.ndarray", f"{dtype} needs NeuronCore-v4",
                   f"NeuronCore-v{self.generation}")
        if len(shape) == 1:
            shape = shape + (1,)
        if shape[0] > 128:
            refuse("nl.ndarray", "a tile has at most 128 partitions (dimension 0)", shape[0],
                   "split the tensor, or reshape it so that dimension 0 is at most 128")
        row = dtypes.SIZE[dtype]
        for n in shape[1:]:
            row *= n
        limit = target.tile_size.sbuf_fmax_bytes if memory is MemoryRegion.sbuf else PSUM_BYTES
        if row > limit:
            refuse("nl.ndarray", f"a partition of {memory.name} holds {limit // 1024} KiB",
                   f"{row / 1024:g} KiB for shape {shape} of {dtype}", "use smaller tiles")
        form = Form(shape, dtype, memory, row)
        # What is asked for next time means the same: numbers that are no registers, and a name, as
        # types of NumPy that are equal may be two types of NKI.
        if asked[0].__class__ is tuple and all(n.__class__ is int for n in asked[0]) and \
                asked[1].__class__ is str and buffer is memory:
            self.forms[asked] = form
        return self.tile(form, name, address, limit)

    def tile(self, form, name, address=None, limit=0):
        """A new tile; `limit` is for one whose address is told."""
        storage = Storage(form.memory, self, name)
        storage.partitions = form.shape[0]
        storage.row = form.row
        storage.tile = tile = self.tiles
        storage.loop = self.loops
        self.tiles = tile + 1
        if address is None:
            number, line = self.where()
            self.records.append(PACK_TILE(TILE_NEW, 0, 0, line, number, 0, tile) + form.rest)
        else:
            self.place(storage, address, limit)
        tensor = NkiTensor(form.shape, form.dtype, storage, strides=form.strides)
        if form.pattern is not None:
            tensor._ap = tile.to_bytes(4, "little") + form.pattern
        return tensor

    def place(self, storage, address, limit):
        """A tile whose place the kernel tells."""
        try:
            partition, byte = (int(n) for n in address)
        except (TypeError, ValueError):
            refuse("nl.ndarray", "address is (partition, byte in the partition)", repr(address))
        if partition < 0 or partition + storage.partitions > 128 or byte < 0 or \
                byte + storage.row > limit:
            refuse("nl.ndarray", f"{storage.memory.name} has 128 partitions of {limit} bytes",
                   f"address {address} for {storage.partitions} partitions of {storage.row} bytes")
        storage.address = (partition, byte)
        self.told.append((storage.memory, partition, storage.partitions, byte, storage.row))
        number, line = self.where()
        self.records.append(PACK(TILE_AT, 0, 0, line, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                 storage.tile, MEMORY[storage.memory], storage.partitions,
                                 storage.row, partition, byte, 0, 0))

    def hbm_tensor(self, shape, dtype, memory, name, constant=None, role="tmp"):
        """A tensor in HBM, which lives as long as the program."""
        storage = Storage(memory, self, name)
        storage.slot = len(self.hbm)
        storage.constant = constant
        storage.role = role
        storage.bytes = dtypes.SIZE[dtype]
        for n in shape:
            storage.bytes *= n
        storage.host = (shape, dtype)
        self.hbm.append(storage)
        return NkiTensor(shape, dtype, storage)

    def shared_tensor(self, shape, dtype, name):
        """The programs that run one after the other share the tensors that they all make."""
        number = self.shared_next
        self.shared_next += 1
        if number == len(self.shared):
            self.shared.append(self.hbm_tensor(shape, dtype, MemoryRegion.shared_hbm, name))
        found = self.shared[number]
        if found.shape != shape or found.dtype != dtype:
            refuse("nl.ndarray", "all programs of a grid make the same tensors in shared_hbm",
                   f"shape {shape} and {found.shape}")
        return found

    def shared_scratch(self, shape, dtype):
        """Bytes that both cores of a pair see, under the same number on both."""
        return self.hbm_tensor(shape, dtype, MemoryRegion.shared_hbm, "")

    def written(self, storage):
        """An instruction writes a tensor in HBM: an input becomes an output, too."""
        if storage.role == "input":
            storage.role = "inout"
        elif storage.role == "constant":
            refuse("dma_copy", "a constant cannot be written")

    # --- registers ---

    def register(self):
        """A register that nothing uses."""
        if not self.free_registers:
            refuse("register_alloc", f"an engine has {NR_REGISTERS - 1} registers, and all of them "
                   "are in use", fix="let go of registers that are not needed any more")
        return Register(self, self.free_registers.pop())

    def release(self, register):
        """The kernel has let go of a register.

        A loop on the device may need it in its next turn, if it was there before the loop.
        """
        if register.depth < self.loops:
            self.late.append((register.depth, register.number))
        else:
            self.free_registers.append(register.number)

    def enter_loop(self, function):
        """A loop on the device begins, by a call of `function`."""
        self.loops += 1
        self.open_loops.append((function, errors.place()))

    def leave_loop(self):
        """A loop on the device ends."""
        self.loops -= 1
        self.open_loops.pop()
        self.free_registers += [number for depth, number in self.late if depth >= self.loops]
        self.late = [entry for entry in self.late if entry[0] < self.loops]

    def refuse_open_loop(self):
        """The innermost loop on the device was left before its end."""
        function, place = self.open_loops[-1]
        raise NkiValidationError(
            f"{place}: {function}: a loop on the device runs to its end and cannot be left by "
            "break, return or an exception; unroll it with range()")

    # --- the end ---

    def finish(self):
        """The kernel is over."""
        self.done = True
        self.eager = None
        self.whiles.clear()
        self.bytes = self.packed()

    def packed(self, pair=True):
        """The records as bytes."""
        changed = True
        while changed:
            changed = False
            for _, use in self.patches:
                for source in use.sources:
                    if use.engines & ~source.engines:
                        source.engines |= use.engines
                        changed = True
        records = list(self.records) if self.patches else self.records
        for record, use in self.patches:
            old = records[record]
            records[record] = (old[:ENGINE_BYTE] + bytes((use.engines,)) +
                               old[ENGINE_BYTE + 1:])
        first = self.reservations() + self.prologue
        if self.cores > 1 and pair:
            first.insert(0, PACK(PAIR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, *NO_ARGS))
        return b"".join(first + records if first else records)

    def reservations(self):
        """The places that kernels have told, which other tiles keep out of."""
        records = []
        for memory in MEMORY:
            boxes = sorted((byte, byte + row) for where, _, _, byte, row in self.told
                           if where is memory)
            merged = []
            for low, high in boxes:
                # The builder gives out places in units; neighbours must not share one.
                low, high = low & ~63, (high + 63) & ~63
                if merged and low <= merged[-1][1]:
                    merged[-1][1] = max(high, merged[-1][1])
                else:
                    merged.append([low, high])
            limit = target.tile_size.sbuf_fmax_bytes if memory is MemoryRegion.sbuf else PSUM_BYTES
            for low, high in merged:
                records.append(PACK(RESERVE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                    MEMORY[memory], 128, min(high, limit) - low, 0, low, 0, 0))
        return records


def eager_number(what):
    """Its value, in nki.simulate()."""
    from . import eager
    return eager.number(what)


class Use:
    """The engines that use a register, and the uses of those that it is made of."""

    __slots__ = ("engines", "sources")

    def __init__(self):
        self.engines = 0
        self.sources = []


class Register(Compared, VirtualRegister):
    """A register of the trace: the same number on every engine that uses it."""

    def __init__(self, trace, number):
        super().__init__()
        self.trace = trace
        self.number = number
        self.depth = trace.loops
        self.use = Use()

    def __repr__(self):
        eager = self.trace.eager
        return eager.show(self) if eager else f"VirtualRegister({self.number})"

    def __bool__(self):
        from .language import whiles
        answer = whiles.asks(self)
        return bool(eager_number(self)) if answer is None else answer

    def __int__(self):
        return int(eager_number(self))

    __index__ = __int__

    def __del__(self):
        if not self.trace.done:
            self.trace.release(self)
