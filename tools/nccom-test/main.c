// SPDX-License-Identifier: MIT
/* nccom-test: runs collectives on the chips, compares their results, and measures. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nrt/nrt.h>

#include "groups.h"
#include "options.h"
#include "output.h"
#include "process.h"
#include "ranks.h"
#include "report.h"

/* Set by a signal: everything ends. */
static atomic_int interrupted;

/**
 * struct stream - an operation, alone or on a stream
 * @options: of it
 * @groups: of the ranks
 * @metadata: of an operation that varies
 * @pairs: of a permutation
 * @report: what is printed
 * @size: the size under way, in bytes
 * @shape: what it means
 */
struct stream {
	const struct options *options;
	struct groups groups;
	struct metadata metadata;
	struct pairs pairs;
	struct report *report;
	uint64_t size;
	struct shape shape;
};

/**
 * struct test - all that is done
 * @command: the command line
 * @stream: its operations
 * @ranks: which work
 * @size: operations of each size
 * @times: room for their times
 * @failed: sizes without a result
 */
struct test {
	struct command command;
	struct stream stream[NEFF_NR_STREAMS];
	struct ranks *ranks;
	struct ranks_size size;
	struct ranks_times times;
	unsigned int failed;
};

static void on_signal(int number)
{
	atomic_store(&interrupted, number);
}

