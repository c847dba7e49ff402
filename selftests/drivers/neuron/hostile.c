// SPDX-License-Identifier: MIT
/*
 * What the hostile tests share.
 */
#include "hostile.h"

static int victim_add(struct victim *victim, uint32_t placement, uint32_t stack)
{
	unsigned int i = victim->nr;
	int ret;

	if (i == VICTIM_BOS)
		return 0;
	ret = neuron_bo_create(victim->fd, placement, stack, VICTIM_BYTES,
			       &victim->bo[i]);
	if (ret)
		return ret;
	victim->map[i] = mmap(NULL, VICTIM_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED, victim->fd,
			      (off_t)victim->bo[i].mmap_offset);
	if (victim->map[i] == MAP_FAILED)
		return -errno;
	neuron_fill(victim->map[i], VICTIM_BYTES, 1000 + i);
	victim->nr++;
	return 0;
}

int victim_grow(struct victim *victim)
{
	int ret = victim_add(victim, DRM_NEURON_BO_HBM, 0);

	if (!ret)
		ret = victim_add(victim, DRM_NEURON_BO_HBM, 1);
	if (!ret)
		ret = victim_add(victim, DRM_NEURON_BO_HOST, 0);
	return ret;
}

int victim_open(struct victim *victim, unsigned int device)
{
	int ret;

	memset(victim, 0, sizeof(*victim));
	victim->fd = neuron_open(device);
	if (victim->fd < 0)
		return victim->fd;
	ret = victim_grow(victim);
	if (ret)
		victim_close(victim);
	return ret;
}

bool victim_is_unhurt(const struct victim *victim)
{
	static uint8_t read[VICTIM_BYTES];
	unsigned int i;

	for (i = 0; i < victim->nr; i++) {
		if (neuron_differs(victim->map[i], VICTIM_BYTES, 1000 + i) !=
		    VICTIM_BYTES)
			return false;
		memset(read, 0, sizeof(read));
		if (neuron_read(victim->fd, victim->bo[i].handle, 0, read,
				VICTIM_BYTES) ||
		    neuron_differs(read, VICTIM_BYTES, 1000 + i) !=
		    VICTIM_BYTES)
			return false;
	}
	return true;
}

void victim_close(struct victim *victim)
{
	unsigned int i;

	for (i = 0; i < victim->nr; i++)
		munmap(victim->map[i], VICTIM_BYTES);
	if (victim->fd > 0)
		close(victim->fd);
	memset(victim, 0, sizeof(*victim));
}

/* splitmix64 */
static uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t hostile_dice(uint64_t *seed, uint32_t sides)
{
	return (uint32_t)(next(seed) % sides);
}

uint64_t hostile_number(uint64_t *seed)
{
	switch (hostile_dice(seed, 5)) {
	case 0:
		return hostile_dice(seed, 16);
	case 1:
		return -(uint64_t)hostile_dice(seed, 16);
	case 2:
		return (1ull << hostile_dice(seed, 64)) +
		       hostile_dice(seed, 9) - 4;
	case 3:
		return next(seed) & 0x3ffff;
	default:
		return next(seed);
	}
}
