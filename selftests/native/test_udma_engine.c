// SPDX-License-Identifier: MIT
/*
 * What the queues of a DMA engine share: registers, interrupt groups, the abort
 * state, error logs, limits, pause.
 */
#include "ring_rig.h"

#include <string.h>
#include <time.h>

#include "dma/trn_udma_queue.h"

#define FIRST	NEURON_UDMA_DESC_FIRST
#define LAST	NEURON_UDMA_DESC_LAST
#define BOTH	(FIRST | LAST)

#define SEC_A	NEURON_UDMA_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_A)
#define SEC_B	NEURON_UDMA_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_B)
#define PRI_A	NEURON_UDMA_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_A)
#define PRI_D	NEURON_UDMA_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_D)

/* --- Registers --- */

static void registers_have_their_reset_values(void **state)
{
	static const struct {
		uint32_t reg, value;
		bool fixed;
	} regs[] = {
		{ NEURON_UDMA_M2S_STATE, 0, true },
		{ NEURON_UDMA_S2M_STATE, 0, true },
		{ NEURON_UDMA_M2S_VERSION, 4, true },
		{ NEURON_UDMA_M2S_CFG_LEN, 0x010fffff, false },
		{ NEURON_UDMA_M2S_PREF_CFG_2, 0x00010041, false },
		{ NEURON_UDMA_S2M_COMP_CFG_1C, 0x1004, false },
		{ NEURON_UDMA_M2S_LOG(0), 0, true },
		{ NEURON_UDMA_S2M_LOG(3), 0, true },
		{ NEURON_UDMA_GEN_ZEROES0, 0, false },
		{ SEC_A + NEURON_IOFIC_ABORT_MASK, ~0u, false },
		{ SEC_A + NEURON_IOFIC_MASK, 0, false },
		{ SEC_A + NEURON_IOFIC_STATUS, 0, true },
		{ PRI_D + NEURON_IOFIC_CONTROL, 0, false },
		{ NEURON_UDMA_IOFIC_PORT(6) + NEURON_IOFIC_ABORT_MASK, ~0u,
		  false },
		{ NEURON_UDMA_AXI_QUEUE(15) + NEURON_UDMA_AXI_QUEUE_ERROR, 0,
		  true },
		{ NEURON_UDMA_AXI_QUEUE(15) + NEURON_UDMA_AXI_QUEUE_CFG, 0,
		  false },
		{ NEURON_UDMA_M2S_CHANGE_STATE, 0, true },
	};
	struct ring_pair ring = { .rig = *state, .engine = 7 };
	size_t i;

	for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
		assert_int_equal(ring_engine_read(&ring, regs[i].reg),
				 regs[i].value);
		/* No bit of it asks for anything. */
		ring_engine_write(&ring, regs[i].reg, 0x5a5a5a58);
		assert_int_equal(ring_engine_read(&ring, regs[i].reg),
				 regs[i].fixed ? regs[i].value : 0x5a5a5a58);
	}
}

static void error_tables_are_written_indirectly(void **state)
{
	struct ring_pair ring = { .rig = *state, .engine = 9 };
	unsigned int port, q;

	for (port = 0; port < NEURON_UDMA_PORTS; port++) {
		for (q = 0; q < NEURON_UDMA_QUEUES; q++) {
			ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_ADDR(port),
					  q << 3 | 7);
			ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_DATA(port),
					  0x100 * port + q + 1);
		}
		ring_engine_write(&ring, NEURON_UDMA_AXI_DETECT(port, 15),
				  0xf0 + port);
	}
	for (port = 0; port < NEURON_UDMA_PORTS; port++) {
		ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_ADDR(port),
				  5 << 3 | 7);
		assert_int_equal(ring_engine_read(&ring,
						  NEURON_UDMA_AXI_TABLE_DATA(port)),
				 0x100 * port + 6);
		ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_ADDR(port),
				  5 << 3 | 6);
		assert_int_equal(ring_engine_read(&ring,
						  NEURON_UDMA_AXI_TABLE_DATA(port)),
				 0);
		assert_int_equal(ring_engine_read(&ring,
						  NEURON_UDMA_AXI_DETECT(port, 15)),
				 0xf0 + port);
	}
	/* Any address does. */
	ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_ADDR(6), ~0u);
	ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_DATA(6), ~0u);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_AXI_TABLE_DATA(6)),
			 ~0u);
}

