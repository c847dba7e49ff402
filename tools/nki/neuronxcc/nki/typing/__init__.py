# SPDX-License-Identifier: MIT
"""neuronxcc.nki.typing"""

from neuron_emu.beta1.tensor import Tensor as tensor

__neuron_emu__ = True
mutable_tensor = tensor
