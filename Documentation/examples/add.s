# SPDX-License-Identifier: MIT
#
# output_0 = a_input + b_input: the kernel that nrtpy_benchmark.py validates and measures.

.program add
.set ROWS, 4
.set N, 3                       # elements of a row
.set A, 0                       # where the rows lie in SBUF
.set B, 8
.set SUM, 16

.input a_input fp16 ROWS*N
.input b_input fp16 ROWS*N
.output output_0 fp16 ROWS*N
.queue q_in in sync
.queue q_out out sync
.sem loaded                     # 2: both inputs are in SBUF
.sem added                      # 1: the sum is

.engine sync
        .dma q_in, sbuf[0:ROWS, A : N fp16], a_input, loaded
        .dma q_in, sbuf[0:ROWS, B : N fp16], b_input, loaded
        .dma q_out, output_0, sbuf[0:ROWS, SUM : N fp16] wait added >= 1
        halt

.engine vector
        tensor_tensor.add sbuf[0:ROWS, SUM : N fp16], sbuf[0:ROWS, A : N fp16], sbuf[0:ROWS, B : N fp16] wait loaded >= 2 post added += 1
        halt
