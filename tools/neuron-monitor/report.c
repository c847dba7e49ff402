// SPDX-License-Identifier: MIT
/* The document: what is due, of all runtimes and of the machine. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "monitor.h"
#include "process.h"

/* --- The machine --- */

static json_object *cpu_usage(const uint64_t from[CPU_TIMES], const uint64_t to[CPU_TIMES])
{
	/* What other guests took is in the sum, and has no name. */
	static const char *const names[CPU_TIMES] = {
		"user", "nice", "system", "idle", "io_wait", "irq", "soft_irq", NULL,
	};
	json_object *object = json_object_new_object();
	uint64_t passed[CPU_TIMES], sum = 0;
	unsigned int i;

	for (i = 0; i < CPU_TIMES; i++) {
		/* A processor that was off, or the time for input and output, may go back. */
		passed[i] = to[i] > from[i] ? to[i] - from[i] : 0;
		sum += passed[i];
	}
	for (i = 0; i < CPU_TIMES; i++)
		if (names[i])
			value_add(object, names[i],
				  value_number(sum ? 100.0 * (double)passed[i] / (double)sum : 0,
					       2));
	return object;
}

static json_object *vcpu_usage(struct monitor *monitor)
{
	static const uint64_t none[CPU_TIMES];
	json_object *group, *each = json_object_new_object();
	struct cpus *from = &monitor->cpus, now;
	char why[MONITOR_LINE] = "", name[24];
	size_t i;

	if (cpus_read(&now, why)) {
		cpus_free(&now);
		now.when_ns = monitor_now();
	}
	group = value_group(from->when_ns, now.when_ns);
	for (i = 0; i < now.nr; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		value_add(each, name, cpu_usage(i < from->nr ? from->cpu[i] : none, now.cpu[i]));
	}
	value_add(group, "average_usage", cpu_usage(from->all, now.all));
	value_add(group, "usage_data", each);
	value_add(group, "context_switch_count",
		  value_count(now.switches > from->switches ? now.switches - from->switches : 0));
	value_add(group, "error", value_text(why));
	cpus_free(from);
	*from = now;
	return group;
}

static json_object *memory_info(uint64_t from_ns, uint64_t to_ns)
{
	json_object *group = value_group(from_ns, to_ns);
	char why[MONITOR_LINE] = "";
	struct memory memory;

	memory_read(&memory, why);
	value_add(group, "memory_total_bytes", value_count(memory.total));
	value_add(group, "memory_used_bytes", value_count(memory.total - memory.available));
	value_add(group, "swap_total_bytes", value_count(memory.swap_total));
	value_add(group, "swap_used_bytes", value_count(memory.swap_total - memory.swap_free));
	value_add(group, "error", value_text(why));
	return group;
}

static json_object *hw_counters(const struct devices *devices, uint64_t from_ns, uint64_t to_ns)
{
	json_object *group = value_group(from_ns, to_ns), *list = json_object_new_array();
	unsigned int i;

	for (i = 0; devices->open && i < devices->chips.count; i++) {
		const struct drm_neuron_counter_info *counters = &devices->counters[i];
		json_object *device = json_object_new_object();

		value_add(device, "neuron_device_index", value_count(i));
		value_add(device, "mem_ecc_corrected", value_count(counters->hbm_corrected));
		value_add(device, "mem_ecc_uncorrected", value_count(counters->hbm_uncorrected));
		value_add(device, "sram_ecc_uncorrected", value_count(counters->sram_uncorrected));
		value_add(device, "sram_ecc_corrected", value_count(counters->sram_corrected));
		value_append(list, device);
	}
	value_add(group, "neuron_devices", list);
	value_add(group, "error", value_text(devices->open ? "" : devices->why));
	return group;
}

static json_object *system_group(struct monitor *monitor, enum metric metric, uint64_t now)
{
	uint64_t *base = &monitor->base_ns[metric - NR_RUNTIME_METRICS], from = *base;

	*base = now;
	switch (metric) {
	case METRIC_VCPU_USAGE:
		return vcpu_usage(monitor);
	case METRIC_MEMORY_INFO:
		return memory_info(from, now);
	default:
		return hw_counters(&monitor->devices, from, now);
	}
}

/* --- What is always there --- */

/* The first page of a process that has its own chips, of those that are watched, or NULL. */
static const struct nrt_emu_stats *embedded_page(const struct monitor *monitor)
{
	const struct runtime *runtime = monitor->runtimes.first;

	while (runtime && (runtime->watch < 0 ||
			   !(runtime->now->stats->flags & NRT_EMU_STATS_EMBEDDED)))
		runtime = runtime->next;
	return runtime ? runtime->now->stats : NULL;
}

/* Nobody asks a service for the rest. */
static json_object *instance_info(const struct monitor *monitor)
{
	const struct nrt_emu_stats *embedded = embedded_page(monitor);
	json_object *object = json_object_new_object();
	char type[128], id[128];

	read_line("/sys/class/dmi/id/product_name", "", type, sizeof(type));
	read_line("/sys/class/dmi/id/board_asset_tag", "", id, sizeof(id));
	if (!monitor->devices.open && embedded)
		snprintf(type, sizeof(type), "%s", embedded->instance);
	value_add(object, "instance_name", value_text(""));
	value_add(object, "instance_id", value_text(id));
	value_add(object, "instance_type", value_text(type));
	value_add(object, "instance_availability_zone", value_text(""));
	value_add(object, "instance_availability_zone_id", value_text(""));
	value_add(object, "instance_region", value_text(""));
	value_add(object, "ami_id", value_text(""));
	value_add(object, "subnet_id", value_text(""));
	value_add(object, "error", value_text(""));
	return object;
}

