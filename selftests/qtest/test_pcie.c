// SPDX-License-Identifier: MIT
/*
 * A chip behind a root port: PCI Express capabilities, power states, resets, errors
 * on demand, and removal without a word.
 */
#include "machine.h"
#include "qmp.h"

#include "neuron/job.h"
#include "trn/function.h"
#include "trn/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The root complex's window on configuration space, and how it is switched on. */
#define ECAM		0xb0000000ull
#define CONFIG_ADDRESS	0xcf8
#define CONFIG_DATA	0xcfc
#define PCIEXBAR	0x60

#define PORT		(ECAM | 4 << 15)	/* slot 4 of bus 0 */
#define CHIP		(ECAM | 1 << 20)	/* slot 0 of bus 1 */
#define BUSES		0x00010100u

#define BAR0_AT		(1ull << 36)
#define BAR2_AT		(1ull << 37)
#define BAR4_AT		(1ull << 39)
#define WINDOW_END	((1ull << 40) - 1)

#define COMMAND		0x04
#define COMMAND_MEMORY	0x2
#define COMMAND_MASTER	0x4
#define BAR(n)		(0x10 + (n) * 4)
#define CAP_POINTER	0x34
#define CAP_PM		0x01
#define CAP_EXPRESS	0x10
#define CAP_MSIX	0x11
#define BRIDGE_CONTROL	0x3e
#define BRIDGE_RESET	0x40

#define PM_CAPS		2
#define PM_CONTROL	4
#define PM_STATE	3u
#define PM_NO_RESET	8u
#define D3HOT		3u

#define EXP_DEVCAP	4
#define EXP_DEVCTL	8
#define EXP_SLTCTL	0x18
#define EXP_SLTSTA	0x1a
#define DEVCAP_FLR	(1u << 28)
#define DEVCTL_ERRORS	7u
#define SLTCTL_LED_OFF	(3u << 8)
#define SLTCTL_POWER_OFF	(1u << 10)
#define SLTSTA_PRESENT	(1u << 6)
#define SLTSTA_CHANGED	(1u << 3)

#define AER		0x100
#define AER_ID		1
#define AER_UNCOR	4
#define AER_HEADER	0x1c
#define AER_MALFORMED	(1u << 18)

/* VT-d. */
#define IOMMU		0xfed90000ull
#define IOMMU_COMMAND	0x18
#define IOMMU_ROOT	0x20
#define IOMMU_FAULTS	0x34
#define IOMMU_SET_ROOT	(1u << 30)
#define IOMMU_ENABLE	(1u << 31)
#define IOMMU_FAULT_PENDING	2

/* A register of the chip that keeps what is written. */
#define KEEPS		(NEURON_CTL_MASK)

struct pcie {
	struct machine m;
	struct qmp qmp;
	unsigned int pm;
	unsigned int express;
	unsigned int msix;
};

static uint32_t config(struct pcie *p, uint64_t function, unsigned int reg)
{
	return (uint32_t)qtest_read(&p->m.qt, function + reg, 4);
}

static void set_config(struct pcie *p, uint64_t function, unsigned int reg,
		       uint32_t value, unsigned int size)
{
	qtest_write(&p->m.qt, function + reg, value, size);
}

static void enable_ecam(struct pcie *p)
{
	qtest_outl(&p->m.qt, CONFIG_ADDRESS, 0x80000000u | PCIEXBAR);
	qtest_outl(&p->m.qt, CONFIG_DATA, (uint32_t)ECAM | 1);
}

static void set_bar(struct pcie *p, unsigned int bar, uint64_t addr)
{
	set_config(p, CHIP, BAR(bar), (uint32_t)addr, 4);
	set_config(p, CHIP, BAR(bar + 1), addr >> 32, 4);
}

