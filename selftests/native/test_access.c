// SPDX-License-Identifier: MIT
/*
 * Accesses through windows are byte exact and stay inside; domain 0.
 */
#include "window_rig.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTE	0xee

/* --- Byte-exact copies --- */

static uint8_t *place_ptr(struct rig *rig, uint64_t addr)
{
	struct trn_loc loc;

	assert_int_equal(trn_bus_locate(rig->chip[0], addr, &loc), 0);
	if (loc.place == TRN_PLACE_HOST)
		return rig->port[0].host + loc.offset;
	assert_non_null(loc.ptr);
	return loc.ptr;
}

/* The pieces of window @w, from its table entry. */
static unsigned int pieces(struct rig *rig, const struct table *t,
			   unsigned int w, struct neuron_hw_extent *list)
{
	const struct neuron_hw_window *window = &t->window[w];

	if (!(window->flags & NEURON_WINDOW_LIST)) {
		list[0].addr = window->base;
		list[0].length = window->length;
		return 1;
	}
	memcpy(list, place_ptr(rig, window->base),
	       window->nr_extents * sizeof(*list));
	return window->nr_extents;
}

/* A piece at the very start or end of a stack has no guard on that side. */
static bool guarded(struct rig *rig, uint64_t addr, uint64_t length, bool below)
{
	const unsigned int last = rig->chip[0]->gen->nr_hbm - 1;

	if (below)
		return addr != rig_hbm_addr(rig, last, 0);
	return addr + length != rig_hbm_addr(rig, last, FAKE_HBM_SIZE);
}

static void guards(struct rig *rig, const struct table *t, bool check)
{
	struct neuron_hw_extent list[5];
	unsigned int w, i, nr, g, below;
	uint8_t *p;

	for (w = 0; w < NR_MEMORY; w++) {
		nr = pieces(rig, t, w, list);
		for (i = 0; i < nr; i++) {
			for (below = 0; below < 2; below++) {
				if (!guarded(rig, list[i].addr, list[i].length,
					     below))
					continue;
				p = place_ptr(rig, list[i].addr);
				p = below ? p - WINDOW_GUARD : p + list[i].length;
				for (g = 0; check && g < WINDOW_GUARD; g++)
					assert_int_equal(p[g], GUARD_BYTE);
				if (!check)
					memset(p, GUARD_BYTE, WINDOW_GUARD);
			}
		}
	}
}

/* What window @w really holds. */
static void gather(struct rig *rig, const struct table *t, unsigned int w,
		   uint8_t *out)
{
	struct neuron_hw_extent list[5];
	unsigned int i, nr = pieces(rig, t, w, list);

	for (i = 0; i < nr; i++) {
		memcpy(out, place_ptr(rig, list[i].addr), list[i].length);
		out += list[i].length;
	}
}

struct model {
	uint8_t bytes[NR_MEMORY][WINDOW_BYTES];
};

static void random_range(struct rig *rig, uint32_t *offset, uint32_t *len)
{
	uint32_t limit = rig_random(rig, 4) ? 300 : WINDOW_BYTES;

	*len = 1 + rig_random(rig, limit);
	*offset = rig_random(rig, WINDOW_BYTES - *len + 1);
}

static void random_write(struct rig *rig, struct trn_access *access,
			 struct model *model)
{
	static uint8_t buf[WINDOW_BYTES];
	uint32_t w = rig_random(rig, NR_MEMORY), offset, len;

	random_range(rig, &offset, &len);
	rig_fill(rig, buf, len);
	assert_int_equal(trn_access_write(access, at(w, offset), buf, len), 0);
	memcpy(model->bytes[w] + offset, buf, len);
}

static void random_read(struct rig *rig, struct trn_access *access,
			const struct model *model)
{
	static uint8_t buf[WINDOW_BYTES];
	uint32_t w = rig_random(rig, NR_MEMORY), offset, len;

	random_range(rig, &offset, &len);
	assert_int_equal(trn_access_read(access, at(w, offset), buf, len), 0);
	assert_memory_equal(buf, model->bytes[w] + offset, len);
}

