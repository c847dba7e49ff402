// SPDX-License-Identifier: MIT
/*
 * Jobs that reach another chip: posts to its semaphores, copies to its memory.
 */
#include "contract/window.h"
#include "job_rig.h"

#include <string.h>

#define SYNC	NEURON_ENGINE_SYNC

#define ROUNDS	30

/* Engine SYNC: take semaphore 1, pass the ball on; ROUNDS times. */
static void make_player(struct job_rig *job, struct rig *rig, unsigned int chip,
			bool by_dma)
{
	const struct neuron_gen *gen = rig->chip[0]->gen;
	uint64_t ball = neuron_window_addr(JOB_W_PEER_SEM, 0);
	uint32_t one = 1;
	unsigned int i;

	job_init(job, rig, chip, 2);
	job->windows[JOB_W_PEER_SEM] =
		neuron_hw_window_sems(NEURON_WINDOW_WRITE,
				      neuron_fabric_addr(!chip, gen->tpb_addr[2] + NEURON_TPB_SEM),
				      1, 1, 5);
	job->block->sem_clear[0] = 0;
	memcpy(job->hbm + JOB_AT_DATA, &one, 4);
	for (i = 0; i < ROUNDS / 2; i++) {
		job_take(job, SYNC, 1, 1);
		if (by_dma) {
			job_copy(job, 0, ball, job_hbm_at(0), 4);
			job_trigger(job, SYNC, 0, 1, 1);
		} else {
			job_store(job, SYNC, ball, 1);
		}
	}
	job_halt(job, SYNC);
	job_reg_write(job, NEURON_CORE_GENERATION, 5);
}

static void two_chips_post_to_each_other(void **state)
{
	struct rig *rig = *state;
	struct job_rig a, b;

	make_player(&a, rig, 0, true);
	make_player(&b, rig, 1, false);
	job_submit(&a);
	job_submit(&b);
	job_post(&a, 1, 1);
	job_wait(&a);
	job_wait(&b);
	assert_int_equal(a.completion->status, NEURON_JOB_OK);
	assert_int_equal(b.completion->status, NEURON_JOB_OK);
	/* The ball is back. */
	assert_int_equal(trn_sem_value(a.core->sems, 1), 1);
	assert_int_equal(trn_sem_value(b.core->sems, 1), 0);
	assert_int_equal(job_reg(&a, NEURON_CORE_STALE_POSTS), 0);
}

static void a_stale_post_hurts_nobody(void **state)
{
	struct rig *rig = *state;
	struct job_rig a, b;

	make_player(&a, rig, 0, true);
	make_player(&b, rig, 1, true);
	job_reg_write(&b, NEURON_CORE_GENERATION, 6);
	job_post(&a, 1, ROUNDS / 2);
	job_run(&a);
	assert_int_equal(job_reg(&b, NEURON_CORE_STALE_POSTS), ROUNDS / 2);
	assert_int_equal(trn_sem_value(b.core->sems, 1), 0);
	assert_int_equal(job_reg(&b, NEURON_CORE_VIOLATIONS), 0);
}

static void a_job_copies_to_a_peer(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job.windows[JOB_W_PEER] =
		neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
					neuron_fabric_addr(1, rig_hbm_addr(rig, 1, 0x100000)),
					0x10000);
	rig_fill(rig, job.hbm + JOB_AT_DATA, 0x10000);
	job_copy(&job, 0, neuron_window_addr(JOB_W_PEER, 0), job_hbm_at(0), 0x10000);
	job_trigger(&job, SYNC, 0, 1, 1);
	job_halt(&job, SYNC);
	job_run(&job);
	assert_memory_equal(rig->chip[1]->hbm[1] + 0x100000,
			    job.hbm + JOB_AT_DATA, 0x10000);
	/* One byte further is the peer's own. */
	job_copy(&job, 0, neuron_window_addr(JOB_W_PEER, 1), job_hbm_at(0), 0x10000);
	job_trigger(&job, SYNC, 0, 1, 1);
	job.length[SYNC] = 0;
	job_trigger(&job, SYNC, 0, 2, 2);
	job_halt(&job, SYNC);
	job_run_fault(&job, NEURON_CAUSE_WINDOW);
	assert_int_equal(rig->chip[1]->hbm[1][0x110000], 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_chips_post_to_each_other),
		TEST(a_stale_post_hurts_nobody),
		TEST(a_job_copies_to_a_peer),
	};

	return cmocka_run_group_tests_name("job_peers", tests, NULL, NULL);
}
