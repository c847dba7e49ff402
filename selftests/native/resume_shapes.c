// SPDX-License-Identifier: MIT
#include "resume_shapes.h"

#include <string.h>

#include "num/trn_num.h"

/* Where the operands lie in a partition. */
#define A_AT		0x00000
#define B_AT		0x08000
#define C_AT		0x0c000
#define INDEX_AT	0x0e000		/* small numbers of 32 bits */
#define OUT_AT		0x10000
#define OUT2_AT		0x15000
#define ROOM		0x20000		/* bytes from OUT_AT on, and from A_AT where large */

#define F32	NEURON_DTYPE_FP32
#define BF16	NEURON_DTYPE_BF16
#define U8	NEURON_DTYPE_UINT8
#define U16	NEURON_DTYPE_UINT16
#define U32	NEURON_DTYPE_UINT32
#define I32	NEURON_DTYPE_INT32

/* struct maker - what a shape is made of */
struct maker {
	const struct neuron_gen *gen;
	enum resume_how how;
	bool large;
	unsigned int partitions;
};

/*
 * @n elements: side by side where they fit, else rows that lie on each other. Scattered
 * ones lie on each other in any case when there are many.
 */
static struct neuron_ap tile(const struct maker *m, uint32_t at, unsigned int dtype,
			     unsigned int n)
{
	uint32_t size = trn_dtype_size(dtype), room = at < OUT_AT ? 0x8000 : ROOM;
	struct neuron_ap ap = ap_sbuf(0, m->partitions, at, dtype, n);
	unsigned int row = n;

	if (m->how == RESUME_SCATTERED && n % 3 == 0 && n > 3) {
		ap = ap_dim(ap, 0, 3, m->large ? 1 : 2);
		return ap_dim(ap, 1, n / 3, m->large ? 0 : 6);
	}
	while (row * size > room || n % row)
		row--;
	if (row == n)
		return ap;
	ap = ap_dim(ap, 0, row, 1);
	return ap_dim(ap, 1, n / row, 0);
}

/* The same with an index, where the instruction may have one. */
static struct neuron_ap source(const struct maker *m, const struct trn_isa *isa,
			       uint32_t at, unsigned int dtype, unsigned int n)
{
	struct neuron_ap ap = tile(m, at, dtype, n);

	if (m->how != RESUME_INDEX || !(isa->indirect & TRN_FIELD_SRC0))
		return ap;
	ap = ap_sbuf(0, m->partitions, at, dtype, n);
	ap.step[0] = INDEX_AT & 0xffff;
	ap.step[1] = INDEX_AT >> 16;
	ap.index = NEURON_AP_INDEX;
	return ap;
}

static struct neuron_ap result(const struct maker *m, unsigned int dtype, unsigned int n)
{
	return tile(m, m->how == RESUME_OVER ? A_AT + 4 : OUT_AT, dtype, n);
}

/* A tile of one line or of several, one behind the other. */
static struct neuron_ap lines(struct neuron_ap ap, unsigned int n, unsigned int count)
{
	return ap_dim(ap_dim(ap, 0, n, 1), 1, count, (int)n);
}

/* What most instructions of the lanes are: a source, maybe a second one, a result. */
static struct neuron_inst plain(const struct maker *m, const struct trn_isa *isa,
				struct neuron_inst inst, unsigned int from, unsigned int to)
{
	unsigned int n = m->large ? 65535 : 1500;

	inst.opcode = isa->opcode;
	inst.src0 = source(m, isa, A_AT, from, n);
	inst.dst = result(m, to, n);
	return inst;
}

static struct neuron_inst with_second(const struct maker *m, struct neuron_inst inst,
				      unsigned int dtype)
{
	inst.src1 = tile(m, B_AT, dtype, m->large ? 65535 : 1500);
	return inst;
}

static bool tensor_shape(const struct maker *m, const struct trn_isa *isa,
			 struct resume_shape *s)
{
	unsigned int kn = m->large ? 128 : 96, n = m->large ? 512 : 300, mx = 0;
	uint32_t add = m->how == RESUME_OVER ? NEURON_INST_ACCUMULATE : 0;
	struct maker all = *m;

