// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hw/bo.h"
#include "hw/device.h"

NRT_STATUS nrt_status_of_errno(int ret)
{
	switch (-ret) {
	case 0:
		return NRT_SUCCESS;
	case ENOSPC:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return NRT_RESOURCE;
	case EBUSY:
		return NRT_EXEC_NC_BUSY;
	case ETIMEDOUT:
	case ETIME:
		return NRT_TIMEOUT;
	case EIO:
	case ENODEV:
		return NRT_HW_ERROR;
	case EFAULT:
		return NRT_INVALID;
	default:
		return NRT_FAILURE;
	}
}

NRT_STATUS nrt_device_query(struct nrt_device *device, uint32_t type, void *out, size_t size,
			    uint32_t count, struct nrt_error *error)
{
	struct drm_neuron_query query = {
		.type = type,
		.answer = { (uint32_t)size, count, (uintptr_t)out },
	};
	int ret = device->backend->query(device->chip, &query);

	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "%s: query %u: %s",
				     nrt_device_path(device), type, strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_device_cores(struct nrt_device *device,
			    struct drm_neuron_core_info cores[NEURON_MAX_CORES],
			    struct nrt_error *error)
{
	return nrt_device_query(device, DRM_NEURON_QUERY_CORES, cores,
				sizeof(*cores), device->info.nr_cores, error);
}

NRT_STATUS nrt_device_memory(struct nrt_device *device,
			     struct drm_neuron_memory_info stacks[NEURON_MAX_HBM],
			     struct nrt_error *error)
{
	return nrt_device_query(device, DRM_NEURON_QUERY_MEMORY, stacks,
				sizeof(*stacks), device->info.nr_hbm, error);
}

const char *nrt_device_path(const struct nrt_device *device)
{
	return device->backend->path(device->chip);
}

void nrt_device_get(struct nrt_device *device)
{
	atomic_fetch_add(&device->refs, 1);
}

void nrt_device_put(struct nrt_device *device)
{
	if (atomic_fetch_sub(&device->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&device->lock);
	free(device);
}

/* Takes @chip, also on failure. */
static NRT_STATUS device_open(const struct nrt_backend *backend, struct nrt_chip *chip,
			      struct nrt_device **out, struct nrt_error *error)
{
	struct nrt_device *device = calloc(1, sizeof(*device));

	if (!device) {
		backend->close(chip);
		return nrt_error_memory(error);
	}
	device->backend = backend;
	device->chip = chip;
	atomic_init(&device->refs, 1);
	pthread_mutex_init(&device->lock, NULL);
	if (nrt_device_query(device, DRM_NEURON_QUERY_DEVICE, &device->info,
			     sizeof(device->info), 1, error))
		goto fail;
	if (!device->info.nr_cores || device->info.nr_cores > NEURON_MAX_CORES ||
	    device->info.nr_hbm > NEURON_MAX_HBM || !device->info.core_dma_engines) {
		nrt_error_set(error, NRT_FAILURE,
			      "%s: the driver reports %u cores with %u DMA engines, and %u stacks",
			      backend->path(chip), device->info.nr_cores,
			      device->info.core_dma_engines, device->info.nr_hbm);
		goto fail;
	}
	*out = device;
	return NRT_SUCCESS;
fail:
	backend->close(chip);
	nrt_device_put(device);
	return error->status;
}

static int compare_devices(const void *a, const void *b)
{
	const struct nrt_device *x = *(struct nrt_device *const *)a;
	const struct nrt_device *y = *(struct nrt_device *const *)b;
	const uint32_t left[] = { x->info.rack, x->info.server, x->info.chip, x->info.fabric_id };
	const uint32_t right[] = { y->info.rack, y->info.server, y->info.chip, y->info.fabric_id };
	unsigned int i;

	for (i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return strcmp(x->backend->path(x->chip), y->backend->path(y->chip));
}

NRT_STATUS nrt_devices_open(const struct nrt_backend *backend, struct nrt_device ***devices,
			    unsigned int *count, struct nrt_error *error)
{
	struct nrt_device **list;
	struct nrt_chip **chips;
	unsigned int nr, i, opened = 0, core = 0;

	if (backend->open_all(&chips, &nr, error))
		return error->status;
	list = calloc(nr, sizeof(*list));
	error->status = list ? NRT_SUCCESS : nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		if (error->status)
			backend->close(chips[i]);
		else if (!device_open(backend, chips[i], &list[opened], error))
			opened++;
	}
	free(chips);
	if (error->status) {
		nrt_devices_close(list, opened);
		return error->status;
	}
	qsort(list, opened, sizeof(*list), compare_devices);
	for (i = 0; i < opened; i++) {
		list[i]->first_core = core;
		core += list[i]->info.nr_cores;
	}
	*devices = list;
	*count = opened;
	return NRT_SUCCESS;
}

void nrt_device_release(struct nrt_device *device)
{
	struct drm_neuron_release release = { .claim = device->claim };

	if (!device->claimed)
		return;
	device->backend->release(device->chip, &release);
	device->claimed = 0;
}

static void device_close(struct nrt_device *device)
{
	nrt_device_release(device);
	pthread_mutex_lock(&device->lock);
	device->cores = NULL;
	device->nr_cores = 0;
	device->cc_cores = NULL;
	device->nr_cc_cores = 0;
	nrt_bo_close_all(device);
	pthread_mutex_unlock(&device->lock);
	device->backend->close(device->chip);
	device->chip = NULL;
	nrt_device_put(device);
}

void nrt_devices_close(struct nrt_device **devices, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		device_close(devices[i]);
	free(devices);
}

