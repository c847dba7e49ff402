// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the public driver: what the device is, and its memory errors.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/sysfs.h>

#include "neuron_monitor.h"
#include "neuron_public.h"

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

const struct neuron_node_attr neuron_public_info[] = {
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

const struct neuron_node_attr neuron_public_arch[] = {
	NEURON_NODE_RO("arch_type", device_arch_show, 0),
	NEURON_NODE_RO("device_name", device_name_show, 0),
	NEURON_NODE_RO("instance_type", instance_type_show, 0),
};

/* Memory errors; @arg: which. */
enum { NEURON_PUBLIC_SRAM, NEURON_PUBLIC_HBM, NEURON_PUBLIC_REPAIRABLE };

static u32 neuron_public_ecc(const struct neuron_look *look, unsigned int nr_hbm,
			     unsigned long which)
{
	bool repairable = which == NEURON_PUBLIC_REPAIRABLE;
	unsigned int i;
	bool pending;
	u32 sum = 0;

	if (which == NEURON_PUBLIC_SRAM)
		return NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  look->sram_ecc);
	/* Errors of memory that waits for its repair are counted apart. */
	pending = look->hbm_repair == NEURON_MISC_REPAIR_PENDING;
	if (repairable != pending)
		return 0;
	for (i = 0; i < nr_hbm; i++)
		sum += NEURON_GET(NEURON_MISC_ECC_UNCORRECTED,
				  look->hbm_ecc[i]);
	return sum;
}

static ssize_t ecc_show(const struct neuron_node *node, unsigned long which,
			char *buf)
{
	struct neuron_public *tree = node->data;
	const struct neuron_look *look;
	u32 errors;

	look = neuron_look_begin(tree->ndev, NEURON_LOOK_REGS);
	if (IS_ERR(look))
		return PTR_ERR(look);
	errors = neuron_public_ecc(look, tree->ndev->gen->nr_hbm, which);
	neuron_look_end(tree->ndev);
	return sysfs_emit(buf, "%u\n", errors);
}

const struct neuron_node_attr neuron_public_hardware[] = {
	NEURON_NODE_RO("sram_ecc_uncorrected", ecc_show, NEURON_PUBLIC_SRAM),
	NEURON_NODE_RO("mem_ecc_uncorrected", ecc_show, NEURON_PUBLIC_HBM),
	NEURON_NODE_RO("mem_ecc_repairable_uncorrected", ecc_show,
		       NEURON_PUBLIC_REPAIRABLE),
};
