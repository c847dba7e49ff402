// SPDX-License-Identifier: MIT
/*
 * Copies through the public driver are exact to the byte: every device, every
 * core's copy queue, every HBM stack, every path that the driver has.
 */
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */

/* Around 64 KiB, the most that one descriptor moves, and around a page. */
static const size_t sizes[] = {
	4, 5, 7, 8, 12, 63, 64, 65, 255, 511, 4092, 4095, 4096, 4097,
	65532, 65535, 65536, 65537, 131071, 131072, 131073,
	3 * 65536 + 4, 1 * MIB - 1, 1 * MIB + 65537,
};

#define AREA	(2 * MIB)
#define NR(a)	(sizeof(a) / sizeof((a)[0]))

FIXTURE(copy)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
	uint8_t *want;		/* what the device memory should hold */
	uint8_t *got;
	uint8_t *user;
};

FIXTURE_SETUP(copy)
{
	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	self->want = malloc(AREA);
	self->got = malloc(AREA);
	self->user = aligned_alloc(4096, AREA);
	ASSERT_TRUE(self->want && self->got && self->user);
}

FIXTURE_TEARDOWN(copy)
{
	free(self->want);
	free(self->got);
	free(self->user);
}

typedef int (*move_fn)(struct pub_device *dev, const struct pub_memory *mem,
		       uint64_t offset, void *user, uint64_t size);

static int write_bounced(struct pub_device *dev, const struct pub_memory *mem,
			 uint64_t offset, void *user, uint64_t size)
{
	return pub_write(dev, mem, offset, user, size);
}

static int write_pinned(struct pub_device *dev, const struct pub_memory *mem,
			uint64_t offset, void *user, uint64_t size)
{
	return pub_write_pinned(dev, mem, offset, user, size);
}

/*
 * Write @size bytes at @offset with @write, read the whole area back with
 * @read: nothing else may have changed. What went wrong, or NULL.
 */
static const char *round_trip(struct _test_data_copy *self,
			      const struct pub_memory *mem, move_fn write,
			      move_fn read, uint64_t offset, size_t misalign,
			      size_t size)
{
	uint8_t *from = self->user + misalign;

	pub_fill(from, size, size + offset + misalign);
	memcpy(self->want + offset, from, size);
	if (write(&self->dev, mem, offset, from, size))
		return "the write failed";
	memset(self->got, 0xee, AREA);
	if (read(&self->dev, mem, 0, self->got, AREA))
		return "the read failed";
	if (pub_differs(self->got, self->want, AREA) != AREA)
		return "other data came back";
	return NULL;
}

/* All sizes on one allocation; prints and returns the number of failures. */
static unsigned int all_sizes(struct _test_data_copy *self,
			      const struct pub_memory *mem, move_fn write,
			      move_fn read, const char *what)
{
	static const uint64_t offsets[] = { 0, 4, 65533 };
	unsigned int failed = 0;
	const char *why;
	size_t i, o;

	memset(self->want, 0xa5, AREA);
	if (pub_set(&self->dev, mem, 0, 0xa5, AREA)) {
		ksft_print_msg("neuron%u %s: memset failed\n", self->dev.index,
			       what);
		return 1;
	}
	for (i = 0; i < NR(sizes); i++) {
		o = offsets[i % NR(offsets)];
		why = round_trip(self, mem, write, read, o, i % 5, sizes[i]);
		if (!why)
			continue;
		ksft_print_msg("neuron%u %s, %zu bytes at %zu: %s\n",
			       self->dev.index, what, sizes[i], o, why);
		failed++;
	}
	return failed;
}

