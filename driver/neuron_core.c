// SPDX-License-Identifier: GPL-2.0-only
/*
 * NeuronCores and CC-cores: set-up, interrupt, reset.
 */
#include <linux/dma-mapping.h>
#include <linux/hex.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <drm/drm_managed.h>

#include "neuron_core.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_fence.h"
#include "neuron_irq.h"
#include "neuron_trace.h"

/* The watch first looks at a job after an eighth of its limit. */
#define NEURON_CORE_WATCH_FIRST	8

/* Time limit for reading SBUF and PSUM, because the job's fence waits for that. */
#define NEURON_CORE_MEMORY_NS	(5ll * NSEC_PER_SEC)

/* "sbuf 000 0x000000 " and "psum ...", hexadecimal digits, "\n" */
#define NEURON_CORE_PLACE	18
#define NEURON_CORE_LINE_TEXT	(NEURON_CORE_PLACE + 2 * NEURON_CORE_LINE + 1)

#define NEURON_CORE_LINE	32	/* bytes */

/**
 * struct neuron_core_line - some bytes of the core's memories, not all zero
 * @where: offset from the core's base address
 * @bytes: they
 */
struct neuron_core_line {
	u32 where;
	u8 bytes[NEURON_CORE_LINE];
};

#define NEURON_CORE_LINES	(1024 * 1024 / sizeof(struct neuron_core_line))

/**
 * struct neuron_core_memory - what was in SBUF and PSUM
 * @nr: of @line
 * @cut: there was more, or it took too long
 * @line: in ascending order
 */
struct neuron_core_memory {
	u32 nr;
	bool cut;
	struct neuron_core_line line[];
};

static void neuron_core_place_tpb(struct neuron_core *core)
{
	const struct neuron_gen *gen = core->ndev->gen;

	core->tpb = core;
	snprintf(core->name, sizeof(core->name), "core %u", core->index);
	core->regs = NEURON_CTL_CORE(core->index);
	core->posters = NEURON_CTL_SEM_POSTER(core->index, 0);
	core->sems_bar0 = neuron_tpb_bar0(gen, core->index) + NEURON_TPB_SEM;
	core->sems_addr = gen->tpb_addr[core->index] + NEURON_TPB_SEM;
	core->listens = true;
}

static void neuron_core_place_cc(struct neuron_core *core, unsigned int cc)
{
	const struct neuron_gen *gen = core->ndev->gen;
	u32 top_sp = neuron_top_sp_of_id(gen, cc);

	core->tpb = &core->ndev->core[neuron_cc_core(gen, cc)];
	snprintf(core->name, sizeof(core->name), "CC-core %u", cc);
	core->regs = NEURON_CTL_CC(cc);
	core->posters = NEURON_CTL_CC_SEM_POSTER(cc, 0);
	core->sems_bar0 = neuron_top_sp_bar0(gen, top_sp) + NEURON_TOP_SP_SEM;
	core->sems_addr = neuron_top_sp_addr(gen, top_sp) + NEURON_TOP_SP_SEM;
}

static int neuron_core_place(struct neuron_device *ndev, struct neuron_core *core)
{
	core->ndev = ndev;
	core->index = core - ndev->core;
	if (core->index < NEURON_MAX_CORES)
		neuron_core_place_tpb(core);
	else
		neuron_core_place_cc(core, core->index - NEURON_MAX_CORES);
	spin_lock_init(&core->lock);
	INIT_LIST_HEAD(&core->times.pending);
	INIT_LIST_HEAD(&core->times.done);
	init_completion(&core->reset_done);
	return drmm_mutex_init(&ndev->drm, &core->reset_lock);
}

int neuron_cores_place(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		ret = neuron_core_place(ndev, neuron_unit(ndev, i));
		if (ret)
			return ret;
	}
	return 0;
}

/* The workqueue of its scheduler; a CC-core comes after its core. */
static int neuron_core_get_wq(struct neuron_core *core)
{
	if (neuron_core_is_cc(core)) {
		core->wq = core->tpb->wq;
		return 0;
	}
	/* Bound: a job starts on the processor that submitted it or saw the last one end. */
	core->wq = alloc_workqueue("neuron-core%u", WQ_MEM_RECLAIM |
				   WQ_HIGHPRI | NEURON_WQ_PERCPU, 0,
				   core->index);
	return core->wq ? 0 : -ENOMEM;
}

