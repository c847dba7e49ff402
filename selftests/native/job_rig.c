// SPDX-License-Identifier: MIT
#include "job_rig.h"

#include <string.h>

#include "contract/job.h"
#include "contract/ring.h"
#include "contract/window.h"

#define HBM_AT(core)	((core) * JOB_HBM_BYTES)

static void *host_struct(struct job_rig *job, size_t len, uint64_t *addr)
{
	uint64_t at = rig_host(job->rig, job->chip, len);

	*addr = rig_host_addr(job->rig, job->chip, at);
	return rig_host_ptr(job->rig, job->chip, at);
}

static unsigned int top_sp(const struct trn_core *core)
{
	return neuron_top_sp_of_id(core->chip->gen, core->index - NEURON_MAX_CORES);
}

/* The semaphore block of a core: its device address, and where BAR0 shows it. */
static uint64_t sem_addr(const struct trn_core *core)
{
	const struct neuron_gen *gen = core->chip->gen;

	if (trn_core_is_cc(core))
		return neuron_top_sp_addr(gen, top_sp(core)) + NEURON_TOP_SP_SEM;
	return gen->tpb_addr[core->index] + NEURON_TPB_SEM;
}

static uint32_t sem_bar0(const struct trn_core *core)
{
	const struct neuron_gen *gen = core->chip->gen;

	if (trn_core_is_cc(core))
		return neuron_top_sp_bar0(gen, top_sp(core)) + NEURON_TOP_SP_SEM;
	return neuron_tpb_bar0(gen, core->index) + NEURON_TPB_SEM;
}

static void init_windows(struct job_rig *job)
{
	const uint32_t rw = NEURON_WINDOW_RIGHTS;
	const struct neuron_gen *gen = job->core->chip->gen;
	uint64_t tpb = gen->tpb_addr[job->core->tpb->index];
	struct neuron_hw_window *w = job->windows;

	job->host_at = rig_host(job->rig, job->chip, JOB_HOST_BYTES);
	w[JOB_W_HBM] = neuron_hw_window_memory(NEURON_WINDOW_HBM, rw, HBM_AT(job->core->index),
					       JOB_HBM_BYTES);
	w[JOB_W_HOST] = neuron_hw_window_memory(NEURON_WINDOW_HOST, rw,
						rig_host_addr(job->rig, job->chip, job->host_at),
						JOB_HOST_BYTES);
	w[JOB_W_SBUF] = neuron_hw_window_memory(NEURON_WINDOW_SBUF, rw, tpb + NEURON_TPB_SBUF,
						NEURON_TPB_SBUF_SIZE);
	w[JOB_W_SEM] = neuron_hw_window_sems(rw, sem_addr(job->core), 0, NEURON_NR_SEMAPHORES, 0);
}

static void init_queues(struct job_rig *job)
{
	unsigned int first = neuron_core_dma(job->core->tpb->index), q;
	unsigned int queue = trn_core_is_cc(job->core) ? job->core->index - 4 : 0;

	for (q = 0; q < JOB_QUEUES; q++) {
		assert_null(neuron_hw_job_queue_place(&job->queues[q], first, (uint16_t)(q * 5),
						      (uint16_t)(queue + q)));
		neuron_hw_job_queue_rings(&job->queues[q],
					  neuron_window_addr(JOB_W_HBM, JOB_AT_RING(q, 0)),
					  JOB_RING,
					  neuron_window_addr(JOB_W_HBM, JOB_AT_RING(q, 1)),
					  JOB_RING, 0);
	}
}

static unsigned int vector(const struct job_rig *job)
{
	return job->core->tpb->index;
}

void job_init(struct job_rig *job, struct rig *rig, unsigned int chip,
	      unsigned int core)
{
	uint64_t windows, queues, completion, block;

	memset(job, 0, sizeof(*job));
	job->rig = rig;
	job->chip = chip;
	job->core = &rig->chip[chip]->core[core];
	job->hbm = rig->chip[chip]->hbm[0] + HBM_AT(core);
	job->block = host_struct(job, sizeof(*job->block), &block);
	job->block_at = block;
	job->windows = host_struct(job, JOB_NR_WINDOWS * sizeof(*job->windows),
				   &windows);
	/* Room for the window of a trace behind them. */
	job->queues = host_struct(job, (JOB_QUEUES + 1) * sizeof(*job->queues),
				  &queues);
	job->completion = host_struct(job, sizeof(*job->completion),
				      &completion);
	init_windows(job);
	init_queues(job);
	neuron_hw_job_begin(job->block, 0x1234567800000000ull + core, completion);
	neuron_hw_job_windows(job->block, windows, JOB_NR_WINDOWS);
	neuron_hw_job_queues(job->block, queues, JOB_QUEUES);
	/* The tests that use events say which. */
	memset(job->block->event_own, 0, sizeof(job->block->event_own));
	job_reg_write(job, NEURON_CORE_MASK, 0);
}

struct neuron_inst *job_inst(struct job_rig *job, enum neuron_engine engine,
			     enum neuron_opcode opcode)
{
	struct neuron_inst *program = (void *)(job->hbm +
					       JOB_AT_PROGRAM(engine));
	struct neuron_inst *inst = &program[job->length[engine]++];

	assert_true(job->length[engine] <= JOB_PROGRAM);
	memset(inst, 0, sizeof(*inst));
	inst->opcode = opcode;
	neuron_hw_job_start(job->block, engine,
			    neuron_window_addr(JOB_W_HBM, JOB_AT_PROGRAM(engine)),
			    job->length[engine]);
	return inst;
}

void job_halt(struct job_rig *job, enum neuron_engine engine)
{
	job_inst(job, engine, NEURON_OP_HALT);
}

