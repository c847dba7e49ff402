// SPDX-License-Identifier: MIT
/*
 * Random descriptor programs against an oracle that knows nothing of queues: the
 * memory of every queue has to become what the packets, one after the other, make
 * of it. DMA_SEED and DMA_PROGRAMS in the environment choose others and more.
 */
#include "ring_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dma_oracle.h"

#define SEED		0xbb67ae8584caa73bull
#ifdef __SANITIZE_THREAD__
#define PROGRAMS	200
#else
#define PROGRAMS	1500
#endif
#define QUEUES		4
#define PACKETS		10	/* of a queue in a program */
#define LIMIT		150	/* elements of each end of an operation */
#define BIG		0x28000
#define SMALL		2500
#define SMALLS		8	/* small areas of a half */
#define HALF		(1 + SMALLS)
#define LISTS		(2 * HALF)
#define LIST_BYTES	1024
#define PACKET_DESC	20
#define PACKET_BYTES	900000	/* below what an engine takes after a reset */

/**
 * struct queue - a queue, its memory and how far its doorbells are
 * @oracle: areas 0 to HALF - 1 and HALF to 2 * HALF - 1, the first of each big;
 *	then an index list for each packet
 * @blocks: host memory for the operation blocks of a program
 * @m2s_rung, @s2m_rung: as ring.m2s_tail and .s2m_tail
 * @packets: of the program being made
 */
struct queue {
	struct ring_pair ring;
	struct oracle oracle;
	uint64_t blocks;
	uint32_t m2s_rung;
	uint32_t s2m_rung;
	unsigned int packets;
};

struct world {
	struct rig *rig;
	struct queue queue[QUEUES];
	unsigned int nr;
	uint64_t seed;
	unsigned int operations;
	unsigned int copies;
};

static uint32_t choose(struct world *w, uint32_t below)
{
	return oracle_random(&w->queue[0].oracle, below);
}

static struct trn_access domain0(struct world *w)
{
	return (struct trn_access){ .chip = w->rig->chip[0] };
}

static void mem_write(struct world *w, uint64_t addr, const void *buf, size_t len)
{
	struct trn_access access = domain0(w);

	assert_int_equal(trn_access_write(&access, addr, buf, len), 0);
}

static uint64_t host_area(struct world *w, size_t len)
{
	return rig_host_addr(w->rig, 0, rig_host(w->rig, 0, len));
}

/* Small area @i of half @half: each kind of memory has its share. */
static uint64_t small_area(struct world *w, unsigned int q, unsigned int half,
			   unsigned int i)
{
	const struct neuron_gen *gen = w->rig->chip[0]->gen;
	uint64_t skew = 0x4000ull * (2 * i + half) + 7 * i + half;
	unsigned int core = q % gen->nr_cores;
	/* Queues of one core have a part of its memories each. */
	uint64_t part = 0x40000ull * (q / gen->nr_cores);

	switch (i % 5) {
	case 0:
		return rig_hbm_addr(w->rig, 1, 0x400000ull * q + skew);
	case 1:
		return host_area(w, SMALL + 3) + 3;
	case 2:
		return rig_sbuf_addr(w->rig, core) + part + skew;
	case 3:
		return gen->tpb_addr[core] + NEURON_TPB_PSUM + part / 4 + skew / 4;
	default:
		return neuron_fabric_addr(1, rig_hbm_addr(w->rig, 0, 0x400000ull * q + skew));
	}
}

static void queue_make(struct world *w, unsigned int q, uint32_t length)
{
	struct queue *queue = &w->queue[q];
	unsigned int i, half;
	uint64_t addr;

	queue->oracle.seed = w->seed * (2 * q + 1) | 1;
	ring_alloc(&queue->ring, w->rig, 0,
		   neuron_copy_engine(w->rig->chip[0]->gen, q / 2), 3 + q, length);
	ring_program(&queue->ring);
	for (half = 0; half < 2; half++) {
		addr = half ? host_area(w, BIG) :
			      rig_hbm_addr(w->rig, 0, 0x400000ull * q + 0x1001);
		oracle_add(&queue->oracle, addr, BIG);
		for (i = 0; i < SMALLS; i++)
			oracle_add(&queue->oracle, small_area(w, q, half, i), SMALL);
	}
	for (i = 0; i < PACKETS; i++)
		oracle_add(&queue->oracle, host_area(w, LIST_BYTES), LIST_BYTES);
	queue->blocks = host_area(w, PACKETS * sizeof(struct neuron_udma_op));
	for (i = 0; i < queue->oracle.nr; i++)
		mem_write(w, queue->oracle.area[i].addr, queue->oracle.area[i].shadow,
			  queue->oracle.area[i].len);
}

