// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "fabric/trn_link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"

/* --- text --- */

/* Digits at *@text up to @max; moves *@text behind them. */
static bool read_number(const char **text, uint32_t max, uint32_t *value)
{
	unsigned long number;
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	number = strtoul(*text, &end, 10);
	if (errno || number > max)
		return false;
	*text = end;
	*value = (uint32_t)number;
	return true;
}

static bool skip(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

static bool read_name(const char **text, struct trn_link_fault *fault)
{
	if (!read_number(text, NEURON_MAX_CHIPS - 1, &fault->a))
		return false;
	fault->by_number = **text == ':';
	if (!fault->by_number && **text != '-')
		return false;
	++*text;
	if (fault->by_number)
		return read_number(text, TRN_FABRIC_PORTS - 1, &fault->b);
	return read_number(text, NEURON_MAX_CHIPS - 1, &fault->b) &&
	       fault->a != fault->b;
}

static bool read_state(const char **text, struct trn_link_fault *fault)
{
	uint32_t value;

	fault->percent = 100;
	if (skip(text, "up"))
		return true;
	fault->down = skip(text, "down");
	if (fault->down)
		return true;
	if (skip(text, "mbps:"))
		return read_number(text, UINT32_MAX, &fault->mbps) && fault->mbps;
	if (!skip(text, "slow:") || !read_number(text, 100, &value) || !value)
		return false;
	fault->percent = (uint8_t)value;
	return true;
}

const char *trn_link_parse(const char *text, struct trn_link_fault *fault,
			   const char **why)
{
	*fault = (struct trn_link_fault){ 0 };
	*why = "a link is A-B (fabric ids) or A:LINK (a chip's link), then =STATE";
	if (!read_name(&text, fault) || *text++ != '=')
		return NULL;
	*why = "the state of a link is up, down, slow:1..100 (percent) or mbps:MB/s";
	if (!read_state(&text, fault))
		return NULL;
	if (*text && *text != ';')
		return NULL;
	*why = NULL;
	return text;
}

static int print_fault(const struct trn_link_fault *fault, char *text,
		       size_t size)
{
	char state[32] = "down";

	if (!fault->down && fault->mbps)
		snprintf(state, sizeof(state), "mbps:%" PRIu32, fault->mbps);
	else if (!fault->down)
		snprintf(state, sizeof(state), "slow:%u", fault->percent);
	return snprintf(text, size, "%" PRIu32 "%c%" PRIu32 "=%s", fault->a,
			fault->by_number ? ':' : '-', fault->b, state);
}

void trn_link_print(const struct trn_link_faults *faults, char *text,
		    size_t size)
{
	size_t used = 0;
	unsigned int i;

	text[0] = 0;
	for (i = 0; i < faults->nr && used < size; i++) {
		if (i)
			text[used++] = ';';
		used += (size_t)print_fault(&faults->fault[i], text + used,
					    size - used);
	}
}

/* --- the list --- */

static bool same_link(const struct trn_link_fault *x,
		      const struct trn_link_fault *y)
{
	if (x->by_number != y->by_number)
		return false;
	return (x->a == y->a && x->b == y->b) ||
	       (!x->by_number && x->a == y->b && x->b == y->a);
}

static bool is_fault(const struct trn_link_fault *fault)
{
	return fault->down || fault->mbps || fault->percent < 100;
}

bool trn_link_set(struct trn_link_faults *faults,
		  const struct trn_link_fault *fault)
{
	unsigned int i;

	for (i = 0; i < faults->nr; i++)
		if (same_link(&faults->fault[i], fault))
			break;
	if (!is_fault(fault)) {
		if (i < faults->nr)
			faults->fault[i] = faults->fault[--faults->nr];
		return true;
	}
	if (i == TRN_LINK_FAULTS)
		return false;
	if (i == faults->nr)
		faults->nr++;
	faults->fault[i] = *fault;
	return true;
}

/* --- on a map --- */

static int chip_index(const struct trn_map *map, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < map->nr; i++)
		if (map->site[i].id == id)
			return (int)i;
	return -1;
}

const char *trn_link_check(const struct trn_map *map,
			   const struct trn_link_fault *fault)
{
	int a = chip_index(map, fault->a);
	int b = fault->by_number ? -1 : chip_index(map, fault->b);
	unsigned int p;

	if (a < 0)
		return NULL;
	if (fault->by_number)
		return fault->b < map->nr_ports[a] ?
			       NULL : "the chip has no link of that number";
	if (b < 0)
		return NULL;
	for (p = 0; p < map->nr_ports[a]; p++)
		if (map->port[a][p].peer == b)
			return NULL;
	return "there is no link between these two chips";
}

static void slow_down(struct trn_link_end *port, const struct trn_link_fault *fault)
{
	uint64_t mbps = (uint64_t)port->mbps * fault->percent / 100;

	if (fault->mbps && fault->mbps < mbps)
		mbps = fault->mbps;
	if (fault->down)
		port->up = false;
	port->mbps = mbps ? (uint32_t)mbps : 1;
}

/* Both ends of the link. */
static void apply_port(struct trn_map *map, unsigned int i, unsigned int p,
		       const struct trn_link_fault *fault)
{
	struct trn_link_end *port = &map->port[i][p];

	slow_down(port, fault);
	if (port->via == TRN_VIA_CHIP)
		slow_down(&map->port[port->peer][port->back], fault);
}

static void apply_fault(struct trn_map *map, const struct trn_link_fault *fault)
{
	int a = chip_index(map, fault->a);
	int b = fault->by_number ? -1 : chip_index(map, fault->b);
	unsigned int p;

	if (a < 0)
		return;
	if (fault->by_number && fault->b < map->nr_ports[a])
		apply_port(map, (unsigned int)a, fault->b, fault);
	for (p = 0; b >= 0 && p < map->nr_ports[a]; p++)
		if (map->port[a][p].peer == b)
			apply_port(map, (unsigned int)a, p, fault);
}

void trn_link_apply(struct trn_map *map, const struct trn_link_faults *faults)
{
	unsigned int i;

	for (i = 0; i < faults->nr; i++)
		apply_fault(map, &faults->fault[i]);
}
