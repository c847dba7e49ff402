// SPDX-License-Identifier: MIT
/*
 * Checks on request: reads of what nobody has written, products that leave their
 * bank, tiles that leave their partition; where they are reported, and how often.
 */
#include "check_rig.h"
#include "state_rig.h"
#include "trn/inspect.h"

#include <stdlib.h>
#include <string.h>

/* --- bytes that nobody has written --- */

static void test_tile(void **state)
{
	const struct neuron_ap src = ap_sbuf(32, 2, 0x100, F32, 16);
	const struct neuron_ap dst = ap_sbuf(32, 2, 0x400, F32, 16);
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_sbuf(32, 2, 0x100, F32, 15)), 10);
	check_add(&t, VECTOR, OP(COPY, .dst = dst, .src0 = src), 11);
	check_add(&t, VECTOR, OP(COPY, .dst = dst, .src0 = src), 12);
	check_add(&t, VECTOR, OP(HALT), 13);
	seq_expect_ok(&t.job);
	/* The bytes are written for the second copy: one mistake, one line. */
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	assert_int_equal(trn_chip_check_reports(t.rig.chip[0]), 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "vector engine at instruction 1 (line 11)",
		    "SBUF of core 1 partition 32 offset 0x13c");
	check_end(&t);
}

/* Strided elements leave the bytes between them alone. */
static void test_strided(void **state)
{
	struct neuron_ap odd = ap_dim(ap_sbuf(0, 1, 2, BF16, 8), 0, 8, 2);
	struct neuron_ap even = ap_dim(ap_sbuf(0, 1, 0, BF16, 8), 0, 8, 2);
	struct neuron_ap to = ap_sbuf(0, 1, 0x200, BF16, 8);
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	check_add(&t, VECTOR, OP(MEMSET, .dst = odd), 1);
	check_add(&t, VECTOR, OP(COPY, .dst = to, .src0 = odd), 2);
	check_add(&t, VECTOR, OP(COPY, .dst = to, .src0 = even), 3);
	check_add(&t, VECTOR, OP(HALT), 4);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "vector engine at instruction 2 (line 3)",
		    "SBUF of core 1 partition 0 offset 0x0");
	check_end(&t);
}

/* fp32 elements of two groups at 0x100, uint16 at 0x400 that say which: all say 0. */
static struct neuron_ap with_index(unsigned int n)
{
	struct neuron_ap ap = ap_sbuf(0, 32, 0x100, F32, n);

	ap.step[0] = 0x400;
	ap.index = NEURON_AP_INDEX;
	return ap;
}

/* The elements that are named are read, and what names them: 18 of the numbers. */
static void test_index(void **state)
{
	struct neuron_ap numbers = ap_sbuf(0, 32, 0x400, NEURON_DTYPE_UINT16, 1);
	struct check_test t;

	(void)state;
	check_begin_gen(&t, &neuron_gen_trn3, 2);
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 32, 0x100, F32, 1)), 1);
	check_add(&t, VECTOR, OP(MEMSET, .dst = numbers), 2);
	check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, 0x200, F32, 16),
				 .src0 = with_index(16)), 3);
	check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, 0x200, F32, 18),
				 .src0 = with_index(18)), 4);
	check_add(&t, VECTOR, OP(COPY, .dst = with_index(16),
				 .src0 = ap_sbuf(0, 32, 0x200, F32, 16)), 5);
	check_add(&t, VECTOR, OP(HALT), 6);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "vector engine at instruction 3 (line 4)",
			  "SBUF of core 1 partition 0 offset 0x402");
	check_end(&t);
}

/* A range of SBUF across lines: gaps of 4 bytes, and a second look finds nothing. */
static void test_look_for_unwritten(void **state)
{
	struct trn_unwritten found;
	struct check_test t;
	struct trn_chip *chip;
	uint64_t sbuf;

	(void)state;
	check_begin(&t, 2);
	chip = t.rig.chip[0];
	sbuf = chip->gen->tpb_addr[CORE] + NEURON_TPB_SBUF;
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0x20, F32, 16)), 1);
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0x64, F32, 2)), 2);
	check_add(&t, VECTOR, OP(HALT), 3);
	seq_expect_ok(&t.job);
	trn_inspect_unwritten(chip, sbuf + 0x20, 64, &found);
	assert_int_equal(found.count, 0);
	trn_inspect_unwritten(chip, sbuf + 0x20, 80, &found);
	assert_int_equal(found.count, 8);
	assert_int_equal(found.first, 64);
	assert_int_equal(found.end, 68);
	trn_inspect_unwritten(chip, sbuf + 0x20, 80, &found);
	assert_int_equal(found.count, 0);
	check_end(&t);
}

