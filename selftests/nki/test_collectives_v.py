# SPDX-License-Identifier: MIT
"""Collectives whose counts are known only when the kernel runs."""

import numpy as np
import pytest

import neuron_emu
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
from neuron_emu.trace import current
from test_collectives import ALL, GROUPS, RANKS, like, numbers, of_group, refused, same

SEND_COUNTS, SEND_DISPLS, RECV_COUNTS, RECV_DISPLS = range(4)
UNSET = 0xffffffff


def metadata(groups, most, gathers=False, rows=3, seed=0):
    """For each rank its numbers: any counts up to `most`, of blocks that end where they may."""
    random = np.random.default_rng(seed)
    count = len(groups[0])
    found = []
    for _ in range(RANKS):
        numbers_of_rank = np.full((rows, count), UNSET, np.uint32)
        counts = random.integers(0, most + 1, count)
        numbers_of_rank[SEND_COUNTS] = counts
        numbers_of_rank[SEND_DISPLS] = most - counts
        if not gathers:
            numbers_of_rank[SEND_DISPLS] += most * np.arange(count, dtype=np.uint32)[::-1]
        if rows == 4:
            numbers_of_rank[RECV_DISPLS] = most * np.arange(count)[::-1]
        found.append(numbers_of_rank)
    return found


