// SPDX-License-Identifier: MIT
/*
 * The fuzzer of the ioctls without a device: its grammar knows the whole interface, and the
 * programs that it makes can be written, read and made again.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#include "program.h"

#define PROGRAMS	3000
#define PREFIX		"#define DRM_IOCTL_NEURON_"

/* The file whose path a variable has. */
static FILE *open_named(const char *variable)
{
	const char *path = getenv(variable);
	FILE *f = path ? fopen(path, "r") : NULL;

	if (!f)
		fail_msg("%s does not name a file", variable);
	return f;
}

/* The interface's header, line by line: each ioctl that it defines is in the grammar. */
static void no_ioctl_is_missing(void **state)
{
	FILE *f = open_named("ACCEL_HEADER");
	unsigned int found = 0;
	char line[512];
	size_t length;

	(void)state;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, PREFIX, strlen(PREFIX)))
			continue;
		length = strcspn(line + strlen(PREFIX), " \t\n");
		if (fuzz_call_named(line + strlen(PREFIX), length) < 0)
			fail_msg("the grammar has no %.*s: selftests/drivers/fuzz/grammar.c",
				 (int)length, line + strlen(PREFIX));
		found++;
	}
	fclose(f);
	assert_true(found >= DRM_NEURON_EVENTS);
}

/* Each byte of the struct once, or the struct has grown and the grammar has not. */
static void cover_struct(const struct fuzz_struct *type)
{
	uint8_t *times = calloc(type->size, 1);
	const struct fuzz_field *field;
	unsigned int i, j;

	assert_non_null(times);
	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		assert_true(field->offset + field->repeat * field->size <= type->size);
		for (j = 0; j < (unsigned int)field->repeat * field->size; j++)
			times[field->offset + j]++;
		if (field->element)
			cover_struct(field->element);
	}
	for (i = 0; i < type->size; i++)
		if (times[i] != 1)
			fail_msg("byte %u of %s is in %u fields of the grammar", i, type->name,
				 times[i]);
	free(times);
}

static void every_byte_is_a_field(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < fuzz_nr_calls; i++) {
		cover_struct(fuzz_calls[i].args);
		if (fuzz_calls[i].request)
			assert_int_equal(_IOC_SIZE(fuzz_calls[i].request),
					 fuzz_calls[i].args->size);
	}
}

/* What the text says must be the program again. */
static void round_trip(const struct fuzz_program *program)
{
	struct fuzz_program again;
	char error[160], *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fuzz_write(f, program);
	fclose(f);
	f = fmemopen(text, size, "r");
	assert_non_null(f);
	if (fuzz_read(f, &again, error, sizeof(error)) != 1)
		fail_msg("%s in\n%s", error, text);
	assert_true(fuzz_program_equal(program, &again));
	fuzz_program_free(&again);
	assert_int_equal(fuzz_read(f, &again, error, sizeof(error)), 0);
	fclose(f);
	free(text);
}

static void programs_can_be_written_and_read(void **state)
{
	struct fuzz_chance chance = { .state = 7 };
	struct fuzz_program last = { 0 }, program;
	unsigned int i;

	(void)state;
	for (i = 0; i < PROGRAMS; i++) {
		program = (struct fuzz_program){ 0 };
		if (i % 3)
			fuzz_program_copy(&program, &last);
		else
			fuzz_generate(&program, &chance);
		fuzz_mutate(&program, &last, &chance);
		round_trip(&program);
		fuzz_program_free(&last);
		last = program;
	}
	fuzz_program_free(&last);
}

