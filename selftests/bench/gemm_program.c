// SPDX-License-Identifier: MIT
/*
 * B stays in SBUF. Tiles of A and of the result have two buffers each and the results'
 * banks of PSUM two sets, so that queues, tensor and vector engine work on neighbouring
 * tiles at the same time. Each resource has a semaphore that counts what is ready and
 * one that counts what is free.
 */
#include "gemm_program.h"

#include <string.h>

#include "neuron/dma_op.h"
#include "num/trn_num.h"

#define LINE		512		/* columns of a product: a bank of PSUM */
#define LINES		(GEMM_SIZE / LINE)
#define PIECES		2		/* a packet takes half a tile */
#define BUFFER		0x2000		/* of A, of C, and the half of PSUM */
#define B_AT		0
#define A_AT		0x20000
#define C_AT		(A_AT + 2 * BUFFER)

enum { LOAD_B, LOAD_A, STORE_C, NR_GEMM_QUEUES };
enum { B_READY = 1, A_READY, A_FREE, PSUM_READY, PSUM_FREE, C_READY, C_FREE };
/* Registers: a count, bytes to the buffer in turn, bytes in HBM, in SBUF. */
enum { COUNT = 1, TURN, FAR, NEAR };

/* The data window: packets of each queue, then the number a queue posts. */
#define PACKET_AT(queue, i)	(((queue) * PIECES + (i)) * sizeof(struct neuron_udma_dge))
#define POST_AT			0x8000

struct builder {
	struct seq_job *job;
	const struct gemm *gemm;
	unsigned int size;		/* of an element */
	unsigned int window;		/* of GEMM_A */
};

static void add(struct builder *b, enum neuron_engine engine, struct neuron_inst inst)
{
	seq_add(b->job, engine, inst);
}

static void set(struct builder *b, enum neuron_engine engine, unsigned int reg,
		uint32_t value)
{
	add(b, engine, OP(REG_SET, .reg = { (uint8_t)reg }, .imm0 = value));
}

static void change(struct builder *b, enum neuron_engine engine, unsigned int reg,
		   unsigned int op, uint32_t value)
{
	add(b, engine, OP(REG_ALU, .op0 = (uint8_t)op, .flags = NEURON_INST_IMM,
			  .imm0 = value, .reg = { (uint8_t)reg, (uint8_t)reg }));
}

static void repeat(struct builder *b, enum neuron_engine engine, unsigned int start)
{
	add(b, engine, OP(LOOP, .reg = { COUNT }, .addr = start));
}

/* Halfway round two buffers. */
static void turn(struct builder *b, enum neuron_engine engine)
{
	change(b, engine, TURN, NEURON_ALU_BITWISE_XOR, BUFFER);
}

static struct neuron_ap moved(struct neuron_ap ap, unsigned int reg)
{
	ap.offset_reg = (uint8_t)reg;
	return ap;
}

static uint64_t matrix_addr(const struct builder *b, enum gemm_matrix matrix,
			    size_t element)
{
	return neuron_window_addr(b->window + matrix, element * b->size);
}

/* --- packets --- */

static struct neuron_udma_pattern lines(const struct builder *b, unsigned int n,
					size_t stride)
{
	return (struct neuron_udma_pattern){
		.num = { n, GEMM_TILE, 1, 1 }, .step = { b->size, stride },
	};
}

static void put_packet(struct builder *b, unsigned int queue, unsigned int i,
		       struct neuron_udma_dge packet)
{
	packet.op.op = NEURON_UDMA_OP_COPY;
	packet.op.nr_src = 1;
	packet.op.nr_dst = 1;
	packet.op.src_dtype = (uint8_t)b->gemm->dtype;
	packet.op.dst_dtype = (uint8_t)b->gemm->dtype;
	memcpy(seq_data(b->job->rig, 0, b->job->core) + PACKET_AT(queue, i), &packet,
	       sizeof(packet));
}