/* As firmware does it: buses, the port's window, the chip's BARs. */
static void map(struct pcie *p)
{
	set_config(p, PORT, 0x18, BUSES, 4);
	set_config(p, PORT, 0x24, (uint32_t)(BAR0_AT >> 16 & 0xfff0) |
				  (uint32_t)(WINDOW_END & 0xfff00000), 4);
	set_config(p, PORT, 0x28, BAR0_AT >> 32, 4);
	set_config(p, PORT, 0x2c, WINDOW_END >> 32, 4);
	set_config(p, PORT, COMMAND, COMMAND_MEMORY | COMMAND_MASTER, 2);
	set_bar(p, 0, BAR0_AT);
	set_bar(p, 2, BAR2_AT);
	set_bar(p, 4, BAR4_AT);
	set_config(p, CHIP, COMMAND, COMMAND_MEMORY | COMMAND_MASTER, 2);
	p->m.bar0 = BAR0_AT;
	p->m.bar2 = BAR2_AT;
	p->m.bar4 = BAR4_AT;
}

static unsigned int capability(struct pcie *p, uint64_t function, uint8_t id)
{
	unsigned int at = config(p, function, CAP_POINTER) & 0xfc, n;
	uint32_t word;

	for (n = 0; at && n < 48; n++) {
		word = config(p, function, at);
		if ((word & 0xff) == id)
			return at;
		at = word >> 8 & 0xfc;
	}
	return 0;
}

static int setup_with(void **state, const char *more)
{
	struct pcie *p = calloc(1, sizeof(*p));
	char device[64];
	const char *const args[] = {
		/* Hot plug by the port itself, not by ACPI. */
		"-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
		"-device", "pcie-root-port,id=slot1,addr=4,chassis=1,slot=1",
		"-device", device,
		"-chardev", p->qmp.chardev, "-mon", "chardev=mon,mode=control",
		more ? "-device" : NULL, more, NULL,
	};

	p->m.gen = *state;
	snprintf(device, sizeof(device), "%s,id=chip,bus=slot1,addr=0",
		 p->m.gen->name);
	qmp_prepare(&p->qmp);
	qtest_start(&p->m.qt, args);
	qmp_begin(&p->qmp);
	enable_ecam(p);
	map(p);
	p->pm = capability(p, CHIP, CAP_PM);
	p->express = capability(p, CHIP, CAP_EXPRESS);
	p->msix = capability(p, CHIP, CAP_MSIX);
	*state = p;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, NULL);
}

static int setup_iommu(void **state)
{
	return setup_with(state, "intel-iommu");
}

static int teardown(void **state)
{
	struct pcie *p = *state;

	qtest_stop(&p->m.qt);
	qmp_end(&p->qmp);
	free(p);
	return 0;
}

static uint64_t keeps(struct pcie *p)
{
	return neuron_ctl_bar0(p->m.gen) + KEEPS;
}

static void set_power(struct pcie *p, unsigned int state)
{
	set_config(p, CHIP, p->pm + PM_CONTROL, state, 2);
}

static unsigned int power(struct pcie *p)
{
	return config(p, CHIP, p->pm + PM_CONTROL) & PM_STATE;
}

static void nap_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000l }, NULL);
}

static void test_capabilities(void **state)
{
	struct pcie *p = *state;

	assert_int_not_equal(p->pm, 0);
	assert_int_not_equal(p->express, 0);
	assert_int_not_equal(p->msix, 0);
	assert_int_equal(config(p, CHIP, p->pm) >> 16 & 7, 3);
	assert_true(config(p, CHIP, p->pm + PM_CONTROL) & PM_NO_RESET);
	assert_true(config(p, CHIP, p->express + EXP_DEVCAP) & DEVCAP_FLR);
	/* It is the last extended one: there is no serial number and no resizable BAR. */
	assert_int_equal(config(p, CHIP, AER) & 0xffff, AER_ID);
	assert_int_equal(config(p, CHIP, AER) >> 20, 0);
	assert_int_equal(capability(p, ECAM | 31 << 15, CAP_PM), 0);
}

/* --- what the chip library says that a front end has --- */

