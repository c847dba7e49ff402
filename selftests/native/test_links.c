// SPDX-License-Identifier: MIT
/*
 * Links of real chips: what the registers show, what the public neighbour windows
 * reach, links that go down or slow. What befalls transfers that are under way is in
 * test_link_loss.c.
 */
#include "fake_port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state_stream.h"
#include "time/trn_cost.h"
#include "mem/trn_access.h"
#include "fabric/trn_fabric.h"
#include "chip_parts.h"
#include "soc/trn_reset.h"

#define HOST_SIZE	NEURON_KIB(64)
#define MAX_CHIPS	64

struct fixture {
	const struct neuron_gen *gen;
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	unsigned int nr;
	struct fake_port port[MAX_CHIPS];
	struct trn_chip *chip[MAX_CHIPS];
};

/* @chips on each of @servers; the id of a chip is its number, as its serial is. */
static void add_chip(struct fixture *f, unsigned int i, unsigned int chips)
{
	struct trn_chip_config config;
	const char *why = NULL;

	fake_port_init(&f->port[i], HOST_SIZE);
	config = fake_chip_config(&f->port[i], f->gen, f->pool, f->fabric, i);
	config.position = i / chips << 8 | i % chips;
	config.serial = 1000 + i;
	f->chip[i] = trn_chip_new(&config, &why);
	if (!f->chip[i])
		fail_msg("chip %u: %s", i, why);
}

static void start(struct fixture *f, const struct neuron_gen *gen,
		  unsigned int servers, unsigned int chips)
{
	unsigned int i;

	f->gen = gen;
	f->nr = servers * chips;
	for (i = 0; i < f->nr; i++)
		add_chip(f, i, chips);
}

static void remove_chip(struct fixture *f, unsigned int i)
{
	fake_chip_free(f->chip[i]);
	fake_port_destroy(&f->port[i]);
	f->chip[i] = NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->pool = trn_pool_new(2, NULL, NULL);
	f->fabric = trn_fabric_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < f->nr; i++)
		if (f->chip[i])
			remove_chip(f, i);
	trn_fabric_unref(f->fabric);
	trn_pool_free(f->pool);
	free(f);
	return 0;
}

static uint32_t ctl(struct fixture *f, unsigned int i, uint32_t reg)
{
	return (uint32_t)trn_chip_mmio_read(f->chip[i],
					    neuron_ctl_bar0(f->gen) + reg, 4);
}

static uint32_t link_reg(struct fixture *f, unsigned int i, unsigned int link,
			 uint32_t reg)
{
	return ctl(f, i, NEURON_CTL_LINK(link) + reg);
}

static void set_links(struct fixture *f, const char *text)
{
	const char *why;

	if (trn_fabric_set_links(f->fabric, text, &why))
		fail_msg("%s: %s", text, why);
}

/* --- registers --- */

static void test_torus_registers(void **state)
{
	static const uint32_t row5[] = { 4, 9, 1, 6 };
	struct fixture *f = *state;
	unsigned int l;

	start(f, &neuron_gen_trn2, 1, 16);
	assert_int_equal(trn_fabric_topology(f->fabric), TRN_TOPOLOGY_TORUS2D);
	assert_int_equal(ctl(f, 5, NEURON_CTL_NR_LINKS), 4);
	for (l = 0; l < 4; l++) {
		assert_int_equal(link_reg(f, 5, l, NEURON_CTL_LINK_PEER), row5[l]);
		assert_int_equal(link_reg(f, 5, l, NEURON_CTL_LINK_STATE), 1);
	}
	/* A chip that leaves takes nobody else's links away. */
	remove_chip(f, 9);
	assert_int_equal(trn_fabric_topology(f->fabric), TRN_TOPOLOGY_TORUS2D);
	assert_int_equal(ctl(f, 5, NEURON_CTL_NR_LINKS), 4);
	assert_int_equal(link_reg(f, 5, 1, NEURON_CTL_LINK_PEER),
			 NEURON_LINK_PEER_NONE);
	assert_int_equal(link_reg(f, 5, 1, NEURON_CTL_LINK_STATE), 0);
	assert_int_equal(link_reg(f, 5, 2, NEURON_CTL_LINK_PEER), 1);
	add_chip(f, 9, 16);
	assert_int_equal(link_reg(f, 5, 1, NEURON_CTL_LINK_PEER), 9);
}

