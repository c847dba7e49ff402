// SPDX-License-Identifier: MIT
/* The processes that use libnrt: which there are, and what was seen of each. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor.h"
#include "process.h"

/* Older headers and kernels do not know it; newer kernels may insist on it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008u
#endif

/* Pages that are told about: no stranger makes the list longer. */
#define MAX_REFUSALS	256

/* Somebody was told of a page. */
struct refusal {
	struct refusal *next;
	pid_t pid;
	ino_t inode;
};

/**
 * struct scan - a look at all processes
 * @when_ns: when it began
 * @first: there was none before, so what is found may have run for long
 * @failed: no memory
 */
struct scan {
	struct runtimes *runtimes;
	const struct config *config;
	const struct devices *devices;
	int verbose;
	uint64_t when_ns;
	bool first;
	bool failed;
};

int runtimes_init(struct runtimes *runtimes)
{
	int fd = memfd_create("neuron-monitor", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	struct stat file;
	int ret;

	memset(runtimes, 0, sizeof(*runtimes));
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("neuron-monitor", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = fstat(fd, &file);
	close(fd);
	runtimes->device = file.st_dev;
	return ret;
}

/* --- Looks --- */

static void look_put(struct look *look)
{
	if (!look || --look->refs)
		return;
	free(look->stats);
	free(look->flops);
	free(look);
}

static struct look *look_get(struct look *look)
{
	look->refs++;
	return look;
}

/* User and system time of the process; both are behind its name, which may have any bytes. */
static void read_ticks(pid_t pid, struct look *look)
{
	char path[64], line[1024];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	read_line(path, "", line, sizeof(line));
	rest = strrchr(line, ')');
	if (rest)
		sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
		       " %" SCNu64, &look->user_ticks, &look->system_ticks);
}

/* Of each physical core, NRT_EMU_STATS_MAX_LNC for each logical one. */
static void read_flops(struct look *look, const struct devices *devices)
{
	const struct nrt_emu_stats *stats = look->stats;
	unsigned int i, j;
	uint64_t *flops;

	if (!devices->open || stats->flags & NRT_EMU_STATS_EMBEDDED)
		return;
	flops = calloc((size_t)stats->nr_cores * NRT_EMU_STATS_MAX_LNC, sizeof(*flops));
	look->flops = flops;
	for (i = 0; flops && i < stats->nr_cores; i++)
		for (j = 0; j < stats->cores[i].nr_physical; j++)
			devices_flops(devices, stats->cores[i].first_physical + j,
				      &flops[i * NRT_EMU_STATS_MAX_LNC + j]);
}

/* Takes @stats, also on failure. */
static struct look *look_new(struct nrt_emu_stats *stats, uint64_t when_ns)
{
	struct look *look = calloc(1, sizeof(*look));

	if (!look) {
		free(stats);
		return NULL;
	}
	look->refs = 1;
	look->when_ns = when_ns;
	look->stats = stats;
	return look;
}

/* What there was to see of a runtime when it began: zeros. */
static struct look *look_begin(const struct look *now, uint64_t earliest)
{
	const struct nrt_emu_stats *stats = now->stats;
	struct nrt_emu_stats *zero = calloc(1, stats->size);
	uint64_t when = stats->init_ns;
	struct look *look;

	if (!zero)
		return NULL;
	zero->nr_cores = stats->nr_cores;
	/* It says itself when that was. */
	if (when < earliest)
		when = earliest;
	if (when > now->when_ns)
		when = now->when_ns;
	look = look_new(zero, when);
	if (!look)
		return NULL;
	/* The process may have done much before it was a runtime. */
	look->user_ticks = now->user_ticks;
	look->system_ticks = now->system_ticks;
	return look;
}

/* --- Runtimes --- */

static void runtime_free(struct runtime *runtime)
{
	unsigned int i;

	look_put(runtime->now);
	for (i = 0; i < NR_RUNTIME_METRICS; i++)
		look_put(runtime->base[i]);
	free(runtime);
}

void runtime_reported(struct runtime *runtime, enum metric metric)
{
	look_put(runtime->base[metric]);
	runtime->base[metric] = look_get(runtime->now);
}

/* NEURON_PROCESS_TAG, or the pid. */
static void make_tag(const struct nrt_emu_stats *stats, pid_t pid, char tag[NRT_EMU_STATS_TAG])
{
	if (stats->tag[0])
		memcpy(tag, stats->tag, NRT_EMU_STATS_TAG);
	else
		snprintf(tag, NRT_EMU_STATS_TAG, "%d", pid);
}

/* Where the runtime with that page is in the list, or where it belongs. */
static struct runtime **place_of(struct runtimes *runtimes, pid_t pid, ino_t inode)
{
	struct runtime **link = &runtimes->first;

	while (*link && ((*link)->pid < pid ||
			 ((*link)->pid == pid && (*link)->inode < inode)))
		link = &(*link)->next;
	return link;
}

static struct runtime *runtime_new(const struct scan *scan, pid_t pid, ino_t inode,
				   struct look *look)
{
	struct runtime *runtime = calloc(1, sizeof(*runtime));
	struct look *base;
	unsigned int i;

	base = scan->first ? look_get(look) : look_begin(look, scan->runtimes->scanned_ns);
	if (!runtime || !base) {
		look_put(base);
		free(runtime);
		return NULL;
	}
	runtime->pid = pid;
	runtime->inode = inode;
	make_tag(look->stats, pid, runtime->tag);
	runtime->watch = config_find(scan->config, runtime->tag);
	for (i = 0; i < NR_RUNTIME_METRICS; i++)
		runtime->base[i] = look_get(base);
	look_put(base);
	if (scan->verbose >= 1)
		fprintf(stderr, "neuron-monitor: process %d has begun, tag \"%s\"\n", pid,
			runtime->tag);
	return runtime;
}

/* Once for each page. */
static void refused(const struct scan *scan, pid_t pid, ino_t inode, const char *why)
{
	struct refusal **link = &scan->runtimes->refusals, *refusal;
	unsigned int nr = 0;

	for (; *link; link = &(*link)->next) {
		nr++;
		if ((*link)->pid == pid && (*link)->inode == inode)
			return;
	}
	refusal = nr < MAX_REFUSALS ? calloc(1, sizeof(*refusal)) : NULL;
	if (!refusal)
		return;
	refusal->pid = pid;
	refusal->inode = inode;
	*link = refusal;
	fprintf(stderr, "neuron-monitor: process %d: its statistics page is left out: %s\n", pid,
		why);
}

/* A page was read; the look has it now. */
static void found(struct scan *scan, pid_t pid, const struct page *page)
{
	struct runtime **link = place_of(scan->runtimes, pid, page->inode);
	struct look *look = look_new(page->stats, monitor_now());
	struct runtime *runtime = *link;

	if (!look) {
		scan->failed = true;
		return;
	}
	read_ticks(pid, look);
	read_flops(look, scan->devices);
	if (!runtime || runtime->pid != pid || runtime->inode != page->inode) {
		runtime = runtime_new(scan, pid, page->inode, look);
		if (!runtime) {
			scan->failed = true;
			look_put(look);
			return;
		}
		runtime->next = *link;
		*link = runtime;
	}
	/* Looks are compared core by core. */
	if (runtime->now && runtime->now->stats->nr_cores != look->stats->nr_cores) {
		refused(scan, pid, page->inode, "its number of cores has changed");
		look_put(look);
		return;
	}
	runtime->seen = true;
	look_put(runtime->now);
	runtime->now = look;
}

static void scan_process(struct scan *scan, pid_t pid)
{
	struct descriptors descriptors = { .pid = pid, .device = scan->runtimes->device };
	char path[64], why[MONITOR_LINE];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	if (folder)
		descriptors.folder = dirfd(folder);
	while (folder && (entry = readdir(folder))) {
		struct page page = { 0 };

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		switch (page_read(&descriptors, entry->d_name, &page, why)) {
		case PAGE_OK:
			found(scan, pid, &page);
			break;
		case PAGE_BAD:
			refused(scan, pid, page.inode, why);
			break;
		case PAGE_NONE:
			break;
		}
	}
	if (folder)
		closedir(folder);
}

/*
 * A page that could not be read this time may come back, and what it has counted until then must
 * not be counted again. Of a process that has another page now, it has gone.
 */
static bool has_gone(const struct runtimes *runtimes, const struct runtime *runtime)
{
	const struct runtime *other;
	char path[64];

	for (other = runtimes->first; other; other = other->next)
		if (other->pid == runtime->pid && other->seen)
			return true;
	snprintf(path, sizeof(path), "/proc/%d", runtime->pid);
	return access(path, F_OK);
}

static void forget_seen(struct runtimes *runtimes)
{
	struct runtime *runtime;

	for (runtime = runtimes->first; runtime; runtime = runtime->next)
		runtime->seen = false;
}

static void drop_gone(struct scan *scan)
{
	struct runtime **link = &scan->runtimes->first;

	while (*link) {
		struct runtime *runtime = *link;

		if (runtime->seen || !has_gone(scan->runtimes, runtime)) {
			link = &runtime->next;
			continue;
		}
		if (scan->verbose >= 1)
			fprintf(stderr, "neuron-monitor: process %d has ended\n", runtime->pid);
		*link = runtime->next;
		runtime_free(runtime);
	}
}

int runtimes_scan(struct runtimes *runtimes, const struct config *config,
		  const struct devices *devices, int verbose)
{
	struct scan scan = {
		.runtimes = runtimes,
		.config = config,
		.devices = devices,
		.verbose = verbose,
		.when_ns = monitor_now(),
		.first = !runtimes->scanned_ns,
	};
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	forget_seen(runtimes);
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			scan_process(&scan, (pid_t)strtol(entry->d_name, NULL, 10));
	if (folder)
		closedir(folder);
	drop_gone(&scan);
	runtimes->scanned_ns = scan.when_ns;
	return scan.failed ? -1 : 0;
}

void runtimes_free(struct runtimes *runtimes)
{
	struct runtime *runtime;
	struct refusal *refusal;

	while ((runtime = runtimes->first)) {
		runtimes->first = runtime->next;
		runtime_free(runtime);
	}
	while ((refusal = runtimes->refusals)) {
		runtimes->refusals = refusal->next;
		free(refusal);
	}
}
