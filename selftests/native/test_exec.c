// SPDX-License-Identifier: MIT
/*
 * What the engines compute: each instruction good and bad, access patterns, and
 * random tiles against a model that handles one element at a time.
 */
#include "exec_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/trn_num.h"

/* --- access patterns --- */

static void checks_partitions(void **state)
{
	unsigned int first, count;

	for (first = 0; first < 128; first += 16)
		for (count = 0; count < 256; count += count == 63 ? 1 : 31) {
			bool ok = count >= 1 && count <= 128 &&
				  (count > 64 ? first == 0 :
				   count > 32 ? first % 64 == 0 : first % 32 == 0);
			struct neuron_inst inst =
				OP(MEMSET, .dst = ap_sbuf(first, count, 0, F32, 1));

			if (ok)
				good(state, VECTOR, inst);
			else
				bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
		}
}

static void checks_bounds(void **state)
{
	struct neuron_ap ap = ap_sbuf(0, 128, PARTITION - 40, F32, 10);
	struct neuron_inst prog[2];

	good(state, VECTOR, OP(MEMSET, .dst = ap));
	ap.num[0] = 11;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_ACCESS);
	bad(state, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0xffffff, U8, 1)),
	    NEURON_CAUSE_ACCESS);
	good(state, VECTOR, OP(MEMSET, .dst = ap_psum(0, 1, 16380, F32, 1)));
	bad(state, VECTOR, OP(MEMSET, .dst = ap_psum(0, 1, 16384, F32, 1)),
	    NEURON_CAUSE_ACCESS);
	bad(state, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 2, F32, 1)),
	    NEURON_CAUSE_ACCESS);

	/* A negative step goes down to the first byte and no further. */
	ap = ap_dim(ap_sbuf(0, 1, 36, F32, 10), 0, 10, -1);
	good(state, VECTOR, OP(MEMSET, .dst = ap));
	ap.num[0] = 11;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_ACCESS);

	/* An offset register moves the tile, signed. */
	prog[0] = OP(REG_SET, .reg = { 5 }, .imm0 = (uint32_t)-8);
	prog[1] = OP(MEMSET, .imm0 = f32(3), .dst = ap_sbuf(0, 1, 8, F32, 1));
	prog[1].dst.offset_reg = 5;
	assert_int_equal(run(*state, VECTOR, prog, 2).status, NEURON_JOB_OK);
	assert_true(*sbuf_f(state, 0, 0) == 3);
	prog[0].imm0 = (uint32_t)-12;
	assert_int_equal(run(*state, VECTOR, prog, 2).cause, NEURON_CAUSE_ACCESS);
	prog[0].imm0 = 0x7fffffff;
	assert_int_equal(run(*state, VECTOR, prog, 2).cause, NEURON_CAUSE_ACCESS);
}

static void checks_shapes(void **state)
{
	struct neuron_ap ap = ap_sbuf(0, 1, 0, U8, 65535);

	ap = ap_dim(ap_dim(ap, 0, 256, 0), 1, 256, 0);
	good(state, VECTOR, OP(MEMSET, .dst = ap));
	ap.num[2] = 2;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	ap.num[2] = 65535;
	ap.num[3] = 65535;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	ap.num[3] = 0;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	ap = ap_psum(0, 1, 0, U8, 4097);
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	/* Repetitions of 4096 places in PSUM count for SBUF's limit alone. */
	ap = ap_dim(ap_psum(0, 1, 0, U8, 4096), 1, 16, 0);
	good(state, VECTOR, OP(MEMSET, .dst = ap));
	ap.num[0] = 4097;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	ap.num[0] = 4096;
	ap.num[1] = 17;
	bad(state, VECTOR, OP(MEMSET, .dst = ap), NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0, 0, 1)),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(MEMSET, .dst = ap_sbuf(0, 1, 0, 77, 1)),
	    NEURON_CAUSE_OPERAND);
}

