/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * A look into a chip, for debuggers, simulators and tests: memory, engines, jobs, queues.
 *
 * Whoever looks stops the chip and waits until it is quiet (trn_chip_stop()). Only then are
 * jobs, engines and arrays shown; before that their functions refuse. Memory, semaphores and
 * queues may be looked at any time: what is just being written shows half. Looking changes
 * nothing and takes no device time. What an engine waits for is changed by a write of the
 * semaphore.
 */
#ifndef TRN_API_INSPECT_H
#define TRN_API_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"
#include "trn/observe.h"

struct trn_chip;

/**
 * trn_inspect_read() - copy @len bytes of device memory or registers
 * @chip: the chip
 * @addr: plain, routed or neighbour address (neuron/address.h)
 * @buf: out
 * @len: the range lies in one memory; registers and semaphores are read in aligned words
 *
 * Host memory is read as well. Bad cells and faults on demand do not show.
 *
 * Return: NEURON_CAUSE_NONE, _ADDRESS, _FABRIC or _HOST.
 */
enum neuron_cause trn_inspect_read(struct trn_chip *chip, uint64_t addr, void *buf,
				   size_t len);
/**
 * trn_inspect_write() - the other way
 * @chip: the chip
 * @addr: as for trn_inspect_read()
 * @buf: bytes to be written
 * @len: how many
 *
 * A register and a semaphore behave as when software writes them.
 *
 * Return: as trn_inspect_read(), or NEURON_CAUSE_HOST_LIMIT: no host memory may be used for
 * the bytes.
 */
enum neuron_cause trn_inspect_write(struct trn_chip *chip, uint64_t addr, const void *buf,
				    size_t len);

/**
 * struct trn_unwritten - bytes that nobody has written since their memory was cleared
 * @count: how many
 * @first: the first of them
 * @end: the end of those that follow it without a gap
 */
struct trn_unwritten {
	uint64_t count;
	uint64_t first;
	uint64_t end;
};

/**
 * trn_inspect_unwritten() - look for bytes that nobody has written
 * @chip: the chip, with trn_chip_config.check_memory; else there are none
 * @addr: as for trn_inspect_read()
 * @len: the range lies in one memory
 * @found: out: @first and @end count from @addr. The bytes count as written then
 */
void trn_inspect_unwritten(struct trn_chip *chip, uint64_t addr, uint64_t len,
			   struct trn_unwritten *found);

/**
 * struct trn_inspect_place - what a window address means
 * @addr: plain or routed address; for trn_inspect_read()
 * @len: bytes that lie side by side from there
 * @flags: NEURON_WINDOW_*: kind and rights
 */
struct trn_inspect_place {
	uint64_t addr;
	uint64_t len;
	uint32_t flags;
};

/**
 * trn_inspect_window() - look an address of a program up
 * @chip: the chip
 * @unit: whose job it is
 * @addr: window address
 * @place: out
 *
 * Return: NEURON_CAUSE_NONE, _WINDOW; _JOB: @unit runs no job, or the chip is not quiet.
 */
enum neuron_cause trn_inspect_window(struct trn_chip *chip, unsigned int unit, uint64_t addr,
				     struct trn_inspect_place *place);

/**
 * struct trn_inspect_job_state - a job under way
 * @id: of the job block
 * @engines: that still run, as bits
 * @queues: in its queue table
 * @windows: in its window table
 * @instructions: carried out so far
 * @dma_bytes: moved so far
 * @fault: cause NONE: no error yet
 */
struct trn_inspect_job_state {
	uint64_t id;
	uint32_t engines;
	uint32_t queues;
	uint32_t windows;
	uint64_t instructions;
	uint64_t dma_bytes;
	struct trn_observe_fault fault;
};

/**
 * trn_inspect_job() - the job that a unit runs
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @job: out
 *
 * Return: false: @unit runs no job, or the chip is not quiet.
 */
bool trn_inspect_job(struct trn_chip *chip, unsigned int unit, struct trn_inspect_job_state *job);

