// SPDX-License-Identifier: MIT
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/record.h"
#include "neuron/address.h"
#include "source.h"

#define PER_LINE	8	/* numbers */
#define MOST_POSTERS	4
#define SOURCE_AROUND	5
#define PIECE		512	/* numbers */

const char *show_engine_name(const struct target *target, struct where where, char name[16])
{
	if (target->neff->nr_graphs > 1)
		snprintf(name, 16, "%s@%u", trn_inspect_engine_name(where.engine), where.graph);
	else
		snprintf(name, 16, "%s", trn_inspect_engine_name(where.engine));
	return name;
}

/* As it is in memory now; of a program that has ended, as the NEFF has it. */
static bool fetch(const struct target *target, struct code code, struct neuron_inst *inst)
{
	const struct neff_graph *graph = &target->neff->graphs[code.where.graph];
	struct trn_inspect_engine_state state;
	struct memory memory = { .window = true, .graph = code.where.graph };
	char why[TARGET_WHY];

	if (!target_has_engine(target, code.where) ||
	    code.pc >= graph->image_count[code.where.engine])
		return false;
	memory.left = sizeof(*inst);
	if (target_engine(target, code.where, &state)) {
		memory.addr = state.base + (uint64_t)code.pc * NEURON_INST_SIZE;
		if (!place_read(target, &memory, 0, 0, inst, sizeof(*inst), why))
			return true;
	}
	*inst = graph->image[code.where.engine][code.pc];
	return true;
}

bool show_instruction(const struct target *target, struct code code, char *text, size_t size)
{
	struct neuron_inst inst;

	if (!fetch(target, code, &inst))
		return false;
	trn_inspect_text(&inst, text, size);
	return true;
}

/* Without its folders: the line is for a person. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_code(const struct target *target, struct code code, const char *mark, FILE *out)
{
	char text[TRN_INSPECT_TEXT];
	const char *source;
	uint32_t line;

	if (!show_instruction(target, code, text, sizeof(text)))
		return;
	source = target_line(target, code, &line);
	if (source)
		fprintf(out, "%s%5u  %s:%u  %s\n", mark, code.pc, base_name(source), line, text);
	else
		fprintf(out, "%s%5u  %s\n", mark, code.pc, text);
}

/* --- Why it has stopped --- */

static void put_bytes(const uint8_t *bytes, uint32_t len, FILE *out)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		fprintf(out, "%s%02x", i && i % 4 == 0 ? " " : "", bytes[i]);
}

static void put_writer(const struct target *target, const struct stop *stop, FILE *out)
{
	char name[16];

	if (stop->dma)
		fprintf(out, "DMA engine %u, queue %u, descriptor %u has changed ",
			stop->dma_engine, stop->queue, stop->pc);
	else
		fprintf(out, "%s, instruction %u has changed ",
			show_engine_name(target, stop->where, name), stop->pc);
	put_bytes(stop->old, stop->len, out);
	fputs(" to ", out);
	put_bytes(stop->now, stop->len, out);
	fputc('\n', out);
}

static const char *what_of(const struct target *target, unsigned int id)
{
	size_t i;

	for (i = 0; i < target->nr_breakpoints; i++)
		if (target->breakpoints[i].id == id)
			return target->breakpoints[i].what;
	return "";
}

static void put_fault(const struct target *target, FILE *out)
{
	const struct stop *stop = &target->stop;
	const char *cause = trn_inspect_cause_name(stop->fault.cause);
	char name[16];

	if (stop->where.engine == NEURON_NR_ENGINES) {
		fprintf(out, "Error of a DMA queue at descriptor %u: %s\n", stop->pc, cause);
		return;
	}
	fprintf(out, "Error of %s: %s\n", show_engine_name(target, stop->where, name), cause);
	put_code(target, (struct code){ stop->where, stop->pc }, "  ", out);
}

