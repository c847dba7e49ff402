/* SPDX-License-Identifier: MIT */
/*
 * Shared by the programs that judge the device through the public driver:
 * finding its devices, calling it, memory, sysfs.
 *
 * All functions that return int give 0 or a negative errno unless said. In a
 * test, must() wants success and must_fail() an errno.
 */
#ifndef PUBLIC_DEVICE_H
#define PUBLIC_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/generation.h"
#include "public_ioctl.h"

#define KIB	1024ull
#define MIB	(1024 * KIB)
#define GIB	(1024 * MIB)

#define PUB_SYSFS	"/sys/class/neuron_device"

/**
 * struct pub_device - an open device
 * @index: N of /dev/neuronN
 * @fd: the node, attached
 * @gen: what it is
 * @platform: platform mode; otherwise silicon
 * @info: DEVICE_INFO
 */
struct pub_device {
	unsigned int index;
	int fd;
	const struct neuron_gen *gen;
	bool platform;
	struct pub_device_info info;
};

/**
 * struct pub_memory - an allocation
 * @handle: driver's handle
 * @size: bytes
 * @pa: device address
 * @mmap_offset: for mmap of the node
 */
struct pub_memory {
	uint64_t handle;
	uint64_t size;
	uint64_t pa;
	uint64_t mmap_offset;
};

/* ioctl() with a negative errno; the driver's odd positive results: -EPROTO. */
int pub_ioctl(int fd, unsigned long request, void *arg);

#define must(call) \
	ASSERT_EQ(0, call)
#define must_fail(error, call) \
	EXPECT_EQ(-(error), call)

/* The indices of the devices in ascending order; how many there are. */
unsigned int pub_devices(unsigned int index[PUB_MAX_DEVICES]);
/* Opening waits until the device has been reset. */
int pub_open(struct pub_device *dev, unsigned int index);
void pub_close(struct pub_device *dev);

/* HBM of @stack moved by the copy queue of @core; or memory of the host. */
int pub_alloc(struct pub_device *dev, unsigned int core, unsigned int stack,
	      uint64_t size, struct pub_memory *mem);
int pub_alloc_host(struct pub_device *dev, unsigned int core, uint64_t size,
		   struct pub_memory *mem);
int pub_free(struct pub_device *dev, struct pub_memory *mem);
/* The whole allocation in this process, or NULL. */
void *pub_map(struct pub_device *dev, const struct pub_memory *mem);
/* The stack beside @core. */
unsigned int pub_stack(const struct pub_device *dev, unsigned int core);
/* @gen is not one object for all files: it is told by what it says. */
bool pub_is_inf2(const struct pub_device *dev);
/*
 * How many neighbours the driver knows of this device when there are @count: it
 * has tables of whole instances only.
 */
unsigned int pub_nr_neighbours(const struct pub_device *dev, unsigned int count);

/* User memory to and from an allocation: bounced, or pinned (zero copy). */
int pub_write(struct pub_device *dev, const struct pub_memory *mem,
	      uint64_t offset, const void *from, uint64_t size);
int pub_read(struct pub_device *dev, const struct pub_memory *mem,
	     uint64_t offset, void *to, uint64_t size);
int pub_write_pinned(struct pub_device *dev, const struct pub_memory *mem,
		     uint64_t offset, const void *from, uint64_t size);
int pub_read_pinned(struct pub_device *dev, const struct pub_memory *mem,
		    uint64_t offset, void *to, uint64_t size);
int pub_copy(struct pub_device *dev, const struct pub_memory *dst,
	     uint64_t dst_offset, const struct pub_memory *src,
	     uint64_t src_offset, uint64_t size);
int pub_set(struct pub_device *dev, const struct pub_memory *mem,
	    uint64_t offset, uint8_t value, uint64_t size);

/* Registers by their offset in BAR0. */
int pub_reg_read(struct pub_device *dev, uint32_t offset, uint32_t *value);
int pub_reg_write(struct pub_device *dev, uint32_t offset, uint32_t value);
/* Posts that the firmware has taken. */
uint32_t pub_posts(struct pub_device *dev);
/* A number that the driver was loaded with, or -1. */
long pub_parameter(const char *name);

/* A reset of the cores in @map (PUB_CORE_MAP_DEVICE: all), to its end. */
int pub_reset(struct pub_device *dev, uint32_t map);

/* Bytes that depend on their place and @seed; the first that differs, or @size. */
void pub_fill(void *to, size_t size, uint32_t seed);
size_t pub_differs(const void *a, const void *b, size_t size);

/*
 * Content of the file @name below the folder of device @index (negative: of the
 * class) without the newline at its end; the length or a negative errno.
 */
int pub_sysfs(int index, const char *name, char *to, size_t size);

#endif /* PUBLIC_DEVICE_H */
