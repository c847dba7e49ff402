// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dumps: capturing, publishing, the DUMP ioctl.
 */
#include <linux/devcoredump.h>
#include <linux/kernfs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <drm/drm_print.h>

#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_coredump.h"
#include "neuron_dump.h"
#include "neuron_job.h"
#include "neuron_table.h"

/* A device that publishes so many has no time for more. */
#define NEURON_DUMPS_PENDING	8

int neuron_dump_init(struct neuron_device *ndev)
{
	atomic_set(&ndev->nr_dumps, 0);
	ndev->dump_wq = alloc_ordered_workqueue("neuron-dump", 0);
	return ndev->dump_wq ? 0 : -ENOMEM;
}

void neuron_dump_fini(struct neuron_device *ndev)
{
	destroy_workqueue(ndev->dump_wq);
}

static void neuron_dump_engine(struct neuron_dump_engine *dump,
			       struct neuron_core *core, unsigned int engine)
{
	dump->pc = neuron_core_read(core, NEURON_CORE_PC(engine));
	dump->state = neuron_core_read(core, NEURON_CORE_ENGINE(engine));
	dump->wait = neuron_core_read(core, NEURON_CORE_WAIT(engine));
	if (dump->state != NEURON_ENGINE_WAITING ||
	    dump->wait >= NEURON_NR_SEMAPHORES)
		return;
	dump->poster = neuron_ctl_read(core->ndev,
				       core->posters + 4 * dump->wait);
}

