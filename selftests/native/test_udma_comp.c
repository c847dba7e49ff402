// SPDX-License-Identifier: MIT
/*
 * How software learns that packets are done: completion rings, heads, interrupts.
 */
#include "ring_rig.h"

#include <string.h>

#include "hook/trn_inject.h"
#include "notify/trn_nq.h"

#define FIRST	NEURON_UDMA_DESC_FIRST
#define LAST	NEURON_UDMA_DESC_LAST
#define INT_EN	NEURON_UDMA_DESC_INT_EN

#define LENGTH	64

/**
 * struct comp - the completion rings of a queue
 * @at: bus addresses, M2S and S2M
 * @ring: the same for the test
 * @size: bytes of a completion
 */
struct comp {
	uint64_t at[2];
	uint8_t *ring[2];
	uint32_t size[2];
};

static void comp_make(struct comp *comp, struct ring_pair *ring, uint32_t cfg)
{
	struct rig *rig = ring->rig;
	unsigned int side;
	uint64_t base;

	ring_make(ring, rig, LENGTH);
	for (side = 0; side < 2; side++) {
		comp->size[side] = 16;
		comp->at[side] = rig_host(rig, 0, LENGTH * 32);
		comp->ring[side] = rig_host_ptr(rig, 0, comp->at[side]);
		memset(comp->ring[side], 0xee, LENGTH * 32);
		base = rig_host_addr(rig, 0, comp->at[side]);
		ring_write(ring, side, NEURON_UDMA_Q_COMP_BASE_LO,
			   (uint32_t)base);
		ring_write(ring, side, NEURON_UDMA_Q_COMP_BASE_HI, base >> 32);
		ring_write(ring, side,
			   side ? NEURON_UDMA_S2M_Q_COMP_CFG :
				  NEURON_UDMA_M2S_Q_COMP_CFG,
			   NEURON_UDMA_Q_COMP_ENABLE | cfg);
	}
}

static uint32_t comp_word(const struct comp *comp, unsigned int side,
			  unsigned int i, unsigned int word)
{
	uint32_t value;

	memcpy(&value, comp->ring[side] + (size_t)(i * comp->size[side]) +
			       word * 4, sizeof(value));
	return value;
}

/* By hand: the test judges how completions are written. */
static uint32_t expected(unsigned int n, uint32_t flags, uint32_t bytes)
{
	return NEURON_PUT(NEURON_UDMA_COMP_RING_ID, (1 + n / LENGTH) & 3u) |
	       flags | bytes;
}

static void completions_follow_descriptors(void **state)
{
	struct ring_pair ring = { .rig = *state };
	unsigned int n, w;
	struct comp comp;

	comp_make(&comp, &ring, 0);
	/* 80 packets of 3 and 2 descriptors: laps of the rings. */
	for (n = 0; n < 80; n++) {
		ring_m2s(&ring, 0x1000, 10, FIRST);
		ring_m2s(&ring, 0x2000, 20, 0);
		ring_m2s(&ring, 0x3000, 30, LAST);
		ring_s2m(&ring, 0x4000, 25);
		ring_s2m(&ring, 0x5000, 200);
		ring_run(&ring, 3, 2);
	}
	for (n = 3 * 79; n < 3 * 80; n++)
		assert_int_equal(comp_word(&comp, 0, n % LENGTH, 0),
				 expected(n, (n % 3 == 0 ? FIRST : 0) |
						  (n % 3 == 2 ? LAST : 0),
					  10 + n % 3 * 10));
	for (n = 2 * 79; n < 2 * 80; n++)
		assert_int_equal(comp_word(&comp, 1, n % LENGTH, 0),
				 expected(n, n % 2 ? LAST : FIRST,
					  n % 2 ? 35 : 25));
	for (w = 1; w < 4; w++) {
		assert_int_equal(comp_word(&comp, 0, 0, w), 0);
		assert_int_equal(comp_word(&comp, 1, 0, w), 0);
	}
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_COMP_HEAD),
			 ring_read(&ring, false, NEURON_UDMA_Q_HEAD));
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 ring_read(&ring, true, NEURON_UDMA_Q_HEAD));
	/* Nothing beyond the rings. */
	for (n = 0; n < LENGTH * 16; n++) {
		assert_int_equal(comp.ring[0][LENGTH * 16 + n], 0xee);
		assert_int_equal(comp.ring[1][LENGTH * 16 + n], 0xee);
	}
}

/* --- Order --- */

static struct {
	uint64_t comp[2];	/* bus addresses of the rings */
	unsigned int data;	/* data writes so far */
	unsigned int seen;	/* M2S completions so far */
	unsigned int early;	/* completions before their data */
	unsigned int batches;	/* writes to the M2S ring */
} order;

