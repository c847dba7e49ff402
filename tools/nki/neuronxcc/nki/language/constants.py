# SPDX-License-Identifier: MIT
"""neuronxcc.nki.language.constants"""

from neuron_emu.beta1.dtypes import size_of as sizeinbytes
from neuron_emu.target import tile_size

__neuron_emu__ = True
__all__ = ["psum_min_align", "sbuf_min_align", "sizeinbytes"]
sbuf_min_align, psum_min_align = tile_size.sbuf_min_align, tile_size.psum_min_align
