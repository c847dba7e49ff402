// SPDX-License-Identifier: MIT
/*
 * Memory ordering (Documentation/hardware/ordering.rst): each rule as a small program that is run
 * many times with delays in its parts. What is promised never fails, however many workers there
 * are; what is not promised is seen to happen.
 *
 * A program leaves words behind; the test looks at them. Every run uses another value, so that a
 * word of the run before is never mistaken for one of this run.
 */
#include "contract/window.h"
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR

#define RUNS		60	/* of what is promised */
#define SEARCH		2000	/* most runs until what is not promised is seen */
#define DATA(offset)	neuron_window_addr(SEQ_DATA, offset)
#define AT_X		0x1000
#define AT_FLAG		0x2000
#define AT_SEEN		0x3000
#define AT_BULK		0x10000
#define BULK		65536
#define BULKS		20	/* more than a queue moves in one turn */
#define ROW		2048	/* fp32 elements of a tile's line */

struct litmus {
	struct seq_rig rig;
	struct seq_job job[2];
	uint32_t seed;
	bool stepped;
};

static uint32_t random_below(struct litmus *l, uint32_t below)
{
	l->seed = l->seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)l->seed * below) >> 32);
}

/* Host time stands still, so that the log's limit is the program's matter. */
static void begin(struct litmus *l, unsigned int workers, unsigned int chips)
{
	unsigned int i;

	l->seed = workers;
	l->stepped = workers == TRN_POOL_STEPPED;
	seq_rig_init(&l->rig, fake_gen(), workers, chips, false);
	for (i = 0; i < chips; i++)
		fake_clock_enable(&l->rig.port[i]);
}

static void end(struct litmus *l)
{
	seq_rig_destroy(&l->rig);
}

static struct seq_job *new_job(struct litmus *l, unsigned int i, unsigned int chip)
{
	seq_job_init(&l->job[i], &l->rig, chip, i);
	return &l->job[i];
}

/* Up to @most turns of a loop on @engine. */
static void delay(struct litmus *l, struct seq_job *job, enum neuron_engine engine,
		  uint32_t most)
{
	uint32_t at = job->nr[engine] + 1;

	seq_add(job, engine, OP(REG_SET, .reg = { 60 }, .imm0 = 1 + random_below(l, most)));
	seq_add(job, engine, OP(LOOP, .reg = { 60 }, .addr = at));
}

static void store(struct seq_job *job, enum neuron_engine engine, uint64_t addr, uint32_t value)
{
	seq_add(job, engine, OP(REG_SET, .reg = { 50 }, .imm0 = value));
	seq_add(job, engine, OP(REG_STORE, .reg = { 50 }, .addr = addr));
}

/* Keep what is at @addr for the test to look at: word @i of what it has seen. */
static void look(struct seq_job *job, enum neuron_engine engine, uint64_t addr, unsigned int i)
{
	seq_add(job, engine, OP(REG_LOAD, .reg = { 51 }, .addr = addr));
	seq_add(job, engine, OP(REG_STORE, .reg = { 51 }, .addr = DATA(AT_SEEN + 4 * i)));
}

/* Until the word at @addr is @value. */
static void poll(struct seq_job *job, enum neuron_engine engine, uint64_t addr, uint32_t value)
{
	uint32_t at = job->nr[engine] + 1;

	seq_add(job, engine, OP(REG_SET, .reg = { 52 }, .imm0 = value));
	seq_add(job, engine, OP(REG_LOAD, .reg = { 53 }, .addr = addr));
	seq_add(job, engine, OP(BRANCH, .op0 = NEURON_ALU_IS_NE, .reg = { 53, 52 }, .addr = at));
}

/* Much that queue @q has to move before what follows. */
static void bulk(struct seq_job *job, unsigned int q, uint64_t dst)
{
	unsigned int i;

	for (i = 0; i < BULKS; i++)
		seq_copy(job, q, dst, DATA(AT_BULK), BULK - 1);
}

