// SPDX-License-Identifier: MIT
/*
 * Engines and queues, brought up by the accesses that the public driver makes.
 */
#include "contract/ring.h"
#include "machine.h"

#include <string.h>

static void engine_write(struct machine *m, uint64_t engine, uint32_t offset,
			 uint32_t value)
{
	machine_write(m, engine + offset, value);
}

static void init_queues(struct machine *m, uint64_t engine)
{
	unsigned int q;

	/* Enabled before they have a base or a length: nothing may happen. */
	for (q = 0; q < NEURON_UDMA_QUEUES; q++) {
		engine_write(m, engine, NEURON_UDMA_M2S_Q(q) + NEURON_UDMA_Q_CFG,
			     0x30000);
		engine_write(m, engine, NEURON_UDMA_S2M_Q(q) + NEURON_UDMA_Q_CFG,
			     0x30000);
	}
}

static void init_errors(struct machine *m, uint64_t engine)
{
	static const struct {
		uint32_t offset;
		uint32_t value;
	} list[] = {
		{ 0x3a028, 0x28 }, { 0x380e8, 0x28 }, { 0x3a030, 0xf0000000 },
		{ 0x3a0b0, 0xffffffc0 }, { 0x3a018, 0xf0000000 },
		{ 0x3a098, 0xffffffc0 }, { 0x380d8, 0xfffffaff },
		{ 0x3a068, 0x28 }, { 0x380e8, 0x28 }, { 0x3a070, 0x10f8 },
		{ 0x3a0b0, 0xfffff03f }, { 0x3a058, 0x10f8 },
		{ 0x3a098, 0xfffff03f }, { 0x380d8, 0xfffff9ff },
		{ 0x20380, 0x1004 }, { 0x00304, 0x10041 }, { 0x00308, 0x4181 },
		{ 0x20308, 0x4181 }, { 0x0011c, 0x10008 }, { 0x2011c, 0x10008 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		engine_write(m, engine, list[i].offset, list[i].value);
}

void queue_init_engine(struct machine *m, unsigned int engine)
{
	uint64_t base = neuron_dma_bar0(m->gen, engine);
	bool v2 = m->gen->generation == 2;
	unsigned int q, i;
	uint32_t value;

	init_queues(m, base);
	engine_write(m, base, 0x00310, v2 ? 0x01000400 : 0x010008f8);
	engine_write(m, base, 0x00124, v2 ? 0x0000086f : 0x20808080);
	engine_write(m, base, 0x3a300, 0x05f5e100);
	engine_write(m, base, 0x00408, 0);
	engine_write(m, base, NEURON_UDMA_M2S_CFG_LEN, 0x010fffff);
	engine_write(m, base, NEURON_UDMA_M2S_STREAM_CFG, 0x102);
	for (q = 0; q < NEURON_UDMA_QUEUES; q++)
		engine_write(m, base, 0x3c400 + q * 0x40, ~0u);
	engine_write(m, base, 0x00118, 0x10008);
	engine_write(m, base, 0x2038c, 0);
	for (q = 0; q < NEURON_UDMA_QUEUES; q++)
		for (i = 4; i <= 12; i += 4)
			engine_write(m, base, 0x3c400 + q * 0x40 + i, ~0u);
	engine_write(m, base, 0x20124, v2 ? 0x00400008 : 0x00400080);
	engine_write(m, base, 0x20128, 0x40804080);
	value = machine_read(m, base + NEURON_UDMA_GEN_ZEROES0);
	engine_write(m, base, NEURON_UDMA_GEN_ZEROES0, value & ~1u);
	init_errors(m, base);
}

uint64_t queue_reg(const struct queue *q, bool s2m, uint32_t reg)
{
	return neuron_dma_bar0(q->m->gen, q->engine) +
	       (s2m ? NEURON_UDMA_S2M_Q(q->index) :
		      NEURON_UDMA_M2S_Q(q->index)) + reg;
}

static uint64_t ring_at(const struct queue *q, bool s2m)
{
	return q->ram + (s2m ? q->length * sizeof(struct neuron_udma_desc) : 0);
}

static void init_side(struct queue *q, bool s2m)
{
	uint64_t base = machine_host(q->m, ring_at(q, s2m));
	uint32_t reset = s2m ? NEURON_UDMA_S2M_Q_SW_CTRL :
			       NEURON_UDMA_M2S_Q_SW_CTRL;
	uint32_t comp = s2m ? NEURON_UDMA_S2M_Q_COMP_CFG :
			      NEURON_UDMA_M2S_Q_COMP_CFG;

	if (!s2m)
		machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_M2S_Q_RATE), 3);
	machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_Q_CFG),
		      NEURON_UDMA_Q_CFG_RESET);
	machine_write(q->m, queue_reg(q, s2m, reset),
		      NEURON_UDMA_Q_SW_CTRL_RESET);
	machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_Q_BASE_LO),
		      (uint32_t)base);
	machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_Q_BASE_HI),
		      base >> 32);
	machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_Q_LENGTH), q->length);
	machine_write(q->m, queue_reg(q, s2m, comp), 0);
	machine_write(q->m, queue_reg(q, s2m, NEURON_UDMA_Q_CFG),
		      NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
		      NEURON_UDMA_Q_CFG_SCHEDULE);
}

void queue_init(struct queue *q, struct machine *m, unsigned int engine,
		unsigned int index, uint32_t length)
{
	*q = (struct queue){
		.m = m,
		.engine = engine,
		.index = index,
		.length = length,
		.ram = RAM_RINGS + index * 0x10000u,
	};
	init_side(q, false);
	init_side(q, true);
}

static void put(struct queue *q, bool s2m, uint64_t addr, uint32_t len,
		uint32_t flags, uint32_t meta)
{
	uint64_t at = ring_at(q, s2m) +
		      q->tail % q->length * sizeof(struct neuron_udma_desc);
	struct neuron_udma_desc desc =
		neuron_desc(addr, len, neuron_ring_id(q->tail, q->length), flags, meta);

	qtest_memwrite(&q->m->qt, at, &desc, sizeof(desc));
}

void queue_copy(struct queue *q, uint64_t dst, uint64_t src, uint32_t len,
		uint32_t s2m_flags)
{
	put(q, false, src, len, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST,
	    NEURON_UDMA_META_DEFAULT);
	put(q, true, dst, len, s2m_flags, 0);
	q->tail++;
}

void queue_ring(struct queue *q, uint32_t n)
{
	machine_write(q->m, queue_reg(q, true, NEURON_UDMA_Q_TAIL_INC), n);
	machine_write(q->m, queue_reg(q, false, NEURON_UDMA_Q_TAIL_INC), n);
}

void queue_wait(struct queue *q)
{
	uint32_t value = q->tail % q->length |
			 NEURON_PUT(NEURON_UDMA_Q_RING_ID, neuron_ring_id(q->tail, q->length));

	machine_wait(q->m, queue_reg(q, false, NEURON_UDMA_Q_COMP_HEAD), ~0u,
		     value);
	machine_wait(q->m, queue_reg(q, true, NEURON_UDMA_Q_COMP_HEAD), ~0u,
		     value);
}
