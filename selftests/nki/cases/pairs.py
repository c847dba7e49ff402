# SPDX-License-Identifier: MIT
"""The two cores of a pair: exchanges and barriers. Each of them runs each case."""

import numpy as np

import nki.isa as nisa
import nki.language as nl

from . import F32, Table, call, tile

TABLE = Table("pairs", cores=2)
DMA, GPSIMD_DMA = nisa.dma_engine.dma, nisa.dma_engine.gpsimd_dma
# Elements of a partition that gpsimd_dma exchanges: 1024, 512 or 256 bytes by the type's width.
LIMIT = 256


def me():
    """The number of this core."""
    return nl.program_id(0)


def of_core(core, shape, dtype=F32):
    """Other numbers on each core, which each type has."""
    numbers = np.arange(np.prod(shape)).reshape(shape) % 7 + 8 * core
    return numbers.astype(np.float32 if dtype in ("bfloat16", "float8_e4m3") else dtype)


def swapped(shape, dtype=F32):
    """What the cores have after an exchange."""
    return np.stack([of_core(1, shape, dtype), of_core(0, shape, dtype)])


def own(shape, dtype=F32):
    """The tile of this core."""
    return tile(of_core(me(), shape, dtype), dtype)


def exchange(src, dst=None, pipe_id=0, **options):
    """A tile with the numbers of the other core."""
    dst = nl.ndarray(src.shape, src.dtype) if dst is None else dst
    call(nisa.sendrecv, src, dst, 1 - me(), 1 - me(), pipe_id, **options)
    return dst


# --- sendrecv ---

for _dtype in (F32, "int32", "float16", "bfloat16", "int16", "uint8", "float8_e4m3"):
    for _engine in (DMA, GPSIMD_DMA):
        TABLE.case(f"sendrecv of {_dtype} by {_engine.name}",
                   lambda dtype=_dtype, engine=_engine:
                   exchange(own((3, LIMIT), dtype), dma_engine=engine),
                   swapped((3, LIMIT), _dtype), since=3)
    TABLE.refused(f"sendrecv by gpsimd_dma of too much {_dtype}",
                  lambda dtype=_dtype:
                  exchange(own((3, LIMIT + 1), dtype), dma_engine=GPSIMD_DMA),
                  "gpsimd_dma exchanges at most", since=3)
TABLE.case("sendrecv of all partitions, by dma and more than gpsimd_dma takes",
           lambda: exchange(own((128, LIMIT + 1))), swapped((128, LIMIT + 1)), since=3)
TABLE.case("sendrecv of three dimensions", lambda: exchange(own((4, 3, 5))), swapped((4, 3, 5)),
           since=3)
TABLE.case("sendrecv of some partitions and every other column",
           lambda: exchange(own((8, 6))[2:5, 1:6:2]), swapped((8, 6))[:, 2:5, 1:6:2], since=3)


def into_a_part():
    """The rest of the tile stays what it was."""
    made = tile(np.full((4, 6), -1, np.float32))
    exchange(own((4, 2)), made[:, 1:5:2])
    return made


_PART = np.full((2, 4, 6), -1, np.float32)
_PART[:, :, 1:5:2] = swapped((4, 2))
TABLE.case("sendrecv to every other column", into_a_part, _PART, since=3)


def both_ways(first, second):
    """There and back again, through two pipes or one."""
    there = exchange(own((3, 4)), pipe_id=first)
    return there, exchange(there, pipe_id=second)


_BACK = (swapped((3, 4)), swapped((3, 4))[::-1])
TABLE.case("sendrecv through two pipes", lambda: both_ways(0, 1), _BACK, since=3)
TABLE.case("sendrecv twice through one pipe", lambda: both_ways(3, 3), _BACK, since=3)


def computed():
    """What is sent was computed just before, and is overwritten just after."""
    x = own((3, 4))
    nisa.tensor_scalar(x, x, nl.add, 100.0)
    y = exchange(x)
    nisa.memset(x, 0)
    nisa.tensor_scalar(y, y, nl.multiply, 2.0)
    return y


TABLE.case("sendrecv between computations", computed, (swapped((3, 4)) + 100) * 2, since=3)


def in_a_loop(turns):
    """Each turn sends what came in the turn before it, with one more."""
    x = own((3, 4))

    def turn(_):
        y = exchange(x)
        nisa.tensor_scalar(x, y, nl.add, 1.0)
    nl.fori_loop(0, turns, turn)
    return x


TABLE.case("sendrecv in a loop of the device, an odd number of times", lambda: in_a_loop(3),
           swapped((3, 4)) + 3, since=3)
