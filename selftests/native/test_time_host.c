// SPDX-License-Identifier: MIT
/*
 * Device time does not depend on the host: not on the number of its workers, nor on
 * what holds them up, also where engines and transfers contend.
 */
#include "contract/trace.h"
#include "contract/window.h"
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define TENSOR	NEURON_ENGINE_TENSOR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32

struct chaos {
	struct seq_rig *rig;
	pthread_t thread;
	_Atomic bool stop;
};

static _Atomic uint32_t chaos_seed;

static uint32_t chaos_random(uint32_t below)
{
	uint32_t seed = atomic_load(&chaos_seed);

	seed = seed * 1664525 + 1013904223;
	atomic_store(&chaos_seed, seed);
	return (seed >> 8) % below;
}

static void nap(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

/* Host memory that answers late, now and then. */
static bool late_read(uint64_t addr, size_t len)
{
	(void)addr;
	(void)len;
	if (!chaos_random(3))
		nap((long)chaos_random(300000));
	return true;
}

static void *chaos_main(void *arg)
{
	struct chaos *chaos = arg;

	while (!atomic_load(&chaos->stop)) {
		unsigned int c = chaos_random(2);

		trn_chip_stop(chaos->rig->chip[c]);
		nap((long)chaos_random(200000));
		trn_chip_resume(chaos->rig->chip[c]);
		nap((long)chaos_random(400000));
	}
	return NULL;
}

#define MIX_ROUNDS	20
#define MIX_NOTES	(3 * MIX_ROUNDS + 1)

/* Bulk copies by three queues, two of which share queue 0's engine, and HBM. */
static void mix_bulk(struct seq_job *job, uint64_t one)
{
	static const uint8_t queues[] = { 1, 2, 4 };
	unsigned int i, q;

	for (i = 0; i < MIX_ROUNDS; i++) {
		for (q = 0; q < 3; q++) {
			seq_copy(job, queues[q],
				 neuron_window_addr(SEQ_DATA, 0x80000 + q * 0x10000),
				 neuron_window_addr(SEQ_DATA, 0x40000),
				 (i * 5 + q * 3) % 8 * 8192 + 64);
			seq_copy(job, queues[q], neuron_window_addr(SEQ_SEM, 12), one,
				 4);
			seq_add(job, TENSOR,
				OP(DMA_TRIGGER, .reg = { queues[q] }, .imm0 = 2,
				   .imm1 = 2));
		}
		seq_add(job, TENSOR, take_ge(OP(NOTIFY, .imm0 = 300), 3,
					     i % 3 + 2));
		/* What has been left is taken later. */
		if (i % 3 == 2)
			seq_add(job, TENSOR, OP(NOP, 0));
	}
}

/*
 * Chip @c: a queue copies from host memory, the vector and the GpSimd engine
 * compete for the copies, the scalar engine collects; all of it in step with the
 * other chip. Other queues of the same DMA engine are busy meanwhile.
 */
static void mix(struct seq_job *job, struct seq_rig *rig, unsigned int c)
{
	struct fake_port *port = &rig->port[c];
	unsigned int host = 0, i, e;
	struct neuron_ap tile;
	uint64_t peer;

	seq_job_init(job, rig, c, 1);
	job->per_engine = 4;
	peer = seq_sem_window(job, !c, 1, 220);
	host = job->nr_windows++;
	job->window[host] = neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_READ,
						    fake_host_addr(port, 0x80000), 0x10000);
	*(uint32_t *)(void *)(port->host + 0x80000) = 1;
	job->block.notify_addr = neuron_window_addr(SEQ_DATA, 0);
	job->block.notify_size = 2048;
	for (i = 0; i < MIX_ROUNDS; i++) {
		seq_copy(job, 0, neuron_window_addr(SEQ_SBUF, 0),
			 neuron_window_addr(host, 0), 64 * (i % 7 + 1));
		seq_copy(job, 0, neuron_window_addr(SEQ_SEM, 4 * 1),
			 neuron_window_addr(host, 0), 4);
		seq_add(job, SYNC, OP(DMA_TRIGGER, .imm0 = 2, .imm1 = 2));
		seq_add(job, SYNC, OP(NOTIFY, .imm0 = i));
		if (i % 5)
			continue;
		seq_add(job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
		seq_add(job, SYNC, OP(REG_STORE, .reg = { 1 }, .addr = peer));
		seq_add(job, SYNC, take_ge(OP(NOP, 0), 220, 1));
	}
	for (e = VECTOR; e <= GPSIMD; e += GPSIMD - VECTOR)
		for (i = 0; i < MIX_ROUNDS / 2; i++) {
			seq_add(job, e, take_ge(OP(NOP, 0), 1, 1));
			tile = ap_sbuf(e == VECTOR ? 32 : 64, 1, 0, F32,
				       100 * (i % 4) + 10);
			seq_add(job, e, OP(MEMSET, .dst = tile));
			seq_add(job, e, post_add(OP(NOTIFY, .imm0 = 100), 2, 1));
		}
	seq_add(job, SCALAR, wait_ge(OP(NOTIFY, .imm0 = 200), 2, MIX_ROUNDS));
	mix_bulk(job, neuron_window_addr(host, 0));
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (job->nr[e])
			seq_add(job, e, OP(HALT, 0));
}

/* All times that a run of the mix gave, in an order of the program's. */
struct times {
	uint64_t start, end;
	uint64_t stamp[NEURON_NR_ENGINES][SEQ_PROGRAM];
};

static void collect(struct seq_job *job, struct times *times)
{
	const struct neuron_hw_notify *n = (void *)seq_data(job->rig, job->chip, 1);
	struct neuron_hw_completion record = seq_wait(job);
	unsigned int i;

	memset(times, 0, sizeof(*times));
	assert_int_equal(record.status, NEURON_JOB_OK);
	times->start = record.start_ns;
	times->end = record.end_ns;
	for (i = 0; i < MIX_NOTES; i++)
		times->stamp[n[i].source >> 24 & 7][n[i].source & 0xff] =
			n[i].time_ns;
}

static void run_mix(const struct neuron_gen *gen, unsigned int workers,
		    bool chaotic, struct times times[2])
{
	struct seq_job *job = calloc(2, sizeof(*job));
	struct chaos chaos = { 0 };
	struct seq_rig rig;
	unsigned int c;

	seq_rig_init(&rig, gen, workers, 2, true);
	chaos.rig = &rig;
	for (c = 0; c < 2; c++) {
		if (chaotic)
			rig.port[c].before_read = late_read;
		mix(&job[c], &rig, c);
	}
	if (chaotic)
		pthread_create(&chaos.thread, NULL, chaos_main, &chaos);
	for (c = 0; c < 2; c++) {
		if (chaotic)
			nap((long)chaos_random(500000));
		seq_submit(&job[c]);
	}
	for (c = 0; c < 2; c++)
		collect(&job[c], &times[c]);
	if (chaotic) {
		atomic_store(&chaos.stop, true);
		pthread_join(chaos.thread, NULL);
	}
	seq_rig_destroy(&rig);
	free(job);
}

static void try_mix(const struct neuron_gen *gen, unsigned int rounds)
{
	static struct times first[2], again[2];
	unsigned int round;

	run_mix(gen, 1, false, first);
	assert_true(first[0].end > 5000);
	for (round = 0; round < rounds; round++) {
		run_mix(gen, round % 5 + 1, round % 2, again);
		if (memcmp(first, again, sizeof(first)))
			fail_msg("%s, round %u: times differ: %llu and %llu, %llu and %llu",
				 gen->name, round,
				 (unsigned long long)first[0].end,
				 (unsigned long long)again[0].end,
				 (unsigned long long)first[1].end,
				 (unsigned long long)again[1].end);
	}
}

static void times_do_not_depend_on_the_host(void **state)
{
	(void)state;
	try_mix(&neuron_gen_trn2, 20);
	/* Engines that share ports. */
	try_mix(&neuron_gen_trn1, 10);
}

#define LONG_ROUNDS	12000

static void long_loop(struct seq_job *job, enum neuron_engine engine,
		      struct neuron_inst inst, struct neuron_inst then,
		      unsigned int rounds)
{
	seq_add(job, engine, OP(REG_SET, .reg = { 9 }, .imm0 = rounds));
	seq_add(job, engine, inst);
	seq_add(job, engine, then);
	seq_add(job, engine, OP(LOOP, .reg = { 9 }, .addr = 1));
	seq_add(job, engine, OP(HALT, 0));
}

/* Queues of one engine, and engines with one port, for many records. */
static uint64_t run_long(unsigned int workers, bool chaotic)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct chaos chaos = { 0 };
	struct neuron_hw_completion record;
	struct neuron_udma_dge *dge;
	struct seq_rig rig;

	seq_rig_init(&rig, &neuron_gen_trn1, workers, 2, true);
	seq_more_operators(&rig, true);
	chaos.rig = &rig;
	seq_job_init(job, &rig, 0, 1);
	dge = (void *)seq_data(&rig, 0, 1);
	dge[0] = (struct neuron_udma_dge){
		.op = {
			.op = NEURON_UDMA_OP_COPY, .nr_src = 1, .nr_dst = 1,
			.src_dtype = F32, .dst_dtype = F32,
			.src = { .num = { 64, 4, 1, 1 }, .step = { 4, 512 } },
			.dst = { .num = { 256, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { neuron_window_addr(SEQ_DATA, 0x1000) },
		.dst = { neuron_window_addr(SEQ_DATA, 0x3000) },
	};
	dge[1] = dge[0];
	dge[1].dst[0] = neuron_window_addr(SEQ_DATA, 0x4000);
	job->nr_queues = 2;
	job->per_engine = 2;
	long_loop(job, SYNC,
		  OP(DMA_GENERATE, .addr = neuron_window_addr(SEQ_DATA, 0)),
		  OP(DMA_GENERATE,
		     .addr = neuron_window_addr(SEQ_DATA, sizeof(*dge)),
		     .reg = { 1 }), LONG_ROUNDS / 4);
	long_loop(job, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0, F32, 7)),
		  post_add(OP(NOP, 0), 1, 1), LONG_ROUNDS);
	long_loop(job, GPSIMD, OP(MEMSET, .dst = ap_sbuf(32, 1, 0, F32, 9)),
		  take_ge(OP(NOP, 0), 1, 1), LONG_ROUNDS);
	if (chaotic)
		pthread_create(&chaos.thread, NULL, chaos_main, &chaos);
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	if (chaotic) {
		atomic_store(&chaos.stop, true);
		pthread_join(chaos.thread, NULL);
	}
	seq_rig_destroy(&rig);
	free(job);
	return record.end_ns - record.start_ns;
}

/* More than is kept: what is replayed early is what nothing can change any more. */
static void long_jobs_do_not_depend_on_the_host(void **state)
{
	uint64_t first = run_long(1, false);
	unsigned int round;

	(void)state;
	for (round = 0; round < 8; round++)
		assert_int_equal(run_long(round % 4 + 1, round % 2), first);
}

/* --- engines that wait while others go on --- */

#define X	220		/* posted from elsewhere */
#define Y	7		/* by an engine that waits for X, and by one that is busy */
#define ROUNDS_TRACED	1000
#define TRACE_OFFSET	0x80000
#define TRACE_BYTES	0x40000

enum from { FROM_CORE, FROM_HOST };

/**
 * struct order - when a post from elsewhere is made
 * @from: who makes it
 * @late: after the busy engine has ended in real time; else before the job starts to wait
 * @traced: the job is, and short; else it has many records
 */
struct order {
	enum from from;
	bool late;
	bool traced;
};

/* What GPSIMD does, as often as @rounds says, and then posts Y; and the same again. */
static void busy_engine(struct seq_job *job, struct neuron_inst inst, unsigned int rounds)
{
	unsigned int i, first;

	for (i = 0; i < 2; i++) {
		first = job->nr[GPSIMD];
		seq_add(job, GPSIMD, OP(REG_SET, .reg = { 9 }, .imm0 = rounds));
		seq_add(job, GPSIMD, inst);
		seq_add(job, GPSIMD, post_add(OP(NOP, 0), 8, 1));
		seq_add(job, GPSIMD, OP(LOOP, .reg = { 9 }, .addr = first + 1));
		seq_add(job, GPSIMD, post_add(OP(NOP, 0), Y, 1));
	}
	seq_add(job, GPSIMD, OP(HALT, 0));
}

/* VECTOR waits for the first of two that post Y: SCALAR, or GPSIMD after many rounds. */
static void waiting_job(struct seq_job *job, struct seq_rig *rig, unsigned int rounds,
			bool traced)
{
	seq_job_init(job, rig, 0, 0);
	seq_add(job, SCALAR, post_add(wait_ge(OP(NOP, 0), X, 1), Y, 1));
	seq_add(job, SCALAR, OP(HALT, 0));
	seq_add(job, VECTOR, wait_ge(OP(NOTIFY, .imm0 = 1), Y, 1));
	seq_add(job, VECTOR, OP(HALT, 0));
	busy_engine(job, traced ? OP(NOP, 0) : OP(MEMSET, .dst = ap_sbuf(32, 1, 0, F32, 9)),
		    rounds);
	job->block.notify_addr = neuron_window_addr(SEQ_DATA, 0);
	job->block.notify_size = 64;
	if (!traced)
		return;
	job->block.flags = NEURON_JOB_TRACE;
	job->trace = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE,
					     seq_data_addr(rig, 0, 0) + TRACE_OFFSET, TRACE_BYTES);
}

