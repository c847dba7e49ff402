// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSI-X: one vector for each core and one for management; the copy engines, which
 * are few, are spread over them from the last one down. With fewer vectors more
 * sources share one, down to a single vector for all.
 *
 * Everything is done in the hard handler: a fence or a copy is complete when the
 * interrupt returns.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "contract/record.h"
#include "neuron_device.h"
#include "neuron_event.h"
#include "neuron_irq.h"
#include "neuron_trace.h"

/*
 * Interrupts without end. The kernel would switch such a vector off for good, and the
 * device could not be used any more; without that, a processor would do nothing but handle
 * interrupts. So the driver disables the vector for a second, and a timer looks at its
 * causes instead.
 */

/**
 * struct neuron_storm - how often a vector is raised, and for what
 * @dev: for the log
 * @irq: Linux number of the vector's interrupt
 * @look: looks at the causes of the vector, as its interrupt handler does; called by @timer
 * @timer: calls @look while the interrupt is disabled
 * @until: jiffies when the interrupt is enabled again
 * @begin: jiffies when counting began. Only the hard interrupt handler uses this and what
 *	follows
 * @nr: interrupts since @begin
 * @nr_idle: interrupts since @begin that announced nothing
 */
struct neuron_storm {
	struct device *dev;
	int irq;
	void (*look)(struct neuron_storm *storm);
	struct timer_list timer;
	unsigned long until;
	unsigned long begin;
	unsigned int nr;
	unsigned int nr_idle;
};

/* Interrupts are counted for this long. */
#define NEURON_STORM_WINDOW_MS	100

/* After so many in that time, a cause that is set again at once counts as announcing nothing. */
#define NEURON_STORM_SUSPECT	500
/*
 * A storm: more than NEURON_STORM_IDLE interrupts, and three quarters of all, announced nothing; or
 * there were more than NEURON_STORM_ALL, which no working device raises.
 */
#define NEURON_STORM_IDLE	100
#define NEURON_STORM_ALL	20000

/* After a storm the interrupt is disabled for this long, and the timer reads the causes. */
#define NEURON_STORM_POLLED_MS	1000

static void neuron_storm_begin(struct neuron_storm *storm)
{
	storm->begin = jiffies;
	storm->nr = 0;
	storm->nr_idle = 0;
}

static void neuron_storm_timer(struct timer_list *timer)
{
	struct neuron_storm *storm = container_of(timer, struct neuron_storm,
						  timer);

	storm->look(storm);
	if (time_before(jiffies, storm->until)) {
		mod_timer(&storm->timer, jiffies + 1);
		return;
	}
	/* The handler does not run: its fields are free. */
	neuron_storm_begin(storm);
	enable_irq(storm->irq);
}

static void neuron_storm_init(struct neuron_storm *storm, struct device *dev, int irq,
			      void (*look)(struct neuron_storm *storm))
{
	storm->dev = dev;
	storm->irq = irq;
	storm->look = look;
	timer_setup(&storm->timer, neuron_storm_timer, 0);
	neuron_storm_begin(storm);
}

/* The interrupt is disabled: a storm that is polled is over. */
static void neuron_storm_stop(struct neuron_storm *storm)
{
	/* Else the timer has not disabled it, or has enabled it again. */
	if (timer_delete_sync(&storm->timer))
		enable_irq(storm->irq);
}

/* Nothing is looked at any more, ever; before the interrupt is freed. */
static void neuron_storm_fini(struct neuron_storm *storm)
{
	timer_shutdown_sync(&storm->timer);
}

/*
 * Have there been so many interrupts that a cause which stays set is a storm? Called in the
 * hard interrupt handler.
 */
static bool neuron_storm_suspects(const struct neuron_storm *storm)
{
	return storm->nr >= NEURON_STORM_SUSPECT;
}

/*
 * Count one interrupt; @found says whether it announced something. Called in the hard
 * interrupt handler.
 */
static void neuron_storm_count(struct neuron_storm *storm, bool found)
{
	if (time_after(jiffies, storm->begin +
		       msecs_to_jiffies(NEURON_STORM_WINDOW_MS)))
		neuron_storm_begin(storm);
	storm->nr++;
	storm->nr_idle += !found;
	if (storm->nr <= NEURON_STORM_ALL &&
	    (storm->nr_idle <= NEURON_STORM_IDLE ||
	     storm->nr_idle <= storm->nr / 4 * 3))
		return;

	disable_irq_nosync(storm->irq);
	storm->until = jiffies + msecs_to_jiffies(NEURON_STORM_POLLED_MS);
	mod_timer(&storm->timer, jiffies + 1);
	dev_warn_ratelimited(storm->dev,
			     "interrupt %d without end (%u, %u for nothing): polled for %u ms\n",
			     storm->irq, storm->nr, storm->nr_idle,
			     NEURON_STORM_POLLED_MS);
}