/* The first element of a variable that is a NaN. False: there is none. */
static bool find_nan(const struct target *target, const struct memory *memory, uint64_t *element)
{
	const size_t size = trn_inspect_size(memory->dtype);
	uint8_t bytes[PIECE * sizeof(double)];
	double number[PIECE];
	uint64_t done, n, i;
	char why[TARGET_WHY];

	for (done = 0; done < memory->left / size; done += n) {
		n = memory->left / size - done < PIECE ? memory->left / size - done : PIECE;
		if (place_read(target, memory, 0, done * size, bytes, n * size, why) ||
		    !trn_inspect_numbers(memory->dtype, bytes, n, number))
			return false;
		for (i = 0; i < n && !isnan(number[i]); i++)
			;
		*element = done + i;
		if (i < n)
			return true;
	}
	return false;
}

/* Transfers bring NaNs of inputs in, and stop nobody. */
static void put_inputs_with_nan(const struct target *target, FILE *out)
{
	const struct neff *neff = target->neff;
	struct memory memory;
	char why[TARGET_WHY];
	uint64_t element;
	unsigned int g;
	size_t i;

	for (i = 0; i < neff->nr_ios; i++) {
		const char *name = neff->ios[i]->name;

		for (g = 0; g < neff->nr_graphs && !neff_find_var(&neff->graphs[g], name); g++)
			;
		if (neff->ios[i]->type != NEFF_VAR_INPUT || g == neff->nr_graphs ||
		    place_variable(target, g, name, &memory, why) ||
		    trn_inspect_kind_of(memory.dtype) != TRN_INSPECT_FLOAT)
			continue;
		if (find_nan(target, &memory, &element))
			fprintf(out, "       the input \"%s\" has a NaN in element %" PRIu64 "\n",
				name, element);
	}
}

static void put_nan(const struct target *target, FILE *out)
{
	const struct stop *stop = &target->stop;
	const struct trn_observe_nan *nan = &stop->nan;
	char name[16], graph[16] = "";

	if (target->neff->nr_graphs > 1)
		snprintf(graph, sizeof(graph), "@%u", stop->where.graph);
	fprintf(out, "Breakpoint %u, %s: %s, instruction %u has left one in %s%s[%u, %u]: ",
		stop->breakpoint, what_of(target, stop->breakpoint),
		show_engine_name(target, stop->where, name), stop->pc,
		nan->psum ? "psum" : "sbuf", graph, nan->partition, nan->offset);
	fprintf(out, "element %u of row %u of its tile, %" PRIu64 " NaN%s of %" PRIu64 " numbers\n",
		nan->element, nan->row, nan->count, nan->count == 1 ? "" : "s", nan->elements);
	put_code(target, (struct code){ stop->where, stop->pc }, "  ", out);
	put_inputs_with_nan(target, out);
}

static void put_reason(const struct target *target, FILE *out)
{
	const struct stop *stop = &target->stop;
	char name[16];

	switch (stop->reason) {
	case STOP_ENTRY:
		fputs("Before the first instruction.\n", out);
		break;
	case STOP_BREAKPOINT:
		fprintf(out, "Breakpoint %u, %s: %s\n", stop->breakpoint,
			show_engine_name(target, stop->where, name),
			what_of(target, stop->breakpoint));
		break;
	case STOP_WATCHPOINT:
		fprintf(out, "Watchpoint %u, %s: ", stop->breakpoint,
			what_of(target, stop->breakpoint));
		put_writer(target, stop, out);
		break;
	case STOP_SEMAPHORE:
		fprintf(out, "Semaphore breakpoint %u, %s: from %d to %d\n", stop->breakpoint,
			what_of(target, stop->breakpoint), stop->before, stop->value);
		break;
	case STOP_NAN:
		put_nan(target, out);
		break;
	case STOP_FAULT:
		put_fault(target, out);
		break;
	case STOP_PAUSE:
		fputs("Interrupted.\n", out);
		break;
	case STOP_STUCK:
		fputs("Nothing can go on:\n", out);
		show_where(target, out);
		break;
	case STOP_END:
		fputs("The program has ended.\n", out);
		break;
	default:
		break;
	}
}

