// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_fabric.h"

#include <stdlib.h>
#include <string.h>

#include "trn_internal.h"

/**
 * struct trn_fabric - chips in ascending order of their ids
 * @lock: all fields
 * @refs: one for each attached chip, one for the creator
 * @key: names it among the fabrics of the process
 */
struct trn_fabric {
	pthread_mutex_t lock;
	unsigned int refs;
	uint32_t key;
	unsigned int nr;
	unsigned int room;
	struct trn_chip **chips;
};

struct trn_fabric *trn_fabric_new(void)
{
	/* Fabrics of one process must differ, whatever thread makes them. */
	static _Atomic uint32_t keys;
	struct trn_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return NULL;
	pthread_mutex_init(&fabric->lock, NULL);
	fabric->refs = 1;
	fabric->key = atomic_fetch_add(&keys, 1) + 1;
	return fabric;
}

uint32_t trn_fabric_key(const struct trn_fabric *fabric)
{
	return fabric->key;
}

void trn_fabric_unref(struct trn_fabric *fabric)
{
	bool last;

	if (!fabric)
		return;
	pthread_mutex_lock(&fabric->lock);
	last = !--fabric->refs;
	pthread_mutex_unlock(&fabric->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&fabric->lock);
	free(fabric->chips);
	free(fabric);
}

/* Index of @id, or where it belongs. */
static unsigned int fabric_index(const struct trn_fabric *fabric, uint32_t id)
{
	unsigned int lo = 0, hi = fabric->nr;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (fabric->chips[mid]->config.fabric_id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct trn_chip *fabric_at(const struct trn_fabric *fabric,
				  unsigned int i, uint32_t id)
{
	if (i >= fabric->nr || fabric->chips[i]->config.fabric_id != id)
		return NULL;
	return fabric->chips[i];
}

/* In a ring one chip more or less may change the links and distances of all. */
static void fabric_tell_all(struct trn_fabric *fabric)
{
	unsigned int i;

	for (i = 0; i < fabric->nr; i++) {
		struct trn_controller *c = &fabric->chips[i]->controller;

		atomic_store(&c->links_changed, true);
		trn_task_kick(&c->task);
	}
}

static bool fabric_grow(struct trn_fabric *fabric)
{
	unsigned int room = fabric->room ? fabric->room * 2 : 16;
	struct trn_chip **chips;

	if (fabric->nr < fabric->room)
		return true;
	chips = realloc(fabric->chips, room * sizeof(*chips));
	if (!chips)
		return false;
	fabric->chips = chips;
	fabric->room = room;
	return true;
}

int trn_fabric_attach(struct trn_fabric *fabric, struct trn_chip *chip,
		      const char **why)
{
	uint32_t id = chip->config.fabric_id;
	unsigned int i;
	int err = -1;

	pthread_mutex_lock(&fabric->lock);
	i = fabric_index(fabric, id);
	if (fabric_at(fabric, i, id)) {
		*why = "the fabric has a chip with this id";
		goto out;
	}
	if (fabric->nr && fabric->chips[0]->pool != chip->pool) {
		*why = "the chips of a fabric must share a worker pool";
		goto out;
	}
	if (!fabric_grow(fabric)) {
		*why = "out of memory";
		goto out;
	}
	fabric_tell_all(fabric);
	memmove(&fabric->chips[i + 1], &fabric->chips[i],
		(fabric->nr - i) * sizeof(*fabric->chips));
	fabric->chips[i] = chip;
	fabric->nr++;
	fabric->refs++;
	err = 0;
out:
	pthread_mutex_unlock(&fabric->lock);
	return err;
}

void trn_fabric_detach(struct trn_fabric *fabric, struct trn_chip *chip)
{
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	i = fabric_index(fabric, chip->config.fabric_id);
	fabric->nr--;
	memmove(&fabric->chips[i], &fabric->chips[i + 1],
		(fabric->nr - i) * sizeof(*fabric->chips));
	fabric_tell_all(fabric);
	pthread_mutex_unlock(&fabric->lock);
	trn_fabric_unref(fabric);
}

struct trn_chip *trn_fabric_find(struct trn_fabric *fabric,
				 const struct trn_chip *from, uint32_t id,
				 unsigned int *hops)
{
	struct trn_chip *chip;
	unsigned int i, j, d;

	pthread_mutex_lock(&fabric->lock);
	i = fabric_index(fabric, from->config.fabric_id);
	j = fabric_index(fabric, id);
	chip = fabric_at(fabric, j, id);
	if (chip) {
		d = i > j ? i - j : j - i;
		*hops = d <= fabric->nr - d ? d : fabric->nr - d;
	}
	pthread_mutex_unlock(&fabric->lock);
	return chip;
}

unsigned int trn_fabric_chips(struct trn_fabric *fabric)
{
	unsigned int nr;

	pthread_mutex_lock(&fabric->lock);
	nr = fabric->nr;
	pthread_mutex_unlock(&fabric->lock);
	return nr;
}

unsigned int trn_fabric_links(struct trn_fabric *fabric,
			      const struct trn_chip *chip,
			      struct trn_fabric_link links[TRN_FABRIC_LINKS])
{
	unsigned int n, i, nr_links;

	pthread_mutex_lock(&fabric->lock);
	n = fabric->nr;
	nr_links = n > TRN_FABRIC_LINKS ? TRN_FABRIC_LINKS : n - 1;
	i = fabric_index(fabric, chip->config.fabric_id);
	if (nr_links > 0)
		links[0].peer = fabric->chips[(i + 1) % n]->config.fabric_id;
	if (nr_links > 1)
		links[1].peer = fabric->chips[(i + n - 1) % n]->config.fabric_id;
	pthread_mutex_unlock(&fabric->lock);
	return nr_links;
}
