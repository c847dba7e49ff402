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

#include "isa/trn_isa.h"
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

/* A register decides what of @program is executed; of a pair, of one of both. */
static bool has_tests(const struct sync_program *program)
{
	bool tests = false;
	unsigned int i;

	for (i = 0; i < cores_of(program); i++)
		tests |= program[i].kinds[SYNC_WHILE] || program[i].kinds[SYNC_IF];
	return tests;
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

/* What waits are for, as nb_why() says it. */
enum cause {
	CAUSE_BYTES,		/* bytes that are touched again */
	CAUSE_PERHAPS,		/* bytes that may be touched again */
	CAUSE_SLOT,
	CAUSE_DRAIN,
	CAUSE_MEET,
	CAUSE_LEFT,
	CAUSE_HAND,
	CAUSES
};

static const struct {
	const char *name;
	const char *text;
} causes[CAUSES] = {
	[CAUSE_BYTES] = { "bytes", "" },
	[CAUSE_PERHAPS] = { "bytes that may be touched", "" },
	[CAUSE_SLOT] = { "semaphores", "takes over its semaphore" },
	[CAUSE_DRAIN] = { "transfers of a loop", "somebody behind a loop" },
	[CAUSE_MEET] = { "where engines meet", "all engines meet" },
	[CAUSE_LEFT] = { "posts that are left", "has left" },
	[CAUSE_HAND] = { "barriers of two cores", "by hand" },
};

/* The instruction that @text begins with; not a nop that waits for the one behind it. */
static const struct neuron_inst *named(struct nb_program *nb, const char *text)
{
	const struct neuron_inst *inst;
	unsigned int e = 0, pc;
	char name[16];

	if (sscanf(text, "%15s instruction %u", name, &pc) != 2)
		fail_msg("no instruction: %s", text);
	while (e < NEURON_NR_ENGINES && strcmp(name, trn_isa_engine_name(e)))
		e++;
	do
		inst = nb_inst(nb, e, pc++);
	while (inst && inst->opcode == NEURON_OP_NOP);
	return inst;
}

static bool is_moved(const struct neuron_ap *ap)
{
	return ap->index || ap->offset_reg;
}

/* Numbers of the run choose what it touches of the area that counts as touched. */
static bool chooses(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_GATHER:
	case NEURON_OP_DMA_GENERATE:
		return true;
	case NEURON_OP_COPY:
		return is_moved(&inst->dst) || is_moved(&inst->src0);
	default:
		return false;
	}
}

/*
 * Not sure to be missed: addresses of the run on one side, or two transfers of an engine, which
 * the queues of a set may have cut in the same way, so that each queue has its rows in order.
 */
static bool is_unsure(struct nb_program *nb, const char *why)
{
	static const char waits[] = " waits for ", transfer[] = "the transfer of ";
	const char *by = strstr(why, waits) + strlen(waits);
	bool moves = !strncmp(by, transfer, strlen(transfer));
	const struct neuron_inst *inst = named(nb, why), *other;

	other = named(nb, moves ? by + strlen(transfer) : by);
	if (!inst || !other)
		return true;
	return chooses(inst) || chooses(other) || (moves && inst->opcode == other->opcode);
}

static enum cause cause_of(struct nb_program *nb, const char *why)
{
	unsigned int c = CAUSES - 1;

	while (!strstr(why, causes[c].text))
		c--;
	if (c > CAUSE_PERHAPS)
		return c;
	return is_unsure(nb, why) ? CAUSE_PERHAPS : CAUSE_BYTES;
}

/**
 * struct tally - waits that were deleted, each in a run of its own
 * @deleted, @missed: by cause: how many, and of them those that gave a race
 */
struct tally {
	uint64_t deleted[CAUSES];
	uint64_t missed[CAUSES];
};

/**
 * struct without - a program without one of its waits
 * @text: what nb_why() says of the wait
 * @cause: why it was there
 * @races: it is missed
 */
