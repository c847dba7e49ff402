// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The other servers of an UltraServer.
 *
 * The election runs for each place by itself: the chip at place P of each server reads the
 * chips at place P of the servers at its left and right. A chip reads both serial numbers,
 * shows them (place 0) or its place (all others), reads what its neighbours show, sets its
 * status, and reads theirs. The remote chips do the same, each as far as it can; what one
 * waits for is tried again at the next read of the machine.
 */
#include "hook/trn_pod.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric.h"
#include "fabric/trn_link_count.h"
#include "neuron/address.h"
#include "soc/trn_misc_ram.h"

#define SCRIPT_WORDS	256
#define REMOTES		((TRN_POD_SERVERS - 1) * TRN_POD_PLACES)

/* Words of MISC RAM that an election writes. */
#define WORDS_BEGIN	NEURON_MISC_NEIGHBOUR
#define WORDS		((NEURON_MISC_LEADER_LO - WORDS_BEGIN) / 4 + 1)

#define LEFT		0
#define RIGHT		1
#define SIDES		2
#define LINK(side)	(1u << (side))
#define LINKS_BOTH	(LINK(LEFT) | LINK(RIGHT))

#define NODE_NONE	255u

/* The windows behind which the neighbour of a side is: a pair of links. */
static const unsigned int windows[SIDES][2] = { { 1, 2 }, { 0, 3 } };

/* How far a remote chip is. */
enum phase {
	PHASE_IDLE,		/* no election of this place has been seen */
	PHASE_SERIALS,		/* reads the serial numbers of its neighbours */
	PHASE_DATA,		/* shows them, reads what the neighbours show */
	PHASE_STATUS,		/* has set its status, reads the neighbours' */
	PHASE_ENDED,
};

/**
 * struct candidate - what a remote chip knows
 * @serial: of its neighbours, by side
 * @shown: by side: what that neighbour shows of its left, its right
 * @word: of its MISC RAM, from WORDS_BEGIN on
 */
struct candidate {
	enum phase phase;
	uint64_t serial[SIDES];
	uint64_t shown[SIDES][SIDES];
	uint32_t word[WORDS];
};

/**
 * struct place - the election of the chips at one place
 * @asked: windows through which the machine has read a serial number, a bit each
 * @links: by which links it elects, a bit for each side; 0: not known yet
 */
struct place {
	uint32_t asked;
	uint32_t links;
};

/**
 * struct elections - all that changes
 * @left: reads of a limited word of the script
 */
struct elections {
	struct place place[TRN_POD_PLACES];
	struct candidate candidate[REMOTES];
	uint32_t left[SCRIPT_WORDS];
};

/**
 * struct trn_remote - a chip of another server
 * @own: what it knows; under trn_pod.lock
 */
struct trn_remote {
	struct trn_pod *pod;
	const struct trn_seat *seat;
	struct candidate *own;
	unsigned int server;
	unsigned int place;
	struct trn_misc_id id;
};

/**
 * struct word - a word of the script
 * @limited: only for @reads reads
 */
struct word {
	unsigned int server;
	unsigned int place;
	uint32_t offset;
	uint32_t value;
	bool limited;
	uint32_t reads;
};

/**
 * struct trn_pod - the remote chips of an UltraServer
 * @nr: remote chips: those of server 1, by place, then those of server 2, ...
 * @lock: @now
 */
struct trn_pod {
	struct trn_fabric *fabric;
	struct trn_pool *pool;
	unsigned int servers;
	unsigned int nr;
	struct trn_seat seat[REMOTES];
	struct trn_remote remote[REMOTES];
	struct trn_link_counts counts[REMOTES];
	unsigned int nr_words;
	struct word words[SCRIPT_WORDS];
	pthread_mutex_t lock;
	struct elections now;
};

static struct trn_remote *remote_at(struct trn_pod *pod, unsigned int server, unsigned int place)
{
	return &pod->remote[(server - 1) * TRN_POD_PLACES + place];
}

/* --- the script --- */

