// SPDX-License-Identifier: MIT
/* Notification queues: registers, rings, several producers. */
#include <string.h>

#include "nq_rig.h"
#include "state_stream.h"

/* --- registers --- */

static void check_block(struct rig *rig, enum trn_nq_unit unit,
			unsigned int index, unsigned int slots)
{
	struct nq q = nq_at(rig, unit, index, slots - 1);

	assert_int_equal(trn_chip_mmio_read(q.chip, q.block, 4), slots);
	nq_assert_reset(&q);
	nq_set(&q, NEURON_NQ_BASE_LO, 0x1000 * (index + 1));
	nq_set(&q, NEURON_NQ_BASE_HI, 7);
	nq_set(&q, NEURON_NQ_CONTROL, ~0u);
	assert_int_equal(nq_get(&q, NEURON_NQ_BASE_LO), 0x1000 * (index + 1));
	assert_int_equal(nq_get(&q, NEURON_NQ_BASE_HI), 7);
	assert_int_equal(nq_get(&q, NEURON_NQ_CONTROL), NEURON_NQ_CONTROL_TRACE);
}

static void every_block_is_there(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++)
		check_block(rig, TRN_NQ_CORE, i, NEURON_NQ_SLOTS);
	for (i = 0; i < gen->nr_top_sp_ids; i++)
		check_block(rig, TRN_NQ_TOP_SP, i, NEURON_NQ_SLOTS);
	for (i = 0; i < gen->nr_dma; i++)
		check_block(rig, TRN_NQ_DMA, i, 1);
	/* No two are the same. */
	for (i = 0; i < gen->nr_dma; i++) {
		struct nq q = nq_at(rig, TRN_NQ_DMA, i, 0);

		assert_int_equal(nq_get(&q, NEURON_NQ_BASE_LO), 0x1000 * (i + 1));
	}
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 0);
}

static void what_is_no_register_reads_zero(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_at(rig, TRN_NQ_CORE, 0, 0);
	struct nq dma = nq_at(rig, TRN_NQ_DMA, 0, 1);

	nq_set(&q, NEURON_NQ_CONTROL + 4, 5);
	assert_int_equal(nq_get(&q, NEURON_NQ_CONTROL + 4), 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 2);
	/* An SDMA block has one slot. */
	nq_set(&dma, NEURON_NQ_BASE_LO, 5);
	assert_int_equal(nq_get(&dma, NEURON_NQ_BASE_LO), 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 4);
	trn_chip_mmio_write(rig->chip[0], q.block + 0x80, 1, 4);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0], q.block + 0x80, 4), 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 6);
}

static void some_registers_are_read_only(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 0, 8);

	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	nq_set(&q, NEURON_NQ_TAIL, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), NQ_ENTRY);
	nq_set(&q, NEURON_NQ_STATUS, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS),
			 NEURON_NQ_STATUS_ENABLED | NEURON_NQ_STATUS_PHASE);
	assert_true(fake_logged(&rig->port[0], "read only"));
}

/* The address counts when SIZE is written, so it never is half of one. */
static void a_new_base_waits_for_the_size(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 0, 8);

	nq_set(&q, NEURON_NQ_BASE_LO, 0);
	nq_set(&q, NEURON_NQ_BASE_HI, 0);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	nq_assert_entry(&q, 0, NEURON_NQ_TYPE_NOTIFY, 0, 1);
}

/* --- rings --- */

static void types_and_engines_have_their_slots(void **state)
{
	struct rig *rig = *state;
	struct nq q[NEURON_NQ_SLOTS];
	unsigned int type, engine;

	for (type = 0; type < NEURON_NR_NQ_TYPES; type++)
		for (engine = 0; engine < NEURON_NQ_ENGINES; engine++) {
			unsigned int slot = NEURON_NQ_TYPE_SLOT(type, engine);

			q[slot] = nq_host(rig, TRN_NQ_CORE, 0, slot, 4);
		}
	for (type = 0; type < NEURON_NR_NQ_TYPES; type++)
		for (engine = 0; engine < NEURON_NQ_ENGINES; engine++)
			nq_post(rig, type, engine, type << 8 | engine);
	for (type = 0; type < NEURON_NR_NQ_TYPES; type++)
		for (engine = 0; engine < NEURON_NQ_ENGINES; engine++) {
			struct nq *at = &q[NEURON_NQ_TYPE_SLOT(type, engine)];
			uint32_t code = type << 8 | engine;

			assert_int_equal(nq_get(at, NEURON_NQ_TAIL), NQ_ENTRY);
			nq_assert_entry(at, 0, type, engine, code);
			assert_int_equal(nq_entry(at, 0)->pc, code + 1);
			assert_int_equal(nq_entry(at, 0)->lost, 0);
			assert_int_equal(nq_entry(at, 0)->time_ns, code + 2);
			assert_int_equal(nq_entry(at, 0)->job_id, code + 3);
		}
}

