// SPDX-License-Identifier: MIT
/* The program: variables, queue sets, semaphores, the sticky error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nb_private.h"
#include "neff/part.h"

#define NB_MAX_QUEUES	NEURON_JOB_MAX_QUEUES
#define NB_HUGE_PAGE	(2ul << 20)

int nb_fail(struct nb_program *nb, const char *format, ...)
{
	va_list args;

	if (nb->error[0])
		return -1;
	va_start(args, format);
	vsnprintf(nb->error, sizeof(nb->error), format, args);
	va_end(args);
	return -1;
}

void *nb_resize(void *old, size_t used, size_t size)
{
	void *new;

	if (size < NB_HUGE_PAGE)
		return realloc(old, size);
	size = (size + NB_HUGE_PAGE - 1) / NB_HUGE_PAGE * NB_HUGE_PAGE;
	new = aligned_alloc(NB_HUGE_PAGE, size);
	if (!new)
		return NULL;
	/* Only advice: without it the pages are small. */
	(void)madvise(new, size, MADV_HUGEPAGE);
	if (used)
		memcpy(new, old, used);
	free(old);
	return new;
}

void *nb_grow(struct nb_program *nb, void **array, size_t count, size_t *room,
	      size_t size)
{
	size_t want = *room ? *room * 2 : 16;
	void *p;

	if (count == *room) {
		p = nb_resize(*array, count * size, want * size);
		if (!p) {
			nb_fail(nb, "out of memory");
			return NULL;
		}
		*array = p;
		*room = want;
	}
	p = (char *)*array + count * size;
	memset(p, 0, size);
	return p;
}

struct nb_program *nb_new(const char *name)
{
	struct nb_program *nb = calloc(1, sizeof(*nb));

	if (!nb)
		return NULL;
	nb->source = -1;
	nb->part_tries = NEFF_PART_TRIES;
	nb->name = strdup(name);
	if (!nb->name) {
		free(nb);
		return NULL;
	}
	if (strlen(name) >= NEFF_NAME_LEN)
		nb_fail(nb, "the program name is longer than %d bytes",
			NEFF_NAME_LEN - 1);
	return nb;
}

struct nb_program *nb_second(struct nb_program *nb)
{
	if (!nb->second) {
		nb->second = nb_new(nb->name);
		if (nb->second)
			nb->second->generation = nb->generation;
		else
			nb_fail(nb, "out of memory");
	}
	return nb->second;
}

void nb_queues_drop(struct nb_program *nb, size_t count)
{
	struct nb_queue_set *set;

	while (nb->nr_queues > count) {
		set = &nb->queue[--nb->nr_queues];
		nb->next_queue_index = set->index;
		free(set->name);
		free(set->type);
		free(set->set);
	}
}

void nb_free(struct nb_program *nb)
{
	size_t i, j;

	if (!nb)
		return;
	nb_free(nb->second);
	for (i = 0; i < nb->nr_vars; i++) {
		free(nb->var[i].name);
		free(nb->var[i].print);
		free(nb->var[i].data);
		free(nb->var[i].refs);
	}
	nb_queues_drop(nb, 0);
	for (i = 0; i < NEURON_NR_ENGINES; i++) {
		for (j = 0; j < nb->stream[i].nr_dma; j++)
			free(nb->stream[i].dma[j].move);
		free(nb->stream[i].inst);
		free(nb->stream[i].dma);
		free(nb->stream[i].line);
	}
	for (i = 0; i < nb->nr_files; i++)
		free(nb->file[i]);
	nb_collectives_free(nb);
	nb_record_free(nb->record);
	nb_tiles_free(nb->tiles);
	free(nb->made.reason);
	free(nb->file);
	free(nb->var);
	free(nb->name_id);
	free(nb->queue);
	free(nb->name);
	free(nb);
}

const char *nb_error(const struct nb_program *nb)
{
	if (nb->error[0])
		return nb->error;
	return nb->second ? nb_error(nb->second) : NULL;
}

