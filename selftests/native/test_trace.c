// SPDX-License-Identifier: MIT
/*
 * Traces of jobs: what is in them, when they are full, and where they may go.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "neuron/neff.h"
#include "job_rig.h"
#include "nq_rig.h"
#include "state_rig.h"
#include "time/trn_cost.h"
#include "time/trn_time_private.h"

#define SYNC		NEURON_ENGINE_SYNC
#define TRACE_AT	0x8000		/* in the host window of the job */
#define ROOM(n)		(sizeof(struct neuron_hw_trace) + \
			 (n) * sizeof(struct neuron_hw_trace_record))

static const struct neuron_hw_trace *trace_of(struct job_rig *job)
{
	return (void *)(job_host_ptr(job) + TRACE_AT);
}

/* To host memory, with room for @records. */
static void trace_to_host(struct job_rig *job, size_t records)
{
	*job_trace(job) = neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						  job->windows[JOB_W_HOST].base + TRACE_AT,
						  ROOM(records));
}

static struct neuron_trace_event record_at(const struct neuron_hw_trace *trace, size_t n)
{
	const struct neuron_hw_trace_record *record = (const void *)(trace + 1);
	struct neuron_trace_event event;
	const char *why = neuron_trace_decode(&record[n], &event);

	if (why)
		fail_msg("record %zu: %s", n, why);
	return event;
}

static void assert_trace(const struct neuron_hw_trace *trace, const struct job_rig *job,
			 size_t records, size_t lost)
{
	assert_null(neuron_trace_check(trace, ROOM(records)));
	assert_int_equal(trace->job_id, job->block->job_id);
	assert_int_equal(trace->records, records);
	assert_int_equal(trace->lost, lost);
}

static void assert_inst(struct neuron_trace_event event, unsigned int engine,
			uint32_t opcode, uint32_t pc)
{
	assert_int_equal(event.kind, NEURON_TRACE_INSTRUCTION);
	assert_int_equal(event.source, engine);
	assert_int_equal(event.code, opcode);
	assert_int_equal(event.pc, pc);
	assert_int_equal(event.bytes, 0);
}

/* A copy of two packets, and an engine that does not wait for it. */
static void put_copies(struct job_rig *job)
{
	job_inst(job, SYNC, NEURON_OP_NOP);
	job_copy(job, 0, job_hbm_at(0x10000), job_hbm_at(0), 64);
	job_copy(job, 0, job_hbm_at(0x10000), job_hbm_at(0), 0x8000);
	job_trigger(job, SYNC, 0, 2, 2);
	job_halt(job, SYNC);
}

static void instructions_and_transfers(void **state)
{
	const unsigned int wait = TRN_COST_DMA_START_PS / 1000;
	struct neuron_trace_event event;
	const struct neuron_hw_trace *trace;
	struct rig *rig = *state;
	uint64_t start, last = 0;
	struct job_rig job;
	unsigned int i;

	job_init(&job, rig, 0, 1);
	put_copies(&job);
	trace_to_host(&job, 8);
	job_run(&job);
	trace = trace_of(&job);
	assert_trace(trace, &job, 5, 0);
	start = job.completion->start_ns;
	for (i = 0; i < 5; i++) {
		event = record_at(trace, i);
		assert_true(event.begin_ns >= start && event.end_ns >= last);
		assert_true(event.end_ns <= job.completion->end_ns);
		last = event.end_ns;
	}
	event = record_at(trace, 0);
	assert_inst(event, SYNC, NEURON_OP_NOP, 0);
	assert_int_equal(event.begin_ns, start);
	event = record_at(trace, 1);
	assert_inst(event, SYNC, NEURON_OP_DMA_TRIGGER, 1);
	event = record_at(trace, 2);
	assert_inst(event, SYNC, NEURON_OP_HALT, 2);
	for (i = 0; i < 2; i++) {
		event = record_at(trace, 3 + i);
		assert_int_equal(event.kind, NEURON_TRACE_TRANSFER);
		assert_int_equal(event.source, job.queues[0].dma_engine << 4);
		assert_int_equal(event.code, 1);
		assert_int_equal(event.pc, i);
		assert_int_equal(event.bytes, i ? 0x8000 : 64);
	}
	assert_true(record_at(trace, 3).begin_ns >= start + wait);
	assert_int_equal(record_at(trace, 4).begin_ns, record_at(trace, 3).end_ns);
}

