# SPDX-License-Identifier: MIT
"""Run compiled programs (NEFFs) on NeuronCores from Python.

The names and signatures are those of the public nrtpy; this is another implementation of them, on
top of libnrt. Documentation/libnrt/nrtpy.rst describes it.
"""

from .libnrt import NrtError, NrtpyError
from .model import BenchmarkResult, NrtpyModel
from .runtime import NrtTensor, TensorMetadata, configure, get_nrtpy_singleton, reset
from .tensor import NrtpyTensor

__all__ = [
    "BenchmarkResult",
    "NrtError",
    "NrtTensor",
    "NrtpyError",
    "NrtpyModel",
    "NrtpyTensor",
    "TensorMetadata",
    "configure",
    "get_nrtpy_singleton",
    "reset",
]
