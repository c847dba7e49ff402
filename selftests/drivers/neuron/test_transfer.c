// SPDX-License-Identifier: MIT
/*
 * Transfers: every kind of buffer and stride against a model in user space.
 */
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "transfer_rig.h"

#define MIB	(1ull << 20)

static const char * const place_name[TRANSFER_NR_PLACES] = {
	"hbm0", "hbm1", "host", "user",
};

FIXTURE(transfer)
{
	struct transfer_rig t;
};

FIXTURE_SETUP(transfer)
{
	int ret = transfer_open(&self->t);

	if (ret == -ENODEV)
		SKIP(return, "no neuron device");
	ASSERT_EQ(0, ret);
	ASSERT_GE(self->t.before.live, 0) TH_LOG("debugfs must be mounted");
}

FIXTURE_TEARDOWN(transfer)
{
	if (self->t.fd >= 0)
		EXPECT_FALSE(transfer_close(&self->t));
}

/* What @args does, to memory. */
static void imitate(const struct drm_neuron_transfer *args, uint8_t *dst,
		    const uint8_t *src)
{
	const __u64 *count = args->count;
	uint64_t i, j, k, n, to, from;

	for (k = 0; k < (count[2] ? count[2] : 1); k++)
		for (j = 0; j < (count[1] ? count[1] : 1); j++)
			for (i = 0; i < (count[0] ? count[0] : 1); i++) {
				to = args->dst_offset + i * args->dst_step[0] +
				     j * args->dst_step[1] + k * args->dst_step[2];
				from = args->src_offset + i * args->src_step[0] +
				       j * args->src_step[1] + k * args->src_step[2];
				for (n = 0; n < args->bytes; n++)
					dst[to + n] = src ? src[from + n] :
						      (uint8_t)(args->fill >>
								n % 8 * 8);
			}
}

/* Fill both buffers, run @args and compare every byte of the destination; or why not. */
static const char *try(struct transfer_rig *t, enum transfer_place dst,
		       enum transfer_place src, struct drm_neuron_transfer *args)
{
	const bool fill = args->flags & DRM_NEURON_TRANSFER_FILL;

	args->dst = t->bo[dst];
	args->src = fill ? 0 : t->bo[src];
	neuron_fill(t->model, TRANSFER_SIZE, 1);
	neuron_fill(t->data, TRANSFER_SIZE, 2);
	if (!fill && neuron_write(t->fd, args->src, 0, t->data, TRANSFER_SIZE))
		return "the source cannot be written";
	if (neuron_write(t->fd, args->dst, 0, t->model, TRANSFER_SIZE))
		return "the destination cannot be written";
	imitate(args, t->model, fill ? NULL : t->data);
	if (transfer_run(t->fd, args))
		return "it failed";
	if (neuron_read(t->fd, args->dst, 0, t->data, TRANSFER_SIZE))
		return "the destination cannot be read";
	return memcmp(t->model, t->data, TRANSFER_SIZE) ? "other bytes" : NULL;
}

TEST_F(transfer, every_place)
{
	struct drm_neuron_transfer args;
	enum transfer_place dst, src;
	const char *why;

	for (dst = TRANSFER_HBM0; dst < TRANSFER_NR_PLACES; dst++)
		for (src = TRANSFER_HBM0; src < TRANSFER_NR_PLACES; src++) {
			if (dst == src || !self->t.bo[dst] || !self->t.bo[src])
				continue;
			args = (struct drm_neuron_transfer){
				.dst_offset = 4097,
				.src_offset = 3,
				.bytes = MIB + 77,
			};
			why = try(&self->t, dst, src, &args);
			EXPECT_EQ(NULL, why)
				TH_LOG("%s from %s: %s", place_name[dst],
				       place_name[src], why);
		}
}

static const struct drm_neuron_transfer strided[] = {
	{ .bytes = 1 },
	{ .bytes = TRANSFER_SIZE },
	{ .bytes = 65537, .dst_offset = 1, .src_offset = 65535 },
	/* Rows of a matrix together, and apart. */
	{ .bytes = 100, .count = { 300 }, .dst_step = { 100 }, .src_step = { 4096 } },
	{ .bytes = 100, .count = { 300 }, .dst_step = { 4096 }, .src_step = { 100 } },
	/* One row for all. */
	{ .bytes = 4096, .src_offset = 12,
	  .count = { 200 }, .dst_step = { 5000 }, .src_step = { 0 } },
	/* A count of 0 is 1, at any place. */
	{ .bytes = 7, .count = { 0, 20 }, .dst_step = { 99, 64 }, .src_step = { 99, 8 } },
	{ .bytes = 7,
	  .count = { 20, 0, 3 }, .dst_step = { 64, 1, 5000 }, .src_step = { 8, 1, 7777 } },
	/* Three dimensions, the last run up to the last byte. */
	{ .bytes = 64,
	  .count = { 8, 8, 8 }, .dst_step = { 64, 1024, 8192 }, .src_step = { 128, 4096, 65536 } },
	{ .bytes = 1, .dst_offset = TRANSFER_SIZE - 1331,
	  .count = { 11, 11, 11 }, .dst_step = { 1, 11, 121 }, .src_step = { 121, 1, 11 } },
	{ .bytes = 70000, .src_offset = TRANSFER_SIZE - 170000,
	  .count = { 2 }, .dst_step = { 300000 }, .src_step = { 100000 } },
};

