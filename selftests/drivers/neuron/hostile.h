/* SPDX-License-Identifier: MIT */
/*
 * What the hostile tests share: a victim, whose memory nobody else may reach, and
 * dice that fall the same way on every run.
 */
#ifndef NEURON_HOSTILE_H
#define NEURON_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron_test.h"

#define VICTIM_BYTES	(64u << 10)	/* of a buffer */
#define VICTIM_BOS	8		/* at most: two of each stack, or so, and host */

/**
 * struct victim - another client of the device, with buffers full of a pattern
 * @fd: its file
 * @nr: buffers: some of each stack, the last two in host memory
 * @bo: buffers
 * @map: their mappings
 */
struct victim {
	int fd;
	unsigned int nr;
	struct drm_neuron_bo_create bo[VICTIM_BOS];
	uint8_t *map[VICTIM_BOS];
};

/* 0 or a negative errno. */
int victim_open(struct victim *victim, unsigned int device);
/* More buffers between those of others: call it again after these were made. */
int victim_grow(struct victim *victim);
/* All bytes are as they were, for the CPU and for the device. */
bool victim_is_unhurt(const struct victim *victim);
void victim_close(struct victim *victim);

/* A number below @sides; @seed is the state. */
uint32_t hostile_dice(uint64_t *seed, uint32_t sides);
/* A number as attackers like them: near a power of two, near the end, any. */
uint64_t hostile_number(uint64_t *seed);

#endif /* NEURON_HOSTILE_H */