TABLE.case("sendrecv in a loop of the device, an even number of times", lambda: in_a_loop(4),
           swapped((3, 4))[::-1] + 4, since=3)

for _name, _message, _make in (
        ("from PSUM", "src and dst lie in SBUF",
         lambda: exchange(tile(np.ones((2, 4), np.float32), psum=True))),
        ("to PSUM", "src and dst lie in SBUF",
         lambda: exchange(own((2, 4)), nl.ndarray((2, 4), nl.float32, buffer=nl.psum))),
        ("of two types", "src and dst have one type",
         lambda: exchange(own((2, 4)), nl.ndarray((2, 4), nl.int32))),
        ("of two shapes", "dst",
         lambda: exchange(own((2, 4)), nl.ndarray((2, 5), nl.float32))),
        ("to a core that is not of the pair", "send_to_rank is 0 or 1",
         lambda: call(nisa.sendrecv, own((2, 4)), own((2, 4)), 2, 1 - me(), 0)),
        ("from a core that is not of the pair", "recv_from_rank is 0 or 1",
         lambda: call(nisa.sendrecv, own((2, 4)), own((2, 4)), 1 - me(), -1, 0)),
        ("to one core and from another", "sends to the one from which it receives",
         lambda: call(nisa.sendrecv, own((2, 4)), own((2, 4)), 1, 0, 0)),
        ("by no engine", "dma_engine is one of",
         lambda: exchange(own((2, 4)), dma_engine="nonsense"))):
    TABLE.refused(f"sendrecv {_name}", _make, _message, since=3)

# --- core_barrier ---


def halves(barrier):
    """Each core writes its half of a tensor, and reads the other half behind the barrier."""
    shared = nl.ndarray((2, 3, 4), nl.float32, buffer=nl.shared_hbm)
    nl.store(shared[me()], own((3, 4)))
    barrier(shared)
    return nl.load(shared[1 - me()])


def meet(shared, **options):
    """A barrier."""
    call(nisa.core_barrier, shared, (0, 1), **options)


TABLE.case("core_barrier", lambda: halves(meet), swapped((3, 4)), since=3)
for _engine in ("tensor", "vector", "scalar", "gpsimd", "sync", "unknown"):
    TABLE.case(f"core_barrier on {_engine}",
               lambda engine=_engine:
               halves(lambda shared: meet(shared, engine=nisa.engine[engine])),
               swapped((3, 4)), since=3)
TABLE.case("core_barrier of no data", lambda: halves(lambda shared: meet(None)), swapped((3, 4)),
           since=3)
TABLE.case("core_barrier with cores in a list",
           lambda: halves(lambda shared: call(nisa.core_barrier, shared, [0, 1])),
           swapped((3, 4)), since=3)


def turns_of_both(turns):
    """In each turn of a loop a core adds to its half what the other one has."""
    shared = nl.ndarray((2, 3, 4), nl.float32, buffer=nl.shared_hbm)
    x = own((3, 4))

    def turn(_):
        nl.store(shared[me()], x)
        meet(shared)
        nisa.tensor_tensor(x, x, nl.load(shared[1 - me()]), nl.add)
        meet(shared)
    nl.fori_loop(0, turns, turn)
    return x


# Both cores have the sum after the first turn, and each later turn doubles it.
TABLE.case("core_barrier in a loop of the device", lambda: turns_of_both(3),
           np.stack([swapped((3, 4)).sum(0) * 4] * 2), since=3)

for _name, _message, _make in (
        ("of the cores in another order", "cores is (0, 1)",
         lambda: call(nisa.core_barrier, None, (1, 0))),
        ("of one core", "cores is (0, 1)", lambda: call(nisa.core_barrier, None, (0,))),
        ("of a tile", "data lies in shared_hbm",
         lambda: call(nisa.core_barrier, own((2, 4)), (0, 1))),
        ("on no engine", "engine is",
         lambda: call(nisa.core_barrier, None, (0, 1), engine="nonsense"))):
    TABLE.refused(f"core_barrier {_name}", _make, _message, since=3)

# --- What has no pairs ---

ALONE = Table("no pairs")
for _name, _make in (
        ("sendrecv", lambda: call(nisa.sendrecv, tile(of_core(0, (2, 4))),
                                 tile(of_core(0, (2, 4))), 1, 1, 0)),
        ("core_barrier", lambda: call(nisa.core_barrier, None, (0, 1)))):
    ALONE.refused(f"{_name} of a core alone", _make, "it needs LNC 2", since=3)
    ALONE.refused(f"{_name} of a trn1", _make, "it needs NeuronCore-v3 or later", until=2)
