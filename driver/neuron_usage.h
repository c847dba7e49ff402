/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory by category and place: what the memory of a device is used for.
 */
#ifndef _NEURON_USAGE_H_
#define _NEURON_USAGE_H_

#include <linux/atomic.h>
#include <linux/ratelimit_types.h>

#include "drm/neuron_accel.h"
#include "neuron/generation.h"

struct drm_file;
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

/**
 * neuron_usage_init() - set up the counts of a device
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_usage_init(struct neuron_device *ndev);

/**
 * neuron_usage_add() - count a new buffer
 * @bo: buffer; its kind, stack, category and size are set
 *
 * An imported buffer of another chip is not counted: that chip counts it.
 */
void neuron_usage_add(struct neuron_bo *bo);

/**
 * neuron_usage_sub() - a buffer that was counted is gone
 * @bo: buffer
 */
void neuron_usage_sub(struct neuron_bo *bo);

/**
 * neuron_usage_query() - answer DRM_NEURON_QUERY_USAGE
 * @ndev: device
 * @info: an element for each category, zeroed
 */
void neuron_usage_query(struct neuron_device *ndev,
			struct drm_neuron_usage_info *info);

/**
 * neuron_usage_query_stacks() - answer DRM_NEURON_QUERY_STACK_USAGE
 * @ndev: device
 * @info: an element for each category in each stack
 */
void neuron_usage_query_stacks(struct neuron_device *ndev,
			       struct drm_neuron_stack_usage_info *info);

/**
 * neuron_usage_print() - print a line for each category that was ever in use
 * @ndev: device
 * @p: where to
 */
void neuron_usage_print(struct neuron_device *ndev, struct drm_printer *p);

/**
 * neuron_usage_fdinfo() - print the memory of a file, by place and by category
 * @file: open file
 * @p: where to
 */
void neuron_usage_fdinfo(struct drm_file *file, struct drm_printer *p);

/**
 * neuron_category_name() - name of a category in fdinfo keys and tables
 * @category: enum drm_neuron_category
 *
 * Return: the name.
 */
const char *neuron_category_name(u32 category);

/**
 * neuron_usage_report_full() - log what is in a stack that is full, and who has most of it
 * @ndev: device
 * @stack: HBM stack
 * @size: bytes that could not be had
 *
 * At most one table in ten seconds. Sleeps.
 */
void neuron_usage_report_full(struct neuron_device *ndev, unsigned int stack,
			      u64 size);

#endif /* _NEURON_USAGE_H_ */
