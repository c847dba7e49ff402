// SPDX-License-Identifier: MIT
/*
 * Saving and loading: work that is moved to other chips at any point ends with
 * the same results and the same device time; a stream may say anything.
 */
#include "state_rig.h"
#include "rounds.h"
#include "fabric/trn_fabric.h"
#include "core/trn_pe_counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FEW_POINTS	6
#define MANY_POINTS	12
#define FEW_MOVES	12
#define MANY_MOVES	25
#define FLIPS		60

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static uint32_t below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % limit;
}

/* How often: less on the types that are not the main one. */
static unsigned int times(unsigned int most)
{
	return fake_gen()->pci_device == NEURON_PCI_DEVICE_TRN2 ? most : most / 3;
}

static void nap_us(uint32_t us)
{
	const struct timespec nap = { .tv_nsec = us * 1000l };

	nanosleep(&nap, NULL);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void expect_same(const struct work_result *a, const struct work_result *b,
			const char *what)
{
	unsigned int c, i;

	for (c = 0; c < SEQ_CHIPS; c++)
		for (i = 0; i < STATE_CORES; i++) {
			assert_int_equal(b->record[c][i].status, NEURON_JOB_OK);
			if (memcmp(&a->record[c][i], &b->record[c][i],
				   sizeof(a->record[c][i])))
				fail_msg("%s: chip %u core %u: %llu to %llu ns, not %llu to %llu",
					 what, c, i,
					 (unsigned long long)b->record[c][i].start_ns,
					 (unsigned long long)b->record[c][i].end_ns,
					 (unsigned long long)a->record[c][i].start_ns,
					 (unsigned long long)a->record[c][i].end_ns);
		}
	for (c = 0; c < SEQ_CHIPS; c++) {
		assert_int_equal(a->time[c], b->time[c]);
		assert_int_equal(a->host[c], b->host[c]);
		assert_int_equal(a->hbm[c], b->hbm[c]);
		assert_int_equal(a->sbuf[c], b->sbuf[c]);
		assert_int_equal(a->psum[c], b->psum[c]);
	}
}

/* What an undisturbed run gives, and about how long it takes. */
static uint32_t reference(struct work_result *result)
{
	struct work *work = work_new(1);
	struct work_result again;
	uint64_t begin;
	uint32_t us;

	work_finish(work, result);
	work_free(work);
	work = work_new(2);
	begin = now_us();
	work_wait(work);
	us = (uint32_t)(now_us() - begin);
	work_finish(work, &again);
	work_free(work);
	expect_same(result, &again, "undisturbed");
	assert_true(result->record[0][0].end_ns > 10000);
	return us;
}

/* One move; some are before the start is seen, some after the end. */
static void work_can_be_moved_at_any_point(void **state)
{
	struct work_result first, moved;
	unsigned int points = times(rounds(FEW_POINTS, MANY_POINTS));
	uint32_t us = reference(&first);
	struct work *work;
	unsigned int i;

	(void)state;
	for (i = 0; i < points; i++) {
		work = work_new(i % 3 + 1);
		if (i)
			nap_us(below(us));
		work_move(work, i % 4 + 1);
		work_finish(work, &moved);
		work_free(work);
		expect_same(&first, &moved, "moved once");
	}
}

static uint64_t progress_of(const struct work *work)
{
	uint64_t sum = 0;
	unsigned int c, i;

	for (c = 0; c < SEQ_CHIPS; c++)
		for (i = 0; i < STATE_CORES; i++)
			sum += atomic_load(&seq_core(work->rig, c, i)->progress);
	return sum;
}

/*
 * Until jobs have come on by @by. Runs of tasks do not count: each queue and engine of a chip
 * that was loaded looks once whether it has something to do. False: all is done.
 */
static bool advance(struct work *work, uint64_t by)
{
	const uint64_t until = progress_of(work) + by;

	while (progress_of(work) < until)
		if (!work_step(work, 1))
			return false;
	return true;
}

/* Again and again, every few steps of a job, in the one order of a stepped pool. */
static void work_can_be_moved_many_times(void **state)
{
	struct work_result first, moved;
	unsigned int round, i, half = 0, moves = rounds(FEW_MOVES, MANY_MOVES);
	struct work *work;

	(void)state;
	reference(&first);
	for (round = 0; round < 3; round++) {
		work = work_new(TRN_POOL_STEPPED);
		for (i = 0; i < moves && advance(work, 1 + below(4 << 4 * round)); i++)
			half += work_move(work, TRN_POOL_STEPPED);
		work_finish(work, &moved);
		work_free(work);
		expect_same(&first, &moved, "moved many times");
	}
	assert_true(half > 3 * moves * 4 / 5);
}

/* --- streams that say anything --- */

/* Work in the middle of it, and its two chips saved. */
static struct work *half_saved(struct stream stream[SEQ_CHIPS])
{
	struct work *work = work_new(TRN_POOL_STEPPED);
	unsigned int c;

	work_step(work, 300);
	work_stop(work);
	memset(stream, 0, SEQ_CHIPS * sizeof(stream[0]));
	for (c = 0; c < SEQ_CHIPS; c++)
		stream_put_chip(&stream[c], work->rig->chip[c]);
	return work;
}

/* The state of a chip, in a stream. */
static struct stream state_of(struct trn_chip *chip)
{
	struct stream stream = { 0 };

	stream_put_chip(&stream, chip);
	return stream;
}

static void expect_reset_state(struct trn_chip *chip, const struct stream *reset)
{
	struct stream now = state_of(chip);

	assert_int_equal(now.len, reset->len);
	assert_memory_equal(now.data, reset->data, now.len);
	stream_free(&now);
}

/* The low word of an activity counter waits for who has read the high one. */
static void reset_forgets_a_half_read_counter(void **state)
{
	struct seq_rig *rig = work_rig_new(2);
	struct trn_chip *chip = rig->chip[0];
	struct stream reset;
	uint32_t reg;

	(void)state;
	fake_chip_stop(chip);
	trn_chip_reset(chip);
	reset = state_of(chip);
	reg = neuron_pe_counter(chip->gen, 0, 0, NEURON_PE_XBUS_ARRAY, NEURON_PE_MATMUL);
	trn_pe_matmul(&chip->core[0], (struct neuron_array){ .rows = 128 }, 1000);
	assert_int_equal(trn_chip_mmio_read(chip, reg + 4, 4), 0);
	trn_chip_reset(chip);
	expect_reset_state(chip, &reset);
	stream_free(&reset);
	work_rig_free(rig, 2);
}

/* A chip that takes the state has it, byte for byte. */
static void loaded_state_is_the_saved_state(void **state)
{
	struct stream stream[SEQ_CHIPS], again;
	struct work *work;
	struct seq_rig *to = work_rig_new(2);
	const char *why;
	unsigned int c;

	(void)state;
	work = half_saved(stream);
	for (c = 0; c < SEQ_CHIPS; c++)
		fake_chip_stop(to->chip[c]);
	for (c = 0; c < SEQ_CHIPS; c++) {
		assert_true(stream_get_chip(&stream[c], to->chip[c], &why));
		again = state_of(to->chip[c]);
		assert_int_equal(again.len, stream[c].len);
		stream_free(&again);
		stream_free(&stream[c]);
	}
	work_rig_free(to, 2);
	work_free(work);
}

static void unplug_last(struct seq_rig *rig, unsigned int workers)
{
	work_rig_stop(rig, workers);
	trn_chip_detach(rig->chip[SEQ_CHIPS - 1]);
	work_rig_stop(rig, workers);
}

/* Its link faults, in a stream of their own. */
static void load_fabric(struct seq_rig *to, const struct seq_rig *from)
{
	struct stream stream = { 0 };
	struct trn_state st = stream_save(&stream);

	trn_fabric_state(from->fabric, &st);
	assert_null(st.why);
	st = stream_load(&stream);
	trn_fabric_state(to->fabric, &st);
	assert_null(st.why);
	stream_free(&stream);
}

/* Load work that was saved, on chips where nothing has been started. */
static struct seq_rig *load_work(struct work *work, struct stream *stream,
				 unsigned int chips)
{
	struct seq_rig *to = work_rig_new(work->workers);
	const char *why = NULL;
	unsigned int c;

	work_rig_stop(to, work->workers);
	for (c = 0; c < SEQ_CHIPS; c++)
		memcpy(to->port[c].host, work->rig->port[c].host,
		       to->port[c].host_size);
	if (chips < SEQ_CHIPS)
		unplug_last(to, work->workers);
	load_fabric(to, work->rig);
	for (c = 0; c < chips; c++)
		if (!stream_get_chip(&stream[c], to->chip[c], &why))
			fail_msg("chip %u was not loaded: %s", c, why);
	return to;
}

/* Windows on a chip that cannot be reached: loaded, and found out by an access. */
static void expect_fabric_errors(struct work *work, struct seq_rig *to,
				 unsigned int chips)
{
	struct seq_rig *from = work->rig;
	unsigned int c, i, failed = 0;

	for (c = 0; c < chips; c++)
		trn_chip_resume(to->chip[c]);
	work->rig = to;
	while (work_step(work, 1000))
		;
	for (c = 0; c < chips; c++)
		for (i = 0; i < STATE_CORES; i++)
			failed += work_cause(work, c, i) == NEURON_CAUSE_FABRIC;
	work->rig = from;
	assert_true(failed >= chips);
}

static void work_is_loaded_without(struct work *work, unsigned int chips)
{
	struct stream stream[SEQ_CHIPS] = { 0 }, again;
	struct seq_rig *to;
	unsigned int c;

	work_stop(work);
	for (c = 0; c < chips; c++)
		stream_put_chip(&stream[c], work->rig->chip[c]);
	to = load_work(work, stream, chips);
	for (c = 0; c < chips; c++) {
		again = state_of(to->chip[c]);
		assert_int_equal(again.len, stream[c].len);
		stream_free(&again);
	}
	expect_fabric_errors(work, to, chips);
	for (c = 0; c < chips; c++)
		stream_free(&stream[c]);
	work_rig_free(to, work->workers);
	work_free(work);
}

/* All links of chip 0, to the other chip or to a switch. */
static void cut_off(struct seq_rig *rig)
{
	struct trn_fabric_link links[TRN_FABRIC_PORTS];
	const char *why = NULL;
	char text[24];
	unsigned int i;

	i = trn_fabric_links(rig->fabric, rig->chip[0], links);
	assert_true(i);
	while (i--) {
		snprintf(text, sizeof(text), "0:%u=down", i);
		if (trn_fabric_set_links(rig->fabric, text, &why))
			fail_msg("link %u does not go down: %s", i, why);
	}
}

static void windows_across_a_downed_link_are_loaded(void **state)
{
	struct work *work = work_new(TRN_POOL_STEPPED);

	(void)state;
	work_step(work, 300);
	cut_off(work->rig);
	work_is_loaded_without(work, SEQ_CHIPS);
}

static void windows_on_a_missing_chip_are_loaded(void **state)
{
	struct work *work = work_new(TRN_POOL_STEPPED);

	(void)state;
	work_step(work, 300);
	unplug_last(work->rig, work->workers);
	work_is_loaded_without(work, SEQ_CHIPS - 1);
}

static void truncated_streams_are_refused(void **state)
{
	struct stream stream[SEQ_CHIPS], reset;
	struct work *work;
	struct seq_rig *to = work_rig_new(2);
	const char *why;
	unsigned int i;
	size_t len;

	(void)state;
	work = half_saved(stream);
	for (i = 0; i < SEQ_CHIPS; i++)
		fake_chip_stop(to->chip[i]);
	trn_chip_reset(to->chip[0]);
	reset = state_of(to->chip[0]);
	len = stream[0].len;
	for (i = 0; i < 30; i++) {
		stream[0].at = 0;
		stream[0].len = i < 10 ? i * 7 : below((uint32_t)len);
		assert_false(stream_get_chip(&stream[0], to->chip[0], &why));
		assert_string_equal(why, "the stream ends too early");
		if (i % 10 == 0)
			expect_reset_state(to->chip[0], &reset);
	}
	for (i = 0; i < SEQ_CHIPS; i++)
		stream_free(&stream[i]);
	stream_free(&reset);
	work_rig_free(to, 2);
	work_free(work);
}

/*
 * Bits at random, mostly where the structure is and not in the pages. What is
 * accepted must run, end in whatever way, and be reset.
 */
static void flipped_bits_do_no_harm(void **state)
{
	struct stream stream[SEQ_CHIPS];
	struct work *work;
	struct seq_rig *to = work_rig_new(2);
	unsigned int i, c, n, accepted = 0;
	const char *why;

	(void)state;
	work = half_saved(stream);
	for (c = 0; c < SEQ_CHIPS; c++)
		memcpy(to->port[c].host, work->rig->port[c].host,
		       to->port[c].host_size);
	for (i = 0; i < times(FLIPS); i++) {
		uint32_t range = i % 3 ? 50000 : (uint32_t)stream[0].len;
		uint32_t at[4];

		for (c = 0; c < SEQ_CHIPS; c++)
			fake_chip_stop(to->chip[c]);
		for (n = 0; n < 4; n++) {
			at[n] = below(range);
			stream[0].data[at[n]] ^= 1u << n * 2;
		}
		stream[0].at = 0;
		stream[1].at = 0;
		accepted += stream_get_chip(&stream[0], to->chip[0], &why);
		assert_true(stream_get_chip(&stream[1], to->chip[1], &why));
		for (n = 0; n < 4; n++)
			stream[0].data[at[n]] ^= 1u << n * 2;
		for (c = 0; c < SEQ_CHIPS; c++)
			trn_chip_resume(to->chip[c]);
		nap_us(1000);
	}
	assert_true(accepted && accepted < times(FLIPS));
	for (c = 0; c < SEQ_CHIPS; c++)
		stream_free(&stream[c]);
	work_rig_free(to, 2);
	work_free(work);
}

/* --- what does not fit --- */

static struct trn_chip *chip_with(struct fake_port *port, struct trn_pool *pool,
				  const struct neuron_gen *gen,
				  struct trn_chip_config (*change)(struct trn_chip_config))
{
	struct trn_chip_config config = fake_chip_config(port, gen, pool, NULL, 3);
	const char *why;
	struct trn_chip *chip;

	if (change)
		config = change(config);
	chip = trn_chip_new(&config, &why);
	assert_non_null(chip);
	fake_chip_stop(chip);
	return chip;
}

static struct trn_chip_config half_the_memory(struct trn_chip_config config)
{
	config.hbm_size /= 2;
	return config;
}

static struct trn_chip_config no_clock(struct trn_chip_config config)
{
	config.clock = false;
	return config;
}

static struct trn_chip_config elsewhere(struct trn_chip_config config)
{
	config.fabric_id++;
	return config;
}

static void other_chips_are_refused(void **state)
{
	static const struct {
		const struct neuron_gen *gen;
		struct trn_chip_config (*change)(struct trn_chip_config);
		const char *why;
	} cases[] = {
		{ &neuron_gen_trn2, NULL, NULL },
		{ &neuron_gen_trn3, NULL, "the saved chip is of another type" },
		{ &neuron_gen_trn1, NULL, "the saved chip is of another type" },
		{ &neuron_gen_trn2, half_the_memory,
		  "the saved chip has another hbm-size" },
		{ &neuron_gen_trn2, no_clock,
		  "the saved chip has another clock mode" },
		{ &neuron_gen_trn2, elsewhere,
		  "the saved chip has another fabric-id" },
	};
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	struct fake_port port, other;
	struct trn_chip *chip, *to;
	struct stream stream;
	const char *why;
	struct stream identity = { 0 };
	struct trn_state st = stream_save(&identity);
	unsigned int i;

	(void)state;
	fake_port_init(&port, 4096);
	chip = chip_with(&port, pool, &neuron_gen_trn2, NULL);
	stream = state_of(chip);
	assert_true(trn_chip_identity(chip, &st));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_port_init(&other, 4096);
		to = chip_with(&other, pool, cases[i].gen, cases[i].change);
		stream.at = 0;
		assert_int_equal(stream_get_chip(&stream, to, &why),
				 !cases[i].why);
		if (cases[i].why)
			assert_string_equal(why, cases[i].why);
		identity.at = 0;
		st = stream_load(&identity);
		assert_int_equal(trn_chip_identity(to, &st), !cases[i].why);
		if (cases[i].why)
			assert_string_equal(st.why, cases[i].why);
		trn_chip_free(to);
		fake_port_destroy(&other);
	}
	stream_free(&stream);
	stream_free(&identity);
	trn_chip_free(chip);
	fake_port_destroy(&port);
	trn_pool_free(pool);
}

