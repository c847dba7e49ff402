/* SPDX-License-Identifier: MIT */
/*
 * Small programs for the tests of the runtime, made with the builder library.
 */
#ifndef SELFTESTS_LIBNRT_PROGRAMS_H
#define SELFTESTS_LIBNRT_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows and columns of the fp32 tensors "x" and "y" of most programs. */
#define PROGRAM_ROWS	4
#define PROGRAM_COLUMNS	64
#define PROGRAM_BYTES	(PROGRAM_ROWS * PROGRAM_COLUMNS * 4)

/* A NEFF in memory, for free(). */
struct program {
	void *data;
	size_t size;
};

/* y = 2 x + 1, through SBUF and the vector engine; queue sets of @queues queues. */
struct program program_scale(unsigned int queues);

/* y = 2 x + 1, through queues that have priorities. */
struct program program_priorities(void);

/* y = x transposed, by DMA alone, four bytes at a time. */
struct program program_transpose(void);

/* y = x + c, where c is a constant of the file: 0, 1, 2, ... */
struct program program_constant(void);

/* y = x, multiplied by ones on the diagonal: the kernel for products. */
struct program program_matmul(void);

/* y = 2 x + 1, after one instruction that is none, from source line 42. */
struct program program_bad_opcode(void);

/* Loads from behind the end of x. */
struct program program_out_of_bounds(void);

/* Stores to x, an input. */
struct program program_read_only(void);

/* Runs past its last instruction. */
struct program program_no_halt(void);

/* Never ends. */
struct program program_spin(void);

/* Waits for a semaphore that nobody posts. */
struct program program_stuck(void);

/* y = 0 * x, in the instruction at pc 1 of the vector engine, from line 9 of a file nan.c. */
struct program program_nan(void);

/* y = x; x is printed, after "x is ". */
struct program program_print(void);

/* y = 2 x + 1, after @nr notices with the tags PROGRAM_TAG + 0, 1, ...; the last 4 are kept. */
#define PROGRAM_TAG	0x100
struct program program_notices(unsigned int nr);

/* A tensor of PROGRAM_MUCH bytes is printed. */
#define PROGRAM_MUCH	(16u << 20)
struct program program_print_much(void);

/*
 * The vector engine waits for two loads, and there is one; the sync engine waits for it. From
 * lines 7 and 8 of waits.c.
 */
struct program program_waits(void);

/* y = x of the rank before: each of 2 or 4 ranks pushes its x to its neighbour. */
struct program program_push(void);

/* y = x of the rank behind, read from there. */
struct program program_pull(void);

/*
 * y = the transpose of the sum of the x of @ranks ranks: block b of y on rank r is block r of that
 * sum. An all-reduce, and behind it an all-to-all, on the CC-cores.
 */
struct program program_collectives(unsigned int ranks);

/*
 * y = the sum of the x of @ranks ranks. 16 collectives, which have other plans and other sizes,
 * and memory that others touch nowhere but inside the model.
 */
struct program program_many_collectives(unsigned int ranks);

/* The same by @nr collectives, which may be more than a stream has semaphores to start them. */
struct program program_more_collectives(unsigned int ranks, unsigned int nr);

/* The same by one collective, which needs few semaphores. */
struct program program_one_collective(unsigned int ranks);

/*
 * y = the sum of the x of the pair of ranks 2 k and 2 k + 1; with @all the largest one of all
 * @ranks ranks.
 */
struct program program_pairs(unsigned int ranks, bool all);

/* The same as program_collectives(), by lists of parts of tensors in HBM and in SBUF. */
struct program program_lists(unsigned int ranks);

/*
 * y = the sum of the x of 2 ranks, by @nr lists, at least 8. Each has 64 tensors, but the first
 * ones together @missing less. A CC-core needs 3 windows, 11 for each list, and 2 for each tensor.
 */
struct program program_many_lists(unsigned int nr, unsigned int missing);

/* As program_collectives(), with more memory than any chip has. */
struct program program_large_collectives(unsigned int ranks);

/* y = the sum of the x of @ranks ranks, which all of them have in the scratchpad. */
struct program program_scratch_collectives(unsigned int ranks);

/* y = x, by way of a variable of the scratchpad that ends at byte @bytes of it. */
struct program program_scratch_of(uint64_t bytes);

/* The first word of y is the rank, as an integer. */
struct program program_rank(void);

/*
 * y = x, by way of three variables of the scratchpad: at its begin, over the byte PROGRAM_PAGE, and
 * behind that one.
 */
#define PROGRAM_PAGE	(512ull << 20)
struct program program_scratch(void);

/*
 * y = x: each core of a pair puts half of x into the scratchpad of the pair, and tells the other
 * one, by a transfer that increments its semaphore, to store it. LNC 2.
 */
struct program program_exchange(void);

/* y = 2 x + 1, half of it by each core of a pair, and stored by the other one. LNC 2. */
struct program program_pair(void);

/* y = x with its halves swapped, by three exchanges of tiles between the cores of a pair. LNC 2. */
struct program program_sendrecv(void);

enum program_end { PROGRAM_FAULTS, PROGRAM_HANGS };

/* The first core of a pair waits for ever; the second ends as @end says. LNC 2. */
struct program program_second(enum program_end end);

#endif /* SELFTESTS_LIBNRT_PROGRAMS_H */
