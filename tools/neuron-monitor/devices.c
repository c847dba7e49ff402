// SPDX-License-Identifier: MIT
/* The chips of the driver. */
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

/* A group of rows of a tensor engine: its multiplications and additions in a cycle. */
#define FLOPS_OF_CYCLE	(32 * 128 * 2)

void devices_close(struct devices *devices)
{
	if (devices->open)
		chips_close(&devices->chips);
	free(devices->counters);
	devices->counters = NULL;
	devices->open = false;
}

static bool ask(struct devices *devices)
{
	unsigned int i;

	for (i = 0; i < devices->chips.count; i++)
		if (chip_refresh_counters(&devices->chips.chip[i]) ||
		    chip_errors(&devices->chips.chip[i], &devices->counters[i]))
			return false;
	return true;
}

/* A chip may have gone, and another one may have come: then all are opened again. */
void devices_look(struct devices *devices)
{
	if (devices->open && ask(devices))
		return;
	devices_close(devices);
	if (chips_open(&devices->chips, devices->why, sizeof(devices->why)))
		return;
	devices->open = true;
	devices->counters = calloc(devices->chips.count, sizeof(*devices->counters));
	if (devices->counters && ask(devices))
		return;
	devices_close(devices);
	strcpy(devices->why, "a device went away");
}

bool devices_flops(const struct devices *devices, unsigned int number, uint64_t *flops)
{
	unsigned int i, j;

	*flops = 0;
	for (i = 0; devices->open && i < devices->chips.count; i++) {
		const struct chip *chip = &devices->chips.chip[i];

		if (number < chip->first_core || number - chip->first_core >= chip->info.nr_cores)
			continue;
		for (j = 0; j < chip->nr_rows; j++)
			if (chip->rows[j].core == number - chip->first_core)
				*flops += chip->rows[j].matmul_cycles * FLOPS_OF_CYCLE;
		return true;
	}
	return false;
}
