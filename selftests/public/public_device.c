// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "public_device.h"

int pub_ioctl(int fd, unsigned long request, void *arg)
{
	int rc = ioctl(fd, request, arg);

	if (rc < 0)
		return -errno;
	/* copy_to_user's count of bytes left, or EINVAL without its sign. */
	return rc ? -EPROTO : 0;
}

unsigned int pub_devices(unsigned int index[PUB_MAX_DEVICES])
{
	unsigned int i, count = 0;
	char path[64];

	for (i = 0; i < PUB_MAX_DEVICES; i++) {
		snprintf(path, sizeof(path), "/dev/neuron%u", i);
		if (!access(path, F_OK))
			index[count++] = i;
	}
	return count;
}

/* The driver tells architectures apart; the chip's name is in sysfs. */
static const struct neuron_gen *generation(unsigned int index)
{
	static const struct neuron_gen *const all[] = {
		&neuron_gen_trn1, &neuron_gen_inf2, &neuron_gen_trn2,
		&neuron_gen_trn3,
	};
	char name[64];
	unsigned int i;

	if (pub_sysfs(index, "info/architecture/device_name", name,
		      sizeof(name)) < 0)
		return NULL;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(name, all[i]->device_name))
			return all[i];
	return NULL;
}

int pub_open(struct pub_device *dev, unsigned int index)
{
	char path[64];
	int rc;

	memset(dev, 0, sizeof(*dev));
	dev->index = index;
	snprintf(path, sizeof(path), "/dev/neuron%u", index);
	dev->fd = open(path, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0)
		return -errno;
	dev->gen = generation(index);
	rc = dev->gen ? pub_ioctl(dev->fd, PUB_DEVICE_INFO, &dev->info) : -ENODEV;
	if (rc)
		pub_close(dev);
	dev->platform = dev->info.revision == NEURON_PCI_REVISION_PLATFORM;
	return rc;
}

void pub_close(struct pub_device *dev)
{
	close(dev->fd);
	dev->fd = -1;
}

static int alloc(struct pub_device *dev, struct pub_mem_alloc *args,
		 struct pub_memory *mem)
{
	struct pub_mem_info info = { .version = 1 };
	int rc;

	memset(mem, 0, sizeof(*mem));
	args->handle = (uintptr_t)&mem->handle;
	rc = pub_ioctl(dev->fd, PUB_MEM_ALLOC, args);
	if (rc)
		return rc;
	info.handle = mem->handle;
	rc = pub_ioctl(dev->fd, PUB_MEM_INFO, &info);
	if (rc) {
		pub_free(dev, mem);
		return rc;
	}
	mem->size = args->size;
	mem->pa = info.pa;
	mem->mmap_offset = info.mmap_offset;
	return 0;
}

int pub_alloc(struct pub_device *dev, unsigned int core, unsigned int stack,
	      uint64_t size, struct pub_memory *mem)
{
	struct pub_mem_alloc args = {
		.size = size,
		.channel = stack,
		.core = core,
		.type = PUB_MEM_TENSORS_DEVICE,
	};

	return alloc(dev, &args, mem);
}

int pub_alloc_host(struct pub_device *dev, unsigned int core, uint64_t size,
		   struct pub_memory *mem)
{
	struct pub_mem_alloc args = {
		.size = size,
		.host = 1,
		.core = core,
		.type = PUB_MEM_TENSORS_HOST,
	};

	return alloc(dev, &args, mem);
}

int pub_free(struct pub_device *dev, struct pub_memory *mem)
{
	uint64_t handle = mem->handle;

	mem->handle = 0;
	return pub_ioctl(dev->fd, PUB_MEM_FREE, &handle);
}

void *pub_map(struct pub_device *dev, const struct pub_memory *mem)
{
	void *at = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			dev->fd, mem->mmap_offset);

	return at == MAP_FAILED ? NULL : at;
}

unsigned int pub_stack(const struct pub_device *dev, unsigned int core)
{
	return core * dev->gen->nr_hbm / dev->gen->nr_cores;
}

bool pub_is_inf2(const struct pub_device *dev)
{
	return dev->gen->pci_device == NEURON_PCI_DEVICE_INF2;
}

unsigned int pub_nr_neighbours(const struct pub_device *dev, unsigned int count)
{
	if (!pub_is_inf2(dev))
		return count == 16 ? 4 : 0;
	if (count == 6)
		return dev->index == 0 || dev->index == 5 ? 1 : 2;
	return count == 12 ? 2 : 0;
}

static int buf_copy(struct pub_device *dev, unsigned long request,
		    const struct pub_memory *mem, uint64_t offset,
		    const void *buffer, uint64_t size, bool to_device)
{
	struct pub_mem_buf_copy args = {
		.handle = mem->handle,
		.buffer = (uintptr_t)buffer,
		.size = size,
		.offset = offset,
		.to_device = to_device,
	};

	return pub_ioctl(dev->fd, request, &args);
}

