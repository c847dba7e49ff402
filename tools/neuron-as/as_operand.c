// SPDX-License-Identifier: MIT
/* Operands: registers, semaphores, tiles, addresses; and synchronisation. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"
#include "neuron/address.h"

#define MOST_INNER	((__int128)1 << 90)

bool as_register(struct as_unit *unit, uint8_t *reg)
{
	const struct as_token *token = as_peek(unit);
	uint32_t number;

	if (!as_numbered(token, 'r', &number))
		return as_expected(unit, "a register");
	if (number >= NEURON_NR_REGS)
		return as_error(unit, token, "registers are r0 to r%d", NEURON_NR_REGS - 1);
	as_take(unit);
	*reg = (uint8_t)number;
	return true;
}

bool as_sem(struct as_unit *unit, uint16_t *sem)
{
	const struct as_token *token = as_peek(unit);
	const struct as_entry *entry;
	uint32_t number;

	if (token->kind != AS_NAME)
		return as_expected(unit, "a semaphore");
	if (as_numbered(token, 's', &number)) {
		if (number > 255)
			return as_error(unit, token, "semaphores are s0 to s255");
		unit->sem_used[number] = true;
	} else {
		entry = as_find(unit, AS_SCOPE_SEM, token->text, token->len);
		if (!entry)
			return as_error(unit, token, "no semaphore \"%.*s\"; .sem declares one",
					(int)token->len, token->text);
		number = (uint32_t)entry->value;
	}
	as_take(unit);
	*sem = (uint16_t)number;
	return true;
}

bool as_event(struct as_unit *unit, __le32 *event)
{
	const struct as_token *token = as_peek(unit);
	uint32_t number;

	if (!as_numbered(token, 'e', &number))
		return as_expected(unit, "an event");
	if (number > 255)
		return as_error(unit, token, "events are e0 to e255");
	as_take(unit);
	*event = htole32(number);
	return true;
}

static bool shape_dim(struct as_unit *unit, uint64_t max_num, struct as_dim *dim)
{
	bool negative;

	if (!as_primary(unit, 0, max_num, "a number of elements", &dim->num))
		return false;
	dim->has_step = as_accept(unit, '@');
	dim->step = 0;
	if (!dim->has_step)
		return true;
	negative = as_accept(unit, '-');
	if (!as_primary(unit, 0, (__int128)1 << 47, "a step", &dim->step))
		return false;
	if (negative)
		dim->step = -dim->step;
	return true;
}

bool as_shape(struct as_unit *unit, struct as_dim *dims, unsigned int max, uint64_t max_num,
	      unsigned int *count)
{
	unsigned int n = 0;
	__int128 inner = 1;
	unsigned int i;

	do {
		if (n == max)
			return as_error(unit, as_peek(unit), "more than %u dimensions", max);
		if (!shape_dim(unit, max_num, &dims[n++]))
			return false;
	} while (as_accept(unit, '*'));
	/* Numbers of up to 32 bits: a product that large is no step. */
	for (i = n; i-- > 0;) {
		if (!dims[i].has_step)
			dims[i].step = inner;
		inner *= dims[i].num;
		if (inner > MOST_INNER)
			inner = MOST_INNER;
	}
	*count = n;
	return true;
}

bool as_dtype(struct as_unit *unit, enum neuron_dtype *dtype)
{
	const struct as_token *token = as_peek(unit);
	int value;

	if (token->kind != AS_NAME)
		return as_expected(unit, "a type");
	value = trn_isa_dtype_value(token->text, token->len);
	if (value < 0)
		return as_error(unit, token, "no type \"%.*s\"", (int)token->len, token->text);
	as_take(unit);
	*dtype = (enum neuron_dtype)value;
	return true;
}