	all.partitions = kn;
	s->engine = NEURON_ENGINE_TENSOR;
	if (m->large && m->gen->generation == 4)
		n = 4096;
	switch (isa->opcode) {
	case NEURON_OP_LOAD_STATIONARY:
		s->inst = OP(LOAD_STATIONARY, .src0 = source(&all, isa, A_AT, BF16, 96));
		return true;
	case NEURON_OP_MATMUL:
		s->load = OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, kn, A_AT, BF16, kn));
		s->inst = OP(MATMUL, .flags = (uint8_t)add,
			     .src0 = source(&all, isa, B_AT, BF16, n));
		break;
	case NEURON_OP_LOAD_SPARSE:
	case NEURON_OP_MATMUL_SPARSE:
		n = m->large ? 512 : 300;
		s->load = OP(LOAD_SPARSE, .src0 = ap_sbuf(0, kn, A_AT, BF16, kn),
			     .src1 = ap_sbuf(0, kn, INDEX_AT, U16, kn / 4));
		s->inst = OP(MATMUL_SPARSE, .flags = (uint8_t)add, .imm1 = 4,
			     .src0 = lines(ap_sbuf(0, kn, B_AT, BF16, n), n, 4));
		break;
	default:
		mx = NEURON_DTYPE_FP8_E5_X4;
		s->load = OP(LOAD_MX, .src0 = ap_sbuf(0, kn, A_AT, mx, kn),
			     .src1 = ap_sbuf(0, kn, C_AT, U8, kn));
		s->inst = OP(MATMUL_MX, .flags = (uint8_t)add,
			     .src0 = tile(&all, B_AT, mx, n), .src1 = tile(&all, C_AT, U8, n));
	}
	if (isa->opcode == NEURON_OP_LOAD_SPARSE || isa->opcode == NEURON_OP_LOAD_MX) {
		s->inst = s->load;
		s->load.opcode = 0;
		return true;
	}
	all.large = false;
	s->inst.dst = tile(&all, 0, F32, n);
	s->inst.dst.addr |= NEURON_AP_PSUM;
	if (m->how == RESUME_SCATTERED && n > 2000)
		s->inst.dst = ap_psum(0, kn, 0, F32, n);
	return true;
}

