// SPDX-License-Identifier: MIT
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nrt/nrt_emu.h>

#include "rank.h"

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
		if (!ranks->rank[r].idle && ranks->rank[r].ends[i] > last)
			last = ranks->rank[r].ends[i];
	return last;
}

static uint64_t last_begin(const struct ranks *ranks)
{
	uint64_t last = 0;
	unsigned int r;

	for (r = 0; r < ranks->of.nr; r++)
		if (!ranks->rank[r].idle && ranks->rank[r].begin > last)
			last = ranks->rank[r].begin;
	return last;
}

/* The device time of operation @i in ns, on all ranks. */
static uint64_t device_time(const struct ranks *ranks, unsigned int i, struct ranks_times *times)
{
	const nrt_emu_group_time_t *time;
	uint64_t start = 0, end = 0;
	uint32_t cause = 0;
	unsigned int r;

	for (r = 0; r < ranks->of.nr; r++) {
		if (ranks->rank[r].idle)
			continue;
		time = &ranks->rank[r].device[i];
		start = time->start_ns > start ? time->start_ns : start;
		end = time->end_ns > end ? time->end_ns : end;
		cause = time->flags & NRT_EMU_INEXACT ? time->cause : cause;
	}
	if (cause) {
		times->inexact++;
		times->cause = cause;
	}
	return end > start ? end - start : 0;
}

/*
 * @count operations, whose buffers begin with those of operation @first; the first @skip of them
 * are not measured, the times of others go to place @at and behind it.
 */
static enum ranks_end run(struct ranks *ranks, unsigned int first, unsigned int count,
			  unsigned int skip, struct ranks_times *times, size_t at,
			  char why[RANKS_WHY])
{
	enum ranks_end end;
	uint64_t before, last;
	unsigned int i;

	ranks->count = count;
	ranks->first = first;
	end = all_do(ranks, rank_operate, why);
	if (end)
		return end;
	before = last_begin(ranks);
	for (i = 0; i < count; i++) {
		last = last_end(ranks, i);
		if (i >= skip && ranks->of.modelled)
			times->device[at] = device_time(ranks, i, times);
		if (i >= skip)
			times->wall[at++] = last > before ? last - before : 0;
		before = last;
	}
	return RANKS_OK;
}

static enum ranks_end run_all(struct ranks *ranks, struct ranks_times *times,
			      char why[RANKS_WHY])
{
	const struct ranks_size *size = &ranks->size;
	enum ranks_end end = RANKS_OK;
	unsigned int i;

	if (size->warmup) {
		end = all_do(ranks, rank_spoil_output, why) ?:
		      run(ranks, 0, size->warmup, size->warmup, times, 0, why) ?:
		      all_do(ranks, rank_compare, why);
	}
	for (i = 0; i < size->runs && !end; i++) {
		end = all_do(ranks, rank_spoil_output, why) ?:
		      run(ranks, size->warmup, size->run_warmup + size->run_iters,
			  size->run_warmup, times, (size_t)i * size->run_iters, why);
	}
	return end ?: all_do(ranks, rank_compare, why);
}

static int take_times(struct ranks *ranks, unsigned int count, char why[RANKS_WHY])
{
	struct rank *rank;
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++) {
		rank = &ranks->rank[i];
		rank->ends = calloc(count, sizeof(*rank->ends));
		if (ranks->of.modelled) {
			rank->requests = calloc(count, sizeof(*rank->requests));
			rank->device = calloc(count, sizeof(*rank->device));
		}
		if (!rank->ends || (ranks->of.modelled && (!rank->requests || !rank->device))) {
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
		free(ranks->rank[i].requests);
		free(ranks->rank[i].device);
		ranks->rank[i].ends = NULL;
		ranks->rank[i].requests = NULL;
		ranks->rank[i].device = NULL;
	}
}

static void forget_ends(struct ranks *ranks)
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr; i++)
		ranks->rank[i].end = RANKS_OK;
}

/*
 * The host's interface has no lists, no SBUF, and no streams; and libnrt orders its requests by the
 * bytes that they write, so two ranks that write the same ones would wait for each other.
 */
static bool needs_neff(const struct ranks *ranks)
{
	const struct ranks_op *op = ranks->of.op;

	return op->operation->in_neff || op->ratio->nr || op->sbuf || op->ops > 1 ||
	       ranks->of.nr_ops > 1 || ranks->of.shared;
}

