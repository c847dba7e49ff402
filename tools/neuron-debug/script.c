// SPDX-License-Identifier: MIT
#include "script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "show.h"

#define PROMPT	"(neuron) "

int script_open(struct script *script)
{
	script->asks = !script->path && isatty(STDIN_FILENO);
	script->name = script->path ? script->path : "standard input";
	script->file = script->path ? fopen(script->path, "re") : stdin;
	if (script->file)
		return 0;
	fprintf(stderr, "neuron-debug: %s: %s\n", script->path, strerror(errno));
	return -1;
}

void script_close(struct script *script)
{
	if (script->file && script->file != stdin)
		fclose(script->file);
	free(script->ex);
}

/* The next command, malloc()ed; NULL: there are no more. */
static char *next_line(struct script *script)
{
	size_t room = 0;
	char *line = NULL;

	if (script->next_ex < script->nr_ex)
		return strdup(script->ex[script->next_ex++]);
	if (script->asks) {
		fputs(PROMPT, stdout);
		fflush(stdout);
	}
	script->line++;
	if (getline(&line, &room, script->file) >= 0)
		return line;
	free(line);
	return NULL;
}

static void complain(const struct script *script, bool ex, const char *why)
{
	fflush(stdout);
	if (ex)
		fprintf(stderr, "neuron-debug: --ex \"%s\": %s\n", script->ex[script->next_ex - 1],
			why);
	else if (script->asks)
		fprintf(stderr, "%s\n", why);
	else
		fprintf(stderr, "neuron-debug: %s:%u: %s\n", script->name, script->line, why);
}

/* Without the end of its line. */
static const char *trimmed(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	return line;
}

void script_prompt(struct script *script, struct target *target)
{
	enum command_result result = COMMAND_STAY;
	char why[TARGET_WHY], *line;

	if (target->stop.reason == STOP_NONE)
		return;
	target->pause = 0;
	show_stop(target, stdout);
	while (result == COMMAND_STAY) {
		bool ex = script->next_ex < script->nr_ex;

		line = next_line(script);
		if (!line) {
			target_go(target, target->ended ? GO_CONTINUE : GO_KILL, 0);
			break;
		}
		if (ex || !script->asks)
			printf(PROMPT "%s\n", trimmed(line));
		result = command_run(target, line, stdout, why);
		free(line);
		if (result != COMMAND_ERROR)
			continue;
		complain(script, ex, why);
		if (ex || !script->asks) {
			script->failed = true;
			target_go(target, target->ended ? GO_CONTINUE : GO_KILL, 0);
		} else {
			result = COMMAND_STAY;
		}
	}
	fflush(stdout);
}
