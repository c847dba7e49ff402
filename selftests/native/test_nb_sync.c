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

static unsigned int cores_of(const struct sync_program *program)
{
	return program->pair ? 2 : 1;
}

/* As the builder synchronises it, and in turns. */
static void try_program(struct machine *machine, const struct sync_program *program,
			uint64_t seed, uint64_t *waits)
{
	struct nb_program *by_itself = sync_program_auto(program);
	struct nb_program *in_turns = sync_program_serial(program);
	unsigned int cores = cores_of(program);
	struct run a, b;

	assert_non_null(by_itself);
	assert_non_null(in_turns);
	sync_execute(machine, by_itself, cores, seed, &a);
	*waits += nb_waits(by_itself);
	if (program->pair)
		*waits += nb_waits(nb_second(by_itself));
	sync_expect_clean(machine, by_itself, &a, seed);
	sync_execute(machine, in_turns, cores, seed, &b);
	sync_expect_clean(machine, in_turns, &b, seed);
	sync_expect_same(&a, &b, seed);
	run_free(&a);
	run_free(&b);
	nb_free(by_itself);
	nb_free(in_turns);
}

/* Each of the first @count kinds must be there. */
static void print_coverage(const unsigned int *kinds, unsigned int count, uint64_t programs,
			   uint64_t waits)
{
	unsigned int i;

	print_message("# %" PRIu64 " programs from seed %" PRIu64 " on, %" PRIu64 " waits:",
		      programs, sync_setting("NB_SYNC_SEED", 1), waits);
	for (i = 0; i < count; i++)
		print_message(" %s %u", sync_kind_name[i], kinds[i]);
	print_message("\n");
	for (i = 0; i < count; i++)
		if (!kinds[i])
			fail_msg("no program has %s", sync_kind_name[i]);
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
	print_coverage(kinds, SYNC_KINDS_ALONE, programs, waits);
}

