// SPDX-License-Identifier: MIT
/*
 * Time groups of jobs that run: records, interrupts, traces, resets, saving and loading.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "contract/window.h"
#include "fabric/trn_fabric.h"
#include "soc/trn_reset.h"
#include "state_rig.h"
#include "time/trn_cost.h"
#include "time/trn_group_private.h"

#define SYNC	NEURON_ENGINE_SYNC
#define BYTES	32768
#define COPIES	8

/* Until a transfer to another chip begins; and so many copies on a link. */
#define FIXED_NS	((TRN_COST_DMA_START_PS + TRN_COST_HOP_PS) / 1000)
#define LINK_NS(n)	(1000ull * (n) * BYTES / neuron_gen_trn2.link_mbps)

/* A job on chip 0 and one on chip 1. */
struct both {
	struct seq_rig rig;
	struct seq_job job[2];
};

static struct both *both_new(unsigned int workers, bool clock)
{
	struct both *both = calloc(1, sizeof(*both));

	assert_non_null(both);
	seq_rig_init(&both->rig, &neuron_gen_trn2, workers, 2, clock);
	return both;
}

static void both_free(struct both *both)
{
	seq_rig_destroy(&both->rig);
	free(both);
}

static void in_group(struct seq_job *job, uint64_t id, uint32_t size, uint32_t index)
{
	job->block.flags |= NEURON_JOB_GROUP;
	job->group = (struct neuron_hw_time_group){
		.group = id, .size = size, .index = index,
	};
}

static uint64_t other_chip(struct seq_job *job)
{
	struct neuron_hw_window *window = &job->window[job->nr_windows];

	*window = neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_RIGHTS,
					  neuron_fabric_addr(1 - job->chip,
							     seq_data_addr(job->rig,
									   1 - job->chip, 6)),
					  SEQ_DATA_BYTES);
	return neuron_window_addr(job->nr_windows++, 0);
}

/* From chip 0 to chip 1, by as many DMA engines: the job of chip 0 writes, that of chip 1 reads. */
static void put_copies(struct seq_job *job)
{
	uint64_t there = other_chip(job), here = neuron_window_addr(SEQ_DATA, 0);
	unsigned int i;

	for (i = 0; i < COPIES; i++)
		seq_copy(job, i, (job->chip ? here : there) + i * BYTES,
			 job->chip ? there : here, BYTES);
	for (i = 0; i < COPIES; i++)
		seq_add(job, SYNC, OP(DMA_TRIGGER, .reg = { (uint8_t)i }, .imm0 = 1, .imm1 = 1));
	seq_add(job, SYNC, OP(HALT, 0));
}

static void prepare(struct both *both, uint64_t id)
{
	unsigned int c;

	for (c = 0; c < 2; c++) {
		seq_job_init(&both->job[c], &both->rig, c, 0);
		in_group(&both->job[c], id, 2, c);
		put_copies(&both->job[c]);
	}
}

static uint64_t took(struct seq_job *job)
{
	struct neuron_hw_settle settle = seq_settled(job);

	assert_int_equal(settle.status, NEURON_SETTLE_OK);
	assert_int_equal(settle.cause, NEURON_SETTLE_FINE);
	assert_int_equal(settle.job_id, 0x1234);
	assert_int_equal(settle.group, job->group.group);
	return settle.end_ns - settle.start_ns;
}

static void check_inexact(struct neuron_hw_settle settle, enum neuron_settle_cause cause)
{
	assert_int_equal(settle.status, NEURON_SETTLE_INEXACT);
	assert_int_equal(settle.cause, cause);
}

static void assert_inexact(struct seq_job *job, enum neuron_settle_cause cause)
{
	check_inexact(seq_settled(job), cause);
}

