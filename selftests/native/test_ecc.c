// SPDX-License-Identifier: MIT
/*
 * Memory errors: bad cells of HBM as queues, engines and peers meet them, their
 * counters, log and interrupt, and how they become good again.
 */
#include "job_rig.h"
#include "ring_rig.h"

#include <string.h>

#include "state_stream.h"
#include "mem/trn_ecc.h"

#define BAD		0x300040	/* in stack 1: a granule */
#define STACK		1
#define SYNC		NEURON_ENGINE_SYNC

static int setup_repair_fails(void **state)
{
	struct rig *rig;

	rig_setup(state);
	rig = *state;
	rig->chip[0]->config.repair_fails = true;
	return 0;
}

static void cell_add(struct trn_chip *chip, uint32_t stack, uint64_t offset,
		     bool correctable, bool once)
{
	const struct trn_ecc_cell cell = {
		.stack = stack,
		.offset = offset,
		.correctable = correctable,
		.once = once,
	};

	assert_int_equal(trn_ecc_add(chip, &cell), 0);
}

static uint32_t misc(struct trn_chip *chip, uint32_t offset)
{
	return (uint32_t)trn_chip_mmio_read(chip, chip->gen->misc_bar0 + offset,
					    4);
}

static uint64_t ctl(struct trn_chip *chip, uint32_t offset, unsigned int size)
{
	return trn_chip_mmio_read(chip, neuron_ctl_bar0(chip->gen) + offset, size);
}

static void ctl_wr(struct trn_chip *chip, uint32_t offset, uint32_t value)
{
	trn_chip_mmio_write(chip, neuron_ctl_bar0(chip->gen) + offset, value, 4);
}

static uint32_t counts(struct trn_chip *chip, unsigned int stack)
{
	return misc(chip, NEURON_MISC_HBM_ECC(stack));
}

/* Read @len bytes of stack 1 of chip 0 from @offset, in domain 0. */
static enum neuron_cause read_hbm(struct rig *rig, uint64_t offset, size_t len)
{
	struct trn_access access = { .chip = rig->chip[0] };
	uint8_t buf[4096];

	return trn_access_read(&access, rig_hbm_addr(rig, STACK, offset), buf,
			       len);
}

static enum neuron_cause write_hbm(struct rig *rig, uint64_t offset, size_t len)
{
	static const uint8_t zero[8192];
	struct trn_access access = { .chip = rig->chip[0] };

	return trn_access_write(&access, rig_hbm_addr(rig, STACK, offset), zero,
				len);
}

/* --- Cells --- */

static void only_real_memory_can_be_bad(void **state)
{
	struct rig *rig = *state;
	const unsigned int stacks = rig->chip[0]->gen->nr_hbm;
	struct trn_ecc_cell cell = { .stack = stacks };
	unsigned int i;

	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), -1);
	cell.stack = stacks - 1;
	cell.offset = FAKE_HBM_SIZE;
	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), -1);
	cell.offset = FAKE_HBM_SIZE - 1;
	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), 0);
	assert_int_equal(trn_ecc_cells(rig->chip[0]), 1);
	/* The same granule again is the same cell. */
	cell.offset -= 31;
	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), 0);
	assert_int_equal(trn_ecc_cells(rig->chip[0]), 1);
	for (i = 1; i < TRN_ECC_MAX; i++) {
		cell.offset = i * TRN_ECC_GRANULE;
		assert_int_equal(trn_ecc_add(rig->chip[0], &cell), 0);
	}
	cell.offset = 0x100000;
	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), -1);
	trn_ecc_clear(rig->chip[0]);
	assert_int_equal(trn_ecc_cells(rig->chip[0]), 0);
	assert_int_equal(trn_ecc_add(rig->chip[0], &cell), 0);
}

