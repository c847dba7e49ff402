// SPDX-License-Identifier: MIT
/*
 * Who changed a semaphore last, as the control block tells.
 */
#include "contract/record.h"
#include "contract/window.h"
#include "job_rig.h"
#include "state_rig.h"

#define CORE	1
#define PEER	2	/* core of the other chip */
#define SEM	40

static uint32_t poster_on(struct trn_chip *chip, unsigned int core, unsigned int sem)
{
	return (uint32_t)trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
					    NEURON_CTL_SEM_POSTER(core, sem), 4);
}

static uint32_t poster(struct job_rig *job, unsigned int sem)
{
	return poster_on(job->core->chip, job->core->index, sem);
}

static uint32_t who(uint32_t kind, uint32_t actor)
{
	return kind << 28 | actor;
}

static int setup(void **state)
{
	static struct job_rig job;
	void *rig;

	assert_int_equal(rig_setup(&rig), 0);
	job_init(&job, rig, 0, CORE);
	*state = &job;
	return 0;
}

static int teardown(void **state)
{
	struct job_rig *job = *state;
	void *rig = job->rig;

	return rig_teardown(&rig);
}

static void test_engine(void **state)
{
	struct job_rig *job = *state;
	struct neuron_inst *inst = job_inst(job, NEURON_ENGINE_GPSIMD, NEURON_OP_NOP);

	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = SEM;
	inst->post_value = 1;
	job_halt(job, NEURON_ENGINE_GPSIMD);
	job_store(job, NEURON_ENGINE_TENSOR, job_sem_at(SEM + 1), 1);
	job_halt(job, NEURON_ENGINE_TENSOR);
	job_run(job);
	assert_int_equal(poster(job, SEM),
			 who(NEURON_SEM_POSTER_ENGINE, NEURON_ENGINE_GPSIMD));
	assert_int_equal(poster(job, SEM + 1),
			 who(NEURON_SEM_POSTER_ENGINE, NEURON_ENGINE_TENSOR));
	assert_int_equal(poster(job, SEM + 2), 0);
	assert_int_equal(poster_on(job->core->chip, CORE + 1, SEM), 0);
}

/* Waiting, taking and the clearing at the start of a job are no posts. */
static void test_taker(void **state)
{
	struct job_rig *job = *state;

	job_post(job, SEM, 2);
	assert_int_equal(poster(job, SEM), who(NEURON_SEM_POSTER_HOST, 0));
	job->block->sem_clear[SEM / 64] = 0;
	job_take(job, NEURON_ENGINE_SYNC, SEM, 1);
	job_halt(job, NEURON_ENGINE_SYNC);
	job_run(job);
	assert_int_equal(trn_sem_value(job->core->sems, SEM), 1);
	assert_int_equal(poster(job, SEM), who(NEURON_SEM_POSTER_HOST, 0));
	job->block->sem_clear[SEM / 64] = ~0ull;
	job->length[NEURON_ENGINE_SYNC] = 0;
	job_halt(job, NEURON_ENGINE_SYNC);
	job_run(job);
	assert_int_equal(trn_sem_value(job->core->sems, SEM), 0);
	assert_int_equal(poster(job, SEM), who(NEURON_SEM_POSTER_HOST, 0));
}

static void test_queue(void **state)
{
	struct job_rig *job = *state;
	const struct neuron_hw_job_queue *queue = &job->queues[2];

	*(uint32_t *)(void *)(job->hbm + JOB_AT_DATA) = 3;
	job_copy(job, 2, job_sem_at(SEM), job_hbm_at(0), 4);
	job_trigger(job, NEURON_ENGINE_SYNC, 2, 1, 1);
	job_halt(job, NEURON_ENGINE_SYNC);
	job_run(job);
	assert_int_equal(trn_sem_value(job->core->sems, SEM), 3);
	assert_int_equal(poster(job, SEM),
			 who(NEURON_SEM_POSTER_DMA,
			     neuron_record_queue(queue->dma_engine, queue->queue, 0)));
}

static void test_peer(void **state)
{
	struct job_rig *job = *state;
	struct trn_chip *peer = job->rig->chip[1];
	uint64_t base = neuron_fabric_addr(1, peer->gen->tpb_addr[PEER] + NEURON_TPB_SEM);

	job->windows[JOB_W_PEER_SEM] = neuron_hw_window_sems(NEURON_WINDOW_WRITE, base, SEM, 1, 9);
	atomic_store(&peer->core[PEER].generation, 8);
	job_store(job, NEURON_ENGINE_SYNC, neuron_window_addr(JOB_W_PEER_SEM, 0), 1);
	job_halt(job, NEURON_ENGINE_SYNC);
	job_run(job);
	/* It was dropped. */
	assert_int_equal(poster_on(peer, PEER, SEM), 0);
	atomic_store(&peer->core[PEER].generation, 9);
	job_run(job);
	assert_int_equal(poster_on(peer, PEER, SEM),
			 who(NEURON_SEM_POSTER_PEER, job->core->chip->config.fabric_id));
}

static void test_reset(void **state)
{
	struct job_rig *job = *state;

	job_post(job, 0, 1);
	job_post(job, 255, 1);
	assert_int_equal(poster(job, 0), who(NEURON_SEM_POSTER_HOST, 0));
	assert_int_equal(poster(job, 255), who(NEURON_SEM_POSTER_HOST, 0));
	job_reg_write(job, NEURON_CORE_RESET, 1);
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
	assert_int_equal(poster(job, 0), 0);
	assert_int_equal(poster(job, 255), 0);
	/* They are not to be written. */
	trn_chip_mmio_write(job->core->chip, neuron_ctl_bar0(job->core->chip->gen) +
			    NEURON_CTL_SEM_POSTER(CORE, 0), ~0u, 4);
	assert_int_equal(poster(job, 0), 0);
}

static void test_saved(void **state)
{
	const unsigned int workers = TRN_POOL_STEPPED;
	struct seq_rig *from = work_rig_new(workers), *to = work_rig_new(workers);
	struct stream stream = { 0 };
	struct trn_state st;
	const char *why;

	(void)state;
	trn_sem_post(from->chip[0]->core[CORE].sems, SEM, NEURON_SYNC_POST_ADD, 1,
		     who(NEURON_SEM_POSTER_DMA, 0x123), NULL);
	work_rig_stop(from, workers);
	work_rig_stop(to, workers);
	stream_put_chip(&stream, from->chip[0]);
	assert_true(stream_get_chip(&stream, to->chip[0], &why));
	assert_int_equal(poster_on(to->chip[0], CORE, SEM), who(NEURON_SEM_POSTER_DMA, 0x123));
	assert_int_equal(poster_on(to->chip[0], CORE, SEM + 1), 0);
	stream_free(&stream);

	/* A kind of poster that there is not. */
	from->chip[0]->core[CORE].sems->poster[SEM] =
		who(NEURON_SEM_POSTER_CC + 1, 0);
	st = stream_save(&stream);
	trn_sems_state(from->chip[0], &st);
	st = stream_load(&stream);
	trn_sems_state(to->chip[0], &st);
	assert_true(trn_state_failed(&st));
	stream_free(&stream);
	work_rig_free(from, workers);
	work_rig_free(to, workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_engine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test(test_saved),
	};

	return cmocka_run_group_tests_name("poster", tests, NULL, NULL);
}
