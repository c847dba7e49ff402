// SPDX-License-Identifier: MIT
/* Programs as records: each is a call of the function that it names. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/trn_isa.h"
#include "nb_alloc.h"
#include "nb_flat_private.h"

static struct nb_with with_of(const struct flat *f)
{
	const struct nb_flat *call = f->call;
	struct nb_with with = {
		.reverse0 = call->flags & NB_FLAT_REVERSE0,
		.reverse1 = call->flags & NB_FLAT_REVERSE1,
		.negate = call->flags & NB_FLAT_NEGATE,
		.accumulate = call->flags & NB_FLAT_ACCUMULATE,
		.transpose = call->flags & NB_FLAT_TRANSPOSE,
		.one_zero = call->flags & NB_FLAT_ONE_ZERO,
		.double_row = call->flags & NB_FLAT_DOUBLE_ROW,
		.part = call->flags & NB_FLAT_PART,
		.partly = call->flags & NB_FLAT_PARTLY,
		.reduce_op = call->op2,
		.reduce = call->reduce,
	};

	if (with.part)
		with.array = (struct neuron_array){ call->arg[0], call->arg[1], call->arg[2],
						    call->arg[3] };
	if (with.partly)
		with.written = (struct neuron_written){ call->arg[4], call->arg[5], call->arg[6],
							call->arg[7] };
	if (call->reduce == NEURON_REDUCE_LOAD_REDUCE)
		memcpy(&with.reduce_start, &call->number[2], sizeof(with.reduce_start));
	return with;
}

static float number(const struct flat *f, unsigned int i)
{
	float value;

	memcpy(&value, &f->call->number[i], sizeof(value));
	return value;
}

/* Scalar @i: the columns are the operands that are left, in their order. */
static struct nb_operand scalar(struct flat *f, unsigned int i)
{
	switch (f->call->kind[i]) {
	case NB_NUMBER:
		return nb_integer(f->call->number[i]);
	case NB_COLUMN:
		if (f->next < f->call->count)
			return nb_column(f->ap[f->next++]);
		nb_fail_here(f->nb, "a record has fewer operands than columns");
		return nb_none();
	default:
		return nb_none();
	}
}

static struct nb_affine affine(const struct flat *f)
{
	const int32_t *arg = f->call->arg;

	return (struct nb_affine){ .step = { arg[0], arg[1], arg[2], arg[3] }, .offset = arg[4],
				   .multiplier = arg[5] };
}

#define AP	(f->ap)
#define CALL	(f->call)
#define E	(f->call->engine)

static void do_nc_matmul(struct flat *f)
{
	struct nb_with with = with_of(f);

	nb_nc_matmul(f->nb, AP[0], AP[1], AP[2], CALL->flags & NB_FLAT_STATIONARY_ONE_ZERO, &with);
}

static void do_nc_matmul_mx(struct flat *f)
{
	struct nb_mx stationary = { AP[1], AP[2], CALL->number[0] };
	struct nb_mx moving = { AP[3], AP[4], CALL->number[1] };
	struct nb_with with = with_of(f);

	nb_nc_matmul_mx(f->nb, AP[0], &stationary, &moving, &with);
}

static void do_nc_transpose(struct flat *f)
{
	if (CALL->engine == NEURON_ENGINE_TENSOR && CALL->count < 3)
		nb_fail_here(f->nb, "nc_transpose on the tensor engine needs an identity");
	else
		nb_nc_transpose(f->nb, E, AP[0], AP[1], AP[2]);
}

static void do_activation(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand scale = scalar(f, 0), bias = scalar(f, 1);

	nb_activation(f->nb, CALL->op0, AP[0], AP[1], scale, bias, number(f, 2), &with);
}

static void do_activate2(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand s0 = scalar(f, 0), s1 = scalar(f, 1), param = scalar(f, 2);

	nb_activate2(f->nb, CALL->arg[0], AP[0], AP[1], CALL->op0, s0, CALL->op1, s1, param,
		     &with);
}

static void do_acc_read(struct flat *f)
{
	struct nb_with with = with_of(f);

	nb_acc_read(f->nb, E, AP[0], &with);
}

static void do_acc_load(struct flat *f)
{
	nb_acc_load(f->nb, E, AP[0]);
}

static void do_tensor_tensor(struct flat *f)
{
	nb_tensor_tensor(f->nb, E, CALL->op0, AP[0], AP[1], AP[2]);
}

