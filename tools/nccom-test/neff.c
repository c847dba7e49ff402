// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neff.h"
#include "neuron_builder.h"

/*
 * A tensor of @bytes, of elements of @type in one line, or in several if they are too many. As many
 * lines as there are ranks are enough: the block of a plan has at most 2^29 elements.
 */
static int tensor(struct nb_program *nb, const char *name, const struct type *type, uint64_t bytes,
		  bool is_output)
{
	const enum neuron_dtype dtype = (enum neuron_dtype)type->dtype;
	uint64_t elements = bytes / type->size;
	uint32_t shape[2] = { 1, 0 };

	while (elements / shape[0] > UINT32_MAX / 2 || elements % shape[0])
		shape[0]++;
	shape[1] = (uint32_t)(elements / shape[0]);
	return is_output ? nb_output(nb, name, dtype, 2, shape) :
			   nb_input(nb, name, dtype, 2, shape);
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

/*
 * Tensor @i of several, in @var of @bytes. It has its share of each block, so that all of them
 * together give what one tensor would.
 */
static struct nb_side part(const struct neff_of *of, unsigned int i, int var, uint64_t bytes)
{
	const uint64_t block = of->shape->block, size = of->type->size;
	const uint64_t begin = ratio_begin(of->ratio, i, block);
	const uint64_t end = ratio_begin(of->ratio, i + 1, block);
	struct nb_side side = nb_linear(var, begin * size, (uint32_t)((end - begin) * size));

	side.ndim = 2;
	side.size[1] = (uint32_t)(bytes / (block * size));
	side.step[1] = (int64_t)(block * size);
	return side;
}

/* @what has lists from now on, of @inputs and @outputs. */
static void split(const struct neff_of *of, struct nb_collective *what,
		  struct nb_side inputs[NEFF_MAX_PARTS], struct nb_side outputs[NEFF_MAX_PARTS])
{
	unsigned int i;

	for (i = 0; i < of->ratio->nr; i++) {
		inputs[i] = part(of, i, what->input, of->shape->input);
		outputs[i] = part(of, i, what->output, of->shape->output);
	}
	what->inputs = inputs;
	what->outputs = outputs;
	what->nr_parts = i;
}

/* Tensors, pairs, and what else the operation needs. */
static void fill(struct nb_program *nb, const struct neff_of *of, struct nb_collective *what)
{
	const uint32_t rows[2] = { metadata_rows(of->metadata), of->groups->size };

	what->pairs = (const uint32_t (*)[2])of->pairs->pair;
	what->nr_pairs = of->pairs->nr;
	if (of->operation->reduces)
		what->reduce = of->reduction->name;
	what->input = tensor(nb, "input", of->type, of->shape->input, false);
	what->output = tensor(nb, "output", of->type, of->shape->output, true);
	if (!of->operation->varies)
		return;
	what->metadata = nb_output(nb, "metadata", NEURON_DTYPE_UINT32, 2, rows);
	what->has_rdispls = of->metadata->has_rdispls;
}

int neff_make(struct neff *neff, const struct neff_of *of, char why[NEFF_WHY])
{
	struct nb_program *nb = nb_new(of->operation->name);
	struct nb_side inputs[NEFF_MAX_PARTS], outputs[NEFF_MAX_PARTS];
	struct nb_collective what = {
		.op = nrt_plan_op_name(of->operation->plan_op),
		.dtype = (enum neuron_dtype)of->type->dtype,
		.ranks = of->groups->rank,
		.group_size = of->groups->size,
		.nr_groups = of->groups->nr,
	};
	int ret;

	*neff = (struct neff){ 0 };
	if (!nb) {
		snprintf(why, NEFF_WHY, "out of memory");
		return -1;
	}
	fill(nb, of, &what);
	split(of, &what, inputs, outputs);
	emit(nb, &what);
	if (of->lnc == 2)
		nb_second(nb);
	ret = nb_pack(nb, &neff->bytes, &neff->size);
	if (ret)
		snprintf(why, NEFF_WHY, "%s", nb_error(nb));
	nb_free(nb);
	return ret;
}

void neff_free(struct neff *neff)
{
	free(neff->bytes);
	*neff = (struct neff){ 0 };
}
