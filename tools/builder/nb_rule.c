// SPDX-License-Identifier: MIT
/*
 * Would the chip carry an instruction out? What each one takes as its tiles is one table; what
 * goes for tiles of all instructions comes before it, the rest is in nb_rule_op.c.
 * selftests/native/test_builder_rules.c asks the chip itself.
 */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "num/trn_num.h"
#include "nb_inst.h"
#include "nb_rule.h"
#include "neuron/generation.h"

#define NEWEST		4	/* generation */
#define INDEX_BYTES	2
#define INDEX_LANES	16
#define INDEX_ROWS	32	/* of the tensor engine */
#define MAX_ELEMENTS	65536	/* of a partition */

/* What the tiles of an instruction have in common. */
#define P0	NEURON_BIT(0)	/* src0 has the partitions of dst, */
#define N0	NEURON_BIT(1)	/* the elements of dst, */
#define T0	NEURON_BIT(2)	/* the type of dst */
#define P1	NEURON_BIT(3)	/* the same of src1 */
#define N1	NEURON_BIT(4)
#define APART	NEURON_BIT(5)	/* not both sources lie in PSUM */
#define SBUF	NEURON_BIT(6)	/* all tiles lie in SBUF */

/**
 * struct tiles - what an instruction takes; nb_rule_operators() may ask for more
 * @dst, @src0, @src1: types, a bit each; 0: those of numbers
 * @same: P0 to SBUF
 * @dst_n, @src0_n, @src1_n: elements that the tile must have; 0: any number
 */
struct tiles {
	uint32_t dst;
	uint32_t src0;
	uint32_t src1;
	uint32_t same;
	unsigned int dst_n;
	unsigned int src0_n;
	unsigned int src1_n;
};

