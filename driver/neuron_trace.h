/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: what the driver tells the device and when the device answers.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM neuron

#if !defined(NEURON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NEURON_TRACE_H

#include <linux/tracepoint.h>

#include "contract/record.h"
#include "neuron_device.h"

/* A core was taken, or given back; @mask: all cores of the claim. */
DECLARE_EVENT_CLASS(neuron_claim_class,
		    TP_PROTO(const struct neuron_device *ndev, u32 claim, u32 mask),
		    TP_ARGS(ndev, claim, mask),
		    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
				     __field(u32, claim)
				     __field(u32, mask)),
		    TP_fast_assign(__assign_str(dev);
				   __entry->claim = claim;
				   __entry->mask = mask;),
		    TP_printk("%s claim=%u cores=%#x", __get_str(dev), __entry->claim,
			      __entry->mask)
);

DEFINE_EVENT(neuron_claim_class, neuron_claim,
	     TP_PROTO(const struct neuron_device *ndev, u32 claim, u32 mask),
	     TP_ARGS(ndev, claim, mask));
DEFINE_EVENT(neuron_claim_class, neuron_release,
	     TP_PROTO(const struct neuron_device *ndev, u32 claim, u32 mask),
	     TP_ARGS(ndev, claim, mask));

/* Entries of a core's window table changed; @windows: entries it has room for. */
TRACE_EVENT(neuron_windows,
	    TP_PROTO(const struct neuron_core *core, u32 claim, u32 changed,
		     u32 windows),
	    TP_ARGS(core, claim, changed, windows),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u32, claim)
			     __field(u32, changed)
			     __field(u32, windows)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->claim = claim;
			   __entry->changed = changed;
			   __entry->windows = windows;),
	    TP_printk("%s core=%u claim=%u changed=%u windows=%u", __get_str(dev),
		      __entry->core, __entry->claim, __entry->changed,
		      __entry->windows)
);

/* A job was queued. */
TRACE_EVENT(neuron_job_submit,
	    TP_PROTO(const struct neuron_core *core, u32 claim, u64 job,
		     unsigned int queues, u32 timeout_ms),
	    TP_ARGS(core, claim, job, queues, timeout_ms),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u32, claim)
			     __field(u64, job)
			     __field(unsigned int, queues)
			     __field(u32, timeout_ms)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->claim = claim;
			   __entry->job = job;
			   __entry->queues = queues;
			   __entry->timeout_ms = timeout_ms;),
	    TP_printk("%s core=%u claim=%u job=%llu queues=%u timeout_ms=%u",
		      __get_str(dev), __entry->core, __entry->claim, __entry->job,
		      __entry->queues, __entry->timeout_ms)
);

/* Just before the doorbell of a core. */
TRACE_EVENT(neuron_job_doorbell,
	    TP_PROTO(const struct neuron_core *core, u32 claim, u64 job),
	    TP_ARGS(core, claim, job),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u32, claim)
			     __field(u64, job)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->claim = claim;
			   __entry->job = job;),
	    TP_printk("%s core=%u claim=%u job=%llu", __get_str(dev), __entry->core,
		      __entry->claim, __entry->job)
);

/* A job has left the hardware; @status: enum neuron_job_status. */
TRACE_EVENT(neuron_job_done,
	    TP_PROTO(const struct neuron_core *core, u32 claim, u64 job,
		     unsigned int status, u64 wall_ns),
	    TP_ARGS(core, claim, job, status, wall_ns),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u32, claim)
			     __field(u64, job)
			     __field(unsigned int, status)
			     __field(u64, wall_ns)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->claim = claim;
			   __entry->job = job;
			   __entry->status = status;
			   __entry->wall_ns = wall_ns;),
	    TP_printk("%s core=%u claim=%u job=%llu status=%u wall_ns=%llu",
		      __get_str(dev), __entry->core, __entry->claim, __entry->job,
		      __entry->status, __entry->wall_ns)
);

/* The program of a job failed; the values are the completion record's. */
TRACE_EVENT(neuron_fault,
	    TP_PROTO(const struct neuron_core *core, u64 job,
		     const struct neuron_record *record),
	    TP_ARGS(core, job, record),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u64, job)
			     __field(u16, cause)
			     __field(u16, source)
			     __field(u32, pc)
			     __field(u64, addr)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->job = job;
			   __entry->cause = record->cause;
			   __entry->source = record->source;
			   __entry->pc = record->pc;
			   __entry->addr = record->addr;),
	    TP_printk("%s core=%u job=%llu cause=%u source=%#x pc=%u addr=%#llx",
		      __get_str(dev), __entry->core, __entry->job, __entry->cause,
		      __entry->source, __entry->pc, __entry->addr)
);

/* A job made no progress. */
TRACE_EVENT(neuron_hang,
	    TP_PROTO(const struct neuron_core *core, u64 job, u64 progress),
	    TP_ARGS(core, job, progress),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u64, job)
			     __field(u64, progress)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->job = job;
			   __entry->progress = progress;),
	    TP_printk("%s core=%u job=%llu progress=%llu", __get_str(dev),
		      __entry->core, __entry->job, __entry->progress)
);

