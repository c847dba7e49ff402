// SPDX-License-Identifier: MIT
/*
 * A chip as its host sees it: BAR0, reset values, the control block, discard,
 * interrupts, device reset.
 */
#include "fake_port.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chip_parts.h"
#include "contract/ring.h"
#include "mem/trn_touched.h"

#define HOST_SIZE	NEURON_MIB(1)
#define OWN_BYTES_MAX	NEURON_MIB(2)

struct fixture {
	struct trn_pool *pool;
	struct fake_port port;
	struct trn_chip *chip;
	const struct neuron_gen *gen;
	uint32_t ctl;
	uint32_t misc;
};

static int setup_gen(void **state, const struct neuron_gen *gen)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->pool = trn_pool_new(2, NULL, NULL);
	fake_port_init(&f->port, HOST_SIZE);
	f->gen = gen;
	f->chip = fake_chip_new(&f->port, gen, f->pool, NULL, 5);
	f->ctl = neuron_ctl_bar0(gen);
	f->misc = gen->misc_bar0;
	*state = f;
	return 0;
}

static int setup_trn1(void **state)
{
	return setup_gen(state, &neuron_gen_trn1);
}

static int setup_trn2(void **state)
{
	return setup_gen(state, &neuron_gen_trn2);
}

static int setup_trn3(void **state)
{
	return setup_gen(state, &neuron_gen_trn3);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fake_chip_free(f->chip);
	fake_port_destroy(&f->port);
	trn_pool_free(f->pool);
	free(f);
	return 0;
}

static uint32_t rd(struct fixture *f, uint64_t offset)
{
	return (uint32_t)trn_chip_mmio_read(f->chip, offset, 4);
}

static uint64_t rdq(struct fixture *f, uint64_t offset)
{
	return trn_chip_mmio_read(f->chip, offset, 8);
}

static void wr(struct fixture *f, uint64_t offset, uint32_t value)
{
	trn_chip_mmio_write(f->chip, offset, value, 4);
}

static void wrq(struct fixture *f, uint64_t offset, uint64_t value)
{
	trn_chip_mmio_write(f->chip, offset, value, 8);
}

/* --- BAR0 --- */

static void check_storage(struct fixture *f, uint32_t offset)
{
	assert_int_equal(rd(f, offset), 0);
	wr(f, offset, 0xa5a50000 | (offset & 0xffff));
	assert_int_equal(rd(f, offset), 0xa5a50000 | (offset & 0xffff));
}

/* The DMA engine that a queue length register belongs to is its own. */
static void check_engines(struct fixture *f)
{
	const uint32_t length = NEURON_UDMA_M2S_Q(3) + NEURON_UDMA_Q_LENGTH;
	unsigned int e;

	for (e = 0; e < f->gen->nr_dma; e++)
		wr(f, neuron_dma_bar0(f->gen, e) + length, 64 + e * 16);
	for (e = 0; e < f->gen->nr_dma; e++) {
		assert_int_equal(rd(f, neuron_dma_bar0(f->gen, e) + length),
				 64 + e * 16);
		assert_int_equal(trn_udma_queue_at(f->chip, e, 3)->m2s.length,
				 64 + e * 16);
	}
}

static void check_windows(struct fixture *f)
{
	unsigned int n;

	for (n = 0; n < f->gen->nr_cores; n++) {
		uint32_t tpb = neuron_tpb_bar0(f->gen, n);
		struct trn_core *core = &f->chip->core[n];

		wr(f, tpb + NEURON_TPB_SBUF + 0x40, 0x100 + n);
		wr(f, tpb + NEURON_TPB_SBUF + NEURON_TPB_SBUF_SIZE - 4, n + 1);
		wr(f, tpb + NEURON_TPB_PSUM + 0x80, 0x200 + n);
		wr(f, tpb + NEURON_TPB_SEM + NEURON_SEM_SET(n), 0x300 + n);
		wr(f, tpb + NEURON_TPB_SEM + NEURON_SEM_INC(n), 5);
		assert_int_equal(rd(f, tpb + NEURON_TPB_SBUF + 0x40), 0x100 + n);
		assert_int_equal(core->sbuf[0x40], n);
		assert_int_equal(core->sbuf[NEURON_TPB_SBUF_SIZE - 4], n + 1);
		assert_int_equal(core->psum[0x80], n);
		assert_int_equal(rd(f, tpb + NEURON_TPB_SEM + NEURON_SEM_READ(n)),
				 0x305 + n);
		check_storage(f, f->gen->nq_bar0[n] + NEURON_NQ_SLOT(1));
	}
}

