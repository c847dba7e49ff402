/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCI Express of a chip: capabilities, and what writes to configuration space do.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pci_bus.h"
#include "neuron.h"
#include "trace.h"

#define PM_D0           0
#define PM_D3HOT        3

static unsigned neuron_pm_state(NeuronChip *s)
{
    return pci_get_word(s->parent_obj.config + s->pm_cap + PCI_PM_CTRL) &
           PCI_PM_CTRL_STATE_MASK;
}

static void neuron_set_pm_state(NeuronChip *s, unsigned state)
{
    uint8_t *pmcsr = s->parent_obj.config + s->pm_cap + PCI_PM_CTRL;

    pci_set_word(pmcsr, (pci_get_word(pmcsr) & ~PCI_PM_CTRL_STATE_MASK) |
                        state);
}

unsigned neuron_pcie_power(NeuronChip *s)
{
    return s->pm_cap ? neuron_pm_state(s) : PM_D0;
}

static struct trn_capability neuron_capability(NeuronChip *s, uint16_t id,
                                               bool extended)
{
    struct trn_capability all[TRN_CAPABILITIES];
    unsigned nr = trn_function_capabilities(s->function, all), i = 0;

    while (i < nr - 1 && (all[i].id != id || all[i].extended != extended)) {
        i++;
    }
    return all[i];
}

/*
 * Not pci_pm_init(): that unmaps the BARs in D3hot, and QEMU reads 0 from what
 * is not mapped, where a machine reads all ones.
 */
static bool neuron_init_pm(NeuronChip *s, Error **errp)
{
    const struct trn_capability pm = neuron_capability(s, PCI_CAP_ID_PM, false);
    PCIDevice *pci = PCI_DEVICE(s);
    int at = pci_add_capability(pci, pm.id, pm.offset, pm.size, errp);

    if (at < 0) {
        return false;
    }
    s->pm_cap = at;
    memcpy(pci->config + at + PCI_CAP_FLAGS, pm.value + PCI_CAP_FLAGS,
           pm.size - PCI_CAP_FLAGS);
    memcpy(pci->wmask + at + PCI_CAP_FLAGS, pm.writable + PCI_CAP_FLAGS,
           pm.size - PCI_CAP_FLAGS);
    return true;
}

/* QEMU fills in PCI Express and AER itself, because it also acts on them. */
bool neuron_init_pcie(NeuronChip *s, Error **errp)
{
    const struct trn_capability express =
        neuron_capability(s, PCI_CAP_ID_EXP, false);
    const struct trn_capability aer =
        neuron_capability(s, PCI_EXT_CAP_ID_ERR, true);
    PCIDevice *pci = PCI_DEVICE(s);

    if (!pci_bus_is_express(pci_get_bus(pci))) {
        return true;
    }
    if (pcie_endpoint_cap_init(pci, express.offset) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        return false;
    }
    pcie_cap_deverr_init(pci);
    pcie_cap_flr_init(pci);
    if (!neuron_init_pm(s, errp)) {
        goto exit_cap;
    }
    pci->exp.aer_log.log_max = PCIE_AER_LOG_MAX_DEFAULT;
    if (pcie_aer_init(pci, aer.version, aer.offset, aer.size, errp) < 0) {
        goto exit_cap;
    }
    s->express = true;
    return true;

exit_cap:
    pcie_cap_exit(pci);
    return false;
}

void neuron_exit_pcie(NeuronChip *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (s->express) {
        pcie_aer_exit(pci);
        pcie_cap_exit(pci);
    }
}

void neuron_pcie_reset(NeuronChip *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (s->express) {
        pcie_cap_deverr_reset(pci);
        neuron_set_pm_state(s, PM_D0);
    }
}

/* There are only D0 and D3hot; a write of another state changes nothing. */
static void neuron_power_write(NeuronChip *s, unsigned before)
{
    unsigned after = neuron_pm_state(s);

    if (after == before) {
        return;
    }
    if (after != PM_D0 && after != PM_D3HOT) {
        neuron_set_pm_state(s, before);
        return;
    }
    trace_neuron_power(s->chip_id, after);
    neuron_set_power(s, after);
}

static bool neuron_is_master(PCIDevice *pci)
{
    return pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static void neuron_config_effects(NeuronChip *s, uint32_t addr, uint32_t value,
                                  int len)
{
    PCIDevice *pci = PCI_DEVICE(s);
    bool was_master = neuron_is_master(pci);
    unsigned pm_state = neuron_pcie_power(s);

    /*
     * One change of the memory map, not one for each BAR that comes or goes: with
     * many chips they are most of the time that a guest needs to boot.
     */
    memory_region_transaction_begin();
    pci_default_write_config(pci, addr, value, len);
    memory_region_transaction_commit();
    if (s->function && neuron_is_master(pci) != was_master) {
        neuron_set_master(s, !was_master);
    }
    if (!s->function || !s->express) {
        return;
    }
    neuron_power_write(s, pm_state);
    if (!s->function) {
        return;
    }
    pcie_aer_write_config(pci, addr, value, len);
    pcie_cap_flr_write_config(pci, addr, value, len);
}

void neuron_config_write(PCIDevice *pci, uint32_t addr, uint32_t value, int len)
{
    NeuronChip *s = NEURON_CHIP(pci);

    if (s->removed) {
        return;
    }
    /* Whoever waits for the chip to be quiet drops the BQL: it may go meanwhile. */
    object_ref(s);
    neuron_config_effects(s, addr, value, len);
    object_unref(s);
}
