// SPDX-License-Identifier: MIT
/*
 * The builder refuses what the chip refuses, and nothing else: instructions that are good, and
 * many that were changed by chance, are shown to both. Each generation has its own rules.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_rig.h"
#include "exec_rig.h"
#include "isa/trn_isa.h"
#include "nb_inst.h"
#include "rounds.h"

#define LENGTH(a)	(sizeof(a) / sizeof((a)[0]))
/* Between the parts of a long line. */
#define AND		", "
#define THEN		" "
#define FEW_ROUNDS	60	/* of each instruction */
#define MANY_ROUNDS	400

/* Each lane and tensor instruction in several forms. */
static const char *const lines[] = {
	"tensor load_stationary sbuf[0:64, 0x400 : 128 bf16]",
	"tensor load_stationary sbuf[0:32, 0x400 : 64 fp16] array[32:64, 64:128]",
	"tensor load_stationary sbuf[0:128, 0x0 : 2*128 fp8_e4] double_row",
	"tensor load_stationary sbuf[0:128, 0x0 : 128 bf16] transpose",
	"tensor load_sparse sbuf[0:32, 0x0 : 16 bf16], sbuf[0:32, 0x80 : 4 uint16]",
	"tensor load_mx sbuf[0:32, 0x0 : 16 fp8_e5_x4], sbuf[0:32, 0x80 : 16 e8m0], 12",
	"tensor matmul psum[0:128, 0x0 : 10 fp32], sbuf[0:64, 0x800 : 10 bf16] acc",
	"tensor matmul psum[0:128, 0x0 : 10 fp32], sbuf[0:128, 0x0 : 2*10 fp8_e5] double_row",
	"tensor matmul psum[0:128, 0x0 : 10 fp32], sbuf[0:64, 0x800 : 10 bf16] written[0:128, 0:6]",
	"tensor matmul_sparse psum[0:16, 0x0 : 9 fp32], sbuf[0:32, 0x0 : 4*9 bf16], 4 acc",
	"tensor matmul_mx psum[0:16, 0x0 : 9 bf16], sbuf[0:32, 0x0 : 9 fp4_e2_x4]" AND
		"sbuf[0:32, 0x80 : 9 uint8], 0",
	"vector tensor_tensor.add sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x100 : 8 bf16]" AND
		"psum[0:32, 0x0 : 8 fp32]",
	"vector tensor_tensor.bitwise_and sbuf[0:32, 0x0 : 8 int32]" AND
		"sbuf[0:32, 0x100 : 8 int32], sbuf[0:32, 0x200 : 8 uint32]",
	"vector tensor_scalar.subtract.multiply sbuf[0:32, 0x0 : 8 fp32]" AND
		"sbuf[0:32, 0x0 : 8 fp32], 1.0, 0.5 rev0",
	"vector tensor_scalar.add sbuf[0:32, 0x0 : 8 fp32], psum[0:32, 0x0 : 8 fp32]" AND
		"sbuf[0:32, 0x80 : 1 fp32]",
	"vector tensor_scalar.abs sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x0 : 8 fp32]" THEN
		"reduce add reset_reduce",
	"vector tensor_scalar.shift_left.bitwise_or sbuf[0:32, 0x0 : 8 uint8]" AND
		"sbuf[0:32, 0x40 : 8 int8], 1, sbuf[0:32, 0x80 : 1 uint8]",
	"scalar tensor_scalar.multiply.add sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x0 : 8 fp32]" AND
		"1.0, 0.5",
	"vector tensor_reduce.max sbuf[0:128, 0x0 : 4 fp32], sbuf[0:128, 0x100 : 4*16 fp32], 1 neg",
	"vector copy sbuf[0:128, 0x0 : 64 bf16], psum[0:128, 0x0 : 64 fp32]",
	"vector copy sbuf[0:32, 0x0 : 3*4096 uint8], psum[0:32, 0x0 : 3@0*4096 uint8]",
	"scalar copy sbuf[0:64, 0x2000 : 100 bf16], sbuf[0:64, 0x0 : 100 bf16]",
	"vector memset sbuf[0:128, 0x0 : 64 bf16], 1.5",
	"vector acc_read sbuf[0:128, 0x80 : 1 fp32] neg",
	"scalar acc_load sbuf[0:128, 0x80 : 1 fp32]",
	"vector scalar_tensor_tensor.multiply.add sbuf[0:32, 0x0 : 8 fp32]" AND
		"sbuf[0:32, 0x0 : 8 bf16], 0.5, psum[0:32, 0x0 : 8 fp32]",
	"vector tensor_scan.multiply.add sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x20 : 8 fp32]" AND
		"sbuf[0:32, 0x40 : 8 fp32], 1.0",
	"vector tensor_cumulative.multiply sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x20 : 8 fp32]" AND
		"0.5 reduce add reset_reduce",
	"vector copy_predicated sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x20 : 8 fp32]" AND
		"sbuf[0:32, 0x40 : 8 uint8]",
	"vector copy_predicated sbuf[0:32, 0x0 : 8 fp32], 0.0, sbuf[0:32, 0x40 : 8 uint8] rev0",
	"vector reciprocal sbuf[0:32, 0x0 : 8 fp32], psum[0:32, 0x0 : 8 fp32]",
	"vector bn_stats sbuf[0:128, 0x0 : 6 fp32], sbuf[0:128, 0x800 : 512 bf16]",
	"vector bn_aggr sbuf[0:128, 0x0 : 2 fp32], sbuf[0:128, 0x100 : 12 fp32]",
	"vector range_select.is_ge.is_lt sbuf[0:32, 0x0 : 64 fp32], psum[0:32, 0x0 : 64 fp32]" AND
		"sbuf[0:32, 0x200 : 1 fp32], sbuf[0:32, 0x204 : 1 fp32], 128" THEN
		"reduce max reset_reduce",
	"vector select_reduce sbuf[0:32, 0x0 : 8 bf16], sbuf[0:32, 0x20 : 8 bf16], -1.0" AND
		"sbuf[0:32, 0x40 : 8 uint8] reduce max reset_reduce",
	"vector max8 sbuf[0:128, 0x0 : 8 fp32], sbuf[0:128, 0x100 : 1000 bf16]",
	"vector find_index8 sbuf[0:128, 0x0 : 8 uint32], sbuf[0:128, 0x100 : 1000 bf16]" AND
		"sbuf[0:128, 0x20 : 8 fp32]",
	"vector match_replace8 sbuf[0:128, 0x0 : 1000 fp32], sbuf[0:128, 0x0 : 1000 fp32]" AND
		"sbuf[0:128, 0x1000 : 8 fp32], -1.0, sbuf[0:128, 0x1020 : 8 uint32]",
	"vector stream_shuffle sbuf[0:64, 0x0 : 8 fp32], sbuf[0:64, 0x0 : 8 fp32]" AND
		"(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20" AND
		"23, 22, 25, 24, 27, 26, 29, 28, 31, 30)",
	"vector transpose sbuf[0:32, 0x0 : 20 bf16], psum[0:20, 0x0 : 32 bf16]",
	"vector set_rng_seed sbuf[0:1, 0x0 : 1 uint32]",
	"vector rng sbuf[0:128, 0x0 : 64 uint16]",
	"gpsimd rng sbuf[0:128, 0x0 : 64 uint16]",
	"vector dropout sbuf[0:128, 0x0 : 64 bf16], sbuf[0:128, 0x0 : 64 bf16], 0.1",
	"vector dropout sbuf[0:128, 0x0 : 64 bf16], sbuf[0:128, 0x0 : 64 bf16]" AND
		"sbuf[0:128, 0x100 : 1 bf16]",
	"vector rand_set_state sbuf[0:128, 0x0 : 24 uint32]",
	"gpsimd rand_get_state sbuf[0:128, 0x0 : 6 uint32]",
	"vector rand2 sbuf[0:128, 0x0 : 64 fp32], -1.0, 1.0",
	"vector exponential sbuf[0:128, 0x0 : 64 bf16], psum[0:128, 0x0 : 64 fp32]" AND
		"sbuf[0:128, 0x200 : 1 fp32] reduce add reset_reduce",
	"vector quantize_mx sbuf[0:128, 0x0 : 64 fp8_e4fn_x4], sbuf[0:128, 0x400 : 256 bf16]" AND
		"sbuf[0:128, 0x800 : 64 e8m0], 4",
	"scalar activate.gelu sbuf[0:32, 0x0 : 8 bf16], psum[0:32, 0x0 : 8 fp32], 1.0" AND
		"sbuf[0:32, 0x90 : 1 fp32]",
	"scalar activate.exp sbuf[0:32, 0x0 : 8 bf16], psum[0:32, 0x0 : 8 fp32], 1.0, 0.0" THEN
		"reduce add reset_reduce",
	"scalar activate2.prelu.multiply.add sbuf[0:32, 0x0 : 8 fp32], psum[0:32, 0x0 : 8 fp32]" AND
		"sbuf[0:32, 0x80 : 1 fp32], 0.5, 0.25 reduce max reset_reduce",
	"gpsimd iota sbuf[0:128, 0x0 : 4*16 int32], (0, 0, 100, 1), -5, 1000",
	"gpsimd affine_select.is_ge sbuf[0:128, 0x0 : 128 bf16], sbuf[0:128, 0x400 : 128 fp32]" AND
		"(0, 0, 0, -1), 0, 1, -30000.0",
	"gpsimd partition_reduce.add sbuf[0:1, 0x0 : 512 fp32], sbuf[0:128, 0x800 : 512 bf16]",
	"gpsimd partition_reduce.bitwise_or sbuf[0:1, 0x0 : 9 int16], sbuf[0:128, 0x800 : 9 uint16]",
	"gpsimd local_gather sbuf[0:128, 0x0 : 64*4 fp32], sbuf[0:128, 0x800 : 512*4 fp32]" AND
		"sbuf[0:128, 0x4000 : 4 uint16], 4, 0",
	"gpsimd gather sbuf[0:128, 0x0 : 64 bf16], sbuf[0:128, 0x800 : 16*512 bf16]" AND
		"sbuf[0:128, 0x8000 : 64 uint32]",
	"gpsimd nonzero_with_count sbuf[0:128, 0x0 : 513 int32], sbuf[0:128, 0x1000 : 512 fp32]" AND
		"0, -1",
	"gpsimd topk sbuf[0:128, 0x0 : 8 bf16], sbuf[0:128, 0x100 : 8 uint32]" AND
		"sbuf[0:128, 0x200 : 3 bf16], 42",
	"gpsimd sequence_bounds sbuf[0:1, 0x0 : 2*512 int32], sbuf[0:1, 0x2000 : 512 int32]",
	"gpsimd tensor_scalar.rsqrt sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x0 : 8 fp32]",
	"gpsimd tensor_tensor.power sbuf[0:32, 0x0 : 8 fp32], sbuf[0:32, 0x100 : 8 bf16]" AND
		"sbuf[0:32, 0x0 : 8 fp32]",
	"vector set_rounding 1, 7",
	"scalar set_fp8_bias -2, 0, 3",
};

