// SPDX-License-Identifier: MIT
/*
 * A cycle of waits: engines that wait for each other, or for themselves, whatever else happens.
 * The streams are gone through with nothing but their waits and posts, each as far as it comes.
 * Semaphores that are only added to and waited for come to the same end in any order. Whoever
 * waits for another one, or for more than the program ever posts, is taken to go on: that may be
 * somebody outside. So what stands still then does so on every device.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "nb_private.h"

/**
 * struct nb_waiting - the streams while they are gone through
 * @pc: of each engine: the instruction that it has come to
 * @value: of each semaphore
 * @total: what the whole program adds to it
 * @open: others may change it, or it is taken back
 */
struct nb_waiting {
	const struct nb_program *nb;
	uint32_t pc[NEURON_NR_ENGINES];
	int64_t value[NEURON_NR_SEMAPHORES];
	int64_t total[NEURON_NR_SEMAPHORES];
	bool open[NEURON_NR_SEMAPHORES];
};

static const struct neuron_inst *nb_waiting_inst(const struct nb_waiting *waiting,
						 unsigned int e, uint32_t pc)
{
	const struct nb_stream *stream = &waiting->nb->stream[e];

	if (pc >= stream->count || stream->inst[pc].opcode == NEURON_OP_HALT)
		return NULL;
	return &stream->inst[pc];
}

/* What @inst adds to semaphore *@sem; 0: nothing. */
static int64_t nb_added_to(const struct nb_program *nb, unsigned int e,
			   const struct neuron_inst *inst, unsigned int *sem)
{
	const struct nb_dma_block *block;
	uint64_t id = le64toh(inst->addr);

	if (inst->opcode == NEURON_OP_PSEUDO_DMA_TRIGGER && id < nb->stream[e].nr_dma) {
		block = &nb->stream[e].dma[id];
		*sem = block->sem < 0 ? 0 : (unsigned int)block->sem;
		return block->sem < 0 ? 0 : nb->queue[block->queue].num_queues;
	}
	*sem = le16toh(inst->post_sem);
	return NEURON_GET(NEURON_SYNC_POST, inst->sync) == NEURON_SYNC_POST_ADD ?
	       (int32_t)le32toh(inst->post_value) : 0;
}

/* Where an instruction goes next is not known, or what changes semaphores. */
static bool nb_is_beyond(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
	case NEURON_OP_BRANCH:
	case NEURON_OP_LOOP:
	case NEURON_OP_DMA_TRIGGER:
	case NEURON_OP_SEM_RANGE_CLEAR:
		return true;
	case NEURON_OP_PSEUDO_DMA_TRIGGER:
		/* The trigger itself can post besides the transfer. */
		return NEURON_GET(NEURON_SYNC_POST, inst->sync) != NEURON_SYNC_POST_NONE;
	default:
		return le16toh(inst->wait_sem) >= NEURON_NR_SEMAPHORES ||
		       le16toh(inst->post_sem) >= NEURON_NR_SEMAPHORES;
	}
}

static void nb_waiting_note(struct nb_waiting *waiting, unsigned int e,
			    const struct neuron_inst *inst)
{
	unsigned int wait = NEURON_GET(NEURON_SYNC_WAIT, inst->sync), sem;
	unsigned int post = NEURON_GET(NEURON_SYNC_POST, inst->sync);
	int64_t added = nb_added_to(waiting->nb, e, inst, &sem);

	waiting->total[sem] += added;
	if (added < 0 || post == NEURON_SYNC_POST_SUB || post == NEURON_SYNC_POST_SET)
		waiting->open[sem] = true;
	if (wait == NEURON_SYNC_WAIT_EQ || (inst->sync & NEURON_SYNC_TAKE))
		waiting->open[le16toh(inst->wait_sem)] = true;
}

static bool nb_waiting_begin(struct nb_waiting *waiting, const struct nb_program *nb)
{
	const struct neuron_inst *inst;
	unsigned int e, s;
	size_t i;

	memset(waiting, 0, sizeof(*waiting));
	waiting->nb = nb;
	for (i = 0; i < nb->nr_vars; i++)
		if (nb->var[i].type == NB_VAR_PEER_SEM || nb->var[i].type == NB_VAR_SIBLING_SEM)
			return false;
	for (s = 0; s < NEURON_NR_SEMAPHORES; s++)
		waiting->open[s] = s >= nb->nr_sems || nb->sem_keep[s];
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (i = 0; (inst = nb_waiting_inst(waiting, e, i)); i++) {
			if (nb_is_beyond(inst))
				return false;
			nb_waiting_note(waiting, e, inst);
		}
	return true;
}