def moved(a, meta, groups, gathers=False):
    """For each rank (output, counts) as NumPy moves them."""
    results = []
    for rank in range(RANKS):
        group, place = of_group(groups, rank)
        column = 0 if gathers else place
        out = np.zeros(a[0].size * (len(group) if gathers else 1), a[0].dtype)
        counts = [int(meta[source][SEND_COUNTS, column]) for source in group]
        for i, source in enumerate(group):
            begin = int(meta[source][SEND_DISPLS, column])
            to = int(meta[rank][RECV_DISPLS, i]) if len(meta[rank]) == 4 else \
                i * (out.size // len(group))
            out[to:to + counts[i]] = a[source].reshape(-1)[begin:begin + counts[i]]
        results.append((out, counts))
    return results


@nki.jit
def all_to_all(a, meta, groups, known=False, displs=False):
    out = like(a)
    nl.store(out, nl.zeros(a.shape, a.dtype, buffer=nl.sbuf))
    ncc.all_to_all_v(srcs=[a], dsts=[out], replica_group=groups, metadata_tensor=meta,
                     recv_counts_known=known, has_rdispls=displs)
    return out, meta


@nki.jit
def all_gather(a, meta, groups, known=False, displs=False):
    out = like(a, (a.shape[0] * len(groups.groups[0]), a.shape[1]))
    nl.store(out, nl.zeros(out.shape, a.dtype, buffer=nl.sbuf))
    ncc.all_gather_v(srcs=[a], dsts=[out], replica_group=groups, metadata_tensor=meta,
                     recv_counts_known=known, has_rdispls=displs)
    return out, meta


def compare(results, expected, meta, known=False):
    """Output and counts of each rank."""
    same([out.reshape(-1) for out, _ in results], [out for out, _ in expected])
    for (_, got), (_, counts), before in zip(results, expected, meta):
        wanted = before.copy()
        if not known:
            wanted[RECV_COUNTS] = counts
        np.testing.assert_array_equal(got.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("known", [False, True])
def test_all_to_all_v(groups, known):
    a = numbers(8, 6)
    meta = metadata(groups, 48 // len(groups[0]), seed=len(groups))
    results = neuron_emu.run_ranks(all_to_all, [(x, m.copy(), ncc.ReplicaGroup(groups), known)
                                                for x, m in zip(a, meta)])
    compare(results, moved(a, meta, groups), meta, known)


@pytest.mark.parametrize("groups", GROUPS[:4])
@pytest.mark.parametrize("known", [False, True])
def test_all_gather_v(groups, known):
    a = numbers(6, 7)
    meta = metadata(groups, 42, True, seed=7)
    results = neuron_emu.run_ranks(all_gather, [(x, m.copy(), ncc.ReplicaGroup(groups), known)
                                                for x, m in zip(a, meta)])
    compare(results, moved(a, meta, groups, True), meta, known)


@pytest.mark.parametrize("kernel, gathers", [(all_to_all, False), (all_gather, True)])
def test_the_receiver_says_where(kernel, gathers):
    a = numbers(8, 6)
    meta = metadata(ALL, 48 if gathers else 12, gathers, 4)
    results = neuron_emu.run_ranks(kernel, [(x, m.copy(), ncc.ReplicaGroup(ALL), False, True)
                                            for x, m in zip(a, meta)])
    compare(results, moved(a, meta, ALL, gathers), meta)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int32])
def test_types(dtype):
    a = numbers(8, 8, dtype=dtype)
    meta = metadata(ALL, 16)
    results = neuron_emu.run_ranks(all_to_all, [(x, m.copy(), ncc.ReplicaGroup(ALL))
                                                for x, m in zip(a, meta)])
    compare(results, moved(a, meta, ALL), meta)


def test_other_counts_with_the_same_program():
    """A kernel is compiled once; each call moves what its metadata say."""
    a = numbers(8, 6)
    for seed in range(3):
        meta = metadata(ALL, 12, seed=seed)
        results = neuron_emu.run_ranks(all_to_all, [(x, m.copy(), ncc.ReplicaGroup(ALL))
                                                    for x, m in zip(a, meta)])
        compare(results, moved(a, meta, ALL), meta)


def test_counts_that_the_kernel_works_out():
    """Metadata in SBUF, from a table and a register's worth of arithmetic."""
    @nki.jit
    def kernel(a, most, groups):
        out = like(a)
        nl.store(out, nl.zeros(a.shape, a.dtype, buffer=nl.sbuf))
        meta = nl.ndarray((1, 3, 4), nl.uint32, buffer=nl.sbuf)
        nisa.memset(meta, 7)
        for i in range(4):
            # As many as the table says, from the end of each part of 12.
            nisa.tensor_copy(meta[:, 0:1, i:i + 1], nl.load(most[0:1, i:i + 1]))
            nisa.memset(meta[:, 1:2, i:i + 1], 12 * i)
        ncc.all_to_all_v([a], [out], groups, meta)
        counts = nl.ndarray((1, 3, 4), nl.uint32, buffer=nl.shared_hbm)
        nl.store(counts, meta)
        return out, counts

    a = numbers(8, 6)
    most = [np.random.default_rng(rank).integers(0, 13, (1, 4)).astype(np.uint32)
            for rank in range(RANKS)]
    meta = [np.concatenate([m, 12 * np.arange(4, dtype=np.uint32)[None], np.full_like(m, 7)])
            for m in most]
    results = neuron_emu.run_ranks(kernel, [(x, m, ncc.ReplicaGroup(ALL))
                                            for x, m in zip(a, most)])
    compare(results, moved(a, meta, ALL), meta)


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.private_hbm])
@pytest.mark.parametrize("known", [False, True])
def test_metadata_of_each_core(buffer, known):
    """With LNC 2 those of the first core count; both get what has come, call after call."""
    @nki.jit
    def kernel(a, meta, groups):
        outs = []
        shape = (1, 3, 4) if buffer is nl.sbuf else (3, 4)
        seen = nl.ndarray((2, 3, 3, 4), nl.uint32, buffer=nl.shared_hbm)
        for turn in range(3):
            out = like(a)
            if not nl.program_id(0):
                nl.store(out, nl.zeros(a.shape, a.dtype, buffer=nl.sbuf))
            own = nl.ndarray(shape, nl.uint32, buffer=buffer)
            words = nl.load(meta[turn:turn + 1])
            if nl.program_id(0):
                # Far too many: nobody may read these.
                nisa.memset(words, 1000)
            if buffer is nl.sbuf:
                nisa.tensor_copy(own, words)
            else:
                nl.store(own, words.reshape((1, 3, 4)))
            ncc.all_to_all_v([a], [out], groups, own, recv_counts_known=known)
            core = nl.program_id(0)
            nisa.dma_copy(seen[core, turn], own)
            outs.append(out)
        return *outs, seen

    a = numbers(8, 6)
    meta = [metadata(ALL, 12, seed=turn) for turn in range(3)]
    results = neuron_emu.run_ranks(kernel[2], [
        (x, np.stack([meta[turn][rank] for turn in range(3)]), ncc.ReplicaGroup(ALL))
        for rank, x in enumerate(a)])
    for turn in range(3):
        expected = moved(a, meta[turn], ALL)
        first = [(result[turn], result[3][0, turn]) for result in results]
        compare(first, expected, meta[turn], known)
        for (_, counts), result in zip(first, results):
            kept = np.full((3, 4), 1000, np.uint32)
            np.testing.assert_array_equal(result[3][1, turn], kept if known else counts)


