# SPDX-License-Identifier: MIT
"""A product that begins before all data has come from the other chips."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl

from .matmul import product, product_grad


def ring_of(group, function):
    """The ranks of a ReplicaGroup of one list."""
    if len(group.groups) != 1:
        raise nki.NkiError(f"{function}: the group has one list, which names all ranks")
    return group.groups[0]


@nki.jit
def ring_matmul(x, w, group):
    """The rows of all ranks' x [M, K], in the order of their numbers, @ w [K, N] of this rank.

    `group` is a ReplicaGroup of one list, the ring. Each step multiplies the rows that are there
    while they go on to the next rank.
    """
    count = len(ring_of(group, "ring_matmul"))
    m, n = x.shape[0], w.shape[1]
    out = nl.ndarray((count, m, n), x.dtype, buffer=nl.shared_hbm)
    rows = x
    for step in range(count):
        rank = ncc.collective_permute_implicit_current_processing_rank_id(
            iteration_id=step, replica_group=group)
        following = nl.ndarray(x.shape, x.dtype, buffer=nl.private_hbm)
        if step + 1 < count:
            ncc.collective_permute_implicit([[rows]], [[following]], group)
        part = nl.ndarray((m, n), x.dtype, buffer=nl.private_hbm)
        product(part, rows, w)
        nisa.dma_copy(dst=out[nl.ds(rank, 1)], src=part)
        rows = following
    return out.reshape((count * m, n))


@nki.jit
def ring_matmul_grad(x, w, dout, group):
    """The gradients of this rank's x and w from that of ring_matmul(x, w, group).

    All ranks have used the rows of x, so their gradient is a sum over the ranks.
    """
    ring = ring_of(group, "ring_matmul_grad")
    (m, k), n, count = x.shape, w.shape[1], len(ring)
    dx = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    dw = nl.ndarray(w.shape, w.dtype, buffer=nl.shared_hbm)
    rows = nl.ndarray((count * m, k), x.dtype, buffer=nl.private_hbm)
    ncc.all_gather([x], [rows], group, 0)
    # Collectives go by places in the ring, and rows of the result by ranks.
    change = nl.ndarray((count, m, n), dout.dtype, buffer=nl.private_hbm)
    of_rank = dout.reshape((count, m, n))
    for place, rank in enumerate(ring):
        nisa.dma_copy(dst=change[place], src=of_rank[rank])
    change = change.reshape((count * m, n))
    parts = nl.ndarray((count * m, k), x.dtype, buffer=nl.private_hbm)
    product_grad(parts, dw, rows, w, change)
    ncc.reduce_scatter([parts], [dx], group, 0, nl.add)
    return dx, dw
