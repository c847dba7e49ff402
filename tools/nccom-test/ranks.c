// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ranks.h"

/* How often somebody who waits looks whether all are to end. */
#define LOOK_MS		100
/* An output has this before an operation, so what nobody writes is seen. */
#define UNWRITTEN	0xa5

/**
 * struct rank - a rank
 * @ranks: all of them
 * @thread: its thread; @started: there is one
 * @number: in the world, and of its core
 * @group: number of its group; -1: it is in none
 * @me: place there
 * @input, @output: of the size under way, or NULL
 * @tracker: of failed operations
 * @end: how the last work ended
 * @order: how many ranks had a message before this one
 * @why: its message
 * @begin: time at which a run began
 * @ends: times at which the operations of that run ended
 */
struct rank {
	struct ranks *ranks;
	pthread_t thread;
	bool started;
	unsigned int number;
	int group;
	unsigned int me;
	nrt_tensor_t *input;
	nrt_tensor_t *output;
	nrta_error_tracker_t *tracker;
	enum ranks_end end;
	unsigned int order;
	char why[RANKS_WHY];
	uint64_t begin;
	uint64_t *ends;
};

typedef void rank_work(struct rank *rank);

/**
 * struct ranks - all ranks
 * @of: what they do
 * @values: of each group
 * @size: the size under way
 * @count: operations of the run under way
 * @done: operations of the size that rank 0 has seen the end of
 * @lock: protects what follows, together with @change
 * @work, @turn: what the ranks do, and the number of that
 * @working: ranks that have not done it yet
 * @stop: all are to end, whatever they do
 * @messages: how many ranks have one
 * @rank: @of.nr ranks
 */
struct ranks {
	struct ranks_of of;
	struct values **values;
	struct ranks_size size;
	unsigned int count;
	atomic_uint done;
	pthread_mutex_t lock;
	pthread_cond_t change;
	rank_work *work;
	uint64_t turn;
	unsigned int working;
	atomic_bool stop;
	atomic_uint messages;
	struct rank rank[];
};

__attribute__((format(printf, 3, 4)))
static void rank_fail(struct rank *rank, enum ranks_end end, const char *format, ...)
{
	va_list arguments;

	if (rank->end)
		return;
	rank->end = end;
	rank->order = atomic_fetch_add(&rank->ranks->messages, 1);
	/* The others would wait for this one. */
	if (end == RANKS_FAILED)
		atomic_store(&rank->ranks->stop, true);
	va_start(arguments, format);
	vsnprintf(rank->why, sizeof(rank->why), format, arguments);
	va_end(arguments);
}

/* @what failed with @status, if that is a failure. */
static void rank_check(struct rank *rank, const char *what, NRT_STATUS status)
{
	if (status)
		rank_fail(rank, RANKS_FAILED, "rank %u: %s: %s", rank->number, what,
			  nrt_get_status_as_str(status));
}

static bool rank_goes_on(struct rank *rank)
{
	if (!rank->end && atomic_load(&rank->ranks->stop))
		rank->end = RANKS_INTERRUPTED;
	return !rank->end;
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* --- The work of a rank --- */

static void join_world(struct rank *rank)
{
	rank_check(rank, "meeting the others",
		   nrt_cc_global_comm_init(rank->number, rank->number, rank->ranks->of.nr));
	if (rank_goes_on(rank))
		rank_check(rank, "making an error tracker",
			   nrta_error_tracker_create(rank->number, &rank->tracker));
}

static void give_tensors(struct rank *rank)
{
	if (rank->input)
		nrt_tensor_free(&rank->input);
	if (rank->output)
		nrt_tensor_free(&rank->output);
}

static void take_tensors(struct rank *rank)
{
	const struct shape *shape = &rank->ranks->size.shape;
	const struct type *type = rank->ranks->of.type;
	const struct values *values;
	const uint8_t *bytes;
	uint64_t at, nr, all = shape->input / type->size;

	if (rank->group < 0)
		return;
	rank_check(rank, "memory for its input",
		   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number, shape->input,
				       "input", &rank->input));
	if (!rank->end)
		rank_check(rank, "memory for its output",
			   nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->number,
					       shape->output, "output", &rank->output));
	values = rank->ranks->values[rank->group];
	for (at = 0; at < all && rank_goes_on(rank); at += nr) {
		nr = all - at;
		bytes = values_input(values, rank->me, at, &nr);
		rank_check(rank, "writing its input",
			   nrt_tensor_write(rank->input, bytes, at * type->size, nr * type->size));
	}
}

