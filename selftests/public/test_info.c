// SPDX-License-Identifier: MIT
/*
 * What the public driver says about its devices: the information ioctls agree with
 * each other, with the generation's table and with the registers.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define INSTANCE	16	/* devices that the driver fills its map for */

FIXTURE(info)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev[PUB_MAX_DEVICES];
};

FIXTURE_SETUP(info)
{
	unsigned int i;

	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	for (i = 0; i < self->count; i++)
		ASSERT_EQ(0, pub_open(&self->dev[i], self->index[i]));
}

FIXTURE_TEARDOWN(info)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		pub_close(&self->dev[i]);
}

#define each_device(self, dev) \
	for (dev = (self)->dev; dev < (self)->dev + (self)->count; dev++)

/* Chips are numbered as they are ordered on the command line, without gaps. */
TEST_F_TIMEOUT(info, numbering, TIMEOUT)
{
	char serial[64], last[64] = "";
	uint32_t id, i;

	for (i = 0; i < self->count; i++) {
		EXPECT_EQ(i, self->index[i]);
		must(pub_ioctl(self->dev[i].fd, PUB_HOST_DEVICE_ID, &id));
		EXPECT_EQ(self->index[i], id);
		ASSERT_EQ(16, pub_sysfs(self->index[i], "info/serial_number", serial,
					sizeof(serial)));
		EXPECT_LT(0, strcmp(serial, last)) TH_LOG("%s after %s", serial, last);
		strcpy(last, serial);
	}
}

TEST_F_TIMEOUT(info, basic, TIMEOUT)
{
	const uint32_t limits[][2] = { { 5, 7 }, { 10, 11 } };	/* by architecture */
	struct pub_version_range range;
	struct pub_driver_info info;
	struct pub_device *dev;
	uint32_t basic[2];

	each_device(self, dev) {
		uint32_t arch = dev->gen->generation == 2 ? 2 : 3;

		EXPECT_EQ(arch, dev->info.architecture);
		EXPECT_EQ(dev->platform ? NEURON_PCI_REVISION_PLATFORM :
					  NEURON_PCI_REVISION_SILICON, dev->info.revision);
		EXPECT_EQ(dev->gen->bar0_size, dev->info.bar_size[0]);
		must(pub_ioctl(dev->fd, PUB_BASIC_INFO, basic));
		EXPECT_EQ(arch, basic[0]);
		EXPECT_EQ(dev->info.revision, basic[1]);
		memset(&info, 0, sizeof(info));
		must(pub_ioctl(dev->fd, PUB_DRIVER_INFO_GET, &info));
		EXPECT_EQ(arch, info.architecture);
		EXPECT_EQ(dev->info.revision, info.revision);
		EXPECT_EQ(0xff, info.features);
		must(pub_ioctl(dev->fd, PUB_COMPATIBLE_VERSION, &range));
		EXPECT_EQ(limits[arch - 2][0], range.min);
		EXPECT_EQ(limits[arch - 2][1], range.max);
	}
}

/* The PCI function that the driver names is the chip. */
TEST_F_TIMEOUT(info, pci_address, TIMEOUT)
{
	char path[128], text[32], want[32];
	struct pub_bdf_ext ext = { 0 };
	struct pub_device *dev;
	struct pub_bdf bdf;
	FILE *file;

	each_device(self, dev) {
		must(pub_ioctl(dev->fd, PUB_BDF, &bdf));
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/0000:%02x:%02x.%x/device",
			 bdf.bus, bdf.slot, bdf.function);
		file = fopen(path, "r");
		ASSERT_NE(NULL, file) TH_LOG("%s", path);
		ASSERT_NE(NULL, fgets(text, sizeof(text), file));
		fclose(file);
		snprintf(want, sizeof(want), "0x%04x\n", dev->gen->pci_device);
		EXPECT_STREQ(want, text);
		/* Counted from the device that is asked. */
		ext.index = 0;
		must(pub_ioctl(dev->fd, PUB_BDF_EXT, &ext));
		EXPECT_EQ(bdf.bus, ext.bus);
		EXPECT_EQ(bdf.slot, ext.slot);
	}
}

TEST_F_TIMEOUT(info, processes, TIMEOUT)
{
	struct pub_device *dev;
	struct pub_apps apps;
	int32_t pid;

	each_device(self, dev) {
		must(pub_ioctl(dev->fd, PUB_DEVICE_APP_PID, &pid));
		EXPECT_EQ(getpid(), pid);
		memset(&apps, 0, sizeof(apps));
		apps.flags = 2;
		apps.capacity = 16;
		must(pub_ioctl(dev->fd, PUB_ALL_APPS, &apps));
		EXPECT_EQ(1, apps.size);
		EXPECT_EQ(getpid(), apps.app[0].pid);
	}
}

