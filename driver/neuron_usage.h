/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts of memory by category and place: who asks for the table finds what
 * the memory of the device is in use for.
 */
#ifndef _NEURON_USAGE_H_
#define _NEURON_USAGE_H_

#include <linux/atomic.h>
#include <linux/ratelimit_types.h>

#include "drm/neuron_accel.h"
#include "neuron/generation.h"

struct drm_neuron_stack_usage_info;
struct drm_neuron_usage_info;
struct drm_printer;
struct neuron_bo;
struct neuron_device;

/* Places that are counted: the HBM stacks by number, then these. */
enum {
	NEURON_USAGE_HOST = NEURON_MAX_HBM,
	NEURON_USAGE_IMPORTED,
	NEURON_USAGE_ALL_PLACES,
	NEURON_NR_USAGE_PLACES,
};

/* Categories that are counted: those of buffers, then this. */
enum {
	NEURON_USAGE_ALL_CATEGORIES = DRM_NEURON_NR_CATEGORIES,
	NEURON_NR_USAGE_CATEGORIES,
};

/**
 * struct neuron_amount - bytes in buffers of a category in a place
 * @now: of all processes
 * @peak: largest value that @now has had, or has had since it was begun anew
 */
struct neuron_amount {
	atomic64_t now;
	atomic64_t peak;
};

/**
 * struct neuron_usage - memory in buffers
 * @amount: by category and place; all categories in all places are not counted
 * @full: how often the table of a full stack goes to the log
 */
struct neuron_usage {
	struct neuron_amount amount[NEURON_NR_USAGE_CATEGORIES]
				   [NEURON_NR_USAGE_PLACES];
	struct ratelimit_state full;
};

int neuron_usage_init(struct neuron_device *ndev);

/* A buffer begins, or ends. Buffers of peers are counted where they lie. */
void neuron_usage_add(struct neuron_bo *bo);
void neuron_usage_sub(struct neuron_bo *bo);

/* The answer to DRM_NEURON_QUERY_USAGE; zero at first. */
void neuron_usage_query(struct neuron_device *ndev,
			struct drm_neuron_usage_info *info);
/* The answer to DRM_NEURON_QUERY_STACK_USAGE. */
void neuron_usage_query_stacks(struct neuron_device *ndev,
			       struct drm_neuron_stack_usage_info *info);

/* All categories that were ever in use, a line each. */
void neuron_usage_print(struct neuron_device *ndev, struct drm_printer *p);

/* For fdinfo keys and tables. */
const char *neuron_category_name(u32 category);

/*
 * @size bytes could not be had: what is in the stack, and who has most of it,
 * goes to the log, but not often. May sleep.
 */
void neuron_usage_report_full(struct neuron_device *ndev, unsigned int stack,
			      u64 size);

#endif /* _NEURON_USAGE_H_ */
