/* SPDX-License-Identifier: MIT */
/*
 * Traces of executions: what the device did, and when.
 */
#ifndef LIBNRT_OBSERVE_TRACE_H
#define LIBNRT_OBSERVE_TRACE_H

#include "object/model.h"

/* Events that a trace can have. */
#define NRT_TRACE_MAX_EVENTS	(1u << 24)

/* From now on executions write a trace of up to @events; 0: none. Waits for those under way. */
NRT_STATUS nrt_trace_set(struct nrt_model *model, size_t events, struct nrt_error *error);

/*
 * The trace of the execution that ended last: *@count is the room in @events, and then how
 * many the trace has; *@lost did not fit into it.
 */
NRT_STATUS nrt_trace_get(struct nrt_model *model, nrt_emu_event_t *events, size_t *count,
			 uint64_t *lost, struct nrt_error *error);

/* The pages of a large array come at once, instead of one by one when they are written. */
void nrt_trace_populate(void *memory, size_t bytes);

#endif /* LIBNRT_OBSERVE_TRACE_H */
