// SPDX-License-Identifier: MIT
#include "source.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"

#define MAX_SOURCE	((size_t)16 << 20)

int source_add_folder(struct source_folders *folders, const char *path)
{
	const char **grown = reallocarray(folders->path, folders->nr + 1, sizeof(*grown));

	if (!grown)
		return -1;
	folders->path = grown;
	grown[folders->nr++] = path;
	return 0;
}

void source_free_folders(struct source_folders *folders)
{
	free(folders->path);
	*folders = (struct source_folders){ NULL, 0 };
}

/* Is the file below the folder, and no name on the way hidden? Both paths have no links. */
static bool is_below(const char *file, const char *folder)
{
	size_t length = strlen(folder);

	/* The root ends in the slash that others have behind them. */
	if (length == 1)
		length = 0;
	return !strncmp(file, folder, length) && file[length] == '/' &&
	       !strstr(file + length, "/.");
}

char *source_read_file(const char *path, size_t *size)
{
	struct stat st;
	char *text;

	/* A pipe would be waited for. */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || input_read(path, MAX_SOURCE, &text, size))
		return NULL;
	return text;
}

static char *read_below(const char *folder, const char *name, size_t *size)
{
	char path[PATH_MAX], real[PATH_MAX], top[PATH_MAX];
	const char *between = *name == '/' ? "" : "/";
	int length = snprintf(path, sizeof(path), "%s%s%s", *between ? folder : "", between, name);

	if (length >= (int)sizeof(path) || !realpath(folder, top) || !realpath(path, real) ||
	    !is_below(real, top))
		return NULL;
	return source_read_file(real, size);
}

char *source_read(const struct source_folders *folders, const char *name, size_t *size)
{
	static const char *const here[] = { "." };
	const char *const *path = folders->nr ? folders->path : here;
	size_t i, nr = folders->nr ? folders->nr : 1;
	const char *base = strrchr(name, '/');
	char *text;

	for (i = 0; i < nr; i++) {
		text = read_below(path[i], name, size);
		if (!text && base)
			text = read_below(path[i], base + 1, size);
		if (text)
			return text;
	}
	return NULL;
}