static bool in_ring(unsigned int side, uint64_t addr)
{
	return addr >= order.comp[side] && addr < order.comp[side] + LENGTH * 32;
}

static bool ordered_write(void *opaque, uint64_t addr, const void *buf,
			  size_t len)
{
	struct fake_port *port = opaque;

	if (in_ring(0, addr)) {
		order.seen += (unsigned int)(len / 16);
		order.batches++;
		if (order.seen > order.data)
			order.early++;
	} else if (!in_ring(1, addr)) {
		order.data++;
	}
	memcpy(port->host + addr, buf, len);
	return true;
}

static unsigned int completion_batches(struct rig *rig, uint32_t cfg)
{
	struct ring_pair ring = { .rig = rig };
	struct comp comp;
	uint8_t *bytes;
	unsigned int i;
	uint64_t to;

	comp_make(&comp, &ring, cfg);
	memset(&order, 0, sizeof(order));
	memcpy(order.comp, comp.at, sizeof(order.comp));
	to = rig_random_host(rig, 40 * 64, &bytes);
	rig->port[0].ops.host_write = ordered_write;
	for (i = 0; i < 40; i++)
		ring_copy(&ring, to + i * 64, 0x1000, 64);
	ring_run(&ring, 40, 40);
	ring_wait_quiet(&ring);
	assert_int_equal(order.data, 40);
	assert_int_equal(order.seen, 40);
	assert_int_equal(order.early, 0);
	return order.batches;
}

static void completions_come_after_the_data(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(completion_batches(rig, NEURON_UDMA_Q_COMP_AT_ONCE),
			 40);
	/* Coalesced: at most one for each run, and a run moves several. */
	assert_true(completion_batches(rig, 0) < 40);
}

static void completions_have_a_size(void **state)
{
	static const uint32_t words[] = { 1, 2, 4, 8 };
	static const uint32_t wrong[] = { 0, 3, 5, 15 };
	struct ring_pair ring = { .rig = *state };
	unsigned int i, w;
	struct comp comp;

	for (i = 0; i < 4; i++) {
		comp_make(&comp, &ring, 0);
		comp.size[1] = words[i] * 4;
		ring_engine_write(&ring, NEURON_UDMA_S2M_COMP_CFG_1C,
				  NEURON_UDMA_COMP_PROMOTION | words[i]);
		ring_copy(&ring, 0x1000, 0x2000, 7);
		ring_copy(&ring, 0x1000, 0x2000, 9);
		ring_run(&ring, 2, 2);
		assert_int_equal(comp_word(&comp, 1, 1, 0),
				 expected(1, FIRST | LAST, 9));
		for (w = 1; w < words[i]; w++)
			assert_int_equal(comp_word(&comp, 1, 1, w), 0);
		assert_int_equal(comp_word(&comp, 1, 2, 0), 0xeeeeeeee);
		assert_int_equal(comp_word(&comp, 0, 1, 0),
				 expected(1, FIRST | LAST, 9));
	}
	for (i = 0; i < 4; i++) {
		comp_make(&comp, &ring, 0);
		ring_engine_write(&ring, NEURON_UDMA_S2M_COMP_CFG_1C, wrong[i]);
		ring_copy(&ring, 0x1000, 0x2000, 7);
		ring_doorbell(&ring, 1, 1);
		ring_wait_error(&ring, NEURON_CAUSE_DESC);
		assert_int_equal(comp_word(&comp, 1, 0, 0), 0xeeeeeeee);
		ring_ctl_write(&ring, NEURON_DMA_CAUSE, ~0u);
	}
}

static void a_bad_completion_ring_stops_the_queue(void **state)
{
	struct ring_pair ring = { .rig = *state };
	struct comp comp;
	uint32_t reg;

	comp_make(&comp, &ring, NEURON_UDMA_Q_COMP_AT_ONCE);
	ring_write(&ring, true, NEURON_UDMA_Q_COMP_BASE_HI, 0x1f);
	ring_copy(&ring, 0x1000, 0x2000, 7);
	ring_copy(&ring, 0x1000, 0x2000, 7);
	ring_doorbell(&ring, 2, 2);
	ring_wait_error(&ring, NEURON_CAUSE_ADDRESS);
	/* The packet itself is done, its completion is not. */
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_HEAD),
			 1u << 30 | 1);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 1u << 30);
	reg = NEURON_UDMA_IOFIC_SECONDARY(NEURON_UDMA_IOFIC_B);
	assert_int_equal(ring_engine_read(&ring, reg), NEURON_IOFIC_S2M_COMP);
	reg = NEURON_UDMA_AXI_QUEUE(ring.queue) + NEURON_UDMA_AXI_QUEUE_ERROR;
	assert_int_equal(ring_engine_read(&ring, reg),
			 NEURON_BIT(NEURON_UDMA_PORT_S2M_COMP));
	ring_write(&ring, true, NEURON_UDMA_S2M_Q_COMP_CFG, 0);
	ring_recover(&ring);
}

