/* SPDX-License-Identifier: MIT */
/*
 * A world: all ranks that can take part in a collective, as one of them sees it.
 *
 * A core is one rank of one world at a time. A world that has failed stays so: whoever waits in it
 * for other ranks, or for a chip, gets the reason at once, and so do later requests. Then the
 * ranks that are left make a new one.
 */
#ifndef LIBNRT_COMM_WORLD_H
#define LIBNRT_COMM_WORLD_H

#include "base/env.h"
#include "comm/transport.h"
#include "hw/cc.h"
#include "plan/plan.h"

struct nrt_cc_group;
struct nrt_cc_team;
struct nrt_cc_times;
struct nrt_running;
struct nrt_worlds;

/**
 * struct nrt_time_series - of the ranks whose device times are worked out together (cc_times.h)
 * @handle: on the chip; 0: there is none
 * @first: of the members that this rank has, of which there are @jobs
 * @sequence: number of the last run
 */
struct nrt_time_series {
	uint32_t handle;
	uint32_t first;
	uint32_t jobs;
	uint64_t sequence;
};

/*
 * Of collectives that the host asks for, and of executions of models that have some: these have as
 * many jobs as streams beside those of the core, so each number of streams is a kind.
 */
enum nrt_time_kind {
	NRT_TIMES_OF_HOST,
	NRT_TIMES_OF_MODELS,
	NRT_NR_TIME_KINDS = NRT_TIMES_OF_MODELS + NRT_MAX_STREAMS,
};

static inline unsigned int nrt_times_of_models(unsigned int streams)
{
	return NRT_TIMES_OF_MODELS + streams - 1;
}

/**
 * struct nrt_world - a rank
 * @worlds: of the process
 * @refs: the table of @worlds, and each user
 * @id: the same for all ranks, and for no other world
 * @vcore: the rank's core
 * @implied: the ranks met for NRT_WORLD_OF_MODELS: the program did not ask for a world, and may
 *	load ranks one after the other
 * @left: of an implied one: a rank has no model with collectives any more. What runs goes on, and
 *	what begins needs another world
 * @rank, @count: this one, and how many there are
 * @timeout_ms: how long others are waited for, and limit of a job; 0: the defaults
 * @places: where each rank is
 * @topology: what joins their chips
 * @transport: to the others
 * @lock: protects what follows
 * @failed: why it has failed; status 0: it has not
 * @running: jobs that end when it fails
 * @series: for device times
 * @groups: see comm/cc_group.h
 * @teams: see comm/cc_team.h
 */
struct nrt_world {
	struct nrt_worlds *worlds;
	atomic_uint refs;
	uint64_t id;
	struct nrt_vcore *vcore;
	bool implied;
	atomic_bool left;
	uint32_t rank;
	uint32_t count;
	uint32_t timeout_ms;
	struct nrt_plan_place *places;
	enum nrt_plan_topology topology;
	struct nrt_transport *transport;
	pthread_mutex_t lock;
	struct nrt_error failed;
	struct nrt_running *running;
	struct nrt_time_series series[NRT_NR_TIME_KINDS];
	struct nrt_cc_group *groups;
	struct nrt_cc_team *teams;
};

/**
 * struct nrt_worlds - the worlds of the cores of the process
 * @meetings: where ranks that are threads meet
 * @root: NEURON_RT_ROOT_COMM_ID: ranks meet there, whatever process they are of; NULL: they are
 *	threads
 * @algorithm: NEURON_EMU_CC_ALGORITHM, or NULL: as the plan chooses
 * @timeout_ms: see struct nrt_world
 * @lock: protects the rest
 * @last: number of the youngest world that a rank of this process began
 * @world, @nr: by core, or NULL
 * @models: by core: models with collectives
 * @sems: by core, NRT_MAX_CC CC-cores of each: semaphores that are taken
 * @dirty: likewise: semaphores that need not be clear, because a world failed that used them
 * @next_sem: likewise: where the next ones are looked for first. So late posts of a rank that was
 *	given up do not meet those of a new group soon
 * @times: of requests of the cores; has a lock of its own
 */
