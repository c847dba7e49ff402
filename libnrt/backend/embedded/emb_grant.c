// SPDX-License-Identifier: MIT
/*
 * Grants: what a claim lets others post or reach. A descriptor names a grant, and so does a handle
 * of a chip that has imported it, which needs no descriptor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/embedded/emb.h"

#define MORE_IMPORTS	64

int emb_grant(struct nrt_chip *chip, struct drm_neuron_grant *grant)
{
	bool sbuf = grant->flags & (DRM_NEURON_GRANT_SBUF_READ | DRM_NEURON_GRANT_SBUF_WRITE);
	uint64_t room = sbuf ? NEURON_TPB_SBUF_SIZE : NEURON_NR_SEMAPHORES;
	struct emb_name name = {
		.claim = grant->claim,
		.first = grant->first,
		.count = grant->count,
		.flags = grant->flags,
	};
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	if (grant->flags & ~(DRM_NEURON_GRANT_SBUF_READ | DRM_NEURON_GRANT_SBUF_WRITE) ||
	    !grant->count || grant->first > room || grant->count > room - grant->first ||
	    (sbuf && ((grant->first | grant->count) % 4 || grant->core >= NEURON_MAX_CORES)))
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	ret = emb_core_use(chip, grant->claim, grant->core, &name.core);
	if (!ret)
		ret = emb_name_new(chip->machine, &name);
	pthread_mutex_unlock(&chip->lock);
	if (ret < 0)
		return ret;
	grant->fd = ret;
	return 0;
}

/* --- With the chip's lock --- */

static void drop_import(struct nrt_chip *chip, uint32_t handle)
{
	chip->import[handle - 1] = (struct emb_import){ .next_free = chip->free_import };
	chip->free_import = handle;
}

/* More imports that are free; the lowest handle is taken first. */
static int add_imports(struct nrt_chip *chip)
{
	uint32_t room = EMB_IMPORTS - chip->nr_imports, more = MORE_IMPORTS, handle;
	struct emb_import *grown;

	if (more > room)
		more = room;
	if (!more)
		return -ENOSPC;
	grown = reallocarray(chip->import, chip->nr_imports + more, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	chip->import = grown;
	for (handle = chip->nr_imports + more; handle > chip->nr_imports; handle--)
		drop_import(chip, handle);
	chip->nr_imports += more;
	return 0;
}

/* A claim that ends forgets the names of its grants before the generation changes. */
static bool find_by_fd(struct emb_machine *machine, int fd, struct emb_name *name,
		       uint32_t *generation)
{
	bool found;

	pthread_mutex_lock(&machine->lock);
	found = emb_name_find(machine, fd, name) && name->core;
	if (found)
		*generation = name->core->generation;
	pthread_mutex_unlock(&machine->lock);
	return found;
}

/* The generation is another one when the claim has ended. */
static bool find_by_handle(struct nrt_chip *chip, uint32_t handle, struct emb_name *name,
			   uint32_t *generation)
{
	struct emb_machine *machine = chip->machine;
	const struct emb_import *import;
	bool is_valid;

	if (!handle || handle > chip->nr_imports || !chip->import[handle - 1].name.core)
		return false;
	import = &chip->import[handle - 1];
	*name = import->name;
	*generation = import->generation;
	pthread_mutex_lock(&machine->lock);
	is_valid = name->core->generation == import->generation;
	pthread_mutex_unlock(&machine->lock);
	return is_valid;
}

bool emb_grant_find(struct nrt_chip *chip, const struct drm_neuron_window *window,
		    struct emb_name *name, uint32_t *generation)
{
	if (window->from == DRM_NEURON_FROM_GRANT_FD)
		return find_by_fd(chip->machine, window->source, name, generation);
	return find_by_handle(chip, (uint32_t)window->source, name, generation);
}

/* --- Imports --- */

static int import_locked(struct nrt_chip *chip, struct drm_neuron_grant_import *args)
{
	struct emb_import found = { 0 };
	int ret;

	if (!find_by_fd(chip->machine, args->fd, &found.name, &found.generation))
		return -EBADF;
	ret = chip->free_import ? 0 : add_imports(chip);
	if (ret)
		return ret;
	args->handle = chip->free_import;
	chip->free_import = chip->import[args->handle - 1].next_free;
	chip->import[args->handle - 1] = found;
	return 0;
}

int emb_grant_import(struct nrt_chip *chip, struct drm_neuron_grant_import *args)
{
	int ret;

	if (emb_forked(chip))
		return -ENODEV;
	pthread_mutex_lock(&chip->lock);
	ret = import_locked(chip, args);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emb_grant_close(struct nrt_chip *chip, struct drm_neuron_grant_close *args)
{
	bool found;

	if (emb_forked(chip))
		return -ENODEV;
	if (args->pad)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	found = args->handle && args->handle <= chip->nr_imports &&
		chip->import[args->handle - 1].name.core;
	if (found)
		drop_import(chip, args->handle);
	pthread_mutex_unlock(&chip->lock);
	return found ? 0 : -ENOENT;
}
