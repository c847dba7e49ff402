// SPDX-License-Identifier: MIT
/* Notification queues: who posts to them; resets, stops, saving. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "job_rig.h"
#include "nq_rig.h"
#include "state_stream.h"
#include "time/trn_cost.h"

/* --- who posts --- */

/* Entries @n and @n + 1: the begin and the end of something. */
static void assert_pair(struct nq *q, unsigned int n, unsigned int type,
			unsigned int engine, uint32_t code)
{
	assert_true(nq_entry(q, n)->info & NEURON_NQ_INFO_BEGIN);
	nq_assert_entry(q, n + 1, type, engine, code);
	assert_int_equal(nq_entry(q, n)->code, code);
	assert_int_equal(nq_entry(q, n)->pc, nq_entry(q, n + 1)->pc);
	assert_true(nq_entry(q, n)->time_ns <= nq_entry(q, n + 1)->time_ns);
}

static void notify_and_trace_of_a_program(void **state)
{
	struct rig *rig = *state;
	const unsigned int e = NEURON_ENGINE_VECTOR;
	struct nq notify = nq_host(rig, TRN_NQ_CORE, 1,
				NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_NOTIFY, e), 8);
	struct nq trace = nq_hbm(rig, TRN_NQ_CORE, 1, e, 8);
	struct job_rig job;

	job_init(&job, rig, 0, 1);
	job.block->job_id = 0x1234567890;
	job_inst(&job, e, NEURON_OP_NOP);
	job_inst(&job, e, NEURON_OP_NOTIFY)->imm0 = 0xabcd;
	job_halt(&job, e);
	job_run(&job);
	nq_assert_entry(&notify, 0, NEURON_NQ_TYPE_NOTIFY, e, 0xabcd);
	assert_int_equal(nq_entry(&notify, 0)->pc, 1);
	assert_int_equal(nq_entry(&notify, 0)->job_id, 0x1234567890);
	/* Nobody asked for a trace. */
	assert_int_equal(nq_get(&trace, NEURON_NQ_TAIL), 0);

	nq_set(&trace, NEURON_NQ_CONTROL, NEURON_NQ_CONTROL_TRACE);
	job_run(&job);
	assert_int_equal(nq_get(&trace, NEURON_NQ_TAIL), 6 * NQ_ENTRY);
	assert_pair(&trace, 0, NEURON_NQ_TYPE_TRACE, e, NEURON_OP_NOP);
	assert_pair(&trace, 2, NEURON_NQ_TYPE_TRACE, e, NEURON_OP_NOTIFY);
	assert_pair(&trace, 4, NEURON_NQ_TYPE_TRACE, e, NEURON_OP_HALT);
	assert_int_equal(nq_entry(&trace, 4)->pc, 2);
	assert_int_equal(nq_entry(&trace, 5)->time_ns, job.completion->end_ns - 1);
	assert_int_equal(nq_get(&notify, NEURON_NQ_TAIL), 2 * NQ_ENTRY);

	/* Without device time there is nothing to say of the begin. */
	rig->chip[0]->config.clock = false;
	job_run(&job);
	assert_int_equal(nq_get(&trace, NEURON_NQ_TAIL), 9 % 8 * NQ_ENTRY);
	assert_false(nq_entry(&trace, 8)->info & NEURON_NQ_INFO_BEGIN);
}

/* Two queues of an engine: the second one begins when the first one is done. */
static void transfers_are_traced_with_their_waiting(void **state)
{
	const unsigned int start = TRN_COST_DMA_START_PS / 1000;
	struct rig *rig = *state;
	struct job_rig job;
	struct nq q;

	q = nq_host(rig, TRN_NQ_DMA, neuron_core_dma(1), 0, 16);
	job_init(&job, rig, 0, 1);
	job_copy(&job, 0, job_hbm_at(0x1000), job_hbm_at(0), 64);
	job_copy(&job, 0, job_hbm_at(0x1000), job_hbm_at(0), 0x8000);
	job_trigger(&job, NEURON_ENGINE_SYNC, 0, 2, 2);
	job_halt(&job, NEURON_ENGINE_SYNC);
	job_run(&job);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 4 * NQ_ENTRY);
	assert_pair(&q, 0, NEURON_NQ_TYPE_TRACE_DMA, 0, 1);
	assert_pair(&q, 2, NEURON_NQ_TYPE_TRACE_DMA, 0, 1);
	assert_int_equal(nq_entry(&q, 0)->time_ns,
			 job.completion->start_ns + start);
	assert_int_equal(nq_entry(&q, 1)->time_ns - nq_entry(&q, 0)->time_ns, 52);
	assert_int_equal(nq_entry(&q, 2)->time_ns, nq_entry(&q, 1)->time_ns);
	assert_int_equal(nq_entry(&q, 3)->time_ns, job.completion->end_ns - 1);
	assert_int_equal(nq_entry(&q, 3)->job_id, job.block->job_id);
}

