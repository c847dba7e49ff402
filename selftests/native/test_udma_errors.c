// SPDX-License-Identifier: MIT
/*
 * DMA queues of domain 0: everything that stops one, and interrupts.
 */
#include "ring_rig.h"
#include "trn/inspect.h"

#include <string.h>

#define FIRST	NEURON_UDMA_DESC_FIRST
#define LAST	NEURON_UDMA_DESC_LAST
#define BOTH	(FIRST | LAST)

/* As a debugger sees it. */
static void assert_shows(struct ring_pair *ring, bool stopped, enum neuron_cause cause)
{
	struct trn_inspect_queue_state queue;

	assert_true(trn_inspect_queue(ring->rig->chip[ring->chip], ring->engine, ring->queue,
				      &queue));
	assert_int_equal(queue.stopped, stopped);
	assert_int_equal(queue.cause, cause);
	assert_int_equal(queue.unit, TRN_UNIT_NONE);
	assert_false(queue.busy);
}

static void assert_stopped(struct ring_pair *ring, enum neuron_cause cause)
{
	struct trn_chip *chip = ring->rig->chip[ring->chip];

	assert_true(fake_wait_reg(chip,
				  rig_dma_reg(ring->rig, ring->engine,
					      NEURON_DMA_CAUSE),
				  NEURON_DMA_CAUSE_ERROR(ring->queue),
				  NEURON_DMA_CAUSE_ERROR(ring->queue)));
	assert_int_equal(ring_error(ring), cause);
	ring_wait_quiet(ring);
	assert_shows(ring, true, cause);
}

/* The queue stays stopped until it is reset, and then works again. */
static void assert_recovers(struct ring_pair *ring)
{
	struct rig *rig = ring->rig;
	uint32_t head = ring_read(ring, false, NEURON_UDMA_Q_HEAD);
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_copy(ring, 0x3000, src, 64);
	ring_doorbell(ring, 1, 1);
	ring_wait_quiet(ring);
	assert_int_equal(ring_read(ring, false, NEURON_UDMA_Q_HEAD), head);
	ring_ctl_write(ring, NEURON_DMA_CAUSE,
		       NEURON_DMA_CAUSE_ERROR(ring->queue));
	ring_program(ring);
	assert_int_equal(ring_error(ring), 0);
	assert_shows(ring, false, NEURON_CAUSE_NONE);
	assert_int_equal(ring_ctl_read(ring, NEURON_DMA_CAUSE), 0);
	ring_copy(ring, 0x3000, src, 64);
	ring_run(ring, 1, 1);
	assert_memory_equal(rig->chip[0]->hbm[0] + 0x3000, bytes, 64);
}

static void ring_ids_are_checked(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring.m2s[1].len_ctrl ^= NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 1u);
	ring_doorbell(&ring, 2, 2);
	assert_stopped(&ring, NEURON_CAUSE_RING_ID);
	/* The descriptor before it has completed. */
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD),
			 1u << 30 | 1);
	assert_recovers(&ring);

	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring.s2m[1].len_ctrl ^= NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 2u);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_RING_ID);
	assert_recovers(&ring);
}

static void a_masked_ring_id_error_is_none(void **state)
{
	struct rig *rig = *state;
	uint64_t base;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	base = neuron_dma_bar0(rig->chip[0]->gen, ring.engine);
	trn_chip_mmio_write(rig->chip[0],
			    base + NEURON_UDMA_IOFIC_SECONDARY(0) + 0x10,
			    0x20000, 4);
	trn_chip_mmio_write(rig->chip[0],
			    base + NEURON_UDMA_IOFIC_SECONDARY(1) + 0x10, 0x800,
			    4);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring.m2s[0].len_ctrl ^= NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 1u);
	ring.s2m[0].len_ctrl ^= NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 3u);
	ring_run(&ring, 1, 1);
	assert_int_equal(ring_error(&ring), 0);
}

static void malformed_packets_stop_the_queue(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	ring_make(&ring, rig, 128);
	ring_m2s(&ring, 0x1000, 4, LAST);	/* no FIRST */
	ring_s2m(&ring, 0x2000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);

	ring_m2s(&ring, 0x1000, 4, FIRST);
	ring_m2s(&ring, 0x1000, 4, BOTH);	/* FIRST inside */
	ring_s2m(&ring, 0x2000, 8);
	ring_doorbell(&ring, 2, 1);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);

	for (i = 0; i < 65; i++)		/* 65 on the M2S side */
		ring_m2s(&ring, 0x1000, 4,
			 (i ? 0 : FIRST) | (i == 64 ? LAST : 0));
	ring_s2m(&ring, 0x2000, 400);
	ring_doorbell(&ring, 65, 1);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);

	ring_m2s(&ring, 0x1000, 65, BOTH);	/* 65 on the S2M side */
	for (i = 0; i < 65; i++)
		ring_s2m(&ring, 0x2000, 1);
	ring_doorbell(&ring, 1, 65);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);

	ring_m2s(&ring, 0x1000, 4, BOTH)->meta_ctrl = 0x01280003;
	ring_s2m(&ring, 0x2000, 4);		/* an operation we have not */
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);
	assert_true(fake_logged(&rig->port[0], "unknown operation"));
}