static void do_tensor_scalar(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand s0 = scalar(f, 0), s1 = scalar(f, 1);

	nb_tensor_scalar_any(f->nb, E, AP[0], AP[1], CALL->op0, s0, CALL->op1, s1, &with);
}

static void do_tensor_scalar_cumulative(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand s = scalar(f, 0);

	nb_tensor_scalar_cumulative(f->nb, AP[0], AP[1], CALL->op0, s, &with);
}

static void do_scalar_tensor_tensor(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand s = scalar(f, 0);

	nb_scalar_tensor_tensor(f->nb, AP[0], AP[1], CALL->op0, s, CALL->op1, AP[2], &with);
}

static void do_tensor_tensor_scan(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand initial = scalar(f, 0);

	nb_tensor_tensor_scan(f->nb, AP[0], AP[1], AP[2], initial, CALL->op0, CALL->op1, &with);
}

static void do_tensor_reduce(struct flat *f)
{
	struct nb_with with = with_of(f);

	nb_tensor_reduce(f->nb, E, CALL->op0, AP[0], AP[1], CALL->arg[0], &with);
}

static void do_tensor_copy(struct flat *f)
{
	nb_tensor_copy(f->nb, E, AP[0], AP[1]);
}

static void do_tensor_copy_predicated(struct flat *f)
{
	struct nb_with with = with_of(f);

	nb_tensor_copy_predicated(f->nb, AP[0], AP[1], AP[2], &with);
}

/* Numbers of memsets are doubles, so that they hold every integer of 32 bits. */
static double wide(const struct flat *f)
{
	double value;

	memcpy(&value, CALL->arg, sizeof(value));
	return value;
}

static void do_fill_predicated(struct flat *f)
{
	struct nb_with with = with_of(f);

	nb_fill_predicated(f->nb, AP[0], wide(f), AP[1], &with);
}

static void do_memset(struct flat *f)
{
	nb_memset(f->nb, E, AP[0], wide(f));
}

static void do_reciprocal(struct flat *f)
{
	nb_reciprocal(f->nb, AP[0], AP[1]);
}

static void do_exponential(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand max = scalar(f, 0);

	nb_exponential(f->nb, AP[0], AP[1], max, &with);
}

static void do_bn_stats(struct flat *f)
{
	nb_bn_stats(f->nb, AP[0], AP[1]);
}

static void do_bn_aggr(struct flat *f)
{
	nb_bn_aggr(f->nb, AP[0], AP[1]);
}

static void do_range_select(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand bound0 = scalar(f, 0), bound1 = scalar(f, 1);

	nb_range_select(f->nb, AP[0], AP[1], CALL->op0, bound0, CALL->op1, bound1, CALL->arg[0],
			&with);
}

static void do_select_reduce(struct flat *f)
{
	struct nb_with with = with_of(f);
	struct nb_operand other = scalar(f, 0);

	nb_select_reduce(f->nb, AP[0], AP[1], other, AP[2], &with);
}

static void do_max8(struct flat *f)
{
	nb_max8(f->nb, AP[0], AP[1]);
}

static void do_nc_find_index8(struct flat *f)
{
	nb_nc_find_index8(f->nb, AP[0], AP[1], AP[2]);
}

static void do_nc_match_replace8(struct flat *f)
{
	nb_nc_match_replace8(f->nb, AP[0], AP[1], AP[2], number(f, 0),
			     CALL->count > 3 ? &AP[3] : NULL);
}

static void do_nc_stream_shuffle(struct flat *f)
{
	nb_nc_stream_shuffle(f->nb, AP[0], AP[1], (const uint8_t *)CALL->arg);
}

static void do_quantize_mx(struct flat *f)
{
	nb_quantize_mx(f->nb, AP[0], AP[1], AP[2], CALL->arg[0]);
}

static void do_rng(struct flat *f)
{
	nb_rng(f->nb, E, AP[0]);
}

static void do_rand2(struct flat *f)
{
	struct nb_operand min = scalar(f, 0), max = scalar(f, 1);

	nb_rand2(f->nb, AP[0], min, max);
}

static void do_dropout(struct flat *f)
{
	nb_dropout(f->nb, AP[0], AP[1], scalar(f, 0));
}

static void do_set_rng_seed(struct flat *f)
{
	nb_set_rng_seed(f->nb, AP[0]);
}

