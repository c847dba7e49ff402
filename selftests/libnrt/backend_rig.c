// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend_rig.h"
#include "neuron/isa.h"
#include "neuron/window.h"

#define NS		1000000000ll
#define NO_OPCODE	0xff

int64_t backend_in_ms(int64_t ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS + now.tv_nsec + ms * 1000000;
}

int backend_query(struct backend_rig *rig, uint32_t type, void *elements, uint32_t size,
		  uint32_t count)
{
	struct drm_neuron_query query = {
		.type = type,
		.answer = { .pointer = (uintptr_t)elements, .count = count, .stride = size },
	};

	return rig->backend->query(rig->chip, &query);
}

int backend_claim(struct backend_rig *rig, uint64_t mask, uint32_t *claim)
{
	struct drm_neuron_claim args = { .cores = mask };
	int ret = rig->backend->claim(rig->chip, &args);

	*claim = args.claim;
	return ret;
}

int backend_release(struct backend_rig *rig, uint32_t claim)
{
	struct drm_neuron_release args = { .claim = claim };

	return rig->backend->release(rig->chip, &args);
}

int backend_buffer(struct backend_rig *rig, uint32_t placement, uint64_t size, uint32_t *handle)
{
	struct drm_neuron_bo_create args = { .placement = placement, .size = size };
	int ret = rig->backend->bo_create(rig->chip, &args);

	*handle = args.handle;
	return ret;
}

static int move(struct backend_rig *rig, uint32_t direction, uint32_t handle, uint64_t offset,
		uintptr_t user, uint64_t size)
{
	struct drm_neuron_copy args = {
		.direction = direction,
		.handle = handle,
		.offset = offset,
		.user = user,
		.size = size,
	};

	return rig->backend->copy(rig->chip, &args);
}

int backend_write(struct backend_rig *rig, uint32_t handle, uint64_t offset, const void *data,
		  uint64_t size)
{
	return move(rig, DRM_NEURON_COPY_TO_DEVICE, handle, offset, (uintptr_t)data, size);
}

int backend_read(struct backend_rig *rig, uint32_t handle, uint64_t offset, void *data,
		 uint64_t size)
{
	return move(rig, DRM_NEURON_COPY_FROM_DEVICE, handle, offset, (uintptr_t)data, size);
}

static int load_programs(struct backend_rig *rig)
{
	struct neuron_inst image[BACKEND_PROGRAMS][BACKEND_IMAGE / sizeof(struct neuron_inst)];
	int ret;

	memset(image, 0, sizeof(image));
	image[HALTS][0].opcode = NEURON_OP_HALT;
	image[SPINS][0].opcode = NEURON_OP_BRANCH;
	image[SPINS][0].op0 = NEURON_ALU_BYPASS;
	image[BREAKS][0].opcode = NO_OPCODE;
	ret = backend_buffer(rig, DRM_NEURON_BO_HBM, sizeof(image), &rig->image);
	return ret ? ret : backend_write(rig, rig->image, 0, image, sizeof(image));
}

static int begin(struct backend_rig *rig)
{
	int ret;

	ret = backend_query(rig, DRM_NEURON_QUERY_DEVICE, &rig->info, sizeof(rig->info), 1);
	if (!ret)
		ret = backend_query(rig, DRM_NEURON_QUERY_LIMITS, &rig->limits,
				    sizeof(rig->limits), 1);
	if (ret)
		return ret;
	rig->cc = rig->info.first_cc_core;
	ret = backend_claim(rig, 1, &rig->claim);
	return ret ? ret : load_programs(rig);
}

int backend_open(struct backend_rig *rig)
{
	const char *name = getenv("NEURON_RT_BACKEND");
	struct nrt_error error = { 0 };
	int ret;

	memset(rig, 0, sizeof(*rig));
	rig->backend = name && !strcmp(name, "embedded") ? &nrt_backend_embedded :
							   &nrt_backend_drm;
	if (rig->backend->open_all(&rig->chips, &rig->count, &error)) {
		fprintf(stderr, "# %s: %s\n", rig->backend->name, error.text);
		return -1;
	}
	rig->chip = rig->chips[0];
	ret = begin(rig);
	if (ret)
		backend_close(rig);
	return ret;
}

