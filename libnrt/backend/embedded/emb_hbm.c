// SPDX-License-Identifier: MIT
/*
 * HBM: which memory of a stack is free, and the pieces of it that a buffer has.
 *
 * A buffer is in one piece if a range has room for it. Else it is in several, of whole pages, as
 * the driver has it: the device knows them by lists of extents, the CPU by a mapping of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/embedded/emb.h"
#include "base/clock.h"
#include "trn/chip.h"

/* The most of a buffer, as in driver/neuron_hbm.c. */
#define MAX_PIECES	262144u
/*
 * The most pieces that all chips together map one by one. A process has 65,530 mappings by default
 * (vm.max_map_count). When none is left malloc() fails as well, so three quarters stay free.
 */
#define MAX_MAPPINGS	16384u
#define STUCK_NS	10000000000ull
/* So often the unit is looked at when its interrupt does not come. */
#define LOOK_NS		10000000ull
/* Ranges are shorter than 2^62 bytes. */
#define NO_LENGTH	62

/* --- free memory; with nrt_chip.memory_lock --- */

/**
 * struct plan - which free ranges a buffer gets
 * @whole: ranges of at least so many bytes are taken whole
 * @least: of those that are shorter, but have at least so many bytes, the first ones are
 *	taken, until there are @rest bytes of them
 * @rest: bytes
 */
struct plan {
	uint64_t whole;
	uint64_t least;
	uint64_t rest;
};

/* What the buffer gets of a range of @length bytes. */
static uint64_t plan_share(struct plan *plan, uint64_t length)
{
	if (length >= plan->whole)
		return length;
	if (length < plan->least)
		return 0;
	if (length > plan->rest)
		length = plan->rest;
	plan->rest -= length;
	return length;
}

/* The first range that has room for all of it. */
static bool plan_one(const struct emb_stack *stack, uint64_t size, struct plan *plan)
{
	size_t i;

	*plan = (struct plan){ UINT64_MAX, size, size };
	for (i = 0; i < stack->nr; i++)
		if (stack->free[i].length >= size)
			return true;
	return false;
}

/* The longest ranges, by powers of two: not many more than it takes. */
static bool plan_several(const struct emb_stack *stack, uint64_t size, struct plan *plan)
{
	uint64_t bytes[NO_LENGTH] = { 0 };
	unsigned int order;
	size_t i;

	for (i = 0; i < stack->nr; i++)
		bytes[63 - __builtin_clzll(stack->free[i].length)] += stack->free[i].length;
	for (order = NO_LENGTH; order--; size -= bytes[order]) {
		if (bytes[order] < size)
			continue;
		*plan = (struct plan){ 2ull << order, 1ull << order, size };
		return true;
	}
	return false;
}

static uint32_t count_pieces(const struct emb_stack *stack, struct plan plan)
{
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < stack->nr; i++)
		nr += !!plan_share(&plan, stack->free[i].length);
	return nr;
}

/*
 * Room for all ranges that there can be when @nr more pieces are in use: one before each piece,
 * one behind the last, and those that are just coming back. So stack_give() needs no memory.
 */
static bool make_room(struct emb_stack *stack, uint32_t nr)
{
	size_t room = 2 * (stack->nr_pieces + nr) + 1;
	struct emb_range *grown;

	if (room <= stack->room)
		return true;
	room += room / 2;
	grown = reallocarray(stack->free, room, sizeof(*grown));
	if (!grown)
		return false;
	/* All of the stack is free at first. */
	if (!stack->room)
		grown[stack->nr++] = (struct emb_range){ 0, stack->size };
	stack->free = grown;
	stack->room = room;
	return true;
}

/* The pieces that @plan says are the buffer's. */
static void take(struct emb_stack *stack, struct plan plan, struct emb_bo *bo)
{
	struct emb_piece *piece = bo->piece;
	size_t i, kept = 0;
	uint64_t at = 0;

	for (i = 0; i < stack->nr; i++) {
		struct emb_range range = stack->free[i];
		uint64_t share = plan_share(&plan, range.length);

		if (share)
			*piece++ = (struct emb_piece){ at, range.start, share };
		at += share;
		range.start += share;
		range.length -= share;
		if (range.length)
			stack->free[kept++] = range;
	}
	stack->nr = kept;
	stack->nr_pieces += bo->nr_pieces;
	stack->used += bo->size;
}

