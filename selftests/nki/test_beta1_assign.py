# SPDX-License-Identifier: MIT
"""Assignments of NKI Beta 1: what has a name keeps its value; what cannot be done is refused."""

import numpy as np
import pytest

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuron_emu.errors import NkiValidationError

P, F = 128, 96


def numbers(*shape, seed=1):
    """Integers, whose sums and products FP32 holds exactly."""
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(np.float32)


def run(function, *arrays):
    """The kernel with the check of the chip."""
    return nki.simulate_kernel(nki.jit(function), *arrays)


def output(like, shape=None):
    """A tensor for the result."""
    return nl.ndarray(shape or like.shape, dtype=like.dtype, buffer=nl.shared_hbm)


def same(kernel, want, *arrays):
    """The result of the kernel is `want`, to the bit."""
    np.testing.assert_array_equal(run(kernel, *arrays), want)


# --- more dimensions than an instruction has ---

@pytest.mark.parametrize("value", ["tiles", "number"])
def test_views_of_six_free_dimensions(value):
    """Each element is between two neighbours of a, in three dimensions."""
    a = numbers(4, 3, 4, 5)

    def kernel(a):
        out = output(a, (4, 6, 8, 10))
        x = nl.load(a)
        y = nl.ndarray((nl.par_dim(4), 6, 8, 10), dtype=a.dtype)
        y[...] = 0.0
        p, i, j, k, u, v, w = nl.mgrid[0:4, 0:2, 0:2, 0:2, 0:2, 0:3, 0:4]
        to = (p, 2 * u + 1 + i, 2 * v + 1 + j, 2 * w + 1 + k)
        if value == "number":
            y[to] = 7.0
        else:
            y[to] = 3.0 * x[p, u + i, v + j, w + k] + x[p, u - i + 1, v - j + 1, w - k + 1]
        nl.store(out, y)
        return out

    want = np.zeros((4, 6, 8, 10), np.float32)
    for i, j, k in np.ndindex(2, 2, 2):
        near, far = (a[:, d:d + 2, e:e + 3, f:f + 4]
                     for d, e, f in ((i, j, k), (1 - i, 1 - j, 1 - k)))
        want[:, 1 + i:5 + i:2, 1 + j:7 + j:2, 1 + k:9 + k:2] = (
            7.0 if value == "number" else 3 * near + far)
    same(kernel, want, a)


# --- a name keeps its value ---

def test_a_tile_is_used_after_it_was_assigned():
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        part = nl.ndarray((nl.par_dim(P), F), dtype=a.dtype)
        x = nl.load(a)
        part[...] = x
        part[...] = nl.add(part, 1.0)
        nl.store(out, nl.add(x, part))
        return out

    same(kernel, a + a + 1, a)


def test_two_tiles_get_one_value():
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        u = nl.ndarray((nl.par_dim(P), F), dtype=a.dtype)
        v = nl.ndarray((nl.par_dim(P), F), dtype=a.dtype)
        u[...] = v[...] = nl.load(a)
        u[...] = nl.multiply(u, 2.0)
        nl.store(out, nl.add(u, v))
        return out

    same(kernel, 3 * a, a)


def test_a_tile_is_assigned_twice():
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        t = nl.load(a)
        u = nl.ndarray((nl.par_dim(P), F), dtype=a.dtype)
        u[...] = t
        v = nl.ndarray((nl.par_dim(P), F), dtype=a.dtype)
        v[...] = t
        nl.store(out, nl.add(u, v))
        return out

    same(kernel, a + a, a)


def test_a_product_is_used_after_it_was_added():
    a, b = numbers(P, 64), numbers(P, 64, seed=2)

    def kernel(a, b):
        out = output(a, (64, 64))
        total = nl.zeros((nl.par_dim(64), 64), dtype=a.dtype, buffer=nl.psum)
        product = nl.matmul(nl.load(a), nl.load(b), transpose_x=True)
        total += product
        total += product
        nl.store(out, nl.add(total, product))
        return out

    same(kernel, 3 * (a.T @ b), a, b)


@pytest.mark.parametrize("shift", [1, 32])
def test_a_tile_is_moved_within_itself(shift):
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        x = nl.load(a)
        x[shift:P] = x[0:P - shift]
        nl.store(out, x)
        return out

    want = a.copy()
    want[shift:] = a[:-shift]
    same(kernel, want, a)


def test_a_tile_is_computed_from_itself():
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        x = nl.load(a)
        x[:, 1:F] = nl.multiply(x[:, 0:F - 1], 2.0)
        nl.store(out, x)
        return out

    want = a.copy()
    want[:, 1:] = a[:, :-1] * 2
    same(kernel, want, a)


