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
 * struct trn_late - a run before its end
 * @run: first, so that it is freed with it
 */
struct trn_late {
	struct trn_run_state run;
	struct trn_deadline deadline;
};

bool trn_late_keep(const struct trn_run_state *run)
{
	struct trn_queue *queue = run->queue;
	struct trn_late *late = calloc(1, sizeof(*late));

	if (!late)
		return false;
	late->run = *run;
	/* The run on the caller's stack ends here. */
	late->run.access.posting_arg = &late->run;
	late->run.access.transfer = &late->run.transfer;
	if (run->access.traffic)
		late->run.access.traffic = &late->run.traffic;
	queue->late = late;
	if (trn_timer_set(queue->chip, &late->deadline, &queue->task,
			  run->strike.late_ns))
		return true;
	queue->late = NULL;
	free(late);
	return false;
}

static bool is_held(struct trn_queue *queue)
{
	bool held;

	pthread_mutex_lock(&queue->lock);
	held = queue->held;
	pthread_mutex_unlock(&queue->lock);
	return held;
}

struct trn_run_state *trn_late_take(struct trn_queue *queue,
				    struct trn_budget *budget, bool *waits)
{
	struct trn_late *late = queue->late;
	struct trn_chip *chip = queue->chip;

	*waits = late && trn_timer_is_set(chip, &late->deadline) &&
		 !trn_run_stop_asked(&late->run) && !is_held(queue) &&
		 !atomic_load(&chip->stopping);
	if (!late || *waits)
		return NULL;
	trn_timer_cancel(chip, &late->deadline);
	queue->late = NULL;
	late->run.budget = budget;
	late->run.access.posting_arg = &late->run;
	return &late->run;
}
