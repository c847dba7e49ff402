// SPDX-License-Identifier: MIT
/*
 * Lists of tensors in collectives, as the builder takes them; and how bytes in common are found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "neuron_builder.h"
#include "neuron/neff.h"
#include "neff/part.h"

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

/* --- Bytes in common --- */

#define SPAN	1024

struct marks {
	uint8_t count[SPAN];
};

static void mark(struct marks *marks, const struct neff_part *part)
{
	uint64_t i[NEFF_MAX_DESC_DIMS], at;

	for (i[3] = 0; i[3] < part->size[3]; i[3]++)
		for (i[2] = 0; i[2] < part->size[2]; i[2]++)
			for (i[1] = 0; i[1] < part->size[1]; i[1]++)
				for (i[0] = 0; i[0] < part->size[0]; i[0]++) {
					at = part->begin + i[0] + i[1] * part->step[1] +
					     i[2] * part->step[2] + i[3] * part->step[3];
					assert_true(at < SPAN);
					marks->count[at]++;
				}
}

static uint32_t next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* Rows of @step, some of them backwards; it has another dimension or two now and then. */
static struct neff_part any_part(uint32_t *seed, uint32_t step)
{
	struct neff_part part = {
		.begin = SPAN / 2 + next(seed, 80),
		.size = { 1 + next(seed, 8), 1 + next(seed, 9), 1, 1 },
		.step = { 1, next(seed, 2) ? step : -(int64_t)step, 0, 0 },
	};
	unsigned int i;

	for (i = 2; i < NEFF_MAX_DESC_DIMS && next(seed, 2); i++) {
		part.size[i] = 1 + next(seed, 4);
		part.step[i] = (int64_t)next(seed, 60) - 30;
	}
	return part;
}

/* Each byte is counted for comparison. */
static void bytes_in_common_are_found(void **state)
{
	uint32_t seed = 1, tries, met = 0, repeated = 0, i, k;

	(void)state;
	for (i = 0; i < 20000; i++) {
		const uint32_t step = next(&seed, 40);
		struct neff_part a = any_part(&seed, step);
		struct neff_part b = any_part(&seed, next(&seed, 4) ? step : next(&seed, 40));
		struct marks in_a = { 0 }, in_b = { 0 };
		int meet = 0, repeats = 0;

		mark(&in_a, &a);
		mark(&in_b, &b);
		for (k = 0; k < SPAN; k++) {
			meet |= in_a.count[k] && in_b.count[k];
			repeats |= in_a.count[k] > 1;
		}
		tries = NEFF_PART_TRIES;
		assert_int_equal(neff_parts_meet(a, b, &tries), meet);
		assert_int_equal(neff_parts_meet(b, a, &tries), meet);
		assert_int_equal(neff_part_repeats(a, &tries), repeats);
		met += meet;
		repeated += repeats;
	}
	assert_in_range(met, 2000, 18000);
	assert_in_range(repeated, 2000, 18000);
}

/* A sum of 64 columns of a matrix, 16 bytes of 4096 rows; the last begins @before too early. */
static struct nb_program *columns(unsigned int before)
{
	struct nb_program *nb = nb_new("lists");
	int x = nb_tmp(nb, "x", 64 * 4096 * 16), y = nb_tmp(nb, "y", 64 * 4096 * 16);
	struct nb_side inputs[64], outputs[64];
	const struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .inputs = inputs,
		.outputs = outputs, .nr_parts = 64, .ranks = two_ranks, .group_size = 2,
		.nr_groups = 1, .semaphore = 16,
	};
	unsigned int i;

	for (i = 0; i < 64; i++) {
		inputs[i] = nb_linear(x, i * 4096 * 16, 4096 * 16);
		outputs[i] = rows(y, i * 16 - (i == 63 ? before : 0), 4096, 1024);
	}
	nb_collective(nb, "c", &what);
	return nb;
}

static void columns_of_a_matrix_are_taken(void **state)
{
	struct nb_program *nb = columns(0);

	(void)state;
	if (nb_error(nb))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
	expect_error(columns(4), "collective \"c\": outputs 62 and 63 have bytes in common");
}

/* The comparisons are counted for all lists of a program; the rows are cut up in different ways. */
static void too_many_pieces_are_refused(void **state)
{
	struct nb_program *nb = nb_new("lists");
	const uint32_t nr = 1 << 20;
	int x = nb_tmp(nb, "x", 16 * nr), y = nb_tmp(nb, "y", 64 * nr);
	const struct nb_side inputs[] = { nb_linear(x, 0, 16 * nr), nb_linear(x, 0, 16 * nr) };
	struct nb_side outputs[] = { rows(y, 0, nr, 64), rows(y, 32, nr / 2, 128) };
	const struct nb_collective what = {
		.op = "all_reduce", .reduce = "add", .dtype = F32, .inputs = inputs,
		.outputs = outputs, .nr_parts = 2, .ranks = two_ranks, .group_size = 2,
		.nr_groups = 1, .semaphore = 16,
	};

	(void)state;
	outputs[1].ndim = 3;
	outputs[1].size[2] = 2;
	outputs[1].step[2] = 64;
	nb_collective(nb, "c", &what);
	nb_collective(nb, "d", &what);
	if (nb_error(nb))
		fail_msg("%s", nb_error(nb));
	nb_collective(nb, "e", &what);
	expect_error(nb,
		     "collective \"e\": output 1 is in too many pieces to tell whether it overlaps with others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(outputs_that_overlap_are_refused),
		cmocka_unit_test(bytes_in_common_are_found),
		cmocka_unit_test(columns_of_a_matrix_are_taken),
		cmocka_unit_test(too_many_pieces_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