static void start(struct litmus *l, unsigned int jobs)
{
	unsigned int i, e;

	for (i = 0; i < jobs; i++) {
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			if (l->job[i].nr[e])
				seq_add(&l->job[i], e, OP(HALT, 0));
		seq_submit(&l->job[i]);
	}
}

static void join(struct litmus *l, unsigned int jobs)
{
	unsigned int i;

	while (l->stepped && trn_pool_step(l->rig.pool, 1))
		;
	for (i = 0; i < jobs; i++)
		assert_int_equal(seq_wait(&l->job[i]).status, NEURON_JOB_OK);
}

static void finish(struct litmus *l, unsigned int jobs)
{
	start(l, jobs);
	join(l, jobs);
}

static uint32_t seen(struct litmus *l, unsigned int job, unsigned int i)
{
	uint32_t word;

	memcpy(&word, seq_data(&l->rig, l->job[job].chip, l->job[job].core) + AT_SEEN + 4 * i, 4);
	return word;
}

static void set_word(struct litmus *l, unsigned int job, uint32_t at, uint32_t value)
{
	memcpy(seq_data(&l->rig, l->job[job].chip, l->job[job].core) + at, &value, 4);
}

/* Word @i of the host memory of the first job, as software reads it at this moment. */
static uint32_t host_word(struct litmus *l, unsigned int i)
{
	const uint32_t *words = (void *)seq_host(&l->rig, 0, 0);

	return __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
}

static void set_host_word(struct litmus *l, unsigned int i, uint32_t value)
{
	uint32_t *words = (void *)seq_host(&l->rig, 0, 0);

	__atomic_store_n(words + i, value, __ATOMIC_RELEASE);
}

/* Software polls: word @i until it is @value, or the record of the first job. */
static void poll_host(struct litmus *l, unsigned int i, uint32_t value)
{
	while (host_word(l, i) != value && !seq_status(&l->job[0]))
		if (l->stepped)
			trn_pool_step(l->rig.pool, 1);
}

static void poll_record(struct litmus *l)
{
	while (!seq_status(&l->job[0]))
		;
}

static void copy_word(struct seq_job *job, unsigned int q, uint64_t dst, uint64_t src)
{
	seq_copy(job, q, dst, src, 4);
}

/* What the last copy in queue @q writes is visible before what comes behind it. */
static void barrier(struct seq_job *job, unsigned int q)
{
	seq_last_desc(job, q)->meta_ctrl |= NEURON_UDMA_META_WRITE_BARRIER;
}

/* --- Programs. Each returns whether the outcome was the strong one. --- */

/* A tile, then a post; a wait, then the tile. */
static bool tile_then_post(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	float *out = seq_sbuf(seq_core(&l->rig, 0, 0), 127, 0x8000);
	unsigned int i;

	delay(l, job, VECTOR, 50);
	seq_add(job, VECTOR, post_add(OP(MEMSET, .imm0 = f32((float)value),
					 .dst = ap_sbuf(0, 128, 0, NEURON_DTYPE_FP32, ROW)), 3, 1));
	delay(l, job, SCALAR, 50);
	seq_add(job, SCALAR, wait_ge(OP(COPY, .src0 = ap_sbuf(0, 128, 0, NEURON_DTYPE_FP32, ROW),
					.dst = ap_sbuf(0, 128, 0x8000, NEURON_DTYPE_FP32, ROW)),
				     3, 1));
	finish(l, 1);
	for (i = 0; i < ROW; i++)
		if (out[i] != (float)value)
			return false;
	return true;
}

/* The same without the semaphore. */
static bool tile_without_post(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	float *out = seq_sbuf(seq_core(&l->rig, 0, 0), 127, 0x8000);

	/* Now and then longer than a turn, so that the other engine is first. */
	delay(l, job, VECTOR, 20000);
	seq_add(job, VECTOR, OP(MEMSET, .imm0 = f32((float)value),
				.dst = ap_sbuf(0, 128, 0, NEURON_DTYPE_FP32, ROW)));
	delay(l, job, SCALAR, 50);
	seq_add(job, SCALAR, OP(COPY, .src0 = ap_sbuf(0, 128, 0, NEURON_DTYPE_FP32, ROW),
				.dst = ap_sbuf(0, 128, 0x8000, NEURON_DTYPE_FP32, ROW)));
	finish(l, 1);
	return out[ROW - 1] == (float)value;
}

