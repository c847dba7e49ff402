# SPDX-License-Identifier: MIT
#
# A wait on semaphore 300. NEURON_CAUSE_SEMAPHORE, sync engine, instruction 0.

.program fault_semaphore
.engine sync
        .inst 0x012c000100000002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        halt
