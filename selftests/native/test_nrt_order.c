// SPDX-License-Identifier: MIT
/*
 * The order of work on tensors: of tickets alone, and of requests of several units.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "exec/unit.h"

#define NR_LINES	3
#define NR_BYTES	16
#define NR_THREADS	8
#define ROUNDS		300

/* One storage for several tests: who works on its bytes. A writer counts 1000. */
struct memory {
	struct nrt_line line;
	atomic_int busy[NR_BYTES];
};

/* A ticket with its uses. */
struct visit {
	struct nrt_use uses[NR_LINES];
	struct nrt_ticket ticket;
	bool turned;
};

static void set_turned(void *arg)
{
	*(bool *)arg = true;
}

static void visit_init(struct visit *visit, const void *lane)
{
	memset(visit, 0, sizeof(*visit));
	visit->ticket.uses = visit->uses;
	visit->ticket.lane = lane;
	visit->ticket.turn = set_turned;
	visit->ticket.arg = &visit->turned;
}

/* A ticket for bytes of one line takes its place; is it its turn? */
static bool visit_add(struct nrt_order *order, struct visit *visit, struct nrt_line *line,
		      size_t begin, size_t end, bool writes)
{
	nrt_ticket_use(&visit->ticket, line, begin, end - begin, writes);
	pthread_mutex_lock(&order->lock);
	nrt_order_add(&visit->ticket);
	pthread_mutex_unlock(&order->lock);
	return nrt_ticket_has_turn(&visit->ticket);
}

/* Reads share, a write excludes, and whoever comes later waits behind it. */
static void test_reads_and_writes(void **state)
{
	struct nrt_line line = { 0 };
	struct nrt_order order;
	struct visit visits[4];
	int i;

	(void)state;
	nrt_order_init(&order);
	for (i = 0; i < 4; i++)
		visit_init(&visits[i], NULL);
	assert_true(visit_add(&order, &visits[0], &line, 0, 8, false));
	assert_true(visit_add(&order, &visits[1], &line, 4, 12, false));
	assert_false(visit_add(&order, &visits[2], &line, 0, 16, true));
	/* It could read beside the others, but then the write would never have its turn. */
	assert_false(visit_add(&order, &visits[3], &line, 0, 8, false));
	nrt_order_leave(&order, &visits[0].ticket);
	assert_false(visits[2].turned);
	nrt_order_leave(&order, &visits[1].ticket);
	assert_true(visits[2].turned);
	assert_false(visits[3].turned);
	nrt_order_leave(&order, &visits[2].ticket);
	assert_true(visits[3].turned);
	nrt_order_leave(&order, &visits[3].ticket);
	assert_null(line.first);
	assert_null(line.last);
	nrt_order_fini(&order);
}

/* Ranges that do not overlap, tickets of one lane, a ticket with itself, no bytes. */
static void test_what_needs_no_order(void **state)
{
	struct nrt_line line = { 0 };
	struct nrt_order order;
	struct visit visits[5];
	int i;

	(void)state;
	nrt_order_init(&order);
	for (i = 0; i < 5; i++)
		visit_init(&visits[i], i < 3 ? visits : NULL);
	assert_true(visit_add(&order, &visits[0], &line, 0, 8, true));
	assert_true(visit_add(&order, &visits[1], &line, 0, 8, true));
	nrt_ticket_use(&visits[2].ticket, &line, 8, 4, false);
	assert_true(visit_add(&order, &visits[2], &line, 8, 12, true));
	assert_true(visit_add(&order, &visits[3], &line, 12, 16, true));
	assert_true(visit_add(&order, &visits[4], &line, 4, 4, true));
	assert_int_equal(visits[4].ticket.nr, 0);
	for (i = 0; i < 5; i++)
		nrt_order_leave(&order, &visits[i].ticket);
	assert_null(line.first);
	nrt_order_fini(&order);
}

/* --- Requests --- */

/* A request on bytes of memories. */
struct work {
	struct nrt_request request;
	struct nrt_use uses[NR_LINES];
	struct memory *memory[NR_LINES];
	size_t nr;
	sem_t *gate;
	atomic_bool *failed;
	atomic_uint *nr_done;
	atomic_bool done;
};

/* Count this user of each of its bytes. False: somebody is there who excludes it. */
static bool mark(const struct work *work)
{
	bool good = true;
	size_t i, at;

	for (i = 0; i < work->nr; i++) {
		const struct nrt_use *use = &work->uses[i];

		for (at = use->begin; at < use->end; at++) {
			int others = atomic_fetch_add(&work->memory[i]->busy[at],
						      use->writes ? 1000 : 1);

			good &= use->writes ? !others : others < 1000;
		}
	}
	return good;
}

