// SPDX-License-Identifier: MIT
/*
 * The public driver's election of an UltraServer, of which the machine is server 0: its result
 * in sysfs and in the ioctls, the words that it leaves in MISC RAM, and an election on demand.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define SERVERS		4
#define CHIPS		16
#define MODES_FOUR	(1u << PUB_MODE_X4 | 1u << PUB_MODE_X2V | 1u << PUB_MODE_X1)

FIXTURE(pod)
{
	unsigned int index[PUB_MAX_DEVICES];
	unsigned int count;
	struct pub_device dev;
};

FIXTURE_SETUP(pod)
{
	unsigned int i;

	self->count = pub_devices(self->index);
	ASSERT_EQ(CHIPS, self->count);
	/* Opening waits for the first reset. */
	for (i = self->count; i--;) {
		ASSERT_EQ(0, pub_open(&self->dev, self->index[i]));
		if (i)
			pub_close(&self->dev);
	}
}

FIXTURE_TEARDOWN(pod)
{
	pub_close(&self->dev);
}

static const char *text(const char *name)
{
	static char to[64];
	int rc = pub_sysfs(-1, name, to, sizeof(to));

	if (rc < 0)
		snprintf(to, sizeof(to), "(errno %d)", -rc);
	return to;
}

static int status(struct pub_device *dev, struct pub_pod_status *pod)
{
	memset(pod, 0, sizeof(*pod));
	pod->size = sizeof(*pod);
	return pub_ioctl(dev->fd, PUB_POD_STATUS, pod);
}

/* The driver elects in a thread of its own; false: it does not come to an end. */
static bool elected(struct pub_device *dev)
{
	struct pub_pod_status pod;
	unsigned int s;
	int rc;

	for (s = 0; s < TIMEOUT / 2; s++) {
		rc = status(dev, &pod);
		if (rc != -EBUSY && pod.state != PUB_POD_IN_PROGRESS)
			return rc == 0;
		sleep(1);
	}
	return false;
}

/* The machine has the least serial numbers, so that it is node 0 and leads. */
static void check_result(struct __test_metadata *_metadata, struct _test_data_pod *self)
{
	struct pub_pod_status pod;
	char serial[64];
	uint64_t id;

	ASSERT_EQ(16, pub_sysfs(self->index[0], "info/serial_number", serial, sizeof(serial)));
	EXPECT_STREQ("0", text("node_id_4"));
	EXPECT_STREQ(serial, text("server_id_4"));
	EXPECT_STREQ("0", text("node_id_2"));
	EXPECT_STREQ(serial, text("server_id_2"));
	EXPECT_STREQ("1,3,4", text("ultraserver_mode"));

	must(status(&self->dev, &pod));
	EXPECT_EQ(PUB_POD_ULTRASERVER, pod.state);
	EXPECT_EQ(PUB_POD_P2P, pod.type);
	EXPECT_EQ(SERVERS, pod.servers);
	EXPECT_EQ(0, pod.node);
	EXPECT_EQ(MODES_FOUR, pod.modes);
	memcpy(&id, pod.id, sizeof(id));
	EXPECT_EQ(strtoull(serial, NULL, 16), id);
}

TEST_F_TIMEOUT(pod, result, TIMEOUT)
{
	ASSERT_TRUE(elected(&self->dev));
	check_result(_metadata, self);
}

TEST_F_TIMEOUT(pod, words, TIMEOUT)
{
	struct pub_device dev;
	uint32_t word, hi, lo;
	unsigned int i;
	char serial[64];

	ASSERT_TRUE(elected(&self->dev));
	for (i = 0; i < self->count; i++) {
		ASSERT_EQ(0, pub_open(&dev, self->index[i]));
		must(pub_reg_read(&dev, dev.gen->misc_bar0 + NEURON_MISC_ELECTION, &word));
		EXPECT_EQ(i ? 3 : SERVERS << 24 | 3 << 8 | 3, word) TH_LOG("neuron%u", i);
		must(pub_reg_read(&dev, dev.gen->misc_bar0 + NEURON_MISC_RIGHT_LO, &word));
		EXPECT_EQ(0, word) TH_LOG("neuron%u shows its neighbour still", i);
		pub_close(&dev);
	}
	must(pub_reg_read(&self->dev, self->dev.gen->misc_bar0 + NEURON_MISC_LEADER_HI, &hi));
	must(pub_reg_read(&self->dev, self->dev.gen->misc_bar0 + NEURON_MISC_LEADER_LO, &lo));
	ASSERT_EQ(16, pub_sysfs(self->index[0], "info/serial_number", serial, sizeof(serial)));
	EXPECT_EQ(strtoull(serial, NULL, 16), (uint64_t)hi << 32 | lo);
}

/* Again, when a program asks for it. */
TEST_F_TIMEOUT(pod, on_demand, TIMEOUT)
{
	struct pub_pod_ctrl ctrl = {
		.size = sizeof(ctrl), .ctrl = PUB_POD_CTRL_ELECT, .timeout = 120,
	};

	ASSERT_TRUE(elected(&self->dev));
	must(pub_ioctl(self->dev.fd, PUB_POD_CTRL, &ctrl));
	ASSERT_TRUE(elected(&self->dev));
	check_result(_metadata, self);
}

TEST_HARNESS_MAIN
