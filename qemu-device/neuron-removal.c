/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surprise removal: qom-set CHIP surprise-removal true
 *
 * From then on the function is as good as not there: all accesses read as ones,
 * its DMA has ended, its peers find nobody, and the slot says that it is empty.
 * QEMU keeps what is left of the device until device_del, which needs no more
 * answer from the guest once that has switched the slot off.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/pci_bridge.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pcie.h"
#include "neuron.h"
#include "trace.h"

/* The port that the chip is plugged into, when it can be hot-plugged there. */
static PCIDevice *neuron_slot(NeuronChip *s)
{
    PCIDevice *port = pci_bridge_get_device(pci_get_bus(PCI_DEVICE(s)));
    uint8_t *exp_cap;

    if (!port || !pci_is_express_downstream_port(port)) {
        return NULL;
    }
    exp_cap = port->config + port->exp.exp_cap;
    return pci_get_long(exp_cap + PCI_EXP_SLTCAP) & PCI_EXP_SLTCAP_HPC ? port :
                                                                         NULL;
}

static void neuron_slot_is_empty(PCIDevice *port)
{
    uint8_t *exp_cap = port->config + port->exp.exp_cap;
    uint16_t ctl = pci_get_word(exp_cap + PCI_EXP_SLTCTL);

    pci_word_test_and_clear_mask(exp_cap + PCI_EXP_SLTSTA,
                                 PCI_EXP_SLTSTA_PDS);
    pci_word_test_and_clear_mask(exp_cap + PCI_EXP_LNKSTA,
                                 PCI_EXP_LNKSTA_DLLLA);
    pci_word_test_and_set_mask(exp_cap + PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_PDC);
    /* A write that changes nothing makes the port look at its events. */
    pcie_cap_slot_write_config(port, ctl, pci_get_word(exp_cap + PCI_EXP_SLTSTA),
                               port->exp.exp_cap + PCI_EXP_SLTCTL, ctl, 2);
}

static bool neuron_get_removed(Object *obj, Error **errp)
{
    return NEURON_CHIP(obj)->removed;
}

static void neuron_set_removed(Object *obj, bool value, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(obj);
    PCIDevice *port;

    if (value == s->removed) {
        return;
    }
    if (!value) {
        error_setg(errp, "a chip that has been removed does not come back: use "
                   "device_del, then device_add");
        return;
    }
    port = s->function ? neuron_slot(s) : NULL;
    if (!port) {
        error_setg(errp, "only a chip in a slot with hot plug can be removed: "
                   "put it behind a pcie-root-port");
        return;
    }
    trace_neuron_removed(s->chip_id);
    s->removed = true;
    /* Without the BQL for a while: device_del may take both away meanwhile. */
    object_ref(obj);
    object_ref(port);
    neuron_remove(s);
    if (s->function) {
        neuron_slot_is_empty(port);
    }
    object_unref(port);
    object_unref(obj);
}

uint32_t neuron_config_read(PCIDevice *pci, uint32_t addr, int len)
{
    return NEURON_CHIP(pci)->removed ? UINT32_MAX :
                                       pci_default_read_config(pci, addr, len);
}

void neuron_class_removal(ObjectClass *oc)
{
    object_class_property_add_bool(oc, "surprise-removal", neuron_get_removed,
                                   neuron_set_removed);
    object_class_property_set_description(oc, "surprise-removal",
        "set it while the machine runs: the chip is pulled out of its slot");
}
