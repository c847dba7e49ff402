// SPDX-License-Identifier: MIT
#include "escape_rig.h"

#include <stdlib.h>
#include <string.h>

static void guard(struct escape *e, void *ptr, size_t len)
{
	struct guard *g = &e->guard[e->nr_guards++];

	assert_true(e->nr_guards <= GUARDS);
	g->ptr = ptr;
	g->len = len;
	g->copy = malloc(len);
	assert_non_null(g->copy);
	rig_fill(e->rig, ptr, len);
}

static void guard_core(struct escape *e, unsigned int chip, unsigned int core)
{
	struct trn_core *c = &e->rig->chip[chip]->core[core];

	guard(e, c->sbuf, GUARD_BYTES);
	guard(e, c->sbuf + NEURON_TPB_SBUF_SIZE - GUARD_BYTES, GUARD_BYTES);
	guard(e, c->psum, GUARD_BYTES);
}

static void guard_all(struct escape *e)
{
	const uint64_t at = ESCAPE_CORE * JOB_HBM_BYTES;
	struct trn_chip *chip;
	unsigned int c, i;

	guard(e, e->job.hbm + JOB_AT_DATA, JOB_HBM_BYTES / 4);
	guard(e, job_host_ptr(&e->job), JOB_HOST_BYTES);
	for (c = 0; c < RIG_CHIPS; c++) {
		chip = e->rig->chip[c];
		guard(e, chip->hbm[0], GUARD_BYTES);
		guard(e, chip->hbm[0] + at - GUARD_BYTES, GUARD_BYTES);
		guard(e, chip->hbm[0] + at + JOB_HBM_BYTES, GUARD_BYTES);
		for (i = 1; i < chip->gen->nr_hbm; i++) {
			guard(e, chip->hbm[i], GUARD_BYTES);
			guard(e, chip->hbm[i] + FAKE_HBM_SIZE - GUARD_BYTES, GUARD_BYTES);
		}
		for (i = 0; i < 3 && i < chip->gen->nr_cores; i++)
			guard_core(e, c, i);
		guard(e, rig_host_ptr(e->rig, c, rig_host(e->rig, c, GUARD_BYTES)),
		      GUARD_BYTES);
	}
}

void escape_snapshot(struct escape *e)
{
	unsigned int i, c, core;

	for (i = 0; i < e->nr_guards; i++)
		memcpy(e->guard[i].copy, e->guard[i].ptr, e->guard[i].len);
	for (c = 0; c < RIG_CHIPS; c++)
		for (core = 0; core < e->rig->chip[c]->gen->nr_cores; core++)
			for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
				e->sems[c][core][i] =
					trn_sem_value(e->rig->chip[c]->core[core].sems, i);
}

void escape_untouched(struct escape *e)
{
	unsigned int i, c, core;

	for (i = 0; i < e->nr_guards; i++)
		if (memcmp(e->guard[i].copy, e->guard[i].ptr, e->guard[i].len))
			fail_msg("guarded memory %u has changed", i);
	for (c = 0; c < RIG_CHIPS; c++)
		for (core = 0; core < e->rig->chip[c]->gen->nr_cores; core++)
			for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
				if (e->sems[c][core][i] !=
				    trn_sem_value(e->rig->chip[c]->core[core].sems, i))
					fail_msg("semaphore %u of chip %u core %u has changed",
						 i, c, core);
}

static void evil(struct escape *e, uint64_t addr, enum neuron_cause read,
		 enum neuron_cause write)
{
	assert_true(e->nr_evils < EVILS);
	e->evil[e->nr_evils++] = (struct evil){ addr, read, write };
}

