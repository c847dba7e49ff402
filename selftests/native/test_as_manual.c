// SPDX-License-Identifier: MIT
/*
 * The ISA manual against the instruction table: each instruction has a form, a section
 * with its engines, its first generation and its cost, and an example that assembles.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_rig.h"
#include "chip/isa/trn_isa.h"

#define MAX_LINES	4096

/* The manual by lines, without their ends. */
struct manual {
	char *text;
	char *line[MAX_LINES];
	unsigned int nr;
};

/* Lines [first, end) of the manual. */
struct section {
	unsigned int first;
	unsigned int end;
};

static const char *const costs[] = {
	[TRN_COST_ISSUE] = "ISSUE",
	[TRN_COST_LOAD] = "LOAD",
	[TRN_COST_MATMUL] = "MATMUL",
	[TRN_COST_ONE_TILE] = "ONE_TILE",
	[TRN_COST_TWO_TILES] = "TWO_TILES",
	[TRN_COST_REDUCE] = "REDUCE",
	[TRN_COST_RECIPROCAL] = "RECIPROCAL",
	[TRN_COST_EXPONENTIAL] = "EXPONENTIAL",
	[TRN_COST_ACCUMULATOR] = "ACCUMULATOR",
	[TRN_COST_GPSIMD] = "GPSIMD",
	[TRN_COST_LOCAL_GATHER] = "LOCAL_GATHER",
	[TRN_COST_TOPK] = "TOPK",
};

/* As the manual writes them. */
static const char *const engines[NEURON_NR_ENGINES] = {
	[NEURON_ENGINE_VECTOR] = "vector",
	[NEURON_ENGINE_SCALAR] = "scalar",
	[NEURON_ENGINE_GPSIMD] = "GpSimd",
};

static int setup(void **state)
{
	struct manual *m = calloc(1, sizeof(*m));
	char *line, *rest;
	size_t size;

	m->text = as_read_file("ISA_MANUAL", "isa.rst", &size);
	for (rest = m->text; (line = strsep(&rest, "\n")) && m->nr < MAX_LINES;)
		m->line[m->nr++] = line;
	assert_true(m->nr > 0 && m->nr < MAX_LINES);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct manual *m = *state;

	free(m->text);
	free(m);
	return 0;
}

static bool underlined(const struct manual *m, unsigned int i, char with)
{
	const char *line = i + 1 < m->nr ? m->line[i + 1] : "";

	return m->line[i][0] && line[0] == with && strspn(line, (char[]){ with, 0 }) ==
	       strlen(line) && strlen(line) >= 3;
}

/* Is @name among the words of a title, which commas separate? */
static bool names(const char *title, const char *name)
{
	const char *at = title;
	size_t length;

	for (;;) {
		length = strcspn(at, ",");
		if (length == strlen(name) && !strncmp(at, name, length))
			return true;
		if (!at[length])
			return false;
		at += length + 1 + strspn(at + length + 1, " ");
	}
}

static bool section_of(const struct manual *m, const char *name, struct section *found)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (underlined(m, i, '-') && names(m->line[i], name))
			break;
	if (i == m->nr)
		return false;
	found->first = i;
	for (i++; i < m->nr && !underlined(m, i, '-') && !underlined(m, i, '='); i++)
		;
	found->end = i;
	return true;
}

/* The text of a section, its lines joined by blanks; to be freed. */
static char *joined(const struct manual *m, struct section s)
{
	size_t size = 1;
	unsigned int i;
	char *text;

	for (i = s.first; i < s.end; i++)
		size += strlen(m->line[i]) + 1;
	text = calloc(1, size);
	for (i = s.first; i < s.end; i++) {
		strcat(text, m->line[i]);
		strcat(text, " ");
	}
	return text;
}

/*
 * What stands in italics before the example says where the instruction runs; NULL: the
 * chapter does. Cuts @text.
 */
static const char *where(char *text)
{
	char *end = strstr(text, "*::"), *begin;

	if (!end)
		return NULL;
	*end = '\0';
	begin = strrchr(text, '*');
	return begin ? begin + 1 : NULL;
}

