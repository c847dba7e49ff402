// SPDX-License-Identifier: MIT
/*
 * The device as a driver meets it: identity, reset values, bring-up, copies,
 * interrupts, and what it makes of accesses that no driver should make.
 *
 *	test-device TYPE platform|silicon
 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/job.h"

#define CLASS		0x120000	/* processing accelerator */
#define MSIX_TABLE	4		/* offsets in the capability */
#define MSIX_PBA	8
#define EXPRESS_CAPS	4
#define EXPRESS_CONTROL	8
#define EXPRESS_FLR	(1u << 28)
#define START_FLR	(1u << 15)

/* The engine for copies: it has no core, so every chip has it. */
static unsigned int engine_of(const struct machine *m)
{
	return m->gen->nr_ring;
}

static uint64_t ctl(const struct machine *m, uint32_t reg)
{
	return neuron_ctl_bar0(m->gen) + reg;
}

static uint64_t dma_ctl(const struct machine *m, uint32_t reg)
{
	return ctl(m, NEURON_CTL_DMA(engine_of(m)) + reg);
}

static void test_identity(void **state)
{
	struct machine *m = *state;
	const struct neuron_gen *gen = m->gen;
	uint32_t vectors;

	assert_int_equal(machine_config_read(m, 0x00),
			 (uint32_t)gen->pci_device << 16 | NEURON_PCI_VENDOR);
	assert_int_equal(machine_config_read(m, 0x08),
			 CLASS << 8 | (m->silicon ? NEURON_PCI_REVISION_SILICON :
						    NEURON_PCI_REVISION_PLATFORM));
	assert_true(machine_bar_size(m, 0) == gen->bar0_size);
	assert_true(machine_bar_size(m, 2) == (m->silicon ? 0 : gen->bar0_size));
	assert_true(machine_bar_size(m, 4) == (m->silicon ? gen->bar4_silicon :
							    gen->bar4_platform));

	machine_map(m);
	assert_int_not_equal(m->express, 0);
	vectors = (machine_config_read(m, m->msix) >> 16 & 0x7ff) + 1;
	assert_int_equal(vectors, gen->nr_cores + 1);
	assert_int_equal(machine_config_read(m, m->msix + MSIX_TABLE),
			 gen->hole_bar0 + NEURON_HOLE_MSIX_TABLE);
	assert_int_equal(machine_config_read(m, m->msix + MSIX_PBA),
			 gen->hole_bar0 + NEURON_HOLE_MSIX_PBA);
}

static void check_control(struct machine *m)
{
	const struct neuron_gen *gen = m->gen;
	unsigned int i;

	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_MAGIC)),
			 NEURON_CTL_MAGIC_VALUE);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_VERSION)),
			 NEURON_CTL_VERSION_VALUE);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_GENERATION)),
			 gen->generation);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_FABRIC_CHIPS)), 1);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_CAUSE)), 0);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_MASK)), ~0u);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_VECTOR)),
			 gen->nr_cores);
	for (i = 0; i < gen->nr_cores; i++) {
		uint32_t core = NEURON_CTL_CORE(i);

		assert_int_equal(machine_read(m, ctl(m, core + NEURON_CORE_STATUS)),
				 NEURON_CORE_IDLE);
		assert_int_equal(machine_read(m, ctl(m, core + NEURON_CORE_MASK)),
				 ~0u);
		assert_int_equal(machine_read(m, ctl(m, core + NEURON_CORE_VECTOR)),
				 i);
	}
	for (i = 0; i < gen->nr_hbm; i++)
		assert_true(qtest_read(&m->qt, m->bar0 +
				       ctl(m, NEURON_CTL_HBM_SIZE(i)), 8) >=
			    NEURON_GIB(1));
}

