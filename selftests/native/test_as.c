// SPDX-License-Identifier: MIT
/*
 * The assembler: every form of the ISA manual, random instructions there and back, the
 * directives, and what is said about sources with errors.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_rig.h"
#include "chip/isa/trn_isa.h"
#include "neuron/address.h"

static struct neuron_inst first_inst(struct nb_program *nb, enum neuron_engine engine)
{
	struct neuron_inst inst;

	assert_true(nb_here(nb, engine) > 0);
	inst = *nb_inst(nb, engine, 0);
	nb_free(nb);
	return inst;
}

/* The instruction that @text is on @engine. */
static struct neuron_inst one(enum neuron_engine engine, const char *text)
{
	char source[2048];

	snprintf(source, sizeof(source), ".engine %s\n%s\nbranch 0\n",
		 trn_isa_engine_name(engine), text);
	return first_inst(as_good(source), engine);
}

/* Tiles of the forms below. */
#define SCALES	"sbuf[0:32, 0x80 : 9 uint8]"
#define PAIRS	"sbuf[0:16, 0x0 : 32*2 bf16]"
#define RANKS	"sbuf[0:16, 0x40 : 8 uint32]"
#define EIGHT	"1, 0, 255, 2, 5, 31, 7, 6"
#define T8	"sbuf[0:1, 0x0 : 8 fp32]"
#define P8	"psum[0:32, 0x0 : 2*4 fp32]"
#define I8	"sbuf[0:1, 0x0 : 8 int32]"
#define NAMED	"psum[0:32, 0x8 : 24 fp32 index[0, 0x400]]"
#define COLUMN	"sbuf[0:1, 0x100 : 1 fp32]"
#define ONE(dtype)	"sbuf[0:1, 0x100 : 1 " dtype "]"

