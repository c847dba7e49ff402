// SPDX-License-Identifier: MIT
/*
 * The screen of neuron-top in a pseudo-terminal of 24 lines, with 16 chips that are made up. What
 * is shown is looked at when the next look at the chips would come.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ncurses.h>

#include <cmocka.h>

#include "top.h"

#define CHIPS	16
#define LINE	80

/* A key, as a terminal sends it after keypad(), and what is on the screen then. */
static const struct step {
	const char *key;
	const char *head;
	const char *first;
} steps[] = {
	{ "", "; chips 1-2 of 16: arrows, PgUp, PgDn", "nd0 " },
	{ "\033OB", "; chips 2-3 of 16: ", "nd1 " },
	{ "\033[6~", "; chips 4-5 of 16: ", "nd3 " },
	{ "\033OA", "; chips 3-4 of 16: ", "nd2 " },
	{ "\033[5~", "; chips 1-2 of 16: ", "nd0 " },
	{ "\033OA", "; chips 1-2 of 16: ", "nd0 " },
	{ "\033OF", "; chips 15-16 of 16: ", "nd14 " },
	{ "\033[6~", "; chips 15-16 of 16: ", "nd14 " },
	{ "\033OH", "; chips 1-2 of 16: ", "nd0 " },
};

#define STEPS	(sizeof(steps) / sizeof(steps[0]))

/**
 * struct show - a run of the screen
 * @top: handed to it; the first member
 * @terminal: the other end of its terminal
 * @looks: at the chips so far
 * @head, @first: lines 0 and 3 at each of them
 */
struct show {
	struct top top;
	int terminal;
	unsigned int looks;
	char head[STEPS][LINE + 1];
	char first[STEPS][LINE + 1];
};

/* In place of that of neuron-top: nobody's chips change. */
int top_sample(struct top *top)
{
	struct show *show = (struct show *)top;
	unsigned int i = show->looks++;

	if (i && i <= STEPS) {
		mvinnstr(0, 0, show->head[i - 1], LINE);
		mvinnstr(3, 0, show->first[i - 1], LINE);
	}
	if (i < STEPS && *steps[i].key &&
	    write(show->terminal, steps[i].key, strlen(steps[i].key)) < 0)
		return -1;
	return i == STEPS ? -1 : 0;
}

/* What the screen writes has to go somewhere. */
static void *drain(void *arg)
{
	int terminal = *(int *)arg;
	char bytes[4096];

	while (read(terminal, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

static void make_chips(struct top *top)
{
	unsigned int i;

	top->chips.count = CHIPS;
	top->chips.chip = calloc(CHIPS, sizeof(*top->chips.chip));
	top->chip = calloc(CHIPS, sizeof(*top->chip));
	assert_non_null(top->chips.chip);
	assert_non_null(top->chip);
	for (i = 0; i < CHIPS; i++) {
		top->chips.chip[i].info.nr_cores = 8;
		top->chips.chip[i].first_core = 8 * i;
	}
}

/* Standard input and output are the terminal meanwhile. */
static int run_screen(struct show *show, const char *name)
{
	const struct winsize size = { .ws_row = 24, .ws_col = LINE };
	int out = dup(1), in = dup(0), terminal, ret;

	terminal = open(name, O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0 && in >= 0 && out >= 0);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	fflush(stdout);
	assert_int_equal(dup2(terminal, 0), 0);
	assert_int_equal(dup2(terminal, 1), 1);
	ret = top_screen(&show->top, 0.1);
	fflush(stdout);
	dup2(in, 0);
	dup2(out, 1);
	close(terminal);
	close(in);
	close(out);
	return ret;
}

static void keys_scroll(void **state)
{
	struct show *show = calloc(1, sizeof(*show));
	pthread_t thread;
	unsigned int i;

	(void)state;
	assert_non_null(show);
	setenv("TERM", "xterm", 1);
	unsetenv("LINES");
	unsetenv("COLUMNS");
	make_chips(&show->top);
	show->terminal = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(show->terminal >= 0);
	assert_int_equal(grantpt(show->terminal), 0);
	assert_int_equal(unlockpt(show->terminal), 0);
	assert_int_equal(pthread_create(&thread, NULL, drain, &show->terminal), 0);
	assert_int_equal(run_screen(show, ptsname(show->terminal)), -1);
	/* With its last user gone a read of the terminal fails. */
	pthread_join(thread, NULL);
	for (i = 0; i < STEPS; i++)
		if (!strstr(show->head[i], steps[i].head) ||
		    strncmp(show->first[i], steps[i].first, strlen(steps[i].first)))
			fail_msg("step %u: \"%s\", \"%s\"", i, show->head[i], show->first[i]);
	close(show->terminal);
	free(show->top.chips.chip);
	free(show->top.chip);
	free(show);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_scroll),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