static void test_index_of_nothing(void **state)
{
	struct check_test t;

	(void)state;
	check_begin_gen(&t, &neuron_gen_trn3, 2);
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 32, 0x400, NEURON_DTYPE_UINT16, 1)), 1);
	check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, 0x200, F32, 16),
				 .src0 = with_index(16)), 2);
	check_add(&t, VECTOR, OP(HALT), 3);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "vector engine at instruction 1 (line 2)",
			  "SBUF of core 1 partition 0 offset 0x100");
	check_end(&t);
}

static void load_one(struct check_test *t)
{
	check_add(t, TENSOR, OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 32, 0, BF16, 32)), 20);
}

static void matmul(struct check_test *t, uint32_t offset, unsigned int n,
		   unsigned int flags, uint32_t line)
{
	check_add(t, TENSOR, OP(MATMUL, .dst = ap_psum(0, 32, offset, F32, n),
				.src0 = ap_sbuf(0, 32, 0x1000, BF16, n),
			  .flags = (uint8_t)flags), line);
}

static void write_operands(struct check_test *t, unsigned int n)
{
	check_add(t, GPSIMD, OP(MEMSET, .dst = ap_sbuf(0, 32, 0, BF16, 32)), 1);
	check_add(t, GPSIMD, post_add(OP(MEMSET, .dst = ap_sbuf(0, 32, 0x1000, BF16, n)),
				      1, 1), 2);
	check_add(t, GPSIMD, OP(HALT), 3);
	check_add(t, TENSOR, wait_ge(OP(NOP), 1, 1), 19);
}

/* An accumulating product reads its destination. */
static void test_accumulate(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	write_operands(&t, 64);
	load_one(&t);
	matmul(&t, 0, 64, 0, 21);
	matmul(&t, 0, 64, NEURON_INST_ACCUMULATE, 22);
	matmul(&t, 0x200, 64, NEURON_INST_ACCUMULATE, 23);
	check_add(&t, TENSOR, OP(HALT), 24);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "tensor engine at instruction 4 (line 23)",
		    "PSUM of core 1 partition 0 offset 0x200");
	check_end(&t);
}

/* Of a product that adds in a part of its destination, the rest need not have been written. */
static void test_accumulate_partly(void **state)
{
	const struct neuron_written half = { .lines = 32, .count = 32 };
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	write_operands(&t, 64);
	load_one(&t);
	matmul(&t, 0, 32, 0, 21);
	check_add(&t, TENSOR, OP(MATMUL, .dst = ap_psum(0, 32, 0, F32, 64),
				 .src0 = ap_sbuf(0, 32, 0x1000, BF16, 64),
				 .mode = htole16(NEURON_INST_WRITTEN >> 8),
				 .addr = htole64(neuron_written_put(half))), 22);
	check_add(&t, TENSOR, OP(HALT), 23);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 0);
	check_end(&t);
}

/* Queues: from HBM that the host wrote unseen, and from memory that nobody did. */
static void test_queue(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	memset(seq_data(&t.rig, 0, CORE), 1, 512);
	seq_copy(&t.job, 0, SBUF(0, 0), DATA(0), 1024);
	seq_copy(&t.job, 0, SBUF(0, 0x800), DATA(0x8000), 64);
	seq_copy(&t.job, 0, DATA(0x9000), SBUF(0, 0x400), 64);
	seq_copy(&t.job, 0, SBUF(0, 0x900), DATA(0x9000), 64);
	check_add(&t, SYNC, OP(DMA_TRIGGER, .imm0 = 4, .imm1 = 4), 1);
	check_add(&t, SYNC, OP(HALT), 2);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 2);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "DMA engine 16 queue 0 at descriptor 1",
		    "HBM 0 offset 0x608000");
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "DMA engine 16 queue 0 at descriptor 2",
		    "SBUF of core 1 partition 0 offset 0x400");
	check_end(&t);
}

static void test_memory_word(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	check_add(&t, SYNC, OP(REG_STORE, .addr = SBUF(0, 0x40), .reg = { 1 }), 1);
	check_add(&t, SYNC, OP(REG_LOAD, .addr = SBUF(0, 0x40), .reg = { 1 }), 2);
	check_add(&t, SYNC, OP(REG_LOAD, .addr = SBUF(0, 0x44), .reg = { 1 }), 3);
	check_add(&t, SYNC, OP(HALT), 4);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	check_expect_line(&t, TRN_CHECK_UNWRITTEN,
			  "sync engine at instruction 2 (line 3)",
		    "SBUF of core 1 partition 0 offset 0x44");
	check_end(&t);
}

