// SPDX-License-Identifier: MIT
/*
 * A link that goes down: what is under way on it fails, what begins later takes another way
 * where the topology has one, and registers, counters and device time tell the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/window.h"
#include "neuron/dma_op.h"
#include "ring_rig.h"
#include "seq_rig.h"
#include "trn/fault.h"
#include "time/trn_cost.h"
#include "fabric/trn_fabric.h"

#define BYTES		3000	/* no other read of the host's memory is so long */
#define MAX_CHIPS	32

/**
 * struct lossy - host memory in the middle of whose reading a link changes
 * @change: as in link-fault; NULL: nothing does
 */
struct lossy {
	struct fake_port port;
	struct trn_fabric *fabric;
	const char *change;
};

static bool lossy_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct lossy *lossy = opaque;
	const char *why;

	if (lossy->change && len == BYTES)
		assert_int_equal(trn_fabric_set_links(lossy->fabric, lossy->change, &why), 0);
	memcpy(buf, lossy->port.host + addr, len);
	return true;
}

/* --- Ways --- */

struct machine {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	unsigned int nr;
	struct lossy lossy[MAX_CHIPS];
	struct trn_chip *chip[MAX_CHIPS];
	struct trn_transfer transfer;
};

static struct machine *machine_new(const struct neuron_gen *gen, unsigned int servers,
				   unsigned int chips)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct trn_chip_config config;
	const char *why = NULL;
	unsigned int i;

	assert_non_null(m);
	m->pool = trn_pool_new(1, NULL, NULL);
	m->fabric = trn_fabric_new();
	for (i = 0; i < servers * chips; i++, m->nr++) {
		fake_port_init(&m->lossy[i].port, NEURON_KIB(64));
		m->lossy[i].port.ops.host_read = lossy_read;
		m->lossy[i].fabric = m->fabric;
		config = fake_chip_config(&m->lossy[i].port, gen, m->pool, m->fabric, i);
		config.position = i / chips << 8 | i % chips;
		m->chip[i] = trn_chip_new(&config, &why);
		if (!m->chip[i])
			fail_msg("chip %u: %s", i, why);
	}
	return m;
}

static void machine_free(struct machine *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		fake_chip_free(m->chip[i]);
		fake_port_destroy(&m->lossy[i].port);
	}
	trn_fabric_unref(m->fabric);
	trn_pool_free(m->pool);
	free(m);
}

/* From host memory of chip 0 to chip @to, while the links change by @change. */
static enum neuron_cause copy(struct machine *m, unsigned int to, const char *change,
			      unsigned int *hops)
{
	struct trn_access access = { .chip = m->chip[0], .transfer = &m->transfer };
	enum neuron_cause cause;

	m->lossy[0].change = change;
	trn_transfer_begin(&m->transfer, m->chip[0]);
	cause = trn_access_copy(&access, neuron_fabric_addr(to, 0x1000),
				fake_host_addr(&m->lossy[0].port, 0x100), BYTES);
	if (!cause && trn_transfer_lost(&m->transfer, m->chip[0]))
		cause = NEURON_CAUSE_FABRIC;
	m->lossy[0].change = NULL;
	if (hops)
		*hops = access.hops;
	return cause;
}

static uint64_t count(struct machine *m, const struct trn_route_link *link, uint32_t reg)
{
	struct trn_chip *chip = m->chip[link->chip];

	return trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
				  NEURON_CTL_LINK_COUNT(link->port) + reg, 8);
}

static uint32_t state_of(struct machine *m, const struct trn_route_link *link)
{
	struct trn_chip *chip = m->chip[link->chip];

	return (uint32_t)trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) +
					    NEURON_CTL_LINK(link->port) +
					    NEURON_CTL_LINK_STATE, 4);
}

/**
 * struct ways - a machine, and the way from its chip 0 to one
 * @hops: of the fixed way, and of the one without its first link; 0: there is none
 */
struct ways {
	const struct neuron_gen *gen;
	unsigned int servers;
	unsigned int chips;
	enum trn_topology kind;
	unsigned int to;
	unsigned int hops[2];
};

/* The link is there again: so is the way. */
static void link_comes_back(struct machine *m, const struct ways *w, const char *text,
			    const struct trn_route_link *fixed)
{
	struct trn_route_link links[TRN_ROUTE_LINKS];
	const char *why;
	unsigned int hops;

	assert_int_equal(trn_fabric_set_links(m->fabric, text, &why), 0);
	assert_true(trn_fabric_path(m->fabric, 0, w->to, links) > 0);
	assert_memory_equal(links, fixed, sizeof(*fixed));
	/* Coming back ends nothing, nor does a link that others use. */
	assert_int_equal(copy(m, w->to, text, &hops), NEURON_CAUSE_NONE);
	assert_int_equal(hops, w->hops[0]);
	assert_int_equal(state_of(m, fixed), 1);
}

