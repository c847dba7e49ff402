/* SPDX-License-Identifier: MIT */
/*
 * Where chips come from. A back end opens chips and does for each what the
 * kernel interface describes: the structs of drm/neuron_accel.h are the words of
 * this table, whoever answers. The rest of the library knows no other way to a chip.
 *
 * Functions return 0 or a negative errno, the ones that drm/neuron_accel.h names.
 * They may be called from several threads at once, also for one chip.
 */
#ifndef LIBNRT_BACKEND_BACKEND_H
#define LIBNRT_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drm/neuron_accel.h"
#include "base/error.h"

/* An open chip; each back end has its own. */
struct nrt_chip;

/**
 * struct nrt_report_actor - who made an access
 * @unit: NeuronCore or CC-core of its job
 * @source: enum neuron_engine, or NEURON_SOURCE_DMA
 * @dma_engine: of a DMA queue
 * @queue: of a DMA queue
 * @pc: instruction, or descriptor; NEURON_UDMA_PC_GENERATED | number of a packet
 */
struct nrt_report_actor {
	uint16_t unit;
	uint16_t source;
	uint16_t dma_engine;
	uint16_t queue;
	uint32_t pc;
};

/**
 * struct nrt_report - an error that the chip has found in the program of a job
 * @kind: what kind of error
 * @actor: who
 * @what: did what
 * @has_other: @what ends with @other
 * @other: of a race: the other one
 * @where: a byte of memory
 */
struct nrt_report {
	char kind[16];
	struct nrt_report_actor actor;
	char what[80];
	bool has_other;
	struct nrt_report_actor other;
	char where[80];
};

/*
 * Open every chip of the machine, in any order; the caller frees the array. Fails with @error
 * set when there is none.
 */
typedef NRT_STATUS nrt_open_all_fn(struct nrt_chip ***chips, unsigned int *count,
				   struct nrt_error *error);

/*
 * Take up to @room errors that the chip has found in the program of a job of a core, in the order
 * in which they came. Returns their number; with @room 0 how many there are, and takes none.
 */
typedef uint32_t nrt_reports_fn(struct nrt_chip *chip, uint32_t core, uint64_t job,
				struct nrt_report *reports, uint32_t room);

/**
 * struct nrt_unwritten - bytes of a buffer that nobody has written
 * @count: how many
 * @first, @end: the first of them, and the end of those that follow it without a gap
 */
struct nrt_unwritten {
	uint64_t count;
	uint64_t first;
	uint64_t end;
};

/* They are told once: they count as written then. @first and @end count from @offset. */
typedef void nrt_unwritten_fn(struct nrt_chip *chip, uint32_t handle, uint64_t offset,
			      uint64_t size, struct nrt_unwritten *found);

/*
 * Device times of jobs of several ranks. The jobs that the ranks run together are a *time group*
 * (Documentation/hardware/jobs.rst): what they share slows them down in their times, too. A rank
 * makes a *series* of such groups, and the others import it, once. From then on each of them
 * submits its member of a group by the number of the group in the series, and nobody has to talk.
 * A job ends as it would without a series. Its times come later.
 */

/**
 * struct nrt_series - a series that is made
 * @members: of each of its groups, 1 to NEURON_JOB_MAX_GROUP
 * @handle: out: of the series on this chip, not 0
 * @fd: out: by which other chips of the fabric import it, as long as somebody has a handle
 */
struct nrt_series {
	uint32_t members;
	uint32_t handle;
	int fd;
};

/**
 * struct nrt_time_place - which member of which group a job is
 * @series: handle; 0: of none
 * @index: of the member
 * @sequence: of the group: more than that of the member's job before, by NEURON_SERIES_STEP at most
 */
struct nrt_time_place {
	uint32_t series;
	uint32_t index;
	uint64_t sequence;
};

/**
 * struct nrt_settled - the times of a job that was a member
 * @claim, @core, @job: which one
 * @deadline_ns: how long to wait for them; 0: not at all
 * @start_ns, @end_ns: device time; both 0 when the device models none
 * @exact: the members share their times. Else they are those of a job for itself, and @cause
 *	says why
 * @cause: enum neuron_settle_cause
 */
struct nrt_settled {
	uint32_t claim;
	uint32_t core;
	uint64_t job;
	int64_t deadline_ns;
	uint64_t start_ns;
	uint64_t end_ns;
	bool exact;
	uint16_t cause;
};

