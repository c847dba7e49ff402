/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trainium chips as PCI devices: -device trn1|inf2|trn2|trn3[,fabric=ID][,chip-id=N]...
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/module.h"
#include "hw/pci/msix.h"
#include "neuron.h"
#include "trace.h"

#define NEURON_PCI_CLASS        0x1200  /* processing accelerator */
#define NEURON_BAR_TYPE         (PCI_BASE_ADDRESS_SPACE_MEMORY | \
                                 PCI_BASE_ADDRESS_MEM_TYPE_64 | \
                                 PCI_BASE_ADDRESS_MEM_PREFETCH)

/*
 * The MSI-X table and PBA are not regions inside BAR0's: they would cut it into
 * five pieces, and BAR0 and its alias of many chips make every change of the
 * memory map slow. So BAR0's accesses are passed on. NULL: not theirs.
 */
static MemoryRegion *neuron_msix_region(NeuronChip *s, hwaddr *offset)
{
    MemoryRegion *mr = &s->parent_obj.msix_table_mmio;
    hwaddr hole = *offset - neuron_gen(s)->hole_bar0;

    if (hole >= NEURON_HOLE_MSIX_PBA) {
        hole -= NEURON_HOLE_MSIX_PBA;
        mr = &s->parent_obj.msix_pba_mmio;
    }
    *offset = hole;
    return hole < memory_region_size(mr) ? mr : NULL;
}

static bool neuron_msix_read(NeuronChip *s, hwaddr offset, unsigned size,
                             uint64_t *value)
{
    MemoryRegion *mr = neuron_msix_region(s, &offset);

    if (!mr) {
        return false;
    }
    if (memory_region_dispatch_read(mr, offset, value,
                                    size_memop(size) | MO_LE,
                                    MEMTXATTRS_UNSPECIFIED) != MEMTX_OK) {
        *value = UINT64_MAX;
    }
    return true;
}

static bool neuron_msix_write(NeuronChip *s, hwaddr offset, unsigned size,
                              uint64_t value)
{
    MemoryRegion *mr = neuron_msix_region(s, &offset);

    if (mr) {
        memory_region_dispatch_write(mr, offset, value,
                                     size_memop(size) | MO_LE,
                                     MEMTXATTRS_UNSPECIFIED);
    }
    return mr;
}

static uint64_t neuron_mmio_read(void *opaque, hwaddr offset, unsigned size)
{
    NeuronChip *s = opaque;
    uint64_t value = UINT64_MAX;

    if (s->chip && !s->asleep && !neuron_msix_read(s, offset, size, &value)) {
        value = trn_chip_mmio_read(s->chip, offset, size);
    }
    trace_neuron_mmio_read(s->chip_id, offset, size, value);
    return value;
}

static void neuron_mmio_write(void *opaque, hwaddr offset, uint64_t value,
                              unsigned size)
{
    NeuronChip *s = opaque;
    bool run;

    trace_neuron_mmio_write(s->chip_id, offset, size, value);
    if (!s->chip || s->asleep || neuron_msix_write(s, offset, size, value)) {
        return;
    }
    /* What is short enough is done when the doorbell's write returns. */
    run = trn_pool_inline_begin(s->pool, s->inline_us * 1000);
    s->serving = true;
    trn_chip_mmio_write(s->chip, offset, value, size);
    if (run) {
        trn_pool_inline_end(s->pool);
    }
    s->serving = false;
    if (qatomic_read(&s->irq_pending)) {
        neuron_port_deliver(s);
    }
}