#define ROW(code, ...)							\
	[NEURON_OP_##code] = { __VA_ARGS__ }

static const struct tiles table[256] = {
	ROW(LOAD_STATIONARY, .src0 = NB_ANY_TYPE, .same = SBUF),
	ROW(MATMUL, .dst = NB_ANY_TYPE, .src0 = NB_FLOATS),
	ROW(LOAD_SPARSE, .src0 = NB_FLOATS & ~NB_TYPE(FP32), .src1 = NB_TYPE(UINT16),
	    .same = SBUF),
	ROW(MATMUL_SPARSE, .src0 = NB_FLOATS & ~NB_TYPE(FP32)),
	ROW(LOAD_MX, .src0 = NB_PACKED, .src1 = NB_SCALES, .same = SBUF),
	ROW(MATMUL_MX, .src0 = NB_PACKED, .src1 = NB_SCALES),
	ROW(TENSOR_TENSOR, .same = P0 | N0 | P1 | N1 | APART),
	ROW(TENSOR_SCALAR, .same = P0 | N0 | P1, .src1_n = 1),
	ROW(TENSOR_REDUCE, .same = P0),
	ROW(COPY, .dst = NB_ANY_TYPE, .src0 = NB_ANY_TYPE, .same = P0 | N0),
	ROW(MEMSET, .dst = NB_ANY_TYPE),
	ROW(ACC_READ, .dst_n = 1),
	ROW(ACC_LOAD, .src0_n = 1),
	ROW(SCALAR_TENSOR_TENSOR, .same = P0 | N0 | P1 | N1 | APART),
	ROW(TENSOR_SCAN, .same = P0 | N0 | P1 | N1 | APART),
	ROW(TENSOR_CUMULATIVE, .dst = NB_NUMBERS & ~(NB_WORDS | NB_TYPE(TF32)),
	    .src0 = NB_NUMBERS & ~(NB_WORDS | NB_TYPE(TF32)), .same = P0 | N0),
	ROW(COPY_PREDICATED, .src1 = NB_TYPE(UINT8) | NB_TYPE(UINT16) | NB_TYPE(UINT32),
	    .same = P0 | N0 | T0 | P1 | N1 | APART),
	ROW(RECIPROCAL, .same = P0 | N0),
	ROW(BN_STATS, .same = P0, .dst_n = 6),
	ROW(BN_AGGR, .same = P0, .dst_n = 2),
	ROW(RANGE_SELECT, .src0 = NB_FLOATS, .same = P0 | N0),
	ROW(SELECT_REDUCE, .src0 = NB_NUMBERS & ~(NB_WORDS | NB_TYPE(TF32)),
	    .src1 = NB_INTS & ~NB_WORDS, .same = P0 | N0 | P1 | N1 | APART),
	ROW(ACTIVATE, .src1 = NB_NUMBERS & ~NB_TYPE(TF32), .same = P0 | N0 | P1, .src1_n = 1),
	ROW(ACTIVATE2, .src1 = NB_TYPE(FP32), .same = P0 | N0 | P1, .src1_n = 1),
	ROW(MAX8, .same = P0, .dst_n = 8),
	ROW(FIND_INDEX8, .dst = NB_TYPE(UINT16) | NB_TYPE(UINT32), .same = P0 | P1,
	    .dst_n = 8, .src1_n = 8),
	ROW(MATCH_REPLACE8, .same = P0 | N0 | P1, .src1_n = 8),
	ROW(STREAM_SHUFFLE, .same = N0 | T0),
	ROW(TRANSPOSE, .same = T0),
	ROW(SET_RNG_SEED, .src0 = NB_WORDS | NB_TYPE(FP32) | NB_TYPE(TF32), .src0_n = 1),
	ROW(RNG, .dst = NB_INTS),
	ROW(DROPOUT, .same = P0 | N0 | T0),
	ROW(RAND_SET_STATE, .src0 = NB_TYPE(UINT32), .same = SBUF),
	ROW(RAND_GET_STATE, .dst = NB_TYPE(UINT32)),
	ROW(EXPONENTIAL, .same = P0 | N0),
	ROW(QUANTIZE_MX, .dst = NB_TYPE(FP8_E4FN_X4) | NB_TYPE(FP8_E5_X4),
	    .src0 = NB_TYPE(FP16) | NB_TYPE(BF16), .src1 = NB_SCALES,
	    .same = P0 | P1 | N1 | SBUF),
	ROW(AFFINE_SELECT, .same = P0 | N0),
	ROW(PARTITION_REDUCE, .same = N0),
	ROW(LOCAL_GATHER, .src1 = NB_TYPE(UINT16), .same = P0 | T0 | P1),
	ROW(GATHER, .src1 = NB_TYPE(UINT32), .same = P0 | T0 | P1 | N1),
	ROW(NONZERO_WITH_COUNT, .dst = NB_TYPE(INT32), .src0 = NB_TYPE(INT32) | NB_TYPE(FP32),
	    .same = P0),
	ROW(TOPK, .dst = NB_TYPE(BF16), .src0 = NB_TYPE(BF16), .src1 = NB_TYPE(UINT32),
	    .same = P0 | P1 | N1),
	ROW(SEQUENCE_BOUNDS, .dst = NB_TYPE(INT32) | NB_TYPE(FP32),
	    .src0 = NB_TYPE(INT32) | NB_TYPE(FP32), .same = P0),
};

bool nb_broken(struct nb_rules *rules, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(rules->text, sizeof(rules->text), format, args);
	va_end(args);
	return false;
}

static uint32_t partition_bytes(const struct nb_rules *rules, bool psum)
{
	static const struct neuron_gen *const gens[] = {
		&neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3,
	};

	return psum ? NEURON_TPB_PSUM_STRIDE : gens[rules->generation - 2]->sbuf_partition;
}

/* --- a tile by itself --- */

static bool check_partitions(struct nb_rules *rules, const struct nb_ap *tile)
{
	unsigned int count = tile->partitions;

	if (!count || count > NEURON_PARTITIONS)
		return nb_broken(rules, "%s has %u partitions; 1 to 128 are possible", tile->name,
				 count);
	if (tile->first % 32 || tile->first >= NEURON_PARTITIONS ||
	    (count > 32 && tile->first % 64) || (count > 64 && tile->first))
		return nb_broken(rules,
				 "%s begins in partition %u; up to 32 partitions begin in 0, 32, 64 or 96, up to 64 in 0 or 64, more in 0",
				 tile->name, tile->first);
	return true;
}

/* The most elements of a partition, beside repetitions. */
static unsigned int most_places(const struct nb_rules *rules, const struct nb_ap *tile)
{
	if (!tile->psum)
		return MAX_ELEMENTS;
	return rules->engine == NEURON_ENGINE_TENSOR ? 8192 : 4096;
}

static void find_extent(struct nb_ap *tile)
{
	const struct neuron_ap *ap = tile->ap;
	unsigned int i;

	tile->n = 1;
	tile->places = 1;
	tile->low = 0;
	tile->high = tile->size;
	for (i = 0; i < 4; i++) {
		int64_t span = ((int64_t)le16toh(ap->num[i]) - 1) *
			       (int16_t)le16toh(ap->step[i]) * tile->size;

		tile->n *= le16toh(ap->num[i]);
		tile->places *= ap->step[i] ? le16toh(ap->num[i]) : 1;
		if (ap->index)
			continue;
		if (span < 0)
			tile->low += span;
		else
			tile->high += span;
	}
}

/* Where the elements lie; with a register or an index only a part of that is known. */
static bool check_place(struct nb_rules *rules, const struct nb_ap *tile)
{
	int64_t offset = NEURON_GET(NEURON_AP_OFFSET, le32toh(tile->ap->addr));
	int64_t room = partition_bytes(rules, tile->psum);

	if (tile->ap->offset_reg)
		return true;
	if (offset % tile->size)
		return nb_broken(rules,
				 "%s begins at byte %lld, no multiple of its %u-byte elements",
				 tile->name, (long long)offset, tile->size);
	if (offset + tile->low < 0 || offset + tile->high > room)
		return nb_broken(rules,
				 "%s has bytes %lld to %lld of a partition, which has %lld",
				 tile->name, (long long)(offset + tile->low),
				 (long long)(offset + tile->high - 1), (long long)room);
	return true;
}

static bool check_elements(struct nb_rules *rules, const struct nb_ap *tile)
{
	unsigned int most = most_places(rules, tile);

	if (!tile->n)
		return nb_broken(rules, "%s has a dimension of 0 elements", tile->name);
	if (tile->places > most)
		return nb_broken(rules,
				 "%s has %llu elements of a partition; at most %u are possible",
				 tile->name, (unsigned long long)tile->places, most);
	if (tile->n > MAX_ELEMENTS)
		return nb_broken(rules,
				 "%s has %llu elements of a partition; at most %u are possible",
				 tile->name, (unsigned long long)tile->n, MAX_ELEMENTS);
	return true;
}

static bool find_tile(struct nb_rules *rules, const struct neuron_ap *ap, struct nb_ap *tile)
{
	uint32_t addr = le32toh(ap->addr);

	tile->ap = ap;
	tile->psum = addr & NEURON_AP_PSUM;
	tile->first = NEURON_GET(NEURON_AP_PARTITION, addr);
	tile->partitions = ap->partitions;
	tile->dtype = ap->dtype;
	tile->size = trn_dtype_size(ap->dtype);
	if (!tile->size)
		return nb_broken(rules, "%s has no type that the chip knows", tile->name);
	if (!trn_dtype_on(ap->dtype, rules->generation))
		return nb_broken(rules, "%s is %s, which NeuronCore-v%u does not have", tile->name,
				 trn_isa_dtype_name(ap->dtype), rules->generation);
	if (tile->psum && rules->engine == NEURON_ENGINE_GPSIMD)
		return nb_broken(rules, "%s lies in PSUM, to which GpSimd has no path",
				 tile->name);
	if (!check_partitions(rules, tile))
		return false;
	find_extent(tile);
	return check_elements(rules, tile) && check_place(rules, tile);
}

static bool wrong_type(struct nb_rules *rules, const struct nb_ap *tile, uint32_t types)
{
	char list[NB_RULE_TEXT] = "";
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < NEURON_NR_DTYPES && len < sizeof(list); i++)
		if (nb_is_type(i, types) && trn_dtype_on(i, rules->generation))
			len += (size_t)snprintf(list + len, sizeof(list) - len, " %s",
						trn_isa_dtype_name(i));
	return nb_broken(rules, "%s is %s; it can be%.100s", tile->name,
			 trn_isa_dtype_name(tile->dtype), list);
}

