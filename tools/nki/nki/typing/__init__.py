# SPDX-License-Identifier: MIT
"""nki.typing"""

from neuron_emu.tensor import NkiTensor

__neuron_emu__ = True
tensor = NkiTensor
