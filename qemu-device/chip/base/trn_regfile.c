// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
#include "base/trn_regfile.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/trn_state.h"

/* Slots, powers of two. The most that a guest can make the store take: 1 MiB. */
#define REGFILE_MIN	64u
#define REGFILE_MAX	(1u << 17)

struct trn_reg {
	uint32_t key;		/* offset + 1, 0: free; offsets are aligned */
	uint32_t value;
};

/* Open addressing with linear probing, at most three quarters full. */
struct trn_regfile {
	pthread_mutex_t lock;	/* all fields */
	struct trn_reg *slot;
	uint32_t slots;
	uint32_t used;
};

static uint32_t regfile_hash(uint32_t key)
{
	key *= 0x9e3779b1u;
	return key ^ key >> 15;
}

/* The slot of @key, or the free one where it would go. */
static struct trn_reg *regfile_find(struct trn_reg *slot, uint32_t slots,
				    uint32_t key)
{
	uint32_t i = regfile_hash(key) & (slots - 1);

	while (slot[i].key && slot[i].key != key)
		i = (i + 1) & (slots - 1);
	return &slot[i];
}

static bool regfile_grow(struct trn_regfile *rf)
{
	uint32_t slots = rf->slots ? rf->slots * 2 : REGFILE_MIN;
	struct trn_reg *slot;
	uint32_t i;

	if (slots > REGFILE_MAX)
		return false;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return false;
	for (i = 0; i < rf->slots; i++)
		if (rf->slot[i].key)
			*regfile_find(slot, slots, rf->slot[i].key) =
				rf->slot[i];
	free(rf->slot);
	rf->slot = slot;
	rf->slots = slots;
	return true;
}

struct trn_regfile *trn_regfile_new(void)
{
	struct trn_regfile *rf = calloc(1, sizeof(*rf));

	if (rf)
		pthread_mutex_init(&rf->lock, NULL);
	return rf;
}

void trn_regfile_free(struct trn_regfile *rf)
{
	if (!rf)
		return;
	pthread_mutex_destroy(&rf->lock);
	free(rf->slot);
	free(rf);
}

uint32_t trn_regfile_read(struct trn_regfile *rf, uint32_t offset)
{
	uint32_t value = 0;

	pthread_mutex_lock(&rf->lock);
	if (rf->slots)
		value = regfile_find(rf->slot, rf->slots, offset + 1)->value;
	pthread_mutex_unlock(&rf->lock);
	return value;
}

static bool regfile_store(struct trn_regfile *rf, uint32_t key, uint32_t value)
{
	struct trn_reg *reg = NULL;

	if (rf->slots) {
		reg = regfile_find(rf->slot, rf->slots, key);
		if (reg->key) {
			reg->value = value;
			return true;
		}
	}
	if (!value)
		return true;
	if (rf->used >= rf->slots / 4 * 3) {
		if (!regfile_grow(rf))
			return false;
		reg = regfile_find(rf->slot, rf->slots, key);
	}
	*reg = (struct trn_reg) { key, value };
	rf->used++;
	return true;
}

bool trn_regfile_write(struct trn_regfile *rf, uint32_t offset, uint32_t value)
{
	bool stored;

	pthread_mutex_lock(&rf->lock);
	stored = regfile_store(rf, offset + 1, value);
	pthread_mutex_unlock(&rf->lock);
	return stored;
}

void trn_regfile_clear(struct trn_regfile *rf, uint32_t offset, uint32_t len)
{
	uint32_t i;

	pthread_mutex_lock(&rf->lock);
	for (i = 0; i < rf->slots; i++)
		if (rf->slot[i].key && rf->slot[i].key - 1 - offset < len)
			rf->slot[i].value = 0;
	pthread_mutex_unlock(&rf->lock);
}

void trn_regfile_reset(struct trn_regfile *rf)
{
	pthread_mutex_lock(&rf->lock);
	free(rf->slot);
	rf->slot = NULL;
	rf->slots = 0;
	rf->used = 0;
	pthread_mutex_unlock(&rf->lock);
}

static void load_registers(struct trn_regfile *rf, struct trn_state *st)
{
	uint32_t nr = trn_state_count(st, 0, REGFILE_MAX);
	uint32_t key = 0, value = 0;

	while (nr-- && !trn_state_failed(st)) {
		trn_state_u32(st, &key);
		trn_state_u32(st, &value);
		if (!trn_state_failed(st) && (!key || !regfile_store(rf, key, value)))
			trn_state_fail(st, "a register does not exist, or too many are in use");
	}
}

static void save_registers(struct trn_regfile *rf, struct trn_state *st)
{
	uint32_t nr = 0, i;

	for (i = 0; i < rf->slots; i++)
		nr += rf->slot[i].key && rf->slot[i].value;
	trn_state_u32(st, &nr);
	for (i = 0; i < rf->slots; i++) {
		if (!rf->slot[i].key || !rf->slot[i].value)
			continue;
		trn_state_u32(st, &rf->slot[i].key);
		trn_state_u32(st, &rf->slot[i].value);
	}
}

void trn_regfile_state(struct trn_regfile *rf, struct trn_state *st)
{
	trn_state_block(st, TRN_STATE_NAME('R', 'E', 'G', 'S'), 1);
	if (st->loading)
		trn_regfile_reset(rf);
	pthread_mutex_lock(&rf->lock);
	if (st->loading)
		load_registers(rf, st);
	else
		save_registers(rf, st);
	pthread_mutex_unlock(&rf->lock);
}

size_t trn_regfile_bytes(struct trn_regfile *rf)
{
	size_t bytes;

	pthread_mutex_lock(&rf->lock);
	bytes = sizeof(*rf) + rf->slots * sizeof(*rf->slot);
	pthread_mutex_unlock(&rf->lock);
	return bytes;
}