/* What the public driver sets up: one queue of an engine for all types. */
static void one_slot_takes_all_types(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 3, 16);
	unsigned int type;

	for (type = 0; type < NEURON_NR_NQ_TYPES; type++)
		nq_post(rig, type, 3, type);
	nq_post(rig, NEURON_NQ_TYPE_ERROR, 4, 99);	/* has no queue */
	for (type = 0; type < NEURON_NR_NQ_TYPES; type++)
		nq_assert_entry(&q, type, type, 3, type);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), NEURON_NR_NQ_TYPES * NQ_ENTRY);
}

static void check_laps(struct rig *rig, struct nq q)
{
	uint32_t n, i;

	for (n = 0; n < 3 * q.entries + 1; n++) {
		uint32_t status = nq_get(&q, NEURON_NQ_STATUS);

		assert_int_equal(!!(status & NEURON_NQ_STATUS_PHASE),
				 !(n / q.entries & 1));
		assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), n % q.entries * NQ_ENTRY);
		nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 2, n);
		/* All that the ring holds; the oldest were overwritten. */
		for (i = n < q.entries ? 0 : n - q.entries + 1; i <= n; i++)
			nq_assert_entry(&q, i, NEURON_NQ_TYPE_NOTIFY, 2, i);
	}
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_FLOW, 0);
}

static void the_phase_turns_with_each_lap(void **state)
{
	struct rig *rig = *state;

	check_laps(rig, nq_host(rig, TRN_NQ_CORE, 0, 2, 8));
	check_laps(rig, nq_hbm(rig, TRN_NQ_CORE, 0, 2, 8));
	check_laps(rig, nq_hbm(rig, TRN_NQ_CORE, 0, 2, 2));
}

static void a_full_ring_drops_and_counts(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 34, 4);
	const unsigned int type = NEURON_NQ_TYPE_EVENT;
	unsigned int i;

	nq_set(&q, NEURON_NQ_HEAD, 0);
	assert_true(nq_get(&q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_FLOW);
	for (i = 0; i < 3; i++)
		nq_post(rig, type, 2, i);
	assert_false(nq_cause(rig));
	for (; i < 10; i++)
		nq_post(rig, type, 2, i);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 3 * NQ_ENTRY);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 7);
	assert_int_equal(nq_entry(&q, 3)->info, 0);
	assert_true(nq_cause(rig));
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 1);
	assert_true(fake_logged(&rig->port[0], "core 0 notification queue 34: full"));
	assert_int_equal(trn_chip_mmio_read(q.chip, q.block +
					    NEURON_NQ_OVERFLOWED(1), 4),
			 NEURON_BIT(2));

	/* Two are consumed: room for two, and the first tells of the loss. */
	nq_set(&q, NEURON_NQ_HEAD, 2 * NQ_ENTRY);
	for (i = 10; i < 13; i++)
		nq_post(rig, type, 2, i);
	nq_assert_entry(&q, 3, type, 2, 10);
	assert_int_equal(nq_entry(&q, 3)->lost, 7);
	nq_assert_entry(&q, 4, type, 2, 11);
	assert_int_equal(nq_entry(&q, 4)->lost, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 8);
	assert_false(nq_cause(rig));

	/* Told once, until software clears the count. */
	nq_set(&q, NEURON_NQ_OVERFLOW, 123);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 0);
	nq_post(rig, type, 2, 13);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 1);
	assert_true(nq_cause(rig));
}