/**
 * struct neuron_vector - the sources of one MSI-X vector
 * @ndev: device
 * @irq: Linux number of its interrupt. pci_irq_vector() cannot be called later: it takes a lock
 *	under which memory may be allocated, and a reset of the device, which disables the
 *	interrupt, is on the way to signal fences
 * @cores: mask of places in neuron_device.core
 * @engines: mask of copy engines, counted from the first
 * @mgmt: management
 * @storm: notices when it is raised without end
 * @lock: held from the reading of a cause until what it announces is dealt with. Otherwise the
 *	handler and neuron_irq_poll() could read the same cause, and the slower one would take
 *	it for news of what has begun since
 */
struct neuron_vector {
	struct neuron_device *ndev;
	int irq;
	unsigned long cores;
	unsigned long engines;
	bool mgmt;
	struct neuron_storm storm;
	spinlock_t lock;	/* causes of the sources */
};

/* What a core announces, without DONE while that is masked ("Jobs that are over soon"). */
static u32 neuron_irq_core_cause(struct neuron_core *core)
{
	u32 cause = neuron_cause_pending(neuron_core_read(core, NEURON_CORE_CAUSE));

	return READ_ONCE(core->armed) ? cause : cause & ~NEURON_CORE_CAUSE_DONE;
}

static bool neuron_irq_cores(struct neuron_vector *vec)
{
	bool handled = false;
	unsigned int i;

	for_each_set_bit(i, &vec->cores, NEURON_MAX_UNITS) {
		struct neuron_core *core = &vec->ndev->core[i];
		u32 cause;

		/* Settle records may come after the claim of a CC-core. */
		if (!READ_ONCE(core->listens) && !READ_ONCE(core->times.nr))
			continue;
		cause = neuron_irq_core_cause(core);
		if (!cause)
			continue;
		neuron_core_write(core, NEURON_CORE_CAUSE, cause);
		core->ndev->on_irq.core(core, cause);
		handled = true;
	}
	return handled;
}

static bool neuron_irq_engines(struct neuron_vector *vec)
{
	struct neuron_device *ndev = vec->ndev;
	bool handled = false;
	unsigned int i;

	for_each_set_bit(i, &vec->engines, NEURON_MAX_COPY_ENGINES) {
		unsigned int engine = ndev->gen->nr_ring + i;
		u32 reg = NEURON_CTL_DMA(engine) + NEURON_DMA_CAUSE;
		u32 cause = neuron_cause_pending(neuron_ctl_read(ndev, reg));

		if (!cause)
			continue;
		neuron_ctl_write(ndev, reg, cause);
		ndev->on_irq.engine(ndev, engine, cause);
		handled = true;
	}
	return handled;
}

/* Each kind has its own rate limit, so many correctable errors hide no uncorrectable one. */
static void neuron_irq_ecc_log(struct neuron_device *ndev, u32 info, u64 addr)
{
	u32 count = neuron_ctl_read(ndev, NEURON_CTL_ECC_COUNT);
	char where[48] = "SRAM";

	if (!(info & NEURON_CTL_ECC_SRAM))
		scnprintf(where, sizeof(where), "HBM stack %u at %#llx",
			  NEURON_GET(NEURON_CTL_ECC_STACK, info), addr);
	if (info & NEURON_CTL_ECC_UNCORRECTABLE)
		dev_err_ratelimited(ndev->drm.dev,
				    "uncorrectable error in %s, %u memory errors in all\n",
				    where, count);
	else
		dev_warn_ratelimited(ndev->drm.dev,
				     "correctable error in %s, %u memory errors in all\n",
				     where, count);
}

static void neuron_irq_ecc(struct neuron_device *ndev)
{
	u32 info = neuron_ctl_read(ndev, NEURON_CTL_ECC_INFO);
	u64 addr = neuron_ctl_read64(ndev, NEURON_CTL_ECC_ADDR);
	const struct neuron_event event = {
		.type = NEURON_EVENT_ECC,
		.core = NEURON_EVENT_DEVICE,
		.addr = addr,
	};

	if (!(neuron_cause_pending(info) & NEURON_CTL_ECC_VALID))
		return;
	neuron_ctl_write(ndev, NEURON_CTL_ECC_INFO, NEURON_CTL_ECC_VALID);
	trace_neuron_ecc(ndev, info, addr);
	neuron_irq_ecc_log(ndev, info, addr);
	if (info & NEURON_CTL_ECC_UNCORRECTABLE)
		neuron_event_raise(ndev, &event);
}

