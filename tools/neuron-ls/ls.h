/* SPDX-License-Identifier: MIT */
/* neuron-ls: what its files share. */
#ifndef NEURON_LS_H
#define NEURON_LS_H

#include "chips.h"

/* What follows counts logical cores, of @lnc NeuronCores each. */

/* Default table, with a row for each chip. */
int ls_table(const struct chips *chips, unsigned int lnc);
/* A row for each process that owns cores. */
int ls_wide(const struct chips *chips, unsigned int lnc);
/* Short table and the links as a grid. */
int ls_topology(const struct chips *chips, unsigned int lnc);
int ls_json(const struct chips *chips, unsigned int lnc);

/* Devices at the other ends of links that are up, in port order; their number. */
unsigned int ls_linked(const struct chips *chips, const struct chip *chip,
		       int device[CHIPS_MAX_LINKS]);
/* Is @device connected to @chip through switches only? */
bool ls_switched(const struct chips *chips, const struct chip *chip,
		 unsigned int device);
/* The links, drawn. */
void ls_draw(const struct chips *chips);

/* "1, 3", those behind switches as "4-15"; fabric ids become device numbers. */
void ls_connected(const struct chips *chips, const struct chip *chip, char *out,
		  size_t size);

/* CPUs near the chip ("0-1") and its NUMA node, from sysfs. */
void ls_affinity(const struct chip *chip, char *cpus, size_t size);
void ls_numa(const struct chip *chip, char *out, size_t size);

#endif /* NEURON_LS_H */
