# SPDX-License-Identifier: MIT
"""neuronxcc.nki.isa"""

from neuron_emu.beta1 import isa as _own
from neuron_emu.beta1.names import ISA as _names
from neuron_emu.beta1.names import checked as _checked
from neuron_emu.beta1.names import missing as _missing
from neuron_emu.isa.enums import dma_engine
from neuron_emu.target import nc_version

__neuron_emu__ = True
__all__ = ["dma_engine", "nc_version"]
__all__ += _names
globals().update(
    (_name, _checked(f"nisa.{_name}", getattr(_own, _name))) for _name in _names)


def __getattr__(name):
    """A name that is not here."""
    return _missing("nki.isa", name)
