// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of extents that the device reads. No list needs more than a page in one piece,
 * and short ones share pages.
 */
#include <linux/dma-mapping.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "contract/window.h"
#include "neuron_claim.h"
#include "neuron_gem.h"
#include "neuron_list.h"

int neuron_bo_span(struct neuron_bo *bo, u64 offset, u64 length, struct neuron_span *span)
{
	struct neuron_cursor first, last;
	int ret;

	ret = neuron_bo_cursor(bo, offset, &first);
	if (!ret)
		ret = neuron_bo_cursor(bo, offset + length - 1, &last);
	if (ret)
		return ret;
	span->first = first.extent - bo->extents;
	span->skip = first.offset;
	span->count = last.extent - first.extent + 1;
	return 0;
}

static size_t neuron_list_page_bytes(void)
{
	return sizeof(struct neuron_list_page) +
	       neuron_coherent_bytes(NEURON_LIST_PAGE);
}

/* With one reference. */
static struct neuron_list_page *neuron_list_page_create(struct neuron_claim *claim)
{
	struct neuron_list_page *page;

	if (neuron_claim_charge(claim, neuron_list_page_bytes()))
		return NULL;
	page = kzalloc(sizeof(*page), GFP_KERNEL_ACCOUNT);
	if (!page)
		goto err_uncharge;
	page->extent = dma_alloc_coherent(claim->ndev->drm.dev, NEURON_LIST_PAGE,
					  &page->dma,
					  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!page->extent)
		goto err_free;
	refcount_set(&page->ref, 1);
	page->claim = claim;
	neuron_claim_live_get(claim);
	return page;

err_free:
	kfree(page);
err_uncharge:
	neuron_claim_uncharge(claim, neuron_list_page_bytes());
	return NULL;
}

static void neuron_list_page_free(struct neuron_list_page *page)
{
	struct neuron_claim *claim = page->claim;

	dma_free_coherent(claim->ndev->drm.dev, NEURON_LIST_PAGE, page->extent,
			  page->dma);
	kfree(page);
	neuron_claim_uncharge(claim, neuron_list_page_bytes());
	neuron_claim_live_put(claim);
}

/* A list may have thousands of pages: no recursion. */
void neuron_list_put(struct neuron_list_page *page)
{
	struct neuron_list_page *next;

	while (page && refcount_dec_and_test(&page->ref)) {
		next = page->next;
		neuron_list_page_free(page);
		page = next;
		cond_resched();
	}
}

void neuron_list_room_put(struct neuron_list_room *room)
{
	neuron_list_put(room->page);
	*room = (struct neuron_list_room){ };
}

/* Give the room a new page, whose reference it has. -ENOMEM: it keeps the old one. */
static int neuron_list_room_renew(struct neuron_claim *claim,
				  struct neuron_list_room *room)
{
	struct neuron_list_page *page = neuron_list_page_create(claim);

	if (!page)
		return -ENOMEM;
	neuron_list_room_put(room);
	room->page = page;
	return 0;
}

/* Pages of a list of @nr extents that has them for itself. */
static u32 neuron_list_pages(u32 nr)
{
	return nr <= NEURON_LIST_SLOTS ? 1 :
	       1 + DIV_ROUND_UP(nr - NEURON_LIST_SLOTS, NEURON_LIST_SLOTS - 1);
}

static void neuron_list_link(struct neuron_list_page *page,
			     struct neuron_list_page *next)
{
	struct neuron_device *ndev = page->claim->ndev;

	page->next = next;
	page->extent[NEURON_LIST_SLOTS - 1] =
		neuron_hw_extent_link(neuron_host_addr(ndev, next->dma));
}

/* The first one of @nr linked pages, or NULL. */
static struct neuron_list_page *neuron_list_chain(struct neuron_claim *claim, u32 nr)
{
	struct neuron_list_page *first = NULL, *page;

	while (nr--) {
		page = neuron_list_page_create(claim);
		if (!page) {
			neuron_list_put(first);
			return NULL;
		}
		if (first)
			neuron_list_link(page, first);
		first = page;
		cond_resched();
	}
	return first;
}

int neuron_list_create(struct neuron_claim *claim, struct neuron_list_room *room,
		       u32 nr, struct neuron_list_slot *first)
{
	int ret;

	if (nr > NEURON_LIST_SLOTS) {
		first->page = neuron_list_chain(claim, neuron_list_pages(nr));
		first->slot = 0;
		return first->page ? 0 : -ENOMEM;
	}
	if (!room->page || nr > NEURON_LIST_SLOTS - room->used) {
		ret = neuron_list_room_renew(claim, room);
		if (ret)
			return ret;
	}
	refcount_inc(&room->page->ref);
	first->page = room->page;
	first->slot = room->used;
	room->used += nr;
	return 0;
}

void neuron_list_add(struct neuron_list_slot *at, u64 addr, u64 length)
{
	if (at->page->next && at->slot == NEURON_LIST_SLOTS - 1) {
		at->page = at->page->next;
		at->slot = 0;
	}
	at->page->extent[at->slot++] = neuron_hw_extent(addr, length);
}

u64 neuron_list_addr(const struct neuron_list_slot *first)
{
	return neuron_host_addr(first->page->claim->ndev, first->page->dma) +
	       first->slot * sizeof(*first->page->extent);
}

#if IS_ENABLED(CONFIG_DRM_ACCEL_NEURON_KUNIT_TEST)
#include "tests/neuron_kunit_list.c"
#endif
