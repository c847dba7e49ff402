// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/state.h"
#include "cc_answers.h"
#include "cc_trial.h"
#include "must.h"

#define ROOM		(1u << 20)
#define HANG_MS		(TRIAL_LIMIT_MS + 30000)
#define LEAVE_MS	100

/* --- Verdicts --- */

void trial_wrong(struct trial *trial, const char *format, ...)
{
	struct cell *cell = trial->cell;
	va_list args;

	if (cell->verdict == CELL_WRONG)
		return;
	cell->verdict = CELL_WRONG;
	va_start(args, format);
	vsnprintf(cell->text, sizeof(cell->text), format, args);
	va_end(args);
}

bool trial_is_wrong(const struct trial *trial)
{
	return trial->cell->verdict == CELL_WRONG;
}

uint64_t trial_next(struct trial *trial)
{
	trial->random ^= trial->random << 13;
	trial->random ^= trial->random >> 7;
	trial->random ^= trial->random << 17;
	return trial->random;
}

uint64_t trial_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool trial_is_victim(const struct trial_rank *rank)
{
	return rank->number == rank->trial->cell->victim;
}

struct trial_rank *trial_victim(struct trial *trial)
{
	return &trial->rank[trial->cell->victim];
}

/* --- Ranks --- */

/* All that are not absent do @run; one that does not come back ends the process. */
static void all(struct trial *trial, void *(*run)(void *arg))
{
	struct timespec until;
	struct trial_rank *rank;

	for (rank = trial->rank; rank < trial->rank + trial->cell->ranks; rank++)
		if (!rank->absent)
			must_start(&rank->thread, run, rank);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANG_MS / 1000;
	for (rank = trial->rank; rank < trial->rank + trial->cell->ranks; rank++) {
		if (rank->absent || !pthread_timedjoin_np(rank->thread, NULL, &until))
			continue;
		trial->cell->verdict = CELL_EMPTY;
		trial_wrong(trial, "rank %u hangs", rank->number);
		_exit(1);
	}
}

/* Whoever failed says that the cell is wrong. */
static void expect_well(struct trial *trial, const char *when)
{
	const struct trial_rank *rank;

	for (rank = trial->rank; rank < trial->rank + trial->cell->ranks; rank++) {
		if (rank->absent)
			continue;
		if (rank->status)
			trial_wrong(trial, "%s: rank %u failed (%d): %s", when, rank->number,
				    rank->status, rank->error.text);
		else if (rank->wrong)
			trial_wrong(trial, "%s: rank %u has wrong bits", when, rank->number);
	}
}

/* The group has all ranks of the world in their order; an odd one, less or in another order. */
static struct nrt_cc_group *group_of(struct trial_rank *rank, enum cell_what what)
{
	unsigned int nr = rank->trial->world, me = rank->place, i;
	uint32_t ranks[TRIAL_RANKS];

	for (i = 0; i < nr; i++)
		ranks[i] = i;
	if (what == CELL_ODD_ORDER) {
		for (i = 0; i < nr; i++)
			ranks[i] = (me + nr - i) % nr;
		me = 0;
	} else if (what == CELL_ODD_GROUP) {
		/* Without the rank behind it. */
		for (nr = i = 0; i < rank->trial->world; i++)
			if (i != (me + 1) % rank->trial->world)
				ranks[nr++] = i;
		for (i = 0; ranks[i] != me; i++)
			;
		me = i;
	}
	return nrt_cc_group_find(rank->world, ranks, nr, me, &rank->error);
}

static void *join_world(void *arg)
{
	struct trial_rank *rank = arg;
	struct trial *trial = rank->trial;
	unsigned int i;

	nrt_world_put(rank->world);
	rank->world = NULL;
	rank->wrong = false;
	rank->status = nrt_world_join(&trial->state->worlds, "matrix", rank->vcore, rank->place,
				      trial->world, &rank->error);
	if (rank->status)
		return NULL;
	rank->world = nrt_world_get(&trial->state->worlds, rank->vcore->vnc);
	rank->group = group_of(rank, CELL_FAULT);
	rank->status = rank->group ? NRT_SUCCESS : rank->error.status;
	for (i = 0; !rank->status && i < 3; i++)
		if (!rank->bo[i])
			rank->status = nrt_bo_create(rank->vcore->core[0], ROOM,
						     DRM_NEURON_BO_HBM,
						     DRM_NEURON_CATEGORY_TENSORS, &rank->bo[i],
						     &rank->error);
	return NULL;
}

