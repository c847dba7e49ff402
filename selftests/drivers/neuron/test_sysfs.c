// SPDX-License-Identifier: MIT
/*
 * What the device says about itself in sysfs: all of it can be read and
 * makes sense, also while the device goes away.
 */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>

#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

FIXTURE(sysfs) {
	int fd;
	char dir[256];
	struct drm_neuron_device_info info;
};

FIXTURE_SETUP(sysfs)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_sysfs_dir(self->fd, self->dir, sizeof(self->dir)));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
}

FIXTURE_TEARDOWN(sysfs)
{
	if (self->fd >= 0)
		close(self->fd);
}

#define expect_range(name, low, high) do { \
	long long value_ = neuron_sysfs_number(self->fd, name); \
	EXPECT_GE(value_, low) TH_LOG("%s", name); \
	EXPECT_LE(value_, high) TH_LOG("%s", name); \
} while (0)

TEST_F(sysfs, device)
{
	char name[32];
	unsigned int i;

	expect_range("core_count", self->info.nr_cores, self->info.nr_cores);
	expect_range("fabric_id", self->info.fabric_id, self->info.fabric_id);
	expect_range("memory_size", 1, 1ll << 50);
	expect_range("die0_power", 0, 10000);
	expect_range("throttle", 1, 100);
	expect_range("throttle_reason", 0, 2);
	expect_range("hbm_repair", 0, 2);
	expect_range("ecc/sram_corrected", 0, 0xffff);
	expect_range("ecc/sram_uncorrected", 0, 0xffff);
	for (i = 0; i < self->info.nr_hbm; i++) {
		snprintf(name, sizeof(name), "ecc/hbm%u_corrected", i);
		expect_range(name, 0, 0xffff);
		snprintf(name, sizeof(name), "ecc/hbm%u_uncorrected", i);
		expect_range(name, 0, 0xffff);
	}
	snprintf(name, sizeof(name), "ecc/hbm%u_corrected", i);
	EXPECT_EQ(-ENOENT, neuron_sysfs_number(self->fd, name));
	for (i = 0; i < self->info.nr_cores; i++) {
		snprintf(name, sizeof(name), "core%u/jobs", i);
		expect_range(name, 0, 1ll << 40);
	}
	snprintf(name, sizeof(name), "core%u/jobs", i);
	EXPECT_EQ(-ENOENT, neuron_sysfs_number(self->fd, name));
}

TEST_F(sysfs, counters)
{
	static const char * const names[] = {
		"counters/faults", "counters/violations", "counters/hangs",
		"counters/core_resets", "counters/device_resets",
		"counters/reset_failures", "counters/lost_interrupts",
		"counters/copy_errors", "counters/link_changes",
		"counters/stale_posts",
	};
	struct drm_neuron_wait_job result;
	struct neuron_inst *inst;
	long long before[10];
	struct rig rig;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		before[i] = neuron_sysfs_number(self->fd, names[i]);
		EXPECT_GE(before[i], 0) TH_LOG("%s", names[i]);
	}
	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_FREE, 0);
	ASSERT_EQ(0, rig_run(&rig, 5000, &result));
	ASSERT_EQ(NEURON_CAUSE_WINDOW, result.cause);
	rig_clear(&rig);
	rig_loop(&rig, NEURON_ENGINE_SYNC, 0);
	ASSERT_EQ(0, rig_run(&rig, 50, &result));
	ASSERT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	rig_close(&rig);
	EXPECT_EQ(before[0] + 1, neuron_sysfs_number(self->fd, names[0]));
	EXPECT_EQ(before[1] + 1, neuron_sysfs_number(self->fd, names[1]));
	EXPECT_EQ(before[2] + 1, neuron_sysfs_number(self->fd, names[2]));
	/* Of the claim, of the hang, of the release. */
	EXPECT_EQ(before[3] + 3, neuron_sysfs_number(self->fd, names[3]));
	for (i = 4; i < 10; i++) {
		if (i != 6)
			EXPECT_EQ(before[i],
				  neuron_sysfs_number(self->fd, names[i]))
				TH_LOG("%s", names[i]);
	}
}

#define BYTES	4096

/**
 * struct moved - what DMA queues have moved
 * @descriptors: how many
 * @bytes: of what they describe
 */
struct moved {
	long long descriptors;
	long long bytes;
};

/* What DMA engines @first to @first + @nr - 1 have moved, as their files say. */
static struct moved read_engines(int fd, unsigned int first, unsigned int nr)
{
	struct moved moved = { 0 };
	char name[64];
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		snprintf(name, sizeof(name), "dma/%u/descriptors", i);
		moved.descriptors += neuron_sysfs_number(fd, name);
		snprintf(name, sizeof(name), "dma/%u/bytes", i);
		moved.bytes += neuron_sysfs_number(fd, name);
	}
	return moved;
}

