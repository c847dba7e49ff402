// SPDX-License-Identifier: MIT
/*
 * The DRM accel driver: one ioctl for each entry of the table.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#include "backend/backend.h"
#include "backend/drm.h"

struct nrt_chip {
	int fd;
	char *path;
};

static int call(struct nrt_chip *chip, unsigned long request, void *arg)
{
	return drmIoctl(chip->fd, request, arg) ? -errno : 0;
}

static void drm_close(struct nrt_chip *chip)
{
	close(chip->fd);
	free(chip->path);
	free(chip);
}

static NRT_STATUS drm_open_all(struct nrt_chip ***chips, unsigned int *count,
			       struct nrt_error *error)
{
	unsigned int i, nr;
	char **paths;
	int *fds;

	if (nrt_drm_open_nodes(&fds, &paths, &nr, error))
		return error->status;
	*count = 0;
	*chips = calloc(nr, sizeof(**chips));
	for (i = 0; i < nr; i++) {
		struct nrt_chip *chip = *chips ? malloc(sizeof(*chip)) : NULL;

		if (!chip) {
			close(fds[i]);
			free(paths[i]);
			continue;
		}
		chip->fd = fds[i];
		chip->path = paths[i];
		(*chips)[(*count)++] = chip;
	}
	free(fds);
	free(paths);
	if (*count == nr)
		return NRT_SUCCESS;
	while (*count)
		drm_close((*chips)[--*count]);
	free(*chips);
	return nrt_error_memory(error);
}

static const char *drm_path(const struct nrt_chip *chip)
{
	return chip->path;
}

/* The first line of a file of sysfs; @text stays when it cannot be read. */
static void read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	if (fgets(text, (int)size, file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static void drm_revision(const struct nrt_chip *chip, char *text, size_t size)
{
	char path[128];
	struct stat st;

	snprintf(text, size, "unknown");
	if (fstat(chip->fd, &st))
		return;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/revision", major(st.st_rdev),
		 minor(st.st_rdev));
	read_line(path, text, size);
}

static void drm_instance(char *text, size_t size)
{
	snprintf(text, size, "unknown");
	read_line("/sys/class/dmi/id/product_name", text, size);
}

static int drm_query(struct nrt_chip *chip, struct drm_neuron_query *query)
{
	return call(chip, DRM_IOCTL_NEURON_QUERY, query);
}

static int drm_claim(struct nrt_chip *chip, struct drm_neuron_claim *claim)
{
	return call(chip, DRM_IOCTL_NEURON_CLAIM, claim);
}

static int drm_release(struct nrt_chip *chip, struct drm_neuron_release *release)
{
	return call(chip, DRM_IOCTL_NEURON_RELEASE, release);
}

static int drm_bo_create(struct nrt_chip *chip, struct drm_neuron_bo_create *create)
{
	return call(chip, DRM_IOCTL_NEURON_BO_CREATE, create);
}

static int drm_bo_info(struct nrt_chip *chip, struct drm_neuron_bo_info *info)
{
	return call(chip, DRM_IOCTL_NEURON_BO_INFO, info);
}

static void drm_bo_close(struct nrt_chip *chip, uint32_t handle)
{
	drmCloseBufferHandle(chip->fd, handle);
}

static int drm_bo_map(struct nrt_chip *chip, uint64_t offset, uint64_t size, void **map)
{
	*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, chip->fd, (off_t)offset);
	if (*map != MAP_FAILED)
		return 0;
	*map = NULL;
	return -errno;
}

static void drm_bo_unmap(struct nrt_chip *chip, void *map, uint64_t size)
{
	(void)chip;
	munmap(map, size);
}

static int drm_bo_export(struct nrt_chip *chip, uint32_t handle, int *fd)
{
	return drmPrimeHandleToFD(chip->fd, handle, DRM_CLOEXEC | DRM_RDWR, fd) ? -errno : 0;
}

static int drm_bo_import(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	return drmPrimeFDToHandle(chip->fd, fd, handle) ? -errno : 0;
}

static int drm_copy(struct nrt_chip *chip, struct drm_neuron_copy *copy)
{
	return call(chip, DRM_IOCTL_NEURON_COPY, copy);
}

static int drm_windows(struct nrt_chip *chip, struct drm_neuron_windows *windows)
{
	return call(chip, DRM_IOCTL_NEURON_WINDOWS, windows);
}

static int drm_grant(struct nrt_chip *chip, struct drm_neuron_grant *grant)
{
	return call(chip, DRM_IOCTL_NEURON_GRANT, grant);
}

static int drm_grant_import(struct nrt_chip *chip, struct drm_neuron_grant_import *import)
{
	return call(chip, DRM_IOCTL_NEURON_GRANT_IMPORT, import);
}

static int drm_grant_close(struct nrt_chip *chip, struct drm_neuron_grant_close *close)
{
	return call(chip, DRM_IOCTL_NEURON_GRANT_CLOSE, close);
}

