// SPDX-License-Identifier: MIT
/* The variable that starts a collective, as a .collective line. */
#include "chip/isa/trn_isa.h"
#include "dis.h"

/* What @var starts: the builder makes both together. NULL: the variable is no such one. */
static const struct neff_collective *started_by(const struct dis *dis, const struct neff_var *var)
{
	const struct neff_graph *graph = dis->graph;
	unsigned int before = 0;
	size_t i;

	for (i = 0; &graph->vars[i] < var; i++)
		before += graph->vars[i].type == NEFF_VAR_CC_SEM;
	if (var->count != 1 || var->first != before || before >= graph->nr_collectives)
		return NULL;
	return &graph->collectives[before];
}

/* The last variable that the collective names. */
static const struct neff_var *last_tensor(const struct dis *dis,
					  const struct neff_collective *collective)
{
	unsigned int last = collective->input, i;

	if (collective->output > last)
		last = collective->output;
	if (neff_has_metadata(collective) && collective->metadata > last)
		last = collective->metadata;
	for (i = 0; i < 2 * collective->nr_parts; i++)
		if (collective->parts[i].var > last)
			last = collective->parts[i].var;
	return &dis->graph->vars[last];
}

static bool put_list(struct dis *dis, const struct neff_side *parts, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!dis_side_fits(&parts[i]))
			return dis_fail(dis,
					"a collective has a part of \"%s\" in a list that is too large",
					dis->graph->vars[parts[i].var].name);
		fputs(i ? ", " : " (", dis->out);
		dis_side(dis, &parts[i]);
	}
	fputc(')', dis->out);
	return true;
}

/* The assembler knows only variables that come before. */
static bool put_tensors(struct dis *dis, const struct neff_var *var,
			const struct neff_collective *collective)
{
	const struct neff_var *last = last_tensor(dis, collective);

	if (last > var)
		return dis_fail(dis,
				"variable \"%s\" starts a collective on \"%s\", which comes later",
				var->name, last->name);
	fprintf(dis->out, " %s", trn_isa_dtype_name(collective->dtype));
	if (collective->nr_parts)
		return put_list(dis, collective->parts, collective->nr_parts) &&
		       put_list(dis, collective->parts + collective->nr_parts,
				collective->nr_parts);
	fputc(' ', dis->out);
	dis_name(dis, dis->graph->vars[collective->input].name);
	fputc(' ', dis->out);
	dis_name(dis, dis->graph->vars[collective->output].name);
	return true;
}

static void put_groups(struct dis *dis, const struct neff_collective *collective)
{
	unsigned int i;

	fputs(" groups", dis->out);
	for (i = 0; i < collective->nr_groups * collective->group_size; i++)
		fprintf(dis->out, "%s %u", i && i % collective->group_size == 0 ? " /" : "",
			collective->ranks[i]);
}

static void put_metadata(struct dis *dis, const struct neff_collective *collective)
{
	if (!neff_has_metadata(collective))
		return;
	fputs(" metadata ", dis->out);
	dis_name(dis, dis->graph->vars[collective->metadata].name);
	if (collective->recv_counts_known)
		fputs(" known", dis->out);
	if (collective->has_rdispls)
		fputs(" displs", dis->out);
}

static void put_rest(struct dis *dis, const struct neff_collective *collective)
{
	unsigned int i;

	if (collective->nr_pairs)
		fputs(" pairs", dis->out);
	for (i = 0; i < collective->nr_pairs; i++)
		fprintf(dis->out, " %u:%u", collective->pairs[i].source,
			collective->pairs[i].target);
	if (collective->nr_channels > 1)
		fprintf(dis->out, " channels %u", collective->nr_channels);
	put_metadata(dis, collective);
	if (collective->root)
		fprintf(dis->out, " root %u", collective->root);
	if (collective->priority)
		fprintf(dis->out, " priority %u", collective->priority);
	if (collective->stream)
		fprintf(dis->out, " stream %u", collective->stream);
	dis_newline(dis);
}

bool dis_collective(struct dis *dis, const struct neff_var *var)
{
	const struct neff_collective *collective = started_by(dis, var);

	if (!collective)
		return dis_fail(dis,
				"variable \"%s\" starts %u collectives from number %u on; the assembler has one variable for each, in their order",
				var->name, var->count, var->first);
	fputs(".collective ", dis->out);
	dis_name(dis, var->name);
	fprintf(dis->out, " %s", nrt_plan_op_name(collective->op));
	if (collective->reduce)
		fprintf(dis->out, " %s", nrt_plan_reduce_name(collective->reduce));
	if (collective->op != NRT_PLAN_BARRIER && !put_tensors(dis, var, collective))
		return false;
	fprintf(dis->out, " s%u", collective->semaphore);
	put_groups(dis, collective);
	put_rest(dis, collective);
	return true;
}

bool dis_all_started(struct dis *dis)
{
	const struct neff_graph *graph = dis->graph;
	unsigned int started = 0;
	size_t i;

	for (i = 0; i < graph->nr_vars; i++)
		started += graph->vars[i].type == NEFF_VAR_CC_SEM;
	return started == graph->nr_collectives ||
	       dis_fail(dis, "collective %u has no variable that starts it", started);
}
