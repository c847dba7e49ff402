// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "pairs.h"

static int allocate(struct pairs *pairs, unsigned int nr, char why[FILE_WHY])
{
	*pairs = (struct pairs){ .pair = calloc(nr, sizeof(*pairs->pair)) };
	return pairs->pair ? 0 : file_fail(why, "out of memory");
}

int pairs_ring(struct pairs *pairs, unsigned int ranks, char why[FILE_WHY])
{
	if (allocate(pairs, ranks, why))
		return -1;
	for (; pairs->nr < ranks; pairs->nr++) {
		pairs->pair[pairs->nr][0] = pairs->nr;
		pairs->pair[pairs->nr][1] = (pairs->nr + 1) % ranks;
	}
	return 0;
}

/* The next pair is @list. */
static int take_pair(struct pairs *pairs, struct json_object *list, unsigned int ranks,
		     const char *path, char why[FILE_WHY])
{
	static const char *const names[2] = { "source", "target" };
	struct json_object *item;
	unsigned int side, k;
	int64_t rank;

	if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) != 2)
		return file_fail(why, "%s: pair %u is no list of two ranks", path, pairs->nr);
	for (side = 0; side < 2; side++) {
		item = json_object_array_get_idx(list, side);
		rank = json_object_get_int64(item);
		if (!json_object_is_type(item, json_type_int) || rank < 0 || rank >= ranks)
			return file_fail(why, "%s: pair %u: %s is no rank; there are ranks 0 to %u",
					 path, pairs->nr, json_object_to_json_string(item),
					 ranks - 1);
		for (k = 0; k < pairs->nr; k++)
			if (pairs->pair[k][side] == rank)
				return file_fail(why, "%s: rank %u is the %s of pairs %u and %u",
						 path, (unsigned int)rank, names[side], k,
						 pairs->nr);
		pairs->pair[pairs->nr][side] = (uint32_t)rank;
	}
	pairs->nr++;
	return 0;
}

static int parse(struct pairs *pairs, struct json_object *file, const char *path,
		 unsigned int ranks, char why[FILE_WHY])
{
	struct json_object *list = file_list(file, "src_target_pairs", "pairs", path, why);
	size_t nr;

	if (!list)
		return -1;
	/* No rank is twice a source, so more are of no use. */
	nr = json_object_array_length(list);
	if (allocate(pairs, ranks + 1, why))
		return -1;
	while (pairs->nr < nr) {
		if (take_pair(pairs, json_object_array_get_idx(list, pairs->nr), ranks, path,
			      why)) {
			pairs_fini(pairs);
			return -1;
		}
	}
	return 0;
}

int pairs_read(struct pairs *pairs, unsigned int ranks, const char *path, char why[FILE_WHY])
{
	struct json_object *file = file_read(path, why);
	int ret;

	if (!file)
		return -1;
	ret = parse(pairs, file, path, ranks, why);
	json_object_put(file);
	return ret;
}

void pairs_fini(struct pairs *pairs)
{
	free(pairs->pair);
	*pairs = (struct pairs){ .nr = 0 };
}

int pairs_source(const struct pairs *pairs, unsigned int target)
{
	unsigned int i;

	for (i = 0; i < pairs->nr; i++)
		if (pairs->pair[i][1] == target)
			return (int)pairs->pair[i][0];
	return -1;
}
