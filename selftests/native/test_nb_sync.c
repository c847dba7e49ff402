// SPDX-License-Identifier: MIT
/*
 * What the builder synchronises by itself: programs by chance have no race, and the bits of the
 * same program executed one instruction after the other; without one of the waits they have a
 * race. NB_SYNC_PROGRAMS in the environment is the number of programs, NB_SYNC_SEED the first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sync_run.h"

#define PROGRAMS	150
/* Waits that are deleted from a program, each in a run of its own. */
#define DELETED		2

/* As the builder synchronises it, and in turns. */
static void try_program(struct machine *machine, const struct sync_program *program,
			uint64_t seed, uint64_t *waits)
{
	struct nb_program *by_itself = sync_program_auto(program);
	struct nb_program *in_turns = sync_program_serial(program);
	struct run a, b;

	assert_non_null(by_itself);
	assert_non_null(in_turns);
	sync_execute(machine, by_itself, seed, &a);
	*waits += nb_waits(by_itself);
	sync_expect_clean(machine, by_itself, &a, seed);
	sync_execute(machine, in_turns, seed, &b);
	assert_int_equal(b.races, 0);
	sync_expect_same(&a, &b, seed);
	run_free(&a);
	run_free(&b);
	nb_free(by_itself);
	nb_free(in_turns);
}

static void print_coverage(const unsigned int *kinds, uint64_t programs, uint64_t waits)
{
	unsigned int i;

	print_message("# %" PRIu64 " programs from seed %" PRIu64 " on, %" PRIu64 " waits:",
		      programs, sync_setting("NB_SYNC_SEED", 1), waits);
	for (i = 0; i < SYNC_KINDS; i++)
		print_message(" %s %u", sync_kind_name[i], kinds[i]);
	print_message("\n");
}

/* With one worker, which does one engine after the other, and with two. */
static void programs_run_as_in_order(void **state)
{
	uint64_t programs = sync_setting("NB_SYNC_PROGRAMS", PROGRAMS), i, waits = 0;
	uint64_t first = sync_setting("NB_SYNC_SEED", 1);
	unsigned int kinds[SYNC_KINDS] = { 0 }, k, m;
	struct sync_program program;
	struct machine machine[6];

	(void)state;
	for (m = 0; m < 6; m++)
		machine_begin(&machine[m], sync_gens[m % 3], m < 3 ? TRN_POOL_STEPPED : 2);
	for (i = 0; i < programs; i++) {
		m = i % 6;
		sync_program_make(&program, first + i, machine[m].gen->generation, true);
		try_program(&machine[m], &program, first + i, &waits);
		for (k = 0; k < SYNC_KINDS; k++)
			kinds[k] += program.kinds[k];
	}
	for (m = 0; m < 6; m++)
		seq_rig_destroy(&machine[m].rig);
	print_coverage(kinds, programs, waits);
	for (k = 0; k < SYNC_KINDS; k++)
		if (!kinds[k])
			fail_msg("no program has %s", sync_kind_name[k]);
}

static void delete_wait(struct nb_program *nb, size_t i, uint64_t seed)
{
	enum neuron_engine engine;
	struct neuron_inst *inst;
	uint32_t pc;

	assert_true(nb_wait_at(nb, i, &engine, &pc));
	inst = nb_inst(nb, engine, pc);
	if (!inst || !(inst->sync & NEURON_SYNC_WAIT))
		fail_msg("seed %" PRIu64 ": wait %zu is not at instruction %u", seed, i, pc);
	inst->sync &= ~(NEURON_SYNC_WAIT | NEURON_SYNC_TAKE);
	inst->wait_sem = 0;
	inst->wait_value = 0;
}

/* True: a race was reported without wait @i of the program. */
static bool is_missed(struct machine *machine, const struct sync_program *program,
		      uint64_t seed, uint64_t chance)
{
	struct nb_program *nb = sync_program_auto(program);
	bool verbose = getenv("NB_SYNC_VERBOSE");
	char text[1024];
	struct run run;
	size_t i;

	assert_non_null(nb);
	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	i = chance % nb_waits(nb);
	delete_wait(nb, i, seed);
	sync_execute(machine, nb, seed, &run);
	if (verbose && !run.races) {
		nb_why(nb, i, text, sizeof(text));
		print_message("# seed %" PRIu64 ", not missed: %s\n", seed, text);
	}
	run_free(&run);
	nb_free(nb);
	if (!run.ended) {
		seq_rig_destroy(&machine->rig);
		machine_begin(machine, machine->gen, TRN_POOL_STEPPED);
	}
	return run.races;
}

/* Returns how many waits were deleted; *@missed: how many of them were missed. */
static uint64_t delete_waits(bool loops, uint64_t *missed)
{
	uint64_t programs = sync_setting("NB_SYNC_PROGRAMS", PROGRAMS), i;
	uint64_t first = sync_setting("NB_SYNC_SEED", 1), deleted = 0;
	struct sync_program program;
	struct machine machine[3];
	unsigned int m, d;

	*missed = 0;
	for (m = 0; m < 3; m++)
		machine_begin(&machine[m], sync_gens[m], TRN_POOL_STEPPED);
	for (i = 0; i < programs; i++) {
		m = i % 3;
		sync_program_make(&program, first + i, machine[m].gen->generation, loops);
		/* What is perhaps never executed needs no waits. */
		if (program.kinds[SYNC_WHILE] || program.kinds[SYNC_IF])
			continue;
		deleted += DELETED;
		for (d = 0; d < DELETED; d++)
			*missed += is_missed(&machine[m], &program, first + i,
					    (first + i) * 1000003 + d * 7919);
	}
	for (m = 0; m < 3; m++)
		seq_rig_destroy(&machine[m].rig);
	return deleted;
}

static void print_deleted(const char *what, uint64_t missed, uint64_t deleted)
{
	print_message("# %s: %" PRIu64 " of %" PRIu64 " deleted waits gave a race\n", what, missed,
		      deleted);
}

static void each_wait_is_needed(void **state)
{
	uint64_t missed, deleted = delete_waits(false, &missed);

	(void)state;
	print_deleted("without loops", missed, deleted);
	assert_true(missed * 100 >= deleted * 95);
}

static void most_waits_of_loops_are_needed(void **state)
{
	uint64_t missed, deleted = delete_waits(true, &missed);

	(void)state;
	print_deleted("with loops", missed, deleted);
	assert_true(missed * 100 >= deleted * 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_run_as_in_order),
		cmocka_unit_test(each_wait_is_needed),
		cmocka_unit_test(most_waits_of_loops_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
