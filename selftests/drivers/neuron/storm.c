// SPDX-License-Identifier: MIT
/*
 * Jobs of all kinds, by chance.
 */
#include <stdlib.h>
#include <unistd.h>

#include "neuron_test.h"
#include "storm.h"

/* Bytes of the copy of STORM_WORK. */
#define WORK_BYTES	65000

unsigned int storm_dice(unsigned int sides)
{
	return (unsigned int)rand() % sides;
}

void storm_emit(struct rig *rig, enum storm_job kind)
{
	enum neuron_engine engine = storm_dice(NEURON_NR_ENGINES);
	struct neuron_inst *inst;

	if (rig_is_cc(rig))
		engine = NEURON_ENGINE_SYNC;
	rig_clear(rig);
	switch (kind) {
	case STORM_SPIN:
		rig_loop(rig, engine, 0);
		break;
	case STORM_FAULT:
		rig_emit(rig, engine, 0xee);
		break;
	case STORM_WAIT:
		inst = rig_emit(rig, engine, NEURON_OP_NOP);
		inst->sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE);
		inst->wait_value = 1;
		rig_halt(rig, engine);
		break;
	default:
		rig_copy(rig, engine, neuron_window_addr(RIG_WINDOW_SBUF, 0),
			 neuron_window_addr(RIG_WINDOW_DATA, 0), WORK_BYTES);
		rig_halt(rig, engine);
		break;
	}
}

/* A window far up in the table, another one each time. */
static void rebind(struct rig *rig)
{
	const struct drm_neuron_window window = {
		.index = RIG_WINDOW_FREE + storm_dice(5000),
		.kind = DRM_NEURON_WINDOW_PSUM,
		.rights = DRM_NEURON_WINDOW_READ,
	};

	rig_windows(rig, &window, 1);
}

static void reset(struct rig *rig)
{
	struct drm_neuron_reset args = {
		.claim = rig->claim,
		.core = rig->core,
	};

	neuron_ioctl(rig->fd, DRM_IOCTL_NEURON_RESET, &args);
}

bool storm_one_job(struct rig *rig)
{
	enum storm_job kind = storm_dice(NR_STORM_JOBS);
	struct drm_neuron_wait_job result;
	int64_t job;
	int ret;

	storm_emit(rig, kind);
	job = rig_start(rig, 1 + storm_dice(40));
	if (job < 0)
		return false;
	if (storm_dice(3))
		rig_start(rig, 1 + storm_dice(40));
	rebind(rig);
	if (!storm_dice(10))
		reset(rig);
	if (!storm_dice(2))
		return true;
	ret = rig_wait(rig, (uint64_t)job, storm_dice(200), &result);
	if (ret)
		return ret == -ETIMEDOUT;
	/* ABORTED: by the reset, or by a limit of 1 ms on a busy host. */
	if (result.status == NEURON_JOB_OK)
		return kind == STORM_WORK && result.dma_bytes == WORK_BYTES;
	if (result.status == NEURON_JOB_ERROR)
		return kind == STORM_FAULT && result.cause == NEURON_CAUSE_OPCODE;
	return result.status == NEURON_JOB_ABORTED;
}