static void unmark(const struct work *work)
{
	size_t i, at;

	for (i = 0; i < work->nr; i++) {
		const struct nrt_use *use = &work->uses[i];

		for (at = use->begin; at < use->end; at++)
			atomic_fetch_sub(&work->memory[i]->busy[at], use->writes ? 1000 : 1);
	}
}

static NRT_STATUS finish(struct nrt_request *request)
{
	struct work *work = (struct work *)request;

	if (!mark(work))
		atomic_store(work->failed, true);
	if (work->gate)
		sem_wait(work->gate);
	else
		sched_yield();
	unmark(work);
	return NRT_SUCCESS;
}

static void done(struct nrt_request *request)
{
	struct work *work = (struct work *)request;
	atomic_uint *nr_done = work->nr_done;

	atomic_store(&work->done, true);
	if (nr_done) {
		free(work);
		atomic_fetch_add(nr_done, 1);
	}
}

/* Some are cancelled, which nobody needs to hear of. */
static void failed(struct nrt_request *request)
{
	(void)request;
}

static const struct nrt_request_ops work_ops = {
	.finish = finish,
	.failed = failed,
	.done = done,
};

struct rig {
	struct nrt_units *units;
	struct nrt_unit *unit[3];
	struct memory memory[NR_LINES];
	atomic_bool failed;
	atomic_bool stop;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct nrt_error error;
	uint32_t i;

	rig->units = nrt_units_new(3);
	for (i = 0; i < 3; i++)
		rig->unit[i] = nrt_units_find(rig->units, i, NRTA_XU_COMPUTE, 0, &error);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	nrt_units_cancel(rig->units);
	nrt_units_free(rig->units);
	free(rig);
	return 0;
}

static void work_init(struct work *work, struct rig *rig, sem_t *gate)
{
	memset(work, 0, sizeof(*work));
	work->request.ops = &work_ops;
	work->request.quick = true;
	work->request.ticket.uses = work->uses;
	work->failed = &rig->failed;
	work->gate = gate;
}

static void work_use(struct work *work, struct memory *memory, size_t begin, size_t end,
		     bool writes)
{
	nrt_ticket_use(&work->request.ticket, &memory->line, begin, end - begin, writes);
	work->memory[work->nr++] = memory;
}

static void schedule(struct nrt_unit *unit, struct work *work)
{
	struct nrt_error error;
	nrta_seq_t seq;

	assert_int_equal(nrt_unit_schedule(unit, &work->request, &seq, &error), NRT_SUCCESS);
}

/* A request of another unit waits for the earlier one; one on other bytes does not. */
static void test_across_units(void **state)
{
	struct rig *rig = *state;
	struct work writer, reader, other;
	sem_t gate;

	sem_init(&gate, 0, 0);
	work_init(&writer, rig, &gate);
	work_use(&writer, &rig->memory[0], 0, 8, true);
	work_init(&reader, rig, NULL);
	work_use(&reader, &rig->memory[0], 7, 9, false);
	work_init(&other, rig, NULL);
	work_use(&other, &rig->memory[0], 9, 16, true);
	schedule(rig->unit[0], &writer);
	schedule(rig->unit[1], &reader);
	schedule(rig->unit[2], &other);
	nrt_unit_drain(rig->unit[2]);
	assert_false(atomic_load(&writer.done));
	assert_false(atomic_load(&reader.done));
	sem_post(&gate);
	nrt_unit_drain(rig->unit[1]);
	assert_true(atomic_load(&writer.done));
	assert_false(atomic_load(&rig->failed));
	nrt_unit_drain(rig->unit[0]);
	sem_destroy(&gate);
}

/* What waits for its turn when everything is cancelled ends, before what it waits for does. */
static void test_cancelled_in_line(void **state)
{
	struct rig *rig = *state;
	struct work writer, reader;
	sem_t gate;

	sem_init(&gate, 0, 0);
	work_init(&writer, rig, &gate);
	work_use(&writer, &rig->memory[0], 0, 8, true);
	work_init(&reader, rig, NULL);
	work_use(&reader, &rig->memory[0], 0, 8, false);
	schedule(rig->unit[0], &writer);
	while (!atomic_load(&rig->memory[0].busy[0]))
		sched_yield();
	schedule(rig->unit[1], &reader);
	nrt_units_cancel(rig->units);
	nrt_unit_drain(rig->unit[1]);
	assert_int_equal(reader.request.error.status, NRT_CLOSED);
	assert_false(atomic_load(&writer.done));
	sem_post(&gate);
	nrt_unit_drain(rig->unit[0]);
	sem_destroy(&gate);
}

