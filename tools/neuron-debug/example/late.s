# SPDX-License-Identifier: MIT
#
# The example of the debugger's manual. It has a mistake: the vector engine posts ready twice, and
# the transfer waits for a third post.

.program late
.output y fp32 4*8
.queue q out sync
.sem ready

.engine vector
        reg_set r1, 2
next:   memset sbuf[0:4, 0 : 8 fp32], 1.5 post ready += 1
        loop r1, next
        halt

.engine sync
        .dma q, y, sbuf[0:4, 0 : 8 fp32] wait ready >= 3
        halt