/* Each core's copy queue with memory of each stack. */
static unsigned int all_queues(struct _test_data_copy *self, move_fn write,
			       move_fn read)
{
	unsigned int core, stack, failed = 0;
	struct pub_memory mem;
	char what[64];

	for (core = 0; core < self->dev.gen->nr_cores; core++) {
		for (stack = 0; stack < self->dev.gen->nr_hbm; stack++) {
			/* Every pair on the first device; its own on the rest. */
			if (self->dev.index != self->index[0] &&
			    stack != pub_stack(&self->dev, core))
				continue;
			snprintf(what, sizeof(what), "core %u, HBM %u", core,
				 stack);
			if (pub_alloc(&self->dev, core, stack, AREA, &mem)) {
				ksft_print_msg("%s: no memory\n", what);
				failed++;
				continue;
			}
			failed += all_sizes(self, &mem, write, read, what);
			pub_free(&self->dev, &mem);
		}
	}
	return failed;
}

static unsigned int all_devices(struct _test_data_copy *self, move_fn write,
				move_fn read)
{
	unsigned int i, failed = 0;

	for (i = 0; i < self->count; i++) {
		if (pub_open(&self->dev, self->index[i])) {
			ksft_print_msg("neuron%u does not open\n", self->index[i]);
			failed++;
			continue;
		}
		failed += all_queues(self, write, read);
		pub_close(&self->dev);
	}
	return failed;
}

TEST_F_TIMEOUT(copy, bounced, TIMEOUT)
{
	EXPECT_EQ(0, all_devices(self, write_bounced, pub_read));
}

TEST_F_TIMEOUT(copy, pinned, TIMEOUT)
{
	EXPECT_EQ(0, all_devices(self, write_pinned, pub_read_pinned));
}

/* Allocations that are no larger than what they hold: their memory is elsewhere. */
TEST_F_TIMEOUT(copy, small_allocations, TIMEOUT)
{
	static const size_t small[] = { 4, 64, 4096, 65536, 512 * KIB };
	unsigned int i, core, s;
	struct pub_memory mem;

	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		for (core = 0; core < self->dev.gen->nr_cores; core++) {
			for (s = 0; s < NR(small); s++) {
				must(pub_alloc(&self->dev, core,
					       pub_stack(&self->dev, core), small[s], &mem));
				pub_fill(self->user, small[s], core + s);
				memset(self->got, 0, small[s]);
				must(pub_write(&self->dev, &mem, 0, self->user, small[s]));
				must(pub_read(&self->dev, &mem, 0, self->got, small[s]));
				EXPECT_EQ(small[s], pub_differs(self->user, self->got, small[s]))
					TH_LOG("neuron%u core %u: %zu bytes at %#lx",
					       self->index[i], core, small[s], mem.pa);
			}
		}
		pub_close(&self->dev);
	}
}

/* Bytes of @src to @dst through the device, compared with what they were. */
static const char *between(struct _test_data_copy *self, struct pub_memory *dst,
			   struct pub_memory *src, size_t size, uint64_t from,
			   uint64_t to)
{
	pub_fill(self->user, AREA, size + from);
	memset(self->want, 0x3c, AREA);
	memcpy(self->want + to, self->user + from, size);
	if (pub_write(&self->dev, src, 0, self->user, AREA))
		return "the write failed";
	if (pub_set(&self->dev, dst, 0, 0x3c, AREA))
		return "memset failed";
	if (pub_copy(&self->dev, dst, to, src, from, size))
		return "the copy failed";
	if (pub_read(&self->dev, dst, 0, self->got, AREA))
		return "the read failed";
	if (pub_differs(self->got, self->want, AREA) != AREA)
		return "other data came back";
	return NULL;
}

static unsigned int pair_sizes(struct _test_data_copy *self, struct pub_memory *dst,
			       struct pub_memory *src, const char *what)
{
	unsigned int failed = 0;
	const char *why;
	size_t i;

	for (i = 0; i < NR(sizes); i++) {
		why = between(self, dst, src, sizes[i], i * 3, i * 4099);
		if (!why)
			continue;
		ksft_print_msg("neuron%u %s, %zu bytes: %s\n", self->dev.index,
			       what, sizes[i], why);
		failed++;
	}
	return failed;
}

