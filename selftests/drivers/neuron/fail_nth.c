// SPDX-License-Identifier: MIT
/*
 * Fault injection of the kernel, by /proc/self/fail-nth.
 */
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "fail_nth.h"
#include "neuron_test.h"

#define MAX_POINTS	5000
#define TIME_LIMIT	120	/* seconds of one run */

/* What a run tells its parent. */
struct fail_run {
	int ret;
	int files;		/* that it left open */
	bool injected;
};

static bool put(const char *dir, const char *name, const char *value)
{
	char path[128];
	ssize_t len = (ssize_t)strlen(value);
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, value, (size_t)len) == len;
	close(fd);
	return done;
}

/* An address range that no caller is in: nothing of this kind fails. */
static bool enable(const char *dir, bool on)
{
	return put(dir, "require-start", "0") &&
	       put(dir, "require-end", on ? "0xffffffffffffffff" : "1");
}

/*
 * The kernel's buddy allocator does not survive a failure to split a block (use
 * after free in 6.12.117): what it allocates does not fail.
 */
static bool spare_buddy(void)
{
	unsigned long long addr, start = 0, end = 0;
	char line[256], name[128], value[32];
	FILE *f = fopen("/proc/kallsyms", "re");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f) && !end) {
		if (sscanf(line, "%llx %*c %127s", &addr, name) != 2)
			continue;
		if (start && addr > start)
			end = addr;
		if (!strcmp(name, "gpu_buddy_alloc_blocks") ||
		    !strcmp(name, "drm_buddy_alloc_blocks"))
			start = addr;
	}
	fclose(f);
	if (!end)
		return false;
	snprintf(value, sizeof(value), "%#llx", start);
	if (!put("failslab", "reject-start", value))
		return false;
	snprintf(value, sizeof(value), "%#llx", end);
	return put("failslab", "reject-end", value);
}

bool fail_setup(void)
{
	static const char * const dirs[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	size_t i;

	if (access("/proc/self/fail-nth", W_OK))
		return false;
	/* Quiet: a trace for each failure would hide what matters. */
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (!put(dirs[i], "verbose", "0"))
			return false;
	return put("failslab", "ignore-gfp-wait", "N") &&
	       put("fail_page_alloc", "ignore-gfp-wait", "N") &&
	       put("fail_page_alloc", "min-order", "0") && spare_buddy();
}

/* From here the @n-th operation of this thread fails; 0: none. */
static bool arm(int nth, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(nth, text, (size_t)len, 0) == len;
}

/* Did it come to that? */
static bool disarm(int nth)
{
	char text[16] = "";
	ssize_t len;

	/* A user access of its own, which may be the one to fail. */
	do
		len = pread(nth, text, sizeof(text) - 1, 0);
	while (len < 0);
	while (!arm(nth, 0))
		;
	return len > 0 && atoi(text) == 0;
}

static int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void run_child(fail_scenario scenario, const char *node, unsigned int n,
		      struct fail_run *run)
{
	int nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	int files = count_files();

	alarm(TIME_LIMIT);
	if (nth < 0 || !arm(nth, n))
		_exit(1);
	run->ret = scenario(node);
	run->injected = n && disarm(nth);
	run->files = count_files() - files;
	_exit(0);
}

__attribute__((format(printf, 2, 3)))
static bool wrong(struct fail_sweep *result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->why, sizeof(result->why), format, args);
	va_end(args);
	return false;
}

static bool run_once(fail_scenario scenario, const char *node, unsigned int n,
		     struct fail_run *run, struct fail_sweep *result)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	memset(run, 0, sizeof(*run));
	pid = fork();
	if (pid < 0)
		return wrong(result, "fork: %s", strerror(errno));
	if (!pid)
		run_child(scenario, node, n, run);
	if (waitpid(pid, &status, 0) != pid || status)
		return wrong(result, "failure %u: the process ended with status %#x",
			     n, (unsigned int)status);
	return true;
}

static bool check_run(const struct fail_run *run, enum fail_kind kind,
		      unsigned int n, struct fail_sweep *result)
{
	int expected = kind == FAIL_ALLOCATIONS ? -ENOMEM : -EFAULT;

	if (!run->injected && run->ret)
		return wrong(result, "without a failure: error %d", run->ret);
	if (run->ret && run->ret != expected)
		return wrong(result, "failure %u: error %d, not %d", n,
			     run->ret, expected);
	/* What the kernel could not tell its caller about stays open. */
	if (kind == FAIL_ALLOCATIONS && run->ret && run->files > 0)
		return wrong(result, "failure %u: %d files left open", n,
			     run->files);
	return true;
}

static bool sweep(fail_scenario scenario, enum fail_kind kind, int fd,
		  const char *node, struct fail_run *run,
		  struct fail_sweep *result)
{
	struct rig_usage before;
	unsigned int n;

	/* The first run makes what is made once. */
	if (!run_once(scenario, node, 0, run, result))
		return false;
	if (run->ret)
		return wrong(result, "the scenario itself fails: %d", run->ret);
	rig_usage(fd, &before);
	for (n = 1; n < MAX_POINTS; n++) {
		if (!run_once(scenario, node, n, run, result) ||
		    !check_run(run, kind, n, result))
			return false;
		if (rig_leaks(fd, &before))
			return wrong(result, "failure %u: a leak", n);
		if (!run->injected)
			return true;
		result->points++;
		result->noticed += run->ret != 0;
	}
	return wrong(result, "no end after %u failures", n);
}

bool fail_every(fail_scenario scenario, enum fail_kind kind, int fd,
		struct fail_sweep *result)
{
	char link[32], node[64] = "";
	struct fail_run *run;
	bool done;

	memset(result, 0, sizeof(*result));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, node, sizeof(node) - 1) < 0)
		return wrong(result, "no name of the device");
	if (!enable("failslab", kind == FAIL_ALLOCATIONS) ||
	    !enable("fail_page_alloc", kind == FAIL_ALLOCATIONS) ||
	    !enable("fail_usercopy", kind == FAIL_USER_ACCESS))
		return wrong(result, "debugfs does not obey");
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return wrong(result, "mmap: %s", strerror(errno));
	done = sweep(scenario, kind, fd, node, run, result);
	munmap(run, sizeof(*run));
	return done;
}
