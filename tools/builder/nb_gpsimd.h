/* SPDX-License-Identifier: MIT */
/*
 * Instructions of GpSimd alone; it has others together with the vector engine (nb_vector.h).
 * All tiles lie in SBUF.
 */
#ifndef NB_GPSIMD_H
#define NB_GPSIMD_H

#include "nb_operand.h"

/*
 * A number of each element: offset + partition * multiplier + the sum of i[d] * step[d], where
 * i[d] counts dimension d of the destination, 0 the innermost.
 */
struct nb_affine {
	int32_t step[4];
	int32_t offset;
	int32_t multiplier;
};

struct neuron_inst *nb_iota(struct nb_program *nb, struct neuron_ap dst,
			    const struct nb_affine *number);
/* dst = number op 0 ? src : other; @op a comparison. */
struct neuron_inst *nb_affine_select(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, const struct nb_affine *number,
				     enum neuron_alu op, float other);
/* dst [1, F] = add, average, max, bitwise_and or bitwise_or over the partitions of src. */
struct neuron_inst *nb_tensor_partition_reduce(struct nb_program *nb, enum neuron_alu op,
					       struct neuron_ap dst, struct neuron_ap src);
/*
 * In each 16 partitions @elements neighbours for each of @count indices (0: all there are),
 * uint16, which run down the partitions.
 */
struct neuron_inst *nb_local_gather(struct nb_program *nb, struct neuron_ap dst,
				    struct neuron_ap src, struct neuron_ap index,
				    unsigned int elements, unsigned int count);
/* dst[i] = src[index[i]], in each partition; index uint32. */
struct neuron_inst *nb_nc_n_gather(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct neuron_ap index);
/* In partitions 0, 16, ...: places of what is not 0, plus @offset; @padding; their number. */
struct neuron_inst *nb_nonzero_with_count(struct nb_program *nb, struct neuron_ap dst,
					  struct neuron_ap src, int32_t offset, int32_t padding);
/* In each 16 partitions the largest of @n numbers, ascending, and their places. */
struct neuron_inst *nb_topk(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap index,
			    struct neuron_ap src, unsigned int n);
/* dst [1, 2 n] = where the run of equal elements begins and ends in which each is. */
struct neuron_inst *nb_sequence_bounds(struct nb_program *nb, struct neuron_ap dst,
				       struct neuron_ap src);

#endif /* NB_GPSIMD_H */