struct subject {
	enum neuron_engine engine;
	struct neuron_inst inst;
};

static struct subject assemble(const char *line)
{
	const char *blank = strchr(line, ' ');
	struct nb_program *nb;
	struct subject subject;
	char source[1024];

	subject.engine = (enum neuron_engine)trn_isa_engine_value(line, (size_t)(blank - line));
	snprintf(source, sizeof(source), ".engine %.*s\n%s\nhalt\n", (int)(blank - line), line,
		 blank + 1);
	nb = as_good(source);
	subject.inst = *nb_inst(nb, subject.engine, 0);
	subject.inst.debug = 0;
	nb_free(nb);
	return subject;
}

/* --- what is changed --- */

static uint32_t one_of(const uint32_t *list, size_t count)
{
	return list[rnd((uint32_t)count)];
}

#define ONE_OF(...)	one_of((const uint32_t[]){ __VA_ARGS__ },			\
			       sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void change_addr(struct neuron_ap *ap)
{
	uint32_t addr = le32toh(ap->addr);

	switch (rnd(4)) {
	case 0:
		addr ^= NEURON_AP_PSUM;
		break;
	case 1:
		addr &= ~NEURON_AP_PARTITION;
		addr |= NEURON_PUT(NEURON_AP_PARTITION, ONE_OF(0, 16, 32, 64, 96, 127));
		break;
	default:
		addr &= ~NEURON_AP_OFFSET;
		addr |= NEURON_PUT(NEURON_AP_OFFSET,
				   ONE_OF(0, 1, 2, 0x40, 0x1000, 16380, 196600, 229370, 262140));
	}
	ap->addr = htole32(addr);
}

