// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Completion rings of queues of domain 0. A completion is written when the bytes of
 * its packet are visible: at once, or together with others before the run commits.
 */
#include <string.h>

#include "dma/trn_udma_run.h"
#include "mem/trn_access.h"

#define COMP_MAX_BYTES	32	/* of one completion */

static enum trn_outcome comp_fail(struct trn_run_state *run,
				  struct trn_side *side,
				  enum neuron_cause cause, uint64_t addr,
				  const char *why)
{
	const struct trn_mishap mishap = {
		.why = why,
		.m2s = NEURON_IOFIC_M2S_COMP,
		.s2m = NEURON_IOFIC_S2M_COMP,
		.access = TRN_ACCESS_COMP,
	};

	side->comps = 0;
	trn_run_fail(run, side, 0, cause, addr, &mishap);
	run->fault.pc = side->ring.comp_head;
	return TRN_FAILED;
}

/* The first @n completions, which do not go over the ring's end. */
static enum trn_outcome write_some(struct trn_run_state *run,
				   struct trn_side *side, unsigned int n,
				   uint32_t size)
{
	struct trn_ring *ring = &side->ring;
	uint8_t buf[TRN_COMP_ROOM * COMP_MAX_BYTES];
	enum neuron_cause cause;
	uint64_t addr;
	unsigned int i;
	uint32_t word;

	memset(buf, 0, (size_t)n * size);
	for (i = 0; i < n; i++) {
		word = side->comp[i] | NEURON_PUT(NEURON_UDMA_COMP_RING_ID,
						  (uint32_t)ring->comp_ring_id);
		memcpy(buf + (size_t)i * size, &word, sizeof(word));
	}
	addr = ring->comp_base + (uint64_t)ring->comp_head * size;
	cause = trn_access_write(&run->access, addr, buf, (size_t)n * size);
	if (cause)
		return comp_fail(run, side, cause, addr,
				 "its completion ring cannot be written");
	trn_ring_advance(ring, &ring->comp_head, &ring->comp_ring_id, n);
	side->comps -= n;
	memmove(side->comp, side->comp + n,
		side->comps * sizeof(side->comp[0]));
	return TRN_MOVED;
}

static enum trn_outcome side_flush(struct trn_run_state *run,
				   struct trn_side *side)
{
	const uint32_t size = run->limits.comp_bytes[side->s2m];
	const struct trn_ring *ring = &side->ring;
	enum trn_outcome outcome = TRN_MOVED;
	unsigned int n;

	if (side->comps && !size)
		return comp_fail(run, side, NEURON_CAUSE_DESC, 0,
				 "the engine's completion size is none");
	while (side->comps && outcome == TRN_MOVED) {
		if (ring->comp_head >= ring->length)
			return comp_fail(run, side, NEURON_CAUSE_DESC, 0,
					 "its completion ring became too short");
		n = side->comps;
		if (n > ring->length - ring->comp_head)
			n = ring->length - ring->comp_head;
		outcome = write_some(run, side, n, size);
	}
	return outcome;
}

enum trn_outcome trn_comp_add(struct trn_run_state *run, struct trn_side *side,
			      uint32_t flags, uint32_t bytes)
{
	const struct trn_ring *ring = &side->ring;

	side->comp[side->comps++] = flags | (bytes & NEURON_UDMA_COMP_BYTES);
	if (side->comps == TRN_COMP_ROOM)
		return side_flush(run, side);
	/* What comes late is written when its time has come. */
	if (flags & NEURON_UDMA_COMP_LAST && !run->strike.late_ns &&
	    ring->comp_cfg & NEURON_UDMA_Q_COMP_AT_ONCE)
		return side_flush(run, side);
	return TRN_MOVED;
}

enum trn_outcome trn_comp_flush(struct trn_run_state *run)
{
	enum trn_outcome outcome = side_flush(run, &run->m2s);

	return outcome == TRN_MOVED ? side_flush(run, &run->s2m) : outcome;
}
