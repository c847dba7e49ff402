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

static uint64_t neuron_bar_read(void *opaque, hwaddr offset, unsigned size)
{
    NeuronBar *bar = opaque;
    NeuronChip *s = bar->chip;
    uint64_t value = UINT64_MAX;

    if (s->function) {
        value = trn_function_read(s->function, bar->index, offset, size);
    }
    if (!bar->index) {
        trace_neuron_mmio_read(s->chip_id, offset, size, value);
    }
    return value;
}

static void neuron_bar_write(void *opaque, hwaddr offset, uint64_t value,
                             unsigned size)
{
    NeuronBar *bar = opaque;
    NeuronChip *s = bar->chip;

    if (!bar->index) {
        trace_neuron_mmio_write(s->chip_id, offset, size, value);
    }
    if (s->function) {
        trn_function_write(s->function, bar->index, offset, value, size);
    }
}

/* Where HBM is mapped, it is reached without this. */
static const MemoryRegionOps neuron_bar_ops = {
    .read = neuron_bar_read,
    .write = neuron_bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

static bool neuron_build_chip(NeuronChip *s, Error **errp)
{
    char why[TRN_FUNCTION_WHY];
    struct trn_function_config config;

    if (!neuron_configure(s, &config, errp)) {
        return false;
    }
    if (s->fabric) {
        config.chip.fabric = neuron_fabric_get(s->fabric, &s->pool);
    } else {
        s->pool = trn_pool_new(0, neuron_worker_enter, neuron_worker_exit);
    }
    if (!s->pool) {
        error_setg(errp, "cannot start worker threads");
        return false;
    }
    config.chip.pool = s->pool;
    s->function = trn_function_new(&config, why);
    if (!s->function) {
        error_setg(errp, "%s", why);
        return false;
    }
    s->chip = trn_function_chip(s->function);
    if (!runstate_is_running()) {
        trn_function_pause(s->function);
    }
    return true;
}

static void neuron_free_function(NeuronChip *s)
{
    struct trn_function *function = s->function;

    if (!function) {
        return;
    }
    trn_function_remove(function);
    neuron_settle(s);
    s->function = NULL;
    s->chip = NULL;
    trn_function_free(function);
}

static void neuron_free_chip(NeuronChip *s)
{
    neuron_free_function(s);
    if (!s->pool) {
        return;
    }
    if (s->fabric) {
        neuron_fabric_put(s->fabric);
    } else {
        trn_pool_free(s->pool);
    }
    s->pool = NULL;
}

static void neuron_init_bar(NeuronChip *s, const struct trn_bar *bar,
                            NeuronBar *b)
{
    g_autofree char *name = g_strdup_printf("neuron-bar%u", bar->index);

    b->chip = s;
    b->index = bar->index;
    if (bar->shows != bar->index) {
        memory_region_init_alias(&b->mr, OBJECT(s), name,
                                 s->parent_obj.io_regions[bar->shows].memory,
                                 0, bar->size);
    } else {
        memory_region_init_io(&b->mr, OBJECT(s), &neuron_bar_ops, b, name,
                              bar->size);
        neuron_init_hbm(s, bar, &b->mr);
    }
    pci_register_bar(&s->parent_obj, bar->index,
                     PCI_BASE_ADDRESS_SPACE_MEMORY | bar->flags, &b->mr);
}

static void neuron_init_bars(NeuronChip *s)
{
    const struct trn_bar *bar;

    for (unsigned i = 0; (bar = trn_function_bar(s->function, i)); i++) {
        neuron_init_bar(s, bar, &s->bar[i]);
    }
}

/* Where the function has the MSI-X table or the PBA. */
static uint64_t neuron_msix_offset(const struct trn_bar *bar,
                                   enum trn_area_kind kind)
{
    unsigned i = 0;

    while (bar->area[i].kind != kind) {
        i++;
    }
    return bar->area[i].offset;
}

static bool neuron_init_msix(NeuronChip *s, Error **errp)
{
    const struct trn_bar *bar = trn_function_bar(s->function, 0);

    memory_region_init(&s->msix, OBJECT(s), "neuron-msix", bar->size);
    if (msix_init(&s->parent_obj, s->vectors, &s->msix, bar->index,
                  neuron_msix_offset(bar, TRN_AREA_MSIX_TABLE), &s->msix,
                  bar->index, neuron_msix_offset(bar, TRN_AREA_MSIX_PBA), 0,
                  errp) < 0) {
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

/* Vendor and device are those of the class. */
static void neuron_init_identity(NeuronChip *s)
{
    uint8_t *config = PCI_DEVICE(s)->config;
    struct trn_identity identity;

    trn_function_identity(s->function, &identity);
    pci_config_set_revision(config, identity.revision);
    pci_config_set_class(config, identity.class_code);
}

static void neuron_realize(PCIDevice *pci, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(pci);

    neuron_init_port(s);
    if (!neuron_build_chip(s, errp) || !neuron_start_faults(s, errp)) {
        goto free_chip;
    }
    neuron_init_identity(s);
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
