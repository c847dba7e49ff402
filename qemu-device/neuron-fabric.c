/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NeuronLink fabric: -object neuron-fabric,id=ID[,topology=KIND][,workers=N]...
 *
 * It joins the chips that name it and owns the worker threads that they share, and with
 * "servers" the chips of the other servers of an UltraServer. "link-fault" may be changed
 * while the machine runs (qom-set).
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "system/reset.h"
#include "qom/object_interfaces.h"
#include "neuron.h"
#include "trn/fabric.h"
#include "trn/pod.h"
#include "trn/state.h"

/**
 * struct NeuronFabric - chips and their workers
 * @workers: threads, 0: one for each host CPU
 * @topology: how the chips are linked
 * @link_mbps: MB/s of a link, 0: the generation's
 * @link_faults: what was asked for before the fabric existed
 * @servers: of the UltraServer; 0 and 1: there is none
 * @script: words of the other servers' chips
 * @chips: chips of the machine that use it
 * @pod: the chips of the other servers, or NULL
 */
struct NeuronFabric {
    Object parent_obj;

    uint32_t workers;
    uint32_t link_mbps;
    enum trn_topology topology;
    char *link_faults;
    uint32_t servers;
    char *script;
    unsigned chips;
    struct trn_pool *pool;
    struct trn_fabric *fabric;
    struct trn_pod *pod;
};

struct trn_fabric *neuron_fabric_get(NeuronFabric *fabric,
                                     struct trn_pool **pool)
{
    fabric->chips++;
    *pool = fabric->pool;
    return fabric->fabric;
}

void neuron_fabric_put(NeuronFabric *fabric)
{
    fabric->chips--;
}

bool neuron_fabric_has_pod(NeuronFabric *fabric)
{
    return fabric->pod;
}

/* When the machine is switched on anew, so are the other servers. */
static void neuron_fabric_reset(void *opaque)
{
    NeuronFabric *f = opaque;

    trn_pod_reset(f->pod);
}

static int neuron_fabric_transfer(NeuronFabric *f, QEMUFile *file, bool loading)
{
    struct trn_state st = {
        .loading = loading,
        .transfer = loading ? neuron_get : neuron_put,
        .opaque = file,
    };

    trn_fabric_state(f->fabric, &st);
    if (f->pod && !st.why) {
        trn_pod_state(f->pod, &st);
    }
    if (!st.why) {
        return 0;
    }
    error_report("neuron-fabric cannot be %s: %s",
                 loading ? "loaded" : "saved", st.why);
    return -EINVAL;
}

static int neuron_fabric_save(QEMUFile *file, void *pv, size_t size,
                              const VMStateField *field, JSONWriter *vmdesc)
{
    return neuron_fabric_transfer(pv, file, false);
}

static int neuron_fabric_load(QEMUFile *file, void *pv, size_t size,
                              const VMStateField *field)
{
    return neuron_fabric_transfer(pv, file, true);
}

static const VMStateInfo neuron_fabric_state_info = {
    .name = "neuron-fabric",
    .get = neuron_fabric_load,
    .put = neuron_fabric_save,
};

/* Version 1 had whole chips of other servers. */
static const VMStateDescription neuron_fabric_vmstate = {
    .name = TYPE_NEURON_FABRIC,
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        {
            .name = "links",
            .info = &neuron_fabric_state_info,
            .flags = VMS_SINGLE,
            .size = sizeof(NeuronFabric),
        },
        VMSTATE_END_OF_LIST()
    },
};

static bool neuron_fabric_build_pod(NeuronFabric *f, Error **errp)
{
    const char *why;

    if (f->servers < 2) {
        if (f->script) {
            error_setg(errp, "neuron-fabric: election-script needs servers=2 or "
                       "servers=4");
        }
        return !f->script;
    }
    f->pod = trn_pod_new(f->fabric, f->pool, f->servers, f->script, &why);
    if (!f->pod) {
        error_setg(errp, "neuron-fabric: servers=%u%s%s: %s", f->servers,
                   f->script ? ",election-script=" : "",
                   f->script ? f->script : "", why);
        return false;
    }
    qemu_register_reset(neuron_fabric_reset, f);
    return true;
}

static void neuron_fabric_complete(UserCreatable *uc, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(uc);
    enum trn_topology topology = f->topology;
    const char *why;

    f->fabric = trn_fabric_new();
    f->pool = trn_pool_new(f->workers, neuron_worker_enter,
                           neuron_worker_exit);
    if (!f->fabric || !f->pool) {
        error_setg(errp, "neuron-fabric: cannot start %u worker threads",
                   f->workers);
        return;
    }
    if (f->servers > 1 && topology == TRN_TOPOLOGY_AUTO) {
        topology = TRN_TOPOLOGY_TORUS3D;
    }
    trn_fabric_configure(f->fabric, topology, f->link_mbps);
    if (!neuron_fabric_build_pod(f, errp)) {
        return;
    }
    if (f->link_faults &&
        trn_fabric_set_links(f->fabric, f->link_faults, &why)) {
        error_setg(errp, "neuron-fabric: link-fault: %s", why);
        return;
    }
    vmstate_register_any(NULL, &neuron_fabric_vmstate, f);
}

