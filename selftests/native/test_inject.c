// SPDX-License-Identifier: MIT
/*
 * Faults on demand: when rules strike, and what each does to jobs and queues that meet it, and to
 * those that do not. test_inject_text.c has their text.
 */
#include "job_rig.h"
#include "ring_rig.h"

#include <stdio.h>
#include <string.h>

#include "state_stream.h"
#include "fault/trn_inject_text.h"
#include "time/trn_power.h"
#include "soc/trn_reset.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR

static int setup_timer(void **state)
{
	struct rig *rig;
	unsigned int c;

	rig_setup(state);
	rig = *state;
	for (c = 0; c < RIG_CHIPS; c++)
		fake_timer_enable(&rig->port[c]);
	return 0;
}

static void order(struct rig *rig, const char *text)
{
	char why[TRN_FAULT_WHY] = "";

	if (trn_fault_order(rig->chip[0], text, why))
		fail_msg("%s: %s", text, why);
}

static struct trn_inject_status status_of(struct rig *rig, unsigned int n)
{
	struct trn_inject_status status;

	assert_true(trn_inject_status(rig->chip[0], n, &status));
	return status;
}

static bool hit(struct rig *rig, uint32_t unit)
{
	return trn_inject(rig->chip[0], TRN_INJECT_DMA_LOST, unit, NULL);
}

static void orders_do_and_undo(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct trn_inject_status status;
	char why[TRN_FAULT_WHY];

	order(rig, "throttle,percent=40");
	assert_int_equal(trn_power_clock(chip), 40);
	assert_int_equal(trn_power_reason(chip), NEURON_THROTTLE_THERMAL);
	order(rig, "throttle,reason=power,percent=40");
	assert_int_equal(trn_power_reason(chip), NEURON_THROTTLE_POWER);
	order(rig, "ecc,stack=1,offset=0x1000");
	assert_int_equal(trn_ecc_cells(chip), 1);
	order(rig, "ecc,sram,kind=correctable");
	assert_int_equal(trn_ecc_ctl_count(chip), 1);
	order(rig, "dma-dup,count=1");
	order(rig, "dma-lost");
	order(rig, "clear,fault=dma-dup");
	assert_int_equal(status_of(rig, 0).rule.point, TRN_INJECT_DMA_LOST);
	order(rig, "clear,fault=ecc");
	assert_int_equal(trn_ecc_cells(chip), 0);
	assert_int_equal(trn_power_clock(chip), 40);
	order(rig, "clear");
	assert_int_equal(trn_power_clock(chip), 100);
	assert_false(trn_inject_status(chip, 0, &status));
	/* Beyond what is populated. */
	assert_int_equal(trn_fault_order(chip, "ecc,offset=64M", why), -1);
	assert_non_null(strstr(why, "populated"));
}

static void there_is_room_for_so_many_rules(void **state)
{
	struct rig *rig = *state;
	char why[TRN_FAULT_WHY];
	unsigned int i;

	for (i = 0; i < TRN_INJECT_RULES; i++)
		order(rig, "dma-lost,queue=9:9");
	assert_int_equal(trn_fault_order(rig->chip[0], "dma-lost", why), -1);
	assert_non_null(strstr(why, "all the rules"));
	order(rig, "clear,fault=dma-lost");
	order(rig, "dma-lost");
}

/* --- When rules strike --- */

static void skip_and_count_are_counted_where_it_applies(void **state)
{
	struct rig *rig = *state;
	unsigned int i, struck = 0;

	order(rig, "dma-lost,queue=2:3,skip=10,count=4");
	for (i = 0; i < 100; i++) {
		assert_false(hit(rig, 7));
		if (!hit(rig, 2 * 16 + 3))
			continue;
		assert_in_range(i, 10, 13);
		struck++;
	}
	assert_int_equal(struck, 4);
	assert_int_equal(status_of(rig, 0).opportunities, 100);
	assert_int_equal(status_of(rig, 0).strikes, 4);
	/* Another point is none of its opportunities. */
	assert_false(trn_inject(rig->chip[0], TRN_INJECT_DMA_DUP, 2 * 16 + 3,
				NULL));
	assert_int_equal(status_of(rig, 0).opportunities, 100);
}

