// SPDX-License-Identifier: MIT
/*
 * What is requested of a function on a bus, in the middle of DMA: bus mastering off, reset, D3hot,
 * pause, removal; one after the other, together, and from many threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "function_rig.h"
#include "mem/trn_access.h"
#include "sync/trn_irq.h"
#include "trn/state.h"

#define COPY	65536u
#define RING	512u
#define FROM	NEURON_MIB(1)

/* --- under load --- */

/*
 * A ring full of copies from the host to HBM, and its doorbell. All take much longer than a
 * request, so that this comes in their middle.
 */
static void start(struct bus *bus, struct ring_pair *ring)
{
	struct rig *rig = &bus->rig;
	unsigned int i;

	rig->host_next[0] = 4096;
	ring_make(ring, rig, RING);
	memset(rig_host_ptr(rig, 0, FROM), 0x77, COPY);
	for (i = 0; i < RING - 1; i++)
		ring_copy(ring, rig_hbm_addr(rig, 0, i % 64 * COPY), rig_host_addr(rig, 0, FROM),
			  COPY);
	trn_function_write(bus->fn[0], REG_BAR, ring_reg(ring, true, NEURON_UDMA_Q_TAIL_INC),
			   RING - 1, 4);
	trn_function_write(bus->fn[0], REG_BAR, ring_reg(ring, false, NEURON_UDMA_Q_TAIL_INC),
			   RING - 1, 4);
}

static uint32_t head(const struct ring_pair *ring)
{
	return ring_read(ring, false, NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR;
}

static bool has_begun(void *ring)
{
	return head(ring) > 0;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

/* Nobody may access host memory. A worker cannot fail the test in another way. */
static bool no_access(uint64_t addr, size_t len)
{
	print_error("a read of %zu bytes at %#llx\n", len, (unsigned long long)addr);
	abort();
	return false;
}

/* The chip is reading host memory, which takes its time. The port's hook has no argument. */
static _Atomic bool reading;

static bool slow_access(uint64_t addr, size_t len)
{
	(void)addr;
	(void)len;
	atomic_store(&reading, true);
	nap();
	atomic_store(&reading, false);
	return true;
}

static bool is_reading(void *arg)
{
	(void)arg;
	return atomic_load(&reading);
}

static void expect_alive(struct bus *bus)
{
	struct ring_pair ring;

	start(bus, &ring);
	ring_wait(&ring);
	assert_int_equal(trn_function_read(bus->fn[0], HBM_BAR, 63 * COPY, 4), 0x77777777);
}

static void bus_mastering_drains(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct ring_pair ring;

	start(bus, &ring);
	assert_true(fake_wait(has_begun, &ring));
	trn_function_set_master(fn, false);
	bus_settle(fn);
	bus->rig.port[0].before_read = no_access;
	if (head(&ring) != RING - 1) {
		ring_wait_error(&ring, NEURON_CAUSE_HOST);
		assert_int_equal(ring_error(&ring), NEURON_CAUSE_HOST);
	}
	nap();
	bus->rig.port[0].before_read = NULL;
	/* It answers all the time. */
	bus_set_reg(fn, bus_mask(bus), 3);
	assert_int_equal(bus_reg(fn, bus_mask(bus)), 3);
	trn_function_set_master(fn, true);
	assert_true(trn_function_poll(fn));
	expect_alive(bus);
}

static void an_access_under_way_ends(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct ring_pair ring;

	bus->rig.port[0].before_read = slow_access;
	start(bus, &ring);
	assert_true(fake_wait(is_reading, NULL));
	trn_function_set_master(fn, false);
	bus_settle(fn);
	assert_false(atomic_load(&reading));
	bus->rig.port[0].before_read = NULL;
	trn_function_set_master(fn, true);
	expect_alive(bus);
}

static void reset_ends_all(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	const uint64_t fresh = bus_reg(fn, bus_mask(bus));
	struct ring_pair ring;

	start(bus, &ring);
	bus_set_reg(fn, bus_mask(bus), 1);
	assert_true(fake_wait(has_begun, &ring));
	trn_function_reset(fn);
	bus_settle(fn);
	bus->rig.port[0].before_read = no_access;
	assert_int_equal(bus_reg(fn, bus_mask(bus)), fresh);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 0, 8), 0);
	assert_int_equal(head(&ring), 0);
	nap();
	bus->rig.port[0].before_read = NULL;
	/* Bus mastering is off, as after power-up. */
	start(bus, &ring);
	ring_wait_error(&ring, NEURON_CAUSE_HOST);
	trn_function_set_master(fn, true);
	trn_function_reset(fn);
	bus_settle(fn);
	trn_function_set_master(fn, true);
	expect_alive(bus);
}

