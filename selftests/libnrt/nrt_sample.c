// SPDX-License-Identifier: MIT
/*
 * The flow of the public runtime guide: load a NEFF, allocate its tensors by what it says of
 * them, execute it, read the outputs. At its end it prints what the emulated device tells of
 * the execution.
 *
 * nrt-sample [--profile] NEFF [TENSOR=FILE]...: the file of an input is read, that of an output is
 * written. An input without a file counts up from 0, byte by byte. Of each output the first
 * bytes are printed. With --profile each instruction and transfer is printed, with its times.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt.h>
#include <nrt/nrt_emu.h>
#include <nrt/nrt_experimental.h>

#define SHOWN_BYTES	32
#define PROFILE_EVENTS	65536
/* Offset of the word in the header of a NEFF that says how many physical cores it needs. */
#define NEFF_LNC_SIZE	552

static bool ok(const char *what, NRT_STATUS status)
{
	if (status)
		fprintf(stderr, "%s: %s\n", what, nrt_get_status_as_str(status));
	return !status;
}

static void *read_open_file(FILE *file, size_t *size)
{
	long length;
	void *data;

	if (fseek(file, 0, SEEK_END))
		return NULL;
	length = ftell(file);
	if (length <= 0 || fseek(file, 0, SEEK_SET))
		return NULL;
	data = malloc((size_t)length);
	*size = (size_t)length;
	if (data && fread(data, 1, *size, file) != *size) {
		free(data);
		return NULL;
	}
	return data;
}

/* The contents of a file, for free(); NULL with a message. */
static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *data;

	if (!file) {
		perror(path);
		return NULL;
	}
	data = read_open_file(file, size);
	if (!data)
		fprintf(stderr, "%s: cannot be read\n", path);
	fclose(file);
	return data;
}

static bool write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	bool done;

	if (!file) {
		perror(path);
		return false;
	}
	done = fwrite(data, 1, size, file) == size;
	/* The last bytes are written when the file is closed. */
	done = !fclose(file) && done;
	if (!done)
		fprintf(stderr, "%s: cannot be written\n", path);
	return done;
}

/* The FILE of an argument NAME=FILE, or NULL. */
static const char *find_file(const char *name, char **args)
{
	size_t length = strlen(name);

	for (; *args; args++)
		if (!strncmp(*args, name, length) && (*args)[length] == '=')
			return *args + length + 1;
	return NULL;
}

static bool fill_input(nrt_tensor_t *tensor, const nrt_tensor_info_t *info, char **args)
{
	const char *path = find_file(info->name, args);
	uint8_t *data;
	size_t size = info->size, i;
	bool done;

	data = path ? read_file(path, &size) : malloc(size);
	if (!data)
		return false;
	for (i = 0; !path && i < size; i++)
		data[i] = (uint8_t)i;
	done = ok("nrt_tensor_write", nrt_tensor_write(tensor, data, 0, size));
	free(data);
	return done;
}

static bool add_tensor(nrt_tensor_set_t *set, const nrt_tensor_info_t *info, char **args)
{
	nrt_tensor_t *tensor;

	if (!ok("nrt_tensor_allocate", nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
							   info->size, info->name, &tensor)))
		return false;
	if (!ok("nrt_add_tensor_to_tensor_set",
		nrt_add_tensor_to_tensor_set(set, info->name, tensor))) {
		nrt_tensor_free(&tensor);
		return false;
	}
	return info->usage == NRT_TENSOR_USAGE_OUTPUT || fill_input(tensor, info, args);
}

static void print_bytes(const char *name, const uint8_t *data, size_t size)
{
	size_t shown = size < SHOWN_BYTES ? size : SHOWN_BYTES;
	size_t i;

	printf("%s:", name);
	for (i = 0; i < shown; i++)
		printf(" %02x", data[i]);
	printf("%s\n", shown < size ? " ..." : "");
}

static bool show_output(nrt_tensor_set_t *set, const nrt_tensor_info_t *info, char **args)
{
	const char *path = find_file(info->name, args);
	nrt_tensor_t *tensor;
	uint8_t *data;
	bool done;

	if (!ok("nrt_get_tensor_from_tensor_set",
		nrt_get_tensor_from_tensor_set(set, info->name, &tensor)))
		return false;
	data = malloc(info->size);
	if (!data)
		return false;
	done = ok("nrt_tensor_read", nrt_tensor_read(tensor, data, 0, info->size)) &&
	       (!path || write_file(path, data, info->size));
	if (done)
		print_bytes(info->name, data, info->size);
	free(data);
	return done;
}

static bool show_execution(const nrt_model_t *model)
{
	nrt_emu_execution_t execution = { 0 };

	if (!ok("nrt_emu_get_last_execution",
		nrt_emu_get_last_execution(model, &execution, sizeof(execution))))
		return false;
	printf("device time %" PRIu64 " ns%s, %" PRIu64 " instructions, %" PRIu64 " bytes by DMA\n",
	       execution.end_ns - execution.start_ns,
	       execution.flags & NRT_EMU_INEXACT ? " (inexact)" : "", execution.instructions,
	       execution.dma_bytes);
	return true;
}

static const char *engine_name(unsigned int engine)
{
	static const char * const names[] = { "tensor", "vector", "scalar", "gpsimd", "sync" };

	return engine < sizeof(names) / sizeof(names[0]) ? names[engine] : "?";
}

