/* SPDX-License-Identifier: MIT */
/*
 * Programs for the sequencers: chips on fake ports, instructions by helper, and
 * jobs that a kernel could have written.
 */
#ifndef SEQ_RIG_H
#define SEQ_RIG_H

#include "fake_port.h"
#include "neuron/isa.h"
#include "neuron/job.h"
#include "neuron/udma.h"
#include "neuron/window.h"
#include "chip_parts.h"

#define SEQ_CHIPS	2	/* of a rig that is saved (state_rig.h) */
#define SEQ_MAX_CHIPS	4
#define SEQ_PROGRAM	256		/* instructions of an engine */
#define SEQ_QUEUES	32
#define SEQ_RING	64
#define SEQ_WINDOWS	16

/* Windows that every job has. */
enum {
	SEQ_CODE,		/* HBM, read: the images and rings */
	SEQ_DATA,		/* HBM, read and write */
	SEQ_SBUF,
	SEQ_PSUM,
	SEQ_SEM,		/* the 256 semaphores of the own core */
	SEQ_FREE,		/* the test's own from here on */
};

#define SEQ_DATA_BYTES	NEURON_MIB(1)
#define SEQ_HOST_BYTES	4096

/**
 * struct seq_rig - chips on a fabric
 * @clean: there must be no report of the checks
 * @stepped: there are no workers; seq_run() does what they would
 */
struct seq_rig {
	struct trn_pool *pool;
	struct trn_fabric *fabric;
	struct fake_port port[SEQ_MAX_CHIPS];
	struct trn_chip *chip[SEQ_MAX_CHIPS];
	unsigned int nr_chips;
	unsigned int done[SEQ_MAX_CHIPS][NEURON_MAX_CORES];
	bool clean;
	bool stepped;
};

/*
 * @workers as in trn_pool_new(). With NEURON_TEST_CHECK in the environment the chips
 * check jobs, all memory counting as written, and a report fails the test in
 * seq_rig_destroy(), unless it is one of an ACCESS that the test asked for.
 */
void seq_rig_init(struct seq_rig *rig, const struct neuron_gen *gen,
		  unsigned int workers, unsigned int chips, bool clock);
/* The same with checks on request; what they report is the test's matter. */
void seq_rig_init_check(struct seq_rig *rig, const struct neuron_gen *gen,
			unsigned int workers, unsigned int chips, bool clock);
void seq_rig_destroy(struct seq_rig *rig);
/* What the chips can do and hardware cannot is carried out. */
void seq_more_operators(struct seq_rig *rig, bool on);

struct trn_core *seq_core(struct seq_rig *rig, unsigned int chip,
			  unsigned int core);
/* Partition @p of the memories, and the data window's bytes. */
void *seq_sbuf(struct trn_core *core, unsigned int p, size_t offset);
void *seq_psum(struct trn_core *core, unsigned int p, size_t offset);
uint8_t *seq_data(struct seq_rig *rig, unsigned int chip, unsigned int core);
/* Plain device address of the data window. */
uint64_t seq_data_addr(struct seq_rig *rig, unsigned int chip, unsigned int core);

/**
 * struct seq_job - a job under construction
 * @prog, @nr: images
 * @per_engine: queues of a DMA engine, before it has the next one; 0: one
 * @queue_flags: NEURON_JOB_QUEUE_* of each queue
 * @block: start, queue and window fields are filled in by seq_submit()
 * @trace: with the flag NEURON_JOB_TRACE: the window of the job's trace
 * @group: with the flag NEURON_JOB_GROUP: its time group, but for @settle
 * @inexact: its times may depend on the host; else seq_wait() fails when they do
 */