static void usable_sbuf_depends_on_the_generation(void **state)
{
	struct seq_rig rig;
	struct neuron_inst inst = OP(MEMSET, .dst = ap_sbuf(0, 1, NEURON_KIB(192),
							    U8, 1));

	good(state, VECTOR, inst);
	seq_rig_init(&rig, &neuron_gen_trn1, 1, 1, false);
	assert_int_equal(run(&rig, VECTOR, &inst, 1).cause, NEURON_CAUSE_ACCESS);
	inst.dst.addr--;
	assert_int_equal(run(&rig, VECTOR, &inst, 1).status, NEURON_JOB_OK);
	seq_rig_destroy(&rig);
}

/* --- fills and copies --- */

static void fills(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	const uint16_t *h = seq_sbuf(core, 33, 0x100);
	const int8_t *b = seq_sbuf(core, 33, 0x100);
	const int32_t *w = seq_sbuf(core, 33, 0x100);

	good(state, VECTOR, OP(MEMSET, .imm0 = f32(1.5f),
			       .dst = ap_sbuf(32, 32, 0x100, BF16, 3)));
	assert_int_equal(h[0], 0x3fc0);
	assert_int_equal(h[2], 0x3fc0);
	assert_int_equal(h[3], 0);
	good(state, GPSIMD, OP(MEMSET, .imm0 = (uint32_t)-2,
			       .dst = ap_sbuf(32, 32, 0x100, I8, 5)));
	assert_int_equal(b[4], -2);
	good(state, VECTOR, OP(MEMSET, .imm0 = 0x89abcdef,
			       .dst = ap_sbuf(32, 32, 0x100, I32, 1)));
	assert_int_equal((uint32_t)w[0], 0x89abcdef);
	bad(state, GPSIMD, OP(MEMSET, .dst = ap_psum(0, 1, 0, F32, 1)),
	    NEURON_CAUSE_OPERAND);
}

static void copies_and_casts(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	uint32_t *in = seq_sbuf(core, 1, 0);
	const uint32_t *out = seq_sbuf(core, 97, 0x40);
	const uint8_t *bytes = seq_sbuf(core, 97, 0x40);
	const uint16_t *half = seq_sbuf(core, 97, 0x40);

	in[0] = 0x7f812345;		/* a signalling NaN */
	in[1] = 1;			/* denormal */
	in[2] = f32(-1);
	in[3] = f32(300.5f);
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(96, 32, 0x40, F32, 4),
			       .src0 = ap_sbuf(0, 32, 0, F32, 4)));
	assert_memory_equal(out, in, 16);
	good(state, SCALAR, OP(COPY, .dst = ap_sbuf(96, 32, 0x40, U8, 4),
			       .src0 = ap_sbuf(0, 32, 0, F32, 4)));
	assert_int_equal(bytes[0], 0);
	assert_int_equal(bytes[2], 0);
	assert_int_equal(bytes[3], 255);
	good(state, GPSIMD, OP(COPY, .dst = ap_sbuf(96, 32, 0x40, BF16, 4),
			       .src0 = ap_sbuf(0, 32, 0, F32, 4)));
	assert_int_equal(half[0], 0x7fc0);
	assert_int_equal(half[2], 0xbf80);
	assert_int_equal(half[3], 0x4396);

	bad(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, 0, F32, 4),
			      .src0 = ap_sbuf(0, 31, 0, F32, 4)),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, 0, F32, 4),
			      .src0 = ap_sbuf(0, 32, 0, F32, 5)),
	    NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 32, PARTITION, F32, 4),
			      .src0 = ap_sbuf(0, 32, 0, F32, 4)),
	    NEURON_CAUSE_ACCESS);
}

