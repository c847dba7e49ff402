/* SPDX-License-Identifier: MIT */
/*
 * One rank, and what its thread does; ranks.c has them all.
 */
#ifndef NCCOM_RANK_H
#define NCCOM_RANK_H

#include <pthread.h>

#include <nrt/nrt_emu.h>

#include "golden.h"
#include "neff.h"
#include "ranks.h"

/* How often somebody who waits looks whether all are to end. */
#define LOOK_MS		100

/**
 * struct rank - a rank
 * @ranks: all of them
 * @thread: its thread; @started: there is one
 * @number: in the world, and of its core
 * @group: number of its group; -1: it is in none
 * @me: place there
 * @input, @output: of the size under way, or NULL
 * @metadata: likewise, of an operation that varies
 * @model: that does the operation of that size, or NULL; @inputs, @outputs: its tensors
 * @tracker: of failed operations
 * @end: how the last work ended
 * @order: how many ranks had a message before this one
 * @why: its message
 * @begin: time at which a run began
 * @ends: times at which the operations of that run ended
 * @requests: their numbers in libnrt, and @device their device times, if these are wanted; or NULL
 */
struct rank {
	struct ranks *ranks;
	pthread_t thread;
	bool started;
	unsigned int number;
	int group;
	unsigned int me;
	nrt_tensor_t *input;
	nrt_tensor_t *output;
	nrt_tensor_t *metadata;
	nrt_model_t *model;
	nrt_tensor_set_t *inputs;
	nrt_tensor_set_t *outputs;
	nrta_error_tracker_t *tracker;
	enum ranks_end end;
	unsigned int order;
	char why[RANKS_WHY];
	uint64_t begin;
	uint64_t *ends;
	nrta_seq_t *requests;
	nrt_emu_group_time_t *device;
};

typedef void rank_work(struct rank *rank);

/**
 * struct ranks - all ranks
 * @of: what they do
 * @values: of each group
 * @golden: of each group and the size under way
 * @size: the size under way
 * @neff: that does the operation of that size, or nothing
 * @count: operations of the run under way
 * @done: operations of the size that rank 0 has seen the end of
 * @lock: protects what follows, together with @change
 * @work, @turn: what the ranks do, and the number of that
 * @working: ranks that have not done it yet
 * @stop: all are to end, whatever they do
 * @messages: how many ranks have one
 * @rank: @of.nr ranks
 */
struct ranks {
	struct ranks_of of;
	struct values **values;
	struct golden **golden;
	struct ranks_size size;
	struct neff neff;
	unsigned int count;
	atomic_uint done;
	pthread_mutex_t lock;
	pthread_cond_t change;
	rank_work *work;
	uint64_t turn;
	unsigned int working;
	atomic_bool stop;
	atomic_uint messages;
	struct rank rank[];
};

/*
 * What all ranks do together, each in its thread. Nothing is done after a failure, or when all are
 * to stop; @end and @why of the rank say so.
 */
void rank_join(struct rank *rank);
/* The device times of all ranks of groups are worked out together. */
void rank_join_times(struct rank *rank);
void rank_take_tensors(struct rank *rank);
/* Load the NEFF, if there is one, and unload it. */
void rank_load(struct rank *rank);
void rank_unload(struct rank *rank);
void rank_give_tensors(struct rank *rank);
/* The output gets a pattern, so what nobody writes is seen. */
void rank_spoil_output(struct rank *rank);
/* @count operations of the ranks. */
void rank_operate(struct rank *rank);
/* The first rank of a group works out results that values.h does not know, for all of them. */
void rank_reduce(struct rank *rank);
void rank_compare(struct rank *rank);

#endif /* NCCOM_RANK_H */
