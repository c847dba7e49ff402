// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * A fault on demand: the bytes of a packet have moved, but the rest of the packet's
 * end (its completion, the heads, the interrupt, the end of the job) comes later. The
 * run is kept meanwhile, and the queue's later packets wait behind it.
 *
 * A chip that stops does not wait, so nothing of this is ever saved.
 */
#include <stdlib.h>

#include "base/trn_chip.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_run.h"

/**
 * struct trn_delay - a run before its end
 * @run: first, so that it is freed with it
 */
struct trn_delay {
	struct trn_run_state run;
	struct trn_deadline deadline;
};

bool trn_delay_keep(const struct trn_run_state *run)
{
	struct trn_udma_queue *queue = run->queue;
	struct trn_delay *delay = calloc(1, sizeof(*delay));

	if (!delay)
		return false;
	delay->run = *run;
	/* The caller's run ends here. */
	delay->run.kept = NULL;
	trn_run_settle(&delay->run);
	queue->delay = delay;
	if (trn_timer_set(queue->chip, &delay->deadline, &queue->task,
			  run->strike.late_ns))
		return true;
	queue->delay = NULL;
	free(delay);
	return false;
}

static bool is_held(struct trn_udma_queue *queue)
{
	bool held;

	pthread_mutex_lock(&queue->lock);
	held = queue->held;
	pthread_mutex_unlock(&queue->lock);
	return held;
}

struct trn_run_state *trn_delay_take(struct trn_udma_queue *queue,
				     struct trn_budget *budget, bool *waits)
{
	struct trn_delay *delay = queue->delay;
	struct trn_chip *chip = queue->chip;

	*waits = delay && trn_timer_is_set(chip, &delay->deadline) &&
		 !trn_run_stop_asked(&delay->run) && !is_held(queue) &&
		 !atomic_load(&chip->stopping);
	if (!delay || *waits)
		return NULL;
	trn_timer_cancel(chip, &delay->deadline);
	queue->delay = NULL;
	delay->run.budget = budget;
	delay->run.access.posting_arg = &delay->run;
	return &delay->run;
}