static bool check_type(struct nb_rules *rules, const struct nb_ap *tile, uint32_t types)
{
	if (!types)
		types = NB_NUMBERS;
	return nb_is_type(tile->dtype, types) || wrong_type(rules, tile, types);
}

/* --- tiles with an index --- */

static unsigned int index_lanes(const struct nb_rules *rules)
{
	return rules->engine == NEURON_ENGINE_TENSOR ? INDEX_ROWS : INDEX_LANES;
}

/* As the chip counts them: whole groups. */
static unsigned int index_partitions(const struct nb_rules *rules, const struct nb_ap *tile)
{
	unsigned int lanes = index_lanes(rules);

	return (tile->partitions + lanes - 1) / lanes * lanes;
}

static uint32_t index_addr(const struct neuron_ap *ap)
{
	return le16toh(ap->step[0]) | (uint32_t)le16toh(ap->step[1]) << 16;
}

static int64_t index_bytes(const struct nb_rules *rules, const struct nb_ap *tile)
{
	return (int64_t)((tile->n + index_lanes(rules) - 1) / index_lanes(rules)) * INDEX_BYTES;
}

static bool check_index(struct nb_rules *rules, const struct nb_ap *tile)
{
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, index_addr(tile->ap));
	uint32_t offset = NEURON_GET(NEURON_AP_OFFSET, index_addr(tile->ap));

	if (rules->generation < 4)
		return nb_broken(rules, "%s has an index, which begins with NeuronCore-v4",
				 tile->name);
	if (first % 32 || first + index_partitions(rules, tile) > NEURON_PARTITIONS)
		return nb_broken(rules,
				 "the index of %s begins in partition %u; it begins in 0, 32, 64 or 96 and has room for whole groups",
				 tile->name, first);
	if (offset % INDEX_BYTES ||
	    offset + index_bytes(rules, tile) > partition_bytes(rules, false))
		return nb_broken(rules, "the index of %s is not aligned or leaves its partition",
				 tile->name);
	return true;
}