static void catch_signals(void)
{
	/* The second one ends the process at once. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* An empty message: libnrt has said it already. */
static int complain(const char *why)
{
	fflush(stdout);
	if (*why)
		fprintf(stderr, "nccom-test: %s\n", why);
	return EXIT_TEST_FAILED;
}

/* --- Sizes --- */

static unsigned int operations_of(const struct ranks_size *size)
{
	return size->warmup + size->runs * (size->run_warmup + size->run_iters);
}

static void show_progress(void *arg, unsigned int done)
{
	const struct test *test = arg;

	if (test->times.wall)
		report_progress(test->stream[0].report, &test->stream[0].shape, done,
				operations_of(&test->size));
}

/* Operations of each size. With --neff_iters -n and -w are those of one run. */
static void count_operations(struct test *test)
{
	const struct options *options = &test->command.options;
	unsigned int run = options->iters + options->warmup;

	test->size.run_iters = options->iters;
	test->size.runs = options->runs ?: 1;
	test->size.run_warmup = options->runs ? options->warmup : 0;
	test->size.warmup = options->runs ? options->warmup_runs * run : options->warmup;
	/* The operations of a NEFF of the public tool have tensors of their own. */
	test->size.buffers = options->unique ? run : 1;
}

/* Each stream has a line that says so. */
static void say_failure(struct test *test, const char *why)
{
	unsigned int i;

	for (i = 0; i < test->command.nr; i++)
		report_failure(test->stream[i].report, &test->stream[i].shape, why);
	test->failed++;
}

static int say_results(struct test *test)
{
	size_t nr = (size_t)test->size.runs * test->size.run_iters;
	unsigned int i;

	for (i = 0; i < test->command.nr; i++)
		if (report_row(test->stream[i].report, &test->stream[i].shape,
			       ranks_algorithm(test->ranks, i), &test->times, nr))
			return -1;
	return 0;
}

static int plan(struct test *test, char why[RANKS_WHY])
{
	const struct shape *shape[NEFF_NR_STREAMS];
	unsigned int i;

	for (i = 0; i < test->command.nr; i++) {
		struct stream *stream = &test->stream[i];

		stream->shape = shape_of(stream->options->operation, stream->options->type,
					 stream->groups.size, stream->size);
		shape[i] = &stream->shape;
	}
	return ranks_plan(test->ranks, shape, &test->size, why);
}

/* Returns false when no other size can follow. */
static bool test_size(struct test *test)
{
	char why[RANKS_WHY] = "";
	enum ranks_end end;

	if (plan(test, why)) {
		say_failure(test, why);
		return true;
	}
	end = ranks_run(test->ranks, &test->size, &test->times, why);
	report_progress(test->stream[0].report, &test->stream[0].shape, 0, 0);
	if (end == RANKS_OK) {
		if (!say_results(test))
			return true;
		complain("out of memory");
		test->failed++;
		return false;
	}
	if (end == RANKS_INTERRUPTED)
		return false;
	say_failure(test, end == RANKS_WRONG ? "wrong result" : "failure");
	complain(why);
	return end == RANKS_WRONG;
}

static int take_times(struct test *test)
{
	size_t nr = (size_t)test->size.runs * test->size.run_iters;
	bool modelled = test->command.options.modelled;

	test->times.wall = calloc(nr, sizeof(*test->times.wall));
	if (modelled)
		test->times.device = calloc(nr, sizeof(*test->times.device));
	return test->times.wall && (test->times.device || !modelled) ? 0 : -1;
}

/* The next size of each stream; a stream that has had all of its sizes stays at the last one. */
static bool go_on(struct test *test)
{
	struct stream *stream;
	bool more = false;
	uint64_t next;
	unsigned int i;

	for (i = 0; i < test->command.nr; i++) {
		stream = &test->stream[i];
		next = options_next_size(stream->options, stream->size);
		if (next)
			stream->size = next;
		more |= next;
	}
	return more;
}

static int end_reports(struct test *test, char *why, size_t size)
{
	const unsigned int nr = test->command.nr;
	unsigned int i;

	for (i = 0; i < nr; i++)
		report_end(test->stream[i].report, i + 1 == nr ? test->failed : 0);
	return report_write(test->stream[0].report, why, size);
}

static int test_sizes(struct test *test)
{
	char why[512];
	unsigned int i;

	if (take_times(test))
		return complain("out of memory");
	for (i = 0; i < test->command.nr; i++) {
		test->stream[i].size = test->stream[i].options->min;
		report_link(test->stream[i].report, ranks_link());
		report_head(test->stream[i].report);
	}
	while (test_size(test) && go_on(test))
		;
	if (interrupted)
		return EXIT_TEST_FAILED;
	if (end_reports(test, why, sizeof(why)))
		return complain(why);
	return test->failed ? EXIT_TEST_FAILED : EXIT_SUCCESS;
}

/* --- All of it --- */

static int make_groups(struct stream *stream, char why[FILE_WHY])
{
	const struct options *options = stream->options;

	if (options->groups_file)
		return groups_read(&stream->groups, options->ranks, options->groups_file, why);
	if (options->parallel)
		return groups_parallel(&stream->groups, options->ranks, options->parallel, why);
	return groups_all(&stream->groups, options->ranks, why);
}

static int make_pairs(struct stream *stream, char why[FILE_WHY])
{
	const struct options *options = stream->options;

	if (options->pairs_file)
		return pairs_read(&stream->pairs, options->ranks, options->pairs_file, why);
	if (options->operation->plan_op == NRT_PLAN_PERMUTE)
		return pairs_ring(&stream->pairs, stream->groups.size, why);
	return 0;
}

static int check_ones(const struct stream *stream, char why[FILE_WHY])
{
	const struct options *options = stream->options;

	if (options->kind != VALUES_ONES ||
	    values_ones_fit(options->operation, options->reduction, options->type,
			    stream->groups.size))
		return 0;
	return file_fail(why, "--check=all_ones: %s cannot count %u ranks exactly",
			 options->type->name, stream->groups.size);
}

static bool has_rank(const struct groups *groups, uint32_t rank)
{
	unsigned int i = 0;

	while (i < groups->nr * groups->size && groups->rank[i] != rank)
		i++;
	return i < groups->nr * groups->size;
}

/* A rank does all collectives of a NEFF, or none. */
static int check_ranks(const struct test *test, unsigned int i, char why[FILE_WHY])
{
	const struct groups *first = &test->stream[0].groups, *groups = &test->stream[i].groups;
	uint32_t rank;

	for (rank = 0; rank < test->command.options.ranks; rank++)
		if (has_rank(first, rank) != has_rank(groups, rank))
			return file_fail(why,
					 "rank %u is in a group of stream %u, and in none of stream %u",
					 rank, has_rank(first, rank) ? 0 : i,
					 has_rank(first, rank) ? i : 0);
	return 0;
}

static int prepare_stream(struct test *test, unsigned int i, char *why, size_t size)
{
	struct stream *stream = &test->stream[i];
	char text[FILE_WHY];

	stream->options = &test->command.stream[i];
	if (make_groups(stream, text) || check_ranks(test, i, text) ||
	    metadata_read(&stream->metadata, stream->options->operation, stream->groups.size,
			  stream->options->metadata_file, text) ||
	    make_pairs(stream, text) || check_ones(stream, text)) {
		snprintf(why, size, "%s", text);
		return -1;
	}
	stream->report = report_new(stream->options, stream->groups.size,
				    test->stream[0].report, why, size);
	if (!stream->report)
		return -1;
	if (test->command.nr > 1)
		report_name_stream(stream->report, i);
	return 0;
}

static int prepare(struct test *test, char *why, size_t size)
{
	unsigned int i;

	count_operations(test);
	for (i = 0; i < test->command.nr; i++)
		if (prepare_stream(test, i, why, size))
			return -1;
	return 0;
}

static struct ranks_op op_of(const struct stream *stream)
{
	const struct options *options = stream->options;

	return (struct ranks_op){
		.operation = options->operation,
		.reduction = options->reduction,
		.type = options->type,
		.groups = &stream->groups,
		.metadata = &stream->metadata,
		.pairs = &stream->pairs,
		.ratio = &options->ratio,
		.sbuf = options->sbuf,
		.below = options->cc_dim != 0,
		.ops = options->ops,
		.kind = options->kind,
		.seed = options->seed,
	};
}

static int run(struct test *test)
{
	const struct options *options = &test->command.options;
	struct ranks_op op[NEFF_NR_STREAMS];
	const struct ranks_of of = {
		.op = op,
		.nr_ops = test->command.nr,
		.nr = options->ranks,
		.shared = options->shared,
		.pinned = options->pinned,
		.modelled = options->modelled,
		.interrupted = &interrupted,
		.progress = show_progress,
		.arg = test,
	};
	char why[RANKS_WHY];
	enum ranks_end end;
	unsigned int i;
	int status;

	for (i = 0; i < of.nr_ops; i++)
		op[i] = op_of(&test->stream[i]);
	end = ranks_new(&of, &test->ranks, why);
	if (end)
		return end == RANKS_FAILED ? complain(why) : EXIT_TEST_FAILED;
	/* Until here a signal ends the process: ranks may wait long for each other to come. */
	catch_signals();
	status = test_sizes(test);
	/* What libnrt still does for the ranks ends with the process; nobody has to hear of it. */
	if (!interrupted)
		ranks_free(test->ranks);
	return status;
}

static void free_streams(struct test *test)
{
	unsigned int i;

	for (i = 0; i < test->command.nr; i++) {
		report_free(test->stream[i].report);
		pairs_fini(&test->stream[i].pairs);
		metadata_fini(&test->stream[i].metadata);
		groups_fini(&test->stream[i].groups);
	}
}

int main(int argc, char **argv)
{
	static struct test test;
	char why[512];
	int status;

	output_check_at_exit();
	process_raise_files();
	command_parse(&test.command, argc, argv);
	if (test.command.options.debug)
		setenv("NEURON_RT_LOG_LEVEL", "DEBUG", 1);
	if (prepare(&test, why, sizeof(why))) {
		complain(why);
		status = EXIT_BAD_OPTION;
	} else {
		status = run(&test);
	}
	free_streams(&test);
	command_fini(&test.command);
	free(test.times.wall);
	free(test.times.device);
	if (interrupted) {
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return status;
}
