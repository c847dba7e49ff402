// SPDX-License-Identifier: MIT
/*
 * What the device says about itself, buffers, mappings, the allocator.
 */
#include <signal.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "neuron_test.h"

#define MIB	(1024ull * 1024)

FIXTURE(device)
{
	int fd;
	struct drm_neuron_device_info info;
	struct drm_neuron_memory_info memory[4];
	long long used;		/* HBM at the start */
};

FIXTURE_SETUP(device)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
	ASSERT_LE(self->info.nr_hbm, 4);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_MEMORY,
				  self->memory, sizeof(self->memory)));
	self->used = neuron_hbm_used(self->fd);
	ASSERT_GE(self->used, 0)
		TH_LOG("debugfs does not say how much HBM is used");
}

FIXTURE_TEARDOWN(device)
{
	int fd;

	if (self->fd < 0)
		return;
	close(self->fd);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(self->used, neuron_hbm_used(fd))
		TH_LOG("HBM leaked");
	close(fd);
}

TEST_F(device, query_identity)
{
	const struct drm_neuron_device_info *info = &self->info;

	EXPECT_GE(info->generation, 2);
	EXPECT_LE(info->generation, 4);
	EXPECT_GE(info->nr_cores, 1);
	EXPECT_GE(info->nr_hbm, 1);
	EXPECT_GE(info->fabric_chips, 1);
	EXPECT_NE(0, info->serial);
	EXPECT_TRUE(!strncmp(info->name, "Trainium", 8) ||
		    !strcmp(info->name, "Inferentia2"))
		TH_LOG("%s", info->name);
	EXPECT_EQ(0, strncmp(info->core_arch, "NCv", 3));
	EXPECT_EQ('0' + (int)info->generation, info->core_arch[3]);
}

TEST_F(device, query_errors)
{
	struct drm_neuron_query query = { .type = 1000 };

	must_fail(EINVAL, self->fd, QUERY, &query);
	query.type = ~0u;
	must_fail(EINVAL, self->fd, QUERY, &query);
	query.type = DRM_NEURON_QUERY_DEVICE;
	query.pad = 1;
	must_fail(EINVAL, self->fd, QUERY, &query);
	query.pad = 0;
	query.answer = (struct drm_neuron_array){ sizeof(self->info), 1, 8 };
	must_fail(EFAULT, self->fd, QUERY, &query);
}

TEST_F(device, query_cores_and_links)
{
	struct drm_neuron_core_info cores[8] = { 0 };
	struct drm_neuron_link_info links[16] = { 0 };
	uint32_t i;

	ASSERT_LE(self->info.nr_cores, 8);
	ASSERT_LE(self->info.nr_links, 16);
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_CORES, cores,
				  sizeof(cores)));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_LINKS, links,
				  sizeof(links)));
	for (i = 0; i < self->info.nr_cores; i++) {
		EXPECT_LT(cores[i].hbm, self->info.nr_hbm);
		EXPECT_EQ(0, cores[i].owner_pid);
		EXPECT_EQ(0, cores[i].flags);
	}
	for (i = 0; i < self->info.nr_links; i++)
		EXPECT_LE(links[i].state, 1);
}

/* The attributes of the PCI device say the same. */
TEST_F(device, sysfs)
{
	char path[128], name[32] = "";
	unsigned int cores = 0;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/bus/pci/devices/%04x:%02x:%02x.%x/device_name",
		 self->info.pci_domain, self->info.pci_bus,
		 self->info.pci_devfn >> 3, self->info.pci_devfn & 7);
	f = fopen(path, "re");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%31s", name));
	fclose(f);
	EXPECT_STREQ(self->info.name, name);

	strcpy(strrchr(path, '/'), "/core_count");
	f = fopen(path, "re");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(1, fscanf(f, "%u", &cores));
	fclose(f);
	EXPECT_EQ(self->info.nr_cores, cores);
}

TEST_F(device, create_and_info)
{
	struct drm_neuron_bo_create bo;
	struct drm_neuron_bo_info info = { 0 };
	uint32_t stack;

	for (stack = 0; stack < self->info.nr_hbm; stack++) {
		ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM,
					      stack, 4097, &bo));
		EXPECT_EQ(8192, bo.size);
		EXPECT_NE(0, bo.handle);
		info.handle = bo.handle;
		must(self->fd, BO_INFO, &info);
		EXPECT_EQ(DRM_NEURON_BO_HBM, info.placement);
		EXPECT_EQ(stack, info.stack);
		EXPECT_EQ(8192, info.size);
		EXPECT_EQ(0, info.peer);
		EXPECT_EQ(self->info.fabric_id, info.fabric_id);
		EXPECT_EQ(bo.mmap_offset, info.mmap_offset);
	}

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HOST, 0, 1, &bo));
	EXPECT_EQ(4096, bo.size);
	info.handle = bo.handle;
	must(self->fd, BO_INFO, &info);
	EXPECT_EQ(DRM_NEURON_BO_HOST, info.placement);

	info.pad = 1;
	must_fail(EINVAL, self->fd, BO_INFO, &info);
	info.pad = 0;
	info.handle = 0x7fffffff;
	must_fail(ENOENT, self->fd, BO_INFO, &info);
}