static void every_instruction_has_a_form(void **state)
{
	const struct manual *m = *state;
	unsigned int op, i, nr = 0;

	for (op = 0; op < 256; op++) {
		const struct trn_isa *isa = trn_isa_lookup((uint8_t)op);
		char form[64];

		if (!isa)
			continue;
		snprintf(form, sizeof(form), "``%s", isa->name);
		for (i = 0; i < m->nr; i++)
			if (!strncmp(m->line[i], form, strlen(form)) &&
			    strchr("`.", m->line[i][strlen(form)]))
				break;
		if (i == m->nr)
			fail_msg("no form of %s", isa->name);
		nr++;
	}
	assert_true(nr > 50);
}

static void check_cost(const char *name, const char *text, enum trn_cost cost)
{
	const char *at = strstr(text, "Cost: ");
	char want[64];

	/* That of the sequencer's is said once for all of them. */
	if (!at && cost == TRN_COST_ISSUE)
		return;
	if (!at)
		fail_msg("%s has no cost", name);
	snprintf(want, sizeof(want), "Cost: %s", costs[cost]);
	if (strncmp(at, want, strlen(want)) || !strchr(".,; ", at[strlen(want)]))
		fail_msg("%s should say \"%s\"", name, want);
}

static void check_engines(const struct trn_isa *isa, const char *line)
{
	enum neuron_engine e;

	if (isa->unit != TRN_ISA_LANES)
		return;
	if (!line)
		fail_msg("%s has no engines", isa->name);
	for (e = 0; e < NEURON_NR_ENGINES; e++)
		if (engines[e] && !strstr(line, engines[e]) == !!(isa->engines & NEURON_BIT(e)))
			fail_msg("%s on %s: the table and \"%s\" differ", isa->name,
				 engines[e], line);
}

static void check_generation(const struct trn_isa *isa, const char *line)
{
	char want[32];

	if (isa->generation == 2)
		return;
	snprintf(want, sizeof(want), "from trn%u", isa->generation - 1);
	if (isa->unit != TRN_ISA_SEQUENCER && (!line || !strstr(line, want)))
		fail_msg("%s should say \"%s\"", isa->name, want);
}

static void sections_say_what_the_table_says(void **state)
{
	const struct manual *m = *state;
	unsigned int op;

	for (op = 0; op < 256; op++) {
		const struct trn_isa *isa = trn_isa_lookup((uint8_t)op);
		struct section s;
		const char *line;
		char *text;

		if (!isa)
			continue;
		if (!section_of(m, isa->name, &s))
			fail_msg("no section for %s", isa->name);
		text = joined(m, s);
		check_cost(isa->name, text, isa->cost);
		line = where(text);
		check_engines(isa, line);
		check_generation(isa, line);
		free(text);
	}
}

/* An example: indented, it begins with the mnemonic. */
static bool is_example(const char *line, const char *name)
{
	size_t length = strlen(name);

	line += strspn(line, " ");
	return !strncmp(line, name, length) && strchr(". ", line[length]);
}

static void assemble(const struct trn_isa *isa, const char *line)
{
	enum neuron_engine engine = (enum neuron_engine)__builtin_ctz(isa->engines);
	char source[1024];

	/* The one label of the manual. */
	snprintf(source, sizeof(source), ".engine %s\n%s%s\nbranch 0\n",
		 trn_isa_engine_name(engine), strstr(line, "again") ? "again: " : "", line);
	nb_free(as_good(source));
}

static void every_example_assembles(void **state)
{
	const struct manual *m = *state;
	unsigned int op, i, nr;

	for (op = 0; op < 256; op++) {
		const struct trn_isa *isa = trn_isa_lookup((uint8_t)op);
		struct section s;

		if (!isa || !section_of(m, isa->name, &s))
			continue;
		for (nr = 0, i = s.first + 2; i < s.end; i++) {
			if (m->line[i][0] != ' ' || !is_example(m->line[i], isa->name))
				continue;
			assemble(isa, m->line[i]);
			nr++;
		}
		if (!nr)
			fail_msg("no example of %s", isa->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_has_a_form),
		cmocka_unit_test(sections_say_what_the_table_says),
		cmocka_unit_test(every_example_assembles),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
