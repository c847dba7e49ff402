# SPDX-License-Identifier: MIT
#
# Softmax of each row of x: subtract the largest, exp, multiply by the reciprocal of the sum.

.program softmax
.set N, 256
.set X, 0
.set EXP, X + N * 4
.set MAX, EXP + N * 4           # one fp32 in each partition
.set SUM, MAX + 4

.input x fp32 128*N
.output y fp32 128*N
.queue q_in in sync
.queue q_out out sync
.sem loaded
.sem max
.sem exp
.sem done

.engine sync
        .dma q_in, sbuf[0:128, X : N fp32], x, loaded
        .dma q_out, y, sbuf[0:128, X : N fp32] wait done >= 1
        halt

.engine vector
        tensor_reduce.max sbuf[0:128, MAX : 1 fp32], sbuf[0:128, X : N fp32], 1 neg wait loaded >= 1 post max += 1
        tensor_reduce.add sbuf[0:128, SUM : 1 fp32], sbuf[0:128, EXP : N fp32], 1 wait exp >= 1
        reciprocal sbuf[0:128, SUM : 1 fp32], sbuf[0:128, SUM : 1 fp32]
        tensor_scalar.multiply sbuf[0:128, X : N fp32], sbuf[0:128, EXP : N fp32], sbuf[0:128, SUM : 1 fp32] post done += 1
        halt

.engine scalar
        activate.exp sbuf[0:128, EXP : N fp32], sbuf[0:128, X : N fp32], 1.0, sbuf[0:128, MAX : 1 fp32] wait max >= 1 post exp += 1
        halt