/**
 * struct trn_inspect_engine_state - a sequencer
 * @status: enum neuron_engine_status
 * @parked: by the observer
 * @count: instructions of its program
 * @base: window address of the program
 * @pc: place of the next instruction
 * @fetched: that is @inst
 * @wait: what it waits for: semaphore, or NEURON_CORE_WAIT_EVENT | event. With
 *	@status WAITING only
 * @retired: instructions that it has carried out in this job
 * @rounding: 0: to nearest, 1: stochastic
 * @fp8_bias: added to the exponent bias of fp8_e3, _e4, _e5
 * @reg: its registers
 * @inst: the next instruction, when @fetched
 */
struct trn_inspect_engine_state {
	uint32_t status;
	bool parked;
	bool fetched;
	uint32_t count;
	uint64_t base;
	uint32_t pc;
	uint32_t wait;
	uint64_t retired;
	uint8_t rounding;
	int8_t fp8_bias[3];
	uint32_t reg[NEURON_NR_REGS];
	struct neuron_inst inst;
};

/**
 * trn_inspect_engine() - the state of a sequencer
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @engine: one that the unit has; a CC-core has NEURON_ENGINE_SYNC
 * @state: out
 *
 * Return: false: there is no such engine, or the chip is not quiet.
 */
bool trn_inspect_engine(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine,
			struct trn_inspect_engine_state *state);
/**
 * trn_inspect_set_register() - change a register of a sequencer
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @engine: which engine
 * @reg: from 1 on; register 0 always reads as 0
 * @value: its new value
 *
 * Return: false: there is no such register, or the chip is not quiet.
 */
bool trn_inspect_set_register(struct trn_chip *chip, unsigned int unit,
			      enum neuron_engine engine, unsigned int reg, uint32_t value);
/**
 * trn_inspect_set_pc() - let a parked engine go on elsewhere in its program
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @engine: which engine
 * @pc: place of the instruction that it is to carry out next
 *
 * The instruction at which it was parked is not carried out. When the chip goes on, the
 * observer is asked about the one at @pc as about any other, and may park the engine again.
 *
 * Return: false: there is no such engine, it is not parked, its program is not that long, or the
 * chip is not quiet. Nothing has changed then.
 */
bool trn_inspect_set_pc(struct trn_chip *chip, unsigned int unit, enum neuron_engine engine,
			uint32_t pc);
/**
 * trn_inspect_accumulators() - what the lanes of an engine have added up
 * @chip: the chip
 * @unit: NeuronCore
 * @engine: NEURON_ENGINE_VECTOR or _SCALAR
 * @value: out, of the 128 lanes
 *
 * Return: false: the engine has none, or the chip is not quiet.
 */
bool trn_inspect_accumulators(struct trn_chip *chip, unsigned int unit,
			      enum neuron_engine engine, float value[128]);
/**
 * trn_inspect_set_accumulators() - the other way
 * @chip: the chip
 * @unit: NeuronCore
 * @engine: NEURON_ENGINE_VECTOR or _SCALAR
 * @value: of the 128 lanes
 *
 * Return: false: the engine has none or is in the middle of an instruction, or the chip is not
 * quiet. Nothing has changed then.
 */
bool trn_inspect_set_accumulators(struct trn_chip *chip, unsigned int unit,
				  enum neuron_engine engine, const float value[128]);

/**
 * trn_inspect_semaphore() - a semaphore of a unit
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @sem: its number
 * @value: out
 * @poster: out, may be NULL: who changed it last, NEURON_SEM_POSTER_*
 *
 * Return: false: there is no such semaphore.
 */
bool trn_inspect_semaphore(struct trn_chip *chip, unsigned int unit, unsigned int sem,
			   int32_t *value, uint32_t *poster);
/**
 * trn_inspect_event() - an event of a unit
 * @chip: the chip
 * @unit: NeuronCore or CC-core
 * @event: its number
 * @value: out: it is raised
 *
 * Return: false: there is no such event.
 */
bool trn_inspect_event(struct trn_chip *chip, unsigned int unit, unsigned int event,
		       bool *value);

/**
 * struct trn_inspect_part_state - a loaded part of the tensor engine's array
 * @place: its rows and columns
 * @dtype: of the stationary operand
 * @k: rows and columns that are loaded
 * @m: see @k
 * @terms: of a product, in each row: 2 in double-row mode, 4 of MX
 */
struct trn_inspect_part_state {
	struct neuron_array place;
	uint8_t dtype;
	uint8_t k;
	uint8_t m;
	uint8_t terms;
};