static bool read_number(const char **text, uint64_t most, uint32_t *value)
{
	unsigned long long number;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	number = strtoull(*text, &end, 0);
	if (errno || number > most)
		return false;
	*value = (uint32_t)number;
	*text = end;
	return true;
}

static bool skip(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

/* A word, without what ends it; NULL, or why it is none. */
static const char *parse_word(const char **text, struct word *word)
{
	const char *form = "a word of the script is SERVER.CHIP:OFFSET=VALUE, or ...=VALUE@READS";

	if (!read_number(text, UINT32_MAX, &word->server) || !skip(text, '.') ||
	    !read_number(text, UINT32_MAX, &word->place) || !skip(text, ':') ||
	    !read_number(text, UINT32_MAX, &word->offset) || !skip(text, '='))
		return form;
	if (!read_number(text, UINT32_MAX, &word->value))
		return "the value of a word of the script is 0 to 0xffffffff";
	word->limited = skip(text, '@');
	if (word->limited && !read_number(text, UINT32_MAX, &word->reads))
		return "the reads of a word of the script are 0 to 4294967295";
	return **text && **text != ';' ? form : NULL;
}

static const char *check_word(const struct trn_pod *pod, const struct word *word)
{
	if (!word->server)
		return "the script cannot name server 0: that is the machine itself";
	if (word->server >= pod->servers)
		return pod->servers == 2 ? "the script names a server other than 1: there are two" :
					   "the script names a server beyond 3: there are four";
	if (word->place >= TRN_POD_PLACES)
		return "the script names a chip beyond 15: a server has 16";
	if (word->offset >= NEURON_MISC_SIZE || word->offset % 4)
		return "the script names no word of MISC RAM: 0 to 0xffc, in steps of 4";
	return NULL;
}

static const char *parse_script(struct trn_pod *pod, const char *text)
{
	struct word *word;
	const char *why;

	while (text && *text) {
		if (pod->nr_words == SCRIPT_WORDS)
			return "the script has more than 256 words";
		word = &pod->words[pod->nr_words++];
		why = parse_word(&text, word);
		if (!why)
			why = check_word(pod, word);
		if (why)
			return why;
		skip(&text, ';');
	}
	return NULL;
}

/* --- words of MISC RAM; with the lock held --- */

/* The last word of the script that is in force, or -1: what was said last counts. */
static int find_word(const struct trn_remote *remote, uint32_t offset)
{
	const struct trn_pod *pod = remote->pod;
	int i;

	for (i = (int)pod->nr_words - 1; i >= 0; i--) {
		const struct word *word = &pod->words[i];

		if (word->server == remote->server && word->place == remote->place &&
		    word->offset == offset && (!word->limited || pod->now.left[i]))
			break;
	}
	return i;
}

/* As its neighbours see it. */
static uint32_t remote_word(const struct trn_remote *remote, uint32_t offset)
{
	int scripted = find_word(remote, offset);

	if (scripted >= 0)
		return remote->pod->words[scripted].value;
	if (offset >= WORDS_BEGIN && offset < WORDS_BEGIN + WORDS * 4)
		return remote->own->word[(offset - WORDS_BEGIN) / 4];
	return offset < NEURON_MISC_FIRMWARE_END ? trn_misc_identity(&remote->id, offset) : 0;
}

/* What is behind a window of @remote; false: there is no chip, or its link is down. */
static bool read_word(struct trn_remote *remote, unsigned int window, uint32_t offset,
		      uint32_t *value)
{
	struct trn_route route;
	struct trn_seat *seat = trn_fabric_window(remote->pod->fabric, remote->seat, window,
						  &route);

	if (!seat)
		return false;
	*value = seat->chip ? trn_misc_read(seat->chip, offset) :
			      remote_word(seat->remote, offset);
	return true;
}

/* Two words with the high one at @high and the low one at @low. */
static bool read_pair(struct trn_remote *remote, unsigned int window, uint32_t high,
		      uint32_t low, uint64_t *value)
{
	uint32_t hi, lo;

	if (!read_word(remote, window, high, &hi) || !read_word(remote, window, low, &lo))
		return false;
	*value = (uint64_t)hi << 32 | lo;
	return true;
}

static void write_word(struct trn_remote *remote, uint32_t offset, uint32_t value)
{
	remote->own->word[(offset - WORDS_BEGIN) / 4] = value;
}

static void write_pair(struct trn_remote *remote, uint32_t high, uint64_t value)
{
	write_word(remote, high, (uint32_t)(value >> 32));
	write_word(remote, high + 4, (uint32_t)value);
}

static void show(struct trn_remote *remote, uint64_t left, uint64_t right)
{
	write_pair(remote, NEURON_MISC_LEFT_HI, left);
	write_pair(remote, NEURON_MISC_RIGHT_HI, right);
}

static void set_status(struct trn_remote *remote, uint32_t status, uint32_t links,
		       uint32_t node, uint32_t nodes)
{
	write_word(remote, NEURON_MISC_ELECTION,
		   NEURON_PUT(NEURON_MISC_ELECTION_STATUS, status) |
		   NEURON_PUT(NEURON_MISC_ELECTION_LINKS, links) |
		   NEURON_PUT(NEURON_MISC_ELECTION_NODE, node) |
		   NEURON_PUT(NEURON_MISC_ELECTION_NODES, nodes));
}

/* A chip that is not up yet has no word that counts. */
static bool is_word(uint64_t value)
{
	return (uint32_t)value && (uint32_t)value != NEURON_MISC_NOT_READY;
}

/* --- the steps of a remote chip; true: it is further than it was --- */

static bool fail(struct trn_remote *remote)
{
	show(remote, 0, 0);
	set_status(remote, NEURON_MISC_ELECTION_FAILURE, 0, NODE_NONE, 0);
	remote->own->phase = PHASE_ENDED;
	return true;
}

/* Serial numbers of the sides in use; both links of a pair must lead to the same chip. */
static bool step_serials(struct trn_remote *remote, uint32_t links)
{
	uint64_t serial[2];
	unsigned int side, i;

	for (side = LEFT; side < SIDES; side++) {
		remote->own->serial[side] = 0;
		if (!(links & LINK(side)))
			continue;
		for (i = 0; i < 2; i++) {
			if (!read_pair(remote, windows[side][i], NEURON_MISC_SERIAL_HI,
				       NEURON_MISC_SERIAL_LO, &serial[i]))
				return fail(remote);
			if (!is_word(serial[i]))
				return false;
		}
		if (serial[0] != serial[1])
			return fail(remote);
		remote->own->serial[side] = serial[0];
	}
	if (remote->place)
		show(remote, remote->place, remote->place);
	else
		show(remote, remote->own->serial[LEFT], remote->own->serial[RIGHT]);
	remote->own->phase = PHASE_DATA;
	return true;
}

/* Place 0 shows serial numbers, each other one itself. */
static bool cabled_right(const struct trn_remote *remote, uint32_t links)
{
	unsigned int side;

	for (side = LEFT; side < SIDES; side++) {
		uint64_t shown = remote->own->shown[side][LEFT];

		if (!(links & LINK(side)))
			continue;
		if (remote->place && shown != remote->place)
			return false;
		if (!remote->place && links == LINKS_BOTH && shown < TRN_POD_PLACES)
			return false;
	}
	return true;
}

static bool step_data(struct trn_remote *remote, uint32_t links)
{
	unsigned int last = links & LINK(RIGHT) ? RIGHT : LEFT;
	unsigned int side;

	for (side = LEFT; side < SIDES; side++) {
		if (!(links & LINK(side)))
			continue;
		if (!read_pair(remote, windows[side][0], NEURON_MISC_LEFT_HI,
			       NEURON_MISC_LEFT_LO, &remote->own->shown[side][LEFT]) ||
		    !read_pair(remote, windows[side][0], NEURON_MISC_RIGHT_HI,
			       NEURON_MISC_RIGHT_LO, &remote->own->shown[side][RIGHT]))
			return fail(remote);
		if (!is_word(remote->own->shown[side][last]))
			return false;
	}
	if (!cabled_right(remote, links))
		return fail(remote);
	set_status(remote, NEURON_MISC_ELECTION_SUCCESS, 0, remote->place ? 0 : NODE_NONE, 0);
	remote->own->phase = PHASE_STATUS;
	return true;
}

/* As its neighbours see it. */
static uint64_t own_serial(const struct trn_remote *remote)
{
	return (uint64_t)remote_word(remote, NEURON_MISC_SERIAL_HI) << 32 |
	       remote_word(remote, NEURON_MISC_SERIAL_LO);
}

/*
 * The numbers of the servers, by serial numbers of their chips at place 0: the least one is
 * node 0, the one at its right 3, at its left 1, across 2. Of two servers the other is 1.
 */
static void write_result(struct trn_remote *remote, uint32_t links)
{
	const uint64_t self = own_serial(remote);
	const uint64_t left = remote->own->serial[LEFT], right = remote->own->serial[RIGHT];
	uint64_t nodes[TRN_POD_SERVERS] = { self, left, remote->own->shown[LEFT][RIGHT], right };
	unsigned int i, node = 0, nr = TRN_POD_SERVERS;

	if (links != LINKS_BOTH || left == right) {
		nodes[1] = links == LINK(RIGHT) ? right : left;
		nr = 2;
	}
	for (i = 1; i < nr; i++)
		if (nodes[i] < nodes[node])
			node = i;
	set_status(remote, NEURON_MISC_ELECTION_SUCCESS, links, node, nr);
	write_pair(remote, NEURON_MISC_LEADER_HI, nodes[node]);
}

static bool step_status(struct trn_remote *remote, uint32_t links)
{
	uint32_t status[SIDES] = { 0 };
	unsigned int side;

	for (side = LEFT; side < SIDES; side++) {
		if (!(links & LINK(side)))
			continue;
		if (!read_word(remote, windows[side][0], NEURON_MISC_ELECTION, &status[side]))
			return fail(remote);
		status[side] = NEURON_GET(NEURON_MISC_ELECTION_STATUS, status[side]);
		if (!status[side])
			return false;
	}
	for (side = LEFT; side < SIDES; side++)
		if (links & LINK(side) && status[side] != NEURON_MISC_ELECTION_SUCCESS)
			return fail(remote);
	show(remote, 0, 0);
	if (!remote->place)
		write_result(remote, links);
	remote->own->phase = PHASE_ENDED;
	return true;
}

static bool step(struct trn_remote *remote, uint32_t links)
{
	switch (remote->own->phase) {
	case PHASE_SERIALS:
		return step_serials(remote, links);
	case PHASE_DATA:
		return step_data(remote, links);
	case PHASE_STATUS:
		return step_status(remote, links);
	default:
		return false;
	}
}

/* --- an election of one place; with the lock held --- */

/* Nobody has asked for anything yet. */
static void forget(struct trn_pod *pod, unsigned int p)
{
	unsigned int s;

	pod->now.place[p] = (struct place){ 0 };
	for (s = 1; s < pod->servers; s++) {
		struct trn_remote *remote = remote_at(pod, s, p);

		*remote->own = (struct candidate){ .phase = PHASE_IDLE };
	}
}

static uint32_t asked_links(const struct place *place)
{
	uint32_t links = 0;
	unsigned int side;

	for (side = LEFT; side < SIDES; side++)
		if (place->asked >> windows[side][0] & 1 && place->asked >> windows[side][1] & 1)
			links |= LINK(side);
	return links;
}

/* Does the machine's own chip show what it has read? */
static bool machine_shows(struct trn_pod *pod, unsigned int p, uint32_t offset)
{
	struct trn_route route;
	struct trn_seat *seat;
	unsigned int s, w;

	for (s = 1; s < pod->servers; s++) {
		for (w = 0; w < TRN_FABRIC_WINDOWS; w++) {
			seat = trn_fabric_window(pod->fabric, remote_at(pod, s, p)->seat, w,
						 &route);
			if (seat && seat->chip)
				return is_word(trn_misc_read(seat->chip, offset));
		}
	}
	return false;
}

/*
 * By which links the machine elects is known when it shows what it has read: it uses those
 * sides of which it has read both links. A driver that fails with both tries one side.
 */
static void choose_links(struct trn_pod *pod, unsigned int p)
{
	uint32_t links = asked_links(&pod->now.place[p]);
	unsigned int s;

	if (!links || !machine_shows(pod, p, links & LINK(RIGHT) ? NEURON_MISC_RIGHT_LO :
								   NEURON_MISC_LEFT_LO))
		return;
	pod->now.place[p].links = links;
	for (s = 1; s < pod->servers; s++)
		remote_at(pod, s, p)->own->phase = PHASE_SERIALS;
}

/* Until no chip gets further: each has four steps. */
static void advance(struct trn_pod *pod, unsigned int p)
{
	struct place *place = &pod->now.place[p];
	bool further = true;
	unsigned int s;

	if (!place->links)
		choose_links(pod, p);
	while (place->links && further) {
		further = false;
		for (s = 1; s < pod->servers; s++)
			further |= step(remote_at(pod, s, p), place->links);
	}
}

static void copy_word(const struct trn_remote *remote, uint32_t offset, uint8_t *buf)
{
	uint32_t value = remote_word(remote, offset);

	memcpy(buf, &value, sizeof(value));
}

/* --- what the machine does --- */

void trn_pod_read(struct trn_remote *remote, unsigned int window, uint32_t offset, uint8_t *buf,
		  size_t len)
{
	struct trn_pod *pod = remote->pod;
	struct place *place = &pod->now.place[remote->place];
	int scripted;
	size_t i;

	pthread_mutex_lock(&pod->lock);
	if (offset <= NEURON_MISC_SERIAL_LO && NEURON_MISC_SERIAL_LO < offset + len)
		place->asked |= 1u << window;
	advance(pod, remote->place);
	for (i = 0; i < len; i += 4) {
		copy_word(remote, offset + (uint32_t)i, buf + i);
		scripted = find_word(remote, offset + (uint32_t)i);
		if (scripted >= 0 && pod->words[scripted].limited)
			pod->now.left[scripted]--;
	}
	pthread_mutex_unlock(&pod->lock);
}

void trn_pod_look(struct trn_remote *remote, uint32_t offset, uint8_t *buf, size_t len)
{
	struct trn_pod *pod = remote->pod;
	size_t i;

	pthread_mutex_lock(&pod->lock);
	for (i = 0; i < len; i += 4)
		copy_word(remote, offset + (uint32_t)i, buf + i);
	pthread_mutex_unlock(&pod->lock);
}

void trn_pod_begin(struct trn_pod *pod, const struct trn_chip *chip)
{
	/* Rack and server 0. */
	if (chip->config.position >= TRN_POD_PLACES)
		return;
	pthread_mutex_lock(&pod->lock);
	forget(pod, chip->config.position);
	pthread_mutex_unlock(&pod->lock);
}

/* --- the pod --- */

static void add_chip(struct trn_pod *pod, unsigned int server, unsigned int place)
{
	const struct neuron_gen *gen = &neuron_gen_trn2;
	const uint32_t id = neuron_fabric_id(0, server, place);
	const uint32_t position = server << 8 | place;
	struct trn_seat *seat = &pod->seat[pod->nr];
	struct trn_remote *remote = &pod->remote[pod->nr];

	*seat = (struct trn_seat){
		.gen = gen,
		.id = id,
		.position = position,
		.pool = pod->pool,
		.links = &pod->counts[pod->nr],
		.remote = remote,
	};
	*remote = (struct trn_remote){
		.pod = pod,
		.seat = seat,
		.own = &pod->now.candidate[pod->nr],
		.server = server,
		.place = place,
		.id = {
			.position = position,
			.routing_id = neuron_routing_id(gen, place),
			.serial = neuron_serial(gen, id),
		},
	};
	pod->nr++;
}

static void power_on(const struct trn_pod *pod, struct elections *now)
{
	unsigned int i;

	*now = (struct elections){ 0 };
	for (i = 0; i < pod->nr_words; i++)
		now->left[i] = pod->words[i].reads;
}

static void pod_release(struct trn_pod *pod)
{
	pthread_mutex_destroy(&pod->lock);
	free(pod);
}

struct trn_pod *trn_pod_new(struct trn_fabric *fabric, struct trn_pool *pool,
			    unsigned int servers, const char *script, const char **why)
{
	struct trn_pod *pod;
	unsigned int s, p;

	*why = "an UltraServer has 2 or 4 servers";
	if (servers != 2 && servers != 4)
		return NULL;
	*why = "the servers of an UltraServer are a torus3d";
	if (trn_fabric_topology(fabric) != TRN_TOPOLOGY_TORUS3D)
		return NULL;
	*why = "out of memory";
	pod = calloc(1, sizeof(*pod));
	if (!pod)
		return NULL;
	pthread_mutex_init(&pod->lock, NULL);
	pod->fabric = fabric;
	pod->pool = pool;
	pod->servers = servers;
	for (s = 1; s < servers; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			add_chip(pod, s, p);
	*why = parse_script(pod, script);
	if (*why || trn_fabric_attach(fabric, pod->seat, pod->nr, why)) {
		pod_release(pod);
		return NULL;
	}
	power_on(pod, &pod->now);
	trn_fabric_set_pod(fabric, pod);
	return pod;
}

void trn_pod_free(struct trn_pod *pod)
{
	uint64_t epoch;

	if (!pod)
		return;
	trn_fabric_set_pod(pod->fabric, NULL);
	trn_fabric_detach(pod->fabric, pod->seat, pod->nr);
	epoch = trn_pool_epoch(pod->pool);
	while (!trn_pool_passed(pod->pool, epoch))
		sched_yield();
	pod_release(pod);
}

bool trn_pod_word(struct trn_pod *pod, unsigned int server, unsigned int place, uint32_t offset,
		  uint32_t *value)
{
	if (!server || server >= pod->servers || place >= TRN_POD_PLACES || offset % 4 ||
	    offset >= NEURON_MISC_SIZE)
		return false;
	pthread_mutex_lock(&pod->lock);
	*value = remote_word(remote_at(pod, server, place), offset);
	pthread_mutex_unlock(&pod->lock);
	return true;
}

void trn_pod_reset(struct trn_pod *pod)
{
	pthread_mutex_lock(&pod->lock);
	power_on(pod, &pod->now);
	pthread_mutex_unlock(&pod->lock);
}

/* --- state --- */

static void candidate_state(struct candidate *candidate, struct trn_state *st)
{
	unsigned int side, i;

	candidate->phase = trn_state_count(st, candidate->phase, PHASE_ENDED);
	for (side = LEFT; side < SIDES; side++) {
		trn_state_u64(st, &candidate->serial[side]);
		trn_state_u64(st, &candidate->shown[side][LEFT]);
		trn_state_u64(st, &candidate->shown[side][RIGHT]);
	}
	for (i = 0; i < WORDS; i++)
		trn_state_u32(st, &candidate->word[i]);
}

/* The stream may take its time: what it has is a copy, and the lock is free meanwhile. */
void trn_pod_state(struct trn_pod *pod, struct trn_state *st)
{
	struct elections copy;
	unsigned int i;

	pthread_mutex_lock(&pod->lock);
	copy = pod->now;
	pthread_mutex_unlock(&pod->lock);
	trn_state_block(st, TRN_STATE_NAME('P', 'O', 'D', 0), 2);
	trn_state_same(st, pod->servers, "the UltraServer has another number of servers");
	trn_state_same(st, pod->nr_words, "the script has another number of words");
	for (i = 0; i < pod->nr_words; i++)
		trn_state_u32(st, &copy.left[i]);
	for (i = 0; i < TRN_POD_PLACES; i++) {
		copy.place[i].asked = trn_state_count(st, copy.place[i].asked, 15);
		copy.place[i].links = trn_state_count(st, copy.place[i].links, LINKS_BOTH);
	}
	for (i = 0; i < pod->nr; i++)
		candidate_state(&copy.candidate[i], st);
	if (!st->loading || trn_state_failed(st))
		return;
	pthread_mutex_lock(&pod->lock);
	pod->now = copy;
	pthread_mutex_unlock(&pod->lock);
}
