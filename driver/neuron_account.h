/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the claims, the transfers and the event files of one user take on a device, those
 * that were given back included: claiming or opening again does not start the account anew.
 */
#ifndef _NEURON_ACCOUNT_H_
#define _NEURON_ACCOUNT_H_

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/types.h>

struct neuron_device;
struct neuron_account;

#define NEURON_USER_EVENT_FILES	256	/* of a user on a device */

/**
 * struct neuron_budget - what a claim, or the transfers of a file, may take
 * @ndev: device
 * @account: account of the user, referenced
 * @memory: bytes taken
 */
struct neuron_budget {
	struct neuron_device *ndev;
	struct neuron_account *account;
	atomic64_t memory;
};

/* The account of the caller's user, referenced; NULL: there is no memory. */
struct neuron_account *neuron_account_get(struct neuron_device *ndev);
void neuron_account_put(struct neuron_device *ndev,
			struct neuron_account *account);

/* False: the user has NEURON_USER_EVENT_FILES already. */
bool neuron_account_add_event_file(struct neuron_account *account);
void neuron_account_remove_event_file(struct neuron_account *account);

/* In the account of the caller's user; -ENOMEM. */
int neuron_budget_init(struct neuron_budget *budget, struct neuron_device *ndev);
/* All charges have been taken back. */
void neuron_budget_fini(struct neuron_budget *budget);

/*
 * Queued jobs and transfers, and the versions of window tables that they hold, are
 * memory of the kernel that no memory cgroup knows of. -ENOMEM when the budget, or all
 * that its user has on the device, is too much.
 */
int neuron_budget_charge(struct neuron_budget *budget, size_t bytes);
void neuron_budget_uncharge(struct neuron_budget *budget, size_t bytes);

/* What @bytes of coherent memory take, more than 0: the DMA layer allocates powers of two. */
static inline size_t neuron_coherent_bytes(size_t bytes)
{
	return PAGE_SIZE << get_order(bytes);
}

#endif /* _NEURON_ACCOUNT_H_ */
