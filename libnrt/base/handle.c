// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/handle.h"

/*
 * A handle, from bit 63 down: a one, which no address of a program has; the kind, 7 bits;
 * the generation, 32 bits; the slot, 20 bits; 4 zeros, as the alignment of an allocation
 * would give.
 */
#define SLOT_SHIFT	4
#define SLOT_BITS	20
#define GENERATION_SHIFT (SLOT_SHIFT + SLOT_BITS)
#define KIND_SHIFT	56
#define HANDLE_FLAG	(1ull << 63)

/* A series begins at each multiple of so many generations. */
#define SERIES_SHIFT	20

#define CHUNK_SLOTS	1024
#define NR_CHUNKS	((1u << SLOT_BITS) / CHUNK_SLOTS)
#define NO_SLOT		UINT32_MAX

/* The state of a slot: generation in the upper half, then flags, then a count. */
#define STATE_GENERATION_SHIFT	32
#define STATE_OPEN		(1ull << 31)
#define STATE_COUNT		(STATE_OPEN - 1)

/**
 * struct slot - a place for an object
 * @state: generation, STATE_OPEN while the handle is good, and the references; an open
 *	handle is one of them
 * @object: NULL: the slot is free; written with the lock of the table
 * @kind: of @object
 * @next_free: with the lock of the table
 */
struct slot {
	_Atomic uint64_t state;
	void *object;
	enum nrt_kind kind;
	uint32_t next_free;
};

/**
 * struct nrt_handles - the table
 * @ops: what is done with objects
 * @lock: protects what follows but the slots' states
 * @released: an object is gone
 * @waiters: threads that wait for @released
 * @first_free: slot, or NO_SLOT
 * @first_state: of a slot that was never used
 * @nr_slots: slots in @chunks
 * @chunks: slots, CHUNK_SLOTS together; they never move
 */
struct nrt_handles {
	const struct nrt_handle_ops *ops;
	pthread_mutex_t lock;
	pthread_cond_t released;
	unsigned int waiters;
	uint32_t first_free;
	uint64_t first_state;
	uint32_t nr_slots;
	struct slot *_Atomic chunks[NR_CHUNKS];
};

struct nrt_handles *nrt_handles_new(const struct nrt_handle_ops *ops, unsigned int series)
{
	struct nrt_handles *handles = calloc(1, sizeof(*handles));

	if (!handles)
		return NULL;
	handles->ops = ops;
	pthread_mutex_init(&handles->lock, NULL);
	pthread_cond_init(&handles->released, NULL);
	handles->first_free = NO_SLOT;
	handles->first_state = (uint64_t)series << (STATE_GENERATION_SHIFT + SERIES_SHIFT);
	return handles;
}

static struct slot *slot_at(struct nrt_handles *handles, uint32_t index)
{
	struct slot *chunk = atomic_load_explicit(&handles->chunks[index / CHUNK_SLOTS],
						  memory_order_acquire);

	return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

static void *handle_of(uint32_t index, enum nrt_kind kind, uint64_t state)
{
	uint64_t generation = state >> STATE_GENERATION_SHIFT;

	return (void *)(uintptr_t)(HANDLE_FLAG | (uint64_t)kind << KIND_SHIFT |
				   generation << GENERATION_SHIFT |
				   (uint64_t)index << SLOT_SHIFT);
}

static uint32_t index_of(const void *handle)
{
	return (uint32_t)((uintptr_t)handle >> SLOT_SHIFT) & ((1u << SLOT_BITS) - 1);
}

static uint64_t generation_of(const void *handle)
{
	return (uint32_t)((uintptr_t)handle >> GENERATION_SHIFT);
}

/* The slot that @handle names, if the value is one that this table could have given. */
static struct slot *find(struct nrt_handles *handles, enum nrt_kind kind, const void *handle)
{
	uint32_t index = index_of(handle);
	struct slot *slot = slot_at(handles, index);

