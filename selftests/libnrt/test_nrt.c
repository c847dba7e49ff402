// SPDX-License-Identifier: MIT
/*
 * Loading and executing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <xf86drm.h>

#include "drm/neuron_accel.h"
#include "kselftest_harness.h"

#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>

#include "rig.h"

TEST(before_init_and_after_close)
{
	nrt_tensor_set_t *set = NULL;
	nrt_tensor_t *tensor = NULL;
	nrt_version_t version;
	uint32_t count;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_allocate_tensor_set(&set));
	EXPECT_EQ(NRT_SUCCESS, nrt_get_version(&version, sizeof(version)));
	EXPECT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&count));
	EXPECT_GE(count, 1);
	EXPECT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&count));
	nrt_close();
	EXPECT_EQ(NRT_UNINITIALIZED, nrt_allocate_tensor_set(&set));

	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	EXPECT_EQ(NRT_INVALID, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 64, NULL,
						   &tensor));
	nrt_close();
	EXPECT_EQ(NRT_CLOSED, nrt_allocate_tensor_set(&set));
	EXPECT_EQ(NRT_CLOSED, nrt_tensor_memset(tensor, 0, 0, 64));
	EXPECT_EQ(NULL, nrt_tensor_get_va(tensor));

	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	EXPECT_EQ(NRT_INVALID, nrt_tensor_memset(tensor, 0, 0, 64))
		TH_LOG("storage of an earlier life must be refused");
	nrt_tensor_free(&tensor);
	nrt_close();
	nrt_close();
}

TEST(instance)
{
	nrt_instance_info_t info = { 0 };

	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_get_instance_info(&info, sizeof(info)));
	EXPECT_NE(NRT_INSTANCE_UNKNOWN, info.family);
	EXPECT_LE(info.family, NRT_INSTANCE_TRN3PDS98);
	EXPECT_EQ(0, strncmp(info.arch_name, "NCv", 3));
	EXPECT_EQ(0, strncmp(info.device_revision, "0x", 2));
}

/* What programs that were linked with the public library ask for. */
TEST(symbol_versions)
{
	static const struct {
		const char *name;
		const char *version;
	} symbols[] = {
		{ "nrt_init", "NRT_2.0.0" },
		{ "nrt_async_sendrecv_init", "NRT_2.0.0" },
		{ "nrta_tensor_read", "NRT_3.0.0" },
		{ "nrta_execute_schedule", "NRT_3.0.0" },
		{ "nrt_emu_set_trace", "NRT_EMU_1.0" },
	};
	void *library = dlopen("libnrt.so.1", RTLD_NOW | RTLD_NOLOAD);
	unsigned int i;

	ASSERT_NE(NULL, library);
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		EXPECT_NE(NULL, dlvsym(library, symbols[i].name, symbols[i].version))
			TH_LOG("%s", dlerror());
	EXPECT_EQ(NULL, dlvsym(library, "nrta_tensor_read", "NRT_2.0.0"));
	dlclose(library);
}

TEST(names_of_statuses)
{
	EXPECT_STREQ("NRT_SUCCESS", nrt_get_status_as_str(NRT_SUCCESS));
	EXPECT_STREQ("NRT_EXEC_OOB", nrt_get_status_as_str(NRT_EXEC_OOB));
	EXPECT_STREQ("NRT_NETWORK_PROXY_FAILURE",
		     nrt_get_status_as_str(NRT_NETWORK_PROXY_FAILURE));
	EXPECT_STREQ("NRT_UNKNOWN_STATUS", nrt_get_status_as_str((NRT_STATUS)8));
}

