# SPDX-License-Identifier: MIT
"""The front end behind the packages `nki`: kernels in Python on the virtual chip."""

from .dtypes import from_float32, to_float32
from .errors import NkiCapacityError, NkiCheckError, NkiError, NkiValidationError
from .kernel import Kernel, jit, profiled, simulate

__neuron_emu__ = True
__version__ = "0.6.0"
__all__ = ["Kernel", "NkiCapacityError", "NkiCheckError", "NkiError", "NkiValidationError",
           "from_float32", "jit", "profiled", "simulate", "to_float32"]
