// SPDX-License-Identifier: MIT
/*
 * Logical cores of two physical ones: which are there, programs for both, and what is told when
 * one of the two fails.
 */
#include <math.h>

#include "kselftest_harness.h"

#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>

#include "rig.h"

#define EVENTS	4096

static NRT_STATUS init(void)
{
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

static void set_lnc(const char *lnc)
{
	setenv("NEURON_LOGICAL_NC_CONFIG", lnc, 1);
}

/* Trainium1 and Inferentia2 have none. Chips that cannot be asked are a failure. */
static NRT_STATUS have_pairs(bool *pairs)
{
	nrt_instance_info_t info = { 0 };
	NRT_STATUS status = nrt_get_instance_info(&info, sizeof(info));

	*pairs = !strstr(info.arch_name, "v2");
	return status;
}

FIXTURE(lnc)
{
	uint32_t physical;
	bool pairs;
};

FIXTURE_SETUP(lnc)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_lnc("1");
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&self->physical));
	ASSERT_EQ(NRT_SUCCESS, have_pairs(&self->pairs));
}

FIXTURE_TEARDOWN(lnc)
{
	nrt_close();
}

/* Chips with pairs, which are what is asked for. */
FIXTURE(pair)
{
	bool pairs;
};

FIXTURE_SETUP(pair)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_lnc("1");
	ASSERT_EQ(NRT_SUCCESS, have_pairs(&self->pairs));
	if (!self->pairs)
		SKIP(return, "these chips have no pairs");
	set_lnc("2");
}

FIXTURE_TEARDOWN(pair)
{
	nrt_close();
}

/* Pairs are usual where there are any. */
TEST_F(lnc, usual)
{
	uint32_t count;

	unsetenv("NEURON_LOGICAL_NC_CONFIG");
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&count));
	EXPECT_EQ(self->pairs ? self->physical / 2 : self->physical, count);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(self->pairs ? self->physical / 2 : self->physical, count);
}

TEST_F(lnc, no_pairs)
{
	const char *line;

	if (self->pairs)
		SKIP(return, "these chips have pairs");
	set_lnc("2");
	rig_catch();
	EXPECT_EQ(NRT_INVALID, init());
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, "make no pairs")) TH_LOG("%s", line);
}

/* Numbers are those of logical cores: core 1 is the second pair. */
TEST_F(pair, visible)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	uint32_t count;
	struct rig rig;

	setenv("NEURON_RT_VISIBLE_CORES", "1-2", 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	EXPECT_EQ(2, count);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 1, 0, 0));
	rig_ramp(x, 1);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	EXPECT_EQ(2 * x[RIG_VALUES - 1] + 1, y[RIG_VALUES - 1]);
	rig_unload(&rig);
}

/* A program for the other size of cores is refused by name. */
TEST_F(lnc, mismatch)
{
	struct program pair = program_pair(), single = program_scale(1);
	nrt_model_t *model;
	const char *line;

	set_lnc(self->pairs ? "2" : "1");
	ASSERT_EQ(NRT_SUCCESS, init());
	rig_catch();
	EXPECT_EQ(NRT_UNSUPPORTED_NEFF_VERSION,
		  self->pairs ? nrt_load(single.data, single.size, 0, 1, &model) :
				nrt_load(pair.data, pair.size, 0, 1, &model));
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, self->pairs ? "\"scale\" is made for LNC 1" :
						"\"pair\" is made for LNC 2"))
		TH_LOG("%s", line);
	EXPECT_TRUE(rig_has(line, self->pairs ? "NEURON_LOGICAL_NC_CONFIG=1" : "--lnc 1"))
		TH_LOG("%s", line);
	free(pair.data);
	free(single.data);
}

static void run_pair(struct rig *rig, unsigned int turns, struct __test_metadata *_metadata)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int turn, i;

	for (turn = 0; turn < turns; turn++) {
		rig_ramp(x, (float)turn);
		ASSERT_EQ(NRT_SUCCESS, rig_run(rig, x, y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * x[i] + 1, y[i]);
	}
}

/* Each core computes a half, and the other one stores it: SBUF and semaphores are shared. */
TEST_F(pair, both_compute)
{
	nrt_emu_execution_t execution;
	struct rig rig;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
	run_pair(&rig, 20, _metadata);
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(rig.model, &execution,
							  sizeof(execution)));
	/* Six instructions of each program, at least; what both moved. */
	EXPECT_LE(12, execution.instructions);
	EXPECT_LE(3 * PROGRAM_BYTES, execution.dma_bytes);
	rig_unload(&rig);
}

/* Both see one scratchpad, and a transfer of one core increments a semaphore of the other one. */
TEST_F(pair, scratchpad)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	struct rig rig;
	unsigned int turn;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_exchange(), 0, 0, 0));
	for (turn = 0; turn < 20; turn++) {
		rig_ramp(x, (float)turn);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
		ASSERT_EQ(0, memcmp(x, y, sizeof(x)));
	}
	rig_unload(&rig);
}

/* Each of three exchanges waits until the other core has used the tile of the one before. */
TEST_F(pair, sendrecv)
{
	const size_t half = RIG_VALUES / 2;
	float x[RIG_VALUES], y[RIG_VALUES];
	struct rig rig;
	unsigned int turn;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_sendrecv(), 0, 0, 0));
	for (turn = 0; turn < 5; turn++) {
		rig_ramp(x, (float)turn);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
		ASSERT_EQ(0, memcmp(x, y + half, half * sizeof(*x)));
		ASSERT_EQ(0, memcmp(x + half, y, half * sizeof(*x)));
	}
	rig_unload(&rig);
}

