// SPDX-License-Identifier: MIT
/*
 * Ranks that are processes, which share the chips of the driver: each process has two ranks, or one
 * on a machine of few cores, and all meet by NEURON_RT_ROOT_COMM_ID. They run collectives of the
 * host and of models, and one of them is killed.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nrt/nrt_async.h>
#include <nrt/nrt_experimental.h>

#include "kselftest_harness.h"

#include "programs.h"
#include "rig.h"

#define PROCESSES	4
#define MAX_OF_PROCESS	2
#define MAX_RANKS	(PROCESSES * MAX_OF_PROCESS)
#define LIMIT_S		400
/* A failure must not wait for it. */
#define EXEC_LIMIT	"120"
#define ROUNDS		3
#define MAX_COUNT	20011
/* Exit status of a process. */
#define CANNOT_BEGIN	100

/**
 * struct board - what the processes tell the parent, and it tells them
 * @running: ranks that have had results
 * @asleep: the one that is to be killed takes part no longer
 * @text: by process: what the library said when it failed
 */
struct board {
	atomic_uint running;
	atomic_bool asleep;
	char text[PROCESSES][4096];
};

struct process;

/**
 * struct rank - a rank
 * @process: its process
 * @vnc: its core there
 * @number, @ranks: which one of how many
 * @rig, @other: its models
 * @in, @out: its tensors
 * @beside: a thread that works while another one executes
 * @status, @wrong: what came of it
 */
struct rank {
	struct process *process;
	pthread_t thread;
	pthread_t beside;
	unsigned int vnc;
	unsigned int number;
	unsigned int ranks;
	struct rig rig;
	struct rig other;
	nrt_tensor_t *in;
	nrt_tensor_t *out;
	NRT_STATUS status;
	NRT_STATUS beside_status;
	unsigned int wrong;
};

/**
 * struct process - a process
 * @index: which one
 * @nr: its ranks; as many as others have
 * @victim: which one is killed
 * @in_model, @asleep: see the variants of the tests
 * @board: shared by all
 */
struct process {
	unsigned int index;
	unsigned int nr;
	unsigned int victim;
	bool in_model;
	bool asleep;
	struct board *board;
	struct rank rank[MAX_OF_PROCESS];
};

typedef unsigned int process_fn(struct process *process);

/* --- Ranks --- */

/* All ranks of the process do @run. The number of mistakes. */
static unsigned int both(struct process *process, void *(*run)(void *arg))
{
	unsigned int i, wrong = 0;

	for (i = 0; i < process->nr; i++)
		pthread_create(&process->rank[i].thread, NULL, run, &process->rank[i]);
	for (i = 0; i < process->nr; i++)
		pthread_join(process->rank[i].thread, NULL);
	for (i = 0; i < process->nr; i++) {
		if (process->rank[i].status || process->rank[i].wrong)
			fprintf(stderr, "# rank %u: status %d, %u wrong elements\n",
				process->rank[i].number, (int)process->rank[i].status,
				process->rank[i].wrong);
		wrong += process->rank[i].status || process->rank[i].wrong;
	}
	return wrong;
}

static void *join_world(void *arg)
{
	struct rank *rank = arg;

	rank->status = nrt_cc_global_comm_init(rank->vnc, rank->number, rank->ranks);
	return NULL;
}

/* Wait for the end of request @seq, and say what came of it. */
static NRT_STATUS await(nrta_seq_t seq, nrta_error_tracker_t *tracker)
{
	struct pollfd poller = { .events = POLLIN };
	const nrta_error_t *list;
	NRT_STATUS status;
	size_t errors;

	status = nrta_get_completion_handle(seq, &poller.fd);
	if (status)
		return status;
	poll(&poller, 1, -1);
	close(poller.fd);
	status = nrta_error_tracker_get_list(tracker, &list, &errors);
	return status ?: errors ? (NRT_STATUS)list[0].error_code : NRT_SUCCESS;
}

static NRT_STATUS run_all_reduce(struct rank *rank)
{
	uint32_t group[MAX_RANKS];
	nrt_cc_comm_t comm = {
		.replica_group = group,
		.rank = rank->number,
		.rank_n = rank->ranks,
		.ctx_device_id = rank->number,
		.ctx_device_count = rank->ranks,
		.vnc = rank->vnc,
	};
	nrt_tensor_list_t input = { &rank->in, 1 }, output = { &rank->out, 1 };
	nrta_error_tracker_t *tracker;
	nrt_cc_context_t *context;
	NRT_STATUS status;
	nrta_seq_t seq;
	unsigned int i;

	for (i = 0; i < rank->ranks; i++)
		group[i] = i;
	status = nrta_cc_prepare(&comm, &input, &output, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
				 NRT_CC_ALLREDUCE, &context);
	if (status)
		return status;
	status = nrta_error_tracker_create(rank->vnc, &tracker);
	if (status)
		return status;
	status = nrta_cc_schedule(&context, 0, tracker, &seq) ?: await(seq, tracker);
	nrta_error_tracker_destroy(tracker);
	return status;
}

