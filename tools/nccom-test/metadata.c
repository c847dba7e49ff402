// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "metadata.h"

static const char *const keys[NRT_PLAN_NR_ROWS] = {
	[NRT_PLAN_SEND_COUNTS] = "send_counts",
	[NRT_PLAN_SEND_DISPLS] = "send_displs",
	[NRT_PLAN_RECV_COUNTS] = "recv_counts",
	[NRT_PLAN_RECV_DISPLS] = "recv_displs",
};

/* --- The file --- */

/**
 * struct reading - of a file
 * @metadata: what is filled
 * @sends_one: each rank sends the same to all, so one number says how much, and from where
 * @path: of the file
 */
struct reading {
	struct metadata *metadata;
	bool sends_one;
	const char *path;
};

/* Row @row of @object, an entry; NULL: it is not there, or empty. */
static struct json_object *row_of(struct json_object *object, enum nrt_plan_row row)
{
	struct json_object *list;

	if (!json_object_object_get_ex(object, keys[row], &list) ||
	    (json_object_is_type(list, json_type_array) && !json_object_array_length(list)))
		return NULL;
	return list;
}

static int wrong_row(const struct reading *reading, unsigned int entry, enum nrt_plan_row row,
		     bool one, char why[FILE_WHY])
{
	if (one)
		return file_fail(why,
				 "%s: \"%s\" of entry %u is not there, or no list of one number: all ranks of a group get the same",
				 reading->path, keys[row], entry);
	return file_fail(why,
			 "%s: \"%s\" of entry %u is not there, or no list of %u numbers, one for each rank of a group",
			 reading->path, keys[row], entry, reading->metadata->size);
}

/*
 * Row @row of entry @entry: a number for each rank, or one that counts for all. A list of all ranks
 * is welcome there, too: the tensor of the chips has one.
 */
static int take_row(const struct reading *reading, struct json_object *object, unsigned int entry,
		    enum nrt_plan_row row, char why[FILE_WHY])
{
	struct metadata *metadata = reading->metadata;
	uint32_t *words = metadata->words +
			  (entry * NRT_PLAN_NR_ROWS + row) * (size_t)metadata->size;
	bool one = reading->sends_one &&
		   (row == NRT_PLAN_SEND_COUNTS || row == NRT_PLAN_SEND_DISPLS);
	struct json_object *list = row_of(object, row), *item;
	unsigned int nr, i;
	int64_t number;

	if (!json_object_is_type(list, json_type_array))
		return wrong_row(reading, entry, row, one, why);
	nr = (unsigned int)json_object_array_length(list);
	if (nr != metadata->size && !(one && nr == 1))
		return wrong_row(reading, entry, row, one, why);
	for (i = 0; i < metadata->size; i++) {
		item = json_object_array_get_idx(list, i % nr);
		number = json_object_get_int64(item);
		if (!json_object_is_type(item, json_type_int) || number < 0 ||
		    number > UINT32_MAX)
			return file_fail(why, "%s: %s[%u] of entry %u is %s, no number of elements",
					 reading->path, keys[row], i, entry,
					 json_object_to_json_string(item));
		words[i] = (uint32_t)number;
	}
	return 0;
}

/* All entries have the rows that the first one has. What comes in is not said, but worked out. */
static int take_entries(const struct reading *reading, struct json_object *list,
			char why[FILE_WHY])
{
	struct json_object *first = json_object_array_get_idx(list, 0), *object;
	struct metadata *metadata = reading->metadata;
	unsigned int e;

	metadata->has_displs = row_of(first, NRT_PLAN_SEND_DISPLS);
	metadata->has_rdispls = row_of(first, NRT_PLAN_RECV_DISPLS);
	for (e = 0; e < metadata->nr; e++) {
		object = json_object_array_get_idx(list, e);
		if (take_row(reading, object, e, NRT_PLAN_SEND_COUNTS, why) ||
		    (metadata->has_displs &&
		     take_row(reading, object, e, NRT_PLAN_SEND_DISPLS, why)) ||
		    (metadata->has_rdispls &&
		     take_row(reading, object, e, NRT_PLAN_RECV_DISPLS, why)))
			return -1;
	}
	return 0;
}

static int parse(const struct reading *reading, struct json_object *file, char why[FILE_WHY])
{
	struct metadata *metadata = reading->metadata;
	const char *path = reading->path;
	struct json_object *list;
	size_t nr;

	if (!json_object_object_get_ex(file, "metadata", &list) ||
	    !json_object_is_type(list, json_type_array))
		return file_fail(why, "%s: \"metadata\" is not there, or no list", path);
	nr = json_object_array_length(list);
	if (nr != 1 && nr != metadata->size)
		return file_fail(why,
				 "%s: \"metadata\" has %zu entries; one is for all ranks, else each of the %u ranks of a group has one",
				 path, nr, metadata->size);
	metadata->nr = (unsigned int)nr;
	metadata->words = calloc(nr * NRT_PLAN_NR_ROWS * metadata->size,
				 sizeof(*metadata->words));
	if (!metadata->words)
		return file_fail(why, "out of memory");
	return take_entries(reading, list, why);
}

