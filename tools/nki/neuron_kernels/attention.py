# SPDX-License-Identifier: MIT
"""Attention without the matrix of all scores in memory, and rotary embedding."""

import nki
import nki.isa as nisa
import nki.language as nl

from .matmul import blocks

KEYS = 512
# The scores of keys that are not seen: exp() makes 0 of them.
HIDDEN = -30000.0


class Rows:
    """What is known of up to 128 queries: their greatest score, sum and result so far."""

    def __init__(self, count, width):
        self.most = nl.full((count, 1), HIDDEN, nl.float32)
        self.sum = nl.zeros((count, 1), nl.float32)
        self.result = nl.zeros((count, width), nl.float32)

    def see(self, scores):
        """Their weights for more keys; what is known is scaled to the new maximum."""
        most = nl.maximum(self.most, nl.max(scores, 1))
        minus = nl.negative(most)
        old = nl.ndarray(most.shape, nl.float32)
        nisa.activation(old, nl.exp, self.most, bias=minus)
        weights, total = nl.ndarray(scores.shape, nl.float32), nl.ndarray(most.shape, nl.float32)
        nisa.activation_reduce(weights, nl.exp, scores, nl.add, total, bias=minus)
        nisa.scalar_tensor_tensor(self.sum, self.sum, nl.multiply, old, nl.add, total)
        nisa.tensor_scalar(self.result, self.result, nl.multiply, old)
        self.most = most
        return weights

    def add(self, weights, values):
        """Add the values of keys, times their weights. The contracted keys go to partitions."""
        count, n = weights.shape
        total = nl.ndarray((count, self.result.shape[1]), nl.float32, buffer=nl.psum)
        for i, (first, size) in enumerate(blocks(n, 128)):
            turned = nl.ndarray((size, count), nl.float32, buffer=nl.psum)
            nisa.nc_transpose(turned, weights[:, first:first + size], engine=nisa.engine.tensor)
            stationary = nl.ndarray((size, count), values[i].dtype)
            nisa.tensor_copy(stationary, turned)
            nisa.nc_matmul(total, stationary, values[i])
        nisa.tensor_tensor(self.result, self.result, total, nl.add)


def hide_later(scores, first_query, first_key):
    """Scores of keys that come after their query become HIDDEN."""
    shown = nl.ndarray(scores.shape, nl.float32)
    nisa.affine_select(shown, [[-1, scores.shape[1]]], 1, scores, HIDDEN,
                       cmp_op=nl.greater_equal, offset=first_query - first_key)
    return shown


def check_shapes(q, k, causal, function):
    """Refuse heads that cannot be shared, and causal queries before the first key."""
    if q.shape[0] % k.shape[0]:
        raise nki.NkiError(f"{function}: {q.shape[0]} heads are no multiple of {k.shape[0]} "
                           "key heads")
    if causal and k.shape[1] < q.shape[1]:
        raise nki.NkiError(f"{function}: {q.shape[1]} causal queries need as many keys, not "
                           f"{k.shape[1]}")


@nki.jit
def flash_attention(q, k, v, scale=None, causal=True, with_sums=False):
    """softmax(q k^T * scale) v for each head.

    q is [heads, queries, width], k and v [key heads, keys, width], in one type of 2 or 4 bytes;
    the width is at most 128. Each key head serves heads / key heads heads that follow one another.
    With more keys than queries the queries are the last ones: the others are a cache. With
    with_sums it also returns log(sum(exp(score))) of each query, which flash_attention_grad wants.
    """
    check_shapes(q, k, causal, "flash_attention")
    heads, queries, width = q.shape
    key_heads, keys, _ = k.shape
    scale = float(scale if scale is not None else width ** -0.5)
    out = nl.ndarray(q.shape, q.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray((heads, queries, 1), nl.float32, buffer=nl.shared_hbm) if with_sums else None
    for head in range(heads):
        source = head // (heads // key_heads)
        for first, count in blocks(queries, 128):
            position = first + keys - queries
            seen = min(keys, position + count) if causal else keys
            query = nl.load_transpose2d(q[head, first:first + count, :])
            rows = Rows(count, width)
            for k0, ks in blocks(seen, KEYS):
                turned = nl.load_transpose2d(k[source, k0:k0 + ks, :])
                product = nl.ndarray((count, ks), nl.float32, buffer=nl.psum)
                nisa.nc_matmul(product, query, turned)
                scores = nl.ndarray((count, ks), nl.float32)
                nisa.activation(scores, nl.copy, product, scale=scale)
                if causal and k0 + ks - 1 > position:
                    scores = hide_later(scores, position, k0)
                values = [nl.load(v[source, k0 + i:k0 + i + n, :]) for i, n in blocks(ks, 128)]
                rows.add(rows.see(scores), values)
            if with_sums:
                nl.store(sums[head, first:first + count, :], nl.add(nl.log(rows.sum), rows.most))
            nisa.reciprocal(rows.sum, rows.sum)
            result = nl.ndarray((count, width), q.dtype)
            nisa.tensor_scalar(result, rows.result, nl.multiply, rows.sum)
            nl.store(out[head, first:first + count, :], result)
    return (out, sums.reshape((heads, queries))) if with_sums else out


def rotated(x, cos, sin, first_op, second_op):
    """The halves of each row turned by an angle: one way, or the other."""
    heads, positions, width = x.shape
    half = width // 2
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for first, count in blocks(positions, 128):
        c, s = nl.load(cos[first:first + count]), nl.load(sin[first:first + count])
        for head in range(heads):
            tile = nl.load(x[head, first:first + count, :], nl.float32)
            low, high = tile[:, 0:half], tile[:, half:width]
            result = nl.ndarray(tile.shape, x.dtype)
            nisa.tensor_tensor(result[:, 0:half], nl.multiply(low, c), nl.multiply(high, s),
                               first_op)
            nisa.tensor_tensor(result[:, half:width], nl.multiply(high, c), nl.multiply(low, s),
                               second_op)
            nl.store(out[head, first:first + count, :], result)
    return out


@nki.jit
def rope(x, cos, sin):
    """Rotary embedding of x [heads, positions, width] with halves: cos and sin are
    [positions, width / 2]."""
    return rotated(x, cos, sin, nl.subtract, nl.add)


@nki.jit
def rope_grad(dy, cos, sin):
    """The gradient of x from that of rope(x, cos, sin): the rotation back."""
    return rotated(dy, cos, sin, nl.add, nl.subtract)
