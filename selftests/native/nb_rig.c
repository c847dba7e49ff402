// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nb_rig.h"

struct nb_program *begin(void)
{
	struct nb_program *nb = nb_new("test");

	assert_non_null(nb);
	nb_auto(nb);
	return nb;
}

void expect_error(struct nb_program *nb, const char *text)
{
	const char *error;

	nb_sync(nb);
	error = nb_error(nb);
	if (!error || strcmp(error, text))
		fail_msg("'%s', not '%s'", error ? error : "no error", text);
	nb_free(nb);
}

void expect_waits(struct nb_program *nb, size_t count, const char *area)
{
	char text[512] = "";

	if (nb_sync(nb))
		fail_msg("%s", nb_error(nb));
	if (count)
		nb_why(nb, 0, text, sizeof(text));
	if (nb_waits(nb) != count)
		fail_msg("%zu waits, not %zu: %s", nb_waits(nb), count, text);
	if (area && !strstr(text, area))
		fail_msg("'%s' does not say '%s'", text, area);
	nb_free(nb);
}

void store(struct nb_program *nb, enum neuron_engine engine, int var, uint64_t offset)
{
	nb_reg_store(nb, engine, var, offset, 0, 5);
}
