/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to the function of a chip: stop and go on with the machine, reset, power states.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "neuron.h"
#include "trace.h"

/*
 * The BQL is dropped while waiting: a worker may need it after all (an IOMMU
 * that reports a fault), and then the chip would never be quiet. So the device
 * may be unplugged meanwhile.
 */
bool neuron_settle(NeuronChip *s)
{
    unsigned polls = 0;

    while (s->function && !trn_function_poll(s->function)) {
        bql_unlock();
        g_usleep(NEURON_QUIET_POLL_US);
        bql_lock();
        polls++;
    }
    trace_neuron_quiet(s->chip_id, polls);
    return s->function;
}

void neuron_vm_state_change(void *opaque, bool running, RunState state)
{
    NeuronChip *s = opaque;

    if (running) {
        trn_function_resume(s->function);
        return;
    }
    object_ref(s);
    trn_function_pause(s->function);
    if (neuron_settle(s)) {
        /* Into the interrupt controllers, before anybody saves them. */
        trn_function_deliver(s->function);
    }
    object_unref(s);
}

/*
 * What the machine reaches without the function: HBM, which reads as ones while the
 * function does not answer, and the bus, to which it sends no message then.
 */
static void neuron_show(NeuronChip *s, bool awake)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_transaction_begin();
    neuron_show_hbm(s, awake);
    memory_region_set_enabled(&pci->bus_master_enable_region,
                              awake && pci->enabled &&
                              (pci_get_word(pci->config + PCI_COMMAND) &
                               PCI_COMMAND_MASTER));
    memory_region_transaction_commit();
}

/* Another vCPU may change the power state meanwhile: what counts is the last one. */
static void neuron_settle_shown(NeuronChip *s)
{
    if (neuron_settle(s)) {
        neuron_show(s, trn_function_awake(s->function));
    }
}

void neuron_set_master(NeuronChip *s, bool on)
{
    trn_function_set_master(s->function, on);
    neuron_settle_shown(s);
}

void neuron_set_power(NeuronChip *s, unsigned state)
{
    if (!state && !s->removed) {
        /* Interrupts that have waited go out at once. */
        neuron_show(s, true);
    }
    trn_function_set_power(s->function, state);
    neuron_settle_shown(s);
}

void neuron_remove(NeuronChip *s)
{
    trn_function_remove(s->function);
    neuron_settle_shown(s);
}

static void neuron_reset_function(NeuronChip *s)
{
    if (!s->function) {
        return;
    }
    trn_function_reset(s->function);
    if (!neuron_settle(s)) {
        return;
    }
    neuron_pcie_reset(s);
    neuron_show(s, trn_function_awake(s->function));
    /* What resets the rest of the function clears PCI_COMMAND as well. */
    memory_region_set_enabled(&PCI_DEVICE(s)->bus_master_enable_region, false);
}

/* Of the function, the bus or the machine. */
void neuron_reset(DeviceState *dev)
{
    NeuronChip *s = NEURON_CHIP(dev);

    trace_neuron_reset(s->chip_id);
    object_ref(s);
    neuron_reset_function(s);
    object_unref(s);
}
