# SPDX-License-Identifier: MIT
"""nki.compiler"""

__neuron_emu__ = True
