/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A grant is the right to post some semaphores of a claimed core, or to reach a part of its SBUF.
 */
#ifndef _NEURON_GRANT_H_
#define _NEURON_GRANT_H_

#include <linux/types.h>

#include "neuron_ioctl.h"

#define NEURON_GRANT_HANDLES	65535	/* of a file */

struct drm_file;
struct drm_neuron_window;
struct drm_printer;
struct neuron_claim_core;
struct neuron_device;
struct neuron_file;

/**
 * enum neuron_grant_kind - what a grant gives
 * @NEURON_GRANT_SEM: semaphores, to post
 * @NEURON_GRANT_SBUF: a part of SBUF
 */
enum neuron_grant_kind {
	NEURON_GRANT_SEM,
	NEURON_GRANT_SBUF,
};

/**
 * struct neuron_grant_target - what a grant allows, for a window
 * @base: address of the core's semaphore block or SBUF as the other side sees it
 * @generation: claim generation; once it is over, the target chip drops posts
 *	and writes and refuses reads, so a window needs to hold nothing alive
 * @first: first semaphore; byte of SBUF
 * @count: semaphores; bytes
 * @rights: SBUF: DRM_NEURON_WINDOW_READ, _WRITE
 */
struct neuron_grant_target {
	u64 base;
	u32 generation;
	u32 first;
	u32 count;
	u32 rights;
};

/**
 * neuron_grant_lookup() - find what a grant gives
 * @ndev: device of the core that the window is for
 * @file: file of the caller
 * @window: names the grant, by file descriptor or by handle in @file
 * @kind: what the grant must give
 * @target: what it gives
 *
 * Return: 0; -EBADF when there is no grant of that kind, or it is void; -EOPNOTSUPP when its chip
 * is not on the fabric of @ndev.
 */
int neuron_grant_lookup(struct neuron_device *ndev, struct drm_file *file,
			const struct drm_neuron_window *window,
			enum neuron_grant_kind kind,
			struct neuron_grant_target *target);

/**
 * neuron_grant_print() - print a line for each process that may post a semaphore
 * @cc: core in its claim
 * @sem: semaphore of the core
 * @p: where to
 */
void neuron_grant_print(struct neuron_claim_core *cc, u32 sem,
			struct drm_printer *p);

/**
 * neuron_grants_open() - a file was opened
 * @nfile: file
 */
void neuron_grants_open(struct neuron_file *nfile);

/**
 * neuron_grants_close() - a file is going away: drop the grants that it has imported
 * @nfile: file
 */
void neuron_grants_close(struct neuron_file *nfile);

NEURON_IOCTL_HANDLER(grant);
NEURON_IOCTL_HANDLER(grant_import);
NEURON_IOCTL_HANDLER(grant_close);

#endif /* _NEURON_GRANT_H_ */
