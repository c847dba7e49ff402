// SPDX-License-Identifier: MIT
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "contract/job.h"
#include "contract/ring.h"
#include "contract/window.h"
#include "hook/trn_check.h"

/* Of each core: host memory, and HBM of stack 0. */
#define HOST_STRIDE	0x10000
#define HOST_COMPLETION	0x400
#define HOST_SETTLE	0x440
#define HOST_WINDOWS	0x800
#define HOST_QUEUES	0x2000
#define HOST_FREE	0xf000
#define HBM_STRIDE	NEURON_MIB(4)
#define HBM_CODE	0
#define HBM_ENGINE	(SEQ_PROGRAM * NEURON_INST_SIZE)
#define HBM_RINGS	NEURON_MIB(1)
#define HBM_RING	(SEQ_RING * sizeof(struct neuron_udma_desc))
#define HBM_DATA	NEURON_MIB(2)

static void rig_init(struct seq_rig *rig, const struct neuron_gen *gen,
		     unsigned int workers, unsigned int chips, bool clock,
		     bool check)
{
	unsigned int c, i;

	memset(rig, 0, sizeof(*rig));
	rig->nr_chips = chips;
	rig->stepped = workers == TRN_POOL_STEPPED;
	rig->pool = trn_pool_new(workers, NULL, NULL);
	assert_non_null(rig->pool);
	rig->fabric = trn_fabric_new();
	assert_non_null(rig->fabric);
	for (c = 0; c < chips; c++) {
		struct trn_chip_config config;
		const char *why = NULL;

		fake_port_init(&rig->port[c], NEURON_MIB(1));
		config = fake_chip_config(&rig->port[c], gen, rig->pool,
					  rig->fabric, c);
		config.clock = clock;
		config.check_memory = check;
		rig->chip[c] = trn_chip_new(&config, &why);
		if (!rig->chip[c])
			fail_msg("no chip: %s", why);
		for (i = 0; i < gen->nr_cores; i++)
			trn_chip_mmio_write(rig->chip[c], neuron_ctl_bar0(gen) +
					    NEURON_CTL_CORE(i) + NEURON_CORE_MASK,
					    0, 4);
	}
}

void seq_rig_init(struct seq_rig *rig, const struct neuron_gen *gen,
		  unsigned int workers, unsigned int chips, bool clock)
{
	bool check = getenv("NEURON_TEST_CHECK");
	unsigned int c;

	rig_init(rig, gen, workers, chips, clock, check);
	rig->clean = check;
	for (c = 0; check && c < chips; c++)
		trn_check_trust(rig->chip[c]);
}

void seq_rig_init_check(struct seq_rig *rig, const struct neuron_gen *gen,
			unsigned int workers, unsigned int chips, bool clock)
{
	rig_init(rig, gen, workers, chips, clock, true);
}

static void expect_clean(struct seq_rig *rig, unsigned int c)
{
	struct fake_port *port = &rig->port[c];
	unsigned int kind, i;

	for (kind = 0; kind < TRN_CHECK_KINDS; kind++) {
		if (kind == TRN_CHECK_RANGE ||
		    !trn_check_count(rig->chip[c], kind))
			continue;
		for (i = 0; i < FAKE_LOG_LINES; i++)
			if (strstr(port->log[i], "check "))
				print_error("%s\n", port->log[i]);
		fail_msg("chip %u has reports of kind %u", c, kind);
	}
}

void seq_rig_destroy(struct seq_rig *rig)
{
	unsigned int c;

	for (c = 0; c < rig->nr_chips; c++) {
		fake_chip_stop(rig->chip[c]);
		if (rig->clean)
			expect_clean(rig, c);
	}
	for (c = 0; c < rig->nr_chips; c++) {
		trn_chip_free(rig->chip[c]);
		fake_port_destroy(&rig->port[c]);
	}
	trn_fabric_unref(rig->fabric);
	trn_pool_free(rig->pool);
}

