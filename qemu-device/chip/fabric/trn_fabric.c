// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The fabric: chips that join and leave, links that change, and what follows from both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric_private.h"

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
	if (fabric->kept)
		fabric->drop(fabric->kept);
	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
}

void *trn_fabric_kept(struct trn_fabric *fabric, void *(*make)(void), void (*drop)(void *kept))
{
	void *kept;

	pthread_mutex_lock(&fabric->lock);
	if (!fabric->kept)
		fabric->kept = make();
	fabric->drop = drop;
	kept = fabric->kept;
	pthread_mutex_unlock(&fabric->lock);
	return kept;
}

int trn_fabric_configure(struct trn_fabric *fabric, enum trn_topology kind,
			 uint32_t link_mbps)
{
	int err = -1;

	pthread_mutex_lock(&fabric->lock);
	if (!fabric->map.nr) {
		fabric->configured = kind;
		fabric->map.link_mbps = link_mbps;
		err = 0;
	}
	pthread_mutex_unlock(&fabric->lock);
	return err;
}

/* --- making a table; with the lock held --- */

unsigned int trn_fabric_index(const struct trn_fabric *fabric, uint32_t id)
{
	unsigned int lo = 0, hi = fabric->map.nr;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (fabric->seats[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool trn_fabric_has(const struct trn_fabric *fabric, uint32_t id)
{
	unsigned int i = trn_fabric_index(fabric, id);

	return i < fabric->map.nr && fabric->seats[i]->id == id;
}

static void place_chips(struct trn_fabric *fabric)
{
	unsigned int i;

	memset(fabric->by_slot, 0, sizeof(fabric->by_slot));
	for (i = 0; i < fabric->map.nr; i++) {
		const struct trn_seat *seat = fabric->seats[i];

		fabric->map.site[i] = (struct trn_site) {
			.gen = seat->gen,
			.id = seat->id,
			.rack = (uint8_t)(seat->position >> 16),
			.server = (uint8_t)(seat->position >> 8),
			.chip = (uint8_t)seat->position,
		};
		fabric->by_slot[seat->slot] = (uint16_t)(i + 1);
	}
	trn_topology_place(&fabric->map);
}

/* A torus that has been whole stays one when chips are missing. */
static enum trn_topology choose_kind(struct trn_fabric *fabric)
{
	struct trn_map *map = &fabric->map;
	bool torus = map->kind == TRN_TOPOLOGY_TORUS2D ||
		     map->kind == TRN_TOPOLOGY_TORUS3D;

	if (fabric->configured != TRN_TOPOLOGY_AUTO)
		return fabric->configured;
	if (torus && map->nr && map->nr_boxes <= fabric->full_boxes)
		return map->kind;
	fabric->full_boxes = map->nr_boxes;
	return trn_topology_choose(map);
}

static void tell(const struct trn_seat *seat)
{
	if (seat->chip)
		seat->chip->links_changed(seat->chip);
}

/* The chips or the faults have changed. */
static void publish(struct trn_fabric *fabric)
{
	uint32_t next = atomic_load(&fabric->turn) + 1;

	place_chips(fabric);
	fabric->map.kind = choose_kind(fabric);
	trn_topology_build(&fabric->map);
	trn_link_apply(&fabric->map, &fabric->faults);
	trn_route_all(&fabric->map, &fabric->routes);
	trn_table_store(fabric, &fabric->table[next % 2]);
	atomic_store(&fabric->turn, next);
}

/* --- joining and leaving --- */

/* One that no other seat of the fabric has, as long as this one is on it. */
static uint16_t free_slot(const struct trn_fabric *fabric)
{
	bool used[TRN_FABRIC_CHIPS] = { false };
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++)
		used[fabric->seats[i]->slot] = true;
	for (i = 0; i < TRN_FABRIC_CHIPS - 1 && used[i]; i++)
		;
	return (uint16_t)i;
}

/* One chip more or less may change the links and ways of all others. */
static void tell_others(struct trn_fabric *fabric, const struct trn_seat *seats, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++)
		if (fabric->seats[i] < seats || fabric->seats[i] >= seats + nr)
			tell(fabric->seats[i]);
}

static const char *refuse(const struct trn_fabric *fabric, const struct trn_seat *seats,
			  unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (trn_fabric_has(fabric, seats[i].id))
			return "the fabric has a chip with this id";
	if (fabric->map.nr && fabric->seats[0]->pool != seats->pool)
		return "the chips of a fabric must share a worker pool";
	if (nr > TRN_FABRIC_CHIPS - fabric->map.nr)
		return "the fabric is full: it has 256 chips";
	return NULL;
}

static void enter(struct trn_fabric *fabric, struct trn_seat *seat)
{
	unsigned int i = trn_fabric_index(fabric, seat->id);

	seat->slot = free_slot(fabric);
	trn_link_forget(fabric, seat);
	memmove(&fabric->seats[i + 1], &fabric->seats[i],
		(fabric->map.nr - i) * sizeof(*fabric->seats));
	fabric->seats[i] = seat;
	fabric->map.nr++;
	fabric->refs++;
}

int trn_fabric_attach(struct trn_fabric *fabric, struct trn_seat *seats, unsigned int nr,
		      const char **why)
{
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	*why = refuse(fabric, seats, nr);
	if (!*why) {
		trn_link_settle(fabric);
		for (i = 0; i < nr; i++)
			enter(fabric, &seats[i]);
		publish(fabric);
		tell_others(fabric, seats, nr);
	}
	pthread_mutex_unlock(&fabric->lock);
	return *why ? -1 : 0;
}

static void leave(struct trn_fabric *fabric, const struct trn_seat *seat)
{
	unsigned int i = trn_fabric_index(fabric, seat->id);

	fabric->map.nr--;
	memmove(&fabric->seats[i], &fabric->seats[i + 1],
		(fabric->map.nr - i) * sizeof(*fabric->seats));
}

void trn_fabric_detach(struct trn_fabric *fabric, struct trn_seat *seats, unsigned int nr)
{
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	trn_link_settle(fabric);
	for (i = 0; i < nr; i++)
		leave(fabric, &seats[i]);
	publish(fabric);
	tell_others(fabric, seats, nr);
	pthread_mutex_unlock(&fabric->lock);
	for (i = 0; i < nr; i++)
		trn_fabric_unref(fabric);
}

struct trn_pod *trn_fabric_pod(struct trn_fabric *fabric)
{
	return atomic_load(&fabric->pod);
}

void trn_fabric_set_pod(struct trn_fabric *fabric, struct trn_pod *pod)
{
	atomic_store(&fabric->pod, pod);
}

unsigned int trn_fabric_path(struct trn_fabric *fabric, uint32_t from,
			     uint32_t to,
			     struct trn_route_link links[TRN_ROUTE_LINKS])
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&fabric->lock);
	if (trn_fabric_has(fabric, from) && trn_fabric_has(fabric, to))
		n = trn_route_path(&fabric->map, &fabric->routes,
				   trn_fabric_index(fabric, from),
				   trn_fabric_index(fabric, to), links);
	for (i = 0; i < n; i++)
		links[i].chip = fabric->map.site[links[i].chip].id;
	pthread_mutex_unlock(&fabric->lock);
	return n;
}

