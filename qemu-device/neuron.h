/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trainium chips in QEMU: what the files of this folder share.
 */
#ifndef HW_NEURON_H
#define HW_NEURON_H

#include "hw/pci/pci_device.h"
#include "qom/object.h"
#include "system/runstate.h"
#include "trn/function.h"
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
 * struct NeuronBar - a BAR
 * @index: its number
 */
typedef struct NeuronBar {
    NeuronChip *chip;
    unsigned index;
    MemoryRegion mr;
} NeuronBar;

#define NEURON_BARS     3       /* at most */

/**
 * struct NeuronChip - one chip
 * @bar: in the order of trn_function_bar()
 * @msix: holds MSI-X table and PBA, where nobody sees it
 * @pool: workers of the chip; its own unless it is on a fabric
 * @function: the chip as a function on its bus; NULL before realize and after
 *     unrealize
 * @chip: the function's
 * @hbm: memory of each stack, kept until nobody can map the BAR any more
 * @hbm_shown: each stack has its @hbm_mr; workers read it
 * @inline_us: time that a vCPU gives at a register write
 * @reset_us: least time that a reset shows as under way
 * @irq_bh: raises interrupts of workers
 * @timer: rings for trn_port.timer()
 * @express: the device has the capabilities of PCI Express; @pm_cap is one of them
 * @removed: pulled out of its slot
 * @saved_irqs: pending interrupts when the machine was saved
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

    NeuronBar bar[NEURON_BARS];
    MemoryRegion msix;
    MemoryRegion hbm_mr[NEURON_MAX_HBM];
    void *hbm[NEURON_MAX_HBM];
    uint64_t hbm_bytes;
    bool hbm_shown;
    struct trn_pool *pool;
    struct trn_function *function;
    struct trn_chip *chip;
    QEMUBH *irq_bh;
    VMChangeStateEntry *vm_state;
    bool express;
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
/*
 * What the properties say, with the rest filled in, also in the properties; false with
 * @errp: they do not fit.
 */
bool neuron_configure(NeuronChip *s, struct trn_function_config *config,
                      Error **errp);

/*
 * neuron-control.c: wait until all that was requested of the function has taken effect,
 * with the BQL dropped meanwhile; false: the function has gone. Hold a reference.
 */
bool neuron_settle(NeuronChip *s);
void neuron_vm_state_change(void *opaque, bool running, RunState state);
void neuron_set_master(NeuronChip *s, bool on);
void neuron_set_power(NeuronChip *s, unsigned state);
void neuron_remove(NeuronChip *s);
void neuron_reset(DeviceState *dev);

/* neuron-pcie.c */
bool neuron_init_pcie(NeuronChip *s, Error **errp);
void neuron_exit_pcie(NeuronChip *s);
void neuron_pcie_reset(NeuronChip *s);
unsigned neuron_pcie_power(NeuronChip *s);
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
/* the memory's regions in the BAR that has it, while the chip is there, */
void neuron_init_hbm(NeuronChip *s, const struct trn_bar *bar, MemoryRegion *mr);
void neuron_show_hbm(NeuronChip *s, bool shown);
void neuron_exit_hbm(NeuronChip *s);
void neuron_class_hbm(ObjectClass *oc);
/* and its end: only when no mapping of BAR4 can be left. */
void neuron_hbm_free(NeuronChip *s);

/* neuron-port.c: how the chip library reaches QEMU. */
extern const struct trn_port neuron_port;
extern const struct trn_function_host neuron_host;
/* Before the chip is built, after it has been freed. */
void neuron_init_port(NeuronChip *s);
void neuron_exit_port(NeuronChip *s);
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