struct without {
	char text[1024];
	enum cause cause;
	bool races;
};

/* @chance names the wait. */
static void run_without(struct machine *machine, const struct sync_program *program,
			uint64_t seed, uint64_t chance, struct without *without)
{
	struct nb_program *nb = sync_program_auto(program), *part = nb;
	struct run run;
	size_t i;

	assert_non_null(nb);
	if (nb_sync(nb) || (program->pair && nb_sync(nb_second(nb))))
		fail_msg("%s", nb_error(nb));
	if (program->pair && chance / 2 % 2)
		part = nb_second(nb);
	i = chance % nb_waits(part);
	nb_why(part, i, without->text, sizeof(without->text));
	without->cause = cause_of(part, without->text);
	delete_wait(part, i, seed);
	sync_execute(machine, nb, cores_of(program), seed, &run);
	without->races = run.races;
	run_free(&run);
	nb_free(nb);
	if (run.ended)
		return;
	seq_rig_destroy(&machine->rig);
	machine_begin(machine, machine->gen, TRN_POOL_STEPPED);
}

/*
 * The builder does not know which way a test goes, so a wait is needed if it is needed with one of
 * the ways. @program: of a pair, both.
 */
static void try_without_one(struct machine *machine, const struct sync_program *program,
			    uint64_t seed, uint64_t chance, struct tally *tally)
{
	struct without without, turned;
	struct sync_program other[2];
	unsigned int core;

	run_without(machine, program, seed, chance, &without);
	if (!without.races && has_tests(program)) {
		for (core = 0; core < cores_of(program); core++) {
			other[core] = program[core];
			sync_program_turn(&other[core]);
		}
		run_without(machine, other, seed, chance, &turned);
		assert_string_equal(turned.text, without.text);
		without.races = turned.races;
	}
	if (getenv("NB_SYNC_VERBOSE") && !without.races)
		print_message("# seed %" PRIu64 ", not missed: %s\n", seed, without.text);
	tally->deleted[without.cause]++;
	tally->missed[without.cause] += without.races;
}

/* Which programs: with loops or branches that a test of registers decides, or without. */
struct choice {
	bool loops;
	bool pairs;
	bool tests;
};

static void delete_waits(const struct choice *choice, struct tally *tally)
{
	uint64_t programs = sync_setting("NB_SYNC_PROGRAMS", PROGRAMS), i;
	uint64_t first = sync_setting("NB_SYNC_SEED", 1);
	struct sync_program program[2];
	struct machine machine[3];
	unsigned int m, d, generation;

	for (m = 0; m < 3; m++)
		machine_begin(&machine[m], sync_gens[m], TRN_POOL_STEPPED);
	for (i = 0; i < programs; i++) {
		m = choice->pairs ? 1 + i % 2 : i % 3;
		generation = machine[m].gen->generation;
		if (choice->pairs)
			sync_pair_make(program, first + i, generation, choice->loops);
		else
			sync_program_make(program, first + i, generation, choice->loops);
		for (d = 0; d < DELETED && has_tests(program) == choice->tests; d++)
			try_without_one(&machine[m], program, first + i,
					(first + i) * 1000003 + d * 7919, tally);
	}
	for (m = 0; m < 3; m++)
		seq_rig_destroy(&machine[m].rig);
}

static void print_deleted(const char *what, const struct tally *tally)
{
	unsigned int c;

	for (c = 0; c < CAUSES; c++)
		if (tally->deleted[c])
			print_message("# %s, %s: %" PRIu64 " of %" PRIu64
				      " deleted waits gave a race\n", what, causes[c].name,
				      tally->missed[c], tally->deleted[c]);
}

static void add_tally(struct tally *all, const struct tally *tally)
{
	unsigned int c;

	for (c = 0; c < CAUSES; c++) {
		all->deleted[c] += tally->deleted[c];
		all->missed[c] += tally->missed[c];
	}
}