/* A word of memory, then a trigger; the copy, then the queue's post; a wait, then the copy. */
static bool store_then_trigger(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	struct neuron_inst trigger = OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
					.mode = NEURON_INST_LANDED >> 8);

	copy_word(job, 0, DATA(AT_FLAG), DATA(AT_X));
	store(job, SYNC, DATA(AT_X), value);
	seq_add(job, SYNC, post_add(trigger, 3, 1));
	delay(l, job, VECTOR, 50);
	seq_add(job, VECTOR, wait_ge(OP(NOP, 0), 3, 1));
	look(job, VECTOR, DATA(AT_FLAG), 0);
	finish(l, 1);
	return seen(l, 0, 0) == value;
}

/* The engine does not wait for the queue. */
static bool trigger_then_load(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);

	bulk(job, 0, DATA(AT_BULK + BULK));
	copy_word(job, 0, DATA(AT_FLAG), DATA(AT_X));
	store(job, SYNC, DATA(AT_X), value);
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = BULKS + 1, .imm1 = BULKS + 1));
	look(job, SYNC, DATA(AT_FLAG), 0);
	finish(l, 1);
	return seen(l, 0, 0) == value;
}

/* What comes before the last copy in queue @q is visible before what that one writes. */
static void dmb(struct seq_job *job, unsigned int q)
{
	seq_last_desc(job, q)->len_ctrl |= NEURON_UDMA_DESC_DMB;
}

/* What is between data and the flag behind it: nothing where the flag has a queue of its own. */
enum between { BARRIER, DMB, TWO_QUEUES };

static bool data_and_flag(struct litmus *l, uint32_t value, enum between between)
{
	struct seq_job *job = new_job(l, 0, 0);
	const unsigned int flag_queue = between == TWO_QUEUES;
	const uint32_t n = BULKS + (flag_queue ? 1 : 2);

	set_word(l, 0, AT_X, value);
	set_word(l, 0, AT_X + 4, value);
	set_word(l, 0, AT_FLAG, 0);
	set_word(l, 0, AT_FLAG + 4, 0);
	bulk(job, 0, DATA(AT_BULK + BULK));
	copy_word(job, 0, DATA(AT_FLAG), DATA(AT_X));
	if (between != DMB)
		barrier(job, 0);
	copy_word(job, flag_queue, DATA(AT_FLAG + 4), DATA(AT_X + 4));
	if (between == DMB)
		dmb(job, 0);
	delay(l, job, SYNC, 20);
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = n, .imm1 = n));
	if (flag_queue)
		seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
				      .reg = { (uint8_t)flag_queue }));
	poll(job, VECTOR, DATA(AT_FLAG + 4), value);
	look(job, VECTOR, DATA(AT_FLAG), 0);
	finish(l, 1);
	return seen(l, 0, 0) == value;
}

static bool one_queue(struct litmus *l, uint32_t value)
{
	return data_and_flag(l, value, BARRIER);
}

static bool one_queue_dmb(struct litmus *l, uint32_t value)
{
	return data_and_flag(l, value, DMB);
}

static bool two_queues(struct litmus *l, uint32_t value)
{
	return data_and_flag(l, value, TWO_QUEUES);
}

/* A window on the data of core @core of @chip, for a job on another core. */
static uint64_t other_data(struct litmus *l, struct seq_job *job, unsigned int chip,
			   unsigned int core)
{
	uint64_t addr = seq_data_addr(&l->rig, chip, core);
	unsigned int kind = NEURON_WINDOW_HBM;

	if (chip != job->chip) {
		addr = neuron_fabric_addr(chip, addr);
		kind = NEURON_WINDOW_PEER;
	}
	job->window[job->nr_windows] = neuron_hw_window_memory(kind, NEURON_WINDOW_WRITE, addr,
							       SEQ_DATA_BYTES);
	return neuron_window_addr(job->nr_windows++, 0);
}

