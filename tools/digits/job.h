/* SPDX-License-Identifier: MIT */
/*
 * The digits job on a set of chips: one rank for each, through the nrt API. The first functions
 * are for other jobs, too.
 */
#ifndef DIGITS_JOB_H
#define DIGITS_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "mlp.h"
#include "nrt/nrt.h"
#include "nrt/nrt_emu.h"
#include "program.h"
#include "report.h"

#define DIGITS_MAX_RANKS	2	/* of this job */
#define DIGITS_MAX_THREADS	16	/* of digits_on_ranks() */

/* One line on stderr if @status is not NRT_SUCCESS: @what failed. Returns it. */
NRT_STATUS digits_check(const char *what, NRT_STATUS status);

/* Allocate a tensor on a core, and add it to a set. */
NRT_STATUS digits_tensor(int vnc, const char *name, size_t size, nrt_tensor_t **tensor,
			 nrt_tensor_set_t *set);

/* Execute once and add the device's time. */
NRT_STATUS digits_execute(nrt_model_t *model, nrt_tensor_set_t *in, nrt_tensor_set_t *out,
			  struct digits_time *time);

/* What a rank does. @stop is set when another rank has failed. */
typedef NRT_STATUS digits_rank_fn(void *rank, const _Atomic bool *stop);

/*
 * Call @fn for each of @nr ranks of @size bytes, each in a thread of its own: the ranks of a
 * collective wait for each other. The first status, by the ranks' numbers, that is no success.
 */
NRT_STATUS digits_on_ranks(digits_rank_fn *fn, void *ranks, size_t size, unsigned int nr);

/* A file in memory. */
struct digits_blob {
	uint8_t *data;
	size_t size;
};

/**
 * struct digits_rank - the part of one chip
 * @vnc: NeuronCore it runs on
 * @first, @count: its images
 * @repeat: how often it classifies them
 * @classify, @reduce: the two models
 * @x, @labels, @logits, @confusion, @total: device tensors
 * @mlp_in, @mlp_out, @reduce_in, @reduce_out: their tensor sets
 * @mlp_time, @reduce_time: device time of all executions
 */
struct digits_rank {
	int vnc;
	unsigned int rank;
	size_t first;
	size_t count;
	unsigned int repeat;
	nrt_model_t *classify;
	nrt_model_t *reduce;
	nrt_tensor_t *x;
	nrt_tensor_t *labels;
	nrt_tensor_t *logits;
	nrt_tensor_t *confusion;
	nrt_tensor_t *total;
	nrt_tensor_set_t *mlp_in;
	nrt_tensor_set_t *mlp_out;
	nrt_tensor_set_t *reduce_in;
	nrt_tensor_set_t *reduce_out;
	struct digits_time mlp_time;
	struct digits_time reduce_time;
};

/*
 * All return the first status that is not NRT_SUCCESS, after one line on stderr
 * that says which call failed.
 */
NRT_STATUS digits_rank_load(struct digits_rank *rank, unsigned int ranks,
			    const struct digits_blob *mlp,
			    const struct digits_blob *reduce);
void digits_rank_unload(struct digits_rank *rank);

/* Image tensors: only held-out images are counted in the confusion matrix. */
NRT_STATUS digits_rank_write(struct digits_rank *rank,
			     const struct digits_set *set);
/* Logits of the rank's images, in order. */
NRT_STATUS digits_rank_logits(struct digits_rank *rank, float (*logits)[10]);
/* Its own counts, or after digits_reduce() those of all ranks. */
NRT_STATUS digits_rank_counts(struct digits_rank *rank, float own[10][10],
			      float total[10][10]);

/* Run on every rank at the same time. */
NRT_STATUS digits_classify(struct digits_rank *rank, unsigned int ranks);
NRT_STATUS digits_reduce(struct digits_rank *rank, unsigned int ranks);

#endif /* DIGITS_JOB_H */
