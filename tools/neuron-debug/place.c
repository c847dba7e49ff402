// SPDX-License-Identifier: MIT
#include "place.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "neuron/regs.h"
#include "neuron/window.h"

#define NAME_MAX_LEN	1024

static int fail(char why[TARGET_WHY], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(char why[TARGET_WHY], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, TARGET_WHY, format, args);
	va_end(args);
	return -1;
}

int place_number(const char *text, int64_t min, int64_t max, int64_t *number,
		 char why[TARGET_WHY])
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 0);
	if (!*text || *end || errno)
		return fail(why, "\"%.60s\" is no number", text);
	if (*number < min || *number > max)
		return fail(why, "%s: from %" PRId64 " to %" PRId64, text, min, max);
	return 0;
}

/* "@1" at the end of @text, which is cut off. */
static int take_graph(const struct target *target, char *text, unsigned int *graph,
		      char why[TARGET_WHY])
{
	char *at = strrchr(text, '@');
	int64_t number = 0;

	*graph = target->selected.graph;
	if (!at)
		return 0;
	*at = '\0';
	if (place_number(at + 1, 0, target->neff->nr_graphs - 1, &number, why))
		return -1;
	*graph = (unsigned int)number;
	return 0;
}

int place_engine(const struct target *target, const char *text, struct where *where,
		 char why[TARGET_WHY])
{
	char name[NAME_MAX_LEN];
	unsigned int e;

	snprintf(name, sizeof(name), "%s", text);
	if (take_graph(target, name, &where->graph, why))
		return -1;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (!strcmp(name, trn_inspect_engine_name(e)))
			break;
	where->engine = e;
	if (e == NEURON_NR_ENGINES)
		return fail(why, "\"%.60s\": use tensor, vector, scalar, gpsimd or sync", text);
	if (!target_has_engine(target, *where))
		return fail(why, "the %s engine has no instructions in this program", text);
	return 0;
}

/* --- Places in the program --- */

static int one_code(struct code place, struct code **code, size_t *nr, char why[TARGET_WHY])
{
	*code = malloc(sizeof(**code));
	if (!*code)
		return fail(why, "no memory");
	**code = place;
	*nr = 1;
	return 0;
}

static int code_at_pc(const struct target *target, struct where where, const char *text,
		      struct code **code, size_t *nr, char why[TARGET_WHY])
{
	int64_t pc;

	if (!target_has_engine(target, where))
		return fail(why, "the engine has no instructions in this program");
	if (place_number(text, 0,
			 (int64_t)target->neff->graphs[where.graph].image_count[where.engine] - 1,
			 &pc, why))
		return -1;
	return one_code((struct code){ where, (uint32_t)pc }, code, nr, why);
}

/* Is @name the file @source, or the end of its path? */
static bool is_file(const char *source, const char *name)
{
	size_t have = strlen(source), want = strlen(name);

	return have >= want && !strcmp(source + have - want, name) &&
	       (have == want || source[have - want - 1] == '/');
}

/* An instruction of a line; @first: the one before it is from elsewhere. */
struct seen {
	uint32_t line;
	bool first;
	struct code code;
};

/* Go through all instructions that are from a file. */
static bool next_of_file(const struct target *target, const char *file, struct seen *seen,
			 bool *known)
{
	struct code *code = &seen->code;
	const char *source;

	for (; code->where.graph < target->neff->nr_graphs; code->where.graph++) {
		for (; code->where.engine < NEURON_NR_ENGINES; code->where.engine++) {
			const struct neff_graph *graph = &target->neff->graphs[code->where.graph];
			uint32_t before = 0;

			while (++code->pc <= graph->image_count[code->where.engine]) {
				struct code at = { code->where, code->pc - 1 };

				source = target_line(target, at, &seen->line);
				/* An editor has the whole path, the NEFF perhaps not. */
				if (!source || !(is_file(source, file) || is_file(file, source)))
					continue;
				*known = true;
				at.pc--;
				seen->first = code->pc == 1 ||
					      target_line(target, at, &before) != source ||
					      before != seen->line;
				return true;
			}
			code->pc = 0;
		}
		code->where.engine = 0;
	}
	return false;
}

/* The first line from @line on that has instructions, or 0. */
static uint32_t line_with_code(const struct target *target, const char *file, uint32_t line,
			       bool *known)
{
	struct seen seen = { .line = 0 };
	uint32_t best = 0;

	*known = false;
	while (next_of_file(target, file, &seen, known))
		if (seen.line >= line && (!best || seen.line < best))
			best = seen.line;
	return best;
}

static int code_at_line(const struct target *target, const char *file, const char *number,
			struct code **code, size_t *nr, char why[TARGET_WHY])
{
	struct seen seen = { .line = 0 };
	struct code *grown;
	uint32_t line;
	int64_t from;
	bool known;

