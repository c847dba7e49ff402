# SPDX-License-Identifier: MIT
"""neuronxcc.nki.language: functions of tiles that return tiles.

Each operator, such as nl.add, is the operand of instructions that the tracer knows by its name,
and computes when it is called. What it does is done by nki.language; here are masks, types as
Beta 1 derives them, block dimensions and the places of results.
"""

import builtins
import math
import os
import sys

import numpy as np

from .. import dtypes as _dtypes
from .. import isa
from .. import language as _nl
from ..errors import refuse
from ..isa.constants import hbm_constant
from ..language import core, elementwise, functions
from ..ops import ALL
from ..tensor import MemoryRegion, NkiTensor
from ..trace import current
from . import index
from .dtypes import SHOWN, name_of, of_scalar, promoted
from .index import Index, Mask, as_integer
from .narrow import narrowed
from .once import Once
from .store import (Reduction, accumulate, assign, boxed, boxes_of, named, nothing, produce,
                    tile_shape)
from .tensor import Blocks, Offset, SBUF, PSUM, Tensor

__neuron_emu__ = True

sbuf, psum = SBUF, PSUM
hbm = private_hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm
program_id, num_programs, program_ndim = core.program_id, core.num_programs, core.program_ndim

def _shown(name, kind):
    """What a kernel sees as a type: NumPy's own where there is one."""
    known = isinstance(kind, np.dtype) and kind.kind != "V"
    return getattr(np, name, kind) if known else kind


globals().update((_name, _shown(_name, _type)) for _name, _type in SHOWN.items() if _name != "bool")
bool_ = np.bool_


class fp32:
    """Constants of float32."""
    min = float(np.finfo(np.float32).min)
    max = float(np.finfo(np.float32).max)


class bfp16:
    """Constants of bfloat16."""
    min = -float.fromhex("0x1.fep127")
    max = float.fromhex("0x1.fep127")


_EXTREMES = {"bfloat16": bfp16.max, "float8_e4m3": 240.0, "float8_e5m2": 57344.0,
             "float8_e4m3fn": 448.0, "tfloat32": float.fromhex("0x1.ffcp127")}


class _Limits:
    def __init__(self, most):
        self.max, self.min = most, -most


def finfo(dtype):
    """The limits of a float type."""
    name = name_of(dtype)
    return _Limits(_EXTREMES[name]) if name in _EXTREMES else np.finfo(name)


def affine_range(*args, **hints):
    """The loop is unrolled, and hints to a compiler change nothing. Numbers that the body counts
    begin each iteration with what they were before the loop: Beta 1 runs the body once.
    """
    return Once(*(int(n) for n in args))


sequential_range = affine_range


def static_range(*args, **hints):
    """Python's range: Beta 1 unrolls this loop, too."""
    return range(*(int(n) for n in args))


# --- tensors ---

class par_dim(int):
    """The size of the partition dimension of a shape: nl.par_dim(128)."""


def _shape(shape, function):
    try:
        shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        marked = [i for i, n in enumerate(shape) if isinstance(n, par_dim)]
        sizes = tuple(int(n) for n in shape)
    except (TypeError, ValueError):
        refuse(function, "a shape is a tuple of integers", repr(shape))
    if len(marked) > 1:
        refuse(function, "one dimension is the partition dimension", shape)
    return sizes, marked[0] if marked else 0


def ndarray(shape, dtype, *, buffer=None, name="", **kwargs):
    """A new tensor, whose contents are undefined."""
    sizes, partition = _shape(shape, "nl.ndarray")
    place = None
    if hasattr(buffer, "place"):
        place, buffer = buffer.place, buffer.memory
    buffer = SBUF if buffer is None else core.region(buffer)
    kind = name_of(dtype)
    if buffer not in (SBUF, PSUM):
        return Tensor.of(current().ndarray(sizes, kind, buffer, name))
    tile = sizes[partition:]

    def make(block):
        row = math.prod(tile[1:]) * _dtypes.SIZE[kind]
        address = place(block, tile[0], row) if place else None
        return current().ndarray(tile, kind, buffer, name, address)

    if not partition:
        return Tensor.of(make(()))
    return Tensor(sizes, None, blocks=Blocks(sizes, partition, kind, buffer, make))


def full(shape, fill_value, dtype, *, buffer=None, name="", lazy_initialization=False, **kwargs):
    """A new tensor of one number. When it is written changes nothing of what it is."""
    result = ndarray(shape, dtype, buffer=buffer, name=name)
    if result.on_chip:
        assign(result, fill_value)
        return result
    filled = core.full(result.shape, fill_value, result.kind, result.buffer, name)
    return Tensor.of(filled)