bool as_engine(struct as_unit *unit, enum neuron_engine *engine)
{
	const struct as_token *token = as_peek(unit);
	int value;

	if (token->kind != AS_NAME)
		return as_expected(unit, "an engine");
	value = trn_isa_engine_value(token->text, token->len);
	if (value < 0)
		return as_error(unit, token,
				"no engine \"%.*s\"; there are tensor, vector, scalar, gpsimd, sync",
				(int)token->len, token->text);
	as_take(unit);
	*engine = (enum neuron_engine)value;
	return true;
}

bool as_is_tile(const struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);

	return as_token_is(token, "sbuf") || as_token_is(token, "psum");
}

static bool tile_partitions(struct as_unit *unit, struct neuron_ap *ap)
{
	uint64_t first, end;
	size_t at;

	if (!as_uint(unit, 127, "the first partition", &first) ||
	    !as_expect(unit, ':', "\":\" and the end of the partitions"))
		return false;
	at = unit->next;
	if (!as_uint(unit, 127 + 255, "the end of the partitions", &end))
		return false;
	if (end < first)
		return as_error(unit, &unit->tokens[at], "the partitions end before they begin");
	if (end - first > UINT8_MAX)
		return as_error(unit, &unit->tokens[at], "these are more than 255 partitions");
	ap->addr |= NEURON_PUT(NEURON_AP_PARTITION, (uint32_t)first);
	ap->partitions = (uint8_t)(end - first);
	return true;
}

static bool tile_shape(struct as_unit *unit, struct neuron_ap *ap)
{
	const struct as_token *token = as_peek(unit);
	struct as_dim dims[4];
	unsigned int i, n;

	if (!as_shape(unit, dims, 4, UINT16_MAX, &n))
		return false;
	for (i = 0; i < 4; i++)
		ap->num[i] = htole16(1);
	for (i = 0; i < n; i++) {
		const struct as_dim *dim = &dims[n - 1 - i];

		if (dim->step < INT16_MIN || dim->step > INT16_MAX)
			return as_error(unit, token, "a step is beyond -32768 to 32767 elements");
		ap->num[i] = htole16((uint16_t)dim->num);
		ap->step[i] = htole16((uint16_t)dim->step);
	}
	return true;
}

/* Where the index of a tile begins: partition and byte offset in SBUF. */
static bool tile_index(struct as_unit *unit, struct neuron_ap *ap)
{
	const struct as_token *token = as_peek(unit);
	uint64_t partition, offset;

	if (!as_token_is(token, "index"))
		return true;
	if (ap->num[1] != htole16(1) || ap->num[2] != htole16(1) || ap->num[3] != htole16(1) ||
	    ap->step[0] != htole16(1) || ap->step[1] || ap->step[2] || ap->step[3])
		return as_error(unit, token,
				"a tile with an index has one dimension without a step");
	as_take(unit);
	if (!as_expect(unit, '[', "\"[\" and where the index begins") ||
	    !as_uint(unit, 127, "the first partition of the index", &partition) ||
	    !as_expect(unit, ',', "\",\" and the byte offset of the index") ||
	    !as_uint(unit, NEURON_AP_OFFSET, "the offset", &offset) ||
	    !as_expect(unit, ']', "\"]\""))
		return false;
	*ap = nb_index(*ap, (unsigned int)partition, (uint32_t)offset);
	return true;
}

bool as_tile(struct as_unit *unit, struct neuron_ap *ap)
{
	enum neuron_dtype dtype;
	uint64_t offset;

	if (!as_is_tile(unit))
		return as_expected(unit, "a tile (sbuf[...] or psum[...])");
	memset(ap, 0, sizeof(*ap));
	if (as_token_is(as_take(unit), "psum"))
		ap->addr = NEURON_AP_PSUM;
	if (!as_expect(unit, '[', "\"[\"") || !tile_partitions(unit, ap) ||
	    !as_expect(unit, ',', "\",\" and the byte offset") ||
	    !as_uint(unit, NEURON_AP_OFFSET, "the offset", &offset) ||
	    (as_accept(unit, '+') && !as_register(unit, &ap->offset_reg)) ||
	    !as_expect(unit, ':', "\":\" and the shape") || !tile_shape(unit, ap) ||
	    !as_dtype(unit, &dtype) || !tile_index(unit, ap) ||
	    !as_expect(unit, ']', "\"]\""))
		return false;
	ap->addr = htole32(ap->addr | (uint32_t)offset);
	ap->dtype = dtype;
	return true;
}

