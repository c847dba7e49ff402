// SPDX-License-Identifier: MIT
/*
 * Power as the public driver reports it: it samples the chips in silicon mode only,
 * and says once a minute what it saw. This test takes up to two minutes.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800
#define WAIT		150	/* seconds: two full minutes by the clock, and some */

struct report {
	char status[33];
	long long time;
	double min, max, avg;
};

/* 0, or -1 when the file has another form. */
static int report(unsigned int index, struct report *to)
{
	char text[256];

	if (pub_sysfs(index, "stats/power/utilization", text, sizeof(text)) < 0)
		return -1;
	return sscanf(text, "%32[A-Z_],%lld,%lf,%lf,%lf", to->status, &to->time, &to->min,
		      &to->max, &to->avg) == 5 ? 0 : -1;
}

static void check(struct __test_metadata *_metadata, unsigned int index)
{
	struct report seen = { 0 };
	int i;

	for (i = 0; i < WAIT; i++) {
		ASSERT_EQ(0, report(index, &seen));
		if (!strcmp(seen.status, "POWER_STATUS_VALID"))
			break;
		sleep(1);
	}
	EXPECT_STREQ("POWER_STATUS_VALID", seen.status) TH_LOG("neuron%u", index);
	EXPECT_LE(0, seen.min);
	EXPECT_LE(seen.min, seen.avg);
	EXPECT_LE(seen.avg, seen.max);
	EXPECT_LE(seen.max, 100);
	EXPECT_GE(120, time(NULL) - seen.time);
}

FIXTURE(power)
{
};

FIXTURE_SETUP(power)
{
}

FIXTURE_TEARDOWN(power)
{
}

TEST_F_TIMEOUT(power, utilization, TIMEOUT)
{
	unsigned int index[PUB_MAX_DEVICES], count, i;
	struct pub_device dev;
	struct report seen;

	count = pub_devices(index);
	ASSERT_NE(0, count) TH_LOG("there is no /dev/neuronN");
	ASSERT_EQ(0, pub_open(&dev, index[0]));
	for (i = 0; i < count; i++) {
		if (!dev.platform) {
			check(_metadata, index[i]);
			continue;
		}
		ASSERT_EQ(0, report(index[i], &seen));
		EXPECT_STREQ("POWER_STATUS_NO_DATA", seen.status);
		EXPECT_EQ(0, seen.max);
	}
	pub_close(&dev);
}

TEST_HARNESS_MAIN