static void check_misc(struct machine *m)
{
	uint32_t misc = m->gen->misc_bar0, i;

	assert_int_equal(machine_read(m, misc + NEURON_MISC_API_VERSION),
			 NEURON_MISC_API_VERSION_VALUE);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_ROUTING_ID), 0);
	assert_int_not_equal(machine_read(m, misc + NEURON_MISC_SERIAL_LO), 0);
	assert_int_not_equal(machine_read(m, misc + NEURON_MISC_SERIAL_HI), 0);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_SRAM_ECC), 0);
	for (i = 0; i < m->gen->nr_hbm; i++)
		assert_int_equal(machine_read(m, misc + NEURON_MISC_HBM_ECC(i)),
				 0);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_HBM_REPAIR), 0);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_STATUS), 0);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_RESET_REQUEST), 0);
	/* Plain memory. */
	machine_write(m, misc + NEURON_MISC_METRIC, 0x12345678);
	assert_int_equal(machine_read(m, misc + NEURON_MISC_METRIC), 0x12345678);
}

static uint32_t queue_read(const struct queue *q, bool s2m, uint32_t reg)
{
	return machine_read(q->m, queue_reg(q, s2m, reg));
}

static void check_queues(struct machine *m)
{
	unsigned int e, side;

	for (e = 0; e < m->gen->nr_dma; e += 5) {
		struct queue q = { .m = m, .engine = e, .index = e % 16 };
		uint64_t block = neuron_dma_bar0(m->gen, e);

		for (side = 0; side < 2; side++) {
			assert_int_equal(queue_read(&q, side, NEURON_UDMA_Q_CFG),
					 NEURON_UDMA_Q_CFG_RESET);
			assert_int_equal(queue_read(&q, side,
						    NEURON_UDMA_Q_LENGTH), 0);
			assert_int_equal(queue_read(&q, side,
						    NEURON_UDMA_Q_STATUS), 0);
			assert_int_equal(queue_read(&q, side,
						    NEURON_UDMA_Q_HEAD),
					 1u << 30);
		}
		assert_int_equal(queue_read(&q, false, NEURON_UDMA_M2S_Q_RATE),
				 7);
		assert_int_equal(machine_read(m, block + NEURON_UDMA_M2S_STATE),
				 0);
		assert_int_equal(machine_read(m, block + NEURON_UDMA_S2M_STATE),
				 0);
	}
}

static void test_reset_values(void **state)
{
	struct machine *m = *state;
	uint64_t hole;
	unsigned int v;

	machine_map(m);
	check_control(m);
	check_misc(m);
	check_queues(m);
	hole = m->gen->hole_bar0;
	for (v = 0; v <= m->gen->nr_cores; v++)
		assert_int_equal(machine_read(m, hole + v * 16 + 12), 1);
	assert_int_equal(machine_read(m, hole + NEURON_HOLE_MSIX_PBA), 0);
	if (m->bar2)	/* the same registers once more */
		assert_int_equal(qtest_read(&m->qt, m->bar2 +
					    ctl(m, NEURON_CTL_MAGIC), 4),
				 NEURON_CTL_MAGIC_VALUE);
}

/* Host to HBM to host as the public driver does it, with its marker. */
static void test_bring_up(void **state)
{
	struct machine *m = *state;
	uint32_t marker[2] = { 0xabcdef01, 0 };
	uint8_t data[5000], back[5000];
	uint64_t hbm, at = RAM_DATA;
	struct queue q;
	unsigned int i;

	machine_map(m);
	hbm = machine_hbm(m, 1, 0x1000);
	queue_init_engine(m, engine_of(m));
	queue_init(&q, m, engine_of(m), 0, 64);
	assert_int_equal(queue_read(&q, true, NEURON_UDMA_Q_CFG),
			 NEURON_UDMA_Q_CFG_RESET | 0x30000);
	assert_int_equal(queue_read(&q, true, NEURON_UDMA_Q_LENGTH), 64);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	qtest_memwrite(&m->qt, at, data, sizeof(data));
	qtest_memwrite(&m->qt, at + 0x10000, marker, sizeof(marker));

	queue_copy(&q, hbm, machine_host(m, at), 4096, 0);
	queue_copy(&q, hbm + 4096, machine_host(m, at + 4096),
		   sizeof(data) - 4096, 0);
	queue_copy(&q, machine_host(m, at + 0x8000), hbm, sizeof(data), 0);
	queue_copy(&q, machine_host(m, at + 0x10004),
		   machine_host(m, at + 0x10000), 4, 0);
	queue_ring(&q, 4);
	machine_wait_ram(m, at + 0x10004, marker[0]);
	qtest_memread(&m->qt, at + 0x8000, back, sizeof(back));
	assert_memory_equal(back, data, sizeof(data));
	/* And through BAR4. */
	qtest_memread(&m->qt, m->bar4 + 0x1000 +
		      qtest_read(&m->qt, m->bar0 + ctl(m, NEURON_CTL_HBM_BAR(1)),
				 8), back, sizeof(back));
	assert_memory_equal(back, data, sizeof(data));
	queue_wait(&q);
}

