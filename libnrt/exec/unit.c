// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "exec/unit.h"
#include "exec/workers.h"

/* Queues of each unit, and where they begin in the list of a core. */
static const struct {
	const char *name;
	unsigned int first;
	unsigned int queues;
} kinds[NRTA_XU_TYPE_NUM] = {
	[NRTA_XU_TENSOR_READ] = { "TENSOR_READ", 0, 2 },
	[NRTA_XU_TENSOR_WRITE] = { "TENSOR_WRITE", 2, 2 },
	[NRTA_XU_TENSOR_OP] = { "TENSOR_OP", 4, 2 },
	[NRTA_XU_COMPUTE] = { "COMPUTE", 6, 1 },
	[NRTA_XU_COLLECTIVES] = { "COLLECTIVES", 7, 1 },
};

#define UNITS_OF_CORE	8
#define XU_SHIFT	48

/* Somebody watches for a request; @fd is the library's own descriptor of the event. */
struct watch {
	struct watch *next;
	nrta_seq_t seq;
	int fd;
};

/* Requests, the oldest first. */
struct list {
	struct nrt_request *head;
	struct nrt_request **tail;
};

/**
 * struct nrt_unit - a unit
 * @work: base: a worker is to do steps
 * @units: all of the process
 * @id: nrta_xu_id_t
 * @lock: protects the rest; never held during a step
 * @changed: a step is over, a request has its turn, or the unit is drained; for those who wait
 * @served: a worker does steps, or will: then nobody needs to tell one
 * @waiting: scheduled, not started
 * @running: started, not collected
 * @nr, @nr_unwaited: requests that are not collected; those that nobody waits for
 * @nr_started: requests in @running, and the one that is being started
 * @starting: a thread starts a request that is in no list
 * @collecting: a thread collects the first of @running
 * @alone: a request that is started lets no other one begin
 * @last: number of the youngest request
 * @completed: number of the last one collected; written with the lock
 * @ending: number of the request whose @done is being called, or 0
 * @drain_to: the first number that somebody drains the unit up to, or 0
 * @broken: status that made the unit unrecoverable, or NRT_SUCCESS
 * @cancelled: nothing is started any more
 * @watches: descriptors to tell
 */
struct nrt_unit {
	struct nrt_work work;
	struct nrt_units *units;
	nrta_xu_id_t id;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool served;
	struct list waiting;
	struct list running;
	unsigned int nr;
	unsigned int nr_unwaited;
	unsigned int nr_started;
	bool starting;
	bool collecting;
	bool alone;
	nrta_seq_t last;
	_Atomic nrta_seq_t completed;
	nrta_seq_t ending;
	nrta_seq_t drain_to;
	NRT_STATUS broken;
	atomic_bool cancelled;
	struct watch *watches;
};

/**
 * struct nrt_units - all units of the process
 * @order: of the tensors that requests use. Its lock is taken before that of a unit
 * @workers: do the steps of requests that nobody waits for
 * @nr, @units: the units
 */
struct nrt_units {
	struct nrt_order order;
	struct nrt_workers *workers;
	unsigned int nr;
	struct nrt_unit units[];
};

static void list_init(struct list *list)
{
	list->head = NULL;
	list->tail = &list->head;
}

static void list_add(struct list *list, struct nrt_request *request)
{
	request->next = NULL;
	*list->tail = request;
	list->tail = &request->next;
}

static struct nrt_request *list_take(struct list *list)
{
	struct nrt_request *request = list->head;

	list->head = request->next;
	if (!list->head)
		list->tail = &list->head;
	return request;
}

static nrt_work_fn serve;

struct nrt_units *nrt_units_new(unsigned int cores)
{
	unsigned int nr = cores * UNITS_OF_CORE;
	struct nrt_units *units = calloc(1, sizeof(*units) + nr * sizeof(units->units[0]));
	unsigned int i;

	if (!units)
		return NULL;
	units->workers = nrt_workers_new(nr, serve);
	if (!units->workers) {
		free(units);
		return NULL;
	}
	nrt_order_init(&units->order);
	units->nr = nr;
	for (i = 0; i < nr; i++) {
		struct nrt_unit *unit = &units->units[i];

		unit->units = units;
		unit->id = (nrta_xu_id_t)i;
		unit->last = (nrta_seq_t)i << XU_SHIFT;
		atomic_init(&unit->completed, unit->last);
		atomic_init(&unit->cancelled, false);
		pthread_mutex_init(&unit->lock, NULL);
		pthread_cond_init(&unit->changed, NULL);
		list_init(&unit->waiting);
		list_init(&unit->running);
	}
	return units;
}

