// SPDX-License-Identifier: MIT
/* Find, open and query the chips. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

#include "chips.h"

#define CHIPS_DIR	"/dev/accel"
#define CHIPS_MODULE	"/sys/module/neuron"

/* Return: how many elements were written, at most @count, or -1. */
static int chip_query_some(struct chip *chip, uint32_t type, void *out, size_t size,
			   uint32_t count)
{
	struct drm_neuron_query query = {
		.type = type,
		.answer = { (uint32_t)size, count, (uintptr_t)out },
	};

	if (drmIoctl(chip->fd, DRM_IOCTL_NEURON_QUERY, &query))
		return -1;
	return (int)(query.answer.count < count ? query.answer.count : count);
}

static int chip_query(struct chip *chip, uint32_t type, void *out, size_t size, uint32_t count)
{
	return chip_query_some(chip, type, out, size, count) < 0 ? -1 : 0;
}

static bool chip_is_neuron(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	bool yes = version && !strcmp(version->name, "neuron");

	drmFreeVersion(version);
	return yes;
}

int chip_refresh(struct chip *chip)
{
	if (chip_query(chip, DRM_NEURON_QUERY_MEMORY, chip->hbm,
		       sizeof(chip->hbm[0]), CHIPS_MAX_HBM))
		return -1;
	return chip_query(chip, DRM_NEURON_QUERY_CORES, chip->core,
			  sizeof(chip->core[0]), CHIPS_MAX_CORES);
}

int chip_refresh_counters(struct chip *chip)
{
	int nr = chip_query_some(chip, DRM_NEURON_QUERY_TENSOR_COUNTERS, chip->rows,
				 sizeof(chip->rows[0]), CHIPS_MAX_ROWS);

	if (nr < 0)
		return -1;
	chip->nr_rows = (unsigned int)nr;
	return chip_query(chip, DRM_NEURON_QUERY_LINK_COUNTERS, chip->traffic,
			  sizeof(chip->traffic[0]), CHIPS_MAX_LINKS);
}

int chip_errors(struct chip *chip, struct drm_neuron_counter_info *counters)
{
	return chip_query(chip, DRM_NEURON_QUERY_COUNTERS, counters, sizeof(*counters), 1);
}

/* Returns 1: a chip of ours, 0: not, -1: errno says why it cannot be used. */
static int chip_open(struct chip *chip, const char *name)
{
	memset(chip, 0, sizeof(*chip));
	snprintf(chip->node, sizeof(chip->node), "%s/%s", CHIPS_DIR, name);
	chip->fd = open(chip->node, O_RDWR | O_CLOEXEC);
	if (chip->fd < 0)
		return -1;
	if (!chip_is_neuron(chip->fd)) {
		close(chip->fd);
		return 0;
	}
	if (!chip_query(chip, DRM_NEURON_QUERY_DEVICE, &chip->info,
			sizeof(chip->info), 1) &&
	    !chip_query(chip, DRM_NEURON_QUERY_LINKS, chip->link,
			sizeof(chip->link[0]), CHIPS_MAX_LINKS) &&
	    !chip_refresh(chip))
		return 1;
	close(chip->fd);
	return -1;
}

static int chips_order(const void *a, const void *b)
{
	const struct drm_neuron_device_info *x = &((const struct chip *)a)->info;
	const struct drm_neuron_device_info *y = &((const struct chip *)b)->info;

	if (x->rack != y->rack)
		return x->rack < y->rack ? -1 : 1;
	if (x->server != y->server)
		return x->server < y->server ? -1 : 1;
	return (x->chip > y->chip) - (x->chip < y->chip);
}

static void chips_number(struct chips *chips)
{
	unsigned int i, core = 0;

	qsort(chips->chip, chips->count, sizeof(*chips->chip), chips_order);
	for (i = 0; i < chips->count; i++) {
		chips->chip[i].first_core = core;
		core += chips->chip[i].info.nr_cores;
	}
}