void trial_join(struct trial *trial, const char *when)
{
	struct trial_rank *rank;

	trial->world = 0;
	for (rank = trial->rank; rank < trial->rank + trial->cell->ranks; rank++)
		if (!rank->absent)
			rank->place = trial->world++;
	all(trial, join_world);
	expect_well(trial, when);
}

static struct nrt_cc_run run_of(const struct trial_rank *rank, const struct trial_task *task)
{
	const struct nrt_plan *plan = task->plan;

	return (struct nrt_cc_run){
		.op = task->ask.op, .reduce = task->ask.reduce, .dtype = task->ask.dtype,
		.count = task->ask.count, .in_place = task->ask.in_place,
		.pairs = task->ask.pairs, .nr_pairs = task->ask.nr_pairs, .root = task->ask.root,
		.nr_channels = task->ask.nr_channels,
		.input = { rank->bo[0], 0, plan->bytes[NRT_PLAN_INPUT] },
		.output = { rank->bo[task->ask.in_place ? 0 : 1], 0,
			    plan->bytes[NRT_PLAN_OUTPUT] },
		.meta = { rank->bo[2], 0, plan->bytes[NRT_PLAN_META] },
	};
}

static NRT_STATUS put(struct nrt_cc_bytes to, const void *bytes, struct nrt_error *error)
{
	return to.length ? nrt_bo_write(to.bo, to.offset, bytes, to.length, error) : NRT_SUCCESS;
}

static NRT_STATUS get(struct nrt_cc_bytes from, void *bytes, struct nrt_error *error)
{
	return from.length ? nrt_bo_read(from.bo, from.offset, bytes, from.length, error) :
			     NRT_SUCCESS;
}

/* Inputs of the next collective, before anything fails. */
static void *fill(void *arg)
{
	struct trial_rank *rank = arg;
	struct trial *trial = rank->trial;
	struct nrt_cc_run run = run_of(rank, &trial->task);
	uint32_t meta[CC_META_WORDS] = { 0 };
	uint8_t *bytes = must_allocate(ROOM);

	rank->wrong = false;
	cc_fill_meta(trial->task.plan, rank->place, trial->data, meta);
	memset(bytes, CC_UNTOUCHED, ROOM);
	rank->status = put(run.output, bytes, &rank->error);
	cc_fill(bytes, run.input.length, rank->place, trial->data);
	rank->status = rank->status ?: put(run.input, bytes, &rank->error) ?:
		       put(run.meta, meta, &rank->error);
	free(bytes);
	return NULL;
}

static void verify(struct trial_rank *rank)
{
	const struct trial *trial = rank->trial;
	struct nrt_cc_run run = run_of(rank, &trial->task);
	uint32_t meta[CC_META_WORDS] = { 0 };
	uint8_t *bytes = must_allocate(ROOM);

	if (get(run.output, bytes, &rank->error) || get(run.meta, meta, &rank->error))
		rank->status = rank->error.status;
	else
		rank->wrong = !cc_is_right(trial->task.plan, rank->place, trial->data, bytes,
					   meta);
	free(bytes);
}

/* It comes late, or not at all. */
static bool comes(struct trial_rank *rank, enum cell_what what)
{
	struct nrt_worlds *worlds = &rank->trial->state->worlds;

	if (what == CELL_LATE)
		usleep(1000 * TRIAL_LATE_MS);
	if (what == CELL_TOO_LATE)
		usleep(1000 * TRIAL_TOO_LATE_MS);
	if (what == CELL_LEAVES) {
		usleep(1000 * LEAVE_MS);
		rank->status = nrt_world_join(worlds, "matrix", rank->vcore, 0, 1, &rank->error);
		if (rank->status)
			trial_wrong(rank->trial, "a world for itself: %s", rank->error.text);
	}
	return what != CELL_GONE && what != CELL_LEAVES;
}

