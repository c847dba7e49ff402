// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Instructions piece by piece: where they are cut, what they keep meanwhile, and the walk
 * through partitions and elements that most of them share.
 */
#include <string.h>

#include "base/trn_backing.h"
#include "base/trn_chip.h"
#include "exec/trn_exec.h"
#include "exec/trn_resume.h"
#include "exec/trn_seq.h"
#include "job/trn_job.h"
#include "num/trn_num.h"

/* More than this of a desk is given back to the host when an instruction is done. */
#define DESK_KEPT	65536

/* Inner rows of a tile: shorter ones cost more than their elements. */
#define ROW_SHORT	16
#define ROW_LONG	256

bool trn_exec_pause(struct trn_exec *exec, uint64_t elements, unsigned int weight)
{
	if (!exec->budget)
		return false;
	exec->more = trn_budget_worked(exec->budget, elements, weight) ||
		     atomic_load_explicit(&exec->job->stop, memory_order_relaxed) ||
		     atomic_load_explicit(&exec->core->chip->stopping,
					  memory_order_relaxed);
	if (exec->more)
		exec->seq->resume.cut = true;
	return exec->more;
}

void trn_exec_keep(struct trn_exec *exec, uint32_t p, uint32_t step, size_t first)
{
	struct trn_resume *at = &exec->seq->resume;

	at->begun = true;
	at->p = p;
	at->step = step;
	at->first = (uint32_t)first;
}

/* --- the desk --- */

static struct trn_lane_desk *desk_of(struct trn_core *core, unsigned int engine)
{
	return &core->desk->lane[engine - NEURON_ENGINE_VECTOR];
}

struct trn_lane_desk *trn_exec_desk(const struct trn_exec *exec)
{
	return desk_of(exec->core, exec->seq->engine);
}

void trn_exec_desk_use(struct trn_exec *exec, size_t line0, size_t line1, size_t table)
{
	struct trn_resume *at = &exec->seq->resume;

	at->desk[0] = (uint32_t)line0;
	at->desk[1] = (uint32_t)line1;
	at->desk[2] = (uint32_t)table;
}

void trn_resume_clear(struct trn_resume *at, struct trn_core *core, unsigned int engine)
{
	struct trn_lane_desk *desk;

	if (at->desk[0] + at->desk[1] + at->desk[2] > DESK_KEPT) {
		desk = desk_of(core, engine);
		trn_backing_discard((void *)desk, sizeof(*desk));
	}
	at->cut = false;
	at->begun = false;
	at->step = 0;
	at->p = 0;
	at->first = 0;
	at->width = 0;
	at->known = 0;
	at->scanned = 0;
	at->brought = 0;
	memset(at->desk, 0, sizeof(at->desk));
}

/* --- the walk --- */

unsigned int trn_tile_weight(const struct trn_tile *tile, bool heavy)
{
	bool portable = !strcmp(trn_num_path_name(), "scalar");
	bool dense = tile->contiguous || (tile->step[0] == (ptrdiff_t)tile->size &&
					  tile->num[0] >= ROW_LONG);

	if (!tile->contiguous && (tile->index || tile->num[0] < ROW_SHORT))
		return TRN_WEIGHT_SLOW;
	if (heavy)
		return portable ? TRN_WEIGHT_SLOW : TRN_WEIGHT_HEAVY;
	return portable || !dense ? TRN_WEIGHT_HEAVY : TRN_WEIGHT_PLAIN;
}

static unsigned int weight_of(const struct trn_walk *walk)
{
	unsigned int weight, most = 0, i;

	/* So few that it is not worth while to look at them. */
	if (walk->partitions * walk->n * (walk->depth + 1) <= TRN_SLOW_PIECE)
		return TRN_WEIGHT_SLOW;
	if (walk->dst)
		most = trn_tile_weight(walk->dst, walk->heavy);
	for (i = 0; i < 3 && walk->src[i]; i++) {
		weight = trn_tile_weight(walk->src[i], walk->heavy);
		most = weight > most ? weight : most;
	}
	return most;
}

static bool goes_piecewise(const struct trn_walk *walk)
{
	unsigned int i;

	for (i = 0; walk->dst && i < 3 && walk->src[i]; i++)
		if (!trn_tile_piecewise(walk->dst, walk->src[i]))
			return false;
	return true;
}

void trn_tile_on_desk(struct trn_tile *tile, void *line)
{
	unsigned int i;

	tile->base = line;
	tile->stride = 0;
	for (i = 0; i < 4; i++)
		tile->step[i] = (ptrdiff_t)tile->size * (i ? tile->num[i - 1] : 1);
	tile->low = 0;
	tile->high = (int64_t)tile->n * tile->size;
	tile->psum = false;
	tile->contiguous = true;
	tile->index = NULL;
}

/* What is done in a partition. */
enum { STEP_BEGIN, STEP_WORK, STEP_COPY, NR_STEPS };

/**
 * struct course - a walk under way
 * @real: the destination, if @staged: walk->dst is a line of the desk
 * @is_short: a partition is one piece
 * @asked: elements after which trn_exec_pause() is asked; pieces are often shorter
 * @pending: since it was asked
 */
struct course {
	struct trn_exec *exec;
	const struct trn_walk *walk;
	void *op;
	struct trn_tile real;
	bool staged;
	bool is_short;
	unsigned int weight;
	unsigned int stride;
	size_t depth;
	size_t piece;
	size_t asked;
	size_t pending;
	uint32_t p;
	uint32_t step;
	size_t first;
};