/* The same times, whatever the host does; and later than the job alone would end. */
static void jobs_share_a_link(void **state)
{
	uint64_t first = 0, slower;
	unsigned int workers, order;

	for (workers = 1; workers <= 4; workers *= 2) {
		for (order = 0; order < 2; order++) {
			struct both *both = both_new(workers, true);
			struct neuron_hw_completion record;

			prepare(both, 7);
			seq_submit(&both->job[order]);
			record = seq_record(&both->job[order]);
			assert_int_equal(record.status, NEURON_JOB_OK);
			assert_int_equal(record.flags, NEURON_COMPLETION_UNSETTLED);
			assert_false(seq_has_settled(&both->job[order]));
			seq_submit(&both->job[1 - order]);
			slower = took(&both->job[0]) > took(&both->job[1]) ?
					 took(&both->job[0]) : took(&both->job[1]);
			assert_true(slower > record.end_ns - record.start_ns);
			assert_in_range(slower, FIXED_NS + LINK_NS(2 * COPIES),
					FIXED_NS + LINK_NS(2 * COPIES + 1));
			if (!first)
				first = slower;
			assert_int_equal(slower, first);
			both_free(both);
		}
	}
	(void)state;
}

/* A trace comes when the times are known, and has them. */
static void traces_are_settled(void **state)
{
	struct both *both = both_new(2, true);
	const struct neuron_hw_trace *trace = (void *)(both->rig.port[0].host + 0x80000);
	const struct neuron_hw_trace_record *record = (const void *)(trace + 1);
	struct neuron_hw_settle settle;

	prepare(both, 8);
	both->job[0].block.flags |= NEURON_JOB_TRACE;
	both->job[0].trace = neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						     fake_host_addr(&both->rig.port[0], 0x80000),
						     4096);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	assert_int_equal(trace->records, 0);
	seq_submit(&both->job[1]);
	settle = seq_settled(&both->job[0]);
	assert_int_equal(trace->records, 2 * COPIES + 1);
	assert_int_equal(trace->lost, 0);
	assert_in_range(record[trace->records - 1].end_ns, settle.end_ns - 1, settle.end_ns);
	assert_int_equal(record[0].flags, 0);
	seq_settled(&both->job[1]);
	both_free(both);
	(void)state;
}

/* One that never ends by itself. */
static void prepare_hang(struct seq_job *job, uint64_t id, uint32_t size, uint32_t index)
{
	seq_job_init(job, job->rig, job->chip, job->core);
	in_group(job, id, size, index);
	seq_add(job, SYNC, wait_ge(OP(NOP, 0), 9, 1));
	seq_add(job, SYNC, OP(HALT, 0));
}

static void reset_core(struct seq_job *job)
{
	struct trn_chip *chip = job->rig->chip[job->chip];

	trn_chip_mmio_write(chip, neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(job->core) +
			    NEURON_CORE_RESET, 1, 4);
}

static void aborted_members_are_not_waited_for(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 9);
	prepare_hang(&both->job[1], 9, 2, 1);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	seq_submit(&both->job[1]);
	reset_core(&both->job[1]);
	assert_int_equal(seq_record(&both->job[1]).status, NEURON_JOB_ABORTED);
	assert_inexact(&both->job[0], NEURON_SETTLE_MEMBER);
	assert_inexact(&both->job[1], NEURON_SETTLE_MEMBER);
	both_free(both);
	(void)state;
}

static bool reset_over(void *arg)
{
	return !trn_reset_of_device(arg);
}

/* By software: its own records still come. By the host: none do. */
static void device_resets_end_groups(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 10);
	both->job[0].group.size = 3;
	both->job[1].group.size = 3;
	seq_submit(&both->job[0]);
	seq_submit(&both->job[1]);
	seq_record(&both->job[0]);
	seq_record(&both->job[1]);
	trn_reset_request(both->rig.chip[0]);
	assert_true(fake_wait(reset_over, both->rig.chip[0]));
	assert_false(seq_has_settled(&both->job[0]));
	check_inexact(seq_settle_record(&both->job[0]), NEURON_SETTLE_MEMBER);
	assert_inexact(&both->job[1], NEURON_SETTLE_MEMBER);

	prepare(both, 11);
	both->job[0].group.size = 3;
	both->job[1].group.size = 3;
	seq_submit(&both->job[0]);
	seq_submit(&both->job[1]);
	seq_record(&both->job[0]);
	seq_record(&both->job[1]);
	fake_chip_stop(both->rig.chip[0]);
	trn_chip_reset(both->rig.chip[0]);
	trn_chip_resume(both->rig.chip[0]);
	assert_false(seq_has_settled(&both->job[0]));
	assert_inexact(&both->job[1], NEURON_SETTLE_MEMBER);
	both_free(both);
	(void)state;
}

