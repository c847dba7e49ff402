# SPDX-License-Identifier: MIT
"""NKI Beta 1, the packages `neuronxcc.nki`, in terms of the present one.

index.py has index expressions and masks, tensor.py views by them, store.py where results go;
language.py, isa.py, compiler.py and kernel.py are what kernels import.
"""

__neuron_emu__ = True
