// SPDX-License-Identifier: MIT
/* Operators, accumulators, and what single instructions ask for besides their tiles. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "num/trn_num.h"
#include "nb_rule.h"
#include "neuron/dma_op.h"

#define QUADRANT	32
#define INDEX_LIMIT	(1 << 24)

static const char *alu_name(unsigned int op)
{
	const char *name = trn_isa_alu_name(op);

	return name ? name : "this operator";
}

/* --- operators --- */

static bool is_magnitude(unsigned int op)
{
	return op == NEURON_ALU_ABS_MAX || op == NEURON_ALU_ABS_MIN;
}

/* An operator of two numbers. */
static bool check_arith(struct nb_rules *rules, unsigned int op)
{
	if (op == NEURON_ALU_POWER && rules->engine != NEURON_ENGINE_GPSIMD)
		return nb_broken(rules, "only GpSimd has power");
	if (!trn_isa_alu_name(op) || trn_isa_alu_is_bitwise(op) || trn_isa_alu_is_unary(op) ||
	    op == NEURON_ALU_AVERAGE)
		return nb_broken(rules, "%s is no arithmetic operator", alu_name(op));
	if (is_magnitude(op) && rules->generation < 4)
		return nb_broken(rules, "%s begins with NeuronCore-v4", alu_name(op));
	return true;
}

static bool check_arith_or_unary(struct nb_rules *rules, unsigned int op)
{
	if (!trn_isa_alu_is_unary(op))
		return check_arith(rules, op);
	if ((op == NEURON_ALU_SQUARE || op == NEURON_ALU_RELU) && rules->generation < 4)
		return nb_broken(rules, "%s begins with NeuronCore-v4", alu_name(op));
	return true;
}

static bool check_bitwise_tile(struct nb_rules *rules, const struct nb_ap *tile,
			       unsigned int field)
{
	if (!(rules->fields & field))
		return true;
	if (!nb_is_type(tile->dtype, NB_INTS) || tile->size != rules->dst.size)
		return nb_broken(rules,
				 "%s is %s; a bitwise operator takes integers of one size in all tiles",
				 tile->name, trn_isa_dtype_name(tile->dtype));
	return true;
}

static bool check_bitwise(struct nb_rules *rules)
{
	return check_bitwise_tile(rules, &rules->dst, TRN_FIELD_DST) &&
	       check_bitwise_tile(rules, &rules->src0, TRN_FIELD_SRC0) &&
	       check_bitwise_tile(rules, &rules->src1, TRN_FIELD_SRC1);
}

static bool tensor_tensor(struct nb_rules *rules)
{
	unsigned int op = rules->inst->op0;

	if (rules->inst->src1.index)
		return nb_broken(rules, "src1 takes no index");
	if (rules->engine == NEURON_ENGINE_GPSIMD &&
	    (trn_isa_alu_is_bitwise(op) || is_magnitude(op)))
		return nb_broken(rules, "GpSimd has no %s", alu_name(op));
	return trn_isa_alu_is_bitwise(op) ? check_bitwise(rules) : check_arith(rules, op);
}

/* The scalar engine multiplies, adds, or does one after the other. */
static bool scalar_engine_has(const struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;

	if (rules->generation >= 4)
		return true;
	if (inst->op1 == NEURON_ALU_BYPASS)
		return inst->op0 == NEURON_ALU_MULTIPLY || inst->op0 == NEURON_ALU_ADD;
	return inst->op0 == NEURON_ALU_MULTIPLY && inst->op1 == NEURON_ALU_ADD;
}

static bool check_scalar_engine(struct nb_rules *rules)
{
	if (rules->engine == NEURON_ENGINE_GPSIMD &&
	    (rules->inst->op0 != NEURON_ALU_RSQRT || rules->inst->op1 != NEURON_ALU_BYPASS))
		return nb_broken(rules, "GpSimd has rsqrt alone");
	if (rules->engine != NEURON_ENGINE_SCALAR)
		return true;
	if (trn_isa_alu_is_bitwise(rules->inst->op0))
		return nb_broken(rules, "the scalar engine has no bitwise operators");
	return scalar_engine_has(rules) ||
	       nb_broken(rules,
			 "before NeuronCore-v4 the scalar engine has multiply, add, and multiply with add");
}