static void test_switch_registers(void **state)
{
	const uint32_t level1 = NEURON_LINK_PEER_SWITCH | 1u << 24;
	const uint32_t level2 = NEURON_LINK_PEER_SWITCH | 2u << 24;
	struct fixture *f = *state;

	start(f, &neuron_gen_trn3, 2, 4);
	assert_int_equal(ctl(f, 5, NEURON_CTL_NR_LINKS), 9);
	assert_int_equal(link_reg(f, 5, 0, NEURON_CTL_LINK_PEER), level1 | 1);
	assert_int_equal(link_reg(f, 5, 3, NEURON_CTL_LINK_PEER), level1 | 1);
	assert_int_equal(link_reg(f, 5, 8, NEURON_CTL_LINK_PEER), level2);
	assert_int_equal(link_reg(f, 5, 8, NEURON_CTL_LINK_MBPS), 64000);
}

static void test_configure(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(trn_fabric_configure(f->fabric, TRN_TOPOLOGY_CHAIN,
					      96000), 0);
	start(f, &neuron_gen_trn1, 1, 3);
	assert_int_equal(trn_fabric_configure(f->fabric, TRN_TOPOLOGY_RING, 0),
			 -1);
	assert_int_equal(ctl(f, 0, NEURON_CTL_NR_LINKS), 1);
	assert_int_equal(ctl(f, 1, NEURON_CTL_NR_LINKS), 2);
	assert_int_equal(link_reg(f, 0, 0, NEURON_CTL_LINK_MBPS), 96000);
}

/* --- neighbour windows --- */

static uint64_t misc_addr(const struct neuron_gen *gen)
{
	return gen->apb_addr[0] + gen->misc_bar0 - gen->apb_bar0[0];
}

static uint32_t read_serial(struct fixture *f, unsigned int i, uint32_t window)
{
	uint32_t serial[2] = { 0 };
	const uint64_t addr = misc_addr(f->gen) + NEURON_MISC_SERIAL_LO;

	if (trn_bus_read(f->chip[i], neuron_neighbour_addr(window, addr),
			 serial, sizeof(serial)))
		return 0;
	return serial[0];
}

/* Each window leads to the chip of its column in the public table. */
static void test_windows(void **state)
{
	static const uint32_t table[4][4] = {
		{ 12, 1, 3, 4 }, { 0, 13, 5, 2 }, { 14, 3, 1, 6 },
		{ 2, 15, 7, 0 },
	};
	struct fixture *f = *state;
	uint32_t word = 0x1234, i, w;

	start(f, &neuron_gen_trn2, 1, 16);
	for (i = 0; i < 4; i++) {
		for (w = 0; w < 4; w++) {
			struct trn_chip *peer = f->chip[table[i][w]];
			uint64_t addr = f->gen->hbm_addr[3] + 64 * (i + 1);

			assert_int_equal(read_serial(f, i, w), 1000 + table[i][w]);
			word++;
			assert_int_equal(trn_bus_write(f->chip[i],
						       neuron_neighbour_addr(w, addr),
						       &word, 4), 0);
			assert_memory_equal((uint8_t *)trn_chip_hbm(peer, 3) +
					    64 * (i + 1), &word, 4);
		}
	}
}

/* On an UltraServer they lead to the same chip of the other servers. */
static void test_windows_ultraserver(void **state)
{
	struct fixture *f = *state;

	start(f, &neuron_gen_trn2, 4, 16);
	assert_int_equal(ctl(f, 21, NEURON_CTL_NR_LINKS), 6);
	assert_int_equal(read_serial(f, 5, 1), 1000 + 21);
	assert_int_equal(read_serial(f, 5, 2), 1000 + 21);
	assert_int_equal(read_serial(f, 5, 0), 1000 + 53);
	assert_int_equal(read_serial(f, 5, 3), 1000 + 53);
	assert_int_equal(read_serial(f, 21, 1), 1000 + 5);
	assert_int_equal(read_serial(f, 21, 0), 1000 + 37);
}

static enum neuron_cause try_read(struct fixture *f, uint64_t addr)
{
	uint32_t word;

	return trn_bus_read(f->chip[0], addr, &word, 4);
}

static enum neuron_cause try_write(struct fixture *f, uint64_t addr)
{
	uint32_t word = 0;

	return trn_bus_write(f->chip[0], addr, &word, 4);
}

