# SPDX-License-Identifier: MIT
#
# A stream without halt; the assembler warns. NEURON_CAUSE_PC, sync engine, instruction 1.

.program fault_pc
.engine sync
        nop
