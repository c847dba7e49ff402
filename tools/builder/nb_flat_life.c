// SPDX-License-Identifier: MIT
/* From where to where the tiles of records live. */
#include <stdlib.h>

#include "isa/trn_isa.h"
#include "nb_alloc.h"
#include "nb_flat_private.h"

/* Call @visit for each tile that a record names. */
static void each_tile(struct flat *f, size_t at,
		      void (*visit)(struct flat *f, uint32_t tile, size_t at))
{
	const struct nb_flat_ap *ap = (const struct nb_flat_ap *)(f->call + 1);
	const struct nb_flat_side *side = (const struct nb_flat_side *)(f->call + 1);
	bool sides = flat_has_sides(f->call);
	unsigned int i;

	for (i = 0; i < f->call->count; i++) {
		if (sides) {
			if (side[i].tile < f->nr_tiles)
				visit(f, side[i].tile, at);
			continue;
		}
		if (ap[i].tile < f->nr_tiles)
			visit(f, ap[i].tile, at);
		if (ap[i].index_tile < f->nr_tiles)
			visit(f, ap[i].index_tile, at);
	}
}

static bool begins_loop(const struct nb_flat *call)
{
	return flat_does(call, flat_begin_loop) || flat_does(call, flat_begin_while);
}

static void note_use(struct flat *f, uint32_t number, size_t at)
{
	struct flat_tile *tile = &f->tile[number];
	bool outside = f->loops > tile->loops;

	if (tile->first == FLAT_NEVER)
		tile->first = outside ? f->begin[tile->loops] : at;
	/* The end of the loop tells. */
	tile->last = outside ? FLAT_NEVER : at;
}

/* What was used in a loop that ends at @at, and is older than it. */
static void note_loop_end(struct flat *f, size_t at)
{
	unsigned int i;

	for (i = 0; i < f->nr_tiles; i++)
		if (f->tile[i].first != FLAT_NEVER && f->tile[i].last == FLAT_NEVER &&
		    f->tile[i].loops >= f->loops)
			f->tile[i].last = at;
}

/* Deeper loops are refused when the records are carried out. */
static void note_record(struct flat *f, size_t at)
{
	uint32_t made = f->call->arg[0];

	if (flat_does(f->call, flat_tile_new) && flat_tile_slot(f, made)) {
		f->tile[made].loops = f->loops;
		f->tile[made].made = at;
	}
	each_tile(f, at, note_use);
	if (begins_loop(f->call) && f->loops < NEURON_NR_REGS)
		f->begin[f->loops++] = at;
	if (flat_does(f->call, flat_end_loop) && f->loops) {
		f->loops--;
		note_loop_end(f, at);
	}
}

int flat_look_ahead(struct flat *f)
{
	size_t at = 0;
	unsigned int i;

	f->tile = calloc(f->nr_tiles ? f->nr_tiles : 1, sizeof(*f->tile));
	if (!f->tile)
		return nb_fail(f->nb, "out of memory");
	for (i = 0; i < f->nr_tiles; i++)
		f->tile[i] = (struct flat_tile){ .handle = -1, .made = FLAT_NEVER,
						 .first = FLAT_NEVER, .last = FLAT_NEVER };
	while (at < f->size) {
		f->call = flat_record_at(f, at);
		if (!f->call)
			break;
		note_record(f, at);
		at += flat_bytes(f->call);
	}
	return 0;
}

/* Its own record has been carried out, so memory and size are known to be right. */
static void begin_tile(struct flat *f, uint32_t number, size_t at)
{
	struct flat_tile *tile = &f->tile[number];
	const struct nb_flat *made;

	if (tile->first != at || tile->handle >= 0 || tile->made == FLAT_NEVER || nb_error(f->nb))
		return;
	if (tile->made > at) {
		nb_fail_here(f->nb, "a record names tile %u before the one that makes it", number);
		return;
	}
	made = (const struct nb_flat *)(f->records + tile->made);
	flat_source(f, made);
	tile->handle = nb_tile_new(f->nb, made->arg[1], made->arg[2], NEURON_DTYPE_FP32,
				   flat_words(made->arg[3]));
	if (tile->handle >= 0)
		tile->ap = nb_tile_ap(f->nb, tile->handle);
}

void flat_begin_tiles(struct flat *f, size_t at)
{
	unsigned int i;

	each_tile(f, at, begin_tile);
	for (i = 0; begins_loop(f->call) && i < f->nr_tiles; i++)
		begin_tile(f, i, at);
}

static void end_tile(struct flat *f, uint32_t number, size_t at)
{
	struct flat_tile *tile = &f->tile[number];

	if (tile->last != at || tile->handle < 0)
		return;
	nb_tile_end(f->nb, tile->handle);
	tile->handle = -1;
}

void flat_end_tiles(struct flat *f, size_t at)
{
	unsigned int i;

	each_tile(f, at, end_tile);
	for (i = 0; flat_does(f->call, flat_end_loop) && i < f->nr_tiles; i++)
		end_tile(f, i, at);
}
