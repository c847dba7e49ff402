// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "process.h"

void read_line(const char *path, const char *otherwise, char *out, size_t size)
{
	FILE *file = fopen(path, "r");

	if (!file || !fgets(out, size, file))
		snprintf(out, size, "%s", otherwise);
	out[strcspn(out, "\n")] = 0;
	if (file)
		fclose(file);
}

void process_command(uint32_t pid, char *out, size_t size)
{
	char path[64], name[64];
	size_t len, i;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	out[0] = 0;
	file = fopen(path, "r");
	if (!file)
		return;
	len = fread(out, 1, size - 1, file);
	fclose(file);
	while (len && !out[len - 1])
		len--;
	out[len] = 0;
	for (i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
	if (len)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	read_line(path, "", name, sizeof(name));
	snprintf(out, size, "[%s]", name);
}

void process_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	/* If it fails, libnrt says so when it has too few. */
	setrlimit(RLIMIT_NOFILE, &limit);
}
