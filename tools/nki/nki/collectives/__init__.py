# SPDX-License-Identifier: MIT
"""nki.collectives: not here yet."""

__neuron_emu__ = True
