# SPDX-License-Identifier: MIT
"""nki.collectives on ranks of one process: the results are those of NumPy."""

import inspect
import signal
import threading
import time

import numpy as np
import pytest

import neuron_emu
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
from neuron_emu import builder, collectives, run

RANKS = 4
GROUPS = [[[0, 1, 2, 3]], [[0, 1], [2, 3]], [[3, 1, 0, 2]], [[2, 0], [1, 3]], [[0], [1], [2], [3]]]
REDUCTIONS = {"add": (nl.add, np.add), "min": (nl.minimum, np.minimum),
              "max": (nl.maximum, np.maximum)}


def numbers(*shape, dtype=np.float32, seed=0):
    """For each rank an array; small integers, whose sums are exact in every order."""
    random = np.random.default_rng(seed)
    return [random.integers(-50, 50, shape).astype(dtype) for _ in range(RANKS)]


def of_group(groups, rank):
    """The list that a rank is in, and its place."""
    group = next(group for group in groups if rank in group)
    return group, group.index(rank)


def like(tensor, shape=None, buffer=nl.shared_hbm):
    """A tensor in HBM."""
    return nl.ndarray(shape or tensor.shape, dtype=tensor.dtype, buffer=buffer)


def same(results, expected):
    """Each rank has what it should."""
    assert len(results) == len(expected) == RANKS
    for result, wanted in zip(results, expected):
        np.testing.assert_array_equal(result, wanted)


@nki.jit
def reduce_all(a, groups, op):
    out = like(a)
    ncc.all_reduce(srcs=[a], dsts=[out], replica_group=groups, op=op)
    return out


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_all_reduce(groups, name):
    op, reduction = REDUCTIONS[name]
    a = numbers(6, 40)
    results = neuron_emu.run_ranks(reduce_all, [(x, ncc.ReplicaGroup(groups), op) for x in a])
    same(results, [reduction.reduce([a[i] for i in of_group(groups, rank)[0]])
                   for rank in range(RANKS)])


def test_more_than_have_semaphores():
    @nki.jit
    def kernel(a, groups):
        sums = [like(a) for _ in range(40)]
        for i, out in enumerate(sums):
            ncc.all_reduce([sums[i - 1] if i else a], [out], groups, nl.maximum if i else nl.add)
        return sums[-1]

    a = numbers(3, 5)
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(GROUPS[0])) for x in a]),
         [sum(a)] * RANKS)


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.int8])
def test_types_of_all_reduce(dtype):
    a = [x % 8 for x in numbers(3, 5, dtype=dtype)]
    groups = ncc.ReplicaGroup(GROUPS[0])
    same(neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in a]),
         [sum(a).astype(dtype)] * RANKS)


def test_bfloat16():
    a = [neuron_emu.from_float32(x, "bfloat16") for x in numbers(4, 6)]
    groups = ncc.ReplicaGroup(GROUPS[0])
    results = neuron_emu.run_ranks(reduce_all, [(x, groups, nl.maximum) for x in a])
    same([neuron_emu.to_float32(x, "bfloat16") for x in results],
         [np.maximum.reduce(numbers(4, 6))] * RANKS)


@pytest.mark.parametrize("groups", GROUPS)
def test_all_gather(groups):
    @nki.jit
    def kernel(a, groups):
        out = like(a, (len(groups.groups[0]) * a.shape[0], a.shape[1]))
        ncc.all_gather(srcs=[a], dsts=[out], replica_group=groups, collective_dim=0)
        return out

    a = numbers(3, 7)
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(groups)) for x in a]),
         [np.concatenate([a[i] for i in of_group(groups, rank)[0]]) for rank in range(RANKS)])


@pytest.mark.parametrize("groups", GROUPS[:4])
def test_reduce_scatter(groups):
    @nki.jit
    def kernel(a, groups):
        out = like(a, (a.shape[0] // len(groups.groups[0]), a.shape[1]))
        ncc.reduce_scatter(srcs=[a], dsts=[out], replica_group=groups, collective_dim=0, op=nl.add)
        return out

    a = numbers(8, 5)
    expected = []
    for rank in range(RANKS):
        group, place = of_group(groups, rank)
        expected.append(np.split(sum(a[i] for i in group), len(group))[place])
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(groups)) for x in a]), expected)


