/* SPDX-License-Identifier: MIT */
/* Instructions of the tensor engine. */
#ifndef NB_TENSOR_H
#define NB_TENSOR_H

#include "nb_operand.h"

/* The stationary operand [K, M]; a product dst [M, N] (PSUM) = or += stationary^T src [K, N]. */
struct neuron_inst *nb_load_stationary(struct nb_program *nb, struct neuron_ap src);
struct neuron_inst *nb_matmul(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src,
			      bool accumulate);
/* The same with options: transpose, one_zero, double_row, part; accumulate, partly. */
struct neuron_inst *nb_load_stationary_with(struct nb_program *nb, struct neuron_ap src,
					    const struct nb_with *with);
struct neuron_inst *nb_matmul_with(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, const struct nb_with *with);

/**
 * nb_nc_matmul() - both in one: two instructions
 * @stationary_one_zero: the stationary operand holds only ones and zeros; of the moving one
 *	@with says it
 *
 * Return: the second instruction. nb_inst() of nb_here() - 2 is the first, which is where
 * a wait for the stationary operand belongs.
 */
struct neuron_inst *nb_nc_matmul(struct nb_program *nb, struct neuron_ap dst,
				 struct neuron_ap stationary, struct neuron_ap moving,
				 bool stationary_one_zero, const struct nb_with *with);

/**
 * struct nb_mx - an MX operand
 * @data: packed elements [K, M]
 * @scales: e8m0 or uint8, as many
 * @row: of each 32 partitions the scales lie in the four from this one on: 0, 4, 8 or 12
 */
struct nb_mx {
	struct neuron_ap data;
	struct neuron_ap scales;
	unsigned int row;
};

struct neuron_inst *nb_load_mx(struct nb_program *nb, const struct nb_mx *src,
			       const struct nb_with *with);
struct neuron_inst *nb_matmul_mx(struct nb_program *nb, struct neuron_ap dst,
				 const struct nb_mx *src, const struct nb_with *with);
/* As nb_nc_matmul(). */
struct neuron_inst *nb_nc_matmul_mx(struct nb_program *nb, struct neuron_ap dst,
				    const struct nb_mx *stationary, const struct nb_mx *moving,
				    const struct nb_with *with);

/* Of each group of terms four, with their tags; @ratio 2, 3, 4 for 4:8, 4:12, 4:16. */
struct neuron_inst *nb_load_sparse(struct nb_program *nb, struct neuron_ap src,
				   struct neuron_ap tags, const struct nb_with *with);
struct neuron_inst *nb_matmul_sparse(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, unsigned int ratio,
				     const struct nb_with *with);

/*
 * dst [F, P] = data [P, F]. The vector engine transposes up to 32 x 32; the tensor engine up
 * to 128 x 128 from SBUF to PSUM in two instructions, with @identity [P, P], a float tile of
 * ones and zeros, which the vector engine does not look at.
 */
struct neuron_inst *nb_nc_transpose(struct nb_program *nb, enum neuron_engine e,
				    struct neuron_ap dst, struct neuron_ap data,
				    struct neuron_ap identity);

#endif /* NB_TENSOR_H */
