// SPDX-License-Identifier: MIT
/* Instructions of the vector and the scalar engine, and of the generators of random numbers. */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "nb_inst.h"

#define VECTOR	NEURON_ENGINE_VECTOR
#define SCALAR	NEURON_ENGINE_SCALAR

#define INST(code, ...)	((struct neuron_inst){ .opcode = NEURON_OP_##code, __VA_ARGS__ })

/* With options and operands of imm0 and imm1, or col0 and col1; NULL: no such operand. */
static struct neuron_inst *put(struct nb_program *nb, enum neuron_engine e,
			       struct neuron_inst inst, const struct nb_operand *s0,
			       const struct nb_operand *s1, const struct nb_with *with)
{
	nb_apply(&inst, with);
	if ((s0 && !nb_set_operand(nb, &inst, 0, s0)) || (s1 && !nb_set_operand(nb, &inst, 1, s1)))
		return &nb->scratch;
	return nb_put(nb, e, &inst);
}

struct neuron_inst *nb_tensor_tensor(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap a, struct neuron_ap b)
{
	return nb_put(nb, e, &INST(TENSOR_TENSOR, .op0 = op, .dst = dst, .src0 = a, .src1 = b));
}

/* A column of the first operator is the tile src1. */
struct neuron_inst *nb_tensor_scalar_any(struct nb_program *nb, enum neuron_engine e,
					 struct neuron_ap dst, struct neuron_ap src,
					 enum neuron_alu op0, struct nb_operand s0,
					 enum neuron_alu op1, struct nb_operand s1,
					 const struct nb_with *with)
{
	struct neuron_inst inst = INST(TENSOR_SCALAR, .op0 = op0, .op1 = op1, .dst = dst,
				       .src0 = src);

	nb_set_src1(&inst, &s0, &inst.imm0);
	return put(nb, e, inst, NULL, &s1, with);
}

/* Operators without a number of their own take none. */
static struct nb_operand number_of(enum neuron_alu op, float value)
{
	if (op == NEURON_ALU_BYPASS || trn_isa_alu_is_unary(op))
		return nb_none();
	if (trn_isa_alu_is_bitwise(op))
		return nb_integer((uint32_t)(int64_t)value);
	return nb_number(value);
}

struct neuron_inst *nb_tensor_scalar(struct nb_program *nb, enum neuron_engine e,
				     struct neuron_ap dst, struct neuron_ap src,
				     enum neuron_alu op0, float s0, enum neuron_alu op1, float s1)
{
	return nb_tensor_scalar_any(nb, e, dst, src, op0, number_of(op0, s0), op1,
				    number_of(op1, s1), NULL);
}

struct neuron_inst *nb_tensor_column(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap src, struct neuron_ap column)
{
	return nb_tensor_scalar_any(nb, e, dst, src, op, nb_column(column), NEURON_ALU_BYPASS,
				    nb_none(), NULL);
}

struct neuron_inst *nb_tensor_scalar_reduce(struct nb_program *nb, struct neuron_ap dst,
					    struct neuron_ap src, enum neuron_alu op,
					    struct nb_operand s, enum neuron_alu reduce_op,
					    struct neuron_ap dst_acc, bool negate)
{
	const struct nb_with reduce = {
		.reduce_op = reduce_op,
		.reduce = NEURON_REDUCE_RESET_REDUCE,
	};
	const struct nb_with read = { .negate = negate };

	nb_tensor_scalar_any(nb, VECTOR, dst, src, op, s, NEURON_ALU_BYPASS, nb_none(), &reduce);
	return nb_acc_read(nb, VECTOR, dst_acc, &read);
}

struct neuron_inst *nb_tensor_scalar_cumulative(struct nb_program *nb, struct neuron_ap dst,
						struct neuron_ap src, enum neuron_alu op,
						struct nb_operand s, const struct nb_with *with)
{
	return put(nb, VECTOR, INST(TENSOR_CUMULATIVE, .op0 = op, .dst = dst, .src0 = src), &s,
		   NULL, with);
}

struct neuron_inst *nb_scalar_tensor_tensor(struct nb_program *nb, struct neuron_ap dst,
					    struct neuron_ap src, enum neuron_alu op0,
					    struct nb_operand s, enum neuron_alu op1,
					    struct neuron_ap b, const struct nb_with *with)
{
	return put(nb, VECTOR, INST(SCALAR_TENSOR_TENSOR, .op0 = op0, .op1 = op1, .dst = dst,
				    .src0 = src, .src1 = b), &s, NULL, with);
}

struct neuron_inst *nb_tensor_tensor_scan(struct nb_program *nb, struct neuron_ap dst,
					  struct neuron_ap a, struct neuron_ap b,
					  struct nb_operand initial, enum neuron_alu op0,
					  enum neuron_alu op1, const struct nb_with *with)
{
	return put(nb, VECTOR, INST(TENSOR_SCAN, .op0 = op0, .op1 = op1, .dst = dst, .src0 = a,
				    .src1 = b), &initial, NULL, with);
}

