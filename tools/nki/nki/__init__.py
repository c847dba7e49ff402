# SPDX-License-Identifier: MIT
"""NKI: kernels for (virtual) NeuronCores."""

from neuron_emu import (Kernel, NkiCapacityError, NkiCheckError, NkiError, NkiNanWarning,
                        NkiValidationError, __version__, jit, simulate)
from neuron_emu import profiled as profile
from . import dtype, isa, language

__neuron_emu__ = True
__all__ = ["Kernel", "NkiCapacityError", "NkiCheckError", "NkiError", "NkiNanWarning",
           "NkiValidationError", "__version__", "dtype", "isa", "jit", "language", "profile",
           "simulate"]
