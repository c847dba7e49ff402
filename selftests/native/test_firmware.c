// SPDX-License-Identifier: MIT
/*
 * The firmware as public software sees it: MISC RAM, resets and how long they
 * take, what survives them.
 */
#include "chip_rig.h"

#include <string.h>
#include <time.h>

#include "state_stream.h"
#include "core/trn_core.h"
#include "base/trn_crc32c.h"
#include "soc/trn_firmware.h"
#include "hook/trn_inject.h"
#include "soc/trn_reset.h"

#define RESET_NS	60000000ull	/* of the chips with a slow reset */

static int setup_slow(void **state)
{
	struct rig *rig;

	rig_setup(state);
	rig = *state;
	rig->chip[0]->config.reset_ns = RESET_NS;
	return 0;
}

static int setup_slow_trn1(void **state)
{
	struct rig *rig;

	rig_setup_trn1(state);
	rig = *state;
	rig->chip[0]->config.reset_ns = RESET_NS;
	return 0;
}

static uint32_t rd(struct rig *rig, uint64_t offset)
{
	return (uint32_t)trn_chip_mmio_read(rig->chip[0], offset, 4);
}

static void wr(struct rig *rig, uint64_t offset, uint32_t value)
{
	trn_chip_mmio_write(rig->chip[0], offset, value, 4);
}

static uint32_t misc_rd(struct rig *rig, uint32_t offset)
{
	return rd(rig, rig->chip[0]->gen->misc_bar0 + offset);
}

static void misc_wr(struct rig *rig, uint32_t offset, uint32_t value)
{
	wr(rig, rig->chip[0]->gen->misc_bar0 + offset, value);
}

static void misc_wait_ready(struct rig *rig)
{
	assert_true(fake_wait_reg(rig->chip[0], rig->chip[0]->gen->misc_bar0 +
				  NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
}

static uint64_t sem_reg(struct rig *rig, unsigned int core, uint32_t reg)
{
	return neuron_tpb_bar0(rig->chip[0]->gen, core) + NEURON_TPB_SEM + reg;
}

static unsigned int errors(struct rig *rig)
{
	return fake_log_count(&rig->port[0], TRN_LOG_GUEST_ERROR);
}

/* --- MISC RAM --- */

static void the_firmwares_half_is_read_only(void **state)
{
	struct rig *rig = *state;
	uint32_t off, before;

	for (off = 0; off < NEURON_MISC_FIRMWARE_END; off += 4) {
		/* Power counts its samples meanwhile. */
		if (off == NEURON_MISC_POWER(0) || off == NEURON_MISC_POWER(1))
			continue;
		before = misc_rd(rig, off);
		misc_wr(rig, off, ~before);
		assert_int_equal(misc_rd(rig, off), before);
	}
	assert_true(fake_logged(&rig->port[0], "is read-only"));
	before = errors(rig);
	misc_wr(rig, NEURON_MISC_STATUS, ~0u);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS), 0);
	assert_true(errors(rig) >= before);
}

static void a_read_only_register_says_so(void **state)
{
	struct rig *rig = *state;

	misc_wr(rig, NEURON_MISC_SERIAL_LO, 1);
	assert_int_equal(errors(rig), 1);
	assert_true(fake_logged(&rig->port[0], "MISC RAM 0x038 is read-only"));
}

static void the_rest_is_memory(void **state)
{
	struct rig *rig = *state;
	uint32_t off;

	for (off = NEURON_MISC_FIRMWARE_END; off < NEURON_MISC_SIZE; off += 4)
		if (off != NEURON_MISC_TRIGGER && off != NEURON_MISC_STATUS)
			misc_wr(rig, off, off * 0x10001);
	for (off = NEURON_MISC_FIRMWARE_END; off < NEURON_MISC_SIZE; off += 4)
		if (off != NEURON_MISC_TRIGGER && off != NEURON_MISC_STATUS)
			assert_int_equal(misc_rd(rig, off), off * 0x10001);
	assert_int_equal(misc_rd(rig, NEURON_MISC_TRIGGER), 0);
	assert_int_equal(errors(rig), 0);
}

