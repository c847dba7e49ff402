// SPDX-License-Identifier: MIT
/* The groups of a runtime: what changed between two looks. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "monitor.h"

#define PERCENT_DIGITS	2

static double seconds_between(const struct look *from, const struct look *to)
{
	return (double)(to->when_ns - from->when_ns) / 1e9;
}

/* --- neuroncore_counters --- */

/* The share of the time between the looks in which a physical core had a job. */
static double utilization(const struct look *from, const struct look *to, unsigned int core,
			  unsigned int physical)
{
	uint64_t elapsed = to->when_ns - from->when_ns, busy;
	uint64_t mask = UINT64_MAX >> NRT_EMU_STATS_JOB_BITS;

	busy = nrt_emu_stats_busy(to->stats->cores[core].activity[physical], to->when_ns) -
	       nrt_emu_stats_busy(from->stats->cores[core].activity[physical], from->when_ns);
	busy &= mask;
	/* A job that began or ended between the look at the page and that at the clock. */
	if (busy > mask / 2)
		return 0;
	if (busy >= elapsed)
		return elapsed ? 100 : 0;
	return 100.0 * (double)busy / (double)elapsed;
}

static uint64_t flops(const struct look *from, const struct look *to, unsigned int core)
{
	double seconds = seconds_between(from, to);
	uint64_t sum = 0;
	unsigned int i;

	if (!from->flops || !to->flops || seconds <= 0)
		return 0;
	for (i = core * NRT_EMU_STATS_MAX_LNC; i < (core + 1) * NRT_EMU_STATS_MAX_LNC; i++)
		if (to->flops[i] > from->flops[i])
			sum += to->flops[i] - from->flops[i];
	return (uint64_t)((double)sum / seconds);
}

/* The physical cores of a pair. */
static json_object *pair(const struct runtime *runtime, const struct look *from,
			 unsigned int core)
{
	const struct nrt_emu_stats_core *row = &runtime->now->stats->cores[core];
	json_object *object = json_object_new_object(), *one;
	char name[48];
	unsigned int i;

	for (i = 0; i < row->nr_physical; i++) {
		snprintf(name, sizeof(name), "nc_v%u.%u", runtime->now->stats->generation,
			 row->first_physical + i);
		one = json_object_new_object();
		value_add(one, "neuroncore_utilization",
			  value_number(utilization(from, runtime->now, core, i), PERCENT_DIGITS));
		value_add(object, name, one);
	}
	return object;
}

static json_object *core_counters(const struct runtime *runtime, const struct look *from,
				  unsigned int core)
{
	const struct nrt_emu_stats *stats = runtime->now->stats;
	unsigned int nr = stats->cores[core].nr_physical, i;
	json_object *object = json_object_new_object();
	double sum = 0;
	char name[24];

	for (i = 0; i < nr; i++)
		sum += utilization(from, runtime->now, core, i);
	value_add(object, "neuroncore_utilization", value_number(sum / nr, PERCENT_DIGITS));
	value_add(object, "flops", value_count(flops(from, runtime->now, core)));
	if (stats->lnc > 1) {
		snprintf(name, sizeof(name), "v%ud", stats->generation);
		value_add(object, name, pair(runtime, from, core));
	}
	return object;
}

static void add_counters(json_object *group, const struct runtime *runtime,
			 const struct look *from)
{
	const struct nrt_emu_stats *stats = runtime->now->stats;
	json_object *cores = json_object_new_object();
	char name[16];
	unsigned int i;

	for (i = 0; i < stats->nr_cores; i++) {
		snprintf(name, sizeof(name), "%u", stats->cores[i].number);
		value_add(cores, name, core_counters(runtime, from, i));
	}
	value_add(group, "neuroncores_in_use", cores);
}

/* --- execution_stats --- */

/* What counter @index of all cores has counted; @offset: of its array in a row. */
static uint64_t counted(const struct look *from, const struct look *to, size_t offset,
			unsigned int index)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < to->stats->nr_cores; i++) {
		const char *now = (const char *)&to->stats->cores[i] + offset;
		const char *before = (const char *)&from->stats->cores[i] + offset;

		sum += ((const uint64_t *)now)[index] - ((const uint64_t *)before)[index];
	}
	return sum;
}

static json_object *counts(const struct look *from, const struct look *to, size_t offset,
			   const char *const *names, unsigned int nr)
{
	json_object *object = json_object_new_object();
	unsigned int i;

	for (i = 0; i < nr; i++)
		value_add(object, names[i], value_count(counted(from, to, offset, i)));
	return object;
}

/* The bucket of execution number @rank of @total, from 0 on, in the order of their latencies. */
static unsigned int find_bucket(const uint64_t *counts, uint64_t rank)
{
	uint64_t before = 0;
	unsigned int i;

	for (i = 0; i < NRT_EMU_STATS_BUCKETS - 1; i++) {
		before += counts[i];
		if (before > rank)
			break;
	}
	return i;
}

