// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory by category and place: counting, the table, what is said of a full stack, and fdinfo.
 */
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "neuron_device.h"
#include "neuron_gem.h"
#include "neuron_usage.h"

/* Processes that the log names when a stack is full. */
#define NEURON_USAGE_LARGEST	5
/* How often the log has such a table. */
#define NEURON_USAGE_INTERVAL	(10 * HZ)

static const char * const neuron_category_names[] = {
	[DRM_NEURON_CATEGORY_NONE] = "none",
	[DRM_NEURON_CATEGORY_CODE] = "code",
	[DRM_NEURON_CATEGORY_TENSORS] = "tensors",
	[DRM_NEURON_CATEGORY_CONSTANTS] = "constants",
	[DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD] = "shared-scratchpad",
	[DRM_NEURON_CATEGORY_SCRATCHPAD] = "scratchpad",
	[DRM_NEURON_CATEGORY_RUNTIME] = "runtime",
	[DRM_NEURON_CATEGORY_DRIVER] = "driver",
	[DRM_NEURON_CATEGORY_COLLECTIVES] = "collectives",
	[DRM_NEURON_CATEGORY_NOTIFICATIONS] = "notifications",
	[DRM_NEURON_CATEGORY_DMA_RINGS] = "dma-rings",
	[DRM_NEURON_CATEGORY_DMA_BUFFERS] = "dma-buffers",
	[DRM_NEURON_CATEGORY_APPLICATION] = "application",
};

static_assert(ARRAY_SIZE(neuron_category_names) == DRM_NEURON_NR_CATEGORIES);

/**
 * struct neuron_user - an open file that has memory of a stack
 * @pid: its process, as seen from the first namespace
 * @comm: name of the process
 * @bytes: buffers in the stack that it has handles of
 */
struct neuron_user {
	pid_t pid;
	char comm[TASK_COMM_LEN];
	u64 bytes;
};

const char *neuron_category_name(u32 category)
{
	return neuron_category_names[category];
}

int neuron_usage_init(struct neuron_device *ndev)
{
	ndev->usage = drmm_kzalloc(&ndev->drm, sizeof(*ndev->usage), GFP_KERNEL);
	if (!ndev->usage)
		return -ENOMEM;
	ratelimit_state_init(&ndev->usage->full, NEURON_USAGE_INTERVAL, 1);
	/* No message about tables that were left out. */
	ratelimit_set_flags(&ndev->usage->full, RATELIMIT_MSG_ON_RELEASE);
	return 0;
}

/* Where @bo lies; NEURON_USAGE_ALL_PLACES: it is counted by the peer that has it. */
static unsigned int neuron_usage_place(const struct neuron_bo *bo)
{
	switch (bo->kind) {
	case NEURON_BO_HBM:
		return bo->stack;
	case NEURON_BO_HOST:
		return NEURON_USAGE_HOST;
	case NEURON_BO_USER:
		return NEURON_USAGE_IMPORTED;
	default:
		return NEURON_USAGE_ALL_PLACES;
	}
}

static void neuron_amount_add(struct neuron_amount *amount, s64 bytes)
{
	s64 now = atomic64_add_return(bytes, &amount->now);
	s64 peak = atomic64_read(&amount->peak);

	while (peak < now &&
	       !atomic64_try_cmpxchg(&amount->peak, &peak, now))
		;
}

static void neuron_usage_change(struct neuron_bo *bo, s64 bytes)
{
	struct neuron_usage *usage = to_neuron_device(bo->base.dev)->usage;
	struct neuron_amount *all = usage->amount[NEURON_USAGE_ALL_CATEGORIES];
	struct neuron_amount *amount = usage->amount[bo->category];
	unsigned int place = neuron_usage_place(bo);

	if (place == NEURON_USAGE_ALL_PLACES)
		return;
	neuron_amount_add(&amount[place], bytes);
	neuron_amount_add(&amount[NEURON_USAGE_ALL_PLACES], bytes);
	neuron_amount_add(&all[place], bytes);
}

void neuron_usage_add(struct neuron_bo *bo)
{
	neuron_usage_change(bo, bo->base.size);
}

void neuron_usage_sub(struct neuron_bo *bo)
{
	neuron_usage_change(bo, -(s64)bo->base.size);
}

void neuron_usage_query(struct neuron_device *ndev,
			struct drm_neuron_usage_info *info)
{
	unsigned int c, stack;

	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		struct neuron_amount *amount = ndev->usage->amount[c];

		for (stack = 0; stack < ndev->gen->nr_hbm; stack++)
			info[c].hbm += atomic64_read(&amount[stack].now);
		info[c].host = atomic64_read(&amount[NEURON_USAGE_HOST].now);
		info[c].imported =
			atomic64_read(&amount[NEURON_USAGE_IMPORTED].now);
		info[c].peak =
			atomic64_read(&amount[NEURON_USAGE_ALL_PLACES].peak);
	}
}

void neuron_usage_query_stacks(struct neuron_device *ndev,
			       struct drm_neuron_stack_usage_info *info)
{
	unsigned int c, stack;

	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		struct neuron_amount *amount = ndev->usage->amount[c];

		for (stack = 0; stack < ndev->gen->nr_hbm; stack++, info++) {
			info->category = c;
			info->stack = stack;
			info->used = atomic64_read(&amount[stack].now);
			info->peak = atomic64_read(&amount[stack].peak);
		}
	}
}

