/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Grants: the right to post some semaphores of a claimed core.
 */
#ifndef _NEURON_GRANT_H_
#define _NEURON_GRANT_H_

#include <linux/types.h>

struct neuron_device;

/**
 * struct neuron_grant_target - what a grant allows, for a window
 * @base: address of the core's semaphore block as the poster sees it
 * @generation: claim generation; once it is over, posts are dropped by the
 *	target chip, so a window needs to hold nothing alive
 * @first: first semaphore
 * @count: semaphores
 */
struct neuron_grant_target {
	u64 base;
	u32 generation;
	u32 first;
	u32 count;
};

/*
 * What the file descriptor @fd grants to a poster on @ndev. -EBADF: no grant,
 * or its claim is over; -EOPNOTSUPP: its chip is not on the fabric of @ndev.
 */
int neuron_grant_lookup(struct neuron_device *ndev, int fd,
			struct neuron_grant_target *target);

#endif /* _NEURON_GRANT_H_ */
