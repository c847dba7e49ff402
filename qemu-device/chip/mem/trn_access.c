// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * Memory accesses of engines and queues, through a domain or, in domain 0, by
 * plain and routed addresses.
 *
 * An access walks its range in pieces that are contiguous in one memory. Device
 * memory is moved pointer to pointer; between device and host memory the port
 * copies straight to or from the device's bytes. Granted SBUF is moved by way of a
 * buffer, because its core's grant_lock is not held over anything else.
 */
#include <string.h>

#include "base/trn_bulk.h"
#include "base/trn_chip.h"
#include "fabric/trn_fabric.h"
#include "fabric/trn_link_count.h"
#include "hook/trn_check.h"
#include "mem/trn_access.h"
#include "mem/trn_bus.h"
#include "mem/trn_ecc.h"
#include "mem/trn_touched.h"
#include "mem/trn_window.h"
#include "sync/trn_sem.h"

#define BOUNCE_BYTES	4096

/**
 * struct end - one side of an access
 * @addr: as the program wrote it
 * @window: NULL in domain 0
 * @offset: in the window
 */
struct end {
	uint64_t addr;
	const struct trn_window *window;
	uint64_t offset;
};

/**
 * struct piece - contiguous bytes of an end
 * @loc: where they are; without a pointer when granted
 * @addr: their plain or routed address
 * @granted: by the core, of the claim generation @generation
 */
struct piece {
	struct trn_loc loc;
	uint64_t addr;
	bool granted;
	uint32_t generation;
};

static enum neuron_cause fail(struct trn_access *access, const struct end *end,
			      enum neuron_cause cause)
{
	access->bad_addr = end->addr;
	return cause;
}

static void access_begin(struct trn_access *access)
{
	access->hops = 0;
	access->bad_addr = 0;
	access->bad_dst = false;
	access->stale = false;
	access->post = (struct trn_post){ 0 };
}

static enum neuron_cause violation(struct trn_access *access,
				   const struct end *end,
				   enum neuron_cause cause)
{
	atomic_fetch_add_explicit(&access->domain->core->violations, 1,
				  memory_order_relaxed);
	return fail(access, end, cause);
}

static bool end_is(const struct end *end, enum neuron_window_kind kind)
{
	return end->window &&
	       (end->window->flags & NEURON_WINDOW_KIND) == kind;
}

static bool end_is_sem(const struct end *end)
{
	return end_is(end, NEURON_WINDOW_SEM);
}

static enum neuron_cause end_open(struct trn_access *access, struct end *end,
				  uint64_t addr, uint64_t len, uint32_t rights)
{
	enum neuron_cause cause;

	*end = (struct end){ .addr = addr };
	if (!access->domain) {
		if (addr + len < addr)
			return fail(access, end, NEURON_CAUSE_ADDRESS);
		return NEURON_CAUSE_NONE;
	}
	if (access->notify)
		rights |= TRN_WINDOW_NOTIFY;
	cause = trn_window_find(access->domain, addr, len, rights, &end->window,
				&end->offset);
	if (!cause && access->memory_only && end_is_sem(end))
		cause = NEURON_CAUSE_WINDOW;
	return cause ? violation(access, end, cause) : NEURON_CAUSE_NONE;
}

/* Nothing that an access acts upon. In a domain the window has said so. */
static bool piece_is_memory(const struct piece *piece)
{
	return piece->loc.place == TRN_PLACE_HBM ||
	       piece->loc.place == TRN_PLACE_SBUF ||
	       piece->loc.place == TRN_PLACE_PSUM ||
	       piece->loc.place == TRN_PLACE_HOST;
}

/* A window of a peer shows memory, whatever the peer has become. */
static bool piece_is_strange(const struct end *end, const struct piece *piece)
{
	if (end_is(end, NEURON_WINDOW_GRANT))
		return piece->loc.place != TRN_PLACE_SBUF;
	return end_is(end, NEURON_WINDOW_PEER) &&
	       piece->loc.place != TRN_PLACE_HBM &&
	       piece->loc.place != TRN_PLACE_SBUF;
}