/* Causal device time: later instructions have later times. */
static void entries_carry_device_time(void **state)
{
	struct rig *rig = *state;
	const unsigned int e = NEURON_ENGINE_SCALAR;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, e, 16);
	struct job_rig job;
	unsigned int i;

	job_init(&job, rig, 0, 0);
	for (i = 0; i < 4; i++)
		job_inst(&job, e, NEURON_OP_NOTIFY)->imm0 = i;
	job_halt(&job, e);
	job_run(&job);
	for (i = 1; i < 4; i++)
		assert_true(nq_entry(&q, i)->time_ns > nq_entry(&q, i - 1)->time_ns);
	assert_true(nq_entry(&q, 3)->time_ns < job.completion->end_ns);

	rig->chip[0]->config.clock = false;
	job_run(&job);
	for (i = 4; i < 8; i++)
		assert_int_equal(nq_entry(&q, i)->time_ns, 0);
}

static void a_fault_is_reported_with_its_engine(void **state)
{
	struct rig *rig = *state;
	const unsigned int e = NEURON_ENGINE_GPSIMD;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 2, e, 8);
	struct job_rig job;

	job_init(&job, rig, 0, 2);
	job_inst(&job, e, NEURON_OP_NOP);
	job_inst(&job, e, NEURON_OP_ILLEGAL);
	job_run_fault(&job, NEURON_CAUSE_OPCODE);
	nq_assert_entry(&q, 0, NEURON_NQ_TYPE_ERROR, e, NEURON_CAUSE_OPCODE);
	assert_int_equal(nq_entry(&q, 0)->pc, 1);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), NQ_ENTRY);
}

/* Of a queue of the job: no engine's. */
static void a_dma_fault_is_reported(void **state)
{
	struct rig *rig = *state;
	const unsigned int slot = NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_ERROR,
						      NEURON_NQ_NO_ENGINE);
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, slot, 8);
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_copy(&job, 0, job_hbm_at(0), neuron_window_addr(JOB_W_PEER, 0), 64);
	job_trigger(&job, NEURON_ENGINE_SYNC, 0, 1, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	job_run_fault(&job, NEURON_CAUSE_WINDOW);
	nq_assert_entry(&q, 0, NEURON_NQ_TYPE_ERROR, NEURON_NQ_NO_ENGINE,
			NEURON_CAUSE_WINDOW);
}

/* Host memory below which an entry is held while it is being written, until it is let go. */
static struct {
	bool (*write)(void *opaque, uint64_t addr, const void *buf, size_t len);
	uint64_t ring, size;
	_Atomic bool held, let_go;
} slow;

static bool is_set(void *arg)
{
	return atomic_load((_Atomic bool *)arg);
}

static bool slow_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	if (addr - slow.ring < slow.size && !atomic_exchange(&slow.held, true))
		assert_true(fake_wait(is_set, &slow.let_go));
	return slow.write(opaque, addr, buf, len);
}

static void raise_event(struct rig *rig, unsigned int event)
{
	trn_chip_mmio_write(rig->chip[0], neuron_tpb_bar0(rig->chip[0]->gen, 0) +
			    NEURON_TPB_SEM + NEURON_SEM_EVENT(event), 1, 4);
}

static void *raise_event_40(void *rig)
{
	raise_event(rig, 40);
	return NULL;
}

