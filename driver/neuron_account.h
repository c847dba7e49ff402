/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts: what the claims, the transfers and the event files of one user take on a device.
 * An account lives as long as anything is charged to it. A user who claims or opens again
 * continues the same account, so memory that is on its way to be freed still counts.
 */
#ifndef _NEURON_ACCOUNT_H_
#define _NEURON_ACCOUNT_H_

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/types.h>

struct neuron_device;
struct drm_printer;
struct neuron_account;

#define NEURON_USER_EVENT_FILES	256	/* of a user on a device */
#define NEURON_BUDGET_MEMORY	(256ll << 20)	/* a claim, or all transfers of a file */
#define NEURON_USER_MEMORY	(384ll << 20)	/* all of a user on a device */

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

/**
 * neuron_account_get() - find or create the account of the caller's user
 * @ndev: device
 *
 * Takes neuron_device.accounts_lock. Sleeps.
 *
 * Return: the account with a reference, or NULL when there is no memory.
 */
struct neuron_account *neuron_account_get(struct neuron_device *ndev);

/**
 * neuron_account_put() - drop a reference of an account
 * @ndev: device
 * @account: account; it is freed with its last reference
 *
 * Takes neuron_device.accounts_lock.
 */
void neuron_account_put(struct neuron_device *ndev,
			struct neuron_account *account);

/**
 * neuron_account_add_event_file() - count one more event file of a user
 * @account: account of the user
 *
 * Return: false when the user already has NEURON_USER_EVENT_FILES of them.
 */
bool neuron_account_add_event_file(struct neuron_account *account);

/**
 * neuron_account_remove_event_file() - an event file of a user is gone
 * @account: account of the user
 */
void neuron_account_remove_event_file(struct neuron_account *account);

/**
 * neuron_accounts_print() - print a line for each user who has something
 * @ndev: device
 * @p: printer
 *
 * Takes neuron_device.accounts_lock.
 */
void neuron_accounts_print(struct neuron_device *ndev, struct drm_printer *p);

/**
 * neuron_budget_init() - begin a budget in the account of the caller's user
 * @budget: budget, zeroed
 * @ndev: device
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_budget_init(struct neuron_budget *budget, struct neuron_device *ndev);

/**
 * neuron_budget_fini() - end a budget
 * @budget: budget; all that was charged to it has been uncharged
 */
void neuron_budget_fini(struct neuron_budget *budget);

/**
 * neuron_budget_charge() - count memory of the kernel that a user causes
 * @budget: budget of a claim, or of the transfers of a file
 * @bytes: how much
 *
 * Queued jobs and transfers, what they wait for, and the window tables that they hold, are memory
 * of the kernel. A user need not be in a memory cgroup with a limit. So the driver has limits of
 * its own: for each claim, for the transfers of each file, and for all that a user has on the
 * device.
 *
 * Return: 0, or -ENOMEM when one of the limits is reached; nothing is charged then.
 */
int neuron_budget_charge(struct neuron_budget *budget, size_t bytes);

/**
 * neuron_budget_uncharge() - memory that was charged is free
 * @budget: budget
 * @bytes: how much
 */
void neuron_budget_uncharge(struct neuron_budget *budget, size_t bytes);

/* The bytes that @bytes (not 0) of coherent memory take: the DMA layer allocates powers of two. */
static inline size_t neuron_coherent_bytes(size_t bytes)
{
	return PAGE_SIZE << get_order(bytes);
}

#endif /* _NEURON_ACCOUNT_H_ */
