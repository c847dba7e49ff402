// SPDX-License-Identifier: MIT
/* neuron-ls --json-output: the public keys. */
#include <json-c/json.h>
#include <stdio.h>

#include "ls.h"
#include "process.h"

static json_object *ls_json_processes(const struct chip *chip)
{
	json_object *list = json_object_new_array();
	char command[4096];
	unsigned int i, j;

	for (i = 0; i < chip->info.nr_cores; i++) {
		uint32_t pid = chip->core[i].owner_pid;
		json_object *item;

		for (j = 0; j < i && chip->core[j].owner_pid != pid; j++)
			;
		if (!pid || j < i)
			continue;
		process_command(pid, command, sizeof(command));
		item = json_object_new_object();
		json_object_object_add(item, "pid", json_object_new_int64(pid));
		json_object_object_add(item, "command",
				       json_object_new_string(command));
		json_object_object_add(item, "neuron_runtime_version",
				       json_object_new_string("NA"));
		json_object_array_add(list, item);
	}
	return list;
}

static json_object *ls_json_connected(const struct chips *chips,
				      const struct chip *chip)
{
	json_object *list = json_object_new_array();
	int device[CHIPS_MAX_LINKS];
	unsigned int i, n = ls_linked(chips, chip, device);

	for (i = 0; i < n; i++)
		json_object_array_add(list, json_object_new_int(device[i]));
	for (i = 0; i < chips->count; i++)
		if (ls_switched(chips, chip, i))
			json_object_array_add(list, json_object_new_int(i));
	return list;
}

static json_object *ls_json_chip(const struct chips *chips, unsigned int lnc, unsigned int device)
{
	const struct chip *chip = &chips->chip[device];
	json_object *object = json_object_new_object();
	json_object *cores = json_object_new_array();
	char text[128];
	unsigned int i;

	for (i = 0; i < chip->info.nr_cores / lnc; i++) {
		json_object *core = json_object_new_int(chip->first_core / lnc + i);

		json_object_array_add(cores, core);
	}
	json_object_object_add(object, "neuron_device",
			       json_object_new_int(device));
	chip_bdf(chip, text);
	json_object_object_add(object, "bdf", json_object_new_string(text + 5));
	ls_affinity(chip, text, sizeof(text));
	json_object_object_add(object, "cpu_affinity",
			       json_object_new_string(text));
	ls_numa(chip, text, sizeof(text));
	json_object_object_add(object, "numa_node",
			       json_object_new_string(text));
	json_object_object_add(object, "connected_to",
			       ls_json_connected(chips, chip));
	json_object_object_add(object, "nc_count",
			       json_object_new_int(chip->info.nr_cores / lnc));
	json_object_object_add(object, "logical_neuroncore_config",
			       json_object_new_int(lnc));
	json_object_object_add(object, "memory_size",
			       json_object_new_int64(chip_memory(chip)));
	json_object_object_add(object, "neuroncore_ids", cores);
	json_object_object_add(object, "neuron_processes",
			       ls_json_processes(chip));
	return object;
}

int ls_json(const struct chips *chips, unsigned int lnc)
{
	json_object *list = json_object_new_array();
	const char *text;
	unsigned int i;

	for (i = 0; i < chips->count; i++)
		json_object_array_add(list, ls_json_chip(chips, lnc, i));
	text = json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		puts(text);
	json_object_put(list);
	return text ? 0 : -1;
}