/* --- links that change --- */

enum trn_topology trn_fabric_topology(struct trn_fabric *fabric)
{
	enum trn_topology kind;

	pthread_mutex_lock(&fabric->lock);
	kind = fabric->map.nr ? fabric->map.kind : fabric->configured;
	pthread_mutex_unlock(&fabric->lock);
	return kind;
}

/* Take over @faults and tell the chips whose links look different now. */
static void change_faults(struct trn_fabric *fabric,
			  const struct trn_link_faults *faults)
{
	unsigned int i;

	trn_link_settle(fabric);
	trn_link_cut(fabric, faults);
	fabric->faults = *faults;
	publish(fabric);
	for (i = 0; i < fabric->map.nr; i++)
		if (trn_table_links_differ(fabric, i))
			tell(fabric->seats[i]);
}

static const char *add_fault(const struct trn_fabric *fabric,
			     struct trn_link_faults *faults,
			     const struct trn_link_fault *fault)
{
	const char *why = trn_link_check(&fabric->map, fault);

	if (!why && !trn_link_set(faults, fault))
		why = "there are too many link faults: 256";
	return why;
}

int trn_fabric_set_link(struct trn_fabric *fabric, uint32_t a, uint32_t b,
			bool up, uint32_t mbps, const char **why)
{
	const struct trn_link_fault fault = {
		.a = a, .b = b, .down = !up, .percent = 100, .mbps = mbps,
	};
	struct trn_link_faults faults;

	pthread_mutex_lock(&fabric->lock);
	faults = fabric->faults;
	*why = add_fault(fabric, &faults, &fault);
	if (!*why)
		change_faults(fabric, &faults);
	pthread_mutex_unlock(&fabric->lock);
	return *why ? -1 : 0;
}