/* The piece @done bytes into @end; *@len is cut to it and is not 0. */
static enum neuron_cause end_piece(struct trn_access *access,
				   const struct end *end, uint64_t done,
				   uint64_t *len, struct piece *piece)
{
	enum neuron_cause cause;

	if (end->window)
		piece->addr = trn_window_piece(access->domain, end->window,
					       end->offset + done, len);
	else
		piece->addr = end->addr + done;
	cause = trn_bus_locate(access->chip, piece->addr, &piece->loc);
	if (cause)
		return fail(access, end, cause);
	if (piece_is_strange(end, piece) ||
	    (access->memory_only && !piece_is_memory(piece)))
		return fail(access, end, NEURON_CAUSE_ADDRESS);
	/* A peer that came back smaller; a local window was checked. */
	if (!piece->loc.len || (end->window && *len > piece->loc.len))
		return fail(access, end, NEURON_CAUSE_ADDRESS);
	if (*len > piece->loc.len)
		*len = piece->loc.len;
	if (access->hops < piece->loc.hops)
		access->hops = piece->loc.hops;
	piece->granted = end_is(end, NEURON_WINDOW_GRANT);
	if (piece->granted) {
		piece->generation = end->window->generation;
		piece->loc.ptr = NULL;
	}
	access->memory = piece->loc.ptr;
	return NEURON_CAUSE_NONE;
}

static uint32_t end_of(const struct piece *piece)
{
	uint32_t end;

	if (!piece)
		return TRN_END_NONE;
	end = piece->loc.seat->id << 16;
	if (piece->loc.place == TRN_PLACE_HBM)
		end |= TRN_END_HBM | piece->loc.index;
	return end;
}

void trn_traffic_add(struct trn_traffic *traffic, uint32_t src, uint32_t dst,
		     uint64_t bytes)
{
	unsigned int i;

	for (i = 0; i < traffic->nr; i++)
		if (traffic->stream[i].src == src && traffic->stream[i].dst == dst)
			break;
	if (i == TRN_STREAMS)
		i--;
	if (i == traffic->nr)
		traffic->stream[traffic->nr++] = (struct trn_stream){ src, dst, 0 };
	traffic->stream[i].bytes += bytes;
}

void trn_transfer_begin(struct trn_transfer *transfer, const struct trn_chip *chip)
{
	transfer->turn = chip->fabric ? trn_fabric_turn(chip->fabric) : 0;
	transfer->nr = 0;
	transfer->many = false;
}

bool trn_transfer_lost(const struct trn_transfer *transfer, const struct trn_chip *chip)
{
	unsigned int i;

	if (!transfer->nr || trn_fabric_turn(chip->fabric) == transfer->turn)
		return false;
	for (i = 0; i < transfer->nr; i++)
		if (trn_fabric_lost(chip->fabric, transfer->from[i], transfer->to[i],
				    transfer->turn))
			return true;
	return transfer->many;
}

static void transfer_way(struct trn_transfer *transfer, const struct trn_seat *from,
			 const struct trn_seat *to)
{
	unsigned int i;

	if (from == to)
		return;
	for (i = 0; i < transfer->nr; i++)
		if (transfer->from[i] == from->id && transfer->to[i] == to->id)
			return;
	if (i >= TRN_TRANSFER_WAYS) {
		transfer->many = true;
		return;
	}
	transfer->from[i] = from->id;
	transfer->to[i] = to->id;
	transfer->nr++;
}

/* @bytes have been moved; NULL: from or to this chip itself. */
static void count_bytes(struct trn_access *access, const struct piece *to,
			const struct piece *from, uint64_t bytes)
{
	const struct trn_seat *self = &access->chip->seat;

	if (access->traffic)
		trn_traffic_add(access->traffic, end_of(from), end_of(to), bytes);
	trn_link_moved(access->chip, to ? to->loc.seat : self, from ? from->loc.seat : self,
		       bytes);
	if (access->transfer && from)
		transfer_way(access->transfer, from->loc.seat, self);
	if (access->transfer && to)
		transfer_way(access->transfer, self, to->loc.seat);
	if (access->check)
		trn_check_moved(access->check, from ? &from->loc : NULL,
				to ? &to->loc : NULL, bytes);
}

/*
 * Bytes that programs move. Programs may race for them, which is no defect of the chip, and
 * ThreadSanitizer is told so by the names of these four (selftests/fuzz/tsan.supp): they are
 * functions of their own at any optimisation, and do nothing else.
 */