	if (!slot || handle != handle_of(index, kind, generation_of(handle) <<
						      STATE_GENERATION_SHIFT))
		return NULL;
	return slot;
}

/* With the lock: more slots, which are all free. */
static bool grow(struct nrt_handles *handles)
{
	uint32_t first = handles->nr_slots;
	struct slot *chunk;
	uint32_t i;

	if (first / CHUNK_SLOTS == NR_CHUNKS)
		return false;
	chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
	if (!chunk)
		return false;
	for (i = 0; i < CHUNK_SLOTS; i++) {
		chunk[i].next_free = i + 1 < CHUNK_SLOTS ? first + i + 1 : NO_SLOT;
		atomic_init(&chunk[i].state, handles->first_state);
	}
	atomic_store_explicit(&handles->chunks[first / CHUNK_SLOTS], chunk,
			      memory_order_release);
	handles->first_free = first;
	handles->nr_slots += CHUNK_SLOTS;
	return true;
}

void *nrt_handle_new(struct nrt_handles *handles, enum nrt_kind kind, void *object)
{
	void *handle = NULL;
	struct slot *slot;
	uint64_t state;
	uint32_t index;

	pthread_mutex_lock(&handles->lock);
	if (handles->first_free != NO_SLOT || grow(handles)) {
		index = handles->first_free;
		slot = slot_at(handles, index);
		handles->first_free = slot->next_free;
		slot->object = object;
		slot->kind = kind;
		state = atomic_load(&slot->state) + (1ull << STATE_GENERATION_SHIFT);
		atomic_store(&slot->state, state | STATE_OPEN | 1);
		handle = handle_of(index, kind, state);
	}
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

/* Its last reference is gone. */
static void release(struct nrt_handles *handles, struct slot *slot, uint32_t index)
{
	handles->ops->release[slot->kind](slot->object);
	pthread_mutex_lock(&handles->lock);
	slot->object = NULL;
	slot->next_free = handles->first_free;
	handles->first_free = index;
	if (handles->waiters)
		pthread_cond_broadcast(&handles->released);
	pthread_mutex_unlock(&handles->lock);
}

void nrt_handle_put(struct nrt_handles *handles, const void *handle)
{
	uint32_t index = index_of(handle);
	struct slot *slot = slot_at(handles, index);

	if ((atomic_fetch_sub(&slot->state, 1) & STATE_COUNT) == 1)
		release(handles, slot, index);
}

void *nrt_handle_get(struct nrt_handles *handles, enum nrt_kind kind, const void *handle)
{
	struct slot *slot = find(handles, kind, handle);
	uint64_t state;

	if (!slot)
		return NULL;
	state = atomic_load(&slot->state);
	do {
		if (!(state & STATE_OPEN) ||
		    state >> STATE_GENERATION_SHIFT != generation_of(handle))
			return NULL;
	} while (!atomic_compare_exchange_weak(&slot->state, &state, state + 1));
	/* The kind is in the handle, too, but a program may have made that up. */
	if (slot->kind == kind)
		return slot->object;
	nrt_handle_put(handles, handle);
	return NULL;
}

/* With the lock. Does the slot still have the object that @handle named? */
static bool lives(const struct slot *slot, const void *handle)
{
	return slot->object &&
	       atomic_load(&slot->state) >> STATE_GENERATION_SHIFT == generation_of(handle);
}

static void wait_released(struct nrt_handles *handles, struct slot *slot, const void *handle)
{
	pthread_mutex_lock(&handles->lock);
	handles->waiters++;
	while (lives(slot, handle))
		pthread_cond_wait(&handles->released, &handles->lock);
	handles->waiters--;
	pthread_mutex_unlock(&handles->lock);
}

bool nrt_handle_close(struct nrt_handles *handles, enum nrt_kind kind, const void *handle,
		      bool wait)
{
	struct slot *slot;
	uint64_t state;

	if (!nrt_handle_get(handles, kind, handle))
		return false;
	slot = slot_at(handles, index_of(handle));
	state = atomic_fetch_and(&slot->state, ~STATE_OPEN);
	/* What the open handle had, if no other thread was first. */
	if (state & STATE_OPEN)
		nrt_handle_put(handles, handle);
	nrt_handle_put(handles, handle);
	if (!(state & STATE_OPEN))
		return false;
	if (wait)
		wait_released(handles, slot, handle);
	return true;
}

/* With the lock: the handle that slot @i has, if it is of that kind and open; else NULL. */
static void *open_handle(struct nrt_handles *handles, enum nrt_kind kind, uint32_t i)
{
	const struct slot *slot = slot_at(handles, i);
	uint64_t state = atomic_load(&slot->state);

	return slot->object && slot->kind == kind && state & STATE_OPEN ?
		       handle_of(i, kind, state) : NULL;
}

void *nrt_handle_any(struct nrt_handles *handles, enum nrt_kind kind)
{
	void *handle = NULL;
	uint32_t i;

	pthread_mutex_lock(&handles->lock);
	for (i = 0; i < handles->nr_slots && !handle; i++)
		handle = open_handle(handles, kind, i);
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

/* The first handle of that kind in slot *@i or behind it; *@i is then behind its slot. */
static void *next_handle(struct nrt_handles *handles, enum nrt_kind kind, uint32_t *i)
{
	void *handle = NULL;

	pthread_mutex_lock(&handles->lock);
	for (; *i < handles->nr_slots && !handle; (*i)++)
		handle = open_handle(handles, kind, *i);
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

void nrt_handle_each(struct nrt_handles *handles, enum nrt_kind kind, nrt_each_fn *fn, void *arg)
{
	void *handle, *object;
	uint32_t i = 0;

	while ((handle = next_handle(handles, kind, &i))) {
		object = nrt_handle_get(handles, kind, handle);
		if (!object)
			continue;
		fn(object, arg);
		nrt_handle_put(handles, handle);
	}
}
