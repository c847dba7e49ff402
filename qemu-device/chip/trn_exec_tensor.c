// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The products of the tensor engine.
 */
#include "trn_exec_tensor.h"
#include "trn_num.h"

#define MOVING_MAX	512	/* columns; NeuronCore-v4: what fits into PSUM */
#define MOVING_MAX_V4	4096	/* of a result of fp32, twice as many of bf16 */

#define CACHE_LINE	64
/* Partitions that a line is asked for before it is read. */
#define AHEAD		2

static bool is_wide(unsigned int dtype)
{
	return dtype == NEURON_DTYPE_FP32 || dtype == NEURON_DTYPE_TF32;
}

/* Operands may differ, but for these; the two forms of e4m3 exclude each other. */
static bool types_match(unsigned int a, unsigned int b)
{
	if ((a == NEURON_DTYPE_FP8_E4 && b == NEURON_DTYPE_FP8_E4FN) ||
	    (a == NEURON_DTYPE_FP8_E4FN && b == NEURON_DTYPE_FP8_E4))
		return false;
	return is_wide(a) == is_wide(b);
}

static uint32_t columns_max(const struct trn_exec *exec, const struct trn_tile *dst)
{
	if (exec->core->chip->gen->generation < 4)
		return MOVING_MAX;
	return dst->size == sizeof(float) ? MOVING_MAX_V4 : 2 * MOVING_MAX_V4;
}

/* Into PSUM: fp32, on NeuronCore-v4 bf16 as well. */
static bool result_valid(const struct trn_product *product)
{
	const struct trn_exec *exec = product->exec;
	const struct trn_tile *dst = &product->dst;

	if (!dst->psum || dst->n != product->n || dst->partitions != product->part->m ||
	    product->n > columns_max(exec, dst))
		return false;
	if (product->part->kind == TRN_PART_BITS || dst->dtype == NEURON_DTYPE_FP32)
		return true;
	return dst->dtype == NEURON_DTYPE_BF16 &&
	       exec->core->chip->gen->generation >= 4;
}

/* The loaded part that the instruction names, if it was loaded for @kind. */
static const struct trn_part *find_part(const struct trn_exec *exec,
					enum trn_part_kind kind)
{
	const struct trn_part *part;
	struct neuron_array place;

	if (!trn_tensor_place(exec, &place))
		return NULL;
	part = trn_array_part(exec->core->array, place);
	if (part->kind != kind || part->place.rows != place.rows ||
	    part->place.cols != place.cols)
		return NULL;
	return part;
}

/* The part of the destination to which a sum is added: all, none, or what WRITTEN says. */
static bool find_written(struct trn_product *product)
{
	const struct neuron_inst *inst = product->exec->inst;
	struct neuron_written *written = &product->written;

	*written = (struct neuron_written){ 0 };
	if (inst->flags & NEURON_INST_ACCUMULATE)
		*written = (struct neuron_written){
			.lines = (uint16_t)product->dst.partitions,
			.count = (uint16_t)product->dst.n,
		};
	if (!(trn_isa_flags(inst) & NEURON_INST_WRITTEN))
		return true;
	*written = neuron_written_get(inst->addr);
	return written->line + written->lines <= product->dst.partitions &&
	       written->first + written->count <= product->dst.n;
}

static void put_line(const struct trn_product *product, unsigned int m, size_t first,
		     size_t count, float *sum)
{
	const struct neuron_written *written = &product->written;
	size_t from = first > written->first ? first : written->first;
	size_t end = first + count, last = written->first + written->count;
	const struct trn_tile *dst = &product->dst;
	float old[TRN_COLUMNS];

	if (end > last)
		end = last;
	if (m >= written->line && m < (unsigned int)written->line + written->lines && from < end)
		trn_alu_vv(NEURON_ALU_ADD, sum + (from - first),
			   trn_tile_view(dst, m, from, end - from, old),
			   sum + (from - first), end - from);
	trn_tile_store(dst, m, first, count, sum);
}

