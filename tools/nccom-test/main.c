// SPDX-License-Identifier: MIT
/* nccom-test: runs collectives on the chips, compares their results, and measures. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nrt/nrt.h>

#include "groups.h"
#include "neuron/generation.h"
#include "options.h"
#include "output.h"
#include "process.h"
#include "ranks.h"
#include "report.h"

/* Set by a signal: everything ends. */
static atomic_int interrupted;

/**
 * struct test - all that is done
 * @options: the command line
 * @groups: of the ranks
 * @metadata: of an operation that varies
 * @pairs: of a permutation
 * @ranks: which work
 * @report: what is printed
 * @size: the size under way
 * @times: room for its times
 * @failed: sizes without a result
 */
struct test {
	struct options options;
	struct groups groups;
	struct metadata metadata;
	struct pairs pairs;
	struct ranks *ranks;
	struct report *report;
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
		report_progress(test->report, &test->size.shape, done,
				operations_of(&test->size));
}

/* Operations of each size. With --neff_iters -n and -w are those of one run. */
static void count_operations(struct test *test)
{
	const struct options *options = &test->options;
	unsigned int run = options->iters + options->warmup;

	test->size.run_iters = options->iters;
	test->size.runs = options->runs ?: 1;
	test->size.run_warmup = options->runs ? options->warmup : 0;
	test->size.warmup = options->runs ? options->warmup_runs * run : options->warmup;
}

/* Returns false when no other size can follow. */
static bool test_size(struct test *test, uint64_t size)
{
	const struct options *options = &test->options;
	const struct ranks_size *now = &test->size;
	const struct shape *shape = &now->shape;
	char why[RANKS_WHY] = "";
	enum ranks_end end;

	test->size.shape = shape_of(options->operation, options->type, test->groups.size, size);
	if (ranks_plan(test->ranks, shape, why)) {
		report_failure(test->report, shape, why);
		test->failed++;
		return true;
	}
	end = ranks_run(test->ranks, now, &test->times, why);
	report_progress(test->report, shape, 0, 0);
	if (end == RANKS_OK) {
		if (!report_row(test->report, shape, ranks_algorithm(test->ranks), &test->times,
				(size_t)now->runs * now->run_iters))
			return true;
		complain("out of memory");
		test->failed++;
		return false;
	}
	if (end == RANKS_INTERRUPTED)
		return false;
	report_failure(test->report, shape, end == RANKS_WRONG ? "wrong result" : "failure");
	complain(why);
	test->failed++;
	return end == RANKS_WRONG;
}

/* Documented GB/s of a link of the chips, each way, in the unit of the table; 0: not known. */
static double link_bandwidth(void)
{
	const struct neuron_gen *gens[] = { &neuron_gen_trn1, &neuron_gen_trn2, &neuron_gen_trn3 };
	nrt_instance_info_t info = { 0 };
	unsigned int i;

	if (nrt_get_instance_info(&info, sizeof(info)))
		return 0;
	for (i = 0; i < sizeof(gens) / sizeof(gens[0]); i++)
		if (!strcmp(gens[i]->core_arch, info.arch_name))
			return gens[i]->link_mbps * 1e6 / (1u << 30);
	return 0;
}

static int take_times(struct test *test)
{
	size_t nr = (size_t)test->size.runs * test->size.run_iters;

	test->times.wall = calloc(nr, sizeof(*test->times.wall));
	if (test->options.modelled)
		test->times.device = calloc(nr, sizeof(*test->times.device));
	return test->times.wall && (test->times.device || !test->options.modelled) ? 0 : -1;
}

static int test_sizes(struct test *test)
{
	const struct options *options = &test->options;
	uint64_t size = options->min;
	char why[512];

	count_operations(test);
	if (take_times(test))
		return complain("out of memory");
	report_link(test->report, link_bandwidth());
	report_head(test->report);
	while (size && test_size(test, size))
		size = options_next_size(options, size);
	if (interrupted)
		return EXIT_TEST_FAILED;
	if (report_end(test->report, test->failed, why, sizeof(why)))
		return complain(why);
	return test->failed ? EXIT_TEST_FAILED : EXIT_SUCCESS;
}

/* --- All of it --- */

static int make_groups(struct test *test, char why[FILE_WHY])
{
	const struct options *options = &test->options;

	if (options->groups_file)
		return groups_read(&test->groups, options->ranks, options->groups_file, why);
	if (options->parallel)
		return groups_parallel(&test->groups, options->ranks, options->parallel, why);
	return groups_all(&test->groups, options->ranks, why);
}

static int make_pairs(struct test *test, char why[FILE_WHY])
{
	const struct options *options = &test->options;

	if (options->pairs_file)
		return pairs_read(&test->pairs, options->ranks, options->pairs_file, why);
	if (options->operation->plan_op == NRT_PLAN_PERMUTE)
		return pairs_ring(&test->pairs, test->groups.size, why);
	return 0;
}

static int prepare(struct test *test, char *why, size_t size)
{
	const struct options *options = &test->options;
	char text[FILE_WHY];

	if (make_groups(test, text) ||
	    metadata_read(&test->metadata, options->operation, test->groups.size,
			  options->metadata_file, text) ||
	    make_pairs(test, text)) {
		snprintf(why, size, "%s", text);
		return -1;
	}
	if (options->kind == VALUES_ONES &&
	    !values_ones_fit(options->operation, options->reduction, options->type,
			     test->groups.size)) {
		snprintf(why, size, "--check=all_ones: %s cannot count %u ranks exactly",
			 options->type->name, test->groups.size);
		return -1;
	}
	test->report = report_new(options, test->groups.size, why, size);
	return test->report ? 0 : -1;
}

static int run(struct test *test)
{
	const struct options *options = &test->options;
	const struct ranks_of of = {
		.operation = options->operation,
		.reduction = options->reduction,
		.type = options->type,
		.nr = options->ranks,
		.groups = &test->groups,
		.metadata = &test->metadata,
		.pairs = &test->pairs,
		.ratio = &options->ratio,
		.kind = options->kind,
		.seed = options->seed,
		.modelled = options->modelled,
		.interrupted = &interrupted,
		.progress = show_progress,
		.arg = test,
	};
	char why[RANKS_WHY];
	enum ranks_end end;
	int status;

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

int main(int argc, char **argv)
{
	static struct test test;
	char why[512];
	int status;

	output_check_at_exit();
	process_raise_files();
	options_parse(&test.options, argc, argv);
	if (test.options.debug)
		setenv("NEURON_RT_LOG_LEVEL", "DEBUG", 1);
	if (prepare(&test, why, sizeof(why))) {
		complain(why);
		status = EXIT_BAD_OPTION;
	} else {
		status = run(&test);
	}
	report_free(test.report);
	pairs_fini(&test.pairs);
	metadata_fini(&test.metadata);
	groups_fini(&test.groups);
	free(test.times.wall);
	free(test.times.device);
	if (interrupted) {
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return status;
}
