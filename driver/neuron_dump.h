/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a core dump is made of; for the files that make them.
 */
#ifndef _NEURON_DUMP_H_
#define _NEURON_DUMP_H_

#include <linux/types.h>
#include <linux/workqueue.h>

#include "contract/record.h"
#include "neuron_claim.h"

struct drm_printer;
struct neuron_job;
struct neuron_table;

#define NEURON_DUMP_QUEUES	64	/* of a job */
#define NEURON_DUMP_WINDOWS	256	/* of its table, those that are not empty */
#define NEURON_DUMP_BYTES	(256 * 1024)	/* of text, at most */
#define NEURON_DUMP_NOTIFIES	16	/* last entries of the stream */
#define NEURON_DUMP_REGS	(0x40 / 4)	/* first words of the core's block */

/**
 * struct neuron_dump_queue - a queue of the job
 * @engine: DMA engine of the chip
 * @queue: queue of the engine
 * @m2s_head: position in the M2S ring
 * @m2s_tail: descriptors given to it
 * @s2m_head: position in the S2M ring
 * @s2m_tail: descriptors given to it
 */
struct neuron_dump_queue {
	u16 engine;
	u16 queue;
	u32 m2s_head;
	u32 m2s_tail;
	u32 s2m_head;
	u32 s2m_tail;
};

/**
 * struct neuron_dump_engine - an engine of the core
 * @pc: instruction
 * @state: enum neuron_engine_status
 * @wait: semaphore or event (NEURON_CORE_WAIT_EVENT) that it waits for
 * @poster: NEURON_CTL_SEM_POSTER of that semaphore
 */
struct neuron_dump_engine {
	u32 pc;
	u32 state;
	u32 wait;
	u32 poster;
};

/**
 * struct neuron_dump - state of a core
 * @work: publishes it
 * @cc: core in its claim; the claim is referenced
 * @table: window table of the job, referenced, or NULL
 * @memory: what was in the core's memories, or NULL
 * @job: job id
 * @ran_ns: since the doorbell
 * @faulted: @record is the device's; else the job was hung
 * @broken: the device broke the contract
 * @record: completion record
 * @reg: start of the core's register block
 * @engine: engines
 * @sem: semaphores
 * @event: bit i: event i is set
 * @nr_notifies: of @notify
 * @notify: last entries of the notification stream, the newest last
 * @nr_queues: of the job; the first NEURON_DUMP_QUEUES are in @queue
 * @queue: queues
 */
struct neuron_dump {
	struct work_struct work;
	struct neuron_claim_core *cc;
	struct neuron_table *table;
	struct neuron_core_memory *memory;
	u64 job;
	u64 ran_ns;
	bool faulted;
	bool broken;
	struct neuron_record record;
	u32 reg[NEURON_DUMP_REGS];
	struct neuron_dump_engine engine[NEURON_NR_ENGINES];
	s32 sem[NEURON_NR_SEMAPHORES];
	u64 event[NEURON_NR_EVENTS / 64];
	unsigned int nr_notifies;
	struct neuron_hw_notify notify[NEURON_DUMP_NOTIFIES];
	unsigned int nr_queues;
	struct neuron_dump_queue queue[NEURON_DUMP_QUEUES];
};

/**
 * struct neuron_dump_text - a dump that is kept for the owner of the core
 * @kept: referenced by the claim and by each reader
 * @job: id of the job that the dump is about
 * @size: bytes of @text
 * @text: the dump as text
 * @memory: contents of the core's memories, printed when a reader asks for them; or NULL
 */
struct neuron_dump_text {
	struct neuron_kept_dump kept;
	u64 job;
	size_t size;
	char *text;
	struct neuron_core_memory *memory;
};

/* neuron_dump_print.c; may sleep */
void neuron_dump_print(const struct neuron_dump *dump, struct drm_printer *p);

/* neuron_dump_stream.c */
void neuron_dump_stream(struct neuron_dump *dump, struct neuron_job *job);

#endif /* _NEURON_DUMP_H_ */
