/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of windows. A set is checked first, and then written to the table of a core at one go.
 */
#ifndef _NEURON_WINDOW_H_
#define _NEURON_WINDOW_H_

#include <linux/types.h>

#include "neuron_ioctl.h"
#include "neuron_list.h"

struct drm_file;
struct drm_neuron_job;
struct drm_neuron_window;
struct neuron_array;
struct neuron_change;
struct neuron_claim_core;
struct neuron_table;

/**
 * struct neuron_windows - a set of windows to write
 * @change: changes of the table, one for each window
 * @nr: number of windows
 * @stream: the last window is that of a stream
 * @room: for their short lists of extents
 * @old: table that the set has replaced, or NULL
 * @exchanged: it has replaced one, or is in the core's first one
 */
struct neuron_windows {
	struct neuron_change *change;
	u32 nr;
	bool stream;
	struct neuron_list_room room;
	struct neuron_table *old;
	bool exchanged;
};

/**
 * neuron_windows_use_cores() - have the other cores that some windows name ready
 * @cc: core that the windows are for
 * @array: drm_neuron_window elements
 *
 * A CC-core of the claim that was not used yet is reset here.
 *
 * Context: outside of drm_dev_enter().
 * Return: 0 or a negative errno.
 */
int neuron_windows_use_cores(struct neuron_claim_core *cc,
			     const struct neuron_array *array);

/**
 * neuron_windows_get() - check a set of windows, and look up what they show
 * @windows: set, zeroed; to be put in any case
 * @cc: core that the windows are for
 * @file: file that the handles are of
 * @array: drm_neuron_window elements
 * @stream: handle of a stream, which becomes one more window; or 0
 * @end: bytes that the stream has at least
 *
 * It makes nothing that the device reads, so it happens outside of drm_dev_enter(): a long list
 * takes its time.
 *
 * Return: 0 or a negative errno.
 */
int neuron_windows_get(struct neuron_windows *windows,
		       struct neuron_claim_core *cc, struct drm_file *file,
		       const struct neuron_array *array, u32 stream,
		       u64 end);

/**
 * neuron_windows_apply() - write a set of windows to the table of its core
 * @windows: set
 * @cc: core, not dead
 * @undoable: neuron_windows_undo() may follow under the same lock
 *
 * Context: under neuron_claim_core.lock and inside drm_dev_enter(). The set is put inside
 * drm_dev_enter(), too.
 * Return: 0 or a negative errno, and then nothing has changed.
 */
int neuron_windows_apply(struct neuron_windows *windows,
			 struct neuron_claim_core *cc, bool undoable);

/**
 * neuron_windows_undo() - take back neuron_windows_apply()
 * @windows: set
 * @cc: core
 *
 * Context: under neuron_claim_core.lock, not released since.
 */
void neuron_windows_undo(struct neuron_windows *windows,
			 struct neuron_claim_core *cc);

/**
 * neuron_window_bind_trace() - look up where the trace of a job is written to
 * @cc: core of the job
 * @file: file that the handles are of
 * @args: job; the fields of the trace have been checked
 * @trace: filled, also with an error: its binding is put by the caller
 *
 * Context: outside drm_dev_enter(), as the put of the binding, with which a buffer may end.
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
int neuron_window_bind_trace(struct neuron_claim_core *cc, struct drm_file *file,
			     const struct drm_neuron_job *args,
			     struct neuron_change *trace);

/**
 * neuron_windows_trace() - make the table of one window that the trace of a job is written to
 * @cc: core of the job
 * @trace: bound; the table takes the binding from it
 *
 * The table is not the core's: no program reaches it.
 *
 * Return: the table with a reference, or an ERR_PTR.
 */
struct neuron_table *neuron_windows_trace(struct neuron_claim_core *cc,
					  struct neuron_change *trace);

/**
 * neuron_windows_put() - free a set of windows
 * @windows: set; it may have been put already
 *
 * Context: without locks.
 */
void neuron_windows_put(struct neuron_windows *windows);

NEURON_IOCTL_HANDLER(windows);

#endif /* _NEURON_WINDOW_H_ */
