# SPDX-License-Identifier: MIT
"""neuronxcc.nki.isa.constants"""

from neuron_emu.isa.enums import dge_mode, dma_engine, engine, oob_mode, reduce_cmd
from neuron_emu.target import nc_version

__neuron_emu__ = True
__all__ = ["dge_mode", "dma_engine", "engine", "nc_version", "oob_mode", "reduce_cmd"]
