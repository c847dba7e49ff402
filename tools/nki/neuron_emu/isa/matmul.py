# SPDX-License-Identifier: MIT
"""Functions of nki.isa for the tensor engine."""

import numpy as np

from .. import dtypes
from ..builder import value
from ..errors import refuse
from ..tensor import merge_dims
from ..trace import TENSOR, VECTOR, current
from .common import PSUM, SBUF, chosen, member, needs, packed
from .compute import tensor_copy
from .constants import identity
from .enums import engine as engines
from .enums import matmul_perf_mode

__neuron_emu__ = True

_MATMUL, _MATMUL_MX, _TRANSPOSE = (value("function", name) for name in (
    "nc_matmul", "nc_matmul_mx", "nc_transpose"))
(_ACCUMULATE, _TRANSPOSED, _ONE_ZERO, _STATIONARY_ONE_ZERO, _DOUBLE_ROW, _PART,
 _PARTLY) = (value("flag", name) for name in (
     "accumulate", "transpose", "one_zero", "stationary_one_zero", "double_row", "part",
     "partly"))
_WIDE = ("float32", "tfloat32")


class Written:
    """Which elements of a tile in PSUM products have written.

    Mostly all products of a tile have one pattern; only when a second one comes is it looked at
    which elements they have.
    """

    def __init__(self, storage):
        self.patterns = {}
        self.map = None
        self.moved = False
        self.shape = (storage.partitions, storage.row // 2)

    def elements(self, dst):
        """Those that a product writes, as an index into the map."""
        partition, byte = dst.place()
        half = dst.itemsize // 2
        columns = np.array([byte // 2], np.int64)
        for n, step in dst.dims():
            columns = (columns[None, :] + (np.arange(n) * step * half)[:, None]).ravel()
        return slice(partition, partition + dst.shape[0]), columns

    def note(self, dst):
        """What was written of the part that a product writes; it is now."""
        rows, columns = self.elements(dst)
        old = self.map[rows][:, columns]
        self.map[rows, columns] = True
        return old

    def look(self, dst, pattern):
        """(flags, arguments) of a product whose accumulate is None; notes it."""
        if pattern in self.patterns:
            return _ACCUMULATE, (0, 0, 0, 0)
        self.patterns[pattern] = dst
        if len(self.patterns) == 1:
            return 0, (0, 0, 0, 0)
        if self.map is None:
            self.map = np.zeros(self.shape, bool)
            for earlier in list(self.patterns.values())[:-1]:
                self.note(earlier)
        old = self.note(dst)
        if not old.any():
            return 0, (0, 0, 0, 0)
        if old.all():
            return _ACCUMULATE, (0, 0, 0, 0)
        lines, places = np.nonzero(old.any(1))[0], np.nonzero(old.any(0))[0]
        if not old[lines[0]:lines[-1] + 1, places[0]:places[-1] + 1].all():
            refuse("nc_matmul", "with accumulate=None the part of dst that has been written is a "
                   "box", "another shape", "say accumulate=True or False")
        return _PARTLY, (int(lines[0]), len(lines), int(places[0]), len(places))


def _accumulate(dst, pattern, accumulate):
    """(flags, arguments)"""
    storage = dst.storage
    if storage.written is None:
        storage.written = Written(storage)
    if accumulate is None:
        if dst.dynamic is not None or storage.written.moved:
            refuse("nc_matmul", "a dst of which a register chooses a part needs to be told whether "
                   "it accumulates", None, "say accumulate=True or False")
        found = storage.written.look(dst, pattern)
        if found[0] != _ACCUMULATE and dst.storage.trace.loops > storage.loop:
            # The record is the same in each turn, and would overwrite what the one before wrote.
            refuse("nc_matmul", "in a loop on the device, a dst made outside of it needs to be "
                   "told whether it accumulates", None, "say accumulate=True or False, or make "
                   "dst in the loop")
        return found
    if dst.dynamic is not None:
        storage.written.moved = True
        return _ACCUMULATE if accumulate else 0, (0, 0, 0, 0)
    storage.written.look(dst, pattern)
    return _ACCUMULATE if accumulate else 0, (0, 0, 0, 0)


def _part(tile_position, tile_size, function):
    """(flags, arguments) of a part of the array."""
    if not tile_position and not tile_size:
        return 0, (0, 0, 0, 0)
    if not tile_position or not tile_size:
        refuse(function, "tile_position and tile_size are given together",
               f"{tile_position} and {tile_size}")
    (row, col), (rows, cols) = tile_position, tile_size
    if (row, col, rows, cols) == (0, 0, 128, 128):
        return 0, (0, 0, 0, 0)
    if rows not in (32, 64, 128) or cols not in (32, 64, 128) or row % rows or col % cols or \
            row + rows > 128 or col + cols > 128:
        refuse(function, "a part of the array has 32, 64 or 128 rows and columns and begins at a "
               "multiple of them", f"tile_position={tile_position}, tile_size={tile_size}")
    return _PART, (row, rows, col, cols)


def _shapes(dst, stationary, moving, double_row):
    function = "nc_matmul"
    if stationary.shape[0] != moving.shape[0]:
        refuse(function, "stationary and moving have as many partitions (the contraction)",
               f"{stationary.shape[0]} and {moving.shape[0]}")
    rows = 2 if double_row else 1
    m = stationary.size // stationary.shape[0] // rows
    n = moving.size // moving.shape[0] // rows
    if double_row and (stationary.ndim < 3 or stationary.shape[1] != 2 or moving.ndim < 3 or
                       moving.shape[1] != 2):
        refuse(function, "with double_row the first free dimension of stationary and moving is 2",
               f"shapes {stationary.shape} and {moving.shape}")
    if m > 128:
        refuse(function, "the free size of stationary is at most 128", m)
    if dst.shape[0] != m or dst.size // dst.shape[0] != n:
        refuse(function, f"dst has {m} partitions (free size of stationary) with {n} elements "
               "(free size of moving)", f"shape {dst.shape}")


def _rows(tensor):
    """The dimensions of an operand with double_row, of which the outer one is 2."""
    inner = merge_dims(zip(tensor.shape[:1:-1], tensor.strides[:1:-1]))
    return inner + [(2, tensor.strides[1])]


def nc_matmul(dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False,
              is_transpose=False, accumulate=None, tile_position=(), tile_size=(),
              perf_mode=matmul_perf_mode.none, name=None):
    """dst (+)= stationary^T @ moving."""
    trace = current()
    function = "nc_matmul"
    double_row = False
    if perf_mode is not matmul_perf_mode.none:
        perf_mode = member(perf_mode, matmul_perf_mode, "perf_mode", function)
        double_row = perf_mode is matmul_perf_mode.double_row
    _shapes(dst, stationary, moving, double_row)
    if not is_transpose and (stationary.dtype in _WIDE) != (moving.dtype in _WIDE):
        refuse(function, "float32 and tfloat32 operands go together only",
               f"{stationary.dtype} and {moving.dtype}")
    if trace.generation < 4 and dst.dtype != "float32" and not is_transpose:
        refuse(function, "dst is float32 on NeuronCore-v2 and v3", dst.dtype)
    into = packed(dst, "dst", function, TENSOR, PSUM)
    part, array = _part(tile_position, tile_size, function) if tile_size or tile_position else (
        0, (0, 0, 0, 0))
    if is_transpose:
        flags, written = _TRANSPOSED, (0, 0, 0, 0)
    else:
        flags, written = _accumulate(dst, into, accumulate)
    flags |= part
    if is_moving_onezero:
        flags |= _ONE_ZERO
    if is_stationary_onezero:
        flags |= _STATIONARY_ONE_ZERO
    dims0 = dims1 = None
    if double_row:
        needs(trace, 3, "nc_matmul with double_row")
        flags |= _DOUBLE_ROW
        dims0, dims1 = _rows(stationary), _rows(moving)
    return trace.add(_MATMUL, TENSOR, (
        into, packed(stationary, "stationary", function, TENSOR, SBUF, dims0),
        packed(moving, "moving", function, TENSOR, SBUF, dims1)), flags=flags,
        args=array + written)


def _scales(scale, data, function):
    """(packed scales, which of the rows of each 32 partitions they begin in)."""
    partition, _ = scale.place()
    row = partition % 32
    if row not in (0, 4, 8, 12):
        refuse(function, "scales begin in partition 0, 4, 8 or 12 of a quadrant", partition)
    moved = scale
    if row:
        moved = scale._view(scale.shape, scale.strides,
                            scale.offset - row * scale.storage.row // scale.itemsize)
    if scale.shape[0] != data.shape[0] and data.shape[0] <= 128:
        moved = moved._view((data.shape[0],) + moved.shape[1:], moved.strides)
    if moved.dtype == "bool":
        moved = moved.view("uint8")
    return packed(moved, "scale", function, TENSOR, SBUF), row


def nc_matmul_mx(dst, stationary, moving, stationary_scale, moving_scale, tile_position=None,
                 tile_size=None, accumulate=None, name=None):
    """dst (+)= stationary^T @ moving of MX operands."""
    trace = current()
    function = "nc_matmul_mx"
    needs(trace, 4, function)
    into = packed(dst, "dst", function, TENSOR, PSUM)
    flags, written = _accumulate(dst, into, accumulate)
    part, array = _part(tile_position, tile_size, function)
    scales0, row0 = _scales(stationary_scale, stationary, function)
    scales1, row1 = _scales(moving_scale, moving, function)
    return trace.add(_MATMUL_MX, TENSOR, (
        into, packed(stationary, "stationary", function, TENSOR, SBUF), scales0,
        packed(moving, "moving", function, TENSOR, SBUF), scales1), flags=flags | part,
        numbers=(row0, row1, 0), args=array + written)


# What integers are called while their bits are transposed.
_AS_FLOAT = {1: "float8_e5m2", 2: "bfloat16", 4: "float32"}


def nc_transpose(dst, data, engine=engines.unknown, name=None):
    """dst [F, P] = data [P, F]."""
    trace = current()
    function = "nc_transpose"
    free = data.size // data.shape[0]
    if dst.shape[0] != free or dst.size // dst.shape[0] != data.shape[0]:
        refuse(function, f"dst has {free} partitions with {data.shape[0]} elements",
               f"shape {dst.shape}")
    default = TENSOR if data.buffer is SBUF and dst.buffer is PSUM else VECTOR
    number = chosen(engine, default, function, (TENSOR, VECTOR))
    if number == VECTOR:
        if free > 32 or data.shape[0] > 32:
            refuse(function, "the vector engine transposes up to 32 x 32",
                   f"{data.shape[0]} x {free}", "use the tensor engine, from SBUF to PSUM")
        same_type(dst, data, function)
        return trace.add(_TRANSPOSE, VECTOR, (packed(dst, "dst", function, VECTOR),
                                              packed(data, "data", function, VECTOR)))
    if trace.generation == 2 and not (dst.dtype in _WIDE and data.dtype in dtypes.FLOATS):
        # These are not looked at until the copies, whose errors would have other names.
        packed(dst, "dst", function, TENSOR, PSUM)
        packed(data, "data", function, TENSOR, SBUF)
        same_type(dst, data, function)
        return _transpose_numbers(dst, data)
    if data.dtype not in dtypes.FLOATS:
        trace.integers_as_floats = True
        dst = dst.view(_AS_FLOAT[dst.itemsize]) if dst.itemsize == data.itemsize else dst
        data = data.view(_AS_FLOAT[data.itemsize])
    return _transpose_product(dst, data)


def _transpose_product(dst, data):
    """The product of data with the identity."""
    function = "nc_transpose"
    unit = identity(data.shape[0], data.dtype)
    return current().add(_MATMUL, TENSOR, (
        packed(dst, "dst", function, TENSOR, PSUM), packed(data, "data", function, TENSOR, SBUF),
        packed(unit, "identity", function, TENSOR, SBUF)), flags=_TRANSPOSED)


def _transpose_numbers(dst, data):
    """On NeuronCore-v2 a transposition is a product, which is FP32: its numbers are copied to dst.
    It has the numbers of all types of up to 16 bits; integers of 32 bits are turned in halves.
    """
    trace = current()
    count, free = data.shape[0], data.size // data.shape[0]
    if data.dtype in dtypes.FLOATS:
        turned = trace.ndarray((free, count), "float32", PSUM)
        _transpose_product(turned, data)
        return tensor_copy(dst, turned)
    if data.itemsize < 4:
        numbers = trace.ndarray((count, free), "float32")
        tensor_copy(numbers, data)
        turned = trace.ndarray((free, count), "float32", PSUM)
        _transpose_product(turned, numbers)
        return tensor_copy(dst, turned)
    whole, result = trace.ndarray((count, free), data.dtype), trace.ndarray((free, count),
                                                                           data.dtype)
    tensor_copy(whole, data)
    for half in (0, 1):
        turned = trace.ndarray((free, count), "uint16", PSUM)
        _transpose_numbers(turned, whole.view("uint16")[:, half::2])
        tensor_copy(result.view("uint16")[:, half::2], turned)
    return tensor_copy(dst, result)


def same_type(dst, data, function):
    """Bits are moved."""
    if dst.dtype != data.dtype:
        refuse(function, "dst and data have the same type", f"{dst.dtype} and {data.dtype}")