static void power_on_values(void **state)
{
	struct rig *rig = *state;
	static const uint32_t zero[] = {
		NEURON_MISC_HEALTH, NEURON_MISC_HEARTBEAT,
		NEURON_MISC_PARTITION, NEURON_MISC_SRAM_ECC,
		NEURON_MISC_HBM_ECC(0), NEURON_MISC_HBM_ECC(3),
		NEURON_MISC_HBM_REPAIR, NEURON_MISC_RESERVATION_HI,
		NEURON_MISC_RESERVATION_LO, NEURON_MISC_ELECTION,
		NEURON_MISC_RESET_REQUEST, NEURON_MISC_REQUEST_LO,
	};
	unsigned int i;

	for (i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		assert_int_equal(misc_rd(rig, zero[i]), 0);
	assert_int_not_equal(misc_rd(rig, NEURON_MISC_BUILD), 0);
	assert_int_equal(misc_rd(rig, NEURON_MISC_API_VERSION), 4);
}

/* --- Resets --- */

static void put_marks(struct rig *rig)
{
	misc_wr(rig, NEURON_MISC_NEIGHBOUR, 0x11);
	misc_wr(rig, NEURON_MISC_ELECTION, 0x10020003);
	misc_wr(rig, NEURON_MISC_ELECTION + 8, 0x22);
	misc_wr(rig, 0xc0, 0x33);
	misc_wr(rig, NEURON_MISC_METRIC, 0x44);
	misc_wr(rig, NEURON_MISC_REQUEST_LO, 0x55);
	misc_wr(rig, NEURON_MISC_RESET_MAP, 0);
	wr(rig, sem_reg(rig, 0, NEURON_SEM_SET(3)), 7);
}

static void check_marks(struct rig *rig)
{
	assert_int_equal(misc_rd(rig, NEURON_MISC_NEIGHBOUR), 0x11);
	assert_int_equal(misc_rd(rig, NEURON_MISC_ELECTION), 0x10020003);
	assert_int_equal(misc_rd(rig, NEURON_MISC_ELECTION + 8), 0x22);
	assert_int_equal(misc_rd(rig, 0xc0), 0x33);
	assert_int_equal(misc_rd(rig, NEURON_MISC_METRIC), 0x44);
	/* Addresses of a software that may be gone do not survive. */
	assert_int_equal(misc_rd(rig, NEURON_MISC_REQUEST_LO), 0);
	assert_int_equal(rd(rig, sem_reg(rig, 0, NEURON_SEM_READ(3))), 0);
}

static void a_device_reset_keeps_the_election(void **state)
{
	struct rig *rig = *state;

	put_marks(rig);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	misc_wait_ready(rig);
	check_marks(rig);

	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(misc_rd(rig, NEURON_MISC_ELECTION), 0);
	assert_int_equal(misc_rd(rig, 0xc0), 0);
}

static void without_a_trigger_nothing_happens(void **state)
{
	struct rig *rig = *state;

	wr(rig, sem_reg(rig, 0, NEURON_SEM_SET(3)), 7);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	assert_int_equal(misc_rd(rig, NEURON_MISC_RESET_REQUEST),
			 NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 0);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS), 0);
	assert_int_equal(rd(rig, sem_reg(rig, 0, NEURON_SEM_READ(3))), 7);
}

static void an_unknown_request_is_refused(void **state)
{
	struct rig *rig = *state;

	wr(rig, sem_reg(rig, 0, NEURON_SEM_SET(3)), 7);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, 77);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	assert_int_equal(misc_rd(rig, NEURON_MISC_RESET_REQUEST), 0);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS), 0);
	assert_true(fake_logged(&rig->port[0], "unknown reset request 77"));
	assert_int_equal(rd(rig, sem_reg(rig, 0, NEURON_SEM_READ(3))), 7);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* What the firmware publishes is not there in a reset of the device. */
static void check_published(struct rig *rig, uint32_t version, bool there)
{
	assert_int_equal(version, there ? NEURON_MISC_API_VERSION_VALUE :
					  NEURON_MISC_NOT_READY);
	if (there)
		assert_int_equal(misc_rd(rig, NEURON_MISC_SERIAL_LO),
				 (uint32_t)rig->chip[0]->config.serial);
}

