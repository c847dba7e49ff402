// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "neuron/neff.h"

/* Of a rank: the file is for all that have none of their own. */
#define ALL_RANKS	UINT_MAX
/* Binades of random numbers, below 1; fewer where there are no more normal numbers. */
#define BINADES		4

/**
 * struct type - an element type
 * @kind: as in struct npy
 * @one: bits of the number 1; 0: no floating point
 * @fraction: bits of the fraction
 */
struct type {
	char kind;
	uint32_t one;
	unsigned int fraction;
};

static const struct type *type_of(nrt_dtype_t dtype)
{
	static const struct type types[] = {
		[NRT_DTYPE_UINT64] = { 'u', 0, 0 },
		[NRT_DTYPE_INT8] = { 'i', 0, 0 },
		[NRT_DTYPE_UINT8] = { 'u', 0, 0 },
		[NRT_DTYPE_INT16] = { 'i', 0, 0 },
		[NRT_DTYPE_UINT16] = { 'u', 0, 0 },
		[NRT_DTYPE_BFLOAT16] = { 'V', 0x3f80, 7 },
		[NRT_DTYPE_FLOAT16] = { 'f', 0x3c00, 10 },
		[NRT_DTYPE_INT32] = { 'i', 0, 0 },
		[NRT_DTYPE_UINT32] = { 'u', 0, 0 },
		[NRT_DTYPE_FLOAT32] = { 'f', 0x3f800000, 23 },
		[NRT_DTYPE_FP32R] = { 'f', 0x3f800000, 23 },
		[NRT_DTYPE_INT64] = { 'i', 0, 0 },
		[NRT_DTYPE_FP8_E3] = { 'V', 0x30, 4 },
		[NRT_DTYPE_FP8_E4] = { 'V', 0x38, 3 },
		[NRT_DTYPE_FP8_E5] = { 'V', 0x3c, 2 },
	};
	static const struct type unknown = { 'V', 0, 0 };

	return (size_t)dtype < sizeof(types) / sizeof(types[0]) && types[dtype].kind ?
		       &types[dtype] : &unknown;
}

const char *tensors_dtype(nrt_dtype_t dtype)
{
	const char *name = neff_dtype_name(dtype);

	return name ? name : "unknown";
}

void tensors_describe(const nrt_tensor_info_t *info, struct npy *npy)
{
	unsigned int i;

	*npy = (struct npy){
		.kind = type_of(info->dtype)->kind,
		.size = neuron_dtype_bytes(info->dtype),
		.ndim = info->ndim,
	};
	for (i = 0; i < info->ndim; i++)
		npy->shape[i] = info->shape[i];
}

/* --- Inputs: which file --- */

/**
 * struct binding - an argument, understood
 * @tensor: index in session.infos
 * @rank: or ALL_RANKS
 * @path: of the file
 */
struct binding {
	uint64_t tensor;
	unsigned int rank;
	const char *path;
};

/* Is @arg "@name=FILE" or "@name@RANK=FILE"? */
static bool fits(const char *arg, const char *name, struct binding *binding)
{
	size_t length = strlen(name);
	unsigned long rank;
	char *end;

	if (strncmp(arg, name, length))
		return false;
	arg += length;
	binding->rank = ALL_RANKS;
	if (*arg == '@' && arg[1] >= '0' && arg[1] <= '9') {
		rank = strtoul(arg + 1, &end, 10);
		binding->rank = rank < ALL_RANKS ? (unsigned int)rank : ALL_RANKS - 1;
		arg = end;
	}
	binding->path = arg + 1;
	return *arg == '=';
}

/* A name may have a "=" or a "@": the longest one that fits is meant. */
static bool find_tensor(const struct session *session, const char *arg, struct binding *found)
{
	struct binding binding;
	size_t longest = 0;
	uint64_t i;

	for (i = 0; i < session->infos->tensor_count; i++) {
		const char *name = session->infos->tensor_array[i].name;

		if (strlen(name) <= longest || !fits(arg, name, &binding))
			continue;
		longest = strlen(name);
		*found = binding;
		found->tensor = i;
	}
	return longest;
}

