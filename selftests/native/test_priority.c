// SPDX-License-Identifier: MIT
/*
 * Priorities of a job's queues: which of a DMA engine's queues moves its packets first, and
 * who does not keep the others waiting. test_contend.c has the device time.
 */
#include "seq_rig.h"
#include "state_rig.h"

#include <stdlib.h>
#include <string.h>

#include "contract/window.h"
#include "neuron/dma_op.h"
#include "trn/fault.h"
#include "dma/trn_udma_queue.h"

#define SYNC		NEURON_ENGINE_SYNC
#define SCALAR		NEURON_ENGINE_SCALAR
#define HOST_AT		0x80000		/* what the job's window of host memory shows */
#define GATE_AT		0x800		/* in it: who reads here waits until the gate opens */
#define SECOND_AT	0x808		/* and here until the second gate opens */
#define ENTERED_AT	0x804		/* and here until somebody waits at the gate */
#define BLOCK_AT	0x4000		/* operation blocks in the job's data */
#define HOST_BYTES	4096
#define PACKETS		8		/* of a queue */
#define MOST		64

/**
 * struct bench - a chip whose host memory notes who writes to it
 * @lock: of @order and @nr
 * @order: the queues whose packets have arrived, one after the other
 * @open, @second: reading GATE_AT, SECOND_AT does not wait (any more)
 * @entered: somebody has read there
 */
struct bench {
	struct seq_rig rig;
	struct seq_job job;
	pthread_mutex_t lock;
	uint8_t order[MOST];
	unsigned int nr;
	_Atomic bool open;
	_Atomic bool second;
	_Atomic bool entered;
	bool (*host_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	bool (*host_write)(void *opaque, uint64_t addr, const void *buf, size_t len);
};

static struct bench *bench_of(void *port)
{
	return (struct bench *)((char *)port - offsetof(struct bench, rig.port[0]));
}

static bool is_set(void *arg)
{
	return atomic_load((_Atomic bool *)arg);
}

static bool gate_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct bench *b = bench_of(opaque);

	if (addr == HOST_AT + GATE_AT) {
		atomic_store(&b->entered, true);
		assert_true(fake_wait(is_set, &b->open));
	}
	if (addr == HOST_AT + SECOND_AT)
		assert_true(fake_wait(is_set, &b->second));
	if (addr == HOST_AT + ENTERED_AT)
		assert_true(fake_wait(is_set, &b->entered));
	return b->host_read(opaque, addr, buf, len);
}

/* A packet writes its queue to the word of that queue and packet. */
static bool noted_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct bench *b = bench_of(opaque);

	pthread_mutex_lock(&b->lock);
	if (addr >= HOST_AT && addr < HOST_AT + GATE_AT && len == 4 && b->nr < MOST)
		b->order[b->nr++] = *(const uint8_t *)buf;
	pthread_mutex_unlock(&b->lock);
	return b->host_write(opaque, addr, buf, len);
}

static struct bench *bench_new(const struct neuron_gen *gen, unsigned int workers, bool clock)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct fake_port *port = &b->rig.port[0];

	seq_rig_init(&b->rig, gen, workers, 1, clock);
	pthread_mutex_init(&b->lock, NULL);
	b->host_read = port->ops.host_read;
	b->host_write = port->ops.host_write;
	port->ops.host_read = gate_read;
	port->ops.host_write = noted_write;
	fake_timer_enable(port);
	return b;
}

