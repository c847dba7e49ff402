# SPDX-License-Identifier: MIT
"""Functions of nki.language that look at more than one element: reductions, products, choices.

Each makes a new tile; the page of nki.language in the manual names its sequence of instructions.
"""

import numpy as np

from .. import dtypes, isa
from ..errors import refuse
from ..isa.constants import sbuf_constant
from ..ops import ALL
from ..tensor import MemoryRegion, NkiTensor, as_shape
from ..trace import current
from .core import ndarray, store
from .elementwise import act, binary, broadcast, copy, new, tile, wider

__neuron_emu__ = True
__all__ = [
    "all", "broadcast_to", "dropout", "expand_dims", "gather_flattened", "load_transpose2d",
    "matmul", "mean", "rand", "random_seed", "rms_norm", "softmax", "transpose", "var", "where"
]

_SBUF, _PSUM = MemoryRegion.sbuf, MemoryRegion.psum


def _axes(x, axis, function):
    """How many of the last dimensions `axis` names."""
    tile(x, "x", function)
    n = len(x.shape)
    try:
        axes = sorted(a + n if a < 0 else a for a in ([axis] if isinstance(axis, int) else axis))
    except TypeError:
        refuse(function, "axis is an integer, or a list of them", repr(axis))
    if not axes or axes != list(range(n - len(axes), n)) or axes[0] < 1:
        refuse(function, f"axis names the last free dimensions, up to {n - 1}", axis,
               "permute the tile so that they are the last ones")
    return len(axes)


def _kept(x, count):
    """(shape without the reduced dimensions, shape with ones in their place)"""
    outer = x.shape[:len(x.shape) - count]
    return outer, outer + (1,) * count


def _reduce(op, x, count, dtype, scale=None):
    """Over the last dimensions; the result keeps them with one element."""
    outer, kept = _kept(x, count)
    dst = new(kept, dtype)
    flat = dst.reshape(outer if len(outer) > 1 else outer + (1,))
    axes = tuple(range(len(outer), len(x.shape)))
    isa.tensor_reduce(flat, op, x, axes)
    if scale is not None:
        isa.tensor_scalar(dst, dst, ALL["multiply"], scale)
    return dst


def _shaped(x, dst, count, keepdims):
    """Without the reduced dimensions, if nobody wants them."""
    outer, kept = _kept(x, count)
    return dst if keepdims or len(outer) < 2 else dst.reshape(outer)


def _reduction(name, x, axis, dtype, keepdims):
    count = _axes(x, axis, f"nl.{name}")
    op = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}[name]
    return _shaped(x, _reduce(ALL[op], x, count, dtype or x.dtype), count, keepdims)


def _sum(x, axis, dtype=None, keepdims=False):
    """The sum along dimensions."""
    return _reduction("sum", x, axis, dtype, keepdims)


def _max(x, axis, dtype=None, keepdims=False):
    """The greatest element along dimensions."""
    return _reduction("max", x, axis, dtype, keepdims)


def _min(x, axis, dtype=None, keepdims=False):
    """The least element along dimensions."""
    return _reduction("min", x, axis, dtype, keepdims)


def _prod(x, axis, dtype=None, keepdims=False):
    """The product along dimensions."""
    return _reduction("prod", x, axis, dtype, keepdims)


for _name, _function in (("sum", _sum), ("max", _max), ("min", _min), ("prod", _prod)):
    ALL[_name].function = _function


def _count(x, count):
    n = 1
    for size in x.shape[len(x.shape) - count:]:
        n *= size
    return n


def _mean(x, count):
    """The mean in FP32, with the reduced dimensions."""
    return _reduce(ALL["add"], x, count, "float32", 1.0 / _count(x, count))


def mean(x, axis, dtype=None, keepdims=False):
    """The mean along dimensions: a sum in FP32, times 1 / n."""
    count = _axes(x, axis, "nl.mean")
    result = _mean(x, count)
    if dtypes.canonical(dtype or x.dtype) != "float32":
        result = copy(result, dtype or x.dtype)
    return _shaped(x, result, count, keepdims)


