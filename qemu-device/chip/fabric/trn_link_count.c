// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Counters of links, and what befalls transfers when a link goes down.
 */
#include "fabric/trn_link_count.h"

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric_private.h"

/* --- bytes; with the fabric's lock held --- */

static void count_link(struct trn_fabric *fabric, const struct trn_route_link *link,
		       uint64_t bytes)
{
	const struct trn_link_end *port = &fabric->map.port[link->chip][link->port];
	struct trn_link_counts *counts = fabric->seats[link->chip]->links;

	atomic_fetch_add(link->in ? &counts->received[link->port] :
				    &counts->sent[link->port], bytes);
	if (!link->in && port->via == TRN_VIA_CHIP)
		atomic_fetch_add(&fabric->seats[port->peer]->links->received[port->back],
				 bytes);
}

static void settle_pair(struct trn_fabric *fabric, unsigned int i, unsigned int j,
			_Atomic uint64_t *moved)
{
	struct trn_route_link links[TRN_ROUTE_LINKS];
	unsigned int nr, n;
	uint64_t bytes;

	if (!atomic_load_explicit(moved, memory_order_relaxed))
		return;
	bytes = atomic_exchange(moved, 0);
	nr = trn_route_path(&fabric->map, &fabric->routes, i, j, links);
	for (n = 0; n < nr; n++)
		count_link(fabric, &links[n], bytes);
}

/* What chip @i has moved to and from those with the slots @bits of word @word. */
static void settle_word(struct trn_fabric *fabric, unsigned int i, unsigned int word,
			uint64_t bits)
{
	struct trn_link_counts *counts = fabric->seats[i]->links;
	unsigned int slot, j;

	for (; bits; bits &= bits - 1) {
		slot = word * 64 + (unsigned int)__builtin_ctzll(bits);
		if (!fabric->by_slot[slot])
			continue;
		j = fabric->by_slot[slot] - 1u;
		settle_pair(fabric, i, j, &counts->to[slot]);
		settle_pair(fabric, j, i, &counts->from[slot]);
	}
}

void trn_link_settle(struct trn_fabric *fabric)
{
	unsigned int i, word;

	for (i = 0; i < fabric->map.nr; i++) {
		_Atomic uint64_t *news = fabric->seats[i]->links->news;

		for (word = 0; word < TRN_LINK_NEWS; word++)
			if (atomic_load(&news[word]))
				settle_word(fabric, i, word, atomic_exchange(&news[word], 0));
	}
}

void trn_link_forget(struct trn_fabric *fabric, const struct trn_seat *seat)
{
	const unsigned int slot = seat->slot;
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++) {
		atomic_store(&fabric->seats[i]->links->to[slot], 0);
		atomic_store(&fabric->seats[i]->links->from[slot], 0);
	}
	for (i = 0; i < TRN_FABRIC_CHIPS; i++) {
		fabric->cut[slot * TRN_FABRIC_CHIPS + i] = (struct trn_cut){ 0 };
		fabric->cut[i * TRN_FABRIC_CHIPS + slot] = (struct trn_cut){ 0 };
	}
}

/* --- errors --- */

/* The first port of @i that leads to @j, or to a switch, and is down; false: none. */
static bool count_failure(struct trn_fabric *fabric, unsigned int i, unsigned int j)
{
	const struct trn_link_end *port;
	unsigned int p;

	for (p = 0; p < fabric->map.nr_ports[i]; p++) {
		port = &fabric->map.port[i][p];
		if (port->up || (port->via == TRN_VIA_CHIP && port->peer != (int)j))
			continue;
		if (port->via == TRN_VIA_NONE)
			continue;
		atomic_fetch_add(&fabric->seats[i]->links->errors[p], 1);
		return true;
	}
	return false;
}

static void count_failed(struct trn_fabric *fabric, unsigned int i, unsigned int j)
{
	unsigned int left = fabric->map.nr;
	int next;

	for (; i != j && left; i = (unsigned int)next, left--) {
		next = trn_route_next(&fabric->map, i, j);
		if (next < 0)
			return;
		if (trn_route_edge(&fabric->map, i, (unsigned int)next).hops)
			continue;
		if (!count_failure(fabric, i, (unsigned int)next))
			count_failure(fabric, (unsigned int)next, i);
		return;
	}
}

void trn_fabric_failed(struct trn_fabric *fabric, const struct trn_seat *from, uint32_t to)
{
	pthread_mutex_lock(&fabric->lock);
	if (trn_fabric_has(fabric, to))
		count_failed(fabric, trn_fabric_index(fabric, from->id),
			     trn_fabric_index(fabric, to));
	pthread_mutex_unlock(&fabric->lock);
}

/* Does a link go down between the two maps, which differ in nothing else? */
static bool link_goes_down(const struct trn_map *now, const struct trn_map *next)
{
	unsigned int i, p;

	for (i = 0; i < now->nr; i++)
		for (p = 0; p < now->nr_ports[i]; p++)
			if (now->port[i][p].up && !next->port[i][p].up)
				return true;
	return false;
}