struct neuron_inst *nb_tensor_reduce(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap src, unsigned int dims,
				     const struct nb_with *with)
{
	return put(nb, e, INST(TENSOR_REDUCE, .op0 = op, .dst = dst, .src0 = src,
			       .imm0 = htole32(dims)), NULL, NULL, with);
}

struct neuron_inst *nb_reduce(struct nb_program *nb, enum neuron_engine e, enum neuron_alu op,
			      struct neuron_ap dst, struct neuron_ap src)
{
	return nb_tensor_reduce(nb, e, op, dst, src, 1, NULL);
}

struct neuron_inst *nb_tensor_copy(struct nb_program *nb, enum neuron_engine e,
				   struct neuron_ap dst, struct neuron_ap src)
{
	return nb_put(nb, e, &INST(COPY, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_copy(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst,
			    struct neuron_ap src)
{
	return nb_tensor_copy(nb, e, dst, src);
}

struct neuron_inst *nb_tensor_copy_predicated(struct nb_program *nb, struct neuron_ap dst,
					      struct neuron_ap src, struct neuron_ap predicate,
					      const struct nb_with *with)
{
	return put(nb, VECTOR, INST(COPY_PREDICATED, .dst = dst, .src0 = src, .src1 = predicate),
		   NULL, NULL, with);
}

/* As the type of the tile has them: fp32 bits, or the integer. */
static __le32 fill_bits(const struct neuron_ap *dst, double value)
{
	if (trn_isa_dtype_is_float(dst->dtype))
		return htole32(nb_float_bits((float)value));
	return htole32((uint32_t)(int64_t)value);
}

struct neuron_inst *nb_fill_predicated(struct nb_program *nb, struct neuron_ap dst, double value,
				       struct neuron_ap predicate, const struct nb_with *with)
{
	return put(nb, VECTOR, INST(COPY_PREDICATED, .flags = NEURON_INST_IMM, .dst = dst,
				    .src1 = predicate, .imm0 = fill_bits(&dst, value)), NULL,
		   NULL, with);
}

struct neuron_inst *nb_memset(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst,
			      double value)
{
	return nb_put(nb, e, &INST(MEMSET, .dst = dst, .imm0 = fill_bits(&dst, value)));
}

struct neuron_inst *nb_reciprocal(struct nb_program *nb, struct neuron_ap dst,
				  struct neuron_ap src)
{
	return nb_put(nb, VECTOR, &INST(RECIPROCAL, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_exponential(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct nb_operand max,
				   const struct nb_with *with)
{
	return put(nb, VECTOR, INST(EXPONENTIAL, .dst = dst, .src0 = src), &max, NULL, with);
}

struct neuron_inst *nb_bn_stats(struct nb_program *nb, struct neuron_ap dst,
				struct neuron_ap src)
{
	return nb_put(nb, VECTOR, &INST(BN_STATS, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_bn_aggr(struct nb_program *nb, struct neuron_ap dst,
			       struct neuron_ap src)
{
	return nb_put(nb, VECTOR, &INST(BN_AGGR, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_range_select(struct nb_program *nb, struct neuron_ap dst,
				    struct neuron_ap src, enum neuron_alu op0,
				    struct nb_operand bound0, enum neuron_alu op1,
				    struct nb_operand bound1, int32_t start,
				    const struct nb_with *with)
{
	return put(nb, VECTOR, INST(RANGE_SELECT, .op0 = op0, .op1 = op1, .dst = dst, .src0 = src,
				    .addr = htole64((uint32_t)start)), &bound0, &bound1, with);
}

struct neuron_inst *nb_select_reduce(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, struct nb_operand other,
				     struct neuron_ap predicate, const struct nb_with *with)
{
	return put(nb, VECTOR, INST(SELECT_REDUCE, .dst = dst, .src0 = src, .src1 = predicate),
		   &other, NULL, with);
}

struct neuron_inst *nb_max8(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src)
{
	return nb_put(nb, VECTOR, &INST(MAX8, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_nc_find_index8(struct nb_program *nb, struct neuron_ap dst,
				      struct neuron_ap src, struct neuron_ap values)
{
	return nb_put(nb, VECTOR, &INST(FIND_INDEX8, .dst = dst, .src0 = src, .src1 = values));
}

static bool is_index8(const struct neuron_ap *ap, const struct neuron_ap *dst)
{
	return ap->dtype == NEURON_DTYPE_UINT32 && !ap->offset_reg && !ap->index &&
	       ap->partitions == dst->partitions && ap->num[0] == htole16(8) &&
	       ap->step[0] == htole16(1) && ap->num[1] == htole16(1) &&
	       ap->num[2] == htole16(1) && ap->num[3] == htole16(1);
}

struct neuron_inst *nb_nc_match_replace8(struct nb_program *nb, struct neuron_ap dst,
					 struct neuron_ap src, struct neuron_ap values,
					 float replacement, const struct neuron_ap *index)
{
	struct neuron_inst inst = INST(MATCH_REPLACE8, .dst = dst, .src0 = src, .src1 = values,
				       .imm0 = htole32(nb_float_bits(replacement)));

	if (index && !is_index8(index, &dst)) {
		nb_refuse(nb, inst.opcode,
			  "the places are 8 uint32 side by side in each of the destination's partitions");
		return &nb->scratch;
	}
	if (index) {
		nb_set_flags(&inst, NEURON_INST_COL1);
		inst.col1 = index->addr;
	}
	return nb_put(nb, VECTOR, &inst);
}

struct neuron_inst *nb_nc_stream_shuffle(struct nb_program *nb, struct neuron_ap dst,
					 struct neuron_ap src,
					 const uint8_t mask[NEURON_INST_MASK])
{
	struct neuron_inst inst = INST(STREAM_SHUFFLE, .dst = dst, .src0 = src);

	memcpy((uint8_t *)&inst + offsetof(struct neuron_inst, src1), mask, NEURON_INST_MASK);
	return nb_put(nb, VECTOR, &inst);
}

struct neuron_inst *nb_quantize_mx(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct neuron_ap scales,
				   unsigned int row)
{
	return nb_put(nb, VECTOR, &INST(QUANTIZE_MX, .dst = dst, .src0 = src, .src1 = scales,
					.imm0 = htole32(row)));
}

struct neuron_inst *nb_acc_read(struct nb_program *nb, enum neuron_engine e,
				struct neuron_ap dst, const struct nb_with *with)
{
	return put(nb, e, INST(ACC_READ, .dst = dst), NULL, NULL, with);
}

struct neuron_inst *nb_acc_load(struct nb_program *nb, enum neuron_engine e,
				struct neuron_ap src)
{
	return nb_put(nb, e, &INST(ACC_LOAD, .src0 = src));
}

/* --- scalar engine --- */

struct neuron_inst *nb_activation(struct nb_program *nb, enum neuron_act func,
				  struct neuron_ap dst, struct neuron_ap src,
				  struct nb_operand scale, struct nb_operand bias, float param,
				  const struct nb_with *with)
{
	struct neuron_inst inst = INST(ACTIVATE, .op0 = func, .dst = dst, .src0 = src);

	nb_set_src1(&inst, &bias, &inst.imm1);
	if (trn_isa_act_has_param(func))
		inst.addr = htole64(nb_float_bits(param));
	return put(nb, SCALAR, inst, &scale, NULL, with);
}

struct neuron_inst *nb_activate(struct nb_program *nb, enum neuron_act func,
				struct neuron_ap dst, struct neuron_ap src, float scale,
				struct neuron_ap bias)
{
	return nb_activation(nb, func, dst, src, nb_number(scale), nb_column(bias), 0.0f, NULL);
}

struct neuron_inst *nb_activation_reduce(struct nb_program *nb, enum neuron_act func,
					 struct neuron_ap dst, struct neuron_ap src,
					 struct nb_operand scale, struct nb_operand bias,
					 enum neuron_alu reduce_op, struct neuron_ap dst_acc)
{
	const struct nb_with with = {
		.reduce_op = reduce_op,
		.reduce = NEURON_REDUCE_RESET_REDUCE,
	};

	nb_activation(nb, func, dst, src, scale, bias, 0.0f, &with);
	return nb_acc_read(nb, SCALAR, dst_acc, NULL);
}

struct neuron_inst *nb_activate2(struct nb_program *nb, enum neuron_act func,
				 struct neuron_ap dst, struct neuron_ap src,
				 enum neuron_alu op0, struct nb_operand s0,
				 enum neuron_alu op1, struct nb_operand s1,
				 struct nb_operand param, const struct nb_with *with)
{
	struct neuron_inst inst = INST(ACTIVATE2, .op0 = op0, .op1 = op1, .dst = dst,
				       .src0 = src, .reg = { func });

	nb_set_src1(&inst, &param, NULL);
	if (param.kind == NB_NUMBER)
		inst.addr = htole64(param.bits);
	return put(nb, SCALAR, inst, &s0, &s1, with);
}

/* --- random numbers --- */

struct neuron_inst *nb_rng(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst)
{
	return nb_put(nb, e, &INST(RNG, .dst = dst));
}

struct neuron_inst *nb_rand2(struct nb_program *nb, struct neuron_ap dst, struct nb_operand min,
			     struct nb_operand max)
{
	return put(nb, VECTOR, INST(RAND2, .dst = dst), &min, &max, NULL);
}

struct neuron_inst *nb_dropout(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src,
			       struct nb_operand probability)
{
	return put(nb, VECTOR, INST(DROPOUT, .dst = dst, .src0 = src), &probability, NULL, NULL);
}

struct neuron_inst *nb_set_rng_seed(struct nb_program *nb, struct neuron_ap src)
{
	return nb_put(nb, VECTOR, &INST(SET_RNG_SEED, .src0 = src));
}

struct neuron_inst *nb_rand_set_state(struct nb_program *nb, enum neuron_engine e,
				      struct neuron_ap src)
{
	return nb_put(nb, e, &INST(RAND_SET_STATE, .src0 = src));
}

struct neuron_inst *nb_rand_get_state(struct nb_program *nb, enum neuron_engine e,
				      struct neuron_ap dst)
{
	return nb_put(nb, e, &INST(RAND_GET_STATE, .dst = dst));
}
