# SPDX-License-Identifier: MIT
#
# A trigger of more descriptors than the queue was given. NEURON_CAUSE_RING_ID, DMA.

.program fault_ring
.tmp scratch 4096
.queue q_in in sync
.engine sync
        .dma q_in, scratch[0 : 2048], scratch[2048 : 2048]
        dma_trigger q_in, 4, 4
        halt
