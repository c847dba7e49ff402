/* SPDX-License-Identifier: MIT */
/*
 * From the transfers of a NEFF to UDMA rings, and from the pseudo triggers of its
 * instruction streams to real ones. Works on plain memory, like neff.h.
 *
 * A copy becomes pairs of descriptors: piece by piece, the longest run of bytes
 * that is contiguous on both sides, at most 64 KiB. Each piece is a packet of its
 * own. A transfer that computes becomes operations (dma_op.h), each a packet too.
 * A semaphore is posted by one more packet: 4 bytes, the value, from a constant
 * into a semaphore window. A set of several queues splits the bytes of a transfer
 * evenly; each queue posts for its share.
 *
 * A job rewinds its queues when it starts, so the rings are built once at load and
 * never change.
 */
#ifndef LIBNRT_PROGRAM_DMA_BUILD_H
#define LIBNRT_PROGRAM_DMA_BUILD_H

#include "neff/neff.h"
#include "program/dma_ring.h"

/**
 * struct dma_windows - windows that the loader adds to those of the variables
 * @constants: the constants of struct dma_program
 * @semaphores: all semaphores of the own core
 * @sibling: all semaphores of the other core of the pair, for writing; with LNC 2
 */
struct dma_windows {
	uint32_t constants;
	uint32_t semaphores;
	uint32_t sibling;
};

/**
 * struct dma_group - what one trigger runs
 * @id: id of the transfers
 * @count, @s2m_count: descriptors for each queue of the set
 */
struct dma_group {
	uint32_t id;
	uint32_t count[NEFF_MAX_QUEUES_OF_SET];
	uint32_t s2m_count[NEFF_MAX_QUEUES_OF_SET];
};

/* The groups of a queue set, in the order in which they must be triggered. */
struct dma_set {
	struct dma_group *groups;
	size_t nr_groups;
	size_t room;
	uint32_t max_id;
};

/**
 * struct dma_program - everything that is built
 * @rings: by index in the job's queue table
 * @nr_rings: entries
 * @sets: by index of the NEFF's queue sets
 * @nr_sets: sets
 * @constants: what the rings read besides variables
 */
struct dma_program {
	struct dma_ring *rings;
	unsigned int nr_rings;
	struct dma_set *sets;
	size_t nr_sets;
	struct dma_constants constants;
};

/*
 * Build the rings, at most @max_descs descriptor pairs in all. On success
 * dma_program_free() frees what is in @program; on failure there is nothing to free.
 */
NRT_STATUS dma_program_build(const struct neff_graph *graph, const struct dma_windows *windows,
			     uint64_t max_descs, struct dma_program *program,
			     struct nrt_error *error);
void dma_program_free(struct dma_program *program);

/*
 * Copy the instructions of @engine to @image, with real triggers. @image has room for
 * graph->image_count[engine] instructions.
 */
NRT_STATUS dma_patch_image(const struct neff_graph *graph, const struct dma_program *program,
			   enum neuron_engine engine, struct neuron_inst *image,
			   struct nrt_error *error);

#endif /* LIBNRT_PROGRAM_DMA_BUILD_H */
