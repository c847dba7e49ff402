// SPDX-License-Identifier: MIT
/*
 * Notification queues through the public driver: each type on each core and TOP_SP,
 * in host memory and in HBM. What the driver was told is in the registers, and is
 * gone after a reset.
 */
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define SIZE		8192
#define SLOTS		16	/* engines of a queue type */

FIXTURE(nq)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
};

FIXTURE_SETUP(nq)
{
	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
}

/* The driver keeps the queues until their core is reset. */
FIXTURE_TEARDOWN(nq)
{
	EXPECT_EQ(0, pub_reset(&self->dev, PUB_CORE_MAP_DEVICE));
	pub_close(&self->dev);
}

/* BAR0 offset of the registers that belong to a queue. */
static uint32_t slot(const struct pub_device *dev, const struct pub_nq_realloc *nq)
{
	if (nq->device_type == PUB_NQ_TOP_SP)
		return neuron_top_sp_nq_bar0(dev->gen, nq->device) +
		       NEURON_NQ_SLOT(nq->engine);
	if (nq->type == PUB_NQ_TRACE_DMA)
		return neuron_sdma_bar0(dev->gen, neuron_core_dma(nq->device) + nq->engine) +
		       NEURON_SDMA_NQ + NEURON_NQ_SLOT(0);
	return dev->gen->nq_bar0[nq->device] + NEURON_NQ_SLOT(nq->engine);
}

struct seen {
	uint64_t base;
	uint32_t size;
};

static struct seen look(struct pub_device *dev, const struct pub_nq_realloc *nq)
{
	uint32_t at = slot(dev, nq), lo, hi;
	struct seen seen = { ~0ull, ~0u };

	if (!pub_reg_read(dev, at + NEURON_NQ_BASE_LO, &lo) &&
	    !pub_reg_read(dev, at + NEURON_NQ_BASE_HI, &hi) &&
	    !pub_reg_read(dev, at + NEURON_NQ_SIZE, &seen.size))
		seen.base = (uint64_t)hi << 32 | lo;
	return seen;
}

static int address(struct pub_device *dev, uint64_t handle, uint64_t *pa)
{
	struct pub_mem_info info = { .handle = handle, .version = 1 };
	int rc = pub_ioctl(dev->fd, PUB_MEM_INFO, &info);

	*pa = info.pa;
	return rc;
}

/* Make the queue; its registers must tell where. What went wrong, or NULL. */
static const char *make(struct pub_device *dev, struct pub_nq_realloc *nq)
{
	struct seen seen;
	uint64_t pa;

	if (pub_ioctl(dev->fd, PUB_NQ_REALLOC, nq))
		return "init failed";
	if (address(dev, nq->handle, &pa))
		return "no such memory";
	seen = look(dev, nq);
	if (seen.base != pa)
		return "the base register has another address";
	if (seen.size != nq->size)
		return "the size register has another size";
	if (!nq->host && pa % nq->size)
		return "the queue is not aligned to its size";
	if (nq->host && !(pa & dev->gen->host_base))
		return "the queue is not in host memory";
	return NULL;
}

static unsigned int try_all(struct pub_device *dev, unsigned int device_type,
			    unsigned int nr, unsigned int host)
{
	struct pub_nq_realloc nq;
	unsigned int d, type, engine, failed = 0;
	const char *why;

	for (d = 0; d < nr; d++) {
		for (type = 0; type < PUB_NQ_TYPES; type++) {
			for (engine = d % 3; engine < SLOTS; engine += 5) {
				nq = (struct pub_nq_realloc){
					.device = d,
					.device_type = device_type,
					.type = type,
					.engine = engine,
					.size = SIZE,
					.host = host,
					.channel = d % dev->gen->nr_hbm,
					.force = 1,
				};
				why = make(dev, &nq);
				if (!why)
					continue;
				ksft_print_msg("%s %u type %u engine %u: %s\n",
					       device_type ? "TOP_SP" : "core", d, type,
					       engine, why);
				failed++;
			}
		}
	}
	return failed;
}

TEST_F_TIMEOUT(nq, cores_host, TIMEOUT)
{
	EXPECT_EQ(0, try_all(&self->dev, PUB_NQ_CORE, self->dev.gen->nr_cores, 1));
}

TEST_F_TIMEOUT(nq, cores_hbm, TIMEOUT)
{
	EXPECT_EQ(0, try_all(&self->dev, PUB_NQ_CORE, self->dev.gen->nr_cores, 0));
}