static bool no_memory(void *opaque, uint64_t addr, void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static bool nowhere(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	(void)opaque;
	(void)addr;
	(void)buf;
	(void)len;
	return false;
}

static void nobody(void *opaque, unsigned int vector)
{
	(void)opaque;
	(void)vector;
}

static void silent(void *opaque, enum trn_log_level level, const char *line)
{
	(void)opaque;
	(void)level;
	(void)line;
}

static void expect_capability(struct pcie *p, const struct trn_capability *cap)
{
	unsigned int at = cap->extended ? cap->offset : capability(p, CHIP, (uint8_t)cap->id);
	unsigned int i;

	assert_int_not_equal(at, 0);
	if (cap->offset)
		assert_int_equal(at, cap->offset);
	if (cap->extended)
		assert_int_equal(config(p, CHIP, at) & 0xfffff, cap->version << 16 | cap->id);
	for (i = cap->extended ? 4 : 2; i < cap->size; i++)
		if ((config(p, CHIP, (at + i) & ~3u) >> (at + i) % 4 * 8 & 0xff) !=
		    cap->value[i])
			fail_msg("capability %#x: byte %#x is %#x, not %#x", cap->id, i,
				 config(p, CHIP, (at + i) & ~3u) >> (at + i) % 4 * 8 & 0xff,
				 cap->value[i]);
}

static void test_table(void **state)
{
	static const struct trn_port port = {
		.host_read = no_memory,
		.host_write = nowhere,
		.irq = nobody,
		.log = silent,
	};
	struct pcie *p = *state;
	struct trn_capability cap[TRN_CAPABILITIES];
	struct trn_function_config config_of = {
		.chip = {
			.gen = p->m.gen,
			.port = &port,
			.pool = trn_pool_new(1, NULL, NULL),
		},
		.vectors = TRN_FUNCTION_AUTO,
	};
	char why[TRN_FUNCTION_WHY];
	struct trn_function *fn = trn_function_new(&config_of, why);
	unsigned int nr;

	assert_non_null(fn);
	for (nr = trn_function_capabilities(fn, cap); nr; nr--)
		expect_capability(p, &cap[nr - 1]);
	trn_function_remove(fn);
	while (!trn_function_poll(fn))
		nap_ms(1);
	trn_function_free(fn);
	trn_pool_free(config_of.chip.pool);
}

/* Memory reads as ones and is not written; nothing is forgotten. */
static void test_d3hot(void **state)
{
	struct pcie *p = *state;
	struct machine *m = &p->m;

	qtest_write(&m->qt, m->bar0 + keeps(p), 0x5a5a, 4);
	qtest_write(&m->qt, m->bar4 + 0x1000, 0x1234567, 4);
	set_power(p, D3HOT);
	assert_int_equal(power(p), D3HOT);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + keeps(p), 4), 0xffffffff);
	assert_int_equal(qtest_read(&m->qt, m->bar2 + keeps(p), 4), 0xffffffff);
	assert_int_equal(qtest_read(&m->qt, m->bar4 + 0x1000, 4), 0xffffffff);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + m->gen->hole_bar0 +
				    NEURON_HOLE_MSIX_TABLE, 4), 0xffffffff);
	qtest_write(&m->qt, m->bar0 + keeps(p), 1, 4);
	qtest_write(&m->qt, m->bar4 + 0x1000, 1, 4);
	/* Only D0 and D3hot exist. */
	set_power(p, 1);
	assert_int_equal(power(p), D3HOT);
	set_power(p, 0);
	assert_int_equal(power(p), 0);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + keeps(p), 4), 0x5a5a);
	assert_int_equal(qtest_read(&m->qt, m->bar4 + 0x1000, 4), 0x1234567);
	set_power(p, 2);
	assert_int_equal(power(p), 0);
}

/*
 * Copies from HBM to one place of guest memory, whose first word each queue counts up. All
 * queues of an engine together mostly take far longer than a command to QEMU does.
 */
#define COPIES		2000
#define COPY_BYTES	0x8000
#define COPY_RING	2048
#define TRIES		20	/* on a busy machine */
static void fill_ring(struct machine *m, struct queue *q)
{
	uint32_t i;

	for (i = 0; i < COPIES; i++)
		qtest_write(&m->qt, m->bar4 + 0x100000 + i * 64ull, i + 1, 4);
	for (i = 0; i < COPIES; i++)
		queue_copy(q, machine_host(m, RAM_DATA),
			   machine_hbm(m, 0, 0x100000 + i * 64ull), COPY_BYTES,
			   0);
}

