/* SPDX-License-Identifier: MIT */
/*
 * Shared by the kselftests of the driver: finding a device, calling it, looking
 * at what it says about itself.
 *
 * neuron_ioctl() gives 0 or a negative errno. In a test, must() wants success
 * and must_fail() one errno; both name the call when they are disappointed.
 */
#ifndef NEURON_TEST_H
#define NEURON_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "drm/neuron_accel.h"
#include "neuron/types.h"

#define NEURON_MAX_NODES	64

static inline int neuron_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

/* Call DRM_IOCTL_NEURON_@name; both need the harness's ASSERT_*. */
#define must(fd, name, arg) \
	ASSERT_EQ(0, neuron_ioctl(fd, DRM_IOCTL_NEURON_##name, arg)) \
		TH_LOG(#name " should succeed")
#define must_fail(error, fd, name, arg) \
	ASSERT_EQ(-(error), neuron_ioctl(fd, DRM_IOCTL_NEURON_##name, arg)) \
		TH_LOG(#name " should fail with " #error)

/* Is @fd a device of this driver? */
static inline int neuron_is_ours(int fd)
{
	char name[16] = "";
	struct drm_version version = {
		.name = name,
		.name_len = sizeof(name) - 1,
	};

	return !neuron_ioctl(fd, DRM_IOCTL_VERSION, &version) &&
	       !strcmp(name, "neuron");
}

static inline int neuron_query_array(int fd, uint32_t type, void *answer,
				     size_t stride, size_t count)
{
	struct drm_neuron_query query = {
		.type = type,
		.answer = { (uint32_t)stride, (uint32_t)count, (uintptr_t)answer },
	};

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_QUERY, &query);
}

/* @size bytes of elements at @answer, whose type is that of the elements. */
#define neuron_query(fd, type, answer, size) \
	neuron_query_array(fd, type, answer, sizeof(*(answer)), \
			   (size) / sizeof(*(answer)))

/* How many elements the answer has, or a negative errno. */
static inline int neuron_query_count(int fd, uint32_t type)
{
	struct drm_neuron_query query = { .type = type };
	int ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_QUERY, &query);

	return ret ? ret : (int)query.answer.count;
}

/*
 * Where the device is on the PCI bus: a number to compare. sysfs knows it of a device that
 * has failed, too, whose queries end in EIO.
 */
static inline int neuron_pci_place(int fd, uint64_t *place)
{
	unsigned int domain, bus, slot, function;
	char path[64], target[PATH_MAX];
	struct stat node;
	ssize_t n;

	if (fstat(fd, &node))
		return -errno;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device",
		 major(node.st_rdev), minor(node.st_rdev));
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	if (!strrchr(target, '/') ||
	    sscanf(strrchr(target, '/'), "/%x:%x:%x.%x", &domain, &bus, &slot,
		   &function) != 4)
		return -ENODEV;
	*place = (uint64_t)domain << 16 | bus << 8 | slot << 3 | function;
	return 0;
}

/*
 * The @index-th device in the order of PCI addresses, or a negative errno. Nodes
 * have the order of the probe, which is none.
 */
static inline int neuron_open(unsigned int index)
{
	uint64_t place[NEURON_MAX_NODES], at = 0;
	int fds[NEURON_MAX_NODES], fd;
	unsigned int i, j, count = 0;
	char path[32];

	for (i = 0; i < NEURON_MAX_NODES; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%u", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!neuron_is_ours(fd) || neuron_pci_place(fd, &at)) {
			close(fd);
			continue;
		}
		for (j = count++; j && place[j - 1] > at; j--) {
			place[j] = place[j - 1];
			fds[j] = fds[j - 1];
		}
		place[j] = at;
		fds[j] = fd;
	}
	fd = index < count ? fds[index] : -ENODEV;
	for (i = 0; i < count; i++)
		if (i != index)
			close(fds[i]);
	return fd;
}

/* The device's PCI address, as sysfs writes it. */
static inline int neuron_pci_address(int fd, char address[16])
{
	uint64_t place = 0;
	int ret = neuron_pci_place(fd, &place);

	snprintf(address, 16, "%04x:%02x:%02x.%x",
		 (unsigned int)(place >> 16) & 0xffff,
		 (unsigned int)(place >> 8) & 0xff,
		 (unsigned int)(place >> 3) & 0x1f,
		 (unsigned int)place & 7);
	return ret;
}

/* The text of file @path, NUL terminated; bytes or -errno. */
static inline ssize_t neuron_read_file(const char *path, char *text,
				       size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, all = 0;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + all, size - 1 - (size_t)all);
		all += n > 0 ? n : 0;
	} while (n > 0 && (size_t)all < size - 1);
	n = n < 0 ? -errno : all;
	close(fd);
	text[all] = 0;
	return n;
}