static void a_head_that_is_no_entry_is_ignored(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 0, 4);

	nq_set(&q, NEURON_NQ_HEAD, NQ_ENTRY + 4);
	nq_set(&q, NEURON_NQ_HEAD, 4 * NQ_ENTRY);
	assert_int_equal(nq_get(&q, NEURON_NQ_HEAD), 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_FLOW, 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 2);
	nq_set(&q, NEURON_NQ_HEAD, 3 * NQ_ENTRY);
	assert_int_equal(nq_get(&q, NEURON_NQ_HEAD), 3 * NQ_ENTRY);
}

static void malformed_rings_stay_off(void **state)
{
	struct rig *rig = *state;
	const uint64_t host = rig_host_addr(rig, 0, 0x1000);
	const uint64_t hbm_end = rig_hbm_addr(rig, 0, rig->chip[0]->hbm_size);
	const struct {
		uint64_t base;
		uint32_t size;
		const char *why;
	} bad[] = {
		{ host, 96, "no power of two" },
		{ host, 32, "no power of two" },
		{ host, 0xffffffff, "no power of two" },
		{ host + 32, 128, "not 64-byte aligned" },
		{ host + 4, 128, "not 64-byte aligned" },
		{ RIG_NOWHERE, 128, "not in HBM or host memory" },
		{ rig_sbuf_addr(rig, 0), 128, "not in HBM or host memory" },
		{ rig_sem_addr(rig, 0), 128, "not in HBM or host memory" },
		{ rig->chip[0]->gen->apb_addr[0], 128, "not in HBM" },
		{ neuron_window_addr(0, 0), 128, "not in HBM" },
		{ neuron_fabric_addr(1, 0), 128, "not in HBM" },
		{ neuron_fabric_addr(0, 0), 128, "not in HBM" },
		{ 1ull << 52, 128, "not in HBM" },
		{ hbm_end - 64, 128, "leaves its memory" },
		{ hbm_end - 4096, 0x80000000, "leaves its memory" },
		{ 2 * rig->chip[0]->gen->host_base - 64, 128, "leaves its memory" },
	};
	struct nq q = nq_at(rig, TRN_NQ_CORE, 0, 0);
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		nq_set_ring(&q, bad[i].base, bad[i].size);
		assert_int_equal(nq_get(&q, NEURON_NQ_STATUS),
				 NEURON_PUT(NEURON_NQ_STATUS_CAUSE,
					    NEURON_CAUSE_ADDRESS));
		assert_int_equal(nq_get(&q, NEURON_NQ_SIZE), bad[i].size);
		assert_true(fake_logged(&rig->port[0], bad[i].why));
		assert_true(nq_cause(rig));
		nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
		assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 1);
		assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 0);
	}
	nq_set(&q, NEURON_NQ_SIZE, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS), 0);
}

static void host_memory_that_is_none_stops_the_queue(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_at(rig, TRN_NQ_CORE, 0, 0);

	nq_set_ring(&q, rig_host_addr(rig, 0, RIG_HOST_BYTES), 128);
	assert_true(nq_get(&q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_ENABLED);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 2);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS),
			 NEURON_PUT(NEURON_NQ_STATUS_CAUSE,
				    NEURON_CAUSE_HOST));
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 2);
	assert_true(nq_cause(rig));
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 1);
	assert_true(fake_logged(&rig->port[0], "not memory"));
}

static bool all_quiet(void *arg)
{
	return trn_nq_quiet(arg);
}

/* Entries that wait behind one that cannot be written are lost and counted. */
static void what_waits_at_a_stop_is_counted(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 3, 8);
	const struct trn_nq_event event = {
		.unit = TRN_NQ_CORE,
		.engine = 3,
		.type = NEURON_NQ_TYPE_NOTIFY,
	};
	unsigned int i;

	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 3, 1);
	fake_chip_stop(rig->chip[0]);
	for (i = 0; i < 5; i++)
		trn_nq_post_later(rig->chip[0], &event);
	atomic_store(&rig->port[0].bus_master, false);
	trn_chip_resume(rig->chip[0]);
	assert_true(fake_wait(all_quiet, rig->chip[0]));
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS),
			 NEURON_PUT(NEURON_NQ_STATUS_CAUSE, NEURON_CAUSE_HOST));
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 5);
	/* Software sees how far the ring is good. */
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), NQ_ENTRY);
}

