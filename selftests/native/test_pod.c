// SPDX-License-Identifier: MIT
/*
 * The other servers of an UltraServer: a machine elects with them, as the public driver does it.
 * The machine is server 0 with three of its chips; a chip at each place does the same, so three
 * stand for all.
 */
#include "fake_port.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "neuron/regs.h"
#include "trn/fabric.h"
#include "trn/pod.h"
#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric.h"
#include "mem/trn_bus.h"

#define CHIPS		3
#define HOST_SIZE	NEURON_KIB(64)
#define POLLS		8	/* of a word that another server is to write */
#define LEFT		1u
#define RIGHT		2u
#define BOTH		3u
#define STATUS(word)	NEURON_GET(NEURON_MISC_ELECTION_STATUS, word)
#define STREAM_BYTES	NEURON_KIB(16)

static const unsigned int places[CHIPS] = { 0, 1, 15 };
/* Links 0 and 1 of the left neighbour, of the right one. */
static const unsigned int windows[2][2] = { { 1, 2 }, { 0, 3 } };

struct fixture {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct trn_pod *pod;
	struct fake_port port[CHIPS];
	struct trn_chip *chip[CHIPS];
	unsigned int polls;		/* of the last election */
};

/* What the machine's chip at place 0 ends with. */
struct outcome {
	uint32_t node;
	uint32_t nodes;
	uint64_t leader;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->pool = trn_pool_new(2, NULL, NULL);
	f->fabric = trn_fabric_new();
	assert_int_equal(trn_fabric_configure(f->fabric, TRN_TOPOLOGY_TORUS3D, 0), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < CHIPS; i++) {
		if (!f->chip[i])
			continue;
		fake_chip_free(f->chip[i]);
		fake_port_destroy(&f->port[i]);
	}
	trn_pod_free(f->pod);
	trn_fabric_unref(f->fabric);
	trn_pool_free(f->pool);
	free(f);
	return 0;
}

/* @serial: the high word of the machine's serial numbers. */
static void build_with(struct fixture *f, unsigned int servers, const char *script, uint32_t serial)
{
	struct trn_chip_config config;
	const char *why = NULL;
	unsigned int i;

	f->pod = trn_pod_new(f->fabric, f->pool, servers, script, &why);
	if (!f->pod)
		fail_msg("%s", why);
	for (i = 0; i < CHIPS; i++) {
		fake_port_init(&f->port[i], HOST_SIZE);
		config = fake_chip_config(&f->port[i], &neuron_gen_trn2, f->pool, f->fabric,
					  places[i]);
		config.serial = (uint64_t)serial << 32 | (places[i] + 1);
		f->chip[i] = trn_chip_new(&config, &why);
		if (!f->chip[i])
			fail_msg("%s", why);
	}
}

static void build(struct fixture *f, unsigned int servers, const char *script)
{
	build_with(f, servers, script, 1);
}

/* --- what a driver does --- */

static uint64_t misc_addr(const struct neuron_gen *gen, uint32_t offset)
{
	return gen->apb_addr[0] + gen->misc_bar0 - gen->apb_bar0[0] + offset;
}

static enum neuron_cause peek(struct trn_chip *chip, unsigned int window, uint32_t offset,
			      uint32_t *words, size_t nr)
{
	return trn_bus_read(chip, neuron_neighbour_addr(window, misc_addr(chip->gen, offset)),
			    words, nr * sizeof(*words));
}

static void poke(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	trn_chip_mmio_write(chip, chip->gen->misc_bar0 + offset, value, 4);
}

static uint32_t own(struct trn_chip *chip, uint32_t offset)
{
	return (uint32_t)trn_chip_mmio_read(chip, chip->gen->misc_bar0 + offset, 4);
}

static void poke_pair(struct trn_chip *chip, uint32_t offset, uint64_t value)
{
	poke(chip, offset, (uint32_t)(value >> 32));
	poke(chip, offset + 4, (uint32_t)value);
}

