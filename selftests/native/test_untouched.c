// SPDX-License-Identifier: MIT
/*
 * Reads of device memory that nobody has written: they give zeroes and cost the host no
 * memory, not even page tables. What was written, by whomever, is read all the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring_rig.h"
#include "mem/trn_touched.h"
#include "base/trn_state.h"

/*
 * More than all that the reads may leave behind; page tables alone would be 16 MiB.
 * ThreadSanitizer keeps some MiB of its own about what threads did.
 */
#ifdef __SANITIZE_THREAD__
#define SANITIZED	1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED	1
#endif
#endif
#ifdef SANITIZED
#define MOST_KIB	8192
#else
#define MOST_KIB	1024
#endif
#define COPY		65536u
#define RING		256u

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);

/* AddressSanitizer keeps what has been freed, which would be counted here. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
}
#endif

/* Of this process, in KiB: what is resident, shared memory included, and page tables. */
static long own_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	long sum = 0, value;
	char line[128];

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmRSS: %ld", &value) == 1 ||
		    sscanf(line, "VmPTE: %ld", &value) == 1)
			sum += value;
	fclose(status);
	assert_true(sum > 0);
	return sum;
}

static void assert_zero(const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(bytes[i], 0);
}

static uint64_t stack_bytes(const struct rig *rig)
{
	return RIG_LARGE / rig->chip[0]->gen->nr_hbm;
}

/* By a DMA queue: @bytes from @src on, always to the same place. */
static void read_by_dma(struct ring_pair *ring, uint64_t dst, uint64_t src, uint64_t bytes)
{
	uint64_t done;
	unsigned int i;

	for (done = 0; done < bytes;) {
		for (i = 0; i < RING / 2; i++, done += COPY)
			ring_copy(ring, dst, src + done, COPY);
		ring_run(ring, RING / 2, RING / 2);
	}
}

/* As engines do, for programs and indices: @chip reads, perhaps of another one. */
static void read_by_engine(struct trn_chip *chip, uint8_t *buf, uint64_t src, uint64_t bytes)
{
	struct trn_access access = { .chip = chip };
	uint64_t done;

	for (done = 0; done < bytes; done += COPY)
		assert_int_equal(trn_access_read(&access, src + done, buf, COPY),
				 NEURON_CAUSE_NONE);
}

/* The control path: tables, rings, completion records. */
static void read_by_bus(struct trn_chip *chip, uint8_t *buf, uint64_t src, uint64_t bytes)
{
	uint64_t done;

	for (done = 0; done < bytes; done += COPY)
		assert_int_equal(trn_bus_read(chip, src + done, buf, COPY), NEURON_CAUSE_NONE);
}

static void read_registers(struct trn_chip *chip)
{
	uint32_t offset;

	for (offset = 0; offset < NEURON_TPB_SBUF_SIZE; offset += 4096)
		assert_int_equal(trn_chip_mmio_read(chip, neuron_tpb_bar0(chip->gen, 0) +
						    offset, 4), 0);
}

static bool count_bytes(void *opaque, void *buf, size_t len)
{
	uint64_t *sum = opaque;

	(void)buf;
	*sum += len;
	return true;
}

static void save_memory(struct trn_chip *chip)
{
	uint64_t sum = 0;
	struct trn_state st = { .transfer = count_bytes, .opaque = &sum };

	fake_chip_stop(chip);
	assert_true(trn_chip_save_hbm(chip, &st));
	assert_in_range(sum, 1, COPY);
	trn_chip_resume(chip);
}

/*
 * All ways of reading: each reads @part bytes of stack 0, then a peer @bytes of another
 * one; at last the chip is saved.
 */
static void read_all(struct ring_pair *ring, uint64_t host, uint64_t part, uint64_t bytes)
{
	struct rig *rig = ring->rig;
	unsigned int last = rig->chip[0]->gen->nr_hbm - 1;
	uint8_t *buf = rig_host_ptr(rig, 0, host);
	uint64_t hbm = rig_hbm_addr(rig, 0, 0);

	memset(buf, 0xee, COPY);
	read_by_dma(ring, rig_host_addr(rig, 0, host), hbm, part);
	assert_zero(buf, COPY);
	read_by_dma(ring, rig_sbuf_addr(rig, 0), hbm + part, part);
	memset(buf, 0xee, COPY);
	read_by_engine(rig->chip[0], buf, hbm + 2 * part, part);
	assert_zero(buf, COPY);
	memset(buf, 0xee, COPY);
	read_by_bus(rig->chip[0], buf, hbm + 3 * part, part);
	assert_zero(buf, COPY);
	memset(buf, 0xee, COPY);
	read_by_engine(rig->chip[1], buf, neuron_fabric_addr(0, rig_hbm_addr(rig, last, 0)),
		       bytes);
	assert_zero(buf, COPY);
	read_registers(rig->chip[0]);
	save_memory(rig->chip[0]);
}

