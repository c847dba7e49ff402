// SPDX-License-Identifier: MIT
/*
 * Resets through the public driver: of the device, of single cores, from sysfs.
 * Afterwards the copy queues work again and the neighbours have kept theirs.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define AREA		(1 * MIB + 5)

FIXTURE(reset)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
	uint8_t *user;
	uint8_t *got;
};

FIXTURE_SETUP(reset)
{
	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	self->user = malloc(AREA);
	self->got = malloc(AREA);
	ASSERT_TRUE(self->user && self->got);
}

FIXTURE_TEARDOWN(reset)
{
	free(self->user);
	free(self->got);
}

/* Does the copy queue of @core work? */
static int round_trip(struct _test_data_reset *self, unsigned int core)
{
	struct pub_memory mem;
	int rc = pub_alloc(&self->dev, core, pub_stack(&self->dev, core), AREA,
			   &mem);

	if (rc)
		return rc;
	pub_fill(self->user, AREA, core);
	memset(self->got, 0, AREA);
	rc = pub_write(&self->dev, &mem, 0, self->user, AREA);
	if (!rc)
		rc = pub_read_pinned(&self->dev, &mem, 0, self->got, AREA);
	if (!rc && pub_differs(self->user, self->got, AREA) != AREA)
		rc = -EILSEQ;
	pub_free(&self->dev, &mem);
	return rc;
}

static int sem_write(struct pub_device *dev, unsigned int core, uint32_t value)
{
	struct pub_cell args = { .core = core, .index = 3, .value = value };

	return pub_ioctl(dev->fd, PUB_SEM_WRITE, &args);
}

static uint32_t sem_read(struct pub_device *dev, unsigned int core)
{
	struct pub_cell args = { .core = core, .index = 3 };

	return pub_ioctl(dev->fd, PUB_SEM_READ, &args) ? 0xdeadbeef : args.value;
}

TEST_F_TIMEOUT(reset, device, TIMEOUT)
{
	unsigned int i, c;

	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		for (c = 0; c < self->dev.gen->nr_cores; c++)
			must(sem_write(&self->dev, c, 100 + c));
		ASSERT_EQ(0, pub_reset(&self->dev, PUB_CORE_MAP_DEVICE))
			TH_LOG("neuron%u", self->index[i]);
		for (c = 0; c < self->dev.gen->nr_cores; c++) {
			EXPECT_EQ(0, sem_read(&self->dev, c))
				TH_LOG("semaphores survive a reset");
			EXPECT_EQ(0, round_trip(self, c))
				TH_LOG("neuron%u core %u", self->index[i], c);
		}
		pub_close(&self->dev);
	}
}

/* One core after the other; the others keep their state. */
TEST_F_TIMEOUT(reset, each_core, TIMEOUT)
{
	unsigned int c, other;

	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	for (c = 0; c < self->dev.gen->nr_cores; c++)
		must(sem_write(&self->dev, c, 100 + c));
	for (c = 0; c < self->dev.gen->nr_cores; c++) {
		ASSERT_EQ(0, pub_reset(&self->dev, 1u << c)) TH_LOG("core %u", c);
		EXPECT_EQ(0, sem_read(&self->dev, c)) TH_LOG("core %u", c);
		for (other = c + 1; other < self->dev.gen->nr_cores; other++) {
			EXPECT_EQ(100 + other, sem_read(&self->dev, other))
				TH_LOG("reset of core %u changed core %u", c, other);
		}
		for (other = 0; other < self->dev.gen->nr_cores; other++) {
			EXPECT_EQ(0, round_trip(self, other))
				TH_LOG("core %u after reset of core %u", other, c);
		}
	}
	pub_close(&self->dev);
}

/* Both cores that share a copy engine. */
TEST_F_TIMEOUT(reset, pairs, TIMEOUT)
{
	unsigned int c, other;

	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	for (c = 0; c < self->dev.gen->nr_cores; c += 2) {
		ASSERT_EQ(0, pub_reset(&self->dev, 3u << c)) TH_LOG("core %u", c);
		for (other = 0; other < self->dev.gen->nr_cores; other++) {
			EXPECT_EQ(0, round_trip(self, other))
				TH_LOG("core %u after reset of %u", other, c);
		}
	}
	pub_close(&self->dev);
}

/*
 * From sysfs, with nobody on the device: the driver does not program engines
 * and rings again after this one, so they must keep what they have.
 */
TEST_F_TIMEOUT(reset, sysfs, TIMEOUT)
{
	char path[128];
	unsigned int i, c;
	int fd;

	for (i = 0; i < self->count; i++) {
		snprintf(path, sizeof(path), PUB_SYSFS "/neuron%u/reset",
			 self->index[i]);
		fd = open(path, O_WRONLY);
		ASSERT_LE(0, fd);
		ASSERT_EQ(1, write(fd, "1", 1));
		close(fd);
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		for (c = 0; c < self->dev.gen->nr_cores; c++) {
			ASSERT_EQ(0, round_trip(self, c))
				TH_LOG("neuron%u core %u", self->index[i], c);
		}
		pub_close(&self->dev);
	}
}

/* Memory of the device keeps its content. */
TEST_F_TIMEOUT(reset, memory, TIMEOUT)
{
	struct pub_memory mem;

	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	must(pub_alloc(&self->dev, 0, 0, AREA, &mem));
	pub_fill(self->user, AREA, 5);
	must(pub_write(&self->dev, &mem, 0, self->user, AREA));
	must(pub_reset(&self->dev, 1));
	must(pub_read(&self->dev, &mem, 0, self->got, AREA));
	EXPECT_EQ(AREA, pub_differs(self->user, self->got, AREA));
	pub_close(&self->dev);
}

TEST_HARNESS_MAIN
