// SPDX-License-Identifier: MIT
/*
 * Collectives that a NEFF names and its engines start: ranks are threads, on one chip and on
 * several, with one model on each core and with several.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_sys_trace.h>

#include "kselftest_harness.h"

#include "must.h"
#include "programs.h"
#include "rig.h"

#define MAX_RANKS	16
#define LIMIT_S		300
#define ROUNDS		3

/**
 * enum what - programs
 * @SUM_AND_TURN, @MANY, @MORE, @ONE, @PAIRS, @PAIRS_AND_ALL, @IN_SCRATCH, @LISTS, @MANY_LISTS,
 * @TOO_LARGE: see programs.h
 */
enum what {
	SUM_AND_TURN,
	MANY,
	MORE,
	ONE,
	PAIRS,
	PAIRS_AND_ALL,
	IN_SCRATCH,
	LISTS,
	MANY_LISTS,
	TOO_LARGE,
};

/**
 * struct model_rank - a rank that executes a model
 * @what: which one
 * @number, @ranks: which rank of how many
 * @spread: cores from one rank to the next
 * @joins: it makes a world before it loads
 */
struct model_rank {
	struct rig rig;
	pthread_t thread;
	enum what what;
	unsigned int number;
	unsigned int ranks;
	unsigned int spread;
	bool joins;
	NRT_STATUS status;
	unsigned int wrong;
};

static struct program make(enum what kind, unsigned int ranks)
{
	switch (kind) {
	case SUM_AND_TURN:
		return program_collectives(ranks);
	case MANY:
		return program_many_collectives(ranks);
	case MORE:
		return program_more_collectives(ranks, 40);
	case ONE:
		return program_one_collective(ranks);
	case PAIRS:
		return program_pairs(ranks, false);
	case PAIRS_AND_ALL:
		return program_pairs(ranks, true);
	case IN_SCRATCH:
		return program_scratch_collectives(ranks);
	case LISTS:
		return program_lists(ranks);
	case MANY_LISTS:
		return program_many_lists(473, 107);
	default:
		return program_large_collectives(ranks);
	}
}

/* Element @i of y. */
static float expected(const struct model_rank *rank, size_t i, unsigned int round)
{
	size_t block = RIG_VALUES / rank->ranks;
	float most, other;
	unsigned int r;

	switch (rank->what) {
	case SUM_AND_TURN:
	case LISTS:
		return rig_sum(0, rank->ranks, rank->number * block + i % block, round);
	case PAIRS:
		return rig_sum(rank->number / 2 * 2, 2, i, round);
	case PAIRS_AND_ALL:
		for (most = rig_sum(0, 2, i, round), r = 2; r < rank->ranks; r += 2) {
			other = rig_sum(r, 2, i, round);
			most = other > most ? other : most;
		}
		return most;
	default:
		return rig_sum(0, rank->ranks, i, round);
	}
}

static void execute_round(struct model_rank *rank, unsigned int round)
{
	float x[RIG_VALUES], y[RIG_VALUES];
	size_t i;

	for (i = 0; i < RIG_VALUES; i++)
		x[i] = rig_value(rank->number, i, round);
	rank->status = rig_run(&rank->rig, x, y);
	for (i = 0; i < RIG_VALUES && !rank->status; i++)
		rank->wrong += y[i] != expected(rank, i, round);
}

static void *execute_rank(void *arg)
{
	struct model_rank *rank = arg;
	unsigned int round;

	for (round = 0; round < ROUNDS && !rank->status; round++)
		execute_round(rank, round);
	return NULL;
}

/* @ranks ranks on all chips alike. */
static void init_ranks(struct model_rank models[MAX_RANKS], unsigned int ranks, uint32_t cores,
		       enum what what, bool joins)
{
	unsigned int i;