static void test_bar_decode(void **state)
{
	struct fixture *f = *state;
	const struct neuron_storage *s = f->gen->storage;
	unsigned int i;

	check_engines(f);
	check_windows(f);
	for (; s->count; s++) {
		check_storage(f, s->bar0);
		check_storage(f, s->bar0 + (s->count - 1) * s->stride +
				 s->size - 4);
	}
	for (i = 0; f->gen->sdma_bar0_delta && i < f->gen->nr_dma; i += 33)
		check_storage(f, neuron_dma_bar0(f->gen, i) +
				 f->gen->sdma_bar0_delta + 0x1c);
	assert_int_equal(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR), 0);
}

/* Nothing at an offset: 0, no effect, one line, and not a flood of lines. */
static void test_bar_unknown(void **state)
{
	struct fixture *f = *state;
	uint32_t hole = f->gen->hole_bar0 + NEURON_HOLE_SIZE;
	uint32_t gap = neuron_tpb_bar0(f->gen, 0) + NEURON_TPB_SEM +
		       NEURON_TPB_SEM_SIZE;
	unsigned int i;

	wr(f, hole, 0x1234);
	assert_int_equal(rd(f, hole), 0);
	wr(f, gap, 0x1234);
	assert_int_equal(rd(f, gap), 0);
	assert_int_equal(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR), 4);
	assert_true(fake_logged(&f->port, "unknown register"));
	for (i = 0; i < 1000; i++)
		rd(f, hole);
	assert_true(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR) < 100);
}

static void test_bar_bad_access(void **state)
{
	struct fixture *f = *state;
	static const unsigned int sizes[] = { 0, 1, 2, 3, 5, 7, 16 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_true(trn_chip_mmio_read(f->chip, f->ctl, sizes[i]) ==
			    UINT64_MAX);
	assert_true(trn_chip_mmio_read(f->chip, f->ctl + 2, 4) == UINT64_MAX);
	assert_true(trn_chip_mmio_read(f->chip, f->ctl + 4, 8) == UINT64_MAX);
	assert_true(trn_chip_mmio_read(f->chip, f->gen->bar0_size, 4) ==
		    UINT64_MAX);
	assert_true(trn_chip_mmio_read(f->chip, UINT64_MAX - 3, 4) ==
		    UINT64_MAX);
	trn_chip_mmio_write(f->chip, f->misc + NEURON_MISC_METRIC, ~0ull, 2);
	trn_chip_mmio_write(f->chip, f->misc + NEURON_MISC_METRIC + 1, ~0ull, 4);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_METRIC), 0);
}

/* --- Identity, MISC RAM --- */

static void test_reset_values(void **state)
{
	struct fixture *f = *state;
	unsigned int n, e, q;

	assert_int_equal(rd(f, f->ctl + NEURON_CTL_MASK), ~0u);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_VECTOR), f->gen->nr_cores);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE), 0);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_DISCARD_GO), 0);
	for (n = 0; n < f->gen->nr_cores; n++) {
		uint32_t core = f->ctl + NEURON_CTL_CORE(n);

		assert_int_equal(rd(f, core + NEURON_CORE_STATUS),
				 NEURON_CORE_IDLE);
		assert_int_equal(rd(f, core + NEURON_CORE_MASK), ~0u);
		assert_int_equal(rd(f, core + NEURON_CORE_VECTOR), n);
		assert_int_equal(rd(f, core + NEURON_CORE_CAUSE), 0);
		assert_int_equal(rd(f, core + NEURON_CORE_RESET), 0);
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			assert_int_equal(rd(f, core + NEURON_CORE_ENGINE(e)),
					 NEURON_ENGINE_HALTED);
	}
	for (e = 0; e < f->gen->nr_dma; e++) {
		uint32_t dma = f->ctl + NEURON_CTL_DMA(e);

		assert_int_equal(rd(f, dma + NEURON_DMA_MASK), ~0u);
		assert_int_equal(rd(f, dma + NEURON_DMA_VECTOR),
				 NEURON_DMA_VECTOR_MGMT);
		for (q = 0; q < NEURON_UDMA_QUEUES; q += 4)
			assert_int_equal(rd(f, dma + NEURON_DMA_ERROR(q)), 0);
	}
	assert_true(rdq(f, f->ctl + NEURON_CTL_HOST_USED) == 0);
	assert_true(rdq(f, f->ctl + NEURON_CTL_TIME) == 0);
	assert_int_equal(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR), 0);
}

