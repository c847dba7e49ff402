// SPDX-License-Identifier: MIT
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "options.h"

/* So that sums of several do not overflow. */
#define MAX_BYTES	(UINT64_C(1) << 40)
#define MAX_ITERS	1000000u
#define ONE_SERVER	"not possible: all ranks are on one server"
#define NO_NEFF		"not possible yet: needs another NEFF than the tool makes"

#define OPERATIONS \
	"all_reduce (allr), all_gather (allg), reduce_scatter (redsct), alltoall, permute, sendrecv, all_gatherv (allgv), alltoallv, reduce_scatterv (redsctv)"
#define TYPES	"uint8, int8, fp8, uint16, int16, fp16, bf16, uint32, int32, fp32"

enum {
	OPTION_CC_DIM = 256,
	OPTION_COALESCED,
	OPTION_COLLECTOR_HOST,
	OPTION_COLLECTOR_PORT,
	OPTION_COMPLETION,
	OPTION_DEBUG,
	OPTION_GROUPS,
	OPTION_HOSTS_FILE,
	OPTION_INPUT_SHAPE,
	OPTION_JSON,
	OPTION_METADATA,
	OPTION_MODELLED,
	OPTION_MPI_LOG,
	OPTION_NON_INTERACTIVE,
	OPTION_OUTPUT_SHAPE,
	OPTION_PAIRS,
	OPTION_PARALLEL,
	OPTION_PIN,
	OPTION_SBUF,
	OPTION_SEED,
	OPTION_SHARED_OUTPUT,
	OPTION_SHOW_ALGORITHM,
	OPTION_SHOW_SIZES,
	OPTION_SLURM_HEAD,
	OPTION_SLURM_JOB,
	OPTION_SLURM_SETUP,
	OPTION_STREAMS,
	OPTION_UNIQUE,
};

/* The groups of the summary. What is in the last one is refused, and its text says why. */
enum { RUNS = 1, REFUSED };