@pytest.mark.parametrize("groups", GROUPS[:4])
def test_all_to_all(groups):
    @nki.jit
    def kernel(a, groups):
        out = like(a)
        ncc.all_to_all(srcs=[a], dsts=[out], replica_group=groups, collective_dim=0)
        return out

    a = numbers(8, 5)
    expected = []
    for rank in range(RANKS):
        group, place = of_group(groups, rank)
        expected.append(np.concatenate([np.split(a[i], len(group))[place] for i in group]))
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(groups)) for x in a]), expected)


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 3), (3, 1)], [(2, 2)]])
def test_collective_permute(pairs):
    @nki.jit
    def kernel(a, old):
        ncc.collective_permute(srcs=[a], dsts=[old], source_target_pairs=pairs)
        return old

    a, old = numbers(3, 5), numbers(3, 5, seed=1)
    sources = {target: source for source, target in pairs}
    expected = [a[sources[rank]] if rank in sources else old[rank].copy() for rank in range(RANKS)]
    same(neuron_emu.run_ranks(kernel, list(zip(a, old))), expected)


def test_a_part_that_nobody_sends_to_stays():
    @nki.jit
    def kernel(a, old):
        ncc.collective_permute(srcs=[a[0:2]], dsts=[old[1:3]], source_target_pairs=[(0, 1)])
        return old

    a, old = numbers(3, 5), numbers(3, 5, seed=1)
    expected = [x.copy() for x in old]
    expected[1][1:3] = a[0][0:2]
    same(neuron_emu.run_ranks(kernel, list(zip(a, old))), expected)


@pytest.mark.parametrize("groups", GROUPS[:4])
@pytest.mark.parametrize("channels", [1, 2])
def test_ring(groups, channels):
    @nki.jit
    def kernel(a, groups):
        out = like(a)
        ncc.collective_permute_implicit(
            srcs_by_channel=[[a[i]] for i in range(channels)],
            dsts_by_channel=[[out[i]] for i in range(channels)], replica_group=groups,
            channel_ids=list(range(channels)))
        return out

    a = numbers(channels, 4, 5)
    expected = []
    for rank in range(RANKS):
        group, place = of_group(groups, rank)
        expected.append(a[group[place - 1]])
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(groups)) for x in a]), expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_ring_with_a_reduction(name):
    op, reduction = REDUCTIONS[name]
    groups = ncc.ReplicaGroup([[1, 3, 2, 0]])

    @nki.jit
    def kernel(a, b):
        out = like(a)
        ncc.collective_permute_implicit_reduce(
            srcs0_by_channel=[[a]], srcs1_by_channel=[[b]], dsts_by_channel=[[out]],
            replica_group=groups, op=op)
        return out

    a, b = numbers(4, 5), numbers(4, 5, seed=1)
    same(neuron_emu.run_ranks(kernel, list(zip(a, b))),
         [reduction(a[i], b[i]) for i in (2, 0, 3, 1)])


def test_a_ring_of_two_channels_with_a_reduction():
    """Each channel has its own sources; both go the same way."""
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])

    @nki.jit
    def kernel(a, b):
        out = like(a)
        ncc.collective_permute_implicit_reduce(
            [[a[0]], [a[1]]], [[b[0]], [b[1]]], [[out[0]], [out[1]]], groups, nl.add,
            channel_ids=[0, 1])
        return out

    a, b = numbers(2, 4, 5), numbers(2, 4, 5, seed=1)
    same(neuron_emu.run_ranks(kernel, list(zip(a, b))), [a[i] + b[i] for i in (3, 0, 1, 2)])


@pytest.mark.parametrize("channel", [0, 1])
def test_whose_data_a_channel_brings(channel):
    """Both channels of a ring go the same way."""
    groups = ncc.ReplicaGroup([[2, 0, 1, 3]])

    @nki.jit
    def kernel(a):
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        nisa.register_store(out, ncc.collective_permute_implicit_current_processing_rank_id(
            1, groups, channel_id=channel))
        return out

    # By the order of the list: 2 sends to 0, 0 to 1, 1 to 3, 3 to 2.
    same(neuron_emu.run_ranks(kernel, [(x,) for x in numbers(1, 1)]),
         [np.array([[i]], np.int32) for i in (2, 0, 3, 1)])