/* --- HBM --- */

/* The state and HBM in any order; what the stream does not have becomes zero. */
static void memory_is_loaded_before_or_behind(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	struct stream stream = { 0 }, hbm = { 0 };
	struct trn_state save = stream_save(&stream), save_hbm = stream_save(&hbm);
	struct fake_port port;
	struct trn_chip *chip;
	unsigned int before;
	uint8_t *mem;

	(void)state;
	fake_port_init(&port, 4096);
	chip = chip_with(&port, pool, &neuron_gen_trn2, NULL);
	mem = trn_chip_hbm(chip, 1);
	mem[100] = 1;
	assert_true(trn_chip_save(chip, &save));
	assert_true(trn_chip_save_hbm(chip, &save_hbm));
	for (before = 0; before < 2; before++) {
		struct trn_state load = stream_load(&stream), load_hbm = stream_load(&hbm);

		stream.at = 0;
		hbm.at = 0;
		mem[100] = 2;
		mem[NEURON_MIB(5)] = 3;
		if (before)
			assert_true(trn_chip_load_hbm(chip, &load_hbm));
		assert_true(trn_chip_load(chip, &load));
		/* It leaves the memory alone. */
		assert_int_equal(mem[NEURON_MIB(5)], before ? 0 : 3);
		if (!before)
			assert_true(trn_chip_load_hbm(chip, &load_hbm));
		assert_int_equal(mem[100], 1);
		assert_int_equal(mem[NEURON_MIB(5)], 0);
	}
	stream_free(&stream);
	stream_free(&hbm);
	trn_chip_free(chip);
	fake_port_destroy(&port);
	trn_pool_free(pool);
}

