// SPDX-License-Identifier: MIT
/*
 * nrt.h and nrt_experimental.h: mapped device memory, and the numbers of chips.
 */
#include <string.h>

#include <nrt/nrt_experimental.h>

#include "api/state.h"

/* What a call does with the machine. */
typedef NRT_STATUS machine_fn(struct nrt_machine *machine, void *arg, struct nrt_error *error);

static NRT_STATUS machine_call(const char *call, machine_fn *fn, void *arg)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	state = nrt_enter(call, &status);
	if (!state)
		return status;
	status = fn(&state->machine, arg, &error);
	return nrt_end(state, call, status, &error);
}

/* A chip by its number, or NULL and @error. */
static struct nrt_device *find_device(const struct nrt_machine *machine, int number,
				      struct nrt_error *error)
{
	if (number >= 0 && (unsigned int)number < machine->nr_devices)
		return machine->devices[number];
	nrt_error_set(error, NRT_INVALID, "chip %d: there are chips 0 to %u", number,
		      machine->nr_devices - 1);
	return NULL;
}

/* --- Mapped memory --- */

/* Bytes at an address. */
struct range {
	uintptr_t va;
	uint64_t size;
	const void *src;
	int *fd;
};

/* The buffer that has them, with a reference, or NULL. */
static struct nrt_bo *find_bo(const struct nrt_machine *machine, const struct range *range,
			      uint64_t *offset)
{
	struct nrt_bo *bo = NULL;
	unsigned int i;

	for (i = 0; i < machine->nr_devices && !bo; i++)
		bo = nrt_bo_at(machine->devices[i], range->va, range->size, offset);
	return bo;
}

static NRT_STATUS not_mapped(const struct range *range, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID,
			     "%llu bytes at 0x%llx are no mapped device memory; nrt_tensor_get_va() maps a tensor",
			     (unsigned long long)range->size, (unsigned long long)range->va);
}

static NRT_STATUS get_dmabuf(struct nrt_machine *machine, void *arg, struct nrt_error *error)
{
	const struct range *range = arg;
	uint64_t offset;
	struct nrt_bo *bo = find_bo(machine, range, &offset);
	NRT_STATUS status;

	if (!bo)
		return not_mapped(range, error);
	status = nrt_bo_dmabuf(bo, range->fd, error);
	nrt_bo_put(bo);
	return status;
}

NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd)
{
	struct range range = { .va = va, .size = size, .fd = fd };

	if (!va || !size || !fd)
		return nrt_fail_with(__func__, NRT_INVALID, "va, size or fd is 0");
	return machine_call(__func__, get_dmabuf, &range);
}

/* A place in a stack that is mapped as a whole, for the CPU. */
static bool in_stack(const struct nrt_machine *machine, const struct range *range)
{
	unsigned int i, stack;
	uint64_t size;
	void *map;

	for (i = 0; i < machine->nr_devices; i++) {
		const struct nrt_device *device = machine->devices[i];

		for (stack = 0; device->backend->hbm_map && stack < device->info.nr_hbm; stack++)
			if (!device->backend->hbm_map(device->chip, stack, &map, &size) &&
			    range->va >= (uintptr_t)map && range->va - (uintptr_t)map <= size &&
			    range->size <= size - (range->va - (uintptr_t)map))
				return true;
	}
	return false;
}

static NRT_STATUS copy_to_device(struct nrt_machine *machine, void *arg, struct nrt_error *error)
{
	const struct range *range = arg;
	uint64_t offset;
	struct nrt_bo *bo = find_bo(machine, range, &offset);
	NRT_STATUS status;

	if (bo) {
		status = nrt_bo_write(bo, offset, range->src, range->size, error);
		nrt_bo_put(bo);
		return status;
	}
	if (!in_stack(machine, range))
		return not_mapped(range, error);
	memcpy((void *)range->va, range->src, range->size);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size)
{
	struct range range = { .va = (uintptr_t)dest, .size = size, .src = src };

	if (!dest || (!src && size))
		return nrt_fail_with(__func__, NRT_INVALID, "dest or src is NULL");
	return machine_call(__func__, copy_to_device, &range);
}

struct stack {
	int device;
	int index;
	void **addr;
	size_t *size;
};

static NRT_STATUS map_stack(struct nrt_machine *machine, void *arg, struct nrt_error *error)
{
	const struct stack *stack = arg;
	struct nrt_device *device = find_device(machine, stack->device, error);
	uint64_t size;
	int ret;

	if (!device)
		return error->status;
	if (!device->backend->hbm_map)
		return nrt_error_set(error, NRT_INVALID,
				     "back end %s maps single buffers only, by nrt_tensor_get_va()",
				     device->backend->name);
	if (stack->index < 0 || (unsigned int)stack->index >= device->info.nr_hbm)
		return nrt_error_set(error, NRT_INVALID_HANDLE, "stack %d: chip %d has %u stacks",
				     stack->index, stack->device, device->info.nr_hbm);
	ret = device->backend->hbm_map(device->chip, (uint32_t)stack->index, stack->addr, &size);
	if (ret)
		return nrt_error_set(error, NRT_FAILURE, "%s: cannot map stack %d: %s",
				     nrt_device_path(device), stack->index, strerror(-ret));
	*stack->size = size;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size)
{
	struct stack stack = { device_id, hbm_idx, addr, size };

	if (!addr || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "addr or size is NULL");
	return machine_call(__func__, map_stack, &stack);
}

/* --- Numbers --- */

struct number {
	int device;
	uint32_t *out;
};

static NRT_STATUS host_id(struct nrt_machine *machine, void *arg, struct nrt_error *error)
{
	const struct number *number = arg;
	const struct nrt_device *device = find_device(machine, number->device, error);

	if (!device)
		return error->status;
	*number->out = device->info.fabric_id;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id)
{
	struct number number = { neuron_dev, host_device_id };

	if (!host_device_id)
		return nrt_fail_with(__func__, NRT_INVALID, "host_device_id is NULL");
	return machine_call(__func__, host_id, &number);
}

struct id_map {
	uint32_t *count;
	uint32_t *ids;
};

static NRT_STATUS fill_map(struct nrt_machine *machine, void *arg, struct nrt_error *error)
{
	const struct id_map *map = arg;
	uint32_t room = *map->count, count = 0;
	unsigned int i;

	for (i = 0; i < machine->nr_devices; i++) {
		const struct drm_neuron_device_info *info = &machine->devices[i]->info;

		if (count < info->fabric_chips)
			count = info->fabric_chips;
		if (count <= info->fabric_id)
			count = info->fabric_id + 1;
	}
	*map->count = count;
	if (room < count)
		return nrt_error_set(error, NRT_INVALID,
				     "the table has %u elements; the fabric has %u chips", room,
				     count);
	memset(map->ids, 0xff, count * sizeof(*map->ids));
	for (i = 0; i < machine->nr_devices; i++)
		map->ids[machine->devices[i]->info.fabric_id] =
			machine->devices[i]->info.routing_id;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map)
{
	struct id_map map = { count, host_did_to_rid_map };

	if (!count || !host_did_to_rid_map)
		return nrt_fail_with(__func__, NRT_INVALID, "count or the table is NULL");
	return machine_call(__func__, fill_map, &map);
}