static void spoil_output(struct rank *rank)
{
	if (rank->group >= 0)
		rank_check(rank, "writing its output",
			   nrt_tensor_memset(rank->output, 0, UNWRITTEN,
					     rank->ranks->size.shape.output));
}

/* The request has ended, or all are to end. */
static void wait_for(struct rank *rank, nrta_seq_t seq)
{
	struct pollfd end = { .events = POLLIN };

	rank_check(rank, "waiting", nrta_get_completion_handle(seq, &end.fd));
	if (rank->end)
		return;
	while (rank_goes_on(rank) && poll(&end, 1, LOOK_MS) <= 0)
		;
	close(end.fd);
}

static void check_tracker(struct rank *rank)
{
	const char *name = rank->ranks->of.operation->name;
	const nrta_error_t *list;
	size_t nr = 0;

	rank_check(rank, name, nrta_error_tracker_get_list(rank->tracker, &list, &nr));
	if (nr)
		rank_check(rank, name, (NRT_STATUS)list[0].error_code);
}

static void operate(struct rank *rank, nrt_cc_comm_t *comm)
{
	const struct ranks_of *of = &rank->ranks->of;
	nrt_tensor_list_t input = { &rank->input, 1 }, output = { &rank->output, 1 };
	nrt_cc_context_t *context;
	nrta_seq_t seq;

	rank_check(rank, of->operation->name,
		   nrta_cc_prepare(comm, &input, &output, of->type->dtype, of->reduction->op,
				   of->operation->cc_op, &context));
	if (!rank->end)
		rank_check(rank, of->operation->name,
			   nrta_cc_schedule(&context, 0, rank->tracker, &seq));
	if (!rank->end)
		wait_for(rank, seq);
	if (!rank->end)
		check_tracker(rank);
}

static void operate_often(struct rank *rank)
{
	struct ranks *ranks = rank->ranks;
	const struct groups *groups = ranks->of.groups;
	nrt_cc_comm_t comm = {
		.rank = rank->me,
		.rank_n = groups->size,
		.ctx_device_id = rank->number,
		.ctx_device_count = ranks->of.nr,
		.vnc = rank->number,
	};
	unsigned int i;

	if (rank->group < 0)
		return;
	comm.replica_group = &groups->rank[(unsigned int)rank->group * groups->size];
	rank->begin = now_ns();
	for (i = 0; i < ranks->count && rank_goes_on(rank); i++) {
		operate(rank, &comm);
		rank->ends[i] = now_ns();
		if (!rank->me && !rank->group)
			atomic_fetch_add(&ranks->done, 1);
	}
}

/* --- Comparing --- */

/* How many of @nr elements are not what they must be; *@first: the first one. */
static uint64_t count_wrong(const uint8_t *got, const uint8_t *wanted, uint64_t nr,
			    unsigned int size, uint64_t *first)
{
	uint64_t i, wrong = 0;

	if (!memcmp(got, wanted, nr * size))
		return 0;
	for (i = nr; i--; ) {
		if (memcmp(got + i * size, wanted + i * size, size)) {
			*first = i;
			wrong++;
		}
	}
	return wrong;
}

/**
 * struct verdict - what a comparison has found
 * @wrong: how many elements
 * @first: the first one
 * @got, @wanted: what it is, and what it must be
 */
struct verdict {
	uint64_t wrong;
	uint64_t first;
	char got[64];
	char wanted[64];
};

static void compare_chunk(struct rank *rank, uint8_t *buffer, uint64_t at, uint64_t *nr,
			  struct verdict *verdict)
{
	const struct ranks *ranks = rank->ranks;
	const struct type *type = ranks->of.type;
	const uint8_t *wanted = values_output(ranks->values[rank->group], rank->me,
					      ranks->size.shape.block, at, nr);
	uint64_t first = 0, wrong;

	rank_check(rank, "reading its output",
		   nrt_tensor_read(rank->output, buffer, at * type->size, *nr * type->size));
	if (rank->end)
		return;
	wrong = count_wrong(buffer, wanted, *nr, type->size, &first);
	if (wrong && !verdict->wrong) {
		verdict->first = at + first;
		values_describe(type, buffer + first * type->size, verdict->got,
				sizeof(verdict->got));
		values_describe(type, wanted + first * type->size, verdict->wanted,
				sizeof(verdict->wanted));
	}
	verdict->wrong += wrong;
}