static void patterns_permute(void **state)
{
	float *in = sbuf_f(state, 0, 0);
	const float *out = sbuf_f(state, 0, 0x1000);
	struct neuron_ap src = ap_sbuf(0, 1, 0, F32, 1);
	unsigned int i, j;

	for (i = 0; i < 12; i++)
		in[i] = (float)i;
	/* Transpose of 3 x 4, and a row of it backwards four times. */
	src = ap_dim(ap_dim(src, 0, 3, 4), 1, 4, 1);
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x1000, F32, 12),
			       .src0 = src));
	for (i = 0; i < 4; i++)
		for (j = 0; j < 3; j++)
			assert_true(out[i * 3 + j] == in[j * 4 + i]);
	src = ap_dim(ap_dim(ap_sbuf(0, 1, 12, F32, 1), 0, 4, -1), 1, 4, 0);
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 0x1000, F32, 16),
			       .src0 = src));
	for (i = 0; i < 16; i++)
		assert_true(out[i] == (float)(3 - i % 4));
}

/* --- element-wise --- */

static void combines_tiles(void **state)
{
	float *a = sbuf_f(state, 5, 0), *b = sbuf_f(state, 69, 0x100);
	const float *out = sbuf_f(state, 5, 0x200);
	struct neuron_inst inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_SUBTRACT,
				     .dst = ap_sbuf(0, 64, 0x200, F32, 3),
				     .src0 = ap_sbuf(0, 64, 0, F32, 3),
				     .src1 = ap_sbuf(64, 64, 0x100, F32, 3));
	struct neuron_inst psum = inst;

	a[0] = 1;
	a[1] = 2;
	b[0] = 5;
	b[1] = -7;
	b[2] = 0.5f;
	good(state, VECTOR, inst);
	assert_true(out[0] == -4 && out[1] == 9 && out[2] == -0.5f);
	inst.op0 = NEURON_ALU_MAX;
	good(state, GPSIMD, inst);
	assert_true(out[0] == 5 && out[1] == 2 && out[2] == 0.5f);

	psum.src0 = ap_psum(0, 64, 0, F32, 3);
	good(state, VECTOR, psum);
	bad(state, GPSIMD, psum, NEURON_CAUSE_OPERAND);
	psum.src1 = ap_psum(64, 64, 0, F32, 3);
	bad(state, VECTOR, psum, NEURON_CAUSE_OPERAND);
	inst.op0 = NEURON_ALU_BYPASS;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.op0 = NEURON_ALU_BITWISE_AND;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.op0 = 0x7f;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.op0 = NEURON_ALU_ADD;
	inst.src1.num[0] = 2;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void combines_bits(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	uint16_t *a = seq_sbuf(core, 0, 0), *b = seq_sbuf(core, 0, 0x100);
	struct neuron_inst inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_BITWISE_XOR,
				     .dst = ap_sbuf(0, 1, 0, U16, 2),
				     .src0 = ap_sbuf(0, 1, 0, U16, 2),
				     .src1 = ap_sbuf(0, 1, 0x100, U16, 2));

	a[0] = 0xff00;
	a[1] = 0x1234;
	b[0] = 0x0ff0;
	b[1] = 0x1234;
	good(state, VECTOR, inst);
	assert_int_equal(a[0], 0xf0f0);
	assert_int_equal(a[1], 0);
	inst.src1.dtype = U8;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);

	inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_SHIFT_LEFT,
		  .op1 = NEURON_ALU_BITWISE_OR, .imm0 = 4, .imm1 = 3,
		  .dst = ap_sbuf(0, 1, 0, U16, 1), .src0 = ap_sbuf(0, 1, 0, U16, 1));
	good(state, VECTOR, inst);
	assert_int_equal(a[0], 0x0f03);
	inst.flags = NEURON_INST_REVERSE0;	/* 4 << 0 */
	a[0] = 0;
	good(state, VECTOR, inst);
	assert_int_equal(a[0], 7);
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.op1 = NEURON_ALU_ADD;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_BITWISE_AND,
		  .flags = NEURON_INST_SRC1_COLUMN, .dst = ap_sbuf(0, 1, 0, U16, 2),
		  .src0 = ap_sbuf(0, 1, 0x100, U16, 2),
		  .src1 = ap_sbuf(0, 1, 0x100, U16, 1));
	good(state, VECTOR, inst);
	assert_int_equal(a[0], 0x0ff0);
	assert_int_equal(a[1], 0x0ff0 & 0x1234);
}