# --- products are added to what is there ---

def test_products_in_blocks():
    a, b = numbers(P, 64), numbers(P, 96, seed=2)

    def kernel(a, b):
        out = output(a, (2, 64, 96))
        x, y = nl.load(a), nl.load(b)
        z = nl.ndarray((2, nl.par_dim(64), 96), dtype=a.dtype, buffer=nl.psum)
        for i in nl.affine_range(2):
            z[i] = nisa.nc_matmul(x, y)
            z[i] += nisa.nc_matmul(x, y)
            nl.store(out[i], z[i])
        return out

    same(kernel, np.stack([2 * (a.T @ b)] * 2), a, b)


def test_a_product_is_added_to_a_transposed_tile():
    a, b = numbers(64, 64), numbers(64, 64, seed=2)

    def kernel(a, b):
        out = output(a)
        x, y = nl.load(a), nl.load(b)
        t = nisa.nc_transpose(x, engine=nisa.tensor_engine)
        t += nl.matmul(x, y, transpose_x=True)
        nl.store(out, t)
        return out

    same(kernel, a.T + a.T @ b, a, b)


def test_one_tile_for_all_blocks():
    a = numbers(P, F)

    def kernel(a):
        out = output(a, (3, P, F))
        x = nl.ndarray((3, nl.par_dim(P), F), dtype=a.dtype)
        x[...] = nl.load(a)
        for i in nl.affine_range(3):
            nl.store(out[i], x[i])
        return out

    same(kernel, np.stack([a] * 3), a)


# --- numbers without an end, and masks ---

@pytest.mark.parametrize("name, number", [("maximum", -np.inf), ("minimum", np.inf)])
def test_infinities(name, number):
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        nl.store(out, getattr(nl, name)(nl.load(a), float(number)))
        return out

    same(kernel, a, a)


def test_where_of_a_column():
    a = numbers(P, 1)

    def kernel(a):
        out = output(a, (P, F))
        f = nl.arange(F)[None, :]
        nl.store(out, nl.where(f >= 10, nl.load(a), 0.0))
        return out

    want = np.repeat(a, F, 1)
    want[:, :10] = 0
    same(kernel, want, a)


# --- what is refused ---

def refused(text, body):
    """The kernel is refused at its line."""
    a = numbers(P, F)

    def kernel(a):
        out = output(a)
        body(a, nl.load(a))
        return out

    with pytest.raises(NkiValidationError, match=text):
        run(kernel, a)


def test_unknown_options_are_refused():
    refused("msk", lambda a, x: nl.load(a, msk=True))
    refused("dtyp", lambda a, x: nisa.tensor_copy(x, dtyp=nl.float32))


def test_a_loop_of_python_over_a_tile_is_refused():
    refused("affine_range", lambda a, x: list(x))


def test_only_the_first_dimension_goes_along_the_partitions():
    refused("partitions", lambda a, x: nl.copy(x[nl.arange(64)[None, :], 0]))


def test_masks_of_another_size_are_refused():
    refused("mask", lambda a, x: nl.copy(x, mask=nl.arange(F + 1)[None, :] < 3))


def test_blocks_of_another_number_are_refused():
    def body(a, x):
        u = nl.ndarray((2, nl.par_dim(P), F), dtype=a.dtype)
        v = nl.ndarray((3, nl.par_dim(P), F), dtype=a.dtype)
        u[...] = v

    refused("block|shape", body)


def test_a_new_block_is_written_directly():
    """The kernel tells the places of all banks, so there is none for a result to be copied from."""
    a, b = numbers(P, P), numbers(P, 512, seed=2)

    def kernel(a, b):
        out = nl.ndarray((4, P, 512), dtype=a.dtype, buffer=nl.shared_hbm)
        x, y = nl.load(a), nl.load(b)
        banks = ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(8,))
        all_banks = nl.ndarray((8, nl.par_dim(P), P), dtype=nl.float32, buffer=banks)
        for i in nl.affine_range(8):
            all_banks[i] = nisa.nc_matmul(x, x)
        whole = nl.ndarray((4, nl.par_dim(P), 512), dtype=nl.float32,
                           buffer=ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(7,)))
        results = nl.ndarray((4, nl.par_dim(P), 512), dtype=nl.float32)
        for i in nl.affine_range(4):
            whole[i] = nisa.nc_matmul(x, y)
            results[i] = nisa.tensor_copy(whole[i])
            nl.store(out[i], results[i])
        return out

    np.testing.assert_array_equal(run(kernel, a, b), np.stack(4 * [a.T @ b]))
