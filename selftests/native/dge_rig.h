/* SPDX-License-Identifier: MIT */
/*
 * Programs that make packets (DMA_GENERATE), on a core with two queues.
 */
#ifndef DGE_RIG_H
#define DGE_RIG_H

#include "seq_rig.h"

#include "neuron/dma_op.h"
#include "time/trn_cost.h"
#include "isa/trn_isa.h"
#include "dma/trn_udma.h"

#define SYNC		NEURON_ENGINE_SYNC
#define CORE		1
#define AT_BLOCK(i)	((i) * sizeof(struct neuron_udma_dge))
#define AT_DATA		0x10000
#define DATA(offset)	neuron_window_addr(SEQ_DATA, offset)

struct dge_test {
	struct seq_rig rig;
	struct seq_job job;
	uint8_t *data;
};

void dge_begin(struct dge_test *t, unsigned int workers, bool clock);
/* The same with another chip beside it. */
void dge_begin_two(struct dge_test *t, unsigned int workers, bool clock);
void dge_end(struct dge_test *t);
/* A copy of @n fp32 elements. */
struct neuron_udma_dge dge_copy_block(uint64_t dst, uint64_t src, uint32_t n);
void dge_put_block(struct dge_test *t, unsigned int i, struct neuron_udma_dge dge);
struct neuron_inst dge_generate(unsigned int queue, uint64_t addr, unsigned int src_reg,
				unsigned int dst_reg);
void dge_add_reg(struct dge_test *t, unsigned int reg, uint32_t value);
void dge_halt(struct dge_test *t);
/* @inst posts @value when its bytes have landed. */
struct neuron_inst dge_landed(struct neuron_inst inst, int value);
/* The length of dimension @dim of @inst is in register @reg. */
struct neuron_inst dge_length(struct neuron_inst inst, unsigned int reg, unsigned int dim);

#endif /* DGE_RIG_H */
