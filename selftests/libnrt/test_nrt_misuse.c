// SPDX-License-Identifier: MIT
/*
 * Handles that are none: each is refused with one line, and nothing is touched.
 */
#include "kselftest_harness.h"

#include <nrt/nrt_async.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_sys_trace.h>
#include <sys/wait.h>

#include "rig.h"

FIXTURE(misuse)
{
	struct rig rig;
	bool ready;
};

FIXTURE_SETUP(misuse)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->ready = true;
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
}

FIXTURE_TEARDOWN(misuse)
{
	if (!self->ready)
		return;
	/* Whatever was tried, what is good still works. */
	EXPECT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
	rig_unload(&self->rig);
	nrt_close();
}

static unsigned int lines(const char *text)
{
	unsigned int count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/* Calls that name a tensor, with @bad in its place; how many do not refuse it. */
static unsigned int accept_tensor(struct rig *rig, void *bad)
{
	nrt_tensor_device_allocation_info_t info;
	nrt_tensor_batch_op_t op = { 0, 4, &info };
	nrt_tensor_batch_t batch = { bad, &op, 1 };
	nrt_tensor_t *slice;
	uint32_t word;
	nrta_seq_t seq;
	const NRT_STATUS statuses[] = {
		nrt_tensor_read(bad, &word, 0, 4),
		nrt_tensor_write(bad, &word, 0, 4),
		nrt_tensor_memset(bad, 0, 0, 4),
		nrt_tensor_copy(bad, 0, rig->y, 0, 4),
		nrt_tensor_copy(rig->x, 0, bad, 0, 4),
		nrt_tensor_read_batch(&batch, 1, false),
		nrt_tensor_write_batch(&batch, 1, true),
		nrt_tensor_attach_buffer(bad, &word, 4),
		nrt_tensor_allocate_slice(bad, 0, 4, "s", &slice),
		nrt_tensor_get_device_allocation_info(bad, &info),
		nrt_add_tensor_to_tensor_set(rig->inputs, "z", bad),
		nrta_tensor_read(&word, bad, 0, 4, 0, NULL, &seq),
		nrta_tensor_write(bad, &word, 0, 4, 0, NULL, &seq),
		nrta_tensor_copy(bad, 0, rig->y, 0, 4, 0, NULL, &seq),
		nrta_tensor_copy(rig->x, 0, bad, 0, 4, 0, NULL, &seq),
	};
	unsigned int accepted = 0;
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		accepted += statuses[i] != NRT_INVALID_HANDLE;
	accepted += nrt_tensor_get_size(bad) != 0;
	accepted += !!nrt_tensor_get_va(bad);
	return accepted;
}

#define NR_TENSOR_CALLS	15

static unsigned int accept_model(struct rig *rig, void *bad)
{
	nrt_tensor_info_array_t *infos;
	nrt_emu_execution_t execution;
	nrt_model_info_t info;
	uint32_t count;
	char text[8];
	nrta_seq_t seq;
	const NRT_STATUS statuses[] = {
		nrt_execute(bad, rig->inputs, rig->outputs),
		nrt_execute_repeat(bad, rig->inputs, rig->outputs, 2),
		nrta_execute_schedule(bad, rig->inputs, rig->outputs, 0, NULL, &seq),
		nrt_get_model_vnc_count(bad, &count),
		nrt_get_model_instance_count(bad, &count),
		nrt_get_model_tensor_info(bad, &infos),
		nrt_get_model_info(bad, &info, sizeof(info), NULL),
		nrt_emu_get_last_execution(bad, &execution, sizeof(execution)),
		nrt_emu_get_last_error(bad, text, sizeof(text)),
		nrt_emu_set_trace(bad, 1),
		nrt_unload(bad),
	};
	unsigned int accepted = 0;
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		accepted += statuses[i] != NRT_INVALID_HANDLE;
	return accepted;
}

#define NR_MODEL_CALLS	11

static unsigned int accept_set(struct rig *rig, void *bad)
{
	nrt_tensor_t *tensor;
	nrta_seq_t seq;
	const NRT_STATUS statuses[] = {
		nrt_execute(rig->model, bad, rig->outputs),
		nrt_execute(rig->model, rig->inputs, bad),
		nrta_execute_schedule(rig->model, bad, rig->outputs, 0, NULL, &seq),
		nrta_execute_schedule(rig->model, rig->inputs, bad, 0, NULL, &seq),
		nrt_add_tensor_to_tensor_set(bad, "x", rig->x),
		nrt_get_tensor_from_tensor_set(bad, "x", &tensor),
	};
	unsigned int accepted = 0;
	size_t i;

	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		accepted += statuses[i] != NRT_INVALID_HANDLE;
	return accepted;
}

#define NR_SET_CALLS	6

/* Values that a confused program may have. */
TEST_F(misuse, values_that_are_no_handles)
{
	static const uintptr_t values[] = {
		1, 8, 0x7fffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x80ffffff00000010,
		0xdeadbeefdeadbeef,
	};
	unsigned int i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		void *bad = (void *)values[i];

		rig_catch();
		EXPECT_EQ(0, accept_tensor(&self->rig, bad)) TH_LOG("%p", bad);
		EXPECT_EQ(0, accept_model(&self->rig, bad)) TH_LOG("%p", bad);
		EXPECT_EQ(0, accept_set(&self->rig, bad)) TH_LOG("%p", bad);
		EXPECT_EQ(NR_TENSOR_CALLS + NR_MODEL_CALLS + NR_SET_CALLS, lines(rig_caught()))
			TH_LOG("%p: one line for each call", bad);
	}
}

