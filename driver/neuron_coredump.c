// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core dumps of failed and hung jobs: captured where the job ends, printed and published
 * by a thread of their own; the DUMP ioctl.
 */
#include <linux/bitops.h>
#include <linux/devcoredump.h>
#include <linux/kernfs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <drm/drm_print.h>

#include "contract/notify.h"
#include "contract/record.h"
#include "neuron/address.h"
#include "neuron_claim.h"
#include "neuron_core.h"
#include "neuron_coredump.h"
#include "neuron_gem.h"
#include "neuron_grant.h"
#include "neuron_ioctl.h"
#include "neuron_job.h"
#include "neuron_result.h"
#include "neuron_table.h"

#define NEURON_DUMP_QUEUES	64	/* of a job */
#define NEURON_DUMP_WINDOWS	256	/* of its table, those that are not empty */
#define NEURON_DUMP_BYTES	(256 * 1024)	/* of text, at most */
#define NEURON_DUMP_NOTIFIES	16	/* last entries of the stream */
#define NEURON_DUMP_REGS	(0x40 / 4)	/* first words of the core's block */

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
 * struct neuron_dump_engine - an engine of the core
 * @pc: instruction
 * @state: enum neuron_engine_status
 * @wait: semaphore or event (NEURON_CORE_WAIT_EVENT) that it waits for
 * @poster: NEURON_CTL_SEM_POSTER of that semaphore
 */
struct neuron_dump_engine {
	u32 pc;
	u32 state;
	u32 wait;
	u32 poster;
};

/**
 * struct neuron_dump - state of a core
 * @work: publishes it
 * @cc: core in its claim; the claim is referenced
 * @table: window table of the job, referenced, or NULL
 * @memory: what was in the core's memories, or NULL
 * @job: job id
 * @ran_ns: since the doorbell
 * @faulted: @record is the device's; else the job was hung
 * @broken: the device broke the contract
 * @record: completion record
 * @reg: start of the core's register block
 * @engine: engines
 * @sem: semaphores
 * @event: bit i: event i is set
 * @nr_notifies: of @notify
 * @notify: last entries of the notification stream, the newest last
 * @nr_queues: of the job; the first NEURON_DUMP_QUEUES are in @queue
 * @queue: queues
 */
struct neuron_dump {
	struct work_struct work;
	struct neuron_claim_core *cc;
	struct neuron_table *table;
	struct neuron_core_memory *memory;
	u64 job;
	u64 ran_ns;
	bool faulted;
	bool broken;
	struct neuron_record record;
	u32 reg[NEURON_DUMP_REGS];
	struct neuron_dump_engine engine[NEURON_NR_ENGINES];
	s32 sem[NEURON_NR_SEMAPHORES];
	u64 event[NEURON_NR_EVENTS / 64];
	unsigned int nr_notifies;
	struct neuron_hw_notify notify[NEURON_DUMP_NOTIFIES];
	unsigned int nr_queues;
	struct neuron_dump_queue queue[NEURON_DUMP_QUEUES];
};

/**
 * struct neuron_dump_text - a dump that is kept for the owner of the core
 * @kept: referenced by the claim and by each reader
 * @job: id of the job that the dump is about
 * @size: bytes of @text
 * @text: the dump as text
 * @memory: contents of the core's memories, printed when a reader asks for them; or NULL
 */
struct neuron_dump_text {
	struct neuron_kept_dump kept;
	u64 job;
	size_t size;
	char *text;
	struct neuron_core_memory *memory;
};

/*
 * The last notifications of a job, when it has a stream in memory of the kernel.
 */

/**
 * struct neuron_dump_source - the part of the stream that the job writes
 * @bo: stream
 * @first: its first entry in the buffer
 * @nr: entries
 */
struct neuron_dump_source {
	struct neuron_bo *bo;
	u64 first;
	u32 nr;
};

#define NEURON_PAGE_NOTIFIES	(PAGE_SIZE / sizeof(struct neuron_hw_notify))

