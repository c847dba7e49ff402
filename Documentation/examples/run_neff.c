// SPDX-License-Identifier: MIT
/*
 * What the sample of the public runtime guide does: load a NEFF, fill its inputs from files,
 * execute it, and write its outputs to files.
 *
 *   run_neff NEFF [INPUT FILE]...
 *
 * An input that is not named is zero. Output y goes to y.out in the current folder. A NEFF for one
 * physical core, such as add.neff, needs NEURON_LOGICAL_NC_CONFIG=1 on Trainium2 and Trainium3.
 *
 *   cc run_neff.c -o run_neff $(pkg-config --cflags --libs libnrt)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

struct bytes {
	void *data;
	size_t size;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "run_neff: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

/* The library has written a line that says more. */
static void check(const char *call, NRT_STATUS status)
{
	if (status != NRT_SUCCESS)
		fail(call, nrt_get_status_as_str(status));
}

static struct bytes read_file(const char *path)
{
	struct bytes bytes = { NULL, 0 };
	FILE *file = fopen(path, "rb");
	long size;

	if (!file)
		fail(path, strerror(errno));
	if (fseek(file, 0, SEEK_END))
		fail(path, strerror(errno));
	size = ftell(file);
	if (size < 0 || fseek(file, 0, SEEK_SET))
		fail(path, strerror(errno));
	bytes.size = (size_t)size;
	bytes.data = malloc(bytes.size + 1);
	if (!bytes.data)
		fail(path, "out of memory");
	if (fread(bytes.data, 1, bytes.size, file) != bytes.size)
		fail(path, "cannot be read");
	fclose(file);
	return bytes;
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		fail(path, strerror(errno));
	/* The last bytes are written when the file is closed. */
	if (fwrite(data, 1, size, file) != size || fclose(file))
		fail(path, "cannot be written");
}

/* A set with a new tensor on core 0 for each input, or for each output, of the model. */
static nrt_tensor_set_t *make_set(const nrt_tensor_info_array_t *infos, nrt_tensor_usage_t usage)
{
	nrt_tensor_set_t *set;
	uint64_t i;

	check("nrt_allocate_tensor_set", nrt_allocate_tensor_set(&set));
	for (i = 0; i < infos->tensor_count; i++) {
		const nrt_tensor_info_t *info = &infos->tensor_array[i];
		nrt_tensor_t *tensor;

		if (info->usage != usage)
			continue;
		check("nrt_tensor_allocate",
		      nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, info->size, info->name,
					  &tensor));
		check("nrt_add_tensor_to_tensor_set",
		      nrt_add_tensor_to_tensor_set(set, info->name, tensor));
	}
	return set;
}

/* The tensor of a set that belongs to @info. */
static nrt_tensor_t *find(nrt_tensor_set_t *set, const nrt_tensor_info_t *info)
{
	nrt_tensor_t *tensor;

	check("nrt_get_tensor_from_tensor_set",
	      nrt_get_tensor_from_tensor_set(set, info->name, &tensor));
	return tensor;
}

/* @args is a list of names and files, with NULL at its end. */
static void fill_input(nrt_tensor_set_t *set, const nrt_tensor_info_t *info, char **args)
{
	struct bytes bytes;

	while (args[0] && args[1] && strcmp(args[0], info->name))
		args += 2;
	if (!args[0] || !args[1]) {
		fprintf(stderr, "run_neff: input %s is zero\n", info->name);
		return;
	}
	bytes = read_file(args[1]);
	if (bytes.size != info->size) {
		fprintf(stderr, "run_neff: %s: has %zu bytes, but input %s has %zu\n", args[1],
			bytes.size, info->name, info->size);
		exit(EXIT_FAILURE);
	}
	check("nrt_tensor_write", nrt_tensor_write(find(set, info), bytes.data, 0, bytes.size));
	free(bytes.data);
}

static void save_output(nrt_tensor_set_t *set, const nrt_tensor_info_t *info)
{
	char path[NRT_TENSOR_NAME_MAX + sizeof(".out")];
	void *data = malloc(info->size);

	if (!data)
		fail(info->name, "out of memory");
	check("nrt_tensor_read", nrt_tensor_read(find(set, info), data, 0, info->size));
	snprintf(path, sizeof(path), "%s.out", info->name);
	write_file(path, data, info->size);
	free(data);
}

static void free_set(nrt_tensor_set_t *set, const nrt_tensor_info_array_t *infos,
		     nrt_tensor_usage_t usage)
{
	uint64_t i;

	for (i = 0; i < infos->tensor_count; i++) {
		nrt_tensor_t *tensor;

		if (infos->tensor_array[i].usage != usage)
			continue;
		tensor = find(set, &infos->tensor_array[i]);
		nrt_tensor_free(&tensor);
	}
	nrt_destroy_tensor_set(&set);
}

static void run(nrt_model_t *model, char **args)
{
	nrt_tensor_info_array_t *infos;
	nrt_tensor_set_t *inputs, *outputs;
	uint64_t i;

	check("nrt_get_model_tensor_info", nrt_get_model_tensor_info(model, &infos));
	inputs = make_set(infos, NRT_TENSOR_USAGE_INPUT);
	outputs = make_set(infos, NRT_TENSOR_USAGE_OUTPUT);
	for (i = 0; i < infos->tensor_count; i++)
		if (infos->tensor_array[i].usage == NRT_TENSOR_USAGE_INPUT)
			fill_input(inputs, &infos->tensor_array[i], args);

	check("nrt_execute", nrt_execute(model, inputs, outputs));

	for (i = 0; i < infos->tensor_count; i++)
		if (infos->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT)
			save_output(outputs, &infos->tensor_array[i]);
	free_set(inputs, infos, NRT_TENSOR_USAGE_INPUT);
	free_set(outputs, infos, NRT_TENSOR_USAGE_OUTPUT);
	nrt_free_model_tensor_info(infos);
}

int main(int argc, char **argv)
{
	nrt_model_t *model;
	struct bytes neff;

	if (argc < 2 || argc % 2) {
		fprintf(stderr, "usage: run_neff NEFF [INPUT FILE]...\n");
		return 2;
	}
	neff = read_file(argv[1]);
	check("nrt_init", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	check("nrt_load", nrt_load(neff.data, neff.size, 0, -1, &model));
	free(neff.data);
	run(model, argv + 2);
	check("nrt_unload", nrt_unload(model));
	nrt_close();
	return 0;
}