/* Nearest rank; NULL is null: nothing has ended. */
static json_object *percentiles(const struct look *from, const struct look *to,
				enum nrt_emu_stats_latency latency)
{
	static const unsigned int percents[] = { 0, 1, 25, 50, 75, 99, 100 };
	uint64_t counts[NRT_EMU_STATS_BUCKETS], total = 0, rank;
	json_object *object;
	char name[16];
	size_t i;

	for (i = 0; i < NRT_EMU_STATS_BUCKETS; i++) {
		counts[i] = to->stats->latency[latency][i] - from->stats->latency[latency][i];
		total += counts[i];
	}
	if (!total)
		return NULL;
	object = json_object_new_object();
	for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		rank = (total - 1) / 100 * percents[i] +
		       ((total - 1) % 100 * percents[i] + 50) / 100;
		snprintf(name, sizeof(name), "p%u", percents[i]);
		value_add(object, name,
			  value_number(nrt_emu_stats_middle(find_bucket(counts, rank)) / 1e9, 10));
	}
	return object;
}

static void add_executions(json_object *group, const struct runtime *runtime,
			   const struct look *from)
{
	static const char *const outcomes[NRT_EMU_STATS_NR_OUTCOMES] = {
		[NRT_EMU_STATS_COMPLETED] = "completed",
		[NRT_EMU_STATS_COMPLETED_WITH_ERR] = "completed_with_err",
		[NRT_EMU_STATS_COMPLETED_WITH_NUM_ERR] = "completed_with_num_err",
		[NRT_EMU_STATS_TIMED_OUT] = "timed_out",
		[NRT_EMU_STATS_INCORRECT_INPUT] = "incorrect_input",
		[NRT_EMU_STATS_FAILED_TO_QUEUE] = "failed_to_queue",
	};
	static const char *const errors[NRT_EMU_STATS_NR_ERRORS] = {
		[NRT_EMU_STATS_GENERIC] = "generic",
		[NRT_EMU_STATS_NUMERICAL] = "numerical",
		[NRT_EMU_STATS_TRANSIENT] = "transient",
		[NRT_EMU_STATS_MODEL_ERROR] = "model",
		[NRT_EMU_STATS_RUNTIME_ERROR] = "runtime",
		[NRT_EMU_STATS_HARDWARE] = "hardware",
	};
	json_object *latencies = json_object_new_object();
	const struct look *to = runtime->now;

	value_add(group, "error_summary",
		  counts(from, to, offsetof(struct nrt_emu_stats_core, errors), errors,
			 NRT_EMU_STATS_NR_ERRORS));
	value_add(group, "execution_summary",
		  counts(from, to, offsetof(struct nrt_emu_stats_core, outcomes), outcomes,
			 NRT_EMU_STATS_NR_OUTCOMES));
	value_add(latencies, "total_latency", percentiles(from, to, NRT_EMU_STATS_TOTAL_LATENCY));
	value_add(latencies, "device_latency", percentiles(from, to, NRT_EMU_STATS_DEVICE_LATENCY));
	value_add(group, "latency_stats", latencies);
}

/* --- memory_used --- */

static uint64_t add_bytes(json_object *object, const char *key, uint64_t bytes)
{
	value_add(object, key, value_count(bytes));
	return bytes;
}

/* @breakdown of memory of the host; the sum. */
static uint64_t add_host(json_object *breakdown, const uint64_t bytes[NRT_EMU_STATS_NR_HOST])
{
	return add_bytes(breakdown, "application_memory", bytes[NRT_EMU_STATS_HOST_APPLICATION]) +
	       add_bytes(breakdown, "constants", bytes[NRT_EMU_STATS_HOST_CONSTANTS]) +
	       add_bytes(breakdown, "dma_buffers", bytes[NRT_EMU_STATS_HOST_DMA_BUFFERS]) +
	       add_bytes(breakdown, "tensors", bytes[NRT_EMU_STATS_HOST_TENSORS]);
}

/* Of memory of the device; a model has no shared scratchpad. */
static uint64_t add_device(json_object *breakdown, const uint64_t bytes[NRT_EMU_STATS_NR_DEVICE],
			   bool scratchpad)
{
	uint64_t sum = add_bytes(breakdown, "constants", bytes[NRT_EMU_STATS_CONSTANTS]) +
		       add_bytes(breakdown, "model_code", bytes[NRT_EMU_STATS_CODE]);

	if (scratchpad)
		sum += add_bytes(breakdown, "model_shared_scratchpad",
				 bytes[NRT_EMU_STATS_SCRATCHPAD]);
	return sum + add_bytes(breakdown, "runtime_memory", bytes[NRT_EMU_STATS_RUNTIME]) +
	       add_bytes(breakdown, "tensors", bytes[NRT_EMU_STATS_TENSORS]);
}

