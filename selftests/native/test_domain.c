// SPDX-License-Identifier: MIT
/*
 * What a window table may say.
 */
#include "window_rig.h"

#include <stdlib.h>
#include <string.h>

#include "contract/window.h"

static void an_empty_table_is_a_domain_of_nothing(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	uint8_t byte;

	assert_int_equal(trn_domain_latch(&rig->chip[0]->core[WINDOW_CORE], ~0ull, 0,
					  &domain, NULL), 0);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_read(&access, at(0, 0), &byte, 1),
			 NEURON_CAUSE_WINDOW);
	trn_domain_free(domain);
}

static void a_table_that_cannot_be_read_is_refused(void **state)
{
	struct rig *rig = *state;
	struct trn_core *core = &rig->chip[0]->core[WINDOW_CORE];
	struct trn_domain *domain;

	assert_int_equal(trn_domain_latch(core,
					  rig_host_addr(rig, 0, RIG_HOST_BYTES),
					  1, &domain, NULL), NEURON_CAUSE_HOST);
	assert_int_equal(trn_domain_latch(core, RIG_NOWHERE, 1, &domain, NULL),
			 NEURON_CAUSE_ADDRESS);
	/* Registers and a peer's memory hold no tables. */
	assert_int_equal(trn_domain_latch(core, rig_sem_addr(rig, 0), 1, &domain, NULL),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_domain_latch(core, neuron_fabric_addr(1, 0), 1,
					  &domain, NULL), NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_domain_latch(core, at(0, 0), 1, &domain, NULL),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_domain_latch(core, 0, NEURON_MAX_WINDOWS + 1,
					  &domain, NULL), NEURON_CAUSE_JOB);
}

static void a_table_may_lie_in_hbm(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct table t;

	table_make(rig, &t);
	memcpy(rig->chip[0]->hbm[0] + 0x100000, t.window, sizeof(t.window));
	assert_int_equal(trn_domain_latch(&rig->chip[0]->core[WINDOW_CORE], 0x100000,
					  NR_WINDOWS, &domain, NULL), 0);
	trn_domain_free(domain);
}

static void a_table_may_have_65535_windows(void **state)
{
	struct rig *rig = *state;
	struct neuron_hw_window *table;
	struct trn_domain *domain;
	struct trn_access access;
	uint32_t word = 0, i;

	table = calloc(NEURON_MAX_WINDOWS, sizeof(*table));
	for (i = 0; i < NEURON_MAX_WINDOWS; i++) {
		table[i].base = i * 4;
		table[i].length = 4;
		table[i].flags = NEURON_WINDOW_HBM | WINDOW_RW;
	}
	assert_int_equal(table_latch_nr(rig, table, NEURON_MAX_WINDOWS, &domain), 0);
	access = rig_access(rig, domain);
	for (i = 0; i < NEURON_MAX_WINDOWS; i += 4369)
		assert_int_equal(trn_access_write(&access, at(i, 0), &i, 4), 0);
	for (i = 0; i < NEURON_MAX_WINDOWS; i += 4369) {
		memcpy(&word, rig->chip[0]->hbm[0] + i * 4, 4);
		assert_int_equal(word, i);
	}
	trn_domain_free(domain);
	free(table);
}

/* A table in pieces: its directory, and the pieces in an order of their own. */
struct pieces {
	struct rig *rig;
	uint64_t directory;
	uint64_t *piece;
	unsigned int nr;
};

static void pieces_make(struct rig *rig, struct pieces *p, unsigned int nr)
{
	uint64_t at = rig_host(rig, 0, NEURON_TABLE_PIECES(nr) * sizeof(*p->piece));

	p->rig = rig;
	p->nr = nr;
	p->directory = rig_host_addr(rig, 0, at);
	p->piece = rig_host_ptr(rig, 0, at);
	memset(p->piece, 0, NEURON_TABLE_PIECES(nr) * sizeof(*p->piece));
}

/* Piece @index, with a guard between it and the next one, in which nothing is valid. */
static struct neuron_hw_window *pieces_add(struct pieces *p, unsigned int index)
{
	const size_t bytes = NEURON_TABLE_PIECE * sizeof(struct neuron_hw_window);
	uint64_t at = rig_host(p->rig, 0, bytes + 256);
	uint8_t *piece = rig_host_ptr(p->rig, 0, at);

	memset(piece, 0, bytes);
	memset(piece + bytes, 0xff, 256);
	p->piece[index] = rig_host_addr(p->rig, 0, at);
	return (struct neuron_hw_window *)piece;
}