def zeros(shape, dtype, *, buffer=None, name="", lazy_initialization=False, **kwargs):
    """A new tensor of zeros. When they are written changes nothing of what they are."""
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape, dtype, *, buffer=None, name="", lazy_initialization=False, **kwargs):
    """A new tensor of ones. When they are written changes nothing of what they are."""
    return full(shape, 1, dtype, buffer=buffer, name=name)


def empty_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """A new tensor of the shape of a, in SBUF unless `buffer` says otherwise."""
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer, name=name)


def zeros_like(a, dtype=None, *, buffer=None, name="", **kwargs):
    """The same with zeros."""
    return zeros(a.shape, dtype or a.dtype, buffer=buffer, name=name)


def shared_constant(constant, dtype=None, **kwargs):
    """A tensor in HBM with the contents of an array."""
    array = np.asarray(np.load(constant) if isinstance(constant, (str, os.PathLike)) else constant)
    kind = name_of(dtype) or name_of(array.dtype if array.dtype != np.float64 else np.float32)
    numbers = array if array.dtype.kind == "V" else _dtypes.from_float32(
        array if kind not in _dtypes.FORMATS else array.astype(np.float32), kind)
    return Tensor.of(hbm_constant(numbers, kind))


def shared_identity_matrix(n, dtype=np.uint8, **kwargs):
    """The identity matrix, in HBM."""
    return shared_constant(np.identity(n, np.uint8), dtype)


def static_cast(input_data, dtype):
    """A number or array of another type; a tile is copied."""
    if isinstance(input_data, Tensor):
        return copy(input_data, dtype=dtype)
    found, name = np.asarray(input_data), name_of(dtype)
    if found.dtype.kind == "V":
        found = _dtypes.to_float32(found)
    return _dtypes.from_float32(found, name)[()]


# --- HBM and the chip ---

def load(src, *, mask=None, dtype=None, **kwargs):
    """A new tile in SBUF with the contents of a tensor in HBM."""
    _in_hbm(src, "src", "nl.load")
    kind = name_of(dtype) or src.kind
    shape = tile_shape(src.shape)
    parts = boxes_of(src, mask)
    if not parts:
        return nothing(shape, kind)
    if len(parts) > 1:
        tile = core.ndarray(shape, kind)
        result = Tensor.of(tile)
        for box in parts:
            isa.dma_copy(result.part(_padded(box, shape)), _matched(src.part(box, "nl.load")))
        return result
    return produce(shape, kind, parts[0], lambda dst: isa.dma_copy(
        dst, _matched(src.part(parts[0], "nl.load"))), anywhere=True)


def _padded(box, shape):
    return list(box) + [(0, 1)] * (len(shape) - len(box))


def _matched(view):
    """A row of HBM as a column."""
    return view if len(view.shape) > 1 else NkiTensor(
        view.shape + (1,), view.dtype, view.storage, strides=view.strides + (1,),
        offset=view.offset, dynamic=view.dynamic)


def store(dst, value, *, mask=None, **kwargs):
    """A tensor in HBM = a tile."""
    _in_hbm(dst, "dst", "nl.store")
    if isinstance(value, (Tensor, Reduction)) or np.isscalar(value):
        assign(dst, value, mask)
        return
    refuse("nl.store", "value is a tile or a number", type(value).__name__)


def _in_hbm(tensor, what, function):
    if not isinstance(tensor, Tensor):
        refuse(function, f"{what} is a tensor", type(tensor).__name__)
    if tensor.on_chip:
        refuse(function, f"{what} lies in HBM", tensor.buffer.name)


def load_transpose2d(src, *, mask=None, dtype=None, **kwargs):
    """A new tile in SBUF with a matrix of HBM transposed."""
    _in_hbm(src, "src", "nl.load_transpose2d")
    box = src.box(mask, "nl.load_transpose2d")
    rows, columns = src.shape
    kind = name_of(dtype) or src.kind
    if box is None:
        return nothing((columns, rows), kind)
    view = functions.load_transpose2d(src.part(box, "nl.load_transpose2d"), kind)
    return boxed(view, (columns, rows), [box[1], box[0]])


