// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/set.h"

struct entry {
	char *name;
	void *tensor;
};

/**
 * struct nrt_set - a tensor set; they are small, so a search is enough
 * @lock: protects the rest
 * @entries, @count, @room: tensors
 */
struct nrt_set {
	pthread_mutex_t lock;
	struct entry *entries;
	size_t count;
	size_t room;
};

struct nrt_set *nrt_set_new(void)
{
	struct nrt_set *set = calloc(1, sizeof(*set));

	if (set)
		pthread_mutex_init(&set->lock, NULL);
	return set;
}

void nrt_set_release(struct nrt_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		free(set->entries[i].name);
	free(set->entries);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* With the lock. */
static struct entry *find_entry(struct nrt_set *set, const char *name)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		if (!strcmp(set->entries[i].name, name))
			return &set->entries[i];
	return NULL;
}

/* With the lock: a new entry without a tensor. */
static struct entry *add_entry(struct nrt_set *set, const char *name)
{
	struct entry *entry;

	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 8;
		struct entry *entries = reallocarray(set->entries, room, sizeof(*entries));

		if (!entries)
			return NULL;
		set->entries = entries;
		set->room = room;
	}
	entry = &set->entries[set->count];
	entry->name = strdup(name);
	if (!entry->name)
		return NULL;
	set->count++;
	return entry;
}

NRT_STATUS nrt_set_add(struct nrt_set *set, const char *name, void *tensor,
		       struct nrt_error *error)
{
	struct entry *entry;

	pthread_mutex_lock(&set->lock);
	entry = find_entry(set, name) ?: add_entry(set, name);
	if (entry)
		entry->tensor = tensor;
	pthread_mutex_unlock(&set->lock);
	return entry ? NRT_SUCCESS : nrt_error_memory(error);
}

void *nrt_set_find(struct nrt_set *set, const char *name)
{
	const struct entry *entry;
	void *tensor;

	pthread_mutex_lock(&set->lock);
	entry = find_entry(set, name);
	tensor = entry ? entry->tensor : NULL;
	pthread_mutex_unlock(&set->lock);
	return tensor;
}

void nrt_set_names(struct nrt_set *set, char *text, size_t size)
{
	size_t used = 0, i;

	pthread_mutex_lock(&set->lock);
	snprintf(text, size, "%s", set->count ? "" : "nothing");
	for (i = 0; i < set->count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s\"%.40s\"", i ? ", " : "",
					 set->entries[i].name);
	pthread_mutex_unlock(&set->lock);
}
