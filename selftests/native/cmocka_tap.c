// SPDX-License-Identifier: MIT
/*
 * What the cmocka of Debian 12 lacks, in every test program that links it.
 *
 * CMOCKA_TEST_FILTER names the tests to run, with * and ?. And a skipped test is written as
 * "not ok 3 # SKIP name", which readers of TAP take for a failure: print_message() here
 * is found before cmocka's own and writes "ok".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WRONG_SKIP	"not ok %u # SKIP"

static void __attribute__((constructor)) set_filter(void)
{
	const char *pattern = getenv("CMOCKA_TEST_FILTER");

	if (pattern)
		cmocka_set_test_filter(pattern);
}

void print_message(const char *const format, ...)
{
	const char *text = format;
	va_list args;

	if (!strncmp(format, WRONG_SKIP, strlen(WRONG_SKIP)))
		text += strlen("not ");
	va_start(args, format);
	vprint_message(text, args);
	va_end(args);
}