static void bench_free(struct bench *b)
{
	seq_rig_destroy(&b->rig);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void begin(struct bench *b)
{
	struct seq_job *job = &b->job;
	unsigned int i;

	seq_job_init(job, &b->rig, 0, 0);
	job->window[SEQ_FREE] = neuron_hw_window_memory(NEURON_WINDOW_HOST,
							NEURON_WINDOW_RIGHTS,
							fake_host_addr(&b->rig.port[0], HOST_AT),
							HOST_BYTES);
	job->nr_windows = SEQ_FREE + 1;
	job->per_engine = 16;
	for (i = 0; i < 16; i++)
		seq_data(&b->rig, 0, 0)[4 * i] = (uint8_t)i;
	b->nr = 0;
	atomic_store(&b->open, false);
	atomic_store(&b->second, false);
	atomic_store(&b->entered, false);
}

static uint64_t host_at(uint64_t offset)
{
	return neuron_window_addr(SEQ_FREE, offset);
}

/* Queue @q, which is the next one, has @priority and @nr packets that write its number. */
static void add_queue(struct bench *b, unsigned int q, unsigned int priority, unsigned int nr)
{
	unsigned int i;

	assert_int_equal(b->job.nr_queues++, q);
	b->job.queue_flags[q] = NEURON_PUT(NEURON_JOB_QUEUE_PRIORITY, priority);
	for (i = 0; i < nr; i++)
		seq_copy(&b->job, q, host_at((q * PACKETS + i) * 4),
			 neuron_window_addr(SEQ_DATA, 4 * q), 4);
}

/* SYNC makes packet @i of queue @q, as those of add_queue(). */
static void generate(struct bench *b, unsigned int q, unsigned int i)
{
	const uint64_t at = BLOCK_AT + (q * PACKETS + i) * sizeof(struct neuron_udma_dge);
	const struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_COPY,
			.nr_src = 1,
			.nr_dst = 1,
			.src_dtype = NEURON_DTYPE_UINT32,
			.dst_dtype = NEURON_DTYPE_UINT32,
			.src = { .num = { 1, 1, 1, 1 } },
			.dst = { .num = { 1, 1, 1, 1 } },
		},
		.src = { neuron_window_addr(SEQ_DATA, 4 * q) },
		.dst = { host_at((q * PACKETS + i) * 4) },
	};

	memcpy(seq_data(&b->rig, 0, 0) + at, &dge, sizeof(dge));
	seq_add(&b->job, SYNC, OP(DMA_GENERATE, .reg = { (uint8_t)q },
				  .addr = neuron_window_addr(SEQ_DATA, at)));
}

/* A packet of queue @q that begins and waits until the gate opens. */
static void add_gate(struct bench *b, unsigned int q, uint64_t gate)
{
	seq_copy(&b->job, q, neuron_window_addr(SEQ_DATA, 0x1000), host_at(gate), 4);
}

static void trigger(struct bench *b, unsigned int q, unsigned int nr)
{
	seq_add(&b->job, SYNC, OP(DMA_TRIGGER, .reg = { (uint8_t)q }, .imm0 = nr, .imm1 = nr));
}

static void add_halt(struct bench *b)
{
	seq_add(&b->job, SYNC, OP(HALT));
}

static bool sync_halted(void *arg)
{
	struct bench *b = arg;

	return atomic_load(&seq_core(&b->rig, 0, 0)->seq[SYNC].status) == NEURON_ENGINE_HALTED;
}

/* All has been triggered, and the queue of the highest priority is in its packet. */
static void submit_to_gate(struct bench *b)
{
	seq_submit(&b->job);
	assert_true(fake_wait(is_set, &b->entered));
	assert_true(fake_wait(sync_halted, b));
}

/*
 * While the queue of the highest priority is in its packet, the others are triggered, the
 * lowest first; that of queue 3 is generated. The answer is the same on each run.
 */
static void order_program(struct bench *b)
{
	static const unsigned int priority[] = { 0, 3, 1, 2 };
	unsigned int q, i;

	begin(b);
	for (q = 0; q < 4; q++)
		add_queue(b, q, priority[q], q % 3 ? PACKETS : 0);
	add_gate(b, 0, GATE_AT);
	trigger(b, 0, 1);
	trigger(b, 1, PACKETS);
	for (i = 0; i < PACKETS; i++)
		generate(b, 3, i);
	trigger(b, 2, PACKETS);
	add_halt(b);
}

static void assert_order(struct bench *b)
{
	static const uint8_t order[] = { 2, 3, 1 };
	unsigned int i;

	assert_int_equal(b->nr, 3 * PACKETS);
	for (i = 0; i < b->nr; i++)
		if (b->order[i] != order[i / PACKETS])
			fail_msg("packet %u is of queue %u, not %u", i, b->order[i],
				 order[i / PACKETS]);
}

