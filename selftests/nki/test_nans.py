# SPDX-License-Identifier: MIT
"""The first NaN of kernels on several cores: which rank, which line, which engine."""

import inspect
import re
import warnings

import numpy as np
import pytest

import neuron_emu
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
from neuron_emu import run

RANKS = 4
ALL = ncc.ReplicaGroup([list(range(RANKS))])


@pytest.fixture(name="exact_times", autouse=True)
def times_are_looked_at():
    """The execution that names a NaN is inexact, so this takes the place of the suite's fixture."""


def like(a, buffer=nl.shared_hbm):
    return nl.ndarray(a.shape, a.dtype, buffer=buffer)


def line_of(function, comment):
    """The number of the line of a function that ends with a comment."""
    lines, first = inspect.getsourcelines(function)
    return next(i for i, line in enumerate(lines, first) if line.rstrip().endswith("# " + comment))


@nki.jit
def logarithms(a, groups):
    """The sum over the ranks of log(a) - log(a): NaN where one of them has a 0."""
    out, local, summed = like(a), like(a, nl.private_hbm), like(a, nl.private_hbm)
    x = nl.load(a)
    nisa.activation(x, nl.log, x)
    nisa.tensor_tensor(x, x, x, nl.subtract)  # made
    nl.store(local, x)
    ncc.all_reduce([local], [summed], groups, nl.add)
    y = nl.load(summed)
    nisa.activation(y, nl.copy, y)  # received
    nl.store(out, y)
    return out


def ones(*zeros):
    """An array for each rank, with a 0 on some of them."""
    arrays = [np.ones((4, 8), np.float32) for _ in range(RANKS)]
    for rank in zeros:
        arrays[rank][2, 3] = 0
    return arrays


