// SPDX-License-Identifier: MIT
/*
 * What the firmware tells of the work done: activity counters of the PE array,
 * power samples, throttling.
 */
#include "seq_rig.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/notify.h"
#include "state_stream.h"
#include "notify/trn_nq.h"
#include "core/trn_pe_counter.h"
#include "time/trn_power.h"

#define TENSOR	NEURON_ENGINE_TENSOR
#define VECTOR	NEURON_ENGINE_VECTOR
#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define SECOND	1000000000ull

static int setup_gen(void **state, const struct neuron_gen *gen, bool clock)
{
	struct seq_rig *rig = malloc(sizeof(*rig));

	seq_rig_init(rig, gen, 2, 1, clock);
	*state = rig;
	return 0;
}

static int setup_trn1(void **state)
{
	return setup_gen(state, &neuron_gen_trn1, true);
}

static int setup_trn2(void **state)
{
	return setup_gen(state, &neuron_gen_trn2, true);
}

static int setup_no_clock(void **state)
{
	return setup_gen(state, &neuron_gen_trn2, false);
}

static int teardown(void **state)
{
	seq_rig_destroy(*state);
	free(*state);
	return 0;
}

/* --- Activity counters, as the public driver's sysfs reads them --- */

struct pe_row {
	uint64_t matmul;
	uint64_t weights;
	uint64_t idle;
};

static uint64_t counter(struct trn_chip *chip, uint32_t offset)
{
	uint64_t high = trn_chip_mmio_read(chip, offset + 4, 4);

	return high << 32 | trn_chip_mmio_read(chip, offset, 4);
}

static uint64_t counter_of(struct trn_chip *chip, unsigned int core,
			   unsigned int row, unsigned int xbus, uint32_t field)
{
	return counter(chip, neuron_pe_counter(chip->gen, core, row, xbus, field));
}

static struct pe_row pe_row(struct trn_chip *chip, unsigned int core,
			    unsigned int row)
{
	struct pe_row r = {
		.matmul = counter_of(chip, core, row, 4, NEURON_PE_MATMUL),
		.idle = counter_of(chip, core, row, 4, NEURON_PE_IDLE),
	};
	unsigned int xbus;

	for (xbus = 0; xbus < 4; xbus++)
		r.weights += counter_of(chip, core, row, xbus,
					NEURON_PE_WEIGHTS);
	/* The normal load of v3; nothing loads that way. */
	if (chip->gen->generation > 2)
		r.weights += counter_of(chip, core, row, 8, NEURON_PE_WEIGHTS);
	return r;
}

/* @rows x @columns weights, then products with @n columns. */
static void run_products(struct seq_rig *rig, unsigned int core,
			 unsigned int rows, unsigned int columns, unsigned int n,
			 unsigned int products)
{
	struct seq_job *job = malloc(sizeof(*job));
	unsigned int i;

	seq_job_init(job, rig, 0, core);
	seq_add(job, TENSOR, OP(LOAD_STATIONARY,
				.src0 = ap_sbuf(0, rows, 0, BF16, columns)));
	for (i = 0; i < products; i++)
		seq_add(job, TENSOR,
			OP(MATMUL, .dst = ap_psum(0, columns, 0, F32, n),
			   .src0 = ap_sbuf(0, rows, 4096, BF16, n)));
	seq_add(job, TENSOR, OP(HALT, 0));
	seq_expect_ok(job);
	free(job);
}

/* The published offsets, not by the generation table. */
static void counters_lie_where_software_looks(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const bool v2 = chip->gen->generation == 2;
	uint32_t base = v2 ? 0x305b1100 : 0x06141100;
	uint32_t group = v2 ? 0x40 : 0x30, groups = v2 ? 5 : 9;
	unsigned int row;

	run_products(rig, 0, 128, 128, 512, 3);
	assert_int_equal(counter(chip, v2 ? 0x305b1200 : 0x061411c0), 3 * 512);
	assert_int_equal(counter(chip, v2 ? 0x305b1108 : 0x06141108), 8);
	for (row = 0; row < 4; row++) {
		uint32_t at = base + row * groups * group + 4 * group;

		assert_int_equal(counter(chip, at), 3 * 512);
		/* The one load, 32 cycles, and what the sequencer does besides. */
		assert_true(counter(chip, at + 0x10) > 0);
	}
	if (!v2)
		assert_int_equal(counter(chip, 0x06141288), 0);
}