static void test_order(void **state)
{
	struct bench *b;
	unsigned int i;

	(void)state;
	for (i = 0; i < 30; i++) {
		b = bench_new(&neuron_gen_trn3, 2 + i % 3, i & 1);
		order_program(b);
		submit_to_gate(b);
		assert_int_equal(b->nr, 0);
		atomic_store(&b->open, true);
		assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_OK);
		assert_order(b);
		bench_free(b);
	}
}

static bool first_is_quiet(void *arg)
{
	struct bench *b = arg;

	return trn_task_quiet(&trn_udma_queue_at(b->rig.chip[0], 0, 0)->task);
}

/*
 * A queue is in its fourth packet when one of a higher priority is triggered, which begins
 * at once. The packet ends, and the rest of them wait.
 */
static void test_arrival(void **state)
{
	struct bench *b;
	unsigned int i, n;

	(void)state;
	for (i = 0; i < 30; i++) {
		b = bench_new(&neuron_gen_trn3, 3 + i % 2, i & 1);
		begin(b);
		add_queue(b, 0, 3, 3);
		add_gate(b, 0, GATE_AT);
		for (n = 3; n < PACKETS; n++)
			seq_copy(&b->job, 0, host_at(4 * n), neuron_window_addr(SEQ_DATA, 0), 4);
		add_queue(b, 1, 2, 0);
		add_gate(b, 1, SECOND_AT);
		for (n = 0; n < PACKETS; n++)
			seq_copy(&b->job, 1, host_at(0x100 + 4 * n),
				 neuron_window_addr(SEQ_DATA, 4), 4);
		trigger(b, 0, PACKETS + 1);
		seq_add(&b->job, SYNC, OP(REG_LOAD, .reg = { 1 }, .addr = host_at(ENTERED_AT)));
		trigger(b, 1, PACKETS + 1);
		add_halt(b);
		submit_to_gate(b);
		atomic_store(&b->open, true);
		assert_true(fake_wait(first_is_quiet, b));
		assert_int_equal(b->nr, 3);
		atomic_store(&b->second, true);
		assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_OK);
		assert_int_equal(b->nr, 2 * PACKETS);
		for (n = 0; n < b->nr; n++)
			assert_int_equal(b->order[n], n >= 3 && n < 3 + PACKETS);
		bench_free(b);
	}
}

/* Queues of another engine have nothing to do with it, nor have those of equal priority. */
static void test_others_go_on(void **state)
{
	struct bench *b = bench_new(&neuron_gen_trn3, 2, false);
	unsigned int q;

	(void)state;
	begin(b);
	b->job.per_engine = 2;
	add_queue(b, 0, 1, 0);
	add_gate(b, 0, GATE_AT);
	add_queue(b, 1, 1, PACKETS);
	add_queue(b, 2, 3, PACKETS);
	for (q = 0; q < 3; q++)
		trigger(b, q, q ? PACKETS : 1);
	/* The job ends only when the gate is open, so the others must get through before. */
	seq_copy(&b->job, 1, seq_sem_window(&b->job, 0, 0, 9), neuron_window_addr(SEQ_DATA, 4), 4);
	seq_copy(&b->job, 2, seq_sem_window(&b->job, 0, 0, 9), neuron_window_addr(SEQ_DATA, 4), 4);
	trigger(b, 1, 1);
	trigger(b, 2, 1);
	seq_add(&b->job, SYNC, wait_ge(OP(NOP), 9, 2));
	add_halt(b);
	submit_to_gate(b);
	assert_int_equal(b->nr, 2 * PACKETS);
	atomic_store(&b->open, true);
	assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_OK);
	bench_free(b);
}

