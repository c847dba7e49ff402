// SPDX-License-Identifier: MIT
/* The digits job through the nrt API. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

NRT_STATUS digits_check(const char *what, NRT_STATUS status)
{
	if (status != NRT_SUCCESS)
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
			nrt_get_status_as_str(status));
	return status;
}

NRT_STATUS digits_tensor(int vnc, const char *name, size_t size, nrt_tensor_t **tensor,
			 nrt_tensor_set_t *set)
{
	NRT_STATUS status;

	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, size, name, tensor);
	if (status == NRT_SUCCESS)
		status = nrt_add_tensor_to_tensor_set(set, name, *tensor);
	return digits_check(name, status);
}

static NRT_STATUS digits_tensors(struct digits_rank *rank)
{
	const size_t counts = 10 * 10 * sizeof(float);
	NRT_STATUS status;

	status = digits_tensor(rank->vnc, "x", MLP_INPUTS * DIGITS_BATCH * 2,
			       &rank->x, rank->mlp_in);
	if (status == NRT_SUCCESS)
		status = digits_tensor(rank->vnc, "labels",
				       DIGITS_BATCH * 10 * sizeof(float),
				       &rank->labels, rank->mlp_in);
	if (status == NRT_SUCCESS)
		status = digits_tensor(rank->vnc, "logits",
				       DIGITS_BATCH * 10 * sizeof(float),
				       &rank->logits, rank->mlp_out);
	if (status == NRT_SUCCESS)
		status = digits_tensor(rank->vnc, "confusion", counts,
				       &rank->confusion, rank->mlp_out);
	if (status == NRT_SUCCESS)
		status = digits_tensor(rank->vnc, "total", counts, &rank->total,
				       rank->reduce_out);
	if (status == NRT_SUCCESS)
		status = nrt_add_tensor_to_tensor_set(rank->reduce_in, "counts",
						      rank->confusion);
	return digits_check("tensors", status);
}

static NRT_STATUS digits_sets(struct digits_rank *rank)
{
	nrt_tensor_set_t **set[] = { &rank->mlp_in, &rank->mlp_out,
				     &rank->reduce_in, &rank->reduce_out };
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < 4 && status == NRT_SUCCESS; i++)
		status = digits_check("tensor set",
				      nrt_allocate_tensor_set(set[i]));
	return status;
}

NRT_STATUS digits_rank_load(struct digits_rank *rank, unsigned int ranks,
			    const struct digits_blob *mlp,
			    const struct digits_blob *reduce)
{
	NRT_STATUS status;

	status = nrt_load(mlp->data, mlp->size, rank->vnc, -1, &rank->classify);
	if (status == NRT_SUCCESS && ranks > 1)
		status = nrt_load_collectives(reduce->data, reduce->size,
					      rank->vnc, -1, rank->rank, ranks,
					      &rank->reduce);
	digits_check("loading the models", status);
	if (status == NRT_SUCCESS)
		status = digits_sets(rank);
	if (status == NRT_SUCCESS)
		status = digits_tensors(rank);
	return status;
}

void digits_rank_unload(struct digits_rank *rank)
{
	nrt_tensor_set_t **set[] = { &rank->mlp_in, &rank->mlp_out,
				     &rank->reduce_in, &rank->reduce_out };
	nrt_tensor_t **tensor[] = { &rank->x, &rank->labels, &rank->logits,
				    &rank->confusion, &rank->total };
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (*set[i])
			nrt_destroy_tensor_set(set[i]);
	for (i = 0; i < 5; i++)
		if (*tensor[i])
			nrt_tensor_free(tensor[i]);
	if (rank->reduce)
		nrt_unload(rank->reduce);
	if (rank->classify)
		nrt_unload(rank->classify);
}

NRT_STATUS digits_rank_write(struct digits_rank *rank,
			     const struct digits_set *set)
{
	const size_t x_size = MLP_INPUTS * DIGITS_BATCH * sizeof(uint16_t);
	const size_t label_size = DIGITS_BATCH * 10 * sizeof(float);
	uint16_t (*x)[DIGITS_BATCH] = calloc(1, x_size);
	float (*labels)[10] = calloc(1, label_size);
	NRT_STATUS status = NRT_FAIL_HOST_MEM_ALLOC;
	uint16_t image[MLP_INPUTS];
	size_t i, k;

	if (!x || !labels)
		goto out;
	for (i = 0; i < rank->count; i++) {
		digits_image_bf16(set, rank->first + i, image);
		for (k = 0; k < MLP_INPUTS; k++)
			x[k][i] = image[k];
		if (digits_held_out(rank->first + i))
			labels[i][set->labels[rank->first + i]] = 1.0f;
	}
	status = nrt_tensor_write(rank->x, x, 0, x_size);
	if (status == NRT_SUCCESS)
		status = nrt_tensor_write(rank->labels, labels, 0, label_size);
out:
	free(x);
	free(labels);
	return digits_check("writing the images", status);
}

NRT_STATUS digits_rank_logits(struct digits_rank *rank, float (*logits)[10])
{
	return digits_check("reading the logits",
			    nrt_tensor_read(rank->logits, logits, 0,
					    rank->count * sizeof(*logits)));
}

NRT_STATUS digits_rank_counts(struct digits_rank *rank, float own[10][10],
			      float total[10][10])
{
	const size_t size = 10 * 10 * sizeof(float);
	NRT_STATUS status;

	status = digits_check("reading the counts",
			      nrt_tensor_read(rank->confusion, own, 0, size));
	if (status == NRT_SUCCESS)
		status = digits_check("reading the reduced counts",
				      nrt_tensor_read(rank->total, total, 0,
						      size));
	return status;
}

NRT_STATUS digits_execute(nrt_model_t *model, nrt_tensor_set_t *in, nrt_tensor_set_t *out,
			  struct digits_time *time)
{
	struct nrt_emu_execution run;
	NRT_STATUS status;

	status = nrt_execute(model, in, out);
	if (status == NRT_SUCCESS)
		status = nrt_emu_get_last_execution(model, &run, sizeof(run));
	if (status != NRT_SUCCESS)
		return status;
	time->ns += run.end_ns - run.start_ns;
	time->inexact |= run.flags & NRT_EMU_INEXACT;
	return NRT_SUCCESS;
}

/* @stop: set by a rank that fails, so that the others do not go on. */
struct digits_thread {
	pthread_t thread;
	digits_rank_fn *fn;
	void *rank;
	_Atomic bool *stop;
	NRT_STATUS status;
};

