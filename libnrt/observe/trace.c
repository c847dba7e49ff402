// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/trace.h"
#include "observe/trace.h"

/* Of a trace: more than that few programs fill. */
#define POPULATED	(12u << 20)

static uint64_t trace_bytes(size_t events)
{
	return sizeof(struct neuron_hw_trace) + events * sizeof(struct neuron_hw_trace_record);
}

/* With the model's lock: no execution writes to the buffer, and none begins to. */
static void wait_untraced(struct nrt_model *model)
{
	while (model->traced)
		pthread_cond_wait(&model->untraced, &model->lock);
}

static void put_traces(struct nrt_bo **traces, unsigned int nr)
{
	while (nr--)
		nrt_bo_put(traces[nr]);
}

void nrt_trace_populate(void *memory, size_t bytes)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = ((uintptr_t)memory + page - 1) & ~(page - 1);
	const uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);

	/* A kernel that cannot do this does without. */
	if (end > begin)
		madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

/* A buffer for each part. */
static NRT_STATUS make_traces(const struct nrt_model *model, size_t events,
			      struct nrt_bo **traces, struct nrt_error *error)
{
	const uint64_t bytes = trace_bytes(events);
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++) {
		if (!nrt_bo_create(model->parts[i].core, bytes, DRM_NEURON_BO_HOST,
				   DRM_NEURON_CATEGORY_NOTIFICATIONS, &traces[i], error)) {
			nrt_trace_populate(traces[i]->map, bytes < POPULATED ? bytes : POPULATED);
			continue;
		}
		put_traces(traces, i);
		return error->status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS nrt_trace_set(struct nrt_model *model, size_t events, struct nrt_error *error)
{
	struct nrt_bo *traces[NRT_MAX_LNC] = { NULL }, *old;
	unsigned int i;

	if (events && make_traces(model, events, traces, error))
		return error->status;
	pthread_mutex_lock(&model->lock);
	wait_untraced(model);
	for (i = 0; i < model->nr_parts; i++) {
		old = model->parts[i].trace;
		model->parts[i].trace = traces[i];
		traces[i] = old;
	}
	model->trace_bytes = events ? trace_bytes(events) : 0;
	pthread_mutex_unlock(&model->lock);
	put_traces(traces, model->nr_parts);
	return NRT_SUCCESS;
}

static NRT_STATUS bad_trace(const struct nrt_model *model, const char *why,
			    struct nrt_error *error)
{
	return nrt_error_set(error, NRT_FAILURE, "the trace of model \"%.64s\" is damaged: %s",
			     model->neff->name, why);
}

static NRT_STATUS read_event(const struct nrt_model *model, unsigned int part, const uint8_t *at,
			     nrt_emu_event_t *out, struct nrt_error *error)
{
	struct neuron_hw_trace_record record;
	struct neuron_trace_event event;
	const char *why;

	memcpy(&record, at, sizeof(record));
	why = neuron_trace_decode(&record, &event);
	if (why)
		return bad_trace(model, why, error);
	*out = (nrt_emu_event_t){
		.begin_ns = event.begin_ns,
		.end_ns = event.end_ns,
		.bytes = event.bytes,
		.code = event.code,
		.pc = event.pc,
		.kind = event.kind,
		.source = event.source,
		.flags = (event.flags & NEURON_TRACE_INEXACT ? NRT_EMU_INEXACT : 0) |
			 part << NRT_EMU_CORE_SHIFT,
	};
	return NRT_SUCCESS;
}

/**
 * struct reader - the trace of a part
 * @at: next record
 * @step: bytes from one to the next
 * @left: records
 * @event: the record before @at, if @full
 */
struct reader {
	const uint8_t *at;
	size_t step;
	uint64_t left;
	bool full;
	nrt_emu_event_t event;
};

/*
 * With the model's lock. The device writes this memory: what is checked is a copy. It is
 * zero until an execution begins.
 */
static NRT_STATUS open_trace(struct nrt_model *model, unsigned int part, struct reader *reader,
			     uint64_t *lost, struct nrt_error *error)
{
	struct neuron_hw_trace trace = { 0 };
	const uint8_t *map = NULL;
	const char *why;

	if (model->parts[part].trace) {
		map = model->parts[part].trace->map;
		memcpy(&trace, map, sizeof(trace));
	}
	if (!trace.magic)
		return nrt_error_set(error, NRT_QUEUE_EMPTY,
				     "model \"%.64s\" has no trace of an execution",
				     model->neff->name);
	why = neuron_trace_check(&trace, model->trace_bytes);
	if (why)
		return bad_trace(model, why, error);
	*lost += neuron_from_le64(trace.lost);
	*reader = (struct reader){
		.at = map + sizeof(trace),
		.step = neuron_from_le16(trace.record_size),
		.left = neuron_from_le64(trace.records),
	};
	return NRT_SUCCESS;
}

/* The event that ended first among the next ones of all parts. */
static NRT_STATUS next_event(const struct nrt_model *model, struct reader *readers,
			     nrt_emu_event_t *out, struct nrt_error *error)
{
	struct reader *first = NULL;
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++) {
		struct reader *reader = &readers[i];

		if (!reader->full && reader->left) {
			if (read_event(model, i, reader->at, &reader->event, error))
				return error->status;
			reader->at += reader->step;
			reader->left--;
			reader->full = true;
		}
		if (reader->full && (!first || reader->event.end_ns < first->event.end_ns))
			first = reader;
	}
	*out = first->event;
	first->full = false;
	return NRT_SUCCESS;
}

/* With the model's lock. */
static NRT_STATUS get_locked(struct nrt_model *model, nrt_emu_event_t *events, size_t *count,
			     uint64_t *lost, struct nrt_error *error)
{
	struct reader readers[NRT_MAX_LNC];
	const size_t room = *count;
	size_t i;

	*count = 0;
	*lost = 0;
	for (i = 0; i < model->nr_parts; i++) {
		if (open_trace(model, (unsigned int)i, &readers[i], lost, error))
			return error->status;
		*count += readers[i].left;
	}
	for (i = 0; i < *count && i < room; i++)
		if (next_event(model, readers, &events[i], error))
			return error->status;
	return NRT_SUCCESS;
}

NRT_STATUS nrt_trace_get(struct nrt_model *model, nrt_emu_event_t *events, size_t *count,
			 uint64_t *lost, struct nrt_error *error)
{
	NRT_STATUS status;

	pthread_mutex_lock(&model->lock);
	wait_untraced(model);
	status = get_locked(model, events, count, lost, error);
	pthread_mutex_unlock(&model->lock);
	return status;
}
