/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trainium chips as PCI devices: -device trn1|inf2|trn2|trn3[,fabric=ID][,chip-id=N]...
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pci_bus.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "neuron.h"
#include "trace.h"

#define NEURON_PCI_CLASS        0x1200  /* processing accelerator */
#define NEURON_EXP_CAP          0x80
#define NEURON_BAR_TYPE         (PCI_BASE_ADDRESS_SPACE_MEMORY | \
                                 PCI_BASE_ADDRESS_MEM_TYPE_64 | \
                                 PCI_BASE_ADDRESS_MEM_PREFETCH)
#define NEURON_FABRIC_ID_AUTO   UINT32_MAX
#define NEURON_ROUTING_ID_AUTO  UINT32_MAX
#define NEURON_QUIET_POLL_US    50

static const struct neuron_gen *neuron_gen(NeuronChip *s)
{
    return NEURON_CHIP_GET_CLASS(s)->gen;
}

/*
 * Stop the chip and wait until nothing of it runs. The BQL is dropped while
 * waiting: a worker may need it after all (an IOMMU that reports a fault), and
 * then the chip would never be quiet.
 */
static void neuron_quiesce(NeuronChip *s)
{
    unsigned polls = 0;

    while (s->quiescing) {
        bql_unlock();
        g_usleep(NEURON_QUIET_POLL_US);
        bql_lock();
    }
    s->quiescing = true;
    trn_chip_stop(s->chip);
    while (!trn_chip_quiet(s->chip)) {
        bql_unlock();
        g_usleep(NEURON_QUIET_POLL_US);
        bql_lock();
        polls++;
    }
    trace_neuron_quiet(s->chip_id, polls);
}

/* The chip goes on, unless the machine is stopped. */
static void neuron_unquiesce(NeuronChip *s)
{
    s->quiescing = false;
    if (runstate_is_running()) {
        trn_chip_resume(s->chip);
    }
}

static uint64_t neuron_mmio_read(void *opaque, hwaddr offset, unsigned size)
{
    NeuronChip *s = opaque;
    uint64_t value = s->chip ? trn_chip_mmio_read(s->chip, offset, size) :
                               UINT64_MAX;

    trace_neuron_mmio_read(s->chip_id, offset, size, value);
    return value;
}

static void neuron_mmio_write(void *opaque, hwaddr offset, uint64_t value,
                              unsigned size)
{
    NeuronChip *s = opaque;

    trace_neuron_mmio_write(s->chip_id, offset, size, value);
    if (s->chip) {
        trn_chip_mmio_write(s->chip, offset, value, size);
    }
}

static const MemoryRegionOps neuron_mmio_ops = {
    .read = neuron_mmio_read,
    .write = neuron_mmio_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* BAR4 where no memory is populated. */
static uint64_t neuron_hole_read(void *opaque, hwaddr offset, unsigned size)
{
    return 0;
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

static void neuron_vm_state_change(void *opaque, bool running, RunState state)
{
    NeuronChip *s = opaque;

    if (running) {
        trn_chip_resume(s->chip);
        return;
    }
    neuron_quiesce(s);
    s->quiescing = false;
}

static void neuron_reset(DeviceState *dev)
{
    NeuronChip *s = NEURON_CHIP(dev);

    trace_neuron_reset(s->chip_id);
    neuron_quiesce(s);
    trn_chip_reset(s->chip);
    qatomic_set(&s->irq_pending, 0);
    neuron_unquiesce(s);
}

/* When bus mastering goes off, accesses under way end before the guest sees it. */
static void neuron_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                                int len)
{
    NeuronChip *s = NEURON_CHIP(pci);
    bool was = pci->config[PCI_COMMAND] & PCI_COMMAND_MASTER;

    pci_default_write_config(pci, addr, value, len);
    if (was && !(pci->config[PCI_COMMAND] & PCI_COMMAND_MASTER)) {
        neuron_quiesce(s);
        neuron_unquiesce(s);
    }
}

/* Fill in what the properties leave open; false with @errp: they do not fit. */
static bool neuron_check_properties(NeuronChip *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    uint64_t stride;

    if (!s->bar4_size) {
        s->bar4_size = s->silicon ? gen->bar4_silicon : gen->bar4_platform;
    }
    if (!is_power_of_2(s->bar4_size) || s->bar4_size < gen->nr_hbm * 4 * KiB) {
        error_setg(errp, "bar4-size must be a power of two of at least %u KiB",
                   gen->nr_hbm * 4);
        return false;
    }
    stride = s->bar4_size / gen->nr_hbm;
    if (!s->hbm_size) {
        s->hbm_size = MIN(gen->hbm_active, stride);
    }
    if (s->hbm_size > stride) {
        error_setg(errp, "hbm-size does not fit: bar4-size leaves %" PRIu64
                   " MiB for each of %u stacks", stride / MiB, gen->nr_hbm);
        return false;
    }
    if (!s->vectors) {
        s->vectors = gen->nr_cores + 1;
    }
    if (s->vectors > gen->nr_cores + 1) {
        error_setg(errp, "vectors: a %s has 1 to %u", gen->name,
                   gen->nr_cores + 1);
        return false;
    }
    if (s->fabric_id == NEURON_FABRIC_ID_AUTO) {
        s->fabric_id = s->rack << 10 | s->server << 4 | s->chip_id;
    }
    if (s->routing_id == NEURON_ROUTING_ID_AUTO) {
        s->routing_id = s->chip_id & 63;
    }
    if (s->routing_id > 63) {
        error_setg(errp, "routing-id is 0 to 63");
        return false;
    }
    if (!s->serial) {
        s->serial = (0x4e450000ull | gen->generation) << 32 |
                    (s->fabric_id + 1);
    }
    return true;
}

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
        .bar4_stride = s->bar4_size / gen->nr_hbm,
        .host_limit = s->host_limit,
        .clock = s->clock,
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
        trn_chip_detach(chip);
        neuron_quiesce(s);
        s->chip = NULL;
        trn_chip_free(chip);
        s->quiescing = false;
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
    for (unsigned i = 0; i < gen->nr_hbm; i++) {
        g_autofree char *name = g_strdup_printf("neuron-hbm%u", i);

        memory_region_init_ram_ptr(&s->hbm_mr[i], obj, name, s->hbm_size,
                                   trn_chip_hbm(s->chip, i));
        memory_region_add_subregion(&s->bar4, i * (s->bar4_size / gen->nr_hbm),
                                    &s->hbm_mr[i]);
    }
    pci_register_bar(&s->parent_obj, 4, NEURON_BAR_TYPE, &s->bar4);
}

