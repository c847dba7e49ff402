/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories in sysfs with files that are numbers, described by tables.
 */
#ifndef _NEURON_NODE_H_
#define _NEURON_NODE_H_

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/sysfs.h>

struct neuron_node;

/**
 * struct neuron_node_attr - a file of such a directory
 * @attr: name and mode
 * @show: its text, with a newline
 * @reset: something was written, anything; NULL: read only
 * @arg: for both
 */
struct neuron_node_attr {
	struct attribute attr;
	ssize_t (*show)(void *data, unsigned long arg, char *buf);
	void (*reset)(void *data, unsigned long arg);
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
				    size_t nr, const char *name);
/* With all that is in it; no file is being read any more. */
void neuron_node_remove(struct neuron_node *node);

#endif /* _NEURON_NODE_H_ */
