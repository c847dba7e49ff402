// SPDX-License-Identifier: MIT
/*
 * Collectives that a program starts, as def.json names them.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "nb_area.h"
#include "nb_inst.h"
#include "neff/part.h"

/*
 * A copy of a collective; its lists are @what's. It is number @place of its stream; @start is the
 * variable that starts it, and @queue what does so, or -1.
 */
struct nb_collective_entry {
	struct nb_collective what;
	unsigned int place;
	int start;
	int queue;
	char *op;
	char *reduce;
	uint32_t *ranks;
	uint32_t *pairs;
	struct nb_side *inputs;
	struct nb_side *outputs;
};

static void *nb_duplicate(const void *bytes, size_t size)
{
	void *copy = malloc(size + 1);

	if (copy && size)
		memcpy(copy, bytes, size);
	return copy;
}

static void nb_entry_free(struct nb_collective_entry *entry)
{
	free(entry->op);
	free(entry->reduce);
	free(entry->ranks);
	free(entry->pairs);
	free(entry->inputs);
	free(entry->outputs);
}

void nb_collectives_free(struct nb_program *nb)
{
	unsigned int i;

	for (i = 0; i < nb->nr_collectives; i++)
		nb_entry_free(&nb->collective[i]);
	free(nb->collective);
}

static int nb_check_tensor(struct nb_program *nb, const char *name, int var)
{
	if (var >= 1 && var <= (int)nb->nr_vars)
		return 0;
	return nb_fail(nb, "collective \"%.64s\": input, output or metadata is no variable", name);
}

_Static_assert(sizeof(((struct nb_side *)0)->size) / sizeof(uint32_t) == NEFF_MAX_DESC_DIMS,
	       "a side has as many dimensions as a reader takes");

static struct neff_part nb_part_of(const struct nb_program *nb, const struct nb_side *side)
{
	struct neff_part part = { .begin = nb_begin_of_var(nb, side->var) + side->offset };
	unsigned int i;

	for (i = 0; i < NEFF_MAX_DESC_DIMS; i++) {
		part.size[i] = i < side->ndim ? side->size[i] : 1;
		part.step[i] = i < side->ndim ? side->step[i] : 0;
	}
	return part;
}

/* Outputs @i and @j, or two rows of output @i. */
static int nb_outputs_meet(struct nb_program *nb, const struct nb_collective *what,
			   unsigned int i, unsigned int j)
{
	const struct nb_side *a = &what->outputs[i], *b = &what->outputs[j];

	if (i == j)
		return neff_part_repeats(nb_part_of(nb, a), &nb->part_tries);
	if (nb_space_of_var(nb, a->var) != nb_space_of_var(nb, b->var))
		return 0;
	return neff_parts_meet(nb_part_of(nb, a), nb_part_of(nb, b), &nb->part_tries);
}

/* They are written in no order. */
static int nb_check_outputs(struct nb_program *nb, const char *name,
			    const struct nb_collective *what)
{
	unsigned int i, j;
	int meet;

	for (i = 0; i < what->nr_parts; i++)
		for (j = 0; j <= i; j++) {
			meet = nb_outputs_meet(nb, what, i, j);
			if (meet < 0)
				return nb_fail(nb,
					       "collective \"%.64s\": output %u is in too many pieces to tell whether it overlaps with others",
					       name, i);
			if (meet)
				return nb_fail(nb,
					       "collective \"%.64s\": outputs %u and %u have bytes in common",
					       name, j, i);
		}
	return 0;
}

