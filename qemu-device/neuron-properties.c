/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties of a chip: -device trn2,help shows them.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/units.h"
#include "hw/qdev-properties.h"
#include "neuron.h"
#include "neuron/address.h"

#define NEURON_FABRIC_ID_AUTO   UINT32_MAX
#define NEURON_ROUTING_ID_AUTO  UINT32_MAX
#define NEURON_INLINE_US_AUTO   UINT32_MAX
#define NEURON_INLINE_US        20
#define NEURON_INLINE_US_SILICON 1000
#define NEURON_INLINE_US_MAX    1000    /* the BQL is held for so long */
#define NEURON_RESET_US_AUTO    UINT32_MAX
#define NEURON_RESET_US_SILICON 150000
#define NEURON_RESET_US_MAX     10000000
#define NEURON_HBM_MIN          (32 * MiB)

static bool neuron_check_memory(NeuronChip *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);
    uint64_t stride;

    if (!s->bar4_size) {
        s->bar4_size = s->silicon ? gen->bar4_silicon : gen->bar4_platform;
    }
    if (!is_power_of_2(s->bar4_size) ||
        s->bar4_size < gen->nr_hbm * NEURON_HBM_MIN) {
        error_setg(errp, "bar4-size must be a power of two of at least %"
                   PRIu64 " MiB", gen->nr_hbm * NEURON_HBM_MIN / MiB);
        return false;
    }
    stride = s->bar4_size / gen->nr_hbm;
    if (!s->hbm_size) {
        /*
         * In platform mode the public driver takes an equal part of BAR4 for the
         * size of a stack, and allocates from its end: all of it is memory.
         */
        s->hbm_told = MIN(gen->hbm_active, stride);
        s->hbm_size = s->silicon ? s->hbm_told : MIN(gen->hbm_window, stride);
    }
    if (s->hbm_size < NEURON_HBM_MIN) {
        error_setg(errp, "hbm-size must be at least %" PRIu64 " MiB: drivers "
                   "keep the first 16 MiB of a stack for themselves",
                   NEURON_HBM_MIN / MiB);
        return false;
    }
    if (s->hbm_size > stride) {
        error_setg(errp, "hbm-size does not fit: bar4-size leaves %" PRIu64
                   " MiB for each of %u stacks", stride / MiB, gen->nr_hbm);
        return false;
    }
    return true;
}

static bool neuron_check_ids(NeuronChip *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);

    if (s->fabric && neuron_fabric_has_pod(s->fabric) &&
        gen->pci_device != NEURON_PCI_DEVICE_TRN2) {
        error_setg(errp, "a fabric with servers= is for chips of the type "
                   "trn2");
        return false;
    }
    if (s->fabric && neuron_fabric_has_pod(s->fabric) &&
        (s->server || s->rack)) {
        error_setg(errp, "a fabric with servers= is for chips with server=0 "
                   "and rack=0: the others are there already");
        return false;
    }
    if (s->fabric_id == NEURON_FABRIC_ID_AUTO) {
        s->fabric_id = neuron_fabric_id(s->rack, s->server, s->chip_id);
    }
    if (s->routing_id == NEURON_ROUTING_ID_AUTO) {
        s->routing_id = neuron_routing_id(gen, s->chip_id & 63);
    }
    if (s->routing_id > 63) {
        error_setg(errp, "routing-id is 0 to 63");
        return false;
    }
    if (!s->serial) {
        s->serial = neuron_serial(gen, s->fabric_id);
    }
    return true;
}

static bool neuron_check_reset(NeuronChip *s, Error **errp)
{
    if (s->reset_us == NEURON_RESET_US_AUTO) {
        s->reset_us = s->silicon ? NEURON_RESET_US_SILICON : 0;
    }
    if (s->reset_us > NEURON_RESET_US_MAX) {
        error_setg(errp, "reset-us is 0 to %u", NEURON_RESET_US_MAX);
        return false;
    }
    return true;
}

static bool neuron_check_checks(NeuronChip *s, Error **errp)
{
    s->check_memory = s->check && !strcmp(s->check, "memory");
    if (s->check && !s->check_memory && strcmp(s->check, "off")) {
        error_setg(errp, "check is memory or off");
        return false;
    }
    return true;
}

bool neuron_check_properties(NeuronChip *s, Error **errp)
{
    const struct neuron_gen *gen = neuron_gen(s);

    if (!s->vectors) {
        s->vectors = gen->nr_cores + 1;
    }
    if (s->vectors > gen->nr_cores + 1) {
        error_setg(errp, "vectors: a %s has 1 to %u", gen->name,
                   gen->nr_cores + 1);
        return false;
    }
    if (s->inline_us == NEURON_INLINE_US_AUTO) {
        /* Public software gives a copy up after 20 ms, workers may be late. */
        s->inline_us = s->silicon ? NEURON_INLINE_US_SILICON : NEURON_INLINE_US;
    }
    if (s->inline_us > NEURON_INLINE_US_MAX) {
        error_setg(errp, "inline-us is 0 to %u", NEURON_INLINE_US_MAX);
        return false;
    }
    return neuron_check_reset(s, errp) && neuron_check_memory(s, errp) &&
           neuron_check_ids(s, errp) && neuron_check_checks(s, errp);
}

