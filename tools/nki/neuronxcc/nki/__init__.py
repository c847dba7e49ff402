# SPDX-License-Identifier: MIT
"""NKI Beta 1: kernels whose functions return tiles."""

from neuron_emu.beta1.kernel import (baremetal, benchmark, jit, profile, simulate_kernel,
                                     trace)
from neuron_emu.beta1.tensor import Tensor as tensor
from . import compiler, isa, language, typing

__neuron_emu__ = True
__all__ = ["baremetal", "benchmark", "compiler", "isa", "jit", "language", "profile",
           "simulate_kernel", "tensor", "trace", "typing"]