static bool course_init(struct course *course, struct trn_exec *exec,
			const struct trn_walk *walk, void *op)
{
	const struct trn_resume *at = &exec->seq->resume;
	size_t end = at->step == STEP_COPY && walk->dst ? walk->dst->n : walk->n;

	course->exec = exec;
	course->walk = walk;
	course->op = op;
	course->weight = weight_of(walk);
	course->piece = course->weight == TRN_WEIGHT_SLOW ? TRN_SLOW_PIECE : TRN_LINE_PIECE;
	if (walk->limit && course->piece > walk->limit)
		course->piece = walk->limit;
	course->stride = walk->stride ? walk->stride : 1;
	course->depth = walk->depth ? walk->depth : 1;
	course->asked = exec->budget && exec->budget->max_calls ?
			1 : TRN_BUDGET_WORK / course->weight;
	course->pending = 0;
	course->p = at->p;
	course->step = at->step;
	course->first = at->first;
	course->staged = walk->on_desk || !goes_piecewise(walk);
	course->is_short = !course->staged && walk->n <= course->piece;
	if (course->staged) {
		course->real = *walk->dst;
		trn_tile_on_desk(walk->dst, trn_exec_desk(exec)->line[0]);
		trn_exec_desk_use(exec, (size_t)walk->dst->high, 0, 0);
	}
	return at->p < walk->partitions && at->p % course->stride == 0 &&
	       at->step < NR_STEPS && at->first <= end;
}

/* @n elements are done. True: the instruction is cut here. */
static inline bool course_pause(struct course *course, size_t n)
{
	course->pending += n * course->depth;
	if (course->pending < course->asked)
		return false;
	n = course->pending;
	course->pending = 0;
	if (!trn_exec_pause(course->exec, n, course->weight))
		return false;
	trn_exec_keep(course->exec, course->p, course->step, course->first);
	return true;
}

/* What the partition holds at the end, in ascending order. True: cut. */
static bool copy_back(struct course *course)
{
	const struct trn_tile *from = course->walk->dst;
	size_t n;

	while (course->first < from->n) {
		n = trn_piece(from->n, course->first, course->piece);
		trn_tile_store_raw(&course->real, course->p, course->first, n,
				   from->base + course->first * from->size);
		course->first += n;
		if (course_pause(course, n))
			return true;
	}
	return false;
}

static bool failed(const struct trn_walk *walk)
{
	return walk->cause && *walk->cause;
}

/* Partition @course->p is done but for its end. True: cut. */
static inline bool partition_pause(struct course *course, size_t n)
{
	course->step = STEP_COPY;
	course->first = 0;
	return course_pause(course, n);
}

/* Whole partitions, as many as make a piece. True: cut. */
static bool walk_rows(struct course *course, const struct trn_lines *lines)
{
	const struct trn_walk *walk = course->walk;
	size_t rows = course->asked / walk->n + 1;
	uint32_t end = (uint32_t)trn_piece(walk->partitions, course->p, rows) + course->p;

	walk->rows(course->op, course->p, end, lines);
	rows = end - course->p;
	course->p = end - 1;
	return partition_pause(course, rows * walk->n);
}

/* A partition that is one piece, which is how most are. True: cut, or failed. */
static inline bool walk_short(struct course *course, const struct trn_lines *lines)
{
	const struct trn_walk *walk = course->walk;

	if (walk->begin)
		walk->begin(course->op, course->p);
	if (failed(walk))
		return true;
	walk->piece(course->op, course->p, 0, walk->n, lines);
	if (failed(walk) || partition_pause(course, walk->n))
		return true;
	if (walk->end)
		walk->end(course->op, course->p);
	return false;
}

/* True: cut, or failed. */
static bool work(struct course *course, const struct trn_lines *lines)
{
	const struct trn_walk *walk = course->walk;
	size_t n;

	while (course->first < walk->n) {
		n = trn_piece(walk->n, course->first, course->piece);
		walk->piece(course->op, course->p, course->first, n, lines);
		course->first += n;
		if (failed(walk) || course_pause(course, n))
			return true;
	}
	return false;
}

/* True: cut, or failed. */
static bool walk_partition(struct course *course, const struct trn_lines *lines)
{
	const struct trn_walk *walk = course->walk;

	if (course->is_short && course->step == STEP_BEGIN)
		return walk->rows ? walk_rows(course, lines) : walk_short(course, lines);
	if (course->step == STEP_BEGIN) {
		if (walk->begin)
			walk->begin(course->op, course->p);
		if (failed(walk))
			return true;
		course->step = STEP_WORK;
	}
	if (course->step == STEP_WORK) {
		if (work(course, lines))
			return true;
		course->step = STEP_COPY;
		course->first = 0;
	}
	if (course->staged && copy_back(course))
		return true;
	if (walk->end)
		walk->end(course->op, course->p);
	return false;
}

enum neuron_cause trn_exec_walk(struct trn_exec *exec, const struct trn_walk *walk,
				void *op)
{
	_Alignas(64) float buf[2 * TRN_LINE_PIECE];
	const struct trn_lines lines = { buf, buf + TRN_LINE_PIECE };
	struct course course;

	if (!course_init(&course, exec, walk, op))
		return NEURON_CAUSE_OPERAND;
	for (; course.p < walk->partitions; course.p += course.stride) {
		if (walk_partition(&course, &lines))
			break;
		course.step = STEP_BEGIN;
		course.first = 0;
	}
	return failed(walk) ? *walk->cause : NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_walk_tile(struct trn_exec *exec, struct trn_walk *walk,
				     void *op)
{
	walk->partitions = walk->dst->partitions;
	walk->n = walk->dst->n;
	return trn_exec_walk(exec, walk, op);
}
