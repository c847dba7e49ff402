/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trainium chips in QEMU: what the files of this folder share.
 */
#ifndef HW_NEURON_H
#define HW_NEURON_H

#include "hw/pci/pci_device.h"
#include "qom/object.h"
#include "system/runstate.h"
#include "trn/chip.h"
#include "trn/pool.h"

/* Whoever waits for chips to be quiet looks so often. */
#define NEURON_QUIET_POLL_US    50

#define TYPE_NEURON_FABRIC "neuron-fabric"
OBJECT_DECLARE_SIMPLE_TYPE(NeuronFabric, NEURON_FABRIC)

#define TYPE_NEURON_CHIP "neuron-chip"
OBJECT_DECLARE_TYPE(NeuronChip, NeuronChipClass, NEURON_CHIP)

struct NeuronChipClass {
    PCIDeviceClass parent_class;

    const struct neuron_gen *gen;
};

/**
 * struct NeuronChip - one chip
 * @msix: holds MSI-X table and PBA, where nobody sees it
 * @pool: workers of the chip; its own unless it is on a fabric
 * @chip: NULL before realize and after unrealize
 * @hbm: memory of each stack, kept until nobody can map the BAR any more
 * @hbm_shown: each stack has its @hbm_mr; workers read it
 * @inline_us: time that a vCPU gives at a register write
 * @reset_us: least time that a reset shows as under way
 * @irq_pending: vectors to be raised, by @irq_bh if a worker has set them
 * @serving: a vCPU is in a register write and raises them at its end
 * @quiescing: somebody waits for the chip to be quiet
 * @leaving: the device is being freed, and its chip must not go on
 * @express: the device has the capabilities of PCI Express; @pm_cap is one of them
 * @asleep: in D3hot, or @removed: pulled out of its slot
 * @timer: rings for trn_port.timer()
 * @saved_irqs: @irq_pending when the machine was saved
 * @postcopy: asked before a migration by postcopy
 */
struct NeuronChip {
    PCIDevice parent_obj;

    /* properties */
    NeuronFabric *fabric;
    uint8_t chip_id;
    uint8_t server;
    uint8_t rack;
    uint32_t fabric_id;
    uint32_t routing_id;
    uint64_t serial;
    uint64_t hbm_size;
    uint64_t hbm_told;
    uint64_t bar4_size;
    uint64_t host_limit;
    uint32_t vectors;
    uint32_t inline_us;
    uint32_t reset_us;
    uint64_t fault_seed;
    char *faults;
    char *check;
    bool check_memory;
    bool clock;
    bool silicon;
    bool repair_fails;
    bool more_operators;

    MemoryRegion bar0;
    MemoryRegion bar2;
    MemoryRegion msix;
    MemoryRegion bar4;
    MemoryRegion hbm_mr[NEURON_MAX_HBM];
    void *hbm[NEURON_MAX_HBM];
    uint64_t hbm_bytes;
    bool hbm_shown;
    struct trn_pool *pool;
    struct trn_chip *chip;
    QEMUBH *irq_bh;
    uint32_t irq_pending;
    bool serving;
    VMChangeStateEntry *vm_state;
    bool quiescing;
    bool leaving;
    bool express;
    bool asleep;
    bool removed;
    uint8_t pm_cap;
    uint32_t saved_irqs;
    QEMUTimer *timer;
    NotifierWithReturn postcopy;
};

static inline const struct neuron_gen *neuron_gen(NeuronChip *s)
{
    return NEURON_CHIP_GET_CLASS(s)->gen;
}

/* neuron-properties.c */
void neuron_class_properties(ObjectClass *oc);
/* Fill in what the properties leave open; false with @errp: they do not fit. */
bool neuron_check_properties(NeuronChip *s, Error **errp);

/*
 * neuron-control.c: stop the chip and wait until nothing of it runs, with the BQL
 * dropped meanwhile; false: the chip has gone. neuron_unquiesce() must follow: the
 * chip goes on, unless the machine is stopped or the chip asleep.
 */
bool neuron_quiesce(NeuronChip *s);
void neuron_unquiesce(NeuronChip *s);
void neuron_vm_state_change(void *opaque, bool running, RunState state);
/*
 * Make the chip sleep or go on, as power state and removal say. It may wait with the
 * BQL dropped, and then the device may be gone: hold a reference, look at @chip.
 */
void neuron_update_sleep(NeuronChip *s);
void neuron_reset(DeviceState *dev);

/* neuron-pcie.c */
bool neuron_init_pcie(NeuronChip *s, Error **errp);
void neuron_exit_pcie(NeuronChip *s);
void neuron_pcie_reset(NeuronChip *s);
bool neuron_pcie_in_d3(NeuronChip *s);
void neuron_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                         int len);

/* neuron-removal.c */
void neuron_class_removal(ObjectClass *oc);
uint32_t neuron_config_read(PCIDevice *pci, uint32_t addr, int len);

/* neuron-fault.c */
/* Start the faults that the properties ask for; false and @errp when one is not possible. */
bool neuron_start_faults(NeuronChip *s, Error **errp);
void neuron_class_faults(ObjectClass *oc);

/* neuron-migration.c; a stream of the chip library over a QEMUFile */
bool neuron_put(void *file, void *buf, size_t len);
bool neuron_get(void *file, void *buf, size_t len);
extern const VMStateDescription neuron_vmstate;
void neuron_init_migration(NeuronChip *s);
void neuron_exit_migration(NeuronChip *s);

/* neuron-hbm.c: callbacks of the port, */
void *neuron_hbm_alloc(void *opaque, unsigned stack, uint64_t size);
void neuron_hbm_discard(void *opaque, unsigned stack, uint64_t offset,
                        uint64_t len);
void neuron_hbm_dirty(void *opaque, unsigned stack, uint64_t offset,
                      uint64_t len);
/* the memory's regions in BAR4, while the chip is there, */
void neuron_init_hbm(NeuronChip *s);
void neuron_exit_hbm(NeuronChip *s);
void neuron_class_hbm(ObjectClass *oc);
/* and its end: only when no mapping of BAR4 can be left. */
void neuron_hbm_free(NeuronChip *s);

/* neuron-port.c: how the chip library reaches QEMU. */
extern const struct trn_port neuron_port;
/* Before the chip is built, after it has been freed. */
void neuron_init_port(NeuronChip *s);
void neuron_exit_port(NeuronChip *s);
/* Raise the pending interrupts of the NeuronChip @opaque; under the BQL. */
void neuron_port_deliver(void *opaque);
/* The chip has changed @len bytes of RAM. Under the RCU read lock. */
void neuron_ram_written(NeuronChip *s, MemoryRegion *mr, void *ram, size_t len);
/* Hooks of the worker threads. */
void neuron_worker_enter(void);
void neuron_worker_exit(void);

/* neuron-fabric.c: each attached chip keeps the fabric from being deleted. */
struct trn_fabric *neuron_fabric_get(NeuronFabric *fabric,
                                     struct trn_pool **pool);
void neuron_fabric_put(NeuronFabric *fabric);
/* Are there other servers, with Trainium2 chips that the machine does not have? */
bool neuron_fabric_has_pod(NeuronFabric *fabric);

#endif /* HW_NEURON_H */