/* The serial number behind both links of a side; 0: it cannot be had, or they differ. */
static uint64_t serial_of(struct fixture *f, struct trn_chip *chip, unsigned int side)
{
	uint32_t words[2][2];
	unsigned int i;

	for (; f->polls < POLLS; f->polls++) {
		for (i = 0; i < 2; i++)
			if (peek(chip, windows[side][i], NEURON_MISC_SERIAL_LO, words[i], 2))
				return 0;
		if (words[0][0] != NEURON_MISC_NOT_READY && words[1][0] != NEURON_MISC_NOT_READY)
			break;
	}
	if (f->polls == POLLS || memcmp(words[0], words[1], sizeof(words[0])))
		return 0;
	return (uint64_t)words[0][1] << 32 | words[0][0];
}

/* What a neighbour shows: left, right; false: it shows nothing. */
static bool shown_by(struct fixture *f, struct trn_chip *chip, unsigned int side, uint32_t links,
		     uint64_t shown[2])
{
	uint32_t words[4];

	for (; f->polls < POLLS; f->polls++) {
		if (peek(chip, windows[side][0], NEURON_MISC_NEIGHBOUR, words, 4))
			return false;
		if (words[links & RIGHT ? 3 : 1])
			break;
	}
	shown[0] = (uint64_t)words[0] << 32 | words[1];
	shown[1] = (uint64_t)words[2] << 32 | words[3];
	return f->polls < POLLS;
}

/* The status of a neighbour once it has one; 0: it gets none. */
static uint32_t status_of(struct fixture *f, struct trn_chip *chip, unsigned int side)
{
	uint32_t word = 0;

	for (; f->polls < POLLS; f->polls++) {
		if (peek(chip, windows[side][0], NEURON_MISC_ELECTION, &word, 1))
			return 0;
		if (STATUS(word))
			break;
	}
	return STATUS(word);
}

/* Of node ids by serial numbers: the rule of the public driver, in its own order. */
static uint32_t node_of(uint64_t self, uint64_t left, uint64_t right, uint64_t across)
{
	if (self < across && self < left && self < right)
		return 0;
	if (across < self && across < left && across < right)
		return 2;
	return left < right ? 1 : 3;
}

static void decide(uint32_t links, uint64_t self, const uint64_t serial[2], uint64_t across,
		   struct outcome *out)
{
	const uint64_t other = links == RIGHT ? serial[1] : serial[0];

	if (links != BOTH || serial[0] == serial[1]) {
		*out = (struct outcome){ self < other ? 0 : 1, 2, self < other ? self : other };
		return;
	}
	out->nodes = 4;
	out->node = node_of(self, serial[0], serial[1], across);
	out->leader = out->node == 0 ? self : out->node == 2 ? across :
		      out->node == 1 ? serial[0] : serial[1];
}

/* All that comes before the result; NULL or where it failed. */
static const char *vet(struct fixture *f, unsigned int i, uint32_t links, struct outcome *out)
{
	struct trn_chip *chip = f->chip[i];
	uint64_t serial[2] = { 0, 0 }, shown[2][2] = { { 0 } };
	unsigned int side;

	/* As the public driver does it: place 0 without a number of the server. */
	poke(chip, NEURON_MISC_ELECTION,
	     places[i] ? 0 : NEURON_PUT(NEURON_MISC_ELECTION_NODE, 255u));
	for (side = 0; side < 2; side++) {
		if (!(links & 1u << side))
			continue;
		serial[side] = serial_of(f, chip, side);
		if (!serial[side])
			return "serial";
	}
	poke_pair(chip, NEURON_MISC_LEFT_HI, places[i] ? places[i] : serial[0]);
	poke_pair(chip, NEURON_MISC_RIGHT_HI, places[i] ? places[i] : serial[1]);
	for (side = 0; side < 2; side++) {
		if (!(links & 1u << side))
			continue;
		if (!shown_by(f, chip, side, links, shown[side]))
			return "data";
		if (places[i] && shown[side][0] != places[i])
			return "cabling";
	}
	if (!places[i])
		decide(links, own(chip, NEURON_MISC_SERIAL_LO) |
		       (uint64_t)own(chip, NEURON_MISC_SERIAL_HI) << 32, serial, shown[0][1], out);
	poke(chip, NEURON_MISC_ELECTION, NEURON_MISC_ELECTION_SUCCESS);
	for (side = 0; side < 2; side++)
		if (links & 1u << side &&
		    status_of(f, chip, side) != NEURON_MISC_ELECTION_SUCCESS)
			return "status";
	return NULL;
}