/**
 * trn_inspect_part() - a part of the tensor engine's array
 * @chip: the chip
 * @unit: NeuronCore
 * @n: 0 to 15: the 32 x 32 cells with which the part begins, in rows of four
 * @part: out
 *
 * Return: false: no part begins there, or the chip is not quiet.
 */
bool trn_inspect_part(struct trn_chip *chip, unsigned int unit, unsigned int n,
		      struct trn_inspect_part_state *part);
/**
 * trn_inspect_weight() - what a cell of a part holds
 * @chip: the chip
 * @unit: NeuronCore
 * @n: the part, as for trn_inspect_part()
 * @row: of the part, from 0 on
 * @column: of the part, from 0 on
 * @term: of its row, from 0 on
 * @weight: out
 *
 * Return: false: nothing is loaded there, or the chip is not quiet.
 */
bool trn_inspect_weight(struct trn_chip *chip, unsigned int unit, unsigned int n,
			unsigned int row, unsigned int column, unsigned int term,
			float *weight);
/**
 * trn_inspect_set_weight() - change what a cell of a part holds
 * @chip: the chip
 * @unit: NeuronCore
 * @n: the part, as for trn_inspect_part()
 * @row: of the part, from 0 on
 * @column: of the part, from 0 on
 * @term: of its row, from 0 on
 * @weight: a number that the part's type has, so that products with it are as on hardware; of
 *	a part that was loaded for a transposition any bits. A cell of an MX part holds an element
 *	times its scale and cannot be changed
 *
 * Return: false: nothing is loaded there, the cell cannot hold @weight, the engine is in the
 * middle of an instruction, or the chip is not quiet. Nothing has changed then.
 */
bool trn_inspect_set_weight(struct trn_chip *chip, unsigned int unit, unsigned int n,
			    unsigned int row, unsigned int column, unsigned int term,
			    float weight);

/**
 * trn_inspect_tile() - copy a tile of SBUF or PSUM
 * @chip: the chip
 * @unit: NeuronCore
 * @ap: the tile as an instruction names it; without an offset register
 * @elements: out: the elements as they are, partition by partition
 * @room: bytes there
 *
 * Return: NEURON_CAUSE_NONE, _OPERAND, _ACCESS, as an instruction gets it; _JOB: no such unit,
 * or not enough room.
 */
enum neuron_cause trn_inspect_tile(struct trn_chip *chip, unsigned int unit,
				   const struct neuron_ap *ap, void *elements, size_t room);
/**
 * trn_inspect_set_tile() - the other way
 * @chip: the chip
 * @unit: NeuronCore
 * @ap: as for trn_inspect_tile()
 * @elements: as they are, partition by partition
 * @room: bytes there
 *
 * Return: as trn_inspect_tile(), or NEURON_CAUSE_HOST_LIMIT.
 */
enum neuron_cause trn_inspect_set_tile(struct trn_chip *chip, unsigned int unit,
				       const struct neuron_ap *ap, const void *elements,
				       size_t room);
/* Numbers in an element of a packed type (fp8_e4fn_x4 and the like). */
#define TRN_INSPECT_PACK	4

/**
 * trn_inspect_size() - bytes of an element
 * @dtype: its type
 *
 * Return: bytes; 0: there is no such type.
 */
size_t trn_inspect_size(enum neuron_dtype dtype);
/**
 * trn_inspect_per_element() - numbers in an element
 * @dtype: its type
 *
 * Return: 1; TRN_INSPECT_PACK: of a packed type; 0: there is no such type, or a double does not
 * hold its numbers (64-bit integers).
 */
unsigned int trn_inspect_per_element(enum neuron_dtype dtype);
/**
 * trn_inspect_numbers() - elements as numbers
 * @dtype: their type
 * @elements: as trn_inspect_tile() gives them
 * @n: how many elements
 * @number: out, trn_inspect_per_element() for each element; exact. Those of a packed type come
 *	without their scale, the one in the lowest bits first; a scale (e8m0) is a power of two
 *
 * Return: false: trn_inspect_per_element() is 0.
 */
bool trn_inspect_numbers(enum neuron_dtype dtype, const void *elements, size_t n,
			 double *number);

/**
 * enum trn_inspect_kind - what the elements of a type are
 * @TRN_INSPECT_NO_TYPE: there is no such type
 * @TRN_INSPECT_FLOAT: floating-point numbers
 * @TRN_INSPECT_INTEGER: integers of 8 to 64 bits
 * @TRN_INSPECT_SCALED: packed numbers of MX, and their scales
 */
