/* SPDX-License-Identifier: MIT */
/*
 * Handles: what a program gets instead of the address of an object.
 *
 * A handle is a number dressed as a pointer. It names a slot of a table and the generation
 * of that slot, so a handle that was freed is known to be so, also when the slot is used
 * again, and a value that never was a handle is refused without being looked into. The
 * values are no addresses that a program can have: one that follows such a pointer faults.
 *
 * Whoever looks a handle up gets a reference, so an object does not go away under a thread
 * that uses it. All functions may be called from any thread.
 */
#ifndef LIBNRT_BASE_HANDLE_H
#define LIBNRT_BASE_HANDLE_H

#include <stdbool.h>
#include <stddef.h>

/* What a handle stands for. */
enum nrt_kind {
	NRT_KIND_MODEL,
	NRT_KIND_TENSOR,
	NRT_KIND_TENSOR_SET,
	NRT_KIND_TRACKER,
	NRT_KIND_TRACE_CONFIG,
	NRT_KIND_FETCH_OPTIONS,
	NRT_KIND_PROFILE_OPTIONS,
	NRT_KIND_INSPECT_CONFIG,
	NRT_KIND_ENDPOINT,
	NRT_KIND_MESSAGE,
	NRT_KIND_COLLECTIVE,
	NRT_NR_KINDS,
};

struct nrt_handles;

/**
 * struct nrt_handle_ops - what is done with objects
 * @release: by kind; called once, when a handle is closed and its last reference is gone
 */
struct nrt_handle_ops {
	void (*release[NRT_NR_KINDS])(void *object);
};

/*
 * A table; @ops stays. Handles of tables with
 * different @series are different for a million generations of a slot. NULL: no
 * memory.
 */
struct nrt_handles *nrt_handles_new(const struct nrt_handle_ops *ops, unsigned int series);

/* A handle for @object, or NULL: no memory, or millions of handles in use. */
void *nrt_handle_new(struct nrt_handles *handles, enum nrt_kind kind, void *object);

/* The object with a reference that nrt_handle_put() drops; NULL: no such handle. */
void *nrt_handle_get(struct nrt_handles *handles, enum nrt_kind kind, const void *handle);
void nrt_handle_put(struct nrt_handles *handles, const void *handle);

/*
 * End a handle: nobody finds it any more. The object is released when the last reference
 * is gone; with @wait not before that does this function return, so the caller must hold
 * none. False: no such handle, or another thread was first.
 */
bool nrt_handle_close(struct nrt_handles *handles, enum nrt_kind kind, const void *handle,
		      bool wait);

/* Some handle of that kind, or NULL: to end them all. */
void *nrt_handle_any(struct nrt_handles *handles, enum nrt_kind kind);

/* Run @fn on each object of that kind; it is referenced meanwhile. No lock is held. */
typedef void nrt_each_fn(void *object, void *arg);
void nrt_handle_each(struct nrt_handles *handles, enum nrt_kind kind, nrt_each_fn *fn, void *arg);

#endif /* LIBNRT_BASE_HANDLE_H */
