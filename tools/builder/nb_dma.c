// SPDX-License-Identifier: MIT
/* Transfers: descriptors of the public form and their trigger. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nb_inst.h"

struct nb_side nb_linear(int var, uint64_t offset, uint32_t bytes)
{
	return (struct nb_side){ .var = var, .offset = offset, .ndim = 1,
				 .size = { bytes }, .step = { 1 } };
}

struct nb_side nb_rows(int var, uint64_t offset, uint32_t bytes, uint32_t rows,
		       int64_t step)
{
	return (struct nb_side){ .var = var, .offset = offset, .ndim = 2,
				 .size = { bytes, rows }, .step = { 1, step } };
}

struct nb_side nb_sbuf_tile(struct nb_program *nb, unsigned int partition,
			    unsigned int rows, uint64_t byte, uint32_t bytes)
{
	return nb_rows(nb_sbuf(nb), nb_sbuf_offset(partition, byte), bytes,
		       rows, NEURON_TPB_SBUF_STRIDE);
}

/* Bytes of the side; more than any variable has when they are too many. */
static uint64_t nb_side_bytes(const struct nb_side *side)
{
	uint64_t bytes = 1;
	unsigned int i;

	for (i = 0; i < side->ndim; i++)
		if (__builtin_mul_overflow(bytes, side->size[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

/* False when an end of the side is beyond what 64 bits count. */
static bool nb_side_extent(const struct nb_side *side, int64_t *low,
			   int64_t *high)
{
	int64_t *end, span;
	unsigned int i;

	if (side->offset > NB_MAX_SIZE)
		return false;
	*low = side->offset;
	*high = side->offset + side->size[0];
	for (i = 1; i < side->ndim; i++) {
		end = side->step[i] < 0 ? low : high;
		if (__builtin_mul_overflow(side->step[i],
					   (int64_t)side->size[i] - 1, &span) ||
		    __builtin_add_overflow(*end, span, end))
			return false;
	}
	return true;
}

int nb_check_side(struct nb_program *nb, const struct nb_side *side)
{
	const struct nb_var *var;
	int64_t low, high;

	if (!nb_var_size(nb, side->var))
		return nb_fail_here(nb, "a transfer names no variable");
	var = &nb->var[side->var - 1];
	if (!side->ndim || side->ndim > 4 || side->step[0] != 1)
		return nb_fail_here(nb, "a transfer of \"%.64s\" is not contiguous",
			       var->name);
	if (!nb_side_bytes(side))
		return nb_fail_here(nb, "a transfer of \"%.64s\" moves no bytes",
			       var->name);
	if (!nb_side_extent(side, &low, &high) || low < 0 ||
	    (uint64_t)high > var->size)
		return nb_fail_here(nb, "a transfer leaves \"%.64s\", which has %llu bytes",
			       var->name, (unsigned long long)var->size);
	return 0;
}

static bool nb_side_is_word(const struct nb_side *side)
{
	return side->ndim == 1 && side->size[0] == 4;
}

bool nb_is_others_sem(const struct nb_program *nb, int var)
{
	return nb->var[var - 1].type == NB_VAR_PEER_SEM ||
	       nb->var[var - 1].type == NB_VAR_SIBLING_SEM ||
	       nb->var[var - 1].type == NB_VAR_CC_SEM;
}

/* A semaphore of another core is posted by one write of a whole word. */
static int nb_check_others_sem(struct nb_program *nb, const struct nb_side *to,
			       const struct nb_side *from)
{
	if (nb_is_others_sem(nb, from->var))
		return nb_fail_here(nb, "semaphores of another core cannot be read");
	if (!nb_is_others_sem(nb, to->var))
		return 0;
	if (!nb_side_is_word(to) || !nb_side_is_word(from) || to->offset % 4)
		return nb_fail_here(nb,
				    "a post to a core is one aligned copy of 4 contiguous bytes");
	return 0;
}

int nb_check_queue(struct nb_program *nb, int queue, int sem)
{
	if (queue < 0 || queue >= (int)nb->nr_queues)
		return nb_fail_here(nb, "a transfer names no queue");
	if (!strcmp(nb->queue[queue].type, "dynamic"))
		return nb_fail_here(nb, "queue \"%.64s\" takes generated descriptors only",
				   nb->queue[queue].name);
	if (sem >= NEURON_NR_SEMAPHORES)
		return nb_fail_here(nb, "a transfer posts no semaphore of ours: %d", sem);
	return 0;
}

static int nb_check_transfer(struct nb_program *nb, int queue,
			     const struct nb_side *to,
			     const struct nb_side *from, int sem)
{
	if (nb_check_queue(nb, queue, sem) || nb_check_side(nb, to) || nb_check_side(nb, from))
		return -1;
	if (nb_side_bytes(to) != nb_side_bytes(from))
		return nb_fail_here(nb, "from \"%.64s\" to \"%.64s\": sides of %llu and %llu bytes",
				   nb->var[from->var - 1].name,
				   nb->var[to->var - 1].name,
				   (unsigned long long)nb_side_bytes(from),
				   (unsigned long long)nb_side_bytes(to));
	return nb_check_others_sem(nb, to, from);
}

static struct nb_dma_block *nb_last_block(struct nb_program *nb, int queue)
{
	struct nb_stream *stream;

	if (queue < 0 || queue >= (int)nb->nr_queues)
		return NULL;
	stream = &nb->stream[nb->queue[queue].owner];
	if (!stream->nr_dma || stream->dma[stream->nr_dma - 1].queue != queue)
		return NULL;
	return &stream->dma[stream->nr_dma - 1];
}

void nb_dma_remote(struct nb_program *nb, int queue, int sem)
{
	struct nb_dma_block *block = nb_last_block(nb, queue);

	if (!block)
		nb_fail(nb, "a remote semaphore needs a transfer before it");
	else if (sem < 0 || sem >= NEURON_NR_SEMAPHORES)
		nb_fail(nb, "the other core has no semaphore %d", sem);
	else if (block->nr_remotes == NB_MAX_REMOTES)
		nb_fail(nb, "a transfer increments at most %d remote semaphores",
			NB_MAX_REMOTES);
	else
		block->remote[block->nr_remotes++] = sem;
}

struct neuron_inst *nb_dma_add(struct nb_program *nb, int queue, const struct nb_side *to,
			       const struct nb_side *from, int sem, struct nb_move *move)
{
	struct nb_dma_block *block;
	struct nb_queue_set *set;
	struct nb_stream *stream;
	struct neuron_inst *inst;
	unsigned int i;

	set = &nb->queue[queue];
	stream = &nb->stream[set->owner];
	block = nb_grow(nb, (void **)&stream->dma, stream->nr_dma,
			&stream->dma_room, sizeof(*block));
	if (!block) {
		free(move);
		return &nb->scratch;
	}
	block->queue = queue;
	block->to = *to;
	block->from = *from;
	block->sem = sem;
	block->move = move;

	inst = nb_emit(nb, set->owner, NEURON_OP_PSEUDO_DMA_TRIGGER);
	inst->addr = htole64(stream->nr_dma++);
	inst->reg[0] = set->index & 0xff;
	inst->reg[1] = set->index >> 8;
	/* The loader makes them the triggers of the set's other queues. */
	for (i = 1; i < set->num_queues; i++)
		nb_emit(nb, set->owner, NEURON_OP_NOP)->debug = 0;
	if (nb->error[0])
		return &nb->scratch;
	return &stream->inst[stream->count - set->num_queues];
}

struct neuron_inst *nb_dma(struct nb_program *nb, int queue, struct nb_side to,
			   struct nb_side from, int sem)
{
	if (nb_check_transfer(nb, queue, &to, &from, sem))
		return &nb->scratch;
	return nb_dma_add(nb, queue, &to, &from, sem, NULL);
}
