# SPDX-License-Identifier: MIT
#
# A load behind the end of a variable. NEURON_CAUSE_WINDOW, sync engine, instruction 1.

.program fault_window
.tmp scratch 4096
.engine sync
        reg_load r1, scratch:4092
        reg_load r1, scratch:4096
        halt