/* All are multiples of 256, so that no check of alignment comes first. */
static void make_evils(struct escape *e)
{
	const struct neuron_gen *gen = e->rig->chip[0]->gen;
	const uint64_t mine = gen->hbm_addr[0] + ESCAPE_CORE * JOB_HBM_BYTES + JOB_AT_DATA;
	const enum neuron_cause window = NEURON_CAUSE_WINDOW;
	const uint64_t elsewhere[] = {
		/* plain: memory, its own too, registers, host */
		0, mine, mine + JOB_HBM_BYTES, gen->hbm_addr[1],
		gen->tpb_addr[ESCAPE_CORE] + NEURON_TPB_SBUF,
		gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_SBUF,
		gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_SEM, gen->apb_addr[0],
		rig_host_addr(e->rig, 0, e->job.host_at), gen->host_base,
		/* neighbour windows and routed, to itself too */
		NEURON_BIT64(52) | mine, NEURON_BIT64(52) | 3ull << 50 | mine,
		neuron_fabric_addr(1, mine), neuron_fabric_addr(0, mine),
		neuron_fabric_addr(1, gen->tpb_addr[0] + NEURON_TPB_SEM),
		/* windows: the ends, behind the table, one for words only */
		neuron_window_addr(JOB_W_HBM, JOB_HBM_BYTES),
		neuron_window_addr(JOB_W_HOST, JOB_HOST_BYTES),
		neuron_window_addr(JOB_W_HBM, NEURON_ADDR_WINDOW_OFFSET & ~0x3ffull),
		neuron_window_addr(JOB_NR_WINDOWS, 0),
		neuron_window_addr(NEURON_MAX_WINDOWS, 0),
		neuron_window_addr(JOB_W_SEM, 0),
	};
	unsigned int i;

	for (i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		evil(e, elsewhere[i], window, window);
	evil(e, neuron_window_addr(W_RO, 0), NEURON_CAUSE_NONE, NEURON_CAUSE_RIGHTS);
	evil(e, neuron_window_addr(W_WO, 0), NEURON_CAUSE_RIGHTS, NEURON_CAUSE_NONE);
}

/* By hand: @flags may be such that the chip refuses the window. */
void escape_window(struct escape *e, unsigned int w, uint32_t flags, uint64_t base,
		   uint64_t length)
{
	e->job.windows[w] = (struct neuron_hw_window){
		.base = base,
		.length = length,
		.flags = flags,
	};
}

void escape_grant(struct escape *e, unsigned int w, unsigned int chip, uint32_t rights,
		  uint32_t generation)
{
	uint64_t base = e->rig->chip[chip]->gen->tpb_addr[ESCAPE_SIBLING] + NEURON_TPB_SBUF +
			GRANT_AT;

	escape_window(e, w, NEURON_WINDOW_GRANT | rights,
		      chip ? neuron_fabric_addr(chip, base) : base, GRANT_BYTES);
	e->job.windows[w].generation = generation;
}

static void make_grants(struct escape *e)
{
	const uint32_t rw = NEURON_WINDOW_READ | NEURON_WINDOW_WRITE;
	unsigned int c;

	e->stream = rig_host(e->rig, 0, GUARD_BYTES);
	guard(e, rig_host_ptr(e->rig, 0, e->stream), GUARD_BYTES);
	escape_window(e, W_STREAM, NEURON_WINDOW_STREAM,
		      rig_host_addr(e->rig, 0, e->stream) + 0x1000, 0x1000);
	for (c = 0; c < RIG_CHIPS; c++)
		atomic_store(&e->rig->chip[c]->core[ESCAPE_SIBLING].generation, GENERATION);
	escape_grant(e, W_GRANT, 0, NEURON_WINDOW_READ, GENERATION);
	escape_grant(e, W_STALE, 0, rw, GENERATION - 1);
	escape_grant(e, W_STALE_PEER, 1, rw, GENERATION + 1);
	evil(e, neuron_window_addr(W_STREAM, 0), NEURON_CAUSE_WINDOW, NEURON_CAUSE_WINDOW);
	evil(e, neuron_window_addr(W_GRANT, 0), NEURON_CAUSE_NONE, NEURON_CAUSE_RIGHTS);
	evil(e, neuron_window_addr(W_GRANT, GRANT_BYTES), NEURON_CAUSE_WINDOW,
	     NEURON_CAUSE_WINDOW);
	/* What is written is dropped without an error. */
	evil(e, neuron_window_addr(W_STALE, 0), NEURON_CAUSE_FABRIC, NEURON_CAUSE_NONE);
	evil(e, neuron_window_addr(W_STALE_PEER, 0), NEURON_CAUSE_FABRIC, NEURON_CAUSE_NONE);
}

static int setup_by(void **state, int (*make)(void **state))
{
	const uint64_t shared = ESCAPE_SIBLING * JOB_HBM_BYTES;
	struct escape *e = calloc(1, sizeof(*e));
	void *rig;

	assert_non_null(e);
	assert_int_equal(make(&rig), 0);
	e->rig = rig;
	e->rig->chip[0]->config.more_operators = true;
	job_init(&e->job, e->rig, 0, ESCAPE_CORE);
	guard_all(e);
	escape_window(e, W_RO, NEURON_WINDOW_HBM | NEURON_WINDOW_READ, shared, SHARED_BYTES);
	escape_window(e, W_WO, NEURON_WINDOW_HBM | NEURON_WINDOW_WRITE, shared, SHARED_BYTES);
	make_evils(e);
	make_grants(e);
	*state = e;
	return 0;
}

int escape_setup(void **state)
{
	return setup_by(state, rig_setup);
}

int escape_setup_trn1(void **state)
{
	return setup_by(state, rig_setup_trn1);
}

int escape_teardown(void **state)
{
	struct escape *e = *state;
	void *rig = e->rig;

	while (e->nr_guards)
		free(e->guard[--e->nr_guards].copy);
	free(e);
	return rig_teardown(&rig);
}

void escape_restart(struct escape *e)
{
	struct job_rig *job = &e->job;

	memset(job->pushed, 0, sizeof(job->pushed));
	memset(job->length, 0, sizeof(job->length));
	memset(job->block->start, 0, sizeof(job->block->start));
	job->block->notify_addr = 0;
	job->block->notify_size = 0;
}

static bool counted(enum neuron_cause cause)
{
	return cause == NEURON_CAUSE_WINDOW || cause == NEURON_CAUSE_RIGHTS;
}

void escape_caught(struct escape *e, enum neuron_cause cause, uint16_t source,
		   uint64_t addr)
{
	uint32_t before = job_reg(&e->job, NEURON_CORE_VIOLATIONS);
	struct neuron_hw_completion *record = e->job.completion;

	escape_snapshot(e);
	job_submit(&e->job);
	job_wait(&e->job);
	if (record->status != NEURON_JOB_ERROR || record->cause != cause ||
	    record->source != source || record->addr != addr)
		fail_msg("%#llx: status %u, cause %u not %u, source %#x not %#x, address %#llx",
			 (unsigned long long)addr, record->status, record->cause, cause,
			 record->source, source, (unsigned long long)record->addr);
	assert_int_equal(job_reg(&e->job, NEURON_CORE_VIOLATIONS),
			 before + counted(cause));
	escape_untouched(e);
	escape_restart(e);
}

void escape_refused(struct escape *e)
{
	escape_caught(e, NEURON_CAUSE_JOB, NEURON_SOURCE_JOB, 0);
}

void escape_out_of_reach(struct escape *e, unsigned int window)
{
	escape_caught(e, NEURON_CAUSE_FABRIC, NEURON_SOURCE_JOB, neuron_window_addr(window, 0));
}

struct neuron_udma_dge escape_sum(unsigned int nr_src)
{
	struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_ADD,
			.nr_src = (uint8_t)nr_src,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_FP32,
			.dst_dtype = NEURON_DTYPE_FP32,
			.src = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
			.dst = { .num = { 16, 1, 1, 1 }, .step = { 4 } },
		},
		.dst = { job_hbm_at(0x8000) },
	};
	unsigned int i;

	for (i = 0; i < nr_src; i++)
		dge.src[i] = job_hbm_at(0x1000 * i);
	return dge;
}

struct neuron_inst *escape_generate(struct escape *e, uint64_t addr)
{
	struct neuron_inst *inst = job_inst(&e->job, SYNC, NEURON_OP_DMA_GENERATE);

	inst->addr = addr;
	return inst;
}

void escape_set_reg(struct escape *e, unsigned int reg, uint32_t value)
{
	struct neuron_inst *inst = job_inst(&e->job, SYNC, NEURON_OP_REG_SET);

	inst->reg[0] = (uint8_t)reg;
	inst->imm0 = value;
}

void escape_word(struct escape *e, bool store, uint64_t addr, unsigned int reg)
{
	struct neuron_inst *inst = job_inst(&e->job, SYNC,
					    store ? NEURON_OP_REG_STORE : NEURON_OP_REG_LOAD);

	inst->reg[0] = 2;
	inst->reg[1] = (uint8_t)reg;
	inst->addr = addr;
	job_halt(&e->job, SYNC);
}
