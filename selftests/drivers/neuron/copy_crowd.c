// SPDX-License-Identifier: MIT
/*
 * copy_crowd DEVICE THREADS: as many threads copy 8 MiB each to one stack of HBM, at once and in
 * as many pieces as there are pages. Eight of them fill the rings of two copy queues. The answer
 * is "@ret=ERRNO", of the first copy that failed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "neuron_test.h"

#define MAX_THREADS	64
#define PAGE		4096
#define BYTES		(8u << 20)

static int fd;
static uint8_t *memory;

/* One page again and again: no page has the one behind it as its neighbour in memory. */
static uint8_t *make_memory(void)
{
	int file = memfd_create("copy_crowd", 0);
	uint8_t *map, *at;

	if (file < 0 || ftruncate(file, PAGE))
		return NULL;
	map = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	for (at = map; at < map + BYTES; at += PAGE)
		if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
		    MAP_FAILED)
			return NULL;
	close(file);
	return map;
}

static void *copy(void *arg)
{
	struct drm_neuron_bo_create bo;
	int *ret = arg;

	*ret = neuron_bo_create(fd, DRM_NEURON_BO_HBM, 0, BYTES, &bo);
	if (!*ret)
		*ret = neuron_write(fd, bo.handle, 0, memory, BYTES);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc == 3 ? atoi(argv[2]) : 0, error = 0, i;
	static pthread_t thread[MAX_THREADS];
	static int ret[MAX_THREADS];

	if (nr < 1 || nr > MAX_THREADS) {
		fprintf(stderr, "copy_crowd: which device, and how many threads?\n");
		return 2;
	}
	fd = neuron_open((unsigned int)atoi(argv[1]));
	memory = make_memory();
	if (fd < 0 || !memory) {
		fprintf(stderr, "copy_crowd: no device, or no memory\n");
		return 2;
	}
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread[i], NULL, copy, &ret[i]))
			return 2;
	for (i = 0; i < nr; i++) {
		pthread_join(thread[i], NULL);
		error = error ? error : ret[i];
	}
	printf("@ret=%d\n", -error);
	return 0;
}
