/* SPDX-License-Identifier: MIT */
/*
 * Virtual cores, the ones of the public interface: what a model is loaded on. Each is one
 * physical core, or a pair of neighbours that share an HBM stack (LNC 1 or 2).
 */
#ifndef LIBNRT_HW_VCORE_H
#define LIBNRT_HW_VCORE_H

#include "hw/core.h"
#include "plan/plan.h"

/* Physical cores of a virtual one. */
#define NRT_MAX_LNC	2

/* Streams of collectives of a model: each has a CC-core. */
#define NRT_MAX_STREAMS	NRT_PLAN_STREAMS

/* CC-cores of a virtual core: those of the streams, and that of collectives of the host. */
#define NRT_MAX_CC	(NRT_MAX_STREAMS + 1)

/* Jobs of a submission: of the physical cores, and of CC-cores. */
#define NRT_MAX_JOBS	(NRT_MAX_LNC + NRT_MAX_STREAMS)

/**
 * struct nrt_cc_cores - CC-cores that have a job in a submission
 * @core, @nr: in the order of their jobs, which is always that of their streams
 * @stream: of each of them
 */
struct nrt_cc_cores {
	struct nrt_core *core[NRT_MAX_STREAMS];
	unsigned int stream[NRT_MAX_STREAMS];
	unsigned int nr;
};

/**
 * struct nrt_scratch - a scratchpad
 * @page: bytes of a page; 0: it is one piece of memory
 * @bo, @nr: its pages, or the piece of memory
 */
struct nrt_scratch {
	uint64_t page;
	struct nrt_bo **bo;
	unsigned int nr;
};

/**
 * struct nrt_vcore - a virtual core that the process owns
 * @device: chip
 * @vnc: number in the process
 * @number: number in the machine
 * @stack: nearest HBM stack
 * @nr: physical cores
 * @core: the physical cores, in the order of their numbers
 * @cc, @nr_cc: CC-cores of the physical cores, in their order
 * @models: loaded here; under nrt_machine.lock
 * @scratch: shared scratchpad of all models; under nrt_vcore_lock()
 */
struct nrt_vcore {
	struct nrt_device *device;
	unsigned int vnc;
	unsigned int number;
	unsigned int stack;
	unsigned int nr;
	struct nrt_core *core[NRT_MAX_LNC];
	struct nrt_core *cc;
	unsigned int nr_cc;
	unsigned int models;
	struct nrt_scratch scratch;
};

/* Where it is, as plans of collectives want to know. */
struct nrt_plan_place nrt_vcore_place(const struct nrt_vcore *vcore);
/* What joins the chips of its fabric now; NRT_PLAN_ANY if its chip does not tell. */
enum nrt_plan_topology nrt_vcore_topology(const struct nrt_vcore *vcore);

/*
 * The same by the links that the manual gives a chip: one or two of a ring or chain, four of a
 * grid, six of a grid with other servers beside it, or a switch. Links that are down count, and so
 * do those without a peer.
 */
enum nrt_plan_topology nrt_topology_of(const struct drm_neuron_link_info *links, unsigned int nr);

/*
 * How many CC-cores each physical core of a chip has, as far as a virtual core of @lnc physical
 * ones can use them.
 */
unsigned int nrt_cc_per_core(const struct drm_neuron_device_info *info, unsigned int lnc);

/*
 * How many streams there are for collectives of models. The first CC-core is not one of them, if
 * there is another one, because those of the host are there. Which of an execution and a
 * collective of the host comes first is chance on each rank: on one CC-core ranks could wait for
 * each other.
 */
static inline unsigned int nrt_vcore_streams(const struct nrt_vcore *vcore)
{
	return vcore->nr_cc > 1 ? vcore->nr_cc - 1 : vcore->nr_cc;
}

/* The CC-core for stream @stream of the collectives of models, or NULL. */
static inline struct nrt_core *nrt_vcore_stream_cc(const struct nrt_vcore *vcore,
						   unsigned int stream)
{
	if (stream >= nrt_vcore_streams(vcore))
		return NULL;
	return &vcore->cc[(stream + 1) % vcore->nr_cc];
}

/* How many CC-cores each physical core has. */
static inline unsigned int nrt_vcore_cc_of_core(const struct nrt_vcore *vcore)
{
	return vcore->nr_cc / vcore->nr;
}

/*
 * The DMA engine for the first queue of a program on that CC-core. Streams of one physical core
 * have its engines in common, so their first ones are as far apart as can be.
 */
unsigned int nrt_vcore_stream_engine(const struct nrt_vcore *vcore, unsigned int stream);

/* Take the locks of the physical cores, in their order, and of @cc, or NULL; give them back. */
void nrt_vcore_lock(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc);
void nrt_vcore_unlock(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc);

/*
 * Submit @args: a job for each physical core, and behind them one for each of @cc, or NULL. They
 * are a gang: they start and end together. @views: what the window tables must show, or NULL:
 * they stay as they are. With nrt_vcore_lock(), because a table and the job that latches it belong
 * together. @places: of each job in a time group, or NULL. *@job is the id of the first job, the
 * others have the next numbers.
 */
NRT_STATUS nrt_vcore_submit(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc,
			    struct nrt_view *const *views, struct drm_neuron_job *args,
			    const struct nrt_time_place *places, uint64_t *job,
			    struct nrt_error *error);

/*
 * Wait for all jobs of a submission, once; a result of each in @wait. The driver ends every job, so
 * there is no limit here.
 */
NRT_STATUS nrt_vcore_wait(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc, uint64_t job,
			  struct drm_neuron_wait_job *wait, struct nrt_error *error);

/* The shared scratchpad has at least @bytes. What is in it does not last. */
NRT_STATUS nrt_vcore_scratch(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error);

/*
 * @held, which may be zero, becomes the scratchpad as it is now, with references: it may grow
 * meanwhile, which gives it another piece of memory. nrt_scratch_drop() gives them back.
 */
NRT_STATUS nrt_vcore_hold_scratch(struct nrt_vcore *vcore, struct nrt_scratch *held,
				  struct nrt_error *error);
void nrt_scratch_drop(struct nrt_scratch *held);

/* The buffer that has byte *@offset of the scratchpad; *@offset becomes that in the buffer. */
struct nrt_bo *nrt_scratch_at(const struct nrt_scratch *scratch, uint64_t *offset);

/* Give the scratchpad back. */
void nrt_vcore_fini(struct nrt_vcore *vcore);

#endif /* LIBNRT_HW_VCORE_H */