static void neuron_core_put_wq(struct neuron_core *core)
{
	if (!neuron_core_is_cc(core))
		destroy_workqueue(core->wq);
}

/* One job at a time. */
static struct neuron_sched *neuron_core_sched_create(struct neuron_core *core)
{
	char name[16];

	if (neuron_core_is_cc(core))
		snprintf(name, sizeof(name), "neuron-cc%u",
			 core->index - NEURON_MAX_CORES);
	else
		snprintf(name, sizeof(name), "neuron-core%u", core->index);
	return neuron_sched_create(core->ndev, core->ndev->job_ops->sched,
				   core->wq, 1, name);
}

static int neuron_core_init(struct neuron_core *core)
{
	struct device *dev = core->ndev->drm.dev;
	int ret;

	/* By chance, so that grants of an earlier driver are void. */
	core->generation = get_random_u32();

	core->completion = dma_alloc_coherent(dev, sizeof(*core->completion),
					      &core->completion_dma, GFP_KERNEL);
	if (!core->completion)
		return -ENOMEM;
	ret = neuron_core_get_wq(core);
	if (ret)
		goto err_completion;
	core->sched = neuron_core_sched_create(core);
	if (IS_ERR(core->sched)) {
		ret = PTR_ERR(core->sched);
		goto err_wq;
	}
	return 0;

err_wq:
	neuron_core_put_wq(core);
err_completion:
	dma_free_coherent(dev, sizeof(*core->completion), core->completion,
			  core->completion_dma);
	return ret;
}

static void neuron_core_fini(struct neuron_core *core)
{
	neuron_sched_destroy(core->sched);
	neuron_core_put_wq(core);
	dma_free_coherent(core->ndev->drm.dev, sizeof(*core->completion),
			  core->completion, core->completion_dma);
}

/* The last @nr first: CC-cores use what is their core's. */
static void neuron_cores_fini_first(struct neuron_device *ndev, unsigned int nr)
{
	while (nr--)
		neuron_core_fini(neuron_unit(ndev, nr));
}

static void neuron_core_interrupt(struct neuron_core *core, u32 cause)
{
	const struct neuron_job_ops *ops = core->ndev->job_ops;

	if (cause & NEURON_CORE_CAUSE_DONE)
		ops->done(core);
	if (cause & NEURON_CORE_CAUSE_REFUSED)
		ops->refused(core);
	if (cause & NEURON_CORE_CAUSE_SETTLED)
		ops->settled(core);
	if (cause & NEURON_CORE_CAUSE_RESET)
		complete(&core->reset_done);
}

int neuron_cores_init(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	ndev->on_irq.core = neuron_core_interrupt;
	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		ret = neuron_core_init(neuron_unit(ndev, i));
		if (ret) {
			neuron_cores_fini_first(ndev, i);
			return ret;
		}
	}
	return 0;
}

/* The generation 0 is that of a core since the last reset of the device. */
static void neuron_core_begin_generation(struct neuron_core *core)
{
	lockdep_assert_held(&core->reset_lock);
	if (!++core->generation)
		core->generation++;
}

/* Ask the core: the interrupt may be that of an earlier reset, or a lie. */
static bool neuron_core_reset_ended(struct neuron_core *core)
{
	return !neuron_core_read(core, NEURON_CORE_RESET);
}

/*
 * The interrupt may be lost, and it is while the device is cut off from memory. So the causes are
 * read every NEURON_RESET_POLL_MS. After NEURON_RESET_SURE_MS, RESET and STATUS together are
 * enough: otherwise a core that never sets its cause would have the whole device reset.
 */
static int neuron_core_reset_wait(struct neuron_core *core, unsigned long end)
{
	unsigned long begin = jiffies;
	unsigned long sure = begin + msecs_to_jiffies(NEURON_RESET_SURE_MS);
	unsigned long slice = msecs_to_jiffies(NEURON_RESET_POLL_MS);

	do {
		if (wait_for_completion_timeout(&core->reset_done, slice) &&
		    neuron_core_reset_ended(core))
			return 0;
		if (!pci_device_is_present(core->ndev->pdev))
			return -ENODEV;
		neuron_irq_poll(core->ndev);
		if (time_after(jiffies, sure) && neuron_core_reset_ended(core) &&
		    neuron_core_read(core, NEURON_CORE_STATUS) ==
		    NEURON_CORE_IDLE)
			return 0;
	} while (time_before(jiffies, end));
	return try_wait_for_completion(&core->reset_done) &&
	       neuron_core_reset_ended(core) ? 0 : -EIO;
}