/* --- Interrupt groups --- */

static void causes_are_set_masked_and_cleared(void **state)
{
	struct ring_pair ring = { .rig = *state, .engine = 4 };
	uint32_t d = NEURON_IOFIC_D_SECONDARY(NEURON_UDMA_IOFIC_B);
	uint32_t sum = NEURON_IOFIC_A_SUM(NEURON_UDMA_IOFIC_D);

	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_MASK, 0xff);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_MASK_CLEAR, ~0x0fu);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_MASK),
			 0xf0);
	/* A masked cause is kept, and goes no further. */
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE_SET, 0x10);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE_SET, 0);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_CAUSE),
			 0x10);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_CAUSE), 0);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE_SET, 0x3);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_CAUSE),
			 0x13);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_CAUSE), d);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_STATUS), d);
	assert_int_equal(ring_engine_read(&ring, PRI_A + NEURON_IOFIC_CAUSE),
			 sum);
	/* By level: while the source is there, a clear does not last. */
	ring_engine_write(&ring, PRI_D + NEURON_IOFIC_CAUSE, 0);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_CAUSE), d);
	/* By rise: it does. */
	ring_engine_write(&ring, PRI_D + NEURON_IOFIC_CONTROL,
			  NEURON_IOFIC_POSEDGE | NEURON_IOFIC_MASK_MSIX);
	ring_engine_write(&ring, PRI_D + NEURON_IOFIC_CAUSE, ~d);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_CAUSE), 0);
	/* 0 clears, 1 leaves alone. */
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE, ~0x3u);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_CAUSE),
			 0x10);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_STATUS), 0);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE_SET, 0x1);
	assert_int_equal(ring_engine_read(&ring, PRI_D + NEURON_IOFIC_CAUSE), d);

	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CONTROL,
			  NEURON_IOFIC_CLEAR_ON_READ);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_CAUSE),
			 0x11);
	assert_int_equal(ring_engine_read(&ring, SEC_B + NEURON_IOFIC_CAUSE), 0);
	/* Nobody asked for an abort. */
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_S2M_STATE), 0);
}

/* Which error sets which cause, port and log. */
struct mishap {
	uint32_t group, bit;
	int port;
	enum neuron_cause cause;
	void (*make)(struct ring_pair *ring);
};

static void no_first(struct ring_pair *ring)
{
	ring_m2s(ring, 0x1000, 4, LAST);
	ring_s2m(ring, 0x2000, 4);
	ring_doorbell(ring, 1, 1);
}

static void first_inside(struct ring_pair *ring)
{
	ring_m2s(ring, 0x1000, 4, FIRST);
	ring_m2s(ring, 0x1000, 4, BOTH);
	ring_s2m(ring, 0x2000, 8);
	ring_doorbell(ring, 2, 1);
}

static void too_many(struct ring_pair *ring)
{
	ring_engine_write(ring, NEURON_UDMA_M2S_PREF_CFG_2, 2);
	ring_m2s(ring, 0x1000, 4, FIRST);
	ring_m2s(ring, 0x1000, 4, 0);
	ring_m2s(ring, 0x1000, 4, LAST);
	ring_s2m(ring, 0x2000, 12);
	ring_doorbell(ring, 3, 1);
}

static void too_long(struct ring_pair *ring)
{
	ring_engine_write(ring, NEURON_UDMA_M2S_CFG_LEN,
			  NEURON_UDMA_CFG_LEN_64K | 100);
	ring_m2s(ring, 0x1000, 60, FIRST);
	ring_m2s(ring, 0x1000, 41, LAST);
	ring_s2m(ring, 0x2000, 200);
	ring_doorbell(ring, 2, 1);
}