static void applies_scalars(void **state)
{
	float *a = sbuf_f(state, 2, 0), *column = sbuf_f(state, 2, 0x100);
	struct neuron_inst inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_SUBTRACT,
				     .imm0 = f32(10),
				     .dst = ap_sbuf(0, 32, 0, F32, 2),
				     .src0 = ap_sbuf(0, 32, 0, F32, 2));

	a[0] = 3;
	a[1] = 4;
	good(state, VECTOR, inst);
	assert_true(a[0] == -7 && a[1] == -6);
	inst.flags = NEURON_INST_REVERSE0;
	good(state, VECTOR, inst);
	assert_true(a[0] == 17 && a[1] == 16);
	exec_more_operators(state, true);
	inst.op1 = NEURON_ALU_DIVIDE;
	inst.imm1 = f32(16);
	inst.flags = NEURON_INST_REVERSE1;
	good(state, VECTOR, inst);		/* 16 / (a - 10) */
	assert_true(a[0] == 16.0f / 7 && a[1] == 16.0f / 6);
	exec_more_operators(state, false);
	inst.op1 = NEURON_ALU_BYPASS;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);	/* imm1, REVERSE1 */

	column[0] = 0.5f;
	inst = OP(TENSOR_SCALAR, .op0 = NEURON_ALU_MULTIPLY, .op1 = NEURON_ALU_ADD,
		  .imm1 = f32(1), .flags = NEURON_INST_SRC1_COLUMN,
		  .dst = ap_sbuf(0, 32, 0, F32, 2),
		  .src0 = ap_sbuf(0, 32, 0, F32, 2),
		  .src1 = ap_sbuf(0, 32, 0x100, F32, 1));
	a[0] = 4;
	good(state, SCALAR, inst);
	assert_true(a[0] == 3);
	inst.op0 = NEURON_ALU_SUBTRACT;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);	/* not before v4 */
	good(state, VECTOR, inst);
	inst.src1.num[0] = 2;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.src1.num[0] = 1;
	inst.imm0 = 1;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
}

static void reduces(void **state)
{
	float *in = sbuf_f(state, 127, 0);
	const float *out = sbuf_f(state, 127, 0x8000);
	struct neuron_inst inst = OP(TENSOR_REDUCE, .op0 = NEURON_ALU_ADD, .imm0 = 1,
				     .dst = ap_sbuf(0, 128, 0x8000, F32, 2),
				     .src0 = ap_dim(ap_sbuf(0, 128, 0, F32, 3), 1,
						    2, 3));
	float sum = 0;
	unsigned int i;

	/* In ascending order 1e8 swallows the 1. */
	in[0] = 1;
	in[1] = 1e8f;
	in[2] = -1e8f;
	in[3] = 1e8f;
	in[4] = -1e8f;
	in[5] = 1;
	good(state, VECTOR, inst);
	assert_true(out[0] == 0 && out[1] == 1);
	inst.flags = NEURON_INST_NEGATE;
	inst.op0 = NEURON_ALU_MAX;
	exec_more_operators(state, true);
	good(state, GPSIMD, inst);
	exec_more_operators(state, false);
	assert_true(out[0] == -1e8f && out[1] == -1e8f);
	inst.imm0 = 2;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.dst.num[0] = 1;
	good(state, VECTOR, inst);
	inst.imm0 = 0;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.imm0 = 5;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);
	inst.imm0 = 1;
	inst.op0 = NEURON_ALU_DIVIDE;
	bad(state, VECTOR, inst, NEURON_CAUSE_OPERAND);

	/* A chain longer than any buffer, in place. */
	for (i = 0; i < 5000; i++) {
		in[i] = 1.0f / (float)(i + 1);
		sum = i ? sum + in[i] : in[i];
	}
	good(state, VECTOR, OP(TENSOR_REDUCE, .op0 = NEURON_ALU_ADD, .imm0 = 1,
			       .dst = ap_sbuf(0, 128, 0, F32, 1),
			       .src0 = ap_sbuf(0, 128, 0, F32, 5000)));
	assert_true(in[0] == sum);
}