/* The window that is named before a colon. */
static bool memory_window(struct as_unit *unit, uint32_t *window)
{
	const struct as_token *token = as_peek(unit);
	char *name;

	if (as_numbered(token, 'w', window)) {
		if (*window > NEURON_MAX_WINDOWS)
			return as_error(unit, token, "windows are w0 to w%d", NEURON_MAX_WINDOWS);
		as_take(unit);
		return true;
	}
	name = as_take_name(unit, "a variable");
	if (!name)
		return false;
	*window = (uint32_t)nb_find_var(unit->nb, name);
	free(name);
	return *window || as_error(unit, token, "no variable \"%.*s\"", (int)token->len,
				   token->text);
}

bool as_address_operand(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	uint64_t address;
	uint32_t window;

	if ((token->kind == AS_NAME || token->kind == AS_STRING) && token[1].kind == ':') {
		if (!memory_window(unit, &window))
			return false;
		as_take(unit);
		if (!as_uint(unit, NEURON_ADDR_WINDOW_OFFSET, "the offset", &address))
			return false;
		address = neuron_window_addr(window, address);
	} else if (!as_uint(unit, UINT64_MAX, "an address", &address)) {
		return false;
	}
	inst->addr = htole64(address);
	return true;
}

bool as_memory_operand(struct as_unit *unit, struct neuron_inst *inst)
{
	return as_address_operand(unit, inst) &&
	       (!as_accept(unit, '+') || as_register(unit, &inst->reg[1]));
}

/* A label that comes later. */
static bool later_target(struct as_unit *unit, const struct as_token *token)
{
	struct as_fixup *fixup;

	if (unit->nr_fixups == unit->fixup_room) {
		size_t room = unit->fixup_room ? unit->fixup_room * 2 : 64;

		fixup = reallocarray(unit->fixups, room, sizeof(*fixup));
		if (!fixup)
			return as_memory(unit);
		unit->fixups = fixup;
		unit->fixup_room = room;
	}
	fixup = &unit->fixups[unit->nr_fixups];
	fixup->engine = (enum neuron_engine)unit->engine;
	fixup->index = nb_here(unit->nb, fixup->engine);
	fixup->name = as_token_copy(token);
	if (!fixup->name)
		return as_memory(unit);
	fixup->place = as_here(unit, token->column);
	unit->nr_fixups++;
	return true;
}

static bool label_target(struct as_unit *unit, const struct as_token *token,
			 struct neuron_inst *inst)
{
	const struct as_entry *entry = as_find(unit, AS_SCOPE_LABEL + unit->engine, token->text,
					       token->len);

	if (!entry)
		return later_target(unit, token);
	inst->addr = htole64((uint64_t)entry->value);
	return true;
}

bool as_target(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	uint64_t target;

	if (token->kind == AS_NAME &&
	    !as_find(unit, AS_SCOPE_SYMBOL, token->text, token->len))
		return label_target(unit, as_take(unit), inst);
	if (!as_uint(unit, UINT64_MAX, "the target", &target))
		return false;
	inst->addr = htole64(target);
	return true;
}

bool as_queue_operand(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	uint32_t number;
	char *name;
	int queue;

	if (as_numbered(token, 'q', &number)) {
		if (number > UINT16_MAX)
			return as_error(unit, token, "queues are q0 to q%d", UINT16_MAX);
		as_take(unit);
	} else {
		name = as_take_name(unit, "a queue");
		if (!name)
			return false;
		queue = nb_find_queue(unit->nb, name);
		free(name);
		if (queue < 0)
			return as_error(unit, token, "no queue \"%.*s\"; .queue declares one",
					(int)token->len, token->text);
		number = nb_queue_index(unit->nb, queue);
	}
	inst->reg[0] = number & 0xff;
	inst->reg[1] = number >> 8;
	return true;
}

