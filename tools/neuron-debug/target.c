// SPDX-License-Identifier: MIT
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "neuron/address.h"

#define NO_LIMIT	UINT64_MAX

static const struct where nowhere = { 0, NEURON_NR_ENGINES };

static bool same_engine(struct where a, struct where b)
{
	return a.graph == b.graph && a.engine == b.engine;
}

bool target_has_engine(const struct target *target, struct where where)
{
	return where.graph < target->neff->nr_graphs && where.engine < NEURON_NR_ENGINES &&
	       target->neff->graphs[where.graph].image_count[where.engine];
}

const char *target_line(const struct target *target, struct code code, uint32_t *line)
{
	if (!target_has_engine(target, code.where))
		return NULL;
	return neff_debug_line(&target->neff->graphs[code.where.graph], code.where.engine, code.pc,
			       line);
}

/* --- Stops --- */

/* Stop all chips at once. In the middle of the work of one of them. */
static void halt(struct target *target)
{
	unsigned int i;

	for (i = 0; i < target->nr_eyes; i++)
		trn_chip_stop(target->eye[i].chip);
}

uint64_t target_total(const struct position *position)
{
	uint64_t sum = 0;
	unsigned int g, e;

	for (g = 0; g < TARGET_GRAPHS; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			sum += position->done[g][e];
	return sum;
}

/* It goes a way again: remember the last stop before where that began. */
static void note(struct target *target, const struct stop *stop)
{
	struct position at = target_position(target);
	const struct where where = stop->where;
	bool before;

	if (stop->reason == STOP_STEP || stop->reason == STOP_FAULT)
		return;
	/* What an instruction does is told before it counts as done. */
	if (where.engine < NEURON_NR_ENGINES && stop->reason != STOP_BREAKPOINT)
		at.done[where.graph][where.engine]++;
	before = where.engine < NEURON_NR_ENGINES ?
		 at.done[where.graph][where.engine] <
		 target->here.done[where.graph][where.engine] :
		 target_total(&at) < target_total(&target->here);
	if (!before)
		return;
	target->found = true;
	target->found_at = at;
	target->found_stop = *stop;
}

static void stop(struct target *target, const struct stop *stop)
{
	if (target->seeking) {
		note(target, stop);
		return;
	}
	if (target->stop.reason != STOP_NONE)
		return;
	target->stop = *stop;
	halt(target);
}

static struct breakpoint *find_breakpoint(const struct target *target, unsigned int id)
{
	size_t i;

	for (i = 0; i < target->nr_breakpoints; i++)
		if (target->breakpoints[i].id == id)
			return &target->breakpoints[i];
	return NULL;
}

/* --- What the chip tells --- */

/* The program's graph on this unit: cores of a pair have numbers side by side. */
static bool find_graph(struct target_eye *eye, unsigned int unit, unsigned int *graph)
{
	struct target *target = eye->target;
	unsigned int g;

	if (!target->armed || (target->chip && target->chip != eye->chip))
		return false;
	*graph = unit % target->neff->nr_graphs;
	target->chip = eye->chip;
	for (g = 0; g < target->neff->nr_graphs; g++)
		target->unit[g] = unit - *graph + g;
	return true;
}

static bool find_where(struct target_eye *eye, const struct trn_observe_inst *at,
		       struct where *where)
{
	where->engine = at->engine;
	return find_graph(eye, at->unit, &where->graph);
}

static bool leaves_line(const struct target *target, struct where where, uint32_t pc)
{
	uint32_t line = 0;
	const char *source = target_line(target, (struct code){ where, pc }, &line);

	return source && (line != target->line || source != target->source);
}

/* Does the engine come to where it was to go? */
static bool arrives(const struct target *target, struct where where,
		    const struct trn_observe_inst *at)
{
	if (!same_engine(where, target->mover))
		return false;
	if (target->mode == GO_NEXT)
		return leaves_line(target, where, at->pc);
	return target->mode == GO_FINISH && at->inst->opcode == NEURON_OP_HALT;
}

/* The number of the breakpoint before an instruction, or 0. */
static unsigned int marked(const struct target *target, struct where where, uint32_t pc)
{
	const unsigned int *mark = target->engine[where.graph][where.engine].mark;

	return mark && pc < target->neff->graphs[where.graph].image_count[where.engine] ?
	       mark[pc] : 0;
}

static enum trn_observe_answer before(void *opaque, const struct trn_observe_inst *at)
{
	struct target_eye *eye = opaque;
	struct target *target = eye->target;
	struct stop why = { .pc = at->pc };
	const struct engine *engine;

	if (!find_where(eye, at, &why.where))
		return TRN_OBSERVE_GO;
	engine = &target->engine[why.where.graph][why.where.engine];
	why.breakpoint = marked(target, why.where, at->pc);
	if (target->mode == GO_KILL)
		return TRN_OBSERVE_GO;
	if (!target->begun)
		why.reason = STOP_ENTRY;
	else if (engine->done >= engine->limit)
		why.reason = target->mode == GO_STEP && same_engine(why.where, target->mover) ?
			     STOP_STEP : STOP_NONE;
	else if (why.breakpoint)
		why.reason = STOP_BREAKPOINT;
	else if (arrives(target, why.where, at))
		why.reason = STOP_STEP;
	else
		return TRN_OBSERVE_GO;
	if (why.reason != STOP_NONE)
		stop(target, &why);
	/* On the way back it only notes where it would have stopped. */
	return target->seeking && engine->done < engine->limit ? TRN_OBSERVE_GO :
	       TRN_OBSERVE_PARK;
}

static void after(void *opaque, const struct trn_observe_inst *at)
{
	struct target_eye *eye = opaque;
	struct where where;

	if (find_where(eye, at, &where))
		eye->target->engine[where.graph][where.engine].done++;
}

static void semaphore(void *opaque, const struct trn_observe_sem *sem)
{
	struct target_eye *eye = opaque;
	struct target *target = eye->target;
	struct stop why = { .reason = STOP_SEMAPHORE, .where = nowhere };
	size_t i;

	for (i = 0; i < target->nr_breakpoints && eye->chip == target->chip; i++) {
		const struct breakpoint *b = &target->breakpoints[i];

		if (b->kind != BREAK_SEMAPHORE || sem->event || sem->index != b->sem ||
		    sem->unit != target->unit[b->graph] ||
		    (b->test == SEM_EQUAL && sem->value != b->value) ||
		    (b->test == SEM_AT_LEAST && sem->value < b->value) ||
		    (b->test == SEM_BELOW && sem->value >= b->value))
			continue;
		why.breakpoint = b->id;
		why.value = sem->value;
		why.before = sem->old;
		if (NEURON_GET(NEURON_SEM_POSTER_KIND, sem->poster) == NEURON_SEM_POSTER_ENGINE) {
			why.where.graph = b->graph;
			why.where.engine = NEURON_GET(NEURON_SEM_POSTER_WHO, sem->poster);
		}
		stop(target, &why);
		return;
	}
}

/* The watches are those of the breakpoints, in their order. */
static const struct breakpoint *find_watch(const struct target *target, unsigned int nr)
{
	size_t i;

	for (i = 0; i < target->nr_breakpoints; i++)
		if (target->breakpoints[i].kind == BREAK_WRITE && !nr--)
			return &target->breakpoints[i];
	return NULL;
}

static void wrote(void *opaque, const struct trn_observe_write *write)
{
	struct target_eye *eye = opaque;
	const struct breakpoint *b = find_watch(eye->target, write->watch);
	struct stop why = { .reason = STOP_WATCHPOINT, .where = nowhere };

	if (!b || !eye->target->armed)
		return;
	why.breakpoint = b->id;
	why.len = b->watch.len;
	memcpy(why.old, write->old, why.len);
	memcpy(why.now, write->now, why.len);
	if (write->inst) {
		find_where(eye, write->inst, &why.where);
		why.pc = write->inst->pc;
	} else {
		why.dma = true;
		why.dma_engine = write->copy->dma_engine;
		why.queue = write->copy->queue;
		why.pc = write->copy->pc;
	}
	stop(eye->target, &why);
}

static const struct breakpoint *nan_breakpoint(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->nr_breakpoints; i++)
		if (target->breakpoints[i].kind == BREAK_NAN)
			return &target->breakpoints[i];
	return NULL;
}

