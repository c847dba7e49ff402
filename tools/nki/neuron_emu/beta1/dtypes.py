# SPDX-License-Identifier: MIT
"""Element types as NKI Beta 1 shows them: those of NumPy where it has them, else names with a size.

The tracer below knows types by name; name_of() gives the name of what a kernel passes.
"""

import numpy as np

from .. import dtypes

__neuron_emu__ = True


class Type:
    """A type that NumPy lacks. numpy.dtype() takes it for bytes of the same size."""

    __slots__ = ("name", "dtype", "itemsize")

    def __init__(self, name):
        self.name = name
        self.itemsize = dtypes.SIZE[name]
        self.dtype = dtypes.numpy_dtype(name) if name != "tfloat32" else np.dtype("V4")

    def __repr__(self):
        return self.name

    def __eq__(self, other):
        if isinstance(other, Type):
            return self.name == other.name
        return other == self.name if isinstance(other, str) else NotImplemented

    def __hash__(self):
        return hash(self.name)


def _shown(name):
    """What a tensor of that type calls it."""
    found = dtypes.numpy_dtype(name)
    return Type(name) if found.kind == "V" and found.name not in dtypes.TYPES or \
        name == "tfloat32" else found


SHOWN = {name: _shown(name) for name in dtypes.TYPES if dtypes.TYPES[name][3] != "packed"}

# Bits of the exponent and of the fraction, of which the wider one of two types has more.
_FLOATS = {"float32": (8, 23), "tfloat32": (8, 10), "bfloat16": (8, 7), "float16": (5, 10),
           "float8_e5m2": (5, 2), "float8_e4m3": (4, 3), "float8_e4m3fn": (4, 3)}
_BY_BYTES = {2: "int16", 4: "int32"}


def name_of(dtype):
    """The tracer's name of a type, or None for None."""
    if dtype is None:
        return None
    return dtype.name if isinstance(dtype, Type) else dtypes.canonical(dtype)


def size_of(dtype):
    """Bytes of an element."""
    return dtypes.SIZE[name_of(dtype)]


def of_scalar(value):
    """The type of a number of Python or NumPy: a plain one has the widest type of its kind."""
    if isinstance(value, np.generic) and value.dtype.name in dtypes.TYPES:
        return value.dtype.name
    if isinstance(value, (bool, np.bool_)):
        return "uint8"
    return "int32" if isinstance(value, (int, np.integer)) else "float32"


def _range(name):
    if name == "bool":
        return 0, 1
    limits = np.iinfo(name)
    return int(limits.min), int(limits.max)


def promoted(a, b):
    """The type of a result of two operands."""
    if a == b:
        return a
    if (a in _FLOATS) != (b in _FLOATS):
        return a if a in _FLOATS else b
    if a in _FLOATS:
        (ea, fa), (eb, fb) = _FLOATS[a], _FLOATS[b]
        if ea >= eb and fa >= fb:
            return a
        if eb >= ea and fb >= fa:
            return b
        return "bfloat16" if max(dtypes.SIZE[a], dtypes.SIZE[b]) == 1 else "float32"
    low = min(_range(a)[0], _range(b)[0])
    high = max(_range(a)[1], _range(b)[1])
    for name in (a, b, "int16", "int32"):
        if _range(name)[0] <= low and high <= _range(name)[1]:
            return name
    return "float32"