static void all_cycles_are_accounted_for(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const uint64_t mhz = chip->gen->clock_khz[TENSOR] / 1000;
	struct trn_core *core = seq_core(rig, 0, 1);
	unsigned int row, round;
	uint64_t matmul = 0, weights = 0;

	for (round = 1; round < 5; round++) {
		run_products(rig, 1, 128, 64, 256, round);
		matmul += round * 256ull;
		weights += 64 / 4;
		for (row = 0; row < 4; row++) {
			struct pe_row r = pe_row(chip, 1, row);

			assert_int_equal(r.matmul, matmul);
			assert_int_equal(r.weights, weights);
			assert_int_equal(r.matmul + r.weights + r.idle,
					 atomic_load(&core->virtual_ns) * mhz /
						 1000);
		}
	}
	/* The other cores did nothing, and no time has passed for them. */
	for (row = 0; row < 4; row++) {
		assert_int_equal(pe_row(chip, 0, row).matmul, 0);
		assert_int_equal(pe_row(chip, 0, row).idle, 0);
	}
}

static void only_the_used_rows_count(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];

	run_products(rig, 0, 33, 32, 512, 1);
	assert_int_equal(pe_row(chip, 0, 0).matmul, 512);
	assert_int_equal(pe_row(chip, 0, 1).matmul, 512);
	assert_int_equal(pe_row(chip, 0, 2).matmul, 0);
	assert_int_equal(pe_row(chip, 0, 0).weights, 8);
	assert_int_equal(pe_row(chip, 0, 2).weights, 0);
	/* 32 columns are one column group. */
	assert_int_equal(counter_of(chip, 0, 0, 0, NEURON_PE_WEIGHTS), 8);
	assert_int_equal(counter_of(chip, 0, 0, 1, NEURON_PE_WEIGHTS), 0);
	assert_int_equal(pe_row(chip, 0, 2).idle,
			 pe_row(chip, 0, 0).idle + 512 + 8);
}

/* A part counts where it is, and takes a share of the power. */
static void parts_count_in_their_place(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const struct neuron_inst part = {
		.mode = NEURON_INST_ARRAY >> 8,
		.imm0 = neuron_array_put((struct neuron_array){ 64, 64, 64, 64 }),
	};
	struct seq_job *job = malloc(sizeof(*job));

	seq_job_init(job, rig, 0, 0);
	seq_add(job, TENSOR, OP(LOAD_STATIONARY, .mode = part.mode, .imm0 = part.imm0,
				.src0 = ap_sbuf(0, 32, 0, BF16, 64)));
	seq_add(job, TENSOR, OP(MATMUL, .mode = part.mode, .imm0 = part.imm0,
				.dst = ap_psum(0, 64, 0, F32, 512),
				.src0 = ap_sbuf(0, 32, 4096, BF16, 512)));
	seq_add(job, TENSOR, OP(HALT, 0));
	seq_expect_ok(job);
	free(job);
	assert_int_equal(pe_row(chip, 0, 0).matmul, 0);
	assert_int_equal(pe_row(chip, 0, 1).matmul, 0);
	assert_int_equal(pe_row(chip, 0, 2).matmul, 512);
	assert_int_equal(pe_row(chip, 0, 3).matmul, 0);
	assert_int_equal(counter_of(chip, 0, 2, 1, NEURON_PE_WEIGHTS), 0);
	assert_int_equal(counter_of(chip, 0, 2, 2, NEURON_PE_WEIGHTS), 8);
	assert_int_equal(counter_of(chip, 0, 2, 3, NEURON_PE_WEIGHTS), 8);
}

static struct neuron_array rows(unsigned int nr)
{
	return (struct neuron_array){ .rows = (uint8_t)nr, .cols = 128 };
}

