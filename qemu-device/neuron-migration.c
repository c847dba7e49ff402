/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saving, loading and migrating a chip, in three parts:
 *
 *  - Before all memory, while the machine runs: which chip it is. The machine that
 *    loads refuses another one, and makes its own chip forget everything.
 *  - HBM: QEMU sends it with the rest of RAM (neuron-hbm.c).
 *  - At the end: configuration space, MSI-X, and what the chip library writes
 *    (chip/include/trn/chip.h).
 *
 * By then the machine has been stopped, and with it every chip: all chips of a
 * fabric are quiet before the first of them is saved. What the workers wrote to
 * RAM before has been marked dirty, behind the data, and the last pass over memory
 * comes after the stop: so a migration of a running machine misses none of it.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "migration/postcopy-ram.h"
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

static int neuron_put_identity(QEMUFile *f, void *pv, size_t size,
                               const VMStateField *field, JSONWriter *vmdesc)
{
    return neuron_transfer(pv, f, trn_chip_identity, false);
}

static int neuron_get_identity(QEMUFile *f, void *pv, size_t size,
                               const VMStateField *field)
{
    return neuron_transfer(pv, f, trn_chip_identity, true);
}

static const VMStateInfo neuron_chip_info = {
    .name = "neuron-chip",
    .get = neuron_get_chip,
    .put = neuron_put_chip,
};

static const VMStateInfo neuron_identity_info = {
    .name = "neuron-identity",
    .get = neuron_get_identity,
    .put = neuron_put_identity,
};

/* A peer's last instruction may have kicked a task since the machine stopped. */
static int neuron_stand_still(void *opaque)
{
    NeuronChip *s = opaque;
    bool there;

    object_ref(s);
    trn_function_pause(s->function);
    there = neuron_settle(s);
    object_unref(s);
    return there ? 0 : -ENODEV;
}

static int neuron_post_load(void *opaque, int version_id)
{
    NeuronChip *s = opaque;

    /* Raised when the machine runs: not all of it may have been loaded yet. */
    trn_function_set_pending(s->function, s->saved_irqs);
    neuron_set_master(s, pci_get_word(s->parent_obj.config + PCI_COMMAND) &
                         PCI_COMMAND_MASTER);
    neuron_set_power(s, neuron_pcie_power(s));
    return 0;
}

static int neuron_may_be_saved(void *opaque)
{
    NeuronChip *s = opaque;

    if (s->removed) {
        error_report("neuron chip %u cannot be saved: it was removed, "
                     "device_del has to follow", s->chip_id);
        return -ENODEV;
    }
    return 0;
}

static int neuron_pre_save(void *opaque)
{
    NeuronChip *s = opaque;

    if (neuron_may_be_saved(s)) {
        return -ENODEV;
    }
    s->saved_irqs = trn_function_pending(s->function);
    return neuron_stand_still(s);
}

#define NEURON_WHOLE(_name, _info) {            \
    .name = (_name),                            \
    .info = &(_info),                           \
    .flags = VMS_SINGLE,                        \
    .offset = 0,                                \
    .size = sizeof(NeuronChip),                 \
}

/* What the stream does not have of HBM is zero. */
static int neuron_forget(void *opaque, int version_id)
{
    NeuronChip *s = opaque;

    trn_function_reset(s->function);
    return neuron_settle(s) ? 0 : -ENODEV;
}

static const VMStateDescription neuron_early_vmstate = {
    .name = TYPE_NEURON_CHIP "-early",
    .version_id = 1,
    .minimum_version_id = 1,
    .early_setup = true,
    /* RAM's is the default one; a file may have all pages in RAM's first part. */
    .priority = MIG_PRI_VIRTIO_MEM,
    .pre_save = neuron_may_be_saved,
    .pre_load = neuron_stand_still,
    .post_load = neuron_forget,
    .fields = (const VMStateField[]) {
        NEURON_WHOLE("identity", neuron_identity_info),
        VMSTATE_END_OF_LIST()
    }
};

/* Version 1 had HBM behind the chip. */
const VMStateDescription neuron_vmstate = {
    .name = TYPE_NEURON_CHIP,
    .version_id = 2,
    .minimum_version_id = 2,
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
        VMSTATE_END_OF_LIST()
    }
};

/*
 * With postcopy the machine goes on where RAM arrives page by page, on demand. The
 * workers of a chip must not wait, and a page that was left out would never arrive.
 */
static int neuron_postcopy(NotifierWithReturn *notifier, void *opaque,
                           Error **errp)
{
    struct PostcopyNotifyData *data = opaque;

    if (data->reason != POSTCOPY_NOTIFY_PROBE) {
        return 0;
    }
    error_setg(errp, "a machine with neuron chips cannot be migrated by "
               "postcopy: leave postcopy-ram off");
    return -ENOTSUP;
}

void neuron_init_migration(NeuronChip *s)
{
    s->postcopy.notify = neuron_postcopy;
    postcopy_add_notifier(&s->postcopy);
    vmstate_register_any(VMSTATE_IF(s), &neuron_early_vmstate, s);
}

void neuron_exit_migration(NeuronChip *s)
{
    vmstate_unregister(VMSTATE_IF(s), &neuron_early_vmstate, s);
    postcopy_remove_notifier(&s->postcopy);
}