void show_stop(const struct target *target, FILE *out)
{
	struct trn_inspect_engine_state state;
	char name[16];

	put_reason(target, out);
	if (target->stop.reason == STOP_END || target->stop.reason == STOP_STUCK ||
	    !target_engine(target, target->selected, &state) ||
	    state.status == NEURON_ENGINE_HALTED)
		return;
	fprintf(out, "%s ", show_engine_name(target, target->selected, name));
	put_code(target, (struct code){ target->selected, state.pc }, "", out);
}

/* --- Engines --- */

static int32_t semaphore(const struct target *target, unsigned int graph, unsigned int sem)
{
	int32_t value = 0;

	trn_inspect_semaphore(target->chip, target->unit[graph], sem, &value, NULL);
	return value;
}

static void put_wait(const struct target *target, struct where where,
		     const struct trn_inspect_engine_state *state, FILE *out)
{
	bool equal = NEURON_GET(NEURON_SYNC_WAIT, state->inst.sync) == NEURON_SYNC_WAIT_EQ;

	if (state->wait & NEURON_CORE_WAIT_EVENT) {
		fprintf(out, "waits for event %u", state->wait & ~NEURON_CORE_WAIT_EVENT);
		return;
	}
	fprintf(out, "waits for semaphore %u %s %d, which is %d", state->wait,
		equal ? "==" : ">=", (int32_t)state->inst.wait_value,
		semaphore(target, where.graph, state->wait));
}

void show_state(const struct target *target, struct where where,
		const struct trn_inspect_engine_state *state, FILE *out)
{
	if (state->status == NEURON_ENGINE_WAITING)
		put_wait(target, where, state, out);
	else if (state->status == NEURON_ENGINE_HALTED)
		fputs("has halted", out);
	else
		fputs("runs", out);
}

static bool posts(const struct neuron_inst *inst, unsigned int sem)
{
	return NEURON_GET(NEURON_SYNC_POST, inst->sync) != NEURON_SYNC_POST_NONE &&
	       inst->post_sem == sem;
}

/* Instructions of an engine that post the semaphore; those that come next are first. */
static unsigned int put_posters(const struct target *target, struct where who, unsigned int sem,
				unsigned int room, FILE *out)
{
	struct trn_inspect_engine_state state = { .pc = 0 };
	uint32_t count, i;
	unsigned int n = 0;
	char name[16];

	if (!target_engine(target, who, &state) || state.status == NEURON_ENGINE_HALTED)
		return 0;
	count = target->neff->graphs[who.graph].image_count[who.engine];
	for (i = 0; i < count && n < room; i++) {
		struct code code = { who, (state.pc + i) % count };
		struct neuron_inst inst;

		if (!fetch(target, code, &inst) || !posts(&inst, sem))
			continue;
		fprintf(out, "              %s posts it ", show_engine_name(target, who, name));
		put_code(target, code, "at", out);
		n++;
	}
	return n;
}

/* Transfers that post it when their bytes have landed. */
static unsigned int put_transfers(const struct target *target, unsigned int graph,
				  unsigned int sem, FILE *out)
{
	const struct neff_graph *g = &target->neff->graphs[graph];
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < g->nr_descs; i++)
		n += g->descs[i].semaphore == (int)sem;
	if (n)
		fprintf(out, "              %u transfers of its queues post it\n", n);
	return n;
}

static void put_who_should(const struct target *target, struct where where,
			   const struct trn_inspect_engine_state *state, FILE *out)
{
	unsigned int n = 0;
	struct where who = { .graph = where.graph };

	if (state->status != NEURON_ENGINE_WAITING || state->wait & NEURON_CORE_WAIT_EVENT)
		return;
	for (who.engine = 0; who.engine < NEURON_NR_ENGINES && n < MOST_POSTERS; who.engine++)
		if (who.engine != where.engine)
			n += put_posters(target, who, state->wait, MOST_POSTERS - n, out);
	n += put_transfers(target, where.graph, state->wait, out);
	if (!n)
		fputs("              nobody of the program posts it any more\n", out);
}

