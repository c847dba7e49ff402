// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dap.h"
#include "show.h"

#define MEMORY_MAX	(1u << 20)
#define CODE_MAX	10000
#define PREVIEW		4

/* What the references of a frame's variables are: the frame times 4, and one of these. */
enum scope { SCOPE_REGISTERS = 1, SCOPE_SEMAPHORES, SCOPE_VARIABLES };

struct json_object *dap_text(const char *format, ...)
{
	struct json_object *json;
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	json = json_object_new_string(text ? text : "");
	free(text);
	return json;
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_number(struct json_object *object, const char *key, int64_t number)
{
	json_object_object_add(object, key, json_object_new_int64(number));
}

static struct json_object *body_with(const char *key, struct json_object *value)
{
	struct json_object *body = json_object_new_object();

	json_object_object_add(body, key, value);
	return body;
}

/* --- Engines are threads, and their next instruction is a frame --- */

int64_t dap_thread(struct where where)
{
	return where.graph * 8 + where.engine + 1;
}

bool dap_find_thread(struct dap *dap, int64_t thread, struct where *where)
{
	*where = (struct where){ (unsigned int)(thread - 1) / 8, (unsigned int)(thread - 1) % 8 };
	if (thread >= 1 && thread <= 8 * TARGET_GRAPHS &&
	    target_has_engine(&dap->program.target, *where))
		return true;
	snprintf(dap->why, sizeof(dap->why), "there is no thread %" PRId64, thread);
	return false;
}

struct json_object *dap_threads(struct dap *dap)
{
	const struct target *target = &dap->program.target;
	struct json_object *list = json_object_new_array(), *item;
	struct where at;
	char name[16];

	for (at.graph = 0; at.graph < target->neff->nr_graphs; at.graph++) {
		for (at.engine = 0; at.engine < NEURON_NR_ENGINES; at.engine++) {
			if (!target_has_engine(target, at))
				continue;
			item = json_object_new_object();
			add_number(item, "id", dap_thread(at));
			add_text(item, "name", show_engine_name(target, at, name));
			json_object_array_add(list, item);
		}
	}
	return body_with("threads", list);
}

/* References of instructions are numbers, because editors add offsets to them. */
static struct json_object *reference(struct code code)
{
	uint64_t number = (uint64_t)dap_thread(code.where) << 32 | code.pc * NEURON_INST_SIZE;

	return dap_text("0x%" PRIx64, number);
}

bool dap_find_code(struct dap *dap, const char *text, int64_t offset, struct code *code)
{
	uint64_t number = text ? strtoull(text, NULL, 0) : 0;

	number += (uint64_t)offset;
	code->pc = (uint32_t)number / NEURON_INST_SIZE;
	if (dap_find_thread(dap, (int64_t)(number >> 32), &code->where))
		return true;
	snprintf(dap->why, sizeof(dap->why), "\"%s\" is no instruction", text ? text : "");
	return false;
}

/* Where the editor finds the file: beside the program, if its name is relative. */
static struct json_object *source_of(struct dap *dap, const char *name)
{
	const char *program = dap->options.session.neff, *slash = strrchr(program, '/');
	struct json_object *source = json_object_new_object();
	const char *base = strrchr(name, '/');
	char *beside = NULL, whole[PATH_MAX];

	if (*name != '/' && slash && access(name, R_OK) &&
	    asprintf(&beside, "%.*s/%s", (int)(slash - program), program, name) < 0)
		beside = NULL;
	add_text(source, "name", base ? base + 1 : name);
	if (beside)
		name = beside;
	add_text(source, "path", realpath(name, whole) ? whole : name);
	free(beside);
	return source;
}

/* Fields that frames and disassembled instructions share. */
static void add_place(struct dap *dap, struct json_object *item, struct code code,
		      const char *key)
{
	uint32_t line = 0;
	const char *source = target_line(&dap->program.target, code, &line);

	if (source)
		json_object_object_add(item, key, source_of(dap, source));
	add_number(item, "line", source ? line : 0);
	add_number(item, "column", 0);
}

struct json_object *dap_stack_trace(struct dap *dap)
{
	const struct target *target = &dap->program.target;
	struct json_object *frame, *list, *body;
	struct trn_inspect_engine_state state = { .pc = 0 };
	char text[TRN_INSPECT_TEXT];
	struct code code;

