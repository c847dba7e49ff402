// SPDX-License-Identifier: MIT
/* .dma: a transfer and its trigger. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"
#include "neuron/neff.h"
#include "neuron/regs.h"

#define MAX_DIMS	4
#define MAX_REMOTES	8

/*
 * The dimensions of a shape, in bytes; @below: dimensions that the caller adds
 * outside of them.
 */
static bool side_shape(struct as_unit *unit, unsigned int below, struct nb_side *side)
{
	const struct as_token *token = as_peek(unit);
	struct as_dim dims[MAX_DIMS];
	enum neuron_dtype dtype;
	unsigned int bytes = 1;
	unsigned int i, n;

	if (!as_shape(unit, dims, MAX_DIMS - below, UINT32_MAX, &n))
		return false;
	if (as_peek(unit)->kind == AS_NAME) {
		if (!as_dtype(unit, &dtype))
			return false;
		bytes = neuron_dtype_bytes(dtype);
	}
	if (dims[n - 1].step != 1 || dims[n - 1].num * bytes > UINT32_MAX)
		return as_error(unit, token, "the innermost step must be 1, its size below 4 GiB");
	for (i = 0; i < n; i++) {
		const struct as_dim *dim = &dims[n - 1 - i];
		__int128 step = dim->step * (i ? bytes : 1);

		if (step > INT64_MAX || step < INT64_MIN)
			return as_error(unit, token, "a step of the shape is beyond 64 bits");
		side->size[i] = (uint32_t)(dim->num * (i ? 1 : bytes));
		side->step[i] = (int64_t)step;
	}
	side->ndim = n;
	return true;
}

/* sbuf[first:end, offset : shape]; the bracket is open. */
static bool sbuf_tile(struct as_unit *unit, struct nb_side *side)
{
	uint64_t first, end, offset;
	size_t at;

	if (!as_uint(unit, 127, "the first partition", &first) ||
	    !as_expect(unit, ':', "\":\" and the end of the partitions"))
		return false;
	at = unit->next;
	if (!as_uint(unit, 128, "the end of the partitions", &end))
		return false;
	if (end <= first)
		return as_error(unit, &unit->tokens[at], "the partitions end before they begin");
	if (!as_expect(unit, ',', "\",\" and the byte offset") ||
	    !as_uint(unit, NEURON_TPB_SBUF_STRIDE - 1, "the offset", &offset) ||
	    !as_expect(unit, ':', "\":\" and the shape") || !side_shape(unit, 1, side))
		return false;
	side->offset = nb_sbuf_offset((unsigned int)first, offset);
	side->size[side->ndim] = (uint32_t)(end - first);
	side->step[side->ndim++] = NEURON_TPB_SBUF_STRIDE;
	return as_expect(unit, ']', "\"]\"");
}

/* A comma before the bracket closes: a tile. */
static bool is_sbuf_tile(const struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);

	while (token->kind != AS_END && token->kind != ']' && token->kind != ',')
		token++;
	return token->kind == ',';
}

bool as_dma_variable(struct as_unit *unit, int *var)
{
	const struct as_token *token = as_peek(unit);
	char *name;

	if (as_token_is(token, "sbuf")) {
		as_take(unit);
		*var = nb_sbuf(unit->nb);
		return *var;
	}
	name = as_take_name(unit, "a variable");
	if (!name)
		return false;
	*var = nb_find_var(unit->nb, name);
	free(name);
	return *var || as_error(unit, token, "no variable \"%.*s\"", (int)token->len,
				token->text);
}

bool as_dma_side(struct as_unit *unit, struct nb_side *side)
{
	const struct as_token *token = as_peek(unit);
	bool sbuf = as_token_is(token, "sbuf");
	uint64_t size;

	memset(side, 0, sizeof(*side));
	if (!as_dma_variable(unit, &side->var))
		return false;
	if (!as_accept(unit, '[')) {
		size = nb_var_size(unit->nb, side->var);
		if (sbuf || size > UINT32_MAX)
			return as_error(unit, token, "which part of it? [offset : shape]");
		*side = nb_linear(side->var, 0, (uint32_t)size);
		return true;
	}
	if (sbuf && is_sbuf_tile(unit))
		return sbuf_tile(unit, side);
	return as_uint(unit, (uint64_t)1 << 46, "the offset", &side->offset) &&
	       as_expect(unit, ':', "\":\" and the shape") && side_shape(unit, 0, side) &&
	       as_expect(unit, ']', "\"]\"");
}

static bool parse_queue(struct as_unit *unit, int *queue)
{
	const struct as_token *token = as_peek(unit);
	char *name = as_take_name(unit, "a queue");

	if (!name)
		return false;
	*queue = nb_find_queue(unit->nb, name);
	free(name);
	if (*queue < 0)
		return as_error(unit, token, "no queue \"%.*s\"; .queue declares one",
				(int)token->len, token->text);
	if (nb_queue_owner(unit->nb, *queue) != (enum neuron_engine)unit->engine)
		return as_error(unit, token, "queue \"%.*s\" belongs to the %s engine",
				(int)token->len, token->text,
				neff_engine_name(nb_queue_owner(unit->nb, *queue)));
	return true;
}

/**
 * struct posts - what is incremented when the bytes have landed
 * @sem: of the own core, or -1
 * @remote, @nr_remotes: of the other core
 */
struct posts {
	int sem;
	int remote[MAX_REMOTES];
	unsigned int nr_remotes;
};

