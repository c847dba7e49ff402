// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_table.c, which includes this file: sizes of tables, changes
 * of entries, what two versions share.
 */
#include <kunit/test.h>

static u32 neuron_kunit_entries(u32 now, u32 index)
{
	struct neuron_table table = { .nr = now };
	struct neuron_change change = { .index = index };

	return neuron_table_entries(now ? &table : NULL, &change, 1);
}

static void neuron_kunit_table_entries(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(0, 0), NEURON_TABLE_MIN);
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(0, NEURON_TABLE_MIN - 1),
			NEURON_TABLE_MIN);
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(0, NEURON_TABLE_MIN),
			2 * NEURON_TABLE_MIN);
	/* It never shrinks. */
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(1024, 3), 1024);
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(1024, 1024), 2048);
	/* The last window: the most is not a power of two. */
	KUNIT_EXPECT_EQ(test, neuron_kunit_entries(16, NEURON_MAX_WINDOWS - 1),
			NEURON_MAX_WINDOWS);
}

/* A table with its pieces, all of them and empty; one entry is the stream's. */
static struct neuron_table *neuron_kunit_table(struct kunit *test, u32 nr)
{
	u32 i, pieces = neuron_table_pieces(nr);
	struct neuron_piece *piece;
	struct neuron_table *table;

	table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table);
	table->nr = nr;
	table->piece = kunit_kcalloc(test, pieces, sizeof(*table->piece),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table->piece);
	for (i = 0; i < pieces; i++) {
		piece = kunit_kzalloc(test, struct_size(piece, binding, NEURON_TABLE_PIECE),
				      GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, piece);
		kref_init(&piece->ref);
		piece->nr = neuron_table_piece_nr(nr, i);
		piece->hw = kunit_kcalloc(test, piece->nr, sizeof(*piece->hw),
					  GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, piece->hw);
		table->piece[i] = piece;
	}
	return table;
}

static struct neuron_binding neuron_kunit_binding(u64 base, u32 nr_extents)
{
	return (struct neuron_binding){
		.hw.base = cpu_to_le64(base),
		.hw.flags = cpu_to_le32(NEURON_WINDOW_HBM),
		.hw.nr_extents = cpu_to_le32(nr_extents),
	};
}

static u64 neuron_kunit_base(const struct neuron_binding *binding)
{
	return le64_to_cpu(binding->hw.base);
}

/* A change leaves what it replaced, for the caller to put. */
static void neuron_kunit_table_apply(struct kunit *test)
{
	struct neuron_table *table = neuron_kunit_table(test, 256);
	struct neuron_change change = {
		.index = 130,
		.binding = neuron_kunit_binding(0x1000, 3),
	};
	struct neuron_hw_window *hw = &table->piece[1]->hw[2];

	neuron_table_apply(table, &change);
	KUNIT_EXPECT_TRUE(test, neuron_binding_is_empty(&change.binding));
	KUNIT_EXPECT_EQ(test, table->nr_extents, 3);
	KUNIT_EXPECT_EQ(test, table->piece[1]->used, 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(hw->base), 0x1000);

	change.binding = neuron_kunit_binding(0x2000, 5);
	neuron_table_apply(table, &change);
	KUNIT_EXPECT_EQ(test, neuron_kunit_base(&change.binding), 0x1000);
	KUNIT_EXPECT_EQ(test, table->nr_extents, 5);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(hw->base), 0x2000);

	change.binding = (struct neuron_binding){ };
	neuron_table_apply(table, &change);
	KUNIT_EXPECT_EQ(test, neuron_kunit_base(&change.binding), 0x2000);
	KUNIT_EXPECT_EQ(test, table->nr_extents, 0);
	KUNIT_EXPECT_EQ(test, table->piece[1]->used, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(hw->base), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(hw->flags), 0);
}

/* A version has the pieces of the one before: one reference more each. */
static void neuron_kunit_table_copy(struct kunit *test)
{
	struct neuron_table *from = neuron_kunit_table(test, 256);
	struct neuron_table *to = neuron_kunit_table(test, 256);
	u32 i;

	from->nr_extents = 7;
	from->piece[1] = NULL;
	for (i = 0; i < neuron_table_pieces(256); i++)
		to->piece[i] = NULL;
	KUNIT_EXPECT_EQ(test, 0, neuron_table_copy(to, from));
	KUNIT_EXPECT_EQ(test, to->nr_extents, 7);
	KUNIT_EXPECT_PTR_EQ(test, to->piece[0], from->piece[0]);
	KUNIT_EXPECT_EQ(test, kref_read(&to->piece[0]->ref), 2);
	KUNIT_EXPECT_NULL(test, to->piece[1]);
	KUNIT_EXPECT_PTR_EQ(test, to->piece[2], from->piece[2]);
}

/*
 * A larger version has the full pieces of the smaller one. What is in the piece of the
 * stream is not shared: its entry is behind the last window.
 */
static void neuron_kunit_table_grow(struct kunit *test)
{
	struct neuron_table *small = neuron_kunit_table(test, 128);
	struct neuron_table *large = neuron_kunit_table(test, 256);
	struct neuron_change stream = {
		.index = NEURON_TABLE_STREAM,
		.binding = neuron_kunit_binding(0x8000, 0),
	};

	KUNIT_EXPECT_NULL(test, neuron_table_stream(small));
	neuron_table_apply(small, &stream);
	KUNIT_ASSERT_NOT_NULL(test, neuron_table_stream(small));
	KUNIT_EXPECT_EQ(test, neuron_table_hw_entries(small), 129);

	KUNIT_EXPECT_EQ(test, 0, neuron_table_grow(large, small));
	KUNIT_EXPECT_PTR_EQ(test, large->piece[0], small->piece[0]);
	KUNIT_EXPECT_PTR_NE(test, large->piece[1], small->piece[1]);
	KUNIT_EXPECT_TRUE(test, neuron_binding_is_empty(neuron_table_binding(large, 128)));
	KUNIT_ASSERT_NOT_NULL(test, neuron_table_stream(large));
	KUNIT_EXPECT_EQ(test, neuron_kunit_base(neuron_table_stream(large)), 0x8000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->piece[2]->hw[0].base), 0x8000);
	KUNIT_EXPECT_EQ(test, large->piece[2]->used, 1);
	KUNIT_EXPECT_EQ(test, neuron_table_hw_entries(large), 257);
}

