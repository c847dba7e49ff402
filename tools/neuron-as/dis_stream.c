// SPDX-License-Identifier: MIT
/* Instructions and transfers. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "chip/isa/trn_isa.h"
#include "dis.h"

/* The stream of one engine. */
struct stream {
	struct dis *dis;
	enum neuron_engine engine;
	const struct neuron_inst *image;
	uint32_t count;
	uint32_t pc;
	const struct neff_desc *desc;	/* the next transfer */
	size_t nr_descs;
	size_t done;
};

/* Make the assembler say that the next line is from this file. */
static void put_source(struct dis *dis, const char *source)
{
	bool same = source && dis->source ? !strcmp(source, dis->source) : source == dis->source;

	if (dis->source_said && same)
		return;
	fputs(".source ", dis->out);
	if (source)
		dis_string(dis, source);
	else
		fputs("off", dis->out);
	dis_newline(dis);
	dis->source = source;
	dis->source_said = true;
}

/* Make the assembler give the next line this debug field. */
static void put_line(struct dis *dis, uint32_t debug)
{
	if (!debug) {
		if (!dis->line_off)
			dis_line(dis, ".line off");
		dis->line_off = true;
		return;
	}
	if (!dis->line_off && dis->line + dis->line_shift == debug)
		return;
	dis_line(dis, ".line %" PRIu32, debug);
	dis->line_off = false;
	dis->line_shift = debug - dis->line;
}

/* Where the instruction at the stream's pc is from. With debug 0 no file matters. */
static void put_place(const struct stream *stream, const struct neuron_inst *inst)
{
	uint32_t debug = le32toh(inst->debug), line;
	struct dis *dis = stream->dis;

	if (debug)
		put_source(dis, neff_debug_line(dis->graph, stream->engine, stream->pc, &line));
	put_line(dis, debug);
}

/* Exactly these bytes: what no instruction of this engine is. Their line is among them. */
static void put_words(const struct stream *stream, const struct neuron_inst *inst)
{
	const uint8_t *bytes = (const uint8_t *)inst;
	struct dis *dis = stream->dis;
	uint64_t word;
	unsigned int i;
	uint32_t line;

	if (inst->debug)
		put_source(dis, neff_debug_line(dis->graph, stream->engine, stream->pc, &line));
	fputs("\t.inst", dis->out);
	for (i = 0; i < NEURON_INST_SIZE; i += 8) {
		memcpy(&word, bytes + i, 8);
		fprintf(dis->out, "%s 0x%" PRIx64, i ? "," : "", le64toh(word));
	}
	dis_newline(dis);
}

static void put_shape(struct dis *dis, const struct neff_side *side, unsigned int ndim)
{
	uint64_t inner[NEFF_MAX_DESC_DIMS] = { 1 };
	unsigned int i;

	for (i = 1; i < ndim; i++)
		inner[i] = inner[i - 1] * side->size[i - 1];
	for (i = ndim; i-- > 0;) {
		fprintf(dis->out, "%" PRIu64, side->size[i]);
		if (side->step[i] < 0 || (uint64_t)side->step[i] != inner[i])
			fprintf(dis->out, "@%" PRId64, side->step[i]);
		if (i)
			fputc('*', dis->out);
	}
}

static bool is_partitions(const struct neff_side *side)
{
	unsigned int last = side->ndim - 1;

	return last && side->step[last] == NEURON_TPB_SBUF_STRIDE &&
	       side->offset / NEURON_TPB_SBUF_STRIDE + side->size[last] <= 128;
}

void dis_side(struct dis *dis, const struct neff_side *side)
{
	const struct neff_var *var = &dis->graph->vars[side->var];
	uint64_t first = side->offset / NEURON_TPB_SBUF_STRIDE;
	unsigned int ndim = side->ndim;

	if (var->type == NEFF_VAR_STATE && is_partitions(side)) {
		ndim--;
		fprintf(dis->out, "sbuf[%" PRIu64 ":%" PRIu64 ", 0x%" PRIx64 " : ", first,
			first + side->size[ndim], side->offset % NEURON_TPB_SBUF_STRIDE);
	} else {
		if (var->type == NEFF_VAR_STATE)
			fputs("sbuf", dis->out);
		else
			dis_name(dis, var->name);
		fprintf(dis->out, "[0x%" PRIx64 " : ", side->offset);
	}
	put_shape(dis, side, ndim);
	fputc(']', dis->out);
}

bool dis_side_fits(const struct neff_side *side)
{
	unsigned int i;

	for (i = 0; i < side->ndim; i++)
		if (side->size[i] > UINT32_MAX)
			return false;
	return side->step[0] == 1;
}