/* The NEFF of the size, if one is needed. */
static int make_neff(struct ranks *ranks, char why[RANKS_WHY])
{
	nrt_emu_place_t place = { .lnc = 1 };
	struct neff_op op[NEFF_NR_STREAMS];
	const struct lane *lane;
	unsigned int i;

	if (!needs_neff(ranks))
		return 0;
	if (nrt_emu_get_core_place(0, &place, sizeof(place))) {
		snprintf(why, RANKS_WHY, "libnrt does not tell what core 0 is");
		return -1;
	}
	for (i = 0; i < ranks->of.nr_ops; i++) {
		lane = &ranks->lane[i];
		op[i] = (struct neff_op){
			.operation = lane->of->operation, .reduction = lane->of->reduction,
			.type = lane->of->type, .shape = &lane->shape, .groups = lane->of->groups,
			.metadata = lane->of->metadata, .pairs = lane->of->pairs,
			.ratio = lane->of->ratio, .sbuf = lane->of->sbuf ? &lane->sbuf : NULL,
			.ops = lane->of->ops,
		};
	}
	return neff_make(&ranks->neff, op, i, place.lnc, why);
}

enum ranks_end ranks_run(struct ranks *ranks, const struct ranks_size *size,
			 struct ranks_times *times, char why[RANKS_WHY])
{
	unsigned int most = size->run_warmup + size->run_iters;
	enum ranks_end end = RANKS_FAILED;
	char late[RANKS_WHY];

	if (most < size->warmup)
		most = size->warmup;
	times->inexact = 0;
	times->cause = 0;
	atomic_store(&ranks->done, 0);
	forget_ends(ranks);
	if (!take_times(ranks, most, why) && !make_neff(ranks, why))
		end = all_do(ranks, rank_take_tensors, why) ?: all_do(ranks, rank_load, why) ?:
		      all_do(ranks, rank_reduce, why) ?: run_all(ranks, times, why);
	give_times(ranks);
	/* Those of operations that do not end are freed when libnrt is closed. */
	if (!atomic_load(&ranks->stop)) {
		all_do(ranks, rank_unload, late);
		all_do(ranks, rank_give_tensors, late);
	}
	neff_free(&ranks->neff);
	return end;
}