/* Each form of the manual, as the disassembler writes it. */
static const struct {
	enum neuron_engine engine;
	const char *text;
} forms[] = {
	{ NEURON_ENGINE_SYNC, "halt" },
	{ NEURON_ENGINE_SYNC, "nop" },
	{ NEURON_ENGINE_SYNC, "nop wait s3 >= 16" },
	{ NEURON_ENGINE_SYNC, "nop wait s255 == -5 post s0 -= 7" },
	{ NEURON_ENGINE_SYNC, "nop take s1 >= 1 post s2 = -2147483648" },
	{ NEURON_ENGINE_SYNC, "nop take s1 == 2147483647 post s2 += 1" },
	{ NEURON_ENGINE_SYNC, "notify 0x10" },
	{ NEURON_ENGINE_SYNC, "dma_trigger q0, 2, 4294967295" },
	{ NEURON_ENGINE_SYNC, "dma_trigger q65535, 0, 1" },
	{ NEURON_ENGINE_SYNC, "dma_generate q0, w3:0x40, r0, r63" },
	{ NEURON_ENGINE_SYNC, "dma_generate q65535, 0x1234, r1, r0 take s1 >= 1" },
	{ NEURON_ENGINE_SYNC, "dma_generate q0, w3:0x40, r0, r63, r9, 3" },
	{ NEURON_ENGINE_SYNC, "dma_generate q0, w3:0x40, r0, r0 landed post s3 += 1" },
	{ NEURON_ENGINE_SYNC, "dma_trigger q4, 2, 2, 16 landed post s9 = 7" },
	{ NEURON_ENGINE_SYNC, "event_set e0" },
	{ NEURON_ENGINE_VECTOR, "event_clear e255 post s4 += 1" },
	{ NEURON_ENGINE_TENSOR, "event_wait e17" },
	{ NEURON_ENGINE_SCALAR, "event_wait e17 clear take s1 >= 1" },
	{ NEURON_ENGINE_SYNC, "sem_range_clear s0, s255" },
	{ NEURON_ENGINE_GPSIMD, "sem_range_clear s7, s7 wait s3 >= 1 post s8 = 1" },
	{ NEURON_ENGINE_SYNC, "reg_set r63, -4" },
	{ NEURON_ENGINE_GPSIMD, "reg_rank r63" },
	{ NEURON_ENGINE_GPSIMD, "reg_alu.add r1, r2, r3" },
	{ NEURON_ENGINE_GPSIMD, "reg_alu.shift_left r1, r2, -3" },
	{ NEURON_ENGINE_SYNC, "branch 7" },
	{ NEURON_ENGINE_SYNC, "branch.is_lt r1, r2, 7" },
	{ NEURON_ENGINE_SYNC, "branch.is_ne r1, -1, 7" },
	{ NEURON_ENGINE_SYNC, "loop r1, 0" },
	{ NEURON_ENGINE_SYNC, "reg_load r1, w2:0x10" },
	{ NEURON_ENGINE_SYNC, "reg_load r1, w65535:0x7fffffffffff+r5" },
	{ NEURON_ENGINE_SYNC, "reg_load r1, 0x1234" },
	{ NEURON_ENGINE_SYNC, "reg_store w2:0x10+r3, r1" },
	{ NEURON_ENGINE_SYNC, "reg_store 0x40+r63, r0" },
	{ NEURON_ENGINE_TENSOR, "load_stationary sbuf[0:64, 0x400 : 128 bf16] wait s3 >= 16" },
	{ NEURON_ENGINE_TENSOR,
	  "matmul psum[0:128, 0x0 : 10 fp32], sbuf[0:64, 0x0 : 10 bf16] post s4 += 1" },
	{ NEURON_ENGINE_TENSOR, "matmul psum[0:128, 0x0 : 9 fp32], sbuf[0:64, 0x0 : 9 bf16] acc" },
	{ NEURON_ENGINE_TENSOR,
	  "load_stationary sbuf[0:32, 0x0 : 32 fp16] array[64:128, 0:64] transpose" },
	{ NEURON_ENGINE_TENSOR,
	  "matmul psum[0:32, 0x0 : 9 fp32], sbuf[0:32, 0x0 : 2*9 fp8_e4] acc one_zero double_row" },
	{ NEURON_ENGINE_TENSOR,
	  "matmul psum[0:32, 0x0 : 9 fp32], sbuf[0:32, 0x0 : 9 bf16] written[4:32, 0:7] one_zero" },
	{ NEURON_ENGINE_TENSOR,
	  "load_sparse sbuf[0:32, 0x0 : 16 bf16], sbuf[0:32, 0x80 : 4 uint16]" },
	{ NEURON_ENGINE_TENSOR,
	  "matmul_sparse psum[0:16, 0x0 : 9 fp32], sbuf[0:32, 0x0 : 4*9 bf16], 4 acc" },
	{ NEURON_ENGINE_TENSOR,
	  "load_mx sbuf[0:32, 0x0 : 16 fp8_e5_x4], sbuf[0:32, 0x80 : 16 e8m0], 12" },
	{ NEURON_ENGINE_TENSOR,
	  "matmul_mx psum[0:16, 0x0 : 9 bf16], sbuf[0:32, 0x0 : 9 fp4_e2_x4], " SCALES ", 0" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_tensor.subtract " T8 ", sbuf[32:64, 0x20+r7 : 8 fp16], " P8 },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.multiply " T8 ", sbuf[0:1, 0x40 : 2*2*2@-3 fp32], 0.5" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.subtract.max " T8 ", " T8 ", 1.0, 0.0 rev0 rev1" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.add " T8 ", " T8 ", " COLUMN " rev0" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.add.divide " T8 ", " T8 ", " COLUMN ", 0x7f800000" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.bitwise_and.shift_right " I8 ", " I8 ", 0xff00, 0x8" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.bitwise_and.shift_right " I8 ", " I8 ", 0xff00, " ONE("int32") },
	{ NEURON_ENGINE_VECTOR,
	  "scalar_tensor_tensor.add.max " T8 ", " T8 ", " ONE("bf16") ", " T8 },
	{ NEURON_ENGINE_VECTOR, "tensor_scan.add.max " T8 ", " T8 ", " T8 ", " ONE("uint16") },
	{ NEURON_ENGINE_VECTOR, "dropout " T8 ", " T8 ", " ONE("fp16") },
	{ NEURON_ENGINE_SCALAR,
	  "activate2.relu.multiply.add " T8 ", " T8 ", " ONE("bf16") ", " ONE("bf16") },
	{ NEURON_ENGINE_VECTOR, "tensor_scalar.abs " T8 ", " T8 },
	{ NEURON_ENGINE_VECTOR, "tensor_scalar.rsqrt.multiply " T8 ", " T8 ", " COLUMN " rev1" },
	{ NEURON_ENGINE_SCALAR, "tensor_scalar.add.relu " T8 ", " T8 ", 1.0" },
	{ NEURON_ENGINE_VECTOR, "tensor_scalar.square.reciprocal " T8 ", " T8 },
	{ NEURON_ENGINE_VECTOR, "tensor_scalar.invert.shift_left " I8 ", " I8 ", 0x8" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.abs " T8 ", " T8 " reduce add reset_reduce" },
	{ NEURON_ENGINE_VECTOR,
	  "scalar_tensor_tensor.abs.subtract " T8 ", " T8 ", " P8 " rev1" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_reduce.max sbuf[0:1, 0x0 : 2 fp32], sbuf[0:1, 0x0 : 2*4 fp32], 1" },
	{ NEURON_ENGINE_GPSIMD,
	  "tensor_reduce.add " T8 ", sbuf[0:1, 0x0 : 2*4@8*2@3*1@7 uint8], 3 neg" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_scalar.add.max " T8 ", " T8 ", 2.0, " COLUMN " reduce max reset_reduce rev1" },
	{ NEURON_ENGINE_SCALAR,
	  "tensor_scalar.multiply " T8 ", " T8 ", 2.0 reduce add load_reduce -0.5 post s1 += 1" },
	{ NEURON_ENGINE_VECTOR, "acc_read sbuf[0:32, 0x0 : 1 bf16] neg" },
	{ NEURON_ENGINE_SCALAR, "acc_load psum[0:32, 0x0 : 1 fp32] wait s1 >= 1" },
	{ NEURON_ENGINE_SCALAR,
	  "activate.exp " T8 ", " T8 ", " COLUMN ", 0.5 reduce add reduce take s4 >= 1" },
	{ NEURON_ENGINE_SYNC, "set_rounding 1, 42" },
	{ NEURON_ENGINE_VECTOR, "set_fp8_bias -2, 0, 63" },
	{ NEURON_ENGINE_VECTOR,
	  "scalar_tensor_tensor.multiply.add " T8 ", " T8 ", 2.0, " P8 " rev0 rev1" },
	{ NEURON_ENGINE_VECTOR,
	  "scalar_tensor_tensor.subtract.max " T8 ", " T8 ", " COLUMN ", " T8 },
	{ NEURON_ENGINE_VECTOR, "tensor_scan.multiply.add " T8 ", " T8 ", " T8 ", " COLUMN },
	{ NEURON_ENGINE_VECTOR, "tensor_scan.max.min " T8 ", " T8 ", " T8 ", 0.0 rev1" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_cumulative.multiply " T8 ", " T8 ", 2.0 reduce add reset_reduce rev0" },
	{ NEURON_ENGINE_VECTOR,
	  "tensor_cumulative.add " T8 ", " T8 ", " COLUMN " reduce max load_reduce 1.5" },
	{ NEURON_ENGINE_VECTOR,
	  "copy_predicated " T8 ", " T8 ", sbuf[0:1, 0x40 : 8 uint8] rev0" },
	{ NEURON_ENGINE_VECTOR, "copy_predicated " T8 ", -1.5, sbuf[0:1, 0x40 : 8 uint16]" },
	{ NEURON_ENGINE_VECTOR, "copy_predicated " I8 ", -3, sbuf[0:1, 0x40 : 8 uint32]" },
	{ NEURON_ENGINE_VECTOR, "reciprocal " T8 ", " T8 },
	{ NEURON_ENGINE_VECTOR, "bn_stats sbuf[0:1, 0x0 : 6 fp32], " T8 },
	{ NEURON_ENGINE_VECTOR, "bn_aggr sbuf[0:1, 0x0 : 2 fp32], sbuf[0:1, 0x0 : 6 fp32]" },
	{ NEURON_ENGINE_VECTOR,
	  "range_select.is_ge.is_lt " T8 ", " T8 ", " COLUMN ", " COLUMN
	  ", -5 reduce max reset_reduce" },
	{ NEURON_ENGINE_VECTOR,
	  "select_reduce " T8 ", " T8 ", -1.0, sbuf[0:1, 0x40 : 8 uint8] reduce max reduce rev0" },
	{ NEURON_ENGINE_VECTOR, "max8 " T8 ", sbuf[0:1, 0x0 : 100 bf16]" },
	{ NEURON_ENGINE_VECTOR,
	  "find_index8 sbuf[0:1, 0x0 : 8 uint32], sbuf[0:1, 0x0 : 100 bf16], " T8 },
	{ NEURON_ENGINE_VECTOR, "match_replace8 " T8 ", " T8 ", " T8 ", -2.5" },
	{ NEURON_ENGINE_VECTOR,
	  "match_replace8 " T8 ", " T8 ", " T8 ", 0.0, sbuf[0:1, 0x40 : 8 uint32] post s1 += 1" },
	{ NEURON_ENGINE_VECTOR,
	  "stream_shuffle " T8 ", " T8 ", (" EIGHT ", " EIGHT ", " EIGHT ", " EIGHT ")" },
	{ NEURON_ENGINE_VECTOR, "transpose sbuf[0:8, 0x0 : 2 fp32], sbuf[0:2, 0x0 : 8 fp32]" },
	{ NEURON_ENGINE_VECTOR, "exponential " T8 ", " T8 ", 1.0 reduce add reset_reduce" },
	{ NEURON_ENGINE_VECTOR,
	  "quantize_mx sbuf[0:32, 0x0 : 9 fp8_e5_x4], sbuf[0:32, 0x40 : 36 bf16], " SCALES ", 8" },
	{ NEURON_ENGINE_VECTOR, "set_rng_seed sbuf[0:1, 0x0 : 1 uint32]" },
	{ NEURON_ENGINE_GPSIMD, "rng " I8 },
	{ NEURON_ENGINE_VECTOR, "dropout " T8 ", " T8 ", 0.25" },
	{ NEURON_ENGINE_GPSIMD, "rand_set_state sbuf[0:32, 0x0 : 6 uint32]" },
	{ NEURON_ENGINE_VECTOR, "rand_get_state sbuf[0:32, 0x0 : 24 uint32]" },
	{ NEURON_ENGINE_VECTOR, "copy " NAMED ", sbuf[32:64, 0x0+r3 : 8 bf16 index[32, 0x3fffe]]" },
	{ NEURON_ENGINE_GPSIMD, "tensor_tensor.add " T8 ", " NAMED ", " NAMED },
	{ NEURON_ENGINE_VECTOR, "rand2 " T8 ", -1.0, " COLUMN },
	{ NEURON_ENGINE_SCALAR, "copy sbuf[0:128, 0x0 : 8 bf16], psum[0:128, 0x0 : 8 fp32]" },
	{ NEURON_ENGINE_VECTOR, "memset sbuf[0:128, 0x0 : 8 bf16], -0.125" },
	{ NEURON_ENGINE_VECTOR, "memset sbuf[0:128, 0x0 : 8 int32], -7" },
	{ NEURON_ENGINE_SCALAR,
	  "activate.relu " T8 ", " P8 ", 1.0, " COLUMN " take s4 >= 1 post s5 += 1" },
	{ NEURON_ENGINE_SCALAR,
	  "activate.identity sbuf[0:1, 0x0 : 1 fp32], sbuf[0:1, 0x0 : 1 fp32], -2.5, 0x80000000" },
	{ NEURON_ENGINE_SCALAR,
	  "activate.gelu sbuf[0:1, 0x0 : 1@0 fp32], sbuf[0:1, 0x0 : 1*1@5 fp32], 0.0, 0.0" },
	{ NEURON_ENGINE_SCALAR, "activate2.exp " T8 ", " P8 },
	{ NEURON_ENGINE_SCALAR, "activate2.relu.subtract " T8 ", " P8 ", 2.0 rev0" },
	{ NEURON_ENGINE_SCALAR,
	  "activate2.prelu.multiply.add " T8 ", " T8 ", " COLUMN ", " COLUMN
	  ", 0.25 reduce max reset_reduce rev1 post s1 += 1" },
	{ NEURON_ENGINE_SCALAR, "activate2.prelu.add " T8 ", " P8 ", 0.5, " COLUMN },
	{ NEURON_ENGINE_GPSIMD, "iota " I8 ", (0, -3, 2147483647, 1), -20, 7" },
	{ NEURON_ENGINE_GPSIMD,
	  "affine_select.is_ge " T8 ", " T8 ", (0, 0, 1, -1), 0, -1, -0.5 wait s3 >= 1" },
	{ NEURON_ENGINE_GPSIMD, "partition_reduce.average " T8 ", sbuf[0:128, 0x0 : 8 bf16]" },
	{ NEURON_ENGINE_GPSIMD, "partition_reduce.bitwise_or " I8 ", sbuf[0:96, 0x40 : 8 int32]" },
	{ NEURON_ENGINE_GPSIMD,
	  "local_gather " PAIRS ", sbuf[0:16, 0x400 : 9 bf16], sbuf[0:16, 0x80 : 2 uint16], 2, 0" },
	{ NEURON_ENGINE_GPSIMD, "gather " T8 ", " T8 ", sbuf[0:1, 0x40 : 8 uint32]" },
	{ NEURON_ENGINE_GPSIMD, "nonzero_with_count " I8 ", sbuf[0:1, 0x40 : 7 fp32], 16, -1" },
	{ NEURON_ENGINE_GPSIMD,
	  "topk sbuf[0:16, 0x0 : 8 bf16], " RANKS ", sbuf[0:16, 0x80 : 3 bf16], 42" },
	{ NEURON_ENGINE_GPSIMD, "sequence_bounds " I8 ", sbuf[0:1, 0x40 : 4 int32]" },
};

static void every_form_is_its_own_text(void **state)
{
	bool seen[256] = { false };
	const struct trn_isa *isa;
	char text[TRN_ISA_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct neuron_inst inst = one(forms[i].engine, forms[i].text);

		assert_int_equal(trn_isa_check(&inst, forms[i].engine), NEURON_CAUSE_NONE);
		trn_isa_format(text, sizeof(text), &inst);
		assert_string_equal(text, forms[i].text);
		assert_int_equal(le32toh(inst.debug), 2);
		seen[inst.opcode] = true;
	}
	for (i = 0; (isa = trn_isa_row(i)); i++)
		if (!seen[isa->opcode])
			fail_msg("no form of %s is tested", isa->name);
}

static uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static struct neuron_ap random_ap(uint32_t *seed)
{
	unsigned int dims = random_next(seed) % 5;
	struct neuron_ap ap = {
		.addr = random_next(seed),
		.partitions = (uint8_t)random_next(seed),
		.dtype = (uint8_t)(1 + random_next(seed) % (NEURON_NR_DTYPES - 1)),
		.offset_reg = random_next(seed) % 2 ? random_next(seed) % NEURON_NR_REGS : 0,
		.num = { 1, 1, 1, 1 },
	};
	uint64_t inner = 1;
	unsigned int i;

	/* Only some tiles may have an index: the others are made once more. */
	if (random_next(seed) % 8 == 0) {
		ap.num[0] = (uint16_t)random_next(seed);
		ap.step[0] = (uint16_t)random_next(seed);
		ap.step[1] = (uint16_t)random_next(seed) & 0x7fff;
		ap.index = NEURON_AP_INDEX;
		return ap;
	}
	for (i = 0; i < dims && i < 4; i++) {
		ap.num[i] = (uint16_t)(random_next(seed) >> (16 + random_next(seed) % 16));
		ap.step[i] = (uint16_t)(random_next(seed) % 3 ? inner : random_next(seed));
		inner *= ap.num[i];
	}
	return ap;
}

static uint32_t random_word(uint32_t *seed)
{
	static const float values[] = { 0.0f, 1.0f, -1.5f, 0.1f, 0.001f, 3.14159274f, 1e30f };
	uint32_t bits = random_next(seed);

	if (bits % 3)
		return random_next(seed) >> random_next(seed) % 32;
	memcpy(&bits, &values[bits / 3 % 7], sizeof(bits));
	return bits;
}

static void random_bytes(void *bytes, size_t n, uint32_t *seed)
{
	uint8_t *out = bytes;

	while (n--)
		*out++ = (uint8_t)random_next(seed);
}

/* A part of the array; how the accumulators are combined. */
static void random_clauses(struct neuron_inst *inst, const struct trn_isa *isa, uint32_t *seed)
{
	static const uint8_t sizes[] = { 32, 64, 128 };
	struct neuron_array array = {
		.rows = sizes[random_next(seed) % 3],
		.cols = sizes[random_next(seed) % 3],
	};

	if (trn_isa_flags(inst) & NEURON_INST_ARRAY) {
		array.row = (uint8_t)(random_next(seed) % (128 / array.rows) * array.rows);
		array.col = (uint8_t)(random_next(seed) % (128 / array.cols) * array.cols);
		inst->imm0 = neuron_array_put(array);
	}
	if (!isa->reduces || random_next(seed) % 2)
		return;
	inst->op2 = 1 + random_next(seed) % 8;
	inst->reduce = random_next(seed) % NEURON_NR_REDUCES;
	if (inst->reduce == NEURON_REDUCE_LOAD_REDUCE)
		inst->addr |= (uint64_t)random_word(seed) << 32;
}

static void random_fields(struct neuron_inst *inst, unsigned int fields, uint32_t *seed)
{
	unsigned int i;

	if (fields & TRN_FIELD_DST)
		inst->dst = random_ap(seed);
	if (fields & TRN_FIELD_SRC0)
		inst->src0 = random_ap(seed);
	if (fields & TRN_FIELD_SRC1)
		inst->src1 = random_ap(seed);
	if (fields & TRN_FIELD_IMM0)
		inst->imm0 = random_word(seed);
	if (fields & TRN_FIELD_IMM1)
		inst->imm1 = random_word(seed);
	for (i = 0; i < 4; i++)
		if (fields & TRN_FIELD_REG(i))
			inst->reg[i] = random_next(seed) % NEURON_NR_REGS;
	if (fields & TRN_FIELD_STEPS0)
		random_bytes(&inst->src0, 16, seed);
	if (fields & TRN_FIELD_STEPS1)
		random_bytes(&inst->src1, 16, seed);
	if (fields & TRN_FIELD_MASK)
		random_bytes(&inst->src1, NEURON_INST_MASK, seed);
	if (fields & TRN_FIELD_COL0)
		inst->col0 = random_next(seed);
	if (fields & TRN_FIELD_COL1)
		inst->col1 = random_next(seed);
	if (fields & TRN_FIELD_IMM2)
		inst->addr = random_word(seed);
	if (fields & TRN_FIELD_ADDR)
		inst->addr = (uint64_t)random_next(seed) << 32 | random_next(seed);
}

static void random_sync(struct neuron_inst *inst, uint32_t *seed)
{
	inst->sync = random_next(seed) % 3;
	if (inst->sync) {
		inst->sync |= random_next(seed) % 2 ? NEURON_SYNC_TAKE : 0;
		inst->wait_sem = random_next(seed) % 256;
		inst->wait_value = random_next(seed);
	}
	if (random_next(seed) % 2) {
		inst->sync |= NEURON_PUT(NEURON_SYNC_POST, 1 + random_next(seed) % 3);
		inst->post_sem = random_next(seed) % 256;
		inst->post_value = random_next(seed);
	}
}

/* A tile whose place only the run decides, as neuron-as refuses one that does not fit. */
static void make_fit(struct neuron_ap *ap, uint32_t *seed)
{
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, le32toh(ap->addr));

	ap->offset_reg = (uint8_t)(1 + random_next(seed) % (NEURON_NR_REGS - 1));
	if (first + ap->partitions > 128)
		ap->partitions = (uint8_t)(128 - first);
}

static void make_fitting(struct neuron_inst *inst, unsigned int fields, uint32_t *seed)
{
	char rule[NB_RULE_MAX];

	if (nb_fits(0, NEURON_ENGINE_SYNC, inst, rule, sizeof(rule)))
		return;
	if (fields & TRN_FIELD_DST)
		make_fit(&inst->dst, seed);
	if (fields & TRN_FIELD_SRC0)
		make_fit(&inst->src0, seed);
	if (fields & TRN_FIELD_SRC1)
		make_fit(&inst->src1, seed);
}

/* A well-formed instruction of a row, by trial. */
static struct neuron_inst random_inst(const struct trn_isa *isa, uint32_t *seed)
{
	struct neuron_inst inst;
	unsigned int i, fields;

	do {
		memset(&inst, 0, sizeof(inst));
		inst.opcode = isa->opcode;
		inst.flags = (uint8_t)(random_next(seed) & isa->flags);
		inst.mode = (uint16_t)((random_next(seed) & isa->flags) >> 8);
		inst.reg[0] = isa->func ? random_next(seed) % NEURON_NR_ACTS : 0;
		inst.op0 = isa->op[0] ? random_next(seed) % 0x30 : 0;
		inst.op1 = isa->op[1] && random_next(seed) % 2 ? random_next(seed) % 0x30 : 0;
		fields = 0;
		for (i = 0; i < TRN_ISA_OPERANDS; i++)
			fields |= trn_isa_operand_fields(isa->operand[i], &inst);
		random_fields(&inst, fields, seed);
		make_fitting(&inst, fields, seed);
		random_clauses(&inst, isa, seed);
		random_sync(&inst, seed);
	} while (trn_isa_check(&inst, NEURON_NR_ENGINES) != NEURON_CAUSE_NONE);
	return inst;
}

static enum neuron_engine some_engine(const struct trn_isa *isa)
{
	unsigned int e = 0;

	while (!(isa->engines & NEURON_BIT(e)))
		e++;
	return e;
}

/* What the disassembler writes assembles to the same bytes. */
static void random_instructions_come_back(void **state)
{
	uint32_t seed = 0x2545f491;
	const struct trn_isa *isa;
	char text[TRN_ISA_TEXT_MAX];
	unsigned int round;
	size_t i;

	(void)state;
	for (i = 0; (isa = trn_isa_row(i)); i++) {
		for (round = 0; round < 300; round++) {
			struct neuron_inst inst = random_inst(isa, &seed);
			struct neuron_inst back;

			trn_isa_format(text, sizeof(text), &inst);
			back = one(some_engine(isa), text);
			inst.debug = back.debug;
			if (memcmp(&inst, &back, sizeof(inst)))
				fail_msg("other bytes: %s", text);
		}
	}
}

/* Bytes that are no instruction are an .inst, which gives all 128 of them back. */
static void malformed_instructions_come_back(void **state)
{
	struct neuron_inst inst, back;
	char text[TRN_ISA_TEXT_MAX];
	uint32_t seed = 0x1234567;
	unsigned int round;
	uint32_t word;
	size_t i;

	(void)state;
	for (round = 0; round < 300; round++) {
		for (i = 0; i < sizeof(inst); i += 4) {
			word = random_next(&seed);
			memcpy((uint8_t *)&inst + i, &word, 4);
		}
		trn_isa_format(text, sizeof(text), &inst);
		back = one(NEURON_ENGINE_SYNC, text);
		assert_memory_equal(&inst, &back, sizeof(inst));
	}
}

static void same(enum neuron_engine engine, const char *a, const char *b)
{
	struct neuron_inst x = one(engine, a), y = one(engine, b);

	if (memcmp(&x, &y, sizeof(x)))
		fail_msg("\"%s\" and \"%s\" differ", a, b);
}

static void spellings_are_equal(void **state)
{
#define ACT	"activate.exp sbuf[0:1, 0 : 4 fp32], sbuf[0:1, 0 : 4 fp32]"
#define SET	"memset sbuf[0:1, 0 : 4 fp32], "
	(void)state;
	same(NEURON_ENGINE_SCALAR, ACT, ACT ", 1.0, 0.0");
	same(NEURON_ENGINE_SCALAR, ACT ", 2", ACT ", 0x40000000, 0");
	same(NEURON_ENGINE_VECTOR, SET "1", SET "0x3f800000");
	same(NEURON_ENGINE_VECTOR, SET "1.0", SET "10e-1");
	same(NEURON_ENGINE_VECTOR, SET "-0.0", SET "0x80000000");
	same(NEURON_ENGINE_VECTOR, SET "16777217", SET "16777216.0");
	same(NEURON_ENGINE_VECTOR, SET "(1 + 2) * 2", SET "6.0");
	same(NEURON_ENGINE_SYNC, "nop post s1 += 1 wait s2 >= 3", "nop wait s2>=3 post s1+=1");
	same(NEURON_ENGINE_SYNC, "reg_set r1, -1", "reg_set\tr1 ,4294967295 # comment");
	same(NEURON_ENGINE_SYNC, "reg_set r1, 2 * (3 + 4) - 10 / 3", "reg_set r1, 11");
	same(NEURON_ENGINE_SYNC, "reg_set r1, - - 5", "reg_set r1, 5");
	same(NEURON_ENGINE_VECTOR, "memset sbuf[0:1, 4 * 2 + r1 : (2 * 2)*3@(1 + 1) int8], 1",
	     "memset sbuf[0:1, 0x8+r1:4*3@2 int8], 1");
	same(NEURON_ENGINE_VECTOR, "memset sbuf [ 0 : 1 , 2 : 2 * 3 @ - 1 int8 ] , 1",
	     "memset sbuf[0:1,2:2*3@-1 int8],1");
	same(NEURON_ENGINE_SYNC, "here: branch here", "branch 0");
#undef ACT
#undef SET
}

static void names_stand_for_numbers(void **state)
{
	struct nb_program *nb = as_good(".program names\n"
					".input x fp32 4*4\n"
					".tmp t 64\n"
					".queue a in sync 3\n"
					".queue b out sync\n"
					".sem one\n"
					".sem two keep\n"
					".set N, 4\n"
					".set H, 0.5\n"
					".engine vector\n"
					"nop wait two >= N\n"
					"memset sbuf[0:N, N * 2 : N fp32], -H\n"
					"halt\n"
					".engine sync\n"
					"dma_trigger b, 1, 1\n"
					"reg_load r1, t:N + r2\n"
					"over: branch.is_eq r1, N, end\n"
					"loop r1, over\n"
					".rept 3, i\n"
					"reg_set r2, i * 10\n"
					".endr\n"
					"end: halt\n");
	const struct neuron_inst *inst = nb_inst(nb, NEURON_ENGINE_SYNC, 0);
	float half;

	(void)state;
	assert_int_equal(le16toh(nb_inst(nb, NEURON_ENGINE_VECTOR, 0)->wait_sem), 1);
	memcpy(&half, &nb_inst(nb, NEURON_ENGINE_VECTOR, 1)->imm0, sizeof(half));
	assert_true(half == -0.5f);
	assert_int_equal(nb_here(nb, NEURON_ENGINE_SYNC), 8);
	assert_int_equal(inst[0].reg[0], 3);
	assert_true(le64toh(inst[1].addr) == neuron_window_addr(2, 4));
	assert_int_equal(inst[1].reg[1], 2);
	assert_int_equal(le64toh(inst[2].addr), 7);
	assert_int_equal(le64toh(inst[3].addr), 2);
	assert_int_equal(le32toh(inst[4].imm0), 0);
	assert_int_equal(le32toh(inst[6].imm0), 20);
	assert_int_equal(le32toh(inst[6].debug), 20);
	assert_int_equal(le32toh(inst[7].debug), 22);
	nb_free(nb);
}

static const struct {
	const char *source;
	unsigned int line;
	unsigned int column;
	const char *message;
} mistakes[] = {
	{ "", 1, 1, "no instructions" },
	{ "# nothing\n", 1, 1, "no instructions" },
	{ ".engine sync\n", 1, 1, "no instructions" },
	{ "halt\n", 1, 1, "no engine yet" },
	{ ".engine sync\nfoo r1\n", 2, 1, "no instruction \"foo\"" },
	{ ".engine sinc\n", 1, 9, "no engine \"sinc\"" },
	{ ".engine\n", 1, 8, "expected an engine, but the line ends" },
	{ ".foo\n", 1, 2, "no directive \".foo\"" },
	{ "!\n", 1, 1, "unexpected \"!\"" },
	{ "\x01\n", 1, 1, "unexpected byte 0x01" },
	{ ".engine sync\nhalt halt\n", 2, 6, "unexpected \"halt\"" },
	{ ".engine sync\nhalt, r1\n", 2, 5, "halt takes no more operands" },
	{ ".engine sync\nhalt acc\n", 2, 6, "takes no \"acc\"" },
	{ ".engine sync\nreg_set r64, 1\n", 2, 9, "registers are r0 to r63" },
	{ ".engine sync\nreg_set 1, 1\n", 2, 9, "expected a register instead of \"1\"" },
	{ ".engine sync\nreg_set r1\n", 2, 11, "another operand, but the line ends" },
	{ ".engine sync\nreg_set r1, 4294967296\n", 2, 13, "must be -2147483648 to 4294967295" },
	{ ".engine sync\nreg_set r1, 99999999999999999999\n", 2, 13, "larger than 64 bits" },
	{ ".engine sync\nreg_set r1, 1.5\n", 2, 13, "an integer is needed" },
	{ ".engine sync\nreg_set r1, 12ab\n", 2, 13, "is not a number" },
	{ ".engine sync\nreg_set r1, 0x\n", 2, 13, "hexadecimal digits" },
	{ ".engine sync\nreg_set r1, 1 / (2 - 2)\n", 2, 15, "division by zero" },
	{ ".engine sync\nreg_set r1, (1\n", 2, 15, "expected \")\"" },
	{ ".engine sync\nreg_set r1, 0xffffffffffffffff * 0xffffffffffffffff\n", 2, 32,
	  "leaves 64 bits" },
	{ ".engine sync\nreg_set r1, X\n", 2, 13, "\"X\" has no value" },
	{ ".set X, 1.5\n.engine sync\nreg_set r1, X\n", 3, 13, "\"X\" is a float" },
	{ ".set r1, 1\n", 1, 6, "a name of the machine" },
	{ ".engine sync\nreg_alu.divide r1, r1, r1\n", 2, 9, "reg_alu has no operator \"divide\"" },
	{ ".engine sync\nreg_alu r1, r1, r1\n", 2, 9, "reg_alu needs \".\"" },
	{ ".engine sync\nbranch.bypass 0\n", 2, 8, "no operator \"bypass\"" },
	{ ".engine sync\nbranch nowhere\n", 2, 8, "no label \"nowhere\" in the sync stream" },
	{ ".engine sync\na: nop\na: halt\n", 3, 1, "label \"a\" is there already" },
	{ ".set a, 1\n.engine sync\na: halt\n", 3, 1, "\"a\" is a symbol already" },
	{ ".engine vector\nload_stationary sbuf[0:1, 0 : 1 fp32]\n", 2, 1,
	  "the vector engine cannot run load_stationary; use tensor" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 1 fp23], sbuf[0:1, 0 : 1 fp32]\n", 2, 22,
	  "no type \"fp23\"" },
	{ ".engine vector\ncopy sbuf[4:1, 0 : 1 fp32], sbuf[0:1, 0 : 1 fp32]\n", 2, 13,
	  "end before they begin" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 70000 fp32], sbuf[0:1, 0 : 1 fp32]\n", 2, 20,
	  "must be 0 to 65535" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 2@40000 fp32], sbuf[0:1, 0 : 1 fp32]\n", 2, 20,
	  "beyond -32768 to 32767" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 1*1*1*1*1 fp32], sbuf[0:1, 0 : 1 fp32]\n", 2, 28,
	  "more than 4 dimensions" },
	{ ".engine vector\ncopy sbuf[0:1, 0x1000000 : 1 fp32], sbuf[0:1, 0 : 1 fp32]\n", 2, 16,
	  "the offset must be 0 to 16777215" },
	{ ".engine vector\ncopy r1, r2\n", 2, 6, "expected a tile" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 4*2 fp32 index[0, 0]], " T8 "\n", 2, 29,
	  "one dimension without a step" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 4@1 fp32 index[128, 0]], " T8 "\n", 2, 35,
	  "the first partition of the index must be 0 to 127" },
	{ ".engine vector\ncopy sbuf[0:1, 0 : 4 fp32 index[0]], " T8 "\n", 2, 34,
	  "\",\" and the byte offset of the index" },
	{ ".engine vector\nreciprocal sbuf[0:1, 0 : 4 fp32 index[0, 0]], " T8 "\n", 2, 1,
	  "which the instruction does not allow or which is malformed" },
	{ ".engine vector\nmemset sbuf[0:1, 0 : 1 fp32], 1e39\n", 2, 31, "too large for fp32" },
	{ ".engine vector\nmemset sbuf[0:1, 0 : 1 fp32], -0x1\n", 2, 32, "have no sign" },
	{ ".engine vector\ntensor_scalar.add " T8 ", " T8 ", 1 rev1\n",
	  2, 1, "rev1 needs a second operator" },
	{ ".engine scalar\nactivate2.relu " T8 ", " T8 " rev0\n", 2, 1,
	  "rev0 needs an operator of two" },
	{ ".engine vector\ntensor_scalar.abs " T8 ", " T8 " rev0\n", 2, 1,
	  "rev0 needs an operator of two" },
	{ ".engine vector\ntensor_scalar.abs " T8 ", " T8 ", 1.0\n", 2, 67,
	  "takes no more operands" },
	{ ".engine vector\ntensor_tensor.abs " T8 ", " T8 ", " T8 "\n", 2, 15,
	  "no operator \"abs\"" },
	{ ".engine scalar\nactivate2 " T8 ", " T8 "\n", 2, 11, "activate2 needs \".\"" },
	{ ".engine gpsimd\naffine_select.add " T8 "\n", 2, 15, "no operator \"add\"" },
	{ ".engine vector\nmemset sbuf[0:128, 0x40000 : 1 fp32], 0\n", 2, 1,
	  "memset: dst has bytes 262144 to 262147 of a partition, which has 262144" },
	{ ".engine vector\ncopy sbuf[0:64, 0 : 8 fp32], psum[0:64, 0x3ff0 : 8 fp32]\n", 2, 1,
	  "copy: src has bytes 16368 to 16399 of a partition, which has 16384" },
	{ ".engine vector\nmemset sbuf[96:160, 0 : 1 fp32], 0\n", 2, 1,
	  "memset: dst has partitions 96 to 159 of 128" },
	{ ".engine sync\nsem_range_clear s1, s256\n", 2, 21, "s0 to s255" },
	{ ".engine sync\nsem_range_clear s2, s1\n", 2, 1,
	  "the last semaphore comes before the first one" },
	{ ".engine sync\nnop wait s256 >= 1\n", 2, 10, "s0 to s255" },
	{ ".engine sync\nnop wait s1 > 1\n", 2, 13, "unexpected \">\"" },
	{ ".engine sync\nnop wait s1 += 1\n", 2, 13, "expected \">=\" or \"==\"" },
	{ ".engine sync\nnop post s1 >= 1\n", 2, 13, "expected \"+=\", \"-=\" or \"=\"" },
	{ ".engine sync\nnop wait s1 >= 1 take s2 >= 1\n", 2, 18, "only one wait or take" },
	{ ".engine sync\nnop post s1 = 1 post s2 = 1\n", 2, 17, "only one post" },
	{ ".engine sync\nnop wait ready >= 1\n", 2, 10, "no semaphore \"ready\"" },
	{ ".sem a\n.sem a\n", 2, 6, "is there already" },
	{ ".engine sync\ndma_trigger q_in, 1, 1\n", 2, 13, "no queue \"q_in\"" },
	{ ".engine sync\nreg_load r1, nothing:0\n", 2, 14, "no variable \"nothing\"" },
	{ ".engine sync\n.inst 1, 2\n", 2, 11, "16 numbers in all" },
	{ "nop\n.program late\n", 1, 1, "no engine yet" },
	{ ".tmp a 4\n.program late\n", 2, 1, ".program must be the first" },
	{ ".program \"unfinished\n", 1, 10, "no closing quote" },
	{ ".program \"a\\n\"\n", 1, 10, "a backslash goes before" },
	{ ".input x fp32\n", 1, 14, "expected a number" },
	{ ".input x fp32 0\n", 1, 15, "a dimension must be 1 to" },
	{ ".input x fp32 1*1*1*1*1*1*1*1*1\n", 1, 31, "more than 8 dimensions" },
	{ ".tmp a 4\n.tmp a 4\n", 2, 1, "taken" },
	{ ".tmp a 0\n", 1, 1, "the size must be" },
	{ ".file def.json\n", 1, 10, "instead of \".\"" },
	{ ".file \"def.json\"\n.bytes 1\n.tmp a 4\n", 3, 1, "one of the NEFF's own" },
	{ ".file w \"nowhere\"\n", 1, 9, "files are not read here" },
	{ ".file w\n.engine sync\n", 1, 1, "the file has no contents" },
	{ ".bytes 1\n", 1, 8, "no .file is open" },
	{ ".file w\n.bytes 256\n", 2, 8, "a byte must be -128 to 255" },
	{ ".queue q sideways sync\n", 1, 1, "type must be in, out, data or dynamic" },
	{ ".queue q in sync 17\n", 1, 18, "the count must be 0 to 16" },
	{ ".queue q in sync priority 4\n", 1, 27, "the priority must be 0 to 3" },
	{ ".queue q in sync 2 priority\n", 1, 28, "expected a number, but the line ends" },
	{ ".notify_bytes 100\n", 1, 1, "a power of two" },
	{ ".peer p 1 nothing\n", 1, 11, "no variable \"nothing\"" },
	{ ".output x fp32 4\n.peer p 1 x\n", 2, 1, "no tmp or input variable" },
	{ ".peer_sem p 1 s250 9\n", 1, 1, "no such semaphores" },
	{ ".queue q in sync\n.tmp a 64\n.engine vector\n.dma q, a, a\n", 4, 6,
	  "belongs to the sync engine" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, a[0 : 65], a\n", 4, 1,
	  "leaves \"a\"" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, a[0 : 4], a\n", 4, 1,
	  "sides of 64 and 4 bytes" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, a[0 : 4@2], a\n", 4, 15,
	  "the innermost step must be 1" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, a, b\n", 4, 12, "no variable \"b\"" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, sbuf, a\n", 4, 9,
	  "which part of it" },
	{ ".queue q in sync\n.tmp a 64\n.engine sync\n.dma q, sbuf[0:129, 0 : 4], a\n", 4, 16,
	  "must be 0 to 128" },
	{ ".queue q data sync\n.tmp a 64\n.peer_sem p 1 s0 2\n.engine sync\n.dma q, p, a[0 : 8]\n",
	  5, 1, "one aligned copy of 4" },
	{ ".rept 2\n", 1, 1, ".rept without .endr" },
	{ ".rept 0\n", 1, 1, ".rept without .endr" },
	{ ".endr\n", 1, 1, ".endr without .rept" },
	{ ".rept 100000\n.rept 100000\n.set A, 1\n.endr\n.endr\n", 3, 1,
	  "more than 100000 statements" },
	{ ".line -1\n", 1, 7, "the line must be 0" },
	{ ".sbuf 3\n", 1, 7, "expected the end of the line" },
};

