/* SPDX-License-Identifier: MIT */
/*
 * Version of the library.
 */
#ifndef NRT_VERSION_H
#define NRT_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include <nrt/nrt_status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RT_VERSION_DETAIL_LEN	128
#define GIT_HASH_LEN		64

/**
 * struct nrt_version - version of the library (224 bytes)
 * @rt_major: first part of the version number
 * @rt_minor: second part
 * @rt_patch: third part
 * @rt_maintenance: fourth part
 * @rt_detail: the whole version as text, NUL terminated
 * @git_hash: commit it was built from, or an empty string
 */
typedef struct nrt_version {
	uint64_t rt_major;
	uint64_t rt_minor;
	uint64_t rt_patch;
	uint64_t rt_maintenance;
	char rt_detail[RT_VERSION_DETAIL_LEN];
	char git_hash[GIT_HASH_LEN];
} nrt_version_t;

#pragma GCC visibility push(default)

/**
 * nrt_get_version() - version of the library
 * @ver: filled
 * @size: sizeof(nrt_version_t) of the caller; no more bytes are written
 *
 * May be called at any time from any thread.
 * Return: NRT_SUCCESS; NRT_INVALID for a NULL @ver or a @size of 0.
 */
NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* NRT_VERSION_H */
