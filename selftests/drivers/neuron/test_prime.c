// SPDX-License-Identifier: MIT
/*
 * Buffers shared between the files and the chips of a machine.
 */
#include <linux/udmabuf.h>

#include "kselftest_harness.h"
#include "neuron_test.h"

#define MIB	(1024ull * 1024)

FIXTURE(prime)
{
	int fd;
	struct drm_neuron_device_info info;
	struct drm_neuron_bo_create bo;
	int dma_buf;
	long long used;
};

FIXTURE_SETUP(prime)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, neuron_query(self->fd, DRM_NEURON_QUERY_DEVICE,
				  &self->info, sizeof(self->info)));
	self->used = neuron_hbm_used(self->fd);
	ASSERT_GE(self->used, 0);
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HBM, 1, MIB,
				      &self->bo));
	self->dma_buf = neuron_export(self->fd, self->bo.handle);
	ASSERT_GE(self->dma_buf, 0);
}

FIXTURE_TEARDOWN(prime)
{
	int fd;

	if (self->fd < 0)
		return;
	if (self->dma_buf >= 0)
		close(self->dma_buf);
	close(self->fd);
	fd = neuron_open(0);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(self->used, neuron_hbm_used(fd))
		TH_LOG("HBM leaked");
	close(fd);
}

TEST_F(prime, same_file)
{
	uint32_t handle;

	ASSERT_EQ(0, neuron_import(self->fd, self->dma_buf, &handle));
	EXPECT_EQ(self->bo.handle, handle);
}

/* Another file of the same chip gets the same memory. */
TEST_F(prime, same_chip)
{
	struct drm_neuron_bo_info info = { 0 };
	uint8_t *p = malloc(MIB);
	int other = neuron_open(0);

	ASSERT_NE(NULL, p);
	ASSERT_GE(other, 0);
	ASSERT_EQ(0, neuron_import(other, self->dma_buf, &info.handle));
	must(other, BO_INFO, &info);
	EXPECT_EQ(0, info.peer);
	EXPECT_EQ(MIB, info.size);
	EXPECT_EQ(1, info.stack);

	neuron_fill(p, MIB, 1);
	ASSERT_EQ(0, neuron_write(other, info.handle, 0, p, MIB));
	memset(p, 0, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 1));
	close(other);
	free(p);
}

/* The dma-buf alone keeps the memory, also after its file is closed. */
TEST_F(prime, outlives_exporter)
{
	uint32_t handle;
	uint8_t *p = malloc(MIB);

	ASSERT_NE(NULL, p);
	neuron_fill(p, MIB, 2);
	ASSERT_EQ(0, neuron_write(self->fd, self->bo.handle, 0, p, MIB));
	close(self->fd);
	self->fd = neuron_open(0);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, neuron_import(self->fd, self->dma_buf, &handle));
	memset(p, 0, MIB);
	ASSERT_EQ(0, neuron_read(self->fd, handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 2));
	free(p);
}

TEST_F(prime, mmap_of_the_dma_buf)
{
	uint8_t *p = malloc(MIB), *map;

	ASSERT_NE(NULL, p);
	map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED,
		   self->dma_buf, 0);
	ASSERT_NE(MAP_FAILED, map);
	neuron_fill(map, MIB, 3);
	ASSERT_EQ(0, neuron_read(self->fd, self->bo.handle, 0, p, MIB));
	EXPECT_EQ(MIB, neuron_differs(p, MIB, 3));
	munmap(map, MIB);

	/* A part of it, from the middle on. */
	map = mmap(NULL, MIB / 2, PROT_READ, MAP_SHARED, self->dma_buf,
		   MIB / 2);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(neuron_pattern(MIB / 2, 3), map[0]);
	munmap(map, MIB / 2);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, MIB, PROT_READ, MAP_SHARED,
				   self->dma_buf, MIB / 2));
	free(p);
}

