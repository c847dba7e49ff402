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

struct rank;

/**
 * struct lane - an operation that the ranks do, alone or beside others
 * @of: what it is
 * @stream: its number
 * @shape: of the size under way
 * @sbuf: where its tensors lie then, if they are in SBUF
 * @values: of each group
 * @golden: of each group and the size under way
 */
struct lane {
	const struct ranks_op *of;
	unsigned int stream;
	struct shape shape;
	struct sbuf sbuf;
	struct values **values;
	struct golden **golden;
};

/**
 * struct part - what a rank has to do with an operation
 * @rank, @lane: these two
 * @group: number of the rank's group; -1: it is in none
 * @me: place there
 * @input, @output: of the size under way, ranks_size.buffers of them; each may be NULL
 * @metadata: likewise, one of an operation that varies
 * @owner: whose outputs these are: the part itself, or that of the rank that has them, too
 */
struct part {
	struct rank *rank;
	struct lane *lane;
	int group;
	unsigned int me;
	nrt_tensor_t **input;
	nrt_tensor_t **output;
	nrt_tensor_t *metadata;
	struct part *owner;
};

/**
 * struct rank - a rank
 * @ranks: all of them
 * @thread: its thread; @started: there is one
 * @number: in the world, and of its core
 * @idle: it is in no group
 * @part: of each operation
 * @model: that does the operations of the size under way, or NULL
 * @inputs, @outputs: its tensors, for each of the buffers; or NULL
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
	bool idle;
	struct part part[NEFF_NR_STREAMS];
	nrt_model_t *model;
	nrt_tensor_set_t **inputs;
	nrt_tensor_set_t **outputs;
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
 * @lane: each operation
 * @size: the size under way
 * @neff: that does the operations of that size, or nothing
 * @count: operations of the run under way
 * @first: number of the first one, among those that have buffers of their own
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
	struct lane lane[NEFF_NR_STREAMS];
	struct ranks_size size;
	struct neff neff;
	unsigned int count;
	unsigned int first;
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
/* Each output gets a pattern, so what nobody writes is seen. */
void rank_spoil_output(struct rank *rank);
/* @count operations of the ranks. */
void rank_operate(struct rank *rank);
/* The first rank of a group works out results that values.h does not know, for all of them. */
void rank_reduce(struct rank *rank);
void rank_compare(struct rank *rank);

/* The numbers of all groups. 0, or -1: out of memory. */
int lane_make_values(struct lane *lane);
void lane_fini(struct lane *lane);

/*
 * The plans of @lane's shape, and its tiles in SBUF, if there it is, from byte *@at of a partition
 * on, which is moved behind them. @shared: two ranks have one output. 0, or -1 with @why.
 */
int lane_plan(struct lane *lane, bool shared, uint64_t *at, char why[RANKS_WHY]);

/*
 * After nrt_init(): each rank shares its outputs with one other rank of its group whose core has
 * the same HBM. 0, or -1 with @why.
 */
int ranks_share(struct ranks *ranks, char why[RANKS_WHY]);

#endif /* NCCOM_RANK_H */
