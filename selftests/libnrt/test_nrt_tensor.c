// SPDX-License-Identifier: MIT
/*
 * Tensors: memory of every kind, its bytes and its bounds.
 */
#include "kselftest_harness.h"

#include "rig.h"

#define SIZE	(3 * 1024 * 1024 + 5)

FIXTURE(tensor)
{
	nrt_tensor_t *tensor;
	uint8_t *data;
	uint8_t *back;
	size_t used;
};

FIXTURE_VARIANT(tensor)
{
	nrt_tensor_placement_t placement;
};

FIXTURE_VARIANT_ADD(tensor, device) {
	.placement = NRT_TENSOR_PLACEMENT_DEVICE,
};

FIXTURE_VARIANT_ADD(tensor, host) {
	.placement = NRT_TENSOR_PLACEMENT_HOST,
};

FIXTURE_VARIANT_ADD(tensor, virtual_memory) {
	.placement = NRT_TENSOR_PLACEMENT_VIRTUAL,
};

FIXTURE_SETUP(tensor)
{
	size_t i;

	self->used = SIZE_MAX;
	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->used = rig_memory(0);
	self->data = malloc(SIZE);
	self->back = malloc(SIZE);
	ASSERT_TRUE(self->data && self->back);
	for (i = 0; i < SIZE; i++)
		self->data[i] = (uint8_t)(i * 7 + i / 251);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(variant->placement, 0, SIZE, "t",
						   &self->tensor));
}

FIXTURE_TEARDOWN(tensor)
{
	nrt_tensor_free(&self->tensor);
	if (self->used != SIZE_MAX) {
		EXPECT_TRUE(rig_memory_becomes(0, self->used))
			TH_LOG("device memory leaked");
	}
	nrt_close();
	free(self->data);
	free(self->back);
}

TEST_F(tensor, reads_as_zero)
{
	size_t i;

	memset(self->back, 0xff, SIZE);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 0, SIZE));
	for (i = 0; i < SIZE && !self->back[i]; i++)
		;
	EXPECT_EQ(SIZE, i);
}

TEST_F(tensor, write_and_read)
{
	ASSERT_EQ(SIZE, nrt_tensor_get_size(self->tensor));
	EXPECT_NE(NULL, nrt_tensor_get_va(self->tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->tensor, self->data, 0, SIZE));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 0, SIZE));
	EXPECT_EQ(0, memcmp(self->data, self->back, SIZE));
	/* Odd ends. */
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->tensor, self->data + 13, 4091, 70001));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 4090, 70003));
	EXPECT_EQ(self->data[4090], self->back[0]);
	EXPECT_EQ(0, memcmp(self->data + 13, self->back + 1, 70001));
	EXPECT_EQ(self->data[4091 + 70001], self->back[70002]);
}

TEST_F(tensor, bounds)
{
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, SIZE, 0));
	EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, NULL, 0, 0));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_read(self->tensor, self->back, SIZE, 1));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_read(self->tensor, self->back, 1, SIZE));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_write(self->tensor, self->back, SIZE_MAX, 2));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_write(self->tensor, self->back, 2, SIZE_MAX));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_write(self->tensor, NULL, 0, 1));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_memset(self->tensor, SIZE - 1, 0, 2));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_tensor_read(NULL, self->back, 0, 1));
}

TEST_F(tensor, memset_and_slice)
{
	nrt_tensor_t *slice, *inner;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_memset(self->tensor, 0, 0xab, SIZE));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(self->tensor, 1001, 5000, "s", &slice));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(slice, 100, 10, NULL, &inner));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_memset(inner, 0, 0, 11));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_memset(inner, 0, 0xcd, 10));
	nrt_tensor_free(&inner);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, self->back, 1100, 12));
	EXPECT_EQ(0xab, self->back[0]);
	EXPECT_EQ(0xcd, self->back[1]);
	EXPECT_EQ(0xcd, self->back[10]);
	EXPECT_EQ(0xab, self->back[11]);
	/* The slice outlives its source. */
	nrt_tensor_free(&self->tensor);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(slice, self->back, 100, 1));
	EXPECT_EQ(0xcd, self->back[0]);
	nrt_tensor_free(&slice);
}