	memset(models, 0, MAX_RANKS * sizeof(*models));
	for (i = 0; i < ranks; i++) {
		models[i].what = what;
		models[i].number = i;
		models[i].ranks = ranks;
		models[i].spread = cores / ranks;
		models[i].joins = joins;
	}
}

static NRT_STATUS load_one(struct model_rank *rank)
{
	unsigned int vnc = rank->number * rank->spread;

	rank->status = NRT_SUCCESS;
	if (rank->joins)
		rank->status = nrt_cc_global_comm_init((int)vnc, rank->number, rank->ranks);
	if (!rank->status)
		rank->status = rig_load(&rank->rig, make(rank->what, rank->ranks), (int)vnc,
					rank->number, rank->ranks);
	return rank->status;
}

static void *load_rank(void *arg)
{
	load_one(arg);
	return NULL;
}

/* Ranks from @first up to @end, each in a thread. */
static void in_threads(struct model_rank models[MAX_RANKS], unsigned int first, unsigned int end,
		       void *(*run)(void *arg))
{
	unsigned int i;

	for (i = first; i < end; i++)
		must_start(&models[i].thread, run, &models[i]);
	for (i = first; i < end; i++)
		pthread_join(models[i].thread, NULL);
}

/* Models of @ranks ranks, loaded one after the other. */
static NRT_STATUS load_models(struct model_rank models[MAX_RANKS], unsigned int ranks,
			      uint32_t cores, enum what what)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	init_ranks(models, ranks, cores, what, false);
	for (i = 0; i < ranks && !status; i++)
		status = load_one(&models[i]);
	return status;
}

static void expect_status(struct __test_metadata *_metadata, struct model_rank models[MAX_RANKS],
			  unsigned int first, unsigned int end, NRT_STATUS status)
{
	unsigned int i;

	for (i = first; i < end; i++) {
		EXPECT_EQ(status, models[i].status) TH_LOG("rank %u of %u", i, models[i].ranks);
		EXPECT_EQ(0, models[i].wrong) TH_LOG("rank %u of %u", i, models[i].ranks);
		models[i].status = NRT_SUCCESS;
	}
}

/* Ranks from @first up to @end do the same, each in a thread; and it comes to @status. */
static void run_and_expect(struct __test_metadata *_metadata, struct model_rank models[MAX_RANKS],
			   unsigned int first, unsigned int end, void *(*run)(void *arg),
			   NRT_STATUS status)
{
	in_threads(models, first, end, run);
	expect_status(_metadata, models, first, end, status);
}

/* All ranks execute, and all have the right results. */
static void expect_results(struct __test_metadata *_metadata, struct model_rank models[MAX_RANKS],
			   unsigned int ranks)
{
	run_and_expect(_metadata, models, 0, ranks, execute_rank, NRT_SUCCESS);
}

static void unload_models(struct model_rank models[MAX_RANKS])
{
	unsigned int i;

	for (i = 0; i < MAX_RANKS; i++)
		rig_unload(&models[i].rig);
}

FIXTURE(cc_model)
{
	uint32_t cores;
	struct model_rank models[MAX_RANKS];
	struct model_rank others[MAX_RANKS];
};

/* The limit is as long as a rank that does not come is waited for. */
static NRT_STATUS open_with_limit(const char *seconds)
{
	setenv("NEURON_RT_EXEC_TIMEOUT", seconds, 1);
	nrt_close();
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

FIXTURE_SETUP(cc_model)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("20"));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->cores));
}

FIXTURE_TEARDOWN(cc_model)
{
	nrt_close();
}

/* --- One model on each core --- */

TEST_F_TIMEOUT(cc_model, sum_and_turn, LIMIT_S)
{
	static const unsigned int ranks[] = { 1, 2, 4, 8 };
	unsigned int i;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		if (ranks[i] > self->cores)
			continue;
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks[i], self->cores,
						   SUM_AND_TURN));
		expect_results(_metadata, self->models, ranks[i]);
		unload_models(self->models);
	}
	/* The ranks know each other now, and may be loaded one after the other again. */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 2, self->cores, SUM_AND_TURN));
		expect_results(_metadata, self->models, 2);
		unload_models(self->models);
	}
}

