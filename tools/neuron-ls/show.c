// SPDX-License-Identifier: MIT
/* The tables and the grid of neuron-ls. */
#include <stdio.h>
#include <string.h>

#include "ls.h"
#include "process.h"
#include "table.h"

#define LS_COMMAND	80	/* characters of a command line that are shown */

void ls_affinity(const struct chip *chip, char *cpus, size_t size)
{
	char bdf[16], path[128];

	chip_bdf(chip, bdf);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/local_cpulist",
		 bdf);
	read_line(path, "", cpus, size);
}

void ls_numa(const struct chip *chip, char *out, size_t size)
{
	snprintf(out, size, "%d", chip->info.numa_node);
}

/* Cells that every table starts with. */
static void ls_first_cells(const struct chip *chip, unsigned int lnc, unsigned int device,
			   struct table *table)
{
	table_cell(table, "%u", device);
	table_cell(table, "%u", chip->info.nr_cores / lnc);
}

static void ls_memory_cell(const struct chip *chip, struct table *table)
{
	char memory[32];

	chip_format_bytes(chip_memory(chip), memory, sizeof(memory));
	table_cell(table, "%s", memory);
}

static void ls_connected_cell(const struct chips *chips,
			      const struct chip *chip, struct table *table)
{
	char connected[96];

	ls_connected(chips, chip, connected, sizeof(connected));
	table_cell(table, "%s", connected);
}

int ls_table(const struct chips *chips, unsigned int lnc)
{
	static const char *const head[] = {
		"NEURON\nDEVICE", "NEURON\nCORES", "NEURON\nCORE IDS",
		"NEURON\nMEMORY", "CONNECTED\nDEVICES", "PCI\nBDF",
		"CPU\nAFFINITY", "NUMA\nNODE",
	};
	struct table *table = table_new(8, head);
	char text[64];
	unsigned int i;

	if (!table)
		return -1;
	for (i = 0; i < chips->count; i++) {
		const struct chip *chip = &chips->chip[i];

		ls_first_cells(chip, lnc, i, table);
		table_cell(table, "%u-%u", chip->first_core / lnc,
			   (chip->first_core + chip->info.nr_cores) / lnc - 1);
		ls_memory_cell(chip, table);
		ls_connected_cell(chips, chip, table);
		chip_bdf(chip, text);
		table_cell(table, "%s", text);
		ls_affinity(chip, text, sizeof(text));
		table_cell(table, "%s", text);
		ls_numa(chip, text, sizeof(text));
		table_cell(table, "%s", text);
	}
	table_print(table, stdout);
	table_free(table);
	return 0;
}

/* The columns before the process; the BDF without its domain. */
static void ls_wide_chip(const struct chips *chips, unsigned int lnc, unsigned int device,
			 struct table *table)
{
	const struct chip *chip = &chips->chip[device];
	char bdf[16];

	ls_first_cells(chip, lnc, device, table);
	ls_memory_cell(chip, table);
	ls_connected_cell(chips, chip, table);
	chip_bdf(chip, bdf);
	table_cell(table, "%s", bdf + 5);
}

static void ls_wide_process(uint32_t pid, struct table *table)
{
	char command[4096];

	process_command(pid, command, sizeof(command));
	table_cell(table, "%u", pid);
	if (strlen(command) > LS_COMMAND)
		strcpy(command + LS_COMMAND - 3, "...");
	table_cell(table, "%s", command);
	table_cell(table, "%s", "NA");
}

static bool ls_seen(const struct chip *chip, unsigned int core)
{
	unsigned int i;

	for (i = 0; i < core; i++)
		if (chip->core[i].owner_pid == chip->core[core].owner_pid)
			return true;
	return false;
}

int ls_wide(const struct chips *chips, unsigned int lnc)
{
	static const char *const head[] = {
		"NEURON\nDEVICE", "NEURON\nCORES", "NEURON\nMEMORY",
		"CONNECTED\nDEVICES", "PCI\nBDF", "PID", "COMMAND",
		"RUNTIME\nVERSION",
	};
	struct table *table = table_new(8, head);
	unsigned int i, core, rows;

	if (!table)
		return -1;
	for (i = 0; i < chips->count; i++) {
		const struct chip *chip = &chips->chip[i];

		for (core = 0, rows = 0; core < chip->info.nr_cores; core++) {
			if (!chip->core[core].owner_pid || ls_seen(chip, core))
				continue;
			ls_wide_chip(chips, lnc, i, table);
			ls_wide_process(chip->core[core].owner_pid, table);
			rows++;
		}
		if (rows)
			continue;
		ls_wide_chip(chips, lnc, i, table);
		for (core = 0; core < 3; core++)
			table_cell(table, "%s", "");
	}
	table_print(table, stdout);
	table_free(table);
	return 0;
}

int ls_topology(const struct chips *chips, unsigned int lnc)
{
	static const char *const head[] = {
		"NEURON\nDEVICE", "NEURON\nCORES", "NEURON\nMEMORY",
		"CONNECTED\nDEVICES", "PCI\nBDF",
	};
	struct table *table = table_new(5, head);
	unsigned int i;

	if (!table)
		return -1;
	for (i = 0; i < chips->count; i++)
		ls_wide_chip(chips, lnc, i, table);
	table_print(table, stdout);
	table_free(table);
	ls_draw(chips);
	return 0;
}