void show_where(const struct target *target, FILE *out)
{
	struct trn_inspect_engine_state state;
	struct where at;
	char name[16];

	for (at.graph = 0; at.graph < target->neff->nr_graphs; at.graph++) {
		for (at.engine = 0; at.engine < NEURON_NR_ENGINES; at.engine++) {
			bool here = at.graph == target->selected.graph &&
				    at.engine == target->selected.engine;

			if (!target_engine(target, at, &state))
				continue;
			fprintf(out, "%s %-9s ", here ? "*" : " ",
				show_engine_name(target, at, name));
			show_state(target, at, &state, out);
			fprintf(out, "; %" PRIu64 " instructions done\n", state.retired);
			if (state.status == NEURON_ENGINE_HALTED)
				continue;
			put_code(target, (struct code){ at, state.pc }, "            ", out);
			put_who_should(target, at, &state, out);
		}
	}
}

void show_registers(const struct target *target, FILE *out)
{
	struct trn_inspect_engine_state state;
	unsigned int i;
	char name[16];

	if (!target_engine(target, target->selected, &state)) {
		fputs("The program has not begun.\n", out);
		return;
	}
	fprintf(out, "%s: pc %u", show_engine_name(target, target->selected, name), state.pc);
	for (i = 1; i < NEURON_NR_REGS; i++)
		if (state.reg[i])
			fprintf(out, ", r%u %u (0x%x)", i, state.reg[i], state.reg[i]);
	fputs("; the others are 0\n", out);
}

static void put_poster(const struct target *target, uint32_t poster, FILE *out)
{
	uint32_t who = NEURON_GET(NEURON_SEM_POSTER_WHO, poster);

	(void)target;
	switch (NEURON_GET(NEURON_SEM_POSTER_KIND, poster)) {
	case NEURON_SEM_POSTER_ENGINE:
		fprintf(out, ", last by %s", trn_inspect_engine_name(who));
		break;
	case NEURON_SEM_POSTER_DMA:
		fprintf(out, ", last by DMA engine %u, queue %u", neuron_record_queue_engine(who),
			neuron_record_queue_index(who));
		break;
	case NEURON_SEM_POSTER_HOST:
		fputs(", last by the host", out);
		break;
	default:
		break;
	}
}

void show_semaphores(const struct target *target, FILE *out)
{
	unsigned int sem, n = 0;
	uint32_t poster;
	int32_t value;

	for (sem = 0; target->chip && sem < NEURON_NR_SEMAPHORES; sem++) {
		if (!trn_inspect_semaphore(target->chip, target->unit[target->selected.graph],
					   sem, &value, &poster) || !value)
			continue;
		fprintf(out, "semaphore %u is %d", sem, value);
		put_poster(target, poster, out);
		fputc('\n', out);
		n++;
	}
	fprintf(out, "%s are 0\n", n ? "the others" : "all semaphores");
}

/* --- Lists --- */

void show_breakpoints(const struct target *target, FILE *out)
{
	static const char *const kinds[] = {
		[BREAK_CODE] = "break",
		[BREAK_WRITE] = "watch",
		[BREAK_SEMAPHORE] = "semaphore",
		[BREAK_NAN] = "nan",
	};
	size_t i;

	if (!target->nr_breakpoints)
		fputs("There are no breakpoints.\n", out);
	for (i = 0; i < target->nr_breakpoints; i++) {
		const struct breakpoint *b = &target->breakpoints[i];

		fprintf(out, "%3u  %-9s  %s", b->id, kinds[b->kind], b->what);
		if (b->kind == BREAK_CODE && b->nr_code > 1)
			fprintf(out, ", %zu places", b->nr_code);
		fprintf(out, ", hit %" PRIu64 " times\n", b->hits);
	}
}

void show_checkpoints(const struct target *target, FILE *out)
{
	size_t i;

	for (i = 0; i < target->nr_checkpoints; i++) {
		const struct checkpoint *c = &target->checkpoints[i];

		fprintf(out, "%3u  after %" PRIu64 " instructions, %zu bytes\n", c->id,
			target_total(&c->position), c->size);
	}
}

