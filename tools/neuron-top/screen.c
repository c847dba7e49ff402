// SPDX-License-Identifier: MIT
/* The full-screen display. */
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "process.h"
#include "top.h"

#define TOP_BAR		20
#define TOP_HEAD	3	/* rows above the chips, one of them empty */
#define TOP_LINE	1024	/* bytes of a line, more than any terminal is wide */
#define TOP_ITEM	48	/* bytes of the text about a memory stack */

/* A line that is put together piece by piece. */
struct top_line {
	char text[TOP_LINE];
	size_t used;
};

__attribute__((format(printf, 2, 3)))
static void top_add(struct top_line *line, const char *format, ...)
{
	size_t room = sizeof(line->text) - line->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line->text + line->used, room, format, args);
	va_end(args);
	if (n > 0)
		line->used += (size_t)n < room ? (size_t)n : room - 1;
}

/*
 * Show @line in the next row and empty it. A line that is too long for the terminal ends
 * in "...". A line that just fits must not be followed by a newline, which would then
 * leave a row empty, so each row is addressed.
 */
static void top_show(struct top_line *line, int *row, attr_t attributes)
{
	size_t width = COLS;

	if (width >= TOP_LINE)
		width = TOP_LINE - 1;
	if (line->used > width && width > 3)
		memcpy(line->text + width - 3, "...", 3);
	attron(attributes);
	mvaddnstr((*row)++, 0, line->text, (int)width);
	attroff(attributes);
	memset(line, 0, sizeof(*line));
}

static void top_bar(struct top_line *line, double percent)
{
	int filled = percent * TOP_BAR / 100 + 0.5, i;

	top_add(line, "[");
	for (i = 0; i < TOP_BAR; i++)
		top_add(line, "%c", i < filled ? '|' : ' ');
	top_add(line, "] %5.1f %%", percent);
}

static void top_draw_core(const struct top *top, unsigned int index,
			  unsigned int i, int *row)
{
	const struct chip *chip = &top->chips.chip[index];
	uint32_t pid = chip->core[i].owner_pid;
	struct top_line line = { .used = 0 };
	char command[TOP_LINE];

	top_add(&line, "  NC%-3u ", chip->first_core + i);
	top_bar(&line, top->chip[index].percent[i]);
	top_add(&line, "  PE %5.1f %%", top->chip[index].tensor[i]);
	top_add(&line, "  %8.1f jobs/s", top->chip[index].rate[i]);
	if (pid) {
		process_command(pid, command, sizeof(command));
		top_add(&line, "  %u %s", pid, command);
	} else if (chip->core[i].flags & DRM_NEURON_CORE_CLAIMED) {
		top_add(&line, "  a process of another container");
	}
	top_show(&line, row, A_NORMAL);
}

/* The stacks stand behind the sum as far as the terminal has room for them. */
static void top_draw_memory(const struct chip *chip, int *row)
{
	struct top_line line = { .used = 0 };
	char used[32], total[32], item[TOP_ITEM];
	unsigned int i;

	chip_format_bytes(chip_memory_used(chip), used, sizeof(used));
	chip_format_bytes(chip_memory(chip), total, sizeof(total));
	top_add(&line, "  device memory %s of %s:", used, total);
	for (i = 0; i < chip->info.nr_hbm && i < CHIPS_MAX_HBM; i++) {
		chip_format_bytes(chip->hbm[i].used, used, sizeof(used));
		snprintf(item, sizeof(item), "  HBM%u %s", i, used);
		if (line.used + strlen(item) > (size_t)COLS) {
			top_show(&line, row, A_NORMAL);
			top_add(&line, "    ");
		}
		top_add(&line, "%s", item);
	}
	top_show(&line, row, A_NORMAL);
}

