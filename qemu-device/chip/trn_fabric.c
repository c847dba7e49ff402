// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "trn_fabric.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "trn_internal.h"
#include "trn_state.h"

#define NR_ROUTES	(TRN_FABRIC_CHIPS * TRN_FABRIC_CHIPS)

/**
 * struct trn_table - all that is looked up without a lock
 * @nr: chips
 * @index: by fabric id: 1 + index of the chip, 0: none
 * @chip: in ascending order of their ids
 * @route: from i to j at i * nr + j: hops 63:32, MB/s 31:0
 * @nr_links: by chip
 * @link: peer 63:32, MB/s 31:0
 * @shape: lanes, and bit 31: up
 * @window: chip behind a window: 1 + index, 0: none
 * @window_route: as @route
 */
struct trn_table {
	_Atomic uint32_t nr;
	_Atomic uint16_t index[NEURON_MAX_CHIPS];
	struct trn_chip *_Atomic chip[TRN_FABRIC_CHIPS];
	_Atomic uint64_t route[NR_ROUTES];
	_Atomic uint32_t nr_links[TRN_FABRIC_CHIPS];
	_Atomic uint64_t link[TRN_FABRIC_CHIPS][TRN_FABRIC_PORTS];
	_Atomic uint32_t shape[TRN_FABRIC_CHIPS][TRN_FABRIC_PORTS];
	_Atomic uint32_t window[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
	_Atomic uint64_t window_route[TRN_FABRIC_CHIPS][TRN_FABRIC_WINDOWS];
};

#define SHAPE_UP	NEURON_BIT(31)

/**
 * struct trn_fabric - chips in ascending order of their ids
 * @lock: all fields but @turn and @table
 * @refs: one for each attached chip, one for the creator
 * @key: names it among the fabrics of the process
 * @configured: what has been asked for
 * @full_boxes: servers when AUTO chose a torus
 * @map: places and links now
 * @routes: room to work them out
 * @turn: table[@turn % 2] is valid. The other one is filled with @lock held, then
 *	@turn goes on. So a reader has what belongs together when @turn is the same
 *	after reading as before.
 */
struct trn_fabric {
	pthread_mutex_t lock;
	unsigned int refs;
	uint32_t key;
	enum trn_topology configured;
	unsigned int full_boxes;
	struct trn_chip *chips[TRN_FABRIC_CHIPS];
	struct trn_link_faults faults;
	struct trn_map map;
	struct trn_route routes[NR_ROUTES];
	_Atomic uint32_t turn;
	struct trn_table table[2];
};

/*
 * Stores release and loads acquire, so that a reader who sees anything of the
 * table after next also sees that @turn has gone on.
 */
#define TABLE_STORE(field, value) \
	atomic_store_explicit(&(field), value, memory_order_release)
#define TABLE_LOAD(field) \
	atomic_load_explicit(&(field), memory_order_acquire)

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
	free(fabric);
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

/* Index of @id, or where it belongs. */
static unsigned int fabric_index(const struct trn_fabric *fabric, uint32_t id)
{
	unsigned int lo = 0, hi = fabric->map.nr;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (fabric->chips[mid]->config.fabric_id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool fabric_has(const struct trn_fabric *fabric, uint32_t id)
{
	unsigned int i = fabric_index(fabric, id);

	return i < fabric->map.nr && fabric->chips[i]->config.fabric_id == id;
}

static void place_chips(struct trn_fabric *fabric)
{
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++) {
		const struct trn_chip_config *config = &fabric->chips[i]->config;

		fabric->map.site[i] = (struct trn_site) {
			.gen = config->gen,
			.id = config->fabric_id,
			.rack = (uint8_t)(config->position >> 16),
			.server = (uint8_t)(config->position >> 8),
			.chip = (uint8_t)config->position,
		};
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

static uint32_t link_peer(const struct trn_map *map, unsigned int i,
			  const struct trn_link_end *port)
{
	const struct trn_site *site = &map->site[i];
	uint32_t rack = NEURON_PUT(NEURON_LINK_SWITCH_RACK, (uint32_t)site->rack);

	switch ((enum trn_via)port->via) {
	case TRN_VIA_CHIP:
		return map->site[port->peer].id;
	case TRN_VIA_SERVER:
		return NEURON_LINK_PEER_SWITCH | rack | site->server |
		       NEURON_PUT(NEURON_LINK_SWITCH_LEVEL, 1u);
	case TRN_VIA_RACK:
		return NEURON_LINK_PEER_SWITCH | rack |
		       NEURON_PUT(NEURON_LINK_SWITCH_LEVEL, 2u);
	case TRN_VIA_NONE:
		break;
	}
	return NEURON_LINK_PEER_NONE;
}

static uint64_t pack(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

static void store_links(struct trn_table *table, const struct trn_map *map,
			unsigned int i)
{
	unsigned int p;

	TABLE_STORE(table->nr_links[i], map->nr_ports[i]);
	for (p = 0; p < map->nr_ports[i]; p++) {
		const struct trn_link_end *port = &map->port[i][p];

		TABLE_STORE(table->link[i][p],
			    pack(link_peer(map, i, port), port->mbps));
		TABLE_STORE(table->shape[i][p],
			    port->lanes | (port->up ? SHAPE_UP : 0));
	}
}

static void store_windows(struct trn_table *table, const struct trn_map *map,
			  unsigned int i)
{
	unsigned int w;

	for (w = 0; w < TRN_FABRIC_WINDOWS; w++) {
		int chip = map->window[i][w];
		int port = map->window_port[i][w];
		struct trn_route route = { 0 };

		if (chip >= 0 && port >= 0)
			route = trn_route_port(map, i, (unsigned int)port);
		else if (chip >= 0)
			route = trn_route_edge(map, i, (unsigned int)chip);
		TABLE_STORE(table->window[i][w],
			    route.hops ? (uint32_t)chip + 1 : 0);
		TABLE_STORE(table->window_route[i][w],
			    pack(route.hops, route.mbps));
	}
}

static void store_table(struct trn_fabric *fabric, struct trn_table *table)
{
	const struct trn_map *map = &fabric->map;
	unsigned int i;

	for (i = 0; i < NEURON_MAX_CHIPS; i++)
		TABLE_STORE(table->index[i], 0);
	for (i = 0; i < map->nr; i++) {
		TABLE_STORE(table->index[map->site[i].id], (uint16_t)(i + 1));
		TABLE_STORE(table->chip[i], fabric->chips[i]);
		store_links(table, map, i);
		store_windows(table, map, i);
	}
	for (i = 0; i < map->nr * map->nr; i++)
		TABLE_STORE(table->route[i], pack(fabric->routes[i].hops,
						  fabric->routes[i].mbps));
	TABLE_STORE(table->nr, map->nr);
}

/* Of the same chips: does one of @i's links differ in the two tables? */
static bool links_differ(struct trn_fabric *fabric, unsigned int i)
{
	struct trn_table *a = &fabric->table[0], *b = &fabric->table[1];
	unsigned int p;

	for (p = 0; p < fabric->map.nr_ports[i]; p++)
		if (TABLE_LOAD(a->link[i][p]) != TABLE_LOAD(b->link[i][p]) ||
		    TABLE_LOAD(a->shape[i][p]) != TABLE_LOAD(b->shape[i][p]))
			return true;
	return false;
}

static void tell(struct trn_chip *chip)
{
	atomic_store(&chip->controller.links_changed, true);
	trn_task_kick(&chip->controller.task);
}

/* The chips or the faults have changed. */
static void publish(struct trn_fabric *fabric)
{
	uint32_t next = atomic_load(&fabric->turn) + 1;

	place_chips(fabric);
	fabric->map.kind = choose_kind(fabric);
	trn_topology_build(&fabric->map);
	trn_link_apply(&fabric->map, &fabric->faults);
	trn_route_all(&fabric->map, fabric->routes);
	store_table(fabric, &fabric->table[next % 2]);
	atomic_store(&fabric->turn, next);
}

/* --- counters of links; with the lock held --- */

static void count_link(struct trn_fabric *fabric, const struct trn_route_link *link,
		       uint64_t bytes)
{
	const struct trn_link_end *port = &fabric->map.port[link->chip][link->port];
	struct trn_link_counts *counts = &fabric->chips[link->chip]->links;

	atomic_fetch_add(link->in ? &counts->received[link->port] :
				    &counts->sent[link->port], bytes);
	if (!link->in && port->via == TRN_VIA_CHIP)
		atomic_fetch_add(&fabric->chips[port->peer]->links.received[port->back],
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
	nr = trn_route_path(&fabric->map, i, j, links);
	for (n = 0; n < nr; n++)
		count_link(fabric, &links[n], bytes);
}

static void settle(struct trn_fabric *fabric)
{
	unsigned int i, j, slot;

	for (i = 0; i < fabric->map.nr; i++) {
		for (j = 0; j < fabric->map.nr; j++) {
			slot = fabric->chips[j]->slot;
			settle_pair(fabric, i, j, &fabric->chips[i]->links.to[slot]);
			settle_pair(fabric, j, i, &fabric->chips[i]->links.from[slot]);
		}
	}
}

void trn_fabric_settle(struct trn_fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	settle(fabric);
	pthread_mutex_unlock(&fabric->lock);
}

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
		atomic_fetch_add(&fabric->chips[i]->links.errors[p], 1);
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

void trn_fabric_failed(struct trn_fabric *fabric, const struct trn_chip *from, uint32_t to)
{
	pthread_mutex_lock(&fabric->lock);
	if (fabric_has(fabric, to))
		count_failed(fabric, fabric_index(fabric, from->config.fabric_id),
			     fabric_index(fabric, to));
	pthread_mutex_unlock(&fabric->lock);
}

/* --- joining and leaving --- */

/* One that no other chip of the fabric has, as long as this one is on it. */
static uint16_t free_slot(const struct trn_fabric *fabric)
{
	bool used[TRN_FABRIC_CHIPS] = { false };
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++)
		used[fabric->chips[i]->slot] = true;
	for (i = 0; i < TRN_FABRIC_CHIPS - 1 && used[i]; i++)
		;
	return (uint16_t)i;
}

/* What others moved to and from a chip that had the slot before is nobody's. */
static void take_slot(struct trn_fabric *fabric, struct trn_chip *chip)
{
	unsigned int i;

	chip->slot = free_slot(fabric);
	for (i = 0; i < fabric->map.nr; i++) {
		atomic_store(&fabric->chips[i]->links.to[chip->slot], 0);
		atomic_store(&fabric->chips[i]->links.from[chip->slot], 0);
	}
}

/* One chip more or less may change the links and ways of all others. */
static void tell_others(struct trn_fabric *fabric, const struct trn_chip *chip)
{
	unsigned int i;

	for (i = 0; i < fabric->map.nr; i++)
		if (fabric->chips[i] != chip)
			tell(fabric->chips[i]);
}

static const char *refuse(const struct trn_fabric *fabric,
			  const struct trn_chip *chip)
{
	if (fabric_has(fabric, chip->config.fabric_id))
		return "the fabric has a chip with this id";
	if (fabric->map.nr && fabric->chips[0]->pool != chip->pool)
		return "the chips of a fabric must share a worker pool";
	if (fabric->map.nr == TRN_FABRIC_CHIPS)
		return "the fabric is full: it has 256 chips";
	return NULL;
}

int trn_fabric_attach(struct trn_fabric *fabric, struct trn_chip *chip,
		      const char **why)
{
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	*why = refuse(fabric, chip);
	if (!*why) {
		settle(fabric);
		take_slot(fabric, chip);
		i = fabric_index(fabric, chip->config.fabric_id);
		memmove(&fabric->chips[i + 1], &fabric->chips[i],
			(fabric->map.nr - i) * sizeof(*fabric->chips));
		fabric->chips[i] = chip;
		fabric->map.nr++;
		fabric->refs++;
		publish(fabric);
		tell_others(fabric, chip);
	}
	pthread_mutex_unlock(&fabric->lock);
	return *why ? -1 : 0;
}

void trn_fabric_detach(struct trn_fabric *fabric, struct trn_chip *chip)
{
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	settle(fabric);
	i = fabric_index(fabric, chip->config.fabric_id);
	fabric->map.nr--;
	memmove(&fabric->chips[i], &fabric->chips[i + 1],
		(fabric->map.nr - i) * sizeof(*fabric->chips));
	publish(fabric);
	tell_others(fabric, chip);
	pthread_mutex_unlock(&fabric->lock);
	trn_fabric_unref(fabric);
}

/* --- looking up; without a lock --- */

/* The table, and in *@turn what must not have changed when it has been read. */
static struct trn_table *table_begin(struct trn_fabric *fabric, uint32_t *turn)
{
	*turn = atomic_load(&fabric->turn);
	return &fabric->table[*turn % 2];
}

static bool table_end(struct trn_fabric *fabric, uint32_t turn)
{
	return atomic_load(&fabric->turn) == turn;
}

/* Index of a chip in the table; at least table->nr: not there. */
static unsigned int table_index(struct trn_table *table, uint32_t id)
{
	if (id >= NEURON_MAX_CHIPS)
		return TRN_FABRIC_CHIPS;
	return TABLE_LOAD(table->index[id]) - 1u;
}

static struct trn_route unpack(uint64_t route)
{
	return (struct trn_route) {
		.hops = (uint32_t)(route >> 32),
		.mbps = (uint32_t)route,
	};
}

struct trn_chip *trn_fabric_find(struct trn_fabric *fabric,
				 const struct trn_chip *from, uint32_t id,
				 struct trn_route *route)
{
	struct trn_chip *chip;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int nr = TABLE_LOAD(table->nr);
		unsigned int i = table_index(table, from->config.fabric_id);
		unsigned int j = table_index(table, id);

		chip = NULL;
		if (i >= nr || j >= nr)
			continue;
		*route = unpack(TABLE_LOAD(table->route[i * nr + j]));
		if (route->hops)
			chip = TABLE_LOAD(table->chip[j]);
	} while (!table_end(fabric, turn));
	return chip;
}

struct trn_chip *trn_fabric_window(struct trn_fabric *fabric,
				   const struct trn_chip *from,
				   unsigned int window,
				   struct trn_route *route)
{
	struct trn_chip *chip;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int nr = TABLE_LOAD(table->nr);
		unsigned int i = table_index(table, from->config.fabric_id);
		unsigned int j;

		chip = NULL;
		if (i >= nr)
			continue;
		j = TABLE_LOAD(table->window[i][window]) - 1u;
		*route = unpack(TABLE_LOAD(table->window_route[i][window]));
		if (j < nr)
			chip = TABLE_LOAD(table->chip[j]);
	} while (!table_end(fabric, turn));
	return chip;
}

unsigned int trn_fabric_chips(struct trn_fabric *fabric)
{
	unsigned int nr;
	uint32_t turn;

	do {
		nr = TABLE_LOAD(table_begin(fabric, &turn)->nr);
	} while (!table_end(fabric, turn));
	return nr;
}

static void read_link(struct trn_table *table, unsigned int i, unsigned int p,
		      struct trn_fabric_link *link)
{
	uint64_t word = TABLE_LOAD(table->link[i][p]);
	uint32_t shape = TABLE_LOAD(table->shape[i][p]);

	*link = (struct trn_fabric_link) {
		.peer = (uint32_t)(word >> 32),
		.mbps = (uint32_t)word,
		.lanes = shape & ~SHAPE_UP,
		.up = shape & SHAPE_UP,
	};
}

unsigned int trn_fabric_links(struct trn_fabric *fabric,
			      const struct trn_chip *chip,
			      struct trn_fabric_link links[TRN_FABRIC_PORTS])
{
	unsigned int nr, p;
	uint32_t turn;

	do {
		struct trn_table *table = table_begin(fabric, &turn);
		unsigned int i = table_index(table, chip->config.fabric_id);

		nr = 0;
		if (i < TABLE_LOAD(table->nr))
			nr = TABLE_LOAD(table->nr_links[i]);
		for (p = 0; p < nr && p < TRN_FABRIC_PORTS; p++)
			read_link(table, i, p, &links[p]);
	} while (!table_end(fabric, turn));
	return nr;
}

uint32_t trn_fabric_turn(const struct trn_fabric *fabric)
{
	return atomic_load_explicit(&fabric->turn, memory_order_relaxed);
}

unsigned int trn_fabric_path(struct trn_fabric *fabric, uint32_t from,
			     uint32_t to,
			     struct trn_route_link links[TRN_ROUTE_LINKS])
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&fabric->lock);
	if (fabric_has(fabric, from) && fabric_has(fabric, to))
		n = trn_route_path(&fabric->map, fabric_index(fabric, from),
				   fabric_index(fabric, to), links);
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

	settle(fabric);
	fabric->faults = *faults;
	publish(fabric);
	for (i = 0; i < fabric->map.nr; i++)
		if (links_differ(fabric, i))
			tell(fabric->chips[i]);
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

void trn_fabric_state(struct trn_fabric *fabric, struct trn_state *st)
{
	struct trn_link_faults faults;
	unsigned int i;

	pthread_mutex_lock(&fabric->lock);
	faults = fabric->faults;
	trn_state_block(st, TRN_STATE_NAME('F', 'A', 'B', 'R'), 1);
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
