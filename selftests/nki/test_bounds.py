# SPDX-License-Identifier: MIT
"""Views and their bounds: what does not fit, and what the run leads out of them."""

import numpy as np
import pytest

import nki
import nki.isa as nisa
import nki.language as nl

LONG = 65537


def refused(body, match):
    """`body` as a kernel is refused with its line."""
    with pytest.raises(nki.NkiValidationError, match=rf"^\S*test_bounds.py:\d+: {match}"):
        nki.jit(body)(np.ones((4, 8), np.float32))


def test_a_tile_that_is_too_long_for_an_instruction_is_used_in_parts():
    @nki.jit
    def kernel(a):
        x, y = nl.ndarray((2, LONG), a.dtype), nl.ndarray((2, 16), a.dtype)
        nisa.dma_copy(x, a)
        nisa.tensor_copy(y, x[:, LONG - 16:LONG])
        out = nl.ndarray(y.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, y)
        return out

    a = np.random.default_rng(0).integers(0, 256, (2, LONG)).astype(np.uint8)
    np.testing.assert_array_equal(kernel(a), a[:, -16:])


def test_all_of_it_is_refused():
    def kernel(a):
        nisa.memset(nl.ndarray((2, LONG), "uint8"), 0)
        return a

    refused(kernel, "tile: an instruction has 65535 elements in a dimension.*, not 65537")


@pytest.mark.parametrize("rows", [2.7, np.float32(2.5), float("inf")])
def test_a_size_that_is_not_whole(rows):
    def kernel(a):
        nl.ndarray((rows, 4), a.dtype)
        return a

    refused(kernel, "nl.ndarray: a shape is a tuple of integers")


def test_sizes_that_are_whole():
    shapes = []

    def kernel(a):
        shapes.extend(nl.ndarray(shape, a.dtype).shape for shape in ((2.0, 4), (np.int64(2), 4)))
        return a

    nki.jit(kernel).compile((np.ones((4, 8), np.float32),), {})
    assert shapes == [(2, 4), (2, 4)]