/* Entries are not ordered with other reports, nor with the record: that is seen here. */
static void an_entry_may_come_after_the_record(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, NEURON_NQ_NO_ENGINE, 8);
	struct job_rig job;
	pthread_t software;

	slow.write = rig->port[0].ops.host_write;
	slow.ring = (uint64_t)((uint8_t *)q.mem - rig->port[0].host);
	slow.size = 8 * NQ_ENTRY;
	rig->port[0].ops.host_write = slow_write;
	assert_int_equal(pthread_create(&software, NULL, raise_event_40, rig), 0);
	assert_true(fake_wait(is_set, &slow.held));
	job_init(&job, rig, 0, 0);
	job_copy(&job, 0, job_hbm_at(0), neuron_window_addr(JOB_W_PEER, 0), 64);
	job_trigger(&job, NEURON_ENGINE_SYNC, 0, 1, 1);
	job_halt(&job, NEURON_ENGINE_SYNC);
	job_run_fault(&job, NEURON_CAUSE_WINDOW);
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 0);
	atomic_store(&slow.let_go, true);
	pthread_join(software, NULL);
	nq_wait(&q, 2);
	nq_assert_entry(&q, 0, NEURON_NQ_TYPE_EVENT, NEURON_NQ_NO_ENGINE, 40);
	nq_assert_entry(&q, 1, NEURON_NQ_TYPE_ERROR, NEURON_NQ_NO_ENGINE, NEURON_CAUSE_WINDOW);
}

static void raised_events_are_reported_once(void **state)
{
	struct rig *rig = *state;
	const unsigned int type = NEURON_NQ_TYPE_EVENT;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 1, NEURON_NQ_NO_ENGINE, 8);
	const uint64_t addr = rig_sem_addr(rig, 1) + NEURON_SEM_EVENT(9);
	const uint64_t peer = neuron_fabric_addr(0, rig_sem_addr(rig, 1) +
						 NEURON_SEM_EVENT(10));
	const uint32_t bar = neuron_tpb_bar0(rig->chip[0]->gen, 1) +
			     NEURON_TPB_SEM + NEURON_SEM_EVENT(8);
	const uint32_t one = 1, zero = 0;

	trn_chip_mmio_write(rig->chip[0], bar, 1, 4);
	trn_chip_mmio_write(rig->chip[0], bar, 1, 4);
	trn_chip_mmio_write(rig->chip[0], bar, 0, 4);
	assert_int_equal(trn_bus_write(rig->chip[0], addr, &one, 4), 0);
	assert_int_equal(trn_bus_write(rig->chip[0], addr, &zero, 4), 0);
	assert_int_equal(trn_bus_write(rig->chip[0], addr, &one, 4), 0);
	assert_int_equal(trn_bus_write(rig->chip[1], peer, &one, 4), 0);
	nq_wait(&q, 4);
	nq_assert_entry(&q, 0, type, NEURON_NQ_NO_ENGINE, 8);
	nq_assert_entry(&q, 1, type, NEURON_NQ_NO_ENGINE, 9);
	nq_assert_entry(&q, 2, type, NEURON_NQ_NO_ENGINE, 9);
	nq_assert_entry(&q, 3, type, NEURON_NQ_NO_ENGINE, 10);
}

/* --- reset, stop, state --- */

static void a_core_reset_switches_its_block_off(void **state)
{
	struct rig *rig = *state;
	struct nq mine = nq_host(rig, TRN_NQ_CORE, 0, 0, 8);
	struct nq other = nq_host(rig, TRN_NQ_CORE, 1, 0, 8);
	struct job_rig job;

	job_init(&job, rig, 0, 0);
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	assert_true(job_wait_reg(&job, NEURON_CORE_RESET, 0));
	nq_assert_reset(&mine);
	assert_true(nq_get(&other, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_ENABLED);
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	nq_assert_reset(&other);
	trn_chip_resume(rig->chip[0]);
}

static bool chip_quiet(void *arg)
{
	return trn_chip_quiet(arg);
}

static void a_stopped_chip_writes_nothing(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, NEURON_NQ_NO_ENGINE, 64);
	unsigned int i;

	fake_chip_stop(rig->chip[0]);
	for (i = 0; i < 40; i++)
		raise_event(rig, i);
	assert_true(fake_wait(chip_quiet, rig->chip[0]));
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 0);
	assert_true(nq_get(&q, NEURON_NQ_STATUS) & NEURON_NQ_STATUS_BUSY);
	assert_int_equal(q.mem[0].info, 0);
	/* What has to wait is bounded. */
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 8);
	trn_chip_resume(rig->chip[0]);
	nq_wait(&q, 32);
	for (i = 0; i < 32; i++)
		nq_assert_entry(&q, i, NEURON_NQ_TYPE_EVENT, NEURON_NQ_NO_ENGINE, i);
}