static void __attribute__((noinline))
program_load(const struct trn_loc *loc, void *buf, size_t len)
{
	trn_touched_read(loc, buf, len);
}

static void __attribute__((noinline))
program_store(void *ptr, const void *buf, size_t len)
{
	trn_bulk_move(ptr, buf, len);
}

static enum neuron_cause __attribute__((noinline))
program_load_host(struct trn_chip *chip, uint64_t addr, void *buf, size_t len)
{
	return trn_bus_host_read(chip, addr, buf, len);
}

static enum neuron_cause __attribute__((noinline))
program_store_host(struct trn_chip *chip, uint64_t addr, const void *buf, size_t len)
{
	return trn_bus_host_write(chip, addr, buf, len);
}

/* The core gives nothing to those whom an earlier claim let in. */
static enum neuron_cause granted_read(const struct piece *piece, void *buf,
				      size_t len)
{
	struct trn_core *core = piece->loc.core;
	struct trn_loc loc = piece->loc;
	bool valid;

	loc.ptr = core->sbuf + loc.offset;
	pthread_mutex_lock(&core->grant_lock);
	valid = atomic_load(&core->generation) == piece->generation;
	if (valid)
		program_load(&loc, buf, len);
	pthread_mutex_unlock(&core->grant_lock);
	return valid ? NEURON_CAUSE_NONE : NEURON_CAUSE_FABRIC;
}

/* Nor does it take anything: that is dropped, as a stale post is. */
static enum neuron_cause granted_write(struct trn_access *access,
				       const struct piece *piece,
				       const void *buf, size_t len)
{
	struct trn_core *core = piece->loc.core;
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	struct trn_loc loc = piece->loc;
	bool valid;

	loc.ptr = core->sbuf + loc.offset;
	pthread_mutex_lock(&core->grant_lock);
	valid = atomic_load(&core->generation) == piece->generation;
	if (valid)
		cause = trn_bus_touch(&loc, len);
	if (valid && !cause)
		program_store(loc.ptr, buf, len);
	pthread_mutex_unlock(&core->grant_lock);
	if (!valid && !access->stale) {
		access->stale = true;
		atomic_fetch_add_explicit(&core->stale_posts, 1,
					  memory_order_relaxed);
	}
	return cause;
}

static enum neuron_cause piece_read(struct trn_chip *chip,
				    const struct piece *piece, void *buf,
				    size_t len)
{
	const struct trn_loc *loc = &piece->loc;
	enum neuron_cause cause;

	if (piece->granted)
		return granted_read(piece, buf, len);
	if (loc->ptr) {
		cause = trn_ecc_read_at(loc, len);
		if (!cause)
			program_load(loc, buf, len);
		return cause;
	}
	if (loc->place == TRN_PLACE_HOST)
		return program_load_host(chip, loc->offset, buf, len);
	return trn_bus_read(chip, piece->addr, buf, len);
}

/* Who @loc's chip sees change its semaphores. */
static uint32_t poster_at(const struct trn_access *access,
			  const struct trn_chip *chip)
{
	if (chip == access->chip)
		return access->poster;
	return trn_sem_who(NEURON_SEM_POSTER_PEER,
			   access->chip->config.fabric_id);
}

static enum neuron_cause piece_write(struct trn_access *access,
				     const struct piece *piece, const void *buf,
				     size_t len)
{
	struct trn_chip *chip = access->chip;
	const struct trn_loc *loc = &piece->loc;
	enum neuron_cause cause;

	if (piece->granted)
		return granted_write(access, piece, buf, len);
	if (loc->place == TRN_PLACE_SEM)
		return trn_bus_write_sem(loc, buf, len,
					 poster_at(access, loc->chip));
	if (loc->ptr) {
		cause = trn_bus_touch(loc, len);
		if (cause)
			return cause;
		program_store(loc->ptr, buf, len);
		trn_bus_written(loc, len);
		return NEURON_CAUSE_NONE;
	}
	if (loc->place == TRN_PLACE_HOST)
		return program_store_host(chip, loc->offset, buf, len);
	return trn_bus_write(chip, piece->addr, buf, len);
}

