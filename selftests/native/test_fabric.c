// SPDX-License-Identifier: MIT
/*
 * Addresses and the fabric: what an address means, what a peer can reach, who is
 * linked to whom, and that a chip can leave while peers use it.
 */
#include "fake_port.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/trn_fabric.h"
#include "chip_parts.h"

#define HOST_SIZE	NEURON_KIB(64)
#define MAX_CHIPS	5

struct fixture {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[MAX_CHIPS];
	struct trn_chip *chip[MAX_CHIPS];
	const struct neuron_gen *gen;
};

static void add_chip(struct fixture *f, unsigned int i, uint32_t id)
{
	fake_port_init(&f->port[i], HOST_SIZE);
	f->chip[i] = fake_chip_new(&f->port[i], f->gen, f->pool, f->fabric, id);
}

static void remove_chip(struct fixture *f, unsigned int i)
{
	fake_chip_free(f->chip[i]);
	fake_port_destroy(&f->port[i]);
	f->chip[i] = NULL;
}

static int setup_gen(void **state, const struct neuron_gen *gen)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->gen = gen;
	f->pool = trn_pool_new(2, NULL, NULL);
	f->fabric = trn_fabric_new();
	*state = f;
	return 0;
}

static int setup_trn1(void **state)
{
	return setup_gen(state, &neuron_gen_trn1);
}

static int setup_trn2(void **state)
{
	return setup_gen(state, &neuron_gen_trn2);
}

static int setup_trn3(void **state)
{
	return setup_gen(state, &neuron_gen_trn3);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < MAX_CHIPS; i++)
		if (f->chip[i])
			remove_chip(f, i);
	trn_fabric_unref(f->fabric);
	trn_pool_free(f->pool);
	free(f);
	return 0;
}

/* --- Addresses --- */

static struct trn_loc locate(struct trn_chip *chip, uint64_t addr)
{
	struct trn_loc loc;

	assert_int_equal(trn_bus_locate(chip, addr, &loc), NEURON_CAUSE_NONE);
	return loc;
}

static void test_locate_memory(void **state)
{
	struct fixture *f = *state;
	struct trn_loc loc;
	unsigned int i;

	add_chip(f, 0, 0);
	for (i = 0; i < f->gen->nr_hbm; i++) {
		loc = locate(f->chip[0], f->gen->hbm_addr[i] + 0x123);
		assert_int_equal(loc.place, TRN_PLACE_HBM);
		assert_int_equal(loc.index, i);
		assert_true(loc.offset == 0x123);
		assert_true(loc.len == FAKE_HBM_SIZE - 0x123);
		assert_ptr_equal(loc.ptr,
				 (uint8_t *)trn_chip_hbm(f->chip[0], i) + 0x123);
		assert_int_equal(loc.hops, 0);
		assert_ptr_equal(loc.chip, f->chip[0]);
	}
	for (i = 0; i < f->gen->nr_cores; i++) {
		loc = locate(f->chip[0], f->gen->tpb_addr[i] + 8);
		assert_int_equal(loc.place, TRN_PLACE_SBUF);
		assert_ptr_equal(loc.ptr, f->chip[0]->core[i].sbuf + 8);
		assert_true(loc.len == NEURON_TPB_SBUF_SIZE - 8);
		loc = locate(f->chip[0], f->gen->tpb_addr[i] + NEURON_TPB_PSUM);
		assert_int_equal(loc.place, TRN_PLACE_PSUM);
		assert_int_equal(loc.index, i);
		loc = locate(f->chip[0], f->gen->tpb_addr[i] + NEURON_TPB_SEM);
		assert_int_equal(loc.place, TRN_PLACE_SEM);
		assert_true(loc.len == NEURON_TPB_SEM_SIZE);
	}
}

static void test_locate_host_and_registers(void **state)
{
	struct fixture *f = *state;
	struct trn_loc loc;
	uint32_t misc;

	add_chip(f, 0, 0);
	loc = locate(f->chip[0], f->gen->host_base | 0x12345);
	assert_int_equal(loc.place, TRN_PLACE_HOST);
	assert_true(loc.offset == 0x12345);
	assert_true(loc.len == f->gen->host_base - 0x12345);

	misc = f->gen->misc_bar0 - f->gen->apb_bar0[0];
	loc = locate(f->chip[0], f->gen->apb_addr[0] + misc);
	assert_int_equal(loc.place, TRN_PLACE_REG);
	assert_true(loc.offset == f->gen->misc_bar0);
}

