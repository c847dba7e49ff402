// SPDX-License-Identifier: MIT
/*
 * A scenario again and again, with a failure at another place each time.
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
	int file = fail_inject_open();
	int files = count_files();

	alarm(TIME_LIMIT);
	if (file < 0 || !fail_inject_arm(file, n))
		_exit(1);
	run->ret = scenario(node);
	run->injected = n && fail_inject_disarm(file);
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
	rig_usage_at_rest(fd, &before);
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
	if (!fail_inject_select(kind))
		return wrong(result, "debugfs does not obey");
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return wrong(result, "mmap: %s", strerror(errno));
	done = sweep(scenario, kind, fd, node, run, result);
	munmap(run, sizeof(*run));
	return done;
}
