// SPDX-License-Identifier: MIT
/* TOP_SP windows: in BAR0, on the bus, from a peer. */
#include <stdlib.h>
#include <string.h>

#include "job_rig.h"
#include "state_stream.h"
#include "notify/trn_nq.h"
#include "sync/trn_top_sp.h"

static uint32_t bar(const struct rig *rig, unsigned int t, uint32_t offset)
{
	return neuron_top_sp_bar0(rig->chip[0]->gen, t) + offset;
}

static uint64_t dev(const struct rig *rig, unsigned int t, uint32_t offset)
{
	return neuron_top_sp_addr(rig->chip[0]->gen, t) + offset;
}

static void wr(struct rig *rig, uint32_t at, uint32_t value)
{
	trn_chip_mmio_write(rig->chip[0], at, value, 4);
}

static uint32_t rd(struct rig *rig, uint32_t at)
{
	return (uint32_t)trn_chip_mmio_read(rig->chip[0], at, 4);
}

/* The figures of the public driver. */
static void windows_lie_where_the_public_map_has_them(void **state)
{
	const struct neuron_gen *v2 = &neuron_gen_trn1;
	const struct neuron_gen *v3 = &neuron_gen_trn2;

	(void)state;
	assert_int_equal(v2->nr_top_sp, 6);
	assert_int_equal(neuron_top_sp_addr(v2, 5), 0xfffd1400000);
	assert_int_equal(neuron_top_sp_bar0(v2, 5), 0x11400000);
	assert_int_equal(neuron_top_sp_nq_bar0(v2, 5), 0x30f44000);
	assert_int_equal(v3->nr_top_sp, 20);
	assert_int_equal(neuron_top_sp_addr(v3, 9), 0x84c0000000);
	assert_int_equal(neuron_top_sp_addr(v3, 10), 0x808280000000);
	assert_int_equal(neuron_top_sp_bar0(v3, 9), 0xf2400000);
	assert_int_equal(neuron_top_sp_bar0(v3, 10), 0xf2800000);
	assert_int_equal(neuron_top_sp_bar0(v3, 19) + NEURON_TOP_SP_WINDOW_SIZE,
			 0xf5000000);
	assert_int_equal(neuron_top_sp_nq_bar0(v3, 7), 0x06bc0000);
	assert_int_equal(neuron_top_sp_nq_bar0(v3, 15), 0x46bc0000);
	assert_int_equal(neuron_sdma_bar0(v2, 17), 0x30b07000);
	assert_int_equal(neuron_sdma_bar0(v2, 32), 0x30640000);
	assert_int_equal(neuron_sdma_bar0(v3, 33), 0x94140000);
	assert_int_equal(neuron_sdma_bar0(v3, 129), 0x06940000);
}

static void ids_leave_out_those_of_no_core(void **state)
{
	const struct neuron_gen *v3 = &neuron_gen_trn2;
	unsigned int t, ids = 0;

	(void)state;
	assert_int_equal(neuron_top_sp_of_id(v3, 7), 7);
	assert_int_equal(neuron_top_sp_of_id(v3, 8), 10);
	assert_int_equal(neuron_top_sp_of_id(v3, 15), 17);
	for (t = 0; t < v3->nr_top_sp; t++) {
		int id = neuron_top_sp_id(v3, t);

		if (t % 10 >= 8) {
			assert_int_equal(id, -1);
			continue;
		}
		assert_int_equal(neuron_top_sp_of_id(v3, (uint32_t)id), t);
		ids++;
	}
	assert_int_equal(ids, v3->nr_top_sp_ids);
	for (t = 0; t < neuron_gen_trn1.nr_top_sp; t++)
		assert_int_equal(neuron_top_sp_id(&neuron_gen_trn1, t), t);
}

static void each_has_events_and_semaphores(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	unsigned int t;

	for (t = 0; t < gen->nr_top_sp; t++) {
		wr(rig, bar(rig, t, NEURON_SEM_SET(t)), 100 + t);
		wr(rig, bar(rig, t, NEURON_SEM_INC(t)), 7);
		wr(rig, bar(rig, t, NEURON_SEM_DEC(t)), 2);
		wr(rig, bar(rig, t, NEURON_SEM_EVENT(255 - t)), 1);
	}
	for (t = 0; t < gen->nr_top_sp; t++) {
		assert_int_equal(rd(rig, bar(rig, t, NEURON_SEM_READ(t))), 105 + t);
		assert_int_equal(rd(rig, bar(rig, t, NEURON_SEM_READ(t + 1))), 0);
		assert_int_equal(rd(rig, bar(rig, t, NEURON_SEM_EVENT(255 - t))), 1);
		assert_int_equal(rd(rig, bar(rig, t, NEURON_SEM_EVENT(254 - t))), 0);
	}
	/* They are nobody else's. */
	assert_int_equal(trn_sem_value(rig->chip[0]->core[0].sems, 0), 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 0);
}

