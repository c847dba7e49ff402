# SPDX-License-Identifier: MIT
#
# An address that is in no window: a program has nothing else. NEURON_CAUSE_WINDOW, sync
# engine, instruction 0.

.program fault_address
.engine sync
        reg_load r1, 0x1000
        halt
