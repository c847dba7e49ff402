/* SPDX-License-Identifier: MIT */
/*
 * Calls about configurations: they are allowed at any time.
 */
#ifndef LIBNRT_API_CONFIG_H
#define LIBNRT_API_CONFIG_H

#include "api/state.h"

/* A handle for @object, which is released on failure; NULL: there was no memory for it. */
NRT_STATUS nrt_config_new(const char *call, enum nrt_kind kind, void *object, void *out);

/* What a call does with a configuration. One thread at a time is in such a function. */
typedef NRT_STATUS nrt_config_fn(void *config, void *arg, struct nrt_error *error);

/* Look @handle up, run @fn, log the error. */
NRT_STATUS nrt_config_call(const char *call, enum nrt_kind kind, const void *handle,
			   nrt_config_fn *fn, void *arg);

/* End a handle. */
NRT_STATUS nrt_config_free(const char *call, enum nrt_kind kind, const void *handle);

#endif /* LIBNRT_API_CONFIG_H */
