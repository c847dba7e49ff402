# SPDX-License-Identifier: MIT
"""Values while a kernel runs in nki.simulate(): what has been recorded so far is built and run.

A value that is read costs a run of the program up to there. The bits are those that the whole
kernel computes, because the same instructions run on the same inputs.
"""

import numpy as np

from . import dtypes, isa, lower, run
from .errors import NkiError, refuse
from .objects import VirtualRegister
from .tensor import MemoryRegion
from .trace import enter

__neuron_emu__ = True

_NAME = "value"


class Eager:
    """Reads values of the kernel that `trace` records."""

    def __init__(self, trace, arrays):
        self.trace = trace
        self.arrays = arrays
        self.name = lower.free_name(_NAME, arrays)

    def _ready(self):
        trace = self.trace
        if trace.loops:
            refuse("value", "a value is read outside of loops on the device",
                   fix="use range() while you look for an error")
        if trace.collectives or trace.ranks > 1:
            refuse("value", "values are read in a kernel that runs on one rank, before its first "
                   "collective: the other ranks would have to be there")
        if trace.barriers:
            refuse("value", "with LNC 2 values are read before the first core_barrier or sendrecv: "
                   "the other core would have to be there")

    def _record(self, what):
        """Records that bring the value to a tensor in HBM."""
        trace = self.trace
        if isinstance(what, VirtualRegister):
            result = trace.hbm_tensor((1,), "int32", MemoryRegion.private_hbm, self.name,
                                      role="output")
            isa.register_store(result, what)
            return result
        result = trace.hbm_tensor(what.shape, what.dtype, MemoryRegion.private_hbm, self.name,
                                  role="output")
        if what.buffer is MemoryRegion.psum:
            copy = trace.ndarray(what.shape, what.dtype)
            isa.tensor_copy(copy, what, engine=isa.engine.vector)
            what = copy
        isa.dma_copy(result, what)
        return result

    def value(self, what):
        """The value of a tensor or register, as an array."""
        self._ready()
        trace = self.trace
        state = (len(trace.records), len(trace.hbm), trace.tiles, len(trace.patches),
                 trace.copies, list(trace.free_registers))
        before = enter(trace)
        try:
            result = self._record(what)
            names = [storage.name for storage in trace.hbm]
            for storage in trace.hbm:
                named = storage.role in ("input", "inout") or storage is result.storage
                storage.name = storage.name if named else lower.free_name(
                    f"{storage.role}_{storage.slot}", self.arrays)
            trace.bytes = trace.packed(pair=False)
            return self._run(result)
        finally:
            for storage, name in zip(trace.hbm, names):
                storage.name = name
            enter(before)
            records, hbm, trace.tiles, patches, trace.copies, registers = state
            del trace.records[records:], trace.hbm[hbm:], trace.patches[patches:]
            trace.free_registers[:] = registers

    def _run(self, result):
        trace = self.trace
        core, cores = trace.core, trace.cores
        trace.core, trace.cores = 0, 1
        try:
            key, path = lower.neff(_NAME, [trace])
        finally:
            trace.core, trace.cores = core, cores
        tensors = [(s.name, s.host[0], s.host[1], s.role) for s in trace.hbm
                   if s.role in ("input", "output", "inout")]
        with run.lock:
            program = run.loaded(key, path, tensors, trace.generation, 1, False)
            for name, _, _, role in tensors:
                if role in ("input", "inout"):
                    program.write(name, self.arrays[name])
            program.execute()
            return program.read(self.name, result.dtype)

    def show(self, what):
        """The value as text."""
        value = self.value(what)
        if isinstance(what, VirtualRegister):
            return f"VirtualRegister({int(value[0])})"
        values = value if value.dtype.kind != "V" else dtypes.to_float32(value, what.dtype)
        return (f"NkiTensor(shape={what.shape}, dtype={what.dtype}, buffer={what.buffer.name})\n"
                f"{values}")


def number(what):
    """The one number of a tensor or register, for Python's if and while."""
    trace = what.trace if isinstance(what, VirtualRegister) else what.storage.trace
    eager = getattr(trace, "eager", None)
    if eager is None:
        raise TypeError("the value of a tile or register is not known while a kernel is traced: "
                        "use nki.simulate(), or nl.fori_loop() and nl.where()")
    value = eager.value(what)
    if value.size != 1:
        raise NkiError(f"a tensor of shape {value.shape} is not one number")
    dtype = "int32" if isinstance(what, VirtualRegister) else what.dtype
    return dtypes.to_float32(value, dtype).reshape(())[()] if value.dtype.kind in "Vf" else (
        value.reshape(())[()])


def array(what):
    """The values of a tensor, for numpy.asarray()."""
    eager = getattr(what.storage.trace, "eager", None)
    if eager is None:
        raise TypeError("the values of a tensor are not known while a kernel is traced: use "
                        "nki.simulate()")
    return np.asarray(eager.value(what))