/* A core reset is over, or was not answered. */
TRACE_EVENT(neuron_core_reset,
	    TP_PROTO(const struct neuron_core *core, bool answered),
	    TP_ARGS(core, answered),
	    TP_STRUCT__entry(__string(dev, dev_name(core->ndev->drm.dev))
			     __field(unsigned int, core)
			     __field(u32, generation)
			     __field(bool, answered)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->core = core->index;
			   __entry->generation = core->generation;
			   __entry->answered = answered;),
	    TP_printk("%s core=%u generation=%u answered=%d", __get_str(dev),
		      __entry->core, __entry->generation, __entry->answered)
);

/* Memory of a stack went to a buffer, or came back from one. */
DECLARE_EVENT_CLASS(neuron_hbm_class,
		    TP_PROTO(const struct neuron_device *ndev, unsigned int stack, u64 size),
		    TP_ARGS(ndev, stack, size),
		    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
				     __field(unsigned int, stack)
				     __field(u64, size)),
		    TP_fast_assign(__assign_str(dev);
				   __entry->stack = stack;
				   __entry->size = size;),
		    TP_printk("%s stack=%u size=%llu", __get_str(dev), __entry->stack,
			      __entry->size)
);

DEFINE_EVENT(neuron_hbm_class, neuron_hbm_alloc,
	     TP_PROTO(const struct neuron_device *ndev, unsigned int stack, u64 size),
	     TP_ARGS(ndev, stack, size));
DEFINE_EVENT(neuron_hbm_class, neuron_hbm_free,
	     TP_PROTO(const struct neuron_device *ndev, unsigned int stack, u64 size),
	     TP_ARGS(ndev, stack, size));

/* The chip has made a range zero, or has not: @error. */
TRACE_EVENT(neuron_discard,
	    TP_PROTO(const struct neuron_device *ndev, u64 addr, u64 size,
		     int error),
	    TP_ARGS(ndev, addr, size, error),
	    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
			     __field(u64, addr)
			     __field(u64, size)
			     __field(int, error)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->addr = addr;
			   __entry->size = size;
			   __entry->error = error;),
	    TP_printk("%s addr=%#llx size=%llu error=%d", __get_str(dev),
		      __entry->addr, __entry->size, __entry->error)
);

/* Just before the doorbell of a copy queue. */
TRACE_EVENT(neuron_copy_doorbell,
	    TP_PROTO(const struct neuron_device *ndev, unsigned int engine,
		     unsigned int queue, unsigned int descriptors, u64 bytes),
	    TP_ARGS(ndev, engine, queue, descriptors, bytes),
	    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
			     __field(unsigned int, engine)
			     __field(unsigned int, queue)
			     __field(unsigned int, descriptors)
			     __field(u64, bytes)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->engine = engine;
			   __entry->queue = queue;
			   __entry->descriptors = descriptors;
			   __entry->bytes = bytes;),
	    TP_printk("%s engine=%u queue=%u descriptors=%u bytes=%llu",
		      __get_str(dev), __entry->engine, __entry->queue,
		      __entry->descriptors, __entry->bytes)
);

/* A request of a copy queue has ended. */
TRACE_EVENT(neuron_copy_done,
	    TP_PROTO(const struct neuron_device *ndev, unsigned int engine,
		     unsigned int queue, int error),
	    TP_ARGS(ndev, engine, queue, error),
	    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
			     __field(unsigned int, engine)
			     __field(unsigned int, queue)
			     __field(int, error)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->engine = engine;
			   __entry->queue = queue;
			   __entry->error = error;),
	    TP_printk("%s engine=%u queue=%u error=%d", __get_str(dev),
		      __entry->engine, __entry->queue, __entry->error)
);

/* The hard interrupt handler is entered. */
TRACE_EVENT(neuron_irq,
	    TP_PROTO(const struct neuron_device *ndev, int irq),
	    TP_ARGS(ndev, irq),
	    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
			     __field(int, irq)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->irq = irq;),
	    TP_printk("%s irq=%d", __get_str(dev), __entry->irq)
);

/* A memory error that the chip told of; @info: NEURON_CTL_ECC_INFO. */
TRACE_EVENT(neuron_ecc,
	    TP_PROTO(const struct neuron_device *ndev, u32 info, u64 addr),
	    TP_ARGS(ndev, info, addr),
	    TP_STRUCT__entry(__string(dev, dev_name(ndev->drm.dev))
			     __field(u32, info)
			     __field(u64, addr)),
	    TP_fast_assign(__assign_str(dev);
			   __entry->info = info;
			   __entry->addr = addr;),
	    TP_printk("%s info=%#x addr=%#llx", __get_str(dev), __entry->info,
		      __entry->addr)
);

#endif /* NEURON_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE neuron_trace
#include <trace/define_trace.h>
