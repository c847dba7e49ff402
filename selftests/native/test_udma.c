// SPDX-License-Identifier: MIT
/*
 * DMA queues of domain 0: registers, packets, order, pause.
 */
#include "ring_rig.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "neuron/dma_op.h"
#include "dma/trn_udma_queue.h"

#define FIRST	NEURON_UDMA_DESC_FIRST
#define LAST	NEURON_UDMA_DESC_LAST
#define BOTH	(FIRST | LAST)

/* --- Registers --- */

static void queue_registers_read_back(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int s2m;
	uint64_t base;

	ring_alloc(&ring, rig, 0, 5, RING_QUEUE, 64);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_CFG),
			 NEURON_UDMA_Q_CFG_RESET);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_M2S_Q_RATE), 7);
	ring_program(&ring);
	for (s2m = 0; s2m < 2; s2m++) {
		base = rig_host_addr(rig, 0, s2m ? ring.s2m_at : ring.m2s_at);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_CFG),
				 0x03030000);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_BASE_LO),
				 (uint32_t)base);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_BASE_HI),
				 base >> 32);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_LENGTH), 64);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_HEAD),
				 1u << 30);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_TAIL),
				 1u << 30);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_COMP_HEAD),
				 1u << 30);
		ring_write(&ring, s2m, NEURON_UDMA_Q_COMP_BASE_LO, 0x123f);
		ring_write(&ring, s2m, NEURON_UDMA_Q_COMP_BASE_HI, 0x5678);
		assert_int_equal(ring_read(&ring, s2m,
					   NEURON_UDMA_Q_COMP_BASE_LO), 0x1200);
		assert_int_equal(ring_read(&ring, s2m,
					   NEURON_UDMA_Q_COMP_BASE_HI), 0x5678);
		/* The low bits of a base do not exist, heads are read only. */
		ring_write(&ring, s2m, NEURON_UDMA_Q_BASE_LO, 0xfff);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_BASE_LO),
				 0xfc0);
		ring_write(&ring, s2m, NEURON_UDMA_Q_HEAD, 5);
		assert_int_equal(ring_read(&ring, s2m, NEURON_UDMA_Q_HEAD),
				 1u << 30);
	}
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_M2S_Q_RATE), 3);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_M2S_Q_SW_CTRL), 0);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_S2M_Q_SW_CTRL), 0);
	/* A neighbour has its own. */
	ring.queue++;
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH), 0);
}

/* What a register has no effect on reads back as written. */
static void engine_registers_are_storage(void **state)
{
	static const uint32_t offsets[] = { 0x310, 0x124, 0x258, 0x20124,
					    0x20308, 0x3a300, 0x3c404, 0x3a028,
					    0x3b460, 0x1010, 0x21ffc };
	struct rig *rig = *state;
	struct trn_chip *chip = rig->chip[0];
	uint64_t base;
	size_t i;

	base = neuron_dma_bar0(chip->gen, 17);
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		trn_chip_mmio_write(chip, base + offsets[i], 0xa0000000 + i, 4);
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		assert_int_equal(trn_chip_mmio_read(chip, base + offsets[i], 4),
				 0xa0000000 + i);
	assert_int_equal(trn_udma_read(chip, 17, NEURON_UDMA_BLOCK_SIZE), ~0u);
	assert_int_equal(trn_udma_read(chip, chip->gen->nr_dma, 0), ~0u);
	assert_int_equal(trn_chip_mmio_read(chip,
					    base + NEURON_UDMA_M2S_STATE, 4), 0);
}

static void queues_may_be_enabled_before_they_have_a_ring(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int q;

	ring_alloc(&ring, rig, 0, 6, 0, 32);
	for (q = 0; q < NEURON_UDMA_QUEUES; q++) {
		ring.queue = q;
		ring_write(&ring, false, NEURON_UDMA_Q_CFG, 0x00030000);
		ring_write(&ring, true, NEURON_UDMA_Q_CFG, 0x00030000);
		ring_wait_quiet(&ring);
		assert_int_equal(ring_error(&ring), 0);
	}
}

static void a_reset_pulse_rewinds_its_side(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);
	unsigned int i;

	ring_make(&ring, rig, 32);
	for (i = 0; i < 40; i += 20) {
		unsigned int n;

		for (n = 0; n < 20; n++)
			ring_copy(&ring, 0x1000, src, 64);
		ring_run(&ring, 20, 20);
	}
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD),
			 2u << 30 | 8);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_COMP_HEAD),
			 2u << 30 | 8);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_TAIL),
			 2u << 30 | 8);
	ring_write(&ring, false, NEURON_UDMA_M2S_Q_SW_CTRL,
		   NEURON_UDMA_Q_SW_CTRL_RESET);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD), 1u << 30);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_TAIL), 1u << 30);
	assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_HEAD),
			 2u << 30 | 8);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH), 32);
}