static void test_identity(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	assert_int_equal(rd(f, f->ctl + NEURON_CTL_MAGIC),
			 NEURON_CTL_MAGIC_VALUE);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_VERSION),
			 NEURON_CTL_VERSION_VALUE);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_GENERATION),
			 f->gen->generation);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_FEATURES),
			 NEURON_CTL_FEATURE_CLOCK | NEURON_CTL_FEATURE_PIECES |
			 NEURON_CTL_FEATURE_GROUPS);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_POSITION), 5);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_FABRIC_ID), 5);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_FABRIC_CHIPS), 1);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_FABRIC_KEY), 0);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_NR_LINKS), 0);
	for (i = 0; i < NEURON_MAX_HBM; i++) {
		bool has = i < f->gen->nr_hbm;

		assert_true(rdq(f, f->ctl + NEURON_CTL_HBM_SIZE(i)) ==
			    (has ? FAKE_HBM_SIZE : 0));
		assert_true(rdq(f, f->ctl + NEURON_CTL_HBM_BAR(i)) ==
			    (has ? i * FAKE_HBM_SIZE : 0));
		assert_int_equal(rd(f, f->ctl + NEURON_CTL_HBM_SIZE(i) + 4), 0);
	}
	/* Magic and version in one access. */
	assert_true(rdq(f, f->ctl) == ((uint64_t)NEURON_CTL_VERSION_VALUE << 32 |
				       NEURON_CTL_MAGIC_VALUE));
	/* They cannot be written. */
	wr(f, f->ctl + NEURON_CTL_MAGIC, 0);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_MAGIC),
			 NEURON_CTL_MAGIC_VALUE);
	assert_int_equal(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR), 1);
}

static void test_misc_ram(void **state)
{
	struct fixture *f = *state;
	uint32_t off;

	assert_int_equal(rd(f, f->misc + NEURON_MISC_API_VERSION),
			 NEURON_MISC_API_VERSION_VALUE);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_ROUTING_ID), 5);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_SERIAL_LO), 6);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_SERIAL_HI), 0x11223344);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_STATUS), 0);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_POSITION), 0x80008000);
	wr(f, f->misc + NEURON_MISC_ROUTING_ID, 9);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_ROUTING_ID), 5);
	for (off = NEURON_MISC_METRIC; off < NEURON_MISC_METRIC + 0x80; off += 4)
		wr(f, f->misc + off, off * 3);
	for (off = NEURON_MISC_METRIC; off < NEURON_MISC_METRIC + 0x80; off += 4)
		assert_int_equal(rd(f, f->misc + off), off * 3);
}

/* --- Device reset --- */

static void check_after_reset(struct fixture *f, uint32_t tail)
{
	const uint32_t copy = neuron_dma_bar0(f->gen, f->gen->nr_ring);
	const uint32_t m2s = copy + NEURON_UDMA_M2S_Q(0);

	assert_int_equal(rd(f, f->ctl + NEURON_CTL_MASK), ~0u);
	assert_int_equal(rd(f, neuron_tpb_bar0(f->gen, 0) + NEURON_TPB_SEM +
			       NEURON_SEM_READ(7)), 0);
	/* What the firmware and the copy rings hold survives. */
	assert_int_equal(rd(f, f->misc + NEURON_MISC_ELECTION), 0x00020003);
	assert_int_equal(rd(f, m2s + NEURON_UDMA_Q_LENGTH), 64);
	assert_int_equal(rd(f, m2s + NEURON_UDMA_Q_TAIL), tail);
	assert_int_equal(rd(f, m2s + NEURON_UDMA_Q_HEAD), tail);
}

