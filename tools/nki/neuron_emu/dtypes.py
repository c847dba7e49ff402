# SPDX-License-Identifier: MIT
"""Element types: what NKI calls them, what the chip does, and what NumPy does.

A type is a str. NumPy has neither bfloat16 nor the 8-bit floats: where the package ml_dtypes can
be imported its types are used, elsewhere void types of the same size ("V2", "V1"), which
to_float32() and from_float32() convert. Those of one byte carry the name of the type as metadata,
which NumPy keeps in views, copies and parts of an array.
"""

import numpy as np

from .errors import NkiError

__neuron_emu__ = True

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# name: (bytes, the chip's name, NumPy's or ml_dtypes' name, what it is)
TYPES = {
    "bool": (1, "uint8", "bool", "int"),
    "int8": (1, "int8", "int8", "int"),
    "uint8": (1, "uint8", "uint8", "int"),
    "int16": (2, "int16", "int16", "int"),
    "uint16": (2, "uint16", "uint16", "int"),
    "int32": (4, "int32", "int32", "int"),
    "uint32": (4, "uint32", "uint32", "int"),
    "float16": (2, "fp16", "float16", "float"),
    "bfloat16": (2, "bf16", "bfloat16", "float"),
    "tfloat32": (4, "tf32", "float32", "float"),
    "float32": (4, "fp32", "float32", "float"),
    "float8_e4m3": (1, "fp8_e4", "float8_e4m3", "float"),
    "float8_e5m2": (1, "fp8_e5", "float8_e5m2", "float"),
    "float8_e4m3fn": (1, "fp8_e4fn", "float8_e4m3fn", "float"),
    "float8_e8m0fnu": (1, "e8m0", "float8_e8m0fnu", "scale"),
    "float8_e5m2_x4": (4, "fp8_e5_x4", "uint32", "packed"),
    "float8_e4m3fn_x4": (4, "fp8_e4fn_x4", "uint32", "packed"),
    "float4_e2m1fn_x4": (2, "fp4_e2_x4", "uint16", "packed"),
}
SIZE = {name: entry[0] for name, entry in TYPES.items()}
CHIP = {name: entry[1] for name, entry in TYPES.items()}
FLOATS = frozenset(name for name, entry in TYPES.items() if entry[3] == "float")
INTEGERS = frozenset(name for name, entry in TYPES.items() if entry[3] == "int")
PACKED = frozenset(name for name, entry in TYPES.items() if entry[3] == "packed")

# What NumPy has itself. It is no attribute of the module in all versions: "bool" is none.
OF_NUMPY = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16",
                      "float32"))

# Exponent bits, mantissa bits, bias, and whether there is an infinity, of what NumPy lacks.
FORMATS = {
    "bfloat16": (8, 7, 127, True),
    "float8_e4m3": (4, 3, 7, True),
    "float8_e5m2": (5, 2, 15, True),
    "float8_e4m3fn": (4, 3, 7, False),
}
ALIASES = {"bool_": "bool", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16",
           "float8e4": "float8_e4m3", "float8e5": "float8_e5m2"}
_known = {}


def carried(dtype):
    """The name that a void type of NumPy carries, or None."""
    return (dtype.metadata or {}).get("nki") if isinstance(dtype, np.dtype) else None


def _name_of(dtype):
    if isinstance(dtype, str):
        name = dtype
    elif carried(dtype):
        name = carried(dtype)
    else:
        # torch.bfloat16 prints as that; types of NumPy and ml_dtypes have names.
        name = str(dtype) if str(dtype).startswith("torch.") else None
        name = name or getattr(np.dtype(dtype), "name")
    name = name.rpartition(".")[2]
    name = ALIASES.get(name, name)
    if name in ("int64", "uint64", "float64") or name not in TYPES:
        if name == "void8":
            raise NkiError("V1 may be any 8-bit float: make the array with neuron_emu."
                           "from_float32(values, 'float8_e4m3'), or say what its bytes are by "
                           "array.view(neuron_emu.numpy_dtype('float8_e4m3'))")
        raise NkiError(f"NKI has no element type {dtype!r}: {', '.join(TYPES)}")
    return name


def canonical(dtype):
    """The name of a type: `dtype` may also be one of NumPy, ml_dtypes or torch."""
    try:
        return _known[dtype]
    except (KeyError, TypeError):
        name = _name_of(dtype)
        # To NumPy all void types of a size are one, whatever they carry.
        if not carried(dtype):
            _known[dtype] = name
        return name