static const MemoryRegionOps neuron_mmio_ops = {
    .read = neuron_mmio_read,
    .write = neuron_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* BAR4 where no memory is populated, and all of it in D3hot. */
static uint64_t neuron_hole_read(void *opaque, hwaddr offset, unsigned size)
{
    NeuronChip *s = opaque;

    return s->asleep ? UINT64_MAX : 0;
}

static void neuron_hole_write(void *opaque, hwaddr offset, uint64_t value,
                              unsigned size)
{
}

static const MemoryRegionOps neuron_hole_ops = {
    .read = neuron_hole_read,
    .write = neuron_hole_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
};

static bool neuron_build_chip(NeuronChip *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    struct trn_chip_config config = {
        .gen = gen,
        .port = &neuron_port,
        .opaque = s,
        .fabric_id = s->fabric_id,
        .position = s->rack << 16 | s->server << 8 | s->chip_id,
        .routing_id = s->routing_id,
        .serial = s->serial,
        .hbm_size = s->hbm_size,
        .hbm_told = s->hbm_told,
        .bar4_stride = s->bar4_size / gen->nr_hbm,
        .host_limit = s->host_limit,
        .fault_seed = s->fault_seed,
        .reset_ns = s->reset_us * 1000ull,
        .clock = s->clock,
        .check_memory = s->check_memory,
        .repair_fails = s->repair_fails,
        .more_operators = s->more_operators,
    };
    const char *why;

    if (s->fabric) {
        config.fabric = neuron_fabric_get(s->fabric, &s->pool);
    } else {
        s->pool = trn_pool_new(0, neuron_worker_enter, neuron_worker_exit);
    }
    if (!s->pool) {
        error_setg(errp, "cannot start worker threads");
        return false;
    }
    config.pool = s->pool;
    s->chip = trn_chip_new(&config, &why);
    if (!s->chip) {
        error_setg(errp, "chip-id %u (fabric id %u): %s", s->chip_id,
                   s->fabric_id, why);
        return false;
    }
    return true;
}

static void neuron_free_chip(NeuronChip *s)
{
    struct trn_chip *chip = s->chip;

    if (chip) {
        s->leaving = true;
        neuron_quiesce(s);
        trn_chip_detach(chip);
        /* And until no peer uses it any more. */
        s->quiescing = false;
        neuron_quiesce(s);
        s->chip = NULL;
        trn_chip_free(chip);
        s->quiescing = false;
        s->leaving = false;
    }
    if (s->fabric) {
        neuron_fabric_put(s->fabric);
    } else {
        trn_pool_free(s->pool);
    }
    s->pool = NULL;
}

static void neuron_init_bars(NeuronChip *s)
{
    const struct neuron_gen *gen = neuron_gen(s);
    Object *obj = OBJECT(s);

    memory_region_init_io(&s->bar0, obj, &neuron_mmio_ops, s, "neuron-bar0",
                          gen->bar0_size);
    pci_register_bar(&s->parent_obj, 0, NEURON_BAR_TYPE, &s->bar0);
    if (!s->silicon) {
        memory_region_init_alias(&s->bar2, obj, "neuron-bar2", &s->bar0, 0,
                                 gen->bar0_size);
        pci_register_bar(&s->parent_obj, 2, NEURON_BAR_TYPE, &s->bar2);
    }

    memory_region_init_io(&s->bar4, obj, &neuron_hole_ops, s, "neuron-bar4",
                          s->bar4_size);
    neuron_init_hbm(s);
    pci_register_bar(&s->parent_obj, 4, NEURON_BAR_TYPE, &s->bar4);
}

static bool neuron_init_msix(NeuronChip *s, Error **errp)
{
    uint32_t hole = neuron_gen(s)->hole_bar0;

    memory_region_init(&s->msix, OBJECT(s), "neuron-msix",
                       memory_region_size(&s->bar0));
    if (msix_init(&s->parent_obj, s->vectors, &s->msix, 0,
                  hole + NEURON_HOLE_MSIX_TABLE, &s->msix, 0,
                  hole + NEURON_HOLE_MSIX_PBA, 0, errp) < 0) {
        return false;
    }
    /* They are reached from BAR0's handlers, which are guarded themselves. */
    s->parent_obj.msix_table_mmio.disable_reentrancy_guard = true;
    s->parent_obj.msix_pba_mmio.disable_reentrancy_guard = true;
    for (unsigned i = 0; i < s->vectors; i++) {
        msix_vector_use(&s->parent_obj, i);
    }
    return true;
}

static void neuron_realize(PCIDevice *pci, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(pci);

    if (!neuron_check_properties(s, errp)) {
        return;
    }
    neuron_init_port(s);
    if (!neuron_build_chip(s, errp) || !neuron_start_faults(s, errp)) {
        goto free_chip;
    }
    pci_set_byte(pci->config + PCI_REVISION_ID,
                 s->silicon ? NEURON_PCI_REVISION_SILICON :
                              NEURON_PCI_REVISION_PLATFORM);
    neuron_init_bars(s);
    if (!neuron_init_msix(s, errp)) {
        goto exit_hbm;
    }
    if (!neuron_init_pcie(s, errp)) {
        goto free_msix;
    }
    s->vm_state = qdev_add_vm_change_state_handler(DEVICE(s),
                                                   neuron_vm_state_change, s);
    neuron_init_migration(s);
    return;

free_msix:
    msix_uninit(pci, &s->msix, &s->msix);
exit_hbm:
    neuron_exit_hbm(s);
free_chip:
    neuron_free_chip(s);
    neuron_exit_port(s);
}

static void neuron_exit(PCIDevice *pci)
{
    NeuronChip *s = NEURON_CHIP(pci);

    neuron_exit_migration(s);
    qemu_del_vm_change_state_handler(s->vm_state);
    neuron_exit_hbm(s);
    neuron_free_chip(s);
    neuron_exit_port(s);
    neuron_exit_pcie(s);
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->msix, &s->msix);
}

