/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * Access to memory by engines and queues, through a domain or by plain address, and what is
 * remembered of it: posts, traffic for device time, ends that a lost link may concern.
 */
#ifndef TRN_ACCESS_H
#define TRN_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuron/job.h"

struct trn_check_actor;
struct trn_chip;
struct trn_core;
struct trn_domain;

/**
 * struct trn_post - a semaphore post that an access made
 * @core: where it landed, NULL: the access was no post (or was dropped)
 */
struct trn_post {
	struct trn_core *core;
	unsigned int sem;
	int32_t delta;
};

struct trn_access;

/*
 * Where bytes come from or go to: chip (fabric id) 31:16, TRN_END_HBM, stack 7:0.
 * TRN_END_NONE: nowhere that matters.
 */
#define TRN_END_HBM	NEURON_BIT(15)
#define TRN_END_NONE	UINT32_MAX

/* Bytes that went from @src to @dst. */
struct trn_stream {
	uint32_t src;
	uint32_t dst;
	uint64_t bytes;
};

#define TRN_STREAMS	8

/**
 * struct trn_traffic - what accesses moved, for device time
 * @nr: streams; what finds no room is counted in the last one
 */
struct trn_traffic {
	unsigned int nr;
	struct trn_stream stream[TRN_STREAMS];
};

void trn_traffic_add(struct trn_traffic *traffic, uint32_t src, uint32_t dst,
		     uint64_t bytes);

/* As many as an operation has sources and destinations. */
#define TRN_TRANSFER_WAYS	32

/**
 * struct trn_transfer - accesses that arrive together or not at all
 * @turn: of the fabric when it began
 * @nr: ways in @from, @to: fabric ids of their ends
 * @many: there were more
 */
struct trn_transfer {
	uint32_t turn;
	unsigned int nr;
	bool many;
	uint32_t from[TRN_TRANSFER_WAYS];
	uint32_t to[TRN_TRANSFER_WAYS];
};

/* Accesses of @chip that follow and name @transfer belong to it. */
void trn_transfer_begin(struct trn_transfer *transfer, const struct trn_chip *chip);
/* Has a link gone down meanwhile on the way of its bytes? If so, say it once: it counts. */
bool trn_transfer_lost(const struct trn_transfer *transfer, const struct trn_chip *chip);

/*
 * Called just before a post is made, with access->post and ->hops filled in: the
 * one that it wakes may have its device time worked out at once.
 */
typedef void (*trn_posting_fn)(struct trn_access *access, void *arg);

/**
 * struct trn_access - who accesses memory, and what came of it
 * @chip: the chip that executes
 * @domain: NULL: domain 0, plain and routed addresses
 * @posting: may be NULL; called with @posting_arg
 * @memory_only: semaphores and registers are refused: WINDOW or ADDRESS
 * @notify: a write of NOTIFY, the only access that windows of kind STREAM allow
 * @poster: who changes semaphores: NEURON_SEM_POSTER_*
 * @traffic: may be NULL; what is moved is added
 * @transfer: may be NULL; what the access is a part of
 * @check: may be NULL; whose access it is, for the checks on request
 * @hops: out: most links crossed by the last copy
 * @place_src, @place_dst: out: enum trn_place of the last copy's ends
 * @bad_addr: out: address that failed, as the program wrote it
 * @bad_dst: out: that address is the destination's
 * @stale: out: the grant of the last copy or write was void: bytes were dropped
 * @post: out: the post that the last copy or write made, if any
 * @memory: out: where the end of the last access lay in this process, or NULL; a hint
 */
struct trn_access {
	struct trn_chip *chip;
	const struct trn_domain *domain;
	trn_posting_fn posting;
	void *posting_arg;
	bool memory_only;
	bool notify;
	uint32_t poster;
	struct trn_traffic *traffic;
	struct trn_transfer *transfer;
	struct trn_check_actor *check;
	unsigned int hops;
	unsigned int place_src;
	unsigned int place_dst;
	uint64_t bad_addr;
	bool bad_dst;
	bool stale;
	struct trn_post post;
	const void *memory;
};

/*
 * Read, write, copy through the domain; any length, any alignment, any number
 * of extents. Nothing outside a window is touched; on failure a prefix may
 * have been written.
 */
enum neuron_cause trn_access_read(struct trn_access *access, uint64_t addr,
				  void *buf, size_t len);
enum neuron_cause trn_access_write(struct trn_access *access, uint64_t addr,
				   const void *buf, size_t len);
enum neuron_cause trn_access_copy(struct trn_access *access, uint64_t dst,
				  uint64_t src, size_t len);

/*
 * What was to be reached from @addr lies outside of its window, so there is no
 * address to try: count it as the attempt would have been.
 * Return: NEURON_CAUSE_WINDOW, or _ADDRESS in domain 0.
 */
enum neuron_cause trn_access_outside(struct trn_access *access, uint64_t addr);

#endif /* TRN_ACCESS_H */