static uint32_t prepare_reset(struct fixture *f)
{
	const uint32_t copy = neuron_dma_bar0(f->gen, f->gen->nr_ring);
	const uint32_t m2s = copy + NEURON_UDMA_M2S_Q(0);

	wr(f, f->ctl + NEURON_CTL_MASK, 0);
	wr(f, neuron_tpb_bar0(f->gen, 0) + NEURON_TPB_SEM + NEURON_SEM_SET(7), 1);
	wr(f, f->misc + NEURON_MISC_ELECTION, 0x00020003);
	wr(f, m2s + NEURON_UDMA_Q_LENGTH, 64);
	wr(f, m2s + NEURON_UDMA_Q_TAIL_INC, 3);
	return rd(f, m2s + NEURON_UDMA_Q_TAIL);
}

static void test_reset_by_misc(void **state)
{
	struct fixture *f = *state;
	uint32_t tail = prepare_reset(f);

	assert_int_equal(tail & NEURON_UDMA_Q_PTR, 3);
	wr(f, f->misc + NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_RESET_REQUEST),
			 NEURON_MISC_RESET_DEVICE);
	wr(f, f->misc + NEURON_MISC_TRIGGER, 1);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_RESET_REQUEST), 0);
	assert_true(fake_wait_reg(f->chip, f->misc + NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	check_after_reset(f, tail);
}

static void test_reset_by_platform_register(void **state)
{
	struct fixture *f = *state;
	uint32_t tail = prepare_reset(f);

	assert_int_equal(rd(f, f->gen->reset_bar0), 0);
	if (f->gen->generation == 2) {
		wr(f, f->gen->reset_bar0, 1);
		wr(f, f->misc + NEURON_MISC_RESET_REQUEST,
		   NEURON_MISC_RESET_DEVICE);
		wr(f, f->misc + NEURON_MISC_TRIGGER, 1);
	} else {
		wr(f, f->gen->reset_bar0, 0);
	}
	assert_true(fake_wait_reg(f->chip, f->gen->reset_bar0, ~0u, 0));
	check_after_reset(f, tail);
}

/* Resetting core 1 leaves core 0 alone. */
static void test_reset_of_a_core(void **state)
{
	struct fixture *f = *state;
	const uint32_t sem = NEURON_TPB_SEM + NEURON_SEM_SET(9);
	const uint32_t get = NEURON_TPB_SEM + NEURON_SEM_READ(9);

	wr(f, neuron_tpb_bar0(f->gen, 0) + sem, 11);
	wr(f, neuron_tpb_bar0(f->gen, 1) + sem, 22);
	wr(f, f->misc + NEURON_MISC_RESET_MAP, 2);
	wr(f, f->misc + NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_TPB);
	wr(f, f->misc + NEURON_MISC_TRIGGER, 1);
	assert_true(fake_wait_reg(f->chip, f->misc + NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	assert_int_equal(rd(f, neuron_tpb_bar0(f->gen, 0) + get), 11);
	assert_int_equal(rd(f, neuron_tpb_bar0(f->gen, 1) + get), 0);
}

/* A reset asked for while the host holds the chip is done, and stays held. */
static void test_reset_while_stopped(void **state)
{
	struct fixture *f = *state;

	fake_chip_stop(f->chip);
	wr(f, f->misc + NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	wr(f, f->misc + NEURON_MISC_TRIGGER, 1);
	assert_true(fake_wait_reg(f->chip, f->misc + NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	assert_true(atomic_load(&f->chip->stopping));
	trn_chip_resume(f->chip);
	assert_false(atomic_load(&f->chip->stopping));
}

/* The host's reset forgets everything, HBM included. */
static void test_full_reset(void **state)
{
	struct fixture *f = *state;
	uint8_t *hbm = trn_chip_hbm(f->chip, 1);

	hbm[0x1234] = 0x55;
	prepare_reset(f);
	fake_chip_stop(f->chip);
	trn_chip_reset(f->chip);
	trn_chip_resume(f->chip);
	assert_int_equal(hbm[0x1234], 0);
	assert_int_equal(rd(f, f->misc + NEURON_MISC_ELECTION), 0);
	assert_int_equal(rd(f, neuron_dma_bar0(f->gen, f->gen->nr_ring) +
			       NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_LENGTH), 0);
	test_reset_values(state);
}

/* --- Device reset while DMA runs --- */

#define RING_LEN	64
#define RING_M2S	0x100000
#define RING_S2M	0x200000
#define COPY_FROM	0x400000
#define COPY_TO		0x500000

static void ring_program(struct fixture *f, uint32_t side, uint32_t base,
			 uint32_t sw_ctrl)
{
	wr(f, side + NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
	wr(f, side + sw_ctrl, NEURON_UDMA_Q_SW_CTRL_RESET);
	wr(f, side + NEURON_UDMA_Q_BASE_LO, base);
	wr(f, side + NEURON_UDMA_Q_BASE_HI, 0);
	wr(f, side + NEURON_UDMA_Q_LENGTH, RING_LEN);
	wr(f, side + NEURON_UDMA_Q_CFG,
	   NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
	   NEURON_UDMA_Q_CFG_SCHEDULE);
}

/* Copy descriptor @n since the ring was programmed: 64 KiB from HBM to HBM. */
static void ring_fill(struct fixture *f, unsigned int n)
{
	uint8_t *hbm = trn_chip_hbm(f->chip, 0);
	struct neuron_udma_desc *m2s = (void *)(hbm + RING_M2S);
	struct neuron_udma_desc *s2m = (void *)(hbm + RING_S2M);
	uint32_t id = neuron_ring_id(n, RING_LEN);

	m2s[n % RING_LEN] = neuron_copy_source(COPY_FROM, NEURON_UDMA_DESC_MAX_BYTES, id,
					       NEURON_UDMA_META_DEFAULT);
	s2m[n % RING_LEN] = neuron_copy_target(COPY_TO, NEURON_UDMA_DESC_MAX_BYTES, id, 0);
}

static void test_reset_while_dma_runs(void **state)
{
	struct fixture *f = *state;
	const uint32_t copy = neuron_dma_bar0(f->gen, f->gen->nr_ring);
	const uint32_t m2s = copy + NEURON_UDMA_M2S_Q(0);
	const uint32_t s2m = copy + NEURON_UDMA_S2M_Q(0);
	uint8_t *hbm = trn_chip_hbm(f->chip, 0);
	unsigned int n = 0, round, i;
	uint32_t tail;

	ring_program(f, m2s, RING_M2S, NEURON_UDMA_M2S_Q_SW_CTRL);
	ring_program(f, s2m, RING_S2M, NEURON_UDMA_S2M_Q_SW_CTRL);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 40; i++)
			ring_fill(f, n++);
		wr(f, s2m + NEURON_UDMA_Q_TAIL_INC, 40);
		wr(f, m2s + NEURON_UDMA_Q_TAIL_INC, 40);
		tail = rd(f, m2s + NEURON_UDMA_Q_TAIL);
		wr(f, f->misc + NEURON_MISC_RESET_REQUEST,
		   NEURON_MISC_RESET_DEVICE);
		wr(f, f->misc + NEURON_MISC_TRIGGER, 1);
		assert_true(fake_wait_reg(f->chip,
					  f->misc + NEURON_MISC_STATUS,
					  NEURON_MISC_STATUS_BUSY, 0));
		/* Dropped, not done later. */
		assert_int_equal(rd(f, m2s + NEURON_UDMA_Q_HEAD), tail);
		assert_int_equal(rd(f, s2m + NEURON_UDMA_Q_HEAD), tail);
	}
	/* The ring goes on from where software believes it is. */
	memset(hbm + COPY_FROM, 0x3c, NEURON_UDMA_DESC_MAX_BYTES);
	ring_fill(f, n++);
	wr(f, s2m + NEURON_UDMA_Q_TAIL_INC, 1);
	wr(f, m2s + NEURON_UDMA_Q_TAIL_INC, 1);
	tail = rd(f, m2s + NEURON_UDMA_Q_TAIL);
	assert_true(fake_wait_reg(f->chip, m2s + NEURON_UDMA_Q_HEAD, ~0u, tail));
	assert_int_equal(hbm[COPY_TO + NEURON_UDMA_DESC_MAX_BYTES - 1], 0x3c);
	assert_int_equal(fake_log_count(&f->port, TRN_LOG_GUEST_ERROR), 0);
}

/* --- Discard --- */

#define DISCARD_VECTOR	4

static void discard_unmask(struct fixture *f)
{
	wr(f, f->ctl + NEURON_CTL_VECTOR, DISCARD_VECTOR);
	wr(f, f->ctl + NEURON_CTL_MASK, 0);
}

static void discard_go(struct fixture *f, uint64_t addr, uint64_t len)
{
	wrq(f, f->ctl + NEURON_CTL_DISCARD_ADDR, addr);
	wrq(f, f->ctl + NEURON_CTL_DISCARD_LEN, len);
	wr(f, f->ctl + NEURON_CTL_DISCARD_GO, 1);
}

static void test_discard(void **state)
{
	struct fixture *f = *state;
	uint8_t *hbm = trn_chip_hbm(f->chip, 1);

	memset(hbm + 0x1000, 0x77, 0x4000);
	discard_unmask(f);
	discard_go(f, f->gen->hbm_addr[1] + 0x2000, 0x2000);
	assert_true(fake_wait_irq(&f->port, DISCARD_VECTOR, 1));
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_DISCARD_GO), 0);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE),
			 NEURON_CTL_CAUSE_DISCARD);
	assert_int_equal(hbm[0x1fff], 0x77);
	assert_int_equal(hbm[0x2000], 0);
	assert_int_equal(hbm[0x3fff], 0);
	assert_int_equal(hbm[0x4000], 0x77);
}

static void test_discard_bad_range(void **state)
{
	struct fixture *f = *state;
	uint64_t stack = f->gen->hbm_addr[1];
	const struct {
		uint64_t addr, len;
	} bad[] = {
		{ stack + 1, 4096 },
		{ stack, 4095 },
		{ stack + FAKE_HBM_SIZE, 4096 },
		{ stack + FAKE_HBM_SIZE - 4096, 8192 },
		{ stack, ~0ull & ~4095ull },
		{ f->gen->tpb_addr[0], 4096 },
		{ f->gen->host_base, 4096 },
		{ neuron_fabric_addr(5, stack), 4096 },
		{ neuron_window_addr(0, 0), 4096 },
	};
	unsigned int i;

	discard_unmask(f);
	memset(trn_chip_hbm(f->chip, 1), 0x77, 8192);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		discard_go(f, bad[i].addr, bad[i].len);
		assert_true(fake_wait_irq(&f->port, DISCARD_VECTOR, i + 1));
		assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE),
				 NEURON_CTL_CAUSE_DISCARD_ERROR);
		wr(f, f->ctl + NEURON_CTL_CAUSE, ~0u);
	}
	assert_int_equal(*(uint8_t *)trn_chip_hbm(f->chip, 1), 0x77);
}

