// SPDX-License-Identifier: MIT
/* Directives: what a program consists of besides its instructions. */
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"

#define MAX_TENSOR_DIMS	8
#define MAX_PREFIX	511

/* NAME TYPE SHAPE */
struct tensor {
	char *name;
	enum neuron_dtype dtype;
	unsigned int ndim;
	uint32_t shape[MAX_TENSOR_DIMS];
};

static bool parse_shape(struct as_unit *unit, struct tensor *tensor)
{
	__int128 size;

	do {
		if (tensor->ndim == MAX_TENSOR_DIMS)
			return as_error(unit, as_peek(unit), "more than %d dimensions",
					MAX_TENSOR_DIMS);
		if (!as_primary(unit, 1, UINT32_MAX, "a dimension", &size))
			return false;
		tensor->shape[tensor->ndim++] = (uint32_t)size;
	} while (as_accept(unit, '*'));
	return true;
}

/* The name is to be freed in any case. */
static bool parse_tensor(struct as_unit *unit, struct tensor *tensor)
{
	tensor->name = as_take_name(unit, "a name");
	tensor->ndim = 0;
	return tensor->name && as_dtype(unit, &tensor->dtype) && parse_shape(unit, tensor);
}

static bool do_input(struct as_unit *unit)
{
	struct tensor tensor;
	bool good = parse_tensor(unit, &tensor);

	if (good)
		nb_input(unit->nb, tensor.name, tensor.dtype, tensor.ndim, tensor.shape);
	free(tensor.name);
	return good;
}

static bool do_output(struct as_unit *unit)
{
	struct tensor tensor;
	bool good = parse_tensor(unit, &tensor);

	if (good)
		nb_output(unit->nb, tensor.name, tensor.dtype, tensor.ndim, tensor.shape);
	free(tensor.name);
	return good;
}

static bool print_tensor(struct as_unit *unit, const struct tensor *tensor)
{
	const struct as_token *token = as_peek(unit);
	char *prefix;

	if (token->kind != AS_STRING)
		return as_expected(unit, "the text before it, in quotes");
	if (token->len > MAX_PREFIX)
		return as_error(unit, token, "the text has more than %d bytes", MAX_PREFIX);
	prefix = as_token_copy(as_take(unit));
	if (!prefix)
		return as_memory(unit);
	nb_print(unit->nb, tensor->name, prefix, tensor->dtype, tensor->ndim, tensor->shape);
	free(prefix);
	return true;
}

static bool do_print(struct as_unit *unit)
{
	struct tensor tensor;
	bool good = parse_tensor(unit, &tensor) && print_tensor(unit, &tensor);

	free(tensor.name);
	return good;
}

static bool do_tmp(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	uint64_t size;
	bool good;

	if (!name)
		return false;
	good = as_uint(unit, (uint64_t)1 << 46, "the size", &size);
	if (good)
		nb_tmp(unit->nb, name, size);
	free(name);
	return good;
}

static bool parse_virtual(struct as_unit *unit, const char *name)
{
	const struct as_token *token;
	uint64_t size, offset;

	if (!as_uint(unit, (uint64_t)1 << 46, "the size", &size))
		return false;
	token = as_peek(unit);
	if (!as_uint(unit, (uint64_t)1 << 46, "the offset", &offset))
		return false;
	if (offset % 4)
		return as_error(unit, token, "the offset is not a multiple of 4");
	nb_virtual(unit->nb, name, size, offset);
	return true;
}

static bool do_virtual(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	bool good = name && parse_virtual(unit, name);

	free(name);
	return good;
}

static bool do_sbuf(struct as_unit *unit)
{
	nb_sbuf(unit->nb);
	return true;
}

static bool do_pointer(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	bool good;
	int var;

	good = name && as_dma_variable(unit, &var);
	if (good)
		nb_pointer(unit->nb, name, var);
	free(name);
	return good;
}