void nb_forget_error(struct nb_program *nb)
{
	nb->error[0] = '\0';
	if (nb->second)
		nb_forget_error(nb->second);
}

/* Where the id of @name is in the table of names, or a free place for it. */
static size_t nb_name_slot(const struct nb_program *nb, const char *name)
{
	uint32_t hash = 2166136261u;
	const char *c;
	size_t slot;

	for (c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	slot = (hash ^ hash >> 15) & (nb->name_room - 1);
	while (nb->name_id[slot] && strcmp(nb->var[nb->name_id[slot] - 1].name, name))
		slot = (slot + 1) & (nb->name_room - 1);
	return slot;
}

/* Twice as many places as names at least, so that a search is short. */
static int nb_grow_names(struct nb_program *nb)
{
	size_t room = nb->name_room ? nb->name_room * 2 : 64, i;
	int *ids;

	if (nb->nr_vars * 2 < nb->name_room)
		return 0;
	ids = calloc(room, sizeof(*ids));
	if (!ids)
		return nb_fail(nb, "out of memory");
	free(nb->name_id);
	nb->name_id = ids;
	nb->name_room = room;
	for (i = 0; i < nb->nr_vars; i++)
		ids[nb_name_slot(nb, nb->var[i].name)] = (int)i + 1;
	return 0;
}

int nb_find_var(const struct nb_program *nb, const char *name)
{
	return nb->nr_vars ? nb->name_id[nb_name_slot(nb, name)] : 0;
}

uint64_t nb_var_size(const struct nb_program *nb, int var)
{
	return var < 1 || var > (int)nb->nr_vars ? 0 : nb->var[var - 1].size;
}

bool nb_name_ok(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return c != name && c - name < NEFF_NAME_LEN;
}

static struct nb_var *nb_add_var(struct nb_program *nb, enum nb_var_type type,
				 const char *name, uint64_t size)
{
	struct nb_var *var;

	if (!nb_name_ok(name) || nb_find_var(nb, name)) {
		nb_fail(nb, "variable \"%.64s\": the name is taken or no good one",
			name);
		return NULL;
	}
	if (!size || size > NB_MAX_SIZE) {
		nb_fail(nb, "variable \"%.64s\": the size must be 1 to 2^46 bytes",
			name);
		return NULL;
	}
	if (nb->nr_vars == NB_MAX_VARS) {
		nb_fail(nb, "more than %d variables", NB_MAX_VARS);
		return NULL;
	}
	if (nb_grow_names(nb))
		return NULL;
	var = nb_grow(nb, (void **)&nb->var, nb->nr_vars, &nb->var_room,
		      sizeof(*var));
	if (!var)
		return NULL;
	var->type = type;
	var->size = size;
	var->name = strdup(name);
	if (!var->name) {
		nb_fail(nb, "out of memory");
		return NULL;
	}
	nb->nr_vars++;
	nb->name_id[nb_name_slot(nb, name)] = (int)nb->nr_vars;
	return var;
}

static int nb_tensor(struct nb_program *nb, enum nb_var_type type,
		     const char *name, enum neuron_dtype dtype,
		     unsigned int ndim, const uint32_t *shape)
{
	uint64_t size = neuron_dtype_bytes(dtype);
	struct nb_var *var;
	unsigned int i;

	if (!size || !ndim || ndim > 8) {
		nb_fail(nb, "tensor \"%.64s\": bad type or number of dimensions",
			name);
		return 0;
	}
	for (i = 0; i < ndim; i++)
		if (__builtin_mul_overflow(size, shape[i], &size))
			size = UINT64_MAX;
	var = nb_add_var(nb, type, name, size);
	if (!var)
		return 0;
	var->dtype = dtype;
	var->ndim = ndim;
	memcpy(var->shape, shape, ndim * sizeof(*shape));
	return nb->nr_vars;
}

int nb_input(struct nb_program *nb, const char *name, enum neuron_dtype dtype,
	     unsigned int ndim, const uint32_t *shape)
{
	return nb_tensor(nb, NB_VAR_INPUT, name, dtype, ndim, shape);
}

int nb_output(struct nb_program *nb, const char *name, enum neuron_dtype dtype,
	      unsigned int ndim, const uint32_t *shape)
{
	return nb_tensor(nb, NB_VAR_OUTPUT, name, dtype, ndim, shape);
}

int nb_tmp(struct nb_program *nb, const char *name, uint64_t size)
{
	return nb_add_var(nb, NB_VAR_TMP, name, size) ? (int)nb->nr_vars : 0;
}

int nb_virtual(struct nb_program *nb, const char *name, uint64_t size, uint64_t offset)
{
	struct nb_var *var = nb_add_var(nb, NB_VAR_VIRTUAL, name, size);

	if (!var)
		return 0;
	var->offset = offset;
	return (int)nb->nr_vars;
}

int nb_print(struct nb_program *nb, const char *name, const char *prefix,
	     enum neuron_dtype dtype, unsigned int ndim, const uint32_t *shape)
{
	int id = nb_tensor(nb, NB_VAR_TMP, name, dtype, ndim, shape);

	if (!id)
		return 0;
	nb->var[id - 1].print = strdup(prefix);
	if (!nb->var[id - 1].print)
		nb_fail(nb, "out of memory");
	return id;
}

/* The archive's own files, beside which the constants lie. */
static bool nb_file_name_taken(const char *name)
{
	const char *engine;
	unsigned int e;
	size_t len;

	if (!strcmp(name, "def.json"))
		return true;
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		engine = neff_engine_name(e);
		len = strlen(engine);
		if (!strncmp(name, engine, len) &&
		    (!strcmp(name + len, ".json") || !strcmp(name + len, ".bin")))
			return true;
	}
	return false;
}

