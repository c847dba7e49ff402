// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/ring.h"
#include "public_ring.h"

#define MARKER		0xabcdef01u
#define LONG_MS		120000
#define PACKET		(NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST)

static int alloc_side(struct pub_device *dev, unsigned int core, int stack,
		      unsigned int length, struct pub_memory *mem)
{
	uint64_t size = length * sizeof(struct neuron_udma_desc);

	if (stack < 0)
		return pub_alloc_host(dev, core, size, mem);
	return pub_alloc(dev, core, stack, size, mem);
}

int pub_ring_alloc(struct pub_ring *ring, struct pub_device *dev,
		   unsigned int core, int stack, unsigned int length)
{
	int rc;

	if (length > PUB_RING_MOST)
		return -EINVAL;
	memset(ring, 0, sizeof(*ring));
	ring->dev = dev;
	ring->length = length;
	rc = alloc_side(dev, core, stack, length, &ring->tx);
	if (!rc)
		rc = alloc_side(dev, core, stack, length, &ring->rx);
	if (!rc)
		rc = pub_alloc_host(dev, core, 4096, &ring->marker);
	if (rc)
		return rc;
	ring->word = pub_map(dev, &ring->marker);
	return ring->word ? 0 : -ENOMEM;
}

void pub_ring_free(struct pub_ring *ring)
{
	munmap((void *)ring->word, 4096);
	pub_free(ring->dev, &ring->marker);
	pub_free(ring->dev, &ring->rx);
	pub_free(ring->dev, &ring->tx);
}

struct pub_dma_queue_init pub_ring_entry(struct pub_ring *ring,
					 unsigned int engine, unsigned int queue)
{
	ring->engine = engine;
	ring->queue = queue;
	ring->tx_tail = 0;
	ring->rx_tail = 0;
	ring->tx_given = 0;
	ring->rx_given = 0;
	return (struct pub_dma_queue_init){
		.engine = engine,
		.queue = queue,
		.tx_count = ring->length,
		.rx_count = ring->length,
		.tx_handle = ring->tx.handle,
		.rx_handle = ring->rx.handle,
	};
}

int pub_ring_init(struct pub_ring *ring, unsigned int engine, unsigned int queue)
{
	struct pub_dma_queue_init args = pub_ring_entry(ring, engine, queue);

	return pub_ioctl(ring->dev->fd, PUB_DMA_QUEUE_INIT, &args);
}

static struct neuron_udma_desc make(const struct pub_ring *ring,
				    unsigned int tail, uint64_t addr,
				    uint32_t len, uint32_t flags)
{
	return neuron_copy_target(addr, len, neuron_ring_id(tail, ring->length), flags);
}

void pub_ring_tx(struct pub_ring *ring, uint64_t addr, uint32_t len, uint32_t flags)
{
	struct neuron_udma_desc *desc = &ring->m2s[ring->tx_tail % ring->length];

	*desc = make(ring, ring->tx_tail++, addr, len, flags);
	desc->meta_ctrl = NEURON_UDMA_META_DEFAULT;
}

void pub_ring_rx(struct pub_ring *ring, uint64_t addr, uint32_t len)
{
	ring->s2m[ring->rx_tail % ring->length] =
		make(ring, ring->rx_tail, addr, len, 0);
	ring->rx_tail++;
}

void pub_ring_copy(struct pub_ring *ring, uint64_t dst, uint64_t src, uint32_t len)
{
	pub_ring_tx(ring, src, len, PACKET);
	pub_ring_rx(ring, dst, len);
}

/* Descriptors @from up to @to, which may wrap. */
static int give(struct pub_ring *ring, bool rx, unsigned int from, unsigned int to)
{
	struct neuron_udma_desc *desc = rx ? ring->s2m : ring->m2s;
	struct pub_dma_descriptors args = {
		.handle = rx ? ring->rx.handle : ring->tx.handle,
		.type = rx,
	};
	unsigned int at;
	int rc;

	for (; from < to; from += args.count) {
		at = from % ring->length;
		args.count = to - from;
		if (args.count > ring->length - at)
			args.count = ring->length - at;
		args.buffer = (uintptr_t)&desc[at];
		args.offset = at * sizeof(*desc);
		rc = pub_ioctl(ring->dev->fd, PUB_DMA_DESCRIPTORS, &args);
		if (rc)
			return rc;
	}
	return 0;
}

int pub_ring_start(struct pub_ring *ring)
{
	struct pub_dma_start args = {
		.engine = ring->engine,
		.queue = ring->queue,
	};
	int rc;

	ring->word[0] = MARKER;
	ring->word[1] = 0;
	pub_ring_copy(ring, ring->marker.pa + 4, ring->marker.pa, 4);
	/* The marker must not overtake what it stands for. */
	ring->m2s[(ring->tx_tail - 1) % ring->length].len_ctrl |= NEURON_UDMA_DESC_DMB;
	rc = give(ring, false, ring->tx_given, ring->tx_tail);
	if (!rc)
		rc = give(ring, true, ring->rx_given, ring->rx_tail);
	if (rc)
		return rc;
	args.tx_count = ring->tx_tail - ring->tx_given;
	args.rx_count = ring->rx_tail - ring->rx_given;
	ring->tx_given = ring->tx_tail;
	ring->rx_given = ring->rx_tail;
	return pub_ioctl(ring->dev->fd, PUB_DMA_START, &args);
}

int pub_ring_wait(struct pub_ring *ring, unsigned int ms)
{
	struct pub_dma_ack ack = {
		.engine = ring->engine,
		.queue = ring->queue,
		.count = 1,
	};
	unsigned int i;

	for (i = 0; i < ms && ring->word[1] != MARKER; i++)
		usleep(1000);
	if (ring->word[1] != MARKER)
		return -ETIMEDOUT;
	/* The driver ends in a BUG() for a ring of another length. */
	if (ring->length & (ring->length - 1))
		return 0;
	return pub_ioctl(ring->dev->fd, PUB_DMA_ACK, &ack);
}

int pub_ring_run(struct pub_ring *ring)
{
	int rc = pub_ring_start(ring);

	return rc ? rc : pub_ring_wait(ring, LONG_MS);
}