static void a_stopped_queue_is_saved(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 3, 8);
	struct state_stream stream = { .len = 0 };
	struct trn_state st = state_stream_save(&stream);

	nq_set(&q, NEURON_NQ_HEAD, 0);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 3, 1);
	atomic_store(&rig->port[0].bus_master, false);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 3, 2);
	fake_chip_stop(rig->chip[0]);
	trn_nq_state(rig->chip[0], &st);
	assert_null(st.why);
	trn_nq_reset(rig->chip[0]);
	st = state_stream_load(&stream);
	trn_nq_state(rig->chip[0], &st);
	assert_null(st.why);
	assert_int_equal(stream.at, stream.len);
	assert_int_equal(nq_get(&q, NEURON_NQ_STATUS),
			 NEURON_PUT(NEURON_NQ_STATUS_CAUSE, NEURON_CAUSE_HOST));
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 1);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), NQ_ENTRY);
	trn_chip_resume(rig->chip[0]);
}

static void the_host_limit_holds_for_entries(void **state)
{
	struct rig *rig = *state;
	struct nq a = nq_hbm(rig, TRN_NQ_CORE, 0, 0, 2);
	struct nq b = nq_at(rig, TRN_NQ_CORE, 0, 1);

	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	nq_assert_entry(&a, 0, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	nq_set_ring(&b, rig_hbm_addr(rig, 0, NEURON_MIB(16)), 128);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 1, 1);
	assert_int_equal(nq_get(&b, NEURON_NQ_STATUS),
			 NEURON_PUT(NEURON_NQ_STATUS_CAUSE,
				    NEURON_CAUSE_HOST_LIMIT));
}

static void off_and_on_again_starts_anew(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, 0, 4);
	uint64_t base = nq_base(&q);
	unsigned int i;

	nq_set(&q, NEURON_NQ_HEAD, 0);
	nq_set(&q, NEURON_NQ_CONTROL, NEURON_NQ_CONTROL_TRACE);
	for (i = 0; i < 5; i++)
		nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, i);
	nq_set_ring(&q, 0, 0);
	nq_assert_reset(&q);
	memset(q.mem, 0, q.entries * NQ_ENTRY);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 7);
	assert_int_equal(q.mem[0].info, 0);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 0);

	nq_set_ring(&q, base, q.entries * NQ_ENTRY);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 8);
	nq_assert_entry(&q, 0, NEURON_NQ_TYPE_NOTIFY, 0, 8);
	assert_int_equal(nq_entry(&q, 0)->lost, 0);
}

/* --- several producers --- */

#define STORM_THREADS	4
#define STORM_POSTS	3000

struct storm {
	struct rig *rig;
	unsigned int thread;
	_Atomic bool stop;
};

static void *storm_main(void *arg)
{
	struct storm *storm = arg;
	const unsigned int type = NEURON_NQ_TYPE_TRACE_DMA;
	uint32_t i;

	for (i = 0; i < STORM_POSTS && !atomic_load(&storm->stop); i++) {
		struct trn_nq_event event = {
			.unit = TRN_NQ_DMA,
			.index = 5,
			.engine = storm->thread,
			.type = type,
			.code = i,
		};

		if (i % 7)
			trn_nq_post(storm->rig->chip[0], &event);
		else
			trn_nq_post_later(storm->rig->chip[0], &event);
	}
	return NULL;
}

static void storm_start(struct rig *rig, struct storm *storm, pthread_t *thread)
{
	unsigned int i;

	for (i = 0; i < STORM_THREADS; i++) {
		storm[i].rig = rig;
		storm[i].thread = i;
		atomic_init(&storm[i].stop, false);
		assert_int_equal(pthread_create(&thread[i], NULL, storm_main,
						&storm[i]), 0);
	}
}

static void storm_join(pthread_t *thread)
{
	unsigned int i;

	for (i = 0; i < STORM_THREADS; i++)
		pthread_join(thread[i], NULL);
}