TEST_F_TIMEOUT(nq, top_sps_host, TIMEOUT)
{
	EXPECT_EQ(0, try_all(&self->dev, PUB_NQ_TOP_SP, self->dev.gen->nr_top_sp_ids, 1));
}

TEST_F_TIMEOUT(nq, top_sps_hbm, TIMEOUT)
{
	EXPECT_EQ(0, try_all(&self->dev, PUB_NQ_TOP_SP, self->dev.gen->nr_top_sp_ids, 0));
}

/* Without "realloc" the queue stays, with it another takes its place. */
TEST_F_TIMEOUT(nq, realloc, TIMEOUT)
{
	struct pub_nq_init init = {
		.type = PUB_NQ_NOTIFY,
		.engine = 2,
		.size = SIZE,
		.host = 1,
	};
	struct pub_nq_realloc again = {
		.type = PUB_NQ_NOTIFY,
		.engine = 2,
		.size = 2 * SIZE,
		.host = 1,
		.force = 1,
	};
	struct seen first, second;
	uint8_t *map;
	unsigned int i;

	must(pub_ioctl(self->dev.fd, PUB_NQ_INIT, &init));
	first = look(&self->dev, &again);
	EXPECT_EQ(SIZE, first.size);
	must(pub_ioctl(self->dev.fd, PUB_NQ_INIT, &init));
	second = look(&self->dev, &again);
	EXPECT_EQ(first.base, second.base);
	EXPECT_EQ(first.size, second.size);

	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->dev.fd, init.mmap_offset);
	ASSERT_NE(MAP_FAILED, map);
	for (i = 0; i < SIZE && !map[i]; i++)
		;
	EXPECT_EQ(SIZE, i) TH_LOG("a new queue is not empty");
	munmap(map, SIZE);

	EXPECT_EQ(NULL, make(&self->dev, &again));
	second = look(&self->dev, &again);
	EXPECT_NE(first.base, second.base);
	EXPECT_EQ(2 * SIZE, second.size);
	/* The old way to destroy one does nothing. */
	must(pub_ioctl(self->dev.fd, PUB_NQ_DESTROY, &init));
	EXPECT_EQ(second.base, look(&self->dev, &again).base);
}

/* The consumer's pointer belongs to the program; a new queue starts at zero. */
TEST_F_TIMEOUT(nq, head, TIMEOUT)
{
	struct pub_nq_realloc nq = {
		.device = self->dev.gen->nr_cores - 1,
		.type = PUB_NQ_ERROR,
		.engine = 1,
		.size = SIZE,
		.host = 1,
		.force = 1,
	};
	uint32_t at = slot(&self->dev, &nq), value = ~0u;

	ASSERT_EQ(NULL, make(&self->dev, &nq));
	must(pub_reg_read(&self->dev, at + NEURON_NQ_HEAD, &value));
	EXPECT_EQ(0, value);
	must(pub_reg_write(&self->dev, at + NEURON_NQ_HEAD, 64));
	must(pub_reg_read(&self->dev, at + NEURON_NQ_HEAD, &value));
	EXPECT_EQ(64, value);
}

/* A reset of a core takes its queues, and those of its TOP_SPs, and no others. */
TEST_F_TIMEOUT(nq, reset, TIMEOUT)
{
	unsigned int per_core = self->dev.gen->nr_top_sp_ids / self->dev.gen->nr_cores;
	struct pub_nq_realloc nq[4] = {
		{ .device = 0, .type = PUB_NQ_NOTIFY },
		{ .device = 1, .type = PUB_NQ_NOTIFY },
		{ .device = 0, .type = PUB_NQ_NOTIFY, .device_type = PUB_NQ_TOP_SP },
		{ .device = per_core, .type = PUB_NQ_NOTIFY, .device_type = PUB_NQ_TOP_SP },
	};
	uint64_t base[4];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		nq[i].engine = 3;
		nq[i].size = SIZE;
		nq[i].host = 1;
		nq[i].force = 1;
		ASSERT_EQ(NULL, make(&self->dev, &nq[i]));
		base[i] = look(&self->dev, &nq[i]).base;
	}
	must(pub_reset(&self->dev, 1));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i % 2 ? base[i] : 0, look(&self->dev, &nq[i]).base)
			TH_LOG("queue %u", i);
		EXPECT_EQ(i % 2 ? SIZE : 0, look(&self->dev, &nq[i]).size)
			TH_LOG("queue %u", i);
	}
}

TEST_HARNESS_MAIN
