/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The stream to which chips and fabrics are saved, and from which they are loaded.
 */
#ifndef TRN_API_STATE_H
#define TRN_API_STATE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct trn_state - a stream; the caller's
 * @loading: direction
 * @why: NULL, or why it failed: a static string. NULL at the start
 * @transfer: move @len bytes to or from the stream; false: it ended
 * @opaque: first argument of @transfer
 *
 * The bytes are the same on every host. A stream that is loaded may say anything: the worst
 * that it can do is to fail.
 */
struct trn_state {
	bool loading;
	const char *why;
	bool (*transfer)(void *opaque, void *buf, size_t len);
	void *opaque;
};

#endif /* TRN_API_STATE_H */