static void neuron_dump_core(struct neuron_dump *dump, struct neuron_core *core)
{
	void __iomem *sems = core->ndev->bar0 + core->sems_bar0;
	unsigned int i;

	/* The doorbell, first in the block, is for writing. */
	for (i = NEURON_CORE_STATUS / 4; i < NEURON_DUMP_REGS; i++)
		dump->reg[i] = neuron_core_read(core, i * 4);
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		neuron_dump_engine(&dump->engine[i], core, i);
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		dump->sem[i] = readl(sems + NEURON_SEM_READ(i));
	for (i = 0; i < NEURON_NR_EVENTS; i++)
		if (readl(sems + NEURON_SEM_EVENT(i)))
			dump->event[i / 64] |= BIT_ULL(i % 64);
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

static void neuron_dump_job(struct neuron_dump *dump, struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;

	dump->cc = job->cc;
	atomic_inc(&job->cc->nr_dumps);
	neuron_claim_get(job->cc->claim);
	if (job->table)
		dump->table = neuron_table_get(job->table);
	dump->job = job->id;
	spin_lock_irq(&core->lock);
	dump->ran_ns = ktime_get_ns() - core->started_ns;
	dump->faulted = job->faulted;
	dump->broken = job->broken;
	dump->record = job->record;
	spin_unlock_irq(&core->lock);
}

/* The next dump gets its memory when this one has been published. */
static void neuron_dump_take_memory(struct neuron_dump *dump)
{
	dump->memory = xchg(&dump->cc->dump_memory, NULL);
	if (dump->memory)
		neuron_core_memory_capture(dump->memory, dump->cc->core);
}

struct neuron_dump *neuron_dump_capture(struct neuron_job *job)
{
	struct neuron_core *core = job->cc->core;
	struct neuron_device *ndev = core->ndev;
	struct neuron_dump *dump;
	unsigned int i;

	if (!atomic_add_unless(&ndev->nr_dumps, 1, NEURON_DUMPS_PENDING))
		return NULL;
	dump = kzalloc(sizeof(*dump), GFP_NOWAIT | __GFP_NOWARN);
	if (!dump) {
		atomic_dec(&ndev->nr_dumps);
		return NULL;
	}
	neuron_dump_job(dump, job);
	neuron_dump_core(dump, core);
	neuron_dump_stream(dump, job);
	dump->nr_queues = job->nr_queues;
	for (i = 0; i < min(job->nr_queues, NEURON_DUMP_QUEUES); i++)
		neuron_dump_queue(&dump->queue[i], ndev,
				  &neuron_job_queues(job)[i]);
	neuron_dump_take_memory(dump);
	return dump;
}

static void neuron_dump_text_release(struct kref *ref)
{
	struct neuron_dump_text *text;

	text = container_of(ref, struct neuron_dump_text, kept.ref);
	vfree(text->memory);
	kvfree(text->text);
	kfree(text);
}

/* @text: @size bytes, not ours. Takes the memory out of @dump. */
static struct neuron_dump_text *neuron_dump_text_create(struct neuron_dump *dump,
							const char *text,
							size_t size)
{
	struct neuron_dump_text *kept;

	kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	if (!kept)
		return NULL;
	kref_init(&kept->kept.ref);
	kept->kept.release = neuron_dump_text_release;
	kept->text = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	if (!kept->text) {
		kfree(kept);
		return NULL;
	}
	memcpy(kept->text, text, size);
	kept->size = size;
	kept->job = dump->job;
	kept->memory = dump->memory;
	dump->memory = NULL;
	return kept;
}

/* A claim that is over keeps nothing. */
static void neuron_dump_keep(struct neuron_claim_core *cc,
			     struct neuron_dump_text *text)
{
	struct neuron_kept_dump *dump = text ? &text->kept : NULL;

	mutex_lock(&cc->lock);
	if (!cc->dead)
		swap(cc->dump, dump);
	mutex_unlock(&cc->lock);
	neuron_kept_dump_put(dump);
}

/*
 * The kernel keeps one dump for a device, and a link to it until the last reference to the
 * dump is gone, which may be some time after it was dismissed. With the link still there
 * the kernel would take another dump, fail to link it, and complain with a stack trace.
 */
static bool neuron_dump_is_published(struct device *dev)
{
	struct kernfs_node *link = kernfs_find_and_get(dev->kobj.sd,
						       "devcoredump");

	if (!link)
		return false;
	kernfs_put(link);
	return true;
}

static void neuron_dump_text(struct neuron_dump *dump)
{
	struct drm_print_iterator iter = { .remain = NEURON_DUMP_BYTES };
	struct neuron_claim_core *cc = dump->cc;
	struct device *dev = cc->core->ndev->drm.dev;
	struct drm_printer p;
	size_t size;

	iter.data = __vmalloc(NEURON_DUMP_BYTES,
			      GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!iter.data)
		return;
	p = drm_coredump_printer(&iter);
	neuron_dump_print(dump, &p);
	size = NEURON_DUMP_BYTES - iter.remain;
	neuron_dump_keep(cc, neuron_dump_text_create(dump, iter.data, size));
	if (neuron_dump_is_published(dev))
		vfree(iter.data);
	else	/* takes over the memory */
		dev_coredumpv(dev, iter.data, size, GFP_KERNEL);
}

/* What the dump took from a claim that wants its memories dumped. */
static void neuron_dump_refill(struct neuron_claim_core *cc)
{
	struct neuron_core_memory *memory;

	if (!cc->wants_memory || cc->dump_memory)
		return;
	memory = neuron_core_memory_create(GFP_KERNEL);
	if (memory && cmpxchg(&cc->dump_memory, NULL, memory))
		vfree(memory);
}

static void neuron_dump_work(struct work_struct *work)
{
	struct neuron_dump *dump = container_of(work, struct neuron_dump, work);
	struct neuron_claim_core *cc = dump->cc;
	struct neuron_device *ndev = cc->core->ndev;

	neuron_dump_text(dump);
	neuron_dump_refill(cc);
	if (dump->table)
		neuron_table_put(dump->table);
	vfree(dump->memory);
	kfree(dump);
	atomic_dec(&cc->nr_dumps);
	wake_up_all(&ndev->live_wait);
	neuron_claim_put(cc->claim);
	atomic_dec(&ndev->nr_dumps);
}

void neuron_dump_publish(struct neuron_dump *dump)
{
	if (!dump)
		return;
	INIT_WORK(&dump->work, neuron_dump_work);
	queue_work(dump->cc->core->ndev->dump_wq, &dump->work);
}

static struct neuron_dump_text *neuron_dump_get(struct neuron_claim_core *cc)
{
	struct neuron_kept_dump *dump;

	mutex_lock(&cc->lock);
	dump = cc->dump;
	if (dump)
		kref_get(&dump->ref);
	mutex_unlock(&cc->lock);
	return dump ? container_of(dump, struct neuron_dump_text, kept) : NULL;
}

/* Of a job that has ended the dump is on its way. */
static int neuron_dump_wait(struct neuron_claim_core *cc)
{
	return wait_event_killable(cc->core->ndev->live_wait,
				   !atomic_read(&cc->nr_dumps)) ? -EINTR : 0;
}

static int neuron_dump_copy_memory(const struct neuron_core_memory *memory,
				   void __user *to, size_t space)
{
	size_t size = neuron_core_memory_size(memory);
	char *text;
	int ret = 0;

	text = kvmalloc(size + 1, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!text)
		return -ENOMEM;
	neuron_core_memory_print(memory, text);
	if (copy_to_user(to, text, min(space, size)))
		ret = -EFAULT;
	kvfree(text);
	return ret;
}

static int neuron_dump_copy(const struct neuron_dump_text *text,
			    const struct neuron_core_memory *memory,
			    const struct drm_neuron_dump *args)
{
	void __user *to = u64_to_user_ptr(args->pointer);

	if (copy_to_user(to, text->text, min_t(size_t, args->size, text->size)))
		return -EFAULT;
	if (!memory || args->size <= text->size)
		return 0;
	return neuron_dump_copy_memory(memory, to + text->size,
				       args->size - text->size);
}

int neuron_ioctl_dump(struct drm_device *drm, void *data,
		      struct drm_file *file)
{
	const struct neuron_core_memory *memory;
	struct drm_neuron_dump *args = data;
	struct neuron_dump_text *text;
	struct neuron_claim_core *cc;
	int ret;

	if (args->flags & ~DRM_NEURON_DUMP_MEMORY) {
		drm_dbg(drm, "dump: unknown flags %#x\n", args->flags);
		return -EINVAL;
	}
	cc = neuron_claim_core_find_any(file, args->claim, args->core);
	if (IS_ERR(cc))
		return PTR_ERR(cc);
	ret = neuron_dump_wait(cc);
	text = ret ? NULL : neuron_dump_get(cc);
	neuron_claim_put(cc->claim);
	if (ret)
		return ret;
	if (!text) {
		drm_dbg(drm, "dump: no job of claim %u core %u has failed\n",
			args->claim, args->core);
		return -ENOENT;
	}

	memory = args->flags & DRM_NEURON_DUMP_MEMORY ? text->memory : NULL;
	if (args->pointer)
		ret = neuron_dump_copy(text, memory, args);
	args->size = text->size + (memory ? neuron_core_memory_size(memory) : 0);
	args->job = text->job;
	neuron_kept_dump_put(&text->kept);
	return ret;
}