static bool neuron_irq_mgmt(struct neuron_device *ndev)
{
	static const struct neuron_event link = {
		.type = NEURON_EVENT_LINK,
		.core = NEURON_EVENT_DEVICE,
	};
	u32 cause = neuron_cause_pending(neuron_ctl_read(ndev,
							 NEURON_CTL_CAUSE));

	if (!cause)
		return false;
	neuron_ctl_write(ndev, NEURON_CTL_CAUSE, cause);

	if (cause & (NEURON_CTL_CAUSE_DISCARD | NEURON_CTL_CAUSE_DISCARD_ERROR))
		ndev->on_irq.discard(ndev, cause);
	if (cause & NEURON_CTL_CAUSE_ECC)
		neuron_irq_ecc(ndev);
	if (cause & NEURON_CTL_CAUSE_LINK) {
		atomic64_inc(&ndev->counters.link_changes);
		neuron_event_raise(ndev, &link);
	}
	return true;
}

static bool neuron_irq_vector(struct neuron_vector *vec)
{
	unsigned long flags;
	bool handled;

	spin_lock_irqsave(&vec->lock, flags);
	handled = neuron_irq_cores(vec);
	handled |= neuron_irq_engines(vec);
	if (vec->mgmt)
		handled |= neuron_irq_mgmt(vec->ndev);
	spin_unlock_irqrestore(&vec->lock, flags);
	return handled;
}

static irqreturn_t neuron_irq(int irq, void *data)
{
	struct neuron_vector *vec = data;
	bool found;

	trace_neuron_irq(vec->ndev, irq);
	found = neuron_irq_vector(vec);
	/* If a cause is set again at once, it may be one that cannot be cleared. */
	if (found && neuron_storm_suspects(&vec->storm))
		found = !neuron_irq_vector(vec);
	neuron_storm_count(&vec->storm, found);
	/* Never IRQ_NONE: the kernel would disable the interrupt for good. */
	return IRQ_HANDLED;
}

static void neuron_irq_look(struct neuron_storm *storm)
{
	neuron_irq_vector(container_of(storm, struct neuron_vector, storm));
}

bool neuron_irq_poll(struct neuron_device *ndev)
{
	bool handled = false;
	unsigned int i;

	for (i = 0; i < ndev->nr_vectors; i++)
		handled |= neuron_irq_vector(&ndev->vectors[i]);
	if (handled && !READ_ONCE(ndev->bus_cuts))
		atomic64_inc(&ndev->counters.lost_interrupts);
	return handled;
}

/* A CC-core shares the vector of its core. */
static unsigned int neuron_core_vector(const struct neuron_core *core)
{
	return core->tpb->index % core->ndev->nr_vectors;
}

static unsigned int neuron_mgmt_vector(struct neuron_device *ndev)
{
	return ndev->gen->nr_cores % ndev->nr_vectors;
}

/* @i: copy engine, counted from the first */
static unsigned int neuron_engine_vector(struct neuron_device *ndev,
					 unsigned int i)
{
	return (ndev->gen->nr_cores - i) % ndev->nr_vectors;
}

void neuron_irq_sync_engine(struct neuron_device *ndev, unsigned int engine)
{
	unsigned int i = neuron_engine_vector(ndev, engine - ndev->gen->nr_ring);

	spin_lock_irq(&ndev->vectors[i].lock);
	spin_unlock_irq(&ndev->vectors[i].lock);
}

static unsigned int neuron_nr_copy_engines(struct neuron_device *ndev)
{
	return ndev->gen->nr_dma - ndev->gen->nr_ring;
}

/* Everything masked, nothing pending, each source with its vector. */
static void neuron_irq_program(struct neuron_device *ndev)
{
	const struct neuron_gen *gen = ndev->gen;
	struct neuron_core *core;
	unsigned int i;

	neuron_ctl_write(ndev, NEURON_CTL_MASK, ~0u);
	neuron_ctl_write(ndev, NEURON_CTL_CAUSE, ~0u);
	neuron_ctl_write(ndev, NEURON_CTL_VECTOR,
			 neuron_mgmt_vector(ndev));

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		core = neuron_unit(ndev, i);
		neuron_core_write(core, NEURON_CORE_MASK, ~0u);
		neuron_core_write(core, NEURON_CORE_CAUSE, ~0u);
		neuron_core_write(core, NEURON_CORE_VECTOR,
				  neuron_core_vector(core));
	}

	for (i = 0; i < gen->nr_dma; i++) {
		u32 base = NEURON_CTL_DMA(i);

		neuron_ctl_write(ndev, base + NEURON_DMA_MASK, ~0u);
		neuron_ctl_write(ndev, base + NEURON_DMA_CAUSE, ~0u);
	}
	for (i = 0; i < neuron_nr_copy_engines(ndev); i++)
		neuron_ctl_write(ndev, NEURON_CTL_DMA(gen->nr_ring + i) +
				       NEURON_DMA_VECTOR,
				 neuron_engine_vector(ndev, i));
}

