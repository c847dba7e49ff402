// SPDX-License-Identifier: MIT
/* Tables of the digits job. */
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
		      uint64_t device_ns)
{
	struct digits_phase *phase;

	if (phases->count == DIGITS_MAX_PHASES)
		return;
	phase = &phases->phase[phases->count++];
	phase->name = name;
	phase->wall_ns = digits_now_ns() - phases->begin_ns;
	phase->device_ns = device_ns;
	phases->begin_ns = digits_now_ns();
}

void digits_print_phases(const struct digits_phases *phases)
{
	uint64_t wall = 0, device = 0;
	unsigned int i;

	printf("%-32s %12s %14s\n", "phase", "wall ms", "device us*");
	for (i = 0; i < phases->count; i++) {
		const struct digits_phase *phase = &phases->phase[i];

		printf("%-32s %12.2f", phase->name, phase->wall_ns / 1e6);
		if (phase->device_ns)
			printf(" %14.2f", phase->device_ns / 1e3);
		printf("\n");
		wall += phase->wall_ns;
		device += phase->device_ns;
	}
	printf("%-32s %12.2f %14.2f\n", "total", wall / 1e6, device / 1e3);
	printf("* modelled time of the device, the same on every run and host\n");
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
			fprintf(stderr, "neuron-digits: %s %zu: device %08x (%g), host %08x (%g)\n",
				what, i, a, device[i], b, host[i]);
	}
	return different;
}
