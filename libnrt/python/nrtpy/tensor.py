# SPDX-License-Identifier: MIT
"""Tensors in the memory of a core, as NumPy sees them."""

import math
import operator

try:
    import numpy
except ImportError as error:
    raise ImportError("nrtpy needs NumPy; install the package python3-numpy") from error

from .runtime import NrtTensor, get_nrtpy_singleton


def dimensions(shape):
    """A shape as a tuple; an integer is a shape of one dimension."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(dimension) for dimension in shape)


def contiguous(array):
    """An array whose elements lie in memory one after the other, in the order of C."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected a numpy.ndarray, not {type(array).__name__}; numpy.asarray() "
                        "makes one")
    if array.dtype.hasobject:
        raise TypeError(f"an array of dtype {array.dtype} has addresses of Python objects, which "
                        "a device cannot use")
    return numpy.asarray(array, order="C")


class NrtpyTensor:
    """A tensor in the memory (HBM) of a core, which is freed when nothing names the object."""

    def __init__(self, tensor_ref, shape, dtype, name=None):
        """The tensor in the memory `tensor_ref`, an NrtTensor."""
        if not isinstance(tensor_ref, NrtTensor):
            raise TypeError("tensor_ref must be an NrtTensor, not "
                            f"{type(tensor_ref).__name__}; NrtpyTensor.from_numpy() makes both")
        self.tensor_ref = tensor_ref
        self.shape = dimensions(shape)
        self.dtype = numpy.dtype(dtype)
        self.name = tensor_ref.name if name is None else name
        if self.nbytes > tensor_ref.size:
            raise ValueError(f"shape {self.shape} of {self.dtype} needs {self.nbytes} bytes, but "
                             f"the memory has {tensor_ref.size}")

    def __repr__(self):
        return (f"NrtpyTensor(name={self.name!r}, shape={self.shape}, dtype={self.dtype}, "
                f"core_id={self.tensor_ref.core_id})")

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @classmethod
    def allocate(cls, shape, dtype, name=None, core_id=0):
        """A tensor of zeros."""
        shape, dtype = dimensions(shape), numpy.dtype(dtype)
        memory = get_nrtpy_singleton().allocate_tensor(math.prod(shape) * dtype.itemsize, core_id,
                                                       name)
        return cls(memory, shape, dtype, name)

    @classmethod
    def from_numpy(cls, array, name=None, core_id=0):
        """A new tensor with the contents of an array."""
        array = contiguous(array)
        tensor = cls.allocate(array.shape, array.dtype, name, core_id)
        tensor.write_from_numpy(array)
        return tensor

    def write_from_numpy(self, array):
        """Copy an array of as many bytes into the tensor."""
        array = contiguous(array)
        if array.nbytes != self.nbytes:
            raise ValueError(f"the array has {array.nbytes} bytes, but tensor '{self.name}' has "
                             f"{self.nbytes}")
        self.tensor_ref.runtime.write_memory(self.tensor_ref, array.ctypes.data, array.nbytes)

    def numpy(self):
        """The contents as a new array."""
        array = numpy.empty(self.shape, self.dtype)
        self.tensor_ref.runtime.read_memory(self.tensor_ref, array.ctypes.data, array.nbytes)
        return array
