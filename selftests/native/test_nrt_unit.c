// SPDX-License-Identifier: MIT
/*
 * Execution units and handles, with requests that need no device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/handle.h"
#include "exec/unit.h"

/* What happened, in order. */
struct diary {
	pthread_mutex_t lock;
	char text[4096];
	unsigned int started;
	unsigned int most_started;
};

/* A request that ends when it may. */
struct work {
	struct nrt_request request;
	struct diary *diary;
	struct nrt_unit *unit;
	sem_t *gate;
	NRT_STATUS status;
	bool fatal;
	char name;
	pthread_t starter;
	atomic_bool collected;
	atomic_bool told;
	atomic_bool done;
};

static void note(struct work *work, char what)
{
	char line[4] = { what, work->name, ' ', '\0' };
	struct diary *diary = work->diary;

	pthread_mutex_lock(&diary->lock);
	strncat(diary->text, line, sizeof(diary->text) - strlen(diary->text) - 1);
	if (what == 's' && ++diary->started > diary->most_started)
		diary->most_started = diary->started;
	if (what == 'f')
		diary->started--;
	pthread_mutex_unlock(&diary->lock);
}

static NRT_STATUS start(struct nrt_request *request)
{
	((struct work *)request)->starter = pthread_self();
	note((struct work *)request, 's');
	return NRT_SUCCESS;
}

static NRT_STATUS finish(struct nrt_request *request)
{
	struct work *work = (struct work *)request;

	atomic_store(&work->collected, true);
	if (work->gate)
		sem_wait(work->gate);
	note(work, 'f');
	request->fatal = work->fatal;
	if (work->status)
		nrt_error_set(&request->error, work->status, "as asked");
	return work->status;
}

/* Whoever knows that the request is over finds in the log why it failed. */
static void failed(struct nrt_request *request)
{
	struct work *work = (struct work *)request;

	atomic_store(&work->told, nrt_unit_completed(work->unit) < request->seq &&
				  request->error.text[0]);
}

static void done(struct nrt_request *request)
{
	struct work *work = (struct work *)request;

	note(work, 'd');
	atomic_store(&work->done, true);
}

static const struct nrt_request_ops work_ops = { start, finish, failed, done };

static void work_init(struct work *work, struct diary *diary, char name, sem_t *gate)
{
	memset(work, 0, sizeof(*work));
	work->request.ops = &work_ops;
	work->request.quick = true;
	work->diary = diary;
	work->gate = gate;
	work->name = name;
}

struct rig {
	struct nrt_units *units;
	struct nrt_unit *unit;
	struct diary diary;
	sem_t gate;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct nrt_error error;

	pthread_mutex_init(&rig->diary.lock, NULL);
	sem_init(&rig->gate, 0, 0);
	rig->units = nrt_units_new(2);
	rig->unit = nrt_units_find(rig->units, 1, NRTA_XU_COMPUTE, 0, &error);
	assert_non_null(rig->unit);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	nrt_units_cancel(rig->units);
	nrt_units_free(rig->units);
	sem_destroy(&rig->gate);
	free(rig);
	return 0;
}

static bool is_started(struct rig *rig, char name)
{
	char line[] = { 's', name, '\0' };
	bool started;

	pthread_mutex_lock(&rig->diary.lock);
	started = strstr(rig->diary.text, line);
	pthread_mutex_unlock(&rig->diary.lock);
	return started;
}

/* Somebody waits for its end, or has done so. */
static void await_collection(struct work *work)
{
	while (!atomic_load(&work->collected))
		sched_yield();
}

static nrta_seq_t schedule(struct rig *rig, struct work *work)
{
	struct nrt_error error;
	nrta_seq_t seq = 0;

	work->unit = rig->unit;
	assert_int_equal(nrt_unit_schedule(rig->unit, &work->request, &seq, &error), 0);
	return seq;
}