static void do_rand_set_state(struct flat *f)
{
	nb_rand_set_state(f->nb, E, AP[0]);
}

static void do_rand_get_state(struct flat *f)
{
	nb_rand_get_state(f->nb, E, AP[0]);
}

static void do_iota(struct flat *f)
{
	struct nb_affine steps = affine(f);

	nb_iota(f->nb, AP[0], &steps);
}

static void do_affine_select(struct flat *f)
{
	struct nb_affine steps = affine(f);

	nb_affine_select(f->nb, AP[0], AP[1], &steps, CALL->op0, number(f, 0));
}

static void do_tensor_partition_reduce(struct flat *f)
{
	nb_tensor_partition_reduce(f->nb, CALL->op0, AP[0], AP[1]);
}

static void do_local_gather(struct flat *f)
{
	nb_local_gather(f->nb, AP[0], AP[1], AP[2], CALL->arg[0], CALL->arg[1]);
}

static void do_nc_n_gather(struct flat *f)
{
	nb_nc_n_gather(f->nb, AP[0], AP[1], AP[2]);
}

static void do_nonzero_with_count(struct flat *f)
{
	nb_nonzero_with_count(f->nb, AP[0], AP[1], CALL->arg[0], CALL->arg[1]);
}

static void do_topk(struct flat *f)
{
	nb_topk(f->nb, AP[0], AP[1], AP[2], CALL->arg[0]);
}

static void do_sequence_bounds(struct flat *f)
{
	nb_sequence_bounds(f->nb, AP[0], AP[1]);
}

static const struct flat_function functions[] = {
	{ "tile_new", 0, 0, flat_tile_new },
	{ "tile_at", 0, 0, flat_tile_at },
	{ "reserve", 0, 0, flat_reserve },
	{ "nc_matmul", 3, 3, do_nc_matmul },
	{ "nc_matmul_mx", 5, 5, do_nc_matmul_mx },
	{ "nc_transpose", 2, 3, do_nc_transpose },
	{ "activation", 2, 4, do_activation },
	{ "activate2", 2, 5, do_activate2 },
	{ "acc_read", 1, 1, do_acc_read },
	{ "acc_load", 1, 1, do_acc_load },
	{ "tensor_tensor", 3, 3, do_tensor_tensor },
	{ "tensor_scalar", 2, 4, do_tensor_scalar },
	{ "tensor_scalar_cumulative", 2, 3, do_tensor_scalar_cumulative },
	{ "scalar_tensor_tensor", 3, 4, do_scalar_tensor_tensor },
	{ "tensor_tensor_scan", 3, 4, do_tensor_tensor_scan },
	{ "tensor_reduce", 2, 2, do_tensor_reduce },
	{ "tensor_copy", 2, 2, do_tensor_copy },
	{ "tensor_copy_predicated", 3, 3, do_tensor_copy_predicated },
	{ "fill_predicated", 2, 2, do_fill_predicated },
	{ "memset", 1, 1, do_memset },
	{ "reciprocal", 2, 2, do_reciprocal },
	{ "exponential", 2, 3, do_exponential },
	{ "bn_stats", 2, 2, do_bn_stats },
	{ "bn_aggr", 2, 2, do_bn_aggr },
	{ "range_select", 2, 4, do_range_select },
	{ "select_reduce", 3, 4, do_select_reduce },
	{ "max8", 2, 2, do_max8 },
	{ "nc_find_index8", 3, 3, do_nc_find_index8 },
	{ "nc_match_replace8", 3, 4, do_nc_match_replace8 },
	{ "nc_stream_shuffle", 2, 2, do_nc_stream_shuffle },
	{ "quantize_mx", 3, 3, do_quantize_mx },
	{ "rng", 1, 1, do_rng },
	{ "rand2", 1, 3, do_rand2 },
	{ "dropout", 2, 3, do_dropout },
	{ "set_rng_seed", 1, 1, do_set_rng_seed },
	{ "rand_set_state", 1, 1, do_rand_set_state },
	{ "rand_get_state", 1, 1, do_rand_get_state },
	{ "iota", 1, 1, do_iota },
	{ "affine_select", 2, 2, do_affine_select },
	{ "tensor_partition_reduce", 2, 2, do_tensor_partition_reduce },
	{ "local_gather", 3, 3, do_local_gather },
	{ "nc_n_gather", 3, 3, do_nc_n_gather },
	{ "nonzero_with_count", 2, 2, do_nonzero_with_count },
	{ "topk", 3, 3, do_topk },
	{ "sequence_bounds", 2, 2, do_sequence_bounds },
	{ "dma", 2, 2 + NEURON_UDMA_OP_MAX_SRC, flat_dma },
	{ "reg_set", 0, 0, flat_reg_set },
	{ "reg_alu", 0, 0, flat_reg_alu },
	{ "reg_load", 1, 1, flat_reg_load },
	{ "reg_store", 1, 1, flat_reg_store },
	{ "reg_rank", 0, 0, flat_reg_rank },
	{ "pair", 0, 0, flat_pair },
	{ "core_barrier", 0, 0, flat_core_barrier },
	{ "collective", 0, 0, flat_collective },
	{ "begin_loop", 0, 0, flat_begin_loop },
	{ "begin_while", 0, 0, flat_begin_while },
	{ "end_loop", 0, 0, flat_end_loop },
};