FIXTURE(exec)
{
	struct rig rig;
	size_t used;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

FIXTURE_SETUP(exec)
{
	self->used = SIZE_MAX;
	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	self->used = rig_memory(0);
	rig_ramp(self->x, 1.0f);
}

FIXTURE_TEARDOWN(exec)
{
	rig_unload(&self->rig);
	if (self->used != SIZE_MAX) {
		EXPECT_TRUE(rig_memory_becomes(0, self->used))
			TH_LOG("device memory leaked");
	}
	nrt_close();
}

/* The deprecated functions count what their successors count. */
TEST_F(exec, counts)
{
	uint32_t old = 0, cores = 0;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_nc_count(&old));
	EXPECT_EQ(cores, old);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&cores));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_nc_count(&old));
	EXPECT_EQ(cores, old);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_model_nc_count(self->rig.model, &old));
	EXPECT_EQ(1, old);
	EXPECT_EQ(NRT_INVALID_HANDLE, nrt_get_model_nc_count(NULL, &old));
}

TEST_F(exec, scale)
{
	nrt_emu_execution_t run = { 0 };
	unsigned int i, round;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_last_execution(self->rig.model, &run, sizeof(run)));
	for (round = 0; round < 3; round++) {
		rig_ramp(self->x, (float)round);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
	}
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(self->rig.model, &run, sizeof(run)));
	EXPECT_EQ(2 * PROGRAM_BYTES + 4, run.dma_bytes);
	EXPECT_EQ(5, run.instructions);
	EXPECT_GT(run.wall_ns, 0);
	EXPECT_GE(run.end_ns, run.start_ns);
	EXPECT_EQ(0, run.flags);
}

/* Results of jobs say that their times are not exact. */
static bool results_are_marked;

/* In place of libdrm's, which the library calls for each ioctl. */
int drmIoctl(int fd, unsigned long request, void *arg)
{
	const struct drm_neuron_wait *wait = arg;
	struct drm_neuron_wait_job *job;
	int ret;

	do
		ret = ioctl(fd, request, arg);
	while (ret && (errno == EINTR || errno == EAGAIN));
	if (request == DRM_IOCTL_NEURON_WAIT && results_are_marked) {
		job = (void *)(uintptr_t)wait->jobs.pointer;
		job->flags |= DRM_NEURON_JOB_INEXACT;
	}
	return ret;
}

TEST_F(exec, times_that_are_not_exact)
{
	nrt_emu_execution_t run = { 0 };

	if (rig_embedded())
		SKIP(return, "it changes what the driver answers");
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	results_are_marked = true;
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	results_are_marked = false;
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(self->rig.model, &run, sizeof(run)));
	EXPECT_EQ(NRT_EMU_INEXACT, run.flags);
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_execution(self->rig.model, &run, sizeof(run)));
	EXPECT_EQ(0, run.flags);
}

/* Only a NeuronCore-v4 has them; the others say so at the load. */
TEST_F(exec, priorities)
{
	nrt_instance_info_t info = { 0 };
	NRT_STATUS status;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_instance_info(&info, sizeof(info)));
	status = rig_load(&self->rig, program_priorities(), 0, 0, 0);
	if (info.family != NRT_INSTANCE_TRN3) {
		EXPECT_EQ(NRT_UNSUPPORTED_NEFF_VERSION, status);
		return;
	}
	ASSERT_EQ(NRT_SUCCESS, status);
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	for (i = 0; i < RIG_VALUES; i++)
		ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
}