def atomic_rmw(dst, value, op, *, mask=None, **kwargs):
    """dst = dst + value, where a tile chooses the rows of dst."""
    from .isa import dma_copy
    if ALL["add"] is not isa.common.operator(op, "nl.atomic_rmw"):
        refuse("nl.atomic_rmw", "op is np.add", op)
    if not isinstance(value, Tensor):
        value = full(dst.shape, value, dst.dtype)
    dma_copy(dst=dst, src=value, mask=mask, dst_rmw_op=op)


def copy(src, *, mask=None, dtype=None, **kwargs):
    """A copy of a tile, in SBUF."""
    tile(src, "src", "nl.copy")
    box = src.box(mask, "nl.copy")
    return produce(src.shape, name_of(dtype) or src.kind, box, lambda dst: isa.tensor_copy(
        dst, narrowed(src.part(box, "nl.copy"))))


# --- what is computed for each element ---

def tile(x, what, function):
    """It must be a tile."""
    if not isinstance(x, Tensor):
        refuse(function, f"{what} is a tile", type(x).__name__)
    if not x.on_chip:
        refuse(function, f"{what} lies in SBUF or PSUM", x.buffer.name, "load it with nl.load")
    return x


def common_shape(tiles, function):
    """The shape that tiles have, or are repeated to."""
    ndim = builtins.max(t.ndim for t in tiles)
    return index.broadcast_shapes([_aligned(t, ndim) for t in tiles], function)


def _aligned(t, ndim):
    """Its shape with more dimensions: a column is one for all free dimensions."""
    if t.ndim < ndim and builtins.all(n == 1 for n in t.shape[1:]):
        return (t.shape[0],) + (1,) * (ndim - 1)
    return t.shape


def common_box(tiles, shape, mask, function):
    """The box of a result that a mask, and those of the operands, leave."""
    terms = [index.fitted(t, shape) for t in Mask.of(mask).terms]
    for t in tiles:
        for offset, steps in t.soft:
            own = _aligned(t, len(shape))
            if len(own) == len(shape) and builtins.all(n == m or not s for n, m, s in zip(
                    own, shape, steps + (0,) * (len(own) - len(steps)))):
                terms.append((offset, (steps + (0,) * len(shape))[:len(shape)]))
    found, skew = index.cut(terms, shape)
    if skew:
        refuse(function, "the mask leaves a box of the tile", "another shape",
               "use nisa.affine_select or nl.where")
    return found


def operand(t, shape, box, function):
    """The tracer's view of the part of an operand that a box of the result needs."""
    if not isinstance(t, Tensor):
        return t
    own = _aligned(t, len(shape))
    part = [(0, 1) if n == 1 else b for n, b in zip(own, box)][:t.ndim]
    view = t.part(part, function)
    if len(view.shape) < len(shape):
        view = view.reshape((view.shape[0],) + (1,) * (len(shape) - 1))
    return narrowed(view)


def _types(operands):
    kind = None
    for t in operands:
        own = t.kind if isinstance(t, Tensor) else of_scalar(t)
        kind = own if kind is None else promoted(kind, own)
    return kind


def compute(name, function, operands, dtype=None, mask=None, emit=None):
    """A tile of what nki.language's function makes of operands."""
    where = f"nl.{name}"
    tiles = [tile(t, "an operand", where) for t in operands if isinstance(t, Tensor)]
    if not tiles:
        refuse(where, "an operand is a tile", ", ".join(repr(t) for t in operands))
    for t in operands:
        if not isinstance(t, Tensor) and not np.isscalar(t):
            refuse(where, "operands are tiles and numbers", type(t).__name__)
    shape = common_shape(tiles, where)
    kind = name_of(dtype) or _types(operands)
    box = common_box(tiles, shape, mask, where)
    if box is None:
        return nothing(shape, kind)

    def write(dst):
        parts = _not_both([operand(t, shape, box, where) for t in operands])
        if emit is None or not emit(dst, parts):
            isa.tensor_copy(dst, function(*parts, dtype=kind))

    return produce(shape, kind, box, write)


def _not_both(parts):
    """An instruction has one operand in PSUM: others are copied to SBUF."""
    in_psum = [i for i, t in enumerate(parts) if isinstance(t, NkiTensor) and t.buffer is PSUM]
    for i in in_psum[1:]:
        source = parts[i]
        parts[i] = core.ndarray(source.shape, source.dtype)
        isa.tensor_copy(parts[i], source)
    return parts


def _unary_emit(op):
    def emit(dst, parts):
        isa.activation(dst, op, parts[0])
        return True
    return emit