/* An all-reduce of @count elements, compared. */
static void all_reduce(struct rank *rank, size_t count, unsigned int round)
{
	float *values = calloc(count, sizeof(*values));
	size_t i, size = count * sizeof(*values);

	for (i = 0; i < count; i++)
		values[i] = rig_value(rank->number, i, round);
	rank->status =
		nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->vnc, size, "in",
				    &rank->in) ?:
		nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)rank->vnc, size, "out",
				    &rank->out) ?:
		nrt_tensor_write(rank->in, values, 0, size) ?:
		run_all_reduce(rank) ?:
		nrt_tensor_read(rank->out, values, 0, size);
	for (i = 0; i < count && !rank->status; i++)
		rank->wrong += values[i] != rig_sum(0, rank->ranks, i, round);
	nrt_tensor_free(&rank->in);
	nrt_tensor_free(&rank->out);
	free(values);
}

static void *all_reduces(void *arg)
{
	static const size_t counts[] = { 1, 1000, MAX_COUNT };
	struct rank *rank = arg;
	unsigned int i;

	for (i = 0; i < 3 && !rank->status; i++)
		all_reduce(rank, counts[i], i);
	return NULL;
}

/* --- Models --- */

static void *load_turn(void *arg)
{
	struct rank *rank = arg;

	rank->status = rig_load(&rank->rig, program_collectives(rank->ranks), (int)rank->vnc,
				rank->number, rank->ranks);
	return NULL;
}

static void *load_many(void *arg)
{
	struct rank *rank = arg;

	rank->status = rig_load(&rank->rig, program_many_collectives(rank->ranks),
				(int)rank->vnc, rank->number, rank->ranks);
	return NULL;
}

/* @turned: it is program_collectives(). */
static NRT_STATUS execute(struct rank *rank, struct rig *rig, bool turned, unsigned int round)
{
	size_t block = RIG_VALUES / rank->ranks, i, from;
	float x[RIG_VALUES], y[RIG_VALUES];
	NRT_STATUS status;

	for (i = 0; i < RIG_VALUES; i++)
		x[i] = rig_value(rank->number, i, round);
	status = rig_run(rig, x, y);
	for (i = 0; i < RIG_VALUES && !status; i++) {
		from = turned ? rank->number * block + i % block : i;
		rank->wrong += y[i] != rig_sum(0, rank->ranks, from, round);
	}
	return status;
}

static void *execute_turn(void *arg)
{
	struct rank *rank = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS && !rank->status; i++)
		rank->status = execute(rank, &rank->rig, true, i);
	return NULL;
}

static void *execute_many(void *arg)
{
	struct rank *rank = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS && !rank->status; i++)
		rank->status = execute(rank, &rank->rig, false, i);
	return NULL;
}

static void unload(struct process *process)
{
	unsigned int i;

	for (i = 0; i < process->nr; i++) {
		rig_unload(&process->rank[i].rig);
		rig_unload(&process->rank[i].other);
	}
}

/* --- Processes --- */

/* A port that nobody uses. */
static void choose_port(char *address, size_t size)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
	    getsockname(fd, (struct sockaddr *)&any, &length))
		any.sin_port = 0;
	close(fd);
	snprintf(address, size, "127.0.0.1:%u", ntohs(any.sin_port));
}

/* The processes have their cores on all chips alike. */
static bool begin(struct process *process, uint32_t cores)
{
	unsigned int first = process->index * (cores / PROCESSES), i;
	char visible[32];

	snprintf(visible, sizeof(visible), "%u-%u", first, first + process->nr - 1);
	setenv("NEURON_RT_VISIBLE_CORES", visible, 1);
	for (i = 0; i < process->nr; i++) {
		process->rank[i].process = process;
		process->rank[i].vnc = i;
		process->rank[i].number = process->index * process->nr + i;
		process->rank[i].ranks = PROCESSES * process->nr;
	}
	return !nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
}