static int nb_check_tensors(struct nb_program *nb, const char *name,
			    const struct nb_collective *what)
{
	unsigned int i;

	if (!what->nr_parts)
		return nb_check_tensor(nb, name, what->input) ||
		       nb_check_tensor(nb, name, what->output);
	if (what->nr_parts > NEFF_MAX_PARTS || !what->inputs || !what->outputs)
		return nb_fail(nb,
			       "collective \"%.64s\": lists of 1 to %d inputs and outputs are needed",
			       name, NEFF_MAX_PARTS);
	for (i = 0; i < what->nr_parts; i++)
		if (nb_check_tensor(nb, name, what->inputs[i].var) ||
		    nb_check_tensor(nb, name, what->outputs[i].var) ||
		    nb_check_side(nb, &what->inputs[i]) ||
		    nb_check_side(nb, &what->outputs[i]))
			return -1;
	return nb_check_outputs(nb, name, what);
}

/* Lists of tensors; those of the caller may go. */
static bool nb_copy_parts(struct nb_collective_entry *entry, const struct nb_collective *what)
{
	const size_t size = what->nr_parts * sizeof(*entry->inputs);

	if (!what->nr_parts)
		return true;
	entry->inputs = nb_duplicate(what->inputs, size);
	entry->outputs = nb_duplicate(what->outputs, size);
	entry->what.inputs = entry->inputs;
	entry->what.outputs = entry->outputs;
	return entry->inputs && entry->outputs;
}

/* How many of stream @stream there are. */
static unsigned int nb_count_stream(const struct nb_program *nb, unsigned int stream)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nb->nr_collectives; i++)
		nr += nb->collective[i].what.stream == stream;
	return nr;
}

static int nb_check_collective(struct nb_program *nb, const char *name,
			       const struct nb_collective *what)
{
	bool barrier = what->op && !strcmp(what->op, "barrier");

	if (nb->nr_collectives == NEFF_MAX_COLLECTIVES)
		return nb_fail(nb, "collective \"%.64s\": a program has at most %d", name,
			       NEFF_MAX_COLLECTIVES);
	if (!what->op || !what->ranks || !what->nr_groups || !what->group_size)
		return nb_fail(nb, "collective \"%.64s\": an operation and groups are needed",
			       name);
	if (what->stream >= NEFF_NR_STREAMS)
		return nb_fail(nb, "collective \"%.64s\": stream %u: the last one is %d", name,
			       what->stream, NEFF_NR_STREAMS - 1);
	if (what->semaphore < 0 && (barrier || !nb->record))
		return nb_fail(nb,
			       "collective \"%.64s\": nb_auto() finds semaphores, not of barriers",
			       name);
	if (barrier && what->nr_parts)
		return nb_fail(nb, "collective \"%.64s\": a barrier has no lists of tensors",
			       name);
	if (!barrier && nb_check_tensors(nb, name, what))
		return -1;
	return what->metadata ? nb_check_tensor(nb, name, what->metadata) : 0;
}

int nb_collective(struct nb_program *nb, const char *name, const struct nb_collective *what)
{
	struct nb_collective_entry entry = { .what = *what, .queue = -1 }, *list;

	if (nb_check_collective(nb, name, what))
		return 0;
	entry.place = nb_count_stream(nb, what->stream);
	list = reallocarray(nb->collective, nb->nr_collectives + 1, sizeof(*list));
	if (!list) {
		nb_fail(nb, "out of memory");
		return 0;
	}
	nb->collective = list;
	entry.op = nb_duplicate(what->op, strlen(what->op) + 1);
	entry.reduce = what->reduce ? nb_duplicate(what->reduce, strlen(what->reduce) + 1) : NULL;
	entry.ranks = nb_duplicate(what->ranks, (size_t)what->nr_groups * what->group_size *
						sizeof(*what->ranks));
	entry.pairs = nb_duplicate(what->pairs, (size_t)what->nr_pairs * sizeof(*what->pairs));
	if (!nb_copy_parts(&entry, what) || !entry.op || !entry.ranks || !entry.pairs ||
	    (what->reduce && !entry.reduce)) {
		nb_entry_free(&entry);
		nb_fail(nb, "out of memory");
		return 0;
	}
	entry.start = nb_cc_sem(nb, name, nb->nr_collectives);
	list[nb->nr_collectives++] = entry;
	return entry.start;
}

