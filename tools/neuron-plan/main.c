// SPDX-License-Identifier: MIT
/* neuron-plan: shows the plan of a collective, and tries it. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "neuron/isa.h"
#include "plan/print.h"
#include "plan/type.h"
#include "try.h"

enum {
	EXIT_BAD = 1,
	EXIT_BAD_OPTION = 2,
};

enum {
	OPTION_ALGORITHM = 256,
	OPTION_CHANNELS,
	OPTION_COMPLETION,
	OPTION_IN_PLACE,
	OPTION_PAIRS,
	OPTION_RANK,
	OPTION_RDISPLS,
	OPTION_REDUCE,
	OPTION_ROOT,
	OPTION_SHAPE,
	OPTION_SIMULATE,
	OPTION_STREAM,
	OPTION_TOPOLOGY,
};

#define ALL_RANKS	NRT_PLAN_MAX_RANKS

/**
 * struct arguments - the command line
 * @places, @pairs: of @ask
 * @named: an operation was given
 * @print: a rank whose steps are shown, ALL_RANKS, or -1
 * @simulates: with @seed
 */
struct arguments {
	struct nrt_plan_ask ask;
	struct nrt_plan_place places[NRT_PLAN_MAX_RANKS];
	struct nrt_plan_pair pairs[NRT_PLAN_MAX_RANKS];
	unsigned int shape[3];
	bool named;
	int print;
	bool simulates;
	uint64_t seed;
};

static const struct argp_option options[] = {
	{ "algorithm", OPTION_ALGORITHM, "NAME", 0,
	  "ring, mesh, mesh1, kangaring, rdh, hier:INTRA+INTER or chip:INTRA+INTER; without it libnrt chooses",
	  0 },
	{ "channels", OPTION_CHANNELS, "N", 0, "cut blocks in so many channels", 0 },
	{ "completion", OPTION_COMPLETION, NULL, OPTION_HIDDEN, "write a script for bash", 0 },
	{ "count", 'c', "N", 0, "elements of a block; without it 1024", 0 },
	{ "datatype", 'd', "TYPE", 0, "type of the elements; without it fp32", 0 },
	{ "in-place", OPTION_IN_PLACE, NULL, 0, "input and output are the same memory", 0 },
	{ "nworkers", 'r', "N", 0, "ranks, each on a chip of one server", 0 },
	{ "pairs", OPTION_PAIRS, "S:T[,S:T...]", 0, "permute: from which rank to which", 0 },
	{ "print-plan", OPTION_RANK, "RANK", OPTION_ARG_OPTIONAL,
	  "show the steps of a rank, or of all", 0 },
	{ "rdispls", OPTION_RDISPLS, NULL, 0, "alltoallv: with receive displacements", 0 },
	{ "reduce", OPTION_REDUCE, "OP", 0, "add, min or max; without it add", 0 },
	{ "root", OPTION_ROOT, "RANK", 0, "broadcast: the source; without it 0", 0 },
	{ "shape", OPTION_SHAPE, "SxCxN", 0, "ranks: servers, chips of each, ranks of each chip",
	  0 },
	{ "simulate", OPTION_SIMULATE, "SEED", OPTION_ARG_OPTIONAL,
	  "check the plan, run all ranks in host memory, and compare the results", 0 },
	{ "stream", OPTION_STREAM, "N", 0, "which stream of a model it is on; without it 0", 0 },
	{ "topology", OPTION_TOPOLOGY, "NAME", 0,
	  "what joins the chips: any, ring, torus2d, torus3d or switch; without it any", 0 },
	{ 0 }
};

#define SUMMARY	"Shows the plan of a collective: which steps each rank makes."

static const char doc[] =
	SUMMARY
	"\vOPERATION is all_reduce, reduce_scatter, all_gather, alltoall, permute, permute_implicit, broadcast, barrier, all_gatherv, reduce_scatterv or alltoallv.\n\n"
	"Example:\n"
	"  neuron-plan all_reduce --shape 1x16x4 --topology torus2d --print-plan=0\n"
	"  neuron-plan all_gather -r 8 --algorithm ring --simulate\n\n"
	"Exit status:\n"
	"  1  the plan is wrong\n"
	"  2  there is no such plan, or a mistake on the command line";

