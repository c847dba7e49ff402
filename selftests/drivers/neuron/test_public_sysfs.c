// SPDX-License-Identifier: MIT
/*
 * The public driver's sysfs tree, which a module parameter turns on.
 */
#include <ftw.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "uevents.h"

#define TREE	"/sys/devices/virtual/neuron_device/"

static int reload(const char *options)
{
	char command[128];
	int ret = neuron_unload();

	if (ret)
		return ret;
	snprintf(command, sizeof(command), "modprobe neuron %s", options);
	return system(command);
}

FIXTURE(tree) {
	struct rig rig;
	struct drm_neuron_device_info info;
	int loaded;
};

FIXTURE_SETUP(tree)
{
	int fd = neuron_open(0);

	self->loaded = 0;
	if (fd < 0)
		SKIP(return, "no neuron device");
	close(fd);
	EXPECT_NE(0, access(TREE, F_OK)) TH_LOG("it must be off at first");
	ASSERT_EQ(0, reload("public_sysfs=1"));
	self->loaded = 1;
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	ASSERT_EQ(0, neuron_query(self->rig.fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
}

FIXTURE_TEARDOWN(tree)
{
	rig_close(&self->rig);
	if (!self->loaded)
		return;
	EXPECT_EQ(0, reload(""));
	EXPECT_NE(0, access(TREE, F_OK));
}

/* The text of a file of the first device's tree, or "(error)". */
static const char *text(const struct drm_neuron_device_info *info,
			const char *name)
{
	static char to[4096];
	char path[256];
	ssize_t ret;

	snprintf(path, sizeof(path), TREE "neuron%u/%s", info->fabric_id, name);
	ret = neuron_read_file(path, to, sizeof(to));
	if (ret < 0)
		snprintf(to, sizeof(to), "(%s)", strerror((int)-ret));
	return to;
}

static long long number(const struct drm_neuron_device_info *info,
			const char *name)
{
	const char *from = text(info, name);
	long long value;
	char *end;

	value = strtoll(from, &end, 10);
	return end == from || strcmp(end, "\n") ? -1 : value;
}

static unsigned int files, bad;
static char bad_name[512];

static int visit(const char *path, const struct stat *st, int type,
		 struct FTW *where)
{
	char to[4096];

	if (type != FTW_F || !(st->st_mode & 0400) || strstr(path, "/power/r") ||
	    strstr(path, "/power/async") || strstr(path, "/power/auto") ||
	    strstr(path, "/power/control") || strstr(path, "/uevent"))
		return 0;
	files++;
	if (neuron_read_file(path, to, sizeof(to)) > 0)
		return 0;
	bad++;
	snprintf(bad_name, sizeof(bad_name), "%s", path);
	return 0;
}

TEST_F(tree, everything)
{
	char want[64];
	unsigned int i;

	ASSERT_EQ(0, nftw(TREE, visit, 16, FTW_PHYS));
	EXPECT_EQ(0, bad) TH_LOG("%s", bad_name);
	EXPECT_GT(files, 50 * self->info.nr_cores);

	EXPECT_EQ(self->info.nr_cores, number(&self->info, "core_count"));
	snprintf(want, sizeof(want), "%016llx\n", (long long)self->info.serial);
	EXPECT_STREQ(want, text(&self->info, "info/serial_number"));
	snprintf(want, sizeof(want), "%s\n", self->info.name);
	EXPECT_STREQ(want, text(&self->info, "info/architecture/device_name"));
	EXPECT_NE(NULL, strstr(text(&self->info, "info/architecture/arch_type"),
			       "NDv"));
	EXPECT_EQ(0, number(&self->info, "stats/hardware/sram_ecc_uncorrected"));
	EXPECT_EQ(0, number(&self->info, "stats/hardware/mem_ecc_uncorrected"));
	EXPECT_NE(NULL, strstr(text(&self->info, "stats/power/utilization"),
			       "POWER_STATUS_"));
	for (i = 0; i < self->info.nr_cores; i++) {
		snprintf(want, sizeof(want),
			 "neuron_core%u/stats/tensor_engine/pe_cntrs", i);
		EXPECT_EQ(0, strncmp("xrow_grp,mm_active,wl_active,idle\n0,",
				     text(&self->info, want), 36));
	}
}

/* The last file that is made. */
#define LAST_FILE	"stats/memory_usage/device_mem/application_memory/peak"

/*
 * In a process of its own, which hears the uevents from now on: wait for the one that adds the
 * first device's directory. Its exit status is 0 if all files are there by then.
 */
static pid_t expect_complete_tree(const struct drm_neuron_device_info *info)
{
	char name[64], file[256];
	const char * const variables[] = { "ACTION=add", "SUBSYSTEM=neuron_device", name, NULL };
	int fd = uevents_open();
	pid_t pid;

	snprintf(name, sizeof(name), "DEVPATH=/devices/virtual/neuron_device/neuron%u",
		 info->fabric_id);
	snprintf(file, sizeof(file), TREE "neuron%u/neuron_core%u/" LAST_FILE, info->fabric_id,
		 info->nr_cores - 1);
	pid = fork();
	if (!pid) {
		if (!uevents_wait(fd, variables, 60000))
			_exit(2);
		_exit(access(file, F_OK) ? 1 : 0);
	}
	close(fd);
	return pid;
}

#define TURNS	3

/* Whoever hears of the device finds all of its files, and hears once of its end. */
TEST_F(tree, uevent_comes_last)
{
	const char * const removed[] = { "ACTION=remove", "SUBSYSTEM=neuron_device", NULL };
	int i, status, fd;
	pid_t pid;

	rig_close(&self->rig);
	for (i = 0; i < TURNS; i++) {
		pid = expect_complete_tree(&self->info);
		ASSERT_LT(0, pid);
		fd = uevents_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, reload("public_sysfs=1"));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) TH_LOG("0x100: files were missing, 0x200: no uevent");
		EXPECT_TRUE(uevents_wait(fd, removed, 10000));
		close(fd);
	}
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
}

