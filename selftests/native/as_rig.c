// SPDX-License-Identifier: MIT
#include "as_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STATEMENTS	100000

/* Of the first error. */
static void note(struct as_log *log, const struct as_diag *diag)
{
	size_t used = strlen(log->notes);

	if (log->errors == 1)
		snprintf(log->notes + used, sizeof(log->notes) - used, "%s:%u: %s\n", diag->file,
			 diag->line, diag->text);
}

void as_keep(void *context, const struct as_diag *diag)
{
	struct as_log *log = context;

	assert_non_null(diag->file);
	assert_null(strchr(diag->text, '\n'));
	assert_true(diag->line >= 1 && diag->column >= 1 && *diag->text);
	if (diag->note) {
		note(log, diag);
		return;
	}
	if (diag->warning) {
		log->warnings++;
		return;
	}
	if (log->errors++)
		return;
	snprintf(log->file, sizeof(log->file), "%s", diag->file);
	log->line = diag->line;
	log->column = diag->column;
	snprintf(log->text, sizeof(log->text), "%s", diag->text);
}

struct nb_program *as_try(const char *text, size_t size, struct as_log *log)
{
	const struct as_options options = {
		.file = "test.s",
		.name = "test",
		.max_statements = MAX_STATEMENTS,
		.report = as_keep,
		.context = log,
	};

	memset(log, 0, sizeof(*log));
	return as_assemble(text, size, &options);
}

struct nb_program *as_good(const char *text)
{
	struct as_log log;
	struct nb_program *nb = as_try(text, strlen(text), &log);

	if (!nb)
		fail_msg("test.s:%u:%u: %s", log.line, log.column, log.text);
	assert_int_equal(log.errors, 0);
	return nb;
}

void *as_pack(const char *text, size_t *size)
{
	struct nb_program *nb = as_good(text);
	void *neff;

	if (nb_pack(nb, &neff, size))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
	return neff;
}

char *as_read_file(const char *variable, const char *name, size_t *size)
{
	const char *folder = getenv(variable);
	char path[4096];
	FILE *file;
	char *data;
	long end;

	if (!folder)
		fail_msg("set %s to the folder of %s", variable, name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: cannot be read", path);
	fseek(file, 0, SEEK_END);
	end = ftell(file);
	rewind(file);
	data = malloc((size_t)end + 1);
	assert_non_null(data);
	*size = fread(data, 1, (size_t)end, file);
	assert_int_equal(*size, end);
	data[*size] = '\0';
	fclose(file);
	return data;
}
