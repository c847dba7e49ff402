# SPDX-License-Identifier: MIT
#
# c = at^T b with at [K, M], b [K, N] in bf16 and c [M, N] in fp32. K and M are cut into
# tiles of 128; the tiles along K accumulate in PSUM, a bank for each tile of M.

.program matmul
.set KT, 4                      # tiles of K
.set MT, 2                      # tiles of M
.set M, MT * 128
.set N, 512
.set BANK, 2048                 # bytes of a PSUM bank: 512 fp32
.set A, 0                       # in SBUF: KT rows of M bf16 in each partition
.set B, A + KT * M * 2          # KT rows of N bf16
.set C, B + KT * N * 2          # MT rows of N fp32

.input at bf16 (KT * 128)*M
.input b bf16 (KT * 128)*N
.output c fp32 M*N
.queue q_in in sync
.queue q_out out sync
.sem loaded                     # 2: both operands are in SBUF
.sem product                    # tiles that are complete in PSUM
.sem drained                    # tiles that are in SBUF

.engine sync
        # Partition p takes row p of each of the KT tiles.
        .dma q_in, sbuf[0:128, A : KT*M bf16], at[0 : 128@M*KT@(128 * M)*M bf16], loaded
        .dma q_in, sbuf[0:128, B : KT*N bf16], b[0 : 128@N*KT@(128 * N)*N bf16], loaded
.rept MT, m
        .dma q_out, c[m * 128 * N * 4 : 128*N fp32], sbuf[0:128, C + m * N * 4 : N fp32] wait drained >= m + 1
.endr
        halt

.engine tensor
        nop wait loaded >= 2
.rept MT, m
        load_stationary sbuf[0:128, A + m * 128 * 2 : 128 bf16]
        matmul psum[0:128, m * BANK : N fp32], sbuf[0:128, B : N bf16]
.rept KT - 1, k
        load_stationary sbuf[0:128, A + ((k + 1) * M + m * 128) * 2 : 128 bf16]
        matmul psum[0:128, m * BANK : N fp32], sbuf[0:128, B + (k + 1) * N * 2 : N bf16] acc
.endr
        nop post product += 1
.endr
        halt

.engine scalar
.rept MT, m
        copy sbuf[0:128, C + m * N * 4 : N fp32], psum[0:128, m * BANK : N fp32] wait product >= m + 1 post drained += 1
.endr
        halt
