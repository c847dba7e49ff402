// SPDX-License-Identifier: MIT
/*
 * DMA engines and queues in the hands of a program, through the public driver:
 * every engine, every queue, rings in host memory and in HBM, states, abort.
 */
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "public_ring.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define AREA		(256 * KIB)
#define RING		64
#define QUIET_MS	50	/* in which an engine that is stopped moves nothing */
/* The driver's own. */
#define COLLECTIVES	15
#define NX		14

FIXTURE(dma)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
	struct pub_memory host;		/* first half: source, second: back */
	struct pub_memory mem;
	uint8_t *from;
	uint8_t *to;
	struct pub_ring ring;
};

FIXTURE_SETUP(dma)
{
	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	/* The last one: resets and copies have their tests on the first. */
	ASSERT_EQ(0, pub_open(&self->dev, self->index[self->count - 1]));
	ASSERT_EQ(0, pub_alloc_host(&self->dev, 0, 2 * AREA, &self->host));
	ASSERT_EQ(0, pub_alloc(&self->dev, 0, 0, 4 * AREA, &self->mem));
	self->from = pub_map(&self->dev, &self->host);
	ASSERT_NE(NULL, self->from);
	self->to = self->from + AREA;
	ASSERT_EQ(0, pub_ring_alloc(&self->ring, &self->dev, 0, -1, RING));
}

FIXTURE_TEARDOWN(dma)
{
	pub_close(&self->dev);
}

static int engine_state(struct _test_data_dma *self, unsigned int engine,
			struct pub_dma_engine_state *state)
{
	struct pub_dma_get_state args = {
		.engine = engine,
		.state = (uintptr_t)state,
	};

	return pub_ioctl(self->dev.fd, PUB_DMA_GET_STATE, &args);
}

static int set_state(struct _test_data_dma *self, unsigned int engine, unsigned int state)
{
	struct pub_dma_set_state args = { .engine = engine, .state = state };

	return pub_ioctl(self->dev.fd, PUB_DMA_SET_STATE, &args);
}

/* Host to HBM and back through the ring's queue; what went wrong, or NULL. */
static const char *there_and_back(struct _test_data_dma *self, uint32_t len,
				  uint32_t seed)
{
	int rc;

	pub_fill(self->from, len, seed);
	memset(self->to, 0, len);
	pub_ring_copy(&self->ring, self->mem.pa, self->host.pa, len);
	rc = pub_ring_run(&self->ring);
	if (rc)
		return rc == -ETIMEDOUT ? "host to HBM never ended" : "start failed";
	pub_ring_copy(&self->ring, self->host.pa + AREA, self->mem.pa, len);
	rc = pub_ring_run(&self->ring);
	if (rc)
		return rc == -ETIMEDOUT ? "HBM to host never ended" : "start failed";
	return pub_differs(self->from, self->to, len) == len ? NULL : "other data";
}

static unsigned int try_queue(struct _test_data_dma *self, unsigned int engine,
			      unsigned int queue)
{
	const char *why = "init failed";

	if (!pub_ring_init(&self->ring, engine, queue))
		why = there_and_back(self, 4096 + engine * 4 + queue,
				     engine * 16 + queue);
	if (!why)
		return 0;
	ksft_print_msg("engine %u queue %u: %s\n", engine, queue, why);
	return 1;
}

/* Nothing runs after a load: every engine answers, with its queues. */
TEST_F_TIMEOUT(dma, engine_states, TIMEOUT)
{
	struct pub_dma_engine_state state;
	unsigned int e;

	for (e = 0; e < self->dev.gen->nr_dma; e++) {
		memset(&state, 0xee, sizeof(state));
		ASSERT_EQ(0, engine_state(self, e, &state)) TH_LOG("engine %u", e);
		EXPECT_EQ(NEURON_UDMA_QUEUES, state.max_queues);
		EXPECT_EQ(NEURON_UDMA_QUEUES, state.queues);
		EXPECT_TRUE(state.tx == PUB_DMA_IDLE || state.tx == PUB_DMA_NORMAL)
			TH_LOG("engine %u: M2S state %u", e, state.tx);
		EXPECT_TRUE(state.rx == PUB_DMA_IDLE || state.rx == PUB_DMA_NORMAL)
			TH_LOG("engine %u: S2M state %u", e, state.rx);
	}
}

