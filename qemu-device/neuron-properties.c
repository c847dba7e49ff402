/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Properties of a chip: -device trn2,help shows them.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/qdev-properties.h"
#include "neuron.h"

static bool neuron_check_rest(NeuronChip *s, Error **errp)
{
    if (s->fabric && neuron_fabric_has_pod(s->fabric) &&
        neuron_gen(s)->pci_device != NEURON_PCI_DEVICE_TRN2) {
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
    s->check_memory = s->check && !strcmp(s->check, "memory");
    if (s->check && !s->check_memory && strcmp(s->check, "off")) {
        error_setg(errp, "check is memory or off");
        return false;
    }
    return true;
}

/* So that the properties of a device tell what it has. */
static void neuron_keep(NeuronChip *s, const struct trn_function_config *config)
{
    s->fabric_id = config->chip.fabric_id;
    s->routing_id = config->chip.routing_id;
    s->serial = config->chip.serial;
    s->hbm_size = config->chip.hbm_size;
    s->bar4_size = config->bar4_size;
    s->vectors = config->vectors;
    s->inline_us = config->inline_us;
    s->reset_us = config->reset_us;
}

bool neuron_configure(NeuronChip *s, struct trn_function_config *config,
                      Error **errp)
{
    char why[TRN_FUNCTION_WHY];

    *config = (struct trn_function_config) {
        .chip = {
            .gen = neuron_gen(s),
            .port = &neuron_port,
            .opaque = s,
            .fabric_id = s->fabric_id,
            .position = s->rack << 16 | s->server << 8 | s->chip_id,
            .routing_id = s->routing_id,
            .serial = s->serial,
            .hbm_size = s->hbm_size,
            .host_limit = s->host_limit,
            .fault_seed = s->fault_seed,
            .clock = s->clock,
            .repair_fails = s->repair_fails,
            .more_operators = s->more_operators,
        },
        .host = &neuron_host,
        .bar4_size = s->bar4_size,
        .vectors = s->vectors ? s->vectors : TRN_FUNCTION_AUTO,
        .inline_us = s->inline_us,
        .reset_us = s->reset_us,
        .silicon = s->silicon,
    };
    if (!neuron_check_rest(s, errp)) {
        return false;
    }
    config->chip.check_memory = s->check_memory;
    if (!trn_function_complete(config, why)) {
        error_setg(errp, "%s", why);
        return false;
    }
    neuron_keep(s, config);
    return true;
}

static const Property neuron_properties[] = {
    DEFINE_PROP_LINK("fabric", NeuronChip, fabric, TYPE_NEURON_FABRIC,
                     NeuronFabric *),
    DEFINE_PROP_UINT8("chip-id", NeuronChip, chip_id, 0),
    DEFINE_PROP_UINT8("server", NeuronChip, server, 0),
    DEFINE_PROP_UINT8("rack", NeuronChip, rack, 0),
    DEFINE_PROP_UINT32("fabric-id", NeuronChip, fabric_id, TRN_FUNCTION_AUTO),
    DEFINE_PROP_UINT32("routing-id", NeuronChip, routing_id, TRN_FUNCTION_AUTO),
    DEFINE_PROP_UINT64("serial", NeuronChip, serial, 0),
    DEFINE_PROP_SIZE("hbm-size", NeuronChip, hbm_size, 0),
    DEFINE_PROP_SIZE("bar4-size", NeuronChip, bar4_size, 0),
    DEFINE_PROP_SIZE("host-limit", NeuronChip, host_limit, 0),
    DEFINE_PROP_UINT32("vectors", NeuronChip, vectors, 0),
    DEFINE_PROP_UINT32("inline-us", NeuronChip, inline_us, TRN_FUNCTION_AUTO),
    DEFINE_PROP_UINT32("reset-us", NeuronChip, reset_us, TRN_FUNCTION_AUTO),
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
