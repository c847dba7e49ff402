// SPDX-License-Identifier: MIT
/* Tables of the digits jobs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report.h"

#define DIGITS_SHOWN	5	/* differences printed in full */

static uint64_t digits_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void digits_phase_begin(struct digits_phases *phases)
{
	phases->begin_ns = digits_now_ns();
}

void digits_phase_end(struct digits_phases *phases, const char *name,
		      const struct digits_time *device)
{
	struct digits_phase *phase;

	if (phases->count == DIGITS_MAX_PHASES)
		return;
	phase = &phases->phase[phases->count++];
	phase->name = name;
	phase->wall_ns = digits_now_ns() - phases->begin_ns;
	phase->device = device ? *device : (struct digits_time){ 0 };
	phases->begin_ns = digits_now_ns();
}

static void digits_print_phase(const struct digits_phase *phase)
{
	printf("%-32s %12.2f", phase->name, phase->wall_ns / 1e6);
	if (phase->device.ns)
		printf(" %14.2f%s", phase->device.ns / 1e3,
		       phase->device.inexact ? " inexact" : "");
	printf("\n");
}

void digits_print_phases(const struct digits_phases *phases)
{
	struct digits_phase total = { .name = "total" };
	unsigned int i;

	printf("%-32s %12s %14s\n", "phase", "wall ms", "device us*");
	for (i = 0; i < phases->count; i++) {
		const struct digits_phase *phase = &phases->phase[i];

		digits_print_phase(phase);
		total.wall_ns += phase->wall_ns;
		total.device.ns += phase->device.ns;
		total.device.inexact |= phase->device.inexact;
	}
	digits_print_phase(&total);
	printf("* modelled time of the device, the same on every run and host%s\n",
	       total.device.inexact ? " unless it is inexact" : "");
}

void digits_print_confusion(float confusion[10][10])
{
	unsigned int label, prediction;

	printf("held-out images: rows are labels, columns predictions\n     ");
	for (prediction = 0; prediction < 10; prediction++)
		printf("%5u", prediction);
	printf("\n");
	for (label = 0; label < 10; label++) {
		printf("%5u", label);
		for (prediction = 0; prediction < 10; prediction++) {
			if (confusion[label][prediction] == 0)
				printf("    .");
			else
				printf("%5.0f", confusion[label][prediction]);
		}
		printf("\n");
	}
}

size_t digits_compare(const char *what, const float *device, const float *host,
		      size_t count)
{
	size_t different = 0, i;
	uint32_t a, b;

	for (i = 0; i < count; i++) {
		memcpy(&a, &device[i], sizeof(a));
		memcpy(&b, &host[i], sizeof(b));
		if (a == b)
			continue;
		if (different++ < DIGITS_SHOWN)
			fprintf(stderr, "%s: %s %zu: device %08x (%g), host %08x (%g)\n",
				program_invocation_short_name, what, i, a, device[i], b, host[i]);
	}
	return different;
}