void seq_more_operators(struct seq_rig *rig, bool on)
{
	unsigned int c;

	for (c = 0; c < rig->nr_chips; c++)
		rig->chip[c]->config.more_operators = on;
}

struct trn_core *seq_core(struct seq_rig *rig, unsigned int chip,
			  unsigned int core)
{
	return &rig->chip[chip]->core[core];
}

void *seq_sbuf(struct trn_core *core, unsigned int p, size_t offset)
{
	return core->sbuf + p * NEURON_TPB_SBUF_STRIDE + offset;
}

void *seq_psum(struct trn_core *core, unsigned int p, size_t offset)
{
	return core->psum + p * NEURON_TPB_PSUM_STRIDE + offset;
}

static uint8_t *hbm(struct seq_rig *rig, unsigned int chip, unsigned int core)
{
	return (uint8_t *)trn_chip_hbm(rig->chip[chip], 0) + core * HBM_STRIDE;
}

uint8_t *seq_data(struct seq_rig *rig, unsigned int chip, unsigned int core)
{
	return hbm(rig, chip, core) + HBM_DATA;
}

uint8_t *seq_host(struct seq_rig *rig, unsigned int chip, unsigned int core)
{
	return rig->port[chip].host + core * HOST_STRIDE + HOST_FREE;
}

uint64_t seq_data_addr(struct seq_rig *rig, unsigned int chip, unsigned int core)
{
	return rig->chip[chip]->gen->hbm_addr[0] + core * HBM_STRIDE + HBM_DATA;
}

void seq_job_init(struct seq_job *job, struct seq_rig *rig, unsigned int chip,
		  unsigned int core)
{
	const struct neuron_gen *gen = rig->chip[chip]->gen;
	uint64_t hbm_addr = gen->hbm_addr[0] + core * HBM_STRIDE;
	uint64_t tpb = gen->tpb_addr[core];
	const uint32_t rw = NEURON_WINDOW_RIGHTS;
	const struct neuron_hw_window windows[SEQ_FREE] = {
		[SEQ_CODE] = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_READ,
						     hbm_addr, HBM_DATA),
		[SEQ_DATA] = neuron_hw_window_memory(NEURON_WINDOW_HBM, rw, hbm_addr + HBM_DATA,
						     SEQ_DATA_BYTES),
		[SEQ_SBUF] = neuron_hw_window_memory(NEURON_WINDOW_SBUF, rw,
						     tpb + NEURON_TPB_SBUF,
						     NEURON_TPB_SBUF_SIZE),
		[SEQ_PSUM] = neuron_hw_window_memory(NEURON_WINDOW_PSUM, rw,
						     tpb + NEURON_TPB_PSUM,
						     NEURON_TPB_PSUM_SIZE),
		[SEQ_SEM] = neuron_hw_window_sems(rw, tpb + NEURON_TPB_SEM, 0,
						  NEURON_NR_SEMAPHORES, 0),
	};
	unsigned int i;

	memset(job, 0, sizeof(*job));
	job->rig = rig;
	job->chip = chip;
	job->core = core;
	memcpy(job->window, windows, sizeof(windows));
	job->nr_windows = SEQ_FREE;
	neuron_hw_job_begin(&job->block, 0x1234, 0);
	/* The tests that use events say which. */
	memset(job->block.event_own, 0, sizeof(job->block.event_own));
	for (i = 0; i < 3; i++)
		neuron_hw_job_sem_clear(&job->block, i, ~0ull);
	neuron_hw_job_sem_clear(&job->block, 3, 0xff);		/* 192 to 199 */
}

struct neuron_inst *seq_add(struct seq_job *job, enum neuron_engine engine,
			    struct neuron_inst inst)
{
	struct neuron_inst *slot = &job->prog[engine][job->nr[engine]++];

	assert_true(job->nr[engine] <= SEQ_PROGRAM);
	*slot = inst;
	return slot;
}

static struct neuron_udma_desc *ring_of(struct seq_job *job, unsigned int q,
					bool s2m)
{
	return (void *)(hbm(job->rig, job->chip, job->core) + HBM_RINGS +
			(2 * q + s2m) * HBM_RING);
}

