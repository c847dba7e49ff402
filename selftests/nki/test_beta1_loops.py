# SPDX-License-Identifier: MIT
"""Loops of kernels of NKI Beta 1, whose bodies run once there, and numbers outside of kernels."""

import itertools

import numpy as np
import pytest

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuron_emu import NkiError

P, F = 32, 24


def numbers(*shape):
    """Whole numbers."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def counted(*loops):
    """What a number is that such loops, one in the other, count up by 1, 10, 100; during and after
    each body.
    """
    found = []

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        count = 1000
        for i in loops[0]:
            count += 1
            for j in loops[1]:
                count += 10
                found.append((i, j, count))
        found.append(count)
        return out

    kernel(numbers(P, F))
    return found


def test_a_number_is_counted_once():
    assert counted(nl.affine_range(3), nl.sequential_range(2)) == [
        *((i, j, 1011) for i, j in itertools.product(range(3), range(2))), 1011]


def test_a_loop_that_is_unrolled_counts_on():
    assert counted(nl.static_range(2), nl.static_range(2)) == [
        (0, 0, 1011), (0, 1, 1021), (1, 0, 1032), (1, 1, 1042), 1042]


def test_an_unrolled_loop_in_one_that_runs_once():
    assert counted(nl.affine_range(2), nl.static_range(2)) == [
        (0, 0, 1011), (0, 1, 1021), (1, 0, 1011), (1, 1, 1021), 1021]


def test_a_loop_without_iterations_changes_nothing():
    assert counted(nl.affine_range(0), nl.affine_range(2)) == [1000]


def test_numbers_of_numpy_are_numbers():
    """np.prod() makes a number of NumPy of one of Python."""
    found = []

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        place = 0
        for _ in nl.affine_range(3):
            found.append(place)
            place += np.prod(a.shape)
        return out

    kernel(numbers(P, F))
    assert found == [0, 0, 0]


def test_what_else_a_body_changes_stays():
    """Tiles, lists and truth values are no numbers."""
    a = numbers(3, P, F)

    @nki.jit(mode="simulation")
    def kernel(a):
        out = nl.ndarray((P, F), dtype=a.dtype, buffer=nl.shared_hbm)
        total, first, names = nl.zeros((P, F), dtype=a.dtype), True, []
        for i in nl.affine_range(3):
            part = nl.load(a[i])
            total = part if first else nl.add(total, part)
            first = False
            names.append(i)
        nl.store(out, total)
        assert names == [0, 1, 2]
        return out

    np.testing.assert_array_equal(kernel(a), a.sum(axis=0))


def test_addresses_that_the_body_counts_up():
    """16 iterations with 32 KiB each: by far more than SBUF, if they were counted on."""
    a = numbers(16, P, 8192)

    @nki.jit(mode="simulation")
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        address = 0
        for i in nl.affine_range(a.shape[0]):
            x = nl.ndarray((nl.par_dim(P), a.shape[2]), dtype=a.dtype,
                           buffer=ncc.sbuf.mod_alloc(base_addr=address))
            address += a.shape[2] * 4
            x[...] = nl.load(a[i])
            y = nl.ndarray((nl.par_dim(P), a.shape[2]), dtype=a.dtype,
                           buffer=ncc.sbuf.mod_alloc(base_addr=address))
            address += a.shape[2] * 4
            y[...] = nl.multiply(x, 2.0)
            nl.store(out[i], y)
        return out

    np.testing.assert_array_equal(kernel(a), a * 2)


@pytest.mark.parametrize("make", [nl.affine_range, nl.sequential_range, nl.static_range])
def test_a_range_is_as_one_of_python(make):
    indices = make(1, 10, 3)
    assert (list(indices), len(indices), indices[1], 4 in indices, 5 in indices) == (
        [1, 4, 7], 3, 4, True, False)
    assert list(reversed(indices)) == [7, 4, 1] and list(zip(indices, "ab")) == [(1, "a"), (4, "b")]


def test_arrays_are_cast_there_and_back():
    a = np.array([[1.0, -2.5, 3.0e38, 0.0]], np.float32)
    there = nl.static_cast(a, nl.bfloat16)
    assert there.dtype.itemsize == 2
    back = nl.static_cast(there, np.float32)
    np.testing.assert_allclose(back, a, rtol=2**-8)
    assert back[0, 0] == 1 and nl.static_cast(1.6, np.int32) == 1
    with pytest.raises(NkiError, match="8-bit float"):
        nl.static_cast(np.zeros(3, "V1"), np.float32)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("make, number", [(nl.zeros, 0), (nl.ones, 1), (nl.full, 5)])
def test_when_a_tile_is_written_changes_nothing(make, number, lazy):
    @nki.jit(mode="simulation")
    def kernel(a):
        out = nl.ndarray((F, F), dtype=a.dtype, buffer=nl.shared_hbm)
        value = (number,) if make is nl.full else ()
        total = make((nl.par_dim(F), F), *value, dtype=nl.float32, buffer=nl.psum,
                     lazy_initialization=lazy)
        x = nl.load(a)
        for _ in nl.affine_range(2):
            total[...] += nl.matmul(x, x, transpose_x=True)
        nl.store(out, total)
        return out

    a = numbers(P, F) % 5
    np.testing.assert_array_equal(kernel(a), number + 2 * a.T @ a)
