// SPDX-License-Identifier: MIT
/* neuron-monitor: what the runtimes of this machine do, as JSON, again and again. */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "monitor.h"
#include "output.h"

struct options {
	const char *config;
	int verbose;
};

static const struct argp_option monitor_options[] = {
	{ "config-file", 'c', "FILE", 0, "what is reported, and how often; as JSON", 0 },
	{ "verbose", 'v', "N", 0, "messages on standard error: 0 (default) to 4", 0 },
	{ 0 }
};

static error_t monitor_parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'c':
		options->config = arg;
		return 0;
	case 'v':
		if (strlen(arg) != 1 || *arg < '0' || *arg > '4')
			argp_error(state, "--verbose wants 0 to 4");
		options->verbose = *arg - '0';
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument is expected: \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- Time --- */

typedef void group_fn(struct group *group, uint64_t *time);

static void each_group(struct config *config, group_fn *fn, uint64_t *time)
{
	size_t i, j;

	for (i = 0; i < config->nr_watches; i++)
		for (j = 0; j < NR_RUNTIME_METRICS; j++)
			if (config->watch[i].group[j].period_ns)
				fn(&config->watch[i].group[j], time);
	for (i = 0; i < NR_SYSTEM_METRICS; i++)
		if (config->system[i].period_ns)
			fn(&config->system[i], time);
}

static void begin(struct group *group, uint64_t *now)
{
	group->due_ns = *now + group->period_ns;
}

static void find_next(struct group *group, uint64_t *next)
{
	if (group->due_ns < *next)
		*next = group->due_ns;
}

/* Who is late leaves out what was due meanwhile. */
static void go_on(struct group *group, uint64_t *now)
{
	if (group->due_ns > *now)
		return;
	group->due_ns += group->period_ns;
	if (group->due_ns <= *now)
		group->due_ns = *now + group->period_ns;
}

/* Wait until @due. False: a signal came, or nobody reads the output any more. */
static bool wait_until(uint64_t due, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	uint64_t now = monitor_now(), left = due > now ? due - now : 0;
	const struct timespec limit = {
		.tv_sec = (time_t)(left / MONITOR_NS), .tv_nsec = (long)(left % MONITOR_NS),
	};
	int ret = ppoll(fds, 2, &limit, NULL);

	return !ret || (ret < 0 && errno == EINTR);
}

/* --- Signals --- */

/* Those that end it. */
static void find_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

static void end(int number)
{
	(void)number;
	_exit(EXIT_SUCCESS);
}

/* As something that can be waited for. */
static int open_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	find_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, end);
	signal(SIGTERM, end);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* --- Reports --- */

/* A reader that does not read must not keep a signal from ending it. */
static int write_line(const char *text)
{
	sigset_t set;
	int ret, why;

	find_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	ret = puts(text) < 0 || fflush(stdout) ? -1 : 0;
	why = errno;
	sigprocmask(SIG_BLOCK, &set, NULL);
	errno = why;
	return ret;
}

/* -1: that was the last one; why it could not be written is said at exit. */
static int write_report(struct monitor *monitor, uint64_t now)
{
	json_object *root = report_new(monitor, now);
	const char *text = NULL;
	int ret = 0;

	if (root)
		text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		fprintf(stderr, "neuron-monitor: out of memory; a report is left out\n");
	else
		ret = write_line(text);
	/* Who read it has gone, which is the usual end, and nothing to complain about. */
	if (ret && errno == EPIPE)
		_exit(EXIT_SUCCESS);
	json_object_put(root);
	return ret;
}

static void look(struct monitor *monitor)
{
	devices_look(&monitor->devices);
	if (runtimes_scan(&monitor->runtimes, &monitor->config, &monitor->devices,
			  monitor->verbose))
		fprintf(stderr, "neuron-monitor: out of memory; a process is left out\n");
}

/* What the first report is compared with. */
static void begin_all(struct monitor *monitor)
{
	char why[MONITOR_LINE];
	uint64_t now;
	size_t i;

	look(monitor);
	if (cpus_read(&monitor->cpus, why))
		cpus_free(&monitor->cpus);
	now = monitor_now();
	monitor->cpus.when_ns = now;
	for (i = 0; i < NR_SYSTEM_METRICS; i++)
		monitor->base_ns[i] = now;
	each_group(&monitor->config, begin, &now);
}

/* Returns when a signal comes, or the output cannot be written. */
static void run(struct monitor *monitor, int signals)
{
	uint64_t now, next;

	begin_all(monitor);
	for (;;) {
		next = UINT64_MAX;
		each_group(&monitor->config, find_next, &next);
		if (!wait_until(next, signals))
			return;
		now = monitor_now();
		if (now < next)
			continue;
		look(monitor);
		/* Who looks takes time; a group that became due meanwhile is reported, too. */
		now = monitor_now();
		if (write_report(monitor, now))
			return;
		each_group(&monitor->config, go_on, &now);
		if (monitor->verbose >= 2)
			fprintf(stderr, "neuron-monitor: a report took %.3f ms\n",
				(double)(monitor_now() - now) / 1e6);
	}
}

static int read_config(struct monitor *monitor, const struct options *options)
{
	char why[MONITOR_LINE];

	if (!options->config && config_default(&monitor->config)) {
		fprintf(stderr, "neuron-monitor: out of memory\n");
		return 1;
	}
	if (options->config && config_read(&monitor->config, options->config, why)) {
		fprintf(stderr, "neuron-monitor: %s\n", why);
		return 2;
	}
	return 0;
}

static int check_lnc(const struct devices *devices)
{
	const char *name;

	if (!devices->open || chips_lnc(&devices->chips, &name))
		return 0;
	fprintf(stderr, "neuron-monitor: %s=\"%.64s\": use 1 or 2\n", name, getenv(name));
	return 2;
}

static void monitor_free(struct monitor *monitor)
{
	cpus_free(&monitor->cpus);
	runtimes_free(&monitor->runtimes);
	devices_close(&monitor->devices);
	config_free(&monitor->config);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		monitor_options, monitor_parse, NULL,
		"Write what the Neuron runtimes of this machine do, as JSON, one document a line.",
		NULL, NULL, NULL
	};
	struct options options = { 0 };
	struct monitor monitor = { 0 };
	int signals, ret;

	output_check_at_exit();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	monitor.verbose = options.verbose;
	ret = read_config(&monitor, &options);
	if (!ret) {
		devices_look(&monitor.devices);
		ret = check_lnc(&monitor.devices);
	}
	signals = ret ? -1 : open_signals();
	if (!ret && (signals < 0 || runtimes_init(&monitor.runtimes))) {
		fprintf(stderr, "neuron-monitor: %s\n", strerror(errno));
		ret = 1;
	}
	if (!ret)
		run(&monitor, signals);
	if (signals >= 0)
		close(signals);
	monitor_free(&monitor);
	return ret;
}
