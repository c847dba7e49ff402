/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: what the driver tells the device and when the device answers.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM neuron

#if !defined(NEURON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NEURON_TRACE_H

#include <linux/tracepoint.h>

#include "neuron_device.h"

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

#endif /* NEURON_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE neuron_trace
#include <trace/define_trace.h>
