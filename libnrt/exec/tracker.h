/* SPDX-License-Identifier: MIT */
/*
 * Error trackers: which requests failed, for those who did not wait for them.
 */
#ifndef LIBNRT_EXEC_TRACKER_H
#define LIBNRT_EXEC_TRACKER_H

#include <stddef.h>

#include <nrt/nrt_async.h>

#include "base/error.h"

/* Errors that a tracker keeps: the first ones, which explain the later ones. */
#define NRT_TRACKER_MAX	65536

struct nrt_tracker;

struct nrt_tracker *nrt_tracker_new(void);
void nrt_tracker_release(struct nrt_tracker *tracker);

/* Request @seq failed with @status. */
void nrt_tracker_add(struct nrt_tracker *tracker, nrta_seq_t seq, NRT_STATUS status);

/* All errors so far; the list is valid until the next call and until the release. */
NRT_STATUS nrt_tracker_list(struct nrt_tracker *tracker, const nrta_error_t **list,
			    size_t *count, struct nrt_error *error);

#endif /* LIBNRT_EXEC_TRACKER_H */