static void the_granule_is_32_bytes(void **state)
{
	struct rig *rig = *state;

	cell_add(rig->chip[0], STACK, BAD + 7, false, false);
	assert_int_equal(read_hbm(rig, BAD - 32, 32), NEURON_CAUSE_NONE);
	assert_int_equal(read_hbm(rig, BAD + 32, 1), NEURON_CAUSE_NONE);
	assert_int_equal(counts(rig->chip[0], STACK), 0);
	assert_int_equal(read_hbm(rig, BAD - 1, 2), NEURON_CAUSE_ECC);
	assert_int_equal(read_hbm(rig, BAD + 31, 1), NEURON_CAUSE_ECC);
	assert_int_equal(read_hbm(rig, BAD - 1000, 4000), NEURON_CAUSE_ECC);
	assert_int_equal(counts(rig->chip[0], STACK), 3);
	assert_int_equal(counts(rig->chip[0], 0), 0);
}

static void a_correctable_error_is_only_counted(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint8_t *hbm = (uint8_t *)chip->hbm[STACK] + BAD;
	struct trn_access access = { .chip = chip };
	uint8_t buf[64];

	rig_fill(rig, hbm, sizeof(buf));
	cell_add(chip, STACK, BAD + 32, true, false);
	assert_int_equal(trn_access_read(&access, rig_hbm_addr(rig, STACK, BAD),
					 buf, sizeof(buf)), NEURON_CAUSE_NONE);
	assert_memory_equal(buf, hbm, sizeof(buf));
	assert_int_equal(counts(chip, STACK), 0x10000);
	assert_int_equal(misc(chip, NEURON_MISC_HBM_REPAIR), 0);
	assert_true(fake_logged(&rig->port[0],
				"correctable memory error in HBM stack 1"));
}

static void once_is_once(void **state)
{
	struct rig *rig = *state;

	cell_add(rig->chip[0], STACK, BAD, false, true);
	assert_int_equal(read_hbm(rig, BAD, 4), NEURON_CAUSE_ECC);
	assert_int_equal(read_hbm(rig, BAD, 4), NEURON_CAUSE_NONE);
	assert_int_equal(trn_ecc_cells(rig->chip[0]), 0);
	assert_int_equal(counts(rig->chip[0], STACK), 1);
}

static void a_write_of_the_granule_repairs(void **state)
{
	struct rig *rig = *state;

	cell_add(rig->chip[0], STACK, BAD, false, false);
	assert_int_equal(write_hbm(rig, BAD, 31), 0);
	assert_int_equal(write_hbm(rig, BAD + 1, 32), 0);
	assert_int_equal(read_hbm(rig, BAD, 4), NEURON_CAUSE_ECC);
	assert_int_equal(write_hbm(rig, BAD - 5, 37), 0);
	assert_int_equal(trn_ecc_cells(rig->chip[0]), 0);
	assert_int_equal(read_hbm(rig, BAD, 4), NEURON_CAUSE_NONE);
	/* What happened stays counted. */
	assert_int_equal(counts(rig->chip[0], STACK), 1);
	assert_int_equal(misc(rig->chip[0], NEURON_MISC_HBM_REPAIR), 1);
}

static void a_discard_repairs(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t addr = rig_hbm_addr(rig, STACK, BAD & ~4095u);

	cell_add(chip, STACK, BAD, false, false);
	cell_add(chip, STACK, BAD + 8192, false, false);
	ctl_wr(chip, NEURON_CTL_DISCARD_ADDR, (uint32_t)addr);
	ctl_wr(chip, NEURON_CTL_DISCARD_ADDR + 4, addr >> 32);
	ctl_wr(chip, NEURON_CTL_DISCARD_LEN, 4096);
	ctl_wr(chip, NEURON_CTL_DISCARD_GO, 1);
	assert_true(fake_wait_reg(chip, neuron_ctl_bar0(chip->gen) +
				  NEURON_CTL_DISCARD_GO, ~0u, 0));
	assert_int_equal(read_hbm(rig, BAD, 4), NEURON_CAUSE_NONE);
	assert_int_equal(read_hbm(rig, BAD + 8192, 4), NEURON_CAUSE_ECC);
}

/* --- Counters, log, interrupt --- */

