// SPDX-License-Identifier: MIT
/* Symbols, semaphores and labels by name. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "as_unit.h"
#include "chip/isa/trn_isa.h"

static int compare(const void *a, const void *b)
{
	const struct as_entry *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(x->name, y->name, x->len);
}

/* Symbols and macros outlive a core; everything else belongs to one. */
static void **tree(struct as_unit *unit, int scope)
{
	return scope == AS_SCOPE_SYMBOL || scope == AS_SCOPE_MACRO ? &unit->symbols : &unit->names;
}

static void free_entry(void *node)
{
	struct as_entry *entry = node;

	as_free_macro(entry->macro);
	free(entry->name);
	free(entry);
}

struct as_entry *as_find(struct as_unit *unit, int scope, const char *name, size_t len)
{
	const struct as_entry key = { .scope = scope, .name = (char *)name, .len = len };
	struct as_entry **found = tfind(&key, tree(unit, scope), compare);

	return found ? *found : NULL;
}

struct as_entry *as_define(struct as_unit *unit, int scope, const char *name, size_t len)
{
	struct as_entry *entry = calloc(1, sizeof(*entry));
	struct as_entry **found;

	if (!entry)
		goto err;
	entry->scope = scope;
	entry->len = len;
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

/* The slot in which a name is looked for first. */
static unsigned int isa_slot(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return (hash ^ hash >> 15) % AS_ISA_SLOTS;
}

void as_index_isa(struct as_unit *unit)
{
	unsigned int opcode, slot;

	/* Opcode 0 is no instruction. */
	for (opcode = 1; opcode <= UINT8_MAX; opcode++) {
		const struct trn_isa *isa = trn_isa_lookup(opcode);

		if (!isa)
			continue;
		slot = isa_slot(isa->name, strlen(isa->name));
		while (unit->isa[slot])
			slot = (slot + 1) % AS_ISA_SLOTS;
		unit->isa[slot] = (uint8_t)opcode;
	}
}

const struct trn_isa *as_find_isa(const struct as_unit *unit, const struct as_token *name)
{
	unsigned int slot = isa_slot(name->text, name->len);
	const struct trn_isa *isa;

	for (; unit->isa[slot]; slot = (slot + 1) % AS_ISA_SLOTS) {
		isa = trn_isa_lookup(unit->isa[slot]);
		if (!strncmp(isa->name, name->text, name->len) && !isa->name[name->len])
			return isa;
	}
	return NULL;
}