/* Every engine, the ring twice over: indices and ring ids wrap. */
static void test_every_engine(void **state)
{
	struct machine *m = *state;
	unsigned int e, i, n;
	struct queue q;

	machine_map(m);
	for (e = 0; e < m->gen->nr_dma; e++) {
		queue_init(&q, m, e, e * 7 % 16, 32);
		for (n = 0; n < 3; n++) {
			for (i = 0; i < 25; i++)
				queue_copy(&q, machine_hbm(m, 0, e * 64 + i),
					   machine_host(m, RAM_DATA + i), 1, 0);
			queue_ring(&q, 25);
			queue_wait(&q);
			if (e % 16)	/* slow over a socket: once is enough */
				break;
		}
	}
}

static void test_interrupt(void **state)
{
	struct machine *m = *state;
	const unsigned int v = 1;
	struct queue q;

	machine_map(m);
	machine_vector(m, v, 0x4321);
	queue_init(&q, m, engine_of(m), 2, 32);
	machine_write(m, dma_ctl(m, NEURON_DMA_VECTOR), v);
	machine_write(m, dma_ctl(m, NEURON_DMA_MASK), ~NEURON_DMA_CAUSE_DONE(2));
	queue_copy(&q, machine_hbm(m, 0, 0), machine_host(m, RAM_DATA), 64,
		   NEURON_UDMA_DESC_INT_EN);
	queue_ring(&q, 1);
	machine_wait_ram(m, RAM_MSI + v * 16, 0x4321);
	assert_int_equal(machine_read(m, dma_ctl(m, NEURON_DMA_CAUSE)),
			 NEURON_DMA_CAUSE_DONE(2));
	machine_write(m, dma_ctl(m, NEURON_DMA_CAUSE), ~0u);
	assert_int_equal(machine_read(m, dma_ctl(m, NEURON_DMA_CAUSE)), 0);
}

/* While the vector is masked the message waits in the pending bits. */
static void test_pending(void **state)
{
	struct machine *m = *state;
	uint64_t hole, control;
	const unsigned int v = 2;
	struct queue q;

	machine_map(m);
	hole = m->gen->hole_bar0;
	control = hole + NEURON_HOLE_MSIX_TABLE + v * 16 + 12;
	machine_vector(m, v, 0x77);
	machine_write(m, control, 1);
	queue_init(&q, m, engine_of(m), 0, 32);
	machine_write(m, dma_ctl(m, NEURON_DMA_VECTOR), v);
	machine_write(m, dma_ctl(m, NEURON_DMA_MASK), 0);
	queue_copy(&q, machine_hbm(m, 0, 0), machine_host(m, RAM_DATA), 64,
		   NEURON_UDMA_DESC_INT_EN);
	queue_ring(&q, 1);
	machine_wait(m, hole + NEURON_HOLE_MSIX_PBA, 1u << v, 1u << v);
	assert_int_equal(qtest_read(&m->qt, RAM_MSI + v * 16, 4), 0);
	machine_write(m, control, 0);
	machine_wait_ram(m, RAM_MSI + v * 16, 0x77);
	assert_int_equal(machine_read(m, hole + NEURON_HOLE_MSIX_PBA), 0);
}