/* HBM, SBUF, semaphores, and MISC RAM to be read: nothing else. */
static void test_windows_refuse(void **state)
{
	struct fixture *f = *state;
	const struct neuron_gen *gen = &neuron_gen_trn2;
	const uint64_t misc = misc_addr(gen);
	const struct {
		uint64_t addr;
		enum neuron_cause read, write;
	} cases[] = {
		{ gen->hbm_addr[0], 0, 0 },
		{ gen->tpb_addr[7], 0, 0 },
		{ gen->tpb_addr[7] + NEURON_TPB_SEM + NEURON_SEM_READ(3), 0, 0 },
		{ misc, 0, NEURON_CAUSE_FABRIC },
		{ misc + NEURON_MISC_SIZE - 4, 0, NEURON_CAUSE_FABRIC },
		{ misc + 2, NEURON_CAUSE_ADDRESS, NEURON_CAUSE_FABRIC },
		{ misc - 4, NEURON_CAUSE_FABRIC, NEURON_CAUSE_FABRIC },
		{ misc + NEURON_MISC_SIZE, NEURON_CAUSE_FABRIC,
		  NEURON_CAUSE_FABRIC },
		{ gen->tpb_addr[0] + NEURON_TPB_PSUM, NEURON_CAUSE_FABRIC,
		  NEURON_CAUSE_FABRIC },
		{ gen->seng_addr[0] + 0x2000000, NEURON_CAUSE_FABRIC,
		  NEURON_CAUSE_FABRIC },
		{ gen->host_base, NEURON_CAUSE_FABRIC, NEURON_CAUSE_FABRIC },
		{ gen->hbm_addr[0] + gen->hbm_window - 4, NEURON_CAUSE_ADDRESS,
		  NEURON_CAUSE_ADDRESS },
	};
	unsigned int i;

	start(f, gen, 1, 2);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t addr = neuron_neighbour_addr(0, cases[i].addr);

		assert_int_equal(try_read(f, addr), cases[i].read);
		assert_int_equal(try_write(f, addr), cases[i].write);
	}
	/* A range must not leave it either. */
	assert_int_equal(trn_bus_read(f->chip[0],
				      neuron_neighbour_addr(0, misc +
							    NEURON_MISC_SIZE - 4),
				      &(uint64_t){ 0 }, 8), NEURON_CAUSE_ADDRESS);
	/* Windows without a neighbour, and bits that no address has. */
	assert_int_equal(try_read(f, neuron_neighbour_addr(1, 0)),
			 NEURON_CAUSE_FABRIC);
	assert_int_equal(try_read(f, neuron_neighbour_addr(3, 0)),
			 NEURON_CAUSE_FABRIC);
	assert_int_equal(try_read(f, NEURON_ADDR_NEIGHBOUR | NEURON_BIT64(48)),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(try_read(f, NEURON_ADDR_NEIGHBOUR | NEURON_BIT64(60)),
			 NEURON_CAUSE_ADDRESS);
}

/* Alone, and on the generation whose map has no such windows. */
static void test_windows_missing(void **state)
{
	struct fixture *f = *state;

	start(f, &neuron_gen_trn2, 1, 1);
	assert_int_equal(try_read(f, neuron_neighbour_addr(0, 0)),
			 NEURON_CAUSE_FABRIC);
	remove_chip(f, 0);
	start(f, &neuron_gen_trn1, 1, 2);
	assert_int_equal(try_read(f, neuron_neighbour_addr(0, 0)),
			 NEURON_CAUSE_ADDRESS);
}

/* A discard, which takes a plain address, is not led elsewhere by a window. */
static void test_discard_stays_home(void **state)
{
	struct fixture *f = *state;
	const uint32_t base = neuron_ctl_bar0(&neuron_gen_trn2);
	uint8_t *own;

	start(f, &neuron_gen_trn2, 1, 2);
	own = trn_chip_hbm(f->chip[0], 0);
	own[0] = 1;
	((uint8_t *)trn_chip_hbm(f->chip[1], 0))[0] = 1;
	trn_chip_mmio_write(f->chip[0], base + NEURON_CTL_DISCARD_ADDR,
			    neuron_neighbour_addr(0, 0), 8);
	trn_chip_mmio_write(f->chip[0], base + NEURON_CTL_DISCARD_LEN, 4096, 8);
	trn_chip_mmio_write(f->chip[0], base + NEURON_CTL_DISCARD_GO, 1, 4);
	assert_true(fake_wait_reg(f->chip[0], base + NEURON_CTL_CAUSE,
				  NEURON_CTL_CAUSE_DISCARD_ERROR,
				  NEURON_CTL_CAUSE_DISCARD_ERROR));
	assert_int_equal(own[0], 1);
	assert_int_equal(((uint8_t *)trn_chip_hbm(f->chip[1], 0))[0], 1);
}