static void rules_are_read_as_orders(void **state)
{
	struct rig *rig = *state;
	struct trn_fault_status status;

	order(rig, "dma-lost,queue=2:3,skip=1");
	order(rig, "reg-stuck,offset=0x1000,value=5");
	assert_false(hit(rig, 2 * 16 + 3));
	assert_true(hit(rig, 2 * 16 + 3));
	assert_true(trn_fault_read(rig->chip[0], 0, &status));
	assert_string_equal(status.text, "dma-lost,queue=2:3,skip=1");
	assert_int_equal(status.opportunities, 2);
	assert_int_equal(status.strikes, 1);
	assert_true(trn_fault_read(rig->chip[0], 1, &status));
	assert_non_null(strstr(status.text, "reg-stuck,"));
	/* What is told is an order that makes the same rule. */
	order(rig, "clear");
	order(rig, status.text);
	assert_int_equal(status_of(rig, 0).rule.point, TRN_INJECT_REG_STUCK);
	assert_int_equal(status_of(rig, 0).rule.value, 5);
	assert_false(trn_fault_read(rig->chip[0], 1, &status));
}

#define DRAWS	4096

static void draw(struct rig *rig, bool *struck)
{
	unsigned int i;

	order(rig, "dma-lost,chance=250000");
	for (i = 0; i < DRAWS; i++)
		struck[i] = hit(rig, i % 7);
}

static void chance_is_the_same_on_every_run(void **state)
{
	static bool first[DRAWS], second[DRAWS], other[DRAWS];
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t strikes;

	draw(rig, first);
	strikes = status_of(rig, 0).strikes;
	assert_in_range(strikes, DRAWS / 5, DRAWS * 3 / 10);
	/* Another rule of the same chip draws other numbers. */
	trn_inject_clear(chip, TRN_INJECT_POINTS);
	draw(rig, other);
	assert_memory_not_equal(first, other, sizeof(first));

	trn_inject_free(chip->inject);
	chip->inject = trn_inject_new(0);
	draw(rig, second);
	assert_memory_equal(first, second, sizeof(first));
	trn_inject_free(chip->inject);
	chip->inject = trn_inject_new(1);
	draw(rig, second);
	assert_memory_not_equal(first, second, sizeof(first));
}

/* Which of 64 opportunities a chip with @seed takes, one bit each. */
static uint64_t strikes_of(uint64_t seed)
{
	struct trn_pool *pool = trn_pool_new(TRN_POOL_STEPPED, NULL, NULL);
	struct trn_chip_config config;
	char why[TRN_FAULT_WHY];
	const char *reason = NULL;
	struct fake_port port;
	struct trn_chip *chip;
	uint64_t struck = 0;
	unsigned int i;

	fake_port_init(&port, NEURON_MIB(1));
	config = fake_chip_config(&port, fake_gen(), pool, NULL, 0);
	config.fault_seed = seed;
	chip = trn_chip_new(&config, &reason);
	if (!chip)
		fail_msg("no chip: %s", reason);
	assert_int_equal(trn_fault_order(chip, "dma-lost,chance=500000", why), 0);
	for (i = 0; i < 64; i++)
		struck |= (uint64_t)trn_inject(chip, TRN_INJECT_DMA_LOST, 0, NULL) << i;
	fake_chip_free(chip);
	trn_pool_free(pool);
	fake_port_destroy(&port);
	return struck;
}

static void the_seed_is_the_hosts(void **state)
{
	const uint64_t zero = strikes_of(0), one = strikes_of(1);

	(void)state;
	assert_true(zero && one && zero != one);
	assert_true(strikes_of(1) == one);
	/* All 64 bits of it count. */
	assert_true(strikes_of(1ull << 63 | 1) != one);
}