/* Every stack to every stack, and within one. */
TEST_F_TIMEOUT(copy, between_stacks, TIMEOUT)
{
	struct pub_memory src, dst;
	unsigned int s, d, core;
	char what[64];

	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	for (s = 0; s < self->dev.gen->nr_hbm; s++) {
		for (d = 0; d < self->dev.gen->nr_hbm; d++) {
			core = (s * 3 + d) % self->dev.gen->nr_cores;
			snprintf(what, sizeof(what), "core %u, HBM %u to %u",
				 core, s, d);
			must(pub_alloc(&self->dev, core, s, AREA, &src));
			must(pub_alloc(&self->dev, core, d, AREA, &dst));
			EXPECT_EQ(0, pair_sizes(self, &dst, &src, what));
			must(pub_free(&self->dev, &src));
			must(pub_free(&self->dev, &dst));
		}
	}
}

/* The driver's own host memory, filled and checked through mmap. */
TEST_F_TIMEOUT(copy, host_memory, TIMEOUT)
{
	struct pub_memory host, back, mem;
	uint8_t *to, *from;
	unsigned int i;
	size_t s;

	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		must(pub_alloc_host(&self->dev, 0, AREA, &host));
		must(pub_alloc_host(&self->dev, 0, AREA, &back));
		must(pub_alloc(&self->dev, 0, 0, AREA, &mem));
		from = pub_map(&self->dev, &host);
		to = pub_map(&self->dev, &back);
		ASSERT_TRUE(from && to);
		for (s = 0; s < NR(sizes); s++) {
			pub_fill(from, AREA, s);
			memset(to, 0, AREA);
			must(pub_copy(&self->dev, &mem, s, &host, 0, sizes[s]));
			must(pub_copy(&self->dev, &back, 1, &mem, s, sizes[s]));
			EXPECT_EQ(sizes[s], pub_differs(to + 1, from, sizes[s]))
				TH_LOG("neuron%u: %zu bytes", self->index[i], sizes[s]);
			EXPECT_EQ(0, to[0]);
			EXPECT_EQ(0, to[sizes[s] + 1]);
		}
		/* Host to host goes through the device too. */
		must(pub_copy(&self->dev, &back, 0, &host, 0, AREA));
		EXPECT_EQ(AREA, pub_differs(to, from, AREA));
		pub_close(&self->dev);
	}
}

/* Two asynchronous copies at a time, each waited for by the next. */
TEST_F_TIMEOUT(copy, asynchronous, TIMEOUT)
{
	struct pub_mem_copy_async args = { .previous = PUB_ASYNC_NONE };
	struct pub_mem_copy_wait wait = { 0 };
	struct pub_memory host, mem;
	uint8_t *from;
	unsigned int i;

	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	must(pub_alloc_host(&self->dev, 0, AREA, &host));
	must(pub_alloc(&self->dev, 0, 0, AREA, &mem));
	from = pub_map(&self->dev, &host);
	ASSERT_NE(NULL, from);
	pub_fill(from, AREA, 77);
	args.copy.src = host.handle;
	args.copy.dst = mem.handle;
	args.copy.size = AREA / 16;
	for (i = 0; i < 16; i++) {
		args.copy.src_offset = i * args.copy.size;
		args.copy.dst_offset = i * args.copy.size;
		must(pub_ioctl(self->dev.fd, PUB_MEM_COPY_ASYNC, &args));
		EXPECT_EQ(1 + i % 2, args.wait);
		args.previous = args.wait;
	}
	wait.src = host.handle;
	wait.dst = mem.handle;
	wait.wait = args.wait;
	must(pub_ioctl(self->dev.fd, PUB_MEM_COPY_WAIT, &wait));
	must(pub_read(&self->dev, &mem, 0, self->got, AREA));
	EXPECT_EQ(AREA, pub_differs(self->got, from, AREA));
	pub_close(&self->dev);
}