static int stack_take(struct emb_stack *stack, struct emb_bo *bo)
{
	struct plan plan;

	if (!make_room(stack, 1))
		return -ENOMEM;
	if (!plan_one(stack, bo->size, &plan) && !plan_several(stack, bo->size, &plan))
		return -ENOSPC;
	bo->nr_pieces = count_pieces(stack, plan);
	if (bo->nr_pieces > MAX_PIECES)
		return -ENOSPC;
	bo->piece = calloc(bo->nr_pieces, sizeof(*bo->piece));
	if (!bo->piece || !make_room(stack, bo->nr_pieces))
		return -ENOMEM;
	take(stack, plan, bo);
	return 0;
}

/* Join neighbours. */
static void join(struct emb_stack *stack)
{
	size_t i, last = 0;

	for (i = 1; i < stack->nr; i++) {
		struct emb_range *range = &stack->free[last];

		if (range->start + range->length == stack->free[i].start)
			range->length += stack->free[i].length;
		else
			stack->free[++last] = stack->free[i];
	}
	stack->nr = last + 1;
}

/* Both lists are in ascending order: merged from the end on, as there is room behind the one. */
static void stack_give(struct emb_stack *stack, const struct emb_bo *bo)
{
	size_t from = stack->nr, left = bo->nr_pieces, to = from + left;

	stack->nr = to;
	while (left) {
		const struct emb_piece *piece = &bo->piece[left - 1];

		if (from && stack->free[from - 1].start > piece->offset) {
			stack->free[--to] = stack->free[--from];
			continue;
		}
		stack->free[--to] = (struct emb_range){ piece->offset, piece->length };
		left--;
	}
	join(stack);
	stack->nr_pieces -= bo->nr_pieces;
	stack->used -= bo->size;
}

/* --- the discard unit; with nrt_chip.memory_lock --- */

static void write64(const struct nrt_chip *chip, uint64_t offset, uint64_t value)
{
	emb_write(chip, offset, (uint32_t)value);
	emb_write(chip, offset + 4, (uint32_t)(value >> 32));
}

/* What the unit says of its operations so far, once. */
static uint32_t take_causes(const struct nrt_chip *chip)
{
	uint32_t cause = emb_read(chip, NEURON_CTL_CAUSE) &
			 (NEURON_CTL_CAUSE_DISCARD | NEURON_CTL_CAUSE_DISCARD_ERROR);

	emb_write(chip, NEURON_CTL_CAUSE, cause);
	return cause;
}

/*
 * Zeroes for the next owner. Each operation of the unit ends with an interrupt, which can be lost.
 * False: it did not end, or with an error.
 */
static bool discard(struct nrt_chip *chip, uint64_t addr, uint64_t size)
{
	uint64_t now = nrt_clock_now(), deadline = now + STUCK_NS;
	uint32_t cause = 0;
	uint64_t seen;

	if (emb_read(chip, NEURON_CTL_DISCARD_GO))
		return false;
	/* Of an operation that did not end in time. */
	take_causes(chip);
	write64(chip, NEURON_CTL_DISCARD_ADDR, addr);
	write64(chip, NEURON_CTL_DISCARD_LEN, size);
	emb_write(chip, NEURON_CTL_DISCARD_GO, 1);
	for (;;) {
		seen = atomic_load(&chip->irqs);
		cause |= take_causes(chip);
		if (!emb_read(chip, NEURON_CTL_DISCARD_GO))
			break;
		now = nrt_clock_now();
		if (now > deadline)
			return false;
		emb_wait_irq(chip, seen, now + LOOK_NS);
	}
	cause |= take_causes(chip);
	return !(cause & NEURON_CTL_CAUSE_DISCARD_ERROR);
}