static const struct argp_option table[] = {
	{ "check", 'c', "KIND", OPTION_ARG_OPTIONAL,
	  "numbers of the inputs: random or all_ones; results are always compared", RUNS },
	{ "coalesced-cc-size-ratio", OPTION_COALESCED, "LIST", 0,
	  "an operation has several tensors, whose sizes have such a ratio, as in [1,2,1]", RUNS },
	{ "completion", OPTION_COMPLETION, NULL, OPTION_HIDDEN, "write a script for bash", RUNS },
	{ "custom-replica-groups", OPTION_GROUPS, "FILE", 0, "JSON file with groups of ranks",
	  RUNS },
	{ "custom-src-target-pairs", OPTION_PAIRS, "FILE", 0,
	  "JSON file with who sends to whom in a permute or sendrecv", RUNS },
	{ "data-parallel-dimension", OPTION_PARALLEL, "N", 0,
	  "groups of N ranks each, side by side", RUNS },
	{ "datatype", 'd', "TYPE", 0,
	  "uint8 (without it), int8, fp8, uint16, int16, fp16, bf16, uint32, int32 or fp32", RUNS },
	{ "debug", OPTION_DEBUG, NULL, 0, "show the log of libnrt; implies --non-interactive",
	  RUNS },
	{ "iters", 'n', "N", 0, "operations that are measured (20)", RUNS },
	{ "maxbytes", 'e', "SIZE", 0, "the largest size (32M)", RUNS },
	{ "minbytes", 'b', "SIZE", 0, "the smallest size (32M)", RUNS },
	{ "modelled", OPTION_MODELLED, NULL, 0,
	  "columns of device time, beside the bandwidth of a link; of this project", RUNS },
	{ "neff_iters", 'I', "N", 0, "repeat -w and -n operations N times", RUNS },
	{ "neff_warmup_iters", 'W', "N", 0, "before that N times without measuring", RUNS },
	{ "nnodes", 'N', "N", 0, "servers; there can be one", RUNS },
	{ "non-interactive", OPTION_NON_INTERACTIVE, NULL, 0, "do not show progress", RUNS },
	{ "nworkers", 'r', "N", 0, "ranks", RUNS },
	{ "op", 'o', "OP", 0, "reduction: add (without it), min or max; of this project", RUNS },
	{ "report-to-json-file", OPTION_JSON, "FILE", 0, "write the results as JSON", RUNS },
	{ "seed", OPTION_SEED, "N", 0, "of the random numbers of the inputs", RUNS },
	{ "show-algorithm", OPTION_SHOW_ALGORITHM, NULL, 0, "a column with the algorithm", RUNS },
	{ "show-input-output-size", OPTION_SHOW_SIZES, NULL, 0,
	  "columns with bytes of a rank's input and output", RUNS },
	{ "stats", 't', "STAT...", 0, "columns of times: avg (without it), p50 and so on", RUNS },
	{ "stepbytes", 'i', "SIZE", 0, "from one size to the next (a tenth of the range)", RUNS },
	{ "stepfactor", 'f', "N", 0, "the next size is N times this one", RUNS },
	{ "variable-size-op-metadata", OPTION_METADATA, "FILE", 0,
	  "JSON file with counts and displacements of all_gatherv, alltoallv or reduce_scatterv",
	  RUNS },
	{ "warmup_iters", 'w', "N", 0, "operations before those that are measured (5)", RUNS },

	{ "cc-dim", OPTION_CC_DIM, "N", 0, NO_NEFF, REFUSED },
	{ "data-collector-host", OPTION_COLLECTOR_HOST, "HOST", 0, ONE_SERVER, REFUSED },
	{ "data-collector-port", OPTION_COLLECTOR_PORT, "N", 0, ONE_SERVER, REFUSED },
	{ "hosts", 's', "HOST...", 0, ONE_SERVER, REFUSED },
	{ "hosts-file", OPTION_HOSTS_FILE, "FILE", 0, ONE_SERVER, REFUSED },
	{ "input-shape", OPTION_INPUT_SHAPE, "SHAPE", 0, NO_NEFF, REFUSED },
	{ "mpi-log-dir", OPTION_MPI_LOG, "DIR", 0, ONE_SERVER, REFUSED },
	{ "output-shape", OPTION_OUTPUT_SHAPE, "SHAPE", 0, NO_NEFF, REFUSED },
	{ "sb2sb", OPTION_SBUF, NULL, 0, NO_NEFF, REFUSED },
	{ "shared-output-buff", OPTION_SHARED_OUTPUT, NULL, 0,
	  "not possible yet: each rank has an output of its own", REFUSED },
	{ "slurm-job-id", OPTION_SLURM_JOB, "ID", 0, ONE_SERVER, REFUSED },
	{ "slurm-mode", 'S', NULL, 0, ONE_SERVER, REFUSED },
	{ "slurm-setup-script", OPTION_SLURM_SETUP, "FILE", 0, ONE_SERVER, REFUSED },
	{ "slurm-use-head-node-neuron-bench", OPTION_SLURM_HEAD, NULL, 0, ONE_SERVER, REFUSED },
	{ "slurm-vcpus-per-node", 'u', "N", 0, ONE_SERVER, REFUSED },
	{ "streams-json", OPTION_STREAMS, "FILE", 0, NO_NEFF, REFUSED },
	{ "unique-buff", OPTION_UNIQUE, NULL, 0,
	  "not possible yet: all operations of a size use the same tensors", REFUSED },
	{ "vcpu-pin-mode", OPTION_PIN, NULL, 0,
	  "not possible yet: the threads of the ranks run on any processor", REFUSED },
	{ 0 }
};

#define SUMMARY	"Runs collectives on the chips, compares the results, and measures."

