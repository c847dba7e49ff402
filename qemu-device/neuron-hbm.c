/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HBM of a chip as RAM of the machine: BAR4 shows it, and QEMU migrates it.
 *
 * QEMU sends all RAM while the machine runs, in passes: first all pages, then those that
 * have changed since. It sees what the guest writes through BAR4 itself; what chips
 * write is marked by neuron_hbm_dirty() and neuron_hbm_discard().
 *
 * There are a hundred GiB of HBM and most of it is never touched. A pass over it, even a
 * read, would give all of it page tables here and in the machine that loads. So the
 * device is its memory's RamDiscardManager: what this process has no pages for counts as
 * discarded, and QEMU leaves that out of the first pass. A page that comes into being
 * later has been written, so it is marked. The machine that loads has zeroes there
 * (neuron-migration.c).
 */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qemu/atomic.h"
#include "qemu/error-report.h"
#include "qemu/host-utils.h"
#include "qemu/rcu.h"
#include "exec/memory.h"
#include "migration/vmstate.h"
#include "neuron.h"
#include "trace.h"

/* --- The memory, for the chip library --- */

void *neuron_hbm_alloc(void *opaque, unsigned stack, uint64_t size)
{
    NeuronChip *s = opaque;
    void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mem == MAP_FAILED) {
        return NULL;
    }
    s->hbm[stack] = mem;
    s->hbm_bytes = size;
    return mem;
}

void neuron_hbm_free(NeuronChip *s)
{
    for (unsigned i = 0; i < NEURON_MAX_HBM; i++) {
        if (s->hbm[i]) {
            munmap(s->hbm[i], s->hbm_bytes);
            s->hbm[i] = NULL;
        }
    }
}

/*
 * Does anybody want to know what changes? Who starts that looks at the memory
 * afterwards: the change before this call must be seen, or this must see the start.
 */
static bool neuron_hbm_watched(void)
{
    smp_mb();
    return qatomic_read(&global_dirty_tracking);
}

/*
 * A chip that is being plugged in is on its fabric before its memory has regions. What
 * peers write so early needs no mark: all of a new region counts as changed.
 */
void neuron_hbm_dirty(void *opaque, unsigned stack, uint64_t offset,
                      uint64_t len)
{
    NeuronChip *s = opaque;

    if (neuron_hbm_watched() && qatomic_load_acquire(&s->hbm_shown)) {
        RCU_READ_LOCK_GUARD();
        neuron_ram_written(s, &s->hbm_mr[stack],
                           (char *)s->hbm[stack] + offset, len);
    }
}

/* Not when locked, in use by vfio, or on a host with larger pages. */
static void neuron_hbm_zero(NeuronChip *s, unsigned stack, uint64_t offset,
                            uint64_t len)
{
    char *mem = (char *)s->hbm[stack] + offset;

    if (ram_block_discard_is_disabled() ||
        madvise(mem, len, MADV_DONTNEED)) {
        memset(mem, 0, len);
    }
}

/**
 * struct NeuronDiscard - a discard under way
 * @base: where in the stack it begins
 */
typedef struct NeuronDiscard {
    NeuronChip *s;
    unsigned stack;
    uint64_t base;
} NeuronDiscard;

static int neuron_hbm_discard_part(void *opaque, uint64_t offset, uint64_t len)
{
    NeuronDiscard *d = opaque;

    neuron_hbm_zero(d->s, d->stack, d->base + offset, len);
    neuron_hbm_dirty(d->s, d->stack, d->base + offset, len);
    return 0;
}

/* During a migration mark no page that was not there: it would be sent, and read. */
void neuron_hbm_discard(void *opaque, unsigned stack, uint64_t offset,
                        uint64_t len)
{
    NeuronDiscard d = { .s = opaque, .stack = stack, .base = offset };

    trace_neuron_discard(d.s->chip_id, stack, offset, len);
    if (neuron_hbm_watched()) {
        trn_chip_hbm_used(d.s->chip, stack, offset, len,
                          neuron_hbm_discard_part, &d);
        return;
    }
    neuron_hbm_zero(d.s, stack, offset, len);
    /* If a migration has begun meanwhile, it may have seen what was there. */
    neuron_hbm_dirty(d.s, stack, offset, len);
}

/* --- Which parts of it there are, for QEMU --- */

/**
 * struct NeuronReplay - a walk over a section of a stack
 * @next: offset in the section of what has not been told
 * @populate: what to call with parts that are there, or NULL
 * @discard: what to call with the others, or NULL
 * @gap: where in the section the part that was told last as discarded begins
 */
typedef struct NeuronReplay {
    NeuronChip *s;
    unsigned stack;
    const MemoryRegionSection *section;
    uint64_t next;
    ReplayRamPopulate populate;
    ReplayRamDiscard discard;
    void *opaque;
    uint64_t gap;
} NeuronReplay;

static MemoryRegionSection neuron_part(const MemoryRegionSection *section,
                                       uint64_t offset, uint64_t len)
{
    MemoryRegionSection part = *section;

    part.offset_within_region += offset;
    part.offset_within_address_space += offset;
    part.size = int128_make64(len);
    return part;
}

static int neuron_replay_late(void *opaque, uint64_t offset, uint64_t len)
{
    NeuronReplay *r = opaque;

    neuron_hbm_dirty(r->s, r->stack, r->section->offset_within_region + r->gap +
                     offset, len);
    return 0;
}

/*
 * To discard a part clears the dirty log of KVM for it, and only then does KVM see writes
 * there: it begins with all pages dirty and none protected. What the guest has written
 * through BAR4 since the part was looked at would be lost. So look again, and mark it.
 */
