# SPDX-License-Identifier: MIT
#
# Tiles of different sizes. NEURON_CAUSE_OPERAND, vector engine, instruction 0.

.program fault_operand
.engine vector
        copy sbuf[0:128, 0 : 16 fp32], sbuf[0:128, 0x1000 : 32 fp32]
        halt
