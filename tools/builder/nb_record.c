// SPDX-License-Identifier: MIT
/* Programs that are synchronised by the builder: the order of the calls, and loops. */
#include <stdlib.h>

#include "nb_sync.h"

void nb_auto(struct nb_program *nb)
{
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (nb->stream[e].count) {
			nb_fail(nb, "nb_auto() comes before the first instruction");
			return;
		}
	if (nb->record)
		return;
	nb->record = calloc(1, sizeof(*nb->record));
	if (!nb->record)
		nb_fail(nb, "out of memory");
}

void nb_record_inst(struct nb_program *nb, enum neuron_engine e)
{
	struct nb_record *record = nb->record;
	uint8_t *engine;

	if (!record)
		return;
	engine = nb_grow(nb, (void **)&record->engine, record->count, &record->room,
			 sizeof(*engine));
	if (!engine)
		return;
	*engine = e;
	record->count++;
}

void nb_record_any(struct nb_program *nb)
{
	struct nb_record *record = nb->record;
	size_t *any;

	if (!record || !record->count)
		return;
	any = nb_grow(nb, (void **)&record->any, record->nr_any, &record->any_room,
		      sizeof(*any));
	if (!any)
		return;
	*any = record->count - 1;
	record->nr_any++;
}

void nb_record_free(struct nb_record *record)
{
	if (!record)
		return;
	free(record->engine);
	free(record->any);
	free(record->turn);
	free(record);
}

static struct nb_turn *nb_turn_add(struct nb_program *nb)
{
	struct nb_record *record = nb->record;
	struct nb_turn *turn;

	turn = nb_grow(nb, (void **)&record->turn, record->nr_turns, &record->turn_room,
		       sizeof(*turn));
	if (!turn)
		return NULL;
	turn->at = record->count;
	record->nr_turns++;
	return turn;
}

bool nb_loop_since(const struct nb_program *nb, size_t turn)
{
	const struct nb_record *record = nb->record;

	return record && record->depth && record->open[record->depth - 1] >= turn;
}

/* The rounds of a loop around depend on the register. */
static bool nb_reg_taken(const struct nb_record *record, unsigned int reg)
{
	const struct nb_turn *turn;
	unsigned int i;

	for (i = 0; i < record->depth; i++) {
		turn = &record->turn[record->open[i]];
		if (turn->kind != NB_TURN_LOOP)
			continue;
		if (turn->reg == reg || (turn->test && turn->with == reg))
			return true;
	}
	return false;
}

/* A loop or branch begins here; NULL: no memory, or it is in too many others. */
static struct nb_turn *nb_turn_begin(struct nb_program *nb, unsigned int reg)
{
	struct nb_record *record = nb->record;
	struct nb_turn *turn;

	if (record->depth == NEURON_NR_REGS) {
		nb_fail_here(nb, "a loop or branch is in at most %d others", NEURON_NR_REGS - 1);
		return NULL;
	}
	turn = nb_turn_add(nb);
	if (!turn)
		return NULL;
	turn->begin = true;
	turn->around = record->depth ? record->open[record->depth - 1] : SIZE_MAX;
	turn->reg = reg;
	record->open[record->depth++] = turn - record->turn;
	return turn;
}

void nb_begin_loop(struct nb_program *nb, unsigned int reg, uint32_t count)
{
	struct nb_turn *turn;

	if (!nb->record) {
		nb_fail_here(nb, "nb_begin_loop() is for programs that begin with nb_auto()");
		return;
	}
	if (!reg || reg >= NEURON_NR_REGS || nb_reg_taken(nb->record, reg)) {
		nb_fail_here(nb,
			     "a loop needs a register from 1 to %d on which no loop around it depends",
			     NEURON_NR_REGS - 1);
		return;
	}
	if (!count) {
		nb_fail_here(nb, "a loop is executed at least once");
		return;
	}
	turn = nb_turn_begin(nb, reg);
	if (turn)
		turn->count = count;
}