static void random_copy(struct rig *rig, struct trn_access *access,
			struct model *model)
{
	uint32_t src = rig_random(rig, NR_MEMORY), from, len, to;
	uint32_t dst = (src + 1 + rig_random(rig, NR_MEMORY - 1)) % NR_MEMORY;

	random_range(rig, &from, &len);
	to = rig_random(rig, WINDOW_BYTES - len + 1);
	assert_int_equal(trn_access_copy(access, at(dst, to), at(src, from),
					 len), 0);
	memcpy(model->bytes[dst] + to, model->bytes[src] + from, len);
	assert_int_equal(access->hops, src == W_PEER || dst == W_PEER);
}

static void random_accesses_are_byte_exact(void **state)
{
	struct rig *rig = *state;
	struct model *model = calloc(1, sizeof(*model));
	uint8_t *bytes = malloc(WINDOW_BYTES);
	struct trn_domain *domain;
	struct trn_access access;
	unsigned int i, w;
	struct table t;

	table_make(rig, &t);
	guards(rig, &t, false);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	for (i = 0; i < 4000; i++) {
		switch (rig_random(rig, 4)) {
		case 0:
			random_write(rig, &access, model);
			break;
		case 1:
			random_read(rig, &access, model);
			break;
		default:
			random_copy(rig, &access, model);
		}
	}
	for (w = 0; w < NR_MEMORY; w++) {
		gather(rig, &t, w, bytes);
		assert_memory_equal(bytes, model->bytes[w], WINDOW_BYTES);
	}
	guards(rig, &t, true);
	assert_int_equal(rig_violations(rig), 0);
	trn_domain_free(domain);
	free(bytes);
	free(model);
}

static void an_access_may_have_no_bytes(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_copy(&access, at(W_HBM, 5), at(W_HOST, 5),
					 0), 0);
	assert_int_equal(trn_access_read(&access, at(W_HBM, WINDOW_BYTES), NULL,
					 0), 0);
	trn_domain_free(domain);
}

/* --- Attempts to get out --- */

struct escape {
	const char *what;
	uint64_t addr;
	uint64_t len;
	enum neuron_cause cause;
};

static void try_escape(struct rig *rig, struct trn_access *access,
		       const struct escape *e)
{
	static uint8_t buf[65536];
	uint32_t before = rig_violations(rig);
	uint64_t inside = at(W_HBM, 0);

	if (e->cause != NEURON_CAUSE_RIGHTS &&
	    trn_access_read(access, e->addr, buf, e->len) != e->cause)
		fail_msg("read: %s", e->what);
	if (trn_access_write(access, e->addr, buf, e->len) != e->cause)
		fail_msg("write: %s", e->what);
	assert_int_equal(access->bad_addr, e->addr);
	assert_true(rig_violations(rig) > before);
	if (e->len > WINDOW_BYTES)
		return;		/* the source would be out of bounds, too */
	if (trn_access_copy(access, e->addr, inside, e->len) != e->cause)
		fail_msg("copy to: %s", e->what);
	assert_int_equal(access->bad_addr, e->addr);
	assert_true(access->bad_dst);
}

