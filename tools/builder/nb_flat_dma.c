// SPDX-License-Identifier: MIT
/* Records of tiles, transfers, registers and loops. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "nb_alloc.h"
#include "nb_flat_private.h"

#define QUEUES	16

static const char *const engine_letters = "tvsgy";

static bool memory_is_known(struct flat *f)
{
	uint32_t memory = f->call->arg[1];

	if (memory < NB_MEMORIES)
		return true;
	nb_fail_here(f->nb, "a record names memory %u of %u", memory, NB_MEMORIES);
	return false;
}

/*
 * arg 0: tile; 1: memory; 2: partitions; 3: bytes in each of them. It gets its place when a record
 * needs it.
 */
void flat_tile_new(struct flat *f)
{
	const int32_t *arg = f->call->arg;

	if (flat_tile_slot(f, arg[0]) && memory_is_known(f))
		nb_tile_bytes(f->nb, arg[1], arg[2], NEURON_DTYPE_FP32, flat_words(arg[3]));
}

/* The same, and arg 4: first partition; 5: offset. The caller has seen to it that it is free. */
void flat_tile_at(struct flat *f)
{
	const int32_t *arg = f->call->arg;

	if (!flat_tile_slot(f, arg[0]) || !memory_is_known(f))
		return;
	f->tile[arg[0]].ap = arg[1] == NB_PSUM ?
		nb_psum_tile(arg[4], arg[2], arg[5], NEURON_DTYPE_UINT8, arg[3]) :
		nb_tile(arg[4], arg[2], arg[5], NEURON_DTYPE_UINT8, arg[3]);
	f->tile[arg[0]].handle = -1;
}

/* A place that no tile of tile_new is given; the args of tile_at. */
void flat_reserve(struct flat *f)
{
	const int32_t *arg = f->call->arg;

	if (memory_is_known(f))
		nb_tile_at(f->nb, arg[1], arg[4], arg[2], arg[5], NEURON_DTYPE_FP32,
			   flat_words(arg[3]));
}

static int queue_of(struct flat *f, enum neuron_engine e, unsigned int priority, bool generate)
{
	int *queue;
	char name[32];

	if (e >= NEURON_NR_ENGINES || priority >= FLAT_PRIORITIES)
		return nb_fail_here(f->nb, "there is no engine %d, or no priority %u", e, priority);
	queue = &f->queue[e][priority][generate];
	if (*queue >= 0)
		return *queue;
	snprintf(name, sizeof(name), "q%c%u%s", engine_letters[e], priority, generate ? "d" : "");
	*queue = nb_find_queue(f->nb, name);
	if (*queue >= 0)
		return *queue;
	*queue = nb_queue(f->nb, name, generate ? "dynamic" : "data", e, generate ? 1 : QUEUES);
	if (*queue >= 0 && priority)
		nb_queue_priority(f->nb, *queue, priority - 1);
	return *queue;
}

static const struct nb_flat_side *sides_of(const struct flat *f)
{
	return (const struct nb_flat_side *)(f->call + 1);
}

static uint64_t sbuf_byte(const struct neuron_ap *ap, unsigned int partition, uint64_t byte)
{
	uint32_t addr = le32toh(ap->addr);

	return nb_sbuf_offset(NEURON_GET(NEURON_AP_PARTITION, addr) + partition,
			      NEURON_GET(NEURON_AP_OFFSET, addr) + byte);
}

static struct nb_side side_of(struct flat *f, const struct nb_flat_side *from)
{
	struct nb_side side = { .var = from->var, .offset = from->offset, .ndim = from->ndim };

	memcpy(side.size, from->size, sizeof(side.size));
	memcpy(side.step, from->step, sizeof(side.step));
	if (from->tile == NB_FLAT_NONE)
		return side;
	if (!flat_tile_slot(f, from->tile))
		return side;
	if (le32toh(f->tile[from->tile].ap.addr) & NEURON_AP_PSUM) {
		nb_fail_here(f->nb, "a transfer or register names tile %u, which lies in PSUM",
			     from->tile);
		return side;
	}
	side.var = nb_sbuf(f->nb);
	side.offset = sbuf_byte(&f->tile[from->tile].ap, from->partition, from->offset);
	return side;
}

/*
 * arg 0: priority + 1, or 0; 1: rows that there are, for an index; 2, 3: registers with bytes for
 * the sources, the destination. The last operand is the index if there is one.
 */
void flat_dma(struct flat *f)
{
	const struct nb_flat *call = f->call;
	const struct nb_flat_side *side = sides_of(f);
	bool indexed = call->flags & (NB_FLAT_GATHER | NB_FLAT_SCATTER);
	bool generate = call->flags & NB_FLAT_GENERATE;
	struct nb_move move = {
		.op = call->op0,
		.to_dtype = call->dtype,
		.from_dtype = call->op1,
		.accumulate = call->flags & NB_FLAT_ACCUMULATE,
		.gather = call->flags & NB_FLAT_GATHER,
		.scatter = call->flags & NB_FLAT_SCATTER,
		.skip = call->flags & NB_FLAT_SKIP,
	};
	struct nb_run_time run = { .from_reg = call->arg[2], .to_reg = call->arg[3],
				   .sem = -1 };
	int queue = queue_of(f, call->engine, call->arg[0], generate);
	unsigned int i, count = call->count - indexed;
	char name[32];
	int block;

	if (count < 2 || count - 1 > NEURON_UDMA_OP_MAX_SRC || queue < 0) {
		nb_fail_here(f->nb, "a transfer has a destination and 1 to 16 sources");
		return;
	}
	move.to = side_of(f, &side[0]);
	move.nr_from = count - 1;
	for (i = 0; i + 1 < count; i++) {
		move.from[i] = side_of(f, &side[i + 1]);
		move.scale[i] = 1;
	}
	if (indexed) {
		struct nb_side index = side_of(f, &side[count]);

		move.index = index.var;
		move.index_offset = index.offset;
		move.index_step = index.step[1];
		move.limit = call->arg[1];
	}
	if (!generate) {
		if (move.op == NEURON_UDMA_OP_COPY && move.to_dtype == move.from_dtype)
			nb_dma(f->nb, queue, move.to, move.from[0], -1);
		else
			nb_dma_move(f->nb, queue, &move, -1);
		return;
	}
	snprintf(name, sizeof(name), "dge%u", f->blocks++);
	block = nb_dge(f->nb, name, &move);
	if (block)
		nb_dma_generate(f->nb, queue, block, 0, &run);
}