int nb_file(struct nb_program *nb, const char *name, const void *data,
	    size_t size)
{
	struct nb_var *var;

	if (nb_file_name_taken(name) || strchr(name, '/')) {
		nb_fail(nb, "file \"%.64s\": the name has a slash or is one of the NEFF's own",
			name);
		return 0;
	}
	var = nb_add_var(nb, NB_VAR_FILE, name, size);
	if (!var)
		return 0;
	var->data = malloc(size);
	if (!var->data) {
		nb_fail(nb, "out of memory");
		return 0;
	}
	memcpy(var->data, data, size);
	return nb->nr_vars;
}

int nb_sbuf(struct nb_program *nb)
{
	if (!nb->sbuf && nb_add_var(nb, NB_VAR_SBUF, "sbuf",
				    NEURON_TPB_SBUF_SIZE))
		nb->sbuf = nb->nr_vars;
	return nb->sbuf;
}

uint64_t nb_sbuf_offset(unsigned int partition, uint64_t byte)
{
	return (uint64_t)partition * NEURON_TPB_SBUF_STRIDE + byte;
}

/* A variable that has an address that programs may know. */
static bool nb_has_address(const struct nb_program *nb, int ref)
{
	return ref >= 1 && ref <= (int)nb->nr_vars &&
	       nb->var[ref - 1].type != NB_VAR_PEER_SEM &&
	       nb->var[ref - 1].type != NB_VAR_SIBLING_SEM &&
	       nb->var[ref - 1].type != NB_VAR_CC_SEM;
}

int nb_pointer(struct nb_program *nb, const char *name, int ref)
{
	struct nb_var *var;

	if (!nb_has_address(nb, ref)) {
		nb_fail(nb, "pointer \"%.64s\" refers to no variable in memory",
			name);
		return 0;
	}
	var = nb_add_var(nb, NB_VAR_POINTER, name, 8);
	if (!var)
		return 0;
	var->ref = ref;
	return nb->nr_vars;
}

