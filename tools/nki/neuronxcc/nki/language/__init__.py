# SPDX-License-Identifier: MIT
"""neuronxcc.nki.language"""

from neuron_emu.beta1 import language as _own
from neuron_emu.beta1.index import arange, mgrid
from neuron_emu.beta1.names import LANGUAGE as _names
from neuron_emu.beta1.names import checked as _checked
from neuron_emu.beta1.names import missing as _missing
from neuron_emu.beta1.spmd import nc, spmd_dim
from neuron_emu.target import tile_size
from neuron_emu.objects import ds

__neuron_emu__ = True
__all__ = ["arange", "ds", "mgrid", "nc", "spmd_dim", "tile_size"]
__all__ += _names
globals().update(
    (_name, _checked(f"nl.{_name}", getattr(_own, _name))) for _name in _names)


def __getattr__(name):
    """A name that is not here."""
    return _missing("nki.language", name)
