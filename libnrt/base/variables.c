// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/variables.h"

/* Longer names are nobody's, and similar to none. */
#define LONGEST	64
/* A letter more, less or other: so many make a similar name. */
#define SIMILAR	4

/**
 * struct variable - a variable of the environment
 * @name: with a "*" at its end: all names that begin so
 * @same: value that asks for what happens anyway, or NULL
 * @instead: what happens instead; NULL: the library does what the variable says
 */
struct variable {
	const char *name;
	const char *same;
	const char *instead;
};

/* Read by the library. */
#define READ(name)	{ name, NULL, NULL }

static const struct variable variables[] = {
	READ("NEURON_EMU_CC_ALGORITHM"),
	READ("NEURON_EMU_CHECK"),
	READ("NEURON_EMU_FAULT"),
	READ("NEURON_EMU_INSTANCE"),
	READ("NEURON_EMU_LINK_FAULT"),
	READ("NEURON_EMU_PROFILE_EVENTS"),
	READ("NEURON_EMU_QUIET"),
	READ("NEURON_FAIL_ON_NAN"),
	READ("NEURON_LOGICAL_NC_CONFIG"),
	READ("NEURON_PROCESS_TAG"),
	READ("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT"),
	READ("NEURON_RT_BACKEND"),
	READ("NEURON_RT_CONTIGUOUS_SCRATCHPAD"),
	READ("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR"),
	READ("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE"),
	READ("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG"),
	READ("NEURON_RT_EXEC_TIMEOUT"),
	READ("NEURON_RT_INSPECT_CPU_UTIL"),
	READ("NEURON_RT_INSPECT_DEVICE_PROFILE"),
	READ("NEURON_RT_INSPECT_ENABLE"),
	READ("NEURON_RT_INSPECT_EVENT_FILTER_NC"),
	READ("NEURON_RT_INSPECT_EVENT_FILTER_TYPE"),
	READ("NEURON_RT_INSPECT_HOST_MEMORY"),
	READ("NEURON_RT_INSPECT_ON_FAIL"),
	READ("NEURON_RT_INSPECT_OUTPUT_DIR"),
	READ("NEURON_RT_INSPECT_SYSTEM_PROFILE"),
	READ("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC"),
	READ("NEURON_RT_LOG_LEVEL"),
	READ("NEURON_RT_LOG_LEVEL_NRT"),
	READ("NEURON_RT_LOG_LOCATION"),
	READ("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY"),
	READ("NEURON_RT_NUM_CORES"),
	READ("NEURON_RT_ROOT_COMM_ID"),
	READ("NEURON_RT_VALIDATE_HASH"),
	READ("NEURON_RT_VIRTUAL_CORE_SIZE"),
	READ("NEURON_RT_VISIBLE_CORES"),
	READ("NEURON_SCRATCHPAD_PAGE_SIZE"),

	{ "NEURONCORE_GROUP_SIZES", NULL, "use NEURON_RT_VISIBLE_CORES" },
	{ "NEURON_RT_ALLOW_LEGACY_NEFF", NULL, "a NEFF names no architecture here" },
	{ "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "0",
	  "nrt_execute() always waits; use nrta_execute_schedule()" },
	{ "NEURON_RT_ASYNC_SENDRECV_EXPERIMENTAL_ENABLED", "1",
	  "nrt_async_sendrecv_init() always works" },
	{ "NEURON_RT_DBG_CC_DMA_PACKET_SIZE", NULL, "copies have the size that the NEFF gives" },
	{ "NEURON_RT_DBG_DMA_PACKETIZATION_SIZE", NULL,
	  "descriptors move the longest run of bytes, at most 64 KiB" },
	{ "NEURON_RT_DBG_INTRA_RDH_CHANNEL_BUFFER_SIZE", NULL,
	  "copies between ranks have no buffers" },
	{ "NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", NULL, "there is no log of allocations" },
	{ "NEURON_RT_DEBUG_OUTPUT_DIR", NULL, "nothing is written there" },
	{ "NEURON_RT_ENABLE_DGE_NOTIFICATIONS", "0",
	  "profiles name the queue of a generated transfer, not its variable" },
	{ "NEURON_RT_GPSIMD_STDOUT_QUEUE_SIZE_BYTES", "0", "GpSimd programs print nothing" },
	{ "NEURON_RT_INSPECT_DURATION_NSEC", NULL,
	  "an inspection ends with nrt_inspect_stop(), as in the public runtime" },
	{ "NEURON_RT_INSPECT_PRECACHE_ENABLE", "0", "there is no cache of graphs" },
	{ "NEURON_RT_INSPECT_START_OFFSET_NSEC", NULL,
	  "an inspection begins with nrt_inspect_begin(), as in the public runtime" },
	{ "NEURON_RT_LOCAL_CORE_DUMP_DIRECTORY", NULL,
	  "core dumps are the driver's: /sys/class/devcoredump" },
	{ "NEURON_RT_LOG_LEVEL_NMGR", NULL, "the library has one component, NRT" },
	{ "NEURON_RT_LOG_LEVEL_TDRV", NULL, "the library has one component, NRT" },
	{ "NEURON_RT_LOG_LOCATION_NMGR", NULL, "the library has one component, NRT" },
	{ "NEURON_RT_LOG_LOCATION_NRT", NULL, "NEURON_RT_LOG_LOCATION decides" },
	{ "NEURON_RT_LOG_LOCATION_TDRV", NULL, "the library has one component, NRT" },
	{ "NEURON_RT_LOW_LATENCY_TASKS_CPU_AFFINITY", NULL, "there is no network proxy" },
	{ "NEURON_RT_MULTI_INSTANCE_SHARED_WEIGHTS", "FALSE",
	  "each loaded model has constants of its own" },
	{ "NEURON_RT_ONE_THREAD_PER_CORE", NULL, "there is no network proxy" },
	{ "NEURON_RT_PROFILE_BUF_*", NULL, "the buffer of a profile is as large as it must be" },
	{ "NEURON_RT_RANKS_PER_NETWORK_PROXY", NULL, "there is no network proxy" },
	{ "NEURON_RT_RESET_CORES", "1", "nrt_init() always resets its cores" },
	{ "NEURON_RT_S3_CORE_DUMP_PREFIX", NULL,
	  "core dumps are the driver's: /sys/class/devcoredump" },
	{ "NEURON_RT_STOCHASTIC_ROUNDING_EN", "0", "programs choose how they round" },
	{ "NEURON_RT_STOCHASTIC_ROUNDING_SEED", NULL, "programs choose how they round" },
	{ "NEURON_RT_ULTRASERVER_MODE", NULL, "chips tell their place themselves" },
	{ "NEURON_RT_ULTRASERVER_NODE_ID", NULL, "chips tell their place themselves" },
	{ "NEURON_RT_ULTRASERVER_SERVER_ID", NULL, "chips tell their place themselves" },
};

