// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "base/log.h"

#define EXEC_TIMEOUT_MAX_S	86400	/* the driver takes no longer limit */
#define MAX_CORE		65535
#define MAX_STATUS		65535
#define MAX_PORT		65535
#define STREAM_EVENTS		65536
#define MAX_STREAM_EVENTS	(1 << 24)
/* MiB of a page of the scratchpad: the default, of which others are multiples, and the largest. */
#define SCRATCH_PAGE		512
#define MAX_SCRATCH_PAGE	3584
#define PROFILE_EVENTS		(1 << 18)
#define MAX_PROFILE_EVENTS	(1 << 24)

static NRT_STATUS bad_cores(const char *text, const char *why, struct nrt_error *error)
{
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_RT_VISIBLE_CORES=\"%.64s\": %s; use core numbers and ranges, contiguous and increasing, as in 0-3",
			     text, why);
}

static bool parse_number(const char **text, uint32_t *value)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	number = strtoul(*text, &end, 10);
	if (errno || number > MAX_CORE)
		return false;
	*text = end;
	*value = (uint32_t)number;
	return true;
}

NRT_STATUS nrt_env_parse_cores(const char *text, uint32_t *first, uint32_t *count,
			       struct nrt_error *error)
{
	const char *at = text;
	uint32_t next = 0;

	*count = 0;
	for (;;) {
		uint32_t low, high;

		if (!parse_number(&at, &low))
			return bad_cores(text, "not a core number", error);
		high = low;
		if (*at == '-') {
			at++;
			if (!parse_number(&at, &high) || high < low)
				return bad_cores(text, "not a range", error);
		}
		if (*count && low != next)
			return bad_cores(text, "not contiguous and increasing", error);
		if (!*count)
			*first = low;
		next = high + 1;
		*count = next - *first;
		if (!*at)
			return NRT_SUCCESS;
		if (*at++ != ',')
			return bad_cores(text, "unexpected character", error);
	}
}

static NRT_STATUS read_number(const char *name, unsigned long max, unsigned long fallback,
			      unsigned long *value, struct nrt_error *error)
{
	const char *text = getenv(name);
	char *end;

	*value = fallback;
	if (!text || !*text)
		return NRT_SUCCESS;
	errno = 0;
	*value = strtoul(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) || *value > max)
		return nrt_error_set(error, NRT_INVALID, "%s=\"%.64s\": not a number from 0 to %lu",
				     name, text, max);
	return NRT_SUCCESS;
}

static NRT_STATUS read_bool(const char *name, bool fallback, bool *value, struct nrt_error *error)
{
	const char *text = getenv(name);

	*value = fallback;
	if (!text || !*text)
		return NRT_SUCCESS;
	*value = false;
	if (!strcasecmp(text, "false") || !strcmp(text, "0"))
		return NRT_SUCCESS;
	*value = true;
	if (!strcasecmp(text, "true") || !strcmp(text, "1"))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID, "%s=\"%.64s\": use TRUE or FALSE", name, text);
}

/* 0: not set. */
static NRT_STATUS read_size(const char *name, uint32_t *size, struct nrt_error *error)
{
	const char *text = getenv(name);

	*size = 0;
	if (!text || !*text)
		return NRT_SUCCESS;
	if ((*text != '1' && *text != '2') || text[1])
		return nrt_error_set(error, NRT_INVALID, "%s=\"%.64s\": use 1 or 2", name, text);
	*size = (uint32_t)(*text - '0');
	return NRT_SUCCESS;
}

NRT_STATUS nrt_env_read_lnc(uint32_t *lnc, struct nrt_error *error)
{
	uint32_t old;

	/* Both mean the same. */
	if (read_size("NEURON_LOGICAL_NC_CONFIG", lnc, error) ||
	    read_size("NEURON_RT_VIRTUAL_CORE_SIZE", &old, error))
		return error->status;
	if (*lnc && old && *lnc != old)
		return nrt_error_set(error, NRT_INVALID,
				     "NEURON_LOGICAL_NC_CONFIG=%u and NEURON_RT_VIRTUAL_CORE_SIZE=%u: set one of them",
				     *lnc, old);
	if (!*lnc)
		*lnc = old;
	return NRT_SUCCESS;
}