static void wrong_id_m2s(struct ring_pair *ring)
{
	ring_copy(ring, 0x2000, 0x1000, 4);
	ring->m2s[ring->m2s_tail - 1].len_ctrl ^=
		NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 1u);
	ring_doorbell(ring, 1, 1);
}

static void wrong_id_s2m(struct ring_pair *ring)
{
	ring_copy(ring, 0x2000, 0x1000, 4);
	ring->s2m[ring->s2m_tail - 1].len_ctrl ^=
		NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 2u);
	ring_doorbell(ring, 1, 1);
}

static void bad_source(struct ring_pair *ring)
{
	ring_copy(ring, 0x2000, RIG_NOWHERE, 4);
	ring_doorbell(ring, 1, 1);
}

static void bad_destination(struct ring_pair *ring)
{
	ring_copy(ring, rig_host_addr(ring->rig, 0, RIG_HOST_BYTES - 2), 0x1000,
		  4);
	ring_doorbell(ring, 1, 1);
}

static void bad_ring_m2s(struct ring_pair *ring)
{
	ring_write(ring, false, NEURON_UDMA_Q_BASE_HI, 0x1f);
	ring_copy(ring, 0x2000, 0x1000, 4);
	ring_doorbell(ring, 1, 1);
}

static void bad_ring_s2m(struct ring_pair *ring)
{
	ring_write(ring, true, NEURON_UDMA_Q_BASE_HI, 0x1f);
	ring_copy(ring, 0x2000, 0x1000, 4);
	ring_doorbell(ring, 1, 1);
}

static const struct mishap mishaps[] = {
	{ SEC_A, NEURON_IOFIC_M2S_FIRST, -1, NEURON_CAUSE_DESC, no_first },
	{ SEC_A, NEURON_IOFIC_M2S_LAST, -1, NEURON_CAUSE_DESC, first_inside },
	{ SEC_A, NEURON_IOFIC_M2S_MAX_DESC, -1, NEURON_CAUSE_DESC, too_many },
	{ SEC_A, NEURON_IOFIC_M2S_LENGTH, -1, NEURON_CAUSE_DESC, too_long },
	{ SEC_A, NEURON_IOFIC_M2S_RING_ID, -1, NEURON_CAUSE_RING_ID,
	  wrong_id_m2s },
	{ SEC_B, NEURON_IOFIC_S2M_RING_ID, -1, NEURON_CAUSE_RING_ID,
	  wrong_id_s2m },
	{ SEC_A, NEURON_IOFIC_M2S_DATA, NEURON_UDMA_PORT_M2S_DATA,
	  NEURON_CAUSE_ADDRESS, bad_source },
	{ SEC_B, NEURON_IOFIC_S2M_DATA, NEURON_UDMA_PORT_S2M_DATA,
	  NEURON_CAUSE_HOST, bad_destination },
	{ SEC_A, NEURON_IOFIC_M2S_PREFETCH, NEURON_UDMA_PORT_M2S_PREFETCH,
	  NEURON_CAUSE_ADDRESS, bad_ring_m2s },
	{ SEC_B, NEURON_IOFIC_S2M_PREFETCH, NEURON_UDMA_PORT_S2M_PREFETCH,
	  NEURON_CAUSE_ADDRESS, bad_ring_s2m },
};

static void check_port(struct ring_pair *ring, const struct mishap *m)
{
	uint32_t reg = NEURON_UDMA_AXI_QUEUE(ring->queue) +
		       NEURON_UDMA_AXI_QUEUE_ERROR;
	uint32_t bit = m->port >= 0 ? NEURON_BIT(m->port) : 0;
	int port;

	/* Reading clears. */
	assert_int_equal(ring_engine_read(ring, reg), bit);
	assert_int_equal(ring_engine_read(ring, reg), 0);
	for (port = 0; port < NEURON_UDMA_PORTS; port++) {
		reg = NEURON_UDMA_IOFIC_PORT((uint32_t)port) +
		      NEURON_IOFIC_CAUSE;
		assert_int_equal(ring_engine_read(ring, reg),
				 port == m->port ? NEURON_BIT(ring->queue) : 0);
		ring_engine_write(ring, reg, 0);
	}
}

