/* SPDX-License-Identifier: MIT */
/*
 * Events: what the library does, told to a listener.
 *
 * Every layer tells what it does; the listener is installed from above. While nobody
 * listens an event costs one atomic load.
 */
#ifndef LIBNRT_BASE_EVENT_H
#define LIBNRT_BASE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <nrt/nrt_status.h>

/* What happened. nrt_event_name() has the public names. */
enum nrt_event_type {
	NRT_EVENT_NRT_LOAD,
	NRT_EVENT_NRT_EXECUTE,
	NRT_EVENT_NRT_TENSOR_READ,
	NRT_EVENT_NRT_TENSOR_WRITE,
	NRT_EVENT_MODEL_LOAD,
	NRT_EVENT_RUNTIME_EXECUTE,
	NRT_EVENT_KBL_EXEC_WAIT,
	NRT_EVENT_KMGR_EXEC_CORE,
	NRT_EVENT_DMEM_BUF_COPYIN,
	NRT_EVENT_DMEM_BUF_COPYOUT,
	NRT_EVENT_NC_EXEC_RUNNING,
	NRT_EVENT_CC_RUNNING,
	NRT_EVENT_CC_EXEC_BARRIER,
	NRT_EVENT_NUMERICAL_ERR,
	NRT_EVENT_NRT_MODEL_SWITCH,
	NRT_EVENT_TIMESTAMP_SYNC_POINT,
	NRT_EVENT_HW_NOTIFY,
	NRT_NR_EVENTS,
};

#define NRT_ALL_EVENTS	((1u << NRT_NR_EVENTS) - 1)

/* Of no core. */
#define NRT_EVENT_NO_CORE	(-1)

/**
 * struct nrt_event - an event
 * @type: what
 * @core: virtual core, or NRT_EVENT_NO_CORE
 * @model: id of the model; 0: none
 * @thread: that did it
 * @status: how it ended
 * @begin_ns: CLOCK_MONOTONIC; 0: nobody wants the event
 * @end_ns: CLOCK_MONOTONIC; @begin_ns if it took no time
 * @device_begin_ns, @device_end_ns: time of the device, of events that have it; else 0
 * @exec: the execution, of events that belong to one; else 0
 * @bytes: that were moved or loaded
 * @stream: of the collectives that ran (cc_running)
 * @part, @engine, @pc, @tag: which instruction of which physical core told what (hw_notify)
 * @name: of the tensor or model, cut short if need be
 */
struct nrt_event {
	enum nrt_event_type type;
	int32_t core;
	uint32_t model;
	uint32_t thread;
	NRT_STATUS status;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t device_begin_ns;
	uint64_t device_end_ns;
	uint64_t exec;
	uint64_t bytes;
	uint32_t stream;
	uint32_t part;
	uint32_t engine;
	uint32_t pc;
	uint32_t tag;
	char name[64];
};

/* Its public name; the type of a name, or NRT_NR_EVENTS. */
const char *nrt_event_name(enum nrt_event_type type);
enum nrt_event_type nrt_event_type_of(const char *name);

/* Does anybody want events of that type? */
bool nrt_event_wanted(enum nrt_event_type type);

/*
 * An event begins; all but @type and the time is zero and @core NRT_EVENT_NO_CORE. When nobody
 * wants it only @begin_ns is set, to 0. The caller fills in what he knows before the end.
 */
void nrt_event_begin(struct nrt_event *event, enum nrt_event_type type);

/* It has ended. Nothing happens when nobody wanted it at its begin. */
void nrt_event_end(struct nrt_event *event, NRT_STATUS status);

/* Like nrt_event_end(), of an event that has its times already. */
void nrt_event_tell(struct nrt_event *event);

/* Called by any thread, perhaps a last time after it was replaced. It must not block for long. */
typedef void nrt_listener_fn(void *arg, const struct nrt_event *event);

/* From now on @fn hears of @types, a mask; 0: nobody does. */
void nrt_event_listen(uint32_t types, nrt_listener_fn *fn, void *arg);

#endif /* LIBNRT_BASE_EVENT_H */