/* Names with these beginnings that nobody reads are mistakes. */
static const char *const prefixes[] = { "NEURON_RT_", "NEURON_EMU_" };

/* Read by the Python packages. */
static const char *const elsewhere[] = {
	"NEURON_EMU_BUILDER", "NEURON_EMU_NKI_CACHE_BYTES", "NEURON_EMU_NKI_PROFILE",
	"NEURON_EMU_NKI_SCHEDULE",
};

#define NR_VARIABLES	(sizeof(variables) / sizeof(variables[0]))

/* Is the @length bytes of @text the name of @variable? */
static bool is_named(const struct variable *variable, const char *text, size_t length)
{
	size_t known = strlen(variable->name);

	if (variable->name[known - 1] == '*')
		return length >= known && !strncmp(variable->name, text, known - 1);
	return known == length && !strncmp(variable->name, text, length);
}

static const struct variable *find(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < NR_VARIABLES; i++)
		if (is_named(&variables[i], text, length))
			return &variables[i];
	return NULL;
}

static bool is_mistake(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (strlen(elsewhere[i]) == length && !strncmp(elsewhere[i], text, length))
			return false;
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Letters to be added, left out or changed to make @name of @length bytes of @text. */
static size_t distance(const char *name, const char *text, size_t length)
{
	size_t row[LONGEST + 1], known = strlen(name), i, k, corner, above;

	if (known > LONGEST || length > LONGEST)
		return SIZE_MAX;
	for (k = 0; k <= known; k++)
		row[k] = k;
	for (i = 1; i <= length; i++) {
		corner = row[0];
		row[0] = i;
		for (k = 1; k <= known; k++) {
			above = row[k];
			row[k] = least(above + 1, row[k - 1] + 1,
				       corner + (text[i - 1] != name[k - 1]));
			corner = above;
		}
	}
	return row[known];
}

/* A name that is read and was perhaps meant, or NULL. */
static const char *nearest(const char *text, size_t length)
{
	size_t best = SIMILAR + 1, now, i;
	const char *found = NULL;

	for (i = 0; i < NR_VARIABLES; i++) {
		if (variables[i].instead)
			continue;
		now = distance(variables[i].name, text, length);
		if (now >= best)
			continue;
		best = now;
		found = variables[i].name;
	}
	return found;
}

static void tell_mistake(const char *text, size_t length, nrt_variable_fn *fn, void *arg)
{
	const char *meant = nearest(text, length);
	char line[256];

	snprintf(line, sizeof(line),
		 "%.*s is set, but there is no such variable: it has no effect%s%s%s",
		 (int)(length < 80 ? length : 80), text, meant ? "; did you mean " : "",
		 meant ? meant : "", meant ? "?" : "");
	fn(arg, line);
}

static bool is_level(const struct variable *variable)
{
	return !strcmp(variable->name, "NEURON_RT_LOG_LEVEL") ||
	       !strcmp(variable->name, "NEURON_RT_LOG_LEVEL_NRT");
}

/* @entry: NAME=VALUE. */
static void check(const char *entry, nrt_variable_fn *fn, void *arg)
{
	const char *equals = strchr(entry, '=');
	const struct variable *variable;
	char line[256];
	size_t length;

	/* An empty variable is one that is not set. */
	if (!equals || !equals[1])
		return;
	length = (size_t)(equals - entry);
	variable = find(entry, length);
	if (!variable && !is_mistake(entry, length))
		return;
	if (!variable) {
		tell_mistake(entry, length, fn, arg);
	} else if (is_level(variable) && !nrt_log_knows(equals + 1)) {
		snprintf(line, sizeof(line),
			 "%.120s is no level: use QUIET, ERROR, WARNING, INFO, DEBUG or TRACE; ERROR holds",
			 entry);
		fn(arg, line);
	} else if (variable->instead && !(variable->same && !strcmp(equals + 1, variable->same))) {
		snprintf(line, sizeof(line), "%.120s has no effect: %s", entry, variable->instead);
		fn(arg, line);
	}
}

void nrt_variables_check(nrt_variable_fn *fn, void *arg)
{
	size_t i;

	for (i = 0; environ && environ[i]; i++)
		check(environ[i], fn, arg);
}
