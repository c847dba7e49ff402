// SPDX-License-Identifier: MIT
/*
 * Tiles with an index (NeuronCore-v4): each instruction that takes them must do what the
 * plain one does with elements that the test has gathered, and the test's scattering of
 * its results.
 */
#include "exec_rig.h"

#include <string.h>

#include "isa/trn_isa.h"
#include "num/trn_num.h"

#define ROOM	90		/* elements that an index may name */
#define N	41		/* that it names: no whole number of columns */

/* Byte offsets, also of PSUM: what indices name, indices, the plain instruction's tiles. */
#define DATA0	0x0000
#define DATA1	0x0400
#define OUT	0x0800
#define INDEX0	0x3000
#define INDEX1	0x3100
#define INDEX2	0x3200
#define PLAIN0	0x1000
#define PLAIN1	0x1400
#define PLAIN2	0x1800

#define SRC0	1u
#define SRC1	2u
#define DST	4u

/**
 * struct trial - an instruction, to be tried with and without indices
 * @slots: SRC0, SRC1, DST: that get one
 * @first, @partitions: of all tiles
 * @group: partitions that share an index
 * @results: elements of the destination
 * @load: before it, for the tensor engine
 */
struct trial {
	enum neuron_engine engine;
	struct neuron_inst inst;
	struct neuron_inst load;
	unsigned int slots, first, partitions, group, results;
};

static uint16_t *index_entry(void **state, const struct trial *t, uint32_t offset,
			     unsigned int p, unsigned int i)
{
	unsigned int row = t->first + p / t->group * t->group + i % t->group;

	return (uint16_t *)(void *)sbuf_f(state, row, offset) + i / t->group;
}

static unsigned int named(void **state, const struct trial *t, uint32_t offset,
			  unsigned int p, unsigned int i)
{
	return *index_entry(state, t, offset, p, i);
}

/* Numbers that all types hold, some of them twice. */
static void fill_indices(void **state, const struct trial *t, uint32_t offset)
{
	unsigned int p, i;

	for (p = 0; p < t->partitions; p += t->group)
		for (i = 0; i < N; i++)
			*index_entry(state, t, offset, p, i) = (uint16_t)rnd(ROOM);
}

static uint8_t *line(void **state, const struct trial *t, const struct neuron_ap *ap,
		     unsigned int p, uint32_t offset)
{
	return (uint8_t *)(ap->addr & NEURON_AP_PSUM ?
			   psum_f(state, t->first + p, offset) :
			   sbuf_f(state, t->first + p, offset));
}

/* A predicate holds now and then; numbers are small. */
static void fill_data(void **state, const struct trial *t, const struct neuron_ap *ap,
		      uint32_t offset)
{
	bool predicate = ap == &t->inst.src1 && t->inst.opcode == NEURON_OP_COPY_PREDICATED;
	float value;
	unsigned int p, i;

	for (p = 0; p < t->partitions; p++) {
		uint8_t *to = line(state, t, ap, p, offset);

		for (i = 0; i < ROOM; i++) {
			value = predicate ? (float)rnd(2) : (float)rnd(2001) / 64.0f - 15.0f;
			trn_from_fp32(to + i * trn_dtype_size(ap->dtype), &value, ap->dtype, 1);
		}
	}
}

static void gather(void **state, const struct trial *t, const struct neuron_ap *ap,
		   uint32_t from, uint32_t index, uint32_t to)
{
	unsigned int size = trn_dtype_size(ap->dtype), p, i;

	for (p = 0; p < t->partitions; p++)
		for (i = 0; i < N; i++)
			memcpy(line(state, t, ap, p, to) + i * size,
			       line(state, t, ap, p, from) +
			       named(state, t, index, p, i) * size, size);
}

/* What @ap becomes: at @offset, or with the index at @index. */
static struct neuron_ap moved(struct neuron_ap ap, uint32_t offset)
{
	ap.addr = (ap.addr & ~(uint32_t)NEURON_AP_OFFSET) | offset;
	return ap;
}