static bool sync_wait(struct as_unit *unit, struct neuron_inst *inst, bool take)
{
	uint32_t mode, value;
	uint16_t sem;

	if (NEURON_GET(NEURON_SYNC_WAIT, inst->sync))
		return as_error(unit, &unit->tokens[unit->next - 1],
				"only one wait or take in an instruction");
	if (!as_sem(unit, &sem))
		return false;
	if (as_accept(unit, AS_GE))
		mode = NEURON_SYNC_WAIT_GE;
	else if (as_accept(unit, AS_EQ))
		mode = NEURON_SYNC_WAIT_EQ;
	else
		return as_expected(unit, "\">=\" or \"==\"");
	if (!as_word(unit, &value))
		return false;
	inst->sync |= NEURON_PUT(NEURON_SYNC_WAIT, mode) | (take ? NEURON_SYNC_TAKE : 0);
	inst->wait_sem = htole16(sem);
	inst->wait_value = htole32(value);
	return true;
}

static bool sync_post(struct as_unit *unit, struct neuron_inst *inst)
{
	uint32_t mode, value;
	uint16_t sem;

	if (NEURON_GET(NEURON_SYNC_POST, inst->sync))
		return as_error(unit, &unit->tokens[unit->next - 1],
				"only one post in an instruction");
	if (!as_sem(unit, &sem))
		return false;
	if (as_accept(unit, AS_ADD))
		mode = NEURON_SYNC_POST_ADD;
	else if (as_accept(unit, AS_SUB))
		mode = NEURON_SYNC_POST_SUB;
	else if (as_accept(unit, '='))
		mode = NEURON_SYNC_POST_SET;
	else
		return as_expected(unit, "\"+=\", \"-=\" or \"=\"");
	if (!as_word(unit, &value))
		return false;
	inst->sync |= NEURON_PUT(NEURON_SYNC_POST, mode);
	inst->post_sem = htole16(sem);
	inst->post_value = htole32(value);
	return true;
}

/* array[row:end, column:end] */
static bool sync_array(struct as_unit *unit, struct neuron_inst *inst)
{
	uint64_t row, row_end, col, col_end;

	if (!as_expect(unit, '[', "\"[\"") || !as_uint(unit, 127, "the first row", &row) ||
	    !as_expect(unit, ':', "\":\" and the end of the rows") ||
	    !as_uint(unit, 128, "the end of the rows", &row_end) ||
	    !as_expect(unit, ',', "\",\" and the columns") ||
	    !as_uint(unit, 127, "the first column", &col) ||
	    !as_expect(unit, ':', "\":\" and the end of the columns") ||
	    !as_uint(unit, 128, "the end of the columns", &col_end))
		return false;
	if (row_end < row || col_end < col)
		return as_error(unit, as_peek(unit), "a part of the array ends before it begins");
	inst->imm0 = htole32(neuron_array_put((struct neuron_array) {
		.row = (uint8_t)row,
		.rows = (uint8_t)(row_end - row),
		.col = (uint8_t)col,
		.cols = (uint8_t)(col_end - col),
	}));
	inst->mode |= htole16(NEURON_INST_ARRAY >> 8);
	return as_expect(unit, ']', "\"]\"");
}

/* One of the two ranges of written[]: at least one of up to UINT16_MAX. */
static bool written_range(struct as_unit *unit, const char *what, uint16_t *first,
			  uint16_t *count)
{
	uint64_t begin, end;

	if (!as_uint(unit, UINT16_MAX - 1, what, &begin) ||
	    !as_expect(unit, ':', "\":\" and the end of the range") ||
	    !as_uint(unit, UINT16_MAX, "the end of the range", &end))
		return false;
	if (end <= begin)
		return as_error(unit, as_peek(unit), "the range of what is written is empty");
	*first = (uint16_t)begin;
	*count = (uint16_t)(end - begin);
	return true;
}

