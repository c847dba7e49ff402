# SPDX-License-Identifier: MIT
#
# A matmul on the vector engine. NEURON_CAUSE_OPCODE, vector engine, instruction 0.

.program fault_engine
.engine vector
        .inst 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        halt