static struct neuron_ap indexed(const struct trial *t, struct neuron_ap ap,
				uint32_t offset, uint32_t index)
{
	index |= NEURON_PUT(NEURON_AP_PARTITION, t->first);
	ap = moved(ap, offset);
	ap.step[0] = (uint16_t)index;
	ap.step[1] = (uint16_t)(index >> 16);
	ap.step[2] = 0;
	ap.step[3] = 0;
	ap.index = NEURON_AP_INDEX;
	return ap;
}

static bool holds(void **state, const struct trial *t, unsigned int p, unsigned int i)
{
	const struct neuron_ap *ap = &t->inst.src1;
	unsigned int size = trn_dtype_size(ap->dtype);
	uint32_t bits = 0;

	if (t->inst.opcode != NEURON_OP_COPY_PREDICATED)
		return true;
	memcpy(&bits, line(state, t, ap, p, PLAIN1) + i * size, size);
	return bits;
}

static void run_one(void **state, const struct trial *t, struct neuron_inst inst)
{
	const struct neuron_inst program[] = { t->load, inst };

	if (t->load.opcode)
		good_all(state, t->engine, program, 2);
	else
		good(state, t->engine, inst);
}

/* Partitions and elements of the results. */
static unsigned int lines_of(const struct trial *t)
{
	return t->inst.dst.partitions;
}

static void compare(void **state, const struct trial *t)
{
	const struct neuron_ap *dst = &t->inst.dst;
	unsigned int size = trn_dtype_size(dst->dtype), p, i;

	for (p = 0; p < lines_of(t); p++) {
		const uint8_t *plain = line(state, t, dst, p, PLAIN2);
		uint8_t want[ROOM * 4];

		memset(want, 0x5a, sizeof(want));
		for (i = 0; i < t->results; i++)
			if (holds(state, t, p, i))
				memcpy(want + (t->slots & DST ?
					       named(state, t, INDEX2, p, i) : i) * size,
				       plain + i * size, size);
		if (memcmp(line(state, t, dst, p, OUT), want, ROOM * size))
			fail_msg("opcode %#x, slots %u, engine %u, partition %u",
				 t->inst.opcode, t->slots, t->engine, p);
	}
}

static void try(void **state, const struct trial *t)
{
	struct neuron_inst inst = t->inst;
	unsigned int p;

	fill_indices(state, t, INDEX0);
	fill_indices(state, t, INDEX1);
	fill_indices(state, t, INDEX2);
	fill_data(state, t, &t->inst.src0, DATA0);
	gather(state, t, &t->inst.src0, DATA0, INDEX0, PLAIN0);
	inst.src0 = moved(inst.src0, PLAIN0);
	inst.dst = moved(inst.dst, PLAIN2);
	if (inst.src1.dtype) {
		fill_data(state, t, &t->inst.src1, DATA1);
		gather(state, t, &t->inst.src1, DATA1, INDEX1, PLAIN1);
		inst.src1 = moved(inst.src1, PLAIN1);
	}
	run_one(state, t, inst);

	for (p = 0; p < lines_of(t); p++)
		memset(line(state, t, &t->inst.dst, p, OUT), 0x5a, ROOM * 4);
	if (t->slots & SRC0)
		inst.src0 = indexed(t, inst.src0, DATA0, INDEX0);
	if (t->slots & SRC1)
		inst.src1 = indexed(t, inst.src1, DATA1, INDEX1);
	inst.dst = t->slots & DST ? indexed(t, inst.dst, OUT, INDEX2) : moved(inst.dst, OUT);
	run_one(state, t, inst);
	compare(state, t);
}

static const struct neuron_inst lanes[] = {
	OP(COPY, 0),
	OP(TENSOR_SCALAR, .op0 = NEURON_ALU_SUBTRACT, .op1 = NEURON_ALU_MULTIPLY,
	   .imm0 = 0x40200000, .imm1 = 0x3fa00000),
	OP(TENSOR_TENSOR, .op0 = NEURON_ALU_MULTIPLY),
	OP(TENSOR_REDUCE, .op0 = NEURON_ALU_ADD, .imm0 = 1),
	OP(TENSOR_CUMULATIVE, .op0 = NEURON_ALU_ADD, .imm0 = 0x3f800000,
	   .op2 = NEURON_ALU_MAX, .reduce = NEURON_REDUCE_RESET_REDUCE),
	OP(COPY_PREDICATED, 0),
	OP(EXPONENTIAL, .imm0 = 0x40000000),
	OP(ACTIVATE, .op0 = NEURON_ACT_RELU, .imm0 = 0x3f800000),
	OP(ACTIVATE2, .op0 = NEURON_ALU_ADD, .reg = { NEURON_ACT_SQUARE }, .imm0 = 0x3f800000),
};

