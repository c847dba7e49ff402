/* SPDX-License-Identifier: MIT */
/*
 * Builder library: describes a program in C and writes it as a NEFF.
 *
 * A program has variables, DMA queue sets, semaphores and five instruction
 * streams. Functions that emit an instruction return a pointer to it, valid
 * until the next emission on the same engine, so that nb_wait() and nb_post()
 * can add its synchronisation:
 *
 *	nb_wait(nb_matmul(nb, psum, x, 0), loaded, 2);
 *
 * Errors stick: the first one is kept with a message, later calls do nothing
 * useful but are safe (emitters return a scratch instruction), and nb_pack()
 * reports it. Not thread safe; programs are independent of each other.
 */
#ifndef NEURON_BUILDER_H
#define NEURON_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/isa.h"
#include "neuron/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that is declared here, and nothing else, can be called in the shared library. */
#pragma GCC visibility push(default)

struct nb_program;

/* A program; @name is the model name in the NEFF. NULL: out of memory. */
struct nb_program *nb_new(const char *name);
void nb_free(struct nb_program *nb);

/* The first error, or NULL. Valid until nb_free(). */
const char *nb_error(const struct nb_program *nb);
/* To look for more of them. What the program is after one it can only be freed. */
void nb_forget_error(struct nb_program *nb);
/* For libraries on the builder: the error is @text, with where nb_source() says. Always -1. */
int nb_set_error(struct nb_program *nb, const char *text);

/*
 * The program of the second physical core. With it the NEFF is for LNC 2: the logical core
 * has two physical ones, @nb runs on the first. Both share inputs and outputs by name;
 * everything else belongs to one of them. All functions take either, but nb_pack(),
 * nb_write() and nb_free() take @nb. A second program without instructions halts at once.
 */
struct nb_program *nb_second(struct nb_program *nb);

/*
 * Variables; each returns the var_id, which is also the window index, or 0
 * after an error. Names are unique. Sizes in bytes.
 */
int nb_input(struct nb_program *nb, const char *name, enum neuron_dtype dtype,
	     unsigned int ndim, const uint32_t *shape);
int nb_output(struct nb_program *nb, const char *name, enum neuron_dtype dtype,
	      unsigned int ndim, const uint32_t *shape);
/* HBM scratch, zero when the model is loaded. */
int nb_tmp(struct nb_program *nb, const char *name, uint64_t size);
/*
 * Bytes from @offset on, a multiple of 4, of the scratchpad that all models of a core share. What
 * an execution writes there lasts until it ends; both cores of a pair see the same bytes.
 */
int nb_virtual(struct nb_program *nb, const char *name, uint64_t size, uint64_t offset);
/*
 * The same as nb_tmp() of a tensor that goes to the debug stream of its core after each execution,
 * with the text @prefix of at most 511 bytes (nrt/ndebug_stream.h).
 */
int nb_print(struct nb_program *nb, const char *name, const char *prefix,
	     enum neuron_dtype dtype, unsigned int ndim, const uint32_t *shape);
/* Constant; @data is copied. */
int nb_file(struct nb_program *nb, const char *name, const void *data,
	    size_t size);
/* 8 bytes that hold the address of variable @ref. */
int nb_pointer(struct nb_program *nb, const char *name, int ref);
/* The addresses of @count variables, 8 bytes each, for generated descriptors. */
int nb_dge_table(struct nb_program *nb, const char *name, unsigned int count,
		 const int *refs);
/* SBUF as a variable for DMA; made on first use. See nb_sbuf_offset(). */
int nb_sbuf(struct nb_program *nb);
/* Variable @ref of the rank @offset further on; nrt_load_collectives(). */
int nb_peer(struct nb_program *nb, const char *name, unsigned int offset,
	    int ref);
/* Semaphores [@first, @first + @count) of the rank @offset further on. */
int nb_peer_sem(struct nb_program *nb, const char *name, unsigned int offset,
		unsigned int first, unsigned int count);

/*
 * SBUF of the other core of a pair, laid out as nb_sbuf(); and its semaphores [@first,
 * @first + @count), which can be posted, not read. Only in a NEFF that has nb_second().
 */
int nb_sibling_sbuf(struct nb_program *nb, const char *name);
int nb_sibling_sem(struct nb_program *nb, const char *name, unsigned int first,
		   unsigned int count);

/**
 * struct nb_side - one end of a transfer: up to four nested runs of bytes
 * @var: variable
 * @offset: first byte
 * @ndim: 1 to 4
 * @size: [0] contiguous bytes, [1..] repeat counts
 * @step: [0] 1, [1..] distance in bytes
 */
struct nb_side {
	int var;
	uint64_t offset;
	unsigned int ndim;
	uint32_t size[4];
	int64_t step[4];
};