struct neuron_hw_window *job_trace(struct job_rig *job)
{
	neuron_hw_job_trace(job->block, job->block->queue_table);
	return (void *)(job->queues + JOB_QUEUES);
}

void job_take(struct job_rig *job, enum neuron_engine engine, unsigned int sem,
	      int32_t value)
{
	struct neuron_inst *inst = job_inst(job, engine, NEURON_OP_NOP);

	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) |
		     NEURON_SYNC_TAKE;
	inst->wait_sem = (uint16_t)sem;
	inst->wait_value = (uint32_t)value;
}

void job_trigger(struct job_rig *job, enum neuron_engine engine,
		 unsigned int queue, uint32_t m2s, uint32_t s2m)
{
	struct neuron_inst *inst =
		job_inst(job, engine, NEURON_OP_DMA_TRIGGER);

	inst->reg[0] = queue & 0xff;
	inst->reg[1] = queue >> 8;
	inst->imm0 = m2s;
	inst->imm1 = s2m;
}

void job_again(struct job_rig *job, enum neuron_engine engine)
{
	job_inst(job, engine, NEURON_OP_BRANCH)->op0 = NEURON_ALU_BYPASS;
}

void job_store(struct job_rig *job, enum neuron_engine engine, uint64_t addr,
	       uint32_t value)
{
	struct neuron_inst *inst = job_inst(job, engine, NEURON_OP_REG_SET);

	inst->reg[0] = 1;
	inst->imm0 = value;
	inst = job_inst(job, engine, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = addr;
}

void job_copy(struct job_rig *job, unsigned int queue, uint64_t dst,
	      uint64_t src, uint32_t len)
{
	uint32_t n = job->pushed[queue][0]++;
	uint32_t id = neuron_ring_id(n, JOB_RING);
	struct neuron_udma_desc *m2s = (void *)(job->hbm +
						JOB_AT_RING(queue, 0));
	struct neuron_udma_desc *s2m = (void *)(job->hbm +
						JOB_AT_RING(queue, 1));

	job->pushed[queue][1]++;
	m2s[n % JOB_RING] = neuron_copy_source(src, len, id, NEURON_UDMA_META_DEFAULT);
	s2m[n % JOB_RING] = neuron_copy_target(dst, len, id, 0);
}

void job_reg_write(struct job_rig *job, uint32_t reg, uint32_t value)
{
	trn_chip_mmio_write(job->core->chip,
			    rig_core_reg(job->rig, job->core->index, reg),
			    value, 4);
}

uint32_t job_reg(struct job_rig *job, uint32_t reg)
{
	return (uint32_t)trn_chip_mmio_read(job->core->chip,
					    rig_core_reg(job->rig,
							 job->core->index, reg),
					    4);
}

bool job_wait_reg(struct job_rig *job, uint32_t reg, uint32_t value)
{
	return fake_wait_reg(job->core->chip,
			     rig_core_reg(job->rig, job->core->index, reg),
			     ~0u, value);
}

void job_end_cause(struct job_rig *job, uint32_t cause)
{
	assert_true(fake_wait_reg(job->core->chip,
				  rig_core_reg(job->rig, job->core->index,
					       NEURON_CORE_CAUSE), cause, cause));
	job_reg_write(job, NEURON_CORE_CAUSE, ~0u);
}

void job_submit(struct job_rig *job)
{
	memset(job->completion, 0, sizeof(*job->completion));
	job->irqs = fake_irqs(&job->rig->port[job->chip], vector(job));
	job_reg_write(job, NEURON_CORE_DOORBELL_LO, (uint32_t)job->block_at);
	job_reg_write(job, NEURON_CORE_DOORBELL_HI, job->block_at >> 32);
}

/* An interrupt whose cause was seen and cleared before it came is no sign. */
void job_wait(struct job_rig *job)
{
	struct fake_port *port = &job->rig->port[job->chip];
	unsigned int seen = job->irqs;
	uint32_t cause;

	do {
		if (!fake_wait_irq(port, vector(job), seen + 1))
			fail_msg("core %u: no interrupt", job->core->index);
		seen = fake_irqs(port, vector(job));
		cause = job_reg(job, NEURON_CORE_CAUSE);
	} while (!cause);
	assert_int_equal(cause, NEURON_CORE_CAUSE_DONE);
	job_reg_write(job, NEURON_CORE_CAUSE, NEURON_CORE_CAUSE_DONE);
	assert_int_equal(job->completion->job_id, job->block->job_id);
	assert_int_equal(job->completion->flags & NEURON_COMPLETION_INEXACT, 0);
}

void job_run(struct job_rig *job)
{
	job_submit(job);
	job_wait(job);
	assert_int_equal(job->completion->cause, NEURON_CAUSE_NONE);
	assert_int_equal(job->completion->status, NEURON_JOB_OK);
}

void job_run_fault(struct job_rig *job, enum neuron_cause cause)
{
	job_submit(job);
	job_wait(job);
	assert_int_equal(job->completion->cause, cause);
	assert_int_equal(job->completion->status, NEURON_JOB_ERROR);
}

void job_assert_refused(struct job_rig *job)
{
	assert_true(job_wait_reg(job, NEURON_CORE_CAUSE,
				 NEURON_CORE_CAUSE_REFUSED));
	job_reg_write(job, NEURON_CORE_CAUSE, NEURON_CORE_CAUSE_REFUSED);
}

void job_post(struct job_rig *job, unsigned int sem, uint32_t value)
{
	trn_chip_mmio_write(job->core->chip, sem_bar0(job->core) + NEURON_SEM_INC(sem),
			    value, 4);
}

uint8_t *job_host_ptr(struct job_rig *job)
{
	return rig_host_ptr(job->rig, job->chip, job->host_at);
}
