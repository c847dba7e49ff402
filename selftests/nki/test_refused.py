# SPDX-License-Identifier: MIT
"""Views whose place the run decides: what is done with them, and what is refused."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl
from neuron_emu.errors import NkiValidationError


def numbers(*shape, seed=0):
    """Random FP32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def like(a):
    """A result of the shape of `a`."""
    return nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)


def refused(body, *args, match):
    """`body` as a kernel is refused by a line that has `match`."""
    with pytest.raises(NkiValidationError, match=match):
        nki.jit(body)(*args)


A = numbers(16, 32)
ROWS = np.random.default_rng(2).permutation(16).astype(np.uint32).reshape(16, 1)


def test_two_registers_in_one_index():
    @nki.jit
    def kernel(a):
        out = like(a)

        def row(i):
            def column(j):
                x = nl.load(a[nl.ds(i, 4), nl.ds(j, 8)])
                nisa.tensor_scalar(x, x, nl.multiply, 2.0)
                nl.store(out[nl.ds(i, 4), nl.ds(j, 8)], x)

            nl.fori_loop(0, 32, column, step=8)

        nl.fori_loop(0, 16, row, step=4)
        return out

    np.testing.assert_array_equal(kernel(A), A * 2)


def test_two_registers_in_the_index_of_a_tile():
    @nki.jit
    def kernel(a):
        out = like(a)
        x, y = nl.load(a).reshape((16, 4, 8)), nl.ndarray((16, 4, 8), a.dtype)

        def outer(i):
            nl.fori_loop(0, 8, lambda j: nisa.tensor_copy(y[:, nl.ds(i, 2), nl.ds(j, 4)],
                                                          x[:, nl.ds(i, 2), nl.ds(j, 4)]), step=4)

        nl.fori_loop(0, 4, outer, step=2)
        nl.store(out, y.reshape((16, 32)))
        return out

    np.testing.assert_array_equal(kernel(A), A)


def test_register_load_by_a_register():
    def kernel(a):
        register = nisa.register_alloc(3)
        nisa.register_load(nisa.register_alloc(), a[nl.ds(register, 1), 0:1])
        return a

    refused(kernel, A.astype(np.int32), match="register_load: the element lies at a place")


def test_a_list_by_a_register():
    def kernel(a, rows):
        out = like(a)
        index = nl.load(rows)
        register = nisa.register_alloc(1)
        x = nl.ndarray(a.shape, a.dtype)
        nisa.dma_copy(x, a.vector_select(0, index[:, nl.ds(register, 1)]))
        return out

    refused(kernel, A, np.hstack([ROWS, ROWS]), match="vector_offset lies at a place")


def test_a_gather_to_a_place_by_a_register():
    def kernel(a, rows):
        index = nl.load(rows)
        register = nisa.register_alloc(32)
        x = nl.ndarray((16, 64), a.dtype)
        nisa.dma_copy(x[:, nl.ds(register, 32)], a.vector_select(0, index))
        return a

    refused(kernel, A, ROWS, match="dma_copy: dst lies at a place")


def test_dma_copy_of_an_indirect_tile():
    def kernel(a, index):
        out = like(a)
        x, places = nl.load(a), nl.load(index)
        nisa.dma_copy(out, x.indirect(places, 32))
        return out

    refused(kernel, A, np.zeros((16, 32), np.uint16), match="dma_copy: src lies at a place")


def test_dma_compute_gathers_both_sources():
    @nki.jit
    def kernel(a, rows, other):
        out = like(a)
        first, second = nl.load(rows), nl.load(other)
        nisa.dma_compute(out, [a.vector_select(0, first), a.vector_select(0, second)], nl.add)
        return out

    other = ROWS[::-1].copy()
    np.testing.assert_array_equal(kernel(A, ROWS, other), A[ROWS[:, 0]] + A[other[:, 0]])


def test_dma_compute_scatters_onto_the_destination_only():
    def kernel(a, table, rows, other):
        first, second = nl.load(rows), nl.load(other)
        nisa.dma_compute(table.vector_select(0, first), [a, table.vector_select(0, second)],
                         nl.add)
        return table

    refused(kernel, A, A.copy(), ROWS, ROWS[::-1].copy(), match="the destination itself")


def test_dma_compute_by_a_register():
    def kernel(a):
        out = like(a)
        register = nisa.register_alloc(8)
        nisa.dma_compute(out[0:8], [a[nl.ds(register, 8)], a[0:8]], nl.add)
        return out

    refused(kernel, A, match="dma_compute: src lies at a place")


def test_bias_by_a_register():
    @nki.jit
    def kernel(a, bias):
        out = like(a)
        x, c = nl.load(a), nl.load(bias)

        def column(i):
            nisa.activation(x[:, nl.ds(i, 1)], nl.copy, x[:, nl.ds(i, 1)], bias=c[:, nl.ds(i, 1)])

        nl.fori_loop(0, 32, column)
        nl.store(out, x)
        return out

    bias = numbers(16, 32, seed=1)
    np.testing.assert_array_equal(kernel(A, bias), A + bias)


