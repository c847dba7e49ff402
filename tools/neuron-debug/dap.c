// SPDX-License-Identifier: MIT
#include "dap.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "place.h"
#include "show.h"

#define NAN_FILTER	"nan"

typedef struct json_object *(*handler_fn)(struct dap *dap);

/**
 * struct handler - who answers a request
 * @stopped: only while the program stands still
 */
struct handler {
	const char *command;
	handler_fn answer;
	bool stopped;
};

static struct json_object *fail(struct dap *dap, const char *why)
{
	snprintf(dap->why, sizeof(dap->why), "%s", why);
	return NULL;
}

static struct json_object *nothing(void)
{
	return json_object_new_object();
}

/* --- Beginning --- */

/* What an editor offers as an exception: instructions that leave a NaN. */
static struct json_object *filters(void)
{
	static const char *const texts[][2] = {
		{ "filter", NAN_FILTER },
		{ "label", "NaN" },
		{ "description", "Stop behind an instruction that has left a NaN" },
	};
	struct json_object *list = json_object_new_array(), *filter = nothing();
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_object_object_add(filter, texts[i][0], json_object_new_string(texts[i][1]));
	json_object_array_add(list, filter);
	return list;
}

static struct json_object *initialize(struct dap *dap)
{
	static const char *const can[] = {
		"supportsConfigurationDoneRequest", "supportsInstructionBreakpoints",
		"supportsDataBreakpoints", "supportsStepBack", "supportsReadMemoryRequest",
		"supportsDisassembleRequest", "supportsSteppingGranularity", "supportsSetVariable",
		"supportsTerminateRequest",
	};
	struct json_object *body = nothing();
	size_t i;

	(void)dap;
	for (i = 0; i < sizeof(can) / sizeof(can[0]); i++)
		json_object_object_add(body, can[i], json_object_new_boolean(true));
	json_object_object_add(body, "exceptionBreakpointFilters", filters());
	return body;
}

/* "name=file" of each input of the launch. */
static bool take_inputs(struct dap *dap, struct json_object *inputs)
{
	struct tensors_inputs *to = &dap->options.inputs;

	if (!json_object_is_type(inputs, json_type_object))
		return true;
	to->arg = calloc((size_t)json_object_object_length(inputs) + 1, sizeof(*to->arg));
	if (!to->arg)
		return false;
	json_object_object_foreach(inputs, name, file) {
		char *text;

		if (asprintf(&text, "%s=%s", name, json_object_get_string(file)) < 0)
			return false;
		to->arg[to->nr++] = text;
	}
	return true;
}

static void prompt(void *opaque);

static struct json_object *launch(struct dap *dap)
{
	struct json_object *arguments = dap->arguments;

	if (dap->launch)
		return fail(dap, "one program at a time");
	dap->launch = json_object_get(arguments);
	dap->options.session.neff = dap_string(arguments, "program");
	dap->options.session.instance = dap_string(arguments, "instance");
	dap->options.output_dir = dap_string(arguments, "outputDir");
	dap->stop_on_entry = dap_flag(arguments, "stopOnEntry");
	if (dap_flag(arguments, "zeros"))
		dap->options.inputs.missing = TENSORS_ZEROS;
	if (!dap->options.session.neff)
		return fail(dap, "the launch has no \"program\"");
	if (!take_inputs(dap, dap_get(arguments, "inputs")))
		return fail(dap, "no memory");
	dap->launched = true;
	if (program_open(&dap->program, &dap->options, prompt, dap)) {
		dap->over = true;
		return fail(dap, *dap->program.why ? dap->program.why :
			    "libnrt does not load the program; see standard error");
	}
	dap_io_tell(&dap->io, &dap->program.target);
	return nothing();
}

static struct json_object *configuration_done(struct dap *dap)
{
	dap->configured = true;
	return nothing();
}

/* --- Breakpoints --- */

/* An editor sends all of one kind, or of one file, each time: those before go. */
static void forget(struct dap *dap, enum breakpoint_kind kind, const char *prefix)
{
	struct target *target = &dap->program.target;
	size_t i = 0;

	while (i < target->nr_breakpoints) {
		const struct breakpoint *b = &target->breakpoints[i];

		if (b->kind == kind && !strncmp(b->what, prefix, strlen(prefix)))
			target_delete_breakpoint(target, b->id);
		else
			i++;
	}
}

/* The line that a breakpoint has got, or 0. */
static int64_t line_of(const struct dap *dap, const struct breakpoint *breakpoint)
{
	uint32_t line = 0;

	if (!breakpoint->nr_code ||
	    !target_line(&dap->program.target, breakpoint->code[0], &line))
		return 0;
	return line;
}

