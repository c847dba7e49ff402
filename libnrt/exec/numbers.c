// SPDX-License-Identifier: MIT
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/trace.h"
#include "exec/numbers.h"
#include "exec/source.h"
#include "neuron/isa.h"

/* Instructions and transfers of an execution that are kept; the most for one that has more. */
#define EVENTS		65536ull
#define MOST_EVENTS	(16 * EVENTS)
/* Of an output that is read at a time; a multiple of every element. */
#define PIECE		65536

static uint64_t bytes_of(uint64_t events)
{
	return sizeof(struct neuron_hw_trace) + events * sizeof(struct neuron_hw_trace_record);
}

/* A buffer of @bytes or more for the traces of @part. */
static NRT_STATUS watch_part(struct nrt_part *part, uint64_t bytes, struct nrt_error *error)
{
	if (part->watch && part->watch->size < bytes) {
		nrt_bo_put(part->watch);
		part->watch = NULL;
	}
	if (part->watch)
		return NRT_SUCCESS;
	return nrt_bo_create(part->core, bytes, DRM_NEURON_BO_HOST,
			     DRM_NEURON_CATEGORY_NOTIFICATIONS, &part->watch, error);
}

NRT_STATUS nrt_numbers_buffers(struct nrt_model *model, struct nrt_watched *watched,
			       struct nrt_error *error)
{
	uint64_t bytes = bytes_of(model->watch_events ? model->watch_events : EVENTS);
	unsigned int i;

	for (i = 0; i < model->nr_parts; i++) {
		if (watch_part(&model->parts[i], bytes, error))
			return error->status;
		watched->trace[i] = model->parts[i].watch;
	}
	watched->bytes = bytes;
	return NRT_SUCCESS;
}

/* --- Outputs --- */

/**
 * struct type - a type that has NaNs
 * @size: bytes of an element
 * @magnitude: bits without the sign
 * @largest: largest of them that is no NaN
 */
struct type {
	unsigned int size;
	uint32_t magnitude;
	uint32_t largest;
};

static const struct type *type_of(enum neuron_dtype dtype)
{
	static const struct type types[] = {
		[NEURON_DTYPE_FP32] = { 4, 0x7fffffff, 0x7f800000 },
		[NEURON_DTYPE_FP32R] = { 4, 0x7fffffff, 0x7f800000 },
		[NEURON_DTYPE_TF32] = { 4, 0x7fffffff, 0x7f800000 },
		[NEURON_DTYPE_BF16] = { 2, 0x7fff, 0x7f80 },
		[NEURON_DTYPE_FP16] = { 2, 0x7fff, 0x7c00 },
		[NEURON_DTYPE_FP8_E3] = { 1, 0x7f, 0x70 },
		[NEURON_DTYPE_FP8_E4] = { 1, 0x7f, 0x78 },
		[NEURON_DTYPE_FP8_E5] = { 1, 0x7f, 0x7c },
		[NEURON_DTYPE_FP8_E4FN] = { 1, 0x7f, 0x7e },
	};

	return dtype < sizeof(types) / sizeof(types[0]) && types[dtype].size ? &types[dtype] :
	       NULL;
}

static uint32_t element(const uint8_t *at, unsigned int size)
{
	uint32_t value = 0;

	memcpy(&value, at, size);
	return le32toh(value);
}

/* The first element of @data that is a NaN; @count: there is none. */
static size_t first_nan(const struct type *type, const uint8_t *data, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if ((element(data + i * type->size, type->size) & type->magnitude) >
		    type->largest)
			break;
	return i;
}

/* Has the variable at @place a NaN? *@index is its first element that is one. */
static bool has_nan(const struct neff_var *var, const struct nrt_place *place, uint8_t *room,
		    uint64_t *index)
{
	const struct type *type = type_of(var->dtype);
	struct nrt_error ignored;
	uint64_t done, bytes;
	size_t count, i;

	if (!type || !place->bo)
		return false;
	for (done = 0; done < var->size; done += bytes) {
		bytes = var->size - done < PIECE ? var->size - done : PIECE;
		if (nrt_bo_read(place->bo, place->offset + done, room, bytes, &ignored))
			return false;
		count = bytes / type->size;
		i = first_nan(type, room, count);
		*index = done / type->size + i;
		if (i < count)
			return true;
	}
	return false;
}