/* Core 1 posts X to core 0 with its first instructions. */
static void posting_job(struct seq_job *job, struct seq_rig *rig)
{
	uint64_t peer;

	seq_job_init(job, rig, 0, 1);
	peer = seq_sem_window(job, 0, 0, X);
	seq_add(job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
	seq_add(job, SYNC, OP(REG_STORE, .reg = { 1 }, .addr = peer));
	seq_add(job, SYNC, OP(HALT, 0));
}

static void post_x(struct seq_rig *rig, struct seq_job *poster, enum from from)
{
	struct trn_chip *chip = rig->chip[0];

	if (from == FROM_CORE) {
		assert_int_equal(seq_run(poster).status, NEURON_JOB_OK);
		return;
	}
	trn_chip_mmio_write(chip, neuron_tpb_bar0(chip->gen, 0) + NEURON_TPB_SEM +
			    NEURON_SEM_INC(X), 1, 4);
}

/* Until the busy engine has come to its end. */
static void await_busy_engine(struct seq_rig *rig, unsigned int rounds)
{
	const struct neuron_gen *gen = rig->chip[0]->gen;

	assert_true(fake_wait_reg(rig->chip[0], neuron_tpb_bar0(gen, 0) + NEURON_TPB_SEM +
				  NEURON_SEM_READ(8), ~0u, 2 * rounds));
	assert_true(fake_wait_reg(rig->chip[0], neuron_ctl_bar0(gen) + NEURON_CTL_CORE(0) +
				  NEURON_CORE_ENGINE(GPSIMD), ~0u, NEURON_ENGINE_HALTED));
}

/* The times of the notification and of the end; what was traced too. */
static void run_order(struct order order, uint64_t times[2], uint8_t *trace)
{
	const unsigned int rounds = order.traced ? ROUNDS_TRACED : TRN_TIME_LIMIT;
	struct seq_job *job = calloc(2, sizeof(*job));
	const struct neuron_hw_notify *n;
	struct neuron_hw_completion record;
	struct seq_rig rig;

	seq_rig_init(&rig, &neuron_gen_trn1, 2, 1, true);
	waiting_job(&job[0], &rig, rounds, order.traced);
	posting_job(&job[1], &rig);
	seq_submit(&job[0]);
	if (order.late)
		await_busy_engine(&rig, rounds);
	post_x(&rig, &job[1], order.from);
	record = seq_wait(&job[0]);
	assert_int_equal(record.status, NEURON_JOB_OK);
	n = (void *)seq_data(&rig, 0, 0);
	times[0] = n->time_ns;
	times[1] = record.end_ns;
	memcpy(trace, seq_data(&rig, 0, 0) + TRACE_OFFSET, TRACE_BYTES);
	seq_rig_destroy(&rig);
	free(job);
}

/* Whether the post of another job or of the host comes early or late in real time. */
static void waits_hold_back_the_replay(void **state)
{
	uint8_t *trace = malloc(2 * TRACE_BYTES);
	uint64_t first[2], times[2];
	struct order order = { 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		order.late = i & 1;
		order.traced = i & 2;
		order.from = i & 4 ? FROM_HOST : FROM_CORE;
		run_order(order, order.late ? times : first,
			  trace + (order.late ? TRACE_BYTES : 0));
		if (!order.late) {
			assert_true(first[0] < 100);
			continue;
		}
		assert_memory_equal(times, first, sizeof(first));
		assert_memory_equal(trace, trace + TRACE_BYTES, TRACE_BYTES);
	}
	free(trace);
}

/*
 * So many records that the replay goes past the engine that waits. Which record is the
 * first that is marked depends on the host.
 */
static void what_is_not_exact_is_marked(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	const struct neuron_hw_trace_record *traced;
	const struct neuron_hw_trace *trace;
	struct seq_rig rig;
	unsigned int i;

	(void)state;
	seq_rig_init(&rig, &neuron_gen_trn1, 2, 1, true);
	waiting_job(job, &rig, TRN_TIME_PILE, true);
	job->inexact = true;
	seq_submit(job);
	await_busy_engine(&rig, TRN_TIME_PILE);
	post_x(&rig, NULL, FROM_HOST);
	assert_int_equal(seq_wait(job).flags, NEURON_COMPLETION_INEXACT);
	trace = (void *)(seq_data(&rig, 0, 0) + TRACE_OFFSET);
	traced = (void *)(trace + 1);
	assert_true(trace->records > 0 && trace->lost > 0);
	for (i = 0; i < trace->records; i++)
		assert_int_equal(traced[i].flags & ~NEURON_TRACE_INEXACT, 0);
	assert_int_equal(traced[0].flags, 0);
	seq_rig_destroy(&rig);
	free(job);
}

/* --- an engine that is late, and posts to another core --- */

#define GO	230		/* the host posts them: GPSIMD goes on, VECTOR begins */
#define BEGIN	231

static void host_post(struct seq_rig *rig, unsigned int sem)
{
	trn_chip_mmio_write(rig->chip[0], neuron_tpb_bar0(rig->chip[0]->gen, 0) + NEURON_TPB_SEM +
			    NEURON_SEM_INC(sem), 1, 4);
}

/*
 * GPSIMD posts Y once, and @raises times more when it may go on. VECTOR takes the first post
 * of Y, and then posts to core 1.
 */
static void late_job(struct seq_job *job, struct seq_rig *rig, unsigned int raises)
{
	uint64_t peer;

	seq_job_init(job, rig, 0, 0);
	peer = seq_sem_window(job, 0, 1, X);
	seq_add(job, GPSIMD, post_add(OP(NOP, 0), Y, 1));
	seq_add(job, GPSIMD, wait_ge(OP(NOP, 0), GO, 1));
	seq_add(job, GPSIMD, OP(REG_SET, .reg = { 9 }, .imm0 = raises));
	seq_add(job, GPSIMD, post_add(OP(NOP, 0), Y, 1));
	seq_add(job, GPSIMD, OP(LOOP, .reg = { 9 }, .addr = 3));
	seq_add(job, GPSIMD, OP(HALT, 0));
	seq_add(job, VECTOR, wait_ge(OP(NOP, 0), BEGIN, 1));
	seq_add(job, VECTOR, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
	seq_add(job, VECTOR, take_ge(OP(NOP, 0), Y, 1));
	seq_add(job, VECTOR, OP(REG_STORE, .reg = { 1 }, .addr = peer));
	seq_add(job, VECTOR, OP(HALT, 0));
}

/* The record of core 1, whose job waits for that post. */
static struct neuron_hw_completion run_late(unsigned int raises, bool late)
{
	struct seq_job *job = calloc(2, sizeof(*job));
	struct neuron_hw_completion record;
	struct seq_rig rig;

	seq_rig_init(&rig, &neuron_gen_trn2, 2, 1, true);
	late_job(&job[0], &rig, raises);
	seq_job_init(&job[1], &rig, 0, 1);
	seq_add(&job[1], SYNC, wait_ge(OP(NOP, 0), X, 1));
	seq_add(&job[1], SYNC, OP(HALT, 0));
	job[1].inexact = true;
	seq_submit(&job[1]);
	seq_submit(&job[0]);
	host_post(&rig, late ? GO : BEGIN);
	if (late)
		assert_true(fake_wait_reg(rig.chip[0], neuron_tpb_bar0(&neuron_gen_trn2, 0) +
					  NEURON_TPB_SEM + NEURON_SEM_READ(Y), ~0u, raises + 1));
	else
		record = seq_wait(&job[1]);
	host_post(&rig, late ? BEGIN : GO);
	if (late)
		record = seq_wait(&job[1]);
	assert_int_equal(seq_wait(&job[0]).status, NEURON_JOB_OK);
	assert_int_equal(record.status, NEURON_JOB_OK);
	seq_rig_destroy(&rig);
	free(job);
	return record;
}

/*
 * When a post was made is remembered for many posts of a semaphore. Who comes later than that
 * cannot date what it posts itself, and whoever gets such a post says so.
 */
static void late_posts_are_dated_or_marked(void **state)
{
	const struct neuron_hw_completion first = run_late(100, false);
	struct neuron_hw_completion late = run_late(100, true);

	(void)state;
	assert_int_equal(first.flags, 0);
	assert_int_equal(late.flags, 0);
	assert_int_equal(late.end_ns, first.end_ns);
	late = run_late(10000, true);
	assert_int_equal(late.flags, NEURON_COMPLETION_INEXACT);
}

/* Core 0 posts X to core 1 @posts times; the record of core 1, which waits for the first. */
static struct neuron_hw_completion run_early(unsigned int posts, bool early)
{
	struct seq_job *job = calloc(2, sizeof(*job));
	struct neuron_hw_completion record;
	struct seq_rig rig;
	uint64_t peer;

	seq_rig_init(&rig, &neuron_gen_trn2, 2, 1, true);
	seq_job_init(&job[0], &rig, 0, 0);
	peer = seq_sem_window(&job[0], 0, 1, X);
	seq_add(&job[0], SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1));
	seq_add(&job[0], SYNC, OP(REG_SET, .reg = { 2 }, .imm0 = posts));
	seq_add(&job[0], SYNC, OP(REG_STORE, .reg = { 1 }, .addr = peer));
	seq_add(&job[0], SYNC, OP(LOOP, .reg = { 2 }, .addr = 2));
	seq_add(&job[0], SYNC, OP(HALT, 0));
	seq_job_init(&job[1], &rig, 0, 1);
	seq_add(&job[1], SYNC, take_ge(OP(NOP, 0), X, 1));
	seq_add(&job[1], SYNC, OP(HALT, 0));
	job[1].inexact = true;
	if (!early)
		seq_submit(&job[1]);
	assert_int_equal(seq_run(&job[0]).status, NEURON_JOB_OK);
	if (early)
		seq_submit(&job[1]);
	record = seq_wait(&job[1]);
	assert_int_equal(record.status, NEURON_JOB_OK);
	seq_rig_destroy(&rig);
	free(job);
	return record;
}

/* Posts come before the job that waits for them, and are kept; or they are too many. */
static void early_posts_are_dated_or_marked(void **state)
{
	const struct neuron_hw_completion first = run_early(1000, false);
	struct neuron_hw_completion early = run_early(1000, true);

	(void)state;
	assert_int_equal(first.flags, 0);
	assert_int_equal(early.flags, 0);
	assert_int_equal(early.end_ns, first.end_ns);
	early = run_early(5000, true);
	assert_int_equal(early.flags, NEURON_COMPLETION_INEXACT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_posts_are_dated_or_marked),
		cmocka_unit_test(late_posts_are_dated_or_marked),
		cmocka_unit_test(waits_hold_back_the_replay),
		cmocka_unit_test(what_is_not_exact_is_marked),
		cmocka_unit_test(times_do_not_depend_on_the_host),
		cmocka_unit_test(long_jobs_do_not_depend_on_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
