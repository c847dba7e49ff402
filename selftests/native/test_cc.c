// SPDX-License-Identifier: MIT
/*
 * CC-cores: jobs of their own beside those of the NeuronCore, with whose DMA queues
 * and memories they work.
 */
#include <string.h>

#include "job_rig.h"
#include "state_rig.h"
#include "contract/window.h"
#include "notify/trn_nq.h"

#define SYNC	NEURON_ENGINE_SYNC
#define CORE	1
#define BYTES	4096

/* The first CC-core of CORE, which is of any generation. */
static unsigned int first_cc(const struct rig *rig)
{
	return CORE * neuron_cc_per_core(rig->chip[0]->gen);
}

static void cc_init(struct job_rig *job, struct rig *rig, unsigned int chip)
{
	job_init(job, rig, chip, JOB_CC(first_cc(rig)));
}

static bool running(void *arg)
{
	struct job_rig *job = arg;

	return atomic_load(&job->core->seq[SYNC].status) == NEURON_ENGINE_WAITING;
}

/* Wait for a semaphore of its own, copy to @dst, and halt. */
static void copy_when_told(struct job_rig *job, uint64_t dst)
{
	rig_fill(job->rig, job_host_ptr(job), BYTES);
	job_take(job, SYNC, 5, 1);
	job_copy(job, 0, dst, job_host_at(0), BYTES);
	job_trigger(job, SYNC, 0, 1, 1);
	job_halt(job, SYNC);
}

static void it_runs_a_job_beside_its_core(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	copy_when_told(&cc, neuron_window_addr(JOB_W_SBUF, 0));
	job_store(&core, NEURON_ENGINE_VECTOR, job_sem_at(9), 3);
	job_halt(&core, NEURON_ENGINE_VECTOR);
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));
	job_run(&core);
	assert_int_equal(job_reg(&cc, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	assert_int_equal(job_reg(&cc, NEURON_CORE_WAIT(SYNC)), 5);
	assert_int_equal(job_reg(&core, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	/* Semaphore 5 of the core is another one. */
	job_post(&core, 5, 1);
	assert_int_equal(job_reg(&cc, NEURON_CORE_ENGINE(SYNC)), NEURON_ENGINE_WAITING);
	job_post(&cc, 5, 1);
	job_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	assert_int_equal(cc.completion->dma_bytes, BYTES);
	assert_memory_equal(core.core->sbuf, job_host_ptr(&cc), BYTES);
	assert_int_equal(trn_sem_value(core.core->sems, 9), 3);
	assert_int_equal(trn_sem_value(cc.core->sems, 9), 0);
	assert_int_equal(job_reg(&cc, NEURON_CORE_JOBS), 1);
}

/* Who changed its semaphore @sem last. */
static uint32_t poster(const struct job_rig *cc, unsigned int sem)
{
	struct trn_chip *chip = cc->core->chip;

	return (uint32_t)trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
			NEURON_CTL_CC_SEM_POSTER(cc->core->index - NEURON_MAX_CORES, sem), 4);
}

static void its_window_is_that_of_the_top_sp(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	struct job_rig cc;
	uint32_t bar0;

	cc_init(&cc, rig, 0);
	job_store(&cc, SYNC, job_sem_at(200), 77);
	job_halt(&cc, SYNC);
	job_run(&cc);
	bar0 = neuron_top_sp_bar0(gen, neuron_top_sp_of_id(gen, first_cc(rig)));
	assert_int_equal(trn_chip_mmio_read(rig->chip[0], bar0 + NEURON_TOP_SP_SEM +
					    NEURON_SEM_READ(200), 4), 77);
	assert_int_equal(poster(&cc, 200),
			 NEURON_PUT(NEURON_SEM_POSTER_KIND,
				    (uint32_t)NEURON_SEM_POSTER_CC) | first_cc(rig));
}

static void it_has_the_sync_engine_alone(void **state)
{
	struct rig *rig = *state;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct job_rig cc;

		cc_init(&cc, rig, 0);
		job_halt(&cc, e);
		if (e == SYNC)
			job_run(&cc);
		else
			job_run_fault(&cc, NEURON_CAUSE_JOB);
	}
	assert_true(fake_logged(&rig->port[0], "a CC-core has no engine but sync"));
}

static void only_queues_and_memories_of_its_core_are_its_own(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	struct job_rig cc;

	cc_init(&cc, rig, 0);
	job_halt(&cc, SYNC);
	cc.queues[0].dma_engine = (uint16_t)neuron_core_dma(CORE - 1);
	job_run_fault(&cc, NEURON_CAUSE_JOB);

	cc_init(&cc, rig, 0);
	job_halt(&cc, SYNC);
	cc.windows[JOB_W_SBUF].base = gen->tpb_addr[CORE - 1] + NEURON_TPB_SBUF;
	job_run_fault(&cc, NEURON_CAUSE_JOB);
}

/* Two jobs want one queue: the second one is told, the first one is not disturbed. */
static void a_queue_has_one_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	copy_when_told(&cc, neuron_window_addr(JOB_W_SBUF, 0));
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));

	job_halt(&core, SYNC);
	core.queues[3] = cc.queues[0];
	job_run_fault(&core, NEURON_CAUSE_QUEUE);
	assert_int_equal(core.completion->source, NEURON_SOURCE_JOB);
	assert_int_equal(core.completion->queue,
			 cc.queues[0].dma_engine * NEURON_UDMA_QUEUES +
				 cc.queues[0].queue);
	job_post(&cc, 5, 1);
	job_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	/* It is free again. */
	job_run(&core);
}