static void reading_takes_no_memory(void **state)
{
	struct rig *rig = *state;
	uint64_t host = rig_host(rig, 0, COPY);
	const uint64_t step = RING / 2 * COPY;
	struct ring_pair ring;
	long before, more;
	unsigned int i;

	ring_make(&ring, rig, RING);
	read_all(&ring, host, step, step);

	before = own_kib();
	read_all(&ring, host, stack_bytes(rig) / 4 / step * step, stack_bytes(rig));
	for (i = 1; i + 1 < rig->chip[0]->gen->nr_hbm; i++)
		read_by_engine(rig->chip[0], rig_host_ptr(rig, 0, host),
			       rig_hbm_addr(rig, i, 0), stack_bytes(rig));
	more = own_kib() - before;
	print_message("%ld KiB more than before\n", more);
	assert_true(more < MOST_KIB);
}

static void copy_out(struct rig *rig, void *buf, uint64_t offset, uint32_t len)
{
	assert_int_equal(trn_bus_read(rig->chip[0], rig_hbm_addr(rig, 0, offset), buf, len),
			 NEURON_CAUSE_NONE);
}

/* A byte of the host's processor (BAR4) in the middle of nothing, seen by each way. */
static void what_the_host_wrote_is_read(void **state)
{
	struct rig *rig = *state;
	uint8_t *hbm = trn_chip_hbm(rig->chip[0], 0);
	const uint64_t at = 5 * TRN_EXTENT + 12345;
	struct ring_pair ring;
	uint8_t buf[32];
	uint64_t host;

	copy_out(rig, buf, at - 16, sizeof(buf));
	assert_zero(buf, sizeof(buf));
	hbm[at] = 0x5a;
	copy_out(rig, buf, at - 16, sizeof(buf));
	assert_int_equal(buf[16], 0x5a);
	/* Its neighbours, of which the kernel has been asked meanwhile. */
	hbm[at + NEURON_MIB(1)] = 0xa5;
	copy_out(rig, buf, at + NEURON_MIB(1), 1);
	assert_int_equal(buf[0], 0xa5);

	host = rig_host(rig, 0, COPY);
	ring_make(&ring, rig, RING);
	hbm[7 * TRN_EXTENT - 1] = 0x11;
	ring_copy(&ring, rig_host_addr(rig, 0, host), rig_hbm_addr(rig, 0, 7 * TRN_EXTENT - 8),
		  16);
	ring_run(&ring, 1, 1);
	assert_memory_equal(rig_host_ptr(rig, 0, host), "\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0", 16);
}

/* Written, discarded and written again, by the device and by the host. */
static void discarded_memory_reads_as_zero(void **state)
{
	struct rig *rig = *state;
	uint8_t *hbm = trn_chip_hbm(rig->chip[0], 0);
	const uint8_t one = 1;
	uint8_t buf[1];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (i % 2)
			hbm[TRN_EXTENT] = 1;
		else
			assert_int_equal(trn_bus_write(rig->chip[0],
						       rig_hbm_addr(rig, 0, TRN_EXTENT),
						       &one, 1), NEURON_CAUSE_NONE);
		copy_out(rig, buf, TRN_EXTENT, 1);
		assert_int_equal(buf[0], 1);
		rig->port[0].ops.hbm_discard(&rig->port[0], 0, 0, 4 * TRN_EXTENT);
		trn_touched_forget(rig->chip[0], TRN_PLACE_HBM, 0, 0, 4 * TRN_EXTENT);
		copy_out(rig, buf, TRN_EXTENT, 1);
		assert_int_equal(buf[0], 0);
	}
}

/* From written memory over a hole to written memory; and onto itself, moved a little. */
static void copies_cross_what_is_not_there(void **state)
{
	struct rig *rig = *state;
	uint8_t *hbm = trn_chip_hbm(rig->chip[0], 0);
	struct trn_access access = { .chip = rig->chip[0] };
	const size_t len = 3 * TRN_EXTENT;
	uint8_t *wanted = calloc(1, len);
	uint64_t src = 10 * TRN_EXTENT, dst = 20 * TRN_EXTENT;

	assert_non_null(wanted);
	memset(hbm + src, 0x33, 100);
	memset(hbm + src + len - 50, 0x44, 50);
	memcpy(wanted, hbm + src, 100);
	memcpy(wanted + len - 50, hbm + src + len - 50, 50);
	assert_int_equal(trn_access_copy(&access, rig_hbm_addr(rig, 0, dst),
					 rig_hbm_addr(rig, 0, src), len), NEURON_CAUSE_NONE);
	assert_memory_equal(hbm + dst, wanted, len);

	/* A part that is read late must not have been written before. */
	rig_fill(rig, hbm + src + TRN_EXTENT - 500, 500);
	memcpy(wanted, hbm + src + TRN_EXTENT - 500, 1000);
	assert_int_equal(trn_access_copy(&access, rig_hbm_addr(rig, 0, src + TRN_EXTENT - 100),
					 rig_hbm_addr(rig, 0, src + TRN_EXTENT - 500), 1000),
			 NEURON_CAUSE_NONE);
	assert_memory_equal(hbm + src + TRN_EXTENT - 100, wanted, 1000);
	free(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reading_takes_no_memory, rig_setup_large,
						rig_teardown),
		cmocka_unit_test_setup_teardown(what_the_host_wrote_is_read, rig_setup_large,
						rig_teardown),
		cmocka_unit_test_setup_teardown(discarded_memory_reads_as_zero, rig_setup_large,
						rig_teardown),
		cmocka_unit_test_setup_teardown(copies_cross_what_is_not_there, rig_setup_large,
						rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