static void *digits_thread(void *arg)
{
	struct digits_thread *thread = arg;

	thread->status = thread->fn(thread->rank, thread->stop);
	if (thread->status != NRT_SUCCESS)
		*thread->stop = true;
	return NULL;
}

NRT_STATUS digits_on_ranks(digits_rank_fn *fn, void *ranks, size_t size, unsigned int nr)
{
	struct digits_thread thread[DIGITS_MAX_THREADS];
	NRT_STATUS status = NRT_SUCCESS;
	_Atomic bool stop = false;
	unsigned int i, started;

	for (started = 0; started < nr; started++) {
		thread[started] = (struct digits_thread){
			.fn = fn, .rank = (uint8_t *)ranks + started * size, .stop = &stop,
		};
		if (pthread_create(&thread[started].thread, NULL, digits_thread,
				   &thread[started])) {
			status = digits_check("starting a thread", NRT_RESOURCE);
			stop = true;
			break;
		}
	}
	for (i = 0; i < started; i++) {
		pthread_join(thread[i].thread, NULL);
		if (status == NRT_SUCCESS)
			status = thread[i].status;
	}
	return status;
}

static NRT_STATUS digits_run_mlp(void *arg, const _Atomic bool *stop)
{
	struct digits_rank *rank = arg;
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < rank->repeat && status == NRT_SUCCESS && !*stop; i++)
		status = digits_execute(rank->classify, rank->mlp_in,
					rank->mlp_out, &rank->mlp_time);
	return digits_check("executing the classifier", status);
}

static NRT_STATUS digits_run_reduce(void *arg, const _Atomic bool *stop)
{
	struct digits_rank *rank = arg;
	NRT_STATUS status;

	(void)stop;
	status = digits_execute(rank->reduce, rank->reduce_in,
				rank->reduce_out, &rank->reduce_time);
	return digits_check("executing the all-reduce", status);
}

NRT_STATUS digits_classify(struct digits_rank *rank, unsigned int ranks)
{
	return digits_on_ranks(digits_run_mlp, rank, sizeof(*rank), ranks);
}

NRT_STATUS digits_reduce(struct digits_rank *rank, unsigned int ranks)
{
	return digits_on_ranks(digits_run_reduce, rank, sizeof(*rank), ranks);
}
