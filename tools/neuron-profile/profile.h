/* SPDX-License-Identifier: MIT */
/*
 * A device profile, read and joined with the NEFF that ran.
 *
 * A profile (Documentation/libnrt/profile.rst) says what was executed and when. The NEFF says
 * what each instruction and each descriptor is. Together they say who waited for whom: a
 * wait of the model ends at the moment of the post that ends it, so the post is the last one of
 * its semaphore at or before that moment.
 *
 * Nothing here has global state: any thread, one at a time for a profile.
 */
#ifndef NEURON_PROFILE_H
#define NEURON_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neff/neff.h"
#include "neuron/generation.h"
#include "program/dma_build.h"

/* The newest format that is understood. */
#define PROFILE_VERSION		1
#define PROFILE_NONE		UINT32_MAX
/* Actors of a physical core: its engines, and behind them the entries of its queue table. */
#define PROFILE_ACTORS		(NEURON_NR_ENGINES + NEURON_JOB_MAX_QUEUES)
#define PROFILE_MAX_EVENTS	(1u << 24)
#define PROFILE_MAX_CORES	NEFF_MAX_GRAPHS
/* Numbers of a core's semaphores, and behind them its events. */
#define PROFILE_SEMS		(NEURON_NR_SEMAPHORES + NEURON_NR_EVENTS)

/* Why an actor was idle before it began something. */
enum profile_why {
	PROFILE_WHY_NOTHING,	/* it was not */
	PROFILE_WHY_SEMAPHORE,	/* for a post */
	PROFILE_WHY_TRIGGER,	/* a queue: from its trigger to its first byte */
	PROFILE_WHY_ENGINE,	/* a queue: its DMA engine moved bytes of another queue */
	PROFILE_WHY_PORT,	/* for a port of SBUF or PSUM that another engine held */
	PROFILE_WHY_UNKNOWN,	/* the profile does not say */
	PROFILE_NR_WHYS
};

/* Where a transfer's bytes come from or go to. */
enum profile_memory {
	PROFILE_MEMORY_NONE,	/* no transfer */
	PROFILE_MEMORY_HBM,	/* variables of the model */
	PROFILE_MEMORY_SBUF,	/* of the own core */
	PROFILE_MEMORY_SIBLING,	/* SBUF of the other core of the pair */
	PROFILE_MEMORY_PEER,	/* HBM of another rank */
	PROFILE_MEMORY_SEM,	/* a semaphore */
	PROFILE_MEMORY_LOADER,	/* constants and rings of the loader */
	PROFILE_MEMORY_UNKNOWN,	/* the address is made while the program runs */
	PROFILE_NR_MEMORIES
};

/**
 * struct profile_event - an instruction or a packet of a queue that was executed
 * @begin_ns, @end_ns: from the start of the execution
 * @bytes: a packet: moved
 * @wait_ns: how long its actor was idle before it; a queue: although it had been triggered
 * @busy_ns: what it adds to the time in which its actor did something: without what lies in
 *	the background of others
 * @critical_ns: its part of the critical path, with the gap before it
 * @code: opcode, or the number of descriptors
 * @pc: index of the instruction or of the first descriptor
 * @actor: core * PROFILE_ACTORS + engine, or + NEURON_NR_ENGINES + entry of the queue table
 * @step: what the NEFF says about it
 * @cause: the event that it waited for, or the trigger of a packet; or PROFILE_NONE
 * @owner: a packet: the instruction that triggered it; an instruction: itself
 * @sem: SEMAPHORE: which one of its core; at NEURON_NR_SEMAPHORES and above an event
 * @why: enum profile_why
 * @inexact: its times depend on the host
 */
struct profile_event {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t bytes;
	uint64_t wait_ns;
	uint64_t busy_ns;
	uint64_t critical_ns;
	uint32_t code;
	uint32_t pc;
	uint32_t actor;
	uint32_t step;
	uint32_t cause;
	uint32_t owner;
	uint16_t sem;
	uint8_t why;
	bool inexact;
};

/**
 * struct profile_step - an instruction or a packet, as the NEFF has it
 * @flops: arithmetic operations
 * @from, @to: enum profile_memory of a packet, or of the one that the instruction generates
 * @hbm_read, @hbm_written: bytes of the model's variables; not of generated packets
 * @copy: a packet that copies
 * @var, @at: where its bytes come from: variable and first byte
 * @wait_sem: semaphore or event that it waits for; -1: none
 * @post_sem: that it posts, of core @post_core; -1: none
 * @landed: its post is made by the queue that it triggers
 * @line: of @source; NULL: not known
 */
struct profile_step {
	uint64_t flops;
	uint64_t hbm_read;
	uint64_t hbm_written;
	uint64_t at;
	uint32_t var;
	uint32_t line;
	int16_t wait_sem;
	int16_t post_sem;
	uint8_t post_core;
	uint8_t from;
	uint8_t to;
	bool copy;
	bool landed;
	const char *source;
};

/**
 * struct profile_core - a physical core
 * @graph: what it ran
 * @program: its rings
 * @image: its instructions, with real triggers
 * @first_step: of an engine, or of a ring behind them, in the table of steps
 * @windows: numbers that the steps' addresses were built with
 */
struct profile_core {
	const struct neff_graph *graph;
	struct dma_program program;
	struct neuron_inst *image[NEURON_NR_ENGINES];
	uint32_t first_step[PROFILE_ACTORS];
	struct dma_windows windows;
};