static void change_tile(struct neuron_ap *ap)
{
	unsigned int d = rnd(4);

	switch (rnd(6)) {
	case 0:
		ap->dtype = (uint8_t)rnd(NEURON_NR_DTYPES + 1);
		break;
	case 1:
		ap->num[d] = htole16((uint16_t)ONE_OF(0, 1, 2, 3, 4, 8, 9, 16, 24, 64, 513, 4097));
		break;
	case 2:
		ap->partitions = (uint8_t)ONE_OF(0, 1, 4, 16, 20, 32, 33, 48, 64, 65, 96, 128, 129);
		break;
	case 3:
		ap->step[d] = htole16((uint16_t)ONE_OF(0, 1, 2, 8, 0xffff, 0x8000));
		break;
	default:
		change_addr(ap);
	}
}

/*
 * An index of one dimension, often where it belongs. Its list is all zeros, and not where a
 * destination with an index has its first element.
 */
static void give_index(struct neuron_ap *ap)
{
	uint32_t addr = le32toh(ap->addr) & NEURON_AP_PARTITION;

	addr |= ONE_OF(0x3000, 0x3000, 0x3000, 0x3001, 229374, 262142);
	if (!rnd(4))
		addr ^= NEURON_PUT(NEURON_AP_PARTITION, 32);
	ap->index = NEURON_AP_INDEX;
	ap->num[1] = htole16(1);
	ap->num[2] = htole16(1);
	ap->num[3] = htole16(1);
	ap->step[0] = htole16((uint16_t)addr);
	ap->step[1] = htole16((uint16_t)(addr >> 16));
	ap->step[2] = 0;
	ap->step[3] = 0;
}

