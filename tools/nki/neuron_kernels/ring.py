# SPDX-License-Identifier: MIT
"""A product that begins before all data has come from the other chips."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl

from .matmul import product


@nki.jit
def ring_matmul(x, w, group):
    """The rows of all ranks' x [M, K], in the order of their numbers, @ w [K, N] of this rank.

    `group` is a ReplicaGroup of one list, the ring. Each step multiplies the rows that are there
    while they go on to the next rank.
    """
    if len(group.groups) != 1:
        raise nki.NkiError("ring_matmul: the group has one list, which names all ranks")
    count = len(group.groups[0])
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
