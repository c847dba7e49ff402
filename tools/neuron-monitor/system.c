// SPDX-License-Identifier: MIT
/* Processors and memory of the host. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monitor.h"

#define LINE	1024

uint64_t monitor_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * MONITOR_NS + (uint64_t)now.tv_nsec;
}

static FILE *open_proc(const char *path, char *why)
{
	FILE *file = fopen(path, "re");

	if (!file)
		snprintf(why, MONITOR_LINE, "%s: %s", path, strerror(errno));
	return file;
}

/* A word behind another one may be missing: an old kernel counts less. */
static void read_times(const char *text, uint64_t times[CPU_TIMES])
{
	unsigned int i;
	char *end;

	for (i = 0; i < CPU_TIMES; i++) {
		times[i] = strtoull(text, &end, 10);
		text = end;
	}
}

/* The times of processor @number. */
static int add_cpu(struct cpus *cpus, size_t number, const char *text)
{
	uint64_t (*grown)[CPU_TIMES];

	if (number >= cpus->nr) {
		grown = reallocarray(cpus->cpu, number + 1, sizeof(*grown));
		if (!grown)
			return -1;
		memset(grown + cpus->nr, 0, (number + 1 - cpus->nr) * sizeof(*grown));
		cpus->cpu = grown;
		cpus->nr = number + 1;
	}
	read_times(text, cpus->cpu[number]);
	return 0;
}

int cpus_read(struct cpus *cpus, char why[MONITOR_LINE])
{
	FILE *file = open_proc("/proc/stat", why);
	char line[LINE], *end;
	int ret = 0;

	memset(cpus, 0, sizeof(*cpus));
	cpus->when_ns = monitor_now();
	if (!file)
		return -1;
	while (!ret && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "cpu ", 4))
			read_times(line + 4, cpus->all);
		else if (!strncmp(line, "cpu", 3))
			ret = add_cpu(cpus, strtoul(line + 3, &end, 10),
				      line + strcspn(line, " "));
		else if (!strncmp(line, "ctxt ", 5))
			cpus->switches = strtoull(line + 5, NULL, 10);
		/* The line of the interrupts may be longer than any other. */
		while (!strchr(line, '\n') && fgets(line, sizeof(line), file))
			;
	}
	fclose(file);
	if (ret)
		snprintf(why, MONITOR_LINE, "out of memory");
	return ret;
}

void cpus_free(struct cpus *cpus)
{
	free(cpus->cpu);
	memset(cpus, 0, sizeof(*cpus));
}

int memory_read(struct memory *memory, char why[MONITOR_LINE])
{
	FILE *file = open_proc("/proc/meminfo", why);
	const struct {
		const char *name;
		uint64_t *bytes;
	} fields[] = {
		{ "MemTotal:", &memory->total },
		{ "MemAvailable:", &memory->available },
		{ "SwapTotal:", &memory->swap_total },
		{ "SwapFree:", &memory->swap_free },
	};
	char line[LINE];
	size_t i;

	memset(memory, 0, sizeof(*memory));
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (!strncmp(line, fields[i].name, strlen(fields[i].name)))
				*fields[i].bytes = 1024 * strtoull(line + strlen(fields[i].name),
								   NULL, 10);
	fclose(file);
	return 0;
}
