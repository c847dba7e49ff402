// SPDX-License-Identifier: MIT
/*
 * Device time: what engines, queues and transfers share, and the documented figures.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "time/trn_cost.h"
#include "fabric/trn_fabric.h"
#include "time/trn_time_private.h"
#include "time/trn_time.h"
#include "dma/trn_udma_op.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR
#define TENSOR	NEURON_ENGINE_TENSOR
#define GPSIMD	NEURON_ENGINE_GPSIMD
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16

#define START_NS	(TRN_COST_DMA_START_PS / 1000)
#define HOP_NS		(TRN_COST_HOP_PS / 1000)
#define QUEUE(i)	(TRN_ACTOR_QUEUE + (i))

static int setup(void **state)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, &neuron_gen_trn2, 2, 2, true);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

/* --- records by hand --- */

struct hand {
	struct trn_timeline *tl;
	uint64_t start, end;
	uint64_t stamp[16];
};

/* A job with @queues queues, @per of each DMA engine. */
static void hand_begin(struct hand *hand, struct seq_rig *rig,
		       unsigned int queues, unsigned int per)
{
	const uint64_t all[4] = { ~0ull, ~0ull, ~0ull, ~0ull };
	unsigned int i;

	memset(hand, 0, sizeof(*hand));
	hand->tl = trn_timeline_new(seq_core(rig, 0, 7), queues);
	assert_non_null(hand->tl);
	for (i = 0; i < queues; i++)
		trn_time_queue(hand->tl, QUEUE(i), i / per, i % per, 0);
	trn_time_begin(hand->tl, all);
}

static void hand_stamp(void *arg, uint64_t cookie, uint64_t time_ns)
{
	struct hand *hand = arg;

	hand->stamp[cookie] = time_ns;
}

/* Times relative to the job's start. */
static void hand_end(struct hand *hand)
{
	unsigned int i;

	trn_time_replay(hand->tl, &hand->start, &hand->end, hand_stamp, hand);
	trn_timeline_free(hand->tl);
	for (i = 0; i < 16; i++)
		hand->stamp[i] -= hand->stamp[i] ? hand->start : 0;
	hand->end -= hand->start;
}

static void work_ns(struct hand *hand, unsigned int actor,
		    enum trn_time_class class, unsigned int ports, uint64_t ns)
{
	const struct trn_time_work work = {
		.class = class, .ports = (uint16_t)ports, .cost_ps = ns * 1000,
	};

	trn_time_work(hand->tl, actor, &work);
}

static void product(struct hand *hand, uint64_t load_ns, uint64_t ns)
{
	work_ns(hand, TENSOR, TRN_TIME_BACKGROUND, 0, load_ns);
	work_ns(hand, TENSOR, TRN_TIME_COVER, 0, ns);
}

/* A pair is bound by the slower of its two, but for the first load. */
static void loads_run_behind_products(void **state)
{
	struct hand h;
	unsigned int i;

	hand_begin(&h, *state, 0, 1);
	for (i = 0; i < 10; i++)
		product(&h, 32, 512);
	hand_end(&h);
	assert_int_equal(h.end, 32 + 10 * 512);

	hand_begin(&h, *state, 0, 1);
	for (i = 0; i < 10; i++)
		product(&h, 128, 64);
	hand_end(&h);
	assert_int_equal(h.end, 10 * 128 + 64);

	/* There is one place for what comes next: two loads are no faster. */
	hand_begin(&h, *state, 0, 1);
	product(&h, 30, 100);
	work_ns(&h, TENSOR, TRN_TIME_BACKGROUND, 0, 70);
	work_ns(&h, TENSOR, TRN_TIME_BACKGROUND, 0, 70);
	hand_end(&h);
	assert_int_equal(h.end, 30 + 140);
}

