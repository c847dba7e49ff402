// SPDX-License-Identifier: MIT
/* Who is connected to whom: by links of their own, or through switches. */
#include <neuron/regs.h>
#include <stdio.h>

#include "ls.h"

static bool ls_is_switch(uint32_t peer)
{
	return peer != NEURON_LINK_PEER_NONE && peer & NEURON_LINK_PEER_SWITCH;
}

static unsigned int ls_nr_links(const struct chip *chip)
{
	return chip->info.nr_links < CHIPS_MAX_LINKS ? chip->info.nr_links :
						       CHIPS_MAX_LINKS;
}

/* Has @chip a link to @peer that is up? */
static bool ls_has_link(const struct chip *chip, uint32_t peer)
{
	unsigned int l;

	for (l = 0; l < ls_nr_links(chip); l++)
		if (chip->link[l].state && chip->link[l].peer == peer)
			return true;
	return false;
}

static bool ls_same_switch(const struct chip *a, const struct chip *b)
{
	unsigned int l;

	for (l = 0; l < ls_nr_links(a); l++)
		if (a->link[l].state && ls_is_switch(a->link[l].peer) &&
		    ls_has_link(b, a->link[l].peer))
			return true;
	return false;
}

unsigned int ls_linked(const struct chips *chips, const struct chip *chip,
		       int device[CHIPS_MAX_LINKS])
{
	unsigned int l, n = 0;

	for (l = 0; l < ls_nr_links(chip); l++) {
		int peer = chips_find(chips, chip->link[l].peer);

		if (peer >= 0 && chip->link[l].state)
			device[n++] = peer;
	}
	return n;
}

bool ls_switched(const struct chips *chips, const struct chip *chip,
		 unsigned int device)
{
	const struct chip *other = &chips->chip[device];

	return other != chip && ls_same_switch(chip, other) &&
	       !ls_has_link(chip, other->info.fabric_id);
}

/* Append "3" or "3-5" to a list. */
static size_t ls_add_range(char *out, size_t used, size_t size,
			   unsigned int first, unsigned int last)
{
	if (used >= size)
		return used;
	if (first == last)
		return used + snprintf(out + used, size - used, "%s%u",
				       used ? ", " : "", first);
	return used + snprintf(out + used, size - used, "%s%u-%u",
			       used ? ", " : "", first, last);
}

void ls_connected(const struct chips *chips, const struct chip *chip, char *out,
		  size_t size)
{
	int device[CHIPS_MAX_LINKS];
	unsigned int i, first, n = ls_linked(chips, chip, device);
	size_t used = 0;

	out[0] = 0;
	for (i = 0; i < n; i++)
		used = ls_add_range(out, used, size, device[i], device[i]);
	for (i = 0; i < chips->count; i++) {
		if (!ls_switched(chips, chip, i))
			continue;
		first = i;
		while (i + 1 < chips->count && ls_switched(chips, chip, i + 1))
			i++;
		used = ls_add_range(out, used, size, first, i);
	}
}

/* Links of @chip from @link on that look the same. */
static unsigned int ls_alike(const struct chip *chip, unsigned int link)
{
	const struct drm_neuron_link_info *a = &chip->link[link];
	unsigned int n = 1;

	for (; link + n < ls_nr_links(chip); n++) {
		const struct drm_neuron_link_info *b = &chip->link[link + n];

		if (a->peer != b->peer || a->state != b->state ||
		    a->width != b->width || a->mbps != b->mbps)
			break;
	}
	return n;
}

static void ls_draw_switch(const struct chip *chip, unsigned int device,
			   unsigned int link, unsigned int n)
{
	const struct drm_neuron_link_info *info = &chip->link[link];
	unsigned int level = NEURON_GET(NEURON_LINK_SWITCH_LEVEL, info->peer);
	unsigned int rack = NEURON_GET(NEURON_LINK_SWITCH_RACK, info->peer);
	unsigned int server = NEURON_GET(NEURON_LINK_SWITCH_SERVER, info->peer);

	printf("  [ %2u ] <== %u x x%u, %u MB/s, %s ==> switch of ", device, n,
	       info->width, info->mbps, info->state ? "up" : "down");
	if (level == 1)
		printf("rack %u, server %u\n", rack, server);
	else
		printf("rack %u\n", rack);
}

static void ls_draw_chip(const struct chips *chips, unsigned int device)
{
	const struct chip *chip = &chips->chip[device];
	unsigned int l, n;

	for (l = 0; l < ls_nr_links(chip); l += n) {
		const struct drm_neuron_link_info *link = &chip->link[l];
		int peer = chips_find(chips, link->peer);

		n = 1;
		if (ls_is_switch(link->peer)) {
			n = ls_alike(chip, l);
			ls_draw_switch(chip, device, l, n);
		} else if (peer >= (int)device) {
			printf("  [ %2u ] <== x%u, %u MB/s, %s ==> [ %2d ]\n",
			       device, link->width, link->mbps,
			       link->state ? "up" : "down", peer);
		}
	}
}

void ls_draw(const struct chips *chips)
{
	unsigned int i;

	printf("\nNeuron Device Topology\n");
	for (i = 0; i < chips->count; i++)
		ls_draw_chip(chips, i);
}
