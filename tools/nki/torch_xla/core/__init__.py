# SPDX-License-Identifier: MIT
"""torch_xla.core"""

__neuron_emu__ = True