/* The synchronisation as it is written after any instruction. */
static void put_sync(struct dis *dis, const struct neuron_inst *inst)
{
	struct neuron_inst nop = {
		.opcode = NEURON_OP_NOP,
		.sync = inst->sync,
		.wait_sem = inst->wait_sem,
		.wait_value = inst->wait_value,
		.post_sem = inst->post_sem,
		.post_value = inst->post_value,
	};
	char text[TRN_ISA_TEXT_MAX];

	trn_isa_format(text, sizeof(text), &nop);
	fputs(text + strlen("nop"), dis->out);
}

/* Is @inst just what the builder makes of the next transfer, NOPs included? */
static bool is_trigger(const struct stream *stream, const struct neuron_inst *inst)
{
	const struct neff_set *set = &stream->dis->graph->sets[stream->desc->set];
	const struct neuron_inst filler = { .opcode = NEURON_OP_NOP };
	struct neuron_inst plain = *inst, want = { 0 };
	uint32_t i;

	want.opcode = NEURON_OP_PSEUDO_DMA_TRIGGER;
	want.addr = htole64(stream->desc->id);
	want.reg[0] = set->index & 0xff;
	want.reg[1] = set->index >> 8;
	want.sync = inst->sync;
	want.wait_sem = inst->wait_sem;
	want.wait_value = inst->wait_value;
	want.post_sem = inst->post_sem;
	want.post_value = inst->post_value;
	want.debug = inst->debug;
	if (memcmp(inst, &want, sizeof(want)) || set->num > stream->count - stream->pc)
		return false;
	for (i = 1; i < set->num; i++)
		if (memcmp(inst + i, &filler, sizeof(filler)))
			return false;
	/* Only a well-formed synchronisation has a spelling. */
	plain.opcode = NEURON_OP_NOP;
	plain.addr = 0;
	memset(plain.reg, 0, sizeof(plain.reg));
	return trn_isa_check(&plain, NEURON_NR_ENGINES) == NEURON_CAUSE_NONE;
}

/* The type of the destination comes first, then that of the sources. */
void dis_op(struct dis *dis, enum neuron_udma_opcode op, enum neuron_dtype to,
	    enum neuron_dtype from)
{
	static const char *const names[NEURON_UDMA_NR_OPS] = {
		[NEURON_UDMA_OP_COPY] = "cast",
		[NEURON_UDMA_OP_ADD] = "add",
		[NEURON_UDMA_OP_FMA] = "fma",
		[NEURON_UDMA_OP_MAX] = "max",
		[NEURON_UDMA_OP_MIN] = "min",
		[NEURON_UDMA_OP_TRANSPOSE] = "transpose",
	};

	fprintf(dis->out, ".%s.%s", names[op], trn_isa_dtype_name(to));
	if (from != to)
		fprintf(dis->out, ".%s", trn_isa_dtype_name(from));
}

/* All have one pattern. */
static void put_sources(struct dis *dis, const struct neff_desc *desc)
{
	const struct neff_op *op = desc->op;
	struct neff_side side = desc->from;
	unsigned int i;

	for (i = 0; i < op->nr_sources; i++) {
		side.var = op->sources[i].var;
		side.offset = op->sources[i].offset;
		if (i)
			fputs(" + ", dis->out);
		dis_side(dis, &side);
		if (op->opcode == NEURON_UDMA_OP_FMA)
			fprintf(dis->out, " scale 0x%" PRIx32, op->sources[i].scale);
	}
	if (op->has_constant)
		fprintf(dis->out, " const 0x%" PRIx32, op->constant);
}

static bool put_dma(struct stream *stream, const struct neuron_inst *inst)
{
	const struct neff_desc *desc = stream->desc;
	const struct neff_set *set = &stream->dis->graph->sets[desc->set];
	struct dis *dis = stream->dis;
	unsigned int i;

	if (desc->first_queue)
		return dis_fail(dis, "%s engine: transfer %u has section_start_desc",
				neff_engine_name(stream->engine), desc->id);
	if (!dis_side_fits(&desc->from) || !dis_side_fits(&desc->to))
		return dis_fail(dis, "%s engine: transfer %u is not contiguous or too large",
				neff_engine_name(stream->engine), desc->id);
	put_place(stream, inst);
	fputs("\t.dma", dis->out);
	if (desc->op)
		dis_op(dis, desc->op->opcode, desc->op->to_dtype, desc->op->from_dtype);
	fputc(' ', dis->out);
	dis_name(dis, set->name);
	fputs(", ", dis->out);
	dis_side(dis, &desc->to);
	fputs(", ", dis->out);
	if (desc->op)
		put_sources(dis, desc);
	else
		dis_side(dis, &desc->from);
	if (desc->semaphore >= 0)
		fprintf(dis->out, ", s%d", desc->semaphore);
	for (i = 0; i < desc->nr_remotes; i++)
		fprintf(dis->out, ", remote s%u", desc->remote[i]);
	put_sync(dis, inst);
	dis_newline(dis);
	stream->pc += set->num;
	stream->desc++;
	stream->done++;
	return true;
}