static bool has_src1(const struct neuron_inst *inst)
{
	return inst->opcode == NEURON_OP_TENSOR_TENSOR ||
	       inst->opcode == NEURON_OP_COPY_PREDICATED;
}

static struct trial lane_trial(const struct neuron_inst *inst, enum neuron_engine engine,
			       unsigned int first, unsigned int partitions,
			       unsigned int dtype)
{
	struct trial t = {
		.engine = engine, .inst = *inst, .first = first, .partitions = partitions,
		.group = 16,
		.results = inst->opcode == NEURON_OP_TENSOR_REDUCE ? 1 : N,
	};

	t.inst.dst = ap_sbuf(first, partitions, 0, dtype, t.results);
	t.inst.src0 = ap_sbuf(first, partitions, 0, dtype, N);
	if (has_src1(inst))
		t.inst.src1 = ap_sbuf(first, partitions, 0,
				      inst->opcode == NEURON_OP_COPY_PREDICATED ?
				      (unsigned int)U8 : dtype, N);
	return t;
}

/* Every combination of indices that the instruction takes. */
static void try_slots(void **state, struct trial t)
{
	const struct trn_isa *isa = trn_isa_lookup(t.inst.opcode);
	unsigned int slots = 0;

	slots |= isa->indirect & TRN_FIELD_SRC0 ? SRC0 : 0;
	slots |= isa->indirect & TRN_FIELD_SRC1 ? SRC1 : 0;
	slots |= isa->indirect & TRN_FIELD_DST ? DST : 0;
	for (t.slots = 0; t.slots < 8; t.slots++)
		if (!(t.slots & ~slots))
			try(state, &t);
}

static void every_instruction(void **state)
{
	static const unsigned int dtypes[] = { F32, BF16, I8 };
	unsigned int i, e, d;

	exec_more_operators(state, true);
	for (i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
		const struct trn_isa *isa = trn_isa_lookup(lanes[i].opcode);

		for (e = 0; e < NEURON_NR_ENGINES; e++) {
			if (!(isa->engines & NEURON_BIT(e)))
				continue;
			for (d = 0; d < 3; d++) {
				try_slots(state, lane_trial(&lanes[i], e, 0, 40, dtypes[d]));
				try_slots(state, lane_trial(&lanes[i], e, 96, 7, dtypes[d]));
				try_slots(state, lane_trial(&lanes[i], e, 0, 128, dtypes[d]));
			}
		}
	}
}

/* Sources in PSUM, and destinations where the engine can. */
static void psum(void **state)
{
	struct trial t = lane_trial(&lanes[0], VECTOR, 32, 32, F32);

	t.inst.src0.addr |= NEURON_AP_PSUM;
	try_slots(state, t);
	t.inst.dst.addr |= NEURON_AP_PSUM;
	try_slots(state, t);
	t.slots = DST;
	t.inst.src0.addr &= ~NEURON_AP_PSUM;
	try(state, &t);
}

static void tensor_engine(void **state)
{
	static const unsigned int dtypes[] = {
		BF16, NEURON_DTYPE_FP16, NEURON_DTYPE_FP8_E4, NEURON_DTYPE_FP8_E5,
		NEURON_DTYPE_FP8_E4FN,
	};
	unsigned int d;

	for (d = 0; d < 5; d++) {
		const struct trial t = {
			.engine = TENSOR, .partitions = 64, .group = 32, .results = N,
			.inst = OP(MATMUL, .dst = ap_psum(0, 64, 0, F32, N),
				   .src0 = ap_sbuf(0, 64, 0, dtypes[d], N)),
			/* The data of the moving operand serve. */
			.load = OP(LOAD_STATIONARY,
				   .src0 = ap_sbuf(0, 64, DATA0, dtypes[d], 64)),
		};

		try_slots(state, t);
	}
}