def told(call):
    """What a call returns, and its warnings of NaNs."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    assert all(w.category is nki.NkiNanWarning for w in found), found
    return result, found


@pytest.mark.parametrize("chips", [1, RANKS])
@pytest.mark.parametrize("rank", range(RANKS))
def test_rank_line_and_engine(rank, chips):
    """All ranks get the NaN of one of them. Only that one is told, and times stay exact."""
    kernel = nki.simulate(logarithms)
    results, (warning,) = told(lambda: neuron_emu.run_ranks(
        kernel, [(a, ALL) for a in ones(rank)], chips=chips))
    assert all(np.argwhere(np.isnan(r)).tolist() == [[2, 3]] for r in results)
    assert (warning.filename, warning.lineno) == (__file__, line_of(logarithms.func, "made"))
    text = str(warning.message)
    assert f": rank {rank} of 4: model " in text
    assert re.search(r": vector engine, pc \d+, .*made the first NaN, at \d+ ns; output", text)
    assert kernel.is_exact and len(kernel.executions) == RANKS


def test_of_two_ranks_the_first_in_device_time():
    """Rank 1 is the later one by far, whatever the host does first."""
    @nki.jit
    def kernel(a, groups, late):
        out, local = like(a), like(a, nl.private_hbm)
        x = nl.load(a)
        for _ in range(50 if late else 0):
            nisa.activation(x, nl.copy, x)
        nisa.activation(x, nl.log, x)
        nisa.tensor_tensor(x, x, x, nl.subtract)
        nl.store(local, x)
        ncc.all_reduce([local], [out], groups, nl.add)
        return out

    arguments = [(a, ALL, rank == 1) for rank, a in enumerate(ones(1, 3))]
    _, (warning,) = told(lambda: neuron_emu.run_ranks(nki.simulate(kernel), arguments))
    assert ": rank 3 of 4: " in str(warning.message)


def test_ranks_without_a_warning(monkeypatch):
    """No NaN; one of an input of one rank; one that no output has; without the check."""
    good = [(a, ALL) for a in ones()]
    bad = [(a, ALL) for a in ones(1)]
    brought = [(a.copy(), ALL) for a in ones(1)]
    brought[3][0][0, 0] = np.nan
    assert not told(lambda: neuron_emu.run_ranks(nki.simulate(logarithms), good))[1]
    assert not told(lambda: neuron_emu.run_ranks(nki.simulate(logarithms), brought))[1]
    assert not told(lambda: neuron_emu.run_ranks(logarithms, bad))[1]
    monkeypatch.setenv("NEURON_FAIL_ON_NAN", "FALSE")
    assert not told(lambda: neuron_emu.run_ranks(nki.simulate(logarithms), bad))[1]
    monkeypatch.delenv("NEURON_FAIL_ON_NAN")

    @nki.jit
    def hidden(a, groups):
        out, local = like(a), like(a, nl.private_hbm)
        x = nl.load(a)
        nisa.activation(x, nl.log, x)
        nisa.tensor_tensor(x, x, x, nl.subtract)
        nisa.memset(x, 1.0)
        nl.store(local, x)
        ncc.all_reduce([local], [out], groups, nl.add)
        return out

    assert not told(lambda: neuron_emu.run_ranks(nki.simulate(hidden), bad))[1]


def test_a_collective_that_makes_it():
    """inf - inf in the sum of the ranks: no instruction has made it, so the line is the kernel's.
    """
    @nki.jit
    def kernel(a, groups):
        out, local = like(a), like(a, nl.private_hbm)
        nl.store(local, nl.load(a))
        ncc.all_reduce([local], [out], groups, nl.add)
        return out

    arrays = ones()
    arrays[0][1, 1], arrays[2][1, 1] = np.inf, -np.inf
    results, (warning,) = told(lambda: neuron_emu.run_ranks(nki.simulate(kernel),
                                                            [(a, ALL) for a in arrays]))
    assert np.isnan(results[3][1, 1])
    assert warning.lineno == kernel.func.__code__.co_firstlineno
    assert "rank 0 of 4: " in str(warning.message)
    assert "no instruction made a NaN: transfers brought it" in str(warning.message)


def test_an_argument_that_is_written():
    """The second execution begins with what the first one began with."""
    @nki.jit
    def kernel(a, groups):
        local, summed = like(a, nl.private_hbm), like(a, nl.private_hbm)
        x = nl.load(a)
        nisa.activation(x, nl.log, x)
        nl.store(local, x)
        ncc.all_reduce([local], [summed], groups, nl.add)
        y = nl.load(summed)
        nisa.activation(y, nl.log, y)  # log of -inf
        nl.store(a, y)
        return a

    arrays = [a * 2 for a in ones(2)]
    results, (warning,) = told(lambda: neuron_emu.run_ranks(nki.simulate(kernel),
                                                            [(a, ALL) for a in arrays]))
    assert warning.lineno == line_of(kernel.func, "log of -inf")
    want = np.log(np.full((4, 8), 4 * np.log(2), np.float32))
    want[2, 3] = np.nan
    for found in results:
        np.testing.assert_allclose(found, want, rtol=1e-5)
    np.testing.assert_array_equal(arrays[1], results[1])


def test_a_collective_of_one_rank():
    kernel = nki.simulate(logarithms)
    (a,) = [a for a in ones(0) if not a.all()]
    _, (warning,) = told(lambda: kernel(a, ncc.ReplicaGroup([[0]])))
    assert warning.lineno == line_of(logarithms.func, "made")
    assert "rank" not in str(warning.message).split("engine")[0]
    assert kernel.is_exact


@nki.jit
def half_each(a, groups=None):
    """Each core of a pair does half of the rows."""
    out = like(a)
    core = nl.program_id(0)
    rows = nl.ds(2 * core, 2)
    x = nl.load(a[rows, :])
    nisa.activation(x, nl.log, x)
    nisa.tensor_tensor(x, x, x, nl.subtract)  # of a core
    nl.store(out[rows, :], x)
    return out


@pytest.mark.parametrize("row", range(4))
def test_the_core_of_a_pair(row):
    a = np.ones((4, 8), np.float32)
    a[row, 5] = 0
    result, (warning,) = told(lambda: nki.simulate(half_each)[2](a))
    assert np.argwhere(np.isnan(result)).tolist() == [[row, 5]]
    assert warning.lineno == line_of(half_each.func, "of a core")
    assert f": sg0{row // 2}: vector engine, " in str(warning.message)


def test_ranks_of_pairs():
    """Rank 2 has the NaN on its second core."""
    _, (warning,) = told(lambda: neuron_emu.run_ranks(nki.simulate(half_each)[2],
                                                      [(a,) for a in ones(2)], chips=1))
    assert warning.lineno == line_of(half_each.func, "of a core")
    assert re.search(": rank 2 of 4: .*: sg01: vector engine, ", str(warning.message))


@pytest.mark.parametrize("ranks", [1, RANKS])
def test_both_executions_are_on_chips_of_this_process(ranks, monkeypatch):
    """Also where the environment leaves the choice, and a device may be there."""
    monkeypatch.delenv("NEURON_RT_BACKEND")
    gang, seen = run.gang, []

    def noted(*args):
        programs = gang(*args)
        seen.append((args[3], run._mode[1]))
        return programs

    monkeypatch.setattr(run, "gang", noted)
    group = ncc.ReplicaGroup([list(range(ranks))])
    told(lambda: neuron_emu.run_ranks(nki.simulate(logarithms),
                                      [(a, group) for a in ones(0)[:ranks]]))
    assert seen == [(True, "embedded"), (False, "embedded")]
    run.close()


@pytest.mark.parametrize("ranks", [1, RANKS])
@pytest.mark.parametrize("error", [nki.NkiError, MemoryError, TimeoutError])
def test_results_stay_where_the_second_execution_fails(ranks, error, monkeypatch):
    gang = run.gang

    def failing(*args):
        if not args[3]:
            raise error("no room for it")
        return gang(*args)

    monkeypatch.setattr(run, "gang", failing)
    kernel, arrays = nki.simulate(logarithms), ones(0)[:ranks]
    group = ncc.ReplicaGroup([list(range(ranks))])
    results, (warning,) = told(
        lambda: neuron_emu.run_ranks(kernel, [(a, group) for a in arrays]) if ranks > 1
        else [kernel(arrays[0], group)])
    assert [np.argwhere(np.isnan(r)).tolist() for r in results] == [[[2, 3]]] * ranks
    assert warning.lineno == logarithms.func.__code__.co_firstlineno
    assert f"has a NaN, and the execution that looks for the instruction has failed " \
        f"({error.__name__}: no room for it)" in str(warning.message)
    assert kernel.is_exact
    run.close()


def test_the_runtime_goes_on():
    """After the second execution a kernel without the check runs with exact times."""
    told(lambda: neuron_emu.run_ranks(nki.simulate(logarithms), [(a, ALL) for a in ones(1)]))
    results = neuron_emu.run_ranks(logarithms, [(a, ALL) for a in ones()])
    assert all((r == 0).all() for r in results) and logarithms.is_exact
    run.close()
