// SPDX-License-Identifier: MIT
/*
 * The table of the embedded back end, and what can be asked of its chips.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/embedded/emb.h"
#include "base/clock.h"

static const char *emb_path(const struct nrt_chip *chip)
{
	return chip->name;
}

/* The revision that marks a model. */
static void emb_revision(const struct nrt_chip *chip, char *text, size_t size)
{
	(void)chip;
	snprintf(text, size, "0x%02x", NEURON_PCI_REVISION_PLATFORM);
}

/* @count elements of @size bytes: as much as the caller has room for. */
static int answer(struct drm_neuron_query *query, const void *data, size_t size, uint32_t count)
{
	struct drm_neuron_array *array = &query->answer;
	uint8_t *to = (uint8_t *)(uintptr_t)array->pointer;
	uint32_t i, nr = array->count < count ? array->count : count;

	if (to && array->stride != size)
		return -EINVAL;
	for (i = 0; to && i < nr; i++)
		memcpy(to + i * size, (const uint8_t *)data + i * size, size);
	array->stride = (uint32_t)size;
	array->count = count;
	return 0;
}

static int query_device(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	const struct neuron_gen *gen = chip->gen;
	struct drm_neuron_device_info info = {
		.generation = gen->generation,
		.nr_cores = gen->nr_cores,
		.nr_hbm = gen->nr_hbm,
		.nr_links = emb_read(chip, NEURON_CTL_NR_LINKS),
		.fabric_id = chip->index,
		.fabric_chips = chip->machine->nr_chips,
		.chip = chip->index,
		.routing_id = neuron_routing_id(gen, chip->index),
		.pci_bus = chip->index,
		.numa_node = -1,
		.features = 1,
		.serial = chip->index + 1,
		.nr_cc_cores = gen->nr_top_sp_ids,
		.first_cc_core = NEURON_MAX_CORES,
		.nr_engines = NEURON_NR_ENGINES,
		.nr_semaphores = NEURON_NR_SEMAPHORES,
		.core_dma_engines = NEURON_JOB_DMA_ENGINES,
		.dma_queues = NEURON_UDMA_QUEUES,
	};

	snprintf(info.name, sizeof(info.name), "%s", gen->device_name);
	snprintf(info.core_arch, sizeof(info.core_arch), "%s", gen->core_arch);
	return answer(query, &info, sizeof(info), 1);
}

static int query_memory(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	struct drm_neuron_memory_info info[NEURON_MAX_HBM];
	unsigned int i;

	emb_names_sweep(chip->machine, NULL);
	pthread_mutex_lock(&chip->memory_lock);
	for (i = 0; i < chip->gen->nr_hbm; i++)
		info[i] = (struct drm_neuron_memory_info){
			.size = chip->stack[i].size,
			.usable = chip->stack[i].size,
			.used = chip->stack[i].used,
		};
	pthread_mutex_unlock(&chip->memory_lock);
	return answer(query, info, sizeof(info[0]), chip->gen->nr_hbm);
}

static uint32_t core_flags(struct nrt_chip *chip, const struct emb_core *core)
{
	uint32_t flags = 0;

	if (core->claim)
		flags |= DRM_NEURON_CORE_CLAIMED;
	if (emb_read(chip, core->regs + NEURON_CORE_STATUS) == NEURON_CORE_RUNNING)
		flags |= DRM_NEURON_CORE_BUSY;
	return flags;
}

static int query_cores(struct nrt_chip *chip, struct drm_neuron_query *query, unsigned int first,
		       unsigned int nr)
{
	struct drm_neuron_core_info info[NEURON_MAX_UNITS];
	unsigned int i;

	pthread_mutex_lock(&chip->lock);
	for (i = 0; i < nr; i++) {
		const struct emb_core *core = &chip->core[first + i];

		info[i] = (struct drm_neuron_core_info){
			.hbm = core->tpb * chip->gen->nr_hbm / chip->gen->nr_cores,
			.owner_pid = core->claim ? (uint32_t)getpid() : 0,
			.busy_ns = core->busy_ns,
			.jobs = core->ended,
			.flags = core_flags(chip, core),
		};
	}
	pthread_mutex_unlock(&chip->lock);
	return answer(query, info, sizeof(info[0]), nr);
}

static int query_links(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	struct drm_neuron_link_info info[NEURON_CTL_MAX_LINKS];
	uint32_t nr = emb_read(chip, NEURON_CTL_NR_LINKS), i;

	for (i = 0; i < nr; i++) {
		uint64_t regs = NEURON_CTL_LINK(i);

		info[i] = (struct drm_neuron_link_info){
			.peer = emb_read(chip, regs + NEURON_CTL_LINK_PEER),
			.state = emb_read(chip, regs + NEURON_CTL_LINK_STATE),
			.width = emb_read(chip, regs + NEURON_CTL_LINK_WIDTH),
			.mbps = emb_read(chip, regs + NEURON_CTL_LINK_MBPS),
		};
	}
	return answer(query, info, sizeof(info[0]), nr);
}