static const char doc[] =
	SUMMARY
	"\vOPERATION is one of " OPERATIONS
	". The last one is of this project. A SIZE may end in kb, MB or GB, which are powers of 1024.\n\n"
	"Example:\n"
	"  nccom-test -r 2 allr\n"
	"  nccom-test -r 8 -b 1kb -e 1mb -f 8 -d fp32 --stats avg p50 p99 -- allg\n\n"
	"Exit status:\n"
	"  1  a result is wrong, or a test could not be done\n"
	"  2  a mistake on the command line, a file that cannot be used, or what is refused";

/**
 * struct parsing - between two arguments
 * @options: what is filled
 * @list: key of the option whose words may follow, or 0
 * @has_max: --maxbytes was given
 */
struct parsing {
	struct options *options;
	int list;
	bool has_max;
};

static const struct argp_option *option_of(int key)
{
	const struct argp_option *option = table;

	while (option->name && option->key != key)
		option++;
	return option->name ? option : NULL;
}

static uint64_t parse_number(const char *text, uint64_t least, uint64_t most, int key,
			     struct argp_state *state)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || number < least || number > most)
		argp_error(state, "--%s is a number from %llu to %llu, not \"%s\"",
			   option_of(key)->name, (unsigned long long)least,
			   (unsigned long long)most, text);
	return number;
}

/* "8", "32M", "1kb", "1GB", "4KiB". */
static uint64_t parse_size(const char *text, int key, struct argp_state *state)
{
	static const char units[] = "kmgt";
	unsigned long long number;
	unsigned int shift = 0;
	const char *unit;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || !number)
		goto bad;
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
		if ((*end | 0x20) == 'i')
			end++;
	}
	if ((*end | 0x20) == 'b')
		end++;
	if (!*end && number <= MAX_BYTES >> shift)
		return number << shift;
bad:
	argp_error(state, "--%s is a size such as 8, 1kb, 32M or 1GB, at most 1024GB, not \"%s\"",
		   option_of(key)->name, text);
	return 0;
}

/* "[1,2,1]". */
static void parse_ratio(struct ratio *ratio, const char *text, struct argp_state *state)
{
	const char *at = text;
	unsigned int share;
	int length;

	*ratio = (struct ratio){ 0 };
	if (*at == '[')
		at++;
	while (ratio->nr < NEFF_MAX_PARTS && *at >= '1' && *at <= '9' &&
	       sscanf(at, "%6u%n", &share, &length) == 1) {
		ratio->share[ratio->nr++] = share;
		ratio->all += share;
		at += length;
		if (*at != ',')
			break;
		at++;
	}
	if (!ratio->nr || at[-1] == ',' || strcmp(at, *text == '[' ? "]" : ""))
		argp_error(state,
			   "--coalesced-cc-size-ratio is a list of 1 to %d numbers from 1 to 999999, such as [1,2,1], not \"%s\"",
			   NEFF_MAX_PARTS, text);
}

/* --- Words that may be several --- */

static bool take_stat(struct parsing *parsing, const char *text, struct argp_state *state)
{
	struct options *options = parsing->options;
	struct statistic *stat = &options->stat[options->nr_stats];
	unsigned int percent;
	char end;

	if (!strcmp(text, "avg"))
		stat->percent = -1;
	else if (sscanf(text, "p%3u%c", &percent, &end) == 1 && percent <= 100 && text[1] != '+')
		stat->percent = (int)percent;
	else
		return false;
	if (++options->nr_stats == MAX_STATS)
		argp_error(state, "--stats has at most %d words", MAX_STATS - 1);
	if (stat->percent < 0)
		strcpy(stat->name, "avg");
	else
		snprintf(stat->name, sizeof(stat->name), "p%u", percent);
	return true;
}

static bool take_kind(struct parsing *parsing, const char *text)
{
	if (!strcmp(text, "all_ones"))
		parsing->options->kind = VALUES_ONES;
	else if (!strcmp(text, "random"))
		parsing->options->kind = VALUES_RANDOM;
	else
		return false;
	return true;
}

/* Does @text belong to the option before it? */
static bool take_word(struct parsing *parsing, const char *text, struct argp_state *state)
{
	if (parsing->list == 't')
		return take_stat(parsing, text, state);
	if (parsing->list == 'c') {
		parsing->list = 0;
		return take_kind(parsing, text);
	}
	return false;
}