/* A copy still works: what a test did before has not broken the device. */
static void check_alive(struct machine *m)
{
	uint32_t word = 0x600df00d;
	struct queue q;

	qtest_write(&m->qt, RAM_DATA, word, 4);
	qtest_write(&m->qt, RAM_DATA + 64, 0, 4);
	queue_init(&q, m, engine_of(m), 5, 32);
	queue_copy(&q, machine_host(m, RAM_DATA + 64), machine_host(m, RAM_DATA),
		   4, 0);
	queue_ring(&q, 1);
	machine_wait_ram(m, RAM_DATA + 64, word);
}

static void test_odd_accesses(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 4, 8 };
	struct machine *m = *state;
	uint64_t places[6];
	unsigned int i, s, off;

	machine_map(m);
	places[0] = ctl(m, 0);
	places[1] = neuron_dma_bar0(m->gen, 0) + NEURON_UDMA_M2S_Q(0);
	places[2] = m->gen->misc_bar0;
	places[3] = m->gen->hole_bar0;
	places[4] = m->gen->bar0_size - 16;
	places[5] = neuron_tpb_bar0(m->gen, 0) + NEURON_TPB_SEM;
	for (i = 0; i < 6; i++)
		for (s = 0; s < 4; s++)
			for (off = 0; off < 16; off++) {
				uint64_t at = m->bar0 + places[i] + off;

				qtest_read(&m->qt, at, sizes[s]);
				qtest_write(&m->qt, at, 0x5a5a5a5a5a5a5a5aull,
					    sizes[s]);
			}
	/* What cannot be a register access reads as ones. */
	assert_int_equal(qtest_read(&m->qt, m->bar0 + ctl(m, 0), 2), 0xffff);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + ctl(m, 1), 1), 0xff);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_MAGIC)),
			 NEURON_CTL_MAGIC_VALUE);
	/* Where nothing is, nothing happens. */
	machine_write(m, m->gen->hole_bar0 - 4, 1);
	assert_int_equal(machine_read(m, m->gen->hole_bar0 - 4), 0);
	check_alive(m);
}

/* @addr cannot be written: the queue stops, says why, and a reset helps. */
static void check_bad_address(struct machine *m, uint64_t addr,
			      enum neuron_cause cause)
{
	struct queue q;

	queue_init(&q, m, engine_of(m), 3, 32);
	machine_write(m, dma_ctl(m, NEURON_DMA_CAUSE), ~0u);
	queue_copy(&q, addr, machine_host(m, RAM_DATA), 64, 0);
	queue_ring(&q, 1);
	machine_wait(m, dma_ctl(m, NEURON_DMA_CAUSE), NEURON_DMA_CAUSE_ERROR(3),
		     NEURON_DMA_CAUSE_ERROR(3));
	assert_int_equal(machine_read(m, dma_ctl(m, NEURON_DMA_ERROR(0))) >> 24,
			 cause);
	queue_init(&q, m, engine_of(m), 3, 32);
	assert_int_equal(machine_read(m, dma_ctl(m, NEURON_DMA_ERROR(0))) >> 24,
			 0);
}

static void test_bad_descriptors(void **state)
{
	struct machine *m = *state;

	machine_map(m);
	check_bad_address(m, machine_host(m, NEURON_GIB(1000)),
			  NEURON_CAUSE_HOST);
	/* The register window of this device is no memory for it. */
	check_bad_address(m, machine_host(m, m->bar0), NEURON_CAUSE_HOST);
	check_bad_address(m, NEURON_GIB(100), NEURON_CAUSE_ADDRESS);
	check_bad_address(m, 1ull << 63, NEURON_CAUSE_ADDRESS);
	check_alive(m);
}

