// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dumps: registers, semaphores and queues at the time of a fault. The
 * memories of the core are not in it.
 */
#include <linux/devcoredump.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_print.h>

#include "neuron_claim.h"
#include "neuron_coredump.h"
#include "neuron_job.h"
#include "neuron_report.h"

#define NEURON_DUMP_QUEUES	64	/* of a job */
#define NEURON_DUMP_BYTES	32768	/* of text, at most */

/**
 * struct neuron_dump_queue - a queue of the job
 * @engine: DMA engine of the chip
 * @queue: queue of the engine
 * @m2s_head: position in the M2S ring
 * @m2s_tail: descriptors given to it
 * @s2m_head: position in the S2M ring
 * @s2m_tail: descriptors given to it
 */
struct neuron_dump_queue {
	u16 engine;
	u16 queue;
	u32 m2s_head;
	u32 m2s_tail;
	u32 s2m_head;
	u32 s2m_tail;
};

/**
 * struct neuron_dump - state of a core
 * @core: index
 * @job: job id
 * @ran_ns: since the doorbell
 * @faulted: @record is the device's; else the job was hung
 * @record: completion record
 * @status: core status
 * @progress: retired instructions and descriptors
 * @pc: of each engine
 * @engine: status of each engine
 * @wait: semaphore that each engine waits for
 * @sem: semaphores
 * @nr_queues: of the job; the first NEURON_DUMP_QUEUES are in @queue
 * @queue: queues
 */
struct neuron_dump {
	unsigned int core;
	u64 job;
	u64 ran_ns;
	bool faulted;
	struct neuron_hw_completion record;
	u32 status;
	u64 progress;
	u32 pc[NEURON_NR_ENGINES];
	u32 engine[NEURON_NR_ENGINES];
	u32 wait[NEURON_NR_ENGINES];
	s32 sem[NEURON_NR_SEMAPHORES];
	unsigned int nr_queues;
	struct neuron_dump_queue queue[NEURON_DUMP_QUEUES];
};

static void neuron_dump_core(struct neuron_dump *dump, struct neuron_core *core)
{
	void __iomem *sems = core->ndev->bar0 + NEURON_TPB_SEM +
			     neuron_tpb_bar0(core->ndev->gen, core->index);
	unsigned int i;

	dump->status = neuron_core_read(core, NEURON_CORE_STATUS);
	dump->progress = neuron_ctl_read64(core->ndev,
					   NEURON_CTL_CORE(core->index) +
					   NEURON_CORE_PROGRESS);
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		dump->pc[i] = neuron_core_read(core, NEURON_CORE_PC(i));
		dump->engine[i] = neuron_core_read(core, NEURON_CORE_ENGINE(i));
		dump->wait[i] = neuron_core_read(core, NEURON_CORE_WAIT(i));
	}
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		dump->sem[i] = readl(sems + NEURON_SEM_READ(i));
}

static void neuron_dump_queue(struct neuron_dump_queue *dump,
			      struct neuron_device *ndev,
			      const struct neuron_hw_job_queue *queue)
{
	void __iomem *block;

	dump->engine = le16_to_cpu(queue->dma_engine);
	dump->queue = le16_to_cpu(queue->queue);
	/* The table lies in memory that the device can write. */
	if (dump->engine >= ndev->gen->nr_dma ||
	    dump->queue >= NEURON_UDMA_QUEUES)
		return;
	block = ndev->bar0 + neuron_dma_bar0(ndev->gen, dump->engine);
	dump->m2s_head = readl(block + NEURON_UDMA_M2S_Q(dump->queue) +
			       NEURON_UDMA_Q_HEAD);
	dump->m2s_tail = readl(block + NEURON_UDMA_M2S_Q(dump->queue) +
			       NEURON_UDMA_Q_TAIL);
	dump->s2m_head = readl(block + NEURON_UDMA_S2M_Q(dump->queue) +
			       NEURON_UDMA_Q_HEAD);
	dump->s2m_tail = readl(block + NEURON_UDMA_S2M_Q(dump->queue) +
			       NEURON_UDMA_Q_TAIL);
}

struct neuron_dump *neuron_dump_capture(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_dump *dump;
	unsigned int i;

	dump = kzalloc(sizeof(*dump), GFP_NOWAIT | __GFP_NOWARN);
	if (!dump)
		return NULL;
	dump->core = core->index;
	dump->job = job->id;
	spin_lock_irq(&core->lock);
	dump->ran_ns = ktime_get_ns() - job->started_ns;
	dump->faulted = job->faulted;
	dump->record = job->record;
	spin_unlock_irq(&core->lock);

	neuron_dump_core(dump, core);
	dump->nr_queues = job->nr_queues;
	for (i = 0; i < min(job->nr_queues, NEURON_DUMP_QUEUES); i++)
		neuron_dump_queue(&dump->queue[i], core->ndev,
				  &neuron_job_queues(job)[i]);
	return dump;
}

static void neuron_dump_print(const struct neuron_dump *dump,
			      struct neuron_device *ndev, struct drm_printer *p)
{
	static const char * const states[] = { "halted", "running", "waiting" };
	const struct neuron_dump_queue *queue;
	char text[NEURON_FAULT_TEXT];
	unsigned int i;

	neuron_fault_format(text, &dump->record);
	drm_printf(p, "neuron core dump 1\n");
	drm_printf(p, "device: %s %s\n", ndev->gen->name,
		   dev_name(ndev->drm.dev));
	drm_printf(p, "core: %u\njob: %llu\nran_ns: %llu\n", dump->core,
		   dump->job, dump->ran_ns);
	drm_printf(p, "reason: %s\n", dump->faulted ? text : "hang");
	drm_printf(p, "core_status: %u\nprogress: %llu\n", dump->status,
		   dump->progress);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		drm_printf(p, "engine %s: pc %u state %s semaphore %u\n",
			   neuron_engine_name(i), dump->pc[i],
			   dump->engine[i] < ARRAY_SIZE(states) ?
			   states[dump->engine[i]] : "?", dump->wait[i]);
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		if (dump->sem[i])
			drm_printf(p, "semaphore %u: %d\n", i, dump->sem[i]);
	for (i = 0; i < min(dump->nr_queues, NEURON_DUMP_QUEUES); i++) {
		queue = &dump->queue[i];
		drm_printf(p, "queue %u: dma %u.%u m2s %u/%u s2m %u/%u\n", i,
			   queue->engine, queue->queue, queue->m2s_head,
			   queue->m2s_tail, queue->s2m_head, queue->s2m_tail);
	}
}

void neuron_dump_publish(struct neuron_device *ndev, struct neuron_dump *dump)
{
	struct drm_print_iterator iter = { .remain = NEURON_DUMP_BYTES };
	struct drm_printer p;

	if (!dump)
		return;
	iter.data = vzalloc(NEURON_DUMP_BYTES);
	if (iter.data) {
		p = drm_coredump_printer(&iter);
		neuron_dump_print(dump, ndev, &p);
		/* Takes over the memory. */
		dev_coredumpv(ndev->drm.dev, iter.data,
			      NEURON_DUMP_BYTES - iter.remain, GFP_KERNEL);
	}
	kfree(dump);
}
