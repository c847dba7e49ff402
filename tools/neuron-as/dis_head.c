// SPDX-License-Identifier: MIT
/* The program's name, variables, queues and semaphores. */
#include <endian.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "dis.h"

#define WORDS_PER_LINE	8

static void put_tensor(struct dis *dis, const struct neff_var *var, const char *directive)
{
	unsigned int i;

	fprintf(dis->out, "%s ", directive);
	dis_name(dis, var->name);
	fprintf(dis->out, " %s ", trn_isa_dtype_name(var->dtype));
	for (i = 0; i < var->ndim; i++)
		fprintf(dis->out, "%s%u", i ? "*" : "", var->shape[i]);
}

static void put_io(struct dis *dis, const struct neff_var *var, const char *directive)
{
	put_tensor(dis, var, directive);
	dis_newline(dis);
}

static void put_numbers(struct dis *dis, const char *directive, const uint8_t *data, size_t count,
			unsigned int bytes)
{
	uint32_t value;
	size_t i;

	for (i = 0; i < count; i++) {
		if (i % WORDS_PER_LINE == 0)
			fprintf(dis->out, "%s", directive);
		value = 0;
		memcpy(&value, data + i * bytes, bytes);
		fprintf(dis->out, "%s0x%" PRIx32, i % WORDS_PER_LINE ? ", " : " ", le32toh(value));
		if (i % WORDS_PER_LINE == WORDS_PER_LINE - 1 || i == count - 1)
			dis_newline(dis);
	}
}

static void put_file(struct dis *dis, const struct neff_var *var)
{
	size_t whole = var->size & ~(uint64_t)3;

	if (dis_dge(dis, var))
		return;
	fputs(".file ", dis->out);
	dis_name(dis, var->name);
	dis_newline(dis);
	put_numbers(dis, ".words", var->data, whole / 4, 4);
	put_numbers(dis, ".bytes", var->data + whole, var->size - whole, 1);
}

static void put_peer(struct dis *dis, const struct neff_var *var)
{
	if (var->type == NEFF_VAR_PEER) {
		fputs(".peer ", dis->out);
		dis_name(dis, var->name);
		fprintf(dis->out, " %u ", var->peer_offset);
		dis_name(dis, dis->graph->vars[var->ref].name);
	} else {
		fputs(".peer_sem ", dis->out);
		dis_name(dis, var->name);
		fprintf(dis->out, " %u s%u %u", var->peer_offset, var->first, var->count);
	}
	dis_newline(dis);
}

/* A pointer is a table of one. The assembler knows only variables that come before. */
static bool put_table(struct dis *dis, const struct neff_var *var)
{
	const struct neff_var *vars = dis->graph->vars;
	uint32_t i;

	fputs(var->type == NEFF_VAR_POINTER ? ".pointer " : ".dge_table ", dis->out);
	dis_name(dis, var->name);
	for (i = 0; i < var->nr_refs; i++) {
		const struct neff_var *ref = &vars[var->refs[i]];

		if (ref >= var)
			return dis_fail(dis,
					"variable \"%s\" has the address of \"%s\", which comes later",
					var->name, ref->name);
		fputc(' ', dis->out);
		if (ref->type == NEFF_VAR_STATE)
			fputs("sbuf", dis->out);
		else
			dis_name(dis, ref->name);
	}
	dis_newline(dis);
	return true;
}

