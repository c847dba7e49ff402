// SPDX-License-Identifier: MIT
/*
 * Fault injection, by the kernel or by the module failnth. Both have one file that
 * takes and gives a number, and switches in debugfs.
 */
#include "fail_inject.h"
#include "neuron_test.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define KERNEL_FILE	"/proc/self/fail-nth"
#define MODULE		"failnth"
#define MODULE_FILE	DEBUGFS MODULE "/nth"

/* Addresses of the kernel; @end is the first that does not belong to it. */
struct code_range {
	unsigned long long start;
	unsigned long long end;
};

static bool by_kernel(void)
{
	return !access(KERNEL_FILE, W_OK);
}

static bool put(const char *dir, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", dir, name);
	return !neuron_write_file(path, value);
}

/* The files PREFIX-start and PREFIX-end of @dir. */
static bool put_range(const char *dir, const char *prefix, const struct code_range *range)
{
	char start[32], end[32], name[32];

	snprintf(start, sizeof(start), "%#llx", range->start);
	snprintf(end, sizeof(end), "%#llx", range->end);
	snprintf(name, sizeof(name), "%s-start", prefix);
	if (!put(dir, name, start))
		return false;
	snprintf(name, sizeof(name), "%s-end", prefix);
	return put(dir, name, end);
}

/* One line of /proc/kallsyms: "ADDRESS TYPE NAME", of a module with "\t[MODULE]". */
struct symbol {
	unsigned long long addr;
	char type;
	char *name;
	const char *module;	/* or "" */
	char line[512];
};

static bool next_symbol(FILE *f, struct symbol *symbol)
{
	char *rest, *tab;

	if (!fgets(symbol->line, sizeof(symbol->line), f))
		return false;
	symbol->line[strcspn(symbol->line, "\n]")] = '\0';
	symbol->addr = strtoull(symbol->line, &rest, 16);
	if (strlen(rest) < 4)
		return false;
	symbol->type = rest[1];
	symbol->name = rest + 3;
	symbol->module = "";
	tab = strchr(symbol->name, '\t');
	if (tab) {
		*tab = '\0';
		symbol->module = tab + 2;
	}
	return true;
}

/* The code of @function, which ends where the next symbol starts. */
static bool find_function(const char *function, struct code_range *range)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	struct symbol symbol;

	*range = (struct code_range){ 0 };
	if (!f)
		return false;
	while (next_symbol(f, &symbol))
		if (!strcmp(symbol.name, function))
			range->start = symbol.addr;
	rewind(f);
	while (range->start && next_symbol(f, &symbol))
		if (symbol.addr > range->start &&
		    (!range->end || symbol.addr < range->end))
			range->end = symbol.addr;
	fclose(f);
	return range->end;
}

/* The code of @module, up to the start of its last function. */
static bool find_module(const char *module, struct code_range *range)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	struct symbol symbol;

	*range = (struct code_range){ 0 };
	if (!f)
		return false;
	while (next_symbol(f, &symbol)) {
		if (strcmp(symbol.module, module) || !strchr("tT", symbol.type))
			continue;
		if (!range->start || symbol.addr < range->start)
			range->start = symbol.addr;
		if (symbol.addr > range->end)
			range->end = symbol.addr;
	}
	fclose(f);
	return range->end;
}

/*
 * The kernel's buddy allocator does not survive a failure to split a block (use
 * after free in 6.12.117): what it allocates does not fail.
 */
static bool spare_buddy(const char *dir)
{
	struct code_range range;

	if (!find_function("gpu_buddy_alloc_blocks", &range) &&
	    !find_function("drm_buddy_alloc_blocks", &range))
		return false;
	return put_range(dir, "reject", &range);
}

/* Quiet: a trace for each failure would hide what matters. */
static bool setup_kernel(void)
{
	return put("failslab", "verbose", "0") &&
	       put("fail_page_alloc", "verbose", "0") &&
	       put("fail_usercopy", "verbose", "0") &&
	       put("failslab", "ignore-gfp-wait", "N") &&
	       put("fail_page_alloc", "ignore-gfp-wait", "N") &&
	       put("fail_page_alloc", "min-order", "0") && spare_buddy("failslab");
}

/*
 * Allocations count that the driver makes, itself or through what it calls. User
 * accesses count in all that an ioctl does: DRM copies the arguments for the driver.
 */
static bool setup_module(void)
{
	struct code_range driver, ioctl;

	return !system("modprobe -q " MODULE) && find_module("neuron", &driver) &&
	       find_function("drm_ioctl", &ioctl) &&
	       put_range(MODULE "/allocations", "require", &driver) &&
	       put_range(MODULE "/user-accesses", "require", &ioctl) &&
	       spare_buddy(MODULE);
}

bool fail_inject_setup(void)
{
	return by_kernel() ? setup_kernel() : setup_module();
}

void fail_inject_teardown(void)
{
	if (!by_kernel() && system("modprobe -r -q " MODULE))
		fprintf(stderr, "# the module " MODULE " cannot be unloaded\n");
}

/* An address range that no caller is in: nothing of this kind fails. */
static bool enable_kernel(const char *dir, bool on)
{
	return put(dir, "require-start", "0") &&
	       put(dir, "require-end", on ? "0xffffffffffffffff" : "1");
}

static bool select_kernel(enum fail_kind kind)
{
	return enable_kernel("failslab", kind == FAIL_ALLOCATIONS) &&
	       enable_kernel("fail_page_alloc", kind == FAIL_ALLOCATIONS) &&
	       enable_kernel("fail_usercopy", kind == FAIL_USER_ACCESS);
}

static bool select_module(enum fail_kind kind)
{
	return put(MODULE "/allocations", "enabled", kind == FAIL_ALLOCATIONS ? "Y" : "N") &&
	       put(MODULE "/user-accesses", "enabled", kind == FAIL_USER_ACCESS ? "Y" : "N");
}

bool fail_inject_select(enum fail_kind kind)
{
	return by_kernel() ? select_kernel(kind) : select_module(kind);
}

int fail_inject_open(void)
{
	return open(by_kernel() ? KERNEL_FILE : MODULE_FILE, O_RDWR | O_CLOEXEC);
}

bool fail_inject_arm(int file, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(file, text, (size_t)len, 0) == len;
}

bool fail_inject_disarm(int file)
{
	char text[16] = "";
	ssize_t len;

	/* A user access of its own, which may be the one to fail. */
	do
		len = pread(file, text, sizeof(text) - 1, 0);
	while (len < 0);
	while (!fail_inject_arm(file, 0))
		;
	return len > 0 && atoi(text) == 0;
}