/* The same records at each run, but for the time at which the job starts. */
static struct neuron_ap sbuf_tile(uint32_t offset)
{
	return (struct neuron_ap){
		.addr = offset,
		.num = { 8, 1, 1, 1 },
		.step = { 1 },
		.partitions = 4,
		.dtype = NEURON_DTYPE_FP32,
	};
}

/* Only the instruction that multiplies 0 by infinity. */
static void who_wrote_a_nan(void **state)
{
	enum { ZERO = 0, INFINITE = 0x100, PRODUCT = 0x200 };
	const enum neuron_engine vector = NEURON_ENGINE_VECTOR;
	const struct neuron_hw_trace *trace;
	struct rig *rig = *state;
	struct neuron_inst *inst;
	struct job_rig job;
	unsigned int i;

	job_init(&job, rig, 0, 1);
	inst = job_inst(&job, vector, NEURON_OP_MEMSET);
	inst->dst = sbuf_tile(ZERO);
	inst = job_inst(&job, vector, NEURON_OP_MEMSET);
	inst->dst = sbuf_tile(INFINITE);
	inst->imm0 = 0x7f800000;
	inst = job_inst(&job, vector, NEURON_OP_TENSOR_TENSOR);
	inst->op0 = NEURON_ALU_MULTIPLY;
	inst->dst = sbuf_tile(PRODUCT);
	inst->src0 = sbuf_tile(ZERO);
	inst->src1 = sbuf_tile(INFINITE);
	job_halt(&job, vector);
	trace_to_host(&job, 8);
	job_run(&job);
	trace = trace_of(&job);
	assert_trace(trace, &job, 4, 0);
	for (i = 0; i < 4; i++) {
		assert_int_equal(record_at(trace, i).pc, i);
		assert_int_equal(record_at(trace, i).flags, i == 2 ? NEURON_TRACE_NAN : 0);
	}
	assert_inst(record_at(trace, 2), vector, NEURON_OP_TENSOR_TENSOR, 2);
}

/* An instruction of @dst, and for a copy of @src. */
static void put_tiles(struct job_rig *job, uint8_t opcode, struct neuron_ap dst,
		      struct neuron_ap src, uint32_t value)
{
	struct neuron_inst *inst = job_inst(job, NEURON_ENGINE_VECTOR, opcode);

	inst->dst = dst;
	inst->src0 = src;
	inst->imm0 = value;
}

/* @n elements of each of 40 partitions are infinite; then one of them is a NaN. */
static void put_nan(struct job_rig *job, uint8_t dtype, uint16_t n, int16_t step, uint16_t place)
{
	const uint32_t infinity = 0xff800000, nan = 0xffc00000;
	struct neuron_ap tile = sbuf_tile(0x100), one, copy, none = { 0 };

	tile.dtype = dtype;
	tile.num[0] = n;
	tile.step[0] = step;
	tile.partitions = 40;
	copy = tile;
	copy.addr = 0x4000;
	one = tile;
	one.num[0] = 1;
	one.partitions = 1;
	one.addr += NEURON_PUT(NEURON_AP_PARTITION, 32) +
		    (uint32_t)(place * step) * neuron_dtype_bytes(dtype);
	put_tiles(job, NEURON_OP_MEMSET, tile, none, infinity);
	put_tiles(job, NEURON_OP_COPY, copy, tile, 0);
	put_tiles(job, NEURON_OP_MEMSET, one, none, nan);
	put_tiles(job, NEURON_OP_COPY, copy, tile, 0);
}