/* --- Packets --- */

static void copies_go_both_ways(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *src, *dst;
	uint64_t from = rig_random_host(rig, 65536, &src);
	uint64_t to = rig_random_host(rig, 65536, &dst);

	ring_make(&ring, rig, 32);
	ring_copy(&ring, rig_hbm_addr(rig, 1, 0x123), from, 1);
	ring_copy(&ring, rig_hbm_addr(rig, 1, 0x1000), from, 65535);
	ring_copy(&ring, rig_hbm_addr(rig, 1, 0x20001), from, 65536);
	ring_copy(&ring, to, rig_hbm_addr(rig, 1, 0x20001), 65536);
	ring_run(&ring, 4, 4);
	assert_int_equal(rig->chip[0]->hbm[1][0x123], src[0]);
	assert_memory_equal(rig->chip[0]->hbm[1] + 0x1000, src, 65535);
	assert_memory_equal(rig->chip[0]->hbm[1] + 0x20001, src, 65536);
	assert_memory_equal(dst, src, 65536);
}

/* Length 0 is 64 KiB: not one byte more or less. */
static void length_0_is_64_kib(void **state)
{
	struct rig *rig = *state;
	uint8_t *hbm = rig->chip[0]->hbm[0];
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	memset(hbm + 0x10000, 0xab, 65537);
	memset(hbm + 0x30000 - 1, 0xcd, 65538);
	ring_copy(&ring, 0x30000, 0x10000, 0);
	ring_run(&ring, 1, 1);
	assert_int_equal(hbm[0x30000 - 1], 0xcd);
	assert_int_equal(hbm[0x30000], 0xab);
	assert_int_equal(hbm[0x3ffff], 0xab);
	assert_int_equal(hbm[0x40000], 0xcd);
}

#define ARENA	NEURON_MIB(1)

/* Split @bytes into at most @room random descriptors. */
static unsigned int split(struct rig *rig, uint32_t bytes, unsigned int room,
			  uint32_t *lens)
{
	unsigned int n = 0;
	uint32_t len;

	while (bytes) {
		len = 1 + rig_random(rig, rig_random(rig, 3) ? 100 : 4000);
		if (len > bytes || n + 1 == room)
			len = bytes;
		lens[n++] = len;
		bytes -= len;
	}
	return n;
}

/*
 * A packet of random shape from one arena to the other. An S2M descriptor may be
 * larger than what is left of the packet; the rest of it stays untouched.
 */
static void random_packet(struct ring_pair *ring, const uint8_t *from,
			  uint8_t *model, unsigned int *m2s, unsigned int *s2m)
{
	struct rig *rig = ring->rig;
	uint32_t bytes = 1 + rig_random(rig, 20000), src[64], dst[64];
	uint32_t at, slack = rig_random(rig, 2) * rig_random(rig, 50), i;
	unsigned int a = split(rig, bytes, 1 + rig_random(rig, 64), src);
	unsigned int b = split(rig, bytes, 1 + rig_random(rig, 64), dst);
	uint8_t packet[20000], *p = packet;

	for (i = 0; i < a; i++) {
		at = rig_random(rig, ARENA - src[i]);
		memcpy(p, from + at, src[i]);
		p += src[i];
		ring_m2s(ring, at, src[i],
			 (i ? 0 : FIRST) | (i + 1 == a ? LAST : 0));
	}
	p = packet;
	for (i = 0; i < b; i++) {
		at = rig_random(rig, ARENA - dst[i]);
		memcpy(model + at, p, dst[i]);
		p += dst[i];
		ring_s2m(ring, rig_hbm_addr(rig, 1, at),
			 dst[i] + (i + 1 == b ? slack : 0));
	}
	*m2s = a;
	*s2m = b;
}

