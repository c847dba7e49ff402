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

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "base/trn_state.h"
#include "fabric/trn_fabric.h"
#include "neuron/address.h"
#include "soc/trn_misc_ram.h"

#define HBM_BYTES	NEURON_MIB(32)
#define SCRIPT_WORDS	256

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
 * struct trn_remote - a chip of another server
 * @serial: of its neighbours, by side
 * @shown: by side: what that neighbour shows of its left, its right
 */
struct trn_remote {
	struct trn_pod *pod;
	struct trn_chip *chip;
	uint8_t *hbm[NEURON_MAX_HBM];
	unsigned int server;
	unsigned int place;
	enum phase phase;
	uint64_t serial[SIDES];
	uint64_t shown[SIDES][SIDES];
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
 * struct word - a word of the script
 * @limited: only for the next @left reads
 */
struct word {
	unsigned int server;
	unsigned int place;
	uint32_t offset;
	uint32_t value;
	bool limited;
	uint32_t left;
};

/**
 * struct trn_pod - the remote chips of an UltraServer
 * @lock: all that changes: @places, phases and what is behind them, the words' reads
 */
struct trn_pod {
	struct trn_fabric *fabric;
	unsigned int servers;
	pthread_mutex_t lock;
	struct place places[TRN_POD_PLACES];
	struct trn_remote remote[TRN_POD_SERVERS][TRN_POD_PLACES];
	unsigned int nr_words;
	struct word words[SCRIPT_WORDS];
};

/* --- what nobody hosts --- */

static bool port_host_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static bool port_host_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static void port_irq(void *opaque, unsigned int vector)
{
	(void)opaque;
	(void)vector;
}

/* The machine's own log is not about what another server's chip complains of. */
static void port_log(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	(void)line;
}

static void *port_hbm_alloc(void *opaque, unsigned int stack, uint64_t size)
{
	struct trn_remote *remote = opaque;

	remote->hbm[stack] = trn_backing_alloc(size);
	return remote->hbm[stack];
}

static void port_hbm_discard(void *opaque, unsigned int stack, uint64_t offset, uint64_t len)
{
	struct trn_remote *remote = opaque;

	trn_backing_discard(remote->hbm[stack] + offset, len);
}

static const struct trn_port port = {
	.host_read = port_host_read,
	.host_write = port_host_write,
	.irq = port_irq,
	.log = port_log,
	.hbm_alloc = port_hbm_alloc,
	.hbm_discard = port_hbm_discard,
};

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
	if (word->limited && !read_number(text, UINT32_MAX, &word->left))
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

/* The last one that is in force: what was said last counts. */
static struct word *find_word(struct trn_pod *pod, const struct trn_remote *remote,
			      uint32_t offset)
{
	unsigned int i;

	for (i = pod->nr_words; i--;) {
		struct word *word = &pod->words[i];

		if (word->server == remote->server && word->place == remote->place &&
		    word->offset == offset && (!word->limited || word->left))
			return word;
	}
	return NULL;
}

/* --- words of MISC RAM; with the lock held --- */

static uint32_t chip_word(struct trn_pod *pod, struct trn_chip *chip, uint32_t offset)
{
	const struct word *word = chip->remote ? find_word(pod, chip->remote, offset) : NULL;

	return word ? word->value : trn_misc_read(chip, offset);
}

/* What is behind a window of @remote; false: there is no chip, or its link is down. */
static bool read_word(struct trn_remote *remote, unsigned int window, uint32_t offset,
		      uint32_t *value)
{
	struct trn_pod *pod = remote->pod;
	struct trn_route route;
	struct trn_chip *chip = trn_fabric_window(pod->fabric, remote->chip, window, &route);

	if (!chip)
		return false;
	*value = chip_word(pod, chip, offset);
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

static void write_pair(struct trn_remote *remote, uint32_t high, uint64_t value)
{
	trn_misc_write(remote->chip, high, (uint32_t)(value >> 32));
	trn_misc_write(remote->chip, high + 4, (uint32_t)value);
}

static void show(struct trn_remote *remote, uint64_t left, uint64_t right)
{
	write_pair(remote, NEURON_MISC_LEFT_HI, left);
	write_pair(remote, NEURON_MISC_RIGHT_HI, right);
}

static void set_status(struct trn_remote *remote, uint32_t status, uint32_t links,
		       uint32_t node, uint32_t nodes)
{
	trn_misc_write(remote->chip, NEURON_MISC_ELECTION,
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
	remote->phase = PHASE_ENDED;
	return true;
}

/* Serial numbers of the sides in use; both links of a pair must lead to the same chip. */
static bool step_serials(struct trn_remote *remote, uint32_t links)
{
	uint64_t serial[2];
	unsigned int side, i;

	for (side = LEFT; side < SIDES; side++) {
		remote->serial[side] = 0;
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
		remote->serial[side] = serial[0];
	}
	if (remote->place)
		show(remote, remote->place, remote->place);
	else
		show(remote, remote->serial[LEFT], remote->serial[RIGHT]);
	remote->phase = PHASE_DATA;
	return true;
}

/* Place 0 shows serial numbers, each other one itself. */
static bool cabled_right(const struct trn_remote *remote, uint32_t links)
{
	unsigned int side;

	for (side = LEFT; side < SIDES; side++) {
		uint64_t shown = remote->shown[side][LEFT];

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
			       NEURON_MISC_LEFT_LO, &remote->shown[side][LEFT]) ||
		    !read_pair(remote, windows[side][0], NEURON_MISC_RIGHT_HI,
			       NEURON_MISC_RIGHT_LO, &remote->shown[side][RIGHT]))
			return fail(remote);
		if (!is_word(remote->shown[side][last]))
			return false;
	}
	if (!cabled_right(remote, links))
		return fail(remote);
	set_status(remote, NEURON_MISC_ELECTION_SUCCESS, 0, remote->place ? 0 : NODE_NONE, 0);
	remote->phase = PHASE_STATUS;
	return true;
}

/* As its neighbours see it. */
static uint64_t own_serial(const struct trn_remote *remote)
{
	return (uint64_t)chip_word(remote->pod, remote->chip, NEURON_MISC_SERIAL_HI) << 32 |
	       chip_word(remote->pod, remote->chip, NEURON_MISC_SERIAL_LO);
}

/*
 * The numbers of the servers, by serial numbers of their chips at place 0: the least one is
 * node 0, the one at its right 3, at its left 1, across 2. Of two servers the other is 1.
 */
static void write_result(struct trn_remote *remote, uint32_t links)
{
	const uint64_t self = own_serial(remote);
	const uint64_t left = remote->serial[LEFT], right = remote->serial[RIGHT];
	uint64_t nodes[TRN_POD_SERVERS] = { self, left, remote->shown[LEFT][RIGHT], right };
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
	remote->phase = PHASE_ENDED;
	return true;
}

static bool step(struct trn_remote *remote, uint32_t links)
{
	switch (remote->phase) {
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

/* --- an election of one place --- */

/*
 * The machine reads a serial number: that is how its driver begins. It may read several,
 * before it shows what it has read.
 */
static void begin(struct trn_pod *pod, unsigned int p, unsigned int window)
{
	struct place *place = &pod->places[p];
	unsigned int s;

	if (place->links)
		*place = (struct place){ 0 };
	if (!place->asked) {
		for (s = 1; s < pod->servers; s++) {
			pod->remote[s][p].phase = PHASE_IDLE;
			show(&pod->remote[s][p], 0, 0);
			set_status(&pod->remote[s][p], 0, 0, 0, 0);
		}
	}
	place->asked |= 1u << window;
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
	struct trn_chip *chip;
	unsigned int s, w;

	for (s = 1; s < pod->servers; s++) {
		for (w = 0; w < TRN_FABRIC_WINDOWS; w++) {
			chip = trn_fabric_window(pod->fabric, pod->remote[s][p].chip, w, &route);
			if (chip && !chip->remote)
				return is_word(trn_misc_read(chip, offset));
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
	uint32_t links = asked_links(&pod->places[p]);
	unsigned int s;

	if (!links || !machine_shows(pod, p, links & LINK(RIGHT) ? NEURON_MISC_RIGHT_LO :
								   NEURON_MISC_LEFT_LO))
		return;
	pod->places[p].links = links;
	for (s = 1; s < pod->servers; s++)
		pod->remote[s][p].phase = PHASE_SERIALS;
}

/* Until no chip gets further: each has four steps. */
static void advance(struct trn_pod *pod, unsigned int p)
{
	bool further = true;
	unsigned int s;

	if (!pod->places[p].links)
		choose_links(pod, p);
	while (pod->places[p].links && further) {
		further = false;
		for (s = 1; s < pod->servers; s++)
			further |= step(&pod->remote[s][p], pod->places[p].links);
	}
}

enum neuron_cause trn_pod_read(struct trn_remote *remote, unsigned int window,
			       uint64_t offset, uint8_t *buf, size_t len)
{
	struct trn_pod *pod = remote->pod;
	struct word *word;
	uint32_t value;
	size_t i;

	if (offset % 4 || len % 4)
		return NEURON_CAUSE_ADDRESS;
	pthread_mutex_lock(&pod->lock);
	if (offset <= NEURON_MISC_SERIAL_LO && NEURON_MISC_SERIAL_LO < offset + len)
		begin(pod, remote->place, window);
	advance(pod, remote->place);
	for (i = 0; i < len; i += 4) {
		value = chip_word(pod, remote->chip, (uint32_t)(offset + i));
		memcpy(buf + i, &value, 4);
		word = find_word(pod, remote, (uint32_t)(offset + i));
		if (word && word->limited)
			word->left--;
	}
	pthread_mutex_unlock(&pod->lock);
	return NEURON_CAUSE_NONE;
}

/* --- the pod --- */

static bool add_chip(struct trn_pod *pod, struct trn_pool *pool, unsigned int server,
		     unsigned int place, const char **why)
{
	const struct neuron_gen *gen = &neuron_gen_trn2;
	struct trn_remote *remote = &pod->remote[server][place];
	const uint32_t id = neuron_fabric_id(0, server, place);
	const struct trn_chip_config config = {
		.gen = gen,
		.port = &port,
		.opaque = remote,
		.pool = pool,
		.fabric = pod->fabric,
		.fabric_id = id,
		.position = server << 8 | place,
		.routing_id = neuron_routing_id(gen, place),
		.serial = neuron_serial(gen, id),
		.hbm_size = HBM_BYTES,
		.bar4_stride = HBM_BYTES,
	};

	remote->pod = pod;
	remote->server = server;
	remote->place = place;
	remote->chip = trn_chip_new(&config, why);
	if (!remote->chip)
		return false;
	/* No chip that could read it is on the fabric before the pod is made. */
	remote->chip->remote = remote;
	return true;
}

static void free_remote(struct trn_remote *remote)
{
	unsigned int i;

	if (remote->chip) {
		trn_chip_stop(remote->chip);
		while (!trn_chip_quiet(remote->chip))
			sched_yield();
		trn_chip_free(remote->chip);
	}
	for (i = 0; i < NEURON_MAX_HBM; i++)
		trn_backing_free(remote->hbm[i], HBM_BYTES);
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
	pod->servers = servers;
	*why = parse_script(pod, script);
	if (*why)
		goto free_pod;
	for (s = 1; s < servers; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			if (!add_chip(pod, pool, s, p, why))
				goto free_pod;
	return pod;

free_pod:
	trn_pod_free(pod);
	return NULL;
}

void trn_pod_free(struct trn_pod *pod)
{
	unsigned int s, p;

	if (!pod)
		return;
	for (s = 1; s < TRN_POD_SERVERS; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			free_remote(&pod->remote[s][p]);
	pthread_mutex_destroy(&pod->lock);
	free(pod);
}

struct trn_chip *trn_pod_chip(struct trn_pod *pod, unsigned int server, unsigned int place)
{
	if (server >= TRN_POD_SERVERS || place >= TRN_POD_PLACES)
		return NULL;
	return pod->remote[server][place].chip;
}

void trn_pod_stop(struct trn_pod *pod)
{
	unsigned int s, p;

	for (s = 1; s < pod->servers; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			trn_chip_stop(pod->remote[s][p].chip);
}

bool trn_pod_quiet(struct trn_pod *pod)
{
	unsigned int s, p;

	for (s = 1; s < pod->servers; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			if (!trn_chip_quiet(pod->remote[s][p].chip))
				return false;
	return true;
}

void trn_pod_resume(struct trn_pod *pod)
{
	unsigned int s, p;

	for (s = 1; s < pod->servers; s++)
		for (p = 0; p < TRN_POD_PLACES; p++)
			trn_chip_resume(pod->remote[s][p].chip);
}

/* --- state --- */

static void remote_state(struct trn_remote *remote, struct trn_state *st)
{
	unsigned int side;

	remote->phase = trn_state_count(st, remote->phase, PHASE_ENDED);
	for (side = LEFT; side < SIDES; side++) {
		trn_state_u64(st, &remote->serial[side]);
		trn_state_u64(st, &remote->shown[side][LEFT]);
		trn_state_u64(st, &remote->shown[side][RIGHT]);
	}
	if (st->loading) {
		if (trn_chip_load(remote->chip, st))
			trn_chip_load_hbm(remote->chip, st);
	} else if (trn_chip_save(remote->chip, st)) {
		trn_chip_save_hbm(remote->chip, st);
	}
}

void trn_pod_state(struct trn_pod *pod, struct trn_state *st)
{
	unsigned int i, s, p;

	trn_state_block(st, TRN_STATE_NAME('P', 'O', 'D', 0), 1);
	trn_state_same(st, pod->servers, "the UltraServer has another number of servers");
	trn_state_same(st, pod->nr_words, "the script has another number of words");
	pthread_mutex_lock(&pod->lock);
	for (i = 0; i < pod->nr_words; i++)
		trn_state_u32(st, &pod->words[i].left);
	for (p = 0; p < TRN_POD_PLACES; p++) {
		pod->places[p].asked = trn_state_count(st, pod->places[p].asked, 15);
		pod->places[p].links = trn_state_count(st, pod->places[p].links, LINKS_BOTH);
	}
	for (s = 1; s < pod->servers; s++)
		for (p = 0; p < TRN_POD_PLACES && !trn_state_failed(st); p++)
			remote_state(&pod->remote[s][p], st);
	pthread_mutex_unlock(&pod->lock);
}