/* Keeps a memory in use: there is always a request of one unit or the other. */
static void *keep_busy(void *arg)
{
	struct rig *rig = arg;
	struct work *works = calloc(2, sizeof(*works));
	unsigned int i = 0;

	while (!atomic_load(&rig->stop)) {
		struct work *work = &works[i++ % 2];

		work_init(work, rig, NULL);
		work_use(work, &rig->memory[0], 0, NR_BYTES, true);
		schedule(rig->unit[i % 2], work);
		while (i > 1 && !atomic_load(&works[i % 2].done))
			sched_yield();
	}
	nrt_unit_drain(rig->unit[0]);
	nrt_unit_drain(rig->unit[1]);
	free(works);
	return NULL;
}

/* Who waits gets his turn while a stream of requests goes on. */
static void test_fair(void **state)
{
	struct rig *rig = *state;
	struct nrt_order *order = nrt_units_order(rig->units);
	pthread_t thread;
	int i;

	assert_int_equal(pthread_create(&thread, NULL, keep_busy, rig), 0);
	for (i = 0; i < 200; i++) {
		struct visit visit;

		visit_init(&visit, NULL);
		nrt_ticket_use(&visit.ticket, &rig->memory[0].line, 0, 1, i % 2);
		nrt_order_enter(order, &visit.ticket);
		assert_int_equal(atomic_load(&rig->memory[0].busy[0]), 0);
		nrt_order_leave(order, &visit.ticket);
	}
	atomic_store(&rig->stop, true);
	pthread_join(thread, NULL);
	assert_false(atomic_load(&rig->failed));
}

/* A thread with requests of all kinds on bytes of all memories. */
struct crowd {
	struct rig *rig;
	pthread_t thread;
	unsigned int seed;
	unsigned int scheduled;
	atomic_uint *nr_done;
};

static void use_some(struct crowd *crowd, struct work *work)
{
	size_t i;

	for (i = 0; i < NR_LINES; i++) {
		size_t begin = (size_t)rand_r(&crowd->seed) % NR_BYTES;
		size_t size = (size_t)rand_r(&crowd->seed) % (NR_BYTES - begin) + 1;

		if (rand_r(&crowd->seed) % 2)
			work_use(work, &crowd->rig->memory[i], begin, begin + size,
				 rand_r(&crowd->seed) % 2);
	}
}

static void schedule_some(struct crowd *crowd, struct nrt_unit *unit)
{
	struct work *work = calloc(1, sizeof(*work));
	struct nrt_error error;
	nrta_seq_t seq;

	work_init(work, crowd->rig, NULL);
	work->request.quick = rand_r(&crowd->seed) % 2;
	work->request.alone = rand_r(&crowd->seed) % 4 == 0;
	work->nr_done = crowd->nr_done;
	use_some(crowd, work);
	if (nrt_unit_schedule(unit, &work->request, &seq, &error))
		free(work);
	else
		crowd->scheduled++;
}

static void *crowd_main(void *arg)
{
	struct crowd *crowd = arg;
	struct rig *rig = crowd->rig;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		struct nrt_unit *unit = rig->unit[rand_r(&crowd->seed) % 3];
		struct work work;

		if (rand_r(&crowd->seed) % 2) {
			schedule_some(crowd, unit);
			continue;
		}
		work_init(&work, rig, NULL);
		use_some(crowd, &work);
		if (rand_r(&crowd->seed) % 2) {
			nrt_unit_run(unit, &work.request);
			continue;
		}
		nrt_order_enter(nrt_units_order(rig->units), &work.request.ticket);
		finish(&work.request);
		nrt_order_leave(nrt_units_order(rig->units), &work.request.ticket);
	}
	return NULL;
}

/* Nobody meets whom he must not meet, and nobody waits for ever. */
static void test_crowd(void **state)
{
	struct rig *rig = *state;
	struct crowd crowds[NR_THREADS] = { 0 };
	unsigned int i, scheduled = 0;
	atomic_uint nr_done = 0;

	for (i = 0; i < NR_THREADS; i++) {
		crowds[i] = (struct crowd){ .rig = rig, .seed = i + 1, .nr_done = &nr_done };
		assert_int_equal(pthread_create(&crowds[i].thread, NULL, crowd_main, &crowds[i]),
				 0);
	}
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(crowds[i].thread, NULL);
		scheduled += crowds[i].scheduled;
	}
	for (i = 0; i < 3; i++)
		nrt_unit_drain(rig->unit[i]);
	assert_int_equal(atomic_load(&nr_done), scheduled);
	assert_false(atomic_load(&rig->failed));
	for (i = 0; i < NR_LINES; i++)
		assert_null(rig->memory[i].line.first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_and_writes),
		cmocka_unit_test(test_what_needs_no_order),
		cmocka_unit_test_setup_teardown(test_across_units, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelled_in_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fair, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
	};

	return cmocka_run_group_tests_name("nrt_order", tests, NULL, NULL);
}
