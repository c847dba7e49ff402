/* SPDX-License-Identifier: MIT */
/*
 * Chips as the library sees them.
 */
#ifndef LIBNRT_HW_DEVICE_H
#define LIBNRT_HW_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend/backend.h"
#include "neuron/generation.h"

struct nrt_bo;
struct nrt_core;

/**
 * struct nrt_device - a chip
 * @backend, @chip: who answers; @chip is NULL once the device is shut down
 * @info: identity
 * @first_core: number of its core 0 in the machine
 * @memory_table: nrt_usage_tell() has something to say
 * @refs: the machine and each buffer
 * @claim: of the process, 0 with @claimed 0
 * @claimed: mask of the cores that it owns
 * @lock: protects what follows, and the buffers' refs, handles and maps
 * @cores, @nr_cores: the cores that the process owns; none once the device is shut down
 * @cc_cores, @nr_cc_cores: the CC-cores that came with them; likewise
 * @last_id: of a buffer
 * @bos: buffers
 */
struct nrt_device {
	const struct nrt_backend *backend;
	struct nrt_chip *chip;
	struct drm_neuron_device_info info;
	unsigned int first_core;
	bool memory_table;
	atomic_uint refs;
	uint32_t claim;
	uint32_t claimed;
	pthread_mutex_t lock;
	struct nrt_core *cores;
	unsigned int nr_cores;
	struct nrt_core *cc_cores;
	unsigned int nr_cc_cores;
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

/* End the claim of the process: what its cores run ends, too. */
void nrt_device_release(struct nrt_device *device);

/* References that buffers hold. */
void nrt_device_get(struct nrt_device *device);
void nrt_device_put(struct nrt_device *device);

/* The name of the chip for messages. */
const char *nrt_device_path(const struct nrt_device *device);

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

#endif /* LIBNRT_HW_DEVICE_H */