static bool neuron_init_msix(NeuronChip *s, Error **errp)
{
    uint32_t hole = neuron_gen(s)->hole_bar0;

    if (msix_init(&s->parent_obj, s->vectors, &s->bar0, 0,
                  hole + NEURON_HOLE_MSIX_TABLE, &s->bar0, 0,
                  hole + NEURON_HOLE_MSIX_PBA, 0, errp) < 0) {
        return false;
    }
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
    s->irq_bh = qemu_bh_new_guarded(neuron_port_irq_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    if (!neuron_build_chip(s, errp)) {
        goto free_chip;
    }
    pci_set_byte(pci->config + PCI_REVISION_ID,
                 s->silicon ? NEURON_PCI_REVISION_SILICON :
                              NEURON_PCI_REVISION_PLATFORM);
    neuron_init_bars(s);
    if (!neuron_init_msix(s, errp)) {
        goto free_chip;
    }
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        pcie_endpoint_cap_init(pci, NEURON_EXP_CAP) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        goto free_msix;
    }
    s->vm_state = qdev_add_vm_change_state_handler(DEVICE(s),
                                                   neuron_vm_state_change, s);
    return;

free_msix:
    msix_uninit(pci, &s->bar0, &s->bar0);
free_chip:
    neuron_free_chip(s);
    qemu_bh_delete(s->irq_bh);
}

static void neuron_exit(PCIDevice *pci)
{
    NeuronChip *s = NEURON_CHIP(pci);

    qemu_del_vm_change_state_handler(s->vm_state);
    neuron_free_chip(s);
    qemu_bh_delete(s->irq_bh);
    msix_unuse_all_vectors(pci);
    msix_uninit(pci, &s->bar0, &s->bar0);
}

/* Only now can no mapping of BAR4 be left. */
static void neuron_finalize(Object *obj)
{
    neuron_port_free_hbm(NEURON_CHIP(obj));
}

static const VMStateDescription neuron_vmstate = {
    .name = TYPE_NEURON_CHIP,
    .unmigratable = 1,
};

static const Property neuron_properties[] = {
    DEFINE_PROP_LINK("fabric", NeuronChip, fabric, TYPE_NEURON_FABRIC,
                     NeuronFabric *),
    DEFINE_PROP_UINT8("chip-id", NeuronChip, chip_id, 0),
    DEFINE_PROP_UINT8("server", NeuronChip, server, 0),
    DEFINE_PROP_UINT8("rack", NeuronChip, rack, 0),
    DEFINE_PROP_UINT32("fabric-id", NeuronChip, fabric_id,
                       NEURON_FABRIC_ID_AUTO),
    DEFINE_PROP_UINT32("routing-id", NeuronChip, routing_id,
                       NEURON_ROUTING_ID_AUTO),
    DEFINE_PROP_UINT64("serial", NeuronChip, serial, 0),
    DEFINE_PROP_SIZE("hbm-size", NeuronChip, hbm_size, 0),
    DEFINE_PROP_SIZE("bar4-size", NeuronChip, bar4_size, 0),
    DEFINE_PROP_SIZE("host-limit", NeuronChip, host_limit, 0),
    DEFINE_PROP_UINT32("vectors", NeuronChip, vectors, 0),
    DEFINE_PROP_BOOL("clock", NeuronChip, clock, true),
    DEFINE_PROP_BOOL("silicon", NeuronChip, silicon, false),
};

static void neuron_chip_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);

    pc->realize = neuron_realize;
    pc->exit = neuron_exit;
    pc->config_write = neuron_config_write;
    pc->vendor_id = NEURON_PCI_VENDOR;
    pc->class_id = NEURON_PCI_CLASS;
    device_class_set_legacy_reset(dc, neuron_reset);
    device_class_set_props(dc, neuron_properties);
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
