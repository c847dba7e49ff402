// SPDX-License-Identifier: MIT
/*
 * scribble ROUNDS: write a buffer in HBM again and again, at random places: through a
 * mapping, by a copy from user memory and by copies of the chip. A copy of what must be there
 * is kept in the guest's memory. In the end all of it is compared.
 *
 * selftests/vm/test_migration.py migrates the machine meanwhile.
 */
#include <time.h>

#include "neuron_test.h"

#define BYTES	0x1000000u
#define PIECE	0x2000u
/* So that a migration can keep up. */
#define NAP_NS	500000

/**
 * struct scribble - a buffer that is written
 * @map: a mapping of it
 * @model: what must be in it
 */
struct scribble {
	int fd;
	struct drm_neuron_bo_create bo;
	uint8_t *map;
	uint8_t *model;
	uint32_t seed;
};

static uint32_t below(struct scribble *s, uint32_t limit)
{
	s->seed = s->seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)s->seed * limit >> 32);
}

static int setup(struct scribble *s)
{
	s->fd = neuron_open(0);
	if (s->fd < 0 || neuron_bo_create(s->fd, DRM_NEURON_BO_HBM, 0, BYTES, &s->bo))
		return -1;
	s->map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		      (off_t)s->bo.mmap_offset);
	s->model = malloc(BYTES);
	if (s->map == MAP_FAILED || !s->model)
		return -1;
	neuron_fill(s->model, BYTES, 1);
	return neuron_write(s->fd, s->bo.handle, 0, s->model, BYTES);
}

/* From one place of the buffer to another, by DMA. */
static int copy_inside(struct scribble *s, uint32_t to, uint32_t len)
{
	uint32_t from = below(s, BYTES - PIECE);

	if (from < to + len && to < from + len)
		return 0;
	memcpy(s->model + to, s->model + from, len);
	return neuron_bo_copy(s->fd, s->bo.handle, to, s->bo.handle, from, len);
}

static int write_once(struct scribble *s)
{
	uint32_t to = below(s, BYTES - PIECE), len = 1 + below(s, PIECE);
	uint32_t seed = below(s, 1000);

	switch (below(s, 3)) {
	case 0:
		neuron_fill(s->map + to, len, seed);
		neuron_fill(s->model + to, len, seed);
		return 0;
	case 1:
		neuron_fill(s->model + to, len, seed);
		return neuron_write(s->fd, s->bo.handle, to, s->model + to, len);
	default:
		return copy_inside(s, to, len);
	}
}

static int compare(const struct scribble *s)
{
	uint32_t i;

	for (i = 0; i < BYTES; i++) {
		if (s->map[i] == s->model[i])
			continue;
		printf("scribble: byte 0x%x of HBM is 0x%02x, not 0x%02x\n", i, s->map[i],
		       s->model[i]);
		return 1;
	}
	printf("scribble: HBM is as written\n");
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct scribble s = { .seed = 1 };
	long rounds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	long i;

	if (rounds <= 0) {
		fprintf(stderr, "usage: scribble ROUNDS\n");
		return 2;
	}
	if (setup(&s)) {
		fprintf(stderr, "scribble: no device, or no memory\n");
		return 1;
	}
	printf("scribble: begins\n");
	fflush(stdout);
	for (i = 0; i < rounds; i++) {
		if (write_once(&s)) {
			printf("scribble: a copy failed in round %ld\n", i);
			return 1;
		}
		if (i % 100 == 99) {
			printf("scribble: %ld rounds\n", i + 1);
			fflush(stdout);
		}
		nanosleep(&nap, NULL);
	}
	return compare(&s);
}