/**
 * struct hardware - what the chips of a machine are
 * @name: e.g. "Trainium2"; "": not known
 */
struct hardware {
	char name[NRT_EMU_STATS_TEXT];
	unsigned int generation;
	unsigned int devices;
	uint64_t device_bytes;
	unsigned int device_cores;
	unsigned int lnc;
};

/* Of the driver, or of a process that has chips of its own. */
static struct hardware find_hardware(const struct monitor *monitor)
{
	const struct nrt_emu_stats *embedded = embedded_page(monitor);
	const struct chips *chips = &monitor->devices.chips;
	struct hardware hardware = { .lnc = 1 };
	const char *variable;

	if (monitor->devices.open) {
		hardware.generation = chips->chip[0].info.generation;
		hardware.devices = chips->count;
		hardware.device_bytes = chip_memory(&chips->chip[0]);
		hardware.device_cores = chips->chip[0].info.nr_cores;
		hardware.lnc = chips_lnc(chips, &variable) ?: 1;
		snprintf(hardware.name, sizeof(hardware.name), "%.*s",
			 (int)sizeof(chips->chip[0].info.name), chips->chip[0].info.name);
	} else if (embedded) {
		hardware.generation = embedded->generation;
		hardware.devices = embedded->nr_devices;
		hardware.device_bytes = embedded->device_bytes;
		hardware.device_cores = embedded->device_cores;
		hardware.lnc = embedded->lnc;
		memcpy(hardware.name, embedded->device_name, sizeof(hardware.name));
	}
	return hardware;
}

/* "v4" is public for Trainium2; the others count on from there. */
static const char *device_version(const char *name)
{
	static const char *const versions[][2] = {
		{ "Trainium1", "v2" }, { "Inferentia2", "v3" }, { "Trainium2", "v4" },
		{ "Trainium3", "v5" },
	};
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!strcmp(versions[i][0], name))
			return versions[i][1];
	return "";
}

static json_object *hardware_info(const struct monitor *monitor)
{
	struct hardware hardware = find_hardware(monitor);
	json_object *object = json_object_new_object();
	char version[24] = "";
	size_t i;

	value_add(object, "neuron_device_version", value_text(device_version(hardware.name)));
	for (i = 0; hardware.name[i]; i++)
		hardware.name[i] = (char)tolower((unsigned char)hardware.name[i]);
	if (hardware.devices)
		snprintf(version, sizeof(version), "v%u%s", hardware.generation,
			 hardware.lnc > 1 ? "d" : "");
	value_add(object, "neuron_device_type", value_text(hardware.name));
	value_add(object, "neuroncore_version", value_text(version));
	value_add(object, "neuron_device_count", value_count(hardware.devices));
	value_add(object, "neuron_device_memory_size", value_count(hardware.device_bytes));
	value_add(object, "neuroncore_per_device_count",
		  value_count(hardware.device_cores / hardware.lnc));
	value_add(object, "logical_neuroncore_config", value_count(hardware.lnc));
	value_add(object, "error", value_text(hardware.devices ? "" : monitor->devices.why));
	return object;
}

/* --- All --- */

/* What is due of a runtime; NULL: nothing. */
static json_object *runtime_data(const struct monitor *monitor, struct runtime *runtime,
				 uint64_t now)
{
	json_object *object, *groups = NULL;
	const struct group *group;
	enum metric i;

	if (runtime->watch < 0 || !runtime->seen)
		return NULL;
	group = monitor->config.watch[runtime->watch].group;
	for (i = 0; i < NR_RUNTIME_METRICS; i++) {
		if (!group[i].period_ns || group[i].due_ns > now)
			continue;
		if (!groups)
			groups = json_object_new_object();
		value_add(groups, metric_name(i), report_runtime(runtime, i));
		runtime_reported(runtime, i);
	}
	if (!groups)
		return NULL;
	object = json_object_new_object();
	value_add(object, "pid", value_count((uint64_t)runtime->pid));
	value_add(object, "address", value_text(""));
	value_add(object, "neuron_runtime_tag", value_text(runtime->tag));
	value_add(object, "error", value_text(""));
	value_add(object, "report", groups);
	return object;
}

json_object *report_new(struct monitor *monitor, uint64_t now)
{
	json_object *root = json_object_new_object(), *list = json_object_new_array();
	json_object *system = json_object_new_object(), *data;
	struct runtime *runtime;
	enum metric i;

	for (runtime = monitor->runtimes.first; runtime; runtime = runtime->next) {
		data = runtime_data(monitor, runtime, now);
		if (data)
			value_append(list, data);
	}
	for (i = NR_RUNTIME_METRICS; i < NR_METRICS; i++) {
		const struct group *group = &monitor->config.system[i - NR_RUNTIME_METRICS];

		if (group->period_ns && group->due_ns <= now)
			value_add(system, metric_name(i), system_group(monitor, i, now));
	}
	value_add(root, "neuron_runtime_data", list);
	value_add(root, "system_data", system);
	value_add(root, "instance_info", instance_info(monitor));
	value_add(root, "neuron_hardware_info", hardware_info(monitor));
	return root;
}
