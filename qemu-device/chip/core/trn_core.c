// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The state of a core: memories, semaphores, sequencers; reset and scrub.
 */
#include <stdio.h>
#include <string.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "core/trn_core.h"
#include "dma/trn_udma.h"
#include "exec/trn_seq.h"
#include "mem/trn_bus.h"
#include "mem/trn_touched.h"
#include "notify/trn_nq.h"
#include "sync/trn_sem.h"
#include "time/trn_group.h"
#include "time/trn_time.h"

static int alloc_memories(struct trn_core *core)
{
	core->sbuf = trn_backing_alloc(NEURON_TPB_SBUF_SIZE);
	core->psum = trn_backing_alloc(NEURON_TPB_PSUM_SIZE);
	core->array = (void *)trn_backing_alloc(sizeof(*core->array));
	core->lanes = (void *)trn_backing_alloc(sizeof(*core->lanes));
	core->desk = (void *)trn_backing_alloc(sizeof(*core->desk));
	return core->sbuf && core->psum && core->array && core->lanes && core->desk ? 0 : -1;
}

static void free_memories(struct trn_core *core)
{
	trn_backing_free(core->sbuf, NEURON_TPB_SBUF_SIZE);
	trn_backing_free(core->psum, NEURON_TPB_PSUM_SIZE);
	trn_backing_free((void *)core->array, sizeof(*core->array));
	trn_backing_free((void *)core->lanes, sizeof(*core->lanes));
	trn_backing_free((void *)core->desk, sizeof(*core->desk));
}

/* Software or DMA raised @event. Any thread. */
static void event_raised(void *arg, unsigned int event)
{
	struct trn_core *core = arg;
	struct trn_nq_event report = {
		.engine = NEURON_NQ_NO_ENGINE,
		.type = NEURON_NQ_TYPE_EVENT,
		.code = event,
	};

	trn_nq_of_core(core, &report);
	trn_nq_post_later(core->chip, &report);
}

int trn_core_init(struct trn_core *core, struct trn_chip *chip)
{
	unsigned int index = (unsigned int)(core - chip->core);
	unsigned int e, cc = index - NEURON_MAX_CORES;

	core->chip = chip;
	core->index = index;
	core->tpb = core;
	if (index < NEURON_MAX_CORES) {
		snprintf(core->name, sizeof(core->name), "core %u", index);
		if (alloc_memories(core)) {
			free_memories(core);
			return -1;
		}
	} else {
		snprintf(core->name, sizeof(core->name), "CC-core %u", cc);
		core->tpb = &chip->core[neuron_cc_core(chip->gen, cc)];
	}

	pthread_mutex_init(&core->lock, NULL);
	pthread_mutex_init(&core->grant_lock, NULL);
	trn_sems_init(core->sems);
	core->sems->chip = chip;
	core->sems->unit = index;
	core->sems->raised = event_raised;
	core->sems->arg = core;
	trn_task_init(&core->controller, chip->pool, trn_core_run);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		trn_seq_init(&core->seq[e], core, e);
	return 0;
}

void trn_core_destroy(struct trn_core *core)
{
	unsigned int e;

	trn_job_drop(core);
	trn_time_core_destroy(core);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		trn_seq_destroy(&core->seq[e]);
	trn_sems_destroy(core->sems);
	pthread_mutex_destroy(&core->lock);
	pthread_mutex_destroy(&core->grant_lock);
	free_memories(core);
}

size_t trn_core_own_bytes(struct trn_core *core)
{
	size_t bytes = trn_time_core_bytes(core);
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (core->seq[e].known)
			bytes += TRN_SEQ_KNOWN * sizeof(*core->seq[e].known);
	return bytes;
}

static void scrub_memories(struct trn_core *core)
{
	pthread_mutex_lock(&core->grant_lock);
	trn_backing_discard(core->sbuf, NEURON_TPB_SBUF_SIZE);
	trn_touched_forget(core->chip, TRN_PLACE_SBUF, core->index, 0,
			   NEURON_TPB_SBUF_SIZE);
	pthread_mutex_unlock(&core->grant_lock);
	trn_backing_discard(core->psum, NEURON_TPB_PSUM_SIZE);
	trn_backing_discard((void *)core->array, sizeof(*core->array));
	trn_backing_discard((void *)core->lanes, sizeof(*core->lanes));
	trn_backing_discard((void *)core->desk, sizeof(*core->desk));
	trn_touched_forget(core->chip, TRN_PLACE_PSUM, core->index, 0,
			   NEURON_TPB_PSUM_SIZE);
}

void trn_core_scrub(struct trn_core *core)
{
	struct trn_nq_event block;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		trn_seq_reset(&core->seq[e]);
	trn_sems_clear(core->sems, NULL);
	trn_nq_of_core(core, &block);
	trn_nq_reset_block(core->chip, block.unit, block.index);
	trn_time_core_reset(core);
	if (!trn_core_is_cc(core))
		scrub_memories(core);
}

/* Queue @i of the 16 times 16 of the core's ring engines. */
static struct trn_udma_queue *core_queue(struct trn_core *core, unsigned int i)
{
	return trn_udma_queue_at(core->chip,
				 neuron_core_dma(core->index) +
				      i / NEURON_UDMA_QUEUES,
				 i % NEURON_UDMA_QUEUES);
}

bool trn_core_hold_queues(struct trn_core *core)
{
	bool running = false;
	unsigned int i;

	if (trn_core_is_cc(core))
		return false;
	for (i = 0; i < 16 * NEURON_UDMA_QUEUES; i++)
		running |= trn_udma_queue_hold(core_queue(core, i));
	return running;
}

void trn_core_reset_queues(struct trn_core *core)
{
	unsigned int i;

	if (trn_core_is_cc(core))
		return;
	for (i = 0; i < 16; i++)
		trn_udma_reset_engine(core->chip,
				      neuron_core_dma(core->index) + i);
	for (i = 0; i < 16 * NEURON_UDMA_QUEUES; i++)
		trn_udma_queue_reset(core_queue(core, i));
}

uint32_t trn_core_status(struct trn_core *core)
{
	uint32_t status;

	pthread_mutex_lock(&core->lock);
	status = core->status;
	pthread_mutex_unlock(&core->lock);
	return status;
}

void trn_core_reset_state(struct trn_core *core)
{
	bool resetting;

	trn_job_drop(core);
	trn_group_core_reset(core);
	/* Before the scrub: what peers were granted is over. */
	atomic_store(&core->generation, 0);
	trn_core_scrub(core);

	pthread_mutex_lock(&core->lock);
	resetting = core->reset_request;
	core->doorbell_lo = 0;
	core->doorbell = 0;
	core->doorbell_rung = false;
	core->reset_request = false;
	core->reset_queues = false;
	core->reset_stuck = false;
	core->status = NEURON_CORE_IDLE;
	pthread_mutex_unlock(&core->lock);
	/* A core reset that has not got to its end holds the queues. */
	if (resetting)
		trn_core_reset_queues(core);
	atomic_store(&core->progress, 0);
	atomic_store(&core->busy_ns, 0);
	atomic_store(&core->busy_since, 0);
	atomic_store(&core->stale_posts, 0);
	atomic_store(&core->violations, 0);
	atomic_store(&core->jobs, 0);
	atomic_store(&core->virtual_ns, 0);
}
