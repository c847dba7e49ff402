# SPDX-License-Identifier: MIT
#
# A tile beyond the end of its partitions. NEURON_CAUSE_ACCESS, vector engine, instruction 0.

.program fault_access
.engine vector
        memset sbuf[0:128, 0x3f000 : 16 fp32], 0.0
        halt