static json_object *used_bytes(const struct nrt_emu_stats *stats)
{
	json_object *used = json_object_new_object(), *breakdown = json_object_new_object();
	json_object *host = json_object_new_object(), *cores = json_object_new_object();
	uint64_t bytes[NRT_EMU_STATS_NR_HOST] = { 0 }, device = 0;
	unsigned int i, j;
	char name[16];

	for (i = 0; i < stats->nr_cores; i++) {
		json_object *core = json_object_new_object();

		for (j = 0; j < NRT_EMU_STATS_NR_HOST; j++)
			bytes[j] += stats->cores[i].host_bytes[j];
		snprintf(name, sizeof(name), "%u", stats->cores[i].number);
		device += add_device(core, stats->cores[i].device_bytes, true);
		value_add(cores, name, core);
	}
	value_add(used, "host", value_count(add_host(host, bytes)));
	value_add(used, "neuron_device", value_count(device));
	value_add(breakdown, "host", host);
	value_add(breakdown, "neuroncore_memory_usage", cores);
	value_add(used, "usage_breakdown", breakdown);
	return used;
}

static json_object *subgraph(const struct nrt_emu_stats_model *model, unsigned int i)
{
	static const uint64_t none[NRT_EMU_STATS_NR_HOST];
	json_object *object = json_object_new_object(), *used = json_object_new_object();
	json_object *breakdown = json_object_new_object(), *host = json_object_new_object();
	json_object *device = json_object_new_object();

	value_add(used, "host", value_count(add_host(host, none)));
	value_add(used, "neuron_device",
		  value_count(add_device(device, model->device_bytes[i], false)));
	value_add(breakdown, "host", host);
	value_add(breakdown, "neuron_device", device);
	value_add(used, "usage_breakdown", breakdown);
	value_add(object, "memory_used_bytes", used);
	value_add(object, "neuroncore_index", value_count(model->core));
	value_add(object, "neuron_device_index", value_count(model->device));
	return object;
}

static json_object *loaded_model(const struct nrt_emu_stats_model *model)
{
	json_object *object = json_object_new_object(), *graphs = json_object_new_object();
	char text[2 * NRT_EMU_STATS_UUID + 1];
	unsigned int i;

	for (i = 0; i < NRT_EMU_STATS_UUID; i++)
		snprintf(text + 2 * i, 3, "%02x", model->uuid[i]);
	value_add(object, "name", value_text(model->name));
	value_add(object, "uuid", value_text(text));
	value_add(object, "model_id", value_count(model->model_id));
	value_add(object, "is_running", json_object_new_boolean(model->running));
	for (i = 0; i < model->nr_subgraphs; i++) {
		snprintf(text, sizeof(text), "sg_%02u", i);
		value_add(graphs, text, subgraph(model, i));
	}
	value_add(object, "subgraphs", graphs);
	return object;
}

static void add_memory(json_object *group, const struct nrt_emu_stats *stats)
{
	json_object *models = json_object_new_array();
	unsigned int i;

	for (i = 0; i < NRT_EMU_STATS_MAX_MODELS; i++)
		if (stats->models[i].model_id)
			value_append(models, loaded_model(&stats->models[i]));
	value_add(group, "neuron_runtime_used_bytes", used_bytes(stats));
	value_add(group, "loaded_models", models);
}

/* --- neuron_runtime_vcpu_usage --- */

/* Of all processors together. */
static json_object *vcpu_percent(uint64_t ticks, double seconds)
{
	double room = seconds * (double)sysconf(_SC_CLK_TCK) *
		      (double)sysconf(_SC_NPROCESSORS_ONLN);

	return value_number(room > 0 ? 100.0 * (double)ticks / room : 0, PERCENT_DIGITS);
}

static void add_vcpu(json_object *group, const struct look *from, const struct look *to)
{
	double seconds = seconds_between(from, to);
	json_object *usage = json_object_new_object();

	value_add(usage, "user", vcpu_percent(to->user_ticks - from->user_ticks, seconds));
	value_add(usage, "system", vcpu_percent(to->system_ticks - from->system_ticks, seconds));
	value_add(group, "vcpu_usage", usage);
}

json_object *report_runtime(const struct runtime *runtime, enum metric metric)
{
	const struct look *from = runtime->base[metric], *to = runtime->now;
	json_object *group = value_group(from->when_ns, to->when_ns);
	char error[64] = "";

	switch (metric) {
	case METRIC_NEURONCORE_COUNTERS:
		add_counters(group, runtime, from);
		break;
	case METRIC_EXECUTION_STATS:
		add_executions(group, runtime, from);
		break;
	case METRIC_MEMORY_USED:
		add_memory(group, to->stats);
		if (to->stats->models_left_out)
			snprintf(error, sizeof(error), "%u more models are loaded",
				 to->stats->models_left_out);
		break;
	default:
		add_vcpu(group, from, to);
		break;
	}
	value_add(group, "error", value_text(error));
	return group;
}
