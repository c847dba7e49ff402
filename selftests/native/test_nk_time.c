// SPDX-License-Identifier: MIT
/*
 * The device times of a product of 2048-cubes that Documentation/tools/kernels.rst has are those
 * of the kernel as it is, on each generation. It takes long: only with NEURON_TEST_THOROUGH=1.
 */
#include "nk_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rounds.h"

#define SIZE	2048u
/* The manual has tenths of a microsecond. */
#define SLACK_US 0.051

/* A line of the table: "trn2        225.5 us ...". -1: there is none. */
static double time_of_manual(unsigned int chip)
{
	const char *path = getenv("NK_MANUAL");
	FILE *file = path ? fopen(path, "r") : NULL;
	double us = -1, found;
	char line[256];
	unsigned int n;

	assert_non_null(file);
	while (us < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "trn%u %lf us ", &n, &found) == 2 && n == chip)
			us = found;
	fclose(file);
	return us;
}

static void products_take_as_long_as_the_manual_says(void **state)
{
	const struct nb_schedule_options options = { 0 };
	struct nk_rig rigs[NK_RIGS];
	unsigned int g, wrong = 0;
	double us, manual;

	(void)state;
	if (!rounds_thorough())
		skip();
	nk_rigs_init(rigs, true);
	for (g = 0; g < NK_RIGS; g++) {
		struct nk_rig *rig = &rigs[g];

		nk_rig_begin(rig);
		nk_rig_input(rig, NEURON_DTYPE_BF16, SIZE, SIZE, 1.0);
		nk_rig_input(rig, NEURON_DTYPE_BF16, SIZE, SIZE, 1.0);
		nk_rig_output(rig, NEURON_DTYPE_BF16, SIZE, SIZE);
		nk_gemm(&rig->nk, rig->tensor[2], rig->tensor[0], rig->tensor[1],
			NK_A_TRANSPOSED);
		nk_rig_run(rig, &options);
		us = (double)rig->elapsed_ns * 1e-3;
		manual = time_of_manual(g + 1);
		print_message("# trn%u: %.3f us, the manual says %.1f us\n", g + 1, us, manual);
		wrong += fabs(us - manual) > SLACK_US;
	}
	nk_rigs_destroy(rigs);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_take_as_long_as_the_manual_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
