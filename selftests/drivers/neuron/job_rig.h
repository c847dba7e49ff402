/* SPDX-License-Identifier: MIT */
/*
 * What the tests of jobs share: a claimed core with memory for programs, rings
 * and data, and the few instructions that the tests need.
 */
#ifndef NEURON_JOB_RIG_H
#define NEURON_JOB_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drm/neuron_accel.h"
#include "neuron/address.h"
#include "neuron/isa.h"
#include "neuron/job.h"
#include "neuron/regs.h"
#include "neuron/udma.h"
#include "neuron/window.h"

/* Windows that rig_open() binds. */
enum rig_window {
	RIG_WINDOW_IMAGE,	/* first half of the buffer, read only */
	RIG_WINDOW_DATA,	/* second half, read and write */
	RIG_WINDOW_SBUF,
	RIG_WINDOW_SEM,
	RIG_WINDOW_FREE,	/* and those that follow: empty */
};

#define RIG_HALF	0x40000		/* bytes of a half of the buffer */
#define RIG_IMAGE(e)	((e) * 0x4000)	/* image of an engine, in the first half */
#define RIG_IMAGE_MAX	(0x4000 / NEURON_INST_SIZE)
#define RIG_RINGS	0x20000		/* rings, in the first half */
#define RIG_RING_LENGTH	32		/* descriptors */

/**
 * struct rig - a claimed core of a device
 * @fd: device node
 * @claim: claim id
 * @core: core number
 * @first_cc: number of the first CC-core; 0: not known
 * @bo: buffer in HBM
 * @map: its first half: images and rings
 * @data: its second half
 * @count: instructions of each engine so far
 * @tail: descriptors of the M2S and the S2M ring so far
 * @start: of the engines, for submissions of what was emitted
 */
struct rig {
	int fd;
	uint32_t claim;
	uint32_t core;
	uint32_t first_cc;
	uint32_t bo;
	uint8_t *map;
	uint8_t *data;
	uint32_t count[NEURON_NR_ENGINES];
	uint32_t tail[2];
	struct drm_neuron_start start[NEURON_NR_ENGINES];
};

/* All functions that return int: 0 or a negative errno. */

/* Claim @core (RIG_ANY_CORE: one that is free) and set up buffer and windows. */
#define RIG_ANY_CORE	0xffffffffu
int rig_open(struct rig *rig, unsigned int device, uint32_t core);
/* The same with the name of the device's node. */
int rig_open_node(struct rig *rig, const char *node, uint32_t core);
/* @count cores of one claim, those with the lowest numbers that are free. */
int rig_open_cores(struct rig *rigs, unsigned int device, unsigned int count);
/* The same for CC-core @n of @core's claimed one; close it before that. */
int rig_open_cc(struct rig *cc, const struct rig *core, unsigned int n);
/* The same for core @number of the claim of @core. */
int rig_open_sibling(struct rig *rig, const struct rig *core, uint32_t number);
/* Two neighbouring cores of one claim, the first one even. */
int rig_open_pair(struct rig pair[2], unsigned int device);
static inline bool rig_is_cc(const struct rig *rig)
{
	return rig->first_cc && rig->core >= rig->first_cc;
}

void rig_close(struct rig *rig);

int rig_claim(int fd, uint64_t cores, uint32_t count,
	      struct drm_neuron_claim *args);
int rig_release(int fd, uint32_t claim);
/* The windows of enum rig_window; rig_open() has done it. */
int rig_bind(struct rig *rig);
int rig_windows(struct rig *rig, const struct drm_neuron_window *windows,
		uint32_t count);
/*
 * Change a window in every piece of the largest table, so that all of it is copied when a job
 * has it. The windows of an even @turn are others than those of an odd one.
 */
int rig_change_table(struct rig *rig, unsigned int turn);

int rig_syncobj_create(int fd, uint32_t *handle);
void rig_syncobj_destroy(int fd, uint32_t handle);
/* Wait for a point of a syncobj; 0 for a binary one. */
int rig_syncobj_wait(int fd, uint32_t handle, uint64_t point,
		     int64_t timeout_ms);