/* What arrives in the middle of a product is loaded from then on. */
static void loads_wait_for_their_operand(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 1);
	trn_time_exec(h.tl, SYNC, 110 * 1000);
	trn_time_post(h.tl, SYNC, seq_core(*state, 0, 7), 1,
		      NEURON_SYNC_POST_ADD, 1);
	trn_time_exec(h.tl, SYNC, 190 * 1000);
	trn_time_post(h.tl, SYNC, seq_core(*state, 0, 7), 1,
		      NEURON_SYNC_POST_ADD, 1);
	product(&h, 30, 100);			/* 30 to 130 */
	trn_time_wait(h.tl, TENSOR, 1, NEURON_SYNC_WAIT_GE, 1);
	product(&h, 30, 100);			/* 110 to 140, then 240 */
	trn_time_stamp(h.tl, TENSOR, 1);
	trn_time_wait(h.tl, TENSOR, 1, NEURON_SYNC_WAIT_GE, 2);
	product(&h, 30, 100);			/* 300 to 330, then 430 */
	hand_end(&h);
	assert_int_equal(h.stamp[1], 240);
	assert_int_equal(h.end, 430);
}

/* Whoever comes first has the port, whatever the order of the records. */
static void ports_serve_one_at_a_time(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 0, 1);
	trn_time_exec(h.tl, GPSIMD, 10 * 1000);
	work_ns(&h, GPSIMD, TRN_TIME_COVER, TRN_PORT_SBUF, 100);
	trn_time_stamp(h.tl, GPSIMD, 1);
	work_ns(&h, VECTOR, TRN_TIME_COVER, TRN_PORT_SBUF | 1, 50);
	trn_time_stamp(h.tl, VECTOR, 2);
	work_ns(&h, SCALAR, TRN_TIME_COVER, 2, 500);
	trn_time_stamp(h.tl, SCALAR, 3);
	work_ns(&h, VECTOR, TRN_TIME_COVER, 2, 1);
	trn_time_stamp(h.tl, VECTOR, 4);
	hand_end(&h);
	assert_int_equal(h.stamp[2], 50);
	assert_int_equal(h.stamp[1], 150);
	assert_int_equal(h.stamp[3], 500);
	assert_int_equal(h.stamp[4], 501);
}

/* A descriptor that takes so long in its engine. */
static void move_ns(struct hand *hand, unsigned int queue, uint64_t ns)
{
	trn_time_dma(hand->tl, QUEUE(queue), ns * 1000, 0, NULL);
}

static void queues_of_an_engine_take_turns(void **state)
{
	struct hand h;
	unsigned int q, i;

	/* Two queues of one engine, and one of another. */
	hand_begin(&h, *state, 4, 2);
	for (q = 0; q < 3; q++)
		trn_time_trigger(h.tl, SYNC, QUEUE(q), 3);
	for (q = 3; q-- > 0;)
		for (i = 0; i < 3; i++) {
			move_ns(&h, q, 100);
			trn_time_stamp(h.tl, QUEUE(q), 3 * q + i);
		}
	hand_end(&h);
	for (i = 0; i < 3; i++) {
		assert_int_equal(h.stamp[i], START_NS + 200 * i + 100);
		assert_int_equal(h.stamp[3 + i], START_NS + 200 * i + 200);
		assert_int_equal(h.stamp[6 + i], START_NS + 100 * i + 100);
	}
	assert_int_equal(h.end, START_NS + 600);
}

/* The one that came first goes first, though its queue's number is higher. */
static void engines_serve_in_order_of_arrival(void **state)
{
	struct hand h;

	hand_begin(&h, *state, 3, 3);
	trn_time_trigger(h.tl, SYNC, QUEUE(2), 1);
	trn_time_exec(h.tl, SYNC, 20 * 1000);
	trn_time_trigger(h.tl, SYNC, QUEUE(1), 1);
	trn_time_exec(h.tl, SYNC, 20 * 1000);
	trn_time_trigger(h.tl, SYNC, QUEUE(0), 1);
	move_ns(&h, 0, 7);
	move_ns(&h, 1, 100);
	move_ns(&h, 2, 100);
	trn_time_stamp(h.tl, QUEUE(0), 0);
	trn_time_stamp(h.tl, QUEUE(1), 1);
	trn_time_stamp(h.tl, QUEUE(2), 2);
	hand_end(&h);
	assert_int_equal(h.stamp[2], START_NS + 100);
	assert_int_equal(h.stamp[1], START_NS + 200);
	assert_int_equal(h.stamp[0], START_NS + 207);
}