/* In the first, the middle and the last one of @n elements. */
static void find_nans(struct rig *rig, uint8_t dtype, int16_t step, uint16_t n)
{
	const unsigned int nr = 3;
	const struct neuron_hw_trace *trace;
	struct job_rig job;
	unsigned int i;

	job_init(&job, rig, 0, 1);
	for (i = 0; i < nr; i++)
		put_nan(&job, dtype, n, step, (uint16_t)((n - 1) * i / 2));
	job_halt(&job, NEURON_ENGINE_VECTOR);
	trace_to_host(&job, 4 * nr + 1);
	job_run(&job);
	trace = trace_of(&job);
	assert_trace(trace, &job, 4 * nr + 1, 0);
	for (i = 0; i < 4 * nr; i++)
		if (record_at(trace, i).flags != (i % 4 < 2 ? 0 : NEURON_TRACE_NAN))
			fail_msg("type %u, step %d, %u elements: record %u", dtype, step, n, i);
}

/* Of every type and in every place, and infinity is none. */
static void each_place_of_a_nan(void **state)
{
	static const uint8_t dtypes[] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, NEURON_DTYPE_FP16, NEURON_DTYPE_FP8_E5,
	};
	static const uint16_t sizes[] = { 1, 7, 33, 600 };
	unsigned int i;

	for (i = 0; i < 2 * sizeof(dtypes); i++) {
		find_nans(*state, dtypes[i / 2], i % 2 + 1, sizes[i % 4]);
		find_nans(*state, dtypes[i / 2], i % 2 + 1, sizes[(i / 2 + 3) % 4]);
	}
}

static void runs_are_alike(void **state)
{
	struct neuron_hw_trace_record first[5];
	const struct neuron_hw_trace *trace;
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int run, i;
	uint64_t start = 0;

	job_init(&job, rig, 0, 0);
	put_copies(&job);
	trace_to_host(&job, 5);
	trace = trace_of(&job);
	for (run = 0; run < 20; run++) {
		struct neuron_hw_trace_record *record = (void *)(job_host_ptr(&job) + TRACE_AT +
								 sizeof(*trace));

		job_run(&job);
		assert_trace(trace, &job, 5, 0);
		if (!run) {
			memcpy(first, record, sizeof(first));
			start = job.completion->start_ns;
		}
		for (i = 0; i < 5; i++) {
			record[i].begin_ns -= job.completion->start_ns - start;
			record[i].end_ns -= job.completion->start_ns - start;
		}
		assert_memory_equal(record, first, sizeof(first));
	}
}

static void a_full_trace_counts_what_is_lost(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i;
	uint8_t *end;

	job_init(&job, rig, 0, 0);
	for (i = 0; i < 20; i++)
		job_inst(&job, SYNC, NEURON_OP_NOP);
	job_halt(&job, SYNC);
	trace_to_host(&job, 3);
	/* A part of a record more, which stays as it is. */
	job_trace(&job)->length += 39;
	end = job_host_ptr(&job) + TRACE_AT + ROOM(3);
	memset(end, 0xa5, 64);
	job_run(&job);
	assert_trace(trace_of(&job), &job, 3, 18);
	for (i = 0; i < 3; i++)
		assert_int_equal(record_at(trace_of(&job), i).pc, i);
	for (i = 0; i < 64; i++)
		assert_int_equal(end[i], 0xa5);
}

