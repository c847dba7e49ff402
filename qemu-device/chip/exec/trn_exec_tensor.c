// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The products of the tensor engine.
 */
#include <string.h>

#include "base/trn_chip.h"
#include "exec/trn_exec_tensor.h"
#include "exec/trn_resume.h"
#include "isa/trn_pe_array.h"
#include "num/trn_num.h"

#define MOVING_MAX	512	/* columns; NeuronCore-v4: what fits into PSUM */
#define MOVING_MAX_V4	4096	/* of a result of fp32, twice as many of bf16 */

/*
 * A piece of a product: so many rows of all columns or more of fewer, but one row where no
 * vector instructions help. Fewer where the elements of the result lie here and there, but
 * as many as a vector path does together.
 */
#define ROWS		16
#define ROWS_SLOW	8
/* Columns of the moving operand at a time without vector instructions, */
#define COLUMNS_SLOW	48
/* of which so many are calculated together. */
#define WIDTH_SLOW	16
/* Rows of the stationary operand are copied, which takes as long as so many columns. */
#define COLUMNS_COPY	48

/* Partitions of the moving operand that a line is asked for before it is read. */
#define MOVING_AHEAD	5

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
	part = trn_pe_array_part(exec->core->array, place);
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

/**
 * struct block - the columns of a product that are being done
 * @first: of them
 * @portable: without vector instructions
 * @moving: at most TRN_COLUMNS columns, on the desk
 */
struct block {
	size_t first;
	bool portable;
	struct trn_moving moving;
};

/* Rows @m on of the result, or of what is added to it, to @dst. */
static void multiply_rows(const struct trn_product *product, const struct block *block,
			  unsigned int m, unsigned int rows, float *dst, size_t stride,
			  bool accumulate)
{
	const struct neuron_array *place = &product->part->place;
	const struct trn_core *core = product->exec->core;
	const float *weight = &core->array->weight[TRN_ARRAY_DEPTH * place->row]
						  [place->col + m];
	const struct trn_pick pick = {
		core->desk->pick[0] + m, TRN_ARRAY_SIZE, product->part->k,
	};

	if (product->part->kind == TRN_PART_SPARSE)
		trn_multiply_picked(dst, stride, weight, TRN_ARRAY_SIZE, &pick,
				    &block->moving, rows, accumulate);
	else
		trn_multiply(dst, stride, weight, TRN_ARRAY_SIZE, &block->moving, rows,
			     accumulate);
}

/* A result that is not fp32 side by side: by way of dense memory. */
static void __attribute__((noinline))
rows_elsewhere(const struct trn_product *product, const struct block *block,
	       unsigned int m, unsigned int rows)
{
	float sum[ROWS][TRN_COLUMNS];
	unsigned int i;

	multiply_rows(product, block, m, rows, sum[0], TRN_COLUMNS, false);
	for (i = 0; i < rows; i++)
		put_line(product, m + i, block->first, block->moving.n, sum[i]);
}

/* Where a line of the result is summed up at once, or NULL: elsewhere. */
static float *sums_here(const struct trn_product *product, unsigned int m, size_t first)
{
	if (trn_isa_flags(product->exec->inst) & NEURON_INST_WRITTEN)
		return NULL;
	return trn_tile_room(&product->dst, m, first, NULL);
}

static void do_rows(const struct trn_product *product, const struct block *block,
		    unsigned int m, unsigned int rows)
{
	float *here = sums_here(product, m, block->first);

	if (here)
		multiply_rows(product, block, m, rows, here,
			      product->dst.stride / sizeof(*here),
			      product->exec->inst->flags & NEURON_INST_ACCUMULATE);
	else
		rows_elsewhere(product, block, m, rows);
}

/* Of a product with more terms fewer columns, so that both together fit a cache. */
static uint32_t moving_columns(const struct trn_part *part, bool portable)
{
	uint32_t columns = portable ? COLUMNS_SLOW : TRN_COLUMNS;

	return columns / (part->kind == TRN_PART_SPARSE ? TRN_SPARSE_LINES :
							  trn_part_depth(part));
}

/* The most columns that fit the desk, whichever path wanted them. */
static uint32_t columns_room(const struct trn_part *part)
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

/* Lines of the moving operand in each partition. */
static unsigned int lines_of(const struct trn_product *product)
{
	return product->part->kind == TRN_PART_SPARSE ? product->ratio :
							trn_part_depth(product->part);
}

/* Partition @k of the moving operand, of which each has several lines. */
static void bring_lines(const struct trn_product *product, const struct block *block,
			unsigned int k, unsigned int lines)
{
	const struct trn_moving *moving = &block->moving;
	float line[TRN_COLUMNS];
	unsigned int t;
	size_t first;

	for (t = 0; t < lines; t++) {
		first = t * product->n + block->first;
		trn_tile_expect(&product->src, k + MOVING_AHEAD, first, moving->n);
		trn_moving_line(moving, k * lines + t,
				trn_tile_view(&product->src, k, first, moving->n, line));
	}
}