static void each_error_has_its_cause(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	size_t i;

	ring_make(&ring, rig, 32);
	for (i = 0; i < sizeof(mishaps) / sizeof(mishaps[0]); i++) {
		const struct mishap *m = &mishaps[i];

		m->make(&ring);
		ring_wait_error(&ring, m->cause);
		assert_int_equal(ring_engine_read(&ring, SEC_A),
				 m->group == SEC_A ? m->bit : 0);
		assert_int_equal(ring_engine_read(&ring, SEC_B),
				 m->group == SEC_B ? m->bit : 0);
		check_port(&ring, m);
		ring_engine_write(&ring, m->group + NEURON_IOFIC_CAUSE, 0);
		ring_engine_write(&ring, NEURON_UDMA_M2S_PREF_CFG_2,
				  NEURON_UDMA_PREF_CFG_2_RESET);
		ring_engine_write(&ring, NEURON_UDMA_M2S_CFG_LEN,
				  NEURON_UDMA_CFG_LEN_RESET);
		/* Abort masks are all ones: only the queue stopped. */
		assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE),
				 0);
		ring_recover(&ring);
	}
}

static uint32_t log_word(struct ring_pair *ring, unsigned int i)
{
	return ring_engine_read(ring, NEURON_UDMA_M2S_LOG(i));
}

static void the_log_keeps_the_first_error(void **state)
{
	struct rig *rig = *state;
	struct neuron_udma_desc desc;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	/* What the mask covers is not logged. */
	ring_engine_write(&ring, NEURON_UDMA_M2S_ERR_LOG_MASK,
			  NEURON_IOFIC_M2S_RING_ID);
	wrong_id_m2s(&ring);
	ring_wait_error(&ring, NEURON_CAUSE_RING_ID);
	assert_int_equal(log_word(&ring, 0), 0);
	ring_recover(&ring);

	ring_copy(&ring, 0x2000, RIG_NOWHERE, 12);
	desc = ring.m2s[1];
	ring_doorbell(&ring, 1, 1);
	ring_wait_error(&ring, NEURON_CAUSE_ADDRESS);
	ring_recover(&ring);
	no_first(&ring);
	ring_wait_error(&ring, NEURON_CAUSE_DESC);
	assert_int_equal(log_word(&ring, 0), desc.len_ctrl);
	assert_int_equal(log_word(&ring, 1), desc.meta_ctrl);
	assert_int_equal(log_word(&ring, 2), (uint32_t)desc.addr);
	assert_int_equal(log_word(&ring, 3), desc.addr >> 32);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_S2M_LOG(0)), 0);
	ring_recover(&ring);

	ring_engine_write(&ring, NEURON_UDMA_M2S_CLEAR_ERR_LOG, 1);
	assert_int_equal(log_word(&ring, 0), 0);
	ring_copy(&ring, 0x2000, RIG_NOWHERE, 13);
	ring_doorbell(&ring, 1, 1);
	ring_wait_error(&ring, NEURON_CAUSE_ADDRESS);
	assert_int_equal(log_word(&ring, 0) & 0xffff, 13);
}

/* --- Limits --- */