static void core_reset(struct check_test *t)
{
	struct trn_chip *chip = t->rig.chip[0];
	uint64_t control = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(CORE);

	trn_chip_mmio_write(chip, control + NEURON_CORE_RESET, 1, 4);
	assert_true(fake_wait_irq(&t->rig.port[0], CORE,
				  ++t->rig.done[0][CORE]));
	trn_chip_mmio_write(chip, control + NEURON_CORE_CAUSE, 0xffffffff, 4);
}

static void write_word(struct check_test *t)
{
	check_add(t, SYNC, OP(REG_STORE, .addr = SBUF(0, 0), .reg = { 1 }), 1);
	check_add(t, SYNC, OP(HALT), 2);
	seq_expect_ok(&t->job);
	check_next_job(t);
}

static void read_word(struct check_test *t)
{
	check_add(t, SYNC, OP(REG_LOAD, .addr = SBUF(0, 0), .reg = { 1 }), 1);
	check_add(t, SYNC, OP(HALT), 2);
	seq_expect_ok(&t->job);
	check_next_job(t);
}

/* What a job wrote is written for the next one, until a reset clears it. */
static void test_reset(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	write_word(&t);
	read_word(&t);
	check_expect_none(&t);
	core_reset(&t);
	read_word(&t);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 1);
	trn_check_trust(t.rig.chip[0]);
	core_reset(&t);
	read_word(&t);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 2);
	check_end(&t);
}

/* The host's writes by register access, and memory that was loaded. */
static void test_host(void **state)
{
	struct check_test t;
	struct trn_chip *chip;

	(void)state;
	check_begin(&t, 2);
	chip = t.rig.chip[0];
	trn_chip_mmio_write(chip, neuron_tpb_bar0(chip->gen, CORE) +
			    NEURON_TPB_SBUF, 0, 4);
	read_word(&t);
	core_reset(&t);
	trn_check_trust(chip);
	read_word(&t);
	check_expect_none(&t);
	check_end(&t);
}

/* A loop makes a mistake many times, and the next job once more. */
static void test_once(void **state)
{
	struct check_test t;
	unsigned int i;

	(void)state;
	check_begin(&t, 2);
	for (i = 0; i < 2; i++) {
		check_add(&t, VECTOR, OP(REG_SET, .reg = { 1 }, .imm0 = 8), 1);
		check_add(&t, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x4000, F32, 4),
					 .src0 = ap_sbuf(0, 1, 0, F32, 4)), 2);
		t.job.prog[VECTOR][1].src0.offset_reg = 2;
		check_add(&t, VECTOR, OP(REG_ALU, .op0 = NEURON_ALU_ADD, .reg = { 2, 2 },
					 .flags = NEURON_INST_IMM, .imm0 = 16), 3);
		check_add(&t, VECTOR, OP(LOOP, .reg = { 1 }, .addr = 1), 4);
		check_add(&t, VECTOR, OP(HALT), 5);
		seq_expect_ok(&t.job);
		check_expect(&t, TRN_CHECK_UNWRITTEN, i + 1);
		core_reset(&t);
		check_next_job(&t);
	}
	check_end(&t);
}

/* --- the other kinds --- */

static void test_bank(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	write_operands(&t, 512);
	load_one(&t);
	matmul(&t, 0, 512, 0, 21);
	matmul(&t, 0x800, 512, 0, 22);
	matmul(&t, 0x7fc, 1, 0, 23);
	matmul(&t, 0x7fc, 2, 0, 24);
	matmul(&t, 0x1400, 512, 0, 25);
	check_add(&t, TENSOR, OP(HALT), 26);
	seq_expect_ok(&t.job);
	check_expect(&t, TRN_CHECK_BANK, 2);
	assert_int_equal(trn_chip_check_reports(t.rig.chip[0]), 2);
	check_expect_line(&t, TRN_CHECK_BANK,
			  "tensor engine at instruction 5 (line 24)",
		    "PSUM of core 1 partition 0 offset 0x7fc");
	check_expect_line(&t, TRN_CHECK_BANK,
			  "tensor engine at instruction 6 (line 25)",
		    "PSUM of core 1 partition 0 offset 0x1400");
	check_end(&t);
}

static void test_range(void **state)
{
	struct check_test t;

	(void)state;
	check_begin(&t, 2);
	check_add(&t, VECTOR, OP(MEMSET, .dst = ap_psum(0, 4, 0x3ff0, F32, 8)), 77);
	seq_expect_fault(&t.job, NEURON_CAUSE_ACCESS, VECTOR, 0);
	check_expect(&t, TRN_CHECK_RANGE, 1);
	check_expect_line(&t, TRN_CHECK_RANGE,
			  "vector engine at instruction 0 (line 77) reaches bytes 16368 to 16399",
		    "PSUM of core 1 partition 0 offset 0x0");
	assert_true(fake_logged(&t.rig.port[0],
				"core 1 vector engine stopped at instruction 0 (line 77): "));
	check_end(&t);
}

