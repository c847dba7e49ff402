/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Where writes of device memory are looked at for bytes that a debugger watches
 * (trn_chip_watch()). Without watches each place costs a load. core/trn_watch.c does the work.
 */
#ifndef TRN_WATCH_H
#define TRN_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_chip.h"
#include "trn/observe.h"

struct trn_loc;

static inline bool trn_watched(const struct trn_chip *chip)
{
	return atomic_load_explicit(&chip->watches, memory_order_acquire);
}

/* The task that runs is about to write some of the @len bytes at @loc, of the chip's memory. */
void trn_watch_touch(const struct trn_loc *loc, uint64_t len);

/*
 * The task that runs has done its instruction or its packet: tell of bytes that have changed. The
 * other is NULL.
 */
void trn_watch_tell(struct trn_chip *chip, const struct trn_observe_inst *inst,
		    const struct trn_observe_copy *copy);
/* It does not come to the end of that. */
void trn_watch_give_up(struct trn_chip *chip);
/* The chip's state is another one: nothing counts that was noted before. The chip is quiet. */
void trn_watch_begin(struct trn_chip *chip);

#endif /* TRN_WATCH_H */
