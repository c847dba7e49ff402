/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults on demand: -device trn2,fault=TEXT and, while the machine runs,
 *
 *     qom-set CHIP fault TEXT        one fault, or several with ';' between them
 *     qom-get CHIP faults            what there is, and how often rules struck
 *
 * trn/fault.h says what the text is.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-qom.h"
#include "trn/fault.h"
#include "neuron.h"
#include "trace.h"

#define NEURON_FAULT_SEPARATOR  ";"

static bool neuron_fault_one(NeuronChip *s, const char *text, Error **errp)
{
    char why[TRN_FAULT_WHY];

    if (trn_fault_order(s->chip, text, why)) {
        error_setg(errp, "neuron chip %u: %s", s->chip_id, why);
        return false;
    }
    trace_neuron_fault(s->chip_id, text);
    return true;
}

/* All that are right up to the first that is not. */
static bool neuron_fault_list(NeuronChip *s, const char *list, Error **errp)
{
    g_auto(GStrv) texts = g_strsplit(list, NEURON_FAULT_SEPARATOR, -1);

    for (char **text = texts; *text; text++) {
        if (!neuron_fault_one(s, g_strstrip(*text), errp)) {
            return false;
        }
    }
    return true;
}

bool neuron_start_faults(NeuronChip *s, Error **errp)
{
    return !s->faults || neuron_fault_list(s, s->faults, errp);
}

static void neuron_set_fault(Object *obj, const char *value, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(obj);

    if (s->chip) {
        neuron_fault_list(s, value, errp);
    } else if (DEVICE(obj)->realized) {
        error_setg(errp, "neuron chip %u has gone", s->chip_id);
    } else {
        g_free(s->faults);
        s->faults = g_strdup(value);
    }
}

static NeuronFaultStatusList *neuron_fault_rules(NeuronChip *s)
{
    NeuronFaultStatusList *list = NULL, **tail = &list;
    struct trn_fault_status status;

    for (unsigned i = 0; trn_fault_read(s->chip, i, &status); i++) {
        NeuronFaultStatus *entry = g_new0(NeuronFaultStatus, 1);

        entry->fault = g_strdup(status.text);
        entry->opportunities = status.opportunities;
        entry->strikes = status.strikes;
        QAPI_LIST_APPEND(tail, entry);
    }
    return list;
}

static void neuron_get_faults(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    NeuronChip *s = NEURON_CHIP(obj);
    NeuronFaultReport *report = g_new0(NeuronFaultReport, 1);

    report->clock = 100;
    if (s->chip) {
        report->rules = neuron_fault_rules(s);
        report->bad_cells = trn_ecc_cells(s->chip);
        report->clock = trn_power_clock(s->chip);
    }
    visit_type_NeuronFaultReport(v, name, &report, errp);
    qapi_free_NeuronFaultReport(report);
}

void neuron_class_faults(ObjectClass *oc)
{
    object_class_property_add_str(oc, "fault", NULL, neuron_set_fault);
    object_class_property_set_description(oc, "fault",
        "faults on demand: NAME[,KEY=VALUE]..., several with ';' between them");
    object_class_property_add(oc, "faults", "NeuronFaultReport",
                              neuron_get_faults, NULL, NULL, NULL);
    object_class_property_set_description(oc, "faults",
        "faults on demand that there are, and how often rules struck");
}