static void rules_are_saved(void **state)
{
	struct rig *rig = *state;
	struct state_stream stream = { .len = 0 };
	struct trn_state st = state_stream_save(&stream);
	struct trn_inject_status status;
	unsigned int i, n = 0;

	order(rig, "dma-lost,chance=500000,skip=2,count=8");
	for (i = 0; i < 5; i++)
		hit(rig, 0);
	order(rig, "reg-stuck,offset=0x1000,value=5");
	trn_inject_state(rig->chip[0], &st);
	assert_null(st.why);
	st = state_stream_load(&stream);
	trn_inject_state(rig->chip[1], &st);
	assert_null(st.why);
	for (i = 0; i < 50; i++) {
		bool here = hit(rig, 0);

		assert_int_equal(trn_inject(rig->chip[1], TRN_INJECT_DMA_LOST,
					    0, NULL), here);
		n += here;
	}
	assert_int_not_equal(n, 0);
	assert_true(trn_inject_status(rig->chip[1], 0, &status));
	assert_memory_equal(&status.strikes, &(uint64_t){ 8 }, 8);
	assert_true(trn_inject_status(rig->chip[1], 1, &status));
	assert_int_equal(status.rule.value, 5);
	trn_inject_clear(rig->chip[1], TRN_INJECT_POINTS);
}

/* --- Queues --- */

static uint32_t head(const struct ring_pair *ring)
{
	return ring_read(ring, false, NEURON_UDMA_Q_HEAD) & NEURON_UDMA_Q_PTR;
}

static uint8_t *hbm(struct rig *rig, uint64_t offset)
{
	return rig->chip[0]->hbm[0] + offset;
}

static void a_late_packet_has_moved_and_does_not_show(void **state)
{
	struct rig *rig = *state;
	struct fake_port *port = &rig->port[0];
	struct ring_pair ring;
	uint8_t *bytes, none[64] = { 0 };
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1000s,skip=1,count=1");
	ring_copy(&ring, 0x1000, src, 64);
	ring_copy(&ring, 0x2000, src, 64);
	ring_copy(&ring, 0x3000, src, 64);
	ring_doorbell(&ring, 3, 3);
	assert_true(fake_wait_timer(port, 0));
	ring_wait_quiet(&ring);
	assert_int_equal(head(&ring), 1);
	assert_memory_equal(hbm(rig, 0x2000), bytes, 64);
	/* The queue keeps its order. */
	assert_memory_equal(hbm(rig, 0x3000), none, 64);
	/* Too early. */
	trn_chip_expire(rig->chip[0]);
	ring_wait_quiet(&ring);
	assert_int_equal(head(&ring), 1);

	/* Nothing is late on a chip that stops. */
	fake_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	ring_wait(&ring);
	assert_memory_equal(hbm(rig, 0x3000), bytes, 64);
	assert_int_equal(status_of(rig, 0).strikes, 1);
}

static void a_late_packet_shows_in_time(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1ms,count=1");
	ring_copy(&ring, 0x1000, src, 64);
	ring_copy(&ring, 0x2000, src, 64);
	ring_doorbell(&ring, 2, 2);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	fake_timer_ring(&rig->port[0], rig->chip[0]);
	ring_wait(&ring);
	assert_memory_equal(hbm(rig, 0x2000), bytes, 64);
	assert_int_equal(status_of(rig, 0).strikes, 1);
}

static void a_stopped_chip_has_nothing_late(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1000s");
	ring_copy(&ring, 0x1000, src, 64);
	ring_copy(&ring, 0x2000, src, 64);
	ring_doorbell(&ring, 2, 2);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	fake_chip_stop(rig->chip[0]);
	assert_int_equal(head(&ring), 1);
	/* The second one is late as well, and then there is no such rule. */
	trn_chip_resume(rig->chip[0]);
	assert_true(fake_wait_timer(&rig->port[0], 1));
	fake_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	ring_wait(&ring);
}

static bool reset_done(void *arg)
{
	return !trn_reset_busy(arg);
}

