/* SPDX-License-Identifier: MIT */
/*
 * Physical cores and their window tables.
 *
 * The kernel keeps one window table for each core. Whoever runs programs has a view: the
 * contents that the table must have for them. Only what differs is written.
 */
#ifndef LIBNRT_HW_CORE_H
#define LIBNRT_HW_CORE_H

#include "hw/bo.h"
#include "hw/post.h"
#include "hw/stats.h"
#include "neuron/address.h"

/**
 * struct nrt_window - an entry of a view, and what tells it from others
 * @entry: as the back end takes it
 * @bo_id: of the buffer: handles are used again, ids are not
 */
struct nrt_window {
	struct drm_neuron_window entry;
	uint64_t bo_id;
};

/**
 * struct nrt_view - what a window table must show
 * @windows: entries, in ascending order of their indexes
 * @nr: how many
 * @changes: room for @nr entries that a submission brings along
 * @nr_changes: in it; of this view's submission to come
 *
 * All under the lock of the core, once the core may show it.
 */
struct nrt_view {
	struct nrt_window *windows;
	size_t nr;
	struct drm_neuron_window *changes;
	uint32_t nr_changes;
};

/**
 * struct nrt_core - a core that the process owns
 * @device: chip
 * @index: core of the chip
 * @number: number in the machine
 * @stack: nearest HBM stack
 * @stats: what its logical core counts
 * @lock: protects what follows, and the order of table writes and submissions
 * @resident: view that the table shows, or NULL
 * @shown: indexes of the entries that are not empty, ascending
 * @nr_shown: how many
 * @posts: how executions ended, not told yet
 */
struct nrt_core {
	struct nrt_device *device;
	unsigned int index;
	unsigned int number;
	unsigned int stack;
	struct nrt_emu_stats_core *stats;
	pthread_mutex_t lock;
	struct nrt_view *resident;
	uint32_t *shown;
	size_t nr_shown;
	struct nrt_posts posts;
};

/* Room for @nr windows. */
NRT_STATUS nrt_view_init(struct nrt_view *view, size_t nr, struct nrt_error *error);
void nrt_view_fini(struct nrt_view *view);

/*
 * Fill entry @i. When that changes it, the next submission of the view brings it along,
 * if the table shows the view by then.
 */
void nrt_view_set(struct nrt_view *view, size_t i, const struct drm_neuron_window *entry,
		  struct nrt_bo *bo);

/* Entry @i shows @length bytes of @bo from @offset on; no bytes: it is empty. */
void nrt_view_show(struct nrt_view *view, size_t i, uint32_t index, uint32_t rights,
		   struct nrt_bo *bo, uint64_t offset, uint64_t length);

/* Changes that all jobs of a submission may bring along together. */
#define NRT_MAX_CHANGES	NEURON_MAX_WINDOWS

/*
 * With the core's lock, until the submission of @args: the window table shows @view when the
 * job is latched. *@room: changes that the submission still has room for, at first
 * NRT_MAX_CHANGES; what finds none is written before it.
 */
NRT_STATUS nrt_core_show(struct nrt_core *core, struct nrt_view *view,
			 struct drm_neuron_job *args, uint32_t *room, struct nrt_error *error);

/* What the core did when @job hung, as text for free(); NULL: nobody knows. */
char *nrt_core_dump(struct nrt_core *core, uint64_t job);

/* The core shows nothing of @view any more. */
void nrt_core_drop(struct nrt_core *core, struct nrt_view *view);

/* No core of the process shows @bo any more. */
void nrt_bo_forget(struct nrt_bo *bo);

#endif /* LIBNRT_HW_CORE_H */
