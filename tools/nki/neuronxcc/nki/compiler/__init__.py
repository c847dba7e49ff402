# SPDX-License-Identifier: MIT
"""neuronxcc.nki.compiler"""

from neuron_emu.beta1.compiler import (allocation_scope, enable_stack_allocator, force_auto_alloc,
                                       multi_buffer, no_reorder, psum, sbuf,
                                       skip_middle_end_transformations)

__neuron_emu__ = True
__all__ = ["allocation_scope", "enable_stack_allocator", "force_auto_alloc", "multi_buffer",
           "no_reorder", "psum", "sbuf", "skip_middle_end_transformations"]