/* Partitions @k to @end - 1, of which each has one. */
static void bring_line(const struct trn_product *product, const struct block *block,
		       unsigned int k, unsigned int end)
{
	const struct trn_moving *moving = &block->moving;
	float line[TRN_COLUMNS];

	for (; k < end; k++) {
		trn_tile_expect(&product->src, k + MOVING_AHEAD, block->first, moving->n);
		trn_moving_line(moving, k, trn_tile_view(&product->src, k, block->first,
							 moving->n, line));
	}
}

/* Partitions @k to @end - 1 of the moving operand, term by term. */
static void bring_partitions(const struct trn_product *product, const struct block *block,
			     unsigned int k, unsigned int end)
{
	unsigned int lines = lines_of(product);

	if (lines == 1) {
		bring_line(product, block, k, end);
		return;
	}
	for (; k < end; k++)
		if (product->part->kind == TRN_PART_MX)
			bring_mx(product, k, block->first, &block->moving);
		else
			bring_lines(product, block, k, lines);
}

/* True: the instruction is cut here. */
static bool product_pause(struct trn_product *product, uint64_t elements,
			  unsigned int weight)
{
	const struct trn_resume *at = trn_exec_resume(product->exec);

	if (!trn_exec_pause(product->exec, elements, weight))
		return false;
	trn_exec_keep(product->exec, at->p, at->step, at->first);
	return true;
}

/* What of the block's columns is not on the desk. True: cut. */
static bool bring_moving(struct trn_product *product, const struct block *block)
{
	const unsigned int weight = trn_tile_weight(&product->src, true);
	const uint32_t elements = block->moving.n * lines_of(product);
	const uint32_t most = TRN_BUDGET_WORK / weight / elements + 1;
	struct trn_resume *at = trn_exec_resume(product->exec);
	uint32_t count;

	if (product->part->kind == TRN_PART_SPARSE && !at->brought)
		trn_sparse_pick(product, product->exec->core->desk->pick);
	while (at->brought < product->part->k) {
		count = (uint32_t)trn_piece(product->part->k, at->brought, most);
		bring_partitions(product, block, at->brought, at->brought + count);
		at->brought += count;
		if (product_pause(product, count * elements, weight))
			return true;
	}
	return false;
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/* Columns that a row takes the time of, whether all of them are needed or not. */
static uint32_t columns_done(uint32_t n, bool portable)
{
	return portable ? round_up(n, WIDTH_SLOW) :
			  round_up(n, TRN_MOVING_WIDTH) + COLUMNS_COPY;
}

/* Rows of a piece: more where there are fewer columns. */
static unsigned int rows_at_once(const struct trn_product *product,
				 const struct block *block)
{
	if (block->portable)
		return 1;
	if (sums_here(product, 0, 0))
		return ROWS * (columns_done(columns_room(product->part), false) /
			       columns_done(block->moving.n, false));
	return trn_tile_weight(&product->dst, true) == TRN_WEIGHT_SLOW ? ROWS_SLOW : ROWS;
}

/* Rows of the block's columns. True: cut. */
static bool do_block(struct trn_product *product, const struct block *block)
{
	unsigned int most = rows_at_once(product, block), rows, terms;
	struct trn_resume *at = trn_exec_resume(product->exec);
	const uint32_t columns = columns_done(block->moving.n, block->portable);

	terms = product->part->k * trn_part_depth(product->part);
	while (at->p < product->part->m) {
		rows = product->part->m - at->p < most ? product->part->m - at->p : most;
		do_rows(product, block, at->p, rows);
		at->p += rows;
		/* A vector instruction does many terms in the time of an element. */
		if (product_pause(product, rows * columns,
				  block->portable ? 2 * terms : terms / 64 + 1))
			return true;
	}
	return false;
}

/* Block by block of columns, the moving operand first; the place is one in a block. */
static enum neuron_cause multiply(struct trn_product *product)
{
	struct trn_resume *at = trn_exec_resume(product->exec);
	float *room = product->exec->core->desk->moving;
	struct block block = { .portable = trn_num_is_portable() };

	if (at->first > product->n || at->width > columns_room(product->part) ||
	    at->width > product->n - at->first)
		return NEURON_CAUSE_OPERAND;
	for (; at->first < product->n; at->first += at->width, at->width = 0) {
		if (!at->width) {
			at->width = (uint32_t)trn_piece(product->n, at->first,
							moving_columns(product->part,
								       block.portable));
			at->brought = 0;
			at->p = 0;
		}
		block.first = at->first;
		trn_moving_init(&block.moving, room, lines_of(product) * product->part->k,
				at->width);
		if (bring_moving(product, &block) || do_block(product, &block))
			return NEURON_CAUSE_NONE;
	}
	return NEURON_CAUSE_NONE;
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

static enum neuron_cause finish(struct trn_product *product)
{
	enum neuron_cause cause = trn_tile_touch(&product->dst);

	return cause ? cause : multiply(product);
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
	    (!trn_exec_resume(exec)->brought && !trn_sparse_tags_valid(&product)))
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