/* Strings of the assembler hold no control characters. */
static bool put_printed(struct dis *dis, const struct neff_var *var)
{
	const char *c;

	for (c = var->print; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return dis_fail(dis,
					"variable \"%s\": what is printed before it has a control character",
					var->name);
	put_tensor(dis, var, ".print");
	fputc(' ', dis->out);
	dis_string(dis, var->print);
	dis_newline(dis);
	return true;
}

static bool put_var(struct dis *dis, const struct neff_var *var)
{
	switch (var->type) {
	case NEFF_VAR_INPUT:
		put_io(dis, var, ".input");
		return true;
	case NEFF_VAR_OUTPUT:
		put_io(dis, var, ".output");
		return true;
	case NEFF_VAR_TMP:
		if (var->print)
			return put_printed(dis, var);
		fputs(".tmp ", dis->out);
		dis_name(dis, var->name);
		fprintf(dis->out, " %" PRIu64, var->size);
		dis_newline(dis);
		return true;
	case NEFF_VAR_FILE:
		put_file(dis, var);
		return true;
	case NEFF_VAR_STATE:
		if (var->size != NEURON_TPB_SBUF_SIZE)
			return dis_fail(dis, "variable \"%s\" is only a part of SBUF", var->name);
		dis_line(dis, ".sbuf");
		return true;
	case NEFF_VAR_POINTER:
	case NEFF_VAR_DGE_TABLE:
		return put_table(dis, var);
	case NEFF_VAR_PEER:
	case NEFF_VAR_PEER_SEM:
		put_peer(dis, var);
		return true;
	case NEFF_VAR_SIBLING_STATE:
		fputs(".sibling_sbuf ", dis->out);
		dis_name(dis, var->name);
		dis_newline(dis);
		return true;
	case NEFF_VAR_SIBLING_SEM:
		fputs(".sibling_sem ", dis->out);
		dis_name(dis, var->name);
		fprintf(dis->out, " s%u %u", var->first, var->count);
		dis_newline(dis);
		return true;
	case NEFF_VAR_CC_SEM:
		return dis_collective(dis, var);
	case NEFF_VAR_VIRTUAL:
		fputs(".virtual ", dis->out);
		dis_name(dis, var->name);
		fprintf(dis->out, " %" PRIu64 " %" PRIu64, var->size, var->offset);
		dis_newline(dis);
		return true;
	}
	return dis_fail(dis, "variable \"%s\": the assembler has no such variables", var->name);
}

/* Windows are numbered by var_id, and the assembler counts from 1. */
static bool put_vars(struct dis *dis)
{
	const struct neff_graph *graph = dis->graph;
	size_t i;

	for (i = 0; i < graph->nr_vars; i++) {
		if (graph->vars[i].var_id != i + 1)
			return dis_fail(dis, "variable \"%s\" has var_id %u, not %zu",
					graph->vars[i].name, graph->vars[i].var_id, i + 1);
		if (graph->vars[i].alignment)
			return dis_fail(dis, "variable \"%s\": the assembler has no alignment",
					graph->vars[i].name);
		if (!put_var(dis, &graph->vars[i]))
			return false;
	}
	return dis_all_started(dis);
}

/* The instances of @queue, or NULL. */
static struct json_object *instances_of(struct json_object *queue)
{
	struct json_object *list = NULL;

	json_object_object_get_ex(queue, "queue_instances", &list);
	return list && json_object_array_length(list) ? list : NULL;
}

static const char *instance(struct json_object *list, size_t i)
{
	return json_object_get_string(json_object_array_get_idx(list, i));
}

/*
 * The reader drops what an instance is one of, and the type of a set. *@name: of the set in
 * def.json; *@nth: the number of the instance.
 */
static struct json_object *find_queue(const struct neff_set *set, struct json_object *queues,
				      const char **name, size_t *nth)
{
	struct json_object *queue, *list;

	*name = set->name;
	*nth = 0;
	if (!set->instance)
		return json_object_object_get_ex(queues, set->name, &queue) ? queue : NULL;
	json_object_object_foreach(queues, key, object) {
		list = instances_of(object);
		for (*nth = 0; list && *nth < json_object_array_length(list); ++*nth) {
			if (strcmp(instance(list, *nth), set->name))
				continue;
			*name = key;
			return object;
		}
	}
	return NULL;
}

static void put_instances(struct dis *dis, struct json_object *queue)
{
	struct json_object *list = instances_of(queue);
	size_t i;

	if (!list)
		return;
	fputs(" instances", dis->out);
	for (i = 0; i < json_object_array_length(list); i++) {
		fputc(' ', dis->out);
		dis_name(dis, instance(list, i));
	}
}

/* The first instance stands for all. */
static bool put_queue(struct dis *dis, const struct neff_set *set, struct json_object *def)
{
	struct json_object *queues, *queue, *type;
	const char *name;
	size_t nth;

	if (!json_object_object_get_ex(def, "dma_queue", &queues))
		return dis_fail(dis, "queue \"%s\" has no type", set->name);
	queue = find_queue(set, queues, &name, &nth);
	if (!queue || !json_object_object_get_ex(queue, "type", &type))
		return dis_fail(dis, "queue \"%s\" has no type", set->name);
	if (nth)
		return true;
	if (set->owner < 0)
		return dis_fail(dis, "queue \"%s\" has no owner", set->name);
	fputs(".queue ", dis->out);
	dis_name(dis, name);
	fprintf(dis->out, " %s %s %u", json_object_get_string(type),
		neff_engine_name((unsigned int)set->owner), set->num);
	if (set->priority)
		fprintf(dis->out, " priority %u", set->priority);
	put_instances(dis, queue);
	dis_newline(dis);
	return true;
}

static bool put_queues(struct dis *dis, struct json_object *def)
{
	const struct neff_graph *graph = dis->graph;
	unsigned int index = 0;
	size_t i, done;

	for (done = 0; done < graph->nr_sets; done++) {
		for (i = 0; i < graph->nr_sets && graph->sets[i].index != index; i++)
			;
		if (i == graph->nr_sets)
			return dis_fail(dis, "no queue set begins at queue index %u", index);
		if (!put_queue(dis, &graph->sets[i], def))
			return false;
		index += graph->sets[i].num;
	}
	return true;
}

static void raise_to(unsigned int *count, unsigned int number)
{
	if (number < NEURON_NR_SEMAPHORES && number >= *count)
		*count = number + 1;
}

/* Semaphores that the source will name, so that none is declared by its use. */
static unsigned int count_sems(const struct neff_graph *graph)
{
	unsigned int count = 0;
	unsigned int e;
	size_t i;

	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		for (i = 0; graph->image[e] && i < graph->image_count[e]; i++) {
			const struct neuron_inst *inst = &graph->image[e][i];

			if (NEURON_GET(NEURON_SYNC_WAIT, inst->sync))
				raise_to(&count, le16toh(inst->wait_sem));
			if (NEURON_GET(NEURON_SYNC_POST, inst->sync))
				raise_to(&count, le16toh(inst->post_sem));
		}
	}
	for (i = 0; i < graph->nr_descs; i++)
		if (graph->descs[i].semaphore >= 0)
			raise_to(&count, (unsigned int)graph->descs[i].semaphore);
	for (i = 0; i < graph->nr_vars; i++)
		if (graph->vars[i].type == NEFF_VAR_PEER_SEM)
			raise_to(&count, graph->vars[i].first);
	for (i = 0; i < graph->nr_collectives; i++)
		raise_to(&count, graph->collectives[i].semaphore);
	for (i = 0; i < NEURON_NR_SEMAPHORES; i++)
		if (graph->sem_clear[i / 64] >> (i % 64) & 1)
			raise_to(&count, (unsigned int)i);
	return count;
}

