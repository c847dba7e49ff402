// SPDX-License-Identifier: MIT
/*
 * The transport of ranks that are threads of the process. File descriptors need not move: each
 * rank makes its own ones of them while those who gave them wait.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/world.h"

struct threads {
	struct nrt_transport base;
	struct nrt_world *world;
};

static struct nrt_world *world_of(struct nrt_transport *transport)
{
	return ((struct threads *)transport)->world;
}

static NRT_STATUS gather(struct nrt_transport *transport, const struct nrt_gather *what,
			 struct nrt_error *error)
{
	return nrt_gather(world_of(transport)->worlds->meetings, what, error);
}

/* Did all ranks use what they were given? It also keeps everybody here until they did. */
static NRT_STATUS meet_again(struct nrt_transport *transport, const struct nrt_gather *what,
			     NRT_STATUS mine, struct nrt_error *error)
{
	NRT_STATUS *all = calloc(what->count, sizeof(*all));
	struct nrt_gather again = *what;
	struct nrt_error ignored;
	NRT_STATUS status;
	uint32_t i;

	if (!all)
		return nrt_error_memory(error);
	again.input = &mine;
	again.output = all;
	again.size = sizeof(mine);
	status = gather(transport, &again, mine ? &ignored : error);
	for (i = 0; !status && !mine && i < what->count; i++)
		if (all[i])
			status = nrt_error_set(error, NRT_FAILURE,
					       "rank %u cannot use what other ranks gave it",
					       nrt_gather_number(what, i));
	free(all);
	return mine ? mine : status;
}

static NRT_STATUS share(struct nrt_transport *transport, const struct nrt_share *what,
			struct nrt_error *error)
{
	struct nrt_gather numbers = what->gather;
	NRT_STATUS status;
	int *all;

	numbers.size = what->nr * sizeof(int);
	all = calloc(numbers.count, numbers.size + 1);
	if (!all)
		return nrt_error_memory(error);
	numbers.input = what->mine;
	numbers.output = all;
	status = gather(transport, &numbers, error);
	if (!status)
		status = meet_again(transport, &what->gather, what->use(what->arg, all, error),
				    error);
	free(all);
	return status;
}

/* Ranks of the same world in this process; each with a reference. */
static unsigned int find_ranks(struct nrt_world *world, struct nrt_world **ranks)
{
	struct nrt_worlds *worlds = world->worlds;
	unsigned int i, nr = 0;

	pthread_mutex_lock(&worlds->lock);
	for (i = 0; i < worlds->nr; i++) {
		if (!worlds->world[i] || worlds->world[i]->id != world->id)
			continue;
		ranks[nr] = worlds->world[i];
		atomic_fetch_add(&ranks[nr++]->refs, 1);
	}
	pthread_mutex_unlock(&worlds->lock);
	return nr;
}

static void abort_all(struct nrt_transport *transport, const struct nrt_error *why)
{
	struct nrt_world *world = world_of(transport);
	struct nrt_world **ranks = calloc(world->worlds->nr, sizeof(struct nrt_world *));
	unsigned int nr = ranks ? find_ranks(world, ranks) : 0;

	while (nr) {
		nrt_world_fail_here(ranks[--nr], why);
		nrt_world_put(ranks[nr]);
	}
	free(ranks);
	nrt_meetings_fail(world->worlds->meetings, world->id);
}

static void retire(struct nrt_transport *transport)
{
	(void)transport;
}

static void threads_close(struct nrt_transport *transport)
{
	free(transport);
}

static const struct nrt_transport_ops threads_ops = {
	.gather = gather,
	.share = share,
	.abort = abort_all,
	.retire = retire,
	.close = threads_close,
};

struct nrt_transport *nrt_threads_open(struct nrt_world *world)
{
	struct threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		return NULL;
	threads->base.ops = &threads_ops;
	threads->world = world;
	return &threads->base;
}
