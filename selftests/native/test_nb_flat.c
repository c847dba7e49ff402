// SPDX-License-Identifier: MIT
/* Programs as records: what is carried out, and records that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nb_flat.h"
#include "neuron_builder.h"

#define TILES	4

/* Records that are added one by one. The memory ends with the last one. */
struct records {
	struct nb_program *nb;
	uint8_t *at;
	size_t size;
};

static struct records begin(void)
{
	struct records r = { .nb = nb_new("test") };

	assert_non_null(r.nb);
	nb_auto(r.nb);
	return r;
}

static void add(struct records *r, const void *from, size_t size)
{
	r->at = realloc(r->at, r->size + size);
	assert_non_null(r->at);
	memcpy(r->at + r->size, from, size);
	r->size += size;
}

static uint16_t function(const char *name)
{
	int value = nb_flat_value("function", name);

	assert_true(value >= 0);
	return value;
}

static void add_record(struct records *r, const char *name, struct nb_flat record)
{
	record.function = function(name);
	add(r, &record, sizeof(record));
}

static void add_tile(struct records *r, int tile, int memory, int bytes)
{
	add_record(r, "tile_new", (struct nb_flat){ .arg = { tile, memory, 128, bytes } });
}

static void add_ap(struct records *r, uint32_t tile)
{
	const struct nb_flat_ap ap = {
		.tile = tile, .num = { 4, 1, 1, 1 }, .step = { 1 }, .partitions = 128,
		.dtype = NEURON_DTYPE_FP32, .index_tile = NB_FLAT_NONE,
	};

	add(r, &ap, sizeof(ap));
}

static void add_side(struct records *r, uint32_t tile)
{
	const struct nb_flat_side side = {
		.tile = tile, .ndim = 1, .size = { 4, 1, 1, 1 }, .step = { 1 },
	};

	add(r, &side, sizeof(side));
}

/* All are carried out; or with @text those before the last one, which is refused so. */
static void run(struct records *r, const char *text)
{
	size_t done = nb_flat_run(r->nb, r->at, r->size, TILES, NULL, 0);
	const char *error = nb_error(r->nb);

	if (text && (!error || !strstr(error, text)))
		fail_msg("'%s', not '%s'", error ? error : "no error", text);
	if (!text && error)
		fail_msg("'%s'", error);
	assert_true(text ? done < r->size : done == r->size);
	free(r->at);
	nb_free(r->nb);
}

static void records_are_carried_out(void **state)
{
	struct records r = begin();

	(void)state;
	add_tile(&r, 0, NB_SBUF, 16);
	add_tile(&r, 1, NB_PSUM, 16);
	add_record(&r, "memset", (struct nb_flat){ .engine = NEURON_ENGINE_VECTOR, .count = 1 });
	add_ap(&r, 0);
	add_record(&r, "tensor_copy",
		   (struct nb_flat){ .engine = NEURON_ENGINE_VECTOR, .count = 2 });
	add_ap(&r, 1);
	add_ap(&r, 0);
	add_record(&r, "reg_load", (struct nb_flat){ .engine = 1, .count = 1, .arg = { 1 } });
	add_side(&r, 0);
	run(&r, NULL);
}

static void unknown_memories_are_refused(void **state)
{
	static const char *const names[] = { "tile_new", "tile_at", "reserve" };
	static const int memories[] = { 2, -1, 1 << 30 };
	unsigned int i, m;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (m = 0; m < sizeof(memories) / sizeof(memories[0]); m++) {
			struct records r = begin();

			add_record(&r, names[i],
				   (struct nb_flat){ .arg = { 0, memories[m], 128, 16 } });
			run(&r, "a record names memory");
		}
	}
}

static void sizes_that_no_tile_has_are_refused(void **state)
{
	static const int sizes[] = { 0, -1, INT32_MAX, INT32_MAX - 2, INT32_MIN };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct records r = begin();

		add_tile(&r, 0, NB_SBUF, sizes[i]);
		run(&r, "1 to 65535");
	}
}

/* The count decides how many bytes are read. */
static void counts_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		const char *name;
		unsigned int count;
	} calls[] = {
		{ "reg_load", 0 }, { "reg_store", 0 }, { "reg_load", 2 },
		{ "dma", 1 }, { "dma", 19 },
		{ "tile_new", 1 }, { "reg_set", 1 }, { "pair", 24 }, { "end_loop", 3 },
		{ "tensor_copy", 1 }, { "tensor_copy", 3 }, { "memset", 255 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct records r = begin();
		struct nb_flat record = { .function = function(calls[i].name), .engine = 1,
					  .count = calls[i].count };
		/* As long as the count says, were these tiles. */
		static const struct nb_flat_ap none[255];

		add(&r, &record, sizeof(record));
		add(&r, none, calls[i].count * sizeof(none[0]));
		run(&r, " operands, not ");
	}
}

