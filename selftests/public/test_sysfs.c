// SPDX-License-Identifier: MIT
/*
 * The public driver's sysfs tree: every file can be read, and says what is so.
 */
#include <ctype.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define ROW_GROUPS	4	/* of a PE array */

FIXTURE(sysfs)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
};

FIXTURE_SETUP(sysfs)
{
	unsigned int i;

	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	/* Opening waits for the first reset. */
	for (i = self->count; i--;) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		pub_close(&self->dev);
	}
	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
}

FIXTURE_TEARDOWN(sysfs)
{
	pub_close(&self->dev);
}

/* The text of a file, or "(errno N)". */
static const char *text(int index, const char *name)
{
	static char to[4096];
	int rc = pub_sysfs(index, name, to, sizeof(to));

	if (rc < 0)
		snprintf(to, sizeof(to), "(errno %d)", -rc);
	return to;
}

/* A number alone in a file, or -1. */
static long long number(int index, const char *name)
{
	const char *from = text(index, name);
	long long value;
	char *end;

	value = strtoll(from, &end, 10);
	return end == from || *end ? -1 : value;
}

/* nftw() has no argument of the caller's. */
static unsigned int files, bad;

static int visit(const char *path, const struct stat *st, int type, struct FTW *where)
{
	char to[4096];
	ssize_t length, i;
	int fd;

	/* The kernel's own of every device, which cannot or need not be read. */
	if (type != FTW_F || !(st->st_mode & 0400) ||
	    !strcmp(path + where->base, "uevent") || strstr(path, "/power/"))
		return 0;
	files++;
	fd = open(path, O_RDONLY);
	length = fd < 0 ? -1 : read(fd, to, sizeof(to));
	if (length < 0) {
		ksft_print_msg("%s: %s\n", path, strerror(errno));
		bad++;
	}
	for (i = 0; i < length; i++) {
		if (isprint((unsigned char)to[i]) || isspace((unsigned char)to[i]))
			continue;
		ksft_print_msg("%s: byte %#x\n", path, to[i]);
		bad++;
		break;
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

TEST_F_TIMEOUT(sysfs, everything_readable, TIMEOUT)
{
	char path[128], *folder;
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		files = 0;
		bad = 0;
		snprintf(path, sizeof(path), PUB_SYSFS "/neuron%u", self->index[i]);
		folder = realpath(path, NULL);
		ASSERT_NE(NULL, folder);
		ASSERT_EQ(0, nftw(folder, visit, 16, FTW_PHYS));
		free(folder);
		EXPECT_EQ(0, bad);
		EXPECT_LT(50 * self->dev.gen->nr_cores, files);
	}
}

TEST_F_TIMEOUT(sysfs, identity, TIMEOUT)
{
	const struct neuron_gen *gen = self->dev.gen;
	char instance[16], want[16], name[64];
	unsigned int i, c;

	snprintf(instance, sizeof(instance), "%c%s", toupper(gen->name[0]),
		 gen->name + 1);
	/* The driver calls Inferentia2's device v3, and its cores v2. */
	snprintf(want, sizeof(want), "NDv%u", pub_is_inf2(&self->dev) ? 3 : gen->generation);
	for (i = 0; i < self->count; i++) {
		EXPECT_EQ(gen->nr_cores, number(self->index[i], "core_count"));
		EXPECT_STREQ(want, text(self->index[i], "info/architecture/arch_type"));
		EXPECT_STREQ(instance,
			     text(self->index[i], "info/architecture/instance_type"));
		EXPECT_STREQ(gen->device_name,
			     text(self->index[i], "info/architecture/device_name"));
		EXPECT_STREQ("1", text(self->index[i], "reset"));
		for (c = 0; c < gen->nr_cores; c++) {
			snprintf(name, sizeof(name),
				 "neuron_core%u/info/architecture/arch_type", c);
			EXPECT_STREQ(gen->core_arch, text(self->index[i], name));
		}
	}
}

TEST_F_TIMEOUT(sysfs, serials, TIMEOUT)
{
	char all[PUB_MAX_DEVICES][64];
	unsigned int i, j;

	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(16, pub_sysfs(self->index[i], "info/serial_number", all[i],
					sizeof(all[i])));
		EXPECT_EQ(16, strspn(all[i], "0123456789abcdef"));
		EXPECT_NE(0, strtoull(all[i], NULL, 16));
		for (j = 0; j < i; j++)
			EXPECT_STRNE(all[j], all[i]);
	}
}

/* Memory is healthy until somebody injects an error. */
TEST_F_TIMEOUT(sysfs, ecc, TIMEOUT)
{
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		EXPECT_EQ(0, number(self->index[i], "stats/hardware/sram_ecc_uncorrected"));
		EXPECT_EQ(0, number(self->index[i], "stats/hardware/mem_ecc_uncorrected"));
		/* Older generations have no such file. */
		if (self->dev.gen->generation > 2) {
			EXPECT_EQ(0, number(self->index[i],
					    "stats/hardware/mem_ecc_repairable_uncorrected"));
		}
	}
}

