// SPDX-License-Identifier: MIT
#include "tile_program.h"

#include <string.h>

#include "sync_program.h"

#define F32		NEURON_DTYPE_FP32
#define ROW		(SYNC_BYTES / 4)	/* elements of a row of a matrix */
#define MOST_LIVE	20
#define ANY		NB_ANY_ENGINE

/**
 * struct live - a tile that is alive
 * @n: elements of a partition, all of which have been written
 */
struct live {
	int tile;
	enum nb_memory memory;
	unsigned int partitions;
	unsigned int n;
};

struct maker {
	struct nb_program *nb;
	uint64_t random;
	struct live live[MOST_LIVE];
	unsigned int nr;
	uint64_t used[2];
	int x, t, y, s, p;
	int load, store;
	unsigned int line;
};

static unsigned int below(struct maker *maker, unsigned int n)
{
	uint64_t x = maker->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) % n;
}

static struct neuron_ap part_of(struct maker *maker, const struct live *live, unsigned int n)
{
	struct neuron_ap ap = nb_tile_ap(maker->nb, live->tile);
	unsigned int places = (live->n - n) / 16 + 1;

	ap.addr += below(maker, places) * 16 * 4;
	return nb_dim(ap, 0, n, 1);
}

static void end_tile(struct maker *maker, unsigned int i)
{
	maker->used[maker->live[i].memory] -= maker->live[i].n;
	nb_tile_end(maker->nb, maker->live[i].tile);
	maker->live[i] = maker->live[--maker->nr];
}

/* A tile that is written somehow, mostly all of it. */
static struct live *new_tile(struct maker *maker, enum nb_memory memory)
{
	static const unsigned int sizes[] = { ROW, ROW, 512, 4096, 6144 };
	struct live *live;

	if (maker->nr == MOST_LIVE)
		end_tile(maker, below(maker, maker->nr));
	live = &maker->live[maker->nr];
	live->memory = memory;
	live->partitions = below(maker, 4) ? 128 : 64;
	live->n = memory == NB_PSUM ? 128u << below(maker, 2) : sizes[below(maker, 5)];
	/* Far less than there is, because places are cut up. */
	if (maker->used[memory] + live->n > (memory == NB_PSUM ? 2048 : 18432))
		return NULL;
	live->tile = nb_tile_new(maker->nb, memory, live->partitions, F32, live->n);
	maker->used[memory] += live->n;
	maker->nr++;
	return live;
}

static void fill(struct maker *maker, const struct live *live)
{
	if (below(maker, 8))
		nb_memset(maker->nb, NEURON_ENGINE_VECTOR, nb_tile_ap(maker->nb, live->tile),
			  below(maker, 32) * 0.25);
}

static struct nb_side block_of(struct maker *maker, int var, unsigned int rows,
			       unsigned int row_bytes)
{
	return nb_rows(var, below(maker, row_bytes / SYNC_BYTES) * SYNC_BYTES, SYNC_BYTES, rows,
		       row_bytes);
}

static struct nb_side first_of(struct maker *maker, const struct live *live)
{
	struct nb_side side = nb_tile_side(maker->nb, live->tile);

	side.size[0] = SYNC_BYTES;
	return side;
}

static void load(struct maker *maker)
{
	struct live *live = new_tile(maker, NB_SBUF);

	if (!live)
		return;
	if (live->n > ROW)
		fill(maker, live);
	nb_dma(maker->nb, maker->load, first_of(maker, live),
	       block_of(maker, below(maker, 3) ? maker->x : maker->t, live->partitions,
			SYNC_BYTES), -1);
}

static struct live *any_live(struct maker *maker, enum nb_memory memory)
{
	unsigned int i, from = maker->nr ? below(maker, maker->nr) : 0;

	for (i = 0; i < maker->nr; i++) {
		struct live *live = &maker->live[(from + i) % maker->nr];

		if (live->memory == memory && live->partitions == 128)
			return live;
	}
	return NULL;
}

static void store(struct maker *maker)
{
	struct live *live = any_live(maker, NB_SBUF);
	static const unsigned int wide[] = { SYNC_BYTES, SYNC_BYTES, SYNC_WIDE, SYNC_WIDE };
	int to[] = { maker->t, maker->y, maker->s, maker->p };
	unsigned int i = below(maker, 4);

	if (live)
		nb_dma(maker->nb, maker->store, block_of(maker, to[i], 128, wide[i]),
		       first_of(maker, live), -1);
}