static void cut_pair(struct trn_fabric *fabric, unsigned int i, unsigned int j,
		     uint32_t turn)
{
	struct trn_cut *cut = &fabric->cut[fabric->seats[i]->slot * TRN_FABRIC_CHIPS +
					   fabric->seats[j]->slot];
	struct trn_route_link links[TRN_ROUTE_LINKS];
	unsigned int nr, n;

	nr = trn_route_path(&fabric->map, &fabric->routes, i, j, links);
	for (n = 0; n < nr; n++) {
		if (fabric->next.port[links[n].chip][links[n].port].up)
			continue;
		*cut = (struct trn_cut){
			.turn = turn,
			.slot = fabric->seats[links[n].chip]->slot,
			.port = links[n].port,
		};
		return;
	}
}

void trn_link_cut(struct trn_fabric *fabric, const struct trn_link_faults *faults)
{
	const uint32_t turn = atomic_load(&fabric->turn) + 1;
	unsigned int i, j;

	fabric->next = fabric->map;
	trn_topology_build(&fabric->next);
	trn_link_apply(&fabric->next, faults);
	if (!link_goes_down(&fabric->map, &fabric->next))
		return;
	for (i = 0; i < fabric->map.nr; i++)
		for (j = 0; j < fabric->map.nr; j++)
			cut_pair(fabric, i, j, turn);
}

/* Has the way from @i to @j lost a link since @turn? If so it is the link's error. */
static bool lost_since(struct trn_fabric *fabric, unsigned int i, unsigned int j,
		       uint32_t turn)
{
	const struct trn_cut *cut = &fabric->cut[fabric->seats[i]->slot * TRN_FABRIC_CHIPS +
						 fabric->seats[j]->slot];

	if (!cut->turn || (int32_t)(cut->turn - turn) <= 0)
		return false;
	if (fabric->by_slot[cut->slot])
		atomic_fetch_add(&fabric->seats[fabric->by_slot[cut->slot] - 1]->
					 links->errors[cut->port], 1);
	return true;
}

bool trn_fabric_lost(struct trn_fabric *fabric, uint32_t from, uint32_t to, uint32_t turn)
{
	bool lost = false;

	pthread_mutex_lock(&fabric->lock);
	if (trn_fabric_has(fabric, from) && trn_fabric_has(fabric, to))
		lost = lost_since(fabric, trn_fabric_index(fabric, from),
				  trn_fabric_index(fabric, to), turn);
	pthread_mutex_unlock(&fabric->lock);
	return lost;
}

/* --- one chip's --- */

/* The bytes first: who takes the news finds them. */
static void count_moved(struct trn_chip *chip, _Atomic uint64_t *sum, unsigned int slot,
			uint64_t bytes)
{
	_Atomic uint64_t *news = &chip->seat.links->news[slot / 64];
	uint64_t bit = 1ull << slot % 64;

	atomic_fetch_add(sum, bytes);
	if (!(atomic_load(news) & bit))
		atomic_fetch_or(news, bit);
}

void trn_link_moved(struct trn_chip *chip, const struct trn_seat *to,
		    const struct trn_seat *from, uint64_t bytes)
{
	struct trn_link_counts *links = chip->seat.links;

	if (from != &chip->seat)
		count_moved(chip, &links->from[from->slot], from->slot, bytes);
	if (to != &chip->seat)
		count_moved(chip, &links->to[to->slot], to->slot, bytes);
}

static void settle(struct trn_chip *chip)
{
	if (!chip->fabric)
		return;
	pthread_mutex_lock(&chip->fabric->lock);
	trn_link_settle(chip->fabric);
	pthread_mutex_unlock(&chip->fabric->lock);
}

uint64_t trn_link_count(struct trn_chip *chip, unsigned int link, uint32_t reg)
{
	settle(chip);
	switch (reg) {
	case NEURON_LINK_COUNT_SENT:
		return atomic_load(&chip->seat.links->sent[link]);
	case NEURON_LINK_COUNT_RECEIVED:
		return atomic_load(&chip->seat.links->received[link]);
	case NEURON_LINK_COUNT_ERRORS:
		return atomic_load(&chip->seat.links->errors[link]);
	default:
		return 0;
	}
}

void trn_link_count_reset(struct trn_chip *chip)
{
	unsigned int i;

	settle(chip);
	for (i = 0; i < TRN_FABRIC_PORTS; i++) {
		atomic_store(&chip->seat.links->sent[i], 0);
		atomic_store(&chip->seat.links->received[i], 0);
		atomic_store(&chip->seat.links->errors[i], 0);
	}
}

void trn_link_count_state(struct trn_chip *chip, struct trn_state *st)
{
	unsigned int i;

	settle(chip);
	trn_state_block(st, TRN_STATE_NAME('L', 'I', 'N', 'K'), 1);
	for (i = 0; i < TRN_FABRIC_PORTS; i++) {
		trn_state_atomic_u64(st, &chip->seat.links->sent[i]);
		trn_state_atomic_u64(st, &chip->seat.links->received[i]);
		trn_state_atomic_u32(st, &chip->seat.links->errors[i]);
	}
}