static bool do_dge_table(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	int *refs = calloc(unit->nr_tokens, sizeof(*refs));
	unsigned int count = 0;
	bool good;

	good = name && (refs || as_memory(unit));
	while (good && (!count || as_peek(unit)->kind != AS_END))
		good = as_dma_variable(unit, &refs[count++]);
	if (good)
		nb_dge_table(unit->nb, name, count, refs);
	free(refs);
	free(name);
	return good;
}

static bool parse_peer(struct as_unit *unit, const char *name)
{
	uint64_t offset;
	int var;

	if (!as_uint(unit, UINT16_MAX, "the rank offset", &offset) ||
	    !as_dma_variable(unit, &var))
		return false;
	nb_peer(unit->nb, name, (unsigned int)offset, var);
	return true;
}

static bool do_peer(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	bool good = name && parse_peer(unit, name);

	free(name);
	return good;
}

static bool parse_peer_sem(struct as_unit *unit, const char *name)
{
	uint64_t offset, count = 1;
	uint16_t first;

	if (!as_uint(unit, UINT16_MAX, "the rank offset", &offset) || !as_sem(unit, &first))
		return false;
	if (as_peek(unit)->kind != AS_END && !as_uint(unit, 256, "the count", &count))
		return false;
	nb_peer_sem(unit->nb, name, (unsigned int)offset, first, (unsigned int)count);
	return true;
}

static bool do_peer_sem(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	bool good = name && parse_peer_sem(unit, name);

	free(name);
	return good;
}

static bool do_sibling_sbuf(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");

	if (!name)
		return false;
	nb_sibling_sbuf(unit->nb, name);
	free(name);
	return true;
}

/* A number of the other core says nothing of the semaphores of this one. */
static bool parse_sibling_sem(struct as_unit *unit, const char *name)
{
	bool used[sizeof(unit->sem_used)];
	uint64_t count = 1;
	uint16_t first;
	bool good;

	memcpy(used, unit->sem_used, sizeof(used));
	good = as_sem(unit, &first);
	memcpy(unit->sem_used, used, sizeof(used));
	if (!good || (as_peek(unit)->kind != AS_END && !as_uint(unit, 256, "the count", &count)))
		return false;
	nb_sibling_sem(unit->nb, name, first, (unsigned int)count);
	return true;
}

static bool do_sibling_sem(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	bool good = name && parse_sibling_sem(unit, name);

	free(name);
	return good;
}

static bool do_sem(struct as_unit *unit)
{
	const struct as_token *token = as_take_own_name(unit, "a name");
	struct as_entry *entry;
	bool keep;
	int sem;

	if (!token)
		return false;
	if (as_find(unit, AS_SCOPE_SEM, token->text, token->len))
		return as_error(unit, token, "semaphore \"%.*s\" is there already",
				(int)token->len, token->text);
	keep = as_token_is(as_peek(unit), "keep");
	if (keep)
		as_take(unit);
	entry = as_define(unit, AS_SCOPE_SEM, token->text, token->len);
	if (!entry)
		return false;
	sem = nb_sem(unit->nb, keep);
	if (sem < 0)
		return true;	/* the builder's complaint is reported for the line */
	entry->value = sem;
	unit->nr_sems = (unsigned int)sem + 1;
	return true;
}

static bool queue_count(struct as_unit *unit, uint64_t *count)
{
	const struct as_token *token = as_peek(unit);

	return token->kind == AS_END || as_token_is(token, "priority") ||
	       as_token_is(token, "instances") || as_uint(unit, 16, "the count", count);
}

static bool queue_priority(struct as_unit *unit, uint64_t *priority)
{
	if (!as_token_is(as_peek(unit), "priority"))
		return true;
	as_take(unit);
	return as_uint(unit, NEURON_NR_PRIORITIES - 1, "the priority", priority);
}

/* What a queue set is besides its name. */
struct queue_set {
	char *type;
	enum neuron_engine engine;
	uint64_t count;
	uint64_t priority;
	char **instances;
	unsigned int nr_instances;
};