static const char *elect_chip(struct fixture *f, unsigned int i, uint32_t links,
			      struct outcome *out)
{
	const char *failed;

	f->polls = 0;
	failed = vet(f, i, links, out);
	poke_pair(f->chip[i], NEURON_MISC_LEFT_HI, 0);
	poke_pair(f->chip[i], NEURON_MISC_RIGHT_HI, 0);
	if (failed)
		poke(f->chip[i], NEURON_MISC_ELECTION, NEURON_MISC_ELECTION_FAILURE);
	return failed;
}

/* The other places first, place 0 last: so does the driver. */
static const char *elect(struct fixture *f, uint32_t links, struct outcome *out)
{
	const char *failed = NULL;
	unsigned int i;

	for (i = CHIPS; i-- && !failed;)
		failed = elect_chip(f, i, links, out);
	return failed;
}

static uint32_t theirs(struct fixture *f, unsigned int server, unsigned int place,
		       uint32_t offset)
{
	uint32_t value;

	assert_true(trn_pod_word(f->pod, server, place, offset, &value));
	return value;
}

static uint64_t their_pair(struct fixture *f, unsigned int server, unsigned int place,
			   uint32_t offset)
{
	return (uint64_t)theirs(f, server, place, offset) << 32 |
	       theirs(f, server, place, offset + 4);
}

static uint64_t serial_at(struct fixture *f, unsigned int server, unsigned int place)
{
	if (server)
		return theirs(f, server, place, NEURON_MISC_SERIAL_LO) |
		       (uint64_t)theirs(f, server, place, NEURON_MISC_SERIAL_HI) << 32;
	return own(f->chip[0], NEURON_MISC_SERIAL_LO) |
	       (uint64_t)own(f->chip[0], NEURON_MISC_SERIAL_HI) << 32;
}

/* What the chips of another server are left with. */
static void check_server(struct fixture *f, unsigned int server, uint32_t links, uint32_t node,
			 uint32_t nodes, uint64_t leader)
{
	unsigned int i;
	uint32_t word;

	for (i = 0; i < CHIPS; i++) {
		assert_int_equal(STATUS(theirs(f, server, places[i], NEURON_MISC_ELECTION)),
				 NEURON_MISC_ELECTION_SUCCESS);
		assert_true(their_pair(f, server, places[i], NEURON_MISC_LEFT_HI) == 0);
		assert_true(their_pair(f, server, places[i], NEURON_MISC_RIGHT_HI) == 0);
	}
	word = theirs(f, server, 0, NEURON_MISC_ELECTION);
	assert_int_equal(NEURON_GET(NEURON_MISC_ELECTION_LINKS, word), links);
	assert_int_equal(NEURON_GET(NEURON_MISC_ELECTION_NODE, word), node);
	assert_int_equal(NEURON_GET(NEURON_MISC_ELECTION_NODES, word), nodes);
	assert_true(their_pair(f, server, 0, NEURON_MISC_LEADER_HI) == leader);
}

/* --- elections that pass --- */

static void test_four(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	unsigned int round;

	build(f, 4, NULL);
	/* A driver that is loaded again elects again. */
	for (round = 0; round < 3; round++) {
		assert_null(elect(f, BOTH, &out));
		assert_int_equal(f->polls, 0);
		assert_int_equal(out.node, 0);
		assert_int_equal(out.nodes, 4);
		check_server(f, 1, BOTH, 1, 4, out.leader);
		check_server(f, 2, BOTH, 2, 4, out.leader);
		check_server(f, 3, BOTH, 3, 4, out.leader);
		assert_true(out.leader == serial_at(f, 0, 0));
	}
}

