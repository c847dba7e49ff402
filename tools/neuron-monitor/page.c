// SPDX-License-Identifier: MIT
/*
 * Statistics pages of other processes. What a process calls its page may be anything: a file that
 * blocks whoever opens it, one that becomes shorter while it is read, numbers that are lies. So it
 * must be a memory file before it is opened, it is read and not mapped, and the copy is checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "monitor.h"

#define LINK		"/memfd:" NRT_EMU_STATS_NAME " (deleted)"
/* A table that changes is read again so often. */
#define ATTEMPTS	20

__attribute__((format(printf, 2, 3)))
static enum page_state bad(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, MONITOR_LINE, format, args);
	va_end(args);
	return PAGE_BAD;
}

/* Does the link say that it is one? Nothing is opened. */
static bool has_name(int folder, const char *fd)
{
	char text[sizeof(LINK) + 1];
	ssize_t length = readlinkat(folder, fd, text, sizeof(text));

	return length == sizeof(LINK) - 1 && !memcmp(text, LINK, sizeof(LINK) - 1);
}

/* Was it read already, by way of another descriptor? It is now. */
static bool was_read(struct descriptors *descriptors, ino_t inode)
{
	unsigned int i;

	for (i = 0; i < descriptors->nr_read; i++)
		if (descriptors->inode[i] == inode)
			return true;
	descriptors->inode[descriptors->nr_read++] = inode;
	return false;
}

/*
 * Open it only if it is a memory file: they are all on one file system, which nobody else can make
 * files on. The question goes to no file system of a stranger.
 */
static enum page_state open_file(struct descriptors *descriptors, const char *fd,
				 struct page *page, int *file, char *why)
{
	struct statx info;
	char path[64];
	int handle = openat(descriptors->folder, fd, O_PATH | O_CLOEXEC);

	if (handle < 0)
		return PAGE_NONE;
	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &info)) {
		close(handle);
		return PAGE_NONE;
	}
	page->inode = info.stx_ino;
	if (!S_ISREG(info.stx_mode) ||
	    makedev(info.stx_dev_major, info.stx_dev_minor) != descriptors->device) {
		close(handle);
		return bad(why, "it is no memory file");
	}
	if (was_read(descriptors, page->inode)) {
		close(handle);
		return PAGE_NONE;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	*file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(handle);
	return *file < 0 ? PAGE_NONE : PAGE_OK;
}

static bool read_at(int file, void *data, size_t size, size_t offset)
{
	ssize_t done = pread(file, data, size, (off_t)offset);

	return done >= 0 && (size_t)done == size;
}

/* The process in its own namespace of pids, as it calls itself there; 0: it is gone. */
static unsigned long own_pid(pid_t pid)
{
	char path[64], line[256];
	unsigned long own = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "NSpid:", 6))
			own = strtoul(strrchr(line, '\t') ?: line + 6, NULL, 10);
	fclose(file);
	return own;
}

static enum page_state check_head(const struct nrt_emu_stats *stats, pid_t pid, char *why)
{
	uint64_t size = sizeof(*stats) + (uint64_t)stats->nr_cores * sizeof(stats->cores[0]);

	/* The process has not filled it yet. */
	if (!stats->magic)
		return PAGE_NONE;
	if (stats->magic != NRT_EMU_STATS_MAGIC)
		return bad(why, "its magic number is 0x%llx", (unsigned long long)stats->magic);
	if (stats->version != NRT_EMU_STATS_VERSION)
		return bad(why, "it has version %u; this neuron-monitor knows version %u",
			   stats->version, NRT_EMU_STATS_VERSION);
	if (stats->nr_cores < 1 || stats->nr_cores > NRT_EMU_STATS_MAX_CORES ||
	    stats->size != size)
		return bad(why, "it has %u cores in %llu bytes", stats->nr_cores,
			   (unsigned long long)stats->size);
	if (stats->lnc < 1 || stats->lnc > NRT_EMU_STATS_MAX_LNC)
		return bad(why, "its logical cores have %u physical ones", stats->lnc);
	/* A process that was forked has the page of its parent. */
	return stats->pid == own_pid(pid) ? PAGE_OK : PAGE_NONE;
}