OUTSIDE = {
    "an instruction before the tile":
        lambda a, x: nisa.tensor_copy(x[0:3], x.ap([[8, 3], [1, 8]], offset=-8)),
    "an instruction behind partition 255":
        lambda a, x: nisa.tensor_copy(x[0:3], x.ap([[8, 3], [1, 8]], offset=8 * 300)),
    "a transfer before the tile":
        lambda a, x: nisa.dma_copy(a[0:1], x.ap([[8, 1], [1, 8]], offset=-8)),
    "a transfer before the tensor":
        lambda a, x: nisa.dma_copy(x[0:1], a.ap([[8, 1], [1, 8]], offset=-8)),
    "a transfer in parts before the tensor":
        lambda a, x: nisa.dma_copy(x[0:1], a.ap([[0, 1], [0, 2], [-1, 4]], offset=-8)),
    "a number that no float holds":
        lambda a, x: nisa.tensor_scalar(x, x, nl.multiply, 10**400),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_no_instruction_has(name):
    def kernel(a):
        OUTSIDE[name](a, nl.load(a))
        return a

    refused(kernel, "(tile|dma_copy|tensor_scalar): ")


SKIP = nisa.oob_mode.skip
CACHE = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
# Views of two rows of a part of CACHE, of which the run moves the first one, and those that there
# are by index; the index is that of the row before the view where there is a third number.
MOVED = {
    "inner": (lambda x, r: x[1, nl.ds(r, 2)], CACHE[1]),
    "inner of a part": (lambda x, r: x[1:, 1:5][1, nl.ds(r, 2)], CACHE[2, 1:5]),
    "outer later": (lambda x, r: x[:, nl.ds(r, 2)][1], CACHE[1]),
    "outer backwards later": (lambda x, r: x[::-1, nl.ds(r, 2)][2], CACHE[1]),
    "outer and inner later": (lambda x, r: x[:, nl.ds(r, 2)][2, :, 3:5], CACHE[2, :, 3:5]),
    "rows later": (lambda x, r: x[2, nl.ds(r, 3)][1:], CACHE[2], 1),
    "permuted": (lambda x, r: x.permute((1, 0, 2))[nl.ds(r, 2), 1], CACHE[1]),
    "ap": (lambda x, r: x[:, 0:4].ap([[8, 2], [1, 8]], offset=48, scalar_offset=r, indirect_dim=1),
           CACHE[1, 0:4]),
    "ap within": (lambda x, r: x[:, 0:4].ap([[8, 2], [1, 5]], offset=99, scalar_offset=r,
                                            indirect_dim=1), CACHE[2, 0:4, 3:]),
    "ap goes on": (lambda x, r: x[1:3].ap([[8, 2], [1, 8]], scalar_offset=r, indirect_dim=1),
                   CACHE[1:3].reshape(12, 8)),
}


@pytest.mark.parametrize("place", [-1, 0, 2, 3, 5, 11, 2**31 - 1])
def test_rows_that_are_not_in_the_dimension_stay_out(place):
    @nki.jit
    def kernel(cache, where):
        register = nisa.register_alloc(nl.load(where))
        out = nl.full((len(MOVED), 2, 8), -1.0, cache.dtype, buffer=nl.shared_hbm)
        for i, (view, there, *_) in enumerate(MOVED.values()):
            x = nl.full((2, there.shape[1]), -1.0, cache.dtype)
            nisa.dma_copy(x, view(cache, register), oob_mode=SKIP)
            nl.store(out[i, :, 0:there.shape[1]], x)
        return out

    found = kernel(CACHE, np.array([[place]], np.int32))
    for (name, (_, there, *first)), got in zip(MOVED.items(), found):
        want = np.full((2, 8), -1, np.float32)
        for row in range(2):
            at = place + sum(first) + row
            if 0 <= at < len(there):
                want[row, :there.shape[1]] = there[at]
        np.testing.assert_array_equal(got, want, name)


def test_one_row_that_a_register_selects():
    @nki.jit
    def kernel(cache, where):
        register = nisa.register_alloc(nl.load(where))
        out = nl.full((3, 1, 8), -1.0, cache.dtype, buffer=nl.shared_hbm)
        for i, row in enumerate((cache[1, register], cache.select(0, 2).select(0, register),
                                 cache.select(1, register)[3])):
            nisa.dma_copy(out[i], row.reshape((1, 8)), oob_mode=SKIP)
        return out

    for place in (0, 4, 6):
        found = kernel(CACHE, np.array([[place]], np.int32))
        want = CACHE[1:4, place] if place < 6 else np.full((3, 8), -1)
        np.testing.assert_array_equal(found[:, 0], want)


# Places of CACHE in one row of a view, of which each has its own bound.
SIDE_BY_SIDE = {
    "behind one row": lambda x, r: x[1:2, nl.ds(r, 2)],
    "behind two dimensions of one": lambda x, r: x.reshape((2, 2, 6, 8))[0:1, 1:2, nl.ds(r, 2)],
    "ap": lambda x, r: x.ap([[48, 1], [8, 2], [1, 8]], offset=48, scalar_offset=r,
                            indirect_dim=1),
}


@pytest.mark.parametrize("place", [-1, 0, 4, 5, 6])
def test_places_of_one_row_have_their_own_bounds(place):
    @nki.jit
    def kernel(cache, where):
        register = nisa.register_alloc(nl.load(where))
        out = nl.full((len(SIDE_BY_SIDE), 2, 8), -1.0, cache.dtype, buffer=nl.shared_hbm)
        for i, view in enumerate(SIDE_BY_SIDE.values()):
            x = nl.full((1, 2, 8), -1.0, cache.dtype)
            source = view(cache[:2].reshape((2, 6, 8)) if i == 2 else cache, register)
            nisa.dma_copy(x.reshape(source.shape), source, oob_mode=SKIP)
            nl.store(out[i:i + 1], x)
        return out

    found = kernel(CACHE, np.array([[place]], np.int32))
    want = np.full((2, 8), -1, np.float32)
    for row in range(2):
        if 0 <= place + row < 6:
            want[row] = CACHE[1, place + row]
    # ap() goes on with the block before.
    before = np.stack([CACHE[0, 5], CACHE[1, 0]]) if place < 0 else want
    for name, got in zip(SIDE_BY_SIDE, found):
        np.testing.assert_array_equal(got, before if name == "ap" else want, name)


# Lists count from the offset on, to the end of the view: how many rows there are.
LISTED = {
    "two blocks": (lambda x, v: x[0:2].ap([[8, 2], [1, 8]], offset=48, vector_offset=v,
                                          indirect_dim=1), CACHE[1]),
    "a part of a block": (lambda x, v: x[:, 0:4].ap([[8, 2], [1, 8]], offset=56, vector_offset=v,
                                                    indirect_dim=1), CACHE[1, 1:4]),
    "all": (lambda x, v: x.ap([[8, 2], [1, 8]], offset=48, vector_offset=v, indirect_dim=1),
            CACHE[1:].reshape(18, 8)),
}


@pytest.mark.parametrize("name", LISTED)
def test_a_list_ends_with_the_view(name):
    view, there = LISTED[name]

    @nki.jit
    def kernel(cache, index, new):
        places, x = nl.load(index), nl.full((2, 8), -1.0, cache.dtype)
        nisa.dma_copy(x, view(cache, places), oob_mode=SKIP)
        out = nl.ndarray(x.shape, cache.dtype, buffer=nl.shared_hbm)
        nl.store(out, x)
        nisa.dma_copy(view(cache, places), nl.load(new), oob_mode=SKIP)
        return cache, out

    last = len(there) - 1
    found = kernel(CACHE.copy(), np.array([[last], [last + 1]], np.uint32),
                   np.full((2, 8), -2, np.float32))
    want = CACHE.copy()
    want[want[..., 0] == there[last, 0]] = -2
    np.testing.assert_array_equal(found[0], want)
    np.testing.assert_array_equal(found[1], [there[last], np.full(8, -1)])


def _listed_outside(a, word):
    """The first index is already behind the part."""
    return a[0:2].ap([[8, 1], [1, 8]], offset=16, vector_offset=word)


def _over_an_outer_dimension(a, word):
    """Rows are turns of the outer dimension: all of them would have to go together."""
    return a.reshape((2, 2, 8))[:, nl.ds(word, 1)]


@pytest.mark.parametrize("make,match", [
    (_listed_outside, "ap: offset begins at one of the 2 elements"),
    (_over_an_outer_dimension, "dma_copy: oob_mode.skip with scalar_offset moves up to 128")])
def test_bounds_that_are_refused(make, match):
    def kernel(a):
        view = make(a, nl.full((1, 1), 0, nl.int32))
        nisa.dma_copy(nl.ndarray((view.shape[0], 8), a.dtype), view, oob_mode=SKIP)
        return a

    refused(kernel, match)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_tensor_of_more_places_than_an_index_counts(dim):
    traced = []

    def kernel(a):
        big = nl.ndarray((3, 1 << 30), "uint8", buffer=nl.private_hbm)
        view = big.ap([[1, 1], [1, 8]], scalar_offset=nl.full((1, 1), 0, nl.int32),
                      indirect_dim=dim)
        nisa.dma_copy(nl.ndarray((1, 8), "uint8"), view, oob_mode=SKIP)
        traced.append(view.dynamic.limit)
        return a

    nki.jit(kernel).compile((np.ones((4, 8), np.float32),), {})
    assert traced == [3 if dim == 0 else 2**31 - 1]