TEST_F_TIMEOUT(dma, every_engine, TIMEOUT)
{
	unsigned int e, failed = 0;

	for (e = 0; e < self->dev.gen->nr_ring; e++)
		failed += try_queue(self, e, e % NX);
	EXPECT_EQ(0, failed);
}

TEST_F_TIMEOUT(dma, every_queue, TIMEOUT)
{
	unsigned int q, failed = 0;

	for (q = 0; q <= COLLECTIVES; q++)
		failed += try_queue(self, self->dev.gen->nr_ring - 1, q);
	EXPECT_EQ(0, failed);
}

/* Rings in the HBM of every stack. */
TEST_F_TIMEOUT(dma, rings_in_hbm, TIMEOUT)
{
	unsigned int s, failed = 0;

	for (s = 0; s < self->dev.gen->nr_hbm; s++) {
		pub_ring_free(&self->ring);
		ASSERT_EQ(0, pub_ring_alloc(&self->ring, &self->dev, 0, s, RING));
		failed += try_queue(self, s, 3);
	}
	EXPECT_EQ(0, failed);
}

/* Rings of a length that is no power of two wrap, and their ids go on. */
TEST_F_TIMEOUT(dma, wrap, TIMEOUT)
{
	static const unsigned int lengths[] = { 32, 48, 240 };
	const char *why;
	unsigned int l, i;

	for (l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		pub_ring_free(&self->ring);
		ASSERT_EQ(0, pub_ring_alloc(&self->ring, &self->dev, 0, -1, lengths[l]));
		ASSERT_EQ(0, pub_ring_init(&self->ring, 1, 1));
		for (i = 0; i < lengths[l] * 3; i++) {
			why = there_and_back(self, 64 + i, i);
			ASSERT_EQ(NULL, why)
				TH_LOG("%u descriptors, lap %u: %s", lengths[l],
				       i * 4 / lengths[l], why);
		}
	}
}

/* The most that fits before one doorbell, 64 KiB each. */
TEST_F_TIMEOUT(dma, full_ring, TIMEOUT)
{
	unsigned int i;

	ASSERT_EQ(0, pub_ring_init(&self->ring, 2, 0));
	pub_fill(self->from, AREA, 9);
	for (i = 0; i < RING - 2; i++)
		pub_ring_copy(&self->ring, self->mem.pa + i % 16 * 65536,
			      self->host.pa + i % 4 * 65536, 65536);
	ASSERT_EQ(0, pub_ring_run(&self->ring));
	for (i = 0; i < 4; i++) {
		memset(self->to, 0, AREA);
		must(pub_read(&self->dev, &self->mem, i * AREA, self->to, AREA));
		EXPECT_EQ(AREA, pub_differs(self->from, self->to, AREA));
	}
}

/* A packet of three sources for five destinations of other lengths. */
TEST_F_TIMEOUT(dma, shapes, TIMEOUT)
{
	static const uint32_t in[] = { 1000, 1, 3095 };
	static const uint32_t out[] = { 1, 2047, 5, 2000, 43 };
	uint32_t at;
	unsigned int i;

	ASSERT_EQ(0, pub_ring_init(&self->ring, 4, 5));
	pub_fill(self->from, 4096, 3);
	memset(self->to, 0, 8192);
	for (at = 0, i = 0; i < 3; at += in[i], i++)
		pub_ring_tx(&self->ring, self->host.pa + at, in[i],
			    (i == 0 ? NEURON_UDMA_DESC_FIRST : 0) |
			    (i == 2 ? NEURON_UDMA_DESC_LAST : 0));
	for (at = 0, i = 0; i < 5; at += out[i], i++)
		pub_ring_rx(&self->ring, self->host.pa + AREA + at + i, out[i]);
	ASSERT_EQ(0, pub_ring_run(&self->ring));
	for (at = 0, i = 0; i < 5; at += out[i], i++) {
		EXPECT_EQ(out[i], pub_differs(self->from + at, self->to + at + i, out[i]));
		EXPECT_EQ(0, self->to[at + i + out[i]]);
	}
}

