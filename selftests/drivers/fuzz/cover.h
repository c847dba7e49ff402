/* SPDX-License-Identifier: MIT */
/*
 * Which parts of the driver calls run, as the kernel's KCOV tells it: the addresses of basic
 * blocks. All are collected in one set, in memory that the fuzzer shares with its children.
 */
#ifndef FUZZ_COVER_H
#define FUZZ_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "program.h"

struct fuzz_cover_set;

/**
 * struct fuzz_cover - coverage of all threads of a child
 * @fd: KCOV of each thread, -1: the kernel has none
 * @area: what KCOV writes: a number, then so many addresses
 * @set: all addresses that were ever seen
 */
struct fuzz_cover {
	int fd[FUZZ_MAX_THREADS];
	uint64_t *area[FUZZ_MAX_THREADS];
	struct fuzz_cover_set *set;
};

/* 0; 1: the kernel tells nothing, and no call has new coverage; or a negative errno. */
int fuzz_cover_open(struct fuzz_cover *cover);
/* From now on the calls of this thread, the one with the number @thread, count. */
void fuzz_cover_begin(struct fuzz_cover *cover, unsigned int thread);
/* Addresses that nothing has run before, since the last call for this thread. */
uint32_t fuzz_cover_take(struct fuzz_cover *cover, unsigned int thread);
/* All that were ever seen. */
uint32_t fuzz_cover_count(const struct fuzz_cover *cover);
/* Write them as hexadecimal numbers; 0 or a negative errno. */
int fuzz_cover_save(const struct fuzz_cover *cover, const char *path);

#endif /* FUZZ_COVER_H */