/* The machine has the largest serial number: server 1, at its left, leads. */
static void test_led_by_another(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build_with(f, 4, "", 0x7fffffff);
	assert_null(elect(f, BOTH, &out));
	assert_int_equal(out.node, 1);
	assert_true(out.leader == serial_at(f, 1, 0));
	/* Each counts from itself: the leader is at the left of both ends of its left link. */
	check_server(f, 1, BOTH, 0, 4, out.leader);
	check_server(f, 2, BOTH, 3, 4, out.leader);
	check_server(f, 3, BOTH, 2, 4, out.leader);
}

/* The script gives the server across the least serial number. */
static void test_led_from_across(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build(f, 4, "2.0:0x3c=0;2.0:0x38=0x77");
	assert_null(elect(f, BOTH, &out));
	assert_int_equal(out.node, 2);
	assert_true(out.leader == 0x77);
	check_server(f, 2, BOTH, 0, 4, 0x77);
	check_server(f, 1, BOTH, 3, 4, 0x77);
	check_server(f, 3, BOTH, 1, 4, 0x77);
}

static void test_two(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	uint32_t word;

	build(f, 2, NULL);
	assert_false(trn_pod_word(f->pod, 2, 0, NEURON_MISC_SERIAL_LO, &word));
	assert_null(elect(f, BOTH, &out));
	assert_int_equal(out.node, 0);
	assert_int_equal(out.nodes, 2);
	check_server(f, 1, BOTH, 1, 2, serial_at(f, 0, 0));
}

/* Pairs by one side only, as a driver tries it after both have failed. */
static void test_pairs(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build(f, 4, NULL);
	assert_null(elect(f, RIGHT, &out));
	assert_int_equal(out.nodes, 2);
	check_server(f, 3, RIGHT, 1, 2, out.leader);
	check_server(f, 1, RIGHT, 0, 2, serial_at(f, 1, 0));
	check_server(f, 2, RIGHT, 1, 2, serial_at(f, 1, 0));
	assert_null(elect(f, LEFT, &out));
	check_server(f, 1, LEFT, 1, 2, out.leader);
	check_server(f, 2, LEFT, 0, 2, serial_at(f, 2, 0));
	check_server(f, 3, LEFT, 1, 2, serial_at(f, 2, 0));
	assert_null(elect(f, BOTH, &out));
	check_server(f, 2, BOTH, 2, 4, out.leader);
}

/* --- elections that fail --- */

static void test_link_down(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	const char *why;

	build(f, 4, NULL);
	/* The left one of the machine's chip 1, to server 1. */
	assert_int_equal(trn_fabric_set_links(f->fabric, "1:4=down", &why), 0);
	assert_null(elect_chip(f, 2, BOTH, &out));
	assert_string_equal(elect_chip(f, 1, BOTH, &out), "serial");
	assert_null(elect(f, RIGHT, &out));
	check_server(f, 3, RIGHT, 1, 2, out.leader);
}

/* A link between two other servers: the machine sees it in their status. */
static void test_remote_link_down(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	const char *why;

	build(f, 4, NULL);
	/* The right one of chip 15 of server 1, to server 2. */
	assert_int_equal(trn_fabric_set_links(f->fabric, "271:5=down", &why), 0);
	assert_string_equal(elect_chip(f, 2, BOTH, &out), "data");
	assert_int_equal(STATUS(theirs(f, 1, 15, NEURON_MISC_ELECTION)),
			 NEURON_MISC_ELECTION_FAILURE);
	assert_null(elect_chip(f, 1, BOTH, &out));
}

static void test_script_failure(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build(f, 4, "1.0:0x190=2");
	assert_null(elect_chip(f, 1, BOTH, &out));
	assert_string_equal(elect_chip(f, 0, BOTH, &out), "status");
	/* Server 2 has seen it, too. */
	assert_int_equal(STATUS(theirs(f, 2, 0, NEURON_MISC_ELECTION)),
			 NEURON_MISC_ELECTION_FAILURE);
}