static void a_device_reset_does_not_wait_for_what_is_late(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1000s,count=1");
	ring_copy(&ring, 0x1000, src, 64);
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	trn_reset_request(rig->chip[0]);
	assert_true(fake_wait(reset_done, rig->chip[0]));
	assert_memory_equal(hbm(rig, 0x1000), bytes, 64);
	ring_recover(&ring);
	/* Rules outlive it. */
	assert_int_equal(status_of(rig, 0).strikes, 1);
}

static void a_queue_s_reset_ends_what_is_late(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1000s,count=1");
	ring_copy(&ring, 0x1000, src, 64);
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	ring_recover(&ring);
}

static void nothing_is_late_without_a_timer(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	order(rig, "dma-late,delay=1000s");
	ring_copy(&ring, 0x1000, src, 64);
	ring_run(&ring, 1, 1);
	assert_int_equal(status_of(rig, 0).strikes, 1);
}

/* A job that copies and halts. */
static void make_copy_job(struct job_rig *job, struct rig *rig, unsigned int core)
{
	job_init(job, rig, 0, core);
	memset(job_host_ptr(job), 0x5a, 256);
	job_copy(job, 0, job_hbm_at(0), job_host_at(0), 256);
	job_trigger(job, SYNC, 0, 1, 1);
	job_halt(job, SYNC);
}

static void a_job_waits_for_what_is_late(void **state)
{
	struct rig *rig = *state;
	struct job_rig job, neighbour;

	make_copy_job(&job, rig, 0);
	make_copy_job(&neighbour, rig, 1);
	job.block->job_id = 7;
	order(rig, "dma-late,delay=20ms,count=1");
	job_submit(&job);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	job_run(&neighbour);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	fake_timer_ring(&rig->port[0], rig->chip[0]);
	job_wait(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	job_run(&job);
}

static void wait_reset(struct job_rig *job)
{
	assert_true(job_wait_reg(job, NEURON_CORE_RESET, 0));
	assert_true(job_wait_reg(job, NEURON_CORE_STATUS, NEURON_CORE_IDLE));
	job_end_cause(job, NEURON_CORE_CAUSE_RESET);
}

static void reset(struct job_rig *job)
{
	job_reg_write(job, NEURON_CORE_RESET, 1);
	wait_reset(job);
}

static void a_core_reset_does_not_wait_for_what_is_late(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_copy_job(&job, rig, 0);
	order(rig, "dma-late,delay=1000s,count=1");
	job_submit(&job);
	assert_true(fake_wait_timer(&rig->port[0], 0));
	reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	job_run(&job);
}

static bool has_struck(void *arg)
{
	return status_of(arg, 0).strikes == 1;
}

static bool queue_at_rest(void *arg)
{
	struct rig *rig = arg;

	return trn_task_quiet(&trn_udma_queue_at(rig->chip[0], 0, 0)->task);
}

static void a_lost_completion_hangs_its_job_only(void **state)
{
	struct rig *rig = *state;
	struct job_rig job, neighbour;

	make_copy_job(&job, rig, 0);
	make_copy_job(&neighbour, rig, 1);
	order(rig, "dma-lost,queue=0:0,count=1");
	job_submit(&job);
	assert_true(fake_wait(has_struck, rig));
	job_run(&neighbour);
	assert_true(fake_wait(queue_at_rest, rig));
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	assert_memory_equal(job.hbm + JOB_AT_DATA, job_host_ptr(&job), 256);
	reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	job_run(&job);
}

/* --- Engines, doorbells, resets --- */

static bool engine_hung(void *arg)
{
	return fake_logged(arg, "hangs on demand");
}

static void make_nops(struct job_rig *job, struct rig *rig, unsigned int core)
{
	unsigned int i;

	job_init(job, rig, 0, core);
	for (i = 0; i < 8; i++)
		job_inst(job, VECTOR, NEURON_OP_NOP);
	job_halt(job, VECTOR);
}

static void a_hung_engine_stays_until_the_rule_goes(void **state)
{
	struct rig *rig = *state;
	struct job_rig job, neighbour;

	make_nops(&job, rig, 0);
	make_nops(&neighbour, rig, 1);
	order(rig, "engine-hang,core=0,engine=vector,skip=3,count=1");
	job_submit(&job);
	assert_true(fake_wait(engine_hung, &rig->port[0]));
	job_run(&neighbour);
	assert_int_equal(atomic_load(&job.core->seq[VECTOR].pc), 3);
	/* Being kicked does not help, nor does a stop. */
	fake_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	job_run(&neighbour);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RUNNING);
	order(rig, "clear,fault=engine-hang");
	job_wait(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_OK);
	assert_int_equal(job.completion->instructions, 9);
}

