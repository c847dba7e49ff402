# SPDX-License-Identifier: MIT
"""The older names of NKI: neuronxcc.nki."""

__neuron_emu__ = True
