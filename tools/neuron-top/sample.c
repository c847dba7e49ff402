// SPDX-License-Identifier: MIT
/* Looking at the chips, and the plain-text output. */
#include <stdio.h>
#include <time.h>

#include "process.h"
#include "top.h"

static uint64_t top_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void top_rates(struct top *top, unsigned int index)
{
	const struct chip *chip = &top->chips.chip[index];
	struct top_chip *rates = &top->chip[index];
	unsigned int i;

	for (i = 0; i < chip->info.nr_cores && i < TOP_MAX_CORES; i++) {
		const struct drm_neuron_core_info *core = &chip->core[i];

		if (top->interval > 0) {
			rates->percent[i] = (core->busy_ns - rates->busy_ns[i]) /
					    (top->interval * 1e7);
			rates->rate[i] = (core->jobs - rates->jobs[i]) /
					 top->interval;
		}
		if (rates->percent[i] > 100)
			rates->percent[i] = 100;
		rates->busy_ns[i] = core->busy_ns;
		rates->jobs[i] = core->jobs;
	}
}

static void top_tensor_rates(struct top *top, unsigned int index)
{
	const struct chip *chip = &top->chips.chip[index];
	uint64_t matmul[TOP_MAX_CORES] = { 0 }, cycles[TOP_MAX_CORES] = { 0 };
	struct top_chip *rates = &top->chip[index];
	unsigned int i;

	for (i = 0; i < chip->nr_rows; i++) {
		const struct drm_neuron_tensor_counter_info *rows = &chip->rows[i];

		if (rows->core >= TOP_MAX_CORES)
			continue;
		matmul[rows->core] += rows->matmul_cycles;
		cycles[rows->core] += rows->matmul_cycles + rows->weights_cycles +
				      rows->idle_cycles;
	}
	for (i = 0; i < TOP_MAX_CORES; i++) {
		uint64_t passed = cycles[i] - rates->cycles[i];

		rates->tensor[i] = passed && top->interval > 0 ?
			100.0 * (matmul[i] - rates->matmul[i]) / passed : 0;
		rates->matmul[i] = matmul[i];
		rates->cycles[i] = cycles[i];
	}
}

static void top_link_rates(struct top *top, unsigned int index)
{
	const struct chip *chip = &top->chips.chip[index];
	struct top_chip *rates = &top->chip[index];
	uint64_t sent = 0, received = 0;
	unsigned int i;

	for (i = 0; i < chip->info.nr_links && i < CHIPS_MAX_LINKS; i++) {
		sent += chip->traffic[i].bytes_sent;
		received += chip->traffic[i].bytes_received;
	}
	if (top->interval > 0) {
		rates->sent_rate = (sent - rates->sent) / top->interval;
		rates->received_rate = (received - rates->received) / top->interval;
	}
	rates->sent = sent;
	rates->received = received;
}

int top_sample(struct top *top)
{
	uint64_t now = top_now_ns();
	unsigned int i;

	top->interval = top->when_ns ? (now - top->when_ns) / 1e9 : 0;
	top->when_ns = now;
	for (i = 0; i < top->chips.count; i++) {
		if (chip_refresh(&top->chips.chip[i]) ||
		    chip_refresh_counters(&top->chips.chip[i]))
			return -1;
		top_rates(top, i);
		top_tensor_rates(top, i);
		top_link_rates(top, i);
	}
	return 0;
}

static void top_print_chip(const struct top *top, unsigned int index)
{
	const struct chip *chip = &top->chips.chip[index];
	char used[32], total[32];
	unsigned int i;

	chip_format_bytes(chip_memory_used(chip), used, sizeof(used));
	chip_format_bytes(chip_memory(chip), total, sizeof(total));
	printf("nd%-2u %-10s NC %%", index, chip->info.name);
	for (i = 0; i < chip->info.nr_cores && i < TOP_MAX_CORES; i++)
		printf(" %5.1f", top->chip[index].percent[i]);
	printf("   mem %s / %s\n", used, total);
}

int top_batch(struct top *top, double delay, unsigned long looks)
{
	struct timespec pause = { .tv_sec = delay,
				  .tv_nsec = (delay - (long)delay) * 1e9 };
	unsigned long n;
	unsigned int i;

	if (top_sample(top))
		return -1;
	for (n = 0; !looks || n < looks; n++) {
		nanosleep(&pause, NULL);
		if (top_sample(top))
			return -1;
		for (i = 0; i < top->chips.count; i++)
			top_print_chip(top, i);
		/* main() says that there is no room, if this is why. */
		if (fflush(stdout))
			return 0;
	}
	return 0;
}