static bool neuron_fabric_can_be_deleted(UserCreatable *uc)
{
    return NEURON_FABRIC(uc)->chips == 0;
}

/* The fabric exists from the end of its creation on; then these are fixed. */
static bool neuron_fabric_fixed(NeuronFabric *f, const char *name, Error **errp)
{
    if (f->fabric) {
        error_setg(errp, "neuron-fabric: '%s' is fixed once it runs", name);
    }
    return f->fabric;
}

static void neuron_fabric_get_u32(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    visit_type_uint32(v, name, (void *)NEURON_FABRIC(obj) + (uintptr_t)opaque,
                      errp);
}

static void neuron_fabric_set_u32(Object *obj, Visitor *v, const char *name,
                                  void *opaque, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (!neuron_fabric_fixed(f, name, errp)) {
        visit_type_uint32(v, name, (void *)f + (uintptr_t)opaque, errp);
    }
}

static char *neuron_fabric_get_topology(Object *obj, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    enum trn_topology kind = f->fabric ? trn_fabric_topology(f->fabric) :
                                         f->topology;

    return g_strdup(trn_topology_name(kind));
}

static void neuron_fabric_set_topology(Object *obj, const char *value,
                                       Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    enum trn_topology kind = trn_topology_by_name(value);

    if (neuron_fabric_fixed(f, "topology", errp)) {
        return;
    }
    if (kind == TRN_TOPOLOGIES) {
        error_setg(errp, "neuron-fabric: topology is auto, ring, chain, "
                   "torus2d, torus3d or switch, not '%s'", value);
        return;
    }
    f->topology = kind;
}

static char *neuron_fabric_get_link_faults(Object *obj, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    char *text = g_malloc0(TRN_LINK_TEXT);

    if (f->fabric) {
        trn_fabric_print_links(f->fabric, text);
    }
    return text;
}

static void neuron_fabric_set_link_faults(Object *obj, const char *value,
                                          Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);
    const char *why;

    if (!f->fabric) {
        g_free(f->link_faults);
        f->link_faults = g_strdup(value);
    } else if (trn_fabric_set_links(f->fabric, value, &why)) {
        error_setg(errp, "neuron-fabric: link-fault: %s", why);
    }
}

static char *neuron_fabric_get_script(Object *obj, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    return g_strdup(f->script ? f->script : "");
}

static void neuron_fabric_set_script(Object *obj, const char *value,
                                     Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (!neuron_fabric_fixed(f, "election-script", errp)) {
        g_free(f->script);
        f->script = *value ? g_strdup(value) : NULL;
    }
}

static void neuron_fabric_finalize(Object *obj)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (f->pod) {
        qemu_unregister_reset(neuron_fabric_reset, f);
    }
    vmstate_unregister(NULL, &neuron_fabric_vmstate, f);
    trn_pod_free(f->pod);
    trn_pool_free(f->pool);
    trn_fabric_unref(f->fabric);
    g_free(f->link_faults);
    g_free(f->script);
}

static void neuron_fabric_add_u32(ObjectClass *oc, const char *name,
                                  size_t offset, const char *description)
{
    object_class_property_add(oc, name, "uint32", neuron_fabric_get_u32,
                              neuron_fabric_set_u32, NULL, (void *)offset);
    object_class_property_set_description(oc, name, description);
}

static void neuron_fabric_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = neuron_fabric_complete;
    ucc->can_be_deleted = neuron_fabric_can_be_deleted;
    neuron_fabric_add_u32(oc, "workers", offsetof(NeuronFabric, workers),
        "worker threads; 0 (the default): one for each host CPU");
    neuron_fabric_add_u32(oc, "link-mbps", offsetof(NeuronFabric, link_mbps),
        "MB/s of a link; 0 (the default): the generation's");
    neuron_fabric_add_u32(oc, "servers", offsetof(NeuronFabric, servers),
        "servers of the UltraServer, 2 or 4: of the chips of all but server 0 "
        "there are links and MISC RAM; 0 (the default): none");
    object_class_property_add_str(oc, "election-script",
                                  neuron_fabric_get_script,
                                  neuron_fabric_set_script);
    object_class_property_set_description(oc, "election-script",
        "what words of these chips' MISC RAM read as: "
        "SERVER.CHIP:OFFSET=VALUE[@READS], separated by ';'");
    object_class_property_add_str(oc, "topology", neuron_fabric_get_topology,
                                  neuron_fabric_set_topology);
    object_class_property_set_description(oc, "topology",
        "auto (the default), ring, chain, torus2d, torus3d or switch");
    object_class_property_add_str(oc, "link-fault",
                                  neuron_fabric_get_link_faults,
                                  neuron_fabric_set_link_faults);
    object_class_property_set_description(oc, "link-fault",
        "A-B=STATE (fabric ids) or A:LINK=STATE, separated by ';'; STATE is "
        "up, down, slow:PERCENT or mbps:MB/s");
}

static const TypeInfo neuron_fabric_info = {
    .name = TYPE_NEURON_FABRIC,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(NeuronFabric),
    .instance_finalize = neuron_fabric_finalize,
    .class_init = neuron_fabric_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void neuron_fabric_register(void)
{
    type_register_static(&neuron_fabric_info);
}

type_init(neuron_fabric_register)
