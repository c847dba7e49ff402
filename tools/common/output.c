// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int status, void *unused)
{
	bool bad = ferror(stdout);

	(void)unused;
	if (status)
		return;
	/* Of an earlier failure the reason is known only if the same bytes fail again. */
	errno = 0;
	if (!fflush(stdout) && !bad)
		return;
	fprintf(stderr, "%s: standard output: %s\n", program_invocation_short_name,
		errno ? strerror(errno) : "not all of it could be written");
	_exit(EXIT_FAILURE);
}

void output_check_at_exit(void)
{
	on_exit(check, NULL);
}