struct nb_collective *nb_collective_at(const struct nb_program *nb, const struct nb_side *side)
{
	const struct nb_var *var = &nb->var[side->var - 1];

	if (var->type != NB_VAR_CC_SEM)
		return NULL;
	return &nb->collective[var->first].what;
}

/* The one that has the same semaphore of the CC-core as @index, and comes before it; or -1. */
static int nb_shares_start(const struct nb_program *nb, unsigned int index)
{
	const struct nb_collective_entry *entry = &nb->collective[index];

	if (entry->place < NEFF_NR_STARTS)
		return -1;
	while (nb->collective[index].place != entry->place - NEFF_NR_STARTS ||
	       nb->collective[index].what.stream != entry->what.stream)
		index--;
	return (int)index;
}

void nb_forget_starts(struct nb_program *nb)
{
	unsigned int i;
	size_t q;

	for (i = 0; i < nb->nr_collectives; i++)
		nb->collective[i].queue = -1;
	for (q = 0; q < nb->nr_queues; q++) {
		nb->queue[q].moves = false;
		nb->queue[q].starts = false;
	}
	memset(nb->next_place, 0, sizeof(nb->next_place));
}

/*
 * A stream ends its collectives in its own order. Waits count the ends of a queue in the order of
 * its starts, and a start may wait for the end of what was started before it: one that comes
 * earlier on the stream would wait for ever.
 */
static int nb_check_place(struct nb_program *nb, unsigned int index, int queue)
{
	const struct nb_collective_entry *entry = &nb->collective[index];
	unsigned int *next = &nb->next_place[entry->what.stream];

	if (entry->place < *next)
		return nb_fail(nb,
			       "queue \"%.64s\" starts collective %u behind one that comes later on stream %u: start them in the order in which they were added",
			       nb->queue[queue].name, index, entry->what.stream);
	if (entry->what.semaphore < 0)
		*next = entry->place + 1;
	return 0;
}

/*
 * The start of @index comes behind that of @before. What posts a semaphore by hand is started by
 * another queue; its start waits for all before it, and in *@behind the later one waits for it.
 */
static int nb_check_before(struct nb_program *nb, unsigned int index, unsigned int before,
			   int *behind)
{
	const struct nb_collective_entry *entry = &nb->collective[index];
	const struct nb_collective_entry *first = &nb->collective[before];
	const bool found = entry->what.semaphore < 0, first_found = first->what.semaphore < 0;

	if (found && !first_found)
		*behind = first->start;
	if ((!found && !first_found) || (found && first_found && first->queue == entry->queue) ||
	    (found != first_found && first->queue >= 0))
		return 0;
	return nb_fail(nb,
		       "collective %u starts by the same semaphore as collective %u, %d places before it on stream %u: start that one before%s",
		       index, before, NEFF_NR_STARTS, entry->what.stream,
		       found && first_found ? ", by the same queue" : "");
}

int nb_start_collective(struct nb_program *nb, const struct nb_side *side, int queue, int *behind)
{
	const unsigned int index = nb->var[side->var - 1].first;
	struct nb_collective_entry *entry = &nb->collective[index];
	const int before = nb_shares_start(nb, index);

	*behind = 0;
	if (entry->queue >= 0)
		return nb_fail(nb, "collective %u (%s) is started twice", index, entry->op);
	if (nb_check_place(nb, index, queue))
		return -1;
	entry->queue = queue;
	return before < 0 ? 0 : nb_check_before(nb, index, before, behind);
}

int nb_check_collectives(struct nb_program *nb)
{
	unsigned int i;

	for (i = 0; i < nb->nr_collectives; i++)
		if (nb->collective[i].what.semaphore < 0)
			return nb_fail(nb, "collective %u (%s) is never started", i,
				       nb->collective[i].op);
	return 0;
}

