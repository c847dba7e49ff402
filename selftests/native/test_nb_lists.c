// SPDX-License-Identifier: MIT
/*
 * Lists of tensors in collectives, as the builder takes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "neuron_builder.h"
#include "neuron/neff.h"

#define F32	NEURON_DTYPE_FP32

static const uint32_t two_ranks[] = { 0, 1 };

static void expect_error(struct nb_program *nb, const char *text)
{
	const char *error = nb_error(nb);

	if (!error || strcmp(error, text))
		fail_msg("'%s', not '%s'", error ? error : "no error", text);
	nb_free(nb);
}

/* The error of a collective of two ranks with the lists @what has. */
static void expect_bad_lists(struct nb_collective what, const char *op, const char *text)
{
	struct nb_program *nb = nb_new("lists");
	const struct nb_side side = nb_linear(nb_tmp(nb, "x", 256), 0, 256);
	struct nb_side leaves = side;

	leaves.offset = 4;
	what.op = op;
	what.dtype = F32;
	what.inputs = what.inputs ? &leaves : &side;
	what.outputs = what.outputs ? NULL : &side;
	what.ranks = two_ranks;
	what.group_size = 2;
	what.nr_groups = 1;
	what.semaphore = 16;
	nb_collective(nb, "c", &what);
	expect_error(nb, text);
}

/* Rows of 16 bytes of variable @var, from byte @begin on. */
static struct nb_side rows(int var, uint64_t begin, uint32_t nr, int64_t step)
{
	struct nb_side side = nb_linear(var, begin, 16);

	side.ndim = 2;
	side.size[1] = nr;
	side.step[1] = step;
	return side;
}

/* A sum of two tensors; the second output begins at byte @begin; from row to row it is @step. */
static struct nb_program *two_outputs(uint64_t begin, int64_t step)
{
	struct nb_program *nb = nb_new("lists");
	int x = nb_virtual(nb, "x", 512, 0), y = nb_virtual(nb, "y", 512, 256);
	const struct nb_side inputs[] = { nb_linear(x, 0, 64), nb_linear(x, 0, 64) };
	const struct nb_side outputs[] = { rows(x, 256, 4, 32), rows(y, begin, 4, step) };
	const struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .inputs = inputs,
		.outputs = outputs, .nr_parts = 2, .ranks = two_ranks, .group_size = 2,
		.nr_groups = 1, .semaphore = 16,
	};

	nb_collective(nb, "c", &what);
	return nb;
}

/* Queues write them in no order. The two variables have bytes of the scratchpad in common. */
static void outputs_that_overlap_are_refused(void **state)
{
	struct nb_program *nb = two_outputs(16, 32);

	(void)state;
	if (nb_error(nb))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
	expect_error(two_outputs(12, 32),
		     "collective \"c\": outputs 0 and 1 have bytes in common");
	expect_error(two_outputs(16, 36),
		     "collective \"c\": outputs 0 and 1 have bytes in common");
	expect_error(two_outputs(256, 12),
		     "collective \"c\": outputs 1 and 1 have bytes in common");
	expect_error(two_outputs(256, 0),
		     "collective \"c\": outputs 1 and 1 have bytes in common");
}

static void bad_lists_are_refused(void **state)
{
	static const struct nb_side any;

	(void)state;
	expect_bad_lists((struct nb_collective){ .nr_parts = NEFF_MAX_PARTS + 1 }, "alltoall",
			 "collective \"c\": lists of 1 to 64 inputs and outputs are needed");
	expect_bad_lists((struct nb_collective){ .nr_parts = 1, .outputs = &any }, "alltoall",
			 "collective \"c\": lists of 1 to 64 inputs and outputs are needed");
	expect_bad_lists((struct nb_collective){ .nr_parts = 1, .inputs = &any }, "alltoall",
			 "a transfer leaves \"x\", which has 256 bytes");
	expect_bad_lists((struct nb_collective){ .nr_parts = 1 }, "barrier",
			 "collective \"c\": a barrier has no lists of tensors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(outputs_that_overlap_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