/* A table of less than a piece becomes larger entry by entry. */
static void neuron_kunit_table_grow_small(struct kunit *test)
{
	struct neuron_table *small = neuron_kunit_table(test, 16);
	struct neuron_table *large = neuron_kunit_table(test, 32);
	struct neuron_change change = {
		.index = 15,
		.binding = neuron_kunit_binding(0x1000, 0),
	};

	neuron_table_apply(small, &change);
	change.index = NEURON_TABLE_STREAM;
	change.binding = neuron_kunit_binding(0x8000, 0);
	neuron_table_apply(small, &change);
	KUNIT_EXPECT_EQ(test, 0, neuron_table_grow(large, small));
	KUNIT_EXPECT_PTR_NE(test, large->piece[0], small->piece[0]);
	KUNIT_EXPECT_EQ(test, neuron_kunit_base(neuron_table_binding(large, 15)), 0x1000);
	KUNIT_EXPECT_TRUE(test, neuron_binding_is_empty(neuron_table_binding(large, 16)));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->piece[0]->hw[15].base), 0x1000);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->piece[0]->hw[16].base), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->piece[0]->hw[32].base), 0x8000);
}

/* There is no such entry, or no piece that has it. */
static void neuron_kunit_table_binding(struct kunit *test)
{
	struct neuron_table *table = neuron_kunit_table(test, 256);

	KUNIT_EXPECT_NULL(test, neuron_table_binding(NULL, 0));
	KUNIT_EXPECT_NULL(test, neuron_table_stream(NULL));
	KUNIT_EXPECT_PTR_EQ(test, neuron_table_binding(table, 255),
			    &table->piece[1]->binding[127]);
	KUNIT_EXPECT_NULL(test, neuron_table_binding(table, 256));
	KUNIT_EXPECT_NULL(test, neuron_table_binding(table, U32_MAX - 1));
	table->piece[1] = NULL;
	KUNIT_EXPECT_NULL(test, neuron_table_binding(table, 255));
	KUNIT_EXPECT_NOT_NULL(test, neuron_table_binding(table, 127));
}

static void neuron_kunit_binding_same(struct kunit *test)
{
	struct neuron_binding a = neuron_kunit_binding(0x1000, 0);
	struct neuron_binding b = neuron_kunit_binding(0x1000, 0);

	KUNIT_EXPECT_TRUE(test, neuron_binding_same(&a, &b));
	b.hw.base = cpu_to_le64(0x2000);
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(&a, &b));
	/* The base of a list says where its extents are: no two are the same. */
	a.hw.flags = cpu_to_le32(NEURON_WINDOW_HBM | NEURON_WINDOW_LIST);
	b.hw.flags = a.hw.flags;
	a.hw.nr_extents = cpu_to_le32(2);
	KUNIT_EXPECT_TRUE(test, neuron_binding_same(&a, &b));
	b.offset = 4;
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(&a, &b));
	b.offset = 0;
	b.hw.generation = cpu_to_le32(1);
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(&a, &b));
	b = (struct neuron_binding){ };
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(&a, &b));
	a = b;
	KUNIT_EXPECT_TRUE(test, neuron_binding_same(&a, &b));
}

/* No memory of the device is larger than a page of 4 KiB. */
static void neuron_kunit_table_bytes(struct kunit *test)
{
	const size_t pointer = sizeof(struct neuron_piece *);

	KUNIT_EXPECT_EQ(test, neuron_table_pieces(NEURON_MAX_WINDOWS), 512);
	KUNIT_EXPECT_LE(test, neuron_table_directory_bytes(NEURON_MAX_WINDOWS), 4096);
	KUNIT_EXPECT_LE(test, neuron_piece_hw_bytes(NEURON_TABLE_PIECE), 4096);
	/* One piece needs no directory. */
	KUNIT_EXPECT_EQ(test, neuron_table_bytes(64), pointer);
	KUNIT_EXPECT_EQ(test, neuron_table_bytes(128), 2 * pointer + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, neuron_table_piece_nr(64, 0), 65);
	KUNIT_EXPECT_EQ(test, neuron_table_piece_nr(128, 0), 128);
	KUNIT_EXPECT_EQ(test, neuron_table_piece_nr(128, 1), 1);
	KUNIT_EXPECT_EQ(test, neuron_table_piece_nr(NEURON_MAX_WINDOWS, 511), 128);
}

static struct kunit_case neuron_table_cases[] = {
	KUNIT_CASE(neuron_kunit_table_bytes),
	KUNIT_CASE(neuron_kunit_table_entries),
	KUNIT_CASE(neuron_kunit_table_apply),
	KUNIT_CASE(neuron_kunit_table_copy),
	KUNIT_CASE(neuron_kunit_table_grow),
	KUNIT_CASE(neuron_kunit_table_grow_small),
	KUNIT_CASE(neuron_kunit_table_binding),
	KUNIT_CASE(neuron_kunit_binding_same),
	{}
};

static struct kunit_suite neuron_table_suite = {
	.name = "neuron_table",
	.test_cases = neuron_table_cases,
};

kunit_test_suite(neuron_table_suite);