/* Lists of parts of tensors, some of them in SBUF; each result has all of its bytes. */
TEST_F_TIMEOUT(cc_model, lists, LIMIT_S)
{
	unsigned int ranks;

	for (ranks = 1; ranks <= 8 && ranks <= self->cores; ranks *= 2) {
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks, self->cores, LISTS));
		expect_results(_metadata, self->models, ranks);
		unload_models(self->models);
	}
}

/*
 * Ranks that meet on other cores than before, of which some were the same ranks of others: when
 * their models have gone the cores know of their peers no more.
 */
TEST_F_TIMEOUT(cc_model, other_peers, LIMIT_S)
{
	const uint32_t cores[] = { self->cores, 2, self->cores, 4, 2 };
	unsigned int i;

	for (i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		if (cores[i] > self->cores)
			continue;
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 2, cores[i], SUM_AND_TURN));
		expect_results(_metadata, self->models, 2);
		unload_models(self->models);
	}
}

/* Tensors in memory of the host, which ranks on other chips do not reach. */
TEST_F_TIMEOUT(cc_model, host_tensors, LIMIT_S)
{
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 2, self->cores, SUM_AND_TURN));
	for (i = 0; i < 2; i++) {
		struct rig *rig = &self->models[i].rig;
		int vnc = (int)(i * self->models[i].spread);

		nrt_tensor_free(&rig->x);
		nrt_tensor_free(&rig->y);
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, vnc,
							   PROGRAM_BYTES, "x", &rig->x));
		ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, vnc,
							   PROGRAM_BYTES, "y", &rig->y));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(rig->inputs, "x", rig->x));
		ASSERT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(rig->outputs, "y", rig->y));
	}
	expect_results(_metadata, self->models, 2);
	unload_models(self->models);
}

static unsigned int count_text(const char *text, const char *part)
{
	unsigned int nr = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		nr++;
	}
	return nr;
}

/* The system trace has when the collectives of each execution ran. */
TEST_F_TIMEOUT(cc_model, events, LIMIT_S)
{
	nrt_sys_trace_config_t *config;
	size_t size;
	char *text;

	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 2, self->cores, SUM_AND_TURN));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_config_allocate(&config));
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_start(config));
	expect_results(_metadata, self->models, 2);
	ASSERT_EQ(NRT_SUCCESS, nrt_sys_trace_fetch_events(&text, &size, NULL));
	EXPECT_EQ(2 * ROUNDS, count_text(text, "\"name\":\"cc_running\""));
	EXPECT_EQ(2 * ROUNDS, count_text(text, "\"name\":\"nc_exec_running\""));
	nrt_sys_trace_buffer_free(text);
	EXPECT_EQ(NRT_SUCCESS, nrt_sys_trace_stop());
	nrt_sys_trace_config_free(config);
	unload_models(self->models);
}

static unsigned int count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (folder && readdir(folder))
		nr++;
	if (folder)
		closedir(folder);
	return nr;
}

/*
 * Of 16 ranks the CC-core has too few semaphores for all of 16 collectives, so they share them. The
 * usual limit of open files suffices: no grant keeps a descriptor.
 */
TEST_F_TIMEOUT(cc_model, many, LIMIT_S)
{
	static const unsigned int ranks[] = { 2, 5, 16 };
	struct rlimit usual = { 1024, 1024 };
	unsigned int i, files;

	setrlimit(RLIMIT_NOFILE, &usual);
	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		if (ranks[i] > self->cores)
			continue;
		files = count_files();
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks[i], self->cores, MANY));
		expect_results(_metadata, self->models, ranks[i]);
		EXPECT_GT(files + 8 * ranks[i], count_files()) TH_LOG("%u ranks", ranks[i]);
		unload_models(self->models);
	}
}