static void neuron_irq_mask(struct neuron_device *ndev)
{
	unsigned int i;

	neuron_ctl_write(ndev, NEURON_CTL_MASK, ~0u);
	for (i = 0; i < neuron_nr_units(ndev->gen); i++)
		neuron_core_write(neuron_unit(ndev, i), NEURON_CORE_MASK, ~0u);
	for (i = ndev->gen->nr_ring; i < ndev->gen->nr_dma; i++)
		neuron_ctl_write(ndev, NEURON_CTL_DMA(i) + NEURON_DMA_MASK, ~0u);
}

static void neuron_irq_calm(void *data)
{
	struct neuron_vector *vec = data;

	neuron_storm_fini(&vec->storm);
}

static int neuron_irq_request_vector(struct neuron_vector *vec,
				     unsigned int index)
{
	struct device *dev = &vec->ndev->pdev->dev;
	int irq = pci_irq_vector(vec->ndev->pdev, index);
	char *name;
	int ret;

	name = devm_kasprintf(dev, GFP_KERNEL, "neuron-%s-%u", dev_name(dev),
			      index);
	if (!name)
		return -ENOMEM;
	vec->irq = irq;
	neuron_storm_init(&vec->storm, dev, irq, neuron_irq_look);
	ret = devm_request_irq(dev, irq, neuron_irq, IRQF_NO_AUTOEN, name, vec);
	if (ret)
		return dev_err_probe(dev, ret, "interrupt vector %u\n", index);
	return devm_add_action_or_reset(dev, neuron_irq_calm, vec);
}

static int neuron_irq_request(struct neuron_device *ndev)
{
	struct device *dev = &ndev->pdev->dev;
	struct neuron_vector *vec;
	struct neuron_core *core;
	unsigned int i;
	int ret;

	vec = devm_kcalloc(dev, ndev->nr_vectors, sizeof(*vec), GFP_KERNEL);
	if (!vec)
		return -ENOMEM;
	ndev->vectors = vec;

	for (i = 0; i < neuron_nr_units(ndev->gen); i++) {
		core = neuron_unit(ndev, i);
		vec[neuron_core_vector(core)].cores |= BIT(core->index);
	}
	for (i = 0; i < neuron_nr_copy_engines(ndev); i++)
		vec[neuron_engine_vector(ndev, i)].engines |= BIT(i);
	vec[neuron_mgmt_vector(ndev)].mgmt = true;

	for (i = 0; i < ndev->nr_vectors; i++) {
		vec[i].ndev = ndev;
		spin_lock_init(&vec[i].lock);
		ret = neuron_irq_request_vector(&vec[i], i);
		if (ret)
			return ret;
	}
	return 0;
}

int neuron_irq_init(struct neuron_device *ndev)
{
	int ret;

	ret = pci_alloc_irq_vectors(ndev->pdev, 1, ndev->gen->nr_cores + 1,
				    PCI_IRQ_MSIX);
	if (ret < 0)
		return dev_err_probe(&ndev->pdev->dev, ret,
				     "no MSI-X vector\n");
	ndev->nr_vectors = ret;
	return neuron_irq_request(ndev);
}

void neuron_irq_start(struct neuron_device *ndev)
{
	unsigned int i;

	neuron_irq_program(ndev);
	for (i = 0; !ndev->irqs_on && i < ndev->nr_vectors; i++)
		enable_irq(ndev->vectors[i].irq);
	ndev->irqs_on = true;
	neuron_ctl_write(ndev, NEURON_CTL_MASK,
			 ~(NEURON_CTL_CAUSE_DISCARD |
			   NEURON_CTL_CAUSE_DISCARD_ERROR |
			   NEURON_CTL_CAUSE_ECC |
			   NEURON_CTL_CAUSE_LINK));
}

void neuron_irq_stop(struct neuron_device *ndev)
{
	unsigned int i;

	neuron_irq_mask(ndev);
	for (i = 0; ndev->irqs_on && i < ndev->nr_vectors; i++) {
		disable_irq(ndev->vectors[i].irq);
		neuron_storm_stop(&ndev->vectors[i].storm);
	}
	ndev->irqs_on = false;
}
