// SPDX-License-Identifier: MIT
/* neuron-profile capture: the executions, and what is kept of them. */
#include "capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nrt/nrt_emu.h>
#include <nrt/nrt_profile.h>

/**
 * struct run - a capture while it runs
 * @first: outputs of execution @reference, one behind the other
 * @reference: the first execution that ended well; 0: none yet
 * @changed: an execution gave others
 */
struct run {
	const struct capture *capture;
	struct session *session;
	uint8_t *first;
	unsigned int reference;
	bool changed;
};

/* --- The profiles --- */

static bool wants_worker(const struct run *run, unsigned int worker)
{
	int wanted = run->capture->worker;

	return wanted == CAPTURE_ALL_WORKERS || (unsigned int)wanted == worker;
}

/* "a.jsonl" becomes "a_rank_1.jsonl" when there are several workers. For free(). */
static char *name_profile(const struct run *run, unsigned int worker)
{
	const char *path = run->capture->file;
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	int stem = (int)(dot ? (size_t)(dot - path) : strlen(path));
	char *name;

	if (run->session->nr_ranks == 1)
		return strdup(path);
	return asprintf(&name, "%.*s_rank_%u%s", stem, path, worker, path + stem) < 0 ? NULL :
										       name;
}

typedef NRT_STATUS profile_fn(const struct run *run, unsigned int worker, const char *path);

static NRT_STATUS start_profile(const struct run *run, unsigned int worker, const char *path)
{
	return nrt_profile_start(run->session->rank[worker].model, path);
}

static NRT_STATUS stop_profile(const struct run *run, unsigned int worker, const char *path)
{
	(void)run;
	(void)worker;
	return nrt_profile_stop(path);
}

static NRT_STATUS remove_profile(const struct run *run, unsigned int worker, const char *path)
{
	(void)run;
	(void)worker;
	unlink(path);
	return NRT_SUCCESS;
}

static NRT_STATUS say_profile(const struct run *run, unsigned int worker, const char *path)
{
	nrt_emu_execution_t last = { 0 };
	NRT_STATUS status;

	status = nrt_emu_get_last_execution(run->session->rank[worker].model, &last, sizeof(last));
	if (!status)
		printf("%s: device time %" PRIu64 " ns; neuron-profile view %s --neff %s\n", path,
		       last.end_ns - last.start_ns, path, run->capture->session.neff);
	return status;
}

static NRT_STATUS each_profile(const struct run *run, profile_fn *call)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;
	char *path;

	for (i = 0; !status && i < run->session->nr_ranks; i++) {
		if (!wants_worker(run, i))
			continue;
		path = name_profile(run, i);
		if (!path)
			return session_fail(run->session, NRT_RESOURCE, "no memory");
		status = call(run, i, path);
		free(path);
	}
	return status;
}

/* --- Outputs that must not change --- */

static NRT_STATUS compare_output(struct run *run, unsigned int execution, unsigned int worker,
				 uint64_t tensor, uint8_t *first)
{
	const nrt_tensor_info_t *info = &run->session->infos->tensor_array[tensor];
	uint8_t *now = malloc(info->size);
	NRT_STATUS status;
	size_t at = 0;

	if (!now)
		return session_fail(run->session, NRT_RESOURCE, "no memory for %zu bytes",
				    info->size);
	status = nrt_tensor_read(run->session->rank[worker].tensor[tensor], now, 0, info->size);
	if (!status && execution == run->reference)
		memcpy(first, now, info->size);
	while (!status && at < info->size && now[at] == first[at])
		at++;
	if (!status && at < info->size) {
		run->changed = true;
		session_fail(run->session, NRT_FAILURE,
			     "output \"%s\" of worker %u is not the same in execution %u as in execution %u, from byte %zu on",
			     info->name, worker, execution, run->reference, at);
	}
	free(now);
	return status;
}

static NRT_STATUS compare_outputs(struct run *run, unsigned int execution)
{
	const struct session *session = run->session;
	NRT_STATUS status = NRT_SUCCESS;
	uint8_t *first = run->first;
	unsigned int worker;
	uint64_t i;

	if (!run->reference)
		run->reference = execution;
	for (worker = 0; worker < session->nr_ranks; worker++)
		for (i = 0; i < session->infos->tensor_count; i++) {
			if (session->infos->tensor_array[i].usage != NRT_TENSOR_USAGE_OUTPUT)
				continue;
			status = compare_output(run, execution, worker, i, first);
			if (status || run->changed)
				return status;
			first += session->infos->tensor_array[i].size;
		}
	return status;
}

static NRT_STATUS allocate_outputs(struct run *run)
{
	const struct session *session = run->session;
	size_t size = 0;
	uint64_t i;

	for (i = 0; i < session->infos->tensor_count; i++)
		if (session->infos->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT)
			size += session->infos->tensor_array[i].size;
	run->first = calloc(session->nr_ranks, size + 1);
	if (!run->first)
		return session_fail(run->session, NRT_RESOURCE, "no memory for %zu bytes", size);
	return NRT_SUCCESS;
}

/* --- The executions --- */

/* One of them: CAPTURE_WELL, or why the capture ends. */
static int execute(struct run *run, unsigned int execution)
{
	const struct capture *capture = run->capture;
	bool profiled = execution == capture->profiled;
	NRT_STATUS status;

	if (profiled && each_profile(run, start_profile))
		return CAPTURE_BAD_INPUT;
	status = session_execute(run->session);
	/* The profile of an execution that failed is kept only with --ignore-exec-errors. */
	if (status && !capture->ignore_errors) {
		if (profiled)
			each_profile(run, remove_profile);
		return CAPTURE_FAILED;
	}
	if (profiled && (each_profile(run, stop_profile) || each_profile(run, say_profile)))
		return CAPTURE_BAD_INPUT;
	if (!status && capture->compare_outputs && compare_outputs(run, execution))
		return CAPTURE_BAD_INPUT;
	return run->changed ? CAPTURE_FAILED : CAPTURE_WELL;
}

static int run_all(struct run *run)
{
	const struct capture *capture = run->capture;
	int ret = CAPTURE_WELL;
	unsigned int i;

	if (tensors_load(run->session, &capture->inputs))
		return CAPTURE_BAD_INPUT;
	if (capture->compare_outputs && allocate_outputs(run))
		return CAPTURE_BAD_INPUT;
	for (i = 1; ret == CAPTURE_WELL && i <= capture->executions; i++)
		ret = execute(run, i);
	if (ret == CAPTURE_WELL && capture->save_outputs && tensors_save(run->session, "."))
		ret = CAPTURE_BAD_INPUT;
	return ret;
}

int capture_run(const struct capture *capture, const char *tool)
{
	struct session session;
	struct run run = { .capture = capture, .session = &session };
	int ret = CAPTURE_BAD_INPUT;

	if (!session_open(&session, &capture->session))
		ret = run_all(&run);
	if (*session.why)
		fprintf(stderr, "%s: %s\n", tool, session.why);
	free(run.first);
	session_close(&session);
	return ret;
}
