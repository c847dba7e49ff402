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

/* One entry more than windows: the stream's, behind them. */
static struct neuron_table *neuron_kunit_table(struct kunit *test, u32 nr)
{
	struct neuron_table *table;

	table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table);
	table->nr = nr;
	table->binding = kunit_kcalloc(test, nr + 1, sizeof(*table->binding),
				       GFP_KERNEL);
	table->hw = kunit_kcalloc(test, nr + 1, sizeof(*table->hw),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table->binding);
	KUNIT_ASSERT_NOT_NULL(test, table->hw);
	return table;
}

static struct neuron_binding *neuron_kunit_binding(struct kunit *test,
						   u64 base, u32 nr_extents)
{
	struct neuron_binding *binding;

	binding = kunit_kzalloc(test, sizeof(*binding), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, binding);
	kref_init(&binding->ref);
	binding->hw.base = cpu_to_le64(base);
	binding->nr_extents = nr_extents;
	return binding;
}

/* A change leaves what it replaced, for the caller to put. */
static void neuron_kunit_table_apply(struct kunit *test)
{
	struct neuron_table *table = neuron_kunit_table(test, 4);
	struct neuron_binding *a = neuron_kunit_binding(test, 0x1000, 3);
	struct neuron_binding *b = neuron_kunit_binding(test, 0x2000, 5);
	struct neuron_change change = { .index = 2, .binding = a };

	neuron_table_apply(table, &change);
	KUNIT_EXPECT_NULL(test, change.binding);
	KUNIT_EXPECT_EQ(test, table->nr_extents, 3);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(table->hw[2].base), 0x1000);

	change.binding = b;
	neuron_table_apply(table, &change);
	KUNIT_EXPECT_PTR_EQ(test, change.binding, a);
	KUNIT_EXPECT_EQ(test, table->nr_extents, 5);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(table->hw[2].base), 0x2000);

	change.binding = NULL;
	neuron_table_apply(table, &change);
	KUNIT_EXPECT_PTR_EQ(test, change.binding, b);
	KUNIT_EXPECT_EQ(test, table->nr_extents, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(table->hw[2].base), 0);
}

/*
 * A larger version shares the bindings: one reference more each. The stream's
 * entry stays behind the last window.
 */
static void neuron_kunit_table_copy(struct kunit *test)
{
	struct neuron_table *small = neuron_kunit_table(test, 2);
	struct neuron_table *large = neuron_kunit_table(test, 4);
	struct neuron_binding *a = neuron_kunit_binding(test, 0x1000, 7);
	struct neuron_binding *stream = neuron_kunit_binding(test, 0x8000, 0);
	struct neuron_change change = { .index = 1, .binding = a };

	neuron_table_apply(small, &change);
	small->binding[2] = stream;
	small->hw[2] = stream->hw;
	neuron_table_copy(large, small);
	KUNIT_EXPECT_PTR_EQ(test, large->binding[4], stream);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->hw[4].base), 0x8000);
	KUNIT_EXPECT_EQ(test, kref_read(&stream->ref), 2);
	KUNIT_EXPECT_EQ(test, kref_read(&a->ref), 2);
	KUNIT_EXPECT_EQ(test, large->nr_extents, 7);
	KUNIT_EXPECT_NULL(test, large->binding[0]);
	KUNIT_EXPECT_PTR_EQ(test, large->binding[1], a);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(large->hw[1].base), 0x1000);
	KUNIT_EXPECT_NULL(test, large->binding[2]);
	KUNIT_EXPECT_EQ(test, large->nr, 4);
}

static void neuron_kunit_binding_same(struct kunit *test)
{
	struct neuron_binding *a = neuron_kunit_binding(test, 0x1000, 0);
	struct neuron_binding *b = neuron_kunit_binding(test, 0x1000, 0);

	KUNIT_EXPECT_TRUE(test, neuron_binding_same(NULL, NULL));
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(a, NULL));
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(NULL, b));
	KUNIT_EXPECT_TRUE(test, neuron_binding_same(a, b));
	b->hw.base = cpu_to_le64(0x2000);
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(a, b));
	/* The base of a list says where its extents are: no two are the same. */
	a->hw.flags = cpu_to_le32(NEURON_WINDOW_LIST);
	b->hw.flags = a->hw.flags;
	KUNIT_EXPECT_TRUE(test, neuron_binding_same(a, b));
	b->offset = 4;
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(a, b));
	b->offset = 0;
	b->hw.generation = cpu_to_le32(1);
	KUNIT_EXPECT_FALSE(test, neuron_binding_same(a, b));
}

/* The DMA layer gives powers of two of pages, and keeps what is behind. */
static void neuron_kunit_table_bytes(struct kunit *test)
{
	const u32 page = PAGE_SIZE / sizeof(struct neuron_hw_window);
	const size_t pointer = sizeof(struct neuron_binding *);

	KUNIT_EXPECT_EQ(test, neuron_table_bytes(page - 1),
			PAGE_SIZE + page * pointer);
	KUNIT_EXPECT_EQ(test, neuron_table_bytes(page),
			2 * PAGE_SIZE + (page + 1) * pointer);
	KUNIT_EXPECT_EQ(test, neuron_table_bytes(2 * page),
			4 * PAGE_SIZE + (2 * page + 1) * pointer);
}

static struct kunit_case neuron_table_cases[] = {
	KUNIT_CASE(neuron_kunit_table_bytes),
	KUNIT_CASE(neuron_kunit_table_entries),
	KUNIT_CASE(neuron_kunit_table_apply),
	KUNIT_CASE(neuron_kunit_table_copy),
	KUNIT_CASE(neuron_kunit_binding_same),
	{}
};

static struct kunit_suite neuron_table_suite = {
	.name = "neuron_table",
	.test_cases = neuron_table_cases,
};

kunit_test_suite(neuron_table_suite);
