// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/drm.h"
#include "hw/machine.h"

/* Attempts to take free cores while other processes take them, too. */
#define CLAIM_ATTEMPTS	8

/*
 * NEURON_RT_BACKEND=auto: the chips of the machine, or, when there are none, our own. Chips that
 * cannot be used, because the module or a permission is missing, are no reason to emulate some.
 */
static NRT_STATUS open_any(struct nrt_machine *machine, struct nrt_error *error)
{
	NRT_STATUS status = nrt_devices_open(&nrt_backend_drm, &machine->devices,
					     &machine->nr_devices, error);

	if (!status || nrt_drm_has_chips())
		return status;
	return nrt_devices_open(&nrt_backend_embedded, &machine->devices, &machine->nr_devices,
				error);
}

static NRT_STATUS open_devices(struct nrt_machine *machine, struct nrt_error *error)
{
	const char *text = getenv("NEURON_RT_BACKEND");

	if (!text || !*text || !strcmp(text, "drm"))
		return nrt_devices_open(&nrt_backend_drm, &machine->devices, &machine->nr_devices,
					error);
	if (!strcmp(text, "embedded"))
		return nrt_devices_open(&nrt_backend_embedded, &machine->devices,
					&machine->nr_devices, error);
	if (!strcmp(text, "auto"))
		return open_any(machine, error);
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_RT_BACKEND=\"%.40s\": use drm, embedded or auto", text);
}