static void d3hot_holds_all(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct trn_access peer = { .chip = bus->rig.chip[1] };
	const uint32_t word = 0x1234;
	struct ring_pair ring;
	uint32_t at;

	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), 0);
	start(bus, &ring);
	assert_true(fake_wait(has_begun, &ring));
	assert_false(trn_function_set_power(fn, 1));
	assert_false(trn_function_set_power(fn, 2));
	assert_true(trn_function_set_power(fn, D3HOT));
	bus_settle(fn);
	assert_false(trn_function_awake(fn));
	bus->rig.port[0].before_read = no_access;
	at = head(&ring);
	assert_true(bus_reg(fn, bus_mask(bus)) == UINT64_MAX);
	assert_true(trn_function_read(fn, 2, bus_mask(bus), 4) == UINT64_MAX);
	assert_true(trn_function_read(fn, HBM_BAR, 0, 4) == UINT64_MAX);
	assert_true(bus_reg(fn, fake_gen()->hole_bar0) == UINT64_MAX);
	trn_function_write(fn, HBM_BAR, 80 * COPY, 1, 4);
	/* What is raised waits; peers still reach the memory. */
	trn_irq_core(bus->rig.chip[0], 0, CAUSE);
	trn_function_deliver(fn);
	assert_int_equal(bus_irqs(bus, 0), 0);
	assert_int_equal(trn_access_write(&peer,
					  neuron_fabric_addr(0, rig_hbm_addr(&bus->rig, 0,
									     81 * COPY)),
					  (void *)&word, sizeof(word)), NEURON_CAUSE_NONE);
	nap();
	assert_int_equal(head(&ring), at);
	bus->rig.port[0].before_read = NULL;
	assert_true(trn_function_set_power(fn, D0));
	assert_true(trn_function_poll(fn));
	assert_int_equal(bus_irqs(bus, 0), 1);
	ring_wait(&ring);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 63 * COPY, 4), 0x77777777);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 80 * COPY, 4), 0);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 81 * COPY, 4), word);
}

static void requests_meet(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct ring_pair ring;

	/* The last power state counts. */
	start(bus, &ring);
	trn_function_set_power(fn, D3HOT);
	trn_function_set_power(fn, D0);
	bus_settle(fn);
	assert_true(trn_function_awake(fn));
	ring_wait(&ring);
	/* The machine goes on: a function that sleeps does not, nor the other way. */
	trn_function_pause(fn);
	trn_function_set_power(fn, D3HOT);
	trn_function_set_master(fn, false);
	bus_settle(fn);
	trn_function_resume(fn);
	bus_settle(fn);
	assert_false(trn_function_awake(fn));
	assert_true(trn_chip_quiet(bus->rig.chip[0]));
	trn_function_pause(fn);
	trn_function_set_power(fn, D0);
	trn_function_set_master(fn, true);
	bus_settle(fn);
	start(bus, &ring);
	nap();
	assert_int_equal(head(&ring), 0);
	trn_function_resume(fn);
	ring_wait(&ring);
	/* A reset wakes. In a machine that stands still the chip does too, afterwards. */
	trn_function_set_power(fn, D3HOT);
	trn_function_pause(fn);
	trn_function_reset(fn);
	bus_settle(fn);
	assert_true(trn_function_awake(fn));
	trn_function_set_master(fn, true);
	start(bus, &ring);
	nap();
	assert_int_equal(head(&ring), 0);
	trn_function_resume(fn);
	ring_wait(&ring);
}

/* --- pause --- */

struct stream {
	uint8_t *bytes;
	size_t len;
	size_t at;
};

static bool put(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	stream->bytes = realloc(stream->bytes, stream->len + len + 1);
	assert_non_null(stream->bytes);
	memcpy(stream->bytes + stream->len, buf, len);
	stream->len += len;
	return true;
}

static bool get(void *opaque, void *buf, size_t len)
{
	struct stream *stream = opaque;

	if (len > stream->len - stream->at)
		return false;
	memcpy(buf, stream->bytes + stream->at, len);
	stream->at += len;
	return true;
}

static void pause_all(struct bus *bus)
{
	unsigned int c, round;

	for (round = 0; round < 2; round++)
		for (c = 0; c < RIG_CHIPS; c++) {
			trn_function_pause(bus->fn[c]);
			bus_settle(bus->fn[c]);
		}
}

/* Saved in the middle of DMA, reset, loaded: it ends as if nothing had been. */
static void a_pause_saves(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct trn_chip *chip = trn_function_chip(fn);
	struct stream stream = { 0 };
	struct trn_state st = { .transfer = put, .opaque = &stream };
	struct ring_pair ring;
	uint32_t pending, at;

	bus_set_reg(fn, rig_core_reg(&bus->rig, 0, NEURON_CORE_MASK), 0);
	start(bus, &ring);
	assert_true(fake_wait(has_begun, &ring));
	pause_all(bus);
	at = head(&ring);
	trn_function_set_power(fn, D3HOT);
	bus_settle(fn);
	trn_irq_core(chip, 0, CAUSE);
	pending = trn_function_pending(fn);
	assert_int_equal(pending, 1);
	assert_true(trn_chip_save(chip, &st));
	assert_true(trn_chip_save_hbm(chip, &st));

	trn_function_reset(fn);
	bus_settle(fn);
	assert_int_equal(trn_function_pending(fn), 0);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 0, 4), 0);

	st = (struct trn_state) { .loading = true, .transfer = get, .opaque = &stream };
	assert_true(trn_chip_load(chip, &st));
	assert_true(trn_chip_load_hbm(chip, &st));
	trn_function_set_pending(fn, pending);
	trn_function_set_master(fn, true);
	bus_settle(fn);
	assert_int_equal(head(&ring), at);
	assert_int_equal(bus_irqs(bus, 0), 0);
	trn_function_resume(bus->fn[1]);
	trn_function_resume(fn);
	assert_int_equal(bus_irqs(bus, 0), 1);
	ring_wait(&ring);
	assert_int_equal(trn_function_read(fn, HBM_BAR, 63 * COPY, 4), 0x77777777);
	free(stream.bytes);
}