/* Pieces that end inside of the header and of records. */
static void a_trace_in_pieces(void **state)
{
	struct neuron_hw_extent *list;
	struct rig *rig = *state;
	uint64_t whole[ROOM(8) / 8];
	struct job_rig job;
	uint64_t base, at;
	unsigned int i;

	job_init(&job, rig, 0, 2);
	put_copies(&job);
	at = rig_host(rig, 0, 8 * sizeof(*list));
	list = rig_host_ptr(rig, 0, at);
	base = job.windows[JOB_W_HOST].base;
	/* In the opposite order, far from each other. */
	for (i = 0; i < 8; i++)
		list[i] = (struct neuron_hw_extent){ base + (8 - i) * 0x1000, 48 };
	*job_trace(&job) = neuron_hw_window_list(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						 rig_host_addr(rig, 0, at), 8, 8 * 48);
	job_run(&job);
	for (i = 0; i < 8; i++)
		memcpy(whole + i * 6, job_host_ptr(&job) + (8 - i) * 0x1000, 48);
	assert_trace((void *)whole, &job, 5, 0);
	for (i = 0; i < 5; i++)
		record_at((void *)whole, i);
	assert_inst(record_at((void *)whole, 2), SYNC, NEURON_OP_HALT, 2);
}

static void a_trace_in_hbm(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 1);
	put_copies(&job);
	*job_trace(&job) = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE,
						   job.windows[JOB_W_HBM].base + 0x200000,
						   ROOM(8));
	/* Also without a queue in the table. */
	job_run(&job);
	assert_trace((void *)(job.hbm + 0x200000), &job, 5, 0);

	job_init(&job, rig, 0, 3);
	job_inst(&job, SYNC, NEURON_OP_NOP);
	job_halt(&job, SYNC);
	*job_trace(&job) = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE,
						   job.windows[JOB_W_HBM].base + 0x200000,
						   ROOM(8));
	memcpy(job.queues, job_trace(&job), sizeof(*job.queues));
	job.block->nr_queues = 0;
	job_run(&job);
	assert_trace((void *)(job.hbm + 0x200000), &job, 2, 0);
}

/* Who traces with queues as well gets both, and each only what was asked for. */
static void beside_notification_queues(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_hbm(rig, TRN_NQ_CORE, 0, SYNC, 8);
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_inst(&job, SYNC, NEURON_OP_NOP);
	job_halt(&job, SYNC);
	trace_to_host(&job, 8);
	job_run(&job);
	assert_trace(trace_of(&job), &job, 2, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 0);
	nq_set(&q, NEURON_NQ_CONTROL, NEURON_NQ_CONTROL_TRACE);
	job_run(&job);
	assert_trace(trace_of(&job), &job, 2, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 4 * NQ_ENTRY);
	job.block->flags = 0;
	memset(job_host_ptr(&job) + TRACE_AT, 0, ROOM(8));
	job_run(&job);
	assert_int_equal(trace_of(&job)->magic, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 8 % 8 * NQ_ENTRY);
}

static void windows_that_are_refused(void **state)
{
	const uint32_t rw = NEURON_WINDOW_READ | NEURON_WINDOW_WRITE;
	struct neuron_hw_window *window, good;
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i;

	job_init(&job, rig, 0, 0);
	job_halt(&job, SYNC);
	trace_to_host(&job, 1);
	window = job_trace(&job);
	good = *window;
	job_run(&job);
	{
		const struct neuron_hw_window bad[] = {
			{ 0 },
			job.windows[JOB_W_SBUF],
			job.windows[JOB_W_SEM],
			neuron_hw_window_memory(NEURON_WINDOW_SBUF, NEURON_WINDOW_WRITE,
						job.windows[JOB_W_SBUF].base, 0x1000),
			neuron_hw_window_memory(NEURON_WINDOW_HOST, rw, good.base, ROOM(1)),
			neuron_hw_window_memory(NEURON_WINDOW_HOST, 0, good.base, ROOM(1)),
			neuron_hw_window_memory(NEURON_WINDOW_STREAM, 0, good.base, ROOM(1)),
			neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						good.base, ROOM(1) - 1),
			neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						good.base, 0),
			/* HBM named as host memory, and no HBM. */
			neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						0x1000, ROOM(1)),
			neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE,
						RIG_NOWHERE, ROOM(1)),
			neuron_hw_window_memory(NEURON_WINDOW_PEER, NEURON_WINDOW_WRITE,
						neuron_fabric_addr(1, 0x1000), ROOM(1)),
		};

		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			*window = bad[i];
			job_submit(&job);
			job_wait(&job);
			if (job.completion->cause != NEURON_CAUSE_JOB ||
			    job.completion->source != NEURON_SOURCE_JOB)
				fail_msg("window %u: cause %u", i, job.completion->cause);
		}
	}
	*window = good;
	job_run(&job);
	assert_trace(trace_of(&job), &job, 1, 0);
	/* The table that cannot be read. */
	job.block->queue_table = rig_host_addr(rig, 0, RIG_HOST_BYTES);
	job.block->nr_queues = 0;
	job_run_fault(&job, NEURON_CAUSE_HOST);
}

