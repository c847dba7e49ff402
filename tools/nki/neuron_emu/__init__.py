# SPDX-License-Identifier: MIT
"""The front end behind the packages `nki`: kernels in Python on the virtual chip."""

import importlib
import sys

try:
    importlib.import_module("numpy")
except ImportError as _error:
    _WHY = f"the packages nki and neuron_emu need NumPy (python3-numpy): {_error}"
    # As `python3 -m neuron_emu` it is a tool, which says one line.
    raise (SystemExit(f"neuron_emu: {_WHY}") if sys.argv[:1] == ["-m"]
           else ImportError(_WHY)) from None

from .dtypes import from_float32, numpy_dtype, to_float32
from .errors import (NkiCapacityError, NkiCheckError, NkiError, NkiNanWarning, NkiRankError,
                     NkiValidationError)
from .kernel import Kernel, jit, profiled, simulate
from .ranks import run_ranks

__neuron_emu__ = True
__version__ = "0.6.0"
__all__ = ["Kernel", "NkiCapacityError", "NkiCheckError", "NkiError", "NkiNanWarning",
           "NkiRankError", "NkiValidationError", "from_float32", "jit", "numpy_dtype", "profiled",
           "run_ranks", "simulate", "to_float32"]
