// SPDX-License-Identifier: MIT
/*
 * Builds scale.neff: y = 2 x + 1 for fp32 x and y of 128 rows. DMA brings a tile of 128
 * columns after the other to SBUF, the vector engine works on it in place, DMA takes it
 * back. Documentation/tools/builder.rst explains it line by line.
 */
#include <stdio.h>

#include "neuron_builder.h"

#define SYNC	NEURON_ENGINE_SYNC
#define VECTOR	NEURON_ENGINE_VECTOR

#define ROWS	128
#define COLUMNS	512
#define TILES	4
#define WIDTH	(COLUMNS / TILES)	/* columns of a tile */
#define BYTES	(WIDTH * 4)		/* of its row */

/* Tile @t of a tensor in HBM: rows of BYTES, COLUMNS * 4 apart. */
static struct nb_side in_hbm(int var, unsigned int t)
{
	return nb_rows(var, t * BYTES, BYTES, ROWS, COLUMNS * 4);
}

/* The same tile in SBUF: a row in each partition. */
static struct nb_side in_sbuf(struct nb_program *nb, unsigned int t)
{
	return nb_sbuf_tile(nb, 0, ROWS, t * BYTES, BYTES);
}

static void transfers(struct nb_program *nb, int loaded, int scaled)
{
	const uint32_t shape[] = { ROWS, COLUMNS };
	int x = nb_input(nb, "x", NEURON_DTYPE_FP32, 2, shape);
	int y = nb_output(nb, "y", NEURON_DTYPE_FP32, 2, shape);
	int in = nb_queue(nb, "q_in", "in", SYNC, 1);
	int out = nb_queue(nb, "q_out", "out", SYNC, 1);
	unsigned int t;

	for (t = 0; t < TILES; t++)
		nb_dma(nb, in, in_sbuf(nb, t), in_hbm(x, t), loaded);
	for (t = 0; t < TILES; t++)
		nb_wait(nb_dma(nb, out, in_hbm(y, t), in_sbuf(nb, t), -1), scaled, t + 1);
	nb_halt(nb, SYNC);
}

static void compute(struct nb_program *nb, int loaded, int scaled)
{
	struct neuron_ap tile = nb_tile(0, ROWS, 0, NEURON_DTYPE_FP32, WIDTH);
	struct neuron_inst *inst;
	uint32_t again;

	tile = nb_at_reg(tile, 1);
	nb_reg_set(nb, VECTOR, 1, 0);		/* bytes to the tile */
	nb_reg_set(nb, VECTOR, 2, TILES);	/* tiles left */
	again = nb_here(nb, VECTOR);
	inst = nb_tensor_scalar(nb, VECTOR, tile, tile, NEURON_ALU_MULTIPLY, 2.0f,
				NEURON_ALU_ADD, 1.0f);
	nb_post(nb_wait_take(inst, loaded, 1), scaled, 1);
	nb_reg_alu(nb, VECTOR, NEURON_ALU_ADD, 1, 1, BYTES);
	nb_loop(nb, VECTOR, 2, again);
	nb_halt(nb, VECTOR);
}

int main(int argc, char **argv)
{
	struct nb_program *nb;
	int loaded, scaled, ret;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	nb = nb_new("scale");
	if (!nb)
		return 1;
	loaded = nb_sem(nb, false);
	scaled = nb_sem(nb, false);
	transfers(nb, loaded, scaled);
	compute(nb, loaded, scaled);
	ret = nb_write(nb, argv[1]);
	if (ret)
		fprintf(stderr, "scale: %s\n", nb_error(nb));
	nb_free(nb);
	return ret ? 1 : 0;
}