static inline int neuron_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* By the PCI core, which takes a function-level reset if there is one. */
static inline int neuron_reset_device(int fd)
{
	char address[16], path[64];
	int ret = neuron_pci_address(fd, address);

	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", address);
	return neuron_write_file(path, "1");
}

/*
 * Unload the module, and wait until the folder of the driver is gone: a kernel with
 * DEBUG_KOBJECT_RELEASE drops it some seconds later, and until then no module can make it.
 */
static inline int neuron_unload(void)
{
	int i;

	if (syscall(SYS_delete_module, "neuron", O_NONBLOCK))
		return -errno;
	for (i = 0; i < 2000 && !access("/sys/bus/pci/drivers/neuron", F_OK); i++)
		usleep(10000);
	return 0;
}

/* The first line of file @path: 0 or a negative errno. */
static inline int neuron_read_line(const char *path, char *text, size_t size)
{
	ssize_t got;

	text[0] = '\0';
	got = neuron_read_file(path, text, size);
	if (got < 0)
		return (int)got;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* A new buffer, or a negative errno. */
static inline int neuron_bo_create(int fd, uint32_t placement, uint32_t stack,
				   uint64_t size,
				   struct drm_neuron_bo_create *bo)
{
	*bo = (struct drm_neuron_bo_create){
		.size = size,
		.placement = placement,
		.stack = stack,
	};
	return neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_CREATE, bo);
}

static inline int neuron_bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return neuron_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

/* User memory to a buffer, or the other way. */
static inline int neuron_write(int fd, uint32_t handle, uint64_t offset,
			       const void *from, uint64_t size)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_TO_DEVICE,
		.handle = handle,
		.offset = offset,
		.user = (uintptr_t)from,
		.size = size,
	};

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_COPY, &copy);
}

static inline int neuron_read(int fd, uint32_t handle, uint64_t offset,
			      void *to, uint64_t size)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_FROM_DEVICE,
		.handle = handle,
		.offset = offset,
		.user = (uintptr_t)to,
		.size = size,
	};

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_COPY, &copy);
}

static inline int neuron_bo_copy(int fd, uint32_t dst, uint64_t dst_offset,
				 uint32_t src, uint64_t src_offset,
				 uint64_t size)
{
	struct drm_neuron_copy copy = {
		.direction = DRM_NEURON_COPY_BUFFER,
		.handle = dst,
		.offset = dst_offset,
		.src_handle = src,
		.src_offset = src_offset,
		.size = size,
	};

	return neuron_ioctl(fd, DRM_IOCTL_NEURON_COPY, &copy);
}

static inline int neuron_export(int fd, uint32_t handle)
{
	struct drm_prime_handle prime = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
	};
	int ret = neuron_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return ret ? ret : prime.fd;
}

static inline int neuron_import(int fd, int dma_buf, uint32_t *handle)
{
	struct drm_prime_handle prime = { .fd = dma_buf };
	int ret = neuron_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	*handle = prime.handle;
	return ret;
}

/* Where the device needs bounce buffers, no memory of a user is imported. */
static inline bool neuron_can_import(int fd)
{
	struct drm_neuron_bo_import args = { .size = 4096 };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	args.user = (uintptr_t)page;
	ret = neuron_ioctl(fd, DRM_IOCTL_NEURON_BO_IMPORT, &args);
	if (!ret)
		neuron_bo_close(fd, args.handle);
	munmap(page, 4096);
	return ret != -EOPNOTSUPP;
}

