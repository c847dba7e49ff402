# SPDX-License-Identifier: MIT
"""The gradients of attention, without the matrix of all scores in memory.

With P the weights, S the scores before they are scaled, and D the sums of dout * out over a row:
dv = P^T dout, dP = dout v^T, dS = scale * P * (dP - D), dq = dS k, dk = dS^T q. The weights are
computed again, from the scores and the logarithm of their sum.
"""

import nki
import nki.isa as nisa
import nki.language as nl

from .attention import check_shapes, hide_later
from .matmul import blocks


def product(stationary, moving):
    """stationary^T moving, in PSUM."""
    result = nl.ndarray((stationary.shape[1], moving.shape[1]), nl.float32, buffer=nl.psum)
    nisa.nc_matmul(result, stationary, moving)
    return result


def add(total, part):
    """total += part"""
    nisa.tensor_tensor(total, total, part, nl.add)


class Keys:
    """Up to 128 keys with their values, and the gradients of both so far."""

    def __init__(self, k, v, first, count):
        self.first = first
        self.count = count
        self.k = nl.load(k[first:first + count])
        self.turned_k = nl.transpose(self.k)
        self.turned_v = nl.transpose(nl.load(v[first:first + count]))
        self.dk = nl.zeros((count, k.shape[1]), nl.float32)
        self.dv = nl.zeros((count, v.shape[1]), nl.float32)


class Queries:
    """Up to 128 queries with the gradient of their result."""

    def __init__(self, q, out, sums, dout, position):
        self.position = position
        self.q, self.dout = nl.load(q), nl.load(dout)
        self.turned_q, self.turned_dout = nl.transpose(self.q), nl.transpose(self.dout)
        self.minus_sums = nl.negative(nl.load(sums))
        self.away = nl.sum(nl.multiply(nl.load(out), self.dout, dtype=nl.float32), 1)
        self.dq = nl.zeros(self.q.shape, nl.float32)

    def weights(self, keys, scale, causal):
        """P: the weights of the keys."""
        scores = nl.ndarray((self.q.shape[0], keys.count), nl.float32)
        nisa.activation(scores, nl.copy, product(self.turned_q, keys.turned_k), scale=scale)
        if causal and keys.first + keys.count - 1 > self.position:
            scores = hide_later(scores, self.position, keys.first)
        nisa.activation(scores, nl.exp, scores, bias=self.minus_sums)
        return scores

    def meet(self, keys, scale, causal):
        """Add what these queries and keys give to the gradients of both."""
        dtype = self.q.dtype
        weights = self.weights(keys, scale, causal)
        add(keys.dv, product(nl.copy(weights, dtype=dtype), self.dout))
        change = nl.ndarray(weights.shape, nl.float32)
        nisa.scalar_tensor_tensor(change, product(self.turned_dout, keys.turned_v), nl.subtract,
                                  self.away, nl.multiply, weights)
        scaled = nl.ndarray(weights.shape, dtype)
        nisa.tensor_scalar(scaled, change, nl.multiply, scale)
        add(keys.dk, product(scaled, self.q))
        add(self.dq, product(nl.transpose(scaled), keys.k))


@nki.jit
def flash_attention_grad(q, k, v, out, sums, dout, scale=None, causal=True):
    """The gradients of q, k and v from that of flash_attention().

    out and sums are what flash_attention(..., with_sums=True) has returned. The keys of a head, and
    their gradients, stay in SBUF.
    """
    check_shapes(q, k, causal, "flash_attention_grad")
    (heads, queries, width), (key_heads, keys, _) = q.shape, k.shape
    scale = float(scale if scale is not None else width ** -0.5)
    dq, dk, dv = (nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for x in (q, k, v))
    sums = sums.reshape((heads, queries, 1))
    share = heads // key_heads
    for source in range(key_heads):
        loaded = [Keys(k[source], v[source], *block) for block in blocks(keys, 128)]
        for head in range(source * share, (source + 1) * share):
            for first, count in blocks(queries, 128):
                part = (head, slice(first, first + count))
                position = first + keys - queries
                rows = Queries(q[part], out[part], sums[part], dout[part], position)
                for some in loaded:
                    if not causal or some.first < position + count:
                        rows.meet(some, scale, causal)
                nl.store(dq[part], nl.copy(rows.dq, dtype=q.dtype))
        for some in loaded:
            part = (source, slice(some.first, some.first + some.count))
            nl.store(dk[part], nl.copy(some.dk, dtype=k.dtype))
            nl.store(dv[part], nl.copy(some.dv, dtype=v.dtype))
    return dq, dk, dv