/* Routing ids as in the generation's table, in both directions. */
TEST_F_TIMEOUT(info, routing, TIMEOUT)
{
	struct pub_routing_map map;
	struct pub_device *dev;
	uint32_t id;

	each_device(self, dev) {
		must(pub_reg_read(dev, dev->gen->misc_bar0 + NEURON_MISC_ROUTING_ID, &id));
		EXPECT_EQ(neuron_routing_id(dev->gen, dev->index), id);
		must(pub_ioctl(dev->fd, PUB_ROUTING_MAP, &map));
		EXPECT_EQ(self->count, map.count);
		/* Of trn1 and trn2 it fills the map of a whole instance only. */
		if (pub_is_inf2(dev) || self->count % INSTANCE == 0)
			EXPECT_EQ(id, map.routing_id[dev->index]);
	}
}

/* Fabric ids that the chip's own registers name as the other ends of its links. */
static uint64_t linked(struct pub_device *dev)
{
	uint32_t ctl = neuron_ctl_bar0(dev->gen), nr, peer, i;
	uint64_t set = 0;

	if (pub_reg_read(dev, ctl + NEURON_CTL_NR_LINKS, &nr))
		return 0;
	for (i = 0; i < nr && i < NEURON_CTL_MAX_LINKS; i++)
		if (!pub_reg_read(dev, ctl + NEURON_CTL_LINK(i) + NEURON_CTL_LINK_PEER, &peer) &&
		    peer < 64)
			set |= 1ull << peer;
	return set;
}

/* The neighbours that the driver knows are those that the links lead to. */
TEST_F_TIMEOUT(info, neighbours, TIMEOUT)
{
	struct pub_device *dev;
	uint64_t set;
	uint32_t i, nr;

	each_device(self, dev) {
		nr = pub_nr_neighbours(dev, self->count);
		ASSERT_EQ(nr, dev->info.connected_count);
		for (set = 0, i = 0; i < nr; i++) {
			ASSERT_GT(self->count, dev->info.connected[i]);
			set |= 1ull << dev->info.connected[i];
		}
		if (nr)
			EXPECT_EQ(set, linked(dev)) TH_LOG("neuron%u", dev->index);
	}
}

/* Special areas that a program may map: their registers are the right ones. */
TEST_F_TIMEOUT(info, resources, TIMEOUT)
{
	struct pub_resource args;
	struct pub_device *dev;
	uint32_t value, bar0, c;
	volatile uint32_t *map;

	each_device(self, dev) {
		for (c = 0; c < dev->gen->nr_cores; c++) {
			struct pub_cell cell = { .core = c, .index = 5, .value = 77 + c };

			args = (struct pub_resource){ .block = 0, .block_id = c };
			must(pub_ioctl(dev->fd, PUB_RESOURCE_MMAP, &args));
			ASSERT_EQ(NEURON_TPB_SEM_SIZE, args.size);
			map = mmap(NULL, args.size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   dev->fd, args.offset);
			ASSERT_NE(MAP_FAILED, (void *)map) TH_LOG("core %u", c);
			must(pub_ioctl(dev->fd, PUB_SEM_WRITE, &cell));
			EXPECT_EQ(77 + c, map[NEURON_SEM_READ(5) / 4]);
			map[NEURON_SEM_DEC(5) / 4] = 7;
			must(pub_ioctl(dev->fd, PUB_SEM_READ, &cell));
			EXPECT_EQ(70 + c, cell.value);
			map[NEURON_SEM_SET(5) / 4] = 0;
			munmap((void *)map, args.size);
		}
		for (c = 0; c < dev->gen->nr_top_sp_ids; c++) {
			args = (struct pub_resource){ .block = 1, .block_id = c };
			must(pub_ioctl(dev->fd, PUB_RESOURCE_MMAP, &args));
			map = mmap(NULL, args.size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   dev->fd, args.offset);
			ASSERT_NE(MAP_FAILED, (void *)map) TH_LOG("TOP_SP %u", c);
			map[NEURON_SEM_SET(9) / 4] = 1000 + c;
			bar0 = neuron_top_sp_bar0(dev->gen, neuron_top_sp_of_id(dev->gen, c));
			must(pub_reg_read(dev, bar0 + NEURON_SEM_READ(9), &value));
			EXPECT_EQ(1000 + c, value) TH_LOG("TOP_SP %u", c);
			map[NEURON_SEM_SET(9) / 4] = 0;
			munmap((void *)map, args.size);
		}
	}
}

TEST_HARNESS_MAIN