/* Programs for the two cores of a pair, which meet by barriers: there are none on trn1. */
static void pairs_run_as_in_order(void **state)
{
	uint64_t programs = sync_setting("NB_SYNC_PROGRAMS", PROGRAMS), i, waits = 0;
	uint64_t first = sync_setting("NB_SYNC_SEED", 1);
	unsigned int kinds[SYNC_KINDS] = { 0 }, k, m;
	struct sync_program pair[2];
	struct machine machine[4];

	(void)state;
	for (m = 0; m < 4; m++)
		machine_begin(&machine[m], sync_gens[1 + m % 2], m < 2 ? TRN_POOL_STEPPED : 2);
	for (i = 0; i < programs; i++) {
		m = i % 4;
		sync_pair_make(pair, first + i, machine[m].gen->generation, true);
		try_program(&machine[m], pair, first + i, &waits);
		for (k = 0; k < SYNC_KINDS; k++)
			kinds[k] += pair[0].kinds[k] + pair[1].kinds[k];
	}
	for (m = 0; m < 4; m++)
		seq_rig_destroy(&machine[m].rig);
	print_coverage(kinds, SYNC_KINDS, programs, waits);
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

/**
 * struct tally - waits that were deleted, each in a run of its own
 * @deleted, @missed: those for bytes that are touched again, and of them those that gave a race
 * @by_hand, @by_hand_missed: those at a barrier of two cores, which must be there although often
 *	the other core touches none of these bytes
 */
struct tally {
	uint64_t deleted;
	uint64_t missed;
	uint64_t by_hand;
	uint64_t by_hand_missed;
};

/* Without wait @i of @part, which is @nb or the second program of its pair. */
static void try_without(struct machine *machine, struct nb_program *nb, unsigned int cores,
			struct nb_program *part, size_t i, uint64_t seed, struct tally *tally)
{
	char text[1024];
	struct run run;
	bool by_hand;

	nb_why(part, i, text, sizeof(text));
	by_hand = strstr(text, "by hand");
	delete_wait(part, i, seed);
	sync_execute(machine, nb, cores, seed, &run);
	if (getenv("NB_SYNC_VERBOSE") && !run.races)
		print_message("# seed %" PRIu64 ", not missed: %s\n", seed, text);
	*(by_hand ? &tally->by_hand : &tally->deleted) += 1;
	*(by_hand ? &tally->by_hand_missed : &tally->missed) += !!run.races;
	run_free(&run);
	if (run.ended)
		return;
	seq_rig_destroy(&machine->rig);
	machine_begin(machine, machine->gen, TRN_POOL_STEPPED);
}

static void try_without_one(struct machine *machine, const struct sync_program *program,
			    uint64_t seed, uint64_t chance, struct tally *tally)
{
	struct nb_program *nb = sync_program_auto(program), *part = nb;

	assert_non_null(nb);
	if (nb_sync(nb) || (program->pair && nb_sync(nb_second(nb))))
		fail_msg("%s", nb_error(nb));
	if (program->pair && chance / 2 % 2)
		part = nb_second(nb);
	try_without(machine, nb, cores_of(program), part, chance % nb_waits(part), seed, tally);
	nb_free(nb);
}

/* What is perhaps never executed needs no waits. */
static bool is_all_executed(const struct sync_program *program)
{
	return !program->kinds[SYNC_WHILE] && !program->kinds[SYNC_IF];
}

static void delete_waits(bool loops, bool pairs, struct tally *tally)
{
	uint64_t programs = sync_setting("NB_SYNC_PROGRAMS", PROGRAMS), i;
	uint64_t first = sync_setting("NB_SYNC_SEED", 1);
	struct sync_program program[2];
	struct machine machine[3];
	unsigned int m, d;

	for (m = 0; m < 3; m++)
		machine_begin(&machine[m], sync_gens[m], TRN_POOL_STEPPED);
	for (i = 0; i < programs; i++) {
		m = pairs ? 1 + i % 2 : i % 3;
		if (pairs)
			sync_pair_make(program, first + i, machine[m].gen->generation, loops);
		else
			sync_program_make(program, first + i, machine[m].gen->generation, loops);
		if (!is_all_executed(&program[0]) || (pairs && !is_all_executed(&program[1])))
			continue;
		for (d = 0; d < DELETED; d++)
			try_without_one(&machine[m], program, first + i,
					(first + i) * 1000003 + d * 7919, tally);
	}
	for (m = 0; m < 3; m++)
		seq_rig_destroy(&machine[m].rig);
}

static void print_deleted(const char *what, uint64_t missed, uint64_t deleted)
{
	print_message("# %s: %" PRIu64 " of %" PRIu64 " deleted waits gave a race\n", what, missed,
		      deleted);
}

static void each_wait_is_needed(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	delete_waits(false, false, &tally);
	print_deleted("without loops", tally.missed, tally.deleted);
	assert_int_equal(tally.by_hand, 0);
	assert_true(tally.missed * 100 >= tally.deleted * 95);
}

/* A race with the other core counts as well. */
static void each_wait_of_pairs_is_needed(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	delete_waits(false, true, &tally);
	print_deleted("of two cores", tally.missed, tally.deleted);
	print_deleted("of two cores, at barriers", tally.by_hand_missed, tally.by_hand);
	assert_true(tally.missed * 100 >= tally.deleted * 95);
	assert_true(tally.by_hand_missed * 4 >= tally.by_hand);
}

static void most_waits_of_loops_are_needed(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	delete_waits(true, false, &tally);
	print_deleted("with loops", tally.missed, tally.deleted);
	assert_true(tally.missed * 100 >= tally.deleted * 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_run_as_in_order),
		cmocka_unit_test(pairs_run_as_in_order),
		cmocka_unit_test(each_wait_is_needed),
		cmocka_unit_test(each_wait_of_pairs_is_needed),
		cmocka_unit_test(most_waits_of_loops_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