TEST_F(tensor, copies_to_every_kind)
{
	static const nrt_tensor_placement_t kinds[] = {
		NRT_TENSOR_PLACEMENT_DEVICE,
		NRT_TENSOR_PLACEMENT_HOST,
		NRT_TENSOR_PLACEMENT_VIRTUAL,
	};
	nrt_tensor_t *other;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->tensor, self->data, 0, SIZE));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(kinds[i], 0, SIZE, NULL, &other));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_copy(self->tensor, 7, other, 1, SIZE - 7));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(other, self->back, 1, SIZE - 7));
		EXPECT_EQ(0, memcmp(self->data + 7, self->back, SIZE - 7));
		EXPECT_EQ(NRT_INVALID, nrt_tensor_copy(self->tensor, 7, other, 8, SIZE - 7));
		nrt_tensor_free(&other);
	}
}

/* Within a tensor, and to a slice of it; nothing is no overlap. */
TEST_F(tensor, copies_within_itself)
{
	static const nrt_tensor_placement_t kinds[] = {
		NRT_TENSOR_PLACEMENT_DEVICE, NRT_TENSOR_PLACEMENT_HOST,
	};
	nrt_tensor_t *tensor, *slice;
	const char *text;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(kinds[i], 0, 300, NULL, &tensor));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(tensor, 64, 200, NULL, &slice));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(tensor, self->data, 0, 300));
		EXPECT_EQ(NRT_SUCCESS, nrt_tensor_copy(tensor, 0, tensor, 100, 100));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(tensor, self->back, 0, 300));
		EXPECT_EQ(0, memcmp(self->data, self->back + 100, 100));
		EXPECT_EQ(NRT_SUCCESS, nrt_tensor_copy(tensor, 5, tensor, 5, 0));
		rig_catch();
		EXPECT_EQ(NRT_INVALID, nrt_tensor_copy(tensor, 0, tensor, 99, 100));
		text = rig_caught();
		EXPECT_TRUE(rig_has(text, "the pieces overlap: 100 bytes from byte 0 to byte 99")) {
			TH_LOG("%s", text);
		}
		rig_catch();
		EXPECT_EQ(NRT_INVALID, nrt_tensor_copy(tensor, 0, slice, 0, 65));
		EXPECT_TRUE(rig_has(rig_caught(), "the pieces overlap"));
		EXPECT_EQ(NRT_SUCCESS, nrt_tensor_copy(tensor, 0, slice, 0, 64));
		nrt_tensor_free(&slice);
		nrt_tensor_free(&tensor);
	}
}

/* The mapping of a host tensor is memory like any other. */
TEST_F(tensor, through_a_mapping)
{
	nrt_tensor_t *host;
	uint8_t *va;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, SIZE, NULL,
						   &host));
	va = nrt_tensor_get_va(host);
	memcpy(va, self->data, SIZE);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(self->tensor, va + 3, 0, SIZE - 3));
	memset(va, 0, SIZE);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->tensor, va + 1, 0, SIZE - 3));
	EXPECT_EQ(0, va[0]);
	EXPECT_EQ(0, memcmp(self->data + 3, va + 1, SIZE - 3));
	EXPECT_EQ(0, va[SIZE - 1]);
	nrt_tensor_free(&host);
}

