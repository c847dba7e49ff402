// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "program/dma_build.h"
#include "program/dma_op.h"

/* A share of a split transfer begins at a multiple of this. */
#define SHARE_ALIGN	64
/* The pattern of bytes may add one dimension: single bytes a step apart. */
#define CURSOR_DIMS	(NEFF_MAX_DESC_DIMS + 1)

/**
 * struct cursor - walks through one side of a transfer
 * @run: contiguous bytes at each position
 * @left: of the current run
 * @at: offset of the next byte
 * @ndim: outer dimensions
 * @size, @step, @index: of the outer dimensions
 */
struct cursor {
	uint64_t run;
	uint64_t left;
	uint64_t at;
	unsigned int ndim;
	uint64_t size[CURSOR_DIMS];
	int64_t step[CURSOR_DIMS];
	uint64_t index[CURSOR_DIMS];
};

struct builder {
	const struct neff_graph *graph;
	const struct dma_windows *windows;
	struct dma_program *program;
	struct dma_writer writer;
	struct nrt_error *error;
};

static void cursor_init(struct cursor *cursor, const struct neff_side *side)
{
	unsigned int first = side->step[0] == 1;
	unsigned int i;

	memset(cursor, 0, sizeof(*cursor));
	cursor->run = first ? side->size[0] : 1;
	cursor->at = side->offset;
	for (i = first; i < side->ndim; i++) {
		if (side->size[i] == 1)
			continue;
		/* Neighbouring runs are one longer run. */
		if (!cursor->ndim && side->step[i] == (int64_t)cursor->run) {
			cursor->run *= side->size[i];
			continue;
		}
		cursor->size[cursor->ndim] = side->size[i];
		cursor->step[cursor->ndim] = side->step[i];
		cursor->ndim++;
	}
	cursor->left = cursor->run;
}

static void cursor_advance(struct cursor *cursor, uint64_t bytes)
{
	unsigned int i;

	cursor->at += bytes;
	cursor->left -= bytes;
	if (cursor->left)
		return;
	cursor->left = cursor->run;
	cursor->at -= cursor->run;
	for (i = 0; i < cursor->ndim; i++) {
		cursor->at += (uint64_t)cursor->step[i];
		if (++cursor->index[i] < cursor->size[i])
			return;
		cursor->at -= (uint64_t)cursor->step[i] * cursor->size[i];
		cursor->index[i] = 0;
	}
}

/* The group that the next trigger of @desc's set runs; a new one for a new id. */
static struct dma_group *get_group(struct builder *builder, const struct neff_desc *desc)
{
	struct dma_set *set = &builder->program->sets[desc->set];
	struct dma_group *groups = set->groups;
	size_t i;

	if (set->nr_groups && groups[set->nr_groups - 1].id == desc->id)
		return &groups[set->nr_groups - 1];
	/* Ids mostly rise: then no older group can have this one. */
	if (set->nr_groups && desc->id <= set->max_id) {
		for (i = 0; i < set->nr_groups; i++) {
			if (groups[i].id != desc->id)
				continue;
			nrt_error_set(builder->error, NRT_INVALID,
				      "NEFF: %s engine: the transfers with id %u of queue \"%s\" are not next to each other",
				      neff_engine_name(desc->engine), desc->id,
				      builder->graph->sets[desc->set].name);
			return NULL;
		}
	}
	if (set->nr_groups == set->room) {
		size_t room = set->room ? set->room * 2 : 8;

		groups = reallocarray(set->groups, room, sizeof(*groups));
		if (!groups) {
			nrt_error_memory(builder->error);
			return NULL;
		}
		set->groups = groups;
		set->room = room;
	}
	memset(&groups[set->nr_groups], 0, sizeof(*groups));
	groups[set->nr_groups].id = desc->id;
	if (desc->id > set->max_id)
		set->max_id = desc->id;
	return &groups[set->nr_groups++];
}

static uint64_t var_addr(const struct builder *builder, const struct neff_side *side,
			 const struct cursor *cursor)
{
	return neuron_window_addr(builder->graph->vars[side->var].var_id, cursor->at);
}

static uint64_t min3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t min = a < b ? a : b;

	return min < c ? min : c;
}

