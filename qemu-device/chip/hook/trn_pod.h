/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The pod, private part: how a read of MISC RAM gets to a chip that nobody hosts.
 */
#ifndef TRN_POD_H
#define TRN_POD_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"
#include "trn/pod.h"

struct trn_remote;

/*
 * Read @len bytes of @remote's MISC RAM at @offset, through window @window of a chip of the
 * machine, in a run of a pool task: the chips at this place of all servers first do what they
 * can. Waits for another such read.
 */
enum neuron_cause trn_pod_read(struct trn_remote *remote, unsigned int window,
			       uint64_t offset, uint8_t *buf, size_t len);

#endif /* TRN_POD_H */