/* Several are started before the first has ended, and all end in order. */
static void test_order(void **state)
{
	struct rig *rig = *state;
	struct work works[3];
	int i;

	for (i = 0; i < 3; i++) {
		work_init(&works[i], &rig->diary, (char)('a' + i), &rig->gate);
		schedule(rig, &works[i]);
	}
	for (i = 0; i < 3; i++)
		sem_post(&rig->gate);
	nrt_unit_drain(rig->unit);
	assert_string_equal(rig->diary.text, "sa sb sc fa da fb db fc dc ");
}

/*
 * Who schedules does not do the steps, which take longer than to tell a worker. But a worker that
 * waits for an end cannot start anything.
 */
static void test_who_starts(void **state)
{
	struct rig *rig = *state;
	struct work works[3];
	bool started[3];
	int i;

	for (i = 0; i < 3; i++) {
		work_init(&works[i], &rig->diary, (char)('a' + i), &rig->gate);
		works[i].request.quick = i != 2;
		schedule(rig, &works[i]);
		await_collection(&works[0]);
		started[i] = is_started(rig, (char)('a' + i));
	}
	for (i = 0; i < 3; i++)
		sem_post(&rig->gate);
	nrt_unit_drain(rig->unit);
	assert_true(started[1]);
	/* It may block. */
	assert_false(started[2]);
	assert_false(pthread_equal(works[0].starter, pthread_self()));
	assert_true(pthread_equal(works[1].starter, pthread_self()));
	assert_false(pthread_equal(works[2].starter, pthread_self()));
}

/* One that is alone has nothing beside it, before or behind. */
static void test_alone(void **state)
{
	struct rig *rig = *state;
	struct work works[3];
	int i;

	for (i = 0; i < 3; i++) {
		work_init(&works[i], &rig->diary, (char)('a' + i), &rig->gate);
		works[i].request.alone = i == 1;
		schedule(rig, &works[i]);
	}
	for (i = 0; i < 3; i++)
		sem_post(&rig->gate);
	nrt_unit_drain(rig->unit);
	assert_string_equal(rig->diary.text, "sa fa da sb fb db sc fc dc ");
}

/* Those who wait get in when the queue is full, and never more are started than it takes. */
static void test_full(void **state)
{
	struct rig *rig = *state;
	struct work works[NRT_UNIT_DEPTH], extra, waited;
	struct nrt_error error;
	nrta_seq_t seq;
	int i;

	for (i = 0; i < NRT_UNIT_DEPTH; i++) {
		work_init(&works[i], &rig->diary, 'a', &rig->gate);
		seq = schedule(rig, &works[i]);
		assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(seq), i + 1);
	}
	work_init(&extra, &rig->diary, 'x', NULL);
	assert_int_equal(nrt_unit_schedule(rig->unit, &extra.request, &seq, &error),
			 NRT_QUEUE_FULL);
	for (i = 0; i < NRT_UNIT_DEPTH; i++)
		sem_post(&rig->gate);
	work_init(&waited, &rig->diary, 'w', NULL);
	assert_int_equal(nrt_unit_run(rig->unit, &waited.request), NRT_SUCCESS);
	assert_true(waited.request.seq == works[NRT_UNIT_DEPTH - 1].request.seq + 1);
	nrt_unit_drain(rig->unit);
	assert_true(rig->diary.most_started <= NRT_UNIT_DEPTH);
	schedule(rig, &extra);
	nrt_unit_drain(rig->unit);
}

/* Only a request of the queue makes it unrecoverable; those behind it still end. */
static void test_fatal(void **state)
{
	struct rig *rig = *state;
	struct nrt_tracker *tracker = nrt_tracker_new();
	struct work waited, bad, behind, late;
	const nrta_error_t *list;
	struct nrt_error error;
	nrta_seq_t seq;
	size_t count;

	work_init(&waited, &rig->diary, 'w', NULL);
	waited.status = NRT_TIMEOUT;
	waited.fatal = true;
	assert_int_equal(nrt_unit_run(rig->unit, &waited.request), NRT_TIMEOUT);
	work_init(&bad, &rig->diary, 'a', &rig->gate);
	bad.status = NRT_HW_ERROR;
	bad.fatal = true;
	bad.request.tracker = tracker;
	schedule(rig, &bad);
	work_init(&behind, &rig->diary, 'b', NULL);
	behind.request.tracker = tracker;
	seq = schedule(rig, &behind);
	sem_post(&rig->gate);
	nrt_unit_drain(rig->unit);
	assert_true(nrt_unit_completed(rig->unit) == seq);
	assert_int_equal(nrt_tracker_list(tracker, &list, &count, &error), 0);
	assert_int_equal(count, 1);
	assert_true(list[0].seq_id == bad.request.seq);
	assert_int_equal(list[0].error_code, NRT_HW_ERROR);
	assert_true(bad.told && !behind.told && !waited.told);
	work_init(&late, &rig->diary, 'l', NULL);
	assert_int_equal(nrt_unit_schedule(rig->unit, &late.request, &seq, &error),
			 NRT_EXEC_UNIT_UNRECOVERABLE);
	assert_int_equal(nrt_unit_run(rig->unit, &late.request), NRT_SUCCESS);
	nrt_tracker_release(tracker);
}