static void world_make(struct world *w, struct rig *rig)
{
	static const uint32_t lengths[QUEUES] = { 32, 64, 48, 256 };
	const char *seed = getenv("DMA_SEED");
	unsigned int q;

	memset(w, 0, sizeof(*w));
	w->rig = rig;
	w->nr = QUEUES;
	w->seed = seed ? strtoull(seed, NULL, 0) : SEED;
	print_message("DMA_SEED=%#llx\n", (unsigned long long)w->seed);
	for (q = 0; q < w->nr; q++)
		queue_make(w, q, lengths[q]);
}

static void world_destroy(struct world *w)
{
	unsigned int q;

	for (q = 0; q < w->nr; q++)
		oracle_destroy(&w->queue[q].oracle);
}

/* --- Making a program: descriptors in the ring, and their effect on the shadow --- */

static uint32_t room(const struct queue *queue)
{
	uint32_t m2s = queue->ring.m2s_tail - queue->m2s_rung;
	uint32_t s2m = queue->ring.s2m_tail - queue->s2m_rung;

	return queue->ring.length - (m2s > s2m ? m2s : s2m);
}

static uint32_t random_length(struct oracle *o, uint32_t most)
{
	uint32_t len;

	switch (oracle_random(o, 8)) {
	case 0:
		len = 65536;
		break;
	case 1:
	case 2:
		len = 1 + oracle_random(o, 65536);
		break;
	case 3:
		len = 4096;
		break;
	default:
		len = 1 + oracle_random(o, 300);
	}
	return len < most ? len : most;
}

struct part {
	uint64_t addr;
	uint32_t len;
};

static struct part random_part(struct oracle *o, unsigned int first, uint32_t most)
{
	const struct oracle_area *area =
		&o->area[first + (oracle_random(o, 3) ? 0 : oracle_random(o, HALF))];
	struct part part;

	if (most > area->len)
		most = (uint32_t)area->len;
	part.len = random_length(o, most);
	part.addr = area->addr + oracle_random(o, (uint32_t)area->len - part.len + 1);
	return part;
}

/* The bytes of the sources, in order, into the destinations. */
static void flow(struct oracle *o, const struct part *src, unsigned int nr_src,
		 const struct part *dst)
{
	uint32_t filled = 0, taken, n;
	unsigned int i;

	for (i = 0; i < nr_src; i++) {
		for (taken = 0; taken < src[i].len; taken += n) {
			n = src[i].len - taken;
			if (n > dst->len - filled)
				n = dst->len - filled;
			oracle_copy(o, dst->addr + filled, src[i].addr + taken, n);
			filled += n;
			if (filled == dst->len) {
				dst++;
				filled = 0;
			}
		}
	}
}

static void push_copy(struct queue *queue, unsigned int max_desc)
{
	struct oracle *o = &queue->oracle;
	unsigned int from = oracle_random(o, 2) ? HALF : 0, to = HALF - from;
	unsigned int nr_src, nr_dst = 0, i;
	struct part src[PACKET_DESC], dst[PACKET_DESC];
	uint64_t bytes = 0, space = 0;

	nr_src = 1 + oracle_random(o, oracle_random(o, 4) ? 3 : max_desc);
	for (i = 0; i < nr_src && bytes < PACKET_BYTES; i++) {
		src[i] = random_part(o, from, 65536);
		bytes += src[i].len;
	}
	nr_src = i;
	while (space < bytes) {
		/* In time to be done with the descriptors there are. */
		if (nr_dst + 1 + (bytes - space) / 65536 >= max_desc) {
			dst[nr_dst].len = 65536;
			dst[nr_dst].addr = o->area[to].addr +
					   oracle_random(o, BIG - 65536 + 1);
		} else {
			dst[nr_dst] = random_part(o, to, 65536);
		}
		space += dst[nr_dst++].len;
	}
	assert_true(nr_dst <= PACKET_DESC);
	flow(o, src, nr_src, dst);
	for (i = 0; i < nr_src; i++)
		ring_m2s(&queue->ring, src[i].addr, src[i].len,
			 (i ? 0 : NEURON_UDMA_DESC_FIRST) |
				 (i + 1 < nr_src ? 0 : NEURON_UDMA_DESC_LAST) |
				 (oracle_random(o, 4) ? 0 : NEURON_UDMA_DESC_DMB));
	for (i = 0; i < nr_dst; i++)
		ring_s2m(&queue->ring, dst[i].addr, dst[i].len);
}