/* The next engine of the record's mask from @e on. */
static unsigned int next_engine(const struct flat *f, unsigned int e)
{
	while (e < NEURON_NR_ENGINES && !(f->call->engine & NEURON_BIT(e)))
		e++;
	return e;
}

/* arg 0: register; 1: value */
void flat_reg_set(struct flat *f)
{
	unsigned int e;

	for (e = next_engine(f, 0); e < NEURON_NR_ENGINES; e = next_engine(f, e + 1))
		nb_reg_set(f->nb, e, f->call->arg[0], f->call->arg[1]);
}

/* arg 0: register; 1: register; 2: register, or if it is 0 the number in 3 */
void flat_reg_alu(struct flat *f)
{
	const int32_t *arg = f->call->arg;
	unsigned int e;

	for (e = next_engine(f, 0); e < NEURON_NR_ENGINES; e = next_engine(f, e + 1)) {
		if (arg[2])
			nb_reg_alu_reg(f->nb, e, f->call->op0, arg[0], arg[1], arg[2]);
		else
			nb_reg_alu(f->nb, e, f->call->op0, arg[0], arg[1], arg[3]);
	}
}

/* arg 0: register; 1: register that is added to the place */
void flat_reg_load(struct flat *f)
{
	struct nb_side side = side_of(f, sides_of(f));
	unsigned int e;

	for (e = next_engine(f, 0); e < NEURON_NR_ENGINES; e = next_engine(f, e + 1))
		nb_reg_load(f->nb, e, f->call->arg[0], side.var, side.offset, f->call->arg[1]);
}

void flat_reg_store(struct flat *f)
{
	struct nb_side side = side_of(f, sides_of(f));
	unsigned int e;

	for (e = next_engine(f, 0); e < NEURON_NR_ENGINES; e = next_engine(f, e + 1))
		nb_reg_store(f->nb, e, side.var, side.offset, f->call->arg[1], f->call->arg[0]);
}

/* arg 0: register */
void flat_reg_rank(struct flat *f)
{
	unsigned int e;

	for (e = next_engine(f, 0); e < NEURON_NR_ENGINES; e = next_engine(f, e + 1))
		nb_reg_rank(f->nb, e, f->call->arg[0]);
}

/* Of each engine a semaphore for barriers: both cores say this first, so the numbers are equal. */
void flat_pair(struct flat *f)
{
	char name[32];
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		f->ready[e] = nb_sem(f->nb, false);
		snprintf(name, sizeof(name), "ready_%c", engine_letters[e]);
		f->other[e] = nb_sibling_sem(f->nb, name, f->ready[e], 1);
	}
}

/* arg 0: register */
void flat_core_barrier(struct flat *f)
{
	enum neuron_engine e = f->call->engine;

	if (e >= NEURON_NR_ENGINES || f->other[e] <= 0)
		nb_fail_here(f->nb, "a barrier needs a pair of cores");
	else
		nb_core_barrier(f->nb, e, f->other[e], f->ready[e], f->call->arg[0]);
}

/* arg 0: which of nb_collective(): its variable is "collective N", its semaphore -1 */
void flat_collective(struct flat *f)
{
	static const char queue_name[] = "collectives";
	enum neuron_engine e = f->call->engine;
	const uint32_t one = htole32(1);
	int queue, start, word;
	char name[32];

	snprintf(name, sizeof(name), "collective %d", f->call->arg[0]);
	start = nb_find_var(f->nb, name);
	if (!start || e >= NEURON_NR_ENGINES) {
		nb_fail_here(f->nb, "there is no %s, or no engine %d", name, e);
		return;
	}
	word = nb_find_var(f->nb, "collective start");
	if (!word)
		word = nb_file(f->nb, "collective start", &one, sizeof(one));
	queue = nb_find_queue(f->nb, queue_name);
	if (queue < 0)
		queue = nb_queue(f->nb, queue_name, "data", e, 1);
	if (queue >= 0 && word)
		nb_dma(f->nb, queue, nb_linear(start, 0, 4), nb_linear(word, 0, 4), -1);
}

/* arg 0: register; 1: how often */
void flat_begin_loop(struct flat *f)
{
	nb_begin_loop(f->nb, f->call->arg[0], f->call->arg[1]);
}

/* op0: comparison; arg 0: register; 1: register, or if it is 0 the number in 2 */
void flat_begin_while(struct flat *f)
{
	const int32_t *arg = f->call->arg;

	nb_begin_while(f->nb, f->call->op0, arg[0], arg[1], arg[2]);
}

void flat_end_loop(struct flat *f)
{
	nb_end_loop(f->nb);
}