static void the_low_word_is_latched(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct trn_core *core = seq_core(rig, 0, 0);
	uint32_t at = neuron_pe_counter(chip->gen, 0, 0, 4, NEURON_PE_MATMUL);
	uint32_t other = neuron_pe_counter(chip->gen, 0, 1, 4, NEURON_PE_MATMUL);

	trn_pe_matmul(core, rows(32), 0xfffffff0);
	assert_int_equal(trn_chip_mmio_read(chip, at + 4, 4), 0);
	trn_pe_matmul(core, rows(32), 0x20);
	/* What belongs to the high word that was read, then what is true now. */
	assert_int_equal(trn_chip_mmio_read(chip, at, 4), 0xfffffff0);
	assert_int_equal(trn_chip_mmio_read(chip, at, 4), 0x10);
	assert_int_equal(trn_chip_mmio_read(chip, at + 4, 4), 1);
	trn_pe_matmul(core, rows(64), 0x20);
	assert_int_equal(trn_chip_mmio_read(chip, other, 4), 0x20);
	assert_int_equal(trn_chip_mmio_read(chip, at, 4), 0x10);
	assert_true(counter(chip, at) == 0x100000030ull);
}

static void counters_cannot_be_written(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint32_t at = chip->gen->pe_bar0[0];
	uint32_t end = at + 4 * chip->gen->pe_groups * chip->gen->pe_group;

	trn_pe_matmul(seq_core(rig, 0, 0), rows(128), 5);
	for (; at < end; at += 4)
		trn_chip_mmio_write(chip, at, ~0u, 4);
	assert_true(fake_logged(&rig->port[0], "counters are read-only"));
	assert_int_equal(pe_row(chip, 0, 3).matmul, 5);
	assert_int_equal(pe_row(chip, 0, 3).weights, 0);
}

static void a_core_reset_keeps_counters(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint32_t reset = neuron_ctl_bar0(chip->gen) + NEURON_CTL_CORE(0) +
			 NEURON_CORE_RESET;
	uint32_t misc = chip->gen->misc_bar0;

	run_products(rig, 0, 128, 128, 512, 1);
	trn_chip_mmio_write(chip, reset, 1, 4);
	assert_true(fake_wait_reg(chip, reset, ~0u, 0));
	assert_int_equal(pe_row(chip, 0, 0).matmul, 512);
	assert_true(pe_row(chip, 0, 0).idle);
	/* The chip's time starts anew with a device reset, and so do they. */
	trn_chip_mmio_write(chip, misc + NEURON_MISC_RESET_REQUEST,
			    NEURON_MISC_RESET_DEVICE, 4);
	trn_chip_mmio_write(chip, misc + NEURON_MISC_TRIGGER, 1, 4);
	assert_true(fake_wait_reg(chip, misc + NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	assert_int_equal(pe_row(chip, 0, 0).matmul, 0);
	assert_int_equal(pe_row(chip, 0, 0).idle, 0);
}

/* Idle cycles are the device's time, which does not pass without the clock. */
static void without_a_clock_nothing_is_idle(void **state)
{
	struct seq_rig *rig = *state;

	run_products(rig, 0, 128, 128, 512, 1);
	assert_int_equal(pe_row(rig->chip[0], 0, 0).matmul, 512);
	assert_int_equal(pe_row(rig->chip[0], 0, 0).idle, 0);
}

/* --- Power --- */

static uint32_t used(uint32_t value)
{
	return NEURON_GET(NEURON_MISC_POWER_USED, value);
}

static uint32_t sample(uint32_t value)
{
	return NEURON_GET(NEURON_MISC_POWER_SAMPLE, value);
}

/* From here on, in the host's time; the sample before it has been asked for. */
static uint64_t power_begin(struct trn_chip *chip)
{
	uint64_t now = trn_host_default_ns() + 10 * SECOND;

	trn_power_read(chip, 0, now);
	return now;
}

static void an_idle_chip_uses_nothing(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t now = power_begin(chip);
	uint32_t before = sample(trn_power_read(chip, 0, now));
	unsigned int die, i;

	for (i = 1; i < 5; i++)
		for (die = 0; die < chip->gen->nr_dice; die++) {
			uint32_t value = trn_power_read(chip, die,
							now + i * SECOND);

			assert_int_equal(used(value), 0);
			assert_int_equal(sample(value), before + i);
		}
	/* Nothing new within the same second; the number wraps. */
	assert_int_equal(sample(trn_power_read(chip, 0, now + 4 * SECOND)),
			 before + 4);
	assert_int_equal(sample(trn_power_read(chip, 0, now + 65536 * SECOND)),
			 before);
}

/* All cores of die 0 run for the whole second, engines busy all their time. */
static void make_busy(struct trn_chip *chip, unsigned int first,
		      unsigned int last, uint64_t host_ns, uint64_t device_ns,
		      uint64_t engine_ns)
{
	unsigned int i, e;

	for (i = first; i <= last; i++) {
		struct trn_core *core = &chip->core[i];

		atomic_fetch_add(&core->busy_ns, host_ns);
		atomic_fetch_add(&core->virtual_ns, device_ns);
		for (e = 0; e < NEURON_NR_ENGINES; e++)
			trn_power_busy(core, e, engine_ns * 1000);
	}
}

static void power_follows_the_engines(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	unsigned int last = chip->gen->nr_cores / chip->gen->nr_dice - 1;
	uint64_t now = power_begin(chip);

	make_busy(chip, 0, last, SECOND, 100000, 100000);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 8500);
	if (chip->gen->nr_dice > 1)
		assert_int_equal(used(trn_power_read(chip, 1, now)), 0);
	/* Half of the time; half as hard; half of the cores. */
	make_busy(chip, 0, last, SECOND / 2, 100000, 100000);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 4250);
	make_busy(chip, 0, last, SECOND, 100000, 50000);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 4250);
	make_busy(chip, 0, last / 2, SECOND, 100000, 100000);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 4250);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 0);
}

