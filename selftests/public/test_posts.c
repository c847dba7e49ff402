// SPDX-License-Identifier: MIT
/*
 * The driver's own posts of its metrics, every 150 s unless it is told otherwise: the
 * firmware takes and answers them while nobody asks for any. This test waits for them.
 */
#include <stdio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1500
#define WAIT		1200	/* seconds; the guest may be emulated */
#define OFTEN		10000	/* milliseconds; then more than one is waited for */

FIXTURE(posts)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev[PUB_MAX_DEVICES];
};

FIXTURE_SETUP(posts)
{
	unsigned int i;

	self->count = pub_devices(self->index);
	ASSERT_NE(0, self->count) TH_LOG("there is no /dev/neuronN");
	for (i = 0; i < self->count; i++)
		ASSERT_EQ(0, pub_open(&self->dev[i], self->index[i]));
}

FIXTURE_TEARDOWN(posts)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		pub_close(&self->dev[i]);
}

/* Posts of @dev become @want; otherwise how many there are. */
static uint32_t wait_for(struct pub_device *dev, uint32_t want, unsigned int *seconds)
{
	while (pub_posts(dev) < want && *seconds) {
		sleep(1);
		--*seconds;
	}
	return pub_posts(dev);
}

TEST_F_TIMEOUT(posts, periodic, TIMEOUT)
{
	long delay = pub_parameter("nmetric_metric_post_delay");
	uint32_t before[PUB_MAX_DEVICES];
	unsigned int i, seconds = WAIT;
	uint32_t more;

	ASSERT_LT(0, delay);
	if (pub_parameter("nmetric_log_posts") <= 0)
		SKIP(return, "the driver posts nothing in this mode");
	more = delay <= OFTEN ? 3 : 1;
	for (i = 0; i < self->count; i++)
		before[i] = pub_posts(&self->dev[i]);
	for (i = 0; i < self->count; i++) {
		EXPECT_LE(before[i] + more,
			  wait_for(&self->dev[i], before[i] + more, &seconds))
			TH_LOG("neuron%u", self->index[i]);
	}
}

TEST_HARNESS_MAIN