/* A descriptor tells the end of its request and not that of the one before. */
static void test_watch(void **state)
{
	struct rig *rig = *state;
	struct work first, second;
	struct nrt_error error;
	struct pollfd fd = { .events = POLLIN };
	nrta_seq_t seq;

	work_init(&first, &rig->diary, 'a', NULL);
	work_init(&second, &rig->diary, 'b', &rig->gate);
	schedule(rig, &first);
	seq = schedule(rig, &second);
	assert_int_equal(nrt_unit_watch(rig->unit, seq, &fd.fd, &error), 0);
	while (nrt_unit_completed(rig->unit) < seq - 1)
		usleep(100);
	assert_int_equal(poll(&fd, 1, 0), 0);
	sem_post(&rig->gate);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	close(fd.fd);
	nrt_unit_drain(rig->unit);
	assert_null(nrt_units_find_seq(rig->units, seq + 1, &error));
	assert_null(nrt_units_find_seq(rig->units, seq & ~NRTA_SEQ_NUM_MASK, &error));
	assert_ptr_equal(nrt_units_find_seq(rig->units, seq, &error), rig->unit);
}

/* What waits when everything is cancelled fails; what is started ends. */
static void test_cancel(void **state)
{
	struct rig *rig = *state;
	struct work first, second, late;
	struct nrt_error error;
	nrta_seq_t seq;

	work_init(&first, &rig->diary, 'a', &rig->gate);
	schedule(rig, &first);
	await_collection(&first);
	work_init(&second, &rig->diary, 'b', NULL);
	second.request.alone = true;
	schedule(rig, &second);
	nrt_units_cancel(rig->units);
	sem_post(&rig->gate);
	nrt_unit_drain(rig->unit);
	assert_int_equal(first.request.error.status, NRT_SUCCESS);
	assert_int_equal(second.request.error.status, NRT_CLOSED);
	work_init(&late, &rig->diary, 'l', NULL);
	assert_int_equal(nrt_unit_schedule(rig->unit, &late.request, &seq, &error), NRT_CLOSED);
	assert_int_equal(nrt_unit_run(rig->unit, &late.request), NRT_CLOSED);
}

/* Threads that wait and requests that nobody waits for, all at once. */
static void *run_some(void *arg)
{
	struct rig *rig = arg;
	struct work work;
	int i;

	for (i = 0; i < 200; i++) {
		work_init(&work, &rig->diary, 'w', NULL);
		work.request.alone = i % 7 == 0;
		work.request.quick = i % 3 != 0;
		if (i % 2) {
			if (nrt_unit_run(rig->unit, &work.request))
				return rig;
			continue;
		}
		schedule(rig, &work);
		while (!atomic_load(&work.done))
			usleep(10);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct rig *rig = *state;
	pthread_t threads[4];
	void *failed;
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_some, rig), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	nrt_unit_drain(rig->unit);
	assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(nrt_unit_completed(rig->unit)), 800);
}

static unsigned int nr_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned int nr = 0;

	assert_non_null(folder);
	while (readdir(folder))
		nr++;
	closedir(folder);
	return nr;
}