TEST_F(transfer, every_stride)
{
	static const enum transfer_place places[][2] = {
		{ TRANSFER_HBM0, TRANSFER_HOST },
		{ TRANSFER_HOST, TRANSFER_HBM1 },
		{ TRANSFER_USER, TRANSFER_HBM0 },
	};
	struct drm_neuron_transfer args;
	const char *why;
	size_t i, p;

	for (p = 0; p < ARRAY_SIZE(places); p++)
		for (i = 0; i < ARRAY_SIZE(strided); i++) {
			if (!self->t.bo[places[p][0]])
				continue;
			args = strided[i];
			why = try(&self->t, places[p][0], places[p][1], &args);
			EXPECT_EQ(NULL, why)
				TH_LOG("entry %zu into %s: %s", i,
				       place_name[places[p][0]], why);
		}
}

TEST_F(transfer, fill)
{
	static const struct drm_neuron_transfer fills[] = {
		{ .bytes = 1 },
		{ .bytes = 8 },
		{ .bytes = TRANSFER_SIZE },
		{ .bytes = 100001, .dst_offset = 3 },
		{ .bytes = 4097, .dst_offset = 4093,
		  .count = { 30 }, .dst_step = { 5001 }, .src_step = { 0 } },
		{ .bytes = 3,
		  .count = { 10, 9, 8 }, .dst_step = { 7, 100, 1000 }, .src_step = { 0, 0, 0 } },
	};
	struct drm_neuron_transfer args;
	enum transfer_place dst;
	const char *why;
	size_t i;

	for (dst = TRANSFER_HBM0; dst < TRANSFER_NR_PLACES; dst++)
		for (i = 0; i < ARRAY_SIZE(fills) && self->t.bo[dst]; i++) {
			args = fills[i];
			args.flags = DRM_NEURON_TRANSFER_FILL;
			args.fill = 0x8877665544332211ull;
			why = try(&self->t, dst, 0, &args);
			EXPECT_EQ(NULL, why)
				TH_LOG("entry %zu into %s: %s", i, place_name[dst], why);
		}
}

/* In one buffer: apart and touching is fine, what overlaps is refused. */
TEST_F(transfer, one_buffer)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HBM0],
		.dst_offset = 4096,
		.bytes = 4096,
	};

	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
	args.src_offset = 8192;
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
	args.src_offset = 1;
	EXPECT_EQ(-EINVAL, transfer_run(self->t.fd, &args));
	args.src_offset = 8191;
	EXPECT_EQ(-EINVAL, transfer_run(self->t.fd, &args));
	args.src_offset = 4096;
	EXPECT_EQ(-EINVAL, transfer_run(self->t.fd, &args));
	/* Every second row of it into the others. */
	args.src_offset = 0;
	args.count[0] = 10;
	args.dst_step[0] = 8192;
	args.src_step[0] = 8192;
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
}

TEST_F(transfer, out_of_range)
{
	const struct drm_neuron_transfer good = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HOST],
		.bytes = 4096,
		.count = { 2, 2, 2 },
		.dst_step = { 4096, 8192, 16384 },
		.src_step = { 4096, 8192, 16384 },
	};
	static const struct {
		uint64_t dst_offset, src_offset, bytes, count, dst_step, src_step;
	} bad[] = {
		{ TRANSFER_SIZE - 32767, 0, 4096, 2, 16384, 16384 },
		{ 0, TRANSFER_SIZE - 32767, 4096, 2, 16384, 16384 },
		{ ~0ull, 0, 4096, 2, 16384, 16384 },
		{ 0, -4096ull, 4096, 2, 16384, 16384 },
		{ 0, 0, TRANSFER_SIZE, 2, 16384, 16384 },
		{ 0, 0, ~0ull, 2, 16384, 16384 },
		{ 0, 0, 0, 2, 16384, 16384 },
		{ 0, 0, 4096, 2, ~0ull, 16384 },
		{ 0, 0, 4096, 2, 16384, 1ull << 63 },
		{ 0, 0, 4096, 3, 1ull << 63, 0 },
		{ 0, 0, 4096, 1ull << 32, 1ull << 32, 0 },
		{ 0, 0, 4096, ~0ull, 1, 1 },
		{ 0, 0, 4096, 2, TRANSFER_SIZE, 0 },
		{ 0, 0, 4096, 2, 0, TRANSFER_SIZE },
	};
	struct drm_neuron_transfer args = good;
	size_t i;

	ASSERT_EQ(0, transfer_run(self->t.fd, &args));
	args.dst_offset = TRANSFER_SIZE - 32768;
	args.src_offset = TRANSFER_SIZE - 32768;
	ASSERT_EQ(0, transfer_run(self->t.fd, &args));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = good;
		args.dst_offset = bad[i].dst_offset;
		args.src_offset = bad[i].src_offset;
		args.bytes = bad[i].bytes;
		args.count[2] = bad[i].count;
		args.dst_step[2] = bad[i].dst_step;
		args.src_step[2] = bad[i].src_step;
		EXPECT_EQ(-EINVAL, transfer_run(self->t.fd, &args)) TH_LOG("entry %zu", i);
	}
}