/* --- links that change --- */

static void clear_causes(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < f->nr; i++) {
		while (!trn_task_quiet(&f->chip[i]->controller->task))
			;
		trn_chip_mmio_write(f->chip[i], neuron_ctl_bar0(f->gen) +
				    NEURON_CTL_CAUSE, ~0u, 4);
	}
}

static void test_link_down(void **state)
{
	struct fixture *f = *state;
	const uint32_t reg = neuron_ctl_bar0(&neuron_gen_trn2) + NEURON_CTL_CAUSE;
	char text[TRN_LINK_TEXT];
	struct trn_loc loc;
	unsigned int i;

	start(f, &neuron_gen_trn2, 1, 16);
	clear_causes(f);
	set_links(f, "0-1=down");
	assert_int_equal(link_reg(f, 0, 1, NEURON_CTL_LINK_STATE), 0);
	assert_int_equal(link_reg(f, 0, 1, NEURON_CTL_LINK_PEER), 1);
	assert_int_equal(link_reg(f, 1, 0, NEURON_CTL_LINK_STATE), 0);
	/* Software at both ends is told, nobody else. */
	for (i = 0; i < 2; i++)
		assert_true(fake_wait_reg(f->chip[i], reg, NEURON_CTL_CAUSE_LINK,
					  NEURON_CTL_CAUSE_LINK));
	for (i = 2; i < 16; i++) {
		while (!trn_task_quiet(&f->chip[i]->controller->task))
			;
		assert_int_equal(ctl(f, i, NEURON_CTL_CAUSE), 0);
	}
	/* Routed traffic goes around; the window is that link and no other. */
	assert_int_equal(trn_bus_locate(f->chip[0], neuron_fabric_addr(1, 0),
					&loc), 0);
	assert_int_equal(loc.hops, 3);
	assert_int_equal(read_serial(f, 0, 1), 0);
	assert_int_equal(read_serial(f, 0, 0), 1012);
	trn_fabric_print_links(f->fabric, text);
	assert_string_equal(text, "0-1=down");
	set_links(f, "1-0=up");
	assert_int_equal(read_serial(f, 0, 1), 1001);
	trn_fabric_print_links(f->fabric, text);
	assert_string_equal(text, "");
}

static void test_partition(void **state)
{
	struct fixture *f = *state;

	start(f, &neuron_gen_trn2, 1, 2);
	assert_int_equal(try_read(f, neuron_fabric_addr(1, 0)), 0);
	set_links(f, "0-1=down");
	assert_int_equal(try_read(f, neuron_fabric_addr(1, 0)),
			 NEURON_CAUSE_FABRIC);
	assert_int_equal(try_write(f, neuron_neighbour_addr(0, 0)),
			 NEURON_CAUSE_FABRIC);
	/* A chip always reaches itself. */
	assert_int_equal(try_read(f, neuron_fabric_addr(0, 0)), 0);
	/* The link is still down when the chip comes back. */
	remove_chip(f, 1);
	add_chip(f, 1, 2);
	assert_int_equal(try_read(f, neuron_fabric_addr(1, 0)),
			 NEURON_CAUSE_FABRIC);
}

static void test_refused_changes(void **state)
{
	struct fixture *f = *state;
	char text[TRN_LINK_TEXT];
	const char *why;

	start(f, &neuron_gen_trn2, 1, 16);
	assert_int_equal(trn_fabric_set_links(f->fabric, "0-1=down;0-5=down",
					      &why), -1);
	assert_non_null(strstr(why, "no link"));
	assert_int_equal(trn_fabric_set_links(f->fabric, "0:4=down", &why), -1);
	assert_int_equal(trn_fabric_set_links(f->fabric, "0-1=bad", &why), -1);
	assert_int_equal(trn_fabric_set_link(f->fabric, 0, 2, false, 0, &why),
			 -1);
	/* All or nothing. */
	trn_fabric_print_links(f->fabric, text);
	assert_string_equal(text, "");
	assert_int_equal(link_reg(f, 0, 1, NEURON_CTL_LINK_STATE), 1);
	/* A chip that is not there may come. */
	assert_int_equal(trn_fabric_set_link(f->fabric, 0, 99, false, 0, &why),
			 0);
}

