/* SPDX-License-Identifier: MIT */
/*
 * Device times of collectives. Ranks of a world whose links and memories are to be shared in their
 * times meet once, and have a series of time groups then. Each of their runs has the next number of
 * the series, on every rank, so all jobs of a run are one group. A rank that does not do a run
 * leaves its number out, and those that do it get times that are not exact.
 *
 * Of each core the jobs of its last requests are kept, so that somebody can ask for their times.
 */
#ifndef LIBNRT_COMM_CC_TIMES_H
#define LIBNRT_COMM_CC_TIMES_H

#include "comm/world.h"
#include "hw/series.h"

/* Jobs of a core of which times can be asked for: as many as a back end knows results. */
#define NRT_CC_TIMES	1024

/*
 * This rank and others, of the world, are timed together from now on; each of the @nr @ranks says
 * so, with the same list, while it has no collective under way. NRT_INVALID: it is none of them;
 * they have other numbers of cores; NRT_FAILURE: the back end has no times; why the world failed.
 */
NRT_STATUS nrt_cc_times_join(struct nrt_world *world, const uint32_t *ranks, uint32_t nr,
			     struct nrt_error *error);

/* From now on the rank is timed with nobody. */
void nrt_cc_times_leave(struct nrt_world *world);

/* The same, with the lock of @world. */
void nrt_cc_times_end(struct nrt_world *world);

/*
 * A run of @kind begins. False: it is not timed; else @places says which members its jobs are: the
 * one of the host's CC-core, or those of a gang, of which there are NRT_MAX_JOBS at most.
 */
bool nrt_cc_times_next(struct nrt_world *world, unsigned int kind,
		       struct nrt_time_place *places);

/* --- Requests --- */

struct nrt_cc_times;

/* Of @cores cores. NULL: no memory. */
struct nrt_cc_times *nrt_cc_times_new(unsigned int cores);
void nrt_cc_times_free(struct nrt_cc_times *times);

/**
 * struct nrt_cc_timed - a job that is a member of a group
 * @seq: its request
 * @first: no job of the request comes before it
 * @core, @job: which one it is
 */
struct nrt_cc_timed {
	uint64_t seq;
	bool first;
	struct nrt_core *core;
	uint64_t job;
};

/* Core @vnc has begun another job. Jobs of other requests may come between those of one. */
void nrt_cc_times_add(struct nrt_cc_times *times, unsigned int vnc, struct nrt_cc_timed timed);

/**
 * struct nrt_cc_time - times of a request
 * @start_ns, @end_ns: device time of its first and of its last moment
 * @cause: enum neuron_settle_cause; not FINE: they are not exact
 */
struct nrt_cc_time {
	uint64_t start_ns;
	uint64_t end_ns;
	uint16_t cause;
};

/*
 * Times of request @seq of core @vnc. NRT_QUEUE_EMPTY: it is not timed, or too long ago;
 * NRT_TIMEOUT: not known at @deadline_ns.
 */
NRT_STATUS nrt_cc_times_get(struct nrt_cc_times *times, unsigned int vnc, uint64_t seq,
			    int64_t deadline_ns, struct nrt_cc_time *time,
			    struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_TIMES_H */
