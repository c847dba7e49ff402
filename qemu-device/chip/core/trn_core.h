/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A NeuronCore: memories, semaphores, sequencers, and the job it runs. A CC-core is
 * one without memories of its own and with one sequencer.
 */
#ifndef TRN_CORE_H
#define TRN_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/trn_pool.h"
#include "core/trn_seq.h"
#include "exec/trn_resume.h"
#include "isa/trn_pe_array.h"
#include "neuron/job.h"
#include "neuron/regs.h"
#include "sync/trn_sem.h"

struct trn_chip;
struct trn_domain;
struct trn_nq_event;
struct trn_job;
struct trn_lanes;

/**
 * struct trn_core - one NeuronCore or CC-core
 * @index: place of the core in trn_chip.core
 * @tpb: the NeuronCore whose DMA engines and memories the core's jobs use; a NeuronCore
 *	uses its own
 * @name: name of the core in the log
 * @controller: task that latches jobs, completes them and resets the core
 * @lock: doorbell, reset_request, job, status
 * @array, @lanes, @desk: NULL in a CC-core
 * @sbuf, @psum: the memories as the TPB window shows them (lazily backed); NULL in a
 *	CC-core
 * @grant_lock: granted accesses to @sbuf look at @generation under it, and the
 *	scrub takes it: none of an earlier claim lands after the scrub. A leaf, but
 *	for the lock of a shadow (trn_check.h)
 * @reset_queues: the reset asked for is one of the queues alone
 * @reset_stuck: the reset asked for never ends
 * @generation: claim generation; posts and writes granted by another one are
 *	dropped
 */
struct trn_core {
	struct trn_chip *chip;
	unsigned int index;
	struct trn_core *tpb;
	char name[20];
	struct trn_task controller;
	pthread_mutex_t lock;
	uint32_t doorbell_lo;
	uint64_t doorbell;		/* job block waiting to be latched */
	bool doorbell_rung;
	bool reset_request;
	bool reset_queues;
	bool reset_stuck;
	struct trn_job *job;
	uint32_t status;		/* enum neuron_core_status */
	struct trn_sems sems;
	struct trn_seq seq[NEURON_NR_ENGINES];
	struct trn_pe_array *array;
	struct trn_lanes *lanes;
	struct trn_desk *desk;
	uint8_t *sbuf;
	uint8_t *psum;
	pthread_mutex_t grant_lock;
	_Atomic uint32_t generation;
	_Atomic uint64_t progress;
	_Atomic uint64_t busy_ns;
	_Atomic uint64_t busy_since;	/* host clock, 0: idle */
	_Atomic uint32_t stale_posts;
	_Atomic uint32_t violations;
	_Atomic uint32_t jobs;
	_Atomic uint64_t virtual_ns;	/* device time, trn_time.c */
	void *time_private;		/* owned by trn_time.c */
};

static inline bool trn_core_is_cc(const struct trn_core *core)
{
	return core->tpb != core;
}

/* The engines that it has, as a mask. */
static inline uint32_t trn_core_engines(const struct trn_core *core)
{
	return trn_core_is_cc(core) ? NEURON_BIT(NEURON_ENGINE_SYNC) :
				      NEURON_BIT(NEURON_NR_ENGINES) - 1;
}

/* What STATUS reads. */
uint32_t trn_core_status(struct trn_core *core);

/* Who SEM_POSTER says it was, when @engine of the core posts. */
uint32_t trn_core_poster(const struct trn_core *core, unsigned int engine);

/* Bytes that the library holds for it between jobs, without its memories. */
size_t trn_core_own_bytes(struct trn_core *core);

/* @event is for the core's own notification block. */
void trn_core_nq(const struct trn_core *core, struct trn_nq_event *event);

/* Software or DMA raised event @event from 0 to 1. Any thread. */
void trn_core_event_raised(struct trn_core *core, int event);

#endif /* TRN_CORE_H */