TEST_F(device, create_errors)
{
	struct drm_neuron_bo_create bo = { .size = 4096 };
	const uint32_t hbm = DRM_NEURON_BO_HBM, host = DRM_NEURON_BO_HOST;

	bo.flags = 1;
	must_fail(EINVAL, self->fd, BO_CREATE, &bo);
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, hbm, 0, 0, &bo));
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, hbm, 0, ~0ull, &bo));
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, hbm, self->info.nr_hbm,
					    4096, &bo));
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, hbm, ~0u, 4096, &bo));
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, host, 1, 4096, &bo));
	EXPECT_EQ(-EINVAL, neuron_bo_create(self->fd, 2, 0, 4096, &bo));
	EXPECT_EQ(-ENOSPC, neuron_bo_create(self->fd, hbm, 0,
					    self->memory[0].usable + 1, &bo));
	EXPECT_EQ(-ENOSPC, neuron_bo_create(self->fd, hbm, 0, 1ull << 62, &bo));
	EXPECT_EQ(-ENOMEM, neuron_bo_create(self->fd, host, 0, 1ull << 62,
					    &bo));
}

TEST_F(device, used_is_counted)
{
	struct drm_neuron_memory_info before[4], after[4];
	struct drm_neuron_bo_create bo;

	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_MEMORY, before,
				  sizeof(before)));
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, 3 * MIB,
				      &bo));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_MEMORY, after,
				  sizeof(after)));
	EXPECT_EQ(before[0].used + 3 * MIB, after[0].used);
	EXPECT_EQ(before[1].used, after[1].used);
	EXPECT_EQ(self->used + 3 * (long long)MIB, neuron_hbm_used(self->fd));

	ASSERT_EQ(0, neuron_bo_close(self->fd, bo.handle));
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_MEMORY, after,
				  sizeof(after)));
	EXPECT_EQ(before[0].used, after[0].used);
}

TEST_F(device, fdinfo)
{
	struct drm_neuron_bo_create bo;
	unsigned long long n, bytes = 0;
	char path[64], line[128], unit;
	int driver = 0;
	FILE *f;

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 1, 4 * MIB,
				      &bo));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	f = fopen(path, "re");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		driver |= !strcmp(line, "drm-driver:\tneuron\n");
		if (sscanf(line, "drm-total-hbm1: %llu %c", &n, &unit) == 2)
			bytes = n << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
	}
	fclose(f);
	EXPECT_EQ(1, driver);
	EXPECT_EQ(4 * MIB, bytes);
}

/* Memory that somebody wrote to reads as zero for the next. */
TEST_F(device, scrubbed_before_reuse)
{
	const size_t size = 16 * MIB;
	struct drm_neuron_bo_create bo;
	uint8_t *p = malloc(size);
	int i;

	ASSERT_NE(NULL, p);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					      size, &bo));
		memset(p, 0xaa, size);
		ASSERT_EQ(0, neuron_read(self->fd, bo.handle, 0, p, size));
		ASSERT_EQ(size, neuron_differs_from(p, size, 0))
			TH_LOG("a new buffer is not zero");
		memset(p, 0x5c, size);
		ASSERT_EQ(0, neuron_write(self->fd, bo.handle, 0, p, size));
		ASSERT_EQ(0, neuron_bo_close(self->fd, bo.handle));
	}
	free(p);
}

/* A full stack: ENOSPC, and what is freed can be had again at once. */
TEST_F(device, full_stack)
{
	const uint64_t chunk = self->memory[0].usable / 16 & ~(MIB - 1);
	struct drm_neuron_bo_create bo[32];
	int i, n, ret = 0, round;

	for (round = 0; round < 3; round++) {
		for (n = 0; n < 32; n++) {
			ret = neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					       chunk, &bo[n]);
			if (ret)
				break;
		}
		ASSERT_EQ(-ENOSPC, ret);
		ASSERT_GE(n, 15);
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, neuron_bo_close(self->fd, bo[i].handle));
	}
}

/*
 * Nearly full and full of holes: a buffer in many pieces works like any other,
 * through its mapping and through copies.
 */