static void print_event(const nrt_emu_event_t *event, uint64_t start_ns)
{
	char what[64];

	if (event->kind == NRT_EMU_TRANSFER)
		snprintf(what, sizeof(what), "dma %u.%u", event->source / 16u, event->source % 16u);
	else
		snprintf(what, sizeof(what), "%s", engine_name(event->source));
	printf("%10" PRIu64 " %10" PRIu64 "  %-8s %6u  ", event->begin_ns - start_ns,
	       event->end_ns - start_ns, what, event->pc);
	if (event->kind == NRT_EMU_TRANSFER)
		printf("%" PRIu64 " bytes", event->bytes);
	else
		printf("opcode 0x%02x", event->code);
	printf("%s\n", event->flags & NRT_EMU_INEXACT ? "  (inexact)" : "");
}

static bool show_profile(const nrt_model_t *model)
{
	nrt_emu_execution_t execution = { 0 };
	nrt_emu_event_t *events;
	size_t count = PROFILE_EVENTS, i;
	uint64_t lost = 0;
	bool done;

	events = calloc(count, sizeof(*events));
	if (!events)
		return false;
	done = ok("nrt_emu_get_trace", nrt_emu_get_trace(model, events, &count, &lost)) &&
	       ok("nrt_emu_get_last_execution",
		  nrt_emu_get_last_execution(model, &execution, sizeof(execution)));
	if (done) {
		printf("%10s %10s  %-8s %6s\n", "begin ns", "end ns", "unit", "pc");
		for (i = 0; i < count; i++)
			print_event(&events[i], execution.start_ns);
		if (lost)
			printf("%" PRIu64 " more are not shown\n", lost);
	}
	free(events);
	return done;
}

static void free_tensors(nrt_tensor_set_t *sets[2], const nrt_tensor_info_array_t *infos)
{
	nrt_tensor_t *tensor;
	uint64_t i;

	for (i = 0; i < infos->tensor_count; i++) {
		const nrt_tensor_info_t *info = &infos->tensor_array[i];

		if (!nrt_get_tensor_from_tensor_set(sets[info->usage], info->name, &tensor))
			nrt_tensor_free(&tensor);
	}
}

static bool run(nrt_model_t *model, nrt_tensor_info_array_t *infos, nrt_tensor_set_t *sets[2],
		char **args)
{
	uint64_t i;

	for (i = 0; i < infos->tensor_count; i++) {
		const nrt_tensor_info_t *info = &infos->tensor_array[i];

		printf("%s %s: %zu bytes\n",
		       info->usage == NRT_TENSOR_USAGE_INPUT ? "input" : "output", info->name,
		       info->size);
		if (!add_tensor(sets[info->usage], info, args))
			return false;
	}
	if (!ok("nrt_execute", nrt_execute(model, sets[0], sets[1])))
		return false;
	for (i = 0; i < infos->tensor_count; i++)
		if (infos->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT &&
		    !show_output(sets[1], &infos->tensor_array[i], args))
			return false;
	return show_execution(model);
}

static bool use_model(nrt_model_t *model, char **args)
{
	nrt_tensor_set_t *sets[2] = { NULL, NULL };
	nrt_tensor_info_array_t *infos;
	bool done = false;

	if (!ok("nrt_get_model_tensor_info", nrt_get_model_tensor_info(model, &infos)))
		return false;
	if (ok("nrt_allocate_tensor_set", nrt_allocate_tensor_set(&sets[0])) &&
	    ok("nrt_allocate_tensor_set", nrt_allocate_tensor_set(&sets[1]))) {
		done = run(model, infos, sets, args);
		free_tensors(sets, infos);
	}
	nrt_destroy_tensor_set(&sets[0]);
	nrt_destroy_tensor_set(&sets[1]);
	nrt_free_model_tensor_info(infos);
	return done;
}

static bool use_loaded(nrt_model_t *model, bool profile, char **args)
{
	if (!profile)
		return use_model(model, args);
	return ok("nrt_emu_set_trace", nrt_emu_set_trace(model, PROFILE_EVENTS)) &&
	       use_model(model, args) && show_profile(model);
}

/* Unless the environment says something else, the logical cores are those that @neff needs. */
static void name_lnc(const uint8_t *neff, size_t size)
{
	setenv("NEURON_LOGICAL_NC_CONFIG",
	       size > NEFF_LNC_SIZE && neff[NEFF_LNC_SIZE] == 2 ? "2" : "1", 0);
}

int main(int argc, char **argv)
{
	const bool profile = argc > 1 && !strcmp(argv[1], "--profile");
	nrt_model_t *model;
	bool done = false;
	size_t size = 0;
	void *neff;

	if (argc < 2 + profile) {
		fprintf(stderr, "usage: %s [--profile] NEFF [TENSOR=FILE]...\n", argv[0]);
		return 2;
	}
	argv += profile;
	/* Also in a pipe: in order with the library's log, which goes to standard error. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	neff = read_file(argv[1], &size);
	if (!neff)
		return 1;
	name_lnc(neff, size);
	if (ok("nrt_init", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))) {
		if (ok("nrt_load", nrt_load(neff, size, 0, -1, &model))) {
			done = use_loaded(model, profile, argv + 2);
			done = ok("nrt_unload", nrt_unload(model)) && done;
		}
		nrt_close();
	}
	free(neff);
	return done ? 0 : 1;
}