/* One that was not there yet when the other chip was reset waits for nobody. */
static void resets_leave_word_for_late_members(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 15);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	fake_chip_stop(both->rig.chip[0]);
	trn_chip_reset(both->rig.chip[0]);
	trn_chip_resume(both->rig.chip[0]);
	seq_submit(&both->job[1]);
	assert_inexact(&both->job[1], NEURON_SETTLE_MEMBER);
	both_free(both);
	(void)state;
}

static void chips_that_leave_end_groups(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 12);
	both->job[1].group.size = 3;
	both->job[0].group.size = 3;
	seq_submit(&both->job[0]);
	seq_submit(&both->job[1]);
	seq_record(&both->job[0]);
	seq_record(&both->job[1]);
	fake_chip_free(both->rig.chip[1]);
	assert_inexact(&both->job[0], NEURON_SETTLE_MEMBER);
	both->rig.chip[1] = both->rig.chip[0];
	both->rig.nr_chips = 1;
	fake_port_destroy(&both->rig.port[1]);
	both_free(both);
	(void)state;
}

/* It holds the others up only as long as it is off. */
static void stopped_chips_settle_later(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 13);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	fake_chip_stop(both->rig.chip[0]);
	seq_submit(&both->job[1]);
	seq_record(&both->job[1]);
	assert_false(seq_has_settled(&both->job[0]));
	trn_chip_resume(both->rig.chip[0]);
	took(&both->job[0]);
	took(&both->job[1]);
	both_free(both);
	(void)state;
}

static void without_the_clock_all_is_settled(void **state)
{
	struct both *both = both_new(2, false);

	prepare(both, 14);
	seq_submit(&both->job[0]);
	assert_int_equal(took(&both->job[0]), 0);
	both_free(both);
	(void)state;
}

/* --- saving and loading --- */

/* Both chips go on as others; the jobs with them. */
static struct both *move(struct both *from, unsigned int workers)
{
	struct both *to = both_new(workers, true);
	struct stream stream[2] = { 0 };
	const char *why;
	unsigned int c;

	for (c = 0; c < 2; c++) {
		fake_chip_stop(from->rig.chip[c]);
		fake_chip_stop(to->rig.chip[c]);
	}
	for (c = 0; c < 2; c++) {
		stream_put_chip(&stream[c], from->rig.chip[c]);
		memcpy(to->rig.port[c].host, from->rig.port[c].host, NEURON_MIB(1));
		if (!stream_get_chip(&stream[c], to->rig.chip[c], &why))
			fail_msg("not loaded: %s", why);
		stream_free(&stream[c]);
		to->job[c] = from->job[c];
		to->job[c].rig = &to->rig;
	}
	for (c = 0; c < 2; c++)
		trn_chip_resume(to->rig.chip[c]);
	both_free(from);
	return to;
}

/* One has ended, and the other one has not begun. */
static void groups_are_saved(void **state)
{
	uint64_t here[2], there[2];
	struct both *both;
	unsigned int moved, c;

	for (moved = 0; moved < 3; moved++) {
		both = both_new(2, true);
		prepare(both, 20);
		seq_submit(&both->job[0]);
		seq_record(&both->job[0]);
		if (moved)
			both = move(both, 1);
		/* Once more: a stream of what has been loaded. */
		if (moved == 2)
			both = move(both, 2);
		seq_submit(&both->job[1]);
		for (c = 0; c < 2; c++)
			(moved ? there : here)[c] = took(&both->job[c]);
		if (moved)
			assert_memory_equal(here, there, sizeof(here));
		both_free(both);
	}
	(void)state;
}

/* That it is inexact is known also to who comes afterwards. */
static void inexact_groups_are_saved(void **state)
{
	struct both *both = both_new(2, true);

	prepare(both, 22);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	trn_group_end(both->rig.chip[1], 22);
	assert_inexact(&both->job[0], NEURON_SETTLE_ENDED);
	both = move(both, 2);
	seq_submit(&both->job[1]);
	assert_inexact(&both->job[1], NEURON_SETTLE_ENDED);
	both_free(both);
	(void)state;
}

