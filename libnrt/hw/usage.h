/* SPDX-License-Identifier: MIT */
/*
 * What holds the memory of an HBM stack: a table for who has too little.
 */
#ifndef LIBNRT_HW_USAGE_H
#define LIBNRT_HW_USAGE_H

#include "hw/device.h"

/**
 * struct nrt_usage - what is in a buffer that has more than one kind of contents
 * @name: of its holder
 * @bytes: by category; the rest of the buffer is alignment
 */
struct nrt_usage {
	char name[80];
	uint64_t bytes[DRM_NEURON_NR_CATEGORIES];
};

/*
 * @bytes more were wanted of HBM @stack than it has: log what holds it, a line for each row, unless
 * NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG is 0. @info: of the stack.
 */
void nrt_usage_tell(struct nrt_device *device, uint32_t stack, uint64_t bytes,
		    const struct drm_neuron_memory_info *info);

#endif /* LIBNRT_HW_USAGE_H */