static unsigned int run_process(struct process *process, uint32_t cores, process_fn *run)
{
	unsigned int wrong;

	alarm(LIMIT_S - 40);
	if (!begin(process, cores))
		return CANNOT_BEGIN;
	wrong = run(process);
	nrt_close();
	return wrong;
}

/**
 * struct all - all processes
 * @cores: of the machine
 * @process: what each of them gets a copy of
 * @pids: by number
 */
struct all {
	uint32_t cores;
	struct process process;
	pid_t pids[PROCESSES];
};

static void set_up(struct __test_metadata *_metadata, struct all *all)
{
	char address[32];

	setenv("NEURON_RT_EXEC_TIMEOUT", EXEC_LIMIT, 1);
	choose_port(address, sizeof(address));
	setenv("NEURON_RT_ROOT_COMM_ID", address, 1);
	ASSERT_EQ(NRT_SUCCESS, nrt_get_total_vnc_count(&all->cores));
	ASSERT_LE(PROCESSES, all->cores);
	all->process.nr = all->cores < MAX_RANKS ? 1 : MAX_OF_PROCESS;
	all->process.board = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)all->process.board);
}

static void begin_all(struct __test_metadata *_metadata, struct all *all, process_fn *run)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++) {
		all->process.index = i;
		all->pids[i] = fork();
		ASSERT_LE(0, all->pids[i]);
		if (!all->pids[i])
			_exit((int)run_process(&all->process, all->cores, run));
	}
}

/* All have ended, and well, but @killed, if that is one. */
static void expect_end(struct __test_metadata *_metadata, struct all *all, unsigned int killed)
{
	unsigned int i;
	int status;

	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(all->pids[i], waitpid(all->pids[i], &status, 0));
		if (i == killed) {
			EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
				TH_LOG("process %u: status 0x%x", i, status);
			continue;
		}
		EXPECT_EQ(0, status) TH_LOG("process %u: %s", i, all->process.board->text[i]);
	}
}

/* --- Work --- */

static unsigned int work_by_host(struct process *process)
{
	unsigned int wrong = both(process, join_world);

	/* Once more in another world. */
	wrong += both(process, all_reduces) + both(process, join_world);
	return wrong + both(process, all_reduces);
}

/* A model that the ranks meet for by themselves, and one in a world that the program makes. */
static unsigned int work_in_models(struct process *process)
{
	unsigned int wrong = both(process, load_turn) + both(process, execute_turn);

	unload(process);
	wrong += both(process, join_world) + both(process, load_many) +
		 both(process, execute_many) + both(process, all_reduces);
	unload(process);
	return wrong;
}

/* Loads of another model beside the executions. */
static void *load_beside(void *arg)
{
	struct rank *rank = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS && !rank->beside_status; i++) {
		rig_unload(&rank->other);
		rank->beside_status =
			rig_load(&rank->other, program_collectives(rank->ranks), (int)rank->vnc,
				 rank->number, rank->ranks);
	}
	return NULL;
}

static void *execute_and_load(void *arg)
{
	struct rank *rank = arg;
	unsigned int i;

	pthread_create(&rank->beside, NULL, load_beside, rank);
	for (i = 0; i < 10 && !rank->status; i++)
		rank->status = execute(rank, &rank->rig, true, i);
	pthread_join(rank->beside, NULL);
	if (!rank->status)
		rank->status = rank->beside_status;
	if (!rank->status)
		rank->status = execute(rank, &rank->other, true, 0);
	return NULL;
}

static unsigned int load_and_execute(struct process *process)
{
	unsigned int wrong = both(process, join_world) + both(process, load_turn) +
			     both(process, execute_and_load);

	unload(process);
	return wrong;
}

FIXTURE(processes)
{
	struct all all;
};

FIXTURE_SETUP(processes)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_up(_metadata, &self->all);
}

FIXTURE_TEARDOWN(processes)
{
	munmap(self->all.process.board, sizeof(struct board));
}

TEST_F_TIMEOUT(processes, work, LIMIT_S)
{
	begin_all(_metadata, &self->all, work_by_host);
	expect_end(_metadata, &self->all, PROCESSES);
	begin_all(_metadata, &self->all, work_in_models);
	expect_end(_metadata, &self->all, PROCESSES);
}

TEST_F_TIMEOUT(processes, load_beside_execution, LIMIT_S)
{
	begin_all(_metadata, &self->all, load_and_execute);
	expect_end(_metadata, &self->all, PROCESSES);
}

/* --- A process is killed --- */

