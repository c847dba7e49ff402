// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "contract/job.h"
#include "hw/series.h"
#include "hw/vcore.h"
#include "neuron/regs.h"

/* A position has 8 bits for the rack, and 8 for the server in it. */
#define RACK_SERVERS	256

struct nrt_plan_place nrt_vcore_place(const struct nrt_vcore *vcore)
{
	const struct drm_neuron_device_info *info = &vcore->device->info;

	return (struct nrt_plan_place){
		.server = (uint16_t)(info->rack * RACK_SERVERS + info->server),
		.chip = (uint16_t)info->chip,
		.core = (uint16_t)(vcore->core[0]->index / vcore->nr),
	};
}

enum nrt_plan_topology nrt_topology_of(const struct drm_neuron_link_info *links, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (links[i].peer != NEURON_LINK_PEER_NONE &&
		    links[i].peer & NEURON_LINK_PEER_SWITCH)
			return NRT_PLAN_SWITCH;
	if (nr > 4)
		return NRT_PLAN_TORUS3D;
	if (nr > 2)
		return NRT_PLAN_TORUS2D;
	return nr ? NRT_PLAN_LINE : NRT_PLAN_ANY;
}

enum nrt_plan_topology nrt_vcore_topology(const struct nrt_vcore *vcore)
{
	struct drm_neuron_link_info links[NEURON_CTL_MAX_LINKS] = { 0 };
	unsigned int nr = vcore->device->info.nr_links;
	struct nrt_error ignored;

	if (nr > NEURON_CTL_MAX_LINKS ||
	    nrt_device_query(vcore->device, DRM_NEURON_QUERY_LINKS, links, sizeof(links[0]), nr,
			     &ignored))
		return NRT_PLAN_ANY;
	return nrt_topology_of(links, nr);
}

unsigned int nrt_cc_per_core(const struct drm_neuron_device_info *info, unsigned int lnc)
{
	unsigned int per = info->nr_cc_cores / info->nr_cores, most = NRT_MAX_CC / lnc;

	return per < most ? per : most;
}

/* The physical core, counted in @vcore, whose CC-core does @stream. */
static unsigned int core_of_stream(const struct nrt_vcore *vcore, unsigned int stream)
{
	const struct nrt_core *cc = nrt_vcore_stream_cc(vcore, stream);

	return (unsigned int)(cc - vcore->cc) / nrt_vcore_cc_of_core(vcore);
}

unsigned int nrt_vcore_stream_engine(const struct nrt_vcore *vcore, unsigned int stream)
{
	unsigned int core = core_of_stream(vcore, stream), before = 0, i;

	for (i = 0; i < stream; i++)
		before += core_of_stream(vcore, i) == core;
	return before * NEURON_JOB_DMA_ENGINES / nrt_vcore_cc_of_core(vcore);
}

void nrt_vcore_lock(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc)
{
	unsigned int i;

	for (i = 0; i < vcore->nr; i++)
		pthread_mutex_lock(&vcore->core[i]->lock);
	for (i = 0; cc && i < cc->nr; i++)
		pthread_mutex_lock(&cc->core[i]->lock);
}

void nrt_vcore_unlock(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc)
{
	unsigned int i = cc ? cc->nr : 0;

	while (i--)
		pthread_mutex_unlock(&cc->core[i]->lock);
	for (i = vcore->nr; i--;)
		pthread_mutex_unlock(&vcore->core[i]->lock);
}

/* Whose job @i of a submission is. */
static struct nrt_core *core_of(const struct nrt_vcore *vcore, const struct nrt_cc_cores *cc,
				unsigned int i)
{
	return i < vcore->nr ? vcore->core[i] : cc->core[i - vcore->nr];
}

static unsigned int jobs_of(const struct nrt_vcore *vcore, const struct nrt_cc_cores *cc)
{
	return vcore->nr + (cc ? cc->nr : 0);
}

static NRT_STATUS show_and_submit(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc,
				  struct nrt_view *const *views, struct drm_neuron_submit *submit,
				  const struct nrt_time_place *places, struct nrt_error *error)
{
	struct drm_neuron_job *args = (void *)(uintptr_t)submit->jobs.pointer;
	struct nrt_device *device = vcore->device;
	uint32_t room = NRT_MAX_CHANGES;
	unsigned int i;
	int ret;

	for (i = 0; views && i < submit->jobs.count; i++)
		if (nrt_core_show(core_of(vcore, cc, i), views[i], &args[i], &room, error))
			return error->status;
	ret = nrt_series_submit(device, submit, places);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret), "core %u: cannot submit: %s",
				     vcore->number, strerror(-ret));
	return NRT_SUCCESS;
}

NRT_STATUS nrt_vcore_submit(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc,
			    struct nrt_view *const *views, struct drm_neuron_job *args,
			    const struct nrt_time_place *places, uint64_t *job,
			    struct nrt_error *error)
{
	struct drm_neuron_submit submit = {
		.claim = vcore->device->claim,
		.flags = DRM_NEURON_SUBMIT_GANG,
		.jobs = { sizeof(*args), jobs_of(vcore, cc), (uintptr_t)args },
	};
	unsigned int i;

