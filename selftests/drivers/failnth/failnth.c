// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection for a kernel that is built without it: the Nth allocation, or the
 * Nth copy from or to user memory, of one task fails. For tests only.
 *
 * Each function that allocates or copies has a kprobe at its entry. When the failure
 * is due, the probe continues in a function that has the same arguments and fails.
 * The files are in debugfs, in the folder failnth, and are used like those of the
 * kernel's own fault injection:
 *
 *   nth                         as /proc/self/fail-nth: writing N makes the Nth operation
 *                               fail of the task that writes, and 0 none; it reads 0 when
 *                               that has happened
 *   allocations/enabled         Y: allocations count and can fail
 *   user-accesses/enabled       Y: copies from and to user memory count and can fail
 *   KIND/require-start, -end    an operation of the kind counts only if it has a caller
 *                               in this range of addresses
 *   reject-start, reject-end    and no caller nearer than that is in this one
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#define MAX_FRAMES	48	/* of a stack that are looked at */
#define NO_GFP		-1
/* The slab allocator's functions that have a set of buckets as one argument more. */
#define GFP_BUCKETS	(IS_ENABLED(CONFIG_SLAB_BUCKETS) ? 2 : 1)

/* Addresses; nothing is in a range that ends where it starts. */
struct code_range {
	u64 start;
	u64 end;
};

/**
 * struct fail_kind - operations that are switched together
 * @require: one of the callers must be in it
 * @enabled: they count, and can fail
 */
struct fail_kind {
	struct code_range require;
	bool enabled;
};

/**
 * struct point - a function that can be made to fail
 * @probe: at its entry
 * @instead: what runs in its place when it fails
 * @kind: what it belongs to
 * @gfp: which of its arguments has the GFP flags, counted from 0; or NO_GFP
 */
struct point {
	struct kprobe probe;
	void *instead;
	const struct fail_kind *kind;
	int gfp;
};

/**
 * struct injection - what is to fail
 * @lock: whoever changes @task or @file holds it
 * @task: whose operations count, with a reference; or NULL
 * @file: through which that was asked for; or NULL
 * @left: operations until the failure, counting it; 0: it has happened
 * @allocations: all functions that allocate
 * @user_accesses: all that copy from and to user memory
 * @reject: what a caller in it does can not fail
 * @dir: the folder in debugfs
 */
struct injection {
	struct mutex lock; /* of @task and @file */
	struct pid *task;
	struct file *file;
	atomic_t left;
	struct fail_kind allocations;
	struct fail_kind user_accesses;
	struct code_range reject;
	struct dentry *dir;
};

static struct injection injection = {
	.lock = __MUTEX_INITIALIZER(injection.lock),
};

/* These run in place of what fails; they must not be traced themselves. */
static noinline notrace void *fail_allocation(void)
{
	return NULL;
}

/* What could not be copied reads as zero, as in the function itself. */
static noinline notrace unsigned long fail_copy_from_user(void *to, const void *from,
							  unsigned long size)
{
	memset(to, 0, size);
	return size;
}

static noinline notrace unsigned long fail_copy_to_user(void *to, const void *from,
							unsigned long size)
{
	return size;
}

static noinline notrace long fail_string(void)
{
	return -EFAULT;
}

static bool within(const struct code_range *range, unsigned long addr)
{
	return addr >= range->start && addr < range->end;
}

/* Does the stack, from the inside to the outside, say that this operation counts? */
static bool callers_count(const struct fail_kind *kind)
{
	unsigned long frames[MAX_FRAMES];
	unsigned int i, count = stack_trace_save(frames, MAX_FRAMES, 0);

	for (i = 0; i < count; i++) {
		if (within(&injection.reject, frames[i]))
			return false;
		if (within(&kind->require, frames[i]))
			return true;
	}
	return false;
}

/*
 * Pages for user space are left alone, as the kernel's own fault injection does: a
 * copy to user memory that needs a new page would fail as if the address were wrong.
 */
static bool must_not_fail(const struct point *point, struct pt_regs *regs)
{
	gfp_t flags;

	if (point->gfp == NO_GFP)
		return false;
	flags = (__force gfp_t)regs_get_kernel_argument(regs, point->gfp);
	return flags & (__GFP_NOFAIL | __GFP_HIGHMEM);
}

/* Runs at the entry of each function, with preemption disabled. */
static int on_entry(struct kprobe *probe, struct pt_regs *regs)
{
	struct point *point = container_of(probe, struct point, probe);

	if (READ_ONCE(injection.task) != task_pid(current))
		return 0;
	/* Without ftrace the probe is a breakpoint, which looks like an NMI. */
	if (kprobe_ftrace(probe) && !in_task())
		return 0;
	if (!READ_ONCE(point->kind->enabled) || must_not_fail(point, regs) ||
	    !callers_count(point->kind))
		return 0;
	if (atomic_dec_if_positive(&injection.left) != 0)
		return 0;
	instruction_pointer_set(regs, (unsigned long)point->instead);
	return 1;
}

/*
 * Does nothing, but a probe that has it is not turned into a jump, behind which the
 * address that on_entry() sets would be ignored.
 */
