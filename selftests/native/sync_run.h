/* SPDX-License-Identifier: MIT */
/*
 * Programs of sync_program.h on chips that check their memory: races are counted, and what the
 * program has written is kept.
 */
#ifndef SYNC_RUN_H
#define SYNC_RUN_H

#include "neff_rig.h"
#include "sync_program.h"

#define SYNC_RESULTS	4
#define SYNC_PAIR_RESULTS 6

/* trn1, trn2, trn3. */
extern const struct neuron_gen *const sync_gens[3];

/* One chip for many programs. */
struct machine {
	const struct neuron_gen *gen;
	struct seq_rig rig;
	uint64_t gangs;		/* that there were */
};

/**
 * struct run - what came of a program
 * @results: how many it has
 * @races: that the chip has found
 * @ended: it did not wait for ever
 */
struct run {
	unsigned int results;
	void *bytes[SYNC_PAIR_RESULTS];
	size_t size[SYNC_PAIR_RESULTS];
	uint64_t races;
	bool ended;
};

/* A number of the environment. */
uint64_t sync_setting(const char *name, uint64_t otherwise);

/* @workers as in trn_pool_new(). */
void machine_begin(struct machine *machine, const struct neuron_gen *gen, unsigned int workers);

/* Pack @nb and run it on @cores cores, 2 for a pair, with inputs that @seed makes. */
void sync_execute(struct machine *machine, struct nb_program *nb, unsigned int cores,
		  uint64_t seed, struct run *run);
void run_free(struct run *run);
/* Fail where the results differ. */
void sync_expect_same(const struct run *a, const struct run *b, uint64_t seed);
/* Fail when there were races, or no end; with what the chip and the builder say of it. */
void sync_expect_clean(struct machine *machine, struct nb_program *nb,
		       const struct run *run, uint64_t seed);

#endif /* SYNC_RUN_H */
