// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/given.h"

static int compare(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)left, b = (uintptr_t)right;

	return (a > b) - (a < b);
}

/* An address that is there already is one that the program gave to free() itself. */
bool nrt_given_add(struct nrt_given *given, void *memory)
{
	bool added;

	pthread_mutex_lock(&given->lock);
	added = tsearch(memory, &given->tree, compare);
	pthread_mutex_unlock(&given->lock);
	return added;
}

bool nrt_given_free(struct nrt_given *given, void *memory)
{
	bool found;

	pthread_mutex_lock(&given->lock);
	found = tdelete(memory, &given->tree, compare);
	pthread_mutex_unlock(&given->lock);
	if (found)
		free(memory);
	return found;
}