enum trn_inspect_kind {
	TRN_INSPECT_NO_TYPE,
	TRN_INSPECT_FLOAT,
	TRN_INSPECT_INTEGER,
	TRN_INSPECT_SCALED,
};

/**
 * trn_inspect_kind_of() - what the elements of a type are
 * @dtype: the type
 *
 * Return: enum trn_inspect_kind.
 */
enum trn_inspect_kind trn_inspect_kind_of(enum neuron_dtype dtype);
/**
 * trn_inspect_round() - numbers as elements of a floating-point type
 * @dtype: their type
 * @number: as they are before an instruction stores them
 * @n: how many
 * @elements: out: what an instruction stores that rounds to nearest and has no exponent bias of
 *	fp8 set
 *
 * Return: false: trn_inspect_kind_of() is not TRN_INSPECT_FLOAT. Nothing is written then.
 */
bool trn_inspect_round(enum neuron_dtype dtype, const float *number, size_t n, void *elements);

/* Room for the text of every instruction, with the terminating zero. */
#define TRN_INSPECT_TEXT	512

/**
 * trn_inspect_text() - an instruction as the assembler writes it
 * @inst: the instruction
 * @text: out: one line, without a newline; always terminated when @room is not 0
 * @room: bytes there; TRN_INSPECT_TEXT is enough
 *
 * One that no engine carries out is written as an .inst directive.
 *
 * Return: characters of the whole text, as snprintf() does.
 */
size_t trn_inspect_text(const struct neuron_inst *inst, char *text, size_t room);
/**
 * trn_inspect_engine_name() - what the assembler calls an engine
 * @engine: which engine
 *
 * Return: one word; NULL: there is no such engine.
 */
const char *trn_inspect_engine_name(enum neuron_engine engine);
/**
 * trn_inspect_type_name() - what the assembler calls a type
 * @dtype: the type
 *
 * Return: one word; NULL: there is no such type.
 */
const char *trn_inspect_type_name(enum neuron_dtype dtype);
/**
 * trn_inspect_type() - the type that has a name
 * @name: as trn_inspect_type_name() gives it
 * @dtype: out
 *
 * Return: false: no type has this name.
 */
bool trn_inspect_type(const char *name, enum neuron_dtype *dtype);

/**
 * trn_inspect_cause_name() - what a cause means
 * @cause: of a fault, a queue or a completion record
 *
 * Return: some words, without a full stop.
 */
const char *trn_inspect_cause_name(enum neuron_cause cause);

/**
 * struct trn_inspect_ring - one side of a DMA queue, counted in descriptors
 * @base: address of the ring
 * @length: of the ring
 * @head: next to be moved
 * @ready: between head and tail
 */
struct trn_inspect_ring {
	uint64_t base;
	uint32_t length;
	uint32_t head;
	uint32_t ready;
};

/**
 * struct trn_inspect_queue_state - a DMA queue
 * @m2s: descriptors that say what is read
 * @s2m: descriptors that say where it goes
 * @unit: that runs the job which has the queue; TRN_UNIT_NONE: no job has it
 * @job_id: of that job
 * @busy: it has work of that job
 * @stopped: it moves nothing: after an error, and when the job that had it has ended, until it is
 *	set up again
 * @cause: that error, of a queue that no job has. A job has its own: trn_inspect_job()
 * @bytes: moved since the last reset of the device
 * @descriptors: M2S descriptors since then
 */
struct trn_inspect_queue_state {
	struct trn_inspect_ring m2s;
	struct trn_inspect_ring s2m;
	unsigned int unit;
	uint64_t job_id;
	bool busy;
	bool stopped;
	enum neuron_cause cause;
	uint64_t bytes;
	uint64_t descriptors;
};

/**
 * trn_inspect_queue() - the state of a DMA queue
 * @chip: the chip
 * @dma_engine: its engine
 * @queue: its number
 * @state: out
 *
 * Return: false: there is no such queue.
 */
bool trn_inspect_queue(struct trn_chip *chip, unsigned int dma_engine, unsigned int queue,
		       struct trn_inspect_queue_state *state);

#endif /* TRN_API_INSPECT_H */