/* The list of @tile lies under the destination. */
static bool index_overwritten(const struct nb_rules *rules, const struct nb_ap *tile)
{
	const struct nb_ap *dst = &rules->dst;
	unsigned int first = NEURON_GET(NEURON_AP_PARTITION, index_addr(tile->ap));
	int64_t low = NEURON_GET(NEURON_AP_OFFSET, index_addr(tile->ap));
	int64_t at = NEURON_GET(NEURON_AP_OFFSET, le32toh(dst->ap->addr));

	if (dst->psum || dst->ap->index || dst->ap->offset_reg ||
	    first >= dst->first + dst->partitions ||
	    dst->first >= first + index_partitions(rules, tile))
		return false;
	return at + dst->low < low + index_bytes(rules, tile) && low < at + dst->high;
}

static unsigned int index_first(const struct nb_ap *tile)
{
	return NEURON_GET(NEURON_AP_PARTITION, index_addr(tile->ap));
}

static bool check_source_index(struct nb_rules *rules, const struct nb_ap *tile,
			       unsigned int indirect, unsigned int field)
{
	if (!(indirect & field))
		return true;
	if (!check_index(rules, tile))
		return false;
	if (index_first(tile) != tile->first)
		return nb_broken(rules, "%s begins in partition %u, its index in %u", tile->name,
				 tile->first, index_first(tile));
	if ((rules->fields & TRN_FIELD_DST) && index_overwritten(rules, tile))
		return nb_broken(rules, "the destination overlaps the index of %s", tile->name);
	return true;
}