TEST_F(device, scattered_buffer)
{
	enum { HOLES = 256, HOLE = 65536 };
	const uint64_t chunk = 256 * MIB;
	const size_t size = HOLES / 2 * HOLE;
	struct drm_neuron_bo_create bo, *small;
	uint8_t *p = malloc(size), *map;
	int i, n;

	small = calloc(HOLES, sizeof(*small));
	ASSERT_NE(NULL, p);
	ASSERT_NE(NULL, small);
	for (i = 0; i < HOLES; i++)
		ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					      HOLE, &small[i]));
	/* Take the rest of the stack, in halving chunks. */
	for (n = 0; chunk >> n >= HOLE; n++)
		while (!neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					 chunk >> n, &bo))
			;
	ASSERT_EQ(-ENOSPC, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0,
					    HOLE, &bo));
	for (i = 0; i < HOLES; i += 2)
		ASSERT_EQ(0, neuron_bo_close(self->fd, small[i].handle));

	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 0, size,
				      &bo));
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
		   bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(size, neuron_differs_from(map, size, 0));
	neuron_fill(p, size, 1);
	ASSERT_EQ(0, neuron_write(self->fd, bo.handle, 0, p, size));
	EXPECT_EQ(size, neuron_differs(map, size, 1));
	neuron_fill(map, size, 2);
	ASSERT_EQ(0, neuron_read(self->fd, bo.handle, 0, p, size));
	EXPECT_EQ(size, neuron_differs(p, size, 2));
	munmap(map, size);
	free(small);
	free(p);
}

/* A process that is killed with buffers and copies under way leaves nothing. */
TEST_F(device, killed_process_leaks_nothing)
{
	const size_t size = 8 * MIB;
	struct drm_neuron_bo_create bo;
	int i, fd, status;
	pid_t child;
	void *p;

	for (i = 0; i < 5; i++) {
		child = fork();
		ASSERT_GE(child, 0);
		if (!child) {
			fd = neuron_open(0);
			p = malloc(size);
			if (fd < 0 || !p ||
			    neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, size,
					     &bo))
				_exit(1);
			for (;;)
				if (neuron_write(fd, bo.handle, 0, p, size))
					_exit(1);
		}
		usleep(100000);
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(self->used, neuron_hbm_used(self->fd));
	}
}

FIXTURE(mapping)
{
	int fd;
	struct drm_neuron_bo_create bo;
};

FIXTURE_VARIANT(mapping)
{
	uint32_t placement;
};

FIXTURE_VARIANT_ADD(mapping, hbm)
{
	.placement = DRM_NEURON_BO_HBM,
};

FIXTURE_VARIANT_ADD(mapping, host)
{
	.placement = DRM_NEURON_BO_HOST,
};

#define MAP_BYTES	(5 * MIB + 4096)

FIXTURE_SETUP(mapping)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_bo_create(self->fd, variant->placement, 0,
				      MAP_BYTES, &self->bo));
}

FIXTURE_TEARDOWN(mapping)
{
	close(self->fd);
}

TEST_F(mapping, same_memory)
{
	uint8_t *map, *p = malloc(MAP_BYTES);

	ASSERT_NE(NULL, p);
	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		   self->fd, self->bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(MAP_BYTES, neuron_differs_from(map, MAP_BYTES, 0));

	neuron_fill(map, MAP_BYTES, 3);
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, p, MAP_BYTES));
	EXPECT_EQ(MAP_BYTES, neuron_differs(p, MAP_BYTES, 3));

	neuron_fill(p, MAP_BYTES, 4);
	ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 0, p, MAP_BYTES));
	EXPECT_EQ(MAP_BYTES, neuron_differs(map, MAP_BYTES, 4));
	munmap(map, MAP_BYTES);
	free(p);
}

/* The mapping keeps the memory; a part of it may be unmapped. */
TEST_F(mapping, outlives_handle_and_file)
{
	uint8_t *map;

	map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		   self->fd, self->bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, neuron_bo_close(self->fd, self->bo.handle));
	close(self->fd);
	self->fd = -1;
	neuron_fill(map, MAP_BYTES, 5);
	ASSERT_EQ(0, munmap(map + MIB, MIB));
	EXPECT_EQ(MIB, neuron_differs(map, MIB, 5));
	EXPECT_EQ(neuron_pattern(2 * MIB, 5), map[2 * MIB]);
	munmap(map, MIB);
	munmap(map + 2 * MIB, MAP_BYTES - 2 * MIB);
}

TEST_F(mapping, errors)
{
	const int rw = PROT_READ | PROT_WRITE;
	const uint64_t offset = self->bo.mmap_offset;
	int other;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, MAP_BYTES, rw, MAP_PRIVATE, self->fd,
				   offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, MAP_BYTES + 4096, rw, MAP_SHARED,
				   self->fd, offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, rw, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);

	/* Another file does not own the buffer. */
	other = neuron_open(0);
	ASSERT_GE(other, 0);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, MAP_BYTES, rw, MAP_SHARED, other,
				   offset));
	EXPECT_EQ(EACCES, errno);
	close(other);
}

TEST_HARNESS_MAIN