/* Queue @q of the job: queue @queue of @engine, with a priority. */
static void hand_priority(struct hand *hand, unsigned int q, unsigned int engine,
			  unsigned int queue, unsigned int priority)
{
	trn_time_queue(hand->tl, QUEUE(q), engine, queue, priority);
}

/* Whoever has a higher priority goes first, however many descriptors it has. */
static void higher_priorities_have_the_engine(void **state)
{
	static const unsigned int priority[] = { 3, 1, 2, 0, 1 };
	/* By queue: what goes before it. Those of one priority take turns. */
	static const uint64_t before[] = { 12, 3, 9, 0, 4 };
	struct hand h;
	unsigned int q, i;

	hand_begin(&h, *state, 5, 5);
	for (q = 0; q < 5; q++) {
		hand_priority(&h, q, 0, q, priority[q]);
		trn_time_trigger(h.tl, SYNC, QUEUE(q), 3);
		for (i = 0; i < 3; i++) {
			move_ns(&h, q, 100);
			trn_time_stamp(h.tl, QUEUE(q), 3 * q + i);
		}
	}
	hand_end(&h);
	for (q = 0; q < 5; q++)
		for (i = 0; i < 3; i++)
			assert_int_equal(h.stamp[3 * q + i],
					 START_NS + 100 * (before[q] + 1 +
							   i * (priority[q] == 1 ? 2 : 1)));
	assert_int_equal(h.end, START_NS + 1500);
}

/* What has begun comes to its end, and then the next one is chosen. */
static void a_descriptor_is_not_interrupted(void **state)
{
	struct hand h;
	unsigned int i;

	hand_begin(&h, *state, 2, 2);
	hand_priority(&h, 0, 0, 0, 3);
	trn_time_trigger(h.tl, SYNC, QUEUE(0), 3);
	trn_time_exec(h.tl, SYNC, 50 * 1000);
	trn_time_trigger(h.tl, SYNC, QUEUE(1), 2);
	for (i = 0; i < 3; i++) {
		move_ns(&h, 0, 200);
		trn_time_stamp(h.tl, QUEUE(0), i);
	}
	for (i = 0; i < 2; i++) {
		move_ns(&h, 1, 10);
		trn_time_stamp(h.tl, QUEUE(1), 4 + i);
	}
	hand_end(&h);
	assert_int_equal(h.stamp[0], START_NS + 200);
	assert_int_equal(h.stamp[4], START_NS + 210);
	assert_int_equal(h.stamp[5], START_NS + 220);
	assert_int_equal(h.stamp[1], START_NS + 420);
	assert_int_equal(h.stamp[2], START_NS + 620);
}

static uint32_t hbm_end(unsigned int chip, unsigned int stack)
{
	return chip << 16 | TRN_END_HBM | stack;
}

/* @bytes from @src to @dst by queue @q, and a stamp. */
static void stream(struct hand *hand, unsigned int q, uint32_t src,
		   uint32_t dst, uint64_t bytes)
{
	struct trn_traffic traffic = { 0 };
	bool far = (src >> 16 && src != TRN_END_NONE) ||
		   (dst >> 16 && dst != TRN_END_NONE);

	trn_traffic_add(&traffic, src, dst, bytes);
	trn_time_trigger(hand->tl, SYNC, QUEUE(q), 1);
	trn_time_dma(hand->tl, QUEUE(q),
		     trn_cost_copy_ps(&neuron_gen_trn2, bytes), far, &traffic);
	trn_time_stamp(hand->tl, QUEUE(q), q);
}

#define MIB	(1024 * 1024)

