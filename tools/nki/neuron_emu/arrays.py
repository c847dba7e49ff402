# SPDX-License-Identifier: MIT
"""Arrays that kernels are called with, and return: of NumPy, PyTorch and JAX.

PyTorch and JAX are not imported here before the program has done so: without them nobody has such
an array.
"""

import sys
import warnings

import numpy as np

from . import dtypes
from .errors import NkiError

__neuron_emu__ = True

# What PyTorch has in place of NumPy's type, where it lacks that one.
_WIDER = {"uint16": "int32", "uint32": "int64"}
_SAME_SIZE = {1: "uint8", 2: "int16"}


def is_torch(value):
    """Is it a tensor of PyTorch?"""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_jax(value):
    """Is it an array of JAX?"""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, getattr(jax, "Array", ()))


def is_array(value):
    """Something that becomes a tensor in HBM."""
    return isinstance(value, np.ndarray) or is_torch(value) or is_jax(value)


def framework_of(value):
    """In what its results come back: "torch", "jax", or None for NumPy."""
    if is_torch(value):
        return "torch"
    return "jax" if is_jax(value) else None


def accept(name, array):
    """Look at an argument; returns its shape and NKI's name for its type."""
    if not array.shape:
        raise NkiError(f"argument {name} has no dimensions, and tensors of NKI have at least one: "
                       f"pass {name}.reshape(1) for a tensor, or {name}.item() for a number")
    if is_torch(array):
        _accept_torch(name, array)
    elif is_jax(array):
        _accept_jax(name, array)
    try:
        return tuple(array.shape), dtype_of(array)
    except NkiError as error:
        raise NkiError(f"argument {name}: {error}") from None


def _accept_torch(name, tensor):
    import torch
    if tensor.layout is not torch.strided:
        raise NkiError(f"argument {name} is a sparse tensor: pass {name}.to_dense()")
    if tensor.device.type == "meta":
        raise NkiError(f"argument {name} is a tensor without contents (device meta)")
    if tensor.requires_grad and torch.is_grad_enabled():
        warnings.warn(f"argument {name} requires a gradient, which a kernel does not record: call "
                      "the kernel in a torch.autograd.Function, or in torch.no_grad()",
                      stacklevel=_level())


def _accept_jax(name, array):
    from jax.core import Tracer
    if isinstance(array, Tracer):
        raise NkiError(f"argument {name} is an array that JAX traces: call the kernel outside of "
                       "jax.jit() and jax.grad(), with arrays that have values")


def _level():
    """How many frames of these packages are between the caller of this and the kernel's call."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and "__neuron_emu__" in frame.f_globals:
        level, frame = level + 1, frame.f_back
    return level


def dtype_of(array):
    """NKI's name for the element type."""
    if isinstance(array, np.ndarray):
        if array.dtype.kind == "V" and array.dtype.names is None and \
                array.dtype.name not in dtypes.TYPES and array.dtype.itemsize == 2 and \
                not dtypes.carried(array.dtype):
            return "bfloat16"
    return dtypes.canonical(array.dtype)


def to_numpy(value, dtype):
    """Its elements as an array of NumPy, one after the other."""
    if is_torch(value):
        import torch
        value = value.detach().resolve_neg().cpu().contiguous()
        if not _has_numpy(torch, dtype):
            same = getattr(torch, _SAME_SIZE[dtypes.SIZE[dtype]])
            return value.view(same).numpy().view(dtypes.numpy_dtype(dtype))
        return value.numpy()
    return np.ascontiguousarray(dtypes.native(np.asarray(value))).reshape(value.shape)


def bytes_have_nan(data, dtype):
    """Is one of these elements a NaN?"""
    if dtype not in dtypes.FLOATS or not len(data):
        return False
    array = np.frombuffer(data, dtypes.numpy_dtype(dtype))
    return bool(np.isnan(dtypes.to_float32(array, dtype)).any())


def has_nan(value, dtype):
    """Is one of the elements of an array a NaN?"""
    return dtype in dtypes.FLOATS and bytes_have_nan(
        np.ascontiguousarray(to_numpy(value, dtype)).reshape(-1).view(np.uint8), dtype)


def _has_numpy(torch, dtype):
    """Does PyTorch convert the type to NumPy and back?"""
    called = dtypes.TYPES[dtype][2]
    return called in dtypes.OF_NUMPY and hasattr(torch, called)


def check_result(function, dtype, framework):
    """Refuse a result that the framework of the arguments has no type for."""
    if framework != "torch":
        return
    import torch
    called = dtypes.TYPES[dtype][2]
    if not hasattr(torch, called) and called not in _WIDER:
        raise NkiError(f"{function} returns {dtype}, which this PyTorch does not have: return "
                       "its bits by .view(nl.uint8), or another type")


def from_numpy(array, framework, dtype):
    """A result in the framework of the arguments."""
    if framework == "jax":
        from jax import numpy as jnp
        return jnp.asarray(array)
    if framework != "torch":
        return array
    import torch
    called = dtypes.TYPES[dtype][2]
    if not hasattr(torch, called):
        return torch.from_numpy(array.astype(_WIDER[called]))
    if not _has_numpy(torch, dtype):
        same = _SAME_SIZE[dtypes.SIZE[dtype]]
        return torch.from_numpy(array.view(same)).view(getattr(torch, called))
    return torch.from_numpy(array)


def can_be_written(name, array, returned):
    """Refuse an argument that the kernel writes, and that cannot change and is not returned."""
    if is_jax(array) and not returned:
        raise NkiError(f"the kernel writes its argument {name}, and arrays of JAX do not change: "
                       "return a tensor of its own")


def write_back(array, result, dtype):
    """An argument gets what the kernel has written."""
    if is_torch(array):
        import torch
        with torch.no_grad():
            array.copy_(from_numpy(result, "torch", dtype))
    elif isinstance(array, np.ndarray):
        native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
        array[...] = result.view(native)