static bool check_destination_index(struct nb_rules *rules, unsigned int indirect)
{
	bool number = rules->inst->opcode == NEURON_OP_COPY_PREDICATED &&
		      (rules->inst->flags & NEURON_INST_IMM);
	const struct nb_ap *source = number ? &rules->src1 : &rules->src0;
	unsigned int field = number ? TRN_FIELD_SRC1 : TRN_FIELD_SRC0;

	if (!(indirect & TRN_FIELD_DST))
		return true;
	if (!check_index(rules, &rules->dst))
		return false;
	if (rules->engine == NEURON_ENGINE_SCALAR && rules->dst.psum)
		return nb_broken(rules, "the scalar engine does not scatter to PSUM");
	if ((!source->psum || (indirect & field)) && index_first(&rules->dst) != source->first)
		return nb_broken(rules, "the index of dst begins in partition %u, the source in %u",
				 index_first(&rules->dst), source->first);
	return true;
}

/* The scales of an MX operand go where its elements go. */
static bool check_scales_index(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;

	if (inst->opcode != NEURON_OP_LOAD_MX && inst->opcode != NEURON_OP_MATMUL_MX)
		return true;
	if (inst->src0.index != inst->src1.index ||
	    (inst->src0.index && index_addr(&inst->src0) != index_addr(&inst->src1)))
		return nb_broken(rules, "elements and scales have different indices");
	return true;
}

static bool check_array_index(struct nb_rules *rules, unsigned int indirect)
{
	const struct neuron_inst *inst = rules->inst;

	if (rules->isa->unit != TRN_ISA_TENSOR || !indirect)
		return true;
	if (trn_isa_flags(inst) & NEURON_INST_ARRAY)
		return nb_broken(rules, "a part of the array takes no index");
	if (!check_scales_index(rules))
		return false;
	if (!(indirect & TRN_FIELD_SRC0))
		return true;
	if (inst->opcode == NEURON_OP_MATMUL && (inst->flags & NEURON_INST_TRANSPOSE))
		return nb_broken(rules, "the moving operand of a transposition takes no index");
	if (nb_is_type(rules->src0.dtype, NB_TYPE(FP32) | NB_TYPE(TF32) | NB_TYPE(FP8_E3)))
		return nb_broken(rules, "the tensor engine does not gather %s",
				 trn_isa_dtype_name(rules->src0.dtype));
	return true;
}

static bool check_indices(struct nb_rules *rules)
{
	unsigned int indirect = trn_isa_indirect(rules->isa, rules->inst);

	return check_source_index(rules, &rules->src0, indirect, TRN_FIELD_SRC0) &&
	       check_source_index(rules, &rules->src1, indirect, TRN_FIELD_SRC1) &&
	       check_destination_index(rules, indirect) && check_array_index(rules, indirect);
}

/* --- tiles of one instruction --- */

static bool check_pair(struct nb_rules *rules, const struct nb_ap *tile, unsigned int field,
		       bool partitions, bool elements)
{
	const struct nb_ap *dst = &rules->dst;

	if (!(rules->fields & field) || !(rules->fields & TRN_FIELD_DST))
		return true;
	if (partitions && tile->partitions != dst->partitions)
		return nb_broken(rules, "%s has %u partitions, dst %u", tile->name,
				 tile->partitions, dst->partitions);
	if (elements && tile->n != dst->n)
		return nb_broken(rules, "%s has %llu elements of a partition, dst %llu", tile->name,
				 (unsigned long long)tile->n, (unsigned long long)dst->n);
	return true;
}

static bool check_count(struct nb_rules *rules, const struct nb_ap *tile, unsigned int field,
			unsigned int wanted)
{
	if (!(rules->fields & field) || !wanted || tile->n == wanted)
		return true;
	return nb_broken(rules, "%s has %llu elements of a partition instead of %u", tile->name,
			 (unsigned long long)tile->n, wanted);
}

static bool check_sbuf(struct nb_rules *rules, const struct nb_ap *tile, unsigned int field)
{
	return !(rules->fields & field) || !tile->psum ||
	       nb_broken(rules, "%s lies in PSUM; it has to lie in SBUF", tile->name);
}

