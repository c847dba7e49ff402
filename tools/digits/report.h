/* SPDX-License-Identifier: MIT */
/* What the digits jobs print, and their check against the host reference. */
#ifndef DIGITS_REPORT_H
#define DIGITS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlp.h"

#define DIGITS_MAX_PHASES	12

/* Modelled time of the device. */
struct digits_time {
	uint64_t ns;
	bool inexact;	/* it depends on how fast the host ran the device */
};

struct digits_phase {
	const char *name;
	uint64_t wall_ns;
	struct digits_time device;	/* 0: no device work */
};

/* Times of the phases, in the order of digits_phase_end(). */
struct digits_phases {
	struct digits_phase phase[DIGITS_MAX_PHASES];
	unsigned int count;
	uint64_t begin_ns;
};

void digits_phase_begin(struct digits_phases *phases);
/* @device: NULL: no device work. */
void digits_phase_end(struct digits_phases *phases, const char *name,
		      const struct digits_time *device);
void digits_print_phases(const struct digits_phases *phases);

void digits_print_confusion(float confusion[10][10]);

/*
 * Compare bit for bit; prints the first differences. Returns how many of @count
 * values differ.
 */
size_t digits_compare(const char *what, const float *device, const float *host,
		      size_t count);

#endif /* DIGITS_REPORT_H */
