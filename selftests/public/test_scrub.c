// SPDX-License-Identifier: MIT
/*
 * The public driver's scrubbing of HBM: 16 engines at once write a word over a
 * whole stack, block after block. Only for stacks that are small: all of it becomes
 * memory of the host.
 */
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "public_device.h"

#define TIMEOUT		1800	/* seconds; the guest may be emulated */
#define SMALL		(1 * GIB)
#define AREA		(8 * MIB)

FIXTURE(scrub)
{
};

FIXTURE_SETUP(scrub)
{
}

FIXTURE_TEARDOWN(scrub)
{
}

TEST_F_TIMEOUT(scrub, all_stacks, TIMEOUT)
{
	unsigned int index[PUB_MAX_DEVICES], s, i;
	struct pub_resource stack = { .block = 2, .resource = 3 };
	uint8_t *got = malloc(AREA);
	struct pub_memory mem;
	struct pub_device dev;
	uint32_t word;

	ASSERT_NE(NULL, got);
	ASSERT_NE(0, pub_devices(index));
	ASSERT_EQ(0, pub_open(&dev, index[0]));
	if (pub_ioctl(dev.fd, PUB_RESOURCE_MMAP, &stack) || stack.size > SMALL)
		SKIP(return, "the stacks are larger than 1 GiB");
	for (s = 0; s < dev.gen->nr_hbm; s++) {
		struct pub_hbm_scrub start = { .stack = s, .value = 0x5a5a0000 + s };
		struct pub_hbm_scrub_wait wait = { .stack = s };

		must(pub_alloc(&dev, 0, s, AREA, &mem));
		pub_fill(got, AREA, s);
		must(pub_write(&dev, &mem, 0, got, AREA));
		must(pub_ioctl(dev.fd, PUB_HBM_SCRUB_START, &start));
		must(pub_ioctl(dev.fd, PUB_HBM_SCRUB_WAIT, &wait));
		must(pub_read(&dev, &mem, 0, got, AREA));
		for (i = 0; i < AREA; i += sizeof(word)) {
			memcpy(&word, got + i, sizeof(word));
			if (word != start.value)
				break;
		}
		EXPECT_EQ(AREA, i) TH_LOG("HBM %u at +%#x: %#x", s, i, word);
		must(pub_free(&dev, &mem));
	}
	free(got);
}

TEST_HARNESS_MAIN