/* Every DMA engine's registers have a device address of their own. */
static void test_locate_engines(void **state)
{
	struct fixture *f = *state;
	const struct neuron_gen *gen = f->gen;
	unsigned int e;

	add_chip(f, 0, 0);
	for (e = 0; e < gen->nr_dma; e++) {
		uint32_t bar0 = neuron_dma_bar0(gen, e);
		uint64_t addr;
		uint32_t s;

		if (gen->seng_size && bar0 >= gen->seng_bar0) {
			s = (bar0 - gen->seng_bar0) / gen->seng_size;
			addr = gen->seng_addr[s] +
			       (bar0 - gen->seng_bar0) % gen->seng_size;
		} else {
			s = gen->apb_addr[1] && bar0 >= gen->apb_bar0[1];
			addr = gen->apb_addr[s] + bar0 - gen->apb_bar0[s];
		}
		assert_true(locate(f->chip[0], addr).offset == bar0);
	}
}

static void test_bad_addresses(void **state)
{
	struct fixture *f = *state;
	const struct {
		uint64_t addr;
		enum neuron_cause cause;
	} bad[] = {
		{ f->gen->hbm_addr[1] - 1, NEURON_CAUSE_ADDRESS },
		{ f->gen->hbm_addr[1] + FAKE_HBM_SIZE, NEURON_CAUSE_ADDRESS },
		{ NEURON_BIT64(49), NEURON_CAUSE_ADDRESS },
		{ NEURON_BIT64(53), NEURON_CAUSE_ADDRESS },
		{ 0x3fffffffffffffffull & ~NEURON_BIT64(52),
		  NEURON_CAUSE_ADDRESS },
		{ ~0ull, NEURON_CAUSE_ADDRESS },
		{ NEURON_ADDR_NEIGHBOUR | NEURON_BIT64(53),
		  NEURON_CAUSE_ADDRESS },
		{ neuron_window_addr(0, 0), NEURON_CAUSE_ADDRESS },
		{ neuron_window_addr(7, 4096), NEURON_CAUSE_ADDRESS },
		{ neuron_fabric_addr(99, 0), NEURON_CAUSE_FABRIC },
		{ neuron_fabric_addr(NEURON_MAX_CHIPS - 1, 0),
		  NEURON_CAUSE_FABRIC },
	};
	struct trn_loc loc;
	unsigned int i;

	add_chip(f, 0, 0);
	add_chip(f, 1, 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(trn_bus_locate(f->chip[0], bad[i].addr, &loc),
				 bad[i].cause);
}

/* Ranges that leave their region or wrap around change nothing. */
static void test_bad_ranges(void **state)
{
	struct fixture *f = *state;
	uint64_t end = f->gen->hbm_addr[0] + FAKE_HBM_SIZE;
	uint8_t buf[64] = { 0 };
	struct trn_chip *chip;

	add_chip(f, 0, 0);
	chip = f->chip[0];
	assert_int_equal(trn_bus_write(chip, end - 64, buf, 64), 0);
	assert_int_equal(trn_bus_write(chip, end - 63, buf, 64),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_read(chip, end - 63, buf, 64),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_read(chip, f->gen->hbm_addr[0] + 8, buf,
				      SIZE_MAX - 4), NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_read(chip, ~0ull - 3, buf, 8),
			 NEURON_CAUSE_ADDRESS);
	/* Host: the end of memory, and the end of the host's address window. */
	assert_int_equal(trn_bus_read(chip, f->gen->host_base + HOST_SIZE - 64,
				      buf, 64), 0);
	assert_int_equal(trn_bus_read(chip, f->gen->host_base + HOST_SIZE - 63,
				      buf, 64), NEURON_CAUSE_HOST);
	assert_int_equal(trn_bus_read(chip, 2 * f->gen->host_base - 4, buf, 8),
			 NEURON_CAUSE_ADDRESS);
	/* Registers and semaphores: aligned words only. */
	assert_int_equal(trn_bus_read(chip, f->gen->apb_addr[0] + 2, buf, 4),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_write(chip, f->gen->apb_addr[0], buf, 3),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_read(chip, f->gen->tpb_addr[0] +
				      NEURON_TPB_SEM, buf, 8),
			 NEURON_CAUSE_ADDRESS);
	/* Bus mastering off. */
	atomic_store(&f->port[0].bus_master, false);
	assert_int_equal(trn_bus_write(chip, f->gen->host_base, buf, 4),
			 NEURON_CAUSE_HOST);
}

static void test_bus_data(void **state)
{
	struct fixture *f = *state;
	const uint32_t sem = NEURON_TPB_SEM;
	struct trn_chip *chip;
	char text[] = "device memory", back[sizeof(text)];
	uint32_t word = 41, value = 0;
	uint64_t misc;

	add_chip(f, 0, 0);
	chip = f->chip[0];
	misc = f->gen->apb_addr[0] + f->gen->misc_bar0 - f->gen->apb_bar0[0];
	assert_int_equal(trn_bus_write(chip, f->gen->hbm_addr[1] + 3, text,
				       sizeof(text)), 0);
	assert_int_equal(trn_bus_read(chip, f->gen->hbm_addr[1] + 3, back,
				      sizeof(back)), 0);
	assert_string_equal(back, text);
	assert_int_equal(trn_bus_write(chip, f->gen->host_base + 5, text,
				       sizeof(text)), 0);
	assert_string_equal((char *)f->port[0].host + 5, text);
	assert_int_equal(trn_bus_write(chip, f->gen->tpb_addr[1] + sem +
				       NEURON_SEM_SET(4), &word, 4), 0);
	assert_int_equal(trn_bus_write(chip, f->gen->tpb_addr[1] + sem +
				       NEURON_SEM_INC(4), &word, 4), 0);
	assert_int_equal(trn_bus_read(chip, f->gen->tpb_addr[1] + sem +
				      NEURON_SEM_READ(4), &value, 4), 0);
	assert_int_equal(value, 82);
	assert_int_equal(trn_bus_write(chip, misc + NEURON_MISC_METRIC, &word,
				       4), 0);
	assert_int_equal(trn_chip_mmio_read(chip, f->gen->misc_bar0 +
					    NEURON_MISC_METRIC, 4), 41);
}

/* --- Peers --- */

static void test_routed(void **state)
{
	struct fixture *f = *state;
	const uint64_t hbm = f->gen->hbm_addr[1] + 0x40;
	uint64_t misc = f->gen->apb_addr[0] + f->gen->misc_bar0 -
			f->gen->apb_bar0[0];
	struct trn_loc loc;
	uint32_t word = 0xabcd;

	add_chip(f, 0, 3);
	add_chip(f, 1, 200);
	loc = locate(f->chip[0], neuron_fabric_addr(200, hbm));
	assert_ptr_equal(loc.chip, f->chip[1]);
	assert_int_equal(loc.place, TRN_PLACE_HBM);
	assert_int_equal(loc.hops, 1);
	assert_int_equal(trn_bus_write(f->chip[0], neuron_fabric_addr(200, hbm),
				       &word, 4), 0);
	assert_int_equal(((uint8_t *)trn_chip_hbm(f->chip[1], 1))[0x40], 0xcd);
	assert_int_equal(((uint8_t *)trn_chip_hbm(f->chip[0], 1))[0x40], 0);
	/* Its own id is the chip itself. */
	loc = locate(f->chip[0], neuron_fabric_addr(3, hbm));
	assert_ptr_equal(loc.chip, f->chip[0]);
	assert_int_equal(loc.hops, 0);
	/* Semaphores and SBUF of the peer, but not its registers or its host. */
	assert_int_equal(trn_bus_write(f->chip[0],
				       neuron_fabric_addr(200,
							  f->gen->tpb_addr[1] +
							  NEURON_TPB_SEM +
							  NEURON_SEM_SET(1)),
				       &word, 4), 0);
	assert_int_equal(trn_sem_value(f->chip[1]->core[1].sems, 1), 0xabcd);
	locate(f->chip[0], neuron_fabric_addr(200, f->gen->tpb_addr[0]));
	assert_int_equal(trn_bus_read(f->chip[0],
				      neuron_fabric_addr(200,
							 f->gen->host_base),
				      &word, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_bus_read(f->chip[0], neuron_fabric_addr(200, misc),
				      &word, 4), NEURON_CAUSE_FABRIC);
	/* Nor what its engines are just summing up. */
	assert_int_equal(trn_bus_read(f->chip[0],
				      neuron_fabric_addr(200,
							 f->gen->tpb_addr[0] +
							 NEURON_TPB_PSUM),
				      &word, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_bus_write(f->chip[0],
				       neuron_fabric_addr(200,
							  f->gen->tpb_addr[0] +
							  NEURON_TPB_PSUM),
				       &word, 4), NEURON_CAUSE_FABRIC);
}

static uint32_t ctl(struct fixture *f, unsigned int i, uint32_t reg)
{
	return (uint32_t)trn_chip_mmio_read(f->chip[i],
					    neuron_ctl_bar0(f->gen) + reg, 4);
}

static uint32_t link_peer(struct fixture *f, unsigned int i, unsigned int link)
{
	return ctl(f, i, NEURON_CTL_LINK(link) + NEURON_CTL_LINK_PEER);
}

static bool link_cause(void *arg)
{
	struct trn_chip *chip = arg;

	return trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
				  NEURON_CTL_CAUSE, 4) & NEURON_CTL_CAUSE_LINK;
}

static void test_ring(void **state)
{
	static const uint32_t ids[MAX_CHIPS] = { 30, 10, 50, 20, 40 };
	struct fixture *f = *state;
	struct trn_loc loc;
	unsigned int i;

	add_chip(f, 0, ids[0]);
	assert_int_equal(ctl(f, 0, NEURON_CTL_NR_LINKS), 0);
	assert_int_equal(ctl(f, 0, NEURON_CTL_CAUSE), 0);
	add_chip(f, 1, ids[1]);
	assert_true(fake_wait(link_cause, f->chip[0]));
	for (i = 0; i < 2; i++) {
		assert_int_equal(ctl(f, i, NEURON_CTL_NR_LINKS), 1);
		assert_int_equal(link_peer(f, i, 0), ids[1 - i]);
		assert_int_equal(ctl(f, i, NEURON_CTL_LINK(0) +
					   NEURON_CTL_LINK_STATE), 1);
		assert_int_equal(ctl(f, i, NEURON_CTL_LINK(0) +
					   NEURON_CTL_LINK_WIDTH),
				 f->gen->link_lanes);
		assert_int_equal(ctl(f, i, NEURON_CTL_LINK(0) +
					   NEURON_CTL_LINK_MBPS),
				 f->gen->link_mbps);
		assert_int_equal(ctl(f, i, NEURON_CTL_LINK(1) +
					   NEURON_CTL_LINK_STATE), 0);
	}
	for (i = 2; i < MAX_CHIPS; i++)
		add_chip(f, i, ids[i]);
	/* The ring is 10 20 30 40 50. */
	for (i = 0; i < MAX_CHIPS; i++) {
		assert_int_equal(ctl(f, i, NEURON_CTL_FABRIC_CHIPS), MAX_CHIPS);
		assert_int_equal(ctl(f, i, NEURON_CTL_FABRIC_KEY),
				 trn_fabric_key(f->fabric));
		assert_int_equal(ctl(f, i, NEURON_CTL_NR_LINKS), 2);
		assert_int_equal(link_peer(f, i, 0),
				 ids[i] == 10 ? 50 : ids[i] - 10);
		assert_int_equal(link_peer(f, i, 1),
				 ids[i] == 50 ? 10 : ids[i] + 10);
	}
	loc = locate(f->chip[1], neuron_fabric_addr(30, 0));
	assert_int_equal(loc.hops, 2);
	assert_int_equal(loc.mbps, f->gen->link_mbps);
	loc = locate(f->chip[1], neuron_fabric_addr(50, 0));
	assert_int_equal(loc.hops, 1);
	loc = locate(f->chip[1], neuron_fabric_addr(40, 0));
	assert_int_equal(loc.hops, 2);
}

static void test_join_refused(void **state)
{
	struct fixture *f = *state;
	struct trn_pool *other = trn_pool_new(1, NULL, NULL);
	struct trn_chip_config config;
	const char *why = NULL;

	add_chip(f, 0, 7);
	fake_port_init(&f->port[1], HOST_SIZE);
	config = fake_chip_config(&f->port[1], f->gen, f->pool, f->fabric, 7);
	assert_null(trn_chip_new(&config, &why));
	assert_non_null(strstr(why, "id"));
	fake_port_destroy(&f->port[1]);

	/* Leaving is safe only when the same workers run all chips. */
	fake_port_init(&f->port[1], HOST_SIZE);
	config = fake_chip_config(&f->port[1], f->gen, other, f->fabric, 8);
	assert_null(trn_chip_new(&config, &why));
	assert_non_null(strstr(why, "pool"));
	fake_port_destroy(&f->port[1]);
	trn_pool_free(other);
	assert_int_equal(ctl(f, 0, NEURON_CTL_FABRIC_CHIPS), 1);
}

/* Software tells the fabrics of a machine apart by their keys. */
static void test_fabric_keys(void **state)
{
	struct trn_fabric *other = trn_fabric_new();
	struct fixture *f = *state;

	assert_non_null(other);
	assert_int_not_equal(trn_fabric_key(f->fabric), 0);
	assert_int_not_equal(trn_fabric_key(other), 0);
	assert_int_not_equal(trn_fabric_key(f->fabric), trn_fabric_key(other));
	trn_fabric_unref(other);
}

/* A task that writes to a peer all the time, looking it up for each write. */
struct hammer {
	struct trn_task task;
	struct trn_chip *chip;
	uint64_t addr;
	_Atomic bool stop;
	_Atomic unsigned int written;
	_Atomic unsigned int refused;
};

static enum trn_run hammer_run(struct trn_task *task, struct trn_budget *budget)
{
	struct hammer *h = (struct hammer *)task;
	uint8_t page[4096] = { 1 };

	while (!trn_budget_spent(budget)) {
		if (trn_bus_write(h->chip, h->addr, page, sizeof(page)))
			atomic_fetch_add(&h->refused, 1);
		else
			atomic_fetch_add(&h->written, 1);
	}
	return atomic_load(&h->stop) ? TRN_RUN_IDLE : TRN_RUN_AGAIN;
}

static bool hammer_written(void *arg)
{
	return atomic_load(&((struct hammer *)arg)->written) > 0;
}

static bool hammer_refused(void *arg)
{
	return atomic_load(&((struct hammer *)arg)->refused) > 0;
}

static bool hammer_quiet(void *arg)
{
	return trn_task_quiet(&((struct hammer *)arg)->task);
}

static void test_peer_leaves_while_used(void **state)
{
	struct fixture *f = *state;
	struct hammer h = { .addr = neuron_fabric_addr(1, 0) };
	unsigned int round;

	add_chip(f, 0, 0);
	h.chip = f->chip[0];
	add_chip(f, 1, 1);
	trn_task_init(&h.task, f->pool, hammer_run);
	trn_task_kick(&h.task);
	for (round = 0; round < 3; round++) {
		atomic_store(&h.written, 0);
		assert_true(fake_wait(hammer_written, &h));
		remove_chip(f, 1);
		atomic_store(&h.refused, 0);
		assert_true(fake_wait(hammer_refused, &h));
		add_chip(f, 1, 1);
	}
	atomic_store(&h.stop, true);
	assert_true(fake_wait(hammer_quiet, &h));
}

#define FOR_EACH_GEN(test) \
	cmocka_unit_test_setup_teardown(test, setup_trn1, teardown), \
	cmocka_unit_test_setup_teardown(test, setup_trn2, teardown), \
	cmocka_unit_test_setup_teardown(test, setup_trn3, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_EACH_GEN(test_locate_memory),
		FOR_EACH_GEN(test_locate_host_and_registers),
		FOR_EACH_GEN(test_locate_engines),
		FOR_EACH_GEN(test_bad_addresses),
		FOR_EACH_GEN(test_bad_ranges),
		FOR_EACH_GEN(test_bus_data),
		FOR_EACH_GEN(test_routed),
		cmocka_unit_test_setup_teardown(test_ring, setup_trn1, teardown),
		cmocka_unit_test_setup_teardown(test_ring, setup_trn2, teardown),
		FOR_EACH_GEN(test_join_refused),
		FOR_EACH_GEN(test_peer_leaves_while_used),
		FOR_EACH_GEN(test_fabric_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