/* What the device did: as much as the execution says, and the same each time. */
TEST_F(exec, traced)
{
	nrt_emu_event_t events[16], first[16];
	nrt_emu_execution_t run = { 0 };
	size_t count = 16, i, instructions;
	uint64_t lost, bytes;
	unsigned int round;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_set_trace(self->rig.model, SIZE_MAX));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_trace(self->rig.model, events, &count, &lost));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_set_trace(self->rig.model, 100));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_trace(self->rig.model, events, &count, &lost));
	for (round = 0; round < 3; round++) {
		count = 16;
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_trace(self->rig.model, events, &count, &lost));
		ASSERT_EQ(NRT_SUCCESS,
			  nrt_emu_get_last_execution(self->rig.model, &run, sizeof(run)));
		EXPECT_EQ(0, lost);
		ASSERT_LE(count, 16);
		for (i = 0, instructions = 0, bytes = 0; i < count; i++) {
			instructions += events[i].kind == NRT_EMU_INSTRUCTION;
			bytes += events[i].bytes;
			EXPECT_LE(run.start_ns, events[i].begin_ns);
			EXPECT_GE(run.end_ns, events[i].end_ns);
			EXPECT_EQ(0, events[i].flags);
			events[i].begin_ns -= run.start_ns;
			events[i].end_ns -= run.start_ns;
		}
		EXPECT_EQ(run.instructions, instructions);
		EXPECT_EQ(run.dma_bytes, bytes);
		if (!round)
			memcpy(first, events, sizeof(first));
		EXPECT_EQ(0, memcmp(first, events, count * sizeof(*events)));
	}
	/* Less room than the program needs, in the device and in the caller's array. */
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_set_trace(self->rig.model, 3));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	instructions = count;
	count = 1;
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_trace(self->rig.model, events, &count, &lost));
	EXPECT_EQ(3, count);
	EXPECT_EQ(instructions - 3, lost);
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_set_trace(self->rig.model, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_trace(self->rig.model, NULL, &count, &lost));
	count = 0;
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_trace(self->rig.model, NULL, &count, &lost));
}

/* The sum of a counter that the driver shows, over all cores. */
static unsigned long long posted(const char *counter)
{
	unsigned long long value, sum = 0;
	char pattern[128];
	glob_t found;
	FILE *file;
	size_t i;

	snprintf(pattern, sizeof(pattern),
		 "/sys/bus/pci/drivers/neuron/*/core*/status/%s", counter);
	if (glob(pattern, 0, NULL, &found))
		return ~0ull;
	for (i = 0; i < found.gl_pathc; i++) {
		file = fopen(found.gl_pathv[i], "re");
		if (file && fscanf(file, "%llu", &value) == 1)
			sum += value;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return sum;
}

/* What this process has of a category, as anybody sees it in /proc. */
static unsigned long long category(const char *name)
{
	unsigned long long value, sum = 0;
	char key[64], line[256];
	glob_t found;
	FILE *file;
	size_t i;

	snprintf(key, sizeof(key), "neuron-category-%s: %%llu", name);
	if (glob("/proc/self/fdinfo/*", 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++) {
		file = fopen(found.gl_pathv[i], "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, key, &value) == 1)
				sum += value;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return sum;
}

/* The driver is told what each buffer is for. */
TEST_F(exec, memory_has_categories)
{
	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");
	EXPECT_EQ(0, category("tensors"));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	EXPECT_GT(category("tensors"), 0);
	EXPECT_GT(category("code"), 0);
	EXPECT_EQ(0, category("none"));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
}

/* Monitors see how many executions ended how: failures at once, the rest soon. */
TEST_F(exec, is_told_to_monitors)
{
	unsigned long long success = posted("success"), all = posted("inference_count");
	unsigned long long loads = posted("model_load_count"), bad = posted("oob_error");
	unsigned int i;

	if (rig_embedded())
		SKIP(return, "nobody outside sees the chips of a process");
	ASSERT_NE(~0ull, success);
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	EXPECT_EQ(loads + 1, posted("model_load_count"));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	rig_unload(&self->rig);
	EXPECT_EQ(success + 20, posted("success"));
	EXPECT_EQ(all + 20, posted("inference_count"));
	EXPECT_EQ(bad, posted("oob_error"));

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_out_of_bounds(), 0, 0, 0));
	rig_catch();
	EXPECT_EQ(NRT_EXEC_OOB, rig_run(&self->rig, self->x, self->y));
	rig_caught();
	EXPECT_EQ(bad + 1, posted("oob_error"));
	EXPECT_EQ(success + 20, posted("success"));
}

/* The line of the log, for who cannot read that, until an execution ends well. */
TEST_F(exec, last_error)
{
	char text[1000], begin[8];
	struct rig good;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_out_of_bounds(), 0, 0, 0));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_last_error(self->rig.model, text, sizeof(text)));
	EXPECT_STREQ("", text);
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_last_error(self->rig.model, text, 0));
	EXPECT_EQ(NRT_INVALID, nrt_emu_get_last_error(self->rig.model, NULL, 8));
	rig_catch();
	EXPECT_EQ(NRT_EXEC_OOB, rig_run(&self->rig, self->x, self->y));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_error(self->rig.model, text, sizeof(text)));
	EXPECT_TRUE(rig_has(rig_caught(), text)) {
		TH_LOG("%s", text);
	}
	EXPECT_TRUE(rig_has(text, "access outside of a variable"));
	ASSERT_EQ(NRT_SUCCESS, nrt_emu_get_last_error(self->rig.model, begin, sizeof(begin)));
	EXPECT_EQ(0, strncmp(begin, text, sizeof(begin) - 1));
	EXPECT_EQ(0, begin[sizeof(begin) - 1]);
	/* Each model has its own. */
	ASSERT_EQ(NRT_SUCCESS, rig_load(&good, program_scale(1), 0, 0, 0));
	EXPECT_EQ(NRT_SUCCESS, rig_run(&good, self->x, self->y));
	EXPECT_EQ(NRT_QUEUE_EMPTY, nrt_emu_get_last_error(good.model, text, sizeof(text)));
	rig_unload(&good);
	EXPECT_EQ(NRT_SUCCESS, nrt_emu_get_last_error(self->rig.model, text, sizeof(text)));
}

