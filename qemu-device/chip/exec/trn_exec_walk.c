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

/* More than this of a desk is given back to the host when an instruction is done, */
#define DESK_KEPT	65536
/* and so much at a time: as long as a piece of work. */
#define DESK_GIVEN	65536

/* Inner rows of a tile: shorter ones cost more than their elements. */
#define ROW_SHORT	16
#define ROW_LONG	256

bool trn_exec_look(struct trn_exec *exec, uint64_t elements, unsigned int weight)
{
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

void trn_exec_leave(struct trn_seq *seq)
{
	const uint32_t *used = seq->resume.desk;

	if (used[0] + used[1] + used[2] > DESK_KEPT)
		seq->untidy = sizeof(struct trn_lane_desk);
	trn_resume_clear(&seq->resume);
}

bool trn_exec_tidy(struct trn_seq *seq, struct trn_budget *budget)
{
	uint8_t *desk = (uint8_t *)desk_of(seq->core, seq->engine);
	uint32_t given;

	while (seq->untidy) {
		given = seq->untidy < DESK_GIVEN ? seq->untidy : DESK_GIVEN;
		seq->untidy -= given;
		trn_backing_discard(desk + seq->untidy, given);
		if (budget && trn_budget_worked(budget, TRN_BUDGET_WORK, 1))
			return false;
	}
	return true;
}

/* --- the walk --- */

unsigned int trn_tile_weight(const struct trn_tile *tile, bool heavy)
{
	bool portable = trn_num_is_portable();
	bool dense = tile->contiguous || (tile->step[0] == (ptrdiff_t)tile->size &&
					  tile->num[0] >= ROW_LONG);

	if (!tile->contiguous && (tile->index || tile->num[0] < ROW_SHORT))
		return TRN_WEIGHT_SLOW;
	if (heavy)
		return portable ? TRN_WEIGHT_SLOW : TRN_WEIGHT_HEAVY;
	return portable || !dense ? TRN_WEIGHT_HEAVY : TRN_WEIGHT_PLAIN;
}

/* Elements that are looked at. */
static size_t elements_of(const struct trn_exec_walk *walk)
{
	size_t partitions = walk->partitions;

	if (walk->stride > 1)
		partitions = (partitions + walk->stride - 1) / walk->stride;
	return partitions * walk->n * (walk->depth ? walk->depth : 1);
}

/* Of its @elements. */
static unsigned int weight_of(const struct trn_exec_walk *walk, size_t elements)
{
	unsigned int weight, most = 0, i;

	/* So few that it is not worth while to look at the tiles. */
	if (elements <= TRN_SLOW_PIECE)
		return TRN_WEIGHT_SLOW;
	if (walk->dst)
		most = trn_tile_weight(walk->dst, walk->heavy);
	for (i = 0; i < 3 && walk->src[i]; i++) {
		weight = trn_tile_weight(walk->src[i], walk->heavy);
		most = weight > most ? weight : most;
	}
	return most;
}

/* The longest pieces of a partition. */
static size_t piece_of(const struct trn_exec_walk *walk, unsigned int weight)
{
	size_t piece = weight == TRN_WEIGHT_SLOW ? TRN_SLOW_PIECE : TRN_LINE_PIECE;

	if (weight == TRN_WEIGHT_PLAIN && walk->limit > piece)
		return walk->limit < TRN_LINE_MOST ? walk->limit : TRN_LINE_MOST;
	return walk->limit && walk->limit < piece ? walk->limit : piece;
}

/* What is written could change what is read later. */
static bool needs_desk(const struct trn_exec_walk *walk)
{
	unsigned int i;

	if (!walk->dst)
		return false;
	for (i = 0; i < 3 && walk->src[i]; i++)
		if (!trn_tile_piecewise(walk->dst, walk->src[i]))
			return true;
	return walk->on_desk;
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
 * @rows: partitions that are one piece together; 0: one of them is several pieces
 * @asked: elements after which trn_exec_pause() is asked; pieces are often shorter
 * @pending: since it was asked
 */
struct course {
	struct trn_exec *exec;
	const struct trn_exec_walk *walk;
	void *op;
	struct trn_tile real;
	bool staged;
	unsigned int weight;
	unsigned int stride;
	size_t depth;
	size_t piece;
	size_t rows;
	size_t asked;
	size_t pending;
	uint32_t p;
	uint32_t step;
	size_t first;
};

/* The destination is a line of the desk until a partition is done. */
static void __attribute__((noinline)) stage(struct course *course)
{
	const struct trn_exec_walk *walk = course->walk;

	course->staged = true;
	course->real = *walk->dst;
	trn_tile_on_desk(walk->dst, trn_exec_desk(course->exec)->line[0]);
	trn_exec_resume(course->exec)->desk[0] = (uint32_t)walk->dst->high;
}

/* False: the place, which may be from a stream, is not in the instruction. */
static bool course_init(struct course *course, struct trn_exec *exec,
			const struct trn_exec_walk *walk, void *op, unsigned int weight)
{
	const struct trn_resume *at = &exec->seq->resume;
	size_t end = at->step == STEP_COPY && walk->dst ? walk->dst->n : walk->n;

	course->exec = exec;
	course->walk = walk;
	course->op = op;
	course->weight = weight;
	course->piece = piece_of(walk, weight);
	course->stride = walk->stride ? walk->stride : 1;
	course->depth = walk->depth ? walk->depth : 1;
	course->asked = exec->budget && exec->budget->max_calls ?
			1 : TRN_BUDGET_WORK / weight;
	course->pending = 0;
	course->p = at->p;
	course->step = at->step;
	course->first = at->first;
	course->staged = false;
	if (needs_desk(walk))
		stage(course);
	course->rows = 0;
	if (!course->staged && walk->n <= course->piece)
		course->rows = course->asked / (walk->n * course->depth) + 1;
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

static bool failed(const struct trn_exec_walk *walk)
{
	return walk->cause && *walk->cause;
}

/* Partitions one after the other: the fewest steps between two of them. */
static void plain_rows(const struct trn_exec_walk *walk, void *op, uint32_t p, uint32_t end,
		       const struct trn_lines *lines)
{
	const size_t n = walk->n;

	for (; p < end; p++) {
		if (walk->begin)
			walk->begin(op, p);
		walk->piece(op, p, 0, n, lines);
	}
}

/* Those of an instruction that may fail, has ends, or leaves partitions out. */
static size_t other_rows(const struct trn_exec_walk *walk, void *op, uint32_t *p, size_t rows,
			 const struct trn_lines *lines)
{
	const unsigned int stride = walk->stride ? walk->stride : 1;
	size_t done = 0;

	for (;; *p += stride) {
		if (walk->begin)
			walk->begin(op, *p);
		if (failed(walk))
			break;
		walk->piece(op, *p, 0, walk->n, lines);
		if (++done == rows || walk->partitions - *p <= stride || failed(walk))
			break;
		if (walk->end)
			walk->end(op, *p);
	}
	return done;
}

/*
 * Partitions from *@p on that are short, at most @rows. Return: how many; *@p: the last
 * one, whose end is still to come.
 */
static size_t some_rows(const struct trn_exec_walk *walk, void *op, uint32_t *p, size_t rows,
			const struct trn_lines *lines)
{
	uint32_t end;

	if (walk->cause || walk->end || walk->stride > 1)
		return other_rows(walk, op, p, rows, lines);
	rows = trn_piece(walk->partitions, *p, rows);
	end = *p + (uint32_t)rows;
	if (walk->rows)
		walk->rows(op, *p, end, lines);
	else
		plain_rows(walk, op, *p, end, lines);
	*p = end - 1;
	return rows;
}

/* Whole partitions, as many as make a piece. True: cut, or failed. */
static bool walk_rows(struct course *course, const struct trn_lines *lines)
{
	const struct trn_exec_walk *walk = course->walk;
	size_t rows = some_rows(walk, course->op, &course->p, course->rows, lines);

	if (failed(walk))
		return true;
	course->step = STEP_COPY;
	course->first = 0;
	if (course_pause(course, rows * walk->n))
		return true;
	if (walk->end)
		walk->end(course->op, course->p);
	return false;
}

/* True: cut, or failed. */
static bool work(struct course *course, const struct trn_lines *lines)
{
	const struct trn_exec_walk *walk = course->walk;
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
	const struct trn_exec_walk *walk = course->walk;

	if (course->rows && course->step == STEP_BEGIN)
		return walk_rows(course, lines);
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

/* All of the instruction, @work, is one piece, and it has not been cut. */
static bool is_one_piece(const struct trn_exec *exec, const struct trn_exec_walk *walk,
			 unsigned int weight, size_t work)
{
	const struct trn_resume *at = &exec->seq->resume;

	return work <= TRN_BUDGET_WORK &&
	       walk->n <= piece_of(walk, weight) && !(at->p | at->step | at->first) &&
	       !(exec->budget && exec->budget->max_calls) && !needs_desk(walk);
}

static void walk_at_once(struct trn_exec *exec, const struct trn_exec_walk *walk, void *op,
			 size_t work, const struct trn_lines *lines)
{
	uint32_t p = 0;

	some_rows(walk, op, &p, walk->partitions, lines);
	if (walk->end && !failed(walk))
		walk->end(op, p);
	if (exec->budget)
		trn_budget_note(exec->budget, work, 1);
}

/* False: the place is not in the instruction. */
static bool __attribute__((noinline))
walk_pieces(struct trn_exec *exec, const struct trn_exec_walk *walk, void *op,
	    unsigned int weight, const struct trn_lines *lines)
{
	struct course course;

	if (!course_init(&course, exec, walk, op, weight))
		return false;
	for (; course.p < walk->partitions; course.p += course.stride) {
		if (walk_partition(&course, lines))
			break;
		course.step = STEP_BEGIN;
		course.first = 0;
	}
	if (exec->budget)
		trn_budget_note(exec->budget, course.pending, course.weight);
	return true;
}

enum neuron_cause trn_exec_walk(struct trn_exec *exec, const struct trn_exec_walk *walk,
				void *op)
{
	_Alignas(64) float buf[2 * TRN_LINE_MOST];
	const struct trn_lines lines = { buf, buf + TRN_LINE_MOST };
	const size_t elements = elements_of(walk);
	const unsigned int weight = weight_of(walk, elements);

	if (is_one_piece(exec, walk, weight, elements * weight))
		walk_at_once(exec, walk, op, elements * weight, &lines);
	else if (!walk_pieces(exec, walk, op, weight, &lines))
		return NEURON_CAUSE_OPERAND;
	if (exec->late.nr)
		trn_exec_acc_settle(exec);
	return failed(walk) ? *walk->cause : NEURON_CAUSE_NONE;
}

enum neuron_cause trn_exec_walk_tile(struct trn_exec *exec, struct trn_exec_walk *walk,
				     void *op)
{
	walk->partitions = walk->dst->partitions;
	walk->n = walk->dst->n;
	return trn_exec_walk(exec, walk, op);
}
