// SPDX-License-Identifier: MIT
/*
 * Saving and loading of DMA engines and queues.
 */
#include "bound_rig.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/neff.h"
#include "base/trn_state.h"

/* One thread loads them: under TSan a few show what there is to see. */
#ifdef __SANITIZE_THREAD__
#define DAMAGES	100
#else
#define DAMAGES	800
#endif

#define STREAM_BYTES	NEURON_MIB(1)

/**
 * struct stream - a saved state
 * @used: bytes written
 * @at: bytes read
 */
struct stream {
	uint8_t *bytes;
	size_t used;
	size_t at;
};

static bool stream_write(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > STREAM_BYTES - stream->used)
		return false;
	memcpy(stream->bytes + stream->used, buf, len);
	stream->used += len;
	return true;
}

static bool stream_read(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->used - stream->at)
		return false;
	memcpy(buf, stream->bytes + stream->at, len);
	stream->at += len;
	return true;
}

static void save(struct trn_chip *chip, struct stream *stream)
{
	struct trn_state st = { .transfer = stream_write, .opaque = stream };

	stream->bytes = malloc(STREAM_BYTES);
	stream->used = 0;
	stream->at = 0;
	assert_non_null(stream->bytes);
	trn_udma_state(chip, &st);
	assert_false(trn_state_failed(&st));
}

/* NULL: it worked. */
static const char *load(struct trn_chip *chip, struct stream *stream)
{
	struct trn_state st = { .loading = true, .transfer = stream_read,
				.opaque = stream };

	stream->at = 0;
	trn_udma_state(chip, &st);
	return st.why;
}

static void an_idle_chip_is_a_few_bytes(void **state)
{
	struct rig *rig = *state;
	struct stream stream;

	fake_chip_stop(rig->chip[0]);
	save(rig->chip[0], &stream);
	assert_true(stream.used <= 16);
	assert_null(load(rig->chip[0], &stream));
	free(stream.bytes);
}

/* A queue half way through its work, an engine with all that it can have. */
static void a_queue_goes_on_where_it_was(void **state)
{
	static const uint32_t regs[] = {
		NEURON_UDMA_M2S_STATE, NEURON_UDMA_S2M_STATE,
		NEURON_UDMA_M2S_LOG(0), NEURON_UDMA_M2S_LOG(3),
		NEURON_UDMA_M2S_ERR_LOG_MASK, NEURON_UDMA_M2S_CFG_LEN,
		NEURON_UDMA_S2M_COMP_CFG_1C, NEURON_UDMA_GEN_ZEROES0,
		NEURON_UDMA_IOFIC_SECONDARY(0),
		NEURON_UDMA_IOFIC_SECONDARY(0) + NEURON_IOFIC_ABORT_MASK,
		NEURON_UDMA_IOFIC_PRIMARY(3) + NEURON_IOFIC_STATUS,
		NEURON_UDMA_IOFIC_MODERATION(1, 5),
		NEURON_UDMA_AXI_TABLE_DATA(2),
	};
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct ring_pair ring, bad;
	struct stream stream;
	uint32_t values[sizeof(regs) / sizeof(regs[0])];
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);
	unsigned int i;

	ring_make(&ring, rig, 32);
	for (i = 0; i < 20; i++)
		ring_copy(&ring, 0x1000, src, 64);
	ring_run(&ring, 20, 20);
	ring_copy(&ring, 0x5000, src, 64);
	ring_doorbell(&ring, 1, 0);
	ring_wait_quiet(&ring);

	ring_alloc(&bad, rig, 0, 20, 5, 32);
	ring_program(&bad);
	ring_engine_write(&bad, NEURON_UDMA_IOFIC_SECONDARY(0) +
					NEURON_IOFIC_ABORT_MASK, 0xf0000000);
	ring_engine_write(&bad, NEURON_UDMA_M2S_ERR_LOG_MASK, 0x20000);
	ring_engine_write(&bad, NEURON_UDMA_M2S_CFG_LEN, 0x01001000);
	ring_engine_write(&bad, NEURON_UDMA_S2M_COMP_CFG_1C, 8);
	ring_engine_write(&bad, NEURON_UDMA_GEN_ZEROES0, 2);
	ring_engine_write(&bad, NEURON_UDMA_IOFIC_MODERATION(1, 5), 9);
	ring_engine_write(&bad, NEURON_UDMA_AXI_TABLE_DATA(2), 0x10);
	ring_copy(&bad, 0x1000, RIG_NOWHERE, 64);
	ring_doorbell(&bad, 1, 1);
	ring_wait_error(&bad, NEURON_CAUSE_ADDRESS);
	for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		values[i] = ring_engine_read(&bad, regs[i]);

	fake_chip_stop(chip);
	save(chip, &stream);
	trn_udma_reset(chip);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH), 0);
	assert_null(load(chip, &stream));
	assert_int_equal(stream.at, stream.used);
	trn_chip_resume(chip);

	for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		assert_int_equal(ring_engine_read(&bad, regs[i]), values[i]);
	assert_int_equal(ring_error(&bad), NEURON_CAUSE_ADDRESS);
	assert_int_equal(ring_read(&bad, false, NEURON_UDMA_Q_STATUS), 1);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD),
			 1u << 30 | 20);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 1u << 30 | 20);
	ring_doorbell(&ring, 0, 1);
	ring_wait(&ring);
	assert_memory_equal(chip->hbm[0] + 0x5000, bytes, 64);
	for (i = 0; i < 20; i++)
		ring_copy(&ring, 0x6000, src, 64);
	ring_run(&ring, 20, 20);
	free(stream.bytes);
}