/* Units that work at the same time have threads of their own; one after the other they share. */
static void test_workers(void **state)
{
	struct rig *rig = *state;
	unsigned int before, i;
	struct work works[8];
	struct nrt_error error;

	before = nr_threads();
	for (i = 0; i < 64; i++) {
		rig->unit = nrt_units_find(rig->units, i / 8 % 2,
					   (nrta_xu_t)(i % NRTA_XU_TYPE_NUM), 0, &error);
		work_init(&works[0], &rig->diary, 'z', NULL);
		schedule(rig, &works[0]);
		nrt_unit_drain(rig->unit);
		usleep(2000);
	}
	/* A thread that is not yet back from the unit before does not count as free. */
	assert_in_range(nr_threads(), before + 1, before + 5);
	for (i = 0; i < 8; i++) {
		rig->unit = nrt_units_find(rig->units, i / 4, (nrta_xu_t)(i % 4), 0, &error);
		work_init(&works[i], &rig->diary, (char)('a' + i), &rig->gate);
		works[i].request.quick = false;
		schedule(rig, &works[i]);
	}
	for (i = 0; i < 8; i++)
		while (!is_started(rig, (char)('a' + i)))
			usleep(100);
	assert_true(nr_threads() >= before + 8);
	for (i = 0; i < 8; i++)
		sem_post(&rig->gate);
	for (i = 0; i < 8; i++)
		while (!atomic_load(&works[i].done))
			usleep(100);
}

static void release_count(void *object)
{
	(*(int *)object)++;
}

static struct nrt_handles *new_handles(unsigned int series)
{
	static const struct nrt_handle_ops ops = {
		.release = {
			[NRT_KIND_MODEL] = release_count,
			[NRT_KIND_TENSOR] = release_count,
		},
	};

	/* Tables live as long as their process. */
	static struct nrt_handles *made[4];
	static unsigned int nr;

	made[nr] = nrt_handles_new(&ops, series);
	return made[nr++];
}

/* Every change of a handle makes it none, its kind included. */
static void test_handle_bits(void **state)
{
	struct nrt_handles *handles = new_handles(0);
	int released = 0, other = 0;
	void *handle, *neighbour;
	unsigned int bit;

	(void)state;
	handle = nrt_handle_new(handles, NRT_KIND_MODEL, &released);
	neighbour = nrt_handle_new(handles, NRT_KIND_TENSOR, &other);
	for (bit = 0; bit < 64; bit++) {
		void *bad = (void *)((uintptr_t)handle ^ 1ull << bit);
		unsigned int kind;

		for (kind = 0; kind < NRT_NR_KINDS; kind++) {
			if (bad == neighbour && kind == NRT_KIND_TENSOR)
				continue;
			assert_null(nrt_handle_get(handles, kind, bad));
			assert_false(nrt_handle_close(handles, kind, bad, false));
		}
	}
	assert_ptr_equal(nrt_handle_get(handles, NRT_KIND_MODEL, handle), &released);
	assert_true(nrt_handle_close(handles, NRT_KIND_MODEL, handle, false));
	assert_int_equal(released, 0);
	assert_null(nrt_handle_get(handles, NRT_KIND_MODEL, handle));
	nrt_handle_put(handles, handle);
	assert_int_equal(released, 1);
	assert_true(nrt_handle_close(handles, NRT_KIND_TENSOR, neighbour, true));
	assert_int_equal(other, 1);
	assert_null(nrt_handle_any(handles, NRT_KIND_TENSOR));
}

/* A table of another series has other handles. */
static void test_handle_series(void **state)
{
	struct nrt_handles *first = new_handles(0), *second = new_handles(1);
	int released = 0;
	void *handle = nrt_handle_new(first, NRT_KIND_MODEL, &released);

	(void)state;
	assert_ptr_not_equal(handle, nrt_handle_new(second, NRT_KIND_MODEL, &released));
	assert_null(nrt_handle_get(second, NRT_KIND_MODEL, handle));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_who_starts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fatal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workers, setup, teardown),
		cmocka_unit_test(test_handle_bits),
		cmocka_unit_test(test_handle_series),
	};

	return cmocka_run_group_tests_name("nrt_unit", tests, NULL, NULL);
}
