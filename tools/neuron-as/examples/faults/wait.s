# SPDX-License-Identifier: MIT
#
# A wait for a post that never comes: a timeout while the engine sleeps.

.program fault_wait
.sem never
.engine sync
        nop wait never >= 1
        halt