static void nothing_gets_out_of_its_windows(void **state)
{
	struct rig *rig = *state;
	const struct escape escapes[] = {
		{ "one past the end", at(W_HBM, WINDOW_BYTES), 1,
		  NEURON_CAUSE_WINDOW },
		{ "the last byte and one more", at(W_HBM, WINDOW_BYTES - 1), 2,
		  NEURON_CAUSE_WINDOW },
		{ "the whole and one more", at(W_HBM, 0), WINDOW_BYTES + 1,
		  NEURON_CAUSE_WINDOW },
		{ "the largest offset", at(W_HBM, NEURON_ADDR_WINDOW_OFFSET), 1,
		  NEURON_CAUSE_WINDOW },
		{ "an offset that carries", at(W_HBM, NEURON_ADDR_WINDOW_OFFSET),
		  2, NEURON_CAUSE_WINDOW },
		{ "into the extent behind", at(W_HOST, WINDOW_BYTES - 4), 8,
		  NEURON_CAUSE_WINDOW },
		{ "empty", at(W_EMPTY, 0), 1, NEURON_CAUSE_WINDOW },
		{ "no such window", at(NR_WINDOWS, 0), 1, NEURON_CAUSE_WINDOW },
		{ "the last window", at(65535, 0), 1, NEURON_CAUSE_WINDOW },
		{ "a plain address", 0x1000, 1, NEURON_CAUSE_WINDOW },
		{ "a host address", rig_host_addr(rig, 0, 0x1000), 1,
		  NEURON_CAUSE_WINDOW },
		{ "a routed address", neuron_fabric_addr(1, 0), 1,
		  NEURON_CAUSE_WINDOW },
		{ "nothing to write", at(W_READ, 0), 1, NEURON_CAUSE_RIGHTS },
		{ "a semaphore's byte", at(W_SEM, 0), 1, NEURON_CAUSE_WINDOW },
		{ "two semaphores", at(W_SEM, 0), 8, NEURON_CAUSE_WINDOW },
		{ "between semaphores", at(W_SEM, 2), 4, NEURON_CAUSE_WINDOW },
		{ "semaphore 32", at(W_SEM, 64), 4, NEURON_CAUSE_WINDOW },
	};
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	size_t i;

	table_make(rig, &t);
	guards(rig, &t, false);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	for (i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		try_escape(rig, &access, &escapes[i]);
	guards(rig, &t, true);
	assert_int_equal(trn_sem_value(rig->chip[0]->core[WINDOW_CORE].sems, 32), 0);
	trn_domain_free(domain);
}

static void rights_are_those_of_the_window(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	uint32_t word;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_read(&access, at(W_READ, 0), &word, 4), 0);
	assert_int_equal(trn_access_write(&access, at(W_WRITE, 0), &word, 4), 0);
	assert_int_equal(rig_violations(rig), 0);
	assert_int_equal(trn_access_write(&access, at(W_READ, 0), &word, 4),
			 NEURON_CAUSE_RIGHTS);
	assert_int_equal(trn_access_read(&access, at(W_WRITE, 0), &word, 4),
			 NEURON_CAUSE_RIGHTS);
	assert_int_equal(trn_access_copy(&access, at(W_HBM, 0), at(W_WRITE, 8),
					 4), NEURON_CAUSE_RIGHTS);
	assert_false(access.bad_dst);
	assert_int_equal(access.bad_addr, at(W_WRITE, 8));
	assert_int_equal(rig_violations(rig), 3);
	trn_domain_free(domain);
}

static void a_copy_that_ends_outside_writes_nothing(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	uint8_t before[WINDOW_BYTES], after[WINDOW_BYTES];
	struct table t;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	rig_fill(rig, before, sizeof(before));
	assert_int_equal(trn_access_write(&access, at(W_HOST, 0), before,
					  sizeof(before)), 0);
	gather(rig, &t, W_HBM, before);
	assert_int_equal(trn_access_copy(&access, at(W_HBM, 100), at(W_HOST, 0),
					 WINDOW_BYTES - 99),
			 NEURON_CAUSE_WINDOW);
	gather(rig, &t, W_HBM, after);
	assert_memory_equal(before, after, sizeof(before));
	trn_domain_free(domain);
}