@pytest.mark.parametrize("priority", [0, 3])
def test_priorities_change_no_result(priority, monkeypatch):
    """Of NeuronCore-v4: all collectives that take one, in one kernel."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])

    @nki.jit
    def kernel(a):
        outs = [like(a), like(a, (16, 5)), like(a, (1, 5)), like(a), like(a), like(a), like(a)]
        ncc.all_reduce([a], [outs[0]], groups, nl.add, priority=priority)
        ncc.all_gather([a], [outs[1]], groups, 0, priority=priority)
        ncc.reduce_scatter([a], [outs[2]], groups, 0, nl.add, priority=priority)
        ncc.all_to_all([a], [outs[3]], groups, 0, priority=priority)
        ncc.collective_permute([a], [outs[4]], [(0, 1), (1, 0), (2, 3), (3, 2)],
                               priority=priority)
        ncc.collective_permute_implicit([[a]], [[outs[5]]], groups, priority=priority)
        ncc.collective_permute_implicit_reduce([[a]], [[a]], [[outs[6]]], groups, nl.add,
                                               priority=priority)
        return tuple(outs)

    a = numbers(4, 5)
    found = neuron_emu.run_ranks(kernel, [(x,) for x in a])
    for rank, results in enumerate(found):
        before = a[rank - 1]
        wanted = [sum(a), np.concatenate(a), sum(a)[rank:rank + 1],
                  np.stack([x[rank] for x in a]), a[rank ^ 1], before, before * 2]
        for result, want in zip(results, wanted):
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("groups", GROUPS[:4])
def test_whose_data_a_ring_brings(groups):
    """After each step a rank stores what it has at the place of whom it comes from."""
    size = len(groups[0])

    @nki.jit
    def kernel(a, groups):
        out = like(a, (RANKS, 64))
        nl.store(out, nl.zeros((RANKS, 64), a.dtype))
        now = a
        for step in range(size):
            rank = ncc.collective_permute_implicit_current_processing_rank_id(
                iteration_id=step, replica_group=groups)
            nisa.dma_copy(dst=out[nl.ds(rank, 1)], src=now)
            if step + 1 < size:
                then = like(a, buffer=nl.private_hbm)
                ncc.collective_permute_implicit([[now]], [[then]], groups)
                now = then
        return out

    a = numbers(1, 64)
    expected = []
    for rank in range(RANKS):
        whole = np.zeros((RANKS, 64), np.float32)
        for i in of_group(groups, rank)[0]:
            whole[i] = a[i]
        expected.append(whole)
    same(neuron_emu.run_ranks(kernel, [(x, ncc.ReplicaGroup(groups)) for x in a]), expected)


def test_rank_id():
    @nki.jit
    def kernel(table):
        out = like(table, (1, 16))
        rank = ncc.rank_id()
        nisa.dma_copy(dst=out, src=table.ap(pattern=[[16, 1], [1, 16]], scalar_offset=rank,
                                            indirect_dim=0))
        return out

    table = np.arange(RANKS * 16, dtype=np.float32).reshape(RANKS, 16)
    same(neuron_emu.run_ranks(kernel, [table] * RANKS), [table[i:i + 1] for i in range(RANKS)])
    np.testing.assert_array_equal(kernel(table), table[0:1])


@pytest.mark.parametrize("dim", [0, 1])
def test_all_gather_in_sbuf(dim):
    groups = ncc.ReplicaGroup(GROUPS[2])

    @nki.jit
    def kernel(a):
        shape = list(a.shape)
        shape[dim] *= RANKS
        out = like(a, tuple(shape))
        tile = nl.load(a)
        gathered = nl.ndarray(tuple(shape), dtype=a.dtype, buffer=nl.sbuf)
        ncc.all_gather(srcs=[tile], dsts=[gathered], replica_group=groups, collective_dim=dim)
        nl.store(out, gathered)
        return out

    a = numbers(12, 10)
    same(neuron_emu.run_ranks(kernel, [(x,) for x in a]),
         [np.concatenate([a[i] for i in (3, 1, 0, 2)], axis=dim)] * RANKS)


def test_reductions_in_sbuf():
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a):
        out, part = like(a), like(a, (a.shape[0] // RANKS, a.shape[1]))
        tile = nl.load(a)
        summed = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        scattered = nl.ndarray(part.shape, dtype=a.dtype, buffer=nl.sbuf)
        ncc.all_reduce(srcs=[tile], dsts=[summed], replica_group=groups, op=nl.add)
        ncc.reduce_scatter(srcs=[tile], dsts=[scattered], replica_group=groups, collective_dim=0,
                           op=nl.maximum)
        nl.store(out, summed)
        nl.store(part, scattered)
        return out, part

    a = numbers(8, 10)
    results = neuron_emu.run_ranks(kernel, a)
    same([result[0] for result in results], [sum(a)] * RANKS)
    same([result[1] for result in results], np.split(np.maximum.reduce(a), RANKS))


@pytest.fixture(name="asked")
def asked_fixture(monkeypatch):
    """How many tensors each collective has that the builder is asked for, in their order."""
    sizes = []
    collective = builder.Program.collective

    def count(self, name, asked):
        sizes.append(len(asked.srcs))
        return collective(self, name, asked)

    monkeypatch.setattr(builder.Program, "collective", count)
    return sizes


def test_several_tensors_at_once(asked):
    """They are one collective."""
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a, b):
        outs = [like(a), like(b)]
        ncc.all_reduce(srcs=[a, b], dsts=outs, replica_group=groups, op=nl.add)
        return outs

    a, b = numbers(4, 5), numbers(9, 3, seed=1)
    results = neuron_emu.run_ranks(kernel, list(zip(a, b)))
    same([result[0] for result in results], [sum(a)] * RANKS)
    same([result[1] for result in results], [sum(b)] * RANKS)
    assert asked == [2]


def test_large_tensors_alone(asked, monkeypatch):
    """A list would move them three times."""
    monkeypatch.setattr(collectives, "ALONE_BYTES", 4 * 9 * 3)
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a, b):
        outs = [like(a), like(b), like(a)]
        ncc.all_reduce([a, b, a], outs, groups, nl.add)
        return outs

    a, b = numbers(4, 5), numbers(9, 3, seed=1)
    for found, of in zip(zip(*neuron_emu.run_ranks(kernel, list(zip(a, b)))), (a, b, a)):
        same(found, [sum(of)] * RANKS)
    assert asked == [2, 1]


def test_parts_of_tensors_at_once(asked):
    """Rows of a tensor go by way of others; blocks of all ranks lie one behind the other."""
    groups = ncc.ReplicaGroup(GROUPS[2])

    @nki.jit
    def kernel(a, b):
        gathered, turned = like(a, (RANKS * 2, 5)), like(a, (RANKS * 3, 5))
        part, swapped = like(b, (1, 3)), like(b)
        ncc.all_gather([a[1:3], a[0:3]], [gathered, turned], groups, 0)
        ncc.reduce_scatter([b, a[0:4]], [part, like(a, (1, 5))], groups, 0, nl.add)
        ncc.all_to_all([b, a[0:4]], [swapped, like(a, (4, 5))], groups, 0)
        return gathered, turned, part, swapped

    a, b = numbers(5, 5), numbers(4, 3, seed=1)
    order = GROUPS[2][0]
    results = neuron_emu.run_ranks(kernel, list(zip(a, b)))
    same([result[0] for result in results], [np.concatenate([a[i][1:3] for i in order])] * RANKS)
    same([result[1] for result in results], [np.concatenate([a[i][0:3] for i in order])] * RANKS)
    places = [order.index(rank) for rank in range(RANKS)]
    same([result[2] for result in results], [sum(b)[i:i + 1] for i in places])
    same([result[3] for result in results], [np.stack([b[i][k] for i in order]) for k in places])
    assert asked == [2, 2, 2]


def test_tensors_of_several_types(asked):
    """A collective has one type, and at most 64 tensors. What only moves has but a size."""
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a, b):
        sums = [like(a), like(b), like(a)]
        ncc.all_reduce([a, b, a], sums, groups, nl.add)
        all_of = [like(a, (RANKS * 3, 5)), like(b, (RANKS * 2, 4))]
        ncc.all_gather([a, b], all_of, groups, 0)
        many = [like(a) for _ in range(66)]
        ncc.all_reduce([a] * 66, many, groups, nl.maximum)
        return *sums, *all_of, many[0], many[65]

    a, b = numbers(3, 5), numbers(2, 4, seed=1, dtype=np.int32)
    for i, found in enumerate(zip(*neuron_emu.run_ranks(kernel, list(zip(a, b))))):
        same(found, [(sum(a), sum(b), sum(a), np.concatenate(a), np.concatenate(b),
                      np.maximum.reduce(a), np.maximum.reduce(a))[i]] * RANKS)
    assert asked == [2, 1, 2, 64, 2]


def test_tensors_in_place_at_once(asked):
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a, b):
        ncc.all_reduce([a, b], [a, b], groups, nl.add)
        return a, b

    a, b = numbers(4, 5), numbers(9, 3, seed=1)
    sums = sum(a), sum(b)
    results = neuron_emu.run_ranks(kernel, list(zip(a, b)))
    same([result[0] for result in results], [sums[0]] * RANKS)
    same([result[1] for result in results], [sums[1]] * RANKS)
    assert asked == [2]


def test_computing_before_and_after():
    """What a collective reads has been written before, and what it writes is read after it."""
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a):
        out = like(a)
        local, total = (like(a, buffer=nl.private_hbm) for _ in range(2))
        for _ in range(3):
            x = nl.load(a)
            nl.store(local, nl.multiply(x, 2.0))
            ncc.all_reduce(srcs=[local], dsts=[total], replica_group=groups, op=nl.add)
            nl.store(out, nl.add(nl.load(total), 1.0))
            a = out
        return out

    a = numbers(128, 300)
    expected = a
    for _ in range(3):
        expected = [2 * sum(expected) + 1] * RANKS
    for _ in range(2):
        same(neuron_emu.run_ranks(kernel, [(x,) for x in a]), expected)


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_generations(target, monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
    a = numbers(6, 40)
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])
    same(neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in a]), [sum(a)] * RANKS)


def test_several_ranks_on_a_chip():
    a = numbers(6, 40)
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])
    for chips in (1, 2):
        same(neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in a], chips=chips),
             [sum(a)] * RANKS)


def test_ranks_that_move():
    """The same ranks on other cores, while the programs of before are still kept."""
    a = numbers(6, 41)
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])
    for chips in (4, 1, 2, 1, 4):
        same(neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in a], chips=chips),
             [sum(a)] * RANKS)


def test_two_cores_of_a_pair():
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])

    @nki.jit
    def kernel(a):
        out, local, total = (like(a) for _ in range(3))
        half = a.shape[0] // 2
        mine = slice(nl.program_id(0) * half, (nl.program_id(0) + 1) * half)
        nl.store(local[mine], nl.multiply(nl.load(a[mine]), 2.0))
        ncc.all_reduce(srcs=[local], dsts=[total], replica_group=groups, op=nl.add)
        nl.store(out[mine], nl.load(total[mine]))
        return out

    a = numbers(64, 50)
    same(neuron_emu.run_ranks(kernel[2], [(x,) for x in a]), [2 * sum(a)] * RANKS)


@pytest.mark.parametrize("dim", [0, 1])
def test_two_cores_gather_tiles(dim, asked):
    """Each core has a tile of its own in SBUF, and gets those of the same core of all ranks."""
    groups = ncc.ReplicaGroup(GROUPS[2])

    @nki.jit
    def kernel(a):
        shape = [a.shape[0] // 2, a.shape[1]]
        shape[dim] *= RANKS
        out = like(a, (2, *shape))
        half = a.shape[0] // 2
        core = nl.program_id(0)
        tile = nl.load(a[core * half:(core + 1) * half])
        gathered = nl.ndarray(tuple(shape), dtype=a.dtype, buffer=nl.sbuf)
        ncc.all_gather(srcs=[tile], dsts=[gathered], replica_group=groups, collective_dim=dim)
        nl.store(out[core], gathered)
        return out

    a = numbers(12, 10)
    halves = [[a[i][core * 6:(core + 1) * 6] for i in GROUPS[2][0]] for core in range(2)]
    same(neuron_emu.run_ranks(kernel[2], [(x,) for x in a]),
         [np.stack([np.concatenate(half, axis=dim) for half in halves])] * RANKS)
    assert asked == [2]


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.private_hbm])
def test_two_cores_reduce_their_own(buffer, asked):
    """Of each core: a sum, its part of it, and what the rank before has, in SBUF or private HBM."""
    groups = ncc.ReplicaGroup(GROUPS[0])

    @nki.jit
    def kernel(a):
        half = a.shape[0] // 2
        core = nl.program_id(0)
        mine = slice(core * half, (core + 1) * half)
        out, ring, total = like(a), like(a), like(a)
        part = like(a, (2, half // RANKS, a.shape[1]))
        own, summed, turned, reduced = (nl.ndarray((half, a.shape[1]), dtype=a.dtype, buffer=buffer)
                                        for _ in range(4))
        scattered = nl.ndarray((half // RANKS, a.shape[1]), dtype=a.dtype, buffer=buffer)
        nisa.dma_copy(dst=own, src=a[mine])
        ncc.all_reduce([own], [summed], groups, nl.add)
        ncc.reduce_scatter([own], [scattered], groups, 0, nl.maximum)
        ncc.collective_permute_implicit([[own]], [[turned]], groups)
        ncc.collective_permute_implicit_reduce([[own]], [[own]], [[reduced]], groups, nl.add)
        nisa.dma_copy(dst=out[mine], src=summed)
        nisa.dma_copy(dst=part[core], src=scattered)
        nisa.dma_copy(dst=ring[mine], src=turned)
        nisa.dma_copy(dst=total[mine], src=reduced)
        return out, part, ring, total

    a = numbers(16, 10)
    results = neuron_emu.run_ranks(kernel[2], [(x,) for x in a])
    most = np.maximum.reduce(a)
    same([result[0] for result in results], [sum(a)] * RANKS)
    same([result[1] for result in results],
         [np.stack([most[8 * core + 2 * rank:8 * core + 2 * rank + 2] for core in range(2)])
          for rank in range(RANKS)])
    same([result[2] for result in results], [a[rank - 1] for rank in range(RANKS)])
    same([result[3] for result in results], [2 * a[rank - 1] for rank in range(RANKS)])
    assert asked == [2, 2, 2, 2]


def test_two_cores_with_tensors_of_both_kinds():
    @nki.jit
    def kernel(a):
        own = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.private_hbm)
        ncc.all_reduce([a], [own], ncc.ReplicaGroup(GROUPS[0]), nl.add)
        return like(a)

    refused(kernel[2], ("all_reduce: with LNC 2 src and dst lie both in shared_hbm, or neither",))


def test_one_rank_alone():
    a = numbers(6, 40)[0]
    np.testing.assert_array_equal(reduce_all(a, ncc.ReplicaGroup([[0]]), nl.add), a)


def test_the_check_of_the_chip():
    a = numbers(16, 40)
    groups = ncc.ReplicaGroup([[0, 1], [2, 3]])
    same(neuron_emu.run_ranks(nki.simulate(reduce_all), [(x, groups, nl.add) for x in a]),
         [a[0] + a[1]] * 2 + [a[2] + a[3]] * 2)


def test_device_times_have_the_collectives():
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])
    times = []
    for rows in (1, 256):
        neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in numbers(rows, 256)])
        times.append(reduce_all.device_ns)
    assert times[1] > 2 * times[0]


def test_device_times_and_profiles(tmp_path):
    kernel = nki.profile(reduce_all, tmp_path)
    groups = ncc.ReplicaGroup([[0, 1, 2, 3]])
    neuron_emu.run_ranks(kernel, [(x, groups, nl.add) for x in numbers(64, 512)])
    assert len(kernel.executions) == len(kernel.profiles) == RANKS
    assert kernel.device_ns == max(execution.device_ns for execution in kernel.executions) > 0
    for rank in range(RANKS):
        assert (tmp_path / f"reduce_all.rank{rank}.html").exists()
        # The end of the kernel waits at the line of the collective.
        line = inspect.getsource(reduce_all.func).splitlines().index(
            "    ncc.all_reduce(srcs=[a], dsts=[out], replica_group=groups, op=op)")
        line += reduce_all.func.__code__.co_firstlineno
        assert f"test_collectives.py:{line} " in kernel.profiles[rank].report


# --- What is refused ---

def refused(kernel, words, file="test_collectives.py"):
    """All ranks are refused the kernel, at a line of the file."""
    a = numbers(8, 8)
    with pytest.raises(nki.NkiValidationError) as caught:
        neuron_emu.run_ranks(kernel, [(x,) for x in a])
    for word in (*words, f"{file}:", "rank 0 of"):
        assert word in str(caught.value), str(caught.value)


ALL = [[0, 1, 2, 3]]


@pytest.mark.parametrize("call, words", [
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup([[0, 1]]), nl.add),
     ("all_reduce: each of the 4 ranks is in a list", "lacks rank 2")),
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup([[0, 1, 2, 3, 4]]), nl.add),
     ("all_reduce: the kernel runs on ranks 0 to 3", "rank 4", "run_ranks")),
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup([[0], [1, 2, 3]]), nl.add),
     ("the lists of a replica group have the same length",)),
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup([[0, 1], [1, 2]]), nl.add),
     ("a rank is in one list", "rank 1")),
    (lambda a, o: ncc.all_reduce([a], [o], [[0, 1, 2, 3]], nl.add),
     ("replica_group is a ReplicaGroup", "list")),
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup(ALL), nl.multiply),
     ("op is nl.add, nl.minimum or nl.maximum", "nl.multiply")),
    (lambda a, o: ncc.all_reduce([a], [o[0:4]], ncc.ReplicaGroup(ALL), nl.add),
     ("dst has as many elements as src",)),
    (lambda a, o: ncc.all_reduce([a], [o.view(nl.int32)], ncc.ReplicaGroup(ALL), nl.add),
     ("src and dst have one type", "float32 and int32")),
    (lambda a, o: ncc.all_reduce([a, a], [o], ncc.ReplicaGroup(ALL), nl.add),
     ("srcs and dsts have as many tensors", "2 and 1")),
    (lambda a, o: ncc.all_reduce([a], [nl.load(a)], ncc.ReplicaGroup(ALL), nl.add),
     ("all tensors lie in HBM, or all in SBUF",)),
    (lambda a, o: ncc.all_reduce([a], [o], ncc.ReplicaGroup(ALL), nl.add, priority=1),
     ("all_reduce with a priority", "NeuronCore-v4")),
    (lambda a, o: ncc.all_gather([a], [o], ncc.ReplicaGroup(ALL), collective_dim=1),
     ("collective_dim is 0 for tensors in HBM", "1")),
    (lambda a, o: ncc.all_gather([a], [o], ncc.ReplicaGroup(ALL), collective_dim=0),
     ("dst has 4 times the elements of src",)),
    (lambda a, o: ncc.reduce_scatter([a], [o], ncc.ReplicaGroup(ALL), 0, nl.add),
     ("dst has 1/4 of src's elements",)),
    (lambda a, o: ncc.all_reduce([a, a], [o, o], ncc.ReplicaGroup(ALL), nl.add),
     ("all_reduce: dsts are different tensors",)),
    (lambda a, o: ncc.all_reduce([a, o], [o, like(a)], ncc.ReplicaGroup(ALL), nl.add),
     ("no pair reads what another pair of the call writes", "in dsts of another pair")),
    (lambda a, o: ncc.all_to_all([nl.load(a)], [nl.load(a)], ncc.ReplicaGroup(ALL), 0),
     ("all_to_all: the tensors lie in HBM",)),
    (lambda a, o: ncc.collective_permute([a], [o], [(0, 1), (0, 2)]),
     ("a rank is the source of one",)),
    (lambda a, o: ncc.collective_permute([a], [o], [(0, 4)]),
     ("ranks from 0 to 3", "(0, 4)")),
    (lambda a, o: ncc.collective_permute_implicit([[a]], [[o]], ncc.ReplicaGroup(ALL), [1]),
     ("channel_ids are numbers from 0 on",)),
    (lambda a, o: ncc.collective_permute_implicit([[a], [a]], [[o]], ncc.ReplicaGroup(ALL)),
     ("srcs_by_channel has a list of one tensor",)),
    (lambda a, o: ncc.collective_permute_implicit_current_processing_rank_id(
        ncc.rank_id(), ncc.ReplicaGroup(ALL)), ("iteration_id is a number",)),
    (lambda a, o: [ncc.all_reduce([a], [o], ncc.ReplicaGroup(ALL), nl.add) for _ in range(1025)],
     ("a kernel has at most 1024 collectives",)),
])
def test_refused(call, words):
    def kernel(a):
        out = like(a)
        call(a, out)
        return out

    refused(kernel, words)


def test_a_loop_on_the_device_is_refused():
    def kernel(a):
        out = like(a)
        nl.fori_loop(0, 3, lambda i: ncc.all_reduce([a], [out], ncc.ReplicaGroup(ALL), nl.add))
        return out

    refused(kernel, ("a collective is started once",))


def test_a_call_without_ranks():
    with pytest.raises(nki.NkiValidationError, match="ranks 0 to 0.*run_ranks"):
        reduce_all(numbers(4, 4)[0], ncc.ReplicaGroup(ALL), nl.add)


def test_values_are_not_read_on_several_ranks():
    def kernel(a):
        print(nl.load(a))
        return a

    refused(nki.simulate(kernel), ("values are read in a kernel that runs on one rank",))


def test_ranks_and_chips():
    with pytest.raises(nki.NkiError, match="4 ranks on 3 chips"):
        neuron_emu.run_ranks(reduce_all, [(x, ncc.ReplicaGroup(ALL), nl.add)
                                          for x in numbers(4, 4)], chips=3)
    with pytest.raises(nki.NkiError, match="an entry for each rank"):
        neuron_emu.run_ranks(reduce_all, [])


def test_a_rank_that_disagrees():
    """The ranks ask for different sizes: all end, and the next call is good."""
    groups = ncc.ReplicaGroup(ALL)
    a = numbers(6, 40)
    wrong = a[:3] + [a[3][:5]]
    with pytest.raises(neuron_emu.NkiRankError, match="reduce_all: rank . of 4") as caught:
        neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in wrong])
    assert sorted(caught.value.errors) == [0, 1, 2, 3]
    same(neuron_emu.run_ranks(reduce_all, [(x, groups, nl.add) for x in a]), [sum(a)] * RANKS)


def test_a_rank_that_fails(monkeypatch):
    """Rank 2 reads out of bounds before its collective: no rank waits beyond the time limit."""
    monkeypatch.setenv("NEURON_RT_EXEC_TIMEOUT", "2")
    run.close()
    groups = ncc.ReplicaGroup(ALL)

    @nki.jit
    def kernel(a, index):
        out, local = like(a), like(a, buffer=nl.private_hbm)
        where = nl.load(index)
        tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a.ap(pattern=[[40, 6], [1, 40]], vector_offset=where,
                                         indirect_dim=0))
        nl.store(local, tile)
        ncc.all_reduce([local], [out], groups, nl.add)
        return out

    a = numbers(6, 40)
    good = np.arange(6, dtype=np.int32).reshape(6, 1)
    indices = [good, good, good + 100, good]
    with pytest.raises(neuron_emu.NkiRankError, match="kernel: rank . of 4 has failed") as caught:
        neuron_emu.run_ranks(kernel, list(zip(a, indices)))
    assert sorted(caught.value.errors) == [0, 1, 2, 3]
    same(neuron_emu.run_ranks(kernel, list(zip(a, [good] * RANKS))), [sum(a)] * RANKS)
    run.close()


def test_ctrl_c():
    """Ranks that work for ever are ended."""
    @nki.jit
    def kernel(a):
        out = like(a)
        x = nl.load(a)

        def body(register):
            nisa.tensor_scalar(x, x, nl.add, 1.0)
            return register

        nl.while_loop(nisa.register_alloc(1), body)
        nl.store(out, x)
        return out

    main = threading.main_thread().ident
    timer = threading.Timer(1, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        neuron_emu.run_ranks(kernel, [(x,) for x in numbers(4, 4)])
    timer.join()
    # Far below the time limit, which would end it, too.
    assert time.monotonic() - begin < 25