static void counters_saturate(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	unsigned int i;

	cell_add(chip, STACK, BAD, true, false);
	for (i = 0; i < 0x10010; i++)
		trn_ecc_check(chip, STACK, BAD, 1);
	assert_int_equal(counts(chip, STACK), 0xffff0000);
	for (i = 0; i < 0x10010; i++)
		trn_ecc_sram(chip, false);
	assert_int_equal(misc(chip, NEURON_MISC_SRAM_ECC), 0xffff);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_COUNT, 4), 0x20020);
	/* SRAM is not repaired. */
	assert_int_equal(misc(chip, NEURON_MISC_HBM_REPAIR), 0);
}

static void the_log_keeps_the_worst(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const unsigned int last = chip->gen->nr_hbm - 1;

	ctl_wr(chip, NEURON_CTL_MASK, ~NEURON_CTL_CAUSE_ECC);
	cell_add(chip, STACK, BAD, true, false);
	cell_add(chip, 0, 0x1000, true, false);
	cell_add(chip, last, 0x2000, false, false);
	cell_add(chip, last, 0x4000, false, false);
	trn_ecc_check(chip, STACK, BAD + 5, 1);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_INFO, 4),
			 NEURON_CTL_ECC_VALID |
				 NEURON_PUT(NEURON_CTL_ECC_STACK, STACK));
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) ==
		    rig_hbm_addr(rig, STACK, BAD));
	assert_true(ctl(chip, NEURON_CTL_CAUSE, 4) & NEURON_CTL_CAUSE_ECC);
	assert_true(fake_wait_irq(&rig->port[0], chip->gen->nr_cores, 1));
	/* The first of a kind stays. */
	trn_ecc_check(chip, 0, 0x1000, 1);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) ==
		    rig_hbm_addr(rig, STACK, BAD));
	trn_ecc_check(chip, last, 0x2000, 1);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_INFO, 4),
			 NEURON_CTL_ECC_VALID | NEURON_CTL_ECC_UNCORRECTABLE |
				 NEURON_PUT(NEURON_CTL_ECC_STACK, last));
	trn_ecc_check(chip, last, 0x4000, 1);
	trn_ecc_sram(chip, false);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) ==
		    rig_hbm_addr(rig, last, 0x2000));
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_COUNT, 4), 5);
	/* Only VALID clears it. */
	ctl_wr(chip, NEURON_CTL_ECC_INFO, 1);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8));
	ctl_wr(chip, NEURON_CTL_ECC_INFO, NEURON_CTL_ECC_VALID);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_INFO, 4), 0);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) == 0);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_COUNT, 4), 5);
	trn_ecc_sram(chip, true);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_INFO, 4),
			 NEURON_CTL_ECC_VALID | NEURON_CTL_ECC_SRAM);
	assert_int_equal(misc(chip, NEURON_MISC_SRAM_ECC), 0x10001);
}

/* Of two in one read the uncorrectable one is told. */
static void one_read_can_meet_several(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];

	cell_add(chip, STACK, BAD, true, false);
	cell_add(chip, STACK, BAD + 64, false, false);
	cell_add(chip, STACK, BAD + 128, true, true);
	assert_int_equal(read_hbm(rig, BAD, 256), NEURON_CAUSE_ECC);
	assert_int_equal(counts(chip, STACK), 0x20001);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) ==
		    rig_hbm_addr(rig, STACK, BAD + 64));
	assert_int_equal(trn_ecc_cells(chip), 2);
}

static void repair_can_fail(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(misc(rig->chip[0], NEURON_MISC_HBM_REPAIR), 0);
	cell_add(rig->chip[0], STACK, BAD, false, true);
	assert_int_equal(read_hbm(rig, BAD, 1), NEURON_CAUSE_ECC);
	assert_int_equal(misc(rig->chip[0], NEURON_MISC_HBM_REPAIR),
			 NEURON_MISC_REPAIR_FAILED);
}