/* "; output "y" has one in element 5, and 2 more outputs". False: there is none. */
static bool describe_outputs(const struct nrt_model *model, const struct nrt_binding *binding,
			     char *text, size_t size)
{
	const struct neff *neff = model->neff;
	uint8_t *room = malloc(PIECE);
	unsigned int found = 0;
	uint64_t index;
	size_t i;

	snprintf(text, size, "; no output has one");
	for (i = 0; room && i < neff->nr_ios; i++) {
		if (neff->ios[i]->type != NEFF_VAR_OUTPUT ||
		    !has_nan(neff->ios[i], &binding->places[i], room, &index))
			continue;
		if (!found++)
			snprintf(text, size, "; output \"%.64s\" has one in element %llu",
				 neff->ios[i]->name, (unsigned long long)index);
	}
	free(room);
	if (found > 1)
		snprintf(text + strlen(text), size - strlen(text), ", and %u more", found - 1);
	return found;
}

/* --- Instructions --- */

/**
 * struct first - what the traces tell
 * @part: has the first instruction that left a NaN, which is @event; NULL: there is none
 * @lost: a trace has not all records
 * @kept: of it; else of the longest one
 * @wanted: most records that a trace would have had with room for all
 */
struct first {
	const struct nrt_part *part;
	struct neuron_trace_event event;
	bool lost;
	uint64_t kept;
	uint64_t wanted;
};

static bool is_nan(const struct neuron_hw_trace_record *record, struct neuron_trace_event *event)
{
	return !neuron_trace_decode(record, event) && event->kind == NEURON_TRACE_INSTRUCTION &&
	       event->flags & NEURON_TRACE_NAN;
}

/* The device writes this memory: what is looked at is a copy. */
static void look_at_part(const struct nrt_part *part, const uint8_t *at, uint64_t bytes,
			 struct first *first)
{
	struct neuron_hw_trace_record record;
	struct neuron_trace_event event;
	struct neuron_hw_trace trace;
	uint64_t i, records, wanted;

	memcpy(&trace, at, sizeof(trace));
	if (neuron_trace_check(&trace, bytes))
		return;
	records = neuron_from_le64(trace.records);
	wanted = records + neuron_from_le64(trace.lost);
	first->lost |= wanted > records;
	first->kept = wanted > records || records > first->kept ? records : first->kept;
	first->wanted = wanted > first->wanted ? wanted : first->wanted;
	for (i = 0; i < records; i++) {
		memcpy(&record, at + sizeof(trace) + i * neuron_from_le16(trace.record_size),
		       sizeof(record));
		if (!is_nan(&record, &event))
			continue;
		if (!first->part || event.end_ns < first->event.end_ns) {
			first->part = part;
			first->event = event;
		}
		return;
	}
}

static void describe_first(const struct nrt_model *model, const struct first *first, char *text,
			   size_t size)
{
	char line[NRT_SOURCE_TEXT], graph[16] = "";

	if (first->part) {
		nrt_source_text(first->part, first->event.source, first->event.pc, ", ", "", line);
		if (model->nr_parts > 1)
			snprintf(graph, sizeof(graph), "sg%02u: ", first->part->graph->index);
		snprintf(text, size, "%s%s engine, pc %u%s, made the first NaN, at %llu ns", graph,
			 neff_engine_name(first->event.source), first->event.pc, line,
			 (unsigned long long)first->event.end_ns);
	} else if (first->lost) {
		snprintf(text, size,
			 "a NaN was made behind the first %llu events, which is all that was kept",
			 (unsigned long long)first->kept);
	} else {
		snprintf(text, size, "no instruction made a NaN: transfers brought it");
	}
}

NRT_STATUS nrt_numbers_check(struct nrt_model *model, const struct nrt_binding *binding,
			     const struct nrt_watched *watched, struct nrt_error *error)
{
	struct first first = { .part = NULL };
	char who[256], outputs[160];
	unsigned int i;
	bool bad;

	for (i = 0; i < model->nr_parts; i++)
		look_at_part(&model->parts[i], watched->trace[i]->map, watched->bytes, &first);
	bad = describe_outputs(model, binding, outputs, sizeof(outputs));
	/* The next trace has room for all. */
	if (first.wanted > EVENTS && first.wanted > model->watch_events)
		model->watch_events = first.wanted < MOST_EVENTS ? first.wanted : MOST_EVENTS;
	if (!first.part && !bad)
		return NRT_SUCCESS;
	describe_first(model, &first, who, sizeof(who));
	return nrt_error_set(error, NRT_EXEC_COMPLETED_WITH_NUM_ERR,
			     "model \"%.64s\" ran to its end on core %u with a numerical error: %s%s",
			     model->neff->name, model->vcore->number, who, outputs);
}