/* --- size --- */

/* Idle chips and untouched memory cost next to nothing. */
static void size_follows_touched_memory(void **state)
{
	struct trn_pool *pool = trn_pool_new(1, NULL, NULL);
	struct fake_port port;
	struct trn_chip *chip;
	struct stream idle, used;
	uint8_t *hbm;

	(void)state;
	fake_port_init(&port, 4096);
	chip = chip_with(&port, pool, &neuron_gen_trn2, NULL);
	idle = state_of(chip);
	assert_true(idle.len < 600000);
	hbm = trn_chip_hbm(chip, 1);
	memset(hbm + NEURON_MIB(10), 1, NEURON_MIB(3));
	memset(hbm + NEURON_MIB(20), 0, NEURON_MIB(20));	/* zero again */
	hbm[FAKE_HBM_SIZE - 1] = 1;
	used = state_of(chip);
	assert_in_range(used.len - idle.len, NEURON_MIB(3) + 4096,
			NEURON_MIB(3) + 8192);
	stream_free(&idle);
	stream_free(&used);
	trn_chip_free(chip);
	fake_port_destroy(&port);
	trn_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_can_be_moved_at_any_point),
		cmocka_unit_test(work_can_be_moved_many_times),
		cmocka_unit_test(loaded_state_is_the_saved_state),
		cmocka_unit_test(reset_forgets_a_half_read_counter),
		cmocka_unit_test(windows_across_a_downed_link_are_loaded),
		cmocka_unit_test(windows_on_a_missing_chip_are_loaded),
		cmocka_unit_test(truncated_streams_are_refused),
		cmocka_unit_test(flipped_bits_do_no_harm),
		cmocka_unit_test(other_chips_are_refused),
		cmocka_unit_test(memory_is_loaded_before_or_behind),
		cmocka_unit_test(size_follows_touched_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
