/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of windows: checked first, then written to a core's table at one go.
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

/*
 * Other cores of the claim that @array names are ready to be looked up. A CC-core that was
 * not used yet is reset first: outside of drm_dev_enter().
 */
int neuron_windows_use_cores(struct neuron_claim_core *cc,
			     const struct neuron_array *array);
/*
 * Check and look up what @array asks for and, unless it is 0, the stream with the
 * handle @stream, of at least @end bytes. @windows is to be put in any case. A long list
 * takes its time, so this is outside of drm_dev_enter(): it makes nothing that the device
 * reads.
 */
int neuron_windows_get(struct neuron_windows *windows,
		       struct neuron_claim_core *cc, struct drm_file *file,
		       const struct neuron_array *array, u32 stream,
		       u64 end);
/*
 * Write them, under neuron_claim_core.lock and with the core not dead. On an
 * error nothing has changed. With @undoable it can be undone under the same lock.
 * Inside drm_dev_enter(), and what is put after it, too.
 */
int neuron_windows_apply(struct neuron_windows *windows,
			 struct neuron_claim_core *cc, bool undoable);
void neuron_windows_undo(struct neuron_windows *windows,
			 struct neuron_claim_core *cc);
/*
 * A table of one window, for the trace that @args asks for, which has been checked; not
 * the core's. ERR_PTR: those of neuron_window_bind(), -EINVAL, -ENOMEM.
 */
struct neuron_table *neuron_windows_trace(struct neuron_claim_core *cc,
					  struct drm_file *file,
					  const struct drm_neuron_job *args);
/* Without locks; once or again. */
void neuron_windows_put(struct neuron_windows *windows);

NEURON_IOCTL_HANDLER(windows);

#endif /* _NEURON_WINDOW_H_ */