@pytest.mark.parametrize("accumulate", [None, True])
def test_products_in_a_loop_on_a_tile_made_outside(accumulate):
    def kernel(a):
        out = nl.ndarray((32, 32), nl.float32, buffer=nl.shared_hbm)
        total = nl.zeros((32, 32), nl.float32, buffer=nl.psum)
        x = nl.load(a)
        nl.fori_loop(0, 4, lambda i: nisa.nc_matmul(total, x, x, accumulate=accumulate))
        nl.store(out, total)
        return out

    ones = np.ones((16, 32), np.float32)
    if accumulate is None:
        refused(kernel, ones, match="accumulate=True or False")
    else:
        np.testing.assert_array_equal(nki.jit(kernel)(ones), np.full((32, 32), 64))


def test_a_product_to_a_place_by_a_register():
    def kernel(a):
        total = nl.ndarray((32, 64), nl.float32, buffer=nl.psum)
        x, register = nl.load(a), nisa.register_alloc(32)
        nisa.nc_matmul(total[:, nl.ds(register, 32)], x, x, accumulate=False)
        nisa.nc_matmul(total[:, 0:32], x, x)
        return a

    refused(kernel, A, match="accumulate=True or False")


VIEWS = {
    "ap of a view by a register": lambda x, r, ix: x[:, nl.ds(r, 4)].ap([[32, 16], [1, 4]]),
    "part of an indirect view": lambda x, r, ix: x.indirect(ix, 32)[:, 0:4],
    "indirect of a view by a register": lambda x, r, ix: x[:, nl.ds(r, 4)].indirect(ix),
    "ap that begins within an element": lambda x, r, ix: x.view(nl.uint8)[:, 2:6].ap(
        [[32, 16], [1, 1]], dtype=nl.float32),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_are_refused(name):
    def kernel(a, index):
        VIEWS[name](nl.load(a), nisa.register_alloc(4), nl.load(index))
        return a

    refused(kernel, A, np.zeros((16, 32), np.uint16), match="indirect|whole element|register")


def test_a_view_of_another_type_keeps_its_index():
    def kernel(a, index):
        x, places = nl.load(a), nl.load(index)
        assert x.indirect(places, 32).view(nl.int32).index is places
        return a

    nki.jit(kernel)(A, np.zeros((16, 32), np.uint16))


def test_a_loop_with_more_views_than_registers():
    @nki.jit
    def kernel(a):
        out = like(a)
        x, y = nl.load(a), nl.ndarray(a.shape, a.dtype)

        def column(i):
            for _ in range(50):
                nisa.tensor_tensor(y[:, nl.ds(i, 1)], x[:, nl.ds(i, 1)], x[:, nl.ds(i, 1)], nl.add)
            nl.store(out[:, nl.ds(i, 1)], y[:, nl.ds(i, 1)])

        nl.fori_loop(0, 32, column)
        return out

    np.testing.assert_array_equal(kernel(A), A * 2)


def test_a_register_outlives_the_loop_that_lets_go_of_it():
    @nki.jit
    def kernel(a):
        out = like(a)
        held = [nisa.register_alloc(1)]
        x = nl.load(a)
        for i in nl.dynamic_range(4):
            # Traced once, run in each turn.
            nl.store(out[nl.ds(held[0], 1)], x[0:1])
            held.clear()
            nl.store(out[nl.ds(i, 1)], x[0:1])
            nisa.register_alloc(9)
        nl.store(out[4:16], x[4:16])
        return out

    want = A.copy()
    want[:4] = A[0]
    np.testing.assert_array_equal(kernel(A), want)


@pytest.mark.parametrize("grid", [0, (2, 0), -1, 1.5, ()])
def test_a_grid_without_programs(grid):
    kernel = nki.jit(lambda a: a)
    if grid == ():
        assert kernel[grid].grid == ()
        return
    with pytest.raises(nki.NkiValidationError, match=r"test_refused.py:\d+: .*a grid has a number"):
        kernel[grid]


@pytest.mark.parametrize("make", [nki.jit, nki.simulate])
def test_functions_of_numpy(make):
    def kernel(a):
        return np.exp(nl.load(a))

    with pytest.raises(nki.NkiValidationError, match=r"test_refused.py:\d+: np.exp: .*use nl.exp"):
        make(kernel)(np.ones((4, 4), np.float32))


def test_an_array_of_the_host_is_no_tile():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, np.ones((4, 4), np.float32))
        return out

    with pytest.raises(nki.NkiValidationError, match="nl.store: the value is a tile, not a nd"):
        kernel(np.ones((4, 4), np.float32))


def test_without_numpy(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('No module named numpy')")
    folder = str(pathlib.Path(nki.__file__).parents[1])
    for words, lines in ((["-m", "neuron_emu", "x.py"], 1), (["-c", "import nki"], None)):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": f"{tmp_path}:{folder}"})
        said = done.stderr.splitlines()
        assert done.returncode == 1 and "need NumPy (python3-numpy)" in said[-1], done.stderr
        assert lines in (None, len(said)), done.stderr