static bool discard_pieces(const struct emb_bo *bo)
{
	uint32_t i;

	for (i = 0; i < bo->nr_pieces; i++)
		if (!discard(bo->chip, bo->addr + bo->piece[i].offset, bo->piece[i].length))
			return false;
	return true;
}

/* --- buffers --- */

int emb_hbm_alloc(struct emb_bo *bo)
{
	struct nrt_chip *chip = bo->chip;
	struct emb_stack *stack;
	int ret;

	if (bo->stack >= chip->gen->nr_hbm)
		return -EINVAL;
	stack = &chip->stack[bo->stack];
	bo->ptr = stack->hbm;
	bo->addr = chip->gen->hbm_addr[bo->stack];
	pthread_mutex_lock(&chip->memory_lock);
	ret = stack_take(stack, bo);
	pthread_mutex_unlock(&chip->memory_lock);
	return ret;
}

static void unmap_pieces(const struct emb_bo *bo, void *map)
{
	munmap(map, bo->size);
	atomic_fetch_sub(&bo->chip->machine->mappings, bo->nr_pieces);
}

/* False: there would be too many. */
static bool count_mappings(struct emb_machine *machine, uint32_t nr)
{
	uint32_t has = atomic_load(&machine->mappings);

	do {
		if (nr > MAX_MAPPINGS - has)
			return false;
	} while (!atomic_compare_exchange_weak(&machine->mappings, &has, has + nr));
	return true;
}

/* All pieces in one range of addresses. */
static int map_pieces(struct emb_bo *bo)
{
	struct trn_hbm_file file;
	uint8_t *map;
	uint32_t i;

	if (!trn_chip_hbm_file(bo->chip->chip, bo->stack, &file))
		return -ENODEV;
	if (!count_mappings(bo->chip->machine, bo->nr_pieces))
		return -ENOMEM;
	map = mmap(NULL, bo->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		atomic_fetch_sub(&bo->chip->machine->mappings, bo->nr_pieces);
		return -ENOMEM;
	}
	for (i = 0; i < bo->nr_pieces; i++) {
		const struct emb_piece *piece = &bo->piece[i];

		if (mmap(map + piece->at, piece->length, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file.fd,
			 (off_t)(file.offset + piece->offset)) == MAP_FAILED) {
			unmap_pieces(bo, map);
			return -ENOMEM;
		}
	}
	/* As the chip's own mapping (trn_hbm.c). */
	madvise(map, bo->size, MADV_DONTDUMP);
	bo->map = map;
	return 0;
}

void emb_hbm_free(struct emb_bo *bo)
{
	struct nrt_chip *chip = bo->chip;

	if (bo->map)
		unmap_pieces(bo, bo->map);
	/* The chips have stopped, and nobody gets the memory. */
	if (chip->machine->leaving)
		return;
	pthread_mutex_lock(&chip->memory_lock);
	/* What could not be cleared is given to nobody. */
	if (discard_pieces(bo))
		stack_give(&chip->stack[bo->stack], bo);
	pthread_mutex_unlock(&chip->memory_lock);
}

int emb_hbm_map_bo(struct emb_bo *bo, void **map)
{
	struct nrt_chip *chip = bo->chip;
	int ret = 0;

	if (bo->nr_pieces == 1) {
		*map = bo->ptr + bo->piece[0].offset;
		return 0;
	}
	pthread_mutex_lock(&chip->memory_lock);
	if (!bo->map)
		ret = map_pieces(bo);
	*map = bo->map;
	pthread_mutex_unlock(&chip->memory_lock);
	return ret;
}

/* The chip's own memory: what the CPU reads and writes there the chip sees. */
int emb_hbm_map(struct nrt_chip *chip, uint32_t stack, void **map, uint64_t *size)
{
	if (emb_forked(chip))
		return -ENODEV;
	if (stack >= chip->gen->nr_hbm)
		return -EINVAL;
	*map = chip->stack[stack].hbm;
	*size = chip->stack[stack].size;
	return *map ? 0 : -ENODEV;
}