/* A number of the other core says nothing of the semaphores of this one. */
static bool remote_sem(struct as_unit *unit, struct posts *posts)
{
	const struct as_token *token = as_peek(unit);
	bool used[sizeof(unit->sem_used)];
	uint16_t number;
	bool good;

	memcpy(used, unit->sem_used, sizeof(used));
	good = as_sem(unit, &number);
	memcpy(unit->sem_used, used, sizeof(used));
	if (!good)
		return false;
	if (posts->nr_remotes == MAX_REMOTES)
		return as_error(unit, token, "more than %d remote semaphores", MAX_REMOTES);
	posts->remote[posts->nr_remotes++] = number;
	return true;
}

static bool parse_posts(struct as_unit *unit, struct posts *posts)
{
	const struct as_token *token;
	uint16_t number;

	while (as_accept(unit, ',')) {
		token = as_peek(unit);
		if (as_token_is(token, "remote") && token[1].kind == AS_NAME) {
			as_take(unit);
			if (!remote_sem(unit, posts))
				return false;
			continue;
		}
		if (posts->sem >= 0 || posts->nr_remotes)
			return as_error(unit, token, "one semaphore, then remote ones");
		if (!as_sem(unit, &number))
			return false;
		posts->sem = number;
	}
	return true;
}

/* --- what else than copying --- */

static const struct {
	const char *name;
	enum neuron_udma_opcode op;
} ops[] = {
	{ "cast", NEURON_UDMA_OP_COPY },
	{ "transpose", NEURON_UDMA_OP_TRANSPOSE },
	{ "add", NEURON_UDMA_OP_ADD },
	{ "fma", NEURON_UDMA_OP_FMA },
	{ "max", NEURON_UDMA_OP_MAX },
	{ "min", NEURON_UDMA_OP_MIN },
};

static bool parse_op_name(struct as_unit *unit, struct nb_move *move)
{
	const struct as_token *token = as_peek(unit);
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (as_token_is(token, ops[i].name))
			break;
	if (i == sizeof(ops) / sizeof(ops[0]))
		return as_expected(unit, "cast, transpose, add, fma, max or min");
	as_take(unit);
	move->op = ops[i].op;
	return true;
}

/* The type of the destination, and that of the sources if it is another one. */
bool as_dma_op(struct as_unit *unit, struct nb_move *move)
{
	if (!parse_op_name(unit, move) ||
	    !as_expect(unit, '.', "\".\" and the type of the destination") ||
	    !as_dtype(unit, &move->to_dtype))
		return false;
	move->from_dtype = move->to_dtype;
	return !as_accept(unit, '.') || as_dtype(unit, &move->from_dtype);
}

static bool float_value(struct as_unit *unit, float *value)
{
	uint32_t bits;

	if (!as_float(unit, &bits))
		return false;
	memcpy(value, &bits, sizeof(bits));
	return true;
}

/* One source, with a scale for fma. */
static bool parse_source(struct as_unit *unit, struct nb_move *move)
{
	const struct as_token *token = as_peek(unit);
	unsigned int i = move->nr_from;

	if (i == NEURON_UDMA_OP_MAX_SRC)
		return as_error(unit, token, "more than %d sources", NEURON_UDMA_OP_MAX_SRC);
	if (!as_dma_side(unit, &move->from[i]))
		return false;
	move->nr_from++;
	move->scale[i] = 1.0f;
	token = as_peek(unit);
	if (!as_token_is(token, "scale"))
		return true;
	if (move->op != NEURON_UDMA_OP_FMA)
		return as_error(unit, token, "only fma has a scale");
	as_take(unit);
	return float_value(unit, &move->scale[i]);
}

bool as_dma_sources(struct as_unit *unit, struct nb_move *move)
{
	do {
		if (!parse_source(unit, move))
			return false;
	} while (as_accept(unit, '+'));
	if (!as_token_is(as_peek(unit), "const"))
		return true;
	as_take(unit);
	move->has_constant = true;
	return float_value(unit, &move->constant);
}

/**
 * struct transfer - a line
 * @computes: @move says what; else bytes go from @move.from[0] to @move.to
 */
struct transfer {
	bool computes;
	int queue;
	struct nb_move move;
	struct posts posts;
};

static bool parse_transfer(struct as_unit *unit, struct transfer *transfer)
{
	struct nb_move *move = &transfer->move;

	transfer->computes = as_accept(unit, '.');
	if (transfer->computes && !as_dma_op(unit, move))
		return false;
	if (!as_need_engine(unit, as_peek(unit)) || !parse_queue(unit, &transfer->queue) ||
	    !as_expect(unit, ',', "\",\" and where the bytes go") ||
	    !as_dma_side(unit, &move->to) ||
	    !as_expect(unit, ',', "\",\" and where the bytes come from"))
		return false;
	if (!(transfer->computes ? as_dma_sources(unit, move) : as_dma_side(unit, &move->from[0])))
		return false;
	return parse_posts(unit, &transfer->posts);
}

bool as_dma(struct as_unit *unit)
{
	struct transfer transfer = { .posts.sem = -1 };
	struct posts *posts = &transfer.posts;
	struct nb_move *move = &transfer.move;
	struct neuron_inst sync = { 0 };
	struct neuron_inst *inst;
	unsigned int i;

	if (!parse_transfer(unit, &transfer) || !as_sync(unit, &sync, NULL))
		return false;
	as_set_source(unit, true);
	inst = transfer.computes ?
	       nb_dma_move(unit->nb, transfer.queue, move, posts->sem) :
	       nb_dma(unit->nb, transfer.queue, move->to, move->from[0], posts->sem);
	inst->sync = sync.sync;
	inst->wait_sem = sync.wait_sem;
	inst->wait_value = sync.wait_value;
	inst->post_sem = sync.post_sem;
	inst->post_value = sync.post_value;
	as_set_debug(unit, inst);
	for (i = 0; i < posts->nr_remotes; i++)
		nb_dma_remote(unit->nb, transfer.queue, posts->remote[i]);
	return true;
}