static void a_host_fault_is_reported(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	uint32_t word = 0;

	table_make(rig, &t);
	t.window[W_HOST].base = rig_host_addr(rig, 0, RIG_HOST_BYTES - 8192);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_write(&access, at(W_HOST, 0), &word, 4), 0);
	assert_int_equal(trn_access_write(&access, at(W_HOST, 8192), &word, 4),
			 NEURON_CAUSE_HOST);
	assert_int_equal(trn_access_copy(&access, at(W_HBM, 0),
					 at(W_HOST, 8192), 4),
			 NEURON_CAUSE_HOST);
	assert_false(access.bad_dst);
	assert_int_equal(trn_access_copy(&access, at(W_HOST, 8190),
					 at(W_HBM, 0), 4), NEURON_CAUSE_HOST);
	assert_true(access.bad_dst);
	atomic_store(&rig->port[0].bus_master, false);
	assert_int_equal(trn_access_read(&access, at(W_HOST, 0), &word, 4),
			 NEURON_CAUSE_HOST);
	assert_int_equal(rig_violations(rig), 0);
	trn_domain_free(domain);
}

/* --- Semaphore windows --- */

static bool no_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	fail_msg("%zu bytes are read, not mapped", len);
	return false;
}

/* A transfer in the host's memory takes one map for each piece of it, and no read. */
static void host_memory_is_mapped(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[0] };
	const size_t len = 5 * FAKE_MAP;
	uint64_t from = rig_host(rig, 0, len), to = rig_host(rig, 0, len);
	const uint64_t first = from / FAKE_MAP, last = (from + len - 1) / FAKE_MAP;
	uint8_t *there = rig_host_ptr(rig, 0, to);

	rig_fill(rig, rig_host_ptr(rig, 0, from), len);
	rig->port[0].ops.host_read = no_read;
	assert_int_equal(trn_access_copy(&access, rig_host_addr(rig, 0, to),
					 rig_host_addr(rig, 0, from), len), NEURON_CAUSE_NONE);
	assert_memory_equal(there, rig_host_ptr(rig, 0, from), len);
	assert_int_equal(atomic_load(&rig->port[0].maps), last - first + 1);
	assert_int_equal(atomic_load(&rig->port[0].mapped), 0);
}

static void *no_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	(void)opaque;
	(void)addr;
	(void)len;
	(void)write;
	return NULL;
}

/* A host that has no maps, and one that refuses them. */
static void host_memory_need_not_be_mapped(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[0] };
	struct trn_port *ops = &rig->port[0].ops;
	const size_t len = 3 * FAKE_MAP;
	uint64_t from = rig_host(rig, 0, len), to = rig_host(rig, 0, len);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ops->host_map = i ? no_map : NULL;
		rig_fill(rig, rig_host_ptr(rig, 0, from), len);
		assert_int_equal(trn_access_copy(&access, rig_host_addr(rig, 0, to),
						 rig_host_addr(rig, 0, from), len),
				 NEURON_CAUSE_NONE);
		assert_memory_equal(rig_host_ptr(rig, 0, to), rig_host_ptr(rig, 0, from), len);
	}
	assert_int_equal(atomic_load(&rig->port[0].maps), 0);
}

/* Registers and the host's memory, both ways; and memory that is not there. */
static void maps_of_other_places(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[0] };
	uint64_t host = rig_host(rig, 0, 64);
	uint64_t regs = rig->chip[0]->gen->apb_addr[0];
	const uint64_t nowhere = rig_host_addr(rig, 0, RIG_HOST_BYTES);
	uint8_t direct[8];

	assert_int_equal(trn_access_read(&access, regs, direct, 8), NEURON_CAUSE_NONE);
	memset(rig_host_ptr(rig, 0, host), 0xee, 16);
	assert_int_equal(trn_access_copy(&access, rig_host_addr(rig, 0, host), regs, 8),
			 NEURON_CAUSE_NONE);
	assert_memory_equal(rig_host_ptr(rig, 0, host), direct, 8);
	assert_int_equal(*(uint8_t *)rig_host_ptr(rig, 0, host + 8), 0xee);
	assert_int_equal(atomic_load(&rig->port[0].maps), 1);
	assert_int_equal(trn_access_copy(&access, nowhere, rig_host_addr(rig, 0, host), 8),
			 NEURON_CAUSE_HOST);
	assert_true(access.bad_dst);
	assert_int_equal(trn_access_copy(&access, rig_host_addr(rig, 0, host), nowhere, 8),
			 NEURON_CAUSE_HOST);
	assert_false(access.bad_dst);
	assert_int_equal(atomic_load(&rig->port[0].mapped), 0);
}

