// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directories in sysfs.
 */
#include <linux/slab.h>

#include "neuron_node.h"

static ssize_t neuron_node_show(struct kobject *kobj, struct kobj_attribute *attr,
				char *buf)
{
	struct neuron_node_file *file = container_of(attr, struct neuron_node_file, attr);

	return file->desc->show(file->node, file->desc->arg, buf);
}

static ssize_t neuron_node_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	struct neuron_node_file *file = container_of(attr, struct neuron_node_file, attr);

	if (!file->desc->reset)
		return -EPERM;
	file->desc->reset(file->node, file->desc->arg);
	return count;
}

static int neuron_node_add_file(struct neuron_node *node, size_t i,
				const struct neuron_node_attr *desc)
{
	struct neuron_node_file *file = &node->file[i];

	file->node = node;
	file->desc = desc;
	file->attr.attr = desc->attr;
	file->attr.show = neuron_node_show;
	file->attr.store = neuron_node_store;
	sysfs_attr_init(&file->attr.attr);
	return sysfs_create_file(node->kobj, &file->attr.attr);
}

static struct neuron_node *neuron_node_new(struct kobject *parent, void *data,
					   const struct neuron_node_attr *attrs,
					   size_t nr, const char *name,
					   unsigned long index)
{
	struct neuron_node *node;
	int ret = 0;
	size_t i;

	node = kzalloc(struct_size(node, file, nr), GFP_KERNEL);
	if (!node)
		return ERR_PTR(-ENOMEM);
	node->nr = nr;
	node->data = data;
	node->index = index;
	INIT_LIST_HEAD(&node->link);
	INIT_LIST_HEAD(&node->children);
	node->kobj = kobject_create_and_add(name, parent);
	if (!node->kobj)
		ret = -ENOMEM;
	for (i = 0; !ret && i < nr; i++)
		ret = neuron_node_add_file(node, i, &attrs[i]);
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

	node = neuron_node_new(parent->kobj, parent->data, attrs, nr, name,
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
	/* Waits for whoever reads a file of it. */
	kobject_del(node->kobj);
	kobject_put(node->kobj);
	kfree(node);
}
