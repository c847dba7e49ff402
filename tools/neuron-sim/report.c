// SPDX-License-Identifier: MIT
#include "report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt_emu.h>

#include "neuron/isa.h"
#include "neuron/neff.h"
#include "table.h"
#include "tensors.h"

/* Physical cores of a logical one. */
#define CORES	2
/* All queues together, behind the engines. */
#define DMA	NEURON_NR_ENGINES

int report_tensors(const struct session *session)
{
	static const char *const head[] = { "TENSOR", "USE", "TYPE", "ARRAY", "BYTES" };
	struct table *table = table_new(5, head);
	uint64_t i;

	if (!table)
		return -1;
	for (i = 0; i < session->infos->tensor_count; i++) {
		const nrt_tensor_info_t *info = &session->infos->tensor_array[i];
		char text[NPY_TEXT];
		struct npy npy;

		tensors_describe(info, &npy);
		npy_describe(&npy, text);
		table_cell(table, "%s", info->name);
		table_cell(table, "%s",
			   info->usage == NRT_TENSOR_USAGE_INPUT ? "input" : "output");
		table_cell(table, "%s", tensors_dtype(info->dtype));
		table_cell(table, "%s", text);
		table_cell(table, "%zu", info->size);
	}
	table_print(table, stdout);
	table_free(table);
	return 0;
}

/* --- How long engines were busy --- */

/**
 * struct busy - of an engine, or of all queues together
 * @events: instructions, or transfers
 * @ns: in which there was at least one
 * @begin_ns, @end_ns: of the last one so far
 */
struct busy {
	uint64_t events;
	uint64_t ns;
	uint64_t begin_ns;
	uint64_t end_ns;
};

static int by_begin(const void *a, const void *b)
{
	const nrt_emu_event_t *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* What overlaps counts once. False: an event that began later came before. */
static bool add_event(struct busy *busy, const nrt_emu_event_t *event)
{
	uint64_t begin = event->begin_ns > busy->end_ns ? event->begin_ns : busy->end_ns;

	if (event->begin_ns < busy->begin_ns)
		return false;
	busy->events++;
	busy->begin_ns = event->begin_ns;
	if (event->end_ns <= begin)
		return true;
	busy->ns += event->end_ns - begin;
	busy->end_ns = event->end_ns;
	return true;
}

static bool add_all(const nrt_emu_event_t *events, size_t count, struct busy busy[CORES][DMA + 1])
{
	size_t i;

	memset(busy, 0, CORES * sizeof(busy[0]));
	for (i = 0; i < count; i++) {
		unsigned int core = events[i].flags >> NRT_EMU_CORE_SHIFT & (CORES - 1);
		unsigned int unit = events[i].kind == NRT_EMU_TRANSFER ? DMA : events[i].source;

		if (unit <= DMA && !add_event(&busy[core][unit], &events[i]))
			return false;
	}
	return true;
}

/* They come in the order of their ends, which for an engine is that of their begins, mostly. */
static void add_events(nrt_emu_event_t *events, size_t count, struct busy busy[CORES][DMA + 1])
{
	if (add_all(events, count, busy))
		return;
	qsort(events, count, sizeof(*events), by_begin);
	add_all(events, count, busy);
}

static NRT_STATUS print_busy(struct busy busy[CORES][DMA + 1], uint64_t total_ns)
{
	static const char *const head[] = { "CORE", "UNIT", "EVENTS", "BUSY NS", "BUSY %" };
	struct table *table = table_new(5, head);
	unsigned int core, unit;

	if (!table)
		return NRT_RESOURCE;
	for (core = 0; core < CORES; core++)
		for (unit = 0; unit <= DMA; unit++) {
			const struct busy *row = &busy[core][unit];

			if (!row->events)
				continue;
			table_cell(table, "%u", core);
			table_cell(table, "%s", unit == DMA ? "DMA" : neff_engine_name(unit));
			table_cell(table, "%" PRIu64, row->events);
			table_cell(table, "%" PRIu64, row->ns);
			table_cell(table, "%.1f",
				   total_ns ? 100.0 * (double)row->ns / (double)total_ns : 0.0);
		}
	table_print(table, stdout);
	table_free(table);
	return NRT_SUCCESS;
}

static NRT_STATUS report_busy(struct session *session, const nrt_model_t *model,
			      uint64_t total_ns)
{
	struct busy busy[CORES][DMA + 1];
	nrt_emu_event_t *events;
	size_t count = 0, room;
	uint64_t lost;
	NRT_STATUS status = nrt_emu_get_trace(model, NULL, &count, &lost);

	if (status)
		return status;
	room = count;
	events = reallocarray(NULL, room + 1, sizeof(*events));
	if (!events)
		return session_fail(session, NRT_RESOURCE, "no memory for %zu events", count);
	status = nrt_emu_get_trace(model, events, &count, &lost);
	if (!status) {
		add_events(events, count < room ? count : room, busy);
		status = print_busy(busy, total_ns);
	}
	free(events);
	if (!status && lost)
		printf("%" PRIu64 " more instructions and transfers are not in it\n", lost);
	return status;
}

NRT_STATUS report_times(struct session *session, bool busy)
{
	NRT_STATUS status = NRT_SUCCESS;
	unsigned int i;

	*session->why = '\0';
	for (i = 0; !status && i < session->nr_ranks; i++) {
		const nrt_model_t *model = session->rank[i].model;
		nrt_emu_execution_t last = { 0 };

		status = nrt_emu_get_last_execution(model, &last, sizeof(last));
		if (status)
			return status;
		if (session->nr_ranks > 1)
			printf("rank %u: ", i);
		printf("device time %" PRIu64 " ns%s, %" PRIu64 " instructions, %" PRIu64
		       " bytes by DMA\n", last.end_ns - last.start_ns,
		       last.flags & NRT_EMU_INEXACT ? " (inexact)" : "", last.instructions,
		       last.dma_bytes);
		if (busy)
			status = report_busy(session, model, last.end_ns - last.start_ns);
	}
	return status;
}