/* written "[" line ":" end "," element ":" end "]" */
static bool sync_written(struct as_unit *unit, struct neuron_inst *inst)
{
	struct neuron_written written;

	if (!as_expect(unit, '[', "\"[\"") ||
	    !written_range(unit, "the first partition", &written.line, &written.lines) ||
	    !as_expect(unit, ',', "\",\" and the elements") ||
	    !written_range(unit, "the first element", &written.first, &written.count))
		return false;
	inst->addr = htole64(neuron_written_put(written));
	inst->mode |= htole16(NEURON_INST_WRITTEN >> 8);
	return as_expect(unit, ']', "\"]\"");
}

/* reduce operator command [number] */
static bool sync_reduce(struct as_unit *unit, struct neuron_inst *inst)
{
	const struct as_token *token = as_peek(unit);
	uint32_t bits;
	int value;

	value = token->kind == AS_NAME ? trn_isa_alu_value(token->text, token->len) : -1;
	if (value <= NEURON_ALU_BYPASS)
		return as_expected(unit, "an operator");
	as_take(unit);
	inst->op2 = (uint8_t)value;
	token = as_peek(unit);
	value = token->kind == AS_NAME ? trn_isa_reduce_value(token->text, token->len) : -1;
	if (value < 0)
		return as_expected(unit, "idle, reset, reduce, reset_reduce or load_reduce");
	as_take(unit);
	inst->reduce = (uint8_t)value;
	if (value != NEURON_REDUCE_LOAD_REDUCE)
		return true;
	if (!as_float(unit, &bits))
		return false;
	inst->addr = htole64(le64toh(inst->addr) | (uint64_t)bits << 32);
	return true;
}

static bool modifier(struct as_unit *unit, const struct as_token *token,
		     struct neuron_inst *inst, const struct trn_isa *isa)
{
	int value = trn_isa_modifier_value(token->text, token->len);
	uint32_t flag = (uint32_t)value;

	if (value < 0)
		return as_error(unit, token,
				"unexpected \"%.*s\"; wait, take, post or a modifier of the instruction may follow",
				(int)token->len, token->text);
	if (!(isa->flags & flag))
		return as_error(unit, token, "%s takes no \"%.*s\"", isa->name,
				(int)token->len, token->text);
	if ((inst->flags | (uint32_t)le16toh(inst->mode) << 8) & flag)
		return as_error(unit, token, "\"%.*s\" twice", (int)token->len, token->text);
	inst->flags |= (uint8_t)flag;
	inst->mode |= htole16((uint16_t)(flag >> 8));
	return true;
}

/* One part of what may follow the operands. */
static bool sync_part(struct as_unit *unit, struct neuron_inst *inst,
		      const struct trn_isa *isa)
{
	const struct as_token *token = as_take(unit);

	if (as_token_is(token, "wait") || as_token_is(token, "take"))
		return sync_wait(unit, inst, token->text[0] == 't');
	if (as_token_is(token, "post"))
		return sync_post(unit, inst);
	if (!isa)
		return as_error(unit, token, "unexpected \"%.*s\"; wait, take or post may follow",
				(int)token->len, token->text);
	if (as_token_is(token, "array") && (isa->flags & NEURON_INST_ARRAY))
		return sync_array(unit, inst);
	if (as_token_is(token, "written") && (isa->flags & NEURON_INST_WRITTEN))
		return sync_written(unit, inst);
	if (as_token_is(token, "reduce") && isa->reduces)
		return sync_reduce(unit, inst);
	return modifier(unit, token, inst, isa);
}

bool as_sync(struct as_unit *unit, struct neuron_inst *inst, const struct trn_isa *isa)
{
	while (as_peek(unit)->kind != AS_END) {
		if (as_peek(unit)->kind != AS_NAME)
			return as_expected(unit, "the end of the line");
		if (!sync_part(unit, inst, isa))
			return false;
	}
	return true;
}
