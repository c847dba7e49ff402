// SPDX-License-Identifier: MIT
/* Symbols, semaphores and labels by name. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"

static int compare(const void *a, const void *b)
{
	const struct as_entry *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Symbols outlive a core; everything else belongs to one. */
static void **tree(struct as_unit *unit, int scope)
{
	return scope == AS_SCOPE_SYMBOL ? &unit->symbols : &unit->names;
}

static void free_entry(void *node)
{
	struct as_entry *entry = node;

	free(entry->name);
	free(entry);
}

struct as_entry *as_find(struct as_unit *unit, int scope, const char *name, size_t len)
{
	struct as_entry key = { .scope = scope, .name = strndup(name, len) };
	struct as_entry **found;

	if (!key.name)
		return NULL;
	found = tfind(&key, tree(unit, scope), compare);
	free(key.name);
	return found ? *found : NULL;
}

struct as_entry *as_define(struct as_unit *unit, int scope, const char *name, size_t len)
{
	struct as_entry *entry = calloc(1, sizeof(*entry));
	struct as_entry **found;

	if (!entry)
		goto err;
	entry->scope = scope;
	entry->name = strndup(name, len);
	if (!entry->name)
		goto err_free;
	found = tsearch(entry, tree(unit, scope), compare);
	if (!found)
		goto err_free;
	if (*found != entry)
		free_entry(entry);
	return *found;

err_free:
	free_entry(entry);
err:
	as_memory(unit);
	return NULL;
}

void as_forget_names(struct as_unit *unit)
{
	tdestroy(unit->names, free_entry);
	unit->names = NULL;
}

void as_free_names(struct as_unit *unit)
{
	as_forget_names(unit);
	tdestroy(unit->symbols, free_entry);
	unit->symbols = NULL;
}
