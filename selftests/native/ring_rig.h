/* SPDX-License-Identifier: MIT */
/*
 * A DMA queue of domain 0, programmed as a kernel does.
 */
#ifndef RING_RIG_H
#define RING_RIG_H

#include "chip_rig.h"

/**
 * struct ring_pair - a queue's rings as software sees them
 * @m2s, @s2m: the descriptors, in the memory of the chip's host
 * @m2s_at, @s2m_at: their bus addresses
 * @length: descriptors of each
 * @m2s_tail, @s2m_tail: descriptors pushed since the ring was new
 */
struct ring_pair {
	struct rig *rig;
	unsigned int chip;
	unsigned int engine;
	unsigned int queue;
	struct neuron_udma_desc *m2s;
	struct neuron_udma_desc *s2m;
	uint64_t m2s_at;
	uint64_t s2m_at;
	uint32_t length;
	uint32_t m2s_tail;
	uint32_t s2m_tail;
};

/* Allocate rings; ring_program() then sets up a queue of domain 0. */
void ring_alloc(struct ring_pair *ring, struct rig *rig, unsigned int chip,
		unsigned int engine, unsigned int queue, uint32_t length);
void ring_program(struct ring_pair *ring);

/* Write the next descriptor, with the right ring id; @len up to 65536. */
struct neuron_udma_desc *ring_m2s(struct ring_pair *ring, uint64_t addr,
				  uint32_t len, uint32_t flags);
struct neuron_udma_desc *ring_s2m(struct ring_pair *ring, uint64_t addr,
				  uint32_t len);
/* A packet of one descriptor on each side. */
void ring_copy(struct ring_pair *ring, uint64_t dst, uint64_t src,
	       uint32_t len);

/* BAR0 offset of a register of the queue. */
uint64_t ring_reg(const struct ring_pair *ring, bool s2m, uint32_t reg);
void ring_doorbell(struct ring_pair *ring, uint32_t m2s, uint32_t s2m);
/* Both, S2M first; then wait until both heads have reached the tails. */
void ring_run(struct ring_pair *ring, uint32_t m2s, uint32_t s2m);
/* The same without the doorbell. */
void ring_wait(struct ring_pair *ring);

/* Registers of its engine. */
uint32_t ring_engine_read(const struct ring_pair *ring, uint32_t reg);
void ring_engine_write(const struct ring_pair *ring, uint32_t reg,
		       uint32_t value);

/* Registers of the queue, and of its engine's block in the control block. */
uint32_t ring_read(const struct ring_pair *ring, bool s2m, uint32_t reg);
void ring_write(const struct ring_pair *ring, bool s2m, uint32_t reg,
		uint32_t value);
uint32_t ring_ctl_read(const struct ring_pair *ring, uint32_t reg);
void ring_ctl_write(const struct ring_pair *ring, uint32_t reg, uint32_t value);
/* Why the queue stopped: enum neuron_cause. */
uint32_t ring_error(const struct ring_pair *ring);

/* Wait until it has stopped because of @cause and told so. */
void ring_wait_error(const struct ring_pair *ring, enum neuron_cause cause);
/* Clear its causes and program it anew: it works again. */
void ring_recover(struct ring_pair *ring);

/* Wait until the queue's task is quiet. */
void ring_wait_quiet(const struct ring_pair *ring);

/* A programmed ring of @length: queue RING_QUEUE of a copy engine of chip 0. */
#define RING_QUEUE	3
void ring_make(struct ring_pair *ring, struct rig *rig, uint32_t length);

/* Host memory of chip 0 with random bytes: its plain address. */
uint64_t rig_random_host(struct rig *rig, uint32_t len, uint8_t **ptr);

#endif /* RING_RIG_H */