/* More of them than there are semaphores that start some. */
TEST_F_TIMEOUT(cc_model, more, LIMIT_S)
{
	static const unsigned int ranks[] = { 2, 16 };
	unsigned int i;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		if (ranks[i] > self->cores)
			continue;
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks[i], self->cores, MORE));
		expect_results(_metadata, self->models, ranks[i]);
		unload_models(self->models);
	}
}

/* Groups of two, and one of all, which are not equally large, in one model. */
TEST_F_TIMEOUT(cc_model, groups_of_unequal_size, LIMIT_S)
{
	unsigned int ranks = self->cores < 8 ? 4 : 8;

	ASSERT_LE(ranks, self->cores);
	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks, self->cores, PAIRS_AND_ALL));
	expect_results(_metadata, self->models, ranks);
	unload_models(self->models);
}

/* Only ranks that the groups tie to each other wait for each other. */
TEST_F_TIMEOUT(cc_model, groups_apart, LIMIT_S)
{
	unsigned int i;

	init_ranks(self->models, 4, self->cores, PAIRS, false);
	for (i = 0; i < 4; i++)
		self->models[i].joins = true;
	run_and_expect(_metadata, self->models, 0, 4, load_rank, NRT_SUCCESS);
	unload_models(self->models);
	/* In the world that they have now. */
	init_ranks(self->models, 4, self->cores, PAIRS, false);
	run_and_expect(_metadata, self->models, 2, 4, load_rank, NRT_SUCCESS);
	run_and_expect(_metadata, self->models, 2, 4, execute_rank, NRT_SUCCESS);
	run_and_expect(_metadata, self->models, 0, 2, load_rank, NRT_SUCCESS);
	run_and_expect(_metadata, self->models, 0, 2, execute_rank, NRT_SUCCESS);
	expect_results(_metadata, self->models, 4);
	unload_models(self->models);
}

/* Where the ranks know each other the load prepares all, and finds that they do not agree. */
TEST_F_TIMEOUT(cc_model, prepared_at_load, LIMIT_S)
{
	const char *text;

	init_ranks(self->models, 4, self->cores, SUM_AND_TURN, true);
	run_and_expect(_metadata, self->models, 0, 4, load_rank, NRT_SUCCESS);
	expect_results(_metadata, self->models, 4);

	init_ranks(self->others, 4, self->cores, SUM_AND_TURN, false);
	self->others[2].what = MANY;
	rig_catch();
	in_threads(self->others, 0, 4, load_rank);
	text = rig_caught();
	expect_status(_metadata, self->others, 0, 4, NRT_INVALID);
	EXPECT_TRUE(rig_has(text, "the ranks do not agree")) TH_LOG("%s", text);
	/* The world has not suffered. */
	expect_results(_metadata, self->models, 4);
	unload_models(self->models);
}

/* --- Several models on each core --- */

/* Models of one rank that are executed in turn. */
struct turns {
	pthread_t thread;
	struct model_rank *first;
	struct model_rank *second;
};

static void *execute_in_turn(void *arg)
{
	struct turns *turns = arg;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		execute_round(turns->first, round);
		if (!turns->first->status)
			execute_round(turns->second, round);
		if (turns->first->status || turns->second->status)
			break;
	}
	return NULL;
}

/* Both models on all ranks; rank @odd begins with the other one. */
static void run_in_turn(struct model_rank first[MAX_RANKS], struct model_rank second[MAX_RANKS],
			unsigned int ranks, unsigned int odd)
{
	struct turns turns[MAX_RANKS];
	unsigned int i;

	for (i = 0; i < ranks; i++) {
		turns[i].first = i == odd ? &second[i] : &first[i];
		turns[i].second = i == odd ? &first[i] : &second[i];
		must_start(&turns[i].thread, execute_in_turn, &turns[i]);
	}
	for (i = 0; i < ranks; i++)
		pthread_join(turns[i].thread, NULL);
}

