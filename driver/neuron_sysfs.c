// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs: directories described by tables, and the attributes of the PCI device.
 */
#include <linux/bitops.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/sysfs.h>
#include <drm/drm_drv.h>

#include "drm/neuron_accel.h"
#include "neuron_core.h"
#include "neuron_hbm.h"
#include "neuron_monitor.h"
#include "neuron_sysfs.h"

/* Directories. */

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
	file->attr.store = desc->reset ? neuron_node_store : NULL;
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

/*
 * Attributes of the PCI device that are parts of registers: power, memory errors,
 * throttle.
 */

/**
 * struct neuron_reg_attr - a part of a register
 * @attr: file
 * @offset: of the register in struct neuron_look
 * @field: its bits
 * @die: there is none with fewer dice
 * @stack: there is none with fewer stacks of HBM
 */
struct neuron_reg_attr {
	struct device_attribute attr;
	size_t offset;
	u32 field;
	unsigned int die;
	unsigned int stack;
};

static ssize_t neuron_reg_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_reg_attr *reg;
	const struct neuron_look *look;
	u32 value;

	reg = container_of(attr, struct neuron_reg_attr, attr);
	look = neuron_look_begin(ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u32 *)((const void *)look + reg->offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%u\n",
			  (value & reg->field) >> __ffs(reg->field));
}

static struct neuron_reg_attr neuron_reg_throttle = {
	.attr = __ATTR(throttle, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, throttle),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_throttle_reason = {
	.attr = __ATTR(throttle_reason, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, throttle_reason),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_hbm_repair = {
	.attr = __ATTR(hbm_repair, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, hbm_repair),
	.field = ~0u,
};

static struct neuron_reg_attr neuron_reg_die0_power = {
	.attr = __ATTR(die0_power, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, power[0]),
	.field = NEURON_MISC_POWER_USED,
};

static struct neuron_reg_attr neuron_reg_die1_power = {
	.attr = __ATTR(die1_power, 0444, neuron_reg_show, NULL),
	.offset = offsetof(struct neuron_look, power[1]),
	.field = NEURON_MISC_POWER_USED,
	.die = 1,
};

#define NEURON_ECC_ATTR(name, member, _field, _stack) \
	static struct neuron_reg_attr neuron_reg_##name = { \
		.attr = __ATTR(name, 0444, neuron_reg_show, NULL), \
		.offset = offsetof(struct neuron_look, member), \
		.field = NEURON_MISC_ECC_##_field, \
		.stack = _stack, \
	}

NEURON_ECC_ATTR(sram_corrected, sram_ecc, CORRECTED, 0);
NEURON_ECC_ATTR(sram_uncorrected, sram_ecc, UNCORRECTED, 0);
NEURON_ECC_ATTR(hbm0_corrected, hbm_ecc[0], CORRECTED, 0);
NEURON_ECC_ATTR(hbm0_uncorrected, hbm_ecc[0], UNCORRECTED, 0);
NEURON_ECC_ATTR(hbm1_corrected, hbm_ecc[1], CORRECTED, 1);
NEURON_ECC_ATTR(hbm1_uncorrected, hbm_ecc[1], UNCORRECTED, 1);
NEURON_ECC_ATTR(hbm2_corrected, hbm_ecc[2], CORRECTED, 2);
NEURON_ECC_ATTR(hbm2_uncorrected, hbm_ecc[2], UNCORRECTED, 2);
NEURON_ECC_ATTR(hbm3_corrected, hbm_ecc[3], CORRECTED, 3);
NEURON_ECC_ATTR(hbm3_uncorrected, hbm_ecc[3], UNCORRECTED, 3);

static umode_t neuron_reg_is_visible(struct kobject *kobj,
				     struct attribute *attr, int index)
{
	struct neuron_device *ndev = dev_get_drvdata(kobj_to_dev(kobj));
	const struct neuron_reg_attr *reg;