static void heads_may_be_switched_off(void **state)
{
	struct ring_pair ring = { .rig = *state };
	struct comp comp;

	ring_make(&ring, *state, LENGTH);
	ring_copy(&ring, 0x1000, 0x2000, 7);
	ring_run(&ring, 1, 1);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 1u << 30 | 1);
	ring_engine_write(&ring, NEURON_UDMA_GEN_ZEROES0,
			  NEURON_UDMA_ZEROES0_NO_CRHP);
	ring_copy(&ring, 0x1000, 0x2000, 7);
	ring_run(&ring, 1, 1);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 1u << 30 | 1);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_HEAD),
			 1u << 30 | 2);
	/* With a ring it always counts. */
	comp_make(&comp, &ring, 0);
	ring_copy(&ring, 0x1000, 0x2000, 7);
	ring_run(&ring, 1, 1);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 1u << 30 | 1);
}

/* --- Interrupts --- */

#define VECTOR	7

static struct rig *irq_rig;
static struct ring_pair *irq_ring;
static _Atomic unsigned int announced;

/* A handler that acknowledges at once, so that each announcement is an edge. */
static void acknowledge(void *opaque, unsigned int vector)
{
	(void)opaque;
	if (vector != VECTOR)
		return;
	ring_ctl_write(irq_ring, NEURON_DMA_CAUSE, ~0u);
	atomic_fetch_add(&announced, 1);
}

static unsigned int announcements(struct ring_pair *ring, unsigned int packets,
				  unsigned int moderation)
{
	unsigned int i;

	irq_ring = ring;
	irq_rig = ring->rig;
	atomic_store(&announced, 0);
	irq_rig->port[0].ops.irq = acknowledge;
	ring_ctl_write(ring, NEURON_DMA_VECTOR, VECTOR);
	ring_ctl_write(ring, NEURON_DMA_MASK, 0);
	ring_engine_write(ring,
			  NEURON_UDMA_IOFIC_MODERATION(NEURON_UDMA_IOFIC_B,
						       ring->queue),
			  moderation);
	for (i = 0; i < packets; i++) {
		ring_copy(ring, 0x1000, 0x2000, 4);
		ring->s2m[(ring->s2m_tail - 1) % ring->length].len_ctrl |=
			INT_EN;
	}
	ring_run(ring, packets, packets);
	ring_wait_quiet(ring);
	return atomic_load(&announced);
}

static void interrupts_are_moderated_by_count(void **state)
{
	const uint32_t group_b = NEURON_UDMA_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_B);
	const uint32_t group_c = NEURON_UDMA_IOFIC_PRIMARY(NEURON_UDMA_IOFIC_C);
	struct ring_pair ring;

	ring_make(&ring, *state, LENGTH);
	assert_int_equal(announcements(&ring, 8, 0), 8);
	assert_int_equal(ring_engine_read(&ring, group_b),
			 NEURON_BIT(ring.queue));
	assert_int_equal(ring_engine_read(&ring, group_c), 0);
	assert_int_equal(announcements(&ring, 8, 1), 8);
	assert_int_equal(announcements(&ring, 8, 4), 2);
	/* The rest is announced when the queue runs empty. */
	assert_int_equal(announcements(&ring, 8, 3), 3);
	assert_int_equal(announcements(&ring, 8, 255), 1);
	assert_int_equal(announcements(&ring, 1, 255), 1);
	assert_int_equal(announcements(&ring, 0, 4), 0);
	/* The M2S side has its own. */
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring.m2s[(ring.m2s_tail - 1) % LENGTH].len_ctrl |= INT_EN;
	ring_run(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(ring_engine_read(&ring, group_c),
			 NEURON_BIT(ring.queue));
	assert_int_equal(atomic_load(&announced), 1);
}

/* --- Traces --- */

