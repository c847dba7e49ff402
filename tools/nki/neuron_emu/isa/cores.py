# SPDX-License-Identifier: MIT
"""Functions of nki.isa for the two cores of a pair (LNC 2)."""

from ..builder import value
from ..errors import refuse
from ..tensor import MemoryRegion
from ..trace import GPSIMD, SCALAR, SYNC, TENSOR, VECTOR, current
from . import transfer
from .common import SBUF, chosen, member, needs, same
from .enums import dma_engine as dma_engines
from .enums import engine as engines

__neuron_emu__ = True

_BARRIER = value("function", "core_barrier")
_ALL = (TENSOR, VECTOR, SCALAR, GPSIMD, SYNC)
# Bytes of each partition that GpSimd's own engine exchanges, by the bytes of an element.
_SWAP_BYTES = {4: 1024, 2: 512, 1: 256}


def _pair(trace, function):
    needs(trace, 3, function)
    if trace.cores != 2:
        refuse(function, "it needs LNC 2", fix="launch the kernel as kernel[2](...)")


def core_barrier(data, cores, engine=engines.gpsimd, name=None):
    """Wait until the other core is here, and has done what comes before it."""
    trace = current()
    function = "core_barrier"
    _pair(trace, function)
    if tuple(cores) != (0, 1):
        refuse(function, "cores is (0, 1)", cores)
    if data is not None and data.buffer is not MemoryRegion.shared_hbm:
        refuse(function, "data lies in shared_hbm", data.buffer.name)
    return meet(trace, chosen(engine, GPSIMD, function, _ALL))


def meet(trace, engine):
    """Wait on an engine until the other core is here, too."""
    register = trace.register()
    trace.barriers += 1
    return trace.add(_BARRIER, engine, (), args=(register.number, 0, 0, 0, 0, 0, 0, 0))


def sendrecv(src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engines.dma,
             name=None):
    """src to dst of the other core, whose src comes to the own dst.

    The tiles go by way of HBM that both cores see: a core does not know where the other one's
    tiles lie.
    """
    trace = current()
    function = "sendrecv"
    _pair(trace, function)
    same(dst, src, "dst", "src", function)
    if src.buffer is not SBUF or dst.buffer is not SBUF:
        refuse(function, "src and dst lie in SBUF", f"{src.buffer.name} and {dst.buffer.name}")
    if src.dtype != dst.dtype:
        refuse(function, "src and dst have one type", f"{src.dtype} and {dst.dtype}")
    dma_engine = member(dma_engine, dma_engines, "dma_engine", function)
    for what, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
        if rank not in (0, 1):
            refuse(function, f"{what} is 0 or 1", rank)
    if send_to_rank != recv_from_rank:
        refuse(function, "a core of a pair sends to the one from which it receives",
               f"{send_to_rank} and {recv_from_rank}")
    if dma_engine is dma_engines.gpsimd_dma:
        limit = _SWAP_BYTES.get(src.itemsize, 1024)
        row = src.size // src.shape[0] * src.itemsize
        if row > limit:
            refuse(function, f"gpsimd_dma exchanges at most {limit} bytes of a partition", row,
                   "use dma_engine.dma")
    scratch = trace.shared_scratch((2,) + src.shape, src.dtype)
    transfer.copy(trace, scratch[trace.core], src)
    meet(trace, GPSIMD)
    handle = transfer.copy(trace, dst, scratch[send_to_rank])
    if trace.loops:
        # The next turn writes the same bytes.
        handle = meet(trace, GPSIMD)
    return handle