/* Data, then a post of the peer's semaphore, by the same queue or by the engine. */
static bool data_to_peer(struct litmus *l, uint32_t value, bool by_queue)
{
	struct seq_job *from = new_job(l, 0, 0), *to = new_job(l, 1, 1);
	const uint32_t n = BULKS + (by_queue ? 2 : 1);
	uint64_t sem = seq_sem_window(from, 1, 1, 9);
	uint64_t data = other_data(l, from, 1, 1);

	set_word(l, 0, AT_X, value);
	set_word(l, 0, AT_X + 4, 1);
	bulk(from, 0, data + AT_BULK);
	copy_word(from, 0, data + AT_FLAG, DATA(AT_X));
	barrier(from, 0);
	if (by_queue)
		copy_word(from, 0, sem, DATA(AT_X + 4));
	delay(l, from, SYNC, 50);
	seq_add(from, SYNC, OP(DMA_TRIGGER, .imm0 = n, .imm1 = n));
	if (!by_queue)
		store(from, SYNC, sem, 1);
	delay(l, to, VECTOR, 50);
	seq_add(to, VECTOR, take_ge(OP(NOP, 0), 9, 1));
	look(to, VECTOR, DATA(AT_FLAG), 0);
	to->block.sem_clear[0] = 0;
	finish(l, 2);
	return seen(l, 1, 0) == value;
}

static bool peer_by_queue(struct litmus *l, uint32_t value)
{
	return data_to_peer(l, value, true);
}

static bool peer_by_engine(struct litmus *l, uint32_t value)
{
	return data_to_peer(l, value, false);
}

#define MEETING	210	/* a semaphore that jobs do not clear when they start */

/* Core @i of two that meet, as core_barrier of the instruction manual does; @apart: by a link. */
static void meet(struct litmus *l, unsigned int i, bool apart, uint32_t value)
{
	struct seq_job *job = new_job(l, i, apart && i);
	uint64_t sem = seq_sem_window(job, apart && !i, !i, MEETING);
	uint64_t data = other_data(l, job, apart && !i, !i);

	delay(l, job, SYNC, 50);
	store(job, SYNC, data + AT_X, value);
	store(job, SYNC, sem, 1);
	seq_add(job, SYNC, take_ge(OP(NOP, 0), MEETING, 1));
	look(job, SYNC, DATA(AT_X), 0);
}

/* What each wrote to the other's memory before they met is there afterwards. */
static bool meeting(struct litmus *l, uint32_t value, bool apart)
{
	meet(l, 0, apart, value);
	meet(l, 1, apart, value);
	finish(l, 2);
	return seen(l, 0, 0) == value && seen(l, 1, 0) == value;
}

static bool core_barrier(struct litmus *l, uint32_t value)
{
	return meeting(l, value, false);
}

static bool peer_barrier(struct litmus *l, uint32_t value)
{
	return meeting(l, value, true);
}

/* A word never goes back to a value that it had before. */
static bool one_word(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	unsigned int i;

	set_word(l, 0, AT_X, 0);
	for (i = 1; i <= 8; i++)
		store(job, SYNC, DATA(AT_X), value * 16 + i);
	delay(l, job, VECTOR, 10);
	for (i = 0; i < 16; i++)
		look(job, VECTOR, DATA(AT_X), i);
	finish(l, 1);
	for (i = 1; i < 16; i++)
		if (seen(l, 0, i) < seen(l, 0, i - 1))
			return false;
	return true;
}

/*
 * Data and a flag behind it go to host memory: in one queue with the barrier, or in two
 * queues. Software polls the flag.
 */