void backend_close(struct backend_rig *rig)
{
	unsigned int i;

	for (i = 0; i < rig->count; i++)
		rig->backend->close(rig->chips[i]);
	free(rig->chips);
}

struct drm_neuron_job backend_job(struct backend_rig *rig, uint32_t core,
				  enum backend_program program, uint32_t timeout_ms,
				  struct backend_parts *parts)
{
	parts->window = (struct drm_neuron_window){
		.kind = DRM_NEURON_WINDOW_BO,
		.rights = DRM_NEURON_WINDOW_READ,
		.handle = rig->image,
		.length = BACKEND_PROGRAMS * BACKEND_IMAGE,
	};
	parts->start = (struct drm_neuron_start){
		.addr = neuron_window_addr(0, program * BACKEND_IMAGE),
		.count = 1,
		.engine = NEURON_ENGINE_SYNC,
	};
	return (struct drm_neuron_job){
		.core = core,
		.starts = ARRAY_OF(&parts->start),
		.windows = ARRAY_OF(&parts->window),
		.timeout_ms = timeout_ms,
	};
}

int backend_submit(struct backend_rig *rig, uint32_t core, enum backend_program program,
		   uint32_t timeout_ms, uint64_t *job)
{
	struct backend_parts parts;
	const struct drm_neuron_job args = backend_job(rig, core, program, timeout_ms, &parts);
	struct drm_neuron_submit call = { .claim = rig->claim, .jobs = ARRAY_OF(&args) };
	int ret = rig->backend->submit(rig->chip, &call);

	*job = call.job;
	return ret;
}

int backend_submit_pair(struct backend_rig *rig, enum backend_program first,
			enum backend_program second, uint32_t timeout_ms, uint64_t *job)
{
	struct backend_parts parts[2];
	const struct drm_neuron_job jobs[2] = {
		backend_job(rig, 0, first, BACKEND_LIMIT_S * 1000, &parts[0]),
		backend_job(rig, rig->cc, second, timeout_ms, &parts[1]),
	};
	struct drm_neuron_submit call = {
		.claim = rig->claim,
		.flags = DRM_NEURON_SUBMIT_GANG,
		.jobs = ARRAY_OF_ALL(jobs),
	};
	int ret = rig->backend->submit(rig->chip, &call);

	*job = call.job;
	return ret;
}

int backend_wait(struct backend_rig *rig, uint32_t core, uint64_t job, int64_t deadline,
		 struct drm_neuron_wait_job *result)
{
	struct drm_neuron_wait wait = { .deadline_ns = deadline, .jobs = ARRAY_OF(result) };

	*result = (struct drm_neuron_wait_job){ .claim = rig->claim, .core = core, .job = job };
	return rig->backend->wait(rig->chip, &wait);
}

int backend_end(struct backend_rig *rig, uint32_t core, uint64_t job,
		struct drm_neuron_wait_job *result)
{
	return backend_wait(rig, core, job, backend_in_ms(BACKEND_LIMIT_S * 1000), result);
}

int backend_cancel(struct backend_rig *rig, uint32_t core, uint64_t job)
{
	struct drm_neuron_cancel args = { .claim = rig->claim, .core = core, .job = job };

	return rig->backend->cancel(rig->chip, &args);
}

static void *wait_long(void *arg)
{
	struct backend_waiter *waiter = arg;

	waiter->ret = backend_end(waiter->rig, 0, waiter->job, &waiter->result);
	return NULL;
}

void backend_waiter_start(struct backend_waiter *waiter, struct backend_rig *rig, uint64_t job)
{
	*waiter = (struct backend_waiter){ .rig = rig, .job = job };
	pthread_create(&waiter->thread, NULL, wait_long, waiter);
}