static enum page_state check_rows(const struct nrt_emu_stats *stats, char *why)
{
	unsigned int i;

	for (i = 0; i < stats->nr_cores; i++)
		if (stats->cores[i].nr_physical < 1 ||
		    stats->cores[i].nr_physical > NRT_EMU_STATS_MAX_LNC)
			return bad(why, "core %u has %u physical ones", stats->cores[i].number,
				   stats->cores[i].nr_physical);
	for (i = 0; i < NRT_EMU_STATS_MAX_MODELS; i++)
		if (stats->models[i].model_id &&
		    (stats->models[i].nr_subgraphs < 1 ||
		     stats->models[i].nr_subgraphs > NRT_EMU_STATS_MAX_LNC))
			return bad(why, "model %u has %u subgraphs", stats->models[i].model_id,
				   stats->models[i].nr_subgraphs);
	return PAGE_OK;
}

static void end_texts(struct nrt_emu_stats *stats)
{
	unsigned int i;

	stats->device_name[sizeof(stats->device_name) - 1] = '\0';
	stats->instance[sizeof(stats->instance) - 1] = '\0';
	stats->tag[sizeof(stats->tag) - 1] = '\0';
	for (i = 0; i < NRT_EMU_STATS_MAX_MODELS; i++)
		stats->models[i].name[sizeof(stats->models[i].name) - 1] = '\0';
}

/* Until nobody has changed the table meanwhile. */
static enum page_state read_models(int file, struct nrt_emu_stats *stats, char *why)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const size_t at = offsetof(struct nrt_emu_stats, models_seq);
	uint32_t after;
	unsigned int i;

	for (i = 0; i < ATTEMPTS; i++) {
		if (!read_at(file, &stats->models_seq, sizeof(stats->models_seq), at) ||
		    !read_at(file, stats->models, sizeof(stats->models),
			     offsetof(struct nrt_emu_stats, models)) ||
		    !read_at(file, &after, sizeof(after), at))
			return bad(why, "it has become shorter");
		if (!(after & 1) && after == stats->models_seq)
			return PAGE_OK;
		nanosleep(&pause, NULL);
	}
	return bad(why, "its table of models never stops changing");
}

/* @stats: of no cores yet, for free(), whatever comes of it. */
static enum page_state read_file(int file, pid_t pid, struct nrt_emu_stats **stats, char *why)
{
	const size_t head = offsetof(struct nrt_emu_stats, latency);
	ssize_t done = pread(file, *stats, head, 0);
	struct nrt_emu_stats *grown;
	enum page_state state;

	/* The process has made the file, and has not given it a size yet. */
	if (!done)
		return PAGE_NONE;
	if (done < 0 || (size_t)done != head)
		return bad(why, "it is too short");
	state = check_head(*stats, pid, why);
	if (state)
		return state;
	grown = realloc(*stats, (*stats)->size);
	if (!grown)
		return PAGE_NONE;
	*stats = grown;
	/* What was checked is not read again. */
	if (!read_at(file, grown->latency, grown->size - head, head))
		return bad(why, "it is shorter than it says");
	state = read_models(file, grown, why);
	if (!state)
		state = check_rows(grown, why);
	end_texts(grown);
	return state;
}

enum page_state page_read(struct descriptors *descriptors, const char *fd, struct page *page,
			  char why[MONITOR_LINE])
{
	enum page_state state;
	int file;

	if (descriptors->nr_named == MONITOR_PAGES || !has_name(descriptors->folder, fd))
		return PAGE_NONE;
	descriptors->nr_named++;
	state = open_file(descriptors, fd, page, &file, why);
	if (state)
		return state;
	page->stats = calloc(1, sizeof(*page->stats));
	state = page->stats ? read_file(file, descriptors->pid, &page->stats, why) : PAGE_NONE;
	close(file);
	if (state)
		free(page->stats);
	return state;
}
