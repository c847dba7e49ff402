/* SPDX-License-Identifier: MIT */
/*
 * Buffers on chips, and in host memory that chips reach.
 */
#ifndef LIBNRT_HW_BO_H
#define LIBNRT_HW_BO_H

#include "hw/device.h"
#include "hw/usage.h"

struct nrt_emu_stats_core;

/**
 * struct nrt_bo - a buffer
 * @next, @prev: list of the device
 * @device: referenced
 * @refs: users; under nrt_device.lock
 * @handle: of the back end; 0 once the device is shut down
 * @id: never used twice in a process
 * @origin: imported: id of the buffer that another device exported; else 0
 * @size: bytes
 * @placement: DRM_NEURON_BO_*
 * @stack: HBM stack
 * @category: what it is for
 * @usage: of a buffer that is for several things, else NULL; both under nrt_device.lock
 * @stats: where it is counted, or NULL: nowhere; under nrt_device.lock
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
	enum drm_neuron_category category;
	struct nrt_usage *usage;
	struct nrt_emu_stats_core *stats;
	void *map;
	atomic_bool shown;
};

/*
 * A buffer of @core for @category, with one reference. @placement HBM: in the stack of the core;
 * HOST: in memory of the host, and mapped.
 */
NRT_STATUS nrt_bo_create(const struct nrt_core *core, uint64_t size, uint32_t placement,
			 enum drm_neuron_category category, struct nrt_bo **bo,
			 struct nrt_error *error);
struct nrt_bo *nrt_bo_get(struct nrt_bo *bo);
void nrt_bo_put(struct nrt_bo *bo);

/* Say what is in it; @usage is from malloc() and goes with it. */
void nrt_bo_describe(struct nrt_bo *bo, struct nrt_usage *usage);

/* @bo as a buffer of @device: itself, or imported. A reference either way. */
NRT_STATUS nrt_bo_import(struct nrt_device *device, struct nrt_bo *bo, struct nrt_bo **out,
			 struct nrt_error *error);

/* A file descriptor of @bo for another process or chip of the same back end, for close(). */
NRT_STATUS nrt_bo_export_fd(struct nrt_bo *bo, int *fd, struct nrt_error *error);

/* The buffer that such a descriptor names, on @device, with a reference. */
NRT_STATUS nrt_bo_import_fd(struct nrt_device *device, int fd, struct nrt_bo **bo,
			    struct nrt_error *error);

/* Where it is: NRT_INVALID once the device is shut down. */
NRT_STATUS nrt_bo_info(struct nrt_bo *bo, struct drm_neuron_bo_info *info,
		       struct nrt_error *error);

/* Map it, if it is not yet; it stays mapped as long as its device. NRT_FAILURE, NRT_RESOURCE. */
NRT_STATUS nrt_bo_map(struct nrt_bo *bo, void **map, struct nrt_error *error);

/*
 * The mapped buffer of @device that has the @size bytes at address @va, with a reference,
 * and where in it they begin; NULL: there is none.
 */
struct nrt_bo *nrt_bo_at(struct nrt_device *device, uintptr_t va, uint64_t size,
			 uint64_t *offset);

/* A dma-buf of it, for close(). NRT_INVALID: the back end has none. */
NRT_STATUS nrt_bo_dmabuf(struct nrt_bo *bo, int *fd, struct nrt_error *error);

/* Copies by the device. */
NRT_STATUS nrt_bo_write(struct nrt_bo *bo, uint64_t offset, const void *data, uint64_t size,
			struct nrt_error *error);
NRT_STATUS nrt_bo_read(struct nrt_bo *bo, uint64_t offset, void *data, uint64_t size,
		       struct nrt_error *error);
NRT_STATUS nrt_bo_copy(struct nrt_bo *dst, uint64_t dst_offset, struct nrt_bo *src,
		       uint64_t src_offset, uint64_t size, struct nrt_error *error);

/* The device is shut down: all its buffers lose their handles. With its lock. */
void nrt_bo_close_all(struct nrt_device *device);

#endif /* LIBNRT_HW_BO_H */