static void compute(struct maker *maker)
{
	struct live *a = any_live(maker, below(maker, 4) ? NB_SBUF : NB_PSUM);
	struct live *b = any_live(maker, NB_SBUF), *c = any_live(maker, NB_SBUF);
	unsigned int n = 16u << below(maker, 4);
	struct nb_program *nb = maker->nb;
	struct neuron_ap to, from;

	if (!a || !b || !c)
		return;
	to = part_of(maker, b, n);
	from = part_of(maker, a, n);
	switch (below(maker, 5)) {
	case 0:
		nb_copy(nb, ANY, to, from);
		break;
	case 1:
		nb_tensor_scalar(nb, ANY, to, from, NEURON_ALU_MULTIPLY, 0.5f, NEURON_ALU_ADD,
				 0.25f);
		break;
	case 2:
		nb_activate(nb, NEURON_ACT_RELU, to, from, 1.0f, part_of(maker, c, 1));
		break;
	case 3:
		nb_reduce(nb, NEURON_ENGINE_VECTOR, NEURON_ALU_MAX, part_of(maker, c, 1), from);
		break;
	default:
		nb_tensor_tensor(nb, NEURON_ENGINE_VECTOR, NEURON_ALU_ADD, to, from,
				 part_of(maker, c, n));
		break;
	}
}

static void product(struct maker *maker)
{
	struct live *a = any_live(maker, NB_SBUF), *b = any_live(maker, NB_SBUF);
	struct live *sum = below(maker, 2) ? any_live(maker, NB_PSUM) : NULL;
	struct nb_program *nb = maker->nb;
	unsigned int i, nr = 1 + below(maker, 3);

	if (!a || !b)
		return;
	if (!sum) {
		sum = new_tile(maker, NB_PSUM);
		a = any_live(maker, NB_SBUF);
		b = any_live(maker, NB_SBUF);
		if (!sum || !a || !b)
			return;
		fill(maker, sum);
	}
	if (sum->partitions != 128)
		return;
	for (i = 0; i < nr; i++) {
		nb_load_stationary(nb, part_of(maker, a, 128));
		nb_matmul(nb, part_of(maker, sum, 64), part_of(maker, b, 64), below(maker, 2));
		if (below(maker, 2))
			nb_matmul(nb, part_of(maker, sum, 32), part_of(maker, b, 32), true);
	}
}

static void begin(struct maker *maker)
{
	const uint32_t matrix[] = { SYNC_ROWS, ROW };
	const uint32_t wide[] = { SYNC_ROWS, SYNC_WIDE / 4 };
	const uint32_t indices[] = { SYNC_ROWS, SYNC_BYTES / 2 };
	struct nb_program *nb = maker->nb;

	maker->x = nb_input(nb, "x", F32, 2, matrix);
	maker->t = nb_output(nb, "t", F32, 2, matrix);
	maker->y = nb_output(nb, "y", F32, 2, matrix);
	maker->s = nb_output(nb, "s", F32, 2, wide);
	maker->p = nb_output(nb, "p", F32, 2, wide);
	nb_input(nb, "indices", NEURON_DTYPE_UINT32, 2, indices);
	maker->load = nb_queue(nb, "load", "data", NEURON_ENGINE_SYNC, 1);
	maker->store = nb_queue(nb, "store", "data", NEURON_ENGINE_SYNC, 4);
	nb_auto(nb);
	/* So that nothing reads what nobody has written. */
	nb_memset(nb, NEURON_ENGINE_VECTOR, nb_tile(0, 128, 0, F32, 49152), 1.0);
	nb_memset(nb, NEURON_ENGINE_VECTOR, nb_psum_tile(0, 128, 0, F32, 4096), 2.0);
}

struct nb_program *tile_program(uint64_t seed, unsigned int generation)
{
	struct maker maker = { .random = seed * 77, .nb = nb_new("tiles") };
	unsigned int i, ops = 30 + below(&maker, 120);

	if (!maker.nb)
		return NULL;
	nb_generation(maker.nb, generation);
	begin(&maker);
	for (i = 0; i < ops; i++) {
		unsigned int which = below(&maker, 20);

		nb_source(maker.nb, "tiles", i + 1);
		if (which < 6)
			load(&maker);
		else if (which < 12)
			compute(&maker);
		else if (which < 15)
			product(&maker);
		else if (which < 18)
			store(&maker);
		else if (maker.nr)
			end_tile(&maker, below(&maker, maker.nr));
	}
	while (maker.nr) {
		store(&maker);
		end_tile(&maker, 0);
	}
	return maker.nb;
}