static void test_script_cabling(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build(f, 4, "3.15:0x184=4;3.15:0x18c=4");
	assert_string_equal(elect_chip(f, 2, BOTH, &out), "cabling");
	assert_null(elect_chip(f, 1, BOTH, &out));
}

/* A server that comes up late: two reads of each poll, by two links. */
static void test_script_late(void **state)
{
	struct fixture *f = *state;
	struct outcome out;

	build(f, 4, "3.1:0x38=0xdeadbeef@4;1.1:0x18c=0@3");
	assert_null(elect_chip(f, 1, BOTH, &out));
	assert_int_equal(f->polls, 2 + 3);
}

/* What is said last counts; when it is used up, what was said before. */
static void test_script_order(void **state)
{
	static const uint32_t expected[] = { 6, 6, 5, 5 };
	struct fixture *f = *state;
	uint32_t word;
	unsigned int i;

	build(f, 4, "1.0:256=5;1.0:0x100=6@2");
	for (i = 0; i < 4; i++) {
		assert_int_equal(peek(f->chip[0], 1, 0x100, &word, 1), NEURON_CAUSE_NONE);
		assert_int_equal(word, expected[i]);
	}
}

/* A driver that never shows anything gets no further. */
static void test_silent_machine(void **state)
{
	struct fixture *f = *state;
	uint64_t shown[2];

	build(f, 4, NULL);
	f->polls = 0;
	assert_true(serial_of(f, f->chip[1], 0) == serial_at(f, 1, 1));
	assert_true(serial_of(f, f->chip[1], 1) == serial_at(f, 3, 1));
	assert_false(shown_by(f, f->chip[1], 0, BOTH, shown));
	f->polls = 0;
	assert_int_equal(status_of(f, f->chip[1], 0), 0);
}

/* --- what there is besides --- */