static enum trn_run nobody(struct trn_task *task, struct trn_budget *budget)
{
	(void)task;
	(void)budget;
	return TRN_RUN_IDLE;
}

static struct neuron_udma_dge copy_dge(uint32_t dst, uint32_t src)
{
	struct neuron_udma_dge dge = {
		.op = {
			.op = NEURON_UDMA_OP_COPY, .nr_src = 1, .nr_dst = 1,
			.src_dtype = NEURON_DTYPE_UINT8,
			.dst_dtype = NEURON_DTYPE_UINT8,
			.src = { .num = { 16, 1, 1, 1 }, .step = { 1 } },
			.dst = { .num = { 16, 1, 1, 1 }, .step = { 1 } },
		},
	};

	dge.src[0] = neuron_window_addr(0, src);
	dge.dst[0] = neuron_window_addr(0, dst);
	return dge;
}

/* Triggered and generated packets of a job that has not moved any. */
static void a_job_gets_its_queue_back(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint8_t *window = chip->hbm[0] + BOUND_WINDOW;
	struct neuron_udma_dge dge;
	struct trn_task waiter;
	struct stream stream;
	const struct trn_landed landed = {
		.op = NEURON_SYNC_POST_SUB, .sem = 77, .value = 3,
	};
	struct bound b;
	unsigned int i;
	bool full;

	trn_task_init(&waiter, rig->pool, nobody);
	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	rig_fill(rig, window, 16);
	fake_chip_stop(chip);
	for (i = 0; i < 10; i++) {
		if (i % 2) {
			dge = copy_dge(i * 16 + 16, i * 16);
			assert_int_equal(trn_udma_queue_generate(b.queue, &dge, &landed,
								 &waiter, &full), 0);
			continue;
		}
		bound_desc(&b, i / 2, neuron_window_addr(0, i * 16 + 16),
			   neuron_window_addr(0, i * 16), 16);
		assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	}
	assert_true(b.queue->busy);
	assert_int_equal(atomic_load(&b.job.refs), 2);
	save(chip, &stream);
	trn_udma_queue_unbind(b.queue, &b.job);
	trn_udma_reset(chip);
	atomic_store(&b.job.refs, 1);
	assert_null(load(chip, &stream));
	/* Until the job is back nobody can use it. */
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), NEURON_CAUSE_QUEUE);
	trn_udma_queue_restore(b.queue, &b.job, &b.entry, TRN_ACTOR_QUEUE, true);
	assert_int_equal(atomic_load(&b.job.refs), 2);
	trn_chip_resume(chip);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_false(atomic_load(&b.job.faulted));
	for (i = 0; i < 10; i++)
		assert_memory_equal(window + i * 16 + 16, window, 16);
	assert_int_equal(trn_sem_value(b.job.core->sems, landed.sem), -5 * 3);
	bound_finish(&b);
	free(stream.bytes);
}