/* Device time of a copy of 4096 bytes to chip 5, without what hops cost. */
static uint64_t copy_ns(struct fixture *f)
{
	struct trn_traffic traffic = { 0 };
	struct trn_access access = { .chip = f->chip[0], .traffic = &traffic };
	struct trn_timeline *tl;
	uint64_t start, end;

	f->chip[0]->config.clock = true;
	tl = trn_timeline_new(&f->chip[0]->core[0], 1);
	assert_non_null(tl);
	assert_int_equal(trn_access_copy(&access, neuron_fabric_addr(5, 0), 0,
					 4096), 0);
	assert_int_equal(access.hops, 2);
	trn_time_dma(tl, TRN_ACTOR_QUEUE, trn_cost_copy_ps(f->gen, 4096),
		     access.hops, &traffic);
	trn_time_replay(tl, &start, &end, NULL, NULL);
	trn_timeline_free(tl);
	return end - start -
	       (TRN_COST_DMA_START_PS + 2 * TRN_COST_HOP_PS) / 1000;
}

/* A link slower than the DMA engine costs more device time; a faster one none. */
static void test_slow_link(void **state)
{
	struct fixture *f = *state;
	const char *why;

	start(f, &neuron_gen_trn2, 1, 16);
	assert_int_equal(copy_ns(f), 4096 / 23 + 1);
	assert_int_equal(trn_fabric_set_link(f->fabric, 0, 1, true, 2300, &why),
			 0);
	assert_int_equal(link_reg(f, 1, 0, NEURON_CTL_LINK_MBPS), 2300);
	assert_int_equal(copy_ns(f), 40960 / 23 + 1);
	set_links(f, "0-1=slow:50");
	assert_int_equal(link_reg(f, 1, 0, NEURON_CTL_LINK_MBPS), 64000);
	assert_int_equal(copy_ns(f), 4096 / 23 + 1);
}

/* The links that a transfer crosses, also when one of them is down. */
static void test_path(void **state)
{
	struct trn_route_link links[TRN_ROUTE_LINKS];
	struct fixture *f = *state;

	start(f, &neuron_gen_trn2, 1, 16);
	assert_int_equal(trn_fabric_path(f->fabric, 0, 5, links), 2);
	assert_int_equal(links[0].chip, 0);
	assert_int_equal(links[1].chip, 1);
	assert_int_equal(link_reg(f, 0, links[0].port, NEURON_CTL_LINK_PEER), 1);
	assert_int_equal(link_reg(f, 1, links[1].port, NEURON_CTL_LINK_PEER), 5);
	assert_int_equal(trn_fabric_path(f->fabric, 0, 0, links), 0);
	assert_int_equal(trn_fabric_path(f->fabric, 0, 99, links), 0);
	set_links(f, "0-1=down;4-5=slow:10");
	assert_int_equal(trn_fabric_path(f->fabric, 0, 5, links), 2);
	assert_int_equal(links[0].chip, 0);
	assert_int_equal(links[1].chip, 4);
	assert_int_equal(links[1].mbps, neuron_gen_trn2.link_mbps / 10);
	set_links(f, "0-4=down;0-3=down;0-12=down");
	assert_int_equal(trn_fabric_path(f->fabric, 0, 5, links), 0);
}

/* Through a switch: out of one chip and into the other. */
static void test_switched_path(void **state)
{
	struct trn_route_link links[TRN_ROUTE_LINKS];
	struct fixture *f = *state;

	start(f, &neuron_gen_trn3, 2, 16);
	assert_int_equal(trn_fabric_path(f->fabric, 1, 3, links), 2);
	assert_int_equal(links[0].chip, 1);
	assert_false(links[0].in);
	assert_int_equal(links[1].chip, 3);
	assert_true(links[1].in);
	/* Index 1 and 3 use port 4 modulo 4 of those to the server's switch. */
	assert_int_equal(links[0].port, 0);
	assert_int_equal(trn_fabric_path(f->fabric, 1, 19, links), 2);
	assert_true(links[0].port >= 4 && links[1].port >= 4);
}

/* --- saving --- */

static const char *load(struct fixture *f, struct state_stream *s)
{
	struct trn_state st = state_stream_load(s);

	trn_fabric_state(f->fabric, &st);
	return st.why;
}