static enum neuron_cause pieces_latch(const struct pieces *p, struct trn_domain **domain)
{
	return trn_domain_latch_pieces(&p->rig->chip[0]->core[WINDOW_CORE], p->directory,
				       p->nr, domain, NULL);
}

/* One word of HBM for each index. */
static void pieces_fill(struct neuron_hw_window *piece, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		piece[i] = neuron_hw_window_memory(NEURON_WINDOW_HBM, WINDOW_RW, (first + i) * 4,
						   4);
}

static void a_table_may_be_in_pieces(void **state)
{
	const unsigned int last = NEURON_TABLE_PIECES(NEURON_MAX_WINDOWS) - 1;
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	uint32_t word = 0, i;
	struct pieces p;

	pieces_make(rig, &p, NEURON_MAX_WINDOWS);
	for (i = 0; i < last; i++)
		pieces_fill(pieces_add(&p, last - 1 - i), (last - 1 - i) * NEURON_TABLE_PIECE,
			    NEURON_TABLE_PIECE);
	/* The last piece lacks one entry: what is in its place is not looked at. */
	pieces_fill(pieces_add(&p, last), last * NEURON_TABLE_PIECE, NEURON_TABLE_PIECE);
	memset(rig_host_ptr(rig, 0, p.piece[last] - rig_host_addr(rig, 0, 0)) +
	       (NEURON_TABLE_PIECE - 1) * sizeof(struct neuron_hw_window), 0xff,
	       sizeof(struct neuron_hw_window));
	assert_int_equal(pieces_latch(&p, &domain), 0);
	access = rig_access(rig, domain);
	for (i = 0; i < NEURON_MAX_WINDOWS; i += 127)
		assert_int_equal(trn_access_write(&access, at(i, 0), &i, 4), 0);
	for (i = 0; i < NEURON_MAX_WINDOWS; i += 127) {
		memcpy(&word, rig->chip[0]->hbm[0] + i * 4, 4);
		assert_int_equal(word, i);
	}
	trn_domain_free(domain);
}

static void a_piece_without_address_is_empty(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct pieces p;
	uint32_t word;

	pieces_make(rig, &p, 3 * NEURON_TABLE_PIECE);
	pieces_fill(pieces_add(&p, 1), NEURON_TABLE_PIECE, NEURON_TABLE_PIECE);
	assert_int_equal(pieces_latch(&p, &domain), 0);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_read(&access, at(NEURON_TABLE_PIECE - 1, 0), &word, 4),
			 NEURON_CAUSE_WINDOW);
	assert_int_equal(trn_access_read(&access, at(NEURON_TABLE_PIECE, 0), &word, 4), 0);
	assert_int_equal(trn_access_read(&access, at(2 * NEURON_TABLE_PIECE - 1, 0), &word, 4),
			 0);
	assert_int_equal(trn_access_read(&access, at(2 * NEURON_TABLE_PIECE, 0), &word, 4),
			 NEURON_CAUSE_WINDOW);
	trn_domain_free(domain);
}

static void a_directory_is_not_believed(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct pieces p, bad;
	uint64_t good;

	pieces_make(rig, &p, 2 * NEURON_TABLE_PIECE);
	pieces_fill(pieces_add(&p, 0), 0, NEURON_TABLE_PIECE);
	pieces_fill(pieces_add(&p, 1), NEURON_TABLE_PIECE, NEURON_TABLE_PIECE);
	good = p.piece[1];

	p.piece[1] = RIG_NOWHERE;
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_ADDRESS);
	p.piece[1] = neuron_fabric_addr(1, 0x1000);
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_ADDRESS);
	p.piece[1] = rig_sem_addr(rig, 0);
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_ADDRESS);
	p.piece[1] = at(0, 0);
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_ADDRESS);
	/* Its last entry is behind the end of the memory. */
	p.piece[1] = rig_host_addr(rig, 0, RIG_HOST_BYTES - 4064);
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_HOST);
	/* Its last entry is what lies behind the piece. */
	p.piece[1] = good + sizeof(struct neuron_hw_window);
	assert_int_equal(pieces_latch(&p, &domain), NEURON_CAUSE_JOB);

	p.piece[1] = good;
	assert_int_equal(pieces_latch(&p, &domain), 0);
	trn_domain_free(domain);
	bad = p;
	bad.directory = rig_host_addr(rig, 0, RIG_HOST_BYTES - 8);
	assert_int_equal(pieces_latch(&bad, &domain), NEURON_CAUSE_HOST);
	bad.directory = RIG_NOWHERE;
	assert_int_equal(pieces_latch(&bad, &domain), NEURON_CAUSE_ADDRESS);
	bad = p;
	bad.nr = NEURON_MAX_WINDOWS + 1;
	assert_int_equal(pieces_latch(&bad, &domain), NEURON_CAUSE_JOB);
	bad.nr = 0;
	bad.directory = ~0ull;
	assert_int_equal(pieces_latch(&bad, &domain), 0);
	trn_domain_free(domain);
}