/* However often the higher one comes back, the lower one gets to its end. */
static void test_starved_queue_ends(void **state)
{
	struct bench *b;
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		b = bench_new(&neuron_gen_trn3, 1 + i % 4, i & 1);
		begin(b);
		add_queue(b, 0, 3, PACKETS);
		b->job.nr_queues = 2;
		trigger(b, 0, PACKETS);
		seq_copy(&b->job, 1, neuron_window_addr(SEQ_DATA, 0x1000),
			 neuron_window_addr(SEQ_DATA, 0), 4);
		b->job.queue_flags[1] = NEURON_JOB_QUEUE_ANY_RING_ID;
		for (; b->job.m2s[1] < SEQ_RING;)
			seq_copy(&b->job, 1, neuron_window_addr(SEQ_DATA, 0x1000),
				 neuron_window_addr(SEQ_DATA, 0), 4);
		seq_add(&b->job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 500));
		seq_add(&b->job, SYNC,
			post_add(take_ge(OP(DMA_TRIGGER, .reg = { 1 }, .imm0 = 1, .imm1 = 1,
					    .mode = NEURON_INST_LANDED >> 8), 7, 1), 7, 1));
		seq_add(&b->job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 2));
		add_halt(b);
		seq_add(&b->job, SCALAR, post_add(OP(NOP), 7, 1));
		seq_add(&b->job, SCALAR, OP(HALT));
		assert_int_equal(seq_run(&b->job).status, NEURON_JOB_OK);
		assert_int_equal(b->nr, PACKETS);
		bench_free(b);
	}
}

static bool all_noted(void *arg)
{
	struct bench *b = arg;
	unsigned int nr;

	pthread_mutex_lock(&b->lock);
	nr = b->nr;
	pthread_mutex_unlock(&b->lock);
	return nr == PACKETS + 1;
}

/* A packet of the higher queue that never ends, or late, keeps nobody waiting. */
static void test_faults_on_demand(void **state)
{
	static const char *const orders[] = {
		"dma-lost,queue=0:0,count=1", "dma-late,queue=0:0,delay=1000s,count=1",
	};
	char why[TRN_FAULT_WHY];
	struct bench *b;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		b = bench_new(&neuron_gen_trn3, 2, false);
		begin(b);
		add_queue(b, 0, 0, 1);
		add_queue(b, 1, 1, PACKETS);
		trigger(b, 0, 1);
		trigger(b, 1, PACKETS);
		add_halt(b);
		assert_int_equal(trn_fault_order(b->rig.chip[0], orders[i], why), 0);
		seq_submit(&b->job);
		assert_true(fake_wait(all_noted, b));
		trn_core_reset(seq_core(&b->rig, 0, 0));
		assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_ABORTED);
		bench_free(b);
	}
}

/* The job ends also when a queue of it waits for its turn. */
static void test_fault_while_waiting(void **state)
{
	struct neuron_hw_completion record;
	struct bench *b;
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		b = bench_new(&neuron_gen_trn3, 2 + i % 3, i & 1);
		order_program(b);
		seq_add(&b->job, SCALAR, OP(REG_LOAD, .reg = { 1 }, .addr = host_at(ENTERED_AT)));
		seq_add(&b->job, SCALAR, OP(ILLEGAL));
		submit_to_gate(b);
		atomic_store(&b->open, true);
		record = seq_wait(&b->job);
		assert_int_equal(record.status, NEURON_JOB_ERROR);
		assert_int_equal(record.source, SCALAR);
		assert_int_equal(record.cause, NEURON_CAUSE_OPCODE);
		/* What comes next finds nothing left of it. */
		order_program(b);
		submit_to_gate(b);
		atomic_store(&b->open, true);
		assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_OK);
		assert_order(b);
		bench_free(b);
	}
}

static bool first_yields(void *arg)
{
	struct bench *b = arg;

	return first_is_quiet(arg) &&
	       trn_udma_queue_yields(trn_udma_queue_at(b->rig.chip[0], 0, 0));
}

/* Queue 1 of the engine has work, or not: as that of a job of another core. */
static void other_job(struct bench *b, bool works)
{
	struct trn_udma_queue *queue = trn_udma_queue_at(b->rig.chip[0], 0, 1);

	pthread_mutex_lock(&queue->lock);
	if (works)
		trn_udma_queue_claim(queue);
	else
		trn_udma_queue_give_way(queue);
	pthread_mutex_unlock(&queue->lock);
}

