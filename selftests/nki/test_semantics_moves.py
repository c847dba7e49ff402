# SPDX-License-Identifier: MIT
"""Where numbers go: backward and spread views, and rows of a list that leads out of bounds; a table
of cases, many in one run of the chip.

Each expectation is written down here with NumPy's own views, and not taken from the chip.
"""

import functools
import itertools

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

TARGETS = ("trn1", "trn2", "trn3")
EACH_TARGET = pytest.mark.parametrize("target", TARGETS)
CUBE = np.arange(32 * 6 * 10, dtype=np.float32).reshape(32, 6, 10)


# --- Views, as sources and as destinations ---

VIEWS = {
    "backwards": lambda t: t[:, :, ::-1],
    "backwards by two": lambda t: t[:, :, ::-2],
    "both backwards": lambda t: t[:, ::-1, ::-1],
    "from a place backwards": lambda t: t[:, 4:1:-1, 7:2:-1],
    "every third": lambda t: t[:, ::2, 1::3],
    "one row": lambda t: t[:, -1:, :],
    "one element": lambda t: t[:, 2:3, -4:-3],
    "some partitions": lambda t: t[:5, 1:3, ::4],
}
MOVES = ("vector", "scalar", "gpsimd", "dma")


def move(dst, src, by):
    """A copy by an engine or by DMA."""
    if by == "dma":
        nisa.dma_copy(dst, src)
    else:
        nisa.tensor_copy(dst, src, engine=getattr(nisa.engine, by))


@functools.lru_cache(maxsize=None)
def moved(target):
    """{(view, how, direction): result}, all by one kernel."""
    names = list(itertools.product(VIEWS, MOVES, ("from", "to")))

    @nki.jit(platform_target=target, check=True)
    def kernel(a):
        x, outs = nl.load(a), []
        for view, by, direction in names:
            part = VIEWS[view](x)
            y = nl.full(a.shape if direction == "to" else part.shape, -1.0, a.dtype)
            if direction == "from":
                move(y, part, by)
            else:
                packed = nl.ndarray(part.shape, a.dtype)
                nisa.tensor_copy(packed, x[:part.shape[0], :part.shape[1], :part.shape[2]])
                move(VIEWS[view](y), packed, by)
            outs.append(nl.ndarray(y.shape, a.dtype, buffer=nl.shared_hbm))
            nl.store(outs[-1], y)
        return tuple(outs)

    return dict(zip(names, kernel(CUBE)))


@pytest.mark.parametrize("by", MOVES)
@pytest.mark.parametrize("view", VIEWS)
@EACH_TARGET
def test_from_a_view(target, view, by):
    np.testing.assert_array_equal(moved(target)[view, by, "from"], VIEWS[view](CUBE))


@pytest.mark.parametrize("by", MOVES)
@pytest.mark.parametrize("view", VIEWS)
@EACH_TARGET
def test_to_a_view(target, view, by):
    """What the view does not have stays as it is."""
    want = np.full(CUBE.shape, -1, np.float32)
    part = VIEWS[view](want)
    part[...] = CUBE[:part.shape[0], :part.shape[1], :part.shape[2]]
    np.testing.assert_array_equal(moved(target)[view, by, "to"], want)


# --- Rows of a list: one that the tensor does not have is left out ---

ROWS = 8
TABLE = np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4)
LISTS = {
    "all inside": [7, 0, 3, 5],
    "the first outside": [7, 8, 0, 1],
    "all outside": [8, 9, 100, 65535],
    "far outside": [2**31 - 1, 3, 2**24, 2],
    "repeated": [6, 6, 99, 6],
}


@functools.lru_cache(maxsize=None)
def listed(target):
    """{(list, direction): result}"""
    names = list(itertools.product(LISTS, ("gather", "scatter")))

    @nki.jit(platform_target=target, check=True)
    def kernel(table, lists):
        outs = []
        for name, direction in names:
            place = nl.load(lists[list(LISTS).index(name)])
            if direction == "gather":
                x = nl.full((4, 4), -1.0, table.dtype)
                nisa.dma_copy(x, table.ap([[4, 4], [1, 4]], vector_offset=place, indirect_dim=0),
                              oob_mode=nisa.oob_mode.skip)
                outs.append(nl.ndarray((4, 4), table.dtype, buffer=nl.shared_hbm))
                nl.store(outs[-1], x)
            else:
                # Equal rows, so that a place that comes twice has one result.
                x = nl.full((4, 4), 77.0, table.dtype)
                outs.append(nl.full((ROWS, 4), -1.0, table.dtype, buffer=nl.shared_hbm))
                into = outs[-1].ap([[4, 4], [1, 4]], vector_offset=place, indirect_dim=0)
                nisa.dma_copy(into, x, oob_mode=nisa.oob_mode.skip)
        return tuple(outs)

    lists = np.array(list(LISTS.values()), np.uint32)[:, :, None]
    return dict(zip(names, kernel(TABLE, lists)))


@pytest.mark.parametrize("name", LISTS)
@EACH_TARGET
def test_rows_of_a_list(target, name):
    want = [TABLE[i] if i < ROWS else np.full(4, -1) for i in LISTS[name]]
    np.testing.assert_array_equal(listed(target)[name, "gather"], want)


@pytest.mark.parametrize("name", LISTS)
@EACH_TARGET
def test_rows_to_a_list(target, name):
    want = [np.full(4, 77 if i in LISTS[name] else -1) for i in range(ROWS)]
    np.testing.assert_array_equal(listed(target)[name, "scatter"], want)


# --- Scans: each element depends on all before it; whole numbers, so that it is exact ---

LINES = np.array([[1, 2, -3, 4, 0, 5, -6, 7], [-1, -1, 2, 0, 3, -2, 1, 1]], np.float32)
OTHER = np.array([[2, 0, 1, -1, 3, 1, 2, -2], [1, 1, -2, 2, 0, 1, -1, 3]], np.float32)
SCAN = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
        "maximum": max, "minimum": min}
SCANS = list(itertools.product(SCAN, SCAN, (False, True), (False, True)))


@functools.lru_cache(maxsize=None)
def scans(target):
    """{(op0, op1, reverse0, reverse1): result}"""
    @nki.jit(platform_target=target, check=True)
    def kernel(a, b):
        out = nl.ndarray((2, len(SCANS), 8), a.dtype, buffer=nl.shared_hbm)
        x, y = nl.load(a), nl.load(b)
        results = nl.ndarray((2, len(SCANS), 8), a.dtype)
        for i, (op0, op1, reverse0, reverse1) in enumerate(SCANS):
            nisa.tensor_tensor_scan(results[:, i], x, y, 3.0, getattr(nl, op0), getattr(nl, op1),
                                    reverse0, reverse1)
        nl.store(out, results)
        return out

    found = kernel(LINES, OTHER)
    return {key: found[:, i] for i, key in enumerate(SCANS)}


@pytest.mark.parametrize("op0, op1, reverse0, reverse1", SCANS)
@EACH_TARGET
def test_scans(target, op0, op1, reverse0, reverse1):
    want = np.empty((2, 8), np.float32)
    for row, column in np.ndindex(2, 8):
        before = 3.0 if column == 0 else float(want[row, column - 1])
        first = float(LINES[row, column]), before
        middle = SCAN[op0](*(first[::-1] if reverse0 else first))
        last = middle, float(OTHER[row, column])
        want[row, column] = SCAN[op1](*(last[::-1] if reverse1 else last))
    np.testing.assert_array_equal(scans(target)[op0, op1, reverse0, reverse1], want)
