/* SPDX-License-Identifier: MIT */
/*
 * A stream in memory for the saving and loading of a block.
 */
#ifndef STATE_STREAM_H
#define STATE_STREAM_H

#include <string.h>

#include "base/trn_state.h"

#define STATE_STREAM_BYTES	65536

struct state_stream {
	uint8_t data[STATE_STREAM_BYTES];
	size_t len;
	size_t at;
};

static inline bool state_stream_out(void *opaque, void *buf, size_t len)
{
	struct state_stream *stream = opaque;

	if (len > sizeof(stream->data) - stream->len)
		return false;
	memcpy(stream->data + stream->len, buf, len);
	stream->len += len;
	return true;
}

static inline bool state_stream_in(void *opaque, void *buf, size_t len)
{
	struct state_stream *stream = opaque;

	if (len > stream->len - stream->at)
		return false;
	memcpy(buf, stream->data + stream->at, len);
	stream->at += len;
	return true;
}

static inline struct trn_state state_stream_save(struct state_stream *stream)
{
	return (struct trn_state){
		.transfer = state_stream_out, .opaque = stream,
	};
}

static inline struct trn_state state_stream_load(struct state_stream *stream)
{
	stream->at = 0;
	return (struct trn_state){
		.loading = true, .transfer = state_stream_in, .opaque = stream,
	};
}

#endif /* STATE_STREAM_H */