struct flat_name {
	const char *kind;
	const char *name;
	int value;
};

static const struct flat_name names[] = {
	{ "flag", "reverse0", NB_FLAT_REVERSE0 },
	{ "flag", "reverse1", NB_FLAT_REVERSE1 },
	{ "flag", "negate", NB_FLAT_NEGATE },
	{ "flag", "accumulate", NB_FLAT_ACCUMULATE },
	{ "flag", "transpose", NB_FLAT_TRANSPOSE },
	{ "flag", "one_zero", NB_FLAT_ONE_ZERO },
	{ "flag", "stationary_one_zero", NB_FLAT_STATIONARY_ONE_ZERO },
	{ "flag", "double_row", NB_FLAT_DOUBLE_ROW },
	{ "flag", "part", NB_FLAT_PART },
	{ "flag", "partly", NB_FLAT_PARTLY },
	{ "flag", "gather", NB_FLAT_GATHER },
	{ "flag", "scatter", NB_FLAT_SCATTER },
	{ "flag", "skip", NB_FLAT_SKIP },
	{ "flag", "generate", NB_FLAT_GENERATE },
	{ "memory", "sbuf", NB_SBUF },
	{ "memory", "psum", NB_PSUM },
	{ "dma", "copy", NEURON_UDMA_OP_COPY },
	{ "dma", "add", NEURON_UDMA_OP_ADD },
	{ "dma", "fma", NEURON_UDMA_OP_FMA },
	{ "dma", "max", NEURON_UDMA_OP_MAX },
	{ "dma", "min", NEURON_UDMA_OP_MIN },
	{ "dma", "transpose", NEURON_UDMA_OP_TRANSPOSE },
	{ "sizeof", "record", sizeof(struct nb_flat) },
	{ "sizeof", "ap", sizeof(struct nb_flat_ap) },
	{ "sizeof", "side", sizeof(struct nb_flat_side) },
};

static int find_function(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name))
			return i;
	return -1;
}

int nb_flat_value(const char *kind, const char *name)
{
	size_t i;

	if (!strcmp(kind, "function"))
		return find_function(name);
	if (!strcmp(kind, "alu"))
		return trn_isa_alu_value(name, strlen(name));
	if (!strcmp(kind, "act"))
		return trn_isa_act_value(name, strlen(name));
	if (!strcmp(kind, "dtype"))
		return trn_isa_dtype_value(name, strlen(name));
	if (!strcmp(kind, "engine"))
		return trn_isa_engine_value(name, strlen(name));
	if (!strcmp(kind, "reduce"))
		return trn_isa_reduce_value(name, strlen(name));
	if (!strcmp(kind, "sbuf") && *name >= '2' && *name <= '4' && !name[1])
		return (int)nb_sbuf_bytes(*name - '0');
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].kind, kind) && !strcmp(names[i].name, name))
			return names[i].value;
	return -1;
}

bool flat_tile_slot(struct flat *f, uint32_t tile)
{
	if (tile < f->nr_tiles)
		return true;
	nb_fail_here(f->nb, "a record names tile %u of %u", tile, f->nr_tiles);
	return false;
}

