/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The pod, private part: how a read of MISC RAM gets to a chip of another server, and how the
 * pod learns that an election begins.
 */
#ifndef TRN_POD_H
#define TRN_POD_H

#include <stddef.h>
#include <stdint.h>

#include "trn/pod.h"

struct trn_chip;
struct trn_remote;

/*
 * Read @len bytes of @remote's MISC RAM at @offset, both whole words, through window @window
 * of a chip of the machine: the chips at this place of all servers first do what they can.
 * Waits for another such read.
 */
void trn_pod_read(struct trn_remote *remote, unsigned int window, uint32_t offset, uint8_t *buf,
		  size_t len);
/* The same for a debugger: nobody does anything, and no word of the script is used up. */
void trn_pod_look(struct trn_remote *remote, uint32_t offset, uint8_t *buf, size_t len);

/*
 * @chip of the machine has cleared the status in ELECTION: its driver begins an election. Any
 * thread.
 */
void trn_pod_begin(struct trn_pod *pod, const struct trn_chip *chip);

#endif /* TRN_POD_H */
