// SPDX-License-Identifier: MIT
/* What the kernels that are synchronised by hand share. */
#include "hand.h"

void hand_begin(struct hand *hand, struct nb_program *nb, bool alone)
{
	*hand = (struct hand){ .nb = nb, .alone = alone };
	if (!alone)
		nb_auto(nb);
}

void hand_end(struct hand *hand)
{
	enum neuron_engine e;

	for (e = 0; hand->alone && e < NEURON_NR_ENGINES; e++)
		nb_halt(hand->nb, e);
}

uint32_t hand_size(enum neuron_dtype dtype)
{
	return dtype == NEURON_DTYPE_FP32 ? 4 : 2;
}

struct hand_tile hand_tile(struct hand *hand, enum neuron_dtype dtype, uint32_t cols)
{
	struct hand_tile tile = { .at = hand->next, .dtype = dtype, .cols = cols };

	hand->next += cols * hand_size(dtype);
	return tile;
}

struct neuron_ap hand_part(const struct hand_tile *tile, uint32_t col, uint32_t cols)
{
	return nb_tile(0, HAND_ROWS, tile->at + col * hand_size(tile->dtype), tile->dtype, cols);
}

struct neuron_ap hand_ap(const struct hand_tile *tile)
{
	return hand_part(tile, 0, tile->cols);
}

struct nb_side hand_side(struct hand *hand, const struct hand_tile *tile)
{
	return nb_sbuf_tile(hand->nb, 0, HAND_ROWS, tile->at,
			    tile->cols * hand_size(tile->dtype));
}

int hand_sem(struct hand *hand)
{
	return hand->alone ? nb_sem(hand->nb, false) : -1;
}

struct neuron_inst *hand_wait(struct hand *hand, struct neuron_inst *inst, int sem,
			      uint32_t value)
{
	return hand->alone ? nb_wait(inst, sem, value) : inst;
}

void hand_post(struct hand *hand, struct neuron_inst *inst, int sem)
{
	if (hand->alone)
		nb_post(inst, sem, 1);
}

void hand_wait_before(struct hand *hand, enum neuron_engine e, int sem, uint32_t value)
{
	if (hand->alone)
		nb_wait(nb_nop(hand->nb, e), sem, value);
}
