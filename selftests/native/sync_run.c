// SPDX-License-Identifier: MIT
#include "sync_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook/trn_check.h"
#include "isa/trn_isa.h"

const struct neuron_gen *const sync_gens[3] = {
	&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
};

/* Those of the second core of a pair come last. */
static const char *const result_name[SYNC_PAIR_RESULTS] = { "t", "y", "s", "p", "s1", "p1" };

/* What they are filled with: to the checks a page of zeros is one that nobody has written. */
#define FILL		0x3f

uint64_t sync_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

void machine_begin(struct machine *machine, const struct neuron_gen *gen,
		   unsigned int workers)
{
	machine->gen = gen;
	machine->gangs = 0;
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

static void check_ended(struct neff_rig *loaded, struct nb_program *nb)
{
	struct neuron_hw_completion record = neff_rig_record(loaded);
	const struct neuron_inst *inst;
	char text[TRN_ISA_TEXT_MAX] = "";

	if (record.status == NEURON_JOB_OK)
		return;
	inst = record.source < NEURON_NR_ENGINES ?
	       nb_inst(nb, record.source, record.pc) : NULL;
	if (inst)
		trn_isa_format(text, sizeof(text), inst);
	fail_msg("core %u: status %u, cause %u, source %#x, pc %u: %s", loaded->core,
		 record.status, record.cause, record.source, record.pc, text);
}

static void load(struct machine *machine, struct nb_program *nb, struct neff_rig *loaded,
		 unsigned int cores)
{
	size_t size;
	void *neff;

	if (nb_pack(nb, &neff, &size))
		fail_msg("%s", nb_error(nb));
	if (cores == 2)
		neff_rig_load_pair(loaded, &machine->rig, neff, size);
	else
		neff_rig_load(loaded, &machine->rig, neff, size);
	free(neff);
}

/* Until the end, or until nothing moves any more. */
static void run_on(struct machine *machine, struct nb_program *const *nb, struct neff_rig *loaded,
		   unsigned int cores, struct run *run)
{
	unsigned int i;

	if (cores == 2)
		neff_rig_submit_pair(loaded, ++machine->gangs);
	else
		neff_rig_submit(loaded);
	seq_step(&machine->rig);
	run->ended = true;
	for (i = 0; i < cores && machine->rig.stepped; i++)
		run->ended &= !!neff_rig_record(&loaded[i]).status;
	for (i = 0; i < cores && run->ended; i++) {
		neff_rig_wait(&loaded[i]);
		check_ended(&loaded[i], nb[i]);
	}
}

void sync_execute(struct machine *machine, struct nb_program *nb, unsigned int cores,
		  uint64_t seed, struct run *run)
{
	struct nb_program *const of[2] = { nb, cores == 2 ? nb_second(nb) : NULL };
	struct trn_chip *chip = machine->rig.chip[0];
	struct neff_rig loaded[2];
	void *at[SYNC_PAIR_RESULTS];
	unsigned int i, core;

	load(machine, nb, loaded, cores);
	run->results = cores == 2 ? SYNC_PAIR_RESULTS : SYNC_RESULTS;
	for (i = 0; i < run->results; i++) {
		core = i >= SYNC_RESULTS;
		at[i] = neff_rig_var(&loaded[core], result_name[i]);
		run->size[i] = nb_var_size(of[core], nb_find_var(of[core], result_name[i]));
		memset(at[i], FILL, run->size[i]);
	}
	fill_inputs(&loaded[0], seed);
	run->races = trn_check_count(chip, TRN_CHECK_RACE);
	run_on(machine, of, loaded, cores, run);
	run->races = trn_check_count(chip, TRN_CHECK_RACE) - run->races;
	for (i = 0; i < run->results; i++) {
		run->bytes[i] = malloc(run->size[i]);
		assert_non_null(run->bytes[i]);
		memcpy(run->bytes[i], at[i], run->size[i]);
	}
	for (core = 0; core < cores; core++)
		neff_rig_free(&loaded[core]);
}

void run_free(struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->results; i++)
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

void sync_expect_same(const struct run *a, const struct run *b, uint64_t seed)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < a->results; i++) {
		if (!memcmp(a->bytes[i], b->bytes[i], a->size[i]))
			continue;
		for (at = 0; ((char *)a->bytes[i])[at] == ((char *)b->bytes[i])[at]; at++)
			;
		fail_msg("seed %" PRIu64 ": byte %zu of %s differs", seed, at, result_name[i]);
	}
}

void sync_expect_clean(struct machine *machine, struct nb_program *nb,
		       const struct run *run, uint64_t seed)
{
	if (!run->races && run->ended)
		return;
	print_log(machine);
	print_waits(nb);
	if (run->results == SYNC_PAIR_RESULTS)
		print_waits(nb_second(nb));
	fail_msg("seed %" PRIu64 ": %" PRIu64 " races%s", seed, run->races,
		 run->ended ? "" : ", does not end");
}
