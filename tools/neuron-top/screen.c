// SPDX-License-Identifier: MIT
/* The full-screen display. */
#include <ncurses.h>
#include <string.h>

#include "process.h"
#include "top.h"

#define TOP_BAR	30

static void top_bar(double percent)
{
	int filled = percent * TOP_BAR / 100 + 0.5, i;

	addch('[');
	for (i = 0; i < TOP_BAR; i++)
		addch(i < filled ? '|' : ' ');
	printw("] %5.1f %%", percent);
}

static void top_draw_core(const struct top *top, unsigned int index,
			  unsigned int i)
{
	const struct chip *chip = &top->chips.chip[index];
	uint32_t pid = chip->core[i].owner_pid;
	char command[256];

	printw("  NC%-3u ", chip->first_core + i);
	top_bar(top->chip[index].percent[i]);
	printw("  %8.1f jobs/s", top->chip[index].rate[i]);
	if (pid) {
		process_command(pid, command, sizeof(command));
		printw("  %u %.40s", pid, command);
	}
	addch('\n');
}

static void top_draw_chip(const struct top *top, unsigned int index)
{
	const struct chip *chip = &top->chips.chip[index];
	char used[32], total[32];
	unsigned int i;

	chip_format_bytes(chip_memory_used(chip), used, sizeof(used));
	chip_format_bytes(chip_memory(chip), total, sizeof(total));
	attron(A_BOLD);
	printw("nd%u  %s (%s)\n", index, chip->info.name, chip->info.core_arch);
	attroff(A_BOLD);
	for (i = 0; i < chip->info.nr_cores && i < TOP_MAX_CORES; i++)
		top_draw_core(top, index, i);
	printw("  device memory %s of %s:", used, total);
	for (i = 0; i < chip->info.nr_hbm && i < CHIPS_MAX_HBM; i++) {
		chip_format_bytes(chip->hbm[i].used, used, sizeof(used));
		printw("  HBM%u %s", i, used);
	}
	printw("\n\n");
}

static void top_draw(const struct top *top)
{
	unsigned int i;

	erase();
	attron(A_REVERSE);
	printw("neuron-top: %u device%s, q quits\n", top->chips.count,
	       top->chips.count == 1 ? "" : "s");
	attroff(A_REVERSE);
	printw("NeuronCore utilisation: share of the last %.1f s with a job running\n\n",
	       top->interval);
	for (i = 0; i < top->chips.count; i++)
		top_draw_chip(top, i);
	refresh();
}

int top_screen(struct top *top, double delay)
{
	int ret = 0;

	if (!initscr())
		return -1;
	cbreak();
	noecho();
	curs_set(0);
	timeout(delay * 1000);
	do {
		ret = top_sample(top);
		if (ret)
			break;
		top_draw(top);
	} while (getch() != 'q');
	endwin();
	return ret;
}
