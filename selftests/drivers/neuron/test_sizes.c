// SPDX-License-Identifier: MIT
/*
 * Structs of another size than the kernel's, and arrays with another stride: an
 * older caller's missing fields count as zero, a newer caller's unknown ones must
 * be zero, and nothing beyond the size is touched.
 */
#include "abi_calls.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

#define STEP	4	/* every second one is no multiple of 8 */
#define LONGEST	8192	/* the size field of a request has 14 bits */

FIXTURE(sizes) {
	uint8_t *end;	/* of readable memory */
};

FIXTURE_VARIANT(sizes) {
	enum abi_row row;
};

ABI_VARIANTS(sizes);

FIXTURE_SETUP(sizes)
{
	int fd = neuron_open(0);
	uint8_t *map;

	if (fd < 0)
		SKIP(return, "no neuron device");
	close(fd);
	if (!abi_can(variant->row))
		SKIP(return, "the device needs bounce buffers here");
	map = mmap(NULL, 3 * LONGEST, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, mprotect(map + 2 * LONGEST, LONGEST, PROT_NONE));
	self->end = map + 2 * LONGEST;
}

FIXTURE_TEARDOWN(sizes)
{
	if (self->end)
		munmap(self->end - 2 * LONGEST, 3 * LONGEST);
}

/*
 * A good call of @row with a fresh file. The first @keep bytes of the struct stay,
 * the rest is zero. @size bytes are said to be at the end of readable memory,
 * filled up with @tail. Return: the ioctl's, or 1 when there was no good call.
 */
static int call_sized(uint8_t *end, enum abi_row row, uint32_t keep,
		      uint32_t size, uint8_t tail)
{
	const struct abi_call *call = &abi_calls[row];
	uint32_t known = abi_size(call->request);
	uint64_t arg[ABI_MAX_ARG / 8] = { 0 };
	struct abi abi;
	int ret = 1;

	if (abi_open(&abi))
		return 1;
	if (call->good(&abi, arg))
		goto out;
	memset((uint8_t *)arg + keep, 0, known - keep);
	memset(end - size, tail, size);
	memcpy(end - size, arg, size < known ? size : known);
	ret = neuron_ioctl(abi.rig.fd, abi_resize(call->request, size),
			   end - size);
out:
	abi_close(&abi);
	return ret;
}

/*
 * Less than version 2.0 had is refused. What a caller of that version lacks counts as zero:
 * both calls end alike.
 */
TEST_F(sizes, shorter)
{
	uint32_t known = abi_size(abi_calls[variant->row].request), size;
	uint32_t least = abi_calls[variant->row].least;
	int full;

	ASSERT_GE(known, least);
	for (size = 0; size < known; size += STEP) {
		full = call_sized(self->end, variant->row, size, known, 0);
		ASSERT_GE(0, full);
		EXPECT_EQ(size < least || size % 8 ? -EINVAL : full,
			  call_sized(self->end, variant->row, size, size, 0))
			TH_LOG("%s: %u of %u bytes",
			       abi_calls[variant->row].name, size, known);
	}
}

/* At the very end of readable memory: nothing beyond is needed. */
TEST_F(sizes, equal)
{
	uint32_t known = abi_size(abi_calls[variant->row].request);

	EXPECT_EQ(0, call_sized(self->end, variant->row, known, known, 0));
}

TEST_F(sizes, longer)
{
	uint32_t known = abi_size(abi_calls[variant->row].request);
	const uint32_t more[] = { 8, 64, 4096, LONGEST - known };
	unsigned int i;

	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		EXPECT_EQ(0, call_sized(self->end, variant->row, known,
					known + more[i], 0))
			TH_LOG("%s: %u bytes more, zero",
			       abi_calls[variant->row].name, more[i]);
		EXPECT_EQ(-EINVAL, call_sized(self->end, variant->row, known,
					      known + more[i], 0x80))
			TH_LOG("%s: %u bytes more, not zero",
			       abi_calls[variant->row].name, more[i]);
	}
}

