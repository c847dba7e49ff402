// SPDX-License-Identifier: MIT
/*
 * Power management: sleep when idle, and of the whole machine. Nothing is lost.
 */
#include <time.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define MIB	(1024ull * 1024)
#define LIMIT	60000	/* ms */

/* How long a device waits before it sleeps; what it is by default would fill minutes. */
#define DELAY		100	/* ms */
#define DELAY_TEXT	"100"

/* The kernel's test of sleep waits so many seconds, by default five. */
#define TEST_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

/* The kernel complains of a processor that does nothing else for twice as many seconds. */
#define WATCHDOG	"/proc/sys/kernel/watchdog_thresh"

FIXTURE(pm) {
	char power[64];
	char address[16];
	char delay[16];
	int fd;
};

static int attribute_set(const char *power, const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", power, name);
	return neuron_write_file(path, text);
}

static bool status_is(const char *power, const char *wanted)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "%s/runtime_status", power);
	return !neuron_read_line(path, text, sizeof(text)) &&
	       !strcmp(text, wanted);
}

static bool becomes(const char *power, const char *wanted)
{
	int64_t end = rig_now_ms() + LIMIT;

	while (!status_is(power, wanted)) {
		if (rig_now_ms() > end)
			return false;
		usleep(50000);
	}
	return true;
}

/* Longer than the device waits before it goes to sleep. */
static bool stays_active(const char *power)
{
	int i;

	for (i = 0; i < 20; i++) {
		if (!status_is(power, "active"))
			return false;
		usleep(DELAY * 1000);
	}
	return true;
}

/* Returns 0 or a negative errno, and in @before what the delay was. */
static int shorten_delay(const char *power, char *before, size_t size)
{
	char path[96];
	int ret;

	snprintf(path, sizeof(path), "%s/autosuspend_delay_ms", power);
	ret = neuron_read_line(path, before, size);
	return ret ? ret : neuron_write_file(path, DELAY_TEXT);
}

FIXTURE_SETUP(pm)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_pci_address(self->fd, self->address));
	snprintf(self->power, sizeof(self->power),
		 "/sys/bus/pci/devices/%s/power", self->address);
	ASSERT_EQ(0, shorten_delay(self->power, self->delay, sizeof(self->delay)));
	ASSERT_EQ(0, attribute_set(self->power, "control", "auto"));
}

FIXTURE_TEARDOWN(pm)
{
	if (self->fd >= 0)
		close(self->fd);
	EXPECT_EQ(0, attribute_set(self->power, "autosuspend_delay_ms", self->delay));
	EXPECT_EQ(0, attribute_set(self->power, "control", "on"));
	EXPECT_TRUE(status_is(self->power, "active"));
}

static int job_works(struct rig *rig)
{
	struct drm_neuron_wait_job result;
	int ret;

	rig_clear(rig);
	rig_store(rig, NEURON_ENGINE_SYNC, 0, 0xa11fe);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	ret = rig_run(rig, LIMIT, &result);
	if (!ret && result.status != NEURON_JOB_OK)
		ret = -EIO;
	return !ret && memcmp(rig->data, "\xfe\x11\x0a", 4) ? -EILSEQ : ret;
}

TEST_F(pm, sleeps_when_closed)
{
	struct rig rig;
	int i;

	EXPECT_TRUE(stays_active(self->power));
	for (i = 0; i < 3; i++) {
		close(self->fd);
		EXPECT_TRUE(becomes(self->power, "suspended"));
		self->fd = neuron_open(0);
		ASSERT_GE(self->fd, 0);
		EXPECT_TRUE(status_is(self->power, "active"));
		ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
		EXPECT_EQ(0, job_works(&rig));
		rig_close(&rig);
	}
}

TEST_F(pm, on_means_on)
{
	ASSERT_EQ(0, attribute_set(self->power, "control", "on"));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(stays_active(self->power));
}

/* Milliseconds that the device has been awake, as the kernel counts them. */
static long long awake_ms(const char *power)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "%s/runtime_active_time", power);
	return neuron_read_line(path, text, sizeof(text)) ? -1 : atoll(text);
}

