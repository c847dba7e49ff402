/* SPDX-License-Identifier: MIT */
/*
 * Notices: what a program tells of itself by its notify instructions. The device writes them to a
 * ring in the model's memory; here they become hw_notify events of a system trace.
 *
 * All executions of a model write to the same ring, so one whose notices are wanted runs alone.
 */
#ifndef LIBNRT_EXEC_NOTICE_H
#define LIBNRT_EXEC_NOTICE_H

#include "base/event.h"
#include "object/model.h"

/* Does somebody want the notices of @model, and can it have some? */
bool nrt_notices_wanted(const struct nrt_model *model);

/* Before a job: no notice of an earlier one is left. */
NRT_STATUS nrt_notices_clear(struct nrt_model *model, struct nrt_error *error);

/*
 * After a job, however it ended: an event for each notice that is left of it. @event has what all
 * of them have; it has begun.
 */
void nrt_notices_tell(const struct nrt_model *model, const struct nrt_event *event);

#endif /* LIBNRT_EXEC_NOTICE_H */