void seq_copy(struct seq_job *job, unsigned int q, uint64_t dst, uint64_t src,
	      uint32_t len)
{
	struct neuron_udma_desc *m2s = ring_of(job, q, false) + job->m2s[q]++;
	struct neuron_udma_desc *s2m = ring_of(job, q, true) + job->s2m[q]++;

	assert_true(q < SEQ_QUEUES && job->m2s[q] <= SEQ_RING && len <= 65536);
	if (job->nr_queues <= q)
		job->nr_queues = q + 1;
	*m2s = neuron_copy_source(src, len, NEURON_UDMA_RING_ID_FIRST, NEURON_UDMA_META_DEFAULT);
	*s2m = neuron_copy_target(dst, len, NEURON_UDMA_RING_ID_FIRST, 0);
}

struct neuron_udma_desc *seq_last_desc(struct seq_job *job, unsigned int q)
{
	assert_true(job->m2s[q]);
	return ring_of(job, q, false) + job->m2s[q] - 1;
}

uint64_t seq_sem_window(struct seq_job *job, unsigned int chip,
			unsigned int core, unsigned int sem)
{
	const struct neuron_gen *gen = job->rig->chip[chip]->gen;
	uint64_t addr = gen->tpb_addr[core] + NEURON_TPB_SEM;
	struct neuron_hw_window *window = &job->window[job->nr_windows];

	if (chip != job->chip)
		addr = neuron_fabric_addr(chip, addr);
	*window = neuron_hw_window_sems(NEURON_WINDOW_WRITE, addr, sem, 1, 0);
	return neuron_window_addr(job->nr_windows++, 0);
}

uint64_t seq_host_window(struct seq_job *job)
{
	const struct fake_port *port = &job->rig->port[job->chip];

	job->window[job->nr_windows] =
		neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_RIGHTS,
					fake_host_addr(port, job->core * HOST_STRIDE + HOST_FREE),
					SEQ_HOST_BYTES);
	return neuron_window_addr(job->nr_windows++, 0);
}

uint8_t *seq_image(struct seq_job *job, enum neuron_engine engine)
{
	return hbm(job->rig, job->chip, job->core) + HBM_CODE +
	       engine * HBM_ENGINE;
}

static void fill_queues(struct seq_job *job, uint8_t *host)
{
	struct neuron_hw_job_queue *queue = (void *)(host + HOST_QUEUES);
	unsigned int per = job->per_engine ? job->per_engine : 1;
	unsigned int q;

	for (q = 0; q < job->nr_queues; q++) {
		assert_null(neuron_hw_job_queue_place(&queue[q], neuron_core_dma(job->core),
						      (uint16_t)(q / per), (uint16_t)(q % per)));
		neuron_hw_job_queue_rings(&queue[q],
					  neuron_window_addr(SEQ_CODE, HBM_RINGS +
							     2 * q * HBM_RING),
					  SEQ_RING,
					  neuron_window_addr(SEQ_CODE, HBM_RINGS +
							     (2 * q + 1) * HBM_RING),
					  SEQ_RING, job->queue_flags[q]);
	}
}

