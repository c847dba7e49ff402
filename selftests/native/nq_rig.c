// SPDX-License-Identifier: MIT
#include "nq_rig.h"

static uint32_t block_at(const struct neuron_gen *gen, enum trn_nq_unit unit,
			 unsigned int index)
{
	switch (unit) {
	case TRN_NQ_CORE:
		return gen->nq_bar0[index];
	case TRN_NQ_TOP_SP:
		return neuron_top_sp_nq_bar0(gen, index);
	default:
		return neuron_sdma_bar0(gen, index) + NEURON_SDMA_NQ;
	}
}

uint32_t nq_get(const struct nq *q, uint32_t reg)
{
	uint32_t at = q->block + NEURON_NQ_SLOT(q->slot) + reg;

	return (uint32_t)trn_chip_mmio_read(q->chip, at, 4);
}

void nq_set(const struct nq *q, uint32_t reg, uint32_t value)
{
	trn_chip_mmio_write(q->chip, q->block + NEURON_NQ_SLOT(q->slot) + reg,
			    value, 4);
}

void nq_set_ring(const struct nq *q, uint64_t base, uint32_t size)
{
	nq_set(q, NEURON_NQ_BASE_HI, base >> 32);
	nq_set(q, NEURON_NQ_BASE_LO, (uint32_t)base);
	nq_set(q, NEURON_NQ_SIZE, size);
}

uint64_t nq_base(const struct nq *q)
{
	return nq_get(q, NEURON_NQ_BASE_LO) |
	       (uint64_t)nq_get(q, NEURON_NQ_BASE_HI) << 32;
}

void nq_assert_reset(const struct nq *q)
{
	uint32_t reg;

	for (reg = 0; reg <= NEURON_NQ_CONTROL; reg += 4)
		assert_int_equal(nq_get(q, reg), 0);
}

struct nq nq_at(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		unsigned int slot)
{
	return (struct nq){
		.chip = rig->chip[0],
		.block = block_at(rig->chip[0]->gen, unit, index),
		.slot = slot,
	};
}

static void set_up(struct nq *q, void *mem, uint64_t base, uint32_t entries)
{
	q->mem = mem;
	q->entries = entries;
	nq_set_ring(q, base, entries * NQ_ENTRY);
	assert_true(nq_get(q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_ENABLED);
}

struct nq nq_host(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		  unsigned int slot, uint32_t entries)
{
	struct nq q = nq_at(rig, unit, index, slot);
	uint64_t at = rig_host(rig, 0, entries * NQ_ENTRY);

	set_up(&q, rig_host_ptr(rig, 0, at), rig_host_addr(rig, 0, at), entries);
	return q;
}

struct nq nq_hbm(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		 unsigned int slot, uint32_t entries)
{
	struct nq q = nq_at(rig, unit, index, slot);
	const uint64_t at = NEURON_MIB(1);

	set_up(&q, rig->chip[0]->hbm[1] + at, rig_hbm_addr(rig, 1, at), entries);
	return q;
}

void nq_post(struct rig *rig, unsigned int type, unsigned int engine,
	     uint32_t code)
{
	const struct trn_nq_event event = {
		.unit = TRN_NQ_CORE,
		.engine = engine,
		.type = type,
		.code = code,
		.pc = code + 1,
		.time_ns = code + 2,
		.job_id = code + 3,
	};

	trn_nq_post(rig->chip[0], &event);
}

void nq_wait(const struct nq *q, uint32_t n)
{
	assert_true(fake_wait_reg(q->chip, q->block + NEURON_NQ_SLOT(q->slot) +
				  NEURON_NQ_TAIL, ~0u,
				  n % q->entries * NQ_ENTRY));
}

const struct neuron_hw_nq_entry *nq_entry(const struct nq *q, uint32_t n)
{
	return &q->mem[n % q->entries];
}

void nq_assert_entry(const struct nq *q, uint32_t n, unsigned int type,
		     unsigned int engine, uint32_t code)
{
	uint32_t info = NEURON_PUT(NEURON_NQ_INFO_TYPE, type) |
			NEURON_PUT(NEURON_NQ_INFO_ENGINE, engine);

	if (!(n / q->entries & 1))
		info |= NEURON_NQ_INFO_PHASE;
	assert_int_equal(nq_entry(q, n)->info, info);
	assert_int_equal(nq_entry(q, n)->code, code);
}

bool nq_cause(struct rig *rig)
{
	uint64_t reg = neuron_ctl_bar0(rig->chip[0]->gen) + NEURON_CTL_CAUSE;
	uint32_t cause = (uint32_t)trn_chip_mmio_read(rig->chip[0], reg, 4);

	trn_chip_mmio_write(rig->chip[0], reg, NEURON_CTL_CAUSE_NQ, 4);
	return cause & NEURON_CTL_CAUSE_NQ;
}