	if (!dap_find_thread(dap, dap_number(dap->arguments, "threadId", 0), &code.where))
		return NULL;
	target_engine(target, code.where, &state);
	code.pc = state.pc;
	if (!show_instruction(target, code, text, sizeof(text)))
		snprintf(text, sizeof(text), "(no instruction)");
	frame = json_object_new_object();
	add_number(frame, "id", dap_thread(code.where));
	json_object_object_add(frame, "name", dap_text("%u: %s", code.pc, text));
	add_place(dap, frame, code, "source");
	json_object_object_add(frame, "instructionPointerReference", reference(code));
	list = json_object_new_array();
	json_object_array_add(list, frame);
	body = body_with("stackFrames", list);
	add_number(body, "totalFrames", 1);
	return body;
}

/* --- Variables --- */

struct json_object *dap_scopes(struct dap *dap)
{
	static const char *const names[] = { "Registers", "Semaphores", "Variables" };
	int64_t frame = dap_number(dap->arguments, "frameId", 0);
	struct json_object *list, *item;
	struct where where;
	int i;

	if (!dap_find_thread(dap, frame, &where))
		return NULL;
	list = json_object_new_array();
	for (i = 0; i < 3; i++) {
		item = json_object_new_object();
		add_text(item, "name", names[i]);
		add_number(item, "variablesReference", frame * 4 + i + 1);
		json_object_object_add(item, "expensive", json_object_new_boolean(false));
		json_object_array_add(list, item);
	}
	return body_with("scopes", list);
}

static struct json_object *add_variable(struct json_object *list, struct json_object *name,
					struct json_object *value)
{
	struct json_object *item = json_object_new_object();

	json_object_object_add(item, "name", name);
	json_object_object_add(item, "value", value);
	add_number(item, "variablesReference", 0);
	json_object_array_add(list, item);
	return item;
}

static void add_registers(const struct target *target, struct where where,
			  struct json_object *list)
{
	struct trn_inspect_engine_state state;
	unsigned int i;

	if (!target_engine(target, where, &state))
		return;
	add_variable(list, dap_text("pc"), dap_text("%u", state.pc));
	for (i = 1; i < NEURON_NR_REGS; i++)
		add_variable(list, dap_text("r%u", i), dap_text("%u", state.reg[i]));
}

/* Those that are not 0: there are 256. */
static void add_semaphores(const struct target *target, struct where where,
			   struct json_object *list)
{
	unsigned int i;
	int32_t value;

	for (i = 0; target->chip && i < NEURON_NR_SEMAPHORES; i++)
		if (trn_inspect_semaphore(target->chip, target->unit[where.graph], i, &value,
					  NULL) && value)
			add_variable(list, dap_text("semaphore %u", i), dap_text("%d", value));
}

static struct json_object *preview(const struct target *target, const struct neff_var *var)
{
	char why[TARGET_WHY], *numbers = NULL, *first;
	struct json_object *text;
	struct memory memory;
	uint64_t most;
	size_t length;
	FILE *out;

	if (place_memory(target, var->name, &memory, why))
		return dap_text("%s", why);
	most = memory.left / trn_inspect_size(memory.dtype);
	out = open_memstream(&numbers, &length);
	if (!out)
		return dap_text("no memory");
	if (show_memory(target, &memory, memory.dtype, false,
			most < PREVIEW ? (unsigned int)most : PREVIEW, out, why))
		fprintf(out, "%s", why);
	fclose(out);
	numbers[strcspn(numbers, "\n")] = '\0';
	/* Behind the number of the first one. */
	first = strchr(numbers, ':');
	first = first ? first + 1 : numbers;
	text = dap_text("%s%s", first + strspn(first, " "), most > PREVIEW ? " ..." : "");
	free(numbers);
	return text;
}

static void add_variables(struct target *target, struct where where, struct json_object *list)
{
	const struct neff_graph *graph = &target->neff->graphs[where.graph];
	struct json_object *item;
	size_t i;

	for (i = 0; i < graph->nr_vars; i++) {
		const struct neff_var *var = &graph->vars[i];

		if (var->type == NEFF_VAR_STATE || var->type >= NEFF_VAR_PEER)
			continue;
		item = add_variable(list, dap_text("%s", var->name), preview(target, var));
		add_text(item, "memoryReference", var->name);
	}
}

struct json_object *dap_variables(struct dap *dap)
{
	int64_t number = dap_number(dap->arguments, "variablesReference", 0);
	struct json_object *list;
	struct where where;