static NRT_STATUS bind(struct session *session, const char *arg, struct binding *binding)
{
	const nrt_tensor_info_t *info;

	if (!find_tensor(session, arg, binding))
		return session_fail(session, NRT_INVALID,
				    "no input is called \"%.*s\"; --list shows the inputs",
				    (int)strcspn(arg, "="), arg);
	info = &session->infos->tensor_array[binding->tensor];
	if (info->usage != NRT_TENSOR_USAGE_INPUT)
		return session_fail(session, NRT_INVALID, "\"%s\" is an output, and no input",
				    info->name);
	if (binding->rank != ALL_RANKS && binding->rank >= session->nr_ranks)
		return session_fail(session, NRT_INVALID,
				    "input \"%s\": there is no rank %u, but %u ranks from 0 on",
				    info->name, binding->rank, session->nr_ranks);
	return NRT_SUCCESS;
}

static NRT_STATUS bind_all(struct session *session, const struct tensors_inputs *inputs,
			   struct binding *bindings)
{
	NRT_STATUS status;
	size_t i, k;

	for (i = 0; i < inputs->nr; i++) {
		struct binding *one = &bindings[i];

		status = bind(session, inputs->arg[i], one);
		if (status)
			return status;
		for (k = 0; k < i; k++)
			if (bindings[k].tensor == one->tensor && bindings[k].rank == one->rank)
				return session_fail(session, NRT_INVALID,
						    "\"%s\" and \"%s\" are for the same input",
						    inputs->arg[k], inputs->arg[i]);
	}
	return NRT_SUCCESS;
}

/* The file of a tensor; NULL: there is none. */
static const char *find_path(const struct binding *bindings, size_t nr, uint64_t tensor,
			     unsigned int rank)
{
	const char *path = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (bindings[i].tensor != tensor)
			continue;
		if (bindings[i].rank == rank)
			return bindings[i].path;
		if (bindings[i].rank == ALL_RANKS)
			path = bindings[i].path;
	}
	return path;
}

/* --- Inputs: what is in it --- */

static bool same(const struct npy *a, const struct npy *b)
{
	return a->kind == b->kind && a->size == b->size && a->ndim == b->ndim &&
	       !memcmp(a->shape, b->shape, a->ndim * sizeof(a->shape[0]));
}

static NRT_STATUS refuse_array(struct session *session, const nrt_tensor_info_t *info,
			       const struct npy *wanted, const struct npy *got, const char *path)
{
	char want[NPY_TEXT], have[NPY_TEXT];

	npy_describe(wanted, want);
	npy_describe(got, have);
	return session_fail(session, NRT_INVALID, "input \"%s\": wanted %s (%s), got %s in %s",
			    info->name, want, tensors_dtype(info->dtype), have, path);
}

static NRT_STATUS read_array(struct session *session, const nrt_tensor_info_t *info,
			     const char *path, void *data)
{
	struct npy wanted, got;
	char why[NPY_WHY];
	NRT_STATUS status = NRT_SUCCESS;
	FILE *file = npy_open(path, &got, why);

	if (!file)
		return session_fail(session, NRT_INVALID, "input \"%s\": %s", info->name, why);
	tensors_describe(info, &wanted);
	if (!same(&wanted, &got))
		status = refuse_array(session, info, &wanted, &got, path);
	else if (npy_read(file, path, &got, data, why))
		status = session_fail(session, NRT_INVALID, "input \"%s\": %s", info->name, why);
	fclose(file);
	return status;
}

/* The next number of a sequence (splitmix64). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Each input of each rank has a sequence of its own. */
static uint64_t random_state(uint64_t seed, const char *name, unsigned int rank)
{
	uint64_t state = seed + rank;

	while (*name)
		state = next_random(&state) ^ (uint8_t)*name++;
	return state;
}

static void fill_random(const nrt_tensor_info_t *info, uint64_t state, uint8_t *data)
{
	const struct type *type = type_of(info->dtype);
	size_t size = neuron_dtype_bytes(info->dtype), at;
	uint32_t binades = type->one ? (type->one >> type->fraction) - 1 : 0;
	uint64_t value;

	if (binades > BINADES)
		binades = BINADES;
	for (at = 0; size && at + size <= info->size; at += size) {
		value = next_random(&state);
		if (type->one)
			value = (type->one - 1 - (uint32_t)(value >> 32) %
				 (binades << type->fraction)) | (value & 1) << (8 * size - 1);
		else
			value %= 16;
		value = htole64(value);
		memcpy(data + at, &value, size);
	}
}