/* 16 engines, 32 times their descriptor's bytes by 725 GB/s: 46.3 us. */
static void stacks_have_a_bandwidth(void **state)
{
	const uint64_t ns = 32ull * MIB * 1000 / trn_cost_hbm_rate(&neuron_gen_trn2);
	struct hand h;
	unsigned int q;

	hand_begin(&h, *state, 16, 1);
	for (q = 0; q < 16; q++)
		stream(&h, q, hbm_end(0, 0), hbm_end(0, 0), MIB);
	hand_end(&h);
	assert_in_range(h.end, START_NS + ns, START_NS + ns + 1);
	/* One is faster than all: its own engine is what it waits for. */
	hand_begin(&h, *state, 16, 1);
	stream(&h, 0, hbm_end(0, 0), hbm_end(0, 0), MIB);
	hand_end(&h);
	assert_int_equal(h.end, START_NS + MIB / 23 + 1);
	/* Another stack is another matter, and so is SBUF. */
	hand_begin(&h, *state, 16, 1);
	for (q = 0; q < 16; q++)
		stream(&h, q, hbm_end(0, q % 4), hbm_end(0, (q + 1) % 4), MIB);
	hand_end(&h);
	assert_int_equal(h.end, START_NS + MIB / 23 + 1);
}

/*
 * The same link, in the other direction, and of another chip of a ring of two: all
 * eight streams to chip 1 share its 128 GB/s.
 */
static void links_are_shared(void **state)
{
	const uint64_t ns = 8ull * MIB * 1000 / neuron_gen_trn2.link_mbps;
	struct hand h;
	unsigned int q;

	hand_begin(&h, *state, 16, 1);
	for (q = 0; q < 8; q++)
		stream(&h, q, hbm_end(0, q % 4), 1 << 16, MIB);
	hand_end(&h);
	assert_in_range(h.end, START_NS + HOP_NS + ns, START_NS + HOP_NS + ns + 1);
	hand_begin(&h, *state, 16, 1);
	for (q = 0; q < 4; q++)
		stream(&h, q, hbm_end(0, q), 1 << 16, MIB);
	for (; q < 8; q++)
		stream(&h, q, hbm_end(1, q - 4), 0, MIB);
	hand_end(&h);
	assert_int_equal(h.end, START_NS + HOP_NS + MIB / 23 + 1);
}

#define PIECE	65536

/*
 * 15 engines with 16 descriptors each from @src to @dst, and a little later one with a
 * single descriptor, number 15. All of priority @low but that one, which has 0. The engines
 * themselves take next to no time.
 */
static void crowd(struct hand *h, struct seq_rig *rig, unsigned int low, uint32_t src,
		  uint32_t dst)
{
	struct trn_traffic traffic;
	unsigned int q, i, nr;

	hand_begin(h, rig, 16, 1);
	for (q = 0; q < 16; q++) {
		nr = q < 15 ? 16 : 1;
		hand_priority(h, q, q, 0, q < 15 ? low : 0);
		if (q == 15)
			trn_time_exec(h->tl, SYNC, 5000 * 1000);
		trn_time_trigger(h->tl, SYNC, QUEUE(q), nr);
		for (i = 0; i < nr; i++) {
			traffic = (struct trn_traffic){ 0 };
			trn_traffic_add(&traffic, src, dst, PIECE);
			trn_time_dma(h->tl, QUEUE(q), 1000, src >> 16 != dst >> 16, &traffic);
		}
		trn_time_stamp(h->tl, QUEUE(q), q);
	}
	hand_end(h);
}

/* A stack and a link: the one with priority is as fast as if it were alone. */
static void higher_priorities_have_the_bandwidth(void **state)
{
	const uint32_t ends[][2] = {
		{ hbm_end(0, 0), hbm_end(0, 0) }, { hbm_end(0, 1), hbm_end(1, 1) },
	};
	const uint64_t rate[] = { trn_cost_hbm_rate(&neuron_gen_trn2) / 2,
				  neuron_gen_trn2.link_mbps };
	struct hand equal, first;
	uint64_t alone, through;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		crowd(&equal, *state, 0, ends[i][0], ends[i][1]);
		crowd(&first, *state, 3, ends[i][0], ends[i][1]);
		through = PIECE * 1000000ull / rate[i];
		alone = 5000 + START_NS + i * HOP_NS + through / 1000;
		assert_in_range(first.stamp[15], alone, alone + 1);
		/* Among equals it waits for the descriptors that others have begun. */
		assert_true(equal.stamp[15] > alone + 10 * through / 1000);
		/* All bytes take as long as before, but for what was on its way. */
		assert_in_range(first.end, equal.end - 15 * through / 1000, equal.end);
	}
}