static void neuron_core_count_reset(struct neuron_core *core, bool failed)
{
	spin_lock_irq(&core->lock);
	core->stats.resets++;
	core->stats.reset_failures += failed;
	spin_unlock_irq(&core->lock);
}

static unsigned long neuron_core_reset_end(void)
{
	return jiffies + msecs_to_jiffies(NEURON_RESET_TIMEOUT_MS);
}

/* @end: in jiffies, how long the core has time. */
static int neuron_core_reset_until(struct neuron_core *core, unsigned long end)
{
	struct neuron_counters *counters = &core->ndev->counters;
	const struct neuron_event failed = {
		.type = NEURON_EVENT_RESET_FAILED,
		.core = core->index,
	};
	int ret;

	reinit_completion(&core->reset_done);
	WRITE_ONCE(core->listens, true);
	atomic64_inc(&counters->core_resets);
	neuron_core_write(core, NEURON_CORE_RESET, 1);
	ret = neuron_core_reset_wait(core, end);
	if (ret == -ENODEV)
		return ret;	/* pulled out: it reaches nothing any more */
	neuron_core_count_reset(core, ret);
	trace_neuron_core_reset(core, !ret);
	if (ret) {
		atomic64_inc(&counters->reset_failures);
		dev_err(core->ndev->drm.dev,
			"%s: no answer to a reset in %u ms: device cut off from memory until it does\n",
			core->name, NEURON_RESET_TIMEOUT_MS);
		neuron_event_raise(core->ndev, &failed);
		/* What its job could write is about to be given back. */
		if (!core->wedged)
			neuron_bus_cut(core->ndev);
		WRITE_ONCE(core->wedged, true);
		return ret;
	}
	if (core->wedged)
		neuron_bus_restore(core->ndev);
	WRITE_ONCE(core->wedged, false);
	neuron_core_write(core, NEURON_CORE_GENERATION, core->generation);
	return 0;
}

static int neuron_core_reset_hw(struct neuron_core *core)
{
	return neuron_core_reset_until(core, neuron_core_reset_end());
}

/* A device that was pulled out has stopped. The job may end at any time. */
static bool neuron_core_runs(struct neuron_core *core)
{
	return READ_ONCE(core->active) && pci_device_is_present(core->ndev->pdev);
}

/* Its end is seen by neuron_core_stop(). */
static void neuron_core_begin_stop(struct neuron_core *core)
{
	bool cookie = neuron_core_lock(core);

	core->ndev->job_ops->doom(core, -ENODEV, false);
	if (neuron_core_runs(core))
		neuron_core_write(core, NEURON_CORE_RESET, 1);
	neuron_core_unlock(core, cookie);
}

static void neuron_core_stop(struct neuron_core *core, unsigned long end)
{
	bool cookie = neuron_core_lock(core);

	core->ndev->job_ops->doom(core, -ENODEV, false);
	if (neuron_core_runs(core))
		neuron_core_reset_until(core, end);
	core->ndev->job_ops->end_aborted(core);
	core->ndev->job_ops->quit(core, end);
	/* Other chips go on, and may have windows of grants. */
	neuron_core_begin_generation(core);
	neuron_core_write(core, NEURON_CORE_GENERATION, core->generation);
	neuron_core_unlock(core, cookie);
}

/*
 * The last reset: nobody can enter the device any more, and what still runs on
 * it must stop before its memory goes. All cores have the same time: those
 * that do not answer keep the removal no longer than one of them.
 */
void neuron_cores_stop(struct neuron_device *ndev)
{
	unsigned int i, nr = neuron_nr_units(ndev->gen);
	unsigned long end;

	for (i = 0; i < nr; i++)
		neuron_core_begin_stop(neuron_unit(ndev, i));
	end = neuron_core_reset_end();
	for (i = 0; i < nr; i++)
		neuron_core_stop(neuron_unit(ndev, i), end);
}

void neuron_cores_fini(struct neuron_device *ndev)
{
	neuron_cores_fini_first(ndev, neuron_nr_units(ndev->gen));
}

void neuron_core_get_stats(struct neuron_core *core,
			   struct neuron_core_stats *stats)
{
	unsigned long flags;

	spin_lock_irqsave(&core->lock, flags);
	*stats = core->stats;
	if (core->active)
		stats->busy_ns += ktime_get_ns() - core->started_ns;
	spin_unlock_irqrestore(&core->lock, flags);
}