	for (i = 0; i < submit.jobs.count; i++)
		args[i].core = core_of(vcore, cc, i)->index;
	if (!show_and_submit(vcore, cc, views, &submit, places, error)) {
		*job = submit.job;
		for (i = 0; i < vcore->nr; i++)
			nrt_stats_job_begins(vcore->core[i]->stats, i);
		return NRT_SUCCESS;
	}
	/* Next time all of the tables is written. */
	for (i = 0; i < submit.jobs.count; i++)
		core_of(vcore, cc, i)->resident = NULL;
	return error->status;
}

NRT_STATUS nrt_vcore_wait(struct nrt_vcore *vcore, const struct nrt_cc_cores *cc, uint64_t job,
			  struct drm_neuron_wait_job *wait, struct nrt_error *error)
{
	struct drm_neuron_wait args = {
		.flags = DRM_NEURON_WAIT_ALL,
		.deadline_ns = INT64_MAX,
		.jobs = { sizeof(*wait), jobs_of(vcore, cc), (uintptr_t)wait },
	};
	struct nrt_device *device = vcore->device;
	unsigned int i;
	int ret;

	for (i = 0; i < args.jobs.count; i++)
		wait[i] = (struct drm_neuron_wait_job){
			.claim = device->claim,
			.core = core_of(vcore, cc, i)->index,
			.job = job + i,
		};
	ret = device->backend->wait(device->chip, &args);
	for (i = 0; i < vcore->nr; i++)
		nrt_stats_job_ended(vcore->core[i]->stats, i);
	if (ret)
		return nrt_error_set(error, nrt_status_of_errno(ret),
				     "core %u: cannot wait for job %llu: %s", vcore->number,
				     (unsigned long long)job, strerror(-ret));
	return NRT_SUCCESS;
}

static NRT_STATUS add_scratch(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error)
{
	struct nrt_scratch *scratch = &vcore->scratch;
	struct nrt_bo **bo = reallocarray(scratch->bo, scratch->nr + 1, sizeof(*bo));

	if (!bo)
		return nrt_error_memory(error);
	scratch->bo = bo;
	if (nrt_bo_create(vcore->core[0], bytes, DRM_NEURON_BO_HBM,
			  DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD, &bo[scratch->nr], error))
		return error->status;
	scratch->nr++;
	return NRT_SUCCESS;
}

/* In one piece: a larger one takes the place of the old one. */
static NRT_STATUS grow_piece(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error)
{
	struct nrt_scratch *scratch = &vcore->scratch;

	if (scratch->nr && scratch->bo[0]->size >= bytes)
		return NRT_SUCCESS;
	if (add_scratch(vcore, bytes, error))
		return error->status;
	if (scratch->nr == 1)
		return NRT_SUCCESS;
	nrt_bo_put(scratch->bo[0]);
	scratch->bo[0] = scratch->bo[1];
	scratch->nr = 1;
	return NRT_SUCCESS;
}

static NRT_STATUS grow_pages(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error)
{
	struct nrt_scratch *scratch = &vcore->scratch;
	unsigned int old = scratch->nr;
	NRT_STATUS status = NRT_SUCCESS;

	while (!status && bytes > scratch->nr * scratch->page)
		status = add_scratch(vcore, scratch->page, error);
	while (status && scratch->nr > old)
		nrt_bo_put(scratch->bo[--scratch->nr]);
	return status;
}

NRT_STATUS nrt_vcore_scratch(struct nrt_vcore *vcore, uint64_t bytes, struct nrt_error *error)
{
	NRT_STATUS status;

	if (!bytes)
		return NRT_SUCCESS;
	nrt_vcore_lock(vcore, NULL);
	status = vcore->scratch.page ? grow_pages(vcore, bytes, error) :
				       grow_piece(vcore, bytes, error);
	nrt_vcore_unlock(vcore, NULL);
	return status;
}

NRT_STATUS nrt_vcore_hold_scratch(struct nrt_vcore *vcore, struct nrt_scratch *held,
				  struct nrt_error *error)
{
	const struct nrt_scratch *scratch = &vcore->scratch;

	nrt_scratch_drop(held);
	nrt_vcore_lock(vcore, NULL);
	held->bo = calloc(scratch->nr + 1, sizeof(struct nrt_bo *));
	held->page = scratch->page;
	for (; held->bo && held->nr < scratch->nr; held->nr++)
		held->bo[held->nr] = nrt_bo_get(scratch->bo[held->nr]);
	nrt_vcore_unlock(vcore, NULL);
	return held->bo ? NRT_SUCCESS : nrt_error_memory(error);
}

void nrt_scratch_drop(struct nrt_scratch *held)
{
	while (held->nr)
		nrt_bo_put(held->bo[--held->nr]);
	free(held->bo);
	held->bo = NULL;
}

struct nrt_bo *nrt_scratch_at(const struct nrt_scratch *scratch, uint64_t *offset)
{
	uint64_t page = scratch->page ? *offset / scratch->page : 0;

	*offset -= page * scratch->page;
	return scratch->bo[page];
}

void nrt_vcore_fini(struct nrt_vcore *vcore)
{
	nrt_scratch_drop(&vcore->scratch);
}