static void test_bus_master_off(void **state)
{
	struct machine *m = *state;
	struct queue q;

	machine_map(m);
	queue_init(&q, m, engine_of(m), 1, 32);
	queue_copy(&q, machine_host(m, RAM_DATA + 64), machine_host(m, RAM_DATA),
		   4, 0);
	qtest_write(&m->qt, RAM_DATA, 1, 4);
	machine_config_write(m, 0x04, 0x2);
	queue_ring(&q, 1);
	machine_wait(m, dma_ctl(m, NEURON_DMA_CAUSE), NEURON_DMA_CAUSE_ERROR(1),
		     NEURON_DMA_CAUSE_ERROR(1));
	assert_int_equal(qtest_read(&m->qt, RAM_DATA + 64, 4), 0);
	machine_config_write(m, 0x04, 0x6);
	check_alive(m);
}

static void test_bad_rings(void **state)
{
	static const uint32_t lengths[] = { 0, 1, 31, 33, 0xffffff };
	struct machine *m = *state;
	struct queue q;
	unsigned int i;

	machine_map(m);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		queue_init(&q, m, engine_of(m), 4, lengths[i]);
		queue_ring(&q, 1);
		queue_ring(&q, 0xffffff);
	}
	queue_init(&q, m, engine_of(m), 4, 32);
	queue_ring(&q, 33);	/* more than it has room for */
	check_alive(m);
}

static void test_device_reset(void **state)
{
	struct machine *m = *state;
	uint32_t misc;

	machine_map(m);
	misc = m->gen->misc_bar0;
	machine_write(m, ctl(m, NEURON_CTL_CORE(0) + NEURON_CORE_MASK), 0);
	machine_write(m, misc + NEURON_MISC_RESET_REQUEST,
		      NEURON_MISC_RESET_DEVICE);
	machine_write(m, misc + NEURON_MISC_TRIGGER, 1);
	machine_wait(m, misc + NEURON_MISC_RESET_REQUEST, ~0u, 0);
	machine_wait(m, misc + NEURON_MISC_STATUS, NEURON_MISC_STATUS_BUSY, 0);
	assert_int_equal(machine_read(m, ctl(m, NEURON_CTL_CORE(0) +
					     NEURON_CORE_MASK)), ~0u);
	check_alive(m);
}

static void test_function_reset(void **state)
{
	struct machine *m = *state;
	uint32_t control;
	struct queue q;

	machine_map(m);
	if (!(machine_config_read(m, m->express + EXPRESS_CAPS) & EXPRESS_FLR)) {
		print_message("the device has no function level reset\n");
		skip();
	}
	queue_init(&q, m, engine_of(m), 0, 32);
	machine_write(m, ctl(m, NEURON_CTL_MASK), 0);
	control = machine_config_read(m, m->express + EXPRESS_CONTROL);
	machine_config_write(m, m->express + EXPRESS_CONTROL,
			     (control & 0xffff) | START_FLR);
	assert_int_equal(machine_config_read(m, 0x04) & 0x6, 0);
	machine_map(m);
	check_control(m);
	check_queues(m);
	check_alive(m);
}

static struct machine *machine_of(int argc, char **argv)
{
	static struct machine machine;

	machine.gen = argc == 3 ? machine_gen(argv[1]) : NULL;
	if (!machine.gen)
		return NULL;
	machine.silicon = !strcmp(argv[2], "silicon");
	return &machine;
}

#define TEST(name) \
	{ #name, test_##name, machine_setup, machine_teardown, machine }

int main(int argc, char **argv)
{
	struct machine *machine = machine_of(argc, argv);
	const struct CMUnitTest tests[] = {
		TEST(identity),
		TEST(reset_values),
		TEST(bring_up),
		TEST(every_engine),
		TEST(interrupt),
		TEST(pending),
		TEST(odd_accesses),
		TEST(bad_descriptors),
		TEST(bus_master_off),
		TEST(bad_rings),
		TEST(device_reset),
		TEST(function_reset),
	};

	if (!machine) {
		fprintf(stderr, "usage: test-device TYPE platform|silicon\n");
		return EXIT_FAILURE;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