/* Empty programs and rings, zero data. */
void rig_clear(struct rig *rig);
/* Append an instruction to the image of @engine; returns it, for the rest. */
struct neuron_inst *rig_emit(struct rig *rig, enum neuron_engine engine,
			     enum neuron_opcode opcode);
void rig_halt(struct rig *rig, enum neuron_engine engine);
/* data[offset / 4] = value, by @engine (registers 1 and 2). */
void rig_store(struct rig *rig, enum neuron_engine engine, uint32_t offset,
	       uint32_t value);
/* Copy @size bytes in the data half with the queue 0 of the job. */
void rig_copy(struct rig *rig, enum neuron_engine engine, uint64_t dst,
	      uint64_t src, uint32_t size);
/*
 * A product in the tensor engine, of what SBUF happens to hold, and its end: @k rows, @m columns
 * of the array, @n moving columns, all bf16.
 */
void rig_product(struct rig *rig, unsigned int k, unsigned int m, unsigned int n);
/* Loop @count times; 0: for ever. */
void rig_loop(struct rig *rig, enum neuron_engine engine, uint32_t count);

/**
 * struct rig_submit - a submission of one job
 * @call: what SUBMIT gets; rig_submit() fills in its jobs
 * @job: the job
 */
struct rig_submit {
	struct drm_neuron_submit call;
	struct drm_neuron_job job;
};

/* All semaphores. */
#define RIG_SEM_WORDS	(NEURON_NR_SEMAPHORES / 64)
extern const uint64_t rig_all_semaphores[RIG_SEM_WORDS];

/*
 * A submission of what was emitted; the caller may change it, and keeps the rig. The jobs of
 * a core and of each of its CC-cores have a queue of their own.
 */
void rig_prepare(struct rig *rig, struct rig_submit *submit,
		 struct drm_neuron_queue *queue);
/* The same with only @engine's program, so that several can lie in the image. */
void rig_prepare_engine(struct rig *rig, struct rig_submit *submit,
			enum neuron_engine engine);
int rig_submit(struct rig *rig, struct rig_submit *submit);
/* @count jobs at @jobs, as the jobs of @call. */
void rig_put_jobs(struct drm_neuron_submit *call, const struct drm_neuron_job *jobs,
		  uint32_t count);
/* Submit what was emitted with the limit @timeout_ms; the job id or an error. */
int64_t rig_start(struct rig *rig, uint32_t timeout_ms);
/* Wait @timeout_ms for one of the jobs, or all; the first that has ended, or an error. */
int rig_wait_jobs(int fd, struct drm_neuron_wait_job *jobs, uint32_t count,
		  uint32_t flags, int64_t timeout_ms);
/* Wait @timeout_ms for job @job; @result may be NULL. */
int rig_wait(struct rig *rig, uint64_t job, int64_t timeout_ms,
	     struct drm_neuron_wait_job *result);
/* End job @job. */
int rig_cancel(struct rig *rig, uint64_t job);
/* rig_start() and rig_wait(). */
int rig_run(struct rig *rig, uint32_t timeout_ms,
	    struct drm_neuron_wait_job *result);

/*
 * What the device holds: HBM in use; jobs, window tables and transfers (debugfs).
 * Freed memory is scrubbed in the background, so rig_leaks() gives it a while to come
 * back to @before.
 */
struct rig_usage {
	long long hbm;
	long long live;
};

void rig_usage(int fd, struct rig_usage *usage);
/* The same, once nothing has changed for 300 ms: earlier work has let go of what it held. */
void rig_usage_at_rest(int fd, struct rig_usage *usage);
/* True: it stays above @before, for 10 s. */
bool rig_leaks(int fd, const struct rig_usage *before);

/* Bytes of kernel memory that the caller's user is charged for on the device; -1: cannot say. */
long long rig_charged(int fd);
/* It comes back to @before within 20 s: memory may be freed a little later. */
bool rig_charge_returns(int fd, long long before);

/* The error that the fence in the syncobj @handle ended with, or 0; 1: it has not ended. */
int rig_fence(int fd, uint32_t handle);

/* Milliseconds of the monotonic clock. */
int64_t rig_now_ms(void);

#endif /* NEURON_JOB_RIG_H */
