/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a group have of each other for a collective: buffers, and where its semaphores
 * are. They tell each other what they are about to do, compare it, and exchange descriptors.
 */
#ifndef LIBNRT_COMM_CC_LINKS_H
#define LIBNRT_COMM_CC_LINKS_H

#include "comm/cc_rights.h"
#include "program/cc_build.h"

/* What a rank shows of its memory. */
#define NRT_CC_NR_SPACES	CC_SHOWN_SEMAPHORES

/* Bytes of a buffer; @length 0: there are none. */
struct nrt_cc_bytes {
	struct nrt_bo *bo;
	uint64_t offset;
	uint64_t length;
};

/**
 * struct nrt_cc_run - a collective that a rank takes part in
 * @op, @reduce, @dtype, @count, @in_place: as in struct nrt_plan_ask
 * @recv_counts_known, @has_rdispls: likewise
 * @pairs, @nr_pairs, @root, @nr_channels, @priority, @stream: likewise; the pairs are the caller's
 * @tensors: of a list: what tells how large each tensor is in a block; else 0
 * @input, @output: where they are, from multiples of 4 bytes on. In place only the larger one is
 *	used, or the output if they are equal
 * @meta: of *_V: likewise
 */
struct nrt_cc_run {
	enum nrt_plan_op op;
	enum nrt_plan_reduce reduce;
	uint8_t dtype;
	uint64_t count;
	bool in_place;
	bool recv_counts_known;
	bool has_rdispls;
	const struct nrt_plan_pair *pairs;
	unsigned int nr_pairs;
	unsigned int root;
	unsigned int nr_channels;
	uint8_t priority;
	uint8_t stream;
	uint64_t tensors;
	struct nrt_cc_bytes input;
	struct nrt_cc_bytes output;
	struct nrt_cc_bytes meta;
};

/* What a rank says of the metadata of its run, as bits. */
#define NRT_CC_RECV_COUNTS_KNOWN	(1u << 0)
#define NRT_CC_HAS_RDISPLS		(1u << 1)

/* A rank has other buffers, or other semaphores, than the last time. */
#define NRT_CC_FRESH_BUFFERS	(1u << 0)
#define NRT_CC_FRESH_RIGHTS	(1u << 1)

/**
 * struct nrt_cc_agreement - what a rank is about to do, as it tells the others
 * @status: it cannot; what follows is zero then
 * @op, @reduce, @dtype, @in_place, @algorithm, @count, @root, @nr_channels, @priority: of the run;
 *	the same for all
 * @metadata: likewise, NRT_CC_RECV_COUNTS_KNOWN and NRT_CC_HAS_RDISPLS
 * @fresh: what the others do not know yet: NRT_CC_FRESH_*
 * @ranks, @pairs: hashes of them; those of the ranks in their order
 * @tensors: of the run; the same for all
 * @first_sem, @nr_sems: its semaphores, counted from the first one that it grants on; zero as long
 *	as they do not matter
 * @offset, @length: of the bytes in its buffers
 */
struct nrt_cc_agreement {
	int32_t status;
	uint8_t op;
	uint8_t reduce;
	uint8_t dtype;
	uint8_t in_place;
	uint32_t algorithm;
	uint32_t metadata;
	uint32_t fresh;
	uint64_t count;
	uint64_t ranks;
	uint64_t pairs;
	uint64_t tensors;
	uint32_t root;
	uint16_t nr_channels;
	uint16_t priority;
	uint32_t first_sem;
	uint32_t nr_sems;
	uint64_t offset[NRT_CC_NR_SPACES];
	uint64_t length[NRT_CC_NR_SPACES];
};

/**
 * struct nrt_cc_peer - a rank of the group, as this one sees it
 * @place: among those of the rights
 * @first_sem, @nr_sems: of what it grants
 * @bo: buffers of it that were exchanged last, by enum cc_shown; imported, or NULL
 * @offset, @length: of the bytes of the run under way in them
 */
struct nrt_cc_peer {
	uint32_t place;
	unsigned int first_sem;
	unsigned int nr_sems;
	struct nrt_bo *bo[NRT_CC_NR_SPACES];
	uint64_t offset[NRT_CC_NR_SPACES];
	uint64_t length[NRT_CC_NR_SPACES];
};

/**
 * struct nrt_cc_links - a rank's links to the others of a group
 * @rights: of these ranks, and perhaps more; they live longer
 * @ranks, @nr: in their order, by number in the world
 * @me: place of this rank
 * @name: of the group, for meetings
 * @shared: ids of the buffers that the others know; 0: none
 * @peers: by place in the group; this rank's is not used
 * @epoch: how often buffers were exchanged
 */
struct nrt_cc_links {
	const struct nrt_cc_rights *rights;
	uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
	char name[NRT_CC_NAME];
	uint64_t shared[NRT_CC_NR_SPACES];
	struct nrt_cc_peer *peers;
	uint64_t epoch;
};

/* To ranks @ranks, @nr of them, of which place @me is this one. @what: begins the name. */
NRT_STATUS nrt_cc_links_init(struct nrt_cc_links *links, const struct nrt_cc_rights *rights,
			     const char *what, const uint32_t *ranks, uint32_t nr, uint32_t me,
			     struct nrt_error *error);
/* Also of links that are zero. */
void nrt_cc_links_fini(struct nrt_cc_links *links);

/* The plan of @run, which all ranks make alike. */
NRT_STATUS nrt_cc_links_plan(const struct nrt_cc_links *links, const struct nrt_cc_run *run,
			     struct nrt_plan **plan, struct nrt_error *error);

/* Do others touch that memory of this rank? */
bool nrt_cc_is_exposed(const struct nrt_plan *plan, const struct nrt_plan_program *part,
		       enum cc_shown what);

/* Of the window @what: DRM_NEURON_WINDOW_READ and _WRITE for @access (struct nrt_plan_peer). */
uint32_t nrt_cc_rights(const struct nrt_plan *plan, uint8_t access, enum cc_shown what);

/*
 * What this rank says of @run, whose @plan has @part for it; @own: its memory. Of its semaphores
 * it says nothing.
 */
struct nrt_cc_agreement nrt_cc_say(const struct nrt_cc_links *links, const struct nrt_cc_run *run,
				   const struct nrt_plan *plan,
				   const struct nrt_plan_program *part,
				   const struct nrt_cc_bytes own[NRT_CC_NR_SPACES]);

/* Do @all, by place in the group, agree? *@fresh: what some of them have new. */
NRT_STATUS nrt_cc_compare(const struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			  uint32_t *fresh, struct nrt_error *error);

/* They do: from now on the peers have what they said. */
void nrt_cc_accept(struct nrt_cc_links *links, const struct nrt_cc_agreement *all);

/* All ranks exchange descriptors of the buffers that they showed. */
NRT_STATUS nrt_cc_exchange(struct nrt_cc_links *links, const struct nrt_cc_agreement *all,
			   const struct nrt_cc_bytes own[NRT_CC_NR_SPACES],
			   struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_LINKS_H */