/* A transfer that begins now, with the first link of the fixed way down. */
static void next_transfer(struct machine *m, const struct ways *w,
			  const struct trn_route_link *fixed)
{
	uint64_t sent = count(m, fixed, NEURON_LINK_COUNT_SENT);
	uint64_t errors = count(m, fixed, NEURON_LINK_COUNT_ERRORS);
	struct trn_route_link links[TRN_ROUTE_LINKS];
	unsigned int nr, n, hops;
	uint64_t before[TRN_ROUTE_LINKS];

	nr = trn_fabric_path(m->fabric, 0, w->to, links);
	for (n = 0; n < nr; n++)
		before[n] = count(m, &links[n], links[n].in ? NEURON_LINK_COUNT_RECEIVED :
							      NEURON_LINK_COUNT_SENT);
	if (!w->hops[1]) {
		assert_int_equal(nr, 0);
		assert_int_equal(copy(m, w->to, NULL, NULL), NEURON_CAUSE_FABRIC);
		assert_int_equal(count(m, fixed, NEURON_LINK_COUNT_ERRORS), errors + 1);
		return;
	}
	assert_int_equal(copy(m, w->to, NULL, &hops), NEURON_CAUSE_NONE);
	assert_int_equal(hops, w->hops[1]);
	for (n = 0; n < nr; n++)
		assert_int_equal(count(m, &links[n], links[n].in ?
				       NEURON_LINK_COUNT_RECEIVED : NEURON_LINK_COUNT_SENT),
				 before[n] + BYTES);
	assert_int_equal(count(m, fixed, NEURON_LINK_COUNT_SENT), sent);
	assert_int_equal(count(m, fixed, NEURON_LINK_COUNT_ERRORS), errors);
}

static void lose_a_link(const struct ways *w)
{
	struct machine *m = machine_new(w->gen, w->servers, w->chips);
	struct trn_route_link fixed[TRN_ROUTE_LINKS];
	char down[32], up[32];
	unsigned int hops;

	assert_int_equal(trn_fabric_topology(m->fabric), w->kind);
	assert_true(trn_fabric_path(m->fabric, 0, w->to, fixed) > 0);
	snprintf(down, sizeof(down), "%" PRIu32 ":%u=down", fixed[0].chip, fixed[0].port);
	snprintf(up, sizeof(up), "%" PRIu32 ":%u=up", fixed[0].chip, fixed[0].port);
	assert_int_equal(copy(m, w->to, NULL, &hops), NEURON_CAUSE_NONE);
	assert_int_equal(hops, w->hops[0]);

	assert_int_equal(copy(m, w->to, down, NULL), NEURON_CAUSE_FABRIC);
	assert_int_equal(state_of(m, fixed), 0);
	assert_int_equal(count(m, fixed, NEURON_LINK_COUNT_ERRORS), 1);
	next_transfer(m, w, fixed);
	next_transfer(m, w, fixed);
	link_comes_back(m, w, up, fixed);
	machine_free(m);
}