/* Share number @queue: @bytes of the transfer, from where the cursors are. */
static NRT_STATUS add_share(struct builder *builder, const struct neff_desc *desc,
			    struct dma_ring *ring, uint64_t bytes, struct cursor *from,
			    struct cursor *to)
{
	while (bytes) {
		uint64_t piece = min3(from->left, to->left, bytes);

		if (piece > NEURON_UDMA_DESC_MAX_BYTES)
			piece = NEURON_UDMA_DESC_MAX_BYTES;
		if (dma_ring_copy(&builder->writer, ring, var_addr(builder, &desc->from, from),
				  var_addr(builder, &desc->to, to), piece,
				  NEURON_UDMA_META_DEFAULT))
			return builder->error->status;
		cursor_advance(from, piece);
		cursor_advance(to, piece);
		bytes -= piece;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS add_posts(struct builder *builder, const struct neff_desc *desc,
			    struct dma_ring *ring)
{
	unsigned int i;

	if (desc->semaphore >= 0 &&
	    dma_ring_post(&builder->writer, ring, builder->windows->semaphores,
			  (unsigned int)desc->semaphore, 1))
		return builder->error->status;
	for (i = 0; i < desc->nr_remotes; i++)
		if (dma_ring_post(&builder->writer, ring, builder->windows->sibling,
				  desc->remote[i], 1))
			return builder->error->status;
	return NRT_SUCCESS;
}

/* Bytes for each queue of the set, but the last ones may get less. */
static uint64_t share_of(const struct neff_desc *desc, const struct neff_set *set)
{
	uint64_t share = (desc->bytes + set->num - 1) / set->num;

	if (desc->first_queue)
		return desc->bytes;
	return (share + SHARE_ALIGN - 1) / SHARE_ALIGN * SHARE_ALIGN;
}

static NRT_STATUS add_copy(struct builder *builder, const struct neff_desc *desc)
{
	const struct neff_set *set = &builder->graph->sets[desc->set];
	struct cursor from, to;
	uint64_t share, left;
	unsigned int i;

	cursor_init(&from, &desc->from);
	cursor_init(&to, &desc->to);
	left = desc->bytes;
	share = share_of(desc, set);
	for (i = 0; i < set->num; i++) {
		struct dma_ring *ring = &builder->program->rings[set->index + i];
		uint64_t bytes = left < share ? left : share;

		if (add_share(builder, desc, ring, bytes, &from, &to))
			return builder->error->status;
		left -= bytes;
	}
	return NRT_SUCCESS;
}

/* The destination of a piece becomes the constant, which the operation then accumulates to. */
static NRT_STATUS add_fill(struct builder *builder, struct dma_ring *ring,
			   const struct neff_op *op, const struct dma_op_piece *piece,
			   uint64_t target)
{
	uint32_t value = htole32(op->constant);
	struct neuron_udma_op block = {
		.op = NEURON_UDMA_OP_COPY,
		.nr_src = 1,
		.nr_dst = 1,
		.src_dtype = NEURON_DTYPE_FP32,
		.dst_dtype = (uint8_t)op->to_dtype,
		.dst = piece->dst,
	};
	uint64_t source;

	/* One element again and again. */
	memcpy(block.src.num, piece->dst.num, sizeof(block.src.num));
	if (dma_constant(&builder->writer, &value, sizeof(value), &source))
		return builder->error->status;
	return dma_ring_op(&builder->writer, ring, &block, &source, &target);
}

static uint64_t piece_addr(const struct builder *builder, unsigned int var, uint64_t offset,
			   int64_t more)
{
	return neuron_window_addr(builder->graph->vars[var].var_id, offset + (uint64_t)more);
}

static NRT_STATUS add_piece(struct builder *builder, const struct neff_desc *desc,
			    struct dma_ring *ring, const struct dma_op_piece *piece)
{
	const struct neff_op *op = desc->op;
	uint64_t target = piece_addr(builder, desc->to.var, desc->to.offset, piece->to);
	uint64_t sources[NEURON_UDMA_OP_MAX_SRC];
	struct neuron_udma_op block = {
		.op = (uint8_t)op->opcode,
		.nr_src = (uint8_t)op->nr_sources,
		.nr_dst = 1,
		.src_dtype = (uint8_t)op->from_dtype,
		.dst_dtype = (uint8_t)op->to_dtype,
		.flags = op->has_constant ? NEURON_UDMA_OP_ACCUMULATE : 0,
		.src = piece->src,
		.dst = piece->dst,
	};
	unsigned int i;

	if (op->has_constant && add_fill(builder, ring, op, piece, target))
		return builder->error->status;
	for (i = 0; i < op->nr_sources; i++) {
		sources[i] = piece_addr(builder, op->sources[i].var, op->sources[i].offset,
					piece->from);
		if (op->opcode == NEURON_UDMA_OP_FMA)
			block.scale[i] = htole32(op->sources[i].scale);
	}
	return dma_ring_op(&builder->writer, ring, &block, sources, &target);
}

static NRT_STATUS add_op(struct builder *builder, const struct neff_desc *desc)
{
	const struct neff_set *set = &builder->graph->sets[desc->set];
	unsigned int queues = desc->first_queue ? 1 : set->num;
	struct dma_op_piece piece;
	struct dma_op_cut cut;
	unsigned int next = 0;

	dma_op_cut_init(&cut, desc, queues);
	while (dma_op_cut_next(&cut, &piece)) {
		if (add_piece(builder, desc, &builder->program->rings[set->index + next], &piece))
			return builder->error->status;
		next = (next + 1) % queues;
	}
	return NRT_SUCCESS;
}

static NRT_STATUS add_transfer(struct builder *builder, const struct neff_desc *desc)
{
	const struct neff_set *set = &builder->graph->sets[desc->set];
	struct dma_ring *rings = &builder->program->rings[set->index];
	uint32_t before[NEFF_MAX_QUEUES_OF_SET], s2m_before[NEFF_MAX_QUEUES_OF_SET];
	struct dma_group *group = get_group(builder, desc);
	unsigned int i;

	if (!group)
		return builder->error->status;
	for (i = 0; i < set->num; i++) {
		before[i] = rings[i].used;
		s2m_before[i] = rings[i].s2m_used;
	}
	if (desc->op ? add_op(builder, desc) : add_copy(builder, desc))
		return builder->error->status;
	for (i = 0; i < set->num; i++) {
		if (add_posts(builder, desc, &rings[i]))
			return builder->error->status;
		group->count[i] += rings[i].used - before[i];
		group->s2m_count[i] += rings[i].s2m_used - s2m_before[i];
	}
	return NRT_SUCCESS;
}

static NRT_STATUS build_all(struct builder *builder)
{
	struct dma_program *program = builder->program;
	size_t i;

	program->rings = calloc(program->nr_rings + 1, sizeof(*program->rings));
	program->sets = calloc(program->nr_sets + 1, sizeof(*program->sets));
	if (!program->rings || !program->sets)
		return nrt_error_memory(builder->error);
	for (i = 0; i < builder->graph->nr_descs; i++)
		if (add_transfer(builder, &builder->graph->descs[i]))
			return builder->error->status;
	for (i = 0; i < program->nr_rings; i++)
		if (dma_ring_pad(&builder->writer, &program->rings[i]))
			return builder->error->status;
	return NRT_SUCCESS;
}

NRT_STATUS dma_program_build(const struct neff_graph *graph, const struct dma_windows *windows,
			     uint64_t max_descs, struct dma_program *program,
			     struct nrt_error *error)
{
	struct builder builder = {
		.graph = graph,
		.windows = windows,
		.program = program,
		.error = error,
	};
	NRT_STATUS status;

	memset(program, 0, sizeof(*program));
	program->nr_rings = graph->nr_queues;
	program->nr_sets = graph->nr_sets;
	status = dma_writer_init(&builder.writer, windows->constants, max_descs, "NEFF", error);
	if (!status)
		status = build_all(&builder);
	program->constants = builder.writer.constants;
	if (status)
		dma_program_free(program);
	return status;
}

void dma_program_free(struct dma_program *program)
{
	size_t i;

	for (i = 0; program->rings && i < program->nr_rings; i++)
		dma_ring_free(&program->rings[i]);
	for (i = 0; program->sets && i < program->nr_sets; i++)
		free(program->sets[i].groups);
	free(program->rings);
	free(program->sets);
	dma_constants_free(&program->constants);
	memset(program, 0, sizeof(*program));
}
