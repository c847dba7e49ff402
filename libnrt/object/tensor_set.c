// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/state.h"
#include "object/tensor.h"

struct entry {
	char *name;
	struct nrt_tensor *tensor;
};

/* What a nrt_tensor_set_t is; sets are small, so a search is enough. */
struct set {
	struct entry *entries;
	size_t count;
	size_t room;
};

static struct entry *find_entry(const struct set *set, const char *name)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		if (!strcmp(set->entries[i].name, name))
			return &set->entries[i];
	return NULL;
}

static NRT_STATUS add_entry(struct set *set, const char *name, struct nrt_tensor *tensor,
			    struct nrt_error *error)
{
	struct entry *entry = find_entry(set, name);

	if (entry) {
		entry->tensor = tensor;
		return NRT_SUCCESS;
	}
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 8;
		struct entry *entries = reallocarray(set->entries, room, sizeof(*entries));

		if (!entries)
			return nrt_error_memory(error);
		set->entries = entries;
		set->room = room;
	}
	entry = &set->entries[set->count];
	entry->name = strdup(name);
	if (!entry->name)
		return nrt_error_memory(error);
	entry->tensor = tensor;
	set->count++;
	return NRT_SUCCESS;
}

struct nrt_tensor *nrt_set_find(const nrt_tensor_set_t *set, const char *name)
{
	struct entry *entry = find_entry(set, name);

	return entry ? entry->tensor : NULL;
}

void nrt_set_names(const nrt_tensor_set_t *opaque, char *text, size_t size)
{
	const struct set *set = opaque;
	size_t used = 0, i;

	snprintf(text, size, "%s", set->count ? "" : "nothing");
	for (i = 0; i < set->count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s\"%.40s\"", i ? ", " : "",
					 set->entries[i].name);
}

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
	struct nrt_state *state;
	NRT_STATUS status;

	if (!result)
		return nrt_fail_with(__func__, NRT_INVALID, "result is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	*result = calloc(1, sizeof(struct set));
	nrt_leave(state);
	if (!*result)
		return nrt_fail_with(__func__, NRT_RESOURCE, "out of host memory");
	return NRT_SUCCESS;
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set)
{
	struct set *set;
	size_t i;

	if (!tensor_set || !*tensor_set)
		return;
	set = *tensor_set;
	for (i = 0; i < set->count; i++)
		free(set->entries[i].name);
	free(set->entries);
	free(set);
	*tensor_set = NULL;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
					nrt_tensor_t *tensor)
{
	struct nrt_state *state;
	struct nrt_error error;
	NRT_STATUS status;

	if (!tensor_set)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor_set is NULL");
	if (!tensor)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor is NULL");
	if (!tensor_name || !*tensor_name)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_name is NULL or empty");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	status = add_entry(tensor_set, tensor_name, tensor, &error);
	nrt_leave(state);
	return status ? nrt_fail(__func__, &error) : NRT_SUCCESS;
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set,
					  const char *tensor_name, nrt_tensor_t **tensor)
{
	struct nrt_tensor *found;
	struct nrt_state *state;
	NRT_STATUS status;

	if (!tensor_set)
		return nrt_fail_with(__func__, NRT_INVALID_HANDLE, "tensor_set is NULL");
	if (!tensor_name || !tensor)
		return nrt_fail_with(__func__, NRT_INVALID, "tensor_name or tensor is NULL");
	state = nrt_enter(__func__, &status);
	if (!state)
		return status;
	found = nrt_set_find(tensor_set, tensor_name);
	nrt_leave(state);
	if (!found)
		return nrt_fail_with(__func__, NRT_FAILURE, "the set has no tensor \"%.200s\"",
				     tensor_name);
	*tensor = found;
	return NRT_SUCCESS;
}