static void a_semaphore_window_posts_and_reads(void **state)
{
	struct rig *rig = *state;
	struct trn_core *core = &rig->chip[0]->core[WINDOW_CORE];
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	int32_t word = 5;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_write(&access, at(W_SEM, 60), &word, 4), 0);
	assert_int_equal(trn_sem_value(core->sems, 31), 5);
	assert_ptr_equal(access.post.core, core);
	assert_int_equal(access.post.sem, 31);
	assert_int_equal(access.post.delta, 5);
	word = -7;
	assert_int_equal(trn_access_write(&access, at(W_SEM, 60), &word, 4), 0);
	assert_int_equal(trn_access_read(&access, at(W_SEM, 60), &word, 4), 0);
	assert_int_equal(word, -2);
	assert_null(access.post.core);

	/* By copies: memory to semaphore, semaphore to memory. */
	word = 40;
	assert_int_equal(trn_access_write(&access, at(W_HBM, 3), &word, 4), 0);
	assert_int_equal(trn_access_copy(&access, at(W_SEM, 0), at(W_HBM, 3), 4),
			 0);
	assert_int_equal(trn_sem_value(core->sems, 16), 40);
	assert_ptr_equal(access.post.core, core);
	assert_int_equal(trn_access_copy(&access, at(W_HOST, 1), at(W_SEM, 0),
					 4), 0);
	assert_int_equal(trn_access_read(&access, at(W_HOST, 1), &word, 4), 0);
	assert_int_equal(word, 40);
	trn_domain_free(domain);
}

static void a_peers_semaphore_can_only_be_posted(void **state)
{
	struct rig *rig = *state;
	struct trn_core *peer = &rig->chip[1]->core[WINDOW_PEER_CORE];
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	int32_t word = 3;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	atomic_store(&peer->generation, 7);
	assert_int_equal(trn_access_write(&access, at(W_PEER_SEM, 4), &word, 4),
			 0);
	assert_int_equal(trn_sem_value(peer->sems, 1), 3);
	assert_int_equal(access.hops, 1);
	assert_int_equal(trn_access_read(&access, at(W_PEER_SEM, 4), &word, 4),
			 NEURON_CAUSE_RIGHTS);
	assert_int_equal(rig_violations(rig), 1);
	trn_domain_free(domain);
}

static void a_post_of_an_old_grant_is_dropped_and_counted(void **state)
{
	struct rig *rig = *state;
	struct trn_core *own = &rig->chip[0]->core[WINDOW_CORE];
	struct trn_core *peer = &rig->chip[1]->core[WINDOW_PEER_CORE];
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	int32_t word = 3;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	atomic_store(&peer->generation, 8);
	assert_int_equal(trn_access_write(&access, at(W_PEER_SEM, 4), &word, 4),
			 0);
	assert_null(access.post.core);
	assert_int_equal(trn_sem_value(peer->sems, 1), 0);
	assert_int_equal(atomic_load(&peer->stale_posts), 1);

	atomic_store(&own->generation, 1);
	assert_int_equal(trn_access_write(&access, at(W_SEM, 0), &word, 4), 0);
	assert_int_equal(trn_sem_value(own->sems, 16), 0);
	assert_int_equal(atomic_load(&own->stale_posts), 1);
	assert_int_equal(rig_violations(rig), 0);
	trn_domain_free(domain);
}

/* --- Domain 0 --- */

