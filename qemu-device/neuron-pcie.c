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

#define NEURON_EXP_CAP  0x80
#define NEURON_AER_CAP  PCI_CONFIG_SPACE_SIZE

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

bool neuron_pcie_in_d3(NeuronChip *s)
{
    return s->pm_cap && neuron_pm_state(s) == PM_D3HOT;
}

/*
 * Not pci_pm_init(): that unmaps the BARs in D3hot, and QEMU reads 0 from what
 * is not mapped, where a machine reads all ones.
 */
static bool neuron_init_pm(NeuronChip *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    int cap = pci_add_capability(pci, PCI_CAP_ID_PM, 0, PCI_PM_SIZEOF, errp);

    if (cap < 0) {
        return false;
    }
    s->pm_cap = cap;
    pci_set_word(pci->config + cap + PCI_PM_PMC, 3);    /* PM 1.2, D0 and D3 */
    pci_set_word(pci->config + cap + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(pci->wmask + cap + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
    return true;
}

bool neuron_init_pcie(NeuronChip *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (!pci_bus_is_express(pci_get_bus(pci))) {
        return true;
    }
    if (pcie_endpoint_cap_init(pci, NEURON_EXP_CAP) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        return false;
    }
    pcie_cap_deverr_init(pci);
    pcie_cap_flr_init(pci);
    if (!neuron_init_pm(s, errp)) {
        goto exit_cap;
    }
    pci->exp.aer_log.log_max = PCIE_AER_LOG_MAX_DEFAULT;
    if (pcie_aer_init(pci, PCI_ERR_VER, NEURON_AER_CAP, PCI_ERR_SIZEOF,
                      errp) < 0) {
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
    neuron_update_sleep(s);
}

/* When bus mastering goes off, accesses under way end before the guest sees it. */
static void neuron_command_write(NeuronChip *s, bool was_master)
{
    PCIDevice *pci = PCI_DEVICE(s);

    if (s->asleep) {
        memory_region_set_enabled(&pci->bus_master_enable_region, false);
    } else if (was_master &&
               !(pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER) &&
               neuron_quiesce(s)) {
        neuron_unquiesce(s);
    }
}

static void neuron_config_effects(NeuronChip *s, uint32_t addr, uint32_t value,
                                  int len)
{
    PCIDevice *pci = PCI_DEVICE(s);
    bool was_master = pci_get_word(pci->config + PCI_COMMAND) &
                      PCI_COMMAND_MASTER;
    unsigned pm_state = s->pm_cap ? neuron_pm_state(s) : PM_D0;

    /*
     * One change of the memory map, not one for each BAR that comes or goes: with
     * many chips they are most of the time that a guest needs to boot.
     */
    memory_region_transaction_begin();
    pci_default_write_config(pci, addr, value, len);
    memory_region_transaction_commit();
    neuron_command_write(s, was_master);
    if (!s->chip || !s->express) {
        return;
    }
    neuron_power_write(s, pm_state);
    if (!s->chip) {
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
