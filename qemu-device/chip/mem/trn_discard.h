/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The discard operation of the control block: a range of HBM becomes zeroes, and the host
 * gets its memory back.
 */
#ifndef TRN_DISCARD_H
#define TRN_DISCARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/trn_pool.h"

struct trn_chip;
struct trn_state;

/**
 * struct trn_discard - the discard operation of the control block
 * @lock: addr, len, done; they do not change while @go is set but for @done
 * @done: bytes already discarded
 */
struct trn_discard {
	struct trn_task task;
	struct trn_chip *chip;
	pthread_mutex_t lock;
	uint64_t addr, len, done;
	_Atomic uint32_t go;
};

void trn_discard_init(struct trn_chip *chip);
void trn_discard_destroy(struct trn_chip *chip);
void trn_discard_reset(struct trn_chip *chip);
uint64_t trn_discard_read(struct trn_chip *chip, uint32_t offset);
/* @offset: of one of its 32-bit words */
void trn_discard_write(struct trn_chip *chip, uint32_t offset, uint32_t value);
void trn_discard_state(struct trn_chip *chip, struct trn_state *st);

#endif /* TRN_DISCARD_H */