struct nrt_order *nrt_units_order(struct nrt_units *units)
{
	return &units->order;
}

struct nrt_unit *nrt_units_find(struct nrt_units *units, uint32_t core, nrta_xu_t xu, int queue,
				struct nrt_error *error)
{
	if ((unsigned int)xu >= NRTA_XU_TYPE_NUM) {
		nrt_error_set(error, NRT_INVALID, "execution unit %d is unknown", (int)xu);
		return NULL;
	}
	if (core >= units->nr / UNITS_OF_CORE) {
		nrt_error_set(error, NRT_INVALID, "core %u: the process owns cores 0 to %u", core,
			      units->nr / UNITS_OF_CORE - 1);
		return NULL;
	}
	if (queue < 0 || (unsigned int)queue >= kinds[xu].queues) {
		nrt_error_set(error, NRT_INVALID, "queue %d: unit %s has queues 0 to %u", queue,
			      kinds[xu].name, kinds[xu].queues - 1);
		return NULL;
	}
	return &units->units[core * UNITS_OF_CORE + kinds[xu].first + (unsigned int)queue];
}

struct nrt_unit *nrt_units_find_seq(struct nrt_units *units, nrta_seq_t seq,
				    struct nrt_error *error)
{
	uint64_t id = NRTA_SEQ_GET_XU_ID(seq);
	struct nrt_unit *unit;
	bool known = false;

	if (id < units->nr && NRTA_SEQ_GET_SEQ_NUM(seq)) {
		unit = &units->units[id];
		pthread_mutex_lock(&unit->lock);
		known = seq <= unit->last;
		pthread_mutex_unlock(&unit->lock);
	}
	if (known)
		return unit;
	nrt_error_set(error, NRT_INVALID, "no request has number 0x%llx", (unsigned long long)seq);
	return NULL;
}

/* With the lock. May the first waiting request start? After a cancel it touches nothing. */
static bool can_start(const struct nrt_unit *unit)
{
	struct nrt_request *head = unit->waiting.head;

	if (!head || unit->starting || unit->alone || unit->nr_started == NRT_UNIT_DEPTH)
		return false;
	if (!nrt_ticket_has_turn(&head->ticket) && !atomic_load(&unit->cancelled))
		return false;
	return !head->alone || !unit->nr_started;
}

static bool can_collect(const struct nrt_unit *unit)
{
	return unit->running.head && !unit->collecting;
}

/* With the lock: what there is to do now is for a worker, or for one who waits. */
static void wake(struct nrt_unit *unit)
{
	bool work = (can_start(unit) && !unit->waiting.head->waited) ||
		    (can_collect(unit) && !unit->running.head->waited);

	if (work && !unit->served) {
		unit->served = true;
		nrt_workers_add(unit->units->workers, &unit->work);
	}
	if (unit->nr > unit->nr_unwaited)
		pthread_cond_broadcast(&unit->changed);
}

/* With the lock of the order. */
static void turned(void *arg)
{
	struct nrt_unit *unit = arg;

	pthread_mutex_lock(&unit->lock);
	wake(unit);
	pthread_mutex_unlock(&unit->lock);
}

static bool is_drained(const struct nrt_unit *unit, nrta_seq_t last)
{
	return atomic_load(&unit->completed) >= last && (!unit->ending || unit->ending > last);
}

/* With the lock: what somebody drains the unit of may be over. */
static void wake_drained(struct nrt_unit *unit)
{
	if (!unit->drain_to || !is_drained(unit, unit->drain_to))
		return;
	unit->drain_to = 0;
	pthread_cond_broadcast(&unit->changed);
}

/* With the lock, which is given up meanwhile. */
static void start_first(struct nrt_unit *unit)
{
	struct nrt_request *request = list_take(&unit->waiting);

	unit->starting = true;
	unit->alone = request->alone;
	unit->nr_started++;
	pthread_mutex_unlock(&unit->lock);
	request->fatal = false;
	request->error.status = NRT_SUCCESS;
	if (atomic_load(&unit->cancelled))
		nrt_error_set(&request->error, NRT_CLOSED, "nrt_close() came first");
	else if (request->ops->start)
		request->error.status = request->ops->start(request);
	pthread_mutex_lock(&unit->lock);
	unit->starting = false;
	list_add(&unit->running, request);
	wake(unit);
}

