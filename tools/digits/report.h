/* SPDX-License-Identifier: MIT */
/* What the digits job prints, and its check against the host reference. */
#ifndef DIGITS_REPORT_H
#define DIGITS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "mlp.h"

#define DIGITS_MAX_PHASES	12

struct digits_phase {
	const char *name;
	uint64_t wall_ns;
	uint64_t device_ns;	/* modelled, 0: no device work */
};

/* Times of the phases, in the order of digits_phase_end(). */
struct digits_phases {
	struct digits_phase phase[DIGITS_MAX_PHASES];
	unsigned int count;
	uint64_t begin_ns;
};

void digits_phase_begin(struct digits_phases *phases);
void digits_phase_end(struct digits_phases *phases, const char *name,
		      uint64_t device_ns);
void digits_print_phases(const struct digits_phases *phases);

void digits_print_confusion(float confusion[10][10]);

/*
 * Compare bit for bit; prints the first differences. Returns how many of @count
 * values differ.
 */
size_t digits_compare(const char *what, const float *device, const float *host,
		      size_t count);

#endif /* DIGITS_REPORT_H */