/* tensor_scalar_reduce of the public documents. */
static bool check_scalar_reduce(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;

	if (inst->op2 == NEURON_ALU_BYPASS)
		return true;
	if (rules->engine != NEURON_ENGINE_VECTOR || inst->op1 != NEURON_ALU_BYPASS ||
	    (inst->flags & NEURON_INST_REVERSE0) || trn_isa_alu_is_bitwise(inst->op0))
		return nb_broken(rules,
				 "a reduction goes with one arithmetic operator on the vector engine, not reversed");
	return inst->op2 == NEURON_ALU_ADD || inst->op2 == NEURON_ALU_MULTIPLY ||
	       inst->op2 == NEURON_ALU_MAX || inst->op2 == NEURON_ALU_MIN ||
	       nb_broken(rules, "the reduction is %s; it can be add, multiply, max, min",
			 alu_name(inst->op2));
}

static bool check_second_column(struct nb_rules *rules, bool bitwise)
{
	unsigned int dtype = trn_isa_column_dtype(rules->inst, 1);

	if (!(rules->fields & TRN_FIELD_COL1))
		return true;
	if (bitwise)
		return (nb_is_type(dtype, NB_INTS) && trn_dtype_size(dtype) == rules->dst.size) ||
		       nb_broken(rules, "column 1 has to hold integers of the size of the data");
	return dtype == NEURON_DTYPE_FP32 || nb_broken(rules, "column 1 is %s instead of fp32",
						       trn_isa_dtype_name(dtype));
}

static bool tensor_scalar(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	bool bitwise = trn_isa_alu_is_bitwise(inst->op0);

	if (inst->op1 != NEURON_ALU_BYPASS && trn_isa_alu_is_bitwise(inst->op1) != bitwise)
		return nb_broken(rules, "both operators are arithmetic, or both are bitwise");
	if (!check_scalar_engine(rules) || !check_scalar_reduce(rules) ||
	    !check_second_column(rules, bitwise))
		return false;
	if (bitwise)
		return check_bitwise(rules);
	if ((rules->fields & TRN_FIELD_SRC1) && rules->src1.dtype != NEURON_DTYPE_FP32)
		return nb_broken(rules, "column 0 is %s instead of fp32",
				 trn_isa_dtype_name(rules->src1.dtype));
	return check_arith_or_unary(rules, inst->op0) &&
	       (inst->op1 == NEURON_ALU_BYPASS || check_arith_or_unary(rules, inst->op1));
}

static bool scalar_tensor_tensor(struct nb_rules *rules)
{
	return check_arith_or_unary(rules, rules->inst->op0) &&
	       check_arith(rules, rules->inst->op1);
}

static bool tensor_scan(struct nb_rules *rules)
{
	return check_arith(rules, rules->inst->op0) && check_arith(rules, rules->inst->op1);
}

static bool tensor_cumulative(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;

	if (inst->reduce == NEURON_REDUCE_IDLE || inst->reduce == NEURON_REDUCE_RESET)
		return nb_broken(rules,
				 "the accumulators begin by reduce, reset_reduce or load_reduce");
	switch (inst->op2) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
		return check_arith(rules, inst->op0);
	}
	return nb_broken(rules,
			 "the running operator is %s; it can be add, subtract, multiply, max, min",
			 alu_name(inst->op2));
}

static bool is_reduction(unsigned int op)
{
	switch (op) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
	case NEURON_ALU_BITWISE_AND:
	case NEURON_ALU_BITWISE_OR:
	case NEURON_ALU_BITWISE_XOR:
		return true;
	}
	return false;
}

static bool tensor_reduce(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	unsigned int dims = le32toh(inst->imm0), i;
	uint64_t group = 1;

	if (!is_reduction(inst->op0))
		return nb_broken(rules, "%s is no reduction", alu_name(inst->op0));
	if (trn_isa_alu_is_bitwise(inst->op0) && (inst->flags & NEURON_INST_NEGATE))
		return nb_broken(rules, "a bitwise reduction is not negated");
	if (!dims || dims > 4)
		return nb_broken(rules, "%u dimensions are reduced; 1 to 4 are possible", dims);
	for (i = 0; i < dims; i++)
		group *= le16toh(inst->src0.num[i]);
	if (rules->dst.n * group != rules->src0.n)
		return nb_broken(rules, "dst has %llu elements of a partition; %llu groups remain",
				 (unsigned long long)rules->dst.n,
				 (unsigned long long)(rules->src0.n / group));
	return !trn_isa_alu_is_bitwise(inst->op0) || check_bitwise(rules);
}

