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
		if (turn->reg == reg || (turn->test && turn->with == reg))
			return true;
	}
	return false;
}

/* A loop begins here; NULL: no memory, or it is in too many others. */
static struct nb_turn *nb_turn_begin(struct nb_program *nb, unsigned int reg)
{
	struct nb_record *record = nb->record;
	struct nb_turn *turn;

	if (record->depth == NEURON_NR_REGS) {
		nb_fail_here(nb, "a loop is in at most %d others", NEURON_NR_REGS - 1);
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

void nb_begin_while(struct nb_program *nb, enum neuron_alu op, unsigned int reg,
		    unsigned int with, int32_t value)
{
	struct nb_turn *turn;

	if (!nb->record) {
		nb_fail_here(nb, "nb_begin_while() is for programs that begin with nb_auto()");
		return;
	}
	if (op < NEURON_ALU_IS_EQ || op > NEURON_ALU_IS_LT) {
		nb_fail_here(nb, "a loop ends by a comparison, not by operator %d", op);
		return;
	}
	if (reg >= NEURON_NR_REGS || with >= NEURON_NR_REGS) {
		nb_fail_here(nb, "a loop compares registers from 0 to %d", NEURON_NR_REGS - 1);
		return;
	}
	turn = nb_turn_begin(nb, reg);
	if (!turn)
		return;
	turn->test = true;
	turn->op = op;
	turn->with = with;
	turn->value = value;
}

void nb_end_loop(struct nb_program *nb)
{
	struct nb_turn *begin, *end;
	size_t i, at;

	if (!nb->record || !nb->record->depth) {
		nb_fail_here(nb, "nb_end_loop() without a loop that has begun");
		return;
	}
	at = nb->record->open[nb->record->depth - 1];
	begin = &nb->record->turn[at];
	for (i = begin->at; i < nb->record->count; i++)
		begin->engines |= NEURON_BIT(nb->record->engine[i]);
	end = nb_turn_add(nb);
	if (!end)
		return;
	begin = &nb->record->turn[at];
	begin->match = end - nb->record->turn;
	end->match = at;
	end->around = begin->around;
	end->test = begin->test;
	end->op = begin->op;
	end->with = begin->with;
	end->value = begin->value;
	end->reg = begin->reg;
	end->engines = begin->engines;
	nb->record->depth--;
}
