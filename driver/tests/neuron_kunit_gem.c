// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of neuron_gem.c, which includes this file: places in buffers of many pieces.
 */
#include <kunit/test.h>

#define NEURON_KUNIT_PIECES	1000

/* Piece i has i % 7 + 1 pages, and between two of them there is a hole. */
static struct neuron_bo *neuron_kunit_bo(struct kunit *test)
{
	struct neuron_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);
	unsigned int i;
	u64 addr = 0x100000;

	KUNIT_ASSERT_NOT_NULL(test, bo);
	bo->extents = kunit_kcalloc(test, NEURON_KUNIT_PIECES, sizeof(*bo->extents), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bo->extents);
	for (i = 0; i < NEURON_KUNIT_PIECES; i++) {
		neuron_bo_add_extent(bo, addr, (i % 7 + 1) * PAGE_SIZE);
		addr += (i % 7 + 2) * PAGE_SIZE;
	}
	KUNIT_ASSERT_EQ(test, bo->nr_extents, NEURON_KUNIT_PIECES);
	return bo;
}

/* Every page, beside a walk through the pieces. */
static void neuron_kunit_gem_cursor(struct kunit *test)
{
	struct neuron_bo *bo = neuron_kunit_bo(test);
	struct neuron_cursor cursor;
	u64 offset = 0, in;
	unsigned int i;

	for (i = 0; i < bo->nr_extents; i++) {
		u64 length = le64_to_cpu(bo->extents[i].length);

		for (in = 0; in < length; in += PAGE_SIZE) {
			KUNIT_ASSERT_EQ(test, neuron_bo_cursor(bo, offset + in, &cursor), 0);
			KUNIT_ASSERT_PTR_EQ(test, cursor.extent, &bo->extents[i]);
			KUNIT_ASSERT_EQ(test, cursor.offset, in);
			KUNIT_ASSERT_EQ(test, cursor.nr, bo->nr_extents - i);
		}
		offset += length;
	}
	kvfree(bo->starts);
}

static void neuron_kunit_free_page(void *page)
{
	put_page(page);
}

/*
 * Chunks as they come: large ones first, the order falls. Only page numbers are computed, so one
 * page does for the first pages of all even ones, and another for those of all odd ones.
 */
static struct neuron_host_bo *neuron_kunit_host_bo(struct kunit *test)
{
	struct neuron_host_bo *hbo = kunit_kzalloc(test, sizeof(*hbo), GFP_KERNEL);
	struct neuron_host_chunk *chunks;
	struct page *page[2];
	pgoff_t first = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(page); i++) {
		page[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page[i]);
		KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, neuron_kunit_free_page,
								   page[i]));
	}
	KUNIT_ASSERT_NOT_NULL(test, hbo);
	hbo->bo.kind = NEURON_BO_HOST;
	hbo->nr_chunks = NEURON_KUNIT_PIECES;
	hbo->index = kunit_kcalloc(test, hbo->nr_chunks, sizeof(*hbo->index), GFP_KERNEL);
	chunks = kunit_kcalloc(test, hbo->nr_chunks, sizeof(*chunks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hbo->index);
	KUNIT_ASSERT_NOT_NULL(test, chunks);
	for (i = 0; i < hbo->nr_chunks; i++) {
		hbo->index[i] = &chunks[i];
		chunks[i].page = page[i % 2];
		chunks[i].first = first;
		chunks[i].order = NEURON_HOST_MAX_ORDER - i / 100;
		first += 1ul << chunks[i].order;
	}
	return hbo;
}

static void neuron_kunit_gem_host_pages(struct kunit *test)
{
	struct neuron_host_bo *hbo = neuron_kunit_host_bo(test);
	unsigned long pfn, first, nr, page = 0;
	unsigned int i;

	for (i = 0; i < hbo->nr_chunks; i++) {
		first = page_to_pfn(hbo->index[i]->page);
		nr = 1ul << hbo->index[i]->order;
		KUNIT_ASSERT_EQ(test, neuron_host_bo_pages(&hbo->bo, page, &pfn), nr);
		KUNIT_ASSERT_EQ(test, pfn, first);
		KUNIT_ASSERT_EQ(test, neuron_host_bo_pages(&hbo->bo, page + nr - 1, &pfn), 1);
		KUNIT_ASSERT_EQ(test, pfn, first + nr - 1);
		page += nr;
	}
	/* Behind the end, and when the memory was given back. */
	KUNIT_EXPECT_EQ(test, neuron_host_bo_pages(&hbo->bo, page, &pfn), 0);
	hbo->nr_chunks = 0;
	KUNIT_EXPECT_EQ(test, neuron_host_bo_pages(&hbo->bo, 0, &pfn), 0);
}

static struct kunit_case neuron_gem_cases[] = {
	KUNIT_CASE(neuron_kunit_gem_cursor),
	KUNIT_CASE(neuron_kunit_gem_host_pages),
	{}
};

static struct kunit_suite neuron_gem_suite = {
	.name = "neuron_gem",
	.test_cases = neuron_gem_cases,
};

kunit_test_suite(neuron_gem_suite);