struct seq_job {
	struct seq_rig *rig;
	unsigned int chip;
	unsigned int core;
	struct neuron_inst prog[NEURON_NR_ENGINES][SEQ_PROGRAM];
	unsigned int nr[NEURON_NR_ENGINES];
	struct neuron_hw_window window[SEQ_WINDOWS];
	unsigned int nr_windows;
	unsigned int nr_queues;
	unsigned int per_engine;
	uint32_t queue_flags[SEQ_QUEUES];
	unsigned int m2s[SEQ_QUEUES];
	unsigned int s2m[SEQ_QUEUES];
	struct neuron_hw_job block;
	struct neuron_hw_window trace;
	struct neuron_hw_time_group group;
	bool inexact;
};

/* Host memory of a core, SEQ_HOST_BYTES that the rig does not use. */
uint8_t *seq_host(struct seq_rig *rig, unsigned int chip, unsigned int core);

/* Owns all semaphores and clears all but 200 to 255. */
void seq_job_init(struct seq_job *job, struct seq_rig *rig, unsigned int chip,
		  unsigned int core);
/* Append; the result may be changed until seq_submit(). */
struct neuron_inst *seq_add(struct seq_job *job, enum neuron_engine engine,
			    struct neuron_inst inst);
/* Append a descriptor on each side of queue @q, before seq_submit(). */
void seq_copy(struct seq_job *job, unsigned int q, uint64_t dst, uint64_t src,
	      uint32_t len);
/* The M2S descriptor of the last of them. */
struct neuron_udma_desc *seq_last_desc(struct seq_job *job, unsigned int q);
/* A semaphore window on another core, routed when on the other chip. */
uint64_t seq_sem_window(struct seq_job *job, unsigned int chip,
			unsigned int core, unsigned int sem);
/* A window of the job onto seq_host(). */
uint64_t seq_host_window(struct seq_job *job);
void seq_submit(struct seq_job *job);
/* The record's status at this moment, as software that polls reads it; 0: none yet. */
uint16_t seq_status(const struct seq_job *job);
/* What workers would do, where there are none. */
void seq_step(struct seq_rig *rig);
struct neuron_hw_completion seq_wait(struct seq_job *job);
struct neuron_hw_completion seq_run(struct seq_job *job);
/*
 * Instead of seq_wait(), for a job in a time group: wait for the causes of its records, which
 * stay until the next seq_submit(). Has the settle record come? As it is in memory now.
 */
struct neuron_hw_completion seq_record(struct seq_job *job);
struct neuron_hw_settle seq_settled(struct seq_job *job);
bool seq_has_settled(void *job);
struct neuron_hw_settle seq_settle_record(struct seq_job *job);
/* Run; fail unless it ends with @cause in @engine at @pc. */
void seq_expect_fault(struct seq_job *job, enum neuron_cause cause,
		      enum neuron_engine engine, uint32_t pc);
void seq_expect_ok(struct seq_job *job);
/* The image in memory, for tests that change it. */
uint8_t *seq_image(struct seq_job *job, enum neuron_engine engine);

/* --- instructions --- */

struct neuron_ap ap_sbuf(unsigned int first, unsigned int partitions,
			 uint32_t offset, unsigned int dtype, unsigned int n);
struct neuron_ap ap_psum(unsigned int first, unsigned int partitions,
			 uint32_t offset, unsigned int dtype, unsigned int n);
/* Set dimension @d (0 innermost). */
struct neuron_ap ap_dim(struct neuron_ap ap, unsigned int d, unsigned int num,
			int step);
uint32_t f32(float value);
#define OP(name, ...) \
	((struct neuron_inst){ .opcode = NEURON_OP_##name, __VA_ARGS__ })
struct neuron_inst wait_ge(struct neuron_inst inst, unsigned int sem, int value);
struct neuron_inst wait_eq(struct neuron_inst inst, unsigned int sem, int value);
struct neuron_inst take_ge(struct neuron_inst inst, unsigned int sem, int value);
struct neuron_inst post(struct neuron_inst inst, unsigned int sem,
			unsigned int op, int value);
struct neuron_inst post_add(struct neuron_inst inst, unsigned int sem, int value);

#endif /* SEQ_RIG_H */
