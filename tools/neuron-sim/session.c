// SPDX-License-Identifier: MIT
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nrt/nrt_emu.h>

#include "neff/neff.h"

/* Instructions and transfers of an execution among which the first NaN is looked for. */
#define NAN_EVENTS	(1u << 20)

NRT_STATUS session_fail(struct session *session, NRT_STATUS status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(session->why, sizeof(session->why), format, args);
	va_end(args);
	return status;
}

/* --- The file --- */

static NRT_STATUS read_open_file(struct session *session, const char *path, FILE *file,
				 uint8_t **data, size_t *size)
{
	struct stat stat;

	if (fstat(fileno(file), &stat))
		return session_fail(session, NRT_FAILURE, "%s: %s", path, strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return session_fail(session, NRT_FAILURE, "%s: no regular file", path);
	*size = (size_t)stat.st_size;
	*data = malloc(*size + 1);
	if (!*data)
		return session_fail(session, NRT_RESOURCE, "%s: no memory for %zu bytes", path,
				    *size);
	if (fread(*data, 1, *size, file) == *size)
		return NRT_SUCCESS;
	free(*data);
	*data = NULL;
	return session_fail(session, NRT_FAILURE, "%s: cannot be read", path);
}

NRT_STATUS session_read(struct session *session, const char *path, uint8_t **data, size_t *size)
{
	FILE *file = fopen(path, "rbe");
	NRT_STATUS status;

	if (!file)
		return session_fail(session, NRT_FAILURE, "%s: %s", path, strerror(errno));
	status = read_open_file(session, path, file, data, size);
	fclose(file);
	return status;
}

/* What libnrt would say of it does not name the file. */
static NRT_STATUS check_neff(struct session *session, const char *path, const uint8_t *data,
			     size_t size)
{
	const struct neff_limits limits = { .validate_hash = true };
	struct nrt_error error = { 0 };
	struct neff *neff;

	if (neff_read(data, size, &limits, &neff, &error))
		return session_fail(session, error.status, "%s: %s", path, neff_why(&error));
	neff_free(neff);
	return NRT_SUCCESS;
}

/* --- libnrt --- */

static void set_number(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

/*
 * One core for each rank. With keep_backend, NEURON_RT_VISIBLE_CORES of the user counts instead.
 */
static void choose_cores(const struct session_options *options, unsigned int ranks)
{
	if (options->keep_backend && getenv("NEURON_RT_VISIBLE_CORES"))
		return;
	unsetenv("NEURON_RT_VISIBLE_CORES");
	set_number("NEURON_RT_NUM_CORES", ranks);
}

/* The logical cores are those that the NEFF needs. */
static void set_environment(const struct session_options *options, unsigned int ranks,
			    const uint8_t *neff)
{
	struct neff_header header;

	memcpy(&header, neff, sizeof(header));
	if (!options->keep_backend)
		setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_QUIET", "1", 1);
	if (options->instance)
		setenv("NEURON_EMU_INSTANCE", options->instance, 1);
	set_number("NEURON_LOGICAL_NC_CONFIG", le32toh(header.lnc_size) == 2 ? 2 : 1);
	unsetenv("NEURON_RT_VIRTUAL_CORE_SIZE");
	choose_cores(options, ranks);
	if (options->timeout_s)
		set_number("NEURON_RT_EXEC_TIMEOUT", options->timeout_s);
	if (options->check)
		setenv("NEURON_EMU_CHECK", "memory", 1);
	if (options->break_on_nan)
		setenv("NEURON_FAIL_ON_NAN", "TRUE", 1);
}

static NRT_STATUS begin(struct session *session, unsigned int ranks)
{
	NRT_STATUS status = NRT_SUCCESS;
	uint32_t cores = 1;

	/* It makes the chips and frees them, and a core is always there. */
	if (ranks > 1)
		status = nrt_get_total_vnc_count(&cores);
	if (status)
		return status;
	if (ranks > cores)
		return session_fail(session, NRT_RESOURCE,
				    "%u ranks need as many logical cores, and there are %u: use a larger instance",
				    ranks, cores);
	status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
	session->ready = !status;
	return status;
}

static NRT_STATUS add_tensor(struct session *session, struct session_rank *rank, uint64_t i)
{
	const nrt_tensor_info_t *info = &session->infos->tensor_array[i];
	const int vnc = (int)(rank - session->rank);
	NRT_STATUS status;

	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, info->size, info->name,
				     &rank->tensor[i]);
	if (status)
		return status;
	return nrt_add_tensor_to_tensor_set(rank->sets[info->usage], info->name, rank->tensor[i]);
}

static NRT_STATUS add_tensors(struct session *session, struct session_rank *rank)
{
	NRT_STATUS status = nrt_allocate_tensor_set(&rank->sets[NRT_TENSOR_USAGE_INPUT]);
	uint64_t i;

	if (!status)
		status = nrt_allocate_tensor_set(&rank->sets[NRT_TENSOR_USAGE_OUTPUT]);
	rank->tensor = calloc(session->infos->tensor_count + 1, sizeof(*rank->tensor));
	if (!status && !rank->tensor)
		return session_fail(session, NRT_RESOURCE, "no memory");
	for (i = 0; !status && i < session->infos->tensor_count; i++)
		status = add_tensor(session, rank, i);
	return status;
}

static NRT_STATUS load(struct session *session, const struct session_options *options,
		       const uint8_t *neff, size_t size)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; !status && i < session->nr_ranks; i++) {
		nrt_model_t **model = &session->rank[i].model;

		if (options->ranks)
			status = nrt_load_collectives(neff, size, (int32_t)i, -1, i,
						      options->ranks, model);
		else
			status = nrt_load(neff, size, 0, -1, model);
	}
	for (i = 0; !status && options->break_on_nan && i < session->nr_ranks; i++)
		status = nrt_emu_set_trace(session->rank[i].model, NAN_EVENTS);
	if (!status)
		status = nrt_get_model_tensor_info(session->rank[0].model, &session->infos);
	for (i = 0; !status && i < session->nr_ranks; i++)
		status = add_tensors(session, &session->rank[i]);
	return status;
}