/* A copy of BYTES bytes to @to. */
static int copy_to(struct rig *rig, uint64_t to)
{
	struct drm_neuron_wait_job result;
	int ret;

	rig_clear(rig);
	rig_copy(rig, NEURON_ENGINE_SYNC, to, neuron_window_addr(RIG_WINDOW_DATA, 0), BYTES);
	rig_halt(rig, NEURON_ENGINE_SYNC);
	ret = rig_run(rig, 20000, &result);
	return ret ? ret : result.cause;
}

/* Each engine counts what it moves, for a job and for the kernel's copies. */
TEST_F(sysfs, dma)
{
	unsigned int kernel = self->info.generation == 2 ? 32 : 128;
	unsigned int nr_kernel = self->info.generation == 2 ? 2 : 4;
	struct moved before, after;
	uint8_t data[BYTES] = { 0 };
	struct rig rig;
	char name[64];

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	before = read_engines(self->fd, 0, 1);
	ASSERT_LE(0, before.descriptors);
	ASSERT_LE(0, before.bytes);
	ASSERT_EQ(0, copy_to(&rig, neuron_window_addr(RIG_WINDOW_DATA, BYTES)));
	after = read_engines(self->fd, 0, 1);
	EXPECT_EQ(before.descriptors + 1, after.descriptors);
	EXPECT_EQ(before.bytes + BYTES, after.bytes);

	before = read_engines(self->fd, kernel, nr_kernel);
	ASSERT_EQ(0, neuron_write(rig.fd, rig.bo, 0, data, BYTES));
	after = read_engines(self->fd, kernel, nr_kernel);
	EXPECT_LT(before.descriptors, after.descriptors);
	EXPECT_LE(before.bytes + BYTES, after.bytes);
	rig_close(&rig);
	/* A directory for each engine that there is. */
	snprintf(name, sizeof(name), "dma/%u/bytes", kernel + nr_kernel);
	EXPECT_EQ(-ENOENT, neuron_sysfs_number(self->fd, name));
}

static long long link_sum(int fd, unsigned int links, const char *name)
{
	long long sum = 0;
	unsigned int i;
	char path[64];

	for (i = 0; i < links; i++) {
		snprintf(path, sizeof(path), "links/%u/%s", i, name);
		sum += neuron_sysfs_number(fd, path);
	}
	return sum;
}

/* The files and the query say the same of each link. */
static bool links_agree(int fd, unsigned int links)
{
	struct drm_neuron_link_counter_info info[16] = { 0 };
	unsigned int i;
	char name[64];

	if (neuron_query(fd, DRM_NEURON_QUERY_LINK_COUNTERS, info, links * sizeof(info[0])))
		return false;
	for (i = 0; i < links; i++) {
		snprintf(name, sizeof(name), "links/%u/bytes_sent", i);
		if (neuron_sysfs_number(fd, name) != (long long)info[i].bytes_sent)
			return false;
		snprintf(name, sizeof(name), "links/%u/bytes_received", i);
		if (neuron_sysfs_number(fd, name) != (long long)info[i].bytes_received)
			return false;
		snprintf(name, sizeof(name), "links/%u/errors", i);
		if (neuron_sysfs_number(fd, name) != (long long)info[i].errors)
			return false;
	}
	return true;
}

