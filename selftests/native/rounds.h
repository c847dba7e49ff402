/* SPDX-License-Identifier: MIT */
/*
 * How often tests repeat what they draw by chance. With NEURON_TEST_THOROUGH=1 in the
 * environment they take the time that "make check" has not; the stage "thorough" of
 * make check-nightly sets it.
 */
#ifndef NEURON_TEST_ROUNDS_H
#define NEURON_TEST_ROUNDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool rounds_thorough(void)
{
	const char *text = getenv("NEURON_TEST_THOROUGH");

	return text && !strcmp(text, "1");
}

static inline unsigned int rounds(unsigned int few, unsigned int many)
{
	return rounds_thorough() ? many : few;
}

#endif /* NEURON_TEST_ROUNDS_H */
