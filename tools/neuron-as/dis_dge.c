// SPDX-License-Identifier: MIT
/* Constants that say what a generated transfer does, as .dge lines. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "chip/num/trn_num.h"
#include "dis.h"
#include "neuron/address.h"
#include "neuron_builder.h"

/* The builder's variables as far as @var, so that it can be asked for the same block. */
static struct nb_program *known_vars(struct dis *dis, size_t count)
{
	char name[32];
	size_t i;

	if (!dis->known)
		dis->known = nb_new("known");
	for (i = dis->nr_known; dis->known && i < count; i++) {
		const struct neff_var *var = &dis->graph->vars[i];

		snprintf(name, sizeof(name), "v%zu", i);
		if (neff_var_is_others_sem(var))
			nb_sibling_sem(dis->known, name, var->first, var->count);
		else
			nb_tmp(dis->known, name, var->size);
		dis->nr_known = i + 1;
	}
	return dis->known;
}

void dis_forget_vars(struct dis *dis)
{
	nb_free(dis->known);
	dis->known = NULL;
	dis->nr_known = 0;
}

/* A window address of one of the first @count variables. */
static bool find_var(uint64_t addr, size_t count, int *var, uint64_t *offset)
{
	*var = (int)NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr);
	*offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);
	return (addr & NEURON_ADDR_WINDOW) && *var && (size_t)*var <= count;
}

static bool find_side(const struct neuron_udma_pattern *pattern, uint64_t addr, size_t count,
		      unsigned int bytes, bool listed, struct nb_side *side)
{
	unsigned int d, last = 0;

	if (!bytes || !find_var(addr, count, &side->var, &side->offset))
		return false;
	for (d = 1; d < 4; d++)
		if (le32toh(pattern->num[d]) != 1 || pattern->step[d])
			last = d;
	if (listed && last != 3)
		return false;
	side->ndim = 0;
	for (d = 0; d <= last; d++) {
		/* A listed dimension is the fourth one, whatever there is before it. */
		if (listed && d && d < 3 && le32toh(pattern->num[d]) == 1 && !pattern->step[d])
			continue;
		side->size[side->ndim] = le32toh(pattern->num[d]) * (d ? 1 : bytes);
		side->step[side->ndim++] = d ? (int64_t)le64toh(pattern->step[d]) : 1;
	}
	return true;
}

static bool find_sides(const struct neuron_udma_dge *block, size_t count, struct nb_move *move)
{
	unsigned int to = trn_dtype_size(block->op.dst_dtype);
	unsigned int from = trn_dtype_size(block->op.src_dtype);
	uint32_t bits;
	unsigned int i;

	if (!find_side(&block->op.dst, le64toh(block->dst[0]), count, to, move->scatter,
		       &move->to))
		return false;
	for (i = 0; i < move->nr_from; i++) {
		if (!find_side(&block->op.src, le64toh(block->src[i]), count, from,
			       move->gather, &move->from[i]))
			return false;
		bits = le32toh(block->op.scale[i]);
		memcpy(&move->scale[i], &bits, sizeof(bits));
	}
	return !(move->gather || move->scatter) ||
	       find_var(le64toh(block->op.index), count, &move->index, &move->index_offset);
}

/* False: no move that the builder would make this block of, as far as one can see. */
static bool find_move(const struct neuron_udma_dge *block, size_t count, struct nb_move *move)
{
	const struct neuron_udma_op *op = &block->op;

	*move = (struct nb_move){
		.op = op->op,
		.to_dtype = op->dst_dtype,
		.from_dtype = op->src_dtype,
		.nr_from = op->nr_src,
		.accumulate = op->flags & NEURON_UDMA_OP_ACCUMULATE,
		.gather = op->flags & NEURON_UDMA_OP_SRC_INDEXED,
		.scatter = op->flags & NEURON_UDMA_OP_DST_INDEXED,
		.skip = op->flags & NEURON_UDMA_OP_OOB_SKIP,
		.random = op->flags & NEURON_UDMA_OP_STOCHASTIC,
		.index_step = le32toh(op->index_step),
		.limit = le32toh(op->index_limit),
		.seed = le64toh(op->round_seed),
		.number = le64toh(op->round_move),
	};
	return op->op < NEURON_UDMA_NR_OPS && op->nr_dst == 1 && op->nr_src &&
	       op->nr_src <= NEURON_UDMA_OP_MAX_SRC && find_sides(block, count, move);
}

static bool is_same(struct dis *dis, const struct neuron_udma_dge *block, size_t count,
		    const struct nb_move *move)
{
	struct nb_program *known = known_vars(dis, count);
	struct neuron_udma_dge again;

	if (!known)
		return false;
	if (!nb_dge_block(known, move, &again))
		return !memcmp(&again, block, sizeof(again));
	/* Its error would stay. */
	dis_forget_vars(dis);
	return false;
}

static void put_side(struct dis *dis, const struct nb_side *side)
{
	struct neff_side same = { .var = side->var - 1, .ndim = side->ndim,
				  .offset = side->offset };
	unsigned int i;

	for (i = 0; i < side->ndim; i++) {
		same.size[i] = side->size[i];
		same.step[i] = side->step[i];
	}
	dis_side(dis, &same);
}

static void put_sources(struct dis *dis, const struct nb_move *move)
{
	uint32_t bits;
	unsigned int i;

	for (i = 0; i < move->nr_from; i++) {
		if (i)
			fputs(" + ", dis->out);
		put_side(dis, &move->from[i]);
		memcpy(&bits, &move->scale[i], sizeof(bits));
		if (move->op == NEURON_UDMA_OP_FMA)
			fprintf(dis->out, " scale 0x%" PRIx32, bits);
	}
}

static void put_parts(struct dis *dis, const struct nb_move *move)
{
	const struct neff_var *vars = dis->graph->vars;

	fprintf(dis->out, "%s%s%s%s", move->accumulate ? " acc" : "",
		move->gather ? " gather" : "", move->scatter ? " scatter" : "",
		move->skip ? " skip" : "");
	if (move->gather || move->scatter) {
		fputs(" index ", dis->out);
		if (vars[move->index - 1].type == NEFF_VAR_STATE)
			fputs("sbuf", dis->out);
		else
			dis_name(dis, vars[move->index - 1].name);
		fprintf(dis->out, " 0x%" PRIx64 " %" PRIu32 " limit %" PRIu32, move->index_offset,
			move->index_step, move->limit);
	}
	if (move->random)
		fprintf(dis->out, " random 0x%" PRIx64 " 0x%" PRIx64, move->seed, move->number);
}

bool dis_dge(struct dis *dis, const struct neff_var *var)
{
	size_t count = (size_t)(var - dis->graph->vars);
	struct neuron_udma_dge block;
	struct nb_move move;

	if (var->size != sizeof(block))
		return false;
	memcpy(&block, var->data, sizeof(block));
	if (!find_move(&block, count, &move) || !is_same(dis, &block, count, &move))
		return false;
	fputs(".dge", dis->out);
	dis_op(dis, move.op, move.to_dtype, move.from_dtype);
	fputc(' ', dis->out);
	dis_name(dis, var->name);
	fputs(", ", dis->out);
	put_side(dis, &move.to);
	fputs(", ", dis->out);
	put_sources(dis, &move);
	put_parts(dis, &move);
	dis_newline(dis);
	return true;
}
