/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trainium chips in QEMU: what the files of this folder share.
 */
#ifndef HW_NEURON_H
#define HW_NEURON_H

#include "hw/pci/pci_device.h"
#include "qom/object.h"
#include "chip/trn_chip.h"
#include "chip/trn_pool.h"

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
 * @pool: workers of the chip; its own unless it is on a fabric
 * @chip: NULL before realize and after unrealize
 * @hbm: memory of each stack, kept until nobody can map the BAR any more
 * @irq_pending: vectors to be raised by @irq_bh; set by workers
 * @quiescing: somebody waits for the chip to be quiet
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
    bool clock;
    bool silicon;

    MemoryRegion bar0;
    MemoryRegion bar2;
    MemoryRegion bar4;
    MemoryRegion hbm_mr[NEURON_MAX_HBM];
    void *hbm[NEURON_MAX_HBM];
    uint64_t hbm_bytes;
    struct trn_pool *pool;
    struct trn_chip *chip;
    QEMUBH *irq_bh;
    uint32_t irq_pending;
    VMChangeStateEntry *vm_state;
    bool quiescing;
};

/* neuron-port.c: how the chip library reaches QEMU. */
extern const struct trn_port neuron_port;
void neuron_port_irq_bh(void *opaque);
void neuron_port_free_hbm(NeuronChip *s);
/* Hooks of the worker threads. */
void neuron_worker_enter(void);
void neuron_worker_exit(void);

/* neuron-fabric.c: each attached chip keeps the fabric from being deleted. */
struct trn_fabric *neuron_fabric_get(NeuronFabric *fabric,
                                     struct trn_pool **pool);
void neuron_fabric_put(NeuronFabric *fabric);

#endif /* HW_NEURON_H */