static struct json_object *report(const struct dap *dap, const struct breakpoint *breakpoint,
				  const char *why)
{
	struct json_object *item = nothing();

	json_object_object_add(item, "verified", json_object_new_boolean(!!breakpoint));
	if (!breakpoint) {
		json_object_object_add(item, "message", json_object_new_string(why));
		return item;
	}
	json_object_object_add(item, "id", json_object_new_int64(breakpoint->id));
	if (line_of(dap, breakpoint))
		json_object_object_add(item, "line",
				       json_object_new_int64(line_of(dap, breakpoint)));
	return item;
}

/* @code becomes the breakpoint's, or is freed. */
static struct json_object *add_code(struct dap *dap, struct code *code, size_t nr,
				    const char *what)
{
	struct target *target = &dap->program.target;
	struct breakpoint *b = target_add_breakpoint(target, BREAK_CODE, what);

	if (!b) {
		free(code);
		return report(dap, NULL, "no memory");
	}
	b->code = code;
	b->nr_code = nr;
	if (!target_arm_breakpoint(target, b))
		return report(dap, NULL, "no memory");
	return report(dap, &target->breakpoints[target->nr_breakpoints - 1], NULL);
}

static struct json_object *add_line(struct dap *dap, const char *path, struct json_object *asked)
{
	char where[PATH_MAX + 32], what[128], why[TARGET_WHY];
	const char *base = strrchr(path, '/');
	int64_t line = dap_number(asked, "line", 0);
	struct code *code;
	size_t nr;

	snprintf(where, sizeof(where), "%s:%" PRId64, path, line);
	snprintf(what, sizeof(what), "%.90s:%" PRId64, base ? base + 1 : path, line);
	if (place_code(&dap->program.target, where, &code, &nr, why))
		return report(dap, NULL, why);
	return add_code(dap, code, nr, what);
}

/* Each of the breakpoints that are asked for. */
static struct json_object *each(struct dap *dap, const char *path,
				struct json_object *(*add)(struct dap *dap, const char *path,
							   struct json_object *asked))
{
	struct json_object *asked = dap_get(dap->arguments, "breakpoints");
	struct json_object *list = json_object_new_array(), *body = nothing();
	size_t i, nr = json_object_is_type(asked, json_type_array) ?
		       json_object_array_length(asked) : 0;

	for (i = 0; i < nr; i++)
		json_object_array_add(list, add(dap, path, json_object_array_get_idx(asked, i)));
	json_object_object_add(body, "breakpoints", list);
	return body;
}

static struct json_object *set_breakpoints(struct dap *dap)
{
	const char *path = dap_string(dap_get(dap->arguments, "source"), "path");
	const char *base = path ? strrchr(path, '/') : NULL;
	char prefix[128];

	if (!path)
		return fail(dap, "the source has no path");
	snprintf(prefix, sizeof(prefix), "%.90s:", base ? base + 1 : path);
	forget(dap, BREAK_CODE, prefix);
	return each(dap, path, add_line);
}

static struct json_object *add_instruction(struct dap *dap, const char *path,
					   struct json_object *asked)
{
	const struct neff_graph *graphs = dap->program.neff->graphs;
	struct code found, *code;
	char what[128];

	(void)path;
	if (!dap_find_code(dap, dap_string(asked, "instructionReference"),
			   dap_number(asked, "offset", 0), &found))
		return report(dap, NULL, dap->why);
	if (found.pc >= graphs[found.where.graph].image_count[found.where.engine])
		return report(dap, NULL, "the program is not that long");
	code = malloc(sizeof(*code));
	if (!code)
		return report(dap, NULL, "no memory");
	*code = found;
	snprintf(what, sizeof(what), "instruction %u", found.pc);
	return add_code(dap, code, 1, what);
}

static struct json_object *set_instruction_breakpoints(struct dap *dap)
{
	forget(dap, BREAK_CODE, "instruction ");
	return each(dap, NULL, add_instruction);
}

/* What can be watched is a place as print knows it. */
static struct json_object *data_breakpoint_info(struct dap *dap)
{
	const char *name = dap_string(dap->arguments, "name");
	struct json_object *body = nothing();
	char why[TARGET_WHY];
	struct memory memory;

	if (!name || place_memory(&dap->program.target, name, &memory, why)) {
		json_object_object_add(body, "dataId", NULL);
		json_object_object_add(body, "description",
				       dap_text("%s", name ? why : "there is no name"));
		return body;
	}
	json_object_object_add(body, "dataId", json_object_new_string(name));
	json_object_object_add(body, "description", json_object_new_string(name));
	return body;
}