/* A stopped chip keeps the request and does it when it goes on. */
static void test_discard_waits_for_resume(void **state)
{
	struct fixture *f = *state;
	uint8_t *hbm = trn_chip_hbm(f->chip, 0);

	hbm[0] = 1;
	discard_unmask(f);
	fake_chip_stop(f->chip);
	discard_go(f, 0, 4096);
	assert_true(fake_wait_reg(f->chip, f->ctl + NEURON_CTL_DISCARD_GO, 1, 1));
	assert_int_equal(hbm[0], 1);
	trn_chip_resume(f->chip);
	assert_true(fake_wait_irq(&f->port, DISCARD_VECTOR, 1));
	assert_int_equal(hbm[0], 0);
}

/* --- Interrupts --- */

static void test_irq_mask_and_w1c(void **state)
{
	struct fixture *f = *state;
	uint32_t core = f->ctl + NEURON_CTL_CORE(1);

	/* Masked: latched, not raised. */
	trn_irq_core(f->chip, 1, NEURON_CORE_CAUSE_DONE);
	assert_int_equal(fake_irqs(&f->port, 1), 0);
	assert_int_equal(rd(f, core + NEURON_CORE_CAUSE),
			 NEURON_CORE_CAUSE_DONE);
	/* Unmasking what is pending raises it. */
	wr(f, core + NEURON_CORE_MASK, ~NEURON_CORE_CAUSE_DONE);
	assert_int_equal(fake_irqs(&f->port, 1), 1);
	/* Already set: no new edge. Another bit, masked: none either. */
	trn_irq_core(f->chip, 1, NEURON_CORE_CAUSE_DONE);
	trn_irq_core(f->chip, 1, NEURON_CORE_CAUSE_RESET);
	assert_int_equal(fake_irqs(&f->port, 1), 1);
	/* Write 1 to clear, bit by bit. */
	wr(f, core + NEURON_CORE_CAUSE, NEURON_CORE_CAUSE_DONE);
	assert_int_equal(rd(f, core + NEURON_CORE_CAUSE),
			 NEURON_CORE_CAUSE_RESET);
	trn_irq_core(f->chip, 1, NEURON_CORE_CAUSE_DONE);
	assert_int_equal(fake_irqs(&f->port, 1), 2);
	/* Another vector. */
	wr(f, core + NEURON_CORE_CAUSE, ~0u);
	wr(f, core + NEURON_CORE_VECTOR, 0);
	trn_irq_core(f->chip, 1, NEURON_CORE_CAUSE_DONE);
	assert_int_equal(fake_irqs(&f->port, 0), 1);
	assert_int_equal(fake_irqs(&f->port, 1), 2);
	/* Core 0 is untouched. */
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CORE(0) + NEURON_CORE_CAUSE),
			 0);
}

