// SPDX-License-Identifier: MIT
/*
 * Making and changing programs by chance.
 */
#include <stdlib.h>
#include <string.h>

#include "neuron/address.h"
#include "neuron/job.h"
#include "program.h"

#define MAX_NEW_CALLS	10

/* splitmix64 */
uint64_t fuzz_random(struct fuzz_chance *chance)
{
	uint64_t z = chance->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t fuzz_dice(struct fuzz_chance *chance, uint64_t sides)
{
	return fuzz_random(chance) % sides;
}

static bool one_in(struct fuzz_chance *chance, uint64_t n)
{
	return !fuzz_dice(chance, n);
}

void fuzz_values_add(struct fuzz_values *values, uint64_t v, uint8_t resource)
{
	struct fuzz_value *more;

	if (values->count == values->room) {
		values->room = values->room ? 2 * values->room : 16;
		more = realloc(values->value, values->room * sizeof(*more));
		if (!more)
			abort();
		values->value = more;
	}
	values->value[values->count++] = (struct fuzz_value){ .v = v, .resource = resource };
}

static void copy_call(struct fuzz_call *to, const struct fuzz_call *from)
{
	uint32_t i;

	*to = *from;
	to->values = (struct fuzz_values){ 0 };
	for (i = 0; i < from->values.count; i++)
		fuzz_values_add(&to->values, from->values.value[i].v,
				from->values.value[i].resource);
}

void fuzz_program_cut(struct fuzz_program *program, uint32_t count)
{
	while (program->count > count)
		free(program->call[--program->count].values.value);
}

void fuzz_program_free(struct fuzz_program *program)
{
	fuzz_program_cut(program, 0);
}

void fuzz_program_copy(struct fuzz_program *to, const struct fuzz_program *from)
{
	uint32_t i;

	*to = (struct fuzz_program){ .threads = from->threads, .count = from->count };
	for (i = 0; i < from->count; i++)
		copy_call(&to->call[i], &from->call[i]);
}

static bool equal_calls(const struct fuzz_call *a, const struct fuzz_call *b)
{
	uint32_t i;

	if (a->id != b->id || a->size != b->size || a->fail != b->fail || a->file != b->file ||
	    a->values.count != b->values.count)
		return false;
	for (i = 0; i < a->values.count; i++)
		if (a->values.value[i].v != b->values.value[i].v ||
		    a->values.value[i].resource != b->values.value[i].resource)
			return false;
	return true;
}

bool fuzz_program_equal(const struct fuzz_program *a, const struct fuzz_program *b)
{
	uint32_t i;

	if (a->threads != b->threads || a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++)
		if (!equal_calls(&a->call[i], &b->call[i]))
			return false;
	return true;
}

/* Values that have found mistakes before: at the borders of types, pages and tables. */
static uint64_t boundary(struct fuzz_chance *chance)
{
	uint64_t v = 1ull << fuzz_dice(chance, 64);

	switch (fuzz_dice(chance, 6)) {
	case 0:
		return v - 1;
	case 1:
		return v + 1;
	case 2:
		return -v;
	case 3:
		return ~0ull;
	case 4:
		return 0;
	default:
		return v;
	}
}

/*
 * Sizes up to 16 MiB, because several buffers of a program must fit into the guest's memory,
 * and such as no memory has.
 */
static uint64_t random_size(struct fuzz_chance *chance)
{
	static const uint64_t sizes[] = {
		0, 1, 4, 63, 64, 1024, 4095, 4096, 4097, 8192, 0x10000, 0x10000, 0x20000, 0x40000,
		0x80000, 0x200000, 0x1000000, 1ull << 42, 1ull << 63,
	};
	uint64_t size = sizes[fuzz_dice(chance, sizeof(sizes) / sizeof(sizes[0]))];

	return one_in(chance, 8) && size < 0x1000000 ? size + fuzz_dice(chance, 5000) : size;
}

static uint64_t random_pointer(struct fuzz_chance *chance)
{
	static const uint64_t places[] = {
		FUZZ_ARENA, FUZZ_ARENA, FUZZ_ARENA + 0x80000, FUZZ_ARENA_READ_ONLY - 4096,
		FUZZ_ARENA_READ_ONLY, FUZZ_ARENA_NOTHING, FUZZ_ARENA_NOTHING - 4096,
		FUZZ_ARENA_SHARED, FUZZ_ARENA_SHARED + 0x1f000, FUZZ_ARENA_MAPS, 0,
	};
	uint64_t at = places[fuzz_dice(chance, sizeof(places) / sizeof(places[0]))];

	if (one_in(chance, 4))
		at += fuzz_dice(chance, 4096);
	return one_in(chance, 64) ? boundary(chance) : at;
}

/* Mostly where images and rings are, see struct fuzz_image. */
static uint64_t random_address(struct fuzz_chance *chance)
{
	uint64_t offset = 0;

	switch (fuzz_dice(chance, 8)) {
	case 0:
		return 0;
	case 1:
		return boundary(chance);
	case 2:
		offset = FUZZ_RINGS;
		break;
	case 3:
		offset = FUZZ_RINGS + FUZZ_RING_LENGTH * 16;
		break;
	case 4:
		offset = fuzz_dice(chance, 0x100) * 64;
		break;
	default:
		offset = fuzz_dice(chance, NEURON_NR_ENGINES) * FUZZ_ENGINE_BYTES;
		break;
	}
	return neuron_window_addr((uint32_t)fuzz_dice(chance, one_in(chance, 4) ? 5 : 2), offset);
}

static uint64_t random_deadline(struct fuzz_chance *chance)
{
	/* What waits for ever takes five seconds of the search. */
	switch (fuzz_dice(chance, 40)) {
	case 0:
	case 1:
	case 2:
		return 0;
	case 3:
		return INT64_MAX;
	case 4:
		return boundary(chance);
	default:
		return 1 + fuzz_dice(chance, 100000000);
	}
}

static uint64_t random_flags(struct fuzz_chance *chance, uint64_t known)
{
	if (one_in(chance, 24))
		return fuzz_random(chance);
	return one_in(chance, 3) ? known & fuzz_random(chance) : 0;
}

static struct fuzz_value random_use(struct fuzz_chance *chance, uint64_t resource)
{
	static const uint8_t sources[] = { FUZZ_CORE, FUZZ_FD, FUZZ_GRANT };
	struct fuzz_value value = { .resource = (uint8_t)resource };

	if (!resource)
		value.resource = sources[fuzz_dice(chance, sizeof(sources))];
	if (one_in(chance, 16))
		return (struct fuzz_value){ .v = one_in(chance, 3) ? boundary(chance) : 0 };
	value.v = fuzz_dice(chance, one_in(chance, 3) ? 8 : 2);
	return value;
}

/* A number of up to @limit, now and then one more or any. */
static uint64_t random_count(struct fuzz_chance *chance, uint64_t limit)
{
	if (one_in(chance, 24))
		return boundary(chance);
	return fuzz_dice(chance, one_in(chance, 8) ? limit + 2 : limit + 1);
}

static struct fuzz_value random_value(struct fuzz_chance *chance, const struct fuzz_field *field)
{
	struct fuzz_value value = { 0 };

	switch (field->kind) {
	case FUZZ_ENUM:
		value.v = random_count(chance, field->arg - 1);
		break;
	case FUZZ_FLAGS:
		value.v = random_flags(chance, field->arg);
		break;
	case FUZZ_USE:
		return random_use(chance, field->arg);
	case FUZZ_SIZE:
		value.v = random_size(chance);
		break;
	case FUZZ_OFFSET:
		value.v = one_in(chance, 2) ? 0 : fuzz_dice(chance, 64) * field->arg;
		if (one_in(chance, 4))
			value.v = random_size(chance);
		break;
	case FUZZ_ROOM:
		value.v = one_in(chance, 2) ? 4096 : fuzz_dice(chance, 0x8000);
		break;
	case FUZZ_COUNT:
		value.v = random_count(chance, field->arg);
		break;
	case FUZZ_FEW:
		value.v = fuzz_dice(chance, field->arg + 1);
		break;
	case FUZZ_POINTER:
		value.v = random_pointer(chance);
		break;
	case FUZZ_ADDRESS:
		value.v = random_address(chance);
		break;
	case FUZZ_DEADLINE:
		value.v = random_deadline(chance);
		break;
	case FUZZ_TIMEOUT:
		value.v = one_in(chance, 16) ? boundary(chance) : 1 + fuzz_dice(chance, 60);
		break;
	case FUZZ_MASK:
		value.v = one_in(chance, 2) ? ~0ull : fuzz_random(chance);
		break;
	case FUZZ_POINTS:
		value.v = fuzz_dice(chance, 4);
		break;
	default:
		value.v = one_in(chance, 48) ? boundary(chance) : 0;
		break;
	}
	return value;
}

static void add_value(struct fuzz_values *to, struct fuzz_value value)
{
	fuzz_values_add(to, value.v, value.resource);
}

static void generate_struct(struct fuzz_values *to, const struct fuzz_struct *type,
			    struct fuzz_chance *chance);

static void generate_array(struct fuzz_values *to, const struct fuzz_field *field,
			   struct fuzz_chance *chance)
{
	uint64_t count = fuzz_dice(chance, field->arg + 1);
	uint64_t i;

	fuzz_values_add(to, one_in(chance, 40) ? fuzz_dice(chance, FUZZ_NR_ARRAY_MODES) : 0, 0);
	fuzz_values_add(to, one_in(chance, 40) ? fuzz_dice(chance, 600) : 0, 0);
	fuzz_values_add(to, count, 0);
	for (i = 0; i < count; i++)
		generate_struct(to, field->element, chance);
}

static void generate_field(struct fuzz_values *to, const struct fuzz_field *field,
			   struct fuzz_chance *chance)
{
	unsigned int i;

	switch (field->kind) {
	case FUZZ_ARRAY:
		generate_array(to, field, chance);
		break;
	case FUZZ_STRUCT:
		generate_struct(to, field->element, chance);
		break;
	case FUZZ_HANDLES:
		for (i = 0; i < FUZZ_NR_HANDLES; i++)
			add_value(to, random_use(chance, field->arg));
		break;
	case FUZZ_POINTS:
		for (i = 0; i < FUZZ_NR_HANDLES; i++)
			add_value(to, random_value(chance, field));
		break;
	default:
		add_value(to, random_value(chance, field));
		break;
	}
}

static void generate_struct(struct fuzz_values *to, const struct fuzz_struct *type,
			    struct fuzz_chance *chance)
{
	unsigned int i, j;

	for (i = 0; i < type->nr_fields; i++)
		for (j = 0; j < type->fields[i].repeat; j++)
			generate_field(to, &type->fields[i], chance);
}

/**
 * struct change - a walk through the values of a call, one of which is changed
 * @from: next value of the old row
 * @to: new row
 * @left: values until the one to change
 * @chance: what it becomes
 */
struct change {
	const struct fuzz_value *from;
	struct fuzz_values *to;
	uint32_t left;
	struct fuzz_chance *chance;
};

static void change_struct(struct change *change, const struct fuzz_struct *type);

static bool is_it(struct change *change)
{
	return change->left-- == 0;
}

static void change_one(struct change *change, const struct fuzz_field *field)
{
	struct fuzz_value value = *change->from++;

	if (is_it(change)) {
		if (field->kind == FUZZ_HANDLES)
			value = random_use(change->chance, field->arg);
		else if (field->kind == FUZZ_FEW)
			value = random_value(change->chance, field);
		else if (one_in(change->chance, 5))
			value = (struct fuzz_value){ .v = boundary(change->chance) };
		else if (one_in(change->chance, 5))
			value.v += fuzz_dice(change->chance, 9) - 4;
		else
			value = random_value(change->chance, field);
	}
	add_value(change->to, value);
}

static uint64_t change_part(struct change *change, uint64_t sides)
{
	uint64_t v = (change->from++)->v;

	return is_it(change) ? fuzz_dice(change->chance, sides) : v;
}

static void change_array(struct change *change, const struct fuzz_field *field)
{
	struct fuzz_values none = { 0 }, *to = change->to;
	uint64_t old, count, i;

	fuzz_values_add(to, change_part(change, FUZZ_NR_ARRAY_MODES), 0);
	fuzz_values_add(to, change_part(change, 2 * field->element->size), 0);
	old = change->from->v;
	count = change_part(change, field->arg + 2);
	fuzz_values_add(to, count, 0);
	for (i = 0; i < old; i++) {
		change->to = i < count ? to : &none;
		change_struct(change, field->element);
	}
	change->to = to;
	for (i = old; i < count; i++)
		generate_struct(to, field->element, change->chance);
	free(none.value);
}

static void change_struct(struct change *change, const struct fuzz_struct *type)
{
	const struct fuzz_field *field;
	unsigned int i, j, k;

	for (i = 0; i < type->nr_fields; i++) {
		field = &type->fields[i];
		for (j = 0; j < field->repeat; j++) {
			if (field->kind == FUZZ_ARRAY)
				change_array(change, field);
			else if (field->kind == FUZZ_STRUCT)
				change_struct(change, field->element);
			else if (field->kind == FUZZ_HANDLES || field->kind == FUZZ_POINTS)
				for (k = 0; k < FUZZ_NR_HANDLES; k++)
					change_one(change, field);
			else
				change_one(change, field);
		}
	}
}

static void change_call(struct fuzz_call *call, struct fuzz_chance *chance)
{
	struct fuzz_values values = { 0 };
	struct change change = { .from = call->values.value, .to = &values, .chance = chance };
	const struct fuzz_struct *type = fuzz_calls[call->id].args;

	switch (fuzz_dice(chance, 24)) {
	case 0:
		call->size = (uint16_t)fuzz_dice(chance, 2 * type->size + 8u);
		return;
	case 1:
	case 2:
		call->fail = (uint8_t)(one_in(chance, 4) ? 0 : 1 + fuzz_dice(chance, 24));
		return;
	case 3:
		call->file = (uint8_t)fuzz_dice(chance, 3);
		return;
	}
	change.left = (uint32_t)fuzz_dice(chance, call->values.count);
	change_struct(&change, type);
	free(call->values.value);
	call->values = values;
}

static unsigned int random_id(struct fuzz_chance *chance)
{
	unsigned int i, all = 0, left;

	for (i = 0; i < fuzz_nr_calls; i++)
		all += fuzz_calls[i].weight;
	left = (unsigned int)fuzz_dice(chance, all);
	for (i = 0; left >= fuzz_calls[i].weight; i++)
		left -= fuzz_calls[i].weight;
	return i;
}

void fuzz_generate_call(struct fuzz_program *program, unsigned int id, struct fuzz_chance *chance)
{
	struct fuzz_call *call = &program->call[program->count];

	if (program->count == FUZZ_MAX_CALLS)
		return;
	program->count++;
	*call = (struct fuzz_call){
		.id = (uint8_t)id,
		.file = (uint8_t)(one_in(chance, 8) ? fuzz_dice(chance, 3) : 0),
	};
	generate_struct(&call->values, fuzz_calls[id].args, chance);
}

void fuzz_generate(struct fuzz_program *program, struct fuzz_chance *chance)
{
	uint64_t count = 1 + fuzz_dice(chance, MAX_NEW_CALLS);

	program->threads = (uint32_t)(one_in(chance, 4) ? 1 + fuzz_dice(chance, FUZZ_MAX_THREADS) :
							  1);
	while (count--)
		fuzz_generate_call(program, random_id(chance), chance);
}

/* Let the call at @at be the one that is the last now. */
static void move_last(struct fuzz_program *program, uint32_t at)
{
	struct fuzz_call last = program->call[program->count - 1];

	memmove(&program->call[at + 1], &program->call[at],
		(program->count - 1 - at) * sizeof(last));
	program->call[at] = last;
}

static void remove_call(struct fuzz_program *program, uint32_t at)
{
	free(program->call[at].values.value);
	program->count--;
	memmove(&program->call[at], &program->call[at + 1],
		(program->count - at) * sizeof(program->call[0]));
}

/* Calls of @other, in their order, behind those of @program. */
static void append_some(struct fuzz_program *program, const struct fuzz_program *other,
			struct fuzz_chance *chance)
{
	uint32_t i = (uint32_t)fuzz_dice(chance, other->count);

	for (; i < other->count && program->count < FUZZ_MAX_CALLS; i++)
		copy_call(&program->call[program->count++], &other->call[i]);
}

static void mutate_once(struct fuzz_program *program, const struct fuzz_program *other,
			struct fuzz_chance *chance)
{
	uint32_t at = (uint32_t)fuzz_dice(chance, program->count);
	bool full = program->count == FUZZ_MAX_CALLS;

	switch (fuzz_dice(chance, 16)) {
	case 0:
		if (program->count > 1)
			remove_call(program, at);
		break;
	case 1:
		if (full)
			break;
		copy_call(&program->call[program->count++], &program->call[at]);
		move_last(program, (uint32_t)fuzz_dice(chance, program->count));
		break;
	case 2:
		if (other && other->count)
			append_some(program, other, chance);
		break;
	case 3:
		program->threads = 1 + (uint32_t)fuzz_dice(chance, FUZZ_MAX_THREADS);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		if (full)
			break;
		fuzz_generate_call(program, random_id(chance), chance);
		move_last(program, (uint32_t)fuzz_dice(chance, program->count));
		break;
	default:
		change_call(&program->call[at], chance);
		break;
	}
}

void fuzz_mutate(struct fuzz_program *program, const struct fuzz_program *other,
		 struct fuzz_chance *chance)
{
	do {
		if (program->count)
			mutate_once(program, other, chance);
	} while (!one_in(chance, 3));
}
