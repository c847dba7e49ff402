// SPDX-License-Identifier: MIT
/*
 * Device time of products in parts of the tensor engine's array.
 */
#include "seq_rig.h"

#include <stdlib.h>

#include "isa/trn_pe_array.h"
#include "time/trn_time_private.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

#define HALT	16	/* cycles */

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, &neuron_gen_trn2, 2, 1, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

/* --- the rules, by hand --- */

static uint64_t exec(struct trn_clock *clock, struct trn_time_work work)
{
	return trn_clock_exec(clock, &work, trn_clock_begin(clock, &work));
}

#define IN_PARTS(bits, ps)						\
	((struct trn_time_work){ .class = TRN_TIME_PART, .parts = (bits),	\
				 .cost_ps = (ps) })
#define WHOLE(ps) \
	((struct trn_time_work){ .class = TRN_TIME_COVER, .cost_ps = (ps) })
#define LOAD(ps) \
	((struct trn_time_work){ .class = TRN_TIME_BACKGROUND, .cost_ps = (ps) })

static void parts_run_beside_each_other(void **state)
{
	struct trn_clock clock = { 0 };

	assert_int_equal(exec(&clock, IN_PARTS(0x1, 100)), 100);
	assert_int_equal(exec(&clock, IN_PARTS(0x2, 50)), 50);
	assert_int_equal(exec(&clock, IN_PARTS(0xc, 70)), 70);
	assert_int_equal(clock.time_ps, 100);
	/* One cell in common is enough. */
	assert_int_equal(exec(&clock, IN_PARTS(0x18, 10)), 80);
	assert_int_equal(exec(&clock, IN_PARTS(0x2, 10)), 80);
	assert_int_equal(exec(&clock, IN_PARTS(0x1, 10)), 110);
	assert_int_equal(clock.time_ps, 110);
	(void)state;
}

/* What uses all of the array has all parts before it, and goes before all after it. */
static void the_whole_array_joins_them(void **state)
{
	struct trn_clock clock = { 0 };

	exec(&clock, IN_PARTS(0x1, 100));
	exec(&clock, IN_PARTS(0x2, 50));
	assert_int_equal(exec(&clock, WHOLE(30)), 130);
	assert_int_equal(exec(&clock, IN_PARTS(0x8000, 5)), 135);
	(void)state;
}

static void instructions_begin_in_order(void **state)
{
	struct trn_clock clock = { 0 };

	exec(&clock, IN_PARTS(0x1, 100));
	exec(&clock, IN_PARTS(0x1, 100));		/* 100 to 200 */
	assert_int_equal(exec(&clock, IN_PARTS(0x2, 5)), 105);
	/* A load runs behind the product before it, and is there before the next one. */
	assert_int_equal(exec(&clock, LOAD(40)), 140);
	assert_int_equal(exec(&clock, IN_PARTS(0x4, 5)), 145);
	assert_int_equal(clock.time_ps, 200);
	(void)state;
}

static void a_wait_holds_all_parts_up(void **state)
{
	struct trn_clock clock = { 0 };

	exec(&clock, IN_PARTS(0x1, 100));
	trn_clock_wait(&clock, 60);
	assert_int_equal(exec(&clock, IN_PARTS(0x2, 10)), 70);
	trn_clock_wait(&clock, 150);
	assert_int_equal(exec(&clock, IN_PARTS(0x4, 10)), 160);
	(void)state;
}

