// SPDX-License-Identifier: GPL-2.0-or-later OR MIT
/*
 * The trace of a job: to notification queues that software has set up for it, and to the
 * buffer that its job block names (contract/trace.h).
 *
 * The window of the buffer is a table of its own, so no address of a program leads there.
 * The chip never reads the buffer: what software writes there changes nothing here.
 */
#include <stddef.h>

#include "base/trn_chip.h"
#include "contract/record.h"
#include "contract/trace.h"
#include "core/trn_core.h"
#include "dma/trn_udma.h"
#include "dma/trn_udma_queue.h"
#include "job/trn_job.h"
#include "mem/trn_access.h"
#include "mem/trn_window.h"
#include "notify/trn_nq.h"
#include "time/trn_time.h"

enum neuron_cause trn_job_trace_check(const struct trn_job *job)
{
	const struct trn_domain *domain = job->trace;
	const char *why = "a trace has one window";

	if (domain->nr == 1)
		why = neuron_trace_check_window(domain->windows[0].flags,
						domain->windows[0].length);
	if (!why && job->trace_records > neuron_trace_room(domain->windows[0].length))
		why = "a trace has more records than it has room for";
	if (!why)
		return NEURON_CAUSE_NONE;
	trn_log(job->core->chip, TRN_LOG_GUEST_ERROR, "%s: job block refused: %s",
		job->core->name, why);
	return NEURON_CAUSE_JOB;
}

/* Memory that fails (it has left, or reached a limit) ends the trace, not the job. */
static void write_trace(struct trn_job *job, uint64_t offset, const void *data, size_t len)
{
	struct trn_access access = {
		.chip = job->core->chip,
		.domain = job->trace,
	};

	if (!job->trace_broken &&
	    trn_access_write(&access, neuron_window_addr(0, offset), data, len))
		job->trace_broken = true;
}

static void write_header(struct trn_job *job)
{
	const struct neuron_hw_trace header =
		neuron_trace_header(job->block.job_id, job->trace_records,
				    atomic_load(&job->trace_lost));

	write_trace(job, 0, &header, sizeof(header));
}

void trn_job_trace_begin(struct trn_job *job)
{
	if (job->trace)
		write_header(job);
}

void trn_job_trace_end(struct trn_job *job)
{
	if (job->trace)
		write_header(job);
}

void trn_job_trace_lost(void *arg)
{
	trn_job_trace_lose(arg);
}

/*
 * The records first, then how many there are: who finds one counted finds it whole. Returns how
 * many there was room for.
 */
static unsigned int append_records(struct trn_job *job,
				   const struct neuron_hw_trace_record *records, unsigned int nr)
{
	const uint64_t room = neuron_trace_room(job->trace->windows[0].length);
	__le64 counted;

	if (nr > room - job->trace_records)
		nr = (unsigned int)(room - job->trace_records);
	if (!nr)
		return 0;
	counted = neuron_to_le64(job->trace_records + nr);
	write_trace(job, sizeof(struct neuron_hw_trace) +
			 job->trace_records * sizeof(*records), records, nr * sizeof(*records));
#ifndef __SANITIZE_THREAD__	/* which cannot follow fences */
	atomic_thread_fence(memory_order_release);
#endif
	write_trace(job, offsetof(struct neuron_hw_trace, records), &counted,
		    sizeof(counted));
	if (job->trace_broken)
		return 0;
	job->trace_records += nr;
	return nr;
}

/* Where memory ends, those that it still takes come one after the other. */
static unsigned int append_all(struct trn_job *job, const struct neuron_hw_trace_record *records,
			       unsigned int nr)
{
	unsigned int done;

	if (job->trace_broken)
		return 0;
	done = append_records(job, records, nr);
	if (!job->trace_broken)
		return done;
	job->trace_broken = false;
	for (done = 0; done < nr; done++)
		if (!append_records(job, &records[done], 1))
			break;
	return done;
}

/* Without what it says besides the opcode of an instruction. */
static uint32_t code_of(const struct trn_time_trace *trace)
{
	return trace->actor < TRN_ACTOR_QUEUE ? trace->code & ~TRN_TIME_NAN : trace->code;
}

static struct neuron_hw_trace_record record_of(const struct trn_job *job,
					       const struct trn_time_trace *trace)
{
	struct neuron_trace_event event = {
		.begin_ns = trace->begin_ns,
		.end_ns = trace->end_ns,
		.bytes = trace->bytes,
		.code = code_of(trace),
		.pc = trace->pc,
		.kind = NEURON_TRACE_INSTRUCTION,
		.source = (uint16_t)trace->actor,
		.flags = trace->exact ? 0 : NEURON_TRACE_INEXACT,
	};
	const struct trn_udma_queue *queue;

	if (trace->actor >= TRN_ACTOR_QUEUE) {
		queue = job->queues[trace->actor - TRN_ACTOR_QUEUE];
		event.kind = NEURON_TRACE_TRANSFER;
		event.source = neuron_record_queue(queue->engine, queue->index, 0);
	} else if (trace->code & TRN_TIME_NAN) {
		event.flags |= NEURON_TRACE_NAN;
	}
	return neuron_trace_encode(&event);
}

static void write_events(struct trn_job *job, const struct trn_time_trace *traces, unsigned int nr)
{
	struct neuron_hw_trace_record records[TRN_TIME_TELL];
	unsigned int i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		records[i] = record_of(job, &traces[i]);
	for (i = append_all(job, records, nr); i < nr; i++)
		trn_job_trace_lose(job);
}

/* The begin, and then the end, of an instruction or of a queue's packet. */
static void post_entries(struct trn_job *job, const struct trn_time_trace *trace)
{
	struct trn_nq_event event = {
		.engine = trace->actor,
		.type = NEURON_NQ_TYPE_TRACE,
		.code = code_of(trace),
		.pc = trace->pc,
		.begin = true,
		.time_ns = trace->begin_ns,
		.job_id = job->block.job_id,
	};

	trn_nq_of_core(job->core, &event);
	if (trace->actor >= TRN_ACTOR_QUEUE) {
		const struct trn_udma_queue *queue =
			job->queues[trace->actor - TRN_ACTOR_QUEUE];

		event.unit = TRN_NQ_DMA;
		event.index = queue->engine;
		event.engine = queue->index;
		event.type = NEURON_NQ_TYPE_TRACE_DMA;
	} else if (!trn_nq_traces(job->core, trace->actor)) {
		return;
	}
	trn_nq_post(job->core->chip, &event);
	event.begin = false;
	event.time_ns = trace->end_ns;
	trn_nq_post(job->core->chip, &event);
}

void trn_job_trace(void *arg, const struct trn_time_trace *traces, unsigned int nr)
{
	struct trn_job *job = arg;
	unsigned int i;

	for (i = 0; i < nr; i++)
		post_entries(job, &traces[i]);
	if (job->trace)
		write_events(job, traces, nr);
}