NRT_STATUS session_open(struct session *session, const struct session_options *options)
{
	unsigned int ranks = options->ranks ? options->ranks : 1;
	uint8_t *neff = NULL;
	NRT_STATUS status;
	size_t size = 0;

	*session = (struct session){ .ready = false };
	status = session_read(session, options->neff, &neff, &size);
	if (!status)
		status = check_neff(session, options->neff, neff, size);
	if (status) {
		free(neff);
		return status;
	}
	session->rank = calloc(ranks, sizeof(*session->rank));
	if (session->rank) {
		session->nr_ranks = ranks;
		set_environment(options, ranks, neff);
		status = begin(session, ranks);
	} else {
		status = session_fail(session, NRT_RESOURCE, "no memory for %u ranks", ranks);
	}
	if (!status) {
		status = load(session, options, neff, size);
		/* libnrt has said why, but it does not know the file. */
		if (status && !*session->why)
			session_fail(session, status, "%s: cannot be loaded", options->neff);
	}
	free(neff);
	return status;
}

static void close_rank(struct session *session, struct session_rank *rank)
{
	uint64_t i;

	for (i = 0; rank->tensor && i < session->infos->tensor_count; i++)
		if (rank->tensor[i])
			nrt_tensor_free(&rank->tensor[i]);
	free(rank->tensor);
	for (i = 0; i < 2; i++)
		if (rank->sets[i])
			nrt_destroy_tensor_set(&rank->sets[i]);
	if (rank->model)
		nrt_unload(rank->model);
}

void session_close(struct session *session)
{
	unsigned int i;

	for (i = 0; i < session->nr_ranks; i++)
		close_rank(session, &session->rank[i]);
	if (session->infos)
		nrt_free_model_tensor_info(session->infos);
	if (session->ready)
		nrt_close();
	free(session->rank);
	*session = (struct session){ .ready = false };
}

/* --- Execution --- */

/**
 * struct run - a rank while it runs
 * @thread: that runs it, if @started
 */
struct run {
	struct session_rank *rank;
	NRT_STATUS status;
	pthread_t thread;
	bool started;
};

static void *execute(void *arg)
{
	struct run *run = arg;
	struct session_rank *rank = run->rank;

	run->status = nrt_execute(rank->model, rank->sets[NRT_TENSOR_USAGE_INPUT],
				  rank->sets[NRT_TENSOR_USAGE_OUTPUT]);
	return NULL;
}

/* Each rank waits for the others, so each has a thread. Without one of them all wait too long. */
static NRT_STATUS execute_ranks(struct session *session, struct run *runs)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	for (i = 0; i < session->nr_ranks; i++) {
		runs[i].rank = &session->rank[i];
		runs[i].started = !pthread_create(&runs[i].thread, NULL, execute, &runs[i]);
		if (!runs[i].started)
			status = session_fail(session, NRT_RESOURCE, "no thread for rank %u", i);
	}
	for (i = 0; i < session->nr_ranks; i++)
		if (runs[i].started)
			pthread_join(runs[i].thread, NULL);
	/* NRT_FAILURE is what a rank has whose neighbour failed. */
	for (i = 0; i < session->nr_ranks; i++)
		if (runs[i].status && (!status || status == NRT_FAILURE))
			status = runs[i].status;
	return status;
}

static void count_reports(struct session *session)
{
	unsigned int i;

	for (i = 0; i < session->nr_ranks; i++) {
		nrt_emu_execution_t last = { 0 };

		if (!nrt_emu_get_last_execution(session->rank[i].model, &last, sizeof(last)))
			session->reports += last.reports;
	}
}

NRT_STATUS session_execute(struct session *session)
{
	struct run one = { .rank = session->rank }, *runs;
	NRT_STATUS status;

	*session->why = '\0';
	if (session->nr_ranks == 1) {
		execute(&one);
		count_reports(session);
		return one.status;
	}
	runs = calloc(session->nr_ranks, sizeof(*runs));
	if (!runs)
		return session_fail(session, NRT_RESOURCE, "no memory");
	status = execute_ranks(session, runs);
	free(runs);
	count_reports(session);
	return status;
}

uint64_t session_reports(const struct session *session)
{
	return session->reports;
}