/* @what: the caller, "loop" or "branch". NULL: refused. */
static struct nb_turn *nb_begin_test(struct nb_program *nb, const char *caller, const char *what,
				     enum neuron_alu op, unsigned int reg, unsigned int with,
				     int32_t value)
{
	struct nb_turn *turn;

	if (!nb->record) {
		nb_fail_here(nb, "%s() is for programs that begin with nb_auto()", caller);
		return NULL;
	}
	if (op < NEURON_ALU_IS_EQ || op > NEURON_ALU_IS_LT) {
		nb_fail_here(nb, "a %s depends on a comparison, not on operator %d", what, op);
		return NULL;
	}
	if (reg >= NEURON_NR_REGS || with >= NEURON_NR_REGS) {
		nb_fail_here(nb, "a %s compares registers from 0 to %d", what,
			     NEURON_NR_REGS - 1);
		return NULL;
	}
	turn = nb_turn_begin(nb, reg);
	if (!turn)
		return NULL;
	turn->test = true;
	turn->op = op;
	turn->with = with;
	turn->value = value;
	return turn;
}

void nb_begin_while(struct nb_program *nb, enum neuron_alu op, unsigned int reg,
		    unsigned int with, int32_t value)
{
	nb_begin_test(nb, "nb_begin_while", "loop", op, reg, with, value);
}

void nb_begin_if(struct nb_program *nb, enum neuron_alu op, unsigned int reg,
		 unsigned int with, int32_t value)
{
	struct nb_turn *turn = nb_begin_test(nb, "nb_begin_if", "branch", op, reg, with, value);

	if (turn)
		turn->kind = NB_TURN_THEN;
}

/* The innermost loop or branch that has begun, of a kind from @first to @last; NULL: it is not. */
static struct nb_turn *nb_innermost(struct nb_program *nb, const char *caller, const char *what,
				    enum nb_turn_kind first, enum nb_turn_kind last)
{
	struct nb_record *record = nb->record;
	struct nb_turn *turn = NULL;

	if (record && record->depth)
		turn = &record->turn[record->open[record->depth - 1]];
	if (turn && turn->kind >= first && turn->kind <= last)
		return turn;
	if (turn)
		nb_fail_here(nb, "%s() where another loop or branch has to end first", caller);
	else
		nb_fail_here(nb, "%s() without a %s that has begun", caller, what);
	return NULL;
}

static uint8_t nb_turn_engines(const struct nb_record *record, const struct nb_turn *begin)
{
	uint8_t engines = 0;
	size_t i;

	for (i = begin->at; i < record->count; i++)
		engines |= NEURON_BIT(record->engine[i]);
	return engines;
}

/* What begins at the turn @at, the innermost one, ends here. NULL: no memory. */
static struct nb_turn *nb_turn_end(struct nb_program *nb, size_t at)
{
	struct nb_record *record = nb->record;
	struct nb_turn *begin, *end = nb_turn_add(nb);
	size_t here;

	if (!end)
		return NULL;
	begin = &record->turn[at];
	begin->engines = nb_turn_engines(record, begin);
	begin->match = end - record->turn;
	here = end->at;
	*end = *begin;
	end->at = here;
	end->match = at;
	end->begin = false;
	record->depth--;
	return end;
}

void nb_end_loop(struct nb_program *nb)
{
	struct nb_turn *begin = nb_innermost(nb, "nb_end_loop", "loop", NB_TURN_LOOP,
					     NB_TURN_LOOP);

	if (begin)
		nb_turn_end(nb, begin - nb->record->turn);
}

void nb_else(struct nb_program *nb)
{
	struct nb_turn *begin = nb_innermost(nb, "nb_else", "branch", NB_TURN_THEN, NB_TURN_THEN);
	struct nb_turn *turn;
	unsigned int reg;

	if (!begin)
		return;
	begin->kind = NB_TURN_THEN_ELSE;
	reg = begin->reg;
	if (!nb_turn_end(nb, begin - nb->record->turn))
		return;
	turn = nb_turn_begin(nb, reg);
	if (!turn)
		return;
	turn->kind = NB_TURN_ELSE;
	turn->test = true;
}

void nb_join_branch(struct nb_record *record, struct nb_turn *end)
{
	struct nb_turn *begin = &record->turn[end->match];
	struct nb_turn *then_end = begin - 1;
	struct nb_turn *then_begin = &record->turn[then_end->match];

	end->engines |= then_end->engines;
	begin->engines = end->engines;
	then_end->engines = end->engines;
	then_begin->engines = end->engines;
}

void nb_end_if(struct nb_program *nb)
{
	struct nb_turn *begin = nb_innermost(nb, "nb_end_if", "branch", NB_TURN_THEN,
					     NB_TURN_ELSE);
	struct nb_turn *end;

	if (!begin)
		return;
	end = nb_turn_end(nb, begin - nb->record->turn);
	if (end && end->kind == NB_TURN_ELSE)
		nb_join_branch(nb->record, end);
}