/* False: it needs more than @max_desc on a side. */
static bool push_operation(struct world *w, struct queue *queue, unsigned int max_desc)
{
	const uint64_t block = queue->blocks +
			       queue->packets * sizeof(struct neuron_udma_op);
	struct oracle *o = &queue->oracle;
	bool back = oracle_random(o, 2);
	unsigned int list = LISTS + queue->packets, i;
	struct neuron_udma_desc *desc;
	struct oracle_op x;

	oracle_random_op(o, &x, LIMIT, back ? HALF + 1 : 1, SMALLS,
			 back ? 1 : HALF + 1, SMALLS, list);
	/* The list is in the shadow, used or not. */
	mem_write(w, o->area[list].addr, o->area[list].shadow, LIST_BYTES);
	if (x.op.nr_src + 1u > max_desc || x.op.nr_dst > max_desc)
		return false;
	mem_write(w, block, &x.op, sizeof(x.op));
	desc = ring_m2s(&queue->ring, block, sizeof(x.op), NEURON_UDMA_DESC_FIRST);
	desc->meta_ctrl = NEURON_UDMA_META_OP;
	for (i = 0; i < x.op.nr_src; i++)
		ring_m2s(&queue->ring, x.src[i], oracle_random(o, 65536),
			 i + 1 < x.op.nr_src ? 0 : NEURON_UDMA_DESC_LAST);
	for (i = 0; i < x.op.nr_dst; i++)
		ring_s2m(&queue->ring, x.dst[i], oracle_random(o, 65536));
	oracle_do(o, &x);
	return true;
}

static void make_program(struct world *w, struct queue *queue)
{
	unsigned int packets = 1 + choose(w, PACKETS);
	uint32_t max_desc;

	for (queue->packets = 0; queue->packets < packets; queue->packets++) {
		max_desc = room(queue);
		if (max_desc < 8)
			break;
		if (max_desc > PACKET_DESC)
			max_desc = PACKET_DESC;
		if (choose(w, 2) && push_operation(w, queue, max_desc)) {
			w->operations++;
			continue;
		}
		push_copy(queue, max_desc);
		w->copies++;
	}
}

/* --- Running it --- */

/* Some of what has been pushed, on one side or both. */
static bool ring_some(struct world *w, struct queue *queue)
{
	uint32_t m2s = queue->ring.m2s_tail - queue->m2s_rung;
	uint32_t s2m = queue->ring.s2m_tail - queue->s2m_rung;

	if (!m2s && !s2m)
		return false;
	if (choose(w, 3)) {
		m2s = m2s ? choose(w, m2s + 1) : 0;
		s2m = s2m ? choose(w, s2m + 1) : 0;
	}
	ring_doorbell(&queue->ring, m2s, s2m);
	queue->m2s_rung += m2s;
	queue->s2m_rung += s2m;
	return true;
}

static void run_programs(struct world *w)
{
	unsigned int q;
	bool more;

	do {
		more = false;
		for (q = 0; q < w->nr; q++)
			more |= ring_some(w, &w->queue[q]);
	} while (more);
	for (q = 0; q < w->nr; q++)
		ring_wait(&w->queue[q].ring);
}

static void check_area(struct world *w, unsigned int n, unsigned int q,
		       const struct oracle_area *area)
{
	static uint8_t now[BIG];
	struct trn_access access = domain0(w);
	size_t i;

	assert_int_equal(trn_access_read(&access, area->addr, now, area->len), 0);
	if (!memcmp(now, area->shadow, area->len))
		return;
	for (i = 0; now[i] == area->shadow[i]; i++)
		;
	fail_msg("DMA_SEED=%#llx, program %u, queue %u: byte %#llx is %#x, not %#x",
		 (unsigned long long)w->seed, n, q,
		 (unsigned long long)area->addr + i, now[i], area->shadow[i]);
}

static void test_programs(void **state)
{
	const char *programs = getenv("DMA_PROGRAMS");
	unsigned int n, q, i, nr = programs ? (unsigned int)atoi(programs) : PROGRAMS;
	struct world w;

	world_make(&w, *state);
	for (n = 0; n < nr; n++) {
		for (q = 0; q < w.nr; q++)
			make_program(&w, &w.queue[q]);
		run_programs(&w);
		for (q = 0; q < w.nr; q++)
			for (i = 0; i < w.queue[q].oracle.nr; i++)
				check_area(&w, n, q, &w.queue[q].oracle.area[i]);
	}
	print_message("%u programs: %u copies, %u operations\n", n, w.copies, w.operations);
	for (q = 0; q < w.nr; q++) {
		/* Each ring went round and round. */
		assert_true(w.queue[q].ring.m2s_tail > nr / 100 * w.queue[q].ring.length);
		assert_int_equal(ring_error(&w.queue[q].ring), 0);
	}
	assert_true(w.copies > nr && w.operations > nr);
	world_destroy(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "one worker", test_programs, rig_setup_alone, rig_teardown, NULL },
		{ "several workers", test_programs, rig_setup, rig_teardown, NULL },
	};

	return cmocka_run_group_tests_name("dma_property", tests, NULL, NULL);
}
