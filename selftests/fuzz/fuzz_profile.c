// SPDX-License-Identifier: MIT
/*
 * Fuzz target: neuron-profile. The first byte of the input chooses what the rest is: a profile as
 * it is (even), or its lines behind a first one that is right (odd). Its NEFF is always the same
 * program, with a loop, queues, a generated packet and two physical cores. What is accepted is
 * summed up and shown in all ways.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron_builder.h"
#include "view.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR

static void add_core(struct nb_program *nb)
{
	const uint32_t shape[] = { 64, 64 };
	struct neuron_inst generate = { .opcode = NEURON_OP_DMA_GENERATE, .reg = { 2 } };
	struct neuron_ap tile = nb_tile(0, 64, 0, NEURON_DTYPE_FP32, 64);
	int x = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	int q = nb_queue(nb, "q", "in", SYNC, 2), sem = nb_sem(nb, false);
	uint32_t again;

	nb_queue(nb, "g", "dynamic", SYNC, 1);
	nb_source(nb, "fuzz.c", 1);
	nb_dma(nb, q, nb_sbuf_tile(nb, 0, 64, 0, 256), nb_linear(x, 0, 64 * 256), sem);
	nb_post(nb_raw(nb, SYNC, &generate), sem, 1);
	nb_halt(nb, SYNC);
	again = nb_here(nb, VECTOR);
	nb_wait_take(nb_tensor_tensor(nb, VECTOR, NEURON_ALU_ADD, tile, tile, tile), sem, 1);
	nb_loop(nb, VECTOR, 1, again);
	nb_halt(nb, VECTOR);
}

/* Made once, for the life of the process. */
static void *the_neff(size_t *size)
{
	static void *data;
	static size_t bytes;
	struct nb_program *nb;

	if (!data) {
		nb = nb_new("fuzz");
		add_core(nb);
		add_core(nb_second(nb));
		if (nb_pack(nb, &data, &bytes))
			abort();
		nb_free(nb);
	}
	*size = bytes;
	return data;
}

/* A first line for as many lines as there are, and these; for free(). */
static char *with_head(const uint8_t *data, size_t *size)
{
	size_t lines = 0, i;
	char *text;
	int length;

	for (i = 0; i < *size; i++)
		lines += data[i] == '\n';
	length = asprintf(&text,
			  "{\"format\":\"neuron-emu-profile\",\"version\":1,\"model_name\":\"fuzz\",\"core\":0,\"chip\":\"Trainium2\",\"start_ns\":0,\"end_ns\":99999,\"wall_ns\":1,\"instructions\":1,\"dma_bytes\":1,\"events\":%zu,\"lost\":0}\n%.*s",
			  lines, (int)*size, (const char *)data);
	if (length < 0)
		abort();
	*size = (size_t)length;
	return text;
}

static void show(const struct profile *profile, FILE *out)
{
	struct view_options options = { .by = SUM_NR_BYS };
	struct nrt_error error;

	for (options.format = VIEW_TABLE; options.format <= VIEW_CSV; options.format++)
		view_print(profile, &options, out, &error);
	options.format = VIEW_JSON;
	view_diff(profile, profile, &options, out, &error);
	view_trace(profile, out, &error);
	view_html(profile, &(struct source_folders){ 0 }, out, &error);
}

static void try_profile(const char *text, size_t size, FILE *out)
{
	struct profile *profile = calloc(1, sizeof(*profile));
	struct nrt_error error;
	size_t neff_size;
	void *neff = the_neff(&neff_size);

	if (!profile)
		return;
	profile->path = strdup("fuzz");
	if (profile->path && !profile_read(profile, text, size, &error) &&
	    !profile_read_neff(profile, neff, neff_size, &error) &&
	    !profile_link(profile, &error) && !profile_wait(profile, &error)) {
		profile_critical(profile);
		show(profile, out);
	}
	profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *out = fopen("/dev/null", "we");
	char *text;

	if (!out || !size--) {
		if (out)
			fclose(out);
		return 0;
	}
	if (*data++ % 2) {
		text = with_head(data, &size);
		try_profile(text, size, out);
		free(text);
	} else {
		try_profile((const char *)data, size, out);
	}
	fclose(out);
	return 0;
}
