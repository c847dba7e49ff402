// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

static const struct {
	const char *name;
	enum nrt_log_level level;
	int priority;
} levels[] = {
	{ "QUIET", NRT_LOG_QUIET, LOG_ERR },
	{ "ERROR", NRT_LOG_ERROR, LOG_ERR },
	{ "WARNING", NRT_LOG_WARNING, LOG_WARNING },
	{ "WARN", NRT_LOG_WARNING, LOG_WARNING },
	{ "INFO", NRT_LOG_INFO, LOG_INFO },
	{ "DEBUG", NRT_LOG_DEBUG, LOG_DEBUG },
	{ "TRACE", NRT_LOG_TRACE, LOG_DEBUG },
};

#define NR_LEVELS	(sizeof(levels) / sizeof(levels[0]))

static size_t level_index(enum nrt_log_level level)
{
	size_t i = 0;

	while (levels[i].level != level)
		i++;
	return i;
}

bool nrt_log_knows(const char *level)
{
	size_t i;

	for (i = 0; i < NR_LEVELS; i++)
		if (!strcasecmp(level, levels[i].name))
			return true;
	return false;
}

#define CONSOLE	"console"
#define SYSLOG	"syslog"

bool nrt_log_knows_place(const char *place)
{
	return !strcasecmp(place, CONSOLE) || !strcasecmp(place, SYSLOG);
}

/**
 * struct log_config - what is written where
 * @once: the environment has been read
 * @level: the least urgent level that is written
 * @to_syslog: not to standard error
 * @muted: nothing is written any more
 */
struct log_config {
	pthread_once_t once;
	enum nrt_log_level level;
	bool to_syslog;
	atomic_bool muted;
};

static struct log_config *log_object(void)
{
	static struct log_config config = { .once = PTHREAD_ONCE_INIT };

	return &config;
}

/* What is wrong in the environment gets the default. */
static void read_env(void)
{
	struct log_config *config = log_object();
	const char *own = getenv("NEURON_RT_LOG_LEVEL_NRT");
	const char *level = own && *own ? own : getenv("NEURON_RT_LOG_LEVEL");
	const char *location = getenv("NEURON_RT_LOG_LOCATION");
	size_t i;

	config->level = NRT_LOG_ERROR;
	for (i = 0; level && i < NR_LEVELS; i++)
		if (!strcasecmp(level, levels[i].name))
			config->level = levels[i].level;
	config->to_syslog = location && !strcasecmp(location, SYSLOG);
}

static const struct log_config *log_config(void)
{
	pthread_once(&log_object()->once, read_env);
	return log_object();
}

bool nrt_log_wants(enum nrt_log_level level)
{
	return level <= log_config()->level && !log_config()->muted;
}

void nrt_log_mute(void)
{
	log_object()->muted = true;
}

/* One write() a line, so that lines of several threads do not mix. */
static void write_console(size_t index, const char *call, const char *text)
{
	char line[1152], date[32];
	struct timespec now;
	struct tm tm;
	int length;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%b-%d %H:%M:%S", &tm);
	length = snprintf(line, sizeof(line), "%s.%06ld %5d:%-5d %s NRT:%s %s\n", date,
			  now.tv_nsec / 1000, getpid(), gettid(), levels[index].name, call, text);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(line)) {
		length = sizeof(line) - 1;
		line[length - 1] = '\n';
	}
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

__attribute__((format(printf, 3, 0)))
static void write_line(enum nrt_log_level level, const char *call, const char *format,
		       va_list args)
{
	size_t index = level_index(level);
	char text[896];

	vsnprintf(text, sizeof(text), format, args);
	if (log_config()->to_syslog)
		syslog(LOG_USER | levels[index].priority, "NRT:%s %s", call, text);
	else
		write_console(index, call, text);
}

void nrt_log(enum nrt_log_level level, const char *call, const char *format, ...)
{
	va_list args;

	if (!nrt_log_wants(level))
		return;
	va_start(args, format);
	write_line(level, call, format, args);
	va_end(args);
}

void nrt_warn(const char *call, const char *format, ...)
{
	va_list args;

	if (!nrt_log_wants(NRT_LOG_ERROR))
		return;
	va_start(args, format);
	write_line(NRT_LOG_WARNING, call, format, args);
	va_end(args);
}

NRT_STATUS nrt_fail(const char *call, const struct nrt_error *error)
{
	nrt_log(NRT_LOG_ERROR, call, "%s", error->text);
	return error->status;
}
