# SPDX-License-Identifier: MIT
"""Functions of single elements, and the steps of optimisers, of arrays of any shape."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 2048


def tiles_of(*tensors):
    """Tuples of pieces [partitions, elements] of tensors of one shape, as views in HBM."""
    size = tensors[0].size
    done = 0
    while done < size:
        width = min(WIDTH, size - done)
        rows = min(128, (size - done) // width)
        yield tuple(tensor.reshape((size,))[done:done + rows * width].reshape((rows, width))
                    for tensor in tensors)
        done += rows * width


def activated(x, op):
    """op of each element."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for source, target in tiles_of(x, out):
        tile = nl.load(source)
        nisa.activation(tile, op, tile)
        nl.store(target, tile)
    return out


def activated_grad(x, dy, op):
    """dy * op(x)."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    for source, change, target in tiles_of(x, dy, out):
        slope = nl.ndarray(source.shape, nl.float32)
        nisa.activation(slope, op, nl.load(source))
        nl.store(target, nl.multiply(slope, nl.load(change), dtype=x.dtype))
    return out


@nki.jit
def gelu(x):
    """x * P(X <= x) for a normal X."""
    return activated(x, nl.gelu)


@nki.jit
def gelu_grad(x, dy):
    """The gradient of x from that of gelu(x)."""
    return activated_grad(x, dy, nl.gelu_dx)


@nki.jit
def silu(x):
    """x * sigmoid(x)."""
    return activated(x, nl.silu)


@nki.jit
def silu_grad(x, dy):
    """The gradient of x from that of silu(x)."""
    return activated_grad(x, dy, nl.silu_dx)


@nki.jit
def sgd(parameter, gradient, rate, decay=0.0):
    """parameter - rate * (gradient + decay * parameter)."""
    out = nl.ndarray(parameter.shape, parameter.dtype, buffer=nl.shared_hbm)
    for source, change, target in tiles_of(parameter, gradient, out):
        tile = nl.load(source)
        kept = nl.ndarray(tile.shape, nl.float32)
        nisa.tensor_scalar(kept, tile, nl.multiply, 1.0 - rate * decay)
        nisa.scalar_tensor_tensor(tile, nl.load(change), nl.multiply, -float(rate), nl.add, kept)
        nl.store(target, tile)
    return out


@nki.jit
def adam(parameter, gradient, mean, square, step, rate=1e-3, beta1=0.9, beta2=0.999,
         epsilon=1e-8):
    """A step of Adam: the new parameter, mean and mean square, which are FP32. Steps count from
    1."""
    out = nl.ndarray(parameter.shape, parameter.dtype, buffer=nl.shared_hbm)
    new_mean = nl.ndarray(mean.shape, nl.float32, buffer=nl.shared_hbm)
    new_square = nl.ndarray(square.shape, nl.float32, buffer=nl.shared_hbm)
    all_of = tiles_of(parameter, gradient, mean, square, out, new_mean, new_square)
    for p, g, m, v, to_p, to_m, to_v in all_of:
        change = nl.load(g, nl.float32)
        first = nl.load(m)
        nisa.tensor_scalar(first, first, nl.multiply, float(beta1))
        nisa.scalar_tensor_tensor(first, change, nl.multiply, 1.0 - beta1, nl.add, first)
        nl.store(to_m, first)
        second = nl.load(v)
        nisa.tensor_scalar(second, second, nl.multiply, float(beta2))
        nisa.tensor_tensor(change, change, change, nl.multiply)
        nisa.scalar_tensor_tensor(second, change, nl.multiply, 1.0 - beta2, nl.add, second)
        nl.store(to_v, second)
        root = nl.ndarray(second.shape, nl.float32)
        nisa.activation(root, nl.sqrt, second, scale=1.0 / (1.0 - beta2 ** step))
        nisa.tensor_scalar(root, root, nl.add, float(epsilon))
        nisa.reciprocal(root, root)
        nisa.tensor_tensor(root, root, first, nl.multiply)
        tile = nl.load(p)
        nisa.scalar_tensor_tensor(tile, root, nl.multiply, -rate / (1.0 - beta1 ** step), nl.add,
                                  tile)
        nl.store(to_p, tile)
    return out, new_mean, new_square