static bool check_together(struct nb_rules *rules, const struct tiles *row)
{
	const unsigned int both = TRN_FIELD_SRC0 | TRN_FIELD_SRC1;

	if (!check_pair(rules, &rules->src0, TRN_FIELD_SRC0, row->same & P0, row->same & N0) ||
	    !check_pair(rules, &rules->src1, TRN_FIELD_SRC1, row->same & P1, row->same & N1))
		return false;
	if ((row->same & T0) && (rules->fields & TRN_FIELD_SRC0) &&
	    rules->src0.dtype != rules->dst.dtype)
		return nb_broken(rules, "src is %s, dst is %s; bits move, nothing is converted",
				 trn_isa_dtype_name(rules->src0.dtype),
				 trn_isa_dtype_name(rules->dst.dtype));
	if ((row->same & APART) && (rules->fields & both) == both && rules->src0.psum &&
	    rules->src1.psum)
		return nb_broken(rules, "both sources lie in PSUM");
	if ((row->same & SBUF) && (!check_sbuf(rules, &rules->dst, TRN_FIELD_DST) ||
				   !check_sbuf(rules, &rules->src0, TRN_FIELD_SRC0) ||
				   !check_sbuf(rules, &rules->src1, TRN_FIELD_SRC1)))
		return false;
	return check_count(rules, &rules->dst, TRN_FIELD_DST, row->dst_n) &&
	       check_count(rules, &rules->src0, TRN_FIELD_SRC0, row->src0_n) &&
	       check_count(rules, &rules->src1, TRN_FIELD_SRC1, row->src1_n);
}

static bool check_tile(struct nb_rules *rules, unsigned int field, const struct neuron_ap *ap,
		       uint32_t types, struct nb_ap *tile)
{
	if (!(rules->fields & field))
		return true;
	return find_tile(rules, ap, tile) && check_type(rules, tile, types);
}

static bool check_tiles(struct nb_rules *rules)
{
	const struct neuron_inst *inst = rules->inst;
	const struct tiles *row = &table[inst->opcode];

	rules->dst.name = "dst";
	rules->src0.name = "src";
	rules->src1.name = "src1";
	return check_tile(rules, TRN_FIELD_DST, &inst->dst, row->dst, &rules->dst) &&
	       check_tile(rules, TRN_FIELD_SRC0, &inst->src0, row->src0, &rules->src0) &&
	       check_tile(rules, TRN_FIELD_SRC1, &inst->src1, row->src1, &rules->src1) &&
	       check_together(rules, row) && check_indices(rules);
}

/* --- columns in place of numbers --- */

static bool check_column(struct nb_rules *rules, unsigned int i)
{
	const struct neuron_inst *inst = rules->inst;
	const struct neuron_ap ap = {
		.addr = i ? inst->col1 : inst->col0,
		.num = { htole16(inst->opcode == NEURON_OP_MATCH_REPLACE8 ? 8 : 1), htole16(1),
			 htole16(1), htole16(1) },
		.step = { htole16(1) },
		.partitions = inst->dst.partitions,
		.dtype = (uint8_t)trn_isa_column_dtype(inst, i),
	};
	struct nb_ap tile = { .name = i ? "column 1" : "column 0" };

	return find_tile(rules, &ap, &tile) && check_type(rules, &tile, NB_NUMBERS);
}

static bool check_columns(struct nb_rules *rules)
{
	return (!(rules->fields & TRN_FIELD_COL0) || check_column(rules, 0)) &&
	       (!(rules->fields & TRN_FIELD_COL1) || check_column(rules, 1));
}

/* --- all of it --- */

static unsigned int fields_of(const struct trn_isa *isa, const struct neuron_inst *inst)
{
	unsigned int fields = 0, i;

	for (i = 0; i < TRN_ISA_OPERANDS; i++)
		fields |= trn_isa_operand_fields(isa->operand[i], inst);
	return fields;
}

static bool check_form(struct nb_rules *rules)
{
	const char *rule = trn_isa_rule(rules->inst, rules->engine);

	return !rule || nb_broken(rules, "%s", rule);
}