static void compare_output(struct rank *rank)
{
	const struct ranks *ranks = rank->ranks;
	uint64_t all = ranks->size.shape.output / ranks->of.type->size, at, nr;
	struct verdict verdict = { 0 };
	uint8_t *buffer;

	if (rank->group < 0)
		return;
	/* A chunk is never longer than a period. */
	buffer = malloc(values_chunk(ranks->values[rank->group]));
	if (!buffer)
		rank_fail(rank, RANKS_FAILED, "rank %u: out of memory", rank->number);
	for (at = 0; at < all && rank_goes_on(rank); at += nr) {
		nr = all - at;
		compare_chunk(rank, buffer, at, &nr, &verdict);
	}
	free(buffer);
	if (verdict.wrong)
		rank_fail(rank, RANKS_WRONG,
			  "rank %u: element %llu is %s, expected %s; %llu of %llu elements are wrong",
			  rank->number, (unsigned long long)verdict.first, verdict.got,
			  verdict.wanted, (unsigned long long)verdict.wrong,
			  (unsigned long long)all);
}

/* --- All together --- */

static void *rank_thread(void *arg)
{
	struct rank *rank = arg;
	struct ranks *ranks = rank->ranks;
	uint64_t turn = 0;
	rank_work *work;

	pthread_mutex_lock(&ranks->lock);
	for (;;) {
		while (ranks->turn == turn)
			pthread_cond_wait(&ranks->change, &ranks->lock);
		turn = ranks->turn;
		work = ranks->work;
		if (!work)
			break;
		pthread_mutex_unlock(&ranks->lock);
		work(rank);
		pthread_mutex_lock(&ranks->lock);
		if (!--ranks->working)
			pthread_cond_broadcast(&ranks->change);
	}
	pthread_mutex_unlock(&ranks->lock);
	return NULL;
}

static void wait_a_little(struct ranks *ranks)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&ranks->change, &ranks->lock, &until);
}

/* The worst of what the ranks say; of those that say the same, the first one. */
static enum ranks_end end_of(const struct ranks *ranks, char why[RANKS_WHY])
{
	const struct rank *worst = &ranks->rank[0], *rank;
	unsigned int i;

	for (i = 1; i < ranks->of.nr; i++) {
		rank = &ranks->rank[i];
		if (rank->end > worst->end ||
		    (rank->end == worst->end && rank->order < worst->order))
			worst = rank;
	}
	if (worst->end)
		memcpy(why, worst->why, RANKS_WHY);
	return worst->end;
}

/* All ranks do @work, side by side; with NULL they end. */
static enum ranks_end all_do(struct ranks *ranks, rank_work *work, char why[RANKS_WHY])
{
	pthread_mutex_lock(&ranks->lock);
	ranks->work = work;
	ranks->working = ranks->of.nr;
	ranks->turn++;
	pthread_cond_broadcast(&ranks->change);
	while (work && ranks->working) {
		wait_a_little(ranks);
		if (atomic_load(ranks->of.interrupted))
			atomic_store(&ranks->stop, true);
		if (ranks->of.progress)
			ranks->of.progress(ranks->of.arg, atomic_load(&ranks->done));
	}
	pthread_mutex_unlock(&ranks->lock);
	return work ? end_of(ranks, why) : RANKS_OK;
}

/* --- A size --- */

static uint64_t last_end(const struct ranks *ranks, unsigned int i)
{
	uint64_t last = 0;
	unsigned int r;

	for (r = 0; r < ranks->of.nr; r++)
		if (ranks->rank[r].group >= 0 && ranks->rank[r].ends[i] > last)
			last = ranks->rank[r].ends[i];
	return last;
}

static uint64_t last_begin(const struct ranks *ranks)
{
	uint64_t last = 0;
	unsigned int r;

	for (r = 0; r < ranks->of.nr; r++)
		if (ranks->rank[r].group >= 0 && ranks->rank[r].begin > last)
			last = ranks->rank[r].begin;
	return last;
}