/**
 * struct nb_collective - a collective of all ranks that nrt_load_collectives() names
 * @op: "all_reduce", "reduce_scatter", "all_gather", "alltoall", "permute", "permute_implicit",
 *	"broadcast", "barrier", "reduce_scatterv", "all_gatherv" or "alltoallv"
 * @reduce: "add", "min" or "max", of the first two and "reduce_scatterv"; of "permute_implicit"
 *	one of them or NULL; else NULL
 * @dtype: of the elements
 * @input, @output: variables in HBM: an nb_input() (only to read), nb_output(), nb_tmp() or
 *	nb_virtual(); not used by a barrier
 * @inputs, @outputs, @nr_parts: in place of these two, lists of @nr_parts (at most
 *	NEFF_MAX_PARTS of neuron/neff.h) parts of such variables or of nb_sbuf(). A block has the
 *	bytes of all of them, one behind the other; each output is as large as its input makes it.
 *	Not of the operations with metadata
 * @ranks: @nr_groups replica groups of @group_size ranks each, in their order
 * @pairs, @nr_pairs: of a permute: from which place of the group to which
 * @root: of a broadcast, a place of the group
 * @priority: of its queues, 0 (the highest) to 3
 * @stream: 0 to 3: those of one stream are done in the order of the calls, those of different
 *	streams beside each other. Not every core has all of them
 * @semaphore: nb_sem() that is incremented when the rank's part is complete; -1 in a program with
 *	nb_auto(), which then finds one and makes the waits of those that use @input and @output;
 *	not of a barrier
 * @metadata: of the last three operations: a variable as @output with rows of @group_size uint32
 *	each, by place in the group, in elements: how many this rank sends to whom, from which
 *	element of @input on, how many it has got, and from which element of its @output on the
 *	others write. "all_gatherv" reads the first number of the first two rows only,
 *	"reduce_scatterv" the first two rows
 * @recv_counts_known: the third row is not written
 * @has_rdispls: there is a fourth row; else the block of each rank has its place in @output
 * @channels: of "permute_implicit": 1 to NEFF_MAX_CHANNELS rings, each of which passes on a block
 *	of the input; with @reduce there are twice as many, and each ring passes on what a block of
 *	the first half and one of the second come to. 0 is 1
 *
 * The lists are copied.
 */
struct nb_collective {
	const char *op;
	const char *reduce;
	enum neuron_dtype dtype;
	int input;
	int output;
	const struct nb_side *inputs;
	const struct nb_side *outputs;
	unsigned int nr_parts;
	const uint32_t *ranks;
	unsigned int group_size;
	unsigned int nr_groups;
	const uint32_t (*pairs)[2];
	unsigned int nr_pairs;
	unsigned int root;
	unsigned int priority;
	unsigned int stream;
	int semaphore;
	int metadata;
	bool recv_counts_known;
	bool has_rdispls;
	unsigned int channels;
};

/*
 * Add a collective. Returns a variable of one word: a DMA of the word 1 to it starts the collective
 * when all before it on its stream are complete. Each execution starts all, once each; the one that
 * is 16 (NEFF_NR_STARTS) places behind another one on the stream, behind that one. If nb_auto()
 * finds the semaphore, a set of one queue starts it, which does nothing else but start others of
 * the stream, in the order in which they were added. There are at most NEFF_MAX_COLLECTIVES.
 */
int nb_collective(struct nb_program *nb, const char *name, const struct nb_collective *what);

/* The variable called @name, or 0; its size in bytes, 0: no such variable. */
int nb_find_var(const struct nb_program *nb, const char *name);
uint64_t nb_var_size(const struct nb_program *nb, int var);

/* Offset in the SBUF variable of byte @byte of partition @partition. */
uint64_t nb_sbuf_offset(unsigned int partition, uint64_t byte);

/*
 * A semaphore, cleared at the start of each execution; or with @keep one that
 * peers post to, which keeps its value between executions. -1 after an error.
 */
int nb_sem(struct nb_program *nb, bool keep);

/* Bytes of the notification stream: a power of two from 64. */
void nb_notify_bytes(struct nb_program *nb, uint32_t bytes);

/*
 * A DMA queue set of @num_queues queues (1 to 16), triggered by @owner. @type:
 * "in", "out", "data", or "dynamic" for generated descriptors only. Returns its
 * handle, -1 after an error.
 */
int nb_queue(struct nb_program *nb, const char *name, const char *type,
	     enum neuron_engine owner, unsigned int num_queues);
/* Its queues have a priority: 0 (the highest, else theirs) to 3. Only for trn3. */
void nb_queue_priority(struct nb_program *nb, int queue, unsigned int priority);

