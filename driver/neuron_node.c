// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories in sysfs.
 */
#include <linux/slab.h>

#include "neuron_node.h"

static ssize_t neuron_node_show(struct kobject *kobj, struct attribute *attr,
				char *buf)
{
	struct neuron_node *node = container_of(kobj, struct neuron_node, kobj);
	const struct neuron_node_attr *nattr;

	nattr = container_of_const(attr, struct neuron_node_attr, attr);
	return nattr->show(node, nattr->arg, buf);
}

static ssize_t neuron_node_store(struct kobject *kobj, struct attribute *attr,
				 const char *buf, size_t count)
{
	struct neuron_node *node = container_of(kobj, struct neuron_node, kobj);
	const struct neuron_node_attr *nattr;

	nattr = container_of_const(attr, struct neuron_node_attr, attr);
	if (!nattr->reset)
		return -EPERM;
	nattr->reset(node, nattr->arg);
	return count;
}

static void neuron_node_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct neuron_node, kobj));
}

static const struct sysfs_ops neuron_node_ops = {
	.show = neuron_node_show,
	.store = neuron_node_store,
};

static const struct kobj_type neuron_node_type = {
	.release = neuron_node_release,
	.sysfs_ops = &neuron_node_ops,
};

static struct neuron_node *neuron_node_new(struct kobject *parent, void *data,
					   const struct neuron_node_attr *attrs,
					   size_t nr, const char *name,
					   unsigned long index)
{
	struct neuron_node *node;
	size_t i;
	int ret;

	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return ERR_PTR(-ENOMEM);
	node->data = data;
	node->index = index;
	INIT_LIST_HEAD(&node->link);
	INIT_LIST_HEAD(&node->children);
	ret = kobject_init_and_add(&node->kobj, &neuron_node_type, parent, "%s",
				   name);
	for (i = 0; !ret && i < nr; i++)
		ret = sysfs_create_file(&node->kobj, &attrs[i].attr);
	if (ret) {
		neuron_node_remove(node);
		return ERR_PTR(ret);
	}
	return node;
}

struct neuron_node *neuron_node_create(struct kobject *parent, void *data,
				       const struct neuron_node_attr *attrs,
				       size_t nr, const char *name)
{
	return neuron_node_new(parent, data, attrs, nr, name, 0);
}

struct neuron_node *neuron_node_add(struct neuron_node *parent,
				    const struct neuron_node_attr *attrs,
				    size_t nr, const char *name,
				    unsigned long index)
{
	struct neuron_node *node;

	node = neuron_node_new(&parent->kobj, parent->data, attrs, nr, name,
			       index);
	if (!IS_ERR(node))
		list_add_tail(&node->link, &parent->children);
	return node;
}

void neuron_node_remove(struct neuron_node *node)
{
	struct neuron_node *child, *next;

	if (!node)
		return;
	list_for_each_entry_safe(child, next, &node->children, link)
		neuron_node_remove(child);
	list_del(&node->link);
	kobject_del(&node->kobj);
	kobject_put(&node->kobj);
}
