// SPDX-License-Identifier: MIT
#include "dge_rig.h"

#include <string.h>

static void begin(struct dge_test *t, unsigned int workers, bool clock, unsigned int chips)
{
	unsigned int i;

	seq_rig_init(&t->rig, fake_gen(), workers, chips, clock);
	seq_more_operators(&t->rig, true);
	seq_job_init(&t->job, &t->rig, 0, CORE);
	t->data = seq_data(&t->rig, 0, CORE);
	for (i = 0; i < SEQ_DATA_BYTES; i++)
		t->data[i] = (uint8_t)(i * 7 + i / 256);
	t->job.nr_queues = 2;
}

void dge_begin(struct dge_test *t, unsigned int workers, bool clock)
{
	begin(t, workers, clock, 1);
}

void dge_begin_two(struct dge_test *t, unsigned int workers, bool clock)
{
	begin(t, workers, clock, 2);
}

void dge_end(struct dge_test *t)
{
	seq_rig_destroy(&t->rig);
}

/* A copy of @n fp32 elements. */
struct neuron_udma_dge dge_copy_block(uint64_t dst, uint64_t src, uint32_t n)
{
	return (struct neuron_udma_dge){
		.op = {
			.op = NEURON_UDMA_OP_COPY,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_FP32,
			.dst_dtype = NEURON_DTYPE_FP32,
			.src = { .num = { n, 1, 1, 1 }, .step = { 4 } },
			.dst = { .num = { n, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { src },
		.dst = { dst },
	};
}

void dge_put_block(struct dge_test *t, unsigned int i,
		   struct neuron_udma_dge dge)
{
	memcpy(t->data + AT_BLOCK(i), &dge, sizeof(dge));
}

struct neuron_inst dge_generate(unsigned int queue, uint64_t addr,
				unsigned int src_reg, unsigned int dst_reg)
{
	return OP(DMA_GENERATE, .addr = addr,
		  .reg = { (uint8_t)queue, (uint8_t)(queue >> 8),
			   (uint8_t)src_reg, (uint8_t)dst_reg });
}

void dge_add_reg(struct dge_test *t, unsigned int reg, uint32_t value)
{
	seq_add(&t->job, SYNC, OP(REG_ALU, .op0 = NEURON_ALU_ADD,
				  .flags = NEURON_INST_IMM, .imm0 = value,
				  .reg = { (uint8_t)reg, (uint8_t)reg }));
}

void dge_halt(struct dge_test *t)
{
	seq_add(&t->job, SYNC, OP(HALT));
}

struct neuron_inst dge_landed(struct neuron_inst inst, int value)
{
	inst.mode |= NEURON_INST_LANDED >> 8;
	return post_add(inst, 9, value);
}

struct neuron_inst dge_length(struct neuron_inst inst, unsigned int reg, unsigned int dim)
{
	inst.mode |= NEURON_INST_LENGTH >> 8;
	inst.imm0 = reg;
	inst.imm1 = dim;
	return inst;
}