/* Nothing is converted between equal types, but on the scalar engine of NeuronCore-v2. */
static bool copy(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	bool bits = inst->dst.dtype == inst->src0.dtype &&
		    (rules->engine != NEURON_ENGINE_SCALAR || rules->generation > 2);

	if (rules->engine == NEURON_ENGINE_GPSIMD && (inst->dst.index || inst->src0.index))
		return nb_broken(rules, "GpSimd takes no index");
	if (bits || (nb_is_type(inst->dst.dtype, NB_NUMBERS) &&
		     nb_is_type(inst->src0.dtype, NB_NUMBERS)))
		return true;
	return nb_broken(rules, "%s to %s: this type does not convert",
			 trn_isa_dtype_name(inst->src0.dtype), trn_isa_dtype_name(inst->dst.dtype));
}

static bool fill(struct nb_rules *rules)
{
	return !nb_is_type(rules->dst.dtype, NB_PACKED) || !rules->inst->imm0 ||
	       nb_broken(rules, "%s is filled with 0 only", trn_isa_dtype_name(rules->dst.dtype));
}

static bool bn_stats(struct nb_rules *rules)
{
	return rules->src0.n <= 512 ||
	       nb_broken(rules, "src has %llu elements of a partition; at most 512 are possible",
			 (unsigned long long)rules->src0.n);
}

static bool bn_aggr(struct nb_rules *rules)
{
	return rules->src0.n % 3 == 0 ||
	       nb_broken(rules, "src has %llu elements of a partition, which are no triples",
			 (unsigned long long)rules->src0.n);
}

static bool check_reduction(struct nb_rules *rules, unsigned int op)
{
	return rules->inst->op2 == NEURON_ALU_BYPASS || rules->inst->op2 == op ||
	       nb_broken(rules, "the reduction is %s; it can be %s", alu_name(rules->inst->op2),
			 alu_name(op));
}

static bool range_select(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	int64_t start = (int32_t)(uint32_t)le64toh(inst->addr);

	if (inst->op0 == NEURON_ALU_IS_NE || inst->op1 == NEURON_ALU_IS_NE)
		return nb_broken(rules, "is_ne is no comparison of a range");
	if (start < -INDEX_LIMIT || start + (int64_t)rules->dst.n - 1 > INDEX_LIMIT)
		return nb_broken(rules, "the indices leave -2^24 to 2^24");
	return check_reduction(rules, NEURON_ALU_MAX);
}

static bool select_reduce(struct nb_rules *rules)
{
	return check_reduction(rules, NEURON_ALU_MAX);
}

static bool exponential(struct nb_rules *rules)
{
	return check_reduction(rules, NEURON_ALU_ADD);
}

/* What max8 and its like search. */
static bool search(struct nb_rules *rules)
{
	if (rules->src0.n < 8 || rules->src0.n > 16384)
		return nb_broken(rules,
				 "src has %llu elements of a partition; 8 to 16384 are possible",
				 (unsigned long long)rules->src0.n);
	return le16toh(rules->inst->src0.num[3]) == 1 ||
	       nb_broken(rules, "src has four dimensions; at most three are possible");
}

/* Elements side by side, and the same on both sides; or no byte in common. */
static bool piecewise(const struct nb_ap *a, const struct nb_ap *b)
{
	int64_t x = NEURON_GET(NEURON_AP_OFFSET, le32toh(a->ap->addr));
	int64_t y = NEURON_GET(NEURON_AP_OFFSET, le32toh(b->ap->addr));

	if (a->psum != b->psum || a->ap->offset_reg || b->ap->offset_reg ||
	    a->first >= b->first + b->partitions || b->first >= a->first + a->partitions ||
	    x + a->high <= y + b->low || y + b->high <= x + a->low)
		return true;
	return a->first == b->first && x == y && a->size == b->size && !a->low && !b->low &&
	       a->high == (int64_t)a->n * a->size && b->high == (int64_t)b->n * b->size &&
	       le16toh(a->ap->step[0]) == 1 && le16toh(b->ap->step[0]) == 1;
}