/* The second job has failed, its record is not written yet: a snapshot is whole. */
static void a_snapshot_between_refusal_and_record_is_loaded(void **state)
{
	struct rig *rig = *state;
	struct stream stream = { 0 };
	struct job_rig cc, core;
	const char *why = NULL;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	copy_when_told(&cc, job_hbm_at(0));
	job_submit(&cc);
	rig_step(rig);
	job_halt(&core, SYNC);
	core.queues[3] = cc.queues[0];
	job_submit(&core);
	while (!core.core->job)
		assert_true(trn_pool_step(rig->pool, 1));
	trn_chip_stop(rig->chip[0]);
	rig_step(rig);
	stream_put_chip(&stream, rig->chip[0]);
	if (!stream_get_chip(&stream, rig->chip[0], &why))
		fail_msg("%s", why);
	trn_chip_resume(rig->chip[0]);
	rig_step(rig);
	assert_int_equal(core.completion->status, NEURON_JOB_ERROR);
	assert_int_equal(core.completion->cause, NEURON_CAUSE_QUEUE);
	job_post(&cc, 5, 1);
	rig_step(rig);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	stream_free(&stream);
}

static void reset_and_wait(struct job_rig *job)
{
	job_reg_write(job, NEURON_CORE_RESET, 1);
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
}

static void a_reset_of_its_core_does_not_disturb_it(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	copy_when_told(&cc, job_hbm_at(0));
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));
	job_take(&core, SYNC, 1, 1);
	job_halt(&core, SYNC);
	job_submit(&core);
	assert_true(fake_wait(running, &core));
	reset_and_wait(&core);
	assert_int_equal(core.completion->status, NEURON_JOB_ABORTED);
	assert_int_equal(job_reg(&cc, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	job_post(&cc, 5, 1);
	/* The core's own interrupts came by the same vector. */
	job_reg_write(&core, NEURON_CORE_CAUSE, ~0u);
	job_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	assert_memory_equal(cc.hbm + JOB_AT_DATA, job_host_ptr(&cc), BYTES);
}

static void a_reset_is_of_the_cc_core_alone(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	copy_when_told(&cc, job_hbm_at(0));
	copy_when_told(&core, neuron_window_addr(JOB_W_SBUF, 0));
	memset(core.core->psum, 0x77, BYTES);
	job_submit(&core);
	job_submit(&cc);
	assert_true(fake_wait(running, &core));
	assert_true(fake_wait(running, &cc));
	trn_sems_write(cc.core->sems, NEURON_SEM_EVENT(4), 1, 0);
	reset_and_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_ABORTED);
	assert_int_equal(cc.completion->cause, NEURON_CAUSE_RESET);
	assert_int_equal(trn_sems_read(cc.core->sems, NEURON_SEM_EVENT(4)), 0);
	job_reg_write(&cc, NEURON_CORE_CAUSE, ~0u);
	assert_int_equal(core.core->psum[0], 0x77);
	job_post(&core, 5, 1);
	job_wait(&core);
	assert_int_equal(core.completion->status, NEURON_JOB_OK);
	assert_memory_equal(core.core->sbuf, job_host_ptr(&core), BYTES);
	/* And the CC-core takes the next one. */
	cc_init(&cc, rig, 0);
	job_halt(&cc, SYNC);
	job_run(&cc);
}

static void ask_firmware(struct rig *rig, uint32_t what, uint32_t map)
{
	const uint32_t misc = rig->chip[0]->gen->misc_bar0;

	trn_chip_mmio_write(rig->chip[0], misc + NEURON_MISC_RESET_MAP, map, 4);
	trn_chip_mmio_write(rig->chip[0], misc + NEURON_MISC_RESET_REQUEST, what, 4);
	trn_chip_mmio_write(rig->chip[0], misc + NEURON_MISC_TRIGGER, 1, 4);
}

