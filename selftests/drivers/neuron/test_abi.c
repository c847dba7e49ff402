// SPDX-License-Identifier: MIT
/*
 * Every ioctl: a good call passes, and does so again; each pad, unknown flag, wrong
 * id and impossible number alone spoils it with the errno that the interface
 * names; an argument that cannot be read or written is EFAULT.
 */
#include "abi_calls.h"
#include "kselftest_harness.h"
#include "neuron_test.h"

FIXTURE(abi) {
	struct abi abi;
	uint64_t arg[ABI_MAX_ARG / 8];
};

FIXTURE_VARIANT(abi) {
	enum abi_row row;
};

ABI_VARIANTS(abi);

FIXTURE_SETUP(abi)
{
	int ret = abi_open(&self->abi);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	if (!abi_can(variant->row))
		SKIP(return, "the device needs bounce buffers here");
	ASSERT_GE(ABI_MAX_ARG, abi_size(abi_calls[variant->row].request));
}

FIXTURE_TEARDOWN(abi)
{
	if (self->abi.memory)
		abi_close(&self->abi);
}

TEST_F(abi, must_pass)
{
	const struct abi_call *call = &abi_calls[variant->row];

	ASSERT_EQ(0, call->good(&self->abi, self->arg));
	EXPECT_EQ(0, neuron_ioctl(self->abi.rig.fd, call->request, self->arg));
}

TEST_F(abi, must_fail)
{
	const struct abi_call *call = &abi_calls[variant->row];
	uint64_t element[ABI_MAX_ELEMENT / 8], arg[ABI_MAX_ARG / 8];
	const struct abi_bad *bad;
	uint8_t *to;

	ASSERT_EQ(0, call->good(&self->abi, self->arg));
	memcpy(element, self->abi.element, sizeof(element));
	for (bad = call->bad; bad->what; bad++) {
		memcpy(self->abi.element, element, sizeof(element));
		memcpy(arg, self->arg, sizeof(arg));
		to = bad->element ? (uint8_t *)self->abi.element :
				    (uint8_t *)arg;
		memcpy(to + bad->offset, &bad->value, bad->size);
		EXPECT_EQ(-bad->error,
			  neuron_ioctl(self->abi.rig.fd, call->request, arg))
			TH_LOG("%s with %s", call->name, bad->what);
	}
	/* What was refused has changed nothing that the good call needs. */
	memcpy(self->abi.element, element, sizeof(element));
	EXPECT_EQ(0, neuron_ioctl(self->abi.rig.fd, call->request, self->arg));
}

TEST_F(abi, argument_out_of_reach)
{
	const struct abi_call *call = &abi_calls[variant->row];
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	ASSERT_NE(MAP_FAILED, hole);
	EXPECT_EQ(-EFAULT, neuron_ioctl(self->abi.rig.fd, call->request, NULL));
	EXPECT_EQ(-EFAULT, neuron_ioctl(self->abi.rig.fd, call->request, hole));
	EXPECT_EQ(-EFAULT,
		  neuron_ioctl(self->abi.rig.fd, call->request,
			       (void *)-4096l));
}

/* The results have no place: the call says so. */
TEST_F(abi, argument_read_only)
{
	const struct abi_call *call = &abi_calls[variant->row];
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, call->good(&self->abi, page));
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, neuron_ioctl(self->abi.rig.fd, call->request, page));
}

/* Numbers without an ioctl, and those of others, are nobody's. */
TEST(unknown_numbers)
{
	uint64_t arg[8] = { 0 };
	int fd = neuron_open(0);
	unsigned int nr;

	if (fd < 0)
		SKIP(return, "no neuron device");
	for (nr = DRM_COMMAND_BASE + DRM_NEURON_TIMES + 1; nr < DRM_COMMAND_END;
	     nr++)
		EXPECT_EQ(-EINVAL, neuron_ioctl(fd, DRM_IOWR(nr, arg), arg));
	EXPECT_EQ(-EINVAL, neuron_ioctl(fd, DRM_IOWR(0xff, arg), arg));
	close(fd);
}

TEST_HARNESS_MAIN