static bool check_shuffle_mask(struct nb_rules *rules)
{
	uint8_t mask[NEURON_INST_MASK];
	unsigned int p;

	trn_isa_mask(rules->inst, mask);
	for (p = 0; p < NEURON_INST_MASK; p++)
		if (mask[p] >= QUADRANT && mask[p] != 255)
			return nb_broken(rules, "the mask has %u; 0 to 31 and 255 are possible",
					 mask[p]);
	for (p = 0; p < rules->dst.partitions; p++) {
		unsigned int from = mask[p % QUADRANT];

		if (from != 255 && p - p % QUADRANT + from >= rules->src0.partitions)
			return nb_broken(rules, "partition %u takes one that src does not have",
					 p);
	}
	return true;
}

static bool stream_shuffle(struct nb_rules *rules)
{
	unsigned int dst = rules->dst.first, src = rules->src0.first;
	unsigned int most = rules->dst.partitions > rules->src0.partitions ?
			    rules->dst.partitions : rules->src0.partitions;

	if ((most > 64 && (dst || src)) || (most > 32 && (dst % 64 || src % 64)))
		return nb_broken(rules,
				 "with more than 32 partitions both tiles begin in 0 or 64, with more than 64 in 0");
	if (!check_shuffle_mask(rules))
		return false;
	return piecewise(&rules->dst, &rules->src0) ||
	       nb_broken(rules, "the tiles overlap without being the same contiguous elements");
}

static bool transpose(struct nb_rules *rules)
{
	const struct nb_ap *dst = &rules->dst, *src = &rules->src0;

	if (src->partitions > QUADRANT || src->n > QUADRANT)
		return nb_broken(rules, "src has %u x %llu elements; at most 32 x 32 are possible",
				 src->partitions, (unsigned long long)src->n);
	return (dst->partitions == src->n && dst->n == src->partitions) ||
	       nb_broken(rules, "dst has %u x %llu elements, src %u x %llu", dst->partitions,
			 (unsigned long long)dst->n, src->partitions,
			 (unsigned long long)src->n);
}

static bool disjoint(const struct nb_ap *a, const struct nb_ap *b)
{
	int64_t x = NEURON_GET(NEURON_AP_OFFSET, le32toh(a->ap->addr));
	int64_t y = NEURON_GET(NEURON_AP_OFFSET, le32toh(b->ap->addr));

	return a->psum != b->psum || a->ap->offset_reg || b->ap->offset_reg ||
	       a->first >= b->first + b->partitions || b->first >= a->first + a->partitions ||
	       x + a->high <= y + b->low || y + b->high <= x + a->low;
}

bool nb_rule_scale_row(struct nb_rules *rules, uint32_t row)
{
	return (row <= 12 && row % 4 == 0) ||
	       nb_broken(rules,
			 "the scales begin in partition %u of 32; 0, 4, 8 and 12 are possible",
			 row);
}

static bool quantize_mx(struct nb_rules *rules)
{
	const struct nb_ap *dst = &rules->dst, *src = &rules->src0, *scale = &rules->src1;

	if (src->partitions % QUADRANT)
		return nb_broken(rules, "src has %u partitions, no multiple of 32",
				 src->partitions);
	if (src->n != 4 * dst->n)
		return nb_broken(rules, "src has %llu elements of a partition, dst packs %llu",
				 (unsigned long long)src->n, (unsigned long long)(4 * dst->n));
	if (!disjoint(dst, src) || !disjoint(scale, src) || !disjoint(scale, dst))
		return nb_broken(rules, "elements, scales and source overlap");
	return nb_rule_scale_row(rules, le32toh(rules->inst->imm0));
}

static bool set_rng_seed(struct nb_rules *rules)
{
	return rules->src0.partitions == 1 ||
	       nb_broken(rules, "src has %u partitions instead of 1", rules->src0.partitions);
}

static bool dropout(struct nb_rules *rules)
{
	unsigned int dtype = trn_isa_column_dtype(rules->inst, 0);

	return !(rules->fields & TRN_FIELD_COL0) || dtype == NEURON_DTYPE_FP32 ||
	       (nb_is_type(rules->dst.dtype, NB_FLOATS) && nb_is_type(dtype, NB_FLOATS)) ||
	       nb_broken(rules, "probabilities are fp32, or any float type for float data");
}

