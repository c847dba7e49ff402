/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the table of back ends (backend/backend.h): the chips of the one that
 * NEURON_RT_BACKEND names, a claim of core 0 of the first chip, and jobs of one instruction. The
 * same tests run on both, so what they expect is what drm/neuron_accel.h says.
 */
#ifndef SELFTESTS_LIBNRT_BACKEND_RIG_H
#define SELFTESTS_LIBNRT_BACKEND_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

#define BACKEND_LIMIT_S	240
#define BACKEND_IMAGE	4096u	/* bytes of each program */

/* Programs of the engine sync, by their place in the image. */
enum backend_program { HALTS, SPINS, BREAKS, BACKEND_PROGRAMS };

/**
 * struct backend_rig - the chips, and what the tests have of the first one
 * @backend: who has them
 * @chips: all
 * @chip: the first one
 * @info: of it
 * @limits: of it
 * @claim: of its core 0, with the CC-cores
 * @cc: a CC-core of that
 * @image: buffer in HBM with the programs
 */
struct backend_rig {
	const struct nrt_backend *backend;
	struct nrt_chip **chips;
	unsigned int count;
	struct nrt_chip *chip;
	struct drm_neuron_device_info info;
	struct drm_neuron_limits_info limits;
	uint32_t claim;
	uint32_t cc;
	uint32_t image;
};

/* All of them return 0 or a negative errno. The rig is to be closed when it was opened. */
int backend_open(struct backend_rig *rig);
void backend_close(struct backend_rig *rig);

/* An array of one element, or of none. */
#define ARRAY_OF(element) \
	((struct drm_neuron_array){ .pointer = (uintptr_t)(element), .count = 1, \
				    .stride = sizeof(*(element)) })
/* All elements of an array of C. */
#define ARRAY_OF_ALL(array) \
	((struct drm_neuron_array){ .pointer = (uintptr_t)(array), .stride = sizeof((array)[0]), \
				    .count = sizeof(array) / sizeof((array)[0]) })

/* CLOCK_MONOTONIC so many ms from now. */
int64_t backend_in_ms(int64_t ms);

/* Ask for @count elements of @size bytes of the first chip. */
int backend_query(struct backend_rig *rig, uint32_t type, void *elements, uint32_t size,
		  uint32_t count);

/* Cores of the first chip for another claim: those of @mask. */
int backend_claim(struct backend_rig *rig, uint64_t mask, uint32_t *claim);
int backend_release(struct backend_rig *rig, uint32_t claim);

/* A buffer of the first chip. */
int backend_buffer(struct backend_rig *rig, uint32_t placement, uint64_t size, uint32_t *handle);
int backend_write(struct backend_rig *rig, uint32_t handle, uint64_t offset, const void *data,
		  uint64_t size);
int backend_read(struct backend_rig *rig, uint32_t handle, uint64_t offset, void *data,
		 uint64_t size);

/* What a job consists of besides the struct itself. */
struct backend_parts {
	struct drm_neuron_window window;
	struct drm_neuron_start start;
};

/* A job of the engine sync of @core, which shows its program in window 0. */
struct drm_neuron_job backend_job(struct backend_rig *rig, uint32_t core,
				  enum backend_program program, uint32_t timeout_ms,
				  struct backend_parts *parts);
int backend_submit(struct backend_rig *rig, uint32_t core, enum backend_program program,
		   uint32_t timeout_ms, uint64_t *job);
/* A gang of one job on core 0 and one on the CC-core. */
int backend_submit_pair(struct backend_rig *rig, enum backend_program first,
			enum backend_program second, uint32_t timeout_ms, uint64_t *job);
int backend_wait(struct backend_rig *rig, uint32_t core, uint64_t job, int64_t deadline,
		 struct drm_neuron_wait_job *result);
/* The same, for as long as the test may take. */
int backend_end(struct backend_rig *rig, uint32_t core, uint64_t job,
		struct drm_neuron_wait_job *result);
int backend_cancel(struct backend_rig *rig, uint32_t core, uint64_t job);

/**
 * struct backend_waiter - a thread that waits for the end of a job of core 0
 * @rig, @job: for which one
 * @thread: to join; then there are
 * @result, @ret: what the wait has come to
 */
struct backend_waiter {
	struct backend_rig *rig;
	uint64_t job;
	pthread_t thread;
	struct drm_neuron_wait_job result;
	int ret;
};

void backend_waiter_start(struct backend_waiter *waiter, struct backend_rig *rig, uint64_t job);

#endif /* SELFTESTS_LIBNRT_BACKEND_RIG_H */
