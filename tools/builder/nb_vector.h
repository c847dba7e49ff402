/* SPDX-License-Identifier: MIT */
/*
 * Instructions of the vector and the scalar engine, of which GpSimd has some as well; and of
 * the generators of random numbers. @with: options that nb_operand.h describes, or NULL.
 */
#ifndef NB_VECTOR_H
#define NB_VECTOR_H

#include "nb_operand.h"

/* dst = a op b. */
struct neuron_inst *nb_tensor_tensor(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap a, struct neuron_ap b);
/* dst = (src op0 s0) op1 s1; op1 may be bypass. */
struct neuron_inst *nb_tensor_scalar(struct nb_program *nb, enum neuron_engine e,
				     struct neuron_ap dst, struct neuron_ap src,
				     enum neuron_alu op0, float s0, enum neuron_alu op1, float s1);
/* The same with numbers, integers, columns or none; reverse0, reverse1. */
struct neuron_inst *nb_tensor_scalar_any(struct nb_program *nb, enum neuron_engine e,
					 struct neuron_ap dst, struct neuron_ap src,
					 enum neuron_alu op0, struct nb_operand s0,
					 enum neuron_alu op1, struct nb_operand s1,
					 const struct nb_with *with);
/* dst = src op column, a [P,1] fp32 tile. */
struct neuron_inst *nb_tensor_column(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap src, struct neuron_ap column);
/*
 * dst = src op s, and the accumulators combine it by @reduce_op from its neutral element; then
 * dst_acc [P,1] = the accumulators, times -1 with @negate. Two instructions; the second is
 * returned.
 */
struct neuron_inst *nb_tensor_scalar_reduce(struct nb_program *nb, struct neuron_ap dst,
					    struct neuron_ap src, enum neuron_alu op,
					    struct nb_operand s, enum neuron_alu reduce_op,
					    struct neuron_ap dst_acc, bool negate);
/* dst[i] = acc = (src[i] op s) reduce_op acc; @with says reduce_op and reduce. */
struct neuron_inst *nb_tensor_scalar_cumulative(struct nb_program *nb, struct neuron_ap dst,
						struct neuron_ap src, enum neuron_alu op,
						struct nb_operand s, const struct nb_with *with);
/* dst = (src op0 s) op1 b. */
struct neuron_inst *nb_scalar_tensor_tensor(struct nb_program *nb, struct neuron_ap dst,
					    struct neuron_ap src, enum neuron_alu op0,
					    struct nb_operand s, enum neuron_alu op1,
					    struct neuron_ap b, const struct nb_with *with);
/* dst[i] = r = (a[i] op0 r) op1 b[i], from @initial on. */
struct neuron_inst *nb_tensor_tensor_scan(struct nb_program *nb, struct neuron_ap dst,
					  struct neuron_ap a, struct neuron_ap b,
					  struct nb_operand initial, enum neuron_alu op0,
					  enum neuron_alu op1, const struct nb_with *with);

/* Reduction of the @dims innermost dimensions; negate. */
struct neuron_inst *nb_tensor_reduce(struct nb_program *nb, enum neuron_engine e,
				     enum neuron_alu op, struct neuron_ap dst,
				     struct neuron_ap src, unsigned int dims,
				     const struct nb_with *with);
/* The same of the innermost one. */
struct neuron_inst *nb_reduce(struct nb_program *nb, enum neuron_engine e, enum neuron_alu op,
			      struct neuron_ap dst, struct neuron_ap src);

struct neuron_inst *nb_tensor_copy(struct nb_program *nb, enum neuron_engine e,
				   struct neuron_ap dst, struct neuron_ap src);
struct neuron_inst *nb_copy(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst,
			    struct neuron_ap src);
/* dst = src, or a number, where the predicate is true; with reverse0 where it is false. */
struct neuron_inst *nb_tensor_copy_predicated(struct nb_program *nb, struct neuron_ap dst,
					      struct neuron_ap src, struct neuron_ap predicate,
					      const struct nb_with *with);
struct neuron_inst *nb_fill_predicated(struct nb_program *nb, struct neuron_ap dst, double value,
				       struct neuron_ap predicate, const struct nb_with *with);
/* Every element; a tile of integers gets the integer. */
struct neuron_inst *nb_memset(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst,
			      double value);
struct neuron_inst *nb_reciprocal(struct nb_program *nb, struct neuron_ap dst,
				  struct neuron_ap src);
/* dst = exp(src - max); reduce_op may be add. */
struct neuron_inst *nb_exponential(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct nb_operand max,
				   const struct nb_with *with);