/* @generation: 0: not known, and then the newest one */
static struct nb_rules rules_of(unsigned int generation, enum neuron_engine e,
				const struct neuron_inst *inst)
{
	return (struct nb_rules){
		.inst = inst,
		.isa = trn_isa_lookup(inst->opcode),
		.engine = e,
		.generation = generation ? generation : NEWEST,
	};
}

static bool check_all(struct nb_rules *rules)
{
	rules->fields = fields_of(rules->isa, rules->inst);
	return nb_rule_engine(rules) && check_form(rules) && check_tiles(rules) &&
	       check_columns(rules) && nb_rule_operators(rules);
}

bool nb_check(struct nb_program *nb, enum neuron_engine e, const struct neuron_inst *inst)
{
	struct nb_rules rules = rules_of(nb->generation, e, inst);

	if (e >= NEURON_NR_ENGINES || !rules.isa)
		return !nb_fail_here(nb, "no engine %d, or no such instruction", e);
	if (check_all(&rules))
		return true;
	return !nb_fail_here(nb, "%s on the %s engine: %s", rules.isa->name,
			     trn_isa_engine_name(e), rules.text);
}

/* The scalar engine of NeuronCore-v2 copies by way of fp32, also from a type to the same one. */
static bool changes_bits(const struct nb_rules *rules)
{
	return rules->inst->opcode == NEURON_OP_COPY && rules->engine == NEURON_ENGINE_SCALAR &&
	       rules->inst->dst.dtype == rules->inst->src0.dtype && rules->generation < 3;
}

/* --- places only, for those who check nothing else --- */

static bool check_fit(struct nb_rules *rules, unsigned int field, const struct neuron_ap *ap,
		      const char *name)
{
	uint32_t addr = le32toh(ap->addr);
	struct nb_ap tile = {
		.name = name,
		.ap = ap,
		.psum = addr & NEURON_AP_PSUM,
		.first = NEURON_GET(NEURON_AP_PARTITION, addr),
		.partitions = ap->partitions,
		.size = trn_dtype_size(ap->dtype),
	};

	if (!(rules->fields & field) || !tile.size)
		return true;
	if (tile.first + tile.partitions > NEURON_PARTITIONS)
		return nb_broken(rules, "%s has partitions %u to %u of %u", name, tile.first,
				 tile.first + tile.partitions - 1, NEURON_PARTITIONS);
	find_extent(&tile);
	return !tile.n || check_place(rules, &tile);
}

bool nb_fits(unsigned int generation, enum neuron_engine e, const struct neuron_inst *inst,
	     char *rule, size_t size)
{
	struct nb_rules rules = rules_of(generation, e, inst);

	if (!rules.isa)
		return true;
	rules.fields = fields_of(rules.isa, inst);
	if (check_fit(&rules, TRN_FIELD_DST, &inst->dst, "dst") &&
	    check_fit(&rules, TRN_FIELD_SRC0, &inst->src0, "src") &&
	    check_fit(&rules, TRN_FIELD_SRC1, &inst->src1, "src1"))
		return true;
	snprintf(rule, size, "%s", rules.text);
	return false;
}

bool nb_allowed(unsigned int generation, enum neuron_engine e, const struct neuron_inst *inst,
		char *rule, size_t size)
{
	struct nb_rules rules = rules_of(generation, e, inst);

	if (e < NEURON_NR_ENGINES && rules.isa && check_all(&rules))
		return true;
	snprintf(rule, size, "%s", rules.text[0] ? rules.text : "there is no such instruction");
	return false;
}

bool nb_accepts(const struct nb_program *nb, enum neuron_engine e,
		const struct neuron_inst *inst)
{
	struct nb_rules rules = rules_of(nb->generation, e, inst);

	return e < NEURON_NR_ENGINES && rules.isa && !changes_bits(&rules) && check_all(&rules);
}

void nb_refuse(struct nb_program *nb, unsigned int opcode, const char *rule)
{
	nb_fail_here(nb, "%s: %s", trn_isa_lookup(opcode)->name, rule);
}