static void expect_missed(const struct tally *tally, enum cause cause, unsigned int percent)
{
	assert_true(tally->missed[cause] * 100 >= tally->deleted[cause] * percent);
}

static void expect_without_loops(struct tally *all)
{
	struct tally tally = { 0 };

	delete_waits(&(struct choice){ 0 }, &tally);
	print_deleted("without loops", &tally);
	assert_true(tally.deleted[CAUSE_BYTES] && tally.deleted[CAUSE_PERHAPS]);
	expect_missed(&tally, CAUSE_BYTES, 99);
	expect_missed(&tally, CAUSE_PERHAPS, 85);
	add_tally(all, &tally);
}

/*
 * Posts that the last round has left are taken for the next loop, or for the next round of the
 * loop around: without that nothing is too early in this loop, so these are only counted.
 */
static void expect_with_loops(struct tally *all)
{
	struct tally tally = { 0 };

	delete_waits(&(struct choice){ .loops = true }, &tally);
	print_deleted("with loops", &tally);
	assert_true(tally.deleted[CAUSE_BYTES]);
	expect_missed(&tally, CAUSE_BYTES, 95);
	expect_missed(&tally, CAUSE_PERHAPS, 85);
	/* There are few of these: 12 in 1,500 programs, of which 9 gave a race. */
	expect_missed(&tally, CAUSE_DRAIN, 50);
	add_tally(all, &tally);
}

/* Where engines still meet each waits for all others, also if it shares no bytes with them. */
static void expect_with_tests(struct tally *all)
{
	struct tally tally = { 0 };

	delete_waits(&(struct choice){ .loops = true, .tests = true }, &tally);
	print_deleted("with tests", &tally);
	assert_true(tally.deleted[CAUSE_BYTES] && tally.deleted[CAUSE_PERHAPS]);
	expect_missed(&tally, CAUSE_BYTES, 92);
	expect_missed(&tally, CAUSE_PERHAPS, 80);
	add_tally(all, &tally);
}

/* Of one core, with all kinds of waits together. */
static void each_wait_is_needed(void **state)
{
	struct tally all = { 0 };
	uint64_t deleted = 0, missed = 0;
	unsigned int c;

	(void)state;
	expect_without_loops(&all);
	expect_with_loops(&all);
	expect_with_tests(&all);
	for (c = 0; c < CAUSES; c++) {
		deleted += all.deleted[c];
		missed += all.missed[c];
	}
	print_message("# one core, all: %" PRIu64 " of %" PRIu64 " deleted waits gave a race\n",
		      missed, deleted);
	assert_true(missed * 100 >= deleted * 95);
}

/*
 * A race with the other core counts as well. At a barrier an engine waits for all that the other
 * core has done, which often touches none of its bytes.
 */
static void each_wait_of_pairs_is_needed(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	delete_waits(&(struct choice){ .pairs = true }, &tally);
	print_deleted("of two cores", &tally);
	assert_true(tally.deleted[CAUSE_BYTES] && tally.deleted[CAUSE_HAND]);
	expect_missed(&tally, CAUSE_BYTES, 97);
	expect_missed(&tally, CAUSE_PERHAPS, 85);
	expect_missed(&tally, CAUSE_HAND, 50);
}

static void each_wait_of_loops_of_pairs_is_needed(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	delete_waits(&(struct choice){ .loops = true, .pairs = true }, &tally);
	print_deleted("with loops of two cores", &tally);
	assert_true(tally.deleted[CAUSE_BYTES] && tally.deleted[CAUSE_HAND]);
	expect_missed(&tally, CAUSE_BYTES, 90);
	expect_missed(&tally, CAUSE_PERHAPS, 80);
	expect_missed(&tally, CAUSE_HAND, 45);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_run_as_in_order),
		cmocka_unit_test(pairs_run_as_in_order),
		cmocka_unit_test(each_wait_is_needed),
		cmocka_unit_test(each_wait_of_pairs_is_needed),
		cmocka_unit_test(each_wait_of_loops_of_pairs_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
