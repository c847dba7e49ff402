// SPDX-License-Identifier: MIT
#include "object/order.h"

void nrt_order_init(struct nrt_order *order)
{
	pthread_mutex_init(&order->lock, NULL);
}

void nrt_order_fini(struct nrt_order *order)
{
	pthread_mutex_destroy(&order->lock);
}

void nrt_ticket_use(struct nrt_ticket *ticket, struct nrt_line *line, size_t offset, size_t size,
		    bool writes)
{
	if (!size)
		return;
	ticket->uses[ticket->nr++] = (struct nrt_use){
		.line = line,
		.ticket = ticket,
		.begin = offset,
		.end = offset + size,
		.writes = writes,
	};
}

/* Must the later one of the two wait for the earlier one? */
static bool conflict(const struct nrt_use *a, const struct nrt_use *b)
{
	if (!a->writes && !b->writes)
		return false;
	if (a->begin >= b->end || b->begin >= a->end || a->ticket == b->ticket)
		return false;
	return !a->ticket->lane || a->ticket->lane != b->ticket->lane;
}

static void add_use(struct nrt_use *use)
{
	struct nrt_line *line = use->line;
	const struct nrt_use *earlier;

	for (earlier = line->first; earlier; earlier = earlier->next)
		if (conflict(earlier, use))
			atomic_fetch_add(&use->ticket->ahead, 1);
	use->next = NULL;
	use->prev = line->last;
	if (line->last)
		line->last->next = use;
	else
		line->first = use;
	line->last = use;
}

void nrt_order_add(struct nrt_ticket *ticket)
{
	size_t i;

	atomic_store(&ticket->ahead, 0);
	for (i = 0; i < ticket->nr; i++)
		add_use(&ticket->uses[i]);
}

static void drop_use(struct nrt_use *use)
{
	struct nrt_line *line = use->line;
	struct nrt_use *later;

	for (later = use->next; later; later = later->next)
		if (conflict(use, later) && atomic_fetch_sub(&later->ticket->ahead, 1) == 1)
			later->ticket->turn(later->ticket->arg);
	if (use->prev)
		use->prev->next = use->next;
	else
		line->first = use->next;
	if (use->next)
		use->next->prev = use->prev;
	else
		line->last = use->prev;
}

void nrt_order_leave(struct nrt_order *order, struct nrt_ticket *ticket)
{
	size_t i;

	if (!ticket->nr)
		return;
	pthread_mutex_lock(&order->lock);
	for (i = 0; i < ticket->nr; i++)
		drop_use(&ticket->uses[i]);
	ticket->nr = 0;
	pthread_mutex_unlock(&order->lock);
}

static void wake(void *arg)
{
	pthread_cond_signal(arg);
}

void nrt_order_join(struct nrt_order *order, struct nrt_ticket *ticket, pthread_cond_t *turned)
{
	pthread_cond_init(turned, NULL);
	ticket->lane = NULL;
	ticket->turn = wake;
	ticket->arg = turned;
	pthread_mutex_lock(&order->lock);
	nrt_order_add(ticket);
	pthread_mutex_unlock(&order->lock);
}

void nrt_order_wait(struct nrt_order *order, struct nrt_ticket *ticket)
{
	pthread_mutex_lock(&order->lock);
	while (!nrt_ticket_has_turn(ticket))
		pthread_cond_wait(ticket->arg, &order->lock);
	pthread_mutex_unlock(&order->lock);
	pthread_cond_destroy(ticket->arg);
}

void nrt_order_enter(struct nrt_order *order, struct nrt_ticket *ticket)
{
	pthread_cond_t turned;

	nrt_order_join(order, ticket, &turned);
	nrt_order_wait(order, ticket);
}