static void activates(void **state)
{
	float *in = sbuf_f(state, 3, 0), *bias = sbuf_f(state, 3, 0x100);
	const float *out = sbuf_f(state, 3, 0x200);
	struct neuron_inst inst = OP(ACTIVATE, .op0 = NEURON_ACT_RELU,
				     .imm0 = f32(2), .imm1 = f32(-1),
				     .dst = ap_sbuf(0, 32, 0x200, F32, 3),
				     .src0 = ap_sbuf(0, 32, 0, F32, 3));
	float expect[3];

	in[0] = 3;
	in[1] = 0.25f;
	in[2] = -1;
	good(state, SCALAR, inst);
	assert_true(out[0] == 5 && out[1] == 0 && out[2] == 0);
	inst.op0 = NEURON_ACT_GELU;
	inst.imm1 = 0;
	inst.flags = NEURON_INST_SRC1_COLUMN;
	inst.src1 = ap_sbuf(0, 32, 0x100, F32, 1);
	bias[0] = 0.5f;
	good(state, SCALAR, inst);
	trn_act(NEURON_ACT_GELU, expect, in, 2, 0.5f, 0, 3);
	assert_memory_equal(out, expect, sizeof(expect));
	inst.imm1 = 1;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.imm1 = 0;
	inst.op0 = 0x55;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	inst.op0 = NEURON_ACT_EXP;
	inst.src1.partitions = 31;
	bad(state, SCALAR, inst, NEURON_CAUSE_OPERAND);
	bad(state, VECTOR, inst, NEURON_CAUSE_OPCODE);
}

/* --- tensor engine --- */

#define K	33
#define M	20
#define N	150

static void put_bf16(void *at, float value)
{
	uint16_t half = (uint16_t)(f32(value) >> 16);

	memcpy(at, &half, sizeof(half));
}

static void fill_operands(struct trn_core *core, int32_t w[K][M], int32_t x[K][N])
{
	unsigned int k, i;

	for (k = 0; k < K; k++) {
		for (i = 0; i < M; i++) {
			w[k][i] = (int32_t)rnd(17) - 8;
			put_bf16(seq_sbuf(core, k, 2 * i), (float)w[k][i]);
		}
		for (i = 0; i < N; i++) {
			x[k][i] = (int32_t)rnd(17) - 8;
			put_bf16(seq_sbuf(core, k, 0x1000 + 2 * i), (float)x[k][i]);
		}
	}
}

static void multiplies(void **state)
{
	struct trn_core *core = seq_core(*state, 0, 0);
	static int32_t w[K][M], x[K][N];
	struct neuron_inst prog[4] = {
		OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, K, 0, BF16, M)),
		OP(MATMUL, .dst = ap_psum(0, M, 0x800, F32, N),
		   .src0 = ap_sbuf(0, K, 0x1000, BF16, N)),
	};
	unsigned int k, m, n;

	fill_operands(core, w, x);
	prog[2] = prog[1];
	prog[2].flags = NEURON_INST_ACCUMULATE;
	/* The same into every second element, from the top down. */
	prog[3] = prog[2];
	prog[3].dst = ap_dim(ap_psum(0, M, 0x2000 + 8 * (N - 1), F32, N), 0, N, -2);
	for (m = 0; m < M; m++)
		for (n = 0; n < N; n++)
			psum_f(state, m, 0x2000)[2 * (N - 1 - n)] = 1000;
	assert_int_equal(run(*state, TENSOR, prog, 4).status, NEURON_JOB_OK);
	for (m = 0; m < M; m++) {
		for (n = 0; n < N; n++) {
			int32_t sum = 0;

			for (k = 0; k < K; k++)
				sum += w[k][m] * x[k][n];
			assert_true(psum_f(state, m, 0x800)[n] == 2.0f * (float)sum);
			assert_true(psum_f(state, m, 0x2000)[2 * (N - 1 - n)] ==
				    1000 + (float)sum);
		}
	}
}