static struct json_object *add_data(struct dap *dap, const char *path, struct json_object *asked)
{
	struct target *target = &dap->program.target;
	const char *name = dap_string(asked, "dataId");
	char line[PATH_MAX], why[TARGET_WHY], *text = NULL;
	enum command_result result;
	size_t length;
	FILE *out;

	(void)path;
	snprintf(line, sizeof(line), "watch %s", name ? name : "");
	out = open_memstream(&text, &length);
	if (!out)
		return report(dap, NULL, "no memory");
	result = command_run(target, line, out, why);
	fclose(out);
	free(text);
	if (result == COMMAND_ERROR)
		return report(dap, NULL, why);
	return report(dap, &target->breakpoints[target->nr_breakpoints - 1], NULL);
}

static struct json_object *set_data_breakpoints(struct dap *dap)
{
	forget(dap, BREAK_WRITE, "");
	return each(dap, NULL, add_data);
}

static bool wants_nan(const struct dap *dap)
{
	struct json_object *wanted = dap_get(dap->arguments, "filters");
	size_t i, nr = json_object_is_type(wanted, json_type_array) ?
		       json_object_array_length(wanted) : 0;
	const char *name;

	for (i = 0; i < nr; i++) {
		name = json_object_get_string(json_object_array_get_idx(wanted, i));
		if (name && !strcmp(name, NAN_FILTER))
			return true;
	}
	return false;
}

static struct json_object *set_exception_breakpoints(struct dap *dap)
{
	struct json_object *list = json_object_new_array(), *body = nothing();
	struct target *target = &dap->program.target;
	struct breakpoint *b;

	forget(dap, BREAK_NAN, "");
	if (wants_nan(dap)) {
		b = target_add_breakpoint(target, BREAK_NAN, "NaN");
		json_object_array_add(list, report(dap, b, "no memory"));
	}
	json_object_object_add(body, "breakpoints", list);
	return body;
}

/* --- Going on --- */

static struct json_object *stopped_body(const struct target *target, const char *reason)
{
	struct json_object *body = nothing();

	json_object_object_add(body, "reason", json_object_new_string(reason));
	json_object_object_add(body, "threadId",
			       json_object_new_int64(dap_thread(target->selected)));
	json_object_object_add(body, "allThreadsStopped", json_object_new_boolean(true));
	return body;
}

static void tell_output(struct dap *dap, const char *text)
{
	struct json_object *body = nothing();

	json_object_object_add(body, "category", json_object_new_string("console"));
	json_object_object_add(body, "output", json_object_new_string(text));
	dap_io_event(&dap->io, "output", body);
}

/* Why it stands, as text and as an event. */
static void tell_stop(struct dap *dap)
{
	static const char *const reasons[] = {
		[STOP_ENTRY] = "entry",
		[STOP_BREAKPOINT] = "breakpoint",
		[STOP_WATCHPOINT] = "data breakpoint",
		[STOP_SEMAPHORE] = "breakpoint",
		[STOP_NAN] = "exception",
		[STOP_STEP] = "step",
		[STOP_FAULT] = "exception",
		[STOP_PAUSE] = "pause",
		[STOP_STUCK] = "exception",
		[STOP_BACK] = "step",
	};
	const struct target *target = &dap->program.target;
	struct json_object *body = stopped_body(target, reasons[target->stop.reason]);
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		show_stop(target, out);
		fclose(out);
		tell_output(dap, text);
		json_object_object_add(body, "description",
				       dap_text("%.*s", (int)strcspn(text, "\n"), text));
	}
	free(text);
	if (target->stop.breakpoint) {
		struct json_object *ids = json_object_new_array();

		json_object_array_add(ids, json_object_new_int64(target->stop.breakpoint));
		json_object_object_add(body, "hitBreakpointIds", ids);
	}
	dap_io_event(&dap->io, "stopped", body);
}

/* The thread that a request names is the engine that goes. */
static bool select_thread(struct dap *dap)
{
	struct where where;

	if (!dap_find_thread(dap, dap_number(dap->arguments, "threadId", 0), &where))
		return false;
	dap->program.target.selected = where;
	return true;
}

static struct json_object *go(struct dap *dap, enum go_mode mode)
{
	if (!select_thread(dap))
		return NULL;
	target_go(&dap->program.target, mode, 1);
	dap->going = true;
	return nothing();
}

static struct json_object *go_on(struct dap *dap)
{
	struct json_object *body = nothing();

	target_go(&dap->program.target, GO_CONTINUE, 0);
	dap->going = true;
	json_object_object_add(body, "allThreadsContinued", json_object_new_boolean(true));
	return body;
}