/* A chip that is alone has no links. */
static void top_draw_links(const struct top *top, unsigned int index, int *row)
{
	const struct top_chip *rates = &top->chip[index];
	struct top_line line = { .used = 0 };
	char sent[32], received[32];

	if (!top->chips.chip[index].info.nr_links)
		return;
	chip_format_bytes((uint64_t)rates->sent_rate, sent, sizeof(sent));
	chip_format_bytes((uint64_t)rates->received_rate, received, sizeof(received));
	top_add(&line, "  links: %s/s sent, %s/s received", sent, received);
	top_show(&line, row, A_NORMAL);
}

static void top_draw_chip(const struct top *top, unsigned int index, int *row)
{
	const struct chip *chip = &top->chips.chip[index];
	struct top_line line = { .used = 0 };
	unsigned int i;

	top_add(&line, "nd%u  %s (%s)", index, chip->info.name,
		chip->info.core_arch);
	top_show(&line, row, A_BOLD);
	for (i = 0; i < chip->info.nr_cores && i < TOP_MAX_CORES; i++)
		top_draw_core(top, index, i, row);
	top_draw_memory(chip, row);
	top_draw_links(top, index, row);
	(*row)++;
}

/* Rows of a chip without the empty one behind it, which may be drawn below the screen. */
static int top_height(const struct top *top, unsigned int index)
{
	int row = LINES;

	top_draw_chip(top, index, &row);
	return row - LINES - 1;
}

/* How many chips from @first on are on the screen as a whole, at least one. */
static unsigned int top_fit(const struct top *top, unsigned int first)
{
	int row = TOP_HEAD;
	unsigned int i;

	for (i = first; i < top->chips.count; i++) {
		row += top_height(top, i);
		if (row > LINES && i > first)
			break;
		row++;
	}
	return i - first;
}

static void top_draw_head(const struct top *top, unsigned int first, unsigned int shown)
{
	struct top_line line = { .used = 0 };
	int row = 0;

	top_add(&line, "neuron-top: %u device%s, q quits", top->chips.count,
		top->chips.count == 1 ? "" : "s");
	if (shown < top->chips.count)
		top_add(&line, "; chips %u-%u of %u: arrows, PgUp, PgDn", first + 1,
			first + shown, top->chips.count);
	top_show(&line, &row, A_REVERSE);
	top_add(&line, "NeuronCore utilisation: share of the last %.1f s with a job running",
		top->interval);
	top_show(&line, &row, A_NORMAL);
}

static void top_draw(const struct top *top, unsigned int first)
{
	int row = TOP_HEAD;
	unsigned int i;

	erase();
	top_draw_head(top, first, top_fit(top, first));
	for (i = first; i < top->chips.count && row < LINES; i++)
		top_draw_chip(top, i, &row);
	refresh();
}

/* The first chip with which the last one is on the screen. */
static unsigned int top_last_page(const struct top *top)
{
	unsigned int first = top->chips.count - 1;

	while (first && top_fit(top, first - 1) == top->chips.count - first + 1)
		first--;
	return first;
}

/* The first chip on the screen after @key; the window may have got another size, too. */
static unsigned int top_scroll(const struct top *top, unsigned int first, int key)
{
	unsigned int last = top_last_page(top), page = top_fit(top, first);

	switch (key) {
	case KEY_DOWN:
		first++;
		break;
	case KEY_NPAGE:
		first += page;
		break;
	case KEY_END:
		first = last;
		break;
	case KEY_UP:
		first -= first ? 1 : 0;
		break;
	case KEY_PPAGE:
		first -= first < page ? first : page;
		break;
	case KEY_HOME:
		first = 0;
		break;
	}
	return first < last ? first : last;
}

int top_screen(struct top *top, double delay)
{
	unsigned int first = 0;
	int ret = 0, key = ERR;

	if (!initscr())
		return -1;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	timeout(delay * 1000);
	do {
		/* A key only scrolls: what is shown is of the last interval. */
		if (key == ERR)
			ret = top_sample(top);
		if (ret)
			break;
		first = top_scroll(top, first, key);
		top_draw(top, first);
		key = getch();
	} while (key != 'q');
	endwin();
	return ret;
}
