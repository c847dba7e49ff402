// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

#define FIRST_ROOM	65536

/* A file that says its size is read without growing, and nothing is left over. */
static size_t first_room(int fd, size_t limit)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return FIRST_ROOM;
	return (size_t)st.st_size > limit ? FIRST_ROOM : (size_t)st.st_size + 2;
}

static int read_fd(int fd, size_t limit, char **data, size_t *size)
{
	size_t room = first_room(fd, limit);
	char *grown;
	ssize_t n;

	for (;;) {
		grown = realloc(*data, room);
		if (!grown) {
			errno = ENOMEM;
			return -1;
		}
		*data = grown;
		while (*size < room - 1) {
			n = read(fd, *data + *size, room - 1 - *size);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -1;
			if (!n) {
				(*data)[*size] = '\0';
				return 0;
			}
			*size += (size_t)n;
			if (*size > limit) {
				errno = EFBIG;
				return -1;
			}
		}
		room *= 2;
	}
}

int input_read(const char *path, size_t limit, char **data, size_t *size)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int error = 0;

	*data = NULL;
	*size = 0;
	if (fd < 0)
		return -1;
	if (read_fd(fd, limit, data, size)) {
		error = errno;
		free(*data);
		*data = NULL;
	}
	if (fd != STDIN_FILENO)
		close(fd);
	errno = error;
	return error ? -1 : 0;
}

char *input_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	return strndup(base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}
