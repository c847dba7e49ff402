/* SPDX-License-Identifier: MIT */
/*
 * Notification queues as their software sees them.
 */
#ifndef NQ_RIG_H
#define NQ_RIG_H

#include "chip_rig.h"
#include "notify/trn_nq.h"

#define NQ_ENTRY	((uint32_t)sizeof(struct neuron_hw_nq_entry))

/**
 * struct nq - a slot of chip 0
 * @block: BAR0 offset of its block
 * @mem: its memory, @entries of it
 */
struct nq {
	struct trn_chip *chip;
	uint32_t block;
	unsigned int slot;
	struct neuron_hw_nq_entry *mem;
	uint32_t entries;
};

/* A slot that is not set up, and one with a ring of @entries. */
struct nq nq_at(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		unsigned int slot);
struct nq nq_host(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		  unsigned int slot, uint32_t entries);
/* Always the same memory, 1 MiB into HBM stack 1. */
struct nq nq_hbm(struct rig *rig, enum trn_nq_unit unit, unsigned int index,
		 unsigned int slot, uint32_t entries);

/* Registers of the slot. */
uint32_t nq_get(const struct nq *q, uint32_t reg);
void nq_set(const struct nq *q, uint32_t reg, uint32_t value);
/* As the public driver does. */
void nq_set_ring(const struct nq *q, uint64_t base, uint32_t size);
uint64_t nq_base(const struct nq *q);
/* All registers are 0. */
void nq_assert_reset(const struct nq *q);

/* Post for core 0, with fields that follow from @code. */
void nq_post(struct rig *rig, unsigned int type, unsigned int engine,
	     uint32_t code);

/* Wait until @n entries have been written, all told. */
void nq_wait(const struct nq *q, uint32_t n);
/* The @n-th entry that was written, which the ring still holds. */
const struct neuron_hw_nq_entry *nq_entry(const struct nq *q, uint32_t n);
/* It is whole, has the phase of its lap, and these fields. */
void nq_assert_entry(const struct nq *q, uint32_t n, unsigned int type,
		     unsigned int engine, uint32_t code);

/* Cause NQ of the management interrupt; is cleared. */
bool nq_cause(struct rig *rig);

#endif /* NQ_RIG_H */
