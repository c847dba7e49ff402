/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Where blocks tell the chip's observer (trn/observe.h). Without one each place costs a load or
 * two; Documentation/chip-library.rst has counts. core/trn_observe.c does the telling.
 */
#ifndef TRN_OBSERVE_H
#define TRN_OBSERVE_H

#include "base/trn_chip.h"
#include "trn/observe.h"

struct trn_fault;
struct trn_job;
struct trn_udma_queue;

static inline const struct trn_observer *trn_observer(const struct trn_chip *chip)
{
	return atomic_load_explicit(&chip->observer, memory_order_acquire);
}

void trn_observe_moved(const struct trn_udma_queue *queue, const struct trn_job *job,
		       uint32_t pc, uint32_t descriptors, uint64_t bytes);
void trn_observe_failed(const struct trn_job *job, const struct trn_fault *fault);

#endif /* TRN_OBSERVE_H */