static void set_index(struct flat *f, struct neuron_ap *ap, const struct nb_flat_ap *from)
{
	uint32_t at;

	if (!flat_tile_slot(f, from->index_tile))
		return;
	at = le32toh(f->tile[from->index_tile].ap.addr) + from->index_byte;
	ap->step[0] = htole16(at & 0xffff);
	ap->step[1] = htole16(at >> 16);
	ap->step[2] = 0;
	ap->step[3] = 0;
	ap->index = NEURON_AP_INDEX;
}

/* The first partition and the offset in it are fields of one word, which do not overflow. */
static void set_ap(struct flat *f, struct neuron_ap *ap, const struct nb_flat_ap *from)
{
	unsigned int i;

	if (!flat_tile_slot(f, from->tile))
		return;
	ap->addr = htole32(le32toh(f->tile[from->tile].ap.addr) + from->byte +
			   ((uint32_t)from->partition << 24));
	for (i = 0; i < 4; i++) {
		ap->num[i] = htole16(from->num[i]);
		ap->step[i] = htole16((uint16_t)from->step[i]);
	}
	ap->partitions = from->partitions;
	ap->dtype = from->dtype;
	ap->offset_reg = from->reg;
	ap->index = 0;
	if (from->index_tile != NB_FLAT_NONE)
		set_index(f, ap, from);
}

bool flat_does(const struct nb_flat *call, void (*run)(struct flat *f))
{
	return functions[call->function].run == run;
}

bool flat_has_sides(const struct nb_flat *call)
{
	return flat_does(call, flat_dma) || flat_does(call, flat_reg_load) ||
	       flat_does(call, flat_reg_store);
}

static size_t operand_bytes(const struct nb_flat *call)
{
	return call->count *
	       (flat_has_sides(call) ? sizeof(struct nb_flat_side) : sizeof(struct nb_flat_ap));
}

size_t flat_bytes(const struct nb_flat *call)
{
	return sizeof(*call) + operand_bytes(call);
}

const struct nb_flat *flat_record_at(struct flat *f, size_t at)
{
	const struct nb_flat *call = (const struct nb_flat *)(f->records + at);
	const struct flat_function *function;
	size_t left = f->size - at;

	if (left < sizeof(*call) ||
	    call->function >= sizeof(functions) / sizeof(functions[0])) {
		nb_fail_here(f->nb, "a record is not whole, or its function is not known");
		return NULL;
	}
	function = &functions[call->function];
	if (call->count < function->least || call->count > function->most) {
		nb_fail_here(f->nb, "a record of %s has %u operands, not %u to %u",
			     function->name, call->count, function->least, function->most);
		return NULL;
	}
	if (left - sizeof(*call) < operand_bytes(call)) {
		nb_fail_here(f->nb, "a record of %s is not whole", function->name);
		return NULL;
	}
	return call;
}

void flat_source(struct flat *f, const struct nb_flat *call)
{
	if (call->file == f->file && call->line == f->line)
		return;
	f->file = call->file;
	f->line = call->line;
	nb_source(f->nb, f->file && f->file <= f->nr_files ? f->files[f->file - 1] : NULL, f->line);
}

static void run_record(struct flat *f)
{
	const struct flat_function *function = &functions[f->call->function];
	const struct nb_flat_ap *ap = (const struct nb_flat_ap *)(f->call + 1);
	unsigned int i;

	flat_source(f, f->call);
	f->next = function->least;
	/* What is not there is nothing, and not that of an earlier record. */
	memset(f->ap, 0, sizeof(f->ap));
	for (i = 0; !flat_has_sides(f->call) && i < f->call->count; i++)
		set_ap(f, &f->ap[i], &ap[i]);
	if (!nb_error(f->nb))
		function->run(f);
}

size_t nb_flat_run(struct nb_program *nb, const void *records, size_t size, unsigned int tiles,
		   const char *const *files, unsigned int nr_files)
{
	struct flat f = {
		.nb = nb, .nr_tiles = tiles, .records = records, .size = size, .files = files,
		.nr_files = nr_files,
	};
	size_t done = 0;

	memset(f.queue, 0xff, sizeof(f.queue));
	if (flat_look_ahead(&f))
		return 0;
	while (done < size && !nb_error(nb)) {
		f.call = flat_record_at(&f, done);
		if (f.call)
			flat_begin_tiles(&f, done);
		if (!nb_error(nb))
			run_record(&f);
		if (nb_error(nb))
			break;
		flat_end_tiles(&f, done);
		done += flat_bytes(f.call);
	}
	free(f.tile);
	return done;
}