/* Events of an actor in the order of its program: [@first, @first + @count) of profile.order. */
struct profile_actor {
	uint32_t first;
	uint32_t count;
};

/**
 * struct profile - the whole
 * @path: of the profile
 * @model: its name
 * @neff_hash: of the NEFF, hexadecimal; empty: the profile does not say
 * @gen: of the chip
 * @number: of the core
 * @start_ns: device time of the start
 * @length_ns: from start to end
 * @wall_ns: host time
 * @instructions, @dma_bytes: that the device counted
 * @lost: events that are missing
 * @inexact: times depend on the host
 * @event, @nr_events: in the order of the file
 * @last: the event that ended last
 * @order: their indexes, actor by actor
 * @actor: by number
 * @step, @nr_steps: what the NEFF has
 * @core, @nr_cores: physical cores
 * @neff, @neff_bytes: read from the file
 */
struct profile {
	char *path;
	char *model;
	char neff_hash[2 * NEFF_HASH_LEN + 1];
	const struct neuron_gen *gen;
	uint32_t number;
	uint64_t start_ns;
	uint64_t length_ns;
	uint64_t wall_ns;
	uint64_t instructions;
	uint64_t dma_bytes;
	uint64_t lost;
	bool inexact;
	struct profile_event *event;
	uint32_t nr_events;
	uint32_t last;
	uint32_t *order;
	struct profile_actor actor[PROFILE_MAX_CORES * PROFILE_ACTORS];
	struct profile_step *step;
	uint32_t nr_steps;
	struct profile_core core[PROFILE_MAX_CORES];
	unsigned int nr_cores;
	struct neff *neff;
	void *neff_bytes;
};

/*
 * Read the profile @path and the NEFF that it is of, and join them. NULL: @error has one line.
 * profile_free() frees it; NULL is fine.
 */
struct profile *profile_open(const char *path, const char *neff, struct nrt_error *error);
void profile_free(struct profile *profile);

/* --- Steps of profile_open(), in this order --- */

/* profile_read.c: the text of @size bytes becomes events. It need not end in a zero. */
NRT_STATUS profile_read(struct profile *profile, const char *text, size_t size,
			struct nrt_error *error);
/* profile_neff.c: the NEFF of @size bytes, which must stay, becomes steps. */
NRT_STATUS profile_read_neff(struct profile *profile, const void *neff, size_t size,
			     struct nrt_error *error);
/* profile_link.c: events get their steps, actors their events. */
NRT_STATUS profile_link(struct profile *profile, struct nrt_error *error);
/* profile_wait.c: events get what they waited for. */
NRT_STATUS profile_wait(struct profile *profile, struct nrt_error *error);
/* profile_link.c: the critical path: from the last event back to what each had to wait for. */
void profile_critical(struct profile *profile);

/* A file; NULL: @error says why. To be freed. */
void *profile_load(const char *path, size_t *size, struct nrt_error *error);

/* --- What is asked for later --- */

static inline unsigned int profile_core_of(uint32_t actor)
{
	return actor / PROFILE_ACTORS;
}

/* Engine of its core, or NEURON_NR_ENGINES + entry of the queue table. */
static inline unsigned int profile_unit_of(uint32_t actor)
{
	return actor % PROFILE_ACTORS;
}

/* The step of packets that were generated: all that is known of them is in the event. */
static inline uint32_t profile_generated(const struct profile *profile)
{
	return profile->nr_steps - 1;
}

static inline bool profile_is_queue(uint32_t actor)
{
	return profile_unit_of(actor) >= NEURON_NR_ENGINES;
}

/* libnrt gives entry n of the queue table DMA engine n % 16 (object/model_build.c). */
#define PROFILE_DMA_ENGINES	16

static inline unsigned int profile_dma_engine_of(uint32_t actor)
{
	return (profile_unit_of(actor) - NEURON_NR_ENGINES) % PROFILE_DMA_ENGINES;
}

/* What is known of the event's ends: of a generated packet, that of its instruction. */
static inline const struct profile_step *profile_ends(const struct profile *profile,
						      const struct profile_event *event)
{
	if (event->step == profile_generated(profile) && event->owner != PROFILE_NONE)
		return &profile->step[profile->event[event->owner].step];
	return &profile->step[event->step];
}

/* Bytes of the model's variables that it read or wrote. */
uint64_t profile_hbm_read(const struct profile *profile, const struct profile_event *event);
uint64_t profile_hbm_written(const struct profile *profile, const struct profile_event *event);

/*
 * Where the instruction is from that the event is of or was triggered by: its file, and the
 * line in *@line; NULL: not known.
 */
const char *profile_source(const struct profile *profile, uint32_t event, uint32_t *line);

#define PROFILE_TEXT	320

/* "vector", "q_in", "q_in[3]"; with several cores "0:vector". */
void profile_actor_name(const struct profile *profile, uint32_t actor, char text[PROFILE_TEXT]);
/* "add.s:12"; without a line "vector+3". */
void profile_place_name(const struct profile *profile, uint32_t event, char text[PROFILE_TEXT]);
/* An instruction in assembler syntax, or what a packet moves. */
void profile_event_name(const struct profile *profile, uint32_t event, char text[PROFILE_TEXT]);
/* "HBM", "SBUF" ... */
const char *profile_memory_name(unsigned int memory);
const char *profile_why_name(unsigned int why);

#endif /* NEURON_PROFILE_H */
