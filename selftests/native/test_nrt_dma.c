// SPDX-License-Identifier: MIT
/*
 * The ring builder: a small model of the queues runs the rings on plain memory, and what it
 * does is compared with the transfer as it is written in the NEFF.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/ring.h"
#include "program/dma_build.h"
#include "neuron/address.h"
#include "nrt_neff_rig.h"

#define VAR_BYTES	(1u << 20)
#define CONSTANTS	3
#define SEMAPHORES	4
#define REMOTES		5
#define MAX_DESCS	(1u << 20)

static const struct dma_windows windows = {
	.constants = CONSTANTS,
	.semaphores = SEMAPHORES,
	.sibling = REMOTES,
};

/* Window 1 is read, window 2 written; the others are the loader's. */
struct memory {
	uint8_t from[VAR_BYTES];
	uint8_t to[VAR_BYTES];
	uint32_t posts[NEURON_NR_SEMAPHORES];
	uint32_t remote_posts[NEURON_NR_SEMAPHORES];
};

static uint8_t *locate(struct memory *memory, uint64_t addr, uint32_t bytes, uint32_t window)
{
	uint64_t offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);

	assert_true(addr & NEURON_ADDR_WINDOW);
	assert_int_equal(NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr), window);
	assert_true(offset + bytes <= VAR_BYTES);
	return (window == 1 ? memory->from : memory->to) + offset;
}

/* By hand: it judges what libnrt has written. */
static void check_control(const struct neuron_udma_desc *desc, uint32_t flags)
{
	uint32_t control = le32toh(desc->len_ctrl) & ~NEURON_UDMA_DESC_LEN;

	assert_int_equal(control, flags | NEURON_PUT(NEURON_UDMA_DESC_RING_ID, 1u));
}

/* Run @count pairs from @first on; bytes that were moved. */
static uint64_t run(struct memory *memory, const struct dma_ring *ring, uint32_t first,
		    uint32_t count)
{
	uint64_t moved = 0;
	uint32_t i;

	assert_true(first + count <= ring->used);
	for (i = first; i < first + count; i++) {
		const struct neuron_udma_desc *m2s = &ring->m2s[i];
		const struct neuron_udma_desc *s2m = &ring->s2m[i];
		uint32_t bytes = neuron_desc_bytes(m2s);
		uint64_t to = le64toh(s2m->addr);

		check_control(m2s, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		check_control(s2m, 0);
		assert_int_equal(neuron_desc_bytes(s2m), bytes);
		assert_int_equal(s2m->meta_ctrl, 0);
		if (NEURON_GET(NEURON_ADDR_WINDOW_INDEX, to) == REMOTES) {
			assert_true(le32toh(m2s->meta_ctrl) & NEURON_UDMA_META_WRITE_BARRIER);
			memory->remote_posts[NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, to) / 4]++;
			continue;
		}
		if (NEURON_GET(NEURON_ADDR_WINDOW_INDEX, to) == SEMAPHORES) {
			assert_int_equal(bytes, 4);
			assert_int_equal(le64toh(m2s->addr), neuron_window_addr(CONSTANTS, 0));
			assert_true(le32toh(m2s->meta_ctrl) & NEURON_UDMA_META_WRITE_BARRIER);
			memory->posts[NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, to) / 4]++;
			continue;
		}
		assert_int_equal(le32toh(m2s->meta_ctrl), NEURON_UDMA_META_DEFAULT);
		memcpy(locate(memory, to, bytes, 2),
		       locate(memory, le64toh(m2s->addr), bytes, 1), bytes);
		moved += bytes;
	}
	return moved;
}

/* Offset of byte @n of a side. */
static uint64_t byte_of(const struct neff_side *side, uint64_t n)
{
	uint64_t offset = side->offset;
	unsigned int i;

	for (i = 0; i < side->ndim; i++) {
		offset += (uint64_t)side->step[i] * (n % side->size[i]);
		n /= side->size[i];
	}
	return offset;
}

/* A NEFF that was never a file. */
struct plan {
	struct neff_graph graph;
	struct neff_var vars[2];
	struct neff_set set;
	struct neff_desc descs[4];
};

