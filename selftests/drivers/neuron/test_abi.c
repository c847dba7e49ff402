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

/*
 * Every type of query tells its size, and writes the smaller of that and what the
 * caller has room for.
 */
TEST(query_sizes)
{
	static uint8_t answer[65536];
	struct drm_neuron_query query;
	int fd = neuron_open(0);
	uint32_t type, full, room, written, left;

	if (fd < 0)
		SKIP(return, "no neuron device");
	for (type = 0; type <= DRM_NEURON_QUERY_QUEUES; type++) {
		query = (struct drm_neuron_query){ .type = type };
		must(fd, QUERY, &query);
		full = query.size;
		EXPECT_EQ(0, full % 8);
		ASSERT_GE(sizeof(answer), full + 64);
		for (room = 0; room <= full + 64; room += full / 4 + 4) {
			memset(answer, 0xa5, sizeof(answer));
			query.size = room;
			query.pointer = (uintptr_t)answer;
			must(fd, QUERY, &query);
			written = room < full ? room : full;
			left = sizeof(answer) - written;
			EXPECT_EQ(left, neuron_differs_from(answer + written,
							    left, 0xa5))
				TH_LOG("type %u, room for %u of %u", type, room,
				       full);
		}
	}
	close(fd);
}

/* Numbers without an ioctl, and those of others, are nobody's. */
TEST(unknown_numbers)
{
	uint64_t arg[8] = { 0 };
	int fd = neuron_open(0);
	unsigned int nr;

	if (fd < 0)
		SKIP(return, "no neuron device");
	for (nr = DRM_COMMAND_BASE + DRM_NEURON_EVENTS + 1; nr < DRM_COMMAND_END;
	     nr++)
		EXPECT_EQ(-EINVAL, neuron_ioctl(fd, DRM_IOWR(nr, arg), arg));
	EXPECT_EQ(-EINVAL, neuron_ioctl(fd, DRM_IOWR(0xff, arg), arg));
	close(fd);
}

TEST_HARNESS_MAIN
