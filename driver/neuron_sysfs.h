/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sysfs: the attributes of the PCI device, and directories with files that are numbers,
 * described by tables.
 */
#ifndef _NEURON_SYSFS_H_
#define _NEURON_SYSFS_H_

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/sysfs.h>

struct neuron_device;
struct neuron_node_attr;

/**
 * struct neuron_node_file - a file that is there
 * @attr: sysfs' part
 * @node: directory that the file is in
 * @desc: description of the file
 */
struct neuron_node_file {
	struct kobj_attribute attr;
	const struct neuron_node *node;
	const struct neuron_node_attr *desc;
};

/**
 * struct neuron_node - a directory
 * @kobj: kernel object of the directory; it may outlive this struct and this module, so
 *	no function of this module is called for it
 * @data: object whose values the files show
 * @index: which part of @data the files show
 * @link: entry of the list @children of the directory above
 * @children: directories in this one; only who sets the tree up or tears it down changes it
 * @nr: number of files
 * @file: files of the directory
 */
struct neuron_node {
	struct kobject *kobj;
	void *data;
	unsigned long index;
	struct list_head link;
	struct list_head children;
	size_t nr;
	struct neuron_node_file file[] __counted_by(nr);
};

/**
 * struct neuron_node_attr - what a file of a directory is
 * @attr: name and mode
 * @show: writes the text of the file, with a newline
 * @reset: called when anything was written to the file; NULL: the file is read only
 * @arg: for both
 */
struct neuron_node_attr {
	struct attribute attr;
	ssize_t (*show)(const struct neuron_node *node, unsigned long arg,
			char *buf);
	void (*reset)(const struct neuron_node *node, unsigned long arg);
	unsigned long arg;
};

#define NEURON_NODE_RO(_name, _show, _arg) \
	{ .attr = { .name = _name, .mode = 0444 }, .show = _show, .arg = _arg }
#define NEURON_NODE_RW(_name, _show, _reset, _arg) \
	{ .attr = { .name = _name, .mode = 0644 }, .show = _show, \
	  .reset = _reset, .arg = _arg }

/**
 * neuron_node_create() - make a directory with files
 * @parent: where
 * @data: what the files show; it exists until neuron_node_remove()
 * @attrs: the files
 * @nr: how many
 * @name: name of the directory
 *
 * Return: the directory or an ERR_PTR.
 */
struct neuron_node *neuron_node_create(struct kobject *parent, void *data,
				       const struct neuron_node_attr *attrs,
				       size_t nr, const char *name);
/**
 * neuron_node_add() - make a directory in another one, with the same data
 * @parent: directory; the new one is removed with it
 * @attrs: the files
 * @nr: how many
 * @name: name of the directory
 * @index: which part of the data the files show
 *
 * Return: the directory or an ERR_PTR.
 */
struct neuron_node *neuron_node_add(struct neuron_node *parent,
				    const struct neuron_node_attr *attrs,
				    size_t nr, const char *name,
				    unsigned long index);
/**
 * neuron_node_remove() - remove a directory with all that is in it
 * @node: directory, or NULL
 *
 * It waits until nobody reads or writes a file of the directory.
 */
void neuron_node_remove(struct neuron_node *node);

/*
 * neuron_sysfs_groups: attributes of the PCI device, which the driver core makes when the driver
 * is bound. The directories of cores, links and DMA engines come from neuron_sysfs_init().
 */
extern const struct attribute_group *neuron_sysfs_groups[];

/**
 * neuron_sysfs_init() - make the directories of cores, links and DMA engines
 * @ndev: device; devm removes them
 *
 * Return: 0 or a negative errno.
 */
int neuron_sysfs_init(struct neuron_device *ndev);

#endif /* _NEURON_SYSFS_H_ */