/* With the lock: tell those who watch for requests up to @seq. */
static void tell(struct nrt_unit *unit, nrta_seq_t seq)
{
	struct watch **link = &unit->watches;

	while (*link) {
		struct watch *watch = *link;

		if (watch->seq > seq) {
			link = &watch->next;
			continue;
		}
		*link = watch->next;
		eventfd_write(watch->fd, 1);
		close(watch->fd);
		free(watch);
	}
}

/* What fails after nrt_units_cancel() fails because of it. */
static NRT_STATUS explain_cancel(const struct nrt_unit *unit, struct nrt_error *error)
{
	if (error->status && atomic_load(&unit->cancelled))
		nrt_error_set(error, NRT_CLOSED, "nrt_close() ended it");
	return error->status;
}

/* With the lock: the first of the running requests is over. */
static void retire(struct nrt_unit *unit, struct nrt_request *request)
{
	list_take(&unit->running);
	unit->collecting = false;
	unit->alone = false;
	unit->nr--;
	unit->nr_started--;
	if (!request->waited)
		unit->nr_unwaited--;
	if (!request->waited && request->fatal)
		unit->broken = request->error.status;
	atomic_store(&unit->completed, request->seq);
	tell(unit, request->seq);
	request->collected = true;
}

/* With the lock, which is given up meanwhile. */
static void collect_first(struct nrt_unit *unit)
{
	struct nrt_request *request = unit->running.head;
	nrta_seq_t seq = request->seq;
	bool waited = request->waited;
	NRT_STATUS status;

	unit->collecting = true;
	pthread_mutex_unlock(&unit->lock);
	if (!request->error.status)
		request->error.status = request->ops->finish(request);
	status = explain_cancel(unit, &request->error);
	if (status && !waited)
		request->ops->failed(request);
	if (status && request->tracker)
		nrt_tracker_add(request->tracker, seq, status);
	pthread_mutex_lock(&unit->lock);
	retire(unit, request);
	wake(unit);
	/* That of a worker; there is one for the unit at a time. */
	if (!waited)
		unit->ending = seq;
	pthread_mutex_unlock(&unit->lock);
	/* Who has waited for its tensors finds it completed. */
	nrt_order_leave(&unit->units->order, &request->ticket);
	if (!waited)
		request->ops->done(request);
	pthread_mutex_lock(&unit->lock);
	if (!waited)
		unit->ending = 0;
	wake_drained(unit);
}

/* With the lock: a step of a request that nobody waits for. False: there is none to do. */
static bool step(struct nrt_unit *unit)
{
	if (can_start(unit) && !unit->waiting.head->waited) {
		start_first(unit);
		return true;
	}
	if (can_collect(unit) && !unit->running.head->waited) {
		collect_first(unit);
		return true;
	}
	return false;
}

static void serve(struct nrt_work *work)
{
	struct nrt_unit *unit = (struct nrt_unit *)work;

	pthread_mutex_lock(&unit->lock);
	while (step(unit))
		;
	unit->served = false;
	pthread_mutex_unlock(&unit->lock);
}

void nrt_units_cancel(struct nrt_units *units)
{
	unsigned int i;

	for (i = 0; i < units->nr; i++) {
		struct nrt_unit *unit = &units->units[i];

		pthread_mutex_lock(&unit->lock);
		atomic_store(&unit->cancelled, true);
		wake(unit);
		pthread_mutex_unlock(&unit->lock);
	}
}

void nrt_units_free(struct nrt_units *units)
{
	unsigned int i;

	for (i = 0; i < units->nr; i++)
		nrt_unit_drain(&units->units[i]);
	nrt_workers_free(units->workers);
	for (i = 0; i < units->nr; i++) {
		pthread_cond_destroy(&units->units[i].changed);
		pthread_mutex_destroy(&units->units[i].lock);
	}
	nrt_order_fini(&units->order);
	free(units);
}

/* The request gets its places in the unit and in the order of tensors at once. */
static void lock_for(struct nrt_unit *unit, const struct nrt_request *request)
{
	if (request->ticket.nr)
		pthread_mutex_lock(&unit->units->order.lock);
	pthread_mutex_lock(&unit->lock);
}

static void unlock_order(struct nrt_unit *unit, const struct nrt_request *request)
{
	if (request->ticket.nr)
		pthread_mutex_unlock(&unit->units->order.lock);
}