static void expect_turns(struct __test_metadata *_metadata, struct model_rank first[MAX_RANKS],
			 struct model_rank second[MAX_RANKS], unsigned int ranks)
{
	run_in_turn(first, second, ranks, ranks);
	expect_status(_metadata, first, 0, ranks, NRT_SUCCESS);
	expect_status(_metadata, second, 0, ranks, NRT_SUCCESS);
}

/* Each of the two needs more than half of the semaphores when there are many ranks. */
TEST_F_TIMEOUT(cc_model, two_in_turn, LIMIT_S)
{
	static const unsigned int ranks[] = { 2, 4, 16 };
	unsigned int i;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		if (ranks[i] > self->cores)
			continue;
		ASSERT_EQ(NRT_SUCCESS, load_models(self->models, ranks[i], self->cores, MANY));
		ASSERT_EQ(NRT_SUCCESS, load_models(self->others, ranks[i], self->cores, MANY));
		expect_turns(_metadata, self->models, self->others, ranks[i]);
		unload_models(self->others);
		ASSERT_EQ(NRT_SUCCESS, load_models(self->others, ranks[i], self->cores,
						   PAIRS_AND_ALL));
		expect_turns(_metadata, self->others, self->models, ranks[i]);
		unload_models(self->others);
		unload_models(self->models);
	}
}

/* One model is loaded anew by all ranks, as often as semaphores would not suffice for. */
TEST_F_TIMEOUT(cc_model, loaded_anew, LIMIT_S)
{
	unsigned int i;

	init_ranks(self->models, 4, self->cores, MANY, true);
	run_and_expect(_metadata, self->models, 0, 4, load_rank, NRT_SUCCESS);
	for (i = 0; i < 30; i++) {
		init_ranks(self->others, 4, self->cores, i % 2 ? PAIRS_AND_ALL : SUM_AND_TURN,
			   false);
		run_and_expect(_metadata, self->others, 0, 4, load_rank, NRT_SUCCESS);
		if (i % 10 == 0)
			expect_turns(_metadata, self->models, self->others, 4);
		unload_models(self->others);
	}
	expect_results(_metadata, self->models, 4);
	unload_models(self->models);
}

/* Rank 0 loads the second model while it executes the first one; all others load it before. */
static void *execute_then_load(void *arg)
{
	struct turns *turns = arg;

	if (turns->first->number)
		load_one(turns->second);
	execute_round(turns->first, ROUNDS);
	return NULL;
}

TEST_F_TIMEOUT(cc_model, loads_in_another_order, LIMIT_S)
{
	struct turns turns[4];
	unsigned int i;

	init_ranks(self->models, 4, self->cores, ONE, true);
	run_and_expect(_metadata, self->models, 0, 4, load_rank, NRT_SUCCESS);
	expect_results(_metadata, self->models, 4);
	init_ranks(self->others, 4, self->cores, MANY, false);
	for (i = 0; i < 4; i++) {
		turns[i].first = &self->models[i];
		turns[i].second = &self->others[i];
		must_start(&turns[i].thread, execute_then_load, &turns[i]);
	}
	/* The job of rank 0 waits for the others by now. */
	sleep(2);
	load_one(&self->others[0]);
	for (i = 0; i < 4; i++)
		pthread_join(turns[i].thread, NULL);
	expect_status(_metadata, self->models, 0, 4, NRT_SUCCESS);
	expect_status(_metadata, self->others, 0, 4, NRT_SUCCESS);
	expect_turns(_metadata, self->models, self->others, 4);
	unload_models(self->others);
	unload_models(self->models);
}