/* The core whose semaphores @end shows. */
static enum neuron_cause sem_target(struct trn_access *access,
				    const struct end *end,
				    struct trn_core **core)
{
	struct piece piece;
	enum neuron_cause cause;
	uint64_t len = 4;

	cause = end_piece(access, end, 0, &len, &piece);
	if (cause)
		return cause;
	/* A peer that came back as another one. */
	if (piece.loc.place != TRN_PLACE_SEM || !piece.loc.core)
		return fail(access, end, NEURON_CAUSE_ADDRESS);
	*core = piece.loc.core;
	return NEURON_CAUSE_NONE;
}

static unsigned int sem_index(const struct end *end)
{
	return end->window->sem_first + (unsigned int)(end->offset / 4);
}

static enum neuron_cause sem_read(struct trn_access *access,
				  const struct end *end, void *buf)
{
	struct trn_core *core;
	enum neuron_cause cause;
	int32_t value;

	cause = sem_target(access, end, &core);
	if (cause)
		return cause;
	if (core != access->domain->core)
		return violation(access, end, NEURON_CAUSE_RIGHTS);
	value = trn_sem_value_by(core->sems, sem_index(end), access->check);
	memcpy(buf, &value, sizeof(value));
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause sem_write(struct trn_access *access,
				   const struct end *end, const void *buf)
{
	const uint32_t granted = end->window->generation;
	struct trn_core *core;
	enum neuron_cause cause;
	int32_t delta;
	bool posted;

	cause = sem_target(access, end, &core);
	if (cause)
		return cause;
	memcpy(&delta, buf, sizeof(delta));
	posted = atomic_load(&core->generation) == granted;
	if (posted) {
		access->post.core = core;
		access->post.sem = sem_index(end);
		access->post.delta = delta;
		if (access->posting)
			access->posting(access, access->posting_arg);
		posted = trn_sem_post_granted(core->sems, sem_index(end),
					      delta, &core->generation, granted,
					      poster_at(access, core->chip),
					      access->check);
	}
	if (!posted) {
		access->post = (struct trn_post){ 0 };
		atomic_fetch_add_explicit(&core->stale_posts, 1,
					  memory_order_relaxed);
	}
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause end_read(struct trn_access *access,
				  const struct end *end, void *buf, size_t len)
{
	enum neuron_cause cause;
	struct piece piece;
	uint64_t done, n;

	if (end_is_sem(end)) {
		access->place_src = TRN_PLACE_SEM;
		return sem_read(access, end, buf);
	}
	for (done = 0; done < len; done += n) {
		n = len - done;
		cause = end_piece(access, end, done, &n, &piece);
		if (cause)
			return cause;
		access->place_src = piece.loc.place;
		cause = piece_read(access->chip, &piece, (uint8_t *)buf + done,
				   n);
		if (cause)
			return fail(access, end, cause);
		count_bytes(access, NULL, &piece, n);
	}
	return NEURON_CAUSE_NONE;
}

static enum neuron_cause end_write(struct trn_access *access,
				   const struct end *end, const void *buf,
				   size_t len)
{
	enum neuron_cause cause;
	struct piece piece;
	uint64_t done, n;

	if (end_is_sem(end)) {
		access->place_dst = TRN_PLACE_SEM;
		return sem_write(access, end, buf);
	}
	for (done = 0; done < len; done += n) {
		n = len - done;
		cause = end_piece(access, end, done, &n, &piece);
		if (cause)
			return cause;
		access->place_dst = piece.loc.place;
		cause = piece_write(access, &piece,
				    (const uint8_t *)buf + done, n);
		if (cause)
			return fail(access, end, cause);
		count_bytes(access, &piece, NULL, n);
	}
	return NEURON_CAUSE_NONE;
}

enum neuron_cause trn_access_outside(struct trn_access *access, uint64_t addr)
{
	const struct end end = { .addr = addr };

	access_begin(access);
	if (!access->domain)
		return fail(access, &end, NEURON_CAUSE_ADDRESS);
	return violation(access, &end, NEURON_CAUSE_WINDOW);
}

enum neuron_cause trn_access_read(struct trn_access *access, uint64_t addr,
				  void *buf, size_t len)
{
	enum neuron_cause cause;
	struct end end;

	access_begin(access);
	cause = end_open(access, &end, addr, len, NEURON_WINDOW_READ);
	return cause ? cause : end_read(access, &end, buf, len);
}

enum neuron_cause trn_access_write(struct trn_access *access, uint64_t addr,
				   const void *buf, size_t len)
{
	enum neuron_cause cause;
	struct end end;

	access_begin(access);
	cause = end_open(access, &end, addr, len, NEURON_WINDOW_WRITE);
	if (!cause)
		cause = end_write(access, &end, buf, len);
	access->bad_dst = cause;
	return cause;
}

static void piece_skip(struct piece *piece, uint64_t n)
{
	piece->addr += n;
	piece->loc.offset += n;
	piece->loc.ptr = piece->loc.ptr ? piece->loc.ptr + n : NULL;
}

/* A move of bytes that have no pointer of the chip's, and how far it has come. */
struct move {
	struct trn_access *access;
	const struct end *dst;
	const struct end *src;
	struct piece to;
	struct piece from;
};

static enum neuron_cause fail_dst(const struct move *move, enum neuron_cause cause)
{
	move->access->bad_dst = true;
	return fail(move->access, move->dst, cause);
}

/* From the host's memory, if it has a pointer; *@n is cut, 0: it has none. */
static enum neuron_cause move_from_map(const struct move *move, uint64_t *n)
{
	struct trn_chip *chip = move->access->chip;
	enum neuron_cause cause;
	size_t len = *n;
	void *ptr;

	cause = trn_bus_host_map(chip, move->from.loc.offset, false, &len, &ptr);
	*n = ptr ? len : 0;
	if (cause)
		return fail(move->access, move->src, cause);
	if (!ptr)
		return NEURON_CAUSE_NONE;
	cause = piece_write(move->access, &move->to, ptr, len);
	trn_bus_host_unmap(chip, ptr, len, 0);
	return cause ? fail_dst(move, cause) : NEURON_CAUSE_NONE;
}

/* The same into the host's memory. */
static enum neuron_cause move_into_map(const struct move *move, uint64_t *n)
{
	struct trn_chip *chip = move->access->chip;
	enum neuron_cause cause;
	size_t len = *n;
	void *ptr;

	cause = trn_bus_host_map(chip, move->to.loc.offset, true, &len, &ptr);
	*n = ptr ? len : 0;
	if (cause)
		return fail_dst(move, cause);
	if (!ptr)
		return NEURON_CAUSE_NONE;
	cause = piece_read(chip, &move->from, ptr, len);
	trn_bus_host_unmap(chip, ptr, len, len);
	return cause ? fail(move->access, move->src, cause) : NEURON_CAUSE_NONE;
}

static enum neuron_cause move_by_bounce(const struct move *move, uint64_t *n)
{
	uint8_t bounce[BOUNCE_BYTES];
	enum neuron_cause cause;

	*n = *n < sizeof(bounce) ? *n : sizeof(bounce);
	cause = piece_read(move->access->chip, &move->from, bounce, *n);
	if (cause)
		return fail(move->access, move->src, cause);
	cause = piece_write(move->access, &move->to, bounce, *n);
	return cause ? fail_dst(move, cause) : NEURON_CAUSE_NONE;
}

/* The next of at most *@n bytes. */
static enum neuron_cause move_step(const struct move *move, uint64_t *n)
{
	enum neuron_cause cause = NEURON_CAUSE_NONE;
	const uint64_t most = *n;

	*n = 0;
	if (move->from.loc.place == TRN_PLACE_HOST) {
		*n = most;
		cause = move_from_map(move, n);
	} else if (move->to.loc.place == TRN_PLACE_HOST) {
		*n = most;
		cause = move_into_map(move, n);
	}
	if (cause || *n)
		return cause;
	*n = most;
	return move_by_bounce(move, n);
}

/* Neither side is device memory with a pointer, or one is a register. */
static enum neuron_cause move_stepwise(struct move *move, uint64_t len)
{
	enum neuron_cause cause;
	uint64_t n;

	for (; len; len -= n) {
		n = len;
		cause = move_step(move, &n);
		if (cause)
			return cause;
		piece_skip(&move->from, n);
		piece_skip(&move->to, n);
	}
	return NEURON_CAUSE_NONE;
}

static bool overlap(const struct piece *to, const struct piece *from, uint64_t len)
{
	uintptr_t a = (uintptr_t)to->loc.ptr, b = (uintptr_t)from->loc.ptr;

	return to->loc.ptr && (a < b ? b - a : a - b) < len;
}

/* Out of device memory, from where its bytes are to be read. */
static enum neuron_cause move_out(struct trn_access *access, const struct end *dst,
				  const struct piece *to, const struct end *src,
				  const struct piece *from, uint64_t len)
{
	struct piece here = *from, there = *to;
	enum neuron_cause cause;
	const uint8_t *bytes;
	uint64_t n;

	cause = trn_ecc_read_at(&from->loc, len);
	if (cause)
		return fail(access, src, cause);
	for (; len; len -= n) {
		n = len;
		bytes = here.loc.ptr;
		/* Bytes that overlap move at once: no part may write what is still to be read. */
		if (!overlap(to, from, len))
			bytes = trn_touched_source(&here.loc, &n);
		cause = piece_write(access, &there, bytes, n);
		access->bad_dst = cause;
		if (cause)
			return fail(access, dst, cause);
		piece_skip(&here, n);
		piece_skip(&there, n);
	}
	return NEURON_CAUSE_NONE;
}

/* Straight from one memory to the other: at most one of the two is the host. */
static enum neuron_cause move_direct(struct trn_access *access,
				     const struct end *dst,
				     const struct piece *to,
				     const struct end *src,
				     const struct piece *from, uint64_t len)
{
	enum neuron_cause cause;

	if (!to->loc.ptr || from->loc.ptr)
		return move_out(access, dst, to, src, from, len);
	cause = trn_bus_touch(&to->loc, len);
	if (cause) {
		access->bad_dst = true;
		return fail(access, dst, cause);
	}
	cause = piece_read(access->chip, from, to->loc.ptr, len);
	if (cause) {
		/* What came before the error has been written. */
		trn_bus_dirty(&to->loc, len);
		return fail(access, src, cause);
	}
	trn_bus_written(&to->loc, len);
	return NEURON_CAUSE_NONE;
}

static bool is_direct(const struct piece *to, const struct piece *from)
{
	if (to->loc.ptr)
		return from->loc.ptr || from->loc.place == TRN_PLACE_HOST;
	return from->loc.ptr && to->loc.place == TRN_PLACE_HOST;
}

/* One side is a semaphore: one word, by way of the chip. */
static enum neuron_cause copy_word(struct trn_access *access,
				   const struct end *dst, const struct end *src)
{
	enum neuron_cause cause;
	uint32_t word;

	cause = end_read(access, src, &word, sizeof(word));
	if (cause)
		return cause;
	cause = end_write(access, dst, &word, sizeof(word));
	access->bad_dst = cause;
	return cause;
}

enum neuron_cause trn_access_copy(struct trn_access *access, uint64_t dst_addr,
				  uint64_t src_addr, size_t len)
{
	struct piece to, from;
	enum neuron_cause cause;
	struct end dst, src;
	uint64_t done, n;

	access_begin(access);
	cause = end_open(access, &src, src_addr, len, NEURON_WINDOW_READ);
	if (cause)
		return cause;
	cause = end_open(access, &dst, dst_addr, len, NEURON_WINDOW_WRITE);
	if (cause) {
		access->bad_dst = true;
		return cause;
	}
	if (end_is_sem(&src) || end_is_sem(&dst))
		return copy_word(access, &dst, &src);

	for (done = 0; done < len; done += n) {
		n = len - done;
		cause = end_piece(access, &src, done, &n, &from);
		if (cause)
			return cause;
		cause = end_piece(access, &dst, done, &n, &to);
		if (cause) {
			access->bad_dst = true;
			return cause;
		}
		access->place_src = from.loc.place;
		access->place_dst = to.loc.place;
		count_bytes(access, &to, &from, n);
		cause = is_direct(&to, &from) ?
				move_direct(access, &dst, &to, &src, &from, n) :
				move_stepwise(&(struct move){ access, &dst, &src, to, from }, n);
		if (cause)
			return cause;
	}
	return NEURON_CAUSE_NONE;
}