TEST_F(transfer, rights)
{
	struct drm_neuron_transfer args = { .src = self->t.bo[TRANSFER_HBM0], .bytes = 64 };
	struct drm_neuron_bo_create stream = {
		.size = 4096,
		.placement = DRM_NEURON_BO_HOST,
		.flags = DRM_NEURON_BO_STREAM,
	};
	uint32_t handle;

	must(self->t.fd, BO_CREATE, &stream);
	args.dst = stream.handle;
	EXPECT_EQ(-EPERM, transfer_run(self->t.fd, &args));
	args = (struct drm_neuron_transfer){
		.dst = self->t.bo[TRANSFER_HBM0], .src = stream.handle, .bytes = 64,
	};
	EXPECT_EQ(-EPERM, transfer_run(self->t.fd, &args));
	if (transfer_import(self->t.fd, self->t.user, DRM_NEURON_IMPORT_READ_ONLY, &handle))
		SKIP(return, "the device needs bounce buffers here");
	args.src = handle;
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
	args = (struct drm_neuron_transfer){
		.dst = handle, .src = self->t.bo[TRANSFER_HBM0], .bytes = 64,
	};
	EXPECT_EQ(-EPERM, transfer_run(self->t.fd, &args));
}

/* As many pieces as QUERY says, and one more. */
TEST_F(transfer, most_pieces)
{
	struct drm_neuron_transfer args = {
		.dst = self->t.bo[TRANSFER_HBM0],
		.src = self->t.bo[TRANSFER_HBM1],
		.bytes = 4,
		.count = { 2, 1 },
		.dst_step = { 64, 128 },
		.src_step = { 64, 128 },
	};

	ASSERT_GE(self->t.limits.transfer_pieces, 2);
	args.count[1] = self->t.limits.transfer_pieces / 2;
	EXPECT_EQ(0, transfer_run(self->t.fd, &args));
	args.count[1]++;
	EXPECT_EQ(-E2BIG, transfer_run(self->t.fd, &args));
	args.count[1] = 1ull << 40;
	args.dst_step[1] = 0;
	args.src_step[1] = 0;
	EXPECT_EQ(-E2BIG, transfer_run(self->t.fd, &args));
}

/* Into and out of another chip's HBM. */
TEST_F(transfer, peer)
{
	const uint32_t hbm = self->t.bo[TRANSFER_HBM0], host = self->t.bo[TRANSFER_HOST];
	const uint64_t bytes = TRANSFER_SIZE - 17;
	struct drm_neuron_transfer args;
	uint8_t *data = self->t.data;
	const int fd = self->t.fd;
	uint32_t theirs, mine;
	int peer, dma_buf;

	peer = neuron_open(1);
	if (peer < 0)
		SKIP(return, "one device only");
	ASSERT_EQ(0, transfer_bo(peer, TRANSFER_HBM1, &theirs));
	dma_buf = neuron_export(peer, theirs);
	ASSERT_GE(dma_buf, 0);
	if (neuron_import(fd, dma_buf, &mine))
		SKIP(return, "no fabric between the devices");
	close(dma_buf);

	neuron_fill(data, TRANSFER_SIZE, 5);
	ASSERT_EQ(0, neuron_write(fd, host, 0, data, TRANSFER_SIZE));
	args = (struct drm_neuron_transfer){
		.dst = mine, .dst_offset = 17, .src = host, .bytes = bytes,
	};
	EXPECT_EQ(0, transfer_run(fd, &args));
	memset(data, 0, TRANSFER_SIZE);
	ASSERT_EQ(0, neuron_read(peer, theirs, 17, data, bytes));
	EXPECT_EQ(bytes, neuron_differs(data, bytes, 5));
	args = (struct drm_neuron_transfer){
		.dst = hbm, .src = mine, .src_offset = 17, .bytes = bytes,
	};
	EXPECT_EQ(0, transfer_run(fd, &args));
	ASSERT_EQ(0, neuron_read(fd, hbm, 0, data, bytes));
	EXPECT_EQ(bytes, neuron_differs(data, bytes, 5));
	args = (struct drm_neuron_transfer){
		.dst = mine, .bytes = TRANSFER_SIZE, .flags = DRM_NEURON_TRANSFER_FILL, .fill = 0,
	};
	EXPECT_EQ(0, transfer_run(fd, &args));
	ASSERT_EQ(0, neuron_read(peer, theirs, 0, data, TRANSFER_SIZE));
	EXPECT_EQ(TRANSFER_SIZE, neuron_differs_from(data, TRANSFER_SIZE, 0));

	/* What the peer lost in its reset is not written any more. */
	ASSERT_EQ(0, neuron_reset_device(peer));
	EXPECT_EQ(-EIO, transfer_run(fd, &args));
	close(peer);
}

TEST_HARNESS_MAIN