/* With both locks. */
static void enqueue(struct nrt_unit *unit, struct nrt_request *request)
{
	request->collected = false;
	if (!request->ticket.lane)
		request->ticket.lane = unit;
	request->ticket.turn = turned;
	request->ticket.arg = unit;
	nrt_order_add(&request->ticket);
	unit->nr++;
	if (!request->waited)
		unit->nr_unwaited++;
	request->seq = ++unit->last;
	list_add(&unit->waiting, request);
}

/* With the lock. */
static NRT_STATUS check_room(struct nrt_unit *unit, struct nrt_error *error)
{
	if (atomic_load(&unit->cancelled))
		return nrt_error_set(error, NRT_CLOSED, "nrt_close() came first");
	if (unit->broken)
		return nrt_error_set(error, NRT_EXEC_UNIT_UNRECOVERABLE,
				     "the unit ended with %s; nrt_close() and nrt_init() make a new one",
				     nrt_get_status_as_str(unit->broken));
	if (unit->nr_unwaited >= NRT_UNIT_DEPTH)
		return nrt_error_set(error, NRT_QUEUE_FULL, "%u requests are in the queue",
				     unit->nr_unwaited);
	if (!nrt_workers_ready(unit->units->workers))
		return nrt_error_set(error, NRT_RESOURCE, "cannot create a thread");
	return NRT_SUCCESS;
}

/*
 * With the lock: it may start. Whoever collects the request before it may wait for that for long,
 * and the device shall have this one by then. Otherwise a worker starts it: to tell one, or to
 * find that it is at work, takes less time.
 */
static void begin(struct nrt_unit *unit, struct nrt_request *request)
{
	if (request->quick && unit->collecting && unit->waiting.head == request && can_start(unit))
		start_first(unit);
	else
		wake(unit);
}

NRT_STATUS nrt_unit_schedule(struct nrt_unit *unit, struct nrt_request *request,
			     nrta_seq_t *seq, struct nrt_error *error)
{
	NRT_STATUS status;

	request->waited = false;
	lock_for(unit, request);
	status = check_room(unit, error);
	if (!status)
		enqueue(unit, request);
	unlock_order(unit, request);
	if (!status) {
		*seq = request->seq;
		begin(unit, request);
	}
	pthread_mutex_unlock(&unit->lock);
	return status;
}

NRT_STATUS nrt_unit_run(struct nrt_unit *unit, struct nrt_request *request)
{
	request->waited = true;
	lock_for(unit, request);
	enqueue(unit, request);
	unlock_order(unit, request);
	while (!request->collected) {
		if (unit->waiting.head == request && can_start(unit))
			start_first(unit);
		else if (unit->running.head == request && can_collect(unit))
			collect_first(unit);
		else
			pthread_cond_wait(&unit->changed, &unit->lock);
	}
	pthread_mutex_unlock(&unit->lock);
	return request->error.status;
}

nrta_seq_t nrt_unit_completed(struct nrt_unit *unit)
{
	return atomic_load(&unit->completed);
}

NRT_STATUS nrt_unit_watch(struct nrt_unit *unit, nrta_seq_t seq, int *fd,
			  struct nrt_error *error)
{
	struct watch *watch = malloc(sizeof(*watch));
	int event = eventfd(0, EFD_CLOEXEC);

	/* The program may close its descriptor at any time, so the library has its own. */
	*fd = event < 0 ? -1 : fcntl(event, F_DUPFD_CLOEXEC, 0);
	if (!watch || *fd < 0) {
		nrt_error_set(error, NRT_RESOURCE, "no file descriptor or memory: %s",
			      nrt_error_why(errno));
		if (event >= 0)
			close(event);
		if (*fd >= 0)
			close(*fd);
		free(watch);
		return error->status;
	}
	*watch = (struct watch){ .seq = seq, .fd = event };
	pthread_mutex_lock(&unit->lock);
	watch->next = unit->watches;
	unit->watches = watch;
	tell(unit, atomic_load(&unit->completed));
	pthread_mutex_unlock(&unit->lock);
	return NRT_SUCCESS;
}

void nrt_unit_drain(struct nrt_unit *unit)
{
	nrta_seq_t last;

	pthread_mutex_lock(&unit->lock);
	last = unit->last;
	while (!is_drained(unit, last)) {
		if (!unit->drain_to || unit->drain_to > last)
			unit->drain_to = last;
		pthread_cond_wait(&unit->changed, &unit->lock);
	}
	pthread_mutex_unlock(&unit->lock);
}
