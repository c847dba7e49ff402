// SPDX-License-Identifier: MIT
#include "bound_rig.h"
#include "contract/job.h"
#include "contract/ring.h"
#include "contract/window.h"

#include <string.h>

void bound_init(struct bound *b, struct rig *rig, uint64_t rings)
{
	const struct neuron_hw_window table[] = {
		neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_RIGHTS, BOUND_WINDOW,
					BOUND_BYTES),
		neuron_hw_window_memory(NEURON_WINDOW_HBM, NEURON_WINDOW_READ, 0x1000, 256),
		neuron_hw_window_memory(NEURON_WINDOW_HOST, NEURON_WINDOW_READ,
					rig_host_addr(rig, 0, rings), 2 * BOUND_RING_BYTES),
	};
	struct trn_core *core = &rig->chip[0]->core[0];
	uint64_t at = rig_host(rig, 0, sizeof(table));

	memset(b, 0, sizeof(*b));
	b->rings = rig_host_ptr(rig, 0, rings);
	memcpy(rig_host_ptr(rig, 0, at), table, sizeof(table));
	b->job.core = core;
	assert_int_equal(trn_domain_latch(core, rig_host_addr(rig, 0, at), 3,
					  &b->job.domain, NULL), 0);
	atomic_store(&b->job.refs, 1);
	b->queue = trn_udma_queue_at(rig->chip[0], BOUND_ENGINE, BOUND_QUEUE);
	b->queues[0] = b->queue;
	b->job.queues = b->queues;
	b->job.nr_queues = 1;
	b->tasks[0] = &b->queue->task;
	b->job.tasks = b->tasks;
	b->job.nr_tasks = 1;
	assert_null(neuron_hw_job_queue_place(&b->entry, 0, BOUND_ENGINE, BOUND_QUEUE));
	neuron_hw_job_queue_rings(&b->entry, neuron_window_addr(2, 0), BOUND_LENGTH,
				  neuron_window_addr(2, BOUND_RING_BYTES), BOUND_LENGTH, 0);
	assert_true(trn_udma_queue_bind(b->queue, &b->job, &b->entry, TRN_ACTOR_QUEUE));
}

void bound_again(struct bound *b)
{
	trn_udma_queue_unbind(b->queue, &b->job);
	assert_true(trn_udma_queue_bind(b->queue, &b->job, &b->entry, TRN_ACTOR_QUEUE));
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
	trn_udma_queue_unbind(b->queue, &b->job);
	trn_domain_free(b->job.domain);
}

void bound_desc(struct bound *b, unsigned int i, uint64_t dst, uint64_t src,
		uint32_t len)
{
	uint32_t id = neuron_ring_id(i, BOUND_LENGTH);

	b->rings[i % BOUND_LENGTH] = neuron_copy_source(src, len, id, NEURON_UDMA_META_DEFAULT);
	b->rings[BOUND_RING_BYTES / 16 + i % BOUND_LENGTH] = neuron_copy_target(dst, len, id, 0);
}
