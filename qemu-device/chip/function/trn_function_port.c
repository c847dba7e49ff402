// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A function: its gates between the chip and the front end's port, and interrupts.
 */
#include <stdio.h>

#include "base/trn_chip.h"
#include "function/trn_function_private.h"
#include "sync/trn_irq.h"

/* The function whose interrupts this thread keeps: it delivers them at the end of what it does. */
static _Thread_local struct trn_function *serving;

static const struct trn_port *outer(const struct trn_function *fn)
{
	return fn->config.chip.port;
}

static void *opaque_of(const struct trn_function *fn)
{
	return fn->config.chip.opaque;
}

/* --- host memory: bus mastering --- */

static bool may_access(struct trn_function *fn)
{
	return atomic_load_explicit(&fn->master, memory_order_acquire);
}

static bool host_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct trn_function *fn = opaque;

	return may_access(fn) && outer(fn)->host_read(opaque_of(fn), addr, buf, len);
}

static bool host_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct trn_function *fn = opaque;

	return may_access(fn) && outer(fn)->host_write(opaque_of(fn), addr, buf, len);
}

static void *host_map(void *opaque, uint64_t addr, size_t *len, bool write)
{
	struct trn_function *fn = opaque;

	return may_access(fn) ? outer(fn)->host_map(opaque_of(fn), addr, len, write) : NULL;
}

static void host_unmap(void *opaque, void *ptr, size_t len, size_t changed)
{
	outer(opaque)->host_unmap(opaque_of(opaque), ptr, len, changed);
}

/* --- interrupts --- */

static void tell(struct trn_function *fn)
{
	if (serving == fn)
		return;
	if (fn->host.wake)
		fn->host.wake(opaque_of(fn));
	else
		trn_function_deliver(fn);
}

static void irq(void *opaque, unsigned int vector)
{
	struct trn_function *fn = opaque;
	char line[64];

	if (!trn_function_has_line(fn)) {
		if (vector >= fn->config.vectors) {
			snprintf(line, sizeof(line), "interrupt lost: no vector %u", vector);
			outer(fn)->log(opaque_of(fn), TRN_LOG_TRACE, line);
			return;
		}
		atomic_fetch_or(&fn->pending, NEURON_BIT(vector));
	}
	tell(fn);
}

/* Only with a line: what has ended may have kept it high. */
static void irq_ended(void *opaque)
{
	tell(opaque);
}

static bool take_vector(struct trn_function *fn, unsigned int *vector)
{
	uint32_t pending = atomic_load(&fn->pending);

	if (!pending || !trn_function_awake(fn))
		return false;
	*vector = (unsigned int)__builtin_ctz(pending);
	/* A reset may have taken it away meanwhile. */
	return atomic_fetch_and(&fn->pending, ~NEURON_BIT(*vector)) & NEURON_BIT(*vector);
}

static void deliver_vectors(struct trn_function *fn)
{
	unsigned int vector;

	while (take_vector(fn, &vector))
		if (may_access(fn))
			outer(fn)->irq(opaque_of(fn), vector);
}

static void deliver_level(struct trn_function *fn)
{
	bool level = trn_function_awake(fn) && trn_irq_level(fn->chip);

	if (level == fn->level)
		return;
	fn->level = level;
	if (fn->host.line)
		fn->host.line(opaque_of(fn), level);
}

void trn_function_deliver(struct trn_function *fn)
{
	uint32_t news;

	if (atomic_fetch_add(&fn->news, 1))
		return;
	do {
		news = atomic_load(&fn->news);
		if (trn_function_has_line(fn))
			deliver_level(fn);
		else
			deliver_vectors(fn);
	} while (!atomic_compare_exchange_strong(&fn->news, &news, 0));
}

uint32_t trn_function_pending(const struct trn_function *fn)
{
	return atomic_load(&fn->pending);
}

void trn_function_set_pending(struct trn_function *fn, uint32_t vectors)
{
	atomic_store(&fn->pending, vectors);
}

struct trn_function *trn_function_serve(struct trn_function *fn)
{
	struct trn_function *before = serving;

	serving = fn;
	return before;
}

void trn_function_served(struct trn_function *before)
{
	serving = before;
}

/* --- what is passed on --- */

static void pass_log(void *opaque, enum trn_log_level level, const char *line)
{
	outer(opaque)->log(opaque_of(opaque), level, line);
}

static void *pass_hbm_alloc(void *opaque, unsigned int stack, uint64_t size)
{
	return outer(opaque)->hbm_alloc(opaque_of(opaque), stack, size);
}

static void pass_hbm_discard(void *opaque, unsigned int stack, uint64_t offset, uint64_t len)
{
	outer(opaque)->hbm_discard(opaque_of(opaque), stack, offset, len);
}

static void pass_hbm_dirty(void *opaque, unsigned int stack, uint64_t offset, uint64_t len)
{
	outer(opaque)->hbm_dirty(opaque_of(opaque), stack, offset, len);
}

static void pass_report(void *opaque, const struct trn_report *report)
{
	outer(opaque)->report(opaque_of(opaque), report);
}

static void pass_timer(void *opaque, uint64_t delay_ns)
{
	outer(opaque)->timer(opaque_of(opaque), delay_ns);
}

static uint64_t pass_now(void *opaque)
{
	return outer(opaque)->now(opaque_of(opaque));
}

/* What the front end does not have the chip does not have either. */
void trn_function_init_port(struct trn_function *fn)
{
	const struct trn_port *port = outer(fn);

	fn->port = (struct trn_port) {
		.host_read = host_read,
		.host_write = host_write,
		.host_map = port->host_map ? host_map : NULL,
		.host_unmap = port->host_map ? host_unmap : NULL,
		.irq = irq,
		.irq_ended = trn_function_has_line(fn) ? irq_ended : NULL,
		.log = pass_log,
		.hbm_alloc = port->hbm_alloc ? pass_hbm_alloc : NULL,
		.hbm_discard = pass_hbm_discard,
		.hbm_dirty = port->hbm_dirty ? pass_hbm_dirty : NULL,
		.report = port->report ? pass_report : NULL,
		.timer = port->timer ? pass_timer : NULL,
		.now = port->now ? pass_now : NULL,
	};
	if (fn->config.host)
		fn->host = *fn->config.host;
}