def _binary_emit(op):
    def emit(dst, parts):
        x, y = parts
        if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
            if x.shape != y.shape:
                return False
            isa.tensor_tensor(dst, x, y, op)
            return True
        data, number = (x, y) if isinstance(x, NkiTensor) else (y, x)
        if elementwise.needs_tile(op, data, number):
            return False
        isa.tensor_scalar(dst, data, op, number, reverse0=data is y)
        return True
    return emit


class Function:
    """nl.add and its kind: an operand of instructions, and a function of tiles."""

    def __init__(self, name, arity, emit, boolean=False):
        self.__name__ = self.name = name
        self.arity = arity
        self.emit = emit
        self.boolean = boolean

    def __repr__(self):
        return f"neuronxcc.nki.language.{self.name}"

    def __call__(self, x, y=None, *, dtype=None, mask=None, **kwargs):
        operands = (x,) if self.arity == 1 else (x, y)
        if self.name == "divide" and dtype is None and _types(operands) in _dtypes.INTEGERS:
            dtype = "float32"
        if self.boolean and dtype is None:
            dtype = "bool"
        return compute(self.name, getattr(_nl, self.name), operands, dtype, mask, self.emit)


_BOOLEAN = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and",
            "logical_or", "logical_xor", "logical_not")
_OWN_SEQUENCE = ("sin", "cos", "tan", "floor", "ceil", "trunc", "reciprocal", "negative", "invert",
                 "logical_not", "divide", "fmod", "mod", "relu", "copy", "arctan")
_ONE = ("abs", "square", "relu", "rsqrt", "reciprocal", "invert", "logical_not", "exp", "log",
        "sqrt", "tanh", "sigmoid", "gelu", "gelu_apprx_sigmoid", "gelu_apprx_tanh", "gelu_dx",
        "silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "sin", "cos", "tan", "arctan",
        "ceil", "floor", "trunc", "negative", "sign")
_TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "bitwise_and",
        "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "fmod", "mod") + tuple(
            n for n in _BOOLEAN if n != "logical_not")

FUNCTIONS = {}
for _names, _arity, _emit in ((_ONE, 1, _unary_emit), (_TWO, 2, _binary_emit)):
    for _name in _names:
        _op = ALL[_name]
        _direct = _name not in _OWN_SEQUENCE and (_op.act if _arity == 1 else _op.alu)
        FUNCTIONS[_name] = Function(_name, _arity, _emit(_op) if _direct else None,
                                    _name in _BOOLEAN)
globals().update(FUNCTIONS)


def dropout(x, rate, *, dtype=None, mask=None, **kwargs):
    """x, but 0 with the probability `rate`."""
    from .isa import dropout as instruction
    return instruction(x, rate, dtype=dtype, mask=mask)


def where(condition, x, y, *, dtype=None, mask=None, **kwargs):
    """x where the condition is not 0, else y."""
    if isinstance(condition, Mask):
        shape = common_shape([t for t in (x, y) if isinstance(t, Tensor)], "nl.where")
        shape = index.broadcast_shapes([shape] + [t.shape for t in condition.terms
                                                  if t.constant() is None], "nl.where")
        condition = truth(condition, shape)
    kind = name_of(dtype) or _types((x, y))
    return compute("where", lambda c, a, b, dtype: functions.where(c, a, b, dtype),
                   (condition, x, y), kind, mask)


def truth(mask, shape):
    """A tile of 1 where a mask holds and 0 elsewhere."""
    from .isa import affine_select
    result = full(shape, 1, np.uint8)
    return affine_select(mask, result, 0.0)


# --- reductions ---

def reduced(x, axis, function):
    """(view with the reduced dimensions last, how many they are, axes)"""
    tile(x, "x", function)
    try:
        axes = sorted(a % x.ndim for a in ((axis,) if as_integer(axis) is not None else axis))
    except TypeError:
        refuse(function, "axis is an integer, or a list of them", repr(axis))
    if not axes or axes[0] < 1 or len(set(axes)) != len(axes):
        refuse(function, f"axis names free dimensions, 1 to {x.ndim - 1}", axis)
    return axes