int pub_write(struct pub_device *dev, const struct pub_memory *mem,
	      uint64_t offset, const void *from, uint64_t size)
{
	return buf_copy(dev, PUB_MEM_BUF_COPY, mem, offset, from, size, true);
}

int pub_read(struct pub_device *dev, const struct pub_memory *mem,
	     uint64_t offset, void *to, uint64_t size)
{
	return buf_copy(dev, PUB_MEM_BUF_COPY, mem, offset, to, size, false);
}

int pub_write_pinned(struct pub_device *dev, const struct pub_memory *mem,
		     uint64_t offset, const void *from, uint64_t size)
{
	return buf_copy(dev, PUB_MEM_ZEROCOPY, mem, offset, from, size, true);
}

int pub_read_pinned(struct pub_device *dev, const struct pub_memory *mem,
		    uint64_t offset, void *to, uint64_t size)
{
	return buf_copy(dev, PUB_MEM_ZEROCOPY, mem, offset, to, size, false);
}

int pub_copy(struct pub_device *dev, const struct pub_memory *dst,
	     uint64_t dst_offset, const struct pub_memory *src,
	     uint64_t src_offset, uint64_t size)
{
	struct pub_mem_copy args = {
		.src = src->handle,
		.dst = dst->handle,
		.size = size,
		.src_offset = src_offset,
		.dst_offset = dst_offset,
	};

	return pub_ioctl(dev->fd, PUB_MEM_COPY, &args);
}

int pub_set(struct pub_device *dev, const struct pub_memory *mem,
	    uint64_t offset, uint8_t value, uint64_t size)
{
	struct pub_memset args = {
		.handle = mem->handle,
		.offset = offset,
		.value = value,
		.size = size,
	};

	return pub_ioctl(dev->fd, PUB_MEMSET, &args);
}

static int bar_rw(struct pub_device *dev, unsigned long request,
		  uint32_t offset, uint32_t *value)
{
	uint64_t address = dev->info.bar_address[0] + offset;
	struct pub_bar_rw args = {
		.addresses = (uintptr_t)&address,
		.data = (uintptr_t)value,
		.count = 1,
	};

	/* The driver reads wherever the address points. */
	if (offset > dev->info.bar_size[0] - sizeof(*value))
		return -ERANGE;
	return pub_ioctl(dev->fd, request, &args);
}

int pub_reg_read(struct pub_device *dev, uint32_t offset, uint32_t *value)
{
	return bar_rw(dev, PUB_BAR_READ, offset, value);
}

int pub_reg_write(struct pub_device *dev, uint32_t offset, uint32_t value)
{
	return bar_rw(dev, PUB_BAR_WRITE, offset, &value);
}

uint32_t pub_posts(struct pub_device *dev)
{
	uint32_t value;

	if (pub_reg_read(dev, neuron_ctl_bar0(dev->gen) + NEURON_CTL_POSTS, &value))
		return 0;
	return value;
}

long pub_parameter(const char *name)
{
	char path[128];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/neuron/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

int pub_reset(struct pub_device *dev, uint32_t map)
{
	struct pub_reset reset = { .core_map = map };
	struct pub_reset_ready ready = { 0 };
	int rc = pub_ioctl(dev->fd, PUB_RESET, &reset);

	if (rc)
		return rc;
	ready.request = reset.request;
	rc = pub_ioctl(dev->fd, PUB_RESET_READY, &ready);
	if (rc)
		return rc;
	return ready.result ? -EIO : 0;
}

void pub_fill(void *to, size_t size, uint32_t seed)
{
	uint64_t x = 0x9e3779b97f4a7c15ull * (seed + 1);
	uint8_t *p = to;
	size_t n;

	for (; size; size -= n, p += n) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		n = size < sizeof(x) ? size : sizeof(x);
		memcpy(p, &x, n);
	}
}

size_t pub_differs(const void *a, const void *b, size_t size)
{
	const uint8_t *p = a, *q = b;
	size_t i;

	if (!memcmp(a, b, size))
		return size;
	for (i = 0; i < size && p[i] == q[i]; i++)
		;
	return i;
}

int pub_sysfs(int index, const char *name, char *to, size_t size)
{
	char path[256];
	ssize_t length;
	int fd;

	if (index < 0)
		snprintf(path, sizeof(path), PUB_SYSFS "/%s", name);
	else
		snprintf(path, sizeof(path), PUB_SYSFS "/neuron%d/%s", index, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, to, size - 1);
	if (length < 0)
		length = -errno;
	close(fd);
	if (length < 0)
		return length;
	if (length && to[length - 1] == '\n')
		length--;
	to[length] = '\0';
	return length;
}
