// SPDX-License-Identifier: MIT
/* Instructions of the tensor engine. */
#include <endian.h>

#include "num/trn_num.h"
#include "nb_inst.h"

static struct neuron_inst *tensor(struct nb_program *nb, struct neuron_inst inst,
				  const struct nb_with *with)
{
	nb_apply(&inst, with);
	return nb_put(nb, NEURON_ENGINE_TENSOR, &inst);
}

struct neuron_inst *nb_load_stationary_with(struct nb_program *nb, struct neuron_ap src,
					    const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_LOAD_STATIONARY, .src0 = src },
		      with);
}

struct neuron_inst *nb_load_stationary(struct nb_program *nb, struct neuron_ap src)
{
	return nb_load_stationary_with(nb, src, NULL);
}

struct neuron_inst *nb_matmul_with(struct nb_program *nb, struct neuron_ap dst,
				   struct neuron_ap src, const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_MATMUL, .dst = dst,
						.src0 = src }, with);
}

struct neuron_inst *nb_matmul(struct nb_program *nb, struct neuron_ap dst, struct neuron_ap src,
			      bool accumulate)
{
	const struct nb_with with = { .accumulate = accumulate };

	return nb_matmul_with(nb, dst, src, &with);
}

/* Of the options of a product, those that its stationary operand has too. */
static struct nb_with of_load(const struct nb_with *with, bool one_zero)
{
	struct nb_with load = { .one_zero = one_zero };

	if (!with)
		return load;
	load.transpose = with->transpose;
	load.double_row = with->double_row;
	load.part = with->part;
	load.array = with->array;
	return load;
}

static bool is_wide(const struct neuron_ap *ap)
{
	return ap->dtype == NEURON_DTYPE_FP32 || ap->dtype == NEURON_DTYPE_TF32;
}

/* What goes for the types of both operands together. */
static const char *pair_rule(const struct neuron_ap *a, const struct neuron_ap *b, bool bits)
{
	if (bits && !trn_dtype_is_float(a->dtype))
		return NULL;
	if (is_wide(a) != is_wide(b))
		return "fp32 and tf32 go with fp32 and tf32 only";
	if ((a->dtype == NEURON_DTYPE_FP8_E4 && b->dtype == NEURON_DTYPE_FP8_E4FN) ||
	    (a->dtype == NEURON_DTYPE_FP8_E4FN && b->dtype == NEURON_DTYPE_FP8_E4))
		return "fp8_e4 does not go with fp8_e4fn";
	return NULL;
}

static uint32_t elements(const struct neuron_ap *ap)
{
	return (uint32_t)le16toh(ap->num[0]) * le16toh(ap->num[1]) * le16toh(ap->num[2]) *
	       le16toh(ap->num[3]);
}

/* The result of a transposition has the type of what is transposed, but 16 bits of 8. */
static bool takes_bits(const struct neuron_ap *dst, const struct neuron_ap *src)
{
	if (trn_dtype_size(src->dtype) == 1)
		return dst->dtype == NEURON_DTYPE_UINT16;
	return dst->dtype == src->dtype;
}

/* Rules for both instructions together, which neither knows alone. */
static const char *product_rule(const struct nb_program *nb, const struct neuron_ap *dst,
				const struct neuron_ap *stationary,
				const struct neuron_ap *moving, const struct nb_with *with)
{
	bool bits = with && with->transpose && nb->generation != 2;
	uint32_t columns = elements(stationary) / (with && with->double_row ? 2 : 1);

	if (stationary->partitions != moving->partitions)
		return "stationary and moving operand have different numbers of partitions";
	if (dst->partitions != columns)
		return "the result has as many partitions as the stationary operand has columns";
	if (bits && !takes_bits(dst, stationary))
		return "a transposition keeps the type, and makes uint16 of 8 bits";
	return pair_rule(stationary, moving, bits);
}

struct neuron_inst *nb_nc_matmul(struct nb_program *nb, struct neuron_ap dst,
				 struct neuron_ap stationary, struct neuron_ap moving,
				 bool stationary_one_zero, const struct nb_with *with)
{
	const struct nb_with load = of_load(with, stationary_one_zero);
	const char *rule = product_rule(nb, &dst, &stationary, &moving, with);

	nb_load_stationary_with(nb, stationary, &load);
	if (rule && !nb_error(nb))
		nb_refuse(nb, NEURON_OP_MATMUL, rule);
	return nb_matmul_with(nb, dst, moving, with);
}

struct neuron_inst *nb_load_mx(struct nb_program *nb, const struct nb_mx *src,
			       const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_LOAD_MX, .src0 = src->data,
						.src1 = src->scales,
						.imm1 = htole32(src->row) }, with);
}

struct neuron_inst *nb_matmul_mx(struct nb_program *nb, struct neuron_ap dst,
				 const struct nb_mx *src, const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_MATMUL_MX, .dst = dst,
						.src0 = src->data, .src1 = src->scales,
						.imm1 = htole32(src->row) }, with);
}

struct neuron_inst *nb_nc_matmul_mx(struct nb_program *nb, struct neuron_ap dst,
				    const struct nb_mx *stationary, const struct nb_mx *moving,
				    const struct nb_with *with)
{
	const struct nb_with load = of_load(with, false);

	nb_load_mx(nb, stationary, &load);
	if (!nb_error(nb) && (stationary->data.partitions != moving->data.partitions ||
			      dst.partitions != elements(&stationary->data)))
		nb_refuse(nb, NEURON_OP_MATMUL_MX,
			  "both operands have K partitions, the result as many as the stationary one has columns");
	return nb_matmul_mx(nb, dst, moving, with);
}

struct neuron_inst *nb_load_sparse(struct nb_program *nb, struct neuron_ap src,
				   struct neuron_ap tags, const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_LOAD_SPARSE, .src0 = src,
						.src1 = tags }, with);
}

struct neuron_inst *nb_matmul_sparse(struct nb_program *nb, struct neuron_ap dst,
				     struct neuron_ap src, unsigned int ratio,
				     const struct nb_with *with)
{
	return tensor(nb, (struct neuron_inst){ .opcode = NEURON_OP_MATMUL_SPARSE, .dst = dst,
						.src0 = src, .imm1 = htole32(ratio) }, with);
}

struct neuron_inst *nb_nc_transpose(struct nb_program *nb, enum neuron_engine e,
				    struct neuron_ap dst, struct neuron_ap data,
				    struct neuron_ap identity)
{
	const struct nb_with bits = { .transpose = true };

	if (e == NEURON_ENGINE_TENSOR)
		return nb_nc_matmul(nb, dst, data, identity, false, &bits);
	return nb_put(nb, e, &(struct neuron_inst){ .opcode = NEURON_OP_TRANSPOSE, .dst = dst,
						    .src0 = data });
}
