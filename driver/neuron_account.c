// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds on the kernel's memory that claims take: jobs and window tables.
 */
#include <linux/cred.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <drm/drm_print.h>

#include "neuron_account.h"
#include "neuron_claim.h"

#define NEURON_CLAIM_MEMORY	(256ll << 20)
/* All claims of a user on a device, and what is left of those given back. */
#define NEURON_USER_MEMORY	(384ll << 20)

/**
 * struct neuron_account - the account of a user
 * @ref: of the user's claims
 * @link: in neuron_device.accounts
 * @uid: user
 * @memory: bytes
 */
struct neuron_account {
	struct kref ref;
	struct list_head link;
	kuid_t uid;
	atomic64_t memory;
};

/* Under accounts_lock. */
static struct neuron_account *neuron_account_find(struct neuron_device *ndev,
						  kuid_t uid)
{
	struct neuron_account *account;

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

int neuron_claim_charge(struct neuron_claim *claim, size_t bytes)
{
	bool claim_full, user_full;

	claim_full = atomic64_add_return(bytes, &claim->memory) >
		     NEURON_CLAIM_MEMORY;
	user_full = atomic64_add_return(bytes, &claim->account->memory) >
		    NEURON_USER_MEMORY;
	if (!claim_full && !user_full)
		return 0;
	neuron_claim_uncharge(claim, bytes);
	drm_dbg(&claim->ndev->drm, "claim %u: too much in queued jobs and window tables (of its user: %d)\n",
		claim->id, user_full);
	return -ENOMEM;
}

void neuron_claim_uncharge(struct neuron_claim *claim, size_t bytes)
{
	atomic64_sub(bytes, &claim->memory);
	atomic64_sub(bytes, &claim->account->memory);
}
