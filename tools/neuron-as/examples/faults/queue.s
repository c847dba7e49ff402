# SPDX-License-Identifier: MIT
#
# A trigger of a queue that the program does not have. NEURON_CAUSE_QUEUE, sync engine,
# instruction 0.

.program fault_queue
.engine sync
        dma_trigger q7, 1, 1
        halt