int nb_dge_table(struct nb_program *nb, const char *name, unsigned int count,
		 const int *refs)
{
	struct nb_var *var;
	unsigned int i;

	for (i = 0; i < count; i++)
		if (!nb_has_address(nb, refs[i])) {
			nb_fail(nb, "table \"%.64s\": entry %u refers to no variable in memory",
				name, i);
			return 0;
		}
	var = nb_add_var(nb, NB_VAR_DGE_TABLE, name, 8ull * count);
	if (!var)
		return 0;
	var->refs = calloc(count, sizeof(*refs));
	if (!var->refs) {
		nb_fail(nb, "out of memory");
		return 0;
	}
	memcpy(var->refs, refs, count * sizeof(*refs));
	var->count = count;
	return nb->nr_vars;
}

int nb_peer(struct nb_program *nb, const char *name, unsigned int offset,
	    int ref)
{
	struct nb_var *var;

	if (ref < 1 || ref > (int)nb->nr_vars ||
	    (nb->var[ref - 1].type != NB_VAR_TMP &&
	     nb->var[ref - 1].type != NB_VAR_INPUT)) {
		nb_fail(nb, "peer \"%.64s\" refers to no tmp or input variable",
			name);
		return 0;
	}
	if (offset > NB_MAX_RANKS) {
		nb_fail(nb, "peer \"%.64s\": rank offset %u is more than %d",
			name, offset, NB_MAX_RANKS);
		return 0;
	}
	var = nb_add_var(nb, NB_VAR_PEER, name, nb->var[ref - 1].size);
	if (!var)
		return 0;
	var->peer_offset = offset;
	var->ref = ref;
	return nb->nr_vars;
}

int nb_peer_sem(struct nb_program *nb, const char *name, unsigned int offset,
		unsigned int first, unsigned int count)
{
	struct nb_var *var;

	if (!count || first >= NEURON_NR_SEMAPHORES ||
	    count > NEURON_NR_SEMAPHORES - first || offset > NB_MAX_RANKS) {
		nb_fail(nb, "peer \"%.64s\": no such semaphores or rank", name);
		return 0;
	}
	var = nb_add_var(nb, NB_VAR_PEER_SEM, name, 4ull * count);
	if (!var)
		return 0;
	var->peer_offset = offset;
	var->first = first;
	var->count = count;
	return nb->nr_vars;
}

int nb_sem(struct nb_program *nb, bool keep)
{
	if (nb->nr_sems == NEURON_NR_SEMAPHORES)
		return nb_fail(nb, "more than %d semaphores",
			       NEURON_NR_SEMAPHORES);
	nb->sem_keep[nb->nr_sems] = keep;
	return nb->nr_sems++;
}

void nb_notify_bytes(struct nb_program *nb, uint32_t bytes)
{
	if (bytes < 64 || bytes > NB_MAX_NOTIFY || (bytes & (bytes - 1)))
		nb_fail(nb, "notify stream of %u bytes: a power of two from 64 to 2^30 is needed",
			bytes);
	else
		nb->notify_bytes = bytes;
}

int nb_find_queue(const struct nb_program *nb, const char *name)
{
	size_t i;

	for (i = 0; i < nb->nr_queues; i++)
		if (!strcmp(nb->queue[i].name, name))
			return i;
	return -1;
}

unsigned int nb_queue_index(const struct nb_program *nb, int queue)
{
	return nb->queue[queue].index;
}

enum neuron_engine nb_queue_owner(const struct nb_program *nb, int queue)
{
	return nb->queue[queue].owner;
}

unsigned int nb_queue_count(const struct nb_program *nb, int queue)
{
	return nb->queue[queue].num_queues;
}

static bool nb_same_set(const struct nb_queue_set *a, const struct nb_queue_set *b)
{
	return a->set && b->set && !strcmp(a->set, b->set);
}

void nb_queue_priority(struct nb_program *nb, int queue, unsigned int priority)
{
	size_t i;

	if (queue < 0)
		return;
	if (priority >= NEURON_NR_PRIORITIES)
		nb_fail(nb, "queue \"%.64s\": the priority must be 0 to %u",
			nb->queue[queue].name, NEURON_NR_PRIORITIES - 1);
	else
		/* The instances of a set have one. */
		for (i = 0; i < nb->nr_queues; i++)
			if (i == (size_t)queue || nb_same_set(&nb->queue[i], &nb->queue[queue]))
				nb->queue[i].priority = priority;
}