/* Up to the end of the line. */
static bool queue_instances(struct as_unit *unit, struct queue_set *set)
{
	if (!as_token_is(as_peek(unit), "instances"))
		return true;
	as_take(unit);
	set->instances = calloc(unit->nr_tokens, sizeof(*set->instances));
	if (!set->instances)
		return as_memory(unit);
	do {
		set->instances[set->nr_instances] = as_take_name(unit, "an instance");
		if (!set->instances[set->nr_instances])
			return false;
		set->nr_instances++;
	} while (as_peek(unit)->kind != AS_END);
	return true;
}

static bool parse_queue(struct as_unit *unit, struct queue_set *set)
{
	const struct as_token *token = as_peek(unit);

	if (token->kind != AS_NAME)
		return as_expected(unit, "in, out, data or dynamic");
	set->type = as_token_copy(as_take(unit));
	if (!set->type)
		return as_memory(unit);
	return as_engine(unit, &set->engine) && queue_count(unit, &set->count) &&
	       queue_priority(unit, &set->priority) && queue_instances(unit, set);
}

static void add_queue(struct as_unit *unit, const char *name, const struct queue_set *set)
{
	int queue;

	if (set->nr_instances)
		queue = nb_queue_instances(unit->nb, name, set->type, set->engine,
					   (unsigned int)set->count, set->nr_instances,
					   (const char *const *)set->instances);
	else
		queue = nb_queue(unit->nb, name, set->type, set->engine,
				 (unsigned int)set->count);
	nb_queue_priority(unit->nb, queue, (unsigned int)set->priority);
}

static bool do_queue(struct as_unit *unit)
{
	char *name = as_take_name(unit, "a name");
	struct queue_set set = { .count = 1 };
	bool good = name && parse_queue(unit, &set);

	if (good)
		add_queue(unit, name, &set);
	while (set.nr_instances)
		free(set.instances[--set.nr_instances]);
	free(set.instances);
	free(set.type);
	free(name);
	return good;
}

static bool do_notify_bytes(struct as_unit *unit)
{
	uint64_t bytes;

	if (!as_uint(unit, UINT32_MAX, "the size", &bytes))
		return false;
	nb_notify_bytes(unit->nb, (uint32_t)bytes);
	return true;
}

static bool do_engine(struct as_unit *unit)
{
	enum neuron_engine engine;

	if (!as_engine(unit, &engine))
		return false;
	unit->engine = (int)engine;
	return true;
}

static bool set_value(struct as_unit *unit, struct as_entry *entry)
{
	const struct as_token *token = as_peek(unit);

	if (token->kind == '-' && token[1].kind == AS_FLOAT)
		token++;
	entry->is_float = token->kind == AS_FLOAT;
	if (entry->is_float)
		return as_float(unit, &entry->bits);
	return as_int(unit, INT64_MIN, UINT64_MAX, "a symbol", &entry->value);
}

static bool do_set(struct as_unit *unit)
{
	const struct as_token *token = as_take_own_name(unit, "a symbol");
	struct as_entry value = { 0 };
	struct as_entry *entry;

	if (!token || !as_expect(unit, ',', "\",\" and its value") || !set_value(unit, &value))
		return false;
	entry = as_define(unit, AS_SCOPE_SYMBOL, token->text, token->len);
	if (!entry)
		return false;
	entry->value = value.value;
	entry->is_float = value.is_float;
	entry->bits = value.bits;
	return true;
}

static bool do_line(struct as_unit *unit)
{
	uint64_t line;

	unit->line_off = as_token_is(as_peek(unit), "off");
	if (unit->line_off) {
		as_take(unit);
		return true;
	}
	if (!as_uint(unit, UINT32_MAX, "the line", &line))
		return false;
	/* What a macro becomes has the line of its use, others are followed by the next one. */
	unit->line_shift = 0;
	unit->line_shift = (uint32_t)line - as_debug_line(unit) -
			   (unit->origin && unit->origin->macro ? 0 : 1);
	return true;
}