static void limits_are_exact(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	ring_make(&ring, rig, 128);
	ring_engine_write(&ring, NEURON_UDMA_M2S_CFG_LEN,
			  NEURON_UDMA_CFG_LEN_64K | 100);
	ring_engine_write(&ring, NEURON_UDMA_M2S_PREF_CFG_2, 2);
	ring_m2s(&ring, 0x1000, 60, FIRST);
	ring_m2s(&ring, 0x1000, 40, LAST);
	ring_s2m(&ring, 0x2000, 100);
	ring_run(&ring, 2, 1);

	/* As public software has it: 1 MiB - 1, 64 and one of metadata. */
	ring_engine_write(&ring, NEURON_UDMA_M2S_CFG_LEN,
			  NEURON_UDMA_CFG_LEN_RESET);
	ring_engine_write(&ring, NEURON_UDMA_M2S_PREF_CFG_2, 0xff);
	for (i = 0; i < 16; i++) {
		ring_m2s(&ring, 0x100000, i == 15 ? 65535 : 0,
			 (i ? 0 : FIRST) | (i == 15 ? LAST : 0));
		ring_s2m(&ring, 0x200000, 0);
	}
	ring_run(&ring, 16, 16);
	for (i = 0; i < 16; i++) {
		ring_m2s(&ring, 0x100000, 0,
			 (i ? 0 : FIRST) | (i == 15 ? LAST : 0));
		ring_s2m(&ring, 0x200000, 0);
	}
	ring_doorbell(&ring, 16, 16);
	ring_wait_error(&ring, NEURON_CAUSE_DESC);
	ring_recover(&ring);

	/* No more than 64, whatever the register says. */
	for (i = 0; i < 65; i++)
		ring_m2s(&ring, 0x1000, 4,
			 (i ? 0 : FIRST) | (i == 64 ? LAST : 0));
	ring_s2m(&ring, 0x2000, 400);
	ring_doorbell(&ring, 65, 1);
	ring_wait_error(&ring, NEURON_CAUSE_DESC);
	ring_recover(&ring);

	ring_engine_write(&ring, NEURON_UDMA_M2S_PREF_CFG_2, 0);
	ring_copy(&ring, 0x2000, 0x1000, 4);
	ring_doorbell(&ring, 1, 1);
	ring_wait_error(&ring, NEURON_CAUSE_DESC);
}

static void length_0_may_be_an_error(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_engine_write(&ring, NEURON_UDMA_M2S_CFG_LEN, 0xfffff);
	/* The S2M side has no such choice. */
	ring_m2s(&ring, 0x10000, 65535, BOTH);
	ring_s2m(&ring, 0x20000, 0);
	ring_run(&ring, 1, 1);
	ring_copy(&ring, 0x20000, 0x10000, 0);
	ring_doorbell(&ring, 1, 1);
	ring_wait_error(&ring, NEURON_CAUSE_DESC);
	assert_true(fake_logged(&rig->port[0], "length 0"));
}

/* --- Abort --- */

static void an_unmasked_cause_aborts_the_engine(void **state)
{
	struct rig *rig = *state;
	struct ring_pair bad, idle, busy;

	ring_make(&bad, rig, 32);
	ring_alloc(&idle, rig, 0, bad.engine, 5, 32);
	ring_program(&idle);
	ring_alloc(&busy, rig, 0, bad.engine, 6, 32);
	ring_program(&busy);
	ring_doorbell(&busy, 1, 0);	/* waits for its S2M side */
	ring_engine_write(&bad, SEC_A + NEURON_IOFIC_ABORT_MASK, 0xf0000000);
	bad_destination(&bad);		/* a cause of group B: masked */
	ring_wait_error(&bad, NEURON_CAUSE_HOST);
	assert_int_equal(ring_engine_read(&bad, NEURON_UDMA_S2M_STATE), 0);
	ring_recover(&bad);
	ring_engine_write(&bad, SEC_B + NEURON_IOFIC_CAUSE, 0);

	bad_source(&bad);
	ring_wait_error(&bad, NEURON_CAUSE_ADDRESS);
	ring_wait_error(&busy, NEURON_CAUSE_ABORT);
	assert_int_equal(ring_engine_read(&bad, NEURON_UDMA_M2S_STATE), 0x2222);
	assert_int_equal(ring_engine_read(&bad, NEURON_UDMA_S2M_STATE), 0);
	assert_true(fake_logged(&rig->port[0], "aborted"));
	/* Nothing moves, though the idle queue takes descriptors. */
	ring_copy(&idle, 0x2000, 0x1000, 4);
	ring_doorbell(&idle, 1, 1);
	ring_wait_quiet(&idle);
	assert_int_equal(ring_read(&idle, false, NEURON_UDMA_Q_STATUS), 1);

	/* The cause holds the engine there. */
	ring_engine_write(&bad, NEURON_UDMA_M2S_CHANGE_STATE,
			  NEURON_UDMA_CHANGE_NORMAL);
	assert_int_equal(ring_engine_read(&bad, NEURON_UDMA_M2S_STATE), 0x2222);
	assert_true(fake_logged(&rig->port[0], "clear the causes"));
	ring_engine_write(&bad, SEC_A + NEURON_IOFIC_CAUSE, 0);
	ring_engine_write(&bad, NEURON_UDMA_M2S_CHANGE_STATE,
			  NEURON_UDMA_CHANGE_NORMAL);
	assert_int_equal(ring_engine_read(&bad, NEURON_UDMA_M2S_STATE), 0x1111);
	ring_wait(&idle);
	/* Those that had work need a reset. */
	ring_doorbell(&busy, 0, 1);
	ring_wait_quiet(&busy);
	assert_int_equal(ring_error(&busy), NEURON_CAUSE_ABORT);
	ring_recover(&busy);
	ring_recover(&bad);
}