/* The array takes what the index names. */
static void stationary(void **state)
{
	struct trial t = {
		.engine = TENSOR, .partitions = 64, .group = 32, .results = N,
		.inst = OP(MATMUL, .dst = ap_psum(0, N, 0, F32, N),
			   .src0 = ap_sbuf(0, 64, 0, BF16, N)),
		.load = OP(LOAD_STATIONARY, .src0 = ap_sbuf(0, 64, PLAIN0, BF16, N)),
	};
	struct neuron_inst program[2];
	float want[N][N];
	unsigned int m;

	try(state, &t);
	program[0] = t.load;
	program[1] = t.inst;
	program[1].src0 = moved(t.inst.src0, DATA0);
	good_all(state, TENSOR, program, 2);
	for (m = 0; m < N; m++)
		memcpy(want[m], psum_f(state, m, 0), sizeof(want[m]));
	program[0].src0 = indexed(&t, t.load.src0, DATA0, INDEX0);
	good_all(state, TENSOR, program, 2);
	for (m = 0; m < N; m++)
		assert_memory_equal(psum_f(state, m, 0), want[m], sizeof(want[m]));
}

static void mx(void **state)
{
	const unsigned int dtype = NEURON_DTYPE_FP8_E5_X4;
	struct trial t = { .engine = TENSOR, .partitions = 32, .group = 32 };
	struct neuron_inst program[] = {
		OP(LOAD_MX, .src0 = ap_sbuf(0, 32, PLAIN0, dtype, N - 1),
		   .src1 = ap_sbuf(0, 32, PLAIN1, U8, N - 1)),
		OP(MATMUL_MX, .dst = ap_psum(0, N - 1, 0, F32, N),
		   .src0 = ap_sbuf(0, 32, PLAIN0, dtype, N),
		   .src1 = ap_sbuf(0, 32, PLAIN1, U8, N)),
	};
	float want[N][N];
	unsigned int p, i, m;

	fill_indices(state, &t, INDEX0);
	for (p = 0; p < 32; p++) {
		for (i = 0; i < 4 * ROOM; i++)
			((uint8_t *)sbuf_f(state, p, DATA0))[i] = (uint8_t)rnd(0x70);
		for (i = 0; i < ROOM; i++)
			((uint8_t *)sbuf_f(state, p, DATA1))[i] = (uint8_t)(120 + rnd(12));
	}
	gather(state, &t, &(struct neuron_ap){ .dtype = F32 }, DATA0, INDEX0, PLAIN0);
	gather(state, &t, &(struct neuron_ap){ .dtype = U8 }, DATA1, INDEX0, PLAIN1);
	good_all(state, TENSOR, program, 2);
	for (m = 0; m < N - 1; m++)
		memcpy(want[m], psum_f(state, m, 0), sizeof(want[m]));
	program[0].src0 = indexed(&t, program[0].src0, DATA0, INDEX0);
	program[0].src1 = indexed(&t, program[0].src1, DATA1, INDEX0);
	program[1].src0 = indexed(&t, program[1].src0, DATA0, INDEX0);
	program[1].src1 = indexed(&t, program[1].src1, DATA1, INDEX0);
	good_all(state, TENSOR, program, 2);
	for (m = 0; m < N - 1; m++)
		assert_memory_equal(psum_f(state, m, 0), want[m], sizeof(want[m]));
}

/* Elements and scales are one operand: by the same index, or both by none. */
static void mx_scales_go_along(void **state)
{
	const struct trial t = { .engine = TENSOR, .partitions = 32, .group = 32 };
	const struct neuron_inst plain =
		OP(LOAD_MX, .src0 = ap_sbuf(0, 32, DATA0, NEURON_DTYPE_FP8_E5_X4, 4),
		   .src1 = ap_sbuf(0, 32, DATA1, U8, 4));
	struct neuron_inst inst = plain;
	unsigned int p;

	for (p = 0; p < 32; p++)
		memset(sbuf_f(state, p, INDEX0), 0, 0x400);
	good(state, TENSOR, inst);
	inst.src0 = indexed(&t, inst.src0, DATA0, INDEX0);
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst.src1 = indexed(&t, inst.src1, DATA1, INDEX1);
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
	inst.src1 = indexed(&t, inst.src1, DATA1, INDEX0);
	good(state, TENSOR, inst);
	inst.src0 = plain.src0;
	bad(state, TENSOR, inst, NEURON_CAUSE_OPERAND);
}

