// SPDX-License-Identifier: MIT
/*
 * The environment of the runtime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/env.h"
#include "base/variables.h"

static const char *const names[] = {
	"NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES", "NEURON_RT_EXEC_TIMEOUT",
	"NEURON_RT_VALIDATE_HASH", "NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE",
	"NEURON_RT_CONTIGUOUS_SCRATCHPAD", "NEURON_SCRATCHPAD_PAGE_SIZE",
	"NEURON_RT_LOG_LOCATION", "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG",
};

static int clear(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

static void core_lists(void **state)
{
	static const struct {
		const char *text;
		uint32_t first;
		uint32_t count;
	} good[] = {
		{ "0", 0, 1 }, { "7", 7, 1 }, { "0-3", 0, 4 }, { "2,3,4", 2, 3 },
		{ "1-2,3,4-6", 1, 6 }, { "5-5", 5, 1 }, { "65535", 65535, 1 },
	};
	static const char *const bad[] = {
		"", "x", "-1", "1-", "3-1", "0,2", "1,0", "0-3,3", "0,", ",0", "0 1", "0-3-5",
		"1.5", "65536", "99999999999999999999", "+1",
	};
	struct nrt_error error;
	uint32_t first, count;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(nrt_env_parse_cores(good[i].text, &first, &count, &error), 0);
		assert_int_equal(first, good[i].first);
		assert_int_equal(count, good[i].count);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (nrt_env_parse_cores(bad[i], &first, &count, &error) != NRT_INVALID ||
		    !strstr(error.text, "NEURON_RT_VISIBLE_CORES"))
			fail_msg("\"%s\" is taken", bad[i]);
}

static void defaults(void **state)
{
	struct nrt_error error;
	struct nrt_env env;

	(void)state;
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_false(env.visible);
	assert_int_equal(env.nr_cores, 0);
	assert_int_equal(env.timeout_ms, 30000);
	assert_false(env.validate_hash);
	assert_int_equal(env.scratch_page, 0);
}

static void settings(void **state)
{
	struct nrt_error error;
	struct nrt_env env;

	(void)state;
	setenv("NEURON_RT_NUM_CORES", "3", 1);
	setenv("NEURON_RT_EXEC_TIMEOUT", "7", 1);
	setenv("NEURON_RT_VALIDATE_HASH", "True", 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_int_equal(env.nr_cores, 3);
	assert_int_equal(env.timeout_ms, 7000);
	assert_true(env.validate_hash);
	/* The list beats the number. */
	setenv("NEURON_RT_VISIBLE_CORES", "4-5", 1);
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_true(env.visible);
	assert_int_equal(env.first_core, 4);
	assert_int_equal(env.nr_cores, 2);
	setenv("NEURON_RT_EXEC_TIMEOUT", "2147483647", 1);
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_int_equal(env.timeout_ms, 86400000);
}

static void refusals(void **state)
{
	static const char *const values[] = {
		"", "x", "-1", "1x", "0x10", "9999999999999999999999",
	};
	struct nrt_error error;
	struct nrt_env env;
	size_t i;

	(void)state;
	/* An empty value is as good as none. */
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setenv("NEURON_RT_EXEC_TIMEOUT", values[i], 1);
		assert_int_equal(nrt_env_read(&env, &error), i ? NRT_INVALID : NRT_SUCCESS);
	}
}

/* Values of words: refused by the name of their variable, or taken. */
static void words(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		NRT_STATUS status;
	} cases[] = {
		{ "NEURON_RT_LOG_LOCATION", "console", NRT_SUCCESS },
		{ "NEURON_RT_LOG_LOCATION", "SysLog", NRT_SUCCESS },
		{ "NEURON_RT_LOG_LOCATION", "", NRT_SUCCESS },
		{ "NEURON_RT_LOG_LOCATION", "sys", NRT_INVALID },
		{ "NEURON_RT_LOG_LOCATION", "/tmp/log", NRT_INVALID },
		{ "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "FALSE", NRT_SUCCESS },
		{ "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "no", NRT_INVALID },
		{ "NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", "65535", NRT_SUCCESS },
		{ "NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", "65536", NRT_INVALID },
		{ "NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", "ssh", NRT_INVALID },
	};
	struct nrt_error error;
	struct nrt_env env;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv(cases[i].name, cases[i].value, 1);
		assert_int_equal(nrt_env_read(&env, &error), cases[i].status);
		if (cases[i].status)
			assert_non_null(strstr(error.text, cases[i].name));
		unsetenv(cases[i].name);
	}
}

