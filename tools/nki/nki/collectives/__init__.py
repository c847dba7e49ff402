# SPDX-License-Identifier: MIT
"""nki.collectives: what neuron_emu.collectives has."""

from neuron_emu import collectives as _own

__neuron_emu__ = True
globals().update((_name, getattr(_own, _name)) for _name in _own.__all__)
__all__ = list(_own.__all__)