static uint64_t parse_number(const char *text, uint64_t least, uint64_t most, const char *what,
			     struct argp_state *state)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end || number < least || number > most)
		argp_error(state, "%s is a number from %llu to %llu, not \"%s\"", what,
			   (unsigned long long)least, (unsigned long long)most, text);
	return number;
}

static unsigned int parse_name(const char *text, unsigned int nr, const char *(*name)(unsigned int),
			       const char *what, struct argp_state *state)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(text, name(i)))
			return i;
	argp_error(state, "there is no %s \"%s\"", what, text);
	return 0;
}

static const char *op_name(unsigned int i)
{
	return nrt_plan_op_name(i);
}

static const char *reduce_name(unsigned int i)
{
	return nrt_plan_reduce_name(i);
}

static const char *topology_name(unsigned int i)
{
	return nrt_plan_topology_name(i);
}

static void parse_shape(struct arguments *arguments, const char *text, struct argp_state *state)
{
	unsigned int *shape = arguments->shape;
	char end;

	if (sscanf(text, "%ux%ux%u%c", &shape[0], &shape[1], &shape[2], &end) != 3 || !shape[0] ||
	    !shape[1] || !shape[2] || shape[0] > NRT_PLAN_MAX_RANKS ||
	    shape[1] > NRT_PLAN_MAX_RANKS || shape[2] > NRT_PLAN_MAX_RANKS ||
	    shape[0] * shape[1] * shape[2] > NRT_PLAN_MAX_RANKS)
		argp_error(state, "--shape is SERVERSxCHIPSxRANKS, at most %d ranks, not \"%s\"",
			   NRT_PLAN_MAX_RANKS, text);
}