static void test_irq_dma(void **state)
{
	struct fixture *f = *state;
	uint32_t dma = f->ctl + NEURON_CTL_DMA(f->gen->nr_ring);
	unsigned int mgmt = f->gen->nr_cores;

	/* Masked at the engine: the management cause stays clear. */
	trn_irq_dma(f->chip, f->gen->nr_ring, NEURON_DMA_CAUSE_DONE(2));
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE), 0);
	wr(f, f->ctl + NEURON_CTL_MASK, 0);
	wr(f, dma + NEURON_DMA_MASK, 0);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE), NEURON_CTL_CAUSE_DMA);
	assert_int_equal(fake_irqs(&f->port, mgmt), 1);
	assert_int_equal(rd(f, dma + NEURON_DMA_CAUSE), NEURON_DMA_CAUSE_DONE(2));
	wr(f, f->ctl + NEURON_CTL_CAUSE, ~0u);
	wr(f, dma + NEURON_DMA_CAUSE, ~0u);
	/* A vector of its own leaves the management cause alone. */
	wr(f, dma + NEURON_DMA_VECTOR, 1);
	trn_irq_dma(f->chip, f->gen->nr_ring, NEURON_DMA_CAUSE_ERROR(15));
	assert_int_equal(fake_irqs(&f->port, 1), 1);
	assert_int_equal(fake_irqs(&f->port, mgmt), 1);
	assert_int_equal(rd(f, f->ctl + NEURON_CTL_CAUSE), 0);
	assert_int_equal(rd(f, dma + NEURON_DMA_CAUSE),
			 NEURON_DMA_CAUSE_ERROR(15));
}