static void left_nan(void *opaque, const struct trn_observe_nan *nan)
{
	struct target_eye *eye = opaque;
	const struct breakpoint *b = nan_breakpoint(eye->target);
	struct stop why = { .reason = STOP_NAN, .pc = nan->inst->pc, .nan = *nan };

	if (!b || !find_where(eye, nan->inst, &why.where))
		return;
	why.breakpoint = b->id;
	why.nan.inst = NULL;
	stop(eye->target, &why);
}

static void fault(void *opaque, const struct trn_observe_fault *told)
{
	struct target_eye *eye = opaque;
	struct stop why = { .reason = STOP_FAULT, .where = nowhere, .fault = *told };

	unsigned int graph;

	if (!find_graph(eye, told->unit, &graph) || eye->target->mode == GO_KILL)
		return;
	if (told->source < NEURON_NR_ENGINES)
		why.where = (struct where){ graph, told->source };
	why.pc = told->pc;
	stop(eye->target, &why);
}

/* --- Quiet chips --- */

static void quieten(struct target *target)
{
	halt(target);
	emb_debug_settle(target->machine);
}

void target_sync(struct target *target)
{
	struct trn_inspect_engine_state state;
	struct where at;

	for (at.graph = 0; at.graph < target->neff->nr_graphs; at.graph++)
		for (at.engine = 0; at.engine < NEURON_NR_ENGINES; at.engine++)
			if (target_engine(target, at, &state))
				target->engine[at.graph][at.engine].done = state.retired;
}

