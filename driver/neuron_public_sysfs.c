// SPDX-License-Identifier: GPL-2.0-only
/*
 * The public driver's class and sysfs tree, for the monitors that know no other:
 * /sys/devices/virtual/neuron_device/neuron<fabric id>. Off unless the module
 * parameter public_sysfs is set. Nothing else in the driver knows of it.
 *
 * What is counted for the device as a whole there is per core, and what is not known
 * here, is in Documentation/driver.rst.
 */
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "neuron/address.h"
#include "neuron_look.h"
#include "neuron_node.h"
#include "neuron_public_sysfs.h"

#define NEURON_POWER_SAMPLE	(5 * HZ)
#define NEURON_POWER_PERIOD	60	/* seconds that are summed up */

static bool neuron_public_wanted;
module_param_named(public_sysfs, neuron_public_wanted, bool, 0444);
MODULE_PARM_DESC(public_sysfs, "Also the sysfs tree of the public driver (default: no)");

/* The class exists while a device is in it. */
static const struct class neuron_public_class = { .name = "neuron_device" };
static DEFINE_MUTEX(neuron_public_lock);	/* neuron_public_users */
static unsigned int neuron_public_users;

/**
 * struct neuron_public_power - the power of a chip over a while
 * @begin: seconds of the clock on the wall
 * @min: basis points of the greatest power, all dice together
 * @max: the same
 * @sum: of all samples
 * @samples: how many
 */
struct neuron_public_power {
	time64_t begin;
	u32 min;
	u32 max;
	u64 sum;
	u32 samples;
};

/* What the driver counts of a core, as far as the tree has it. */
enum {
	NEURON_PUBLIC_RESETS,
	NEURON_PUBLIC_RESET_FAILURES,
	NEURON_PUBLIC_BUSY_US,
	NEURON_NR_PUBLIC_COUNTS,
};

/**
 * struct neuron_public - the tree of a device
 * @ndev: device
 * @dev: of the class
 * @node: directories at its top
 * @nr_nodes: how many
 * @sample: reads the power
 * @lock: @now, @last
 * @now: power of this minute
 * @last: power of the minute before
 * @cleared: what the counts were when somebody wrote to them
 */
struct neuron_public {
	struct neuron_device *ndev;
	struct device *dev;
	struct neuron_node *node[2 + NEURON_MAX_CORES];
	unsigned int nr_nodes;
	struct delayed_work sample;
	spinlock_t lock;	/* now, last */
	struct neuron_public_power now;
	struct neuron_public_power last;
	u64 cleared[NEURON_MAX_CORES][NEURON_NR_PUBLIC_COUNTS];
};

static struct neuron_core *neuron_public_core(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->ndev->core[node->index / DRM_NEURON_NR_STATUS_COUNTERS];
}

static unsigned long neuron_public_index(unsigned int core, unsigned int counter)
{
	return core * DRM_NEURON_NR_STATUS_COUNTERS + counter;
}

/* Identity. */

static ssize_t serial_show(const struct neuron_node *node, unsigned long arg,
			   char *buf)
{
	struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%016llx\n", tree->ndev->serial);
}

/* Nobody is notified of anything. */
static ssize_t notify_delay_show(const struct neuron_node *node,
				 unsigned long arg, char *buf)
{
	return sysfs_emit(buf, "-1\n");
}

static const struct neuron_node_attr neuron_public_info[] = {
	NEURON_NODE_RO("serial_number", serial_show, 0),
	NEURON_NODE_RO("notify_delay", notify_delay_show, 0),
};

/* The device of Inferentia2 is v3 there, although its cores are v2. */
static ssize_t device_arch_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;
	const struct neuron_gen *gen = tree->ndev->gen;

	return sysfs_emit(buf, "NDv%u\n",
			  gen->pci_device == NEURON_PCI_DEVICE_INF2 ? 3 :
			  gen->generation);
}

static ssize_t device_name_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%s\n", tree->ndev->gen->device_name);
}

static ssize_t instance_type_show(const struct neuron_node *node,
				  unsigned long arg, char *buf)
{
	const struct neuron_public *tree = node->data;
	const char *name = tree->ndev->gen->name;

	return sysfs_emit(buf, "%c%s\n", toupper(name[0]), name + 1);
}

