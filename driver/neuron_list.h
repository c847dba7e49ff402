/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of extents that the device reads, in pages of their own or shared ones.
 */
#ifndef _NEURON_LIST_H_
#define _NEURON_LIST_H_

#include <linux/refcount.h>
#include <linux/types.h>

#include "neuron/window.h"

struct neuron_bo;
struct neuron_claim;

/* Extents in a page; in a page that another one follows, the last slot is the link. */
#define NEURON_LIST_SLOTS	(NEURON_LIST_PAGE / sizeof(struct neuron_hw_extent))

/**
 * struct neuron_list_page - a page of extents
 * @ref: references: one for each list that begins in the page, one of the page before it, one
 *	of a struct neuron_list_room
 * @claim: claim that the lists belong to; whoever has the page holds the claim
 * @next: where the list goes on, with a reference; only of a list that has its pages for itself
 * @extent: the page, coherent memory
 * @dma: bus address of @extent
 */
struct neuron_list_page {
	refcount_t ref;
	struct neuron_claim *claim;
	struct neuron_list_page *next;
	struct neuron_hw_extent *extent;
	dma_addr_t dma;
};

/**
 * struct neuron_list_room - where the next short list goes
 * @page: page with a reference, or NULL
 * @used: slots of it that have extents
 *
 * Lists that are made in the same call share pages. A page goes with its last list.
 */
struct neuron_list_room {
	struct neuron_list_page *page;
	unsigned int used;
};

/**
 * struct neuron_list_slot - a position in a list
 * @page: the page; the list has the reference
 * @slot: in @page
 */
struct neuron_list_slot {
	struct neuron_list_page *page;
	unsigned int slot;
};

/**
 * neuron_list_create() - allocate a list of extents
 * @claim: claim that it belongs to
 * @room: where a short list goes, if it fits
 * @nr: number of extents
 * @first: set to the first of them, with a reference of its page that the caller puts
 *
 * Return: 0 or -ENOMEM.
 */
int neuron_list_create(struct neuron_claim *claim, struct neuron_list_room *room,
		       u32 nr, struct neuron_list_slot *first);

/**
 * neuron_list_add() - write an extent, and go to the next one
 * @at: position, one of those that the list was made for
 * @addr: address of the extent, as the device wants it
 * @length: bytes
 */
void neuron_list_add(struct neuron_list_slot *at, u64 addr, u64 length);

/**
 * neuron_list_addr() - where a list is, for the device
 * @first: first position of the list
 *
 * Return: its plain address.
 */
u64 neuron_list_addr(const struct neuron_list_slot *first);

/**
 * neuron_list_put() - drop a reference of a list
 * @page: its first page
 */
void neuron_list_put(struct neuron_list_page *page);

/**
 * neuron_list_room_put() - no further list of the call goes there
 * @room: room
 */
void neuron_list_room_put(struct neuron_list_room *room);

/**
 * struct neuron_span - the extents of a buffer that a window touches
 * @first: first of them
 * @skip: bytes of it before the window
 * @count: extents
 */
struct neuron_span {
	unsigned int first;
	unsigned int count;
	u64 skip;
};

/**
 * neuron_bo_span() - find the extents of a range of a buffer
 * @bo: buffer
 * @offset: first byte of the range, which is inside the buffer
 * @length: bytes, not 0
 * @span: filled
 *
 * A table has many windows, and user memory as many extents as pages: nothing here goes through
 * all of them.
 *
 * Return: 0 or a negative errno.
 */
int neuron_bo_span(struct neuron_bo *bo, u64 offset, u64 length, struct neuron_span *span);

#endif /* _NEURON_LIST_H_ */
