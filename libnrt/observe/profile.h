/* SPDX-License-Identifier: MIT */
/*
 * Profiles: traces of executions, written to files.
 *
 * There are three ways to ask for them, one of which can be in use at a time: for single
 * models, for all models with a call that saves one, and as part of an inspection. All
 * functions may be called from any thread.
 */
#ifndef LIBNRT_OBSERVE_PROFILE_H
#define LIBNRT_OBSERVE_PROFILE_H

#include "observe/host.h"
#include "observe/recorder.h"
#include "observe/trace.h"

struct nrt_profile;

/* How profiles are asked for. */
enum nrt_profile_mode {
	NRT_PROFILE_OFF,
	NRT_PROFILE_SINGLE,	/* nrt_profile_start() */
	NRT_PROFILE_CONTINUOUS,	/* nrt_profile_continuous_start() */
	NRT_PROFILE_INSPECT,	/* nrt_inspect_begin() */
};

/**
 * struct nrt_profiler - the profiler
 * @lock: protects the rest; taken before that of a model
 * @mode: how it is in use; may be read without the lock
 * @events: most instructions and transfers of a profile; set by nrt_init()
 * @profiles: SINGLE: models and their files
 * @files: how many continuous profiling has written, for their names
 * @inspecting: what follows is in use; may be read without the lock
 * @inspect: the inspection
 * @host: when it began
 */
struct nrt_profiler {
	pthread_mutex_t lock;
	_Atomic enum nrt_profile_mode mode;
	size_t events;
	struct nrt_profile *profiles;
	unsigned int files;
	atomic_bool inspecting;
	struct nrt_inspect inspect;
	struct nrt_host host;
};

#define NRT_PROFILER_INITIALIZER { .lock = PTHREAD_MUTEX_INITIALIZER }

/* A model, whose handle is @handle, gets a profile; it goes into the file @path. */
NRT_STATUS nrt_profile_begin(struct nrt_profiler *profiler, struct nrt_model *model,
			     const void *handle, const char *path, struct nrt_error *error);
NRT_STATUS nrt_profile_end(struct nrt_profiler *profiler, struct nrt_handles *handles,
			   const char *path, struct nrt_error *error);

/* All models do. */
NRT_STATUS nrt_continuous_start(struct nrt_profiler *profiler, struct nrt_handles *handles,
				struct nrt_error *error);
NRT_STATUS nrt_continuous_save(struct nrt_profiler *profiler, struct nrt_handles *handles,
			       uint32_t vnc, const char *folder, struct nrt_error *error);
NRT_STATUS nrt_continuous_stop(struct nrt_profiler *profiler, struct nrt_handles *handles,
			       struct nrt_error *error);

/* A model was loaded. A failure: it gets no device profile. */
NRT_STATUS nrt_profiler_loaded(struct nrt_profiler *profiler, struct nrt_model *model,
			       struct nrt_error *error);

/* It is about to be unloaded. A failure: its profile could not be written. */
NRT_STATUS nrt_profiler_unloads(struct nrt_profiler *profiler, struct nrt_model *model,
				struct nrt_error *error);

/* An execution of it failed that began at @before, by CLOCK_MONOTONIC. A failure: likewise. */
NRT_STATUS nrt_profiler_failed(struct nrt_profiler *profiler, struct nrt_model *model,
			       uint64_t before, struct nrt_error *error);

/* The process lets go of its models; the inspection is over. */
void nrt_profiler_reset(struct nrt_profiler *profiler);

/* Copies @inspect. @handles is NULL while there are no models. */
NRT_STATUS nrt_inspection_begin(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
				struct nrt_handles *handles, const struct nrt_inspect *inspect,
				struct nrt_error *error);
NRT_STATUS nrt_inspection_stop(struct nrt_profiler *profiler, struct nrt_recorder *recorder,
			       struct nrt_handles *handles, struct nrt_error *error);

#endif /* LIBNRT_OBSERVE_PROFILE_H */