/* Instructions whose shapes have rules of their own. */
static bool odd_shape(struct maker *m, const struct trn_isa *isa, struct resume_shape *s)
{
	unsigned int n = m->large ? 65535 : 1500;
	struct neuron_ap column = ap_sbuf(0, m->partitions, OUT_AT, F32, 1);

	switch (isa->opcode) {
	case NEURON_OP_MEMSET:
	case NEURON_OP_IOTA:
		s->inst = (struct neuron_inst){ .imm0 = 77, .dst = result(m, I32, n) };
		break;
	case NEURON_OP_RNG:
		s->inst = OP(RNG, .dst = result(m, U16, n));
		break;
	case NEURON_OP_RAND2:
		s->inst = OP(RAND2, .imm0 = f32(-1.0f), .imm1 = f32(2.0f),
			     .dst = result(m, BF16, n));
		break;
	case NEURON_OP_ACC_READ:
		s->inst = OP(ACC_READ, .dst = column);
		break;
	case NEURON_OP_ACC_LOAD:
		s->inst = OP(ACC_LOAD, .src0 = column);
		break;
	case NEURON_OP_TENSOR_REDUCE:
		s->inst = OP(TENSOR_REDUCE, .op0 = NEURON_ALU_ADD, .imm0 = 1,
			     .src0 = lines(tile(m, A_AT, BF16, n), n / 15, 15),
			     .dst = result(m, F32, 15));
		if (m->how != RESUME_OVER)
			break;
		s->inst.src0 = lines(s->inst.src0, 15, n / 15);
		s->inst.dst = result(m, F32, n / 15);
		break;
	case NEURON_OP_BN_STATS:
		s->inst = OP(BN_STATS, .src0 = tile(m, A_AT, F32, 510), .dst = result(m, F32, 6));
		break;
	case NEURON_OP_BN_AGGR:
		s->inst = OP(BN_AGGR, .src0 = tile(m, A_AT, F32, n), .dst = result(m, F32, 2));
		break;
	case NEURON_OP_MAX8:
		n = m->large ? 16383 : 1500;
		s->inst = OP(MAX8, .src0 = tile(m, A_AT, BF16, n), .dst = result(m, F32, 8));
		break;
	case NEURON_OP_FIND_INDEX8:
		n = m->large ? 16383 : 1500;
		s->inst = OP(FIND_INDEX8, .src0 = tile(m, A_AT, BF16, n),
			     .src1 = ap_sbuf(0, m->partitions, A_AT + 2048, BF16, 8),
			     .dst = result(m, U32, 8));
		break;
	case NEURON_OP_MATCH_REPLACE8:
		n = m->large ? 16383 : 1500;
		s->inst = OP(MATCH_REPLACE8, .src0 = tile(m, A_AT, BF16, n),
			     .src1 = ap_sbuf(0, m->partitions, A_AT + 2048, BF16, 8),
			     .dst = result(m, BF16, n), .imm0 = f32(3.0f),
			     .mode = NEURON_INST_COL1 >> 8, .col1 = OUT2_AT);
		break;
	case NEURON_OP_STREAM_SHUFFLE:
		s->inst = OP(STREAM_SHUFFLE, .src0 = tile(m, A_AT, BF16, n),
			     .dst = result(m, BF16, n));
		break;
	case NEURON_OP_TRANSPOSE:
		s->inst = OP(TRANSPOSE, .src0 = ap_sbuf(0, 32, A_AT, F32, 32),
			     .dst = ap_sbuf(0, 32, OUT_AT, F32, 32));
		break;
	case NEURON_OP_SET_RNG_SEED:
		s->inst = OP(SET_RNG_SEED, .src0 = ap_sbuf(0, 1, A_AT, U32, 1));
		break;
	case NEURON_OP_RAND_SET_STATE:
		s->engine = NEURON_ENGINE_GPSIMD;
		s->inst = OP(RAND_SET_STATE, .src0 = ap_sbuf(0, 128, A_AT, U32, 6));
		break;
	case NEURON_OP_RAND_GET_STATE:
		s->engine = NEURON_ENGINE_GPSIMD;
		s->inst = OP(RAND_GET_STATE, .dst = ap_sbuf(0, 128, OUT_AT, U32, 6));
		break;
	case NEURON_OP_QUANTIZE_MX:
		n = m->large ? 16383 : 300;
		m->partitions = 32;
		s->inst = OP(QUANTIZE_MX, .src0 = tile(m, A_AT, BF16, 4 * n),
			     .src1 = ap_sbuf(0, 32, OUT2_AT, U8, 300),
			     .dst = tile(m, OUT_AT, NEURON_DTYPE_FP8_E5_X4, n));
		if (m->large)
			s->inst.src1 = ap_dim(ap_dim(s->inst.src1, 0, 127, 1), 1, 129, 0);
		break;
	case NEURON_OP_PARTITION_REDUCE:
		m->partitions = m->large ? 128 : 48;
		s->inst = OP(PARTITION_REDUCE, .op0 = NEURON_ALU_ADD,
			     .src0 = tile(m, A_AT, BF16, n));
		m->partitions = 1;
		s->inst.dst = result(m, BF16, n);
		if (m->how == RESUME_OVER)
			s->inst.dst.addr |= NEURON_PUT(NEURON_AP_PARTITION, 32u);
		break;
	case NEURON_OP_LOCAL_GATHER:
		m->partitions = 32;
		s->inst = OP(LOCAL_GATHER, .imm0 = 16, .imm1 = m->large ? 4095 : 90,
			     .src0 = tile(m, A_AT, BF16, m->large ? 65535 : 1500),
			     .src1 = ap_sbuf(0, 32, INDEX_AT, U16, 256));
		s->inst.dst = result(m, BF16, 16 * s->inst.imm1);
		break;
	case NEURON_OP_GATHER:
		s->inst = OP(GATHER, .src0 = tile(m, A_AT, BF16, n),
			     .src1 = tile(m, INDEX_AT, U32, n), .dst = result(m, BF16, n));
		break;
	case NEURON_OP_NONZERO_WITH_COUNT:
		n = m->large ? 65280 : 1500;
		s->inst = OP(NONZERO_WITH_COUNT, .src0 = tile(m, A_AT, F32, n), .imm1 = 5,
			     .dst = result(m, I32, n + 1));
		break;
	case NEURON_OP_TOPK:
		n = m->large ? 65535 : 1500;
		m->partitions = 32;
		s->inst = OP(TOPK, .imm0 = n, .src0 = tile(m, A_AT, BF16, (n + 15) / 16),
			     .dst = result(m, BF16, m->large ? 32766 : 300),
			     .src1 = tile(m, OUT2_AT, U32, m->large ? 32766 : 300));
		break;
	case NEURON_OP_SEQUENCE_BOUNDS:
		n = m->large ? 32640 : 1500;
		m->partitions = 1;
		s->inst = OP(SEQUENCE_BOUNDS, .src0 = tile(m, A_AT, I32, n),
			     .dst = result(m, F32, 2 * n));
		break;
	default:
		return false;
	}
	s->inst.opcode = isa->opcode;
	return true;
}

static bool plain_shape(const struct maker *m, const struct trn_isa *isa,
			struct resume_shape *s)
{
	const struct neuron_inst sum = {
		.op2 = NEURON_ALU_ADD, .reduce = NEURON_REDUCE_RESET_REDUCE,
		.imm0 = f32(1.25f),
	};
	struct neuron_inst inst = sum;

