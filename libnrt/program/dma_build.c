// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "contract/ring.h"
#include "program/dma_build.h"
#include "program/dma_op.h"

/* The value that a post adds, in the window of constants. */
#define CONSTANT_ONE	0
#define CONSTANT_ALIGN	NEURON_UDMA_OP_ALIGN
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
	struct nrt_error *error;
	uint64_t left;
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

static NRT_STATUS ring_grow(struct dma_ring *ring, struct nrt_error *error)
{
	uint32_t room = ring->room ? ring->room * 2 : NEURON_UDMA_RING_MIN;
	struct neuron_udma_desc *descs;

	descs = reallocarray(ring->m2s, room, sizeof(*descs));
	if (!descs)
		return nrt_error_memory(error);
	ring->m2s = descs;
	descs = reallocarray(ring->s2m, room, sizeof(*descs));
	if (!descs)
		return nrt_error_memory(error);
	ring->s2m = descs;
	ring->room = room;
	return NRT_SUCCESS;
}

/* Room for a packet of @sources M2S descriptors and one of S2M. */
static NRT_STATUS ring_reserve(struct builder *builder, struct dma_ring *ring, uint32_t sources)
{
	if (builder->left < sources || ring->used + sources > NEURON_UDMA_RING_MAX)
		return nrt_error_set(builder->error, NRT_RESOURCE,
				     "NEFF: the transfers need too many DMA descriptors; use longer contiguous runs");
	builder->left -= sources;
	while (ring->used + sources > ring->room || ring->s2m_used == ring->room)
		if (ring_grow(ring, builder->error))
			return builder->error->status;
	return NRT_SUCCESS;
}

static NRT_STATUS ring_add(struct builder *builder, struct dma_ring *ring, uint64_t from,
			   uint64_t to, uint64_t bytes, uint32_t meta)
{
	if (ring_reserve(builder, ring, 1))
		return builder->error->status;
	ring->m2s[ring->used++] = neuron_copy_source(from, (uint32_t)bytes,
						     NEURON_UDMA_RING_ID_FIRST, meta);
	ring->s2m[ring->s2m_used++] = neuron_copy_target(to, (uint32_t)bytes,
							 NEURON_UDMA_RING_ID_FIRST, 0);
	return NRT_SUCCESS;
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
		if (ring_add(builder, ring, var_addr(builder, &desc->from, from),
			     var_addr(builder, &desc->to, to), piece,
			     NEURON_UDMA_META_DEFAULT))
			return builder->error->status;
		cursor_advance(from, piece);
		cursor_advance(to, piece);
		bytes -= piece;
	}
	return NRT_SUCCESS;
}

/* The barrier keeps the post behind the bytes that it announces. */
static NRT_STATUS add_post(struct builder *builder, struct dma_ring *ring,
			   uint32_t window, unsigned int semaphore)
{
	return ring_add(builder, ring,
			neuron_window_addr(builder->windows->constants, CONSTANT_ONE),
			neuron_window_addr(window, 4ull * semaphore), 4,
			NEURON_UDMA_META_DEFAULT | NEURON_UDMA_META_WRITE_BARRIER);
}

static NRT_STATUS add_posts(struct builder *builder, const struct neff_desc *desc,
			    struct dma_ring *ring)
{
	unsigned int i;

