/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NeuronLink fabric: -object neuron-fabric,id=ID[,workers=N]
 *
 * It joins the chips that name it and owns the worker threads that they share.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qom/object_interfaces.h"
#include "neuron.h"

/**
 * struct NeuronFabric - chips and their workers
 * @workers: threads, 0: one for each host CPU
 * @chips: chips that use it
 */
struct NeuronFabric {
    Object parent_obj;

    uint32_t workers;
    unsigned chips;
    struct trn_pool *pool;
    struct trn_fabric *fabric;
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

static void neuron_fabric_complete(UserCreatable *uc, Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(uc);

    f->fabric = trn_fabric_new();
    f->pool = trn_pool_new(f->workers, neuron_worker_enter,
                           neuron_worker_exit);
    if (!f->fabric || !f->pool) {
        error_setg(errp, "neuron-fabric: cannot start %u worker threads",
                   f->workers);
    }
}

static bool neuron_fabric_can_be_deleted(UserCreatable *uc)
{
    return NEURON_FABRIC(uc)->chips == 0;
}

static void neuron_fabric_get_workers(Object *obj, Visitor *v,
                                      const char *name, void *opaque,
                                      Error **errp)
{
    visit_type_uint32(v, name, &NEURON_FABRIC(obj)->workers, errp);
}

static void neuron_fabric_set_workers(Object *obj, Visitor *v,
                                      const char *name, void *opaque,
                                      Error **errp)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    if (f->pool) {
        error_setg(errp, "neuron-fabric: 'workers' is fixed once it runs");
        return;
    }
    visit_type_uint32(v, name, &f->workers, errp);
}

static void neuron_fabric_finalize(Object *obj)
{
    NeuronFabric *f = NEURON_FABRIC(obj);

    trn_pool_free(f->pool);
    trn_fabric_unref(f->fabric);
}

static void neuron_fabric_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = neuron_fabric_complete;
    ucc->can_be_deleted = neuron_fabric_can_be_deleted;
    object_class_property_add(oc, "workers", "uint32",
                              neuron_fabric_get_workers,
                              neuron_fabric_set_workers, NULL, NULL);
    object_class_property_set_description(oc, "workers",
        "worker threads; 0 (the default): one for each host CPU");
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
