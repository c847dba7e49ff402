# SPDX-License-Identifier: MIT
#
# A store to an input, which is read-only. NEURON_CAUSE_RIGHTS, sync engine, instruction 1.

.program fault_rights
.input x fp32 16
.engine sync
        reg_load r1, x:0
        reg_store x:0, r1
        halt
