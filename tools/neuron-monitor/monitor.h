/* SPDX-License-Identifier: MIT */
/* neuron-monitor: what its files share. */
#ifndef NEURON_MONITOR_H
#define NEURON_MONITOR_H

#include <json-c/json.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <nrt/nrt_emu_stats.h>

#include "chips.h"

#define MONITOR_NS		1000000000ull
#define MONITOR_PERIOD_NS	(5 * MONITOR_NS)	/* if nobody gives another one */
#define MONITOR_LINE		512	/* bytes of a message */

/* --- config.c --- */

enum metric {
	/* Of a runtime. */
	METRIC_NEURONCORE_COUNTERS,
	METRIC_EXECUTION_STATS,
	METRIC_MEMORY_USED,
	METRIC_RUNTIME_VCPU,
	NR_RUNTIME_METRICS,
	/* Of the machine. */
	METRIC_VCPU_USAGE = NR_RUNTIME_METRICS,
	METRIC_MEMORY_INFO,
	METRIC_HW_COUNTERS,
	NR_METRICS
};

#define NR_SYSTEM_METRICS	(NR_METRICS - NR_RUNTIME_METRICS)

/* The public name. */
const char *metric_name(enum metric metric);

/**
 * struct group - when a metric group is reported
 * @period_ns: 0: never
 * @due_ns: when it is next, CLOCK_MONOTONIC
 */
struct group {
	uint64_t period_ns;
	uint64_t due_ns;
};

/**
 * struct watch - which runtimes are watched, and for what
 * @has_filter: only those whose tag has a part that matches @filter
 * @filter: see @has_filter
 * @group: by enum metric
 */
struct watch {
	bool has_filter;
	regex_t filter;
	struct group group[NR_RUNTIME_METRICS];
};

/**
 * struct config - what is reported, and when
 * @watch, @nr_watches: a runtime belongs to the first one that it fits to
 * @system: by enum metric, less NR_RUNTIME_METRICS
 */
struct config {
	struct watch *watch;
	size_t nr_watches;
	struct group system[NR_SYSTEM_METRICS];
};

/* Everything, every five seconds. -1: no memory. */
int config_default(struct config *config);

/* Read a file; -1 with one line in @why. config_free() in any case. */
int config_read(struct config *config, const char *path, char why[MONITOR_LINE]);
void config_free(struct config *config);

/* The watch of a tag; -1: nobody watches it. */
int config_find(const struct config *config, const char *tag);

/* --- page.c --- */

/**
 * struct page - what was read of a statistics page
 * @inode: of its file
 * @stats: checked: counts are in range, and texts have an end
 */
struct page {
	ino_t inode;
	struct nrt_emu_stats *stats;
};

enum page_state {
	PAGE_OK,
	PAGE_NONE,	/* it is not for us, or not yet, or gone */
	PAGE_BAD,	/* it is not as it must be; somebody should know */
};

/* Descriptors with the name of a page that are looked at, of a process. */
#define MONITOR_PAGES		16

/**
 * struct descriptors - those of a process
 * @pid: process
 * @folder: they, in /proc
 * @device: of memory files
 * @nr_named: how many with the name of a page were met
 * @inode, @nr_read: of the pages that were read, or refused
 */
struct descriptors {
	pid_t pid;
	int folder;
	dev_t device;
	unsigned int nr_named;
	unsigned int nr_read;
	ino_t inode[MONITOR_PAGES];
};

/*
 * Read the page that a descriptor of a process may be, once, and at most MONITOR_PAGES. With
 * PAGE_OK page->stats is for free(); with PAGE_BAD @why is set; with both page->inode.
 */
enum page_state page_read(struct descriptors *descriptors, const char *fd, struct page *page,
			  char why[MONITOR_LINE]);

/* --- runtimes.c --- */

/**
 * struct look - what was seen of a runtime
 * @refs: users
 * @when_ns: CLOCK_MONOTONIC
 * @stats: its page
 * @user_ticks, @system_ticks: processor time
 * @flops: of each physical core, in the order of those of the page's cores; NULL: not known
 */
struct look {
	unsigned int refs;
	uint64_t when_ns;
	struct nrt_emu_stats *stats;
	uint64_t user_ticks;
	uint64_t system_ticks;
	uint64_t *flops;
};

