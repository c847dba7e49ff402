// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "contract/op.h"
#include "program/dma_ring.h"

/* The value that a post adds, in the window of constants. */
#define CONSTANT_ONE	0
#define CONSTANT_ALIGN	NEURON_UDMA_OP_ALIGN

NRT_STATUS dma_writer_init(struct dma_writer *writer, uint32_t window, uint64_t max_descs,
			   const char *what, struct nrt_error *error)
{
	uint32_t one = htole32(1);
	uint64_t addr;

	*writer = (struct dma_writer){
		.constants = { .window = window },
		.left = max_descs,
		.what = what,
		.error = error,
	};
	return dma_constant(writer, &one, sizeof(one), &addr);
}

void dma_constants_free(struct dma_constants *constants)
{
	free(constants->data);
	memset(constants, 0, sizeof(*constants));
}

static NRT_STATUS ring_grow(struct dma_writer *writer, struct dma_ring *ring)
{
	uint32_t room = ring->room ? ring->room * 2 : NEURON_UDMA_RING_MIN;
	struct neuron_udma_desc *descs;

	descs = reallocarray(ring->m2s, room, sizeof(*descs));
	if (!descs)
		return nrt_error_memory(writer->error);
	ring->m2s = descs;
	descs = reallocarray(ring->s2m, room, sizeof(*descs));
	if (!descs)
		return nrt_error_memory(writer->error);
	ring->s2m = descs;
	ring->room = room;
	return NRT_SUCCESS;
}

/* Room for a packet. Its M2S descriptors are what counts: there is no ring with more of S2M. */
static NRT_STATUS ring_reserve(struct dma_writer *writer, struct dma_ring *ring,
			       uint32_t sources, uint32_t targets)
{
	uint32_t most = sources > targets ? sources : targets;

	if (writer->left < most || ring->used + most > NEURON_UDMA_RING_MAX ||
	    ring->s2m_used + most > NEURON_UDMA_RING_MAX)
		return nrt_error_set(writer->error, NRT_RESOURCE,
				     "%s: the transfers need too many DMA descriptors; use longer contiguous runs",
				     writer->what);
	writer->left -= most;
	while (ring->used + sources > ring->room || ring->s2m_used + targets > ring->room)
		if (ring_grow(writer, ring))
			return writer->error->status;
	return NRT_SUCCESS;
}

NRT_STATUS dma_ring_copy(struct dma_writer *writer, struct dma_ring *ring, uint64_t from,
			 uint64_t to, uint64_t bytes, uint32_t meta)
{
	if (ring_reserve(writer, ring, 1, 1))
		return writer->error->status;
	ring->m2s[ring->used++] = neuron_copy_source(from, (uint32_t)bytes,
						     NEURON_UDMA_RING_ID_FIRST, meta);
	ring->s2m[ring->s2m_used++] = neuron_copy_target(to, (uint32_t)bytes,
							 NEURON_UDMA_RING_ID_FIRST, 0);
	return NRT_SUCCESS;
}

NRT_STATUS dma_ring_post(struct dma_writer *writer, struct dma_ring *ring, uint32_t window,
			 unsigned int semaphore, uint32_t value)
{
	uint64_t from = neuron_window_addr(writer->constants.window, CONSTANT_ONE);
	uint32_t number = htole32(value);

	if (value != 1 && dma_constant(writer, &number, sizeof(number), &from))
		return writer->error->status;
	return dma_ring_copy(writer, ring, from, neuron_window_addr(window, 4ull * semaphore), 4,
			     NEURON_UDMA_META_DEFAULT | NEURON_UDMA_META_WRITE_BARRIER);
}

NRT_STATUS dma_constant(struct dma_writer *writer, const void *data, size_t bytes,
			uint64_t *addr)
{
	struct dma_constants *constants = &writer->constants;
	size_t at = (constants->bytes + CONSTANT_ALIGN - 1) & ~(size_t)(CONSTANT_ALIGN - 1);
	size_t room = constants->room ? constants->room : 4096;
	uint8_t *grown;

	if (constants->bytes >= bytes &&
	    !memcmp(constants->data + constants->bytes - bytes, data, bytes)) {
		*addr = neuron_window_addr(constants->window, constants->bytes - bytes);
		return NRT_SUCCESS;
	}
	while (room < at + bytes)
		room *= 2;
	if (room != constants->room) {
		grown = realloc(constants->data, room);
		if (!grown)
			return nrt_error_memory(writer->error);
		constants->data = grown;
		constants->room = room;
	}
	memset(constants->data + constants->bytes, 0, at - constants->bytes);
	memcpy(constants->data + at, data, bytes);
	constants->bytes = at + bytes;
	*addr = neuron_window_addr(constants->window, at);
	return NRT_SUCCESS;
}

NRT_STATUS dma_ring_op(struct dma_writer *writer, struct dma_ring *ring,
		       const struct neuron_udma_op *block, const uint64_t *sources,
		       const uint64_t *targets)
{
	uint64_t addr;
	unsigned int i;

	if (dma_constant(writer, block, sizeof(*block), &addr) ||
	    ring_reserve(writer, ring, 1u + block->nr_src, block->nr_dst))
		return writer->error->status;
	ring->m2s[ring->used++] = neuron_op_block(addr, NEURON_UDMA_RING_ID_FIRST);
	for (i = 0; i < block->nr_src; i++)
		ring->m2s[ring->used++] = neuron_op_source(sources[i], NEURON_UDMA_RING_ID_FIRST,
							   i + 1u == block->nr_src);
	for (i = 0; i < block->nr_dst; i++)
		ring->s2m[ring->s2m_used++] = neuron_op_target(targets[i],
							       NEURON_UDMA_RING_ID_FIRST);
	return NRT_SUCCESS;
}

NRT_STATUS dma_ring_pad(struct dma_writer *writer, struct dma_ring *ring)
{
	uint32_t length = neuron_ring_length(ring->used > ring->s2m_used ? ring->used :
									   ring->s2m_used);

	while (ring->room < length)
		if (ring_grow(writer, ring))
			return writer->error->status;
	memset(&ring->m2s[ring->used], 0, (length - ring->used) * sizeof(*ring->m2s));
	memset(&ring->s2m[ring->s2m_used], 0, (length - ring->s2m_used) * sizeof(*ring->s2m));
	ring->length = length;
	return NRT_SUCCESS;
}

void dma_ring_free(struct dma_ring *ring)
{
	free(ring->m2s);
	free(ring->s2m);
	memset(ring, 0, sizeof(*ring));
}