def test_metadata_that_are_a_part_of_a_tensor():
    """The counts come back in that part, and only there."""
    @nki.jit
    def kernel(a, both, groups):
        out = like(a)
        nl.store(out, nl.zeros(a.shape, a.dtype, buffer=nl.sbuf))
        ncc.all_to_all_v([a], [out], groups, both[3:6])
        return out, both

    a = numbers(8, 6)
    meta = metadata(ALL, 12)
    results = neuron_emu.run_ranks(kernel, [(x, np.concatenate([m, m]), ncc.ReplicaGroup(ALL))
                                            for x, m in zip(a, meta)])
    compare([(out, both[3:]) for out, both in results], moved(a, meta, ALL), meta)
    for (_, both), before in zip(results, meta):
        np.testing.assert_array_equal(both[:3], before)


def test_pairs_of_cores():
    """With LNC 2 the first core of a pair starts it, and both see what has arrived."""
    a = numbers(8, 6)
    meta = metadata(ALL, 12)
    results = neuron_emu.run_ranks(all_to_all[2], [(x, m.copy(), ncc.ReplicaGroup(ALL))
                                                   for x, m in zip(a, meta)])
    compare(results, moved(a, meta, ALL), meta)


def test_the_check_finds_nothing():
    a = numbers(8, 6)
    meta = metadata(ALL, 12)
    results = neuron_emu.run_ranks(nki.simulate(all_to_all), [(x, m.copy(), ncc.ReplicaGroup(ALL))
                                                              for x, m in zip(a, meta)])
    compare(results, moved(a, meta, ALL), meta)


def test_a_count_that_is_too_large():
    """Ranks that are not done are told whose it is, and the next call is good."""
    a = numbers(8, 6)
    meta = metadata(ALL, 12)
    bad = [m.copy() for m in meta]
    bad[2][SEND_COUNTS, 1] = 13
    arguments = [(x, m, ncc.ReplicaGroup(ALL)) for x, m in zip(a, bad)]
    with pytest.raises(neuron_emu.NkiRankError, match="all_to_all: rank . of 4") as caught:
        neuron_emu.run_ranks(all_to_all, arguments)
    # It is a number of rank 2, whose block rank 1 waits for; the others may have all of theirs.
    assert {1, 2} <= set(caught.value.errors)
    results = neuron_emu.run_ranks(all_to_all, [(x, m.copy(), ncc.ReplicaGroup(ALL))
                                                for x, m in zip(a, meta)])
    compare(results, moved(a, meta, ALL), meta)


def rows(count, ranks=4, dtype=nl.uint32):
    """A tensor of metadata that nobody has written."""
    return nl.ndarray((count, ranks), dtype, buffer=nl.shared_hbm)


@pytest.mark.parametrize("call, words", [
    (lambda a, o: ncc.all_to_all_v([a], [o], ncc.ReplicaGroup(ALL), [3]),
     ("all_to_all_v: metadata_tensor is a tensor", "list")),
    (lambda a, o: ncc.all_to_all_v([a], [o], ncc.ReplicaGroup(ALL), rows(4)),
     ("metadata_tensor is uint32 [3, 4] in HBM", "recv_counts of 4 ranks", "[4, 4]")),
    (lambda a, o: ncc.all_to_all_v([a], [o], ncc.ReplicaGroup(ALL), rows(3), has_rdispls=True),
     ("metadata_tensor is uint32 [4, 4] in HBM", "recv_displs of 4 ranks")),
    (lambda a, o: ncc.all_to_all_v([a], [o], ncc.ReplicaGroup(ALL), rows(3, dtype=nl.int32)),
     ("metadata_tensor is uint32", "int32 [3, 4]")),
    (lambda a, o: ncc.all_gather_v([a], [o], ncc.ReplicaGroup(ALL), rows(3)),
     ("all_gather_v: dst has 4 times the elements of src",)),
    (lambda a, o: ncc.all_to_all_v([a, a], [o, o], ncc.ReplicaGroup(ALL), rows(3)),
     ("all_to_all_v: srcs and dsts have one tensor each",)),
    (lambda a, o: ncc.all_to_all_v([nl.load(a)], [nl.load(a)], ncc.ReplicaGroup(ALL), rows(3)),
     ("all_to_all_v: the tensors lie in HBM",)),
    (lambda a, o: ncc.all_to_all_v([a[0:3, 0:3]], [o[0:3, 0:3]], ncc.ReplicaGroup(ALL), rows(3)),
     ("dst has a part for each of the 4 ranks", "9 elements")),
])
def test_refused(call, words):
    def kernel(a):
        out = like(a)
        call(a, out)
        return out

    refused(kernel, words, file="test_collectives_v.py")


