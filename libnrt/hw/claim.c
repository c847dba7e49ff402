// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/claim.h"

/* Attempts to take free cores while other processes take them, too. */
#define CLAIM_ATTEMPTS	8

unsigned int nrt_total_cores(struct nrt_device **devices, unsigned int count)
{
	const struct nrt_device *last = devices[count - 1];

	return last->first_core + last->info.nr_cores;
}

static void process_name(uint32_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(name, size, "?");
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

/* A core of @mask on @device is taken; say which, and by whom. */
static NRT_STATUS explain_busy(struct nrt_device *device, uint32_t mask,
			       struct nrt_error *error)
{
	struct drm_neuron_core_info cores[NEURON_MAX_CORES] = { 0 };
	char name[32];
	unsigned int i;

	if (nrt_device_cores(device, cores, error))
		return error->status;
	for (i = 0; i < device->info.nr_cores; i++) {
		if (!(mask & 1u << i) || !cores[i].owner_pid)
			continue;
		process_name(cores[i].owner_pid, name, sizeof(name));
		return nrt_error_set(error, NRT_EXEC_NC_BUSY,
				     "core %u (core %u of %s) belongs to process %u (%s)",
				     device->first_core + i, i,
				     device->backend->path(device->chip), cores[i].owner_pid, name);
	}
	return nrt_error_set(error, NRT_EXEC_NC_BUSY,
			     "cores 0x%x of %s belong to another process", mask,
			     device->backend->path(device->chip));
}

static NRT_STATUS list_free(struct nrt_device **devices, unsigned int count, bool *is_free,
			    struct nrt_error *error)
{
	struct drm_neuron_core_info cores[NEURON_MAX_CORES] = { 0 };
	unsigned int i, j;

	for (i = 0; i < count; i++) {
		if (nrt_device_cores(devices[i], cores, error))
			return error->status;
		for (j = 0; j < devices[i]->info.nr_cores; j++)
			is_free[devices[i]->first_core + j] = !cores[j].owner_pid;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS find_free_run(struct nrt_device **devices, unsigned int count,
				unsigned int nr, unsigned int *first, struct nrt_error *error)
{
	unsigned int total = nrt_total_cores(devices, count);
	unsigned int i, run = 0, nr_free = 0;
	bool *is_free = calloc(total, sizeof(*is_free));

	if (!is_free)
		return nrt_error_memory(error);
	if (list_free(devices, count, is_free, error)) {
		free(is_free);
		return error->status;
	}
	for (i = 0; i < total && run < nr; i++) {
		nr_free += is_free[i];
		run = is_free[i] ? run + 1 : 0;
	}
	free(is_free);
	if (run < nr)
		return nrt_error_set(error, NRT_RESOURCE,
				     "NEURON_RT_NUM_CORES=%u: of the %u cores %u are free, but not %u in a row",
				     nr, total, nr_free, nr);
	*first = i - nr;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_choose_cores(struct nrt_device **devices, unsigned int count,
			    const struct nrt_env *env, bool find_free, unsigned int *first,
			    unsigned int *nr, struct nrt_error *error)
{
	unsigned int total = nrt_total_cores(devices, count);

	*first = env->first_core;
	*nr = env->nr_cores ? env->nr_cores : total;
	if (*first >= total || *nr > total - *first)
		return nrt_error_set(error, NRT_INVALID,
				     "NEURON_RT_%s asks for %s %u; the machine has cores 0 to %u",
				     env->visible ? "VISIBLE_CORES" : "NUM_CORES",
				     env->visible ? "core" : "a number of cores,",
				     env->visible ? *first + *nr - 1 : *nr, total - 1);
	if (find_free && !env->visible && env->nr_cores)
		return find_free_run(devices, count, *nr, first, error);
	return NRT_SUCCESS;
}

/* The cores from @first to @first + @nr - 1 that lie on @device. */
static uint32_t device_mask(const struct nrt_device *device, unsigned int first, unsigned int nr)
{
	uint32_t mask = 0;
	unsigned int i;

	for (i = 0; i < device->info.nr_cores; i++)
		if (device->first_core + i >= first && device->first_core + i < first + nr)
			mask |= 1u << i;
	return mask;
}

static void release_all(struct nrt_device **devices, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct drm_neuron_release release = { .claim = devices[i]->claim };

		if (!devices[i]->claimed)
			continue;
		devices[i]->backend->release(devices[i]->chip, &release);
		devices[i]->claimed = 0;
	}
}

static NRT_STATUS claim_device(struct nrt_device *device, uint32_t mask, struct nrt_error *error)
{
	struct drm_neuron_claim claim = { .cores = mask };
	int ret;

	ret = device->backend->claim(device->chip, &claim);
	if (ret == -EBUSY)
		return explain_busy(device, mask, error);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "%s: cannot claim cores 0x%x: %s",
				     device->backend->path(device->chip), mask, strerror(-ret));
	device->claim = claim.claim;
	device->claimed = mask;
	return NRT_SUCCESS;
}

static NRT_STATUS claim_range(struct nrt_device **devices, unsigned int count,
			      unsigned int first, unsigned int nr, struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		uint32_t mask = device_mask(devices[i], first, nr);

		if (!mask || !claim_device(devices[i], mask, error))
			continue;
		release_all(devices, i);
		return error->status;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS fill_core(struct nrt_device **devices, unsigned int count, unsigned int number,
			    struct nrt_core *core, struct nrt_error *error)
{
	struct drm_neuron_core_info cores[NEURON_MAX_CORES] = { 0 };
	unsigned int i = 0;

	while (i + 1 < count && number >= devices[i + 1]->first_core)
		i++;
	if (nrt_device_cores(devices[i], cores, error))
		return error->status;
	core->device = devices[i];
	core->number = number;
	core->index = number - devices[i]->first_core;
	core->stack = cores[core->index].hbm;
	return NRT_SUCCESS;
}

static NRT_STATUS make_cores(struct nrt_device **devices, unsigned int count, unsigned int first,
			     unsigned int nr, struct nrt_core **cores, struct nrt_error *error)
{
	struct nrt_core *list = calloc(nr, sizeof(*list));
	unsigned int i;

	if (!list)
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		if (fill_core(devices, count, first + i, &list[i], error)) {
			nrt_cores_free(list, i);
			return error->status;
		}
		list[i].vnc = i;
		pthread_mutex_init(&list[i].lock, NULL);
	}
	*cores = list;
	return NRT_SUCCESS;
}

void nrt_cores_free(struct nrt_core *cores, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		pthread_mutex_destroy(&cores[i].lock);
		nrt_bo_put(cores[i].scratch);
		free(cores[i].shown);
	}
	free(cores);
}

NRT_STATUS nrt_claim_cores(struct nrt_device **devices, unsigned int count,
			   const struct nrt_env *env, struct nrt_core **cores,
			   unsigned int *nr, struct nrt_error *error)
{
	unsigned int first, attempt;
	bool any = !env->visible && env->nr_cores;

	for (attempt = 1;; attempt++) {
		if (nrt_choose_cores(devices, count, env, true, &first, nr, error))
			return error->status;
		if (!claim_range(devices, count, first, *nr, error))
			break;
		/* Somebody else was faster: look for other free ones. */
		if (error->status != NRT_EXEC_NC_BUSY || !any || attempt == CLAIM_ATTEMPTS)
			return error->status;
	}
	if (!make_cores(devices, count, first, *nr, cores, error))
		return NRT_SUCCESS;
	release_all(devices, count);
	return error->status;
}