static NRT_STATUS read_cores(struct nrt_env *env, struct nrt_error *error)
{
	const char *visible = getenv("NEURON_RT_VISIBLE_CORES");
	unsigned long count;

	env->visible = visible && *visible;
	if (env->visible)
		return nrt_env_parse_cores(visible, &env->first_core, &env->nr_cores, error);
	if (read_number("NEURON_RT_NUM_CORES", MAX_CORE + 1, 0, &count, error))
		return error->status;
	env->first_core = 0;
	env->nr_cores = (uint32_t)count;
	return NRT_SUCCESS;
}

/* Two public names for the same; "critical" is the only other level that is public. */
static NRT_STATUS read_numbers(bool *numbers, struct nrt_error *error)
{
	const char *text = getenv("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY");

	if (read_bool("NEURON_FAIL_ON_NAN", false, numbers, error))
		return error->status;
	if (!text || !*text || !strcasecmp(text, "none"))
		return NRT_SUCCESS;
	*numbers = true;
	if (!strcasecmp(text, "critical"))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID,
			     "NEURON_RT_NUMERICAL_ERRORS_VERBOSITY=\"%.64s\": use none or critical",
			     text);
}

/* The size of a page means nothing while there are none. */
static NRT_STATUS read_scratch(uint64_t *page, struct nrt_error *error)
{
	static const char name[] = "NEURON_SCRATCHPAD_PAGE_SIZE";
	unsigned long size;
	bool contiguous;

	*page = 0;
	if (read_bool("NEURON_RT_CONTIGUOUS_SCRATCHPAD", true, &contiguous, error))
		return error->status;
	if (contiguous)
		return NRT_SUCCESS;
	if (read_number(name, MAX_SCRATCH_PAGE, SCRATCH_PAGE, &size, error))
		return error->status;
	if (!size || size % SCRATCH_PAGE)
		return nrt_error_set(error, NRT_INVALID,
				     "%s=%lu: use a multiple of %u (MiB) up to %u", name, size,
				     SCRATCH_PAGE, MAX_SCRATCH_PAGE);
	*page = (uint64_t)size << 20;
	return NRT_SUCCESS;
}

/* The log reads it, too, at its first line, which may be one before nrt_init(). */
static NRT_STATUS check_log_place(struct nrt_error *error)
{
	static const char name[] = "NEURON_RT_LOG_LOCATION";
	const char *text = getenv(name);

	if (!text || !*text || nrt_log_knows_place(text))
		return NRT_SUCCESS;
	return nrt_error_set(error, NRT_INVALID, "%s=\"%.64s\": use console or syslog", name,
			     text);
}

static const char *text_or_null(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

NRT_STATUS nrt_env_read(struct nrt_env *env, struct nrt_error *error)
{
	unsigned long timeout, dump_on, port;

	if (check_log_place(error) || read_cores(env, error) ||
	    nrt_env_read_lnc(&env->lnc, error) ||
	    read_bool("NEURON_RT_VALIDATE_HASH", false, &env->validate_hash, error) ||
	    read_bool("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", true, &env->memory_table,
		      error) ||
	    read_numbers(&env->numbers, error) || read_scratch(&env->scratch_page, error) ||
	    read_number("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", MAX_STATUS, NRT_SUCCESS, &dump_on,
			error) ||
	    read_number("NEURON_RT_DEBUG_STREAM_BUFFER_SIZE", MAX_STREAM_EVENTS, STREAM_EVENTS,
			&env->stream_events, error) ||
	    read_number("NEURON_EMU_PROFILE_EVENTS", MAX_PROFILE_EVENTS, PROFILE_EVENTS,
			&env->profile_events, error) ||
	    read_number("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", MAX_PORT, 0, &port, error) ||
	    read_number("NEURON_RT_EXEC_TIMEOUT", INT_MAX, NRT_TIMEOUT_MS / 1000,
			&timeout, error))
		return error->status;
	env->root_comm = text_or_null("NEURON_RT_ROOT_COMM_ID");
	env->cc_algorithm = text_or_null("NEURON_EMU_CC_ALGORITHM");
	env->tag = text_or_null("NEURON_PROCESS_TAG");
	env->sendrecv_port = (uint32_t)port;
	env->dump_on = (NRT_STATUS)dump_on;
	env->timeout_ms = (uint32_t)(timeout < EXEC_TIMEOUT_MAX_S ? timeout : EXEC_TIMEOUT_MAX_S) *
			  1000;
	return NRT_SUCCESS;
}