static bool neuron_dump_source_find(struct neuron_dump_source *source,
				    struct neuron_job *job)
{
	const struct neuron_binding *binding;
	u64 addr, offset, size;

	/* The job block lies in memory that the device can write. */
	addr = le64_to_cpu(job->hw->notify_addr);
	/* The table may have the stream of an earlier job, while this one writes elsewhere. */
	binding = neuron_table_stream(job->table);
	if (!binding || NEURON_GET(NEURON_ADDR_WINDOW_INDEX, addr) != job->table->nr)
		return false;
	offset = NEURON_GET(NEURON_ADDR_WINDOW_OFFSET, addr);
	size = le32_to_cpu(job->hw->notify_size);
	source->bo = binding->bo;
	source->first = offset / sizeof(struct neuron_hw_notify);
	source->nr = neuron_notify_entries(size);
	return source->nr && offset <= source->bo->base.size &&
	       size <= source->bo->base.size - offset;
}

static struct neuron_hw_notify
neuron_dump_notify(const struct neuron_dump_source *source, u32 index)
{
	u64 entry = source->first + index;
	const struct neuron_hw_notify *page;
	unsigned long pfn;

	if (!neuron_host_bo_pages(source->bo, entry / NEURON_PAGE_NOTIFIES,
				  &pfn))
		return (struct neuron_hw_notify){ };
	page = pfn_to_kaddr(pfn);
	return page[entry % NEURON_PAGE_NOTIFIES];
}

/* The newest entry. */
static u32 neuron_dump_last(const struct neuron_dump_source *source)
{
	const struct neuron_hw_notify first = neuron_dump_notify(source, 0);
	struct neuron_notify_search search = neuron_notify_search(source->nr);
	struct neuron_hw_notify entry;

	while (neuron_notify_search_goes_on(&search)) {
		entry = neuron_dump_notify(source, neuron_notify_search_at(&search));
		neuron_notify_search_saw(&search, neuron_notify_same_lap(&first, &entry));
	}
	return search.low;
}

static void neuron_dump_stream(struct neuron_dump *dump, struct neuron_job *job)
{
	struct neuron_dump_source source;
	struct neuron_hw_notify entry;
	u32 i, last;

	if (!neuron_dump_source_find(&source, job))
		return;
	last = neuron_dump_last(&source);
	for (i = min_t(u32, NEURON_DUMP_NOTIFIES, source.nr); i--;) {
		entry = neuron_dump_notify(&source, (last + source.nr - i) %
					   source.nr);
		/* What was never written. */
		if (!entry.source && !entry.tag && !entry.time_ns)
			continue;
		dump->notify[dump->nr_notifies++] = entry;
	}
}

/*
 * Dumps as text. Documentation/driver.rst has the format.
 */

static void neuron_dump_print_head(const struct neuron_dump *dump,
				   struct drm_printer *p)
{
	const struct neuron_core *core = dump->cc->core;
	struct neuron_device *ndev = core->ndev;
	char text[NEURON_FAULT_TEXT];

	drm_printf(p, "neuron core dump 2\n");
	drm_printf(p, "device: %s %s\n", ndev->gen->name,
		   dev_name(ndev->drm.dev));
	drm_printf(p, "core: %u", core->index);
	if (neuron_core_is_cc(core))
		drm_printf(p, " (%s)", core->name);
	drm_printf(p, "\njob: %llu\nran_ns: %llu\n", dump->job, dump->ran_ns);
	neuron_fault_format(text, &dump->record);
	if (dump->faulted)
		drm_printf(p, "reason: %s\n", text);
	else
		drm_printf(p, "reason: %s\n",
			   dump->broken ? "broken contract" : "hang");
}

static u64 neuron_dump_reg64(const struct neuron_dump *dump, u32 reg)
{
	return dump->reg[reg / 4] | (u64)dump->reg[reg / 4 + 1] << 32;
}