TEST_F(misuse, wrong_kinds)
{
	rig_catch();
	EXPECT_EQ(0, accept_tensor(&self->rig, self->rig.model));
	EXPECT_EQ(0, accept_tensor(&self->rig, self->rig.inputs));
	EXPECT_EQ(0, accept_model(&self->rig, self->rig.x));
	EXPECT_EQ(0, accept_set(&self->rig, self->rig.x));
	EXPECT_TRUE(rig_has(rig_caught(), "is no tensor"));
}

/* Its own memory, which the library must not read. */
TEST_F(misuse, addresses_of_the_program)
{
	char local[64] = "not a handle";

	rig_catch();
	EXPECT_EQ(0, accept_tensor(&self->rig, local));
	EXPECT_EQ(0, accept_model(&self->rig, &self->rig));
	EXPECT_EQ(0, accept_set(&self->rig, (void *)accept_set));
	rig_caught();
}

TEST_F(misuse, freed_twice)
{
	nrt_tensor_t *tensor, *again;
	nrt_tensor_set_t *set, *set_again;
	nrta_error_tracker_t *tracker;
	struct rig rig;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64, "t",
						   &tensor));
	ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&set));
	ASSERT_EQ(NRT_SUCCESS, nrta_error_tracker_create(0, &tracker));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&rig, program_scale(1), 0, 0, 0));
	again = tensor;
	set_again = set;
	rig_catch();
	nrt_tensor_free(&tensor);
	EXPECT_EQ(NULL, tensor);
	nrt_tensor_free(&again);
	nrt_destroy_tensor_set(&set);
	nrt_destroy_tensor_set(&set_again);
	nrta_error_tracker_destroy(tracker);
	nrta_error_tracker_destroy(tracker);
	EXPECT_EQ(NRT_SUCCESS, nrt_unload(rig.model));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_unload(rig.model));
	EXPECT_EQ(4, lines(rig_caught()));
	rig.model = NULL;
	rig_unload(&rig);
	/* Nothing to free is not an error. */
	nrt_tensor_free(NULL);
	nrt_tensor_free(&tensor);
	nrt_destroy_tensor_set(&set);
	nrta_error_tracker_destroy(NULL);
}

/* Answers that a program reads itself have addresses; those that it does not have are refused. */
TEST_F(misuse, answers_freed_twice)
{
	nrt_tensor_info_array_t *infos, *copy;
	char *text, local[] = "{}";
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(self->rig.model, &infos));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(self->rig.model, &copy));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	rig_catch();
	nrt_sys_trace_buffer_free((char *)infos);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_free_model_tensor_info((void *)text));
	EXPECT_EQ(NRT_SUCCESS, nrt_free_model_tensor_info(infos));
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_free_model_tensor_info(infos));
	nrt_sys_trace_buffer_free(text);
	nrt_sys_trace_buffer_free(text);
	nrt_sys_trace_buffer_free(local);
	EXPECT_EQ(5, lines(rig_caught()));
	/* What another one has is not lost. */
	EXPECT_EQ(2, copy->tensor_count);
	EXPECT_EQ(NRT_SUCCESS, nrt_free_model_tensor_info(copy));
	EXPECT_EQ(NRT_SUCCESS, nrt_free_model_tensor_info(NULL));
	nrt_sys_trace_buffer_free(NULL);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

/* The slot of a handle is used again; the old handle stays wrong. */
TEST_F(misuse, old_handles)
{
	nrt_tensor_t *old, *copy, *tensor;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64, "t",
						   &old));
	copy = old;
	nrt_tensor_free(&copy);
	rig_catch();
	for (i = 0; i < 3000; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64,
							   "t", &tensor));
		EXPECT_NE(old, tensor);
		if (i % 1000 == 0)
			EXPECT_EQ(0, accept_tensor(&self->rig, old));
		nrt_tensor_free(&tensor);
	}
	rig_caught();
}

TEST_F(misuse, freed_in_a_set)
{
	nrt_tensor_t *x = self->rig.x, *found;

	nrt_tensor_free(&x);
	rig_catch();
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_execute(self->rig.model, self->rig.inputs,
						  self->rig.outputs));
	EXPECT_TRUE(rig_has(rig_caught(), "tensor \"x\" was freed while it was in the set"));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_tensor_from_tensor_set(self->rig.inputs, "x", &found));
	EXPECT_EQ(self->rig.x, found);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, PROGRAM_BYTES,
						   "x", &self->rig.x));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", self->rig.x));
}

/* The child of a fork has no library; the parent does not notice. */
TEST_F(misuse, fork)
{
	nrt_tensor_t *tensor;
	int child, status;

	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		bool good;

		rig_catch();
		good = nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs) ==
			       NRT_UNINITIALIZED &&
		       nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 64, "t", &tensor) ==
			       NRT_UNINITIALIZED;
		/* What it frees is not there; what it closes was never open. */
		nrt_tensor_free(&self->rig.x);
		nrt_close();
		good &= rig_has(rig_caught(), "before nrt_init()");
		_exit(good ? 0 : 1);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
	EXPECT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs, self->rig.outputs));
}

TEST_HARNESS_MAIN