static void *collective(void *arg)
{
	struct trial_rank *rank = arg;
	struct trial *trial = rank->trial;
	enum cell_what what = trial->strikes && trial_is_victim(rank) ? trial->cell->row->what :
			      CELL_FAULT;
	const struct trial_task *task = trial->strikes && trial_is_victim(rank) && trial->odd.plan ?
				  &trial->odd : &trial->task;
	struct nrt_cc_group *group = rank->group;
	struct nrt_cc_run run = run_of(rank, task);
	uint64_t begin = trial_now_ms();
	struct nrt_cc_job job;

	rank->status = NRT_SUCCESS;
	if (!comes(rank, what))
		return NULL;
	if (what == CELL_ODD_ORDER || what == CELL_ODD_GROUP)
		group = group_of(rank, what);
	rank->status = group ? nrt_cc_begin(group, &run, &job, &rank->error) : rank->error.status;
	if (!rank->status && what == CELL_KILLED)
		nrt_cc_cancel(job.running.cc, job.running.job);
	if (!rank->status)
		rank->status = nrt_cc_end(group, &job, &rank->error);
	rank->ms = (unsigned int)(trial_now_ms() - begin);
	if (!rank->status)
		verify(rank);
	return NULL;
}

void trial_fill(struct trial *trial)
{
	all(trial, fill);
}

void trial_collective(struct trial *trial)
{
	all(trial, collective);
}

void trial_well(struct trial *trial, const char *when)
{
	if (trial_is_wrong(trial))
		return;
	all(trial, fill);
	expect_well(trial, when);
	all(trial, collective);
	expect_well(trial, when);
}

/* --- Collectives --- */

void trial_task_fini(struct trial_task *task)
{
	nrt_plan_free(task->plan);
	task->plan = NULL;
}

bool trial_plan(struct trial *trial, struct trial_task *task, const char *algorithm)
{
	struct nrt_plan_place places[TRIAL_RANKS];
	struct nrt_error error;
	unsigned int i, nr = 0;

	for (i = 0; i < trial->cell->ranks; i++) {
		if (trial->rank[i].absent)
			continue;
		places[nr++] = nrt_vcore_place(trial->rank[i].vcore);
		task->ask.topology = nrt_vcore_topology(trial->rank[i].vcore);
	}
	task->ask.nr_ranks = nr;
	task->ask.places = places;
	task->ask.algorithm = algorithm;
	task->ask.pairs = task->ask.nr_pairs ? task->pairs : NULL;
	if (nrt_plan_make(&task->ask, &task->plan, &error))
		return false;
	trial->state->worlds.algorithm = algorithm;
	return true;
}

struct trial_task trial_task_of(enum nrt_plan_op op, unsigned int dtype, uint64_t count,
				unsigned int ranks)
{
	struct trial_task task = {
		.ask = { .op = op, .dtype = (uint8_t)dtype, .count = count },
	};
	unsigned int i;

	if (nrt_plan_reduces(op))
		task.ask.reduce = NRT_PLAN_ADD;
	if (op == NRT_PLAN_PERMUTE_RING)
		task.ask.nr_channels = 1;
	for (i = 0; op == NRT_PLAN_PERMUTE && i < ranks; i++)
		task.pairs[i] = (struct nrt_plan_pair){ (uint16_t)i, (uint16_t)((i + 1) % ranks) };
	task.ask.nr_pairs = op == NRT_PLAN_PERMUTE ? ranks : 0;
	return task;
}

void trial_leave(struct trial *trial)
{
	unsigned int r, i;

	for (r = 0; r < trial->cell->ranks; r++) {
		for (i = 0; i < 3; i++)
			nrt_bo_put(trial->rank[r].bo[i]);
		nrt_world_put(trial->rank[r].world);
	}
	trial_task_fini(&trial->task);
	trial_task_fini(&trial->odd);
}