/* As many queues in one call as it takes, and each works. */
TEST_F_TIMEOUT(dma, batch, TIMEOUT)
{
	struct pub_dma_queue_init_batch *batch = calloc(1, sizeof(*batch));
	unsigned int n = 24, i, e;
	struct pub_ring *ring;
	uint8_t back[512];

	ring = calloc(n, sizeof(*ring));
	ASSERT_TRUE(batch && ring);
	batch->count = n;
	for (i = 0; i < n; i++) {
		e = i * 5 % self->dev.gen->nr_ring;
		ASSERT_EQ(0, pub_ring_alloc(&ring[i], &self->dev, 0, i % 2 ? -1 : 0, 32));
		batch->entry[i] = pub_ring_entry(&ring[i], e, i % NX);
	}
	must(pub_ioctl(self->dev.fd, PUB_DMA_QUEUE_INIT_BATCH, batch));
	pub_fill(self->from, AREA, 11);
	for (i = 0; i < n; i++) {
		pub_ring_copy(&ring[i], self->mem.pa + i * 512, self->host.pa + i * 512, 512);
		ASSERT_EQ(0, pub_ring_start(&ring[i]));
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, pub_ring_wait(&ring[i], 60000)) TH_LOG("entry %u", i);
		must(pub_read(&self->dev, &self->mem, i * 512, back, 512));
		EXPECT_EQ(512, pub_differs(self->from + i * 512, back, 512));
	}
	free(ring);
	free(batch);
}

/* What the driver reads back of a queue. */
TEST_F_TIMEOUT(dma, queue_state, TIMEOUT)
{
	struct pub_dma_queue_state tx, rx;
	struct pub_dma_queue_get_state args = {
		.engine = 6,
		.queue = 7,
		.tx = (uintptr_t)&tx,
		.rx = (uintptr_t)&rx,
	};
	unsigned int round;

	ASSERT_EQ(0, pub_ring_init(&self->ring, 6, 7));
	/* Two copies and their markers in each round: it wraps. */
	for (round = 0; round < 20; round++) {
		memset(&tx, 0, sizeof(tx));
		must(pub_ioctl(self->dev.fd, PUB_DMA_QUEUE_STATE, &args));
		EXPECT_EQ(self->ring.tx.pa, tx.base);
		EXPECT_EQ(self->ring.rx.pa, rx.base);
		EXPECT_EQ(RING, tx.length);
		EXPECT_EQ(RING, rx.length);
		EXPECT_EQ(round * 4 % RING, tx.head);
		EXPECT_EQ(round * 4 % RING, tx.tail);
		EXPECT_EQ(round * 4 % RING, rx.head);
		EXPECT_EQ(round * 4 % RING, rx.tail);
		EXPECT_EQ(round * 4 % RING, rx.completion_head);
		EXPECT_EQ(0, tx.completion_base);
		ASSERT_EQ(NULL, there_and_back(self, 100, round));
	}
}