	reg = container_of(attr, struct neuron_reg_attr, attr.attr);
	if (reg->die >= ndev->gen->nr_dice || reg->stack >= ndev->gen->nr_hbm)
		return 0;
	return attr->mode;
}

static struct attribute *neuron_reg_attrs[] = {
	&neuron_reg_die0_power.attr.attr,
	&neuron_reg_die1_power.attr.attr,
	&neuron_reg_hbm_repair.attr.attr,
	&neuron_reg_throttle.attr.attr,
	&neuron_reg_throttle_reason.attr.attr,
	NULL
};

static const struct attribute_group neuron_sysfs_reg_group = {
	.attrs = neuron_reg_attrs,
	.is_visible = neuron_reg_is_visible,
};

static struct attribute *neuron_ecc_attrs[] = {
	&neuron_reg_sram_corrected.attr.attr,
	&neuron_reg_sram_uncorrected.attr.attr,
	&neuron_reg_hbm0_corrected.attr.attr,
	&neuron_reg_hbm0_uncorrected.attr.attr,
	&neuron_reg_hbm1_corrected.attr.attr,
	&neuron_reg_hbm1_uncorrected.attr.attr,
	&neuron_reg_hbm2_corrected.attr.attr,
	&neuron_reg_hbm2_uncorrected.attr.attr,
	&neuron_reg_hbm3_corrected.attr.attr,
	&neuron_reg_hbm3_uncorrected.attr.attr,
	NULL
};

static const struct attribute_group neuron_sysfs_ecc_group = {
	.name = "ecc",
	.attrs = neuron_ecc_attrs,
	.is_visible = neuron_reg_is_visible,
};

/*
 * Attributes of the PCI device in "counters": what went wrong since the driver was
 * loaded.
 */

/**
 * struct neuron_counter_attr - a counter of the driver
 * @attr: file
 * @offset: in struct neuron_counters
 */
struct neuron_counter_attr {
	struct device_attribute attr;
	size_t offset;
};

static ssize_t neuron_counter_show(struct device *dev,
				   struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_counter_attr *counter;
	const atomic64_t *value;

	counter = container_of(attr, struct neuron_counter_attr, attr);
	value = (void *)&ndev->counters + counter->offset;
	return sysfs_emit(buf, "%llu\n", (u64)atomic64_read(value));
}

#define NEURON_COUNTER_ATTR(name, member) \
	static struct neuron_counter_attr neuron_counter_##name = { \
		.attr = __ATTR(name, 0444, neuron_counter_show, NULL), \
		.offset = offsetof(struct neuron_counters, member), \
	}

NEURON_COUNTER_ATTR(faults, faults);
NEURON_COUNTER_ATTR(hangs, hangs);
NEURON_COUNTER_ATTR(core_resets, core_resets);
NEURON_COUNTER_ATTR(device_resets, device_resets);
NEURON_COUNTER_ATTR(reset_failures, reset_failures);
NEURON_COUNTER_ATTR(lost_interrupts, lost_interrupts);
NEURON_COUNTER_ATTR(copy_errors, copy_errors);
NEURON_COUNTER_ATTR(link_changes, link_changes);

/* Counters of the cores that the chip keeps, together; @offset: in struct neuron_look. */
static ssize_t neuron_core_sum_show(struct device *dev, char *buf, size_t offset)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_look *look;
	u64 sum;

	look = neuron_look_begin(ndev, NEURON_LOOK_UNITS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	sum = *(const u64 *)((const void *)look + offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", sum);
}

static ssize_t violations_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return neuron_core_sum_show(dev, buf,
				    offsetof(struct neuron_look, violations));
}
static DEVICE_ATTR_RO(violations);

static ssize_t stale_posts_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return neuron_core_sum_show(dev, buf,
				    offsetof(struct neuron_look, stale_posts));
}
static DEVICE_ATTR_RO(stale_posts);

static struct attribute *neuron_counter_attrs[] = {
	&neuron_counter_faults.attr.attr,
	&neuron_counter_hangs.attr.attr,
	&neuron_counter_core_resets.attr.attr,
	&neuron_counter_device_resets.attr.attr,
	&neuron_counter_reset_failures.attr.attr,
	&neuron_counter_lost_interrupts.attr.attr,
	&neuron_counter_copy_errors.attr.attr,
	&neuron_counter_link_changes.attr.attr,
	&dev_attr_violations.attr,
	&dev_attr_stale_posts.attr,
	NULL
};

