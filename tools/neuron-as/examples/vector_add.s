# SPDX-License-Identifier: MIT
#
# c = a + b, tile by tile: DMA fills SBUF while the vector engine adds what is there.
# The transfers are unrolled by .rept, the additions are a loop.

.program vector_add
.set TILES, 8
.set N, 256                     # elements of a partition in a tile
.set ROW, N * 4                 # their bytes
.set TILE, 128 * ROW            # bytes of a tile in HBM
.set A, 0                       # where the tiles lie in SBUF
.set B, A + TILES * ROW
.set C, B + TILES * ROW

.input a fp32 (TILES * 128)*N
.input b fp32 (TILES * 128)*N
.output c fp32 (TILES * 128)*N
.queue q_in in sync
.queue q_out out sync
.sem loaded                     # two for each tile
.sem added                      # one for each tile

.engine sync
.rept TILES, t
        .dma q_in, sbuf[0:128, A + t * ROW : N fp32], a[t * TILE : 128*N fp32], loaded
        .dma q_in, sbuf[0:128, B + t * ROW : N fp32], b[t * TILE : 128*N fp32], loaded
.endr
.rept TILES, t
        .dma q_out, c[t * TILE : 128*N fp32], sbuf[0:128, C + t * ROW : N fp32] wait added >= t + 1
.endr
        halt

.engine vector
        reg_set r1, 0           # bytes to the tile
        reg_set r2, TILES       # tiles left
next:   tensor_tensor.add sbuf[0:128, C + r1 : N fp32], sbuf[0:128, A + r1 : N fp32], sbuf[0:128, B + r1 : N fp32] take loaded >= 2 post added += 1
        reg_alu.add r1, r1, ROW
        loop r2, next
        halt