static void put_packets(struct builder *b, unsigned int i)
{
	const unsigned int half = GEMM_SIZE / PIECES, deep = GEMM_TILES / PIECES;
	const size_t row = (size_t)GEMM_SIZE * b->size, first = b->gemm->first * GEMM_TILE;
	const struct neuron_udma_pattern far = lines(b, half, row);
	const struct neuron_udma_pattern near = lines(b, half, NEURON_TPB_SBUF_STRIDE);
	struct neuron_udma_dge a = {
		.op.src = lines(b, GEMM_TILE, row),
		.op.dst = lines(b, GEMM_TILE, NEURON_TPB_SBUF_STRIDE),
		.src = { matrix_addr(b, GEMM_A, i * deep * GEMM_TILE * GEMM_SIZE + first) },
		.dst = { neuron_window_addr(SEQ_SBUF, A_AT + i * deep * GEMM_TILE * b->size) },
	};

	/* The terms' tiles beside each other. */
	a.op.src.num[2] = deep;
	a.op.dst.num[2] = deep;
	a.op.src.step[2] = GEMM_TILE * row;
	a.op.dst.step[2] = GEMM_TILE * b->size;
	put_packet(b, LOAD_A, i, a);
	put_packet(b, LOAD_B, i, (struct neuron_udma_dge){
		.op.src = far, .op.dst = near,
		.src = { matrix_addr(b, GEMM_B, i * half) },
		.dst = { neuron_window_addr(SEQ_SBUF, B_AT + i * half * b->size) },
	});
	put_packet(b, STORE_C, i, (struct neuron_udma_dge){
		.op.src = near, .op.dst = far,
		.src = { neuron_window_addr(SEQ_SBUF, C_AT + i * half * b->size) },
		.dst = { matrix_addr(b, GEMM_C, first * GEMM_SIZE + i * half) },
	});
}

/* What @queue writes to a semaphore behind a tile. */
static void put_posts(struct builder *b, unsigned int queue, unsigned int sem,
		      unsigned int times)
{
	while (times--)
		seq_copy(b->job, queue, neuron_window_addr(SEQ_SEM, 4 * sem),
			 neuron_window_addr(SEQ_DATA, POST_AT), 4);
}

/* A tile: its packets, the first of which is @inst, and the post behind them. */
static void transfer(struct builder *b, enum neuron_engine engine, unsigned int queue,
		     struct neuron_inst inst, unsigned int src_reg, unsigned int dst_reg)
{
	unsigned int i;

	for (i = 0; i < PIECES; i++) {
		inst.opcode = NEURON_OP_DMA_GENERATE;
		inst.addr = neuron_window_addr(SEQ_DATA, PACKET_AT(queue, i));
		inst.reg[0] = (uint8_t)queue;
		inst.reg[2] = (uint8_t)src_reg;
		inst.reg[3] = (uint8_t)dst_reg;
		add(b, engine, inst);
		inst = OP(NOP);
	}
	add(b, engine, OP(DMA_TRIGGER, .reg = { (uint8_t)queue }, .imm0 = 1, .imm1 = 1));
}

/* --- programs --- */

static void load_a(struct builder *b)
{
	transfer(b, NEURON_ENGINE_SYNC, LOAD_A, take_ge(OP(NOP), A_FREE, 1), FAR, TURN);
	change(b, NEURON_ENGINE_SYNC, FAR, NEURON_ALU_ADD, GEMM_TILE * b->size);
	turn(b, NEURON_ENGINE_SYNC);
}

/* The first tile of A, B, then A as room comes free. */
static void loads(struct builder *b)
{
	const enum neuron_engine sync = NEURON_ENGINE_SYNC;
	const unsigned int far_b = FAR + 2, near_b = NEAR + 2;
	unsigned int start;

	add(b, sync, post_add(OP(NOP), A_FREE, 2));
	set(b, sync, TURN, 0);
	set(b, sync, FAR, 0);
	set(b, sync, far_b, 0);
	set(b, sync, near_b, 0);
	load_a(b);
	set(b, sync, COUNT, GEMM_TILES);
	start = b->job->nr[sync];
	transfer(b, sync, LOAD_B, OP(NOP), far_b, near_b);
	change(b, sync, far_b, NEURON_ALU_ADD, GEMM_TILE * GEMM_SIZE * b->size);
	change(b, sync, near_b, NEURON_ALU_ADD, GEMM_SIZE * b->size);
	repeat(b, sync, start);
	set(b, sync, COUNT, b->gemm->tiles - 1);
	start = b->job->nr[sync];
	load_a(b);
	repeat(b, sync, start);
	add(b, sync, OP(HALT));
}

static struct neuron_inst product(const struct builder *b, unsigned int k, unsigned int n)
{
	const uint32_t at = B_AT + (k * GEMM_SIZE + n * LINE) * b->size;
	struct neuron_inst inst = OP(MATMUL,
		.flags = k ? NEURON_INST_ACCUMULATE : 0,
		.dst = moved(ap_psum(0, GEMM_TILE, n * LINE * 4, NEURON_DTYPE_FP32, LINE),
			     TURN),
		.src0 = ap_sbuf(0, GEMM_TILE, at, b->gemm->dtype, LINE));

	if (!k)
		inst = take_ge(inst, PSUM_FREE, 1);
	if (k == GEMM_TILES - 1)
		inst = post_add(inst, PSUM_READY, 1);
	return inst;
}