static const Property neuron_properties[] = {
    DEFINE_PROP_LINK("fabric", NeuronChip, fabric, TYPE_NEURON_FABRIC,
                     NeuronFabric *),
    DEFINE_PROP_UINT8("chip-id", NeuronChip, chip_id, 0),
    DEFINE_PROP_UINT8("server", NeuronChip, server, 0),
    DEFINE_PROP_UINT8("rack", NeuronChip, rack, 0),
    DEFINE_PROP_UINT32("fabric-id", NeuronChip, fabric_id,
                       NEURON_FABRIC_ID_AUTO),
    DEFINE_PROP_UINT32("routing-id", NeuronChip, routing_id,
                       NEURON_ROUTING_ID_AUTO),
    DEFINE_PROP_UINT64("serial", NeuronChip, serial, 0),
    DEFINE_PROP_SIZE("hbm-size", NeuronChip, hbm_size, 0),
    DEFINE_PROP_SIZE("bar4-size", NeuronChip, bar4_size, 0),
    DEFINE_PROP_SIZE("host-limit", NeuronChip, host_limit, 0),
    DEFINE_PROP_UINT32("vectors", NeuronChip, vectors, 0),
    DEFINE_PROP_UINT32("inline-us", NeuronChip, inline_us,
                       NEURON_INLINE_US_AUTO),
    DEFINE_PROP_UINT32("reset-us", NeuronChip, reset_us, NEURON_RESET_US_AUTO),
    DEFINE_PROP_UINT64("fault-seed", NeuronChip, fault_seed, 0),
    DEFINE_PROP_STRING("check", NeuronChip, check),
    DEFINE_PROP_BOOL("clock", NeuronChip, clock, true),
    DEFINE_PROP_BOOL("silicon", NeuronChip, silicon, false),
    DEFINE_PROP_BOOL("repair-fails", NeuronChip, repair_fails, false),
    DEFINE_PROP_BOOL("more-operators", NeuronChip, more_operators, false),
};

static const struct {
    const char *name;
    const char *text;
} neuron_descriptions[] = {
    { "fabric", "id of a neuron-fabric object; without it a chip is alone" },
    { "chip-id", "position on the server, 0 to 255" },
    { "server", "position of the server in the rack" },
    { "rack", "position of the rack" },
    { "fabric-id", "id in routed addresses, unique on the fabric "
      "(default: (rack * 16 + server) * 256 + chip-id)" },
    { "routing-id", "public routing id, 0 to 63 (default: by chip-id)" },
    { "serial", "serial number (default: made of generation and fabric id)" },
    { "hbm-size", "populated bytes of each HBM stack, at least 32M "
      "(default: the generation's, or what fits in BAR4)" },
    { "bar4-size", "size of BAR4, a power of two "
      "(default: by generation and mode)" },
    { "host-limit", "most bytes of host memory that device writes may touch; "
      "0: no limit" },
    { "vectors", "MSI-X vectors, 1 to cores + 1 (default: cores + 1)" },
    { "inline-us", "time in us that a vCPU gives to the work its register "
      "write starts, 0 to 1000 (default: 1000 in silicon mode, else 20)" },
    { "reset-us", "least time in us that a reset of the firmware takes, 0 to "
      "10000000 (default: 150000 in silicon mode, else 0)" },
    { "fault-seed", "of the faults on demand that strike by chance" },
    { "check", "look for programming errors of jobs: memory, or off (default)" },
    { "clock", "model device time" },
    { "silicon", "silicon mode: revision, size of BAR4, no BAR2" },
    { "repair-fails", "an uncorrectable error of HBM cannot be repaired: "
      "HBM_REPAIR becomes 2, not 1" },
    { "more-operators", "carry out operators on engines where the public "
      "documents have none" },
};

static void neuron_get_check_reports(Object *obj, Visitor *v, const char *name,
                                     void *opaque, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(obj);
    uint64_t reports = s->chip ? trn_chip_check_reports(s->chip) : 0;

    visit_type_uint64(v, name, &reports, errp);
}

void neuron_class_properties(ObjectClass *oc)
{
    device_class_set_props(DEVICE_CLASS(oc), neuron_properties);
    for (unsigned i = 0; i < ARRAY_SIZE(neuron_descriptions); i++) {
        object_class_property_set_description(oc, neuron_descriptions[i].name,
                                              neuron_descriptions[i].text);
    }
    object_class_property_add(oc, "check-reports", "uint64",
                              neuron_get_check_reports, NULL, NULL, NULL);
    object_class_property_set_description(oc, "check-reports",
        "programming errors that the checks have told of");
}