static struct json_object *next(struct dap *dap)
{
	const char *granularity = dap_string(dap->arguments, "granularity");

	return go(dap, granularity && !strcmp(granularity, "instruction") ? GO_STEP : GO_NEXT);
}

static struct json_object *step_in(struct dap *dap)
{
	return go(dap, GO_STEP);
}

static struct json_object *step_out(struct dap *dap)
{
	return go(dap, GO_FINISH);
}

/* Answered before the event that says where it is now. */
static struct json_object *went_back(struct dap *dap, int ret)
{
	if (ret)
		return NULL;
	dap_io_respond(&dap->io, dap->request, NULL);
	tell_stop(dap);
	return dap->request;
}

static struct json_object *step_back(struct dap *dap)
{
	if (!select_thread(dap))
		return NULL;
	return went_back(dap, target_reverse_step(&dap->program.target, 1, dap->why));
}

static struct json_object *reverse_continue(struct dap *dap)
{
	return went_back(dap, target_reverse_continue(&dap->program.target, dap->why));
}

/* Of what stands there is nothing to do. */
static struct json_object *pause_request(struct dap *dap)
{
	if (!dap->standing)
		dap->program.target.pause = 1;
	return nothing();
}

static struct json_object *disconnect(struct dap *dap)
{
	dap->over = true;
	dap->going = true;
	if (dap->launched)
		target_go(&dap->program.target, GO_KILL, 0);
	return nothing();
}

/* --- The console, and values --- */

/* The editor has not asked for it, so it does not know. */
static void tell_continued(struct dap *dap)
{
	struct json_object *body = nothing();

	json_object_object_add(body, "threadId",
			       json_object_new_int64(dap_thread(dap->program.target.selected)));
	json_object_object_add(body, "allThreadsContinued", json_object_new_boolean(true));
	dap_io_event(&dap->io, "continued", body);
}

/* A command of the debugger; @result gets what it prints. */
static struct json_object *run_command(struct dap *dap, const char *line)
{
	struct target *target = &dap->program.target;
	struct json_object *body = NULL;
	enum command_result result;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return fail(dap, "no memory");
	result = command_run(target, line, out, dap->why);
	fclose(out);
	if (result != COMMAND_ERROR) {
		body = nothing();
		json_object_object_add(body, "result",
				       dap_text("%.*s", (int)(length ? length - 1 : 0), text));
		json_object_object_add(body, "variablesReference", json_object_new_int64(0));
	}
	free(text);
	if (result == COMMAND_GO) {
		dap->going = true;
		tell_continued(dap);
	}
	return body;
}

static struct json_object *evaluate(struct dap *dap)
{
	const char *expression = dap_string(dap->arguments, "expression");
	const char *context = dap_string(dap->arguments, "context");
	int64_t frame = dap_number(dap->arguments, "frameId", 0);
	struct json_object *body;
	struct where where;
	char *line;

	if (!expression)
		return fail(dap, "there is no expression");
	if (frame && dap_find_thread(dap, frame, &where))
		dap->program.target.selected = where;
	if (context && !strcmp(context, "repl"))
		return run_command(dap, expression);
	if (asprintf(&line, "print %s", expression) < 0)
		return fail(dap, "no memory");
	body = run_command(dap, line);
	free(line);
	return body;
}

static struct json_object *set_variable(struct dap *dap)
{
	int64_t number = dap_number(dap->arguments, "variablesReference", 0);
	const char *name = dap_string(dap->arguments, "name");
	const char *value = dap_string(dap->arguments, "value");
	struct json_object *body;
	struct where where;
	char *line;

	if (!name || !value)
		return fail(dap, "a name and a value are needed");
	if (!dap_find_thread(dap, number / 4, &where))
		return NULL;
	dap->program.target.selected = where;
	if (asprintf(&line, "set %s %s", name, value) < 0)
		return fail(dap, "no memory");
	body = run_command(dap, line);
	free(line);
	if (body)
		json_object_object_add(body, "value", json_object_new_string(value));
	return body;
}

/* --- Requests --- */