/* --- with and without --- */

static struct neuron_hw_completion work(bool check, void *out)
{
	struct neuron_hw_completion record;
	struct check_test t;

	if (check)
		seq_rig_init_check(&t.rig, &neuron_gen_trn2, 2, 1, true);
	else
		seq_rig_init(&t.rig, &neuron_gen_trn2, 2, 1, true);
	t.rig.clean = false;
	seq_job_init(&t.job, &t.rig, 0, CORE);
	write_operands(&t, 512);
	load_one(&t);
	matmul(&t, 0x400, 512, NEURON_INST_ACCUMULATE, 21);
	check_add(&t, TENSOR, OP(HALT), 22);
	seq_copy(&t.job, 0, DATA(0), SBUF(0, 0x1000), 4096);
	check_add(&t, SYNC, wait_ge(OP(DMA_TRIGGER, .imm0 = 1, .imm1 = 1), 1, 1), 1);
	check_add(&t, SYNC, OP(HALT), 2);
	record = seq_run(&t.job);
	assert_int_equal(record.status, NEURON_JOB_OK);
	memcpy(out, seq_data(&t.rig, 0, CORE), 4096);
	if (check)
		assert_true(trn_chip_check_reports(t.rig.chip[0]) > 0);
	else
		assert_false(fake_logged(&t.rig.port[0], "check "));
	check_end(&t);
	return record;
}

static void test_same(void **state)
{
	struct neuron_hw_completion with, without;
	static uint8_t out[2][4096];

	(void)state;
	without = work(false, out[0]);
	with = work(true, out[1]);
	assert_memory_equal(&with, &without, sizeof(with));
	assert_memory_equal(out[0], out[1], sizeof(out[0]));
}

/* --- saving and loading --- */

static void save_and_load(struct check_test *t)
{
	struct trn_chip *chip = t->rig.chip[0];
	struct stream stream = { 0 };
	const char *why = NULL;

	trn_chip_stop(chip);
	seq_step(&t->rig);
	fake_chip_stop(chip);
	stream_put_chip(&stream, chip);
	if (!stream_get_chip(&stream, chip, &why))
		fail_msg("refused: %s", why);
	stream_free(&stream);
	trn_chip_resume(chip);
}

/*
 * A job that was loaded goes on unchecked, and all memory counts as written; races of
 * the next job are told.
 */
static void test_load(void **state)
{
	struct check_test t;
	struct trn_chip *chip;
	unsigned int i;
	uint64_t sems;

	(void)state;
	check_begin(&t, 1);
	chip = t.rig.chip[0];
	sems = neuron_tpb_bar0(chip->gen, CORE) + NEURON_TPB_SEM;
	check_add(&t, VECTOR, wait_ge(copy(0x100, 0, 16), 5, 1), 1);
	check_add(&t, VECTOR, OP(HALT), 2);
	check_add(&t, SCALAR, wait_ge(copy(0, 0x100, 16), 5, 1), 1);
	check_add(&t, SCALAR, OP(HALT), 2);
	seq_submit(&t.job);
	seq_step(&t.rig);
	for (i = 0; i < 2; i++)
		assert_true(fake_wait_reg(chip, neuron_ctl_bar0(chip->gen) +
					  NEURON_CTL_CORE(CORE) +
					  NEURON_CORE_ENGINE(i ? SCALAR : VECTOR),
					  UINT32_MAX, NEURON_ENGINE_WAITING));
	save_and_load(&t);
	trn_chip_mmio_write(chip, sems + NEURON_SEM_INC(5), 1, 4);
	seq_step(&t.rig);
	assert_int_equal(seq_wait(&t.job).status, NEURON_JOB_OK);
	check_expect_none(&t);
	check_next_job(&t);
	check_add(&t, VECTOR, copy(0x100, 0, 16), 1);
	check_add(&t, SCALAR, copy(0, 0x200, 16), 1);
	check_run(&t);
	check_expect(&t, TRN_CHECK_UNWRITTEN, 0);
	check_expect(&t, TRN_CHECK_RACE, 1);
	check_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tile),
		cmocka_unit_test(test_strided),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_index_of_nothing),
		cmocka_unit_test(test_look_for_unwritten),
		cmocka_unit_test(test_accumulate),
		cmocka_unit_test(test_accumulate_partly),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_memory_word),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_bank),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_load),
	};

	unsetenv("NEURON_TEST_CHECK");		/* without is without */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
