// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_bulk.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ThreadSanitizer does not see stores past the caches. */
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define HAVE_STREAM 1
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef HAVE_STREAM
#endif
#endif

#ifdef HAVE_STREAM

#include <emmintrin.h>

#define LINE	64

static bool overlap(const void *a, const void *b, size_t len)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return (x < y ? y - x : x - y) < len;
}

/* @dst is aligned to a line, @len a multiple of it. */
static void stream(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += LINE) {
		const __m128i *from = (const __m128i *)(src + i);
		__m128i *to = (__m128i *)(dst + i);
		__m128i a = _mm_loadu_si128(from);
		__m128i b = _mm_loadu_si128(from + 1);
		__m128i c = _mm_loadu_si128(from + 2);
		__m128i d = _mm_loadu_si128(from + 3);

		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
	/* These stores have no order but this one. */
	_mm_sfence();
}

void trn_bulk_move(void *dst, const void *src, size_t len)
{
	uint8_t *to = dst;
	const uint8_t *from = src;
	size_t head, body;

	if (len < TRN_BULK_BYTES || overlap(dst, src, len)) {
		memmove(dst, src, len);
		return;
	}
	head = -(uintptr_t)to % LINE;
	body = (len - head) / LINE * LINE;
	memcpy(to, from, head);
	stream(to + head, from + head, body);
	memcpy(to + head + body, from + head + body, len - head - body);
}

#else

void trn_bulk_move(void *dst, const void *src, size_t len)
{
	memmove(dst, src, len);
}

#endif