static void every_topology_has_its_ways(void **state)
{
	const struct ways ways[] = {
		{ &neuron_gen_trn2, 1, 4, TRN_TOPOLOGY_RING, 1, { 1, 3 } },
		{ &neuron_gen_inf2, 1, 6, TRN_TOPOLOGY_CHAIN, 3, { 3, 0 } },
		/* Row before column; or column before row. */
		{ &neuron_gen_trn2, 1, 16, TRN_TOPOLOGY_TORUS2D, 5, { 2, 2 } },
		{ &neuron_gen_trn2, 1, 16, TRN_TOPOLOGY_TORUS2D, 1, { 1, 3 } },
		{ &neuron_gen_trn1, 1, 16, TRN_TOPOLOGY_TORUS2D, 10, { 4, 4 } },
		{ &neuron_gen_trn2, 2, 16, TRN_TOPOLOGY_TORUS3D, 16 + 5, { 3, 3 } },
		/* Two servers are joined by two links. */
		{ &neuron_gen_trn2, 2, 16, TRN_TOPOLOGY_TORUS3D, 16, { 1, 1 } },
		/* Another of the links to the switch. */
		{ &neuron_gen_trn3, 1, 4, TRN_TOPOLOGY_SWITCH, 3, { 1, 1 } },
		{ &neuron_gen_trn3, 2, 4, TRN_TOPOLOGY_SWITCH, 6, { 1, 1 } },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		lose_a_link(&ways[i]);
}

/* The rule depends on the links that are down, not on the order in which they went. */
static void the_order_of_losses_does_not_matter(void **state)
{
	static const char *const orders[] = {
		"0-1=down;4-5=down;0-3=down", "0-3=down;4-5=down;0-1=down",
		"1-5=down;0-1=down;1-5=up;4-5=down;0-3=down",
	};
	struct trn_route_link first[TRN_ROUTE_LINKS], links[TRN_ROUTE_LINKS];
	unsigned int i, nr = 0;
	struct machine *m;
	const char *why;

	(void)state;
	for (i = 0; i < 3; i++) {
		m = machine_new(&neuron_gen_trn2, 1, 16);
		assert_int_equal(trn_fabric_set_links(m->fabric, orders[i], &why), 0);
		memset(links, 0, sizeof(links));
		if (i) {
			assert_int_equal(trn_fabric_path(m->fabric, 0, 5, links), nr);
			assert_memory_equal(links, first, nr * sizeof(*links));
		} else {
			memset(first, 0, sizeof(first));
			nr = trn_fabric_path(m->fabric, 0, 5, first);
			assert_true(nr > 2);
		}
		machine_free(m);
	}
}

/* A link goes down that is on another way: the transfer is none the worse for it. */
static void a_link_elsewhere_ends_nothing(void **state)
{
	struct machine *m = machine_new(&neuron_gen_trn2, 1, 16);

	(void)state;
	assert_int_equal(copy(m, 1, "1-2=down;0-3=down", NULL), NEURON_CAUSE_NONE);
	/* Nor does one that becomes slow. */
	assert_int_equal(copy(m, 1, "0-1=slow:10", NULL), NEURON_CAUSE_NONE);
	assert_int_equal(copy(m, 1, "0-1=down", NULL), NEURON_CAUSE_FABRIC);
	/* Once down, it is on nobody's way. */
	assert_int_equal(copy(m, 1, "0-1=down", NULL), NEURON_CAUSE_NONE);
	machine_free(m);
}

/* --- Device time --- */

/* Of a job on chip 0 that copies to chip 1. */
static uint64_t job_ns(struct seq_rig *rig)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct neuron_hw_completion record;
	unsigned int peer;

	assert_non_null(job);
	seq_job_init(job, rig, 0, 0);
	peer = job->nr_windows++;
	job->window[peer] = neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
						    neuron_fabric_addr(1, seq_data_addr(rig, 1, 0)),
						    4096);
	job->nr_queues = 1;
	seq_copy(job, 0, neuron_window_addr(peer, 0), neuron_window_addr(SEQ_DATA, 0), 256);
	seq_add(job, NEURON_ENGINE_SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
	seq_add(job, NEURON_ENGINE_SYNC, OP(HALT));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(record.dma_bytes, 256);
	free(job);
	return record.end_ns - record.start_ns;
}

/* Round the other way of a ring of four it is three hops, and not one. */
static void a_longer_way_takes_longer(void **state)
{
	uint64_t direct, round;
	struct seq_rig rig;
	const char *why;

	(void)state;
	seq_rig_init(&rig, &neuron_gen_trn2, 1, 4, true);
	assert_int_equal(trn_fabric_topology(rig.fabric), TRN_TOPOLOGY_RING);
	direct = job_ns(&rig);
	assert_int_equal(trn_fabric_set_links(rig.fabric, "0-1=down", &why), 0);
	round = job_ns(&rig);
	assert_int_equal(round - direct, 2 * TRN_COST_HOP_PS / 1000);
	assert_int_equal(trn_fabric_set_links(rig.fabric, "0-1=up", &why), 0);
	assert_int_equal(job_ns(&rig), direct);
	seq_rig_destroy(&rig);
}

/* --- Queues --- */

static bool cutting_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct fake_port *port = opaque;
	struct rig *rig = (struct rig *)((char *)port - offsetof(struct rig, port));
	const char *why;

	if (len == BYTES)
		assert_int_equal(trn_fabric_set_links(rig->fabric, "0-1=down", &why), 0);
	memcpy(buf, port->host + addr, len);
	return true;
}

static int setup_timer(void **state)
{
	struct rig *rig;

	rig_setup(state);
	rig = *state;
	fake_timer_enable(&rig->port[0]);
	return 0;
}

static void assert_lost(struct rig *rig, struct ring_pair *ring)
{
	const uint64_t errors = neuron_ctl_bar0(rig->chip[0]->gen) +
				NEURON_CTL_LINK_COUNT(0) + NEURON_LINK_COUNT_ERRORS;

	ring_wait_error(ring, NEURON_CAUSE_FABRIC);
	assert_int_equal(ring_read(ring, false, NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR, 0);
	assert_int_equal(ring_read(ring, true, NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR, 0);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0], errors, 8), 1);
	assert_true(fake_logged(&rig->port[0], "a link on its way went down"));
}

