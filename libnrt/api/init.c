// SPDX-License-Identifier: MIT
/*
 * nrt_init(), nrt_close(), and what the machine is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt.h>

#include "hw/claim.h"
#include "object/model.h"
#include "nrt_build.h"
#include "object/state.h"

_Static_assert(sizeof(nrt_instance_info_t) == 32, "public layout");
_Static_assert(sizeof(nrt_version_t) == 224, "public layout");
_Static_assert(sizeof(nrt_vnc_memory_stats_t) == 16, "public layout");

/* NEURON_RT_BACKEND=auto: the chips of the machine, or, when there are none, our own. */
static NRT_STATUS open_any(struct nrt_device ***devices, unsigned int *count,
			   struct nrt_error *error)
{
	struct nrt_error none;

	if (!nrt_devices_open(&nrt_backend_drm, devices, count, &none))
		return NRT_SUCCESS;
	return nrt_devices_open(&nrt_backend_embedded, devices, count, error);
}

/* Where chips come from. */
static NRT_STATUS open_devices(struct nrt_device ***devices, unsigned int *count,
			       struct nrt_error *error)
{
	const char *text = getenv("NEURON_RT_BACKEND");

	if (!text || !*text || !strcmp(text, "drm"))
		return nrt_devices_open(&nrt_backend_drm, devices, count, error);
	if (!strcmp(text, "embedded"))
		return nrt_devices_open(&nrt_backend_embedded, devices, count, error);
	if (!strcmp(text, "auto"))
		return open_any(devices, count, error);
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_RT_BACKEND=\"%.40s\": use drm, embedded or auto", text);
}

/* Nobody may take results of chips that are none for those of the machine's. */
static void tell_embedded(const struct nrt_state *state)
{
	const struct nrt_device *first = state->devices[0];

	if (first->backend != &nrt_backend_embedded)
		return;
	if (nrt_state_log()->level == NRT_LOG_QUIET)
		return;
	fprintf(stderr, "NRT: NEURON_RT_BACKEND=embedded: %u emulated %s %s in this process\n",
		state->nr_devices, first->info.name, state->nr_devices == 1 ? "chip" : "chips");
}

/* With the state's lock for writing. */
static NRT_STATUS init_locked(struct nrt_state *state, struct nrt_error *error)
{
	if (state->phase == NRT_PHASE_READY)
		return nrt_error_set(error, NRT_INVALID, "already initialised");
	if (nrt_env_read(&state->env, error) ||
	    open_devices(&state->devices, &state->nr_devices, error))
		return error->status;
	if (nrt_claim_cores(state->devices, state->nr_devices, &state->env, &state->cores,
			    &state->nr_cores, error)) {
		nrt_devices_close(state->devices, state->nr_devices);
		return error->status;
	}
	state->phase = NRT_PHASE_READY;
	tell_embedded(state);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
		    const char *fal_version)
{
	struct nrt_state *state = nrt_state();
	struct nrt_error error;
	NRT_STATUS status;

	if (framework <= NRT_FRAMEWORK_TYPE_INVALID || framework > NRT_FRAMEWORK_TYPE_PRECHECK)
		return nrt_fail_with(__func__, NRT_INVALID, "framework type %d is unknown",
				     (int)framework);
	if (!fw_version || !fal_version)
		return nrt_fail_with(__func__, NRT_INVALID, "a version string is NULL; pass \"\"");
	pthread_rwlock_wrlock(&state->lock);
	status = init_locked(state, &error);
	if (!status)
		nrt_log(NRT_LOG_INFO, __func__, "version %s: owns %u cores from core %u on",
			NRT_BUILD_VERSION, state->nr_cores, state->cores[0].number);
	pthread_rwlock_unlock(&state->lock);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

void nrt_close(void)
{
	struct nrt_state *state = nrt_state();

	pthread_rwlock_wrlock(&state->lock);
	if (state->phase == NRT_PHASE_READY) {
		nrt_models_free_all(state);
		nrt_cores_free(state->cores, state->nr_cores);
		nrt_devices_close(state->devices, state->nr_devices);
		state->cores = NULL;
		state->nr_cores = 0;
		state->devices = NULL;
		state->nr_devices = 0;
		state->phase = NRT_PHASE_CLOSED;
	}
	pthread_rwlock_unlock(&state->lock);
}

/* Calls that are legal at any time open the chips for themselves when they must. */
typedef NRT_STATUS look_fn(struct nrt_device **devices, unsigned int count, void *out,
			   struct nrt_error *error);

static NRT_STATUS look(const char *call, look_fn *fn, void *out)
{
	struct nrt_state *state = nrt_state();
	struct nrt_device **devices;
	struct nrt_error error;
	unsigned int count;
	NRT_STATUS status;

	pthread_rwlock_rdlock(&state->lock);
	if (state->phase == NRT_PHASE_READY) {
		status = fn(state->devices, state->nr_devices, out, &error);
	} else {
		status = open_devices(&devices, &count, &error);
		if (!status) {
			status = fn(devices, count, out, &error);
			nrt_devices_close(devices, count);
		}
	}
	pthread_rwlock_unlock(&state->lock);
	return status ? nrt_fail(call, &error) : NRT_SUCCESS;
}

static NRT_STATUS look_total(struct nrt_device **devices, unsigned int count, void *out,
			     struct nrt_error *error)
{
	(void)error;
	*(uint32_t *)out = nrt_total_cores(devices, count);
	return NRT_SUCCESS;
}

static NRT_STATUS look_visible(struct nrt_device **devices, unsigned int count, void *out,
			       struct nrt_error *error)
{
	unsigned int first, nr;
	struct nrt_env env;

	if (nrt_env_read(&env, error) ||
	    nrt_choose_cores(devices, count, &env, false, &first, &nr, error))
		return error->status;
	*(uint32_t *)out = nr;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
	if (!vnc_count)
		return nrt_fail_with(__func__, NRT_INVALID, "vnc_count is NULL");
	return look(__func__, look_total, vnc_count);
}

NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count)
{
	return nrt_get_total_vnc_count(nc_count);
}

NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
	struct nrt_state *state = nrt_state();
	bool ready;

	if (!vnc_count)
		return nrt_fail_with(__func__, NRT_INVALID, "vnc_count is NULL");
	pthread_rwlock_rdlock(&state->lock);
	ready = state->phase == NRT_PHASE_READY;
	if (ready)
		*vnc_count = state->nr_cores;
	pthread_rwlock_unlock(&state->lock);
	return ready ? NRT_SUCCESS : look(__func__, look_visible, vnc_count);
}

NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count)
{
	return nrt_get_visible_vnc_count(nc_count);
}

/* Public instance types by generation and number of chips. */
static uint32_t instance_size(uint32_t generation, unsigned int chips)
{
	static const struct {
		uint32_t generation;
		unsigned int chips;
		uint32_t size;
	} sizes[] = {
		{ 2, 1, NRT_INSTANCE_SIZE_2XL },
		{ 2, 16, NRT_INSTANCE_SIZE_32XL },
		{ 3, 1, NRT_INSTANCE_SIZE_3XL },
		{ 3, 16, NRT_INSTANCE_SIZE_48XL },
	};
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].generation == generation && sizes[i].chips == chips)
			return sizes[i].size;
	return NRT_INSTANCE_SIZE_UNKNOWN;
}

static NRT_STATUS look_instance(struct nrt_device **devices, unsigned int count, void *out,
				struct nrt_error *error)
{
	const struct nrt_device *first = devices[0];
	nrt_instance_info_t *info = out;

	(void)error;
	switch (first->info.generation) {
	case 2:
		info->family = NRT_INSTANCE_TRN1;
		break;
	case 3:
		info->family = NRT_INSTANCE_TRN2;
		break;
	case 4:
		info->family = NRT_INSTANCE_TRN3;
		break;
	default:
		info->family = NRT_INSTANCE_UNKNOWN;
	}
	info->size = instance_size(first->info.generation, count);
	snprintf(info->arch_name, sizeof(info->arch_name), "%.8s", first->info.core_arch);
	first->backend->revision(first->chip, info->device_revision,
				 sizeof(info->device_revision));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t instance_info_len)
{
	nrt_instance_info_t full = { 0 };
	NRT_STATUS status;

	if (!info || !instance_info_len)
		return nrt_fail_with(__func__, NRT_INVALID, "info is NULL or has no bytes");
	status = look(__func__, look_instance, &full);
	if (!status)
		memcpy(info, &full,
		       instance_info_len < sizeof(full) ? instance_info_len : sizeof(full));
	return status;
}

NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
	nrt_version_t full = {
		.rt_major = NRT_BUILD_MAJOR,
		.rt_minor = NRT_BUILD_MINOR,
		.rt_patch = NRT_BUILD_PATCH,
		.rt_detail = NRT_BUILD_VERSION " (neuron-emu)",
	};

	if (!ver || !size)
		return nrt_fail_with(__func__, NRT_INVALID, "ver is NULL or has no bytes");
	memcpy(ver, &full, size < sizeof(full) ? size : sizeof(full));
	return NRT_SUCCESS;
}

static NRT_STATUS memory_stats(struct nrt_state *state, uint32_t vnc,
			       nrt_vnc_memory_stats_t *stats, struct nrt_error *error)
{
	struct drm_neuron_memory_info stacks[NEURON_MAX_HBM] = { 0 };
	struct nrt_core *core = nrt_core_get(state, vnc, error);

	if (!core || nrt_device_memory(core->device, stacks, error))
		return error->status;
	stats->bytes_used = stacks[core->stack].used;
	stats->bytes_limit = stacks[core->stack].usable;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
				    size_t stats_size_in, size_t *stats_size_out)
{
	nrt_vnc_memory_stats_t full;
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!stats || !stats_size_in)
		return nrt_fail_with(__func__, NRT_INVALID, "stats is NULL or has no bytes");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = memory_stats(state, vnc, &full, &error);
	nrt_leave(state);
	if (status)
		return nrt_fail(__func__, &error);
	if (stats_size_in > sizeof(full))
		stats_size_in = sizeof(full);
	memcpy(stats, &full, stats_size_in);
	if (stats_size_out)
		*stats_size_out = stats_size_in;
	return NRT_SUCCESS;
}
