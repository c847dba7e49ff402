// SPDX-License-Identifier: MIT
/*
 * A DMA queue that belongs to a job: windows, triggers, hostile rings.
 */
#include "bound_rig.h"

#include <string.h>

static void a_bound_queue_sees_only_windows(void **state)
{
	struct rig *rig = *state;
	uint8_t *hbm = rig->chip[0]->hbm[0];
	struct bound b;
	unsigned int i;

	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	rig_fill(rig, hbm + 0x1000, 256);
	for (i = 0; i < 40; i++) {
		bound_desc(&b, i, neuron_window_addr(0, i * 256),
			   neuron_window_addr(1, 0), 256);
		assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
		assert_true(fake_wait(bound_at_rest, &b));
	}
	for (i = 0; i < 40; i++)
		assert_memory_equal(hbm + BOUND_WINDOW + i * 256, hbm + 0x1000,
				    256);
	assert_int_equal(atomic_load(&b.job.dma_bytes), 40 * 256);
	assert_false(atomic_load(&b.job.faulted));
	assert_int_equal(atomic_load(&rig->chip[0]->core[0].progress), 40);

	bound_desc(&b, 40, neuron_window_addr(0, 0), 0x1000, 4);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_true(atomic_load(&b.job.faulted));
	assert_int_equal(b.job.fault.cause, NEURON_CAUSE_WINDOW);
	assert_int_equal(b.job.fault.source, NEURON_SOURCE_DMA);
	assert_int_equal(b.job.fault.queue, 2 << 4 | 1);
	assert_int_equal(b.job.fault.pc, 8);
	assert_int_equal(b.job.fault.addr, 0x1000);
	bound_finish(&b);
}

static void a_fault_names_its_side(void **state)
{
	struct rig *rig = *state;
	struct bound b;

	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	bound_desc(&b, 0, neuron_window_addr(1, 16), neuron_window_addr(0, 0), 4);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_int_equal(b.job.fault.cause, NEURON_CAUSE_RIGHTS);
	assert_int_equal(b.job.fault.queue, 0x8000 | 2 << 4 | 1);
	assert_int_equal(b.job.fault.addr, neuron_window_addr(1, 16));
	bound_finish(&b);
}

static void a_job_may_allow_any_ring_id(void **state)
{
	struct rig *rig = *state;
	uint64_t rings = rig_host(rig, 0, 2 * BOUND_RING_BYTES);
	struct bound b;

	bound_init(&b, rig, rings);
	bound_desc(&b, BOUND_LENGTH, neuron_window_addr(0, 0),
		   neuron_window_addr(1, 0), 4);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_int_equal(b.job.fault.cause, NEURON_CAUSE_RING_ID);
	bound_finish(&b);

	bound_init(&b, rig, rings);
	b.entry.flags = NEURON_JOB_QUEUE_ANY_RING_ID;
	bound_again(&b);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_false(atomic_load(&b.job.faulted));
	assert_int_equal(atomic_load(&b.job.dma_bytes), 4);
	bound_finish(&b);
}

static void a_trigger_must_fit_the_ring(void **state)
{
	struct rig *rig = *state;
	unsigned int i;
	struct bound b;

	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	for (i = 0; i < BOUND_LENGTH; i++)
		bound_desc(&b, i, neuron_window_addr(0, 0),
			   neuron_window_addr(0, 0), 4);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 0, 0), 0);
	assert_int_equal(trn_udma_queue_trigger(b.queue, BOUND_LENGTH + 1, 0),
			 NEURON_CAUSE_DESC);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 0, ~0u), NEURON_CAUSE_DESC);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 30, 0), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	assert_int_equal(trn_udma_queue_trigger(b.queue, 3, 0), NEURON_CAUSE_DESC);
	assert_false(atomic_load(&b.job.faulted));
	bound_finish(&b);
	assert_int_equal(trn_udma_queue_trigger(b.queue, 1, 1), NEURON_CAUSE_QUEUE);
}