static bool is_idle(void *arg)
{
	return !(nq_get(arg, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_BUSY);
}

/* Every entry is whole and each producer's are in order; none is unaccounted for. */
static void entries_of_many_producers_keep_their_order(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_DMA, 5, 0, 16384);
	const uint32_t type = NEURON_PUT(NEURON_NQ_INFO_TYPE,
					 (uint32_t)NEURON_NQ_TYPE_TRACE_DMA);
	struct storm storm[STORM_THREADS];
	pthread_t thread[STORM_THREADS];
	uint32_t next[STORM_THREADS] = { 0 };
	uint32_t n, i, lost = 0;

	storm_start(rig, storm, thread);
	storm_join(thread);
	assert_true(fake_wait(is_idle, &q));
	n = nq_get(&q, NEURON_NQ_TAIL) / NQ_ENTRY;
	for (i = 0; i < n; i++) {
		uint32_t who = NEURON_GET(NEURON_NQ_INFO_ENGINE,
					  nq_entry(&q, i)->info);

		assert_int_equal(nq_entry(&q, i)->info & ~NEURON_NQ_INFO_ENGINE,
				 NEURON_NQ_INFO_PHASE | type);
		assert_true(who < STORM_THREADS);
		assert_true(nq_entry(&q, i)->code >= next[who]);
		next[who] = nq_entry(&q, i)->code + 1;
		lost += nq_entry(&q, i)->lost;
	}
	assert_int_equal(n + nq_get(&q, NEURON_NQ_OVERFLOW),
			 STORM_THREADS * STORM_POSTS);
	assert_true(lost <= nq_get(&q, NEURON_NQ_OVERFLOW));
}

/* After SIZE 0 and BUSY 0 the memory is software's own again. */
static void a_queue_may_be_switched_off_under_load(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_DMA, 5, 0, 64);
	uint64_t base = nq_base(&q);
	struct storm storm[STORM_THREADS];
	pthread_t thread[STORM_THREADS];
	unsigned int round, i;

	storm_start(rig, storm, thread);
	for (round = 0; round < 200; round++) {
		nq_set_ring(&q, 0, 0);
		while (!is_idle(&q))
			sched_yield();
		memset(q.mem, 0, q.entries * NQ_ENTRY);
		for (i = 0; i < q.entries; i++)
			assert_int_equal(q.mem[i].info, 0);
		nq_set_ring(&q, base, q.entries * NQ_ENTRY);
		if (round % 2)
			nq_set(&q, NEURON_NQ_HEAD, 0);
	}
	for (i = 0; i < STORM_THREADS; i++)
		atomic_store(&storm[i].stop, true);
	storm_join(thread);
}

/* The room for entries that wait, of all slots of a block. */
static void a_reset_gives_back_the_room_of_entries(void **state)
{
	struct rig *rig = *state;
	size_t before, most;
	unsigned int i;

	nq_host(rig, TRN_NQ_CORE, 0, 0, 64);
	before = trn_chip_own_bytes(rig->chip[0]);
	for (i = 1; i < NEURON_NQ_SLOTS; i++)
		nq_host(rig, TRN_NQ_CORE, 0, i, 64);
	most = trn_chip_own_bytes(rig->chip[0]);
	assert_true(most > before + (NEURON_NQ_SLOTS - 1) * 32 * NQ_ENTRY - 1);
	trn_nq_reset_block(rig->chip[0], TRN_NQ_CORE, 0);
	assert_true(trn_chip_own_bytes(rig->chip[0]) < before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_block_is_there),
		cmocka_unit_test_setup_teardown(every_block_is_there,
						rig_setup_trn1, rig_teardown),
		TEST(what_is_no_register_reads_zero),
		TEST(some_registers_are_read_only),
		TEST(a_new_base_waits_for_the_size),
		TEST(types_and_engines_have_their_slots),
		TEST(one_slot_takes_all_types),
		TEST(the_phase_turns_with_each_lap),
		TEST(a_full_ring_drops_and_counts),
		TEST(a_head_that_is_no_entry_is_ignored),
		TEST(malformed_rings_stay_off),
		TEST(host_memory_that_is_none_stops_the_queue),
		TEST(what_waits_at_a_stop_is_counted),
		TEST(a_stopped_queue_is_saved),
		cmocka_unit_test_setup_teardown(the_host_limit_holds_for_entries,
						rig_setup_limited, rig_teardown),
		TEST(off_and_on_again_starts_anew),
		TEST(entries_of_many_producers_keep_their_order),
		TEST(a_queue_may_be_switched_off_under_load),
		TEST(a_reset_gives_back_the_room_of_entries),
	};

	return cmocka_run_group_tests_name("nq", tests, NULL, NULL);
}
