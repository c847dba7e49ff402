// SPDX-License-Identifier: MIT
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event.h"

static const char *const names[NRT_NR_EVENTS] = {
	[NRT_EVENT_NRT_LOAD] = "nrt_load",
	[NRT_EVENT_NRT_EXECUTE] = "nrt_execute",
	[NRT_EVENT_NRT_TENSOR_READ] = "nrt_tensor_read",
	[NRT_EVENT_NRT_TENSOR_WRITE] = "nrt_tensor_write",
	[NRT_EVENT_MODEL_LOAD] = "model_load",
	[NRT_EVENT_RUNTIME_EXECUTE] = "runtime_execute",
	[NRT_EVENT_KBL_EXEC_WAIT] = "kbl_exec_wait",
	[NRT_EVENT_KMGR_EXEC_CORE] = "kmgr_exec_core",
	[NRT_EVENT_DMEM_BUF_COPYIN] = "dmem_buf_copyin",
	[NRT_EVENT_DMEM_BUF_COPYOUT] = "dmem_buf_copyout",
	[NRT_EVENT_NC_EXEC_RUNNING] = "nc_exec_running",
	[NRT_EVENT_CC_RUNNING] = "cc_running",
	[NRT_EVENT_CC_EXEC_BARRIER] = "cc_exec_barrier",
	[NRT_EVENT_NUMERICAL_ERR] = "numerical_err",
	[NRT_EVENT_NRT_MODEL_SWITCH] = "nrt_model_switch",
	[NRT_EVENT_TIMESTAMP_SYNC_POINT] = "timestamp_sync_point",
	[NRT_EVENT_HW_NOTIFY] = "hw_notify",
};

/**
 * struct listener - who hears of events
 * @types: mask; written after the rest
 * @fn, @arg: who
 */
struct listener {
	atomic_uint types;
	void (*_Atomic fn)(void *arg, const struct nrt_event *event);
	void *_Atomic arg;
};

static struct listener *listener(void)
{
	static struct listener listener;

	return &listener;
}

const char *nrt_event_name(enum nrt_event_type type)
{
	return names[type];
}

enum nrt_event_type nrt_event_type_of(const char *name)
{
	unsigned int i = 0;

	while (i < NRT_NR_EVENTS && strcmp(name, names[i]))
		i++;
	return i;
}

bool nrt_event_wanted(enum nrt_event_type type)
{
	return atomic_load_explicit(&listener()->types, memory_order_acquire) & 1u << type;
}

void nrt_event_begin(struct nrt_event *event, enum nrt_event_type type)
{
	event->begin_ns = 0;
	if (!nrt_event_wanted(type))
		return;
	*event = (struct nrt_event){
		.type = type,
		.core = NRT_EVENT_NO_CORE,
		.begin_ns = nrt_clock_now(),
	};
}

void nrt_event_tell(struct nrt_event *event)
{
	nrt_listener_fn *fn = atomic_load(&listener()->fn);

	if (!event->begin_ns || !fn)
		return;
	event->thread = (uint32_t)gettid();
	fn(atomic_load(&listener()->arg), event);
}

void nrt_event_end(struct nrt_event *event, NRT_STATUS status)
{
	if (!event->begin_ns)
		return;
	event->end_ns = nrt_clock_now();
	event->status = status;
	nrt_event_tell(event);
}

void nrt_event_listen(uint32_t types, nrt_listener_fn *fn, void *arg)
{
	struct listener *who = listener();

	atomic_store(&who->arg, arg);
	atomic_store(&who->fn, fn);
	atomic_store_explicit(&who->types, types, memory_order_release);
}