static bool put_sems(struct dis *dis)
{
	const struct neff_graph *graph = dis->graph;
	unsigned int count = count_sems(graph);
	unsigned int i;

	if (!graph->has_sem_clear && graph->neff->peers)
		return dis_fail(dis, "a program with peers needs a sem_clear list");
	if (!graph->has_sem_clear)
		count = NEURON_NR_SEMAPHORES;
	for (i = 0; i < count; i++)
		dis_line(dis, ".sem sem%u%s", i,
			 graph->has_sem_clear && !(graph->sem_clear[i / 64] >> (i % 64) & 1) ?
			 " keep" : "");
	return true;
}

static struct json_object *parse_def(const struct neff_graph *graph)
{
	const struct neff_file *file = neff_find_file(graph, "def.json");
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root = NULL;

	if (tokener && file && file->size <= INT32_MAX)
		root = json_tokener_parse_ex(tokener, (const char *)file->data, (int)file->size);
	if (tokener)
		json_tokener_free(tokener);
	return root;
}

bool dis_head(struct dis *dis)
{
	struct json_object *def = parse_def(dis->graph);
	bool good;

	if (!dis->graph->index && !dis->how->sections) {
		fputs(".program ", dis->out);
		dis_name(dis, dis->neff->name);
		dis_newline(dis);
	}
	good = (!dis_wants(dis, AS_SECTION_VARIABLES) || put_vars(dis)) &&
	       (!dis_wants(dis, AS_SECTION_QUEUES) || put_queues(dis, def)) &&
	       (!dis_wants(dis, AS_SECTION_SEMAPHORES) || put_sems(dis));
	json_object_put(def);
	if (good && dis->graph->notify_bytes && !dis->how->sections)
		dis_line(dis, ".notify_bytes %u", dis->graph->notify_bytes);
	return good;
}
