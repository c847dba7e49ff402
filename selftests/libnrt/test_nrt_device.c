// SPDX-License-Identifier: MIT
/*
 * Which machine it is, the numbers of its chips, and device memory in the address space of
 * the program.
 */
#include <fcntl.h>
#include <unistd.h>

#include <nrt/nrt_experimental.h>

#include "kselftest_harness.h"

#include "rig.h"

#define SIZE	(1024 * 1024 + 64)

/* --- The machine --- */

FIXTURE(instance)
{
	const char *old;
};

FIXTURE_VARIANT(instance)
{
	const char *name;
	uint32_t family;
	uint32_t size;
};

#define INSTANCE(id, text, f, s) \
	FIXTURE_VARIANT_ADD(instance, id) { \
		.name = text, \
		.family = NRT_INSTANCE_##f, \
		.size = NRT_INSTANCE_SIZE_##s, \
	}

INSTANCE(inf2_xl, "inf2.xlarge", INF2, 1XL);
INSTANCE(inf2_8xl, "inf2.8xlarge", INF2, 8XL);
INSTANCE(inf2_24xl, "inf2.24xlarge", INF2, 24XL);
INSTANCE(inf2_48xl, "inf2.48xlarge", INF2, 48XL);
INSTANCE(trn1_2xl, "trn1.2xlarge", TRN1, 2XL);
INSTANCE(trn1_32xl, "trn1.32xlarge", TRN1, 32XL);
INSTANCE(trn1n_32xl, "trn1n.32xlarge", TRN1N, 32XL);
INSTANCE(trn2_3xl, "trn2.3xlarge", TRN2, 3XL);
INSTANCE(trn2_48xl, "trn2.48xlarge", TRN2, 48XL);
INSTANCE(trn2u_48xl, "trn2u.48xlarge", TRN2U, 48XL);
/* No public name: by the chips. */
INSTANCE(inf2_chip, "inf2", INF2, 1XL);
INSTANCE(trn2_chip, "trn2:1", TRN2, 3XL);
INSTANCE(trn2_two, "trn2:2", TRN2, UNKNOWN);
INSTANCE(trn3_chip, "trn3", TRN3, UNKNOWN);

FIXTURE_SETUP(instance)
{
	/* Chips of the process, also in a VM: its instance cannot be changed. */
	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_INSTANCE", variant->name, 1);
}

FIXTURE_TEARDOWN(instance)
{
}

TEST_F(instance, is_known)
{
	nrt_instance_info_t info = { 0 };

	ASSERT_EQ(NRT_SUCCESS, nrt_get_instance_info(&info, sizeof(info)));
	EXPECT_EQ(variant->family, info.family);
	EXPECT_EQ(variant->size, info.size);
	EXPECT_EQ(0, strncmp(info.arch_name, "NCv", 3));
}

/* --- Chips and memory --- */

FIXTURE(device)
{
	nrt_tensor_t *tensor;
	uint8_t *data;
	uint8_t *back;
	uint8_t *va;
};

FIXTURE_SETUP(device)
{
	size_t i;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->data = malloc(SIZE);
	self->back = malloc(SIZE);
	ASSERT_TRUE(self->data && self->back);
	for (i = 0; i < SIZE; i++)
		self->data[i] = (uint8_t)(i * 7 + i / 251);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, SIZE, "t",
						   &self->tensor));
	self->va = nrt_tensor_get_va(self->tensor);
	ASSERT_NE(NULL, self->va);
}

FIXTURE_TEARDOWN(device)
{
	nrt_tensor_free(&self->tensor);
	nrt_close();
	free(self->data);
	free(self->back);
}

/* The mapping and the device's copies show the same bytes. */
TEST_F(device, mapped_tensor)
{
	nrt_tensor_t *slice;

	EXPECT_EQ(self->va, nrt_tensor_get_va(self->tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->tensor, self->data, 0, SIZE));
	EXPECT_EQ(0, memcmp(self->data, self->va, SIZE));
	memset(self->va + 100, 0xa5, 1000);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 0, SIZE));
	EXPECT_EQ(0, memcmp(self->va, self->back, SIZE));
	EXPECT_EQ(0xa5, self->back[100]);
	EXPECT_EQ(0xa5, self->back[1099]);
	EXPECT_EQ(self->data[1100], self->back[1100]);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(self->tensor, 77, 10, NULL, &slice));
	EXPECT_EQ(self->va + 77, nrt_tensor_get_va(slice));
	nrt_tensor_free(&slice);
}