/* Request, status and the platform register all show it for the whole time. */
static void check_slow(struct rig *rig, uint64_t begin, bool by_misc, bool whole)
{
	const struct neuron_gen *gen = rig->chip[0]->gen;
	uint32_t request, status, platform, version;

	do {
		version = misc_rd(rig, NEURON_MISC_API_VERSION);
		request = misc_rd(rig, NEURON_MISC_RESET_REQUEST);
		status = misc_rd(rig, NEURON_MISC_STATUS);
		platform = rd(rig, gen->reset_bar0);
		if (now_ns() - begin < RESET_NS) {
			assert_int_equal(status, NEURON_MISC_STATUS_BUSY);
			assert_int_equal(platform, 1);
			assert_true(!by_misc || request);
			check_published(rig, version, !whole);
		}
	} while (status || platform || request);
	check_published(rig, misc_rd(rig, NEURON_MISC_API_VERSION), true);
	assert_true(now_ns() - begin >= RESET_NS);
}

#define HOUR_NS		3600000000000ull

/* Time is what the port says: it stands still until the test moves it. */
static void the_hosts_clock_counts(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];

	fake_clock_enable(&rig->port[0]);
	chip->config.reset_ns = HOUR_NS;
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	atomic_fetch_add(&rig->port[0].now_ns, HOUR_NS - 1);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS), NEURON_MISC_STATUS_BUSY);
	assert_int_equal(rd(rig, chip->gen->reset_bar0), 1);
	atomic_fetch_add(&rig->port[0].now_ns, 1);
	assert_true(fake_wait_reg(chip, chip->gen->misc_bar0 + NEURON_MISC_STATUS,
				  NEURON_MISC_STATUS_BUSY, 0));
	assert_int_equal(rd(rig, chip->gen->reset_bar0), 0);
}

static void a_slow_device_reset(void **state)
{
	struct rig *rig = *state;
	uint64_t begin = now_ns();

	put_marks(rig);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	check_slow(rig, begin, true, true);
	check_marks(rig);
}

static void a_slow_core_reset(void **state)
{
	struct rig *rig = *state;
	uint64_t begin = now_ns();

	misc_wr(rig, NEURON_MISC_RESET_MAP, 1);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_TPB);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	check_slow(rig, begin, true, false);
}

static void a_slow_reset_by_the_platform_register(void **state)
{
	struct rig *rig = *state;
	uint64_t begin = now_ns();

	put_marks(rig);
	wr(rig, rig->chip[0]->gen->reset_bar0, 0xffffffff);
	check_slow(rig, begin, false, true);
	check_marks(rig);
}

/* v2 writes the register and then asks by MISC RAM. */
static void both_ways_at_once(void **state)
{
	struct rig *rig = *state;
	uint64_t begin = now_ns();

	put_marks(rig);
	wr(rig, rig->chip[0]->gen->reset_bar0, 1);
	assert_int_equal(rd(rig, rig->chip[0]->gen->reset_bar0), 0);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	check_slow(rig, begin, true, true);
	check_marks(rig);
}

/* --- Reset maps --- */

static uint64_t queue_reg(struct rig *rig, unsigned int engine)
{
	return neuron_dma_bar0(rig->chip[0]->gen, engine) +
	       NEURON_UDMA_M2S_Q(2) + NEURON_UDMA_Q_LENGTH;
}

static void map_marks(struct rig *rig)
{
	const struct neuron_gen *gen = rig->chip[0]->gen;
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++) {
		wr(rig, sem_reg(rig, i, NEURON_SEM_SET(5)), i + 1);
		wr(rig, queue_reg(rig, i * 16 + 9), 64);
	}
	for (i = 0; i < gen->nr_top_sp; i++)
		wr(rig, neuron_top_sp_bar0(gen, i) + NEURON_SEM_SET(6), i + 1);
}

/* Only what the masks name is gone. */
static void map_check(struct rig *rig, uint32_t cores, uint32_t engines,
		      uint32_t top_sp)
{
	const struct neuron_gen *gen = rig->chip[0]->gen;
	unsigned int i;

	for (i = 0; i < gen->nr_cores; i++) {
		assert_int_equal(rd(rig, sem_reg(rig, i, NEURON_SEM_READ(5))),
				 cores >> i & 1 ? 0 : i + 1);
		assert_int_equal(rd(rig, queue_reg(rig, i * 16 + 9)),
				 engines >> i & 1 ? 0 : 64);
	}
	for (i = 0; i < gen->nr_top_sp; i++)
		assert_int_equal(rd(rig, neuron_top_sp_bar0(gen, i) +
					 NEURON_SEM_READ(6)),
				 top_sp >> i & 1 ? 0 : i + 1);
}

