// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cc_items.h"

#define STAGE_ALIGN	64

/* The group of @rank, and its place in *@me; NULL: it is in none. */
static const uint32_t *find_group(const struct neff_collective *collective, uint32_t rank,
				  uint32_t *me)
{
	unsigned int i;

	for (i = 0; i < collective->nr_groups * collective->group_size; i++) {
		if (collective->ranks[i] != rank)
			continue;
		*me = i % collective->group_size;
		return &collective->ranks[i - *me];
	}
	return NULL;
}

static NRT_STATUS check_ranks(const struct neff_collective *collective, unsigned int index,
			      uint32_t rank, uint32_t count, struct nrt_error *error)
{
	unsigned int i;
	uint32_t me;

	if (!find_group(collective, rank, &me))
		return nrt_error_set(error, NRT_INVALID,
				     "collective %u of the model: no replica group has rank %u",
				     index, rank);
	for (i = 0; i < collective->nr_groups * collective->group_size; i++)
		if (collective->ranks[i] >= count)
			return nrt_error_set(error, NRT_INVALID,
					     "collective %u of the model: a replica group has rank %u, and there are %u ranks",
					     index, collective->ranks[i], count);
	return NRT_SUCCESS;
}

NRT_STATUS nrt_cc_items_check(const struct nrt_model *model, uint32_t rank, uint32_t count,
			      struct nrt_error *error)
{
	const struct neff_graph *graph = nrt_cc_graph(model);
	unsigned int i;

	for (i = 0; i < graph->nr_collectives; i++)
		if (check_ranks(&graph->collectives[i], i, rank, count, error))
			return error->status;
	return NRT_SUCCESS;
}

/* --- Memory of this rank --- */

static const struct neff_var *var_of(const struct nrt_cc_items *items, unsigned int index,
				     enum cc_shown what)
{
	const struct neff_graph *graph = nrt_cc_graph(items->model);
	const struct nrt_cc_item *item = &items->item[index];
	const struct neff_collective *collective;

	if (item->index < 0 || item->request.run.op == NRT_PLAN_BARRIER)
		return NULL;
	collective = &graph->collectives[item->index];
	if (collective->nr_parts)
		return NULL;
	switch (what) {
	case CC_SHOWN_INPUT:
		return &graph->vars[collective->input];
	case CC_SHOWN_OUTPUT:
		return &graph->vars[collective->output];
	case CC_SHOWN_META:
		return neff_has_metadata(collective) ? &graph->vars[collective->metadata] : NULL;
	default:
		return NULL;
	}
}

/* Can the variable be somewhere else in the next execution? */
static bool var_moves(const struct neff_var *var)
{
	return var && (neff_var_is_io(var) || var->type == NEFF_VAR_VIRTUAL);
}

/* Without a binding: of what does not move. */
static struct nrt_cc_bytes bytes_of(const struct nrt_model *model,
				    const struct nrt_binding *binding, const struct neff_var *var)
{
	const struct neff_graph *graph = nrt_cc_graph(model);
	const struct nrt_place *place;
	uint64_t offset;

	if (!var || (var_moves(var) && !binding))
		return (struct nrt_cc_bytes){ 0 };
	offset = var->offset;
	if (var->type == NEFF_VAR_VIRTUAL)
		return (struct nrt_cc_bytes){
			.bo = nrt_scratch_at(&binding->scratch, &offset),
			.offset = offset,
			.length = var->size,
		};
	place = neff_var_is_io(var) ? &binding->places[var->io] :
				      &model->parts[0].places[var - graph->vars];
	return (struct nrt_cc_bytes){ place->bo, place->offset, var->size };
}

