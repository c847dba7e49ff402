/* SPDX-License-Identifier: MIT */
/* Kernels on a chip without a VM: tensors of doubles go in and come out. */
#ifndef NK_RIG_H
#define NK_RIG_H

#include "neff_rig.h"
#include "neuron_kernels.h"

#define NK_RIG_TENSORS	9

#define NK_RIGS	3	/* one of each generation, the oldest first */

/**
 * struct nk_rig - a program with tensors
 * @value: of each tensor: what it holds, as it is after its type's rounding
 * @elapsed_ns: device time of the last run
 */
struct nk_rig {
	struct seq_rig rig;
	struct nb_program *nb;
	struct nk nk;
	struct nk_tensor tensor[NK_RIG_TENSORS];
	double *value[NK_RIG_TENSORS];
	bool output[NK_RIG_TENSORS];
	unsigned int nr;
	uint64_t elapsed_ns;
};

/* Chips with memory checks, and with device time if @clock. */
void nk_rigs_init(struct nk_rig rigs[NK_RIGS], bool clock);
void nk_rigs_destroy(struct nk_rig rigs[NK_RIGS]);

/* A new program; the one before is freed. */
void nk_rig_begin(struct nk_rig *rig);
/* The same without nk_begin(): nothing is synchronised unless the program says so. */
void nk_rig_begin_by_hand(struct nk_rig *rig);
/* Numbers of tensors. Inputs hold numbers by chance of [-@most, @most]. */
unsigned int nk_rig_input(struct nk_rig *rig, enum neuron_dtype dtype, uint32_t rows,
			  uint32_t cols, double most);
unsigned int nk_rig_output(struct nk_rig *rig, enum neuron_dtype dtype, uint32_t rows,
			   uint32_t cols);
/* Schedule it, unless @options is NULL, run it, and fetch the outputs. */
void nk_rig_run(struct nk_rig *rig, const struct nb_schedule_options *options);

#endif /* NK_RIG_H */
