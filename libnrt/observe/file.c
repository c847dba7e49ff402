// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "observe/file.h"

NRT_STATUS nrt_file_open(const char *path, FILE **file, struct nrt_error *error)
{
	*file = fopen(path, "we");
	if (*file)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE, "cannot make the file \"%.400s\": %s", path,
			     strerror(errno));
}

NRT_STATUS nrt_file_close(FILE *file, const char *path, struct nrt_error *error)
{
	bool bad = ferror(file);

	if (!fclose(file) && !bad)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE, "cannot write the file \"%.400s\": %s", path,
			     strerror(errno));
}

static NRT_STATUS make_one(const char *path, struct nrt_error *error)
{
	if (!mkdir(path, 0777) || errno == EEXIST)
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_FAILURE, "cannot make the folder \"%.400s\": %s", path,
			     strerror(errno));
}

char *nrt_file_path(struct nrt_error *error, const char *format, ...)
{
	va_list args;
	char *path;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0) {
		nrt_error_memory(error);
		path = NULL;
	}
	va_end(args);
	return path;
}

static NRT_STATUS make_all(char *part, struct nrt_error *error)
{
	char *slash;

	for (slash = strchr(part + 1, '/'); *part && slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_one(part, error))
			return error->status;
		*slash = '/';
	}
	return make_one(part, error);
}

NRT_STATUS nrt_file_folder(const char *path, struct nrt_error *error)
{
	char *part = nrt_file_path(error, "%s", path);
	NRT_STATUS status;

	if (!part)
		return error->status;
	status = make_all(part, error);
	free(part);
	return status;
}
