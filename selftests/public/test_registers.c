// SPDX-License-Identifier: MIT
/*
 * What the public driver does with registers on a program's behalf: semaphores,
 * events, plain register access, notification queues, the firmware's mailbox.
 */
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define NR(a)		(sizeof(a) / sizeof((a)[0]))

FIXTURE(registers)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev[PUB_MAX_DEVICES];
};

FIXTURE_SETUP(registers)
{
	unsigned int i;

	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	for (i = 0; i < self->count; i++)
		ASSERT_EQ(0, pub_open(&self->dev[i], self->index[i]));
}

FIXTURE_TEARDOWN(registers)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		pub_close(&self->dev[i]);
}

#define each_device(self, dev) \
	for (dev = (self)->dev; dev < (self)->dev + (self)->count; dev++)

static int cell(struct pub_device *dev, unsigned long request,
		unsigned int core, unsigned int index, uint32_t *value)
{
	struct pub_cell args = {
		.core = core,
		.index = index,
		.value = *value,
	};
	int rc = pub_ioctl(dev->fd, request, &args);

	*value = args.value;
	return rc;
}

static int put(struct pub_device *dev, unsigned long request,
	       unsigned int core, unsigned int index, uint32_t value)
{
	return cell(dev, request, core, index, &value);
}

/* The value, or 0xdead0000 + errno. */
static uint32_t get(struct pub_device *dev, unsigned long request,
		    unsigned int core, unsigned int index)
{
	uint32_t value = 0x5a5a5a5a;
	int rc = cell(dev, request, core, index, &value);

	return rc ? 0xdead0000 - rc : value;
}

TEST_F_TIMEOUT(registers, semaphores, TIMEOUT)
{
	static const unsigned int some[] = { 0, 1, 31, 32, 127, 254, 255 };
	struct pub_device *dev;
	unsigned int c, i;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++) {
			for (i = 0; i < NR(some); i++)
				must(put(dev, PUB_SEM_WRITE, c, some[i], c * 1000 + i));
			for (i = 0; i < NR(some); i++) {
				EXPECT_EQ(c * 1000 + i,
					  get(dev, PUB_SEM_READ, c, some[i]));
				must(put(dev, PUB_SEM_INC, c, some[i], 5));
				must(put(dev, PUB_SEM_INC, c, some[i], 1));
				must(put(dev, PUB_SEM_DEC, c, some[i], 2));
				EXPECT_EQ(c * 1000 + i + 4,
					  get(dev, PUB_SEM_READ, c, some[i]));
			}
		}
		for (c = 0; c < dev->gen->nr_cores; c++)
			for (i = 0; i < NR(some); i++)
				must(put(dev, PUB_SEM_WRITE, c, some[i], 0));
	}
}

/* Signed 32 bits. */
TEST_F_TIMEOUT(registers, semaphore_sign, TIMEOUT)
{
	struct pub_device *dev = &self->dev[0];

	must(put(dev, PUB_SEM_WRITE, 0, 9, 1));
	must(put(dev, PUB_SEM_DEC, 0, 9, 3));
	EXPECT_EQ((uint32_t)-2, get(dev, PUB_SEM_READ, 0, 9));
	must(put(dev, PUB_SEM_WRITE, 0, 9, 0x80000000));
	EXPECT_EQ(0x80000000, get(dev, PUB_SEM_READ, 0, 9));
	must(put(dev, PUB_SEM_WRITE, 0, 9, 0));
}

TEST_F_TIMEOUT(registers, events, TIMEOUT)
{
	struct pub_device *dev;
	unsigned int c, i;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++) {
			for (i = 0; i < 256; i += 17) {
				must(put(dev, PUB_EVENT_SET, c, i, 1));
				EXPECT_EQ(1, get(dev, PUB_EVENT_GET, c, i));
				EXPECT_EQ(0, get(dev, PUB_EVENT_GET, c, (i + 1) % 256));
				must(put(dev, PUB_EVENT_SET, c, i, 0));
				EXPECT_EQ(0, get(dev, PUB_EVENT_GET, c, i));
			}
		}
	}
}

/* The same cells are where the address map says. */
TEST_F_TIMEOUT(registers, semaphores_in_bar, TIMEOUT)
{
	struct pub_device *dev;
	uint32_t base, value;
	unsigned int c;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++) {
			base = neuron_tpb_bar0(dev->gen, c) + NEURON_TPB_SEM;
			must(put(dev, PUB_SEM_WRITE, c, 7, 40 + c));
			must(pub_reg_read(dev, base + NEURON_SEM_READ(7), &value));
			EXPECT_EQ(40 + c, value);
			must(pub_reg_write(dev, base + NEURON_SEM_INC(7), 2));
			EXPECT_EQ(42 + c, get(dev, PUB_SEM_READ, c, 7));
			must(pub_reg_write(dev, base + NEURON_SEM_SET(7), 0));
			EXPECT_EQ(0, get(dev, PUB_SEM_READ, c, 7));
		}
	}
}