static void domain_0_goes_by_plain_and_routed_addresses(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = rig_access(rig, NULL);
	uint64_t host = rig_host(rig, 0, 8192);
	uint64_t peer = rig_hbm_addr(rig, 1, 3);
	uint8_t bytes[8192], back[8192];

	rig_fill(rig, bytes, sizeof(bytes));
	memcpy(rig_host_ptr(rig, 0, host), bytes, sizeof(bytes));
	assert_int_equal(trn_access_copy(&access, 0x7001,
					 rig_host_addr(rig, 0, host), 8192), 0);
	assert_int_equal(trn_access_copy(&access,
					 neuron_fabric_addr(1, peer),
					 0x7001, 8192), 0);
	assert_int_equal(access.hops, 1);
	assert_memory_equal(rig->chip[1]->hbm[1] + 3, bytes, 8192);
	assert_int_equal(trn_access_read(&access,
					 neuron_fabric_addr(1, peer),
					 back, 8192), 0);
	assert_memory_equal(back, bytes, 8192);
	/* Host to host goes by way of the chip. */
	host = rig_host(rig, 0, 8192);
	assert_int_equal(trn_access_write(&access, 0x7001, back, 8192), 0);
	assert_int_equal(trn_access_copy(&access, rig_host_addr(rig, 0, host),
					 rig_host_addr(rig, 0, host - 8192),
					 8192), 0);
	assert_memory_equal(rig_host_ptr(rig, 0, host), bytes, 8192);
}

static void domain_0_knows_bad_addresses(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = rig_access(rig, NULL);
	uint64_t host = neuron_fabric_addr(1, rig_host_addr(rig, 1, 0));
	uint8_t buf[16] = { 0 };

	assert_int_equal(trn_access_read(&access, RIG_NOWHERE, buf, 4),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_access_write(&access, FAKE_HBM_SIZE - 8, buf, 16),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_access_read(&access, ~0ull - 3, buf, 16),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_access_read(&access, at(0, 0), buf, 4),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_access_read(&access, neuron_fabric_addr(9, 0), buf,
					 4), NEURON_CAUSE_FABRIC);
	/* A peer's host memory cannot be reached. */
	assert_int_equal(trn_access_read(&access,
					 host,
					 buf, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(access.bad_addr, host);
}

static void domain_0_reaches_registers_by_words(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	struct trn_access access = rig_access(rig, NULL);
	uint64_t ram = gen->apb_addr[0] + (gen->misc_bar0 - gen->apb_bar0[0]) +
		       NEURON_MISC_METRIC;
	uint64_t inc = rig_sem_addr(rig, WINDOW_CORE) + NEURON_SEM_INC(9);
	uint32_t words[4] = { 1, 2, 3, 4 }, back[4];

	assert_int_equal(trn_access_write(&access, 0x100, words, 16), 0);
	assert_int_equal(trn_access_copy(&access, ram, 0x100, 16), 0);
	assert_int_equal(trn_access_read(&access, ram, back, 16), 0);
	assert_memory_equal(back, words, 16);
	assert_int_equal(trn_access_copy(&access, inc, 0x104, 4), 0);
	assert_int_equal(trn_access_copy(&access, inc, 0x108, 4), 0);
	assert_int_equal(trn_sem_value(rig->chip[0]->core[WINDOW_CORE].sems, 9), 5);
	assert_int_equal(trn_access_copy(&access, inc, 0x104, 8),
			 NEURON_CAUSE_ADDRESS);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_accesses_are_byte_exact),
		TEST(an_access_may_have_no_bytes),
		TEST(nothing_gets_out_of_its_windows),
		TEST(rights_are_those_of_the_window),
		TEST(a_copy_that_ends_outside_writes_nothing),
		TEST(a_host_fault_is_reported),
		TEST(host_memory_is_mapped),
		TEST(host_memory_need_not_be_mapped),
		TEST(maps_of_other_places),
		TEST(a_semaphore_window_posts_and_reads),
		TEST(a_peers_semaphore_can_only_be_posted),
		TEST(a_post_of_an_old_grant_is_dropped_and_counted),
		TEST(domain_0_goes_by_plain_and_routed_addresses),
		TEST(domain_0_knows_bad_addresses),
		TEST(domain_0_reaches_registers_by_words),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