def reduction(name, x, axis, dtype, mask, keepdims, run):
    """A tile without the dimensions of `axis`, or with one element in them."""
    function = f"nl.{name}"
    axes = reduced(x, axis, function)
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = tuple(x.shape[d] for d in kept)
    wide = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    kind = name_of(dtype) or x.kind
    box = x.box(mask, function)
    if box is None:
        return nothing(wide if keepdims else shape, kind)
    order = tuple(kept + axes)
    part = x.part(box, function)
    part = part if order == tuple(range(x.ndim)) else part.permute(order)

    def write(dst):
        run(dst, part, len(axes), kind)

    result = produce(shape, kind, [box[d] for d in kept], write)
    if not keepdims:
        return result
    out = boxed(result.whole(function), wide, [(0, 1) if d in axes else box[d]
                                               for d in range(x.ndim)]) if result.soft else (
        result.reshape(wide))
    return out


def reduce_by(op):
    """An instruction that reduces by an operator."""
    def run(dst, part, count, kind):
        axes = tuple(range(part.ndim - count, part.ndim))
        isa.tensor_reduce(dst, op, part, axes)
    return run


def _reduction(name, op):
    def function(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
        return reduction(name, x, axis, dtype, mask, keepdims, reduce_by(ALL[op]))
    function.__name__ = name
    function.__doc__ = f"The {name} along free dimensions."
    return function


sum = _reduction("sum", "add")
max = _reduction("max", "maximum")
min = _reduction("min", "minimum")
prod = _reduction("prod", "multiply")


def _by_function(what):
    def run(dst, part, count, kind):
        axes = tuple(range(part.ndim - count, part.ndim))
        found = what(part, axes, kind)
        isa.tensor_copy(dst, found.reshape(dst.shape) if found.shape != dst.shape else found)
    return run


def mean(x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs):
    """The mean along free dimensions."""
    kind = dtype or ("float32" if x.kind in _dtypes.INTEGERS else None)
    return reduction("mean", x, axis, kind, mask, keepdims, _by_function(
        lambda part, axes, kind: functions.mean(part, axes, kind, keepdims=True)))


def var(x, axis, *, dtype=None, mask=None, **kwargs):
    """The variance along free dimensions, which it keeps with one element."""
    return reduction("var", x, axis, dtype, mask, True, _by_function(functions.var))


def all(x, axis, *, dtype=bool, mask=None, **kwargs):
    """1 where no element along the dimensions is 0."""
    return reduction("all", x, axis, dtype, mask, False, _by_function(functions.all))


def softmax(x, axis, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """exp(x - max) / sum(exp(x - max)) along the last dimensions."""
    axes = reduced(x, axis, "nl.softmax")
    return compute("softmax", lambda part, dtype: functions.softmax(part, axes, dtype), (x,),
                   dtype or compute_dtype, mask)


def rms_norm(x, w, axis, n, epsilon=1e-06, *, dtype=None, compute_dtype=None, mask=None, **kwargs):
    """x / sqrt(sum(x * x) / n + epsilon) * w."""
    axes = reduced(x, axis, "nl.rms_norm")
    kind = name_of(dtype or compute_dtype) or x.kind
    return compute("rms_norm", lambda a, b, dtype: functions.rms_norm(
        a, b, axes, n, epsilon, dtype), (x, w), kind, mask)


def loop_reduce(x, op, loop_indices, *, dtype=None, mask=None, **kwargs):
    """An operand of the tile that it is assigned to: b[...] = nl.loop_reduce(a, np.add, ...)."""
    name = isa.common.operator(op, "nl.loop_reduce").name
    name = {"max": "maximum", "min": "minimum", "sum": "add"}.get(name, name)
    if name not in ("add", "maximum", "minimum", "multiply"):
        refuse("nl.loop_reduce", "op is np.add, np.multiply, np.max or np.min", op)
    return Reduction(x, FUNCTIONS[name], mask)


# --- shapes ---

def expand_dims(data, axis):
    """A view with dimensions of one element more."""
    view = data.whole("nl.expand_dims")
    axes = (axis,) if as_integer(axis) is not None else tuple(axis)
    for a in sorted(a % (data.ndim + len(axes)) for a in axes):
        view = functions.expand_dims(view, a)
    return Tensor.of(view)


def broadcast_to(src, *, shape, function="nl.broadcast_to", **kwargs):
    """The tile with its dimensions of one element repeated."""
    shape = tuple(int(n) for n in shape)
    if src.shape == shape:
        return src
    view = src.whole(function)
    if not src.on_chip:
        return broadcast_to(load(src), shape=shape)
    if len(view.shape) < len(shape):
        if len(view.shape) == 2 and view.shape[1] == 1:
            view = view.reshape((view.shape[0],) + (1,) * (len(shape) - 1))
        else:
            view = view.reshape((1,) * (len(shape) - len(view.shape)) + view.shape) if (
                view.shape[0] == 1) else view
    return Tensor.of(elementwise.broadcast(view, shape, function))


def transpose(x, *, dtype=None, mask=None, **kwargs):
    """A tile with partitions and elements exchanged."""
    from .isa import nc_transpose
    return nc_transpose(x, dtype=dtype, mask=mask)


def matmul(x, y, *, transpose_x=False, mask=None, **kwargs):
    """x @ y, or x^T @ y, in PSUM."""
    from .isa import nc_matmul, tensor_copy
    tile(x, "x", "nl.matmul")
    tile(y, "y", "nl.matmul")
    if not transpose_x:
        x = transpose(x)
    if x.buffer is PSUM:
        x = tensor_copy(x)
    if y.buffer is PSUM:
        y = tensor_copy(y)
    return nc_matmul(x, y, mask=mask)


def gather_flattened(data, indices, *, mask=None, dtype=None, **kwargs):
    """For each index the element of the free dimensions of data, in the same partition."""
    tile(data, "data", "nl.gather_flattened")
    box = indices.box(mask, "nl.gather_flattened")
    kind = name_of(dtype) or data.kind
    if box is None:
        return nothing(indices.shape, kind)
    rows = data.part([box[0]] + [(0, n) for n in data.shape[1:]], "nl.gather_flattened")
    view = functions.gather_flattened(rows, indices.part(box, "nl.gather_flattened"), dtype=kind)
    return boxed(view, indices.shape, box)


# --- random numbers, printing ---

def rand(shape, dtype=np.float32, **kwargs):
    """A tile of numbers from 0 to below 1."""
    return Tensor.of(functions.rand(_shape(shape, "nl.rand")[0], name_of(dtype)))


def random_seed(seed, *, mask=None, **kwargs):
    """Begin the random numbers anew."""
    functions.random_seed(seed.whole("nl.random_seed") if isinstance(seed, Tensor) else seed)


def device_print(prefix, x, *, mask=None, **kwargs):
    """Print a tile, in simulation."""
    if current().eager is None:
        refuse("nl.device_print", "it prints in nki.simulate_kernel() only")
    print(prefix, x.whole("nl.device_print") if isinstance(x, Tensor) else x)


# --- what is not here ---

def all_reduce(*args, **kwargs):
    """Refused: programs of a grid run one after the other."""
    refuse("nl.all_reduce", "a reduction over the programs of a grid is not here",
           fix="let each program return its part, and add them outside of the kernel")


# --- operators of tiles ---

def _operator(function, reverse=False):
    def method(self, other):
        if isinstance(other, Index):
            return NotImplemented
        if not isinstance(other, Tensor) and not np.isscalar(other):
            return NotImplemented
        return function(other, self) if reverse else function(self, other)
    return method


def _offset(function, sign):
    plain = _operator(function, False)

    def method(self, other):
        if isinstance(other, (Index, Offset)) and self.size == 1:
            return Offset(self, sign * other)
        return plain(self, other)
    return method


def _reverse_offset(function):
    plain = _operator(function, True)

    def method(self, other):
        if isinstance(other, Index) and self.size == 1:
            return Offset(self, other)
        return plain(self, other)
    return method


def _alone(function):
    def method(self):
        return function(self)
    return method


def _in_place(function):
    def method(self, other):
        named(sys.getrefcount(other), other)
        return accumulate(self, other, function.name, function)
    return method


_NAMES = {"sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "mod": "mod",
          "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
          "rshift": "right_shift"}
for _name, _function in _NAMES.items():
    setattr(Tensor, f"__{_name}__", _operator(FUNCTIONS[_function]))
    setattr(Tensor, f"__r{_name}__", _operator(FUNCTIONS[_function], True))
    setattr(Tensor, f"__i{_name}__", _in_place(FUNCTIONS[_function]))
for _name, _function in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
                         ("ge", "greater_equal"), ("eq", "equal"), ("ne", "not_equal")):
    setattr(Tensor, f"__{_name}__", _operator(FUNCTIONS[_function]))
Tensor.__add__ = _offset(FUNCTIONS["add"], 1)
Tensor.__radd__ = _reverse_offset(FUNCTIONS["add"])
Tensor.__iadd__ = _in_place(FUNCTIONS["add"])
for _name, _function in (("neg", "negative"), ("abs", "abs"), ("invert", "invert")):
    setattr(Tensor, f"__{_name}__", _alone(FUNCTIONS[_function]))