static void the_rest_of_a_window_is_empty(void **state)
{
	struct rig *rig = *state;
	uint32_t value = 5;

	wr(rig, bar(rig, 0, NEURON_TPB_SEM_SIZE), 1);
	assert_int_equal(rd(rig, bar(rig, 0, NEURON_TPB_SEM_SIZE)), 0);
	assert_int_equal(rd(rig, bar(rig, 3, NEURON_TOP_SP_WINDOW_SIZE - 4)), 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 3);
	assert_true(fake_logged(&rig->port[0], "TOP_SP 3: read of nothing"));
	assert_int_equal(trn_bus_read(rig->chip[0],
				      dev(rig, 3, NEURON_TPB_SEM_SIZE), &value, 4),
			 NEURON_CAUSE_NONE);
	assert_int_equal(value, 0);
	assert_int_equal(fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR), 4);
	/* One past the window there is nothing. */
	assert_int_equal(trn_bus_read(rig->chip[0],
				      dev(rig, 9, NEURON_TOP_SP_WINDOW_SIZE),
				      &value, 4), NEURON_CAUSE_ADDRESS);
}

static void dma_reaches_them_by_device_address(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	unsigned int t;
	uint32_t value;

	for (t = 0; t < gen->nr_top_sp; t++) {
		value = t + 1;
		assert_int_equal(trn_bus_write(rig->chip[0],
					       dev(rig, t, NEURON_SEM_INC(9)),
					       &value, 4), NEURON_CAUSE_NONE);
		assert_int_equal(rd(rig, bar(rig, t, NEURON_SEM_READ(9))), t + 1);
		assert_int_equal(trn_bus_read(rig->chip[0],
					      dev(rig, t, NEURON_SEM_READ(9)),
					      &value, 4), NEURON_CAUSE_NONE);
		assert_int_equal(value, t + 1);
	}
	/* Words, one at a time. */
	assert_int_equal(trn_bus_write(rig->chip[0],
				       dev(rig, 0, NEURON_SEM_INC(9)), &value, 2),
			 NEURON_CAUSE_ADDRESS);
	assert_int_equal(trn_bus_write(rig->chip[0],
				       dev(rig, 0, NEURON_SEM_INC(9)) + 2,
				       &value, 4), NEURON_CAUSE_ADDRESS);
}

/* In domain 0; the rest of the window is not a peer's business. */
static void a_peer_posts_by_routed_address(void **state)
{
	struct rig *rig = *state;
	uint64_t post = neuron_fabric_addr(0, dev(rig, 12, NEURON_SEM_INC(1)));
	uint64_t rest = neuron_fabric_addr(0, dev(rig, 12, NEURON_TPB_SEM_SIZE));
	uint32_t value = 3;

	assert_int_equal(trn_bus_write(rig->chip[1], post, &value, 4),
			 NEURON_CAUSE_NONE);
	assert_int_equal(rd(rig, bar(rig, 12, NEURON_SEM_READ(1))), 3);
	assert_int_equal(trn_bus_write(rig->chip[1], rest, &value, 4),
			 NEURON_CAUSE_FABRIC);
}

/* One that is no CC-core has no claim generation that could guard a post. */
static void a_job_cannot_have_a_window_on_those_without_id(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_halt(&job, NEURON_ENGINE_SYNC);
	job.windows[JOB_W_PEER_SEM].base = dev(rig, 8, NEURON_TOP_SP_SEM);
	job.windows[JOB_W_PEER_SEM].length = 16;
	job.windows[JOB_W_PEER_SEM].flags = NEURON_WINDOW_SEM |
					    NEURON_WINDOW_WRITE;
	job_run_fault(&job, NEURON_CAUSE_JOB);
}

