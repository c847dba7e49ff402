// SPDX-License-Identifier: MIT
/*
 * What the driver tells as it happens: trace events and uevents.
 */
#include "job_rig.h"
#include "kselftest_harness.h"
#include "neuron_test.h"
#include "uevents.h"

#define LIMIT	5000	/* ms, of jobs that should end at once */
#define TRACING	"/sys/kernel/tracing/"

FIXTURE(events) {
	struct rig rig;
	int uevents;
	char *trace;
};

FIXTURE_SETUP(events)
{
	int fd = neuron_open(0);

	self->trace = NULL;
	self->uevents = -1;
	if (fd < 0)
		SKIP(return, "no neuron device");
	close(fd);
	ASSERT_EQ(0, rig_open(&self->rig, 0, 0));
	self->uevents = uevents_open();
	ASSERT_GE(self->uevents, 0);
}

FIXTURE_TEARDOWN(events)
{
	neuron_write_file(TRACING "events/neuron/enable", "0");
	free(self->trace);
	rig_close(&self->rig);
	if (self->uevents >= 0)
		close(self->uevents);
}

/* Wait for the uevent NEURON_EVENT=@event of core 0 and job @job. */
static bool saw_uevent(int fd, const char *event, uint64_t job)
{
	char name[64], number[64];
	const char * const variables[] = {
		name, number, "NEURON_CORE=0", "SUBSYSTEM=accel",
		"ACTION=change", NULL,
	};

	snprintf(name, sizeof(name), "NEURON_EVENT=%s", event);
	snprintf(number, sizeof(number), "NEURON_JOB=%llu",
		 (unsigned long long)job);
	return uevents_wait(fd, variables, 10000);
}

TEST_F(events, uevent_of_a_fault)
{
	struct drm_neuron_wait_job result;

	rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_ILLEGAL);
	ASSERT_EQ(0, rig_run(&self->rig, LIMIT, &result));
	EXPECT_EQ(NEURON_JOB_ERROR, result.status);
	EXPECT_TRUE(saw_uevent(self->uevents, "fault", 1));
}

TEST_F(events, uevents_of_a_hang)
{
	struct drm_neuron_wait_job result;

	rig_loop(&self->rig, NEURON_ENGINE_VECTOR, 0);
	ASSERT_EQ(0, rig_run(&self->rig, 100, &result));
	EXPECT_TRUE(result.flags & DRM_NEURON_JOB_HANG);
	EXPECT_TRUE(saw_uevent(self->uevents, "hang", 1));
	EXPECT_TRUE(saw_uevent(self->uevents, "reset", 1));
}

/* A program that fails all the time does not flood the listeners. */
TEST_F(events, uevents_are_limited)
{
	char message[UEVENT_BYTES];
	int i, seen = 0;
	ssize_t n;

	rig_emit(&self->rig, NEURON_ENGINE_VECTOR, NEURON_OP_ILLEGAL);
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, rig_run(&self->rig, LIMIT, NULL));
	while ((n = uevents_next(self->uevents, message, 1000)) > 0)
		seen += uevents_has(message, n, "NEURON_EVENT=fault");
	EXPECT_GT(seen, 0);
	EXPECT_LT(seen, 200);
}

/* A line of the trace with all of @a, @b, @c. */
static int has_event(const char *trace, const char *a, const char *b,
		     const char *c)
{
	char line[512];
	const char *end;

	for (; *trace; trace = *end ? end + 1 : end) {
		end = strchrnul(trace, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)(end - trace), trace);
		if (strstr(line, a) && strstr(line, b) && strstr(line, c))
			return 1;
	}
	return 0;
}

#define expect_event(a, b, c) \
	EXPECT_TRUE(has_event(self->trace, a, b, c)) \
		TH_LOG("no line with '%s' '%s' '%s'", a, b, c)

TEST_F(events, trace)
{
	const size_t size = 4 << 20;
	struct drm_neuron_wait_job result;
	struct rig rig;
	char bytes[64] = "x";

	if (access(TRACING "events/neuron", F_OK))
		SKIP(return, "no tracefs");
	self->trace = malloc(size);
	ASSERT_NE(NULL, self->trace);
	ASSERT_EQ(0, neuron_write_file(TRACING "trace", ""));
	ASSERT_EQ(0, neuron_write_file(TRACING "events/neuron/enable", "1"));

	ASSERT_EQ(0, rig_open(&rig, 0, 1));
	ASSERT_EQ(0, neuron_write(rig.fd, rig.bo, 0, bytes, sizeof(bytes)));
	rig_store(&rig, NEURON_ENGINE_SYNC, 0, 1);
	rig_halt(&rig, NEURON_ENGINE_SYNC);
	ASSERT_EQ(0, rig_run(&rig, LIMIT, &result));
	rig_clear(&rig);
	rig_emit(&rig, NEURON_ENGINE_VECTOR, NEURON_OP_ILLEGAL);
	ASSERT_EQ(0, rig_run(&rig, LIMIT, &result));
	rig_clear(&rig);
	rig_loop(&rig, NEURON_ENGINE_VECTOR, 0);
	ASSERT_EQ(0, rig_run(&rig, 100, &result));
	rig_close(&rig);
	/* Memory is scrubbed a little later. */
	neuron_hbm_used(self->rig.fd);

	ASSERT_EQ(0, neuron_write_file(TRACING "events/neuron/enable", "0"));
	ASSERT_GT(neuron_read_file(TRACING "trace", self->trace, size), 0);
	expect_event("neuron_claim:", "claim=1", "cores=0x2");
	expect_event("neuron_hbm_alloc:", "stack=0", "size=524288");
	expect_event("neuron_windows:", "core=1 claim=1", "changed=4");
	expect_event("neuron_copy_doorbell:", "bytes=64", "");
	expect_event("neuron_copy_done:", "error=0", "");
	expect_event("neuron_job_submit:", "core=1 claim=1 job=1", "queues=0");
	expect_event("neuron_job_doorbell:", "core=1 claim=1 job=1", "");
	expect_event("neuron_irq:", "irq=", "");
	expect_event("neuron_job_done:", "core=1 claim=1 job=1", "status=1");
	expect_event("neuron_fault:", "core=1 job=2", "cause=2 source=0x1");
	expect_event("neuron_job_done:", "core=1 claim=1 job=2", "status=2");
	expect_event("neuron_hang:", "core=1 job=3", "progress=");
	expect_event("neuron_core_reset:", "core=1", "answered=1");
	expect_event("neuron_job_done:", "core=1 claim=1 job=3", "status=3");
	expect_event("neuron_release:", "claim=1", "cores=0x2");
	expect_event("neuron_hbm_free:", "stack=0", "size=524288");
	expect_event("neuron_discard:", "size=524288", "error=0");
}

TEST_HARNESS_MAIN