/* A fault of the link is felt by those who cross it. */
static void slow_links_are_slow(void **state)
{
	struct seq_rig *rig = *state;
	const char *why;
	struct hand h;

	assert_int_equal(trn_fabric_set_link(rig->fabric, 0, 1, true, 1000, &why),
			 0);
	hand_begin(&h, rig, 16, 1);
	stream(&h, 1, hbm_end(0, 0), 1 << 16, MIB);
	stream(&h, 2, hbm_end(0, 0), 0, MIB);
	hand_end(&h);
	assert_int_equal(h.stamp[1], START_NS + HOP_NS + MIB);
	assert_int_equal(h.stamp[2], START_NS + MIB / 23);
	assert_int_equal(trn_fabric_set_link(rig->fabric, 0, 1, true, 0, &why), 0);
}

/* --- costs --- */

static uint64_t op_ns(const struct neuron_gen *gen, unsigned int op,
		      unsigned int dtype, struct trn_dma_work work)
{
	const struct neuron_udma_op block = {
		.op = (uint8_t)op,
		.nr_src = 1,
		.src_dtype = (uint8_t)dtype,
		.dst_dtype = (uint8_t)dtype,
	};

	return trn_cost_dma_op_ps(gen, &block, &work) / 1000;
}

static void operations_cost_what_the_guides_say(void **state)
{
	const struct trn_dma_work add = {
		.read = 2 * MIB, .written = MIB, .old = MIB, .dst_sbuf = true,
	};
	const struct trn_dma_work turn = {
		.read = MIB, .written = MIB, .src_hbm = true, .dst_sbuf = true,
	};

	(void)state;
	/* A copy: in full, but for pieces that are small. */
	assert_int_equal(op_ns(&neuron_gen_trn2, NEURON_UDMA_OP_COPY, F32,
			       (struct trn_dma_work){ .read = MIB, .written = MIB }),
			 MIB / 23);
	assert_int_equal(op_ns(&neuron_gen_trn2, NEURON_UDMA_OP_COPY, F32,
			       (struct trn_dma_work){ .read = 4096,
						      .written = 4096,
						      .pieces = 1024 }),
			 1024 * 52);
	/* B += A: half, and in full next to SBUF from v4 on, with one type. */
	assert_int_equal(op_ns(&neuron_gen_trn2, NEURON_UDMA_OP_ADD, F32, add),
			 2 * MIB / 23);
	assert_int_equal(op_ns(&neuron_gen_trn3, NEURON_UDMA_OP_ADD, F32, add),
			 MIB / 33);
	assert_int_equal(op_ns(&neuron_gen_trn3, NEURON_UDMA_OP_ADD,
			       NEURON_DTYPE_FP16, add), 2 * MIB / 33);
	/* Transposes: 90 % from HBM to SBUF, 50 % otherwise and before v3. */
	assert_int_equal(op_ns(&neuron_gen_trn2, NEURON_UDMA_OP_TRANSPOSE, BF16,
			       turn), MIB * 10ull / 23 / 9);
	assert_int_equal(op_ns(&neuron_gen_trn2, NEURON_UDMA_OP_TRANSPOSE, BF16,
			       (struct trn_dma_work){ .read = MIB, .written = MIB,
						      .dst_sbuf = true }),
			 2 * MIB / 23);
	assert_int_equal(op_ns(&neuron_gen_trn1, NEURON_UDMA_OP_TRANSPOSE, BF16,
			       turn), 2 * MIB / 17);
}

static unsigned int ports(const struct neuron_gen *gen, enum neuron_engine engine,
			  unsigned int opcode, struct trn_work work)
{
	return trn_cost_ports(gen, engine, trn_isa_lookup(opcode), &work);
}