static void neuron_dump_print_regs(const struct neuron_dump *dump,
				   struct drm_printer *p)
{
	drm_printf(p, "core_status: %u\n", dump->reg[NEURON_CORE_STATUS / 4]);
	drm_printf(p, "progress: %llu\n",
		   neuron_dump_reg64(dump, NEURON_CORE_PROGRESS));
	drm_printf(p, "register cause: %#x\n",
		   dump->reg[NEURON_CORE_CAUSE / 4]);
	drm_printf(p, "register mask: %#x\n", dump->reg[NEURON_CORE_MASK / 4]);
	drm_printf(p, "register vector: %u\n",
		   dump->reg[NEURON_CORE_VECTOR / 4]);
	drm_printf(p, "register generation: %u\n",
		   dump->reg[NEURON_CORE_GENERATION / 4]);
	drm_printf(p, "register busy_ns: %llu\n",
		   neuron_dump_reg64(dump, NEURON_CORE_BUSY_NS));
	drm_printf(p, "register stale_posts: %u\n",
		   dump->reg[NEURON_CORE_STALE_POSTS / 4]);
	drm_printf(p, "register violations: %u\n",
		   dump->reg[NEURON_CORE_VIOLATIONS / 4]);
	drm_printf(p, "register jobs: %u\n", dump->reg[NEURON_CORE_JOBS / 4]);
}

static void neuron_dump_print_poster(u32 poster, struct drm_printer *p)
{
	u32 who = NEURON_GET(NEURON_SEM_POSTER_WHO, poster);

	switch (NEURON_GET(NEURON_SEM_POSTER_KIND, poster)) {
	case NEURON_SEM_POSTER_NOBODY:
		drm_printf(p, "nobody");
		break;
	case NEURON_SEM_POSTER_ENGINE:
		drm_printf(p, "engine %s", neuron_engine_name(who));
		break;
	case NEURON_SEM_POSTER_DMA:
		drm_printf(p, "dma %u.%u", neuron_record_queue_engine(who),
			   neuron_record_queue_index(who));
		break;
	case NEURON_SEM_POSTER_PEER:
		drm_printf(p, "chip %u", who);
		break;
	case NEURON_SEM_POSTER_HOST:
		drm_printf(p, "host");
		break;
	case NEURON_SEM_POSTER_CC:
		drm_printf(p, "CC-core %u", who);
		break;
	default:
		drm_printf(p, "? %#x", poster);
		break;
	}
}

/* What the engine waits for, and who could end that. */
static void neuron_dump_print_wait(const struct neuron_dump *dump,
				   unsigned int engine, struct drm_printer *p)
{
	u32 wait = dump->engine[engine].wait;
	u32 index = wait % NEURON_NR_SEMAPHORES;

	if (dump->engine[engine].state != NEURON_ENGINE_WAITING)
		return;
	if (wait & NEURON_CORE_WAIT_EVENT) {
		drm_printf(p, "wait %s: event %u value %u\n",
			   neuron_engine_name(engine), index,
			   !!(dump->event[index / 64] & BIT_ULL(index % 64)));
		return;
	}
	drm_printf(p, "wait %s: semaphore %u value %d last changed by ",
		   neuron_engine_name(engine), index, dump->sem[index]);
	neuron_dump_print_poster(dump->engine[engine].poster, p);
	drm_printf(p, "\n");
	neuron_grant_print(dump->cc, index, p);
}

static void neuron_dump_print_engines(const struct neuron_dump *dump,
				      struct drm_printer *p)
{
	static const char * const states[] = { "halted", "running", "waiting" };
	const struct neuron_dump_engine *engine;
	unsigned int i;

	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		engine = &dump->engine[i];
		drm_printf(p, "engine %s: pc %u state %s", neuron_engine_name(i),
			   engine->pc, engine->state < ARRAY_SIZE(states) ?
			   states[engine->state] : "?");
		if (engine->state == NEURON_ENGINE_WAITING)
			drm_printf(p, " %s %u",
				   engine->wait & NEURON_CORE_WAIT_EVENT ?
				   "event" : "semaphore",
				   engine->wait % NEURON_NR_SEMAPHORES);
		drm_printf(p, "\n");
	}
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		neuron_dump_print_wait(dump, i, p);
}

