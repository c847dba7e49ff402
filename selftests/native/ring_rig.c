// SPDX-License-Identifier: MIT
#include "ring_rig.h"
#include "contract/ring.h"

void ring_alloc(struct ring_pair *ring, struct rig *rig, unsigned int chip,
		unsigned int engine, unsigned int queue, uint32_t length)
{
	*ring = (struct ring_pair){
		.rig = rig,
		.chip = chip,
		.engine = engine,
		.queue = queue,
		.length = length,
	};
	ring->m2s_at = rig_host(rig, chip, length * sizeof(*ring->m2s));
	ring->s2m_at = rig_host(rig, chip, length * sizeof(*ring->s2m));
	ring->m2s = rig_host_ptr(rig, chip, ring->m2s_at);
	ring->s2m = rig_host_ptr(rig, chip, ring->s2m_at);
}

uint64_t ring_reg(const struct ring_pair *ring, bool s2m, uint32_t reg)
{
	return neuron_dma_bar0(ring->rig->chip[0]->gen, ring->engine) +
	       (s2m ? NEURON_UDMA_S2M_Q(ring->queue) :
		      NEURON_UDMA_M2S_Q(ring->queue)) +
	       reg;
}

uint32_t ring_read(const struct ring_pair *ring, bool s2m, uint32_t reg)
{
	return (uint32_t)trn_chip_mmio_read(ring->rig->chip[ring->chip],
					    ring_reg(ring, s2m, reg), 4);
}

void ring_write(const struct ring_pair *ring, bool s2m, uint32_t reg,
		uint32_t value)
{
	trn_chip_mmio_write(ring->rig->chip[ring->chip],
			    ring_reg(ring, s2m, reg), value, 4);
}

uint32_t ring_engine_read(const struct ring_pair *ring, uint32_t reg)
{
	const struct neuron_gen *gen = ring->rig->chip[0]->gen;
	uint64_t offset = neuron_dma_bar0(gen, ring->engine) + reg;

	return (uint32_t)trn_chip_mmio_read(ring->rig->chip[ring->chip], offset, 4);
}

void ring_engine_write(const struct ring_pair *ring, uint32_t reg,
		       uint32_t value)
{
	trn_chip_mmio_write(ring->rig->chip[ring->chip],
			    neuron_dma_bar0(ring->rig->chip[0]->gen,
					    ring->engine) + reg, value, 4);
}