static void memory_ports_follow_the_guides(void **state)
{
	const struct trn_work sbuf = { .n = 8, .sbuf = true };
	const struct trn_work fast = { .n = 8, .sbuf = true, .half = true };
	const struct trn_work psum = { .n = 8, .psum = true, .banks = 4 };
	const struct neuron_gen *old = &neuron_gen_trn1, *new = &neuron_gen_trn2;
	const unsigned int copy = NEURON_OP_COPY;

	(void)state;
	assert_int_equal(ports(old, VECTOR, copy, sbuf), TRN_PORT_SBUF);
	assert_int_equal(ports(old, GPSIMD, copy, sbuf), TRN_PORT_SBUF);
	assert_int_equal(ports(old, SCALAR, copy, sbuf), 0);
	assert_int_equal(ports(old, VECTOR, copy, psum), 0xff);
	assert_int_equal(ports(old, SCALAR, copy, psum), 0xff);
	assert_int_equal(ports(new, VECTOR, copy, sbuf), 0);
	assert_int_equal(ports(new, VECTOR, copy, fast), TRN_PORT_SBUF);
	assert_int_equal(ports(new, GPSIMD, copy, sbuf), TRN_PORT_SBUF);
	assert_int_equal(ports(new, VECTOR, copy, psum), 4);
	assert_int_equal(ports(new, SCALAR, copy, psum), 4);
	assert_int_equal(ports(new, TENSOR, NEURON_OP_MATMUL, psum), 0);
}

/* --- whole jobs against documented figures --- */

static void trigger(struct seq_job *job, unsigned int q, unsigned int count)
{
	seq_add(job, SYNC, OP(DMA_TRIGGER, .reg = { (uint8_t)q },
			      .imm0 = count, .imm1 = count));
}

/* Device time of a job of @queues queues that were triggered at once. */
static uint64_t dma_ns(struct seq_job *job)
{
	struct neuron_hw_completion record;
	unsigned int q;

	for (q = 0; q < job->nr_queues; q++)
		trigger(job, q, job->m2s[q]);
	seq_add(job, SYNC, OP(HALT, 0));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	return record.end_ns - record.start_ns - START_NS;
}

static uint64_t in_data(uint64_t offset)
{
	return neuron_window_addr(SEQ_DATA, offset);
}

static uint64_t in_sbuf(unsigned int partition)
{
	return neuron_window_addr(SEQ_SBUF,
				  (uint64_t)partition * NEURON_TPB_SBUF_STRIDE);
}

#define ROUNDS	32

/* Bytes per ns of 16 engines that copy 32 KiB pieces from HBM. */
static double core_rate(const struct neuron_gen *gen, bool to_hbm)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct seq_rig *rig = calloc(1, sizeof(*rig));
	unsigned int q, i;
	uint64_t ns;

	seq_rig_init(rig, gen, 2, 1, true);
	seq_job_init(job, rig, 0, 0);
	for (q = 0; q < 16; q++)
		for (i = 0; i < ROUNDS; i++)
			seq_copy(job, q, to_hbm ? in_data(q * 65536 + 32768) :
						  in_sbuf(8 * q + i % 8),
				 in_data(q * 65536), 32768);
	ns = dma_ns(job);
	seq_rig_destroy(rig);
	free(rig);
	free(job);
	return 16.0 * ROUNDS * 32768 / (double)ns;
}

static void near(double value, double documented, double percent)
{
	print_message("modelled %.1f, documented %.1f (%+.1f %%)\n", value,
		      documented, 100 * (value / documented - 1));
	if (value < documented * (1 - percent / 100) ||
	    value > documented * (1 + percent / 100))
		fail_msg("%g is not within %g %% of %g", value, percent,
			 documented);
}

/* 272, 368 and 528 GB/s of a core; two accesses of one stack share its bandwidth. */
static void cores_reach_their_dma_bandwidth(void **state)
{
	(void)state;
	near(core_rate(&neuron_gen_trn1, false), 272, 1);
	near(core_rate(&neuron_gen_trn2, false), 368, 1);
	near(core_rate(&neuron_gen_trn3, false), 528, 1);
	near(core_rate(&neuron_gen_trn1, true), 820.0 / 2 / 2, 1);
	near(core_rate(&neuron_gen_trn2, true), 2900.0 / 4 / 2, 1);
	near(core_rate(&neuron_gen_trn3, true), 528, 1);
}

/*
 * The two transfers of the public DMA overview, with their semaphore: 32 KiB of 4
 * partitions by one Trainium2 engine in 1,416 ns, and 2 KiB of 8 partitions in 468.
 */