static void places_have_their_bits(void **state)
{
	const struct {
		struct neuron_array place;
		uint16_t bits;
	} known[] = {
		{ { 0, 128, 0, 128 }, 0xffff }, { { 0, 64, 0, 128 }, 0x00ff },
		{ { 64, 64, 0, 128 }, 0xff00 }, { { 0, 128, 64, 64 }, 0xcccc },
		{ { 32, 32, 96, 32 }, 0x0080 }, { { 64, 64, 32, 32 }, 0x2200 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(trn_pe_array_bits(known[i].place), known[i].bits);
	(void)state;
}

/* --- whole jobs --- */

/* A pair of instructions: 32 rows, as many columns as the part has. */
static void add_pair(struct seq_job *job, struct neuron_array place, unsigned int n)
{
	const uint8_t mode = NEURON_INST_ARRAY >> 8;
	const uint32_t where = neuron_array_put(place);

	seq_add(job, TENSOR, OP(LOAD_STATIONARY, .mode = mode, .imm0 = where,
				.src0 = ap_sbuf(0, 32, 0, BF16, place.cols)));
	seq_add(job, TENSOR, OP(MATMUL, .mode = mode, .imm0 = where,
				.dst = ap_psum(0, place.cols, 0, F32, n),
				.src0 = ap_sbuf(0, 32, 4096, BF16, n)));
}

/* Cycles of a job, but for its HALT. */
static uint64_t cycles(struct seq_job *job)
{
	struct neuron_hw_completion record;

	seq_add(job, TENSOR, OP(HALT, 0));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	return (record.end_ns - record.start_ns) * 24 / 10 - HALT;
}

/* Times are rounded up to nanoseconds: 2.4 cycles. */
static void about(uint64_t value, uint64_t expected)
{
	assert_in_range(value, expected - 3, expected + 3);
}

/* The loads of 32 cycles delay the last of four; the products are side by side. */
static void row_tiles_run_at_once(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	unsigned int i;

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 4; i++)
		add_pair(job, (struct neuron_array){ (uint8_t)(32 * i), 32, 0, 128 }, 512);
	about(cycles(job), 4 * 32 + 512);

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 4; i++)
		add_pair(job, (struct neuron_array){ 32, 32, 0, 128 }, 512);
	about(cycles(job), 32 + 4 * 512);
	free(job);
}

static void column_tiles_run_at_once(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	unsigned int i;

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 16; i++) {
		const struct neuron_array place = {
			.row = (uint8_t)(i / 4 * 32), .rows = 32,
			.col = (uint8_t)(i % 4 * 32), .cols = 32,
		};

		add_pair(job, place, 512);
	}
	about(cycles(job), 16 * 8 + 512);
	free(job);
}

static void tiles_with_common_cells_take_turns(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));

	seq_job_init(job, *state, 0, 0);
	add_pair(job, (struct neuron_array){ 0, 64, 0, 128 }, 512);
	add_pair(job, (struct neuron_array){ 32, 32, 0, 32 }, 512);
	about(cycles(job), 32 + 2 * 512);

	seq_job_init(job, *state, 0, 0);
	add_pair(job, (struct neuron_array){ 0, 64, 0, 128 }, 512);
	add_pair(job, (struct neuron_array){ 0, 128, 0, 128 }, 512);
	about(cycles(job), 32 + 2 * 512);
	free(job);
}

/* A post says that all before it is done, also where a later product was shorter. */
static void posts_come_in_order(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));

	seq_job_init(job, *state, 0, 0);
	add_pair(job, (struct neuron_array){ 0, 32, 0, 128 }, 512);
	add_pair(job, (struct neuron_array){ 32, 32, 0, 128 }, 64);
	*seq_add(job, TENSOR, OP(NOP, 0)) = post_add(OP(NOP, 0), 3, 1);
	seq_add(job, NEURON_ENGINE_VECTOR, take_ge(OP(HALT, 0), 3, 1));
	about(cycles(job), 32 + 512 + 16 + 40 - HALT);
	free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_run_beside_each_other),
		cmocka_unit_test(the_whole_array_joins_them),
		cmocka_unit_test(instructions_begin_in_order),
		cmocka_unit_test(a_wait_holds_all_parts_up),
		cmocka_unit_test(places_have_their_bits),
		cmocka_unit_test(row_tiles_run_at_once),
		cmocka_unit_test(column_tiles_run_at_once),
		cmocka_unit_test(tiles_with_common_cells_take_turns),
		cmocka_unit_test(posts_come_in_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