static void software_cannot_touch_a_bound_queue(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring = { .rig = rig, .engine = 2, .queue = 1 };
	struct bound b;

	bound_init(&b, rig, rig_host(rig, 0, 2 * BOUND_RING_BYTES));
	ring_write(&ring, false, NEURON_UDMA_Q_BASE_LO, 0x1000);
	ring_write(&ring, false, NEURON_UDMA_Q_LENGTH, 64);
	ring_write(&ring, false, NEURON_UDMA_Q_TAIL_INC, 1);
	ring_write(&ring, true, NEURON_UDMA_Q_TAIL_INC, 1);
	ring_write(&ring, true, NEURON_UDMA_S2M_Q_SW_CTRL,
		   NEURON_UDMA_Q_SW_CTRL_RESET);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH),
			 BOUND_LENGTH);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_TAIL), 1u << 30);
	assert_true(fake_logged(&rig->port[0], "belongs to a job"));
	bound_finish(&b);
	/* Taken back: nothing of the job is left, and it is stopped. */
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH), 0);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_BASE_HI), 0);
	ring_write(&ring, false, NEURON_UDMA_Q_LENGTH, 32);
	ring_write(&ring, false, NEURON_UDMA_Q_TAIL_INC, 1);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 0);
	ring_alloc(&ring, rig, 0, 2, 1, 32);
	ring_program(&ring);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_run(&ring, 1, 1);
}

/* --- Rings that change while they are used --- */

/* Reads and changes of host memory take turns, word by word. */
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;

static bool locked_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct fake_port *port = opaque;

	pthread_mutex_lock(&ring_lock);
	memcpy(buf, port->host + addr, len);
	pthread_mutex_unlock(&ring_lock);
	return true;
}

struct scribbler {
	uint32_t *words;
	uint64_t seed;
	_Atomic bool stop;
};

static void *scribble(void *arg)
{
	struct rig random = { 0 };
	struct scribbler *s = arg;
	uint32_t i, value;

	random.seed = s->seed;
	while (!atomic_load(&s->stop)) {
		i = rig_random(&random, 2 * BOUND_RING_BYTES / 4);
		value = rig_random(&random, 4) ? rig_random(&random, ~0u) :
						 rig_random(&random, 2) << 31;
		pthread_mutex_lock(&ring_lock);
		s->words[i] = value;
		pthread_mutex_unlock(&ring_lock);
	}
	return NULL;
}

/* A job that runs until its garbage faults or is used up. */
static bool garbage_round(struct rig *rig, uint64_t rings)
{
	struct bound b;
	unsigned int i;
	bool faulted;

	bound_init(&b, rig, rings);
	b.entry.flags = NEURON_JOB_QUEUE_ANY_RING_ID;
	bound_again(&b);
	pthread_mutex_lock(&ring_lock);
	for (i = 0; i < BOUND_LENGTH; i++)
		bound_desc(&b, i, neuron_window_addr(0, rig_random(rig, 8) * 4096),
			   neuron_window_addr(0, 0x8000), 1024);
	pthread_mutex_unlock(&ring_lock);
	assert_int_equal(trn_udma_queue_trigger(b.queue, BOUND_LENGTH, BOUND_LENGTH), 0);
	assert_true(fake_wait(bound_at_rest, &b));
	faulted = atomic_load(&b.job.faulted);
	bound_finish(&b);
	return faulted;
}

static void changing_descriptors_cannot_escape(void **state)
{
	struct rig *rig = *state;
	uint64_t rings = rig_host(rig, 0, 2 * BOUND_RING_BYTES);
	uint8_t *hbm = rig->chip[0]->hbm[0];
	struct scribbler s = {
		.words = rig_host_ptr(rig, 0, rings),
		.seed = 0x9e3779b97f4a7c15ull,
	};
	unsigned int round, faults = 0;
	pthread_t thread;
	size_t i;

	rig->port[0].ops.host_read = locked_read;
	memset(hbm, 0x5a, BOUND_WINDOW);
	memset(hbm + BOUND_WINDOW + BOUND_BYTES, 0x5a, 0x100000);
	assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
	/* On a busy host the scribbler may run late. */
	for (round = 0; round < 300 || (!faults && round < 100000); round++)
		faults += garbage_round(rig, rings);
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
	assert_true(faults > 0);
	for (i = 0; i < BOUND_WINDOW; i++)
		assert_int_equal(hbm[i], 0x5a);
	for (i = 0; i < 0x100000; i++)
		assert_int_equal(hbm[BOUND_WINDOW + BOUND_BYTES + i], 0x5a);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_bound_queue_sees_only_windows),
		TEST(a_fault_names_its_side),
		TEST(a_job_may_allow_any_ring_id),
		TEST(a_trigger_must_fit_the_ring),
		TEST(software_cannot_touch_a_bound_queue),
		TEST(changing_descriptors_cannot_escape),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