static bool flag_in_host(struct litmus *l, uint32_t value, unsigned int flag_queue)
{
	struct seq_job *job = new_job(l, 0, 0);
	const uint32_t n = BULKS + (flag_queue ? 1 : 2);
	const uint64_t host = seq_host_window(job);
	bool strong;

	set_word(l, 0, AT_X, value);
	set_word(l, 0, AT_X + 4, value);
	set_host_word(l, 0, 0);
	set_host_word(l, 1, 0);
	bulk(job, 0, DATA(AT_BULK + BULK));
	copy_word(job, 0, host, DATA(AT_X));
	barrier(job, 0);
	copy_word(job, flag_queue, host + 4, DATA(AT_X + 4));
	delay(l, job, SYNC, 20);
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = n, .imm1 = n));
	if (flag_queue)
		seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
				      .reg = { (uint8_t)flag_queue }));
	start(l, 1);
	poll_host(l, 1, value);
	strong = host_word(l, 0) == value;
	join(l, 1);
	return strong;
}

static bool host_one_queue(struct litmus *l, uint32_t value)
{
	return flag_in_host(l, value, 0);
}

static bool host_two_queues(struct litmus *l, uint32_t value)
{
	return flag_in_host(l, value, 1);
}

/* What a job has written to host memory is there for software that polls the record. */
static bool host_before_the_record(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	const uint64_t host = seq_host_window(job);
	bool strong;

	set_word(l, 0, AT_X, value);
	bulk(job, 1, DATA(AT_BULK + BULK));
	copy_word(job, 1, host, DATA(AT_X));
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = BULKS + 1, .imm1 = BULKS + 1,
			      .reg = { 1 }));
	delay(l, job, VECTOR, 50);
	store(job, VECTOR, host + 4, value);
	start(l, 1);
	poll_record(l);
	strong = host_word(l, 0) == value && host_word(l, 1) == value;
	join(l, 1);
	return strong;
}

/* What software has written to host memory is there for engine and queue. */
static bool host_before_the_doorbell(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	const uint64_t host = seq_host_window(job);

	copy_word(job, 0, DATA(AT_SEEN), host);
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1));
	look(job, VECTOR, host + 4, 1);
	set_host_word(l, 0, value);
	set_host_word(l, 1, value);
	finish(l, 1);
	return seen(l, 0, 0) == value && seen(l, 0, 1) == value;
}

/* The line of the log that tells of a fault is there for software that polls the record. */
static bool line_before_the_record(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);
	struct fake_port *port = &l->rig.port[0];
	unsigned int before = fake_log_count(port, TRN_LOG_GUEST_ERROR);
	bool strong;

	(void)value;
	atomic_fetch_add(&port->now_ns, 1000000000);
	delay(l, job, SYNC, 50);
	seq_add(job, SYNC, OP(REG_LOAD, .reg = { 50 }, .addr = DATA(SEQ_DATA_BYTES)));
	start(l, 1);
	poll_record(l);
	strong = fake_log_count(port, TRN_LOG_GUEST_ERROR) == before + 1;
	assert_int_equal(seq_wait(job).cause, NEURON_CAUSE_WINDOW);
	return strong;
}

/* What a job has written is there when its record is. */
static bool before_the_record(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);

	set_word(l, 0, AT_X, value);
	bulk(job, 1, DATA(AT_BULK + BULK));
	copy_word(job, 1, DATA(AT_SEEN), DATA(AT_X));
	seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = BULKS + 1, .imm1 = BULKS + 1,
			      .reg = { 1 }));
	store(job, VECTOR, DATA(AT_SEEN + 4), value);
	finish(l, 1);
	return seen(l, 0, 0) == value && seen(l, 0, 1) == value;
}