/* MEMSET at odd places; what lies beside stays. */
TEST_F_TIMEOUT(copy, memset, TIMEOUT)
{
	struct pub_memory mem;
	unsigned int i;
	size_t s;

	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		must(pub_alloc(&self->dev, 0, 0, AREA, &mem));
		pub_fill(self->want, AREA, i);
		must(pub_write(&self->dev, &mem, 0, self->want, AREA));
		for (s = 0; s < NR(sizes); s++) {
			memset(self->want + s * 777, s + 1, sizes[s]);
			must(pub_set(&self->dev, &mem, s * 777, s + 1, sizes[s]));
		}
		must(pub_read(&self->dev, &mem, 0, self->got, AREA));
		EXPECT_EQ(AREA, pub_differs(self->got, self->want, AREA))
			TH_LOG("neuron%u", self->index[i]);
		pub_close(&self->dev);
	}
}

/* More than a ring full of descriptors: the rings wrap. */
FIXTURE(large)
{
	struct pub_device dev;
	struct pub_memory mem, other;
	uint8_t *from;
	uint8_t *to;
};

#define LARGE	(256 * MIB)

FIXTURE_SETUP(large)
{
	unsigned int index[PUB_MAX_DEVICES];

	ASSERT_NE(0, pub_devices(index)) TH_LOG("there is no /dev/neuronN");
	ASSERT_EQ(0, pub_open(&self->dev, index[0]));
	must(pub_alloc(&self->dev, 1, 0, LARGE, &self->mem));
	must(pub_alloc(&self->dev, 1, 1, LARGE, &self->other));
	self->from = aligned_alloc(4096, LARGE);
	self->to = aligned_alloc(4096, LARGE);
	ASSERT_TRUE(self->from && self->to);
	pub_fill(self->from, LARGE, 256);
}

FIXTURE_TEARDOWN(large)
{
	pub_close(&self->dev);
	free(self->from);
	free(self->to);
}

TEST_F_TIMEOUT(large, bounced, TIMEOUT)
{
	must(pub_write(&self->dev, &self->mem, 0, self->from, LARGE));
	must(pub_read(&self->dev, &self->mem, 0, self->to, LARGE));
	EXPECT_EQ(LARGE, pub_differs(self->from, self->to, LARGE));
}

TEST_F_TIMEOUT(large, pinned, TIMEOUT)
{
	must(pub_write_pinned(&self->dev, &self->mem, 0, self->from, LARGE));
	must(pub_read_pinned(&self->dev, &self->mem, 0, self->to, LARGE));
	EXPECT_EQ(LARGE, pub_differs(self->from, self->to, LARGE));
}

TEST_F_TIMEOUT(large, between_stacks, TIMEOUT)
{
	must(pub_write_pinned(&self->dev, &self->mem, 0, self->from, LARGE));
	must(pub_copy(&self->dev, &self->other, 0, &self->mem, 0, LARGE));
	must(pub_read_pinned(&self->dev, &self->other, 0, self->to, LARGE));
	EXPECT_EQ(LARGE, pub_differs(self->from, self->to, LARGE));
	/* Unaligned at both ends, and one byte less than the whole. */
	must(pub_copy(&self->dev, &self->other, 1, &self->mem, 0, LARGE - 1));
	must(pub_read_pinned(&self->dev, &self->other, 1, self->to, LARGE - 1));
	EXPECT_EQ(LARGE - 1, pub_differs(self->from, self->to, LARGE - 1));
}

TEST_F_TIMEOUT(large, memset, TIMEOUT)
{
	must(pub_set(&self->dev, &self->mem, 0, 0x5a, LARGE));
	must(pub_read_pinned(&self->dev, &self->mem, 0, self->to, LARGE));
	memset(self->from, 0x5a, LARGE);
	EXPECT_EQ(LARGE, pub_differs(self->from, self->to, LARGE));
}

TEST_HARNESS_MAIN
