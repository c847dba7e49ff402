// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "plan/print.h"
#include "plan/type.h"

/* Of a column with ends or posts. */
#define TEXT	512

static const char * const spaces[NRT_PLAN_NR_SPACES] = { "in", "out", "scratch", "meta" };
static const char * const moves[] = { "", "copy", "combine" };

const char *nrt_plan_choice_name(const struct nrt_plan_choice *choice, char name[32])
{
	if (choice->algorithm == NRT_PLAN_HIER)
		snprintf(name, 32, "%s:%s+%s", choice->by_chip ? "chip" : "hier",
			 nrt_plan_algorithm_name(choice->intra),
			 nrt_plan_algorithm_name(choice->inter));
	else
		snprintf(name, 32, "%s", nrt_plan_algorithm_name(choice->algorithm));
	return name;
}

void nrt_plan_print(FILE *file, const struct nrt_plan *plan)
{
	char name[32], stream[16] = "";

	if (plan->stream)
		snprintf(stream, sizeof(stream), ", stream %u", plan->stream);
	fprintf(file, "%s%s%s of %u ranks, %" PRIu64 " elements of %s a block, by %s on %s%s\n",
		nrt_plan_op_name(plan->op), plan->reduce ? " " : "",
		plan->reduce ? nrt_plan_reduce_name(plan->reduce) : "", plan->nr_ranks,
		plan->count, nrt_plan_type_name(plan->dtype),
		nrt_plan_choice_name(&plan->choice, name), nrt_plan_topology_name(plan->topology),
		stream);
	fprintf(file,
		"%u channels, %u steps; input %llu B, output %llu B, scratch %llu B a rank%s\n",
		plan->nr_channels, plan->nr_steps,
		(unsigned long long)plan->bytes[NRT_PLAN_INPUT],
		(unsigned long long)plan->bytes[NRT_PLAN_OUTPUT],
		(unsigned long long)plan->bytes[NRT_PLAN_SCRATCH],
		plan->in_place ? ", in place" : "");
}

static void add(char text[TEXT], const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, TEXT - used, "%s%s", used ? " " : "", more);
}

static void add_end(char text[TEXT], const struct nrt_plan_program *program,
		    const struct nrt_plan_end *end)
{
	char rank[16] = "", value[64] = "", one[128];

	if (end->rank != program->rank)
		snprintf(rank, sizeof(rank), "@%u", end->rank);
	if (end->value)
		snprintf(value, sizeof(value), "+[%s+%" PRIu64 "]",
			 spaces[program->values[end->value - 1].space],
			 program->values[end->value - 1].offset);
	snprintf(one, sizeof(one), "%s%s+%" PRIu64 "%s", spaces[end->space], rank, end->offset,
		 value);
	add(text, one);
}

static void ends_text(char text[TEXT], const struct nrt_plan_program *program,
		      const struct nrt_plan_step *step)
{
	const struct nrt_plan_end *end = nrt_plan_src(program, step);
	unsigned int i;

	text[0] = 0;
	for (i = 0; i < (unsigned int)step->nr_src + step->nr_dst; i++) {
		if (i == step->nr_src)
			add(text, "->");
		add_end(text, program, &end[i]);
	}
}

static void syncs_text(char text[TEXT], const struct nrt_plan_program *program,
		       const struct nrt_plan_sync *sync, unsigned int nr, const char *how)
{
	char rank[16], one[64];
	unsigned int i;

	text[0] = 0;
	for (i = 0; i < nr; i++) {
		rank[0] = 0;
		if (sync[i].rank != program->rank)
			snprintf(rank, sizeof(rank), "@%u", sync[i].rank);
		snprintf(one, sizeof(one), "s%u%s%s%u", sync[i].sem, rank, how, sync[i].value);
		add(text, one);
	}
}

/**
 * struct widths - of columns whose content has any length
 */
struct widths {
	int ends;
	int waits;
};

struct line {
	char ends[TEXT];
	char waits[TEXT];
	char posts[TEXT];
};

static void fill_line(struct line *line, const struct nrt_plan_program *program,
		      const struct nrt_plan_step *step)
{
	ends_text(line->ends, program, step);
	syncs_text(line->waits, program, nrt_plan_waits(program, step), step->nr_wait, ">=");
	syncs_text(line->posts, program, nrt_plan_posts(program, step), step->nr_post, "+=");
}

static void widen(int *width, const char *text)
{
	int length = (int)strlen(text);

	if (*width < length && length <= 64)
		*width = length;
}

static void bytes_text(char text[32], const struct nrt_plan_program *program,
		       const struct nrt_plan_step *step)
{
	text[0] = 0;
	if (step->length)
		snprintf(text, 32, "[%s+%" PRIu64 "]",
			 spaces[program->values[step->length - 1].space],
			 program->values[step->length - 1].offset);
	else if (step->move)
		snprintf(text, 32, "%" PRIu64, step->bytes);
}

void nrt_plan_print_program(FILE *file, const struct nrt_plan *plan,
			    const struct nrt_plan_program *program)
{
	struct widths width = { .ends = 10, .waits = 5 };
	struct line line;
	char bytes[32];
	size_t s;

	for (s = 0; s < program->nr_steps; s++) {
		fill_line(&line, program, &program->steps[s]);
		widen(&width.ends, line.ends);
		widen(&width.waits, line.waits);
	}
	fprintf(file, "rank %u of %u: %zu steps, %u queues, %u semaphores\n", program->rank,
		plan->nr_ranks, program->nr_steps, program->nr_queues, program->nr_sems);
	fprintf(file, "%5s %-8s %3s %3s %-8s %12s  %-*s  %-*s  %s\n", "step", "phase", "ch", "q",
		"move", "bytes", width.ends, "from -> to", width.waits, "waits", "posts");
	for (s = 0; s < program->nr_steps; s++) {
		const struct nrt_plan_step *step = &program->steps[s];

		fill_line(&line, program, step);
		bytes_text(bytes, program, step);
		fprintf(file, "%5u %-8s %3u %3u %-8s %12s  %-*s  %-*s  %s\n", step->number,
			nrt_plan_phase_name(step->phase), step->channel, step->queue,
			moves[step->move], bytes, width.ends, line.ends, width.waits, line.waits,
			line.posts);
	}
}