	if (desc->semaphore >= 0 &&
	    add_post(builder, ring, builder->windows->semaphores, (unsigned int)desc->semaphore))
		return builder->error->status;
	for (i = 0; i < desc->nr_remotes; i++)
		if (add_post(builder, ring, builder->windows->sibling, desc->remote[i]))
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

/* Put @bytes into the constants, or find them where the last ones are; *@addr: window address. */
static NRT_STATUS add_constant(struct builder *builder, const void *data, size_t bytes,
			       uint64_t *addr)
{
	struct dma_program *program = builder->program;
	size_t at = (program->constant_bytes + CONSTANT_ALIGN - 1) & ~(size_t)(CONSTANT_ALIGN - 1);
	size_t room = program->constant_room ? program->constant_room : 4096;
	uint8_t *grown;

	if (program->constant_bytes >= bytes &&
	    !memcmp(program->constants + program->constant_bytes - bytes, data, bytes)) {
		*addr = neuron_window_addr(builder->windows->constants,
					   program->constant_bytes - bytes);
		return NRT_SUCCESS;
	}
	while (room < at + bytes)
		room *= 2;
	if (room != program->constant_room) {
		grown = realloc(program->constants, room);
		if (!grown)
			return nrt_error_memory(builder->error);
		program->constants = grown;
		program->constant_room = room;
	}
	memset(program->constants + program->constant_bytes, 0, at - program->constant_bytes);
	memcpy(program->constants + at, data, bytes);
	program->constant_bytes = at + bytes;
	*addr = neuron_window_addr(builder->windows->constants, at);
	return NRT_SUCCESS;
}

static struct neuron_udma_desc op_desc(uint64_t addr, uint32_t bytes, uint32_t flags,
				       uint32_t meta)
{
	return (struct neuron_udma_desc){
		.len_ctrl = htole32(neuron_desc_control(NEURON_UDMA_RING_ID_FIRST, bytes, flags)),
		.meta_ctrl = htole32(meta),
		.addr = htole64(addr),
	};
}

/* The packet of an operation: its block, its sources, its destination. */
static NRT_STATUS add_packet(struct builder *builder, struct dma_ring *ring,
			     const struct neuron_udma_op *block, const uint64_t *sources,
			     uint64_t target)
{
	uint64_t addr;
	unsigned int i;

	if (add_constant(builder, block, sizeof(*block), &addr) ||
	    ring_reserve(builder, ring, 1u + block->nr_src))
		return builder->error->status;
	ring->m2s[ring->used++] = op_desc(addr, sizeof(*block), NEURON_UDMA_DESC_FIRST,
					  NEURON_UDMA_META_OP);
	for (i = 0; i < block->nr_src; i++)
		ring->m2s[ring->used++] = op_desc(sources[i], 1,
						  i + 1u == block->nr_src ?
						  NEURON_UDMA_DESC_LAST : 0,
						  NEURON_UDMA_META_DEFAULT);
	ring->s2m[ring->s2m_used++] = op_desc(target, 1, 0, 0);
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
	if (add_constant(builder, &value, sizeof(value), &source))
		return builder->error->status;
	return add_packet(builder, ring, &block, &source, target);
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
	return add_packet(builder, ring, &block, sources, target);
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

static NRT_STATUS pad_ring(struct dma_ring *ring, struct nrt_error *error)
{
	uint32_t length = ring->used;

	if (length < NEURON_UDMA_RING_MIN)
		length = NEURON_UDMA_RING_MIN;
	length = (length + NEURON_UDMA_RING_MULTIPLE - 1) / NEURON_UDMA_RING_MULTIPLE *
		 NEURON_UDMA_RING_MULTIPLE;
	while (ring->room < length)
		if (ring_grow(ring, error))
			return error->status;
	memset(&ring->m2s[ring->used], 0, (length - ring->used) * sizeof(*ring->m2s));
	memset(&ring->s2m[ring->s2m_used], 0, (length - ring->s2m_used) * sizeof(*ring->s2m));
	ring->length = length;
	return NRT_SUCCESS;
}

static NRT_STATUS build_all(struct builder *builder)
{
	struct dma_program *program = builder->program;
	uint32_t one = htole32(1);
	uint64_t addr;
	size_t i;

	program->rings = calloc(program->nr_rings + 1, sizeof(*program->rings));
	program->sets = calloc(program->nr_sets + 1, sizeof(*program->sets));
	if (!program->rings || !program->sets)
		return nrt_error_memory(builder->error);
	if (add_constant(builder, &one, sizeof(one), &addr))
		return builder->error->status;
	for (i = 0; i < builder->graph->nr_descs; i++)
		if (add_transfer(builder, &builder->graph->descs[i]))
			return builder->error->status;
	for (i = 0; i < program->nr_rings; i++)
		if (pad_ring(&program->rings[i], builder->error))
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
		.left = max_descs,
	};
	NRT_STATUS status;

	memset(program, 0, sizeof(*program));
	program->nr_rings = graph->nr_queues;
	program->nr_sets = graph->nr_sets;
	status = build_all(&builder);
	if (status)
		dma_program_free(program);
	return status;
}

void dma_program_free(struct dma_program *program)
{
	size_t i;

	for (i = 0; program->rings && i < program->nr_rings; i++) {
		free(program->rings[i].m2s);
		free(program->rings[i].s2m);
	}
	for (i = 0; program->sets && i < program->nr_sets; i++)
		free(program->sets[i].groups);
	free(program->rings);
	free(program->sets);
	free(program->constants);
	memset(program, 0, sizeof(*program));
}
