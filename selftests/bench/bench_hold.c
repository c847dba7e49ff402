// SPDX-License-Identifier: MIT
/*
 * How long an instruction holds a worker until others have a turn, with the budget that workers
 * have, against a plain copy in the same round. All instructions in their longest forms, on every
 * path of the host, in processor time of the thread.
 *
 * Of the turns of an instruction that which 19 of 20 do not exceed stands for its longest: the
 * others are mostly those that an interrupt of the host has made longer.
 */
#include "resume_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "num/trn_num.h"

#define GOAL		2
#define CANDIDATES	6	/* of a path: those that were longest at first */
#define TURNS_MAX	65536	/* of an instruction */

/**
 * struct candidate - an instruction that holds long
 * @us: its longest turn at first
 * @sample: of each round
 * @copy: the same of the copy beside it
 */
struct candidate {
	const char *name;
	struct resume_shape shape;
	double us;
	double sample[FIGURE_MAX_ROUNDS];
	double copy[FIGURE_MAX_ROUNDS];
};

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* In us, of an instruction that is carried out to its end. */
static double longest(struct seq_rig *rig, const struct resume_shape *shape)
{
	struct seq_job *job = calloc(1, sizeof(*job));
	static double turn[TURNS_MAX];
	double seconds;
	size_t n = 0;

	if (!job)
		exit(EXIT_FAILURE);
	seq_job_init(job, rig, 0, 0);
	if (shape->load.opcode)
		seq_add(job, shape->engine, shape->load);
	seq_add(job, shape->engine, shape->inst);
	seq_add(job, shape->engine, OP(HALT, 0));
	seq_submit(job);
	for (;;) {
		struct trn_budget budget = {
			.pool = rig->pool,
			.deadline_ns = trn_pool_now(rig->pool) + TRN_BUDGET_NS,
		};

		seconds = figure_thread_now();
		if (!trn_pool_step_with(rig->pool, &budget))
			break;
		seconds = figure_thread_now() - seconds;
		/* Turns of the job's controller are no turns of the instruction. */
		if (seq_core(rig, 0, 0)->seq[shape->engine].resume.cut && n < TURNS_MAX)
			turn[n++] = seconds;
	}
	/* Some shapes are refused: they hold nobody. */
	seq_wait(job);
	free(job);
	qsort(turn, n, sizeof(*turn), compare);
	return n ? turn[n * 19 / 20] * 1e6 : 0;
}

/* Keep it if it is among the longest, which are in order. */
static void keep(struct candidate *list, const struct candidate *new)
{
	unsigned int at = CANDIDATES;

	while (at && new->us > list[at - 1].us) {
		if (at < CANDIDATES)
			list[at] = list[at - 1];
		at--;
	}
	if (at < CANDIDATES)
		list[at] = *new;
}

static void survey(struct seq_rig *rig, struct candidate *list)
{
	static struct candidate new;
	const struct trn_isa *isa;
	unsigned int i, how;
	double again;

	for (i = 0; (isa = trn_isa_row(i)); i++)
		for (how = 0; how < RESUME_HOWS; how++) {
			if (!resume_shape(&neuron_gen_trn3, isa, how, true, &new.shape))
				continue;
			new.name = isa->name;
			new.us = longest(rig, &new.shape);
			/* What disturbs the host seldom does so twice at the same place. */
			again = new.us > list[CANDIDATES - 1].us ? longest(rig, &new.shape) : 0;
			new.us = again < new.us ? again : new.us;
			keep(list, &new);
		}
}

static struct resume_shape plain_copy(void)
{
	struct resume_shape copy;

	if (!resume_shape(&neuron_gen_trn3, trn_isa_lookup(NEURON_OP_COPY), RESUME_APART, true,
			  &copy))
		exit(EXIT_FAILURE);
	copy.inst.src0.partitions = RESUME_PARTITIONS;
	copy.inst.dst.partitions = RESUME_PARTITIONS;
	return copy;
}

static double median_of(const double *samples, unsigned int n)
{
	double sorted[FIGURE_MAX_ROUNDS];

	memcpy(sorted, samples, n * sizeof(*sorted));
	return figure_median(sorted, n);
}

static void measure(struct figures *figures, const char *path, const char *name,
		    unsigned int rounds)
{
	static struct candidate list[CANDIDATES];
	const struct resume_shape copy = plain_copy();
	const struct candidate *worst = list;
	static struct seq_rig rig;
	unsigned int r, i;

	if (!trn_num_force_path(path)) {
		fprintf(stderr, "%s: this host has no such path\n", path);
		return;
	}
	memset(list, 0, sizeof(list));
	seq_rig_init(&rig, &neuron_gen_trn3, TRN_POOL_STEPPED, 1, true);
	rig.chip[0]->config.more_operators = true;
	resume_fill(&rig);
	longest(&rig, &copy);
	survey(&rig, list);
	for (r = 0; r < rounds; r++)
		for (i = 0; i < CANDIDATES; i++) {
			list[i].sample[r] = longest(&rig, &list[i].shape);
			list[i].copy[r] = longest(&rig, &copy);
		}
	for (i = 0; i < CANDIDATES; i++) {
		fprintf(stderr, "%s: %s holds for %.1f us\n", path, list[i].name,
			median_of(list[i].sample, rounds));
		if (median_of(list[i].sample, rounds) > median_of(worst->sample, rounds))
			worst = &list[i];
	}
	figures_add(figures, (struct figure){
		.name = name, .unit = "us", .goal = GOAL, .lower_is_better = true,
	}, worst->sample, worst->copy, rounds);
	trn_chip_stop(rig.chip[0]);
	while (trn_pool_step(rig.pool, 64))
		;
	seq_rig_destroy(&rig);
	trn_num_force_path(NULL);
}

int main(int argc, char **argv)
{
	const struct figure_options options = figure_options(argc, argv);
	struct figures figures = { .count = 0 };

	trn_num_thread_init();
	measure(&figures, "avx512", "hold_longest_avx512", options.rounds);
	measure(&figures, "avx2", "hold_longest_avx2", options.rounds);
	measure(&figures, "scalar", "hold_longest_scalar", options.rounds);
	return figures_report(&figures, options.json) ? EXIT_FAILURE : EXIT_SUCCESS;
}