static void cut_records_are_refused(void **state)
{
	struct records r = begin();

	(void)state;
	add_record(&r, "reg_load", (struct nb_flat){ .engine = 1, .count = 1 });
	add_ap(&r, 0);
	run(&r, "a record of reg_load is not whole");
	r = begin();
	add_record(&r, "end_loop", (struct nb_flat){ 0 });
	r.size -= 8;
	run(&r, "not whole");
	r = begin();
	add(&r, &(struct nb_flat){ .function = UINT16_MAX }, sizeof(struct nb_flat));
	run(&r, "its function is not known");
}

static void transfers_of_psum_are_refused(void **state)
{
	static const char *const names[] = { "dma", "reg_load", "reg_store" };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool dma = !strcmp(names[i], "dma");
		struct records r = begin();

		add_tile(&r, 0, NB_SBUF, 16);
		add_tile(&r, 1, NB_PSUM, 16);
		add_record(&r, names[i], (struct nb_flat){ .engine = 1, .count = dma ? 2 : 1 });
		add_side(&r, 1);
		if (dma)
			add_side(&r, 0);
		run(&r, "tile 1, which lies in PSUM");
	}
}

/* What an earlier record named is not taken for what is missing. */
static void missing_operands_are_not_older_ones(void **state)
{
	struct records r = begin();

	(void)state;
	add_tile(&r, 0, NB_SBUF, 16);
	add_record(&r, "select_reduce",
		   (struct nb_flat){ .engine = NEURON_ENGINE_VECTOR, .count = 3,
				     .kind = { NB_COLUMN } });
	add_ap(&r, 0);
	add_ap(&r, 0);
	add_ap(&r, 0);
	run(&r, "fewer operands than columns");
	r = begin();
	add_tile(&r, 0, NB_SBUF, 16);
	add_record(&r, "nc_transpose",
		   (struct nb_flat){ .engine = NEURON_ENGINE_TENSOR, .count = 2 });
	add_ap(&r, 0);
	add_ap(&r, 0);
	run(&r, "needs an identity");
}

static void add_memset(struct records *r, uint32_t tile)
{
	add_record(r, "memset", (struct nb_flat){ .engine = NEURON_ENGINE_VECTOR, .count = 1 });
	add_ap(r, tile);
}

/* Each tile takes more than half of SBUF. They are made first, and used one after the other. */
static void tiles_live_from_their_first_use_on(void **state)
{
	const int large = 128 << 10;
	struct records r = begin();
	int i;

	(void)state;
	for (i = 0; i < TILES; i++)
		add_tile(&r, i, NB_SBUF, large);
	for (i = 0; i < TILES; i++) {
		add_memset(&r, i);
		add_memset(&r, i);
	}
	run(&r, NULL);
	r = begin();
	for (i = 0; i < 2; i++)
		add_tile(&r, i, NB_SBUF, large);
	add_memset(&r, 0);
	add_memset(&r, 1);
	add_memset(&r, 0);
	run(&r, "no room for a tile");
}

/* All rounds may need a tile from outside of their loop, not only from its first use on. */
static void tiles_live_as_long_as_loops(void **state)
{
	const int large = 128 << 10;
	unsigned int in_loop;

	(void)state;
	for (in_loop = 0; in_loop < 2; in_loop++) {
		struct records r = begin();

		add_tile(&r, 0, NB_SBUF, large);
		if (!in_loop)
			add_tile(&r, 1, NB_SBUF, large);
		add_record(&r, "begin_loop", (struct nb_flat){ .arg = { 1, 4 } });
		if (in_loop)
			add_tile(&r, 1, NB_SBUF, large);
		add_memset(&r, 1);
		if (!in_loop)
			add_memset(&r, 0);
		add_record(&r, "end_loop", (struct nb_flat){ 0 });
		add_memset(&r, 0);
		run(&r, in_loop ? NULL : "no room for a tile");
	}
}

static void tiles_are_made_before_they_are_named(void **state)
{
	struct records r = begin();

	(void)state;
	add_memset(&r, 0);
	add_tile(&r, 0, NB_SBUF, 16);
	run(&r, "before the one that makes it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_carried_out),
		cmocka_unit_test(unknown_memories_are_refused),
		cmocka_unit_test(sizes_that_no_tile_has_are_refused),
		cmocka_unit_test(counts_that_do_not_fit_are_refused),
		cmocka_unit_test(cut_records_are_refused),
		cmocka_unit_test(transfers_of_psum_are_refused),
		cmocka_unit_test(missing_operands_are_not_older_ones),
		cmocka_unit_test(tiles_live_from_their_first_use_on),
		cmocka_unit_test(tiles_live_as_long_as_loops),
		cmocka_unit_test(tiles_are_made_before_they_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