/* @count operations; the first @skip of them are not measured. */
static enum ranks_end run(struct ranks *ranks, unsigned int count, unsigned int skip,
			  uint64_t *times, char why[RANKS_WHY])
{
	enum ranks_end end;
	uint64_t before, last;
	unsigned int i;

	ranks->count = count;
	end = all_do(ranks, operate_often, why);
	if (end)
		return end;
	before = last_begin(ranks);
	for (i = 0; i < count; i++) {
		last = last_end(ranks, i);
		if (i >= skip)
			*times++ = last > before ? last - before : 0;
		before = last;
	}
	return RANKS_OK;
}

static enum ranks_end run_all(struct ranks *ranks, uint64_t *times, char why[RANKS_WHY])
{
	const struct ranks_size *size = &ranks->size;
	enum ranks_end end = RANKS_OK;
	unsigned int i;

	if (size->warmup) {
		end = all_do(ranks, spoil_output, why) ?:
		      run(ranks, size->warmup, size->warmup, NULL, why) ?:
		      all_do(ranks, compare_output, why);
	}
	for (i = 0; i < size->runs && !end; i++) {
		end = all_do(ranks, spoil_output, why) ?:
		      run(ranks, size->run_warmup + size->run_iters, size->run_warmup,
			  times + (size_t)i * size->run_iters, why);
	}
	return end ?: all_do(ranks, compare_output, why);
}

static int take_times(struct ranks *ranks, unsigned int count, char why[RANKS_WHY])
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++) {
		ranks->rank[i].ends = calloc(count, sizeof(*ranks->rank[i].ends));
		if (!ranks->rank[i].ends) {
			snprintf(why, RANKS_WHY, "out of memory");
			return -1;
		}
	}
	return 0;
}

static void give_times(struct ranks *ranks)
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++) {
		free(ranks->rank[i].ends);
		ranks->rank[i].ends = NULL;
	}
}

static void forget_ends(struct ranks *ranks)
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++)
		ranks->rank[i].end = RANKS_OK;
}

enum ranks_end ranks_run(struct ranks *ranks, const struct ranks_size *size, uint64_t *times,
			 char why[RANKS_WHY])
{
	unsigned int most = size->run_warmup + size->run_iters;
	enum ranks_end end = RANKS_FAILED;
	char late[RANKS_WHY];

	if (most < size->warmup)
		most = size->warmup;
	ranks->size = *size;
	atomic_store(&ranks->done, 0);
	forget_ends(ranks);
	if (!take_times(ranks, most, why))
		end = all_do(ranks, take_tensors, why) ?: run_all(ranks, times, why);
	give_times(ranks);
	/* Those of operations that do not end are freed when libnrt is closed. */
	if (!atomic_load(&ranks->stop))
		all_do(ranks, give_tensors, late);
	return end;
}

/* --- Memory --- */

/* Bytes of memory that programs may use, or 0: it is not known. */
static uint64_t host_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kib = 0;
	char line[128];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
		;
	fclose(file);
	return kib << 10;
}

static double gib(uint64_t bytes)
{
	return (double)bytes / (1u << 30);
}

/* Besides input and output a plan has scratch, at most as large as all blocks. */
static uint64_t need_of(const struct shape *shape)
{
	return shape->input + shape->output + shape->size;
}

/* Memory of chips in this process is memory of the host. */
static bool chips_are_here(void)
{
	const char *backend = getenv("NEURON_RT_BACKEND") ?: "";

	return !strcmp(backend, "embedded") ||
	       (!strcmp(backend, "auto") && access("/dev/accel", F_OK));
}

int ranks_fit(const struct ranks *ranks, const struct shape *shape, char why[RANKS_WHY])
{
	const struct groups *groups = ranks->of.groups;
	uint64_t need = need_of(shape), all = need * groups->nr * groups->size, have;
	nrt_vnc_memory_stats_t stats;
	unsigned int i;

	for (i = 0; i < groups->nr * groups->size; i++) {
		if (nrt_get_vnc_memory_stats(groups->rank[i], &stats, sizeof(stats), NULL))
			continue;
		have = stats.bytes_limit - stats.bytes_used;
		if (need > have) {
			snprintf(why, RANKS_WHY,
				 "rank %u needs %.2f GiB of its chip's memory, and there are %.2f GiB",
				 groups->rank[i], gib(need), gib(have));
			return -1;
		}
	}
	have = host_memory();
	if (chips_are_here() && have && all > have) {
		snprintf(why, RANKS_WHY,
			 "%u ranks need %.2f GiB of the host's memory, and there are %.2f GiB",
			 groups->nr * groups->size, gib(all), gib(have));
		return -1;
	}
	return 0;
}