static void reset_map(struct rig *rig, uint32_t map)
{
	misc_wr(rig, NEURON_MISC_RESET_MAP, map);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_TPB);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	misc_wait_ready(rig);
}

static void maps_name_blocks(void **state)
{
	struct rig *rig = *state;

	map_marks(rig);
	reset_map(rig, 0x00040000);	/* CC-cores of core 2 */
	map_check(rig, 0, 0, 0x30);
	reset_map(rig, 0x00200000);	/* of core 5: the second group */
	map_check(rig, 0, 0, 0x3030);
	reset_map(rig, 0x00000800);	/* DMA engines of core 3 */
	map_check(rig, 0, 0x08, 0x3030);
	reset_map(rig, 0x00000040);	/* core 6 with its engines */
	map_check(rig, 0x40, 0x48, 0x3030);
	/* What public software writes for core 0, by the platform register. */
	wr(rig, rig->chip[0]->gen->reset_bar0, 0x00010101);
	misc_wait_ready(rig);
	map_check(rig, 0x41, 0x49, 0x3033);
	assert_int_equal(errors(rig), 0);
}

static void maps_of_v2(void **state)
{
	struct rig *rig = *state;

	map_marks(rig);
	reset_map(rig, 0x1000);		/* CC-core 4 */
	map_check(rig, 0, 0, 0x10);
	reset_map(rig, 0x0702);		/* core 1, CC-cores 0 to 2 */
	map_check(rig, 0x2, 0x2, 0x17);
}

/* The memories of a core whose engines are reset stay, its interrupt too. */
static void engines_alone_raise_nothing(void **state)
{
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];

	chip->core[1].sbuf[100] = 9;
	reset_map(rig, 0x200);
	assert_int_equal(chip->core[1].sbuf[100], 9);
	assert_int_equal(rd(rig, rig_core_reg(rig, 1, NEURON_CORE_CAUSE)), 0);
	assert_int_equal(rd(rig, rig_core_reg(rig, 1, NEURON_CORE_STATUS)),
			 NEURON_CORE_IDLE);
	reset_map(rig, 2);
	assert_int_equal(chip->core[1].sbuf[100], 0);
	assert_true(fake_wait_reg(chip, rig_core_reg(rig, 1, NEURON_CORE_CAUSE),
				  ~0u, NEURON_CORE_CAUSE_RESET));
}

/* --- Faults on demand --- */

static void add_fail(struct rig *rig, uint32_t unit)
{
	const struct trn_inject_rule rule = {
		.point = TRN_INJECT_RESET_FAIL, .unit = unit, .count = 1,
	};

	assert_int_equal(trn_inject_add(rig->chip[0], &rule), 0);
}

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_nsec = ms * 1000000 };

	nanosleep(&nap, NULL);
}

static void a_device_reset_that_fails(void **state)
{
	struct rig *rig = *state;

	add_fail(rig, 0);
	put_marks(rig);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	nap_ms(20);
	assert_int_equal(misc_rd(rig, NEURON_MISC_RESET_REQUEST), 0);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS),
			 NEURON_MISC_STATUS_BUSY);
	assert_int_equal(rd(rig, rig->chip[0]->gen->reset_bar0), 1);
	check_published(rig, misc_rd(rig, NEURON_MISC_API_VERSION), false);
	/* The host can still stop the chip; the next attempt works. */
	fake_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	misc_wait_ready(rig);
	check_published(rig, misc_rd(rig, NEURON_MISC_API_VERSION), true);
	check_marks(rig);
}

