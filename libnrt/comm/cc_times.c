// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/cc_rights.h"
#include "comm/cc_times.h"
#include "contract/job.h"

#define KINDS	NRT_NR_TIME_KINDS

_Static_assert(KINDS <= NRT_SHARE_MAX, "all series are shared at once");

/* --- Series --- */

/**
 * struct joining - a meeting of ranks that are to be timed together
 * @me: place of this rank among @nr @ranks
 * @name: of the meeting
 * @handle: of the series
 */
struct joining {
	struct nrt_world *world;
	const uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
	char name[NRT_CC_NAME];
	uint32_t handle[KINDS];
};

static struct nrt_core *core_of(const struct nrt_world *world)
{
	return world->vcore->core[0];
}

/* Jobs of a rank in a run. */
static uint32_t jobs_of(const struct nrt_world *world, unsigned int kind)
{
	return kind == NRT_TIMES_OF_HOST ? 1 : world->vcore->nr + 1 + kind - NRT_TIMES_OF_MODELS;
}

static struct nrt_gather gather_of(const struct joining *joining)
{
	return (struct nrt_gather){
		.what = joining->name, .rank = joining->me, .count = joining->nr,
		.ranks = joining->ranks,
	};
}

/* How many series there are: ranks cannot have more streams than their core. */
static unsigned int kinds_of(const struct nrt_world *world)
{
	return NRT_TIMES_OF_MODELS + nrt_vcore_streams(world->vcore);
}

/* What a rank has: physical cores, and streams. */
struct shape {
	uint32_t cores;
	uint32_t streams;
};

/* All of them have the same, or no rank knows which members and series it has. */
static NRT_STATUS compare(struct joining *joining, struct nrt_error *error)
{
	const struct nrt_vcore *vcore = joining->world->vcore;
	const struct shape mine = { vcore->nr, nrt_vcore_streams(vcore) };
	struct shape *all = calloc(joining->nr, sizeof(*all));
	struct nrt_gather gather = gather_of(joining);
	NRT_STATUS status;
	uint32_t i;

	if (!all)
		return nrt_error_memory(error);
	gather.size = sizeof(mine);
	gather.input = &mine;
	gather.output = all;
	status = nrt_world_gather(joining->world, &gather, error);
	for (i = 0; i < joining->nr && !status; i++)
		if (all[i].cores != mine.cores || all[i].streams != mine.streams)
			status = nrt_error_set(error, NRT_INVALID,
					       "rank %u has cores of %u physical ones with %u streams, rank %u of %u with %u: their times cannot be worked out together",
					       joining->ranks[joining->me], mine.cores,
					       mine.streams, joining->ranks[i], all[i].cores,
					       all[i].streams);
	free(all);
	return status;
}

/* The first rank has made them. */
static NRT_STATUS take_series(void *arg, const int *fds, struct nrt_error *error)
{
	struct joining *joining = arg;
	unsigned int kind;

	for (kind = 0; joining->me && kind < kinds_of(joining->world); kind++)
		if (nrt_series_import(core_of(joining->world), fds[kind], &joining->handle[kind],
				      error))
			return error->status;
	return NRT_SUCCESS;
}

/* A descriptor for the others; that of a rank that is not the first one stands for nothing. */
static NRT_STATUS make_one(struct joining *joining, unsigned int kind, int *fd,
			   struct nrt_error *error)
{
	const struct nrt_world *world = joining->world;

	if (!joining->me)
		return nrt_series_new(core_of(world), joining->nr * jobs_of(world, kind),
				      &joining->handle[kind], fd, error);
	*fd = eventfd(0, EFD_CLOEXEC);
	if (*fd < 0)
		return nrt_error_set(error, NRT_RESOURCE,
				     "no descriptor to join the times of other ranks: %s",
				     strerror(errno));
	return NRT_SUCCESS;
}

static NRT_STATUS meet(struct joining *joining, struct nrt_error *error)
{
	const unsigned int all = kinds_of(joining->world);
	int fds[KINDS];
	struct nrt_share share = {
		.gather = gather_of(joining),
		.mine = fds,
		.nr = all,
		.use = take_series,
		.arg = joining,
	};
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int nr = 0;

	while (nr < all && !status) {
		status = make_one(joining, nr, &fds[nr], error);
		nr += !status;
	}
	if (!status)
		status = nrt_world_share(joining->world, &share, error);
	while (nr)
		close(fds[--nr]);
	return status;
}

static void begin_series(struct joining *joining)
{
	struct nrt_world *world = joining->world;
	unsigned int kind;

	pthread_mutex_lock(&world->lock);
	for (kind = 0; kind < kinds_of(world); kind++)
		world->series[kind] = (struct nrt_time_series){
			.handle = joining->handle[kind],
			.first = joining->me * jobs_of(world, kind),
			.jobs = jobs_of(world, kind),
		};
	/* It may have failed since. */
	if (world->failed.status)
		nrt_cc_times_end(world);
	pthread_mutex_unlock(&world->lock);
}

/* The place of the rank in the list; @nr: it is not there. */
static uint32_t find_rank(const uint32_t *ranks, uint32_t nr, uint32_t rank)
{
	uint32_t i = 0;

	while (i < nr && ranks[i] != rank)
		i++;
	return i;
}

static NRT_STATUS check_list(const struct nrt_world *world, const uint32_t *ranks, uint32_t nr,
			     struct nrt_error *error)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (ranks[i] >= world->count || find_rank(ranks, nr, ranks[i]) != i)
			return nrt_error_set(error, NRT_INVALID,
					     "place %u of the list has rank %u, which is %s", i,
					     ranks[i], ranks[i] < world->count ? "there twice" :
										"no rank");
	if (find_rank(ranks, nr, world->rank) == nr)
		return nrt_error_set(error, NRT_INVALID, "rank %u is not in the list",
				     world->rank);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_times_join(struct nrt_world *world, const uint32_t *ranks, uint32_t nr,
			     struct nrt_error *error)
{
	struct joining joining = { .world = world, .ranks = ranks, .nr = nr };
	unsigned int kind;