static const char * const attributes[] = {
	"connected_devices", "die0_power", "throttle", "throttle_reason",
	"hbm_repair", "ecc/sram_corrected", "ecc/hbm0_uncorrected",
	"counters/violations", "counters/stale_posts", "counters/faults",
	"core0/tensor/idle_cycles", "links/0/state", "links/0/bytes_sent",
	"dma/0/bytes", "dma/0/queue_bytes", "dma/0/queue_descriptors",
};

#define NR_ATTRIBUTES	(sizeof(attributes) / sizeof(attributes[0]))

/* Those of the device at @address. */
static int read_attribute(const char *address, const char *name, char text[128])
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, name);
	return neuron_read_line(path, text, 128);
}

/* A job that reads outside of its window, which the chip counts. */
static int violate(struct rig *rig)
{
	struct neuron_inst *inst;

	rig_clear(rig);
	inst = rig_emit(rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, RIG_HALF);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	return rig_run(rig, LIMIT, NULL);
}

/* A job with a copy, by the first queue of the core's first DMA engine. */
static int move_bytes(struct rig *rig)
{
	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, neuron_window_addr(RIG_WINDOW_DATA, 4096),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	return rig_run(rig, LIMIT, NULL);
}

/* What sysfs says does not depend on who sleeps, and nobody wakes up for it. */
TEST_F(pm, attributes_let_it_sleep)
{
	char awake[NR_ATTRIBUTES][128], asleep[128];
	long long before;
	struct rig rig;
	unsigned int i;

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	ASSERT_EQ(0, move_bytes(&rig));
	ASSERT_EQ(0, violate(&rig));
	for (i = 0; i < NR_ATTRIBUTES; i++)
		ASSERT_EQ(0, read_attribute(self->address, attributes[i], awake[i]))
			TH_LOG("%s", attributes[i]);
	EXPECT_NE(0, atoi(awake[7])) TH_LOG("no violation was counted");
	EXPECT_NE(0, atoll(awake[10])) TH_LOG("no time of the array was counted");
	EXPECT_NE(0, atoll(awake[13])) TH_LOG("no transfer was counted");
	rig_close(&rig);
	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(becomes(self->power, "suspended"));
	before = awake_ms(self->power);
	ASSERT_LE(0, before);
	for (i = 0; i < NR_ATTRIBUTES; i++) {
		ASSERT_EQ(0, read_attribute(self->address, attributes[i], asleep))
			TH_LOG("%s", attributes[i]);
		EXPECT_STREQ(awake[i], asleep) TH_LOG("%s", attributes[i]);
	}
	EXPECT_TRUE(status_is(self->power, "suspended"));
	EXPECT_EQ(before, awake_ms(self->power));
	/* Sums go on when it wakes up, and nothing is counted twice. */
	self->fd = neuron_open(0);
	ASSERT_LE(0, self->fd);
	for (i = 7; i < NR_ATTRIBUTES; i++) {
		ASSERT_EQ(0, read_attribute(self->address, attributes[i], asleep));
		EXPECT_STREQ(awake[i], asleep) TH_LOG("%s", attributes[i]);
	}
}

/* Whoever looks at it all the time does not keep it awake either. */
TEST_F(pm, attributes_do_not_keep_it_awake)
{
	int64_t end = rig_now_ms() + LIMIT;
	char text[128];

	close(self->fd);
	self->fd = -1;
	while (!status_is(self->power, "suspended") && rig_now_ms() < end) {
		ASSERT_EQ(0, read_attribute(self->address, "throttle", text));
		usleep(DELAY * 100);
	}
	EXPECT_TRUE(status_is(self->power, "suspended"));
}

/* A file that is not the device's keeps the buffer, and the buffer the device. */
TEST_F(pm, memory_keeps_it_awake)
{
	struct drm_neuron_bo_create bo;
	uint8_t *p = malloc(MIB);
	uint32_t handle;
	int dma_buf;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &bo));
	neuron_fill(p, MIB, 5);
	ASSERT_EQ(0, neuron_write(self->fd, bo.handle, 0, p, MIB));
	dma_buf = neuron_export(self->fd, bo.handle);
	ASSERT_GE(dma_buf, 0);
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(stays_active(self->power));

	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, neuron_import(self->fd, dma_buf, &handle));
	memset(p, 0, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 5));
	close(dma_buf);
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(becomes(self->power, "suspended"));
	free(p);
}