def var(x, axis, dtype=None, keepdims=False):
    """The variance along dimensions: the mean of the squares of the distances from the mean.

    The reduced dimensions are kept with one element, whatever `keepdims` says, as documented.
    """
    count = _axes(x, axis, "nl.var")
    distance = binary(ALL["subtract"], x, _mean(x, count), "float32")
    result = _mean(act(ALL["square"], distance), count)
    return result if dtypes.canonical(dtype or x.dtype) == "float32" else copy(
        result, dtype or x.dtype)


def all(x, axis, dtype=None):
    """1 where no element along the dimensions is 0."""
    count = _axes(x, axis, "nl.all")
    true = binary(ALL["not_equal"], x, 0.0, "float32")
    return _shaped(x, _reduce(ALL["minimum"], true, count, dtype or x.dtype), count, False)


def softmax(x, axis=-1, dtype=None):
    """exp(x - max) / sum(exp(x - max)), in FP32."""
    count = _axes(x, axis, "nl.softmax")
    most = _reduce(ALL["maximum"], x, count, "float32")
    if len(x.shape) - count == 1:
        # One sum for each partition: a bias of the scalar engine, which sums as well.
        isa.tensor_scalar(most, most, ALL["multiply"], -1.0)
        power, total = new(x.shape, "float32"), new((x.shape[0], 1), "float32")
        isa.activation_reduce(power, ALL["exp"], x, ALL["add"], total,
                              bias=most.reshape((x.shape[0], 1)))
    else:
        power = act(ALL["exp"], binary(ALL["subtract"], x, most, "float32"))
        total = _reduce(ALL["add"], power, count, "float32")
    isa.reciprocal(total, total)
    if len(x.shape) - count == 1:
        total = total.reshape((x.shape[0],) + (1,) * count)
    return binary(ALL["multiply"], power, total, dtype or x.dtype)


def rms_norm(x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None):
    """x / sqrt(sum(x * x) / n + epsilon) * w."""
    count = _axes(x, axis, "nl.rms_norm")
    kind = compute_dtype or "float32"
    total = _reduce(ALL["add"], act(ALL["square"], x, kind), count, "float32")
    isa.tensor_scalar(total, total, ALL["multiply"], 1.0 / n, op1=ALL["add"],
                      operand1=float(epsilon))
    isa.activation(total, ALL["rsqrt"], total)
    scaled = binary(ALL["multiply"], x, total, kind)
    return binary(ALL["multiply"], scaled, tile(w, "w", "nl.rms_norm"), dtype or x.dtype)


def where(condition, x, y, dtype=None):
    """x where the condition is not 0, else y; both are tiles or numbers."""
    function = "nl.where"
    tile(condition, "condition", function)
    shape = condition.shape
    kinds = [v.dtype for v in (x, y) if isinstance(v, NkiTensor)]
    dst = new(shape, dtype or (wider(*(kinds * 2)[:2]) if kinds else condition.dtype))
    true = new(shape, "uint32")
    isa.tensor_scalar(true, condition, ALL["not_equal"], 0.0)
    if isinstance(y, NkiTensor):
        isa.tensor_copy(dst, broadcast(tile(y, "y", function), shape, function))
    else:
        isa.memset(dst, y)
    if isinstance(x, NkiTensor):
        x = broadcast(tile(x, "x", function), shape, function)
        isa.tensor_copy_predicated(dst, x if x.dtype == dst.dtype else copy(x, dst.dtype), true)
    else:
        isa.tensor_copy_predicated(dst, x, true)
    return dst


def dropout(x, rate, dtype=None):
    """x, but 0 with the probability `rate`, a number or one for each partition."""
    tile(x, "x", "nl.dropout")
    source = x if dtype is None or dtypes.canonical(dtype) == x.dtype else copy(x, dtype)
    dst = new(x.shape, source.dtype)
    isa.dropout(dst, source, rate)
    return dst


def expand_dims(x, axis):
    """A view with a dimension of one element more."""
    n = len(x.shape) + 1
    if not isinstance(axis, int) or not -n <= axis < n:
        refuse("nl.expand_dims", f"axis is one of the {n} places", repr(axis))
    return x.expand_dim(axis % n)


def broadcast_to(x, shape, dtype=None):
    """x in another shape, in which its dimensions of one element are repeated."""
    function = "nl.broadcast_to"
    view = broadcast(tile(x, "x", function), as_shape(shape, function), function)
    if dtype is not None and dtypes.canonical(dtype) != x.dtype:
        return copy(view, dtype)
    return view