static void start_copies(struct pcie *p, struct queue *q, unsigned int queues)
{
	static uint8_t ring[2 * COPY_RING * sizeof(struct neuron_udma_desc)];
	struct machine *m = &p->m;
	unsigned int i;

	qtest_write(&m->qt, RAM_DATA, 0, 4);
	queue_init_engine(m, m->gen->nr_ring);
	for (i = 0; i < queues; i++)
		queue_init(&q[i], m, m->gen->nr_ring, i, COPY_RING);
	fill_ring(m, q);
	qtest_memread(&m->qt, q->ram, ring, sizeof(ring));
	for (i = 1; i < queues; i++) {
		qtest_memwrite(&m->qt, q[i].ram, ring, sizeof(ring));
		q[i].tail = q->tail;
	}
	for (i = 0; i < queues; i++)
		queue_ring(&q[i], COPIES);
}

static void finish_copies(struct pcie *p, struct queue *q)
{
	unsigned int i;

	set_power(p, 0);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		queue_wait(&q[i]);
}

/* Into D3hot in the middle of the copies: what the last one before that was. */
static uint64_t sleep_in_copies(struct pcie *p, struct queue *q)
{
	uint64_t seen;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		start_copies(p, q, NEURON_UDMA_QUEUES);
		set_power(p, D3HOT);
		seen = qtest_read(&p->m.qt, RAM_DATA, 4);
		if (seen < COPIES)
			return seen;
		finish_copies(p, q);
	}
	return COPIES;
}

/* DMA stops where it is, and goes on from there. */
static void test_d3hot_stops_dma(void **state)
{
	struct queue q[NEURON_UDMA_QUEUES];
	struct pcie *p = *state;
	struct machine *m = &p->m;
	uint64_t seen;

	seen = sleep_in_copies(p, q);
	assert_in_range(seen, 0, COPIES - 1);
	nap_ms(20);
	assert_int_equal(qtest_read(&m->qt, RAM_DATA, 4), seen);
	finish_copies(p, q);
	assert_int_equal(qtest_read(&m->qt, RAM_DATA, 4), COPIES);
}

/* A reset of the port's bus is one of the chip, and in D3hot too. */
static void test_bus_reset(void **state)
{
	struct pcie *p = *state;
	struct machine *m = &p->m;
	uint64_t fresh = qtest_read(&m->qt, m->bar0 + keeps(p), 4);

	qtest_write(&m->qt, m->bar0 + keeps(p), 0x5a5a, 4);
	qtest_write(&m->qt, m->bar4, 77, 4);
	set_power(p, D3HOT);
	set_config(p, PORT, BRIDGE_CONTROL, BRIDGE_RESET, 2);
	set_config(p, PORT, BRIDGE_CONTROL, 0, 2);
	assert_int_equal(power(p), 0);
	assert_int_equal(config(p, CHIP, COMMAND) & 0xffff, 0);
	assert_int_equal(config(p, CHIP, BAR(0)) & ~0xfu, 0);
	map(p);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + keeps(p), 4), fresh);
	assert_int_equal(qtest_read(&m->qt, m->bar4, 4), 0);
}

/* QEMU's own command puts an error into the chip's registers. */
static void test_error_injection(void **state)
{
	struct pcie *p = *state;
	char answer[1024];

	set_config(p, CHIP, p->express + EXP_DEVCTL, DEVCTL_ERRORS, 2);
	qmp_monitor(&p->qmp, "pcie_aer_inject_error chip MALF_TLP 1 2 3 4", answer,
		    sizeof(answer));
	if (!(config(p, CHIP, AER + AER_UNCOR) & AER_MALFORMED))
		fail_msg("no error in the status; QEMU said: %s", answer);
	assert_int_equal(config(p, CHIP, AER + AER_HEADER), 0x01000000);
	set_config(p, CHIP, AER + AER_UNCOR, AER_MALFORMED, 4);
	assert_int_equal(config(p, CHIP, AER + AER_UNCOR), 0);
}