static void expect_product_fault(void **state, struct neuron_inst load,
				 struct neuron_inst multiply, uint32_t pc)
{
	struct neuron_inst prog[2] = { load, multiply };
	struct neuron_hw_completion record = run(*state, TENSOR, prog, 2);

	assert_int_equal(record.status, NEURON_JOB_ERROR);
	assert_int_equal(record.cause, NEURON_CAUSE_OPERAND);
	assert_int_equal(record.pc, pc);
}

static void refuses_products(void **state)
{
	struct neuron_inst load = OP(LOAD_STATIONARY,
				     .src0 = ap_sbuf(0, 64, 0, BF16, 128));
	struct neuron_inst mul = OP(MATMUL, .dst = ap_psum(0, 128, 0, F32, 512),
				    .src0 = ap_sbuf(0, 64, 0, BF16, 512));
	struct neuron_inst prog[2] = { load, mul }, i;

	assert_int_equal(run(*state, TENSOR, prog, 2).status, NEURON_JOB_OK);
	expect_product_fault(state, mul, mul, 0);	/* nothing loaded */
	i = load;
	i.src0.num[0] = 129;
	expect_product_fault(state, i, mul, 0);
	i = load;
	i.src0.addr |= NEURON_AP_PSUM;
	expect_product_fault(state, i, mul, 0);
	i = load;
	i.src0.dtype = I8;
	expect_product_fault(state, i, mul, 0);
	i = load;
	i.src0.dtype = F32;
	expect_product_fault(state, i, mul, 1);		/* fp32 with bf16 */
	i = mul;
	i.src0.dtype = F32;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.src0.partitions = 32;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.dst.partitions = 64;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.dst.dtype = BF16;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.dst.addr &= ~NEURON_AP_PSUM;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.src0.num[0] = 513;
	i.dst.num[0] = 513;
	expect_product_fault(state, load, i, 1);
	i = mul;
	i.flags = NEURON_INST_NEGATE;
	expect_product_fault(state, load, i, 1);
}

/* --- random tiles --- */

/* Bytes of a partition that random tiles use; more than one buffer's worth. */
#define ARENA	12288

static struct neuron_ap random_ap(unsigned int partitions, uint32_t n,
				  unsigned int dtype, unsigned int first)
{
	struct neuron_ap ap = ap_sbuf(first, partitions, 0, dtype, 1);
	unsigned int size = trn_dtype_size(dtype), d;
	int64_t low = 0, high = 0;
	uint32_t left = n, room;

	for (d = 0; d < 4; d++) {
		uint32_t num = d == 3 ? left : 1;
		int reach = d == 0 || rnd(4) ? (int)rnd(5) - 1 : (int)rnd(60);

		if (d < 3 && left > 1 && rnd(3))
			for (num = 1 + rnd(left < 64 ? left : 64); left % num;)
				num--;
		left /= num;
		if (num > 1 && num * (uint32_t)abs(reach) * size > ARENA / 4)
			reach = d == 0;
		ap = ap_dim(ap, d, num, reach);
		if (reach < 0)
			low += (int64_t)(num - 1) * reach;
		else
			high += (int64_t)(num - 1) * reach;
	}
	if ((uint64_t)(high - low + 1) * size > ARENA)
		return ap_sbuf(first, partitions, 0, dtype, n);
	room = ARENA / size - (uint32_t)(high - low);
	ap.addr |= (uint32_t)(rnd(room) - low) * size;
	return ap;
}

/* Address of element @i of partition @p in an image of the arena. */
static uint8_t *element(uint8_t (*arena)[ARENA], const struct neuron_ap *ap,
			unsigned int p, uint32_t i)
{
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, ap->addr);
	int64_t at = NEURON_GET(NEURON_AP_OFFSET, ap->addr);
	unsigned int d;

	for (d = 0; d < 4; d++) {
		at += (int64_t)(i % ap->num[d]) * (int16_t)ap->step[d] *
		      trn_dtype_size(ap->dtype);
		i /= ap->num[d];
	}
	return &arena[first + p][at];
}

