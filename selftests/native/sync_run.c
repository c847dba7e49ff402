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

static const char *const result_name[] = { "t", "y", "s", "p" };

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

void sync_execute(struct machine *machine, struct nb_program *nb, uint64_t seed,
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
	for (i = 0; i < SYNC_RESULTS; i++) {
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
	for (i = 0; i < SYNC_RESULTS; i++) {
		run->bytes[i] = malloc(run->size[i]);
		assert_non_null(run->bytes[i]);
		memcpy(run->bytes[i], neff_rig_var(&loaded, result_name[i]), run->size[i]);
	}
	neff_rig_free(&loaded);
}

void run_free(struct run *run)
{
	unsigned int i;

	for (i = 0; i < SYNC_RESULTS; i++)
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

	for (i = 0; i < SYNC_RESULTS; i++) {
		if (!memcmp(a->bytes[i], b->bytes[i], a->size[i]))
			continue;
		for (at = 0; ((char *)a->bytes[i])[at] == ((char *)b->bytes[i])[at]; at++)
			;
		fail_msg("seed %" PRIu64 ": byte %zu of %s differs", seed, at, result_name[i]);
	}
}

void sync_expect_clean(struct machine *machine, const struct nb_program *nb,
		       const struct run *run, uint64_t seed)
{
	if (!run->races && run->ended)
		return;
	print_log(machine);
	print_waits(nb);
	fail_msg("seed %" PRIu64 ": %" PRIu64 " races%s", seed, run->races,
		 run->ended ? "" : ", does not end");
}