/* An IOMMU that allows nothing: the queue stops, and the IOMMU knows of it. */
static void test_refused_by_iommu(void **state)
{
	struct pcie *p = *state;
	struct machine *m = &p->m;
	unsigned int engine = m->gen->nr_ring;
	struct queue q;

	qtest_write(&m->qt, IOMMU + IOMMU_ROOT, RAM_DATA + 0x10000, 8);
	qtest_write(&m->qt, IOMMU + IOMMU_COMMAND, IOMMU_SET_ROOT, 4);
	qtest_write(&m->qt, IOMMU + IOMMU_COMMAND, IOMMU_ENABLE, 4);
	start_copies(p, &q, 1);
	machine_wait(m, neuron_ctl_bar0(m->gen) + NEURON_CTL_DMA(engine) +
		     NEURON_DMA_ERROR(0), 0xff, NEURON_CAUSE_HOST);
	assert_true(qtest_read(&m->qt, IOMMU + IOMMU_FAULTS, 4) &
		    IOMMU_FAULT_PENDING);
	assert_int_equal(qtest_read(&m->qt, RAM_DATA, 4), 0);
}

/* QEMU says that it has freed the chip. */
static void expect_deleted(struct pcie *p)
{
	char line[1024];

	while (!p->qmp.deleted) {
		qmp_hear(&p->qmp, line, sizeof(line));
		if (!*line)
			fail_msg("the chip is not deleted");
	}
}

static void test_surprise_removal(void **state)
{
	struct pcie *p = *state;
	struct machine *m = &p->m;
	unsigned int express = capability(p, PORT, CAP_EXPRESS);
	unsigned int slot = express + EXP_SLTSTA;
	char answer[1024];
	struct queue q;

	start_copies(p, &q, 1);
	assert_true(qtest_read(&m->qt, PORT + slot, 2) & SLTSTA_PRESENT);
	qmp_monitor(&p->qmp, "qom-set /machine/peripheral/chip surprise-removal true",
		    answer, sizeof(answer));
	assert_false(qtest_read(&m->qt, PORT + slot, 2) & SLTSTA_PRESENT);
	assert_true(qtest_read(&m->qt, PORT + slot, 2) & SLTSTA_CHANGED);
	assert_int_equal(config(p, CHIP, 0), 0xffffffff);
	assert_int_equal(qtest_read(&m->qt, m->bar0 + keeps(p), 4), 0xffffffff);
	assert_int_equal(qtest_read(&m->qt, m->bar4, 4), 0xffffffff);
	qtest_write(&m->qt, m->bar0 + keeps(p), 1, 4);
	set_config(p, CHIP, COMMAND, 0, 2);
	qmp_monitor(&p->qmp, "qom-set /machine/peripheral/chip surprise-removal false",
		    answer, sizeof(answer));
	assert_non_null(strstr(answer, "does not come back"));
	/* What is left goes when the guest has switched the slot off. */
	assert_false(p->qmp.deleted);
	set_config(p, PORT, express + EXP_SLTCTL, SLTCTL_POWER_OFF | SLTCTL_LED_OFF,
		   2);
	qmp_execute(&p->qmp, "\"device_del\",\"arguments\":{\"id\":\"chip\"}",
		    answer, sizeof(answer));
	if (!strstr(answer, "\"return\": {}"))
		fail_msg("device_del: %s", answer);
	expect_deleted(p);
}

#define TEST(name)	{ #name, test_##name, setup, teardown, gen }

int main(int argc, char **argv)
{
	void *gen = argc == 2 ? (void *)machine_gen(argv[1]) : NULL;
	const struct CMUnitTest tests[] = {
		TEST(capabilities),
		TEST(table),
		TEST(d3hot),
		TEST(d3hot_stops_dma),
		TEST(bus_reset),
		TEST(error_injection),
		TEST(surprise_removal),
		{ "refused_by_iommu", test_refused_by_iommu, setup_iommu,
		  teardown, gen },
	};

	if (!gen) {
		fprintf(stderr, "usage: test-pcie TYPE\n");
		return EXIT_FAILURE;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
