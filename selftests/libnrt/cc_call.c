// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cc_call.h"

/* Functions of a back end have no argument for it. */
static struct {
	const struct nrt_backend *real;
	struct nrt_backend changed;
	struct nrt_chip *chip;
	uint64_t skip;
	atomic_ullong made;
} call;

static bool refuses(const struct nrt_chip *chip)
{
	return chip == call.chip && atomic_fetch_add(&call.made, 1) == call.skip;
}

static int submit(struct nrt_chip *chip, struct drm_neuron_submit *args)
{
	return refuses(chip) ? -ENOMEM : call.real->submit(chip, args);
}

static int bo_create(struct nrt_chip *chip, struct drm_neuron_bo_create *args)
{
	return refuses(chip) ? -ENOMEM : call.real->bo_create(chip, args);
}

static int grant(struct nrt_chip *chip, struct drm_neuron_grant *args)
{
	return refuses(chip) ? -ENOMEM : call.real->grant(chip, args);
}

static int grant_import(struct nrt_chip *chip, struct drm_neuron_grant_import *args)
{
	return refuses(chip) ? -ENOMEM : call.real->grant_import(chip, args);
}

static int bo_export(struct nrt_chip *chip, uint32_t handle, int *fd)
{
	return refuses(chip) ? -EMFILE : call.real->bo_export(chip, handle, fd);
}

static int bo_import(struct nrt_chip *chip, int fd, uint32_t *handle)
{
	return refuses(chip) ? -ENOMEM : call.real->bo_import(chip, fd, handle);
}

void cc_call_refuse(struct nrt_device *device, const char *name, uint64_t skip)
{
	call.real = device->backend;
	call.changed = *device->backend;
	call.chip = device->chip;
	call.skip = skip;
	atomic_store(&call.made, 0);
	if (!strcmp(name, "submit"))
		call.changed.submit = submit;
	else if (!strcmp(name, "bo-create"))
		call.changed.bo_create = bo_create;
	else if (!strcmp(name, "bo-export"))
		call.changed.bo_export = bo_export;
	else if (!strcmp(name, "bo-import"))
		call.changed.bo_import = bo_import;
	else if (!strcmp(name, "grant"))
		call.changed.grant = grant;
	else
		call.changed.grant_import = grant_import;
	device->backend = &call.changed;
}

uint64_t cc_call_allow(struct nrt_device *device)
{
	device->backend = call.real;
	return atomic_load(&call.made);
}
