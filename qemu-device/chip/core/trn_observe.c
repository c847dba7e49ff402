// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "hook/trn_observe.h"

#include "base/trn_chip.h"
#include "core/trn_park.h"
#include "dma/trn_udma.h"
#include "exec/trn_exec.h"
#include "exec/trn_seq.h"
#include "hook/trn_observe.h"
#include "hook/trn_watch.h"
#include "job/trn_job.h"
#include "time/trn_time.h"

struct trn_core *trn_observe_unit(struct trn_chip *chip, unsigned int unit)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		if (trn_unit(chip, i)->index == unit)
			return trn_unit(chip, i);
	return NULL;
}

static struct trn_observe_inst where(const struct trn_seq *seq)
{
	const struct trn_job *job = atomic_load(&seq->job);

	return (struct trn_observe_inst){
		.unit = seq->core->index,
		.engine = seq->engine,
		.pc = atomic_load(&seq->pc),
		.job_id = job->block.job_id,
		.time_ns = trn_time_actor(job->timeline, seq->engine),
		.inst = &seq->inst,
		.reg = seq->regs,
	};
}

/*
 * The engine counts as parked before the observer is asked, because whoever the observer tells
 * may release it before the call has returned.
 */
bool trn_observe_ask(struct trn_seq *seq)
{
	const struct trn_observer *observer = trn_observer(seq->core->chip);
	struct trn_observe_inst at;

	/* A chip that was saved with an observer may have none now. */
	if (!observer) {
		atomic_store(&seq->hold, TRN_HOLD_PASSED);
		return true;
	}
	if (atomic_load(&seq->hold) != TRN_HOLD_NONE)
		return atomic_load(&seq->hold) == TRN_HOLD_PASSED;
	if (!observer->before)
		return true;
	at = where(seq);
	atomic_store(&seq->hold, TRN_HOLD_PARKED);
	if (observer->before(observer->opaque, &at) == TRN_OBSERVE_GO)
		atomic_store(&seq->hold, TRN_HOLD_PASSED);
	return atomic_load(&seq->hold) == TRN_HOLD_PASSED;
}

void trn_observe_retired(struct trn_seq *seq)
{
	const struct trn_observer *observer = trn_observer(seq->core->chip);
	struct trn_observe_inst at;

	atomic_store(&seq->hold, TRN_HOLD_NONE);
	if (!observer || (!observer->after && !trn_watched(seq->core->chip)))
		return;
	at = where(seq);
	if (trn_watched(seq->core->chip))
		trn_watch_tell(seq->core->chip, &at, NULL);
	if (observer->after)
		observer->after(observer->opaque, &at);
}

void trn_observe_nan(struct trn_seq *seq, const struct trn_exec *exec)
{
	const struct trn_observer *observer = trn_observer(seq->core->chip);
	struct trn_observe_inst at = where(seq);
	struct trn_observe_nan nan;

	if (!observer || !observer->nan || !trn_exec_find_nan(exec, &nan))
		return;
	nan.inst = &at;
	observer->nan(observer->opaque, &nan);
}

void trn_observe_moved(const struct trn_udma_queue *queue, const struct trn_job *job,
		       uint32_t pc, uint32_t descriptors, uint64_t bytes)
{
	const struct trn_observer *observer = trn_observer(queue->chip);
	struct trn_observe_copy copy;

	if (!observer || (!observer->moved && !trn_watched(queue->chip)))
		return;
	copy = (struct trn_observe_copy){
		.dma_engine = queue->engine,
		.queue = queue->index,
		.job_id = job ? job->block.job_id : 0,
		.pc = pc,
		.descriptors = descriptors,
		.bytes = bytes,
	};
	if (trn_watched(queue->chip))
		trn_watch_tell(queue->chip, NULL, &copy);
	if (observer->moved)
		observer->moved(observer->opaque, &copy);
}

void trn_observe_failed(const struct trn_job *job, const struct trn_fault *fault)
{
	const struct trn_observer *observer = trn_observer(job->core->chip);
	struct trn_observe_fault told;

	if (!observer || !observer->fault)
		return;
	told = (struct trn_observe_fault){
		.unit = job->core->index,
		.job_id = job->block.job_id,
		.cause = fault->cause,
		.source = fault->source,
		.queue = fault->queue,
		.pc = fault->pc,
		.addr = fault->addr,
	};
	observer->fault(observer->opaque, &told);
}

static bool release(struct trn_seq *seq)
{
	uint32_t parked = TRN_HOLD_PARKED;

	if (!atomic_compare_exchange_strong(&seq->hold, &parked, TRN_HOLD_PASSED))
		return false;
	trn_task_kick(&seq->task);
	return true;
}

bool trn_observe_release(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine)
{
	struct trn_core *core = trn_observe_unit(chip, unit);

	return core && engine < NEURON_NR_ENGINES && release(&core->seq[engine]);
}

void trn_chip_observe(struct trn_chip *chip, const struct trn_observer *observer)
{
	unsigned int i, e;

	atomic_store_explicit(&chip->observer, observer, memory_order_release);
	if (observer)
		return;
	for (i = 0; i < neuron_nr_units(chip->gen); i++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			release(&trn_unit(chip, i)->seq[e]);
}