static void the_array_takes_most(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct trn_core *core = &chip->core[0];
	uint64_t now = power_begin(chip);
	uint32_t array, vector;

	atomic_fetch_add(&core->busy_ns, SECOND);
	trn_power_busy(core, TENSOR, 1000000);
	now += SECOND;
	array = used(trn_power_read(chip, 0, now));
	atomic_fetch_add(&core->busy_ns, SECOND);
	trn_power_busy(core, VECTOR, 1000000);
	now += SECOND;
	vector = used(trn_power_read(chip, 0, now));
	assert_true(array > 2 * vector && vector > 0);
}

static void dma_counts_too(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const struct neuron_gen *gen = chip->gen;
	uint64_t now = power_begin(chip);
	uint64_t all = gen->dma_bytes_per_us * 1000000ull * gen->nr_dma /
		       gen->nr_dice;

	trn_power_copied(chip, 0, all / 2);
	now += SECOND;
	assert_int_equal(used(trn_power_read(chip, 0, now)), 750);
	/* Copy engines belong to dice as well, and more than all is all. */
	trn_power_copied(chip, gen->nr_dma - 1, all * 3);
	now += SECOND;
	trn_power_read(chip, 0, now);
	assert_int_equal(used(trn_power_read(chip, gen->nr_dice - 1, now)),
			 1500);
}

/* Whatever the counters say, a sample stays below the whole. */
static void power_is_never_more_than_all(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t now = power_begin(chip);
	unsigned int i;

	for (i = 0; i < 64; i++) {
		uint64_t window = SECOND << i % 12;
		unsigned int die;

		make_busy(chip, 0, chip->gen->nr_cores - 1, window << i % 5,
			  window >> i % 7, window << i % 3);
		trn_power_copied(chip, i, window << 10);
		now += window;
		for (die = 0; die < chip->gen->nr_dice; die++)
			assert_in_range(used(trn_power_read(chip, die, now)), 1,
					10000);
	}
}

static void a_job_shows_in_misc_ram(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t now = power_begin(chip);
	uint64_t at = chip->gen->misc_bar0 + NEURON_MISC_POWER(0);
	uint32_t value;

	run_products(rig, 0, 128, 128, 512, 200);
	/* The products were hardly a second's work; make it one. */
	atomic_fetch_add(&chip->core[0].busy_ns, SECOND);
	value = trn_power_read(chip, 0, now + SECOND);
	assert_in_range(used(value), 100, 8500);
	assert_int_equal(trn_chip_mmio_read(chip, at, 4), value);
	if (chip->gen->nr_dice == 1)
		assert_int_equal(trn_chip_mmio_read(chip, at + 4, 4), 0);
}