static void mistakes_are_named_with_their_place(void **state)
{
	unsigned int wrong = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		const char *source = mistakes[i].source;
		struct as_log log;

		assert_null(as_try(source, strlen(source), &log));
		if (strstr(log.text, mistakes[i].message) && log.line == mistakes[i].line &&
		    log.column == mistakes[i].column)
			continue;
		wrong++;
		print_error("%s\nsaid %u:%u: %s\nnot  %u:%u: %s\n", source, log.line, log.column,
			    log.text, mistakes[i].line, mistakes[i].column, mistakes[i].message);
	}
	assert_int_equal(wrong, 0);
}

static void a_missing_halt_is_a_warning(void **state)
{
	static const char source[] = ".engine sync\nnop\n.engine vector\nhalt\n";
	struct as_log log;
	struct nb_program *nb = as_try(source, strlen(source), &log);

	(void)state;
	assert_non_null(nb);
	assert_int_equal(log.warnings, 1);
	nb_free(nb);
}

static void several_mistakes_are_all_reported(void **state)
{
	static const char source[] = ".engine sync\nfoo\nhalt\nbar\nbranch x\n";
	struct as_log log;

	(void)state;
	assert_null(as_try(source, strlen(source), &log));
	assert_int_equal(log.errors, 3);
	assert_int_equal(log.line, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_its_own_text),
		cmocka_unit_test(random_instructions_come_back),
		cmocka_unit_test(malformed_instructions_come_back),
		cmocka_unit_test(spellings_are_equal),
		cmocka_unit_test(names_stand_for_numbers),
		cmocka_unit_test(mistakes_are_named_with_their_place),
		cmocka_unit_test(a_missing_halt_is_a_warning),
		cmocka_unit_test(several_mistakes_are_all_reported),
	};

	return cmocka_run_group_tests_name("as", tests, NULL, NULL);
}