struct nrt_worlds {
	struct nrt_meetings *meetings;
	const char *root;
	const char *algorithm;
	uint32_t timeout_ms;
	pthread_mutex_t lock;
	uint64_t last;
	struct nrt_world **world;
	unsigned int nr;
	unsigned int *models;
	uint64_t (*sems)[NEURON_NR_SEMAPHORES / 64];
	uint64_t (*dirty)[NEURON_NR_SEMAPHORES / 64];
	unsigned int *next_sem;
	struct nrt_cc_times *times;
};

/* For @nr cores; @env stays. */
NRT_STATUS nrt_worlds_init(struct nrt_worlds *worlds, unsigned int nr,
			   struct nrt_meetings *meetings, const struct nrt_env *env,
			   struct nrt_error *error);
/* Whoever waits for other ranks, or for a collective, fails. */
void nrt_worlds_cancel(struct nrt_worlds *worlds);
void nrt_worlds_fini(struct nrt_worlds *worlds);

/* What ranks say that meet for the first execution of their models. */
#define NRT_WORLD_OF_MODELS	"nrt_load_collectives"

/*
 * @vcore becomes rank @rank of a new world of @count ranks, and leaves its old one. Waits for all
 * ranks that say the same @what. NRT_TIMEOUT, NRT_INVALID, NRT_FAILURE as nrt_gather().
 */
NRT_STATUS nrt_world_join(struct nrt_worlds *worlds, const char *what, struct nrt_vcore *vcore,
			  uint32_t rank, uint32_t count, struct nrt_error *error);

/*
 * A model with collectives is loaded on a core, or unloaded. With the last one the core leaves a
 * world that was made for models: the next models may have other peers.
 */
void nrt_world_model_comes(struct nrt_worlds *worlds, unsigned int vnc);
void nrt_world_model_goes(struct nrt_worlds *worlds, unsigned int vnc);

/* The world of a core with a reference, or NULL. */
struct nrt_world *nrt_world_get(struct nrt_worlds *worlds, unsigned int vnc);
void nrt_world_put(struct nrt_world *world);

/* As the transport does it, unless the world has failed. */
NRT_STATUS nrt_world_gather(struct nrt_world *world, struct nrt_gather *gather,
			    struct nrt_error *error);
NRT_STATUS nrt_world_share(struct nrt_world *world, struct nrt_share *share,
			   struct nrt_error *error);

/* The world has failed, here and everywhere. The first reason counts. */
void nrt_world_fail(struct nrt_world *world, const struct nrt_error *why);

/* The same, here alone: another rank says so. */
void nrt_world_fail_here(struct nrt_world *world, const struct nrt_error *why);

/* Has it failed? Then @error says why. */
NRT_STATUS nrt_world_check(struct nrt_world *world, struct nrt_error *error);

/**
 * struct nrt_running - a job that ends when its world fails
 * @next: list
 * @cc: where it runs
 * @job: its id
 */
struct nrt_running {
	struct nrt_running *next;
	struct nrt_core *cc;
	uint64_t job;
};

/* @running began, and has ended. When the world has failed already it is cancelled at once. */
void nrt_world_begin(struct nrt_world *world, struct nrt_running *running);
void nrt_world_end(struct nrt_world *world, struct nrt_running *running);

/* Take and give back @count semaphores of @cc, of the rank. NRT_RESOURCE: there are too few. */
NRT_STATUS nrt_world_take_sems(struct nrt_world *world, const struct nrt_core *cc,
			       unsigned int count, unsigned int *first, struct nrt_error *error);
void nrt_world_give_sems(struct nrt_world *world, const struct nrt_core *cc, unsigned int first,
			 unsigned int count);

/* Is one of these, which the rank has taken, perhaps not clear? Then they count as clear now. */
bool nrt_world_take_dirt(struct nrt_world *world, const struct nrt_core *cc, unsigned int first,
			 unsigned int count);

/* --- comm/threads.c --- */

/* The transport of ranks that are threads. NULL: no memory. */
struct nrt_transport *nrt_threads_open(struct nrt_world *world);

#endif /* LIBNRT_COMM_WORLD_H */