/* The name of a set that has instances. */
static bool nb_is_queue_set(const struct nb_program *nb, const char *name)
{
	size_t i;

	for (i = 0; i < nb->nr_queues; i++)
		if (nb->queue[i].set && !strcmp(nb->queue[i].set, name))
			return true;
	return false;
}

bool nb_queue_taken(const struct nb_program *nb, const char *name)
{
	return nb_find_queue(nb, name) >= 0 || nb_is_queue_set(nb, name);
}

int nb_queue(struct nb_program *nb, const char *name, const char *type,
	     enum neuron_engine owner, unsigned int num_queues)
{
	struct nb_queue_set *set;

	if (!nb_name_ok(name) || nb_queue_taken(nb, name))
		return nb_fail(nb, "queue \"%.64s\": the name is taken or no good one",
			       name);
	if (strcmp(type, "in") && strcmp(type, "out") && strcmp(type, "data") &&
	    strcmp(type, "dynamic"))
		return nb_fail(nb, "queue \"%.64s\": the type must be in, out, data or dynamic",
			       name);
	if (!num_queues || num_queues > 16 || owner >= NEURON_NR_ENGINES)
		return nb_fail(nb, "queue \"%.64s\": 1 to 16 queues and an engine are needed",
			       name);
	if (nb->next_queue_index + num_queues > NB_MAX_QUEUES)
		return nb_fail(nb, "more than %d queues", NB_MAX_QUEUES);
	set = nb_grow(nb, (void **)&nb->queue, nb->nr_queues, &nb->queue_room,
		      sizeof(*set));
	if (!set)
		return -1;
	set->name = strdup(name);
	set->type = strdup(type);
	set->owner = owner;
	set->num_queues = num_queues;
	set->priority = 0;
	set->index = nb->next_queue_index;
	nb->next_queue_index += num_queues;
	nb->nr_queues++;
	if (!set->name || !set->type)
		return nb_fail(nb, "out of memory");
	return nb->nr_queues - 1;
}

int nb_sibling_sbuf(struct nb_program *nb, const char *name)
{
	return nb_add_var(nb, NB_VAR_SIBLING_SBUF, name, NEURON_TPB_SBUF_SIZE) ? nb->nr_vars : 0;
}

int nb_sibling_sem(struct nb_program *nb, const char *name, unsigned int first,
		   unsigned int count)
{
	struct nb_var *var;

	if (!count || first >= NEURON_NR_SEMAPHORES || count > NEURON_NR_SEMAPHORES - first) {
		nb_fail(nb, "sibling \"%.64s\": no such semaphores", name);
		return 0;
	}
	var = nb_add_var(nb, NB_VAR_SIBLING_SEM, name, 4ull * count);
	if (!var)
		return 0;
	var->first = first;
	var->count = count;
	return nb->nr_vars;
}

int nb_cc_sem(struct nb_program *nb, const char *name, unsigned int index)
{
	struct nb_var *var = nb_add_var(nb, NB_VAR_CC_SEM, name, 4);

	if (!var)
		return 0;
	var->first = index;
	var->count = 1;
	return nb->nr_vars;
}

int nb_queue_instances(struct nb_program *nb, const char *name, const char *type,
		       enum neuron_engine owner, unsigned int num_queues, unsigned int count,
		       const char *const *instances)
{
	size_t first = nb->nr_queues, i;

	if (!count)
		return nb_fail(nb, "queue \"%.64s\": at least one instance is needed", name);
	if (!nb_name_ok(name) || nb_queue_taken(nb, name))
		return nb_fail(nb, "queue \"%.64s\": the name is taken or no good one", name);
	for (i = 0; i < count; i++) {
		if (nb_queue(nb, instances[i], type, owner, num_queues) < 0)
			return -1;
		nb->queue[nb->nr_queues - 1].set = strdup(name);
		if (!nb->queue[nb->nr_queues - 1].set)
			return nb_fail(nb, "out of memory");
	}
	return (int)first;
}
