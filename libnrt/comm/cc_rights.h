/* SPDX-License-Identifier: MIT */
/*
 * What ranks grant each other for their collectives: to post semaphores of their CC-cores. What is
 * granted is kept as handles of the chip, so it needs no file descriptors.
 */
#ifndef LIBNRT_COMM_CC_RIGHTS_H
#define LIBNRT_COMM_CC_RIGHTS_H

#include "comm/world.h"

/* Of a meeting, with its NUL. */
#define NRT_CC_NAME	48

/**
 * struct nrt_cc_rights - rights of the ranks of a group
 * @world: of the ranks; it lives longer
 * @cc: CC-core of this rank
 * @name: for the meeting
 * @ranks, @nr: by number in the world
 * @me: place of this rank
 * @first_sem, @nr_sems: semaphores of @cc that the others may post
 * @granted: they know it
 * @needed: by place: this rank posts to that one; NULL: perhaps to any
 * @theirs: by place, handles of what they granted; 0: nothing
 * @epoch: how often rights were exchanged
 */
struct nrt_cc_rights {
	struct nrt_world *world;
	struct nrt_core *cc;
	char name[NRT_CC_NAME];
	uint32_t *ranks;
	uint32_t nr;
	uint32_t me;
	unsigned int first_sem;
	unsigned int nr_sems;
	bool granted;
	bool *needed;
	uint32_t *theirs;
	uint64_t epoch;
};

/* Of ranks @ranks, @nr of them, of which place @me is this one. */
NRT_STATUS nrt_cc_rights_init(struct nrt_cc_rights *rights, struct nrt_world *world,
			      struct nrt_core *cc, const uint32_t *ranks, uint32_t nr, uint32_t me,
			      struct nrt_error *error);
/* Also of rights that are zero. */
void nrt_cc_rights_fini(struct nrt_cc_rights *rights);

/* This rank posts to no places but those that this was called for. NRT_RESOURCE. */
NRT_STATUS nrt_cc_rights_need(struct nrt_cc_rights *rights, uint32_t place,
			      struct nrt_error *error);

/*
 * All ranks grant @nr_sems semaphores from @first_sem on, which are clear, and learn what the
 * others grant. @what begins the name of their meeting.
 */
NRT_STATUS nrt_cc_rights_exchange(struct nrt_cc_rights *rights, const char *what,
				  struct nrt_error *error);

/* Rank @rank of the world has that place; @nr: it is not among them. */
uint32_t nrt_cc_rights_place(const struct nrt_cc_rights *rights, uint32_t rank);

/* The same of equal bytes, and very likely another one of others. */
uint64_t nrt_cc_hash(const void *bytes, size_t size);

/* The name of a meeting of some ranks for @what: no others meet by that name. */
void nrt_cc_name(char name[NRT_CC_NAME], const char *what, const uint32_t *ranks, uint32_t nr);

#endif /* LIBNRT_COMM_CC_RIGHTS_H */