static int drm_submit(struct nrt_chip *chip, struct drm_neuron_submit *submit)
{
	return call(chip, DRM_IOCTL_NEURON_SUBMIT, submit);
}

static int drm_series_import(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	struct drm_neuron_series_import args = { .fd = fd };
	int ret = call(chip, DRM_IOCTL_NEURON_SERIES_IMPORT, &args);

	*handle = args.handle;
	return ret;
}

static int drm_series(struct nrt_chip *chip, struct nrt_series *series)
{
	struct drm_neuron_series args = { .members = series->members };
	bool valid = args.members && args.members <= DRM_NEURON_SERIES_MEMBERS;
	int ret = call(chip, DRM_IOCTL_NEURON_SERIES, &args);

	/* A driver before version 2.1 knows no such call. */
	if (ret)
		return ret == -EINVAL && valid ? -EOPNOTSUPP : ret;
	ret = drm_series_import(chip, args.fd, &series->handle);
	if (ret)
		close(args.fd);
	else
		series->fd = args.fd;
	return ret;
}

static void drm_series_close(struct nrt_chip *chip, uint32_t handle)
{
	struct drm_neuron_series_close args = { .handle = handle };

	call(chip, DRM_IOCTL_NEURON_SERIES_CLOSE, &args);
}

/* The caller's jobs stay as they are: they may be submitted again, as other members. */
static int drm_submit_timed(struct nrt_chip *chip, struct drm_neuron_submit *submit,
			    const struct nrt_time_place *places)
{
	const struct drm_neuron_job *from = (const void *)(uintptr_t)submit->jobs.pointer;
	struct drm_neuron_submit args = *submit;
	struct drm_neuron_job *jobs;
	uint32_t i;
	int ret;

	/* Callers are of this library, and have the header that it has. */
	if (submit->jobs.stride != sizeof(*jobs))
		return -EINVAL;
	jobs = calloc(submit->jobs.count, sizeof(*jobs));
	if (!jobs)
		return -ENOMEM;
	for (i = 0; i < submit->jobs.count; i++) {
		jobs[i] = from[i];
		if (!places[i].series)
			continue;
		jobs[i].series = places[i].series;
		jobs[i].member = places[i].index;
		jobs[i].group = places[i].sequence;
	}
	args.jobs.pointer = (uintptr_t)jobs;
	ret = drm_submit(chip, &args);
	free(jobs);
	submit->job = args.job;
	return ret;
}

static int drm_settled(struct nrt_chip *chip, struct nrt_settled *settled)
{
	struct drm_neuron_times args = {
		.claim = settled->claim,
		.core = settled->core,
		.job = settled->job,
		.deadline_ns = settled->deadline_ns,
	};
	int ret = call(chip, DRM_IOCTL_NEURON_TIMES, &args);

	if (ret)
		return ret;
	settled->start_ns = args.start_ns;
	settled->end_ns = args.end_ns;
	settled->exact = args.cause == DRM_NEURON_SETTLE_FINE;
	settled->cause = (uint16_t)args.cause;
	return 0;
}

static int drm_wait(struct nrt_chip *chip, struct drm_neuron_wait *wait)
{
	return call(chip, DRM_IOCTL_NEURON_WAIT, wait);
}

static int drm_cancel(struct nrt_chip *chip, struct drm_neuron_cancel *cancel)
{
	return call(chip, DRM_IOCTL_NEURON_CANCEL, cancel);
}

static int drm_post(struct nrt_chip *chip, struct drm_neuron_post *post)
{
	return call(chip, DRM_IOCTL_NEURON_POST, post);
}

static int drm_dump(struct nrt_chip *chip, struct drm_neuron_dump *dump)
{
	return call(chip, DRM_IOCTL_NEURON_DUMP, dump);
}

const struct nrt_backend nrt_backend_drm = {
	.name = "drm",
	.has_dmabuf = true,
	.open_all = drm_open_all,
	.close = drm_close,
	.path = drm_path,
	.revision = drm_revision,
	.instance = drm_instance,
	.query = drm_query,
	.claim = drm_claim,
	.release = drm_release,
	.bo_create = drm_bo_create,
	.bo_info = drm_bo_info,
	.bo_close = drm_bo_close,
	.bo_map = drm_bo_map,
	.bo_unmap = drm_bo_unmap,
	.bo_export = drm_bo_export,
	.bo_import = drm_bo_import,
	.copy = drm_copy,
	.windows = drm_windows,
	.grant = drm_grant,
	.grant_import = drm_grant_import,
	.grant_close = drm_grant_close,
	.submit = drm_submit,
	.series = drm_series,
	.series_import = drm_series_import,
	.series_close = drm_series_close,
	.submit_timed = drm_submit_timed,
	.settled = drm_settled,
	.wait = drm_wait,
	.cancel = drm_cancel,
	.post = drm_post,
	.dump = drm_dump,
};
