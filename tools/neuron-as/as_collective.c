// SPDX-License-Identifier: MIT
/* .collective: what several ranks do together, and the variable that starts it. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "neuron/neff.h"
#include "plan/plan.h"

/* What a collective is, while its line is read; the lists have room for all words of the line. */
struct collective {
	struct nb_collective what;
	char *op;
	const char *reduce;
	uint32_t *ranks;
	uint32_t (*pairs)[2];
	struct nb_side *inputs;
	struct nb_side *outputs;
	bool barrier;
	bool rings;
	bool varies;
};

static bool find_op(const char *name, enum nrt_plan_op *op)
{
	unsigned int i;

	for (i = 0; i < NRT_PLAN_NR_OPS; i++)
		if (!strcmp(nrt_plan_op_name(i), name))
			break;
	*op = (enum nrt_plan_op)i;
	return i < NRT_PLAN_NR_OPS;
}

static const char *take_reduce(struct as_unit *unit)
{
	unsigned int i;

	for (i = NRT_PLAN_ADD; i < NRT_PLAN_NR_REDUCES; i++) {
		if (!as_token_is(as_peek(unit), nrt_plan_reduce_name(i)))
			continue;
		as_take(unit);
		return nrt_plan_reduce_name(i);
	}
	return NULL;
}

/* OP [REDUCE] */
static bool parse_op(struct as_unit *unit, struct collective *collective)
{
	const struct as_token *token = as_peek(unit);
	enum nrt_plan_op op;

	collective->op = as_take_name(unit, "an operation");
	if (!collective->op)
		return false;
	if (!find_op(collective->op, &op))
		return as_error(unit, token, "no collective operation \"%s\"", collective->op);
	collective->barrier = op == NRT_PLAN_BARRIER;
	collective->varies = nrt_plan_varies(op);
	collective->rings = op == NRT_PLAN_PERMUTE_RING;
	if (nrt_plan_can_reduce(op))
		collective->reduce = take_reduce(unit);
	return !nrt_plan_reduces(op) || collective->reduce ||
	       as_expected(unit, "add, min or max");
}

/* (SIDE, ...) */
static bool parse_list(struct as_unit *unit, struct nb_side *parts, unsigned int *nr)
{
	if (!as_expect(unit, '(', "\"(\" and a list"))
		return false;
	*nr = 0;
	do {
		if (!as_dma_side(unit, &parts[(*nr)++]))
			return false;
	} while (as_accept(unit, ','));
	return as_expect(unit, ')', "\",\" or \")\"");
}

/* INPUT OUTPUT, or a list of each */
static bool parse_ends(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;
	const struct as_token *token = as_peek(unit);
	unsigned int outputs;

	if (token->kind != '(')
		return as_dma_variable(unit, &what->input) && as_dma_variable(unit, &what->output);
	if (!parse_list(unit, collective->inputs, &what->nr_parts) ||
	    !parse_list(unit, collective->outputs, &outputs))
		return false;
	what->inputs = collective->inputs;
	what->outputs = collective->outputs;
	return outputs == what->nr_parts ||
	       as_error(unit, token, "there are %u inputs and %u outputs", what->nr_parts, outputs);
}

/* TYPE and tensors, which a barrier has not, and SEM. */
static bool parse_tensors(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;
	uint16_t sem;

	if (!collective->barrier &&
	    !(as_dtype(unit, &what->dtype) && parse_ends(unit, collective)))
		return false;
	if (!as_sem(unit, &sem))
		return false;
	what->semaphore = sem;
	return true;
}

static bool parse_rank(struct as_unit *unit, uint32_t *rank)
{
	__int128 value;

	if (!as_primary(unit, 0, NRT_PLAN_MAX_RANKS - 1, "a rank", &value))
		return false;
	*rank = (uint32_t)value;
	return true;
}

static bool at_rank(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);

	return token->kind != AS_END && token->kind != '/' && !as_token_is(token, "pairs") &&
	       !as_token_is(token, "channels") && !as_token_is(token, "metadata") &&
	       !as_token_is(token, "root") &&
	       !as_token_is(token, "priority") && !as_token_is(token, "stream");
}