bool target_engine(const struct target *target, struct where where,
		   struct trn_inspect_engine_state *state)
{
	return target->chip && target_has_engine(target, where) &&
	       trn_inspect_engine(target->chip, target->unit[where.graph], where.engine, state);
}

struct position target_position(const struct target *target)
{
	struct position position;
	unsigned int g, e;

	for (g = 0; g < TARGET_GRAPHS; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			position.done[g][e] = target->engine[g][e].done;
	return position;
}

static void observe(struct target *target, bool on)
{
	unsigned int i;

	for (i = 0; i < target->nr_eyes; i++)
		trn_chip_observe(target->eye[i].chip, on ? &target->eye[i].observer : NULL);
}

/* Must each instruction be looked at? A program that just runs is not to be slowed down. */
static bool is_curious(const struct target *target)
{
	size_t i;

	for (i = 0; i < target->nr_breakpoints; i++)
		if (target->breakpoints[i].kind == BREAK_CODE)
			return true;
	return !target->begun || target->seeking || target->mode != GO_CONTINUE;
}

static void choose_eyes(struct target *target)
{
	bool curious = is_curious(target), nan = nan_breakpoint(target);
	unsigned int i;

	for (i = 0; i < target->nr_eyes; i++) {
		target->eye[i].observer.before = curious ? before : NULL;
		target->eye[i].observer.after = curious ? after : NULL;
		target->eye[i].observer.nan = nan ? left_nan : NULL;
	}
}

/* Let those go that may, and the chips with them. They are quiet. */
static void resume(struct target *target)
{
	unsigned int i, g, e;

	choose_eyes(target);
	for (g = 0; g < target->neff->nr_graphs && target->chip; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			if (target->engine[g][e].done < target->engine[g][e].limit)
				trn_observe_release(target->chip, target->unit[g], e);
	for (i = 0; i < target->nr_eyes; i++)
		trn_chip_resume(target->eye[i].chip);
}

void target_run(struct target *target)
{
	resume(target);
	emb_debug_settle(target->machine);
	quieten(target);
}

/* --- The door --- */

static void opened(void *opaque, struct emb_machine *machine)
{
	struct target *target = opaque;
	struct trn_chip *chip;

	target->machine = machine;
	for (target->nr_eyes = 0; target->nr_eyes < TARGET_CHIPS; target->nr_eyes++) {
		chip = emb_debug_chip(machine, target->nr_eyes);
		if (!chip)
			break;
		target->eye[target->nr_eyes] = (struct target_eye){
			.target = target,
			.chip = chip,
			.observer = {
				.opaque = &target->eye[target->nr_eyes],
				.before = before,
				.after = after,
				.wrote = wrote,
				.semaphore = semaphore,
				.fault = fault,
			},
		};
	}
}

static void disarm(struct target *target)
{
	if (!target->machine)
		return;
	quieten(target);
	if (target->chip)
		trn_chip_watch(target->chip, NULL, 0);
	observe(target, false);
	target->armed = false;
	target->chip = NULL;
	resume(target);
}

static void closing(void *opaque)
{
	struct target *target = opaque;

	disarm(target);
	target->machine = NULL;
	target->nr_eyes = 0;
}

static bool job_runs(const struct target *target)
{
	struct trn_inspect_job_state job;

	return target->chip && trn_inspect_job(target->chip, target->unit[0], &job);
}

/* Where the variables lie. */
static void find_homes(struct target *target)
{
	unsigned int g;
	size_t i;

	for (g = 0; g < target->neff->nr_graphs; g++) {
		const struct neff_graph *graph = &target->neff->graphs[g];
		struct trn_inspect_place place;

		free(target->home[g]);
		target->home[g] = calloc(graph->nr_vars + 1, sizeof(*target->home[g]));
		for (i = 0; i < graph->nr_vars && target->home[g]; i++)
			if (!trn_inspect_window(target->chip, target->unit[g],
						neuron_window_addr(graph->vars[i].var_id, 0),
						&place) && place.len >= graph->vars[i].size)
				target->home[g][i] = place.addr;
	}
}

/* The stop is told to the prompt; what that wants begins when the chips are resumed. */
static void tell(struct target *target)
{
	struct breakpoint *breakpoint = find_breakpoint(target, target->stop.breakpoint);
	char why[TARGET_WHY];

	target_sync(target);
	if (breakpoint && target->stop.reason != STOP_STEP)
		breakpoint->hits++;
	if (target->stop.where.engine < NEURON_NR_ENGINES &&
	    target_has_engine(target, target->stop.where))
		target->selected = target->stop.where;
	if (!target->begun && target->chip) {
		find_homes(target);
		target_checkpoint(target, &(unsigned int){ 0 }, why);
		target->begun = true;
	}
	target_go(target, GO_CONTINUE, 0);
	target->prompt(target->opaque);
	target->stop = (struct stop){ .reason = STOP_NONE, .where = nowhere };
}

/* Nothing goes on and nobody has stopped it. */
static enum stop_reason why_idle(const struct target *target)
{
	return target->mode == GO_STEP_ALL ? STOP_STEP : STOP_STUCK;
}

/* What happened while a task ran, or that nothing goes on. */
static void look(struct target *target, enum emb_turn turn)
{
	/* Whoever wants a pause is not told of the entry, where others do not want to stop. */
	if (target->pause &&
	    (target->stop.reason == STOP_NONE || target->stop.reason == STOP_ENTRY))
		target->stop.reason = STOP_PAUSE;
	if (turn == EMB_TURN_IDLE && target->stop.reason == STOP_NONE)
		target->stop.reason = why_idle(target);
	quieten(target);
	if (target->stop.reason != STOP_NONE)
		tell(target);
	while (turn == EMB_TURN_IRQ && !job_runs(target) && target->mode != GO_KILL) {
		if (target->ended)
			break;
		target->ended = true;
		target->stop.reason = STOP_END;
		tell(target);
		/* It may have been set back to before its end. */
		target->ended = !job_runs(target);
	}
}

/*
 * Is there nothing to stop for? Before the first instruction nobody knows which chip it will be
 * on: a pause waits for it.
 */
static bool runs_on(const struct target *target, enum emb_turn turn)
{
	if (!target->chip)
		return turn != EMB_TURN_IDLE;
	return turn == EMB_TURN_BUSY && target->stop.reason == STOP_NONE && !target->pause;
}

static bool turn(void *opaque, enum emb_turn turn)
{
	struct target *target = opaque;

	if (!target->armed || target->ended)
		return true;
	if (runs_on(target, turn) && !atomic_load(&target->attention))
		return true;
	if (runs_on(target, turn)) {
		quieten(target);
		target->prompt(target->opaque);
	}
	if (!runs_on(target, turn))
		look(target, turn);
	if (target->mode == GO_KILL) {
		nrt_log_mute();
		disarm(target);
		return false;
	}
	if (target->ended) {
		disarm(target);
		return true;
	}
	resume(target);
	return true;
}

/* --- Beginning and end --- */

void target_init(struct target *target, struct neff *neff, target_prompt_fn prompt, void *opaque)
{
	unsigned int e = 0;

	*target = (struct target){
		.neff = neff,
		.prompt = prompt,
		.opaque = opaque,
		.door = {
			.opaque = target,
			.opened = opened,
			.closing = closing,
			.turn = turn,
		},
		.stop = { .where = nowhere },
	};
	while (e < NEURON_NR_ENGINES - 1 && !neff->graphs[0].image_count[e])
		e++;
	target->selected.engine = e;
}

void target_attach(struct target *target)
{
	emb_debug(&target->door);
}

void target_arm(struct target *target)
{
	quieten(target);
	observe(target, true);
	target->armed = true;
	target_go(target, GO_CONTINUE, 0);
	resume(target);
}

void target_destroy(struct target *target)
{
	unsigned int g, e;

	emb_debug(NULL);
	while (target->nr_breakpoints)
		free(target->breakpoints[--target->nr_breakpoints].code);
	free(target->breakpoints);
	target_forget_checkpoints(target);
	for (g = 0; g < TARGET_GRAPHS; g++)
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			free(target->engine[g][e].mark);
	for (g = 0; g < TARGET_GRAPHS; g++)
		free(target->home[g]);
}

void target_go(struct target *target, enum go_mode mode, uint64_t count)
{
	struct trn_inspect_engine_state state;
	unsigned int g, e;

	target->mode = mode;
	target->mover = target->selected;
	target->source = NULL;
	if (mode == GO_NEXT && target_engine(target, target->selected, &state))
		target->source = target_line(target, (struct code){ target->selected, state.pc },
					     &target->line);
	for (g = 0; g < TARGET_GRAPHS; g++) {
		for (e = 0; e < NEURON_NR_ENGINES; e++) {
			struct engine *engine = &target->engine[g][e];

			engine->limit = NO_LIMIT;
			if (mode == GO_STEP)
				engine->limit = engine->done;
			if (mode == GO_STEP_ALL)
				engine->limit = engine->done + 1;
		}
	}
	if (mode == GO_STEP)
		target->engine[target->mover.graph][target->mover.engine].limit += count;
}

/* --- Breakpoints --- */

struct breakpoint *target_add_breakpoint(struct target *target, enum breakpoint_kind kind,
					 const char *what)
{
	struct breakpoint *grown = realloc(target->breakpoints, (target->nr_breakpoints + 1) *
								sizeof(*grown));

	if (!grown)
		return NULL;
	target->breakpoints = grown;
	grown += target->nr_breakpoints++;
	*grown = (struct breakpoint){ .id = ++target->last_id, .kind = kind };
	snprintf(grown->what, sizeof(grown->what), "%s", what);
	return grown;
}

/* The first breakpoint of an instruction counts. */
static bool mark(struct target *target, const struct breakpoint *breakpoint,
		 const struct code *code)
{
	struct engine *engine = &target->engine[code->where.graph][code->where.engine];
	uint32_t count = target->neff->graphs[code->where.graph].image_count[code->where.engine];

	if (!engine->mark)
		engine->mark = calloc(count, sizeof(*engine->mark));
	if (!engine->mark)
		return false;
	if (!engine->mark[code->pc])
		engine->mark[code->pc] = breakpoint->id;
	return true;
}

static bool mark_all(struct target *target)
{
	unsigned int g, e;
	size_t i, k;

	for (g = 0; g < TARGET_GRAPHS; g++) {
		for (e = 0; e < NEURON_NR_ENGINES; e++) {
			free(target->engine[g][e].mark);
			target->engine[g][e].mark = NULL;
		}
	}
	for (i = 0; i < target->nr_breakpoints; i++)
		for (k = 0; k < target->breakpoints[i].nr_code; k++)
			if (!mark(target, &target->breakpoints[i], &target->breakpoints[i].code[k]))
				return false;
	return true;
}

static bool watch_all(struct target *target)
{
	struct trn_watchpoint watch[TRN_WATCHPOINTS + 1];
	unsigned int nr = 0;
	size_t i;

	for (i = 0; i < target->nr_breakpoints && nr <= TRN_WATCHPOINTS; i++)
		if (target->breakpoints[i].kind == BREAK_WRITE)
			watch[nr++] = target->breakpoints[i].watch;
	return !target->chip || trn_chip_watch(target->chip, watch, nr);
}

bool target_arm_breakpoint(struct target *target, struct breakpoint *breakpoint)
{
	unsigned int id = breakpoint->id;

	if (mark_all(target) && watch_all(target))
		return true;
	target_delete_breakpoint(target, id);
	return false;
}

bool target_delete_breakpoint(struct target *target, unsigned int id)
{
	struct breakpoint *found = find_breakpoint(target, id);
	size_t i;

	if (!found)
		return false;
	free(found->code);
	i = (size_t)(found - target->breakpoints);
	memmove(found, found + 1, (--target->nr_breakpoints - i) * sizeof(*found));
	mark_all(target);
	watch_all(target);
	return true;
}
