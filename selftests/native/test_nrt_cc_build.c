// SPDX-License-Identifier: MIT
/*
 * Programs of CC-cores: which step an instruction or a descriptor belongs to, also what all queues
 * do between the steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "program/cc_build.h"

#define RANKS	4
#define FLOATS	4096
#define WINDOWS	100

/* A collective of rank 0, with a list of one tensor for either end if it @lists. */
struct piece {
	struct nrt_plan *plan;
	struct nrt_plan_program part;
	struct neff_side side;
	struct cc_tensor tensors[2];
	struct cc_piece piece;
};

static void make(struct piece *piece, bool lists)
{
	const struct nrt_plan_ask ask = {
		.op = NRT_PLAN_ALL_REDUCE, .reduce = NRT_PLAN_ADD, .dtype = NEURON_DTYPE_FP32,
		.count = FLOATS, .nr_ranks = RANKS, .algorithm = "mesh",
	};
	struct nrt_error error;
	unsigned int i;

	*piece = (struct piece){ .side = { .ndim = 2, .size = { 64, FLOATS / 16 },
					   .step = { 1, 64 } } };
	if (nrt_plan_make(&ask, &piece->plan, &error) ||
	    nrt_plan_program(piece->plan, 0, &piece->part, &error))
		fail_msg("%s", error.text);
	assert_in_range(piece->part.nr_queues, 2, FLOATS / 16);
	for (i = 0; i < 2; i++)
		piece->tensors[i] = (struct cc_tensor){
			.window = 2 * WINDOWS + i, .side = &piece->side, .blocks = 1,
			.space = i ? NRT_PLAN_OUTPUT : NRT_PLAN_INPUT,
		};
	piece->piece = (struct cc_piece){
		.plan = piece->plan, .part = &piece->part, .tensors = piece->tensors,
		.nr_tensors = lists ? 2 : 0,
		.windows = { .first = 10, .signals = true, .start = 240, .done = 9 },
	};
}

static void drop(struct piece *piece)
{
	nrt_plan_program_fini(&piece->part);
	nrt_plan_free(piece->plan);
}

static void build(const struct cc_piece *pieces, unsigned int nr, struct cc_program *program)
{
	struct nrt_error error;

	if (cc_program_build(pieces, nr, 3, program, &error))
		fail_msg("%s", error.text);
}

static void expect_place(const struct cc_program *program, unsigned int queue, uint32_t index,
			 unsigned int piece, size_t step)
{
	const struct cc_place *place = cc_place_of_descriptor(program, queue, false, index);

	assert_non_null(place);
	assert_int_equal(place->piece, piece);
	assert_int_equal(place->step, step);
}

/* What each queue posts last, to tell that it has done all of a piece, belongs to that piece. */
static void ends(void **state)
{
	struct cc_program alone, both;
	struct cc_piece pieces[2];
	struct piece piece;
	unsigned int q;

	(void)state;
	make(&piece, false);
	pieces[0] = piece.piece;
	pieces[1] = piece.piece;
	build(pieces, 1, &alone);
	build(pieces, 2, &both);
	for (q = 0; q < piece.part.nr_queues; q++) {
		expect_place(&both, q, alone.rings[q].used - 1, 0, piece.part.nr_steps);
		assert_int_not_equal(1, cc_place_of_descriptor(&both, q, false, 0)->piece);
		assert_int_equal(1, cc_place_of_descriptor(&both, q, false,
							   alone.rings[q].used)->piece);
	}
	cc_program_free(&both);
	cc_program_free(&alone);
	drop(&piece);
}

/* The copies of tensors before the first step, and what each queue posts behind its own. */
static void collects(void **state)
{
	const struct cc_place *place;
	struct cc_program program;
	struct piece piece;
	unsigned int q, copies;

	(void)state;
	make(&piece, true);
	build(&piece.piece, 1, &program);
	for (q = 0; q < piece.part.nr_queues; q++) {
		copies = (FLOATS / 16 - q - 1) / piece.part.nr_queues + 1;
		expect_place(&program, q, 0, 0, CC_STEP_COLLECT);
		expect_place(&program, q, copies - 1, 0, CC_STEP_COLLECT);
		expect_place(&program, q, copies, 0, CC_STEP_COLLECT);
		place = cc_place_of_descriptor(&program, q, false, copies + 1);
		assert_int_not_equal(CC_STEP_COLLECT, place->step);
		expect_place(&program, q, program.rings[q].used - 1, 0, piece.part.nr_steps);
	}
	cc_program_free(&program);
	drop(&piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
		cmocka_unit_test(collects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
