// SPDX-License-Identifier: MIT
/*
 * All operations of the plan on chips in the process, by the interface that every user of
 * collectives in libnrt has (comm/cc_group.h). What comes out must have the bits that the plan's
 * host reference has, with the arithmetic of the chip.
 */
#include <pthread.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "api/state.h"
#include "cc_answers.h"
#include "comm/cc_group.h"
#include "must.h"
#include "plan/topology.h"
#include "plan/type.h"

#define MAX_RANKS	CC_MAX_RANKS
#define MAX_TASKS	160
#define ROOM		(1u << 20)
#define LIMIT_S		300

/**
 * struct task - a collective of all ranks of a group
 * @ask: what the plan is made of
 * @pairs: of it
 * @plan: or NULL: it cannot be done so, nobody does it
 */
struct task {
	struct nrt_plan_ask ask;
	struct nrt_plan_pair pairs[MAX_RANKS];
	struct nrt_plan *plan;
};

/**
 * struct job - what all ranks do, task after task
 * @ranks: of a group
 * @groups: that do the same side by side
 * @spread: cores from one rank to the next
 * @task, @nr: tasks
 */
struct job {
	unsigned int ranks;
	unsigned int groups;
	unsigned int spread;
	struct task task[MAX_TASKS];
	unsigned int nr;
};

struct rank {
	struct job *job;
	pthread_t thread;
	unsigned int number;
	struct nrt_bo *bo[3];
	struct nrt_world *world;
	struct nrt_cc_group *group;
	struct nrt_error error;
	NRT_STATUS status;
	const struct task *wrong;
};

/* The input of place @rank of group @group. */
static uint64_t seed_of(const struct task *task, unsigned int group, unsigned int round)
{
	return task->plan->count + 100 * group + 1000 * round + 7 * task->plan->op;
}

/* --- A rank --- */

static NRT_STATUS join_all(struct rank *rank, struct nrt_state *state)
{
	const struct job *job = rank->job;
	unsigned int vnc = rank->number * job->spread, i;
	struct nrt_vcore *vcore = nrt_machine_vcore(&state->machine, vnc, &rank->error);
	uint32_t ranks[MAX_RANKS];

	if (!vcore || nrt_world_join(&state->worlds, "test", vcore, rank->number,
				     job->ranks * job->groups, &rank->error))
		return rank->error.status;
	rank->world = nrt_world_get(&state->worlds, vnc);
	/* Ordered ranks: the last one comes first. */
	for (i = 0; i < job->ranks; i++)
		ranks[job->ranks - 1 - i] = i * job->groups + rank->number % job->groups;
	rank->group = nrt_cc_group_find(rank->world, ranks, job->ranks,
					job->ranks - 1 - rank->number / job->groups, &rank->error);
	for (i = 0; rank->group && i < 3; i++)
		if (nrt_bo_create(vcore->core[0], ROOM, DRM_NEURON_BO_HBM,
				  DRM_NEURON_CATEGORY_TENSORS, &rank->bo[i], &rank->error))
			return rank->error.status;
	return rank->group ? NRT_SUCCESS : rank->error.status;
}

/* Where input and output are; in place, one is in the other. */
static struct nrt_cc_run run_of(const struct rank *rank, const struct task *task, unsigned int me)
{
	const struct nrt_plan *plan = task->plan;
	uint64_t at = 4 * (plan->count % 50), mine = me * plan->block;
	struct nrt_cc_run run = {
		.op = task->ask.op, .reduce = task->ask.reduce, .dtype = task->ask.dtype,
		.count = task->ask.count, .in_place = task->ask.in_place, .pairs = task->ask.pairs,
		.nr_pairs = task->ask.nr_pairs, .root = task->ask.root,
		.nr_channels = task->ask.nr_channels, .priority = task->ask.priority,
		.input = { rank->bo[0], at, plan->bytes[NRT_PLAN_INPUT] },
		.output = { rank->bo[1], at + 4, plan->bytes[NRT_PLAN_OUTPUT] },
		.recv_counts_known = task->ask.recv_counts_known,
		.has_rdispls = task->ask.has_rdispls,
		.meta = { rank->bo[2], at + 8, plan->bytes[NRT_PLAN_META] },
	};

	if (!run.in_place)
		return run;
	run.output.bo = rank->bo[0];
	run.output.offset = at + (run.op == NRT_PLAN_REDUCE_SCATTER ? mine : 0);
	run.input.offset = at + (run.op == NRT_PLAN_ALL_GATHER ? mine : 0);
	return run;
}