static bool random_states(struct nb_rules *rules)
{
	const struct nb_ap *tile = rules->fields & TRN_FIELD_DST ? &rules->dst : &rules->src0;
	unsigned int words = rules->engine == NEURON_ENGINE_GPSIMD ? 6 : 24;

	return tile->n == words || nb_broken(rules,
					     "%s has %llu elements of a partition; the states are %u words",
					     tile->name, (unsigned long long)tile->n, words);
}

static bool activate(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	bool column = inst->flags & NEURON_INST_SRC1_COLUMN;

	if (rules->generation > 2)
		return true;
	if (column && inst->op0 == NEURON_ACT_RECIPROCAL)
		return nb_broken(rules, "on NeuronCore-v2 reciprocal has no bias");
	return column || !(le32toh(inst->imm1) << 1) ||
	       nb_broken(rules, "on NeuronCore-v2 the bias is a column or 0");
}

static bool activate2(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	const uint32_t both = TRN_FIELD_COL0 | TRN_FIELD_COL1;
	bool known = inst->op1 == NEURON_ALU_BYPASS &&
		     (inst->op0 == NEURON_ALU_BYPASS || inst->op0 == NEURON_ALU_MULTIPLY ||
		      inst->op0 == NEURON_ALU_ADD || inst->op0 == NEURON_ALU_SUBTRACT);

	if (!known && (inst->op0 != NEURON_ALU_MULTIPLY ||
		       (inst->op1 != NEURON_ALU_ADD && inst->op1 != NEURON_ALU_SUBTRACT)))
		return nb_broken(rules,
				 "the operators are multiply with add or subtract, or one of multiply, add and subtract");
	return (rules->fields & both) != both ||
	       trn_isa_column_dtype(inst, 0) == trn_isa_column_dtype(inst, 1) ||
	       nb_broken(rules, "both columns have the same type");
}

static bool partition_reduce(struct nb_rules *rules)
{
	unsigned int op = rules->inst->op0;

	if (rules->dst.partitions != 1)
		return nb_broken(rules, "dst has %u partitions instead of 1",
				 rules->dst.partitions);
	if (op == NEURON_ALU_BITWISE_AND || op == NEURON_ALU_BITWISE_OR)
		return check_bitwise(rules);
	return op == NEURON_ALU_ADD || op == NEURON_ALU_AVERAGE || op == NEURON_ALU_MAX ||
	       nb_broken(rules,
			 "the reduction is %s; it can be add, average, max, bitwise_and, bitwise_or",
			 alu_name(op));
}

static bool local_gather(struct nb_rules *rules)
{
	uint64_t elements = le32toh(rules->inst->imm0), count = le32toh(rules->inst->imm1);

	if (!elements || elements > 32 || (elements & (elements - 1)))
		return nb_broken(rules,
				 "%llu elements for an index; 1, 2, 4, 8, 16, 32 are possible",
				 (unsigned long long)elements);
	if (rules->dst.partitions % 16)
		return nb_broken(rules, "dst has %u partitions, no multiple of 16",
				 rules->dst.partitions);
	if (!count)
		count = 16 * rules->src1.n;
	if (count > 4096 || count > 16 * rules->src1.n)
		return nb_broken(rules,
				 "%llu indices; src1 has %llu, and at most 4096 are possible",
				 (unsigned long long)count,
				 (unsigned long long)(16 * rules->src1.n));
	return rules->dst.n == count * elements ||
	       nb_broken(rules, "dst has %llu elements of a partition instead of %llu",
			 (unsigned long long)rules->dst.n,
			 (unsigned long long)(count * elements));
}

static bool nonzero_with_count(struct nb_rules *rules)
{
	return rules->dst.n == rules->src0.n + 1 ||
	       nb_broken(rules,
			 "dst has %llu elements of a partition, src %llu; one more is needed",
			 (unsigned long long)rules->dst.n, (unsigned long long)rules->src0.n);
}

static bool topk(struct nb_rules *rules)
{
	uint64_t n = le32toh(rules->inst->imm0);

	if (rules->dst.partitions % 16)
		return nb_broken(rules, "the tiles have %u partitions, no multiple of 16",
				 rules->dst.partitions);
	if (n < 8 || n > 65535 || (n + 15) / 16 > rules->src0.n)
		return nb_broken(rules, "%llu numbers; 8 to 65535 are possible, and src has %llu",
				 (unsigned long long)n, (unsigned long long)(16 * rules->src0.n));
	return (rules->dst.n <= 32767 && rules->dst.n <= n) ||
	       nb_broken(rules, "the %llu largest of %llu; at most 32767 are possible",
			 (unsigned long long)rules->dst.n, (unsigned long long)n);
}

