// SPDX-License-Identifier: MIT
#include "file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int digits_error_set(struct digits_error *error, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -code;
}

int digits_file_read(const char *path, size_t limit, uint8_t **data, size_t *length,
		     struct digits_error *error)
{
	uint8_t *buffer;
	size_t got;
	FILE *file;
	int ret = 0;

	file = fopen(path, "rb");
	if (!file)
		return digits_error_set(error, errno, "%s: cannot open: %s", path,
					strerror(errno));

	/* One byte more than allowed tells a file that is too long. */
	buffer = malloc(limit + 1);
	if (!buffer) {
		ret = digits_error_set(error, ENOMEM, "%s: no memory to read it", path);
		goto out_close;
	}

	got = fread(buffer, 1, limit + 1, file);
	if (ferror(file))
		ret = digits_error_set(error, EIO, "%s: read error", path);
	else if (got > limit)
		ret = digits_error_set(error, EFBIG, "%s: longer than %zu bytes, wrong file?",
				       path, limit);
	if (ret)
		goto out_free;

	*data = buffer;
	*length = got;
	goto out_close;

out_free:
	free(buffer);
out_close:
	fclose(file);
	return ret;
}

static int write_all(const char *path, const uint8_t *data, size_t length,
		     struct digits_error *error)
{
	FILE *file = fopen(path, "wb");
	int failed;

	if (!file)
		return digits_error_set(error, errno, "%s: cannot create: %s", path,
					strerror(errno));

	failed = fwrite(data, 1, length, file) != length ? errno : 0;
	if (fclose(file) && !failed)
		failed = errno;
	if (!failed)
		return 0;

	digits_error_set(error, failed, "%s: cannot write: %s", path, strerror(failed));
	remove(path);
	return -failed;
}

int digits_file_write(const char *path, const uint8_t *data, size_t length,
		      struct digits_error *error)
{
	size_t size = strlen(path) + sizeof(".tmp");
	struct stat target;
	char *temporary;
	int ret;

	/* The rename would replace a device node or a pipe by a plain file. */
	if (!stat(path, &target) && !S_ISREG(target.st_mode))
		return digits_error_set(error, EINVAL, "%s: not a regular file, name another",
					path);

	temporary = malloc(size);
	if (!temporary)
		return digits_error_set(error, ENOMEM, "%s: no memory to write it", path);

	snprintf(temporary, size, "%s.tmp", path);
	ret = write_all(temporary, data, length, error);
	if (ret)
		goto out;

	if (rename(temporary, path)) {
		ret = digits_error_set(error, errno, "%s: cannot rename %s to it: %s", path,
				       temporary, strerror(errno));
		remove(temporary);
	}
out:
	free(temporary);
	return ret;
}