static NRT_STATUS put(struct nrt_cc_bytes to, const void *bytes, struct nrt_error *error)
{
	return to.length ? nrt_bo_write(to.bo, to.offset, bytes, to.length, error) : NRT_SUCCESS;
}

static NRT_STATUS get(struct nrt_cc_bytes from, void *bytes, struct nrt_error *error)
{
	return from.length ? nrt_bo_read(from.bo, from.offset, bytes, from.length, error) :
			     NRT_SUCCESS;
}

static void drop(struct rank *rank)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		nrt_bo_put(rank->bo[i]);
	nrt_world_put(rank->world);
}

static NRT_STATUS run_task(struct rank *rank, const struct task *task, unsigned int round,
			   uint8_t *bytes)
{
	const struct job *job = rank->job;
	unsigned int me = job->ranks - 1 - rank->number / job->groups;
	unsigned int group = rank->number % job->groups;
	struct nrt_cc_run run = run_of(rank, task, me);
	struct nrt_error *error = &rank->error;
	uint32_t meta[CC_META_WORDS];
	struct nrt_cc_job begun;

	cc_fill_meta(task->plan, me, seed_of(task, group, round), meta);
	memset(bytes, CC_UNTOUCHED, ROOM);
	if (put(run.output, bytes, error))
		return error->status;
	cc_fill(bytes, run.input.length, me, seed_of(task, group, round));
	if (put(run.meta, meta, error) || put(run.input, bytes, error) ||
	    nrt_cc_begin(rank->group, &run, &begun, error) ||
	    nrt_cc_end(rank->group, &begun, error) || get(run.output, bytes, error) ||
	    get(run.meta, meta, error))
		return error->status;
	if (!cc_is_right(task->plan, me, seed_of(task, group, round), bytes, meta))
		rank->wrong = task;
	return NRT_SUCCESS;
}

static void *run_rank(void *arg)
{
	struct rank *rank = arg;
	struct nrt_state *state = nrt_enter("test", &rank->status);
	uint8_t *bytes = must_allocate(ROOM);
	unsigned int i, round;

	rank->status = join_all(rank, state);
	for (i = 0; i < rank->job->nr; i++)
		for (round = 0; round < 2 && !rank->status && !rank->wrong; round++)
			if (rank->job->task[i].plan)
				rank->status = run_task(rank, &rank->job->task[i], round, bytes);
	drop(rank);
	nrt_leave(state);
	free(bytes);
	return NULL;
}

/* --- Jobs --- */

FIXTURE(cc_run)
{
	struct nrt_state *state;
	uint32_t cores;
	struct job *job;
	unsigned int done;
};