static bool do_source(struct as_unit *unit)
{
	char *name = NULL;

	if (as_peek(unit)->kind == AS_NAME && as_token_is(as_peek(unit), "off")) {
		as_take(unit);
	} else {
		name = as_take_name(unit, "a name or off");
		if (!name)
			return false;
	}
	free(unit->source);
	unit->source = name;
	return true;
}

static bool do_core(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);
	uint64_t core;

	if (!as_uint(unit, 1, "the core", &core))
		return false;
	if (!core && unit->nb == unit->program)
		return true;
	if (!core || unit->nb != unit->program)
		return as_error(unit, token, "the lines for core 1 come last, behind one .core 1");
	if (unit->options->lnc == 1)
		return as_error(unit, token, "core 1 exists in LNC 2 only; --lnc says 1");
	if (unit->nr_rept)
		return as_error(unit, token, ".core in a .rept");
	return as_second_core(unit);
}

static bool do_empty(struct as_unit *unit)
{
	unit->empty = true;
	return true;
}

static bool do_program(struct as_unit *unit)
{
	(void)unit;
	return as_error(unit, &unit->tokens[0], ".program must be the first statement, once");
}

/* @in_file: may stand between a .file and its contents. */
static const struct {
	const char *name;
	bool (*run)(struct as_unit *unit);
	bool in_file;
} directives[] = {
	{ "program", do_program, false },
	{ "input", do_input, false },
	{ "output", do_output, false },
	{ "tmp", do_tmp, false },
	{ "virtual", do_virtual, false },
	{ "print", do_print, false },
	{ "sbuf", do_sbuf, false },
	{ "file", as_file, false },
	{ "bytes", as_bytes, true },
	{ "halves", as_halves, true },
	{ "words", as_words, true },
	{ "addresses", as_addresses, true },
	{ "floats", as_floats, true },
	{ "pointer", do_pointer, false },
	{ "dge", as_dge, false },
	{ "dge_table", do_dge_table, false },
	{ "peer", do_peer, false },
	{ "peer_sem", do_peer_sem, false },
	{ "collective", as_collective, false },
	{ "sibling_sbuf", do_sibling_sbuf, false },
	{ "sibling_sem", do_sibling_sem, false },
	{ "sem", do_sem, false },
	{ "queue", do_queue, false },
	{ "notify_bytes", do_notify_bytes, false },
	{ "core", do_core, false },
	{ "engine", do_engine, false },
	{ "empty", do_empty, false },
	{ "dma", as_dma, false },
	{ "inst", as_inst_words, false },
	{ "set", do_set, true },
	{ "rept", as_rept, true },
	{ "endr", as_endr, true },
	{ "if", as_if, true },
	{ "ifdef", as_ifdef, true },
	{ "ifndef", as_ifndef, true },
	{ "else", as_else, true },
	{ "endif", as_endif, true },
	{ "macro", as_macro, true },
	{ "endm", as_endm, true },
	{ "local", as_local, true },
	{ "include", as_include, true },
	{ "line", do_line, true },
	{ "source", do_source, true },
};

bool as_directive(struct as_unit *unit)
{
	const struct as_token *token = as_take(unit);
	size_t i;

	if (token->kind != AS_NAME)
		return as_error(unit, token, "expected a directive after \".\"");
	for (i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (as_token_is(token, directives[i].name))
			break;
	if (i == sizeof(directives) / sizeof(directives[0]))
		return as_error(unit, token, "no directive \".%.*s\"", (int)token->len,
				token->text);
	if (!directives[i].in_file && !as_close_file(unit))
		return false;
	if (!directives[i].run(unit))
		return false;
	return as_peek(unit)->kind == AS_END || as_expected(unit, "the end of the line");
}