/* --- Throttle --- */

static uint64_t job_ns(struct seq_rig *rig, unsigned int core)
{
	uint64_t before = atomic_load(&rig->chip[0]->core[core].virtual_ns);

	run_products(rig, core, 128, 128, 512, 50);
	return atomic_load(&rig->chip[0]->core[core].virtual_ns) - before;
}

static void throttle_slows_the_engines(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t reg = neuron_ctl_bar0(chip->gen) + NEURON_CTL_THROTTLE;
	uint64_t why = neuron_ctl_bar0(chip->gen) + NEURON_CTL_THROTTLE_REASON;
	uint64_t full = job_ns(rig, 0), slow;

	assert_int_equal(trn_chip_mmio_read(chip, reg, 4), 100);
	assert_int_equal(trn_chip_mmio_read(chip, why, 4), NEURON_THROTTLE_NONE);
	assert_int_equal(trn_power_throttle(chip, 0, NEURON_THROTTLE_POWER), -1);
	assert_int_equal(trn_power_throttle(chip, 101, NEURON_THROTTLE_POWER), -1);
	assert_int_equal(trn_power_throttle(chip, 25, NEURON_THROTTLE_POWER), 0);
	assert_int_equal(trn_chip_mmio_read(chip, reg, 4), 25);
	assert_int_equal(trn_chip_mmio_read(chip, why, 4), NEURON_THROTTLE_POWER);
	assert_int_equal(trn_power_throttle(chip, 25, NEURON_THROTTLE_THERMAL), 0);
	assert_int_equal(trn_chip_mmio_read(chip, reg, 4), 25);
	assert_int_equal(trn_chip_mmio_read(chip, why, 4), NEURON_THROTTLE_THERMAL);
	slow = job_ns(rig, 0);
	assert_in_range(slow, full * 4 - 4, full * 4 + 4);
	assert_int_equal(trn_power_throttle(chip, 100, NEURON_THROTTLE_POWER), 0);
	slow = job_ns(rig, 0);
	assert_in_range(slow, full - 1, full + 1);
	assert_int_equal(trn_chip_mmio_read(chip, why, 4), NEURON_THROTTLE_NONE);
	/* The register is only told. */
	trn_chip_mmio_write(chip, reg, 50, 4);
	assert_int_equal(trn_chip_mmio_read(chip, reg, 4), 100);
}

static void throttle_caps_power(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	unsigned int i;
	uint64_t now;

	trn_power_throttle(chip, 40, NEURON_THROTTLE_POWER);
	now = power_begin(chip);
	for (i = 0; i < chip->gen->nr_cores; i++) {
		atomic_fetch_add(&chip->core[i].busy_ns, SECOND);
		trn_power_busy(&chip->core[i], TENSOR, 1000000000);
	}
	assert_int_equal(used(trn_power_read(chip, 0, now + SECOND)),
			 10000 * 40 / 100 * 60 / 100 * 85 / 100);
}

static bool nq_quiet(void *arg)
{
	return trn_nq_quiet(arg);
}

static void throttle_is_notified(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	const unsigned int slot = NEURON_NQ_TYPE_SLOT(NEURON_NQ_TYPE_THROTTLE,
						      NEURON_NQ_NO_ENGINE);
	uint64_t reg = chip->gen->nq_bar0[1] + NEURON_NQ_SLOT(slot);
	const uint32_t at = NEURON_MIB(32);
	struct neuron_hw_nq_entry *entry =
		(void *)((uint8_t *)chip->hbm[0] + at);

	trn_chip_mmio_write(chip, reg + NEURON_NQ_BASE_HI, 0, 4);
	trn_chip_mmio_write(chip, reg + NEURON_NQ_BASE_LO, at, 4);
	trn_chip_mmio_write(chip, reg + NEURON_NQ_SIZE, 4096, 4);
	trn_power_throttle(chip, 70, NEURON_THROTTLE_POWER);
	trn_power_throttle(chip, 70, NEURON_THROTTLE_POWER);	/* nothing new */
	trn_power_throttle(chip, 100, NEURON_THROTTLE_POWER);
	assert_true(fake_wait(nq_quiet, chip));
	assert_int_equal(entry[0].code, 70);
	assert_int_equal(entry[0].pc, NEURON_THROTTLE_POWER);
	assert_int_equal(entry[1].pc, NEURON_THROTTLE_NONE);
	assert_int_equal(entry[1].code, 100);
	assert_int_equal(NEURON_GET(NEURON_NQ_INFO_TYPE, entry[0].info),
			 NEURON_NQ_TYPE_THROTTLE);
	assert_int_equal(entry[2].info, 0);
}