static void a_core_reset_that_fails(void **state)
{
	struct rig *rig = *state;
	uint64_t reset = rig_core_reg(rig, 2, NEURON_CORE_RESET);

	add_fail(rig, 1 + 2);
	wr(rig, sem_reg(rig, 2, NEURON_SEM_SET(3)), 7);
	wr(rig, reset, 1);
	nap_ms(20);
	assert_int_equal(rd(rig, reset), 1);
	assert_int_equal(rd(rig, rig_core_reg(rig, 2, NEURON_CORE_STATUS)),
			 NEURON_CORE_RESETTING);
	assert_int_equal(rd(rig, sem_reg(rig, 2, NEURON_SEM_READ(3))), 7);
	fake_chip_stop(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	wr(rig, reset, 1);
	assert_true(fake_wait_reg(rig->chip[0], reset, ~0u, 0));
	assert_int_equal(rd(rig, sem_reg(rig, 2, NEURON_SEM_READ(3))), 0);
}

/* Such a core comes back with the whole chip as well. */
static void a_device_reset_frees_a_stuck_core(void **state)
{
	struct rig *rig = *state;
	uint64_t reset = rig_core_reg(rig, 2, NEURON_CORE_RESET);

	add_fail(rig, 1 + 2);
	reset_map(rig, 0);
	wr(rig, reset, 1);
	nap_ms(5);
	assert_int_equal(rd(rig, reset), 1);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	misc_wait_ready(rig);
	assert_int_equal(rd(rig, reset), 0);
	assert_int_equal(rd(rig, rig_core_reg(rig, 2, NEURON_CORE_STATUS)),
			 NEURON_CORE_IDLE);
}

/* --- CRC, saving --- */

static void crc32c_of_known_strings(void **state)
{
	uint8_t bytes[32];
	unsigned int i;

	(void)state;
	assert_int_equal(trn_crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(trn_crc32c("", 0), 0);
	/* RFC 3720, B.4. */
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(trn_crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(trn_crc32c(bytes, sizeof(bytes)), 0x62a8ab43);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(trn_crc32c(bytes, sizeof(bytes)), 0x46dd794e);
	assert_int_equal(~trn_crc32c_update(trn_crc32c_update(TRN_CRC32C_INIT,
							      bytes, 11),
					    bytes + 11, 21), 0x46dd794e);
}

static void reset_and_ram_are_saved(void **state)
{
	struct rig *rig = *state;
	struct state_stream stream = { 0 };
	struct trn_state st;
	uint64_t begin = now_ns();

	misc_wr(rig, NEURON_MISC_ELECTION, 0x77);
	misc_wr(rig, NEURON_MISC_RESET_REQUEST, NEURON_MISC_RESET_DEVICE);
	misc_wr(rig, NEURON_MISC_TRIGGER, 1);
	fake_chip_stop(rig->chip[0]);
	st = state_stream_save(&stream);
	trn_firmware_state(rig->chip[0], &st);
	trn_reset_state(rig->chip[0], &st);
	assert_null(st.why);

	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	assert_int_equal(misc_rd(rig, NEURON_MISC_STATUS), 0);
	st = state_stream_load(&stream);
	trn_firmware_state(rig->chip[0], &st);
	trn_reset_state(rig->chip[0], &st);
	assert_null(st.why);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(misc_rd(rig, NEURON_MISC_ELECTION), 0x77);
	check_slow(rig, begin, true, true);
}

#define RIG(test, how)	cmocka_unit_test_setup_teardown(test, how, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(the_firmwares_half_is_read_only, rig_setup),
		RIG(a_read_only_register_says_so, rig_setup),
		RIG(the_rest_is_memory, rig_setup),
		RIG(power_on_values, rig_setup),
		RIG(power_on_values, rig_setup_trn1),
		RIG(a_device_reset_keeps_the_election, rig_setup),
		RIG(a_device_reset_keeps_the_election, rig_setup_trn1),
		RIG(without_a_trigger_nothing_happens, rig_setup),
		RIG(an_unknown_request_is_refused, rig_setup),
		RIG(the_hosts_clock_counts, rig_setup),
		RIG(a_slow_device_reset, setup_slow),
		RIG(a_slow_device_reset, setup_slow_trn1),
		RIG(a_slow_core_reset, setup_slow),
		RIG(a_slow_reset_by_the_platform_register, setup_slow),
		RIG(both_ways_at_once, setup_slow_trn1),
		RIG(maps_name_blocks, rig_setup),
		RIG(maps_of_v2, rig_setup_trn1),
		RIG(engines_alone_raise_nothing, rig_setup),
		RIG(a_device_reset_that_fails, rig_setup),
		RIG(a_core_reset_that_fails, rig_setup),
		RIG(a_device_reset_frees_a_stuck_core, rig_setup),
		cmocka_unit_test(crc32c_of_known_strings),
		RIG(reset_and_ram_are_saved, setup_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
