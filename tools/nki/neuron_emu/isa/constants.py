# SPDX-License-Identifier: MIT
"""Constants of a program: they lie in HBM, and are loaded before the kernel begins."""

import numpy as np

from .. import dtypes
from ..tensor import MemoryRegion, NkiTensor, Storage
from ..trace import PACK, TILE_NEW, MEMORY, current
from . import transfer

__neuron_emu__ = True


def hbm_constant(array, dtype, name=""):
    """A tensor in HBM with the contents of an array, whose bytes are those of `dtype`."""
    trace = current()
    data = np.ascontiguousarray(array)
    key = (dtype, data.shape, data.tobytes())
    found = trace.constants.get(key)
    if found is None:
        found = trace.constants[key] = trace.hbm_tensor(
            data.shape or (1,), dtype, MemoryRegion.shared_hbm, name, key[2], "constant")
    return found


def sbuf_constant(array, dtype):
    """The same in SBUF, for the whole kernel: all that ask for the same numbers share it."""
    trace = current()
    data = np.ascontiguousarray(array)
    key = ("sbuf", dtype, data.shape, data.tobytes())
    found = trace.constants.get(key)
    if found is not None:
        return found
    source = hbm_constant(data, dtype)
    storage = Storage(MemoryRegion.sbuf, trace, "constant")
    storage.partitions = data.shape[0]
    storage.row = data.nbytes // data.shape[0]
    storage.tile = trace.tiles
    storage.constant = True
    trace.tiles += 1
    tile = NkiTensor(data.shape, dtype, storage)
    trace.constants[key] = tile
    kernel, trace.records = trace.records, trace.prologue
    trace.records.append(PACK(TILE_NEW, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                              storage.tile, MEMORY[MemoryRegion.sbuf], storage.partitions,
                              storage.row, 0, 0, 0, 0))
    loops, trace.loops = trace.loops, 0
    transfer.copy(trace, tile, source)
    trace.loops = loops
    trace.records = kernel
    return tile



def identity(n, dtype):
    """The identity matrix in SBUF; one of 128 serves all smaller ones."""
    whole = dtypes.from_float32(np.eye(128, dtype=np.float32), dtype)
    tile = sbuf_constant(whole, dtype)
    return tile if n == 128 else tile[0:n, 0:n]