static const struct handler handlers[] = {
	{ "initialize", initialize, false },
	{ "launch", launch, false },
	{ "configurationDone", configuration_done, false },
	{ "setBreakpoints", set_breakpoints, false },
	{ "setInstructionBreakpoints", set_instruction_breakpoints, false },
	{ "dataBreakpointInfo", data_breakpoint_info, true },
	{ "setDataBreakpoints", set_data_breakpoints, true },
	{ "setExceptionBreakpoints", set_exception_breakpoints, false },
	{ "threads", dap_threads, false },
	{ "stackTrace", dap_stack_trace, true },
	{ "scopes", dap_scopes, true },
	{ "variables", dap_variables, true },
	{ "setVariable", set_variable, true },
	{ "evaluate", evaluate, true },
	{ "continue", go_on, true },
	{ "next", next, true },
	{ "stepIn", step_in, true },
	{ "stepOut", step_out, true },
	{ "stepBack", step_back, true },
	{ "reverseContinue", reverse_continue, true },
	{ "pause", pause_request, false },
	{ "readMemory", dap_read_memory, true },
	{ "disassemble", dap_disassemble, true },
	{ "terminate", disconnect, false },
	{ "disconnect", disconnect, false },
};

static const struct handler *find(const char *command)
{
	size_t i;

	for (i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (!strcmp(handlers[i].command, command))
			return &handlers[i];
	return NULL;
}

/* Why a request cannot be answered now, or NULL. */
static const char *refusal(const struct dap *dap, const struct handler *handler)
{
	if (!handler)
		return "this request is not known";
	if (handler->stopped && !dap->standing)
		return "the program does not stand still";
	if (!dap->launched && handler->answer != initialize && handler->answer != launch &&
	    handler->answer != disconnect)
		return "there is no program yet";
	return NULL;
}

static void handle(struct dap *dap, struct json_object *request)
{
	const struct handler *handler = find(dap_string(request, "command"));
	const char *why = refusal(dap, handler);
	struct json_object *body;

	dap->request = request;
	dap->arguments = dap_get(request, "arguments");
	snprintf(dap->why, sizeof(dap->why), "this cannot be done");
	body = why ? NULL : handler->answer(dap);
	if (!body)
		dap_io_refuse(&dap->io, request, why ? why : dap->why);
	else if (body != request)
		dap_io_respond(&dap->io, request, body);
	if (body && handler->answer == launch)
		dap_io_event(&dap->io, "initialized", NULL);
	json_object_put(request);
}

/* Requests that have come while the program runs. */
static void interlude(struct dap *dap)
{
	struct json_object *request;

	atomic_store(&dap->program.target.attention, false);
	while ((request = dap_io_take(&dap->io, false)))
		handle(dap, request);
	if (!dap_io_is_over(&dap->io))
		return;
	/* The editor is gone. */
	dap->over = true;
	target_go(&dap->program.target, GO_KILL, 0);
}

/* The program has stopped. */
static void prompt(void *opaque)
{
	struct program *program = opaque;
	struct dap *dap = program->opaque;
	struct target *target = &program->target;
	struct json_object *request;

	if (target->stop.reason == STOP_NONE) {
		interlude(dap);
		return;
	}
	if (dap->over)
		target_go(target, GO_KILL, 0);
	if (dap->over || target->stop.reason == STOP_END ||
	    (target->stop.reason == STOP_ENTRY && !dap->stop_on_entry))
		return;
	dap->standing = true;
	dap->going = false;
	target->pause = 0;
	tell_stop(dap);
	while (!dap->going) {
		request = dap_io_take(&dap->io, true);
		if (!request) {
			/* The editor is gone. */
			dap->over = true;
			target_go(target, GO_KILL, 0);
			break;
		}
		handle(dap, request);
	}
	dap->standing = false;
}

static void tell_end(struct dap *dap, enum program_end end)
{
	struct json_object *body = nothing();

	if (*dap->program.why) {
		tell_output(dap, dap->program.why);
		tell_output(dap, "\n");
	}
	json_object_object_add(body, "exitCode", json_object_new_int64(end));
	dap_io_event(&dap->io, "exited", body);
	dap_io_event(&dap->io, "terminated", NULL);
}

/* Requests until the program may begin, or behind its end. */
static void serve(struct dap *dap, bool until_configured)
{
	struct json_object *request;

	while (!dap->over && !(until_configured && dap->configured)) {
		request = dap_io_take(&dap->io, true);
		if (!request)
			return;
		handle(dap, request);
	}
}

int dap_main(void)
{
	struct dap dap = { .launched = false };
	enum program_end end;

	if (dap_io_open(&dap.io))
		return 1;
	serve(&dap, true);
	if (dap.configured && dap.launched && !dap.over) {
		end = program_run(&dap.program);
		tell_end(&dap, end);
		serve(&dap, false);
	}
	dap_io_tell(&dap.io, NULL);
	if (dap.launched)
		program_close(&dap.program);
	while (dap.options.inputs.nr)
		free((char *)dap.options.inputs.arg[--dap.options.inputs.nr]);
	free(dap.options.inputs.arg);
	json_object_put(dap.launch);
	return dap_io_close(&dap.io) ? 1 : 0;
}