static void begin(struct __test_metadata *_metadata, struct _test_data_cc_run *self)
{
	NRT_STATUS status;

	setenv("NEURON_RT_EXEC_TIMEOUT", "60", 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	ASSERT_EQ(NRT_SUCCESS, nrt_get_visible_vnc_count(&self->cores));
	self->state = nrt_enter("test", &status);
	ASSERT_NE(NULL, self->state);
	nrt_leave(self->state);
	self->job = must_allocate(sizeof(*self->job));
}

FIXTURE_SETUP(cc_run)
{
	begin(_metadata, self);
}

FIXTURE_TEARDOWN(cc_run)
{
	free(self->job);
	nrt_close();
}

/* The plans that the ranks make too. Places of group 0; the others' lie likewise. */
static void make_plans(struct nrt_state *state, struct job *job)
{
	struct nrt_plan_place places[MAX_RANKS];
	struct nrt_vcore *vcore = NULL;
	struct nrt_error error;
	unsigned int i;

	for (i = 0; i < job->ranks; i++) {
		vcore = nrt_machine_vcore(&state->machine, i * job->groups * job->spread, &error);
		places[job->ranks - 1 - i] = nrt_vcore_place(vcore);
	}
	for (i = 0; i < job->nr; i++) {
		struct task *task = &job->task[i];

		task->ask.nr_ranks = job->ranks;
		task->ask.places = places;
		task->ask.topology = nrt_vcore_topology(vcore);
		task->ask.algorithm = state->worlds.algorithm;
		task->ask.pairs = task->ask.nr_pairs ? task->pairs : NULL;
		if (nrt_plan_make(&task->ask, &task->plan, &error))
			task->plan = NULL;
	}
}

static void drop_plans(struct job *job)
{
	unsigned int i;

	for (i = 0; i < job->nr; i++) {
		nrt_plan_free(job->task[i].plan);
		job->task[i].plan = NULL;
	}
}

static void describe(struct __test_metadata *_metadata, const struct rank *rank)
{
	const struct nrt_plan *plan = rank->wrong ? rank->wrong->plan : NULL;

	if (rank->status)
		TH_LOG("rank %u of %u: %s", rank->number, rank->job->ranks, rank->error.text);
	if (plan)
		TH_LOG("rank %u of %u: wrong: %s %s of %llu %s by %s%s", rank->number,
		       rank->job->ranks, nrt_plan_op_name(plan->op),
		       nrt_plan_reduce_name(plan->reduce), (unsigned long long)plan->count,
		       nrt_plan_type_name(plan->dtype),
		       nrt_plan_algorithm_name(plan->choice.algorithm),
		       plan->in_place ? " in place" : "");
}

/* Do @self->job by @ranks, at most as many as there are cores; count what was done. */
static void run_job(struct __test_metadata *_metadata, struct _test_data_cc_run *self,
		    const char *algorithm)
{
	struct job *job = self->job;
	unsigned int i, nr = job->ranks * job->groups;
	struct rank ranks[MAX_RANKS] = { 0 };

	ASSERT_GE(self->cores, nr);
	self->state->worlds.algorithm = algorithm;
	make_plans(self->state, job);
	for (i = 0; i < nr; i++) {
		ranks[i].job = job;
		ranks[i].number = i;
		must_start(&ranks[i].thread, run_rank, &ranks[i]);
	}
	for (i = 0; i < nr; i++) {
		pthread_join(ranks[i].thread, NULL);
		EXPECT_EQ(NRT_SUCCESS, ranks[i].status);
		EXPECT_EQ(NULL, ranks[i].wrong);
		describe(_metadata, &ranks[i]);
	}
	for (i = 0; i < job->nr; i++)
		self->done += !!job->task[i].plan;
	drop_plans(job);
	memset(job, 0, sizeof(*job));
}

/* @ranks of each of @groups; they lie on as many chips as possible, or side by side. */
static void begin_job(struct _test_data_cc_run *self, unsigned int ranks, unsigned int groups,
		      bool side_by_side)
{
	self->job->ranks = ranks;
	self->job->groups = groups;
	self->job->spread = side_by_side ? 1 : self->cores / (ranks * groups);
}

/* Pairs as they come in programs: a send, a swap, a shift, and one that a rank has with itself. */
static void add_pairs(struct task *task, unsigned int ranks, unsigned int kind)
{
	unsigned int i, nr = kind == 0 ? 1 : ranks;

	for (i = 0; i < nr; i++) {
		unsigned int target = kind == 0 ? ranks - 1 : kind == 1 ? ranks - 1 - i :
				      (i + 1) % ranks;

		task->pairs[i] = (struct nrt_plan_pair){ (uint16_t)i, (uint16_t)target };
	}
	task->ask.nr_pairs = nr;
}

static struct task *add(struct _test_data_cc_run *self, enum nrt_plan_op op, unsigned int dtype,
			uint64_t count, bool in_place)
{
	struct task *task = &self->job->task[self->job->nr++];

	task->ask = (struct nrt_plan_ask){
		.op = op, .dtype = (uint8_t)dtype, .count = count, .in_place = in_place,
	};
	if (op == NRT_PLAN_ALL_REDUCE || op == NRT_PLAN_REDUCE_SCATTER ||
	    op == NRT_PLAN_REDUCE_SCATTER_V)
		task->ask.reduce = NRT_PLAN_ADD;
	return task;
}

/* Every operation, with sizes that nothing divides, in place and not. */
static void add_operations(struct _test_data_cc_run *self, unsigned int ranks, uint64_t count,
			   bool in_place)
{
	static const unsigned int dtypes[] = {
		NEURON_DTYPE_FP32, NEURON_DTYPE_BF16, NEURON_DTYPE_INT8, NEURON_DTYPE_UINT16,
	};
	unsigned int dtype = dtypes[(count + in_place) % 4], i;
	struct task *task;

	add(self, NRT_PLAN_ALL_REDUCE, dtype, count, in_place);
	add(self, NRT_PLAN_REDUCE_SCATTER, dtype, count, in_place);
	add(self, NRT_PLAN_ALL_GATHER, dtype, count, in_place);
	add(self, NRT_PLAN_ALL_TO_ALL, dtype, count, in_place);
	for (i = 0; i < 3; i++)
		add_pairs(add(self, NRT_PLAN_PERMUTE, dtype, count, in_place), ranks, i);
	task = add(self, NRT_PLAN_BROADCAST, dtype, count, in_place);
	task->ask.root = (unsigned int)(count % ranks);
	add(self, NRT_PLAN_BARRIER, 0, 0, false);
	for (i = 1; i <= 2; i++) {
		task = add(self, NRT_PLAN_PERMUTE_RING, dtype, count, in_place);
		task->ask.nr_channels = i;
		task->ask.reduce = i == 2 && !in_place ? NRT_PLAN_ADD : NRT_PLAN_REDUCE_NONE;
	}
}

/* Those whose counts are known when they run. */
static void add_varied(struct _test_data_cc_run *self, unsigned int dtype, uint64_t count)
{
	unsigned int kind;

	add(self, NRT_PLAN_REDUCE_SCATTER_V, dtype, count, false);
	for (kind = 0; kind < 4; kind++) {
		struct task *task = add(self, kind == 3 ? NRT_PLAN_ALL_GATHER_V :
						NRT_PLAN_ALL_TO_ALL_V, dtype, count, false);

		task->ask.recv_counts_known = kind == 1;
		task->ask.has_rdispls = kind == 2;
	}
}

TEST_F_TIMEOUT(cc_run, operations, LIMIT_S)
{
	static const unsigned int ranks[] = { 1, 2, 3, 4, 5, 8, 16 };
	static const uint64_t counts[] = { 7, 1013, 1, 5002 };
	unsigned int r, c, asked = 0;

	for (r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
		if (ranks[r] > self->cores)
			continue;
		begin_job(self, ranks[r], 1, r % 2);
		for (c = 0; c < (ranks[r] < 5 ? 4 : 2); c++) {
			add_operations(self, ranks[r], counts[c], false);
			add_operations(self, ranks[r], counts[c], true);
		}
		asked += self->job->nr;
		run_job(_metadata, self, NULL);
	}
	/* A task of which there is no plan would be left out. */
	EXPECT_EQ(asked, self->done);
}

/* Each algorithm where it can do the operation; what it can do must not become less. */
TEST_F_TIMEOUT(cc_run, algorithms, LIMIT_S)
{
	static const char * const names[] = {
		"ring", "mesh", "mesh1", "kangaring", "rdh", "chip:mesh+mesh", "chip:mesh+ring",
		"chip:ring+rdh",
	};
	static const unsigned int ranks[] = { 2, 3, 8, 16 };
	unsigned int a, r, i;

	for (a = 0; a < sizeof(names) / sizeof(names[0]); a++) {
		for (r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
			if (ranks[r] > self->cores)
				continue;
			begin_job(self, ranks[r], 1, ranks[r] >= 8);
			for (i = 0; i < 2; i++) {
				unsigned int dtype = i % 2 ? NEURON_DTYPE_FP16 : NEURON_DTYPE_FP32;
				uint64_t count = ranks[r] < 16 ? 2013 : 307;

				add(self, NRT_PLAN_ALL_REDUCE, dtype, count, i % 2);
				add(self, NRT_PLAN_REDUCE_SCATTER, dtype, count, i % 2);
				add(self, NRT_PLAN_ALL_GATHER, dtype, count, i % 2);
				add(self, NRT_PLAN_BROADCAST, dtype, count, i % 2);
			}
			run_job(_metadata, self, names[a]);
		}
	}
	EXPECT_LE(100, self->done);
}

TEST_F_TIMEOUT(cc_run, types, LIMIT_S)
{
	unsigned int dtype, reduce;

	begin_job(self, 4, 1, false);
	for (dtype = 0; dtype < NEURON_NR_DTYPES; dtype++) {
		if (nrt_plan_type_size(dtype))
			add(self, NRT_PLAN_ALL_TO_ALL, dtype, 77, false);
		for (reduce = NRT_PLAN_ADD; reduce <= NRT_PLAN_MAX; reduce++)
			if (nrt_plan_type_reduces(dtype))
				add(self, NRT_PLAN_ALL_REDUCE, dtype, 515, false)->ask.reduce =
					(enum nrt_plan_reduce)reduce;
	}
	run_job(_metadata, self, NULL);
	EXPECT_LE(60, self->done);
}

/* Blocks of one packet, and of several. */
TEST_F_TIMEOUT(cc_run, varied, LIMIT_S)
{
	static const struct { unsigned int ranks, dtype; uint64_t count; } cases[] = {
		{ 1, NEURON_DTYPE_FP32, 100 },
		{ 2, NEURON_DTYPE_INT8, 300001 },
		{ 3, NEURON_DTYPE_BF16, 1 },
		{ 4, NEURON_DTYPE_FP32, 1013 },
		{ 5, NEURON_DTYPE_UINT16, 77 },
		{ 16, NEURON_DTYPE_FP32, 307 },
		{ 16, NEURON_DTYPE_INT8, 40007 },
	};
	unsigned int i, asked = 0;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].ranks > self->cores)
			continue;
		begin_job(self, cases[i].ranks, 1, i % 2);
		add_varied(self, cases[i].dtype, cases[i].count);
		asked += self->job->nr;
		run_job(_metadata, self, NULL);
	}
	EXPECT_EQ(asked, self->done);
}