int trn_fabric_set_links(struct trn_fabric *fabric, const char *text,
			 const char **why)
{
	struct trn_link_faults faults;
	struct trn_link_fault fault;

	*why = NULL;
	pthread_mutex_lock(&fabric->lock);
	faults = fabric->faults;
	while (*text && !*why) {
		text = trn_link_parse(text, &fault, why);
		if (!text)
			break;
		*why = add_fault(fabric, &faults, &fault);
		text += *text == ';';
	}
	if (!*why)
		change_faults(fabric, &faults);
	pthread_mutex_unlock(&fabric->lock);
	return *why ? -1 : 0;
}

void trn_fabric_print_links(struct trn_fabric *fabric, char text[TRN_LINK_TEXT])
{
	pthread_mutex_lock(&fabric->lock);
	trn_link_print(&fabric->faults, text, TRN_LINK_TEXT);
	pthread_mutex_unlock(&fabric->lock);
}

static void fault_state(struct trn_link_fault *fault, struct trn_state *st)
{
	trn_state_u32(st, &fault->a);
	trn_state_u32(st, &fault->b);
	trn_state_bool(st, &fault->by_number);
	trn_state_bool(st, &fault->down);
	trn_state_u8(st, &fault->percent);
	trn_state_u32(st, &fault->mbps);
	if (fault->a >= NEURON_MAX_CHIPS || fault->b >= NEURON_MAX_CHIPS ||
	    (fault->by_number && fault->b >= TRN_FABRIC_PORTS) ||
	    !fault->percent || fault->percent > 100)
		trn_state_fail(st, "a saved link fault is malformed");
}

/* Chips of other servers. */
static unsigned int count_remotes(const struct trn_fabric *fabric)
{
	unsigned int i, nr = 0;

	for (i = 0; i < fabric->map.nr; i++)
		nr += !fabric->seats[i]->chip;
	return nr;
}

void trn_fabric_state(struct trn_fabric *fabric, struct trn_state *st)
{
	struct trn_link_faults faults;
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	faults = fabric->faults;
	trn_state_block(st, TRN_STATE_NAME('F', 'A', 'B', 'R'), 2);
	trn_state_same(st, count_remotes(fabric),
		       "the saved fabric has another number of servers");
	trn_state_same(st, fabric->map.kind,
		       "the saved fabric has another topology");
	trn_state_same(st, fabric->map.link_mbps,
		       "the saved fabric has another link-mbps");
	trn_state_same(st, fabric->map.nr,
		       "the saved fabric has another number of chips");
	faults.nr = trn_state_count(st, faults.nr, TRN_LINK_FAULTS);
	for (i = 0; i < faults.nr && !trn_state_failed(st); i++)
		fault_state(&faults.fault[i], st);
	if (st->loading && !trn_state_failed(st)) {
		fabric->faults = faults;
		publish(fabric);
	}
	pthread_mutex_unlock(&fabric->lock);
}
