// SPDX-License-Identifier: MIT
/*
 * The device tells where each engine was, what it waited for, and the value of that
 * (Documentation/driver.rst: core dumps). Who should have posted it is in the program: all
 * instructions are looked through, which is only done when something went wrong.
 */
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/hang.h"
#include "exec/source.h"
#include "neuron/isa.h"

/* Posts that are named; the others are counted. */
#define NAMED	2
/* Instructions that are read from the device at a time. */
#define PIECE	256

/**
 * struct answer - a text that grows
 * @text: NUL terminated; what does not fit is left out
 * @length: of it
 */
struct answer {
	char *text;
	size_t length;
};

__attribute__((format(printf, 2, 3)))
static void add(struct answer *answer, const char *format, ...)
{
	size_t room = NRT_HANG_TEXT - answer->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(answer->text + answer->length, room, format, args);
	va_end(args);
	if (n > 0)
		answer->length += (size_t)n < room ? (size_t)n : room - 1;
}

/**
 * struct search - who posts a semaphore or an event
 * @event: which of the two it is
 * @index: its number
 * @found: posts so far
 */
struct search {
	const struct nrt_model *model;
	const struct nrt_part *part;
	struct answer *answer;
	bool event;
	uint32_t index;
	unsigned int found;
};

/* One more post: true if it is to be named. */
static bool found_one(struct search *search)
{
	if (++search->found > NAMED)
		return false;
	add(search->answer, search->found == 1 ? ", posted by " : " and by ");
	return true;
}

static bool posts(const struct search *search, const struct neuron_inst *inst)
{
	if (search->event)
		return inst->opcode == NEURON_OP_EVENT_SET && le32toh(inst->imm0) == search->index;
	return NEURON_GET(NEURON_SYNC_POST, inst->sync) != NEURON_SYNC_POST_NONE &&
	       le16toh(inst->post_sem) == search->index;
}

static void search_piece(struct search *search, unsigned int engine, uint32_t first,
			 const struct neuron_inst *image, uint32_t count)
{
	char line[NRT_SOURCE_TEXT];
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (!posts(search, &image[i]) || !found_one(search))
			continue;
		nrt_source_text(search->part, engine, first + i, " (", ")", line);
		add(search->answer, "the %s engine at pc %u%s", neff_engine_name(engine),
		    first + i, line);
	}
}

static void search_engine(struct search *search, unsigned int engine, struct neuron_inst *room)
{
	const struct nrt_part *part = search->part;
	uint32_t count = part->graph->image_count[engine], first, nr;
	struct nrt_error ignored;

	for (first = 0; first < count; first += nr) {
		nr = count - first < PIECE ? count - first : PIECE;
		if (nrt_bo_read(part->arena, part->code[engine] + first * sizeof(*room), room,
				nr * sizeof(*room), &ignored))
			return;
		search_piece(search, engine, first, room, nr);
	}
}

static void search_transfers(struct search *search)
{
	const struct neff_graph *graph = search->part->graph;
	size_t i;

	for (i = 0; i < graph->nr_descs; i++) {
		const struct neff_desc *desc = &graph->descs[i];

		if (desc->semaphore != (int)search->index || !found_one(search))
			continue;
		add(search->answer, "queue \"%.32s\" (transfer %u, triggered by the %s engine)",
		    graph->sets[desc->set].name, desc->id, neff_engine_name(desc->engine));
	}
}

static bool covers(const struct neff_var *var, uint32_t semaphore)
{
	return semaphore >= var->first && semaphore - var->first < var->count;
}

/* The ranks of a group run the same program: what this one posts there others post here. */
static void search_peers(struct search *search)
{
	const struct neff_graph *graph = search->part->graph;
	size_t i;

	for (i = 0; i < graph->nr_vars; i++) {
		const struct neff_var *var = &graph->vars[i];

		if (var->type == NEFF_VAR_PEER_SEM && covers(var, search->index) &&
		    found_one(search))
			add(search->answer, "the rank %u before this one (\"%.32s\")",
			    var->peer_offset, var->name);
	}
}

/* The other physical core of a logical one. */
static void search_sibling(struct search *search)
{
	const struct nrt_model *model = search->model;
	const struct neff_graph *graph;
	unsigned int p;
	size_t i;

	for (p = 0; p < model->nr_parts; p++) {
		graph = model->parts[p].graph;
		for (i = 0; search->part != &model->parts[p] && i < graph->nr_vars; i++)
			if (graph->vars[i].type == NEFF_VAR_SIBLING_SEM &&
			    covers(&graph->vars[i], search->index) && found_one(search))
				add(search->answer, "sg%02u (\"%.32s\")", graph->index,
				    graph->vars[i].name);
	}
}