TEST_F(sysfs, links)
{
	struct drm_neuron_link_info info[16];
	struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE,
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_WRITE,
		.length = BYTES,
	};
	int peer = neuron_open(1), dma_buf;
	struct drm_neuron_bo_create bo;
	long long sent, received;
	struct rig rig;
	char name[64];
	unsigned int i;

	if (peer < 0 || !self->info.nr_links)
		SKIP(return, "one chip only");
	ASSERT_LE(self->info.nr_links, 16);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_LINKS, info, sizeof(info)));
	for (i = 0; i < self->info.nr_links; i++) {
		snprintf(name, sizeof(name), "links/%u/peer", i);
		expect_range(name, info[i].peer, info[i].peer);
		snprintf(name, sizeof(name), "links/%u/state", i);
		expect_range(name, info[i].state, info[i].state);
		snprintf(name, sizeof(name), "links/%u/width", i);
		expect_range(name, info[i].width, info[i].width);
		snprintf(name, sizeof(name), "links/%u/mbps", i);
		expect_range(name, info[i].mbps, info[i].mbps);
		snprintf(name, sizeof(name), "links/%u/errors", i);
		expect_range(name, 0, 0);
	}
	snprintf(name, sizeof(name), "links/%u/peer", i);
	EXPECT_EQ(-ENOENT, neuron_sysfs_number(self->fd, name));

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	ASSERT_EQ(0, neuron_bo_create(peer, DRM_NEURON_BO_HBM, 0, BYTES, &bo));
	dma_buf = neuron_export(peer, bo.handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, neuron_import(rig.fd, dma_buf, &window.handle));
	ASSERT_EQ(0, rig_windows(&rig, &window, 1));
	sent = link_sum(self->fd, self->info.nr_links, "bytes_sent");
	received = link_sum(peer, self->info.nr_links, "bytes_received");
	ASSERT_LE(0, sent);
	ASSERT_EQ(0, copy_to(&rig, neuron_window_addr(RIG_WINDOW_FREE, 0)));
	EXPECT_EQ(sent + BYTES, link_sum(self->fd, self->info.nr_links, "bytes_sent"));
	EXPECT_EQ(received + BYTES, link_sum(peer, self->info.nr_links, "bytes_received"));
	EXPECT_TRUE(links_agree(self->fd, self->info.nr_links));
	EXPECT_TRUE(links_agree(peer, self->info.nr_links));
	rig_close(&rig);
	close(dma_buf);
	close(peer);
}

static int read_tensor(const char *dir, const char *name, unsigned long long rows[4])
{
	char path[300], text[128];

	snprintf(path, sizeof(path), "%s/core0/tensor/%s", dir, name);
	if (neuron_read_file(path, text, sizeof(text)) < 0)
		return -EIO;
	if (sscanf(text, "%llu %llu %llu %llu\n", &rows[0], &rows[1], &rows[2], &rows[3]) != 4)
		return -EINVAL;
	return 0;
}

#define ROWS	64	/* of the array that the product uses: row groups 0 and 1 */
#define COLUMNS	128	/* of the array */
#define MOVING	200	/* columns of the moving operand */

/* Four columns are loaded in a cycle, and one moves in a cycle, in the rows that are used. */
TEST_F(sysfs, tensor)
{
	static const char * const names[] = {
		"matmul_cycles", "weights_cycles", "idle_cycles",
	};
	unsigned long long before[3][4], after[3][4];
	struct drm_neuron_wait_job result;
	unsigned int i, row;
	struct rig rig;

	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	rig_product(&rig, ROWS, COLUMNS, MOVING);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, read_tensor(self->dir, names[i], before[i]));
	ASSERT_EQ(0, rig_run(&rig, 20000, &result));
	ASSERT_EQ(NEURON_JOB_OK, result.status);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, read_tensor(self->dir, names[i], after[i]));
	for (row = 0; row < 4; row++) {
		EXPECT_EQ(before[0][row] + (row < ROWS / 32 ? MOVING : 0), after[0][row]);
		EXPECT_EQ(before[1][row] + (row < ROWS / 32 ? COLUMNS / 4 : 0), after[1][row]);
	}
	rig_close(&rig);
}

/* The array is idle while another engine works, and has its own time for that. */
TEST_F(sysfs, tensor_idle)
{
	unsigned long long before[3][4], after[3][4];
	unsigned int row;
	struct rig rig;

	if (!(self->info.features & 1))
		SKIP(return, "device time is switched off");
	ASSERT_EQ(0, rig_open(&rig, 0, 0));
	ASSERT_EQ(0, read_tensor(self->dir, "idle_cycles", before[0]));
	ASSERT_EQ(0, read_tensor(self->dir, "matmul_cycles", before[1]));
	ASSERT_EQ(0, read_tensor(self->dir, "weights_cycles", before[2]));
	ASSERT_EQ(0, copy_to(&rig, neuron_window_addr(RIG_WINDOW_DATA, BYTES)));
	ASSERT_EQ(0, read_tensor(self->dir, "idle_cycles", after[0]));
	ASSERT_EQ(0, read_tensor(self->dir, "matmul_cycles", after[1]));
	ASSERT_EQ(0, read_tensor(self->dir, "weights_cycles", after[2]));
	for (row = 0; row < 4; row++) {
		EXPECT_LT(before[0][row], after[0][row]);
		EXPECT_EQ(before[1][row], after[1][row]);
		EXPECT_EQ(before[2][row], after[2][row]);
	}
	rig_close(&rig);
}

/* Of the walk below: files read, and those that failed. */
static unsigned int walk_read, walk_failed;
static char walk_name[512];