static const struct neuron_node_attr neuron_public_arch[] = {
	NEURON_NODE_RO("arch_type", device_arch_show, 0),
	NEURON_NODE_RO("device_name", device_name_show, 0),
	NEURON_NODE_RO("instance_type", instance_type_show, 0),
};

static ssize_t core_arch_show(const struct neuron_node *node, unsigned long arg,
			      char *buf)
{
	const struct neuron_public *tree = node->data;

	return sysfs_emit(buf, "%s\n", tree->ndev->gen->core_arch);
}

static const struct neuron_node_attr neuron_public_core_arch[] = {
	NEURON_NODE_RO("arch_type", core_arch_show, 0),
};

/* Memory errors; @arg: which. */
enum { NEURON_PUBLIC_SRAM, NEURON_PUBLIC_HBM, NEURON_PUBLIC_REPAIRABLE };

static u32 neuron_public_ecc(struct neuron_device *ndev, unsigned long which)
{
	bool repairable = which == NEURON_PUBLIC_REPAIRABLE;
	unsigned int i;
	bool pending;
	u32 sum = 0;

	if (which == NEURON_PUBLIC_SRAM)
		return NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  neuron_misc_read(ndev, NEURON_MISC_SRAM_ECC));
	/* Errors of memory that waits for its repair are counted apart. */
	pending = neuron_misc_read(ndev, NEURON_MISC_HBM_REPAIR) ==
		  NEURON_MISC_REPAIR_PENDING;
	if (repairable != pending)
		return 0;
	for (i = 0; i < ndev->gen->nr_hbm; i++)
		sum += NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  neuron_misc_read(ndev, NEURON_MISC_HBM_ECC(i)));
	return sum;
}

static ssize_t ecc_show(const struct neuron_node *node, unsigned long which,
			char *buf)
{
	struct neuron_public *tree = node->data;
	int idx, ret;
	u32 errors;

	ret = neuron_look_begin(tree->ndev, &idx);
	if (ret)
		return ret;
	errors = neuron_public_ecc(tree->ndev, which);
	neuron_look_end(tree->ndev, idx);
	return sysfs_emit(buf, "%u\n", errors);
}

static const struct neuron_node_attr neuron_public_hardware[] = {
	NEURON_NODE_RO("sram_ecc_uncorrected", ecc_show, NEURON_PUBLIC_SRAM),
	NEURON_NODE_RO("mem_ecc_uncorrected", ecc_show, NEURON_PUBLIC_HBM),
	NEURON_NODE_RO("mem_ecc_repairable_uncorrected", ecc_show,
		       NEURON_PUBLIC_REPAIRABLE),
};

/* Power. */

static int neuron_public_read_power(struct neuron_device *ndev, u32 *used)
{
	unsigned int i;
	int idx, ret;
	u32 sum = 0;

	ret = neuron_look_begin(ndev, &idx);
	if (ret)
		return ret;
	for (i = 0; i < ndev->gen->nr_dice; i++)
		sum += NEURON_GET(NEURON_MISC_POWER_USED,
				  neuron_misc_read(ndev, NEURON_MISC_POWER(i)));
	neuron_look_end(ndev, idx);
	*used = sum / ndev->gen->nr_dice;
	return 0;
}

static void neuron_public_add_power(struct neuron_public_power *power, u32 used)
{
	power->min = power->samples ? min(power->min, used) : used;
	power->max = max(power->max, used);
	power->sum += used;
	power->samples++;
}

static void neuron_public_sample(struct work_struct *work)
{
	struct neuron_public *tree = container_of(to_delayed_work(work),
						  struct neuron_public, sample);
	time64_t now = ktime_get_real_seconds();
	int ret;
	u32 used;

	ret = neuron_public_read_power(tree->ndev, &used);
	spin_lock(&tree->lock);
	if (now - tree->now.begin >= NEURON_POWER_PERIOD ||
	    now < tree->now.begin) {
		tree->last = tree->now;
		memset(&tree->now, 0, sizeof(tree->now));
		tree->now.begin = now;
	}
	if (!ret)
		neuron_public_add_power(&tree->now, used);
	spin_unlock(&tree->lock);
	schedule_delayed_work(&tree->sample, NEURON_POWER_SAMPLE);
}