static void side_program(const struct ring_pair *ring, bool s2m)
{
	uint64_t base = rig_host_addr(ring->rig, ring->chip,
				      s2m ? ring->s2m_at : ring->m2s_at);

	if (!s2m)
		ring_write(ring, s2m, NEURON_UDMA_M2S_Q_RATE, 3);
	ring_write(ring, s2m, NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
	ring_write(ring, s2m,
		   s2m ? NEURON_UDMA_S2M_Q_SW_CTRL : NEURON_UDMA_M2S_Q_SW_CTRL,
		   NEURON_UDMA_Q_SW_CTRL_RESET);
	ring_write(ring, s2m, NEURON_UDMA_Q_BASE_LO, (uint32_t)base);
	ring_write(ring, s2m, NEURON_UDMA_Q_BASE_HI, base >> 32);
	ring_write(ring, s2m, NEURON_UDMA_Q_LENGTH, ring->length);
	ring_write(ring, s2m, NEURON_UDMA_Q_CFG,
		   NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
			   NEURON_UDMA_Q_CFG_SCHEDULE);
}

void ring_program(struct ring_pair *ring)
{
	side_program(ring, false);
	side_program(ring, true);
	ring->m2s_tail = 0;
	ring->s2m_tail = 0;
}

struct neuron_udma_desc *ring_m2s(struct ring_pair *ring, uint64_t addr,
				  uint32_t len, uint32_t flags)
{
	struct neuron_udma_desc *desc =
		&ring->m2s[ring->m2s_tail % ring->length];

	*desc = neuron_desc(addr, len, neuron_ring_id(ring->m2s_tail, ring->length), flags,
			    NEURON_UDMA_META_DEFAULT);
	ring->m2s_tail++;
	return desc;
}

struct neuron_udma_desc *ring_s2m(struct ring_pair *ring, uint64_t addr,
				  uint32_t len)
{
	struct neuron_udma_desc *desc =
		&ring->s2m[ring->s2m_tail % ring->length];

	*desc = neuron_copy_target(addr, len, neuron_ring_id(ring->s2m_tail, ring->length), 0);
	ring->s2m_tail++;
	return desc;
}

void ring_copy(struct ring_pair *ring, uint64_t dst, uint64_t src, uint32_t len)
{
	ring_s2m(ring, dst, len);
	ring_m2s(ring, src, len, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
}

void ring_doorbell(struct ring_pair *ring, uint32_t m2s, uint32_t s2m)
{
	if (s2m)
		ring_write(ring, true, NEURON_UDMA_Q_TAIL_INC, s2m);
	if (m2s)
		ring_write(ring, false, NEURON_UDMA_Q_TAIL_INC, m2s);
}

void ring_wait(struct ring_pair *ring)
{
	struct trn_chip *chip = ring->rig->chip[ring->chip];

	assert_true(fake_wait_reg(chip, ring_reg(ring, false, NEURON_UDMA_Q_HEAD),
				  NEURON_UDMA_Q_PTR,
				  ring->m2s_tail % ring->length));
	assert_true(fake_wait_reg(chip, ring_reg(ring, true, NEURON_UDMA_Q_HEAD),
				  NEURON_UDMA_Q_PTR,
				  ring->s2m_tail % ring->length));
	assert_true(fake_wait_reg(chip,
				  ring_reg(ring, false, NEURON_UDMA_Q_STATUS),
				  ~0u, 0));
}

void ring_run(struct ring_pair *ring, uint32_t m2s, uint32_t s2m)
{
	ring_doorbell(ring, m2s, s2m);
	ring_wait(ring);
}

uint32_t ring_ctl_read(const struct ring_pair *ring, uint32_t reg)
{
	return (uint32_t)trn_chip_mmio_read(ring->rig->chip[ring->chip],
					    rig_dma_reg(ring->rig, ring->engine,
							reg), 4);
}

void ring_ctl_write(const struct ring_pair *ring, uint32_t reg, uint32_t value)
{
	trn_chip_mmio_write(ring->rig->chip[ring->chip],
			    rig_dma_reg(ring->rig, ring->engine, reg), value,
			    4);
}

uint32_t ring_error(const struct ring_pair *ring)
{
	uint32_t at = NEURON_DMA_ERROR(ring->queue);

	return ring_ctl_read(ring, at & ~3u) >> (at % 4 * 8) & 0xff;
}

void ring_wait_error(const struct ring_pair *ring, enum neuron_cause cause)
{
	assert_true(fake_wait_reg(ring->rig->chip[ring->chip],
				  rig_dma_reg(ring->rig, ring->engine,
					      NEURON_DMA_CAUSE),
				  NEURON_DMA_CAUSE_ERROR(ring->queue),
				  NEURON_DMA_CAUSE_ERROR(ring->queue)));
	assert_int_equal(ring_error(ring), cause);
	ring_wait_quiet(ring);
}

void ring_recover(struct ring_pair *ring)
{
	struct rig *rig = ring->rig;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_ctl_write(ring, NEURON_DMA_CAUSE,
		       NEURON_DMA_CAUSE_ERROR(ring->queue));
	ring_program(ring);
	assert_int_equal(ring_error(ring), 0);
	ring_copy(ring, 0x3000, src, 64);
	ring_run(ring, 1, 1);
	assert_memory_equal(rig->chip[ring->chip]->hbm[0] + 0x3000, bytes, 64);
}

static bool queue_quiet(void *arg)
{
	struct trn_udma_queue *queue = arg;

	return trn_task_quiet(&queue->task);
}

void ring_wait_quiet(const struct ring_pair *ring)
{
	assert_true(fake_wait(queue_quiet,
			      trn_udma_queue_at(ring->rig->chip[ring->chip],
						ring->engine, ring->queue)));
}

void ring_make(struct ring_pair *ring, struct rig *rig, uint32_t length)
{
	unsigned int engine = neuron_copy_engine(rig->chip[0]->gen, 0);

	ring_alloc(ring, rig, 0, engine, RING_QUEUE, length);
	ring_program(ring);
}

uint64_t rig_random_host(struct rig *rig, uint32_t len, uint8_t **ptr)
{
	uint64_t at = rig_host(rig, 0, len);

	*ptr = rig_host_ptr(rig, 0, at);
	rig_fill(rig, *ptr, len);
	return rig_host_addr(rig, 0, at);
}
