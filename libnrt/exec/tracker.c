// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/tracker.h"

/**
 * struct nrt_tracker - an error tracker
 * @lock: protects the rest
 * @errors, @count, @room: what it knows
 * @shown: copy that the program looks at
 */
struct nrt_tracker {
	pthread_mutex_t lock;
	nrta_error_t *errors;
	size_t count;
	size_t room;
	nrta_error_t *shown;
};

struct nrt_tracker *nrt_tracker_new(void)
{
	struct nrt_tracker *tracker = calloc(1, sizeof(*tracker));

	if (tracker)
		pthread_mutex_init(&tracker->lock, NULL);
	return tracker;
}

void nrt_tracker_release(struct nrt_tracker *tracker)
{
	pthread_mutex_destroy(&tracker->lock);
	free(tracker->errors);
	free(tracker->shown);
	free(tracker);
}

/* With the lock. */
static bool make_room(struct nrt_tracker *tracker)
{
	size_t room = tracker->room ? tracker->room * 2 : 16;
	nrta_error_t *errors;

	if (tracker->count < tracker->room)
		return true;
	if (room > NRT_TRACKER_MAX)
		return false;
	errors = reallocarray(tracker->errors, room, sizeof(*errors));
	if (!errors)
		return false;
	tracker->errors = errors;
	tracker->room = room;
	return true;
}

void nrt_tracker_add(struct nrt_tracker *tracker, nrta_seq_t seq, NRT_STATUS status)
{
	pthread_mutex_lock(&tracker->lock);
	if (make_room(tracker))
		tracker->errors[tracker->count++] = (nrta_error_t){ seq, status };
	pthread_mutex_unlock(&tracker->lock);
}

NRT_STATUS nrt_tracker_list(struct nrt_tracker *tracker, const nrta_error_t **list,
			    size_t *count, struct nrt_error *error)
{
	nrta_error_t *shown;

	pthread_mutex_lock(&tracker->lock);
	shown = reallocarray(tracker->shown, tracker->count + 1, sizeof(*shown));
	if (shown) {
		if (tracker->count)
			memcpy(shown, tracker->errors, tracker->count * sizeof(*shown));
		tracker->shown = shown;
		*list = shown;
		*count = tracker->count;
	}
	pthread_mutex_unlock(&tracker->lock);
	return shown ? NRT_SUCCESS : nrt_error_memory(error);
}
