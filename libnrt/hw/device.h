/* SPDX-License-Identifier: MIT */
/*
 * Chips as the library sees them, their buffers and their cores.
 */
#ifndef LIBNRT_DEVICE_H
#define LIBNRT_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend/backend.h"
#include "hw/post.h"
#include "neuron/generation.h"

struct nrt_device;
struct nrt_model;

/**
 * struct nrt_bo - a buffer on a chip
 * @next, @prev: list of the device
 * @device: referenced
 * @refs: users; under nrt_device.lock
 * @handle: of the back end; 0 once the device is shut down
 * @id: never used twice in a process
 * @origin: imported: id of the buffer that another device exported; else 0
 * @size: bytes
 * @placement: DRM_NEURON_BO_*
 * @stack: HBM stack
 * @map: host address, or NULL
 * @shown: a window of a core showed it once
 */
struct nrt_bo {
	struct nrt_bo *next;
	struct nrt_bo *prev;
	struct nrt_device *device;
	unsigned int refs;
	uint32_t handle;
	uint64_t id;
	uint64_t origin;
	uint64_t size;
	uint32_t placement;
	uint32_t stack;
	void *map;
	atomic_bool shown;
};

/**
 * struct nrt_window - an entry of a window table, and what tells it from others
 * @entry: as the back end takes it
 * @bo_id: of the buffer: handles are used again, ids are not
 */
struct nrt_window {
	struct drm_neuron_window entry;
	uint64_t bo_id;
};

/**
 * struct nrt_core - a core that the process owns
 * @device: chip
 * @index: core of the chip
 * @vnc: number in the process
 * @number: number in the machine
 * @stack: nearest HBM stack
 * @models: loaded here; under nrt_state.models_lock
 * @lock: protects what follows, and the order of table writes and submissions
 * @resident: model whose windows the table shows, or NULL
 * @shown: indexes of the entries that are not empty, ascending
 * @nr_shown: how many
 * @scratch: shared scratchpad, or NULL
 * @posts: how executions ended, not told yet
 */
struct nrt_core {
	struct nrt_device *device;
	unsigned int index;
	unsigned int vnc;
	unsigned int number;
	unsigned int stack;
	unsigned int models;
	pthread_mutex_t lock;
	struct nrt_model *resident;
	uint32_t *shown;
	size_t nr_shown;
	struct nrt_bo *scratch;
	struct nrt_posts posts;
};

/**
 * struct nrt_device - a chip
 * @backend, @chip: who answers
 * @info: identity
 * @first_core: number of its core 0 in the machine
 * @refs: the process state and each buffer
 * @claim: of the process, 0 with @claimed 0
 * @claimed: mask of the cores that it owns
 * @lock: protects what follows, and the buffers' refs, handles and maps
 * @last_id: of a buffer
 * @bos: buffers
 */
struct nrt_device {
	const struct nrt_backend *backend;
	struct nrt_chip *chip;
	struct drm_neuron_device_info info;
	unsigned int first_core;
	atomic_uint refs;
	uint32_t claim;
	uint32_t claimed;
	pthread_mutex_t lock;
	uint64_t last_id;
	struct nrt_bo *bos;
};

/* Open all chips, ordered by rack, server, chip. Free with nrt_devices_close(). */
NRT_STATUS nrt_devices_open(const struct nrt_backend *backend, struct nrt_device ***devices,
			    unsigned int *count, struct nrt_error *error);

/*
 * Give back claims, buffers and chips. A device whose buffers still have users stays
 * as an empty shell until the last of them is put.
 */
void nrt_devices_close(struct nrt_device **devices, unsigned int count);

/* Ask the chip: the answer, at most @size bytes of it, goes to @out. */
NRT_STATUS nrt_device_query(struct nrt_device *device, uint32_t type, void *out, size_t size,
			    uint32_t count, struct nrt_error *error);
NRT_STATUS nrt_device_cores(struct nrt_device *device,
			    struct drm_neuron_core_info cores[NEURON_MAX_CORES],
			    struct nrt_error *error);
NRT_STATUS nrt_device_memory(struct nrt_device *device,
			     struct drm_neuron_memory_info stacks[NEURON_MAX_HBM],
			     struct nrt_error *error);

/* The status for a negative errno of a back end. */
NRT_STATUS nrt_status_of_errno(int ret);

/* A buffer for @category with one reference; @placement HOST is also mapped. */
NRT_STATUS nrt_bo_create(struct nrt_device *device, uint64_t size, uint32_t placement,
			 uint32_t stack, enum drm_neuron_category category, struct nrt_bo **bo,
			 struct nrt_error *error);
struct nrt_bo *nrt_bo_get(struct nrt_bo *bo);
void nrt_bo_put(struct nrt_bo *bo);

/* @bo as a buffer of @device: itself, or imported. A reference either way. */
NRT_STATUS nrt_bo_import(struct nrt_device *device, struct nrt_bo *bo, struct nrt_bo **out,
			 struct nrt_error *error);

/* Copies by the device. */
NRT_STATUS nrt_bo_write(struct nrt_bo *bo, uint64_t offset, const void *data, uint64_t size,
			struct nrt_error *error);
NRT_STATUS nrt_bo_read(struct nrt_bo *bo, uint64_t offset, void *data, uint64_t size,
		       struct nrt_error *error);
NRT_STATUS nrt_bo_copy(struct nrt_bo *dst, uint64_t dst_offset, struct nrt_bo *src,
		       uint64_t src_offset, uint64_t size, struct nrt_error *error);

#endif /* LIBNRT_DEVICE_H */