static bool is_of_24(void *job)
{
	return seq_has_settled(job) && seq_settle_record(job).group == 24;
}

/*
 * All members have ended, and the core that is to replay them has stopped: that of chip 0, since
 * the one of chip 1 came to its turn only when the job before it settled.
 */
static void ready_groups_are_saved(void **state)
{
	struct both *both = both_new(2, true);
	struct seq_job *before = calloc(2, sizeof(*before));
	unsigned int c;

	assert_non_null(before);
	for (c = 0; c < 2; c++) {
		seq_job_init(&before[c], &both->rig, 1, c);
		in_group(&before[c], 23, 2, c);
		seq_add(&before[c], SYNC, OP(HALT, 0));
	}
	seq_submit(&before[0]);
	seq_record(&before[0]);
	prepare(both, 24);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	fake_chip_stop(both->rig.chip[0]);
	seq_submit(&both->job[1]);
	seq_record(&both->job[1]);
	seq_submit(&before[1]);
	took(&before[1]);
	both = move(both, 2);
	for (c = 0; c < 2; c++) {
		assert_true(fake_wait(is_of_24, &both->job[c]));
		took(&both->job[c]);
	}
	both_free(both);
	free(before);
	(void)state;
}

/* --- what software does wrong --- */

static void malformed_groups_are_refused(void **state)
{
	struct both *both = both_new(2, true);
	static const struct {
		struct neuron_hw_time_group group;
		const char *why;
	} bad[] = {
		{ { .size = 1 }, "a time group has no number" },
		{ { .group = 1 }, "a time group has 1 to 4096 members" },
		{ { .group = 1, .size = NEURON_JOB_MAX_GROUP + 1 },
		  "a time group has 1 to 4096 members" },
		{ { .group = 1, .size = 2, .index = 2 }, "a time group has no such member" },
		{ { .group = 1, .size = 2, .reserved = 1 },
		  "a reserved field of a time group is set" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct neuron_hw_completion record;

		prepare(both, 30);
		both->job[0].group = bad[i].group;
		seq_submit(&both->job[0]);
		record = seq_record(&both->job[0]);
		assert_int_equal(record.status, NEURON_JOB_ERROR);
		assert_int_equal(record.cause, NEURON_CAUSE_JOB);
		assert_int_equal(record.flags, 0);
		assert_true(fake_logged(&both->rig.port[0], bad[i].why));
	}
	both_free(both);
	(void)state;
}

/* Another member of that index is no harm to the first one. */
static void foreign_members_are_refused(void **state)
{
	struct both *both = both_new(2, true);
	struct neuron_hw_completion record;

	prepare(both, 31);
	seq_submit(&both->job[0]);
	seq_record(&both->job[0]);
	both->job[1].group.index = 0;
	seq_submit(&both->job[1]);
	record = seq_record(&both->job[1]);
	assert_int_equal(record.cause, NEURON_CAUSE_JOB);
	assert_int_equal(record.flags, 0);
	assert_true(fake_logged(&both->rig.port[1], "another member of this index"));
	prepare(both, 31);
	seq_submit(&both->job[1]);
	took(&both->job[1]);
	both_free(both);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_share_a_link),
		cmocka_unit_test(traces_are_settled),
		cmocka_unit_test(aborted_members_are_not_waited_for),
		cmocka_unit_test(device_resets_end_groups),
		cmocka_unit_test(resets_leave_word_for_late_members),
		cmocka_unit_test(chips_that_leave_end_groups),
		cmocka_unit_test(stopped_chips_settle_later),
		cmocka_unit_test(without_the_clock_all_is_settled),
		cmocka_unit_test(groups_are_saved),
		cmocka_unit_test(inexact_groups_are_saved),
		cmocka_unit_test(ready_groups_are_saved),
		cmocka_unit_test(malformed_groups_are_refused),
		cmocka_unit_test(foreign_members_are_refused),
	};

	return cmocka_run_group_tests_name("time_group_jobs", tests, NULL, NULL);
}
