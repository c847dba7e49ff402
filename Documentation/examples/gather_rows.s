# SPDX-License-Identifier: MIT
#
# output_0[i] = src_tensor[ROW] for each i: an indirect DMA reads 128 times the same row. The tensor
# has 128 rows and there is no row 99999, so the execution ends with NRT_EXEC_OOB. That is the
# mistake which nrtpy_debug.py finds and mends: it sets ROW to 0.
#
# The length of the table, in the block below, is a number that no row reaches. With the
# right one the DMA engine would refuse the index itself. That is NRT_EXEC_OOB, too, but the log then
# names the place of the index in the list, not the row.

.program gather_rows
.set ROW, 99999
.set ROWS, 128
.set N, 512                     # elements of a row

.input src_tensor fp32 ROWS*N
.output output_0 fp32 ROWS*N
.sbuf
.queue q data gpsimd
.sem landed

.file indices
.rept ROWS
.words ROW
.endr

# struct neuron_udma_dge
.file block
.bytes 0, 1, 1, 10, 10, 1, 0, 0 # copy; 1 source, 1 destination; fp32, fp32; source indexed
.words N, 1, 1, ROWS            # source: elements of each dimension, innermost first,
.words 4, 0, 0, 0, 0, 0, 4 * N, 0       # and its steps in bytes, 64 bits each
.words N, ROWS, 1, 1            # destination: partition p begins at p * 0x40000
.words 4, 0, 0x40000, 0, 0, 0, 0, 0
.addresses indices:0            # the index list, its length and the length of the table
.words ROWS, 0x7fffffff
.rept 16 + 18
.words 0                        # scales, reserved
.endr
.addresses src_tensor:0         # sources
.rept 15
.addresses 0
.endr
.addresses sbuf:0               # destinations
.rept 15
.addresses 0
.endr

.engine gpsimd
        dma_generate q, block:0, r0, r0
        .dma q, output_0, sbuf[0:ROWS, 0 : N fp32], landed
        nop wait landed >= 1
        halt
