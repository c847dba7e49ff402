# SPDX-License-Identifier: MIT
#
# y = table[ids]: a DMA operation, which an instruction generates, picks the rows. Of the engines
# GpSimd alone makes descriptors that gather.
# Row i goes to partition i of SBUF; a plain transfer of the same queue, and so after
# it, brings them all to y.

.program gather
.set VOCABULARY, 1000           # rows of the table
.set ROWS, 128                  # rows that are picked
.set N, 96                      # elements of a row

.input table bf16 VOCABULARY*N
.input ids uint32 ROWS
.output y bf16 ROWS*N
.sbuf
.queue q data gpsimd
.sem landed

# struct neuron_udma_dge
.file block
.bytes 0, 1, 1, 6, 6, 1, 0, 0   # copy; 1 source, 1 destination; bf16, bf16; source indexed
.words N, 1, 1, ROWS            # source: elements of each dimension, innermost first,
.words 2, 0, 0, 0, 0, 0, 2 * N, 0       # and its steps in bytes, 64 bits each
.words N, ROWS, 1, 1            # destination: partition p begins at p * 0x40000
.words 2, 0, 0x40000, 0, 0, 0, 0, 0
.addresses ids:0                # the index list, its length and what its entries are below
.words ROWS, VOCABULARY
.rept 16 + 18
.words 0                        # scales, reserved
.endr
.addresses table:0              # sources
.rept 15
.addresses 0
.endr
.addresses sbuf:0               # destinations
.rept 15
.addresses 0
.endr

.engine gpsimd
        dma_generate q, block:0, r0, r0
        .dma q, y, sbuf[0:ROWS, 0 : N bf16], landed
        nop wait landed >= 1
        halt