/**
 * struct nrt_backend - a back end
 * @name: for log lines
 * @open_all: open every chip
 * @close: close a chip; its claims and buffers are gone
 * @path: the chip's name for messages
 * @runs_jobs: @submit may run the job, so it takes as long as that
 * @has_dmabuf: @bo_export gives a dma-buf of the kernel
 * @revision: write the chip's PCI revision, e.g. "0xff", into @size bytes
 * @instance: write the public name of the machine, or what it calls itself, into @size bytes
 * @hbm_map: where all of an HBM stack is mapped, which it stays; NULL: that is not possible
 * @query, @claim, @release, @bo_create, @bo_info, @copy, @windows, @grant,
 *	@grant_import, @grant_close, @submit, @wait, @cancel, @post, @dump: as in drm/neuron_accel.h
 * @reports: errors in programs; NULL: it does not look for any
 * @unwritten: what nobody has written of a buffer in HBM, if it looks for errors; may be NULL
 * @series, @series_import, @series_close, @submit_timed, @settled: device times of several ranks;
 *	all NULL: the back end has none
 * @series: make a series
 * @series_import: the handle on this chip of one that another chip has made; the fd stays the
 *	caller's. -EBADF: it is none
 * @series_close: drop a handle, which no other series gets. The members of its holder that have
 *	not come will not: groups that lack one are inexact from now on, and so are all later ones
 * @submit_timed: as @submit; job i is the member that places[i] says. A job that cannot be one runs
 *	all the same, and its times are inexact: with a trace, or by a handle that was dropped.
 *	-ENOENT: there never was that handle
 * @settled: times of a job. -ETIMEDOUT: they are not known yet; -EINVAL: it was no member;
 *	-ENOENT: there is no such job, or no longer
 * @bo_close: drop a handle
 * @bo_map: map @size bytes of a buffer by its mmap offset; more than none, and not more than it has
 * @bo_unmap: remove a mapping that @bo_map has made
 * @bo_export: a file descriptor that another chip of the same back end can import; it keeps the
 *	buffer until it is closed
 * @bo_import: the handle of such a buffer on this chip; the fd stays the caller's. A buffer that
 *	has a handle there gets no other one, and one @bo_close ends it. -EBADF: no fd; -EINVAL: of
 *	no buffer
 */
struct nrt_backend {
	const char *name;
	bool runs_jobs;
	bool has_dmabuf;
	nrt_open_all_fn *open_all;
	void (*close)(struct nrt_chip *chip);
	const char *(*path)(const struct nrt_chip *chip);
	void (*revision)(const struct nrt_chip *chip, char *text, size_t size);
	void (*instance)(char *text, size_t size);
	int (*hbm_map)(struct nrt_chip *chip, uint32_t stack, void **map, uint64_t *size);
	int (*query)(struct nrt_chip *chip, struct drm_neuron_query *query);
	int (*claim)(struct nrt_chip *chip, struct drm_neuron_claim *claim);
	int (*release)(struct nrt_chip *chip, struct drm_neuron_release *release);
	int (*bo_create)(struct nrt_chip *chip, struct drm_neuron_bo_create *create);
	int (*bo_info)(struct nrt_chip *chip, struct drm_neuron_bo_info *info);
	void (*bo_close)(struct nrt_chip *chip, uint32_t handle);
	int (*bo_map)(struct nrt_chip *chip, uint64_t offset, uint64_t size, void **map);
	void (*bo_unmap)(struct nrt_chip *chip, void *map, uint64_t size);
	int (*bo_export)(struct nrt_chip *chip, uint32_t handle, int *fd);
	int (*bo_import)(struct nrt_chip *chip, int fd, uint32_t *handle);
	int (*copy)(struct nrt_chip *chip, struct drm_neuron_copy *copy);
	int (*windows)(struct nrt_chip *chip, struct drm_neuron_windows *windows);
	int (*grant)(struct nrt_chip *chip, struct drm_neuron_grant *grant);
	int (*grant_import)(struct nrt_chip *chip, struct drm_neuron_grant_import *import);
	int (*grant_close)(struct nrt_chip *chip, struct drm_neuron_grant_close *close);
	int (*submit)(struct nrt_chip *chip, struct drm_neuron_submit *submit);
	int (*series)(struct nrt_chip *chip, struct nrt_series *series);
	int (*series_import)(struct nrt_chip *chip, int fd, uint32_t *handle);
	void (*series_close)(struct nrt_chip *chip, uint32_t handle);
	int (*submit_timed)(struct nrt_chip *chip, struct drm_neuron_submit *submit,
			    const struct nrt_time_place *places);
	int (*settled)(struct nrt_chip *chip, struct nrt_settled *settled);
	int (*wait)(struct nrt_chip *chip, struct drm_neuron_wait *wait);
	int (*cancel)(struct nrt_chip *chip, struct drm_neuron_cancel *cancel);
	int (*post)(struct nrt_chip *chip, struct drm_neuron_post *post);
	int (*dump)(struct nrt_chip *chip, struct drm_neuron_dump *dump);
	nrt_reports_fn *reports;
	nrt_unwritten_fn *unwritten;
};

/* The DRM accel driver. */
extern const struct nrt_backend nrt_backend_drm;
/* Chips in this process. */
extern const struct nrt_backend nrt_backend_embedded;

#endif /* LIBNRT_BACKEND_BACKEND_H */