static void software_may_set_the_cause(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE_SET, 1);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_S2M_STATE), 0);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_ABORT_MASK, ~1u);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_S2M_STATE), 0x2222);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE), 0);
	ring_engine_write(&ring, SEC_B + NEURON_IOFIC_CAUSE, 0);
	ring_engine_write(&ring, NEURON_UDMA_S2M_CHANGE_STATE,
			  NEURON_UDMA_CHANGE_NORMAL);
	ring_copy(&ring, 0x2000, 0x1000, 4);
	ring_run(&ring, 1, 1);

	/* A bus port's group aborts its side as well. */
	ring_engine_write(&ring, NEURON_UDMA_IOFIC_PORT(1) +
					 NEURON_IOFIC_ABORT_MASK, 0);
	ring_engine_write(&ring, NEURON_UDMA_IOFIC_PORT(1) +
					 NEURON_IOFIC_CAUSE_SET, 8);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE), 0x2222);
}

static _Atomic unsigned int writes;

static bool slow_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	struct fake_port *port = opaque;

	nanosleep(&nap, NULL);
	memcpy(port->host + addr, buf, len);
	atomic_fetch_add(&writes, 1);
	return true;
}

static bool writing(void *arg)
{
	(void)arg;
	return atomic_load(&writes) > 0;
}

/* @packets of @pieces host writes, which take their time. */
static void slow_packets(struct ring_pair *ring, unsigned int packets,
			 unsigned int pieces)
{
	struct rig *rig = ring->rig;
	unsigned int i, n;
	uint8_t *bytes;
	uint64_t to = rig_random_host(rig, packets * pieces * 64, &bytes);

	rig->port[0].ops.host_write = slow_write;
	atomic_store(&writes, 0);
	for (i = 0; i < packets; i++) {
		for (n = 0; n < pieces; n++) {
			ring_m2s(ring, 0x1000, 64, (n ? 0 : FIRST) |
				 (n + 1 == pieces ? LAST : 0));
			ring_s2m(ring, to + (i * pieces + n) * 64, 64);
		}
	}
	ring_doorbell(ring, packets * pieces, packets * pieces);
	assert_true(fake_wait(writing, NULL));
}

static void an_abort_ends_the_packet_in_the_middle(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 128);
	slow_packets(&ring, 1, 60);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE), 0x1111);
	ring_engine_write(&ring, NEURON_UDMA_S2M_CHANGE_STATE,
			  NEURON_UDMA_CHANGE_ABORT);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_S2M_STATE), 0x2222);
	ring_wait_error(&ring, NEURON_CAUSE_ABORT);
	assert_true(atomic_load(&writes) < 60);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD), 1u << 30);
	ring_engine_write(&ring, NEURON_UDMA_S2M_CHANGE_STATE,
			  NEURON_UDMA_CHANGE_NORMAL);
	ring_recover(&ring);
}