static int query_clocks(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	const struct drm_neuron_clock_info info = {
		.device_ns = emb_read64(chip, NEURON_CTL_TIME),
		.host_ns = nrt_clock_now(),
		.engine_khz = chip->gen->clock_khz[NEURON_ENGINE_SCALAR],
		.throttle = emb_read(chip, NEURON_CTL_THROTTLE),
	};

	return answer(query, &info, sizeof(info), 1);
}

static int query_limits(struct drm_neuron_query *query)
{
	const struct drm_neuron_limits_info info = {
		.queued_jobs = EMB_QUEUE,
		.gang_jobs = NEURON_JOB_MAX_GANG,
		.job_queues = NEURON_JOB_MAX_QUEUES,
		.windows = NEURON_MAX_WINDOWS,
		.wait_jobs = EMB_WAIT_JOBS,
		.results = EMB_RESULTS,
		.post_entries = EMB_POSTS,
		.grants = EMB_IMPORTS,
		.job_timeout_ms = EMB_LIMIT_MS,
		.job_timeout_max_ms = EMB_LIMIT_MAX_MS,
		.job_timeout_cap = EMB_LIMIT_CAP,
		.claim_memory = UINT64_MAX,
		.user_memory = UINT64_MAX,
	};

	return answer(query, &info, sizeof(info), 1);
}

static int emb_query(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	if (emb_forked(chip))
		return -ENODEV;
	if (query->pad)
		return -EINVAL;
	switch (query->type) {
	case DRM_NEURON_QUERY_DEVICE:
		return query_device(chip, query);
	case DRM_NEURON_QUERY_MEMORY:
		return query_memory(chip, query);
	case DRM_NEURON_QUERY_CORES:
		return query_cores(chip, query, 0, chip->gen->nr_cores);
	case DRM_NEURON_QUERY_CC_CORES:
		return query_cores(chip, query, NEURON_MAX_CORES, chip->gen->nr_top_sp_ids);
	case DRM_NEURON_QUERY_LINKS:
		return query_links(chip, query);
	case DRM_NEURON_QUERY_CLOCKS:
		return query_clocks(chip, query);
	case DRM_NEURON_QUERY_LIMITS:
		return query_limits(query);
	default:
		return -EINVAL;
	}
}

static void emb_instance(char *text, size_t size)
{
	snprintf(text, size, "%s", getenv("NEURON_EMU_INSTANCE") ?: "trn2.3xlarge");
}

static int post_check(const struct drm_neuron_array *entries)
{
	const struct drm_neuron_post_entry *entry;
	uint32_t i;
	int ret = 0;

	entry = emb_elements(entries, sizeof(*entry), EMB_POSTS, &ret);
	for (i = 0; i < entries->count && !ret; i++)
		if (entry[i].counter >= DRM_NEURON_NR_STATUS_COUNTERS || entry[i].pad)
			ret = -EINVAL;
	return ret;
}

/* Nobody outside of the process monitors its chips: what is right is dropped. */
static int emb_post(struct nrt_chip *chip, struct drm_neuron_post *post)
{
	struct emb_core *core;
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	ret = post_check(&post->entries);
	if (ret)
		return ret;
	pthread_mutex_lock(&chip->lock);
	ret = emb_core_use(chip, post->claim, post->core, &core);
	if (!ret && emb_is_cc(core))
		ret = -EINVAL;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

const struct nrt_backend nrt_backend_embedded = {
	.name = "embedded",
	.runs_jobs = true,
	.open_all = emb_open_all,
	.close = emb_close,
	.path = emb_path,
	.revision = emb_revision,
	.instance = emb_instance,
	.hbm_map = emb_hbm_map,
	.query = emb_query,
	.claim = emb_claim,
	.release = emb_release,
	.bo_create = emb_bo_create,
	.bo_info = emb_bo_info,
	.bo_close = emb_bo_close,
	.bo_map = emb_bo_map,
	.bo_unmap = emb_bo_unmap,
	.bo_export = emb_bo_export,
	.bo_import = emb_bo_import,
	.copy = emb_copy,
	.windows = emb_windows,
	.grant = emb_grant,
	.grant_import = emb_grant_import,
	.grant_close = emb_grant_close,
	.submit = emb_submit,
	.series = emb_series,
	.series_import = emb_series_import,
	.series_close = emb_series_close,
	.submit_timed = emb_submit_timed,
	.settled = emb_settled,
	.wait = emb_wait,
	.cancel = emb_cancel,
	.post = emb_post,
	.dump = emb_dump,
	.reports = emb_reports,
	.unwritten = emb_unwritten,
};
