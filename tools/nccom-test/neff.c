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

/**
 * struct making - a program under way
 * @nb: it
 * @op: what a stream does, and @stream: its number
 * @what: its collective
 * @queue: moves tensors to SBUF and back, and starts collectives
 * @one: variable with the word that starts one
 */
struct making {
	struct nb_program *nb;
	const struct neff_op *op;
	unsigned int stream;
	struct nb_collective what[NEFF_NR_STREAMS];
	int queue;
	int one;
};

/*
 * Tensor @i of several, in @var of @bytes. It has its share of each block, so that all of them
 * together give what one tensor would.
 */
static struct nb_side part(const struct neff_op *op, unsigned int i, int var, uint64_t bytes)
{
	const uint64_t block = op->shape->block, size = op->type->size;
	const uint64_t begin = ratio_begin(op->ratio, i, block);
	const uint64_t end = ratio_begin(op->ratio, i + 1, block);
	struct nb_side side = nb_linear(var, begin * size, (uint32_t)((end - begin) * size));

	side.ndim = 2;
	side.size[1] = (uint32_t)(bytes / (block * size));
	side.step[1] = (int64_t)(block * size);
	return side;
}

void neff_name(char name[NEFF_NAME], const char *what, unsigned int stream)
{
	snprintf(name, NEFF_NAME, "%s%u", what, stream);
}

/* Tensors, pairs, and what else the operation needs. */
static void fill(struct making *making, struct nb_collective *what)
{
	const struct neff_op *op = making->op;
	const uint32_t rows[2] = { metadata_rows(op->metadata), op->groups->size };
	char name[NEFF_NAME];

	what->op = nrt_plan_op_name(op->operation->plan_op);
	what->dtype = (enum neuron_dtype)op->type->dtype;
	what->ranks = op->groups->rank;
	what->group_size = op->groups->size;
	what->nr_groups = op->groups->nr;
	what->pairs = (const uint32_t (*)[2])op->pairs->pair;
	what->nr_pairs = op->pairs->nr;
	what->stream = making->stream;
	what->semaphore = nb_sem(making->nb, false);
	if (op->operation->reduces)
		what->reduce = op->reduction->name;
	neff_name(name, "input", making->stream);
	what->input = tensor(making->nb, name, op->type, op->shape->input, false);
	neff_name(name, "output", making->stream);
	what->output = tensor(making->nb, name, op->type, op->shape->output, true);
	if (!op->operation->varies)
		return;
	neff_name(name, "metadata", making->stream);
	what->metadata = nb_output(making->nb, name, NEURON_DTYPE_UINT32, 2, rows);
	what->has_rdispls = op->metadata->has_rdispls;
}

/* Start all collectives of the stream; they follow each other. */
static void start(struct making *making, const struct nb_collective *filled)
{
	struct nb_side inputs[NEFF_MAX_PARTS], outputs[NEFF_MAX_PARTS];
	const struct neff_op *op = making->op;
	struct nb_collective what = *filled;
	char name[NEFF_NAME + 16];
	unsigned int i;
	int begin;

	for (i = 0; i < op->ratio->nr; i++) {
		inputs[i] = part(op, i, what.input, op->shape->input);
		outputs[i] = part(op, i, what.output, op->shape->output);
	}
	what.nr_parts = op->ratio->nr;
	if (op->sbuf) {
		inputs[0] = sbuf_input(making->nb, op->sbuf);
		outputs[0] = sbuf_output(making->nb, op->sbuf);
		what.nr_parts = 1;
	}
	what.inputs = inputs;
	what.outputs = outputs;
	for (i = 0; i < op->ops; i++) {
		snprintf(name, sizeof(name), "start%u.%u", making->stream, i);
		begin = nb_collective(making->nb, name, &what);
		nb_dma(making->nb, making->queue, nb_linear(begin, 0, sizeof(uint32_t)),
		       nb_linear(making->one, 0, sizeof(uint32_t)), -1);
	}
}

/* All bytes of variable @var. */
static struct nb_side whole(const struct making *making, int var)
{
	return nb_linear(var, 0, (uint32_t)nb_var_size(making->nb, var));
}

/* Of those in SBUF: bring the inputs there, or @back the outputs, and wait for that. */
static void move(struct making *making, const struct neff_op *op, unsigned int nr, bool back)
{
	struct nb_program *nb = making->nb;
	int landed = nb_sem(nb, false), moves = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!op[i].sbuf)
			continue;
		if (back)
			nb_dma(nb, making->queue, whole(making, making->what[i].output),
			       sbuf_output(nb, op[i].sbuf), landed);
		else
			nb_dma(nb, making->queue, sbuf_input(nb, op[i].sbuf),
			       whole(making, making->what[i].input), landed);
		moves++;
	}
	if (moves)
		nb_wait_take(nb_nop(nb, NEURON_ENGINE_SYNC), landed, moves);
}

/* The sync engine starts all streams, and waits for their ends. */
static void emit(struct making *making, const struct neff_op *op, unsigned int nr)
{
	const uint32_t one = htole32(1);
	struct nb_program *nb = making->nb;
	unsigned int i;

	making->queue = nb_queue(nb, "q_start", "data", NEURON_ENGINE_SYNC, 1);
	making->one = nb_file(nb, "one.bin", &one, sizeof(one));
	for (i = 0; i < nr; i++) {
		making->op = &op[i];
		making->stream = i;
		fill(making, &making->what[i]);
	}
	move(making, op, nr, false);
	for (i = 0; i < nr; i++) {
		making->op = &op[i];
		making->stream = i;
		start(making, &making->what[i]);
	}
	for (i = 0; i < nr; i++)
		nb_wait_take(nb_nop(nb, NEURON_ENGINE_SYNC), making->what[i].semaphore,
			     (int32_t)op[i].ops);
	move(making, op, nr, true);
	nb_halt(nb, NEURON_ENGINE_SYNC);
}

int neff_make(struct neff *neff, const struct neff_op *op, unsigned int nr, unsigned int lnc,
	      char why[NEFF_WHY])
{
	struct making making = { .nb = nb_new(nr > 1 ? "streams" : op->operation->name) };
	struct nb_program *nb = making.nb;
	int ret;

	*neff = (struct neff){ 0 };
	if (!nb) {
		snprintf(why, NEFF_WHY, "out of memory");
		return -1;
	}
	emit(&making, op, nr);
	if (lnc == 2)
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