void seq_submit(struct seq_job *job)
{
	struct fake_port *port = &job->rig->port[job->chip];
	struct trn_chip *chip = job->rig->chip[job->chip];
	const uint64_t base = job->core * HOST_STRIDE;
	uint64_t doorbell = neuron_ctl_bar0(chip->gen) +
			    NEURON_CTL_CORE(job->core);
	struct neuron_hw_job *block = &job->block;
	uint8_t *host = port->host + base;
	unsigned int e;
	uint64_t at;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		memcpy(seq_image(job, e), job->prog[e],
		       job->nr[e] * NEURON_INST_SIZE);
		neuron_hw_job_start(block, e,
				    neuron_window_addr(SEQ_CODE, HBM_CODE + e * HBM_ENGINE),
				    job->nr[e]);
	}
	neuron_hw_job_windows(block, fake_host_addr(port, base + HOST_WINDOWS), job->nr_windows);
	neuron_hw_job_queues(block, fake_host_addr(port, base + HOST_QUEUES), job->nr_queues);
	neuron_hw_job_completion(block, fake_host_addr(port, base + HOST_COMPLETION));
	memcpy(host + HOST_WINDOWS, job->window, sizeof(job->window));
	fill_queues(job, host);
	if (block->flags & NEURON_JOB_TRACE) {
		neuron_hw_job_trace(block, fake_host_addr(port, base + HOST_QUEUES));
		memcpy(host + neuron_hw_job_trace_window(block) - fake_host_addr(port, base),
		       &job->trace, sizeof(job->trace));
	}
	memset(host + HOST_COMPLETION, 0, sizeof(struct neuron_hw_completion));
	if (block->flags & NEURON_JOB_GROUP) {
		neuron_hw_job_group(block, fake_host_addr(port, base + HOST_QUEUES));
		job->group.settle = fake_host_addr(port, base + HOST_SETTLE);
		memset(host + HOST_SETTLE, 0, sizeof(struct neuron_hw_settle));
		trn_chip_mmio_write(chip, doorbell + NEURON_CORE_CAUSE, 0xffffffff, 4);
		memcpy(host + neuron_hw_job_group_at(block) - fake_host_addr(port, base),
		       &job->group, sizeof(job->group));
	}
	memcpy(host, block, sizeof(*block));

	at = fake_host_addr(port, base);
	trn_chip_mmio_write(chip, doorbell + NEURON_CORE_DOORBELL_LO,
			    (uint32_t)at, 4);
	trn_chip_mmio_write(chip, doorbell + NEURON_CORE_DOORBELL_HI, at >> 32, 4);
}

struct neuron_hw_completion seq_wait(struct seq_job *job)
{
	struct fake_port *port = &job->rig->port[job->chip];
	struct trn_chip *chip = job->rig->chip[job->chip];
	struct neuron_hw_completion record;

	if (!fake_wait_irq(port, job->core,
			   ++job->rig->done[job->chip][job->core]))
		fail_msg("the job of chip %u core %u does not end", job->chip,
			 job->core);
	trn_chip_mmio_write(chip, neuron_ctl_bar0(chip->gen) +
			    NEURON_CTL_CORE(job->core) + NEURON_CORE_CAUSE,
			    0xffffffff, 4);
	memcpy(&record, port->host + job->core * HOST_STRIDE + HOST_COMPLETION,
	       sizeof(record));
	if (!job->inexact)
		assert_int_equal(record.flags & NEURON_COMPLETION_INEXACT, 0);
	return record;
}

static uint8_t *host_of(const struct seq_job *job)
{
	return job->rig->port[job->chip].host + job->core * HOST_STRIDE;
}

uint16_t seq_status(const struct seq_job *job)
{
	const struct neuron_hw_completion *record = (void *)(host_of(job) + HOST_COMPLETION);

	return __atomic_load_n(&record->status, __ATOMIC_ACQUIRE);
}

static uint64_t cause_reg(const struct seq_job *job)
{
	return neuron_ctl_bar0(job->rig->chip[job->chip]->gen) + NEURON_CTL_CORE(job->core) +
	       NEURON_CORE_CAUSE;
}

static bool has_cause(const struct seq_job *job, uint32_t cause)
{
	return trn_chip_mmio_read(job->rig->chip[job->chip], cause_reg(job), 4) & cause;
}

static bool has_ended(void *job)
{
	return has_cause(job, NEURON_CORE_CAUSE_DONE);
}

bool seq_has_settled(void *job)
{
	return has_cause(job, NEURON_CORE_CAUSE_SETTLED);
}

struct neuron_hw_completion seq_record(struct seq_job *job)
{
	struct neuron_hw_completion record;

	if (!fake_wait(has_ended, job))
		fail_msg("the job of chip %u core %u does not end", job->chip, job->core);
	memcpy(&record, host_of(job) + HOST_COMPLETION, sizeof(record));
	return record;
}