static void products(struct builder *b)
{
	const enum neuron_engine tensor = NEURON_ENGINE_TENSOR;
	unsigned int start, k, n;

	set(b, tensor, COUNT, b->gemm->tiles);
	set(b, tensor, TURN, 0);
	start = b->job->nr[tensor];
	add(b, tensor, take_ge(OP(NOP), A_READY, 1));
	for (k = 0; k < GEMM_TILES; k++) {
		struct neuron_inst load = OP(LOAD_STATIONARY,
			.src0 = moved(ap_sbuf(0, GEMM_TILE, A_AT + k * GEMM_TILE * b->size,
					      b->gemm->dtype, GEMM_TILE), TURN));

		load = wait_ge(load, B_READY, (int)k + 1);
		if (k == GEMM_TILES - 1)
			load = post_add(load, A_FREE, 1);
		add(b, tensor, load);
		for (n = 0; n < LINES; n++)
			add(b, tensor, product(b, k, n));
	}
	turn(b, tensor);
	repeat(b, tensor, start);
	add(b, tensor, OP(HALT));
}

static void evictions(struct builder *b)
{
	const enum neuron_engine vector = NEURON_ENGINE_VECTOR;
	unsigned int start, n;

	add(b, vector, post_add(OP(NOP), PSUM_FREE, 2 * LINES));
	add(b, vector, post_add(OP(NOP), C_FREE, 2));
	set(b, vector, COUNT, b->gemm->tiles);
	set(b, vector, TURN, 0);
	start = b->job->nr[vector];
	add(b, vector, take_ge(OP(NOP), C_FREE, 1));
	for (n = 0; n < LINES; n++) {
		struct neuron_inst copy = OP(COPY,
			.dst = moved(ap_sbuf(0, GEMM_TILE, C_AT + n * LINE * b->size,
					     b->gemm->dtype, LINE), TURN),
			.src0 = moved(ap_psum(0, GEMM_TILE, n * LINE * 4, NEURON_DTYPE_FP32,
					      LINE), TURN));

		add(b, vector, post_add(take_ge(copy, PSUM_READY, 1), PSUM_FREE, 1));
	}
	add(b, vector, post_add(OP(NOP), C_READY, 1));
	turn(b, vector);
	repeat(b, vector, start);
	add(b, vector, OP(HALT));
}

static void stores(struct builder *b)
{
	const enum neuron_engine scalar = NEURON_ENGINE_SCALAR;
	unsigned int start;

	set(b, scalar, COUNT, b->gemm->tiles);
	set(b, scalar, TURN, 0);
	set(b, scalar, FAR, 0);
	start = b->job->nr[scalar];
	transfer(b, scalar, STORE_C, take_ge(OP(NOP), C_READY, 1), TURN, FAR);
	change(b, scalar, FAR, NEURON_ALU_ADD, GEMM_TILE * GEMM_SIZE * b->size);
	turn(b, scalar);
	repeat(b, scalar, start);
	add(b, scalar, OP(HALT));
}

void *gemm_matrix(struct seq_rig *rig, enum gemm_matrix matrix)
{
	return (uint8_t *)trn_chip_hbm(rig->chip[0], GEMM_STACK) + matrix * GEMM_ROOM;
}

void gemm_job(struct seq_job *job, struct seq_rig *rig, unsigned int core,
	      const struct gemm *gemm)
{
	const uint64_t base = rig->chip[0]->gen->hbm_addr[GEMM_STACK];
	struct builder b = {
		.job = job, .gemm = gemm, .size = trn_dtype_size(gemm->dtype),
		.window = SEQ_FREE,
	};
	const uint32_t one = 1;
	unsigned int i;

	seq_job_init(job, rig, 0, core);
	for (i = GEMM_A; i <= GEMM_C; i++)
		job->window[job->nr_windows++] = (struct neuron_hw_window){
			.base = base + i * GEMM_ROOM,
			.length = GEMM_ROOM,
			.flags = NEURON_WINDOW_HBM | NEURON_WINDOW_READ |
				 (i == GEMM_C ? NEURON_WINDOW_WRITE : 0),
		};
	for (i = 0; i < PIECES; i++)
		put_packets(&b, i);
	memcpy(seq_data(rig, 0, core) + POST_AT, &one, sizeof(one));
	put_posts(&b, LOAD_B, B_READY, GEMM_TILES);
	put_posts(&b, LOAD_A, A_READY, gemm->tiles);
	put_posts(&b, STORE_C, C_FREE, gemm->tiles);
	loads(&b);
	products(&b);
	evictions(&b);
	stores(&b);
}
