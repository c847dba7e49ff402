/* SPDX-License-Identifier: MIT */
/*
 * What is to be observed, as programs configure it. Only values: nothing here looks at a
 * device. The caller sees to it that one thread at a time uses an object.
 */
#ifndef LIBNRT_OBSERVE_CONFIG_H
#define LIBNRT_OBSERVE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/event.h"

/* Cores that a process can name. */
#define NRT_CAPTURE_CORES	4096

/* Any core, and any number of events. */
#define NRT_FETCH_ALL		UINT64_MAX

/**
 * struct nrt_capture - which events are captured
 * @cores: a bit for each virtual core
 * @types: mask by enum nrt_event_type
 * @max_events: of each core
 */
struct nrt_capture {
	uint64_t cores[NRT_CAPTURE_CORES / 64];
	uint32_t types;
	uint64_t max_events;
};

/**
 * struct nrt_fetch - which events are fetched
 * @core: virtual core, or NRT_FETCH_ALL
 * @max_events: of each core
 */
struct nrt_fetch {
	uint64_t core;
	uint64_t max_events;
};

enum nrt_activity {
	NRT_ACTIVITY_SYSTEM_PROFILE,
	NRT_ACTIVITY_DEVICE_PROFILE,
	NRT_ACTIVITY_HOST_MEMORY,
	NRT_ACTIVITY_CPU_UTIL,
	NRT_NR_ACTIVITIES,
};

#define NRT_ALL_ACTIVITIES	((1u << NRT_NR_ACTIVITIES) - 1)

/**
 * struct nrt_inspect - what an inspection does
 * @session: part of the names of its files
 * @folder: where these go
 * @capture: events of the system profile
 * @activities: mask by enum nrt_activity
 * @enabled: capture executions
 * @on_fail: write device profiles of failures
 */
struct nrt_inspect {
	int session;
	char *folder;
	struct nrt_capture capture;
	uint32_t activities;
	bool enabled;
	bool on_fail;
};

/* The options of continuous profiling: the folder of its files. */
struct nrt_profile_options {
	char *folder;
};

void nrt_capture_defaults(struct nrt_capture *capture);
bool nrt_capture_has_core(const struct nrt_capture *capture, int32_t core);
NRT_STATUS nrt_capture_set_core(struct nrt_capture *capture, uint64_t core, bool enabled,
				struct nrt_error *error);
NRT_STATUS nrt_capture_set_type(struct nrt_capture *capture, const char *name, bool enabled,
				struct nrt_error *error);
void nrt_capture_set_max(struct nrt_capture *capture, uint64_t max_events);

void nrt_fetch_defaults(struct nrt_fetch *fetch);

/* @folder of what @inspect points to is allocated: the last call frees it, and not @inspect. */
NRT_STATUS nrt_inspect_defaults(struct nrt_inspect *inspect, struct nrt_error *error);
NRT_STATUS nrt_inspect_set_activity(struct nrt_inspect *inspect, const char *name, bool enabled,
				    struct nrt_error *error);
NRT_STATUS nrt_inspect_copy(struct nrt_inspect *to, const struct nrt_inspect *from,
			    struct nrt_error *error);
void nrt_inspect_fini(struct nrt_inspect *inspect);

/* As the environment says: NRT_INVALID with @error naming the variable. */
NRT_STATUS nrt_inspect_read_env(struct nrt_inspect *inspect, struct nrt_error *error);

/* Another folder; NULL: the default one. */
NRT_STATUS nrt_config_folder(char **folder, const char *path, struct nrt_error *error);

/* Allocated lists of names: of the events or activities in @mask. */
NRT_STATUS nrt_event_names(uint32_t mask, const char ***names, size_t *count,
			   struct nrt_error *error);
NRT_STATUS nrt_activity_names(uint32_t mask, const char ***names, size_t *count,
			      struct nrt_error *error);
void nrt_names_free(const char **names, size_t count);

#endif /* LIBNRT_OBSERVE_CONFIG_H */