/* A new generation voids earlier grants. A core that an earlier kernel left running is reset. */
static int neuron_core_start(struct neuron_core *core)
{
	bool cookie = neuron_core_lock(core);
	bool idle;
	int ret = 0;

	WRITE_ONCE(core->wedged, false);
	neuron_core_begin_generation(core);
	WRITE_ONCE(core->armed, true);
	/*
	 * If the device was not reset, it could still announce a job of before, or that it did not
	 * take it. Of a core that is idle nothing comes after this.
	 */
	idle = neuron_core_read(core, NEURON_CORE_STATUS) == NEURON_CORE_IDLE;
	neuron_core_write(core, NEURON_CORE_CAUSE,
			  NEURON_CORE_CAUSE_DONE | NEURON_CORE_CAUSE_REFUSED);
	spin_lock_irq(&core->lock);
	core->stale = false;
	spin_unlock_irq(&core->lock);
	neuron_core_write(core, NEURON_CORE_MASK, 0);
	neuron_core_write(core, NEURON_CORE_GENERATION, core->generation);
	if (!idle)
		ret = neuron_core_reset_hw(core);
	neuron_core_unlock(core, cookie);
	return ret;
}

int neuron_cores_start(struct neuron_device *ndev)
{
	unsigned int i;
	int ret;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		ret = neuron_core_start(neuron_unit(ndev, i));
		if (ret)
			return ret;
	}
	return 0;
}

int neuron_core_reset_locked(struct neuron_core *core, int error, bool hang)
{
	int ret;

	lockdep_assert_held(&core->reset_lock);
	/* If the hardware is not up, whoever took it down ends the job. */
	ret = neuron_hw_check(core->ndev);
	if (ret)
		return ret;
	core->ndev->job_ops->doom(core, error, hang);
	ret = neuron_core_reset_hw(core);
	core->ndev->job_ops->end_aborted(core);
	if (ret == -EIO)
		neuron_request_reset(core->ndev);
	return ret;
}

void neuron_cores_freeze(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		struct neuron_core *core = neuron_unit(ndev, i);
		/* Whoever holds the lock may not know yet that the device is down. */
		bool cookie = neuron_core_lock(core);

		ndev->job_ops->doom(core, -EIO, false);
		neuron_core_unlock(core, cookie);
	}
}

static bool neuron_cores_have_no_generation(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		if (neuron_core_read(neuron_unit(ndev, i), NEURON_CORE_GENERATION))
			return false;
	return true;
}

/* Registers that are not mapped may read 0. One that does not answer has all bits set. */
bool neuron_cores_were_reset(struct neuron_device *ndev)
{
	u16 command = 0;

	pci_read_config_word(ndev->pdev, PCI_COMMAND, &command);
	return command & PCI_COMMAND_MEMORY && neuron_cores_have_no_generation(ndev);
}

void neuron_cores_lose_times(struct neuron_device *ndev, bool reset)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		ndev->job_ops->lost(neuron_unit(ndev, i), reset);
}

/* A core that was not reset may go on with its job until the next start resets it. */
void neuron_cores_end(struct neuron_device *ndev, bool reset)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		struct neuron_core *core = neuron_unit(ndev, i);

		if (!reset && READ_ONCE(core->active))
			WRITE_ONCE(core->wedged, true);
		ndev->job_ops->end_aborted(core);
	}
	neuron_cores_lose_times(ndev, reset);
}

void neuron_cores_up(struct neuron_device *ndev)
{
	unsigned int i;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		ndev->job_ops->up(neuron_unit(ndev, i));
}

void neuron_core_watch(struct neuron_core *core, unsigned long delay)
{
	lockdep_assert_held(&core->reset_lock);
	core->watch_at = jiffies + delay;
	core->watch_set = true;
	mod_delayed_work(core->ndev->watch_wq, &core->watch, delay);
}

void neuron_core_watch_job(struct neuron_core *core, u32 timeout_ms)
{
	unsigned long delay = msecs_to_jiffies(timeout_ms /
					       NEURON_CORE_WATCH_FIRST) + 1;

	lockdep_assert_held(&core->reset_lock);
	if (!core->watch_set || time_after(core->watch_at, jiffies + delay))
		neuron_core_watch(core, delay);
}