/* Of a reduce_scatterv a rank does not count what it gets. */
bool nb_writes_metadata(const struct nb_collective *what)
{
	return what->metadata && !what->recv_counts_known && strcmp(what->op, "reduce_scatterv");
}

/* --- def.json --- */

/* Lists of @size numbers each. */
static json_object *nb_lists_json(const uint32_t *values, unsigned int size, unsigned int nr)
{
	json_object *lists = json_object_new_array(), *list;
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		list = json_object_new_array();
		for (j = 0; j < size; j++)
			json_object_array_add(list, json_object_new_int64(values[i * size + j]));
		json_object_array_add(lists, list);
	}
	return lists;
}

static json_object *nb_longs_json(const int64_t *steps, const uint32_t *sizes, unsigned int nr)
{
	json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(list, json_object_new_int64(steps ? steps[i] : sizes[i]));
	return list;
}

/* As descriptors have them; @to: they are written. */
static json_object *nb_parts_json(const struct nb_program *nb, const struct nb_side *parts,
				  unsigned int nr, bool to)
{
	json_object *list = json_object_new_array(), *object;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		object = json_object_new_object();
		nb_put_string(object, to ? "to" : "from", nb->var[parts[i].var - 1].name);
		nb_put_int(object, to ? "to_off" : "from_off", parts[i].offset);
		json_object_object_add(object, to ? "to_steps" : "from_steps",
				       nb_longs_json(parts[i].step, NULL, parts[i].ndim));
		json_object_object_add(object, to ? "to_sizes" : "from_sizes",
				       nb_longs_json(NULL, parts[i].size, parts[i].ndim));
		json_object_array_add(list, object);
	}
	return list;
}

static void nb_put_tensors(json_object *object, const struct nb_program *nb,
			   const struct nb_collective *what)
{
	nb_put_string(object, "dtype", neff_dtype_name(what->dtype));
	if (!what->nr_parts) {
		nb_put_string(object, "input", nb->var[what->input - 1].name);
		nb_put_string(object, "output", nb->var[what->output - 1].name);
		return;
	}
	json_object_object_add(object, "inputs",
			       nb_parts_json(nb, what->inputs, what->nr_parts, false));
	json_object_object_add(object, "outputs",
			       nb_parts_json(nb, what->outputs, what->nr_parts, true));
}

static json_object *nb_entry_json(const struct nb_program *nb,
				  const struct nb_collective_entry *entry)
{
	const struct nb_collective *what = &entry->what;
	json_object *object = json_object_new_object();

	nb_put_string(object, "op", entry->op);
	if (entry->reduce)
		nb_put_string(object, "reduce", entry->reduce);
	if (strcmp(entry->op, "barrier"))
		nb_put_tensors(object, nb, what);
	json_object_object_add(object, "replica_groups",
			       nb_lists_json(entry->ranks, what->group_size, what->nr_groups));
	if (what->nr_pairs)
		json_object_object_add(object, "pairs",
				       nb_lists_json(entry->pairs, 2, what->nr_pairs));
	if (what->channels > 1)
		nb_put_int(object, "channels", what->channels);
	if (what->metadata)
		nb_put_string(object, "metadata", nb->var[what->metadata - 1].name);
	if (what->recv_counts_known)
		nb_put_int(object, "recv_counts_known", 1);
	if (what->has_rdispls)
		nb_put_int(object, "has_rdispls", 1);
	if (what->root)
		nb_put_int(object, "root", what->root);
	if (what->priority)
		nb_put_int(object, "priority", what->priority);
	if (what->stream)
		nb_put_int(object, "stream", what->stream);
	nb_put_int(object, "semaphore", (uint64_t)what->semaphore);
	return object;
}

json_object *nb_collectives_json(const struct nb_program *nb)
{
	json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < nb->nr_collectives; i++)
		json_object_array_add(list, nb_entry_json(nb, &nb->collective[i]));
	return list;
}
