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
