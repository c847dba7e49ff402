/* SPDX-License-Identifier: MIT */
/*
 * Programs of CC-cores on the device: their memory, their windows, their jobs, and what it means
 * when one fails. A program does one collective, or several one after the other.
 */
#ifndef LIBNRT_COMM_CC_CODE_H
#define LIBNRT_COMM_CC_CODE_H

#include "comm/cc_links.h"

/**
 * struct nrt_cc_signal - how a program of a core starts a collective, and learns its end
 * @used: false: it starts at once, and nobody is told
 * @start: semaphore of the CC-core, from which 1 is taken at the start
 * @core, @done: core of the chip, and its semaphore to which 1 is added at the end
 */
struct nrt_cc_signal {
	bool used;
	unsigned int start;
	unsigned int core;
	unsigned int done;
};

/**
 * struct nrt_cc_part - a collective of a program
 * @plan, @program: what all ranks do, and what this one does; they belong to the part
 * @links: to the others, for windows; they live longer
 * @tensors, @places, @nr_tensors: of a list, and where they are in the execution under way: one
 *	without a buffer is in SBUF of the core that is told. They belong to the part
 * @first_sem: number of the rank's semaphore 0 on the CC-core
 * @signal: of this rank alone
 * @names_stream: whoever reads of it wants to know its stream
 * @window: its first one
 * @epoch: of @links and its rights, added, when the windows were last filled
 */
struct nrt_cc_part {
	struct nrt_plan *plan;
	struct nrt_plan_program program;
	const struct nrt_cc_links *links;
	struct cc_tensor *tensors;
	struct nrt_cc_bytes *places;
	unsigned int nr_tensors;
	unsigned int first_sem;
	struct nrt_cc_signal signal;
	bool names_stream;
	uint32_t window;
	uint64_t epoch;
};

/* Semaphores that the part needs on the CC-core. */
static inline unsigned int nrt_cc_part_sems(const struct nrt_cc_part *part)
{
	unsigned int nr = part->program.nr_sems + part->signal.used;

	return nr ? nr : 1;
}

/* Fill @plan and @program from @run, for the rank of @links. A failure leaves nothing to free. */
NRT_STATUS nrt_cc_part_init(struct nrt_cc_part *part, const struct nrt_cc_links *links,
			    const struct nrt_cc_run *run, struct nrt_error *error);
void nrt_cc_part_fini(struct nrt_cc_part *part);

/**
 * struct nrt_cc_code - a program on the device
 * @next: for whoever keeps it
 * @refs: whoever keeps it, and each run
 * @cc: CC-core
 * @parts, @nr_parts: what it does, in this order
 * @program: what it is; without image and rings, which the device has
 * @arena: its memory
 * @queues, @nr_queues: of its job
 * @start: of its job
 * @view: windows
 * @nr_channels: of the only part as it was asked for; those of its plan may be more
 */
struct nrt_cc_code {
	struct nrt_cc_code *next;
	atomic_uint refs;
	struct nrt_core *cc;
	struct nrt_cc_part *parts;
	unsigned int nr_parts;
	struct cc_program program;
	struct nrt_bo *arena;
	struct drm_neuron_queue *queues;
	uint32_t nr_queues;
	struct drm_neuron_start start;
	struct nrt_view view;
	unsigned int nr_channels;
};

/*
 * Make the program of @nr @parts for CC-core @cc of @vcore. They go with it, the array does not;
 * after a failure they are the caller's. Its queues are on the DMA engines from @engine on, and
 * then on those from 0 on.
 */
NRT_STATUS nrt_cc_code_new(const struct nrt_vcore *vcore, struct nrt_core *cc,
			   unsigned int engine, const struct nrt_cc_part *parts, unsigned int nr,
			   struct nrt_cc_code **code, struct nrt_error *error);
void nrt_cc_code_put(struct nrt_cc_code *code);

/* *@scratch, or NULL, has at least @bytes from now on; what is in it does not last. */
NRT_STATUS nrt_cc_scratch(struct nrt_core *cc, uint64_t bytes, struct nrt_bo **scratch,
			  struct nrt_error *error);

/* With the lock of the CC-core: fill the windows of part @nr. @own: memory of this rank. */
void nrt_cc_code_show(struct nrt_cc_code *code, unsigned int nr,
		      const struct nrt_cc_bytes own[NRT_CC_NR_SPACES]);

#define NRT_CC_TEXT	128

/* "rank R of N: OPERATION (ALGORITHM)", with the stream if that is named: of the first part. */
void nrt_cc_code_text(const struct nrt_cc_code *code, char text[NRT_CC_TEXT]);

/* What a job that hung waits for. */
enum nrt_cc_wait {
	NRT_CC_FOR_NOBODY,
	NRT_CC_FOR_MODEL,
	NRT_CC_FOR_RANK,
};

/*
 * Why the job of @code failed: where the rank is in the plan, and whom it waits for. *@wait is
 * that, of a job that hung.
 */
NRT_STATUS nrt_cc_explain(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			  enum nrt_cc_wait *wait, struct nrt_error *error);

/*
 * An engine hung, and that ended the job of @code, which is in its gang. If the CC-core waited for
 * a rank, that is why: add it to @error. False: it did not.
 */
bool nrt_cc_explain_gang(struct nrt_cc_code *code, const struct drm_neuron_wait_job *result,
			 struct nrt_error *error);

#endif /* LIBNRT_COMM_CC_CODE_H */
