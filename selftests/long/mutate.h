/* SPDX-License-Identifier: MIT */
/*
 * What the mutants of mutants.table call. selftests/long/mutants.py includes it in each file
 * of its copy that has a mutant, before all else. So it includes little itself: what comes
 * after it may define functions with names of POSIX. One mutant at most is awake, that of the
 * environment:
 *
 *	MUTANT="NAME PATH FIRST SECOND", "-" for any; empty: none is awake
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* @name empty: none */
struct mutant {
	char name[32];
	char path[16];
	char first[16];
	char second[16];
	bool told;
};

static struct mutant mutant;

/* Before threads begin. */
__attribute__((constructor)) static void mutant_read(void)
{
	const char *text = getenv("MUTANT");

	if (!text || !*text)
		return;
	if (sscanf(text, "%31s %15s %15s %15s", mutant.name, mutant.path, mutant.first,
		   mutant.second) != 4)
		abort();
}

static inline bool mutant_number_is(const char *wanted, long number)
{
	return !strcmp(wanted, "-") || strtol(wanted, NULL, 0) == number;
}

/* Is it this mutant? Says so once: nobody can notice one that is never reached. */
static inline bool mutant_is(const char *name, const char *path, long first, long second)
{
	if (!mutant.name[0] || strcmp(mutant.name, name) ||
	    (strcmp(mutant.path, "-") && strcmp(mutant.path, path)) ||
	    !mutant_number_is(mutant.first, first) ||
	    !mutant_number_is(mutant.second, second))
		return false;
	if (!mutant.told && fputs("mutated\n", stderr) >= 0)
		mutant.told = true;
	return true;
}

/* Flip bit @bit, mostly that of one ulp, of one of @n elements of @size bytes. */
static inline void mutate(const char *name, const char *path, long first, long second,
			  void *where, size_t size, size_t n, unsigned int bit)
{
	uint8_t *byte = where;

	if (n && mutant_is(name, path, first, second))
		byte[n / 2 * size + bit / 8] ^= (uint8_t)(1u << bit % 8);
}

#endif /* MUTATE_H */