static const char *run_state(struct trn_chip *chip, struct state_stream *stream,
			     bool loading)
{
	struct trn_state st;

	if (loading) {
		st = state_stream_load(stream);
	} else {
		stream->len = 0;
		st = state_stream_save(stream);
	}
	trn_nq_state(chip, &st);
	return st.why;
}

/* A queue in its second lap, with flow control and something that waits. */
static void a_loaded_queue_goes_on(void **state)
{
	struct rig *rig = *state;
	struct nq q = nq_host(rig, TRN_NQ_CORE, 0, NEURON_NQ_NO_ENGINE, 4);
	struct state_stream *stream = calloc(1, sizeof(*stream));
	unsigned int i;

	assert_non_null(stream);
	for (i = 0; i < 5; i++)
		nq_post(rig, NEURON_NQ_TYPE_EVENT, NEURON_NQ_NO_ENGINE, i);
	nq_set(&q, NEURON_NQ_HEAD, 3 * NQ_ENTRY);
	for (i = 5; i < 9; i++)
		nq_post(rig, NEURON_NQ_TYPE_EVENT, NEURON_NQ_NO_ENGINE, i);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 3);
	fake_chip_stop(rig->chip[0]);
	raise_event(rig, 77);
	assert_true(fake_wait(chip_quiet, rig->chip[0]));
	assert_null(run_state(rig->chip[0], stream, false));

	trn_nq_reset(rig->chip[0]);
	nq_assert_reset(&q);
	assert_null(run_state(rig->chip[0], stream, true));
	assert_int_equal(nq_get(&q, NEURON_NQ_TAIL), 2 * NQ_ENTRY);
	assert_int_equal(nq_get(&q, NEURON_NQ_HEAD), 3 * NQ_ENTRY);
	assert_int_equal(nq_get(&q, NEURON_NQ_OVERFLOW), 3);
	nq_set(&q, NEURON_NQ_HEAD, NQ_ENTRY);
	trn_chip_resume(rig->chip[0]);
	nq_wait(&q, 7);
	nq_assert_entry(&q, 6, NEURON_NQ_TYPE_EVENT, NEURON_NQ_NO_ENGINE, 77);
	assert_int_equal(nq_entry(&q, 6)->lost, 3);
	free(stream);
}

/* Whatever a stream says: an error or a queue that is sound, and no crash. */
static void a_damaged_stream_does_no_harm(void **state)
{
	struct rig *rig = *state;
	struct state_stream *good = calloc(1, sizeof(*good));
	struct state_stream *bad = calloc(1, sizeof(*bad));
	unsigned int i, failed = 0;

	assert_non_null(good);
	assert_non_null(bad);
	nq_host(rig, TRN_NQ_CORE, 0, 0, 4);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	fake_chip_stop(rig->chip[0]);
	assert_null(run_state(rig->chip[0], good, false));
	for (i = 0; i < good->len; i++) {
		*bad = *good;
		bad->data[i] ^= (uint8_t)(1 + rig_random(rig, 255));
		trn_nq_reset(rig->chip[0]);
		failed += !!run_state(rig->chip[0], bad, true);
	}
	assert_true(failed > good->len / 2);
	trn_nq_reset(rig->chip[0]);
	bad->len = good->len / 2;
	memcpy(bad->data, good->data, bad->len);
	assert_non_null(run_state(rig->chip[0], bad, true));
	trn_nq_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	nq_post(rig, NEURON_NQ_TYPE_NOTIFY, 0, 1);
	free(good);
	free(bad);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(notify_and_trace_of_a_program),
		TEST(transfers_are_traced_with_their_waiting),
		TEST(entries_carry_device_time),
		TEST(a_fault_is_reported_with_its_engine),
		TEST(a_dma_fault_is_reported),
		TEST(an_entry_may_come_after_the_record),
		TEST(raised_events_are_reported_once),
		TEST(a_core_reset_switches_its_block_off),
		TEST(a_stopped_chip_writes_nothing),
		TEST(a_loaded_queue_goes_on),
		TEST(a_damaged_stream_does_no_harm),
	};

	return cmocka_run_group_tests_name("nq_post", tests, NULL, NULL);
}