def test_trn1_takes_no_lengths(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")

    def kernel(a):
        out = like(a)
        ncc.all_to_all_v([a], [out], ncc.ReplicaGroup(ALL), rows(3))
        return out

    refused(kernel, ("all_to_all_v", "NeuronCore-v3"), file="test_collectives_v.py")


@pytest.mark.parametrize("varied", [False, True])
def test_instructions_wait_for_a_collective_on_both_cores(varied, monkeypatch):
    """The second core starts none: what it gets is where it meets the first one."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    cores = []

    def kernel(a, meta):
        out, x = like(a), nl.load(a)
        group = ncc.ReplicaGroup([[0]])
        if varied:
            done = ncc.all_to_all_v(srcs=[a], dsts=[out], replica_group=group,
                                    metadata_tensor=meta)
        else:
            done = ncc.all_reduce([a], [out], group, nl.add)
        nisa.tensor_copy(x, x).depends_on(done)
        cores.append(nl.program_id(0))
        return out

    nki.jit(kernel)[2].compile((numbers(4, 8)[0], np.zeros((3, 1), np.uint32)), {})
    assert cores == [0, 1]


@pytest.mark.parametrize("cores", [1, 2])
def test_later_collectives_use_the_scratch_of_earlier_ones(cores, monkeypatch):
    """Each call needs a tensor for what it reads and one for what it writes, on each core."""
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    turns, counts = 7, []

    def kernel(a):
        x = nl.load(a[nl.program_id(0)])
        out = nl.ndarray((cores, turns, *x.shape), a.dtype, buffer=nl.shared_hbm)
        for turn in range(turns):
            part, total = nl.multiply(x, turn + 1.0), nl.ndarray(x.shape, a.dtype)
            ncc.all_reduce([part], [total], ncc.ReplicaGroup(ALL), nl.add)
            nl.store(out[nl.program_id(0), turn], total)
        counts.append(sum(storage.role == "tmp" for storage in current().hbm))
        return out

    a = numbers(cores, 16, 64)
    times = np.arange(1, turns + 1, dtype=np.float32)[:, None, None]
    same(neuron_emu.run_ranks(nki.jit(kernel).changed(check=True)[cores], [(x,) for x in a]),
         [sum(a)[:, None] * times] * RANKS)
    # Those of one call and of the next one, and out.
    assert set(counts) == {2 * 2 * cores + 1}


@pytest.mark.parametrize("call, words", [
    (lambda a, o: ncc.all_reduce([a[0:2], a[2:4]], [o[0:2], o[0:2]], ncc.ReplicaGroup(ALL),
                                 nl.add), ("all_reduce: dsts are different tensors",)),
    (lambda a, o: ncc.all_reduce([a[0:2], o[1:3]], [o[1:3], o[4:6]], ncc.ReplicaGroup(ALL),
                                 nl.add), ("no pair reads what another pair of the call writes",)),
    (lambda a, o: ncc.all_reduce([a, a.view(nl.int32)], [o, o.view(nl.int32)],
                                 ncc.ReplicaGroup(ALL), nl.add),
     ("all_reduce: dsts are different tensors",)),
])
def test_equal_parts_are_refused(call, words):
    def kernel(a):
        out = like(a)
        call(a, out)
        return out

    refused(kernel, words, file="test_collectives_v.py")