static const struct attribute_group neuron_sysfs_counter_group = {
	.name = "counters",
	.attrs = neuron_counter_attrs,
};

/*
 * A directory for each core in that of the PCI device: core<i>, with the
 * driver's own counts, core<i>/status, with what its owners posted, and
 * core<i>/tensor, with the activity of its tensor engine.
 */

static ssize_t neuron_core_stat_show(const struct neuron_node *node,
				     unsigned long offset, char *buf)
{
	struct neuron_core_stats stats;

	neuron_core_get_stats(node->data, &stats);
	return sysfs_emit(buf, "%llu\n", *(u64 *)((void *)&stats + offset));
}

#define NEURON_CORE_STAT(name) \
	NEURON_NODE_RO(#name, neuron_core_stat_show, \
		       offsetof(struct neuron_core_stats, name))

static const struct neuron_node_attr neuron_core_attrs[] = {
	NEURON_CORE_STAT(jobs),
	NEURON_CORE_STAT(busy_ns),
	NEURON_CORE_STAT(faults),
	NEURON_CORE_STAT(hangs),
	NEURON_CORE_STAT(resets),
	NEURON_CORE_STAT(reset_failures),
};

static ssize_t neuron_core_status_show(const struct neuron_node *node,
				       unsigned long counter, char *buf)
{
	struct neuron_core *core = node->data;

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(&core->status.total[counter]));
}

static void neuron_core_status_reset(const struct neuron_node *node,
				     unsigned long counter)
{
	struct neuron_core *core = node->data;

	neuron_status_clear(&core->status, counter);
}

/* Cycles of each row group; the device sleeps on. */
static ssize_t neuron_core_tensor_show(const struct neuron_node *node,
				       unsigned long offset, char *buf)
{
	struct neuron_core *core = node->data;
	const struct neuron_look *look;
	unsigned int row;
	int len = 0;

	look = neuron_look_begin(core->ndev, NEURON_LOOK_PE);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (row = 0; row < NEURON_PE_ROW_GROUPS; row++)
		len += sysfs_emit_at(buf, len, "%llu%c",
				     *(const u64 *)((const void *)&look->pe_sum[core->index][row] +
						    offset),
				     row + 1 < NEURON_PE_ROW_GROUPS ? ' ' : '\n');
	neuron_look_end(core->ndev);
	return len;
}

#define NEURON_CORE_TENSOR(name) \
	NEURON_NODE_RO(#name "_cycles", neuron_core_tensor_show, \
		       offsetof(struct neuron_look_pe, name))

static const struct neuron_node_attr neuron_core_tensor_attrs[] = {
	NEURON_CORE_TENSOR(matmul),
	NEURON_CORE_TENSOR(weights),
	NEURON_CORE_TENSOR(idle),
};

/* The names are in a table: files are made from it. */
static struct neuron_node_attr *neuron_core_status_attrs(struct device *dev)
{
	struct neuron_node_attr *attrs;
	unsigned int i;

	attrs = devm_kcalloc(dev, DRM_NEURON_NR_STATUS_COUNTERS, sizeof(*attrs),
			     GFP_KERNEL);
	if (!attrs)
		return NULL;
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++) {
		sysfs_attr_init(&attrs[i].attr);
		attrs[i].attr.name = neuron_status_name(i);
		attrs[i].attr.mode = 0644;
		attrs[i].show = neuron_core_status_show;
		attrs[i].reset = neuron_core_status_reset;
		attrs[i].arg = i;
	}
	return attrs;
}

static void neuron_sysfs_remove_core(void *data)
{
	neuron_node_remove(data);
}