/* --- removal --- */

static void a_removed_function_is_not_there(void **state)
{
	struct bus *bus = *state;
	struct trn_function *fn = bus->fn[0];
	struct trn_access peer = { .chip = bus->rig.chip[1] };
	const uint64_t at = neuron_fabric_addr(0, rig_hbm_addr(&bus->rig, 0, 0));
	struct ring_pair ring;
	uint32_t word = 1;

	assert_int_equal(trn_access_write(&peer, at, (void *)&word, sizeof(word)),
			 NEURON_CAUSE_NONE);
	start(bus, &ring);
	assert_true(fake_wait(has_begun, &ring));
	trn_function_remove(fn);
	bus_settle(fn);
	bus->rig.port[0].before_read = no_access;
	assert_false(trn_function_awake(fn));
	assert_true(bus_reg(fn, bus_mask(bus)) == UINT64_MAX);
	assert_int_equal(trn_access_write(&peer, at, (void *)&word, sizeof(word)),
			 NEURON_CAUSE_FABRIC);
	/* Nothing brings it back. */
	trn_function_set_power(fn, D0);
	trn_function_reset(fn);
	bus_settle(fn);
	trn_function_resume(fn);
	assert_true(trn_function_poll(fn));
	assert_false(trn_function_awake(fn));
	nap();
}

/* --- many threads --- */

#define ROUNDS	300

struct crowd {
	struct bus *bus;
	_Atomic bool stop;
};

static void *poll_on(void *arg)
{
	struct crowd *crowd = arg;

	while (!atomic_load(&crowd->stop)) {
		trn_function_poll(crowd->bus->fn[0]);
		trn_function_deliver(crowd->bus->fn[0]);
		sched_yield();
	}
	return NULL;
}

static void *access_on(void *arg)
{
	struct crowd *crowd = arg;
	struct trn_function *fn = crowd->bus->fn[0];
	const uint64_t mask = rig_core_reg(&crowd->bus->rig, 0, NEURON_CORE_MASK);

	while (!atomic_load(&crowd->stop)) {
		bus_set_reg(fn, mask, 0);
		trn_irq_core(crowd->bus->rig.chip[0], 0, CAUSE);
		bus_set_reg(fn, rig_core_reg(&crowd->bus->rig, 0, NEURON_CORE_CAUSE), CAUSE);
		bus_reg(fn, mask);
		sched_yield();
	}
	return NULL;
}

static void request(struct trn_function *fn, uint32_t which)
{
	switch (which) {
	case 0:
		trn_function_set_master(fn, false);
		return;
	case 1:
		trn_function_set_master(fn, true);
		return;
	case 2:
		trn_function_set_power(fn, D3HOT);
		return;
	case 3:
		trn_function_set_power(fn, D0);
		return;
	case 4:
		trn_function_pause(fn);
		return;
	case 5:
		trn_function_resume(fn);
		return;
	default:
		trn_function_reset(fn);
	}
}

/* Whatever was asked for, and when: in the end it works as after power-up. */
static void requests_from_many_threads(void **state)
{
	struct bus *bus = *state;
	struct crowd crowd = { .bus = bus };
	struct trn_function *fn;
	pthread_t thread[4];
	unsigned int i;

	bus_rebuild(bus, TRN_FUNCTION_AUTO, true);
	fn = bus->fn[0];
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, i & 1 ? poll_on : access_on,
						&crowd), 0);
	for (i = 0; i < ROUNDS; i++) {
		request(fn, rig_random(&bus->rig, 7));
		if (!(i % 8))
			bus_settle(fn);
	}
	atomic_store(&crowd.stop, true);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	trn_function_resume(fn);
	trn_function_reset(fn);
	bus_settle(fn);
	assert_true(trn_function_awake(fn));
	trn_function_set_master(fn, true);
	expect_alive(bus);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bus_setup, bus_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bus_mastering_drains),
		TEST(an_access_under_way_ends),
		TEST(reset_ends_all),
		TEST(d3hot_holds_all),
		TEST(requests_meet),
		TEST(a_pause_saves),
		TEST(a_removed_function_is_not_there),
		TEST(requests_from_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