/* --- Options --- */

static void refuse(int key, struct argp_state *state)
{
	argp_error(state, "--%s: %s", option_of(key)->name, option_of(key)->doc);
}

static void parse_operation(struct options *options, const char *text, struct argp_state *state)
{
	if (options->operation)
		argp_error(state, "\"%s\": there is an operation already, %s", text,
			   options->operation->name);
	options->operation = operation_find(text);
	if (!options->operation)
		argp_error(state, "there is no operation \"%s\"; there are " OPERATIONS, text);
}

static void finish(struct parsing *parsing, struct argp_state *state)
{
	struct options *options = parsing->options;
	uint64_t run = (uint64_t)options->iters + options->warmup;

	if (!options->operation)
		argp_error(state, "an operation is missing, for instance all_reduce");
	if (!options->ranks)
		argp_error(state, "--nworkers is missing");
	if (!parsing->has_max && options->min > options->max)
		options->max = options->min;
	if (options->min > options->max)
		argp_error(state, "--minbytes is %llu, more than --maxbytes, which is %llu",
			   (unsigned long long)options->min, (unsigned long long)options->max);
	if (options->step && options->factor)
		argp_error(state, "--stepbytes and --stepfactor exclude each other");
	if (options->groups_file && options->parallel)
		argp_error(state,
			   "--custom-replica-groups and --data-parallel-dimension exclude each other");
	if (options->metadata_file && !options->operation->varies)
		argp_error(state, "--variable-size-op-metadata: %s has no metadata",
			   options->operation->name);
	if (options->ratio.nr && options->operation->varies)
		argp_error(state, "--coalesced-cc-size-ratio: %s has one tensor",
			   options->operation->name);
	if (options->pairs_file && options->operation->plan_op != NRT_PLAN_PERMUTE)
		argp_error(state, "--custom-src-target-pairs: %s has no pairs",
			   options->operation->name);
	if (options->pairs_file && (options->groups_file || options->parallel))
		argp_error(state, "--custom-src-target-pairs and --%s exclude each other",
			   option_of(options->parallel ? OPTION_PARALLEL : OPTION_GROUPS)->name);
	if (run * (options->runs ?: 1) > MAX_ITERS || run * options->warmup_runs > MAX_ITERS)
		argp_error(state, "at most %u operations of a size, with those of --warmup_iters",
			   MAX_ITERS);
	if (!options->nr_stats)
		take_stat(parsing, "avg", state);
	if (!options->step && !options->factor)
		options->step = (options->max - options->min) / 10 ?: 1;
}

static error_t parse_size_option(struct parsing *parsing, int key, const char *arg,
				 struct argp_state *state)
{
	struct options *options = parsing->options;