/* The links are there, and MISC RAM, which can be read in whole words; nothing else. */
static void test_nothing_else(void **state)
{
	const struct neuron_gen *gen = &neuron_gen_trn2;
	struct fixture *f = *state;
	const uint64_t hbm = gen->hbm_addr[0] + 4096;
	const uint64_t misc = neuron_neighbour_addr(1, misc_addr(gen, NEURON_MISC_ELECTION));
	uint32_t word = 0x12345678, back = 0;

	build(f, 4, NULL);
	assert_int_equal(trn_bus_read(f->chip[0], misc, &back, 4), NEURON_CAUSE_NONE);
	assert_int_equal(trn_bus_write(f->chip[0], misc, &word, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_bus_read(f->chip[0], misc, &back, 2), NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_read(f->chip[0], neuron_neighbour_addr(1, hbm), &back, 4),
			 NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_bus_read(f->chip[0], neuron_neighbour_addr(1, gen->tpb_addr[0]), &back,
				      4), NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_bus_read(f->chip[0],
				      neuron_fabric_addr(neuron_fabric_id(0, 2, 7), hbm), &back,
				      4), NEURON_CAUSE_FABRIC);
	/* Also not by its routed address. */
	assert_int_equal(trn_bus_read(f->chip[0],
				      neuron_fabric_addr(neuron_fabric_id(0, 1, 0),
							 misc_addr(gen, NEURON_MISC_ELECTION)),
				      &back, 4), NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_fabric_chips(f->fabric), 3 * TRN_POD_PLACES + CHIPS);
}

/* --- what begins an election, and what does not --- */

/* Of both sides the left one fails; the driver goes on with the right one. */
static void test_other_side(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	unsigned int i;

	build(f, 4, "1.0:0x38=0xdeadbeef@32;1.1:0x38=0xdeadbeef@32;1.15:0x38=0xdeadbeef@32");
	for (i = 0; i < CHIPS; i++)
		assert_string_equal(elect_chip(f, i, BOTH, &out), "serial");
	assert_null(elect(f, RIGHT, &out));
	check_server(f, 3, RIGHT, 1, 2, out.leader);
}

/* A tool that reads serial numbers later does not elect. */
static void test_read_later(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	uint32_t words[2];

	build(f, 4, NULL);
	assert_null(elect(f, BOTH, &out));
	assert_int_equal(peek(f->chip[0], 1, NEURON_MISC_SERIAL_LO, words, 2), NEURON_CAUSE_NONE);
	assert_int_equal(peek(f->chip[0], 3, NEURON_MISC_SERIAL_LO, words, 2), NEURON_CAUSE_NONE);
	check_server(f, 1, BOTH, 1, 4, out.leader);
	check_server(f, 2, BOTH, 2, 4, out.leader);
}

/* A debugger looks at a serial number and at a word of the script. */
static void test_look(void **state)
{
	struct fixture *f = *state;
	const uint64_t addr = neuron_neighbour_addr(1, misc_addr(&neuron_gen_trn2, 0x38));
	uint32_t word, i;

	build(f, 4, "1.0:0x38=7@2");
	for (i = 0; i < 5; i++) {
		assert_int_equal(trn_bus_look(f->chip[0], addr, &word, 4), NEURON_CAUSE_NONE);
		assert_int_equal(word, 7);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(trn_bus_read(f->chip[0], addr, &word, 4), NEURON_CAUSE_NONE);
	assert_int_not_equal(word, 7);
}

/* As at first: nothing is elected, and the script has all its reads. */
static void test_reset(void **state)
{
	struct fixture *f = *state;
	struct outcome out;
	uint32_t word;

	build(f, 4, "1.0:0x100=6@1");
	assert_null(elect(f, BOTH, &out));
	assert_int_equal(peek(f->chip[0], 1, 0x100, &word, 1), NEURON_CAUSE_NONE);
	assert_int_equal(theirs(f, 1, 0, 0x100), 0);
	trn_pod_reset(f->pod);
	assert_int_equal(theirs(f, 1, 0, 0x100), 6);
	assert_int_equal(theirs(f, 1, 0, NEURON_MISC_ELECTION), 0);
	assert_true(their_pair(f, 3, 0, NEURON_MISC_LEADER_HI) == 0);
	assert_null(elect(f, BOTH, &out));
	check_server(f, 3, BOTH, 3, 4, out.leader);
}

/* --- state --- */

struct stream {
	uint8_t *data;
	size_t len;
	size_t at;
};

static bool stream_out(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > STREAM_BYTES - stream->len)
		return false;
	memcpy(stream->data + stream->len, buf, len);
	stream->len += len;
	return true;
}

static bool stream_in(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->len - stream->at)
		return false;
	memcpy(buf, stream->data + stream->at, len);
	stream->at += len;
	return true;
}

static void stop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < CHIPS; i++)
		fake_chip_stop(f->chip[i]);
}

static const char *load(struct fixture *f, struct stream *stream)
{
	struct trn_state st = { .loading = true, .transfer = stream_in, .opaque = stream };

	stream->at = 0;
	trn_pod_state(f->pod, &st);
	return st.why;
}

