// SPDX-License-Identifier: MIT
/* A NEFF as a folder of files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "packager.h"

#define MAX_FILE	((size_t)4 << 30)
#define MAX_DEPTH	16
#define MAX_PATH	4096

static int fail_path(struct nrt_error *error, const char *path)
{
	nrt_error_set(error, NRT_FAILURE, "%.400s: %s", path, strerror(errno));
	return -1;
}

/* Nothing is there yet that a file could be written through, such as a link. */
static int open_empty(const char *folder, struct nrt_error *error)
{
	struct dirent *entry;
	DIR *dir;
	int fd;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return fail_path(error, folder);
	dir = opendir(folder);
	if (!dir)
		return fail_path(error, folder);
	while ((entry = readdir(dir)) &&
	       (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
		;
	closedir(dir);
	if (entry) {
		nrt_error_set(error, NRT_INVALID,
			      "%.400s: the folder is not empty; -o names another one", folder);
		return -1;
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? fail_path(error, folder) : fd;
}

/* The folders of a path, one by one. */
static int make_folders(int fd, const char *path, struct nrt_error *error)
{
	const char *slash = path;
	char *part;
	int ret = 0;

	while (!ret && (slash = strchr(slash, '/'))) {
		part = strndup(path, (size_t)(slash - path));
		if (!part || (mkdirat(fd, part, 0777) && errno != EEXIST))
			ret = fail_path(error, path);
		free(part);
		slash++;
	}
	return ret;
}

static int write_member(int fd, const char *path, const void *data, size_t size,
			struct nrt_error *error)
{
	const uint8_t *at = data, *end = at + size;
	int out, ret = 0;
	ssize_t n;

	if (make_folders(fd, path, error))
		return -1;
	out = openat(fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (out < 0)
		return fail_path(error, path);
	while (at < end && !ret) {
		n = write(out, at, (size_t)(end - at));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = fail_path(error, path);
		else
			at += n;
	}
	if (close(out) && !ret)
		ret = fail_path(error, path);
	return ret;
}

/* What the files do not say: header, compression, and the order of the archive. */
static struct json_object *folder_json(const struct package *package)
{
	struct json_object *root = json_object_new_object();
	struct json_object *files = json_object_new_array();
	size_t i;

	json_object_object_add(root, "header", header_json(&package->header));
	json_object_object_add(root, "gzip", json_object_new_boolean(package->gzip));
	for (i = 0; i < package->nr_members; i++)
		json_object_array_add(files, json_object_new_string(package->member[i]->path));
	json_object_object_add(root, "files", files);
	return root;
}

int folder_unpack(const struct package *package, const char *folder, struct nrt_error *error)
{
	struct json_object *root;
	const char *text;
	size_t i;
	int fd, ret;

	if (package_find(package, FOLDER_HEADER)) {
		nrt_error_set(error, NRT_INVALID, "archive: a file is called %s", FOLDER_HEADER);
		return -1;
	}
	fd = open_empty(folder, error);
	if (fd < 0)
		return -1;
	root = folder_json(package);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY |
					      JSON_C_TO_STRING_NOSLASHESCAPE);
	ret = write_member(fd, FOLDER_HEADER, text, strlen(text), error);
	json_object_put(root);
	for (i = 0; i < package->nr_members && !ret; i++)
		ret = write_member(fd, package->member[i]->path, package->member[i]->data,
				   package->member[i]->size, error);
	close(fd);
	return ret;
}

static int join(char path[MAX_PATH], const char *folder, const char *name,
		struct nrt_error *error)
{
	if (snprintf(path, MAX_PATH, "%s/%s", folder, name) < MAX_PATH)
		return 0;
	nrt_error_set(error, NRT_INVALID, "%.200s: the path is too long", name);
	return -1;
}

static int read_member(struct package *package, const char *path, const char *name,
		       struct nrt_error *error)
{
	char *data;
	size_t size;

	if (input_read(path, MAX_FILE, &data, &size))
		return fail_path(error, path);
	if (!package_add(package, name, (uint8_t *)data, size, error))
		return 0;
	free(data);
	return -1;
}

static int read_folder(struct package *package, const char *folder, const char *prefix,
		       unsigned int depth, struct nrt_error *error);

/* A file or a folder that the list has not named; links and devices are left out. */
static int read_other(struct package *package, const char *folder, const char *name,
		      unsigned int depth, struct nrt_error *error)
{
	char path[MAX_PATH];
	struct stat st;

	if (join(path, folder, name, error))
		return -1;
	if (lstat(path, &st))
		return fail_path(error, path);
	if (S_ISDIR(st.st_mode))
		return read_folder(package, folder, name, depth + 1, error);
	if (!S_ISREG(st.st_mode)) {
		nrt_error_set(error, NRT_INVALID, "%.400s: not a regular file", path);
		return -1;
	}
	if (package_find(package, name) || !strcmp(name, FOLDER_HEADER))
		return 0;
	return read_member(package, path, name, error);
}

static int read_folder(struct package *package, const char *folder, const char *prefix,
		       unsigned int depth, struct nrt_error *error)
{
	struct dirent **list;
	char path[MAX_PATH];
	int i, count, ret = 0;

	if (depth > MAX_DEPTH) {
		nrt_error_set(error, NRT_INVALID, "%.400s: more than %d folders in each other",
			      prefix, MAX_DEPTH);
		return -1;
	}
	if (join(path, folder, prefix, error))
		return -1;
	count = scandir(path, &list, NULL, alphasort);
	if (count < 0)
		return fail_path(error, path);
	for (i = 0; i < count; i++) {
		const char *name = list[i]->d_name;

		if (!ret && strcmp(name, ".") && strcmp(name, "..")) {
			ret = *prefix ? join(path, prefix, name, error) : 0;
			if (!ret)
				ret = read_other(package, folder, *prefix ? path : name, depth,
						 error);
		}
		free(list[i]);
	}
	free(list);
	return ret;
}

/* The files in the order that they had; those that are gone are left out. */
static int read_listed(struct package *package, const char *folder, struct json_object *files,
		       struct nrt_error *error)
{
	char path[MAX_PATH];
	struct stat st;
	size_t i;

	for (i = 0; i < json_object_array_length(files); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(files, i));

		if (!name)
			continue;
		if (join(path, folder, name, error))
			return -1;
		if (lstat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		if (read_member(package, path, name, error))
			return -1;
	}
	return 0;
}

static int read_header(struct package *package, struct json_object *root, struct nrt_error *error)
{
	struct json_object *header, *gzip;

	if (!json_object_object_get_ex(root, "header", &header) ||
	    !json_object_is_type(header, json_type_object)) {
		nrt_error_set(error, NRT_INVALID, "%s: no object \"header\"", FOLDER_HEADER);
		return -1;
	}
	if (json_object_object_get_ex(root, "gzip", &gzip))
		package->gzip = json_object_get_boolean(gzip);
	{
		json_object_object_foreach(header, key, value)
			if (header_set(&package->header, key, value, error))
				return -1;
	}
	return 0;
}

int folder_read(const char *folder, const char *name, struct package *package,
		struct nrt_error *error)
{
	struct package_member description = { .path = FOLDER_HEADER };
	struct json_object *root = NULL, *files;
	char path[MAX_PATH];
	int ret = 0;

	if (join(path, folder, FOLDER_HEADER, error))
		return -1;
	if (!input_read(path, MAX_FILE, (char **)&description.data, &description.size)) {
		root = package_json(&description, error);
		if (!root)
			ret = -1;
		if (!ret && json_object_object_get_ex(root, "files", &files) &&
		    json_object_is_type(files, json_type_array))
			ret = read_listed(package, folder, files, error);
	}
	if (!ret)
		ret = read_folder(package, folder, "", 0, error);
	package_default_header(package, name);
	if (!ret && root)
		ret = read_header(package, root, error);
	json_object_put(root);
	free(description.data);
	return ret;
}