/* No field ends there. */
TEST_F(sizes, no_multiple_of_8)
{
	uint32_t known = abi_size(abi_calls[variant->row].request), more;

	for (more = 1; more < 8; more++)
		EXPECT_EQ(-EINVAL, call_sized(self->end, variant->row, known,
					      known + more, 0))
			TH_LOG("%s: %u bytes more", abi_calls[variant->row].name, more);
}

/* Only the last of many bytes is not zero, and then only cannot be read. */
TEST_F(sizes, longer_last_byte)
{
	const struct abi_call *call = &abi_calls[variant->row];
	uint32_t size = abi_size(call->request) + 512;
	uint8_t *arg = self->end - size;
	struct abi abi;

	ASSERT_EQ(0, abi_open(&abi));
	memset(arg, 0, size);
	ASSERT_EQ(0, call->good(&abi, arg));
	self->end[-1] = 1;
	EXPECT_EQ(-EINVAL, neuron_ioctl(abi.rig.fd,
					abi_resize(call->request, size), arg));
	memmove(arg + 1, arg, size - 1);
	EXPECT_EQ(-EFAULT, neuron_ioctl(abi.rig.fd,
					abi_resize(call->request, size),
					arg + 1));
	abi_close(&abi);
}

/*
 * The good call of @row with its one element at the end of readable memory and
 * another stride; the bytes beyond the element are @tail.
 */
static int call_strided(uint8_t *end, enum abi_row row, uint32_t stride,
			uint8_t tail)
{
	const struct abi_call *call = &abi_calls[row];
	uint64_t arg[ABI_MAX_ARG / 8] = { 0 };
	struct drm_neuron_array *array;
	struct abi abi;
	int ret = 1;

	if (abi_open(&abi))
		return 1;
	if (call->good(&abi, arg))
		goto out;
	array = abi_array(call, &abi, arg);
	memset(end - stride, tail, stride);
	memcpy(end - stride, abi.element,
	       stride < call->element_size ? stride : call->element_size);
	array->stride = stride;
	array->pointer = (uintptr_t)(end - stride);
	ret = neuron_ioctl(abi.rig.fd, call->request, arg);
out:
	abi_close(&abi);
	return ret;
}

TEST_F(sizes, strides)
{
	const struct abi_call *call = &abi_calls[variant->row];
	uint32_t size = call->element_size, stride;
	uint32_t least = call->element_least ? call->element_least : size;

	if (call->array < 0)
		return;	/* this ioctl has no array */
	/* What an element of the first version lacks counts as zero. */
	EXPECT_EQ(0, call_strided(self->end, variant->row, least, 0));
	for (stride = 0; stride < least; stride += STEP)
		EXPECT_EQ(-EINVAL, call_strided(self->end, variant->row, stride,
						0))
			TH_LOG("%s: stride %u", call->name, stride);
	for (stride = size; stride <= 4096; stride += 4096 - size) {
		EXPECT_EQ(0, call_strided(self->end, variant->row, stride, 0))
			TH_LOG("%s: stride %u", call->name, stride);
		if (stride > size)
			EXPECT_EQ(-EINVAL, call_strided(self->end, variant->row,
							stride, 1))
				TH_LOG("%s: stride %u, not zero", call->name,
				       stride);
	}
	EXPECT_EQ(-EINVAL, call_strided(self->end, variant->row, 4104, 0));
	for (stride = size + 1; stride < size + 8; stride++)
		EXPECT_EQ(-EINVAL, call_strided(self->end, variant->row, stride, 0))
			TH_LOG("%s: stride %u", call->name, stride);
}

/* An empty array says nothing, whatever else it says. */
TEST_F(sizes, empty_array)
{
	const struct abi_call *call = &abi_calls[variant->row];
	uint64_t arg[ABI_MAX_ARG / 8] = { 0 };
	struct drm_neuron_array *array;
	struct abi abi;

	if (call->array < 0)
		return;
	ASSERT_EQ(0, abi_open(&abi));
	ASSERT_EQ(0, call->good(&abi, arg));
	array = abi_array(call, &abi, arg);
	*array = (struct drm_neuron_array){ .stride = 1, .pointer = 8 };
	EXPECT_EQ(call->empty, neuron_ioctl(abi.rig.fd, call->request, arg));
	abi_close(&abi);
}

TEST_HARNESS_MAIN