/* Changes to one good entry that make it malformed. */
struct bad_window {
	const char *what;
	unsigned int w;
	size_t offset;
	unsigned int size;
	uint64_t value;
};

#define BAD(what, w, field, value) \
	{ what, w, offsetof(struct neuron_hw_window, field), \
	  sizeof(((struct neuron_hw_window *)0)->field), value }

static void a_malformed_entry_is_refused(void **state)
{
	struct rig *rig = *state;
	const uint64_t host = rig->chip[0]->gen->host_base;
	const uint64_t other = rig_sbuf_addr(rig, WINDOW_CORE - 1);
	const uint64_t own = rig_sbuf_addr(rig, WINDOW_CORE);
	const struct bad_window bad_windows[] = {
		BAD("unknown kind", W_HOST, flags, 7 | WINDOW_RW),
		BAD("reserved flag", W_HOST, flags, NEURON_WINDOW_HOST | 1 << 6),
		BAD("reserved flag", W_HOST, flags, NEURON_WINDOW_HOST | 1u << 31),
		BAD("rights of nothing", W_EMPTY, flags, 1 << 9),
		BAD("extents without list", W_HOST, nr_extents, 1),
		BAD("generation of memory", W_HOST, generation, 1),
		BAD("semaphore of memory", W_SBUF, sem_first, 1),
		BAD("no length", W_HOST, length, 0),
		BAD("length of 2^47", W_HOST, length, NEURON_ADDR_WINDOW_OFFSET + 1),
		BAD("length of 2^64 - 1", W_HOST, length, ~0ull),
		BAD("unaligned base", W_READ, base, 0x8002),
		BAD("HBM: host address", W_READ, base, host),
		BAD("HBM: routed address", W_READ, base, neuron_fabric_addr(1, 0)),
		BAD("HBM: window address", W_READ, base, at(0, 0)),
		BAD("HBM: SBUF", W_READ, base, other),
		BAD("HBM: past its end", W_READ, base, FAKE_HBM_SIZE - 252),
		BAD("HBM: unpopulated", W_READ, base, FAKE_HBM_SIZE),
		BAD("host: HBM", W_HOST, base, 0x1000),
		BAD("host: bits above the host bit", W_HOST, base,
		    host | host << 1),
		BAD("host: routed", W_HOST, base, NEURON_ADDR_FABRIC | host),
		BAD("host: past its end", W_HOST, base, 2 * host - 4),
		BAD("SBUF: another core's", W_SBUF, base, other),
		BAD("SBUF: PSUM", W_SBUF, base, own + NEURON_TPB_PSUM),
		BAD("SBUF: past its end", W_SBUF, base,
		    own + NEURON_TPB_SBUF_SIZE - 4),
		BAD("SBUF: routed", W_SBUF, base, NEURON_ADDR_FABRIC | own),
		BAD("PSUM: SBUF", W_PSUM, base, own),
		BAD("PSUM: another core's", W_PSUM, base,
		    other + NEURON_TPB_PSUM),
		BAD("peer: the list is no memory", W_PEER, base, RIG_NOWHERE),
		BAD("peer: the list is a peer's", W_PEER, base, NEURON_ADDR_FABRIC),
		BAD("peer: plain address", W_PEER, flags, NEURON_WINDOW_PEER | WINDOW_RW),
		BAD("list: too few", W_HBM, nr_extents, 4),
		BAD("list: too many", W_HBM, nr_extents, NEURON_MAX_EXTENTS + 1),
		BAD("list: none", W_HBM, nr_extents, 0),
		BAD("list: length differs", W_HBM, length, WINDOW_BYTES - 1),
		BAD("sem: HBM", W_SEM, base, 0x1000),
		BAD("sem: not its start", W_SEM, base,
		    own + NEURON_TPB_SEM + 4),
		BAD("sem: odd length", W_SEM, length, 63),
		BAD("sem: too long", W_SEM, length, 4 * 241),
		BAD("sem: far too long", W_SEM, length, 1ull << 40),
		BAD("sem: none", W_SEM, length, 0),
		BAD("sem: first too high", W_SEM, sem_first, 241),
		BAD("sem: first overflows", W_SEM, sem_first, 0xfffffff8),
		BAD("sem: list", W_SEM, flags,
		    NEURON_WINDOW_SEM | WINDOW_RW | NEURON_WINDOW_LIST),
		BAD("sem: no such chip", W_PEER_SEM, base,
		    neuron_fabric_addr(99, rig_sem_addr(rig, 2))),
	};
	struct trn_domain *domain;
	const struct bad_window *bad;
	enum neuron_cause cause;
	struct table good, t;
	size_t i;

	table_make(rig, &good);
	for (i = 0; i < sizeof(bad_windows) / sizeof(bad_windows[0]); i++) {
		bad = &bad_windows[i];
		t = good;
		memcpy((uint8_t *)&t.window[bad->w] + bad->offset, &bad->value,
		       bad->size);
		cause = table_latch_nr(rig, t.window, NR_WINDOWS, &domain);
		if (!cause)
			fail_msg("accepted: %s", bad->what);
	}
	assert_true(fake_logged(&rig->port[0], "refused"));
}