/* The definition: read a whole source line, then write element by element. */
static void model_scalar(uint8_t (*arena)[ARENA], const struct neuron_inst *inst,
			 uint32_t n)
{
	static float line[65536];
	unsigned int p;
	uint32_t i;

	for (p = 0; p < inst->dst.partitions; p++) {
		for (i = 0; i < n; i++) {
			float value, scalar;

			trn_to_fp32(&value, element(arena, &inst->src0, p, i),
				    inst->src0.dtype, 1);
			memcpy(&scalar, &inst->imm0, 4);
			trn_alu_vs(inst->op0, &line[i], &value, scalar, false, 1);
		}
		for (i = 0; i < n; i++)
			trn_from_fp32(element(arena, &inst->dst, p, i), &line[i],
				      inst->dst.dtype, 1);
	}
}

static void random_tiles_match_the_model(void **state)
{
	static const uint8_t types[] = { F32, BF16, NEURON_DTYPE_FP16, I8, U8, U16,
					 I32 };
	static uint8_t before[128][ARENA], after[128][ARENA];
	struct trn_core *core = seq_core(*state, 0, 0);
	unsigned int round, p, i;

	for (round = 0; round < 1500; round++) {
		bool big = round % 50 == 0;
		unsigned int partitions = 1 + rnd(big ? 4 : 32);
		uint32_t n = 1 + rnd(big ? 3000 : 40);
		unsigned int a = types[rnd(sizeof(types))];
		unsigned int b = types[rnd(sizeof(types))];
		struct neuron_inst inst = OP(TENSOR_SCALAR,
					     .op0 = NEURON_ALU_ADD, .imm0 = f32(1));
		unsigned int first = 32 * rnd(4);

		inst.dst = random_ap(partitions, n, a, first);
		inst.src0 = random_ap(partitions, n, b,
				      rnd(2) ? first : 32 * rnd(4));
		for (p = 0; p < 128; p++) {
			for (i = 0; i < ARENA; i++)
				before[p][i] = (uint8_t)rnd(256);
			memcpy(seq_sbuf(core, p, 0), before[p], ARENA);
			if (p % 32 >= partitions)
				p |= 31;
		}
		good(state, VECTOR, inst);
		memcpy(after, before, sizeof(after));
		model_scalar(after, &inst, n);
		for (p = 0; p < 128; p++) {
			if (memcmp(seq_sbuf(core, p, 0), after[p], ARENA) &&
			    p % 32 < partitions)
				fail_msg("round %u differs in partition %u", round,
					 p);
		}
	}
}

/* Source and destination one element apart, longer than the buffers. */
static void shifts_in_place(void **state)
{
	float *line = sbuf_f(state, 0, 0);
	unsigned int i;

	for (i = 0; i < 5001; i++)
		line[i] = (float)i;
	good(state, VECTOR, OP(COPY, .dst = ap_sbuf(0, 1, 4, F32, 5000),
			       .src0 = ap_sbuf(0, 1, 0, F32, 5000)));
	assert_true(line[0] == 0);
	for (i = 1; i < 5001; i++)
		assert_true(line[i] == (float)(i - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_partitions),
		cmocka_unit_test(checks_bounds),
		cmocka_unit_test(checks_shapes),
		cmocka_unit_test(usable_sbuf_depends_on_the_generation),
		cmocka_unit_test(fills),
		cmocka_unit_test(copies_and_casts),
		cmocka_unit_test(patterns_permute),
		cmocka_unit_test(combines_tiles),
		cmocka_unit_test(combines_bits),
		cmocka_unit_test(applies_scalars),
		cmocka_unit_test(reduces),
		cmocka_unit_test(activates),
		cmocka_unit_test(multiplies),
		cmocka_unit_test(refuses_products),
		cmocka_unit_test(random_tiles_match_the_model),
		cmocka_unit_test(shifts_in_place),
	};

	return cmocka_run_group_tests(tests, exec_setup, exec_teardown);
}