/* No number of a window leads a program to its trace. */
static void no_program_reaches_it(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i;

	for (i = JOB_W_FREE; i < JOB_NR_WINDOWS + 4; i++) {
		rig->host_next[0] = 0;
		job_init(&job, rig, 0, 0);
		job_store(&job, SYNC, neuron_window_addr(i, 0), 1);
		job_halt(&job, SYNC);
		trace_to_host(&job, 4);
		job_run_fault(&job, NEURON_CAUSE_WINDOW);
		/* The trace of a job that failed is whole up to there. */
		assert_trace(trace_of(&job), &job, 1, 0);
		assert_int_equal(record_at(trace_of(&job), 0).code, NEURON_OP_REG_SET);
	}
}

static void without_device_time(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	rig->chip[0]->config.clock = false;
	job_init(&job, rig, 0, 0);
	put_copies(&job);
	trace_to_host(&job, 8);
	job_run(&job);
	assert_trace(trace_of(&job), &job, 0, 5);
}

/* Memory that takes no more ends the trace, not the job: here the host's ends. */
static void where_memory_ends(void **state)
{
	const uint64_t at = RIG_HOST_BYTES - ROOM(3);
	const struct neuron_hw_trace *trace;
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	put_copies(&job);
	*job_trace(&job) = neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_WRITE,
						   rig_host_addr(rig, 0, at), ROOM(8));
	job_run(&job);
	trace = rig_host_ptr(rig, 0, at);
	assert_int_equal(trace->records, 3);
	assert_int_equal(record_at(trace, 2).code, NEURON_OP_HALT);
}

/* And memory that the device may not touch. */
static void at_the_limit_of_memory(void **state)
{
	const uint64_t at = NEURON_MIB(16);
	const struct neuron_hw_trace *trace;
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	put_copies(&job);
	/* The copies touch all that the limit allows. */
	job_run(&job);
	*job_trace(&job) = neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_WRITE,
						   rig_hbm_addr(rig, 0, at), ROOM(8));
	job_run(&job);
	trace = (void *)(rig->chip[0]->hbm[0] + at);
	assert_int_equal(trace->magic, 0);
}

/* A core reset ends the job, and what it did is told. */
static void of_a_job_that_is_aborted(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_inst(&job, SYNC, NEURON_OP_NOP);
	job_take(&job, SYNC, 3, 1);
	job_halt(&job, SYNC);
	trace_to_host(&job, 8);
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(SYNC), NEURON_ENGINE_WAITING));
	/* It has begun, so its header is there. */
	assert_null(neuron_trace_check(trace_of(&job), ROOM(8)));
	assert_int_equal(trace_of(&job)->job_id, job.block->job_id);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	job_end_cause(&job, NEURON_CORE_CAUSE_RESET);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	assert_trace(trace_of(&job), &job, 1, 0);
}

