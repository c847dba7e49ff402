/* SPDX-License-Identifier: MIT */
/* The debugger for an editor: requests of the Debug Adapter Protocol. */
#ifndef NEURON_DEBUG_DAP_H
#define NEURON_DEBUG_DAP_H

#include "dap_io.h"
#include "program.h"

/* A handler's answer: a body, an error, or that it has answered itself. */
#define DAP_WHY		SESSION_WHY

/**
 * struct dap - a session with an editor
 * @request, @arguments: that is handled now
 * @why: of an error
 * @options: of the program; its strings are in @launch
 * @launch: the arguments of the launch
 * @program: open, if @launched
 * @configured: the program may begin
 * @stop_on_entry: the editor wants to be told of the stop before the first instruction
 * @standing: the program stands still
 * @going: it goes on
 * @over: the editor has ended the session
 */
struct dap {
	struct dap_io io;
	struct json_object *request;
	struct json_object *arguments;
	char why[DAP_WHY];
	struct program_options options;
	struct json_object *launch;
	struct program program;
	bool launched;
	bool configured;
	bool stop_on_entry;
	bool standing;
	bool going;
	bool over;
};

/* The exit status. */
int dap_main(void);

/* --- dap_view.c: what a stopped program shows; a body, or NULL with dap.why --- */

typedef struct json_object *dap_view_fn(struct dap *dap);

dap_view_fn dap_threads, dap_stack_trace, dap_scopes, dap_variables, dap_read_memory,
	    dap_disassemble;

/* The engine of a thread or of its frame, which have the same number. */
bool dap_find_thread(struct dap *dap, int64_t thread, struct where *where);
int64_t dap_thread(struct where where);
/* "0x200000040" */
bool dap_find_code(struct dap *dap, const char *reference, int64_t offset, struct code *code);
struct json_object *dap_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* NEURON_DEBUG_DAP_H */