static void parse_pairs(struct arguments *arguments, const char *text, struct argp_state *state)
{
	unsigned int source, target, nr = 0;
	int used;

	do {
		if (nr == NRT_PLAN_MAX_RANKS ||
		    sscanf(text, "%u:%u%n", &source, &target, &used) != 2 || source > UINT16_MAX ||
		    target > UINT16_MAX || (text[used] && text[used] != ','))
			argp_error(state, "--pairs is SOURCE:TARGET,..., not \"%s\"", text);
		arguments->pairs[nr++] = (struct nrt_plan_pair){ (uint16_t)source,
								 (uint16_t)target };
		text += used;
	} while (*text++ == ',');
	arguments->ask.pairs = arguments->pairs;
	arguments->ask.nr_pairs = nr;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct nrt_plan_ask *ask = &arguments->ask;

	switch (key) {
	case OPTION_ALGORITHM:
		ask->algorithm = arg;
		break;
	case OPTION_CHANNELS:
		ask->nr_channels = (unsigned int)parse_number(arg, 1, NRT_PLAN_MAX_CHANNELS,
							      "--channels", state);
		break;
	case OPTION_COMPLETION:
		completion_print(stdout, "neuron-plan", options);
		exit(EXIT_SUCCESS);
	case 'c':
		ask->count = parse_number(arg, 0, NRT_PLAN_MAX_BYTES, "--count", state);
		break;
	case 'd':
		ask->dtype = (uint8_t)parse_name(arg, NEURON_NR_DTYPES, nrt_plan_type_name,
						 "data type", state);
		break;
	case OPTION_IN_PLACE:
		ask->in_place = true;
		break;
	case 'r':
		arguments->shape[1] = (unsigned int)parse_number(arg, 1, NRT_PLAN_MAX_RANKS,
								 "--nworkers", state);
		break;
	case OPTION_PAIRS:
		parse_pairs(arguments, arg, state);
		break;
	case OPTION_RANK:
		arguments->print = arg ? (int)parse_number(arg, 0, NRT_PLAN_MAX_RANKS - 1,
							   "--print-plan", state) : ALL_RANKS;
		break;
	case OPTION_RDISPLS:
		ask->has_rdispls = true;
		break;
	case OPTION_REDUCE:
		ask->reduce = parse_name(arg, NRT_PLAN_NR_REDUCES, reduce_name, "reduction", state);
		break;
	case OPTION_ROOT:
		ask->root = (unsigned int)parse_number(arg, 0, NRT_PLAN_MAX_RANKS - 1, "--root",
						       state);
		break;
	case OPTION_SHAPE:
		parse_shape(arguments, arg, state);
		break;
	case OPTION_SIMULATE:
		arguments->simulates = true;
		arguments->seed = arg ? parse_number(arg, 0, UINT64_MAX, "--simulate", state) : 1;
		break;
	case OPTION_STREAM:
		ask->stream = (uint8_t)parse_number(arg, 0, NRT_PLAN_STREAMS - 1, "--stream",
						    state);
		break;
	case OPTION_TOPOLOGY:
		ask->topology = parse_name(arg, NRT_PLAN_NR_TOPOLOGIES, topology_name, "topology",
					   state);
		break;
	case ARGP_KEY_ARG:
		if (arguments->named)
			argp_error(state, "more than one operation");
		ask->op = parse_name(arg, NRT_PLAN_NR_OPS, op_name, "operation", state);
		arguments->named = true;
		break;
	case ARGP_KEY_END:
		if (!arguments->named || !arguments->shape[1])
			argp_error(state, "an operation, and --nworkers or --shape");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void finish_ask(struct arguments *arguments)
{
	struct nrt_plan_ask *ask = &arguments->ask;
	const unsigned int *shape = arguments->shape;
	unsigned int i;

	ask->nr_ranks = shape[0] * shape[1] * shape[2];
	for (i = 0; i < ask->nr_ranks; i++)
		arguments->places[i] = (struct nrt_plan_place){
			.server = (uint16_t)(i / (shape[1] * shape[2])),
			.chip = (uint16_t)(i / shape[2] % shape[1]),
			.core = (uint16_t)(i % shape[2]),
		};
	ask->places = arguments->places;
	if (ask->op == NRT_PLAN_ALL_REDUCE || ask->op == NRT_PLAN_REDUCE_SCATTER ||
	    ask->op == NRT_PLAN_REDUCE_SCATTER_V) {
		if (!ask->reduce)
			ask->reduce = NRT_PLAN_ADD;
	}
}

static int show(const struct arguments *arguments, const struct try *try)
{
	unsigned int n = try->plan->nr_ranks, i;

	nrt_plan_print(stdout, try->plan);
	if (arguments->print >= (int)n && arguments->print != ALL_RANKS) {
		fprintf(stderr, "neuron-plan: there is no rank %d: the plan has %u\n",
			arguments->print, n);
		return EXIT_BAD_OPTION;
	}
	for (i = 0; i < n; i++) {
		if (arguments->print != (int)i && arguments->print != ALL_RANKS)
			continue;
		putchar('\n');
		nrt_plan_print_program(stdout, try->plan, &try->programs[i]);
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct arguments arguments = {
		.ask = { .count = 1024, .dtype = NEURON_DTYPE_FP32 },
		.shape = { 1, 0, 1 }, .print = -1,
	};
	const struct argp argp = { .options = options, .parser = parse, .args_doc = "OPERATION",
				   .doc = doc };
	struct nrt_error error;
	struct try try;
	int status;

	argp_err_exit_status = EXIT_BAD_OPTION;
	argp_program_version = "neuron-plan " PLAN_VERSION;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	finish_ask(&arguments);
	if (try_init(&try, &arguments.ask, &error)) {
		fprintf(stderr, "neuron-plan: %s\n", error.text);
		try_fini(&try);
		return EXIT_BAD_OPTION;
	}
	status = show(&arguments, &try);
	if (!status && arguments.simulates) {
		if (try_run(&try, arguments.seed, &error)) {
			fprintf(stderr, "neuron-plan: the plan is wrong: %s\n", error.text);
			status = EXIT_BAD;
		} else {
			printf("simulated with seed %llu: every rank has the right result\n",
			       (unsigned long long)arguments.seed);
		}
	}
	try_fini(&try);
	return status;
}