/* dst [P,6] = count, mean, variance * count of the even, then of the odd elements. */
struct neuron_inst *nb_bn_stats(struct nb_program *nb, struct neuron_ap dst,
				struct neuron_ap src);
/* dst [P,2] = mean and variance of such triples. */
struct neuron_inst *nb_bn_aggr(struct nb_program *nb, struct neuron_ap dst,
			       struct neuron_ap src);
/* dst = index op0 bound0 and index op1 bound1 ? src : -FLT_MAX; reduce_op may be max. */
struct neuron_inst *nb_range_select(struct nb_program *nb, struct neuron_ap dst,
				    struct neuron_ap src, enum neuron_alu op0,
				    struct nb_operand bound0, enum neuron_alu op1,
				    struct nb_operand bound1, int32_t start,
				    const struct nb_with *with);
/* dst = predicate ? src : other; reverse0; reduce_op may be max. */
struct neuron_inst *nb_select_reduce(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, struct nb_operand other,
				     struct neuron_ap predicate, const struct nb_with *with);
struct neuron_inst *nb_max8(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src);
struct neuron_inst *nb_nc_find_index8(struct nb_program *nb, struct neuron_ap dst,
				      struct neuron_ap src, struct neuron_ap values);
/* @index: 8 uint32 of each partition that get the places, or NULL. */
struct neuron_inst *nb_nc_match_replace8(struct nb_program *nb, struct neuron_ap dst,
					 struct neuron_ap src, struct neuron_ap values,
					 float replacement, const struct neuron_ap *index);
/* Partition i of dst = partition mask[i % 32] of the same 32 of src; 255: left as it is. */
struct neuron_inst *nb_nc_stream_shuffle(struct nb_program *nb, struct neuron_ap dst,
					 struct neuron_ap src,
					 const uint8_t mask[NEURON_INST_MASK]);
/* @scales, from row @row of 32 on, and dst, packed, of src. */
struct neuron_inst *nb_quantize_mx(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct neuron_ap scales,
				   unsigned int row);

/* The accumulators of the vector or the scalar engine, one of each partition; negate. */
struct neuron_inst *nb_acc_read(struct nb_program *nb, enum neuron_engine e,
				struct neuron_ap dst, const struct nb_with *with);
struct neuron_inst *nb_acc_load(struct nb_program *nb, enum neuron_engine e,
				struct neuron_ap src);

/* Scalar engine: dst = func(src * scale + bias column [P,1] fp32). */
struct neuron_inst *nb_activate(struct nb_program *nb, enum neuron_act func,
				struct neuron_ap dst, struct neuron_ap src, float scale,
				struct neuron_ap bias);
/* The same with numbers or columns, @param for prelu, and reduce. */
struct neuron_inst *nb_activation(struct nb_program *nb, enum neuron_act func,
				  struct neuron_ap dst, struct neuron_ap src,
				  struct nb_operand scale, struct nb_operand bias, float param,
				  const struct nb_with *with);
/* The same, and then dst_acc [P,1] = the sums of its results: two instructions. */
struct neuron_inst *nb_activation_reduce(struct nb_program *nb, enum neuron_act func,
					 struct neuron_ap dst, struct neuron_ap src,
					 struct nb_operand scale, struct nb_operand bias,
					 enum neuron_alu reduce_op, struct neuron_ap dst_acc);
/* dst = func((src op0 s0) op1 s1), @param a number or a column. */
struct neuron_inst *nb_activate2(struct nb_program *nb, enum neuron_act func,
				 struct neuron_ap dst, struct neuron_ap src,
				 enum neuron_alu op0, struct nb_operand s0,
				 enum neuron_alu op1, struct nb_operand s1,
				 struct nb_operand param, const struct nb_with *with);

/* Random numbers. */
struct neuron_inst *nb_rng(struct nb_program *nb, enum neuron_engine e, struct neuron_ap dst);
struct neuron_inst *nb_rand2(struct nb_program *nb, struct neuron_ap dst, struct nb_operand min,
			     struct nb_operand max);
struct neuron_inst *nb_dropout(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src,
			       struct nb_operand probability);
struct neuron_inst *nb_set_rng_seed(struct nb_program *nb, struct neuron_ap src);
struct neuron_inst *nb_rand_set_state(struct nb_program *nb, enum neuron_engine e,
				      struct neuron_ap src);
struct neuron_inst *nb_rand_get_state(struct nb_program *nb, enum neuron_engine e,
				      struct neuron_ap dst);

#endif /* NB_VECTOR_H */