static void random_packets_are_byte_exact(void **state)
{
	struct rig *rig = *state;
	uint8_t *from = rig->chip[0]->hbm[0], *to = rig->chip[0]->hbm[1];
	uint8_t *model = malloc(ARENA);
	unsigned int i, m2s, s2m;
	struct ring_pair ring;

	rig_fill(rig, from, ARENA);
	rig_fill(rig, to, ARENA);
	memcpy(model, to, ARENA);
	ring_make(&ring, rig, 176);
	/* About 100 laps: every ring id many times. */
	for (i = 0; i < 600; i++) {
		random_packet(&ring, from, model, &m2s, &s2m);
		ring_run(&ring, m2s, s2m);
	}
	assert_memory_equal(to, model, ARENA);
	assert_int_equal(ring_error(&ring), 0);
	free(model);
}

/* What overlaps has any value; what is beside it keeps its own. */
static void a_copy_of_host_memory_may_overlap(void **state)
{
	struct rig *rig = *state;
	const uint64_t at = rig_host(rig, 0, 512);
	uint8_t *host = rig_host_ptr(rig, 0, at), before[512];
	struct ring_pair ring;

	ring_alloc(&ring, rig, 0, 0, 0, 64);
	ring_program(&ring);
	rig_fill(rig, host, sizeof(before));
	memcpy(before, host, sizeof(before));
	ring_copy(&ring, rig_host_addr(rig, 0, at + 140), rig_host_addr(rig, 0, at + 100), 192);
	ring_copy(&ring, rig_host_addr(rig, 0, at + 100), rig_host_addr(rig, 0, at + 120), 192);
	ring_run(&ring, 2, 2);
	assert_memory_equal(host, before, 100);
	assert_memory_equal(host + 332, before + 332, sizeof(before) - 332);
}

static void both_sides_need_entries(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	ring_copy(&ring, 0x1000, src, 64);
	ring_copy(&ring, 0x2000, src, 64);
	ring_doorbell(&ring, 2, 0);
	ring_wait_quiet(&ring);
	assert_int_equal(rig->chip[0]->hbm[0][0x1000], 0);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 2);
	ring_doorbell(&ring, 0, 1);
	assert_true(fake_wait_reg(rig->chip[0],
				  ring_reg(&ring, true, NEURON_UDMA_Q_HEAD),
				  NEURON_UDMA_Q_PTR, 1));
	assert_memory_equal(rig->chip[0]->hbm[0] + 0x1000, bytes, 64);
	assert_int_equal(rig->chip[0]->hbm[0][0x2000], 0);
	ring_doorbell(&ring, 0, 1);
	ring_wait(&ring);
	assert_memory_equal(rig->chip[0]->hbm[0] + 0x2000, bytes, 64);
}

static void a_packet_waits_for_its_last(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *bytes;
	uint64_t src = rig_random_host(rig, 64, &bytes);

	ring_make(&ring, rig, 32);
	ring_m2s(&ring, src, 32, FIRST);
	ring_m2s(&ring, src + 32, 32, LAST);
	ring_s2m(&ring, 0x1000, 16);
	ring_s2m(&ring, 0x1010, 48);
	ring_doorbell(&ring, 1, 2);
	ring_wait_quiet(&ring);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD), 1u << 30);
	ring_doorbell(&ring, 1, 0);
	ring_wait(&ring);
	assert_memory_equal(rig->chip[0]->hbm[0] + 0x1000, bytes, 64);
}

/* --- Order --- */

struct order {
	struct fake_port *port;
	uint64_t lowest;
	_Atomic unsigned int wrong;
	_Atomic unsigned int writes;
	uint64_t next;
};

static struct order order;

static bool ordered_write(void *opaque, uint64_t addr, const void *buf,
			  size_t len)
{
	struct fake_port *port = opaque;

	if (addr >= order.lowest) {
		if (addr != order.next)
			atomic_fetch_add(&order.wrong, 1);
		order.next = addr + 256;
		atomic_fetch_add(&order.writes, 1);
	}
	memcpy(port->host + addr, buf, len);
	return true;
}

static void a_queue_completes_in_order(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint64_t at;
	unsigned int i;

	ring_make(&ring, rig, 128);
	at = rig_host(rig, 0, 128 * 256);
	order = (struct order){ .lowest = at, .next = at };
	rig->port[0].ops.host_write = ordered_write;
	for (i = 0; i < 128; i++)
		ring_copy(&ring, rig_host_addr(rig, 0, at + i * 256), 0x1000,
			  1 + rig_random(rig, 256));
	for (i = 0; i < 128; i += 4)
		ring_doorbell(&ring, 4, 4);
	ring_wait(&ring);
	assert_int_equal(atomic_load(&order.writes), 128);
	assert_int_equal(atomic_load(&order.wrong), 0);
}