static int neuron_sysfs_add_core(struct neuron_core *core,
				 const struct neuron_node_attr *status_attrs)
{
	struct device *dev = core->ndev->drm.dev;
	struct neuron_node *node, *child;
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "core%u", core->index);
	node = neuron_node_create(&dev->kobj, core, neuron_core_attrs,
				  ARRAY_SIZE(neuron_core_attrs), name);
	if (IS_ERR(node))
		return PTR_ERR(node);
	ret = devm_add_action_or_reset(dev, neuron_sysfs_remove_core, node);
	if (ret)
		return ret;
	child = neuron_node_add(node, status_attrs,
				DRM_NEURON_NR_STATUS_COUNTERS, "status", 0);
	if (IS_ERR(child))
		return PTR_ERR(child);
	child = neuron_node_add(node, neuron_core_tensor_attrs,
				ARRAY_SIZE(neuron_core_tensor_attrs), "tensor",
				0);
	return PTR_ERR_OR_ZERO(child);
}

/*
 * Directories of the PCI device: links/<number>, for each link of the fabric, and
 * dma/<number>, for each DMA engine. Reading them does not wake the device.
 */

/* What is a u32 of drm_neuron_link_info; @offset: in it. */
static ssize_t neuron_link_show(const struct neuron_node *node,
				unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	u32 value;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u32 *)((const void *)&look->link[node->index] + offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%u\n", value);
}

/* @offset: in struct neuron_look_link */
static ssize_t neuron_link_count_show(const struct neuron_node *node,
				      unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	u64 value;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	value = *(const u64 *)((const void *)&look->link_sum[node->index] +
			       offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", value);
}

#define NEURON_LINK_INFO(name, member) \
	NEURON_NODE_RO(name, neuron_link_show, \
		       offsetof(struct drm_neuron_link_info, member))
#define NEURON_LINK_COUNT(name, member) \
	NEURON_NODE_RO(name, neuron_link_count_show, \
		       offsetof(struct neuron_look_link, member))

static const struct neuron_node_attr neuron_link_attrs[] = {
	NEURON_LINK_INFO("peer", peer),
	NEURON_LINK_INFO("state", state),
	NEURON_LINK_INFO("width", width),
	NEURON_LINK_INFO("mbps", mbps),
	NEURON_LINK_COUNT("bytes_sent", sent),
	NEURON_LINK_COUNT("bytes_received", received),
	NEURON_LINK_COUNT("errors", errors),
};

/* Of all queues of the engine; @offset: in struct neuron_look_queue */
static ssize_t neuron_engine_show(const struct neuron_node *node,
				  unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	unsigned int i;
	u64 sum = 0;

	look = neuron_look_begin_queues(ndev, node->index);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		sum += *(const u64 *)((const void *)&look->queue_sum[node->index][i] +
				      offset);
	neuron_look_end(ndev);
	return sysfs_emit(buf, "%llu\n", sum);
}

/* Of each queue of the engine, in a line; @offset: in struct neuron_look_queue */
static ssize_t neuron_queues_show(const struct neuron_node *node,
				  unsigned long offset, char *buf)
{
	struct neuron_device *ndev = node->data;
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin_queues(ndev, node->index);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < NEURON_UDMA_QUEUES; i++)
		len += sysfs_emit_at(buf, len, "%llu%c",
				     *(const u64 *)((const void *)&look->queue_sum[node->index][i] +
						    offset),
				     i + 1 < NEURON_UDMA_QUEUES ? ' ' : '\n');
	neuron_look_end(ndev);
	return len;
}

#define NEURON_ENGINE_COUNT(name) \
	NEURON_NODE_RO(#name, neuron_engine_show, \
		       offsetof(struct neuron_look_queue, name))
#define NEURON_QUEUES_COUNT(name) \
	NEURON_NODE_RO("queue_" #name, neuron_queues_show, \
		       offsetof(struct neuron_look_queue, name))

static const struct neuron_node_attr neuron_engine_attrs[] = {
	NEURON_ENGINE_COUNT(descriptors),
	NEURON_ENGINE_COUNT(bytes),
	NEURON_QUEUES_COUNT(descriptors),
	NEURON_QUEUES_COUNT(bytes),
};

static void neuron_traffic_remove(void *data)
{
	neuron_node_remove(data);
}

/*
 * A directory that is removed with the device, with @nr directories in it, named by their
 * number.
 */