/* The line of a source, once for all instructions behind each other that are from it. */
static void note_place(const struct stream *stream)
{
	const struct as_dump *how = stream->dis->how;
	struct dis *dis = stream->dis;
	uint32_t line = 0;
	const char *source = neff_debug_line(dis->graph, stream->engine, stream->pc, &line);
	const char *text = NULL;
	size_t length = 0;

	if (!source || (dis->place == source && dis->place_line == line))
		return;
	dis->place = source;
	dis->place_line = line;
	if (how->line)
		text = how->line(how->context, source, line, &length);
	if (text)
		dis_line(dis, "# %s:%" PRIu32 ": %.*s", source, line, (int)length, text);
	else
		dis_line(dis, "# %s:%" PRIu32, source, line);
}

static void note_bytes(struct dis *dis, const struct neuron_inst *inst)
{
	const uint8_t *bytes = (const uint8_t *)inst;
	unsigned int i;

	for (i = 0; i < NEURON_INST_SIZE; i++) {
		if (i % 32 == 0)
			fprintf(dis->out, "#  %02x:", i);
		fprintf(dis->out, "%s%02x", i % 8 ? "" : " ", bytes[i]);
		if (i % 32 == 31)
			dis_newline(dis);
	}
}

/* Comments stand before the line, so that its number is known when it is written. */
static void put_notes(const struct stream *stream, const struct neuron_inst *inst)
{
	const struct as_dump *how = stream->dis->how;

	if (how->places)
		note_place(stream);
	if (how->indexes || how->bytes)
		dis_line(stream->dis, "# %s %" PRIu32, neff_engine_name(stream->engine),
			 stream->pc);
	if (how->bytes)
		note_bytes(stream->dis, inst);
}

/* neuron-as makes it of its text. */
static bool has_text(const struct stream *stream, const struct neuron_inst *inst)
{
	char rule[NB_RULE_MAX];

	return trn_isa_check(inst, stream->engine) == NEURON_CAUSE_NONE &&
	       nb_fits(0, stream->engine, inst, rule, sizeof(rule));
}

static bool put_inst(struct stream *stream)
{
	const struct neuron_inst *inst = &stream->image[stream->pc];
	struct dis *dis = stream->dis;
	char text[TRN_ISA_TEXT_MAX];

	put_notes(stream, inst);
	if (stream->done < stream->nr_descs && stream->desc->id == stream->done &&
	    is_trigger(stream, inst))
		return put_dma(stream, inst);
	if (!has_text(stream, inst)) {
		put_words(stream, inst);
		stream->pc++;
		return true;
	}
	put_place(stream, inst);
	trn_isa_format(text, sizeof(text), inst);
	dis_line(dis, "\t%s", text);
	stream->pc++;
	return true;
}

static bool put_stream(struct stream *stream)
{
	const char *name = neff_engine_name(stream->engine);

	dis_newline(stream->dis);
	dis_line(stream->dis, ".engine %s", name);
	while (stream->pc < stream->count)
		if (!put_inst(stream))
			return false;
	if (stream->done < stream->nr_descs)
		return dis_fail(stream->dis, "%s engine: transfer %u is not triggered in its turn",
				name, stream->desc->id);
	return true;
}

bool dis_streams(struct dis *dis)
{
	const struct neff_graph *graph = dis->graph;
	size_t first = 0;
	bool empty = true;
	unsigned int e;

	for (e = 0; e < NEURON_NR_ENGINES; e++)
		empty &= !graph->image_count[e];
	if (empty)
		dis_line(dis, ".empty");
	for (e = 0; e < NEURON_NR_ENGINES; e++) {
		struct stream stream = {
			.dis = dis,
			.engine = e,
			.image = graph->image[e],
			.count = graph->image_count[e],
			.desc = graph->nr_descs ? &graph->descs[first] : NULL,
		};

		while (first < graph->nr_descs && graph->descs[first].engine == e) {
			stream.nr_descs++;
			first++;
		}
		if (stream.count && dis_wants(dis, AS_SECTION_ENGINE + e) &&
		    !put_stream(&stream))
			return false;
	}
	return true;
}