/* Saved in the middle of the job, the trace goes on where it was. */
static void a_trace_is_saved(void **state)
{
	struct rig *rig = *state, *to;
	struct stream stream = { 0 };
	struct job_rig job;
	const char *why;
	void *other;
	unsigned int i;

	job_init(&job, rig, 0, 1);
	for (i = 0; i < 5; i++)
		job_inst(&job, SYNC, NEURON_OP_NOP);
	job_take(&job, SYNC, 3, 1);
	put_copies(&job);
	trace_to_host(&job, 8);
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(SYNC), NEURON_ENGINE_WAITING));

	rig_setup(&other);
	to = other;
	fake_chip_stop(rig->chip[0]);
	fake_chip_stop(to->chip[0]);
	stream_put_chip(&stream, rig->chip[0]);
	memcpy(to->port[0].host, rig->port[0].host, RIG_HOST_BYTES);
	if (!stream_get_chip(&stream, to->chip[0], &why))
		fail_msg("not loaded: %s", why);
	assert_int_equal(stream.at, stream.len);
	stream_free(&stream);
	trn_chip_resume(rig->chip[0]);
	trn_chip_resume(to->chip[0]);

	/* Both go on, and their traces are the same. */
	job_post(&job, 3, 1);
	job_wait(&job);
	assert_trace(trace_of(&job), &job, 8, 3);
	job.rig = to;
	job.core = &to->chip[0]->core[1];
	job_post(&job, 3, 1);
	assert_true(job_wait_reg(&job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	assert_trace(trace_of(&job), &job, 8, 3);
	assert_memory_equal(to->port[0].host + job.host_at + TRACE_AT,
			    rig->port[0].host + job.host_at + TRACE_AT, ROOM(8));
	rig_teardown(&other);
}

/* And a state of an older version is refused. */
static void the_flag_inexact_is_saved(void **state)
{
	/* Its version stands behind it. */
	const uint32_t block = TRN_STATE_NAME('C', 'O', 'R', 'E');
	const struct neuron_hw_completion *record;
	struct stream stream = { 0 };
	struct rig *rig = *state, *to;
	const char *why = NULL;
	struct job_rig job;
	uint8_t *version;
	void *other;

	job_init(&job, rig, 0, 1);
	job_take(&job, SYNC, 3, 1);
	job_halt(&job, SYNC);
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_ENGINE(SYNC), NEURON_ENGINE_WAITING));
	rig_setup(&other);
	to = other;
	fake_chip_stop(rig->chip[0]);
	fake_chip_stop(to->chip[0]);
	atomic_store(&job.core->job->timeline->inexact, true);
	stream_put_chip(&stream, rig->chip[0]);

	version = memmem(stream.data, stream.len, &block, sizeof(block));
	assert_non_null(version);
	version[4]--;
	assert_false(stream_get_chip(&stream, to->chip[0], &why));
	assert_string_equal(why, "a block is missing or of another version");
	version[4]++;
	stream.at = 0;
	memcpy(to->port[0].host, rig->port[0].host, RIG_HOST_BYTES);
	assert_true(stream_get_chip(&stream, to->chip[0], &why));
	stream_free(&stream);
	trn_chip_resume(rig->chip[0]);
	trn_chip_resume(to->chip[0]);

	job.rig = to;
	job.core = &to->chip[0]->core[1];
	job_post(&job, 3, 1);
	assert_true(job_wait_reg(&job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	record = (void *)(to->port[0].host + ((uint8_t *)job.completion - rig->port[0].host));
	assert_int_equal(record->status, NEURON_JOB_OK);
	assert_int_equal(record->flags, NEURON_COMPLETION_INEXACT);
	rig_teardown(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(instructions_and_transfers),
		TEST(who_wrote_a_nan),
		TEST(each_place_of_a_nan),
		TEST(runs_are_alike),
		TEST(a_full_trace_counts_what_is_lost),
		TEST(a_trace_in_pieces),
		TEST(a_trace_in_hbm),
		TEST(beside_notification_queues),
		TEST(windows_that_are_refused),
		TEST(no_program_reaches_it),
		TEST(without_device_time),
		TEST(where_memory_ends),
		cmocka_unit_test_setup_teardown(at_the_limit_of_memory, rig_setup_limited,
						rig_teardown),
		TEST(of_a_job_that_is_aborted),
		TEST(a_trace_is_saved),
		TEST(the_flag_inexact_is_saved),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