static void add_posters(struct search *search)
{
	struct neuron_inst *room = malloc(PIECE * sizeof(*room));
	unsigned int e;

	if (!room)
		return;
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		search_engine(search, e, room);
	free(room);
	if (!search->event) {
		search_transfers(search);
		search_peers(search);
		search_sibling(search);
	}
	if (!search->found)
		add(search->answer, ", which nothing in the model posts");
	else if (search->found > NAMED)
		add(search->answer, " and %u more", search->found - NAMED);
}

static void add_wanted(struct answer *answer, const struct neuron_inst *inst)
{
	if (NEURON_GET(NEURON_SYNC_WAIT, inst->sync) != NEURON_SYNC_WAIT_NONE)
		add(answer, " to be %d%s", (int32_t)le32toh(inst->wait_value),
		    NEURON_GET(NEURON_SYNC_WAIT, inst->sync) == NEURON_SYNC_WAIT_GE ?
			    " or more" : "");
}

/* The value of the semaphore that the engine @name waits for. */
static bool find_value(const char *dump, const char *name, int *value)
{
	char key[40];
	const char *line;

	snprintf(key, sizeof(key), "\nwait %s: semaphore ", name);
	line = strstr(dump, key);
	return line && sscanf(line + strlen(key), "%*u value %d", value) == 1;
}

/* Says of the engine what it did, if it @runs or waits as is asked for; true: it did. */
static bool add_engine(const struct nrt_model *model, const struct nrt_part *part,
		       const char *dump, unsigned int engine, bool runs, struct answer *answer)
{
	struct search search = { .model = model, .part = part, .answer = answer };
	const char *name = neff_engine_name(engine), *at;
	char key[40], line[NRT_SOURCE_TEXT], state[16], what[16] = "";
	struct neuron_inst inst;
	uint32_t pc;
	int value;

	snprintf(key, sizeof(key), "\nengine %s: ", name);
	at = strstr(dump, key);
	if (!at || sscanf(at + strlen(key), "pc %u state %15s %15s %u", &pc, state, what,
			  &search.index) < 2 || !strcmp(state, "halted") ||
	    runs == !strcmp(state, "waiting"))
		return false;
	nrt_source_text(part, engine, pc, ", ", "", line);
	add(answer, "; ");
	if (model->nr_parts > 1)
		add(answer, "sg%02u: ", part->graph->index);
	add(answer, "%s engine, pc %u%s, ", name, pc, line);
	if (runs) {
		add(answer, "runs");
		return true;
	}
	search.event = !strcmp(what, "event");
	add(answer, "waits for %s %u", search.event ? "event" : "semaphore", search.index);
	if (!search.event && nrt_source_inst(part, engine, pc, &inst))
		add_wanted(answer, &inst);
	if (!search.event && find_value(dump, name, &value))
		add(answer, "; it is %d", value);
	add_posters(&search);
	return true;
}

static bool add_part(const struct nrt_model *model, const struct nrt_part *part, uint64_t job,
		     struct answer *answer)
{
	char *dump = nrt_core_dump(part->core, job);
	bool runs = false;
	unsigned int e;

	/* Those that run first: what others wait for is often that they end. */
	for (e = 0; dump && e < NEURON_NR_ENGINES; e++)
		runs |= add_engine(model, part, dump, e, true, answer);
	for (e = 0; dump && e < NEURON_NR_ENGINES; e++)
		add_engine(model, part, dump, e, false, answer);
	free(dump);
	return runs;
}

bool nrt_hang_explain(const struct nrt_model *model, const struct drm_neuron_wait_job *wait,
		      char text[NRT_HANG_TEXT])
{
	struct answer answer = { .text = text };
	bool hang = false, runs = false;
	unsigned int i;

	*text = '\0';
	for (i = 0; i < model->nr_parts; i++)
		hang |= (wait[i].flags & DRM_NEURON_JOB_HANG) != 0;
	/* A part that was ended with another one has no dump with every back end. */
	for (i = 0; hang && i < model->nr_parts; i++)
		runs |= add_part(model, &model->parts[i], wait[i].job, &answer);
	return runs;
}
