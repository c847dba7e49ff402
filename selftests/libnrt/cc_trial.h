/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a cell (cc_cell.h): they make worlds, do collectives, and look at what comes out.
 */
#ifndef SELFTESTS_LIBNRT_CC_TRIAL_H
#define SELFTESTS_LIBNRT_CC_TRIAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cc_cell.h"
#include "comm/cc_group.h"

struct nrt_state;

#define TRIAL_RANKS		4
#define TRIAL_LIMIT_MS		(1000 * CELL_LIMIT_S)
#define TRIAL_LATE_MS		(TRIAL_LIMIT_MS / 4)
#define TRIAL_TOO_LATE_MS	(TRIAL_LIMIT_MS + 500)

/* A collective. */
struct trial_task {
	struct nrt_plan_ask ask;
	struct nrt_plan_pair pairs[TRIAL_RANKS];
	struct nrt_plan *plan;
};

struct trial;

/**
 * struct trial_rank - a rank
 * @thread: what it does now
 * @vcore, @bo: its core, and its input, output and metadata
 * @world, @group: of all that take part
 * @number, @place: in the machine, and in the world
 * @absent: it does not take part
 * @status, @error, @wrong, @ms: what came of it; @wrong: the bits of the output are
 */
struct trial_rank {
	struct trial *trial;
	pthread_t thread;
	struct nrt_vcore *vcore;
	struct nrt_bo *bo[3];
	struct nrt_world *world;
	struct nrt_cc_group *group;
	unsigned int number;
	unsigned int place;
	bool absent;
	struct nrt_error error;
	NRT_STATUS status;
	bool wrong;
	unsigned int ms;
};

/**
 * struct trial - a cell that is tried
 * @rank: on a chip each
 * @world: how many of them are in the world under way
 * @task: what they do
 * @odd: what the rank that fails does instead, if its plan is there
 * @strikes: the rank does what the row says
 * @random: state of chance
 * @data: of inputs
 */
struct trial {
	struct cell *cell;
	struct nrt_state *state;
	struct trial_rank rank[TRIAL_RANKS];
	unsigned int world;
	struct trial_task task;
	struct trial_task odd;
	bool strikes;
	uint64_t random;
	uint64_t data;
};

/* Chance. */
uint64_t trial_next(struct trial *trial);

/* The cell is wrong; the first thing that is counts. */
void trial_wrong(struct trial *trial, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool trial_is_wrong(const struct trial *trial);

uint64_t trial_now_ms(void);

struct trial_rank *trial_victim(struct trial *trial);
bool trial_is_victim(const struct trial_rank *rank);

struct trial_task trial_task_of(enum nrt_plan_op op, unsigned int dtype, uint64_t count,
				unsigned int ranks);
void trial_task_fini(struct trial_task *task);
/* The plan that the ranks of the world make; false: there is none by that algorithm. */
bool trial_plan(struct trial *trial, struct trial_task *task, const char *algorithm);

/* All but those that are absent make a world. */
void trial_join(struct trial *trial, const char *when);

/* They write the inputs of the next collective, and do it. One that hangs ends the process. */
void trial_fill(struct trial *trial);
void trial_collective(struct trial *trial);

/* Both, without a fault: if one fails the cell is wrong. */
void trial_well(struct trial *trial, const char *when);

/* All ranks go. */
void trial_leave(struct trial *trial);

#endif /* SELFTESTS_LIBNRT_CC_TRIAL_H */
