// SPDX-License-Identifier: MIT
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "file.h"
#include "options.h"

/* So that sums of several do not overflow. */
#define MAX_BYTES	(UINT64_C(1) << 40)
#define MAX_ITERS	1000000u
#define ONE_SERVER	"not possible: all ranks are on one server"
#define NO_SHAPE	"not possible yet: the tool places the tile of each size by itself"

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

/*
 * The groups of the summary: those of an operation, which a stream may have, those of all of them,
 * and those that are refused, whose text says why.
 */
enum { OPERATION = 1, RUNS, REFUSED };

static const struct argp_option table[] = {
	{ "cc-dim", OPTION_CC_DIM, "N", 0,
	  "with --sb2sb: blocks lie beside each other (0), or below each other (1, without it)",
	  OPERATION },
	{ "check", 'c', "KIND", OPTION_ARG_OPTIONAL,
	  "numbers of the inputs: random or all_ones; results are always compared", OPERATION },
	{ "coalesced-cc-size-ratio", OPTION_COALESCED, "LIST", 0,
	  "an operation has several tensors, whose sizes have such a ratio, as in [1,2,1]",
	  OPERATION },
	{ "custom-replica-groups", OPTION_GROUPS, "FILE", 0, "JSON file with groups of ranks",
	  OPERATION },
	{ "custom-src-target-pairs", OPTION_PAIRS, "FILE", 0,
	  "JSON file with who sends to whom in a permute or sendrecv", OPERATION },
	{ "data-parallel-dimension", OPTION_PARALLEL, "N", 0,
	  "groups of N ranks each, side by side", OPERATION },
	{ "datatype", 'd', "TYPE", 0,
	  "uint8 (without it), int8, fp8, uint16, int16, fp16, bf16, uint32, int32 or fp32",
	  OPERATION },
	{ "maxbytes", 'e', "SIZE", 0, "the largest size (32M)", OPERATION },
	{ "minbytes", 'b', "SIZE", 0, "the smallest size (32M)", OPERATION },
	{ "op", 'o', "OP", 0, "reduction: add (without it), min or max; of this project",
	  OPERATION },
	{ "sb2sb", OPTION_SBUF, NULL, 0, "the operation works in SBUF", OPERATION },
	{ "seed", OPTION_SEED, "N", 0, "of the random numbers of the inputs", OPERATION },
	{ "stepbytes", 'i', "SIZE", 0, "from one size to the next (a tenth of the range)",
	  OPERATION },
	{ "stepfactor", 'f', "N", 0, "the next size is N times this one", OPERATION },
	{ "variable-size-op-metadata", OPTION_METADATA, "FILE", 0,
	  "JSON file with counts and displacements of all_gatherv, alltoallv or reduce_scatterv",
	  OPERATION },

	{ "completion", OPTION_COMPLETION, NULL, OPTION_HIDDEN, "write a script for bash", RUNS },
	{ "debug", OPTION_DEBUG, NULL, 0, "show the log of libnrt; implies --non-interactive",
	  RUNS },
	{ "iters", 'n', "N", 0, "operations that are measured (20)", RUNS },
	{ "modelled", OPTION_MODELLED, NULL, 0,
	  "columns of device time, beside the bandwidth of a link; of this project", RUNS },
	{ "neff_iters", 'I', "N", 0, "repeat -w and -n operations N times", RUNS },
	{ "neff_warmup_iters", 'W', "N", 0, "before that N times without measuring", RUNS },
	{ "nnodes", 'N', "N", 0, "servers; there can be one", RUNS },
	{ "non-interactive", OPTION_NON_INTERACTIVE, NULL, 0, "do not show progress", RUNS },
	{ "nworkers", 'r', "N", 0, "ranks", RUNS },
	{ "report-to-json-file", OPTION_JSON, "FILE", 0, "write the results as JSON", RUNS },
	{ "shared-output-buff", OPTION_SHARED_OUTPUT, NULL, 0,
	  "two ranks whose cores have the same HBM write one output", RUNS },
	{ "show-algorithm", OPTION_SHOW_ALGORITHM, NULL, 0, "a column with the algorithm", RUNS },
	{ "show-input-output-size", OPTION_SHOW_SIZES, NULL, 0,
	  "columns with bytes of a rank's input and output", RUNS },
	{ "stats", 't', "STAT...", 0, "columns of times: avg (without it), p50 and so on", RUNS },
	{ "streams-json", OPTION_STREAMS, "FILE", 0,
	  "JSON file with operations that run beside each other, one on each stream", RUNS },
	{ "unique-buff", OPTION_UNIQUE, NULL, 0,
	  "each operation has an input and an output of its own", RUNS },
	{ "vcpu-pin-mode", OPTION_PIN, NULL, 0, "each rank's thread stays on one processor", RUNS },
	{ "warmup_iters", 'w', "N", 0, "operations before those that are measured (5)", RUNS },

	{ "data-collector-host", OPTION_COLLECTOR_HOST, "HOST", 0, ONE_SERVER, REFUSED },
	{ "data-collector-port", OPTION_COLLECTOR_PORT, "N", 0, ONE_SERVER, REFUSED },
	{ "hosts", 's', "HOST...", 0, ONE_SERVER, REFUSED },
	{ "hosts-file", OPTION_HOSTS_FILE, "FILE", 0, ONE_SERVER, REFUSED },
	{ "input-shape", OPTION_INPUT_SHAPE, "SHAPE", 0, NO_SHAPE, REFUSED },
	{ "mpi-log-dir", OPTION_MPI_LOG, "DIR", 0, ONE_SERVER, REFUSED },
	{ "output-shape", OPTION_OUTPUT_SHAPE, "SHAPE", 0, NO_SHAPE, REFUSED },
	{ "slurm-job-id", OPTION_SLURM_JOB, "ID", 0, ONE_SERVER, REFUSED },
	{ "slurm-mode", 'S', NULL, 0, ONE_SERVER, REFUSED },
	{ "slurm-setup-script", OPTION_SLURM_SETUP, "FILE", 0, ONE_SERVER, REFUSED },
	{ "slurm-use-head-node-neuron-bench", OPTION_SLURM_HEAD, NULL, 0, ONE_SERVER, REFUSED },
	{ "slurm-vcpus-per-node", 'u', "N", 0, ONE_SERVER, REFUSED },
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
 * @command: of them
 * @where: what messages begin with, of a stream; or ""
 * @list: key of the option whose words may follow, or 0
 * @has_max: --maxbytes was given
 */
struct parsing {
	struct options *options;
	struct command *command;
	char where[FILE_WHY];
	int list;
	bool has_max;
};

/* One line, and the end. */
__attribute__((format(printf, 2, 3)))
static void mistake(struct argp_state *state, const char *format, ...)
{
	const struct parsing *parsing = state->input;
	char text[2 * FILE_WHY];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	argp_error(state, "%s%s", parsing->where, text);
}

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
		mistake(state, "--%s is a number from %llu to %llu, not \"%s\"",
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
	mistake(state, "--%s is a size such as 8, 1kb, 32M or 1GB, at most 1024GB, not \"%s\"",
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
		mistake(state,
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
		mistake(state, "--stats has at most %d words", MAX_STATS - 1);
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
	mistake(state, "--%s: %s", option_of(key)->name, option_of(key)->doc);
}

static void parse_operation(struct options *options, const char *text, struct argp_state *state)
{
	if (options->operation)
		mistake(state, "\"%s\": there is an operation already, %s", text,
			options->operation->name);
	options->operation = operation_find(text);
	if (!options->operation)
		mistake(state, "there is no operation \"%s\"; there are " OPERATIONS, text);
}

/* What the options of an operation say together. */
static void finish_operation(struct parsing *parsing, struct argp_state *state)
{
	struct options *options = parsing->options;

	if (!options->operation)
		mistake(state, "an operation is missing, for instance all_reduce");
	if (!parsing->has_max && options->min > options->max)
		options->max = options->min;
	if (options->min > options->max)
		mistake(state, "--minbytes is %llu, more than --maxbytes, which is %llu",
			(unsigned long long)options->min, (unsigned long long)options->max);
	if (options->step && options->factor)
		mistake(state, "--stepbytes and --stepfactor exclude each other");
	if (options->groups_file && options->parallel)
		mistake(state,
			"--custom-replica-groups and --data-parallel-dimension exclude each other");
	if (options->metadata_file && !options->operation->varies)
		mistake(state, "--variable-size-op-metadata: %s has no metadata",
			options->operation->name);
	if (options->ratio.nr && options->operation->varies)
		mistake(state, "--coalesced-cc-size-ratio: %s has one tensor",
			options->operation->name);
	if (options->pairs_file && options->operation->plan_op != NRT_PLAN_PERMUTE)
		mistake(state, "--custom-src-target-pairs: %s has no pairs",
			options->operation->name);
	if (options->pairs_file && (options->groups_file || options->parallel))
		mistake(state, "--custom-src-target-pairs and --%s exclude each other",
			option_of(options->parallel ? OPTION_PARALLEL : OPTION_GROUPS)->name);
	if (!options->step && !options->factor)
		options->step = (options->max - options->min) / 10 ?: 1;
}

/* Where its tensors lie. */
static void finish_places(const struct options *options, struct argp_state *state)
{
	const struct operation *operation = options->operation;

	if (options->sbuf && !operation->in_sbuf)
		mistake(state, "--sb2sb: %s works in HBM only", operation->name);
	if (options->sbuf && options->ratio.nr)
		mistake(state, "--sb2sb and --coalesced-cc-size-ratio exclude each other");
	if (options->cc_dim != CC_DIM_NONE && !options->sbuf)
		mistake(state, "--cc-dim is for --sb2sb");
	if (options->shared && !operation->same)
		mistake(state, "--shared-output-buff: each rank of %s has another result",
			operation->name);
}

/* What the command line says of all operations. */
static void finish_run(struct parsing *parsing, struct argp_state *state)
{
	struct options *options = parsing->options;
	uint64_t run = (uint64_t)options->iters + options->warmup;

	if (!options->ranks)
		mistake(state, "--nworkers is missing");
	if (run * (options->runs ?: 1) > MAX_ITERS || run * options->warmup_runs > MAX_ITERS)
		mistake(state, "at most %u operations of a size, with those of --warmup_iters",
			MAX_ITERS);
	if (!options->nr_stats)
		take_stat(parsing, "avg", state);
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
			mistake(state, "there is no data type \"%s\"; there are " TYPES, arg);
		return 0;
	case 'o':
		options->reduction = reduction_find(arg);
		if (!options->reduction)
			mistake(state, "--op is add, min or max, not \"%s\"", arg);
		return 0;
	case 'c':
		options->kind = VALUES_RANDOM;
		if (arg && !take_kind(parsing, arg))
			mistake(state, "--check is random or all_ones, not \"%s\"", arg);
		parsing->list = arg ? 0 : 'c';
		return 0;
	case OPTION_SEED:
		options->seed = parse_number(arg, 0, UINT64_MAX, key, state);
		return 0;
	case OPTION_SBUF:
		options->sbuf = true;
		return 0;
	case OPTION_CC_DIM:
		options->cc_dim = (unsigned int)parse_number(arg, 0, 1, key, state);
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

/* A stream does not have what all others have. */
static void forget_flag(struct options *options, int key)
{
	if (key == OPTION_SBUF)
		options->sbuf = false;
	if (key == 'c')
		options->kind = VALUES_EXACT;
}

static error_t parse_flag(struct parsing *parsing, int key, char *arg, struct argp_state *state)
{
	struct options *options = parsing->options;

	switch (key) {
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
	case 'r':
		options->ranks = (unsigned int)parse_number(arg, 1, MAX_RANKS, key, state);
		return 0;
	case 'N':
		if (parse_number(arg, 1, MAX_RANKS, key, state) > 1)
			mistake(state, "--nnodes: %s", ONE_SERVER);
		return 0;
	case OPTION_STREAMS:
		options->streams_file = arg;
		return 0;
	case OPTION_UNIQUE:
		options->unique = true;
		return 0;
	case OPTION_SHARED_OUTPUT:
		options->shared = true;
		return 0;
	case OPTION_PIN:
		options->pinned = true;
		return 0;
	default:
		return parse_what_option(parsing, key, arg, state);
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
			mistake(state, "--stats is avg, or p0 to p100, not \"%s\"", arg);
		parsing->list = 't';
		return 0;
	default:
		return parse_flag(parsing, key, arg, state);
	}
}

/* --- Streams --- */

/* The option with that name in a file, or NULL: a stream has none. */
static const struct argp_option *option_of_key(const char *key)
{
	const struct argp_option *option;
	size_t i;

	for (option = table; option->name; option++) {
		if (option->group != OPERATION)
			continue;
		for (i = 0; key[i] && key[i] == (option->name[i] == '-' ? '_' : option->name[i]);)
			i++;
		if (!key[i] && !option->name[i])
			return option;
	}
	return NULL;
}

static void parse_ops(struct options *options, struct json_object *value,
		      struct argp_state *state)
{
	int64_t ops = json_object_get_int64(value);

	if (!json_object_is_type(value, json_type_int) || ops < 1 || ops > MAX_OPS)
		mistake(state, "ops_per_iter is a number from 1 to %d, not %s", MAX_OPS,
			json_object_to_json_string(value));
	options->ops = (unsigned int)ops;
}

/* Options without an argument are true or false, the others words, numbers or lists. */
static void parse_value(struct parsing *parsing, const struct argp_option *option,
			struct json_object *value, struct argp_state *state)
{
	bool is_flag = json_object_is_type(value, json_type_boolean);
	const char *text = json_object_is_type(value, json_type_array) ?
			   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) :
			   json_object_get_string(value);

	if (!value || json_object_is_type(value, json_type_object) ||
	    (!option->arg && !is_flag) ||
	    (option->arg && is_flag && !(option->flags & OPTION_ARG_OPTIONAL)))
		mistake(state, "%s is no value of --%s", json_object_to_json_string(value),
			option->name);
	if (!is_flag)
		parse_what_option(parsing, option->key, (char *)text, state);
	else if (json_object_get_boolean(value))
		parse_what_option(parsing, option->key, NULL, state);
	else
		forget_flag(parsing->options, option->key);
}

static void parse_stream(struct parsing *parsing, struct json_object *stream,
			 struct argp_state *state)
{
	const struct argp_option *option;

	if (!json_object_is_type(stream, json_type_object))
		mistake(state, "this is no object with an operation");
	json_object_object_foreach(stream, key, value) {
		option = option_of_key(key);
		if (!strcmp(key, "operation"))
			parse_operation(parsing->options, json_object_get_string(value) ?: "",
					state);
		else if (!strcmp(key, "ops_per_iter"))
			parse_ops(parsing->options, value, state);
		else if (option)
			parse_value(parsing, option, value, state);
		else
			mistake(state, "\"%s\" is no option of a stream", key);
	}
}

/* A stream says how its sizes go on, or nothing of that. */
static void begin_stream(struct options *options, struct json_object *stream)
{
	struct json_object *ignored;

	if (json_object_object_get_ex(stream, "operation", &ignored))
		options->operation = NULL;
	if (json_object_object_get_ex(stream, "stepbytes", &ignored))
		options->factor = 0;
	if (json_object_object_get_ex(stream, "stepfactor", &ignored))
		options->step = 0;
	if (json_object_object_get_ex(stream, "custom_replica_groups", &ignored))
		options->parallel = 0;
	if (json_object_object_get_ex(stream, "data_parallel_dimension", &ignored))
		options->groups_file = NULL;
}

static void parse_streams(struct parsing *parsing, struct json_object *list,
			  struct argp_state *state)
{
	struct command *command = parsing->command;
	const bool has_max = parsing->has_max;
	size_t nr = json_object_array_length(list);
	struct json_object *stream;

	if (!nr || nr > NEFF_NR_STREAMS)
		mistake(state, "there are 1 to %d streams, not %zu", NEFF_NR_STREAMS, nr);
	for (command->nr = 0; command->nr < nr; command->nr++) {
		parsing->options = &command->stream[command->nr];
		*parsing->options = command->options;
		parsing->has_max = has_max;
		snprintf(parsing->where, sizeof(parsing->where), "%s: stream %u: ",
			 command->options.streams_file, command->nr);
		stream = json_object_array_get_idx(list, command->nr);
		if (json_object_is_type(stream, json_type_object)) {
			begin_stream(parsing->options, stream);
			parsing->has_max |= json_object_object_get_ex(stream, "maxbytes", NULL);
		}
		parse_stream(parsing, stream, state);
		finish_operation(parsing, state);
		finish_places(parsing->options, state);
	}
	parsing->where[0] = '\0';
}

static void read_streams(struct parsing *parsing, struct argp_state *state)
{
	struct command *command = parsing->command;
	struct json_object *list;
	char why[FILE_WHY];

	command->file = file_read(command->options.streams_file, why);
	if (!command->file)
		mistake(state, "%s", why);
	snprintf(parsing->where, sizeof(parsing->where), "%s: ", command->options.streams_file);
	if (!json_object_object_get_ex(command->file, "streams", &list) ||
	    !json_object_is_type(list, json_type_array))
		mistake(state, "\"streams\" is not there, or no list");
	parse_streams(parsing, list, state);
}

/* --- All of it --- */

static void finish(struct parsing *parsing, struct argp_state *state)
{
	struct command *command = parsing->command;

	finish_run(parsing, state);
	if (command->options.streams_file) {
		read_streams(parsing, state);
		return;
	}
	finish_operation(parsing, state);
	finish_places(parsing->options, state);
	command->stream[0] = command->options;
	command->nr = 1;
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

void command_parse(struct command *command, int argc, char **argv)
{
	static const struct argp argp = {
		.options = table, .parser = parse, .args_doc = "OPERATION", .doc = doc,
	};
	struct parsing parsing = { .options = &command->options, .command = command };

	*command = (struct command){ .options = {
		.type = type_find("uint8"), .reduction = reduction_find("add"),
		.kind = VALUES_EXACT, .min = 32u << 20, .max = 32u << 20, .cc_dim = CC_DIM_NONE,
		.ops = 1, .iters = 20, .warmup = 5,
	} };
	argp_err_exit_status = EXIT_BAD_OPTION;
	argp_program_version = "nccom-test " NCCOM_VERSION;
	/* In order, because some options have several words. */
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parsing);
}

void command_fini(struct command *command)
{
	json_object_put(command->file);
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