/* --- Pause --- */

/* A pause lets the packet under way end, and STATUS tells when that is. */
static void check_pause(struct ring_pair *ring, uint32_t pause_reg, bool queue,
			uint32_t pause, uint32_t go)
{
	uint32_t head;

	slow_packets(ring, 10, 5);
	if (queue)
		ring_write(ring, false, pause_reg, pause);
	else
		ring_engine_write(ring, pause_reg, pause);
	assert_true(fake_wait_reg(ring->rig->chip[0],
				  ring_reg(ring, true, NEURON_UDMA_Q_STATUS),
				  NEURON_UDMA_Q_STATUS_BUSY, 0));
	head = ring_read(ring, false, NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR;
	assert_int_equal(head % 5, ring->m2s_tail % 5);
	assert_int_equal(atomic_load(&writes),
			 50 - (ring_read(ring, true, NEURON_UDMA_Q_STATUS)));
	assert_true(atomic_load(&writes) < 50);
	assert_int_equal(ring_error(ring), 0);
	if (queue)
		ring_write(ring, false, pause_reg, go);
	else
		ring_engine_write(ring, pause_reg, go);
	ring_wait(ring);
	assert_int_equal(atomic_load(&writes), 50);
}

static void a_pause_waits_for_the_packet(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 240);
	check_pause(&ring, NEURON_UDMA_Q_CFG, true, NEURON_UDMA_Q_CFG_RESET,
		    0x03030000);
	/* Prefetching alone moves nothing. */
	check_pause(&ring, NEURON_UDMA_Q_CFG, true,
		    NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH,
		    0x03030000);
	check_pause(&ring, NEURON_UDMA_M2S_CHANGE_STATE, false,
		    NEURON_UDMA_CHANGE_DISABLE, NEURON_UDMA_CHANGE_NORMAL);
	check_pause(&ring, NEURON_UDMA_S2M_STREAM_CFG, false,
		    NEURON_UDMA_STREAM_DISABLE, 0);
}

static void a_core_reset_clears_errors_of_its_engines(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_alloc(&ring, rig, 0, 3, 2, 32);
	ring_program(&ring);
	ring_engine_write(&ring, SEC_A + NEURON_IOFIC_ABORT_MASK, 0xf0000000);
	bad_source(&ring);
	ring_wait_error(&ring, NEURON_CAUSE_ADDRESS);
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE), 0x2222);
	trn_chip_mmio_write(rig->chip[0],
			    rig_core_reg(rig, 0, NEURON_CORE_RESET), 1, 4);
	assert_true(fake_wait_reg(rig->chip[0],
				  rig_core_reg(rig, 0, NEURON_CORE_RESET), ~0u,
				  0));
	assert_int_equal(ring_engine_read(&ring, NEURON_UDMA_M2S_STATE), 0);
	assert_int_equal(ring_engine_read(&ring, SEC_A), 0);
	assert_int_equal(log_word(&ring, 0), 0);
	/* What software set up stays. */
	assert_int_equal(ring_engine_read(&ring, SEC_A + NEURON_IOFIC_ABORT_MASK),
			 0xf0000000);
	ring_recover(&ring);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(registers_have_their_reset_values),
		TEST(error_tables_are_written_indirectly),
		TEST(causes_are_set_masked_and_cleared),
		TEST(each_error_has_its_cause),
		TEST(the_log_keeps_the_first_error),
		TEST(limits_are_exact),
		TEST(length_0_may_be_an_error),
		TEST(an_unmasked_cause_aborts_the_engine),
		TEST(software_may_set_the_cause),
		TEST(an_abort_ends_the_packet_in_the_middle),
		TEST(a_pause_waits_for_the_packet),
		TEST(a_core_reset_clears_errors_of_its_engines),
	};

	return cmocka_run_group_tests_name("udma_engine", tests, NULL, NULL);
}
