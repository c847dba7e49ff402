/* SPDX-License-Identifier: MIT */
/*
 * The chips of this machine, as the driver describes them; shared by the tools.
 */
#ifndef TOOLS_CHIPS_H
#define TOOLS_CHIPS_H

#include <stdbool.h>
#include <stdint.h>

#include <drm/neuron_accel.h>

#define CHIPS_MAX_CORES	8
#define CHIPS_MAX_HBM	4
#define CHIPS_MAX_LINKS	16
#define CHIPS_MAX_ROWS	(CHIPS_MAX_CORES * 4)	/* groups of rows of tensor engines */

/**
 * struct chip - one chip
 * @node: device node
 * @fd: open read-write
 * @info, @hbm, @core, @link, @traffic: answers of the queries; @traffic is of the links
 * @rows: what each group of rows of each tensor engine did
 * @nr_rows: how many there are
 * @first_core: number of its core 0 among all chips
 */
struct chip {
	char node[300];	/* directory and any file name */
	int fd;
	struct drm_neuron_device_info info;
	struct drm_neuron_memory_info hbm[CHIPS_MAX_HBM];
	struct drm_neuron_core_info core[CHIPS_MAX_CORES];
	struct drm_neuron_link_info link[CHIPS_MAX_LINKS];
	struct drm_neuron_link_counter_info traffic[CHIPS_MAX_LINKS];
	struct drm_neuron_tensor_counter_info rows[CHIPS_MAX_ROWS];
	unsigned int nr_rows;
	unsigned int first_core;
};

/**
 * struct chips - the chips that answer
 * @chip: ordered by rack, server, chip
 * @left_out: others, which cannot be opened or asked
 */
struct chips {
	struct chip *chip;
	unsigned int count;
	unsigned int left_out;
};

/*
 * Open every chip. Returns 0, or -1 with one line in @why: no module, no device,
 * no permission. With some chips left out it says why the first one is.
 */
int chips_open(struct chips *chips, char *why, size_t size);
/* One line on stderr if chips were left out; @why is from chips_open(). */
void chips_warn(const struct chips *chips, const char *tool, const char *why);
void chips_close(struct chips *chips);

/* Ask again for memory and cores. Returns 0 or -1 (the device went away). */
int chip_refresh(struct chip *chip);
/* Ask for the traffic of the links and the work of the tensor engines, alike. */
int chip_refresh_counters(struct chip *chip);

/* What went wrong on the chip. */
int chip_errors(struct chip *chip, struct drm_neuron_counter_info *counters);

/*
 * Physical cores of a logical one, as libnrt is told: *@name is the variable of the environment.
 * 0: its value is none. Pairs are usual, and possible at all, from NeuronCore-v3 on.
 */
bool chips_pairs(const struct chips *chips);
unsigned int chips_lnc(const struct chips *chips, const char **name);

/* Index of the chip with that fabric id, or -1. */
int chips_find(const struct chips *chips, uint32_t fabric_id);

uint64_t chip_memory(const struct chip *chip);
uint64_t chip_memory_used(const struct chip *chip);

/* "0000:00:04.0"; @out has room for 16 bytes. */
void chip_bdf(const struct chip *chip, char *out);

/* "96 GB", "1.5 MB": binary multiples with the letters people know. */
void chip_format_bytes(uint64_t bytes, char *out, size_t size);

#endif /* TOOLS_CHIPS_H */