/* RANK ... / RANK ... */
static bool parse_groups(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;
	unsigned int size, nr = 0;
	const struct as_token *token;

	if (!as_token_is(as_peek(unit), "groups"))
		return as_expected(unit, "\"groups\" and their ranks");
	do {
		as_take(unit);	/* "groups" or the slash */
		token = as_peek(unit);
		size = 0;
		do {
			if (!parse_rank(unit, &collective->ranks[nr++]))
				return false;
			size++;
		} while (at_rank(unit));
		if (what->nr_groups++ && size != what->group_size)
			return as_error(unit, token,
					"this group has %u ranks, and the first has %u", size,
					what->group_size);
		what->group_size = size;
	} while (as_peek(unit)->kind == '/');
	return true;
}

/* FROM:TO ... */
static bool parse_pairs(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;

	if (!as_token_is(as_peek(unit), "pairs"))
		return true;
	as_take(unit);
	do {
		uint32_t *pair = collective->pairs[what->nr_pairs];

		if (!parse_rank(unit, &pair[0]) ||
		    !as_expect(unit, ':', "\":\" and the place that receives") ||
		    !parse_rank(unit, &pair[1]))
			return false;
		what->nr_pairs++;
	} while (at_rank(unit));
	return true;
}

static bool parse_word(struct as_unit *unit, const char *word)
{
	bool is = as_token_is(as_peek(unit), word);

	if (is)
		as_take(unit);
	return is;
}

/* metadata NAME [known] [displs], which those need whose counts are known when they run. */
static bool parse_metadata(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;

	if (!collective->varies)
		return true;
	if (!parse_word(unit, "metadata"))
		return as_expected(unit, "\"metadata\" and a variable");
	if (!as_dma_variable(unit, &what->metadata))
		return false;
	what->recv_counts_known = parse_word(unit, "known");
	what->has_rdispls = parse_word(unit, "displs");
	return true;
}

static bool parse_number(struct as_unit *unit, const char *word, unsigned int max,
			 unsigned int *number)
{
	uint64_t value;

	if (!as_token_is(as_peek(unit), word))
		return true;
	as_take(unit);
	if (!as_uint(unit, max, word, &value))
		return false;
	*number = (unsigned int)value;
	return true;
}

static bool parse(struct as_unit *unit, struct collective *collective)
{
	struct nb_collective *what = &collective->what;

	collective->ranks = calloc(unit->nr_tokens, sizeof(*collective->ranks));
	collective->pairs = calloc(unit->nr_tokens, sizeof(*collective->pairs));
	collective->inputs = calloc(unit->nr_tokens, sizeof(*collective->inputs));
	collective->outputs = calloc(unit->nr_tokens, sizeof(*collective->outputs));
	if (!collective->ranks || !collective->pairs || !collective->inputs || !collective->outputs)
		return as_memory(unit);
	return parse_op(unit, collective) && parse_tensors(unit, collective) &&
	       parse_groups(unit, collective) && parse_pairs(unit, collective) &&
	       (!collective->rings ||
		parse_number(unit, "channels", NEFF_MAX_CHANNELS, &what->channels)) &&
	       parse_metadata(unit, collective) &&
	       parse_number(unit, "root", NRT_PLAN_MAX_RANKS - 1, &what->root) &&
	       parse_number(unit, "priority", NRT_PLAN_PRIORITIES - 1, &what->priority) &&
	       parse_number(unit, "stream", NRT_PLAN_STREAMS - 1, &what->stream);
}

bool as_collective(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	struct collective collective = { .op = NULL };
	bool good = name && parse(unit, &collective);

	if (good) {
		collective.what.op = collective.op;
		collective.what.reduce = collective.reduce;
		collective.what.ranks = collective.ranks;
		collective.what.pairs = (const uint32_t (*)[2])collective.pairs;
		nb_collective(unit->nb, name, &collective.what);
	}
	free(collective.outputs);
	free(collective.inputs);
	free(collective.pairs);
	free(collective.ranks);
	free(collective.op);
	free(name);
	return good;
}
