// SPDX-License-Identifier: MIT
/*
 * Counters of links and of DMA queues: bytes where they went, and nowhere else.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/window.h"
#include "job_rig.h"
#include "state_rig.h"
#include "fabric/trn_fabric.h"

/* --- Links, of four chips in a ring: link 0 leads to the chip before, 1 to the next --- */

#define CHIPS	4
#define HOST	NEURON_KIB(64)

struct ring {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[CHIPS];
	struct trn_chip *chip[CHIPS];
};

static int setup_ring(void **state)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	struct trn_chip_config config;
	const char *why = NULL;
	unsigned int i;

	ring->pool = trn_pool_new(2, NULL, NULL);
	ring->fabric = trn_fabric_new();
	for (i = 0; i < CHIPS; i++) {
		fake_port_init(&ring->port[i], HOST);
		config = fake_chip_config(&ring->port[i], &neuron_gen_trn2, ring->pool,
					  ring->fabric, i);
		ring->chip[i] = trn_chip_new(&config, &why);
		if (!ring->chip[i])
			fail_msg("chip %u: %s", i, why);
	}
	*state = ring;
	return 0;
}

static int teardown_ring(void **state)
{
	struct ring *ring = *state;
	unsigned int i;

	for (i = 0; i < CHIPS; i++) {
		fake_chip_free(ring->chip[i]);
		fake_port_destroy(&ring->port[i]);
	}
	trn_fabric_unref(ring->fabric);
	trn_pool_free(ring->pool);
	free(ring);
	return 0;
}

/* As the driver reads it: 64 bits at once. */
static uint64_t count(struct trn_chip *chip, unsigned int link, uint32_t reg)
{
	return trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
				  NEURON_CTL_LINK_COUNT(link) + reg, 8);
}

static void assert_link(const struct ring *ring, unsigned int chip, unsigned int link,
			uint64_t sent, uint64_t received)
{
	assert_int_equal(count(ring->chip[chip], link, NEURON_LINK_COUNT_SENT), sent);
	assert_int_equal(count(ring->chip[chip], link, NEURON_LINK_COUNT_RECEIVED), received);
}

static enum neuron_cause copy(struct ring *ring, unsigned int by, unsigned int to,
			      unsigned int from, uint64_t bytes)
{
	struct trn_access access = { .chip = ring->chip[by] };

	return trn_access_copy(&access, neuron_fabric_addr(to, 0x100000),
			       neuron_fabric_addr(from, 0), bytes);
}

static void bytes_of_each_link_of_the_way(void **state)
{
	struct ring *ring = *state;

	/* 0 to 1 to 2, and back by way of 3; what stays on a chip crosses none. */
	assert_int_equal(copy(ring, 0, 0, 0, 500), NEURON_CAUSE_NONE);
	assert_int_equal(copy(ring, 0, 2, 0, 1000), NEURON_CAUSE_NONE);
	assert_int_equal(copy(ring, 0, 0, 2, 70), NEURON_CAUSE_NONE);
	assert_link(ring, 0, 0, 0, 70);
	assert_link(ring, 0, 1, 1000, 0);
	assert_link(ring, 1, 0, 0, 1000);
	assert_link(ring, 1, 1, 1000, 0);
	assert_link(ring, 2, 0, 0, 1000);
	assert_link(ring, 2, 1, 70, 0);
	assert_link(ring, 3, 0, 0, 70);
	assert_link(ring, 3, 1, 70, 0);
	/* Data between two others goes by way of the chip that moves it. */
	assert_int_equal(copy(ring, 1, 2, 0, 5), NEURON_CAUSE_NONE);
	assert_link(ring, 0, 1, 1005, 0);
	assert_link(ring, 1, 1, 1005, 0);
	/* Links that are not there. */
	assert_link(ring, 0, 2, 0, 0);
	assert_link(ring, 0, 15, 0, 0);
}