int metadata_read(struct metadata *metadata, const struct operation *operation,
		  unsigned int size, const char *path, char why[FILE_WHY])
{
	const struct reading reading = {
		.metadata = metadata,
		.sends_one = operation->plan_op == NRT_PLAN_ALL_GATHER_V,
		.path = path,
	};
	struct json_object *file;
	int ret;

	*metadata = (struct metadata){ .size = size };
	if (!path)
		return 0;
	file = file_read(path, why);
	if (!file)
		return -1;
	ret = parse(&reading, file, why);
	json_object_put(file);
	if (ret)
		metadata_fini(metadata);
	return ret;
}

void metadata_fini(struct metadata *metadata)
{
	free(metadata->words);
	*metadata = (struct metadata){ .size = metadata->size };
}

/* --- Numbers --- */

unsigned int metadata_rows(const struct metadata *metadata)
{
	return metadata->has_rdispls ? NRT_PLAN_NR_ROWS : NRT_PLAN_NR_ROWS - 1;
}

static uint32_t word_of(const struct metadata *metadata, unsigned int me, enum nrt_plan_row row,
			unsigned int i)
{
	unsigned int entry = metadata->nr == 1 ? 0 : me;

	return metadata->words[(entry * NRT_PLAN_NR_ROWS + row) * (size_t)metadata->size + i];
}

/* Which number says what goes to the rank at place @i. */
static unsigned int column_of(const struct operation *operation, unsigned int i)
{
	return operation->plan_op == NRT_PLAN_ALL_GATHER_V ? 0 : i;
}

uint64_t metadata_at(const struct metadata *metadata, const struct operation *operation,
		     uint64_t block, unsigned int me, enum nrt_plan_row row, unsigned int i)
{
	switch (row) {
	case NRT_PLAN_SEND_COUNTS:
		return metadata->nr ? word_of(metadata, me, row, i) : block;
	case NRT_PLAN_SEND_DISPLS:
		return metadata->has_displs ? word_of(metadata, me, row, i) :
					      column_of(operation, i) * block;
	case NRT_PLAN_RECV_COUNTS:
		/* This row is not written when something is reduced. */
		return operation->reduces ? 0 :
		       metadata_at(metadata, operation, block, i, NRT_PLAN_SEND_COUNTS,
				   column_of(operation, me));
	default:
		return metadata->has_rdispls ? word_of(metadata, me, row, i) : i * block;
	}
}

/* --- What a size allows --- */

/**
 * struct check - metadata and a size
 * @in, @out: elements of the tensors
 */
struct check {
	const struct metadata *metadata;
	const struct operation *operation;
	uint64_t block;
	uint64_t in;
	uint64_t out;
};

static uint64_t at(const struct check *check, unsigned int me, enum nrt_plan_row row,
		   unsigned int i)
{
	return metadata_at(check->metadata, check->operation, check->block, me, row, i);
}

/* What the rank at place @me sends to that at place @i. */
static int check_block(const struct check *check, unsigned int me, unsigned int i,
		       char why[FILE_WHY])
{
	unsigned int column = column_of(check->operation, i);
	uint64_t count = at(check, me, NRT_PLAN_SEND_COUNTS, column);
	uint64_t from = at(check, me, NRT_PLAN_SEND_DISPLS, column);

	if (count > check->block)
		return file_fail(why,
				 "send_counts[%u] of place %u is %llu, and a block of this size has %llu elements",
				 column, me, (unsigned long long)count,
				 (unsigned long long)check->block);
	if (from + count > check->in)
		return file_fail(why,
				 "send_displs[%u] of place %u is %llu, and %llu elements from there on are outside of the input",
				 column, me, (unsigned long long)from, (unsigned long long)count);
	if (check->operation->reduces && count != at(check, 0, NRT_PLAN_SEND_COUNTS, i))
		return file_fail(why, "send_counts[%u] of place %u is not that of place 0", i, me);
	return 0;
}

/* Where it lies in the output of the receiver. */
static int check_target(const struct check *check, unsigned int me, unsigned int i,
			char why[FILE_WHY])
{
	uint64_t from = at(check, me, NRT_PLAN_RECV_DISPLS, i), other;
	uint64_t to = from + at(check, me, NRT_PLAN_RECV_COUNTS, i);
	unsigned int k;

	if (to > check->out)
		return file_fail(why,
				 "recv_displs[%u] of place %u is %llu, and %llu elements from there on are outside of the output",
				 i, me, (unsigned long long)from, (unsigned long long)(to - from));
	for (k = 0; k < i; k++) {
		other = at(check, me, NRT_PLAN_RECV_DISPLS, k);
		if (to > other && from < other + at(check, me, NRT_PLAN_RECV_COUNTS, k) &&
		    to > from)
			return file_fail(why,
					 "place %u: what comes from place %u would lie upon what comes from place %u",
					 me, i, k);
	}
	return 0;
}

int metadata_check(const struct metadata *metadata, const struct operation *operation,
		   const struct type *type, const struct shape *shape, char why[FILE_WHY])
{
	const struct check check = {
		.metadata = metadata, .operation = operation, .block = shape->block,
		.in = shape->input / type->size, .out = shape->output / type->size,
	};
	unsigned int me, i;

	if (check.in > UINT32_MAX || check.out > UINT32_MAX)
		return file_fail(why, "tensors of %s have at most 2^32 - 1 elements",
				 operation->name);
	for (me = 0; me < metadata->size; me++)
		for (i = 0; i < metadata->size; i++)
			if (check_block(&check, me, i, why) ||
			    (metadata->has_rdispls && !operation->reduces &&
			     check_target(&check, me, i, why)))
				return -1;
	return 0;
}