static void plan_init(struct plan *plan, unsigned int queues, unsigned int nr_descs)
{
	memset(plan, 0, sizeof(*plan));
	plan->vars[0] = (struct neff_var){ .name = "from", .var_id = 1, .size = VAR_BYTES };
	plan->vars[1] = (struct neff_var){ .name = "to", .var_id = 2, .size = VAR_BYTES };
	plan->set = (struct neff_set){ .name = "q", .owner = NEURON_ENGINE_SYNC, .num = queues };
	plan->graph.vars = plan->vars;
	plan->graph.nr_vars = 2;
	plan->graph.sets = &plan->set;
	plan->graph.nr_sets = 1;
	plan->graph.nr_queues = queues;
	plan->graph.descs = plan->descs;
	plan->graph.nr_descs = nr_descs;
}

static void desc_init(struct neff_desc *desc, uint32_t id, int semaphore, struct neff_side from,
		      struct neff_side to)
{
	unsigned int i;

	*desc = (struct neff_desc){ .id = id, .engine = NEURON_ENGINE_SYNC, .semaphore = semaphore,
				    .bytes = 1, .from = from, .to = to };
	desc->to.var = 1;
	for (i = 0; i < from.ndim; i++)
		desc->bytes *= from.size[i];
}

static void check_transfer(struct neff_side from, struct neff_side to, unsigned int queues,
			   int semaphore)
{
	struct memory *memory = calloc(2, sizeof(*memory));
	struct memory *expected = &memory[1];
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;
	uint64_t moved = 0, n;
	unsigned int q;

	for (n = 0; n < VAR_BYTES; n++)
		memory->from[n] = (uint8_t)(n * 31 + n / 257 + 1);
	plan_init(&plan, queues, 1);
	desc_init(&plan.descs[0], 9, semaphore, from, to);
	for (n = 0; n < plan.descs[0].bytes; n++)
		expected->to[byte_of(&to, n)] = memory->from[byte_of(&from, n)];

	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error), 0);
	assert_int_equal(program.sets[0].nr_groups, 1);
	for (q = 0; q < queues; q++) {
		const struct dma_ring *ring = &program.rings[q];

		assert_int_equal(ring->length % NEURON_UDMA_RING_MULTIPLE, 0);
		assert_true(ring->length >= NEURON_UDMA_RING_MIN && ring->used <= ring->length);
		assert_int_equal(program.sets[0].groups[0].count[q], ring->used);
		moved += run(memory, ring, 0, ring->used);
		for (n = ring->used; n < ring->length; n++)
			assert_int_equal(ring->m2s[n].len_ctrl | ring->s2m[n].len_ctrl, 0);
	}
	assert_int_equal(moved, plan.descs[0].bytes);
	assert_memory_equal(memory->to, expected->to, VAR_BYTES);
	if (semaphore >= 0)
		assert_int_equal(memory->posts[semaphore], queues);
	dma_program_free(&program);
	free(memory);
}

static struct neff_side linear(uint64_t offset, uint64_t bytes)
{
	return (struct neff_side){ .offset = offset, .ndim = 1, .size = { bytes }, .step = { 1 } };
}

static void linear_transfers(void **state)
{
	static const uint64_t sizes[] = { 1, 4, 63, 64, 65, 65535, 65536, 65537, 200001, 1 << 20 };
	unsigned int i, queues;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (queues = 1; queues <= 16; queues = queues * 2 + 1)
			check_transfer(linear(VAR_BYTES - sizes[i], sizes[i]), linear(0, sizes[i]),
				       queues, i % 2 ? 17 : -1);
}

static void strided_transfers(void **state)
{
	const struct neff_side rows = {
		.offset = 100, .ndim = 2, .size = { 24, 96 }, .step = { 1, 1000 },
	};
	const struct neff_side tile = {
		.offset = 8, .ndim = 3, .size = { 16, 9, 16 }, .step = { 1, 16, 4096 },
	};
	const struct neff_side backwards = {
		.offset = 50000, .ndim = 2, .size = { 36, 64 }, .step = { 1, -40 },
	};
	const struct neff_side bytes_apart = {
		.offset = 3, .ndim = 4, .size = { 4, 4, 12, 12 }, .step = { 3, 100, 1000, 20000 },
	};
	const struct neff_side same_again = {
		.offset = 7, .ndim = 2, .size = { 64, 36 }, .step = { 1, 0 },
	};
	const struct neff_side *sides[] = {
		&rows, &tile, &backwards, &bytes_apart, &same_again,
	};
	unsigned int i, j, queues;

	(void)state;
	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++)
			for (queues = 1; queues <= 16; queues *= 4)
				check_transfer(*sides[i], *sides[j], queues, 200);
}