TEST_F(pm, reset_wakes_it_up)
{
	char path[64];

	close(self->fd);
	self->fd = -1;
	ASSERT_TRUE(becomes(self->power, "suspended"));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset",
		 self->address);
	ASSERT_EQ(0, neuron_write_file(path, "1"));
	EXPECT_TRUE(becomes(self->power, "suspended"));
	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
}

/*
 * Sleep of the machine, as far as its devices: pm_test brings it back. Not by the
 * fixture above: here the device is awake, and asleep in a variant.
 */
FIXTURE(sleep) {
	char power[64];
	char delay[16];
	char watchdog[16];
	int fd;
};

FIXTURE_VARIANT(sleep) {
	const char *state;
};

FIXTURE_VARIANT_ADD(sleep, mem) {
	.state = "mem",
};

FIXTURE_VARIANT_ADD(sleep, freeze) {
	.state = "freeze",
};

/* Its devices freeze, thaw and go on. */
FIXTURE_VARIANT_ADD(sleep, disk) {
	.state = "disk",
};

FIXTURE_SETUP(sleep)
{
	char states[64], address[16];

	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_pci_address(self->fd, address));
	snprintf(self->power, sizeof(self->power),
		 "/sys/bus/pci/devices/%s/power", address);
	if (neuron_read_line("/sys/power/state", states, sizeof(states)) ||
	    !strstr(states, variant->state))
		SKIP(return, "this machine cannot do that");
	if (neuron_write_file("/sys/power/pm_test", "devices"))
		SKIP(return, "this kernel has no pm_test");
	ASSERT_EQ(0, neuron_write_file(TEST_DELAY, "1"));
	/*
	 * Hibernation has a wait of its own, which nothing shortens: it spins for five seconds. On
	 * a busy host that is half a minute.
	 */
	ASSERT_EQ(0, neuron_read_line(WATCHDOG, self->watchdog, sizeof(self->watchdog)));
	ASSERT_EQ(0, neuron_write_file(WATCHDOG, "60"));
	ASSERT_EQ(0, shorten_delay(self->power, self->delay, sizeof(self->delay)));
}

FIXTURE_TEARDOWN(sleep)
{
	close(self->fd);
	EXPECT_EQ(0, attribute_set(self->power, "autosuspend_delay_ms", self->delay));
	neuron_write_file("/sys/power/pm_test", "none");
	if (self->watchdog[0])
		EXPECT_EQ(0, neuron_write_file(WATCHDOG, self->watchdog));
}

/* Everything that would be lost keeps the machine awake. */
TEST_F(sleep, refused)
{
	struct drm_neuron_bo_create bo;
	struct drm_neuron_claim claim;

	ASSERT_EQ(0, rig_claim(self->fd, 0, 1, &claim));
	EXPECT_EQ(-EBUSY, neuron_write_file("/sys/power/state",
					    variant->state));
	ASSERT_EQ(0, rig_release(self->fd, claim.claim));
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, MIB,
				      &bo));
	EXPECT_EQ(-EBUSY, neuron_write_file("/sys/power/state",
					    variant->state));
	ASSERT_EQ(0, neuron_bo_close(self->fd, bo.handle));
}

/* An open file and its host memory live through it. */
TEST_F(sleep, open_file)
{
	struct drm_neuron_bo_create host;
	uint8_t *p = malloc(MIB);
	struct rig rig;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HOST, 0, MIB,
				      &host));
	neuron_fill(p, MIB, 7);
	ASSERT_EQ(0, neuron_write(self->fd, host.handle, 0, p, MIB));
	ASSERT_EQ(0, neuron_write_file("/sys/power/state", variant->state));
	memset(p, 0, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, host.handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 7));
	ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
	EXPECT_EQ(0, job_works(&rig));
	rig_close(&rig);
	free(p);
}

TEST_F(sleep, device_asleep)
{
	struct rig rig;

	ASSERT_EQ(0, attribute_set(self->power, "control", "auto"));
	close(self->fd);
	EXPECT_TRUE(becomes(self->power, "suspended"));
	EXPECT_EQ(0, neuron_write_file("/sys/power/state", variant->state));
	EXPECT_TRUE(becomes(self->power, "suspended"));
	ASSERT_EQ(0, attribute_set(self->power, "control", "on"));
	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, rig_open(&rig, 0, RIG_ANY_CORE));
	EXPECT_EQ(0, job_works(&rig));
	rig_close(&rig);
}

TEST_HARNESS_MAIN