/* MISC RAM: constants of the firmware, and words that a runtime may use. */
TEST_F_TIMEOUT(registers, misc_ram, TIMEOUT)
{
	static const uint32_t scratch[] = { 0xc0, 0xec, 0x1a0, 0x1d0 };
	struct pub_routing_map map;
	struct pub_device *dev;
	uint32_t value, i;
	char serial[64], want[64];

	each_device(self, dev) {
		uint32_t misc = dev->gen->misc_bar0;
		uint32_t lo, hi;

		must(pub_reg_read(dev, misc + NEURON_MISC_API_VERSION, &value));
		EXPECT_LE(3, value) TH_LOG("power needs API version 3");
		EXPECT_GE(5, value) TH_LOG("from 6 on the mailbox is another");
		must(pub_ioctl(dev->fd, PUB_ROUTING_MAP, &map));
		must(pub_reg_read(dev, misc + NEURON_MISC_ROUTING_ID, &value));
		if (map.count % 16 == 0)
			EXPECT_EQ(map.routing_id[dev->index], value);
		must(pub_reg_read(dev, misc + NEURON_MISC_SERIAL_LO, &lo));
		must(pub_reg_read(dev, misc + NEURON_MISC_SERIAL_HI, &hi));
		snprintf(want, sizeof(want), "%08x%08x", hi, lo);
		EXPECT_LT(0, pub_sysfs(dev->index, "info/serial_number", serial,
				       sizeof(serial)));
		EXPECT_STREQ(want, serial);
		for (i = 0; i < NR(scratch); i++) {
			must(pub_reg_write(dev, misc + scratch[i], 0x1234567 * i + 1));
			must(pub_reg_read(dev, misc + scratch[i], &value));
			EXPECT_EQ(0x1234567 * i + 1, value);
			must(pub_reg_write(dev, misc + scratch[i], 0));
		}
		/* What is the firmware's cannot be changed. */
		must(pub_reg_write(dev, misc + NEURON_MISC_SERIAL_LO, ~lo));
		must(pub_reg_read(dev, misc + NEURON_MISC_SERIAL_LO, &value));
		EXPECT_EQ(lo, value);
	}
}

/* SBUF of each core through its window. */
TEST_F_TIMEOUT(registers, sbuf_in_bar, TIMEOUT)
{
	static const uint32_t at[] = { 0, 4, 0x1000 };
	struct pub_device *dev;
	uint32_t base, value;
	unsigned int c, i;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++)
			for (i = 0; i < NR(at); i++) {
				base = neuron_tpb_bar0(dev->gen, c) + at[i];
				must(pub_reg_write(dev, base, 0xc0de0000 + c * 16 + i));
			}
		for (c = 0; c < dev->gen->nr_cores; c++)
			for (i = 0; i < NR(at); i++) {
				base = neuron_tpb_bar0(dev->gen, c) + at[i];
				must(pub_reg_read(dev, base, &value));
				EXPECT_EQ(0xc0de0000 + c * 16 + i, value);
			}
	}
}

/* SBUF through the engine-programming path: DMA to the core's own address. */
TEST_F_TIMEOUT(registers, program_engine, TIMEOUT)
{
	struct pub_program_engine args;
	struct pub_device *dev;
	uint32_t data[64], value;
	unsigned int c, i;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++) {
			pub_fill(data, sizeof(data), c);
			args = (struct pub_program_engine){
				.core = c,
				.dst = dev->gen->tpb_addr[c] + 0x2000,
				.buffer = (uintptr_t)data,
				.size = sizeof(data),
			};
			must(pub_ioctl(dev->fd, PUB_PROGRAM_ENGINE, &args));
			for (i = 0; i < NR(data); i++) {
				must(pub_reg_read(dev, neuron_tpb_bar0(dev->gen, c) +
						  0x2000 + i * 4, &value));
				EXPECT_EQ(data[i], value) TH_LOG("core %u word %u", c, i);
			}
		}
	}
}

/* Metrics of every length reach the firmware, which answers. */
TEST_F_TIMEOUT(registers, post_metric, TIMEOUT)
{
	static const uint32_t lengths[] = { 4, 5, 7, 8, 64, 127, 128 };
	uint8_t data[128];
	struct pub_metric args = { .data = (uintptr_t)data };
	struct pub_device *dev;
	uint32_t value, before;
	unsigned int i;

	each_device(self, dev) {
		before = pub_posts(dev);
		for (i = 0; i < NR(lengths); i++) {
			pub_fill(data, sizeof(data), i);
			args.size = lengths[i];
			ASSERT_EQ(0, pub_ioctl(dev->fd, PUB_POST_METRIC, &args))
				TH_LOG("neuron%u: %u bytes", dev->index, lengths[i]);
			must(pub_reg_read(dev, dev->gen->misc_bar0 +
					  NEURON_MISC_METRIC, &value));
			EXPECT_EQ(0, memcmp(&value, data, sizeof(value)));
		}
		EXPECT_LE(before + NR(lengths), pub_posts(dev));
	}
}

/* The firmware reads registers by their device address. */
TEST_F_TIMEOUT(registers, read_counters, TIMEOUT)
{
	uint64_t addresses[32];
	uint32_t data[32], value;
	struct pub_counters args = {
		.addresses = (uintptr_t)addresses,
		.data = (uintptr_t)data,
	};
	struct pub_device *dev;
	unsigned int i;

	each_device(self, dev) {
		for (i = 0; i < NR(addresses); i++)
			addresses[i] = dev->gen->apb_addr[0] +
				       dev->gen->misc_bar0 - dev->gen->apb_bar0[0] +
				       NEURON_MISC_ROUTING_ID + i * 4;
		args.count = NR(addresses);
		memset(data, 0xee, sizeof(data));
		ASSERT_EQ(0, pub_ioctl(dev->fd, PUB_READ_COUNTERS, &args))
			TH_LOG("neuron%u", dev->index);
		for (i = 0; i < NR(addresses); i++) {
			must(pub_reg_read(dev, dev->gen->misc_bar0 +
					  NEURON_MISC_ROUTING_ID + i * 4, &value));
			EXPECT_EQ(value, data[i]) TH_LOG("MISC RAM +%#x", 0x24 + i * 4);
		}
	}
}

TEST_HARNESS_MAIN
