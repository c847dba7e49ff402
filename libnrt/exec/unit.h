/* SPDX-License-Identifier: MIT */
/*
 * Execution units: queues of requests that run one after the other.
 *
 * Each core has units for what it does: reading tensors, writing them, other work on them,
 * executions, collectives. A request goes through three steps. It is scheduled, which
 * gives it a sequence number. It is started, which may hand it to the device. It is
 * collected: its end is waited for, and its status becomes known. Requests of a unit are
 * started and collected in the order of their numbers. Several may be started: the device
 * runs one while the next ones wait in its own queue. A request whose steps do more than
 * that is alone: nothing is started beside it.
 *
 * Whoever scheduled a request and waits for it starts and collects it in his own thread.
 * For the others the process has workers (exec/workers.h), which all units share.
 *
 * A request that uses tensors has a ticket (object/order.h). It is started when all earlier ones
 * that touch the same bytes have been collected, but for those of its own unit, which are before
 * it anyway. A request that waits for its turn holds up those behind it in its unit.
 *
 * No lock is held during a step of a request.
 */
#ifndef LIBNRT_EXEC_UNIT_H
#define LIBNRT_EXEC_UNIT_H

#include <stdbool.h>

#include <nrt/nrt_async.h>

#include "base/error.h"
#include "exec/tracker.h"
#include "object/order.h"

/*
 * Requests that nobody waits for and that are not collected yet; and how many of all are
 * started: as many as the queue of a core takes.
 */
#define NRT_UNIT_DEPTH	63

struct nrt_request;
struct nrt_unit;
struct nrt_units;

/* A step of a request. A failure is also in the request's error. */
typedef NRT_STATUS nrt_step_fn(struct nrt_request *request);

/**
 * struct nrt_request_ops - the steps of a request
 * @start: NULL: there is nothing to do. After a failure @finish is not called
 * @finish: wait for it and do what follows; its status is that of the request
 * @failed: say why, before anybody can know the status. Only if nobody waits
 * @done: everybody can know the status; may free the request. Only if nobody waits
 */
struct nrt_request_ops {
	nrt_step_fn *start;
	nrt_step_fn *finish;
	void (*failed)(struct nrt_request *request);
	void (*done)(struct nrt_request *request);
};

/**
 * struct nrt_request - a request
 * @next: in a list of the unit
 * @ops: steps
 * @seq: its number and that of its unit
 * @quick: @start does not block, so whoever schedules the request may do it while a worker waits
 *	for the end of another one
 * @alone: it is started when all before it have been collected, and none is started
 *	until it has been collected itself
 * @fatal: after @finish: the unit takes no more requests that nobody waits for
 * @waited: its owner does the steps
 * @collected: all steps are done; under the lock of the unit
 * @tracker: who wants to know of a failure, or NULL
 * @ticket: bytes of tensors that it uses, with nrt_ticket_use(), and its lane, if it has another
 *	one than the unit, which only requests that are @alone may have; the rest is the unit's
 * @error: status, and why
 *
 * The caller sets what is not the unit's: @ops, @quick, @alone, @tracker, @ticket.
 */
struct nrt_request {
	struct nrt_request *next;
	const struct nrt_request_ops *ops;
	nrta_seq_t seq;
	bool quick;
	bool alone;
	bool fatal;
	bool waited;
	bool collected;
	struct nrt_tracker *tracker;
	struct nrt_ticket ticket;
	struct nrt_error error;
};

/* The units of @cores cores. NULL: no memory. */
struct nrt_units *nrt_units_new(unsigned int cores);

/* From now on nothing is started any more. Requests under way end as their device says. */
void nrt_units_cancel(struct nrt_units *units);

/* The order of the tensors that requests use, for work on them that is no request. */
struct nrt_order *nrt_units_order(struct nrt_units *units);

/* After nrt_units_cancel(), when the device has ended all: wait for the workers. */
void nrt_units_free(struct nrt_units *units);

/* The unit of a core; NULL and @error: there is no such unit or queue. */
struct nrt_unit *nrt_units_find(struct nrt_units *units, uint32_t core, nrta_xu_t xu, int queue,
				struct nrt_error *error);

/* The unit of a sequence number that it has given; NULL and @error: nobody gave it. */
struct nrt_unit *nrt_units_find_seq(struct nrt_units *units, nrta_seq_t seq,
				    struct nrt_error *error);

/*
 * Schedule @request, which the unit owns until @done; *@seq is written before that.
 * NRT_QUEUE_FULL; NRT_EXEC_UNIT_UNRECOVERABLE after a hang or an error of the hardware:
 * nothing happened then.
 */
NRT_STATUS nrt_unit_schedule(struct nrt_unit *unit, struct nrt_request *request,
			     nrta_seq_t *seq, struct nrt_error *error);

/* Schedule @request, which stays the caller's, and wait; its status. @done is not called. */
NRT_STATUS nrt_unit_run(struct nrt_unit *unit, struct nrt_request *request);

/* The number of the last request that was collected; 0 in its lower bits: none yet. */
nrta_seq_t nrt_unit_completed(struct nrt_unit *unit);

/* A file descriptor that becomes readable when request @seq is collected. */
NRT_STATUS nrt_unit_watch(struct nrt_unit *unit, nrta_seq_t seq, int *fd,
			  struct nrt_error *error);

/* Wait until all that has been scheduled so far is collected, and its @done has returned. */
void nrt_unit_drain(struct nrt_unit *unit);

#endif /* LIBNRT_EXEC_UNIT_H */