/* So that rules between tiles are not always broken. */
static void make_alike(struct neuron_inst *inst, unsigned int what)
{
	switch (what) {
	case 0:
		inst->src0.dtype = inst->dst.dtype;
		break;
	case 1:
		memcpy(inst->src0.num, inst->dst.num, sizeof(inst->dst.num));
		memcpy(inst->src0.step, inst->dst.step, sizeof(inst->dst.step));
		break;
	case 2:
		inst->src0.partitions = inst->dst.partitions;
		if (inst->src1.partitions)
			inst->src1.partitions = inst->dst.partitions;
		break;
	case 3:
		if (inst->src1.dtype)
			inst->src1 = inst->src0;
		break;
	}
}

static void change_fields(struct neuron_inst *inst)
{
	switch (rnd(10)) {
	case 0:
		inst->op0 = (uint8_t)rnd(0x30);
		break;
	case 1:
		inst->op1 = (uint8_t)rnd(0x30);
		break;
	case 2:
		inst->op2 = (uint8_t)rnd(0x10);
		break;
	case 3:
		inst->reduce = (uint8_t)rnd(NEURON_NR_REDUCES + 1);
		break;
	case 4:
		inst->flags ^= (uint8_t)(1u << rnd(8));
		break;
	case 5:
		inst->mode ^= htole16((uint16_t)(1u << rnd(5)));
		break;
	case 6:
		inst->imm0 = htole32(ONE_OF(0, 1, 2, 3, 4, 8, 12, 16, 33, 64, 65536, 0xffffffc0,
					    0x80402000, 0x20202020, 0x80008000));
		break;
	case 7:
		inst->imm1 = htole32(ONE_OF(0, 1, 2, 3, 4, 8, 12, 16, 4097, 0xffffffbf,
					    0x80000000));
		break;
	case 8:
		inst->col_dtype[rnd(2)] = (uint8_t)rnd(NEURON_NR_DTYPES + 1);
		break;
	default:
		*(rnd(2) ? &inst->col0 : &inst->col1) = htole32(ONE_OF(0, 2, 0x200, 0x80000200));
	}
}