/* The table may be right: its link is down, or the chip has left. */
static void a_chip_out_of_reach_is_no_malformed_entry(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct table t;

	table_make(rig, &t);
	t.window[W_PEER_SEM].base =
		neuron_fabric_addr(99, rig_sem_addr(rig, 2));
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain),
			 NEURON_CAUSE_FABRIC);
}

static void a_malformed_extent_is_refused(void **state)
{
	struct rig *rig = *state;
	const struct neuron_hw_extent bad[][2] = {
		{ { 0x1000, 0 }, { 0x2000, 256 } },
		{ { 0x1000, 255 }, { rig_host_addr(rig, 0, 0), 1 } },
		{ { 0x1000, 128 }, { FAKE_HBM_SIZE - 127, 128 } },
		{ { 0x1000, ~0ull }, { 0x2000, 257 } },
		{ { 0x1000, 1ull << 63 }, { 0x2000, (1ull << 63) + 256 } },
		{ { 0x1000, 128 }, { rig_sbuf_addr(rig, WINDOW_CORE), 128 } },
		{ { 0x1000, 128 }, { NEURON_ADDR_FABRIC, 128 } },
	};
	struct trn_domain *domain;
	struct table t;
	size_t i;

	table_make(rig, &t);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t.window[W_READ].base = table_extents(rig, bad[i], 2);
		t.window[W_READ].flags |= NEURON_WINDOW_LIST;
		t.window[W_READ].nr_extents = 2;
		assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain),
				 NEURON_CAUSE_JOB);
	}
}

#define LIST_SLOTS	(NEURON_LIST_PAGE / sizeof(struct neuron_hw_extent))
#define LIST_PAGES	3u
#define LIST_EXTENTS	(LIST_PAGES * (LIST_SLOTS - 1))

/**
 * struct list - a window of LIST_EXTENTS extents of 4 bytes, in linked pages
 * @page: in the order of the list, which is not that of their addresses
 * @at: their plain addresses
 */
struct list {
	struct neuron_hw_extent *page[LIST_PAGES];
	uint64_t at[LIST_PAGES];
};

static void list_make(struct rig *rig, struct table *t, struct list *list)
{
	uint64_t pages = rig_host(rig, 0, (LIST_PAGES + 1) * NEURON_LIST_PAGE);
	unsigned int i, slot;

	pages = (pages + NEURON_LIST_PAGE - 1) & ~(uint64_t)(NEURON_LIST_PAGE - 1);
	for (i = 0; i < LIST_PAGES; i++) {
		list->page[i] = rig_host_ptr(rig, 0, pages +
					     (LIST_PAGES - 1 - i) * NEURON_LIST_PAGE);
		list->at[i] = rig_host_addr(rig, 0, pages +
					    (LIST_PAGES - 1 - i) * NEURON_LIST_PAGE);
		for (slot = 0; slot < LIST_SLOTS - 1; slot++)
			list->page[i][slot] =
				neuron_hw_extent((i * (LIST_SLOTS - 1) + slot) * 8, 4);
	}
	for (i = 0; i < LIST_PAGES; i++)
		list->page[i][LIST_SLOTS - 1] =
			neuron_hw_extent_link(i + 1 < LIST_PAGES ? list->at[i + 1] : RIG_NOWHERE);
	t->window[W_READ].base = list->at[0];
	t->window[W_READ].length = LIST_EXTENTS * 4;
	t->window[W_READ].flags |= NEURON_WINDOW_LIST;
	t->window[W_READ].nr_extents = LIST_EXTENTS;
}