static NRT_STATUS fill(struct session *session, const struct tensors_inputs *inputs,
		       const struct binding *bindings, uint64_t tensor, unsigned int rank,
		       uint8_t *data)
{
	const nrt_tensor_info_t *info = &session->infos->tensor_array[tensor];
	const char *path = find_path(bindings, inputs->nr, tensor, rank);
	char of[32] = "";

	if (path)
		return read_array(session, info, path, data);
	if (session->nr_ranks > 1)
		snprintf(of, sizeof(of), " of rank %u", rank);
	if (inputs->missing == TENSORS_REFUSE)
		return session_fail(session, NRT_INVALID,
				    "input \"%s\"%s has no file: use --input %s=FILE, --zeros or --random",
				    info->name, of, info->name);
	if (inputs->missing == TENSORS_RANDOM)
		fill_random(info, random_state(inputs->seed, info->name, rank), data);
	return NRT_SUCCESS;
}

static NRT_STATUS load_tensor(struct session *session, const struct tensors_inputs *inputs,
			      const struct binding *bindings, uint64_t tensor, unsigned int rank)
{
	size_t size = session->infos->tensor_array[tensor].size;
	uint8_t *data = calloc(1, size);
	NRT_STATUS status;

	if (!data)
		return session_fail(session, NRT_RESOURCE, "no memory for %zu bytes", size);
	status = fill(session, inputs, bindings, tensor, rank, data);
	if (!status)
		status = nrt_tensor_write(session->rank[rank].tensor[tensor], data, 0, size);
	free(data);
	return status;
}

NRT_STATUS tensors_load(struct session *session, const struct tensors_inputs *inputs)
{
	struct binding *bindings = calloc(inputs->nr + 1, sizeof(*bindings));
	NRT_STATUS status;
	unsigned int rank;
	uint64_t i;

	*session->why = '\0';
	if (!bindings)
		return session_fail(session, NRT_RESOURCE, "no memory");
	status = bind_all(session, inputs, bindings);
	for (rank = 0; !status && rank < session->nr_ranks; rank++)
		for (i = 0; !status && i < session->infos->tensor_count; i++)
			if (session->infos->tensor_array[i].usage == NRT_TENSOR_USAGE_INPUT)
				status = load_tensor(session, inputs, bindings, i, rank);
	free(bindings);
	return status;
}

/* --- Outputs --- */

static void name_file(char *path, size_t size, const char *folder, const char *name)
{
	size_t n = (size_t)snprintf(path, size, "%s/", folder);

	for (; *name && n < size; name++) {
		if (*name == '/' || *name == '%')
			n += (size_t)snprintf(path + n, size - n, "%%%02X", *name);
		else
			n += (size_t)snprintf(path + n, size - n, "%c", *name);
	}
}

static NRT_STATUS save_tensor(struct session *session, const char *folder, uint64_t tensor,
			      unsigned int rank)
{
	const nrt_tensor_info_t *info = &session->infos->tensor_array[tensor];
	char path[PATH_MAX], ending[32] = ".npy", why[NPY_WHY];
	uint8_t *data = malloc(info->size);
	NRT_STATUS status;
	struct npy npy;

	if (!data)
		return session_fail(session, NRT_RESOURCE, "no memory for %zu bytes", info->size);
	if (session->nr_ranks > 1)
		snprintf(ending, sizeof(ending), "@%u.npy", rank);
	name_file(path, sizeof(path) - sizeof(ending), folder, info->name);
	strcat(path, ending);
	tensors_describe(info, &npy);
	status = nrt_tensor_read(session->rank[rank].tensor[tensor], data, 0, info->size);
	if (!status && npy_write(path, &npy, data, why))
		status = session_fail(session, NRT_FAILURE, "output \"%s\": %s", info->name, why);
	free(data);
	return status;
}

NRT_STATUS tensors_save(struct session *session, const char *folder)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int rank;
	uint64_t i;

	*session->why = '\0';
	if (mkdir(folder, 0777) && errno != EEXIST)
		return session_fail(session, NRT_FAILURE, "%s: %s", folder, strerror(errno));
	for (rank = 0; !status && rank < session->nr_ranks; rank++)
		for (i = 0; !status && i < session->infos->tensor_count; i++)
			if (session->infos->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT)
				status = save_tensor(session, folder, i, rank);
	return status;
}