static bool sequence_bounds(struct nb_rules *rules)
{
	return (rules->src0.partitions == 1 && rules->dst.n == 2 * rules->src0.n) ||
	       nb_broken(rules, "one partition, and two elements of dst for each of src");
}

/* --- sequencer --- */

static bool set_rounding(struct nb_rules *rules)
{
	return le32toh(rules->inst->imm0) <= 1 ||
	       nb_broken(rules, "rounding %u; 0 (to nearest) and 1 (at random) are possible",
			 le32toh(rules->inst->imm0));
}

static bool set_fp8_bias(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	const int32_t bias[3] = { (int32_t)le32toh(inst->imm0), (int32_t)le32toh(inst->imm1),
				  (int32_t)le64toh(inst->addr) };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (bias[i] < TRN_FP8_BIAS_MIN || bias[i] > TRN_FP8_BIAS_MAX)
			return nb_broken(rules, "the bias is %d; -64 to 63 are possible", bias[i]);
	return true;
}

static bool dma_generate(struct nb_rules *rules)
{
	bool hardware = rules->engine == NEURON_ENGINE_SYNC ||
			rules->engine == NEURON_ENGINE_SCALAR;

	if (rules->engine != NEURON_ENGINE_GPSIMD && (!hardware || rules->generation < 3))
		return nb_broken(rules,
				 "descriptors are made by GpSimd, and from NeuronCore-v3 on by sync and scalar");
	if (le64toh(rules->inst->addr) % NEURON_UDMA_OP_ALIGN)
		return nb_broken(rules, "the block is not aligned to 64 bytes");
	return rules->generation >= 3 ||
	       !(trn_isa_flags(rules->inst) & NEURON_INST_LENGTH) ||
	       nb_broken(rules, "a length at run time begins with NeuronCore-v3");
}

static nb_rule_fn *const special[256] = {
	[NEURON_OP_DMA_GENERATE] = dma_generate,
	[NEURON_OP_SET_ROUNDING] = set_rounding,
	[NEURON_OP_SET_FP8_BIAS] = set_fp8_bias,
	[NEURON_OP_LOAD_STATIONARY] = nb_rule_load_stationary,
	[NEURON_OP_MATMUL] = nb_rule_matmul,
	[NEURON_OP_LOAD_SPARSE] = nb_rule_load_sparse,
	[NEURON_OP_MATMUL_SPARSE] = nb_rule_matmul_sparse,
	[NEURON_OP_LOAD_MX] = nb_rule_load_mx,
	[NEURON_OP_MATMUL_MX] = nb_rule_matmul_mx,
	[NEURON_OP_TENSOR_TENSOR] = tensor_tensor,
	[NEURON_OP_TENSOR_SCALAR] = tensor_scalar,
	[NEURON_OP_TENSOR_REDUCE] = tensor_reduce,
	[NEURON_OP_COPY] = copy,
	[NEURON_OP_MEMSET] = fill,
	[NEURON_OP_SCALAR_TENSOR_TENSOR] = scalar_tensor_tensor,
	[NEURON_OP_TENSOR_SCAN] = tensor_scan,
	[NEURON_OP_TENSOR_CUMULATIVE] = tensor_cumulative,
	[NEURON_OP_BN_STATS] = bn_stats,
	[NEURON_OP_BN_AGGR] = bn_aggr,
	[NEURON_OP_RANGE_SELECT] = range_select,
	[NEURON_OP_SELECT_REDUCE] = select_reduce,
	[NEURON_OP_ACTIVATE] = activate,
	[NEURON_OP_ACTIVATE2] = activate2,
	[NEURON_OP_MAX8] = search,
	[NEURON_OP_FIND_INDEX8] = search,
	[NEURON_OP_MATCH_REPLACE8] = search,
	[NEURON_OP_STREAM_SHUFFLE] = stream_shuffle,
	[NEURON_OP_TRANSPOSE] = transpose,
	[NEURON_OP_SET_RNG_SEED] = set_rng_seed,
	[NEURON_OP_DROPOUT] = dropout,
	[NEURON_OP_RAND_SET_STATE] = random_states,
	[NEURON_OP_RAND_GET_STATE] = random_states,
	[NEURON_OP_EXPONENTIAL] = exponential,
	[NEURON_OP_QUANTIZE_MX] = quantize_mx,
	[NEURON_OP_PARTITION_REDUCE] = partition_reduce,
	[NEURON_OP_LOCAL_GATHER] = local_gather,
	[NEURON_OP_NONZERO_WITH_COUNT] = nonzero_with_count,
	[NEURON_OP_TOPK] = topk,
	[NEURON_OP_SEQUENCE_BOUNDS] = sequence_bounds,
};