static void a_list_may_go_on_in_another_page(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct list list;
	struct table t;
	uint32_t word, i;

	table_make(rig, &t);
	list_make(rig, &t, &list);
	domain = table_latch(rig, &t);
	access = rig_access(rig, domain);
	for (i = 0; i < LIST_EXTENTS; i++)
		memcpy(rig->chip[0]->hbm[0] + i * 8, &i, 4);
	for (i = 0; i < LIST_EXTENTS; i++) {
		assert_int_equal(trn_access_read(&access, at(W_READ, i * 4), &word, 4), 0);
		assert_int_equal(word, i);
	}
	trn_domain_free(domain);
}

/* In the middle of a page, and without a link behind the last extent of a page. */
static void a_list_may_begin_anywhere(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct list list;
	struct table t;

	table_make(rig, &t);
	list_make(rig, &t, &list);
	t.window[W_READ].base = list.at[0] + (LIST_SLOTS - 2) * sizeof(struct neuron_hw_extent);
	t.window[W_READ].nr_extents = LIST_SLOTS;
	t.window[W_READ].length = LIST_SLOTS * 4;
	trn_domain_free(table_latch(rig, &t));

	/* Only a link. */
	t.window[W_READ].base += sizeof(struct neuron_hw_extent);
	trn_domain_free(table_latch(rig, &t));

	/* The last page lies before the one that comes before it: it goes on in that. */
	list.page[2][LIST_SLOTS - 1] = (struct neuron_hw_extent){ 0x5000, 4 };
	t.window[W_READ].base = list.at[2];
	t.window[W_READ].nr_extents = 2 * LIST_SLOTS - 1;
	t.window[W_READ].length = (2 * LIST_SLOTS - 1) * 4;
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain), 0);
	trn_domain_free(domain);
}

static void a_malformed_link_is_refused(void **state)
{
	struct rig *rig = *state;
	struct neuron_hw_extent *link;
	struct trn_domain *domain;
	struct list list;
	struct table t;

	table_make(rig, &t);
	list_make(rig, &t, &list);
	link = &list.page[0][LIST_SLOTS - 1];
	link->addr = list.at[1] + sizeof(*link);
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain), NEURON_CAUSE_JOB);
	link->addr = RIG_NOWHERE;
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain),
			 NEURON_CAUSE_ADDRESS);
	link->addr = neuron_fabric_addr(1, 0x1000);
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain),
			 NEURON_CAUSE_ADDRESS);
	/* A link in the middle of a page is an extent without length. */
	link->addr = list.at[1];
	list.page[0][7] = *link;
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain), NEURON_CAUSE_JOB);
	list.page[0][7] = list.page[0][8];
	/* One extent more than the list has: behind it is a link to nothing. */
	t.window[W_READ].nr_extents++;
	t.window[W_READ].length += 4;
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain),
			 NEURON_CAUSE_ADDRESS);
	/* A ring of pages ends with the last extent. */
	link->addr = list.at[0];
	t.window[W_READ].nr_extents = 100000;
	t.window[W_READ].length = 400000;
	trn_domain_free(table_latch(rig, &t));
	t.window[W_READ].length = 400004;
	assert_int_equal(table_latch_nr(rig, t.window, NR_WINDOWS, &domain), NEURON_CAUSE_JOB);
}

static void the_table_counts_as_it_was_when_latched(void **state)
{
	struct rig *rig = *state;
	struct trn_domain *domain;
	struct trn_access access;
	struct table t;
	uint8_t byte;

	table_make(rig, &t);
	domain = table_latch(rig, &t);
	memset(rig_host_ptr(rig, 0, 0), 0xff, rig->host_next[0]);
	access = rig_access(rig, domain);
	assert_int_equal(trn_access_read(&access, at(W_HBM, 0), &byte, 1), 0);
	assert_int_equal(trn_access_read(&access, at(W_EMPTY, 0), &byte, 1),
			 NEURON_CAUSE_WINDOW);
	trn_domain_free(domain);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_table_is_a_domain_of_nothing),
		TEST(a_table_that_cannot_be_read_is_refused),
		TEST(a_table_may_lie_in_hbm),
		TEST(a_table_may_have_65535_windows),
		TEST(a_table_may_be_in_pieces),
		TEST(a_piece_without_address_is_empty),
		TEST(a_directory_is_not_believed),
		TEST(a_malformed_entry_is_refused),
		TEST(a_chip_out_of_reach_is_no_malformed_entry),
		TEST(a_malformed_extent_is_refused),
		TEST(a_list_may_go_on_in_another_page),
		TEST(a_list_may_begin_anywhere),
		TEST(a_malformed_link_is_refused),
		TEST(the_table_counts_as_it_was_when_latched),
	};

	return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
