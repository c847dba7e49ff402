/* SPDX-License-Identifier: MIT */
/* Which instructions the chip carries out; private to the builder library. */
#ifndef NB_RULE_H
#define NB_RULE_H

#include "isa/trn_isa.h"
#include "nb_private.h"

#define NB_RULE_TEXT	NB_RULE_MAX

/**
 * struct nb_ap - a tile, worked out
 * @name: what messages call it
 * @ap: as it was given
 * @n: elements of a partition
 * @places: those of them that do not repeat others by a step of 0
 * @size: bytes of an element
 * @low, @high: first byte and the one behind the last, from the tile's offset
 */
struct nb_ap {
	const char *name;
	const struct neuron_ap *ap;
	uint64_t n;
	uint64_t places;
	unsigned int size;
	int64_t low;
	int64_t high;
	bool psum;
	unsigned int first;
	unsigned int partitions;
	unsigned int dtype;
};

/**
 * struct nb_rules - an instruction that is checked
 * @generation: 2 to 4
 * @fields: TRN_FIELD_* that it uses
 * @dst, @src0, @src1: the tiles among them
 * @text: the rule that is broken, when a check says false
 */
struct nb_rules {
	const struct neuron_inst *inst;
	const struct trn_isa *isa;
	enum neuron_engine engine;
	unsigned int generation;
	unsigned int fields;
	struct nb_ap dst;
	struct nb_ap src0;
	struct nb_ap src1;
	char text[NB_RULE_TEXT];
};

/* Always false, with the rule as text. */
bool nb_broken(struct nb_rules *rules, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* nb_rule_op.c: engine and generation; operators, and what each instruction asks for besides. */
bool nb_rule_engine(struct nb_rules *rules);
bool nb_rule_operators(struct nb_rules *rules);
typedef bool nb_rule_fn(struct nb_rules *rules);
/* The first of the four partitions in 32 that have scales. */
bool nb_rule_scale_row(struct nb_rules *rules, uint32_t row);

/* nb_rule_tensor.c */
nb_rule_fn nb_rule_load_stationary;
nb_rule_fn nb_rule_matmul;
nb_rule_fn nb_rule_load_sparse;
nb_rule_fn nb_rule_matmul_sparse;
nb_rule_fn nb_rule_load_mx;
nb_rule_fn nb_rule_matmul_mx;

#define NB_TYPE(name)	NEURON_BIT(NEURON_DTYPE_##name)
#define NB_WORDS	(NB_TYPE(INT32) | NB_TYPE(UINT32))
#define NB_INTS		(NB_TYPE(INT8) | NB_TYPE(UINT8) | NB_TYPE(INT16) | NB_TYPE(UINT16) | \
			 NB_WORDS)
#define NB_FLOATS	(NB_TYPE(FP32) | NB_TYPE(TF32) | NB_TYPE(BF16) | NB_TYPE(FP16) | \
			 NB_TYPE(FP8_E3) | NB_TYPE(FP8_E4) | NB_TYPE(FP8_E4FN) | NB_TYPE(FP8_E5))
#define NB_PACKED	(NB_TYPE(FP8_E5_X4) | NB_TYPE(FP8_E4FN_X4) | NB_TYPE(FP4_E2_X4))
#define NB_SCALES	(NB_TYPE(E8M0) | NB_TYPE(UINT8))
#define NB_NUMBERS	(NB_INTS | NB_FLOATS)
#define NB_ANY_TYPE	(NB_NUMBERS | NB_PACKED | NB_SCALES | NB_TYPE(INT64) | NB_TYPE(UINT64))

static inline bool nb_is_type(unsigned int dtype, uint32_t types)
{
	return dtype < NEURON_NR_DTYPES && (types & NEURON_BIT(dtype));
}

#endif /* NB_RULE_H */