/* --- engines, accumulators --- */

static unsigned int first_generation(const struct nb_rules *rules)
{
	switch (rules->inst->opcode) {
	case NEURON_OP_RNG:
		return rules->engine == NEURON_ENGINE_GPSIMD ? 3 : 2;
	case NEURON_OP_RAND_SET_STATE:
	case NEURON_OP_RAND_GET_STATE:
		return rules->engine == NEURON_ENGINE_VECTOR ? 4 : 3;
	}
	return rules->isa->generation;
}

/* The chip could, and hardware cannot, as far as the public documents say. */
static bool is_undocumented(const struct nb_rules *rules)
{
	return rules->engine == NEURON_ENGINE_GPSIMD &&
	       (rules->inst->opcode == NEURON_OP_ACTIVATE ||
		rules->inst->opcode == NEURON_OP_TENSOR_REDUCE);
}

bool nb_rule_engine(struct nb_rules *rules)
{
	unsigned int first = first_generation(rules);
	char list[64] = "";
	unsigned int e;
	size_t len = 0;

	if ((rules->isa->engines & NEURON_BIT(rules->engine)) && !is_undocumented(rules))
		return rules->generation >= first ||
		       nb_broken(rules,
				 "it begins with NeuronCore-v%u there, the program is for v%u",
				 first, rules->generation);
	for (e = 0; e < NEURON_NR_ENGINES && len < sizeof(list); e++)
		if (rules->isa->engines & NEURON_BIT(e) & ~NEURON_BIT(rules->engine))
			len += (size_t)snprintf(list + len, sizeof(list) - len, " %s",
						trn_isa_engine_name(e));
	return nb_broken(rules, "this engine has no such instruction; use%s", list);
}

static bool check_accumulators(struct nb_rules *rules)
{
	unsigned int op = rules->inst->op2;

	if (op == NEURON_ALU_BYPASS)
		return true;
	if (is_magnitude(op) && rules->generation < 4)
		return nb_broken(rules, "a reduction with %s begins with NeuronCore-v4",
				 alu_name(op));
	switch (op) {
	case NEURON_ALU_ADD:
		return true;
	case NEURON_ALU_MAX:
	case NEURON_ALU_MIN:
	case NEURON_ALU_ABS_MAX:
	case NEURON_ALU_ABS_MIN:
		if (rules->engine == NEURON_ENGINE_VECTOR || rules->generation >= 4)
			return true;
		break;
	case NEURON_ALU_SUBTRACT:
	case NEURON_ALU_MULTIPLY:
	case NEURON_ALU_LOGICAL_AND:
	case NEURON_ALU_LOGICAL_OR:
	case NEURON_ALU_LOGICAL_XOR:
		if (rules->engine == NEURON_ENGINE_VECTOR)
			return true;
		break;
	}
	return nb_broken(rules, "the accumulators of the %s engine have no %s",
			 trn_isa_engine_name(rules->engine), alu_name(op));
}

static bool divides(const struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;

	return (inst->op0 == NEURON_ALU_DIVIDE && trn_isa_kind_is_alu(rules->isa->op[0])) ||
	       (inst->op1 == NEURON_ALU_DIVIDE && trn_isa_kind_is_alu(rules->isa->op[1]));
}

bool nb_rule_operators(struct nb_rules *rules)
{
	nb_rule_fn *check = special[rules->inst->opcode];

	if (divides(rules))
		return nb_broken(rules, "hardware does not divide; use reciprocal and multiply");
	return (!check || check(rules)) && check_accumulators(rules);
}