/* Two groups of one world do the same side by side. */
TEST_F_TIMEOUT(cc_run, groups, LIMIT_S)
{
	begin_job(self, 3, 2, false);
	add_operations(self, 3, 1001, false);
	add_operations(self, 3, 1001, true);
	run_job(_metadata, self, NULL);
	begin_job(self, 4, 2, true);
	add_operations(self, 4, 33, false);
	run_job(_metadata, self, NULL);
	EXPECT_LE(30, self->done);
}

/* --- What ranks must agree in --- */

struct odd {
	struct rank rank;
	struct nrt_state *state;
	struct task task;
};

static void *run_odd(void *arg)
{
	struct odd *odd = arg;
	struct nrt_cc_run run;
	struct nrt_cc_job job;

	odd->rank.status = join_all(&odd->rank, odd->state);
	run = run_of(&odd->rank, &odd->task, odd->rank.job->ranks - 1 - odd->rank.number);
	if (!odd->rank.status)
		odd->rank.status = nrt_cc_begin(odd->rank.group, &run, &job, &odd->rank.error);
	if (!odd->rank.status)
		odd->rank.status = nrt_cc_end(odd->rank.group, &job, &odd->rank.error);
	drop(&odd->rank);
	return NULL;
}

/* Rank 1 differs from the others in one thing: all are told, none hangs. */
TEST_F_TIMEOUT(cc_run, disagreement, LIMIT_S)
{
	struct odd odd[4];
	unsigned int kind, i;

	for (kind = 0; kind < 4; kind++) {
		for (i = 0; i < 4; i++) {
			struct task *task;

			begin_job(self, 4, 1, false);
			task = add(self, kind < 1 ? NRT_PLAN_BROADCAST : NRT_PLAN_PERMUTE,
				   NEURON_DTYPE_FP32, 100, kind == 2 && i == 1);
			add_pairs(task, 4, kind == 1 && i == 1 ? 2 : 1);
			if (!kind)
				task->ask.nr_pairs = 0;
			task->ask.root = i == 1;
			task->ask.priority = kind == 3 && i == 1;
			task->ask.root = kind == 0 && i == 1;
			make_plans(self->state, self->job);
			odd[i] = (struct odd){
				.rank = { .job = self->job, .number = i },
				.state = self->state, .task = *task,
			};
			odd[i].task.ask.pairs = odd[i].task.pairs;
			self->job->nr = 0;
		}
		for (i = 0; i < 4; i++)
			must_start(&odd[i].rank.thread, run_odd, &odd[i]);
		for (i = 0; i < 4; i++) {
			pthread_join(odd[i].rank.thread, NULL);
			EXPECT_EQ(NRT_INVALID, odd[i].rank.status);
			EXPECT_NE(NULL, strstr(odd[i].rank.error.text, "do not agree"))
				TH_LOG("%u: %s", kind, odd[i].rank.error.text);
			nrt_plan_free(odd[i].task.plan);
		}
	}
}