static void submit_behind_other(struct bench *b, struct neuron_inst last)
{
	begin(b);
	add_queue(b, 0, 3, PACKETS);
	trigger(b, 0, PACKETS);
	/* Until after the device time at which the queue begins. */
	seq_add(&b->job, SYNC, OP(REG_SET, .reg = { 1 }, .imm0 = 1000));
	seq_add(&b->job, SYNC, OP(LOOP, .reg = { 1 }, .addr = 2));
	seq_add(&b->job, SYNC, last);
	other_job(b, true);
	seq_submit(&b->job);
	assert_true(fake_wait(first_yields, b));
	assert_true(fake_wait(sync_halted, b));
	assert_int_equal(b->nr, 0);
}

/* A core and its CC-cores have the same engines. */
static void test_other_job(void **state)
{
	struct bench *b = bench_new(&neuron_gen_trn3, 3, true);

	(void)state;
	submit_behind_other(b, OP(HALT));
	other_job(b, false);
	assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_OK);
	assert_int_equal(b->nr, PACKETS);
	/* It may have met an error before the one that is known. */
	submit_behind_other(b, OP(ILLEGAL));
	assert_false(atomic_load(&seq_core(&b->rig, 0, 0)->job->stop));
	other_job(b, false);
	assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_ERROR);
	/* A reset does not wait. */
	submit_behind_other(b, OP(HALT));
	trn_core_reset(seq_core(&b->rig, 0, 0));
	assert_int_equal(seq_wait(&b->job).status, NEURON_JOB_ABORTED);
	assert_int_equal(b->nr, 0);
	other_job(b, false);
	bench_free(b);
}