static void a_core_reset_ends_a_hang(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_nops(&job, rig, 0);
	order(rig, "engine-hang,core=0,engine=vector,skip=3,count=1");
	job_submit(&job);
	assert_true(fake_wait(engine_hung, &rig->port[0]));
	reset(&job);
	assert_int_equal(job.completion->status, NEURON_JOB_ABORTED);
	job_run(&job);
}

static void a_lost_doorbell_starts_nothing(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	struct job_rig job;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	make_nops(&job, rig, 2);
	order(rig, "doorbell-lost,core=2,count=1");
	job_submit(&job);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_IDLE);
	job_run(&job);

	ring_make(&ring, rig, 32);
	order(rig, "doorbell-lost,count=2");
	ring_copy(&ring, 0x1000, src, 64);
	ring_doorbell(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(head(&ring), 0);
	ring_run(&ring, 1, 1);
}

static void a_reset_that_fails_ends_with_the_next_one(void **state)
{
	struct rig *rig = *state;
	struct job_rig job, neighbour;

	make_nops(&job, rig, 0);
	make_nops(&neighbour, rig, 1);
	order(rig, "reset-fail,core=0,count=1");
	job_reg_write(&job, NEURON_CORE_RESET, 1);
	reset(&neighbour);
	job_run(&neighbour);
	assert_int_equal(job_reg(&job, NEURON_CORE_STATUS), NEURON_CORE_RESETTING);
	assert_int_equal(job_reg(&job, NEURON_CORE_CAUSE), 0);
	job_submit(&job);
	job_assert_refused(&job);
	reset(&job);
	job_run(&job);
}

/* --- Registers, interrupts, host memory --- */

static uint64_t read_at(struct rig *rig, uint32_t offset, unsigned int size)
{
	return trn_chip_mmio_read(rig->chip[0], offset, size);
}

static void registers_lie(void **state)
{
	struct rig *rig = *state;
	uint32_t ctl = neuron_ctl_bar0(rig->chip[0]->gen);
	uint32_t reg = ctl + NEURON_CTL_DISCARD_ADDR;
	const uint64_t honest = 0x123456000;
	char text[TRN_FAULT_TEXT];

	trn_chip_mmio_write(rig->chip[0], reg, honest, 8);
	snprintf(text, sizeof(text), "reg-stuck,offset=%#x,value=0xdead,count=2",
		 reg + 4);
	order(rig, text);
	assert_int_equal(read_at(rig, reg, 8), (0xdeadull << 32) | (uint32_t)honest);
	assert_int_equal(read_at(rig, reg, 4), (uint32_t)honest);
	assert_int_equal(read_at(rig, reg + 4, 4), 0xdead);
	assert_int_equal(read_at(rig, reg, 8), honest);

	snprintf(text, sizeof(text), "reg-flip,offset=%#x,mask=0x11", reg);
	order(rig, text);
	assert_int_equal(read_at(rig, reg, 8), honest ^ 0x11);
	order(rig, "clear");
	assert_int_equal(read_at(rig, reg, 8), honest);
}

static void a_lost_interrupt_leaves_its_cause(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_nops(&job, rig, 1);
	order(rig, "irq-lost,vector=1,count=1");
	job_submit(&job);
	assert_true(job_wait_reg(&job, NEURON_CORE_CAUSE, NEURON_CORE_CAUSE_DONE));
	assert_int_equal(fake_irqs(&rig->port[0], 1), 0);
	job_reg_write(&job, NEURON_CORE_CAUSE, NEURON_CORE_CAUSE_DONE);
	job_run(&job);
}

