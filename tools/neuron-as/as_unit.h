/* SPDX-License-Identifier: MIT */
/* Inside of an assembly; shared by the files of the assembler. */
#ifndef AS_UNIT_H
#define AS_UNIT_H

#include <stdint.h>
#include <string.h>

#include "as.h"

struct trn_isa;

/* Single characters stand for themselves. */
enum as_token_kind {
	AS_END = 0,
	AS_NAME = 256,
	AS_INT,
	AS_FLOAT,
	AS_STRING,
	AS_GE,		/* >= */
	AS_EQ,		/* == */
	AS_ADD,		/* += */
	AS_SUB,		/* -= */
};

/**
 * struct as_token - a word of a line
 * @kind: enum as_token_kind or a character
 * @column: from 1
 * @text, @len: in the source; a string without its quotes, escapes as they are
 * @value: INT
 * @hex: INT: was written in hexadecimal
 */
struct as_token {
	int kind;
	unsigned int column;
	const char *text;
	size_t len;
	uint64_t value;
	bool hex;
};

/**
 * struct as_origin - what has brought lines into the program: an .include, or a macro's use
 * @refs: of texts, of origins and of branches
 * @file, @line: where it stands
 * @macro: the macro; NULL: an .include
 * @outer: what has brought that line; NULL: it is in a source
 */
struct as_origin {
	unsigned long refs;
	const char *file;
	unsigned int line;
	const struct as_macro *macro;
	struct as_origin *outer;
};

/* A place for a complaint. */
struct as_place {
	const char *file;
	unsigned int line;
	unsigned int column;
	struct as_origin *origin;
};

#define AS_MAX_PARAMS	32

/* What stands for \name in a macro: an argument, or with @local a name of each use. */
struct as_param {
	char *name;
	char *value;	/* without an argument; NULL: there must be one */
	bool local;
};

/**
 * struct as_macro - a macro
 * @name: as it is used
 * @param, @nr_params: parameters, local names behind the others
 * @file, @line: of its .macro; the next line is the first of @body
 * @body, @size: its lines
 */
struct as_macro {
	char *name;
	struct as_param param[AS_MAX_PARAMS];
	unsigned int nr_params;
	const char *file;
	unsigned int line;
	char *body;
	size_t size;
};

/**
 * struct as_frame - a text while another one is read, which it includes or uses
 * @at, @end, @line: see struct as_unit
 * @file: the text is from this one
 * @owned: its memory; NULL: the caller's
 * @origin: what has brought it
 * @nr_rept, @nr_conds: how many were open when it began
 * @source, @line_shift, @line_off: see struct as_unit; of the file around
 * @included: it is a file of its own: these three end with it
 */
struct as_frame {
	const char *at;
	const char *end;
	unsigned int line;
	const char *file;
	char *owned;
	struct as_origin *origin;
	unsigned int nr_rept;
	unsigned int nr_conds;
	char *source;
	uint32_t line_shift;
	bool line_off;
	bool included;
};

/* Whose names they are; labels belong to an engine. */
enum as_scope {
	AS_SCOPE_SYMBOL,
	AS_SCOPE_MACRO,
	AS_SCOPE_SEM,
	AS_SCOPE_LABEL,		/* + enum neuron_engine */
	AS_NR_SCOPES = AS_SCOPE_LABEL + NEURON_NR_ENGINES
};

/* A name's meaning; of a symbol with @is_float the fp32 bits. */
struct as_entry {
	int scope;
	char *name;
	size_t len;
	__int128 value;
	bool is_float;
	uint32_t bits;
	struct as_macro *macro;
};

/* A branch to a label that may come later. */
struct as_fixup {
	enum neuron_engine engine;
	uint32_t index;
	struct as_place place;
	char *name;
};

/* An open .rept; the body begins at @body. @nr_conds: open when it began. */
struct as_rept {
	const char *body;
	unsigned int body_line;
	unsigned int line;
	uint64_t count;
	uint64_t done;
	char *symbol;
	unsigned int nr_conds;
};

/* An open .if. @nr_rept: open when it began. */
struct as_cond {
	unsigned int line;
	unsigned int nr_rept;
	bool has_else;
};

#define AS_MAX_REPT	16
#define AS_MAX_CONDS	64
#define AS_MAX_FRAMES	64
/* More instructions than the table has, and a power of two. */
#define AS_ISA_SLOTS	1024

/* An open .file: its contents follow. */
struct as_data {
	char *name;
	struct as_place place;
	uint8_t *bytes;
	size_t size;
	size_t room;
};

