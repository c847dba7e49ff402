/* SPDX-License-Identifier: MIT */
/*
 * Tensor sets: tensors by the names that a model has for them. A set has handles, so a
 * tensor that was freed is found out when the set is used.
 */
#ifndef LIBNRT_OBJECT_SET_H
#define LIBNRT_OBJECT_SET_H

#include <stddef.h>

#include "base/error.h"

struct nrt_set;

struct nrt_set *nrt_set_new(void);
void nrt_set_release(struct nrt_set *set);

/* Add a tensor, or replace the one of that name. */
NRT_STATUS nrt_set_add(struct nrt_set *set, const char *name, void *tensor,
		       struct nrt_error *error);

/* The handle of the tensor of that name, or NULL. */
void *nrt_set_find(struct nrt_set *set, const char *name);

/* Up to @size bytes with the names of the set, for an error message. */
void nrt_set_names(struct nrt_set *set, char *text, size_t size);

#endif /* LIBNRT_OBJECT_SET_H */
