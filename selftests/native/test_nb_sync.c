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

#include "neff_rig.h"
#include "sync_program.h"
#include "hook/trn_check.h"
#include "isa/trn_isa.h"

#define PROGRAMS	150
/* Waits that are deleted from a program, each in a run of its own. */
#define DELETED		2

static const struct neuron_gen *const gens[] = {
	&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
};

/* One chip for many programs. */
struct machine {
	const struct neuron_gen *gen;
	struct seq_rig rig;
};

static const char *const result_name[] = { "t", "y", "s", "p" };

#define RESULTS		4
/* What they are filled with: to the checks a page of zeros is one that nobody has written. */
#define FILL		0x3f

/**
 * struct run - what came of a program
 * @ended: it did not wait for ever
 */
struct run {
	void *bytes[RESULTS];
	size_t size[RESULTS];
	uint64_t races;
	bool ended;
};

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void machine_begin(struct machine *machine, const struct neuron_gen *gen,
			  unsigned int workers)
{
	machine->gen = gen;
	seq_rig_init_check(&machine->rig, gen, workers, 1, false);
	/* Also what the public documents do not say of hardware. */
	seq_more_operators(&machine->rig, true);
}

static void fill_inputs(struct neff_rig *loaded, uint64_t seed)
{
	float *x = neff_rig_var(loaded, "x");
	uint32_t *indices = neff_rig_var(loaded, "indices");
	uint16_t *half = (uint16_t *)indices;
	unsigned int i, row;

	for (i = 0; i < SYNC_ROWS * SYNC_BYTES / 4; i++)
		x[i] = (float)((int)((i + seed) * 7 % 61) - 30) * 0.25f;
	for (row = 0; row < SYNC_ROWS; row++) {
		for (i = 0; i < SYNC_BYTES / 4; i++)
			indices[row * SYNC_BYTES / 2 + i] = (row * 3 + i + seed) % SYNC_MAX_INDEX;
		for (i = SYNC_BYTES / 2; i < SYNC_BYTES; i++)
			half[row * SYNC_BYTES + i] = (row + i) % SYNC_MAX_INDEX;
	}
}

static void check_ended(const struct run *run, struct neff_rig *loaded, struct nb_program *nb)
{
	struct neuron_hw_completion record = neff_rig_record(loaded);
	const struct neuron_inst *inst;
	char text[TRN_ISA_TEXT_MAX] = "";

	if (!run->ended || record.status == NEURON_JOB_OK)
		return;
	inst = record.source < NEURON_NR_ENGINES ?
	       nb_inst(nb, record.source, record.pc) : NULL;
	if (inst)
		trn_isa_format(text, sizeof(text), inst);
	fail_msg("status %u, cause %u, source %#x, pc %u: %s", record.status, record.cause,
		 record.source, record.pc, text);
}

static void execute(struct machine *machine, struct nb_program *nb, uint64_t seed,
		    struct run *run)
{
	struct trn_chip *chip = machine->rig.chip[0];
	struct neff_rig loaded;
	unsigned int i;
	size_t size;
	void *neff;

	if (nb_pack(nb, &neff, &size))
		fail_msg("%s", nb_error(nb));
	neff_rig_load(&loaded, &machine->rig, neff, size);
	free(neff);
	for (i = 0; i < RESULTS; i++) {
		run->size[i] = nb_var_size(nb, nb_find_var(nb, result_name[i]));
		memset(neff_rig_var(&loaded, result_name[i]), FILL, run->size[i]);
	}
	fill_inputs(&loaded, seed);
	run->races = trn_check_count(chip, TRN_CHECK_RACE);
	neff_rig_submit(&loaded);
	seq_step(&machine->rig);
	run->ended = !machine->rig.stepped || neff_rig_record(&loaded).status;
	if (run->ended)
		neff_rig_wait(&loaded);
	check_ended(run, &loaded, nb);
	run->races = trn_check_count(chip, TRN_CHECK_RACE) - run->races;
	for (i = 0; i < RESULTS; i++) {
		run->bytes[i] = malloc(run->size[i]);
		assert_non_null(run->bytes[i]);
		memcpy(run->bytes[i], neff_rig_var(&loaded, result_name[i]), run->size[i]);
	}
	neff_rig_free(&loaded);
}

static void run_free(struct run *run)
{
	unsigned int i;

	for (i = 0; i < RESULTS; i++)
		free(run->bytes[i]);
}