/* The firmware's reset by blocks has bits for them. */
static void a_reset_map_names_them(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	const uint32_t map = gen->generation == 2 ?
		NEURON_PUT(NEURON_RESET_MAP_TOP_SP_V2, NEURON_BIT(first_cc(rig))) :
		NEURON_PUT(NEURON_RESET_MAP_TOP_SP, NEURON_BIT(CORE));
	struct job_rig cc;

	cc_init(&cc, rig, 0);
	copy_when_told(&cc, job_hbm_at(0));
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));
	ask_firmware(rig, NEURON_MISC_RESET_TPB, map);
	assert_true(job_wait_reg(&cc, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	assert_int_equal(cc.completion->status, NEURON_JOB_ABORTED);
}

/* A window on semaphores, of the claim generation @generation. */
static uint64_t sem_window(struct job_rig *job, const struct job_rig *target,
			   uint32_t generation)
{
	struct neuron_hw_window *w = &job->windows[JOB_W_PEER_SEM];
	uint64_t base = target->windows[JOB_W_SEM].base;

	if (job->chip != target->chip)
		base = neuron_fabric_addr(target->chip, base);
	*w = neuron_hw_window_sems(NEURON_WINDOW_WRITE, base, 0, NEURON_NR_SEMAPHORES, generation);
	return neuron_window_addr(JOB_W_PEER_SEM, 0);
}

/* The core has something to be moved, the CC-core moves it and says so. */
static void core_and_cc_core_tell_each_other(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	job_reg_write(&cc, NEURON_CORE_GENERATION, 7);
	job_reg_write(&core, NEURON_CORE_GENERATION, 8);
	job_store(&core, NEURON_ENGINE_SCALAR, sem_window(&core, &cc, 7) + 5 * 4, 1);
	job_take(&core, NEURON_ENGINE_SCALAR, 20, 1);
	job_halt(&core, NEURON_ENGINE_SCALAR);
	rig_fill(rig, job_host_ptr(&cc), BYTES);
	job_take(&cc, SYNC, 5, 1);
	job_copy(&cc, 0, neuron_window_addr(JOB_W_SBUF, 64), job_host_at(0), BYTES);
	/* The post comes behind the data, on the same queue. */
	memcpy(job_host_ptr(&cc) + BYTES, &(uint32_t){ 1 }, 4);
	job_copy(&cc, 0, sem_window(&cc, &core, 8) + 20 * 4, job_host_at(BYTES), 4);
	job_trigger(&cc, SYNC, 0, 2, 2);
	job_halt(&cc, SYNC);
	job_submit(&cc);
	job_run(&core);
	job_reg_write(&core, NEURON_CORE_CAUSE, ~0u);
	job_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	assert_memory_equal(core.core->sbuf + 64, job_host_ptr(&cc), BYTES);
	/* In device time, too, one waited for the other. */
	assert_true(core.completion->end_ns >= cc.completion->start_ns);
	assert_int_equal(NEURON_GET(NEURON_SEM_POSTER_KIND, poster(&cc, 5)),
			 NEURON_SEM_POSTER_ENGINE);
}

static void a_post_from_an_earlier_claim_is_dropped(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc, core;

	cc_init(&cc, rig, 0);
	job_init(&core, rig, 0, CORE);
	job_reg_write(&cc, NEURON_CORE_GENERATION, 7);
	job_store(&core, SYNC, sem_window(&core, &cc, 6) + 5 * 4, 1);
	job_halt(&core, SYNC);
	job_run(&core);
	assert_int_equal(trn_sem_value(cc.core->sems, 5), 0);
	assert_int_equal(job_reg(&cc, NEURON_CORE_STALE_POSTS), 1);
	assert_int_equal(job_reg(&core, NEURON_CORE_STALE_POSTS), 0);
}

/* Each of two chips sends what it has to the other one, and says so behind it. */
static void they_exchange_over_the_fabric(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc[2];
	unsigned int c;

	for (c = 0; c < 2; c++)
		cc_init(&cc[c], rig, c);
	for (c = 0; c < 2; c++) {
		struct job_rig *job = &cc[c], *peer = &cc[!c];
		const struct neuron_hw_window *hbm = &peer->windows[JOB_W_HBM];

		job->windows[JOB_W_PEER] =
			neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
						neuron_fabric_addr(!c, hbm->base), hbm->length);
		rig_fill(rig, job_host_ptr(job), BYTES);
		memcpy(job_host_ptr(job) + BYTES, &(uint32_t){ 1 }, 4);
		job_copy(job, 0, neuron_window_addr(JOB_W_PEER, JOB_AT_DATA),
			 job_host_at(0), BYTES);
		job_copy(job, 0, sem_window(job, peer, 0) + 30 * 4, job_host_at(BYTES), 4);
		job_trigger(job, SYNC, 0, 2, 2);
		job_take(job, SYNC, 30, 1);
		job_halt(job, SYNC);
	}
	for (c = 0; c < 2; c++)
		job_submit(&cc[c]);
	for (c = 0; c < 2; c++) {
		job_wait(&cc[c]);
		assert_int_equal(cc[c].completion->status, NEURON_JOB_OK);
	}
	for (c = 0; c < 2; c++)
		assert_memory_equal(cc[c].hbm + JOB_AT_DATA, job_host_ptr(&cc[!c]), BYTES);
}