	if (!dap_find_thread(dap, number / 4, &where))
		return NULL;
	dap->program.target.selected = where;
	list = json_object_new_array();
	switch (number % 4) {
	case SCOPE_REGISTERS:
		add_registers(&dap->program.target, where, list);
		break;
	case SCOPE_SEMAPHORES:
		add_semaphores(&dap->program.target, where, list);
		break;
	case SCOPE_VARIABLES:
		add_variables(&dap->program.target, where, list);
		break;
	default:
		break;
	}
	return body_with("variables", list);
}

/* --- Memory and code --- */

static char *base64(const uint8_t *bytes, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((count + 2) / 3 * 4 + 1), *to = text;
	size_t i;

	for (i = 0; text && i < count; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;

		if (i + 1 < count)
			three |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < count)
			three |= bytes[i + 2];
		*to++ = digits[three >> 18];
		*to++ = digits[three >> 12 & 63];
		*to++ = i + 1 < count ? digits[three >> 6 & 63] : '=';
		*to++ = i + 2 < count ? digits[three & 63] : '=';
	}
	if (text)
		*to = '\0';
	return text;
}

struct json_object *dap_read_memory(struct dap *dap)
{
	const char *name = dap_string(dap->arguments, "memoryReference");
	int64_t offset = dap_number(dap->arguments, "offset", 0);
	int64_t count = dap_number(dap->arguments, "count", 0);
	struct json_object *body = NULL;
	struct memory memory;
	uint8_t *bytes;
	char *text;

	if (!name || place_memory(&dap->program.target, name, &memory, dap->why))
		return NULL;
	if (offset < 0 || count < 0 || count > MEMORY_MAX) {
		snprintf(dap->why, sizeof(dap->why), "at most %u bytes at a time", MEMORY_MAX);
		return NULL;
	}
	if ((uint64_t)offset >= memory.left)
		count = 0;
	else if ((uint64_t)count > memory.left - (uint64_t)offset)
		count = (int64_t)(memory.left - (uint64_t)offset);
	bytes = malloc((size_t)count + 1);
	if (bytes && !place_read(&dap->program.target, &memory, 0, (uint64_t)offset, bytes,
				 (size_t)count, dap->why)) {
		text = base64(bytes, (size_t)count);
		body = body_with("data", json_object_new_string(text ? text : ""));
		json_object_object_add(body, "address", dap_text("%" PRId64, offset));
		free(text);
	}
	free(bytes);
	return body;
}

struct json_object *dap_disassemble(struct dap *dap)
{
	int64_t count = dap_number(dap->arguments, "instructionCount", 0);
	int64_t first = dap_number(dap->arguments, "instructionOffset", 0);
	struct json_object *list, *item;
	char text[TRN_INSPECT_TEXT];
	struct code code;
	int64_t i;

	if (!dap_find_code(dap, dap_string(dap->arguments, "memoryReference"),
			   dap_number(dap->arguments, "offset", 0), &code))
		return NULL;
	if (count < 0 || count > CODE_MAX) {
		snprintf(dap->why, sizeof(dap->why), "at most %d instructions at a time", CODE_MAX);
		return NULL;
	}
	list = json_object_new_array();
	for (i = 0; i < count; i++) {
		int64_t pc = (int64_t)code.pc + first + i;
		struct code at = { code.where, (uint32_t)pc };

		item = json_object_new_object();
		json_object_array_add(list, item);
		json_object_object_add(item, "address", reference(at));
		/* An editor wants as many as it has asked for. */
		if (pc < 0 || pc > UINT32_MAX ||
		    !show_instruction(&dap->program.target, at, text, sizeof(text))) {
			add_text(item, "instruction", "");
			add_text(item, "presentationHint", "invalid");
			continue;
		}
		json_object_object_add(item, "instruction", dap_text("%u: %s", at.pc, text));
		add_place(dap, item, at, "location");
	}
	return body_with("instructions", list);
}