static void a_packet_of_64_and_64_descriptors_is_fine(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	ring_make(&ring, rig, 128);
	for (i = 0; i < 64; i++) {
		rig->chip[0]->hbm[0][0x1000 + i] = (uint8_t)i;
		ring_m2s(&ring, 0x1000 + i, 1,
			 (i ? 0 : FIRST) | (i == 63 ? LAST : 0));
		ring_s2m(&ring, 0x2000 + 2 * i, 1);
	}
	ring_run(&ring, 64, 64);
	for (i = 0; i < 64; i++)
		assert_int_equal(rig->chip[0]->hbm[0][0x2000 + 2 * i], i);
	assert_int_equal(ring_error(&ring), 0);
}

static void a_packet_longer_than_the_ring_stops_the_queue(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	ring_make(&ring, rig, 32);
	for (i = 0; i < 32; i++)
		ring_m2s(&ring, 0x1000, 4, i ? 0 : FIRST);
	ring_s2m(&ring, 0x2000, 400);
	ring_doorbell(&ring, 32, 1);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);
}

static void bad_addresses_stop_the_queue(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_copy(&ring, RIG_NOWHERE, 0x1000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_ADDRESS);
	assert_recovers(&ring);

	ring_copy(&ring, 0x1000, FAKE_HBM_SIZE - 2, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_ADDRESS);
	assert_recovers(&ring);

	ring_copy(&ring, 0x1000, rig_host_addr(rig, 0, RIG_HOST_BYTES - 2), 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_HOST);
	assert_recovers(&ring);

	ring_copy(&ring, neuron_fabric_addr(77, 0), 0x1000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_FABRIC);
	assert_recovers(&ring);

	/* A window address means nothing in domain 0. */
	ring_copy(&ring, neuron_window_addr(0, 0), 0x1000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_ADDRESS);
	assert_recovers(&ring);
}

static void bad_rings_stop_the_queue(void **state)
{
	static const uint32_t lengths[] = { 0, 16, 31, 33, 40, 0xffffff };
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int side;
	size_t i;

	ring_make(&ring, rig, 64);
	for (i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		side = i % 2;
		ring_write(&ring, side, NEURON_UDMA_Q_LENGTH, lengths[i / 2]);
		ring_copy(&ring, 0x1000, 0x2000, 4);
		ring_doorbell(&ring, 1, 1);
		assert_stopped(&ring, NEURON_CAUSE_DESC);
		assert_recovers(&ring);
	}

	ring_doorbell(&ring, 65, 0);	/* more than the ring holds */
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);
	ring_doorbell(&ring, 0, 40);	/* in two steps */
	ring_doorbell(&ring, 0, 25);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);

	/* The ring itself is not memory, or shrinks under the queue. */
	ring_write(&ring, true, NEURON_UDMA_Q_BASE_HI, 0x1f);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_ADDRESS);
	assert_recovers(&ring);
	ring_doorbell(&ring, 50, 0);
	ring_wait_quiet(&ring);
	ring_write(&ring, false, NEURON_UDMA_Q_LENGTH, 32);
	ring_doorbell(&ring, 0, 50);
	assert_stopped(&ring, NEURON_CAUSE_DESC);
	assert_recovers(&ring);
}

/* Device writes to more 2 MiB extents than the host allows. */
static void the_host_limit_stops_the_queue(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_copy(&ring, 0x10000, 0x1000, 4);
	ring_copy(&ring, 0x20000, 0x1000, 4);
	ring_run(&ring, 2, 2);
	ring_copy(&ring, NEURON_MIB(4), 0x1000, 4);
	ring_doorbell(&ring, 1, 1);
	assert_stopped(&ring, NEURON_CAUSE_HOST_LIMIT);
	assert_recovers(&ring);
}

static void an_interrupt_is_raised_when_asked_for(void **state)
{
	struct rig *rig = *state;
	uint64_t ctl = neuron_ctl_bar0(rig->chip[0]->gen);
	struct ring_pair ring;
	unsigned int vector = rig->chip[0]->gen->nr_cores;
	const uint32_t others = ~NEURON_CTL_CAUSE_DMA;

	ring_make(&ring, rig, 32);
	ring_ctl_write(&ring, NEURON_DMA_MASK, 0);
	trn_chip_mmio_write(rig->chip[0], ctl + NEURON_CTL_MASK, others, 4);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_run(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(fake_irqs(&rig->port[0], vector), 0);

	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring.s2m[1].len_ctrl |= NEURON_UDMA_DESC_INT_EN;
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait_irq(&rig->port[0], vector, 1));
	assert_int_equal(ring_ctl_read(&ring, NEURON_DMA_CAUSE),
			 NEURON_DMA_CAUSE_DONE(RING_QUEUE));
	/* The handler finds the queue past the descriptor. */
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_HEAD),
			 1u << 30 | 2);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0],
					    ctl + NEURON_CTL_CAUSE, 4) &
				 ~others, NEURON_CTL_CAUSE_DMA);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ring_ids_are_checked),
		TEST(a_masked_ring_id_error_is_none),
		TEST(malformed_packets_stop_the_queue),
		TEST(a_packet_of_64_and_64_descriptors_is_fine),
		TEST(a_packet_longer_than_the_ring_stops_the_queue),
		TEST(bad_addresses_stop_the_queue),
		TEST(bad_rings_stop_the_queue),
		cmocka_unit_test_setup_teardown(the_host_limit_stops_the_queue,
						rig_setup_limited,
						rig_teardown),
		TEST(an_interrupt_is_raised_when_asked_for),
	};

	return cmocka_run_group_tests_name("udma_errors", tests, NULL, NULL);
}