def numpy_dtype(name):
    """What arrays of that type are in NumPy here."""
    called = TYPES[name][2]
    if called in OF_NUMPY:
        return np.dtype(called)
    if ml_dtypes is not None and hasattr(ml_dtypes, called):
        return np.dtype(getattr(ml_dtypes, called))
    # bfloat16 is the only one of two bytes.
    return np.dtype("V2") if SIZE[name] == 2 else np.dtype("V1", metadata={"nki": name})


def native(array):
    """The array in the byte order of this machine, which is that of the chip."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def bits_dtype(name):
    """The unsigned integer of the same size."""
    return np.dtype(f"u{SIZE[name]}")


def _table(name):
    """The values of all bit patterns of an 8-bit float."""
    exponent, mantissa, bias, infinite = FORMATS[name]
    values = np.empty(256, np.float32)
    for bits in range(256):
        sign = -1.0 if bits & 0x80 else 1.0
        e, m = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
        value = m * 2.0 ** (1 - bias - mantissa) if e == 0 else (
            (1 + m / (1 << mantissa)) * 2.0 ** (e - bias))
        top = e == (1 << exponent) - 1
        if infinite and top:
            value = np.inf if m == 0 else np.nan
        elif top and m == (1 << mantissa) - 1:
            value = np.nan
        values[bits] = sign * value
    return values


def to_float32(array, dtype=None):
    """The values of an array as float32; `dtype` says what void types hold.

    A void type of 2 bytes is bfloat16 unless `dtype` says something else.
    """
    array = np.asarray(array)
    if dtype is None:
        if array.dtype.kind != "V" or array.dtype.name in TYPES:
            return array.astype(np.float32)
        dtype = carried(array.dtype) or "bfloat16"
        if dtype == "bfloat16" and array.dtype.itemsize != 2:
            raise NkiError(f"{array.dtype} may be any 8-bit float: say which, as in "
                           "to_float32(array, 'float8_e4m3')")
    name = _of_numbers(dtype)
    if name == "float8_e8m0fnu":
        bits = np.ascontiguousarray(array).view(np.uint8)
        return np.where(bits == 255, np.nan, np.exp2(bits - 127.0)).astype(np.float32)
    if name not in FORMATS:
        return array.view(numpy_dtype(name)).astype(np.float32)
    bits = np.ascontiguousarray(array).view(bits_dtype(name))
    if name == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return _table(name)[bits]


def _bfloat16_bits(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7fc0, rounded).astype(np.uint16)


def _float8_bits(values, name):
    """Round to nearest even: between the two neighbours in the table of all values."""
    table = _table(name)[:128]
    count = int(np.isfinite(table).sum())
    table = table[:count].astype(np.float64)
    size = np.abs(np.asarray(values, np.float64))
    above = np.searchsorted(table, size).clip(0, count - 1)
    below = (above - 1).clip(0)
    low, high = size - table[below], table[above] - size
    bits = np.where((low < high) | ((low == high) & (below % 2 == 0)), below, above)
    infinite = FORMATS[name][3]
    step = table[-1] - table[-2]
    limit = table[-1] + step / 2
    # The largest number that is no infinity is odd, and that of a type without one is even.
    bits = np.where(size >= limit if infinite else size > limit, count if infinite else 0x7f, bits)
    bits = np.where(np.isnan(size), 0x7f, bits).astype(np.uint8)
    return bits | np.where(np.signbit(values), 0x80, 0).astype(np.uint8)


def from_float32(values, dtype):
    """An array of the type from numbers, rounded to nearest even.

    float8_e8m0fnu has powers of two from 2^-127 to 2^127 only, and takes no other numbers.
    """
    name = _of_numbers(dtype)
    values = np.asarray(values)
    target = numpy_dtype(name)
    if target.kind != "V" or target.name in TYPES:
        return values.astype(target)
    values = values.astype(np.float32)
    if name == "float8_e8m0fnu":
        return _exponents(values).view(target)
    bits = _bfloat16_bits(values) if name == "bfloat16" else _float8_bits(values, name)
    return bits.view(target)


def _of_numbers(dtype):
    """The name of a type whose elements are numbers."""
    name = canonical(dtype)
    if name in PACKED:
        raise NkiError(f"an element of {name} has four numbers, and NumPy no type for them: an "
                       f"array of {TYPES[name][2]} has its bits")
    return name


def _exponents(values):
    fraction, exponent = np.frexp(values)
    if not (((fraction == 0.5) & (exponent > -127)) | np.isnan(values)).all():
        raise NkiError("float8_e8m0fnu has powers of two from 2^-127 to 2^127, and NaN")
    return np.where(np.isnan(values), 255, exponent + 126).astype(np.uint8)