/* Where INPUT or OUTPUT of a list is in the scratch memory: behind what the plan needs of it. */
static uint64_t stage_of(const struct nrt_cc_part *part, unsigned int what)
{
	const uint64_t at = (part->program.scratch + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
	const uint64_t input = part->plan->bytes[NRT_PLAN_INPUT];

	if (what == CC_SHOWN_INPUT)
		return at;
	return at + (input + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
}

static uint64_t scratch_of(const struct nrt_cc_part *part)
{
	if (!part->nr_tensors)
		return part->program.scratch;
	return stage_of(part, CC_SHOWN_OUTPUT) + part->plan->bytes[NRT_PLAN_OUTPUT];
}

/* A list has its blocks in scratch memory, and its tensors wherever they are. */
static void find_list(struct nrt_cc_items *items, unsigned int i,
		      const struct nrt_binding *binding)
{
	const struct neff_graph *graph = nrt_cc_graph(items->model);
	struct nrt_cc_part *part = &items->code->parts[i];
	struct nrt_cc_bytes *own = items->item[i].own;
	const struct neff_var *var;
	unsigned int k;

	for (k = CC_SHOWN_INPUT; k <= CC_SHOWN_OUTPUT; k++)
		own[k] = (struct nrt_cc_bytes){
			items->scratch, stage_of(part, k), part->plan->bytes[k],
		};
	for (k = 0; k < part->nr_tensors; k++) {
		var = &graph->vars[part->tensors[k].side->var];
		part->places[k] = var->type == NEFF_VAR_STATE ?
				  (struct nrt_cc_bytes){ .length = var->size } :
				  bytes_of(items->model, binding, var);
	}
}

void nrt_cc_items_find(struct nrt_cc_items *items, const struct nrt_binding *binding)
{
	unsigned int i, what;

	for (i = 0; i < items->nr; i++) {
		struct nrt_cc_item *item = &items->item[i];

		for (what = 0; what < NRT_CC_NR_SPACES; what++)
			item->own[what] = bytes_of(items->model, binding, var_of(items, i, what));
		item->own[CC_SHOWN_SCRATCH] = (struct nrt_cc_bytes){
			items->scratch, 0, items->code->parts[i].program.scratch,
		};
		if (items->code->parts[i].nr_tensors)
			find_list(items, i, binding);
	}
}

bool nrt_cc_items_move(const struct nrt_cc_items *items)
{
	unsigned int i, what;

	for (i = 0; i < items->nr; i++)
		for (what = 0; what < NRT_CC_NR_SPACES; what++)
			if (var_moves(var_of(items, i, what)) &&
			    nrt_cc_is_exposed(items->code->parts[i].plan,
					      &items->code->parts[i].program, what))
				return true;
	return false;
}

struct nrt_cc_agreement nrt_cc_items_say(const struct nrt_cc_items *items, unsigned int index)
{
	const struct nrt_cc_part *part = items->code ? &items->code->parts[index] :
						       &items->part[index];
	const struct nrt_cc_item *item = &items->item[index];
	struct nrt_cc_agreement mine = nrt_cc_say(&item->links, &item->request.run, part->plan,
						  &part->program, item->own);

	if (!items->code)
		return mine;
	mine.first_sem = part->first_sem - item->links.rights->first_sem;
	mine.nr_sems = nrt_cc_part_sems(part);
	return mine;
}

/* --- Plans --- */

/* How the tensors of a list lie in a block; 0 if there is one. */
static uint64_t hash_parts(const struct neff_collective *collective)
{
	uint64_t sizes[NEFF_MAX_PARTS];
	unsigned int i;

	if (collective->nr_parts < 2)
		return 0;
	for (i = 0; i < collective->nr_parts; i++)
		sizes[i] = neff_side_bytes(&collective->parts[i]);
	return nrt_cc_hash(sizes, i * sizeof(sizes[0]));
}

/* Who is no target of a permute gets nothing. */
static bool gets_nothing(const struct nrt_cc_request *request)
{
	unsigned int i;

	for (i = 0; i < request->run.nr_pairs; i++)
		if (request->run.pairs[i].target == request->me)
			return false;
	return request->run.op == NRT_PLAN_PERMUTE;
}

/* The list of @collective, for the part that was made last. */
static NRT_STATUS add_list(struct nrt_cc_items *items, const struct neff_collective *collective,
			   struct nrt_error *error)
{
	const uint64_t blocks[] = { neff_in_blocks(collective), neff_out_blocks(collective) };
	struct nrt_cc_part *part = &items->part[items->nr - 1];
	const bool only_in = gets_nothing(&items->item[items->nr - 1].request);
	unsigned int i, nr = collective->nr_parts * (only_in ? 1 : 2);
	uint64_t at = 0;

	part->tensors = calloc(nr + 1, sizeof(*part->tensors));
	part->places = calloc(nr + 1, sizeof(*part->places));
	if (!part->tensors || !part->places)
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++) {
		const struct neff_side *side = &collective->parts[i];
		const unsigned int out = i >= collective->nr_parts;

		if (i == collective->nr_parts)
			at = 0;
		part->tensors[i] = (struct cc_tensor){
			.side = side,
			.space = out ? NRT_PLAN_OUTPUT : NRT_PLAN_INPUT,
			.blocks = blocks[out],
			.at = at,
		};
		at += neff_side_bytes(side) / blocks[out];
	}
	part->nr_tensors = nr;
	return NRT_SUCCESS;
}

static struct nrt_cc_request request_of(const struct nrt_model *model, unsigned int index)
{
	const struct neff_collective *collective = &nrt_cc_graph(model)->collectives[index];
	struct nrt_cc_request request = {
		.run = {
			.op = collective->op,
			.reduce = collective->reduce,
			.dtype = (uint8_t)collective->dtype,
			.count = collective->count,
			.in_place = collective->in_place,
			.recv_counts_known = collective->recv_counts_known,
			.has_rdispls = collective->has_rdispls,
			.pairs = collective->nr_pairs ? collective->pairs : NULL,
			.nr_pairs = collective->nr_pairs,
			.root = collective->root,
			.nr_channels = collective->nr_channels,
			.priority = collective->priority,
			.stream = collective->stream,
			.tensors = hash_parts(collective),
		},
		.nr = collective->group_size,
	};

	request.ranks = find_group(collective, model->rank, &request.me);
	return request;
}

static bool same_groups(const struct neff_collective *a, const struct neff_collective *b)
{
	return a->nr_groups == b->nr_groups && a->group_size == b->group_size &&
	       !memcmp(a->ranks, b->ranks,
		       (size_t)a->nr_groups * a->group_size * sizeof(*a->ranks));
}

/* Do both have the same plan? */
static bool same_plan(const struct nrt_cc_run *x, const struct nrt_cc_run *y)
{
	return x->op == y->op && x->reduce == y->reduce && x->dtype == y->dtype &&
	       x->count == y->count && x->in_place == y->in_place && x->root == y->root &&
	       x->recv_counts_known == y->recv_counts_known && x->has_rdispls == y->has_rdispls &&
	       x->priority == y->priority && x->nr_channels == y->nr_channels &&
	       x->nr_pairs == y->nr_pairs &&
	       (!x->nr_pairs || !memcmp(x->pairs, y->pairs, x->nr_pairs * sizeof(*x->pairs)));
}

/* The same plan, among the same ranks? */
static bool is_same(const struct nrt_cc_request *a, const struct nrt_cc_request *b)
{
	return a->nr == b->nr && !memcmp(a->ranks, b->ranks, a->nr * sizeof(*a->ranks)) &&
	       same_plan(&a->run, &b->run);
}

/* Its plan is made. */
static NRT_STATUS add_item(struct nrt_cc_items *items, const struct nrt_cc_rights *rights,
			   int index, const struct nrt_cc_request *request,
			   struct nrt_error *error)
{
	struct nrt_cc_item *item = &items->item[items->nr];
	char what[32];

	*item = (struct nrt_cc_item){ .index = index, .request = *request };
	snprintf(what, sizeof(what), "model collective %u", items->nr);
	if (nrt_cc_links_init(&item->links, rights, what, request->ranks, request->nr,
			      request->me, error))
		return error->status;
	if (nrt_cc_part_init(&items->part[items->nr], &item->links, &request->run, error)) {
		nrt_cc_links_fini(&item->links);
		return error->status;
	}
	items->part[items->nr].names_stream = nrt_cc_items_name_stream(items);
	items->nr++;
	return NRT_SUCCESS;
}

static NRT_STATUS add_collective(struct nrt_cc_items *items, const struct nrt_cc_rights *rights,
				 unsigned int index, struct nrt_error *error)
{
	const struct neff_collective *collective = &nrt_cc_graph(items->model)->collectives[index];
	const struct nrt_cc_request request = request_of(items->model, index);

	if (add_item(items, rights, (int)index, &request, error))
		return error->status;
	items->part[items->nr - 1].signal = (struct nrt_cc_signal){
		.used = true,
		.start = neff_start(collective),
		.core = items->model->vcore->core[0]->index,
		.done = collective->semaphore,
	};
	return collective->nr_parts ? add_list(items, collective, error) : NRT_SUCCESS;
}

static bool is_mine(const struct nrt_cc_items *items, unsigned int index)
{
	return nrt_cc_graph(items->model)->collectives[index].stream == items->stream;
}

/* The collective of the stream before @index, which of the first one is the last one. */
static unsigned int before(const struct nrt_cc_items *items, unsigned int index)
{
	const unsigned int nr = nrt_cc_graph(items->model)->nr_collectives;

	do {
		index = (index + nr - 1) % nr;
	} while (!is_mine(items, index));
	return index;
}

/*
 * When all collectives have their semaphores in common, whoever posts one must know that the
 * collective before it is over at the rank that has it. So the ranks of a collective meet before
 * it, unless the one before it has the same plan among the same ranks. All groups count, so that
 * all ranks of the model have the same barriers.
 */
static NRT_STATUS add_barrier(struct nrt_cc_items *items, const struct nrt_cc_rights *rights,
			      unsigned int index, struct nrt_error *error)
{
	const struct neff_collective *all = nrt_cc_graph(items->model)->collectives;
	const unsigned int last = before(items, index);
	const struct nrt_cc_run last_run = request_of(items->model, last).run;
	struct nrt_cc_request request = request_of(items->model, index);

	if (same_groups(&all[last], &all[index]) && same_plan(&last_run, &request.run))
		return NRT_SUCCESS;
	request.run = (struct nrt_cc_run){
		.op = NRT_PLAN_BARRIER,
		.priority = request.run.priority,
		.stream = request.run.stream,
	};
	return add_item(items, rights, -1, &request, error);
}

NRT_STATUS nrt_cc_items_plan(struct nrt_cc_items *items, const struct nrt_cc_rights *rights,
			     bool crowded, struct nrt_error *error)
{
	const unsigned int nr = nrt_cc_graph(items->model)->nr_collectives;
	unsigned int i;

	items->item = calloc(2 * (size_t)nr, sizeof(*items->item));
	items->part = calloc(2 * (size_t)nr, sizeof(*items->part));
	if (!items->item || !items->part)
		return nrt_error_memory(error);
	for (i = 0; i < nr; i++)
		if (is_mine(items, i) && ((crowded && add_barrier(items, rights, i, error)) ||
					  add_collective(items, rights, i, error)))
			return error->status;
	return NRT_SUCCESS;
}

void nrt_cc_items_drop(struct nrt_cc_items *items)
{
	unsigned int i;

	for (i = 0; !items->code && i < items->nr; i++)
		nrt_cc_part_fini(&items->part[i]);
	nrt_cc_code_put(items->code);
	items->code = NULL;
	for (i = 0; i < items->nr; i++)
		nrt_cc_links_fini(&items->item[i].links);
	free(items->item);
	free(items->part);
	items->item = NULL;
	items->part = NULL;
	items->nr = 0;
	nrt_bo_put(items->scratch);
	items->scratch = NULL;
}

/* --- Semaphores --- */

/* The first item that has the plan of item @i. */
static unsigned int first_like(const struct nrt_cc_items *items, unsigned int i)
{
	unsigned int j = 0;

	while ((items->item[j].index < 0) != (items->item[i].index < 0) ||
	       !is_same(&items->item[j].request, &items->item[i].request))
		j++;
	return j;
}

/* Most of the collectives that the NEFF names. */
static unsigned int most_sems(const struct nrt_cc_items *items)
{
	unsigned int i, most = 0;

	for (i = 0; i < items->nr; i++)
		if (items->item[i].index >= 0 && nrt_cc_part_sems(&items->part[i]) > most)
			most = nrt_cc_part_sems(&items->part[i]);
	return most;
}

/*
 * Those with the same plan share theirs. When semaphores are scarce all collectives of the NEFF
 * share theirs, and only the barriers have others.
 */
unsigned int nrt_cc_items_number(struct nrt_cc_items *items, bool crowded, unsigned int first)
{
	unsigned int i, like, next = first + (crowded ? most_sems(items) : 0);

	for (i = 0; i < items->nr; i++) {
		like = first_like(items, i);
		if (crowded && items->item[i].index >= 0) {
			items->part[i].first_sem = first;
		} else if (like < i) {
			items->part[i].first_sem = items->part[like].first_sem;
		} else {
			items->part[i].first_sem = next;
			next += nrt_cc_part_sems(&items->part[i]);
		}
	}
	return next - first;
}

/* --- The program --- */

NRT_STATUS nrt_cc_items_build(struct nrt_cc_items *items, struct nrt_core *cc,
			      struct nrt_error *error)
{
	uint64_t scratch = 0;
	unsigned int i;

	for (i = 0; i < items->nr; i++)
		if (scratch_of(&items->part[i]) > scratch)
			scratch = scratch_of(&items->part[i]);
	if (nrt_cc_scratch(cc, scratch, &items->scratch, error))
		return error->status;
	return nrt_cc_code_new(items->model->vcore, cc,
			       nrt_vcore_stream_engine(items->model->vcore, items->stream),
			       items->part, items->nr, &items->code, error);
}

NRT_STATUS nrt_cc_items_need(const struct nrt_cc_items *items, struct nrt_cc_rights *rights,
			     struct nrt_error *error)
{
	const struct nrt_plan_program *program;
	const struct nrt_plan_peer *peer;
	unsigned int i, k;

	/* A program may post to nobody. */
	if (nrt_cc_rights_need(rights, rights->me, error))
		return error->status;
	for (i = 0; i < items->nr; i++) {
		program = &items->code->parts[i].program;
		for (k = 0; k < program->nr_peers; k++) {
			peer = &program->peers[k];
			if (peer->posts &&
			    nrt_cc_rights_need(rights, items->item[i].links.peers[peer->rank].place,
					       error))
				return error->status;
		}
	}
	return NRT_SUCCESS;
}