static void multiply_block(const struct trn_block *block, float *dst, size_t stride,
			   bool accumulate)
{
	if (block->pick)
		trn_multiply_picked(dst, stride, block->weight, block->weight_stride,
				    block->pick, block->moving, block->rows, accumulate);
	else
		trn_multiply(dst, stride, block->weight, block->weight_stride,
			     block->moving, block->rows, accumulate);
}

/* A result that is not fp32 side by side: by way of dense memory. */
static void __attribute__((noinline))
block_elsewhere(const struct trn_product *product, const struct trn_block *block)
{
	float sum[TRN_ARRAY_SIZE][TRN_COLUMNS];
	unsigned int i;

	multiply_block(block, sum[0], TRN_COLUMNS, false);
	for (i = 0; i < block->rows; i++)
		put_line(product, block->m + i, block->first, block->moving->n, sum[i]);
}

void trn_product_block(const struct trn_product *product,
		       const struct trn_block *block)
{
	const struct trn_tile *dst = &product->dst;
	bool part = trn_isa_flags(product->exec->inst) & NEURON_INST_WRITTEN;
	float *here = part ? NULL : trn_tile_room(dst, block->m, block->first, NULL);

	if (here)
		multiply_block(block, here, dst->stride / sizeof(*here),
			       product->exec->inst->flags & NEURON_INST_ACCUMULATE);
	else
		block_elsewhere(product, block);
}

/* Of a product with more terms fewer columns, so that both together fit a cache. */
static size_t moving_columns(const struct trn_part *part)
{
	return TRN_COLUMNS / (part->kind == TRN_PART_SPARSE ? TRN_SPARSE_LINES :
							      trn_part_depth(part));
}

/* The four terms of partition @k of an MX operand. */
static void bring_mx(const struct trn_product *product, unsigned int k, size_t first,
		     const struct trn_moving *moving)
{
	float lines[TRN_MX_PACK][TRN_COLUMNS / TRN_MX_PACK];
	unsigned int t;

	trn_tensor_mx_line(&product->src, &product->scales, product->exec->inst->imm1,
			   k, first, moving->n, lines[0], TRN_COLUMNS / TRN_MX_PACK);
	for (t = 0; t < TRN_MX_PACK; t++)
		trn_moving_line(moving, TRN_MX_PACK * k + t, lines[t]);
}

/* A line that is read soon, where it lies as one; partitions are far from each other. */
static void expect_line(const struct trn_tile *tile, unsigned int p, size_t first,
			size_t count)
{
	const uint8_t *line = tile->base + p * tile->stride + first * tile->size;
	size_t i;

	if (!tile->contiguous || p >= tile->partitions)
		return;
	for (i = 0; i < count * tile->size; i += CACHE_LINE)
		__builtin_prefetch(line + i);
}

/* Columns from @first on of the moving operand: row by row, term by term. */
static void bring_moving(const struct trn_product *product, size_t first,
			 const struct trn_moving *moving)
{
	unsigned int depth = trn_part_depth(product->part);
	float line[TRN_COLUMNS];
	unsigned int k, t;

	for (k = 0; k < product->part->k; k++) {
		if (product->part->kind == TRN_PART_MX) {
			bring_mx(product, k, first, moving);
			continue;
		}
		for (t = 0; t < depth; t++) {
			expect_line(&product->src, k + AHEAD, t * product->n + first,
				    moving->n);
			trn_moving_line(moving, k * depth + t,
					trn_tile_view(&product->src, k,
						      t * product->n + first,
						      moving->n, line));
		}
	}
}

static void dense_columns(const struct trn_product *product, size_t first,
			  size_t count)
{
	const struct trn_part *part = product->part;
	struct trn_pe_array *array = product->exec->core->array;
	_Alignas(64) float room[TRN_PRODUCT_ROOM];
	struct trn_moving moving;
	const struct trn_block block = {
		.rows = part->m,
		.first = first,
		.weight = &array->weight[TRN_ARRAY_DEPTH * part->place.row]
					[part->place.col],
		.weight_stride = TRN_ARRAY_SIZE,
		.moving = &moving,
	};

	trn_moving_init(&moving, room, trn_part_depth(part) * part->k,
			(unsigned int)count);
	bring_moving(product, first, &moving);
	trn_product_block(product, &block);
}