/* Are the chips emulated in this process? Their memory is the host's then. After nrt_init(). */
static bool chips_are_here(void)
{
	nrt_emu_place_t place = { .here = 0 };

	nrt_emu_get_core_place(0, &place, sizeof(place));
	return place.here;
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

/* Bytes of the chip's memory that a rank needs. */
static uint64_t need_of(const struct ranks *ranks)
{
	const struct lane *lane;
	uint64_t need = 0, bytes;
	unsigned int i;

	for (i = 0; i < ranks->of.nr_ops; i++) {
		lane = &ranks->lane[i];
		bytes = lane->shape.input + lane->shape.output;
		need += bytes * ranks->size.buffers + golden_scratch(lane->golden[0]);
		/* What is no single tensor in HBM is gathered in scratch memory. */
		if (lane->of->ratio->nr || lane->of->sbuf)
			need += bytes;
	}
	return need;
}

static int check_chips(const struct ranks *ranks, uint64_t need, char why[RANKS_WHY])
{
	nrt_vnc_memory_stats_t stats;
	unsigned int i;
	uint64_t have;

	for (i = 0; i < ranks->of.nr; i++) {
		if (ranks->rank[i].idle ||
		    nrt_get_vnc_memory_stats(i, &stats, sizeof(stats), NULL))
			continue;
		have = stats.bytes_limit - stats.bytes_used;
		if (need <= have)
			continue;
		snprintf(why, RANKS_WHY,
			 "rank %u needs %.2f GiB of its chip's memory, and there are %.2f GiB", i,
			 gib(need), gib(have));
		return -1;
	}
	return 0;
}

/* Ranks that take part. */
static unsigned int count_busy(const struct ranks *ranks)
{
	const struct groups *groups = ranks->lane[0].of->groups;

	return groups->nr * groups->size;
}

static int check_host(const struct ranks *ranks, uint64_t need, char why[RANKS_WHY])
{
	uint64_t have = host_memory(), all = 0;
	const struct lane *lane;
	unsigned int i;

	if (chips_are_here())
		all = need * count_busy(ranks);
	for (i = 0; i < ranks->of.nr_ops; i++) {
		lane = &ranks->lane[i];
		if (values_round(lane->values[0]) || lane->of->operation->varies)
			all += golden_bytes(lane->golden[0]) * lane->of->groups->nr;
	}
	if (!have || all <= have)
		return 0;
	snprintf(why, RANKS_WHY,
		 "%u ranks need %.2f GiB of the host's memory, and there are %.2f GiB",
		 count_busy(ranks), gib(all), gib(have));
	return -1;
}

int ranks_plan(struct ranks *ranks, const struct shape *const *shape,
	       const struct ranks_size *size, char why[RANKS_WHY])
{
	uint64_t need, at = 0;
	unsigned int i;

	ranks->size = *size;
	for (i = 0; i < ranks->of.nr_ops; i++) {
		ranks->lane[i].shape = *shape[i];
		if (lane_plan(&ranks->lane[i], ranks->of.shared, &at, why))
			return -1;
	}
	need = need_of(ranks);
	return check_chips(ranks, need, why) ?: check_host(ranks, need, why);
}

const char *ranks_algorithm(const struct ranks *ranks, unsigned int op)
{
	return golden_algorithm(ranks->lane[op].golden[0]);
}

/* --- Begin and end --- */

/* The places of the ranks in an operation. */
static void place_lane(struct ranks *ranks, unsigned int op)
{
	const struct groups *groups = ranks->of.op[op].groups;
	struct lane *lane = &ranks->lane[op];
	struct part *part;
	unsigned int i;

	lane->of = &ranks->of.op[op];
	lane->stream = op;
	for (i = 0; i < ranks->of.nr; i++)
		ranks->rank[i].part[op] = (struct part){
			.rank = &ranks->rank[i], .lane = lane, .group = -1,
			.owner = &ranks->rank[i].part[op],
		};
	for (i = 0; i < groups->nr * groups->size; i++) {
		part = &ranks->rank[groups->rank[i]].part[op];
		part->group = (int)(i / groups->size);
		part->me = i % groups->size;
	}
}

static void place_ranks(struct ranks *ranks)
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr_ops; i++)
		place_lane(ranks, i);
	for (i = 0; i < ranks->of.nr; i++) {
		ranks->rank[i].ranks = ranks;
		ranks->rank[i].number = i;
		ranks->rank[i].idle = ranks->rank[i].part[0].group < 0;
	}
}

static int make_all_values(struct ranks *ranks)
{
	unsigned int i;

	for (i = 0; i < ranks->of.nr_ops; i++)
		if (lane_make_values(&ranks->lane[i]))
			return -1;
	return 0;
}

/* Rank i has processor i of those that the process may use; behind the last one they begin anew. */
static int pin(const struct rank *rank)
{
	cpu_set_t all, one;
	int nth, cpu = -1;

	if (!rank->ranks->of.pinned)
		return 0;
	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	nth = (int)rank->number % CPU_COUNT(&all);
	do {
		cpu++;
		nth -= CPU_ISSET(cpu, &all) ? 1 : 0;
	} while (nth >= 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return pthread_setaffinity_np(rank->thread, sizeof(one), &one);
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
		if (!ret)
			ret = pin(&ranks->rank[i]);
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
	if (!ranks || make_all_values(ranks)) {
		snprintf(why, RANKS_WHY, "out of memory");
		ranks_free(ranks);
		return RANKS_FAILED;
	}
	status = initialise(of->nr);
	if (status || start_threads(ranks)) {
		snprintf(why, RANKS_WHY, "%s",
			 status ? "" : "a thread of a rank cannot be started");
		ranks_free(ranks);
		return RANKS_FAILED;
	}
	if (of->shared && ranks_share(ranks, why)) {
		ranks_free(ranks);
		return RANKS_FAILED;
	}
	end = all_do(ranks, rank_join, why);
	if (!end && of->modelled)
		end = all_do(ranks, rank_join_times, why);
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
		rank_unload(&ranks->rank[i]);
	}
	/* No rank has names for tensors of another one any more. */
	for (i = 0; i < ranks->of.nr; i++) {
		rank_give_tensors(&ranks->rank[i]);
		nrta_error_tracker_destroy(ranks->rank[i].tracker);
	}
	for (i = 0; i < ranks->of.nr_ops; i++)
		lane_fini(&ranks->lane[i]);
	pthread_cond_destroy(&ranks->change);
	pthread_mutex_destroy(&ranks->lock);
	free(ranks);
}