/* --- Begin and end --- */

static void place_ranks(struct ranks *ranks)
{
	const struct groups *groups = ranks->of.groups;
	struct rank *rank;
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++) {
		ranks->rank[i].ranks = ranks;
		ranks->rank[i].number = i;
		ranks->rank[i].group = -1;
	}
	for (i = 0; i < groups->nr * groups->size; i++) {
		rank = &ranks->rank[groups->rank[i]];
		rank->group = (int)(i / groups->size);
		rank->me = i % groups->size;
	}
}

static int make_values(struct ranks *ranks)
{
	const struct ranks_of *of = &ranks->of;
	unsigned int i;

	ranks->values = calloc(of->groups->nr, sizeof(*ranks->values));
	for (i = 0; ranks->values && i < of->groups->nr; i++) {
		ranks->values[i] = values_new(of->operation, of->reduction, of->type,
					      of->groups->size, of->kind, of->seed + i);
		if (!ranks->values[i])
			return -1;
	}
	return ranks->values ? 0 : -1;
}

/* The caller's thread alone gets signals. */
static int start_threads(struct ranks *ranks)
{
	sigset_t all, old;
	unsigned int i;
	int ret = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < ranks->of.nr && !ret; i++) {
		ret = pthread_create(&ranks->rank[i].thread, NULL, rank_thread, &ranks->rank[i]);
		ranks->rank[i].started = !ret;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static struct ranks *allocate(const struct ranks_of *of)
{
	struct ranks *ranks = calloc(1, sizeof(*ranks) + of->nr * sizeof(ranks->rank[0]));
	pthread_condattr_t attributes;

	if (!ranks)
		return NULL;
	ranks->of = *of;
	pthread_mutex_init(&ranks->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ranks->change, &attributes);
	pthread_condattr_destroy(&attributes);
	place_ranks(ranks);
	return ranks;
}

/* Cores that nobody asked for stay free. */
static NRT_STATUS initialise(unsigned int nr)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nr);
	if (!getenv("NEURON_RT_VISIBLE_CORES"))
		setenv("NEURON_RT_NUM_CORES", text, 0);
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

static int check_cores(unsigned int nr, char why[RANKS_WHY])
{
	uint32_t cores = 0;
	NRT_STATUS status = nrt_get_visible_vnc_count(&cores);

	/* libnrt has said why. */
	if (status)
		*why = '\0';
	else if (nr > cores)
		snprintf(why, RANKS_WHY, "--nworkers: %u ranks need as many cores, and there %s %u",
			 nr, cores == 1 ? "is" : "are", cores);
	else
		return 0;
	return -1;
}

enum ranks_end ranks_new(const struct ranks_of *of, struct ranks **out, char why[RANKS_WHY])
{
	struct ranks *ranks;
	enum ranks_end end;
	NRT_STATUS status;

	if (check_cores(of->nr, why))
		return RANKS_FAILED;
	ranks = allocate(of);
	if (!ranks || make_values(ranks)) {
		snprintf(why, RANKS_WHY, "out of memory");
		ranks_free(ranks);
		return RANKS_FAILED;
	}
	status = initialise(of->nr);
	if (status || start_threads(ranks)) {
		snprintf(why, RANKS_WHY, "%s", status ? "" : "a thread of a rank cannot be started");
		ranks_free(ranks);
		return RANKS_FAILED;
	}
	end = all_do(ranks, join_world, why);
	if (end) {
		ranks_free(ranks);
		return end;
	}
	*out = ranks;
	return RANKS_OK;
}

void ranks_free(struct ranks *ranks)
{
	char why[RANKS_WHY];
	unsigned int i;

	if (!ranks)
		return;
	/* Whatever still runs ends. */
	nrt_close();
	all_do(ranks, NULL, why);
	for (i = 0; i < ranks->of.nr; i++) {
		if (ranks->rank[i].started)
			pthread_join(ranks->rank[i].thread, NULL);
		give_tensors(&ranks->rank[i]);
		nrta_error_tracker_destroy(ranks->rank[i].tracker);
	}
	for (i = 0; ranks->values && i < ranks->of.groups->nr; i++)
		values_free(ranks->values[i]);
	free(ranks->values);
	pthread_cond_destroy(&ranks->change);
	pthread_mutex_destroy(&ranks->lock);
	free(ranks);
}
