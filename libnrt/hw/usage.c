// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hw/bo.h"
#include "hw/usage.h"

#define NAME_WIDTH	36
#define BYTES_WIDTH	12

/* Columns of the table, in this order; the last one has all other categories. */
enum column { CODE, RINGS, CONSTANTS, SCRATCH, TENSORS, NOTIFICATIONS, OTHER, NR_COLUMNS };

static const char *const titles[NR_COLUMNS] = {
	[CODE] = "code",
	[RINGS] = "rings",
	[CONSTANTS] = "constants",
	[SCRATCH] = "scratch",
	[TENSORS] = "tensors",
	[NOTIFICATIONS] = "notify",
	[OTHER] = "other",
};

static enum column column_of(unsigned int category)
{
	switch (category) {
	case DRM_NEURON_CATEGORY_CODE:
		return CODE;
	case DRM_NEURON_CATEGORY_DMA_RINGS:
		return RINGS;
	case DRM_NEURON_CATEGORY_CONSTANTS:
		return CONSTANTS;
	case DRM_NEURON_CATEGORY_SHARED_SCRATCHPAD:
	case DRM_NEURON_CATEGORY_SCRATCHPAD:
		return SCRATCH;
	case DRM_NEURON_CATEGORY_TENSORS:
		return TENSORS;
	case DRM_NEURON_CATEGORY_NOTIFICATIONS:
		return NOTIFICATIONS;
	default:
		return OTHER;
	}
}

/* A row: bytes by column, and in all. */
struct row {
	uint64_t bytes[NR_COLUMNS];
	uint64_t total;
};

static void count(struct row *row, unsigned int category, uint64_t bytes)
{
	row->bytes[column_of(category)] += bytes;
	row->total += bytes;
}

static void add_row(struct row *sum, const struct row *row)
{
	unsigned int i;

	for (i = 0; i < NR_COLUMNS; i++)
		sum->bytes[i] += row->bytes[i];
	sum->total += row->total;
}

/* "12.5 MiB", with a digit behind the point but for bytes. */
static void print_bytes(FILE *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	unsigned int unit = 0;
	char text[32];

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	fprintf(out, "%*s", BYTES_WIDTH, text);
}

static void print_row(FILE *out, const char *name, const struct row *row)
{
	unsigned int i;

	fprintf(out, "%-*.*s", NAME_WIDTH, NAME_WIDTH, name);
	for (i = 0; i < NR_COLUMNS; i++)
		if (row->bytes[i])
			print_bytes(out, row->bytes[i]);
		else
			fprintf(out, "%*s", BYTES_WIDTH, "-");
	print_bytes(out, row->total);
	fprintf(out, "\n");
}

static void print_titles(FILE *out)
{
	unsigned int i;

	fprintf(out, "%-*s", NAME_WIDTH, "holder");
	for (i = 0; i < NR_COLUMNS; i++)
		fprintf(out, "%*s", BYTES_WIDTH, titles[i]);
	fprintf(out, "%*s\n", BYTES_WIDTH, "total");
}

/* A buffer of several kinds; what its alignment costs is "other". */
static struct row row_of(const struct nrt_bo *bo)
{
	struct row row = { .total = 0 };
	unsigned int i;

	for (i = 0; i < DRM_NEURON_NR_CATEGORIES; i++)
		count(&row, i, bo->usage->bytes[i]);
	if (bo->size > row.total)
		count(&row, DRM_NEURON_CATEGORY_NONE, bo->size - row.total);
	return row;
}

static bool lies_in(const struct nrt_bo *bo, uint32_t stack)
{
	return bo->handle && !bo->origin && bo->placement == DRM_NEURON_BO_HBM &&
	       bo->stack == stack;
}

/* With the device's lock: a row for each buffer with a holder, and one for the others. */
static void print_own(FILE *out, struct nrt_device *device, uint32_t stack, struct row *sum)
{
	struct row rest = { .total = 0 }, row;
	const struct nrt_bo *bo;
	unsigned int nr = 0;
	char name[48];

	for (bo = device->bos; bo; bo = bo->next) {
		if (!lies_in(bo, stack))
			continue;
		if (!bo->usage) {
			count(&rest, bo->category, bo->size);
			nr++;
			continue;
		}
		row = row_of(bo);
		print_row(out, bo->usage->name, &row);
		add_row(sum, &row);
	}
	if (!nr)
		return;
	snprintf(name, sizeof(name), "%u tensors and other buffers", nr);
	print_row(out, name, &rest);
	add_row(sum, &rest);
}

static void print_table(FILE *out, struct nrt_device *device, uint32_t stack, uint64_t bytes,
			const struct drm_neuron_memory_info *info)
{
	struct row sum = { .total = 0 }, others = { .total = 0 };

	fprintf(out, "HBM stack %u of %s:", stack, nrt_device_path(device));
	print_bytes(out, info->usable);
	fprintf(out, ", in use:");
	print_bytes(out, info->used);
	fprintf(out, ", wanted:");
	print_bytes(out, bytes);
	fprintf(out, "\n");
	print_titles(out);
	pthread_mutex_lock(&device->lock);
	print_own(out, device, stack, &sum);
	pthread_mutex_unlock(&device->lock);
	if (info->used > sum.total) {
		count(&others, DRM_NEURON_CATEGORY_NONE, info->used - sum.total);
		print_row(out, "other processes and the driver", &others);
		add_row(&sum, &others);
	}
	print_row(out, "total", &sum);
}

/* The first word of each line is where a failed call has its name. */
static void log_lines(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && *line)
		nrt_log(NRT_LOG_ERROR, "memory", "%s", line);
}

void nrt_usage_tell(struct nrt_device *device, uint32_t stack, uint64_t bytes,
		    const struct drm_neuron_memory_info *info)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!device->memory_table || !nrt_log_wants(NRT_LOG_ERROR))
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	print_table(out, device, stack, bytes, info);
	if (!fclose(out))
		log_lines(text);
	free(text);
}