static ssize_t utilization_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	struct neuron_public *tree = node->data;
	struct neuron_public_power last;
	u32 avg = 0;

	spin_lock(&tree->lock);
	last = tree->last;
	spin_unlock(&tree->lock);
	if (last.samples)
		avg = div_u64(last.sum, last.samples);
	return sysfs_emit(buf, "%s,%lld,%u.%02u,%u.%02u,%u.%02u\n",
			  last.samples ? "POWER_STATUS_VALID" :
					 "POWER_STATUS_NO_DATA",
			  last.begin, last.min / 100, last.min % 100,
			  last.max / 100, last.max % 100, avg / 100, avg % 100);
}

static const struct neuron_node_attr neuron_public_utilization[] = {
	NEURON_NODE_RO("utilization", utilization_show, 0),
};

/* What owners of a core post; @arg: of the present owner only. */

static ssize_t status_show(const struct neuron_node *node, unsigned long present,
			   char *buf)
{
	struct neuron_status *status = &neuron_public_core(node)->status;
	unsigned int i = node->index % DRM_NEURON_NR_STATUS_COUNTERS;

	return sysfs_emit(buf, "%llu\n",
			  (u64)atomic64_read(present ? &status->present[i] :
					     &status->total[i]));
}

static void status_reset(const struct neuron_node *node, unsigned long present)
{
	neuron_status_clear(&neuron_public_core(node)->status,
			    node->index % DRM_NEURON_NR_STATUS_COUNTERS);
}

static const struct neuron_node_attr neuron_public_status[] = {
	NEURON_NODE_RW("total", status_show, status_reset, 0),
	NEURON_NODE_RW("present", status_show, status_reset, 1),
};

/* What the driver counts of a core. */

static u64 neuron_public_count(const struct neuron_node *node)
{
	struct neuron_core_stats stats;

	neuron_core_get_stats(neuron_public_core(node), &stats);
	switch (node->index % DRM_NEURON_NR_STATUS_COUNTERS) {
	case NEURON_PUBLIC_RESETS:
		return stats.resets;
	case NEURON_PUBLIC_RESET_FAILURES:
		return stats.reset_failures;
	default:
		return div_u64(stats.busy_ns, NSEC_PER_USEC);
	}
}

static u64 *neuron_public_cleared(const struct neuron_node *node)
{
	struct neuron_public *tree = node->data;

	return &tree->cleared[node->index / DRM_NEURON_NR_STATUS_COUNTERS]
			     [node->index % DRM_NEURON_NR_STATUS_COUNTERS];
}

static ssize_t count_show(const struct neuron_node *node, unsigned long arg,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", neuron_public_count(node) -
			  READ_ONCE(*neuron_public_cleared(node)));
}

static void count_reset(const struct neuron_node *node, unsigned long arg)
{
	WRITE_ONCE(*neuron_public_cleared(node), neuron_public_count(node));
}

static const struct neuron_node_attr neuron_public_counts[] = {
	NEURON_NODE_RW("total", count_show, count_reset, 0),
	NEURON_NODE_RW("present", count_show, count_reset, 0),
};

/* Cycles of the PE array. */

static u64 neuron_pe_read(struct neuron_core *core, unsigned int row,
			  unsigned int xbus, unsigned int field)
{
	void __iomem *reg = core->ndev->bar0 +
			    neuron_pe_counter(core->ndev->gen, core->index, row,
					      xbus, field);
	/* The chip keeps the low word for whoever has read the high one. */
	u64 high = readl(reg + 4);

	return high << 32 | readl(reg);
}

static ssize_t pe_counters_show(const struct neuron_node *node,
				unsigned long arg, char *buf)
{
	struct neuron_core *core = neuron_public_core(node);
	int idx, ret, len;
	unsigned int i, j;
	u64 weights;

	ret = neuron_look_begin(core->ndev, &idx);
	if (ret)
		return ret;
	len = sysfs_emit(buf, "xrow_grp,mm_active,wl_active,idle\n");
	for (i = 0; i < NEURON_PE_ROW_GROUPS; i++) {
		weights = 0;
		for (j = 0; j < NEURON_PE_COLUMN_GROUPS; j++)
			weights += neuron_pe_read(core, i, j, NEURON_PE_WEIGHTS);
		len += sysfs_emit_at(buf, len, "%u,%llu,%llu,%llu\n", i,
				     neuron_pe_read(core, i,
						    NEURON_PE_XBUS_ARRAY,
						    NEURON_PE_MATMUL),
				     weights,
				     neuron_pe_read(core, i,
						    NEURON_PE_XBUS_ARRAY,
						    NEURON_PE_IDLE));
	}
	neuron_look_end(core->ndev, idx);
	return len;
}

