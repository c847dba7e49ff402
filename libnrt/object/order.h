/* SPDX-License-Identifier: MIT */
/*
 * The order of work on tensors.
 *
 * Whoever will read or write bytes of storage has a ticket, which lists them. Tickets get
 * their places when the work is asked for. A ticket has its turn when all earlier ones that
 * touch the same bytes have left, unless both only read. So the results are those of working
 * on one ticket after the other, and nobody who waits is overtaken.
 *
 * A ticket waits only for earlier ones. All its bytes get their places at once, under one lock,
 * so there is no circle of tickets that wait for each other. A queue that runs its requests one
 * after the other gets their places under the same lock, so that both orders agree.
 */
#ifndef LIBNRT_OBJECT_ORDER_H
#define LIBNRT_OBJECT_ORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct nrt_ticket;

/**
 * struct nrt_use - bytes that a ticket uses
 * @next, @prev: in the line; those who came later are behind
 * @line: of the storage
 * @ticket: whose
 * @begin, @end: bytes of the storage
 * @writes: or only reads
 */
struct nrt_use {
	struct nrt_use *next;
	struct nrt_use *prev;
	struct nrt_line *line;
	struct nrt_ticket *ticket;
	size_t begin;
	size_t end;
	bool writes;
};

/* Who uses a storage or will; zeroed: nobody. */
struct nrt_line {
	struct nrt_use *first;
	struct nrt_use *last;
};

/* It is a ticket's turn. With the lock of the order, so it must not wait. */
typedef void nrt_turn_fn(void *arg);

/**
 * struct nrt_ticket - a piece of work on bytes of storage
 * @uses, @nr: which bytes; the caller's memory
 * @lane: tickets of one lane keep their order by themselves, or need none; NULL: no lane
 * @turn, @arg: who is told that it is its turn, when it was not at once
 * @ahead: uses of others that must end first; 0: it is its turn
 */
struct nrt_ticket {
	struct nrt_use *uses;
	size_t nr;
	const void *lane;
	nrt_turn_fn *turn;
	void *arg;
	atomic_uint ahead;
};

/* One for all storage of a process. @lock protects the lines. */
struct nrt_order {
	pthread_mutex_t lock;
};

void nrt_order_init(struct nrt_order *order);
void nrt_order_fini(struct nrt_order *order);

/* @ticket uses those bytes, too; there is room in its @uses. No bytes: nothing happens. */
void nrt_ticket_use(struct nrt_ticket *ticket, struct nrt_line *line, size_t offset, size_t size,
		    bool writes);

/* Give it its place. With the lock. */
void nrt_order_add(struct nrt_ticket *ticket);

/* It has been done, or will not be: those behind it move on. Takes the lock. */
void nrt_order_leave(struct nrt_order *order, struct nrt_ticket *ticket);

/*
 * For a thread that works itself: give @ticket its place, wait for its turn, or both. The first
 * one initialises @turned, the second one destroys it. They take the lock.
 */
void nrt_order_join(struct nrt_order *order, struct nrt_ticket *ticket, pthread_cond_t *turned);
void nrt_order_wait(struct nrt_order *order, struct nrt_ticket *ticket);
void nrt_order_enter(struct nrt_order *order, struct nrt_ticket *ticket);

/* Is it its turn? Any thread that knows the ticket. */
static inline bool nrt_ticket_has_turn(struct nrt_ticket *ticket)
{
	return !atomic_load(&ticket->ahead);
}

#endif /* LIBNRT_OBJECT_ORDER_H */