/* The directory of the PCI device in sysfs, into @size bytes; 0 or -errno. */
static inline int neuron_sysfs_dir(int fd, char *path, size_t size)
{
	char link[64];
	char *real;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device",
		 major(st.st_rdev), minor(st.st_rdev));
	real = realpath(link, NULL);
	if (!real)
		return -errno;
	snprintf(path, size, "%s", real);
	free(real);
	return 0;
}

/*
 * Read and dismiss the core dump of the device that its class has. The kernel forgets it in
 * a work and takes no other one before its link is gone. The link may be there for seconds
 * after what it leads to, so this waits for the link itself.
 * Return: bytes in @text, NUL terminated; -ENOENT when there is none, or another -errno.
 */
static inline ssize_t neuron_take_dump(int fd, char *text, size_t size)
{
	char dir[PATH_MAX], link[PATH_MAX + 16], path[PATH_MAX + 32];
	ssize_t got = neuron_sysfs_dir(fd, dir, sizeof(dir));
	struct stat st;
	int i;

	if (got)
		return got;
	snprintf(link, sizeof(link), "%s/devcoredump", dir);
	snprintf(path, sizeof(path), "%s/data", link);
	got = -ENOENT;
	for (i = 0; i < 2000 && !lstat(link, &st); i++) {
		if (got < 0) {
			got = neuron_read_file(path, text, size);
			if (got >= 0)
				neuron_write_file(path, "0");
		}
		usleep(10000);
	}
	return i < 2000 ? got : -ETIMEDOUT;
}

/* The number in file @name of that directory, or a negative errno. */
static inline long long neuron_sysfs_number(int fd, const char *name)
{
	char dir[256], path[400], text[64], *end;
	long long value;
	ssize_t ret;

	ret = neuron_sysfs_dir(fd, dir, sizeof(dir));
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ret = neuron_read_file(path, text, sizeof(text));
	if (ret < 0)
		return ret;
	value = strtoll(text, &end, 10);
	return end == text || *end != '\n' ? -EINVAL : value;
}

/* A file of the device in debugfs, which names it by its PCI address; or NULL. */
static inline FILE *neuron_debugfs(int fd, const char *name)
{
	char path[320], target[256] = "";
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device",
		 major(st.st_rdev), minor(st.st_rdev));
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return NULL;
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/%s",
		 basename(target), name);
	return fopen(path, "re");
}

/*
 * Bytes of HBM, of all stacks, that are in buffers, lost, or being scrubbed;
 * -1: debugfs does not say.
 */
static inline long long neuron_hbm_used(int fd)
{
	long long used, scrubbing, lost, sum = 0;
	FILE *f = neuron_debugfs(fd, "hbm");
	int stacks = 0;

	if (!f)
		return -1;
	if (fscanf(f, "%*[^\n]\n") == EOF) {
		fclose(f);
		return -1;
	}
	while (fscanf(f, "%*u %*u %*u %lld %lld %lld\n", &used, &scrubbing,
		      &lost) == 3) {
		sum += used + scrubbing + lost;
		stacks++;
	}
	fclose(f);
	return stacks ? sum : -1;
}

/* Bytes that no short cut produces by chance: a function of place and seed. */
static inline uint8_t neuron_pattern(uint64_t at, uint32_t seed)
{
	uint64_t x = (at + 1) * 0x9e3779b97f4a7c15ull + seed * 0x85ebca6bull;

	return (uint8_t)(x >> 56 ^ x >> 29);
}

static inline void neuron_fill(uint8_t *p, size_t size, uint32_t seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		p[i] = neuron_pattern(i, seed);
}

/* The first byte of @p that is not the pattern's, or @size. */
static inline size_t neuron_differs(const uint8_t *p, size_t size,
				    uint32_t seed)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (p[i] != neuron_pattern(i, seed))
			return i;
	return size;
}

/* The first byte of @p that is not @value, or @size. */
static inline size_t neuron_differs_from(const uint8_t *p, size_t size,
					 uint8_t value)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (p[i] != value)
			return i;
	return size;
}

#endif /* NEURON_TEST_H */