def transpose(x, dtype=None):
    """A tile of SBUF with partitions and elements exchanged."""
    function = "nl.transpose"
    tile(x, "x", function)
    if len(x.shape) != 2 or x.shape[1] > 128:
        refuse(function, "x is a tile of 2 dimensions of at most 128", f"shape {x.shape}")
    rows, columns = x.shape
    dst = new((columns, rows), dtype or x.dtype)
    source = x if x.buffer is _SBUF else copy(x)
    if rows <= 32 and columns <= 32 and dst.dtype == source.dtype:
        isa.nc_transpose(dst, source)
        return dst
    # On NeuronCore-v2 a transposition is a product, which is FP32.
    product = current().generation == 2 and source.dtype in dtypes.FLOATS
    turned = ndarray((columns, rows), "float32" if product else source.dtype, _PSUM)
    isa.nc_transpose(turned, source, engine=isa.engine.tensor)
    isa.tensor_copy(dst, turned)
    return dst


def matmul(x, y, transpose_x=False):
    """x @ y, or x^T @ y, in PSUM. Without transpose_x the tensor engine transposes x first."""
    function = "nl.matmul"
    tile(x, "x", function)
    tile(y, "y", function)
    stationary = x if transpose_x else transpose(x)
    if stationary.shape[0] != y.shape[0]:
        refuse(function, "the contracted dimensions are equal",
               f"{stationary.shape[0]} and {y.shape[0]} (shapes {x.shape} and {y.shape})")
    dst = ndarray((stationary.shape[1], y.shape[1]), "float32", _PSUM)
    isa.nc_matmul(dst, stationary, y)
    return dst


def load_transpose2d(src, dtype=None):
    """A new tile in SBUF with a matrix of HBM transposed."""
    function = "nl.load_transpose2d"
    if len(src.shape) != 2:
        refuse(function, "src has 2 dimensions", f"shape {src.shape}")
    dst = new((src.shape[1], src.shape[0]), src.dtype)
    if src.itemsize == 1:
        isa.dma_copy(dst, src.permute((1, 0)))
    else:
        isa.dma_transpose(dst, src)
    return dst if dtype is None or dtypes.canonical(dtype) == src.dtype else copy(dst, dtype)


def gather_flattened(data, indices, axis=0, dtype=None):
    """For each index the element of the free dimensions of data, in the same partition."""
    function = "nl.gather_flattened"
    tile(data, "data", function)
    tile(indices, "indices", function)
    if axis != 0:
        refuse(function, "axis is 0", axis)
    if data.shape[0] != indices.shape[0]:
        refuse(function, "data and indices have as many partitions",
               f"{data.shape[0]} and {indices.shape[0]}")
    rows = data.shape[0]
    places = indices if indices.dtype == "uint32" else copy(indices, "uint32")
    dst = new(indices.shape, data.dtype)
    isa.nc_n_gather(dst.reshape((rows, dst.size // rows)), data.reshape((rows, data.size // rows)),
                    places.reshape((rows, dst.size // rows)))
    return dst if dtype is None or dtypes.canonical(dtype) == data.dtype else copy(dst, dtype)


def rand(shape, dtype, buffer=_SBUF, name=""):
    """A new tensor of numbers from 0 to below 1: 24 random bits of each word, times 2^-24."""
    result = ndarray(shape, dtype, buffer, name)
    if not result.on_chip and (len(result.shape) < 2 or result.shape[0] > 128):
        refuse("nl.rand", "a tensor in HBM has 2 dimensions or more, the first one of at most 128",
               f"shape {result.shape}", "fill it tile by tile")
    words = new(result.shape, "uint32")
    isa.rng(words)
    isa.tensor_scalar(words, words, ALL["right_shift"], 8)
    numbers = result if result.on_chip else new(result.shape, dtype)
    isa.tensor_scalar(numbers, words, ALL["multiply"], 2.0 ** -24)
    if not result.on_chip:
        store(result, numbers)
    return result


def random_seed(seed):
    """Begin the random numbers anew; `seed` is a tile [1, 1] of 4 bytes, or a number."""
    if not isinstance(seed, NkiTensor):
        seed = sbuf_constant(np.array([[int(seed) & 0xffffffff]], np.uint32), "uint32")
    isa.set_rng_seed(seed)
