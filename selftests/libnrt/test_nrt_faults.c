// SPDX-License-Identifier: MIT
/*
 * Hardware that fails: the status that each failure has, and that the core works afterwards. The
 * chips are in this process, also where there is a driver: they can be told to fail.
 */
#include <pthread.h>
#include <time.h>

#include "kselftest_harness.h"

#include "rig.h"

FIXTURE(fault)
{
	struct rig rig;
	nrt_tensor_t *first;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

/* With the chips as they are told to be. */
static NRT_STATUS init_with(const char *name, const char *fault)
{
	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_INSTANCE", "trn2:2", 0);
	setenv("NEURON_RT_EXEC_TIMEOUT", "2", 1);
	setenv(name, fault, 1);
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

FIXTURE_VARIANT(fault)
{
	const char *text;
	bool tensor_first;	/* x is what lies at the start of the stack, else the code */
	bool stays;		/* the fault strikes again */
	NRT_STATUS status;
	const char *words;
};

FIXTURE_VARIANT_ADD(fault, memory_of_a_tensor) {
	.text = "0:ecc,offset=0",
	.tensor_first = true,
	.stays = true,
	.status = NRT_EXEC_HW_ERR_HBM_UE,
	.words = "queue \"q_in\", source descriptor 0: uncorrectable memory error",
};

FIXTURE_VARIANT_ADD(fault, memory_of_code) {
	.text = "0:ecc,offset=0",
	.stays = true,
	.status = NRT_EXEC_HW_ERR_NC_UE,
	.words = "vector engine, pc 0: uncorrectable memory error",
};

FIXTURE_VARIANT_ADD(fault, dma_abort) {
	.text = "0:dma-abort,count=1",
	.status = NRT_EXEC_HW_ERR_DMA_ABORT,
	.words = "queue \"q_in\"",
};

FIXTURE_VARIANT_ADD(fault, broken_record) {
	.text = "0:record-flip,offset=0,mask=0xffff,count=1",
	.status = NRT_HW_ERROR,
	.words = "aborted by a reset",
};

FIXTURE_VARIANT_ADD(fault, lost_packet) {
	.text = "0:dma-lost,count=1",
	.status = NRT_TIMEOUT,
	.words = "no progress until the time limit",
};

FIXTURE_SETUP(fault)
{
	ASSERT_EQ(NRT_SUCCESS, init_with("NEURON_EMU_FAULT", variant->text));
	if (variant->tensor_first)
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
							   PROGRAM_BYTES, "x", &self->first));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	if (variant->tensor_first)
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x",
								    self->first));
	rig_ramp(self->x, 1.0f);
}

FIXTURE_TEARDOWN(fault)
{
	rig_unload(&self->rig);
	nrt_tensor_free(&self->first);
	nrt_close();
}

TEST_F_TIMEOUT(fault, status, 120)
{
	const char *text;

	rig_catch();
	EXPECT_EQ(variant->status, rig_run(&self->rig, self->x, self->y));
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, variant->words)) TH_LOG("%s", text);
	EXPECT_EQ(variant->stays ? variant->status : NRT_SUCCESS,
		  rig_run(&self->rig, self->x, self->y));
}

/* The host waits for what is late. */
TEST(late_packet)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	struct timespec begin, end;
	struct rig rig;
	long ms;

	ASSERT_EQ(NRT_SUCCESS, init_with("NEURON_EMU_FAULT", "0:dma-late,delay=600ms,count=1"));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_scale(1), 0, 0, 0));
	rig_ramp(x, 1.0f);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	clock_gettime(CLOCK_MONOTONIC, &end);
	ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
	EXPECT_LE(600, ms);
	rig_unload(&rig);
	nrt_close();
}

/* The other rank is on a chip that cannot be reached. */
static void *run(void *rig)
{
	float x[RIG_VALUES] = { 0 }, y[RIG_VALUES];

	return (void *)(uintptr_t)rig_run(rig, x, y);
}

TEST(link_that_is_down)
{
	struct rig ranks[2];
	pthread_t thread;
	const char *text;
	uint32_t cores;
	void *other;

	/* Two chips, with links from one to the other. */
	setenv("NEURON_EMU_INSTANCE", "trn2:2", 1);
	ASSERT_EQ(NRT_SUCCESS, init_with("NEURON_EMU_LINK_FAULT", "0-1=down"));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&cores));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&ranks[0], program_pull(), 0, 0, 2));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&ranks[1], program_pull(), (int)(cores / 2), 1, 2));
	rig_catch();
	ASSERT_EQ(0, pthread_create(&thread, NULL, run, &ranks[1]));
	EXPECT_EQ(NRT_EXEC_HW_ERR_COLLECTIVES, (uintptr_t)run(&ranks[0]));
	ASSERT_EQ(0, pthread_join(thread, &other));
	/* Either comes first; the other one may hear of that before it finds out by itself. */
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, ": the fabric does not reach the chip of a peer (\"their_x\" + "))
		TH_LOG("%s", text);
	EXPECT_EQ(NRT_EXEC_HW_ERR_COLLECTIVES, (uintptr_t)other);
	rig_unload(&ranks[0]);
	rig_unload(&ranks[1]);
	nrt_close();
}

static void expect_refused(struct __test_metadata *_metadata, const char *name, const char *text,
			   const char *words)
{
	const char *line;

	rig_catch();
	EXPECT_EQ(NRT_INVALID, init_with(name, text));
	line = rig_caught();
	unsetenv(name);
	EXPECT_TRUE(rig_has(line, name) && rig_has(line, words)) TH_LOG("%s", line);
}

TEST(mistakes)
{
	expect_refused(_metadata, "NEURON_EMU_FAULT", "dma-lost", "the number of a chip");
	expect_refused(_metadata, "NEURON_EMU_FAULT", "99:dma-lost", "chips are 0 to");
	expect_refused(_metadata, "NEURON_EMU_FAULT", "0:dma-lost;0:dam-lost", "dam-lost");
	expect_refused(_metadata, "NEURON_EMU_LINK_FAULT", "0-1=gone", "0-1=gone");
}

TEST_HARNESS_MAIN