static void scratchpad(void **state)
{
	static const char *const bad[] = { "0", "64", "513", "4096", "-512", "1G" };
	struct nrt_error error;
	struct nrt_env env;
	size_t i;

	(void)state;
	/* Without meaning while the scratchpad is one piece. */
	setenv("NEURON_SCRATCHPAD_PAGE_SIZE", "64", 1);
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_int_equal(env.scratch_page, 0);
	setenv("NEURON_RT_CONTIGUOUS_SCRATCHPAD", "0", 1);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("NEURON_SCRATCHPAD_PAGE_SIZE", bad[i], 1);
		assert_int_equal(nrt_env_read(&env, &error), NRT_INVALID);
		assert_non_null(strstr(error.text, "NEURON_SCRATCHPAD_PAGE_SIZE="));
	}
	setenv("NEURON_SCRATCHPAD_PAGE_SIZE", "3584", 1);
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_int_equal(env.scratch_page, 3584ull << 20);
	unsetenv("NEURON_SCRATCHPAD_PAGE_SIZE");
	assert_int_equal(nrt_env_read(&env, &error), 0);
	assert_int_equal(env.scratch_page, 512ull << 20);
	setenv("NEURON_RT_CONTIGUOUS_SCRATCHPAD", "2", 1);
	assert_int_equal(nrt_env_read(&env, &error), NRT_INVALID);
}

static void logical_cores(void **state)
{
	struct nrt_error error;
	uint32_t lnc;

	(void)state;
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), 0);
	assert_int_equal(lnc, 0);
	setenv("NEURON_RT_VIRTUAL_CORE_SIZE", "2", 1);
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), 0);
	assert_int_equal(lnc, 2);
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "set one of them"));
	unsetenv("NEURON_RT_VIRTUAL_CORE_SIZE");
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), 0);
	assert_int_equal(lnc, 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", "3", 1);
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), NRT_INVALID);
	setenv("NEURON_LOGICAL_NC_CONFIG", "0", 1);
	assert_int_equal(nrt_env_read_lnc(&lnc, &error), NRT_INVALID);
	assert_non_null(strstr(error.text, "use 1 or 2"));
}

/* The lines about variables that have no effect. */
struct lines {
	unsigned int nr;
	char text[4][256];
};

static void keep(void *arg, const char *line)
{
	struct lines *lines = arg;

	assert_true(lines->nr < 4);
	snprintf(lines->text[lines->nr++], sizeof(lines->text[0]), "%s", line);
}

/* What is told when @name has @value: at most one line. */
static const char *told(const char *name, const char *value)
{
	static struct lines lines;

	lines = (struct lines){ .nr = 0 };
	setenv(name, value, 1);
	nrt_variables_check(keep, &lines);
	unsetenv(name);
	assert_true(lines.nr <= 1);
	return lines.nr ? lines.text[0] : "";
}

static void without_effect(void **state)
{
	static const char *const silent[][2] = {
		{ "NEURON_RT_NUM_CORES", "2" }, { "NEURON_RT_LOG_LEVEL", "INFO" },
		{ "NEURON_RT_RESET_CORES", "1" }, { "NEURON_RT_UNHEARD_OF", "" },
		{ "NEURON_RT_LOG_LEVEL_NRT", "trace" }, { "NEURON_EMU_NKI_PROFILE", "p" },
		{ "NEURON_EMU_NKI_SCHEDULE", "1" },
		{ "NEURON_CC_FLAGS", "-O1" }, { "PATH_OF_NEURON_RT_", "x" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		assert_string_equal(told(silent[i][0], silent[i][1]), "");
	assert_non_null(strstr(told("NEURON_RT_RESET_CORES", "0"),
			       "NEURON_RT_RESET_CORES=0 has no effect: nrt_init() always resets"));
	assert_non_null(strstr(told("NEURON_RT_PROFILE_BUF_DMA_MB", "64"),
			       "NEURON_RT_PROFILE_BUF_DMA_MB=64 has no effect: "));
	assert_non_null(strstr(told("NEURON_RT_PROFILE_BUF", "64"), "no such variable"));
	assert_non_null(strstr(told("NEURON_RT_NUM_CORE", "2"),
			       "it has no effect; did you mean NEURON_RT_NUM_CORES?"));
	assert_non_null(strstr(told("NEURON_EMU_INSTANZ", "trn1"),
			       "it has no effect; did you mean NEURON_EMU_INSTANCE?"));
	assert_null(strstr(told("NEURON_EMU_SOMETHING_ELSE", "1"), "did you mean"));
	assert_string_equal(told("NEURON_RT_LOG_LEVEL", "LOUD"),
			    "NEURON_RT_LOG_LEVEL=LOUD is no level: use QUIET, ERROR, WARNING, INFO, DEBUG or TRACE; ERROR holds");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_lists),
		cmocka_unit_test_setup_teardown(defaults, clear, clear),
		cmocka_unit_test_setup_teardown(settings, clear, clear),
		cmocka_unit_test_setup_teardown(words, clear, clear),
		cmocka_unit_test_setup_teardown(scratchpad, clear, clear),
		cmocka_unit_test_setup_teardown(logical_cores, clear, clear),
		cmocka_unit_test_setup_teardown(refusals, clear, clear),
		cmocka_unit_test_setup_teardown(without_effect, clear, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