void show_code(const struct target *target, unsigned int count, FILE *out)
{
	struct trn_inspect_engine_state state = { .pc = 0 };
	uint32_t first, pc;

	target_engine(target, target->selected, &state);
	first = state.pc > count / 2 ? state.pc - count / 2 : 0;
	for (pc = first; pc < first + count; pc++)
		put_code(target, (struct code){ target->selected, pc },
			 pc == state.pc ? "=>" : "  ", out);
}

void show_source(const struct target *target, FILE *out)
{
	struct trn_inspect_engine_state state = { .pc = 0 };
	uint32_t line, n = 1;
	const char *source;
	char *text, *at;
	size_t size;

	target_engine(target, target->selected, &state);
	source = target_line(target, (struct code){ target->selected, state.pc }, &line);
	if (!source) {
		fputs("The NEFF does not say from which source this instruction is.\n", out);
		return;
	}
	text = source_read_file(source, &size);
	if (!text) {
		fprintf(out, "%s:%u: the file cannot be read\n", source, line);
		return;
	}
	for (at = text; *at && n <= line + SOURCE_AROUND; n++) {
		size_t length = strcspn(at, "\n");

		if (n + SOURCE_AROUND >= line)
			fprintf(out, "%s%5u  %.*s\n", n == line ? "=>" : "  ", n, (int)length, at);
		at += length + !!at[length];
	}
	free(text);
}

/* --- Memory --- */

/* Of a packed type an element has several. */
static void put_numbers(enum neuron_dtype dtype, bool hex, const uint8_t *bytes, FILE *out)
{
	size_t size = trn_inspect_size(dtype);
	double number[TRN_INSPECT_PACK];
	uint64_t bits = 0;
	unsigned int i;

	memcpy(&bits, bytes, size);
	if (!hex && trn_inspect_numbers(dtype, bytes, 1, number))
		for (i = 0; i < trn_inspect_per_element(dtype); i++)
			fprintf(out, " %11.7g", number[i]);
	else if (!hex && dtype == NEURON_DTYPE_INT64)
		fprintf(out, " %11" PRId64, (int64_t)bits);
	else if (!hex && dtype == NEURON_DTYPE_UINT64)
		fprintf(out, " %11" PRIu64, bits);
	else
		fprintf(out, " 0x%0*" PRIx64, (int)size * 2, bits);
}

static int put_row(const struct target *target, const struct memory *memory,
		   enum neuron_dtype dtype, bool hex, unsigned int row, unsigned int count,
		   FILE *out, char why[TARGET_WHY])
{
	unsigned int per_line = PER_LINE, i;
	size_t size = trn_inspect_size(dtype);
	uint8_t *bytes = malloc(size * count);
	int ret;

	if (!bytes) {
		snprintf(why, TARGET_WHY, "no memory");
		return -1;
	}
	if (!hex && trn_inspect_per_element(dtype))
		per_line /= trn_inspect_per_element(dtype);
	ret = place_read(target, memory, row, 0, bytes, size * count, why);
	for (i = 0; i < count && !ret; i++) {
		if (i % per_line == 0 && memory->pitch)
			fprintf(out, "%s%4u %4u:", i ? "\n" : "", memory->first + row, i);
		else if (i % per_line == 0)
			fprintf(out, "%s%6u:", i ? "\n" : "", i);
		put_numbers(dtype, hex, bytes + i * size, out);
	}
	if (!ret)
		fputc('\n', out);
	free(bytes);
	return ret;
}

int show_memory(const struct target *target, const struct memory *memory, enum neuron_dtype dtype,
		bool hex, unsigned int count, FILE *out, char why[TARGET_WHY])
{
	unsigned int row;

	for (row = 0; row < memory->rows; row++)
		if (put_row(target, memory, dtype, hex, row, count, out, why))
			return -1;
	return 0;
}
