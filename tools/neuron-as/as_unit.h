/* SPDX-License-Identifier: MIT */
/* Inside of an assembly; shared by the files of the assembler. */
#ifndef AS_UNIT_H
#define AS_UNIT_H

#include <stdint.h>

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

/* Whose names they are; labels belong to an engine. */
enum as_scope {
	AS_SCOPE_SYMBOL,
	AS_SCOPE_SEM,
	AS_SCOPE_LABEL,		/* + enum neuron_engine */
	AS_NR_SCOPES = AS_SCOPE_LABEL + NEURON_NR_ENGINES
};

/* A name's meaning; of a symbol with @is_float the fp32 bits. */
struct as_entry {
	int scope;
	char *name;
	__int128 value;
	bool is_float;
	uint32_t bits;
};

/* A branch to a label that may come later. */
struct as_fixup {
	enum neuron_engine engine;
	uint32_t index;
	unsigned int line;
	unsigned int column;
	char *name;
};

/* An open .rept; the body begins at @body. */
struct as_rept {
	const char *body;
	unsigned int body_line;
	unsigned int line;
	uint64_t count;
	uint64_t done;
	char *symbol;
};

#define AS_MAX_REPT	16
#define AS_MAX_ERRORS	20

/* An open .file: its contents follow. */
struct as_data {
	char *name;
	unsigned int line;
	uint8_t *bytes;
	size_t size;
	size_t room;
};

/**
 * struct as_unit - one source
 * @program: all of it
 * @nb: what lines are added to: @program, or its part for the second core
 * @at, @end: what is left of it
 * @line: number of the line that is executed
 * @tokens, @nr_tokens, @token_room, @next: the line's words; the last is AS_END
 * @engine: stream that instructions go to; -1: none yet
 * @symbols, @names: tsearch() trees of struct as_entry: symbols, and what belongs to a core
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
	const char *at;
	const char *end;
	unsigned int line;
	unsigned long statements;
	struct as_token *tokens;
	size_t nr_tokens;
	size_t token_room;
	size_t next;
	int engine;
	void *symbols;
	void *names;
	struct as_fixup *fixups;
	size_t nr_fixups;
	size_t fixup_room;
	struct as_rept rept[AS_MAX_REPT];
	unsigned int nr_rept;
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
void as_warning(struct as_unit *unit, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool as_memory(struct as_unit *unit);
/* "expected WHAT instead of ..." at the next word. */
bool as_expected(struct as_unit *unit, const char *what);

/* as_lex.c: cut the next line, or report why not. */
bool as_lex_line(struct as_unit *unit);
const struct as_token *as_peek(const struct as_unit *unit);
const struct as_token *as_take(struct as_unit *unit);
bool as_accept(struct as_unit *unit, int kind);
bool as_expect(struct as_unit *unit, int kind, const char *what);
bool as_token_is(const struct as_token *token, const char *word);
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

/* as_names.c */
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

/* as_inst.c, as_directive.c, as_dma.c, as_data.c: a statement each. */
bool as_instruction(struct as_unit *unit);
bool as_directive(struct as_unit *unit);
bool as_dma(struct as_unit *unit);
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

#endif /* AS_UNIT_H */