	if (place_number(number, 1, UINT32_MAX, &from, why))
		return -1;
	line = line_with_code(target, file, (uint32_t)from, &known);
	if (!known)
		return fail(why, "the program has no instruction from a file \"%.100s\"", file);
	if (!line)
		return fail(why, "%.100s has no instruction at line %" PRId64 " or behind", file,
			    from);
	*code = NULL;
	*nr = 0;
	while (next_of_file(target, file, &seen, &known)) {
		if (seen.line != line || !seen.first)
			continue;
		grown = realloc(*code, (*nr + 1) * sizeof(**code));
		if (!grown) {
			free(*code);
			return fail(why, "no memory");
		}
		*code = grown;
		grown[*nr] = seen.code;
		grown[(*nr)++].pc--;
	}
	return 0;
}

int place_code(const struct target *target, const char *text, struct code **code, size_t *nr,
	       char why[TARGET_WHY])
{
	const char *colon = strrchr(text, ':');
	struct where where;
	char name[NAME_MAX_LEN];

	if (!colon)
		return code_at_pc(target, target->selected, text, code, nr, why);
	if ((size_t)(colon - text) >= sizeof(name))
		return fail(why, "a name is too long");
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	if (!place_engine(target, name, &where, why))
		return code_at_pc(target, where, colon + 1, code, nr, why);
	/* The name of a file has a suffix. */
	if (!strchr(name, '.'))
		return -1;
	return code_at_line(target, name, colon + 1, code, nr, why);
}

/* --- Memory --- */