/* The queue set called @name, or -1. */
int nb_find_queue(const struct nb_program *nb, const char *name);
/* Its first entry in the job's queue table, its owner and how many it has. */
unsigned int nb_queue_index(const struct nb_program *nb, int queue);
enum neuron_engine nb_queue_owner(const struct nb_program *nb, int queue);
unsigned int nb_queue_count(const struct nb_program *nb, int queue);

/* @bytes contiguous bytes. */
struct nb_side nb_linear(int var, uint64_t offset, uint32_t bytes);
/* @rows runs of @bytes bytes, @step apart. */
struct nb_side nb_rows(int var, uint64_t offset, uint32_t bytes,
		       uint32_t rows, int64_t step);
/* The same tile in SBUF: @bytes at byte @byte of @rows partitions. */
struct nb_side nb_sbuf_tile(struct nb_program *nb, unsigned int partition,
			    unsigned int rows, uint64_t byte, uint32_t bytes);

/*
 * Start a copy on @queue from its owner's stream. @sem (or -1) is incremented
 * by the number of queues of the set when every byte has landed. The copies of
 * a queue run in the order of these calls.
 */
struct neuron_inst *nb_dma(struct nb_program *nb, int queue,
			   struct nb_side to, struct nb_side from, int sem);

/* The last transfer on @queue also increments semaphore @sem of the other core; LNC 2. */
void nb_dma_remote(struct nb_program *nb, int queue, int sem);

/* Tiles: @partitions x @n elements at byte @offset of each partition. */
struct neuron_ap nb_tile(unsigned int partition, unsigned int partitions,
			 uint32_t offset, enum neuron_dtype dtype,
			 unsigned int n);
struct neuron_ap nb_psum_tile(unsigned int partition, unsigned int partitions,
			      uint32_t offset, enum neuron_dtype dtype,
			      unsigned int n);

/* @ap with dimension @dim (0 innermost, to 3) of @num elements, @step apart. */
struct neuron_ap nb_dim(struct neuron_ap ap, unsigned int dim, uint16_t num,
			int16_t step);
/* @ap with the bytes in register @reg (signed) added to its byte offset. */
struct neuron_ap nb_at_reg(struct neuron_ap ap, unsigned int reg);
/* @ap, of one dimension, with an index at byte @offset from SBUF partition @partition on. */
struct neuron_ap nb_index(struct neuron_ap ap, unsigned int partition, uint32_t offset);

/*
 * The instructions that follow, of all engines, are from line @line of @file: the NEFF says so,
 * and libnrt names the line of an instruction that fails. NULL: from nowhere. @file has 1 to
 * 255 printable characters.
 */
void nb_source(struct nb_program *nb, const char *file, uint32_t line);

/* Index of the next instruction of @e: a branch target. */
uint32_t nb_here(const struct nb_program *nb, enum neuron_engine e);
/* An instruction made by hand. */
struct neuron_inst *nb_raw(struct nb_program *nb, enum neuron_engine e,
			   const struct neuron_inst *inst);
/*
 * Whether the tiles of @inst lie in the memories that they name: of NeuronCore @generation, 2 to 4,
 * or 0: of the newest. If not, the rule is in @rule, which has @size bytes. Tiles that a register
 * moves always fit. It may be called at any time, by several threads.
 */
#define NB_RULE_MAX	160	/* bytes that a rule takes at most */
bool nb_fits(unsigned int generation, enum neuron_engine e, const struct neuron_inst *inst,
	     char *rule, size_t size);
/*
 * Whether NeuronCore @generation, 2 to 4, or 0: the newest, carries out @inst: engine, operators,
 * types, shapes and places. If not, the rule and what is allowed are in @rule, of @size bytes.
 */
bool nb_allowed(unsigned int generation, enum neuron_engine e, const struct neuron_inst *inst,
		char *rule, size_t size);
/* Instruction @index of @e, to change it later; NULL: there is none. */
struct neuron_inst *nb_inst(struct nb_program *nb, enum neuron_engine e,
			    uint32_t index);

/* The instructions, one function for each. */
#include "nb_gpsimd.h"
#include "nb_schedule.h"
#include "nb_sequencer.h"
#include "nb_tensor.h"
#include "nb_transfer.h"
#include "nb_vector.h"

/* Wait until @sem >= @value before the instruction; _take also subtracts. */
struct neuron_inst *nb_wait(struct neuron_inst *inst, int sem, int32_t value);
struct neuron_inst *nb_wait_take(struct neuron_inst *inst, int sem,
				 int32_t value);
/* Add @value to @sem after the instruction. */
struct neuron_inst *nb_post(struct neuron_inst *inst, int sem, int32_t value);