/**
 * struct as_unit - one program
 * @program: all of it
 * @nb: what lines are added to: @program, or its part for the second core
 * @sources, @nr_sources: that have not begun
 * @at, @end: what is left of the text that is read
 * @line: number of the line that is executed
 * @file: the file in which it stands
 * @origin: what has brought the text; NULL: it is a source
 * @frame, @nr_frames: that text, behind those around it
 * @files, @nr_files: names of included files
 * @expanded: bytes that macros have become
 * @uses: of macros
 * @isa: opcodes by a hash of their names; 0: free
 * @tokens, @nr_tokens, @token_room, @next: the line's words; the last is AS_END
 * @engine: stream that instructions go to; -1: none yet
 * @empty: that no stream has an instruction is no mistake
 * @symbols, @names: tsearch() trees of struct as_entry: symbols and macros, and what belongs to
 *	a core
 * @sem_used: a semaphore is named by number
 * @source: name of the source in the debug file; NULL: there is none
 * @line_shift: .line: added to a line number to make the debug field
 * @line_off: .line off: the debug field is 0
 * @dead: no use going on
 */
struct as_unit {
	const struct as_options *options;
	struct nb_program *program;
	struct nb_program *nb;
	const struct as_source *sources;
	size_t nr_sources;
	const char *at;
	const char *end;
	unsigned int line;
	const char *file;
	struct as_origin *origin;
	struct as_frame frame[AS_MAX_FRAMES];
	unsigned int nr_frames;
	char **files;
	size_t nr_files;
	size_t expanded;
	unsigned long uses;
	unsigned long statements;
	unsigned long max_statements;
	uint8_t isa[AS_ISA_SLOTS];
	struct as_token *tokens;
	size_t nr_tokens;
	size_t token_room;
	size_t next;
	int engine;
	bool empty;
	void *symbols;
	void *names;
	struct as_fixup *fixups;
	size_t nr_fixups;
	size_t fixup_room;
	struct as_rept rept[AS_MAX_REPT];
	unsigned int nr_rept;
	struct as_cond cond[AS_MAX_CONDS];
	unsigned int nr_conds;
	struct as_data data;
	unsigned int nr_sems;
	bool sem_used[256];
	char *source;
	uint32_t line_shift;
	bool line_off;
	unsigned int errors;
	bool dead;
};