/* Semaphores of the other core are incremented as the own one is. */
static void remote_semaphores(void **state)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;
	unsigned int q;

	(void)state;
	plan_init(&plan, 3, 1);
	desc_init(&plan.descs[0], 9, 17, linear(0, 4096), linear(0, 4096));
	plan.descs[0].nr_remotes = 2;
	plan.descs[0].remote[0] = 17;
	plan.descs[0].remote[1] = 200;
	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error), 0);
	for (q = 0; q < 3; q++)
		run(memory, &program.rings[q], 0, program.rings[q].used);
	assert_int_equal(memory->posts[17], 3);
	assert_int_equal(memory->remote_posts[17], 3);
	assert_int_equal(memory->remote_posts[200], 3);
	assert_int_equal(memory->posts[200], 0);
	dma_program_free(&program);
	free(memory);
}

/* The first queue moves everything; all of them post. */
static void first_queue_only(void **state)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 2, 1);
	desc_init(&plan.descs[0], 9, 17, linear(0, 4096), linear(0, 4096));
	plan.descs[0].first_queue = true;
	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error), 0);
	assert_int_equal(run(memory, &program.rings[0], 0, program.rings[0].used), 4096);
	assert_int_equal(run(memory, &program.rings[1], 0, program.rings[1].used), 0);
	assert_int_equal(memory->posts[17], 2);
	dma_program_free(&program);
	free(memory);
}

/* Rows that lie next to each other are one piece. */
static void neighbours_merge(void **state)
{
	const struct neff_side rows = {
		.ndim = 3, .size = { 64, 64, 4 }, .step = { 1, 64, 4096 },
	};
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 1, 1);
	desc_init(&plan.descs[0], 0, -1, rows, linear(0, 16384));
	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error), 0);
	assert_int_equal(program.rings[0].used, 1);
	dma_program_free(&program);
}

static void limits(void **state)
{
	const struct neff_side bytes_apart = {
		.ndim = 1, .size = { 1000 }, .step = { 2 },
	};
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 1, 1);
	desc_init(&plan.descs[0], 0, -1, bytes_apart, linear(0, 1000));
	assert_int_equal(dma_program_build(&plan.graph, &windows, 999, &program, &error),
			 NRT_RESOURCE);
	assert_int_equal(dma_program_build(&plan.graph, &windows, 1000, &program, &error), 0);
	dma_program_free(&program);
}

static void ids_of_a_set(void **state)
{
	static const uint32_t good[] = { 5, 5, 2, 7 };
	static const uint32_t bad[] = { 5, 2, 5, 7 };
	struct dma_program program;
	struct nrt_error error;
	struct plan plan;
	unsigned int i;

	(void)state;
	plan_init(&plan, 2, 4);
	for (i = 0; i < 4; i++)
		desc_init(&plan.descs[i], good[i], 1, linear(i * 256, 256), linear(i * 256, 256));
	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error), 0);
	assert_int_equal(program.sets[0].nr_groups, 3);
	assert_int_equal(program.sets[0].groups[0].id, 5);
	assert_int_equal(program.sets[0].groups[0].count[1], 4);
	assert_int_equal(program.sets[0].groups[1].count[1], 2);
	dma_program_free(&program);
	for (i = 0; i < 4; i++)
		plan.descs[i].id = bad[i];
	assert_int_equal(dma_program_build(&plan.graph, &windows, MAX_DESCS, &program, &error),
			 NRT_INVALID);
	assert_non_null(strstr(error.text, "id 5"));
}

/* --- Images --- */

static struct neuron_inst trigger(uint32_t id, unsigned int queue)
{
	return (struct neuron_inst){ .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER,
				     .reg = { (__u8)queue, (__u8)(queue >> 8) },
				     .addr = htole64(id), .debug = htole32(id + 100) };
}

static NRT_STATUS patch(struct plan *plan, const struct neuron_inst *image, uint32_t count,
			struct neuron_inst *out, struct nrt_error *error)
{
	struct dma_program program;
	NRT_STATUS status;

	plan->graph.image[NEURON_ENGINE_SYNC] = image;
	plan->graph.image_count[NEURON_ENGINE_SYNC] = count;
	assert_int_equal(dma_program_build(&plan->graph, &windows, MAX_DESCS, &program, error), 0);
	status = dma_patch_image(&plan->graph, &program, NEURON_ENGINE_SYNC, out, error);
	dma_program_free(&program);
	return status;
}