/*
 * --- Synchronisation by the builder ---
 *
 * After nb_auto() the calls that emit instructions, of all engines, are one program in their
 * order, and the builder adds waits and posts so that each instruction and transfer finds the
 * bytes as if all before it were over. It looks at the encoded instructions: emitters, nb_raw()
 * and changes of an instruction until nb_sync() are all seen. Transfers are given no semaphore
 * (-1). A wait by hand is one that everything after it waits for, and a post by hand one that
 * waits for everything before it. nb_halt() is not needed, and nb_here() of no use.
 */
void nb_auto(struct nb_program *nb);

/*
 * What follows, up to nb_end_loop(), is executed @count times by each engine that has something
 * in it; the same register @reg of each counts down from @count to 1. No loop around it may count
 * or compare that register. Transfers in a loop have generated descriptors. Rounds overlap, also
 * of loops in loops; where that is not possible all engines meet before the loop, after each round
 * and behind it.
 */
void nb_begin_loop(struct nb_program *nb, unsigned int reg, uint32_t count);
void nb_end_loop(struct nb_program *nb);

/*
 * What follows, up to nb_end_loop(), is executed as long as a signed comparison @op holds, perhaps
 * not at all. It compares register @reg with register @with, or with the number @value if @with is
 * 0, and it is made before each round. Each engine that has something in the loop makes it with
 * registers of its own, which must hold the same numbers in all of them; only what the program
 * itself does in the loop may change them. It has to set both, also one that begins with 0. Rounds
 * overlap as those of nb_begin_loop() do.
 */
void nb_begin_while(struct nb_program *nb, enum neuron_alu op, unsigned int reg,
		    unsigned int with, int32_t value);

/*
 * What follows, up to nb_else() or nb_end_if(), is executed if a comparison holds, which is that of
 * nb_begin_while(). What is between nb_else() and nb_end_if() is executed if it does not. Each
 * engine that has something in one of the two makes the comparison where the branch begins, with
 * registers of its own that it has set before, whichever parts of other branches and however many
 * rounds of loops have been executed. Transfers in a branch have generated descriptors.
 */
void nb_begin_if(struct nb_program *nb, enum neuron_alu op, unsigned int reg,
		 unsigned int with, int32_t value);
void nb_else(struct nb_program *nb);
void nb_end_if(struct nb_program *nb);

/*
 * Add the waits and posts now: to look at them, or to change instructions by hand. nb_pack()
 * does it otherwise. What is emitted afterwards is not synchronised. 0, or -1 with nb_error().
 */
int nb_sync(struct nb_program *nb);

/* The waits that nb_sync() has made: how many, and where wait @i is. False: no such wait. */
size_t nb_waits(const struct nb_program *nb);
bool nb_wait_at(const struct nb_program *nb, size_t i, enum neuron_engine *engine,
		uint32_t *pc);
/* What wait @i is for, as a line of text; returns its length, as snprintf() does. */
size_t nb_why(const struct nb_program *nb, size_t i, char *text, size_t size);

/* --- Tiles with lifetimes --- */

enum nb_memory {
	NB_SBUF,
	NB_PSUM,
};

/*
 * A tile of @partitions x @n elements that is alive until nb_tile_end(). Its place is the next
 * that is free. Returns its handle, -1 after an error: it does not fit.
 */
int nb_tile_new(struct nb_program *nb, enum nb_memory memory, unsigned int partitions,
		enum neuron_dtype dtype, unsigned int n);
/* The same at a place that is told. It must be free. */
int nb_tile_at(struct nb_program *nb, enum nb_memory memory, unsigned int partition,
	       unsigned int partitions, uint32_t offset, enum neuron_dtype dtype,
	       unsigned int n);
/* From here on other tiles may have its place. */
void nb_tile_end(struct nb_program *nb, int tile);
/*
 * All of the tile, for instructions; of SBUF, for transfers. An offset register that is added to
 * it (nb_at_reg()), and an index (nb_index()), must not lead out of the tile: the builder relies
 * on it.
 */
struct neuron_ap nb_tile_ap(struct nb_program *nb, int tile);
struct nb_side nb_tile_side(struct nb_program *nb, int tile);

/*
 * The NEFF in memory; the caller frees *@data. 0, or -1 with nb_error().
 * Equal programs give equal bytes.
 */
int nb_pack(struct nb_program *nb, void **data, size_t *size);
/* The same into a file, replaced as a whole. */
int nb_write(struct nb_program *nb, const char *path);
/*
 * The same to an empty file that is open for writing. 0, or -1 with nb_error(), or the errno with
 * which a write has failed.
 */
int nb_write_fd(struct nb_program *nb, int fd);

/* Programs as records, for callers that are no C. */
#include "nb_flat.h"

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NEURON_BUILDER_H */
