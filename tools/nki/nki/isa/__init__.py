# SPDX-License-Identifier: MIT
"""nki.isa: what neuron_emu.isa has."""

from neuron_emu import isa as _own

__neuron_emu__ = True
globals().update((_name, getattr(_own, _name)) for _name in _own.__all__)
__all__ = list(_own.__all__)