static void not_optimised(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

#define POINT(function, fail, family, flags)		\
	{						\
		.probe = {				\
			.symbol_name = #function,	\
			.pre_handler = on_entry,	\
			.post_handler = not_optimised,	\
		},					\
		.instead = fail,			\
		.kind = &injection.family,		\
		.gfp = flags,				\
	}
#define ALLOCATION(function, flags)	POINT(function, fail_allocation, allocations, flags)
#define USER_ACCESS(function, fail)	POINT(function, fail, user_accesses, NO_GFP)

static struct point points[] = {
	ALLOCATION(__kmalloc_noprof, 1),
	ALLOCATION(__kmalloc_node_noprof, GFP_BUCKETS),
	ALLOCATION(__kmalloc_node_track_caller_noprof, GFP_BUCKETS),
	ALLOCATION(__kmalloc_cache_noprof, 1),
	ALLOCATION(__kmalloc_cache_node_noprof, 1),
	ALLOCATION(__kmalloc_large_noprof, 1),
	ALLOCATION(__kmalloc_large_node_noprof, 1),
	ALLOCATION(__kvmalloc_node_noprof, GFP_BUCKETS),
	ALLOCATION(kmem_cache_alloc_noprof, 1),
	ALLOCATION(kmem_cache_alloc_lru_noprof, 2),
	ALLOCATION(kmem_cache_alloc_node_noprof, 1),
	ALLOCATION(kmem_cache_alloc_bulk_noprof, 1),
	ALLOCATION(__vmalloc_node_range_noprof, 4),
	ALLOCATION(pcpu_alloc_noprof, 3),
	ALLOCATION(__alloc_pages_noprof, 0),
	USER_ACCESS(_copy_from_user, fail_copy_from_user),
	USER_ACCESS(_copy_to_user, fail_copy_to_user),
	USER_ACCESS(strncpy_from_user, fail_string),
};

/* Nothing fails from here on. The caller holds the lock. */
static void disarm(void)
{
	struct pid *task = injection.task;

	lockdep_assert_held(&injection.lock);
	WRITE_ONCE(injection.task, NULL);
	put_pid(task);
	injection.file = NULL;
}

/* From here the @n-th operation of the current task fails; 0: none does. */
static int arm(struct file *file, unsigned int n)
{
	guard(mutex)(&injection.lock);
	if (injection.file && injection.file != file)
		return -EBUSY;
	disarm();
	atomic_set(&injection.left, n);
	if (!n)
		return 0;
	injection.file = file;
	WRITE_ONCE(injection.task, get_task_pid(current, PIDTYPE_PID));
	return 0;
}

static ssize_t nth_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	unsigned int n;
	int ret = kstrtouint_from_user(from, size, 0, &n);

	if (!ret && n > INT_MAX)
		ret = -EINVAL;
	if (!ret)
		ret = arm(file, n);
	return ret ? ret : size;
}

static ssize_t nth_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char text[16];
	int len = scnprintf(text, sizeof(text), "%d\n", atomic_read(&injection.left));

	return simple_read_from_buffer(to, size, at, text, len);
}

/* A process that ends with a failure to come takes it along. */
static int nth_release(struct inode *inode, struct file *file)
{
	guard(mutex)(&injection.lock);
	if (injection.file == file)
		disarm();
	return 0;
}

static const struct file_operations nth_fops = {
	.owner = THIS_MODULE,
	.read = nth_read,
	.write = nth_write,
	.release = nth_release,
	.llseek = default_llseek,
};

static void make_range(struct dentry *dir, const char *start, const char *end,
		       struct code_range *range)
{
	debugfs_create_x64(start, 0600, dir, &range->start);
	debugfs_create_x64(end, 0600, dir, &range->end);
}

static void make_kind(struct dentry *parent, const char *name, struct fail_kind *kind)
{
	struct dentry *dir = debugfs_create_dir(name, parent);

	debugfs_create_bool("enabled", 0600, dir, &kind->enabled);
	make_range(dir, "require-start", "require-end", &kind->require);
}

static void make_files(void)
{
	struct dentry *dir = debugfs_create_dir(KBUILD_MODNAME, NULL);

	debugfs_create_file("nth", 0600, dir, NULL, &nth_fops);
	make_kind(dir, "allocations", &injection.allocations);
	make_kind(dir, "user-accesses", &injection.user_accesses);
	make_range(dir, "reject-start", "reject-end", &injection.reject);
	injection.dir = dir;
}

static void remove_probes(size_t count)
{
	while (count--)
		unregister_kprobe(&points[count].probe);
}

static int __init failnth_init(void)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		ret = register_kprobe(&points[i].probe);
		if (ret) {
			pr_err("no probe at %s: error %d\n", points[i].probe.symbol_name, ret);
			remove_probes(i);
			return ret;
		}
	}
	make_files();
	return 0;
}

static void __exit failnth_exit(void)
{
	debugfs_remove(injection.dir);
	remove_probes(ARRAY_SIZE(points));
}

module_init(failnth_init);
module_exit(failnth_exit);
MODULE_DESCRIPTION("Fault injection for tests of one task");
MODULE_LICENSE("GPL");