/* The ranks execute different models: all are told, and go on as soon as they agree. */
TEST_F_TIMEOUT(cc_model, in_another_order, LIMIT_S)
{
	const char *text;

	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 4, self->cores, PAIRS_AND_ALL));
	ASSERT_EQ(NRT_SUCCESS, load_models(self->others, 4, self->cores, SUM_AND_TURN));
	expect_turns(_metadata, self->models, self->others, 4);
	rig_catch();
	run_in_turn(self->models, self->others, 4, 3);
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, "executes model")) TH_LOG("%s", text);
	expect_status(_metadata, self->models, 0, 3, NRT_INVALID);
	expect_status(_metadata, self->others, 3, 4, NRT_INVALID);
	expect_turns(_metadata, self->models, self->others, 4);
	unload_models(self->others);
	unload_models(self->models);
}

static void *execute_often(void *arg)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		execute_rank(arg);
	return NULL;
}

/* Larger and larger models, on the cores of @ranks ranks; only the last one stays for a moment. */
static NRT_STATUS grow_scratchpads(const struct model_rank models[MAX_RANKS], unsigned int ranks)
{
	NRT_STATUS status = NRT_SUCCESS;
	struct rig rig;
	unsigned int i, k;

	for (i = 1; i <= 24; i++) {
		for (k = 0; k < ranks && !status; k++) {
			status = rig_load(&rig, program_scratch_of((uint64_t)i << 16),
					  (int)(k * models[k].spread), 0, 0);
			rig_unload(&rig);
		}
	}
	return status;
}

/* Collectives in the scratchpads, which grow while the ranks execute. */
TEST_F_TIMEOUT(cc_model, scratchpad_grows, LIMIT_S)
{
	unsigned int i;

	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 4, self->cores, IN_SCRATCH));
	expect_results(_metadata, self->models, 4);
	for (i = 0; i < 4; i++)
		must_start(&self->models[i].thread, execute_often, &self->models[i]);
	EXPECT_EQ(NRT_SUCCESS, grow_scratchpads(self->models, 4));
	for (i = 0; i < 4; i++)
		pthread_join(self->models[i].thread, NULL);
	expect_status(_metadata, self->models, 0, 4, NRT_SUCCESS);
	unload_models(self->models);
}

/* --- Failures --- */

/*
 * The ranks do not meet before an execution whose collectives touch memory of the model alone. A
 * rank that does not come is missed by the CC-cores then, which say what they wait for.
 */
TEST_F_TIMEOUT(cc_model, missing_on_the_device, LIMIT_S)
{
	const char *text;

	ASSERT_EQ(NRT_SUCCESS, open_with_limit("8"));
	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 4, self->cores, MANY));
	expect_results(_metadata, self->models, 4);
	rig_catch();
	in_threads(self->models, 0, 3, execute_rank);
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, "all_reduce")) TH_LOG("%s", text);
	EXPECT_TRUE(rig_has(text, "waits for rank")) TH_LOG("%s", text);
	expect_status(_metadata, self->models, 0, 3, NRT_TIMEOUT);
	expect_results(_metadata, self->models, 4);
	unload_models(self->models);
}

/* Wait for request @seq. */
static bool becomes_completed(nrta_seq_t seq)
{
	struct pollfd poller = { .events = POLLIN };

	if (nrta_get_completion_handle(seq, &poller.fd))
		return false;
	poll(&poller, 1, LIMIT_S * 1000);
	close(poller.fd);
	return poller.revents;
}

/* A CC-core that hangs makes the queue of its core unusable, as an engine does. */
TEST_F_TIMEOUT(cc_model, missing_in_a_queue, LIMIT_S)
{
	struct rig *rig = &self->models[0].rig;
	nrta_seq_t seq = 0;

	ASSERT_EQ(NRT_SUCCESS, open_with_limit("8"));
	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 4, self->cores, MANY));
	expect_results(_metadata, self->models, 4);
	rig_catch();
	EXPECT_EQ(NRT_SUCCESS, nrta_execute_schedule(rig->model, rig->inputs, rig->outputs, 0,
						     NULL, &seq));
	EXPECT_TRUE(becomes_completed(seq));
	EXPECT_EQ(NRT_EXEC_UNIT_UNRECOVERABLE,
		  nrta_execute_schedule(rig->model, rig->inputs, rig->outputs, 0, NULL, &seq));
	rig_caught();
	unload_models(self->models);
}

