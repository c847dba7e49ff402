// SPDX-License-Identifier: MIT
/*
 * Many jobs in a row: none is lost, none runs twice.
 */
#include <string.h>

#include "kselftest_harness.h"
#include "neuron/generation.h"
#include "neuron_test.h"
#include "pipeline.h"

#define JOBS	3000

FIXTURE(pipeline) {
	struct rig rig;
	struct rig_usage before;
	int fd;
};

FIXTURE_SETUP(pipeline)
{
	self->fd = neuron_open(0);
	if (self->fd < 0)
		SKIP(return, "no neuron device");
	rig_usage(self->fd, &self->before);
	ASSERT_GE(self->before.live, 0) TH_LOG("debugfs must be mounted");
	ASSERT_EQ(0, rig_open(&self->rig, 0, RIG_ANY_CORE));
	rig_clear(&self->rig);
}

FIXTURE_TEARDOWN(pipeline)
{
	rig_close(&self->rig);
	if (self->fd < 0)
		return;
	EXPECT_FALSE(rig_leaks(self->fd, &self->before));
	close(self->fd);
}

/* data[0] += 1, by @engine. */
static void emit_count(struct rig *rig, enum neuron_engine engine)
{
	struct neuron_inst *inst;

	inst = rig_emit(rig, engine, NEURON_OP_REG_LOAD);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	inst = rig_emit(rig, engine, NEURON_OP_REG_ALU);
	inst->op0 = NEURON_ALU_ADD;
	inst->reg[0] = 1;
	inst->reg[1] = 1;
	inst->flags = NEURON_INST_IMM;
	inst->imm0 = 1;
	inst = rig_emit(rig, engine, NEURON_OP_REG_STORE);
	inst->reg[0] = 1;
	inst->addr = neuron_window_addr(RIG_WINDOW_DATA, 0);
	rig_halt(rig, engine);
}

static uint64_t core_jobs(int fd, uint32_t core)
{
	struct drm_neuron_core_info info[NEURON_MAX_CORES] = { 0 };

	if (neuron_query(fd, DRM_NEURON_QUERY_CORES, info, sizeof(info)))
		return 0;
	return info[core].jobs;
}

TEST_F(pipeline, none_is_lost)
{
	uint64_t before = core_jobs(self->fd, self->rig.core);
	struct pipeline pipeline;
	uint32_t count;

	emit_count(&self->rig, NEURON_ENGINE_SYNC);
	pipeline_run(&self->rig, JOBS, &pipeline);
	EXPECT_EQ(0, pipeline.error);
	EXPECT_EQ(JOBS, pipeline.submitted);
	EXPECT_EQ(JOBS, pipeline.ended);
	EXPECT_EQ(JOBS, pipeline.good);
	EXPECT_EQ(JOBS, core_jobs(self->fd, self->rig.core) - before);
	memcpy(&count, self->rig.data, sizeof(count));
	EXPECT_EQ(JOBS, count);
}

TEST_HARNESS_MAIN