static void print_log(struct machine *machine)
{
	struct fake_port *port = &machine->rig.port[0];
	unsigned int i;

	for (i = 0; i < FAKE_LOG_LINES; i++)
		if (strstr(port->log[i], "check race"))
			print_error("%s\n", port->log[i]);
}

static void print_waits(const struct nb_program *nb)
{
	char text[1024];
	size_t i;

	for (i = 0; i < nb_waits(nb); i++) {
		nb_why(nb, i, text, sizeof(text));
		print_error("%s\n", text);
	}
}

static void expect_same(const struct run *a, const struct run *b, uint64_t seed)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < RESULTS; i++) {
		if (!memcmp(a->bytes[i], b->bytes[i], a->size[i]))
			continue;
		for (at = 0; ((char *)a->bytes[i])[at] == ((char *)b->bytes[i])[at]; at++)
			;
		fail_msg("seed %" PRIu64 ": byte %zu of %s differs", seed, at, result_name[i]);
	}
}

/* As the builder synchronises it, and in turns. */
static void try_program(struct machine *machine, const struct sync_program *program,
			uint64_t seed, uint64_t *waits)
{
	struct nb_program *by_itself = sync_program_auto(program);
	struct nb_program *in_turns = sync_program_serial(program);
	struct run a, b;

	assert_non_null(by_itself);
	assert_non_null(in_turns);
	execute(machine, by_itself, seed, &a);
	*waits += nb_waits(by_itself);
	if (a.races || !a.ended) {
		print_log(machine);
		print_waits(by_itself);
		fail_msg("seed %" PRIu64 ": %" PRIu64 " races%s", seed, a.races,
			 a.ended ? "" : ", does not end");
	}
	execute(machine, in_turns, seed, &b);
	assert_int_equal(b.races, 0);
	expect_same(&a, &b, seed);
	run_free(&a);
	run_free(&b);
	nb_free(by_itself);
	nb_free(in_turns);
}

static void print_coverage(const unsigned int *kinds, uint64_t programs, uint64_t waits)
{
	unsigned int i;

	print_message("# %" PRIu64 " programs from seed %" PRIu64 " on, %" PRIu64 " waits:",
		      programs, from_environment("NB_SYNC_SEED", 1), waits);
	for (i = 0; i < SYNC_KINDS; i++)
		print_message(" %s %u", sync_kind_name[i], kinds[i]);
	print_message("\n");
}

/* With one worker, which does one engine after the other, and with two. */
static void programs_run_as_in_order(void **state)
{
	uint64_t programs = from_environment("NB_SYNC_PROGRAMS", PROGRAMS), i, waits = 0;
	uint64_t first = from_environment("NB_SYNC_SEED", 1);
	unsigned int kinds[SYNC_KINDS] = { 0 }, k, m;
	struct sync_program program;
	struct machine machine[6];

	(void)state;
	for (m = 0; m < 6; m++)
		machine_begin(&machine[m], gens[m % 3], m < 3 ? TRN_POOL_STEPPED : 2);
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
	execute(machine, nb, seed, &run);
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
	uint64_t programs = from_environment("NB_SYNC_PROGRAMS", PROGRAMS), i;
	uint64_t first = from_environment("NB_SYNC_SEED", 1);
	struct sync_program program;
	struct machine machine[3];
	unsigned int m, d;

	*missed = 0;
	for (m = 0; m < 3; m++)
		machine_begin(&machine[m], gens[m], TRN_POOL_STEPPED);
	for (i = 0; i < programs; i++) {
		m = i % 3;
		sync_program_make(&program, first + i, machine[m].gen->generation, loops);
		for (d = 0; d < DELETED; d++)
			*missed += is_missed(&machine[m], &program, first + i,
					    (first + i) * 1000003 + d * 7919);
	}
	for (m = 0; m < 3; m++)
		seq_rig_destroy(&machine[m].rig);
	return programs * DELETED;
}

static void print_deleted(const char *what, uint64_t missed, uint64_t deleted)
{
	print_message("# %s: %" PRIu64 " of %" PRIu64 " deleted waits gave a race\n", what, missed,
		      deleted);
}

/* Without loops: engines meet in those that hold loops, whether or not the data ask for it. */
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
	assert_true(missed * 100 >= deleted * 80);
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