static const struct neuron_node_attr neuron_public_pe[] = {
	NEURON_NODE_RO("pe_cntrs", pe_counters_show, 0),
};

/* The directory of the device itself. */

static ssize_t core_count_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%u\n", tree->ndev->gen->nr_cores);
}
static DEVICE_ATTR_RO(core_count);

static ssize_t connected_devices_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct neuron_public *tree = dev_get_drvdata(dev);
	struct drm_neuron_link_info link;
	unsigned int i;
	int idx, ret, len = 0;

	ret = neuron_look_begin(tree->ndev, &idx);
	if (ret)
		return ret;
	for (i = 0; i < tree->ndev->nr_links; i++) {
		neuron_device_read_link(tree->ndev, i, &link);
		if (link.state == 1 && link.peer < NEURON_MAX_CHIPS)
			len += sysfs_emit_at(buf, len, len ? ", %u" : "%u",
					     link.peer);
	}
	neuron_look_end(tree->ndev, idx);
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(connected_devices);

static struct attribute *neuron_public_attrs[] = {
	&dev_attr_core_count.attr,
	&dev_attr_connected_devices.attr,
	NULL
};
ATTRIBUTE_GROUPS(neuron_public);

/* Directories; after an error the rest is left out, and NULL stands for them. */

struct neuron_public_builder {
	struct neuron_public *tree;
	int error;
};

static struct neuron_node *neuron_public_take(struct neuron_public_builder *b,
					      struct neuron_node *node)
{
	if (!IS_ERR(node))
		return node;
	b->error = PTR_ERR(node);
	return NULL;
}

static struct neuron_node *neuron_public_top(struct neuron_public_builder *b,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr)
{
	struct neuron_public *tree = b->tree;
	struct neuron_node *node;

	if (b->error)
		return NULL;
	node = neuron_public_take(b, neuron_node_create(&tree->dev->kobj, tree,
							attrs, nr, name));
	if (node)
		tree->node[tree->nr_nodes++] = node;
	return node;
}

static struct neuron_node *neuron_public_dir(struct neuron_public_builder *b,
					     struct neuron_node *parent,
					     const char *name,
					     const struct neuron_node_attr *attrs,
					     size_t nr, unsigned long index)
{
	if (b->error)
		return NULL;
	return neuron_public_take(b, neuron_node_add(parent, attrs, nr, name,
						     index));
}

#define neuron_public_empty(b, parent, name) \
	neuron_public_dir(b, parent, name, NULL, 0, 0)

/* Those of the posted ones that are not a status of executions. */
static bool neuron_public_is_other(unsigned int counter)
{
	return counter >= DRM_NEURON_STATUS_MODEL_LOAD_COUNT;
}

static void neuron_public_add_core(struct neuron_public_builder *b,
				   unsigned int core)
{
	struct neuron_node *top, *stats, *status, *other, *info;
	char name[24];
	unsigned int i;

	snprintf(name, sizeof(name), "neuron_core%u", core);
	top = neuron_public_top(b, name, NULL, 0);
	info = neuron_public_empty(b, top, "info");
	neuron_public_dir(b, info, "architecture", neuron_public_core_arch,
			  ARRAY_SIZE(neuron_public_core_arch), 0);
	stats = neuron_public_empty(b, top, "stats");
	status = neuron_public_empty(b, stats, "status");
	other = neuron_public_empty(b, stats, "other_info");
	for (i = 0; i < DRM_NEURON_NR_STATUS_COUNTERS; i++)
		neuron_public_dir(b, neuron_public_is_other(i) ? other : status,
				  neuron_status_name(i), neuron_public_status,
				  ARRAY_SIZE(neuron_public_status),
				  neuron_public_index(core, i));
	neuron_public_dir(b, other, "reset_req_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESETS));
	neuron_public_dir(b, other, "reset_fail_count", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_RESET_FAILURES));
	neuron_public_dir(b, other, "nc_time_in_use", neuron_public_counts,
			  ARRAY_SIZE(neuron_public_counts),
			  neuron_public_index(core, NEURON_PUBLIC_BUSY_US));
	neuron_public_dir(b, stats, "tensor_engine", neuron_public_pe,
			  ARRAY_SIZE(neuron_public_pe), neuron_public_index(core, 0));
}

