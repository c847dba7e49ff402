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

#include "neuron_claim.h"
#include "neuron_user.h"

#define NEURON_CLAIM_MEMORY	(256ll << 20)
/* All claims of a user on a device, and what is left of those given back. */
#define NEURON_USER_MEMORY	(384ll << 20)

/**
 * struct neuron_user - the account of a user
 * @ref: of the user's claims
 * @link: in neuron_device.users
 * @uid: user
 * @memory: bytes
 */
struct neuron_user {
	struct kref ref;
	struct list_head link;
	kuid_t uid;
	atomic64_t memory;
};

/* Under users_lock. */
static struct neuron_user *neuron_user_find(struct neuron_device *ndev,
					    kuid_t uid)
{
	struct neuron_user *user;

	list_for_each_entry(user, &ndev->users, link) {
		if (!uid_eq(user->uid, uid))
			continue;
		kref_get(&user->ref);
		return user;
	}
	return NULL;
}

static struct neuron_user *neuron_user_create(struct neuron_device *ndev,
					      kuid_t uid)
{
	struct neuron_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	kref_init(&user->ref);
	user->uid = uid;
	list_add(&user->link, &ndev->users);
	return user;
}

struct neuron_user *neuron_user_get(struct neuron_device *ndev)
{
	kuid_t uid = current_uid();
	struct neuron_user *user;

	mutex_lock(&ndev->users_lock);
	user = neuron_user_find(ndev, uid);
	if (!user)
		user = neuron_user_create(ndev, uid);
	mutex_unlock(&ndev->users_lock);
	return user;
}

static void neuron_user_release(struct kref *ref)
{
	struct neuron_user *user = container_of(ref, struct neuron_user, ref);

	list_del(&user->link);
	kfree(user);
}

void neuron_user_put(struct neuron_device *ndev, struct neuron_user *user)
{
	mutex_lock(&ndev->users_lock);
	kref_put(&user->ref, neuron_user_release);
	mutex_unlock(&ndev->users_lock);
}

int neuron_claim_charge(struct neuron_claim *claim, size_t bytes)
{
	bool claim_full, user_full;

	claim_full = atomic64_add_return(bytes, &claim->memory) >
		     NEURON_CLAIM_MEMORY;
	user_full = atomic64_add_return(bytes, &claim->user->memory) >
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
	atomic64_sub(bytes, &claim->user->memory);
}