	if (nrt_series_possible(world->vcore->device, error))
		return error->status;
	if (check_list(world, ranks, nr, error))
		return error->status;
	joining.me = find_rank(ranks, nr, world->rank);
	nrt_cc_times_leave(world);
	nrt_cc_name(joining.name, "device times", ranks, nr);
	/* What the ranks compare all of them know; the rest concerns those that wait. */
	if (compare(&joining, error))
		return error->status;
	if (!meet(&joining, error)) {
		begin_series(&joining);
		return NRT_SUCCESS;
	}
	for (kind = 0; kind < KINDS; kind++)
		nrt_series_close(core_of(world), joining.handle[kind]);
	nrt_world_fail(world, error);
	return error->status;
}

void nrt_cc_times_end(struct nrt_world *world)
{
	unsigned int kind;

	for (kind = 0; kind < KINDS; kind++) {
		nrt_series_close(core_of(world), world->series[kind].handle);
		world->series[kind].handle = 0;
	}
}

void nrt_cc_times_leave(struct nrt_world *world)
{
	pthread_mutex_lock(&world->lock);
	nrt_cc_times_end(world);
	pthread_mutex_unlock(&world->lock);
}

bool nrt_cc_times_next(struct nrt_world *world, unsigned int kind,
		       struct nrt_time_place *places)
{
	struct nrt_time_series *series = &world->series[kind];
	uint32_t i;
	bool timed;

	pthread_mutex_lock(&world->lock);
	timed = series->handle;
	if (timed)
		series->sequence++;
	for (i = 0; timed && i < series->jobs; i++)
		places[i] = (struct nrt_time_place){
			.series = series->handle,
			.index = series->first + i,
			.sequence = series->sequence,
		};
	pthread_mutex_unlock(&world->lock);
	return timed;
}

/* --- Requests --- */

/* The newest one at @nr - 1 modulo NRT_CC_TIMES. */
struct ring {
	uint64_t nr;
	struct nrt_cc_timed *timed;
};

/**
 * struct nrt_cc_times - requests whose times can be asked for
 * @lock: protects the rest
 * @ring, @nr: by core
 */
struct nrt_cc_times {
	pthread_mutex_t lock;
	unsigned int nr;
	struct ring ring[];
};

struct nrt_cc_times *nrt_cc_times_new(unsigned int cores)
{
	struct nrt_cc_times *times = calloc(1, sizeof(*times) + cores * sizeof(times->ring[0]));

	if (!times)
		return NULL;
	times->nr = cores;
	pthread_mutex_init(&times->lock, NULL);
	return times;
}

void nrt_cc_times_free(struct nrt_cc_times *times)
{
	unsigned int i;

	if (!times)
		return;
	for (i = 0; i < times->nr; i++)
		free(times->ring[i].timed);
	pthread_mutex_destroy(&times->lock);
	free(times);
}

/* Without memory nobody can ask for it. */
void nrt_cc_times_add(struct nrt_cc_times *times, unsigned int vnc, struct nrt_cc_timed timed)
{
	struct ring *ring = &times->ring[vnc];

	pthread_mutex_lock(&times->lock);
	if (!ring->timed)
		ring->timed = calloc(NRT_CC_TIMES, sizeof(*ring->timed));
	if (ring->timed)
		ring->timed[ring->nr++ % NRT_CC_TIMES] = timed;
	pthread_mutex_unlock(&times->lock);
}

/* The last job of request @seq before *@at, which counts jobs; false: there is none. */
static bool find_before(struct nrt_cc_times *times, unsigned int vnc, uint64_t seq, uint64_t *at,
			struct nrt_cc_timed *found)
{
	const struct ring *ring = &times->ring[vnc];
	const struct nrt_cc_timed *timed = NULL;

	pthread_mutex_lock(&times->lock);
	if (*at > ring->nr)
		*at = ring->nr;
	while ((!timed || timed->seq != seq) && *at && *at + NRT_CC_TIMES > ring->nr)
		timed = &ring->timed[--*at % NRT_CC_TIMES];
	if (timed && timed->seq == seq)
		*found = *timed;
	else
		timed = NULL;
	pthread_mutex_unlock(&times->lock);
	return timed;
}

static void extend(struct nrt_cc_time *time, const struct nrt_settled *settled)
{
	if (settled->start_ns < time->start_ns)
		time->start_ns = settled->start_ns;
	if (settled->end_ns > time->end_ns)
		time->end_ns = settled->end_ns;
	if (!settled->exact)
		time->cause = settled->cause;
}

NRT_STATUS nrt_cc_times_get(struct nrt_cc_times *times, unsigned int vnc, uint64_t seq,
			    int64_t deadline_ns, struct nrt_cc_time *time,
			    struct nrt_error *error)
{
	struct nrt_cc_timed timed = { 0 };
	struct nrt_settled settled;
	uint64_t at = UINT64_MAX;

	*time = (struct nrt_cc_time){ .start_ns = UINT64_MAX, .cause = NEURON_SETTLE_FINE };
	while (!timed.first && find_before(times, vnc, seq, &at, &timed)) {
		if (nrt_series_settled(timed.core, timed.job, deadline_ns, &settled, error))
			return error->status;
		extend(time, &settled);
	}
	if (timed.first)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_QUEUE_EMPTY,
			     "request 0x%llx of core %u was not timed, or too long ago",
			     (unsigned long long)seq, vnc);
}
