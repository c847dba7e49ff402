// SPDX-License-Identifier: MIT
/*
 * Wrong calls that the public driver refuses: it says so in the kernel's log, as
 * errors, and device and driver work as before. A program of its own because of
 * those lines.
 *
 * Not tried: what that driver does not check (registers outside of its BAR, zero
 * copy of nothing, events of a core that is not there).
 */
#include <string.h>

#include "kselftest_harness.h"
#include "public_ring.h"

FIXTURE(bad)
{
	unsigned int index[PUB_MAX_DEVICES];
	struct pub_device dev;
	struct pub_memory mem;
	uint8_t buffer[8192];
};

FIXTURE_SETUP(bad)
{
	ASSERT_NE(0, pub_devices(self->index)) TH_LOG("there is no /dev/neuronN");
	ASSERT_EQ(0, pub_open(&self->dev, self->index[0]));
	ASSERT_EQ(0, pub_alloc(&self->dev, 0, 0, 4096, &self->mem));
}

/* Afterwards the device still copies. */
FIXTURE_TEARDOWN(bad)
{
	uint8_t back[4096];

	pub_fill(self->buffer, 4096, 1);
	EXPECT_EQ(0, pub_write(&self->dev, &self->mem, 0, self->buffer, 4096));
	EXPECT_EQ(0, pub_read(&self->dev, &self->mem, 0, back, 4096));
	EXPECT_EQ(4096, pub_differs(self->buffer, back, 4096));
	pub_close(&self->dev);
}

TEST_F(bad, range)
{
	EXPECT_NE(0, pub_write(&self->dev, &self->mem, 1, self->buffer, 4096));
	EXPECT_NE(0, pub_read(&self->dev, &self->mem, 4096, self->buffer, 1));
	EXPECT_NE(0, pub_copy(&self->dev, &self->mem, 0, &self->mem, 4000, 4096));
	EXPECT_NE(0, pub_set(&self->dev, &self->mem, 4000, 1, 4096));
}

TEST_F(bad, pointer)
{
	EXPECT_NE(0, pub_write(&self->dev, &self->mem, 0, (void *)8, 4096));
	EXPECT_NE(0, pub_read(&self->dev, &self->mem, 0, (void *)8, 4096));
}

TEST_F(bad, allocation)
{
	struct pub_memory mem;

	EXPECT_NE(0, pub_alloc(&self->dev, 0, self->dev.gen->nr_hbm, 4096, &mem));
	EXPECT_NE(0, pub_alloc(&self->dev, NEURON_MAX_CORES, 0, 4096, &mem));
	EXPECT_NE(0, pub_alloc(&self->dev, 0, 0, 1ull << 40, &mem));
}

TEST_F(bad, semaphore)
{
	struct pub_cell cell = { .core = 0, .index = 256 };

	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_SEM_READ, &cell));
	cell = (struct pub_cell){ .core = self->dev.gen->nr_cores, .index = 0 };
	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_SEM_READ, &cell));
}

TEST_F(bad, queue)
{
	struct pub_nq_init nq = { .type = PUB_NQ_NOTIFY, .size = 3000, .host = 1 };
	struct pub_ring ring;

	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_NQ_INIT, &nq));
	nq.size = 4096;
	nq.device = self->dev.gen->nr_cores;
	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_NQ_INIT, &nq));
	ASSERT_EQ(0, pub_ring_alloc(&ring, &self->dev, 0, -1, 64));
	EXPECT_NE(0, pub_ring_init(&ring, 0, NEURON_UDMA_QUEUES));
	ring.length = 40;
	EXPECT_NE(0, pub_ring_init(&ring, 0, 0));
	ring.length = 16;
	EXPECT_NE(0, pub_ring_init(&ring, 0, 0));
}

TEST_F(bad, wait)
{
	struct pub_mem_copy_wait wait = {
		.src = self->mem.handle,
		.dst = self->mem.handle,
		.wait = 1,
	};

	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_MEM_COPY_WAIT, &wait));
}

TEST_F(bad, engine_address)
{
	struct pub_program_engine args = {
		.dst = self->dev.gen->misc_bar0 + self->dev.gen->apb_addr[0],
		.buffer = (uintptr_t)self->buffer,
		.size = 64,
	};

	EXPECT_NE(0, pub_ioctl(self->dev.fd, PUB_PROGRAM_ENGINE, &args));
}

/* Registers that the driver keeps for itself: mailbox, doorbells. */
TEST_F(bad, protected_registers)
{
	uint32_t misc = self->dev.gen->misc_bar0;
	uint32_t dma = neuron_dma_bar0(self->dev.gen, 0) + NEURON_UDMA_M2S_Q(0);

	EXPECT_NE(0, pub_reg_write(&self->dev, misc + NEURON_MISC_TRIGGER, 1));
	EXPECT_NE(0, pub_reg_write(&self->dev, dma + NEURON_UDMA_Q_TAIL_INC, 1));
	EXPECT_NE(0, pub_reg_write(&self->dev, dma + NEURON_UDMA_Q_BASE_LO, 0));
}

TEST_HARNESS_MAIN