struct neuron_hw_settle seq_settled(struct seq_job *job)
{
	if (!fake_wait(seq_has_settled, job))
		fail_msg("the job of chip %u core %u does not settle", job->chip, job->core);
	return seq_settle_record(job);
}

struct neuron_hw_settle seq_settle_record(struct seq_job *job)
{
	struct neuron_hw_settle settle;

	memcpy(&settle, host_of(job) + HOST_SETTLE, sizeof(settle));
	return settle;
}

void seq_step(struct seq_rig *rig)
{
	while (rig->stepped && trn_pool_step(rig->pool, 64))
		;
}

struct neuron_hw_completion seq_run(struct seq_job *job)
{
	seq_submit(job);
	seq_step(job->rig);
	return seq_wait(job);
}

void seq_expect_ok(struct seq_job *job)
{
	struct neuron_hw_completion record = seq_run(job);

	if (record.status != NEURON_JOB_OK)
		fail_msg("status %u, cause %u, source %#x, pc %u, address %#llx",
			 record.status, record.cause, record.source, record.pc,
			 (unsigned long long)record.addr);
}

void seq_expect_fault(struct seq_job *job, enum neuron_cause cause,
		      enum neuron_engine engine, uint32_t pc)
{
	struct neuron_hw_completion record = seq_run(job);

	if (record.status != NEURON_JOB_ERROR || record.cause != cause ||
	    record.source != engine || record.pc != pc)
		fail_msg("status %u, cause %u not %u, source %#x not %u, pc %u not %u",
			 record.status, record.cause, cause, record.source, engine,
			 record.pc, pc);
}

struct neuron_ap ap_sbuf(unsigned int first, unsigned int partitions,
			 uint32_t offset, unsigned int dtype, unsigned int n)
{
	return (struct neuron_ap){
		.addr = NEURON_PUT(NEURON_AP_PARTITION, first) | offset,
		.num = { (uint16_t)n, 1, 1, 1 },
		.step = { 1 },
		.partitions = (uint8_t)partitions,
		.dtype = (uint8_t)dtype,
	};
}

struct neuron_ap ap_psum(unsigned int first, unsigned int partitions,
			 uint32_t offset, unsigned int dtype, unsigned int n)
{
	struct neuron_ap ap = ap_sbuf(first, partitions, offset, dtype, n);

	ap.addr |= NEURON_AP_PSUM;
	return ap;
}

struct neuron_ap ap_dim(struct neuron_ap ap, unsigned int d, unsigned int num,
			int step)
{
	ap.num[d] = (uint16_t)num;
	ap.step[d] = (uint16_t)step;
	return ap;
}

uint32_t f32(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static struct neuron_inst wait_for(struct neuron_inst inst, unsigned int how,
				   unsigned int sem, int value)
{
	inst.sync |= (uint8_t)how;
	inst.wait_sem = (uint16_t)sem;
	inst.wait_value = (uint32_t)value;
	return inst;
}

struct neuron_inst wait_ge(struct neuron_inst inst, unsigned int sem, int value)
{
	return wait_for(inst, NEURON_SYNC_WAIT_GE, sem, value);
}

struct neuron_inst wait_eq(struct neuron_inst inst, unsigned int sem, int value)
{
	return wait_for(inst, NEURON_SYNC_WAIT_EQ, sem, value);
}

struct neuron_inst take_ge(struct neuron_inst inst, unsigned int sem, int value)
{
	return wait_for(inst, NEURON_SYNC_WAIT_GE | NEURON_SYNC_TAKE, sem, value);
}

struct neuron_inst post(struct neuron_inst inst, unsigned int sem,
			unsigned int op, int value)
{
	inst.sync |= (uint8_t)NEURON_PUT(NEURON_SYNC_POST, op);
	inst.post_sem = (uint16_t)sem;
	inst.post_value = (uint32_t)value;
	return inst;
}

struct neuron_inst post_add(struct neuron_inst inst, unsigned int sem, int value)
{
	return post(inst, sem, NEURON_SYNC_POST_ADD, value);
}
