// SPDX-License-Identifier: MIT
/*
 * Names: the file descriptors by which buffers, grants and series of time groups are handed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/embedded/emb.h"

/* With emb_machine.lock: what names the same already, or NULL. */
static struct emb_name *find_same(struct emb_machine *machine, const struct emb_name *name)
{
	size_t i;

	for (i = 0; i < machine->nr_names; i++) {
		struct emb_name *other = &machine->name[i];

		if (other->bo == name->bo && other->core == name->core &&
		    other->series == name->series && other->claim == name->claim &&
		    other->first == name->first && other->count == name->count &&
		    other->flags == name->flags)
			return other;
	}
	return NULL;
}

/*
 * The file of a name. Of a grant and of a buffer it is a pipe, into which nobody writes. While the
 * back end has the other end, nothing can be read. Then poll() says POLLHUP, as of the driver's
 * grants. The other end tells the back end when all descriptors of a buffer are closed. 0 or a
 * negative errno.
 */
static int open_file(struct emb_name *name)
{
	int ends[2] = { -1, -1 };

	if (name->core || name->bo) {
		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
			return -errno;
	} else {
		ends[0] = memfd_create("neuron", MFD_CLOEXEC);
		if (ends[0] < 0)
			return -errno;
	}
	name->fd = ends[0];
	name->other_end = ends[1];
	return 0;
}

static void close_file(const struct emb_name *name)
{
	if (name->fd >= 0)
		close(name->fd);
	if (name->other_end >= 0)
		close(name->other_end);
}

/* One more descriptor of the file; of a buffer the back end keeps none itself. */
static int hand_out(struct emb_name *name)
{
	char path[40];
	int fd = name->fd;

	if (name->bo && fd >= 0) {
		name->fd = -1;
	} else if (name->bo) {
		snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", name->other_end);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	} else {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return fd < 0 ? -errno : fd;
}

/* With emb_machine.lock: a new one with a file of its own; 0 or a negative errno. */
static int add_name(struct emb_machine *machine, const struct emb_name *name,
		    struct emb_name **added)
{
	struct emb_name *grown = reallocarray(machine->name, machine->nr_names + 1,
					      sizeof(*grown));
	struct emb_name *last;
	struct stat st;
	int ret;

	if (!grown)
		return -ENOMEM;
	machine->name = grown;
	last = &grown[machine->nr_names];
	*last = *name;
	ret = open_file(last);
	if (ret)
		return ret;
	if (fstat(last->fd, &st)) {
		ret = -errno;
		close_file(last);
		return ret;
	}
	last->device = st.st_dev;
	last->inode = st.st_ino;
	machine->nr_names++;
	if (last->bo)
		last->bo->refs++;
	*added = last;
	return 0;
}

static int name_new(struct emb_machine *machine, const struct emb_name *name)
{
	struct emb_name *found;
	int ret = 0;

	pthread_mutex_lock(&machine->lock);
	found = find_same(machine, name);
	if (!found)
		ret = add_name(machine, name, &found);
	if (!ret)
		ret = hand_out(found);
	pthread_mutex_unlock(&machine->lock);
	return ret;
}

/* The other ends of a pipe that nobody can read: its descriptors are closed, in all processes. */
static bool is_closed(const struct emb_name *name)
{
	struct pollfd end = { .fd = name->other_end };

	return name->bo && poll(&end, 1, 0) == 1 && end.revents & POLLERR;
}

/*
 * The buffer, @only or any, of the first name from @at on that is closed, which is gone then; or
 * NULL. The next call goes on from there.
 */
static struct emb_bo *take_closed(struct emb_machine *machine, const struct emb_bo *only,
				  size_t *at)
{
	struct emb_bo *bo = NULL;
	struct emb_name *name;

	pthread_mutex_lock(&machine->lock);
	while (*at < machine->nr_names && !bo) {
		name = &machine->name[*at];
		if ((only && name->bo != only) || !is_closed(name)) {
			++*at;
			continue;
		}
		bo = name->bo;
		close_file(name);
		*name = machine->name[--machine->nr_names];
	}
	pthread_mutex_unlock(&machine->lock);
	return bo;
}

bool emb_names_sweep(struct emb_machine *machine, const struct emb_bo *only)
{
	bool found = false;
	struct emb_bo *bo;
	size_t at = 0;

	while ((bo = take_closed(machine, only, &at))) {
		emb_bo_put(bo);
		found = true;
	}
	return found;
}

/* Ends of pipes whose buffers nobody names any more are descriptors, too. */
int emb_name_new(struct emb_machine *machine, const struct emb_name *name)
{
	int fd = name_new(machine, name);

	if ((fd == -EMFILE || fd == -ENFILE) && emb_names_sweep(machine, NULL))
		fd = name_new(machine, name);
	return fd;
}

bool emb_name_find(struct emb_machine *machine, int fd, struct emb_name *name)
{
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		return false;
	for (i = 0; i < machine->nr_names; i++) {
		if (machine->name[i].device != st.st_dev || machine->name[i].inode != st.st_ino)
			continue;
		*name = machine->name[i];
		return true;
	}
	return false;
}

void emb_names_destroy(struct emb_machine *machine)
{
	size_t i;

	for (i = 0; i < machine->nr_names; i++) {
		close_file(&machine->name[i]);
		emb_bo_put(machine->name[i].bo);
	}
	free(machine->name);
	machine->name = NULL;
	machine->nr_names = 0;
}

void emb_names_forget(struct emb_machine *machine, const struct emb_core *core,
		      const struct emb_series *series)
{
	size_t i, kept = 0;

	for (i = 0; i < machine->nr_names; i++) {
		const struct emb_name *name = &machine->name[i];

		if ((core && name->core == core) || (series && name->series == series))
			close_file(name);
		else
			machine->name[kept++] = machine->name[i];
	}
	machine->nr_names = kept;
}