/* Descriptors come back as they were given, from both kinds of memory. */
TEST_F_TIMEOUT(dma, copyout, TIMEOUT)
{
	struct neuron_udma_desc back[8];
	struct pub_dma_copyout args = {
		.engine = 8,
		.queue = 2,
		.count = 4,
		.buffer = (uintptr_t)back,
	};
	unsigned int in_hbm, side;

	for (in_hbm = 0; in_hbm < 2; in_hbm++) {
		pub_ring_free(&self->ring);
		ASSERT_EQ(0, pub_ring_alloc(&self->ring, &self->dev, 0,
					    in_hbm ? 0 : -1, RING));
		ASSERT_EQ(0, pub_ring_init(&self->ring, 8, 2));
		ASSERT_EQ(NULL, there_and_back(self, 777, in_hbm));
		for (side = 0; side < 2; side++) {
			args.type = side;
			memset(back, 0xee, sizeof(back));
			must(pub_ioctl(self->dev.fd, PUB_DMA_COPYOUT, &args));
			EXPECT_EQ(0, memcmp(back, side ? self->ring.s2m : self->ring.m2s,
					    4 * sizeof(back[0])))
				TH_LOG("%s, %s", in_hbm ? "HBM" : "host", side ? "S2M" : "M2S");
		}
	}
}

/* An aborted engine says so and moves nothing; normal again, it goes on. */
TEST_F_TIMEOUT(dma, abort, TIMEOUT)
{
	struct pub_dma_engine_state state;

	ASSERT_EQ(0, pub_ring_init(&self->ring, 9, 1));
	ASSERT_EQ(NULL, there_and_back(self, 1000, 1));
	must(set_state(self, 9, PUB_DMA_ABORT));
	must(engine_state(self, 9, &state));
	EXPECT_EQ(PUB_DMA_ABORT, state.tx);
	EXPECT_EQ(PUB_DMA_ABORT, state.rx);
	pub_ring_copy(&self->ring, self->mem.pa, self->host.pa, 100);
	ASSERT_EQ(0, pub_ring_start(&self->ring));
	EXPECT_EQ(-ETIMEDOUT, pub_ring_wait(&self->ring, QUIET_MS));
	must(set_state(self, 9, PUB_DMA_NORMAL));
	must(engine_state(self, 9, &state));
	EXPECT_NE(PUB_DMA_ABORT, state.tx);
	EXPECT_NE(PUB_DMA_ABORT, state.rx);
	ASSERT_EQ(0, pub_ring_init(&self->ring, 9, 1));
	EXPECT_EQ(NULL, there_and_back(self, 1000, 2));
	/* Its neighbours never noticed. */
	EXPECT_EQ(0, try_queue(self, 8, 1));
	EXPECT_EQ(0, try_queue(self, 10, 1));
}

/* A queue left running by a process that ends does the next one no harm. */
TEST_F_TIMEOUT(dma, owner_dies, TIMEOUT)
{
	struct pub_ring ring;
	pid_t child = fork();
	int status;

	ASSERT_LE(0, child);
	if (!child) {
		struct pub_device dev;

		if (pub_open(&dev, self->dev.index) ||
		    pub_ring_alloc(&ring, &dev, 0, -1, RING) ||
		    pub_ring_init(&ring, 12, 3))
			_exit(1);
		pub_ring_copy(&ring, ring.marker.pa + 64, ring.marker.pa, 64);
		_exit(pub_ring_start(&ring) ? 2 : 0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(0, try_queue(self, 12, 3));
}

/* Memory seen through BAR4 is what DMA wrote, and the other way round. */
TEST_F_TIMEOUT(dma, mapped_hbm, TIMEOUT)
{
	struct pub_memory mem;
	unsigned int s;
	uint8_t *map;

	for (s = 0; s < self->dev.gen->nr_hbm; s++) {
		must(pub_alloc(&self->dev, 0, s, 4 * AREA, &mem));
		map = pub_map(&self->dev, &mem);
		ASSERT_NE(NULL, map);
		pub_fill(self->from, AREA, s);
		must(pub_write(&self->dev, &mem, AREA, self->from, AREA));
		EXPECT_EQ(AREA, pub_differs(map + AREA, self->from, AREA));
		memcpy(map + 2 * AREA, self->from, AREA);
		must(pub_read(&self->dev, &mem, 2 * AREA, self->to, AREA));
		EXPECT_EQ(AREA, pub_differs(self->to, self->from, AREA));
		munmap(map, mem.size);
	}
}

TEST_HARNESS_MAIN