struct counters {
	unsigned long long value[ROW_GROUPS][3];	/* matmul, weights, idle */
};

/* A header and a row for each group of rows; 0, or -1 for another form. */
static int counters(const char *from, struct counters *to)
{
	static const char header[] = "xrow_grp,mm_active,wl_active,idle";
	unsigned int row, at;
	int used;

	if (strncmp(from, header, sizeof(header) - 1))
		return -1;
	from += sizeof(header) - 1;
	for (row = 0; row < ROW_GROUPS; row++, from += used) {
		unsigned long long *v = to->value[row];

		if (sscanf(from, " %u,%llu,%llu,%llu%n", &at, &v[0], &v[1], &v[2], &used) != 4 ||
		    at != row)
			return -1;
	}
	return *from ? -1 : 0;
}

/* Counters never go back. */
TEST_F_TIMEOUT(sysfs, tensor_engine, TIMEOUT)
{
	struct counters first, second;
	unsigned int i, c, k;
	char name[64];

	for (i = 0; i < self->count; i++) {
		for (c = 0; c < self->dev.gen->nr_cores; c++) {
			snprintf(name, sizeof(name),
				 "neuron_core%u/stats/tensor_engine/pe_cntrs", c);
			ASSERT_EQ(0, counters(text(self->index[i], name), &first));
			ASSERT_EQ(0, counters(text(self->index[i], name), &second));
			for (k = 0; k < ROW_GROUPS * 3; k++)
				EXPECT_LE(first.value[k / 3][k % 3], second.value[k / 3][k % 3]);
		}
	}
}

#define MOST_PEERS	4

/* "1, 2, 3" to numbers; how many, at most MOST_PEERS + 1. */
static unsigned int peers_in(const char *list, unsigned int peer[MOST_PEERS])
{
	unsigned int nr = 0, value;
	int used;

	for (; sscanf(list, " %u%n", &value, &used) == 1; list += used + (list[used] == ',')) {
		if (nr == MOST_PEERS)
			return MOST_PEERS + 1;
		peer[nr++] = value;
	}
	return nr;
}

/* Neighbours are known of whole instances; who is one is so in both directions. */
TEST_F_TIMEOUT(sysfs, topology, TIMEOUT)
{
	unsigned int i, j, n, nr[PUB_MAX_DEVICES], peers[PUB_MAX_DEVICES][MOST_PEERS];
	struct pub_device at = self->dev;
	const char *list;

	for (i = 0; i < self->count; i++) {
		list = text(self->index[i], "connected_devices");
		at.index = self->index[i];
		nr[i] = peers_in(list, peers[i]);
		ASSERT_EQ(pub_nr_neighbours(&at, self->count), nr[i]) TH_LOG("%s", list);
	}
	for (i = 0; i < self->count; i++) {
		for (j = 0; j < nr[i]; j++) {
			unsigned int peer = peers[i][j];

			ASSERT_GT(self->count, peer);
			for (n = 0; n < nr[peer] && peers[peer][n] != i; n++)
				;
			EXPECT_GT(nr[peer], n) TH_LOG("%u to %u, not back", i, peer);
		}
	}
}

/* Counters of memory follow an allocation; what is there now is called total. */
TEST_F_TIMEOUT(sysfs, memory_usage, TIMEOUT)
{
	static const char *const total =
		"neuron_core0/stats/memory_usage/device_mem/tensors/total";
	struct pub_memory mem;
	long long before = number(self->dev.index, total);

	ASSERT_LE(0, before) TH_LOG("%s: %s", total, text(self->dev.index, total));
	must(pub_alloc(&self->dev, 0, 0, 3 * MIB, &mem));
	EXPECT_EQ(before + 3 * MIB, number(self->dev.index, total));
	must(pub_free(&self->dev, &mem));
	EXPECT_EQ(before, number(self->dev.index, total));
}

/* No instance of several servers: the class says so. */
TEST_F_TIMEOUT(sysfs, class, TIMEOUT)
{
	EXPECT_STREQ("-1", text(-1, "node_id_2"));
	EXPECT_STREQ("-1", text(-1, "node_id_4"));
	EXPECT_STREQ("0000000000000000", text(-1, "server_id_2"));
	EXPECT_STREQ("0000000000000000", text(-1, "server_id_4"));
	EXPECT_NE('(', text(-1, "ultraserver_mode")[0]);
}

TEST_F_TIMEOUT(sysfs, resets_counted, TIMEOUT)
{
	static const char *const total = "neuron_core0/stats/other_info/reset_req_count/total";
	static const char *const failed = "neuron_core0/stats/other_info/reset_fail_count/total";
	long long before = number(self->dev.index, total);

	ASSERT_LE(1, before);
	must(pub_reset(&self->dev, PUB_CORE_MAP_DEVICE));
	EXPECT_EQ(before + 1, number(self->dev.index, total));
	EXPECT_EQ(0, number(self->dev.index, failed));
}

TEST_HARNESS_MAIN