/* --- what is refused --- */

static struct neuron_inst gathering(void)
{
	struct trial t = { .first = 32 };

	return OP(COPY, .dst = ap_sbuf(32, 32, OUT, F32, N),
		  .src0 = indexed(&t, ap_sbuf(32, 32, 0, F32, N), DATA0, INDEX0));
}

static void clear_indices(void **state)
{
	unsigned int p;

	for (p = 0; p < 128; p++)
		memset(sbuf_f(state, p, INDEX0), 0, 0x400);
}

static void elements_lie_inside(void **state)
{
	struct neuron_inst inst = gathering();
	const unsigned int last = NEURON_KIB(256) / 4 - 1;
	uint16_t *entry;

	clear_indices(state);
	inst.src0.addr |= NEURON_KIB(256) - 8;
	good(state, VECTOR, inst);
	entry = (void *)sbuf_f(state, 32 + 16 + 5, INDEX0);
	entry[1] = 1;
	good(state, VECTOR, inst);
	entry[1] = 2;
	bad(state, VECTOR, inst, NEURON_CAUSE_ACCESS);
	/* One that nobody asks for: element 5 of the third column is the 38th, 41 are. */
	entry[1] = 0;
	entry[3] = 0xffff;
	good(state, VECTOR, inst);
	inst = gathering();
	entry[1] = 0xffff;
	assert_int_equal(last, 0xffff);
	good(state, VECTOR, inst);
	inst.src0.addr |= 4;
	bad(state, VECTOR, inst, NEURON_CAUSE_ACCESS);
	/* The index itself. */
	clear_indices(state);
	inst = gathering();
	inst.src0.step[0] = (uint16_t)(NEURON_KIB(256) - 4);
	inst.src0.step[1] = 0x2003;
	bad(state, VECTOR, inst, NEURON_CAUSE_ACCESS);
	inst.src0.step[0] = INDEX0 + 1;
	inst.src0.step[1] = 0x2000;
	bad(state, VECTOR, inst, NEURON_CAUSE_ACCESS);
}

static void refused(void **state, enum neuron_engine engine, struct neuron_inst inst)
{
	bad(state, engine, inst, NEURON_CAUSE_OPERAND);
}

static void has_one_form(void **state)
{
	const struct neuron_inst plain = gathering();
	struct neuron_inst inst = plain;

	clear_indices(state);
	inst.src0.index = 2;
	refused(state, VECTOR, inst);
	inst = plain;
	inst.src0.num[1] = 2;
	refused(state, VECTOR, inst);
	inst = plain;
	inst.src0.step[2] = 1;
	refused(state, VECTOR, inst);
	inst = plain;
	inst.src0.step[3] = 1;
	refused(state, VECTOR, inst);
	/* An index in PSUM, in another partition, not where a quadrant begins. */
	inst = plain;
	inst.src0.step[1] |= 0x8000;
	refused(state, VECTOR, inst);
	inst.src0.step[1] = 0x4000;
	refused(state, VECTOR, inst);
	inst.src0.step[1] = 0x2100;
	refused(state, VECTOR, inst);
	/* Nor in an instruction that has none. */
	refused(state, VECTOR, OP(RECIPROCAL, .dst = plain.dst, .src0 = plain.src0));
	refused(state, VECTOR, OP(TENSOR_SCALAR, .op0 = NEURON_ALU_ADD,
				  .flags = NEURON_INST_SRC1_COLUMN, .dst = plain.dst,
				  .src0 = plain.src0, .src1 = plain.src0));
	refused(state, VECTOR, OP(COPY_PREDICATED, .dst = plain.dst, .src0 = plain.src0,
				  .src1 = ap_sbuf(32, 32, DATA1, U8, N)));
}