static int chips_none(char *why, size_t size)
{
	const char *backend = getenv("NEURON_RT_BACKEND");

	if (backend && !strcmp(backend, "embedded"))
		snprintf(why, size,
			 "NEURON_RT_BACKEND=embedded: the chips are in the process that uses libnrt, and only that one sees them; neuron-sim --profile and neuron-profile show what they do");
	else if (access(CHIPS_MODULE, F_OK))
		snprintf(why, size, "the neuron module is not loaded; try: modprobe neuron");
	else
		snprintf(why, size,
			 "the neuron module is loaded but drives no device; see dmesg");
	return -1;
}

int chips_open(struct chips *chips, char *why, size_t size)
{
	struct dirent *entry;
	struct chip *grown;
	DIR *dir;
	int ret;

	memset(chips, 0, sizeof(*chips));
	dir = opendir(CHIPS_DIR);
	if (!dir)
		return chips_none(why, size);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "accel", 5))
			continue;
		grown = realloc(chips->chip,
				(chips->count + 1) * sizeof(*grown));
		if (!grown) {
			snprintf(why, size, "out of memory");
			goto fail;
		}
		chips->chip = grown;
		ret = chip_open(&grown[chips->count], entry->d_name);
		if (ret < 0 && !chips->left_out++)
			snprintf(why, size, "%s: %s", grown[chips->count].node,
				 strerror(errno));
		chips->count += ret > 0;
	}
	closedir(dir);
	if (!chips->count)
		goto none;
	chips_number(chips);
	return 0;
none:
	ret = chips->left_out ? -1 : chips_none(why, size);
	chips_close(chips);
	return ret;
fail:
	closedir(dir);
	chips_close(chips);
	return -1;
}

void chips_warn(const struct chips *chips, const char *tool, const char *why)
{
	if (chips->left_out == 1)
		fprintf(stderr, "%s: %s; that chip is left out\n", tool, why);
	else if (chips->left_out)
		fprintf(stderr, "%s: %s; that chip and %u more are left out\n", tool, why,
			chips->left_out - 1);
}

void chips_close(struct chips *chips)
{
	unsigned int i;

	for (i = 0; i < chips->count; i++)
		close(chips->chip[i].fd);
	free(chips->chip);
	memset(chips, 0, sizeof(*chips));
}

bool chips_pairs(const struct chips *chips)
{
	return chips->count && chips->chip[0].info.generation >= 3;
}

/* A variable that is "" is not set. */
unsigned int chips_lnc(const struct chips *chips, const char **name)
{
	static const char *const names[] = {
		"NEURON_LOGICAL_NC_CONFIG", "NEURON_RT_VIRTUAL_CORE_SIZE",
	};
	unsigned int usual = chips_pairs(chips) ? 2 : 1, i;
	const char *text;

	for (i = 0; i < 2; i++) {
		*name = names[i];
		text = getenv(names[i]);
		if (!text || !*text)
			continue;
		if (!strcmp(text, "1"))
			return 1;
		return strcmp(text, "2") ? 0 : usual;
	}
	return usual;
}

int chips_find(const struct chips *chips, uint32_t fabric_id)
{
	unsigned int i;

	for (i = 0; i < chips->count; i++)
		if (chips->chip[i].info.fabric_id == fabric_id)
			return i;
	return -1;
}

uint64_t chip_memory(const struct chip *chip)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < chip->info.nr_hbm && i < CHIPS_MAX_HBM; i++)
		sum += chip->hbm[i].size;
	return sum;
}

uint64_t chip_memory_used(const struct chip *chip)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < chip->info.nr_hbm && i < CHIPS_MAX_HBM; i++)
		sum += chip->hbm[i].used;
	return sum;
}

void chip_bdf(const struct chip *chip, char *out)
{
	snprintf(out, 16, "%04x:%02x:%02x.%x", chip->info.pci_domain & 0xffff,
		 chip->info.pci_bus & 0xff, (chip->info.pci_devfn >> 3) & 31,
		 chip->info.pci_devfn & 7);
}

void chip_format_bytes(uint64_t bytes, char *out, size_t size)
{
	static const char *const unit[] = { "B", "KB", "MB", "GB", "TB" };
	double value = bytes;
	unsigned int i = 0;

	while (value >= 1024 && i < 4) {
		value /= 1024;
		i++;
	}
	if (value == (uint64_t)value)
		snprintf(out, size, "%.0f %s", value, unit[i]);
	else
		snprintf(out, size, "%.1f %s", value, unit[i]);
}