static int neuron_traffic_add(struct neuron_device *ndev, const char *name,
			      unsigned int nr,
			      const struct neuron_node_attr *attrs,
			      size_t nr_attrs)
{
	struct device *dev = ndev->drm.dev;
	struct neuron_node *node, *child;
	unsigned int i;
	char number[16];
	int ret;

	node = neuron_node_create(&dev->kobj, ndev, NULL, 0, name);
	if (IS_ERR(node))
		return PTR_ERR(node);
	ret = devm_add_action_or_reset(dev, neuron_traffic_remove, node);
	for (i = 0; !ret && i < nr; i++) {
		snprintf(number, sizeof(number), "%u", i);
		child = neuron_node_add(node, attrs, nr_attrs, number, i);
		ret = PTR_ERR_OR_ZERO(child);
	}
	return ret;
}

static int neuron_sysfs_traffic_init(struct neuron_device *ndev)
{
	int ret;

	ret = neuron_traffic_add(ndev, "links", ndev->nr_links,
				 neuron_link_attrs,
				 ARRAY_SIZE(neuron_link_attrs));
	if (ret)
		return ret;
	return neuron_traffic_add(ndev, "dma", ndev->gen->nr_dma,
				  neuron_engine_attrs,
				  ARRAY_SIZE(neuron_engine_attrs));
}

/*
 * Attributes of the PCI device: what it is and where it is.
 */

static ssize_t device_name_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", ndev->gen->device_name);
}
static DEVICE_ATTR_RO(device_name);

static ssize_t core_count_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", ndev->gen->nr_cores);
}
static DEVICE_ATTR_RO(core_count);

/* Populated bytes of all stacks. */
static ssize_t memory_size_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	struct neuron_hbm_stats stats;
	unsigned int i;
	u64 size = 0;

	for (i = 0; i < ndev->gen->nr_hbm; i++) {
		neuron_hbm_get_stats(ndev, i, &stats);
		size += stats.size;
	}
	return sysfs_emit(buf, "%llu\n", size);
}
static DEVICE_ATTR_RO(memory_size);

static ssize_t fabric_id_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", ndev->fabric_id);
}
static DEVICE_ATTR_RO(fabric_id);

static ssize_t serial_number_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%016llx\n", ndev->serial);
}
static DEVICE_ATTR_RO(serial_number);

/* Fabric ids at the other ends of the links that are up, in port order. */
static ssize_t connected_devices_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct neuron_device *ndev = dev_get_drvdata(dev);
	const struct neuron_look *look;
	unsigned int i;
	int len = 0;

	look = neuron_look_begin(ndev, NEURON_LOOK_LINKS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	for (i = 0; i < ndev->nr_links; i++) {
		if (look->link[i].state)
			len += sysfs_emit_at(buf, len, len ? " %u" : "%u",
					     look->link[i].peer);
	}
	neuron_look_end(ndev);

	len += sysfs_emit_at(buf, len, "\n");
	return len;
}
static DEVICE_ATTR_RO(connected_devices);

static struct attribute *neuron_attrs[] = {
	&dev_attr_device_name.attr,
	&dev_attr_core_count.attr,
	&dev_attr_memory_size.attr,
	&dev_attr_fabric_id.attr,
	&dev_attr_serial_number.attr,
	&dev_attr_connected_devices.attr,
	NULL
};

static const struct attribute_group neuron_group = {
	.attrs = neuron_attrs,
};

const struct attribute_group *neuron_sysfs_groups[] = {
	&neuron_group,
	&neuron_sysfs_reg_group,
	&neuron_sysfs_ecc_group,
	&neuron_sysfs_counter_group,
	NULL
};

int neuron_sysfs_init(struct neuron_device *ndev)
{
	const struct neuron_node_attr *attrs;
	unsigned int i;
	int ret;

	attrs = neuron_core_status_attrs(ndev->drm.dev);
	if (!attrs)
		return -ENOMEM;
	for (i = 0; i < ndev->gen->nr_cores; i++) {
		ret = neuron_sysfs_add_core(&ndev->core[i], attrs);
		if (ret)
			return ret;
	}
	return neuron_sysfs_traffic_init(ndev);
}