static int walk_file(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	char text[65536];
	ssize_t ret;

	/* The PCI core's own: raw memory and switches. */
	if (type != FTW_F || !(st->st_mode & 0400) ||
	    strstr(path, "/resource") || strstr(path, "/rom") ||
	    strstr(path, "/power/") || strstr(path, "/config"))
		return 0;
	ret = neuron_read_file(path, text, sizeof(text));
	walk_read++;
	if (ret >= 0)
		return 0;
	walk_failed++;
	snprintf(walk_name, sizeof(walk_name), "%s: %s", path,
		 strerror((int)-ret));
	return 0;
}

TEST_F(sysfs, every_file_can_be_read)
{
	char path[300], *slash;

	ASSERT_EQ(0, nftw(self->dir, walk_file, 16, FTW_PHYS));
	EXPECT_GT(walk_read, 100);
	EXPECT_EQ(0, walk_failed) TH_LOG("%s", walk_name);

	slash = strrchr(self->dir, '/');
	ASSERT_NE(NULL, slash);
	walk_read = 0;
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s", slash + 1);
	ASSERT_EQ(0, nftw(path, walk_file, 16, FTW_PHYS));
	EXPECT_GE(walk_read, 7);
	EXPECT_EQ(0, walk_failed) TH_LOG("%s", walk_name);
}

/* What debugfs shows of a job that waits for ever. */
TEST_F(sysfs, debugfs_of_a_job)
{
	struct neuron_inst *inst;
	char text[16384], want[64];
	struct rig rig;
	size_t n;
	FILE *f;
	int i;

	ASSERT_EQ(0, rig_open(&rig, 0, 1));
	rig_copy(&rig, NEURON_ENGINE_SYNC,
		 neuron_window_addr(RIG_WINDOW_DATA, 4096),
		 neuron_window_addr(RIG_WINDOW_DATA, 0), 64);
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	inst->post_sem = 9;
	inst->post_value = 5;
	inst = rig_emit(&rig, NEURON_ENGINE_SYNC, NEURON_OP_NOP);
	inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
	inst->wait_sem = 9;
	inst->wait_value = 6;
	ASSERT_EQ(1, rig_start(&rig, 60000));

	/* Until it is there. */
	for (i = 0; i < 200; i++) {
		f = neuron_debugfs(rig.fd, "semaphores");
		ASSERT_NE(NULL, f);
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = 0;
		if (strstr(text, "core 1: semaphore 9: 5\n"))
			break;
		usleep(50000);
	}
	EXPECT_NE(NULL, strstr(text, "core 1: semaphore 9: 5\n"));

	f = neuron_debugfs(rig.fd, "windows");
	ASSERT_NE(NULL, f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	EXPECT_NE(NULL, strstr(text, "core 1: job 1\nwindow 0: hbm r- "))
		TH_LOG("%s", text);

	f = neuron_debugfs(rig.fd, "queues");
	ASSERT_NE(NULL, f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	snprintf(want, sizeof(want),
		 "\n16.0 m2s 1/1 of 32 s2m 1/1 of 32 idle core1 pid %d\n",
		 getpid());
	EXPECT_NE(NULL, strstr(text, want)) TH_LOG("no '%s' in %s", want, text);

	f = neuron_debugfs(rig.fd, "files");
	ASSERT_NE(NULL, f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	snprintf(want, sizeof(want), "pid %d comm test_sysfs cores 0x2 buffers 1 bytes 524288\n",
		 getpid());
	EXPECT_NE(NULL, strstr(text, want)) TH_LOG("no '%s' in %s", want, text);
	rig_close(&rig);
}

/* Readers of everything while the driver comes and goes: nobody crashes. */
#define READERS	3

TEST_F(sysfs, readers_during_unbind)
{
	char debug[300], name[64];
	pid_t pid[READERS];
	int i, turn;

	snprintf(name, sizeof(name), "%s", strrchr(self->dir, '/') + 1);
	snprintf(debug, sizeof(debug), "/sys/kernel/debug/accel/%s", name);
	close(self->fd);
	self->fd = -1;
	for (i = 0; i < READERS; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		while (!pid[i]) {
			nftw(self->dir, walk_file, 16, FTW_PHYS);
			nftw(debug, walk_file, 16, FTW_PHYS);
		}
	}
	for (turn = 0; turn < 3; turn++) {
		usleep(200000);
		EXPECT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/unbind",
					       name));
		EXPECT_EQ(0, neuron_write_file("/sys/bus/pci/drivers/neuron/bind",
					       name));
	}
	for (i = 0; i < READERS; i++) {
		int status;

		EXPECT_EQ(0, waitpid(pid[i], &status, WNOHANG));
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
	}
	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
	expect_range("core0/jobs", 0, 0);
}

TEST_HARNESS_MAIN