/* In the middle of an election, with a word of the script half used up. */
static void test_state(void **state)
{
	const char *script = "1.1:0x18c=0@3";
	struct stream stream = { .data = malloc(STREAM_BYTES) };
	struct trn_state st = { .transfer = stream_out, .opaque = &stream };
	struct fixture *f = *state, *other;
	uint64_t shown[2];
	uint32_t words[4];

	assert_non_null(stream.data);
	build(f, 4, script);
	f->polls = 0;
	assert_true(serial_of(f, f->chip[1], 0) && serial_of(f, f->chip[1], 1));
	poke_pair(f->chip[1], NEURON_MISC_LEFT_HI, 1);
	poke_pair(f->chip[1], NEURON_MISC_RIGHT_HI, 1);
	assert_int_equal(peek(f->chip[1], 1, NEURON_MISC_NEIGHBOUR, words, 4), 0);
	assert_int_equal(words[1], 1);
	assert_int_equal(words[3], 0);
	stop_all(f);
	trn_pod_state(f->pod, &st);
	assert_null(st.why);

	assert_int_equal(setup((void **)&other), 0);
	build(other, 4, script);
	stop_all(other);
	assert_null(load(other, &stream));
	poke_pair(other->chip[1], NEURON_MISC_LEFT_HI, 1);
	poke_pair(other->chip[1], NEURON_MISC_RIGHT_HI, 1);
	assert_true(shown_by(other, other->chip[1], 0, BOTH, shown));
	assert_int_equal(other->polls, 2);
	poke(other->chip[1], NEURON_MISC_ELECTION, NEURON_MISC_ELECTION_SUCCESS);
	assert_int_equal(status_of(other, other->chip[1], 0), NEURON_MISC_ELECTION_SUCCESS);
	assert_int_equal(status_of(other, other->chip[1], 1), NEURON_MISC_ELECTION_SUCCESS);

	/* One that is cut off, and one of another UltraServer. */
	stop_all(other);
	stream.len /= 2;
	assert_non_null(load(other, &stream));
	assert_int_equal(STATUS(theirs(other, 1, 1, NEURON_MISC_ELECTION)),
			 NEURON_MISC_ELECTION_SUCCESS);
	teardown((void **)&other);
	assert_int_equal(setup((void **)&other), 0);
	build(other, 2, script);
	stop_all(other);
	assert_string_equal(load(other, &stream), "the UltraServer has another number of servers");
	teardown((void **)&other);
	free(stream.data);
}

/* --- bad input --- */

static void refused(struct fixture *f, unsigned int servers, const char *script, const char *text)
{
	const char *why = NULL;

	f->pod = trn_pod_new(f->fabric, f->pool, servers, script, &why);
	if (f->pod)
		fail_msg("'%s' is taken", script);
	assert_non_null(why);
	assert_null(strchr(why, '\n'));
	if (!strstr(why, text))
		fail_msg("'%s': %s", script, why);
}

static void test_refused(void **state)
{
	static const char *const malformed[] = {
		"1", "1.", "1.0", "1.0:", "1.0:0x190", "1.0:0x190=", "-1.0:0x190=2", "1.0:0x190=2 ",
		"1,0:0x190=2", "1.0:0x190=2@", "1.0:0x190=2@x", ";", "1.0:0x190=2;x",
		"1.0:0x190=0x1ffffffff", "99999999999.0:0=0",
	};
	struct fixture *f = *state;
	unsigned int i;
	char *many;

	for (i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		refused(f, 4, malformed[i], "of the script");
	refused(f, 4, "4.0:0x190=2", "a server beyond 3");
	refused(f, 2, "2.0:0x190=2", "a server other than 1");
	refused(f, 4, "0.0:0x190=2", "server 0");
	refused(f, 4, "1.16:0x190=2", "a chip beyond 15");
	refused(f, 4, "1.0:0x1000=2", "no word of MISC RAM");
	refused(f, 4, "1.0:0x191=2", "no word of MISC RAM");
	refused(f, 4, "1.0:0x190=2;3.15:4096=0", "no word of MISC RAM");
	refused(f, 0, NULL, "2 or 4 servers");
	refused(f, 1, NULL, "2 or 4 servers");
	refused(f, 3, NULL, "2 or 4 servers");
	refused(f, 5, NULL, "2 or 4 servers");
	many = malloc(257 * 8 + 1);
	assert_non_null(many);
	for (i = 0; i < 257; i++)
		memcpy(many + i * 8, "1.0:0=0;", 9);
	refused(f, 4, many, "more than 256");
	free(many);
	/* After all that, the fabric is as it was. */
	build(f, 4, "1.0:0x190=3;");
}

static void test_other_topology(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(trn_fabric_configure(f->fabric, TRN_TOPOLOGY_RING, 0), 0);
	refused(f, 4, NULL, "torus3d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_four, setup, teardown),
		cmocka_unit_test_setup_teardown(test_led_by_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_led_from_across, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_down, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remote_link_down, setup, teardown),
		cmocka_unit_test_setup_teardown(test_script_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_script_cabling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_script_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_script_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_else, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_side, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_state, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_topology, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
