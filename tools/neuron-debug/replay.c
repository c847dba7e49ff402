// SPDX-License-Identifier: MIT
/*
 * Going back: checkpoints hold the chips, their HBM and the host's memory that they reach. What
 * lies between two of them is run again.
 *
 * Engines are not in step with each other, so a place in time is how many instructions each of
 * them has carried out. A program without races is in the same state there each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"
#include "trn/state.h"

/* Bytes of a checkpoint, on their way. */
struct tape {
	uint8_t *bytes;
	size_t size;
	size_t room;
	size_t at;
	bool loading;
};

static bool put(struct tape *tape, const void *bytes, size_t len)
{
	size_t room = tape->room ? tape->room : 65536;
	uint8_t *grown;

	while (room < tape->size + len)
		room *= 2;
	if (room != tape->room) {
		grown = realloc(tape->bytes, room);
		if (!grown)
			return false;
		tape->bytes = grown;
		tape->room = room;
	}
	memcpy(tape->bytes + tape->size, bytes, len);
	tape->size += len;
	return true;
}

static bool move(void *opaque, void *bytes, size_t len)
{
	struct tape *tape = opaque;

	if (!tape->loading)
		return put(tape, bytes, len);
	if (len > tape->size - tape->at)
		return false;
	memcpy(bytes, tape->bytes + tape->at, len);
	tape->at += len;
	return true;
}

/* All chips, and what they reach. NULL, or why not. */
static const char *transfer(struct target *target, struct tape *tape)
{
	unsigned int i;

	for (i = 0; i < target->nr_eyes; i++) {
		struct trn_state st = {
			.loading = tape->loading,
			.transfer = move,
			.opaque = tape,
		};
		struct trn_chip *chip = target->eye[i].chip;
		bool good = tape->loading ?
			    trn_chip_load(chip, &st) && trn_chip_load_hbm(chip, &st) :
			    trn_chip_save(chip, &st) && trn_chip_save_hbm(chip, &st);

		if (!good)
			return st.why ? st.why : "no memory";
	}
	return emb_debug_host(target->machine, move, tape) ? NULL : "no memory";
}

static int fail(char why[TARGET_WHY], const char *text)
{
	snprintf(why, TARGET_WHY, "%s", text);
	return -1;
}

int target_checkpoint(struct target *target, unsigned int *id, char why[TARGET_WHY])
{
	struct checkpoint *grown = realloc(target->checkpoints, (target->nr_checkpoints + 1) *
								sizeof(*grown));
	struct tape tape = { 0 };
	const char *error;

	if (!grown)
		return fail(why, "no memory for a checkpoint");
	target->checkpoints = grown;
	error = transfer(target, &tape);
	if (error) {
		free(tape.bytes);
		return fail(why, error);
	}
	*id = ++target->last_checkpoint;
	grown[target->nr_checkpoints++] = (struct checkpoint){
		.id = *id,
		.position = target_position(target),
		.bytes = tape.bytes,
		.size = tape.size,
	};
	return 0;
}

void target_forget_checkpoints(struct target *target)
{
	while (target->nr_checkpoints)
		free(target->checkpoints[--target->nr_checkpoints].bytes);
	free(target->checkpoints);
	target->checkpoints = NULL;
}

static int load(struct target *target, const struct checkpoint *checkpoint, char why[TARGET_WHY])
{
	struct tape tape = {
		.bytes = checkpoint->bytes,
		.size = checkpoint->size,
		.loading = true,
	};
	const char *error = transfer(target, &tape);

	if (error)
		return fail(why, error);
	/* What was loaded has been kicked; the chips stand still, so it does nothing. */
	emb_debug_settle(target->machine);
	target_sync(target);
	target->stop = (struct stop){ .reason = STOP_BACK, .where = target->selected };
	return 0;
}

int target_restore(struct target *target, unsigned int id, char why[TARGET_WHY])
{
	size_t i;

	for (i = 0; i < target->nr_checkpoints; i++)
		if (target->checkpoints[i].id == id)
			return load(target, &target->checkpoints[i], why);
	snprintf(why, TARGET_WHY, "there is no checkpoint %u", id);
	return -1;
}

static bool not_behind(const struct position *a, const struct position *b)
{
	unsigned int g, e;

	for (g = 0; g < TARGET_GRAPHS; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			if (a->done[g][e] > b->done[g][e])
				return false;
	return true;
}

/* The last checkpoint on the way to @position that has fewer instructions than @below. */
static const struct checkpoint *nearest(const struct target *target,
					const struct position *position, uint64_t below)
{
	const struct checkpoint *best = NULL;
	size_t i;

	for (i = 0; i < target->nr_checkpoints; i++) {
		const struct checkpoint *at = &target->checkpoints[i];

		if (not_behind(&at->position, position) && target_total(&at->position) < below &&
		    (!best || target_total(&at->position) > target_total(&best->position)))
			best = at;
	}
	return best;
}

/* From a checkpoint on, each engine as far as @position says. */
static int run_to(struct target *target, const struct checkpoint *from,
		  const struct position *position, char why[TARGET_WHY])
{
	unsigned int g, e;

	if (load(target, from, why))
		return -1;
	target_go(target, GO_CONTINUE, 0);
	for (g = 0; g < TARGET_GRAPHS; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			target->engine[g][e].limit = position->done[g][e];
	target->found = false;
	target->seeking = true;
	target_run(target);
	target->seeking = false;
	target_sync(target);
	target_go(target, GO_CONTINUE, 0);
	return 0;
}

int target_reverse_step(struct target *target, uint64_t count, char why[TARGET_WHY])
{
	struct position position = target_position(target);
	uint64_t *done = &position.done[target->selected.graph][target->selected.engine];
	const struct checkpoint *from;

	if (*done < count)
		return fail(why, "the engine has not carried out as many instructions");
	*done -= count;
	from = nearest(target, &position, UINT64_MAX);
	if (!from)
		return fail(why, "there is no checkpoint before that");
	return run_to(target, from, &position, why);
}

int target_reverse_continue(struct target *target, char why[TARGET_WHY])
{
	struct position until = target_position(target);
	const struct checkpoint *from = nearest(target, &until, target_total(&until));
	struct position found_at;
	struct stop found_stop;

	target->here = until;
	if (!from)
		return fail(why, "this is the first checkpoint");
	for (;;) {
		const struct checkpoint *before;

		if (run_to(target, from, &until, why))
			return -1;
		if (target->found)
			break;
		before = nearest(target, &from->position, target_total(&from->position));
		if (!before)
			return load(target, from, why);
		from = before;
	}
	found_at = target->found_at;
	found_stop = target->found_stop;
	if (run_to(target, from, &found_at, why))
		return -1;
	target->stop = found_stop;
	if (found_stop.where.engine < NEURON_NR_ENGINES)
		target->selected = found_stop.where;
	return 0;
}