/* --- Saving --- */

static void power_and_counters_are_saved(void **state)
{
	struct seq_rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	struct state_stream stream = { 0 };
	struct trn_state st;
	struct pe_row row;
	uint64_t now = power_begin(chip);
	uint32_t value;

	make_busy(chip, 0, 0, SECOND, 100000, 100000);
	value = trn_power_read(chip, 0, now + SECOND);
	trn_power_throttle(chip, 33, NEURON_THROTTLE_POWER);
	run_products(rig, 0, 128, 128, 512, 1);
	row = pe_row(chip, 0, 0);
	st = state_stream_save(&stream);
	trn_power_state(chip, &st);
	trn_pe_state(chip, &st);
	assert_null(st.why);

	trn_pe_reset(chip);
	trn_power_throttle(chip, 100, NEURON_THROTTLE_POWER);
	trn_power_read(chip, 0, now + 7 * SECOND);
	st = state_stream_load(&stream);
	trn_power_state(chip, &st);
	trn_pe_state(chip, &st);
	assert_null(st.why);
	assert_int_equal(stream.at, stream.len);
	assert_int_equal(trn_power_clock(chip), 33);
	assert_int_equal(trn_power_reason(chip), NEURON_THROTTLE_POWER);
	assert_int_equal(trn_power_read(chip, 0, trn_host_default_ns()), value);
	assert_int_equal(pe_row(chip, 0, 0).matmul, row.matmul);
	assert_int_equal(pe_row(chip, 0, 0).weights, row.weights);
	/* The counter goes on from where it was. */
	assert_int_equal(sample(trn_power_read(chip, 0,
					       trn_host_default_ns() + SECOND)),
			 sample(value) + 1);
	/* Nonsense is refused. */
	stream.data[9] = NEURON_THROTTLE_POWER + 1;
	st = state_stream_load(&stream);
	trn_power_state(chip, &st);
	assert_non_null(st.why);
	stream.data[9] = NEURON_THROTTLE_NONE;
	stream.data[8] = 101;
	st = state_stream_load(&stream);
	trn_power_state(chip, &st);
	assert_non_null(st.why);
	assert_int_equal(trn_power_clock(chip), 100);
}

#define RIG(test, how)	cmocka_unit_test_setup_teardown(test, how, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(counters_lie_where_software_looks, setup_trn1),
		RIG(counters_lie_where_software_looks, setup_trn2),
		RIG(all_cycles_are_accounted_for, setup_trn1),
		RIG(all_cycles_are_accounted_for, setup_trn2),
		RIG(only_the_used_rows_count, setup_trn2),
		RIG(parts_count_in_their_place, setup_trn2),
		RIG(the_low_word_is_latched, setup_trn2),
		RIG(counters_cannot_be_written, setup_trn2),
		RIG(a_core_reset_keeps_counters, setup_trn2),
		RIG(without_a_clock_nothing_is_idle, setup_no_clock),
		RIG(an_idle_chip_uses_nothing, setup_trn1),
		RIG(an_idle_chip_uses_nothing, setup_trn2),
		RIG(power_follows_the_engines, setup_trn1),
		RIG(power_follows_the_engines, setup_trn2),
		RIG(the_array_takes_most, setup_trn2),
		RIG(dma_counts_too, setup_trn1),
		RIG(dma_counts_too, setup_trn2),
		RIG(power_is_never_more_than_all, setup_trn2),
		RIG(a_job_shows_in_misc_ram, setup_trn1),
		RIG(a_job_shows_in_misc_ram, setup_trn2),
		RIG(throttle_slows_the_engines, setup_trn2),
		RIG(throttle_caps_power, setup_trn2),
		RIG(throttle_is_notified, setup_trn2),
		RIG(power_and_counters_are_saved, setup_trn2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
