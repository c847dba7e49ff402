/* SPDX-License-Identifier: MIT */
/*
 * All ioctls of the driver as a table: how to make a call that must pass, and
 * what must be refused. A new ioctl needs a row in abi_calls.c and an ABI_VARIANT
 * in ABI_VARIANTS; the tests of sizes, pads, flags and arrays come by themselves.
 */
#ifndef NEURON_ABI_CALLS_H
#define NEURON_ABI_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job_rig.h"

#define ABI_MAX_ARG	512	/* bytes of the largest struct, with room */
#define ABI_MAX_ELEMENT	256

/**
 * struct abi - what a call is made with: fresh for each
 * @rig: a claimed core
 * @memory: a page of user memory
 * @element: of the array that the call has
 * @fd: a grant of the rig's core, a series, or what else a call opened; 0: nothing
 * @job: of a SUBMIT whose element is something else
 * @queue: of the job
 */
struct abi {
	struct rig rig;
	int fd;
	uint8_t *memory;
	uint64_t element[ABI_MAX_ELEMENT / 8];
	struct drm_neuron_job job;
	struct drm_neuron_queue queue;
};

/**
 * struct abi_bad - a field that spoils a good call
 * @what: for messages
 * @offset: of the field in the struct, or in the element
 * @size: its bytes
 * @element: it is in the element
 * @value: bad value
 * @error: errno
 */
struct abi_bad {
	const char *what;
	uint16_t offset;
	uint8_t size;
	uint8_t element;
	uint64_t value;
	int error;
};

/**
 * struct abi_call - an ioctl
 * @name: for messages
 * @request: request number, size included
 * @least: bytes of the struct in version 2.0, or in the first one that has it
 * @good: fill @arg with a call that must pass
 * @array: offset of a struct drm_neuron_array, or -1
 * @of_job: the array is not in the struct but in abi.job
 * @element_size: bytes of its elements
 * @element_least: bytes that they had at first; 0: as many
 * @empty: what a call with no element gives
 * @bad: up to one without @what
 */
struct abi_call {
	const char *name;
	unsigned long request;
	uint32_t least;
	int (*good)(struct abi *abi, void *arg);
	int array;
	bool of_job;
	uint32_t element_size;
	uint32_t element_least;
	int empty;
	struct abi_bad bad[24];
};

/* One row for each ioctl, and one more for each further array. */
enum abi_row {
	ABI_QUERY,
	ABI_BO_CREATE,
	ABI_BO_IMPORT,
	ABI_BO_INFO,
	ABI_COPY,
	ABI_CLAIM,
	ABI_RELEASE,
	ABI_WINDOWS,
	ABI_GRANT,
	ABI_SUBMIT,
	ABI_SUBMIT_IN_SYNCS,
	ABI_SUBMIT_OUT_SYNCS,
	ABI_SUBMIT_STARTS,
	ABI_SUBMIT_SEM_CLEAR,
	ABI_SUBMIT_QUEUES,
	ABI_SUBMIT_WINDOWS,
	ABI_WAIT,
	ABI_RESET,
	ABI_CANCEL,
	ABI_DUMP,
	ABI_POST,
	ABI_GRANT_IMPORT,
	ABI_GRANT_CLOSE,
	ABI_EVENTS,
	ABI_TRANSFER,
	ABI_TRANSFER_IN_SYNCS,
	ABI_TRANSFER_OUT_SYNCS,
	ABI_SERIES,
	ABI_SERIES_IMPORT,
	ABI_SERIES_CLOSE,
	ABI_SUBMIT_SERIES,
	ABI_TIMES,
	ABI_NR_ROWS
};

/* FIXTURE_VARIANT_ADD() of each row to @fixture; its variant has the member row. */
#define ABI_VARIANT(fixture, name) \
	FIXTURE_VARIANT_ADD(fixture, name) { .row = ABI_##name }
#define ABI_VARIANTS(fixture) \
	ABI_VARIANT(fixture, QUERY); \
	ABI_VARIANT(fixture, BO_CREATE); \
	ABI_VARIANT(fixture, BO_IMPORT); \
	ABI_VARIANT(fixture, BO_INFO); \
	ABI_VARIANT(fixture, COPY); \
	ABI_VARIANT(fixture, CLAIM); \
	ABI_VARIANT(fixture, RELEASE); \
	ABI_VARIANT(fixture, WINDOWS); \
	ABI_VARIANT(fixture, GRANT); \
	ABI_VARIANT(fixture, SUBMIT); \
	ABI_VARIANT(fixture, SUBMIT_IN_SYNCS); \
	ABI_VARIANT(fixture, SUBMIT_OUT_SYNCS); \
	ABI_VARIANT(fixture, SUBMIT_STARTS); \
	ABI_VARIANT(fixture, SUBMIT_SEM_CLEAR); \
	ABI_VARIANT(fixture, SUBMIT_QUEUES); \
	ABI_VARIANT(fixture, SUBMIT_WINDOWS); \
	ABI_VARIANT(fixture, WAIT); \
	ABI_VARIANT(fixture, RESET); \
	ABI_VARIANT(fixture, CANCEL); \
	ABI_VARIANT(fixture, DUMP); \
	ABI_VARIANT(fixture, POST); \
	ABI_VARIANT(fixture, GRANT_IMPORT); \
	ABI_VARIANT(fixture, GRANT_CLOSE); \
	ABI_VARIANT(fixture, EVENTS); \
	ABI_VARIANT(fixture, TRANSFER); \
	ABI_VARIANT(fixture, TRANSFER_IN_SYNCS); \
	ABI_VARIANT(fixture, TRANSFER_OUT_SYNCS); \
	ABI_VARIANT(fixture, SERIES); \
	ABI_VARIANT(fixture, SERIES_IMPORT); \
	ABI_VARIANT(fixture, SERIES_CLOSE); \
	ABI_VARIANT(fixture, SUBMIT_SERIES); \
	ABI_VARIANT(fixture, TIMES)

extern const struct abi_call abi_calls[ABI_NR_ROWS];

/* What the rig has emitted, as the job @job. */
struct drm_neuron_submit *abi_put_submit(struct abi *abi, void *arg, struct drm_neuron_job *job);

/* Good calls of abi_series.c. */
int abi_good_series(struct abi *abi, void *arg);
int abi_good_series_import(struct abi *abi, void *arg);
int abi_good_series_close(struct abi *abi, void *arg);
int abi_good_submit_series(struct abi *abi, void *arg);
int abi_good_times(struct abi *abi, void *arg);

/* 0 or a negative errno. */
int abi_open(struct abi *abi);
/* The array of a good call. */
struct drm_neuron_array *abi_array(const struct abi_call *call, struct abi *abi,
				   void *arg);
void abi_close(struct abi *abi);

/*
 * False: this machine cannot do the good call of @row. Where the device needs bounce
 * buffers there are no imports.
 */
bool abi_can(enum abi_row row);

/* Bytes of the struct of @request, and @request with another number of bytes. */
uint32_t abi_size(unsigned long request);
unsigned long abi_resize(unsigned long request, uint32_t size);

#endif /* NEURON_ABI_CALLS_H */