	switch (key) {
	case 'b':
		options->min = parse_size(arg, key, state);
		return 0;
	case 'e':
		options->max = parse_size(arg, key, state);
		parsing->has_max = true;
		return 0;
	case 'i':
		options->step = parse_size(arg, key, state);
		return 0;
	case 'f':
		options->factor = (unsigned int)parse_number(arg, 2, UINT32_MAX, key, state);
		return 0;
	case 'n':
		options->iters = (unsigned int)parse_number(arg, 1, MAX_ITERS, key, state);
		return 0;
	case 'w':
		options->warmup = (unsigned int)parse_number(arg, 0, MAX_ITERS, key, state);
		return 0;
	case 'I':
		options->runs = (unsigned int)parse_number(arg, 1, MAX_ITERS, key, state);
		return 0;
	case 'W':
		options->warmup_runs = (unsigned int)parse_number(arg, 0, 1000, key, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_what_option(struct parsing *parsing, int key, char *arg,
				 struct argp_state *state)
{
	struct options *options = parsing->options;

	switch (key) {
	case 'd':
		options->type = type_find(arg);
		if (!options->type)
			argp_error(state, "there is no data type \"%s\"; there are " TYPES, arg);
		return 0;
	case 'o':
		options->reduction = reduction_find(arg);
		if (!options->reduction)
			argp_error(state, "--op is add, min or max, not \"%s\"", arg);
		return 0;
	case 'r':
		options->ranks = (unsigned int)parse_number(arg, 1, MAX_RANKS, key, state);
		return 0;
	case 'N':
		if (parse_number(arg, 1, MAX_RANKS, key, state) > 1)
			argp_error(state, "--nnodes: %s", ONE_SERVER);
		return 0;
	case 'c':
		options->kind = VALUES_RANDOM;
		if (arg && !take_kind(parsing, arg))
			argp_error(state, "--check is random or all_ones, not \"%s\"", arg);
		parsing->list = arg ? 0 : 'c';
		return 0;
	case OPTION_SEED:
		options->seed = parse_number(arg, 0, UINT64_MAX, key, state);
		return 0;
	case OPTION_COALESCED:
		parse_ratio(&options->ratio, arg, state);
		return 0;
	case OPTION_METADATA:
		options->metadata_file = arg;
		return 0;
	case OPTION_PAIRS:
		options->pairs_file = arg;
		return 0;
	case OPTION_GROUPS:
		options->groups_file = arg;
		return 0;
	case OPTION_PARALLEL:
		options->parallel = (unsigned int)parse_number(arg, 1, MAX_RANKS, key, state);
		return 0;
	default:
		return parse_size_option(parsing, key, arg, state);
	}
}

static error_t parse_option(struct parsing *parsing, int key, char *arg, struct argp_state *state)
{
	struct options *options = parsing->options;

	switch (key) {
	case OPTION_COMPLETION:
		completion_print(stdout, "nccom-test", table);
		exit(EXIT_SUCCESS);
	case OPTION_JSON:
		options->json = arg;
		return 0;
	case OPTION_DEBUG:
		options->debug = true;
		options->quiet = true;
		return 0;
	case OPTION_MODELLED:
		options->modelled = true;
		return 0;
	case OPTION_NON_INTERACTIVE:
		options->quiet = true;
		return 0;
	case OPTION_SHOW_ALGORITHM:
		options->show_algorithm = true;
		return 0;
	case OPTION_SHOW_SIZES:
		options->show_sizes = true;
		return 0;
	case 't':
		options->nr_stats = 0;
		if (!take_stat(parsing, arg, state))
			argp_error(state, "--stats is avg, or p0 to p100, not \"%s\"", arg);
		parsing->list = 't';
		return 0;
	default:
		return parse_what_option(parsing, key, arg, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	const struct argp_option *option = option_of(key);

	if (key == ARGP_KEY_ARG) {
		if (take_word(parsing, arg, state))
			return 0;
		parsing->list = 0;
		parse_operation(parsing->options, arg, state);
		return 0;
	}
	if (key == ARGP_KEY_END) {
		finish(parsing, state);
		return 0;
	}
	if (!option)
		return ARGP_ERR_UNKNOWN;
	parsing->list = 0;
	if (option->group == REFUSED)
		refuse(key, state);
	return parse_option(parsing, key, arg, state);
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = table, .parser = parse, .args_doc = "OPERATION", .doc = doc,
	};
	struct parsing parsing = { .options = options };

	*options = (struct options){
		.type = type_find("uint8"), .reduction = reduction_find("add"),
		.kind = VALUES_EXACT, .min = 32u << 20, .max = 32u << 20, .iters = 20, .warmup = 5,
	};
	argp_err_exit_status = EXIT_BAD_OPTION;
	argp_program_version = "nccom-test " NCCOM_VERSION;
	/* In order, because some options have several words. */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parsing);
}

uint64_t options_next_size(const struct options *options, uint64_t size)
{
	uint64_t next;

	if (!options->factor)
		next = size + options->step;
	else if (__builtin_mul_overflow(size, options->factor, &next))
		return 0;
	return next <= options->max ? next : 0;
}
