# SPDX-License-Identifier: MIT
"""nki.isa.constants: the enumerations of nki.isa."""

from neuron_emu.isa.enums import (dge_mode, dma_engine, engine, matmul_perf_mode, oob_mode,
                                  reduce_cmd)
from neuron_emu.target import nc_version

__neuron_emu__ = True
__all__ = ["dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version", "oob_mode",
           "reduce_cmd"]
