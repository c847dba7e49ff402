/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saving, loading and migrating a chip: configuration space, MSI-X, and what the
 * chip library writes (chip/include/trn/chip.h), HBM last and touched pages only.
 *
 * By then the machine has been stopped, and with it every chip: all chips of a
 * fabric are quiet before the first of them is saved. What the workers wrote to
 * the guest's memory before has been marked dirty page by page, behind the data
 * (neuron-port.c), and the last pass over memory comes after the stop: so a
 * migration of a running machine misses none of it.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "trn/state.h"
#include "neuron.h"
#include "trace.h"

bool neuron_put(void *opaque, void *buf, size_t len)
{
    qemu_put_buffer(opaque, buf, len);
    return true;
}

bool neuron_get(void *opaque, void *buf, size_t len)
{
    return qemu_get_buffer(opaque, buf, len) == len;
}

typedef bool (*NeuronStateFn)(struct trn_chip *chip, struct trn_state *st);

static int neuron_transfer(NeuronChip *s, QEMUFile *f, NeuronStateFn fn,
                           bool loading)
{
    struct trn_state st = {
        .loading = loading,
        .transfer = loading ? neuron_get : neuron_put,
        .opaque = f,
    };

    if (fn(s->chip, &st)) {
        return 0;
    }
    error_report("neuron chip %u cannot be %s: %s", s->chip_id,
                 loading ? "loaded" : "saved", st.why);
    return -EINVAL;
}

static int neuron_put_chip(QEMUFile *f, void *pv, size_t size,
                           const VMStateField *field, JSONWriter *vmdesc)
{
    return neuron_transfer(pv, f, trn_chip_save, false);
}

static int neuron_get_chip(QEMUFile *f, void *pv, size_t size,
                           const VMStateField *field)
{
    return neuron_transfer(pv, f, trn_chip_load, true);
}

static int neuron_put_hbm(QEMUFile *f, void *pv, size_t size,
                          const VMStateField *field, JSONWriter *vmdesc)
{
    return neuron_transfer(pv, f, trn_chip_save_hbm, false);
}

static int neuron_get_hbm(QEMUFile *f, void *pv, size_t size,
                          const VMStateField *field)
{
    return neuron_transfer(pv, f, trn_chip_load_hbm, true);
}

static const VMStateInfo neuron_chip_info = {
    .name = "neuron-chip",
    .get = neuron_get_chip,
    .put = neuron_put_chip,
};

static const VMStateInfo neuron_hbm_info = {
    .name = "neuron-hbm",
    .get = neuron_get_hbm,
    .put = neuron_put_hbm,
};

/* A peer's last instruction may have kicked a task since the machine stopped. */
static int neuron_stand_still(void *opaque)
{
    NeuronChip *s = opaque;
    bool there;

    object_ref(s);
    there = neuron_quiesce(s);
    if (there) {
        s->quiescing = false;
    }
    object_unref(s);
    return there ? 0 : -ENODEV;
}

static int neuron_post_load(void *opaque, int version_id)
{
    NeuronChip *s = opaque;

    /* Raised when the machine runs: not all of it may have been loaded yet. */
    qatomic_set(&s->irq_pending, s->saved_irqs);
    neuron_update_sleep(s);
    return 0;
}

static int neuron_pre_save(void *opaque)
{
    NeuronChip *s = opaque;

    if (s->removed) {
        error_report("neuron chip %u cannot be saved: it was removed, "
                     "device_del has to follow", s->chip_id);
        return -ENODEV;
    }
    s->saved_irqs = qatomic_read(&s->irq_pending);
    return neuron_stand_still(s);
}

#define NEURON_WHOLE(_name, _info) {            \
    .name = (_name),                            \
    .info = &(_info),                           \
    .flags = VMS_SINGLE,                        \
    .offset = 0,                                \
    .size = sizeof(NeuronChip),                 \
}

const VMStateDescription neuron_vmstate = {
    .name = TYPE_NEURON_CHIP,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = neuron_pre_save,
    .pre_load = neuron_stand_still,
    .post_load = neuron_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, NeuronChip),
        VMSTATE_STRUCT(parent_obj.exp.aer_log, NeuronChip, 0,
                       vmstate_pcie_aer_log, PCIEAERLog),
        VMSTATE_MSIX(parent_obj, NeuronChip),
        VMSTATE_UINT32(saved_irqs, NeuronChip),
        NEURON_WHOLE("chip", neuron_chip_info),
        NEURON_WHOLE("hbm", neuron_hbm_info),
        VMSTATE_END_OF_LIST()
    }
};