/* The public driver's way to wait: a last copy of a marker, host to host. */
static void a_marker_shows_that_the_data_is_there(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint8_t *src, *dst, *marker;
	uint64_t from = rig_random_host(rig, 65536, &src);
	uint64_t to = rig_random_host(rig, 65536, &dst);
	uint64_t p = rig_random_host(rig, 8, &marker);
	unsigned int round;

	ring_make(&ring, rig, 32);
	for (round = 0; round < 20; round++) {
		memcpy(marker, "\x01\xef\xcd\xab\0\0\0\0", 8);
		rig_fill(rig, src, 65536);
		ring_copy(&ring, 0x10000, from, 65536);
		ring_copy(&ring, to, 0x10000, 65536);
		ring_copy(&ring, p + 4, p, 4);
		ring_run(&ring, 3, 3);
		assert_memory_equal(marker + 4, marker, 4);
		assert_memory_equal(dst, src, 65536);
	}
}

/* --- Reset of a queue that is running --- */

static _Atomic unsigned int slow_writes;

static bool slow_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct fake_port *port = opaque;

	nanosleep(&nap, NULL);
	memcpy(port->host + addr, buf, len);
	atomic_fetch_add(&slow_writes, 1);
	return true;
}

static bool writing(void *arg)
{
	(void)arg;
	return atomic_load(&slow_writes) > 0;
}

/* What a run has done since the reset pulse counts for nothing, and it ends. */
static void a_reset_pulse_ends_a_run(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int packet, i;
	uint64_t to;
	uint8_t *bytes;

	ring_make(&ring, rig, 128);
	to = rig_random_host(rig, 64 * 60, &bytes);
	rig->port[0].ops.host_write = slow_write;
	for (packet = 0; packet < 2; packet++) {
		atomic_store(&slow_writes, 0);
		for (i = 0; i < 60; i++) {
			/* One long packet, then many short ones. */
			ring_m2s(&ring, 0x1000, 64,
				 (packet || !i ? FIRST : 0) |
					 (packet || i == 59 ? LAST : 0));
			ring_s2m(&ring, to + i * 64, 64);
		}
		ring_doorbell(&ring, 60, 60);
		assert_true(fake_wait(writing, NULL));
		assert_true(ring_read(&ring, true, NEURON_UDMA_Q_STATUS) &
			    NEURON_UDMA_Q_STATUS_BUSY);
		ring_program(&ring);
		ring_wait_quiet(&ring);
		assert_true(atomic_load(&slow_writes) < 60);
		assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_HEAD),
				 1u << 30);
		assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_HEAD),
				 1u << 30);
		assert_int_equal(ring_read(&ring, true, NEURON_UDMA_Q_STATUS),
				 0);
	}
	ring_copy(&ring, to, 0x1000, 64);
	ring_run(&ring, 1, 1);
}

/* --- Pause --- */

static void a_paused_queue_waits(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;
	uint64_t base;

	ring_make(&ring, rig, 32);
	base = neuron_dma_bar0(rig->chip[0]->gen, ring.engine);
	ring_write(&ring, true, NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_doorbell(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 1);
	ring_write(&ring, true, NEURON_UDMA_Q_CFG, 0x03030000);
	ring_wait(&ring);

	trn_chip_mmio_write(rig->chip[0], base + NEURON_UDMA_M2S_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_ABORT, 4);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0],
					    base + NEURON_UDMA_M2S_STATE, 4),
			 0x2222);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_doorbell(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 1);
	trn_chip_mmio_write(rig->chip[0], base + NEURON_UDMA_M2S_CHANGE_STATE,
			    NEURON_UDMA_CHANGE_NORMAL, 4);
	ring_wait(&ring);
	assert_int_equal(trn_chip_mmio_read(rig->chip[0],
					    base + NEURON_UDMA_M2S_STATE, 4),
			 0x1111);
}

static void a_stopped_chip_moves_nothing(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	fake_chip_stop(rig->chip[0]);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_doorbell(&ring, 1, 1);
	ring_wait_quiet(&ring);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 1);
	trn_chip_resume(rig->chip[0]);
	ring_wait(&ring);
}

static void a_reset_of_the_chip_forgets_the_rings(void **state)
{
	struct rig *rig = *state;
	struct ring_pair ring;

	ring_make(&ring, rig, 32);
	ring_doorbell(&ring, 3, 0);
	fake_chip_stop(rig->chip[0]);
	trn_chip_reset(rig->chip[0]);
	trn_chip_resume(rig->chip[0]);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_LENGTH), 0);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_STATUS), 0);
	assert_int_equal(ring_read(&ring, false, NEURON_UDMA_Q_CFG),
			 NEURON_UDMA_Q_CFG_RESET);
	ring_program(&ring);
	ring_copy(&ring, 0x1000, 0x2000, 4);
	ring_run(&ring, 1, 1);
}