	switch (isa->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		s->engine = NEURON_ENGINE_GPSIMD;
		s->inst = plain(m, isa, (struct neuron_inst){ .op0 = NEURON_ALU_POWER }, BF16,
				BF16);
		s->inst = with_second(m, s->inst, BF16);
		return true;
	case NEURON_OP_TENSOR_SCALAR:
		inst.op0 = NEURON_ALU_MULTIPLY;
		inst.op1 = NEURON_ALU_ADD;
		inst.flags = NEURON_INST_SRC1_COLUMN;
		inst.imm0 = 0;
		inst.src1 = ap_sbuf(0, m->partitions, A_AT + 64, BF16, 1);
		break;
	case NEURON_OP_TENSOR_SCAN:
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		s->inst = plain(m, isa, (struct neuron_inst){ .op0 = NEURON_ALU_MULTIPLY,
				.op1 = NEURON_ALU_ADD, .imm0 = f32(0.5f) }, BF16, BF16);
		s->inst = with_second(m, s->inst, BF16);
		return true;
	case NEURON_OP_TENSOR_CUMULATIVE:
		inst.op0 = NEURON_ALU_ADD;
		break;
	case NEURON_OP_COPY_PREDICATED:
		s->inst = plain(m, isa, (struct neuron_inst){ 0 }, BF16, BF16);
		s->inst = with_second(m, s->inst, U8);
		return true;
	case NEURON_OP_SELECT_REDUCE:
		inst.op2 = NEURON_ALU_MAX;
		s->inst = with_second(m, plain(m, isa, inst, BF16, BF16), U8);
		return true;
	case NEURON_OP_RANGE_SELECT:
		inst.op0 = NEURON_ALU_IS_GE;
		inst.op1 = NEURON_ALU_IS_LT;
		inst.op2 = NEURON_ALU_MAX;
		inst.imm1 = f32(900.0f);
		break;
	case NEURON_OP_ACTIVATE:
		inst.op0 = NEURON_ACT_GELU;
		s->inst = plain(m, isa, inst, BF16, m->large ? BF16 : F32);
		return true;
	case NEURON_OP_ACTIVATE2:
		inst.op0 = NEURON_ALU_MULTIPLY;
		inst.op1 = NEURON_ALU_ADD;
		inst.reg[0] = NEURON_ACT_GELU;
		break;
	case NEURON_OP_EXPONENTIAL:
		break;
	case NEURON_OP_AFFINE_SELECT:
		inst = (struct neuron_inst){ .op0 = NEURON_ALU_IS_GT, .imm1 = 3 };
		break;
	case NEURON_OP_DROPOUT:
		inst = (struct neuron_inst){ .imm0 = f32(0.5f) };
		break;
	case NEURON_OP_COPY:
		s->inst = plain(m, isa, (struct neuron_inst){ 0 }, BF16,
				NEURON_DTYPE_FP8_E4);
		return true;
	case NEURON_OP_RECIPROCAL:
		inst = (struct neuron_inst){ 0 };
		break;
	default:
		return false;
	}
	s->inst = plain(m, isa, inst, BF16, BF16);
	return true;
}

bool resume_shape(const struct neuron_gen *gen, const struct trn_isa *isa,
		  enum resume_how how, bool large, struct resume_shape *shape)
{
	struct maker m = { gen, how, large, large ? 2 : 48 };
	unsigned int e = NEURON_ENGINE_TENSOR;

	memset(shape, 0, sizeof(*shape));
	if (isa->generation > gen->generation || isa->unit == TRN_ISA_SEQUENCER ||
	    (how == RESUME_INDEX && (gen->generation < 4 || !isa->indirect)))
		return false;
	while (!(isa->engines & NEURON_BIT(e)))
		e++;
	shape->engine = e;
	if (how == RESUME_INDEX)
		m.partitions = 32;
	if (isa->unit == TRN_ISA_TENSOR)
		return tensor_shape(&m, isa, shape);
	if (plain_shape(&m, isa, shape) || odd_shape(&m, isa, shape))
		return true;
	fail_msg("no shape of %s: it belongs into resume_shapes.c", isa->name);
	return false;
}

/* Numbers about 1 of both signs, in fp32 and bf16; some zeros; small ones in the index. */
void resume_fill(struct seq_rig *rig)
{
	uint32_t line[RESUME_BYTES / sizeof(uint32_t)], state = 1;
	unsigned int p, i;

	for (p = 0; p < RESUME_PARTITIONS; p++) {
		for (i = 0; i < RESUME_BYTES / sizeof(*line); i++) {
			state = state * 1664525 + 1013904223;
			line[i] = i % 11 ? 0x3f803f80u ^ (state >> 8 & 0x807f00ffu) : 0;
			if (i >= INDEX_AT / 4 && i < OUT_AT / 4)
				line[i] = state >> 20 & 0x7f;
		}
		memcpy(seq_sbuf(seq_core(rig, 0, 0), p, 0), line, sizeof(line));
		memcpy(seq_psum(seq_core(rig, 0, 0), p, 0), line + INDEX_AT / 4 - 4096, 16384);
	}
}