static void an_event_goes_to_its_own_notifications(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	const uint32_t slot = neuron_top_sp_nq_bar0(gen, first_cc(rig)) +
			      NEURON_NQ_SLOT(SYNC);
	const struct neuron_hw_nq_entry *ring;
	uint64_t at = rig_host(rig, 0, 256), base = rig_host_addr(rig, 0, at);
	struct job_rig cc;

	ring = rig_host_ptr(rig, 0, at);
	trn_chip_mmio_write(rig->chip[0], slot + NEURON_NQ_BASE_HI, base >> 32, 4);
	trn_chip_mmio_write(rig->chip[0], slot + NEURON_NQ_BASE_LO, (uint32_t)base, 4);
	trn_chip_mmio_write(rig->chip[0], slot + NEURON_NQ_SIZE, 256, 4);
	cc_init(&cc, rig, 0);
	memset(cc.block->event_own, 0xff, sizeof(cc.block->event_own));
	job_inst(&cc, SYNC, NEURON_OP_EVENT_SET)->imm0 = 42;
	job_inst(&cc, SYNC, NEURON_OP_DMA_TRIGGER)->reg[0] = 99;
	job_run_fault(&cc, NEURON_CAUSE_QUEUE);
	assert_true(fake_wait_reg(rig->chip[0], slot + NEURON_NQ_TAIL, ~0u,
				  2 * sizeof(*ring)));
	assert_int_equal(ring[0].code, 42);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_TYPE, ring[0].info),
			 NEURON_NQ_TYPE_EVENT);
	assert_int_equal(ring[1].code, NEURON_CAUSE_QUEUE);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_TYPE, ring[1].info),
			 NEURON_NQ_TYPE_ERROR);
	assert_int_equal(ring[1].job_id, cc.block->job_id);
}

/* A device reset ends its job as it ends those of the cores. */
static void a_reset_of_the_device_ends_its_job(void **state)
{
	struct rig *rig = *state;
	struct job_rig cc;

	cc_init(&cc, rig, 0);
	copy_when_told(&cc, job_hbm_at(0));
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));
	ask_firmware(rig, NEURON_MISC_RESET_DEVICE, 0);
	assert_true(job_wait_reg(&cc, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	assert_int_equal(cc.completion->status, NEURON_JOB_ABORTED);
}

/* Saved while it waits: the chip that is loaded goes on. */
static void its_job_is_saved_and_loaded(void **state)
{
	struct rig *rig = *state;
	struct stream stream = { 0 };
	struct job_rig cc;
	const char *why = NULL;

	cc_init(&cc, rig, 0);
	copy_when_told(&cc, job_hbm_at(0));
	job_submit(&cc);
	assert_true(fake_wait(running, &cc));
	job_reg_write(&cc, NEURON_CORE_VECTOR, 0);
	fake_chip_stop(rig->chip[0]);
	stream_put_chip(&stream, rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	assert_int_equal(job_reg(&cc, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	if (!stream_get_chip(&stream, rig->chip[0], &why))
		fail_msg("%s", why);
	assert_int_equal(job_reg(&cc, NEURON_CORE_VECTOR), 0);
	job_reg_write(&cc, NEURON_CORE_VECTOR, CORE);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(job_reg(&cc, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	job_post(&cc, 5, 1);
	job_wait(&cc);
	assert_int_equal(cc.completion->status, NEURON_JOB_OK);
	assert_memory_equal(cc.hbm + JOB_AT_DATA, job_host_ptr(&cc), BYTES);
	stream_free(&stream);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_runs_a_job_beside_its_core),
		TEST(its_window_is_that_of_the_top_sp),
		TEST(it_has_the_sync_engine_alone),
		TEST(only_queues_and_memories_of_its_core_are_its_own),
		TEST(a_queue_has_one_job),
		cmocka_unit_test_setup_teardown(a_snapshot_between_refusal_and_record_is_loaded,
						rig_setup_stepped, rig_teardown),
		TEST(a_reset_of_its_core_does_not_disturb_it),
		TEST(a_reset_is_of_the_cc_core_alone),
		TEST(a_reset_map_names_them),
		TEST(core_and_cc_core_tell_each_other),
		TEST(a_post_from_an_earlier_claim_is_dropped),
		TEST(they_exchange_over_the_fabric),
		TEST(an_event_goes_to_its_own_notifications),
		TEST(a_reset_of_the_device_ends_its_job),
		TEST(its_job_is_saved_and_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