static void packets_are_traced(void **state)
{
	struct rig *rig = *state;
	const unsigned int engine = 5;
	unsigned int block = trn_nq_block(TRN_NQ_DMA, engine);
	const struct neuron_hw_nq_entry *entry;
	struct ring_pair ring;
	uint64_t at, base;

	ring_alloc(&ring, rig, 0, engine, 4, 32);
	ring_program(&ring);
	at = rig_host(rig, 0, 256);
	base = rig_host_addr(rig, 0, at);
	entry = rig_host_ptr(rig, 0, at);
	trn_nq_write(rig->chip[0], block, NEURON_NQ_SLOT(0) + NEURON_NQ_BASE_LO,
		     (uint32_t)base);
	trn_nq_write(rig->chip[0], block, NEURON_NQ_SLOT(0) + NEURON_NQ_BASE_HI,
		     base >> 32);
	trn_nq_write(rig->chip[0], block, NEURON_NQ_SLOT(0) + NEURON_NQ_SIZE,
		     256);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_m2s(&ring, 0x1000, 4, FIRST);
	ring_m2s(&ring, 0x1000, 4, LAST);
	ring_s2m(&ring, 0x2000, 8);
	ring_run(&ring, 3, 2);
	ring_wait_quiet(&ring);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_TYPE, entry[1].info),
			 NEURON_NQ_TYPE_TRACE_DMA);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_ENGINE, entry[1].info), 4);
	assert_int_equal(entry[0].code, 1);
	assert_int_equal(entry[0].pc, 0);
	assert_int_equal(entry[1].code, 2);
	assert_int_equal(entry[1].pc, 1);
	assert_int_equal(entry[2].info, 0);
}

/* --- Late packets --- */

static struct {
	struct trn_chip *chip;
	uint64_t at;
	bool (*read)(void *opaque, uint64_t addr, void *buf, size_t len);
} arming;

/* While a packet is being copied, somebody orders a fault. */
static bool arming_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	const struct trn_inject_rule rule = {
		.point = TRN_INJECT_DMA_LATE,
		.unit = TRN_INJECT_ANY,
		.value = 1000000000000,
	};

	if (addr == arming.at)
		trn_inject_add(arming.chip, &rule);
	return arming.read(opaque, addr, buf, len);
}

static void packet(struct ring_pair *ring, unsigned int descs)
{
	unsigned int i;

	for (i = 0; i < descs; i++) {
		ring_m2s(ring, 0x1000, 4, (i ? 0 : FIRST) | (i + 1 == descs ? LAST : 0));
		ring_s2m(ring, 0x8000, 4);
	}
}

static uint32_t pointer(const struct ring_pair *ring, bool s2m, uint32_t reg)
{
	return ring_read(ring, s2m, reg) & NEURON_UDMA_Q_PTR;
}

/* A run that holds completions back, and then a packet with many more of them. */
static void a_rule_may_be_armed_during_a_run(void **state)
{
	struct ring_pair ring = { .rig = *state };
	struct rig *rig = ring.rig;
	struct fake_port *port = &rig->port[0];
	uint8_t *bytes;
	uint64_t host = rig_random_host(rig, 64, &bytes);
	struct comp comp;
	unsigned int i;

	fake_timer_enable(port);
	comp_make(&comp, &ring, 0);
	ring_alloc(&ring, rig, ring.chip, ring.engine, ring.queue, 256);
	ring_program(&ring);
	for (i = 0; i < 2; i++) {
		comp.at[i] = rig_host_addr(rig, 0, rig_host(rig, 0, 256 * 32));
		ring_write(&ring, i, NEURON_UDMA_Q_COMP_BASE_LO, (uint32_t)comp.at[i]);
		ring_write(&ring, i, NEURON_UDMA_Q_COMP_BASE_HI, comp.at[i] >> 32);
	}
	for (i = 0; i < 6; i++)
		packet(&ring, 20);
	ring_copy(&ring, 0x9000, host, 64);
	packet(&ring, 64);
	arming.chip = rig->chip[0];
	arming.at = (uint64_t)(bytes - port->host);
	arming.read = port->ops.host_read;
	port->ops.host_read = arming_read;
	ring_doorbell(&ring, 185, 185);
	assert_true(fake_wait_timer(port, 0));
	ring_wait_quiet(&ring);
	/* What was under way does not strike, what comes next does. */
	for (i = 0; i < 2; i++) {
		assert_int_equal(pointer(&ring, i, NEURON_UDMA_Q_HEAD), 121);
		assert_int_equal(pointer(&ring, i, NEURON_UDMA_Q_COMP_HEAD), 121);
	}
	fake_chip_stop(rig->chip[0]);
	for (i = 0; i < 2; i++)
		assert_int_equal(pointer(&ring, i, NEURON_UDMA_Q_COMP_HEAD), 185);
	trn_chip_resume(rig->chip[0]);
	ring_wait(&ring);
	assert_int_equal(ring_error(&ring), NEURON_CAUSE_NONE);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(completions_follow_descriptors),
		TEST(completions_come_after_the_data),
		TEST(completions_have_a_size),
		TEST(a_bad_completion_ring_stops_the_queue),
		TEST(heads_may_be_switched_off),
		TEST(interrupts_are_moderated_by_count),
		TEST(packets_are_traced),
		TEST(a_rule_may_be_armed_during_a_run),
	};

	return cmocka_run_group_tests_name("udma_comp", tests, NULL, NULL);
}