/* What stands between brackets behind a name, and the name without it. */
static int take_index(char *text, char **index, char why[TARGET_WHY])
{
	char *open = strchr(text, '[');
	size_t len = strlen(text);

	*index = NULL;
	if (!open)
		return 0;
	if (text[len - 1] != ']')
		return fail(why, "\"%.60s\": a \"]\" is missing", text);
	text[len - 1] = '\0';
	*open = '\0';
	*index = open + 1;
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* "3", "0:128", "0:128, 64" */
static int tile(const struct target *target, bool psum, char *index, struct memory *memory,
		char why[TARGET_WHY])
{
	const uint64_t slot = psum ? NEURON_TPB_PSUM_STRIDE : NEURON_TPB_SBUF_STRIDE;
	int64_t first = 0, end = 1, offset = 0;
	char *comma = index ? strchr(index, ',') : NULL, *colon;

	if (!target->chip)
		return fail(why, "the program has not begun");
	if (comma) {
		*comma = '\0';
		if (place_number(trim(comma + 1), 0, (int64_t)slot - 1, &offset, why))
			return -1;
	}
	colon = index ? strchr(index, ':') : NULL;
	if (colon)
		*colon = '\0';
	if (index && place_number(trim(index), 0, NEURON_PARTITIONS - 1, &first, why))
		return -1;
	end = first + 1;
	if (colon && place_number(trim(colon + 1), first + 1, NEURON_PARTITIONS, &end, why))
		return -1;
	memory->rows = (unsigned int)(end - first);
	memory->first = (unsigned int)first;
	memory->pitch = slot;
	memory->left = slot - (uint64_t)offset;
	memory->addr = emb_debug_gen(target->machine)->tpb_addr[target->unit[memory->graph]] +
		       (psum ? NEURON_TPB_PSUM : NEURON_TPB_SBUF) + (uint64_t)first * slot +
		       (uint64_t)offset;
	return 0;
}

static int variable(const struct target *target, const char *name, const char *index,
		    struct memory *memory, char why[TARGET_WHY])
{
	const struct neff_graph *graph = &target->neff->graphs[memory->graph];
	const struct neff_var *var = neff_find_var(graph, name);
	const uint64_t *home = target->home[memory->graph];
	int64_t offset = 0;

	if (!var)
		return fail(why, "the program has no variable \"%.100s\"", name);
	if (index && place_number(index, 0, (int64_t)var->size - 1, &offset, why))
		return -1;
	memory->window = true;
	memory->addr = neuron_window_addr(var->var_id, (uint64_t)offset);
	memory->left = var->size - (uint64_t)offset;
	if (home && home[var - graph->vars])
		memory->home = home[var - graph->vars] + (uint64_t)offset;
	/* The layout of float32r is not public: it is shown as fp32, whose size it has. */
	if (trn_inspect_size(var->dtype))
		memory->dtype = var->dtype;
	return 0;
}

int place_variable(const struct target *target, unsigned int graph, const char *name,
		   struct memory *memory, char why[TARGET_WHY])
{
	*memory = (struct memory){ .graph = graph, .rows = 1, .dtype = NEURON_DTYPE_FP32 };
	return variable(target, name, NULL, memory, why);
}

int place_memory(const struct target *target, const char *text, struct memory *memory,
		 char why[TARGET_WHY])
{
	char copy[NAME_MAX_LEN * 2], *index, *end;

	*memory = (struct memory){ .rows = 1, .dtype = NEURON_DTYPE_FP32 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return fail(why, "a name is too long");
	if (isdigit((unsigned char)*copy)) {
		errno = 0;
		memory->addr = strtoull(copy, &end, 0);
		memory->left = UINT64_MAX - memory->addr;
		return *end || errno ? fail(why, "\"%.60s\" is no address", text) : 0;
	}
	if (take_index(copy, &index, why) ||
	    take_graph(target, copy, &memory->graph, why))
		return -1;
	if (!strcmp(copy, "sbuf") || !strcmp(copy, "psum"))
		return tile(target, *copy == 'p', index, memory, why);
	return variable(target, copy, index ? trim(index) : NULL, memory, why);
}

/* The chip's address of a byte, and how many lie side by side from there. */
static int locate(const struct target *target, const struct memory *memory, uint64_t at,
		  uint64_t *addr, uint64_t *len, char why[TARGET_WHY])
{
	struct trn_inspect_place place;

	*addr = at;
	*len = UINT64_MAX;
	if (!target->chip)
		return fail(why, "the program has not begun");
	if (!memory->window)
		return 0;
	if (target->ended && memory->home) {
		*addr = memory->home + (at - memory->addr);
		return 0;
	}
	if (trn_inspect_window(target->chip, target->unit[memory->graph], at, &place))
		return fail(why, "the program has no memory there, or it has ended");
	*addr = place.addr;
	*len = place.len;
	return 0;
}

int place_address(const struct target *target, const struct memory *memory, uint64_t *addr,
		  uint64_t *len, char why[TARGET_WHY])
{
	return locate(target, memory, memory->addr, addr, len, why);
}

static int transfer(const struct target *target, const struct memory *memory, uint64_t at,
		    uint8_t *bytes, size_t len, bool write, char why[TARGET_WHY])
{
	enum neuron_cause cause;
	uint64_t addr, n;

	for (; len; len -= n, at += n, bytes += n) {
		if (locate(target, memory, at, &addr, &n, why))
			return -1;
		if (n > len)
			n = len;
		cause = write ? trn_inspect_write(target->chip, addr, bytes, n) :
				trn_inspect_read(target->chip, addr, bytes, n);
		if (cause)
			return fail(why, "there is no memory at %#" PRIx64, addr);
	}
	return 0;
}

static int within(const struct memory *memory, uint64_t offset, size_t len, char why[TARGET_WHY])
{
	if (len > memory->left || offset > memory->left - len)
		return fail(why, "only %" PRIu64 " bytes are there", memory->left);
	return 0;
}

int place_read(const struct target *target, const struct memory *memory, unsigned int row,
	       uint64_t offset, void *bytes, size_t len, char why[TARGET_WHY])
{
	if (within(memory, offset, len, why))
		return -1;
	return transfer(target, memory, memory->addr + row * memory->pitch + offset, bytes, len,
			false, why);
}

int place_write(const struct target *target, const struct memory *memory, unsigned int row,
		uint64_t offset, const void *bytes, size_t len, char why[TARGET_WHY])
{
	if (within(memory, offset, len, why))
		return -1;
	return transfer(target, memory, memory->addr + row * memory->pitch + offset,
			(uint8_t *)bytes, len, true, why);
}

/* --- Numbers --- */

int place_dtype(const char *text, enum neuron_dtype *dtype, char why[TARGET_WHY])
{
	if (trn_inspect_type(text, dtype))
		return 0;
	return fail(why, "\"%.60s\" is no type: use one such as fp32, bf16, fp8_e4, int32", text);
}

static int encode_uint64(const char *text, uint8_t bytes[8], char why[TARGET_WHY])
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (!*text || *end || (errno && errno != ERANGE))
		return fail(why, "\"%.60s\" is no number", text);
	/* strtoull() takes -1 as the largest number. */
	if (errno || strchr(text, '-'))
		return fail(why, "%.60s: from 0 to %" PRIu64, text, UINT64_MAX);
	memcpy(bytes, &number, sizeof(number));
	return 0;
}

int place_encode(enum neuron_dtype dtype, const char *text, uint8_t bytes[8],
		 char why[TARGET_WHY])
{
	size_t size = trn_inspect_size(dtype);
	int64_t number, max;
	float value;
	char *end;

	switch (trn_inspect_kind_of(dtype)) {
	case TRN_INSPECT_FLOAT:
		value = strtof(text, &end);
		if (!*text || *end)
			return fail(why, "\"%.60s\" is no number", text);
		trn_inspect_round(dtype, &value, 1, bytes);
		return 0;
	case TRN_INSPECT_INTEGER:
		if (dtype == NEURON_DTYPE_UINT64)
			return encode_uint64(text, bytes, why);
		max = size < 8 ? (int64_t)((1ull << (8 * size)) - 1) : INT64_MAX;
		if (place_number(text, size < 8 ? -(max / 2) - 1 : INT64_MIN, max, &number, why))
			return -1;
		memcpy(bytes, &number, size);
		return 0;
	default:
		return fail(why, "numbers of type %s cannot be written",
			    trn_inspect_type_name(dtype));
	}
}
