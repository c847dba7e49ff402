# SPDX-License-Identifier: MIT
#
# An opcode that does not exist. NEURON_CAUSE_OPCODE, sync engine, instruction 1.

.program fault_opcode
.engine sync
        nop
        .inst 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        halt
