// SPDX-License-Identifier: MIT
/*
 * What programs tell of themselves, as events of a system trace.
 */
#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_sys_trace.h>

#include "kselftest_harness.h"

#include "events.h"
#include "rig.h"

FIXTURE(notices)
{
	struct rig rig;
	float x[RIG_VALUES];
	float y[RIG_VALUES];
};

FIXTURE_SETUP(notices)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	rig_ramp(self->x, 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
}

FIXTURE_TEARDOWN(notices)
{
	rig_unload(&self->rig);
	nrt_close();
}

/* A program has told of itself: @nr notices, of which the last four are kept, the oldest first. */
static void expect_notices(struct __test_metadata *_metadata, unsigned int nr)
{
	unsigned int kept = nr < 4 ? nr : 4, at = 0;
	struct json_object *root, *events, *event;
	const char *name;
	int64_t last = 0;
	char *text;
	size_t size, i;

	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(kept, count_events(events, "hw_notify"));
	for (i = 0; i < json_object_array_length(events); i++) {
		event = json_object_array_get_idx(events, i);
		name = text_of(event, "name");
		if (strcmp(name, "hw_notify"))
			continue;
		EXPECT_EQ(PROGRAM_TAG + nr - kept + at, int_of(event, "tag"));
		EXPECT_EQ(nr - kept + at, int_of(event, "pc"));
		EXPECT_STREQ("vector", text_of(event, "engine"));
		EXPECT_STREQ("notices", text_of(event, "model_name"));
		EXPECT_EQ(0, int_of(event, "lnc_idx"));
		EXPECT_EQ(0, int_of(event, "duration"));
		EXPECT_EQ(int_of(event, "nc_start_ns"), int_of(event, "nc_end_ns"));
		EXPECT_GT(int_of(event, "nc_start_ns"), last);
		last = int_of(event, "nc_start_ns");
		at++;
	}
	event = find_event(events, "nc_exec_running");
	EXPECT_LE(last, int_of(event, "nc_end_ns"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
}

TEST_F(notices, of_one_execution)
{
	static const unsigned int counts[] = { 3, 0, 4, 6, 10, 12 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_notices(counts[i]), 0, 0, 0));
		/* Nobody hears of it, also not later. */
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		expect_notices(_metadata, counts[i]);
		ASSERT_EQ(NRT_SUCCESS, rig_run(&self->rig, self->x, self->y));
		expect_notices(_metadata, counts[i]);
		ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
		rig_unload(&self->rig);
	}
}

/* One execution does not get the notices of another one, when many are in the queue. */
TEST_F(notices, of_a_pipeline)
{
	struct json_object *root, *events;
	nrta_seq_t seq;
	unsigned int i;
	char *text;
	size_t size;

	ASSERT_EQ(NRT_SUCCESS, rig_load(&self->rig, program_notices(3), 0, 0, 0));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(NULL));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(NRT_SUCCESS, nrta_execute_schedule(self->rig.model, self->rig.inputs,
							     self->rig.outputs, 0, NULL, &seq));
	ASSERT_EQ(NRT_SUCCESS, nrt_async_drain_queued_execs(0));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	events = parse_events(text, &root, NULL);
	EXPECT_EQ(60, count_events(events, "hw_notify"));
	json_object_put(root);
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
}

TEST_HARNESS_MAIN
