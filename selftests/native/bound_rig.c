// SPDX-License-Identifier: MIT
#include "bound_rig.h"

#include <string.h>

void bound_init(struct bound *b, struct rig *rig, uint64_t rings)
{
	const struct neuron_hw_window table[] = {
		{ .base = BOUND_WINDOW, .length = BOUND_BYTES,
		  .flags = NEURON_WINDOW_HBM | NEURON_WINDOW_READ |
			   NEURON_WINDOW_WRITE },
		{ .base = 0x1000, .length = 256,
		  .flags = NEURON_WINDOW_HBM | NEURON_WINDOW_READ },
		{ .base = rig_host_addr(rig, 0, rings),
		  .length = 2 * BOUND_RING_BYTES,
		  .flags = NEURON_WINDOW_HOST | NEURON_WINDOW_READ },
	};
	struct trn_core *core = &rig->chip[0]->core[0];
	uint64_t at = rig_host(rig, 0, sizeof(table));

	memset(b, 0, sizeof(*b));
	b->rings = rig_host_ptr(rig, 0, rings);
	memcpy(rig_host_ptr(rig, 0, at), table, sizeof(table));
	b->job.core = core;
	assert_int_equal(trn_domain_latch(core, rig_host_addr(rig, 0, at), 3,
					  &b->job.domain), 0);
	atomic_store(&b->job.refs, 1);
	b->queue = trn_udma_queue(rig->chip[0], BOUND_ENGINE, BOUND_QUEUE);
	b->queues[0] = b->queue;
	b->job.queues = b->queues;
	b->job.nr_queues = 1;
	b->tasks[0] = &b->queue->task;
	b->job.tasks = b->tasks;
	b->job.nr_tasks = 1;
	b->entry = (struct neuron_hw_job_queue){
		.m2s_ring = neuron_window_addr(2, 0),
		.s2m_ring = neuron_window_addr(2, BOUND_RING_BYTES),
		.m2s_length = BOUND_LENGTH,
		.s2m_length = BOUND_LENGTH,
		.dma_engine = BOUND_ENGINE,
		.queue = BOUND_QUEUE,
	};
	assert_true(trn_queue_bind(b->queue, &b->job, &b->entry, TRN_ACTOR_QUEUE));
}

void bound_again(struct bound *b)
{
	trn_queue_unbind(b->queue, &b->job);
	assert_true(trn_queue_bind(b->queue, &b->job, &b->entry, TRN_ACTOR_QUEUE));
}

bool bound_at_rest(void *arg)
{
	struct bound *b = arg;

	return atomic_load(&b->job.refs) == 1 &&
	       trn_task_quiet(&b->queue->task);
}

void bound_finish(struct bound *b)
{
	assert_true(fake_wait(bound_at_rest, b));
	trn_queue_unbind(b->queue, &b->job);
	trn_domain_free(b->job.domain);
}

void bound_desc(struct bound *b, unsigned int i, uint64_t dst, uint64_t src,
		uint32_t len)
{
	uint32_t id = (1 + i / BOUND_LENGTH) & 3;

	b->rings[i % BOUND_LENGTH] = (struct neuron_udma_desc){
		.len_ctrl = len | NEURON_UDMA_DESC_FIRST |
			    NEURON_UDMA_DESC_LAST |
			    NEURON_PUT(NEURON_UDMA_DESC_RING_ID, id),
		.meta_ctrl = NEURON_UDMA_META_DEFAULT,
		.addr = src,
	};
	b->rings[BOUND_RING_BYTES / 16 + i % BOUND_LENGTH] =
		(struct neuron_udma_desc){
			.len_ctrl = len |
				    NEURON_PUT(NEURON_UDMA_DESC_RING_ID, id),
			.addr = dst,
		};
}
