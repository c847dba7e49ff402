// SPDX-License-Identifier: MIT
/*
 * A cycle of waits: engines that wait for each other, or for themselves, whatever else happens.
 * The streams are gone through with nothing but their waits, posts and loops, each as far as it
 * comes. Semaphores that are only added to and waited for come to the same end in any order, also
 * if their only engine that waits takes what it has waited for. Whoever waits for another one, or
 * for one of which somebody asks more than the program ever posts, is taken to go on: that may be
 * somebody outside. So what stands still then does so on every device.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "nb_private.h"

/* Instructions that loops may add before they are given up: what they cost stays small. */
#define NB_CYCLE_STEPS	(1u << 20)

/**
 * struct nb_walk - an engine on the way through its stream
 * @pc: the instruction that it has come to
 * @known: registers whose values are known: a mask; @reg: their values
 */
struct nb_walk {
	uint32_t pc;
	uint64_t known;
	uint32_t reg[NEURON_NR_REGS];
};

/**
 * struct nb_waiting - the streams while they are gone through
 * @value: of each semaphore
 * @total: what the whole program adds to it
 * @most: the most of it that an engine asks for
 * @engines: that wait for it: a mask
 * @taken: a wait takes of it
 * @open: others may change it, or it is taken back
 * @steps: instructions that may still be gone through
 */
