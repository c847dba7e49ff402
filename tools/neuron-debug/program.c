// SPDX-License-Identifier: MIT
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum program_end refuse(struct program *program, const char *path, const char *why)
{
	snprintf(program->why, sizeof(program->why), "%s: %s", path, why);
	return PROGRAM_REFUSED;
}

/* For names and lines; libnrt reads the file again. */
static enum program_end read_neff(struct program *program, const char *path)
{
	const struct neff_limits limits = { .validate_hash = false };
	struct nrt_error error = { 0 };
	size_t size;

	if (session_read(&program->session, path, &program->bytes, &size)) {
		snprintf(program->why, sizeof(program->why), "%s", program->session.why);
		return PROGRAM_REFUSED;
	}
	if (neff_read(program->bytes, size, &limits, &program->neff, &error))
		return refuse(program, path, neff_why(&error));
	return PROGRAM_ENDED;
}

enum program_end program_open(struct program *program, const struct program_options *options,
			      target_prompt_fn prompt, void *opaque)
{
	enum program_end end;

	*program = (struct program){ .options = options, .opaque = opaque };
	end = read_neff(program, options->session.neff);
	if (end)
		return end;
	target_init(&program->target, program->neff, prompt, program);
	target_attach(&program->target);
	if (session_open(&program->session, &options->session) ||
	    tensors_load(&program->session, &options->inputs)) {
		snprintf(program->why, sizeof(program->why), "%s", program->session.why);
		return PROGRAM_REFUSED;
	}
	return PROGRAM_ENDED;
}

enum program_end program_run(struct program *program)
{
	NRT_STATUS status;

	target_arm(&program->target);
	status = session_execute(&program->session);
	if (program->target.mode == GO_KILL)
		return PROGRAM_KILLED;
	snprintf(program->why, sizeof(program->why), "%s", program->session.why);
	if (status)
		return PROGRAM_FAILED;
	if (program->options->output_dir &&
	    tensors_save(&program->session, program->options->output_dir)) {
		snprintf(program->why, sizeof(program->why), "%s", program->session.why);
		return PROGRAM_REFUSED;
	}
	return PROGRAM_ENDED;
}

void program_close(struct program *program)
{
	session_close(&program->session);
	if (program->neff) {
		target_destroy(&program->target);
		neff_free(program->neff);
	}
	free(program->bytes);
}