/* A server by itself. */
TEST_F(tree, class_files)
{
	static const struct {
		const char *name;
		const char *want;
	} files_of_class[] = {
		{ "node_id_2", "-1\n" },
		{ "node_id_4", "-1\n" },
		{ "server_id_2", "0000000000000000\n" },
		{ "server_id_4", "0000000000000000\n" },
		{ "ultraserver_mode", "\n" },
	};
	char path[64], to[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files_of_class); i++) {
		snprintf(path, sizeof(path), "/sys/class/neuron_device/%s",
			 files_of_class[i].name);
		ASSERT_LT(0, neuron_read_file(path, to, sizeof(to)));
		EXPECT_STREQ(files_of_class[i].want, to);
	}
}

static int clear(const struct drm_neuron_device_info *info, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), TREE "neuron%u/%s", info->fabric_id, name);
	return neuron_write_file(path, "0");
}

#define STATUS	"neuron_core0/stats/status/"
#define OTHER	"neuron_core0/stats/other_info/"

TEST_F(tree, counters)
{
	struct drm_neuron_post_entry entry = {
		.counter = DRM_NEURON_STATUS_SW_NQ_OVERFLOW,
		.add = 3,
	};
	struct drm_neuron_post post = {
		.claim = self->rig.claim,
		.core = self->rig.core,
		.entries = {
			.stride = sizeof(entry),
			.count = 1,
			.pointer = (uintptr_t)&entry,
		},
	};

	must(self->rig.fd, POST, &post);
	entry.counter = DRM_NEURON_STATUS_MODEL_LOAD_COUNT;
	must(self->rig.fd, POST, &post);
	EXPECT_EQ(3, number(&self->info, STATUS "execute_sw_nq_overflow/total"));
	EXPECT_EQ(3, number(&self->info, STATUS "execute_sw_nq_overflow/present"));
	EXPECT_EQ(0, number(&self->info, STATUS "success/total"));
	EXPECT_EQ(3, number(&self->info, OTHER "model_load_count/total"));

	/* Present is the owner's. */
	ASSERT_EQ(0, rig_release(self->rig.fd, self->rig.claim));
	EXPECT_EQ(3, number(&self->info, STATUS "execute_sw_nq_overflow/total"));
	EXPECT_EQ(0, number(&self->info, STATUS "execute_sw_nq_overflow/present"));
	EXPECT_EQ(0, clear(&self->info, STATUS "execute_sw_nq_overflow/total"));
	EXPECT_EQ(0, number(&self->info, STATUS "execute_sw_nq_overflow/total"));

	EXPECT_LT(0, number(&self->info, OTHER "reset_req_count/total"));
	EXPECT_EQ(0, number(&self->info, OTHER "reset_fail_count/total"));
	EXPECT_EQ(0, clear(&self->info, OTHER "reset_req_count/total"));
	EXPECT_EQ(0, number(&self->info, OTHER "reset_req_count/total"));
	EXPECT_EQ(0, number(&self->info, OTHER "nc_time_in_use/total"));
}

TEST_F(tree, time_in_use)
{
	struct drm_neuron_wait_job result;

	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	ASSERT_EQ(0, rig_run(&self->rig, 50, &result));
	EXPECT_LE(50000, number(&self->info, OTHER "nc_time_in_use/total"));
}

#define HOST	"stats/memory_usage/host_mem/"
#define DEVICE	"neuron_core0/stats/memory_usage/device_mem/"