static void transfers_take_the_documented_time(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	const uint64_t word = in_data(0x80000);
	unsigned int i;

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 4; i++)
		seq_copy(job, 0, in_sbuf(i), in_data(i * 8192), 8192);
	seq_copy(job, 0, neuron_window_addr(SEQ_SEM, 4 * 9), word, 4);
	near((double)dma_ns(job), 1416, 5);

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 8; i++)
		seq_copy(job, 0, in_sbuf(i), in_data(i * 256), 256);
	seq_copy(job, 0, neuron_window_addr(SEQ_SEM, 4 * 9), word, 4);
	near((double)dma_ns(job), 468, 5);
	free(job);
}

/* A product of 128 x 128 by 128 x 512 each 512 cycles: the load costs nothing. */
static void products_follow_each_other(void **state)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct neuron_hw_completion record;
	unsigned int i;

	seq_job_init(job, *state, 0, 0);
	for (i = 0; i < 20; i++) {
		seq_add(job, TENSOR, OP(LOAD_STATIONARY,
					.src0 = ap_sbuf(0, 128, 0, BF16, 128)));
		seq_add(job, TENSOR, OP(MATMUL, .dst = ap_psum(0, 128, 0, F32, 512),
					.src0 = ap_sbuf(0, 128, 0, BF16, 512)));
	}
	seq_add(job, TENSOR, OP(HALT, 0));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	near((double)(record.end_ns - record.start_ns), (20 * 512 + 32 + 16) / 2.4,
	     0.1);
	free(job);
}

/* The 600 ns of a generation hide behind the scalar engine's work, and only there. */
static uint64_t generate_ns(struct seq_rig *rig, enum neuron_engine engine)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	struct neuron_udma_dge *dge = (void *)seq_data(rig, 0, 0);
	struct neuron_hw_completion record;

	*dge = (struct neuron_udma_dge){
		.op = {
			.op = NEURON_UDMA_OP_COPY, .nr_src = 1, .nr_dst = 1,
			.src_dtype = F32, .dst_dtype = F32,
			.src = { .num = { 64, 1, 1, 1 }, .step = { 4 } },
			.dst = { .num = { 64, 1, 1, 1 }, .step = { 4 } },
		},
		.src = { in_data(0x1000) },
		.dst = { in_data(0x2000) },
	};
	seq_job_init(job, rig, 0, 0);
	job->nr_queues = 1;
	seq_add(job, engine, OP(COPY, .dst = ap_sbuf(0, 1, 0, F32, 1200),
				.src0 = ap_sbuf(0, 1, 0x4000, F32, 1200)));
	seq_add(job, engine, OP(DMA_GENERATE, .addr = in_data(0)));
	seq_add(job, engine, OP(HALT, 0));
	record = seq_run(job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	free(job);
	return record.end_ns - record.start_ns;
}

static void generation_hides_behind_the_scalar_engine(void **state)
{
	/* 1,260 cycles of the copy, then the transfer of one piece. */
	near((double)generate_ns(*state, SCALAR), 1260 / 1.2 + START_NS + 52, 0.2);
	near((double)generate_ns(*state, GPSIMD),
	     1260 / 1.2 + 600 + START_NS + 52, 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_run_behind_products),
		cmocka_unit_test(loads_wait_for_their_operand),
		cmocka_unit_test(ports_serve_one_at_a_time),
		cmocka_unit_test(queues_of_an_engine_take_turns),
		cmocka_unit_test(engines_serve_in_order_of_arrival),
		cmocka_unit_test(higher_priorities_have_the_engine),
		cmocka_unit_test(a_descriptor_is_not_interrupted),
		cmocka_unit_test(stacks_have_a_bandwidth),
		cmocka_unit_test(links_are_shared),
		cmocka_unit_test(higher_priorities_have_the_bandwidth),
		cmocka_unit_test(slow_links_are_slow),
		cmocka_unit_test(operations_cost_what_the_guides_say),
		cmocka_unit_test(memory_ports_follow_the_guides),
		cmocka_unit_test(cores_reach_their_dma_bandwidth),
		cmocka_unit_test(transfers_take_the_documented_time),
		cmocka_unit_test(products_follow_each_other),
		cmocka_unit_test(generation_hides_behind_the_scalar_engine),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