static int neuron_public_build(struct neuron_public *tree)
{
	struct neuron_public_builder b = { .tree = tree };
	struct neuron_node *info, *stats;
	unsigned int i;

	info = neuron_public_top(&b, "info", neuron_public_info,
				 ARRAY_SIZE(neuron_public_info));
	neuron_public_dir(&b, info, "architecture", neuron_public_arch,
			  ARRAY_SIZE(neuron_public_arch), 0);
	stats = neuron_public_top(&b, "stats", NULL, 0);
	neuron_public_dir(&b, stats, "hardware", neuron_public_hardware,
			  ARRAY_SIZE(neuron_public_hardware), 0);
	neuron_public_dir(&b, stats, "power", neuron_public_utilization,
			  ARRAY_SIZE(neuron_public_utilization), 0);
	for (i = 0; i < tree->ndev->gen->nr_cores; i++)
		neuron_public_add_core(&b, i);
	return b.error;
}

/* Nobody else makes devices of the class meanwhile. */
static int neuron_public_add_device(struct neuron_public *tree)
{
	struct neuron_device *ndev = tree->ndev;
	struct device *dev;
	char name[24];

	lockdep_assert_held(&neuron_public_lock);
	snprintf(name, sizeof(name), "neuron%u", ndev->fabric_id);
	dev = class_find_device_by_name(&neuron_public_class, name);
	if (dev) {
		put_device(dev);
		dev_warn(ndev->drm.dev, "another chip has fabric id %u: no public sysfs tree\n",
			 ndev->fabric_id);
		return -EEXIST;
	}
	tree->dev = device_create_with_groups(&neuron_public_class, NULL,
					      MKDEV(0, 0), tree,
					      neuron_public_groups, "%s", name);
	return PTR_ERR_OR_ZERO(tree->dev);
}

static void neuron_public_put_class(void)
{
	mutex_lock(&neuron_public_lock);
	if (!--neuron_public_users)
		class_unregister(&neuron_public_class);
	mutex_unlock(&neuron_public_lock);
}

static int neuron_public_get_class(struct neuron_public *tree)
{
	int ret = 0;

	mutex_lock(&neuron_public_lock);
	if (!neuron_public_users)
		ret = class_register(&neuron_public_class);
	if (!ret) {
		neuron_public_users++;
		ret = neuron_public_add_device(tree);
		if (ret && !--neuron_public_users)
			class_unregister(&neuron_public_class);
	}
	mutex_unlock(&neuron_public_lock);
	return ret;
}

static void neuron_public_remove(void *data)
{
	struct neuron_public *tree = data;

	cancel_delayed_work_sync(&tree->sample);
	while (tree->nr_nodes)
		neuron_node_remove(tree->node[--tree->nr_nodes]);
	device_unregister(tree->dev);
	neuron_public_put_class();
}

int neuron_public_sysfs_init(struct neuron_device *ndev)
{
	struct neuron_public *tree;
	int ret;

	if (!neuron_public_wanted)
		return 0;
	tree = devm_kzalloc(ndev->drm.dev, sizeof(*tree), GFP_KERNEL);
	if (!tree)
		return -ENOMEM;
	tree->ndev = ndev;
	spin_lock_init(&tree->lock);
	INIT_DELAYED_WORK(&tree->sample, neuron_public_sample);
	tree->now.begin = ktime_get_real_seconds();
	ret = neuron_public_get_class(tree);
	if (ret)
		return ret == -EEXIST ? 0 : ret;
	ret = devm_add_action_or_reset(ndev->drm.dev, neuron_public_remove,
				       tree);
	if (ret)
		return ret;
	ret = neuron_public_build(tree);
	if (ret)
		return ret;
	schedule_delayed_work(&tree->sample, 0);
	return 0;
}
