/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Observers: a debugger, a tracer or a simulator is told what the chip does, instruction by
 * instruction, and may hold an engine before any of them.
 *
 * A chip has one observer or none. Its functions are called by workers, several at a time.
 * They must not wait, and of the library they may call trn_observe_release() and trn_chip_stop()
 * only. A chip that one of them stops carries out no further instruction and moves no further
 * packet, but for those that other workers are in the middle of; a pool that is stepped has no
 * others. Results and device times of a program are the same with and without an observer.
 */
#ifndef TRN_API_OBSERVE_H
#define TRN_API_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"

struct trn_chip;

/* Units: NeuronCores have their number, CC-cores this one. */
#define TRN_UNIT_CC(cc)		(NEURON_MAX_CORES + (cc))

/**
 * struct trn_observe_inst - an engine and its instruction
 * @unit: whose engine it is
 * @engine: which engine
 * @pc: place of the instruction in the engine's program
 * @job_id: of the job block
 * @time_ns: where the engine is by its own clock, from the start of the job on; 0 without
 *	device time. What others hold up is not in it yet
 * @inst: the instruction; valid during the call
 * @reg: registers of the engine; valid during the call
 */
struct trn_observe_inst {
	unsigned int unit;
	enum neuron_engine engine;
	uint32_t pc;
	uint64_t job_id;
	uint64_t time_ns;
	const struct neuron_inst *inst;
	const uint32_t *reg;
};

/**
 * struct trn_observe_copy - a packet that a DMA queue has moved
 * @dma_engine: which queue
 * @queue: see @dma_engine
 * @job_id: of the job that has the queue; 0: it is the kernel's
 * @pc: place of its first M2S descriptor in the ring
 * @descriptors: its M2S descriptors; 1 for a packet that an instruction generated
 * @bytes: moved
 */
struct trn_observe_copy {
	unsigned int dma_engine;
	unsigned int queue;
	uint64_t job_id;
	uint32_t pc;
	uint32_t descriptors;
	uint64_t bytes;
};

/**
 * struct trn_observe_write - watched bytes that have another value than before
 * @watch: which of the watches, from 0 on
 * @old: its bytes before; valid during the call
 * @now: its bytes; valid during the call
 * @inst: the instruction that has changed them, or NULL
 * @copy: the packet that has changed them, or NULL
 */
struct trn_observe_write {
	unsigned int watch;
	const uint8_t *old;
	const uint8_t *now;
	const struct trn_observe_inst *inst;
	const struct trn_observe_copy *copy;
};

/**
 * struct trn_observe_nan - an instruction that has left a NaN in its destination
 * @inst: which instruction; its dst is the tile
 * @psum: the destination is in PSUM, else it is in SBUF
 * @row: partition of the tile that has the first NaN, from 0 on
 * @element: the first NaN there, as the access pattern counts, from 0 on
 * @partition: of the memory, where this NaN lies
 * @offset: bytes from the beginning of that partition to it
 * @count: NaNs in the tile
 * @elements: of the tile
 */
struct trn_observe_nan {
	const struct trn_observe_inst *inst;
	bool psum;
	unsigned int row;
	uint32_t element;
	unsigned int partition;
	uint32_t offset;
	uint64_t count;
	uint64_t elements;
};

/**
 * struct trn_observe_sem - a semaphore or an event that has changed
 * @unit: whose it is; TRN_UNIT_NONE: of a TOP_SP that is no CC-core
 * @index: its number
 * @event: it is an event
 * @old: before
 * @value: now
 * @poster: who changed it, NEURON_SEM_POSTER_*; 0: not known
 */
struct trn_observe_sem {
	unsigned int unit;
	unsigned int index;
	bool event;
	int32_t old;
	int32_t value;
	uint32_t poster;
};

#define TRN_UNIT_NONE	UINT32_MAX

/**
 * struct trn_observe_fault - the error that ends a job, as its completion record tells it
 * @unit: that ran the job
 * @job_id: of the job block
 * @cause: what went wrong
 * @source: enum neuron_engine, or NEURON_SOURCE_DMA
 * @queue: of the DMA engine, when a queue is to blame
 * @pc: place of the instruction or of the descriptor
 * @addr: address that was refused, or 0
 */