/* --- Memory --- */

static void test_idle_memory(void **state)
{
	struct fixture *f = *state;
	unsigned int e, q;

	assert_true(trn_chip_own_bytes(f->chip) < OWN_BYTES_MAX);
	for (e = 0; e < f->gen->nr_dma; e += 8)
		for (q = 0; q < NEURON_UDMA_BLOCK_SIZE; q += 0x100)
			wr(f, neuron_dma_bar0(f->gen, e) + q, 0xffffffff);
	print_message("%s: %zu bytes\n", f->gen->name,
		      trn_chip_own_bytes(f->chip));
	assert_true(trn_chip_own_bytes(f->chip) < OWN_BYTES_MAX);
}

static void test_host_limit(void **state)
{
	struct fixture *f = *state;
	struct trn_chip_config config;
	struct fake_port port;
	struct trn_chip *chip;
	uint32_t word = 1;
	const char *why;
	uint64_t i;

	fake_port_init(&port, HOST_SIZE);
	config = fake_chip_config(&port, f->gen, f->pool, NULL, 0);
	config.host_limit = 3 * TRN_EXTENT;
	chip = trn_chip_new(&config, &why);
	assert_non_null(chip);
	for (i = 0; i < 3; i++)
		assert_int_equal(trn_bus_write(chip, i * TRN_EXTENT, &word, 4),
				 NEURON_CAUSE_NONE);
	assert_int_equal(trn_bus_write(chip, 3 * TRN_EXTENT, &word, 4),
			 NEURON_CAUSE_HOST_LIMIT);
	assert_int_equal(trn_bus_write(chip, f->gen->tpb_addr[0], &word, 4),
			 NEURON_CAUSE_HOST_LIMIT);
	/* What has been touched can be written again; reads cost nothing. */
	assert_int_equal(trn_bus_write(chip, 2 * TRN_EXTENT + 8, &word, 4),
			 NEURON_CAUSE_NONE);
	assert_int_equal(trn_bus_read(chip, 9 * TRN_EXTENT, &word, 4),
			 NEURON_CAUSE_NONE);
	assert_true(trn_touched_used(chip) == 3 * TRN_EXTENT);
	/* A discard gives back; part of an extent does not. */
	trn_touched_forget(chip, TRN_PLACE_HBM, 0, 4096, TRN_EXTENT - 4096);
	assert_true(trn_touched_used(chip) == 3 * TRN_EXTENT);
	trn_touched_forget(chip, TRN_PLACE_HBM, 0, 4096, 2 * TRN_EXTENT - 4096);
	assert_true(trn_touched_used(chip) == 2 * TRN_EXTENT);
	assert_int_equal(trn_bus_write(chip, f->gen->tpb_addr[0], &word, 4),
			 NEURON_CAUSE_NONE);
	fake_chip_free(chip);
	fake_port_destroy(&port);
}