static void a_power_on_forgets_counters(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];

	cell_add(chip, STACK, BAD, false, false);
	assert_int_equal(read_hbm(rig, BAD, 1), NEURON_CAUSE_ECC);
	/* A device reset does not. */
	trn_chip_mmio_write(chip, chip->gen->reset_bar0, ~0u, 4);
	assert_true(fake_wait_reg(chip, chip->gen->reset_bar0, ~0u, 0));
	assert_int_equal(counts(chip, STACK), 1);
	fake_chip_stop(chip);
	trn_chip_reset(chip);
	trn_chip_resume(chip);
	assert_int_equal(counts(chip, STACK), 0);
	assert_int_equal(ctl(chip, NEURON_CTL_ECC_INFO, 4), 0);
	/* The cell itself is as bad as before. */
	assert_int_equal(read_hbm(rig, BAD, 1), NEURON_CAUSE_ECC);
}

/* --- Who meets them --- */

static void a_queue_stops(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct ring_pair ring;
	uint8_t *ptr;
	uint64_t host = rig_random_host(rig, 4096, &ptr);
	uint8_t before[4096];

	memcpy(before, ptr, sizeof(before));
	ring_make(&ring, rig, 32);
	cell_add(chip, STACK, BAD, false, false);
	ring_copy(&ring, host, rig_hbm_addr(rig, STACK, BAD - 64), 4096);
	ring_doorbell(&ring, 1, 1);
	assert_true(fake_wait_reg(chip,
				  rig_dma_reg(rig, ring.engine,
					      NEURON_DMA_CAUSE),
				  NEURON_DMA_CAUSE_ERROR(ring.queue),
				  NEURON_DMA_CAUSE_ERROR(ring.queue)));
	assert_int_equal(ring_error(&ring), NEURON_CAUSE_ECC);
	assert_memory_equal(ptr, before, sizeof(before));
	assert_int_equal(counts(chip, STACK), 1);
}

/* Each way in which a piece of HBM is a source, and in which it is written. */
static void copies_meet_and_repair(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct trn_access access = { .chip = chip };
	uint64_t bad = rig_hbm_addr(rig, STACK, BAD);
	uint64_t other[3];
	unsigned int i;

	other[0] = rig_host_addr(rig, 0, rig_host(rig, 0, 4096));
	other[1] = rig_sbuf_addr(rig, 0);
	other[2] = rig_hbm_addr(rig, 0, 0x5000);
	for (i = 0; i < 3; i++) {
		cell_add(chip, STACK, BAD + 32, false, false);
		assert_int_equal(trn_access_copy(&access, other[i], bad, 128),
				 NEURON_CAUSE_ECC);
		assert_false(access.bad_dst);
		assert_true(access.bad_addr == bad);
		assert_int_equal(trn_ecc_cells(chip), 1);
		assert_int_equal(trn_access_copy(&access, bad, other[i], 128),
				 NEURON_CAUSE_NONE);
		assert_int_equal(trn_ecc_cells(chip), 0);
		assert_int_equal(trn_access_copy(&access, other[i], bad, 128),
				 NEURON_CAUSE_NONE);
	}
	assert_int_equal(counts(chip, STACK), 3);
}

static void the_owner_counts_what_peers_read(void **state)
{
	struct rig *rig = *state;
	struct trn_access access = { .chip = rig->chip[0] };
	uint64_t addr = neuron_fabric_addr(1, rig_hbm_addr(rig, STACK, BAD));
	uint64_t host = rig_host_addr(rig, 0, rig_host(rig, 0, 256));

	trn_chip_mmio_write(rig->chip[1], neuron_ctl_bar0(rig->chip[1]->gen) +
			    NEURON_CTL_MASK, ~NEURON_CTL_CAUSE_ECC, 4);
	cell_add(rig->chip[1], STACK, BAD, false, false);
	assert_int_equal(trn_access_copy(&access, host, addr, 64),
			 NEURON_CAUSE_ECC);
	assert_int_equal(counts(rig->chip[0], STACK), 0);
	assert_int_equal(counts(rig->chip[1], STACK), 1);
	assert_true(fake_wait_irq(&rig->port[1], rig->chip[1]->gen->nr_cores,
				  1));
	assert_int_equal(fake_irqs(&rig->port[0], rig->chip[0]->gen->nr_cores),
			 0);
	assert_int_equal(trn_access_copy(&access, addr, host, 64),
			 NEURON_CAUSE_NONE);
	assert_int_equal(trn_ecc_cells(rig->chip[1]), 0);
}