/* The chain: engine, queue, engine, each ordered with the one before it. */
static bool through_three(struct litmus *l, uint32_t value)
{
	struct seq_job *job = new_job(l, 0, 0);

	store(job, SYNC, DATA(AT_X), value);
	seq_add(job, SYNC, post_add(OP(NOP, 0), 3, 1));
	copy_word(job, 0, DATA(AT_FLAG), DATA(AT_X));
	delay(l, job, VECTOR, 20);
	seq_add(job, VECTOR, wait_ge(OP(NOP, 0), 3, 1));
	seq_add(job, VECTOR, post_add(OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1,
					 .mode = NEURON_INST_LANDED >> 8), 4, 1));
	delay(l, job, SCALAR, 20);
	seq_add(job, SCALAR, wait_ge(OP(NOP, 0), 4, 1));
	look(job, SCALAR, DATA(AT_FLAG), 0);
	look(job, SCALAR, DATA(AT_X), 1);
	finish(l, 1);
	return seen(l, 0, 0) == value && seen(l, 0, 1) == value;
}

/* --- What is promised --- */

static void never_fails(bool (*program)(struct litmus *l, uint32_t value), unsigned int chips)
{
	struct litmus *l = calloc(1, sizeof(*l));
	unsigned int workers, run;

	for (workers = 1; workers <= 4; workers++) {
		begin(l, workers, chips);
		for (run = 1; run <= RUNS; run++)
			if (!program(l, run))
				fail_msg("%u workers, run %u", workers, run);
		end(l);
	}
	free(l);
}

#define PROMISED(name, chips)				\
	static void promised_##name(void **state)	\
	{						\
		(void)state;				\
		never_fails(name, chips);		\
	}

PROMISED(tile_then_post, 1)
PROMISED(store_then_trigger, 1)
PROMISED(one_queue, 1)
PROMISED(one_queue_dmb, 1)
PROMISED(peer_by_queue, 2)
PROMISED(core_barrier, 1)
PROMISED(peer_barrier, 2)
PROMISED(one_word, 1)
PROMISED(before_the_record, 1)
PROMISED(through_three, 1)
PROMISED(host_one_queue, 1)
PROMISED(host_before_the_record, 1)
PROMISED(host_before_the_doorbell, 1)
PROMISED(line_before_the_record, 1)

/*
 * --- What is not promised: it happens ---
 *
 * On one chip tasks take turns of a fixed length in one thread, so the search has the same
 * end on every host.
 */

static void is_seen(bool (*program)(struct litmus *l, uint32_t value), unsigned int chips,
		    unsigned int workers)
{
	struct litmus *l = calloc(1, sizeof(*l));
	unsigned int run;
	bool weak = false;

	begin(l, workers, chips);
	for (run = 1; run <= SEARCH && !weak; run++)
		weak = !program(l, run);
	end(l);
	free(l);
	assert_true(weak);
}

#define NOT_PROMISED(name, chips, workers)		\
	static void not_promised_##name(void **state)	\
	{						\
		(void)state;				\
		is_seen(name, chips, workers);		\
	}

NOT_PROMISED(tile_without_post, 1, TRN_POOL_STEPPED)
NOT_PROMISED(trigger_then_load, 1, TRN_POOL_STEPPED)
NOT_PROMISED(two_queues, 1, TRN_POOL_STEPPED)
NOT_PROMISED(host_two_queues, 1, TRN_POOL_STEPPED)
NOT_PROMISED(peer_by_engine, 2, 4)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promised_tile_then_post),
		cmocka_unit_test(promised_store_then_trigger),
		cmocka_unit_test(promised_one_queue),
		cmocka_unit_test(promised_one_queue_dmb),
		cmocka_unit_test(promised_peer_by_queue),
		cmocka_unit_test(promised_core_barrier),
		cmocka_unit_test(promised_peer_barrier),
		cmocka_unit_test(promised_one_word),
		cmocka_unit_test(promised_before_the_record),
		cmocka_unit_test(promised_through_three),
		cmocka_unit_test(promised_host_one_queue),
		cmocka_unit_test(promised_host_before_the_record),
		cmocka_unit_test(promised_host_before_the_doorbell),
		cmocka_unit_test(promised_line_before_the_record),
		cmocka_unit_test(not_promised_tile_without_post),
		cmocka_unit_test(not_promised_trigger_then_load),
		cmocka_unit_test(not_promised_two_queues),
		cmocka_unit_test(not_promised_host_two_queues),
		cmocka_unit_test(not_promised_peer_by_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