static void test_bad_config(void **state)
{
	struct fixture *f = *state;
	struct trn_chip_config config;
	struct fake_port port;
	const char *why = NULL;

	fake_port_init(&port, HOST_SIZE);
	config = fake_chip_config(&port, f->gen, f->pool, NULL, 0);
	config.hbm_size = 4097;
	assert_null(trn_chip_new(&config, &why));
	assert_non_null(why);
	config = fake_chip_config(&port, f->gen, f->pool, NULL, 0);
	config.bar4_stride = config.hbm_size / 2;
	assert_null(trn_chip_new(&config, &why));
	config = fake_chip_config(&port, f->gen, f->pool, NULL,
				  NEURON_MAX_CHIPS);
	assert_null(trn_chip_new(&config, &why));
	fake_port_destroy(&port);
}

#define FOR_EACH_GEN(test) \
	cmocka_unit_test_setup_teardown(test, setup_trn1, teardown), \
	cmocka_unit_test_setup_teardown(test, setup_trn2, teardown), \
	cmocka_unit_test_setup_teardown(test, setup_trn3, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_EACH_GEN(test_bar_decode),
		FOR_EACH_GEN(test_bar_unknown),
		FOR_EACH_GEN(test_bar_bad_access),
		FOR_EACH_GEN(test_reset_values),
		FOR_EACH_GEN(test_identity),
		FOR_EACH_GEN(test_misc_ram),
		FOR_EACH_GEN(test_reset_by_misc),
		FOR_EACH_GEN(test_reset_by_platform_register),
		FOR_EACH_GEN(test_reset_of_a_core),
		FOR_EACH_GEN(test_reset_while_stopped),
		FOR_EACH_GEN(test_full_reset),
		FOR_EACH_GEN(test_reset_while_dma_runs),
		FOR_EACH_GEN(test_discard),
		FOR_EACH_GEN(test_discard_bad_range),
		FOR_EACH_GEN(test_discard_waits_for_resume),
		FOR_EACH_GEN(test_irq_mask_and_w1c),
		FOR_EACH_GEN(test_irq_dma),
		FOR_EACH_GEN(test_idle_memory),
		FOR_EACH_GEN(test_host_limit),
		FOR_EACH_GEN(test_bad_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
