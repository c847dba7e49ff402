// SPDX-License-Identifier: MIT
#include "command.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/regs.h"
#include "show.h"

#define WORDS_MAX	64
#define DEFAULT_COUNT	8
#define MOST_NUMBERS	65536
#define MOST_CODE	1000

/**
 * struct call - a command as it was given
 * @rest: behind its name
 * @word, @nr: the words of that; a place with brackets is one word
 */
struct call {
	struct target *target;
	FILE *out;
	char *why;
	const char *rest;
	const char *word[WORDS_MAX];
	unsigned int nr;
};

typedef enum command_result (*command_fn)(struct call *call);

struct command {
	const char *name;
	const char *alias;
	command_fn run;
	const char *arguments;
	const char *help;
};

static enum command_result bad(struct call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static enum command_result bad(struct call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(call->why, TARGET_WHY, format, args);
	va_end(args);
	return COMMAND_ERROR;
}

static enum command_result stay(int ret)
{
	return ret ? COMMAND_ERROR : COMMAND_STAY;
}

/* Words but "=", which may be written where a value is set. */
static void split(struct call *call, char *text)
{
	int depth = 0;

	call->nr = 0;
	while (*text && call->nr < WORDS_MAX) {
		char *begin;

		while (isspace((unsigned char)*text))
			text++;
		begin = text;
		for (; *text && (depth || !isspace((unsigned char)*text)); text++)
			depth += (*text == '[') - (*text == ']');
		if (*text)
			*text++ = '\0';
		if (*begin && strcmp(begin, "="))
			call->word[call->nr++] = begin;
	}
}

/* Word @i as a number, or @otherwise. */
static int count_of(struct call *call, unsigned int i, int64_t max, int64_t otherwise,
		    int64_t *count)
{
	*count = otherwise;
	if (i >= call->nr)
		return 0;
	return place_number(call->word[i], 1, max, count, call->why);
}

/* --- Going on --- */

static enum command_result go(struct call *call, enum go_mode mode, uint64_t count)
{
	if (call->target->ended && mode != GO_CONTINUE && mode != GO_KILL)
		return bad(call, "the program has ended");
	target_go(call->target, mode, count);
	return COMMAND_GO;
}

static enum command_result run_continue(struct call *call)
{
	return go(call, GO_CONTINUE, 0);
}

static enum command_result run_step(struct call *call)
{
	int64_t count;

	if (call->nr && !strcmp(call->word[0], "all"))
		return go(call, GO_STEP_ALL, 0);
	if (count_of(call, 0, INT64_MAX, 1, &count))
		return COMMAND_ERROR;
	return go(call, GO_STEP, (uint64_t)count);
}

static enum command_result run_next(struct call *call)
{
	return go(call, GO_NEXT, 0);
}

static enum command_result run_finish(struct call *call)
{
	return go(call, GO_FINISH, 0);
}

static enum command_result run_kill(struct call *call)
{
	return go(call, call->target->ended ? GO_CONTINUE : GO_KILL, 0);
}

/* --- Going back --- */

static enum command_result run_checkpoint(struct call *call)
{
	unsigned int id;

	if (target_checkpoint(call->target, &id, call->why))
		return COMMAND_ERROR;
	fprintf(call->out, "Checkpoint %u.\n", id);
	return COMMAND_STAY;
}

/* The program is somewhere else now. */
static enum command_result went_back(struct call *call, int ret)
{
	if (ret)
		return COMMAND_ERROR;
	call->target->ended = false;
	show_stop(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_restore(struct call *call)
{
	int64_t id;

	if (!call->nr)
		return bad(call, "which checkpoint?");
	if (place_number(call->word[0], 1, UINT32_MAX, &id, call->why))
		return COMMAND_ERROR;
	return went_back(call, target_restore(call->target, (unsigned int)id, call->why));
}

static enum command_result run_reverse_step(struct call *call)
{
	int64_t count;

	if (count_of(call, 0, INT64_MAX, 1, &count))
		return COMMAND_ERROR;
	return went_back(call, target_reverse_step(call->target, (uint64_t)count, call->why));
}

static enum command_result run_reverse_continue(struct call *call)
{
	return went_back(call, target_reverse_continue(call->target, call->why));
}

/* --- Breakpoints --- */

static enum command_result added(struct call *call, struct breakpoint *breakpoint)
{
	unsigned int id = breakpoint->id;

	if (!target_arm_breakpoint(call->target, breakpoint))
		return bad(call,
			   "the chip cannot watch that: %u places at most, in HBM, SBUF or PSUM",
			   TRN_WATCHPOINTS);
	fprintf(call->out, "Breakpoint %u: %s\n", id, call->rest);
	return COMMAND_STAY;
}

static int parse_test(struct call *call, struct breakpoint *b)
{
	static const struct {
		const char *sign;
		enum sem_test test;
	} tests[] = { { "==", SEM_EQUAL }, { ">=", SEM_AT_LEAST }, { "<", SEM_BELOW } };
	int64_t sem, value = 0;
	unsigned int i;

	if (call->nr != 2 && call->nr != 4) {
		bad(call, "use: break semaphore NUMBER [==|>=|< VALUE]");
		return -1;
	}
	if (place_number(call->word[1], 0, NEURON_NR_SEMAPHORES - 1, &sem, call->why))
		return -1;
	b->sem = (unsigned int)sem;
	b->graph = call->target->selected.graph;
	if (call->nr == 2)
		return 0;
	for (i = 0; i < 3 && strcmp(call->word[2], tests[i].sign); i++)
		;
	if (i == 3) {
		bad(call, "\"%.20s\": use ==, >= or <", call->word[2]);
		return -1;
	}
	b->test = tests[i].test;
	if (place_number(call->word[3], INT32_MIN, INT32_MAX, &value, call->why))
		return -1;
	b->value = (int32_t)value;
	return 0;
}

static enum command_result break_semaphore(struct call *call)
{
	struct breakpoint parsed = { .test = SEM_CHANGES }, *b;

	if (parse_test(call, &parsed))
		return COMMAND_ERROR;
	b = target_add_breakpoint(call->target, BREAK_SEMAPHORE, call->rest);
	if (!b)
		return bad(call, "no memory");
	b->sem = parsed.sem;
	b->graph = parsed.graph;
	b->test = parsed.test;
	b->value = parsed.value;
	return added(call, b);
}

static enum command_result break_nan(struct call *call)
{
	struct breakpoint *b;

	if (call->nr > 1)
		return bad(call, "use: break nan");
	b = target_add_breakpoint(call->target, BREAK_NAN, "NaN");
	return b ? added(call, b) : bad(call, "no memory");
}

static enum command_result run_break(struct call *call)
{
	struct code *code;
	struct breakpoint *b;
	size_t nr;

	if (!call->nr)
		return bad(call, "where? ENGINE:PC, PC, FILE:LINE, semaphore NUMBER, or nan");
	if (!strcmp(call->word[0], "semaphore"))
		return break_semaphore(call);
	if (!strcmp(call->word[0], "nan"))
		return break_nan(call);
	if (place_code(call->target, call->word[0], &code, &nr, call->why))
		return COMMAND_ERROR;
	b = target_add_breakpoint(call->target, BREAK_CODE, call->rest);
	if (!b) {
		free(code);
		return bad(call, "no memory");
	}
	b->code = code;
	b->nr_code = nr;
	return added(call, b);
}

static enum command_result run_watch(struct call *call)
{
	uint64_t addr, room;
	struct memory memory;
	struct breakpoint *b;
	int64_t len;

	if (!call->nr)
		return bad(call, "what? A place, and how many bytes of it");
	if (place_memory(call->target, call->word[0], &memory, call->why) ||
	    count_of(call, 1, TRN_WATCHPOINT_BYTES, (int64_t)trn_inspect_size(memory.dtype),
		     &len) ||
	    place_address(call->target, &memory, &addr, &room, call->why))
		return COMMAND_ERROR;
	if (memory.rows > 1)
		return bad(call, "a watchpoint is for bytes of one partition");
	if ((uint64_t)len > memory.left || (uint64_t)len > room)
		return bad(call, "only %" PRIu64 " bytes are there", memory.left);
	b = target_add_breakpoint(call->target, BREAK_WRITE, call->rest);
	if (!b)
		return bad(call, "no memory");
	b->watch = (struct trn_watchpoint){ addr, (uint32_t)len };
	return added(call, b);
}

static enum command_result run_delete(struct call *call)
{
	int64_t id;

	if (!call->nr)
		return bad(call, "which breakpoint?");
	if (place_number(call->word[0], 1, UINT32_MAX, &id, call->why))
		return COMMAND_ERROR;
	if (!target_delete_breakpoint(call->target, (unsigned int)id))
		return bad(call, "there is no breakpoint %" PRId64, id);
	return COMMAND_STAY;
}

/* --- Looking --- */

static enum command_result run_engine(struct call *call)
{
	struct where where;

	if (!call->nr)
		return bad(call, "which engine?");
	if (place_engine(call->target, call->word[0], &where, call->why))
		return COMMAND_ERROR;
	call->target->selected = where;
	return COMMAND_STAY;
}

static enum command_result run_where(struct call *call)
{
	show_where(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_registers(struct call *call)
{
	show_registers(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_semaphores(struct call *call)
{
	show_semaphores(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_breakpoints(struct call *call)
{
	show_breakpoints(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_checkpoints(struct call *call)
{
	show_checkpoints(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_list(struct call *call)
{
	show_source(call->target, call->out);
	return COMMAND_STAY;
}

static enum command_result run_disassemble(struct call *call)
{
	int64_t count;

	if (count_of(call, 0, MOST_CODE, 10, &count))
		return COMMAND_ERROR;
	show_code(call->target, (unsigned int)count, call->out);
	return COMMAND_STAY;
}

/* "r5": its number, or 0. */
static unsigned int register_number(const char *word)
{
	unsigned long number;
	char *end;

	if (*word != 'r' || !isdigit((unsigned char)word[1]))
		return 0;
	number = strtoul(word + 1, &end, 10);
	return *end || number >= NEURON_NR_REGS ? 0 : (unsigned int)number;
}

static enum command_result print_register(struct call *call, unsigned int reg)
{
	struct trn_inspect_engine_state state;

	if (!target_engine(call->target, call->target->selected, &state))
		return bad(call, "the program has not begun");
	if (reg)
		fprintf(call->out, "r%u = %u (0x%x)\n", reg, state.reg[reg], state.reg[reg]);
	else
		fprintf(call->out, "pc = %u\n", state.pc);
	return COMMAND_STAY;
}

static enum command_result print_semaphore(struct call *call)
{
	struct target *target = call->target;
	int64_t sem;
	int32_t value;

	if (call->nr != 2)
		return bad(call, "use: print semaphore NUMBER");
	if (place_number(call->word[1], 0, NEURON_NR_SEMAPHORES - 1, &sem, call->why))
		return COMMAND_ERROR;
	if (!target->chip || !trn_inspect_semaphore(target->chip,
						    target->unit[target->selected.graph],
						    (unsigned int)sem, &value, NULL))
		return bad(call, "the program has not begun");
	fprintf(call->out, "semaphore %" PRId64 " = %d\n", sem, value);
	return COMMAND_STAY;
}

static enum command_result print_memory(struct call *call)
{
	struct memory memory;
	enum neuron_dtype dtype;
	unsigned int next = 1;
	int64_t count, most;
	bool hex = false;

	if (place_memory(call->target, call->word[0], &memory, call->why))
		return COMMAND_ERROR;
	dtype = memory.dtype;
	if (next < call->nr && !isdigit((unsigned char)*call->word[next]) &&
	    strcmp(call->word[next], "hex") &&
	    place_dtype(call->word[next++], &dtype, call->why))
		return COMMAND_ERROR;
	if (next < call->nr && !strcmp(call->word[next], "hex")) {
		hex = true;
		next++;
	}
	most = (int64_t)(memory.left / trn_inspect_size(dtype));
	if (count_of(call, next, MOST_NUMBERS, most < DEFAULT_COUNT ? most : DEFAULT_COUNT, &count))
		return COMMAND_ERROR;
	return stay(show_memory(call->target, &memory, dtype, hex, (unsigned int)count, call->out,
				call->why));
}

static enum command_result run_print(struct call *call)
{
	if (!call->nr)
		return bad(call, "what? rN, pc, semaphore N, or a place with type and count");
	if (!strcmp(call->word[0], "pc"))
		return print_register(call, 0);
	if (register_number(call->word[0]))
		return print_register(call, register_number(call->word[0]));
	if (!strcmp(call->word[0], "semaphore"))
		return print_semaphore(call);
	return print_memory(call);
}

/* --- Changing --- */

static enum command_result set_engine(struct call *call, unsigned int reg)
{
	struct target *target = call->target;
	const struct where where = target->selected;
	int64_t value;
	bool good;

	if (call->nr != 2)
		return bad(call, "use: set %s VALUE", call->word[0]);
	if (place_number(call->word[1], reg ? INT32_MIN : 0, UINT32_MAX, &value, call->why))
		return COMMAND_ERROR;
	if (!target->chip)
		return bad(call, "the program has not begun");
	good = reg ? trn_inspect_set_register(target->chip, target->unit[where.graph],
					      where.engine, reg, (uint32_t)value) :
		     trn_inspect_set_pc(target->chip, target->unit[where.graph], where.engine,
					(uint32_t)value);
	if (good)
		return COMMAND_STAY;
	if (reg)
		return bad(call, "the engine has no such register");
	return bad(call, "the engine stands before no instruction, or its program is not as long");
}

static enum command_result set_semaphore(struct call *call)
{
	struct target *target = call->target;
	int64_t sem, value;
	uint64_t addr;
	int32_t word;

	if (call->nr != 3)
		return bad(call, "use: set semaphore NUMBER VALUE");
	if (place_number(call->word[1], 0, NEURON_NR_SEMAPHORES - 1, &sem, call->why) ||
	    place_number(call->word[2], INT32_MIN, INT32_MAX, &value, call->why))
		return COMMAND_ERROR;
	if (!target->chip)
		return bad(call, "the program has not begun");
	word = (int32_t)value;
	addr = emb_debug_gen(target->machine)->tpb_addr[target->unit[target->selected.graph]] +
	       NEURON_TPB_SEM + NEURON_SEM_SET((uint64_t)sem);
	if (trn_inspect_write(target->chip, addr, &word, sizeof(word)))
		return bad(call, "the semaphore cannot be written");
	return COMMAND_STAY;
}

static enum command_result set_memory(struct call *call)
{
	char ignored[TARGET_WHY];
	enum neuron_dtype dtype;
	struct memory memory;
	uint8_t bytes[8];
	unsigned int next = 1, row, i;
	size_t size;

	if (place_memory(call->target, call->word[0], &memory, call->why))
		return COMMAND_ERROR;
	dtype = memory.dtype;
	if (call->nr > 2 && !place_dtype(call->word[1], &dtype, ignored))
		next++;
	if (next >= call->nr)
		return bad(call, "which value?");
	size = trn_inspect_size(dtype);
	for (i = next; i < call->nr; i++) {
		if (place_encode(dtype, call->word[i], bytes, call->why))
			return COMMAND_ERROR;
		for (row = 0; row < memory.rows; row++)
			if (place_write(call->target, &memory, row, (i - next) * size, bytes, size,
					call->why))
				return COMMAND_ERROR;
	}
	return COMMAND_STAY;
}

static enum command_result run_set(struct call *call)
{
	if (!call->nr)
		return bad(call, "what? rN, pc, semaphore N, or a place with type and values");
	if (!strcmp(call->word[0], "pc"))
		return set_engine(call, 0);
	if (register_number(call->word[0]))
		return set_engine(call, register_number(call->word[0]));
	if (!strcmp(call->word[0], "semaphore"))
		return set_semaphore(call);
	return set_memory(call);
}

static enum command_result run_echo(struct call *call)
{
	fprintf(call->out, "%s\n", call->rest);
	return COMMAND_STAY;
}

/* --- The table --- */

static enum command_result run_help(struct call *call);

static const struct command commands[] = {
	{ "break", "b", run_break, "PLACE",
	  "stop before an instruction: ENGINE:PC, PC, FILE:LINE; behind a NaN: nan" },
	{ "breakpoints", NULL, run_breakpoints, "", "list breakpoints of all kinds" },
	{ "checkpoint", NULL, run_checkpoint, "", "keep the state, to come back to it" },
	{ "checkpoints", NULL, run_checkpoints, "", "list them" },
	{ "continue", "c", run_continue, "", "go on to the next stop" },
	{ "delete", "d", run_delete, "NUMBER", "take a breakpoint away" },
	{ "disassemble", "x", run_disassemble, "[COUNT]", "show instructions around the pc" },
	{ "echo", NULL, run_echo, "TEXT", "print it" },
	{ "engine", "e", run_engine, "ENGINE", "select an engine, as vector or vector@1" },
	{ "finish", NULL, run_finish, "", "go on until the engine is about to halt" },
	{ "help", "h", run_help, "", "this list" },
	{ "kill", "q", run_kill, "", "end the program and the debugger" },
	{ "list", "l", run_list, "", "show the source around the pc" },
	{ "next", "n", run_next, "", "go on to another source line of the engine" },
	{ "print", "p", run_print, "WHAT [TYPE] [hex] [COUNT]",
	  "rN, pc, semaphore N, NAME[BYTE], sbuf[P:Q, BYTE], psum[P:Q, BYTE], 0xADDRESS" },
	{ "registers", "r", run_registers, "", "show the registers of the engine" },
	{ "restore", NULL, run_restore, "NUMBER", "go back to a checkpoint" },
	{ "reverse-continue", "rc", run_reverse_continue, "", "go back to the stop before" },
	{ "reverse-step", "rs", run_reverse_step, "[COUNT]",
	  "go back to before the engine's last instructions" },
	{ "semaphores", NULL, run_semaphores, "", "show the semaphores that are not 0" },
	{ "set", NULL, run_set, "WHAT [TYPE] VALUE...", "change what print can show" },
	{ "step", "s", run_step, "[COUNT|all]", "one instruction of the engine, or of each" },
	{ "watch", NULL, run_watch, "PLACE [BYTES]", "stop when the bytes have changed" },
	{ "where", "w", run_where, "", "show all engines, and what they wait for" },
};

static enum command_result run_help(struct call *call)
{
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(call->out, "%-16s %-2s %-25s %s\n", commands[i].name,
			commands[i].alias ? commands[i].alias : "", commands[i].arguments,
			commands[i].help);
	return COMMAND_STAY;
}

/* By its name, its alias, or the beginning of one name only. */
static const struct command *find(const char *word)
{
	const struct command *found = NULL;
	size_t i, len = strlen(word), matches = 0;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *command = &commands[i];

		if (!strcmp(word, command->name) ||
		    (command->alias && !strcmp(word, command->alias)))
			return command;
		if (!strncmp(word, command->name, len)) {
			found = command;
			matches++;
		}
	}
	return matches == 1 ? found : NULL;
}

enum command_result command_run(struct target *target, const char *line, FILE *out,
				char why[TARGET_WHY])
{
	struct call call = { .target = target, .out = out, .why = why };
	const struct command *command;
	enum command_result result;
	char *copy, *name, *rest, *whole;

	while (isspace((unsigned char)*line))
		line++;
	if (!*line || *line == '#')
		return COMMAND_STAY;
	copy = strdup(line);
	name = copy ? strdup(line) : NULL;
	if (!name) {
		free(copy);
		return bad(&call, "no memory");
	}
	name[strcspn(name, " \t\n")] = '\0';
	rest = copy + strlen(name);
	while (isspace((unsigned char)*rest))
		rest++;
	rest[strcspn(rest, "\n")] = '\0';
	whole = strdup(rest);
	call.rest = whole ? whole : "";
	command = find(name);
	split(&call, rest);
	if (command)
		result = command->run(&call);
	else
		result = bad(&call, "there is no command \"%.60s\"; help lists them", name);
	free(whole);
	free(name);
	free(copy);
	return result;
}