static bool nb_is_held(const struct nb_waiting *waiting, const struct neuron_inst *inst)
{
	unsigned int sem = le16toh(inst->wait_sem);
	int64_t value = (int32_t)le32toh(inst->wait_value);

	return NEURON_GET(NEURON_SYNC_WAIT, inst->sync) == NEURON_SYNC_WAIT_GE &&
	       !waiting->open[sem] && value <= waiting->total[sem] &&
	       waiting->value[sem] < value;
}

/* True: the engine has come further. */
static bool nb_waiting_run(struct nb_waiting *waiting, unsigned int e)
{
	const struct neuron_inst *inst;
	uint32_t begin = waiting->pc[e];
	unsigned int sem;
	int64_t added;

	while ((inst = nb_waiting_inst(waiting, e, waiting->pc[e])) &&
	       !nb_is_held(waiting, inst)) {
		added = nb_added_to(waiting->nb, e, inst, &sem);
		waiting->value[sem] += added;
		waiting->pc[e]++;
	}
	return waiting->pc[e] != begin;
}

/* --- What stands still --- */

/* An instruction that has not been come to, and posts what engine @e waits for. */
static unsigned int nb_find_poster(const struct nb_waiting *waiting, unsigned int e,
				   uint32_t *pc)
{
	const struct neuron_inst *inst = nb_waiting_inst(waiting, e, waiting->pc[e]);
	unsigned int wanted = le16toh(inst->wait_sem), by, sem;

	for (by = 0; by < NEURON_NR_ENGINES; by++)
		for (*pc = waiting->pc[by]; (inst = nb_waiting_inst(waiting, by, *pc)); (*pc)++)
			if (nb_added_to(waiting->nb, by, inst, &sem) && sem == wanted)
				return by;
	return NEURON_NR_ENGINES;
}

/* "scalar instruction 7 (k.c:12)" */
static void nb_place_text(const struct nb_program *nb, unsigned int e, uint32_t pc, char *text,
			  size_t size)
{
	const struct nb_line *line = nb_line_of(&nb->stream[e], pc);
	int len = snprintf(text, size, "%s instruction %u", neff_engine_name(e), pc);

	if (line && len > 0 && (size_t)len < size)
		snprintf(text + len, size - (size_t)len, " (line %u)", line->line);
}

/* From engine to engine whose post is waited for, back to @first. */
static bool nb_is_in_cycle(const struct nb_waiting *waiting, unsigned int first)
{
	unsigned int e = first, i;
	uint32_t pc;

	for (i = 0; i < NEURON_NR_ENGINES && e < NEURON_NR_ENGINES; i++) {
		e = nb_find_poster(waiting, e, &pc);
		if (e == first)
			return true;
	}
	return false;
}

/* Characters for a link of the cycle, at most. */
#define NB_CYCLE_LINK	96

static int nb_report_cycle(struct nb_program *nb, const struct nb_waiting *waiting,
			   unsigned int first)
{
	char text[NEURON_NR_ENGINES * NB_CYCLE_LINK] = "", place[64];
	unsigned int e = first;
	size_t len = 0;
	uint32_t pc;

	do {
		e = nb_find_poster(waiting, e, &pc);
		nb_place_text(nb, e, pc, place, sizeof(place));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s for %s",
					len ? ", which comes behind a wait" : "", place);
	} while (e != first && len < sizeof(text));
	return nb_fail_at(nb, first, waiting->pc[first],
			  "a cycle: %s instruction %u waits%s, which comes behind it",
			  neff_engine_name(first), waiting->pc[first], text);
}

int nb_check_cycle(struct nb_program *nb)
{
	struct nb_waiting waiting;
	unsigned int e;
	bool further;

	if (!nb_waiting_begin(&waiting, nb))
		return 0;
	do {
		further = false;
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			further |= nb_waiting_run(&waiting, e);
	} while (further);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (nb_waiting_inst(&waiting, e, waiting.pc[e]) && nb_is_in_cycle(&waiting, e))
			return nb_report_cycle(nb, &waiting, e);
	return 0;
}
