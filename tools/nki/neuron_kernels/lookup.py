# SPDX-License-Identifier: MIT
"""Rows of tables by number, and losses and choices over classes."""

import nki
import nki.isa as nisa
import nki.language as nl

from .matmul import blocks


@nki.jit
def embedding(table, ids):
    """table[ids]: ids is [n] of int32, at least 0 and less than the rows of the table."""
    out = nl.ndarray((ids.shape[0], table.shape[1]), table.dtype, buffer=nl.shared_hbm)
    numbers = ids.reshape((ids.shape[0], 1))
    for first, count in blocks(ids.shape[0], 128):
        rows = nl.load(numbers[first:first + count])
        tile = nl.ndarray((count, table.shape[1]), table.dtype)
        nisa.dma_copy(tile, table.vector_select(0, rows))
        nl.store(out[first:first + count], tile)
    return out


def one_hot(numbers, classes, first=0):
    """[count, classes] of FP32: 1 where first + the column is the number of the row."""
    count = numbers.shape[0]
    columns = nl.ndarray((count, classes), nl.float32)
    nisa.iota(columns, [[1, classes]], offset=first)
    nisa.tensor_scalar(columns, columns, nl.equal, numbers)
    return columns


@nki.jit
def embedding_grad(ids, dy, rows):
    """The gradient of a table of `rows` rows from that of embedding(table, ids), in FP32.

    Rows that occur several times are added: a product with the matrix that says which they are.
    """
    n, width = dy.shape
    out = nl.ndarray((rows, width), nl.float32, buffer=nl.shared_hbm)
    numbers = ids.reshape((n, 1))
    changes = [(nl.load(numbers[first:first + count], nl.float32),
                nl.load(dy[first:first + count], nl.float32)) for first, count in blocks(n, 128)]
    for row, some in blocks(rows, 128):
        hot = [one_hot(number, some, row) for number, _ in changes]
        for begin, size in blocks(width, 512):
            total = nl.ndarray((some, size), nl.float32, buffer=nl.psum)
            for chosen, (_, change) in zip(hot, changes):
                nisa.nc_matmul(total, chosen, change[:, begin:begin + size])
            nl.store(out[row:row + some, begin:begin + size], total)
    return out


@nki.jit
def cross_entropy(logits, labels):
    """[n] of FP32: log(sum(exp(logits))) - logits[label] of each row, which fits a partition."""
    n, classes = logits.shape
    out = nl.ndarray((n,), nl.float32, buffer=nl.shared_hbm)
    for first, count in blocks(n, 128):
        tile = nl.load(logits[first:first + count], nl.float32)
        label = nl.load(labels.reshape((n, 1))[first:first + count], nl.float32)
        most = nl.max(tile, 1)
        power, total = nl.ndarray(tile.shape, nl.float32), nl.ndarray((count, 1), nl.float32)
        nisa.activation_reduce(power, nl.exp, tile, nl.add, total, bias=nl.negative(most))
        loss = nl.add(nl.log(total), most)
        chosen = nl.sum(nl.multiply(one_hot(label, classes), tile), 1)
        nl.store(out.reshape((n, 1))[first:first + count], nl.subtract(loss, chosen))
    return out


@nki.jit
def cross_entropy_grad(logits, labels, dloss=None):
    """The gradient of the logits from dloss [n], that of the losses, or from 1 for each of them:
    softmax(logits), less 1 at the label.
    """
    n, classes = logits.shape
    out = nl.ndarray(logits.shape, logits.dtype, buffer=nl.shared_hbm)
    for first, count in blocks(n, 128):
        part = slice(first, first + count)
        tile = nl.load(logits[part], nl.float32)
        label = nl.load(labels.reshape((n, 1))[part], nl.float32)
        change = nl.subtract(nl.softmax(tile), one_hot(label, classes))
        if dloss is not None:
            nisa.tensor_scalar(change, change, nl.multiply,
                               nl.load(dloss.reshape((n, 1))[part], nl.float32))
        nl.store(out[part], nl.copy(change, dtype=logits.dtype))
    return out


@nki.jit
def topk(x, k):
    """The k largest of each row, descending, and their places: k is a multiple of 8, and a row has
    8 to 16,384 elements."""
    n, width = x.shape
    values = nl.ndarray((n, k), x.dtype, buffer=nl.shared_hbm)
    places = nl.ndarray((n, k), nl.uint32, buffer=nl.shared_hbm)
    for first, count in blocks(n, 128):
        tile = nl.load(x[first:first + count])
        found = nl.ndarray((count, k), x.dtype)
        where = nl.ndarray((count, k), nl.uint32)
        for i in range(0, k, 8):
            nisa.max8(found[:, i:i + 8], tile)
            rest = nl.ndarray((count, width), x.dtype)
            nisa.nc_match_replace8(rest, tile, found[:, i:i + 8], -3e38,
                                   dst_idx=where[:, i:i + 8])
            tile = rest
        nl.store(values[first:first + count], found)
        nl.store(places[first:first + count], where)
    return values, places


@nki.jit
def topk_grad(places, dy, width):
    """The gradient of x, whose rows have `width` elements, from that of the values of topk(x)."""
    n, k = places.shape
    out = nl.ndarray((n, width), dy.dtype, buffer=nl.shared_hbm)
    for first, count in blocks(n, 128):
        part = slice(first, first + count)
        where, change = nl.load(places[part], nl.float32), nl.load(dy[part], nl.float32)
        columns = nl.ndarray((count, width), nl.float32)
        nisa.iota(columns, [[1, width]])
        total = nl.zeros((count, width), nl.float32)
        for i in range(k):
            there = nl.ndarray((count, width), nl.float32)
            nisa.tensor_scalar(there, columns, nl.equal, where[:, i:i + 1], op1=nl.multiply,
                               operand1=change[:, i:i + 1])
            nisa.tensor_tensor(total, total, there, nl.add)
        nl.store(out[part], nl.copy(total, dtype=dy.dtype))
    return out
