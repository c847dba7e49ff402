// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_emu.h>

#include "must.h"
#include "stream_rank.h"

uint32_t stream_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Sums of such numbers are rounded, so their order counts. */
static void fill(float *x, size_t nr, uint32_t seed)
{
	size_t i;

	for (i = 0; i < nr; i++)
		x[i] = ((float)stream_next(&seed) - 8388608.0f) / 1000003.0f;
}

float *stream_input(const struct rank *rank, unsigned int number)
{
	float *x = must_allocate(rank->in * sizeof(float));

	fill(x, rank->in, rank->seed * 31 + number);
	return x;
}

/* --- Ranks --- */

static NRT_STATUS add(const struct rank *rank, const char *name, size_t floats,
		      nrt_tensor_t **tensor, nrt_tensor_set_t **set)
{
	return nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, rank->vnc, floats * sizeof(float),
				   name, tensor) ?:
	       nrt_allocate_tensor_set(set) ?: nrt_add_tensor_to_tensor_set(*set, name, *tensor);
}

void *stream_load(void *arg)
{
	struct rank *rank = arg;
	struct program program = stream_program(rank->works, rank->nr);
	unsigned int i;

	for (rank->in = 0, rank->out = 0, i = 0; i < rank->nr; i++) {
		rank->in += stream_in(&rank->works[i]);
		rank->out += stream_out(&rank->works[i]);
	}
	rank->status = rank->joins ? nrt_cc_global_comm_init((uint32_t)rank->vnc, rank->number,
							     rank->ranks) : NRT_SUCCESS;
	rank->status = rank->status ?:
		       nrt_load_collectives(program.data, program.size, rank->vnc, -1,
					    rank->number, rank->ranks, &rank->model) ?:
		       add(rank, "x", rank->in, &rank->x, &rank->inputs) ?:
		       add(rank, "y", rank->out, &rank->y, &rank->outputs);
	free(program.data);
	return NULL;
}

void stream_unload(struct rank *rank)
{
	if (rank->model)
		nrt_unload(rank->model);
	nrt_destroy_tensor_set(&rank->inputs);
	nrt_destroy_tensor_set(&rank->outputs);
	nrt_tensor_free(&rank->x);
	nrt_tensor_free(&rank->y);
	rank->model = NULL;
}

void stream_check(struct rank *rank, const float *y)
{
	float *x[STREAM_RANKS], *expected = must_allocate(rank->out * sizeof(float));
	unsigned int i;
	size_t k;

	for (i = 0; i < rank->ranks; i++)
		x[i] = stream_input(rank, i);
	stream_expect(rank->works, rank->nr, rank->number, (const float *const *)x, expected);
	for (k = 0; k < rank->out; k++)
		rank->wrong += memcmp(&y[k], &expected[k], sizeof(float)) != 0;
	for (i = 0; i < rank->ranks; i++)
		free(x[i]);
	free(expected);
}

void *stream_execute(void *arg)
{
	struct rank *rank = arg;
	float *x = stream_input(rank, rank->number), *y = must_allocate(rank->out * sizeof(float));

	rank->status = nrt_tensor_write(rank->x, x, 0, rank->in * sizeof(float)) ?:
		       nrt_execute(rank->model, rank->inputs, rank->outputs) ?:
		       nrt_tensor_read(rank->y, y, 0, rank->out * sizeof(float));
	if (!rank->status)
		stream_check(rank, y);
	free(x);
	free(y);
	return NULL;
}

void stream_threads(struct rank *ranks, unsigned int nr, void *(*run)(void *arg))
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		must_start(&ranks[i].thread, run, &ranks[i]);
	for (i = 0; i < nr; i++)
		pthread_join(ranks[i].thread, NULL);
}
