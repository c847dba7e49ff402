# SPDX-License-Identifier: MIT
#
# A branch out of the stream. NEURON_CAUSE_PC, sync engine, instruction 1000.

.program fault_branch
.engine sync
        branch 1000
        halt
