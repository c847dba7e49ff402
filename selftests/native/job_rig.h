/* SPDX-License-Identifier: MIT */
/*
 * Jobs as a kernel would submit them: block, tables and completion record in host
 * memory; programs and rings in an HBM window.
 */
#ifndef JOB_RIG_H
#define JOB_RIG_H

#include "chip_rig.h"

/* The windows of every job. */
enum {
	JOB_W_HBM,	/* its JOB_HBM_BYTES of HBM stack 0 */
	JOB_W_HOST,	/* JOB_HOST_BYTES of host memory */
	JOB_W_SBUF,	/* the core's whole SBUF */
	JOB_W_SEM,	/* the core's own semaphores */
	JOB_W_PEER,	/* what the test makes of them; empty at first */
	JOB_W_PEER_SEM,
	JOB_W_FREE,
	JOB_NR_WINDOWS = JOB_W_FREE + 4
};

#define JOB_HBM_BYTES	NEURON_MIB(4)
#define JOB_HOST_BYTES	0x40000
#define JOB_QUEUES	4
#define JOB_RING	64	/* descriptors */
#define JOB_PROGRAM	64	/* instructions of an engine */

/* Offsets in the HBM window. */
#define JOB_AT_PROGRAM(engine)	((engine) * JOB_PROGRAM * NEURON_INST_SIZE)
#define JOB_AT_RING(q, s2m)	(0x20000 + ((q) * 2 + (s2m)) * 0x1000)
#define JOB_AT_DATA		0x40000

/**
 * struct job_rig - one job of one core
 * @block, @windows, @queues, @completion: in host memory
 * @block_at: bus address of the block
 * @host_at: bus address of what JOB_W_HOST shows
 * @hbm: what JOB_W_HBM shows
 * @pushed: descriptors in each queue's rings: M2S, S2M
 */
struct job_rig {
	struct rig *rig;
	unsigned int chip;
	struct trn_core *core;
	struct neuron_hw_job *block;
	struct neuron_hw_window *windows;
	struct neuron_hw_job_queue *queues;
	struct neuron_hw_completion *completion;
	uint64_t block_at;
	uint64_t host_at;
	uint8_t *hbm;
	uint32_t pushed[JOB_QUEUES][2];
	unsigned int length[NEURON_NR_ENGINES];
	unsigned int irqs;
};

/*
 * A job without programs on @core of @chip, or on a CC-core of 0 to 7 with JOB_CC();
 * it lets its interrupts through.
 */
#define JOB_CC(cc)	(NEURON_MAX_CORES + (cc))
void job_init(struct job_rig *job, struct rig *rig, unsigned int chip,
	      unsigned int core);

/* Append an instruction to the program of @engine. */
struct neuron_inst *job_inst(struct job_rig *job, enum neuron_engine engine,
			     enum neuron_opcode opcode);
void job_halt(struct job_rig *job, enum neuron_engine engine);
/* The job is traced; fill in the window where its trace goes. */
struct neuron_hw_window *job_trace(struct job_rig *job);
/* Wait until @sem is at least @value and subtract it. */
void job_take(struct job_rig *job, enum neuron_engine engine, unsigned int sem,
	      int32_t value);
void job_trigger(struct job_rig *job, enum neuron_engine engine,
		 unsigned int queue, uint32_t m2s, uint32_t s2m);
/* Branch to the first instruction. */
void job_again(struct job_rig *job, enum neuron_engine engine);
/* Store @value at @addr by way of register 1. */
void job_store(struct job_rig *job, enum neuron_engine engine, uint64_t addr,
	       uint32_t value);

/* A packet of one descriptor on each side. */
void job_copy(struct job_rig *job, unsigned int queue, uint64_t dst,
	      uint64_t src, uint32_t len);

/* Ring the doorbell; a record of an earlier run is erased. */
void job_submit(struct job_rig *job);
/* Wait for the interrupt after job_submit(). */
void job_wait(struct job_rig *job);
/* Both, and the record must say OK. */
void job_run(struct job_rig *job);
/* Both, and the record must say ERROR with @cause. */
void job_run_fault(struct job_rig *job, enum neuron_cause cause);

/* Wait for cause REFUSED and clear it. */
void job_assert_refused(struct job_rig *job);

/* Post a semaphore of the job's core as the host's software does. */
void job_post(struct job_rig *job, unsigned int sem, uint32_t value);

/* What JOB_W_HOST shows. */
uint8_t *job_host_ptr(struct job_rig *job);

/* Window addresses: of data in HBM, of host memory, of a semaphore. */
static inline uint64_t job_hbm_at(uint64_t offset)
{
	return neuron_window_addr(JOB_W_HBM, JOB_AT_DATA + offset);
}

static inline uint64_t job_host_at(uint64_t offset)
{
	return neuron_window_addr(JOB_W_HOST, offset);
}

static inline uint64_t job_sem_at(unsigned int sem)
{
	return neuron_window_addr(JOB_W_SEM, sem * 4);
}

uint32_t job_reg(struct job_rig *job, uint32_t reg);
void job_reg_write(struct job_rig *job, uint32_t reg, uint32_t value);
bool job_wait_reg(struct job_rig *job, uint32_t reg, uint32_t value);
/* Wait for a cause, which comes after what it tells of, and clear all causes. */
void job_end_cause(struct job_rig *job, uint32_t cause);

#endif /* JOB_RIG_H */