/* Another chip gets a peer buffer: for windows, not for copies or mappings. */
TEST_F(prime, other_chip)
{
	struct drm_neuron_bo_info info = { 0 }, own = { 0 };
	uint8_t byte = 0;
	int peer = neuron_open(1), again;

	if (peer < 0)
		SKIP(return, "one device only");
	if (self->info.fabric_chips < 2)
		SKIP(return, "the devices have no fabric");
	own.handle = self->bo.handle;
	must(self->fd, BO_INFO, &own);
	ASSERT_EQ(0, neuron_import(peer, self->dma_buf, &info.handle));
	must(peer, BO_INFO, &info);
	EXPECT_EQ(1, info.peer);
	EXPECT_EQ(self->info.fabric_id, info.fabric_id);
	EXPECT_EQ(DRM_NEURON_BO_HBM, info.placement);
	EXPECT_EQ(1, info.stack);
	EXPECT_EQ(MIB, info.size);
	EXPECT_EQ(0, info.mmap_offset);
	EXPECT_EQ(own.device_addr, info.device_addr);

	EXPECT_EQ(-EINVAL, neuron_read(peer, info.handle, 0, &byte, 1));
	EXPECT_EQ(-EINVAL, neuron_write(peer, info.handle, 0, &byte, 1));

	/* Exported again it is the owner's dma-buf. */
	again = neuron_export(peer, info.handle);
	ASSERT_GE(again, 0);
	ASSERT_EQ(0, neuron_import(self->fd, again, &info.handle));
	EXPECT_EQ(self->bo.handle, info.handle);
	close(again);
	close(peer);
}

TEST_F(prime, host_buffer_stays_with_its_chip)
{
	struct drm_neuron_bo_create host;
	int peer = neuron_open(1), dma_buf;
	uint32_t handle;

	if (peer < 0)
		SKIP(return, "one device only");
	ASSERT_EQ(0, neuron_bo_create(self->fd, DRM_NEURON_BO_HOST, 0, MIB,
				      &host));
	dma_buf = neuron_export(self->fd, host.handle);
	ASSERT_GE(dma_buf, 0);
	EXPECT_EQ(-EOPNOTSUPP, neuron_import(peer, dma_buf, &handle));
	close(dma_buf);
	close(peer);
}

/* The owner goes first, the peer's buffer keeps the memory. */
TEST_F(prime, peer_keeps_memory)
{
	int peer = neuron_open(1);
	uint32_t handle;

	if (peer < 0)
		SKIP(return, "one device only");
	if (self->info.fabric_chips < 2)
		SKIP(return, "the devices have no fabric");
	ASSERT_EQ(0, neuron_import(peer, self->dma_buf, &handle));
	close(self->dma_buf);
	self->dma_buf = -1;
	ASSERT_EQ(0, neuron_bo_close(self->fd, self->bo.handle));
	EXPECT_EQ(self->used + (long long)MIB, neuron_hbm_used(self->fd));
	close(peer);
	EXPECT_EQ(self->used, neuron_hbm_used(self->fd));
}

TEST_F(prime, not_a_dma_buf)
{
	uint32_t handle;

	EXPECT_EQ(-EINVAL, neuron_import(self->fd, self->fd, &handle));
	EXPECT_EQ(-EBADF, neuron_import(self->fd, -1, &handle));
}

TEST_F(prime, foreign_dma_buf)
{
	struct udmabuf_create create = { .size = MIB };
	int udmabuf, dma_buf;
	uint32_t handle;

	udmabuf = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (udmabuf < 0)
		SKIP(return, "no udmabuf in this kernel");
	create.memfd = memfd_create("foreign", MFD_ALLOW_SEALING);
	ASSERT_GE((int)create.memfd, 0);
	ASSERT_EQ(0, ftruncate(create.memfd, MIB));
	ASSERT_EQ(0, fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	dma_buf = ioctl(udmabuf, UDMABUF_CREATE, &create);
	ASSERT_GE(dma_buf, 0);
	EXPECT_EQ(-EOPNOTSUPP, neuron_import(self->fd, dma_buf, &handle));
	close(dma_buf);
	close(create.memfd);
	close(udmabuf);
}

TEST_HARNESS_MAIN