static void repair(struct rig *rig, struct ring_pair *ring, uint64_t src)
{
	const char *why;

	assert_int_equal(trn_fabric_set_links(rig->fabric, "0-1=up", &why), 0);
	ring_recover(ring);
	ring_copy(ring, neuron_fabric_addr(1, 0x8000), src, 64);
	ring_run(ring, 1, 1);
}

static void a_packet_fails_whose_link_goes_down(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, BYTES, &bytes);

	ring_make(&ring, rig, 32);
	rig->port[0].ops.host_read = cutting_read;
	/* The second descriptor of the packet stays at home. */
	ring_s2m(&ring, neuron_fabric_addr(1, 0x4000), BYTES);
	ring_s2m(&ring, rig_hbm_addr(rig, 0, 0x4000), 64);
	ring_m2s(&ring, src, BYTES, NEURON_UDMA_DESC_FIRST);
	ring_m2s(&ring, src, 64, NEURON_UDMA_DESC_LAST);
	ring_doorbell(&ring, 2, 2);
	assert_lost(rig, &ring);
	repair(rig, &ring, src);
}

/* Its bytes have moved, but nobody has heard of its end when the link goes down. */
static void a_packet_fails_whose_end_is_late(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	char why[TRN_FAULT_WHY];
	const char *text;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	assert_int_equal(trn_fault_order(rig->chip[0], "dma-late,delay=1ms,count=1", why), 0);
	ring_copy(&ring, neuron_fabric_addr(1, 0x4000), src, 64);
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	assert_int_equal(trn_fabric_set_links(rig->fabric, "0-1=down", &text), 0);
	fake_timer_ring(&rig->port[0], rig->chip[0]);
	assert_lost(rig, &ring);
	repair(rig, &ring, src);
}

/* --- A packet of a job --- */

#define DATA(offset)	neuron_window_addr(SEQ_DATA, offset)

/* A copy of 16 words from the job's data. */
static struct neuron_inst generate_copy(struct seq_job *job, unsigned int block, uint64_t dst)
{
	const struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_COPY,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_FP32,
			.dst_dtype = NEURON_DTYPE_FP32,
			.src = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
			.dst = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { DATA(0x1000) },
		.dst = { dst },
	};

	memcpy(seq_data(job->rig, 0, 0) + block * sizeof(dge), &dge, sizeof(dge));
	return OP(DMA_GENERATE, .addr = DATA(block * sizeof(dge)));
}

/* An instruction made the packet: the error names it, not the ring beside it. */
static void a_generated_packet_is_named(void **state)
{
	struct neuron_hw_completion record;
	struct seq_rig rig;
	struct seq_job job;
	char why[TRN_FAULT_WHY];
	const char *text;

	(void)state;
	seq_rig_init(&rig, &neuron_gen_trn2, 2, 2, false);
	fake_timer_enable(&rig.port[0]);
	seq_job_init(&job, &rig, 0, 0);
	job.nr_queues = 1;
	job.window[SEQ_FREE] =
		neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
					neuron_fabric_addr(1, seq_data_addr(&rig, 1, 0)), 4096);
	job.nr_windows = SEQ_FREE + 1;
	seq_add(&job, NEURON_ENGINE_SYNC, generate_copy(&job, 0, DATA(0x2000)));
	seq_add(&job, NEURON_ENGINE_SYNC,
		generate_copy(&job, 1, neuron_window_addr(SEQ_FREE, 0)));
	seq_add(&job, NEURON_ENGINE_SYNC, OP(HALT));
	assert_int_equal(trn_fault_order(rig.chip[0], "dma-late,delay=1ms,skip=1,count=1", why), 0);
	seq_submit(&job);
	assert_true(fake_wait_timer(&rig.port[0], 0));
	assert_int_equal(trn_fabric_set_links(rig.fabric, "0-1=down", &text), 0);
	fake_timer_ring(&rig.port[0], rig.chip[0]);
	record = seq_wait(&job);
	assert_int_equal(record.status, NEURON_JOB_ERROR);
	assert_int_equal(record.cause, NEURON_CAUSE_FABRIC);
	assert_int_equal(record.source, NEURON_SOURCE_DMA);
	assert_int_equal(record.pc, NEURON_UDMA_PC_GENERATED | 1);
	seq_rig_destroy(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_topology_has_its_ways),
		cmocka_unit_test(the_order_of_losses_does_not_matter),
		cmocka_unit_test(a_link_elsewhere_ends_nothing),
		cmocka_unit_test(a_longer_way_takes_longer),
		cmocka_unit_test_setup_teardown(a_packet_fails_whose_link_goes_down,
						setup_timer, rig_teardown),
		cmocka_unit_test_setup_teardown(a_packet_fails_whose_end_is_late,
						setup_timer, rig_teardown),
		cmocka_unit_test(a_generated_packet_is_named),
	};

	return cmocka_run_group_tests_name("link_loss", tests, NULL, NULL);
}