static void neuron_finalize(Object *obj)
{
    neuron_hbm_free(NEURON_CHIP(obj));
    g_free(NEURON_CHIP(obj)->faults);
}

static void neuron_chip_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);

    pc->realize = neuron_realize;
    pc->exit = neuron_exit;
    pc->config_read = neuron_config_read;
    pc->config_write = neuron_config_write;
    pc->vendor_id = NEURON_PCI_VENDOR;
    pc->class_id = NEURON_PCI_CLASS;
    device_class_set_legacy_reset(dc, neuron_reset);
    neuron_class_properties(oc);
    neuron_class_removal(oc);
    neuron_class_faults(oc);
    neuron_class_hbm(oc);
    dc->vmsd = &neuron_vmstate;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
}

static void neuron_gen_class_init(ObjectClass *oc, void *data)
{
    const struct neuron_gen *gen = data;

    NEURON_CHIP_CLASS(oc)->gen = gen;
    PCI_DEVICE_CLASS(oc)->device_id = gen->pci_device;
    DEVICE_CLASS(oc)->desc = gen->device_name;
}

static const TypeInfo neuron_types[] = {
    {
        .name = TYPE_NEURON_CHIP,
        .parent = TYPE_PCI_DEVICE,
        .abstract = true,
        .instance_size = sizeof(NeuronChip),
        .instance_finalize = neuron_finalize,
        .class_size = sizeof(NeuronChipClass),
        .class_init = neuron_chip_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { TYPE_RAM_DISCARD_MANAGER },
            { }
        },
    },
    {
        .name = "trn1",
        .parent = TYPE_NEURON_CHIP,
        .class_init = neuron_gen_class_init,
        .class_data = (void *)&neuron_gen_trn1,
    },
    {
        .name = "inf2",
        .parent = TYPE_NEURON_CHIP,
        .class_init = neuron_gen_class_init,
        .class_data = (void *)&neuron_gen_inf2,
    },
    {
        .name = "trn2",
        .parent = TYPE_NEURON_CHIP,
        .class_init = neuron_gen_class_init,
        .class_data = (void *)&neuron_gen_trn2,
    },
    {
        .name = "trn3",
        .parent = TYPE_NEURON_CHIP,
        .class_init = neuron_gen_class_init,
        .class_data = (void *)&neuron_gen_trn3,
    },
};

DEFINE_TYPES(neuron_types)