/**
 * struct runtime - a process that uses libnrt
 * @next: list
 * @pid: process
 * @inode: of its page
 * @watch: of the configuration
 * @tag: NEURON_PROCESS_TAG, or the pid
 * @seen: its page was read in the last scan
 * @now: the last look
 * @base: by metric: the look that was reported last
 */
struct runtime {
	struct runtime *next;
	pid_t pid;
	ino_t inode;
	int watch;
	char tag[NRT_EMU_STATS_TAG];
	bool seen;
	struct look *now;
	struct look *base[NR_RUNTIME_METRICS];
};

struct refusal;
struct devices;

/**
 * struct runtimes - all that are watched
 * @first: in the order of their pids
 * @refusals: pages that somebody was told about
 * @device: of memory files
 * @scanned_ns: when they were looked for last; 0: never
 */
struct runtimes {
	struct runtime *first;
	struct refusal *refusals;
	dev_t device;
	uint64_t scanned_ns;
};

/* -1: there are no memory files, and errno says why. */
int runtimes_init(struct runtimes *runtimes);
void runtimes_free(struct runtimes *runtimes);

/* Look at all of them. @devices: as they are now. -1: no memory. */
int runtimes_scan(struct runtimes *runtimes, const struct config *config,
		  const struct devices *devices, int verbose);

/* What was reported of @metric is not reported again. */
void runtime_reported(struct runtime *runtime, enum metric metric);

/* --- system.c --- */

#define CPU_TIMES	8	/* user, nice, system, idle, iowait, irq, softirq, steal */

/**
 * struct cpus - processor times
 * @when_ns: CLOCK_MONOTONIC
 * @all: of all processors
 * @cpu, @nr: of each, by its number; those that are off have zeros
 * @switches: of contexts
 */
struct cpus {
	uint64_t when_ns;
	uint64_t all[CPU_TIMES];
	uint64_t (*cpu)[CPU_TIMES];
	size_t nr;
	uint64_t switches;
};

/**
 * struct memory - of the host, in bytes
 */
struct memory {
	uint64_t total;
	uint64_t available;
	uint64_t swap_total;
	uint64_t swap_free;
};

/* -1 with @why. cpus_free() in any case. */
int cpus_read(struct cpus *cpus, char why[MONITOR_LINE]);
void cpus_free(struct cpus *cpus);
int memory_read(struct memory *memory, char why[MONITOR_LINE]);
uint64_t monitor_now(void);

/* --- devices.c --- */

/**
 * struct devices - the chips of the driver
 * @open: there are some
 * @chips: they
 * @counters: by chip
 * @why: why there are none
 */
struct devices {
	bool open;
	struct chips chips;
	struct drm_neuron_counter_info *counters;
	char why[256];
};

/* Look at them; open them if they are not. */
void devices_look(struct devices *devices);
void devices_close(struct devices *devices);

/* FLOPs that physical core @number of the machine may have made, at most; false: not known. */
bool devices_flops(const struct devices *devices, unsigned int number, uint64_t *flops);

/* --- report.c --- */

/**
 * struct monitor - everything
 * @cpus: those that were reported last
 * @base_ns: of each metric of the system: when it was reported last
 * @verbose: --verbose
 */
struct monitor {
	struct config config;
	struct runtimes runtimes;
	struct devices devices;
	struct cpus cpus;
	uint64_t base_ns[NR_SYSTEM_METRICS];
	int verbose;
};

/* The document about the groups that are due at @now, which takes them for reported; NULL. */
json_object *report_new(struct monitor *monitor, uint64_t now);

/* report_value.c: a text of a stranger, a number with some digits behind the point, a count. */
json_object *value_text(const char *text);
json_object *value_number(double value, int digits);
json_object *value_count(uint64_t count);
/* Both take @value. @object and @array may not be there, because memory ran out. */
void value_add(json_object *object, const char *key, json_object *value);
void value_append(json_object *array, json_object *value);
/* A group with its period; value_add(..., "error", ...) ends it. */
json_object *value_group(uint64_t from_ns, uint64_t to_ns);

/* report_runtime.c: group @metric of @runtime. */
json_object *report_runtime(const struct runtime *runtime, enum metric metric);

#endif /* NEURON_MONITOR_H */