struct nb_waiting {
	const struct nb_program *nb;
	struct nb_walk walk[NEURON_NR_ENGINES];
	int64_t value[NEURON_NR_SEMAPHORES];
	int64_t total[NEURON_NR_SEMAPHORES];
	int64_t most[NEURON_NR_SEMAPHORES];
	uint8_t engines[NEURON_NR_SEMAPHORES];
	bool taken[NEURON_NR_SEMAPHORES];
	bool open[NEURON_NR_SEMAPHORES];
	uint64_t steps;
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

/* What changes semaphores is not known. */
static bool nb_is_beyond(const struct neuron_inst *inst)
{
	switch (inst->opcode) {
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

/* --- The way of an engine --- */

static bool nb_walk_loop(struct nb_walk *walk, const struct neuron_inst *inst)
{
	unsigned int reg = inst->reg[0] % NEURON_NR_REGS;

	if (!(walk->known & NEURON_BIT64(reg)))
		return false;
	walk->pc = --walk->reg[reg] ? le64toh(inst->addr) : walk->pc + 1;
	return true;
}

/* False: where it goes on only the run shows. */
static bool nb_walk_on(struct nb_walk *walk, const struct neuron_inst *inst)
{
	unsigned int reg = inst->reg[0] % NEURON_NR_REGS;

	switch (inst->opcode) {
	case NEURON_OP_REG_SET:
		walk->reg[reg] = le32toh(inst->imm0);
		/* Register 0 stays 0. */
		walk->known |= reg ? NEURON_BIT64(reg) : 0;
		break;
	case NEURON_OP_REG_ALU:
	case NEURON_OP_REG_RANK:
	case NEURON_OP_REG_LOAD:
		walk->known &= ~NEURON_BIT64(reg);
		break;
	case NEURON_OP_LOOP:
		return nb_walk_loop(walk, inst);
	case NEURON_OP_BRANCH:
		if (inst->op0 != NEURON_ALU_BYPASS)
			return false;
		walk->pc = le64toh(inst->addr);
		return true;
	default:
		break;
	}
	walk->pc++;
	return true;
}

static bool nb_is_wait(const struct neuron_inst *inst)
{
	return NEURON_GET(NEURON_SYNC_WAIT, inst->sync) == NEURON_SYNC_WAIT_GE;
}

static int64_t nb_taken_by(const struct neuron_inst *inst)
{
	return inst->sync & NEURON_SYNC_TAKE ? (int32_t)le32toh(inst->wait_value) : 0;
}

/* --- What the whole program does --- */

static void nb_waiting_note(struct nb_waiting *waiting, unsigned int e,
			    const struct neuron_inst *inst)
{
	unsigned int wait = NEURON_GET(NEURON_SYNC_WAIT, inst->sync), sem;
	unsigned int post = NEURON_GET(NEURON_SYNC_POST, inst->sync);

	if (nb_added_to(waiting->nb, e, inst, &sem) < 0 || post == NEURON_SYNC_POST_SUB ||
	    post == NEURON_SYNC_POST_SET)
		waiting->open[sem] = true;
	sem = le16toh(inst->wait_sem);
	if (wait == NEURON_SYNC_WAIT_EQ || nb_taken_by(inst) < 0)
		waiting->open[sem] = true;
	if (wait != NEURON_SYNC_WAIT_NONE)
		waiting->engines[sem] |= NEURON_BIT(e);
	waiting->taken[sem] |= inst->sync & NEURON_SYNC_TAKE;
}

/* Engine @e to its end, as if nothing held it. False: that is not known, or too long. */
static bool nb_waiting_add(struct nb_waiting *waiting, unsigned int e)
{
	int64_t asked[NEURON_NR_SEMAPHORES] = { 0 }, added, value;
	const struct neuron_inst *inst;
	struct nb_walk walk = { 0 };
	unsigned int sem;

	while ((inst = nb_waiting_inst(waiting, e, walk.pc))) {
		added = nb_added_to(waiting->nb, e, inst, &sem);
		waiting->total[sem] += added;
		sem = le16toh(inst->wait_sem);
		value = asked[sem] + (int32_t)le32toh(inst->wait_value);
		if (nb_is_wait(inst) && waiting->most[sem] < value)
			waiting->most[sem] = value;
		asked[sem] += nb_taken_by(inst);
		if (!waiting->steps-- || !nb_walk_on(&walk, inst))
			return false;
	}
	return true;
}

static bool nb_waiting_begin(struct nb_waiting *waiting, const struct nb_program *nb)
{
	const struct neuron_inst *inst;
	unsigned int e, s;
	size_t i;

	memset(waiting, 0, sizeof(*waiting));
	waiting->nb = nb;
	waiting->steps = NB_CYCLE_STEPS;
	for (i = 0; i < nb->nr_vars; i++)
		if (nb->var[i].type == NB_VAR_PEER_SEM || nb->var[i].type == NB_VAR_SIBLING_SEM)
			return false;
	for (s = 0; s < NEURON_NR_SEMAPHORES; s++)
		waiting->open[s] = s >= nb->nr_sems || nb->sem_keep[s];
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		for (i = 0; (inst = nb_waiting_inst(waiting, e, i)); i++, waiting->steps++) {
			if (nb_is_beyond(inst))
				return false;
			nb_waiting_note(waiting, e, inst);
		}
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (!nb_waiting_add(waiting, e))
			return false;
	/* Of two engines that take from the same one either may come first. */
	for (s = 0; s < NEURON_NR_SEMAPHORES; s++) {
		bool shared = __builtin_popcount(waiting->engines[s]) > 1;

		waiting->open[s] |= waiting->most[s] > waiting->total[s] ||
				    (waiting->taken[s] && shared);
	}
	return true;
}

static bool nb_is_held(const struct nb_waiting *waiting, const struct neuron_inst *inst)
{
	unsigned int sem = le16toh(inst->wait_sem);

	return nb_is_wait(inst) && !waiting->open[sem] &&
	       waiting->value[sem] < (int32_t)le32toh(inst->wait_value);
}

/* True: the engine has come further. */
static bool nb_waiting_run(struct nb_waiting *waiting, unsigned int e)
{
	struct nb_walk *walk = &waiting->walk[e];
	const struct neuron_inst *inst;
	bool further = false;
	unsigned int sem;
	int64_t added;

	while ((inst = nb_waiting_inst(waiting, e, walk->pc)) && !nb_is_held(waiting, inst)) {
		waiting->value[le16toh(inst->wait_sem)] -= nb_taken_by(inst);
		added = nb_added_to(waiting->nb, e, inst, &sem);
		waiting->value[sem] += added;
		nb_walk_on(walk, inst);
		further = true;
	}
	return further;
}

/* --- What stands still --- */

/* An instruction that has not been come to, and posts what engine @e waits for. */
static unsigned int nb_find_poster(const struct nb_waiting *waiting, unsigned int e,
				   uint32_t *pc)
{
	const struct neuron_inst *inst = nb_waiting_inst(waiting, e, waiting->walk[e].pc);
	unsigned int wanted = le16toh(inst->wait_sem), by, sem;
	struct nb_walk walk;

	for (by = 0; by < NEURON_NR_ENGINES; by++) {
		walk = waiting->walk[by];
		while ((inst = nb_waiting_inst(waiting, by, walk.pc))) {
			*pc = walk.pc;
			if (nb_added_to(waiting->nb, by, inst, &sem) && sem == wanted)
				return by;
			nb_walk_on(&walk, inst);
		}
	}
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
	return nb_fail_at(nb, first, waiting->walk[first].pc,
			  "a cycle: %s instruction %u waits%s, which comes behind it",
			  neff_engine_name(first), waiting->walk[first].pc, text);
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
		if (nb_waiting_inst(&waiting, e, waiting.walk[e].pc) && nb_is_in_cycle(&waiting, e))
			return nb_report_cycle(nb, &waiting, e);
	return 0;
}
