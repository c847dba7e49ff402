// SPDX-License-Identifier: MIT
#include "sync_program.h"

#include <string.h>

#include "neuron/address.h"
#include "neuron/dma_op.h"
#include "neuron/regs.h"

const char *const sync_kind_name[SYNC_KINDS] = {
	"matmul", "vector", "scalar", "gpsimd", "gather", "index", "register", "word", "load",
	"store", "move", "spread", "generated", "indexed", "loop", "nested", "while", "if", "else",
	"barrier", "sent", "arrived",
};

#define INST(name, ...)	((struct neuron_inst){ .opcode = NEURON_OP_##name, __VA_ARGS__ })
#define F32	NEURON_DTYPE_FP32

/* Bytes in SBUF, behind the tiles. */
#define INDEX_AT	SYNC_WIDE	/* uint32, below SYNC_MAX_INDEX */
#define INDEX16_AT	(INDEX_AT + SYNC_BYTES)	/* uint16 */
#define ARRIVED_AT	(INDEX16_AT + SYNC_BYTES) /* from the other core, in turns */

/* --- Chance --- */

static uint64_t next(struct sync_program *program)
{
	uint64_t x = program->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static unsigned int below(struct sync_program *program, unsigned int n)
{
	return next(program) % n;
}

static bool chance(struct sync_program *program, unsigned int percent)
{
	return below(program, 100) < percent;
}

static struct sync_op *add(struct sync_program *program, enum sync_op_kind kind)
{
	struct sync_op *op = &program->op[program->nr_ops++];

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	return op;
}

static void add_inst(struct sync_program *program, enum sync_kind kind,
		     enum neuron_engine engine, struct neuron_inst inst)
{
	struct sync_op *op = add(program, SYNC_OP_INST);

	op->engine = engine;
	op->inst = inst;
	program->kinds[kind]++;
}

/* --- Places --- */

/**
 * struct shape - of the tiles of an instruction
 * @first, @partitions: as the instruction set allows
 * @n: elements of fp32
 */
struct shape {
	unsigned int first;
	unsigned int partitions;
	unsigned int n;
};

static struct shape any_shape(struct sync_program *program)
{
	struct shape shape = { .partitions = 32u << below(program, 3) };

	shape.first = below(program, 128 / shape.partitions) * shape.partitions;
	shape.n = 8u << below(program, 4);
	return shape;
}

/* Byte of a partition where @n elements lie in one of the tiles. */
static uint32_t any_place(struct sync_program *program, unsigned int n)
{
	unsigned int places = (SYNC_BYTES - n * 4) / 32 + 1;

	return below(program, SYNC_TILES) * SYNC_BYTES + below(program, places) * 32;
}

static struct neuron_ap any_sbuf(struct sync_program *program, const struct shape *shape)
{
	return nb_tile(shape->first, shape->partitions, any_place(program, shape->n), F32,
		       shape->n);
}

static struct neuron_ap any_psum(struct sync_program *program, const struct shape *shape)
{
	return nb_psum_tile(shape->first, shape->partitions, any_place(program, shape->n), F32,
			    shape->n);
}

/* GpSimd has no path to PSUM. */
static struct neuron_ap any_tile(struct sync_program *program, enum neuron_engine engine,
				 const struct shape *shape)
{
	if (engine != NEURON_ENGINE_GPSIMD && chance(program, 25))
		return any_psum(program, shape);
	return any_sbuf(program, shape);
}

/* --- Instructions --- */

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static struct neuron_inst lanes_inst(struct sync_program *program, enum neuron_engine engine)
{
	struct shape shape = any_shape(program);
	struct neuron_ap dst = any_tile(program, engine, &shape);
	struct neuron_ap src = any_tile(program, engine, &shape);

	switch (below(program, engine == NEURON_ENGINE_SCALAR ? 3 : 5)) {
	case 0:
		return INST(COPY, .dst = dst, .src0 = src);
	case 1:
		return INST(TENSOR_SCALAR, .dst = dst, .src0 = src, .op0 = NEURON_ALU_MULTIPLY,
			    .op1 = NEURON_ALU_ADD, .imm0 = bits_of(0.75f),
			    .imm1 = bits_of(0.125f));
	case 2:
		if (engine == NEURON_ENGINE_SCALAR)
			return INST(ACTIVATE, .dst = dst, .src0 = src, .op0 = NEURON_ACT_RELU,
				    .imm0 = bits_of(1.0f), .flags = NEURON_INST_SRC1_COLUMN,
				    .src1 = nb_tile(shape.first, shape.partitions,
						    any_place(program, 1), F32, 1));
		return INST(MEMSET, .dst = dst, .imm0 = bits_of(below(program, 16)));
	default:
		return INST(TENSOR_TENSOR, .dst = dst, .src0 = src, .op0 = NEURON_ALU_ADD,
			    .src1 = any_sbuf(program, &shape));
	}
}

static void add_lanes(struct sync_program *program)
{
	static const enum neuron_engine engines[] = {
		NEURON_ENGINE_VECTOR, NEURON_ENGINE_SCALAR, NEURON_ENGINE_GPSIMD,
	};
	unsigned int i = below(program, 3);

	add_inst(program, SYNC_VECTOR + i, engines[i], lanes_inst(program, engines[i]));
}

static void add_matmul(struct sync_program *program)
{
	struct shape shape = { .partitions = 32, .n = 32 };
	struct neuron_inst inst;

	shape.first = below(program, 4) * 32;
	add_inst(program, SYNC_MATMUL, NEURON_ENGINE_TENSOR,
		 INST(LOAD_STATIONARY, .src0 = any_sbuf(program, &shape)));
	inst = INST(MATMUL, .src0 = any_sbuf(program, &shape));
	shape.first = below(program, 4) * 32;
	inst.dst = any_psum(program, &shape);
	inst.flags = chance(program, 50) ? NEURON_INST_ACCUMULATE : 0;
	add_inst(program, SYNC_MATMUL, NEURON_ENGINE_TENSOR, inst);
}

/* The indices are written, too, by copies of indices and by transfers. */
static void add_gather(struct sync_program *program)
{
	struct shape shape = any_shape(program);
	struct neuron_ap indices, others;

	indices = nb_tile(shape.first, shape.partitions, INDEX_AT + below(program, 4) * 64,
			  NEURON_DTYPE_UINT32, 16);
	others = nb_tile(shape.first, shape.partitions, INDEX_AT + 256 + below(program, 4) * 64,
			 NEURON_DTYPE_UINT32, 16);
	shape.n = 16;
	if (chance(program, 40))
		add_inst(program, SYNC_VECTOR, NEURON_ENGINE_VECTOR,
			 INST(COPY, .dst = indices, .src0 = others));
	add_inst(program, SYNC_GATHER, NEURON_ENGINE_GPSIMD,
		 INST(GATHER, .dst = any_sbuf(program, &shape),
		      .src0 = any_sbuf(program, &shape), .src1 = indices));
}

static void add_index(struct sync_program *program)
{
	struct shape shape = any_shape(program);
	struct neuron_ap src;

	if (program->generation < 4)
		return;
	src = nb_tile(shape.first, shape.partitions, below(program, SYNC_TILES) * SYNC_BYTES,
		      F32, 16);
	shape.n = 16;
	src = nb_index(src, shape.first, INDEX16_AT);
	add_inst(program, SYNC_INDEX, NEURON_ENGINE_VECTOR,
		 INST(COPY, .dst = any_sbuf(program, &shape), .src0 = src));
}

/* A register leads into the middle of a tile; in a loop it goes on. */
static void add_register(struct sync_program *program)
{
	enum neuron_engine engine = chance(program, 50) ? NEURON_ENGINE_VECTOR :
							  NEURON_ENGINE_GPSIMD;
	struct shape shape = any_shape(program);
	unsigned int reg = 40 + below(program, 4);
	struct neuron_inst inst;

	shape.n = 8;
	inst = INST(COPY, .dst = any_sbuf(program, &shape), .src0 = any_sbuf(program, &shape));
	if (chance(program, 50))
		inst.dst = nb_at_reg(nb_tile(shape.first, shape.partitions,
					     below(program, SYNC_TILES) * SYNC_BYTES, F32, 8),
				     reg);
	else
		inst.src0 = nb_at_reg(nb_tile(shape.first, shape.partitions,
					      below(program, SYNC_TILES) * SYNC_BYTES, F32, 8),
				      reg);
	if (chance(program, 50))
		add_inst(program, SYNC_REGISTER, engine,
			 INST(REG_ALU, .op0 = NEURON_ALU_ADD, .flags = NEURON_INST_IMM,
			      .reg = { reg, reg }, .imm0 = 32));
	else
		add_inst(program, SYNC_REGISTER, engine,
			 INST(REG_SET, .reg = { reg }, .imm0 = below(program, 8) * 32));
	/* At most 480, the last place in a tile. */
	add_inst(program, SYNC_REGISTER, engine,
		 INST(REG_ALU, .op0 = NEURON_ALU_BITWISE_AND, .flags = NEURON_INST_IMM,
		      .reg = { reg, reg }, .imm0 = SYNC_BYTES - 32));
	add_inst(program, SYNC_REGISTER, engine, inst);
}

/*
 * The rows of a matrix that a core of a pair may use: until they meet the next time the cores have
 * one half each of what they write. *@first: the first row.
 */
static unsigned int own_rows(const struct sync_program *program, unsigned int var,
			     unsigned int *first)
{
	*first = 0;
	if (!program->pair || var == SYNC_VAR_X)
		return SYNC_ROWS;
	*first = (program->core + program->phase) % 2 * SYNC_ROWS / 2;
	return SYNC_ROWS / 2;
}

static void add_word(struct sync_program *program)
{
	enum neuron_engine engine = below(program, NEURON_NR_ENGINES);
	unsigned int from = chance(program, 50) ? SYNC_VAR_X : SYNC_VAR_T;
	unsigned int to = chance(program, 50) ? SYNC_VAR_Y : SYNC_VAR_T;
	unsigned int first, own = own_rows(program, from, &first);
	uint64_t at = first * SYNC_BYTES + below(program, own * SYNC_BYTES / 4) * 4;

	add_inst(program, SYNC_WORD, engine,
		 INST(REG_LOAD, .reg = { 30 }, .addr = neuron_window_addr(from, at)));
	own_rows(program, to, &first);
	at = first * SYNC_BYTES + below(program, 64) * 4;
	if (chance(program, 30)) {
		to = SYNC_VAR_SBUF;
		at = nb_sbuf_offset(below(program, 128), below(program, SYNC_WIDE / 4) * 4);
	}
	add_inst(program, SYNC_WORD, engine,
		 INST(REG_STORE, .reg = { 30 }, .addr = neuron_window_addr(to, at)));
}

/* --- Transfers --- */

/* A block of a matrix: @rows of @bytes; of a pair at most 64 rows. */
static struct nb_side any_block(struct sync_program *program, unsigned int var,
				unsigned int rows, unsigned int bytes)
{
	unsigned int first, own = own_rows(program, var, &first);
	unsigned int row = first + below(program, own / rows) * rows;
	unsigned int at = below(program, SYNC_BYTES / bytes) * bytes;

	return nb_rows(var, row * SYNC_BYTES + at, bytes, rows, SYNC_BYTES);
}

static struct nb_side any_part(struct sync_program *program, unsigned int rows,
			       unsigned int bytes)
{
	unsigned int first = below(program, 128 / rows) * rows;

	return nb_rows(SYNC_VAR_SBUF, nb_sbuf_offset(first, any_place(program, bytes / 4)), bytes,
		       rows, NEURON_TPB_SBUF_STRIDE);
}

static void add_dma(struct sync_program *program)
{
	unsigned int rows = 32u << below(program, program->pair ? 2 : 3);
	unsigned int bytes = 64u << below(program, 3);
	enum sync_kind kind = SYNC_LOAD + below(program, 3);
	struct sync_op *op = add(program, SYNC_OP_DMA);
	unsigned int from = SYNC_VAR_T;

	op->queue = below(program, SYNC_QUEUE_MADE);
	if (sync_queue[op->queue].queues > 1)
		program->kinds[SYNC_SPREAD]++;
	program->kinds[kind]++;
	if (kind == SYNC_LOAD && chance(program, 50))
		from = SYNC_VAR_X;
	op->from = any_block(program, from, rows, bytes);
	op->to = any_block(program, chance(program, 70) ? SYNC_VAR_Y : SYNC_VAR_T, rows, bytes);
	if (kind == SYNC_LOAD)
		op->to = any_part(program, rows, bytes);
	if (kind == SYNC_STORE)
		op->from = any_part(program, rows, bytes);
}

static struct neuron_udma_pattern rows_pattern(unsigned int rows, unsigned int bytes,
					       uint64_t step)
{
	return (struct neuron_udma_pattern){
		.num = { bytes / 4, 1, 1, rows },
		.step = { 4, 0, 0, step },
	};
}

/* A copy between a matrix and SBUF, by descriptors made at run time; some with a list of rows. */
static void add_generated(struct sync_program *program)
{
	unsigned int rows = 16, bytes = 64u << below(program, 2);
	struct neuron_udma_dge dge = { .op = { .op = NEURON_UDMA_OP_COPY, .nr_src = 1,
					       .nr_dst = 1, .src_dtype = F32, .dst_dtype = F32 } };
	bool indexed = chance(program, 40), load = chance(program, 60);
	unsigned int var = load && chance(program, 60) ? SYNC_VAR_X : SYNC_VAR_T;
	struct nb_side block = any_block(program, var, 32, bytes);
	struct nb_side part = any_part(program, 32, bytes);
	uint64_t hbm = neuron_window_addr(block.var, block.offset);
	uint64_t sbuf = neuron_window_addr(SYNC_VAR_SBUF, part.offset);
	uint64_t list;

	if (program->nr_blocks == SYNC_BLOCKS)
		return;
	dge.op.src = rows_pattern(rows, bytes, load ? SYNC_BYTES : NEURON_TPB_SBUF_STRIDE);
	dge.op.dst = rows_pattern(rows, bytes, load ? NEURON_TPB_SBUF_STRIDE : SYNC_BYTES);
	dge.src[0] = load ? hbm : sbuf;
	dge.dst[0] = load ? sbuf : hbm;
	if (indexed) {
		list = nb_sbuf_offset(below(program, 4) * 32, INDEX_AT + 64);
		dge.op.flags = NEURON_UDMA_OP_SRC_INDEXED;
		dge.op.index = neuron_window_addr(SYNC_VAR_SBUF, list);
		dge.op.index_step = NEURON_TPB_SBUF_STRIDE;
		dge.op.nr_index = rows;
		dge.op.index_limit = SYNC_MAX_INDEX;
	}
	memcpy(program->block[program->nr_blocks], &dge, sizeof(dge));
	add_inst(program, indexed ? SYNC_INDEXED : SYNC_GENERATED, NEURON_ENGINE_SYNC,
		 INST(DMA_GENERATE, .reg = { 8 },
		      .addr = neuron_window_addr(SYNC_VAR_BLOCKS,
						 program->nr_blocks * sizeof(dge))));
	program->nr_blocks++;
}

/* --- Two cores --- */

/* Between two meetings one area is filled by the other core, and the core reads the other area. */
static uint32_t arrived_at(unsigned int phase)
{
	return ARRIVED_AT + phase % 2 * SYNC_BYTES;
}

static void add_sent(struct sync_program *program)
{
	unsigned int rows = 32u << below(program, 3), bytes = 64u << below(program, 3);
	unsigned int first = below(program, SYNC_ROWS / rows) * rows;
	struct sync_op *op = add(program, SYNC_OP_DMA);

	op->queue = below(program, SYNC_QUEUE_MADE);
	op->from = any_part(program, rows, bytes);
	op->to = nb_rows(SYNC_VAR_SIBLING,
			 nb_sbuf_offset(first, arrived_at(program->phase) +
					below(program, SYNC_BYTES / bytes) * bytes),
			 bytes, rows, NEURON_TPB_SBUF_STRIDE);
	program->kinds[SYNC_SENT]++;
}

static void add_arrived(struct sync_program *program)
{
	struct shape shape = any_shape(program);
	uint32_t at = arrived_at(program->phase + 1) +
		      below(program, SYNC_BYTES / (shape.n * 4)) * shape.n * 4;

	add_inst(program, SYNC_ARRIVED, NEURON_ENGINE_VECTOR,
		 INST(COPY, .dst = any_sbuf(program, &shape),
		      .src0 = nb_tile(shape.first, shape.partitions, at, F32, shape.n)));
}

/* --- Programs --- */

/* What is read before it is written must be the same in each run. */
static void add_beginning(struct sync_program *program)
{
	const struct neuron_ap psum = nb_psum_tile(0, 128, 0, F32, SYNC_WIDE / 4);
	struct sync_op *op;
	unsigned int i;

	for (i = 0; i < SYNC_TILES; i++) {
		op = add(program, SYNC_OP_DMA);
		op->queue = i % 2 ? SYNC_QUEUE_A : SYNC_QUEUE_C;
		op->from = nb_rows(SYNC_VAR_X, 0, SYNC_BYTES, 128, SYNC_BYTES);
		op->to = nb_rows(SYNC_VAR_SBUF, i * SYNC_BYTES, SYNC_BYTES, 128,
				 NEURON_TPB_SBUF_STRIDE);
	}
	for (i = 0; i < 2 && program->pair; i++) {
		op = add(program, SYNC_OP_DMA);
		op->queue = SYNC_QUEUE_D;
		op->from = nb_rows(SYNC_VAR_X, 0, SYNC_BYTES, 128, SYNC_BYTES);
		op->to = nb_rows(SYNC_VAR_SBUF, arrived_at(i), SYNC_BYTES, 128,
				 NEURON_TPB_SBUF_STRIDE);
	}
	op = add(program, SYNC_OP_DMA);
	op->queue = SYNC_QUEUE_B;
	op->from = nb_rows(SYNC_VAR_INDICES, 0, 2 * SYNC_BYTES, 128, 2 * SYNC_BYTES);
	op->to = nb_rows(SYNC_VAR_SBUF, INDEX_AT, 2 * SYNC_BYTES, 128, NEURON_TPB_SBUF_STRIDE);
	add_inst(program, SYNC_VECTOR, NEURON_ENGINE_VECTOR,
		 INST(MEMSET, .dst = psum, .imm0 = bits_of(1.0f)));
	for (i = 40; i < 44; i++) {
		add_inst(program, SYNC_REGISTER, NEURON_ENGINE_VECTOR,
			 INST(REG_SET, .reg = { i }, .imm0 = 32));
		add_inst(program, SYNC_REGISTER, NEURON_ENGINE_GPSIMD,
			 INST(REG_SET, .reg = { i }, .imm0 = 64));
	}
}

static void add_end(struct sync_program *program)
{
	const struct neuron_ap sbuf = nb_tile(0, 128, 0, F32, SYNC_WIDE / 4);
	struct neuron_ap psum = sbuf;
	struct sync_op *op;

	psum.addr |= NEURON_AP_PSUM;
	op = add(program, SYNC_OP_DMA);
	op->queue = SYNC_QUEUE_C;
	op->from = nb_rows(SYNC_VAR_SBUF, 0, SYNC_WIDE, 128, NEURON_TPB_SBUF_STRIDE);
	op->to = nb_linear(SYNC_VAR_SBUF_OUT, 0, SYNC_WIDE * 128);
	add_inst(program, SYNC_VECTOR, NEURON_ENGINE_VECTOR,
		 INST(COPY, .dst = sbuf, .src0 = psum));
	op = add(program, SYNC_OP_DMA);
	op->queue = SYNC_QUEUE_A;
	op->from = nb_rows(SYNC_VAR_SBUF, 0, SYNC_WIDE, 128, NEURON_TPB_SBUF_STRIDE);
	op->to = nb_linear(SYNC_VAR_PSUM_OUT, 0, SYNC_WIDE * 128);
}

static void add_one(struct sync_program *program)
{
	unsigned int which = below(program, 100);

	if (program->pair && !program->depth && chance(program, 15))
		add_sent(program);
	else if (program->pair && chance(program, 10))
		add_arrived(program);
	else if (which < 40)
		add_lanes(program);
	else if (which < 50)
		add_matmul(program);
	else if (which < 56)
		add_gather(program);
	else if (which < 60)
		add_index(program);
	else if (which < 65)
		add_register(program);
	else if (which < 69)
		add_word(program);
	else if (which < 76 || program->depth)
		add_generated(program);
	else
		add_dma(program);
}

static void add_some(struct sync_program *program, unsigned int count);

static void add_branch(struct sync_program *program)
{
	struct sync_op *op = add(program, SYNC_OP_BEGIN);

	op->reg = 1 + program->depth;
	op->branch = true;
	op->count = below(program, 2);
	program->kinds[SYNC_IF]++;
	program->depth++;
	add_some(program, 1 + below(program, 5));
	if (chance(program, 50)) {
		add(program, SYNC_OP_ELSE);
		program->kinds[SYNC_ELSE]++;
		add_some(program, 1 + below(program, 5));
	}
	program->depth--;
	add(program, SYNC_OP_END);
}

static void add_loop(struct sync_program *program)
{
	struct sync_op *op = add(program, SYNC_OP_BEGIN);
	unsigned int reg = 1 + program->depth;

	op->reg = reg;
	op->test = chance(program, 25);
	op->count = op->test ? below(program, 4) : 1 + below(program, 3);
	program->kinds[op->test ? SYNC_WHILE : program->depth ? SYNC_NESTED : SYNC_LOOP]++;
	program->depth++;
	add_some(program, 3 + below(program, 6));
	program->depth--;
	add(program, SYNC_OP_END);
}

static void add_some(struct sync_program *program, unsigned int count)
{
	while (count-- > 0) {
		if (program->nr_ops > SYNC_OPS - 40)
			return;
		if (!program->loops || program->depth >= 2 ||
		    !chance(program, program->depth ? 8 : 3))
			add_one(program);
		else if (chance(program, 25))
			add_branch(program);
		else
			add_loop(program);
	}
}

void sync_program_make(struct sync_program *program, uint64_t seed, unsigned int generation,
		       bool loops)
{
	memset(program, 0, sizeof(*program));
	program->random = seed;
	program->generation = generation;
	program->loops = loops;
	add_beginning(program);
	add_some(program, 10 + below(program, 50));
	add_end(program);
}

void sync_program_turn(struct sync_program *program)
{
	unsigned int i;

	for (i = 0; i < program->nr_ops; i++) {
		struct sync_op *op = &program->op[i];

		if (op->branch)
			op->count = !op->count;
		else if (op->test)
			op->count = op->count ? 0 : 2;
	}
}

/* The cores meet: what each has done until now is there for the other one. */
static void add_barrier(struct sync_program *program, enum neuron_engine engine)
{
	add(program, SYNC_OP_BARRIER)->engine = engine;
	program->kinds[SYNC_BARRIER]++;
	program->phase++;
}

void sync_pair_make(struct sync_program pair[2], uint64_t seed, unsigned int generation,
		    bool loops)
{
	unsigned int core, phase, phases;
	enum neuron_engine engine;

	for (core = 0; core < 2; core++) {
		struct sync_program *program = &pair[core];
		struct sync_program both = { .random = seed };

		memset(program, 0, sizeof(*program));
		program->random = seed * 2 + core;
		program->generation = generation;
		program->loops = loops;
		program->pair = true;
		program->core = core;
		phases = 1 + below(&both, 4);
		add_beginning(program);
		for (phase = 0; phase < phases; phase++) {
			engine = below(&both, NEURON_NR_ENGINES);
			add_barrier(program, engine);
			add_some(program, 3 + below(program, 15));
		}
		add_end(program);
	}
}