/* --- Many queues --- */

#define STRESS_QUEUES	24
#define STRESS_BYTES	3000

/* Queues of both chips at once, some from chip to chip. */
static void queues_do_not_disturb_each_other(void **state)
{
	struct rig *rig = *state;
	struct ring_pair rings[STRESS_QUEUES];
	unsigned int i, round, n, chip;
	uint64_t slot, peer, src, dst;

	for (i = 0; i < STRESS_QUEUES; i++) {
		ring_alloc(&rings[i], rig, i % 2,
			   i / 2 * 9 % rig->chip[0]->gen->nr_dma, i % 16, 64);
		ring_program(&rings[i]);
		slot = i * 0x10000;
		rig_fill(rig, rig->chip[i % 2]->hbm[0] + slot, STRESS_BYTES);
	}
	for (round = 0; round < 50; round++) {
		for (i = 0; i < STRESS_QUEUES; i++) {
			slot = i * 0x10000;
			peer = rig_hbm_addr(rig, 1, slot);
			for (n = 0; n < 10; n++) {
				src = n ? slot + n * 4096 - 4096 : slot;
				dst = slot + n * 4096;
				if (!n)
					dst = neuron_fabric_addr(!(i % 2), peer);
				ring_copy(&rings[i], dst, src, STRESS_BYTES);
			}
			ring_doorbell(&rings[i], 10, 10);
		}
		for (i = 0; i < STRESS_QUEUES; i++)
			ring_wait(&rings[i]);
	}
	for (i = 0; i < STRESS_QUEUES; i++) {
		chip = i % 2;
		slot = i * 0x10000;
		for (n = 1; n < 10; n++)
			assert_memory_equal(rig->chip[chip]->hbm[0] + slot,
					    rig->chip[chip]->hbm[0] + slot +
						    n * 4096, STRESS_BYTES);
		assert_memory_equal(rig->chip[chip]->hbm[0] + slot,
				    rig->chip[!chip]->hbm[1] + slot,
				    STRESS_BYTES);
	}
}

/*
 * What the public driver's election does: a copy of a neighbour's registers, and
 * a copy of a known word behind it.
 */
static void a_neighbours_firmware_can_be_read(void **state)
{
	static const uint32_t regs[] = {
		NEURON_MISC_SERIAL_LO, NEURON_MISC_SERIAL_HI,
		NEURON_MISC_ROUTING_ID, NEURON_MISC_ELECTION,
	};
	const unsigned int nr = sizeof(regs) / sizeof(regs[0]);
	struct rig *rig = *state;
	const struct neuron_gen *gen = rig->chip[0]->gen;
	const uint64_t misc = gen->apb_addr[0] + gen->misc_bar0;
	uint64_t out = rig_host(rig, 0, 64);
	uint32_t *words = rig_host_ptr(rig, 0, out);
	struct ring_pair ring;
	unsigned int i, w;

	if (gen->generation != 3)
		skip();		/* no such windows, or a switch without neighbours */
	trn_chip_mmio_write(rig->chip[1], gen->misc_bar0 + NEURON_MISC_ELECTION,
			    0x10020103, 4);
	/* The engines and the queue that it takes for each neighbour. */
	ring_alloc(&ring, rig, 0, 36, 0, 1024);
	ring_program(&ring);
	for (w = 0; w < 4; w++)
		if (!trn_bus_read(rig->chip[0], neuron_neighbour_addr(w, misc),
				  &i, 4))
			break;
	assert_true(w < 4);
	words[nr] = 0xabcdef01;
	for (i = 0; i < nr; i++)
		ring_copy(&ring, rig_host_addr(rig, 0, out + 4 * i),
			  neuron_neighbour_addr(w, misc + regs[i]), 4);
	ring_copy(&ring, rig_host_addr(rig, 0, out + 4 * nr + 4),
		  rig_host_addr(rig, 0, out + 4 * nr), 4);
	ring_run(&ring, nr + 1, nr + 1);
	assert_int_equal(words[nr + 1], 0xabcdef01);
	for (i = 0; i < nr; i++)
		assert_int_equal(words[i],
				 (uint32_t)trn_chip_mmio_read(rig->chip[1],
							      gen->misc_bar0 + regs[i],
							      4));
	assert_int_equal(words[0], 2);		/* fake_chip_config() */
	/* Only to be read. */
	ring_copy(&ring, neuron_neighbour_addr(w, misc + NEURON_MISC_ELECTION),
		  rig_host_addr(rig, 0, out), 4);
	ring_doorbell(&ring, 1, 1);
	ring_wait_error(&ring, NEURON_CAUSE_FABRIC);
	assert_int_equal(trn_chip_mmio_read(rig->chip[1], gen->misc_bar0 +
					    NEURON_MISC_ELECTION, 4), 0x10020103);
}