/* Pairs of cores are usual where cores share an HBM stack in pairs: from NeuronCore-v3 on. */
static NRT_STATUS set_lnc(struct nrt_machine *machine, unsigned int lnc, struct nrt_error *error)
{
	const struct nrt_device *device = machine->devices[0];
	bool pairs = device->info.generation >= 3;
	unsigned int i;

	machine->lnc = lnc ? lnc : pairs ? 2 : 1;
	if (machine->lnc == 2 && !pairs)
		return nrt_error_set(error, NRT_INVALID,
				     "logical cores of 2 physical ones (NEURON_LOGICAL_NC_CONFIG): %s has NeuronCore-v%u, whose cores make no pairs; use 1",
				     nrt_device_path(device), device->info.generation);
	for (i = 0; i < machine->nr_devices; i++)
		if (machine->devices[i]->info.nr_cores % machine->lnc)
			return nrt_error_set(error, NRT_FAILURE,
					     "%s: the driver reports %u cores, which make no pairs",
					     nrt_device_path(machine->devices[i]),
					     machine->devices[i]->info.nr_cores);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_machine_open(struct nrt_machine *machine, unsigned int lnc,
			    struct nrt_error *error)
{
	memset(machine, 0, sizeof(*machine));
	if (open_devices(machine, error))
		return error->status;
	if (set_lnc(machine, lnc, error)) {
		nrt_devices_close(machine->devices, machine->nr_devices);
		return error->status;
	}
	pthread_mutex_init(&machine->lock, NULL);
	return NRT_SUCCESS;
}

bool nrt_machine_embedded(const struct nrt_machine *machine)
{
	return machine->devices[0]->backend == &nrt_backend_embedded;
}

unsigned int nrt_machine_total(const struct nrt_machine *machine)
{
	const struct nrt_device *last = machine->devices[machine->nr_devices - 1];

	return (last->first_core + last->info.nr_cores) / machine->lnc;
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

/* By whom; the kernel does not name a process of a namespace that this one does not see. */
static void describe_owner(const struct drm_neuron_core_info *core, char *text, size_t size)
{
	char name[32];

	if (!core->owner_pid) {
		snprintf(text, size, "a process of another container");
		return;
	}
	process_name(core->owner_pid, name, sizeof(name));
	snprintf(text, size, "process %u (%s)", core->owner_pid, name);
}

/* A core of @mask on @device is taken; say which, and by whom. */
static NRT_STATUS explain_busy(const struct nrt_machine *machine, struct nrt_device *device,
			       uint32_t mask, struct nrt_error *error)
{
	struct drm_neuron_core_info cores[NEURON_MAX_CORES] = { 0 };
	char owner[64];
	unsigned int i;

	if (nrt_device_cores(device, cores, error))
		return error->status;
	for (i = 0; i < device->info.nr_cores; i++) {
		if (!(mask & 1u << i) || !(cores[i].flags & DRM_NEURON_CORE_CLAIMED))
			continue;
		describe_owner(&cores[i], owner, sizeof(owner));
		return nrt_error_set(error, NRT_EXEC_NC_BUSY,
				     "core %u (physical core %u of %s) belongs to %s",
				     (device->first_core + i) / machine->lnc, i,
				     nrt_device_path(device), owner);
	}
	return nrt_error_set(error, NRT_EXEC_NC_BUSY,
			     "cores 0x%x of %s belong to another process", mask,
			     nrt_device_path(device));
}

/* A virtual core is free when all its physical ones are. */
static NRT_STATUS list_free(const struct nrt_machine *machine, bool *is_free,
			    struct nrt_error *error)
{
	struct drm_neuron_core_info cores[NEURON_MAX_CORES] = { 0 };
	unsigned int i, j;

	memset(is_free, true, nrt_machine_total(machine) * sizeof(*is_free));
	for (i = 0; i < machine->nr_devices; i++) {
		struct nrt_device *device = machine->devices[i];

		if (nrt_device_cores(device, cores, error))
			return error->status;
		for (j = 0; j < device->info.nr_cores; j++)
			if (cores[j].flags & DRM_NEURON_CORE_CLAIMED)
				is_free[(device->first_core + j) / machine->lnc] = false;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS find_free_run(const struct nrt_machine *machine, unsigned int nr,
				unsigned int *first, struct nrt_error *error)
{
	unsigned int total = nrt_machine_total(machine);
	unsigned int i, run = 0, nr_free = 0;
	bool *is_free = calloc(total, sizeof(*is_free));

	if (!is_free)
		return nrt_error_memory(error);
	if (list_free(machine, is_free, error)) {
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

/*
 * The cores that @env asks for: *@nr from *@first on, numbers in the machine. Without
 * VISIBLE_CORES a free run is looked for when @find_free.
 */
static NRT_STATUS choose_cores(const struct nrt_machine *machine, const struct nrt_env *env,
			       bool find_free, unsigned int *first, unsigned int *nr,
			       struct nrt_error *error)
{
	unsigned int total = nrt_machine_total(machine);

	*first = env->first_core;
	*nr = env->nr_cores ? env->nr_cores : total;
	if (*first >= total || *nr > total - *first)
		return nrt_error_set(error, NRT_INVALID,
				     "NEURON_RT_%s asks for %s %u; the machine has cores 0 to %u",
				     env->visible ? "VISIBLE_CORES" : "NUM_CORES",
				     env->visible ? "core" : "a number of cores,",
				     env->visible ? *first + *nr - 1 : *nr, total - 1);
	if (find_free && !env->visible && env->nr_cores)
		return find_free_run(machine, *nr, first, error);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_machine_visible(const struct nrt_machine *machine, const struct nrt_env *env,
			       unsigned int *nr, struct nrt_error *error)
{
	unsigned int first;

	return choose_cores(machine, env, false, &first, nr, error);
}

/* The physical cores from @first to @first + @nr - 1 that lie on @device. */
static uint32_t device_mask(const struct nrt_device *device, unsigned int first, unsigned int nr)
{
	uint32_t mask = 0;
	unsigned int i;

	for (i = 0; i < device->info.nr_cores; i++)
		if (device->first_core + i >= first && device->first_core + i < first + nr)
			mask |= 1u << i;
	return mask;
}

void nrt_machine_release(struct nrt_machine *machine)
{
	unsigned int i;

	for (i = 0; i < machine->nr_cores; i++)
		if (machine->cores[i].device)
			nrt_post_flush(&machine->cores[i]);
	for (i = 0; i < machine->nr_devices; i++)
		nrt_device_release(machine->devices[i]);
}

static NRT_STATUS claim_device(const struct nrt_machine *machine, struct nrt_device *device,
			       uint32_t mask, struct nrt_error *error)
{
	struct drm_neuron_claim claim = { .cores = mask };
	int ret;

	ret = device->backend->claim(device->chip, &claim);
	if (ret == -EBUSY)
		return explain_busy(machine, device, mask, error);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "%s: cannot claim cores 0x%x: %s",
				     nrt_device_path(device), mask, strerror(-ret));
	device->claim = claim.claim;
	device->claimed = mask;
	return NRT_SUCCESS;
}

/* @nr virtual cores from @first on. */
static NRT_STATUS claim_range(struct nrt_machine *machine, unsigned int first, unsigned int nr,
			      struct nrt_error *error)
{
	unsigned int i;

	for (i = 0; i < machine->nr_devices; i++) {
		uint32_t mask = device_mask(machine->devices[i], first * machine->lnc,
					    nr * machine->lnc);

		if (!mask || !claim_device(machine, machine->devices[i], mask, error))
			continue;
		nrt_machine_release(machine);
		return error->status;
	}
	return NRT_SUCCESS;
}

/*
 * The physical cores of the process that lie on @device, which are neighbours in the list.
 * @first: number in the machine of the first one of the process.
 */
static NRT_STATUS fill_cores(struct nrt_machine *machine, struct nrt_device *device,
			     unsigned int first, struct nrt_error *error)
{
	struct drm_neuron_core_info infos[NEURON_MAX_CORES] = { 0 };
	unsigned int i;

	if (nrt_device_cores(device, infos, error))
		return error->status;
	for (i = 0; i < device->info.nr_cores; i++) {
		struct nrt_core *core = &machine->cores[device->first_core + i - first];

		if (!(device->claimed & 1u << i))
			continue;
		if (!device->nr_cores++)
			device->cores = core;
		core->device = device;
		core->number = device->first_core + i;
		core->index = i;
		core->stack = infos[i].hbm;
		pthread_mutex_init(&core->lock, NULL);
	}
	return NRT_SUCCESS;
}

/*
 * CC-core @i of the process, of those of its core the one with number @i % @per. The cores of a
 * chip have equal parts of its CC-cores.
 */
static void fill_cc_core(struct nrt_machine *machine, unsigned int i, unsigned int per)
{
	const struct nrt_core *core = &machine->cores[i / per];
	const struct drm_neuron_device_info *info = &core->device->info;
	struct nrt_core *cc = &machine->cc_cores[i];

	if (!core->device->nr_cc_cores++)
		core->device->cc_cores = cc;
	cc->device = core->device;
	cc->number = core->number;
	cc->index = info->first_cc_core + core->index * (info->nr_cc_cores / info->nr_cores) +
		    i % per;
	cc->stack = core->stack;
	pthread_mutex_init(&cc->lock, NULL);
}

static NRT_STATUS make_cc_cores(struct nrt_machine *machine, struct nrt_error *error)
{
	unsigned int per = nrt_cc_per_core(&machine->devices[0]->info, machine->lnc);
	unsigned int i;

	if (!per)
		return NRT_SUCCESS;
	machine->cc_cores = calloc((size_t)machine->nr_cores * per, sizeof(*machine->cc_cores));
	if (!machine->cc_cores)
		return nrt_error_memory(error);
	machine->nr_cc_cores = machine->nr_cores * per;
	for (i = 0; i < machine->nr_cc_cores; i++)
		fill_cc_core(machine, i, per);
	for (i = 0; i < machine->nr_vcores; i++) {
		machine->vcores[i].cc = &machine->cc_cores[i * machine->lnc * per];
		machine->vcores[i].nr_cc = machine->lnc * per;
	}
	return NRT_SUCCESS;
}

static void pair_cores(struct nrt_machine *machine)
{
	unsigned int i;

	for (i = 0; i < machine->nr_cores; i++) {
		struct nrt_vcore *vcore = &machine->vcores[i / machine->lnc];
		struct nrt_core *core = &machine->cores[i];

		if (!vcore->nr) {
			vcore->device = core->device;
			vcore->vnc = i / machine->lnc;
			vcore->number = core->number / machine->lnc;
			vcore->stack = core->stack;
			vcore->scratch.page = machine->scratch_page;
		}
		vcore->core[vcore->nr++] = core;
	}
}

/* What does not change. Texts that are too long are cut. */
static NRT_STATUS describe_machine(const struct nrt_machine *machine, const struct nrt_env *env,
				   struct nrt_emu_stats *page, struct nrt_error *error)
{
	struct drm_neuron_memory_info stacks[NEURON_MAX_HBM] = { 0 };
	struct nrt_device *device = machine->devices[0];
	unsigned int i;

	if (nrt_device_memory(device, stacks, error))
		return error->status;
	for (i = 0; i < device->info.nr_hbm; i++)
		page->device_bytes += stacks[i].size;
	page->flags = nrt_machine_embedded(machine) ? NRT_EMU_STATS_EMBEDDED : 0;
	page->lnc = machine->lnc;
	page->nr_devices = machine->nr_devices;
	page->device_cores = device->info.nr_cores;
	page->generation = device->info.generation;
	snprintf(page->device_name, sizeof(page->device_name), "%.*s",
		 (int)sizeof(device->info.name), device->info.name);
	device->backend->instance(page->instance, sizeof(page->instance));
	snprintf(page->tag, sizeof(page->tag), "%s", env->tag ?: "");
	return NRT_SUCCESS;
}

static unsigned int index_of(const struct nrt_machine *machine, const struct nrt_device *device)
{
	unsigned int i = 0;

	while (machine->devices[i] != device)
		i++;
	return i;
}

static NRT_STATUS make_stats(struct nrt_machine *machine, const struct nrt_env *env,
			     struct nrt_error *error)
{
	struct nrt_emu_stats_core *row;
	unsigned int i, j;

	if (nrt_stats_open(&machine->stats, machine->nr_vcores, error) ||
	    describe_machine(machine, env, machine->stats.page, error))
		return error->status;
	for (i = 0; i < machine->nr_vcores; i++) {
		const struct nrt_vcore *vcore = &machine->vcores[i];

		row = &machine->stats.page->cores[i];
		row->number = vcore->number;
		row->device = index_of(machine, vcore->device);
		row->first_physical = vcore->core[0]->number;
		row->nr_physical = vcore->nr;
		for (j = 0; j < vcore->nr; j++)
			vcore->core[j]->stats = row;
		for (j = 0; j < vcore->nr_cc; j++)
			vcore->cc[j].stats = row;
	}
	nrt_stats_publish(&machine->stats);
	return NRT_SUCCESS;
}

/* @nr virtual cores from @first on. */
static NRT_STATUS make_cores(struct nrt_machine *machine, unsigned int first, unsigned int nr,
			     struct nrt_error *error)
{
	unsigned int i;

	machine->cores = calloc(nr * machine->lnc, sizeof(*machine->cores));
	machine->vcores = calloc(nr, sizeof(*machine->vcores));
	if (!machine->cores || !machine->vcores)
		return nrt_error_memory(error);
	machine->nr_cores = nr * machine->lnc;
	for (i = 0; i < machine->nr_devices; i++)
		if (machine->devices[i]->claimed &&
		    fill_cores(machine, machine->devices[i], first * machine->lnc, error))
			return error->status;
	machine->nr_vcores = nr;
	pair_cores(machine);
	return make_cc_cores(machine, error);
}

NRT_STATUS nrt_machine_claim(struct nrt_machine *machine, const struct nrt_env *env,
			     struct nrt_error *error)
{
	unsigned int first, nr, attempt, i;
	bool any = !env->visible && env->nr_cores;

	machine->scratch_page = env->scratch_page;
	for (i = 0; i < machine->nr_devices; i++)
		machine->devices[i]->memory_table = env->memory_table;
	for (attempt = 1;; attempt++) {
		if (choose_cores(machine, env, true, &first, &nr, error))
			return error->status;
		if (!claim_range(machine, first, nr, error))
			break;
		/* Somebody else was faster: look for other free ones. */
		if (error->status != NRT_EXEC_NC_BUSY || !any || attempt == CLAIM_ATTEMPTS)
			return error->status;
	}
	if (make_cores(machine, first, nr, error))
		return error->status;
	return make_stats(machine, env, error);
}

static void fini_cores(struct nrt_core *cores, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		free(cores[i].shown);
		if (cores[i].device)
			pthread_mutex_destroy(&cores[i].lock);
	}
	free(cores);
}

void nrt_machine_close(struct nrt_machine *machine)
{
	unsigned int i;

	fini_cores(machine->cores, machine->nr_cores);
	fini_cores(machine->cc_cores, machine->nr_cc_cores);
	for (i = 0; i < machine->nr_vcores; i++)
		nrt_vcore_fini(&machine->vcores[i]);
	nrt_devices_close(machine->devices, machine->nr_devices);
	nrt_stats_close(&machine->stats);
	free(machine->vcores);
	pthread_mutex_destroy(&machine->lock);
	memset(machine, 0, sizeof(*machine));
}

struct nrt_vcore *nrt_machine_vcore(struct nrt_machine *machine, int64_t vnc,
				    struct nrt_error *error)
{
	if (vnc >= 0 && vnc < machine->nr_vcores)
		return &machine->vcores[vnc];
	nrt_error_set(error, NRT_INVALID, "core %lld: the process owns cores 0 to %u",
		      (long long)vnc, machine->nr_vcores - 1);
	return NULL;
}

/* With the machine's lock. */
static struct nrt_vcore *least_loaded(struct nrt_machine *machine)
{
	struct nrt_vcore *best = &machine->vcores[0];
	unsigned int i;

	for (i = 1; i < machine->nr_vcores; i++)
		if (machine->vcores[i].models < best->models)
			best = &machine->vcores[i];
	return best;
}

NRT_STATUS nrt_machine_take_vcore(struct nrt_machine *machine, int32_t vnc,
				  struct nrt_vcore **vcore, struct nrt_error *error)
{
	if (vnc < -1 || vnc >= (int64_t)machine->nr_vcores)
		return nrt_error_set(error, NRT_LOAD_NOT_ENOUGH_NC,
				     "core %d: the process owns cores 0 to %u", vnc,
				     machine->nr_vcores - 1);
	pthread_mutex_lock(&machine->lock);
	*vcore = vnc < 0 ? least_loaded(machine) : &machine->vcores[vnc];
	(*vcore)->models++;
	pthread_mutex_unlock(&machine->lock);
	return NRT_SUCCESS;
}

void nrt_machine_leave_vcore(struct nrt_machine *machine, struct nrt_vcore *vcore)
{
	pthread_mutex_lock(&machine->lock);
	vcore->models--;
	pthread_mutex_unlock(&machine->lock);
}