static void test_save(void **state)
{
	struct fixture *f = *state;
	struct state_stream s = { .len = 0 };
	struct trn_state st = state_stream_save(&s);
	char text[TRN_LINK_TEXT];
	size_t len;

	start(f, &neuron_gen_trn2, 1, 16);
	set_links(f, "0-1=down;2:3=slow:7;4-5=mbps:99");
	trn_fabric_state(f->fabric, &st);
	assert_null(st.why);
	set_links(f, "0-1=up;4-5=up;6-7=down");
	clear_causes(f);
	assert_null(load(f, &s));
	trn_fabric_print_links(f->fabric, text);
	assert_string_equal(text, "0-1=down;2:3=slow:7;4-5=mbps:99");
	assert_int_equal(link_reg(f, 0, 1, NEURON_CTL_LINK_STATE), 0);
	assert_int_equal(link_reg(f, 6, 3, NEURON_CTL_LINK_STATE), 1);
	assert_int_equal(ctl(f, 0, NEURON_CTL_CAUSE), 0);

	/* Streams that end early or say nonsense change nothing. */
	for (len = 0; len < s.len; len += 3) {
		struct state_stream cut = s;

		cut.len = len;
		assert_non_null(load(f, &cut));
	}
	memset(s.data + s.len - 14, 0xff, 14);
	assert_non_null(load(f, &s));
	trn_fabric_print_links(f->fabric, text);
	assert_string_equal(text, "0-1=down;2:3=slow:7;4-5=mbps:99");
}

/* --- links that change under traffic --- */

struct hammer {
	struct trn_task task;
	struct fixture *f;
	unsigned int from;
	_Atomic bool stop;
	_Atomic unsigned int moved;
	_Atomic unsigned int refused;
};

static enum trn_run hammer_run(struct trn_task *task, struct trn_budget *budget)
{
	struct hammer *h = (struct hammer *)task;
	uint8_t page[4096] = { 1 };
	unsigned int to = h->from;

	while (!trn_budget_spent(budget)) {
		const uint64_t at = NEURON_KIB(64) + 4096ull * h->from;
		uint64_t addr;

		to = (to + 1) % h->f->nr;
		addr = to & 1 ? neuron_fabric_addr(to, at) :
				neuron_neighbour_addr(to & 3, at);
		if (trn_bus_write(h->f->chip[h->from], addr, page, sizeof(page)))
			atomic_fetch_add(&h->refused, 1);
		else
			atomic_fetch_add(&h->moved, 1);
	}
	return atomic_load(&h->stop) ? TRN_RUN_IDLE : TRN_RUN_AGAIN;
}

static bool hammer_quiet(void *arg)
{
	return trn_task_quiet(&((struct hammer *)arg)->task);
}

static bool hammer_moved(void *arg)
{
	return atomic_load(&((struct hammer *)arg)->moved) > 1000;
}

static void test_changes_under_traffic(void **state)
{
	struct fixture *f = *state;
	struct hammer h[2] = { { .f = f, .from = 0 }, { .f = f, .from = 5 } };
	unsigned int i, round;
	char text[64];

	start(f, &neuron_gen_trn2, 1, 16);
	for (i = 0; i < 2; i++) {
		trn_task_init(&h[i].task, f->pool, hammer_run);
		trn_task_kick(&h[i].task);
	}
	for (round = 0; round < 300; round++) {
		snprintf(text, sizeof(text), "0:%u=%s;5:%u=slow:%u", round % 4,
			 round / 4 % 2 ? "up" : "down", round % 4,
			 round % 100 + 1);
		set_links(f, text);
		if (round % 50 == 25)
			remove_chip(f, 9);
		if (round % 50 == 40)
			add_chip(f, 9, 16);
		assert_int_equal(ctl(f, 3, NEURON_CTL_NR_LINKS), 4);
	}
	for (i = 0; i < 2; i++) {
		assert_true(fake_wait(hammer_moved, &h[i]));
		atomic_store(&h[i].stop, true);
		assert_true(fake_wait(hammer_quiet, &h[i]));
	}
}

#define TEST(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_torus_registers), TEST(test_switch_registers),
		TEST(test_configure), TEST(test_windows),
		TEST(test_windows_ultraserver), TEST(test_windows_refuse),
		TEST(test_windows_missing), TEST(test_discard_stays_home),
		TEST(test_link_down), TEST(test_partition),
		TEST(test_refused_changes), TEST(test_slow_link),
		TEST(test_path), TEST(test_switched_path),
		TEST(test_save), TEST(test_changes_under_traffic),
	};

	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
