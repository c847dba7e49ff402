// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"

static int allocate(struct groups *groups, unsigned int nr, unsigned int size,
		    char why[FILE_WHY])
{
	groups->nr = nr;
	groups->size = size;
	groups->rank = calloc((size_t)nr * size, sizeof(*groups->rank));
	return groups->rank ? 0 : file_fail(why, "out of memory");
}

int groups_all(struct groups *groups, unsigned int ranks, char why[FILE_WHY])
{
	return groups_parallel(groups, ranks, ranks, why);
}

int groups_parallel(struct groups *groups, unsigned int ranks, unsigned int size,
		    char why[FILE_WHY])
{
	unsigned int g, i;

	if (!size || ranks % size)
		return file_fail(why, "--data-parallel-dimension: %u ranks are no groups of %u",
				 ranks, size);
	if (allocate(groups, ranks / size, size, why))
		return -1;
	for (g = 0; g < groups->nr; g++)
		for (i = 0; i < size; i++)
			groups->rank[g * size + i] = g + i * groups->nr;
	return 0;
}

static int check_lengths(struct json_object *list, const char *path, unsigned int ranks,
			 char why[FILE_WHY])
{
	size_t nr = json_object_array_length(list), size = 0, length, g;
	struct json_object *group;

	for (g = 0; g < nr; g++) {
		group = json_object_array_get_idx(list, g);
		if (!json_object_is_type(group, json_type_array))
			return file_fail(why, "%s: group %zu is no list of ranks", path, g);
		length = json_object_array_length(group);
		if (!g)
			size = length;
		if (!length || length != size)
			return file_fail(why,
					 "%s: group %zu has %zu ranks and group 0 has %zu; all must have as many",
					 path, g, length, size);
	}
	if (nr * size > ranks)
		return file_fail(why,
				 "%s: the groups have %zu ranks together, and --nworkers is %u",
				 path, nr * size, ranks);
	return 0;
}

/* They are as many as fit: the lengths are checked. */
static int take_ranks(struct groups *groups, struct json_object *list, const char *path,
		      unsigned int ranks, char why[FILE_WHY])
{
	struct json_object *item;
	unsigned int g, i;
	size_t k, nr = 0;
	int64_t rank;

	for (g = 0; g < groups->nr; g++) {
		for (i = 0; i < groups->size; i++) {
			item = json_object_array_get_idx(json_object_array_get_idx(list, g), i);
			rank = json_object_get_int64(item);
			if (!json_object_is_type(item, json_type_int) || rank < 0 || rank >= ranks)
				return file_fail(why,
						 "%s: group %u: %s is no rank; there are ranks 0 to %u",
						 path, g, json_object_to_json_string(item),
						 ranks - 1);
			for (k = 0; k < nr; k++)
				if (groups->rank[k] == rank)
					return file_fail(why, "%s: rank %d is there twice", path,
							 (int)rank);
			groups->rank[nr++] = (uint32_t)rank;
		}
	}
	return 0;
}

static int parse(struct groups *groups, struct json_object *file, const char *path,
		 unsigned int ranks, char why[FILE_WHY])
{
	struct json_object *list = file_list(file, "replica_groups", "groups", path, why), *first;

	if (!list || check_lengths(list, path, ranks, why))
		return -1;
	first = json_object_array_get_idx(list, 0);
	if (allocate(groups, (unsigned int)json_object_array_length(list),
		     (unsigned int)json_object_array_length(first), why))
		return -1;
	if (!take_ranks(groups, list, path, ranks, why))
		return 0;
	groups_fini(groups);
	return -1;
}

int groups_read(struct groups *groups, unsigned int ranks, const char *path,
		char why[FILE_WHY])
{
	struct json_object *file = file_read(path, why);
	int ret;

	if (!file)
		return -1;
	ret = parse(groups, file, path, ranks, why);
	json_object_put(file);
	return ret;
}

void groups_fini(struct groups *groups)
{
	free(groups->rank);
	groups->rank = NULL;
}