/* Saved while three queues wait for their turn: they have it on the other chip. */
static void test_saved(void **state)
{
	struct bench *from = bench_new(&neuron_gen_trn3, 3, true);
	struct bench *to = bench_new(&neuron_gen_trn3, 3, true);
	struct neuron_hw_completion record, moved;
	struct stream stream = { 0 };
	const char *why = NULL;

	(void)state;
	order_program(from);
	submit_to_gate(from);
	trn_chip_stop(from->rig.chip[0]);
	atomic_store(&from->open, true);
	fake_chip_stop(from->rig.chip[0]);
	fake_chip_stop(to->rig.chip[0]);
	assert_int_equal(from->nr, 0);
	stream_put_chip(&stream, from->rig.chip[0]);
	memcpy(to->rig.port[0].host, from->rig.port[0].host, NEURON_MIB(1));
	to->job = from->job;
	to->job.rig = &to->rig;
	assert_true(stream_get_chip(&stream, to->rig.chip[0], &why));
	stream_free(&stream);
	trn_chip_resume(to->rig.chip[0]);
	trn_chip_resume(from->rig.chip[0]);
	record = seq_wait(&from->job);
	moved = seq_wait(&to->job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	assert_int_equal(moved.status, NEURON_JOB_OK);
	assert_int_equal(moved.end_ns, record.end_ns);
	assert_order(from);
	assert_order(to);
	bench_free(from);
	bench_free(to);
}

/* The end of a job that has @nr queues with so many packets, in device time. */
static uint64_t job_ns(const struct neuron_gen *gen, const unsigned int *priority,
		       uint64_t *first_ns)
{
	struct bench *b = bench_new(gen, 3, true);
	struct neuron_hw_completion record;
	const struct neuron_hw_notify *notes;
	unsigned int q, i;

	begin(b);
	for (q = 0; q < 4; q++) {
		add_queue(b, q, priority[q], 0);
		for (i = 0; i < PACKETS; i++)
			seq_copy(&b->job, q, neuron_window_addr(SEQ_DATA, 0x20000 * (q + 1)),
				 neuron_window_addr(SEQ_DATA, 0), 4096);
		seq_add(&b->job, SYNC, OP(DMA_TRIGGER, .reg = { (uint8_t)q }, .imm0 = PACKETS,
					  .imm1 = PACKETS, .mode = NEURON_INST_LANDED >> 8,
					  .sync = NEURON_PUT(NEURON_SYNC_POST,
							     NEURON_SYNC_POST_ADD),
					  .post_sem = (uint16_t)(10 + q), .post_value = 1));
	}
	add_halt(b);
	for (q = 0; q < 4; q++) {
		seq_add(&b->job, q, wait_ge(OP(NOTIFY, .imm0 = q), 10 + q, 1));
		seq_add(&b->job, q, OP(HALT));
	}
	b->job.block.notify_addr = neuron_window_addr(SEQ_DATA, 0xf0000);
	b->job.block.notify_size = 64;
	record = seq_run(&b->job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	notes = (const void *)(seq_data(&b->rig, 0, 0) + 0xf0000);
	for (i = 0; i < 4; i++)
		first_ns[notes[i].tag] = notes[i].time_ns - record.start_ns;
	bench_free(b);
	return record.end_ns - record.start_ns;
}

/* Four queues of an engine that do the same: the job takes as long, each queue does not. */
static void test_device_time(void **state)
{
	static const unsigned int equal[] = { 0, 0, 0, 0 }, ranked[] = { 3, 1, 0, 2 };
	static const unsigned int order[] = { 2, 1, 3, 0 };
	uint64_t same[4], first[4], again[4], end, part;
	unsigned int q, i;

	(void)state;
	/* The engine that waits for the last queue has a clock of its own. */
	end = job_ns(&neuron_gen_trn3, equal, same);
	assert_in_range(job_ns(&neuron_gen_trn3, ranked, first), end - 20, end + 20);
	/* Equal ones take turns and end together, in the last round. */
	part = 4096 * 1000ull / neuron_gen_trn3.dma_bytes_per_us;
	for (q = 0; q < 4; q++)
		assert_in_range(same[q], end - 4 * part, end);
	/* The others come one after the other. */
	for (q = 1; q < 4; q++)
		assert_in_range(first[order[q]] - first[order[q - 1]], PACKETS * part - 200,
				PACKETS * part + 200);
	for (i = 0; i < 3; i++) {
		job_ns(&neuron_gen_trn3, ranked, again);
		assert_memory_equal(again, first, sizeof(first));
	}
}

static void assert_refused(const struct neuron_gen *gen, uint32_t flags, const char *why)
{
	struct bench *b = bench_new(gen, 1, false);
	struct neuron_hw_completion record;

	begin(b);
	add_queue(b, 0, 0, 1);
	b->job.queue_flags[0] = flags;
	trigger(b, 0, 1);
	add_halt(b);
	record = seq_run(&b->job);
	if (why) {
		assert_int_equal(record.status, NEURON_JOB_ERROR);
		assert_int_equal(record.source, NEURON_SOURCE_JOB);
		assert_int_equal(record.cause, NEURON_CAUSE_JOB);
		assert_true(fake_logged(&b->rig.port[0], why));
		assert_int_equal(b->nr, 0);
	} else {
		assert_int_equal(record.status, NEURON_JOB_OK);
		assert_int_equal(b->nr, 1);
	}
	bench_free(b);
}

/* Only NeuronCore-v4 has priorities. */
static void test_generations(void **state)
{
	const uint32_t lowest = NEURON_JOB_QUEUE_PRIORITY;

	(void)state;
	assert_refused(&neuron_gen_trn1, NEURON_BIT(8), "only NeuronCore-v4");
	assert_refused(&neuron_gen_trn2, NEURON_BIT(8), "only NeuronCore-v4");
	assert_refused(&neuron_gen_trn2, lowest, "only NeuronCore-v4");
	assert_refused(&neuron_gen_trn2, 0, NULL);
	assert_refused(&neuron_gen_trn3, lowest, NULL);
	assert_refused(&neuron_gen_trn3, lowest + NEURON_BIT(8), "unknown flags");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_arrival),
		cmocka_unit_test(test_others_go_on),
		cmocka_unit_test(test_starved_queue_ends),
		cmocka_unit_test(test_faults_on_demand),
		cmocka_unit_test(test_fault_while_waiting),
		cmocka_unit_test(test_other_job),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_device_time),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests_name("priority", tests, NULL, NULL);
}