static void raised_events_go_to_the_block_of_the_id(void **state)
{
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	const uint32_t slot = neuron_top_sp_nq_bar0(gen, 8) +
			      NEURON_NQ_SLOT(NEURON_NQ_NO_ENGINE);
	const uint32_t size = sizeof(struct neuron_hw_nq_entry);
	const struct neuron_hw_nq_entry *ring;
	uint64_t at = rig_host(rig, 0, 256);
	uint64_t base = rig_host_addr(rig, 0, at);

	ring = rig_host_ptr(rig, 0, at);
	wr(rig, slot + NEURON_NQ_BASE_HI, base >> 32);
	wr(rig, slot + NEURON_NQ_BASE_LO, (uint32_t)base);
	wr(rig, slot + NEURON_NQ_SIZE, 256);
	wr(rig, bar(rig, 8, NEURON_SEM_EVENT(1)), 1);	/* has no id */
	wr(rig, bar(rig, 11, NEURON_SEM_EVENT(1)), 1);	/* is id 9 */
	wr(rig, bar(rig, 10, NEURON_SEM_EVENT(42)), 1);
	wr(rig, bar(rig, 10, NEURON_SEM_EVENT(43)), 1);
	assert_true(fake_wait_reg(rig->chip[0], slot + NEURON_NQ_TAIL, ~0u,
				  2 * size));
	assert_int_equal(ring[0].code, 42);
	assert_int_equal(ring[1].code, 43);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_TYPE, ring[0].info),
			 NEURON_NQ_TYPE_EVENT);
}

static void a_reset_of_the_chip_clears_them(void **state)
{
	struct rig *rig = *state;
	const uint32_t slot = neuron_top_sp_nq_bar0(rig->chip[0]->gen, 3) +
			      NEURON_NQ_SLOT(0);
	uint64_t reset;

	wr(rig, bar(rig, 3, NEURON_SEM_SET(5)), 5);
	wr(rig, bar(rig, 3, NEURON_SEM_EVENT(5)), 1);
	wr(rig, slot, 0x1000);
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(rd(rig, bar(rig, 3, NEURON_SEM_READ(5))), 0);
	assert_int_equal(rd(rig, bar(rig, 3, NEURON_SEM_EVENT(5))), 0);
	assert_int_equal(rd(rig, slot), 0);

	/* Of one alone: its neighbours keep theirs. */
	wr(rig, bar(rig, 3, NEURON_SEM_SET(5)), 5);
	wr(rig, bar(rig, 4, NEURON_SEM_SET(5)), 6);
	trn_core_reset(trn_cc_core(rig->chip[0], 3));
	reset = rig_core_reg(rig, NEURON_MAX_CORES + 3, NEURON_CORE_RESET);
	assert_true(fake_wait_reg(rig->chip[0], reset, ~0u, 0));
	assert_int_equal(rd(rig, bar(rig, 3, NEURON_SEM_READ(5))), 0);
	assert_int_equal(rd(rig, bar(rig, 4, NEURON_SEM_READ(5))), 6);
}

/* Those that are CC-cores have more to save; test_cc.c has it. */
static void state_is_saved_and_loaded(void **state)
{
	struct rig *rig = *state;
	struct state_stream stream = { .len = 0 };
	struct trn_state st = state_stream_save(&stream);

	wr(rig, bar(rig, 19, NEURON_SEM_SET(255)), 9);
	wr(rig, bar(rig, 8, NEURON_SEM_EVENT(0)), 1);
	fake_chip_stop(rig->chip[0]);
	trn_top_sp_state(rig->chip[0], &st);
	assert_null(st.why);
	trn_top_sp_reset(rig->chip[0]);
	assert_int_equal(rd(rig, bar(rig, 19, NEURON_SEM_READ(255))), 0);
	st = state_stream_load(&stream);
	trn_top_sp_state(rig->chip[0], &st);
	assert_null(st.why);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(rd(rig, bar(rig, 19, NEURON_SEM_READ(255))), 9);
	assert_int_equal(rd(rig, bar(rig, 8, NEURON_SEM_EVENT(0))), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_lie_where_the_public_map_has_them),
		cmocka_unit_test(ids_leave_out_those_of_no_core),
		TEST(each_has_events_and_semaphores),
		cmocka_unit_test_setup_teardown(each_has_events_and_semaphores,
						rig_setup_trn1, rig_teardown),
		TEST(the_rest_of_a_window_is_empty),
		TEST(dma_reaches_them_by_device_address),
		TEST(a_peer_posts_by_routed_address),
		TEST(a_job_cannot_have_a_window_on_those_without_id),
		TEST(raised_events_go_to_the_block_of_the_id),
		TEST(a_reset_of_the_chip_clears_them),
		TEST(state_is_saved_and_loaded),
	};

	return cmocka_run_group_tests_name("top_sp", tests, NULL, NULL);
}