static void destinations_have_rules(void **state)
{
	struct trial t = { .first = 32 };
	struct neuron_inst inst = gathering();

	clear_indices(state);
	inst.src0 = ap_sbuf(32, 32, DATA0, F32, N);
	inst.dst = indexed(&t, ap_sbuf(32, 32, 0, F32, N), OUT, INDEX2);
	good(state, VECTOR, inst);
	/* It begins where the source does, not where the destination does. */
	inst.dst.addr = NEURON_PUT(NEURON_AP_PARTITION, 64) | OUT;
	good(state, VECTOR, inst);
	inst.dst.step[1] = 0x4000;
	refused(state, VECTOR, inst);
	inst.src0.addr = NEURON_AP_PSUM;
	good(state, VECTOR, inst);
	inst.dst = indexed(&t, ap_psum(32, 32, 0, F32, N), 0, INDEX2);
	good(state, VECTOR, inst);
	refused(state, SCALAR, inst);
	/* No index is written while it is used. */
	inst = gathering();
	inst.dst.addr = NEURON_PUT(NEURON_AP_PARTITION, 32) | (INDEX0 - 4 * N);
	good(state, VECTOR, inst);
	inst.dst.addr += 4;
	refused(state, VECTOR, inst);
	inst.dst.addr = NEURON_PUT(NEURON_AP_PARTITION, 32) | (INDEX0 + 4);
	refused(state, VECTOR, inst);
	inst.dst.addr += 4;
	good(state, VECTOR, inst);
	inst.dst.addr = NEURON_PUT(NEURON_AP_PARTITION, 64) | INDEX0;
	good(state, VECTOR, inst);
}

static void the_array_has_rules(void **state)
{
	struct trial t = { .first = 0 };
	struct neuron_inst load = OP(LOAD_STATIONARY, .src0 =
		indexed(&t, ap_sbuf(0, 32, 0, BF16, 8), DATA0, INDEX0));
	struct neuron_inst inst = load;

	clear_indices(state);
	good(state, TENSOR, load);
	inst.src0.dtype = F32;
	refused(state, TENSOR, inst);
	inst.src0.dtype = NEURON_DTYPE_FP8_E3;
	refused(state, TENSOR, inst);
	inst = load;
	inst.mode = NEURON_INST_ARRAY >> 8;
	inst.imm0 = neuron_array_put((struct neuron_array) { 0, 32, 0, 32 });
	refused(state, TENSOR, inst);
	inst = OP(MATMUL, .flags = NEURON_INST_TRANSPOSE, .dst = ap_psum(0, 8, 0, BF16, 8),
		  .src0 = load.src0);
	refused(state, TENSOR, inst);
}

/* What the public documents leave out. */
static void some_indices_need_more(void **state)
{
	struct trial t = { .first = 32 };
	struct neuron_inst copy = gathering();
	struct neuron_inst inst = OP(TENSOR_TENSOR, .op0 = NEURON_ALU_ADD,
				     .dst = ap_sbuf(32, 32, OUT, F32, N),
				     .src0 = ap_sbuf(32, 32, DATA0, F32, N),
				     .src1 = ap_sbuf(32, 32, 0, F32, N));

	clear_indices(state);
	inst.src1 = indexed(&t, inst.src1, DATA1, INDEX1);
	good(state, VECTOR, copy);
	refused(state, GPSIMD, copy);
	refused(state, VECTOR, inst);
	exec_more_operators(state, true);
	good(state, GPSIMD, copy);
	good(state, VECTOR, inst);
}

static void comes_with_v4(void **state)
{
	clear_indices(state);
	refused(state, VECTOR, gathering());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn3, every_instruction),
		EXEC_TEST(exec_setup_trn3, psum),
		EXEC_TEST(exec_setup_trn3, tensor_engine),
		EXEC_TEST(exec_setup_trn3, stationary),
		EXEC_TEST(exec_setup_trn3, mx),
		EXEC_TEST(exec_setup_trn3, mx_scales_go_along),
		EXEC_TEST(exec_setup_trn3, elements_lie_inside),
		EXEC_TEST(exec_setup_trn3, has_one_form),
		EXEC_TEST(exec_setup_trn3, destinations_have_rules),
		EXEC_TEST(exec_setup_trn3, the_array_has_rules),
		EXEC_TEST(exec_setup_trn3, some_indices_need_more),
		EXEC_TEST(exec_setup, comes_with_v4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
