/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stop, go on and reset of a chip: with the machine, for a reset, in D3hot.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "neuron.h"
#include "trace.h"

/* Let others have the BQL for a moment. */
static void neuron_wait(void)
{
    bql_unlock();
    g_usleep(NEURON_QUIET_POLL_US);
    bql_lock();
}

/* Until nobody else waits for the chip to be quiet; the BQL is dropped. */
static void neuron_wait_turn(NeuronChip *s)
{
    while (s->quiescing) {
        neuron_wait();
    }
}

/*
 * The BQL is dropped while waiting: a worker may need it after all (an IOMMU
 * that reports a fault), and then the chip would never be quiet. So the device
 * may be unplugged meanwhile: whoever calls this, or what calls it, holds a
 * reference on the device.
 */
bool neuron_quiesce(NeuronChip *s)
{
    unsigned polls = 0;

    neuron_wait_turn(s);
    if (!s->chip) {
        return false;
    }
    s->quiescing = true;
    trn_chip_stop(s->chip);
    while (!trn_chip_quiet(s->chip)) {
        neuron_wait();
        polls++;
    }
    trace_neuron_quiet(s->chip_id, polls);
    return true;
}

void neuron_unquiesce(NeuronChip *s)
{
    s->quiescing = false;
    if (s->chip && !s->leaving && runstate_is_running() && !s->asleep) {
        trn_chip_resume(s->chip);
    }
}

void neuron_vm_state_change(void *opaque, bool running, RunState state)
{
    NeuronChip *s = opaque;

    object_ref(s);
    if (running) {
        neuron_wait_turn(s);
        neuron_unquiesce(s);
        neuron_port_deliver(s);
    } else if (neuron_quiesce(s)) {
        s->quiescing = false;
        /* Into the interrupt controllers, before anybody saves them. */
        neuron_port_deliver(s);
    }
    object_unref(s);
}

/*
 * In D3hot the function answers configuration accesses only: memory reads give
 * all ones, and it sends neither requests nor messages. The chip keeps its state
 * (No_Soft_Reset), so that it goes on where it was.
 */
static bool neuron_must_sleep(NeuronChip *s)
{
    return s->removed || neuron_pcie_in_d3(s);
}

static void neuron_sleep_regions(NeuronChip *s, bool asleep)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_transaction_begin();
    for (unsigned i = 0; i < neuron_gen(s)->nr_hbm; i++) {
        memory_region_set_enabled(&s->hbm_mr[i], !asleep);
    }
    memory_region_set_enabled(&pci->msix_table_mmio, !asleep);
    memory_region_set_enabled(&pci->msix_pba_mmio, !asleep);
    memory_region_set_enabled(&pci->bus_master_enable_region,
                              !asleep && pci->enabled &&
                              (pci_get_word(pci->config + PCI_COMMAND) &
                               PCI_COMMAND_MASTER));
    memory_region_transaction_commit();
}

/* Another vCPU may change the power state meanwhile: what counts is the last one. */
void neuron_update_sleep(NeuronChip *s)
{
    neuron_wait_turn(s);
    if (!s->chip) {
        return;
    }
    if (!s->asleep && neuron_must_sleep(s)) {
        if (!neuron_quiesce(s)) {
            return;
        }
        s->quiescing = false;
    }
    s->asleep = neuron_must_sleep(s);
    neuron_sleep_regions(s, s->asleep);
    if (s->asleep) {
        return;
    }
    neuron_unquiesce(s);
    if (runstate_is_running()) {
        neuron_port_deliver(s);
    }
}

static void neuron_reset_chip(NeuronChip *s)
{
    if (!neuron_quiesce(s)) {
        return;
    }
    trn_chip_reset(s->chip);
    qatomic_set(&s->irq_pending, 0);
    s->quiescing = false;
    neuron_pcie_reset(s);
    neuron_update_sleep(s);
    /* What resets the rest of the function clears PCI_COMMAND as well. */
    memory_region_set_enabled(&PCI_DEVICE(s)->bus_master_enable_region, false);
}

/* Of the function, the bus or the machine. */
void neuron_reset(DeviceState *dev)
{
    NeuronChip *s = NEURON_CHIP(dev);

    trace_neuron_reset(s->chip_id);
    object_ref(s);
    neuron_reset_chip(s);
    object_unref(s);
}
