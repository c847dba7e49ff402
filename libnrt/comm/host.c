// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/env.h"
#include "comm/host.h"

#define MAX_RANKS	4096
/* Of a gathering, with its NUL. */
#define NAME		64

/**
 * struct nrt_gathering - a gathering under way
 * @next: list
 * @world, @what, @count, @size: as its first rank said
 * @here: by rank: it has come
 * @arrived: how many have
 * @inside: threads that use this
 * @over: all have come; nobody else may join
 * @failed: somebody gave up; nobody else may join
 * @why: the reason, for ranks of a world; status 0: there is none
 * @bytes: of all ranks
 */
struct nrt_gathering {
	struct nrt_gathering *next;
	uint64_t world;
	char what[NAME];
	uint32_t count;
	size_t size;
	bool *here;
	uint32_t arrived;
	unsigned int inside;
	bool over;
	bool failed;
	struct nrt_error why;
	uint8_t *bytes;
};

void nrt_meetings_init(struct nrt_meetings *meetings)
{
	pthread_condattr_t attr;

	meetings->first = NULL;
	meetings->closing = false;
	pthread_mutex_init(&meetings->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&meetings->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void nrt_meetings_fini(struct nrt_meetings *meetings)
{
	pthread_cond_destroy(&meetings->changed);
	pthread_mutex_destroy(&meetings->lock);
}

void nrt_meetings_cancel(struct nrt_meetings *meetings)
{
	pthread_mutex_lock(&meetings->lock);
	meetings->closing = true;
	pthread_cond_broadcast(&meetings->changed);
	pthread_mutex_unlock(&meetings->lock);
}

void nrt_meetings_fail(struct nrt_meetings *meetings, uint64_t world)
{
	struct nrt_gathering *gathering;

	pthread_mutex_lock(&meetings->lock);
	for (gathering = meetings->first; gathering; gathering = gathering->next)
		if (gathering->world == world && !gathering->over)
			gathering->failed = true;
	pthread_cond_broadcast(&meetings->changed);
	pthread_mutex_unlock(&meetings->lock);
}

/* --- With the lock of the meetings --- */

/* The gathering that @gather can join, or NULL. */
static struct nrt_gathering *find(const struct nrt_meetings *meetings,
				  const struct nrt_gather *gather)
{
	struct nrt_gathering *gathering = meetings->first;

	while (gathering && (gathering->over || gathering->failed ||
			     gathering->world != gather->world ||
			     gathering->count != gather->count ||
			     strcmp(gathering->what, gather->what)))
		gathering = gathering->next;
	return gathering;
}

static void free_gathering(struct nrt_gathering *gathering)
{
	free(gathering->bytes);
	free(gathering->here);
	free(gathering);
}

static struct nrt_gathering *add(struct nrt_meetings *meetings, const struct nrt_gather *gather)
{
	struct nrt_gathering *gathering = calloc(1, sizeof(*gathering));

	if (!gathering)
		return NULL;
	gathering->here = calloc(gather->count, sizeof(*gathering->here));
	gathering->bytes = calloc(gather->count, gather->size + 1);
	if (!gathering->here || !gathering->bytes) {
		free_gathering(gathering);
		return NULL;
	}
	gathering->world = gather->world;
	snprintf(gathering->what, sizeof(gathering->what), "%s", gather->what);
	gathering->count = gather->count;
	gathering->size = gather->size;
	gathering->next = meetings->first;
	meetings->first = gathering;
	return gathering;
}

/* The last one who leaves takes it away. */
static void leave(struct nrt_meetings *meetings, struct nrt_gathering *gathering)
{
	struct nrt_gathering **link = &meetings->first;

	if (--gathering->inside)
		return;
	while (*link != gathering)
		link = &(*link)->next;
	*link = gathering->next;
	free_gathering(gathering);
}

static void fail(struct nrt_meetings *meetings, struct nrt_gathering *gathering)
{
	gathering->failed = true;
	pthread_cond_broadcast(&meetings->changed);
}

static NRT_STATUS arrive(struct nrt_meetings *meetings, struct nrt_gathering *gathering,
			 const struct nrt_gather *gather, struct nrt_error *error)
{
	if (gathering->size != gather->size) {
		fail(meetings, gathering);
		return nrt_error_set(error, NRT_INVALID,
				     "rank %u has %zu bytes, the ranks before it have %zu",
				     gather->rank, gather->size, gathering->size);
	}
	if (gathering->here[gather->rank]) {
		fail(meetings, gathering);
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u has come twice",
				     gather->rank, gather->count);
	}
	gathering->here[gather->rank] = true;
	if (gather->size)
		memcpy(gathering->bytes + gather->rank * gather->size, gather->input,
		       gather->size);
	gathering->over = ++gathering->arrived == gathering->count;
	if (gathering->over)
		pthread_cond_broadcast(&meetings->changed);
	return NRT_SUCCESS;
}

static NRT_STATUS explain_absence(struct nrt_meetings *meetings,
				  struct nrt_gathering *gathering,
				  const struct nrt_gather *gather, uint32_t timeout_ms,
				  struct nrt_error *error)
{
	uint32_t absent = 0;

	while (gathering->here[absent])
		absent++;
	fail(meetings, gathering);
	nrt_error_set(error, NRT_TIMEOUT,
		      "rank %u of %u waited %g s for rank %u; all ranks must be threads of this process",
		      nrt_gather_number(gather, gather->rank), gather->count, timeout_ms / 1000.0,
		      nrt_gather_number(gather, absent));
	if (gather->world)
		gathering->why = *error;
	return error->status;
}

/* The lock is given up meanwhile. */
static NRT_STATUS wait_for_all(struct nrt_meetings *meetings, struct nrt_gathering *gathering,
			       const struct nrt_gather *gather, struct nrt_error *error)
{
	uint32_t timeout_ms = gather->timeout_ms ? gather->timeout_ms : NRT_TIMEOUT_MS;
	struct timespec until = nrt_clock_after(timeout_ms);
	int ret = 0;

	while (!gathering->over && !gathering->failed && !meetings->closing && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&meetings->changed, &meetings->lock, &until);
	if (gathering->over)
		return NRT_SUCCESS;
	if (meetings->closing)
		return nrt_error_set(error, NRT_CLOSED, "nrt_close() ended the wait");
	if (gathering->failed && gathering->why.status) {
		*error = gathering->why;
		return error->status;
	}
	if (gathering->failed)
		return nrt_error_set(error, NRT_FAILURE, "rank %u of %u: another rank gave up",
				     gather->rank, gather->count);
	return explain_absence(meetings, gathering, gather, timeout_ms, error);
}

static NRT_STATUS gather_locked(struct nrt_meetings *meetings, const struct nrt_gather *gather,
				struct nrt_error *error)
{
	struct nrt_gathering *gathering = find(meetings, gather);
	NRT_STATUS status;

	if (!gathering)
		gathering = add(meetings, gather);
	if (!gathering)
		return nrt_error_memory(error);
	gathering->inside++;
	status = arrive(meetings, gathering, gather, error);
	if (!status)
		status = wait_for_all(meetings, gathering, gather, error);
	if (!status && gather->size)
		memcpy(gather->output, gathering->bytes, gather->count * gather->size);
	leave(meetings, gathering);
	return status;
}

NRT_STATUS nrt_gather(struct nrt_meetings *meetings, const struct nrt_gather *gather,
		      struct nrt_error *error)
{
	NRT_STATUS status;

	if (gather->rank >= gather->count || gather->count > MAX_RANKS)
		return nrt_error_set(error, NRT_INVALID, "rank %u of %u; there are at most %u",
				     gather->rank, gather->count, MAX_RANKS);
	pthread_mutex_lock(&meetings->lock);
	status = gather_locked(meetings, gather, error);
	pthread_mutex_unlock(&meetings->lock);
	return status;
}
