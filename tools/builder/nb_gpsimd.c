// SPDX-License-Identifier: MIT
/* Instructions of GpSimd. */
#include <endian.h>
#include <string.h>

#include "nb_inst.h"

#define GPSIMD	NEURON_ENGINE_GPSIMD

#define INST(code, ...)	((struct neuron_inst){ .opcode = NEURON_OP_##code, __VA_ARGS__ })

/* The steps are where other instructions have src1. */
static struct neuron_inst *affine(struct nb_program *nb, struct neuron_inst inst,
				  const struct nb_affine *number)
{
	__le32 step[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		step[i] = htole32((uint32_t)number->step[i]);
	memcpy(&inst.src1, step, sizeof(step));
	inst.imm0 = htole32((uint32_t)number->offset);
	inst.imm1 = htole32((uint32_t)number->multiplier);
	return nb_put(nb, GPSIMD, &inst);
}

struct neuron_inst *nb_iota(struct nb_program *nb, struct neuron_ap dst,
			    const struct nb_affine *number)
{
	return affine(nb, INST(IOTA, .dst = dst), number);
}

struct neuron_inst *nb_affine_select(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, const struct nb_affine *number,
				     enum neuron_alu op, float other)
{
	return affine(nb, INST(AFFINE_SELECT, .op0 = op, .dst = dst, .src0 = src,
			       .addr = htole64(nb_float_bits(other))), number);
}

struct neuron_inst *nb_tensor_partition_reduce(struct nb_program *nb, enum neuron_alu op,
					       struct neuron_ap dst, struct neuron_ap src)
{
	return nb_put(nb, GPSIMD, &INST(PARTITION_REDUCE, .op0 = op, .dst = dst, .src0 = src));
}

struct neuron_inst *nb_local_gather(struct nb_program *nb, struct neuron_ap dst,
				    struct neuron_ap src, struct neuron_ap index,
				    unsigned int elements, unsigned int count)
{
	return nb_put(nb, GPSIMD, &INST(LOCAL_GATHER, .dst = dst, .src0 = src, .src1 = index,
					.imm0 = htole32(elements), .imm1 = htole32(count)));
}

struct neuron_inst *nb_nc_n_gather(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, struct neuron_ap index)
{
	return nb_put(nb, GPSIMD, &INST(GATHER, .dst = dst, .src0 = src, .src1 = index));
}

struct neuron_inst *nb_nonzero_with_count(struct nb_program *nb, struct neuron_ap dst,
					  struct neuron_ap src, int32_t offset, int32_t padding)
{
	return nb_put(nb, GPSIMD, &INST(NONZERO_WITH_COUNT, .dst = dst, .src0 = src,
					.imm0 = htole32((uint32_t)offset),
					.imm1 = htole32((uint32_t)padding)));
}

struct neuron_inst *nb_topk(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap index,
			    struct neuron_ap src, unsigned int n)
{
	return nb_put(nb, GPSIMD, &INST(TOPK, .dst = dst, .src0 = src, .src1 = index,
					.imm0 = htole32(n)));
}

struct neuron_inst *nb_sequence_bounds(struct nb_program *nb, struct neuron_ap dst,
				       struct neuron_ap src)
{
	return nb_put(nb, GPSIMD, &INST(SEQUENCE_BOUNDS, .dst = dst, .src0 = src));
}