TEST_F(exec, sets_of_several_queues)
{
	unsigned int queues, i;

	for (queues = 2; queues <= 16; queues *= 2) {
		ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(queues), 0, 0, 0));
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
		rig_unload(&self->rig);
	}
}

TEST_F(exec, transpose)
{
	unsigned int row, column;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_transpose(), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	for (row = 0; row < PROGRAM_ROWS; row++)
		for (column = 0; column < PROGRAM_COLUMNS; column++)
			ASSERT_EQ(self->x[row * PROGRAM_COLUMNS + column],
				  self->y[column * PROGRAM_ROWS + row]);
}

TEST_F(exec, two_models_on_one_core)
{
	struct rig other;
	unsigned int i, round;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&other, program_constant(), 0, 0, 0));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&other, self->x, self->y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(self->x[i] + (float)i, self->y[i]);
	}
	rig_unload(&other);
}

TEST_F(exec, every_core)
{
	uint32_t cores, vnc;
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&cores));
	for (vnc = 0; vnc < cores; vnc++) {
		nrt_model_info_t info = { 0 };

		ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), vnc, 0, 0));
		ASSERT_EQ(NRT_SUCCESS, nrt_get_model_info(self->rig.model, &info, sizeof(info),
							  NULL));
		EXPECT_EQ(vnc, info.vnc);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
		rig_unload(&self->rig);
	}
}

/* Another tensor under the same name, also one that took the place of a freed one. */
TEST_F(exec, rebinding)
{
	nrt_tensor_t *other = NULL;
	unsigned int i, round;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	for (round = 0; round < 4; round++) {
		rig_ramp(self->x, 100.0f * (float)round);
		nrt_tensor_free(&other);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
							   PROGRAM_BYTES, "other", &other));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(other, self->x, 0, PROGRAM_BYTES));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", other));
		ASSERT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs,
						   self->rig.outputs));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(self->rig.y, self->y, 0, PROGRAM_BYTES));
		for (i = 0; i < RIG_VALUES; i++)
			ASSERT_EQ(2 * self->x[i] + 1, self->y[i]);
	}
	nrt_tensor_free(&other);
}

/* A freed tensor that a window still shows must give its memory back. */
TEST_F(exec, free_of_a_bound_tensor)
{
	size_t before;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(1), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
	before = rig_memory(0);
	nrt_tensor_free(&self->rig.x);
	EXPECT_TRUE(rig_memory_becomes(0, before - 4096));
}

struct worker {
	struct rig rig;
	unsigned int number;
	bool good;
};