static void neuron_replay_gap(NeuronReplay *r, uint64_t end)
{
    if (r->discard && r->next < end) {
        MemoryRegionSection part = neuron_part(r->section, r->next,
                                               end - r->next);

        r->discard(&part, r->opaque);
        r->gap = r->next;
        trn_chip_hbm_used(r->s->chip, r->stack, part.offset_within_region,
                          end - r->next, neuron_replay_late, r);
    }
}

static int neuron_replay_part(void *opaque, uint64_t offset, uint64_t len)
{
    NeuronReplay *r = opaque;

    neuron_replay_gap(r, offset);
    r->next = offset + len;
    if (r->populate) {
        MemoryRegionSection part = neuron_part(r->section, offset, len);

        return r->populate(&part, r->opaque);
    }
    return 0;
}

static int neuron_replay(const RamDiscardManager *rdm, NeuronReplay *r)
{
    uint64_t size = int128_get64(r->section->size);
    int ret;

    r->s = NEURON_CHIP(rdm);
    r->stack = r->section->mr - r->s->hbm_mr;
    ret = trn_chip_hbm_used(r->s->chip, r->stack,
                            r->section->offset_within_region, size,
                            neuron_replay_part, r);
    if (!ret) {
        neuron_replay_gap(r, size);
    }
    return ret;
}

static int neuron_replay_populated(const RamDiscardManager *rdm,
                                   MemoryRegionSection *section,
                                   ReplayRamPopulate fn, void *opaque)
{
    NeuronReplay r = { .section = section, .populate = fn, .opaque = opaque };

    return neuron_replay(rdm, &r);
}

static void neuron_replay_discarded(const RamDiscardManager *rdm,
                                    MemoryRegionSection *section,
                                    ReplayRamDiscard fn, void *opaque)
{
    NeuronReplay r = { .section = section, .discard = fn, .opaque = opaque };

    neuron_replay(rdm, &r);
}

/*
 * Who maps the memory for another device (vfio) maps all of it: every part may be
 * accessed at any moment, and nobody is told when it comes into being.
 */
static bool neuron_is_populated(const RamDiscardManager *rdm,
                                const MemoryRegionSection *section)
{
    return true;
}

static uint64_t neuron_min_granularity(const RamDiscardManager *rdm,
                                       const MemoryRegion *mr)
{
    return pow2ceil(NEURON_CHIP(rdm)->hbm_bytes);
}

static void neuron_register_listener(RamDiscardManager *rdm,
                                     RamDiscardListener *rdl,
                                     MemoryRegionSection *section)
{
    int ret;

    rdl->section = memory_region_section_new_copy(section);
    ret = rdl->notify_populate(rdl, rdl->section);
    if (ret) {
        error_report("neuron chip %u: HBM cannot be mapped for another device: "
                     "%s", NEURON_CHIP(rdm)->chip_id, strerror(-ret));
    }
}

static void neuron_unregister_listener(RamDiscardManager *rdm,
                                       RamDiscardListener *rdl)
{
    rdl->notify_discard(rdl, rdl->section);
    memory_region_section_free_copy(rdl->section);
    rdl->section = NULL;
}

void neuron_class_hbm(ObjectClass *oc)
{
    RamDiscardManagerClass *rdmc = RAM_DISCARD_MANAGER_CLASS(oc);

    rdmc->get_min_granularity = neuron_min_granularity;
    rdmc->is_populated = neuron_is_populated;
    rdmc->replay_populated = neuron_replay_populated;
    rdmc->replay_discarded = neuron_replay_discarded;
    rdmc->register_listener = neuron_register_listener;
    rdmc->unregister_listener = neuron_unregister_listener;
}

/* --- Its regions --- */

static void neuron_init_stack(NeuronChip *s, const struct trn_area *area,
                              MemoryRegion *bar)
{
    g_autofree char *name = g_strdup_printf("neuron-hbm%u", area->stack);
    MemoryRegion *mr = &s->hbm_mr[area->stack];

    memory_region_init_ram_ptr(mr, OBJECT(s), name, area->size,
                               trn_chip_hbm(s->chip, area->stack));
    memory_region_set_ram_discard_manager(mr, RAM_DISCARD_MANAGER(s));
    vmstate_register_ram(mr, DEVICE(s));
    memory_region_add_subregion(bar, area->offset, mr);
}

void neuron_init_hbm(NeuronChip *s, const struct trn_bar *bar, MemoryRegion *mr)
{
    for (unsigned i = 0; i < bar->nr_areas; i++) {
        if (bar->area[i].kind == TRN_AREA_HBM) {
            neuron_init_stack(s, &bar->area[i], mr);
        }
    }
}

void neuron_show_hbm(NeuronChip *s, bool shown)
{
    for (unsigned i = 0; i < neuron_gen(s)->nr_hbm; i++) {
        memory_region_set_enabled(&s->hbm_mr[i], shown);
    }
    qatomic_store_release(&s->hbm_shown, true);
}

/* Each stack in BAR4 holds a reference on the device: it would never go. */
void neuron_exit_hbm(NeuronChip *s)
{
    for (unsigned i = 0; i < neuron_gen(s)->nr_hbm; i++) {
        MemoryRegion *mr = &s->hbm_mr[i];

        memory_region_del_subregion(mr->container, mr);
        vmstate_unregister_ram(mr, DEVICE(s));
        memory_region_set_ram_discard_manager(mr, NULL);
    }
}