void neuron_usage_print(struct neuron_device *ndev, struct drm_printer *p)
{
	unsigned int c, place;
	s64 peak;

	drm_printf(p, "category hbm0 hbm1 hbm2 hbm3 host imported peak\n");
	for (c = 0; c < DRM_NEURON_NR_CATEGORIES; c++) {
		struct neuron_amount *amount = ndev->usage->amount[c];

		peak = atomic64_read(&amount[NEURON_USAGE_ALL_PLACES].peak);
		if (!peak)
			continue;
		drm_printf(p, "%s", neuron_category_name(c));
		for (place = 0; place < NEURON_USAGE_ALL_PLACES; place++)
			drm_printf(p, " %lld", atomic64_read(&amount[place].now));
		drm_printf(p, " %lld\n", peak);
	}
}

static u64 neuron_file_bytes(struct drm_file *file, unsigned int stack)
{
	struct drm_gem_object *obj;
	u64 bytes = 0;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		struct neuron_bo *bo = to_neuron_bo(obj);

		if (bo->kind == NEURON_BO_HBM && bo->stack == stack)
			bytes += obj->size;
	}
	spin_unlock(&file->table_lock);
	return bytes;
}

static void neuron_user_name(struct neuron_user *user, struct drm_file *file)
{
	struct task_struct *task;
	struct pid *pid;

	rcu_read_lock();
	pid = rcu_dereference(file->pid);
	user->pid = pid_nr(pid);
	task = pid_task(pid, PIDTYPE_TGID);
	strscpy(user->comm, task ? task->comm : "?", sizeof(user->comm));
	rcu_read_unlock();
}

/* Puts @file where it belongs among the largest, which are in order. */
static void neuron_users_insert(struct neuron_user *users,
				struct drm_file *file, u64 bytes)
{
	unsigned int i = NEURON_USAGE_LARGEST;

	if (bytes <= users[i - 1].bytes)
		return;
	for (i--; i && bytes > users[i - 1].bytes; i--)
		users[i] = users[i - 1];
	users[i].bytes = bytes;
	neuron_user_name(&users[i], file);
}

static void neuron_users_find(struct neuron_device *ndev, unsigned int stack,
			      struct neuron_user *users)
{
	struct drm_file *file;

	mutex_lock(&ndev->drm.filelist_mutex);
	list_for_each_entry(file, &ndev->drm.filelist, lhead)
		neuron_users_insert(users, file, neuron_file_bytes(file, stack));
	mutex_unlock(&ndev->drm.filelist_mutex);
}

void neuron_usage_report_full(struct neuron_device *ndev, unsigned int stack,
			      u64 size)
{
	struct neuron_user users[NEURON_USAGE_LARGEST] = { };
	struct device *dev = ndev->drm.dev;
	unsigned int i;
	s64 bytes;

	if (!__ratelimit(&ndev->usage->full))
		return;

	dev_notice(dev, "HBM %u is full: no %llu bytes for %s (pid %d); in it:\n",
		   stack, size, current->comm, task_tgid_nr(current));
	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++) {
		bytes = atomic64_read(&ndev->usage->amount[i][stack].now);
		if (bytes)
			dev_notice(dev, "  %lld bytes: %s\n", bytes,
				   neuron_category_name(i));
	}
	neuron_users_find(ndev, stack, users);
	for (i = 0; i < NEURON_USAGE_LARGEST && users[i].bytes; i++)
		dev_notice(dev, "  %llu bytes: process %s (pid %d)\n",
			   users[i].bytes, users[i].comm, users[i].pid);
}

/* Places that a file's memory is counted in: the stacks, host, peers, user. */
enum {
	NEURON_PLACE_HOST = NEURON_MAX_HBM,
	NEURON_PLACE_PEER,
	NEURON_PLACE_USER,
	NEURON_NR_PLACES,
};

static unsigned int neuron_bo_place(const struct neuron_bo *bo)
{
	switch (bo->kind) {
	case NEURON_BO_HBM:
		return bo->stack;
	case NEURON_BO_HOST:
		return NEURON_PLACE_HOST;
	case NEURON_BO_USER:
		return NEURON_PLACE_USER;
	default:
		return NEURON_PLACE_PEER;
	}
}

void neuron_usage_fdinfo(struct drm_file *file, struct drm_printer *p)
{
	static const char * const names[NEURON_NR_PLACES] = {
		"hbm0", "hbm1", "hbm2", "hbm3", "host", "peer", "user",
	};
	struct neuron_file *nfile = file->driver_priv;
	struct drm_memory_stats stats[NEURON_NR_PLACES] = { };
	u64 category[DRM_NEURON_NR_CATEGORIES] = { };
	struct drm_gem_object *obj;
	unsigned int i;
	int id;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, id) {
		struct neuron_bo *bo = to_neuron_bo(obj);
		struct drm_memory_stats *s = &stats[neuron_bo_place(bo)];

		if (drm_gem_object_is_shared_for_memory_stats(obj))
			s->shared += obj->size;
		else
			s->private += obj->size;
		s->resident += obj->size;
		category[bo->category] += obj->size;
	}
	spin_unlock(&file->table_lock);

	for (i = 0; i < NEURON_NR_PLACES; i++)
		if (i < nfile->ndev->gen->nr_hbm || i >= NEURON_PLACE_HOST)
			drm_print_memory_stats(p, &stats[i],
					       DRM_GEM_OBJECT_RESIDENT,
					       names[i]);
	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++)
		if (category[i])
			drm_printf(p, "neuron-category-%s:\t%llu\n",
				   neuron_category_name(i), category[i]);
}
