// SPDX-License-Identifier: MIT
/* Packed columns. Places where three numbers were seen last are kept by a hash of them. */
#include <stdlib.h>
#include <string.h>

#include "pack.h"

#define KEY		3u	/* numbers that must be equal before a longer match is looked for */
#define HASH_BITS	16
#define NOWHERE		UINT32_MAX
/* Bytes of a number at most, and of the two that name what was there before. */
#define NUMBER_MAX	5u

struct packer {
	struct pack *pack;
	const uint32_t *number;
	uint32_t nr;
	uint32_t last[1 << HASH_BITS];
};

static int make_room(struct pack *pack, size_t bytes)
{
	size_t room = pack->room ? pack->room : 4096;
	uint8_t *byte;

	while (room < pack->nr + bytes)
		room *= 2;
	if (room == pack->room)
		return 0;
	byte = realloc(pack->byte, room);
	if (!byte)
		return -1;
	pack->byte = byte;
	pack->room = room;
	return 0;
}

static void put(struct pack *pack, uint32_t value)
{
	for (; value > 0x7f; value >>= 7)
		pack->byte[pack->nr++] = (uint8_t)(value | 0x80);
	pack->byte[pack->nr++] = (uint8_t)value;
}

static int put_new(struct packer *packer, uint32_t from, uint32_t to)
{
	uint32_t i;

	if (make_room(packer->pack, ((size_t)(to - from) + 1) * NUMBER_MAX))
		return -1;
	put(packer->pack, to - from);
	for (i = from; i < to; i++)
		put(packer->pack, packer->number[i]);
	return 0;
}

static int put_old(struct packer *packer, uint32_t count, uint32_t distance)
{
	if (make_room(packer->pack, 2 * NUMBER_MAX))
		return -1;
	put(packer->pack, count);
	put(packer->pack, distance);
	return 0;
}

/* Where the three numbers at @at were last; now they are there. */
static uint32_t seen(struct packer *packer, uint32_t at)
{
	const uint32_t *key = &packer->number[at];
	uint32_t hash = key[0] * 2654435761u ^ key[1] * 2246822519u ^ key[2] * 3266489917u;
	uint32_t *last = &packer->last[hash >> (32 - HASH_BITS)], before = *last;

	*last = at;
	return before;
}

/* How many numbers at @at are as those at @before, which may reach into them. */
static uint32_t equal(const struct packer *packer, uint32_t before, uint32_t at)
{
	uint32_t count = 0;

	while (at + count < packer->nr &&
	       packer->number[before + count] == packer->number[at + count])
		count++;
	return count;
}

static int pack_all(struct packer *packer)
{
	uint32_t at = 0, from = 0, before, count, i;

	while (packer->nr - at >= KEY) {
		before = seen(packer, at);
		count = before == NOWHERE ? 0 : equal(packer, before, at);
		if (count < KEY) {
			at++;
			continue;
		}
		if (put_new(packer, from, at) || put_old(packer, count, at - before))
			return -1;
		for (i = at + 1; i < at + count && packer->nr - i >= KEY; i++)
			seen(packer, i);
		at += count;
		from = at;
	}
	return put_new(packer, from, packer->nr);
}

int pack_numbers(struct pack *pack, const uint32_t *number, uint32_t nr)
{
	struct packer *packer = malloc(sizeof(*packer));
	int ret;

	if (!packer)
		return -1;
	packer->pack = pack;
	packer->number = number;
	packer->nr = nr;
	memset(packer->last, 0xff, sizeof(packer->last));
	pack->nr = 0;
	ret = pack_all(packer);
	free(packer);
	return ret;
}