static bool is_victim(const struct process *process)
{
	return process->index == process->victim;
}

static void *work_until_killed(void *arg)
{
	struct rank *rank = arg;
	struct process *process = rank->process;
	struct board *board = process->board;
	unsigned int i;

	for (i = 0; !rank->status; i++) {
		if (i == ROUNDS)
			atomic_fetch_add(&board->running, 1);
		if (i == ROUNDS && process->asleep && is_victim(process)) {
			atomic_store(&board->asleep, true);
			pause();
		}
		if (process->in_model)
			rank->status = execute(rank, &rank->rig, false, i);
		else
			all_reduce(rank, 1000, i);
	}
	/* A request says in the log why it has failed, but perhaps later. */
	if (nrt_barrier((int)rank->vnc, rank->number, rank->ranks) != rank->status)
		rank->wrong++;
	return NULL;
}

/* All ranks have got an error that names one of the victim's. */
static unsigned int check_failure(struct process *process, const char *text)
{
	unsigned int i, wrong = 0;
	char named[48];

	snprintf(process->board->text[process->index], sizeof(process->board->text[0]), "%s",
		 text);
	for (i = 0; i < process->nr; i++)
		wrong += process->rank[i].wrong || process->rank[i].status != NRT_FAILURE;
	if (!process->victim)
		return wrong + !strstr(text, "rank 0 has gone");
	for (i = 0; i < process->nr; i++) {
		snprintf(named, sizeof(named), "rank %u of %u has gone",
			 process->victim * process->nr + i, PROCESSES * process->nr);
		if (strstr(text, named))
			return wrong;
	}
	return wrong + 1;
}

/* The ranks that are left are a smaller group, which computes. */
static unsigned int go_on(struct process *process)
{
	unsigned int i, wrong;

	for (i = 0; i < process->nr; i++) {
		process->rank[i].ranks -= process->nr;
		if (process->index > process->victim)
			process->rank[i].number -= process->nr;
		process->rank[i].status = NRT_SUCCESS;
	}
	wrong = both(process, join_world) + both(process, all_reduces);
	if (process->in_model)
		wrong += both(process, load_many) + both(process, execute_many);
	unload(process);
	return wrong;
}

static unsigned int survive(struct process *process)
{
	unsigned int wrong = both(process, join_world);

	if (process->in_model)
		wrong += both(process, load_many);
	if (wrong)
		return wrong;
	rig_catch();
	both(process, work_until_killed);
	wrong = check_failure(process, rig_caught());
	unload(process);
	return wrong + go_on(process);
}

FIXTURE(killed)
{
	struct all all;
};

FIXTURE_VARIANT(killed)
{
	unsigned int victim;
	bool in_model;		/* else in a collective of the host */
	bool asleep;		/* the others wait for it; else it is killed at any moment */
};

FIXTURE_VARIANT_ADD(killed, host) {
	.victim = 2,
};

FIXTURE_VARIANT_ADD(killed, host_root) {
	.victim = 0,
};

FIXTURE_VARIANT_ADD(killed, model) {
	.victim = 1,
	.in_model = true,
};

FIXTURE_VARIANT_ADD(killed, model_asleep) {
	.victim = 3,
	.in_model = true,
	.asleep = true,
};

FIXTURE_VARIANT_ADD(killed, model_root_asleep) {
	.victim = 0,
	.in_model = true,
	.asleep = true,
};

FIXTURE_SETUP(killed)
{
	if (!rig_chips())
		SKIP(return, "no neuron device");
	set_up(_metadata, &self->all);
	self->all.process.victim = variant->victim;
	self->all.process.in_model = variant->in_model;
	self->all.process.asleep = variant->asleep;
}

FIXTURE_TEARDOWN(killed)
{
	munmap(self->all.process.board, sizeof(struct board));
}

TEST_F_TIMEOUT(killed, kill_9, LIMIT_S)
{
	struct board *board = self->all.process.board;
	const struct timespec moment = { .tv_nsec = 50000000 };
	unsigned int victim = variant->victim;

	begin_all(_metadata, &self->all, survive);
	while (atomic_load(&board->running) < PROCESSES * self->all.process.nr ||
	       atomic_load(&board->asleep) != variant->asleep)
		nanosleep(&moment, NULL);
	/* Those who wait for it have begun to. */
	sleep(variant->asleep ? 2 : 0);
	kill(self->all.pids[victim], SIGKILL);
	expect_end(_metadata, &self->all, victim);
}

TEST_HARNESS_MAIN