TEST_F(device, memcpy_to_device)
{
	ASSERT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(self->va, self->data, SIZE));
	ASSERT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(self->va + 5, self->data + 9, 1001));
	ASSERT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(self->va, NULL, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 0, SIZE));
	EXPECT_EQ(self->data[4], self->back[4]);
	EXPECT_EQ(0, memcmp(self->data + 9, self->back + 5, 1001));
	EXPECT_EQ(0, memcmp(self->data + 1006, self->back + 1006, SIZE - 1006));
	EXPECT_EQ(NRT_INVALID, nrt_memcpy_to_device(self->back, self->data, 1));
	EXPECT_EQ(NRT_INVALID, nrt_memcpy_to_device(NULL, self->data, 1));
	EXPECT_EQ(NRT_INVALID, nrt_memcpy_to_device(self->va, NULL, 1));
	EXPECT_EQ(NRT_INVALID, nrt_memcpy_to_device(self->va, self->data, SIZE_MAX));
}

TEST_F(device, dmabuf)
{
	int fd = -1;

	EXPECT_EQ(NRT_INVALID, nrt_get_dmabuf_fd((uintptr_t)self->back, 1, &fd));
	EXPECT_EQ(NRT_INVALID, nrt_get_dmabuf_fd((uintptr_t)self->va, 1ull << 40, &fd));
	EXPECT_EQ(NRT_INVALID, nrt_get_dmabuf_fd((uintptr_t)self->va, SIZE, NULL));
	if (rig_embedded()) {
		rig_catch();
		EXPECT_EQ(NRT_INVALID, nrt_get_dmabuf_fd((uintptr_t)self->va, SIZE, &fd));
		EXPECT_TRUE(rig_has(rig_caught(), "no dma-bufs"));
		EXPECT_EQ(-1, fd);
		return;
	}
	ASSERT_EQ(NRT_SUCCESS, nrt_get_dmabuf_fd((uintptr_t)self->va, SIZE, &fd));
	/* Only a dma-buf tells its size this way. */
	EXPECT_GE(lseek(fd, 0, SEEK_END), SIZE);
	close(fd);
}

TEST_F(device, hbm_as_a_whole)
{
	uint8_t *first = NULL;
	size_t size = 0;
	bool found = false;
	NRT_STATUS status = NRT_SUCCESS;
	void *addr;
	int i;

	EXPECT_EQ(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, NULL, &size));
	EXPECT_EQ(NRT_INVALID, nrt_get_hbm_mmap_va(-1, 0, &addr, &size));
	EXPECT_EQ(NRT_INVALID, nrt_get_hbm_mmap_va(1000, 0, &addr, &size));
	if (!rig_embedded()) {
		EXPECT_EQ(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, &addr, &size));
		return;
	}
	for (i = 0; !status; i++) {
		status = nrt_get_hbm_mmap_va(0, i, &addr, &size);
		first = addr;
		if (status || self->va < first || self->va + SIZE > first + size)
			continue;
		found = true;
		ASSERT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(self->va, self->data, 10));
		EXPECT_EQ(0, memcmp(first + (self->va - first), self->data, 10));
		/* Free memory of a stack is mapped, too. */
		EXPECT_EQ(NRT_SUCCESS, nrt_memcpy_to_device(first + size - 8, self->data, 8));
		EXPECT_EQ(NRT_INVALID, nrt_memcpy_to_device(first + size - 8, self->data, 9));
	}
	EXPECT_EQ(NRT_INVALID_HANDLE, status);
	EXPECT_TRUE(found);
}

TEST_F(device, host_ids)
{
	uint32_t ids[256], count = 0, id = 0, seen = 0, i;

	EXPECT_EQ(NRT_INVALID, nrt_host_device_id_get(-1, &id));
	EXPECT_EQ(NRT_INVALID, nrt_host_device_id_get(1000, &id));
	EXPECT_EQ(NRT_INVALID, nrt_host_device_id_get(0, NULL));
	EXPECT_EQ(NRT_INVALID, nrt_host_device_id_rid_map_get(NULL, ids));
	/* A table that is too small is told how large it must be. */
	EXPECT_EQ(NRT_INVALID, nrt_host_device_id_rid_map_get(&count, ids));
	ASSERT_GE(count, rig_chips());
	ASSERT_LE(count, 256);
	ASSERT_EQ(NRT_SUCCESS, nrt_host_device_id_rid_map_get(&count, ids));
	for (i = 0; i < count; i++)
		seen += ids[i] != UINT32_MAX;
	EXPECT_EQ(rig_chips(), seen);
	for (i = 0; i < rig_chips(); i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_host_device_id_get((int)i, &id));
		ASSERT_LT(id, count);
		EXPECT_NE(UINT32_MAX, ids[id]);
	}
}

TEST_HARNESS_MAIN