TEST_F(tensor, batches)
{
	nrt_tensor_batch_op_t ops[2] = {
		{ .offset = 0, .size = 100, .buffer = self->data },
		{ .offset = SIZE - 9, .size = 9, .buffer = self->data + 200 },
	};
	nrt_tensor_batch_t batch = { .tensor = self->tensor, .ops = ops, .num_ops = 2 };

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write_batch(&batch, 1, false));
	ops[0].buffer = self->back;
	ops[1].buffer = self->back + 200;
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read_batch(&batch, 1, false));
	EXPECT_EQ(0, memcmp(self->data, self->back, 100));
	EXPECT_EQ(0, memcmp(self->data + 200, self->back + 200, 9));
	ops[1].size = 10;
	EXPECT_EQ(NRT_INVALID, nrt_tensor_read_batch(&batch, 1, false));
}

TEST_F(tensor, allocation_info)
{
	nrt_tensor_device_allocation_info_t info;
	NRT_STATUS status;

	status = nrt_tensor_get_device_allocation_info(self->tensor, &info);
	if (variant->placement != NRT_TENSOR_PLACEMENT_DEVICE) {
		EXPECT_EQ(NRT_INVALID, status);
		return;
	}
	ASSERT_EQ(NRT_SUCCESS, status);
	EXPECT_GE(info.size, SIZE);
	EXPECT_GE(info.hbm_index, 0);
}

TEST_F(tensor, attach_buffer)
{
	EXPECT_EQ(NRT_INVALID, nrt_tensor_attach_buffer(self->tensor, self->data, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_attach_buffer(self->tensor, self->data, 100));
	EXPECT_EQ(self->data, nrt_tensor_get_va(self->tensor));
	EXPECT_EQ(100, nrt_tensor_get_size(self->tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_memset(self->tensor, 0, 0x5a, 100));
	EXPECT_EQ(0x5a, self->data[99]);
}

TEST_F(tensor, empty)
{
	nrt_tensor_t *tensor;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("e", &tensor));
	EXPECT_EQ(0, nrt_tensor_get_size(tensor));
	EXPECT_EQ(NULL, nrt_tensor_get_va(tensor));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_read(tensor, self->back, 0, 0));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_memset(tensor, 0, 0, 1));
	nrt_tensor_free(&tensor);
	EXPECT_EQ(NULL, tensor);
	nrt_tensor_free(&tensor);
	nrt_tensor_free(NULL);
}

TEST_F(tensor, bad_allocations)
{
	nrt_tensor_t *tensor;

	EXPECT_EQ(NRT_INVALID, nrt_tensor_allocate(variant->placement, 0, 0, NULL, &tensor));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_allocate(3, 0, 1, NULL, &tensor));
	if (variant->placement == NRT_TENSOR_PLACEMENT_DEVICE) {
		EXPECT_EQ(NRT_INVALID, nrt_tensor_allocate(variant->placement, -1, 1, NULL,
							   &tensor));
		EXPECT_EQ(NRT_INVALID, nrt_tensor_allocate(variant->placement, 100000, 1, NULL,
							   &tensor));
		rig_catch();
		EXPECT_EQ(NRT_RESOURCE, nrt_tensor_allocate(variant->placement, 0, 1ull << 44,
							    NULL, &tensor));
		EXPECT_TRUE(rig_has(rig_caught(), "HBM stack"));
	}
}

TEST_F(tensor, sets)
{
	nrt_tensor_set_t *set;
	nrt_tensor_t *found = (void *)1;

	ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&set));
	EXPECT_EQ(NRT_FAILURE, nrt_get_tensor_from_tensor_set(set, "a", &found));
	EXPECT_EQ((void *)1, found);
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, "a", self->tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, "a", self->tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_tensor_from_tensor_set(set, "a", &found));
	EXPECT_EQ(self->tensor, found);
	EXPECT_EQ(NRT_INVALID, nrt_add_tensor_to_tensor_set(set, NULL, self->tensor));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_add_tensor_to_tensor_set(set, "b", NULL));
	nrt_destroy_tensor_set(&set);
	EXPECT_EQ(NULL, set);
	nrt_destroy_tensor_set(&set);
}

TEST_HARNESS_MAIN
