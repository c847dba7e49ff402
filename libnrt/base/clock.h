/* SPDX-License-Identifier: MIT */
/*
 * CLOCK_MONOTONIC in nanoseconds, and times of it for those who wait.
 */
#ifndef LIBNRT_BASE_CLOCK_H
#define LIBNRT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NRT_CLOCK_NS	1000000000ull

static inline uint64_t nrt_clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NRT_CLOCK_NS + (uint64_t)now.tv_nsec;
}

static inline struct timespec nrt_clock_time(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NRT_CLOCK_NS), .tv_nsec = (long)(ns % NRT_CLOCK_NS),
	};
}

/* When @ms from now have passed. */
static inline struct timespec nrt_clock_after(uint64_t ms)
{
	return nrt_clock_time(nrt_clock_now() + ms * 1000000);
}

#endif /* LIBNRT_BASE_CLOCK_H */
