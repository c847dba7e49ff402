// SPDX-License-Identifier: MIT
/* What a chip refuses is refused at assembly, with the rule: always, or with a target. */
#include <stdio.h>
#include <string.h>

#include "as_rig.h"

#define NO_TARGET	0
#define TRN1		2
#define TRN2		3
#define TRN3		4

/* One line for @engine, for the NeuronCores of @generation; what was said is in @log. */
static bool takes(unsigned int generation, const char *engine, const char *line,
		  struct as_log *log)
{
	const struct as_options options = {
		.file = "test.s",
		.name = "test",
		.generation = generation,
		.report = as_keep,
		.context = log,
	};
	struct nb_program *nb;
	char text[512];

	memset(log, 0, sizeof(*log));
	snprintf(text, sizeof(text), ".engine %s\n%s\nhalt\n", engine, line);
	nb = as_assemble(text, strlen(text), &options);
	nb_free(nb);
	return nb;
}

static void refused(unsigned int generation, const char *engine, const char *line,
		    const char *rule)
{
	struct as_log log;

	assert_false(takes(generation, engine, line, &log));
	assert_int_equal(log.errors, 1);
	assert_int_equal(log.line, 2);
	assert_string_equal(log.text, rule);
}

static void taken(unsigned int generation, const char *engine, const char *line,
		  unsigned int warnings)
{
	struct as_log log;

	if (!takes(generation, engine, line, &log))
		fail_msg("%s: %s", line, log.text);
	assert_int_equal(log.warnings, warnings);
}

/* A rule of all generations: a program that shows the fault can still be made. */
static void a_rule_of_all_chips(void **state)
{
	const char *line = "copy sbuf[0:128, 0 : 16 fp32], sbuf[0:128, 0x1000 : 32 fp32]";
	const char *rule = "copy: src has 32 elements of a partition, dst 16";
	unsigned int generation;

	(void)state;
	taken(NO_TARGET, "vector", line, 1);
	for (generation = TRN1; generation <= TRN3; generation++)
		refused(generation, "vector", line, rule);
}

static void a_rule_of_old_chips(void **state)
{
	const char *fp8 = "copy sbuf[0:32, 0 : 8 fp8_e4fn], sbuf[0:32, 0x100 : 8 bf16]";
	const char *rng = "rng sbuf[0:128, 0 : 16 uint8]";

	(void)state;
	taken(NO_TARGET, "vector", fp8, 0);
	taken(TRN3, "vector", fp8, 0);
	refused(TRN2, "vector", fp8,
		"copy: dst is fp8_e4fn, which NeuronCore-v3 does not have");
	taken(TRN2, "gpsimd", rng, 0);
	refused(TRN1, "gpsimd", rng,
		"rng: it begins with NeuronCore-v3 there, the program is for v2");
}

static void a_place_of_old_chips(void **state)
{
	const char *line = "memset sbuf[0:128, 0x30000 : 1 fp32], 0.0";

	(void)state;
	taken(TRN3, "vector", line, 0);
	refused(TRN1, "vector", line,
		"memset: dst has bytes 196608 to 196611 of a partition, which has 196608");
}

/* What no text can make of these operands is an error without a target, too. */
static void what_is_no_instruction(void **state)
{
	(void)state;
	refused(NO_TARGET, "tensor",
		"load_stationary sbuf[0:32, 0x400 : 64 fp16] array[32:63, 64:128]",
		"load_stationary: a part of the array has 32, 64 or 128 rows and columns at a multiple");
	refused(NO_TARGET, "tensor",
		"matmul psum[0:128, 0 : 10 fp32], sbuf[0:64, 0x800 : 10 bf16] acc written[0:128, 0:6]",
		"matmul: written needs a range, and goes with neither acc nor transpose");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_of_all_chips),
		cmocka_unit_test(a_rule_of_old_chips),
		cmocka_unit_test(a_place_of_old_chips),
		cmocka_unit_test(what_is_no_instruction),
	};

	return cmocka_run_group_tests_name("as_target", tests, NULL, NULL);
}
