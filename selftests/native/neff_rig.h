/* SPDX-License-Identifier: MIT */
/*
 * A NEFF on a chip without a VM: read and built as libnrt does, placed in HBM and started
 * as the kernel does.
 */
#ifndef NEFF_RIG_H
#define NEFF_RIG_H

#include "seq_rig.h"

#include "program/dma_build.h"

/**
 * struct neff_rig - a loaded program on a core of chip 0
 * @stack: of HBM, where all that it has lies; each core has its own, but for those of a pair
 * @first: of the second core of a pair: the first one
 * @gang: of a core of a pair: number of the last gang that it was in
 * @neff, @graph: what was read, and the subgraph that the core runs
 * @at: of each variable, by its index: bytes of its place in HBM
 */
struct neff_rig {
	struct seq_rig *rig;
	unsigned int core;
	unsigned int stack;
	const struct neff_rig *first;
	uint64_t gang;
	struct neff *neff;
	const struct neff_graph *graph;
	struct dma_program program;
	uint64_t *at;
	uint64_t code;
	uint64_t rings;
	uint64_t constants;
	uint64_t next;
};

void neff_rig_load(struct neff_rig *loaded, struct seq_rig *rig, const void *bytes, size_t size);
/* The same for another core than core 0, while programs of the others are loaded. */
void neff_rig_load_on(struct neff_rig *loaded, struct seq_rig *rig, unsigned int core,
		      const void *bytes, size_t size);
/* Both programs of a NEFF for LNC 2, on cores 0 and 1. Inputs and outputs of one name are one. */
void neff_rig_load_pair(struct neff_rig pair[2], struct seq_rig *rig, const void *bytes,
			size_t size);
void neff_rig_free(struct neff_rig *loaded);

/* The memory of a variable. */
void *neff_rig_var(struct neff_rig *loaded, const char *name);

/* Start; then wait for its end. */
void neff_rig_submit(struct neff_rig *loaded);
/* Start both, as a gang with a number that the chip has not had. */
void neff_rig_submit_pair(struct neff_rig pair[2], uint64_t gang);
struct neuron_hw_completion neff_rig_wait(struct neff_rig *loaded);
/* The completion record as it is now. */
struct neuron_hw_completion neff_rig_record(struct neff_rig *loaded);

#endif /* NEFF_RIG_H */