/* Device addresses that the public map names and this chip has not. */
static void preprocessors_are_not_there(void **state)
{
	static const uint64_t preproc[] = {
		0x1200000000, 0x5200000000, 0x801200000000, 0x805200000000,
	};
	struct rig *rig = *state;
	struct ring_pair ring;
	unsigned int i;

	if (rig->chip[0]->gen->generation == 2)
		skip();
	ring_make(&ring, rig, 32);
	for (i = 0; i < sizeof(preproc) / sizeof(preproc[0]); i++) {
		ring_copy(&ring, 0x1000, preproc[i] + 0x100, 4);
		ring_doorbell(&ring, 1, 1);
		ring_wait_error(&ring, NEURON_CAUSE_ADDRESS);
		ring_recover(&ring);
	}
}

/* --- Turns --- */

static atomic_uint turns;

static enum trn_run counted_run(struct trn_task *task, struct trn_budget *budget)
{
	atomic_fetch_add(&turns, 1);
	return trn_udma_queue_run(task, budget);
}

static void count_turns(const struct ring_pair *ring)
{
	ring_wait_quiet(ring);
	atomic_store(&turns, 0);
	trn_udma_queue_at(ring->rig->chip[0], ring->engine, ring->queue)->task.run =
		counted_run;
}

/* Long work gives way to other tasks, however fast the host is. */
static void an_operation_ends_the_run(void **state)
{
	struct ring_pair ring = { .rig = *state };
	uint64_t at = rig_host(ring.rig, 0, sizeof(struct neuron_udma_op));
	struct neuron_udma_op *op = rig_host_ptr(ring.rig, 0, at);
	unsigned int i;

	*op = (struct neuron_udma_op){
		.op = NEURON_UDMA_OP_COPY,
		.nr_src = 1,
		.nr_dst = 1,
		.src_dtype = NEURON_DTYPE_UINT8,
		.dst_dtype = NEURON_DTYPE_UINT8,
		.src = { .num = { 16, 1, 1, 1 }, .step = { 1 } },
		.dst = { .num = { 16, 1, 1, 1 }, .step = { 1 } },
	};
	ring_make(&ring, ring.rig, 32);
	count_turns(&ring);
	for (i = 0; i < 8; i++) {
		ring_m2s(&ring, rig_host_addr(ring.rig, 0, at), sizeof(*op),
			 NEURON_UDMA_DESC_FIRST)->meta_ctrl = NEURON_UDMA_META_OP;
		ring_m2s(&ring, 0x10000, 16, NEURON_UDMA_DESC_LAST);
		ring_s2m(&ring, 0x20000, 16);
	}
	ring_run(&ring, 16, 8);
	assert_int_equal(ring_error(&ring), NEURON_CAUSE_NONE);
	assert_in_range(atomic_load(&turns), 8, UINT_MAX);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queue_registers_read_back),
		TEST(engine_registers_are_storage),
		TEST(queues_may_be_enabled_before_they_have_a_ring),
		TEST(a_reset_pulse_rewinds_its_side),
		TEST(copies_go_both_ways),
		TEST(length_0_is_64_kib),
		TEST(random_packets_are_byte_exact),
		TEST(a_copy_of_host_memory_may_overlap),
		TEST(both_sides_need_entries),
		TEST(a_packet_waits_for_its_last),
		TEST(a_queue_completes_in_order),
		TEST(a_marker_shows_that_the_data_is_there),
		TEST(a_reset_pulse_ends_a_run),
		TEST(a_paused_queue_waits),
		TEST(a_stopped_chip_moves_nothing),
		TEST(a_reset_of_the_chip_forgets_the_rings),
		TEST(queues_do_not_disturb_each_other),
		TEST(a_neighbours_firmware_can_be_read),
		TEST(preprocessors_are_not_there),
		TEST(an_operation_ends_the_run),
	};

	return cmocka_run_group_tests_name("udma", tests, NULL, NULL);
}