struct trn_observe_fault {
	unsigned int unit;
	uint64_t job_id;
	enum neuron_cause cause;
	uint16_t source;
	uint16_t queue;
	uint32_t pc;
	uint64_t addr;
};

enum trn_observe_answer {
	TRN_OBSERVE_GO,
	TRN_OBSERVE_PARK,	/* hold the engine there */
};

/**
 * struct trn_observer - what is told; each may be NULL
 * @opaque: first argument of all
 * @before: the instruction has been fetched and checked; its wait has not begun. Called once
 *	for each time that it is carried out
 * @after: it has been carried out; its post, if it has one, has been made
 * @moved: called before what waits for the packet is told of it
 * @wrote: called before @after or @moved of the instruction or packet that has changed bytes
 *	which are watched (trn_chip_watch())
 * @nan: the instruction has been carried out and has left a NaN in its destination, whether it made
 *	the NaN or passed it on; nobody has been told that it is done. Each instruction with a
 *	destination of a floating-point type is looked at, which takes time, and no transfer is: its
 *	bytes have no type
 * @semaphore: called with the lock of the unit's semaphores, so that the calls for a unit come
 *	in the order of the changes. trn_observe_release() must not be called
 * @fault: called once for a job
 */
struct trn_observer {
	void *opaque;
	enum trn_observe_answer (*before)(void *opaque, const struct trn_observe_inst *at);
	void (*after)(void *opaque, const struct trn_observe_inst *at);
	void (*moved)(void *opaque, const struct trn_observe_copy *copy);
	void (*wrote)(void *opaque, const struct trn_observe_write *write);
	void (*nan)(void *opaque, const struct trn_observe_nan *nan);
	void (*semaphore)(void *opaque, const struct trn_observe_sem *sem);
	void (*fault)(void *opaque, const struct trn_observe_fault *fault);
};

/**
 * trn_chip_observe() - set, change or (NULL) take away the observer of a chip
 * @chip: stopped and quiet, and nobody reaches its registers or memory meanwhile
 * @observer: stays valid until it is replaced or the chip is freed
 *
 * Without an observer every engine that is parked goes on when the chip does.
 */
void trn_chip_observe(struct trn_chip *chip, const struct trn_observer *observer);

/**
 * trn_observe_release() - let a parked engine carry out its instruction
 * @chip: the chip. Any thread
 * @unit: which engine
 * @engine: see @unit
 *
 * The observer is asked again before the next instruction: to go step by step it parks the
 * engine there. An engine stays parked over trn_chip_stop() and trn_chip_resume(), and in a
 * saved chip; the end of its job and every reset release it.
 *
 * Return: false: there is no such engine, or it is not parked.
 */
bool trn_observe_release(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine);

/* The most bytes of a watch, and the most watches of a chip. */
#define TRN_WATCHPOINT_BYTES	64
#define TRN_WATCHPOINTS	32

/**
 * struct trn_watchpoint - bytes whose changes the observer is told of
 * @addr: plain address in HBM, SBUF or PSUM of the chip
 * @len: bytes, 1 to TRN_WATCHPOINT_BYTES, all in one memory
 */
struct trn_watchpoint {
	uint64_t addr;
	uint32_t len;
};

/**
 * trn_chip_watch() - tell the observer of changes of bytes
 * @chip: stopped and quiet
 * @watch: all watches, which replace those before; copied
 * @count: 0: none
 *
 * What instructions and queues of the chip change is told, when the instruction or the packet is
 * done. What other chips, host software and trn_inspect_write() change is not; nor is a write
 * that leaves the bytes as they are. Of two actors that write to the same partition at once,
 * which a program without races does with different bytes only, either may be told as the one
 * that has changed the bytes.
 *
 * Watches are the debugger's, not a part of the chip's state: they stay over a reset and over
 * trn_chip_load(), and are not saved. Without watches a write costs one load more.
 *
 * Return: false: too many, or one that is no memory of the chip; those before stay.
 */
bool trn_chip_watch(struct trn_chip *chip, const struct trn_watchpoint *watch, unsigned int count);

#endif /* TRN_API_OBSERVE_H */