static bool neuron_dump_queue_busy(const struct neuron_dump_queue *queue)
{
	return queue->m2s_head != queue->m2s_tail ||
	       queue->s2m_head != queue->s2m_tail;
}

/* After a fault the chip has stopped everything. */
static void neuron_dump_print_unfinished(const struct neuron_dump *dump,
					 struct drm_printer *p)
{
	unsigned int i;

	if (dump->faulted)
		return;
	drm_printf(p, "unfinished:");
	for (i = 0; i < NEURON_NR_ENGINES; i++)
		if (dump->engine[i].state != NEURON_ENGINE_HALTED)
			drm_printf(p, " engine %s", neuron_engine_name(i));
	for (i = 0; i < min(dump->nr_queues, NEURON_DUMP_QUEUES); i++)
		if (neuron_dump_queue_busy(&dump->queue[i]))
			drm_printf(p, " queue %u", i);
	drm_printf(p, "\n");
}

static void neuron_dump_print_posts(const struct neuron_dump *dump,
				    struct drm_printer *p)
{
	unsigned int i;

	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		if (dump->sem[i])
			drm_printf(p, "semaphore %u: %d\n", i, dump->sem[i]);
	for (i = 0; i < NEURON_NR_EVENTS; i++)
		if (dump->event[i / 64] & BIT_ULL(i % 64))
			drm_printf(p, "event %u: 1\n", i);
}

static void neuron_dump_print_queues(const struct neuron_dump *dump,
				     struct drm_printer *p)
{
	const struct neuron_dump_queue *queue;
	unsigned int i;

	for (i = 0; i < min(dump->nr_queues, NEURON_DUMP_QUEUES); i++) {
		queue = &dump->queue[i];
		drm_printf(p, "queue %u: dma %u.%u m2s %u/%u s2m %u/%u\n", i,
			   queue->engine, queue->queue, queue->m2s_head,
			   queue->m2s_tail, queue->s2m_head, queue->s2m_tail);
	}
	if (dump->nr_queues > NEURON_DUMP_QUEUES)
		drm_printf(p, "queues: %u more\n",
			   dump->nr_queues - NEURON_DUMP_QUEUES);
}

static void neuron_dump_print_notifies(const struct neuron_dump *dump,
				       struct drm_printer *p)
{
	struct neuron_notice notice;
	unsigned int i;

	for (i = 0; i < dump->nr_notifies; i++) {
		notice = neuron_notice_decode(&dump->notify[i]);
		drm_printf(p, "notify: engine %s pc %u tag %#x time_ns %llu\n",
			   neuron_engine_name(notice.engine), notice.pc, notice.tag,
			   notice.time_ns);
	}
}

/* May sleep. */
static void neuron_dump_print(const struct neuron_dump *dump, struct drm_printer *p)
{
	neuron_dump_print_head(dump, p);
	neuron_dump_print_regs(dump, p);
	neuron_dump_print_engines(dump, p);
	neuron_dump_print_unfinished(dump, p);
	neuron_dump_print_posts(dump, p);
	neuron_dump_print_queues(dump, p);
	neuron_dump_print_notifies(dump, p);
	if (dump->table)
		neuron_table_print(dump->table, NEURON_DUMP_WINDOWS, p);
}

/* Capturing, publishing, the ioctl. */

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

/* Takes the memory from the claim, which gets new memory when this dump has been published. */
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

/* Copies the @size bytes of @text. Takes the memory out of @dump. */
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

/* The job may have ended while its dump is still being printed. */
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

/**
 * neuron_ioctl_dump() - DUMP: fetch the last core dump of a core
 * @drm: device
 * @data: &struct drm_neuron_dump
 * @file: file of the caller
 *
 * Return: 0, or an errno that drm/neuron_accel.h names.
 */
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