/* A job ends with the error; the record says where. */
static void a_job_fails(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	uint64_t data;

	job_init(&job, rig, 0, 1);
	job_copy(&job, 0, job_host_at(0), job_hbm_at(0x100), 4096);
	job_trigger(&job, SYNC, 0, 1, 1);
	job_halt(&job, SYNC);
	data = (uint64_t)(job.hbm - (uint8_t *)rig->chip[0]->hbm[0]) +
	       JOB_AT_DATA + 0x100;
	cell_add(rig->chip[0], 0, data + 2048, false, true);
	job_run_fault(&job, NEURON_CAUSE_ECC);
	assert_true(job.completion->addr == job_hbm_at(0x100));
	assert_int_equal(counts(rig->chip[0], 0), 1);
}

static void instructions_can_be_bad(void **state)
{
	struct rig *rig = *state;
	struct job_rig job;
	uint64_t code;

	job_init(&job, rig, 0, 1);
	job_inst(&job, SYNC, NEURON_OP_NOP);
	job_halt(&job, SYNC);
	code = (uint64_t)(job.hbm - (uint8_t *)rig->chip[0]->hbm[0]) +
	       JOB_AT_PROGRAM(SYNC) + NEURON_INST_SIZE;
	cell_add(rig->chip[0], 0, code, false, true);
	job_run_fault(&job, NEURON_CAUSE_ECC);
	assert_int_equal(job.completion->source, SYNC);
	assert_int_equal(job.completion->pc, 1);
}

/* --- Saving --- */

static void errors_are_saved(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct state_stream stream = { 0 };
	struct trn_state st;
	uint64_t addr;

	cell_add(chip, STACK, BAD, false, false);
	cell_add(chip, 0, BAD, true, true);
	assert_int_equal(read_hbm(rig, BAD, 1), NEURON_CAUSE_ECC);
	addr = ctl(chip, NEURON_CTL_ECC_ADDR, 8);
	st = state_stream_save(&stream);
	trn_ecc_state(chip, &st);
	assert_null(st.why);

	trn_ecc_clear(chip);
	trn_ecc_reset(chip);
	assert_int_equal(counts(chip, STACK), 0);
	st = state_stream_load(&stream);
	trn_ecc_state(chip, &st);
	assert_null(st.why);
	assert_int_equal(stream.at, stream.len);
	assert_int_equal(trn_ecc_cells(chip), 2);
	assert_int_equal(counts(chip, STACK), 1);
	assert_true(ctl(chip, NEURON_CTL_ECC_ADDR, 8) == addr);
	assert_int_equal(read_hbm(rig, BAD, 1), NEURON_CAUSE_ECC);
	/* The number of cells is the word behind the block's name. */
	stream.data[8] = TRN_ECC_MAX + 1;
	st = state_stream_load(&stream);
	trn_ecc_state(chip, &st);
	assert_non_null(st.why);
	assert_int_equal(trn_ecc_cells(chip), 0);
	/* A cell in a stack that there is not. */
	stream.data[8] = 2;
	stream.data[12] = 9;
	st = state_stream_load(&stream);
	trn_ecc_state(chip, &st);
	assert_non_null(st.why);
	assert_int_equal(trn_ecc_cells(chip), 0);
}

#define RIG(test)	cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(only_real_memory_can_be_bad),
		RIG(the_granule_is_32_bytes),
		RIG(a_correctable_error_is_only_counted),
		RIG(once_is_once),
		RIG(a_write_of_the_granule_repairs),
		RIG(a_discard_repairs),
		RIG(counters_saturate),
		RIG(the_log_keeps_the_worst),
		RIG(one_read_can_meet_several),
		cmocka_unit_test_setup_teardown(repair_can_fail,
						setup_repair_fails, rig_teardown),
		RIG(a_power_on_forgets_counters),
		RIG(a_queue_stops),
		RIG(copies_meet_and_repair),
		RIG(the_owner_counts_what_peers_read),
		RIG(a_job_fails),
		RIG(instructions_can_be_bad),
		RIG(errors_are_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