/* The chip of rank 1 has other links: all are told, and none makes a plan of its own. */
TEST_F_TIMEOUT(cc_run, other_links, LIMIT_S)
{
	struct nrt_vcore *vcore;
	struct rank rank[4] = { 0 };
	unsigned int i;

	begin_job(self, 4, 1, false);
	vcore = nrt_machine_vcore(&self->state->machine, self->job->spread, &rank[0].error);
	vcore->device->info.nr_links = 4;
	for (i = 0; i < 4; i++) {
		rank[i].job = self->job;
		rank[i].number = i;
		must_start(&rank[i].thread, run_rank, &rank[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(rank[i].thread, NULL);
		EXPECT_EQ(NRT_INVALID, rank[i].status);
		EXPECT_NE(NULL, strstr(rank[i].error.text, "do not agree: the chips of rank"))
			TH_LOG("%s", rank[i].error.text);
	}
}

/* --- Fabrics --- */

FIXTURE(fabric)
{
	struct _test_data_cc_run run;
};

/*
 * @chips of an instance, and what joins them; @cycles: rings with links of their own; @tasks: how
 * many are enough.
 */
FIXTURE_VARIANT(fabric)
{
	const char *instance;
	unsigned int chips;
	enum nrt_plan_topology topology;
	unsigned int cycles;
	unsigned int tasks;
};

FIXTURE_VARIANT_ADD(fabric, alone)
{
	.instance = "trn2.3xlarge", .chips = 1, .topology = NRT_PLAN_ANY, .cycles = 2, .tasks = 4,
};

FIXTURE_VARIANT_ADD(fabric, ring)
{
	.instance = "trn2:4", .chips = 4, .topology = NRT_PLAN_LINE, .cycles = 2, .tasks = 4,
};

FIXTURE_VARIANT_ADD(fabric, torus2d)
{
	.instance = "trn2.48xlarge", .chips = 16, .topology = NRT_PLAN_TORUS2D, .cycles = 4,
	.tasks = 4,
};

FIXTURE_VARIANT_ADD(fabric, torus3d)
{
	.instance = "trn2:32", .chips = 32, .topology = NRT_PLAN_TORUS3D, .cycles = 4, .tasks = 1,
};

FIXTURE_VARIANT_ADD(fabric, switched)
{
	.instance = "trn3:16", .chips = 16, .topology = NRT_PLAN_SWITCH, .cycles = 2, .tasks = 4,
};

FIXTURE_SETUP(fabric)
{
	setenv("NEURON_EMU_INSTANCE", variant->instance, 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", "2", 1);
	begin(_metadata, &self->run);
}

FIXTURE_TEARDOWN(fabric)
{
	free(self->run.job);
	nrt_close();
}

/* @tasks by so many channels; 0: as the plan likes. */
static void add_tasks(struct _test_data_cc_run *run, unsigned int tasks, unsigned int channels)
{
	unsigned int i;

	add(run, NRT_PLAN_REDUCE_SCATTER, NEURON_DTYPE_FP32, 307, false);
	add(run, NRT_PLAN_ALL_REDUCE, NEURON_DTYPE_BF16, 2013, true);
	add(run, NRT_PLAN_ALL_GATHER, NEURON_DTYPE_INT8, 515, false);
	add(run, NRT_PLAN_BROADCAST, NEURON_DTYPE_FP32, 2013, true);
	run->job->nr = tasks;
	for (i = 0; i < tasks; i++)
		run->job->task[i].ask.nr_channels = channels;
}

/*
 * A rank of each chip. The host reference has the plan of that topology: on a torus a ring has
 * another order than that of the ranks, so other bits come out of a plan that does not know it.
 */
TEST_F_TIMEOUT(fabric, plans_know_it, LIMIT_S)
{
	static const char * const names[] = { "ring", NULL };
	const bool many = variant->tasks > 1;
	const struct nrt_plan *plan;
	uint16_t all[MAX_RANKS];
	unsigned int i;

	for (i = 0; i < variant->chips; i++)
		all[i] = (uint16_t)i;
	for (i = 0; i < (many ? 2 : 1); i++) {
		begin_job(&self->run, variant->chips, 1, false);
		/* Two channels in each cycle, or one if there are very many ranks. */
		add_tasks(&self->run, variant->tasks, i ? 0 : variant->cycles * (many ? 2 : 1));
		self->run.state->worlds.algorithm = names[i];
		make_plans(self->run.state, self->run.job);
		plan = self->run.job->task[0].plan;
		ASSERT_NE(NULL, plan);
		EXPECT_EQ(variant->topology, plan->topology);
		EXPECT_EQ(variant->cycles, nrt_ring_cycles(plan, all, variant->chips));
		drop_plans(self->run.job);
		run_job(_metadata, &self->run, names[i]);
	}
	EXPECT_EQ(many ? 2 * variant->tasks : variant->tasks, self->run.done);
}

/* --- Metadata that says what cannot be --- */

/**
 * struct lie - a number of the metadata of rank 1
 * @op, @row, @column, @value: where it is, and what
 * @text: what rank 1, or who has to do with it, is told
 */
struct lie {
	enum nrt_plan_op op;
	enum nrt_plan_row row;
	unsigned int column;
	uint32_t value;
	const char *text;
};

struct liar {
	struct rank rank;
	const struct lie *lie;
	const struct task *task;
	struct nrt_state *state;
};

static void *run_liar(void *arg)
{
	struct liar *liar = arg;
	struct rank *rank = &liar->rank;
	unsigned int me = rank->job->ranks - 1 - rank->number, n = rank->job->ranks;
	uint32_t meta[CC_META_WORDS];
	struct nrt_cc_run run;
	struct nrt_cc_job job;

	rank->status = join_all(rank, liar->state);
	run = run_of(rank, liar->task, me);
	cc_fill_meta(liar->task->plan, me, 3, meta);
	if (me == 1)
		meta[liar->lie->row * n + liar->lie->column] = liar->lie->value;
	if (!rank->status)
		rank->status = put(run.meta, meta, &rank->error);
	if (!rank->status)
		rank->status = nrt_cc_begin(rank->group, &run, &job, &rank->error);
	if (!rank->status)
		rank->status = nrt_cc_end(rank->group, &job, &rank->error);
	drop(rank);
	return NULL;
}

/* All ranks are told who has the number, which one it is, and what it may be. */
TEST_F_TIMEOUT(cc_run, lies, LIMIT_S)
{
	static const struct lie lies[] = {
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_SEND_COUNTS, 2, 101,
		  "send_counts[2] of its metadata is above 100" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_SEND_COUNTS, 0, UINT32_MAX,
		  "send_counts[0] of its metadata is above 100" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_SEND_DISPLS, 0, 1u << 30,
		  "send_displs[0] of its metadata is above 300" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_SEND_DISPLS, 0, 299,
		  "send_displs[0] of its metadata and the count reach outside of 300" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_RECV_DISPLS, 0, 299,
		  "recv_displs[0] of the metadata of rank 1 and the count reach outside of 300" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_RECV_DISPLS, 2, 301,
		  "recv_displs[2] of the metadata of rank 1 is above 300" },
		{ NRT_PLAN_ALL_TO_ALL_V, NRT_PLAN_RECV_DISPLS, 1, 1u << 31,
		  "recv_displs[1] of its metadata is above 300" },
		{ NRT_PLAN_ALL_GATHER_V, NRT_PLAN_SEND_COUNTS, 0, 101,
		  "send_counts[0] of its metadata is above 100" },
		{ NRT_PLAN_REDUCE_SCATTER_V, NRT_PLAN_SEND_COUNTS, 2, 500,
		  "send_counts[2] of its metadata is above 100" },
	};
	struct liar liar[3];
	struct task *task;
	unsigned int k, i;

	for (k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
		begin_job(self, 3, 1, false);
		task = add(self, lies[k].op, NEURON_DTYPE_FP32, 100, false);
		task->ask.has_rdispls = lies[k].op == NRT_PLAN_ALL_TO_ALL_V;
		make_plans(self->state, self->job);
		for (i = 0; i < 3; i++) {
			liar[i] = (struct liar){
				.rank = { .job = self->job, .number = i },
				.lie = &lies[k], .task = task, .state = self->state,
			};
			must_start(&liar[i].rank.thread, run_liar, &liar[i]);
		}
		for (i = 0; i < 3; i++) {
			pthread_join(liar[i].rank.thread, NULL);
			EXPECT_EQ(NRT_EXEC_OOB, liar[i].rank.status) TH_LOG("lie %u", k);
			EXPECT_NE(NULL, strstr(liar[i].rank.error.text, lies[k].text))
				TH_LOG("lie %u: %s", k, liar[i].rank.error.text);
		}
		nrt_plan_free(task->plan);
		memset(self->job, 0, sizeof(*self->job));
	}
}

TEST_HARNESS_MAIN