/* Bytes count for the way that they went, also if the links have changed since. */
static void a_link_that_goes_down(void **state)
{
	struct ring *ring = *state;
	const char *why;

	assert_int_equal(copy(ring, 0, 1, 0, 300), NEURON_CAUSE_NONE);
	assert_int_equal(trn_fabric_set_links(ring->fabric, "0-1=down", &why), 0);
	assert_int_equal(copy(ring, 0, 1, 0, 4), NEURON_CAUSE_NONE);
	assert_link(ring, 0, 1, 300, 0);
	assert_link(ring, 1, 0, 0, 300);
	assert_link(ring, 0, 0, 4, 0);
	assert_link(ring, 1, 1, 0, 4);
	/* A detour is no error; no way at all is, of the link on the fixed way. */
	assert_int_equal(count(ring->chip[0], 1, NEURON_LINK_COUNT_ERRORS), 0);
	assert_int_equal(trn_fabric_set_links(ring->fabric, "0-3=down", &why), 0);
	assert_int_equal(copy(ring, 0, 1, 0, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(copy(ring, 0, 1, 0, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(count(ring->chip[0], 1, NEURON_LINK_COUNT_ERRORS), 2);
	assert_int_equal(copy(ring, 0, 3, 0, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(count(ring->chip[0], 0, NEURON_LINK_COUNT_ERRORS), 1);
	/* Nobody there is no fault of a link. */
	assert_int_equal(copy(ring, 0, 77, 0, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(count(ring->chip[0], 0, NEURON_LINK_COUNT_ERRORS), 1);
	assert_int_equal(count(ring->chip[0], 1, NEURON_LINK_COUNT_ERRORS), 2);
	assert_link(ring, 0, 1, 300, 0);
}

/* A chip that leaves and comes back begins anew; the others go on. */
static void a_chip_that_leaves(void **state)
{
	struct ring *ring = *state;
	struct trn_chip_config config = ring->chip[1]->config;
	const char *why;

	assert_int_equal(copy(ring, 0, 1, 0, 300), NEURON_CAUSE_NONE);
	assert_int_equal(copy(ring, 1, 2, 1, 20), NEURON_CAUSE_NONE);
	fake_chip_free(ring->chip[1]);
	ring->chip[1] = trn_chip_new(&config, &why);
	assert_non_null(ring->chip[1]);
	assert_link(ring, 0, 1, 300, 0);
	assert_link(ring, 2, 0, 0, 20);
	assert_link(ring, 1, 0, 0, 0);
	assert_int_equal(copy(ring, 0, 1, 0, 7), NEURON_CAUSE_NONE);
	assert_link(ring, 0, 1, 307, 0);
	assert_link(ring, 1, 0, 0, 7);
}

#define ROUNDS	20000

struct mover {
	struct ring *ring;
	unsigned int to;
};

static void *move_much(void *arg)
{
	const struct mover *mover = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		copy(mover->ring, 0, mover->to, 0, 1);
	return NULL;
}

/* Who reads takes over what others are just adding to, and loses none of it. */
static void bytes_that_move_while_they_are_counted(void **state)
{
	struct ring *ring = *state;
	struct mover mover[2] = { { ring, 1 }, { ring, 2 } };
	pthread_t thread[2];
	uint64_t seen = 0, now;
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, move_much, &mover[i]), 0);
	for (i = 0; i < 2000; i++) {
		now = count(ring->chip[0], 1, NEURON_LINK_COUNT_SENT);
		assert_true(now >= seen);
		seen = now;
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_link(ring, 0, 1, 2 * ROUNDS, 0);
	assert_link(ring, 1, 1, ROUNDS, 0);
	assert_link(ring, 2, 0, 0, ROUNDS);
}

static void a_reset_of_the_chip(void **state)
{
	struct ring *ring = *state;

	assert_int_equal(copy(ring, 0, 1, 0, 300), NEURON_CAUSE_NONE);
	fake_chip_stop(ring->chip[0]);
	trn_chip_reset(ring->chip[0]);
	trn_chip_resume(ring->chip[0]);
	assert_link(ring, 0, 1, 0, 0);
	assert_link(ring, 1, 0, 0, 300);
}

/* --- Queues --- */

static uint64_t moved(const struct trn_chip *chip, unsigned int engine, unsigned int queue,
		      uint32_t reg)
{
	return trn_chip_mmio_read((struct trn_chip *)chip, neuron_ctl_bar0(chip->gen) +
				  NEURON_CTL_QUEUE(engine, queue) + reg, 8);
}

static void assert_queue(const struct job_rig *job, unsigned int q, uint64_t descriptors,
			 uint64_t bytes)
{
	const struct neuron_hw_job_queue *queue = &job->queues[q];

	assert_int_equal(moved(job->core->chip, queue->dma_engine, queue->queue,
			       NEURON_QUEUE_DESCRIPTORS), descriptors);
	assert_int_equal(moved(job->core->chip, queue->dma_engine, queue->queue,
			       NEURON_QUEUE_BYTES), bytes);
}

static void put_copies(struct job_rig *job)
{
	job_copy(job, 0, job_hbm_at(0x10000), job_hbm_at(0), 64);
	job_copy(job, 0, job_hbm_at(0x10000), job_hbm_at(0), 0x8000);
	job_copy(job, 2, job_host_at(0), job_hbm_at(0), 100);
	job_trigger(job, NEURON_ENGINE_SYNC, 0, 2, 2);
	job_trigger(job, NEURON_ENGINE_SYNC, 2, 1, 1);
	job_halt(job, NEURON_ENGINE_SYNC);
}

static void queues_count_what_they_move(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 1);
	put_copies(&job);
	job_run(&job);
	assert_queue(&job, 0, 2, 0x8040);
	assert_queue(&job, 1, 0, 0);
	assert_queue(&job, 2, 1, 100);
	/* From job to job, and over a reset of the core. */
	job_run(&job);
	assert_queue(&job, 0, 4, 2 * 0x8040);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	assert_true(job_wait_reg(&job, NEURON_CORE_RESET, 0));
	assert_queue(&job, 0, 4, 2 * 0x8040);
	/* The last engine has its registers, and there are none behind them. */
	assert_int_equal(moved(job.core->chip, job.core->chip->gen->nr_dma - 1, 15,
			       NEURON_QUEUE_BYTES), 0);
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_queue(&job, 0, 0, 0);
}

static void counters_are_saved(void **state)
{
	struct rig *rig = *state, *to;
	struct stream stream = { 0 };
	struct job_rig job;
	const char *why;
	void *other;
	unsigned int i;

	job_init(&job, rig, 0, 1);
	put_copies(&job);
	job.windows[JOB_W_PEER] = neuron_hw_window_memory(NEURON_WINDOW_PEER,
							  NEURON_WINDOW_WRITE,
							  neuron_fabric_addr(1, 0), 0x1000);
	job_copy(&job, 1, neuron_window_addr(JOB_W_PEER, 0), job_hbm_at(0), 200);
	job.length[NEURON_ENGINE_SYNC]--;
	job_trigger(&job, NEURON_ENGINE_SYNC, 1, 1, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	job_run(&job);
	rig_setup(&other);
	to = other;
	fake_chip_stop(rig->chip[0]);
	fake_chip_stop(to->chip[0]);
	stream_put_chip(&stream, rig->chip[0]);
	if (!stream_get_chip(&stream, to->chip[0], &why))
		fail_msg("not loaded: %s", why);
	assert_int_equal(stream.at, stream.len);
	stream_free(&stream);
	trn_chip_resume(rig->chip[0]);
	trn_chip_resume(to->chip[0]);
	for (i = 0; i < 2; i++) {
		job.core = &(i ? to : rig)->chip[0]->core[1];
		assert_queue(&job, 0, 2, 0x8040);
		assert_queue(&job, 1, 1, 200);
		assert_queue(&job, 3, 0, 0);
		assert_int_equal(count(job.core->chip, 0, NEURON_LINK_COUNT_SENT), 200);
	}
	assert_int_equal(count(to->chip[1], 0, NEURON_LINK_COUNT_RECEIVED), 0);
	rig_teardown(&other);
}

#define RING(name) cmocka_unit_test_setup_teardown(name, setup_ring, teardown_ring)
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING(bytes_of_each_link_of_the_way),
		RING(a_link_that_goes_down),
		RING(a_chip_that_leaves),
		RING(bytes_that_move_while_they_are_counted),
		RING(a_reset_of_the_chip),
		TEST(queues_count_what_they_move),
		TEST(counters_are_saved),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