/* Bytes and peaks by category, beside those of the ioctl; the peak begins anew. */
TEST_F(tree, memory)
{
	const struct drm_neuron_device_info *info = &self->info;
	struct drm_neuron_usage_info usage[DRM_NEURON_NR_CATEGORIES];
	struct drm_neuron_bo_create bo = {
		.size = 3 << 20,
		.placement = DRM_NEURON_BO_HBM,
		.category = DRM_NEURON_CATEGORY_CONSTANTS,
	};
	long long total = number(info, DEVICE "total");
	char name[64];

	EXPECT_EQ(0, number(info, DEVICE "constants/total"));
	must(self->rig.fd, BO_CREATE, &bo);
	EXPECT_EQ(bo.size, number(info, DEVICE "constants/total"));
	EXPECT_EQ(bo.size, number(info, DEVICE "constants/present"));
	EXPECT_EQ(total + (long long)bo.size, number(info, DEVICE "total"));
	ASSERT_EQ(0, neuron_query(self->rig.fd, DRM_NEURON_QUERY_USAGE, usage,
				  sizeof(usage)));
	EXPECT_EQ(usage[bo.category].hbm, bo.size);
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, bo.handle));
	EXPECT_EQ(0, number(info, DEVICE "constants/total"));
	EXPECT_EQ(bo.size, number(info, DEVICE "constants/peak"));
	EXPECT_EQ(0, clear(info, DEVICE "constants/peak"));
	EXPECT_EQ(0, number(info, DEVICE "constants/peak"));

	bo.placement = DRM_NEURON_BO_HOST;
	must(self->rig.fd, BO_CREATE, &bo);
	EXPECT_EQ(bo.size, number(info, HOST "constants/total"));
	EXPECT_EQ(0, number(info, DEVICE "constants/total"));
	ASSERT_EQ(0, neuron_bo_close(self->rig.fd, bo.handle));
	EXPECT_EQ(bo.size, number(info, HOST "constants/peak"));
	EXPECT_EQ(0, number(info, HOST "constants/total"));

	/* A core that shares its stack with an earlier one. */
	snprintf(name, sizeof(name), "neuron_core%u/stats/memory_usage/device_mem/total",
		 self->info.nr_cores - 1);
	if (self->info.nr_hbm < self->info.nr_cores)
		EXPECT_EQ(0, number(info, name));
}

static uint64_t device_resets(int fd)
{
	struct drm_neuron_counter_info info;
	int ret = neuron_query(fd, DRM_NEURON_QUERY_COUNTERS, &info, sizeof(info));

	return ret ? 0 : info.device_resets;
}

/* The whole device, soon: what there was is lost. */
TEST_F(tree, reset)
{
	char path[256];
	int i;

	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&self->rig, 60000, NULL));
	ASSERT_EQ(0, device_resets(self->rig.fd));
	snprintf(path, sizeof(path), TREE "neuron%u/reset", self->info.fabric_id);
	ASSERT_EQ(0, neuron_write_file(path, "1"));
	for (i = 0; i < 600 && !device_resets(self->rig.fd); i++)
		usleep(100000);
	EXPECT_EQ(1, device_resets(self->rig.fd));
	EXPECT_EQ(-EIO, rig_start(&self->rig, 60000));
	rig_close(&self->rig);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	rig_halt(&self->rig, NEURON_ENGINE_SYNC);
	EXPECT_EQ(0, rig_run(&self->rig, 60000, NULL));
}

/* Milliseconds that the device has been awake, or -1. */
static long long awake_ms(const char *power)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "%s/runtime_active_time", power);
	return neuron_read_line(path, line, sizeof(line)) ? -1 : atoll(line);
}

static bool sleeps(const char *power)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "%s/runtime_status", power);
	return !neuron_read_line(path, line, sizeof(line)) &&
	       !strcmp(line, "suspended");
}

/*
 * The samples of its power, one every five seconds, let an idle device sleep. That time cannot be
 * set, so the test waits for two of them. The delay of the sleep can; the next load sets it again.
 */
TEST_F(tree, idle_device_sleeps)
{
	char address[16], power[64], path[96];
	int64_t end = rig_now_ms() + 20000;
	long long before;

	ASSERT_EQ(0, neuron_pci_address(self->rig.fd, address));
	snprintf(power, sizeof(power), "/sys/bus/pci/devices/%s/power", address);
	snprintf(path, sizeof(path), "%s/autosuspend_delay_ms", power);
	ASSERT_EQ(0, neuron_write_file(path, "50"));
	snprintf(path, sizeof(path), "%s/control", power);
	ASSERT_EQ(0, neuron_write_file(path, "auto"));
	rig_close(&self->rig);
	while (!sleeps(power) && rig_now_ms() < end)
		usleep(20000);
	ASSERT_TRUE(sleeps(power));
	before = awake_ms(power);
	sleep(11);
	EXPECT_EQ(before, awake_ms(power));
	EXPECT_TRUE(sleeps(power));
	EXPECT_EQ(0, number(&self->info, "stats/hardware/sram_ecc_uncorrected"));
	EXPECT_EQ(before, awake_ms(power));
	EXPECT_EQ(0, neuron_write_file(path, "on"));
}

TEST_HARNESS_MAIN
