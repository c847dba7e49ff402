/* SPDX-License-Identifier: MIT */
/*
 * Saving and loading: streams in memory, work for two chips that has one result
 * however it is scheduled, and a move of that work to two other chips.
 */
#ifndef STATE_RIG_H
#define STATE_RIG_H

#include "seq_rig.h"
#include "base/trn_state.h"

#define STATE_CORES	2	/* of each chip that work */
#define STATE_ROUNDS	12

/**
 * struct stream - bytes that a chip is saved to or loaded from
 * @at: read so far
 */
struct stream {
	uint8_t *data;
	size_t len;
	size_t room;
	size_t at;
};

struct trn_state stream_save(struct stream *stream);
struct trn_state stream_load(struct stream *stream);
void stream_free(struct stream *stream);

/* A stopped chip with its HBM. */
void stream_put_chip(struct stream *stream, struct trn_chip *chip);
/* False: it was refused, with *@why. */
bool stream_get_chip(struct stream *stream, struct trn_chip *chip,
		     const char **why);

/**
 * struct work - jobs on some cores of both chips, and a queue of the kernel's
 * @rig: where they run now
 * @workers: of its pool, as in trn_pool_new()
 * @job: their programs
 */
struct work {
	struct seq_rig *rig;
	unsigned int workers;
	struct seq_job job[SEQ_CHIPS][STATE_CORES];
};

/* What came of it; the same for every run. */
struct work_result {
	struct neuron_hw_completion record[SEQ_CHIPS][STATE_CORES];
	uint64_t time[SEQ_CHIPS];
	uint64_t host[SEQ_CHIPS];
	uint64_t hbm[SEQ_CHIPS];
	uint64_t sbuf[SEQ_CHIPS];
	uint64_t psum[SEQ_CHIPS];
};

/* Chips for the work, with nothing on them. */
struct seq_rig *work_rig_new(unsigned int workers);
void work_rig_free(struct seq_rig *rig, unsigned int workers);
/* All its chips stopped and quiet. */
void work_rig_stop(struct seq_rig *rig, unsigned int workers);

/* Prepare it and start it on new chips. With TRN_POOL_STEPPED call work_step(). */
struct work *work_new(unsigned int workers);
void work_free(struct work *work);
/* Run some tasks. False: there is nothing to do any more. */
bool work_step(struct work *work, unsigned int runs);
/*
 * Save both chips, load them into new ones, which go on; the old ones are freed.
 * True: in the middle of the work, not before or after.
 */
bool work_move(struct work *work, unsigned int workers);
/* Both chips stopped, and back. */
void work_stop(struct work *work);
void work_resume(struct work *work);
/* Why the job of core @core of @chip failed; NONE: it did not, or has not ended. */
enum neuron_cause work_cause(const struct work *work, unsigned int chip,
			     unsigned int core);
/* Wait for the end, and see what came of it. */
void work_wait(struct work *work);
void work_finish(struct work *work, struct work_result *result);

#endif /* STATE_RIG_H */