int neuron_core_renew(struct neuron_core *core)
{
	bool cookie;
	int ret;

	cookie = neuron_core_lock(core);
	neuron_core_begin_generation(core);
	if (neuron_hw_up(core->ndev))
		neuron_core_write(core, NEURON_CORE_GENERATION,
				  core->generation);
	ret = neuron_core_reset_locked(core, -ECANCELED, false);
	neuron_core_unlock(core, cookie);
	return ret;
}

/*
 * What is in SBUF and PSUM, for core dumps of claims that want it. The room is there from the
 * beginning of the claim: nothing can be allocated when a job hangs.
 */

static const char neuron_core_memory_cut[] = "memory: cut here\n";

struct neuron_core_memory *neuron_core_memory_create(gfp_t gfp)
{
	struct neuron_core_memory *memory;

	/* With all its pages: none can be allocated when the memories are read. */
	memory = __vmalloc(struct_size(memory, line, NEURON_CORE_LINES),
			   gfp | __GFP_NOWARN);
	if (memory)
		memory->nr = 0;
	return memory;
}

static void neuron_core_memory_range(struct neuron_core_memory *memory,
				     const void __iomem *base, u32 where,
				     u32 size)
{
	u64 word[NEURON_CORE_LINE / 8];
	struct neuron_core_line *line;
	unsigned int i;
	u32 end;

	for (end = where + size; where < end; where += NEURON_CORE_LINE) {
		for (i = 0; i < ARRAY_SIZE(word); i++)
			word[i] = readq(base + where + 8 * i);
		if (!memchr_inv(word, 0, sizeof(word)))
			continue;
		if (memory->nr == NEURON_CORE_LINES) {
			memory->cut = true;
			return;
		}
		line = &memory->line[memory->nr++];
		line->where = where;
		memcpy(line->bytes, word, sizeof(word));
	}
}

void neuron_core_memory_capture(struct neuron_core_memory *memory,
				struct neuron_core *core)
{
	const struct neuron_gen *gen = core->ndev->gen;
	const void __iomem *base = core->ndev->bar0 +
				   neuron_tpb_bar0(gen, core->index);
	u64 end = ktime_get_ns() + NEURON_CORE_MEMORY_NS;
	unsigned int i;
	u32 where, size;

	memory->nr = 0;
	memory->cut = false;
	for (i = 0; i < 2 * NEURON_PARTITIONS && !memory->cut; i++) {
		if (i < NEURON_PARTITIONS) {
			where = NEURON_TPB_SBUF + i * NEURON_TPB_SBUF_STRIDE;
			size = gen->sbuf_partition;
		} else {
			where = NEURON_TPB_PSUM + (i - NEURON_PARTITIONS) *
						  NEURON_TPB_PSUM_STRIDE;
			size = NEURON_PSUM_BANKS * NEURON_PSUM_BANK_BYTES;
		}
		neuron_core_memory_range(memory, base, where, size);
		if (ktime_get_ns() > end)
			memory->cut = true;
		cond_resched();
	}
}

size_t neuron_core_memory_size(const struct neuron_core_memory *memory)
{
	return memory->nr * NEURON_CORE_LINE_TEXT +
	       (memory->cut ? sizeof(neuron_core_memory_cut) - 1 : 0);
}

/* Exactly NEURON_CORE_PLACE bytes and a NUL. */
static void neuron_core_line_place(char *text, u32 where)
{
	bool psum = where >= NEURON_TPB_PSUM;
	u32 stride = psum ? NEURON_TPB_PSUM_STRIDE : NEURON_TPB_SBUF_STRIDE;
	u32 offset = psum ? where - NEURON_TPB_PSUM : where;

	snprintf(text, NEURON_CORE_PLACE + 1, "%s %03u 0x%06x ",
		 psum ? "psum" : "sbuf", offset / stride % 1000,
		 offset % stride & 0xffffff);
}

void neuron_core_memory_print(const struct neuron_core_memory *memory,
			      char *text)
{
	const struct neuron_core_line *line;
	u32 i;

	for (i = 0; i < memory->nr; i++) {
		line = &memory->line[i];
		neuron_core_line_place(text, line->where);
		bin2hex(text + NEURON_CORE_PLACE, line->bytes,
			NEURON_CORE_LINE);
		text[NEURON_CORE_LINE_TEXT - 1] = '\n';
		text += NEURON_CORE_LINE_TEXT;
	}
	if (memory->cut)
		memcpy(text, neuron_core_memory_cut, sizeof(neuron_core_memory_cut) - 1);
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_core.c"
#endif