/* Complaints; all return false so that a parser can return them. */
bool as_error_at(struct as_unit *unit, unsigned int line, unsigned int column,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
bool as_error(struct as_unit *unit, const struct as_token *token, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool as_error_place(struct as_unit *unit, const struct as_place *place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void as_warning(struct as_unit *unit, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool as_memory(struct as_unit *unit);
/* "expected WHAT instead of ..." at the next word. */
bool as_expected(struct as_unit *unit, const char *what);

/* as_lex.c: cut the next line, or report why not. */
bool as_lex_line(struct as_unit *unit);

/* The next word of the line. */
static inline const struct as_token *as_peek(const struct as_unit *unit)
{
	return &unit->tokens[unit->next];
}

/* The same, which is behind then. */
static inline const struct as_token *as_take(struct as_unit *unit)
{
	const struct as_token *token = as_peek(unit);

	if (token->kind != AS_END)
		unit->next++;
	return token;
}

/* Take the next word if it is of this kind. */
static inline bool as_accept(struct as_unit *unit, int kind)
{
	if (as_peek(unit)->kind != kind)
		return false;
	as_take(unit);
	return true;
}

bool as_expect(struct as_unit *unit, int kind, const char *what);

static inline bool as_token_is(const struct as_token *token, const char *word)
{
	return token->kind == AS_NAME && strlen(word) == token->len &&
	       !memcmp(token->text, word, token->len);
}

/* The word is @letter and a decimal number, as registers are written. */
bool as_numbered(const struct as_token *token, char letter, uint32_t *number);
/* A copy of a name or string, escapes resolved; NULL: memory. */
char *as_token_copy(const struct as_token *token);
/* Take a name or a string; NULL after a complaint. The caller frees. */
char *as_take_name(struct as_unit *unit, const char *what);
/* Take a name that stands for itself in expressions: no register and the like. */
const struct as_token *as_take_own_name(struct as_unit *unit, const char *what);

/* as_unit.c: the lines for the first core end, and those for the second begin. */
bool as_second_core(struct as_unit *unit);

/* as_source.c: the text around the one that is read, or the next source; false: there is none. */
bool as_next_text(struct as_unit *unit);
/* Read @text, which is freed then, before what follows; @macro: it is what this has become. */
bool as_push_text(struct as_unit *unit, char *text, size_t size, const char *file,
		  unsigned int line, const struct as_macro *macro);
bool as_include(struct as_unit *unit);
/* Where the @column of the line is; to be released. */
struct as_place as_here(struct as_unit *unit, unsigned int column);
void as_release_origin(struct as_origin *origin);
/* The line that an instruction is from: of a macro's lines that of its use. */
uint32_t as_debug_line(const struct as_unit *unit);
/* @name as the file in which the line stands means it: beside that one, unless absolute. */
char *as_host_path(const struct as_unit *unit, const char *name);
void as_free_texts(struct as_unit *unit);

/**
 * struct as_block - lines that are not executed one by one
 * @open: directives that begin one, NULL terminated
 * @close: the one that ends it
 * @middle: one that may stand in between; NULL: there is none
 */
struct as_block {
	const char *const open[4];
	const char *close;
	const char *middle;
};

enum as_found { AS_FOUND_NOTHING, AS_FOUND_MIDDLE, AS_FOUND_CLOSE };

/* Past the line that ends the block, or with @middle that one; *@closing: its first byte. */
enum as_found as_skip_block(struct as_unit *unit, const struct as_block *block, bool middle,
			    const char **closing);

/* The line that as_lex_line() will cut has this directive. */
bool as_next_line_is(const struct as_unit *unit, const char *directive);

/* as_macro.c */
bool as_macro(struct as_unit *unit);
bool as_endm(struct as_unit *unit);
bool as_local(struct as_unit *unit);
const struct as_macro *as_find_macro(struct as_unit *unit, const struct as_token *name);
/* Go on with what the macro becomes; its name is the next word. */
bool as_use_macro(struct as_unit *unit, const struct as_macro *macro);
void as_free_macro(struct as_macro *macro);

/* as_cond.c */
bool as_if(struct as_unit *unit);
bool as_ifdef(struct as_unit *unit);
bool as_ifndef(struct as_unit *unit);
bool as_else(struct as_unit *unit);
bool as_endif(struct as_unit *unit);

/* as_names.c */
void as_index_isa(struct as_unit *unit);
/* The instruction of this name, or NULL. */
const struct trn_isa *as_find_isa(const struct as_unit *unit, const struct as_token *name);
struct as_entry *as_find(struct as_unit *unit, int scope, const char *name, size_t len);
struct as_entry *as_define(struct as_unit *unit, int scope, const char *name, size_t len);
/* Forget what belongs to a core: all but symbols. */
void as_forget_names(struct as_unit *unit);
void as_free_names(struct as_unit *unit);

/* as_expr.c: constant expressions, checked against a range. */
bool as_int(struct as_unit *unit, __int128 min, __int128 max, const char *what, __int128 *value);
bool as_uint(struct as_unit *unit, uint64_t max, const char *what, uint64_t *value);
/* Stored modulo 2^32. */
bool as_word(struct as_unit *unit, uint32_t *value);
/* A number, a symbol or an expression in parentheses. */
bool as_primary(struct as_unit *unit, __int128 min, __int128 max, const char *what,
		__int128 *value);
/* The bits of an fp32. */
bool as_float(struct as_unit *unit, uint32_t *bits);

/* One dimension of a shape as written, innermost last. */
struct as_dim {
	__int128 num;
	__int128 step;
	bool has_step;
};

/* as_operand.c */
bool as_register(struct as_unit *unit, uint8_t *reg);
bool as_sem(struct as_unit *unit, uint16_t *sem);
bool as_shape(struct as_unit *unit, struct as_dim *dims, unsigned int max, uint64_t max_num,
	      unsigned int *count);
bool as_dtype(struct as_unit *unit, enum neuron_dtype *dtype);
bool as_engine(struct as_unit *unit, enum neuron_engine *engine);
bool as_event(struct as_unit *unit, __le32 *event);
bool as_is_tile(const struct as_unit *unit);
bool as_tile(struct as_unit *unit, struct neuron_ap *ap);
bool as_address_operand(struct as_unit *unit, struct neuron_inst *inst);
bool as_memory_operand(struct as_unit *unit, struct neuron_inst *inst);
bool as_target(struct as_unit *unit, struct neuron_inst *inst);
bool as_queue_operand(struct as_unit *unit, struct neuron_inst *inst);
/* wait, take and post; with @isa also what that instruction takes. Up to the end of the line. */
bool as_sync(struct as_unit *unit, struct neuron_inst *inst, const struct trn_isa *isa);

/* as_inst.c, as_directive.c, as_dma.c, as_data.c, as_collective.c: a statement each. */
bool as_instruction(struct as_unit *unit, const struct trn_isa *isa);
bool as_directive(struct as_unit *unit);
bool as_dma(struct as_unit *unit);
bool as_dge(struct as_unit *unit);
bool as_collective(struct as_unit *unit);
bool as_inst_words(struct as_unit *unit);
bool as_file(struct as_unit *unit);
bool as_bytes(struct as_unit *unit);
bool as_halves(struct as_unit *unit);
bool as_addresses(struct as_unit *unit);
bool as_words(struct as_unit *unit);
bool as_floats(struct as_unit *unit);
/* Declare the open .file. */
bool as_close_file(struct as_unit *unit);
/* The stream must have been chosen. */
bool as_need_engine(struct as_unit *unit, const struct as_token *token);
/* What is emitted now is from the current line; with @known false from none. */
void as_set_source(struct as_unit *unit, bool known);
void as_set_debug(const struct as_unit *unit, struct neuron_inst *inst);

/* as_rept.c */
bool as_rept(struct as_unit *unit);
bool as_endr(struct as_unit *unit);

/* as_dma.c: parts of a transfer. A variable that is there already; one side; the operation. */
bool as_dma_variable(struct as_unit *unit, int *var);
bool as_dma_side(struct as_unit *unit, struct nb_side *side);
bool as_dma_op(struct as_unit *unit, struct nb_move *move);
/* Sources with what belongs to them. */
bool as_dma_sources(struct as_unit *unit, struct nb_move *move);

#endif /* AS_UNIT_H */
