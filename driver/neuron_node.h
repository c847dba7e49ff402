/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories in sysfs with files that are numbers, described by tables.
 */
#ifndef _NEURON_NODE_H_
#define _NEURON_NODE_H_

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/sysfs.h>

struct neuron_node_attr;

/**
 * struct neuron_node_file - a file that is there
 * @attr: sysfs' part
 * @node: its directory
 * @desc: what it is
 */
struct neuron_node_file {
	struct kobj_attribute attr;
	const struct neuron_node *node;
	const struct neuron_node_attr *desc;
};

/**
 * struct neuron_node - a directory
 * @kobj: its object, which may outlive all of this, and so has no code of this module
 * @data: what the files show
 * @index: of what in it
 * @link: in its parent's @children
 * @children: directories in it; changed by the one who sets up and tears down
 * @nr: files
 * @file: what is there
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
 * @show: its text, with a newline
 * @reset: something was written, anything; NULL: read only
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

/*
 * A directory in @parent whose files show @data, which must exist until
 * neuron_node_remove(). ERR_PTR on failure.
 */
struct neuron_node *neuron_node_create(struct kobject *parent, void *data,
				       const struct neuron_node_attr *attrs,
				       size_t nr, const char *name);
/* The same in another node, with its data; removed with it. */
struct neuron_node *neuron_node_add(struct neuron_node *parent,
				    const struct neuron_node_attr *attrs,
				    size_t nr, const char *name,
				    unsigned long index);
/* With all that is in it; no file is being read any more. NULL is fine. */
void neuron_node_remove(struct neuron_node *node);

#endif /* _NEURON_NODE_H_ */