/*
 * A rank does not execute: the others end with an error, and all can go on later. So can another
 * model, whose semaphores the one that failed has left as they were.
 */
TEST_F_TIMEOUT(cc_model, missing, LIMIT_S)
{
	ASSERT_EQ(NRT_SUCCESS, open_with_limit("8"));
	ASSERT_EQ(NRT_SUCCESS, load_models(self->models, 4, self->cores, SUM_AND_TURN));
	ASSERT_EQ(NRT_SUCCESS, load_models(self->others, 4, self->cores, MANY));
	expect_turns(_metadata, self->models, self->others, 4);
	run_and_expect(_metadata, self->models, 0, 3, execute_rank, NRT_TIMEOUT);
	expect_turns(_metadata, self->others, self->models, 4);
	run_and_expect(_metadata, self->others, 1, 4, execute_rank, NRT_TIMEOUT);
	expect_turns(_metadata, self->others, self->models, 4);
	unload_models(self->others);
	unload_models(self->models);
}

/* The memory of one rank does not suffice: all are told which one, and the world goes on. */
TEST_F_TIMEOUT(cc_model, failed_load, LIMIT_S)
{
	const char *text;

	init_ranks(self->models, 4, self->cores, MANY, true);
	run_and_expect(_metadata, self->models, 0, 4, load_rank, NRT_SUCCESS);
	init_ranks(self->others, 4, self->cores, SUM_AND_TURN, false);
	self->others[2].what = TOO_LARGE;
	rig_catch();
	in_threads(self->others, 0, 4, load_rank);
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, "rank 2 of 4 cannot take part: ")) TH_LOG("%s", text);
	expect_status(_metadata, self->others, 0, 4, NRT_RESOURCE);
	expect_results(_metadata, self->models, 4);
	init_ranks(self->others, 4, self->cores, SUM_AND_TURN, false);
	run_and_expect(_metadata, self->others, 0, 4, load_rank, NRT_SUCCESS);
	expect_turns(_metadata, self->models, self->others, 4);
	unload_models(self->others);
	unload_models(self->models);
}

/* All hear of a rank whose CC-core has too few windows, and the world goes on. */
TEST_F_TIMEOUT(cc_model, too_few_windows, LIMIT_S)
{
	const char *text;

	init_ranks(self->models, 2, self->cores, ONE, true);
	run_and_expect(_metadata, self->models, 0, 2, load_rank, NRT_SUCCESS);
	init_ranks(self->others, 2, self->cores, MANY_LISTS, false);
	rig_catch();
	in_threads(self->others, 0, 2, load_rank);
	text = rig_caught();
	EXPECT_TRUE(rig_has(text, "473 collectives of a stream")) TH_LOG("%s", text);
	EXPECT_TRUE(rig_has(text, "need 65536 windows of a CC-core, which has 65534"))
		TH_LOG("%s", text);
	expect_status(_metadata, self->others, 0, 2, NRT_RESOURCE);
	expect_results(_metadata, self->models, 2);
	unload_models(self->models);
}

TEST_F_TIMEOUT(cc_model, refused, LIMIT_S)
{
	struct rig rig;

	EXPECT_EQ(NRT_INVALID, rig_load(&rig, program_collectives(2), 0, 0, 0));
	EXPECT_EQ(NRT_INVALID, rig_load(&rig, program_collectives(2), 0, 2, 4));
	rig_catch();
	EXPECT_EQ(NRT_INVALID, rig_load(&rig, program_collectives(4), 0, 0, 2));
	EXPECT_TRUE(rig_has(rig_caught(), "has rank 2, and there are 2 ranks"));
}

TEST_HARNESS_MAIN
