// SPDX-License-Identifier: MIT
/* What the instructions of the tensor engine ask for besides their types. */
#include <endian.h>

#include "nb_rule.h"

#define QUADRANT	32

static uint32_t array_side(const struct nb_rules *rules, bool columns)
{
	struct neuron_array array = neuron_array_get(le32toh(rules->inst->imm0));

	if (!(trn_isa_flags(rules->inst) & NEURON_INST_ARRAY))
		return 128;
	return columns ? array.cols : array.rows;
}

static bool moves_bits(const struct nb_rules *rules)
{
	return (trn_isa_flags(rules->inst) & NEURON_INST_TRANSPOSE) && rules->generation >= 3;
}

static bool check_part(struct nb_rules *rules)
{
	if (rules->generation < 3 &&
	    (array_side(rules, false) == 32 || array_side(rules, true) == 32))
		return nb_broken(rules, "NeuronCore-v2 has no parts of 32 rows or columns");
	return true;
}

static bool check_double_row(struct nb_rules *rules)
{
	uint32_t flags = trn_isa_flags(rules->inst);
	const struct neuron_ap *ap = &rules->inst->src0;

	if (!(flags & NEURON_INST_DOUBLE_ROW))
		return true;
	if (rules->generation < 3)
		return nb_broken(rules, "double_row begins with NeuronCore-v3");
	if ((flags & NEURON_INST_TRANSPOSE) || array_side(rules, true) != 128)
		return nb_broken(rules, "double_row takes all columns and does not transpose");
	if (!nb_is_type(rules->src0.dtype,
			NB_TYPE(FP8_E4) | NB_TYPE(FP8_E5) | NB_TYPE(FP8_E4FN)))
		return nb_broken(rules, "src is %s; double_row takes fp8_e4, fp8_e5, fp8_e4fn",
				 trn_isa_dtype_name(rules->src0.dtype));
	return (le16toh(ap->num[1]) == 2 && le16toh(ap->num[2]) == 1 &&
		le16toh(ap->num[3]) == 1) ||
	       nb_broken(rules,
			 "the second dimension of src has to be 2 with double_row, the last");
}

static bool check_operand(struct nb_rules *rules)
{
	if (rules->src0.psum)
		return nb_broken(rules, "src lies in PSUM; it has to lie in SBUF");
	return check_part(rules) && check_double_row(rules);
}

static bool check_loaded(struct nb_rules *rules)
{
	uint64_t columns = rules->src0.n;

	if (trn_isa_flags(rules->inst) & NEURON_INST_DOUBLE_ROW)
		columns /= 2;
	if (rules->src0.partitions > array_side(rules, false) ||
	    columns > array_side(rules, true))
		return nb_broken(rules, "%u x %llu elements for %u x %u cells",
				 rules->src0.partitions, (unsigned long long)columns,
				 array_side(rules, false), array_side(rules, true));
	return check_operand(rules);
}

bool nb_rule_load_stationary(struct nb_rules *rules)
{
	unsigned int dtype = rules->src0.dtype;

	if (moves_bits(rules) ? rules->src0.size > 4 : !nb_is_type(dtype, NB_FLOATS))
		return nb_broken(rules, "src is %s; %s", trn_isa_dtype_name(dtype),
				 moves_bits(rules) ? "elements of up to 32 bits are transposed" :
						     "products are of floats");
	return check_loaded(rules);
}

bool nb_rule_load_sparse(struct nb_rules *rules)
{
	if (rules->src0.partitions % 4 || rules->src1.partitions != rules->src0.partitions ||
	    rules->src1.n != (rules->src0.n + 3) / 4)
		return nb_broken(rules,
				 "K is a multiple of 4, and the tags are K x M / 4 elements");
	return check_loaded(rules);
}

/* Scales of an MX operand. */
static bool check_scales(struct nb_rules *rules)
{
	if (rules->src1.psum)
		return nb_broken(rules, "src1 lies in PSUM; it has to lie in SBUF");
	if (rules->src0.partitions % QUADRANT ||
	    rules->src1.partitions != rules->src0.partitions || rules->src1.n != rules->src0.n)
		return nb_broken(rules,
				 "K is a multiple of 32, and there are as many scales as elements");
	return nb_rule_scale_row(rules, le32toh(rules->inst->imm1));
}

bool nb_rule_load_mx(struct nb_rules *rules)
{
	if (rules->src0.n % 2 || array_side(rules, true) != 128)
		return nb_broken(rules, "M is even, and the part has all columns");
	return check_scales(rules) && check_loaded(rules);
}

static bool check_written(struct nb_rules *rules)
{
	struct neuron_written written = neuron_written_get(le64toh(rules->inst->addr));

	return !(trn_isa_flags(rules->inst) & NEURON_INST_WRITTEN) ||
	       ((uint64_t)written.line + written.lines <= rules->dst.partitions &&
		(uint64_t)written.first + written.count <= rules->dst.n) ||
	       nb_broken(rules, "the written part is larger than dst");
}

/* Of @lines elements of the moving operand one result becomes. */
static bool check_result(struct nb_rules *rules, unsigned int lines)
{
	const struct nb_ap *dst = &rules->dst;
	uint64_t most = rules->generation < 4 ? 512 : dst->size == 4 ? 4096 : 8192;

	if (!dst->psum)
		return nb_broken(rules, "dst lies in SBUF; products go to PSUM");
	if (dst->partitions > array_side(rules, true) ||
	    rules->src0.partitions > array_side(rules, false))
		return nb_broken(rules, "more rows or columns than the array has");
	if (dst->n * lines != rules->src0.n)
		return nb_broken(rules, "src has %llu elements of a partition, dst %llu",
				 (unsigned long long)rules->src0.n, (unsigned long long)dst->n);
	if (dst->n > most)
		return nb_broken(rules,
				 "dst has %llu elements of a partition; at most %llu are possible",
				 (unsigned long long)dst->n, (unsigned long long)most);
	if (!moves_bits(rules) && dst->dtype != NEURON_DTYPE_FP32 &&
	    (dst->dtype != NEURON_DTYPE_BF16 || rules->generation < 4))
		return nb_broken(rules,
				 "dst is %s; a product is fp32, from NeuronCore-v4 on also bf16",
				 trn_isa_dtype_name(dst->dtype));
	return check_written(rules);
}

bool nb_rule_matmul(struct nb_rules *rules)
{
	uint32_t flags = trn_isa_flags(rules->inst);

	if (moves_bits(rules) && (flags & NEURON_INST_ACCUMULATE))
		return nb_broken(rules, "a transposition does not add");
	if (moves_bits(rules) && (rules->dst.n > 128 || rules->dst.size > 4))
		return nb_broken(rules, "at most 128 columns of up to 32 bits are transposed");
	return check_operand(rules) &&
	       check_result(rules, flags & NEURON_INST_DOUBLE_ROW ? 2 : 1);
}

bool nb_rule_matmul_sparse(struct nb_rules *rules)
{
	const struct neuron_ap *ap = &rules->inst->src0;
	uint32_t ratio = le32toh(rules->inst->imm1);

	if (ratio < 2 || ratio > 4)
		return nb_broken(rules, "the ratio is %u; 2, 3 and 4 are possible", ratio);
	if (le16toh(ap->num[1]) != ratio || le16toh(ap->num[2]) != 1 || le16toh(ap->num[3]) != 1)
		return nb_broken(rules, "the second dimension of src is the ratio, and the last");
	return check_operand(rules) && check_result(rules, ratio);
}

bool nb_rule_matmul_mx(struct nb_rules *rules)
{
	return check_scales(rules) && check_operand(rules) && check_result(rules, 1);
}
