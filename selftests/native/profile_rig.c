// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <nrt/nrt_profile.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile_rig.h"

/* The test is one process with one thread. */
static char rig_folder[64];

const char *profile_rig_folder(void)
{
	return rig_folder;
}

/* The library reads the environment at nrt_init(). */
static int begin(const char *lnc)
{
	setenv("NEURON_RT_BACKEND", "embedded", 1);
	setenv("NEURON_EMU_INSTANCE", "trn2:1", 1);
	setenv("NEURON_LOGICAL_NC_CONFIG", lnc, 1);
	snprintf(rig_folder, sizeof(rig_folder), "/tmp/neuron-profile-XXXXXX");
	if (!mkdtemp(rig_folder))
		return -1;
	strcat(rig_folder, "/");
	return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS;
}

int profile_rig_begin(void **state)
{
	(void)state;
	return begin("1");
}

int profile_rig_begin_pair(void **state)
{
	(void)state;
	return begin("2");
}

int profile_rig_end(void **state)
{
	DIR *folder = opendir(rig_folder);
	struct dirent *entry;
	char path[400];

	(void)state;
	nrt_close();
	while (folder && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "%s%s", rig_folder, entry->d_name);
		unlink(path);
	}
	if (folder)
		closedir(folder);
	return rmdir(rig_folder);
}

char *profile_rig_path(const char *name, const char *suffix)
{
	char *path;

	assert_true(asprintf(&path, "%s%s%s", rig_folder, name, suffix) > 0);
	return path;
}

char *profile_rig_read(const char *name, const char *suffix)
{
	char *path = profile_rig_path(name, suffix);
	struct nrt_error error;
	char *data, *text;
	size_t size;

	data = profile_load(path, &size, &error);
	assert_non_null(data);
	text = strndup(data, size);
	free(data);
	free(path);
	assert_non_null(text);
	return text;
}

void profile_rig_write(const char *name, const char *suffix, const char *text, size_t size)
{
	char *path = profile_rig_path(name, suffix);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(path);
}

/* A set with a tensor for each input, or each output. */
static nrt_tensor_set_t *make_set(const nrt_tensor_info_array_t *infos, nrt_tensor_usage_t usage)
{
	nrt_tensor_set_t *set;
	uint64_t i;

	assert_int_equal(nrt_allocate_tensor_set(&set), NRT_SUCCESS);
	for (i = 0; i < infos->tensor_count; i++) {
		const nrt_tensor_info_t *info = &infos->tensor_array[i];
		nrt_tensor_t *tensor;

		if (info->usage != usage)
			continue;
		assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, info->size,
						     info->name, &tensor), NRT_SUCCESS);
		assert_int_equal(nrt_add_tensor_to_tensor_set(set, info->name, tensor),
				 NRT_SUCCESS);
	}
	return set;
}

static void free_set(nrt_tensor_set_t *set, const nrt_tensor_info_array_t *infos,
		     nrt_tensor_usage_t usage)
{
	uint64_t i;

	for (i = 0; i < infos->tensor_count; i++) {
		nrt_tensor_t *tensor;

		if (infos->tensor_array[i].usage != usage)
			continue;
		assert_int_equal(nrt_get_tensor_from_tensor_set(set, infos->tensor_array[i].name,
								&tensor), NRT_SUCCESS);
		nrt_tensor_free(&tensor);
	}
	nrt_destroy_tensor_set(&set);
}

static void execute(nrt_model_t *model, const char *profile)
{
	nrt_tensor_info_array_t *infos;
	nrt_tensor_set_t *in, *out;

	assert_int_equal(nrt_get_model_tensor_info(model, &infos), NRT_SUCCESS);
	in = make_set(infos, NRT_TENSOR_USAGE_INPUT);
	out = make_set(infos, NRT_TENSOR_USAGE_OUTPUT);
	assert_int_equal(nrt_profile_start(model, profile), NRT_SUCCESS);
	assert_int_equal(nrt_execute(model, in, out), NRT_SUCCESS);
	assert_int_equal(nrt_profile_stop(profile), NRT_SUCCESS);
	free_set(in, infos, NRT_TENSOR_USAGE_INPUT);
	free_set(out, infos, NRT_TENSOR_USAGE_OUTPUT);
	nrt_free_model_tensor_info(infos);
}

void profile_rig_run(struct nb_program *nb, const char *name)
{
	char *neff = profile_rig_path(name, ".neff");
	char *profile = profile_rig_path(name, ".jsonl");
	struct nrt_error error;
	nrt_model_t *model;
	size_t size;
	void *data;

	if (nb && nb_write(nb, neff))
		fail_msg("%s", nb_error(nb));
	nb_free(nb);
	data = profile_load(neff, &size, &error);
	assert_non_null(data);
	assert_int_equal(nrt_load(data, size, 0, 1, &model), NRT_SUCCESS);
	execute(model, profile);
	assert_int_equal(nrt_unload(model), NRT_SUCCESS);
	free(data);
	free(profile);
	free(neff);
}

struct profile *profile_rig_open(const char *name)
{
	char *neff = profile_rig_path(name, ".neff");
	char *path = profile_rig_path(name, ".jsonl");
	struct nrt_error error;
	struct profile *profile;

	profile = profile_open(path, neff, &error);
	if (!profile)
		fail_msg("%s", error.text);
	free(path);
	free(neff);
	return profile;
}

struct profile *profile_rig_profile(struct nb_program *nb, const char *name)
{
	profile_rig_run(nb, name);
	return profile_rig_open(name);
}
