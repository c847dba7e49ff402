/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arrays of extensible elements from user space (struct drm_neuron_array).
 */
#ifndef _NEURON_ARRAY_H_
#define _NEURON_ARRAY_H_

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "drm/neuron_accel.h"

/* @size: bytes of an element in the first version of the interface that had it. */
static inline int neuron_array_check(const struct drm_neuron_array *array,
				     size_t size, u32 max)
{
	if (!array->count)
		return 0;
	if (array->count > max || array->stride < size ||
	    array->stride > PAGE_SIZE)
		return -EINVAL;
	return 0;
}

/*
 * Element @i of a checked array; @size: its bytes as the kernel knows it. What an
 * older caller does not have reads as zero, what a newer one adds must be zero.
 */
static inline int neuron_array_get(void *element, size_t size,
				   const struct drm_neuron_array *array, u32 i)
{
	u64 addr = array->pointer + (u64)i * array->stride;
	int ret;

	ret = copy_struct_from_user(element, size, u64_to_user_ptr(addr),
				    array->stride);
	return ret == -E2BIG ? -EINVAL : ret;
}

#endif /* _NEURON_ARRAY_H_ */