/* Executes, and in between makes the core forget a tensor. */
static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int round, i;

	worker->good = true;
	for (round = 0; round < 20 && worker->good; round++) {
		rig_ramp(x, 100.0f * (float)worker->number + (float)round);
		worker->good = !rig_run(&worker->rig, x, y);
		for (i = 0; i < RIG_VALUES && worker->good; i++)
			worker->good = y[i] == 2 * x[i] + 1;
		if (round % 5)
			continue;
		nrt_tensor_free(&worker->rig.x);
		if (nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, PROGRAM_BYTES, "x",
					&worker->rig.x) ||
		    nrt_add_tensor_to_tensor_set(worker->rig.inputs, "x", worker->rig.x))
			worker->good = false;
	}
	return NULL;
}

/* Threads with models on one core, and some more on another one. */
TEST_F(exec, threads)
{
	struct worker workers[6] = { 0 };
	pthread_t threads[6];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		workers[i].number = i;
		ASSERT_EQ(NRT_SUCCESS,
			  rig_load(&workers[i].rig, program_scale(1 + i), i / 4, 0, 0));
	}
	for (i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, run_worker, &workers[i]);
	for (i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_TRUE(workers[i].good);
		rig_unload(&workers[i].rig);
	}
}

FIXTURE(placement)
{
	struct rig rig;
};

FIXTURE_VARIANT(placement)
{
	nrt_tensor_placement_t placement;
	int vnc;
	size_t offset;
};

FIXTURE_VARIANT_ADD(placement, host) {
	.placement = NRT_TENSOR_PLACEMENT_HOST,
	.vnc = -1,
};

FIXTURE_VARIANT_ADD(placement, virtual_memory) {
	.placement = NRT_TENSOR_PLACEMENT_VIRTUAL,
	.vnc = -1,
};

FIXTURE_VARIANT_ADD(placement, virtual_memory_odd) {
	.placement = NRT_TENSOR_PLACEMENT_VIRTUAL,
	.vnc = -1,
	.offset = 3,
};

FIXTURE_VARIANT_ADD(placement, device_slice) {
	.placement = NRT_TENSOR_PLACEMENT_DEVICE,
	.offset = 4096,
};

FIXTURE_VARIANT_ADD(placement, device_slice_odd) {
	.placement = NRT_TENSOR_PLACEMENT_DEVICE,
	.offset = 1021,
};

FIXTURE_SETUP(placement)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scale(2), 0, 0, 0));
}

FIXTURE_TEARDOWN(placement)
{
	rig_unload(&self->rig);
	nrt_close();
}

TEST_F(placement, execute)
{
	nrt_tensor_t *whole[2], *part[2];
	float x[RIG_VALUES], y[RIG_VALUES];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(variant->placement, variant->vnc,
							   PROGRAM_BYTES + 8192, NULL, &whole[i]));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_memset(whole[i], 0, 0x11,
							 PROGRAM_BYTES + 8192));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(whole[i], variant->offset,
								 PROGRAM_BYTES, NULL, &part[i]));
		/* The slice keeps the memory. */
		nrt_tensor_free(&whole[i]);
	}
	rig_ramp(x, 3.0f);
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(part[0], x, 0, PROGRAM_BYTES));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.inputs, "x", part[0]));
	ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(self->rig.outputs, "y", part[1]));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(NRT_SUCCESS, nrt_execute(self->rig.model, self->rig.inputs,
						   self->rig.outputs));
	ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(part[1], y, 0, PROGRAM_BYTES));
	for (i = 0; i < RIG_VALUES; i++)
		ASSERT_EQ(2 * x[i] + 1, y[i]);
	nrt_tensor_free(&part[0]);
	nrt_tensor_free(&part[1]);
}

