/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the ioctls have in common: their sizes, and arrays of extensible elements from user
 * space (struct drm_neuron_array).
 */
#ifndef _NEURON_IOCTL_H_
#define _NEURON_IOCTL_H_

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "drm/neuron_accel.h"

#define NEURON_MAX_STRIDE	4096	/* in the UAPI text */

/*
 * Is @size that of a struct or element of @least bytes, which may have grown? Fields end where
 * their struct does, so no caller has a part of one.
 */
static inline bool neuron_size_valid(u32 size, u32 least)
{
	return size >= least && size % sizeof(u64) == 0;
}

/* The same of elements. */
static inline bool neuron_stride_valid(u32 stride, u32 least)
{
	return neuron_size_valid(stride, least) && stride <= NEURON_MAX_STRIDE;
}

/* @least: bytes of an element in version 2.0, DRM_NEURON_*_SIZE_V2. */
static inline int neuron_array_check(const struct drm_neuron_array *array,
				     u32 least, u32 max)
{
	if (!array->count)
		return 0;
	if (array->count > max || !neuron_stride_valid(array->stride, least))
		return -EINVAL;
	return 0;
}

/* Bytes of an array that need no allocation: what a job of one core brings with it. */
#define NEURON_ARRAY_SMALL	136

/**
 * struct neuron_array - the elements in kernel memory
 * @element: elements as the kernel knows them; in @small if they have room there, so the struct
 *	stays where it is
 * @count: elements
 * @small: room for a few
 */
struct neuron_array {
	void *element;
	u32 count;
	u64 small[NEURON_ARRAY_SMALL / sizeof(u64)];
};

#define NEURON_PAUSE_ELEMENTS	256u	/* copied between two pauses */

/* In a long loop over what a user asked for: a process that is killed does no more of it. */
static inline int neuron_pause(void)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

/* The same before turn @i of a loop whose turns are short. */
static inline int neuron_pause_at(u32 i)
{
	return i % NEURON_PAUSE_ELEMENTS ? 0 : neuron_pause();
}

/* @nr elements from element @i on; one by one if the caller's have another size. */
static inline int neuron_array_copy_some(struct neuron_array *to, size_t size,
					 const struct drm_neuron_array *from,
					 u32 i, u32 nr)
{
	void __user *user = u64_to_user_ptr(from->pointer + (u64)i * from->stride);
	void *element = to->element + i * size;
	int ret = 0;

	if (from->stride == size)
		return copy_from_user(element, user, nr * size) ? -EFAULT : 0;
	while (nr-- && !ret) {
		ret = copy_struct_from_user(element, size, user, from->stride);
		user += from->stride;
		element += size;
	}
	return ret;
}

/*
 * @size: bytes of an element as the kernel knows it. What an older caller does not
 * have reads as zero, what a newer one adds must be zero.
 */
static inline int neuron_array_copy(struct neuron_array *to, size_t size,
				    const struct drm_neuron_array *from)
{
	int ret = 0;
	u32 i, nr;

	for (i = 0; i < from->count && !ret; i += nr) {
		nr = min(from->count - i, NEURON_PAUSE_ELEMENTS);
		ret = neuron_pause();
		if (!ret)
			ret = neuron_array_copy_some(to, size, from, i, nr);
	}
	return ret == -E2BIG ? -EINVAL : ret;
}

static inline void *neuron_array_alloc(struct neuron_array *array, u32 count, size_t size)
{
	if (count <= sizeof(array->small) / size)
		return array->small;
	return kvmalloc_array(count, size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static inline void neuron_array_put(struct neuron_array *array)
{
	if (array->element && array->element != array->small)
		kvfree(array->element);
}

/*
 * Fetch a checked array; neuron_array_put() it. Outside of drm_dev_enter(), and
 * with nothing held that others wait for: user memory may take for ever.
 */
static inline int neuron_array_get(struct neuron_array *to, size_t size,
				   const struct drm_neuron_array *from)
{
	int ret;

	to->element = NULL;
	to->count = from->count;
	if (!from->count)
		return 0;
	to->element = neuron_array_alloc(to, from->count, size);
	if (!to->element)
		return -ENOMEM;
	ret = neuron_array_copy(to, size, from);
	if (!ret)
		return 0;
	neuron_array_put(to);
	to->element = NULL;
	return ret;
}

/*
 * Give the caller what has been written into the elements from the byte @offset on,
 * as far as its own elements have room. @to: the array that @from was fetched from.
 */
static inline int neuron_array_return(const struct drm_neuron_array *to,
				      const struct neuron_array *from,
				      size_t size, size_t offset)
{
	size_t end = min_t(size_t, size, to->stride);
	u32 i;

	for (i = 0; i < from->count; i++)
		if (copy_to_user(u64_to_user_ptr(to->pointer +
						 (u64)i * to->stride + offset),
				 from->element + i * size + offset,
				 end - offset))
			return -EFAULT;
	return 0;
}

/* The caller's struct of @room bytes becomes @from; what it has beyond @size is zero. */
static inline int neuron_struct_copy(void __user *to, size_t room,
				     const void *from, size_t size)
{
	size_t known = min(room, size);

	if (copy_to_user(to, from, known) ||
	    clear_user(to + known, room - known))
		return -EFAULT;
	return 0;
}

/* The first elements of @from, as many as @to has room for. */
static inline int neuron_array_answer(const struct drm_neuron_array *to,
				      const struct neuron_array *from,
				      size_t size)
{
	u32 i, nr = min(to->count, from->count);
	int ret = 0;

	for (i = 0; i < nr && !ret; i++)
		ret = neuron_struct_copy(u64_to_user_ptr(to->pointer +
							 (u64)i * to->stride),
					 to->stride, from->element + i * size,
					 size);
	return ret;
}

struct drm_device;
struct drm_file;
struct file;

/**
 * neuron_ioctl() - file operation unlocked_ioctl
 * @filp: open device node
 * @cmd: command, which includes the size of the caller's struct
 * @arg: address of the caller's struct
 *
 * Checks the size before drm_ioctl() copies the struct: a struct smaller than that of version
 * 2.0 is refused, and so is one that has something in fields that this kernel does not know.
 *
 * Return: 0 or a negative errno.
 */
long neuron_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#ifdef CONFIG_COMPAT
/**
 * neuron_compat_ioctl() - file operation compat_ioctl: neuron_ioctl() for 32-bit programs
 * @filp: open device node
 * @cmd: command
 * @arg: address of the caller's struct
 *
 * All structs have the same layout for 32-bit and 64-bit programs.
 *
 * Return: 0 or a negative errno.
 */
long neuron_compat_ioctl(struct file *filp, unsigned int cmd,
			 unsigned long arg);
#else
#define neuron_compat_ioctl	NULL
#endif

/* Declares the handler of an ioctl; it is in the file of its subject. */
#define NEURON_IOCTL_HANDLER(name) \
	int neuron_ioctl_##name(struct drm_device *drm, void *data, \
				struct drm_file *file)

#endif /* _NEURON_IOCTL_H_ */