static void every_call_is_made(void **state)
{
	struct fuzz_chance chance = { .state = 1 };
	unsigned int *times = calloc(fuzz_nr_calls, sizeof(*times));
	struct fuzz_program program;
	unsigned int i, j;

	(void)state;
	assert_non_null(times);
	for (i = 0; i < PROGRAMS; i++) {
		program = (struct fuzz_program){ 0 };
		fuzz_generate(&program, &chance);
		for (j = 0; j < program.count; j++)
			times[program.call[j].id]++;
		fuzz_program_free(&program);
	}
	for (i = 0; i < fuzz_nr_calls; i++)
		if (!times[i])
			fail_msg("%s is in none of %d programs", fuzz_calls[i].name, PROGRAMS);
	free(times);
}

/* Mutation has an effect. */
static void a_change_changes_something(void **state)
{
	struct fuzz_chance chance = { .state = 3 };
	struct fuzz_program program, changed;
	unsigned int i, same = 0;

	(void)state;
	for (i = 0; i < PROGRAMS; i++) {
		program = (struct fuzz_program){ 0 };
		fuzz_generate(&program, &chance);
		fuzz_program_copy(&changed, &program);
		fuzz_mutate(&changed, NULL, &chance);
		same += fuzz_program_equal(&program, &changed);
		fuzz_program_free(&program);
		fuzz_program_free(&changed);
	}
	/* Some get the value that they have. */
	assert_true(same < PROGRAMS / 4);
}

static void the_same_seed_makes_the_same(void **state)
{
	struct fuzz_program program[2];
	struct fuzz_chance chance;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		chance = (struct fuzz_chance){ .state = 42 };
		program[i] = (struct fuzz_program){ 0 };
		fuzz_generate(&program[i], &chance);
		fuzz_mutate(&program[i], NULL, &chance);
	}
	assert_true(fuzz_program_equal(&program[0], &program[1]));
	chance = (struct fuzz_chance){ .state = 43 };
	fuzz_program_free(&program[1]);
	program[1] = (struct fuzz_program){ 0 };
	fuzz_generate(&program[1], &chance);
	assert_false(fuzz_program_equal(&program[0], &program[1]));
	fuzz_program_free(&program[0]);
	fuzz_program_free(&program[1]);
}

static void the_seeds_are_programs(void **state)
{
	FILE *f = open_named("FUZZ_SEEDS");
	struct fuzz_program program;
	unsigned int count = 0;
	char error[160];
	int ret;

	(void)state;
	while ((ret = fuzz_read(f, &program, error, sizeof(error))) > 0) {
		round_trip(&program);
		fuzz_program_free(&program);
		count++;
	}
	if (ret)
		fail_msg("seed %u: %s", count, error);
	fclose(f);
	assert_true(count > 10);
}

static void wrong_text_is_refused(void **state)
{
	static const char *const wrong[] = {
		"CLAIM count=0x1\n",
		"program threads=9\nCLAIM count=0x1\n",
		"program threads=1\nNOTHING\n",
		"program threads=1\nCLAIM cont=0x1\n",
		"program threads=1\nCLAIM count=\n",
		"program threads=1\nCLAIM count=0x1 cores=0x1\n",
		"program threads=1\nRELEASE claim=$clam0\n",
		"program threads=1\nWINDOWS windows={}\n",
		"program threads=1\nWINDOWS windows=[{]\n",
		"program threads=1\nQUERY answer={},{}\n",
	};
	struct fuzz_program program;
	char error[160];
	unsigned int i;
	FILE *f;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		f = fmemopen((void *)wrong[i], strlen(wrong[i]), "r");
		assert_non_null(f);
		if (fuzz_read(f, &program, error, sizeof(error)) != -1)
			fail_msg("this was taken for a program:\n%s", wrong[i]);
		assert_true(isprint(error[0]));
		fclose(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ioctl_is_missing),
		cmocka_unit_test(every_byte_is_a_field),
		cmocka_unit_test(programs_can_be_written_and_read),
		cmocka_unit_test(every_call_is_made),
		cmocka_unit_test(a_change_changes_something),
		cmocka_unit_test(the_same_seed_makes_the_same),
		cmocka_unit_test(the_seeds_are_programs),
		cmocka_unit_test(wrong_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
