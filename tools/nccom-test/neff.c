// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff.h"
#include "neuron_builder.h"

/* Lines that a tensor has at most. */
#define MAX_LINES	4096

/* @elements in one line, or in several if they are too many. False: no number of lines fits. */
static bool make_shape(uint64_t elements, uint32_t shape[2])
{
	uint32_t lines = 1;

	while (lines <= MAX_LINES && (elements / lines > UINT32_MAX / 2 || elements % lines))
		lines++;
	shape[0] = lines;
	shape[1] = (uint32_t)(elements / lines);
	return lines <= MAX_LINES;
}

/* Each rank sends to the next one. */
static void make_pairs(uint32_t (*pairs)[2], unsigned int ranks)
{
	unsigned int i;

	for (i = 0; i < ranks; i++) {
		pairs[i][0] = i;
		pairs[i][1] = (i + 1) % ranks;
	}
}

/* The sync engine starts the collective, and waits for its end. */
static void emit(struct nb_program *nb, struct nb_collective *what)
{
	const uint32_t one = htole32(1);
	int queue = nb_queue(nb, "q_start", "data", NEURON_ENGINE_SYNC, 1);
	int constant = nb_file(nb, "one.bin", &one, sizeof(one)), start;

	what->semaphore = nb_sem(nb, false);
	start = nb_collective(nb, "start", what);
	nb_dma(nb, queue, nb_linear(start, 0, sizeof(one)), nb_linear(constant, 0, sizeof(one)),
	       -1);
	nb_wait_take(nb_nop(nb, NEURON_ENGINE_SYNC), what->semaphore, 1);
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

int neff_make(struct neff *neff, const struct operation *operation, const struct type *type,
	      const struct groups *groups, const struct shape *shape, unsigned int lnc,
	      char why[NEFF_WHY])
{
	uint32_t (*pairs)[2] = calloc(groups->size, sizeof(*pairs));
	struct nb_program *nb = nb_new(operation->name);
	struct nb_collective what = {
		.op = nrt_plan_op_name(operation->plan_op),
		.dtype = (enum neuron_dtype)type->dtype,
		.ranks = groups->rank,
		.group_size = groups->size,
		.nr_groups = groups->nr,
	};
	uint32_t input[2], output[2];
	int ret = -1;

	*neff = (struct neff){ 0 };
	if (!pairs || !nb) {
		snprintf(why, NEFF_WHY, "out of memory");
		goto out;
	}
	if (!make_shape(shape->input / type->size, input) ||
	    !make_shape(shape->output / type->size, output)) {
		snprintf(why, NEFF_WHY,
			 "no tensor of a NEFF has %llu bytes of %s: take a multiple of 4096 bytes",
			 (unsigned long long)shape->input, type->name);
		goto out;
	}
	if (operation->plan_op == NRT_PLAN_PERMUTE) {
		make_pairs(pairs, groups->size);
		what.pairs = (const uint32_t (*)[2])pairs;
		what.nr_pairs = groups->size;
	}
	what.input = nb_input(nb, "input", what.dtype, 2, input);
	what.output = nb_output(nb, "output", what.dtype, 2, output);
	emit(nb, &what);
	if (lnc == 2)
		nb_second(nb);
	ret = nb_pack(nb, &neff->bytes, &neff->size);
	if (ret)
		snprintf(why, NEFF_WHY, "%s", nb_error(nb));
out:
	if (nb)
		nb_free(nb);
	free(pairs);
	return ret;
}

void neff_free(struct neff *neff)
{
	free(neff->bytes);
	*neff = (struct neff){ 0 };
}