TEST_F(placement, tensor_info)
{
	nrt_tensor_info_array_t *infos;

	ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(self->rig.model, &infos));
	ASSERT_EQ(2, infos->tensor_count);
	EXPECT_STREQ("x", infos->tensor_array[0].name);
	EXPECT_EQ(NRT_TENSOR_USAGE_INPUT, infos->tensor_array[0].usage);
	EXPECT_STREQ("y", infos->tensor_array[1].name);
	EXPECT_EQ(NRT_TENSOR_USAGE_OUTPUT, infos->tensor_array[1].usage);
	EXPECT_EQ(PROGRAM_BYTES, infos->tensor_array[1].size);
	EXPECT_EQ(NRT_DTYPE_FLOAT32, infos->tensor_array[1].dtype);
	ASSERT_EQ(2, infos->tensor_array[1].ndim);
	EXPECT_EQ(PROGRAM_ROWS, infos->tensor_array[1].shape[0]);
	EXPECT_EQ(PROGRAM_COLUMNS, infos->tensor_array[1].shape[1]);
	nrt_free_model_tensor_info(infos);
}

/* The shared scratchpad, as one piece of memory and as pages. */
FIXTURE(scratchpad)
{
	struct rig rig;
};

FIXTURE_VARIANT(scratchpad)
{
	const char *contiguous;
	const char *page;	/* MiB */
	size_t least, most;	/* bytes that the first model takes */
};

FIXTURE_VARIANT_ADD(scratchpad, piece) {
	.contiguous = "",
	.page = "1024",
	.least = PROGRAM_PAGE,
	.most = PROGRAM_PAGE * 3 / 2,
};

/* Two of the variables lie on the first page and on the second one. */
FIXTURE_VARIANT_ADD(scratchpad, pages) {
	.contiguous = "0",
	.page = "",
	.least = 2 * PROGRAM_PAGE,
	.most = 5 * PROGRAM_PAGE / 2,
};

FIXTURE_VARIANT_ADD(scratchpad, large_page) {
	.contiguous = "false",
	.page = "1536",
	.least = 3 * PROGRAM_PAGE,
	.most = 7 * PROGRAM_PAGE / 2,
};

FIXTURE_SETUP(scratchpad)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_CONTIGUOUS_SCRATCHPAD", variant->contiguous, 1);
	setenv("NEURON_SCRATCHPAD_PAGE_SIZE", variant->page, 1);
	rig_catch();
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	/* They have an effect, so no line says otherwise. */
	EXPECT_FALSE(rig_has(rig_caught(), "SCRATCHPAD"));
}

FIXTURE_TEARDOWN(scratchpad)
{
	rig_unload(&self->rig);
	nrt_close();
}

TEST_F(scratchpad, memory)
{
	float x[RIG_VALUES], y[RIG_VALUES] = { 0 };
	size_t used = rig_memory(0);
	struct rig second;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_scratch(), 0, 0, 0));
	EXPECT_LE(used + variant->least, rig_memory(0));
	EXPECT_GE(used + variant->most, rig_memory(0));
	/* Another model has the same scratchpad. */
	ASSERT_EQ(NRT_SUCCESS, rig_load(&second, program_scratch(), 0, 0, 0));
	EXPECT_GE(used + variant->most, rig_memory(0));
	rig_ramp(x, 1.0f);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&self->rig, x, y));
	EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	rig_ramp(x, 2.0f);
	EXPECT_EQ(NRT_SUCCESS, rig_run(&second, x, y));
	EXPECT_EQ(0, memcmp(x, y, sizeof(x)));
	rig_unload(&second);
}

/* How long each step of a load took, on request. */
TEST(load_times)
{
	static const char *const words[] = {
		"DEBUG NRT:nrt_load model \"scale\", ", " bytes, core 0: ", " ms: NEFF ",
		", scratchpad ", ", rings ", ", memory ", ", code ", ", data ",
	};
	struct rig rig;
	const char *text;
	size_t i;

	if (!rig_chips())
		SKIP(return, "no neuron device");
	setenv("NEURON_RT_LOG_LEVEL", "DEBUG", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	rig_catch();
	EXPECT_EQ(NRT_SUCCESS, rig_load(&rig, program_scale(1), 0, 0, 0));
	text = rig_caught();
	for (i = 0; i < ARRAY_SIZE(words); i++)
		EXPECT_TRUE(rig_has(text, words[i])) TH_LOG("%s", text);
	rig_unload(&rig);
	nrt_close();
}

TEST_HARNESS_MAIN