static void change(struct subject *subject)
{
	struct neuron_inst *inst = &subject->inst;
	struct neuron_ap *tile = ((struct neuron_ap *[]){ &inst->dst, &inst->src0,
							  &inst->src1 })[rnd(3)];

	switch (rnd(12)) {
	case 0:
		subject->engine = (enum neuron_engine)rnd(NEURON_NR_ENGINES);
		break;
	case 1:
	case 2:
	case 3:
		change_fields(inst);
		break;
	case 4:
		if (tile->dtype)
			give_index(tile);
		break;
	default:
		if (tile->dtype)
			change_tile(tile);
	}
	if (rnd(3))
		make_alike(inst, rnd(4));
}

/* --- who says what --- */

static bool builder_takes(struct nb_program *nb, const struct subject *subject)
{
	nb->error[0] = '\0';
	return nb_check(nb, subject->engine, &subject->inst);
}

static bool is_product(const struct neuron_inst *inst)
{
	return inst->opcode == NEURON_OP_MATMUL || inst->opcode == NEURON_OP_MATMUL_SPARSE ||
	       inst->opcode == NEURON_OP_MATMUL_MX;
}

/* What a product needs in the array before it; false: nothing would fit. */
static bool stationary_for(const struct neuron_inst *inst, struct neuron_inst *load)
{
	bool both = trn_isa_flags(inst) & NEURON_INST_DOUBLE_ROW;
	unsigned int k = inst->src0.partitions, m = inst->dst.partitions;

	*load = OP(LOAD_STATIONARY, .mode = inst->mode & ~htole16(NEURON_INST_WRITTEN >> 8),
		   .flags = inst->flags & NEURON_INST_TRANSPOSE,
		   .src0 = ap_sbuf(0, k, 0x8000, inst->src0.dtype, m));
	if (trn_isa_flags(inst) & NEURON_INST_ARRAY)
		load->imm0 = inst->imm0;
	if (both)
		load->src0 = ap_dim(load->src0, 1, 2, (int)m);
	if (inst->opcode == NEURON_OP_MATMUL_SPARSE) {
		load->opcode = NEURON_OP_LOAD_SPARSE;
		load->src1 = ap_sbuf(0, k, 0xa000, NEURON_DTYPE_UINT16, (m + 3) / 4);
	}
	if (inst->opcode == NEURON_OP_MATMUL_MX) {
		load->opcode = NEURON_OP_LOAD_MX;
		load->src1 = ap_sbuf(0, k, 0xa000, NEURON_DTYPE_E8M0, m);
	}
	return k <= 128 && m <= 128;
}

enum verdict { TAKES, REFUSES, CANNOT_SAY };

/* The first element of the destination may be a part of its own list. */
static bool writes_own_list(const struct neuron_inst *inst)
{
	return inst->dst.index &&
	       NEURON_GET(NEURON_AP_OFFSET, neuron_ap_index(&inst->dst)) < 0x1000;
}

/* What the chip finds out only from numbers, or from what was done before. */
static bool depends_on_data(const struct neuron_inst *inst, enum neuron_cause cause)
{
	if (writes_own_list(inst) && cause == NEURON_CAUSE_OPERAND)
		return true;
	if (inst->dst.index || inst->src0.index || inst->src1.index)
		return cause == NEURON_CAUSE_ACCESS;
	if (inst->opcode == NEURON_OP_LOCAL_GATHER || inst->opcode == NEURON_OP_GATHER)
		return cause == NEURON_CAUSE_ACCESS;
	return inst->opcode == NEURON_OP_MATMUL && (inst->flags & NEURON_INST_TRANSPOSE);
}