/* What a job's queue is not given any more after its error, it is not given after loading. */
static void a_queue_that_failed_stays_so(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct stream stream;
	struct bound b;

	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	bound_desc(&b, 0, neuron_window_addr(1, 0), neuron_window_addr(0, 0), 4);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_true(b.queue->failed);
	fake_chip_stop(chip);
	save(chip, &stream);
	trn_udma_queue_unbind(b.queue, &b.job);
	assert_false(b.queue->failed);
	assert_null(load(chip, &stream));
	trn_udma_queue_restore(b.queue, &b.job, &b.entry, TRN_ACTOR_QUEUE, false);
	assert_true(b.queue->failed);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_false(b.queue->busy);
	trn_chip_resume(chip);
	bound_finish(&b);
	free(stream.bytes);
}

/* Whatever the stream says, loading ends, and what it loaded does no harm. */
static void a_damaged_stream_is_refused_or_harmless(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	unsigned int i, refused = 0;
	struct neuron_udma_dge dge = copy_dge(16, 0);
	struct ring_pair ring;
	struct trn_task waiter;
	struct stream stream;
	struct bound b;
	uint8_t *kept;
	size_t used;
	bool full;

	trn_task_init(&waiter, rig->pool, nobody);
	ring_make(&ring, rig, 32);
	ring_copy(&ring, 0x1000, 0x2000, 64);
	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	fake_chip_stop(chip);
	ring_doorbell(&ring, 1, 1);
	ring_engine_write(&ring, NEURON_UDMA_AXI_TABLE_DATA(0), 1);
	assert_int_equal(trn_udma_queue_generate(b.queue, &dge, NULL, &waiter, &full), 0);
	save(chip, &stream);
	used = stream.used;
	kept = malloc(used);
	assert_non_null(kept);
	memcpy(kept, stream.bytes, used);
	trn_udma_reset(chip);
	trn_domain_free(b.job.domain);

	for (i = 0; i < 64; i++) {
		stream.used = used * i / 64;
		assert_non_null(load(chip, &stream));
		trn_udma_reset(chip);
	}
	stream.used = used;
	for (i = 0; i < DAMAGES; i++) {
		memcpy(stream.bytes, kept, used);
		stream.bytes[rig_random(rig, (uint32_t)used)] ^=
			(uint8_t)(1 + rig_random(rig, 255));
		refused += load(chip, &stream) ? 1 : 0;
		if (i % 50 == 0) {
			trn_chip_resume(chip);
			ring_wait_quiet(&ring);
			fake_chip_stop(chip);
		}
		trn_udma_reset(chip);
	}
	assert_true(refused > 0);
	memcpy(stream.bytes, kept, used);
	assert_null(load(chip, &stream));
	trn_udma_reset(chip);
	trn_chip_resume(chip);
	free(kept);
	free(stream.bytes);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_idle_chip_is_a_few_bytes),
		TEST(a_queue_goes_on_where_it_was),
		TEST(a_job_gets_its_queue_back),
		TEST(a_queue_that_failed_stays_so),
		TEST(a_damaged_stream_is_refused_or_harmless),
	};

	return cmocka_run_group_tests_name("udma_state", tests, NULL, NULL);
}
