# SPDX-License-Identifier: MIT
"""nki.language: what neuron_emu.language has."""

from neuron_emu import language as _own

__neuron_emu__ = True
globals().update((_name, getattr(_own, _name)) for _name in _own.__all__)
__all__ = list(_own.__all__)