/* Tensors that are not on the device are copied once for both. */
TEST_F(pair, host_tensors)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	nrt_tensor_t *host_x, *host_y;
	struct rig rig;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("x", &host_x));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("y", &host_y));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_attach_buffer(host_x, x, sizeof(x)));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_attach_buffer(host_y, y, sizeof(y)));
	rig_ramp(x, 3);
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(rig.inputs, "x", host_x));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(rig.outputs, "y", host_y));
	ASSERT_EQ(NRT_SUCCESS, nrt_execute(rig.model, rig.inputs, rig.outputs));
	for (i = 0; i < RIG_VALUES; i++)
		ASSERT_EQ(2 * x[i] + 1, y[i]);
	nrt_tensor_free(&host_x);
	nrt_tensor_free(&host_y);
	rig_unload(&rig);
}

/* Inputs and outputs have one entry each, although both programs have them. */
TEST_F(pair, tensor_info)
{
	nrt_tensor_info_array_t *info;
	struct rig rig;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(rig.model, &info));
	EXPECT_EQ(2, info->tensor_count);
	EXPECT_STREQ("x", info->tensor_array[0].name);
	EXPECT_STREQ("y", info->tensor_array[1].name);
	nrt_free_model_tensor_info(info);
	rig_unload(&rig);
}

/* The trace has events of both, in the order of their ends. */
TEST_F(pair, trace)
{
	static nrt_emu_event_t events[EVENTS];
	size_t count = EVENTS, of[2] = { 0 }, i;
	struct rig rig;
	uint64_t lost;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_set_trace(rig.model, EVENTS));
	run_pair(&rig, 1, _metadata);
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_trace(rig.model, events, &count, &lost));
	EXPECT_EQ(0, lost);
	ASSERT_GE(EVENTS, count);
	for (i = 0; i < count; i++) {
		ASSERT_GT(2, events[i].flags >> NRT_EMU_CORE_SHIFT);
		of[events[i].flags >> NRT_EMU_CORE_SHIFT]++;
		if (i)
			EXPECT_LE(events[i - 1].end_ns, events[i].end_ns);
	}
	/* Of each: three transfers and more than as many instructions. */
	EXPECT_LT(6, of[0]);
	EXPECT_EQ(of[0], of[1]);
	rig_unload(&rig);
}

/* The second core fails, the first one waits for ever: the line names the second. */
TEST_F(pair, fault)
{
	struct rig rig, good;
	const char *line;

	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_second(PROGRAM_FAULTS), 1, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&good, program_pair(), 1, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_EXEC_OOB, nrt_execute(rig.model, rig.inputs, rig.outputs));
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, "core 1 (physical core 3, sg01)")) TH_LOG("%s", line);
	EXPECT_TRUE(rig_has(line, "\"x\"")) TH_LOG("%s", line);
	/* What is left of one execution does not disturb the next. */
	run_pair(&good, 2, _metadata);
	rig_unload(&good);
	rig_unload(&rig);
}

TEST_F(pair, hang)
{
	const char *line;
	struct rig rig;

	setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_second(PROGRAM_HANGS), 0, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_TIMEOUT, nrt_execute(rig.model, rig.inputs, rig.outputs));
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, "NEURON_RT_EXEC_TIMEOUT")) TH_LOG("%s", line);
	/* The other core was ended with it; the driver keeps nothing of that one. */
	EXPECT_TRUE(rig_has(line, "; sg00: sync engine, pc 0, waits for semaphore 0 to be 1") ||
		    (!rig_embedded() && rig_has(line, "; sg01: ")))
		TH_LOG("%s", line);
	EXPECT_TRUE(rig_has(line, "; sg01: vector engine, pc 0, waits for semaphore 0 to be 1") ||
		    (!rig_embedded() && rig_has(line, "; sg00: ")))
		TH_LOG("%s", line);
	rig_unload(&rig);
}

/* The second core makes a NaN, and the first one stores it. */
TEST_F(pair, numbers)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	const char *line;
	struct rig rig;

	setenv("NEURON_FAIL_ON_NAN", "1", 1);
	ASSERT_EQ(NRT_SUCCESS, init());
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
	rig_ramp(x, 1.0f);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&rig, x, y));
	x[RIG_VALUES - 1] = NAN;
	rig_catch();
	EXPECT_EQ(NRT_EXEC_COMPLETED_WITH_NUM_ERR, rig_run(&rig, x, y));
	line = rig_caught();
	EXPECT_TRUE(rig_has(line, ": sg01: vector engine, pc 0, made the first NaN, at "))
		TH_LOG("%s", line);
	EXPECT_TRUE(rig_has(line, " ns; output \"y\"")) TH_LOG("%s", line);
	EXPECT_TRUE(rig_has(line, "has one in element 255\n")) TH_LOG("%s", line);
	rig_unload(&rig);
}

/* All memory of both parts comes back. */
TEST_F(pair, memory)
{
	struct rig rig;
	unsigned int i;
	size_t used;

	ASSERT_EQ(NRT_SUCCESS, init());
	used = rig_memory(0);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_pair(), 0, 0, 0));
		run_pair(&rig, 1, _metadata);
		rig_unload(&rig);
	}
	EXPECT_TRUE(rig_memory_becomes(0, used));
}

TEST_HARNESS_MAIN
