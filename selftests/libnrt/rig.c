// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

/* The programs are made for logical cores of one physical core, unless a test says otherwise. */
__attribute__((constructor)) static void set_lnc(void)
{
	setenv("NEURON_LOGICAL_NC_CONFIG", "1", 0);
}

bool rig_embedded(void)
{
	const char *backend = getenv("NEURON_RT_BACKEND");

	return backend && !strcmp(backend, "embedded");
}

/* The tests name embedded chips as TYPE:CHIPS. */
static unsigned int embedded_chips(void)
{
	const char *instance = getenv("NEURON_EMU_INSTANCE");
	const char *colon = instance ? strchr(instance, ':') : NULL;

	if (!rig_embedded())
		return 0;
	return colon ? (unsigned int)strtoul(colon + 1, NULL, 10) : 1;
}

unsigned int rig_chips(void)
{
	DIR *folder = opendir("/dev/accel");
	unsigned int chips = embedded_chips();
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		chips += !strncmp(entry->d_name, "accel", 5);
	if (folder)
		closedir(folder);
	return chips;
}

static NRT_STATUS add(int vnc, const char *name, nrt_tensor_t **tensor, nrt_tensor_set_t **set)
{
	NRT_STATUS status;

	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, PROGRAM_BYTES, name,
				     tensor);
	if (!status)
		status = nrt_allocate_tensor_set(set);
	if (!status)
		status = nrt_add_tensor_to_tensor_set(*set, name, *tensor);
	return status;
}

NRT_STATUS rig_load(struct rig *rig, struct program program, int vnc, uint32_t rank,
		    uint32_t ranks)
{
	NRT_STATUS status;

	memset(rig, 0, sizeof(*rig));
	if (ranks)
		status = nrt_load_collectives(program.data, program.size, vnc, -1, rank, ranks,
					      &rig->model);
	else
		status = nrt_load(program.data, program.size, vnc, -1, &rig->model);
	free(program.data);
	if (status)
		return status;
	status = add(vnc, "x", &rig->x, &rig->inputs);
	if (!status)
		status = add(vnc, "y", &rig->y, &rig->outputs);
	return status;
}

void rig_unload(struct rig *rig)
{
	if (rig->model)
		nrt_unload(rig->model);
	nrt_destroy_tensor_set(&rig->inputs);
	nrt_destroy_tensor_set(&rig->outputs);
	nrt_tensor_free(&rig->x);
	nrt_tensor_free(&rig->y);
	rig->model = NULL;
}

NRT_STATUS rig_run(struct rig *rig, const float *x, float *y)
{
	NRT_STATUS status;

	status = nrt_tensor_write(rig->x, x, 0, PROGRAM_BYTES);
	if (!status)
		status = nrt_execute(rig->model, rig->inputs, rig->outputs);
	if (!status)
		status = nrt_tensor_read(rig->y, y, 0, PROGRAM_BYTES);
	return status;
}

void rig_ramp(float *x, float first)
{
	unsigned int i;

	for (i = 0; i < RIG_VALUES; i++)
		x[i] = first + (float)i + 0.5f;
}

float rig_value(unsigned int rank, size_t i, unsigned int round)
{
	return (float)((rank * 7 + i * 3 + round) % 13) - 3;
}

float rig_sum(unsigned int first, unsigned int ranks, size_t i, unsigned int round)
{
	float sum = 0;
	unsigned int r;

	for (r = first; r < first + ranks; r++)
		sum += rig_value(r, i, round);
	return sum;
}

/* The tests of a harness run one at a time in a process. */
static struct {
	int memory;
	int stderr_copy;
	char text[4096];
} caught = { .memory = -1 };

void rig_catch(void)
{
	fflush(stderr);
	caught.memory = memfd_create("log", 0);
	caught.stderr_copy = dup(STDERR_FILENO);
	/* The position of a memfd has no lock: without O_APPEND threads overwrite each other. */
	if (caught.memory < 0 || caught.stderr_copy < 0 ||
	    fcntl(caught.memory, F_SETFL, O_APPEND) ||
	    dup2(caught.memory, STDERR_FILENO) < 0) {
		perror("rig_catch");
		abort();
	}
}

const char *rig_caught(void)
{
	ssize_t length;

	fflush(stderr);
	dup2(caught.stderr_copy, STDERR_FILENO);
	close(caught.stderr_copy);
	length = pread(caught.memory, caught.text, sizeof(caught.text) - 1, 0);
	close(caught.memory);
	caught.text[length < 0 ? 0 : length] = '\0';
	return caught.text;
}

bool rig_has(const char *text, const char *word)
{
	return strstr(text, word);
}

size_t rig_memory(uint32_t vnc)
{
	nrt_vnc_memory_stats_t stats = { 0 };

	if (nrt_get_vnc_memory_stats(vnc, &stats, sizeof(stats), NULL))
		return SIZE_MAX;
	return stats.bytes_used;
}

bool rig_memory_becomes(uint32_t vnc, size_t used)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	unsigned int tries;

	for (tries = 0; tries < 200; tries++) {
		if (rig_memory(vnc) == used)
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}