static void multiply(const struct trn_product *product)
{
	size_t first, count;

	for (first = 0; first < product->n; first += count) {
		count = trn_piece(product->n, first, moving_columns(product->part));
		if (product->part->kind == TRN_PART_SPARSE)
			trn_sparse_columns(product, first, count);
		else
			dense_columns(product, first, count);
	}
}

/* The operands of a product whose moving one has @lines lines in a partition. */
static enum neuron_cause resolve(struct trn_exec *exec, enum trn_part_kind kind,
				 unsigned int lines, struct trn_product *product)
{
	enum neuron_cause cause;

	product->exec = exec;
	product->ratio = lines;
	product->part = find_part(exec, kind);
	if (!product->part)
		return NEURON_CAUSE_OPERAND;
	cause = trn_tensor_operand(exec, kind, &product->src);
	if (!cause)
		cause = kind == TRN_PART_BITS ?
				trn_exec_tile_raw(exec, &exec->inst->dst, &product->dst) :
				trn_exec_tile(exec, &exec->inst->dst, &product->dst);
	if (cause)
		return cause;
	product->n = product->src.n / lines;
	if (product->src.partitions != product->part->k ||
	    product->src.n != product->n * lines || !result_valid(product) ||
	    !find_written(product))
		return NEURON_CAUSE_OPERAND;
	exec->work.n = product->n;
	exec->work.place = product->part->place;
	exec->work.rows = product->part->k;
	exec->work.columns = product->part->m;
	exec->work.fp32 = product->src.dtype == NEURON_DTYPE_FP32 ||
			  product->part->dtype == NEURON_DTYPE_FP32;
	exec->work.light = kind == TRN_PART_BITS ||
			   (trn_isa_flags(exec->inst) & NEURON_INST_ONE_ZERO);
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause finish(const struct trn_product *product)
{
	enum neuron_cause cause = trn_tile_touch(&product->dst);

	if (!cause)
		multiply(product);
	return cause;
}

enum neuron_cause trn_exec_matmul(struct trn_exec *exec)
{
	enum trn_part_kind kind = trn_tensor_kind(exec);
	struct trn_product product;
	enum neuron_cause cause;

	if (kind == TRN_PART_EMPTY)
		return NEURON_CAUSE_OPERAND;
	cause = resolve(exec, kind, kind == TRN_PART_DOUBLE ? 2 : 1, &product);
	if (cause)
		return cause;
	if (kind == TRN_PART_BITS && !trn_dtype_is_float(product.part->dtype))
		return trn_transpose(&product);
	if (!types_match(product.part->dtype, product.src.dtype))
		return NEURON_CAUSE_OPERAND;
	if (kind == TRN_PART_BITS)
		return trn_transpose(&product);
	return finish(&product);
}

enum neuron_cause trn_exec_matmul_sparse(struct trn_exec *exec)
{
	struct trn_product product;
	enum neuron_cause cause;

	if (exec->inst->imm1 < 2 || exec->inst->imm1 > 4)
		return NEURON_CAUSE_OPERAND;
	cause = resolve(exec, TRN_PART_SPARSE, exec->inst->imm1, &product);
	if (cause)
		return cause;
	if (product.src.num[1] != product.ratio || product.src.num[2] != 1 ||
	    product.src.num[3] != 1 ||
	    !types_match(product.part->dtype, product.src.dtype) ||
	    !trn_sparse_tags_valid(&product))
		return NEURON_CAUSE_OPERAND;
	return finish(&product);
}

enum neuron_cause trn_exec_matmul_mx(struct trn_exec *exec)
{
	struct trn_product product;
	enum neuron_cause cause;

	cause = resolve(exec, TRN_PART_MX, 1, &product);
	if (!cause)
		cause = trn_tensor_scales(exec, &product.src, &product.scales);
	return cause ? cause : finish(&product);
}
