/* SPDX-License-Identifier: MIT */
/* Inside of the disassembler. */
#ifndef AS_DIS_H
#define AS_DIS_H

#include <stdio.h>

#include "as.h"
#include "neff/neff.h"

/**
 * struct dis - a NEFF on its way to text
 * @graph: the subgraph that is written
 * @line: number of the line that is written next
 * @line_shift, @line_off: what .line has said, as the assembler counts
 * @source: what .source has said; NULL: off
 * @source_said: it has
 * @how: what is wanted
 * @place, @place_line: what the last comment about a place has said
 * @known, @nr_known: the builder's own variables, for dis_dge.c; NULL: none yet
 * @error: one line when something cannot be written
 */
struct dis {
	const struct neff *neff;
	const struct neff_graph *graph;
	FILE *out;
	uint32_t line;
	uint32_t line_shift;
	bool line_off;
	const char *source;
	bool source_said;
	const struct as_dump *how;
	const char *place;
	uint32_t place_line;
	struct nb_program *known;
	size_t nr_known;
	char *error;
};

/* This part is written. */
static inline bool dis_wants(const struct dis *dis, unsigned int section)
{
	return !dis->how->sections || dis->how->sections & NEURON_BIT(section);
}

bool dis_fail(struct dis *dis, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A whole line; @format has no newline. */
void dis_line(struct dis *dis, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dis_newline(struct dis *dis);
/* A name as the assembler reads it, quoted where it must be. */
void dis_name(struct dis *dis, const char *name);
/* The same, always quoted. */
void dis_string(struct dis *dis, const char *name);

/* dis_head.c: everything but the streams. */
bool dis_head(struct dis *dis);
/* dis_stream.c */
bool dis_streams(struct dis *dis);
/* One end of a transfer; what is computed, as the end of .dma or .dge. */
void dis_side(struct dis *dis, const struct neff_side *side);
/* Can the assembler say it? */
bool dis_side_fits(const struct neff_side *side);
void dis_op(struct dis *dis, enum neuron_udma_opcode op, enum neuron_dtype to,
	    enum neuron_dtype from);
/* dis_dge.c: write a .dge line, if there is one that makes just these bytes. */
bool dis_dge(struct dis *dis, const struct neff_var *var);
/* dis_collective.c: a .collective line; and whether there is one for each collective. */
bool dis_collective(struct dis *dis, const struct neff_var *var);
bool dis_all_started(struct dis *dis);
/* The variables of this subgraph are done with. */
void dis_forget_vars(struct dis *dis);

#endif /* AS_DIS_H */
