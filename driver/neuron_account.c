// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds on what users take: memory of the kernel for jobs, transfers and window tables, and
 * event files.
 */
#include <linux/cred.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <drm/drm_print.h>

#include "neuron_account.h"
#include "neuron_device.h"

/**
 * struct neuron_account - the account of a user
 * @ref: of the user's budgets and event files
 * @link: in neuron_device.accounts
 * @uid: user
 * @memory: bytes
 * @event_files: open ones
 */
struct neuron_account {
	struct kref ref;
	struct list_head link;
	kuid_t uid;
	atomic64_t memory;
	atomic_t event_files;
};

/* Under accounts_lock. */
static struct neuron_account *neuron_account_find(struct neuron_device *ndev,
						  kuid_t uid)
{
	struct neuron_account *account;

	lockdep_assert_held(&ndev->accounts_lock);
	list_for_each_entry(account, &ndev->accounts, link) {
		if (!uid_eq(account->uid, uid))
			continue;
		kref_get(&account->ref);
		return account;
	}
	return NULL;
}

static struct neuron_account *
neuron_account_create(struct neuron_device *ndev, kuid_t uid)
{
	struct neuron_account *account;

	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return NULL;
	kref_init(&account->ref);
	account->uid = uid;
	list_add(&account->link, &ndev->accounts);
	return account;
}

struct neuron_account *neuron_account_get(struct neuron_device *ndev)
{
	kuid_t uid = current_uid();
	struct neuron_account *account;

	mutex_lock(&ndev->accounts_lock);
	account = neuron_account_find(ndev, uid);
	if (!account)
		account = neuron_account_create(ndev, uid);
	mutex_unlock(&ndev->accounts_lock);
	return account;
}

static void neuron_account_release(struct kref *ref)
{
	struct neuron_account *account = container_of(ref,
						      struct neuron_account,
						      ref);

	list_del(&account->link);
	kfree(account);
}

void neuron_account_put(struct neuron_device *ndev,
			struct neuron_account *account)
{
	mutex_lock(&ndev->accounts_lock);
	kref_put(&account->ref, neuron_account_release);
	mutex_unlock(&ndev->accounts_lock);
}

bool neuron_account_add_event_file(struct neuron_account *account)
{
	if (atomic_inc_return(&account->event_files) <= NEURON_USER_EVENT_FILES)
		return true;
	neuron_account_remove_event_file(account);
	return false;
}

void neuron_account_remove_event_file(struct neuron_account *account)
{
	atomic_dec(&account->event_files);
}

void neuron_accounts_print(struct neuron_device *ndev, struct drm_printer *p)
{
	struct neuron_account *account;

	mutex_lock(&ndev->accounts_lock);
	list_for_each_entry(account, &ndev->accounts, link)
		drm_printf(p, "user %u: memory %lld event files %d\n",
			   from_kuid_munged(current_user_ns(), account->uid),
			   (long long)atomic64_read(&account->memory),
			   atomic_read(&account->event_files));
	mutex_unlock(&ndev->accounts_lock);
}

int neuron_budget_init(struct neuron_budget *budget, struct neuron_device *ndev)
{
	budget->ndev = ndev;
	budget->account = neuron_account_get(ndev);
	return budget->account ? 0 : -ENOMEM;
}

void neuron_budget_fini(struct neuron_budget *budget)
{
	neuron_account_put(budget->ndev, budget->account);
}

int neuron_budget_charge(struct neuron_budget *budget, size_t bytes)
{
	bool budget_full, user_full;

	budget_full = atomic64_add_return(bytes, &budget->memory) >
		      NEURON_BUDGET_MEMORY;
	user_full = atomic64_add_return(bytes, &budget->account->memory) >
		    NEURON_USER_MEMORY;
	if (!budget_full && !user_full)
		return 0;
	neuron_budget_uncharge(budget, bytes);
	drm_dbg(&budget->ndev->drm, "too much in queued jobs, transfers and window tables (of the user in all: %d)\n",
		user_full);
	return -ENOMEM;
}

void neuron_budget_uncharge(struct neuron_budget *budget, size_t bytes)
{
	atomic64_sub(bytes, &budget->memory);
	atomic64_sub(bytes, &budget->account->memory);
}