static void a_storm_is_a_burst_without_a_timer(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_nops(&job, rig, 1);
	order(rig, "irq-storm,vector=1,times=50,count=1");
	job_run(&job);
	assert_true(fake_wait_irq(&rig->port[0], 1, 51));
	job_run(&job);
	assert_int_equal(fake_irqs(&rig->port[0], 1), 52);
}

static void a_storm_goes_by_the_timer_and_can_be_ended(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	unsigned int i, irqs;

	make_nops(&job, rig, 1);
	order(rig, "irq-storm,vector=1,times=4000000,count=1");
	job_run(&job);
	/* A ring that comes a little early only sets the timer again. */
	for (i = 0; fake_irqs(&rig->port[0], 1) < 10; i++) {
		assert_true(fake_wait_timer(&rig->port[0], i));
		fake_timer_ring(&rig->port[0], rig->chip[0]);
	}
	assert_true(fake_wait_timer(&rig->port[0], i));
	order(rig, "clear");
	fake_timer_ring(&rig->port[0], rig->chip[0]);
	fake_chip_stop(rig->chip[0]);
	irqs = fake_irqs(&rig->port[0], 1);
	trn_chip_resume(rig->chip[0]);
	job_run(&job);
	assert_int_equal(fake_irqs(&rig->port[0], 1), irqs + 1);
}

static void host_memory_may_refuse(void **state)
{
	struct rig *rig = *state;
	struct job_rig job, neighbour;
	char text[TRN_FAULT_TEXT];
	uint64_t reads;

	make_copy_job(&job, rig, 0);
	make_copy_job(&neighbour, rig, 1);
	/* The block and its tables are read first; the copy reads last. */
	order(rig, "host-read-fail,skip=1000000");
	job_run(&neighbour);
	reads = status_of(rig, 0).opportunities;
	order(rig, "clear");
	snprintf(text, sizeof(text), "host-read-fail,skip=%u,count=1",
		 (unsigned int)reads - 1);
	order(rig, text);
	job_run_fault(&job, NEURON_CAUSE_HOST);
	job_run(&neighbour);
	job_run(&job);
}

static void a_record_may_be_refused(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;

	make_nops(&job, rig, 0);
	order(rig, "host-write-fail,count=1");
	job_submit(&job);
	job_assert_refused(&job);
	job_run(&job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define TIMED(name) \
	cmocka_unit_test_setup_teardown(name, setup_timer, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(orders_do_and_undo),
		TEST(there_is_room_for_so_many_rules),
		TEST(skip_and_count_are_counted_where_it_applies),
		TEST(rules_are_read_as_orders),
		TEST(chance_is_the_same_on_every_run),
		cmocka_unit_test(the_seed_is_the_hosts),
		TEST(rules_are_saved),
		TIMED(a_late_packet_has_moved_and_does_not_show),
		TIMED(a_late_packet_shows_in_time),
		TIMED(a_stopped_chip_has_nothing_late),
		TIMED(a_device_reset_does_not_wait_for_what_is_late),
		TIMED(a_queue_s_reset_ends_what_is_late),
		TEST(nothing_is_late_without_a_timer),
		TIMED(a_job_waits_for_what_is_late),
		TIMED(a_core_reset_does_not_wait_for_what_is_late),
		TEST(a_lost_completion_hangs_its_job_only),
		TEST(a_hung_engine_stays_until_the_rule_goes),
		TEST(a_core_reset_ends_a_hang),
		TEST(a_lost_doorbell_starts_nothing),
		TEST(a_reset_that_fails_ends_with_the_next_one),
		TEST(registers_lie),
		TEST(a_lost_interrupt_leaves_its_cause),
		TEST(a_storm_is_a_burst_without_a_timer),
		TIMED(a_storm_goes_by_the_timer_and_can_be_ended),
		TEST(host_memory_may_refuse),
		TEST(a_record_may_be_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