static void triggers(void **state)
{
	struct neuron_inst nop = { .opcode = NEURON_OP_NOP }, image[5], out[5];
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 2, 2);
	plan.set.index = 300 - 256;
	plan.graph.nr_queues = plan.set.index + 2;
	/* The second transfer is too small for the second queue, which has nothing to do. */
	desc_init(&plan.descs[0], 3, 8, linear(0, 256), linear(0, 256));
	desc_init(&plan.descs[1], 4, -1, linear(0, 64), linear(0, 64));
	image[0] = trigger(3, plan.set.index);
	image[0].sync = NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE) |
			NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD);
	image[0].wait_sem = htole16(11);
	image[0].wait_value = htole32(2);
	image[0].post_sem = htole16(12);
	image[0].post_value = htole32(5);
	image[1] = nop;
	image[2] = trigger(4, plan.set.index);
	image[3] = nop;
	image[4] = (struct neuron_inst){ .opcode = NEURON_OP_HALT };
	assert_int_equal(patch(&plan, image, 5, out, &error), 0);

	assert_int_equal(out[0].opcode, NEURON_OP_DMA_TRIGGER);
	assert_int_equal(out[0].reg[0], plan.set.index);
	assert_int_equal(le32toh(out[0].imm0), 2);
	assert_int_equal(le32toh(out[0].imm1), 2);
	assert_int_equal(le32toh(out[0].debug), 103);
	assert_int_equal(out[0].addr, 0);
	assert_int_equal(out[0].sync, NEURON_PUT(NEURON_SYNC_WAIT, NEURON_SYNC_WAIT_GE));
	assert_int_equal(le16toh(out[0].wait_sem), 11);
	assert_int_equal(out[0].post_value, 0);
	assert_int_equal(out[1].opcode, NEURON_OP_DMA_TRIGGER);
	assert_int_equal(out[1].reg[0], plan.set.index + 1);
	assert_int_equal(out[1].sync, NEURON_PUT(NEURON_SYNC_POST, NEURON_SYNC_POST_ADD));
	assert_int_equal(le16toh(out[1].post_sem), 12);
	assert_int_equal(le32toh(out[1].post_value), 5);
	assert_int_equal(out[1].wait_sem, 0);
	assert_int_equal(le32toh(out[2].imm0), 1);
	assert_int_equal(out[3].opcode, NEURON_OP_NOP);
	assert_int_equal(out[4].opcode, NEURON_OP_HALT);
}

static void bad_triggers(void **state)
{
	struct neuron_inst image[3], out[3];
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 2, 2);
	desc_init(&plan.descs[0], 3, -1, linear(0, 256), linear(0, 256));
	desc_init(&plan.descs[1], 4, -1, linear(0, 64), linear(0, 64));
	memset(image, 0, sizeof(image));

	image[0] = trigger(3, 1);
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "no queue set begins"));
	image[0] = trigger(4, 0);
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "not the next"));
	image[0] = trigger(3, 0);
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "NOPs"));
	assert_int_equal(patch(&plan, image, 1, out, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "NOPs"));
	plan.set.owner = NEURON_ENGINE_VECTOR;
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "another engine"));
}

/* Two places may name one group only where a branch can choose between them. */
static void repeated_triggers(void **state)
{
	struct neuron_inst image[3], out[3];
	struct nrt_error error;
	struct plan plan;

	(void)state;
	plan_init(&plan, 1, 1);
	desc_init(&plan.descs[0], 3, -1, linear(0, 256), linear(0, 256));
	image[0] = trigger(3, 0);
	image[1] = trigger(3, 0);
	image[2] = (struct neuron_inst){ .opcode = NEURON_OP_HALT };
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_INVALID);
	image[2].opcode = NEURON_OP_BRANCH;
	assert_int_equal(patch(&plan, image, 3, out, &error), NRT_SUCCESS);
	assert_int_equal(le32toh(out[1].imm0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_transfers),
		cmocka_unit_test(strided_transfers),
		cmocka_unit_test(remote_semaphores),
		cmocka_unit_test(first_queue_only),
		cmocka_unit_test(neighbours_merge),
		cmocka_unit_test(limits),
		cmocka_unit_test(ids_of_a_set),
		cmocka_unit_test(triggers),
		cmocka_unit_test(bad_triggers),
		cmocka_unit_test(repeated_triggers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
