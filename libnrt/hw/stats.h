/* SPDX-License-Identifier: MIT */
/*
 * The statistics page of the process (nrt/nrt_emu_stats.h).
 *
 * What is counted on the way of an execution are relaxed additions to the page. Whether somebody
 * reads it, or can, changes nothing for the caller.
 */
#ifndef LIBNRT_HW_STATS_H
#define LIBNRT_HW_STATS_H

#include <pthread.h>
#include <sys/types.h>

#include <nrt/nrt_emu_stats.h>
#include <nrt/nrt_status.h>

#include "base/error.h"
#include "drm/neuron_accel.h"

/**
 * struct nrt_stats - the page, and what belongs to it
 * @page: NULL: there is none
 * @fd: of its file, or -1: nobody else can see it
 * @device, @inode: of the file, which tell @fd from one that the program has opened in its place
 * @lock: protects the table of models
 */
struct nrt_stats {
	struct nrt_emu_stats *page;
	int fd;
	dev_t device;
	ino_t inode;
	pthread_mutex_t lock;
};

/* A page for @nr_cores cores, with zeros where the caller fills it. Without a file if need be. */
NRT_STATUS nrt_stats_open(struct nrt_stats *stats, unsigned int nr_cores, struct nrt_error *error);

/* The page is filled: readers may know it now. */
void nrt_stats_publish(struct nrt_stats *stats);
void nrt_stats_close(struct nrt_stats *stats);

/* A job was submitted to physical core @i of @core; it is known that one has ended. */
void nrt_stats_job_begins(struct nrt_emu_stats_core *core, unsigned int i);
void nrt_stats_job_ended(struct nrt_emu_stats_core *core, unsigned int i);

/* An execution was refused with @status before it could start; by the queue, or for its tensors. */
void nrt_stats_refused(struct nrt_emu_stats_core *core, NRT_STATUS status);

/**
 * struct nrt_stats_times - how long an execution took
 * @total_ns: from the call, or the schedule, until it was known to have ended
 * @device_ns: of its jobs
 */
struct nrt_stats_times {
	uint64_t total_ns;
	uint64_t device_ns;
};

/* An execution has ended with @status. */
void nrt_stats_ended(struct nrt_stats *stats, struct nrt_emu_stats_core *core, NRT_STATUS status,
		     const struct nrt_stats_times *times);

/*
 * A buffer of @core came, or goes: @bytes of it by category, or NULL: all its @size bytes are of
 * @category. What @bytes lack of @size is the runtime's.
 */
struct nrt_stats_buffer {
	uint32_t placement;
	uint32_t category;
	uint64_t size;
	const uint64_t *bytes;
};

void nrt_stats_buffer_comes(struct nrt_emu_stats_core *core, const struct nrt_stats_buffer *buffer);
void nrt_stats_buffer_goes(struct nrt_emu_stats_core *core, const struct nrt_stats_buffer *buffer);

/* The bytes of @category in the memory of the device, by enum nrt_emu_stats_device, of a model. */
enum nrt_emu_stats_device nrt_stats_model_kind(unsigned int category);

/*
 * A row with the contents of @row, or NULL if the table is full. nrt_stats_model_leaves() gives it
 * back; NULL says that one for which there was no row leaves.
 */
struct nrt_emu_stats_model *nrt_stats_model_comes(struct nrt_stats *stats,
						  const struct nrt_emu_stats_model *row);
void nrt_stats_model_leaves(struct nrt_stats *stats, struct nrt_emu_stats_model *row);

/* An execution of the model was asked for, or has ended; @row may be NULL. */
void nrt_stats_model_begins(struct nrt_emu_stats_model *row);
void nrt_stats_model_ended(struct nrt_emu_stats_model *row);

#endif /* LIBNRT_HW_STATS_H */