static enum verdict chip_takes(struct seq_rig *rig, const struct subject *subject)
{
	struct neuron_inst prog[2];
	unsigned int at = 0;
	struct neuron_hw_completion record;

	if (is_product(&subject->inst)) {
		if (!stationary_for(&subject->inst, &prog[0]))
			return CANNOT_SAY;
		at = 1;
	}
	prog[at] = subject->inst;
	record = run(rig, subject->engine, prog, at + 1);
	if (record.status == NEURON_JOB_OK)
		return TAKES;
	/* Something that cannot be loaded says nothing of the product. */
	if (record.pc != at || depends_on_data(&subject->inst, record.cause))
		return CANNOT_SAY;
	return REFUSES;
}

static void compare(struct seq_rig *rig, struct nb_program *nb, const struct subject *subject,
		    unsigned int *counts)
{
	enum verdict chip = chip_takes(rig, subject);
	bool builder = builder_takes(nb, subject), takes = chip == TAKES;
	char text[TRN_ISA_TEXT_MAX];

	counts[chip]++;
	if (chip == CANNOT_SAY || builder == takes)
		return;
	trn_isa_format(text, sizeof(text), &subject->inst);
	fail_msg("NeuronCore-v%u, %s: %s: the chip %s it, the builder %s", nb->generation,
		 trn_isa_engine_name(subject->engine), text,
		 takes ? "carries out" : "refuses",
		 builder ? "takes it" : nb->error);
}

/* Changes are piled up, so that there are several at once; then from the beginning. */
static void same_verdicts(void **state, unsigned int generation)
{
	unsigned int counts[3] = { 0 };
	struct nb_program *nb = nb_new("rules");
	struct subject first, subject;
	unsigned int i, round, nr = rounds(FEW_ROUNDS, MANY_ROUNDS);

	nb_generation(nb, generation);
	for (i = 0; i < LENGTH(lines); i++) {
		first = assemble(lines[i]);
		subject = first;
		compare(*state, nb, &subject, counts);
		for (round = 0; round < nr; round++) {
			if (!rnd(3))
				subject = first;
			change(&subject);
			compare(*state, nb, &subject, counts);
		}
	}
	nb_free(nb);
	print_message("# NeuronCore-v%u: %u carried out, %u refused, %u that numbers decide\n",
		      generation, counts[TAKES], counts[REFUSES], counts[CANNOT_SAY]);
	/* Neither side may be a rarity. */
	assert_true(counts[TAKES] > LENGTH(lines) * nr / 10);
	assert_true(counts[REFUSES] > LENGTH(lines) * nr / 10);
}

static void as_the_chip_v2(void **state)
{
	same_verdicts(state, 2);
}

static void as_the_chip_v3(void **state)
{
	same_verdicts(state, 3);
}

static void as_the_chip_v4(void **state)
{
	same_verdicts(state, 4);
}

/* All forms are carried out by the newest chip: the lines are what they seem. */
static void lines_are_good(void **state)
{
	struct nb_program *nb = nb_new("rules");
	struct subject subject;
	unsigned int i;

	for (i = 0; i < LENGTH(lines); i++) {
		subject = assemble(lines[i]);
		if (chip_takes(*state, &subject) != TAKES)
			fail_msg("the chip refuses %s", lines[i]);
		if (!builder_takes(nb, &subject))
			fail_msg("%s: %s", lines[i], nb_error(nb));
	}
	nb_free(nb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXEC_TEST(exec_setup_trn3, lines_are_good),
		EXEC_TEST(exec_setup_trn1, as_the_chip_v2),
		EXEC_TEST(exec_setup, as_the_chip_v3),
		EXEC_TEST(exec_setup_trn3, as_the_chip_v4),
	};

	return cmocka_run_group_tests_name("builder_rules", tests, NULL, NULL);
}
