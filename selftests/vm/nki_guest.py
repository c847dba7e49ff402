# SPDX-License-Identifier: MIT
"""A kernel and a collective kernel of NKI, on the chip of the driver; test_nki.py runs this in a
guest.
"""

import numpy as np

import neuron_emu
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl
from neuron_emu import run

RANKS = 2
SHAPE = (128, 64)


@nki.jit
def product(xt, w):
    """x w + 1"""
    total = nl.ndarray((xt.shape[1], w.shape[1]), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(total, nl.load(xt), nl.load(w))
    out = nl.ndarray(total.shape, nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.add(total, 1.0))
    return out


@nki.jit
def total(a):
    """The sum of the squares of all ranks."""
    squares = nl.ndarray(a.shape, a.dtype, buffer=nl.private_hbm)
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a)
    nl.store(squares, nl.multiply(x, x))
    ncc.all_reduce(srcs=[squares], dsts=[out], op=nl.add,
                   replica_group=ncc.ReplicaGroup([list(range(RANKS))]))
    return out


@nki.jit
def beyond(a, rows):
    """Rows of a that a list names."""
    out = nl.ndarray((rows.shape[0], a.shape[1]), a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(out.shape, a.dtype)
    nisa.dma_copy(x, a.ap([[a.shape[1], rows.shape[0]], [1, a.shape[1]]],
                          vector_offset=nl.load(rows), indirect_dim=0))
    nl.store(out, x)
    return out


def main():
    """Whole numbers, whose sums are exact."""
    random = np.random.default_rng(1)
    xt, w = (random.integers(-8, 8, SHAPE).astype(np.float32) for _ in range(2))
    for _ in range(2):
        np.testing.assert_array_equal(product(xt, w), xt.T @ w + 1)
    print("kernel", product.device_ns > 0)

    parts = [random.integers(-8, 8, SHAPE).astype(np.float32) for _ in range(RANKS)]
    for result in neuron_emu.run_ranks(total, parts, chips=1):
        np.testing.assert_array_equal(result, sum(part * part for part in parts))
    print("collective", len(total.executions))

    try:
        beyond(xt, np.full((16, 1), SHAPE[0], np.uint32))
    except Exception as error:  # the class is one of nrtpy
        print("error", error.status, error.__notes__[0])
    np.testing.assert_array_equal(beyond(xt, np.arange(16, dtype=np.uint32)[:, None]), xt[:16])
    print("backend", run._backend(False))


main()
